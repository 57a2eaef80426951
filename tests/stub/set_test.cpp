// Instruction sets: their texts, those that ship, and every form of them under ptxas.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ptxgraft/link.hpp"
#include "ptxgraft/set.hpp"
#include "support/kernel_text.hpp"
#include "support/ptxas_oracle.hpp"

extern std::size_t allocations;  // allocations.cpp

namespace ptxgraft {
namespace {

using stack::Entry;
using stack::EntryOperand;
using stack::InstructionSet;
using Set = std::shared_ptr<const InstructionSet>;

Set parsed(std::string_view text) {
    auto set = InstructionSet::parse(text);
    EXPECT_TRUE(set) << describe(set.error(), text);
    return set ? *set : nullptr;
}

std::vector<std::string> names_of(const InstructionSet& set) {
    std::vector<std::string> names;
    for (const Entry& entry : set.entries()) names.push_back(entry.name);
    return names;
}

// `philox u32 -> philox`
std::string types_of(const InstructionSet& set, const Entry& entry) {
    std::string inputs, outputs;
    for (const EntryOperand& o : entry.operands)
        (o.is_output ? outputs : inputs) +=
            (o.is_immediate ? "#" : "") + std::string(set.type_name(o.type)) + " ";
    return inputs + "->" + (outputs.empty() ? "" : " " + outputs.substr(0, outputs.size() - 1));
}

// --- texts
TEST(Set, TakesEveryKindOfLine) {
    const Set set = parsed(
        "# a set\r\n"
        "\n"
        "type philox u32   # a type\n"
        "add.f32\n"
        "\tadd.rn.f32 weight 4\n"
        "mac = fma.rn.f32 weight 0.5\n"
        "bump = add.u32 philox, u32 -> philox\n"
        "bump2=add.u32 philox,philox->philox weight 0\n"
        "ld8 = ld.global.u8 u64 -> u32\n"
        "split = mov.b64:to.b32x2 u64 -> philox\n"
        "lut = lop3.b32 philox, u32, s32 -> b32\n"
        "put = st.global.b32 u64, philox\n"
        "put2 = st.global.b32 u64, philox ->\n"
        "%tid.x\n"
        "lane = %laneid weight 2");
    ASSERT_TRUE(set);
    EXPECT_EQ(names_of(*set),
              (std::vector<std::string>{"add.f32", "add.rn.f32", "mac", "bump", "bump2", "ld8", "split",
                                        "lut", "put", "put2", "%tid.x", "lane"}));
    const auto entry = [&](std::string_view name) -> const Entry& {
        return set->entries()[static_cast<std::size_t>(set->find(name))];
    };
    EXPECT_EQ(types_of(*set, entry("add.f32")), "f32 f32 -> f32");
    EXPECT_EQ(types_of(*set, entry("bump")), "philox u32 -> philox");
    EXPECT_EQ(types_of(*set, entry("ld8")), "u64 -> u32");
    EXPECT_EQ(types_of(*set, entry("split")), "u64 -> philox philox");
    EXPECT_EQ(types_of(*set, entry("lut")), "philox u32 s32 #u32 -> b32");
    EXPECT_EQ(types_of(*set, entry("put")), "u64 philox ->");
    EXPECT_EQ(types_of(*set, entry("put2")), "u64 philox ->");
    EXPECT_EQ(entry("mac").form->spelling, "fma.rn.f32");
    EXPECT_EQ(entry("mac").weight, 0.5);
    EXPECT_EQ(entry("bump2").weight, 0);
    EXPECT_EQ(entry("ld8").effects, Effect::load);
    EXPECT_EQ(entry("%tid.x").form, nullptr);
    EXPECT_EQ(entry("lane").special, "%laneid");
    EXPECT_EQ(entry("lane").special_type, stack::type_id(Type::u32));
    EXPECT_EQ(set->find("fma.rn.f32"), -1);
    EXPECT_EQ(set->find_type("philox"), stack::first_user_type);
    EXPECT_EQ(set->find_type("b8"), stack::type_b8);
    EXPECT_EQ(set->find_type("u8"), stack::max_types);
    EXPECT_EQ(set->type_name(stack::first_user_type), "philox");
    EXPECT_EQ(set->type_name(63), "");
    const Set again = parsed(set->text());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->text(), set->text());
    EXPECT_EQ(names_of(*again), names_of(*set));
}

TEST(Set, AnEmptyTextIsAnEmptySet) {
    for (const char* text : {"", "\n", "# nothing", " \t\r\n\r\n"}) {
        const Set set = parsed(text);
        ASSERT_TRUE(set);
        EXPECT_TRUE(set->entries().empty());
        EXPECT_EQ(set->find("add.f32"), -1);
        EXPECT_EQ(set->text(), "");
    }
}

TEST(Set, IncludesAndWildcardsMeet) {
    const Set f32 = stack::find_set("f32");
    ASSERT_TRUE(f32);
    const Set set =
        parsed("include f32\ninclude f32\nadd.f32 weight 4\nmin.*\nmin.f32 weight 2\nmul.* weight 3");
    ASSERT_TRUE(set);
    ASSERT_GT(set->entries().size(), f32->entries().size());
    for (std::size_t i = 0; i < f32->entries().size(); ++i)
        EXPECT_EQ(set->entries()[i].name, f32->entries()[i].name);
    const auto weight = [&](std::string_view name) {
        return set->entries()[static_cast<std::size_t>(set->find(name))].weight;
    };
    EXPECT_EQ(weight("add.f32"), 4);
    EXPECT_EQ(weight("min.f32"), 2);
    EXPECT_EQ(weight("min.s64"), 1);
    EXPECT_EQ(weight("mul.wide.s32"), 3);
    EXPECT_EQ(weight("mul.f64"), 3);
    const std::vector<std::string> names = names_of(*set);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

struct BadSet {
    const char* text;
    Errc code;
    std::uint32_t line, column;
    const char* says;
};

class SetRefuses : public testing::TestWithParam<BadSet> {};

TEST_P(SetRefuses, AtThisPlace) {
    const BadSet& bad = GetParam();
    const auto set = InstructionSet::parse(bad.text);
    ASSERT_FALSE(set) << (*set)->entries().size() << " entries";
    EXPECT_EQ(name(set.error().code), name(bad.code)) << describe(set.error(), bad.text);
    ASSERT_TRUE(set.error().span.known());
    const Position at = position(bad.text, set.error().span.begin);
    EXPECT_EQ(at.line, bad.line) << describe(set.error(), bad.text);
    EXPECT_EQ(at.column, bad.column) << describe(set.error(), bad.text);
    EXPECT_NE(describe(set.error(), bad.text).find(bad.says), std::string::npos)
        << describe(set.error(), bad.text);
}

INSTANTIATE_TEST_SUITE_P(
    Set, SetRefuses,
    testing::Values(
        BadSet{"add.f33", Errc::set_form_unknown, 1, 1, "did you mean .f32?"},
        BadSet{"\n  ad.f32", Errc::set_form_unknown, 2, 3, "did you mean add?"},
        BadSet{"add.f32.rn", Errc::set_form_unknown, 1, 1, "add.rn.f32"},
        BadSet{"min.f32:4", Errc::set_form_unknown, 1, 1, "min.f32, min.f32:3"},
        BadSet{"setp.lt.f32|p", Errc::set_form_unknown, 1, 1, "setp.lt.f32|q"},
        BadSet{"mov.b64:b32x3", Errc::set_form_unknown, 1, 1, "mov.b64:b32x2"},
        BadSet{"bra", Errc::set_form_unknown, 1, 1, "no values of a stack machine"},
        BadSet{"call", Errc::set_form_unknown, 1, 1, "no values of a stack machine"},
        BadSet{"add.cc.u32", Errc::set_form_unknown, 1, 1, "no site can allow"},
        BadSet{"addc.u32", Errc::set_form_unknown, 1, 1, "no site can allow"},
        BadSet{"tcgen05.ld.sync.aligned.32x32b.x128.b32", Errc::set_form_unknown, 1, 1, "more than 64"},
        BadSet{"%tid", Errc::set_form_unknown, 1, 1, "no special register of one value"},
        BadSet{"x = %nope", Errc::set_form_unknown, 1, 5, "no special register"},
        BadSet{"frob.*", Errc::set_form_unknown, 1, 1, "no opcode 'frob'"},
        BadSet{"bra.*", Errc::set_form_unknown, 1, 1, "no opcode 'bra'"},
        BadSet{".*", Errc::set_form_unknown, 1, 1, "no opcode ''"},
        BadSet{"add.f32\nadd.f32", Errc::set_name_taken, 2, 1, "stands twice"},
        BadSet{"mac = fma.rn.f32\nmac = mad.rn.f32", Errc::set_name_taken, 2, 1, "stands twice"},
        BadSet{"sub.f32 = add.f32", Errc::set_name_taken, 1, 1, "another form"},
        BadSet{"add.u32 s32, s32 -> s32\ninclude integer", Errc::set_name_taken, 2, 9,
               "which here is another"},
        BadSet{"include integer\nadd.u32 s32, s32 -> s32", Errc::set_name_taken, 2, 1, "something else"},
        BadSet{"type a u32\ntype a s32", Errc::set_name_taken, 2, 6, "stands twice"},
        BadSet{"*\nadd.*\n* weight 2", Errc::set_name_taken, 3, 1, "'*' stands twice"},
        BadSet{"min.* weight 2\nmin.*", Errc::set_name_taken, 2, 1, "'min.*' stands twice"},
        BadSet{"type f32 u32", Errc::set_malformed, 1, 6, "is a type of PTX"},
        BadSet{"type tf32 b32", Errc::set_malformed, 1, 6, "is a type of PTX"},
        BadSet{"type a.b u32", Errc::set_malformed, 1, 6, "no name of a type"},
        BadSet{"type a", Errc::set_malformed, 1, 6, "type NAME BASE"},
        BadSet{"type", Errc::set_malformed, 1, 1, "type NAME BASE"},
        BadSet{"type a u32 b", Errc::set_malformed, 1, 12, "type NAME BASE"},
        BadSet{"type a u33", Errc::type_unknown, 1, 8, "u33"},
        BadSet{"type a b8", Errc::type_unknown, 1, 8, "b8"},
        BadSet{"include", Errc::set_malformed, 1, 1, "include NAME"},
        BadSet{"include f32 math", Errc::set_malformed, 1, 13, "include NAME"},
        BadSet{"include f33", Errc::set_include_wrong, 1, 9, "did you mean f32?"},
        BadSet{"include ../f32", Errc::set_include_wrong, 1, 9, "no set is named"},
        BadSet{"add.f32 f32, f32 -> u32", Errc::set_type_mismatch, 1, 21, "cannot stand for f32"},
        BadSet{"type t f32\nadd.u32 u32, t -> u32", Errc::set_type_mismatch, 2, 14, "which are f32"},
        BadSet{"ld.global.u16 u64 -> b8", Errc::set_type_mismatch, 1, 22, "or wider"},
        BadSet{"setp.lt.f32 f32, f32 -> u32", Errc::set_type_mismatch, 1, 25, "pred"},
        BadSet{"add.f32 f32, g32 -> f32", Errc::type_unknown, 1, 14, "did you mean b32?"},
        BadSet{"add.f32 f32", Errc::set_malformed, 1, 9, "f32, f32 -> f32"},
        BadSet{"add.f32 f32, -> f32", Errc::set_malformed, 1, 14, "f32, f32 -> f32"},
        BadSet{"add.f32 f32 f32 -> f32", Errc::set_malformed, 1, 13, "f32, f32 -> f32"},
        BadSet{"add.f32 f32, f32 ->", Errc::set_malformed, 1, 18, "f32, f32 -> f32"},
        BadSet{"add.f32 f32, f32 -> f32, f32", Errc::set_malformed, 1, 24, "f32, f32 -> f32"},
        BadSet{"add.f32 f32, f32, f32 -> f32", Errc::set_malformed, 1, 17, "f32, f32 -> f32"},
        BadSet{"lop3.b32 b32, b32, b32, 0xE8 -> b32", Errc::set_malformed, 1, 23, "b32, b32, b32 -> b32"},
        BadSet{"%tid.x -> u32", Errc::set_malformed, 1, 8, "weight NUMBER"},
        BadSet{"min.* f32", Errc::set_malformed, 1, 7, "weight NUMBER"},
        BadSet{"x = min.*", Errc::set_malformed, 1, 1, "their own names"},
        BadSet{"x =", Errc::set_malformed, 1, 3, "a form is missing"},
        BadSet{"1x = add.f32", Errc::set_malformed, 1, 1, "is no name"},
        BadSet{"= = add.f32", Errc::set_malformed, 1, 1, "is no name"},
        BadSet{"dup.f32 = add.f32", Errc::set_malformed, 1, 1, "a word of the language"},
        BadSet{"inff64 = add.f32", Errc::set_malformed, 1, 1, "a word of the language"},
        BadSet{"end = add.f32", Errc::set_malformed, 1, 1, "a word of the language"},
        BadSet{"add.f32 weight", Errc::set_malformed, 1, 9, "a number is missing"},
        BadSet{"add.f32 weight -1", Errc::set_malformed, 1, 16, "is no weight"},
        BadSet{"add.f32 weight nan", Errc::set_malformed, 1, 16, "is no weight"},
        BadSet{"add.f32 weight inf", Errc::set_malformed, 1, 16, "is no weight"},
        BadSet{"add.f32 weight 1e300", Errc::set_malformed, 1, 16, "is no weight"},
        BadSet{"add.f32 weight 1x", Errc::set_malformed, 1, 16, "is no weight"},
        BadSet{"add.f32 weight 1 2", Errc::set_malformed, 1, 18, "behind the weight"},
        BadSet{"\x01\x02", Errc::set_form_unknown, 1, 1,
               "'?"
               "?'"},
        BadSet{"\xFF", Errc::set_form_unknown, 1, 1, "no form of PTX"}));

TEST(Set, HugeTextsEndInErrors) {
    EXPECT_FALSE(InstructionSet::parse(std::string(1 << 20, 'a')));
    EXPECT_FALSE(InstructionSet::parse("add" + std::string(1 << 20, '.')));
    EXPECT_FALSE(InstructionSet::parse(std::string(1 << 16, ',')));
    std::string types, entries;
    for (int i = 0; i < 46; ++i) types += "type t" + std::to_string(i) + " u32\n";
    EXPECT_TRUE(InstructionSet::parse(types));
    EXPECT_FALSE(InstructionSet::parse(types + "type one_more u32\n"));
    for (int i = 0; i < 65536; ++i) entries += "n" + std::to_string(i) + " = add.f32\n";
    const Set full = parsed(entries);
    ASSERT_TRUE(full);
    EXPECT_EQ(full->find("n65535"), 65535);
    EXPECT_FALSE(InstructionSet::parse(entries + "one_more = add.f32\n"));
}

// What a text takes does not grow with how often it asks for the same forms.
TEST(Set, FormsAreMadeOnce) {
    const auto allocations_of = [](const std::string& text) {
        const std::size_t before = allocations;
        EXPECT_TRUE(parsed(text));
        return allocations - before;
    };
    EXPECT_TRUE(stack::find_set("full"));  // read now, and kept
    const std::size_t once = allocations_of("*\n");
    std::string patterns = "*\n";
    for (const std::string_view opcode : isa::pure_opcodes()) patterns += std::string(opcode) + ".*\n";
    EXPECT_LT(allocations_of(patterns), 2 * once);
    std::string includes = "include full\n";
    const std::size_t included = allocations_of(includes);
    for (int i = 0; i < 20'000; ++i) includes += "include full\n";
    EXPECT_LT(allocations_of(includes), 2 * included + 20'000);
    std::string stars;
    for (int i = 0; i < 2000; ++i) stars += "*\n";
    const std::size_t before = allocations;
    EXPECT_FALSE(InstructionSet::parse(stars));
    EXPECT_LT(allocations - before, 2 * once);
}

// --- what ships
TEST(Set, EveryShippedSetIsReadAndPrinted) {
    const auto names = stack::set_names();
    for (const char* wanted :
         {"expression", "f32", "full", "half", "integer", "math", "memory", "standard", "warp"})
        EXPECT_NE(std::find(names.begin(), names.end(), wanted), names.end()) << wanted;
    EXPECT_FALSE(stack::find_set("nope"));
    EXPECT_FALSE(stack::find_set(""));
    for (const std::string_view name : names) {
        const Set set = stack::find_set(name);
        ASSERT_TRUE(set) << name;
        EXPECT_EQ(stack::find_set(name), set) << "read once";
        const Set again = parsed(set->text());
        ASSERT_TRUE(again) << name;
        EXPECT_EQ(again->text(), set->text()) << name;
        EXPECT_EQ(names_of(*again), names_of(*set)) << name;
    }
}

TEST(Set, StandardHasFullWarpAndMemory) {
    const Set standard = stack::find_set("standard");
    for (const char* part : {"full", "warp", "memory"})
        for (const std::string& name : names_of(*stack::find_set(part)))
            EXPECT_GE(standard->find(name), 0) << part << " " << name;
    for (const Entry& entry : stack::find_set("full")->entries())
        EXPECT_EQ(entry.effects, Effect::none) << entry.name;
    for (const Entry& entry : stack::find_set("warp")->entries())
        EXPECT_TRUE(contains(Effect::warp, entry.effects)) << entry.name;
    for (const Entry& entry : stack::find_set("memory")->entries())
        EXPECT_TRUE(contains(Effect::load | Effect::store | Effect::atomic, entry.effects)) << entry.name;
}

TEST(Set, LibraryHoldsItsFiles) {
    std::string_view before;
    bool has_set = false;
    for (const stack::LibraryFile& file : stack::library()) {
        EXPECT_LT(before, file.name);
        EXPECT_FALSE(file.text.empty()) << file.name;
        has_set |= file.name == "sets/f32.set" && file.text.find("add.ftz.f32") != std::string_view::npos;
        before = file.name;
    }
    EXPECT_TRUE(has_set);
}

// --- ptxas
std::string register_of(const EntryOperand& operand, std::uint32_t number) {
    constexpr const char* registers[] = {"pred", "b16", "b32",   "b64", "u16", "u32", "u64", "s16", "s32",
                                         "s64",  "f16", "f16x2", "b16", "b32", "f32", "f64", "b8",  "b128"};
    return std::string(registers[operand.type]) + "_" + std::to_string(number);
}

// The entry's instruction with a register for every value.
std::string line_of(const Entry& entry) {
    if (entry.form == nullptr) {
        const std::string type = entry.special_type == stack::type_id(Type::pred)  ? "pred"
                                 : entry.special_type == stack::type_id(Type::u64) ? "u64"
                                                                                   : "u32";
        return "mov." + type + " " + type + "_0, " + entry.special + ";";
    }
    std::string line = entry.form->spelling;
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < entry.operands.size();) {
        const isa::OperandSpec& spec = *entry.operands[i].spec;
        line += spec.is_second ? "|" : i == 0 ? " " : ", ";
        std::string list;
        for (std::size_t e = 0; e < spec.count; ++e, ++i)
            list.append(e == 0 ? "" : ", ").append(register_of(entry.operands[i], number++));
        if (spec.is_immediate) list = std::to_string(spec.low == INT64_MIN ? 1 : spec.low);
        line += spec.is_vector ? "{" + list + "}" : spec.is_address ? "[" + list + "]" : list;
    }
    return line + ";";
}

struct Target {
    const char* name;
    isa::Architecture architecture;
    std::size_t part;  // of the forms that become code for it
};

class SetForms : public testing::TestWithParam<Target> {
  protected:
    void SetUp() override {
        if (const std::string reason = oracle::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    }
};

// What is_available says is there assembles, and what it says is not does not.
TEST_P(SetForms, AreWhatPtxasTakes) {
    const Target& target = GetParam();
    constexpr std::uint16_t version = 90;
    std::map<std::string, bool> lines;
    for (const char* name : {"standard", "expression", "f32", "half"})
        for (const Entry& entry : stack::find_set(name)->entries())
            lines[line_of(entry)] =
                entry.form == nullptr ? isa::is_special_available(entry.special, version, target.architecture)
                                      : isa::is_available(*entry.form, version, target.architecture);
    std::vector<std::string> texts;
    for (const auto& [text, unused] : lines) texts.push_back(text);
    const auto found = oracle::ptxas(texts, {target.name, "9.0"});
    std::size_t taken = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(found[i].empty(), lines[texts[i]]) << target.name << ": " << texts[i] << " " << found[i];
        taken += found[i].empty();
    }
    EXPECT_GT(taken, texts.size() / 2);
}

// Code generation sees more than the front end. Each target takes every fifth form, another fifth each.
TEST_P(SetForms, BecomeCode) {
    const Target& target = GetParam();
    std::string text = test::module_head("9.0", target.name) + ".entry k() {\n";
    for (const char* type : {"pred", "b8", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32",
                             "s64", "f16", "f16x2", "f32", "f64"})
        text += ".reg ." + std::string(type) + " " + type + "_<64>;\n";
    const auto entries = stack::find_set("standard")->entries();
    for (std::size_t i = target.part; i < entries.size(); i += 5)
        if (entries[i].form != nullptr && isa::is_available(*entries[i].form, 90, target.architecture))
            text += line_of(entries[i]) + "\n";
    text += "ret;\n}\n";
    const auto cubin = default_assembler().assemble(text, {.optimisation = 0});
    EXPECT_TRUE(cubin) << message(cubin.error(), text).substr(0, 2000);
}

INSTANTIATE_TEST_SUITE_P(Set, SetForms,
                         testing::Values(Target{"sm_75", {75, 0}, 0}, Target{"sm_90a", {90, 'a'}, 1},
                                         Target{"sm_100a", {100, 'a'}, 2}, Target{"sm_103a", {103, 'a'}, 3},
                                         Target{"sm_120a", {120, 'a'}, 4}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ptxgraft
