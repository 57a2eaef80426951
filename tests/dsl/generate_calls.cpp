// Writes a call of every opcode of the table, as C++: `generate_calls OUT.cpp`. What it writes must compile
// (dsl/calls_test.cpp): each form that the check takes when a program runs is taken while C++ compiles too.

#include <fstream>
#include <iostream>
#include <string>

#include "isa/spellings.hpp"

namespace {

using namespace ptxgraft;
using isa::Match;
using isa::OperandRule;
using isa::RuleKind;

std::string expression(const OperandRule& rule, const Match& match);

std::string joined(std::span<const OperandRule> rules, const Match& match) {
    std::string out;
    for (const OperandRule& rule : rules)
        if (is_needed(rule, match)) out += (out.empty() ? "" : ", ") + expression(rule, match);
    return out;
}

std::string type_of(const OperandRule& rule, const Match& match) {
    const isa::TypeInfo& type = isa::info(match.type(rule.type));
    return type.is_declared ? std::string(type.name) : "b" + std::to_string(type.bits);
}

std::string constant(const OperandRule& rule) {
    const std::int64_t value = rule.range == nullptr        ? 1
                               : rule.range->values.empty() ? rule.range->low
                                                            : rule.range->values.front();
    return "imm<" + std::to_string(value) + ">";
}

std::string reg(const std::string& type) { return "k.reg<" + type + ">()"; }

std::string expression(const OperandRule& rule, const Match& match) {
    switch (rule.kind) {
        case RuleKind::vector:
            return "k.regs<" + type_of(rule, match) + ", " + std::to_string(match.count(rule.count)) + ">()";
        case RuleKind::pair: {
            const std::string first = expression(rule.children[0], match);
            return rule.children[1].is_optional
                       ? first
                       : "pair(" + first + ", " + expression(rule.children[1], match) + ")";
        }
        case RuleKind::address: return "at(" + joined(rule.children, match) + ")";
        case RuleKind::base: return reg(rule.is_exact || rule.register_only ? "b32" : "b64");
        case RuleKind::label: return "Label{\"L\"}";
        case RuleKind::labels: return "Targets{\"T\"}";
        case RuleKind::callee: return "FunctionName{\"fn1\"}";
        case RuleKind::list: return "list(k.reg<b32>())";
        case RuleKind::prototype: return "Prototype{\"P\"}";
        case RuleKind::texref: return "Texture{\"tex_\"}";
        case RuleKind::samplerref: return "Sampler{\"sampler_\"}";
        case RuleKind::surfref: return "Surface{\"surf_\"}";
        case RuleKind::value:
            if (rule.constant_only) return rule.takes_sink ? "sink" : constant(rule);
            return reg(type_of(rule, match));
        default: return reg("u32");
    }
}

std::string name_of(const Match& match) {
    std::string name(match.row->opcode.view());
    for (std::size_t i = 0; i < match.row->slots.size(); ++i)
        if (match.chosen[i] != isa::no_word) name += isa::table_words[match.chosen[i]];
    return name;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: generate_calls OUT.cpp\n";
        return 2;
    }
    std::ofstream out(argv[1]);
    out << "// Generated: a call of every opcode.\n#include \"ptxgraft/dsl.hpp\"\nusing namespace "
           "ptxgraft::dsl;\n"
           "std::size_t emit_every_opcode(FunctionBuilder<>& k) {\n";
    std::size_t calls = 0;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        bool is_done = false;  // its first form
        isa::for_each_spelling(opcode.rows.front(), [&](const Match& match) {
            if (std::exchange(is_done, true)) return;
            out << "    k.emit<\"" << name_of(match) << "\">(" << joined(match.row->operands, match)
                << ");\n";
            ++calls;
        });
    }
    out << "    return " << calls << ";\n}\n";
    out.close();
    return out ? 0 : 1;
}
