// check TASK.json PROGRAM [LOW HIGH]: whether a program that a search has found is right where the task's
// points are not. Of one integer on all 2^32 inputs, bit for bit; of several on 2^26 random points; of one
// float the largest error over all floats from LOW to HIGH, or all there are, with approximate results at the
// worst that PTX allows. PROGRAM is a file, or - for standard input; lines that begin with # do not count.

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "ptxgraft/accuracy.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search_task.hpp"

using namespace ptxgraft;

namespace {

template <class T> T need(Expected<T> made, std::string_view text = {}) {
    if (made) return std::move(*made);
    std::fprintf(stderr, "%s\n", describe(made.error(), text).c_str());
    std::exit(1);
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::istream& in = path == "-" ? std::cin : file;
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string without_comments(const std::string& text) {
    std::istringstream lines(text);
    std::string kept, line;
    while (std::getline(lines, line))
        if (!line.starts_with('#')) kept += line + '\n';
    return kept;
}

bool is_float(Type type) { return type == Type::f32 || type == Type::f16 || type == Type::bf16; }

// The reference over operands that are f64 where those of the task are floats, as the task has it.
struct Right {
    stack::Machine machine;
    stack::Program program;
};
Right right_of(const search::Task& task) {
    Signature wide = task.space.sites[0].machine.signature();
    for (SiteOperand& operand : wide.operands)
        if (is_float(operand.type)) operand.type = Type::f64;
    stack::Machine machine = need(stack::Machine::make(expression_set(), wide));
    stack::Program program = need(parse_expression(task.reference, machine), task.reference);
    return {std::move(machine), std::move(program)};
}

int check_float(const search::Task& task, const stack::Program& program, const stack::Machine& machine,
                std::vector<stack::InputRange> ranges) {
    const Right right = right_of(task);
    const auto evaluator = need(stack::Evaluator::make(right.program, right.machine));
    const bool is_mod = machine.signature().operands.size() == 1;  // the operand that is read is written
    const stack::Reference reference = [&](std::span<const double> x, std::span<double> y) {
        const void* const in[] = {x.data(), nullptr};
        void* const out[] = {is_mod ? y.data() : nullptr, y.data()};
        evaluator.run({in, out, x.size()});
    };
    using enum stack::ErrorMeasure;
    const auto measure = task.cases.measure == search::Measure::relative ? relative
                         : task.cases.measure == search::Measure::ulp    ? ulp
                                                                         : absolute;
    stack::ErrorOptions options{
        .compile = search::program_options, .ranges = std::move(ranges), .measure = measure};
    if (!task.columns.perturb) options.runs = {{}};
    const auto found = need(stack::largest_error(program, machine, reference, options));
    std::printf("largest error %.6g at bits 0x%08llX, of %llu inputs\n", found.error,
                static_cast<unsigned long long>(found.input), static_cast<unsigned long long>(found.inputs));
    return 0;
}

// Both in the set of all instructions: then one machine has them.
int check_words(const search::Task& task, const stack::Program& program, const stack::Machine& machine,
                const std::vector<stack::InputRange>& ranges) {
    const Right right = right_of(task);
    const auto all = need(stack::Machine::make(stack::find_set("standard"), machine.signature()));
    const std::string one = stack::print(program, machine),
                      other = stack::print(right.program, right.machine);
    const auto difference =
        need(stack::find_difference(need(stack::parse(one, all), one), need(stack::parse(other, all), other),
                                    all, {.compile = search::program_options, .ranges = ranges}));
    if (!difference)
        return std::puts(ranges.empty() ? "right on all inputs" : "right on all of the range"), 0;
    std::printf("input 0x%llX gives 0x%llX, not 0x%llX\n", static_cast<unsigned long long>(difference->input),
                static_cast<unsigned long long>(difference->result),
                static_cast<unsigned long long>(difference->expected));
    return 1;
}

// Of all magnitudes; now and then one input is another one's value, or near it.
int check_random(const search::Task& task, const stack::Program& program, const stack::Machine& machine) {
    constexpr std::size_t points = 1 << 16, rounds = 1 << 10;
    const Right right = right_of(task);
    const auto a = need(stack::Evaluator::make(program, machine, search::program_options));
    const auto b = need(stack::Evaluator::make(right.program, right.machine));
    const std::size_t registers = machine.signature().operands.size();
    std::vector<std::vector<std::uint32_t>> x(registers, std::vector<std::uint32_t>(points)), y = x, z = x;
    std::vector<const void*> in;
    std::vector<void*> out, other;
    for (std::size_t r = 0; r < registers; ++r)
        in.push_back(x[r].data()), out.push_back(y[r].data()), other.push_back(z[r].data());
    stack::Random random(1);
    const bool is_cycle = registers == 5;  // x, a, b, c: x is one of the others, which differ
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t k = 0; k < points; ++k) {
            for (std::size_t r = 0; r + 1 < registers; ++r) {
                x[r][k] = static_cast<std::uint32_t>(random.next() >> 32) >> random.below(32);
                if (r > 0 && random.chance(0.2))
                    x[r][k] = x[r - 1][k] + static_cast<std::uint32_t>(random.below(3)) - 1;
            }
            if (!is_cycle) continue;
            for (std::uint32_t r = 1; r < 4; ++r) x[r][k] = (x[r][k] & ~3u) | r;
            x[0][k] = x[1 + random.below(3)][k];
        }
        a.run({in, out, points});
        b.run({in, other, points});
        for (std::size_t k = 0; k < points; ++k)
            if (y[registers - 1][k] != z[registers - 1][k])
                return std::printf("wrong: x = 0x%X, z = 0x%X\n", x[0][k], x[1][k]), 1;
    }
    std::printf("right on %zu random points\n", points * rounds);
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return std::fprintf(stderr, "check TASK.json PROGRAM [LOW HIGH]\n"), 2;
    const std::string json = text_of(arguments[1]), text = without_comments(text_of(arguments[2]));
    const search::Task task = need(search::parse_task(json), json);
    const stack::Machine& machine = task.space.sites[0].machine;
    const stack::Program program = need(stack::parse(text, machine), text);
    const auto& operands = machine.signature().operands;
    if (task.reference.empty()) return std::fprintf(stderr, "the task's reference is no expression\n"), 2;
    std::vector<stack::InputRange> ranges;
    if (is_float(operands[0].type)) {
        if (count > 4)
            ranges =
                stack::inputs_between(operands[0].type, std::atof(arguments[3]), std::atof(arguments[4]));
        return check_float(task, program, machine, std::move(ranges));
    }
    if (operands.size() > 2) return check_random(task, program, machine);
    if (count > 4)
        ranges = {{std::strtoull(arguments[3], nullptr, 0), std::strtoull(arguments[4], nullptr, 0)}};
    return check_words(task, program, machine, ranges);
}
