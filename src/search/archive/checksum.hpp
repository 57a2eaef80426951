#pragma once
/// @file checksum.hpp
/// What says whether a row of an archive is as it was written.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ptxgraft::search {

/// Of values in their order, with the types that SQLite gives them. The archive keeps it: it never changes.
class Checksum {
  public:
    void add(std::uint64_t number);
    void add(double number);  ///< SQLite keeps no -0, and a NaN as nothing
    void add(std::string_view text);
    void add(std::span<const std::byte> blob);
    void add_nothing();
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    enum class Kind : std::uint8_t { nothing, number, real, text, blob };
    void add(Kind kind, const void* bytes, std::size_t size);
    std::uint64_t value_ = 0;
};

}  // namespace ptxgraft::search
