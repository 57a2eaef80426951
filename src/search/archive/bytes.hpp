#pragma once
/// @file bytes.hpp
/// Genomes as bytes: how the archive keeps them, little-endian. Any truncation is an error.

#include <cstdint>
#include <span>
#include <vector>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

[[nodiscard]] std::vector<std::byte> bytes_of(const Genome& genome);
/// Errors: Errc::archive_malformed.
[[nodiscard]] Expected<Genome> genome_of(std::span<const std::byte> bytes);

}  // namespace ptxgraft::search
