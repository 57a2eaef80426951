#pragma once
/// @file entry.hpp
/// An entry of a cache: what a call came to, and its bytes on disk.
///
///     head      magic with the format's version, key, kind, layout, size of the payload
///     payload   the fields of the result or the error (archive.hpp)
///     checksum  of all that stands before it

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "link/cache.hpp"

namespace ptxgraft::link {

using Outcome = std::variant<Error, std::shared_ptr<const Cubin>, std::shared_ptr<const Ptx>,
                             std::shared_ptr<const VariantPlace>>;

/// What stands first in an entry's file. Numbers are the machine's.
struct EntryHead {
    char magic[16];
    Key key;
    std::uint32_t kind;    ///< the outcome's index
    std::uint32_t layout;  ///< differs, most likely, where the structs of a result have other fields
    std::uint64_t payload;
};
/// The size of the whole file, when its first bytes are the head of an entry of this key.
[[nodiscard]] std::optional<std::uint64_t> entry_size(const EntryHead& head, const Key& key);

[[nodiscard]] std::string encode(const Key& key, const Outcome& outcome);
/// nullopt unless the bytes are a whole entry of this key.
[[nodiscard]] std::optional<Outcome> decode(const Key& key, std::string_view bytes);

/// The bytes of memory that an outcome takes up.
[[nodiscard]] std::uint64_t footprint(const Outcome& outcome);

}  // namespace ptxgraft::link
