// The edit API as its users write it: walks, names, parts of instructions, bodies, outlining.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <span>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/corpus.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::syntax {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string head = test::module_head("9.0", "sm_90a");

Module parsed(const std::string& text) {
    auto module = parse(text);
    if (!module) throw std::runtime_error(describe(module.error(), text, "test.ptx"));
    return std::move(*module);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error("not found: " + std::string(from));
    return text.replace(at, from.size(), to);
}

Statement at(const Module& module, std::string_view text) {
    for (const Statement s : module.walk())
        if (s.text() == text) return s;
    return {};
}

std::vector<std::string> texts(const std::vector<Use>& uses) {
    std::vector<std::string> out;
    for (const Use& use : uses) out.push_back(use.statement.text());
    return out;
}

void expect_assembles(const Module& module) {
    const std::string text = print(module);
    const bool is_debug = text.find(", debug") != std::string::npos;  // which ptxas does not optimise
    const auto cubin = default_assembler().assemble(text, {.optimisation = is_debug ? 0 : 3});
    EXPECT_TRUE(cubin) << describe(cubin.error(), text, "edited.ptx");
}

void expect_print(const Module& module, const std::string& text) {
    EXPECT_EQ(print(module), text);
    EXPECT_EQ(canonical(parsed(print(module))), canonical(module));
}

// --- walks

TEST(SyntaxWalk, VisitsTheStatementsOfABodyWithoutAVector) {
    const Module module =
        parsed(head + ".entry k() { a: { b: ret; { c: } } { } add.s32 x, y, z; }\n.func f;\n// end\n");
    const Statement k = module.find_function("k");
    const std::vector<Statement> expected = k.body_recursive();
    EXPECT_TRUE(std::equal(k.walk().begin(), k.walk().end(), expected.begin(), expected.end()));
    std::string opcodes, kinds;
    for (const Statement s : k.instructions()) opcodes.append(s.instruction()->opcode).append(" ");
    for (const Statement s : module.walk()) kinds += std::to_string(static_cast<int>(s.kind())) + " ";
    EXPECT_EQ(opcodes, "ret add ");
    EXPECT_EQ(kinds, "0 1 2 3 6 7 6 5 7 6 7 5 3 ");
    EXPECT_EQ(std::distance(module.instructions().begin(), module.instructions().end()), 2);
    for (const Statement none : {module.find_function("f"), Statement(), at(module, "ret;")})
        EXPECT_TRUE(none.walk().begin() == none.walk().end() &&
                    none.instructions().begin() == none.instructions().end());
}

TEST(SyntaxWalk, GoesOnBehindWhatItRemovesAndReplaces) {
    Module module = parsed(
        head + ".entry k()\n{\n\tmembar.gl;\n\t{ membar.gl; ret; }\n\tmembar.gl;\n\tret;\n\tmembar.gl;\n}\n");
    for (const Statement s : module.find_function("k").instructions()) {
        if (s.instruction()->opcode == "membar")
            module.remove(s);
        else
            ASSERT_TRUE(module.replace(s, "exit; exit;"));
    }
    expect_print(module, head + ".entry k()\n{\n\t{ exit; exit; }\n\texit; exit;\n}\n");
}

// --- names

const std::string scoped = head +
                           ".global .u32 g = 1;\n.func f(.param .b32 p);\n"
                           ".entry k(.param .u64 p)\n{\n"
                           "\t.reg .b32 %r<4>, a;\n\t.reg .pred q;\n"
                           "\tmov.u32 %r1, %tid.x;\n"
                           "\tsetp.eq.s32 q, %r1, a;\n"
                           "L:\n"
                           "\t{\n\t\tadd.s32 a, a, 1;\n\t\t.reg .b64 a, %r<2>;\n\t\tld.param.u64 a, "
                           "[p];\n\t\tst.global.u32 [a+4], %r3;\n\t\tmov.u64 %r1, g;\nL:\t\tbra L;\n\t}\n"
                           "\t@!q bra L;\n"
                           "\tadd.s32 %r2, %r01, a;\n"
                           "\tret;\n}\n";

TEST(SyntaxNames, AreFoundFromTheInnermostScopeOut) {
    const Module module = parsed(scoped);
    const Names names(module);
    const Statement k = module.find_function("k"), inner = at(module, "ld.param.u64 a, [p];");
    const Name outer_a = names.find(k, "a"), inner_a = names.find(inner, "a");
    EXPECT_EQ(outer_a.kind, NameKind::variable);
    EXPECT_EQ(outer_a.scope, k);
    EXPECT_EQ(outer_a.declaration.text(), ".reg .b32 %r<4>, a;");
    EXPECT_EQ(inner_a.declaration.text(), ".reg .b64 a, %r<2>;");
    EXPECT_EQ(inner_a.scope, inner.parent());
    EXPECT_EQ(names.find(at(module, "add.s32 a, a, 1;"), "a"), outer_a);  // before the inner one
    EXPECT_THAT(texts(names.uses(outer_a)),
                ElementsAre(".reg .b32 %r<4>, a;", "setp.eq.s32 q, %r1, a;", "add.s32 a, a, 1;",
                            "add.s32 a, a, 1;", "add.s32 %r2, %r01, a;"));
    EXPECT_THAT(texts(names.uses(inner_a)),
                ElementsAre(".reg .b64 a, %r<2>;", "ld.param.u64 a, [p];", "st.global.u32 [a+4], %r3;"));
    EXPECT_EQ(names.find(inner, "p").kind, NameKind::parameter);
    EXPECT_EQ(names.find({}, "g").kind, NameKind::variable);
    EXPECT_EQ(names.find(inner, "f").kind, NameKind::function);
    EXPECT_FALSE(names.find({}, "a"));
    EXPECT_FALSE(names.find(inner, "%tid"));
    EXPECT_FALSE(names.find(inner, ""));
    EXPECT_EQ(names.find({}, "k").declaration, k);
}

TEST(SyntaxNames, OfARangeAreItsElementsOrTheWhole) {
    const Module module = parsed(scoped);
    const Names names(module);
    const Statement k = module.find_function("k"), inner = at(module, "ld.param.u64 a, [p];");
    const Name r1 = names.find(k, "%r1");
    EXPECT_EQ(r1.text, "%r");
    EXPECT_EQ(r1.range, 4u);
    EXPECT_EQ(r1.element, 1u);
    EXPECT_EQ(names.find(k, "%r01"), r1);
    EXPECT_EQ(names.find(inner, "%r3").declaration, r1.declaration);  // past the inner range
    EXPECT_NE(names.find(inner, "%r1").declaration, r1.declaration);
    EXPECT_FALSE(names.find(k, "%r4"));
    EXPECT_FALSE(names.find(k, "%r").element);
    EXPECT_THAT(texts(names.uses(r1)), ElementsAre(".reg .b32 %r<4>, a;", "mov.u32 %r1, %tid.x;",
                                                   "setp.eq.s32 q, %r1, a;", "add.s32 %r2, %r01, a;"));
    EXPECT_EQ(names.uses(names.find(k, "%r")).size(), 6u);
    EXPECT_THAT(texts(names.writes(r1)), ElementsAre("mov.u32 %r1, %tid.x;"));
    EXPECT_THAT(texts(names.reads(r1)), ElementsAre("setp.eq.s32 q, %r1, a;", "add.s32 %r2, %r01, a;"));
}

TEST(SyntaxNames, UsesSayWhereTheyStand) {
    const Module module = parsed(scoped);
    const Names names(module);
    const Statement k = module.find_function("k");
    const auto q = names.uses(names.find(k, "q"));
    ASSERT_EQ(q.size(), 3u);
    EXPECT_EQ(q[0].kind, UseKind::declaration);
    EXPECT_EQ(q[1].kind, UseKind::operand);
    EXPECT_EQ(q[1].operand, 0u);
    EXPECT_EQ(q[2].kind, UseKind::guard);
    EXPECT_TRUE(q[2].negated);
    EXPECT_EQ(q[2].text, "q");
    EXPECT_EQ(q[2].statement.tokens()[q[2].token].text, "q");
    const auto a = names.uses(names.find(at(module, "ld.param.u64 a, [p];"), "a"));
    EXPECT_EQ(a[2].kind, UseKind::address);
    EXPECT_EQ(a[2].operand, 0u);
    const auto in = names.in(at(module, "st.global.u32 [a+4], %r3;"));
    ASSERT_EQ(in.size(), 2u);
    EXPECT_EQ(in[1].first.operand, 1u);
    EXPECT_EQ(in[1].second.element, 3u);
    std::string undeclared;
    for (const Use& use : names.undeclared()) undeclared.append(use.text).append(" ");
    EXPECT_EQ(undeclared, "%tid ");
    EXPECT_EQ(names.all().size(), 12u);
}

TEST(SyntaxNames, LabelsAreKnownInTheWholeOfTheirBlock) {
    const Module module = parsed(scoped);
    const Names names(module);
    const Name outer = names.find(at(module, "@!q bra L;"), "L"),
               inner = names.find(at(module, "bra L;"), "L");
    EXPECT_EQ(outer.kind, NameKind::label);
    EXPECT_NE(outer, inner);
    EXPECT_THAT(texts(names.uses(outer)), ElementsAre("L:", "@!q bra L;"));
    EXPECT_THAT(texts(names.uses(inner)), ElementsAre("L:", "bra L;"));
}

TEST(SyntaxNames, PrototypesAndDebugSectionsBelongToTheFunction) {
    const Module module = parsed(head +
                                 ".func f;\n.func f { B: call f; .loc 1 1 1, function_name S, inlined_at 1 2 "
                                 "3\nret; E: }\n.alias g, f;\n"
                                 ".section .debug_info { .b64 B, E+4, f\nS: .b8 1 }\n");
    const Names names(module);
    const Name f = names.find({}, "f");
    EXPECT_TRUE(f.declaration.is_definition());
    EXPECT_EQ(names.uses(f).size(), 5u);
    EXPECT_EQ(names.uses(names.find(f.declaration, "B")).size(), 2u);
    EXPECT_EQ(names.uses(names.find({}, "S")).size(), 2u);
    std::string undeclared;
    for (const Use& use : names.undeclared()) undeclared += use.text;
    EXPECT_EQ(undeclared, "g");
}

TEST(SyntaxNames, TheUsualAccessIsThatOfPtx) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"add.s32 a, b, c;", "wrr"},
        {"st.u32 [a], b;", "wr"},
        {"bar.sync a, b;", "rr"},
        {"bar.red.popc.u32 d, a, b, !p;", "wrrr"},
        {"call (a), f, (b);", "wrr"},
        {"call f, (b);", "rr"},
        {"brx.idx a, t;", "rr"},
        {"nanosleep.u32 a;", "b"},
        {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 a, 32;", "rr"},
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {a}, [b];", "wr"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {a, b}, c, d, 1, 1, 1, 0, 0;", "brrrrrrr"},
    };
    for (const auto& [text, expected] : rows) {
        const Module module = parsed(".func f { " + std::string(text) + " }");
        const Instruction i = *module.instructions().begin().operator*().instruction();
        std::string found;
        for (std::size_t n = 0; n < i.operands.size(); ++n)
            found += " rwb"[static_cast<int>(usual_access(i, n))];
        EXPECT_EQ(found, expected) << text;
    }
}

// --- renaming

TEST(SyntaxRename, ChangesWhatTheNameStandsForAndNothingElse) {
    Module module = parsed(scoped);
    const Statement k = module.find_function("k");
    EXPECT_EQ(*module.rename(Names(module).find(k, "a"), "sum"), 5u);
    std::string text = replaced(scoped, "%r<4>, a;", "%r<4>, sum;");
    text = replaced(text, "%r1, a;", "%r1, sum;");
    text = replaced(text, "add.s32 a, a, 1;", "add.s32 sum, sum, 1;");
    text = replaced(text, "%r01, a;", "%r01, sum;");
    expect_print(module, text);
    EXPECT_EQ(*module.rename(Names(module).find(at(module, "bra L;"), "L"), "M"), 2u);
    text = replaced(text, "L:\t\tbra L;", "M:\t\tbra M;");
    expect_print(module, text);
    EXPECT_EQ(*module.rename(Names(module).find({}, "g"), "counter"), 2u);
    expect_print(module, replaced(replaced(text, "g = 1", "counter = 1"), "%r1, g;", "%r1, counter;"));
}

TEST(SyntaxRename, OfARangeKeepsTheNumbersAndOfAnElementDeclaresIt) {
    Module module = parsed(scoped);
    const Statement k = module.find_function("k");
    EXPECT_EQ(*module.rename(Names(module).find(k, "%r"), "%value"), 6u);
    std::string text = replaced(scoped, ".b32 %r<4>", ".b32 %value<4>");
    text = replaced(text, "mov.u32 %r1", "mov.u32 %value1");
    text = replaced(text, "q, %r1", "q, %value1");
    text = replaced(text, "[a+4], %r3", "[a+4], %value3");
    text = replaced(text, "add.s32 %r2, %r01", "add.s32 %value2, %value01");
    expect_print(module, text);
    EXPECT_EQ(*module.rename(Names(module).find(k, "%value1"), "x"), 3u);
    text = replaced(text, "%value<4>, a;", "%value<4>, a;\n\t.reg .b32 x;");
    text = replaced(text, "mov.u32 %value1", "mov.u32 x");
    text = replaced(text, "q, %value1", "q, x");
    expect_print(module, replaced(text, "%value01", "x"));
}

TEST(SyntaxRename, IsRefusedWhereAPlaceWouldMeanSomethingElse) {
    Module module = parsed(scoped);
    const Statement k = module.find_function("k");
    const Names names(module);
    const Name a = names.find(k, "a"), range = names.find(k, "%r"), r1 = names.find(k, "%r1");
    for (std::string_view to : {"q", "p", "g", "%r3", "L", "%tid"})  // p and g are used in the inner block
        EXPECT_EQ(module.rename(a, to).error().code, Errc::name_taken) << to;
    EXPECT_EQ(module.rename(names.find({}, "g"), "a").error().code,
              Errc::name_taken);  // hidden by the inner a
    EXPECT_EQ(module.rename(r1, "%r3").error().code, Errc::name_taken);
    EXPECT_EQ(module.rename(r1, "q").error().code, Errc::name_taken);
    EXPECT_EQ(module.rename(range, "a").error().code, Errc::name_taken);
    for (std::string_view bad : {"", "1", "a b", "a;", "%"})
        EXPECT_EQ(module.rename(a, bad).error().code, Errc::argument_invalid);
    EXPECT_EQ(module.rename(Name(), "x").error().code, Errc::name_undeclared);
    EXPECT_EQ(module.rename(names.find(k, "%tid"), "x").error().code, Errc::name_undeclared);
    Module other = parsed(scoped);
    EXPECT_EQ(other.rename(a, "x").error().code, Errc::name_undeclared);
    expect_print(module, scoped);
    // The inner block's own names are no hindrance where ours are not used behind them.
    EXPECT_TRUE(module.rename(names.find(k, "q"), "M"));
}

TEST(SyntaxRename, OfALabelThatARangeNames) {
    const std::string text =
        ".version 9.0\n.target sm_90\n.entry k()\n{\n.reg .b32 r;\nmov.b32 r, 0;\nT: .branchtargets N<2>, "
        "M;\nbrx.idx r, T;\nN:\nN0:\nN1:\nN2:\nM:\nret;\n}\n.entry l()\n{\nN0:\nret;\n}\n";
    Module module = parsed(text);
    const Statement k = module.find_function("k"), l = module.find_function("l");
    const Names names(module);
    for (const char* label : {"N0", "N1"})
        EXPECT_EQ(module.rename(names.find(k, label), "x").error().code, Errc::name_taken) << label;
    expect_print(module, text);
    EXPECT_EQ(*module.rename(names.find(l, "N0"), "x"), 1u);
    EXPECT_EQ(*module.rename(Names(module).find(k, "N"), "y"), 1u);
    EXPECT_EQ(*module.rename(Names(module).find(k, "N2"), "z"), 1u);
    EXPECT_EQ(*module.rename(Names(module).find(k, "M"), "w"), 2u);
    expect_print(
        module,
        replaced(replaced(replaced(replaced(replaced(text, "l()\n{\nN0", "l()\n{\nx"), "\nN:", "\ny:"),
                                   "N2:", "z:"),
                          "M:", "w:"),
                 ", M", ", w"));
}

// --- parts of instructions

// PTX wants no space before `%` and `{`.
TEST(SyntaxRename, LeavesASpaceWhereTheNewNameWouldRunIntoTheWordBefore) {
    Module module = parsed(
        ".version 9.0\n.target sm_90\n.entry%k()\n{\n.reg .b32%r;\nmov.u32%r, 1;\nadd.u32 %r,%r,%r;\n.loc 1 "
        "2 3%L:bra%L;\n}\n");
    ASSERT_TRUE(module.clone(module.find_function("%k"), "g"));
    const Statement body = module.find_function("%k").first_child();
    ASSERT_TRUE(module.rename(Names(module).find(body, "%r"), "x"));
    ASSERT_TRUE(module.rename(Names(module).find(body, "%L"), "y"));
    EXPECT_EQ(print(module),
              ".version 9.0\n.target sm_90\n.entry%k()\n{\n.reg .b32 x;\nmov.u32 x, 1;\nadd.u32 x,x,x;\n.loc "
              "1 2 3 y:bra y;\n}\n\n"
              ".entry g()\n{\n.reg .b32%r;\nmov.u32%r, 1;\nadd.u32 %r,%r,%r;\n.loc 1 2 3%L:bra%L;\n}\n");
}

TEST(SyntaxParts, AreExchangedAndAllElseStays) {
    const std::string text =
        head + ".entry k()\n{\n\t/*1*/ @%p1 /*2*/ add /*3*/ .s32 \t%r1 , %r2,/*4*/7 ; // 5\n\tret;\n}\n";
    Module module = parsed(text);
    const Statement add = *module.instructions().begin();
    EXPECT_TRUE(module.set_opcode(add, "sub"));
    EXPECT_TRUE(module.insert_modifier(add, 0, ".sat"));
    EXPECT_TRUE(module.set_operand(add, 1, "%tid.x"));
    EXPECT_TRUE(module.set_operand(add, 2, "-(1+2)"));
    EXPECT_TRUE(module.set_guard(add, "!%p2"));
    expect_print(module, replaced(text, "@%p1 /*2*/ add /*3*/ .s32 \t%r1 , %r2,/*4*/7 ;",
                                  "@!%p2 /*2*/ sub.sat /*3*/ .s32 \t%r1 , %tid.x,/*4*/-(1+2) ;"));
    EXPECT_TRUE(module.set_modifier(add, 1, ".u32"));
    EXPECT_TRUE(module.set_modifier(add, 0, ""));
    EXPECT_TRUE(module.insert_modifier(add, 1, ".x"));
    EXPECT_TRUE(module.set_guard(add, ""));
    EXPECT_EQ(add.instruction()->name, "sub /*3*/ .u32.x");
    EXPECT_TRUE(module.set_guard(add, "%q"));
    EXPECT_TRUE(module.set_guard(add.next(), "%q"));
    EXPECT_THAT(print(module),
                HasSubstr("@%q sub /*3*/ .u32.x \t%r1 , %tid.x,/*4*/-(1+2) ; // 5\n\t@%q ret;\n"));
    EXPECT_TRUE(module.rewrite(add.next(), "exit; // done"));
    expect_print(module, print(module));
}

TEST(SyntaxParts, MustBeExactlyOnePart) {
    const std::string text = head + ".entry k() { add.s32 a, b, c; L: ret; }\n";
    Module module = parsed(text);
    const Statement add = *module.instructions().begin();
    for (std::string_view bad :
         {"", "a, b", "b; ret", "b //", "b /*", "`", ")", "b; } .func g { add.s32 a, b, c"})
        EXPECT_FALSE(module.set_operand(add, 1, bad)) << bad;
    for (std::string_view bad : {"rn", ".rn.ftz", ".rn ", ".", ".rn a", "1"}) {
        EXPECT_FALSE(module.set_modifier(add, 0, bad)) << bad;
        EXPECT_FALSE(module.insert_modifier(add, 0, bad)) << bad;
    }
    EXPECT_FALSE(module.insert_modifier(add, 0, ""));
    for (std::string_view bad : {"", ".add", "add.s32", "add sub", "1"})
        EXPECT_FALSE(module.set_opcode(add, bad)) << bad;
    for (std::string_view bad : {"!", "@p", "p q", "!!p", "1"})
        EXPECT_FALSE(module.set_guard(add, bad)) << bad;
    EXPECT_FALSE(module.set_operand(add, 3, "d"));
    EXPECT_FALSE(module.set_modifier(add, 1, ".x"));
    EXPECT_FALSE(module.insert_modifier(add, 2, ".x"));
    EXPECT_FALSE(module.set_opcode(add.next(), "x"));  // a label
    EXPECT_FALSE(module.set_opcode({}, "x"));
    for (std::string_view bad : {"", "ret; ret;", "L:", "{ }", "ret"})
        EXPECT_FALSE(module.rewrite(add, bad)) << bad;
    EXPECT_FALSE(module.rewrite(add.parent(), ".func f;"));
    expect_print(module, text);
}

// --- statements

TEST(SyntaxEdit, APrototypeGetsTheSemicolonThatADirectiveBehindItMadeNeedless) {
    const std::string text = ".entry k\n{\n\t.func f(.param .b32 a)\n\t.reg .b32 b;\n\tret;\n}\n";
    Module module = parsed(text);
    const Statement b = at(module, ".reg .b32 b;");
    ASSERT_TRUE(module.insert_before(b, "\n\t.reg .b32 c;"));
    expect_print(module, replaced(text, "\n\t.reg", "\n\t.reg .b32 c;\n\t.reg"));
    for (const std::string_view inserted : {"\n\tret;", " { ret; }", "\nL:", "\n@b ret;"}) {
        module = parsed(text);
        ASSERT_TRUE(module.insert_before(at(module, ".reg .b32 b;"), inserted));
        expect_print(module, replaced(text, "a)", "a);" + std::string(inserted)));
    }
    module = parsed(text);
    module.remove(at(module, ".reg .b32 b;"));
    expect_print(module, replaced(text, "a)\n\t.reg .b32 b;", "a);"));
    EXPECT_EQ(module.find_function("k").first_child().tokens().back().text, ";");
}

// --- bodies

TEST(SyntaxBody, IsReplacedBetweenItsBraces) {
    Module module = parsed(head + "// a\n.entry k() // b\n{ // c\n\tret; // d\n}\n// e\n");
    const Statement k = module.find_function("k");
    ASSERT_TRUE(module.replace_body(k, "\n\ttrap;\n\texit;"));
    expect_print(module, head + "// a\n.entry k() // b\n{\n\ttrap;\n\texit; // d\n}\n// e\n");
    ASSERT_TRUE(module.replace_body(k, ""));
    expect_print(module, head + "// a\n.entry k() // b\n{ // d\n}\n// e\n");
    EXPECT_FALSE(module.replace_body(k, "add"));
    EXPECT_FALSE(module.replace_body(module.statements()[0], "ret;"));
}

TEST(SyntaxBody, IsSplicedAsABlockOfItsOwn) {
    const Module library =
        parsed(head +
               ".global .u32 g;\n.func twice()\n{\n\t.reg .b32 x; // own\n\tmov.u32 x, "
               "%tid.x;\n\tst.global.u32 [g], x;\nL:\tbra L;\n}\n"
               ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 y; ld.param.b32 y, [a]; ret; }\n");
    const std::string text =
        head + ".global .u32 g;\n.entry k()\n{\n\t.reg .b32 x, y;\nL:\n\tmov.u32 y, 1;\n\tret;\n}\n";
    Module module = parsed(text);
    const auto block = module.splice(at(module, "ret;"), library.find_function("twice"));
    ASSERT_TRUE(block) << message(block.error());
    EXPECT_EQ(block->kind(), StatementKind::block);
    expect_print(module, replaced(text, "\n\tret;",
                                  "\n\t{\n\t.reg .b32 x; // own\n\tmov.u32 x, %tid.x;\n\tst.global.u32 [g], "
                                  "x;\nL:\tbra L;\n}\n\tret;"));
    expect_assembles(module);
    EXPECT_EQ(module.splice(at(module, "ret;"), library.find_function("f")).error().code,
              Errc::name_undeclared);
    EXPECT_FALSE(module.splice(at(module, "ret;"), library.statements()[0]));
    EXPECT_FALSE(module.splice(module.find_function("k"), library.find_function("twice")));
    // of the same module, into itself
    EXPECT_TRUE(module.splice(block->first_child(), *block));
    expect_assembles(module);
}

TEST(SyntaxBody, AFunctionIsClonedUnderAnotherName) {
    const std::string function =
        ".visible .func (.param .b32 r) f(.param .b32 n)\n{\n\t.reg .b32 a;\n\t.param .b32 x, "
        "y;\nL:\n\tld.param.b32 a, [n];\n\tst.param.b32 [x], a;\n\tcall (y), f, (x);\n\tbra L;\n}";
    Module module =
        parsed(head + ".visible .func (.param .b32 r) f(.param .b32 n);\n// f\n" + function + "\n// end\n");
    const auto copy = module.clone(module.find_function("f"), "g");
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->name(), "g");
    const std::string cloned = replaced(replaced(function, " f(", " g("), "(y), f,", "(y), g,");
    expect_print(module, head + ".visible .func (.param .b32 r) f(.param .b32 n);\n// f\n" + function +
                             "\n\n" + cloned + "\n// end\n");
    EXPECT_EQ(module.clone(*copy, "f").error().code, Errc::name_taken);
    EXPECT_EQ(module.clone(*copy, "1").error().code, Errc::argument_invalid);
    EXPECT_FALSE(module.clone(copy->first_child(), "h"));
}

// --- outlining

const std::string loop =
    head +
    ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
    "\t.reg .pred %p<3>;\n\t.reg .b16 %rs<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<4>;\n\t.reg .f64 %fd<3>;\n"
    "\tld.param.u64 %rd1, [out];\n\tld.param.u32 %r1, [n];\n"
    "\tmov.u32 %r2, %tid.x;\n\tmov.u32 %r5, 0;\n\tmov.f64 %fd1, 0d3FF0000000000000;\n"
    "$L_loop:\n"
    "\tadd.s32 %r3, %r2, %r5; // first\n"
    "\tmul.lo.s32 %r4, %r3, %r3;\n"
    "\tsetp.gt.s32 %p1, %r4, 100;\n"
    "\tcvt.u16.u32 %rs1, %r4;\n"
    "\t@%p1 add.s32 %r2, %r2, 7;\n"
    "\tadd.f64 %fd1, %fd1, %fd1;\n"
    "\tadd.s32 %r5, %r5, 1;\n"
    "\tsetp.lt.s32 %p2, %r5, %r1;\n"
    "\t@%p2 bra $L_loop;\n"
    "\tselp.b32 %r6, %r2, %r4, %p1;\n\tcvt.u32.u16 %r7, %rs1;\n\tadd.s32 %r6, %r6, %r7;\n"
    "\tcvt.rzi.s32.f64 %r8, %fd1;\n\tadd.s32 %r6, %r6, %r8;\n"
    "\tst.global.u32 [%rd1], %r6;\n\tret;\n}\n";

TEST(SyntaxOutline, WhatLivesInIsAParameterAndWhatLivesOutIsReturned) {
    Module module = parsed(loop);
    const auto outlined = module.outline(at(module, "add.s32 %r3, %r2, %r5;"),
                                         at(module, "mul.lo.s32 %r4, %r3, %r3;"), "square");
    ASSERT_TRUE(outlined) << message(outlined.error());
    EXPECT_EQ(canonical(outlined->function),
              ".func (.param .b32 square_out) square(.param .b32 square_in0, .param .b32 square_in1)\n{\n"
              "\t.reg .b32 %r3;\n\t.reg .b32 %r2;\n\t.reg .b32 %r5;\n\t.reg .b32 %r4;\n"
              "\tld.param.b32 %r2, [square_in0];\n\tld.param.b32 %r5, [square_in1];\n"
              "\t{\n\t\tadd.s32 %r3, %r2, %r5;\n\t\tmul.lo.s32 %r4, %r3, %r3;\n\t}\n"
              "\tst.param.b32 [square_out], %r4;\n\tret;\n}\n");
    EXPECT_EQ(
        canonical(outlined->call),
        "{\n\t.param .b32 square_in0;\n\t.param .b32 square_in1;\n\t.param .b32 square_out;\n"
        "\tst.param.b32 [square_in0], %r2;\n\tst.param.b32 [square_in1], %r5;\n"
        "\tcall (square_out), square, (square_in0, square_in1);\n\tld.param.b32 %r4, [square_out];\n}\n");
    // All else is as it was, the moved comment too.
    std::string text = print(module);
    text = replaced(text, outlined->function.text() + "\n", "");
    EXPECT_THAT(text, HasSubstr("$L_loop:\n\t" + outlined->call.text() + "\n\tsetp.gt.s32"));
    EXPECT_THAT(outlined->function.text(), HasSubstr("%r5; // first\n"));
    expect_print(module, print(module));
    expect_assembles(module);
}

TEST(SyntaxOutline, PredicatesHalvesAndGuardedWritesGoThroughParameters) {
    Module module = parsed(loop);
    const auto outlined =
        module.outline(at(module, "add.s32 %r3, %r2, %r5;"), at(module, "add.f64 %fd1, %fd1, %fd1;"), "step");
    ASSERT_TRUE(outlined) << message(outlined.error());
    const std::string function = canonical(outlined->function);
    EXPECT_THAT(function, HasSubstr("step_out[22]"));  // 8 + 3 * 4 + 2
    EXPECT_THAT(function, HasSubstr("selp.b32 step_bool, 1, 0, %p1;"));
    EXPECT_THAT(canonical(outlined->call), HasSubstr("setp.ne.b32 %p1, step_bool, 0;"));
    EXPECT_THAT(canonical(outlined->call), HasSubstr("ld.param.b16 %rs1"));
    expect_assembles(module);
}

// What every thread of the entry stores, as the emulator runs it.
std::vector<std::uint32_t> results(const Module& module, std::uint32_t n) {
    constexpr std::uint32_t threads = 64;
    Emulator emulator;
    std::vector<std::uint32_t> out(threads);
    const auto bytes = std::as_writable_bytes(std::span(out));
    const auto loaded = emulator.load(print(module));
    if (!loaded) throw std::runtime_error(describe(loaded.error(), print(module), "outlined.ptx"));
    const std::uint64_t address = emulator.allocate(bytes.size()).value();
    const std::vector<std::span<const std::byte>> arguments{std::as_bytes(std::span(&address, 1)),
                                                            std::as_bytes(std::span(&n, 1))};
    const auto run = emulator.launch(**loaded, "k", {.grid = {1}, .block = {threads}}, arguments);
    if (!run) throw std::runtime_error(describe(run.error(), print(module), "outlined.ptx"));
    if (!emulator.read(address, bytes)) throw std::runtime_error("cannot read");
    return out;
}

TEST(SyntaxOutline, WhateverMovesComputesTheSame) {
    std::string text =
        replaced(loop, "st.global.u32 [%rd1], %r6;",
                 "mov.u32 %r2, %tid.x;\n\tmul.wide.u32 %rd2, %r2, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
                 "\tst.global.u32 [%rd3], %r6;");
    // Jumps within, a write that only some threads do, and one that is behind a label.
    text = replaced(
        text, "\tadd.f64 %fd1",
        "\t@%p1 bra $L_skip;\n\tadd.s32 %r2, %r2, 1;\n\tmov.u32 %r7, %r5;\n$L_skip:\n\tadd.f64 %fd1");
    text = replaced(text, "selp.b32 %r6", "add.s32 %r5, %r5, %r7;\n\tselp.b32 %r6");
    text = replaced(text, "\tmov.u32 %r5, 0;", "\tmov.u32 %r5, 0;\n\tmov.u32 %r7, 9;");
    const std::vector<std::uint32_t> expected = results(parsed(text), 5);
    const std::size_t count = parsed(text).find_function("k").body().size();
    std::size_t moved = 0;
    for (std::size_t first = 0; first < count; ++first)
        for (std::size_t last = first; last < count; ++last) {
            Module module = parsed(text);
            const auto body = module.find_function("k").body();
            const auto outlined = module.outline(body[first], body[last], "f");
            if (!outlined) {
                EXPECT_EQ(print(module), text);
                continue;
            }
            ++moved;
            EXPECT_EQ(results(module, 5), expected) << print(module);
        }
    EXPECT_GT(moved, 100u);
}

TEST(SyntaxOutline, AWholeLoopMoves) {
    Module module = parsed(loop);
    const auto outlined = module.outline(at(module, "$L_loop:"), at(module, "@%p2 bra $L_loop;"), "all");
    ASSERT_TRUE(outlined) << message(outlined.error());
    expect_assembles(module);
    EXPECT_THAT(canonical(outlined->call), ::testing::Not(HasSubstr("%p2")));  // only used within
}

TEST(SyntaxOutline, IsRefusedForWhatWouldMeanSomethingElse) {
    struct Row {
        std::string_view body, first, last, message;
    };
    const Row rows[] = {
        {"bra L; add.s32 a, a, 1; L:", "bra L;", "add.s32 a, a, 1;", "L is a label outside"},
        {"L: add.s32 a, a, 1; bra L;", "L:", "add.s32 a, a, 1;",
         "L is declared in the statements and used outside"},
        {"ld.param.u32 a, [n];", "ld.param.u32 a, [n];", "ld.param.u32 a, [n];", "n is a parameter"},
        {".shared .b32 s; st.shared.u32 [s], a;", "st.shared.u32 [s], a;", "st.shared.u32 [s], a;",
         "s is a variable"},
        {".reg .b32 x; mov.u32 x, 1; add.s32 a, x, 1;", ".reg .b32 x;", "mov.u32 x, 1;",
         "x is declared in the statements"},
        {"ret;", "ret;", "ret;", "would return"},
        {"add.cc.s32 a, a, 1; addc.s32 a, a, 0;", "add.cc.s32 a, a, 1;", "add.cc.s32 a, a, 1;", "carry"},
        {"add.cc.s32 a, a, 1; addc.s32 a, a, 0;", "addc.s32 a, a, 0;", "addc.s32 a, a, 0;", "carry"},
        {"add.cc.s32 a, a, 1; mov.u32 b, 1; addc.s32 a, a, 0;", "mov.u32 b, 1;", "mov.u32 b, 1;", "carry"},
        {"mov.v4.f32 v, v;", "mov.v4.f32 v, v;", "mov.v4.f32 v, v;", "vector"},
        {"mov.u32 b, %r01;", "mov.u32 b, %r01;", "mov.u32 b, %r01;", "leading zeros"},
        {"mov.u32 a, 1; mov.u32 b, 1;", "mov.u32 b, 1;", "mov.u32 a, 1;", "not behind"},
    };
    for (const Row& row : rows) {
        const std::string text = head + ".entry k(.param .u32 n) { .reg .b32 a, b, %r<3>; .reg .v4 .f32 v; " +
                                 std::string(row.body) + " exit; }\n";
        Module module = parsed(text);
        const auto outlined = module.outline(at(module, row.first), at(module, row.last), "f");
        ASSERT_FALSE(outlined) << row.body;
        EXPECT_EQ(outlined.error().code, Errc::statements_not_outlinable);
        EXPECT_THAT(message(outlined.error()), HasSubstr(row.message));
        EXPECT_TRUE(outlined.error().span.known());
        expect_print(module, text);
    }
    Module module = parsed(loop);
    const Statement s = at(module, "mul.lo.s32 %r4, %r3, %r3;");
    EXPECT_EQ(module.outline(s, s, "k").error().code, Errc::name_taken);
    EXPECT_EQ(module.outline(s, s, "%r4").error().code, Errc::name_taken);
    EXPECT_FALSE(module.outline(module.find_function("k"), module.find_function("k"), "f"));
    EXPECT_FALSE(module.outline({}, s, "f"));
}

TEST(SyntaxOutline, OfCarriesBarriersAndNothingAtAll) {
    Module module = parsed(head +
                           ".entry k() { .reg .b32 a; mov.u32 a, 1; bar.sync 0; add.cc.s32 a, a, 1; addc.s32 "
                           "a, a, 0; exit; }\n");
    ASSERT_TRUE(module.outline(at(module, "add.cc.s32 a, a, 1;"), at(module, "addc.s32 a, a, 0;"), "f"));
    const auto empty = module.outline(at(module, "bar.sync 0;"), at(module, "bar.sync 0;"), "g");
    ASSERT_TRUE(empty);
    EXPECT_EQ(canonical(empty->call), "{\n\tcall g;\n}\n");
    expect_assembles(module);
}

// --- a compiler's modules

class SyntaxEditCorpus : public ::testing::TestWithParam<const char*> {};

// Each edit: the print is the text with the edit, and assembles.
TEST_P(SyntaxEditCorpus, EditsShowInThePrintAndNothingElseMoves) {
    if (!fs::exists(test::corpus / GetParam())) GTEST_SKIP() << "no " << GetParam() << " in " << test::corpus;
    const std::string text = test::read_file(test::corpus / GetParam());
    Module module = parsed(text);
    Statement entry;
    for (const Statement& f : module.functions())
        if (!entry && f.is_definition() && f.instructions().begin() != f.instructions().end()) entry = f;
    const Names names(module);
    // A register, renamed everywhere, and back.
    Name whole;
    for (const Name& name : names.all())
        if (!whole && name.range != 0 && name.scope == entry) whole = name;
    ASSERT_TRUE(whole);
    const std::string stem(whole.text);
    const std::size_t count = names.uses(whole).size();
    EXPECT_EQ(*module.rename(whole, "%renamed"), count);
    EXPECT_EQ(print(module).size(), text.size() + count * (8 - stem.size()));
    expect_assembles(module);
    EXPECT_EQ(*module.rename(Names(module).find(entry, "%renamed"), stem), count);
    EXPECT_EQ(print(module), text);
    // An instruction in, and out again.
    const Statement first = *entry.instructions().begin();
    const auto added = module.insert_before(first, "\n\t{ .reg .b32 new; mov.u32 new, %tid.x; }");
    ASSERT_TRUE(added);
    expect_assembles(module);
    module.remove(*added);
    EXPECT_EQ(print(module), text);
    // An entry twice, and away again.
    const auto copy = module.clone(entry, "another_name");
    ASSERT_TRUE(copy);
    expect_assembles(module);
    module.remove(*copy);
    EXPECT_EQ(print(module), text);
    // No .loc any more.
    for (const Statement s : module.walk())
        if (s.kind() == StatementKind::directive && s.tokens()[0].text == ".loc") module.remove(s);
    expect_assembles(module);
}
INSTANTIATE_TEST_SUITE_P(Module, SyntaxEditCorpus,
                         ::testing::Values("nvcc_sm80_basic.ptx", "nvcc_sm80_basic_G.ptx",
                                           "nvcc_sm90a_basic_lineinfo.ptx", "nvcc_sm75_calls.ptx",
                                           "clang_sm80_mini_O0g.ptx", "nvcc_sm90a_asm.ptx"));

}  // namespace
}  // namespace ptxgraft::syntax
