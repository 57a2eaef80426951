// The places of constants: a small hash table, made anew for each text.

#include <algorithm>

#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t free_place = 0xFFFFFFFFu;

std::uint32_t hash_of(std::uint64_t value) {
    return static_cast<std::uint32_t>((value * 0x9E3779B97F4A7C15u) >> 32);
}

}  // namespace

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
