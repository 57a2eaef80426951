// How definedness bits go through the operations of a warp: what is undefined spreads to the results that
// depend on it, and is reported where a decision, an address or global memory does.
#include "emulator/checks/definedness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_moved = 4;  // sources and results of an instruction that moves bits

// `, which line 12 stored undefined, as it was from line 9 on`
std::string describe(const WarpChecks& checks, const StoredOrigin& stored) {
    if (!stored.is_known()) return {};
    const std::string since = stored.first_pc == stored.pc ? ""
                                                           : fmt::format(", as it was from line {} on",
                                                                         checks.line_of(stored.first_pc));
    return fmt::format(", which line {} stored undefined{}", checks.line_of(stored.pc), since);
}

}  // namespace

void Definedness::begin() { is_on_ = warp_.checks().has(EmulatorCheck::unwritten); }

void Definedness::begin_frame(Frame& frame) const {
    if (!is_on_) return;
    frame.states.written.assign(frame.function->register_bytes / 32, 0);
    frame.states.taints.clear();
    frame.states.defined_runs.fill({});
}

std::uint32_t Definedness::written_lanes(Ref ref) const {
    return is_register(ref) ? warp_.frame().states.written[index_of(ref)] : ~0u;
}

void Definedness::mark_written(Ref ref, std::uint32_t mask) {
    if (is_on_ && is_register(ref)) warp_.frame().states.written[index_of(ref)] |= mask;
}

void Definedness::mark_slot(const Slot& slot, std::uint32_t mask) {
    if (!is_on_) return;
    if (slot.reg != no_ref) return mark_written(slot.reg, mask);
    each_bit(mask, [&](unsigned lane) {
        std::fill_n(warp_.memory().local_written(warp_.frame(), lane, slot.offset), slot.bytes, all_bits);
    });
}

bool Definedness::require(Ref ref, std::uint32_t mask) {
    if (!is_on_) return true;
    const std::uint32_t unwritten = mask & ~written_lanes(ref);
    return unwritten == 0 || report_unwritten(ref, unwritten);
}

// A branch on an undefined predicate is allowed if it only jumps forward over register arithmetic. It then
// acts like selp: everything that the skipped code writes becomes undefined, and the lanes go on where the
// branch's two ways meet. So it is with a pure operation under an undefined guard.
bool Definedness::check_guard(const Operation& operation, std::uint32_t& holds) {
    const std::uint32_t unknown = warp_.running() & ~written_lanes(operation.guard);
    if (unknown == 0) return true;
    const bool branches = operation.execute == execute_branch;
    const Hammock* const skipped = branches ? &hammock_of(warp_.pc()) : nullptr;
    if (branches ? !skipped->is_pure : operation.function == nullptr)
        return require(operation.guard, warp_.running());
    const std::span<const Ref> results = branches ? std::span<const Ref>(skipped->results)
                                                  : std::span(warp_.operands(operation), operation.outputs);
    const Origin origin = origin_of(operation.guard);
    const States nothing{};
    for (const Ref result : results)
        if (is_register(result)) taint(result, unknown, origin, nothing.data());
    holds &= ~unknown;
    if (!branches) return true;
    warp_.schedule().leave(unknown, skipped->join);
    warp_.schedule().update_next();
    return true;
}

const Hammock& Definedness::hammock_of(std::uint32_t branch) {
    const auto [at, is_new] = hammocks_.try_emplace(branch);
    if (is_new) at->second = find_hammock(warp_.program(), branch);
    return at->second;
}

bool Definedness::require_all(std::span<const Ref> refs) {
    return std::ranges::all_of(refs, [this](Ref ref) { return require(ref, ~0u); });
}

Origin Definedness::origin_of(Ref ref) const { return origin_in(warp_.frame(), ref); }

Origin Definedness::origin_in(const Frame& frame, Ref ref) const {
    if (const auto found = frame.states.taints.find(index_of(ref)); found != frame.states.taints.end())
        return found->second.origin;
    return {.pc = warp_.pc()};
}

bool Definedness::is_written(Ref ref) const { return written_lanes(ref) == ~0u; }

void Definedness::read_states(Ref ref, std::uint8_t* states) const {
    read_states(warp_.frame(), ref, states);
}

void Definedness::read_states(const Frame& frame, Ref ref, std::uint8_t* states) const {
    const std::size_t bytes = width(ref);
    if (!is_register(ref)) {
        std::fill_n(states, bytes * lane_count, all_bits);
        return;
    }
    const std::uint32_t written = frame.states.written[index_of(ref)];
    const auto found = frame.states.taints.find(index_of(ref));
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
        std::uint8_t* const to = states + lane * bytes;
        if ((written >> lane & 1) != 0)
            std::fill_n(to, bytes, all_bits);
        else if (found != frame.states.taints.end())
            std::copy_n(&found->second.bytes[lane * bytes], bytes, to);
        else
            std::fill_n(to, bytes, std::uint8_t{0});
    }
}

void Definedness::taint(Ref ref, std::uint32_t mask, const Origin& origin, const std::uint8_t* states) {
    taint(warp_.frame(), ref, mask, origin, states);
}

void Definedness::taint(Frame& frame, Ref ref, std::uint32_t mask, const Origin& origin,
                        const std::uint8_t* states) {
    const std::size_t bytes = width(ref);
    std::uint32_t& written = frame.states.written[index_of(ref)];
    Taint* kept = nullptr;
    each_bit(mask, [&](unsigned lane) {
        const std::uint8_t* const from = states + lane * bytes;
        if (are_defined(from, bytes)) {
            written |= 1u << lane;
            return;
        }
        written &= ~(1u << lane);
        ++frame.states.undefined;
        if (kept == nullptr) {
            kept = &frame.states.taints[index_of(ref)];
            kept->origin = origin;
        }
        std::copy_n(from, bytes, &kept->bytes[lane * bytes]);
    });
}

// A result's bit is defined if it is the same whatever the undefined bits of the sources are: the function is
// applied to each choice of zeros or ones for them.
void Definedness::try_bits(const Operation& operation, std::uint8_t* states) {
    const Ref* const refs = warp_.operands(operation);
    const std::size_t bytes = width(refs[0]), count = bytes * lane_count;
    const std::uint8_t all = bytes == 1 ? 1 : all_bits;  // a predicate is one bit
    std::array<States, most_moved> known;
    std::array<States, most_moved> values;
    std::array<const void*, most_moved> inputs{};
    for (unsigned i = 0; i < operation.inputs; ++i) {
        inputs[i] =
            is_register(refs[1 + i]) ? values[i].data() : static_cast<const void*>(warp_.column(refs[1 + i]));
        read_states(refs[1 + i], known[i].data());
    }
    States result, other;
    std::fill_n(states, count, all_bits);
    for (unsigned choice = 0; choice < 1u << operation.inputs; ++choice) {
        for (unsigned i = 0; i < operation.inputs; ++i) {
            if (!is_register(refs[1 + i])) continue;
            const auto* const from = reinterpret_cast<const std::uint8_t*>(warp_.column(refs[1 + i]));
            const std::uint8_t unwritten = (choice >> i & 1) != 0 ? all : 0;
            for (std::size_t b = 0; b < width(refs[1 + i]) * std::size_t{lane_count}; ++b)
                values[i][b] =
                    static_cast<std::uint8_t>((from[b] & known[i][b]) | (unwritten & ~known[i][b]));
        }
        void* const output = choice == 0 ? result.data() : other.data();
        operation.function(&output, inputs.data(), operation.elements);
        if (choice == 0) continue;
        for (std::size_t b = 0; b < count; ++b)
            states[b] &= static_cast<std::uint8_t>(~(result[b] ^ other[b]));
    }
    if (bytes != 1) return;
    for (std::size_t b = 0; b < count; ++b) states[b] = (states[b] & 1) != 0 ? all_bits : std::uint8_t{0};
}

void Definedness::carry_states(const Operation& operation, std::uint8_t* states) {
    const Ref* const refs = warp_.operands(operation);
    const std::size_t bytes = width(refs[0]);
    std::array<std::uint64_t, lane_count> unknown{};
    States known;
    for (unsigned i = 0; i < operation.inputs; ++i) {
        const std::size_t wide = width(refs[1 + i]);
        read_states(refs[1 + i], known.data());
        for (std::size_t b = 0; b < wide * lane_count; ++b) {
            const auto bits = static_cast<std::uint8_t>(~known[b]);
            unknown[b / wide] |= std::uint64_t{bits} << b % wide * 8;
        }
    }
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const std::uint64_t below = (unknown[lane] & (0 - unknown[lane])) - 1;  // all bits when all are known
        std::memcpy(states + lane * bytes, &below, bytes);
    }
}

// Of an undefined source that is saturated, the bits that the greatest and the least integer set are not
// known; those of the last source are put where it goes.
void Definedness::insert_states(const Operation& operation, std::uint8_t* states) {
    constexpr std::array extremes = {std::numeric_limits<std::int32_t>::max(),
                                     std::numeric_limits<std::int32_t>::min()};
    const Ref* const sources = warp_.operands(operation) + operation.outputs;
    States moved, unknown{}, result;
    read_states(sources[2], moved.data());
    for (std::uint8_t& state : moved) state = static_cast<std::uint8_t>(~state);
    for (const std::int32_t extreme : extremes) {
        std::array<std::array<std::int32_t, lane_count>, 2> saturated{};
        for (unsigned i = 0; i < saturated.size(); ++i)
            each_bit(~written_lanes(sources[i]), [&](unsigned lane) { saturated[i][lane] = extreme; });
        const std::array<const void*, 3> inputs = {saturated[0].data(), saturated[1].data(), moved.data()};
        void* const output = result.data();
        operation.function(&output, inputs.data(), operation.elements);
        for (std::size_t b = 0; b < unknown.size(); ++b) unknown[b] |= result[b];
    }
    for (std::size_t b = 0; b < sizeof(std::int32_t) * lane_count; ++b)
        states[b] = static_cast<std::uint8_t>(~unknown[b]);
}

void Definedness::spread_states(const Operation& operation, unsigned output, std::uint8_t* states) {
    using enum Undefined;
    const Ref* const results = warp_.operands(operation);
    const Ref* const sources = results + operation.outputs;
    const Undefined kind = operation.undefined;
    const bool has_halves = kind == halves || kind == packs || kind == joins;
    const std::size_t bytes = width(results[output]), piece = has_halves ? bytes / 2 : bytes;
    std::fill_n(states, bytes * lane_count, all_bits);
    States known;
    for (unsigned i = 0; i < operation.inputs; ++i) {
        if (i >= operation.strict || is_written(sources[i])) continue;
        const std::size_t wide = width(sources[i]);
        const bool is_pair = kind == halves || (kind == splits && wide > 1);
        const std::size_t of_source = is_pair ? wide / 2 : wide;
        read_states(sources[i], known.data());
        for (std::size_t at = 0; at < bytes * lane_count; at += piece) {
            const std::size_t half = at % bytes / piece;
            if ((kind == packs && half == i) || (kind == joins && half != i)) continue;
            const std::size_t from =
                at / bytes * wide + (is_pair ? (kind == splits ? output : half) * of_source : 0);
            if (!are_defined(&known[from], of_source)) std::fill_n(states + at, piece, std::uint8_t{0});
        }
    }
}

// Definedness bits of a source, for is_filled(): constants count as undefined, and so does a partly defined
// value whose defined bits came from zero- or sign-extension.
void Definedness::read_data(Ref ref, std::uint8_t* data) {
    const std::size_t bytes = width(ref);
    if (!is_register(ref)) {
        std::fill_n(data, bytes * lane_count, std::uint8_t{0});
        return;
    }
    read_states(ref, data);
    if (!origin_of(ref).is_value) return;
    const std::uint32_t written = warp_.frame().states.written[index_of(ref)];
    for (std::size_t b = 0; b < bytes * lane_count; ++b)
        if ((written >> (b / bytes) & 1) == 0) data[b] = 0;
}

// True if no defined bit of the sources reaches a lane of the results: what is defined of them was filled in.
bool Definedness::is_filled(const Operation& operation, unsigned lane) {
    const Ref* const sources = warp_.operands(operation) + operation.outputs;
    const auto any = [lane](const States& states, std::size_t bytes) {
        return std::any_of(&states[lane * bytes], &states[lane * bytes] + bytes,
                           [](std::uint8_t bits) { return bits != 0; });
    };
    std::array<States, most_moved> data{}, to{};
    std::array<void*, most_moved> outputs{};
    std::array<const void*, most_moved> inputs{};
    for (unsigned i = 0; i < operation.inputs; ++i) {
        const bool is_control = i + operation.controls >= operation.inputs;
        inputs[i] = is_control ? static_cast<const void*>(warp_.column(sources[i])) : data[i].data();
        if (is_control) continue;
        read_data(sources[i], data[i].data());
        if (operation.undefined == Undefined::bits && any(data[i], width(sources[i]))) return false;
    }
    if (operation.undefined == Undefined::bits) return true;
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = to[i].data();
    operation.function(outputs.data(), inputs.data(), operation.elements);
    for (unsigned i = 0; i < operation.outputs; ++i)
        if (any(to[i], width(warp_.operands(operation)[i]))) return false;
    return true;
}

bool Definedness::track_undefined(const Operation& operation, std::uint32_t mask) {
    ++warp_.frame().states.undefined;
    const Ref* const results = warp_.operands(operation);
    const Ref* const sources = results + operation.outputs;
    std::uint32_t all = ~0u;
    Ref first = no_ref;
    for (unsigned i = 0; i < operation.strict; ++i) {
        if (!is_register(sources[i])) continue;
        const std::uint32_t written = warp_.frame().states.written[index_of(sources[i])];
        if (first == no_ref && (mask & ~written) != 0) first = sources[i];
        all &= written;
    }
    if (operation.undefined == Undefined::refused) return refuse_undefined(operation, mask);
    Origin origin = origin_of(first);
    origin.is_value = true;
    States states;
    if (operation.undefined == Undefined::carries || operation.undefined == Undefined::inserts) {
        if (operation.undefined == Undefined::carries)
            carry_states(operation, states.data());
        else
            insert_states(operation, states.data());
        taint(results[0], mask, origin, states.data());
        return true;
    }
    const bool is_small = operation.outputs <= most_moved && operation.inputs <= most_moved;
    if (is_small && (operation.undefined == Undefined::bits || operation.undefined == Undefined::moves))
        origin.is_value = is_filled(operation, first_lane(mask & ~all));
    if (operation.undefined == Undefined::bits) {
        try_bits(operation, states.data());
        taint(results[0], mask, origin, states.data());
        return true;
    }
    if (is_small && operation.undefined == Undefined::moves) {
        move_states(operation, mask, origin);
        return true;
    }
    for (unsigned i = 0; i < operation.outputs; ++i) {
        spread_states(operation, i, states.data());
        taint(results[i], mask, origin, states.data());
    }
    return true;
}

bool Definedness::refuse_undefined(const Operation& operation, std::uint32_t mask) {
    const Ref* const results = warp_.operands(operation);
    const Ref* const sources = results + operation.outputs;
    for (unsigned i = 0; i < operation.strict; ++i)
        if (!require(sources[i], mask)) return false;
    for (unsigned i = operation.self_marked_outputs; i < operation.outputs; ++i)
        mark_written(results[i], mask);
    return true;
}

// The function is applied to the inverted definedness bits: what it fills in, zeros, is defined.
void Definedness::move_states(const Operation& operation, std::uint32_t mask, const Origin& origin) {
    const Ref* const results = warp_.operands(operation);
    const Ref* const sources = results + operation.outputs;
    std::array<States, most_moved> to{}, from;
    std::array<void*, most_moved> outputs{};
    std::array<const void*, most_moved> inputs{};
    std::uint32_t chosen = ~0u;
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = to[i].data();
    for (unsigned i = 0; i < operation.inputs; ++i) {
        if (i + operation.controls >= operation.inputs) {
            inputs[i] = warp_.column(sources[i]);
            chosen &= written_lanes(sources[i]);
            continue;
        }
        read_states(sources[i], from[i].data());
        for (std::uint8_t& state : from[i]) state = static_cast<std::uint8_t>(~state);
        inputs[i] = from[i].data();
    }
    operation.function(outputs.data(), inputs.data(), operation.elements);
    for (unsigned i = 0; i < operation.outputs; ++i) {
        const std::size_t bytes = width(results[i]);
        for (std::size_t b = 0; b < bytes * lane_count; ++b)
            to[i][b] =
                (chosen >> (b / bytes) & 1) != 0 ? static_cast<std::uint8_t>(~to[i][b]) : std::uint8_t{0};
        taint(results[i], mask, origin, to[i].data());
    }
}

void Definedness::shuffle(const Operation& operation, const CollectiveCall& call, const void* const* inputs,
                          std::uint32_t mask) {
    const Ref result = warp_.operands(operation)[0], source = warp_.operands(operation)[operation.outputs];
    const bool is_written = (mask & ~written_lanes(source)) == 0;
    if (is_written && mask == ~0u) return mark_written(result, mask);
    Origin origin = origin_of(source);
    origin.is_of_absent_lane = is_written;
    States from, to{}, other;
    read_states(source, from.data());
    // PTX ISA 9.7.9.6: what comes of a lane that is not in the mask is undefined.
    each_bit(~mask, [&](unsigned lane) {
        std::fill_n(&from[lane * width(source)], width(source), std::uint8_t{0});
    });
    std::array<const void*, 8> sources;
    for (unsigned i = 0; i < operation.inputs; ++i) sources[i] = i == 0 ? from.data() : inputs[i];
    std::array<void*, 8> results;
    for (unsigned i = 0; i < operation.outputs; ++i) results[i] = i == 0 ? to.data() : other.data();
    call.function(results.data(), sources.data(), mask, call.extra);
    taint(result, mask, origin, to.data());
}

bool Definedness::report_unwritten(Ref ref, std::uint32_t lanes) {
    if (!report_unwritten(origin_of(ref), lanes, ref)) return false;
    mark_written(ref, lanes);
    return true;
}

bool Definedness::report_unwritten(const Origin& origin, std::uint32_t lanes, Ref ref) {
    const Mistake mistake{EmulatorCheck::unwritten,
                          origin.is_of_memory ? Errc::memory_not_written : Errc::register_not_written,
                          origin.pc};
    return warp_.checks().report(mistake, lanes, [&] {
        const std::string use = origin.pc == warp_.pc()
                                    ? ""
                                    : fmt::format(", used on line {}", warp_.checks().line_of(warp_.pc()));
        const std::string what = origin.is_of_memory
                                     ? fmt::format("{} memory at {:#x}{}", name(origin.space), origin.address,
                                                   describe(warp_.checks(), origin.stored))
                                 : origin.is_of_absent_lane ? "of a lane that does not take part"
                                 : origin.pc != warp_.pc()  ? "read here"
                                                            : warp_.checks().name_of(ref);
        return what + use;
    });
}

void Definedness::pass(const Slot& from, Frame& source, const Slot& to, Frame& target, unsigned lane,
                       std::uint32_t bytes) {
    States states{};
    Origin origin{.pc = warp_.pc()};
    std::array<std::uint8_t, 16> of_register{};
    const std::uint8_t* given = of_register.data();
    if (from.reg == no_ref) {
        given = warp_.memory().local_written(source, lane, from.offset);
    } else {
        read_states(source, from.reg, states.data());
        origin = origin_in(source, from.reg);
        std::copy_n(&states[lane * width(from.reg)], bytes, of_register.data());
    }
    if (to.reg == no_ref) {
        std::copy_n(given, bytes, warp_.memory().local_written(target, lane, to.offset));
        if (!are_defined(given, bytes))
            remember_passed(from, source, target.local_base + to.offset, lane, bytes, origin);
        return;
    }
    const std::size_t wide = width(to.reg);
    for (std::size_t b = 0; b < wide; ++b) states[lane * wide + b] = b >= bytes ? all_bits : given[b];
    taint(target, to.reg, 1u << lane, origin, states.data());
}

// An undefined value is passed to local memory at `address`.
void Definedness::remember_passed(const Slot& from, const Frame& source, std::uint32_t address, unsigned lane,
                                  std::uint32_t bytes, const Origin& origin) {
    if (from.reg != no_ref)
        return warp_.checks().memory().remember(Space::local, address, lane, bytes, origin);
    StoredOrigins& stored = warp_.cta().checker()->stored;
    const unsigned thread = warp_.number() * lane_count + lane;
    for (std::uint32_t done = 0; done < bytes; done += StoredOrigins::unit)
        if (const StoredOrigin of = stored.find(Space::local, source.local_base + from.offset + done, thread);
            of.is_known())
            stored.add(Space::local, address + done, thread, StoredOrigins::unit, of);
}

}  // namespace ptxgraft::emulator
