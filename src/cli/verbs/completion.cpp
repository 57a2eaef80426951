// ptxgraft completion: scripts for bash and zsh, made from the verbs and options that the program has.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

// A word that may stand behind a verb: an option's name, or a verb within it.
struct Word {
    std::string text;
    std::string help;
};

// A verb, by the words that lead to it ("/cache/stats"; the program itself is ""): what may come next.
struct Verb {
    std::string path = {};
    std::vector<Word> verbs = {};  // and what an argument may be
    std::vector<Word> options = {};
    std::vector<std::string> with_value = {};                      // options whose next word is a value
    std::map<std::string, std::vector<std::string>> choices = {};  // those of them that list their values
    bool takes_arguments = false;                                  // positional ones
};

// The first sentence of a help text, as far as it goes on one line.
std::string short_help(const std::string& help) {
    std::string text = help.substr(0, help.find_first_of("\n;"));
    if (const std::size_t end = text.find(". "); end != std::string::npos) text.resize(end);
    return text;
}

// "{evolve,random,climb}" in the name of an option's type.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t begin = type.find('{'), end = type.find('}');
    if (begin == std::string::npos || end == std::string::npos) return {};
    return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

void add_option(Verb& verb, const CLI::Option& option) {
    if (option.get_positional()) {
        const auto choices = choices_of(option);
        for (const std::string& choice : choices) verb.verbs.push_back({choice, ""});
        verb.takes_arguments |= choices.empty();
    }
    std::vector<std::string> names;
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : names) {
        verb.options.push_back({name, short_help(option.get_description())});
        if (option.get_items_expected_max() == 0) continue;
        verb.with_value.push_back(name);
        if (auto choices = choices_of(option); !choices.empty()) verb.choices[name] = std::move(choices);
    }
}

void add_verbs(std::vector<Verb>& all, const CLI::App& app, const std::string& path) {
    Verb verb{.path = path};
    for (const CLI::Option* const option : app.get_options()) add_option(verb, *option);
    const auto inner = app.get_subcommands(
        [](const CLI::App* one) { return !one->get_name().empty() && !one->get_group().empty(); });
    for (const CLI::App* const one : inner)
        verb.verbs.push_back({one->get_name(), short_help(one->get_description())});
    all.push_back(std::move(verb));
    for (const CLI::App* const one : inner) add_verbs(all, *one, path + "/" + one->get_name());
}

std::vector<std::string> texts(const std::vector<Word>& words) {
    std::vector<std::string> all;
    for (const Word& word : words) all.push_back(word.text);
    return all;
}

// For _describe: a colon ends the word, the rest is its help.
std::string described(const std::vector<Word>& words) {
    std::string text;
    for (const Word& word : words)
        text += ' ' + shell_word(word.help.empty() ? word.text : word.text + ':' + word.help);
    return text;
}

// The patterns of `case` for all paths but the program's.
std::string paths(const std::vector<Verb>& verbs) {
    std::vector<std::string> all;
    for (const Verb& verb : verbs)
        if (!verb.path.empty()) all.push_back(verb.path);
    return fmt::format("{}", fmt::join(all, "|"));
}

// A `case` of what `line` makes of each verb.
template <class Line> std::string by_verb(const std::vector<Verb>& verbs, Line line) {
    std::string text = "    case $verb in\n";
    for (const Verb& verb : verbs) text += fmt::format("    {}) {} ;;\n", shell_word(verb.path), line(verb));
    return text + "    esac\n";
}

// A `case` of the options that list their values: `give`, with the values, ends the completion.
std::string by_choice(const std::vector<Verb>& verbs, std::string_view give) {
    std::string text = "    case \"$verb $previous\" in\n";
    for (const Verb& verb : verbs)
        for (const auto& [name, values] : verb.choices)
            text += fmt::format("    {}) {} ;;\n", shell_word(verb.path + " " + name),
                                fmt::format(fmt::runtime(give), fmt::join(values, " ")));
    return text + "    esac\n";
}

std::string bash_script(const std::vector<Verb>& verbs) {
    std::string text =
        "# What Tab offers behind `ptxgraft` in bash; made by `ptxgraft completion bash`.\n_ptxgraft() {\n";
    text +=
        R"(    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb= words= with_value= files= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$verb/${COMP_WORDS[i]}" in
        )" +
        paths(verbs) + R"() verb+=/${COMP_WORDS[i]} ;;
        esac
    done
    if [[ $word == = ]]; then word=
    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}
    fi
)";
    text += by_verb(verbs, [](const Verb& verb) {
        return fmt::format("words='{} {}' with_value=' {} ' files={}", fmt::join(texts(verb.verbs), " "),
                           fmt::join(texts(verb.options), " "), fmt::join(verb.with_value, " "),
                           verb.takes_arguments ? "1" : "");
    });
    text += by_choice(verbs, R"(mapfile -t COMPREPLY < <(compgen -W '{}' -- "$word"); return)");
    return text +
           R"(    if [[ $with_value == *" $previous "* ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [[ -z $files || $word == -* ]] || compgen -f -- "$word")
}
complete -o filenames -F _ptxgraft ptxgraft
)";
}

std::string zsh_script(const std::vector<Verb>& verbs) {
    std::string text =
        "#compdef ptxgraft\n# What Tab offers behind `ptxgraft` in zsh; made by `ptxgraft completion zsh`.\n"
        "_ptxgraft() {\n";
    text += R"(    local previous=${words[CURRENT-1]} verb= with_value= files= i
    local -a verbs options
    for ((i = 2; i < CURRENT; i++)); do
        case "$verb/${words[i]}" in
        )" + paths(verbs) +
            R"() verb+=/${words[i]} ;;
        esac
    done
)";
    text += by_verb(verbs, [](const Verb& verb) {
        return fmt::format("verbs=({}) options=({}) with_value={} files={}", described(verb.verbs),
                           described(verb.options),
                           shell_word(fmt::format(" {} ", fmt::join(verb.with_value, " "))),
                           verb.takes_arguments ? "1" : "");
    });
    text += by_choice(verbs, "compadd -- {}; return");
    return text + R"(    if [[ $with_value == *" $previous "* ]]; then _files; return; fi
    [[ ${#verbs} -eq 0 ]] || _describe -t verbs verb verbs
    [[ ${words[CURRENT]} != -* && -n $files ]] || _describe -o -t options option options
    [[ -z $files || ${words[CURRENT]} == -* ]] || _files
}
if [[ ${funcstack[1]} == _ptxgraft ]]; then _ptxgraft "$@"; else compdef _ptxgraft ptxgraft; fi
)";
}

}  // namespace

void add_completion(CLI::App& app) {
    CLI::App* const verb =
        app.add_subcommand("completion", "Print the script by which a shell completes ptxgraft's words");
    const auto shell = std::make_shared<std::string>();
    verb->add_option("SHELL", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
    verb->footer(
        "An installation has the scripts where the shells look for them. Otherwise, in ~/.bashrc:\n"
        "    source <(ptxgraft completion bash)\n"
        "or in ~/.zshrc, behind compinit:\n"
        "    source <(ptxgraft completion zsh)");
    verb->callback([&app, shell] {
        std::vector<Verb> verbs;
        add_verbs(verbs, app, "");
        const std::string script = *shell == "bash" ? bash_script(verbs) : zsh_script(verbs);
        std::fwrite(script.data(), 1, script.size(), stdout);
    });
}

}  // namespace ptxgraft::cli
