#pragma once
/// @file cache.hpp
/// The compile cache: PTX in a folder, under a key of everything that it was compiled from.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// 128 bits that stand for everything that a compilation depends on.
struct Key {
    std::uint64_t low = 0, high = 0;
    [[nodiscard]] std::string hex() const;
    friend bool operator==(const Key&, const Key&) = default;
};

/// Collects fields into a key. Fields are delimited: ("ab", "c") and ("a", "bc") give different keys.
class KeyBuilder {
  public:
    KeyBuilder();
    ~KeyBuilder();
    KeyBuilder(const KeyBuilder&) = delete;
    KeyBuilder& operator=(const KeyBuilder&) = delete;
    void add(std::string_view field);
    [[nodiscard]] Key key() const;

  private:
    void* state_;
};

/// The entry of a key; nullopt when there is none that is whole. Never an error: a damaged entry is a miss.
[[nodiscard]] std::optional<Ptx> load_cached(const std::string& folder, const Key& key);

/// Writes an entry, whole or not at all. A folder that cannot be written just does not cache.
void store_cached(const std::string& folder, const Key& key, const Ptx& ptx);

}  // namespace ptxgraft::link
