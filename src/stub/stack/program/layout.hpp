#pragma once
// How the bytes of a program begin.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "stub/builder.hpp"

namespace ptxgraft::stack {

static_assert(std::endian::native == std::endian::little);  // the bytes are copied as they stand

/// "PTXG"; and what the numbers of programs mean: opcodes, types, this layout.
inline constexpr std::uint32_t bytes_magic = 0x47585450, bytes_version = 1;

struct ProgramHeader {
    std::uint32_t magic, version;
    std::uint64_t size;      ///< of all bytes
    std::uint64_t checksum;  ///< of all bytes, this one counted as 0
    std::uint64_t machine;
    std::uint32_t code, pool, routines, zero;  ///< counts
};
static_assert(sizeof(ProgramHeader) == 48);

/// Each step is a bijection of its word and of the state, so that no change of one word goes unseen.
inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    std::uint64_t sum = bytes.size();
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
        if (at == offsetof(ProgramHeader, checksum)) continue;
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
        sum = mix(sum, word);
    }
    return sum;
}

}  // namespace ptxgraft::stack
