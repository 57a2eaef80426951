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

struct TakenRow {
    const char* text;
    const char* ptx;
    Effect allowed = Effect::none;
};

class StubTakes : public testing::TestWithParam<TakenRow> {};

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
        TakenRow{"mov.u32 _o, 0;", "\tmov.u32 _o, 0;\n"},
        // plain names become registers, in operands only
        TakenRow{"add.f32 acc, acc, x; mov.u32 o, row;", "\tadd.f32 _acc, _acc, _x; mov.u32 _o, _row;\n"},
        TakenRow{"mov.b32 o, frag2;\r\n\r\n   mov.f32 _frag0, frag3;   // keep acc here\r\n",
                 "\tmov.b32 _o, _frag2;\n\n\tmov.f32 _frag0, _frag3;   // keep acc here\n"},
        TakenRow{"@q mov.u32 o, 1;\n@!q mov.u32 o, 2;", "\t@_q mov.u32 _o, 1;\n\t@!_q mov.u32 _o, 2;\n"},
        // registers of its own, in a scope
        TakenRow{".reg .f32 t<2>, u;\nmul.f32 t0, x, x;\nmov.f32 t1, t0; mov.f32 u, t1;\nmov.b32 o, u;",
                 "\t{ .reg .f32 t<2>, u;\n\tmul.f32 t0, _x, _x;\n\tmov.f32 t1, t0; mov.f32 u, t1;\n\tmov.b32 "
                 "_o, u;\n\t}\n"},
        TakenRow{
            "{ .reg .b32 %r1; mov.b32 %r1, x; { .reg .b32 %r1; mov.u32 %r1, %laneid; } mov.b32 o, %r1; }",
            "\t{ { .reg .b32 %r1; mov.b32 %r1, _x; { .reg .b32 %r1; mov.u32 %r1, %laneid; } mov.b32 _o, "
            "%r1; }\n\t}\n"},
        // bits agree with every type of their size, signed with unsigned
        TakenRow{"add.s32 o, row, m; add.u32 m, m, 1;", "\tadd.s32 _o, _row, _m; add.u32 _m, _m, 1;\n"},
        TakenRow{".reg .pred r; cvt.u32.u32 o, row; setp.lt.and.f32 r, x, acc, !q;",
                 "\t{ .reg .pred r; cvt.u32.u32 _o, _row; setp.lt.and.f32 r, _x, _acc, !_q;\n\t}\n"},
        TakenRow{"mov.u32 o, %tid.x;", "\tmov.u32 _o, %tid.x;\n"},
        TakenRow{"mov.u32 o, 1; max.f32 acc, acc, x, 0f00000000;",
                 "\tmov.u32 _o, 1; max.f32 _acc, _acc, _x, 0f00000000;\n"},
        // forms that the table lacks are left to the assembler
        TakenRow{".reg .f64 d; cvt.f64.f32 d, x; add.f64 d, d, d; cvt.rn.f32.f64 acc, d; mov.u32 o, 0;",
                 "\t{ .reg .f64 d; cvt.f64.f32 d, _x; add.f64 d, d, d; cvt.rn.f32.f64 _acc, d; mov.u32 _o, "
                 "0;\n\t}\n"},
        // effects that the policy allows
        TakenRow{"ld.global.u32 o, [p+4];", "\tld.global.u32 _o, [_p+4];\n", Effect::load},
        TakenRow{"mov.u32 o, 0; st.global.v2.f32 [_p], {acc, x};",
                 "\tmov.u32 _o, 0; st.global.v2.f32 [_p], {_acc, _x};\n", Effect::store},
        TakenRow{"mov.u32 o, 0; red.global.add.f32 [p], acc;",
                 "\tmov.u32 _o, 0; red.global.add.f32 [_p], _acc;\n", Effect::atomic},
        TakenRow{".reg .pred r; shfl.sync.bfly.b32 o|r, row, 1, 31, -1;",
                 "\t{ .reg .pred r; shfl.sync.bfly.b32 _o|r, _row, 1, 31, -1;\n\t}\n", Effect::warp},
        TakenRow{"activemask.b32 o;", "\tactivemask.b32 _o;\n", Effect::warp},
        TakenRow{"mov.u32 o, 0;\n@q bra done;\nadd.f32 acc, acc, x;\ndone:",
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

struct RefusedRow {
    const char* text;
    Errc code;
    std::uint32_t line, column;
    Effect allowed = Effect::none;
    const char* operands = nullptr;  // the signature, where it is not signature()
};

class StubRefuses : public testing::TestWithParam<RefusedRow> {};

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
        RefusedRow{"", Errc::stub_output_not_written, 1, 1},
        RefusedRow{"add.f32 acc, acc, x;", Errc::stub_output_not_written, 1, 1},
        RefusedRow{"@q mov.u32 o, 1;", Errc::stub_output_not_written, 1, 1},
        RefusedRow{".reg .pred r; not.pred r, q; @r mov.u32 o, 1; not.pred r, r; @!r mov.u32 o, 2;",
                   Errc::stub_output_not_written, 1, 1},
        // a branch around the write, or around one of two
        RefusedRow{"@q bra done; mov.u32 o, 1; done:", Errc::stub_output_not_written, 1, 1, Effect::branch},
        RefusedRow{"@q bra a; mov.u32 o, 1; bra b; a: @q mov.f32 acc, x; b:", Errc::stub_output_not_written,
                   1, 1, Effect::branch},
        RefusedRow{
            ".reg .pred r; mov.pred r, q; @r mov.u32 o, 1; @q bra a; not.pred r, q; a: @!r mov.u32 o, 2;",
            Errc::stub_output_not_written, 1, 1, Effect::branch},
        RefusedRow{
            ".reg .pred r; @q bra t; setp.eq.u32 r, row, 0; t: @r mov.u32 o, 1; @q bra e;\n@!q mov.u32 o, 2; "
            "e:",
            Errc::stub_output_not_written, 1, 1, Effect::branch},
        // read first: in a line, under the other guard, on one path, in the first round of a loop
        RefusedRow{"add.u32 o, o, row;", Errc::stub_output_read, 1, 12},
        RefusedRow{"mov.u32 o, 0; @q mov.f32 f, acc;\nadd.f32 acc, acc, f; mov.f32 f, x;",
                   Errc::stub_output_read, 2, 19, Effect::none,
                   "out u32 o, mod f32 acc, out f32 f, in pred q, in f32 x"},
        RefusedRow{"@q mov.u32 o, 1; @!q add.u32 o, o, 2;", Errc::stub_output_read, 1, 33},
        RefusedRow{"@q bra a; mov.u32 o, 1; a: add.u32 o, o, 2;", Errc::stub_output_read, 1, 39,
                   Effect::branch},
        RefusedRow{"again: add.u32 m, o, 1; mov.u32 o, row; @q bra again;", Errc::stub_output_read, 1, 19,
                   Effect::branch},
        RefusedRow{"st.global.u32 [o+4], row; mov.b64 o, p;", Errc::stub_output_read, 1, 16, Effect::store,
                   "out u64 o, in u32 row, in u64 p"},
        RefusedRow{"@o mov.u32 m, 1; setp.eq.u32 o, m, 0;", Errc::stub_output_read, 1, 1, Effect::none,
                   "out pred o, mod u32 m"},
        RefusedRow{"mov.u32 o, 0;\nadd.f32 acc, acc, y;", Errc::stub_register_unknown, 2, 19},
        RefusedRow{"mov.u32 o, %r1;", Errc::stub_register_unknown, 1, 12},
        RefusedRow{"{ .reg .u32 t; } mov.u32 o, t;", Errc::stub_register_unknown, 1, 29},
        RefusedRow{"mov.u32 o, frag4;", Errc::stub_register_unknown, 1, 12},
        RefusedRow{"@pp mov.u32 o, 1;", Errc::stub_register_unknown, 1, 1},
        RefusedRow{"mov.u32 o, 0; mov.f32 x, acc;", Errc::stub_input_written, 1, 23},
        RefusedRow{"mov.u32 row, 0;", Errc::stub_input_written, 1, 9},
        RefusedRow{"ld.global.v2.f32 {acc, x}, [p];", Errc::stub_input_written, 1, 24, Effect::load},
        RefusedRow{"add.f32 o, x, x;", Errc::operand_type_wrong, 1, 9},
        RefusedRow{"add.f32 acc, acc, row;", Errc::operand_type_wrong, 1, 19},
        RefusedRow{"add.s32 m, m, p;", Errc::operand_type_wrong, 1, 15},
        RefusedRow{"setp.lt.f32 acc, x, x;", Errc::operand_type_wrong, 1, 13},
        RefusedRow{"@row mov.u32 o, 1;", Errc::guard_invalid, 1, 2},
        RefusedRow{"add.f32 acc, x, 1;", Errc::operand_type_wrong, 1, 17},
        RefusedRow{"add.u32 o, row, 1.5;", Errc::operand_type_wrong, 1, 17},
        RefusedRow{"add.f32 acc, acc;", Errc::operand_count_wrong, 1, 1},
        RefusedRow{"add.f32 1.0, acc, x;", Errc::operand_kind_wrong, 1, 9},
        RefusedRow{".reg .f32 acc;", Errc::name_redeclared, 1, 1},
        RefusedRow{".reg .f32 _x;", Errc::name_redeclared, 1, 1},
        RefusedRow{".reg .f32 _frag<9>;", Errc::name_redeclared, 1, 1},
        RefusedRow{".reg .f32 t; .reg .b32 t;", Errc::name_redeclared, 1, 14},
        RefusedRow{"a: a: mov.u32 o, 0;", Errc::name_redeclared, 1, 4, Effect::branch},
        RefusedRow{"mov.u32 o, 0; }", Errc::stub_brace_unbalanced, 1, 15},
        RefusedRow{"{ mov.u32 o, 0;", Errc::stub_brace_unbalanced, 1, 1},
        RefusedRow{"mov.u32 o, 0; } {", Errc::stub_brace_unbalanced, 1, 15},
        RefusedRow{"} .entry evil() { ret;", Errc::stub_brace_unbalanced, 1, 1},
        RefusedRow{".global .u32 g;", Errc::stub_directive_forbidden, 1, 1},
        RefusedRow{".shared .b8 s[8];", Errc::stub_directive_forbidden, 1, 1},
        RefusedRow{".version 9.0", Errc::ok, 1, 1},
        RefusedRow{"mov.u32 o, 0; // PTXGRAFT_END\n", Errc::stub_marker_forbidden, 1, 18},
        RefusedRow{"/* PTX_INJECT_START f */ mov.u32 o, 0;", Errc::stub_marker_forbidden, 1, 4},
        RefusedRow{"ld.global.u32 o, [p];", Errc::stub_effect_forbidden, 1, 1},
        RefusedRow{"st.global.f32 [p], acc;", Errc::stub_effect_forbidden, 1, 1, Effect::load},
        RefusedRow{"bar.sync 0;", Errc::stub_effect_forbidden, 1, 1},
        RefusedRow{"ret;", Errc::stub_effect_forbidden, 1, 1},
        RefusedRow{"a: bra a;", Errc::stub_effect_forbidden, 1, 1},
        RefusedRow{".reg .b64 t; alloca.u64 t, 16;", Errc::stub_effect_forbidden, 1, 14},
        RefusedRow{".reg .b64 t; stacksave.u64 t;", Errc::stub_effect_forbidden, 1, 14},
        RefusedRow{"stackrestore.u64 p;", Errc::stub_effect_forbidden, 1, 1,
                   Effect::load | Effect::store | Effect::barrier},
        RefusedRow{"nanosleep.u32 1000;", Errc::stub_effect_forbidden, 1, 1, Effect::warp},
        RefusedRow{"pmevent 1;", Errc::stub_effect_forbidden, 1, 1},
        RefusedRow{"setmaxnreg.inc.sync.aligned.u32 96;", Errc::stub_effect_forbidden, 1, 1, Effect::barrier},
        RefusedRow{"griddepcontrol.wait;", Errc::stub_effect_forbidden, 1, 1, Effect::barrier},
        RefusedRow{".reg .b64 t; createpolicy.fractional.L2::evict_first.b64 t;", Errc::stub_effect_forbidden,
                   1, 14},
        RefusedRow{"discard.global.L2 [p], 128;", Errc::stub_effect_forbidden, 1, 1, Effect::load},
        RefusedRow{"bra $L__BB0_1;", Errc::label_undefined, 1, 5, Effect::branch},
        RefusedRow{"frobnicate.f32 acc, acc;", Errc::opcode_unknown, 1, 1},
        // all that verify knows
        RefusedRow{"mov.u32 o, 0;\nadd.f64 acc, acc, acc;", Errc::operand_type_wrong, 2, 9},
        RefusedRow{"add.f33 acc, acc, x;", Errc::modifier_unknown, 1, 4},
        RefusedRow{"add.sat.ftz.f64 acc, acc, x;", Errc::modifier_not_allowed, 1, 12},
        RefusedRow{"bfe.u32 o, row, 256, 1;", Errc::immediate_out_of_range, 1, 17},
        RefusedRow{"mov.b64 {o, acc, m}, p;", Errc::operand_kind_wrong, 1, 9},
        RefusedRow{"ld.global.v2.f32 {acc, frag0, frag1}, [p];", Errc::vector_length_wrong, 1, 18,
                   Effect::load},
        RefusedRow{"ld.global.f32 acc, [x];", Errc::operand_type_wrong, 1, 21, Effect::load},
        RefusedRow{"mov.u32 o, %tid.q;", Errc::stub_register_unknown, 1, 12},
        RefusedRow{"mov.u32 o, row; mov.u64 p, o;", Errc::stub_input_written, 1, 25},
        RefusedRow{"@!q mov.u32 o, 1; mov.u32 _, 1;", Errc::operand_kind_wrong, 1, 27},
        RefusedRow{"ld.global.u32 o, [%rd1];", Errc::stub_register_unknown, 1, 19, Effect::load}));

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
