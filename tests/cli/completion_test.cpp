// The verb completion: its scripts, run by the shells that they are for.

#include <sstream>

#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using Words = std::vector<std::string>;

Words lines(const std::string& text) {
    Words all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

// What a shell prints for a script of its own.
std::string output_of(const std::string& shell, const std::string& script) {
    write_file("script", script);
    const int status = std::system((shell + " script > said 2> wrong").c_str());
    EXPECT_EQ(status, 0) << read_file("wrong");
    EXPECT_EQ(read_file("wrong"), "");
    return read_file("said");
}

bool has(const std::string& shell) { return std::system(("command -v " + shell + " > found").c_str()) == 0; }

// What bash offers for the last of some words.
Words offered(const Words& words) {
    std::string script = "source ./ptxgraft.bash\nCOMP_WORDS=(ptxgraft";
    for (const std::string& word : words) script += " '" + word + "'";
    script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
              "\n_ptxgraft ptxgraft\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    Words all = lines(output_of("bash --norc", script));
    std::erase(all, "");
    return all;
}

TEST_F(Cli, BashCompletesVerbsOptionsAndFiles) {
    write_file("ptxgraft.bash", ptxgraft({"completion", "bash"}).out);
    write_file("kernel with a blank.cu", "");
    EXPECT_THAT(offered({""}), IsSupersetOf({"compile", "sites", "graft", "doctor", "--version", "--help"}));
    EXPECT_THAT(offered({"dev"}), ElementsAre("devices"));
    EXPECT_THAT(offered({"cache", ""}), IsSupersetOf({"stats", "clear", "verify"}));
    EXPECT_THAT(offered({"cache", "stats", "--j"}), ElementsAre("--json"));
    EXPECT_THAT(offered({"graft", "--ta"}), ElementsAre("--target"));
    EXPECT_THAT(offered({"graft", "--target", "aff"}), ElementsAre("affine.ptx"))
        << "an option's value may be a file";
    EXPECT_THAT(offered({"graft", "kern"}), ElementsAre("kernel with a blank.cu"));
    EXPECT_THAT(offered({"graft", "sites", "--rou"}), ElementsAre("--route"))
        << "a file that is named as a verb";
    EXPECT_THAT(offered({"graft", "--constants", ""}), ElementsAre("literals", "data"));
    EXPECT_THAT(offered({"graft", "--constants", "=", "d"}), ElementsAre("data"));
    EXPECT_THAT(offered({"completion", "z"}), ElementsAre("zsh"));
    EXPECT_THAT(offered({"devices", "aff"}), IsEmpty()) << "it takes no files";
}

// Every verb and option that the help texts list is offered.
TEST_F(Cli, CompletionKnowsEveryOptionOfEveryVerb) {
    write_file("ptxgraft.bash", ptxgraft({"completion", "bash"}).out);
    for (const std::string& verb : offered({""})) {
        if (verb.starts_with("-")) continue;
        const Words options = offered({verb, "-"});
        std::istringstream help(ptxgraft({verb, "--help"}).out);
        for (std::string line; std::getline(help, line);) {
            if (!line.starts_with("  --")) continue;
            EXPECT_THAT(options, Contains(line.substr(2, line.find_first_of(" ,", 2) - 2))) << verb;
        }
    }
}

TEST_F(Cli, ScriptsAreWellFormed) {
    write_file("script.bash", ptxgraft({"completion", "bash"}).out);
    EXPECT_EQ(output_of("bash --norc", "bash -n script.bash"), "");
    EXPECT_EQ(ptxgraft({"completion", "fish"}).status, 2);
    EXPECT_EQ(ptxgraft({"completion"}).status, 2);
}

// A terminal in which zsh completes what is typed.
TEST_F(Cli, ZshCompletesVerbsAndOptions) {
    if (!has("zsh")) GTEST_SKIP() << "there is no zsh";
    write_file("_ptxgraft", ptxgraft({"completion", "zsh"}).out);
    const auto completed = [&](const std::string& typed) {
        return output_of("zsh -f", R"(zmodload zsh/zpty
zpty shell 'PS1= zsh -f -i'
zpty -w shell 'PS1=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; bindkey "^X" complete-word; unsetopt zle_bracketed_paste; stty -echo'
zpty -w shell 'done_() { print -r -- "<$BUFFER>"; BUFFER=; zle accept-line }; zle -N done_; bindkey "^G" done_; print ready'
while zpty -r shell line && [[ $line != *ready* ]]; do :; done
while zpty -r shell line && [[ $line != *ready* ]]; do :; done
zpty -w -n shell $')" + typed + R"(\C-x\C-g'
while zpty -r shell line; do [[ $line == *\<*\>* ]] && break; done
print -r -- ${${line#*\<}%%\>*}
)");
    };
    EXPECT_EQ(completed("ptxgraft dev"), "ptxgraft devices \n");
    EXPECT_EQ(completed("ptxgraft cache st"), "ptxgraft cache stats \n");
    EXPECT_EQ(completed("ptxgraft graft --tar"), "ptxgraft graft --target \n");
    EXPECT_EQ(completed("ptxgraft graft --constants d"), "ptxgraft graft --constants data \n");
    EXPECT_EQ(completed("ptxgraft graft aff"), "ptxgraft graft affine.ptx \n");
}

}  // namespace
}  // namespace ptxgraft::test
