#include "emulator/machine/warp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/cta.hpp"
#include "emulator/machine/emulated_access.hpp"
#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint32_t frame_alignment = 128;  // of the local memory of a call
constexpr std::size_t most_operands = 8;        // of a collective
constexpr std::size_t most_results = arithmetic::most_outputs + 1, most_sources = arithmetic::most_inputs + 1;

// Without a call where the processor is not asked for popcnt.
std::uint64_t lanes_of(std::uint32_t mask) {
    return mask == ~0u ? 32u : static_cast<std::uint64_t>(std::popcount(mask));
}

// Only bar.warp.sync orders what the lanes wrote.
RaceChecks::Collects collects(const CollectiveCall& call) {
    return call.function == sync_collective() ? RaceChecks::Collects::memory : RaceChecks::Collects::values;
}

}  // namespace

Warp::Warp(Cta& cta, const Launch& launch, std::uint32_t index)
    : cta_(&cta),
      launch_(&launch),
      program_(launch.program),
      index_(index),
      refs_(launch.program->refs.data()),
      specials_(launch.program->special_bytes / sizeof(ColumnBlock) + 1),
      scratch_(most_results * lane_count * 16 / sizeof(ColumnBlock)),
      host_bytes_(*launch.host_bytes),
      checks_(*this) {}

std::uint64_t Warp::begin() {
    const std::uint32_t first = index_ * 32, threads = cta_->threads();
    live_ = threads - first >= 32 ? ~std::uint32_t{0} : (1u << (threads - first)) - 1;
    started_ = live_;
    issued_ = thread_instructions_ = waits_ = paid_ = charged_ = 0;
    strong_ = 0;
    strong_limit_ = 64;
    group_count_ = 0;
    mask_ = 0;
    wgmma_groups_ = wgmma_fences_ = 0;
    checks_.begin();
    pieces_.clear();
    late_results_.clear();
    in_turn_ = false;
    free_frames_.clear();
    for (const auto& frame : frames_) free_frames_.push_back(frame.get());
    banks_ = {nullptr, const_cast<std::byte*>(program_->constants[0].bytes.data()),
              specials_[0].bytes.data()};
    fill_specials();
    Frame* frame = new_frame(*launch_->entry);
    frame->lanes = live_;
    reserve_local(launch_->entry->local_bytes);
    frame->local_top = launch_->entry->local_bytes;
    std::fill(local_.begin(), local_.end(), std::byte{0});
    if (checks_.tracks_written()) std::fill(local_written_.begin(), local_written_.end(), std::uint8_t{0});
    park({frame, launch_->entry->begin, live_});
    frame_ = frame;
    pc_ = launch_->entry->begin;
    return (local_.size() + local_written_.size() + launch_->entry->register_bytes) / bytes_of_unit;
}

// --- which lanes run

void Warp::park(const Group& group) {
    if (group.mask == 0) return;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        Group& other = groups_[i];
        if (other.frame == group.frame && other.pc == group.pc && other.wait == group.wait &&
            other.what == group.what) {
            other.mask |= group.mask;
            return;
        }
    }
    groups_[group_count_++] = group;
}

Group Warp::take(std::uint32_t at) {
    const Group group = groups_[at];
    groups_[at] = groups_[--group_count_];
    return group;
}

// The deepest frame and there the smallest program counter; or, in turn, the group that has not run for
// longest.
bool Warp::select() {
    std::uint32_t best = no_pc;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        const Group& group = groups_[i];
        if (group.wait != Wait::none) continue;
        if (best == no_pc) {
            best = i;
            continue;
        }
        const Group& other = groups_[best];
        const bool better = in_turn_ ? group.last_run < other.last_run
                            : group.frame->depth != other.frame->depth
                                ? group.frame->depth > other.frame->depth
                                : group.pc < other.pc;
        if (better) best = i;
    }
    mask_ = 0;
    if (best == no_pc) return false;
    const Group group = take(best);
    in_turn_ = in_turn_ && group_count_ != 0;
    run_at(group.frame, group.pc, group.mask);
    return true;
}

void Warp::run_at(Frame* frame, std::uint32_t pc, std::uint32_t mask) {
    frame_ = frame;
    banks_[0] = frame->columns();
    checks_.enter(*frame);
    pc_ = pc;
    mask_ = mask;
    update_next();
    if (pc_ >= next_pc_) reconverge();
}

void Warp::update_next() {
    next_pc_ = no_pc;
    if (in_turn_) return;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        if (groups_[i].wait == Wait::none && groups_[i].frame == frame_)
            next_pc_ = std::min(next_pc_, groups_[i].pc);
    }
}

// The running group has come to, or past, the place of another one of its frame.
bool Warp::reconverge() {
    if (pc_ > next_pc_) {
        park({frame_, pc_, mask_, Wait::none, 0, issued_});
        return select();
    }
    for (std::uint32_t i = 0; i < group_count_;) {
        if (groups_[i].wait == Wait::none && groups_[i].frame == frame_ && groups_[i].pc == pc_) {
            mask_ |= take(i).mask;
        } else {
            ++i;
        }
    }
    update_next();
    return true;
}

Warp::State Warp::run(std::uint64_t quantum, Pace& pace) {
    if (live_ == 0) return State::finished;
    if (!select()) return error_.code != Errc::ok ? State::failed : State::blocked;
    pace_ = &pace;
    turn_end_ = issued_ + quantum;
    pause_ = std::min(turn_end_, issued_ + pace.left());
    const std::uint64_t issued_before = issued_, threads_before = thread_instructions_;
    const State state = launch_->observer != nullptr ? run_selected<true>() : run_selected<false>();
    pace.count(issued_ - issued_before, thread_instructions_ - threads_before);
    return state == State::failed || pause() ? state : fail_ending();
}

// Tells the pace what was done. False: the launch has ended.
bool Warp::pause() {
    const bool goes_on = pace_->spend(issued_ - paid_ + std::exchange(charged_, 0));
    paid_ = issued_;
    pause_ = std::min(turn_end_, issued_ + pace_->left());
    return goes_on;
}

Warp::State Warp::fail_ending() {
    error_ = ending();
    return State::failed;
}

template <bool Observed> Warp::State Warp::run_selected() {
    const Operation* const code = program_->code.data();
    while (true) {
        const Operation& operation = code[pc_];
        const bool many = !Observed && operation.run != 0;
        switch (many ? run_many(operation) : Observed ? run_observed(operation) : run_one(operation)) {
            case Flow::next: ++pc_; break;
            case Flow::jump: break;
            case Flow::select:
                in_turn_ = false;
                if (!select()) return live_ == 0 ? State::finished : State::blocked;
                break;
            case Flow::yield:
                ++pc_;
                yield();
                return State::yielded;
            case Flow::fail: return State::failed;
        }
        if (pc_ >= next_pc_) reconverge();
        if (issued_ >= pause_) {
            if (!pause()) return fail_ending();
            if (issued_ < turn_end_) continue;
            yield();
            return State::yielded;
        }
    }
}

// The next turn is of another length: were all alike, a loop that takes a lock and gives it back could end
// each turn with the lock in its hands, and no other thread would ever get it.
void Warp::yield() {
    strong_ = 0;
    strong_limit_ = 32 + (strong_limit_ * 5 + 3) % 64;
    park({frame_, pc_, mask_, Wait::none, 0, issued_});
    in_turn_ = true;
}

Flow Warp::run_one(const Operation& operation) {
    std::uint32_t mask = mask_;
    if (operation.guard != no_ref) {
        const std::uint32_t is_set = predicate_mask(column(operation.guard));
        std::uint32_t holds = operation.guard_negated ? ~is_set : is_set;
        if (checks_.tracks_written() && !checks_.definedness().check_guard(operation, holds))
            return Flow::fail;
        mask = mask_ & holds;
    }
    if (!operation.is_part) {
        ++issued_;
        thread_instructions_ += lanes_of(mask);
    }
    if (mask == 0)
        return mask_ != 0 ? Flow::next : Flow::select;  // all have left where nobody knows where they go
    if (checks_.is_tracking() && !checks_.track(operation, operands(operation), *frame_, mask))
        return Flow::fail;
    if (operation.function == nullptr) {
        // functions of the host are not emulated
        [[maybe_unused]] const EmulatedAccess access(operation.execute != execute_call);
        return operation.execute(*this, operation, mask);
    }
    if (mask == frame_->lanes)
        run_pure(operation);
    else
        run_pure(operation, mask);
    return Flow::next;
}

// Executes an operation of a run by all lanes, or some in a row; how many.
inline std::size_t Warp::run_row(const Operation& operation) {
    if (operation.row == 0) {
        run_pure(operation);
        return 1;
    }
    program_->rows[operation.extra](banks_[0], operands(operation), offset_mask, operation.row);
    return operation.row;
}

// Pure operations in a row. When all lanes of the frame run, the others' registers are nobody's: nothing is
// masked.
Flow Warp::run_many(const Operation& first) {
    const Operation* const end = &first + first.run;
    const bool is_whole = mask_ == frame_->lanes;
    if (checks_.is_tracking() && !checks_.is_known(first, pc_, *frame_, mask_)) {
        const std::uint32_t begin = pc_, undefined = frame_->states.undefined;
        for (const Operation* operation = &first; operation != end; ++operation, ++pc_) {
            if (!checks_.track(*operation, operands(*operation), *frame_, mask_)) return Flow::fail;
            if (is_whole)
                run_pure(*operation);
            else
                run_pure(*operation, mask_);
        }
        if (undefined == frame_->states.undefined) frame_->states.run_of(first) = {begin, mask_, undefined};
    } else {
        if (is_whole) {
            for (const Operation* operation = &first; operation != end;) operation += run_row(*operation);
        } else {
            for (const Operation* operation = &first; operation != end; ++operation)
                run_pure(*operation, mask_);
        }
        pc_ += first.run;
    }
    issued_ += first.run_counted;
    thread_instructions_ += std::uint64_t{first.run_counted} * lanes_of(mask_);
    return Flow::jump;
}

// Most operations have one result and no more than three sources: for them no number is looked at, and what
// the arrays hold beyond it nobody reads.
inline void Warp::run_pure(const Operation& operation) {
    if (operation.is_large) return run_large(operation);
    const Ref* const ref = operands(operation);
    void* outputs[1];
    const void* inputs[3];
    outputs[0] = column(ref[0]);
    inputs[0] = column(ref[1]);
    inputs[1] = column(ref[2]);
    inputs[2] = column(ref[3]);
    operation.function(outputs, inputs, operation.elements);
}

void Warp::run_large(const Operation& operation) {
    const Ref* const ref = operands(operation);
    void* outputs[most_results];
    const void* inputs[most_sources];
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = column(ref[i]);
    for (unsigned i = 0; i < operation.inputs; ++i) inputs[i] = column(ref[operation.outputs + i]);
    operation.function(outputs, inputs, operation.elements);
}

void Warp::run_pure(const Operation& operation, std::uint32_t mask) {
    const Ref* const ref = operands(operation);
    void* outputs[most_results];
    const void* inputs[most_sources];
    std::byte* const scratch = scratch_[0].bytes.data();
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = scratch + std::size_t{i} * lane_count * 16;
    for (unsigned i = 0; i < operation.inputs; ++i) inputs[i] = column(ref[operation.outputs + i]);
    operation.function(outputs, inputs, operation.elements);
    for (unsigned i = 0; i < operation.outputs; ++i) blend(ref[i], static_cast<std::byte*>(outputs[i]), mask);
}

void Warp::blend(Ref ref, const std::byte* from, std::uint32_t mask) {
    launch_->lane_functions->blend[ref & width_mask](column(ref), from, mask);
}

Flow Warp::branch(std::uint32_t target, std::uint32_t mask) {
    const std::uint32_t stay = mask_ & ~mask;
    if (stay != 0) {
        const bool back = target <= pc_;
        park({frame_, back ? pc_ + 1 : target, back ? stay : mask, Wait::none, 0, issued_});
        mask_ = back ? mask : stay;
        pc_ = back ? target : pc_ + 1;
        update_next();
        return Flow::jump;
    }
    pc_ = target;
    return Flow::jump;
}

Flow Warp::branch_by_index(const std::vector<std::uint32_t>& targets, Ref index, std::uint32_t mask) {
    const std::uint32_t stay = mask_ & ~mask;
    const bool ok = each_lane(mask, [&](unsigned lane) {
        const auto at = static_cast<std::uint32_t>(value(index, lane));
        if (at < targets.size()) {
            park({frame_, targets[at], 1u << lane, Wait::none, 0, issued_});
            return true;
        }
        fail(Errc::branch_index_out_of_range, lane, fmt::format("{}, of {} targets", at, targets.size()));
        return false;
    });
    if (!ok) return Flow::fail;
    park({frame_, pc_ + 1, stay, Wait::none, 0, issued_});
    return Flow::select;
}

void Warp::leave(std::uint32_t mask, std::uint32_t pc) {
    park({frame_, pc, mask, Wait::none, 0, issued_});
    mask_ &= ~mask;
}

Flow Warp::moved_on() {
    leave(mask_, pc_ + 1);
    return Flow::select;
}

void Warp::wait(std::uint32_t mask, Wait wait, std::uint32_t what) {
    leave(mask_ & ~mask, pc_ + 1);
    park({frame_, pc_, mask, wait, what, issued_});
    mask_ = 0;
}

const Group* Warp::waits_elsewhere() const {
    const Group* const end = groups_.data() + group_count_;
    const Group* const found = std::find_if(groups_.data(), end, [this](const Group& group) {
        return group.wait == Wait::barrier && group.what != cluster_barrier && group.pc != pc_;
    });
    return found == end ? nullptr : found;
}

std::uint32_t Warp::release(std::uint32_t barrier, const Reductions& reductions) {
    std::uint32_t released = 0;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        Group& group = groups_[i];
        if (group.wait != Wait::barrier || group.what != barrier) continue;
        const Barrier& instruction = program_->barriers[program_->code[group.pc].extra];
        if (instruction.destination != no_ref) {
            const std::uint32_t result = instruction.kind == Barrier::Kind::popc   ? reductions.popc
                                         : instruction.kind == Barrier::Kind::and_ ? reductions.and_
                                                                                   : reductions.or_;
            std::byte* const destination = column_in(*group.frame, instruction.destination);
            each_lane(group.mask, [&](unsigned lane) {
                set_lane_value(destination, width(instruction.destination), lane, result);
                return true;
            });
        }
        cta_->pass_barrier(*this, barrier, group.mask);
        note_late(group.frame, group.pc, group.mask);
        released |= group.mask;
        group.wait = Wait::none;
        ++group.pc;
    }
    return released;
}

// --- wgmma

Flow Warp::fence_wgmma(std::uint32_t mask) {
    ++wgmma_fences_;
    checks_.warpgroup().note_fence();
    cta_->release_wgmma(*this, Wait::wgmma_fence);
    if (cta_->wgmma_count(*this, Wait::wgmma_fence) < wgmma_fences_) {
        wait(mask, Wait::wgmma_fence, wgmma_fences_);
        return Flow::select;
    }
    checks_.warpgroup().finish_fence();
    return Flow::next;
}

void Warp::commit_wgmma() {
    checks_.warpgroup().note_commit(++wgmma_groups_);
    cta_->release_wgmma(*this, Wait::wgmma_group);
}

Flow Warp::wait_wgmma(std::uint32_t mask, std::uint32_t pending) {
    const std::uint32_t groups = wgmma_groups_ > pending ? wgmma_groups_ - pending : 0;
    if (cta_->wgmma_count(*this, Wait::wgmma_group) < groups) {
        wait(mask, Wait::wgmma_group, groups);
        return Flow::select;
    }
    if (checks_.has(EmulatorCheck::barriers) && !checks_.warpgroup().check_products(groups))
        return Flow::fail;
    checks_.warpgroup().finish_groups(groups);
    return Flow::next;
}

void Warp::release_wgmma(Wait what, std::uint32_t count) {
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        Group& group = groups_[i];
        if (group.wait != what || group.what > count) continue;
        if (what == Wait::wgmma_fence)
            checks_.warpgroup().finish_fence();
        else
            checks_.warpgroup().finish_groups(group.what);
        group.wait = Wait::none;
        ++group.pc;
    }
}

// --- calls

Frame* Warp::new_frame(const Function& function) {
    const auto found = std::find_if(free_frames_.begin(), free_frames_.end(),
                                    [&](const Frame* frame) { return frame->function == &function; });
    Frame* frame;
    if (found != free_frames_.end()) {
        frame = *found;
        *found = free_frames_.back();
        free_frames_.pop_back();
        std::fill(frame->registers.begin(), frame->registers.end(), ColumnBlock{});
    } else {
        frame = frames_.emplace_back(std::make_unique<Frame>()).get();
        frame->function = &function;
        frame->registers.resize((function.register_bytes + sizeof(ColumnBlock) - 1) / sizeof(ColumnBlock));
        frame_bytes_ += function.register_bytes + sizeof(Frame);
        host_bytes_.take(function.register_bytes + sizeof(Frame));
    }
    checks_.begin_frame(*frame);
    frame->parent = nullptr;
    frame->call = nullptr;
    frame->local_base = frame->depth = 0;
    return frame;
}

Flow Warp::fail_host_bytes(unsigned lane) {
    return fail(Errc::out_of_device_memory, lane,
                fmt::format("the blocks that run take more than {} bytes of the host", most_host_bytes));
}

void Warp::free_frame(Frame* frame) {
    checks_.leave(*frame);
    free_frames_.push_back(frame);
}

Flow Warp::call(const Function& function, const Call& call, std::uint32_t mask) {
    constexpr std::uint32_t deepest = 4096;
    constexpr std::uint64_t most_frame_bytes = std::uint64_t{64} << 20;
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t base = (frame_->local_top + frame_alignment - 1) / frame_alignment * frame_alignment;
    const std::uint64_t top = std::uint64_t{base} + function.local_bytes;
    if (launch_->host_bytes->is_spent()) return fail_host_bytes(lane);
    if (frame_->depth + 1 >= deepest || frame_bytes_ > most_frame_bytes || !reserve_local(top)) {
        return fail(Errc::stack_overflow, lane,
                    fmt::format("call {} of {}", frame_->depth + 1, function.name));
    }
    Frame* frame = new_frame(function);
    frame->parent = frame_;
    frame->call = &call;
    frame->return_pc = pc_ + 1;
    frame->local_base = base;
    frame->local_top = static_cast<std::uint32_t>(top);
    frame->lanes = mask;
    frame->depth = frame_->depth + 1;
    each_lane(mask, [&](unsigned l) {
        if (function.local_bytes == 0) return false;
        std::fill_n(local(*frame, l, 0), function.local_bytes, std::byte{0});
        if (!checks_.tracks_written()) return true;
        std::fill_n(local_written(*frame, l, 0), function.local_bytes, std::uint8_t{0});
        cta_->checker()->stored.remove(Space::local, frame->local_base, number() * lane_count + l,
                                       function.local_bytes);
        return true;
    });
    for (std::size_t i = 0; i < function.parameters.size() && i < call.arguments.size(); ++i) {
        pass(call.arguments[i], *frame_, function.parameters[i], *frame, mask);
    }
    leave(mask_ & ~mask, pc_ + 1);
    run_at(frame, function.begin, mask);
    return Flow::jump;
}

std::byte* Warp::column_in(Frame& frame, Ref ref) {
    return is_register(ref) ? frame.columns() + offset(ref) : column(ref);
}

// Arguments and results are registers or bytes of the frames' local memory, on either side.
void Warp::pass(const Slot& from, Frame& source, const Slot& to, Frame& target, std::uint32_t mask) {
    const auto place = [&](const Slot& slot, Frame& frame, unsigned lane) {
        if (slot.reg == no_ref) return local(frame, lane, slot.offset);
        return column_in(frame, slot.reg) + std::size_t{lane} * width(slot.reg);
    };
    const auto room = [](const Slot& slot) { return slot.reg == no_ref ? slot.bytes : width(slot.reg); };
    const std::uint32_t bytes = std::min({from.bytes, to.bytes, room(from), room(to)});
    each_lane(mask, [&](unsigned lane) {
        std::byte* const target_bytes = place(to, target, lane);
        if (to.reg != no_ref) std::fill_n(target_bytes, width(to.reg), std::byte{0});
        std::copy_n(place(from, source, lane), bytes, target_bytes);
        if (checks_.tracks_written()) checks_.definedness().pass(from, source, to, target, lane, bytes);
        return true;
    });
}

void Warp::leave_frames(Frame* frame, std::uint32_t mask) {
    while (frame != nullptr) {
        Frame* parent = frame->parent;
        frame->lanes &= ~mask;
        if (frame->lanes == 0) free_frame(frame);
        frame = parent;
    }
}

Flow Warp::return_(std::uint32_t mask) {
    Frame* frame = frame_;
    if (frame->parent == nullptr) return exit(mask);
    const Call& call = *frame->call;
    for (std::size_t i = 0; i < frame->function->returns.size() && i < call.returns.size(); ++i) {
        pass(frame->function->returns[i], *frame, call.returns[i], *frame->parent, mask);
    }
    park({frame->parent, frame->return_pc, mask, Wait::none, 0, issued_});
    leave(mask_ & ~mask, pc_ + 1);
    frame->lanes &= ~mask;
    if (frame->lanes == 0) free_frame(frame);
    return Flow::select;
}

Flow Warp::exit(std::uint32_t mask) {
    leave(mask_ & ~mask, pc_ + 1);
    leave_frames(frame_, mask);
    live_ &= ~mask;
    if (live_ == 0) checks_.races().end();
    cta_->left(*this);
    for (std::uint32_t i = 0; i < group_count_;
         ++i) {  // member masks may be complete now: let them look again
        if (groups_[i].wait == Wait::members) groups_[i].wait = Wait::none;
    }
    return checks_.async().check_bulk_stores() ? Flow::select : Flow::fail;
}

// Those that wait for lanes of their own warp say more than those at a barrier, which wait for everybody.
const Group* Warp::waiting() const {
    const Group* const end = groups_.data() + group_count_;
    const Group* const found =
        std::find_if(groups_.data(), end, [](const Group& group) { return group.wait == Wait::members; });
    return found != end ? found : group_count_ == 0 ? nullptr : groups_.data();
}

// --- what lanes of a warp do together

Flow Warp::collective(const Operation& operation, const CollectiveCall& call, std::uint32_t mask) {
    std::uint32_t waiting = 0, left = mask;
    while (left != 0) {  // lanes with different member masks are different parties (tiles of a warp)
        std::uint32_t party = left, members = left;
        if (call.member_mask != no_ref) {
            if (!checks_.definedness().require(call.member_mask, left)) return Flow::fail;
            members = static_cast<std::uint32_t>(
                value(call.member_mask, static_cast<unsigned>(std::countr_zero(left))));
            party = 0;
            each_lane(left, [&](unsigned lane) {
                if (static_cast<std::uint32_t>(value(call.member_mask, lane)) == members) party |= 1u << lane;
                return true;
            });
            if ((party & ~members) != 0) {
                return fail(Errc::warp_mask_mismatch,
                            static_cast<unsigned>(std::countr_zero(party & ~members)),
                            fmt::format("{:#010x} lacks the executing lane", members));
            }
        }
        left &= ~party;
        if ((members & live_ & ~party) ==
            0) {  // PTX ISA 9.7.9.6 and 9.7.13: nobody waits for those that have exited
            run_collective(operation, call, party);
        } else if (!join_members(operation, call, party, members)) {
            park({frame_, pc_, party, Wait::members, members, issued_});
            waiting |= party;
        }
    }
    if (waiting == 0) return Flow::next;
    note_late(frame_, pc_, mask & ~waiting);
    park({frame_, pc_ + 1, mask_ & ~waiting, Wait::none, 0, issued_});
    return Flow::select;
}

void Warp::run_collective(const Operation& operation, const CollectiveCall& call, std::uint32_t mask) {
    std::array<void*, most_operands> outputs;
    std::array<const void*, most_operands> inputs;
    const Ref* ref = operands(operation);
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = column(*ref++);
    for (unsigned i = 0; i < operation.inputs; ++i) inputs[i] = column(*ref++);
    if (checks_.tracks_written() && call.moves)
        checks_.definedness().shuffle(operation, call, inputs.data(), mask);
    call.function(outputs.data(), inputs.data(), mask, call.extra);
    checks_.races().order_members(collects(call), mask);
}

// Other members may wait at another instruction of the same kind: values are gathered from, and results
// scattered to, the registers that each group's own instruction names.
bool Warp::join_members(const Operation& operation, const CollectiveCall& call, std::uint32_t mask,
                        std::uint32_t members) {
    std::uint32_t together = mask;
    const auto joins = [&](const Group& group) {
        if (group.wait != Wait::members || group.what != members) return false;
        const Operation& other = program_->code[group.pc];
        const CollectiveCall& theirs = program_->collectives[other.extra];
        return theirs.function == call.function && theirs.extra == call.extra &&
               other.outputs == operation.outputs;
    };
    for (std::uint32_t i = 0; i < group_count_; ++i) together |= joins(groups_[i]) ? groups_[i].mask : 0;
    if ((members & live_ & ~together) != 0) return false;

    struct alignas(64) Column {
        std::byte bytes[std::size_t{lane_count} * 8];
    };
    std::array<Column, most_operands> values = {};
    const LaneFunctions& functions = *launch_->lane_functions;
    const auto move = [&](const Operation& o, Frame& frame, std::uint32_t lanes, unsigned first,
                          unsigned last, bool out) {
        for (unsigned i = first; i < last; ++i) {
            const Ref ref = operands(o)[i];
            std::byte* const theirs = column_in(frame, ref);
            functions.blend[ref & width_mask](out ? theirs : values[i].bytes, out ? values[i].bytes : theirs,
                                              lanes);
            if (out && checks_.tracks_written() && is_register(ref))
                frame.states.written[offset(ref) / 32] |= lanes;
        }
    };
    const unsigned outputs = operation.outputs, all = outputs + operation.inputs;
    const auto everyone = [&](unsigned first, unsigned last, bool out) {
        move(operation, *frame_, mask, first, last, out);
        for (std::uint32_t i = 0; i < group_count_; ++i) {
            if (joins(groups_[i]))
                move(program_->code[groups_[i].pc], *groups_[i].frame, groups_[i].mask, first, last, out);
        }
    };
    everyone(outputs, all, false);
    std::array<void*, most_operands> destinations;
    std::array<const void*, most_operands> sources;
    for (unsigned i = 0; i < outputs; ++i) destinations[i] = values[i].bytes;
    for (unsigned i = outputs; i < all; ++i) sources[i - outputs] = values[i].bytes;
    call.function(destinations.data(), sources.data(), together, call.extra);
    checks_.races().order_members(collects(call), together);
    everyone(0, outputs, true);
    for (std::uint32_t i = 0; i < group_count_;) {
        Group& group = groups_[i];
        if (!joins(group)) {
            ++i;
            continue;
        }
        note_late(group.frame, group.pc, group.mask);
        group.wait = Wait::none;
        // also of lanes that run in turn: all go on together
        if (group.frame == frame_ && group.pc == pc_)
            mask_ |= take(i).mask;
        else
            ++groups_[i++].pc;
    }
    update_next();
    return true;
}

// --- errors

unsigned Warp::number() const { return cta_->rank() * cta_->warps() + index_; }

std::string Warp::place(unsigned lane) const {
    const Dim3& block = launch_->shape.block;
    const std::uint32_t thread = index_ * 32 + lane;
    const Dim3 position = cta_->position();
    return fmt::format("block ({}, {}, {}), thread ({}, {}, {})", position.x, position.y, position.z,
                       thread % block.x, thread / block.x % block.y, thread / block.x / block.y);
}

Error Warp::ending() const {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask_ != 0 ? mask_ : started_));
    return launch_->ending(program_->spans[std::min<std::size_t>(pc_, program_->spans.size() - 1)],
                           place(lane));
}

std::vector<Span> Warp::calls(const Frame* frame) const {
    std::vector<Span> spans;
    for (; frame != nullptr && frame->parent != nullptr; frame = frame->parent)
        spans.push_back(program_->spans[frame->return_pc - 1]);
    return spans;
}

Flow Warp::fail(Errc code, unsigned lane, const std::string& detail) {
    return fail({code, program_->spans[pc_], 0,
                 std::make_shared<const std::string>(fmt::format("{}, {}", detail, place(lane)))});
}

Flow Warp::fail(Error error) {
    error_ = std::move(error);
    return Flow::fail;
}

}  // namespace ptxgraft::emulator
