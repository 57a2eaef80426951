// wgmma (PTX ISA 9.7.15): products are computed at once here, each warp's own rows of them. A wgmma.fence tells that the
// warpgroup has written what its products read, so a warp lets the other warps come to the fence before it computes; and one
// that waits for a group lets them commit it first. What a checked launch keeps besides: which registers and which shared
// memory a product that nobody has waited for still uses, and which registers no wgmma.fence has ordered.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/cta.hpp"
#include "emulator/operations.hpp"
#include "emulator/warp.hpp"

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
    if (!checks_races_) return;
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
    if (is_checked_ && !check_warpgroup(groups)) return Flow::fail;
    finish_wgmma(groups);
    return Flow::next;
}

// PTX ISA 9.7.15.5.2, .aligned: all threads of the warpgroup execute the same wgmma.mma_async.
bool Warp::check_warpgroup(std::uint32_t groups) {
    for (const Warp& other : cta_->warpgroup(*this)) {
        const std::size_t kept = products_of_group_.size(), at = groups % kept;
        const bool is_kept = other.wgmma_groups_ - groups < kept && wgmma_groups_ - groups < kept;
        if (other.live_ == 0 || !is_kept || other.products_of_group_[at] == products_of_group_[at]) continue;
        fail(Errc::warp_not_whole, 0,
             fmt::format("up to this group the warp has executed {} wgmma.mma_async, and warp {} of the warpgroup {}",
                         products_of_group_[at], other.index_, other.products_of_group_[at]));
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
    if (!is_checked_) return;
    wgmma_stage_ = false;
    if (checks_races_) {
        Checker& checker = *cta_->checker();
        checker.order.learn(number(), live_, true, checker.parties.warpgroup(cta_->rank(), index_), ~0u, groups);
    }
    if (pending_wgmma_.empty()) return;
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

bool Warp::fail_in_flight(Ref ref, std::string_view use) {
    const PendingWgmma* const user = user_of(ref);
    const std::size_t line = line_of(user != nullptr ? user->pc : pc_);
    const bool is_committed = user == nullptr || user->group <= wgmma_groups_;
    fail(Errc::register_in_flight, 0,
         fmt::format("{} of {}, {} of the wgmma.mma_async on line {}, {}", use, name_of(ref),
                     fragments_[index_of(ref)].accumulates ? "an accumulator" : "a fragment of A", line,
                     is_committed ? "for whose group no wgmma.wait_group has waited"
                                  : "which no wgmma.commit_group has put into a group"));
    return false;
}

bool Warp::check_fragment(Ref ref, Use use) {
    if (fragments_ == nullptr || ref == no_ref || !is_register(ref)) return true;
    const Fragment& fragment = fragments_[index_of(ref)];
    if (use == Use::read ? !fragment.accumulates : !fragment.accumulates && !fragment.is_read) return true;
    return fail_in_flight(ref, use == Use::read ? "read" : "write");
}

bool Warp::names_fragments(const Operation& operation) const {
    const Ref* const refs = operands(operation);
    const unsigned count = unsigned{operation.outputs} + operation.inputs;
    for (unsigned i = 0; i < count; ++i)
        if (is_register(refs[i]) && fragments_[index_of(refs[i])].is_fragment) return true;
    return false;
}

// What an operation other than a wgmma touches is from then on to be fenced. Behind a wgmma.fence, until the
// next wait, compilers put moves to accumulators, and programs loads of the next fragment of A, for which
// ptxas waits: these are let pass.
bool Warp::check_fragments(const Operation& operation) {
    if (operation.execute == execute_wgmma) return begin_wgmma(operation);
    const Ref* const refs = operands(operation);
    const unsigned count = unsigned{operation.outputs} + operation.inputs;
    const auto use_of = [&](unsigned i) { return i < operation.outputs ? Use::write : Use::read; };
    for (unsigned i = 0; i < count; ++i) {
        if (!check_fragment(refs[i], use_of(i))) return false;
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

// --- wgmma.mma_async

// PTX ISA 9.7.15.7.1. What only reads a fragment of A changes nothing for a product that reads it too.
bool Warp::check_fenced(Ref ref, bool accumulates) {
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.fences != wgmma_fences_ + 1 || (!accumulates && !fragment.is_written)) return true;
    fail(Errc::register_not_fenced, 0,
         fmt::format("{} was {} on line {}, and no wgmma.fence comes between that and this wgmma.mma_async",
                     name_of(ref), fragment.is_written ? "written" : "read", line_of(fragment.pc)));
    return false;
}

// Only products of one shape may follow each other on the same accumulators.
bool Warp::check_accumulator(Ref ref, const Wgmma& wgmma) {
    const Fragment& fragment = fragments_[index_of(ref)];
    if (fragment.is_read) return fail_in_flight(ref, "write");
    if (fragment.accumulates) {
        const PendingWgmma* const user = user_of(ref);
        const Wgmma& other =
            user == nullptr ? wgmma : program_->matrices[program_->code[user->pc].extra].wgmma;
        if (other.n != wgmma.n || other.d != wgmma.d) return fail_in_flight(ref, "use in another shape");
    }
    return check_fenced(ref, true);
}

bool Warp::begin_wgmma(const Operation& operation) {
    const MatrixInstruction& instruction = program_->matrices[operation.extra];
    const Ref* const refs = operands(operation);
    if (wgmma_fences_ == 0) {
        fail(Errc::register_not_fenced, 0, "no wgmma.fence comes before the first wgmma.mma_async");
        return false;
    }
    for (unsigned i = 0; i < operation.outputs; ++i)
        if (!check_accumulator(refs[i], instruction.wgmma)) return false;
    for (unsigned i = 0; instruction.a_in_registers && i < fragment_of_a; ++i) {
        const Ref ref = refs[operation.outputs + i];
        if (!check_fragment(ref, Use::read) || (is_register(ref) && !check_fenced(ref, false))) return false;
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
    Checker& checker = *cta_->checker();
    const unsigned warpgroup = checker.parties.warpgroup(cta_->rank(), index_);
    Clock known(checker.order.size());
    checker.order.release(number(), live_, true, known);
    checker.order.acquire(warpgroup, live_, true, known);
    const Checker::WgmmaReads& reads = checker.wgmma_reads(program_->matrices[operation.extra].wgmma, operands);
    UndefinedOperands undefined;
    Located shared;
    describe(Space::shared, 0, 0, shared);
    for (std::size_t i = 0; i < reads.ranges.size(); ++i)
        if (!note_wgmma(reads.ranges[i], shared, warpgroup, i < reads.of_a ? undefined.a : undefined.b)) return false;
    const Ref* const sources = this->operands(operation) + operation.outputs;
    for (unsigned i = 0; operands.a != nullptr && i < fragment_of_a; ++i)
        if (!undefined.a && !is_written(sources[i])) undefined.a = origin_of(sources[i]);
    track_wgmma(operation, operands, undefined);
    return true;
}

// `undefined`: its first byte that nothing wrote.
bool Warp::note_wgmma(const SharedRange& range, const Located& shared, unsigned warpgroup, std::optional<Origin>& undefined) {
    if (!undefined) {
        const std::uint8_t* const end = shared.written + range.end;
        const std::uint8_t* row = shared.written + range.begin;
        while (row != end && is_written_row(row)) row += row_bytes;
        row = std::find_if(row, end, [](std::uint8_t bits) { return bits != all_bits; });
        if (row != end)
            undefined = origin_at(Space::shared, shared.begin + static_cast<std::uint64_t>(row - shared.written), 0);
    }
    Checker& checker = *cta_->checker();
    if (!checks_races_) return true;
    const Accessor by{epoch(warpgroup, index_ % 4, wgmma_groups_ + 1), warpgroup, index_ % 4};
    const std::uint64_t begin = shared.begin + range.begin, end = shared.begin + range.end;
    if (const auto race = checker.shared_races.note(begin, end, AccessKind::read, by, pc_)) {
        fail_race(*race, 0, shared, row_bytes, AccessKind::read);
        return false;
    }
    const auto unfenced = checker.shared_races.unknown_write(begin, end, checker.fenced, checker.parties.async_proxy());
    return !unfenced || fail_unfenced(*unfenced, 0, "wgmma.mma_async");
}

}  // namespace ptxgraft::emulator
