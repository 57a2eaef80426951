// PTX's directives and reserved words, in a hash table that is filled when this file is compiled.

#include "syntax/directives.hpp"

#include <algorithm>
#include <cstddef>

#include "ptxgraft/syntax/spaces.hpp"
#include "ptxgraft/syntax/types.hpp"
#include "syntax/bytes.hpp"

namespace ptxgraft::syntax {
namespace {

using C = DirectiveClass;

constexpr Directive own_rows[] = {
    {".version", C::version, true},
    {".target", C::target, true},
    {".address_size", C::address_size, true},
    {".extern", C::linkage, true},
    {".visible", C::linkage, true},
    {".weak", C::linkage},
    {".common", C::linkage, true},
    {".entry", C::function, true},
    {".func", C::function, true},
    {".align", C::alignment, true},
    {".attribute", C::attribute, true},
    {".managed", C::part, true},
    {".unified", C::part, true},
    {".ptr", C::pointer, true},
    {".byte", C::part, true},
    {".loc", C::location, true},
    {".file", C::file, true},
    {".section", C::section, true},
    {".pragma", C::pragma, true},
    {".alias", C::alias},
    {".branchtargets", C::branch_targets, true},
    {".calltargets", C::call_targets, true},
    {".callprototype", C::prototype, true},
    {".maxnreg", C::entry_limit, true, 1},
    {".maxntid", C::entry_limit, true, 3},
    {".reqntid", C::entry_limit, true, 3},
    {".minnctapersm", C::entry_limit, true, 1},
    {".maxnctapersm", C::entry_limit, true, 1},
    {".minperctamemory", C::entry_limit, true, 1},  // PTX ISA 9.4
    {".explicitcluster", C::entry_limit, true, 0},
    {".reqnctapercluster", C::entry_limit, true, 3},
    {".maxclusterrank", C::entry_limit, true, 1},
    {".blocksareclusters", C::entry_limit, true, 0},
    {".noreturn", C::function_abi, true, 0},
    {".abi_preserve", C::function_abi, true, 1},
    {".abi_preserve_control", C::function_abi, true, 1},
    {".v2", C::vector},
    {".v4", C::vector},
    {".v8", C::vector},
};

// With the state spaces and types that begin and continue a declaration.
constexpr auto rows = [] {
    constexpr auto is_declared = [](const auto& row) { return row.is_declared; };
    constexpr std::size_t space_count = std::ranges::count_if(spaces, is_declared),
                          type_count = std::ranges::count_if(types, is_declared);
    std::array<Directive, std::size(own_rows) + space_count + type_count> all{};
    auto* to = std::ranges::copy(own_rows, all.begin()).out;
    for (const SpaceRow& row : spaces)
        if (row.is_declared) *to++ = {row.word, C::space, row.is_reserved};
    for (const TypeRow& row : types)
        if (row.is_declared) *to++ = {row.word, C::type};
    return all;
}();

// Words of one hash stand in one bucket; most buckets are empty, so that a word that is no directive costs
// one look.
constexpr std::size_t bucket_count = 256, bucket_size = 2;

// The factors were searched: with them no bucket overflows, and make_buckets() does not compile if one does.
constexpr std::size_t hash(std::string_view word) {
    const auto at = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(word[i]));
    };
    const std::size_t n = word.size();
    return (at(1) * 69 + at(2) * 23 + at(n / 2) * 73 + at(n - 2) * 23 + at(n - 1) + n * 31) % bucket_count;
}

using Buckets = std::array<std::array<std::uint8_t, bucket_size>, bucket_count>;

constexpr Buckets make_buckets() {
    Buckets buckets{};
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        auto& bucket = buckets[hash(rows[i].word)];
        std::size_t free = 0;
        while (bucket[free] != 0) ++free;
        bucket[free] = static_cast<std::uint8_t>(i + 1);
    }
    return buckets;
}
constexpr Buckets buckets = make_buckets();
constexpr Directive no_directive{};

}  // namespace

const Directive& directive(std::string_view word) {
    if (word.size() < 3) return no_directive;
    for (const std::uint8_t i : buckets[hash(word)])
        if (i != 0 && is_equal(rows[i - 1].word, word)) return rows[i - 1];
    return no_directive;
}

// By first letter, a bit for each size.
constexpr auto make_reserved_sizes() {
    std::array<std::uint32_t, 256> sizes{};
    for (const Directive& row : rows)
        if (row.reserved) sizes[static_cast<unsigned char>(row.word[1])] |= 1u << row.word.size();
    return sizes;
}
constinit const std::array<std::uint32_t, 256> reserved_sizes = make_reserved_sizes();

}  // namespace ptxgraft::syntax
