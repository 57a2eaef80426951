#pragma once
// The hash of a form's name: used by the generator, which lays out the table, and by find(), which looks into
// it.

#include <cstdint>
#include <string_view>

namespace ptxgraft::isa {

constexpr std::uint32_t name_hash(std::string_view name) {
    std::uint32_t hash = 2166136261u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash ^ (hash >> 15);
}

}  // namespace ptxgraft::isa
