// Constant expressions: their values are those of ptxas, wherever they stand.
#include "ptxgraft/constant.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/emulator_machine.hpp"
#include "support/machine_code.hpp"
#include "support/ptxas_oracle.hpp"
#include "support/random_constants.hpp"

namespace ptxgraft::syntax {
namespace {

using Type = Constant::Type;
using test::RandomConstants;

constexpr const char* module_start = ".version 8.7\n.target sm_90\n.address_size 64\n";

std::string shown(const Expected<Constant>& constant) {
    if (!constant)
        return std::string(name(constant.error().code)) + " " + std::to_string(constant.error().span.begin);
    std::ostringstream out;
    switch (constant->type) {
        case Type::s64: return std::to_string(constant->as_signed());
        case Type::u64: return std::to_string(constant->bits) + "u";
        case Type::f64: out << std::bit_cast<double>(constant->bits) << "d"; return out.str();
        default: out << "0f" << std::hex << constant->bits; return out.str();
    }
}

TEST(Constant, ValuesTypesAndErrors) {
    const std::pair<const char*, const char*> rows[] = {
        {"42", "42"},
        {"-5", "-5"},
        {"- -5", "5"},
        {"--5", "5"},
        {"+-5", "-5"},
        {"!!5", "1"},
        {"-~5", "6u"},
        {"~-5", "4u"},
        {"052", "42"},
        {"0b101", "5"},
        {"0x2AU", "42u"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808u"},
        {"0xfabc123400000000", "18067335819651186688u"},
        {"WARP_SZ", "32"},
        {"WARP_SZ*2", "64"},
        {"WARP_SZ==32", "1"},
        {"-WARP_SZ", "-32"},
        {"1?2:3", "2"},
        {"0?2:3", "3"},
        {"1?0?3:4:5", "4"},
        {"0?2:0?4:5", "5"},
        {"1+1?2:3", "2"},
        {"-(1?2:3)", "-2"},
        {"(.u64)5", "5u"},
        {"(.s64)-1 < 0", "1"},
        {"(.u64)-1 > 0", "1"},
        {"(.u64)-1>>60", "15u"},
        {"(.s64)0x8000000000000000/2", "-4611686018427387904"},
        {"~0>>60", "15u"},
        {"0xFFFFFFFFFFFFFFFF>>60", "15u"},
        {"-1>>1", "-1"},
        {"1<<64", "1"},
        {"5>>65", "2"},
        {"1<<-1", "-9223372036854775808"},
        {"-1<1U", "0"},
        {"-1<1", "1"},
        {"-1U/2", "9223372036854775807u"},
        {"-7/2", "-3"},
        {"1U-2U>0", "1"},
        {"-5 % 3", "2u"},
        {"7 % -2", "7u"},
        {"0x7FFFFFFFFFFFFFFF+1<0", "1"},
        {"(1?-1:1U)>>60", "-1"},
        {"(-1&-1)>>60", "-1"},
        {"(-1&-1U)>>60", "15u"},
        {"-1<(5 % 3)", "0"},
        {"1|2==2", "1"},
        {"1<<2+3", "32"},
        {"100/7 % 5*2", "8u"},
        {"1||0&&0", "1"},
        {"4^1&3", "5"},
        {"1.5+2.5", "4d"},
        {"(1.5)", "1.5d"},
        {"-(1.5)", "-1.5d"},
        {"1.0-3.0*2.0", "-5d"},
        {"1.0==1.0", "1"},
        {"(1.0<2.0)+1", "2"},
        {"1e308*10.0", "infd"},
        {"0f3F800000", "0f3f800000"},
        {"(0f3F800000)", "0f3f800000"},
        {"0d3FF0000000000000", "1d"},
        {"/* a */ 1 // b\n + 2", "3"},
        // The place is that of the operator or of the literal.
        {"5/0", "constant_division_by_zero 1"},
        {"5 % 0", "constant_division_by_zero 2"},
        {"1.0/0.0", "constant_division_by_zero 3"},
        {"1?2:1/0", "constant_division_by_zero 5"},
        {"1||1/0", "constant_division_by_zero 4"},
        {"(.s64)0x8000000000000000/-1", "constant_out_of_range 24"},
        {"1e400", "constant_out_of_range 0"},
        {"1+5e-324", "constant_out_of_range 2"},
        {"1.0+1", "constant_operands_differ 3"},
        {"1.5<2", "constant_operands_differ 3"},
        {"1.0<<1", "constant_operands_differ 3"},
        {"~1.0", "constant_operand_invalid 0"},
        {"!1.0", "constant_operand_invalid 0"},
        {"1.0&&1.0", "constant_operand_invalid 3"},
        {"1.0?2:3", "constant_operand_invalid 5"},
        {"1?1.0:2.0", "constant_operand_invalid 5"},
        {"(.u64)1.5", "constant_operand_invalid 0"},
        {"-0f3F800000", "constant_operand_invalid 0"},
        {"0f3F800000+1.0", "constant_operand_invalid 10"},
        {"", "constant_malformed 4294967295"},
        {"1+", "constant_malformed 2"},
        {"(1", "constant_malformed 2"},
        {"1)", "constant_malformed 1"},
        {"1 2", "constant_malformed 2"},
        {"1?2", "constant_malformed 3"},
        {"1:2", "constant_malformed 1"},
        {"(.u32)5", "constant_malformed 1"},
        {"x+1", "constant_malformed 0"},
        {"()", "constant_malformed 1"},
        {"1?(2:3)", "constant_malformed 4"},
        {"(1?2):3", "constant_malformed 4"},
        {"*1", "constant_malformed 0"},
        {"99999999999999999999", "number_malformed 0"},
    };
    for (const auto& [text, expected] : rows) EXPECT_EQ(shown(evaluate_constant(text)), expected) << text;
}

TEST(Constant, ParenthesesNestAsDeepAsATextWants) {
    const std::size_t depth = 200'000;
    EXPECT_EQ(shown(evaluate_constant(std::string(depth, '(') + "7" + std::string(depth, ')'))), "7");
    EXPECT_EQ(shown(evaluate_constant(std::string(depth, '-') + "7")), "7");
    std::string choices;
    for (std::size_t i = 0; i < depth; ++i) choices += "0?1:";
    EXPECT_EQ(shown(evaluate_constant(choices + "7")), "7");
}

// --- ptxas

std::string initial_bytes(const Cubin& cubin) { return section(cubin, ".nv.global.init"); }

Cubin assembled(const std::string& ptx) {
    auto cubin = default_assembler().assemble(ptx, {.optimisation = 0});
    EXPECT_TRUE(cubin) << describe(cubin.error(), ptx).substr(0, 2000);
    return cubin.value_or(Cubin{});
}

std::string literal_of(const Constant& c) {
    char text[32];
    if (c.is_integer()) return std::to_string(c.bits) + "U";
    std::snprintf(text, sizeof text, c.type == Type::f64 ? "0d%016llX" : "0f%08llX",
                  static_cast<unsigned long long>(c.bits));
    return text;
}

// `.global .u64 x[] = {…}` in a cubin holds what ptxas makes of each expression.
TEST(Constant, PtxasGivesRandomIntegerExpressionsTheSameValues) {
    RandomConstants random(1);
    std::vector<std::string> texts;
    std::vector<std::uint64_t> values;
    while (texts.size() < 20'000) {
        const std::string text = random.integer(1 + static_cast<int>(random.below(5)));
        const auto value = evaluate_constant(text);
        if (!value || !value->is_integer()) continue;
        texts.push_back(text);
        values.push_back(value->bits);
    }
    std::string ptx = std::string(module_start) + ".visible .global .align 8 .u64 x[] = {";
    for (const std::string& text : texts) ptx += (ptx.back() == '{' ? "" : ",\n") + text;
    const std::string bytes = initial_bytes(assembled(ptx + "};\n"));
    ASSERT_EQ(bytes.size(), 8 * texts.size());
    std::size_t differ = 0;
    for (std::size_t i = 0; i < texts.size() && differ < 10; ++i) {
        std::uint64_t theirs = 0;
        std::memcpy(&theirs, bytes.data() + 8 * i, 8);
        if (theirs == values[i]) continue;
        ++differ;
        ADD_FAILURE() << texts[i] << ": ptxas " << theirs << ", ours " << values[i];
    }
}

TEST(Constant, PtxasGivesRandomFloatingExpressionsTheSameValues) {
    RandomConstants random(2);
    for (const auto& [type, width] : {std::pair{".f64", 8}, std::pair{".f32", 4}, std::pair{".b64", 8},
                                      std::pair{".b32", 4}, std::pair{".b16", 2}, std::pair{".b8", 1}}) {
        std::vector<std::string> texts;
        while (texts.size() < 2'000) {
            std::string text = random.floating(static_cast<int>(random.below(4)));
            if (random.below(20) == 0)
                text = random.pick({"0f3F812345", "(0f7F800001)", "0fFFC12345", "0d7FF0000000000001",
                                    "0d7FFC000012345678", "0d0000000000000001", "0d36A0000000000001"});
            if (evaluate_constant(text)) texts.push_back(text);
        }
        std::string ptx = std::string(module_start) + ".visible .global .align 8 " + type + " x[] = {";
        for (const std::string& text : texts) ptx += (ptx.back() == '{' ? "" : ",\n") + text;
        ptx += "};\n.visible .entry k() { ret; }\n";
        const std::string bytes = initial_bytes(assembled(ptx));
        ASSERT_EQ(bytes.size(), static_cast<std::size_t>(width) * texts.size()) << type;
        Machine machine;
        EXPECT_RUNS(machine, machine.load(ptx));
        const auto ours =
            machine.download<char>(machine.emulator.symbol(*machine.module, "x")->address, bytes.size());
        for (std::size_t i = 0; i < texts.size(); ++i)
            EXPECT_EQ(std::string_view(ours.data() + i * width, width),
                      std::string_view(bytes).substr(i * width, width))
                << type << ' ' << texts[i];
    }
}

// --- in instructions

enum class Kind { integer, floating, single };
struct Place {
    const char*
        line;  // `$` stands for the expression; the result is %rd3, %r3, %f3, %fd3 or %h3, by the last word
    Kind kind;
    const char* result;
};
constexpr Place places[] = {
    {"mov.u64 %rd3, $;", Kind::integer, "rd"},
    {"mov.b32 %r3, $;", Kind::integer, "r"},
    {"mov.u16 %h3, $;", Kind::integer, "h"},
    {"mov.f64 %fd3, $;", Kind::floating, "fd"},
    {"mov.f32 %f3, $;", Kind::single, "f"},
    {"mov.b64 %rd3, $;", Kind::floating, "rd"},
    {"add.s32 %r3, %r1, $;", Kind::integer, "r"},
    {"sub.s64 %rd3, $, %rd2;", Kind::integer, "rd"},
    {"mul.wide.s16 %r3, %h1, $;", Kind::integer, "r"},
    {"cvt.s64.s32 %rd3, $;", Kind::integer, "rd"},
    {"cvt.u64.u8 %rd3, $;", Kind::integer, "rd"},
    {"fma.rn.f32 %f3, %f1, $, 1.0/3.0;", Kind::single, "f"},
    {"mov.pred %p3, $; selp.u32 %r3, 1, 2, %p3;", Kind::integer, "r"},
    {"selp.b32 %r3, %r1, 5, $;", Kind::integer, "r"},
    {"and.pred %p3, %p1, $; selp.u32 %r3, 1, 2, %p3;", Kind::integer, "r"},
    {"setp.lt.and.s16 %p3, %h1, $, 256; selp.u32 %r3, 1, 2, %p3;", Kind::integer, "r"},
    {"mov.b64 %rd3, {%r1, $};", Kind::integer, "rd"},
    {"lop3.b32 %r3, %r1, %r2, 7, ($) & 255;", Kind::integer, "r"},
    {"shf.l.wrap.b32 %r3, %r1, %r2, $;", Kind::integer, "r"},
    {"ld.param.u32 %r3, [o+8+(($) & 7)*4];", Kind::integer, "r"},
    {"ld.global.u32 %r3, [%rd1+(($) & 7)*4];", Kind::integer, "r"},
    {"ld.global.u32 %r3, [g+(($) & 7)*4];", Kind::integer, "r"},
    {"ld.const.u32 %r3, c[($) & 7];", Kind::integer, "r"},
    {"ld.global.u32 %r3, g[%r2+(($) & 3)];", Kind::integer, "r"},
    {"mov.u64 %rd3, g[($) & 7]; sub.u64 %rd3, %rd3, %rd4;", Kind::integer, "rd"},
    {"mov.u64 %rd3, g+(($) & 7); sub.u64 %rd3, %rd3, %rd4;", Kind::integer, "rd"},
    {"call (%r3), callee, ($);", Kind::integer, "r"},
};

std::string with(std::string_view line, std::string_view expression) {
    std::string text(line);
    const std::size_t at = text.find('$');
    return at == std::string::npos ? text : text.replace(at, 1, expression);
}

// The value as a literal, in the width that it has there.
std::string literal_at(const Place& place, const Constant& c) {
    if (place.kind != Kind::single || c.type != Type::f64) return literal_of(c);
    const auto narrow = static_cast<float>(std::bit_cast<double>(c.bits));
    return literal_of({Type::f32, std::bit_cast<std::uint32_t>(narrow)});
}

struct Kernel {
    std::string text = std::string(module_start) +
                       ".global .align 8 .u32 g[8] = {10, 11, 12, 13, 14, 15, 16, 17};\n.const .u32 c[8] = "
                       "{20, 21, 22, 23, 24, 25, 26, 27};\n"
                       ".func (.reg .b32 r) callee(.reg .b32 a) { add.u32 r, a, 1; ret; }\n"
                       ".visible .entry k(.param .b8 o[40]) {\n.reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 "
                       "%f<8>; .reg .f64 %fd<8>; .reg .b16 %h<8>; .reg .pred %p<4>;\n"
                       "ld.param.u64 %rd1, [o]; mov.u64 %rd4, g; mov.u32 %r1, %laneid; add.u32 %r1, %r1, 77; "
                       "mov.u32 %r2, %laneid; mov.u64 %rd2, 12345;\n"
                       "cvt.u16.u32 %h1, %r1; cvt.rn.f32.u32 %f1, %r1; setp.gt.u32 %p1, %r1, 3;\n";
    std::size_t bytes = 64;

    void add(const Place& place, std::string_view expression) {
        const std::string result = place.result;
        const std::string type = result == "rd"  ? "u64"
                                 : result == "r" ? "u32"
                                 : result == "h" ? "u16"
                                 : result == "f" ? "f32"
                                                 : "f64";
        text += with(place.line, expression) + " st.global." + type + " [%rd1+" + std::to_string(bytes) +
                "], %" + result + "3;\n";
        bytes += 8;
    }
    [[nodiscard]] std::string ptx() const { return text + "ret;\n}\n"; }
};

std::vector<std::uint64_t> run(const std::string& ptx, std::size_t bytes) {
    Machine machine;
    EXPECT_RUNS(machine, machine.load(ptx));
    std::vector<std::uint64_t> memory(bytes / 8, 0);
    for (std::size_t i = 0; i < 8; ++i) memory[i] = 100 + i;
    const std::uint64_t address = machine.upload(memory);
    struct {
        std::uint64_t address;
        std::uint32_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    } parameter{address};
    EXPECT_RUNS(machine, machine.launch("k", {.block = {1, 1, 1}}, parameter));
    return machine.download<std::uint64_t>(address, memory.size());
}

// The machine code of an expression is that of its value, and the emulator computes the same of both.
TEST(Constant, InstructionsTakeTheValuesThatPtxasTakes) {
    RandomConstants random(4);
    for (int round = 0; round < 12; ++round) {
        Kernel written, valued;
        std::vector<std::string> lines;
        while (lines.size() < 300) {
            const Place& place = places[random.below(std::size(places))];
            const int depth = static_cast<int>(random.below(5));
            const std::string expression =
                place.kind == Kind::integer ? random.integer(depth) : random.floating(depth);
            const auto value = evaluate_constant(expression);
            if (!value || value->is_integer() != (place.kind == Kind::integer)) continue;
            lines.push_back(with(place.line, expression));
            written.add(place, expression);
            valued.add(place, literal_at(place, *value));
        }
        EXPECT_EQ(machine_code(assembled(written.ptx())), machine_code(assembled(valued.ptx())))
            << "round " << round;
        const auto module = parse(written.ptx());
        ASSERT_TRUE(module);
        for (const Error& error : isa::verify(*module)) ADD_FAILURE() << describe(error, written.ptx());
        const auto theirs = run(written.ptx(), written.bytes), ours = run(valued.ptx(), valued.bytes);
        for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(theirs[8 + i], ours[8 + i]) << lines[i];
    }
}

// What a person writes, with the values that the manual gives.
TEST(Constant, TheEmulatorComputesWithThem) {
    const std::tuple<const char*, const char*, std::uint64_t> rows[] = {
        {"mov.u32 %r3, WARP_SZ*2;", "r", 64},
        {"mov.u32 %r3, 1?2:3;", "r", 2},
        {"mov.u32 %r3, (.u64)5;", "r", 5},
        {"mov.u32 %r3, - -5;", "r", 5},
        {"mov.u32 %r3, -5 % 3;", "r", 2},
        {"mov.u32 %r3, ~0>>60;", "r", 15},
        {"mov.u32 %r3, -1<1U;", "r", 0},
        {"mov.f32 %f3, 1.5+2.5;", "f", 0x40800000},
        {"mov.f32 %f3, (1.5);", "f", 0x3FC00000},
        {"mov.pred %p3, 256; selp.u32 %r3, 1, 0, %p3;", "r", 1},
        {"selp.u32 %r3, 1, 0, 4294967296;", "r", 1},
        {"mov.u32 %r3, %ntid.w;", "r", 0},
        {"mov.u32 %r3, %nctaid.w;", "r", 0},
        {"mov.u32 %r3, %nclusterid.w;", "r", 0},
        {"mov.u32 %r3, %cluster_nctaid.w;", "r", 0},
        {"mov.f64 %fd3, 0f3F800000;", "fd", 0x3F800000},
        {"ld.global.u32 %r3, [g+(1?4:8)];", "r", 11},
        {"ld.global.u32 %r3, [%rd4+WARP_SZ/8];", "r", 11},
        {"ld.global.u32 %r3, g[3];", "r", 13},
        {"ld.global.u32 %r3, g[%r2+2];", "r", 12},
        {"mov.u64 %rd3, g[2]; ld.global.u32 %r3, [%rd3];", "r", 12},
        {"ld.const.u32 %r3, c[WARP_SZ/8];", "r", 24},
    };
    Kernel kernel;
    for (const auto& [line, result, value] : rows) kernel.add({line, Kind::integer, result}, "");
    for (const auto& [line, result, value] : rows) ASSERT_EQ(std::string(line).find('$'), std::string::npos);
    const auto results = run(kernel.ptx(), kernel.bytes);
    for (std::size_t i = 0; i < std::size(rows); ++i)
        EXPECT_EQ(results[8 + i], std::get<2>(rows[i])) << std::get<0>(rows[i]);
}

// An expression that has no value never runs as 0.
TEST(Constant, TheEmulatorRefusesWhatHasNoValue) {
    for (const char* expression : {"5/0", "1.0+1", "1e400", "-0f3F800000", "1?1.0:2.0", "~1.5"}) {
        for (const char* line : {"mov.f32 %f3, $;", "mov.b64 %rd3, $;", "ld.global.u32 %r3, [%rd1+$];",
                                 "mov.u64 %rd3, g+$;", "ld.global.u32 %r3, g[$];", "mov.pred %p3, $;"}) {
            Kernel kernel;
            kernel.text += with(line, expression);
            Machine machine;
            const auto loaded = machine.load(kernel.ptx());
            ASSERT_FALSE(loaded) << line << ' ' << expression;
            const auto value = evaluate_constant(expression);
            EXPECT_EQ(loaded.error().code, value ? Errc::operand_invalid : value.error().code)
                << describe(loaded.error(), kernel.ptx());
        }
    }
}

// --- first values

// A list as deep as the sizes, often incomplete, sometimes too long or too deep.
std::string random_list(RandomConstants& random, const std::vector<std::uint64_t>& sizes, std::size_t level,
                        bool is_vector, bool is_floating) {
    if (level == sizes.size())
        return is_floating ? random.floating(static_cast<int>(random.below(2)))
                           : random.integer(static_cast<int>(random.below(3)));
    const bool is_whole = is_vector && level + 1 == sizes.size();
    std::uint64_t count = is_whole ? sizes[level] : random.below(sizes[level] + 1);
    if (random.below(60) == 0) count = sizes[level] + 1;
    std::string text = "{";
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t next = random.below(100) == 0 ? sizes.size() : level + 1;
        text += (i == 0 ? "" : ", ") + random_list(random, sizes, next, is_vector, is_floating);
    }
    return text + "}";
}

std::string random_variable(RandomConstants& random) {
    const std::string type = random.pick({".b8", ".u8", ".s8", ".b16", ".u16", ".s16", ".b32", ".u32", ".s32",
                                          ".f32", ".b64", ".u64", ".s64", ".f64"});
    std::vector<std::uint64_t> sizes;
    std::string text = ".visible .global .align 16 ", extents;
    const std::uint64_t vector =
        type.ends_with("64") ? random.below(2) * 2 : random.pick({"0", "0", "2", "4"})[0] - '0';
    if (vector != 0) text += ".v" + std::to_string(vector) + " ";
    for (std::uint64_t i = random.below(4); i != 0; --i) {
        sizes.push_back(1 + random.below(3));
        extents +=
            sizes.size() == 1 && random.below(4) == 0 ? "[]" : "[" + std::to_string(sizes.back()) + "]";
    }
    if (vector != 0) sizes.push_back(vector);
    const bool is_floating = type[1] == 'f'   ? random.below(20) != 0
                             : type[1] == 'b' ? random.below(3) == 0
                                              : random.below(20) == 0;
    return text + type + " x" + extents + " = " + random_list(random, sizes, 0, vector != 0, is_floating) +
           ";\n";
}

TEST(Constant, VariablesBeginAsPtxasHasThem) {
    RandomConstants random(5);
    std::size_t legal = 0, illegal = 0;
    for (int i = 0; i < 1'500; ++i) {
        const std::string ptx = module_start + random_variable(random) + ".visible .entry k() { ret; }\n";
        const auto module = parse(ptx);
        const bool is_evaluable = module && isa::verify(*module).empty();
        const auto theirs = ptx.find('/') == std::string::npos
                                ? default_assembler().assemble(ptx, {.optimisation = 0})
                                : Expected<Cubin>(fail(Errc::ok));
        if (!theirs && theirs.error().code == Errc::ok)
            continue;  // a division may crash ptxas, and this process with it
        EXPECT_EQ(is_evaluable, theirs.has_value()) << ptx;
        Machine machine;
        const auto loaded = machine.load(ptx);
        EXPECT_EQ(loaded.has_value(), theirs.has_value())
            << ptx << (loaded ? "" : describe(loaded.error(), ptx));
        ++(theirs ? legal : illegal);
        if (!theirs || !loaded) continue;
        const auto symbol = machine.emulator.symbol(*machine.module, "x").value();
        const auto ours = machine.download<char>(symbol.address, symbol.bytes);
        std::string bytes = initial_bytes(*theirs);
        if (bytes.empty()) bytes.assign(symbol.bytes, 0);  // ptxas keeps zeros apart
        EXPECT_EQ(std::string(ours.begin(), ours.end()), bytes) << ptx;
    }
    EXPECT_GT(legal, 800u);
    EXPECT_GT(illegal, 50u);
}

// WARP_SZ stands wherever an integer does.
TEST(Constant, TheWarpSizeIsANumberInDeclarations) {
    const std::string ptx =
        std::string(module_start) +
        ".global .align WARP_SZ .b8 x[WARP_SZ] = {WARP_SZ, 2};\n"
        ".visible .entry k(.param .b8 p[WARP_SZ]) .maxntid WARP_SZ, 2 .maxnreg WARP_SZ {\n"
        ".reg .b32 %q<WARP_SZ>; .shared .b32 s[WARP_SZ]; .reg .b64 %rd<2>; .loc 1 WARP_SZ 1\n"
        "ld.param.u64 %rd1, [p]; ld.param.u32 %q1, [p+28]; st.shared.u32 [s+124], %q1; ld.shared.u32 %q31, "
        "[s+124]; st.global.u32 [%rd1], %q31; ret;\n}\n.file 1 \"a.cu\"\n";
    assembled(ptx);
    const auto module = parse(ptx);
    ASSERT_TRUE(module) << describe(module.error(), ptx);
    EXPECT_EQ(print(*module), ptx);
    for (const Error& error : isa::verify(*module)) ADD_FAILURE() << describe(error, ptx);
    EXPECT_EQ(module->statements()[3].variable()->declarators[0].extents, std::vector<std::uint64_t>{32});
    EXPECT_EQ(module->statements()[3].variable()->align, 32u);
    const Statement entry = module->find_function("k");
    EXPECT_EQ(entry.parameters()[0].count, 32u);
    EXPECT_EQ(entry.first_child().variable()->declarators[0].range, 32u);
    const Names names(*module);
    EXPECT_EQ(names.find(entry.first_child().next(), "%q31").range, 32u);
    EXPECT_FALSE(names.find(entry.first_child().next(), "WARP_SZ"));
    Machine machine;
    EXPECT_RUNS(machine, machine.load(ptx));
    struct {
        std::uint64_t address;
        std::uint32_t rest[6] = {0, 0, 0, 0, 0, 99};
    } parameter{machine.upload(std::vector<std::uint32_t>{0})};
    EXPECT_RUNS(machine, machine.launch("k", {.block = {1, 1, 1}}, parameter));
    EXPECT_EQ(machine.download<std::uint32_t>(parameter.address, 1)[0], 99u);
    EXPECT_EQ(machine.emulator.symbol(*machine.module, "x")->bytes, 32u);
    const auto refused = machine.launch("k", {.block = {65, 1, 1}}, parameter);
    EXPECT_FALSE(refused);
}

// Which expressions there are at all: ptxas's front end and verify say the same of lines with legal and
// broken ones.
TEST(Constant, PtxasRefusesTheSameExpressions) {
    RandomConstants random(3);
    std::vector<std::string> lines;
    for (int i = 0; i < 2'500; ++i) {
        const std::string text = random.any(static_cast<int>(random.below(4)));
        const bool has_comment = text.find("//") != std::string::npos || text.find("/*") != std::string::npos;
        if (has_comment) continue;
        switch (random.below(6)) {
            case 0: lines.push_back("mov.b64 b64_1, " + text + ";"); break;
            case 1: lines.push_back("mov.f32 f32_1, " + text + ";"); break;
            case 2: lines.push_back("ld.global.b32 b32_1, [b64_1+" + text + "];"); break;
            case 3: lines.push_back("mov.b64 b64_1, gv+" + text + ";"); break;
            case 4: lines.push_back("st.global.b8 gv[" + text + "], b32_1;"); break;
            default: lines.push_back("selp.u32 b32_1, 1, 2, " + text + ";"); break;
        }
    }
    const oracle::Setting setting{.target = "sm_90", .version = "8.7"};
    const auto theirs = oracle::ptxas(lines, setting), ours = oracle::ours(lines, setting);
    std::size_t legal = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        legal += theirs[i].empty() ? 1 : 0;
        // ptxas crashes on the least .s64 divided by -1; wraps most literals of more than 64 bits around in
        // silence; and finds names that nobody declared behind its front end.
        const bool is_apart = theirs[i] == oracle::crashed ||
                              ours[i].find("at most 64 bits") != std::string::npos ||
                              ours[i].starts_with("name_undeclared");
        if (is_apart) continue;
        EXPECT_EQ(theirs[i].empty(), ours[i].empty())
            << lines[i] << "\nptxas: " << theirs[i] << "\nours: " << ours[i];
    }
    EXPECT_GT(legal, lines.size() / 4);
    EXPECT_LT(legal, lines.size() * 3 / 4);
}

}  // namespace
}  // namespace ptxgraft::syntax
