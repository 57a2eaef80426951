// Mistakes do not compile and say why; the right lines beside them print one instruction each, which
// assembles.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../compile_fail/dsl_mistakes.hpp"
#include "ptxgraft/link.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using testing::Not;

// A function of a file of mistakes, and what it emits for.
struct Entry {
    dsl::ModuleOptions options;
    std::size_t (*emit)(dsl::Module&);
};
struct Mistakes {
    std::string chapter;  // in the file's name
    std::size_t at_least;
    std::vector<Entry> entries;

    [[nodiscard]] std::string file() const { return "dsl_mistakes" + chapter + ".cpp"; }
    [[nodiscard]] std::string path() const { return test::source_path("tests/compile_fail/") + file(); }
};
const std::vector<Mistakes> files = {
    {"",
     70,
     {{{.target = "sm_90a"}, emit_all_on_sm_90a},
      {{.target = "sm_80"}, emit_all_on_sm_80},
      {{.target = "sm_90a", .version = "8.0"}, emit_all_on_ptx_7_8}}},
    {"_arithmetic", 100, {{{.target = "sm_90a"}, emit_arithmetic_on_sm_90a}}},
    {"_memory", 90, {{{.target = "sm_90a"}, emit_memory_on_sm_90a}}},
    {"_warp", 80, {{{.target = "sm_90a"}, emit_warp_on_sm_90a}}},
    {"_stub", 14, {{{.target = "sm_90a"}, emit_stub_on_sm_90a}}},
    {"_matrix",
     60,
     {{{.target = "sm_90a"}, emit_matrix_on_sm_90a},
      {{.target = "sm_100a"}, emit_matrix_on_sm_100a},
      {{.target = "sm_100f"}, emit_matrix_on_sm_100f},
      {{.target = "sm_120a"}, emit_matrix_on_sm_120a},
      {{.target = "sm_90"}, emit_matrix_on_sm_90},
      {{.target = "sm_75"}, emit_matrix_on_sm_75}}},
};

// By the line of the wrong call: what is said of it.
std::map<std::size_t, std::string> expected_errors(const Mistakes& of) {
    std::istringstream lines(test::read_file(of.path()));
    std::map<std::size_t, std::string> expected;
    const std::string marker = "// error: ";
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number)
        if (const auto at = line.find(marker); at != std::string::npos)
            expected[number + 1] = line.substr(at + marker.size());
    return expected;
}

std::string errors_in(const std::string& compiler, const std::string& path, const std::string& options) {
    const std::string command = compiler + " -std=c++20 -fsyntax-only -DPTXGRAFT_WRONG " + options + " -I" +
                                test::source_path("include") + " -I" + test::build_path("include") + " " +
                                path + " 2>&1";
    std::FILE* const pipe = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> part = {};
    while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
        text.append(part.data(), size);
    EXPECT_NE(pclose(pipe), 0);
    return text;
}

// The line of "dsl_mistakes.cpp:61:24: …"; 0 for other lines.
std::size_t line_of(const std::string& text, const Mistakes& of) {
    const std::string name = of.file() + ":";
    const auto at = text.find(name);
    return at == std::string::npos ? 0 : std::strtoul(text.c_str() + at + name.size(), nullptr, 10);
}

// By compilers at once: a file takes each of them some seconds, most of it for the messages.
class DslMistakes : public testing::TestWithParam<Mistakes> {};

TEST_P(DslMistakes, SayWhatWouldBeRight) {
    if (std::string(PTXGRAFT_CXX_ID) != "GNU") GTEST_SKIP() << "looks at g++'s messages";
    const auto expected = expected_errors(GetParam());
    EXPECT_GE(expected.size(), GetParam().at_least);
    std::istringstream lines(errors_in(PTXGRAFT_CXX, GetParam().path(), "-fmax-errors=0"));
    std::map<std::size_t, std::string> found;
    std::size_t place = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("required from here") != std::string::npos) place = line_of(line, GetParam());
        const auto begin = line.find("{\""), end = line.rfind("\"}");
        if (line.find("evaluates to false") == std::string::npos || begin == std::string::npos || place == 0)
            continue;
        std::string text = line.substr(begin + 2, end - begin - 2);
        for (std::size_t at; (at = text.find("\\'")) != std::string::npos;) text.erase(at, 1);
        found[place] = text;
    }
    for (const auto& [line, message] : expected)
        EXPECT_THAT(found[line], HasSubstr(message)) << "line " << line;
    EXPECT_EQ(found.size(), expected.size());
}

TEST_P(DslMistakes, AreFoundByClangToo) {
    const std::string clang = test::program_path("clang++");
    if (clang.empty()) GTEST_SKIP() << "no clang++";
    const std::string errors = errors_in(clang, GetParam().path(), "-ferror-limit=0 -fno-caret-diagnostics");
    EXPECT_THAT(errors, Not(HasSubstr("maximum step limit")));  // then it would not say what is wrong
    std::istringstream lines(errors);
    std::map<std::size_t, bool> found;
    for (std::string line; std::getline(lines, line);)
        if (line.find("requested here") != std::string::npos) found[line_of(line, GetParam())] = true;
    for (const auto& [line, message] : expected_errors(GetParam()))
        EXPECT_TRUE(found[line]) << "line " << line << ": " << message;
}

TEST_P(DslMistakes, TheRightLinesPrintOneInstructionEach) {
    std::size_t emitted = 0;
    for (const Entry& entry : GetParam().entries) {
        dsl::Module module(entry.options);
        emitted += entry.emit(module);
        const auto ptx = module.ptx();
        ASSERT_TRUE(ptx) << describe(ptx.error());
        const auto cubin = default_assembler().assemble(*ptx, {.allow_performance_loss = true});
        EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    }
    // Those, and of each entry `ret`.
    EXPECT_EQ(emitted, expected_errors(GetParam()).size() + GetParam().entries.size());
}

// What no instruction shows.
TEST(DslMistakesOfFunctions, PredicatesAreNoParameters) {
    const test::TemporaryFolder folder;
    const std::string path = (folder.path / "predicates.cpp").string();
    for (const auto& [call, message] : {std::pair{"f.parameter<pred>(\"p\")", "a predicate is no parameter"},
                                        std::pair{"f.result<pred>(\"p\")", "a predicate is no result"}}) {
        test::write_file(path,
                         "#include \"ptxgraft/dsl.hpp\"\nusing namespace ptxgraft::dsl;\n"
                         "void emit(FunctionBuilder<>& f) { " +
                             std::string(call) + "; }\n");
        EXPECT_THAT(errors_in(PTXGRAFT_CXX, path, ""), HasSubstr(message));
    }
}

INSTANTIATE_TEST_SUITE_P(Chapters, DslMistakes, testing::ValuesIn(files), [](const auto& info) {
    return info.param.chapter.empty() ? "all" : info.param.chapter.substr(1);
});

}  // namespace
}  // namespace ptxgraft
