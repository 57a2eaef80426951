// The names of operands and the places of constants: small hash tables, made anew for each text.

#include <algorithm>

#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint16_t free_name = 0xFFFF;
constexpr std::uint32_t free_place = 0xFFFFFFFFu;

// Of its length and the bytes at its ends: most words of a program are no operands, and most of these end
// here.
std::uint32_t hash_of(std::string_view name) {
    const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(name[i])}; };
    const std::size_t n = name.size();
    return (static_cast<std::uint32_t>(n) + byte(0) * 31 + byte(n - 1) * 1031 + byte(n / 2) * 8209) *
               0x9E3779B1u >>
           7;
}

std::uint32_t hash_of(std::uint64_t value) {
    return static_cast<std::uint32_t>((value * 0x9E3779B97F4A7C15u) >> 32);
}

}  // namespace

void OperandNames::fill(const Signature& signature) {
    signature_ = &signature;
    const std::size_t count = std::min<std::size_t>(signature.operands.size(), free_name);
    std::uint32_t size = 16;
    while (size < 4 * count) size *= 2;
    mask_ = size - 1;
    table_.assign(size, free_name);
    for (std::size_t i = 0; i < count; ++i) {
        const std::string& name = signature.operands[i].name;
        // of equal names the first counts
        if (name.empty() || find(name) >= 0 || is_language_word(name)) continue;
        std::uint32_t at = hash_of(name) & mask_;
        while (table_[at] != free_name) at = (at + 1) & mask_;
        table_[at] = static_cast<std::uint16_t>(i);
    }
}

std::int32_t OperandNames::find(std::string_view name) const {
    for (std::uint32_t at = hash_of(name) & mask_; table_[at] != free_name; at = (at + 1) & mask_)
        if (signature_->operands[table_[at]].name == name) return table_[at];
    return -1;
}

void PoolPlaces::insert(const std::vector<std::uint64_t>& pool, std::uint32_t at) {
    const auto mask = static_cast<std::uint32_t>(table_.size()) - 1;
    std::uint32_t i = hash_of(pool[at]) & mask;
    for (; table_[i] != free_place; i = (i + 1) & mask)
        if (pool[table_[i]] == pool[at]) return;
    table_[i] = at;
}

std::uint32_t PoolPlaces::place(std::vector<std::uint64_t>& pool, std::uint64_t value) {
    if (table_.size() < 2 * (pool.size() + 1)) {
        std::size_t size = 64;
        while (size < 4 * (pool.size() + 1)) size *= 2;
        table_.assign(size, free_place);
        count_ = 0;
    }
    while (count_ < pool.size()) insert(pool, static_cast<std::uint32_t>(count_++));
    const auto mask = static_cast<std::uint32_t>(table_.size()) - 1;
    std::uint32_t i = hash_of(value) & mask;
    for (; table_[i] != free_place; i = (i + 1) & mask)
        if (pool[table_[i]] == value) return table_[i];
    pool.push_back(value);
    table_[i] = static_cast<std::uint32_t>(count_++);
    return table_[i];
}

std::uint32_t PoolPlaces::row(std::vector<std::uint64_t>& pool, std::span<const std::uint64_t> values) {
    // an instruction's `type` holds the place: only the first 256 count
    const auto end = pool.begin() + static_cast<std::ptrdiff_t>(std::min(pool.size(), 256 + values.size()));
    const auto at = std::search(pool.begin(), end, values.begin(), values.end());
    if (at != end) return static_cast<std::uint32_t>(at - pool.begin());
    pool.insert(pool.end(), values.begin(), values.end());
    return static_cast<std::uint32_t>(pool.size() - values.size());
}

}  // namespace ptxgraft::stack
