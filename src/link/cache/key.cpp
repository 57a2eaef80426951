// Keys: XXH3 of 128 bits, over delimited fields.

#include <fmt/format.h>

#include <new>

#include "link/cache.hpp"
#include "link/cache/hash.hpp"

namespace ptxgraft::link {

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

void KeyBuilder::add(const Key& part) {
    add(std::string_view(reinterpret_cast<const char*>(&part), sizeof part));
}

Key KeyBuilder::key() const {
    const XXH128_hash_t h = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
    return {h.low64, h.high64};
}

}  // namespace ptxgraft::link
