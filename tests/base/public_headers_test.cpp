// What holds of every declaration in the public headers.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/paths.hpp"

namespace {

// Without comments and preprocessor lines.
std::string code_of(const std::filesystem::path& path) {
    const std::string text = ptxgraft::test::read_file(path);
    std::string code;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        line.resize(std::min(line.find("//"), line.size()));
        if (line.find_first_not_of(' ') != line.find('#')) code += line;
        code += '\n';
        at = end + 1;
    }
    return code;
}

// Declarations of functions that return an Expected, each from where it begins to its name.
std::vector<std::string> fallible_functions(const std::string& code) {
    std::vector<std::string> all;
    for (std::size_t at = code.find("Expected<"); at != std::string::npos;
         at = code.find("Expected<", at + 1)) {
        std::size_t end = at + 8;
        for (int depth = 0; end < code.size(); ++end) {
            depth += code[end] == '<' ? 1 : code[end] == '>' ? -1 : 0;
            if (depth == 0) break;
        }
        const std::size_t name = code.find_first_not_of(" \n", end + 1);
        std::size_t behind = name;
        while (behind < code.size() &&
               (std::isalnum(static_cast<unsigned char>(code[behind])) != 0 || code[behind] == '_'))
            ++behind;
        if (name == std::string::npos || behind == name || code[behind] != '(') continue;
        const std::size_t before = code.find_last_of(";{}(,", at);
        // a parameter
        if (before != std::string::npos && (code[before] == '(' || code[before] == ',')) continue;
        const std::string declaration = code.substr(before + 1, behind - before - 1);
        if (declaration.find("friend") == std::string::npos) all.push_back(declaration);
    }
    return all;
}

TEST(PublicHeaders, NoErrorIsDroppedInSilence) {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(ptxgraft::test::source_path("include/ptxgraft"))) {
        if (entry.path().extension() != ".hpp") continue;
        for (const std::string& declaration : fallible_functions(code_of(entry.path()))) {
            ++count;
            EXPECT_NE(declaration.find("[[nodiscard]]"), std::string::npos)
                << entry.path() << ":" << declaration;
        }
    }
    EXPECT_GT(count, 90u);
}

TEST(PublicHeaders, ADeclarationWithoutItIsFound) {
    const auto found = fallible_functions(
        "class A {\n  public:\n    Expected<void> a(int);\n    [[nodiscard]] static "
        "Expected<std::span<int>>\n b();\n"
        "    void c(Expected<int> x, Expected<int> y);\n};");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].find("[[nodiscard]]"), std::string::npos);
    EXPECT_NE(found[1].find("[[nodiscard]]"), std::string::npos);
}

}  // namespace
