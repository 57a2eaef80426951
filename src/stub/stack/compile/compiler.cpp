// compile: in one pass where the program allows it, else bound, run, emit, by way of a graph; all in the
// caller's arena.

#include "base/try.hpp"
#include "ptxgraft/stack.hpp"

#include <bit>
#include <new>

#include "stub/stack/compile/dead_code.hpp"
#include "stub/stack/compile/one_pass.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {
namespace {

tl::unexpected<Error> too_much(const Bound& bound, const Limits& limits) {
    if (bound.steps <= limits.steps)
        return fail(Errc::stack_limit_exceeded,
                    "the program may make more than " + std::to_string(most_nodes) + " values");
    return fail(Errc::stack_limit_exceeded, "the program executes more than " + std::to_string(limits.steps) +
                                                " instructions, routines and repeats counted each time");
}

Expected<Compiled> compile_in(ProgramView program, const Machine::Data& machine, const Bound& bound,
                              std::span<std::byte> memory, const CompileOptions& options) {
    Arena arena(memory);
    auto flow = TRY(run(program, machine, bound, options, arena));
    Compiled result;
    if (options.constants == Constants::data) flow.constants = arena.take<std::uint64_t>(bound.nodes + 1);
    if (options.hash) {
        const Hashes hashes = hashes_of(flow, machine, arena);
        result.hash = hashes.whole;
        result.parts = hashes.parts;
    }
    result.ptx = emit(flow, machine, arena, result.instruction_count);
    if (flow.constant_count > most_data_constants) return too_many_constants(flow.constant_count);
    result.constants = {flow.constants, flow.constant_count};
    result.skipped = flow.skipped;
    result.first_skipped = flow.first_skipped;
    result.leftover = flow.leftover;
    result.effects = static_cast<Effect>(flow.effects);
    return result;
}

// What a compile by way of a graph takes.
struct Needs {
    Bound bound;
    std::size_t bytes;
};
Expected<Needs> needs_of(ProgramView program, const Machine::Data& machine, const CompileOptions& options) {
    const Bound bound = bound_of(program, machine);
    if (passes(bound, options.limits)) return too_much(bound, options.limits);
    return Needs{bound, bytes_of(bound, program, machine, options)};
}
tl::unexpected<Error> too_small(const Needs& needs, std::span<std::byte> arena) {
    return fail(Errc::arena_too_small, std::to_string(needs.bytes) + " bytes are enough, but it has " +
                                           std::to_string(arena.size()));
}

tl::unexpected<Error> no_memory(const Needs& needs) {
    return fail(Errc::stack_limit_exceeded, "the program may need " + std::to_string(needs.bytes) +
                                                " bytes of memory, which are not there");
}

// Without a graph, where the program allows it.
template <class Room>
bool compile_fast(ProgramView program, const Machine::Data& machine, const CompileOptions& options, Room room,
                  Compiled& result) {
    if (may_be_one_pass(program, machine, options)) {
        const std::span<std::byte> memory = room(one_pass_bytes(program.code.size(), machine));
        if (memory.empty()) return false;
        if (Arena arena(memory); compile_in_one_pass(program.code, machine, options, arena, result))
            return true;
    }
    if (!may_eliminate_dead_code(program, machine, options)) return false;
    const std::span<std::byte> memory = room(live_code_bytes(program.code.size(), machine));
    if (memory.empty()) return false;
    Arena arena(memory);
    LiveCode live;
    if (!eliminate_dead_code(live, program.code, machine, options, arena) ||
        !compile_in_one_pass(live.code, machine, {}, arena, result))
        return false;
    result.skipped = live.skipped;
    result.first_skipped = live.first_skipped;
    result.leftover = live.leftover;
    return true;
}

}  // namespace

tl::unexpected<Error> too_many_constants(std::uint32_t count) {
    return fail(Errc::stack_limit_exceeded, std::to_string(count) + " constants are data; a bank holds " +
                                                std::to_string(most_data_constants));
}

Expected<Compiled> compile(ProgramView program, const Machine& machine, std::span<std::byte> arena,
                           const CompileOptions& options) {
    const Machine::Data& data = MachineData::of(machine);
    const auto needs = TRY(needs_of(program, data, options));
    if (arena.size() < needs.bytes) return too_small(needs, arena);
    Compiled result;
    if (compile_fast(
            program, data, options, [arena](std::size_t) { return arena; }, result))
        return result;
    return compile_in(program, data, needs.bound, arena, options);
}

Expected<Compiled> compile_by_graph(ProgramView program, const Machine& machine, std::span<std::byte> arena,
                                    const CompileOptions& options) {
    const Machine::Data& data = MachineData::of(machine);
    const auto needs = TRY(needs_of(program, data, options));
    if (arena.size() < needs.bytes) return too_small(needs, arena);
    return compile_in(program, data, needs.bound, arena, options);
}

std::size_t arena_bound(ProgramView program, const Machine& machine, const CompileOptions& options) {
    const auto needs = needs_of(program, MachineData::of(machine), options);
    return needs ? needs->bytes : 64;  // compile says what is wrong and needs no more
}

// Empty where there is not so much.
std::span<std::byte> Compiler::room(std::size_t needed) {
    if (needed > size_) {
        size_ = 0;
        arena_.reset();
        arena_.reset(new (std::nothrow) std::byte[std::bit_ceil(needed)]);
        if (arena_ == nullptr) return {};
        size_ = std::bit_ceil(needed);
    }
    return {arena_.get(), size_};
}

Expected<Compiled> Compiler::compile(ProgramView program, const Machine& machine,
                                     const CompileOptions& options) {
    const Machine::Data& data = MachineData::of(machine);
    Expected<Compiled> result(tl::in_place);
    const auto any_room = [this](std::size_t bytes) { return room(bytes); };
    if (compile_fast(program, data, options, any_room, *result)) return result;
    const auto needs = TRY(needs_of(program, data, options));
    const std::span<std::byte> memory = room(needs.bytes);
    if (memory.empty()) return no_memory(needs);
    return compile_in(program, data, needs.bound, memory, options);
}

Expected<Graph> make_graph(ProgramView program, const Machine& machine, GrowingMemory& memory,
                           const CompileOptions& options) {
    const Machine::Data& data = MachineData::of(machine);
    const auto needs = TRY(needs_of(program, data, options));
    const std::span<std::byte> room = memory.room(needs.bytes);
    if (room.empty()) return no_memory(needs);
    Arena arena(room);
    auto flow = TRY(run(program, data, needs.bound, options, arena));
    return flow.graph;
}

namespace {

Expected<Compiled> compile_for_hash(ProgramView program, const Machine& machine, CompileOptions options) {
    options.hash = true;
    Compiler compiler;
    auto compiled = TRY(compiler.compile(program, machine, options));
    compiled.ptx = {};  // it stood in the compiler's arena
    compiled.constants = {};
    return compiled;
}

// The same from the dataflow alone: no PTX is written. Constants that are data are counted where it is.
template <class Hash>
auto hash_alone(ProgramView program, const Machine& machine, CompileOptions options, Hash hash)
    -> Expected<decltype(hash(std::declval<Dataflow&>(), std::declval<Arena&>()))> {
    thread_local GrowingMemory memory;  // what the last program took
    options.hash = true;
    const Machine::Data& data = MachineData::of(machine);
    const auto needs = TRY(needs_of(program, data, options));
    const std::span<std::byte> room = memory.room(needs.bytes);
    if (room.empty()) return no_memory(needs);
    Arena arena(room);
    auto flow = TRY(run(program, data, needs.bound, options, arena));
    return hash(flow, arena);
}

}  // namespace

Expected<std::uint64_t> dataflow_hash(ProgramView program, const Machine& machine,
                                      const CompileOptions& options) {
    if (options.constants == Constants::literals)
        return hash_alone(program, machine, options, [&](Dataflow& flow, Arena& arena) {
            return hashes_of(flow, MachineData::of(machine), arena).whole;
        });
    const auto compiled = TRY(compile_for_hash(program, machine, options));
    return compiled.hash;
}

Expected<DataflowParts> dataflow_parts(ProgramView program, const Machine& machine,
                                       const CompileOptions& options) {
    if (options.constants == Constants::literals)
        return hash_alone(program, machine, options, [&](Dataflow& flow, Arena& arena) {
            return parts_of(flow, MachineData::of(machine), arena);
        });
    const auto compiled = TRY(compile_for_hash(program, machine, options));
    return compiled.parts;
}

}  // namespace ptxgraft::stack
