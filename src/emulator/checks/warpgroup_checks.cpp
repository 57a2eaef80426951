// Products are computed at once, each warp's own rows of them, and yet their registers are in flight until a
// wait for their wgmma-group (PTX ISA 9.7.15).
#include "emulator/checks/warpgroup_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned fragment_of_a = 4;  // registers

constexpr std::uint32_t row_bytes = 16;  // as matrices are read: all ranges are whole ones

// Constants and copies.
bool is_move(const Operation& operation) {
    return operation.undefined == Undefined::moves && operation.controls == 0;
}

}  // namespace

void WarpgroupChecks::begin() {
    products_ = 0;
    products_of_group_ = {};
    is_behind_fence_ = false;
    pending_wgmma_.clear();
    pending_copies_.clear();
    set_registers_.clear();
}

std::uint32_t WarpgroupChecks::fences() const { return warp_.wgmma().count(Wait::wgmma_fence); }
std::uint32_t WarpgroupChecks::groups() const { return warp_.wgmma().count(Wait::wgmma_group); }

// --- fences and groups

void WarpgroupChecks::finish_fence() {
    if (!warp_.checks().async().is_on()) return;
    Checker& checker = *warp_.cta().checker();
    Clock known(checker.order.size());
    checker.order.release(warp_.number(), warp_.live(), true, known);
    checker.order.acquire(checker.agents.warpgroup(warp_.cta().rank(), warp_.index()), warp_.live(), true,
                          known);
}

bool WarpgroupChecks::check_products(std::uint32_t groups) {
    const std::size_t at = groups % kept_groups;
    for (Warp& other : warp_.cta().warpgroup(warp_)) {
        const WarpgroupChecks& others = other.checks().warpgroup();
        const bool is_kept = others.groups() - groups < kept_groups && this->groups() - groups < kept_groups;
        if (other.live() == 0 || !is_kept || others.products_of_group_[at] == products_of_group_[at])
            continue;
        if (!warp_.checks().report(
                {EmulatorCheck::barriers, Errc::warp_not_whole, warp_.pc()}, warp_.live(), [&] {
                    return fmt::format(
                        "up to this group the warp has executed {} wgmma.mma_async, and warp "
                        "{} of the warpgroup {}",
                        products_of_group_[at], other.index(), others.products_of_group_[at]);
                }))
            return false;
    }
    return true;
}

bool WarpgroupChecks::check_set_registers(const SetRegisters& what) {
    if (!warp_.checks().has(EmulatorCheck::barriers)) return true;
    const std::size_t at = set_registers_.size();
    set_registers_.push_back({warp_.pc(), what});
    for (Warp& other : warp_.cta().warpgroup(warp_)) {
        const std::vector<ExecutedSet>& others = other.checks().warpgroup().set_registers_;
        if (at >= others.size() || others[at].what == what) continue;
        const std::uint32_t pc = others[at].pc;
        return warp_.checks().report(
            {EmulatorCheck::barriers, Errc::warp_not_whole, warp_.pc(), pc}, warp_.live(), [&] {
                return fmt::format("warp {} of the warpgroup has executed the setmaxnreg on line {} instead",
                                   other.index(), warp_.checks().line_of(pc));
            });
    }
    return true;
}

bool WarpgroupChecks::check_end() {
    if (!warp_.checks().has(EmulatorCheck::barriers)) return true;
    for (Warp& other : warp_.cta().warpgroup(warp_)) {
        const std::vector<ExecutedSet>& others = other.checks().warpgroup().set_registers_;
        if (other.live() != 0 || others.size() == set_registers_.size()) continue;
        const bool is_less = set_registers_.size() < others.size();
        const std::uint32_t pc =
            is_less ? others[set_registers_.size()].pc : set_registers_[others.size()].pc;
        return warp_.checks().report(
            {EmulatorCheck::barriers, Errc::warp_not_whole, warp_.pc(), pc}, 1u, [&] {
                return fmt::format(
                    "warp {} ends, and has not executed the setmaxnreg on line {}, as warp {} of its "
                    "warpgroup has",
                    is_less ? warp_.index() : other.index(), warp_.checks().line_of(pc),
                    is_less ? other.index() : warp_.index());
            });
    }
    return true;
}

void WarpgroupChecks::finish_groups(std::uint32_t groups) {
    is_behind_fence_ = false;
    if (warp_.checks().async().is_on()) {
        Checker& checker = *warp_.cta().checker();
        checker.order.learn(warp_.number(), warp_.live(), true,
                            checker.agents.warpgroup(warp_.cta().rank(), warp_.index()), ~0u, groups);
    }
    finish_registers(groups);
}

void WarpgroupChecks::finish_registers(std::uint32_t groups) {
    if (pending_wgmma_.empty() && pending_copies_.empty()) return;
    for (const PendingCopy& one : pending_copies_) one.frame->states.fragments[one.column].is_copy = false;
    std::erase_if(pending_copies_,
                  [&](const PendingCopy& one) { return one.of.group <= groups && one.spoiled_pc == no_pc; });
    mark_copies();
    const auto is_complete = [&](const PendingWgmma& one) { return one.group <= groups; };
    const Frame* cleared = nullptr;
    for (const PendingWgmma& one : pending_wgmma_) {
        if (!is_complete(one) || one.frame == cleared) continue;
        cleared = one.frame;
        for (Fragment& fragment : one.frame->states.fragments)
            fragment.accumulates = fragment.is_read = false;
    }
    std::erase_if(pending_wgmma_, is_complete);
    for (const PendingWgmma& one : pending_wgmma_) mark_fragments(one);
}

// --- the registers of products that are not known to be complete

void WarpgroupChecks::begin_frame(Frame& frame) {
    frame.states.fragments.clear();
    if (frame.function->fragments.empty()) return;
    frame.states.fragments.resize(frame.function->register_bytes / 32);
    for (const FragmentColumn& column : frame.function->fragments) {
        frame.states.fragments[column.index].is_fragment = true;
        frame.states.fragments[column.index].is_accumulator |= column.is_accumulator;
    }
}

void WarpgroupChecks::forget(const Frame& frame) {
    std::erase_if(pending_wgmma_, [&](const PendingWgmma& one) { return one.frame == &frame; });
    std::erase_if(pending_copies_, [&](const PendingCopy& one) { return one.frame == &frame; });
}

void WarpgroupChecks::mark_fragments(const PendingWgmma& pending) {
    const Operation& operation = warp_.program().code[pending.pc];
    const Ref* const refs = warp_.operands(operation);
    std::vector<Fragment>& fragments = pending.frame->states.fragments;
    for (unsigned i = 0; i < operation.outputs; ++i) fragments[index_of(refs[i])].accumulates = true;
    if (!warp_.program().matrix_of(operation).a_in_registers) return;
    for (unsigned i = 0; i < fragment_of_a; ++i)
        if (const Ref ref = refs[operation.outputs + i]; is_register(ref))
            fragments[index_of(ref)].is_read = true;
}

const PendingWgmma* WarpgroupChecks::user_of(Ref ref) const {
    const auto uses = [&](const PendingWgmma& one) {
        const Operation& operation = warp_.program().code[one.pc];
        const Ref* const refs = warp_.operands(operation);
        const unsigned count =
            operation.outputs + (warp_.program().matrix_of(operation).a_in_registers ? fragment_of_a : 0);
        return one.frame == &warp_.frame() &&
               std::any_of(refs, refs + count, [&](Ref used) { return used == ref; });
    };
    const auto found = std::find_if(pending_wgmma_.rbegin(), pending_wgmma_.rend(), uses);
    return found == pending_wgmma_.rend() ? nullptr : &*found;
}

// Of a launch that goes on the product is complete then, and those before it.
bool WarpgroupChecks::report_in_flight(Ref ref, std::string_view use) {
    const PendingWgmma* const found = user_of(ref);
    const PendingWgmma user = found != nullptr ? *found : PendingWgmma{warp_.pc(), &warp_.frame(), groups()};
    const bool goes_on = warp_.checks().report(
        {EmulatorCheck::async, Errc::register_in_flight, warp_.pc(), user.pc}, warp_.running(), [&] {
            return fmt::format("{} of {}, {} of the wgmma.mma_async on line {}, {}", use,
                               warp_.checks().name_of(ref),
                               fragments_[index_of(ref)].accumulates ? "an accumulator" : "a fragment of A",
                               warp_.checks().line_of(user.pc),
                               user.group <= groups() ? "for whose group no wgmma.wait_group has waited"
                                                      : "which no wgmma.commit_group has put into a group");
        });
    if (goes_on) finish_registers(user.group);
    return goes_on;
}

bool WarpgroupChecks::check_fragment(Ref ref, Use use, std::uint32_t mask) {
    if (fragments_ == nullptr || ref == no_ref || !is_register(ref)) return true;
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.is_copy && use == Use::read && !check_copy(ref, mask)) return false;
    if (fragment.is_copy && use == Use::write) forget_copies(index_of(ref), mask);
    if (use == Use::read ? !fragment.accumulates : !fragment.accumulates && !fragment.is_read) return true;
    return report_in_flight(ref, use == Use::read ? "read" : "write");
}

bool WarpgroupChecks::names_fragments(const Operation& operation) const {
    const Ref* const refs = warp_.operands(operation);
    const unsigned count = unsigned{operation.outputs} + operation.inputs;
    for (unsigned i = 0; i < count; ++i)
        if (is_register(refs[i]) &&
            (fragments_[index_of(refs[i])].is_fragment || fragments_[index_of(refs[i])].is_copy))
            return true;
    return false;
}

// What an operation other than a wgmma touches is from then on to be fenced. Behind a wgmma.fence, until the
// next wait, compilers put moves to accumulators, and programs loads of the next fragment of A, for which
// ptxas waits: these are let pass.
bool WarpgroupChecks::check_fragments(const Operation& operation, std::uint32_t mask) {
    if (operation.execute == execute_wgmma) return begin_wgmma(operation);
    const Ref* const refs = warp_.operands(operation);
    const unsigned count = unsigned{operation.outputs} + operation.inputs;
    const bool copies = operation.is_copy && operation.guard == no_ref;  // for others ptxas waits (C7517)
    const auto use_of = [&](unsigned i) { return i < operation.outputs ? Use::write : Use::read; };
    if (copies && !copy_fragments(operation, mask)) return false;
    for (unsigned i = operation.outputs; i < count && !copies; ++i)
        if (!check_fragment(refs[i], Use::read, mask)) return false;
    for (unsigned i = 0; i < operation.outputs && !copies; ++i)
        if (!check_fragment(refs[i], Use::write, mask)) return false;
    for (unsigned i = 0; i < count; ++i) {
        if (!is_register(refs[i])) continue;
        Fragment& fragment = fragments_[index_of(refs[i])];
        if (is_behind_fence_ && (use_of(i) == Use::read || is_move(operation) || !fragment.is_accumulator))
            continue;
        const bool is_known_write = fragment.is_written && fragment.fences == fences() + 1;
        if (!fragment.is_fragment || (use_of(i) == Use::read && is_known_write)) continue;
        fragment.is_written = use_of(i) == Use::write;
        fragment.fences = fences() + 1;
        fragment.pc = warp_.pc();
    }
    return true;
}

// --- copies of accumulators in flight

// A mov carries over what is pending of its sources.
bool WarpgroupChecks::copy_fragments(const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp_.operands(operation);
    std::vector<PendingCopy> carried;
    for (unsigned i = operation.outputs; i < operation.outputs + operation.inputs; ++i) {
        if (!is_register(refs[i])) continue;
        const std::uint32_t column = index_of(refs[i]);
        if (fragments_[column].accumulates)
            if (const PendingWgmma* const user = user_of(refs[i]))
                carried.push_back({&warp_.frame(), 0, column, mask, warp_.pc(), *user});
        if (!fragments_[column].is_copy) continue;
        for (const PendingCopy& one : pending_copies_)
            if (one.frame == &warp_.frame() && one.column == column && (one.lanes & mask) != 0)
                carried.push_back(one);
    }
    for (unsigned i = 0; i < operation.outputs; ++i) {
        if (!check_fragment(refs[i], Use::write, mask)) return false;
        for (PendingCopy& one : carried) {
            one.column = index_of(refs[i]);
            one.lanes &= mask;
            pending_copies_.push_back(one);
            fragments_[one.column].is_copy = true;
        }
    }
    return true;
}

void WarpgroupChecks::mark_copies() {
    for (const PendingCopy& one : pending_copies_) one.frame->states.fragments[one.column].is_copy = true;
}

void WarpgroupChecks::forget_copies(std::uint32_t column, std::uint32_t lanes) {
    const auto is_there = [&](const PendingCopy& one) {
        return one.frame == &warp_.frame() && one.column == column;
    };
    for (PendingCopy& one : pending_copies_)
        if (is_there(one)) one.lanes &= ~lanes;
    std::erase_if(pending_copies_, [&](const PendingCopy& one) { return one.lanes == 0; });
    fragments_[column].is_copy = std::ranges::any_of(pending_copies_, is_there);
}

// Another wgmma goes on with an accumulator: a copy that has not been waited for will be of that one.
void WarpgroupChecks::spoil_copies(Ref accumulator) {
    for (PendingCopy& one : pending_copies_)
        if (one.frame == &warp_.frame() && one.source == index_of(accumulator) && one.spoiled_pc == no_pc)
            one.spoiled_pc = warp_.pc();
}

bool WarpgroupChecks::check_copy(Ref ref, std::uint32_t mask) {
    const auto found = std::ranges::find_if(pending_copies_, [&](const PendingCopy& one) {
        return one.frame == &warp_.frame() && one.column == index_of(ref) && (one.lanes & mask) != 0;
    });
    return found == pending_copies_.end() || report_copy(*found, ref);
}

bool WarpgroupChecks::report_copy(PendingCopy copy, Ref ref) {
    const bool goes_on = warp_.checks().report(
        {EmulatorCheck::async, Errc::register_in_flight, warp_.pc(), copy.pc}, warp_.running(), [&] {
            const std::string made = fmt::format(
                "read of {}, which line {} copied from an accumulator of the wgmma.mma_async on line {}",
                warp_.checks().name_of(ref), warp_.checks().line_of(copy.pc),
                warp_.checks().line_of(copy.of.pc));
            if (copy.spoiled_pc != no_pc)
                return fmt::format(
                    "{} before a wgmma.wait_group, and with which the wgmma.mma_async on line {} has gone on",
                    made, warp_.checks().line_of(copy.spoiled_pc));
            return made + ", for whose group no wgmma.wait_group has waited";
        });
    if (goes_on) copy.spoiled_pc != no_pc ? forget_copies(copy.column, ~0u) : finish_registers(copy.of.group);
    return goes_on;
}

// --- wgmma.mma_async

// PTX ISA 9.7.15.7.1. What only reads a fragment of A changes nothing for a product that reads it too.
bool WarpgroupChecks::check_fenced(Ref ref, bool accumulates) {
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.fences != fences() + 1 || (!accumulates && !fragment.is_written)) return true;
    return warp_.checks().report(
        {EmulatorCheck::async, Errc::register_not_fenced, warp_.pc(), fragment.pc}, warp_.running(), [&] {
            return fmt::format(
                "{} was {} on line {}, and no wgmma.fence comes between that and this wgmma.mma_async",
                warp_.checks().name_of(ref), fragment.is_written ? "written" : "read",
                warp_.checks().line_of(fragment.pc));
        });
}

// Only products of one shape may follow each other on the same accumulators.
bool WarpgroupChecks::check_accumulator(Ref ref, const Wgmma& wgmma) {
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.is_copy && !check_copy(ref, ~0u)) return false;
    if (fragment.is_read && !report_in_flight(ref, "write")) return false;
    if (fragment.accumulates) {
        const PendingWgmma* const user = user_of(ref);
        const Wgmma& other =
            user == nullptr ? wgmma : warp_.program().matrix_of(warp_.program().code[user->pc]).wgmma;
        const bool is_alike = other.n == wgmma.n && other.d == wgmma.d;
        if (!is_alike && !report_in_flight(ref, "use in another shape")) return false;
    }
    return check_fenced(ref, true);
}

bool WarpgroupChecks::begin_wgmma(const Operation& operation) {
    const MatrixInstruction& instruction = warp_.program().matrix_of(operation);
    const Ref* const refs = warp_.operands(operation);
    if (fences() == 0 &&
        !warp_.checks().report({EmulatorCheck::async, Errc::register_not_fenced, warp_.pc()}, warp_.running(),
                               [] { return "no wgmma.fence comes before the first wgmma.mma_async"; }))
        return false;
    for (unsigned i = 0; i < operation.outputs; ++i) {
        if (!check_accumulator(refs[i], instruction.wgmma)) return false;
        if (!pending_copies_.empty()) spoil_copies(refs[i]);
    }
    for (unsigned i = 0; instruction.a_in_registers && i < fragment_of_a; ++i) {
        const Ref ref = refs[operation.outputs + i];
        if (!check_fragment(ref, Use::read, ~0u) || (is_register(ref) && !check_fenced(ref, false)))
            return false;
    }
    const auto again = [&](const PendingWgmma& one) {
        return one.pc == warp_.pc() && one.frame == &warp_.frame();
    };
    std::erase_if(pending_wgmma_, again);  // the later one is complete no sooner
    pending_wgmma_.push_back({warp_.pc(), &warp_.frame(), groups() + 1});
    mark_fragments(pending_wgmma_.back());
    return true;
}

// --- shared memory

bool WarpgroupChecks::note_wgmma(const Operation& operation, const WgmmaOperands& operands) {
    ++products_;
    if (!warp_.checks().tracks_written() && !warp_.checks().async().is_on()) return true;
    Checker& checker = *warp_.cta().checker();
    const Checker::WgmmaReads& reads =
        checker.wgmma_reads(warp_.program().matrix_of(operation).wgmma, operands);
    Located shared;
    warp_.memory().describe(Space::shared, 0, 0, shared);
    if (warp_.checks().async().is_on()) {
        const unsigned warpgroup = checker.agents.warpgroup(warp_.cta().rank(), warp_.index());
        Clock known(checker.order.size());
        checker.order.release(warp_.number(), warp_.live(), true, known);
        checker.order.acquire(warpgroup, warp_.live(), true, known);
        const VectorClock fenced = checker.order.fenced(FencedSpace::shared, warpgroup);
        for (const SharedRange& range : reads.ranges)
            if (!note_range(range, shared, warpgroup, fenced)) return false;
    }
    if (!warp_.checks().tracks_written()) return true;
    MatrixDefinedness& matrices = warp_.checks().matrices();
    const Definedness& registers = warp_.checks().definedness();
    UndefinedOperands undefined;
    for (std::size_t i = 0; i < reads.ranges.size(); ++i)
        if (std::optional<Origin>& of = i < reads.of_a ? undefined.a : undefined.b; !of)
            of = matrices.first_undefined(reads.ranges[i], shared);
    const Ref* const sources = warp_.operands(operation) + operation.outputs;
    for (unsigned i = 0; operands.a != nullptr && i < fragment_of_a; ++i)
        if (!undefined.a && !registers.is_written(sources[i])) undefined.a = registers.origin_of(sources[i]);
    matrices.track_wgmma(operation, operands, undefined);
    return true;
}

bool WarpgroupChecks::note_range(const SharedRange& range, const Located& shared, unsigned warpgroup,
                                 const VectorClock& fenced) {
    RaceChecks& races = warp_.checks().races();
    Checker& checker = *warp_.cta().checker();
    const Accessor by{epoch(warpgroup, warp_.index() % 4, groups() + 1), warpgroup, warp_.index() % 4};
    const std::uint64_t begin = shared.begin + range.begin, end = shared.begin + range.end;
    if (!checker.mbarriers.empty()) {
        Located at = shared;
        at.begin = begin;
        at.offsets[0] = 0;
        if (!warp_.checks().async().check_mbarriers(1, at, end - begin, AccessKind::read)) return false;
    }
    if (checker.shared_races.note(begin, end, AccessKind::read, by, warp_.pc()) &&
        !races.report_races(EmulatorCheck::async, checker.shared_races.found(),
                            {.at = shared, .bytes = row_bytes, .kind = AccessKind::read, .lane = 0}))
        return false;
    const auto unfenced =
        checker.shared_races.unfenced_write(begin, end, fenced, checker.agents.async_proxy());
    return !unfenced || races.report_unfenced(*unfenced, FencedSpace::shared, 0, "wgmma.mma_async");
}

}  // namespace ptxgraft::emulator
