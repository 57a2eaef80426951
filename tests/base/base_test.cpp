// Errors and how they are described, what is lent, the header of all headers.
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <set>
#include <sstream>

#include "base/lent.hpp"
#include "ptxgraft/ptxgraft.hpp"
#include "support/files.hpp"
#include "support/kernel_text.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

struct Counted {
    int uses = 0;
};

TEST(Lent, WhatIsGivenBackIsLentAgainAndOneHolderHasItAtATime) {
    {
        const Lent<Counted> first, second;
        EXPECT_NE(&*first, &*second);
        ++first->uses;
        second->uses += 10;
    }
    const Lent<Counted> one, two, fresh;
    EXPECT_EQ(std::set({one->uses, two->uses}), std::set({1, 10}));
    EXPECT_EQ(fresh->uses, 0);
}

struct Spoilt {
    bool is_whole = true;
};

TEST(Lent, WhatAnExceptionLeftHalfChangedIsGone) {
    try {
        const Lent<Spoilt> one;
        one->is_whole = false;
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
        const Lent<Spoilt> next;
        EXPECT_TRUE(next->is_whole);
    }
}

TEST(Error, DescribeShowsLineColumnAndCaret) {
    const std::string_view source = "one\n\ttwo three\nfour\n";
    const Error error{Errc::argument_invalid, {9, 14}, 0, nullptr};
    EXPECT_EQ(describe(error, source, "a.ptx"),
              "a.ptx:2:6: error: invalid argument: three\n\ttwo three\n\t    ^~~~~\n");
}

// Of an error whose message is its detail alone, who reports it says all.
TEST(Error, NoTwoCodesHaveOneNumberOrOneMessage) {
    std::set<int> numbers;
    std::set<std::string_view> messages;
    const auto add = [&](std::string_view name, int number, std::string_view message) {
        EXPECT_TRUE(numbers.insert(number).second) << name;
        EXPECT_TRUE(message == "{}" || messages.insert(message).second) << name << ": " << message;
    };
#define PTXGRAFT_ERRC(name, number, message) add(#name, number, message);
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
    // What no instruction takes is found by loading a module; what a matrix cannot be, when it runs.
    const auto said = [](Errc code) { return message(fail(code, std::string("%r1")).value()); };
    EXPECT_EQ(said(Errc::operand_invalid), "not an operand of this instruction: %r1");
    EXPECT_EQ(said(Errc::matrix_operand_invalid), "a matrix instruction cannot work with this value: %r1");
}

TEST(Error, DescribeWithoutSpanOrFile) {
    const auto failed = fail(Errc::file_not_found, std::string("a.ptx"));
    EXPECT_EQ(describe(failed.value()), "error: cannot open a.ptx\n");
    EXPECT_EQ(describe(failed.value(), {}, "cli"), "cli: error: cannot open a.ptx\n");
}

TEST(Error, SpanAtTheEndOfTheTextHasACaretBehindTheLine) {
    const Error error{Errc::argument_invalid, {3, 3}, 0, std::make_shared<const std::string>("x")};
    EXPECT_EQ(describe(error, "abc", "f"), "f:1:4: error: invalid argument: x\nabc\n   ^\n");
}

TEST(Error, PositionsAtLineEnds) {
    EXPECT_EQ(position("a\r\nb", 3).line, 2u);
    EXPECT_EQ(position("a\r\nb", 3).column, 1u);
    EXPECT_EQ(position("", 0).line, 1u);
    EXPECT_EQ(position("a\n", 1).column, 2u);
}

TEST(Error, AnErrorThatBringsItsSourceShowsThatOne) {
    Error error{Errc::argument_invalid, {2, 3}, 0, nullptr};
    error.source = std::make_shared<const SourceText>(SourceText{"rendered.ptx", "a\nb\n"});
    EXPECT_EQ(describe(error, "something else", "other"),
              "rendered.ptx:2:1: error: invalid argument: b\nb\n^\n");
}

TEST(Error, VeryLongLinesAreCutAroundTheCaret) {
    const std::string source(100000, 'x');
    const std::string text = describe(Error{Errc::argument_invalid, {50000, 50003}, 0, nullptr}, source, "f");
    EXPECT_LT(text.size(), 500u);
    EXPECT_NE(text.find("f:1:50001: error: invalid argument: xxx\n"), std::string::npos);
}

// --- the umbrella header

void follow(const std::string& header, std::set<std::string>& seen) {
    if (!seen.insert(header).second) return;
    std::istringstream file(test::read_file(test::source_path("include/ptxgraft/") + header));
    constexpr std::string_view start = "#include \"ptxgraft/";
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(start) && line.ends_with(".hpp\""))
            follow(line.substr(start.size(), line.size() - start.size() - 1), seen);
}

TEST(Umbrella, IncludesEveryPublicHeader) {
    std::set<std::string> seen;
    follow("ptxgraft.hpp", seen);
    follow("dsl.hpp", seen);  // which stands by itself, for what it costs a compiler
    for (const auto& entry : std::filesystem::directory_iterator(test::source_path("include/ptxgraft")))
        if (entry.path().extension() == ".hpp") {
            EXPECT_EQ(seen.count(entry.path().filename()), 1u) << entry.path().filename();
        }
    EXPECT_GT(seen.size(), 15u);
}

// A class of one's own, with this header alone.
TEST(Umbrella, IsEnoughForAnObserver) {
    struct Counter : EmulatorObserver {
        int steps = 0;
        void step(const ObservedStep&) override { ++steps; }
    } counter;
    const auto device = Device::emulator({.observer = &counter});
    ASSERT_TRUE(device);
    const auto function = device->load(test::kernel_text({.version = "8.0", .target = "sm_80"}), "");
    ASSERT_TRUE(function);
    EXPECT_TRUE(function->launch({}, {}));
    EXPECT_EQ(counter.steps, 1);
    EXPECT_FALSE(emulated_opcodes().empty());
}

}  // namespace
}  // namespace ptxgraft
