// Every form of the table can be emitted: every choice of its modifiers, with operands that the oracle tests
// give to ptxas (isa/oracle_test.cpp), comes out as that very line; and mutants of its operands are refused
// where verify refuses them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/sample.hpp"
#include "isa/match.hpp"
#include "isa/sample.hpp"
#include "isa/spellings.hpp"
#include "ptxgraft/dsl.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::dsl {
namespace {

using isa::Match;

// A builder for no target, whose text can be read.
class Open : public Builder<> {
  public:
    Open() = default;
    std::string take() { return std::exchange(body_, {}); }
};

std::string joined(const std::vector<std::string>& operands) {
    std::string out;
    for (const std::string& one : operands) out.append(out.empty() ? " " : ", ").append(one);
    return out;
}

// But those of old versions, which are written in another way today.
TEST(DslCoverage, EverySpellingOfEveryRowIsEmitted) {
    std::size_t rows = 0, spellings = 0, failures = 0;
    Open builder;
    for (const isa::Opcode& opcode : isa::table_opcodes)
        for (const isa::Row& row : opcode.rows) {
            if (!row.implied.empty()) continue;
            ++rows;
            isa::for_each_spelling(row, [&](const Match& match) {
                for (const bool with_optional : {false, true}) {
                    ++spellings;
                    const std::string name = canonical_name(match);
                    const std::vector<AnyOperand> operands =
                        dsl::sample_operands(match, {with_optional, true});
                    const auto emitted = builder.emit_list(name, operands);
                    const std::string want =
                        "\t" + name + joined(isa::sample_operands(match, with_optional, "sampler_")) + ";\n";
                    const std::string got = builder.take();
                    if (emitted && got == want) continue;
                    if (++failures < 40)
                        ADD_FAILURE() << want << (emitted ? got : describe(emitted.error()))
                                      << "row: " << row.syntax.view();
                }
            });
        }
    EXPECT_EQ(failures, 0u) << "of " << spellings;
    EXPECT_GT(rows, 1000u);
    EXPECT_GT(spellings, 50'000u);
}

// What stands in the place of an operand.
std::vector<AnyOperand> replacements() {
    std::vector<AnyOperand> all;
    for (const Type type : {Type::b8, Type::b16, Type::b32, Type::b64, Type::b128, Type::u16, Type::s32,
                            Type::u64, Type::f16, Type::f16x2, Type::f32, Type::f64, Type::pred})
        all.push_back(AnyOperand::reg(std::string(syntax::row(type).name()) + "_9", type));
    const AnyOperand wide = AnyOperand::reg("b64_9", Type::b64), half = AnyOperand::reg("b32_9", Type::b32),
                     single = AnyOperand::reg("f32_9", Type::f32);
    const std::vector<AnyOperand> more = {
        AnyOperand::negated(AnyOperand::reg("pred_9", Type::pred)),
        1,
        -1,
        100000,
        1.5,
        1.5f,
        sink,
        AnyOperand::special("%tid.x"),
        AnyOperand::address({&wide, 1}),
        AnyOperand::variable("gv", Space::global),
        AnyOperand::variable("sv", Space::shared),
        AnyOperand::vector({&half, 1}),
        AnyOperand::vector(std::vector{half, half}),
        AnyOperand::vector(std::vector{single, single, single, single}),
        AnyOperand::vector(std::vector{half, single}),
        AnyOperand::pair(AnyOperand::reg("pred_9", Type::pred), half),
        AnyOperand::named("L", ShapeKind::label),
    };
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// The lines that verify refuses, of a function's body.
std::set<std::size_t> refused_lines(const std::vector<std::string>& lines) {
    std::string text =
        ".version 9.0\n.global .texref tex_;\n.global .surfref surf_;\n"
        ".global .b32 gv[64];\n.shared .b32 sv[64];\n"
        ".extern .func (.param .b32 r) fn1(.param .b32 x);\n.func f()\n{\n";
    for (const syntax::TypeRow& type : syntax::types)
        if (type.is_declared && type.group == syntax::TypeGroup::fundamental)
            text.append(".reg ").append(type.word).append(" ").append(type.name()).append("_<300>;\n");
    text += "L: T: .branchtargets L; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n";
    std::vector<std::size_t> starts;
    for (const std::string& line : lines) {
        starts.push_back(text.size());
        text += line;
    }
    text += "}\n";
    const auto parsed = syntax::parse_all(text, {.max_errors = lines.size()});
    std::vector<Error> errors = parsed->errors;
    std::ranges::copy(isa::verify(parsed->module), std::back_inserter(errors));
    std::set<std::size_t> refused;
    for (const Error& error : errors) {
        const auto behind = std::ranges::upper_bound(starts, error.span.begin);
        if (message(error, text).starts_with(".target stands"))
            continue;  // which is no matter of these lines
        if (behind == starts.begin()) throw std::runtime_error(describe(error, text));
        refused.insert(static_cast<std::size_t>(behind - starts.begin()) - 1);
    }
    return refused;
}

// Mutants of operands: what the emitter takes, verify takes; and it takes nearly all that verify does. It is
// stricter where ptxas cuts a constant, takes an address of a tensor copy without brackets, or looks at the
// registers of a vector only together.
TEST(DslCoverage, WhatIsEmittedIsVerified) {
    const std::vector<AnyOperand> others = replacements();
    std::vector<std::string> lines;
    std::vector<std::string> reasons;  // empty: taken
    Open builder;
    std::size_t count = 0;
    for (const isa::Opcode& opcode : isa::table_opcodes)
        for (const isa::Row& row : opcode.rows)
            isa::for_each_spelling(row, [&](const Match& match) {
                if (++count % 61 != 0) return;
                const std::string name = canonical_name(match);
                // Their declaration wants another target.
                if (name.starts_with("tex") || name.starts_with("tld4") || name.starts_with("txq")) return;
                std::vector<AnyOperand> operands = dsl::sample_operands(match, {count % 2 == 0, true});
                for (AnyOperand& operand : operands)
                    for (const AnyOperand& other : others) {
                        const AnyOperand kept = std::exchange(operand, other);
                        const auto emitted = builder.emit_list(name, operands);
                        std::string line = builder.take();
                        if (!emitted) {
                            for (const AnyOperand& one : operands)
                                line.append(line.empty() ? " " : ", ").append(one.text());
                            line = "\t" + name + line + ";\n";
                        }
                        lines.push_back(line);
                        reasons.push_back(emitted ? "" : message(emitted.error()));
                        operand = kept;
                    }
            });
    const std::set<std::size_t> refused = refused_lines(lines);
    std::size_t wrongly_taken = 0, wrongly_refused = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool is_refused = refused.contains(i);
        if (reasons[i].empty() && is_refused && ++wrongly_taken < 30) ADD_FAILURE() << "taken: " << lines[i];
        wrongly_refused += !reasons[i].empty() && !is_refused;
    }
    EXPECT_GT(refused.size(), lines.size() / 2);
    EXPECT_EQ(wrongly_taken, 0u);
    EXPECT_LT(wrongly_refused, lines.size() / 50);
}

}  // namespace
}  // namespace ptxgraft::dsl
