// A file for each text, named by the hash of what it is made of.

#include "support/kept.hpp"

#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

std::filesystem::path file_of(std::string_view of) {
    const XXH128_hash_t hash = XXH3_128bits(of.data(), of.size());
    std::array<char, 33> name = {};
    std::snprintf(name.data(), name.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return std::filesystem::path(build_path("tests/kept")) / name.data();
}

}  // namespace

std::optional<std::string> kept(std::string_view of) {
    std::ifstream file(file_of(of), std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// Under another name first: whoever reads it meanwhile finds all of it or nothing.
void keep(std::string_view of, std::string_view text) {
    const std::filesystem::path path = file_of(of);
    std::filesystem::create_directories(path.parent_path());
    const std::string draft = path.string() + "." + std::to_string(getpid());
    const bool is_written = static_cast<bool>(std::ofstream(draft, std::ios::binary) << text << std::flush);
    if (is_written)
        std::filesystem::rename(draft, path);
    else
        std::filesystem::remove(draft);
}

}  // namespace ptxgraft::test
