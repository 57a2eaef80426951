// The instruction table as forms. tests/isa_oracle_test.cpp and tests/set_test.cpp give them to ptxas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/isa/table.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft {
namespace {

using isa::OperandType;

std::vector<isa::Form> pure_forms() {
    std::vector<isa::Form> all;
    for (const std::string_view opcode : isa::pure_opcodes())
        for (isa::Form& form : isa::forms(opcode))
            if (form.pure) all.push_back(std::move(form));
    return all;
}

// `f32 f32 -> pred pred`
std::string shape(const isa::Form& form) {
    constexpr const char* names[] = {"pred",  "b16",   "b32",   "b64",  "u16",   "u32",  "u64",
                                     "s16",   "s32",   "s64",   "f16",  "f16x2", "bf16", "bf16x2",
                                     "f32",   "f64",   "b8",    "u8",   "s8",    "b128", "tf32",
                                     "f32x2", "u16x2", "s16x2", "u8x4", "s8x4"};
    std::string inputs, outputs;
    for (const isa::OperandSpec& o : form.operands) {
        std::string text = names[static_cast<std::size_t>(o.type)];
        if (o.is_vector) text += "*" + std::to_string(o.count);
        if (o.is_address) text = "[" + text + "]";
        if (o.is_immediate) text = "#" + text;
        (o.is_output ? outputs : inputs) += text + " ";
    }
    return inputs + "->" + (outputs.empty() ? "" : " " + outputs.substr(0, outputs.size() - 1));
}

TEST(Isa, NamesOfFormsAreUniqueAndEachIsFound) {
    std::set<std::string> names;
    std::size_t count = 0;
    for (const isa::Form& form : pure_forms()) {
        ++count;
        EXPECT_TRUE(names.insert(form.name).second) << form.name;
        const auto found = isa::find_form(form.name);
        ASSERT_TRUE(found) << form.name;
        EXPECT_EQ(found->name, form.name);
        EXPECT_EQ(found->spelling, form.spelling);
        for (const std::uint16_t sm : std::initializer_list<std::uint16_t>{75, 90, 100})
            EXPECT_EQ(isa::is_available(*found, 80, {sm, 0}), isa::is_available(form, 80, {sm, 0}))
                << form.name;
        EXPECT_EQ(shape(*found), shape(form)) << form.name;
    }
    EXPECT_GT(count, 7000u);
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
        for (std::size_t n = 0; n < i.operands.size(); ++n)
            found += " rwb"[static_cast<int>(isa::access(i, n))];
        EXPECT_EQ(found, expected) << text;
    }
}

// By PTX's custom, an only register is written too.
// A .loc says what .loc before it its function was inlined at: an outlined function comes before that one.
TEST(Isa, OutlinedCodeOfAnInlinedFunctionIsRight) {
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n\t.reg .b32 a;\n\t.loc 1 21 3\n"
        "\tmov.u32 a, 1;\n\t.loc 1 9 3, function_name $L__info, inlined_at 1 21 3\n\tadd.u32 a, a, 1;\n"
        "\t.loc 1 10 3, function_name $L__info, inlined_at 1 21 3\n\tadd.u32 a, a, 2;\n\tret;\n}\n"
        ".file 1 \"a.cu\"\n.section .debug_str\n{\n$L__info:\n.b8 102\n.b8 0\n}\n";
    ASSERT_TRUE(isa::verify(*syntax::parse(text)).empty())
        << isa::verify(*syntax::parse(text))[0].detail->c_str();
    auto module = syntax::parse(text);
    syntax::Statement first = module->find_function("k").first_child();
    while (!first.text().starts_with(".loc 1 9")) first = first.next();
    const auto outlined = module->outline(first, first.next(), "f", isa::access);
    ASSERT_TRUE(outlined) << describe(outlined.error(), text);
    EXPECT_THAT(std::string(outlined->function.text()), testing::HasSubstr("\t.loc 1 9 3\n\tadd.u32"));
    const auto printed = syntax::print(*module);
    for (const Error& error : isa::verify(*syntax::parse(printed))) ADD_FAILURE() << describe(error, printed);
    EXPECT_THAT(printed, testing::HasSubstr(".loc 1 10 3, function_name $L__info, inlined_at 1 21 3"));
}

TEST(Isa, AccessTellsOutlineWhatIsOnlyRead) {
    constexpr std::string_view text =
        ".version 8.0\n.target sm_90\n.entry k() {\n.reg .b32 a;\nmov.u32 a, 1;\nnanosleep.u32 a;\nmov.u32 "
        "a, a;\nret;\n}\n";
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

TEST(Isa, NamesThatTheTableLacksAreNotFound) {
    for (const char* name : {"",
                             ".",
                             ":",
                             "|",
                             "add",
                             "add.",
                             ".f32",
                             "add.f32 ",
                             "add.f33",
                             "ADD.f32",
                             "fma.f32",
                             "add.f32.rn",
                             "add.f32:2",
                             "add.f32|q",
                             "setp.lt.f32|p",
                             "setp.lt.f32|",
                             "mov.b64:",
                             "mov.b64:b32x3",
                             "mov.b64:b32x2:b32x2",
                             "cvt.sat.u32.u32",
                             "cvt.rn.u32.f32",
                             "setp.ltu.s32",
                             "tanh.approx.ftz.f32",
                             "bra",
                             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
                             "call",
                             "tex.1d.v4.f32.f32",
                             "min.f32::3"})
        EXPECT_FALSE(isa::find_form(name)) << name;
    EXPECT_FALSE(isa::find_form("add" + std::string(100000, '.')));
    for (const char* opcode : {"", "ad", "add.f32", "mul.", "nonsense"})
        EXPECT_TRUE(isa::forms(opcode).empty()) << opcode;
}

TEST(Isa, FormsHaveTheShapesOfTheManual) {
    struct Row {
        const char *name, *spelling, *shape;
    };
    for (const Row& row :
         {Row{"fma.rz.ftz.sat.f32", "fma.rz.ftz.sat.f32", "f32 f32 f32 -> f32"},
          Row{"lop3.b32", "lop3.b32", "b32 b32 b32 #u32 -> b32"},
          Row{"setp.lt.f32", "setp.lt.f32", "f32 f32 -> pred"},
          Row{"setp.lt.f32|q", "setp.lt.f32", "f32 f32 -> pred pred"},
          Row{"setp.lt.and.f64|q", "setp.lt.and.f64", "f64 f64 pred -> pred pred"},
          Row{"min.f32", "min.f32", "f32 f32 -> f32"}, Row{"min.f32:3", "min.f32", "f32 f32 f32 -> f32"},
          Row{"mov.b64", "mov.b64", "b64 -> b64"}, Row{"mov.b64:b32x2", "mov.b64", "b32*2 -> b64"},
          Row{"mov.b64:to.b32x2", "mov.b64", "b64 -> b32*2"},
          Row{"mul.wide.s32", "mul.wide.s32", "s32 s32 -> u64"},
          Row{"cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e4m3x2.f32", "f32 f32 -> b16"},
          Row{"ld.global.v4.f32", "ld.global.v4.f32", "[b64] -> f32*4"},
          Row{"ld.shared.u8", "ld.shared.u8", "[b32] -> u8"},
          Row{"st.global.f32", "st.global.f32", "[b64] f32 ->"},
          Row{"shfl.sync.bfly.b32", "shfl.sync.bfly.b32", "b32 b32 b32 u32 -> b32"},
          Row{"shfl.sync.bfly.b32|q", "shfl.sync.bfly.b32", "b32 b32 b32 u32 -> b32 pred"},
          Row{"cp.async.ca.shared.global:size8", "cp.async.ca.shared.global", "[b32] [b64] #u32 ->"}}) {
        const auto form = isa::find_form(row.name);
        ASSERT_TRUE(form) << row.name;
        EXPECT_EQ(form->spelling, row.spelling);
        EXPECT_EQ(shape(*form), row.shape) << row.name;
    }
    const auto lop3 = isa::find_form("lop3.b32");
    EXPECT_EQ(lop3->operands[4].low, 0);
    EXPECT_EQ(lop3->operands[4].high, 255);
}

TEST(Isa, FormsKnowTheirVersionsAndTargets) {
    struct Row {
        const char* name;
        std::uint16_t version;
        isa::Architecture target;
        bool is_available;
    };
    for (const Row& row :
         {Row{"add.f32", 0, {}, true}, Row{"add.f32", 90, {75, 0}, true},
          Row{"max.NaN.xorsign.abs.f32", 72, {86, 0}, true},
          Row{"max.NaN.xorsign.abs.f32", 71, {86, 0}, false},
          Row{"max.NaN.xorsign.abs.f32", 72, {80, 0}, false}, Row{"max.NaN.xorsign.abs.f32", 71, {}, false},
          Row{"max.NaN.xorsign.abs.f32", 0, {80, 0}, false}, Row{"max.NaN.xorsign.abs.f32", 0, {86, 0}, true},
          Row{"add.rn.f32x2", 86, {100, 0}, true}, Row{"add.rn.f32x2", 90, {90, 'a'}, false},
          Row{"mov.b128", 83, {70, 0}, true}, Row{"mov.b128", 82, {70, 0}, false},
          Row{"mov.b64", 82, {70, 0}, true}, Row{"shfl.bfly.b32", 63, {70, 0}, true},
          Row{"shfl.bfly.b32", 64, {70, 0}, false}, Row{"shfl.bfly.b32", 64, {60, 0}, true},
          Row{"setmaxnreg.inc.sync.aligned.u32", 80, {90, 'a'}, true},
          Row{"setmaxnreg.inc.sync.aligned.u32", 80, {90, 0}, false}}) {
        const auto form = isa::find_form(row.name);
        ASSERT_TRUE(form) << row.name;
        EXPECT_EQ(isa::is_available(*form, row.version, row.target), row.is_available)
            << row.name << " " << row.version << " sm_" << row.target.sm;
    }
}

TEST(Isa, SpecialRegisters) {
    struct Row {
        const char* name;
        OperandType type;
        bool is_volatile;
    };
    for (const Row& row :
         {Row{"%tid.x", OperandType::u32, false}, Row{"%laneid", OperandType::u32, false},
          Row{"%clock64", OperandType::u64, true}, Row{"%pm7", OperandType::u32, true},
          Row{"%is_explicit_cluster", OperandType::pred, false}, Row{"%globaltimer", OperandType::u64, true},
          Row{"%envreg31", OperandType::u32, false}}) {
        const auto info = isa::special_register(row.name);
        ASSERT_TRUE(info) << row.name;
        EXPECT_EQ(info->type, row.type) << row.name;
        EXPECT_EQ(info->is_volatile, row.is_volatile) << row.name;
    }
    for (const char* name : {"", "%", "tid.x", "%tid", "%tid.q", "%envreg32", "%pm07", "%laneid.x"})
        EXPECT_FALSE(isa::special_register(name)) << name;
    EXPECT_TRUE(isa::is_special_available("%clusterid.x", 78, {90, 0}));
    EXPECT_FALSE(isa::is_special_available("%clusterid.x", 78, {89, 0}));
    EXPECT_FALSE(isa::is_special_available("%clusterid.x", 77, {}));
    EXPECT_TRUE(isa::is_special_available("%clusterid.x", 0, {}));
}

TEST(Isa, EffectsOfOpcodes) {
    struct Row {
        const char* opcode;
        Effect effects;
    };
    for (const Row& row : {Row{"add", Effect::none},
                           Row{"cvt", Effect::none},
                           Row{"ld", Effect::load},
                           Row{"st", Effect::store},
                           Row{"atom", Effect::atomic},
                           Row{"red", Effect::atomic},
                           Row{"shfl", Effect::warp},
                           Row{"bar", Effect::barrier},
                           Row{"cp", Effect::barrier},
                           Row{"bra", Effect::branch},
                           Row{"call", Effect::call},
                           Row{"wgmma", Effect::tensor},
                           Row{"ret", Effect::exit},
                           Row{"trap", Effect::exit},
                           Row{"alloca", Effect::state},
                           Row{"stacksave", Effect::state},
                           Row{"stackrestore", Effect::state},
                           Row{"nanosleep", Effect::state},
                           Row{"pmevent", Effect::state},
                           Row{"setmaxnreg", Effect::state},
                           Row{"griddepcontrol", Effect::state},
                           Row{"createpolicy", Effect::load},
                           Row{"prefetch", Effect::load},
                           Row{"applypriority", Effect::load},
                           Row{"txq", Effect::load},
                           Row{"discard", Effect::store}})
        EXPECT_EQ(isa::effects(row.opcode), static_cast<std::uint16_t>(row.effects)) << row.opcode;
    for (const char* opcode : {"", "frobnicate", "ADD", "add.f32"})
        EXPECT_EQ(isa::effects(opcode), isa::unknown_opcode) << opcode;
    for (const isa::Form& form : pure_forms())
        EXPECT_EQ(isa::effects(form.name.substr(0, form.name.find('.'))), 0) << form.name;
    EXPECT_EQ(isa::find_form("ld.global.f32")->effects, static_cast<std::uint16_t>(Effect::load));
    EXPECT_EQ(isa::find_form("add.f32")->effects, 0);
}

// An opcode computes in registers alone exactly when a row of it is pure: a line about effects that names a
// wrong opcode, and a row that lacks its flag, show in one another. Those that read the carry, and istypep,
// which asks about a name, have no effect, but are not made of their operands' values.
TEST(Isa, OpcodesWithoutEffectsHavePureRows) {
    std::map<std::string, bool> is_pure;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        const std::string_view name = opcode.name;
        for (const isa::Row& row : opcode.rows)
            is_pure[std::string(name.substr(0, name.find('.')))] |= row.pure;
    }
    EXPECT_GT(is_pure.size(), 130u);
    for (const char* opcode : {"addc", "subc", "madc", "istypep"}) {
        EXPECT_FALSE(std::exchange(is_pure[opcode], true)) << opcode;
        EXPECT_EQ(isa::effects(opcode), 0) << opcode;
    }
    for (const auto& [opcode, pure] : is_pure) EXPECT_EQ(isa::effects(opcode) == 0, pure) << opcode;
}

}  // namespace
}  // namespace ptxgraft
