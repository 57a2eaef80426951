// The loop that runs the operations of a warp: straight runs of pure operations, and single ones.
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

constexpr std::size_t most_results = arithmetic::most_outputs + 1, most_sources = arithmetic::most_inputs + 1;

// Without a call where the processor is not asked for popcnt.
std::uint64_t lanes_of(std::uint32_t mask) {
    return mask == ~0u ? 32u : static_cast<std::uint64_t>(std::popcount(mask));
}

}  // namespace

Warp::Warp(Cta& cta, const Launch& launch, std::uint32_t index)
    : cta_(&cta),
      launch_(&launch),
      program_(launch.program),
      index_(index),
      refs_(launch.program->refs.data()),
      schedule_(*this),
      call_stack_(*this, *launch.host_bytes),
      memory_(*this, *launch.host_bytes),
      wgmma_(*this),
      checks_(*this),
      observation_(*this),
      specials_(launch.program->special_bytes / sizeof(ColumnBlock) + 1) {}

std::uint64_t Warp::begin() {
    const Function& entry = *launch_->entry;
    const std::uint32_t first = index_ * 32, threads = cta_->threads();
    started_ = threads - first >= 32 ? ~std::uint32_t{0} : (1u << (threads - first)) - 1;
    work_.begin();
    mbarrier_waits_.begin();
    wgmma_.begin();
    checks_.begin();
    observation_.begin();
    banks_ = {nullptr, const_cast<std::byte*>(program_->constants[0].bytes.data()),
              specials_[0].bytes.data()};
    fill_specials();
    schedule_.begin(call_stack_.begin(started_), entry.begin, started_);
    return (memory_.begin(entry.local_bytes) + entry.register_bytes) / Work::bytes_of_unit;
}

Warp::State Warp::run(std::uint64_t quantum, Pace& pace) {
    if (live() == 0) return State::finished;
    if (!schedule_.select()) return error_.code != Errc::ok ? State::failed : State::blocked;
    work_.begin_turn(quantum, pace);
    const std::uint64_t issued = work_.issued(), threads = work_.thread_instructions();
    const State state = observation_.is_on() ? run_selected<true>() : run_selected<false>();
    pace.count(work_.issued() - issued, work_.thread_instructions() - threads);
    return state == State::failed || work_.pause() ? state : fail_ending();
}

Warp::State Warp::fail_ending() {
    error_ = ending();
    return State::failed;
}

template <bool Observed> Warp::State Warp::run_selected() {
    const Operation* const code = program_->code.data();
    while (true) {
        const Operation& operation = code[pc()];
        const bool many = !Observed && operation.run != 0;
        switch (many ? run_many(operation) : Observed ? observation_.run(operation) : execute(operation)) {
            case Flow::next: schedule_.advance(); break;
            case Flow::jump: break;
            case Flow::select:
                schedule_.end_turn();
                if (!schedule_.select()) return live() == 0 ? State::finished : State::blocked;
                break;
            case Flow::yield: schedule_.advance(); return yield();
            case Flow::fail: return State::failed;
        }
        schedule_.reconverge_if_due();
        if (work_.is_due()) {
            if (!work_.pause()) return fail_ending();
            if (work_.is_turn_over()) return yield();
        }
    }
}

Warp::State Warp::yield() {
    work_.vary_turn();
    schedule_.yield();
    return State::yielded;
}

Flow Warp::execute(const Operation& operation) {
    std::uint32_t mask = schedule_.running();
    if (operation.guard != no_ref) {
        const std::uint32_t is_set = predicate_mask(column(operation.guard));
        std::uint32_t holds = operation.guard_negated ? ~is_set : is_set;
        if (checks_.tracks_written() && !checks_.definedness().check_guard(operation, holds))
            return Flow::fail;
        mask = schedule_.running() & holds;
    }
    if (!operation.is_micro_op) { work_.count(1, lanes_of(mask)); }
    if (mask == 0)
        return schedule_.running() != 0 ? Flow::next
                                        : Flow::select;  // all have left where nobody knows where they go
    if (checks_.is_tracking() && !checks_.track(operation, operands(operation), frame(), mask))
        return Flow::fail;
    if (operation.function == nullptr) {
        // functions of the host are not emulated
        [[maybe_unused]] const EmulatedAccess access(operation.execute != execute_call);
        return operation.execute(*this, operation, mask);
    }
    if (mask == frame().lanes)
        run_pure(operation);
    else
        run_pure(operation, mask);
    return Flow::next;
}

// Executes an operation of a straight run by all lanes, or several by one row function; how many.
inline std::size_t Warp::run_row(const Operation& operation) {
    if (operation.row == 0) {
        run_pure(operation);
        return 1;
    }
    program_->rows[operation.extra](banks_[0], operands(operation), offset_mask, operation.row);
    return operation.row;
}

// A straight run of pure operations. When all lanes of the frame run, the registers of the other lanes have
// no owner: nothing is masked.
Flow Warp::run_many(const Operation& first) {
    const Operation* const end = &first + first.run;
    const std::uint32_t mask = schedule_.running();
    Frame& frame = schedule_.frame();
    const bool is_whole = mask == frame.lanes;
    if (checks_.is_tracking() && !checks_.is_known(first, pc(), frame, mask)) {
        const std::uint32_t begin = pc(), undefined = frame.states.undefined;
        for (const Operation* operation = &first; operation != end; ++operation, schedule_.advance()) {
            if (!checks_.track(*operation, operands(*operation), frame, mask)) return Flow::fail;
            if (is_whole)
                run_pure(*operation);
            else
                run_pure(*operation, mask);
        }
        if (undefined == frame.states.undefined) frame.states.run_of(first) = {begin, mask, undefined};
    } else {
        if (is_whole) {
            for (const Operation* operation = &first; operation != end;) operation += run_row(*operation);
        } else {
            for (const Operation* operation = &first; operation != end; ++operation)
                run_pure(*operation, mask);
        }
        schedule_.advance(first.run);
    }
    work_.count(first.run_counted, lanes_of(mask));
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
    constexpr std::size_t column_bytes = std::size_t{lane_count} * 16;
    alignas(ColumnBlock) std::byte results[most_results * column_bytes];
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = results + i * column_bytes;
    for (unsigned i = 0; i < operation.inputs; ++i) inputs[i] = column(ref[operation.outputs + i]);
    operation.function(outputs, inputs, operation.elements);
    for (unsigned i = 0; i < operation.outputs; ++i) blend(ref[i], static_cast<std::byte*>(outputs[i]), mask);
}

void Warp::blend(Ref ref, const std::byte* from, std::uint32_t mask) {
    launch_->lane_functions->blend[ref & width_mask](column(ref), from, mask);
}

unsigned Warp::number() const { return cta_->rank() * cta_->warps() + index_; }

// --- errors

std::string Warp::place(unsigned lane) const {
    const Dim3& block = launch_->shape.block;
    const std::uint32_t thread = index_ * 32 + lane;
    const Dim3 position = cta_->position();
    return fmt::format("block ({}, {}, {}), thread ({}, {}, {})", position.x, position.y, position.z,
                       thread % block.x, thread / block.x % block.y, thread / block.x / block.y);
}

Error Warp::ending() const {
    const auto lane = first_lane(schedule_.running() != 0 ? schedule_.running() : started_);
    return launch_->ending(program_->spans[std::min<std::size_t>(pc(), program_->spans.size() - 1)],
                           place(lane));
}

Failed Warp::fail(Errc code, unsigned lane, const std::string& detail) {
    return fail({code, program_->spans[pc()], 0,
                 std::make_shared<const std::string>(fmt::format("{}, {}", detail, place(lane)))});
}

Failed Warp::fail(Error error) {
    error_ = std::move(error);
    return {};
}

}  // namespace ptxgraft::emulator
