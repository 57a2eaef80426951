// Stubs by hand: what is checked of them.
#include <gtest/gtest.h>

#include <string>

#include "ptxgraft/stub.hpp"
#include "support/stub_text.hpp"

namespace ptxgraft {
namespace {

const Signature& signature() {
    static const Signature s = *Signature::parse(
        "mod f32 acc, in f32 x, out u32 o, in u32 row, mod f32 frag[4], in pred q, in u64 p, mod s32 m");
    return s;
}

struct Row {
    const char* text;
    const char* ptx;
    Effect allowed = Effect::none;
};

class StubTakes : public testing::TestWithParam<Row> {};

TEST_P(StubTakes, ThisText) {
    const auto stub = Stub::from_ptx(GetParam().text, signature(), {GetParam().allowed, false});
    ASSERT_TRUE(stub) << describe(stub.error(), GetParam().text);
    EXPECT_EQ(stub->ptx(), GetParam().ptx);
    const std::string module = test::kernel(signature(), stub->ptx() + stub->ptx());
    const auto cubin = test::assemble(module);
    EXPECT_TRUE(cubin) << describe(cubin.error(), module);
}

INSTANTIATE_TEST_SUITE_P(
    Stub, StubTakes,
    testing::Values(
        Row{"mov.u32 _o, 0;", "\tmov.u32 _o, 0;\n"},
        // plain names become registers, in operands only
        Row{"add.f32 acc, acc, x; mov.u32 o, row;", "\tadd.f32 _acc, _acc, _x; mov.u32 _o, _row;\n"},
        Row{"mov.b32 o, frag2;\r\n\r\n   mov.f32 _frag0, frag3;   // keep acc here\r\n",
            "\tmov.b32 _o, _frag2;\n\n\tmov.f32 _frag0, _frag3;   // keep acc here\n"},
        Row{"@q mov.u32 o, 1;\n@!q mov.u32 o, 2;", "\t@_q mov.u32 _o, 1;\n\t@!_q mov.u32 _o, 2;\n"},
        // registers of its own, in a scope
        Row{".reg .f32 t<2>, u;\nmul.f32 t0, x, x;\nmov.f32 t1, t0; mov.f32 u, t1;\nmov.b32 o, u;",
            "\t{ .reg .f32 t<2>, u;\n\tmul.f32 t0, _x, _x;\n\tmov.f32 t1, t0; mov.f32 u, t1;\n\tmov.b32 "
            "_o, u;\n\t}\n"},
        Row{"{ .reg .b32 %r1; mov.b32 %r1, x; { .reg .b32 %r1; mov.u32 %r1, %laneid; } mov.b32 o, %r1; }",
            "\t{ { .reg .b32 %r1; mov.b32 %r1, _x; { .reg .b32 %r1; mov.u32 %r1, %laneid; } mov.b32 _o, "
            "%r1; }\n\t}\n"},
        // bits agree with every type of their size, signed with unsigned
        Row{"add.s32 o, row, m; add.u32 m, m, 1;", "\tadd.s32 _o, _row, _m; add.u32 _m, _m, 1;\n"},
        Row{".reg .pred r; cvt.u32.u32 o, row; setp.lt.and.f32 r, x, acc, !q;",
            "\t{ .reg .pred r; cvt.u32.u32 _o, _row; setp.lt.and.f32 r, _x, _acc, !_q;\n\t}\n"},
        Row{"mov.u32 o, %tid.x;", "\tmov.u32 _o, %tid.x;\n"},
        Row{"mov.u32 o, 1; max.f32 acc, acc, x, 0f00000000;",
            "\tmov.u32 _o, 1; max.f32 _acc, _acc, _x, 0f00000000;\n"},
        // forms that the table lacks are left to the assembler
        Row{".reg .f64 d; cvt.f64.f32 d, x; add.f64 d, d, d; cvt.rn.f32.f64 acc, d; mov.u32 o, 0;",
            "\t{ .reg .f64 d; cvt.f64.f32 d, _x; add.f64 d, d, d; cvt.rn.f32.f64 _acc, d; mov.u32 _o, "
            "0;\n\t}\n"},
        // effects that the policy allows
        Row{"ld.global.u32 o, [p+4];", "\tld.global.u32 _o, [_p+4];\n", Effect::load},
        Row{"mov.u32 o, 0; st.global.v2.f32 [_p], {acc, x};",
            "\tmov.u32 _o, 0; st.global.v2.f32 [_p], {_acc, _x};\n", Effect::store},
        Row{"mov.u32 o, 0; red.global.add.f32 [p], acc;", "\tmov.u32 _o, 0; red.global.add.f32 [_p], _acc;\n",
            Effect::atomic},
        Row{".reg .pred r; shfl.sync.bfly.b32 o|r, row, 1, 31, -1;",
            "\t{ .reg .pred r; shfl.sync.bfly.b32 _o|r, _row, 1, 31, -1;\n\t}\n", Effect::warp},
        Row{"activemask.b32 o;", "\tactivemask.b32 _o;\n", Effect::warp},
        Row{"mov.u32 o, 0;\n@q bra done;\nadd.f32 acc, acc, x;\ndone:",
            "\t{ mov.u32 _o, 0;\n\t@_q bra done;\n\tadd.f32 _acc, _acc, _x;\n\tdone:\n\t}\n",
            Effect::branch}));

// An `out` operand is written on every path, each of them another way, and read behind that.
TEST(StubOutputs, AreWrittenOnEveryPath) {
    for (const std::string_view text : {
             "@q bra a; mov.u32 o, 1; bra b; a: mov.u32 o, 2; b: add.u32 o, o, 1;",
             "@q mov.u32 o, 1; @!q mov.u32 o, 2; add.u32 o, o, 1;",
             "@q mov.u32 o, 1; @q add.u32 o, o, 1; @!q mov.u32 o, 2;",
             "@!q bra a; mov.u32 o, 1; a: @!q mov.u32 o, 2; add.u32 o, o, 1;",
             "@q mov.u32 o, 1; @!q bra a; add.u32 o, o, 3; bra b; a: mov.u32 o, 4; b:",
             "again: mov.u32 o, row; add.u32 m, m, o; setp.lt.s32 r, m, 9; @r bra again;",
             "mov.u32 o, 0; again: add.u32 o, o, 1; setp.lt.u32 r, o, row; @r bra again;",
             "bra b; a: add.u32 o, o, 1; bra c; b: mov.u32 o, 7; bra a; c:",
             "@q bra a; mov.u32 o, 1; @!q bra b; a: mov.u32 o, 2; b:",
             "setp.eq.u32 r, row, 0; @r mov.u32 o, 1; @!r mov.u32 o, 2; not.pred r, r; @r add.u32 o, o, 1;",
             "@q trap; @!q mov.u32 o, 1; add.u32 o, o, 1;",
             "{ .reg .pred r; setp.eq.u32 r, row, 1; @r bra a; } mov.u32 o, 1; bra b; a: mov.u32 o, 2; b:",
         }) {
        const std::string whole = ".reg .pred r; " + std::string(text);
        const auto stub = Stub::from_ptx(whole, signature(), {Effect::branch | Effect::exit, false});
        ASSERT_TRUE(stub) << describe(stub.error(), whole);
        const std::string module = test::kernel(signature(), stub->ptx());
        const auto cubin = test::assemble(module);
        EXPECT_TRUE(cubin) << describe(cubin.error(), module);
    }
}

struct Bad {
    const char* text;
    Errc code;
    std::uint32_t line, column;
    Effect allowed = Effect::none;
    const char* operands = nullptr;  // the signature, where it is not signature()
};

class StubRefuses : public testing::TestWithParam<Bad> {};

TEST_P(StubRefuses, AtThisPlace) {
    const char* const operands = GetParam().operands;
    const auto stub =
        Stub::from_ptx(GetParam().text, operands != nullptr ? *Signature::parse(operands) : signature(),
                       {GetParam().allowed, false});
    ASSERT_FALSE(stub) << stub->ptx();
    if (GetParam().code != Errc::ok) {
        EXPECT_EQ(name(stub.error().code), name(GetParam().code)) << describe(stub.error(), GetParam().text);
    }
    ASSERT_TRUE(stub.error().span.known());
    const Position at = position(GetParam().text, stub.error().span.begin);
    EXPECT_EQ(at.line, GetParam().line) << describe(stub.error(), GetParam().text);
    EXPECT_EQ(at.column, GetParam().column) << describe(stub.error(), GetParam().text);
}

// Errc::ok: an error of the parser, whichever
INSTANTIATE_TEST_SUITE_P(
    Stub, StubRefuses,
    testing::Values(
        Bad{"", Errc::stub_output_not_written, 1, 1},
        Bad{"add.f32 acc, acc, x;", Errc::stub_output_not_written, 1, 1},
        Bad{"@q mov.u32 o, 1;", Errc::stub_output_not_written, 1, 1},
        Bad{".reg .pred r; not.pred r, q; @r mov.u32 o, 1; not.pred r, r; @!r mov.u32 o, 2;",
            Errc::stub_output_not_written, 1, 1},
        // a branch around the write, or around one of two
        Bad{"@q bra done; mov.u32 o, 1; done:", Errc::stub_output_not_written, 1, 1, Effect::branch},
        Bad{"@q bra a; mov.u32 o, 1; bra b; a: @q mov.f32 acc, x; b:", Errc::stub_output_not_written, 1, 1,
            Effect::branch},
        Bad{".reg .pred r; mov.pred r, q; @r mov.u32 o, 1; @q bra a; not.pred r, q; a: @!r mov.u32 o, 2;",
            Errc::stub_output_not_written, 1, 1, Effect::branch},
        Bad{".reg .pred r; @q bra t; setp.eq.u32 r, row, 0; t: @r mov.u32 o, 1; @q bra e;\n@!q mov.u32 o, 2; "
            "e:",
            Errc::stub_output_not_written, 1, 1, Effect::branch},
        // read first: in a line, under the other guard, on one path, in the first round of a loop
        Bad{"add.u32 o, o, row;", Errc::stub_output_read, 1, 12},
        Bad{"mov.u32 o, 0; @q mov.f32 f, acc;\nadd.f32 acc, acc, f; mov.f32 f, x;", Errc::stub_output_read, 2,
            19, Effect::none, "out u32 o, mod f32 acc, out f32 f, in pred q, in f32 x"},
        Bad{"@q mov.u32 o, 1; @!q add.u32 o, o, 2;", Errc::stub_output_read, 1, 33},
        Bad{"@q bra a; mov.u32 o, 1; a: add.u32 o, o, 2;", Errc::stub_output_read, 1, 39, Effect::branch},
        Bad{"again: add.u32 m, o, 1; mov.u32 o, row; @q bra again;", Errc::stub_output_read, 1, 19,
            Effect::branch},
        Bad{"st.global.u32 [o+4], row; mov.b64 o, p;", Errc::stub_output_read, 1, 16, Effect::store,
            "out u64 o, in u32 row, in u64 p"},
        Bad{"@o mov.u32 m, 1; setp.eq.u32 o, m, 0;", Errc::stub_output_read, 1, 1, Effect::none,
            "out pred o, mod u32 m"},
        Bad{"mov.u32 o, 0;\nadd.f32 acc, acc, y;", Errc::stub_register_unknown, 2, 19},
        Bad{"mov.u32 o, %r1;", Errc::stub_register_unknown, 1, 12},
        Bad{"{ .reg .u32 t; } mov.u32 o, t;", Errc::stub_register_unknown, 1, 29},
        Bad{"mov.u32 o, frag4;", Errc::stub_register_unknown, 1, 12},
        Bad{"@pp mov.u32 o, 1;", Errc::stub_register_unknown, 1, 1},
        Bad{"mov.u32 o, 0; mov.f32 x, acc;", Errc::stub_input_written, 1, 23},
        Bad{"mov.u32 row, 0;", Errc::stub_input_written, 1, 9},
        Bad{"ld.global.v2.f32 {acc, x}, [p];", Errc::stub_input_written, 1, 24, Effect::load},
        Bad{"add.f32 o, x, x;", Errc::operand_type_wrong, 1, 9},
        Bad{"add.f32 acc, acc, row;", Errc::operand_type_wrong, 1, 19},
        Bad{"add.s32 m, m, p;", Errc::operand_type_wrong, 1, 15},
        Bad{"setp.lt.f32 acc, x, x;", Errc::operand_type_wrong, 1, 13},
        Bad{"@row mov.u32 o, 1;", Errc::guard_invalid, 1, 2},
        Bad{"add.f32 acc, x, 1;", Errc::operand_type_wrong, 1, 17},
        Bad{"add.u32 o, row, 1.5;", Errc::operand_type_wrong, 1, 17},
        Bad{"add.f32 acc, acc;", Errc::operand_count_wrong, 1, 1},
        Bad{"add.f32 1.0, acc, x;", Errc::operand_kind_wrong, 1, 9},
        Bad{".reg .f32 acc;", Errc::name_redeclared, 1, 1}, Bad{".reg .f32 _x;", Errc::name_redeclared, 1, 1},
        Bad{".reg .f32 _frag<9>;", Errc::name_redeclared, 1, 1},
        Bad{".reg .f32 t; .reg .b32 t;", Errc::name_redeclared, 1, 14},
        Bad{"a: a: mov.u32 o, 0;", Errc::name_redeclared, 1, 4, Effect::branch},
        Bad{"mov.u32 o, 0; }", Errc::stub_brace_unbalanced, 1, 15},
        Bad{"{ mov.u32 o, 0;", Errc::stub_brace_unbalanced, 1, 1},
        Bad{"mov.u32 o, 0; } {", Errc::stub_brace_unbalanced, 1, 15},
        Bad{"} .entry evil() { ret;", Errc::stub_brace_unbalanced, 1, 1},
        Bad{".global .u32 g;", Errc::stub_directive_forbidden, 1, 1},
        Bad{".shared .b8 s[8];", Errc::stub_directive_forbidden, 1, 1}, Bad{".version 9.0", Errc::ok, 1, 1},
        Bad{"mov.u32 o, 0; // PTXGRAFT_END\n", Errc::stub_marker_forbidden, 1, 18},
        Bad{"/* PTX_INJECT_START f */ mov.u32 o, 0;", Errc::stub_marker_forbidden, 1, 4},
        Bad{"ld.global.u32 o, [p];", Errc::stub_effect_forbidden, 1, 1},
        Bad{"st.global.f32 [p], acc;", Errc::stub_effect_forbidden, 1, 1, Effect::load},
        Bad{"bar.sync 0;", Errc::stub_effect_forbidden, 1, 1}, Bad{"ret;", Errc::stub_effect_forbidden, 1, 1},
        Bad{"a: bra a;", Errc::stub_effect_forbidden, 1, 1},
        Bad{".reg .b64 t; alloca.u64 t, 16;", Errc::stub_effect_forbidden, 1, 14},
        Bad{".reg .b64 t; stacksave.u64 t;", Errc::stub_effect_forbidden, 1, 14},
        Bad{"stackrestore.u64 p;", Errc::stub_effect_forbidden, 1, 1,
            Effect::load | Effect::store | Effect::barrier},
        Bad{"nanosleep.u32 1000;", Errc::stub_effect_forbidden, 1, 1, Effect::warp},
        Bad{"pmevent 1;", Errc::stub_effect_forbidden, 1, 1},
        Bad{"setmaxnreg.inc.sync.aligned.u32 96;", Errc::stub_effect_forbidden, 1, 1, Effect::barrier},
        Bad{"griddepcontrol.wait;", Errc::stub_effect_forbidden, 1, 1, Effect::barrier},
        Bad{".reg .b64 t; createpolicy.fractional.L2::evict_first.b64 t;", Errc::stub_effect_forbidden, 1,
            14},
        Bad{"discard.global.L2 [p], 128;", Errc::stub_effect_forbidden, 1, 1, Effect::load},
        Bad{"bra $L__BB0_1;", Errc::label_undefined, 1, 5, Effect::branch},
        Bad{"frobnicate.f32 acc, acc;", Errc::opcode_unknown, 1, 1},
        // all that verify knows
        Bad{"mov.u32 o, 0;\nadd.f64 acc, acc, acc;", Errc::operand_type_wrong, 2, 9},
        Bad{"add.f33 acc, acc, x;", Errc::modifier_unknown, 1, 4},
        Bad{"add.sat.ftz.f64 acc, acc, x;", Errc::modifier_not_allowed, 1, 12},
        Bad{"bfe.u32 o, row, 256, 1;", Errc::immediate_out_of_range, 1, 17},
        Bad{"mov.b64 {o, acc, m}, p;", Errc::operand_kind_wrong, 1, 9},
        Bad{"ld.global.v2.f32 {acc, frag0, frag1}, [p];", Errc::vector_length_wrong, 1, 18, Effect::load},
        Bad{"ld.global.f32 acc, [x];", Errc::operand_type_wrong, 1, 21, Effect::load},
        Bad{"mov.u32 o, %tid.q;", Errc::stub_register_unknown, 1, 12},
        Bad{"mov.u32 o, row; mov.u64 p, o;", Errc::stub_input_written, 1, 25},
        Bad{"@!q mov.u32 o, 1; mov.u32 _, 1;", Errc::operand_kind_wrong, 1, 27},
        Bad{"ld.global.u32 o, [%rd1];", Errc::stub_register_unknown, 1, 19, Effect::load}));

TEST(Stub, AMarkingMayAllowTheStateOfTheThread) {
    const auto stub =
        Stub::from_ptx("nanosleep.u32 1000; mov.u32 o, 0;", signature(), {Effect::state, false});
    ASSERT_TRUE(stub) << describe(stub.error());
    EXPECT_EQ(stub->effects(), Effect::state);
    const auto refused = Stub::from_ptx("mov.u32 o, 0; nanosleep.u32 1000;", signature(), {});
    EXPECT_EQ(describe(refused.error(), "mov.u32 o, 0; nanosleep.u32 1000;"),
              "1:15: error: the site's policy forbids nanosleep.u32: it does not allow `state`\nmov.u32 o, "
              "0; nanosleep.u32 1000;\n"
              "              ^~~~~~~~~~~~~~~~~~~\n");
}

TEST(Stub, NamesOfTheModuleAroundMayStand) {
    for (const char* text :
         {"ld.global.u32 o, [table+4];", "ld.const.u32 o, [table];",
          "mov.u64 p2, table; ld.global.u32 o, [p2];", "call (o), f, (row);", "call f; mov.u32 o, 0;"}) {
        const std::string whole = std::string(".reg .b64 p2; ") + text;
        const auto stub = Stub::from_ptx(whole, signature(), {Effect::all, false});
        EXPECT_TRUE(stub) << describe(stub.error(), whole);
    }
}

TEST(Stub, NewInstructionsMayStandWhereAllIsAllowed) {
    EXPECT_TRUE(Stub::from_ptx("mov.u32 o, 0; frobnicate.f32 acc, acc;", signature(), {Effect::all, false}));
    const auto written = Stub::from_ptx("frobnicate.u32 row, o;", signature(), {Effect::all, false});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Errc::stub_input_written);
}

TEST(Stub, HostileTextIsAnError) {
    for (const char* text :
         {"mov.u32 o, 0", "/* no end", "mov.u32 o, 0; /*", "\"", "{{{{", ";;;;", "mov.u32 o, {;", "@", "@q",
          "mov.u32 o, [", ".reg", ".reg .f32", "mov", "$", "mov.u32 o,, 0;", "\x01\x02"}) {
        const auto stub = Stub::from_ptx(text, signature(), {Effect::all, false});
        ASSERT_FALSE(stub) << text << "\n" << stub->ptx();
        EXPECT_FALSE(describe(stub.error(), text).empty());
    }
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += "{";
    for (int i = 0; i < 100000; ++i) deep += "}";
    EXPECT_FALSE(Stub::from_ptx(deep, signature()));
}

TEST(Stub, KnowsWhatItDoes) {
    const auto stub = Stub::from_ptx("ld.global.u32 o, [p];\nshfl.sync.bfly.b32 o, o, 1, 31, -1;",
                                     signature(), {Effect::all, false});
    ASSERT_TRUE(stub) << describe(stub.error());
    EXPECT_EQ(stub->effects(), Effect::load | Effect::warp);
    EXPECT_EQ(stub->instruction_count(), 2u);
    Site site{"s", signature(), {Effect::load, false}, {}};
    const auto forbidden = stub->check(site);
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, Errc::stub_effect_forbidden);
    site.policy.allowed = Effect::all;
    EXPECT_TRUE(stub->check(site));
    site.signature.operands[0].type = Type::u32;
    const auto other = stub->check(site);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::stub_signature_mismatch);
}

}  // namespace
}  // namespace ptxgraft
