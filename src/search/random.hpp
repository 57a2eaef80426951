#pragma once
/// @file random.hpp
/// Random numbers as a function of (seed, index of a candidate, attempt, draw): any thread that draws the
/// same gets the same.

#include <cmath>
#include <cstdint>

#include "ptxgraft/program.hpp"

namespace ptxgraft::search {

using stack::Random;

/// Two numbers as one; every bit of both changes half of the result's.
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ (b * 0xD1342543DE82EF95u)) + 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

[[nodiscard]] inline Random random_for(std::uint64_t seed, std::uint64_t index, std::uint64_t attempt) {
    return Random(mixed(seed, attempt), index);
}

/// Log-uniform between two positive numbers.
[[nodiscard]] inline double between(Random& random, double low, double high) {
    return low * std::exp(random.unit() * std::log(high / low));
}

}  // namespace ptxgraft::search
