// ptxgraft.h, with the headers that it includes, keeps the rules that it states of its names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/paths.hpp"

namespace {

using Match = std::smatch;

std::string read(const std::string& path) {
    return ptxgraft::test::read_file(ptxgraft::test::source_path(path));
}

// The headers of its topics.
std::vector<std::string> topics() {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(ptxgraft::test::source_path("include/ptxgraft/c")))
        names.push_back(entry.path().filename());
    return names;
}

// The headers without their comments. By hand, as enums are below: std::regex takes stack for every
// character.
std::string header() {
    std::string text = read("include/ptxgraft/ptxgraft.h");
    for (const std::string& topic : topics()) text += read("include/ptxgraft/c/" + topic);
    for (auto begin = text.find("/*"); begin != std::string::npos; begin = text.find("/*", begin))
        text.erase(begin, text.find("*/", begin) + 2 - begin);
    return text;
}

std::vector<Match> all(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    return {std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()};
}

std::vector<Match> all(std::string&&, const std::string&) = delete;  // matches point into the text

TEST(CApiNames, ThereIsARowForEachTopic) {
    const std::string text = read("include/ptxgraft/ptxgraft.h");
    for (const std::string& topic : topics()) {
        EXPECT_NE(text.find("#include \"ptxgraft/c/" + topic + "\"\n"), std::string::npos) << topic;
        EXPECT_NE(text.find("\n * | c/" + topic + " | "), std::string::npos) << topic;
    }
    EXPECT_GE(topics().size(), 10u);
}

TEST(CApiNames, FunctionsAreNounAndVerb) {
    const std::set<std::string> verbs = {
        "create",  "destroy",     "open",    "get",         "find",   "take",     "read",
        "write",   "fill",        "encode",  "record",      "render", "launch",   "request",
        "prepare", "clear",       "verify",  "synchronize", "run",    "replace",  "remove",
        "rename",  "clone",       "splice",  "outline",     "try",    "copy",     "emit",
        "place",   "ask",         "tell",    "merge",       "set",    "begin",    "add",
        "change",  "instantiate", "compare", "calibrate",   "close",  "enumerate"};
    const std::string text = header();
    const auto functions =
        all(text, "\\bptxgraft_([a-z]+(?:_map|_code|_registers)?)_([a-z]+)(?:_[a-z0-9_]+)?\\(");
    EXPECT_EQ(functions.size(), all(text, "PTXGRAFT_C_API (?!__)").size());
    EXPECT_GT(functions.size(), 100u);
    for (const Match& function : functions) EXPECT_EQ(verbs.count(function[2]), 1u) << function.str();
}

TEST(CApiNames, EnumeratorsAreInLowerCaseBehindThePrefixOfTheirEnum) {
    const std::string text = header();
    const auto enums = all(text, "typedef enum ptxgraft_(\\w+) PTXGRAFT_C_ENUM \\{");
    EXPECT_EQ(enums.size(), all(text, "\\benum ptxgraft").size());
    EXPECT_GE(enums.size(), 15u);
    std::set<std::string> prefixes;
    for (const Match& one : enums) {
        std::string upper = one[1];
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        const auto begin = static_cast<std::size_t>(one.position() + one.length());
        const std::string body = text.substr(begin, text.find('}', begin) - begin);
        std::set<std::string> of_this;
        for (const Match& enumerator : all(body, "PTXGRAFT_([A-Z][A-Z0-9]*(?:_[A-Z][A-Z0-9]*)*)_(\\w+) = ")) {
            of_this.insert(enumerator[1]);
            EXPECT_TRUE(
                std::regex_match(enumerator.str(2), std::regex("([a-z0-9]+|[0-9]+B)(_([a-z0-9]+|[0-9]+B))*")))
                << enumerator.str();
        }
        if (upper == "STATUS") of_this.insert("STATUS");  // errc.def
        ASSERT_EQ(of_this.size(), 1u) << upper;
        EXPECT_NE(("_" + upper + "_").find("_" + *of_this.begin() + "_"), std::string::npos) << upper;
        EXPECT_TRUE(prefixes.insert(*of_this.begin()).second) << upper << ": the prefix of another enum";
    }
    const std::string errors = read("include/ptxgraft/errc.def");
    for (const Match& row : all(errors, "\nPTXGRAFT_ERRC\\((\\w+)"))
        EXPECT_TRUE(std::regex_match(row.str(1), std::regex("[a-z0-9_]+"))) << row.str(1);
}

TEST(CApiNames, EveryStatusSaysWhatItMeans) {
    const std::string errors = read("include/ptxgraft/errc.def");
    std::set<std::string> values;
    std::string before;
    for (const Match& line : all(errors, "[^\n]+")) {
        Match row;
        const std::string text = line.str();
        if (std::regex_match(text, row, std::regex("PTXGRAFT_ERRC\\((\\w+), (\\d+), \"(.*)\"\\)"))) {
            EXPECT_TRUE(values.insert(row[2]).second) << text;
            if (row[3] == "{}") { EXPECT_TRUE(std::regex_match(before, std::regex("// .+\\."))) << text; }
        }
        before = text;
    }
    const auto retired = all(errors, "\n//   ([0-9 ]+)\n");
    ASSERT_EQ(retired.size(), 1u);
    const std::string list = retired[0][1];
    for (const Match& value : all(list, "\\d+")) EXPECT_EQ(values.count(value.str()), 0u) << value.str();
    EXPECT_GT(values.size(), 150u);
}

TEST(CApiNames, EveryStructThatMayGrowHasItsInitAndItsFirstSize) {
    const std::string text = header(), sizes = read("src/capi/structs.hpp");
    const std::set<std::string> final_ones = {
        "graft",    "argument",       "tensor_map",  "candidate",       "site_route",
        "limit",    "planned_launch", "instruction", "placed_constant", "constant_source",
        "programs", "input_range",    "statement",   "variant",         "site_argument"};
    std::size_t count = 0;
    for (const Match& one : all(text, "typedef struct ptxgraft_(\\w+) \\{\\s*(\\w+) (\\w+);")) {
        const std::string name = one[1];
        if (final_ones.count(name) != 0) continue;
        ++count;
        EXPECT_EQ(one[3], "struct_size") << name;
        std::string upper = name;
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        EXPECT_NE(text.find("#define PTXGRAFT_" + upper + "_INIT"), std::string::npos) << name;
        EXPECT_NE(sizes.find("PTXGRAFT_VERSIONED(ptxgraft_" + name + ", "), std::string::npos) << name;
    }
    EXPECT_GE(count, 25u);
}

}  // namespace
