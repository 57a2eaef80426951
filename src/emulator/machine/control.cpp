// Branches, calls, exits and the barriers of a CTA.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/members.hpp"
#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

// The function that the lanes of `mask` call; lanes that call another one stay, and call it afterwards.
const Function* target(Warp& warp, const Call& call, std::uint32_t& mask) {
    const std::vector<Function>& functions = warp.program().functions;
    if (call.target == no_ref) return &functions[call.function];
    if (!warp.checks().definedness().require(call.target, mask)) return nullptr;
    const std::uint64_t address = warp.value(call.target, first_lane(mask));
    const std::uint64_t index = (address - function_window) / function_stride;
    if (address < function_window || address % function_stride != 0 || index >= functions.size()) {
        return warp.fail(Errc::call_target_invalid, first_lane(mask), fmt::format("{:#x}", address));
    }
    std::uint32_t same = 0;
    each_bit(mask, [&](unsigned lane) {
        if (warp.value(call.target, lane) == address) same |= 1u << lane;
    });
    mask = same;
    return &functions[index];
}

bool check_registers(Warp& warp, const Call& call, std::uint32_t mask) {
    for (const Slot& slot : call.arguments)
        if (!warp.checks().warpgroup().check_fragment(slot.reg, Use::read, mask)) return false;
    for (const Slot& slot : call.returns)
        if (!warp.checks().warpgroup().check_fragment(slot.reg, Use::write, mask)) return false;
    return true;
}

// PTX ISA 11.3.2: a call by address meets one of the functions that its list names.
bool check_targets(Warp& warp, const Call& call, const Function& function, std::uint32_t mask) {
    if (call.targets == Call::no_targets) return true;
    const std::vector<Function>& functions = warp.program().functions;
    std::vector<std::string_view> names;
    for (const std::uint32_t listed : warp.program().call_targets[call.targets]) {
        if (&functions[listed] == &function) return true;
        names.push_back(functions[listed].name);
    }
    return warp.checks().report(
        {EmulatorCheck::calls, Errc::call_mismatch, warp.pc(), function.has_code ? function.begin : no_pc},
        mask, [&] {
            return fmt::format("a call of {}, which its list of targets does not name: {}", function.name,
                               fmt::join(names, ", "));
        });
}

bool check_call(Warp& warp, const Call& call, const Function& function, std::uint32_t mask) {
    if (!check_targets(warp, call, function, mask)) return false;
    const bool has_prototype = call.prototype != Call::no_prototype;
    const std::vector<Signature>& prototypes = warp.program().prototypes;
    if (has_prototype ? fits(prototypes[call.prototype], function.signature) : fits(call, function.signature))
        return true;
    return warp.checks().report(
        {EmulatorCheck::calls, Errc::call_mismatch, warp.pc(), function.has_code ? function.begin : no_pc},
        mask, [&] {
            return fmt::format("a call unlike the function: by {} it is of {}, and the function is {}",
                               has_prototype ? "its .callprototype" : "what it passes",
                               to_text(has_prototype ? prototypes[call.prototype] : signature_of(call), "_"),
                               to_text(function.signature, function.name));
        });
}

}  // namespace

Flow execute_branch(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return warp.schedule().branch(operation.branch_target(), mask);
}

Flow execute_branch_index(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return warp.schedule().branch_by_index(warp.program().branch_table_of(operation),
                                           warp.operands(operation)[0], mask);
}

Flow execute_call(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Call& call = warp.program().call_of(operation);
    std::uint32_t lanes = mask;
    const Function* function = target(warp, call, lanes);
    if (function == nullptr) return Flow::fail;
    if (!check_registers(warp, call, lanes)) return Flow::fail;
    if (lanes != mask) warp.schedule().stay(mask & ~lanes);
    if (function->is_entry) {
        return warp.fail(Errc::call_target_invalid, first_lane(lanes),
                         fmt::format("{}, an entry", function->name));
    }
    if (warp.checks().has(EmulatorCheck::calls) && !check_call(warp, call, *function, lanes))
        return Flow::fail;
    if (function->is_defined) return warp.call_stack().call(*function, call, lanes);
    if (function->builtin != nullptr) {
        const Flow flow = function->builtin(warp, call, lanes);
        for (const Slot& slot : call.returns) warp.checks().definedness().mark_slot(slot, lanes);
        return flow == Flow::next && lanes != mask ? warp.schedule().move_on() : flow;
    }
    return warp.fail(Errc::external_unresolved, first_lane(lanes),
                     fmt::format("function {}", function->name));
}

Flow execute_return(Warp& warp, const Operation&, std::uint32_t mask) {
    return warp.call_stack().return_(mask);
}

Flow execute_exit(Warp& warp, const Operation&, std::uint32_t mask) { return warp.call_stack().exit(mask); }

Flow execute_trap(Warp& warp, const Operation&, std::uint32_t mask) {
    return warp.fail(Errc::trap_executed, first_lane(mask), "the kernel gave up");
}

Flow execute_failure(Warp& warp, const Operation& operation, std::uint32_t) {
    return warp.fail(warp.program().failure_of(operation));
}

Flow execute_yield(Warp&, const Operation&, std::uint32_t) { return Flow::yield; }

namespace {

// The lanes that name the same barrier and count as the first one.
std::uint32_t same_barrier(Warp& warp, const Barrier& barrier, std::uint32_t mask) {
    std::uint32_t same = mask;
    for (const Ref ref : {barrier.id, barrier.count}) {
        if (ref == no_ref || !is_register(ref)) continue;
        const std::uint64_t first = warp.value(ref, first_lane(mask));
        each_bit(mask, [&](unsigned lane) {
            if (warp.value(ref, lane) != first) same &= ~(1u << lane);
        });
    }
    return same;
}

bool check_arrival(Warp& warp, std::uint32_t id, const Cta::Arrival& arrival, std::uint32_t mask) {
    const Cta::Arrival* const first = warp.cta().differs(id, arrival);
    if (first == nullptr) return true;
    return warp.checks().report(
        {EmulatorCheck::barriers, Errc::barrier_invalid, warp.pc(), first->pc}, mask, [&] {
            const auto say = [](const Cta::Arrival& one) {
                return one.count != 0 ? fmt::format("{} threads", one.count)
                                      : std::string("all threads of the block");
            };
            if (arrival.reduces != first->reduces)
                return fmt::format("{} at barrier {}, and {} on line {}",
                                   arrival.reduces ? "a reduction" : "no reduction", id,
                                   first->reduces ? "one" : "none", warp.checks().line_of(first->pc));
            return fmt::format("barrier {} waits for {} here, and on line {} for {}", id, say(arrival),
                               warp.checks().line_of(first->pc), say(*first));
        });
}

}  // namespace

Flow execute_barrier(Warp& warp, const Operation& operation, std::uint32_t all) {
    const Barrier& barrier = warp.program().barrier_of(operation);
    for (const Ref ref : {barrier.id, barrier.count, barrier.predicate})
        if (ref != no_ref && !warp.checks().definedness().require(ref, all)) return Flow::fail;
    const std::uint32_t mask = same_barrier(warp, barrier, all);
    const unsigned lane = first_lane(mask);
    if (mask != all) {
        if (barrier.is_aligned && warp.checks().has(EmulatorCheck::barriers) &&
            !warp.checks().report({EmulatorCheck::barriers, Errc::barrier_divergent, warp.pc()}, all & ~mask,
                                  [] { return "lanes of the warp name different barriers, or counts"; }))
            return Flow::fail;
        warp.schedule().stay(all & ~mask);
    }
    if (barrier.destination != no_ref) warp.checks().definedness().mark_written(barrier.destination, mask);
    const auto id = static_cast<std::uint32_t>(warp.value(barrier.id, lane));
    const auto count =
        barrier.count == no_ref ? 0 : static_cast<std::uint32_t>(warp.value(barrier.count, lane));
    const bool counted = barrier.count != no_ref;
    if (id >= named_barriers || count % 32 != 0 || (counted && count == 0)) {
        return warp.fail(
            Errc::barrier_invalid, lane,
            fmt::format("barrier {} of {} threads; barriers are 0 to 15, counts multiples of 32", id, count));
    }
    std::uint32_t predicate = 0;
    if (barrier.predicate != no_ref) {
        predicate = predicate_mask(warp.column(barrier.predicate)) ^ (barrier.negated ? ~0u : 0u);
    }
    const Cta::Arrival arrival{warp.pc(), count, barrier.predicate != no_ref};
    if (warp.checks().has(EmulatorCheck::barriers) && !check_arrival(warp, id, arrival, mask))
        return Flow::fail;
    if (barrier.kind == Barrier::Kind::arrive) {
        warp.cta().arrive(warp, id, arrival, mask, predicate);
        return mask == all ? Flow::next : warp.schedule().move_on();
    }
    if (barrier.is_aligned && warp.checks().has(EmulatorCheck::barriers)) {
        const Group* const other = warp.schedule().waits_elsewhere();
        if (other != nullptr &&
            !warp.checks().report(
                {EmulatorCheck::barriers, Errc::barrier_divergent, warp.pc(), other->pc}, mask, [&] {
                    return fmt::format("other lanes of the warp wait at barrier {} on line {}", other->what,
                                       warp.checks().line_of(other->pc));
                }))
            return Flow::fail;
    }
    warp.schedule().wait(mask, Wait::barrier, id);
    warp.cta().arrive(warp, id, arrival, mask, predicate);
    return Flow::select;
}

Flow execute_collective(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return run_collective(warp, operation, warp.program().collective_of(operation), mask);
}

}  // namespace ptxgraft::emulator
