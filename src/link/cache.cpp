// The files of the compile cache: written whole or not at all, and believed only if their hash is right.

#define XXH_INLINE_ALL
#include "link/cache.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>

#include "link/files.hpp"

namespace ptxgraft::link {
namespace {

namespace fs = std::filesystem;

// An entry: this header, the log, the PTX, and the hash of all that.
struct EntryHeader {
    char magic[16];
    Key key;
    std::uint64_t log_size, text_size;
};
constexpr char magic[16] = "ptxgraft ptx 1\n";
constexpr std::size_t overhead = sizeof(EntryHeader) + sizeof(Key);

Key hash(std::string_view bytes) {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return {h.low64, h.high64};
}

fs::path entry_path(const std::string& folder, const Key& key) {
    return fs::path(folder) / (key.hex() + ".ptx.cache");
}

std::string encode(const Key& key, const Ptx& ptx) {
    EntryHeader header{{}, key, ptx.log.size(), ptx.text.size()};
    std::memcpy(header.magic, magic, sizeof magic);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += ptx.log;
    bytes += ptx.text;
    const Key sum = hash(bytes);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    return bytes;
}

std::optional<Ptx> decode(const Key& key, std::string_view bytes) {
    if (bytes.size() < overhead) return std::nullopt;
    EntryHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    Key sum;
    std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
    const std::string_view content = bytes.substr(0, bytes.size() - sizeof sum);
    if (std::memcmp(header.magic, magic, sizeof magic) != 0 || !(header.key == key) ||
        !(sum == hash(content)))
        return std::nullopt;
    const std::size_t payload = bytes.size() - overhead;
    if (header.log_size > payload || header.text_size != payload - header.log_size) return std::nullopt;
    return Ptx{.text = std::string(content.substr(sizeof header + header.log_size)),
               .log = std::string(content.substr(sizeof header, header.log_size)),
               .from_cache = true};
}

}  // namespace

std::string Key::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

KeyBuilder::KeyBuilder() : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

KeyBuilder::~KeyBuilder() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

void KeyBuilder::add(std::string_view field) {
    const std::uint64_t size = field.size();
    XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), &size, sizeof size);
    XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), field.data(), field.size());
}

Key KeyBuilder::key() const {
    const XXH128_hash_t h = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
    return {h.low64, h.high64};
}

std::optional<Ptx> load_cached(const std::string& folder, const Key& key) {
    const auto bytes = read_own_file(entry_path(folder, key).string());
    return bytes ? decode(key, *bytes) : std::nullopt;
}

void store_cached(const std::string& folder, const Key& key, const Ptx& ptx) {
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    const std::string path = entry_path(folder, key).string();
    const std::string bytes = encode(key, ptx);
    // A new file beside the entry, under a name that nobody can have prepared: rename is atomic, so readers
    // see the old entry, the new one, or none.
    std::random_device random;
    for (int attempt = 0; attempt < 4; ++attempt) {
        const std::string temporary = fmt::format("{}.{:08x}{:08x}", path, random(), random());
        if (write_new_file(temporary, bytes)) {
            std::error_code error;
            fs::rename(temporary, path, error);
            if (error) fs::remove(temporary, ignored);
            return;
        }
        if (errno != EEXIST) return;
    }
}

}  // namespace ptxgraft::link
