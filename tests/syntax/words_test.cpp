// The hash tables of types and directives: each word is found, and none that differs from it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/syntax/spaces.hpp"
#include "ptxgraft/syntax/types.hpp"
#include "syntax/directives.hpp"

namespace ptxgraft::syntax {
namespace {

// A character less, one more, and each one changed.
std::vector<std::string> neighbours(std::string_view word) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i <= word.size(); ++i) {
        const std::string head(word.substr(0, i)), tail(word.substr(i));
        all.push_back(head + "2" + tail);
        if (tail.empty()) continue;
        all.push_back(head + tail.substr(1));
        for (const char c : {'a', '1', '_', '\xE9', '\0'})
            if (tail[0] != c) all.push_back(head + c + tail.substr(1));
    }
    return all;
}

const TypeRow* type_by_comparing(std::string_view word) {
    const auto found = std::ranges::find(types, word, &TypeRow::word);
    return found == std::end(types) ? nullptr : found;
}

TEST(Words, TypesAreFoundAsByComparingAll) {
    EXPECT_EQ(find_type(""), nullptr);
    EXPECT_EQ(find_type("."), nullptr);
    for (const TypeRow& row : types) {
        EXPECT_EQ(find_type(row.word), &row) << row.word;
        for (const std::string& word : neighbours(row.word))
            EXPECT_EQ(find_type(word), type_by_comparing(word)) << word;
    }
}

struct Word {
    std::string_view text;
    DirectiveClass kind;
};

std::vector<Word> known_words() {
    using C = DirectiveClass;
    std::vector<Word> all = {{".version", C::version},
                             {".target", C::target},
                             {".address_size", C::address_size},
                             {".extern", C::linkage},
                             {".weak", C::linkage},
                             {".entry", C::function},
                             {".func", C::function},
                             {".align", C::alignment},
                             {".ptr", C::pointer},
                             {".loc", C::location},
                             {".v2", C::vector},
                             {".v8", C::vector},
                             {".branchtargets", C::branch_targets},
                             {".callprototype", C::prototype},
                             {".minnctapersm", C::entry_limit},
                             {".maxnctapersm", C::entry_limit},
                             {".reqnctapercluster", C::entry_limit},
                             {".blocksareclusters", C::entry_limit},
                             {".abi_preserve", C::function_abi},
                             {".abi_preserve_control", C::function_abi}};
    for (const SpaceRow& row : spaces)
        if (row.is_declared) all.push_back({row.word, C::space});
    for (const TypeRow& row : types)
        if (row.is_declared) all.push_back({row.word, C::type});
    return all;
}

TEST(Words, DirectivesAreFoundAndTheirNeighboursAreNot) {
    // neighbours that are directives themselves, and not among those above
    constexpr std::array others = {".v4"};
    const std::vector<Word> words = known_words();
    EXPECT_EQ(directive_class(""), DirectiveClass::unknown);
    EXPECT_EQ(directive_class("."), DirectiveClass::unknown);
    for (const Word& word : words) {
        EXPECT_EQ(directive_class(word.text), word.kind) << word.text;
        for (const std::string& text : neighbours(word.text)) {
            if (std::ranges::find(others, text) != others.end()) continue;
            const auto known = std::ranges::find(words, text, &Word::text);
            const DirectiveClass kind = known == words.end() ? DirectiveClass::unknown : known->kind;
            EXPECT_EQ(directive_class(text), kind) << text;
        }
    }
}

}  // namespace
}  // namespace ptxgraft::syntax
