// ptxgraft stub: the PTX of one stub, its results on the CPU, or programs at random.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/stub_program.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft::cli {
namespace {

struct StubVerbFlags {
    std::string program, expression, site, signature, set, output = "-";
    std::vector<std::string> values;
    bool has_expression = false, evaluates = false, prints_bits = false, is_strict = false, json = false;
    bool contract = false, approx = false, ftz = false;
    std::uint32_t random_count = 0, length = 20;
    std::uint64_t seed = 1;
    CudaFlags cuda;
};

bool names_a_file(std::string_view text) {
    return text == "-" || text.ends_with(".stub") || is_ptx_file(text);
}

StubProgram load_program(const StubVerbFlags& flags) {
    if (flags.has_expression && flags.program.empty() && flags.expression.empty())
        fail_usage("the expression of --expr is empty; one is such as 'acc = max(acc + bias, 0)'");
    if (flags.program.empty() == flags.expression.empty())
        fail_usage("which program? Give PROGRAM, or --expr TEXT instead");
    if (!flags.expression.empty()) return {flags.expression, "--expr", Language::expression};
    if (!names_a_file(flags.program)) return {flags.program, "PROGRAM", Language::stack};
    return {take(read_file(flags.program)), display_name(flags.program),
            is_ptx_file(flags.program) ? Language::ptx : Language::stack};
}

std::shared_ptr<const stack::InstructionSet> load_set(const std::string& name) {
    if (name.empty()) return stack::find_set("standard");
    if (auto shipped = stack::find_set(name)) return shipped;
    if (!name.ends_with(".set"))
        fail_usage(fmt::format("--set: there is no set '{}'; there are {}, or give a file NAME.set", name,
                               fmt::join(stack::set_names(), " ")));
    const std::string text = take(read_file(name));
    return take(stack::InstructionSet::parse(text), text, display_name(name));
}

// The operands: those of a site, of --signature, or of the file.
void find_operands(StubContext& context, const StubProgram& program, const StubVerbFlags& flags) {
    if (!flags.site.empty()) {
        const std::size_t colon = flags.site.rfind(':');
        if (colon == std::string::npos || colon == 0 || colon + 1 == flags.site.size())
            fail_usage(fmt::format("--site wants FILE:SITE, but got '{}'", flags.site));
        const Input input = load_input(flags.site.substr(0, colon), flags.cuda, CudaOptions{}.target);
        const Site& site = *take(input.skeleton.find_site(flags.site.substr(colon + 1)), {}, input.file);
        context.signature = site.signature;
        context.policy = site.policy;
        return;
    }
    context.policy.allowed = Effect::all;  // there is no site that could forbid anything
    bool has_signature = !flags.signature.empty();
    if (has_signature) {
        context.signature = take(Signature::parse(flags.signature), flags.signature, "--signature");
    } else if (program.language == Language::stack) {
        stack::StubFile file = take(stack::parse_file(program.text), program.text, program.file);
        context.signature = std::move(file.signature);
        has_signature = file.program_offset != 0;
    }
    if (!has_signature && flags.random_count == 0)
        fail_usage(
            "whose operands? Give --site FILE:SITE, --signature 'in f32 x, mod f32 acc', or a file with a "
            "signature line");
}

StubContext make_context(const StubProgram& program, const StubVerbFlags& flags) {
    StubContext context;
    if (!flags.cuda.target.empty()) context.target = take(parse_architecture(flags.cuda.target));
    context.is_strict = flags.is_strict;
    context.expression = {flags.contract, flags.approx, flags.ftz, context.target};
    if (program.language == Language::expression && !flags.set.empty())
        fail_usage("--set is for stack programs: expressions have a set of their own");
    context.set = program.language == Language::expression ? expression_set() : load_set(flags.set);
    find_operands(context, program, flags);
    return context;
}

// One program per line.
void print_random_programs(const StubVerbFlags& flags) {
    if (!flags.program.empty() || !flags.expression.empty())
        fail_usage("--random makes programs: PROGRAM and --expr do not go with it");
    const StubContext context = make_context({}, flags);
    const auto machine =
        take(stack::Machine::make(context.set, context.signature, {context.policy, context.target, 0}));
    std::string text;
    Json programs = Json::array();
    for (std::uint32_t i = 0; i < flags.random_count; ++i) {
        std::string line =
            stack::print(stack::random_program(machine, flags.seed + i, flags.length), machine);
        while (line.ends_with('\n')) line.pop_back();
        for (std::size_t at = 0; (at = line.find('\n', at)) != std::string::npos; at += 2)
            line.replace(at, 1, "; ");
        programs.push_back(line);
        text.append(line).append("\n");
    }
    if (flags.json) text = json_text({{"seed", flags.seed}, {"programs", std::move(programs)}});
    take(write_file(flags.output, text));
}

Json json_of(const Stub& stub) {
    return {{"ptx", stub.ptx()},
            {"signature", stub.signature().text()},
            {"instructions", stub.instruction_count()},
            {"effects", effect_names(stub.effects())}};
}

// A line per output: `z = 5 7 9`.
std::string text_of(const std::vector<OutputValues>& outputs, bool as_bits) {
    std::string text;
    for (const OutputValues& output : outputs) {
        text.append(output.name).append(" =");
        for (const std::uint64_t bits : output.bits)
            text.append(" ").append(as_bits ? bits_text(output.type, bits) : value_text(output.type, bits));
        text += '\n';
    }
    return text;
}

// What JSON has no number for is a string: "nan", "0x3C003C00" of two halves.
Json json_of(const std::vector<OutputValues>& outputs) {
    Json all = Json::array();
    for (const OutputValues& output : outputs) {
        Json values = Json::array(), bits = Json::array();
        for (const std::uint64_t one : output.bits) {
            const std::string text = value_text(output.type, one);
            values.push_back(Json::accept(text) ? Json::parse(text) : Json(text));
            bits.push_back(bits_text(output.type, one));
        }
        all.push_back({{"name", output.name},
                       {"type", name(output.type)},
                       {"values", std::move(values)},
                       {"bits", std::move(bits)}});
    }
    return {{"outputs", std::move(all)}};
}

void run_verb(const StubVerbFlags& flags) {
    if (flags.random_count != 0) return print_random_programs(flags);
    const StubProgram program = load_program(flags);
    const StubContext context = make_context(program, flags);
    if (flags.evaluates) {
        const auto outputs = evaluate_stub(program, context, flags.values);
        return take(write_file(
            flags.output, flags.json ? json_text(json_of(outputs)) : text_of(outputs, flags.prints_bits)));
    }
    const Stub stub = compile_stub(program, context);
    take(write_file(flags.output, flags.json ? json_text(json_of(stub)) : stub.ptx()));
}

// A program may begin as an option does: `-inf x max.f32 -> x`.
void take_program_with_minus(CLI::App& verb, StubVerbFlags& flags) {
    const std::vector<std::string> rest = verb.remaining();
    if (rest.empty()) return;
    const std::string& first = rest.front();
    if (rest.size() > 1 || !flags.program.empty() || !first.starts_with('-') || first.starts_with("--"))
        fail_usage(
            fmt::format("'{}' is no option of stub\nRun 'ptxgraft stub --help' for how to use it.", first));
    flags.program = first;
}

}  // namespace

void add_stub(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("stub",
                                        "Compile a stack program or an expression, or check hand-written "
                                        "PTX, and print the stub or what it computes");
    const auto flags = std::make_shared<StubVerbFlags>();
    verb->add_option("PROGRAM", flags->program,
                     "Stack program, a .stub file, or a .ptx file with hand-written PTX");
    verb->add_option("--expr", flags->expression, "An expression instead: 'acc = max(acc + bias, 0)'");
    auto* site = verb->add_option("--site", flags->site, "FILE:SITE, the site that it is for");
    verb->add_option("--signature", flags->signature, "Operands, such as 'in f32 x, mod f32 acc'")
        ->excludes(site);
    verb->add_option("--set", flags->set,
                     "Instruction set: one of the library's, or a file NAME.set (default: standard)");
    verb->add_flag("--strict", flags->is_strict, "Missing operands and values left over are errors");
    verb->add_flag("--contract", flags->contract, "Expressions: a * b + c may become one fma");
    verb->add_flag("--approx", flags->approx, "Expressions: functions and / are the approximate ones");
    verb->add_flag("--ftz", flags->ftz, "Expressions: f32 operations flush subnormals to zero");
    auto* values = verb->add_option("--evaluate", flags->values,
                                    "Run it on the CPU: x=1,2,3 frag[0]=4,5,6 …; prints a line per output")
                       ->expected(0, 4096);
    verb->add_flag("--bits", flags->prints_bits, "With --evaluate: print register contents in hexadecimal")
        ->needs(values);
    auto* random = verb->add_option("--random", flags->random_count,
                                    "Print so many programs made at random, one per line")
                       ->check(CLI::PositiveNumber);
    verb->add_option("--seed", flags->seed, "Of the first program; the next ones follow (default: 1)")
        ->check(wrong_from_zero)
        ->needs(random);
    verb->add_option("--length", flags->length, "Instructions of a program (default: 20)")->needs(random);
    verb->add_option("-o,--output", flags->output, "File (default: standard output)");
    verb->add_flag("--json", flags->json,
                   "Write JSON: {\"ptx\", \"signature\", \"instructions\", \"effects\"}; with --evaluate "
                   "{\"outputs\": [{\"name\", \"type\", \"values\", \"bits\"}]}; with --random {\"seed\", "
                   "\"programs\"}");
    add_cuda_flags(*verb, flags->cuda);
    verb->allow_extras();
    verb->callback([flags, verb, values] {
        flags->evaluates = values->count() != 0;
        flags->has_expression = verb->count("--expr") != 0;
        take_program_with_minus(*verb, *flags);
        run_verb(*flags);
    });
}

}  // namespace ptxgraft::cli
