// Which instructions of a program are live, and where its constants stand.

#include <unordered_map>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"
#include "stub/number.hpp"
#include "stub/stack/compile/constant_name.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/program/genes.hpp"
#include "stub/stack/program/trace.hpp"

namespace ptxgraft::stack {
namespace {

// Those without which the dataflow is another one.
Expected<std::vector<std::uint32_t>> missed_code(ProgramView program, const Machine& machine,
                                                 CompileOptions options) {
    options.hash = true;
    Compiler compiler;
    const auto whole = TRY(compiler.compile(program, machine, options));
    const std::uint64_t hash = whole.hash;
    std::vector<std::uint32_t> live;
    std::vector<Instruction> code(program.code.begin(), program.code.end());
    ProgramView without = program;
    for (std::uint32_t at = 0; at < code.size(); ++at) {
        const Instruction out = code[at];
        code[at] = {static_cast<Opcode>(opcode_count), 0, 0, 0};  // does nothing
        without.code = code;
        CompileOptions lenient = options;
        lenient.missing = Missing::skip;
        const auto compiled = compiler.compile(without, machine, lenient);
        if (!compiled || compiled->hash != hash) live.push_back(at);
        code[at] = out;
    }
    return live;
}

// A constant, if it is one.
const Instruction* constant_at(ProgramView program, CodePlace place) {
    const std::span<const Instruction> code =
        place.routine == CodePlace::none ? program.code
        : place.routine < program.routines.size()
            ? std::span<const Instruction>(program.routines[place.routine].code)
            : std::span<const Instruction>();
    if (place.at >= code.size()) return nullptr;
    const Instruction& i = code[place.at];
    return i.opcode == Opcode::constant || i.opcode == Opcode::pooled ? &i : nullptr;
}

std::optional<TypedConstant> constant_of(const Instruction& i, ProgramView program, const SetCode& code) {
    if (i.opcode != Opcode::constant && i.opcode != Opcode::pooled) return std::nullopt;
    if (i.type >= code.type_count || !has_constants(stack_of(i.type))) return std::nullopt;
    const TypeId base = code.bases[i.type];
    if (i.opcode == Opcode::constant) return TypedConstant{stack_of(i.type), widened(base, i.payload)};
    const std::uint64_t bits = program.pool.empty() ? 0 : program.pool[i.payload % program.pool.size()];
    return TypedConstant{stack_of(i.type), narrowed(base, bits)};
}

}  // namespace

Expected<std::vector<std::uint32_t>> live_code(ProgramView program, const Machine& machine,
                                               const CompileOptions& options) {
    Trimmed trimmed = trim(program, machine, options);
    if (!trimmed.is_known) return missed_code(program, machine, options);
    if (trimmed.has_missing && options.missing == Missing::error)
        (void)TRY(dataflow_hash(program, machine, options));  // says what
    return std::move(trimmed.live);
}

std::vector<PlacedConstant> constants_of(ProgramView program, const Machine& machine) {
    const SetCode& code = *MachineData::of(machine).code;
    std::vector<PlacedConstant> all;
    const auto add = [&](std::span<const Instruction> of, std::uint32_t routine) {
        for (std::uint32_t at = 0; at < of.size(); ++at)
            if (const auto constant = constant_of(of[at], program, code))
                all.push_back({{at, routine}, *constant});
    };
    add(program.code, CodePlace::none);
    for (std::uint32_t r = 0; r < program.routines.size(); ++r) add(program.routines[r].code, r);
    return all;
}

// Each constant is made another number, by which it is known among those that the compiler finds.
Expected<std::vector<PlacedConstant>> data_constants(ProgramView program, const Machine& machine,
                                                     CompileOptions options) {
    const SetCode& code = *MachineData::of(machine).code;
    const std::vector<PlacedConstant> all = constants_of(program, machine);
    if (all.size() > 0xFFFF)
        return fail(Errc::stack_too_large,
                    std::to_string(all.size()) + " constants; 65535 can be told apart");
    Program marked{{program.code.begin(), program.code.end()},
                   {program.pool.begin(), program.pool.end()},
                   {program.routines.begin(), program.routines.end()}};
    std::unordered_map<std::uint64_t, std::uint32_t> by_bits;
    for (std::uint32_t k = 0; k < all.size(); ++k) {
        const auto [place, constant] = all[k];
        const TypeId base = code.bases[constant.type];
        if (base == type_id(Type::pred)) continue;
        std::vector<Instruction>& of =
            place.routine == CodePlace::none ? marked.code : marked.routines[place.routine].code;
        of[place.at] = {Opcode::constant, of[place.at].type, 0, k + 1};
        by_bits[widened(base, k + 1)] = k;
    }
    options.constants = Constants::data;
    options.fold = false;
    Compiler compiler;
    const auto compiled = TRY(compiler.compile(marked, machine, options));
    std::vector<PlacedConstant> found;
    for (const std::uint64_t bits : compiled.constants) {
        const auto known = by_bits.find(bits);
        found.push_back(known == by_bits.end() ? PlacedConstant{} : all[known->second]);
    }
    return found;
}

void set_constant(Program& program, const Machine& machine, CodePlace place, std::uint64_t bits) {
    const Instruction* const old = constant_at(program, place);
    if (old == nullptr || old->type >= MachineData::of(machine).code->type_count) return;
    const Instruction made = constant_instruction(machine, {old->type, bits}, program.pool);
    (place.routine == CodePlace::none ? program.code : program.routines[place.routine].code)[place.at] = made;
}

}  // namespace ptxgraft::stack
