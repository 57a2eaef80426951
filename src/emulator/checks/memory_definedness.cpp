// Definedness bits of memory lie beside its bytes, eight for each; the origins of undefined values that were
// stored are kept by the cluster's checker.
#include "emulator/checks/memory_definedness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint32_t widest_look = 1024;  // bytes that are looked at where lanes access only some of them

Space space_of(const Located& at) {
    return at.is_shared ? Space::shared : at.is_global ? Space::global : Space::local;
}

// Of one access, whose width is a power of two.
bool are_defined_at(const std::uint8_t* bytes, std::uint32_t count) {
    std::uint64_t word = 0;
    switch (count) {
        case 1: return *bytes == all_bits;
        case 2: std::memcpy(&word, bytes, 2); return word == 0xFFFF;
        case 4: std::memcpy(&word, bytes, 4); return word == 0xFFFFFFFF;
        case 8: std::memcpy(&word, bytes, 8); return word == ~std::uint64_t{0};
        case 16: {
            std::uint64_t second = 0;
            std::memcpy(&word, bytes, 8);
            std::memcpy(&second, bytes + 8, 8);
            return (word & second) == ~std::uint64_t{0};
        }
        default: return are_defined(bytes, count);
    }
}

template <class T> void mark_lanes(const Located& at, std::uint32_t mask) {
    T all;
    std::memset(&all, all_bits, sizeof all);
    for (; mask != 0; mask &= mask - 1)
        std::memcpy(at.written + at.offsets[std::countr_zero(mask)], &all, sizeof all);
}
// The bytes of each lane's access are defined.
void mark_lanes(const Located& at, std::uint32_t mask, std::size_t bytes) {
    struct Wide {
        std::uint64_t words[2];
    };
    switch (bytes) {
        case 4: return mark_lanes<std::uint32_t>(at, mask);
        case 8: return mark_lanes<std::uint64_t>(at, mask);
        case 16: return mark_lanes<Wide>(at, mask);
        default:
            for (; mask != 0; mask &= mask - 1)
                std::memset(at.written + at.offsets[std::countr_zero(mask)], all_bits, bytes);
    }
}

}  // namespace

void MemoryDefinedness::note_loaded(const Operation& operation, std::uint32_t mask, const Located& at) {
    if (at.written == nullptr || operation.outputs == 0) return;
    const Ref* const results = warp_.operands(operation);
    const std::uint32_t bytes = width(results[0]), whole = bytes * operation.outputs;
    if (mask == ~0u && at.most - at.least < widest_look &&
        are_defined(at.written + at.least, at.most - at.least + whole))
        return;
    std::uint32_t partly = 0, before = ~0u;  // one look for lanes in a row that load the same
    each_bit(at.all_equal ? 1 : mask, [&](unsigned lane) {
        if (at.offsets[lane] == before) return;
        if (are_defined_at(at.written + at.offsets[lane], whole))
            before = at.offsets[lane];
        else
            partly |= 1u << lane;
    });
    if (at.all_equal && partly != 0) partly = mask;
    if (partly == 0) return;
    States states;
    for (unsigned i = 0; i < operation.outputs; ++i) {
        std::optional<Origin> origin;
        each_bit(partly, [&](unsigned lane) {
            const std::uint8_t* const from = at.written + at.offsets[lane] + i * bytes;
            for (std::size_t b = 0; b < bytes; ++b) states[lane * bytes + b] = from[b];
            if (!origin && !are_defined(from, bytes))
                origin = origin_at(space_of(at), at.begin + at.offsets[lane] + i * bytes, lane);
        });
        warp_.checks().definedness().taint(results[i], partly, origin.value_or(Origin{.pc = warp_.pc()}),
                                           states.data());
    }
}

Origin MemoryDefinedness::origin_at(Space space, std::uint64_t address, unsigned lane) const {
    const bool is_shared = space == Space::shared;
    const unsigned thread = space == Space::local ? warp_.number() * lane_count + lane : 0;
    return {.pc = warp_.pc(),
            .is_of_memory = true,
            .space = space,
            .address = is_shared ? offset_in_cta(address) : address,
            .stored = warp_.cta().checker()->stored.find(space, address, thread)};
}

void MemoryDefinedness::remember(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                 const Origin& origin) {
    const StoredOrigin stored{warp_.pc(), origin.stored.is_known() ? origin.stored.first_pc : origin.pc,
                              true};
    warp_.cta().checker()->stored.add(
        space, address, space == Space::local ? warp_.number() * lane_count + lane : 0, bytes, stored);
}

// The memory of a process has no definedness bits, but what is written there is looked at.
bool MemoryDefinedness::is_looked_at(const Located& at) const {
    return at.written != nullptr || (at.is_global && warp_.checks().has(EmulatorCheck::unwritten));
}

bool MemoryDefinedness::note_stored(const Access& access, const Ref* refs, std::uint32_t mask,
                                    const Located& at) {
    if (!is_looked_at(at)) return true;
    const std::size_t whole = std::size_t{access.bytes} * access.count;
    const std::vector<std::uint32_t>& written = warp_.frame().states.written;
    std::uint32_t all = ~0u;
    for (unsigned i = 0; i < access.count; ++i)
        all &= is_register(refs[i]) ? written[index_of(refs[i])] : ~0u;
    if ((mask & ~all) == 0) {
        if (at.written == nullptr) return true;
        if (at.consecutive)
            std::memset(at.written + at.offsets[0], all_bits, whole * lane_count);
        else
            mark_lanes(at, mask, whole);
        return true;
    }
    for (unsigned i = 0; i < access.count; ++i)
        if (!store_element(access, refs[i], i, mask, at)) return false;
    return true;
}

bool MemoryDefinedness::store_element(const Access& access, Ref ref, unsigned element, std::uint32_t mask,
                                      const Located& at) {
    Definedness& registers = warp_.checks().definedness();
    const std::size_t bytes = access.bytes;
    States states;
    registers.read_states(ref, states.data());
    const Origin origin = registers.origin_of(ref);
    // padding between the members of a structure, which compilers copy so
    const bool is_gap = bytes == 1 && access.count > 1 && origin.is_of_memory;
    return each_bit(mask, [&](unsigned lane) {
        const std::uint8_t* const from = &states[lane * bytes];
        const std::size_t to = at.offsets[lane] + element * bytes;
        const bool any = std::any_of(from, from + bytes, [](std::uint8_t bits) { return bits != 0; });
        if (at.written != nullptr) std::copy_n(from, bytes, at.written + to);
        if (are_defined(from, bytes)) return true;
        if (at.is_global && !is_gap && (!any || origin.is_value)) {
            if (at.written != nullptr) std::memset(at.written + to, all_bits, bytes);
            return registers.report_unwritten(ref, 1u << lane);
        }
        if (at.written != nullptr) remember(space_of(at), at.begin + to, lane, bytes, origin);
        return true;
    });
}

bool MemoryDefinedness::note_written(const Located& at, std::uint64_t address, unsigned lane,
                                     std::uint64_t bytes, Use use) {
    if (at.written != nullptr && use == Use::write) std::memset(at.written, all_bits, bytes);
    if (at.written == nullptr || use == Use::write) return true;
    const auto* const unwritten = find_undefined(at.written, bytes);
    if (unwritten == at.written + bytes) return true;
    const bool goes_on = warp_.checks().report(
        {EmulatorCheck::unwritten, Errc::memory_not_written, warp_.pc()}, 1u << lane, [&] {
            return fmt::format("{:#x}, of the {} bytes that are copied from or added to at {:#x}",
                               address + static_cast<std::uint64_t>(unwritten - at.written), bytes, address);
        });
    std::memset(at.written, all_bits, bytes);
    return goes_on;
}

bool MemoryDefinedness::require_bytes(std::uint8_t* written, std::uint64_t address, unsigned lane,
                                      std::uint32_t bytes) {
    if (are_defined(written, bytes)) return true;
    std::memset(written, all_bits, bytes);
    return warp_.checks().report({EmulatorCheck::unwritten, Errc::memory_not_written, warp_.pc()}, 1u << lane,
                                 [&] { return fmt::format("{} bytes at {:#x}", bytes, address); });
}

bool MemoryDefinedness::require_lanes(const Located& at, std::uint32_t mask, std::uint32_t bytes) {
    if (at.written == nullptr) return true;
    return each_bit(mask, [&](unsigned lane) {
        return are_defined_at(at.written + at.offsets[lane], bytes) ||
               require_bytes(at.written + at.offsets[lane], at.begin + at.offsets[lane], lane, bytes);
    });
}

bool MemoryDefinedness::require(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    std::uint8_t* const written = warp_.memory().written_bytes(space, address, lane);
    if (written == nullptr || are_defined(written, bytes)) return true;
    const Place where = warp_.memory().common_place(space, address);
    const bool goes_on = warp_.checks().definedness().report_unwritten(
        origin_at(where.space, where.address, lane), 1u << lane);
    std::memset(written, all_bits, bytes);
    return goes_on;
}

void MemoryDefinedness::mark(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    if (std::uint8_t* const written = warp_.memory().written_bytes(space, address, lane))
        std::memset(written, all_bits, bytes);
}

void MemoryDefinedness::note_undefined_copy(std::uint64_t shared, std::uint64_t global, unsigned lane,
                                            std::uint64_t bytes) {
    const Place where = warp_.memory().common_place(Space::shared_cluster, shared);
    remember(where.space, where.address, lane, bytes, origin_at(Space::global, global, lane));
}

}  // namespace ptxgraft::emulator
