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
    {".local_maxnreg", C::register_limit, true, 1},  // PTX ISA 8.8
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

// Each word has its own slot or the next free one behind it. Most slots are empty, so that a word that is no
// directive costs one look.
struct Slot {
    std::uint64_t key = 0;
    const Directive* row = nullptr;
};
constexpr std::size_t slot_count = 256;

// All of a word of at most eight characters, together with its size.
constexpr std::uint64_t key_of(std::string_view word) {
    const std::size_t n = word.size();
    if (n <= 8) return load_short(word.data(), n);
    return load<std::uint64_t>(word.data()) + 3 * load<std::uint64_t>(word.data() + n - 8);
}
constexpr std::uint8_t slot_of(std::uint64_t key, std::size_t size) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    static_assert(slot_count == 256);
    return static_cast<std::uint8_t>((key + size) * odd >> 56);
}

constexpr auto slots = [] {
    std::array<Slot, slot_count> all{};
    for (const Directive& row : rows) {
        const std::uint64_t key = key_of(row.word);
        std::uint8_t at = slot_of(key, row.word.size());
        while (all[at].row != nullptr) ++at;
        all[at] = {key, &row};
    }
    return all;
}();
constexpr Directive no_directive{};

}  // namespace

const Directive& directive(std::string_view word) {
    const std::uint64_t key = key_of(word);
    for (std::uint8_t at = slot_of(key, word.size());; ++at) {
        const Slot& slot = slots[at];
        if (slot.row == nullptr) return no_directive;
        const bool may_be = slot.key == key && slot.row->word.size() == word.size();
        if (may_be && (word.size() <= 8 || is_equal(slot.row->word, word))) return *slot.row;
    }
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
