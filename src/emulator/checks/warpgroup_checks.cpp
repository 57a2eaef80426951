// wgmma (PTX ISA 9.7.15): products are computed at once here, each warp's own rows of them. A wgmma.fence
// tells that the warpgroup has written what its products read, so a warp lets the other warps come to the
// fence before it computes; and one that waits for a group lets them commit it first. What a checked launch
// keeps besides: which registers and which shared memory a product that nobody has waited for still uses, and
// which registers no wgmma.fence has ordered.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned fragment_of_a = 4;  // registers

std::uint32_t index_of(Ref ref) { return offset(ref) / 32; }

constexpr std::uint32_t row_bytes = 16;  // as matrices are read: all ranges are whole ones

bool is_written_row(const std::uint8_t* states) {
    std::uint64_t words[2];
    std::memcpy(words, states, sizeof words);
    return (words[0] & words[1]) == ~std::uint64_t{0};
}

// Constants and copies.
bool is_move(const Operation& operation) {
    return operation.undefined == Undefined::moves && operation.controls == 0;
}

}  // namespace

// --- fences and groups

Flow Warp::fence_wgmma(std::uint32_t mask) {
    ++wgmma_fences_;
    wgmma_stage_ = true;
    cta_->release_wgmma(*this, Wait::wgmma_fence);
    if (cta_->wgmma_count(*this, Wait::wgmma_fence) < wgmma_fences_) {
        wait(mask, Wait::wgmma_fence, wgmma_fences_);
        return Flow::select;
    }
    finish_fence();
    return Flow::next;
}

// What the warp did before the fence comes before what any warp of its warpgroup multiplies behind it.
void Warp::finish_fence() {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    Clock known(checker.order.size());
    checker.order.release(number(), live_, true, known);
    checker.order.acquire(checker.parties.warpgroup(cta_->rank(), index_), live_, true, known);
}

void Warp::commit_wgmma() {
    ++wgmma_groups_;
    products_of_group_[wgmma_groups_ % products_of_group_.size()] = products_;
    cta_->release_wgmma(*this, Wait::wgmma_group);
}

Flow Warp::wait_wgmma(std::uint32_t mask, std::uint32_t pending) {
    const std::uint32_t groups = wgmma_groups_ > pending ? wgmma_groups_ - pending : 0;
    if (cta_->wgmma_count(*this, Wait::wgmma_group) < groups) {
        wait(mask, Wait::wgmma_group, groups);
        return Flow::select;
    }
    if (checks(EmulatorCheck::barriers) && !check_warpgroup(groups)) return Flow::fail;
    finish_wgmma(groups);
    return Flow::next;
}

// PTX ISA 9.7.15.5.2, .aligned: all threads of the warpgroup execute the same wgmma.mma_async.
bool Warp::check_warpgroup(std::uint32_t groups) {
    for (const Warp& other : cta_->warpgroup(*this)) {
        const std::size_t kept = products_of_group_.size(), at = groups % kept;
        const bool is_kept = other.wgmma_groups_ - groups < kept && wgmma_groups_ - groups < kept;
        if (other.live_ == 0 || !is_kept || other.products_of_group_[at] == products_of_group_[at]) continue;
        if (!report({EmulatorCheck::barriers, Errc::warp_not_whole, pc_}, live_, [&] {
                return fmt::format(
                    "up to this group the warp has executed {} wgmma.mma_async, and warp {} of the warpgroup "
                    "{}",
                    products_of_group_[at], other.index_, other.products_of_group_[at]);
            }))
            return false;
    }
    return true;
}

void Warp::release_wgmma(Wait what, std::uint32_t count) {
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        Group& group = groups_[i];
        if (group.wait != what || group.what > count) continue;
        if (what == Wait::wgmma_fence)
            finish_fence();
        else
            finish_wgmma(group.what);
        group.wait = Wait::none;
        ++group.pc;
    }
}

void Warp::finish_wgmma(std::uint32_t groups) {
    wgmma_stage_ = false;
    if (notes_async_) {
        Checker& checker = *cta_->checker();
        checker.order.learn(number(), live_, true, checker.parties.warpgroup(cta_->rank(), index_), ~0u,
                            groups);
    }
    finish_registers(groups);
}

void Warp::finish_registers(std::uint32_t groups) {
    if (pending_wgmma_.empty() && pending_copies_.empty()) return;
    for (const PendingCopy& one : pending_copies_) one.frame->fragments[one.column].is_copy = false;
    std::erase_if(pending_copies_,
                  [&](const PendingCopy& one) { return one.of.group <= groups && one.spoiled_pc == no_pc; });
    mark_copies();
    const auto is_complete = [&](const PendingWgmma& one) { return one.group <= groups; };
    for (const PendingWgmma& one : pending_wgmma_) {
        if (!is_complete(one)) continue;
        for (Fragment& fragment : one.frame->fragments) fragment.accumulates = fragment.is_read = false;
    }
    std::erase_if(pending_wgmma_, is_complete);
    for (const PendingWgmma& one : pending_wgmma_) mark_fragments(one);
}

// --- the registers of products that are not known to be complete

void Warp::begin_fragments(Frame& frame) const {
    frame.fragments.clear();
    if (frame.function->fragments.empty()) return;
    frame.fragments.resize(frame.function->register_bytes / 32);
    for (const FragmentColumn& column : frame.function->fragments) {
        frame.fragments[column.index].is_fragment = true;
        frame.fragments[column.index].is_accumulator |= column.is_accumulator;
    }
}

void Warp::forget_wgmma(const Frame* frame) {
    std::erase_if(pending_wgmma_, [&](const PendingWgmma& one) { return one.frame == frame; });
    std::erase_if(pending_copies_, [&](const PendingCopy& one) { return one.frame == frame; });
}

void Warp::mark_fragments(const PendingWgmma& pending) {
    const Operation& operation = program_->code[pending.pc];
    const Ref* const refs = operands(operation);
    std::vector<Fragment>& fragments = pending.frame->fragments;
    for (unsigned i = 0; i < operation.outputs; ++i) fragments[index_of(refs[i])].accumulates = true;
    if (!program_->matrices[operation.extra].a_in_registers) return;
    for (unsigned i = 0; i < fragment_of_a; ++i)
        if (const Ref ref = refs[operation.outputs + i]; is_register(ref))
            fragments[index_of(ref)].is_read = true;
}

const PendingWgmma* Warp::user_of(Ref ref) const {
    const auto uses = [&](const PendingWgmma& one) {
        const Operation& operation = program_->code[one.pc];
        const Ref* const refs = operands(operation);
        const unsigned count =
            operation.outputs + (program_->matrices[operation.extra].a_in_registers ? fragment_of_a : 0);
        return one.frame == frame_ && std::any_of(refs, refs + count, [&](Ref used) { return used == ref; });
    };
    const auto found = std::find_if(pending_wgmma_.rbegin(), pending_wgmma_.rend(), uses);
    return found == pending_wgmma_.rend() ? nullptr : &*found;
}

// Of a launch that goes on the product is complete then, and those before it.
bool Warp::report_in_flight(Ref ref, std::string_view use) {
    const PendingWgmma* const found = user_of(ref);
    const PendingWgmma user = found != nullptr ? *found : PendingWgmma{pc_, frame_, wgmma_groups_};
    const bool goes_on = report({EmulatorCheck::async, Errc::register_in_flight, pc_, user.pc}, mask_, [&] {
        return fmt::format("{} of {}, {} of the wgmma.mma_async on line {}, {}", use, name_of(ref),
                           fragments_[index_of(ref)].accumulates ? "an accumulator" : "a fragment of A",
                           line_of(user.pc),
                           user.group <= wgmma_groups_ ? "for whose group no wgmma.wait_group has waited"
                                                       : "which no wgmma.commit_group has put into a group");
    });
    if (goes_on) finish_registers(user.group);
    return goes_on;
}

bool Warp::check_fragment(Ref ref, Use use, std::uint32_t mask) {
    if (fragments_ == nullptr || ref == no_ref || !is_register(ref)) return true;
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.is_copy && use == Use::read && !check_copy(ref, mask)) return false;
    if (fragment.is_copy && use == Use::write) forget_copies(index_of(ref), mask);
    if (use == Use::read ? !fragment.accumulates : !fragment.accumulates && !fragment.is_read) return true;
    return report_in_flight(ref, use == Use::read ? "read" : "write");
}

bool Warp::names_fragments(const Operation& operation) const {
    const Ref* const refs = operands(operation);
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
bool Warp::check_fragments(const Operation& operation, std::uint32_t mask) {
    if (operation.execute == execute_wgmma) return begin_wgmma(operation);
    const Ref* const refs = operands(operation);
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
        if (wgmma_stage_ && (use_of(i) == Use::read || is_move(operation) || !fragment.is_accumulator))
            continue;
        const bool is_known_write = fragment.is_written && fragment.fences == wgmma_fences_ + 1;
        if (!fragment.is_fragment || (use_of(i) == Use::read && is_known_write)) continue;
        fragment.is_written = use_of(i) == Use::write;
        fragment.fences = wgmma_fences_ + 1;
        fragment.pc = pc_;
    }
    return true;
}

// --- copies of accumulators in flight

// A mov carries over what is pending of its sources.
bool Warp::copy_fragments(const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = operands(operation);
    std::vector<PendingCopy> carried;
    for (unsigned i = operation.outputs; i < operation.outputs + operation.inputs; ++i) {
        if (!is_register(refs[i])) continue;
        const std::uint32_t column = index_of(refs[i]);
        if (fragments_[column].accumulates)
            if (const PendingWgmma* const user = user_of(refs[i]))
                carried.push_back({frame_, 0, column, mask, pc_, *user});
        if (!fragments_[column].is_copy) continue;
        for (const PendingCopy& one : pending_copies_)
            if (one.frame == frame_ && one.column == column && (one.lanes & mask) != 0)
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

void Warp::mark_copies() {
    for (const PendingCopy& one : pending_copies_) one.frame->fragments[one.column].is_copy = true;
}

void Warp::forget_copies(std::uint32_t column, std::uint32_t lanes) {
    const auto is_there = [&](const PendingCopy& one) { return one.frame == frame_ && one.column == column; };
    for (PendingCopy& one : pending_copies_)
        if (is_there(one)) one.lanes &= ~lanes;
    std::erase_if(pending_copies_, [&](const PendingCopy& one) { return one.lanes == 0; });
    fragments_[column].is_copy = std::ranges::any_of(pending_copies_, is_there);
}

// Another wgmma goes on with an accumulator: a copy that has not been waited for will be of that one.
void Warp::spoil_copies(Ref accumulator) {
    for (PendingCopy& one : pending_copies_)
        if (one.frame == frame_ && one.source == index_of(accumulator) && one.spoiled_pc == no_pc)
            one.spoiled_pc = pc_;
}

bool Warp::check_copy(Ref ref, std::uint32_t mask) {
    const auto found = std::ranges::find_if(pending_copies_, [&](const PendingCopy& one) {
        return one.frame == frame_ && one.column == index_of(ref) && (one.lanes & mask) != 0;
    });
    return found == pending_copies_.end() || report_copy(*found, ref);
}

bool Warp::report_copy(PendingCopy copy, Ref ref) {
    const bool goes_on = report({EmulatorCheck::async, Errc::register_in_flight, pc_, copy.pc}, mask_, [&] {
        const std::string made = fmt::format(
            "read of {}, which line {} copied from an accumulator of the wgmma.mma_async on line {}",
            name_of(ref), line_of(copy.pc), line_of(copy.of.pc));
        if (copy.spoiled_pc != no_pc)
            return fmt::format(
                "{} before a wgmma.wait_group, and with which the wgmma.mma_async on line {} has gone on",
                made, line_of(copy.spoiled_pc));
        return made + ", for whose group no wgmma.wait_group has waited";
    });
    if (goes_on) copy.spoiled_pc != no_pc ? forget_copies(copy.column, ~0u) : finish_registers(copy.of.group);
    return goes_on;
}

// --- wgmma.mma_async

// PTX ISA 9.7.15.7.1. What only reads a fragment of A changes nothing for a product that reads it too.
bool Warp::check_fenced(Ref ref, bool accumulates) {
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.fences != wgmma_fences_ + 1 || (!accumulates && !fragment.is_written)) return true;
    return report({EmulatorCheck::async, Errc::register_not_fenced, pc_, fragment.pc}, mask_, [&] {
        return fmt::format(
            "{} was {} on line {}, and no wgmma.fence comes between that and this wgmma.mma_async",
            name_of(ref), fragment.is_written ? "written" : "read", line_of(fragment.pc));
    });
}

// Only products of one shape may follow each other on the same accumulators.
bool Warp::check_accumulator(Ref ref, const Wgmma& wgmma) {
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.is_copy && !check_copy(ref, ~0u)) return false;
    if (fragment.is_read && !report_in_flight(ref, "write")) return false;
    if (fragment.accumulates) {
        const PendingWgmma* const user = user_of(ref);
        const Wgmma& other =
            user == nullptr ? wgmma : program_->matrices[program_->code[user->pc].extra].wgmma;
        const bool is_alike = other.n == wgmma.n && other.d == wgmma.d;
        if (!is_alike && !report_in_flight(ref, "use in another shape")) return false;
    }
    return check_fenced(ref, true);
}

bool Warp::begin_wgmma(const Operation& operation) {
    const MatrixInstruction& instruction = program_->matrices[operation.extra];
    const Ref* const refs = operands(operation);
    if (wgmma_fences_ == 0 && !report({EmulatorCheck::async, Errc::register_not_fenced, pc_}, mask_,
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
    const auto again = [&](const PendingWgmma& one) { return one.pc == pc_ && one.frame == frame_; };
    std::erase_if(pending_wgmma_, again);  // the later one is complete no sooner
    pending_wgmma_.push_back({pc_, frame_, wgmma_groups_ + 1});
    mark_fragments(pending_wgmma_.back());
    return true;
}

// --- shared memory

bool Warp::note_wgmma(const Operation& operation, const WgmmaOperands& operands) {
    ++products_;
    if (!tracks_written_ && !notes_async_) return true;
    Checker& checker = *cta_->checker();
    const Checker::WgmmaReads& reads =
        checker.wgmma_reads(program_->matrices[operation.extra].wgmma, operands);
    Located shared;
    describe(Space::shared, 0, 0, shared);
    if (notes_async_) {
        const unsigned warpgroup = checker.parties.warpgroup(cta_->rank(), index_);
        Clock known(checker.order.size());
        checker.order.release(number(), live_, true, known);
        checker.order.acquire(warpgroup, live_, true, known);
        for (const SharedRange& range : reads.ranges)
            if (!note_wgmma(range, shared, warpgroup)) return false;
    }
    if (!tracks_written_) return true;
    UndefinedOperands undefined;
    for (std::size_t i = 0; i < reads.ranges.size(); ++i)
        if (std::optional<Origin>& of = i < reads.of_a ? undefined.a : undefined.b; !of)
            of = first_undefined(reads.ranges[i], shared);
    const Ref* const sources = this->operands(operation) + operation.outputs;
    for (unsigned i = 0; operands.a != nullptr && i < fragment_of_a; ++i)
        if (!undefined.a && !is_written(sources[i])) undefined.a = origin_of(sources[i]);
    track_wgmma(operation, operands, undefined);
    return true;
}

// The first byte that nothing wrote.
std::optional<Origin> Warp::first_undefined(const SharedRange& range, const Located& shared) const {
    const std::uint8_t* const end = shared.written + range.end;
    const std::uint8_t* row = shared.written + range.begin;
    while (row != end && is_written_row(row)) row += row_bytes;
    row = std::find_if(row, end, [](std::uint8_t bits) { return bits != all_bits; });
    if (row == end) return std::nullopt;
    return origin_at(Space::shared, shared.begin + static_cast<std::uint64_t>(row - shared.written), 0);
}

bool Warp::note_wgmma(const SharedRange& range, const Located& shared, unsigned warpgroup) {
    if (!notes_async_) return true;
    Checker& checker = *cta_->checker();
    const Accessor by{epoch(warpgroup, index_ % 4, wgmma_groups_ + 1), warpgroup, index_ % 4};
    const std::uint64_t begin = shared.begin + range.begin, end = shared.begin + range.end;
    if (checker.shared_races.note(begin, end, AccessKind::read, by, pc_) &&
        !report_races(EmulatorCheck::async, checker.shared_races.found(), 0, shared, row_bytes,
                      AccessKind::read))
        return false;
    const auto unfenced =
        checker.shared_races.unknown_write(begin, end, checker.fenced, checker.parties.async_proxy());
    return !unfenced || report_unfenced(*unfenced, 0, "wgmma.mma_async");
}

}  // namespace ptxgraft::emulator
