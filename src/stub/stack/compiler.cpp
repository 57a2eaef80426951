// compile: bound, run, emit, all in the caller's arena.

#include "ptxgraft/stack.hpp"

#include <bit>

#include "stub/stack/run.hpp"

namespace ptxgraft::stack {
namespace {

tl::unexpected<Error> too_many_steps(const Limits& limits) {
    return fail(Errc::stack_limit, "the program executes more than " + std::to_string(limits.steps) + " instructions, routines and repeats counted each time");
}

Expected<Compiled> compile_in(ProgramView program, const Machine::Data& machine, const Bound& bound, std::span<std::byte> memory,
                              const CompileOptions& options) {
    Arena arena(memory);
    auto flow = run(program, machine, bound, options, arena);
    if (!flow) return tl::unexpected(flow.error());
    Compiled result;
    if (options.hash) result.hash = hash_of(*flow, machine, arena);
    result.ptx = emit(*flow, machine, arena, result.instruction_count);
    result.skipped = flow->skipped;
    result.first_skipped = flow->first_skipped;
    result.leftover = flow->leftover;
    result.effects = static_cast<Effect>(flow->effects);
    return result;
}

}  // namespace

Expected<Compiled> compile(ProgramView program, const Machine& machine, std::span<std::byte> arena, const CompileOptions& options) {
    const Machine::Data& data = machine.data();
    const Bound bound = bound_of(program, data);
    if (bound.steps > options.limits.steps) return too_many_steps(options.limits);
    const std::size_t needed = bytes_of(bound, program, data, options);
    if (arena.size() < needed) return fail(Errc::arena_too_small, std::to_string(needed) + " bytes are enough, but it has " + std::to_string(arena.size()));
    return compile_in(program, data, bound, arena, options);
}

Expected<Compiled> Compiler::compile(ProgramView program, const Machine& machine, const CompileOptions& options) {
    const Machine::Data& data = machine.data();
    const Bound bound = bound_of(program, data);
    if (bound.steps > options.limits.steps) return too_many_steps(options.limits);
    const std::size_t needed = bytes_of(bound, program, data, options);
    if (needed > size_) {
        size_ = 0;
        arena_.reset();
        arena_ = std::make_unique_for_overwrite<std::byte[]>(std::bit_ceil(needed));
        size_ = std::bit_ceil(needed);
    }
    return compile_in(program, data, bound, {arena_.get(), size_}, options);
}

Expected<Graph> make_graph(ProgramView program, const Machine& machine, std::span<std::byte> memory, const CompileOptions& options) {
    const Machine::Data& data = machine.data();
    const Bound bound = bound_of(program, data);
    if (bound.steps > options.limits.steps) return too_many_steps(options.limits);
    Arena arena(memory);
    auto flow = run(program, data, bound, options, arena);
    if (!flow) return tl::unexpected(flow.error());
    return flow->graph;
}

Expected<std::uint64_t> dataflow_hash(ProgramView program, const Machine& machine, const CompileOptions& options) {
    CompileOptions with_hash = options;
    with_hash.hash = true;
    Compiler compiler;
    const auto compiled = compiler.compile(program, machine, with_hash);
    if (!compiled) return tl::unexpected(compiled.error());
    return compiled->hash;
}

}  // namespace ptxgraft::stack
