// Lists a cache's folder, and clears away what dead writers have begun.

#include "link/cache/listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string_view>

#include "link/files.hpp"

namespace ptxgraft::link {
namespace {

constexpr std::string_view entry_end = ".ptxgraft", new_end = ".ptxgraft-new", turn_end = ".ptxgraft-work";
constexpr std::size_t digits = 16;  // of 64 bits
constexpr std::uint64_t block = 4096;

struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    const bool is_ours = error == std::errc() && end == text.data() + text.size() && text.size() == digits &&
                         std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
    return is_ours ? std::optional(number) : std::nullopt;
}

std::optional<Key> key_of(std::string_view name, std::string_view ending = entry_end) {
    if (name.size() != 2 * digits + ending.size() || !name.ends_with(ending)) return std::nullopt;
    const auto high = number_of(name.substr(0, digits)), low = number_of(name.substr(digits, digits));
    return high && low ? std::optional(Key{*low, *high}) : std::nullopt;
}

bool is_begun(std::string_view name) {
    if (key_of(name, turn_end)) return true;
    return name.size() == digits + new_end.size() && name.ends_with(new_end) &&
           number_of(name.substr(0, digits)).has_value();
}

}  // namespace

std::string entry_name(const Key& key) { return key.hex().append(entry_end); }

std::string turn_name(const Key& key) { return key.hex().append(turn_end); }

std::string new_name() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) number = std::random_device()();
    return fmt::format("{:016x}{}", number, new_end);
}

std::uint64_t on_disk(std::uint64_t size) { return (size + block - 1) / block * block; }

CacheSize Listing::size() const {
    CacheSize all;
    for (const ListedEntry& entry : entries) {
        ++all.entries;
        all.bytes += entry.bytes();
    }
    return all;
}

Expected<Listing> list(const std::string& folder) {
    Listing listing;
    const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
    if (!open && errno == ENOENT) return listing;
    if (!open) return fail(Errc::cache_not_usable, fmt::format("{}: {}", folder, std::strerror(errno)));
    while (const dirent* const file = ::readdir(open.get())) {
        if (is_begun(file->d_name)) listing.begun.push_back(folder + "/" + file->d_name);
        const auto key = key_of(file->d_name);
        struct stat status {};
        if (key && ::fstatat(::dirfd(open.get()), file->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            listing.entries.push_back({*key, status});
    }
    return listing;
}

std::uint64_t remove_abandoned(const Listing& listing) {
    std::uint64_t count = 0;
    for (const std::string& path : listing.begun) {
        const OpenFile file(path, O_RDONLY | O_NOFOLLOW);
        struct stat status {};
        const bool is_file = file && file.is_regular(status);
        if (is_file && (!file.lock() || !is_at(path, status))) continue;  // being written, or an entry by now
        if (!file && errno != ELOOP) continue;
        count += remove_any(path);
    }
    return count;
}

bool remove_any(const std::string& path) {
    return ::unlink(path.c_str()) == 0 || (errno == EISDIR && ::rmdir(path.c_str()) == 0);
}

}  // namespace ptxgraft::link
