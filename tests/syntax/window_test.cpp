// The lexer's sets of characters are the same on every processor.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "syntax/window.hpp"

#ifdef __SSE2__

namespace ptxgraft::syntax {
namespace {

using Classify = CharacterSets (*)(const char*);

std::uint64_t set_of(const std::string& text, std::string_view members) {
    std::uint64_t set = 0;
    for (unsigned i = 0; i < window_size; ++i)
        if (members.find(text[i]) != std::string_view::npos) set |= std::uint64_t{1} << i;
    return set;
}

void expect_sets(Classify classify, const std::string& text) {
    const CharacterSets s = classify(text.data());
    EXPECT_EQ(s.word, set_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"));
    EXPECT_EQ(s.digit, set_of(text, "0123456789"));
    EXPECT_EQ(s.dollar, set_of(text, "$"));
    EXPECT_EQ(s.zero, set_of(text, "0"));
    EXPECT_EQ(s.dot, set_of(text, "."));
    EXPECT_EQ(s.percent, set_of(text, "%"));
    EXPECT_EQ(s.colon, set_of(text, ":"));
    EXPECT_EQ(s.blank, set_of(text, " \t\r\n"));
    EXPECT_EQ(s.single, set_of(text, ",;{}()[]@+-~*^?"));
    EXPECT_EQ(s.doubling, set_of(text, "<>=!&|"));
    std::uint64_t wide = 0;
    for (unsigned i = 0; i < window_size; ++i) wide |= static_cast<std::uint64_t>((text[i] & 0x80) != 0) << i;
    EXPECT_EQ(s.wide, wide);
}

void expect_sets_of_any_text(Classify classify) {
    std::string all(256, '\0');
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
    for (std::size_t i = 0; i < all.size(); i += window_size)
        expect_sets(classify, all.substr(i, window_size));
    std::mt19937 random(1);
    std::string text(window_size, '\0');
    for (int n = 0; n < 200; ++n) {
        for (char& c : text) c = static_cast<char>(random());
        expect_sets(classify, text);
    }
}

TEST(SyntaxWindow, CharactersAreClassifiedAlikeOnEveryProcessor) {
    expect_sets_of_any_text(&Sse2::classify);
    if (__builtin_cpu_supports("avx2")) expect_sets_of_any_text(&Avx2::classify);
    if (__builtin_cpu_supports("avx512bw")) expect_sets_of_any_text(&Avx512::classify);
}

}  // namespace
}  // namespace ptxgraft::syntax

#endif
