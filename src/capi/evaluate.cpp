// Programs on the CPU in C.

#include <fmt/format.h>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/stack_options.hpp"
#include "ptxgraft/accuracy.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

static_assert(PTXGRAFT_APPROXIMATION_hashed == int(stack::Approximation::hashed));
static_assert(PTXGRAFT_MEASURE_ulp == int(stack::ErrorMeasure::ulp));

// What the columns are of.
std::vector<ptxgraft_evaluator::Register> registers_of(const ptxgraft_machine& machine) {
    std::vector<ptxgraft_evaluator::Register> result;
    for (const auto& [operand, element] : machine.registers)
        result.push_back({operand->direction != Direction::out, operand->direction != Direction::in});
    return result;
}

Expected<void> prepare(ptxgraft_evaluator& evaluator, const ptxgraft_program& program,
                       const ptxgraft_machine& machine, const ptxgraft_compile_options* options) {
    const auto how = TRY(capi::mutated_options(options));
    evaluator.is_prepared = false;
    TRY(evaluator.evaluator.prepare(program.program, machine.machine, how));
    evaluator.registers = registers_of(machine);
    evaluator.is_prepared = true;
    return {};
}

// Every column that is read or written is there.
Expected<void> check_columns(const ptxgraft_evaluator& evaluator, const ptxgraft_columns& given) {
    TRY(capi::check_enumerators({{"approximation", given.approximation, PTXGRAFT_APPROXIMATION_hashed}}));
    const auto& registers = evaluator.registers;
    if (!evaluator.is_prepared)
        return fail(Errc::argument_invalid, std::string("evaluator has no program: its preparation failed"));
    if (given.register_count != registers.size())
        return fail(Errc::argument_invalid, fmt::format("register_count is {}; the signature has {}",
                                                        given.register_count, registers.size()));
    if (registers.empty()) return {};
    TRY(capi::check_required({{given.inputs, "inputs"}, {given.outputs, "outputs"}}));
    if (given.count == 0) return {};
    for (std::size_t i = 0; i < registers.size(); ++i) {
        if (registers[i].is_read && given.inputs[i] == nullptr)
            return capi::fail_at(i, fmt::format("inputs[{}] is null", i));
        if (registers[i].is_written && given.outputs[i] == nullptr)
            return capi::fail_at(i, fmt::format("outputs[{}] is null", i));
    }
    return {};
}

Expected<std::vector<stack::InputRange>> ranges_of(const ptxgraft_error_options& given) {
    TRY(capi::check_list(given.ranges, given.range_count, "ranges", "range_count"));
    std::vector<stack::InputRange> ranges;
    for (std::size_t i = 0; i < given.range_count; ++i) {
        const auto [first, last] = given.ranges[i];
        if (first > last)
            return capi::fail_at(i, fmt::format("ranges[{}] ends at {} and begins at {}", i, last, first));
        ranges.push_back({first, last});
    }
    return ranges;
}

Expected<stack::ErrorOptions> error_options(const ptxgraft_error_options& given) {
    TRY(capi::check_enumerators({{"measure", given.measure, PTXGRAFT_MEASURE_ulp}}));
    stack::ErrorOptions result;
    result.compile = TRY(capi::mutated_options(given.compile));
    result.ranges = TRY(ranges_of(given));
    result.measure = static_cast<stack::ErrorMeasure>(given.measure);
    result.floor = given.floor;
    if (given.exact_only != 0) result.runs = {{}};
    if (given.stop_above != 0) result.stop_above = given.stop_above;
    result.threads = given.threads;
    return result;
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_evaluator_create(ptxgraft_evaluator** evaluator, const ptxgraft_program* program,
                                          const ptxgraft_machine* machine,
                                          const ptxgraft_compile_options* options) {
    return call({{evaluator, "evaluator"}, {program, "program"}, {machine, "machine"}},
                [&]() -> Expected<void> {
                    auto made = std::make_unique<ptxgraft_evaluator>();
                    TRY(prepare(*made, *program, *machine, options));
                    *evaluator = made.release();
                    return {};
                });
}

ptxgraft_status ptxgraft_evaluator_prepare(ptxgraft_evaluator* evaluator, const ptxgraft_program* program,
                                           const ptxgraft_machine* machine,
                                           const ptxgraft_compile_options* options) {
    return call({{evaluator, "evaluator"}, {program, "program"}, {machine, "machine"}},
                [&] { return prepare(*evaluator, *program, *machine, options); });
}

void ptxgraft_evaluator_destroy(ptxgraft_evaluator* evaluator) { delete evaluator; }

ptxgraft_status ptxgraft_evaluator_run(const ptxgraft_evaluator* evaluator, const ptxgraft_columns* columns) {
    return call({{evaluator, "evaluator"}, {columns, "columns"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(columns));
        TRY(check_columns(*evaluator, given));
        evaluator->evaluator.run(
            {{given.inputs, given.register_count}, {given.outputs, given.register_count}, given.count},
            {static_cast<stack::Approximation>(given.approximation), given.seed});
        return {};
    });
}

ptxgraft_status ptxgraft_evaluator_get_constants(uint64_t* constants, size_t* count,
                                                 const ptxgraft_evaluator* evaluator) {
    return call({{count, "count"}, {evaluator, "evaluator"}},
                [&] { return capi::give_list(constants, count, evaluator->evaluator.constants()); });
}

ptxgraft_status ptxgraft_evaluator_set_constants(ptxgraft_evaluator* evaluator, const uint64_t* constants,
                                                 size_t count) {
    return call({{evaluator, "evaluator"}}, [&]() -> Expected<void> {
        TRY(capi::check_list(constants, count, "constants", "count"));
        return evaluator->evaluator.set_constants({constants, count});
    });
}

uint32_t ptxgraft_evaluator_get_instruction_count(const ptxgraft_evaluator* evaluator) {
    return get(evaluator, "evaluator", uint32_t{0},
               [](const ptxgraft_evaluator& e) { return e.evaluator.instruction_count(); });
}

uint32_t ptxgraft_evaluator_get_approximate(const ptxgraft_evaluator* evaluator) {
    return get(evaluator, "evaluator", uint32_t{0},
               [](const ptxgraft_evaluator& e) { return uint32_t{e.evaluator.is_approximate()}; });
}

ptxgraft_status ptxgraft_program_get_largest_error(ptxgraft_error_info* info, const ptxgraft_program* program,
                                                   const ptxgraft_machine* machine,
                                                   const ptxgraft_error_options* options) {
    const auto body = [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        TRY(capi::check_info(info));
        if (given.reference == nullptr) return fail(Errc::argument_invalid, std::string("reference is null"));
        const auto how = TRY(error_options(given));
        const auto reference = [&](std::span<const double> inputs, std::span<double> expected) {
            given.reference(inputs.data(), expected.data(), inputs.size(), given.payload);
        };
        const auto found = TRY(stack::largest_error(program->program, machine->machine, reference, how));
        return capi::give_info(
            info, {sizeof(*info), found.error, found.expected, found.result, found.input, found.inputs,
                   found.run.seed, static_cast<ptxgraft_approximation>(found.run.approximation),
                   found.is_complete});
    };
    return call({{info, "info"}, {program, "program"}, {machine, "machine"}, {options, "options"}}, body);
}

ptxgraft_status ptxgraft_input_get_ranges(ptxgraft_input_range* ranges, size_t* count, ptxgraft_type type,
                                          double low, double high) {
    return call({{count, "count"}}, [&]() -> Expected<void> {
        TRY(capi::check_enumerators({{"type", type, PTXGRAFT_TYPE_f64}}));
        const auto all = stack::inputs_between(static_cast<Type>(type), low, high);
        const std::size_t capacity = std::exchange(*count, all.size());
        if (ranges == nullptr) return {};
        if (capacity < all.size()) return capi::too_few(all.size(), capacity);
        for (const auto& [first, last] : all) *ranges++ = {first, last};
        return {};
    });
}

ptxgraft_status ptxgraft_program_find_difference(ptxgraft_difference_info* info,
                                                 const ptxgraft_program* program,
                                                 const ptxgraft_program* reference,
                                                 const ptxgraft_machine* machine,
                                                 const ptxgraft_error_options* options) {
    const auto body = [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        stack::DifferenceOptions how;
        how.compile = TRY(capi::mutated_options(given.compile));
        how.ranges = TRY(ranges_of(given));
        how.threads = given.threads;
        const auto found =
            TRY(stack::find_difference(program->program, reference->program, machine->machine, how));
        const stack::Difference d = found.value_or(stack::Difference());
        return capi::give_info(info, {sizeof(*info), found.has_value(), static_cast<std::uint32_t>(d.output),
                                      d.input, d.expected, d.result});
    };
    return call({{info, "info"}, {program, "program"}, {reference, "reference"}, {machine, "machine"}}, body);
}

}  // extern "C"
