// The syntax tree: parsed, printed, edited.
#include "ptxgraft/syntax.hpp"
#include "support/corpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace ptxgraft::syntax {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Module parsed(const std::string& text) {
    auto module = parse(text);
    if (!module) throw std::runtime_error(describe(module.error(), text, "test.ptx"));
    return std::move(*module);
}

/// A module whose function `f` has this body.
std::string in_function(std::string_view body) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry f()\n{" + std::string(body) +
           "}\n";
}

std::vector<Statement> body_of(const Module& module) { return module.find_function("f").body_recursive(); }

/// One line per statement, indented by its level, with its tokens: what two equal trees have in common.
void outline(const std::vector<Statement>& statements, int level, std::string& out) {
    for (const Statement& s : statements) {
        out.append(static_cast<std::size_t>(level), ' ') += std::to_string(static_cast<int>(s.kind()));
        for (const Token& token : s.tokens()) out.append(" ").append(token.text);
        out += '\n';
        outline(s.body(), level + 1, out);
    }
}

std::string outline(const Module& module) {
    std::string out;
    outline(module.statements(), 0, out);
    return out;
}

void expect_print(const Module& module, const std::string& text) {
    EXPECT_EQ(print(module), text);
    const auto again = parse(print(module));
    ASSERT_TRUE(again) << describe(again.error(), print(module), "printed");
    EXPECT_EQ(outline(*again), outline(module));
}

// --- parse and print

TEST(Syntax, EveryFileOfTheCorpusPrintsBackByteForByte) {
    SKIP_WITHOUT_CORPUS;
    std::size_t files = 0, instructions = 0;
    for (const std::filesystem::path& path : test::corpus_files()) {
        const std::string text = test::read_file(path);
        const auto module = parse(text);
        ASSERT_TRUE(module) << describe(module.error(), text, path.string());
        EXPECT_TRUE(print(*module) == text) << path;
        for (const Statement& function : module->functions())
            for (const Statement& s : function.body_recursive()) {
                const auto i = s.instruction();
                instructions += i.has_value();
                EXPECT_EQ(i.has_value(), s.kind() == StatementKind::instruction);
                EXPECT_TRUE(s.kind() != StatementKind::variable || !s.variable()->type.empty()) << s.text();
            }
        ++files;
    }
    EXPECT_GE(files, 1u);
    EXPECT_GE(instructions, files);
}

TEST(Syntax, OddModulesPrintBackByteForByte) {
    const std::string modules[] = {
        "",
        "\n",
        "// only a comment",
        "/* only\na comment */",
        ".version 9.0",
        ".version 9.0\r\n.target sm_90a, texmode_independent\r\n.address_size 64\r\n",
        "# 1 \"a.cu\"\n.version 9.0\n  # 12 \"a.cu\" 2\n.target sm_80\n",
        "// é, 語, \x01\x7F\xFF\n.version 9.0 // no line end",
        ".version 9.0 .target sm_80 .address_size 64 .func f;",
        ".func f { ret; }",
        ".func f\n\t{\n}\n",
        ".func (.reg .u32 r) f (.reg .u32 a, .param .align 8 .b8 b[12]) .noreturn;",
        ".extern .func f .func g\n.entry k { ret; }",
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;",
        ".visible .entry k(.param .u64 .ptr .align 1 p, .param .u64 .ptr .global .align 16 q) .maxntid 128, "
        "1, 1 "
        ".minnctapersm 2 .maxclusterrank 8 .pragma \"nounroll\"; .explicitcluster { ret; }",
        ".weak .func .attribute(.unified(0xAB, 1)) (.param .b32 r) f(.param .b32 _) .abi_preserve 32 {}",
        ".global .attribute(.managed) .align 4 .u32 x = 1;",
        ".global .f64 d[] = {.5e-1, 1., 1.e5, 0d3FF0000000000000, -.5};",
        ".global .s32 o[3][2] = { {-1,0}, {0,-1}, {1,0} };",
        ".global .u8 g[4]; .global .u64 p = generic(g)+8, q = g; .global .u8 m[] = {0xff(g), 0xff00(g + 1)};",
        ".const[2] .u32 old; .tex .u32 t; .global .texref u; .reg .b32;",
        ".global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };",
        ".visible .const .align 8 .v2 .f32 c[2] = {{1.0, 2.0}, {3, 4}};",
        ".common .global .b32 a; .weak .global .b32 b;",
        ".alias f, g; .pragma \"a\", \"b\"; .pragma \"two\nlines\";",
        "# 1 \"a\" 2 3\n#line 2 \"a\"\r\n\f.version 9.0 # 3 \"a\"\n",
        ".file 1 \"C:\\a\\\"\n.file 2 \"folder\" \"a.cu\", 1700000000, 1234\n",
        ".section .debug_info { .b8 1,2,-3\n.b64 a, a+4, b-a\nl: .b32 .debug_abbrev\n.b32 .debug_loc+12 // "
        "c\n}\n",
        ".section .debug_macinfo { }",
        in_function("{ { { } } } a: b: c : ret; "),
        in_function("/**/add/*x*/.s32 /* y; } */ %r1 /*z*/,%r2// ;\n,3;"),
        in_function("@ ! %p1 add .s32 r, r, 3; @p bra L; L: .extern .func f; .func g; .alias f, g;"),
        in_function(".reg .b32 %r<4>, a, b; .reg.pred p; .shared .align 16 .b8 s[2][8], t[];"),
        in_function(
            ".loc 1 4 0, function_name $L__info_string0+3, inlined_at 1 5 0 add.s32 a, b, c; .loc 1 2 3"),
        in_function("p_0: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) "
                    ".noreturn .abi_preserve 3;"),
        in_function("t: .branchtargets a, b, c; u: .calltargets f, g; v: .branchtargets a<8>;"),
        in_function("call (%r1), f, (%r2, 3, _), p_0; call.uni f; call f, (); call (), f, ();"),
        in_function("tex.2d.v4.f32.f32 {a,b,c,_}|p, [t, s, {x, y}], {1, 2}, !q;"),
        in_function("mov.u32 a, (.s64) 5 + -(1 << 4) * ~2 ? 3 : 4 % 5 & 6 ^ 7 && 8 != 9; add.s32 a, -b, "
                    "WARP_SZ * 2;"),
        in_function("ld.u32 a, [b + 4*2].unified; ld.u32 a, g[2]; mov.f32 f, %v .x; mov.b32 c, 0x3f803f80U;"),
        in_function("mov.u64 a, 18446744073709551615U + 0xFFFFFFFFFFFFFFFF + 01777777777777777777777;"),
        in_function("brandnew.opcode.v9::x.2d.128x256b %a|%b, [c], [d, {e}], [d, s, {1, e}], 0F3F800000, "
                    "%r60.b3210;"),
        in_function("mov.u32 __$1, %tid.x; \xC3\xA9: bra \xC3\xA9;"),
    };
    for (const std::string& text : modules) {
        const auto module = parse(text);
        ASSERT_TRUE(module) << describe(module.error(), text, "odd");
        EXPECT_EQ(print(*module), text);
        EXPECT_EQ(module->statements().back().kind(), StatementKind::end);
    }
}

TEST(Syntax, DeepNestingAndLongTextsAreNoDanger) {
    constexpr std::size_t n = 200000;
    const auto repeat = [](std::string_view s) {
        std::string out;
        for (std::size_t i = 0; i < n; ++i) out += s;
        return out;
    };
    const std::string deep[] = {
        in_function(repeat("{") + repeat("}")),
        in_function("mov.u32 a, " + repeat("1 ? ") + "1" + repeat(" : 2") + ";"),
        in_function("mov.u32 a, " + repeat("(") + "1" + repeat(")") + ";"),
        in_function("call f, (" + repeat("(") + "1" + repeat(")") + ");"),
        in_function("mov.u32 a, " + repeat("-!") + "1;"),
        ".global .u32 a = " + repeat("{") + "1" + repeat("}") + ";",
        in_function("add" + repeat(".s32") + " a;"),
    };
    for (const std::string& text : deep) {
        const auto module = parse(text);
        ASSERT_TRUE(module) << message(module.error(), text);
        EXPECT_TRUE(print(*module) == text);
        for (const Statement& f : module->functions()) {
            EXPECT_TRUE(f.text().size() > n);
            for (const Statement& s : f.body_recursive()) EXPECT_TRUE(s.instruction());
        }
    }
    const std::string unclosed = in_function(repeat("{"));
    EXPECT_EQ(parse(unclosed).error().code, Errc::bracket_unclosed);
}

// --- statements

TEST(Syntax, StatementsKnowTheirKindTriviaSpanAndNeighbours) {
    const std::string text = in_function("\n\t.reg .b32 a; // x\n\tL: ret;\n");
    const Module module = parsed(text);
    EXPECT_EQ(module.version(), "9.0");
    EXPECT_EQ(module.target(), "sm_90a");
    EXPECT_EQ(module.address_size(), 64u);
    EXPECT_EQ(parse(".version 9.0\n.target sm_80\n.address_size 32\n")->address_size(), 32u);
    EXPECT_EQ(parse(".version 9.0\n.target sm_80\n.entry k() { ret; }\n")->address_size(), 64u);
    const auto body = body_of(module);
    ASSERT_EQ(body.size(), 3u);
    EXPECT_EQ(body[0].kind(), StatementKind::variable);
    EXPECT_EQ(body[1].kind(), StatementKind::label);
    EXPECT_EQ(body[1].name(), "L");
    EXPECT_EQ(body[1].trivia(), " // x\n\t");
    EXPECT_EQ(body[2].text(), "ret;");
    EXPECT_EQ(text.substr(body[2].span().begin, body[2].span().end - body[2].span().begin), "ret;");
    EXPECT_EQ(body[1].next(), body[2]);
    EXPECT_EQ(body[1].previous(), body[0]);
    EXPECT_FALSE(body[2].next());
    EXPECT_FALSE(body[0].previous());
    EXPECT_EQ(body[0].parent().name(), "f");
    EXPECT_EQ(body[0].parent().first_child(), body[0]);
    EXPECT_FALSE(body[0].parent().parent());
    EXPECT_EQ(body[0].parent().text(),
              text.substr(text.find(".visible"), text.rfind('}') + 1 - text.find(".visible")));
}

TEST(Syntax, BlocksAreExpandedInTextOrder) {
    const Module module = parsed(in_function("a: { b: { c: } { } d: } e:"));
    std::string names;
    for (const Statement& s : body_of(module)) names += s.name();
    EXPECT_EQ(names, "abcde");
    EXPECT_EQ(module.find_function("f").body().size(), 3u);
    EXPECT_EQ(module.find_function("f").body()[1].kind(), StatementKind::block);
}

TEST(Syntax, HandlesLiveThroughAMoveOfTheModule) {
    Module first = parsed(in_function("ret;"));
    const Statement s = body_of(first)[0];
    const Module second = std::move(first);
    EXPECT_EQ(s.text(), "ret;");
    EXPECT_EQ(body_of(second)[0], s);
}

TEST(Syntax, FunctionsAreFoundByNameDefinitionFirst) {
    const Module module = parsed(
        ".func g; .func (.param .align 8 .b8 r[12]) g (.reg .u32 a, .param .u64 .ptr .global .align 16 p,"
        " .param .align 4 .b8 q[16]) { ret; } .entry k() { ret; } .weak .func .attribute(.unified(1, 2)) "
        "h;");
    EXPECT_EQ(module.functions().size(), 4u);
    const Statement g = module.find_function("g");
    EXPECT_TRUE(g.is_definition());
    EXPECT_FALSE(g.is_entry());
    EXPECT_TRUE(module.find_function("k").is_entry());
    EXPECT_FALSE(module.find_function("h").is_definition());
    EXPECT_FALSE(module.find_function("absent"));
    ASSERT_EQ(g.return_parameters().size(), 1u);
    EXPECT_EQ(g.return_parameters()[0].count, 12u);
    const auto p = g.parameters();
    ASSERT_EQ(p.size(), 3u);
    EXPECT_EQ(p[0].space, ".reg");
    EXPECT_EQ(p[0].type, ".u32");
    EXPECT_EQ(p[1].name, "p");
    EXPECT_EQ(p[1].type, ".u64");
    EXPECT_EQ(p[1].align, 0u);
    EXPECT_EQ(p[2].align, 4u);
    EXPECT_EQ(p[2].count, 16u);
}

TEST(Syntax, VariablesShowTheirDeclarators) {
    const Module module =
        parsed(".visible .global .align 16 .v2 .f32 a[2][3] = {{1, 2}}, b[], c; .reg .b32 %r<7>, t;");
    const auto v = module.statements()[0].variable();
    ASSERT_TRUE(v);
    EXPECT_EQ(v->linkage, ".visible");
    EXPECT_EQ(v->space, ".global");
    EXPECT_EQ(v->type, ".f32");
    EXPECT_EQ(v->vector, 2u);
    EXPECT_EQ(v->align, 16u);
    ASSERT_EQ(v->declarators.size(), 3u);
    EXPECT_THAT(v->declarators[0].extents, ElementsAre(2, 3));
    EXPECT_EQ(v->declarators[0].initialiser.size(), 7u);
    EXPECT_THAT(v->declarators[1].extents, ElementsAre(0));
    EXPECT_THAT(v->declarators[2].extents, IsEmpty());
    const auto r = module.statements()[1].variable();
    EXPECT_EQ(r->declarators[0].range, 7u);
    EXPECT_EQ(r->declarators[1].name, "t");
    EXPECT_FALSE(module.statements()[2].variable());
    const Module odd = parsed(".align 8 .attribute(.managed) .global .b64 m; .const[2] .u32 c; .reg .pred;");
    EXPECT_EQ(odd.statements()[0].variable()->space, ".global");
    EXPECT_EQ(odd.statements()[0].variable()->align, 8u);
    EXPECT_EQ(odd.statements()[1].variable()->space, ".const");
    EXPECT_EQ(odd.statements()[2].variable()->declarators.size(), 0u);
    EXPECT_EQ(odd.statements()[2].name(), "");
}

TEST(Syntax, NumbersTooLargeForADeclarationDoNotWrapAround) {
    const Module module =
        parse(".reg .b32 %r<4294967297>;\n.func f(.param .b8 p[18446744073709551615]);").value();
    EXPECT_EQ(module.statements()[0].variable()->declarators[0].range, 0xFFFFFFFFu);
    EXPECT_EQ(module.statements()[1].parameters()[0].count, ~std::uint64_t{0});
}

// --- instructions

struct InstructionRow {
    std::string_view text;
    std::string_view guard;  // with its '!'
    std::string_view name;
    std::vector<std::string_view> modifiers;
    std::string_view operands;  // see show()
};

// `-4`, `15u`; of a floating-point constant its bits: `f32 3f800000`.
std::string show(const std::optional<Constant>& constant) {
    if (!constant) return "?";
    if (constant->type == Constant::Type::s64) return std::to_string(constant->as_signed());
    if (constant->type == Constant::Type::u64) return std::to_string(constant->bits) + "u";
    std::ostringstream out;
    out << (constant->type == Constant::Type::f32 ? "f32 " : "f64 ") << std::hex << constant->bits;
    return out.str();
}

std::string show(const Operand& o) {
    static constexpr std::string_view names[] = {"id",   "imm", "addr", "vec",  "list",
                                                 "pair", "not", "sum",  "sink", "elem"};
    std::string out(names[static_cast<std::size_t>(o.kind())]);
    const auto number = [](std::optional<std::int64_t> n) { return n ? std::to_string(*n) : "?"; };
    if (o.kind() == OperandKind::address || o.kind() == OperandKind::sum)
        out += "<" + std::string(o.base()) + "+" + number(o.offset()) + ">";
    if (o.kind() == OperandKind::element) out += "<" + std::string(o.base()) + ">";
    if (o.kind() == OperandKind::immediate) out += "<" + show(o.constant()) + ">";
    if (o.children().empty() && o.base().empty()) out += ":" + std::string(o.text());
    for (const Operand& child : o.children()) out += "(" + show(child) + ")";
    return out;
}

TEST(Syntax, InstructionsShowGuardModifiersAndEveryKindOfOperand) {
    const InstructionRow rows[] = {
        {"ret;", "", "ret", {}, ""},
        {"@%p1 bra.uni $L1;", "%p1", "bra.uni", {".uni"}, "id:$L1 "},
        {"@ ! p exit;", "!p", "exit", {}, ""},
        {"add.s32 %r1, %tid.x, -4;", "", "add.s32", {".s32"}, "id:%r1 id:%tid.x imm<-4>:-4 "},
        {"mov.u32 a, (1+2)*3 << 1;", "", "mov.u32", {".u32"}, "id:a imm<18>:(1+2)*3 << 1 "},
        {"mov.u32 a, 1|2;", "", "mov.u32", {".u32"}, "id:a imm<3>:1|2 "},
        {"mov.u64 a, 0xFFFFFFFFFFFFFFFFU;",
         "",
         "mov.u64",
         {".u64"},
         "id:a imm<18446744073709551615u>:0xFFFFFFFFFFFFFFFFU "},
        {"mov.f32 a, 0f3F800000;", "", "mov.f32", {".f32"}, "id:a imm<f32 3f800000>:0f3F800000 "},
        {"mov.f64 a, 0d3FF0000000000000;",
         "",
         "mov.f64",
         {".f64"},
         "id:a imm<f64 3ff0000000000000>:0d3FF0000000000000 "},
        {"mov.f64 a, -1.5e-3;", "", "mov.f64", {".f64"}, "id:a imm<f64 bf589374bc6a7efa>:-1.5e-3 "},
        {"mov.b32 a, g+8;", "", "mov.b32", {".b32"}, "id:a sum<g+8> "},
        {"mov.b32 a, %rd1+-8;", "", "mov.b32", {".b32"}, "id:a sum<%rd1+-8> "},
        {"mov.b32 {a, _}, c;", "", "mov.b32", {".b32"}, "vec(id:a)(sink:_) id:c "},
        {"ld.shared::cta.L2::128B.v2.f32 {a,b}, [%rd1+-4];",
         "",
         "ld.shared::cta.L2::128B.v2.f32",
         {".shared::cta", ".L2::128B", ".v2", ".f32"},
         "vec(id:a)(id:b) addr<%rd1+-4>(sum<%rd1+-4>) "},
        {"m.sp::2:4.k::1.f32 a;", "", "m.sp::2:4.k::1.f32", {".sp::2:4", ".k::1", ".f32"}, "id:a "},
        {"ld.u32 a, [16+4*2];", "", "ld.u32", {".u32"}, "id:a addr<+24>(imm<24>:16+4*2) "},
        {"ld.u32 a, [g+-(2*4)].unified;", "", "ld.u32", {".u32"}, "id:a addr<g+-8>(sum<g+-8>) "},
        {"st.b32 [a], b;", "", "st.b32", {".b32"}, "addr<a+0>(id:a) id:b "},
        {"tex.2d.v4.f32.s32 {a,b,c,d}|p, [t, {x, 1}];",
         "",
         "tex.2d.v4.f32.s32",
         {".2d", ".v4", ".f32", ".s32"},
         "pair(vec(id:a)(id:b)(id:c)(id:d))(id:p) addr<t+0>(id:t)(vec(id:x)(imm<1>:1)) "},
        {"setp.eq.and.s32 p|_, a, b, !q;",
         "",
         "setp.eq.and.s32",
         {".eq", ".and", ".s32"},
         "pair(id:p)(sink:_) id:a id:b not(id:q) "},
        {"call.uni (r1, r2), f, (a, 3, _), proto;",
         "",
         "call.uni",
         {".uni"},
         "list(id:r1)(id:r2) id:f list(id:a)(imm<3>:3)(sink:_) id:proto "},
        {"call f, ();", "", "call", {}, "id:f list:() "},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], 16, [c];",
         "",
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
         {".async", ".bulk", ".shared::cluster", ".global", ".mbarrier::complete_tx::bytes"},
         "addr<a+0>(id:a) addr<b+0>(id:b) imm<16>:16 addr<c+0>(id:c) "},
        {"tcgen05.ld.16x64b.x2 {a, b}, [t];",
         "",
         "tcgen05.ld.16x64b.x2",
         {".ld", ".16x64b", ".x2"},
         "vec(id:a)(id:b) addr<t+0>(id:t) "},
        {"mov.f32 a, %v.x;", "", "mov.f32", {".f32"}, "id:a id:%v.x "},
        {"mov.u32 a, WARP_SZ;", "", "mov.u32", {".u32"}, "id:a imm<32>:WARP_SZ "},
        {"mov.u32 a, -WARP_SZ;", "", "mov.u32", {".u32"}, "id:a imm<-32>:-WARP_SZ "},
        {"mov.u32 a, WARP_SZ*2;", "", "mov.u32", {".u32"}, "id:a imm<64>:WARP_SZ*2 "},
        {"mov.u32 a, 1?2:3;", "", "mov.u32", {".u32"}, "id:a imm<2>:1?2:3 "},
        {"mov.u32 a, 5/0;", "", "mov.u32", {".u32"}, "id:a imm<?>:5/0 "},
        {"mov.u32 a, 1+1.0;", "", "mov.u32", {".u32"}, "id:a imm<?>:1+1.0 "},
        {"ld.u32 a, [b+(1?4:8)];", "", "ld.u32", {".u32"}, "id:a addr<b+4>(sum<b+4>) "},
        {"ld.u32 a, [b+WARP_SZ/8];", "", "ld.u32", {".u32"}, "id:a addr<b+4>(sum<b+4>) "},
        {"ld.u32 a, [b+5/0];", "", "ld.u32", {".u32"}, "id:a addr<b+?>(sum<b+?>) "},
        {"ld.u32 a, [b+1.0];", "", "ld.u32", {".u32"}, "id:a addr<b+?>(sum<b+?>) "},
        {"mov.u64 a, g+(1?8:4);", "", "mov.u64", {".u64"}, "id:a sum<g+8> "},
        {"mov.u64 a, g[1];", "", "mov.u64", {".u64"}, "id:a elem<g>(imm<1>:1) "},
        {"ld.u32 a, g[%r1+2*2];", "", "ld.u32", {".u32"}, "id:a elem<g>(sum<%r1+4>) "},
        {"ld.u32 a, g[%r1].unified;", "", "ld.u32", {".u32"}, "id:a elem<g>(id:%r1) "},
        {"vmad.s32.s32.s32 a, -b, -%v.x, c;",
         "",
         "vmad.s32.s32.s32",
         {".s32", ".s32", ".s32"},
         "id:a not(id:b) not(id:%v.x) id:c "},
        {"add .s32 a,/* b, */c // d\n,e;", "", "add .s32", {".s32"}, "id:a id:c id:e "},
    };
    for (const InstructionRow& row : rows) {
        const Module module = parsed(in_function(row.text));
        const auto i = body_of(module)[0].instruction();
        ASSERT_TRUE(i) << row.text;
        EXPECT_EQ(i->guard ? (i->guard->negated ? "!" : "") + std::string(i->guard->predicate) : "",
                  row.guard)
            << row.text;
        EXPECT_EQ(i->name, row.name);
        EXPECT_EQ(i->modifiers, row.modifiers) << row.text;
        std::string operands;
        for (const Operand& o : i->operands) operands += show(o) + " ";
        EXPECT_EQ(operands, row.operands) << row.text;
        EXPECT_EQ(i->has(".s32"), row.text.find(".s32") != std::string_view::npos);
    }
}

// --- truncated text

TEST(Syntax, EveryTruncationOfAModuleIsAnErrorOrPrintsBack) {
    const std::string text =
        ".version 9.0\n.global .f32 a[2] = {1.5, {2e3}};\n.func (.reg .b32 r) f (.param .b64 p) .noreturn\n"
        "{ /* c */ @!p ld.v2.u32 {a, b}, [c+4], 7; L: .pragma \"s\"; .loc 1 2 3 { call (r), g, (1); } }";
    for (std::size_t n = 0; n <= text.size(); ++n) {
        const std::string part = text.substr(0, n);
        const auto module = parse(part);
        EXPECT_TRUE(module ? print(*module) == part : module.error().span.begin <= n) << part;
    }
}

// --- tokens and numbers

TEST(Syntax, TokenizeKeepsTextAndPlace) {
    const auto tokens = tokenize("@%p1 ld.shared::cta.f32 %f1,[%rd1+-4]; // c\n1.5e-3 0x2AU \"s\" << .5 %");
    ASSERT_TRUE(tokens);
    std::string texts;
    for (const Token& t : *tokens) texts.append(t.text).append(" ");
    EXPECT_EQ(texts, "@ %p1 ld .shared::cta .f32 %f1 , [ %rd1 + - 4 ] ; 1.5e-3 0x2AU \"s\" << .5 % ");
    EXPECT_EQ((*tokens)[1].kind, TokenKind::identifier);
    EXPECT_EQ((*tokens)[3].kind, TokenKind::directive);
    EXPECT_EQ((*tokens)[3].offset, 7u);
    EXPECT_EQ((*tokens)[11].kind, TokenKind::integer);
    EXPECT_EQ(tokenize("a `").error().span, (Span{2, 3}));
    EXPECT_EQ(tokenize("")->size(), 0u);
}

// The lexer reads long texts many characters at a time: a token may lie anywhere in such a stretch.
TEST(Syntax, TokensAreTheSameWhereverTheyStand) {
    const std::string sample =
        "@!%p1 ld.shared::cta.v2.f32{%f1,_},[%rd1+-4];//c\n.5 1.5e-3 0x2AU \"s\"<<7%3 a%b $x%tid.x::y/*z*/ "
        "a::b "
        "12345678901234567890 123456789012345678 0 07 1. 2.e5}.2d ].unified 0f3F800000\f(.s64)9==1&&2!=3 "
        ".a::b::c:d a\xC3\xA9z %\xC3\xA9 \xC3\xA9 .\xC3\xA9 $\xC3\xA9";
    const auto kinds_and_texts = [](const std::vector<Token>& tokens) {
        std::string out;
        for (const Token& t : tokens)
            out.append(std::to_string(static_cast<int>(t.kind))).append(t.text).append(" ");
        return out;
    };
    const auto plain = tokenize(sample);
    ASSERT_TRUE(plain) << message(plain.error(), sample);
    for (std::size_t shift = 0; shift < 130; ++shift) {
        const std::string text = std::string(shift, ' ') + sample + std::string(shift % 3 * 80, '\n');
        const auto shifted = tokenize(text);
        ASSERT_TRUE(shifted);
        EXPECT_EQ(kinds_and_texts(*shifted), kinds_and_texts(*plain)) << shift;
    }
    // Cut into words, each is read alone.
    std::string alone;
    std::istringstream words(sample.substr(sample.find(".5 ")));
    for (std::string word; words >> word;)
        if (const auto tokens = tokenize(word)) alone += kinds_and_texts(*tokens);
    EXPECT_THAT(kinds_and_texts(*plain), ::testing::EndsWith(alone));
}

TEST(Syntax, NumbersHaveTheirValue) {
    const std::pair<std::string_view, std::optional<std::uint64_t>> integers[] = {
        {"42", 42},
        {"0x2A", 42},
        {"052", 42},
        {"0b101010", 42},
        {"42U", 42},
        {"-7", std::uint64_t(-7)},
        {"0", 0},
        {"0X2aU", 42},
        {"08", {}},
        {"", {}},
        {"-", {}},
        {"0x", {}},
        {"1.5", {}},
        {"18446744073709551615", ~0ull},
        {"18446744073709551616", {}},
        {"0x10000000000000000", {}},
        {"4 2", {}},
        {"--4", {}},
    };
    for (const auto& [text, value] : integers) EXPECT_EQ(parse_integer(text), value) << text;
    EXPECT_EQ(parse_float("0f3F800000")->bits, 0x3F800000u);
    EXPECT_FALSE(parse_float("0F3f800000")->is_double);
    EXPECT_EQ(parse_float("0d3FF0000000000000")->bits, 0x3FF0000000000000u);
    EXPECT_EQ(parse_float("1.5")->bits, 0x3FF8000000000000u);
    EXPECT_EQ(parse_float("-.5e-1")->bits, 0xBFA999999999999Au);
    EXPECT_EQ(parse_float("1.")->bits, 0x3FF0000000000000u);
    EXPECT_EQ(parse_float("-0f00000000")->bits, 0x80000000u);
    for (std::string_view bad :
         {"", "-", "0f3F80000", "0dxyz", "inf", "nan", "1.5e", "1e", "e5", "0x1p3", "1.5.2"})
        EXPECT_FALSE(parse_float(bad)) << bad;
}

// --- edits

constexpr std::string_view sample =
    "// head\n.version 9.0\n.target sm_90a\n\n.visible .entry k(.param .u64 p) // k\n{\n"
    "\t.reg .b32 \t%r<4>;\n\t.loc 1 2 3\n\tadd.s32 \t%r1, %r2, 7; // sum\n{ sub.s32 %r1,%r1,%r2; }\nL: "
    "ret;\n\n}\n// tail\n";

std::string with(std::string_view from, std::string_view to) {
    std::string text(sample);
    const std::size_t at = text.find(from);
    return text.replace(at, from.size(), to);
}

struct Edited {
    Module module = parsed(std::string(sample));
    [[nodiscard]] Statement at(std::string_view text) const {
        for (const Statement& s : module.statements())
            if (s.text() == text) return s;
        for (const Statement& s : module.find_function("k").body_recursive())
            if (s.text() == text) return s;
        return {};
    }
};

TEST(SyntaxEdit, RemoveTakesAStatementAndItsTriviaAway) {
    Edited e;
    const Statement gone = e.at(".loc 1 2 3");
    e.module.remove(gone);
    expect_print(e.module, with("\n\t.loc 1 2 3", ""));
    EXPECT_FALSE(gone.next());
    EXPECT_EQ(gone.text(), "");
    EXPECT_TRUE(gone.tokens().empty());
    e.module.remove(gone);  // twice is once
    e.module.remove(e.module.statements().back());
    e.module.remove(Statement());
    expect_print(e.module, with("\n\t.loc 1 2 3", ""));
}

TEST(SyntaxEdit, RemoveEveryStatementFromEitherEnd) {
    for (const bool forward : {true, false}) {
        Edited e;
        auto body = e.module.find_function("k").body();
        if (!forward) std::reverse(body.begin(), body.end());
        for (const Statement& s : body) {
            e.module.remove(s);
            expect_print(e.module, print(e.module));
        }
        EXPECT_EQ(e.module.find_function("k").text(), ".visible .entry k(.param .u64 p) // k\n{\n\n}");
        ASSERT_TRUE(e.module.append(e.module.find_function("k"), " ret;"));
        EXPECT_EQ(e.module.find_function("k").text(), ".visible .entry k(.param .u64 p) // k\n{ ret;\n\n}");
        e.module.remove(e.module.find_function("k"));
        expect_print(e.module, "// head\n.version 9.0\n.target sm_90a\n// tail\n");
    }
}

TEST(SyntaxEdit, InsertBeforeAndAfter) {
    Edited e;
    const Statement ret = e.at("ret;");
    const auto first = e.module.insert_before(ret, "\n\tmul.lo.s32 %r3, %r1, %r1;\n\t{ x: }");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->text(), "mul.lo.s32 %r3, %r1, %r1;");
    EXPECT_FALSE(first->span().known());
    EXPECT_EQ(first->next().next(), ret);
    EXPECT_TRUE(e.module.insert_after(ret, " // why\n exit;"));
    expect_print(e.module, with("L: ret;", "L:\n\tmul.lo.s32 %r3, %r1, %r1;\n\t{ x: } ret; // why\n exit;"));
    EXPECT_TRUE(e.module.insert_before(e.module.statements()[0], ".file 1 \"a\"\n"));
    EXPECT_TRUE(e.module.insert_after(e.module.find_function("k"), "\n.func g;"));
    EXPECT_TRUE(e.module.append({}, "\n.func h;"));
    EXPECT_THAT(print(e.module), ::testing::StartsWith(".file 1 \"a\"\n// head\n.version 9.0\n"));
    EXPECT_THAT(print(e.module), ::testing::EndsWith("\n}\n.func g;\n.func h;\n// tail\n"));
    expect_print(e.module, print(e.module));
}

TEST(SyntaxEdit, ReplaceKeepsTheTriviaBefore) {
    Edited e;
    const auto replaced =
        e.module.replace(e.at("add.s32 \t%r1, %r2, 7;"), "add.sat.s32 \t%r1, %r2, 7; /* new */");
    ASSERT_TRUE(replaced);
    expect_print(e.module, with("add.s32 \t%r1, %r2, 7;", "add.sat.s32 \t%r1, %r2, 7; /* new */"));
    const Statement k = e.module.find_function("k");
    ASSERT_TRUE(e.module.replace(k, ".func a { ret; }\n.func b;"));
    expect_print(e.module, "// head\n.version 9.0\n.target sm_90a\n\n.func a { ret; }\n.func b;\n// tail\n");
    EXPECT_EQ(k.text(), "");
    EXPECT_FALSE(replaced->next());
}

TEST(SyntaxEdit, SpliceABodyAndChangeNothingElse) {
    Edited e;
    Statement block = e.at("sub.s32 %r1,%r1,%r2;").parent();
    ASSERT_EQ(block.kind(), StatementKind::block);
    ASSERT_TRUE(e.module.replace(block, "{ .reg .f32 f; mov.f32 f, 0f00000000; }"));
    expect_print(e.module, with("{ sub.s32 %r1,%r1,%r2; }", "{ .reg .f32 f; mov.f32 f, 0f00000000; }"));
}

TEST(SyntaxEdit, RenameChangesWholeNamesOnly) {
    Edited e;
    EXPECT_EQ(*e.module.rename(e.module.find_function("k"), "%r1", "%result"), 3u);
    std::string text(sample);
    for (std::size_t at; (at = text.find("%r1")) != std::string::npos;) text.replace(at, 3, "%result");
    expect_print(e.module, text);
    EXPECT_EQ(*e.module.rename({}, "%r", "q"), 1u);   // the declaration
    EXPECT_EQ(*e.module.rename({}, "add", "q"), 0u);  // an opcode
    EXPECT_EQ(*e.module.rename({}, "sm_90a", "q"), 0u);
    EXPECT_EQ(*e.module.rename({}, "k", "longer$name"), 1u);
    EXPECT_TRUE(e.module.find_function("longer$name"));
    EXPECT_EQ(*e.module.rename({}, "%result", "%r1"), 3u);
    EXPECT_EQ(*e.module.rename({}, "q", "%r"), 1u);
    EXPECT_EQ(*e.module.rename({}, "longer$name", "k"), 1u);
    expect_print(e.module, std::string(sample));
    for (std::string_view bad : {"", "%", "a b", "1a", ".x", "a;", "a.x", "//"}) {
        EXPECT_EQ(e.module.rename({}, "%r1", bad).error().code, Errc::argument_invalid) << bad;
        EXPECT_EQ(e.module.rename({}, bad, "%r1").error().code, Errc::argument_invalid) << bad;
    }
}

TEST(SyntaxEdit, TextsDoNotRunTogether) {
    {
        Edited e;
        ASSERT_TRUE(e.module.insert_before(e.at("add.s32 \t%r1, %r2, 7;"), "ret;"));
        expect_print(e.module, with("3\n\tadd", "3\nret;\n\tadd"));
    }
    {
        Edited e;
        ASSERT_TRUE(e.module.insert_before(e.at("sub.s32 %r1,%r1,%r2;"), " ret; // no line end"));
        expect_print(e.module, with("{ sub", "{ ret; // no line end\n sub"));
    }
    {
        Module m = parsed(in_function(".loc 1 2 3{}ret;"));
        m.remove(body_of(m)[0].next());
        expect_print(m, in_function(".loc 1 2 3\nret;"));
    }
    {
        Module m = parsed("# 1 \"a\"\n.version 9.0");
        ASSERT_TRUE(m.insert_before(m.statements()[0], ".func f;"));
        expect_print(m, ".func f;\n# 1 \"a\"\n.version 9.0");
        m.remove(m.statements()[0]);
        ASSERT_TRUE(m.append({}, ".func g;"));
        expect_print(m, "\n# 1 \"a\"\n.version 9.0\n.func g;");
    }
}

TEST(SyntaxEdit, ARefusedEditChangesNothingAndSaysWhereInTheNewText) {
    Edited e;
    const Statement at = e.at("add.s32 \t%r1, %r2, 7;");
    const std::pair<std::string_view, Span> rows[] = {
        {"add.s32 a, b", {12, 12}}, {"{ ret;", {0, 1}}, {"ret; }", {5, 6}},    {"", {0, 0}},
        {" // nothing\n", {0, 0}},  {"ret; `", {5, 6}}, {".entry f;", {0, 6}}, {"/*", {0, 2}},
    };
    for (const auto& [text, span] : rows) {
        EXPECT_EQ(e.module.insert_before(at, text).error().span, span) << text;
        EXPECT_EQ(e.module.insert_after(at, text).error().span, span) << text;
        EXPECT_EQ(e.module.replace(at, text).error().span, span) << text;
    }
    EXPECT_FALSE(e.module.insert_before(e.module.find_function("k"), "ret;"));
    EXPECT_FALSE(e.module.append(at, "ret;"));
    EXPECT_FALSE(e.module.insert_after(e.module.statements().back(), ".func f;"));
    EXPECT_FALSE(e.module.insert_before({}, ".func f;"));
    Edited other;
    EXPECT_FALSE(e.module.insert_before(other.at("ret;"), "ret;"));
    expect_print(e.module, std::string(sample));
}

TEST(SyntaxEdit, AHundredThousandEdits) {
    Module module = parsed(in_function(" ret; "));
    const Statement f = module.find_function("f");
    for (int i = 0; i < 100000; ++i) ASSERT_TRUE(module.append(f, "\n\tadd.s32 a, b, c;"));
    EXPECT_EQ(f.body().size(), 100001u);
    EXPECT_EQ(*module.rename(f, "b", "longer"), 100000u);
    EXPECT_EQ(print(module).size(),
              in_function(" ret; ").size() + 100000 * (std::string_view("\n\tadd.s32 a, longer, c;").size()));
}

}  // namespace
}  // namespace ptxgraft::syntax
