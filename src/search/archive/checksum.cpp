// What says whether a row of an archive is as it was written.
#include "search/archive/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cmath>

#include "search/random.hpp"

namespace ptxgraft::search {

static_assert(std::endian::native == std::endian::little);

void Checksum::add(Kind kind, const void* bytes, std::size_t size) {
    value_ = XXH3_64bits_withSeed(bytes, size, mixed(value_, static_cast<std::uint64_t>(kind)));
}
void Checksum::add(std::uint64_t number) { add(Kind::number, &number, sizeof number); }
void Checksum::add(double number) {
    if (std::isnan(number)) return add_nothing();
    number += 0.0;
    add(Kind::real, &number, sizeof number);
}
void Checksum::add(std::string_view text) { add(Kind::text, text.data(), text.size()); }
void Checksum::add(std::span<const std::byte> blob) { add(Kind::blob, blob.data(), blob.size()); }
void Checksum::add_nothing() { add(Kind::nothing, "", 0); }

}  // namespace ptxgraft::search
