// ld, st, cp.async and fences: gathers and scatters between columns and memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

struct Wide {
    std::uint64_t low, high;
};

// Calls `f` for the type of elements of so many bytes.
template <class F> Execute by_width(std::uint32_t bytes, F f) {
    switch (bytes) {
        case 1: return f.template operator()<std::uint8_t>();
        case 2: return f.template operator()<std::uint16_t>();
        case 4: return f.template operator()<std::uint32_t>();
        case 8: return f.template operator()<std::uint64_t>();
        default: return f.template operator()<Wide>();
    }
}

// Calls `f(lane)` for the lanes of a mask; for all of them in a loop of its own, which the compiler unrolls.
template <class F> void for_lanes(std::uint32_t mask, F&& f) {
    if (mask == ~0u) {
        for (unsigned lane = 0; lane < lane_count; ++lane) f(lane);
    } else {
        for (; mask != 0; mask &= mask - 1) f(first_lane(mask));
    }
}

// Other CTAs run on other host threads: an element is read and written at once, and in the order of the
// program, which costs nothing on x86.
template <class T> T load_element(const std::byte* from) {
    if constexpr (sizeof(T) <= 8) return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_ACQUIRE);
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class T> void store_element(std::byte* to, const T& value) {
    if constexpr (sizeof(T) <= 8)
        __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELEASE);
    else
        std::memcpy(to, &value, sizeof value);
}

template <class T>
void load_located(Warp& warp, const Operation& operation, std::uint32_t mask, const std::byte* from,
                  const Located& at) {
    const Ref* const refs = warp.operands(operation);
    const unsigned count = operation.outputs;
    const auto gather = warp.launch().lane_functions->gather[std::countr_zero(sizeof(T))];
    if (sizeof(T) == 4 && count == 4 && mask == ~0u && !at.all_equal) {
        std::byte* const to[] = {warp.column(refs[0]), warp.column(refs[1]), warp.column(refs[2]),
                                 warp.column(refs[3])};
        return warp.launch().lane_functions->gather4(to, from, at);
    }
    for (unsigned i = 0; i < count; ++i) {
        T* const to = warp.column_of<T>(refs[i]);
        const std::byte* const element = from + i * sizeof(T);
        if (at.all_equal) {
            std::fill_n(to, lane_count, load_element<T>(element + at.offsets[0]));
        } else if (at.consecutive && count == 1) {
            std::memcpy(to, element + at.offsets[0], lane_count * sizeof(T));
        } else {
            gather(reinterpret_cast<std::byte*>(to), element, at, mask);
        }
    }
}

// Calls `f(lanes, host bytes, where they are)` for all lanes at once, or for one after the other when they
// access different pieces of memory; false after an error.
template <class F>
bool for_pieces(Warp& warp, const Access& access, const Operation& operation, std::uint32_t mask, Use use,
                F&& f) {
    Located at;
    if (std::byte* const host = warp.memory().locate(access, operation, mask, use, at))
        return f(mask, host, at);
    std::array<std::uint64_t, lane_count> addresses;  // an output may be the address's register
    each_bit(mask, [&](unsigned lane) { addresses[lane] = warp.memory().address(access, operation, lane); });
    const std::uint32_t bytes = std::uint32_t{access.bytes} * access.count;
    return each_bit(mask, [&](unsigned lane) {
        std::byte* const host = warp.memory().resolve(access.space, addresses[lane], lane, bytes, use);
        if (host == nullptr) return false;
        Located one;
        warp.memory().describe(access.space, addresses[lane], lane, one);
        one.host = host;
        return f(1u << lane, host, one);
    });
}

template <class T> Flow load(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const bool done =
        for_pieces(warp, access, operation, mask, Use::read,
                   [&](std::uint32_t lanes, const std::byte* from, const Located& at) {
                       if (warp.checks().is_ordered() && !warp.checks().check_load(access, lanes, at))
                           return false;
                       load_located<T>(warp, operation, lanes, from, at);
                       if (warp.checks().tracks_written())
                           warp.checks().memory().note_loaded(operation, lanes, at);
                       return true;
                   });
    if (!done) return Flow::fail;
    return access.is_strong() ? warp.work().strong() : Flow::next;
}

// Calls `f(first, count)` for the bytes that are used, in aligned powers of two, until it is false.
template <class F> bool for_used_pieces(const Access& access, F&& f) {
    const unsigned bytes = unsigned{access.bytes} * access.count;
    const auto is_used = [&](unsigned first, unsigned count) {
        const std::uint32_t piece = (count < 32 ? (1u << count) - 1 : ~0u) << first;
        return first + count <= bytes && (access.used & piece) == piece;
    };
    for (unsigned first = 0, count = 1; first < bytes; first += count) {
        count = 1;
        if (!is_used(first, 1)) continue;
        while (first % (2 * count) == 0 && is_used(first, 2 * count)) count *= 2;
        if (!f(first, count)) return false;
    }
    return true;
}

// One lane of a partial load, byte by byte: beside what is used, nothing need be there.
bool load_used_bytes(Warp& warp, const Access& access, const Operation& operation, std::uint64_t address,
                     unsigned lane) {
    const Ref* const refs = warp.operands(operation);
    Access byte = access;
    byte.bytes = byte.count = 1;
    for (unsigned i = 0; i < operation.outputs; ++i) {
        std::array<std::byte, 16> value{};
        States states{};
        bool is_defined = true;
        std::optional<Origin> origin;  // of the first byte that is used and that nothing wrote
        for (unsigned b = 0; b < access.bytes; ++b) {
            const unsigned at = i * access.bytes + b;
            std::uint8_t& state = states[lane * access.bytes + b];
            if ((access.used >> at & 1) == 0) {
                is_defined = false;
                continue;
            }
            const std::byte* const host =
                warp.memory().resolve(access.space, address + at, lane, 1, Use::read);
            if (host == nullptr) return false;
            Located one;
            warp.memory().describe(access.space, address + at, lane, one);
            one.host = host;
            if (warp.checks().is_ordered() && !warp.checks().check_load(byte, 1u << lane, one)) return false;
            value[b] = *host;
            state = one.written == nullptr ? 0xFF : one.written[0];
            is_defined &= state == 0xFF;
            const Place place = warp.memory().common_place(access.space, address + at);
            if (state != 0xFF && !origin)
                origin = warp.checks().memory().origin_at(place.space, one.begin, lane);
        }
        std::memcpy(warp.column(refs[i]) + std::size_t{lane} * access.bytes, value.data(), access.bytes);
        if (warp.checks().tracks_written() && !is_defined)
            warp.checks().definedness().taint(refs[i], 1u << lane, origin.value_or(Origin{.pc = warp.pc()}),
                                              states.data());
    }
    return true;
}

// As load(), where all bytes are there; the checks look at those that are used.
template <class T> Flow partial_load(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const unsigned bytes = unsigned{access.bytes} * access.count;
    Located at;
    if (const std::byte* const host = warp.memory().locate(access, operation, mask, Use::read, at)) {
        const auto check = [&](unsigned first, unsigned count) {
            Access piece = access;
            piece.bytes = 1;
            piece.count = static_cast<std::uint8_t>(count);
            Located there = at;
            there.begin += first;
            there.host += first;
            if (there.written != nullptr) there.written += first;
            there.consecutive = false;
            return warp.checks().check_load(piece, mask, there);
        };
        if (warp.checks().is_ordered() && !for_used_pieces(access, check)) return Flow::fail;
        load_located<T>(warp, operation, mask, host, at);
        if (warp.checks().tracks_written()) warp.checks().memory().note_loaded(operation, mask, at);
        return Flow::next;
    }
    std::array<std::uint64_t, lane_count> addresses;  // an output may be the address's register
    each_bit(mask, [&](unsigned lane) { addresses[lane] = warp.memory().address(access, operation, lane); });
    return next_if(each_bit(mask, [&](unsigned lane) {
        if (addresses[lane] % bytes != 0)  // for its error
            return warp.memory().resolve(access.space, addresses[lane], lane, bytes, Use::read) != nullptr;
        return load_used_bytes(warp, access, operation, addresses[lane], lane);
    }));
}

template <class T>
void store_located(Warp& warp, const Access& access, const Ref* refs, std::uint32_t mask, std::byte* to,
                   const Located& at) {
    if (sizeof(T) == 4 && access.count == 4 && mask == ~0u) {
        const std::byte* const from[] = {warp.column(refs[0]), warp.column(refs[1]), warp.column(refs[2]),
                                         warp.column(refs[3])};
        return warp.launch().lane_functions->scatter4(to, from, at);
    }
    for (unsigned i = 0; i < access.count; ++i) {
        const T* const from = warp.column_of<T>(refs[i]);
        if (at.consecutive && access.count == 1) {
            std::memcpy(to + at.offsets[0], from, lane_count * sizeof(T));
        } else {
            for_lanes(mask, [&](unsigned lane) {
                store_element<T>(to + at.offsets[lane] + i * sizeof(T), from[lane]);
            });
        }
    }
}

template <class T> Flow store(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const Ref* const refs = warp.operands(operation) + (access.has_base ? 1 : 0);
    return next_if(for_pieces(warp, access, operation, mask, Use::write,
                              [&](std::uint32_t lanes, std::byte* to, const Located& at) {
                                  if (warp.checks().looks_at_memory() &&
                                      !warp.checks().check_store(access, refs, lanes, at))
                                      return false;
                                  store_located<T>(warp, access, refs, lanes, to, at);
                                  return true;
                              }));
}

}  // namespace

Execute load_operation(std::uint32_t bytes) {
    return by_width(bytes, []<class T>() -> Execute { return load<T>; });
}
Execute partial_load_operation(std::uint32_t bytes) {
    return by_width(bytes, []<class T>() -> Execute { return partial_load<T>; });
}
Execute store_operation(std::uint32_t bytes) {
    return by_width(bytes, []<class T>() -> Execute { return store<T>; });
}

namespace {

// All lanes' copies at once, where each copies all its bytes, nothing is wrong with any, and all are in step;
// else nothing is done.
std::optional<Flow> copy_together(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = access_of(warp, operation);
    const Ref* const refs = warp.operands(operation) + (access.has_base ? 1 : 0);
    const std::uint32_t bytes = access.bytes;
    Located from, to;
    if (!each_bit(mask, [&](unsigned lane) { return warp.value(refs[1], lane) == bytes; })) return {};
    std::byte* const target = warp.memory().locate(access, operation, mask, Use::write, to);
    const std::byte* const source =
        target != nullptr ? warp.memory().locate_global(refs[0], bytes, mask, from) : nullptr;
    if (source == nullptr || !warp.checks().async().are_in_step(mask)) return {};
    if (!warp.checks().async().note_copies(from, to, bytes, mask)) return Flow::fail;
    each_bit(mask, [&](unsigned lane) {
        std::memcpy(target + to.offsets[lane], source + from.offsets[lane], bytes);
    });
    return Flow::next;
}

}  // namespace

Flow execute_copy(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (const auto done = copy_together(warp, operation, mask)) return *done;
    const Access& access = access_of(warp, operation);
    const Ref* const refs = warp.operands(operation) + (access.has_base ? 1 : 0);
    const std::uint32_t bytes = access.bytes;
    return next_if(each_bit(mask, [&](unsigned lane) -> bool {
        const auto wanted = static_cast<std::uint32_t>(warp.value(refs[1], lane));
        if (wanted > bytes) {  // PTX ISA 9.7.9.25.3.1
            return warp.fail(Errc::copy_size_invalid, lane,
                             fmt::format("{} bytes of the source, where {} are copied", wanted, bytes));
        }
        std::byte* to = warp.memory().resolve(access, operation, lane, bytes, Use::write);
        if (to == nullptr) return false;
        std::array<std::byte, 16> data = {};
        if (wanted != 0) {
            const std::uint64_t address = warp.value(refs[0], lane);
            const std::byte* from = warp.memory().find(Space::global, address, lane, wanted, Use::read);
            if (from == nullptr || address % bytes != 0) {
                static_cast<void>(
                    warp.memory().resolve(Space::global, address, lane, bytes, Use::read));  // for its error
                return false;
            }
            std::copy_n(from, wanted, data.begin());
        }
        const CopiedPiece piece{.from = warp.value(refs[0], lane),
                                .to = warp.memory().address(access, operation, lane),
                                .wanted = wanted,
                                .host = to,
                                .bytes = data.data()};
        if (!warp.checks().async().note_copy(access, piece, lane)) return false;
        std::copy_n(data.begin(), bytes, to);
        return true;
    }));
}

Flow execute_copy_commit(Warp& warp, const Operation&, std::uint32_t mask) {
    warp.checks().async().commit_copies(mask);
    return Flow::next;
}

Flow execute_copy_wait(Warp& warp, const Operation& operation, std::uint32_t mask) {
    warp.checks().async().wait_copies(mask, operation.pending_groups());
    return Flow::next;
}

Flow execute_copy_wait_all(Warp& warp, const Operation&, std::uint32_t mask) {
    warp.checks().async().commit_copies(mask);
    warp.checks().async().wait_copies(mask, 0);
    return Flow::next;
}

Flow execute_fence(Warp& warp, const Operation& operation, std::uint32_t mask) {
    warp.checks().races().fence(Fence::of(operation.extra), mask);
    return Flow::next;
}

Flow execute_nothing(Warp&, const Operation&, std::uint32_t) { return Flow::next; }

}  // namespace ptxgraft::emulator
