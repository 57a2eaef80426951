// Mistakes do not compile and say why; the right lines beside them print one instruction each, which
// assembles.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include "../compile_fail/dsl_mistakes.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
const std::string source = PTXGRAFT_SOURCE_DIR "/tests/compile_fail/dsl_mistakes.cpp";

// By the line of the wrong call: what is said of it.
std::map<std::size_t, std::string> expected_errors() {
    std::istringstream lines(test::read_file(source));
    std::map<std::size_t, std::string> expected;
    const std::string marker = "// error: ";
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number)
        if (const auto at = line.find(marker); at != std::string::npos)
            expected[number + 1] = line.substr(at + marker.size());
    return expected;
}

std::string errors_of(const std::string& compiler, const std::string& options) {
    const std::string command = compiler + " -std=c++20 -fsyntax-only -DPTXGRAFT_WRONG " + options +
                                " -I" PTXGRAFT_SOURCE_DIR "/include -I" PTXGRAFT_BINARY_DIR "/include " +
                                source + " 2>&1";
    std::FILE* const pipe = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> part = {};
    while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
        text.append(part.data(), size);
    EXPECT_NE(pclose(pipe), 0);
    return text;
}

// The line of "dsl_mistakes.cpp:61:24: …"; 0 for other lines.
std::size_t line_of(const std::string& text) {
    const std::string name = "dsl_mistakes.cpp:";
    const auto at = text.find(name);
    return at == std::string::npos ? 0 : std::strtoul(text.c_str() + at + name.size(), nullptr, 10);
}

TEST(DslMistakes, SayWhatWouldBeRight) {
    const auto expected = expected_errors();
    EXPECT_GE(expected.size(), 60u);
    if (std::string(PTXGRAFT_CXX_ID) != "GNU") GTEST_SKIP() << "looks at g++'s messages";
    std::istringstream lines(errors_of(PTXGRAFT_CXX, "-fmax-errors=0"));
    std::map<std::size_t, std::string> found;
    std::size_t place = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("required from here") != std::string::npos) place = line_of(line);
        if (line.find("In instantiation of") != std::string::npos) continue;  // its place comes behind it
        const auto begin = line.find("{\""), end = line.rfind("\"}");
        if (line.find("Text<") == std::string::npos || begin == std::string::npos || place == 0) continue;
        std::string text = line.substr(begin + 2, end - begin - 2);
        for (std::size_t at; (at = text.find("\\'")) != std::string::npos;) text.erase(at, 1);
        found[place] = text;
    }
    for (const auto& [line, message] : expected)
        EXPECT_THAT(found[line], HasSubstr(message)) << "line " << line;
    EXPECT_EQ(found.size(), expected.size());
}

TEST(DslMistakes, AreFoundByClangToo) {
    const std::string clang = PTXGRAFT_CLANG_PROGRAM;
    if (clang.empty()) GTEST_SKIP() << "no clang++";
    std::istringstream lines(errors_of(clang, "-ferror-limit=0"));
    std::map<std::size_t, bool> found;
    for (std::string line; std::getline(lines, line);)
        if (line.find("requested here") != std::string::npos) found[line_of(line)] = true;
    for (const auto& [line, message] : expected_errors())
        EXPECT_TRUE(found[line]) << "line " << line << ": " << message;
}

std::size_t instructions(const std::string& ptx) {
    const auto module = syntax::parse(ptx);
    std::size_t count = 0;
    for (const syntax::Statement& function : module->functions())
        for (const syntax::Statement& s : function.body_recursive())
            count += s.kind() == syntax::StatementKind::instruction;
    return count;
}

TEST(DslMistakes, TheRightLinesPrintOneInstructionEach) {
    std::size_t emitted = 0;
    const auto expect_one_each = [&](const dsl::ModuleOptions& options, void (*emit)(dsl::Module&)) {
        dsl::Module module(options);
        emit(module);
        const auto ptx = module.ptx();
        ASSERT_TRUE(ptx) << describe(ptx.error());
        emitted += instructions(*ptx);
        const auto cubin = default_assembler().assemble(*ptx, {.allow_performance_loss = true});
        EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    };
    expect_one_each({.target = "sm_90a"}, emit_all_on_sm_90a);
    expect_one_each({.target = "sm_80"}, emit_all_on_sm_80);
    expect_one_each({.target = "sm_90a", .version = "8.0"}, emit_all_on_ptx_7_8);
    EXPECT_EQ(emitted, expected_errors().size() + 3);  // and three times ret
}

}  // namespace
}  // namespace ptxgraft
