// The instruction table against ptxas: every form, every immediate, every architecture limit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft {
namespace {

constexpr std::uint32_t header_lines = 5;

std::string register_of(isa::OperandType type, std::size_t i) {
    return "%" + std::string(name(static_cast<Type>(type))) + "_" + std::to_string(i);
}

std::string immediate_of(isa::OperandSpec spec) {
    if (spec.is_byte || spec.is_immediate) return "255";
    switch (spec.type) {
        case isa::OperandType::pred:
            return "1";
        case isa::OperandType::f32:
            return "0fFF800001";
        case isa::OperandType::s32:
            return "-2147483648";
        default:
            return "4294967295";
    }
}

// An instruction of a form; inputs whose bit is set in `immediates` are immediates.
std::string instruction(const isa::Form& form, unsigned immediates) {
    std::string text = std::string(form.name) + " ";
    for (std::size_t i = 0; i < form.operands.size(); ++i) {
        const isa::OperandSpec& spec = form.operands[i];
        const bool is_immediate = spec.is_immediate || (!spec.is_output && (immediates >> i & 1) != 0);
        text += (i == 0 ? "" : ", ") + (is_immediate ? immediate_of(spec) : register_of(spec.type, i));
    }
    return text + ";\n";
}

std::string module_of(const std::string& body, const std::string& target) {
    return ".version 9.0\n.target " + target +
           "\n.address_size 64\n.visible .entry k() {\n.reg .pred %pred_<8>; .reg .b32 %b32_<8>; .reg .u32 "
           "%u32_<8>; "
           ".reg .s32 %s32_<8>; .reg .f32 %f32_<8>;\n" +
           body + "ret;\n}\n";
}

Expected<Cubin> assemble(const std::string& body, const std::string& target) {
    return default_assembler().assemble(module_of(body, target), {.optimisation = 0});
}

TEST(Isa, FormsAreOrderedAndEachIsFound) {
    const auto forms = isa::forms();
    EXPECT_GT(forms.size(), 1000u);
    EXPECT_TRUE(std::is_sorted(forms.begin(), forms.end(),
                               [](const auto& a, const auto& b) { return a.name < b.name; }));
    for (const isa::Form& form : forms) EXPECT_EQ(isa::find(form.name), &form);
    for (const char* name : {"", "add", "add.f32 ", "add.f33", "ADD.f32", "fma.f32", "add.sat.u32"})
        EXPECT_EQ(isa::find(name), nullptr) << name;
}

TEST(Isa, AccessIsWhatTheTableSays) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"add.s32 a, b, c;", "wrr"},
        {"nanosleep.u32 a;", "r"},
        {"stacksave.u64 a;", "w"},
        {"stackrestore.u64 a;", "r"},
        {"setp.lt.and.s32 p|q, a, b, c;", "wrrr"},
        {"st.global.v2.u32 [a], {b, c};", "rr"},
        {"ld.global.v2.u32 {b, c}, [a];", "wr"},
        {"atom.global.add.u32 d, [a], b;", "wrr"},
        {"red.global.add.u32 [a], b;", "rr"},
        {"bar.red.popc.u32 d, a, b, !p;", "wrrr"},
        {"call (a), f, (b);", "wrr"},
        {"call a, (b), t;", "rrr"},
        {"mbarrier.arrive.shared.b64 s, [a];", "wr"},
        {"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a], b;", "wrr"},
        {"mbarrier.try_wait.shared.b64 p, [a], s, t;", "wrrr"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [a], {b, b, b, b, b, b, b, b}, c;", "rrr"},
        {"tcgen05.ld.red.sync.aligned.32x32b.x2.min.s32 {a, b}, c, [d];", "wwr"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {a, b}, c, d, 1, 1, 1, 0, 0;", "brrrrrrr"},
        {"no.such.instruction a, b;", "wr"},
    };
    for (const auto& [text, expected] : rows) {
        const auto module = syntax::parse(".func f { " + std::string(text) + " }");
        ASSERT_TRUE(module) << text;
        const syntax::Instruction i = *module->instructions().begin().operator*().instruction();
        std::string found;
        for (std::size_t n = 0; n < i.operands.size(); ++n) found += " rwb"[static_cast<int>(isa::access(i, n))];
        EXPECT_EQ(found, expected) << text;
    }
}

// By PTX's custom, an only register is written too.
TEST(Isa, AccessTellsOutlineWhatIsOnlyRead) {
    constexpr std::string_view text = ".version 8.0\n.target sm_90\n.entry k() {\n.reg .b32 a;\nmov.u32 a, 1;\nnanosleep.u32 a;\nmov.u32 a, a;\nret;\n}\n";
    const auto outlined = [&](const syntax::AccessOf& access) {
        auto module = syntax::parse(std::string(text));
        const syntax::Statement sleep = module->find_function("k").first_child().next().next();
        EXPECT_TRUE(module->outline(sleep, sleep, "f", access));
        EXPECT_TRUE(isa::verify(*syntax::parse(syntax::print(*module))).empty());
        return syntax::print(*module);
    };
    EXPECT_THAT(outlined(isa::access), testing::HasSubstr(".func f("));
    EXPECT_THAT(outlined(syntax::usual_access), testing::HasSubstr(".func (.param .b32 "));
}

TEST(Isa, RowsSayWhatTheManualSays) {
    const isa::Form* fma = isa::find("fma.rz.ftz.sat.f32");
    ASSERT_NE(fma, nullptr);
    ASSERT_EQ(fma->operands.size(), 4u);
    EXPECT_TRUE(fma->operands[0].is_output);
    EXPECT_FALSE(fma->operands[1].is_output);
    EXPECT_EQ(fma->operands[3].type, isa::OperandType::f32);
    EXPECT_TRUE(fma->pure && fma->stack);
    const isa::Form* lop3 = isa::find("lop3.b32");
    ASSERT_NE(lop3, nullptr);
    EXPECT_TRUE(lop3->operands[4].is_immediate);
    EXPECT_EQ(isa::find("max.NaN.xorsign.abs.f32")->sm, 86);
    EXPECT_EQ(isa::find("max.NaN.xorsign.abs.f32")->ptx_version, 72);
}

TEST(Isa, EveryFormAssembles) {
    std::string body;
    for (const isa::Form& form : isa::forms()) body += instruction(form, 0);
    const auto cubin = assemble(body, "sm_100");
    EXPECT_TRUE(cubin) << describe(cubin.error(), module_of(body, "sm_100"));
}

TEST(Isa, EveryInputMayBeAnImmediate) {
    std::string body;
    for (const isa::Form& form : isa::forms())
        for (unsigned mask = 2; mask < 1u << form.operands.size(); mask += 2) body += instruction(form, mask);
    const auto cubin = assemble(body, "sm_100");
    EXPECT_TRUE(cubin) << describe(cubin.error(), module_of(body, "sm_100"));
}

TEST(Isa, ArchitecturesAreTheFirstThatHaveTheForm) {
    for (const int sm : {75, 80, 90}) {
        std::string known, unknown;
        std::uint32_t unknown_count = 0;
        for (const isa::Form& form : isa::forms())
            (form.sm <= sm ? known : unknown) += instruction(form, 0), unknown_count += form.sm > sm;
        const std::string target = "sm_" + std::to_string(sm);
        const auto good = assemble(known, target);
        EXPECT_TRUE(good) << describe(good.error(), module_of(known, target));
        const auto bad = assemble(unknown, target);
        ASSERT_FALSE(bad) << target;
        for (std::uint32_t line = header_lines + 1; line <= header_lines + unknown_count; ++line)
            EXPECT_NE(bad.error().detail->find("line " + std::to_string(line)), std::string::npos)
                << target << ", line " << line << "\n"
                << module_of(unknown, target);
    }
}

TEST(Isa, WhatTheTableLacksIsRefused) {
    for (const char* text : {"cvt.sat.u32.u32 %u32_0, %u32_1;", "add.sat.u32 %u32_0, %u32_1, %u32_2;",
                             "cvt.rn.u32.f32 %u32_0, %f32_1;", "setp.ltu.s32 %pred_0, %s32_1, %s32_2;",
                             "tanh.approx.ftz.f32 %f32_0, %f32_1;"}) {
        const std::string written(text);
        EXPECT_EQ(isa::find(written.substr(0, written.find(' '))), nullptr) << text;
        EXPECT_FALSE(assemble(written + "\n", "sm_100")) << text;
    }
}

TEST(Isa, EffectsOfOpcodes) {
    struct Row {
        const char* opcode;
        Effect effects;
    };
    for (const Row& row : {Row{"add", Effect::none}, Row{"cvt", Effect::none}, Row{"ld", Effect::load},
                           Row{"st", Effect::store}, Row{"atom", Effect::atomic}, Row{"red", Effect::atomic},
                           Row{"shfl", Effect::warp}, Row{"bar", Effect::barrier}, Row{"cp", Effect::barrier},
                           Row{"bra", Effect::branch}, Row{"call", Effect::call},
                           Row{"wgmma", Effect::tensor}, Row{"ret", Effect::exit}, Row{"trap", Effect::exit}})
        EXPECT_EQ(isa::effects(row.opcode), static_cast<std::uint16_t>(row.effects)) << row.opcode;
    for (const char* opcode : {"", "frobnicate", "ADD", "add.f32"})
        EXPECT_EQ(isa::effects(opcode), isa::unknown_opcode) << opcode;
    for (const isa::Form& form : isa::forms())
        EXPECT_EQ(isa::effects(form.name.substr(0, form.name.find('.'))), 0) << form.name;
}

}  // namespace
}  // namespace ptxgraft
