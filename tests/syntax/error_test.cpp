// What is no PTX is an error that says where and what would be right; ptxas decides what is no PTX.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::syntax {
namespace {

using ::testing::HasSubstr;

struct ErrorRow {
    std::string text;
    Errc code;
    std::uint32_t line, column;
    std::string_view message;  // a part of it
};

TEST(SyntaxError, ErrorsSayWhereAndWhatWouldBeRight) {
    using E = Errc;
    const std::string head = ".version 9.0\n.func f {\n";  // two lines
    const ErrorRow rows[] = {
        {head + "add.s32 a, b, c\nret;\n}", E::syntax_expected, 3, 16,
         "expected ';' after the instruction, found 'ret'"},
        {head + "add.s32 a, b, c }", E::syntax_expected, 3, 16, "expected ',' or ';', found '}'"},
        {head + "add.s32 a b, c;}", E::syntax_expected, 3, 10, "expected ',' or ';', found 'b'"},
        {head + "add.s32 a,, c;}", E::syntax_expected, 3, 11, "expected an operand, found ','"},
        {head + "add.s32 a, b,;}", E::syntax_expected, 3, 14, "expected an operand, found ';'"},
        {head + "ld.u32 a, [b;}", E::syntax_expected, 3, 13, "expected ',' or ']', found ';'"},
        {head + "ld.u32 a, [b);}", E::syntax_expected, 3, 13, "expected ']', found ')'"},
        {head + "mov.b32 {a, b, c;}", E::syntax_expected, 3, 17, "expected ',' or '}', found ';'"},
        {head + "mov.b32 a, {};}", E::syntax_expected, 3, 13, "expected an operand, found '}'"},
        {head + "@ add.s32 a, b, c;}", E::syntax_expected, 3, 6,
         "expected an instruction after the guard predicate"},
        {head + "ret;\n", E::bracket_unclosed, 2, 9, "this '{' is never closed"},
        {head + "{ ret;\n}", E::bracket_unclosed, 2, 9, "this '{' is never closed"},
        {head + "}\n}", E::brace_unopened, 4, 1, "'}' without a '{' before it"},
        {head + "mov.f32 a, 1.5e;}", E::number_malformed, 3, 12, "malformed number 1.5e"},
        {head + "mov.u32 a, 0x;}", E::number_malformed, 3, 12, "0x needs hexadecimal digits"},
        {head + "mov.u32 a, 0xG;}", E::number_malformed, 3, 12, "0x"},
        {head + "mov.u32 a, 08;}", E::number_malformed, 3, 12, "octal"},
        {head + "mov.u32 a, 0b2;}", E::number_malformed, 3, 12, "0b"},
        {head + "mov.u64 a, 0x10000000000000000;}", E::number_malformed, 3, 12, "at most 64 bits"},
        {head + "mov.u64 a, 18446744073709551616U;}", E::number_malformed, 3, 12, "at most 64 bits"},
        {head + "mov.u32 a, 12ab;}", E::number_malformed, 3, 12, "malformed number 12ab"},
        {head + "mov.u32 a, 3u;}", E::number_malformed, 3, 12, "may end in U"},
        {head + "mov.f32 a, 0f3F80000;}", E::number_malformed, 3, 12, "exactly 8"},
        {head + "mov.f32 a, 0f3F8000000;}", E::number_malformed, 3, 12, "exactly 8"},
        {head + "mov.f64 a, 0d3F800000;}", E::number_malformed, 3, 12, "exactly 16"},
        {head + "mov.f64 a, 1.5f;}", E::number_malformed, 3, 12, "malformed number 1.5f"},
        {head + "add.s32 a, b`, c;}", E::character_unexpected, 3, 13, "unexpected character '`'"},
        {head + "add. s32 a, b, c;}", E::character_unexpected, 3, 4, "unexpected character '.'"},
        {head + "# pragma\n}", E::character_unexpected, 3, 1, "unexpected character '#'"},
        {head + "/* ret; }", E::comment_unclosed, 3, 1, "expected '*/'"},
        {head + ".pragma \"nounroll;\n}", E::string_unclosed, 3, 9, "expected '\"'"},
        {head + std::string("ret\0;}", 6), E::nul_byte, 3, 4, "NUL"},
        {head + std::string("// \0\n}", 6), E::nul_byte, 3, 4, "NUL"},
        {head + ".pragma 5\nret;}", E::syntax_expected, 3, 8,
         "expected a string in double quotes, found '5'"},
        {head + ".reg .b32 a b;}", E::syntax_expected, 3, 12, "expected ',' or ';'"},
        {head + ".reg .b32 a<b>;}", E::syntax_expected, 3, 13, "the number of registers"},
        {head + ".loc 1 2\nret;}", E::syntax_expected, 3, 9, "three numbers"},
        {head + ".nonsense 1;}", E::directive_unknown, 3, 1, "unknown directive .nonsense"},
        {head + ".func g { } }", E::statement_misplaced, 3, 1, "a function inside a function"},
        {head + ", }", E::syntax_expected, 3, 1, "expected an instruction, label or directive, found ','"},
        {"add.s32 a, b, c;", E::statement_misplaced, 1, 1, "an instruction outside a function"},
        {"{ }", E::statement_misplaced, 1, 1, "a block outside a function"},
        {".version 9", E::syntax_expected, 1, 9, "as in .version 9.0"},
        {".target", E::syntax_expected, 1, 8, "found the end of the text"},
        {".address_size x", E::syntax_expected, 1, 14, "32 or 64"},
        {".func g () ret;", E::syntax_expected, 1, 11, "'{' or ';' after the function's head"},
        {".entry g () .func h;", E::syntax_expected, 1, 12, "'{' or ';' after the function's head"},
        {head + ";}", E::syntax_expected, 3, 1, "expected an instruction, label or directive, found ';'"},
        {head + "ld.u32 a, [b-4];}", E::syntax_expected, 3, 13, "[name+-4]"},
        {head + "ld.u32 a, [b*4];}", E::syntax_expected, 3, 13, "expected ',' or ']', found '*'"},
        {head + "ld.u32 a, [_];}", E::syntax_expected, 3, 12, "expected an address"},
        {head + "add.s32 a, b + c, 1;}", E::syntax_expected, 3, 15, "expected an operand, found 'c'"},
        {head + "add.s32 a, ~b, 1;}", E::syntax_expected, 3, 13, "expected an operand, found 'b'"},
        {head + "add.s32 a, _, 1;}", E::syntax_expected, 3, 12, "'_' stands for a destination"},
        {head + "add.s32 a, b|c, 1;}", E::syntax_expected, 3, 13, "expected ',' or ';', found '|'"},
        {head + "mov.b32 a, {{b}};}", E::syntax_expected, 3, 13, "an element of the vector"},
        {head + "mov.b32 a, (1;}", E::syntax_expected, 3, 14, "')'"},
        {head + "mov.b32 a, 1 ? 2;}", E::syntax_expected, 3, 17, "':' for the '?'"},
        {head + "mov.b32 a, $;}", E::character_unexpected, 3, 12, "'$'"},
        {head + "add.align.s32 a, b, c;}", E::syntax_expected, 3, 4, "a modifier, an operand or ';'"},
        {head + "call (a) f;}", E::syntax_expected, 3, 9, "',' after the return values"},
        {head + "call f, (a, [b]);}", E::syntax_expected, 3, 13, "a name or a constant"},
        {head + "call f, a, b;}", E::syntax_expected, 3, 10, "expected ',' or ';'"},
        {head + "@p L: ret;}", E::syntax_expected, 3, 4, "an instruction after the guard"},
        {head + "_: ret;}", E::syntax_expected, 3, 1, "expected a label"},
        {head + ".reg a;}", E::syntax_expected, 3, 5, "a type"},
        {head + ".reg .b32 .b64 a;}", E::syntax_expected, 3, 10, "a variable name"},
        {head + ".reg .b32 a<3>[2];}", E::syntax_expected, 3, 15, "',' or ';'"},
        {head + ".visible .global .b32 a;}", E::statement_misplaced, 3, 1, "linkage inside a function"},
        {head + ".file 1 \"a\"\n}", E::statement_misplaced, 3, 1, "expected it outside"},
        {head + ".maxntid 1;}", E::statement_misplaced, 3, 1, "between a function's head and its body"},
        {head + ".loc 1 2 3, inlined_at 1 2 3\n}", E::syntax_expected, 3, 13, "function_name"},
        {head + ".branchtargets 1;}", E::syntax_expected, 3, 15, "a label"},
        {"L: ret;", E::statement_misplaced, 1, 1, "a label outside a function"},
        {".loc 1 2 3", E::statement_misplaced, 1, 1, "expected it inside"},
        {".alias a;", E::syntax_expected, 1, 9, "','"},
        {".common .func f;", E::syntax_expected, 1, 8, "a variable after .common"},
        {".global .attribute(.b32) .b32 a;", E::syntax_expected, 1, 20, ".managed or .unified"},
        {".global .align .b32 a;", E::syntax_expected, 1, 15, "the alignment in bytes"},
        {".global .b32 a = generic(1);", E::syntax_expected, 1, 26, "a variable or function"},
        {".global .b32 a = g(b);", E::syntax_expected, 1, 19, "generic before '('"},
        {".global .b32 a[2][];", E::syntax_expected, 1, 19, "the number of elements"},
        {".entry f(.b32 a) { }", E::syntax_expected, 1, 10, "a state space"},
        {".entry f(.param .b32) { }", E::syntax_expected, 1, 21, "a parameter name"},
        {".entry f() .maxntid 1, { }", E::syntax_expected, 1, 23, "a number after .maxntid"},
        {".section \"a\" { }", E::syntax_expected, 1, 9, "a section's name"},
        {".section .debug_x { .b8 .b8 }", E::syntax_expected, 1, 24, "a number, a label or a section"},
        {".section .debug_x{.b8.1}", E::syntax_expected, 1, 22, "a number, a label or a section"},
        {".section.1 { }", E::syntax_expected, 1, 9, "a section's name"},
        {head + ".loc 1 2 3, function_name.1, inlined_at 1 2 3\n}", E::syntax_expected, 3, 26,
         "a label after function_name"},
        {".visible .version 9.0", E::syntax_expected, 1, 9, "a function or variable after its linkage"},
        {".func (.param .b32 a g;", E::syntax_expected, 1, 21, "',' or ')' in the parameter list"},
        {".func g (.param .b32 a", E::bracket_unclosed, 1, 9, "this '(' is never closed"},
        {".global .b32 a = ;", E::syntax_expected, 1, 17, "an operand"},
        {".global .b32 a = {1 2};", E::syntax_expected, 1, 20, "expected ',' or '}', found '2'"},
        {".global .b32 a[;", E::syntax_expected, 1, 16, "']'"},
        {".section .debug_info { .b8 1", E::bracket_unclosed, 1, 22, "this '{' is never closed"},
        {".section .debug_info { 1 }", E::syntax_expected, 1, 24, "a label, .b8"},
        {".file \"a\"", E::syntax_expected, 1, 6, "a file number"},
    };
    for (const ErrorRow& row : rows) {
        const auto module = parse(row.text);
        ASSERT_FALSE(module) << row.text;
        EXPECT_EQ(name(module.error().code), name(row.code)) << row.text;
        const Position at = position(row.text, module.error().span.begin);
        EXPECT_EQ(at.line, row.line) << describe(module.error(), row.text);
        EXPECT_EQ(at.column, row.column) << describe(module.error(), row.text);
        EXPECT_THAT(message(module.error(), row.text), HasSubstr(std::string(row.message)));
    }
}

// --- ptxas as the judge

/// Every part of the grammar; ptxas accepts it.
constexpr std::string_view accepted = R"(.version 9.0
.target sm_90a, texmode_independent
.address_size 64
.file 1 "a.cu", 1700000000, 12
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .align 8 .b8 b[16]);
.func (.reg .u32 r) callee (.reg .u32 a) { mov.u32 r, a; ret; }
.extern .func abort () .noreturn;
.visible .const .align 8 .v2 .f32 c[2] = {{1.0, .5e-1}, {3., 4e0}};
.global .attribute(.managed) .align 4 .u32 m = 1;
.global .u64 g[4] = {generic(m)+8, m, 0xFF(m), 7 * (3 - 1)};
.global .samplerref smp = { addr_mode_0 = clamp_to_border, filter_mode = nearest };
.global .texref tex;
.visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u32 n)
.maxntid 128, 1, 1
.minnctapersm 2
.pragma "nounroll";
{
.reg .pred p<4>;
.reg .b32 %r<9>, x, y;
.reg .v2 .f32 v;
.reg .f32 %f<9>;
.reg .b64 %rd<9>;
.shared .align 16 .b8 s[64];
.loc 1 2 3
ld.param.u64 %rd1, [p];
.loc 1 4 0, function_name info+3, inlined_at 1 2 3
mov.u32 %r1, %tid.x;
mov.b64 %rd2, {%r1, %r2};
mov.b64 {%r3, _}, %rd2;
setp.lt.s32 p1|p2, %r1, -4;
@!p1 bra $L1;
ld.global.v2.f32 {%f1, %f2}, [%rd1+8];
fma.rn.f32 %f3, %f1, %f2, 0f3F800000;
add.s32 %r4, %r1, (1 + 2) * WARP_SZ;
$L1:
{ .param .b32 q; st.param.b32 [q+0], %r4; }
tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, smp, {%f5, %f6}];
mbarrier.arrive.shared.b64 _, [s];
call (%r5), callee, (%r4);
ts: .branchtargets $L1, $L2;
brx.idx %r1, ts;
proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);
$L2: ret;
}
.section .debug_str { info: .b8 97, 98, 0 }
.section .debug_x { x: .b8 1, -2 .b32 .debug_str .b64 x+4 }
)";

/// The tokens of a text, each with the blanks before it.
std::vector<std::string> pieces(std::string_view text) {
    std::vector<std::string> out;
    std::size_t begin = 0;
    const auto tokens = tokenize(text).value();
    for (const Token& t : tokens) {
        const std::size_t end = t.offset + t.text.size();
        out.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return out;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += part + " ";
    return out;
}

bool assembles(const Assembler& assembler, const std::string& text) {
    return assembler.assemble(text, {.optimisation = 0, .relocatable = true}).has_value();
}

/// ptxas stops at the first syntax error: one behind the text tells whether it read all of it, and code is
/// never made.
bool is_syntax_error(const Assembler& assembler, const std::string& text) {
    const auto cubin = assembler.assemble(text + "\n.entry `", {.optimisation = 0, .relocatable = true});
    const std::string log = message(cubin.error());
    return log.find("Parsing error") != std::string::npos && log.find("near '`'") == std::string::npos;
}

TEST(SyntaxError, OneTokenTooFewTooManyOrInTheWrongPlaceIsAnErrorWherePtxasSaysSo) {
    const Assembler* assembler = nvptxcompiler();
    if (assembler == nullptr) GTEST_SKIP() << "no nvPTXCompiler";
    const std::string base(accepted);
    ASSERT_TRUE(parse(base)) << describe(parse(base).error(), base);
    ASSERT_TRUE(assembles(*assembler, base));
    const std::vector<std::string> tokens = pieces(base);
    std::size_t syntax_errors = 0, parsed = 0;
    const auto check = [&](std::vector<std::string> mutant) {
        const std::string text = joined(mutant);
        const bool theirs = is_syntax_error(*assembler, text);
        const auto ours = parse(text);
        syntax_errors += theirs;
        parsed += ours.has_value();
        if (theirs) {
            EXPECT_FALSE(ours) << text;
        } else if (!ours) {
            EXPECT_FALSE(assembles(*assembler, text)) << describe(ours.error(), text);
        }
    };
    // From behind `.version` and `.target`, without which ptxas says nothing about syntax. clang writes
    // `.file` with two strings, and so we take them; ptxas does not.
    for (std::size_t i = 8; i + 1 < tokens.size(); ++i) {
        auto mutant = tokens;
        const bool is_file_name = tokens[i].find("a.cu") != std::string::npos;
        if (i % 3 == 0) mutant[i].clear();
        if (i % 3 == 1 && !is_file_name)
            mutant.insert(mutant.begin() + static_cast<std::ptrdiff_t>(i), tokens[i]);
        if (i % 3 == 2) std::swap(mutant[i], mutant[i + 1]);
        check(mutant);
    }
    EXPECT_GE(syntax_errors, 300u);
    EXPECT_GE(parsed, 40u);
}

// --- going on behind errors

std::vector<std::string> places_of(const Recovered& recovered, std::string_view text) {
    std::vector<std::string> out;
    for (const Error& e : recovered.errors) {
        const Position at = position(text, e.span.begin);
        out.push_back(std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
                      std::string(name(e.code)));
    }
    return out;
}

struct RecoveryRow {
    std::string text;
    std::vector<std::string> errors;  // line:column and code
    std::string instructions;         // the opcodes that are left
};

TEST(SyntaxRecovery, EveryErrorIsFoundAndWhatIsRightIsKept) {
    const std::string head = ".version 9.0\n.entry f() {\n";
    const RecoveryRow rows[] = {
        {"", {}, ""},
        {head + "ret;\n}\n", {}, "ret "},
        {head + "add.s32 a, b, c\nret;\n}\n", {"3:16 syntax_expected"}, "ret "},
        {head + "add.s32 a b; sub.s32 a, b, c; ;\nret;\n}",
         {"3:10 syntax_expected", "3:31 syntax_expected"},
         "sub ret "},
        {head + "mov.f32 a, 1.5e; mov.u32 b, 08;\nret;\n}",
         {"3:12 number_malformed", "3:29 number_malformed"},
         "ret "},
        {head + "mov.b32 {a, b, c;\n@p bra L;\nL: exit;\n}", {"3:17 syntax_expected"}, "bra exit "},
        {head + "add.s32 `` a;\nret;}", {"3:9 character_unexpected"}, "ret "},
        {head + "ret;\n", {"2:12 bracket_unclosed"}, "ret "},
        {head + "{ ret; {\n.entry g() { exit; }\n", {"4:1 statement_misplaced"}, "ret exit "},
        {head + "ret; }\n}\nadd.s32 a, b, c; sub.s32 a, b, c;\n.entry g() { exit; }",
         {"4:1 brace_unopened"},
         "ret exit "},
        {".entry f(.param .b32) {\n ret;\n}\n.entry g() { exit; }", {"1:21 syntax_expected"}, "ret exit "},
        {".section .debug_x {\n.b8 1\n.b8 1.5\n.b8 2\n}\n.entry g() { exit; }",
         {"3:4 syntax_expected"},
         "exit "},
        {".global .b32 a[2] = {1 2};\n.entry g() { exit; }", {"1:23 syntax_expected"}, "exit "},
        {".pragma \"x;\n.entry g() { exit; }", {"1:9 string_unclosed"}, "exit "},
        {"/* .entry g() { exit; }", {"1:1 comment_unclosed"}, "exit "},
        {std::string("// \0 x\n.entry g() { e\0xit; exit; }", 34),
         {"1:4 nul_byte", "2:15 nul_byte"},
         "exit "},
    };
    for (const RecoveryRow& row : rows) {
        const auto recovered = parse_all(row.text).value();
        EXPECT_EQ(print(recovered.module), row.text);
        EXPECT_EQ(places_of(recovered, row.text), row.errors) << row.text;
        EXPECT_EQ(recovered.error_count, row.errors.size());
        std::string instructions;
        for (const Statement& s : recovered.module.statements()) {
            EXPECT_TRUE(s.kind() != StatementKind::error || !recovered.errors.empty());
            for (const Statement& inner : s.body_recursive())
                if (const auto i = inner.instruction()) instructions.append(i->opcode) += ' ';
        }
        EXPECT_EQ(instructions, row.instructions) << row.text;
        EXPECT_EQ(parse(row.text).has_value(), row.errors.empty());
    }
}

TEST(SyntaxRecovery, TheFirstErrorIsThatOfParse) {
    const std::string base(accepted);
    const std::vector<std::string> tokens = pieces(base);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        auto removed = tokens;
        removed[i].clear();
        const std::string text = joined(removed);
        const auto strict = parse(text);
        const auto recovered = parse_all(text).value();
        EXPECT_EQ(print(recovered.module), text);
        ASSERT_EQ(strict.has_value(), recovered.errors.empty()) << text;
        const bool found = std::any_of(recovered.errors.begin(), recovered.errors.end(), [&](const Error& e) {
            return strict || (e.code == strict.error().code && e.span == strict.error().span);
        });
        EXPECT_TRUE(strict || found) << text;
        EXPECT_LE(recovered.errors.size(), 4u) << text;
    }
}

TEST(SyntaxRecovery, KeepsAsManyErrorsAsAskedForAndCountsTheOthers) {
    std::string text = ".entry f() {\n";
    for (int i = 0; i < 5000; ++i) text += "add.s32 a,;\nmov.b32 a, 08;\n";
    text += "}";
    const auto recovered = parse_all(text, {.max_errors = 10}).value();
    EXPECT_EQ(recovered.errors.size(), 10u);
    EXPECT_EQ(recovered.error_count, 10000u);
    EXPECT_EQ(position(text, recovered.errors.back().span.begin).line, 11u);
    EXPECT_EQ(print(recovered.module), text);
    EXPECT_EQ(parse_all(text, {.max_errors = 0}).value().error_count, 10000u);
}

TEST(SyntaxRecovery, HostileTextsTakeTimeAndMemoryOfTheirSize) {
    constexpr std::size_t n = 200000;
    for (const std::string_view part :
         {"{", "}", ";", "`", "(", ".entry f {", "@", "\"", ".section .x {", "a:", "/*", "1?"}) {
        std::string text;
        for (std::size_t i = 0; i < n; ++i) text += part;
        const auto recovered = parse_all(text, {.max_errors = 3}).value();
        EXPECT_TRUE(print(recovered.module) == text) << part;
        EXPECT_LE(recovered.module.memory(), 200 * text.size()) << part;
    }
}

}  // namespace
}  // namespace ptxgraft::syntax
