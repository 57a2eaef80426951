#include <algorithm>
#include <cstring>
#include <type_traits>

#include "emulator/operations.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {
namespace {

const Access& access_of(const Warp& warp, const Operation& operation) {
    return warp.program().accesses[operation.extra];
}

// Other CTAs run on other host threads: an element is read and written at once, and in the order of the
// program where that costs nothing.
template <class T>
T load_element(const std::byte* from) {
    return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_ACQUIRE);
}

template <class T>
void store_element(std::byte* to, T value) {
    __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELEASE);
}

template <class T>
std::uint64_t extended(T value) {
    if constexpr (std::is_signed_v<T>) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    return static_cast<std::uint64_t>(value);
}

template <class T>
Flow load(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const auto bytes = static_cast<std::uint32_t>(sizeof(T) * access.count);
    const bool done = each_lane(mask, [&](unsigned lane) {
        const std::byte* from = warp.resolve(access, lane, bytes, Use::read);
        if (from == nullptr) return false;
        for (unsigned i = 0; i < access.count; ++i) {
            warp.lanes(access.elements[i])[lane] = extended(load_element<T>(from + i * sizeof(T)));
        }
        return true;
    });
    if (!done) return Flow::fail;
    return access.strong ? warp.strong() : Flow::next;
}

template <class T>
Flow store(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const auto bytes = static_cast<std::uint32_t>(sizeof(T) * access.count);
    const bool done = each_lane(mask, [&](unsigned lane) {
        std::byte* to = warp.resolve(access, lane, bytes, Use::write);
        if (to == nullptr) return false;
        for (unsigned i = 0; i < access.count; ++i) {
            store_element<T>(to + i * sizeof(T), static_cast<T>(warp.lanes(access.elements[i])[lane]));
        }
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

}  // namespace

Execute load_operation(std::uint32_t bytes, bool is_signed) {
    switch (bytes) {
        case 1:
            return is_signed ? load<std::int8_t> : load<std::uint8_t>;
        case 2:
            return is_signed ? load<std::int16_t> : load<std::uint16_t>;
        case 4:
            return is_signed ? load<std::int32_t> : load<std::uint32_t>;
        default:
            return load<std::uint64_t>;
    }
}

Execute store_operation(std::uint32_t bytes) {
    switch (bytes) {
        case 1:
            return store<std::uint8_t>;
        case 2:
            return store<std::uint16_t>;
        case 4:
            return store<std::uint32_t>;
        default:
            return store<std::uint64_t>;
    }
}

Flow execute_copy(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const std::uint32_t bytes = access.bytes;
    const bool done = each_lane(mask, [&](unsigned lane) {
        std::uint32_t wanted = bytes;
        if (access.elements[1] != no_ref) {
            wanted = std::min(bytes, static_cast<std::uint32_t>(warp.lanes(access.elements[1])[lane]));
        }
        std::byte* to = warp.resolve(access, lane, bytes, Use::write);
        if (to == nullptr) return false;
        std::array<std::byte, 16> data = {};
        if (wanted != 0) {
            const std::uint64_t address = warp.lanes(access.elements[0])[lane];
            const std::byte* from = warp.find(Space::global, address, lane, wanted, Use::read);
            if (from == nullptr || address % bytes != 0) {
                static_cast<void>(
                    warp.resolve(Space::global, address, lane, bytes, Use::read));  // for its error
                return false;
            }
            std::copy_n(from, wanted, data.begin());
        }
        std::copy_n(data.begin(), bytes, to);
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

Flow execute_nothing(Warp&, const Operation&, std::uint32_t) { return Flow::next; }

}  // namespace ptxgraft::emulator
