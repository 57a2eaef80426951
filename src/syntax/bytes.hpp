#pragma once
// Short byte strings: comparing, copying and hashing names costs a few instructions instead of a call.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace ptxgraft::syntax {

static_assert(std::endian::native == std::endian::little);

template <class Word> constexpr Word load(const char* at) {
    Word word = 0;
    if (std::is_constant_evaluated()) {
        for (std::size_t i = sizeof(Word); i-- > 0;)
            word = static_cast<Word>(word << 8 | static_cast<unsigned char>(at[i]));
    } else {
        std::memcpy(&word, at, sizeof(Word));
    }
    return word;
}

/// All bytes of a string of at most 8, together with its size no other string has the same.
constexpr std::uint64_t load_short(const char* at, std::size_t size) {
    if (size == 8) return load<std::uint64_t>(at);
    if (size >= 4) return load<std::uint32_t>(at) | std::uint64_t{load<std::uint32_t>(at + size - 4)} << 32;
    if (size == 0) return 0;
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

/// The last `size` characters, 1 to 8, before `end` in the high bytes of a word, and zeros below them. Eight
/// bytes before `end` must be readable.
inline std::uint64_t load_back(const char* end, std::size_t size) {
    const std::size_t beside = 64 - 8 * size;
    return load<std::uint64_t>(end - 8) >> beside << beside;
}

constexpr bool is_equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    const std::size_t size = a.size();
    if (size <= 8) return load_short(a.data(), size) == load_short(b.data(), size);
    for (std::size_t at = 0; at + 8 < size; at += 8)
        if (load<std::uint64_t>(a.data() + at) != load<std::uint64_t>(b.data() + at)) return false;
    return load<std::uint64_t>(a.data() + size - 8) == load<std::uint64_t>(b.data() + size - 8);
}

/// Writes a string; gives the place behind it.
inline char* copy(std::string_view from, char* to) {
    const std::size_t size = from.size();
    if (size < 8) {
        for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
        return to + size;
    }
    for (std::size_t at = 0; at + 8 < size; at += 8) std::memcpy(to + at, from.data() + at, 8);
    std::memcpy(to + size - 8, from.data() + size - 8, 8);
    return to + size;
}

/// Of more than 32 characters: four sums that do not wait for each other.
inline std::uint64_t hash_of_long(std::string_view name, std::uint64_t seed) {
    constexpr std::uint64_t odd[4] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
                                      0xD6E8FEB86659FD93u};
    std::uint64_t sums[4] = {seed, seed, seed, seed};
    const auto mix = [&](const char* at) {
        for (std::size_t i = 0; i < 4; ++i) {
            sums[i] = (sums[i] ^ load<std::uint64_t>(at + 8 * i)) * odd[i];
            sums[i] ^= sums[i] >> 29;
        }
    };
    for (std::size_t at = 0; at + 32 < name.size(); at += 32) mix(name.data() + at);
    mix(name.data() + name.size() - 32);
    for (std::size_t i = 1; i < 4; ++i) sums[0] = (sums[0] ^ sums[i]) * odd[i] + (sums[0] >> 31);
    return sums[0];
}

inline std::uint32_t hash_of(std::string_view name) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    const std::size_t size = name.size();
    std::uint64_t hash = size * odd;
    const auto mix = [&](std::uint64_t word) {
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29;
    };
    if (size <= 8) {
        mix(load_short(name.data(), size));
    } else if (size <= 64) {
        for (std::size_t at = 0; at + 8 < size; at += 8) mix(load<std::uint64_t>(name.data() + at));
        mix(load<std::uint64_t>(name.data() + size - 8));
    } else {
        hash = hash_of_long(name, hash);
    }
    mix(hash >> 32);  // the last characters come to the low bits too
    return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace ptxgraft::syntax
