// The mbarrier instructions (PTX ISA 9.7.13.15).
#include <fmt/format.h>

#include "emulator/decode/decode.hpp"
#include "emulator/machine/cta.hpp"
#include "emulator/machine/mbarrier_object.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

// Operands: the result, the address's register, if it has one, and a count or a state.
Ref input_of(const Warp& warp, const Operation& operation) {
    return warp.operands(operation)[operation.outputs + operation.inputs - 1];
}

Failed fail(Warp& warp, unsigned lane, const Error& error) {
    return warp.fail(error.code, lane, *error.detail);
}

// PTX ISA 9.7.13.15: generic addresses fall within the window of shared memory; all may arrive at an object
// of another block of the cluster, and tell it of transactions, but do nothing else with it.
enum class Owner : std::uint8_t { this_cta, any };

std::byte* object_of(Warp& warp, const Operation& operation, unsigned lane, Use use, Owner owner) {
    const Access& access = access_of(warp, operation);
    const std::uint64_t address = warp.memory().address(access, operation, lane);
    const Place where = emulator::place(access.space, address);
    const bool is_shared = where.space == Space::shared || where.space == Space::shared_cluster;
    const std::uint64_t tag = where.address >> cluster_rank_shift;
    if (is_shared && (owner == Owner::any || tag == 0 || tag == warp.cta().rank() + std::uint64_t{1}))
        return warp.memory().resolve(access.space, address, lane, 8, use);
    return warp.fail(
        Errc::address_out_of_bounds, lane,
        is_shared ? fmt::format("the mbarrier is in shared memory of the block of rank {}, at which this "
                                "block may arrive, but neither make it nor wait",
                                tag - 1)
                  : fmt::format("an mbarrier at {:#x}, which is {} memory; mbarriers are in shared memory",
                                where.address, name(where.space)));
}

// Those of some lanes that use the object at an address.
std::uint32_t lanes_at(Warp& warp, const Operation& operation, std::uint64_t address, std::uint32_t lanes) {
    const Access& access = access_of(warp, operation);
    std::uint32_t same = 0;
    each_bit(lanes, [&](unsigned lane) {
        if (warp.memory().address(access, operation, lane) == address) same |= 1u << lane;
    });
    return same;
}

// Accesses of mbarriers by the lanes of an instruction, for the checks: those of one object are one access.
class ObjectAccesses {
  public:
    ObjectAccesses(Warp& warp, const Operation& operation, std::uint32_t mask, AccessKind kind)
        : warp_(warp), operation_(operation), left_(mask), kind_(kind) {}

    /// Notes that of a lane, with those of the lanes behind it that use the same object.
    [[nodiscard]] bool note(std::uint64_t address, unsigned lane) {
        if (!warp_.checks().looks_at_memory() || (left_ >> lane & 1) == 0) return true;
        const std::uint32_t lanes = lanes_at(warp_, operation_, address, left_);
        left_ &= ~lanes;
        return warp_.checks().async().note_mbarrier(access_of(warp_, operation_).space, address, lanes,
                                                    kind_);
    }

  private:
    Warp& warp_;
    const Operation& operation_;
    std::uint32_t left_;
    AccessKind kind_;
};

// What the operation does to the object of a lane, which is given the lane's count.
using Change = Expected<void> (*)(Mbarrier& object, std::uint32_t count);

/// Who lets others know: the thread, or the cp.async that it issued, or nobody.
enum class Arriving : std::uint8_t { thread, copies, nobody };

Expected<void> invalidate(Mbarrier& object, std::uint32_t count);

template <Change C, Owner O = Owner::any, Arriving Of = Arriving::thread>
Flow execute_change(Warp& warp, const Operation& operation, std::uint32_t mask) {
    ObjectAccesses accesses(warp, operation, mask, AccessKind::atomic);
    return next_if(each_bit(mask, [&](unsigned lane) -> bool {
        std::byte* const at = object_of(warp, operation, lane, Use::write, O);
        if (at == nullptr) return false;
        const Access& access = access_of(warp, operation);
        const std::uint64_t address = warp.memory().address(access, operation, lane);
        const auto count = static_cast<std::uint32_t>(warp.value(input_of(warp, operation), lane));
        if (!accesses.note(address, lane)) return false;
        const auto before = change_mbarrier(at, [&](Mbarrier& object) { return C(object, count); });
        if (!before) return fail(warp, lane, before.error());
        if (C == invalidate) warp.checks().async().forget_mbarrier(access.space, address);
        warp.set(warp.operands(operation)[0], lane, *before);
        if constexpr (Of == Arriving::copies)
            warp.checks().async().finish_copies_at(access.space, address, lane);
        if constexpr (Of == Arriving::thread)
            warp.checks().async().arrive_at(access.space, address, lane, access);
        warp.checks().async().finish_phase_at(access.space, address, *before, mbarrier_word(at));
        return true;
    }));
}

template <bool Drop> Expected<void> arrive(Mbarrier& object, std::uint32_t count) {
    return object.arrive(count, Drop);
}
template <bool Drop> Expected<void> arrive_expecting(Mbarrier& object, std::uint32_t count) {
    auto done = object.expect(count);
    return done ? object.arrive(1, Drop) : done;
}
template <bool Drop> Expected<void> arrive_without_completing(Mbarrier& object, std::uint32_t count) {
    const std::uint32_t phase = object.phase;
    auto done = object.arrive(count, Drop);
    if (!done || object.phase == phase) return done;
    return ptxgraft::fail(Errc::barrier_invalid,
                          "an arrival with .noComplete is the last one that the mbarrier waits for");
}
Expected<void> expect(Mbarrier& object, std::uint32_t count) { return object.expect(count); }
Expected<void> complete(Mbarrier& object, std::uint32_t count) { return object.complete(count); }
Expected<void> keep(Mbarrier&, std::uint32_t) { return {}; }
Expected<void> invalidate(Mbarrier& object, std::uint32_t) {
    object.valid = false;
    return {};
}

Flow execute_init(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return next_if(each_bit(mask, [&](unsigned lane) -> bool {
        std::byte* const at = object_of(warp, operation, lane, Use::write, Owner::this_cta);
        if (at == nullptr) return false;
        const Access& access = access_of(warp, operation);
        const std::uint64_t address = warp.memory().address(access, operation, lane);
        if (!warp.checks().async().keep_mbarrier(access.space, address) &&
            warp.checks().has(EmulatorCheck::barriers) && Mbarrier::of(mbarrier_word(at)).valid &&
            !warp.checks().report(
                {EmulatorCheck::barriers, Errc::barrier_invalid, warp.pc()}, 1u << lane,
                [] { return "an mbarrier object is there already; mbarrier.inval ends it"; }))
            return false;
        Mbarrier object;
        const auto made =
            object.init(static_cast<std::uint32_t>(warp.value(input_of(warp, operation), lane)));
        if (!made) return fail(warp, lane, made.error());
        if (!warp.checks().async().note_mbarrier_init(access.space, address, lane)) return false;
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), object.word(), __ATOMIC_RELEASE);
        return true;
    }));
}

// Lanes learn what happened before the phases that they found complete.
void acquire(Warp& warp, const Operation& operation, std::uint32_t lanes) {
    const Access& access = access_of(warp, operation);
    while (lanes != 0) {
        const std::uint64_t address = warp.memory().address(access, operation, first_lane(lanes));
        const std::uint32_t same = lanes_at(warp, operation, address, lanes);
        warp.checks().async().wait_at(access.space, address, same, access);
        lanes &= ~same;
    }
}

// True when the phase of a state, or the one of a parity, is complete.
template <bool Parity> Flow execute_test(Warp& warp, const Operation& operation, std::uint32_t mask) {
    ObjectAccesses accesses(warp, operation, mask, AccessKind::strong_read);
    std::uint32_t complete = 0;
    const bool done = each_bit(mask, [&](unsigned lane) -> bool {
        const Access& access = access_of(warp, operation);
        const std::byte* const at = object_of(warp, operation, lane, Use::read, Owner::this_cta);
        if (at == nullptr) return false;
        const std::uint64_t address = warp.memory().address(access, operation, lane);
        const Mbarrier object =
            Mbarrier::of(__atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_ACQUIRE));
        const std::uint64_t asked = warp.value(input_of(warp, operation), lane);
        const Mbarrier state = Mbarrier::of(asked);
        if (!object.valid || (!Parity && !state.valid)) {
            return warp.fail(Errc::barrier_invalid, lane,
                             object.valid
                                 ? fmt::format("{:#x} is no state of an arrival at an mbarrier", asked)
                                 : "no mbarrier.init made an mbarrier object there");
        }
        if (Parity && asked > 1 && warp.checks().has(EmulatorCheck::barriers) &&
            !warp.checks().report(
                {EmulatorCheck::barriers, Errc::barrier_invalid, warp.pc()}, 1u << lane,
                [&] { return fmt::format("the parity of a phase is 0 or 1, not {}", asked); }))
            return false;
        // The wait itself is not ordered by what it waits for: the object has to be there before.
        if (!accesses.note(address, lane)) return false;
        const std::uint64_t phase = Parity ? asked & 1 : state.phase;
        warp.set(warp.operands(operation)[0], lane, object.phase != phase ? 1 : 0);
        if (object.phase != phase) complete |= 1u << lane;
        return true;
    });
    if (done && warp.checks().is_ordered()) acquire(warp, operation, complete);
    warp.mbarrier_waits().note(warp.frame(), warp.pc(), mask, warp.work().issued(), complete != 0);
    return done ? warp.work().strong() : Flow::fail;
}

Flow execute_pending_count(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    each_bit(mask, [&](unsigned lane) {
        warp.set(refs[0], lane, Mbarrier::of(warp.value(refs[1], lane)).pending);
    });
    return Flow::next;
}

// What all forms have in common: destination or none, address, one input or the constant 1. An mbarrier that
// another CTA of the cluster arrives at without a scope is one that public code waits at: here it reaches the
// cluster, though .cta is what the manual has. So does a wait with .acquire.cta: that is how compilers spell
// a wait without a scope, and the machine code is the same. How long a try_wait waits is its own matter.
template <Execute E> Expected<Draft> decode(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Access access{.space = space_of(instruction),
                  .semantics = instruction.has(".relaxed") ? Semantics::relaxed : Semantics::acq_rel,
                  .reach = instruction.has(".acquire") ? Reach::cluster : reach_of(instruction),
                  .bytes = 8};
    Draft draft(E);
    decoder.program().uses_mbarriers = true;
    TRY(decoder.bind(draft, instruction, &access));
    if (draft.operation.outputs == 0) draft.output(decoder.temporary(8));
    const unsigned base = access.has_base ? 1 : 0;
    if (draft.operation.inputs == base) draft.input(decoder.constant(1, 4));
    if (draft.operation.inputs == base + 2) static_cast<void>(draft.take_input());
    draft.set(decoder.add(access));
    return draft;
}

// Copies are complete at once, so their arrival is one of this thread: with .noinc it is among those
// expected, without it was expected in addition just now, and changes nothing.
Expected<Draft> decode_copy_arrival(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    decoder.program().uses_copies = true;
    const auto decode_arrival = instruction.has(".noinc")
                                    ? decode<execute_change<arrive<false>, Owner::this_cta, Arriving::copies>>
                                    : decode<execute_change<keep, Owner::this_cta, Arriving::copies>>;
    return decode_arrival(decoder, instruction);
}

constexpr InstructionRow rows[] = {
    {"mbarrier.init", decode<execute_init>},
    {"mbarrier.inval", decode<execute_change<invalidate, Owner::this_cta, Arriving::nobody>>},
    {"mbarrier.expect_tx", decode<execute_change<expect, Owner::any, Arriving::nobody>>},
    {"mbarrier.complete_tx", decode<execute_change<complete, Owner::any, Arriving::nobody>>},
    {"mbarrier.arrive", decode<execute_change<arrive<false>>>},
    {"mbarrier.arrive_drop", decode<execute_change<arrive<true>>>},
    {"mbarrier.arrive.expect_tx", decode<execute_change<arrive_expecting<false>>>},
    {"mbarrier.arrive_drop.expect_tx", decode<execute_change<arrive_expecting<true>>>},
    {"mbarrier.arrive.noComplete", decode<execute_change<arrive_without_completing<false>>>},
    {"mbarrier.arrive_drop.noComplete", decode<execute_change<arrive_without_completing<true>>>},
    {"mbarrier.test_wait", decode<execute_test<false>>},
    {"mbarrier.try_wait", decode<execute_test<false>>},
    {"mbarrier.test_wait.parity", decode<execute_test<true>>},
    {"mbarrier.try_wait.parity", decode<execute_test<true>>},
    {"mbarrier.pending_count", decode_bound<execute_pending_count>},
    {"cp.async.mbarrier.arrive", decode_copy_arrival},
};

}  // namespace

std::span<const InstructionRow> mbarrier_rows() { return rows; }

}  // namespace ptxgraft::emulator
