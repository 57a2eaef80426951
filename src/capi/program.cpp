// Stack programs and random ones in C.

#include <fmt/format.h>

#include <cstring>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/stack_options.hpp"
#include "ptxgraft/expression.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

using stack::CodePlace, stack::PlacedConstant, stack::Program;

static_assert(PTXGRAFT_NO_PLACE == CodePlace::none);

std::uint64_t hash_of(const ptxgraft_machine* machine) {
    return machine != nullptr ? ptxgraft_machine_get_hash(machine) : stack::any_machine;
}

std::vector<ptxgraft_placed_constant> placed(const std::vector<PlacedConstant>& constants) {
    std::vector<ptxgraft_placed_constant> result;
    result.reserve(constants.size());
    for (const auto& [place, constant] : constants)
        result.push_back({constant.bits, constant.type, place.at, place.routine, 0});
    return result;
}

bool is_constant_at(const ptxgraft_program& program, const ptxgraft_machine& machine, CodePlace place) {
    const auto all = stack::constants_of(program.program, machine.machine);
    return std::any_of(all.begin(), all.end(), [&](const PlacedConstant& c) { return c.place == place; });
}

Expected<stack::ConstantSource> source_of(const ptxgraft_constant_source& given) {
    TRY(capi::check_enumerators({{"kind", given.kind, PTXGRAFT_SOURCE_KIND_bits}}));
    TRY(capi::check_list(given.values, given.value_count, "values", "value_count"));
    return stack::ConstantSource{.kind = static_cast<stack::ConstantSource::Kind>(given.kind),
                                 .weight = given.weight,
                                 .low = given.low,
                                 .high = given.high,
                                 .values = {given.values, given.values + given.value_count}};
}

Expected<stack::SamplerOptions> sampler_options(const ptxgraft_sampler_options* options) {
    const auto given = TRY(capi::options_of(options));
    TRY(capi::check_enumerators({{"shape", given.shape, PTXGRAFT_SHAPE_sequence}}));
    TRY(capi::check_list(given.weights, given.weight_count, "weights", "weight_count"));
    TRY(capi::check_list(given.sources, given.source_count, "sources", "source_count"));
    stack::SamplerOptions result;
    result.shape = static_cast<stack::ProgramShape>(given.shape);
    result.weights.assign(given.weights, given.weights + given.weight_count);
    result.constant_share = given.constant_share;
    result.shared = given.shared;
    result.words = given.words;
    if (given.sources == nullptr) return result;
    result.constants.clear();
    for (std::size_t i = 0; i < given.source_count; ++i) {
        auto source = source_of(given.sources[i]);
        if (!source) return capi::fail_at(i, fmt::format("sources[{}]: {}", i, *source.error().detail));
        result.constants.push_back(std::move(*source));
    }
    return result;
}

// Runs work(program, machine, options) of the C call's, null options being those of a search.
template <class Work>
ptxgraft_status with_program(const ptxgraft_program* program, const ptxgraft_machine* machine,
                             const ptxgraft_compile_options* options, const void* out, const char* out_name,
                             Work work) {
    return call({{out, out_name}, {program, "program"}, {machine, "machine"}}, [&]() -> Expected<void> {
        const auto how = TRY(capi::mutated_options(options));
        return work(program->program, machine->machine, how);
    });
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_program_create_from_text(ptxgraft_program** program, const ptxgraft_machine* machine,
                                                  const char* text, size_t size) {
    return call({{program, "program"}, {machine, "machine"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::text_at(text, size));
        return capi::give(program,
                          capi::with_source(stack::parse(given, machine->machine), given, "program"));
    });
}

ptxgraft_status ptxgraft_program_create_from_expression(ptxgraft_program** program,
                                                        const ptxgraft_machine* machine, const char* text,
                                                        size_t size, const ptxgraft_stub_options* options) {
    return call({{program, "program"}, {machine, "machine"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto how = TRY(capi::options_of(options));
        const auto given = TRY(capi::text_at(text, size));
        if (&machine->machine.set() != expression_set().get())
            return fail(
                Errc::argument_invalid,
                std::string("the machine's set is not \"expression\", which expressions are read for"));
        const ExpressionOptions expression = TRY(capi::expression_options(how));
        return capi::give(program, capi::with_source(parse_expression(given, machine->machine, expression),
                                                     given, "expression"));
    });
}

ptxgraft_status ptxgraft_program_create_from_bytes(ptxgraft_program** program,
                                                   const ptxgraft_machine* machine, const void* bytes,
                                                   size_t size) {
    return call({{program, "program"}, {bytes, "bytes"}}, [&] {
        const std::span all(static_cast<const std::byte*>(bytes), size);
        return capi::give(program, stack::program_from_bytes(all, hash_of(machine)));
    });
}

ptxgraft_status ptxgraft_program_create_from_code(ptxgraft_program** program,
                                                  const ptxgraft_instruction* code, size_t count,
                                                  const uint64_t* pool, size_t pool_count) {
    return call({{program, "program"}}, [&]() -> Expected<void> {
        TRY(capi::check_list(code, count, "code", "count"));
        TRY(capi::check_list(pool, pool_count, "pool", "pool_count"));
        Program made;
        made.code.resize(count);
        if (count != 0) std::memcpy(static_cast<void*>(made.code.data()), code, count * sizeof *code);
        made.pool.assign(pool, pool + pool_count);
        *program = new ptxgraft_program{std::move(made)};
        return {};
    });
}

ptxgraft_status ptxgraft_program_create_simplified(ptxgraft_program** program,
                                                   const ptxgraft_program* original,
                                                   const ptxgraft_machine* machine,
                                                   const ptxgraft_compile_options* options) {
    return call({{program, "program"}, {original, "original"}, {machine, "machine"}},
                [&]() -> Expected<void> {
                    const auto how = TRY(capi::mutated_options(options));
                    return capi::give(program, stack::simplify(original->program, machine->machine, how));
                });
}

void ptxgraft_program_destroy(ptxgraft_program* program) { delete program; }

ptxgraft_status ptxgraft_program_get_text(char* text, size_t* size, const ptxgraft_program* program,
                                          const ptxgraft_machine* machine) {
    return call({{size, "size"}, {program, "program"}, {machine, "machine"}}, [&] {
        return capi::give_text(text, size, stack::print(program->program, machine->machine));
    });
}

ptxgraft_status ptxgraft_program_get_bytes(void* bytes, size_t* size, const ptxgraft_program* program,
                                           const ptxgraft_machine* machine) {
    return call({{size, "size"}, {program, "program"}}, [&] {
        const auto all = stack::to_bytes(program->program, hash_of(machine));
        return capi::give_bytes(bytes, size, all.data(), all.size());
    });
}

ptxgraft_status ptxgraft_program_get_code(ptxgraft_instruction* code, size_t* count,
                                          const ptxgraft_program* program) {
    return call({{count, "count"}, {program, "program"}}, [&]() -> Expected<void> {
        const auto& all = program->program.code;
        const std::size_t capacity = std::exchange(*count, all.size());
        if (code == nullptr) return {};
        if (capacity < all.size()) return capi::too_few(all.size(), capacity);
        if (!all.empty()) std::memcpy(code, all.data(), all.size() * sizeof *code);
        return {};
    });
}

ptxgraft_status ptxgraft_program_get_pool(uint64_t* pool, size_t* count, const ptxgraft_program* program) {
    return call({{count, "count"}, {program, "program"}},
                [&] { return capi::give_list(pool, count, program->program.pool); });
}

size_t ptxgraft_program_get_instruction_count(const ptxgraft_program* program) {
    return get(program, "program", size_t{0},
               [](const ptxgraft_program& p) { return p.program.code.size(); });
}

size_t ptxgraft_program_get_routine_count(const ptxgraft_program* program) {
    return get(program, "program", size_t{0},
               [](const ptxgraft_program& p) { return p.program.routines.size(); });
}

ptxgraft_status ptxgraft_program_get_live_code(uint32_t* places, size_t* count,
                                               const ptxgraft_program* program,
                                               const ptxgraft_machine* machine,
                                               const ptxgraft_compile_options* options) {
    return with_program(program, machine, options, count, "count",
                        [&](const auto& p, const auto& m, const auto& how) -> Expected<void> {
                            const auto live = TRY(stack::live_code(p, m, how));
                            return capi::give_list(places, count, live);
                        });
}

ptxgraft_status ptxgraft_program_get_dataflow(ptxgraft_dataflow_info* info, const ptxgraft_program* program,
                                              const ptxgraft_machine* machine,
                                              const ptxgraft_compile_options* options) {
    return with_program(
        program, machine, options, info, "info",
        [&](const auto& p, const auto& m, auto how) -> Expected<void> {
            how.hash = true;
            thread_local stack::Compiler compiler;
            const auto compiled = TRY(compiler.compile(p, m, how));
            return capi::give_info(
                info, {sizeof(*info), compiled.hash, compiled.parts.structure, compiled.parts.constants});
        });
}

ptxgraft_status ptxgraft_program_get_constants(ptxgraft_placed_constant* constants, size_t* count,
                                               const ptxgraft_program* program,
                                               const ptxgraft_machine* machine) {
    return call({{count, "count"}, {program, "program"}, {machine, "machine"}}, [&] {
        const auto all = stack::constants_of(program->program, machine->machine);
        return capi::give_list(constants, count, placed(all));
    });
}

ptxgraft_status ptxgraft_program_get_data_constants(ptxgraft_placed_constant* constants, size_t* count,
                                                    const ptxgraft_program* program,
                                                    const ptxgraft_machine* machine,
                                                    const ptxgraft_compile_options* options) {
    return with_program(program, machine, options, count, "count",
                        [&](const auto& p, const auto& m, const auto& how) -> Expected<void> {
                            const auto all = TRY(stack::data_constants(p, m, how));
                            return capi::give_list(constants, count, placed(all));
                        });
}

ptxgraft_status ptxgraft_program_set_constant(ptxgraft_program* program, const ptxgraft_machine* machine,
                                              const ptxgraft_placed_constant* constant) {
    return call({{program, "program"}, {machine, "machine"}, {constant, "constant"}},
                [&]() -> Expected<void> {
                    const CodePlace place{constant->at, constant->routine};
                    if (!is_constant_at(*program, *machine, place))
                        return fail(Errc::argument_invalid,
                                    fmt::format("no constant stands at instruction {}", constant->at));
                    stack::set_constant(program->program, machine->machine, place, constant->bits);
                    return {};
                });
}

ptxgraft_status ptxgraft_stub_create_from_compiled(ptxgraft_stub** stub, const ptxgraft_program* program,
                                                   const ptxgraft_machine* machine,
                                                   const ptxgraft_compile_options* options) {
    return call({{stub, "stub"}, {program, "program"}, {machine, "machine"}}, [&]() -> Expected<void> {
        auto how = TRY(capi::strict_options(options));
        how.hash = true;
        return capi::give(stub, stack::make_stub(program->program, machine->machine, how));
    });
}

ptxgraft_status ptxgraft_sampler_create(ptxgraft_sampler** sampler, const ptxgraft_machine* machine,
                                        const ptxgraft_sampler_options* options) {
    return call({{sampler, "sampler"}, {machine, "machine"}}, [&]() -> Expected<void> {
        const auto how = TRY(sampler_options(options));
        return capi::give(sampler, stack::Sampler::make(machine->machine, how));
    });
}

void ptxgraft_sampler_destroy(ptxgraft_sampler* sampler) { delete sampler; }

ptxgraft_status ptxgraft_program_create_at_random(ptxgraft_program** program, const ptxgraft_sampler* sampler,
                                                  uint64_t seed, uint64_t stream, uint32_t live) {
    return call({{program, "program"}, {sampler, "sampler"}}, [&]() -> Expected<void> {
        stack::Random random(seed, stream);
        *program = new ptxgraft_program{sampler->sampler.program(random, live)};
        return {};
    });
}

}  // extern "C"
