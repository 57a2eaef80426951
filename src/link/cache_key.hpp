#pragma once
/// @file cache_key.hpp
/// The key of a compilation in the cache.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/cache.hpp"

namespace ptxgraft::link {

/// The key of a compilation, over all that its PTX depends on; nullopt when that cannot be told (an
/// `#include` of a macro, `__TIME__`, precompiled headers), and then the compilation is not cached.
/// `arguments` is NVRTC's command line.
[[nodiscard]] std::optional<Key> compilation_key(std::string_view source, const CudaOptions& options,
                                                 const std::vector<std::string>& arguments);

/// The names that a text includes or asks for with `__has_include`, wherever they stand: conditions and
/// comments are ignored, so there may be too many but never too few.
struct Includes {
    std::vector<std::string_view> names;
    bool computed = false;  ///< one is a macro
};
[[nodiscard]] Includes find_includes(std::string_view text);

}  // namespace ptxgraft::link
