#pragma once
// The hash of keys and checksums. xxhash is used as a header only.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string_view>

#include "link/cache.hpp"

namespace ptxgraft::link {

[[nodiscard]] inline Key hash(std::string_view bytes) {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return {h.low64, h.high64};
}

}  // namespace ptxgraft::link
