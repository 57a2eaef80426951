// What a checked launch keeps track of: which bytes of registers and memory were written, and which accesses
// are ordered.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint32_t widest_look = 1024;  // bytes that are looked at where lanes access only some of them
constexpr std::size_t most_moved = 4;        // sources and results of an instruction that moves bits

std::uint32_t index_of(Ref ref) { return offset(ref) / 32; }
unsigned first_lane(std::uint32_t mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

bool all_written(const std::uint8_t* bytes, std::size_t count) {
    std::uint8_t all = all_bits;
    for (std::size_t i = 0; i < count; ++i) all &= bytes[i];
    return all == all_bits;
}
// Of one access, whose width is a power of two.
bool all_written_at(const std::uint8_t* bytes, std::uint32_t count) {
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
        default: return all_written(bytes, count);
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

// --- registers

void Warp::mark_written(Ref ref, std::uint32_t mask) {
    if (tracks_written_ && is_register(ref)) frame_->written[index_of(ref)] |= mask;
}

void Warp::mark_slot(const Slot& slot, std::uint32_t mask) {
    if (!tracks_written_) return;
    if (slot.reg != no_ref) return mark_written(slot.reg, mask);
    each_lane(mask, [&](unsigned lane) {
        std::fill_n(&local_written_[std::size_t{lane} * local_stride_ + frame_->local_base + slot.offset],
                    slot.bytes, all_bits);
        return true;
    });
}

bool Warp::require(Ref ref, std::uint32_t mask) {
    if (!tracks_written_ || !is_register(ref)) return true;
    const std::uint32_t unwritten = mask & ~frame_->written[index_of(ref)];
    return unwritten == 0 || report_unwritten(ref, unwritten);
}

// A branch over operations on registers decides no more than a selp does: lanes of which nobody knows where
// they go are where the ways meet again, and what may be written on the way there is undefined. So it is with
// an operation under a guard.
bool Warp::check_guard(const Operation& operation, std::uint32_t& holds) {
    if (!is_register(operation.guard)) return true;
    const std::uint32_t unknown = mask_ & ~frame_->written[index_of(operation.guard)];
    if (unknown == 0) return true;
    const bool branches = operation.execute == execute_branch;
    const Hammock* const skipped = branches ? &hammock_of(pc_) : nullptr;
    if (branches ? !skipped->is_pure : operation.function == nullptr) return require(operation.guard, mask_);
    const std::span<const Ref> results =
        branches ? std::span<const Ref>(skipped->results) : std::span(operands(operation), operation.outputs);
    const Origin origin = origin_of(operation.guard);
    const States nothing{};
    for (const Ref result : results)
        if (is_register(result)) taint(result, unknown, origin, nothing.data());
    holds &= ~unknown;
    if (!branches) return true;
    leave(unknown, skipped->join);
    update_next();
    return true;
}

const Hammock& Warp::hammock_of(std::uint32_t branch) {
    const auto [at, is_new] = hammocks_.try_emplace(branch);
    if (is_new) at->second = find_hammock(*program_, branch);
    return at->second;
}

bool Warp::require_all(std::span<const Ref> refs) {
    return std::ranges::all_of(refs, [this](Ref ref) { return require(ref, ~0u); });
}

Origin Warp::origin_of(Ref ref) const {
    if (const auto found = frame_->taints.find(index_of(ref)); found != frame_->taints.end())
        return found->second.origin;
    return {.pc = pc_};
}

bool Warp::is_written(Ref ref) const { return !is_register(ref) || frame_->written[index_of(ref)] == ~0u; }

// For each byte of a register's lanes, the bits that something wrote.
void Warp::read_states(Ref ref, std::uint8_t* states) {
    const std::size_t bytes = width(ref);
    if (!is_register(ref)) {
        std::fill_n(states, bytes * lane_count, all_bits);
        return;
    }
    const std::uint32_t written = frame_->written[index_of(ref)];
    const auto found = frame_->taints.find(index_of(ref));
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
        std::uint8_t* const to = states + lane * bytes;
        if ((written >> lane & 1) != 0)
            std::fill_n(to, bytes, all_bits);
        else if (found != frame_->taints.end())
            std::copy_n(&found->second.bytes[lane * bytes], bytes, to);
        else
            std::fill_n(to, bytes, std::uint8_t{0});
    }
}

// The lanes of `mask` get these states.
void Warp::taint(Ref ref, std::uint32_t mask, const Origin& origin, const std::uint8_t* states) {
    const std::size_t bytes = width(ref);
    std::uint32_t& written = frame_->written[index_of(ref)];
    Taint* kept = nullptr;
    each_lane(mask, [&](unsigned lane) {
        const std::uint8_t* const from = states + lane * bytes;
        if (all_written(from, bytes)) {
            written |= 1u << lane;
            return true;
        }
        written &= ~(1u << lane);
        ++frame_->undefined;
        if (kept == nullptr) {
            kept = &frame_->taints[index_of(ref)];
            kept->origin = origin;
        }
        std::copy_n(from, bytes, &kept->bytes[lane * bytes]);
        return true;
    });
}

// The function is applied to each choice of what the bits may be that nothing wrote.
void Warp::try_bits(const Operation& operation, std::uint8_t* states) {
    const Ref* const refs = operands(operation);
    const std::size_t bytes = width(refs[0]), count = bytes * lane_count;
    const std::uint8_t all = bytes == 1 ? 1 : all_bits;  // a predicate is one bit
    std::array<States, most_moved> known;
    std::array<States, most_moved> values;
    std::array<const void*, most_moved> inputs{};
    for (unsigned i = 0; i < operation.inputs; ++i) {
        inputs[i] =
            is_register(refs[1 + i]) ? values[i].data() : static_cast<const void*>(column(refs[1 + i]));
        read_states(refs[1 + i], known[i].data());
    }
    States result, other;
    std::fill_n(states, count, all_bits);
    for (unsigned choice = 0; choice < 1u << operation.inputs; ++choice) {
        for (unsigned i = 0; i < operation.inputs; ++i) {
            if (!is_register(refs[1 + i])) continue;
            const auto* const from = reinterpret_cast<const std::uint8_t*>(column(refs[1 + i]));
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

void Warp::carry_states(const Operation& operation, std::uint8_t* states) {
    const Ref* const refs = operands(operation);
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

void Warp::spread_states(const Operation& operation, Ref result, std::uint8_t* states) {
    const Ref* const sources = operands(operation) + operation.outputs;
    const std::size_t bytes = width(result),
                      piece = operation.undefined == Undefined::halves ? bytes / 2 : bytes;
    std::fill_n(states, bytes * lane_count, all_bits);
    States known;
    for (unsigned i = 0; i < operation.inputs; ++i) {
        if (i >= operation.strict || is_written(sources[i])) continue;
        const std::size_t wide = width(sources[i]), of_source = wide == bytes ? piece : wide;
        read_states(sources[i], known.data());
        for (std::size_t at = 0; at < bytes * lane_count; at += piece) {
            const std::size_t from = wide == bytes ? at : at / bytes * wide;
            if (!all_written(&known[from], of_source)) std::fill_n(states + at, piece, std::uint8_t{0});
        }
    }
}

// The bits of a source that something wrote; none of a constant, nor of what was known of a value before it
// was filled in.
void Warp::read_data(Ref ref, std::uint8_t* data) {
    const std::size_t bytes = width(ref);
    if (!is_register(ref)) {
        std::fill_n(data, bytes * lane_count, std::uint8_t{0});
        return;
    }
    read_states(ref, data);
    if (!origin_of(ref).is_value) return;
    const std::uint32_t written = frame_->written[index_of(ref)];
    for (std::size_t b = 0; b < bytes * lane_count; ++b)
        if ((written >> (b / bytes) & 1) == 0) data[b] = 0;
}

// Whether a lane of the result has nothing that was written: what is known of it was filled in.
bool Warp::is_filled(const Operation& operation, unsigned lane) {
    const Ref* const sources = operands(operation) + operation.outputs;
    const auto any = [lane](const States& states, std::size_t bytes) {
        return std::any_of(&states[lane * bytes], &states[lane * bytes] + bytes,
                           [](std::uint8_t bits) { return bits != 0; });
    };
    std::array<States, most_moved> data{}, to{};
    std::array<void*, most_moved> outputs{};
    std::array<const void*, most_moved> inputs{};
    for (unsigned i = 0; i < operation.inputs; ++i) {
        const bool is_control = i + operation.controls >= operation.inputs;
        inputs[i] = is_control ? static_cast<const void*>(column(sources[i])) : data[i].data();
        if (is_control) continue;
        read_data(sources[i], data[i].data());
        if (operation.undefined == Undefined::bits && any(data[i], width(sources[i]))) return false;
    }
    if (operation.undefined == Undefined::bits) return true;
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = to[i].data();
    operation.function(outputs.data(), inputs.data(), operation.elements);
    for (unsigned i = 0; i < operation.outputs; ++i)
        if (any(to[i], width(operands(operation)[i]))) return false;
    return true;
}

bool Warp::track_undefined(const Operation& operation, std::uint32_t mask) {
    ++frame_->undefined;
    const Ref* const results = operands(operation);
    const Ref* const sources = results + operation.outputs;
    std::uint32_t all = ~0u;
    Ref first = no_ref;
    for (unsigned i = 0; i < operation.strict; ++i) {
        if (!is_register(sources[i])) continue;
        const std::uint32_t written = frame_->written[index_of(sources[i])];
        if (first == no_ref && (mask & ~written) != 0) first = sources[i];
        all &= written;
    }
    if (operation.undefined == Undefined::refused) {
        for (unsigned i = 0; i < operation.strict; ++i)
            if (!require(sources[i], mask)) return false;
        for (unsigned i = operation.own; i < operation.outputs; ++i) mark_written(results[i], mask);
        return true;
    }
    Origin origin = origin_of(first);
    origin.is_value = true;
    States states;
    if (operation.undefined == Undefined::carries) {
        carry_states(operation, states.data());
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
        spread_states(operation, results[i], states.data());
        taint(results[i], mask, origin, states.data());
    }
    return true;
}

// The function is applied to bits that are set where nothing was written: what it fills in is known.
void Warp::move_states(const Operation& operation, std::uint32_t mask, const Origin& origin) {
    const Ref* const results = operands(operation);
    const Ref* const sources = results + operation.outputs;
    std::array<States, most_moved> to{}, from;
    std::array<void*, most_moved> outputs{};
    std::array<const void*, most_moved> inputs{};
    std::uint32_t chosen = ~0u;
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = to[i].data();
    for (unsigned i = 0; i < operation.inputs; ++i) {
        if (i + operation.controls >= operation.inputs) {
            inputs[i] = column(sources[i]);
            if (is_register(sources[i])) chosen &= frame_->written[index_of(sources[i])];
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

// The states of the first source go the way of its values.
void Warp::shuffle_states(const Operation& operation, const CollectiveCall& call, const void* const* inputs,
                          std::uint32_t mask) {
    const Ref result = operands(operation)[0], source = operands(operation)[operation.outputs];
    const bool is_written = !is_register(source) || (mask & ~frame_->written[index_of(source)]) == 0;
    if (is_written && mask == ~0u) return mark_written(result, mask);
    Origin origin = origin_of(source);
    origin.is_of_absent_lane = is_written;
    States from, to{}, other;
    read_states(source, from.data());
    // PTX ISA 9.7.9.6: what comes of a lane that is not in the mask is undefined.
    each_lane(~mask, [&](unsigned lane) {
        std::fill_n(&from[lane * width(source)], width(source), std::uint8_t{0});
        return true;
    });
    std::array<const void*, 8> sources;
    for (unsigned i = 0; i < operation.inputs; ++i) sources[i] = i == 0 ? from.data() : inputs[i];
    std::array<void*, 8> results;
    for (unsigned i = 0; i < operation.outputs; ++i) results[i] = i == 0 ? to.data() : other.data();
    call.function(results.data(), sources.data(), mask, call.extra);
    taint(result, mask, origin, to.data());
}

// An operand of the running operation.
std::string Warp::name_of(Ref ref) const {
    const Operation& operation = program_->code[pc_];
    for (std::uint32_t i = operation.operands; i < operation.operands + operation.outputs + operation.inputs;
         ++i) {
        if (program_->refs[i] != ref) continue;
        ref = program_->declared_operand(*frame_->function, i);
        break;
    }
    for (const RegisterName& register_ : frame_->function->names)
        if (offset(register_.ref) == offset(ref)) return std::string(register_.name(launch_->text));
    return "a part of a register";
}

std::size_t Warp::line_of(std::uint32_t pc) const {
    const std::string_view before = launch_->text.substr(0, program_->spans[pc].begin);
    return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

// `, which line 12 stored undefined, as it was from line 9 on`
std::string Warp::name_of(const StoredOrigin& stored) const {
    if (!stored.is_known()) return {};
    const std::string since = stored.first_pc == stored.pc
                                  ? ""
                                  : fmt::format(", as it was from line {} on", line_of(stored.first_pc));
    return fmt::format(", which line {} stored undefined{}", line_of(stored.pc), since);
}

// The error is where the value was first read, whatever it has gone through since.
bool Warp::report_unwritten(Ref ref, std::uint32_t lanes) {
    if (!report_unwritten(origin_of(ref), lanes, ref)) return false;
    mark_written(ref, lanes);
    return true;
}

bool Warp::report_unwritten(const Origin& origin, std::uint32_t lanes, Ref ref) {
    const Mistake mistake{EmulatorCheck::unwritten,
                          origin.is_of_memory ? Errc::memory_not_written : Errc::register_not_written,
                          origin.pc};
    return report(mistake, lanes, [&] {
        const std::string use = origin.pc == pc_ ? "" : fmt::format(", used on line {}", line_of(pc_));
        const std::string what = origin.is_of_memory ? fmt::format("{} memory at {:#x}{}", name(origin.space),
                                                                   origin.address, name_of(origin.stored))
                                 : origin.is_of_absent_lane ? "of a lane that does not take part"
                                 : origin.pc != pc_         ? "read here"
                                                            : name_of(ref);
        return what + use;
    });
}

// --- memory

unsigned Warp::number() const { return cta_->rank() * cta_->warps() + index_; }

Place Warp::common_place(Space space, std::uint64_t address) const {
    Place where = space == Space::generic ? emulator::place(address) : Place{space, address};
    if (where.space != Space::shared && where.space != Space::shared_cluster) return where;
    if (where.address >> cluster_rank_shift == 0) where.address += shared_place(cta_->rank());
    where.space = Space::shared;
    return where;
}

std::uint8_t* Warp::written_bytes(Space space, std::uint64_t address, unsigned lane) {
    if (!tracks_written_) return nullptr;
    const Place where = common_place(space, address);
    if (where.space == Space::shared) {
        Cta* const owner = owner_of(where.address);
        return owner == nullptr ? nullptr
                                : owner->shared_written().data() +
                                      (where.address & ((std::uint64_t{1} << cluster_rank_shift) - 1));
    }
    if (where.space == Space::local)
        return local_written_.data() + std::size_t{lane} * local_stride_ + where.address;
    if (where.space == Space::param) return nullptr;
    const Region* const region = launch_->memory->find(where.address);
    return region == nullptr || region->written == nullptr
               ? nullptr
               : region->written + (where.address - region->begin);
}

void Warp::describe(Space space, std::uint64_t address, unsigned lane, Located& at) {
    const Place where = common_place(space, address);
    at.offsets[lane] = 0;
    at.written = written_bytes(where.space, where.address, lane);
    at.begin = where.address;
    at.is_shared = where.space == Space::shared;
    at.is_global = where.space == Space::global || where.space == Space::const_;
}

bool Warp::check_load(const Access& access, std::uint32_t mask, const Located& at) {
    const AccessKind kind = access.is_strong() ? AccessKind::strong_read : AccessKind::read;
    if (!note_accesses(mask, at, std::uint32_t{access.bytes} * access.count, {kind, access.reach}))
        return false;
    if (access.is_strong()) synchronise_reads(access, mask, at);
    return true;
}

namespace {

// The elements of st, which stand in columns.
class StoredElements : public StoredValues {
  public:
    StoredElements(Warp& warp, const Ref* refs, std::size_t bytes, std::size_t count)
        : warp_(&warp), refs_(refs), bytes_(bytes), count_(count) {}
    [[nodiscard]] const std::byte* of(unsigned lane) const override {
        for (std::size_t i = 0; i < count_; ++i)
            std::memcpy(&values_[i * bytes_], warp_->column(refs_[i]) + lane * bytes_, bytes_);
        return values_.data();
    }

  private:
    Warp* warp_;
    const Ref* refs_;
    std::size_t bytes_, count_;
    mutable std::array<std::byte, 64> values_;
};

}  // namespace

bool Warp::check_store(const Access& access, const Ref* refs, std::uint32_t mask, const Located& at) {
    const AccessKind kind = access.is_strong() ? AccessKind::strong_write : AccessKind::write;
    const StoredElements values(*this, refs, access.bytes, access.count);
    if (!note_accesses(mask, at, std::uint32_t{access.bytes} * access.count, {kind, access.reach, &values}) ||
        !note_stored(access, refs, mask, at))
        return false;
    if (access.is_strong()) synchronise_writes(access, mask, at, Updates::no);
    return true;
}

bool Warp::check_atomic(const Access& access, std::uint32_t mask, const Located& at) {
    const std::uint32_t bytes = std::uint32_t{access.bytes} * access.count;
    if (at.written != nullptr) {
        const bool is_whole = each_lane(mask, [&](unsigned lane) {
            return all_written_at(at.written + at.offsets[lane], bytes) ||
                   require_bytes(at.written + at.offsets[lane], at.begin + at.offsets[lane], lane, bytes);
        });
        if (!is_whole) return false;
    }
    if (!note_accesses(mask, at, bytes, {AccessKind::atomic, access.reach})) return false;
    if (!access.is_reduction) synchronise_reads(access, mask, at);
    synchronise_writes(access, mask, at, Updates::yes);
    return true;
}

void Warp::note_loaded(const Operation& operation, std::uint32_t mask, const Located& at) {
    if (at.written == nullptr || operation.outputs == 0) return;
    const Ref* const results = operands(operation);
    const std::uint32_t bytes = width(results[0]), whole = bytes * operation.outputs;
    if (mask == ~0u && at.most - at.least < widest_look &&
        all_written(at.written + at.least, at.most - at.least + whole))
        return;
    std::uint32_t partly = 0, before = ~0u;  // one look for lanes in a row that load the same
    each_lane(at.all_equal ? 1 : mask, [&](unsigned lane) {
        if (at.offsets[lane] == before) return true;
        if (all_written_at(at.written + at.offsets[lane], whole))
            before = at.offsets[lane];
        else
            partly |= 1u << lane;
        return true;
    });
    if (at.all_equal && partly != 0) partly = mask;
    if (partly == 0) return;
    States states;
    for (unsigned i = 0; i < operation.outputs; ++i) {
        std::optional<Origin> origin;
        each_lane(partly, [&](unsigned lane) {
            const std::uint8_t* const from = at.written + at.offsets[lane] + i * bytes;
            for (std::size_t b = 0; b < bytes; ++b) states[lane * bytes + b] = from[b];
            if (!origin && !all_written(from, bytes))
                origin = origin_at(at.is_shared   ? Space::shared
                                   : at.is_global ? Space::global
                                                  : Space::local,
                                   at.begin + at.offsets[lane] + i * bytes, lane);
            return true;
        });
        taint(results[i], partly, origin.value_or(Origin{.pc = pc_}), states.data());
    }
}

// Of what is read at an address.
Origin Warp::origin_at(Space space, std::uint64_t address, unsigned lane) const {
    const bool is_shared = space == Space::shared;
    const unsigned thread = space == Space::local ? number() * lane_count + lane : 0;
    return {.pc = pc_,
            .is_of_memory = true,
            .space = space,
            .address = is_shared ? address & ((std::uint64_t{1} << cluster_rank_shift) - 1) : address,
            .stored = cta_->checker()->stored.find(space, address, thread)};
}

// What is stored undefined.
void Warp::remember(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                    const Origin& origin) {
    const StoredOrigin stored{pc_, origin.stored.is_known() ? origin.stored.first_pc : origin.pc, true};
    cta_->checker()->stored.add(space, address, space == Space::local ? number() * lane_count + lane : 0,
                                bytes, stored);
}

bool Warp::note_stored(const Access& access, const Ref* refs, std::uint32_t mask, const Located& at) {
    if (at.written == nullptr) return true;
    const std::size_t bytes = access.bytes, whole = bytes * access.count;
    std::uint32_t all = ~0u;
    for (unsigned i = 0; i < access.count; ++i)
        all &= is_register(refs[i]) ? frame_->written[index_of(refs[i])] : ~0u;
    if ((mask & ~all) == 0) {
        if (at.consecutive) {
            std::memset(at.written + at.offsets[0], all_bits, whole * lane_count);
            return true;
        }
        mark_lanes(at, mask, whole);
        return true;
    }
    States states;
    const Space space = at.is_shared ? Space::shared : at.is_global ? Space::global : Space::local;
    for (unsigned i = 0; i < access.count; ++i) {
        read_states(refs[i], states.data());
        const Origin origin = origin_of(refs[i]);
        // as compilers copy structures
        const bool is_gap = bytes == 1 && access.count > 1 && origin.is_of_memory;
        const bool done = each_lane(mask, [&](unsigned lane) {
            bool any = false;
            for (std::size_t b = 0; b < bytes; ++b) {
                at.written[at.offsets[lane] + i * bytes + b] = states[lane * bytes + b];
                any |= states[lane * bytes + b] != 0;
            }
            if (all_written(&states[lane * bytes], bytes)) return true;
            if (at.is_global && !is_gap && (!any || origin.is_value)) {
                std::memset(at.written + at.offsets[lane] + i * bytes, all_bits, bytes);
                return report_unwritten(refs[i], 1u << lane);
            }
            remember(space, at.begin + at.offsets[lane] + i * bytes, lane, bytes, origin);
            return true;
        });
        if (!done) return false;
    }
    return true;
}

bool Warp::note_order(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                      const AccessNote& note) {
    if (!is_ordered_) return true;
    Located at;
    describe(space, address, lane, at);
    return note_accesses(1u << lane, at, bytes, note);
}

// The bytes of a copy: all written, when it reads them; written from now on, when it writes them.
bool Warp::note_written(const Located& at, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                        Use use) {
    if (at.written != nullptr && use == Use::write) std::memset(at.written, all_bits, bytes);
    if (at.written == nullptr || use == Use::write) return true;
    const auto* const unwritten =
        std::find_if(at.written, at.written + bytes, [](std::uint8_t bits) { return bits != all_bits; });
    if (unwritten == at.written + bytes) return true;
    const bool goes_on = report({EmulatorCheck::unwritten, Errc::memory_not_written, pc_}, 1u << lane, [&] {
        return fmt::format("{:#x}, of the {} bytes that are copied from or added to at {:#x}",
                           address + static_cast<std::uint64_t>(unwritten - at.written), bytes, address);
    });
    std::memset(at.written, all_bits, bytes);
    return goes_on;
}

// What one lane reads to decide something, or changes.
bool Warp::require_bytes(std::uint8_t* written, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    if (all_written(written, bytes)) return true;
    std::memset(written, all_bits, bytes);
    return report({EmulatorCheck::unwritten, Errc::memory_not_written, pc_}, 1u << lane,
                  [&] { return fmt::format("{} bytes at {:#x}", bytes, address); });
}

bool Warp::note_range(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes, Use use) {
    if (bytes == 0 || (!tracks_written_ && !is_ordered_)) return true;
    Located at;
    describe(space, address, lane, at);
    if (!note_written(at, address, lane, bytes, use)) return false;
    const std::uint32_t unit = address % 4 == 0 && bytes % 4 == 0 ? 4 : 1;
    for (std::uint64_t done = 0; done < bytes; done += unit, at.begin += unit)
        if (!note_accesses(1u << lane, at, unit, {use == Use::read ? AccessKind::read : AccessKind::write}))
            return false;
    return true;
}

bool Warp::require_written(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    std::uint8_t* const written = written_bytes(space, address, lane);
    if (written == nullptr || all_written(written, bytes)) return true;
    const Place where = common_place(space, address);
    const bool goes_on = report_unwritten(origin_at(where.space, where.address, lane), 1u << lane);
    std::memset(written, all_bits, bytes);
    return goes_on;
}

// Arguments and results keep which of their bytes were written.
void Warp::pass_states(const Slot& from, Frame& source, const Slot& to, Frame& target, unsigned lane,
                       std::uint32_t bytes) {
    Frame* const running = frame_;
    States states{};
    Origin origin{.pc = pc_};
    const std::uint8_t* given = nullptr;
    std::array<std::uint8_t, 16> of_register{};
    if (from.reg == no_ref) {
        given = &local_written_[std::size_t{lane} * local_stride_ + source.local_base + from.offset];
    } else {
        frame_ = &source;
        read_states(from.reg, states.data());
        origin = origin_of(from.reg);
        frame_ = running;
        for (std::size_t b = 0; b < bytes; ++b) of_register[b] = states[lane * width(from.reg) + b];
        given = of_register.data();
    }
    if (to.reg == no_ref) {
        const std::uint32_t address = target.local_base + to.offset;
        std::copy_n(given, bytes, &local_written_[std::size_t{lane} * local_stride_ + address]);
        if (all_written(given, bytes)) return;
        if (from.reg != no_ref) return remember(Space::local, address, lane, bytes, origin);
        StoredOrigins& stored = cta_->checker()->stored;
        const unsigned thread = number() * lane_count + lane;
        for (std::uint32_t done = 0; done < bytes; done += StoredOrigins::unit)
            if (const StoredOrigin of =
                    stored.find(Space::local, source.local_base + from.offset + done, thread);
                of.is_known())
                stored.add(Space::local, address + done, thread, StoredOrigins::unit, of);
        return;
    }
    const std::size_t wide = width(to.reg);
    for (std::size_t b = 0; b < wide; ++b) states[lane * wide + b] = b >= bytes ? all_bits : given[b];
    frame_ = &target;
    taint(to.reg, 1u << lane, origin, states.data());
    frame_ = running;
}

}  // namespace ptxgraft::emulator
