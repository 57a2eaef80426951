// Mistakes in arithmetic, logic, conversions and video instructions; see dsl_mistakes.cpp.

#include "dsl_mistakes.hpp"

using namespace ptxgraft::dsl;

std::size_t emit_arithmetic_on_sm_90a(Module& module) {
    auto& k = module.entry<sm_90a>("arithmetic_on_sm_90a");
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);

    // ---- what a newcomer writes first
    // error: unknown opcode 'ADD'; did you mean add?
    WRONG(k.emit<"ADD.f32">(f, f, g);)
    RIGHT(k.emit<"add.f32">(f, f, g);)
    // error: 'add.f32;' is no name: it has ';'; operands are arguments of emit
    WRONG(k.emit<"add.f32;">(f, f, g);)
    RIGHT(k.emit<"add.rn.f32">(f, f, g);)
    // error: 'add .f32' is no name: it has ' '; operands are arguments of emit
    WRONG(k.emit<"add .f32">(f, f, g);)
    RIGHT(k.emit<"add.rz.f32">(f, f, g);)
    // error: 'add.f32 %f1, %f1, %f2' is no name: it has ' '; operands are arguments of emit
    WRONG(k.emit<"add.f32 %f1, %f1, %f2">();)
    RIGHT(k.emit<"add.rm.f32">(f, f, g);)
    // error: '' is no name: it is empty
    WRONG(k.emit<"">(f, f, g);)
    RIGHT(k.emit<"add.rp.f32">(f, f, g);)
    // error: 'add.' is no name: nothing stands behind a dot
    WRONG(k.emit<"add.">(f, f, g);)
    RIGHT(k.emit<"add.ftz.f32">(f, f, g);)
    // error: a modifier is missing: .u32 .s32 .u16 .u64 .s16 .s64 .u16x2 .s16x2 .u8x4 .s8x4 .f32 .f32x2 .f64
    WRONG(k.emit<"add">(f, f, g);)
    RIGHT(k.emit<"add.sat.f32">(f, f, g);)
    // error: unknown modifier '.float' for add; forms: add.type d, a, b; add{.sat}.type d, a, b
    WRONG(k.emit<"add.float">(f, f, g);)
    RIGHT(k.emit<"add.ftz.sat.f32">(f, f, g);)
    // error: unknown modifier '.int' for add; forms: add.type d, a, b; add{.sat}.type d, a, b
    WRONG(k.emit<"add.int">(i, i, i);)
    RIGHT(k.emit<"add.sat.s32">(i, i, i);)
    // error: unknown modifier '.i32' for add; did you mean .u32?
    WRONG(k.emit<"add.i32">(i, i, i);)
    RIGHT(k.emit<"add.u32">(u, u, u);)
    // error: unknown opcode 'fadd'; did you mean add?
    WRONG(k.emit<"fadd.f32">(f, f, g);)
    RIGHT(k.emit<"add.rn.ftz.f32">(f, f, g);)
    // error: .u32 is not allowed with mul; it is with mul.hi, mul.lo, mul.wide
    WRONG(k.emit<"mul.u32">(u, u, u);)
    RIGHT(k.emit<"mul.lo.u32">(u, u, u);)
    // error: .s32 is not allowed with mad; it is with mad.hi, mad.lo, mad.wide
    WRONG(k.emit<"mad.s32">(i, i, i, i);)
    RIGHT(k.emit<"mad.lo.s32">(i, i, i, i);)
    // error: operand 1: a register of .s32 where a register of .u64 is expected; form: mad.wide.type d, a
    WRONG(k.emit<"mad.wide.s32">(i, i, i, id);)
    RIGHT(k.emit<"mad.wide.s32">(id, i, i, id);)
    // error: .f32 is not allowed with mad.lo; forms: mad.lo.type d, a, b, c; mad.lo.cc.type d, a, b, c
    WRONG(k.emit<"mad.lo.f32">(f, f, g, g);)
    RIGHT(k.emit<"mad.rn.f32">(f, f, g, g);)
    // error: a modifier is missing: .rn .rz .rm .rp; form: mad.rnd{.ftz}{.sat}.f32 d, a, b, c
    WRONG(k.emit<"mad.f32">(f, f, g, g);)
    RIGHT(k.emit<"fma.rn.f32">(f, f, g, g);)
    // error: a modifier is missing: .approx .rn .rz .rm .rp; form: div.mode{.ftz}.f32 d, a, b
    WRONG(k.emit<"div.f32">(f, f, g);)
    RIGHT(k.emit<"div.rn.f32">(f, f, g);)
    // error: .approx is not allowed in this form of div; forms: div.rnd.f64 d, a, b; div.mode{.ftz}.f32 d
    WRONG(k.emit<"div.approx.f64">(d, d, d);)
    RIGHT(k.emit<"div.rn.f64">(d, d, d);)
    // error: .rn is not allowed with div.full; forms: div.full{.ftz}.f32 d, a, b
    WRONG(k.emit<"div.full.rn.f32">(f, f, g);)
    RIGHT(k.emit<"div.full.f32">(f, f, g);)
    // error: a modifier is missing: .approx .rn .rz .rm .rp; form: sqrt.mode{.ftz}.f32 d, a
    WRONG(k.emit<"sqrt.f32">(f, g);)
    RIGHT(k.emit<"sqrt.approx.f32">(f, g);)
    // error: a modifier is missing: .approx; form: rsqrt.approx{.ftz}.f32 d, a
    WRONG(k.emit<"rsqrt.f32">(f, g);)
    RIGHT(k.emit<"rsqrt.approx.f32">(f, g);)
    // error: unknown opcode 'exp'; did you mean ex2?
    WRONG(k.emit<"exp.approx.f32">(f, g);)
    RIGHT(k.emit<"ex2.approx.f32">(f, g);)
    // error: unknown opcode 'log2'; did you mean lg2?
    WRONG(k.emit<"log2.approx.f32">(f, g);)
    RIGHT(k.emit<"lg2.approx.f32">(f, g);)
    // error: a modifier is missing: .approx; form: sin.approx{.ftz}.f32 d, a
    WRONG(k.emit<"sin.f32">(f, g);)
    RIGHT(k.emit<"sin.approx.f32">(f, g);)
    // error: a modifier is missing: .approx; form: tanh.approx.f32 d, a
    WRONG(k.emit<"tanh.f32">(f, g);)
    RIGHT(k.emit<"tanh.approx.f32">(f, g);)
    // error: .u32 is not allowed with and; did you mean .b32?; forms: and.type d, a, b
    WRONG(k.emit<"and.u32">(u, u, u);)
    RIGHT(k.emit<"and.b32">(u, u, u);)
    // error: .s32 is not allowed with xor; did you mean .b32?; forms: xor.type d, a, b
    WRONG(k.emit<"xor.s32">(i, i, i);)
    RIGHT(k.emit<"xor.b32">(i, i, i);)
    // error: .u32 is not allowed with not; did you mean .b32?; forms: not.type d, a
    WRONG(k.emit<"not.u32">(u, u);)
    RIGHT(k.emit<"not.b32">(u, u);)
    // error: .u32 is not allowed with shl; did you mean .b32?; forms: shl.b32 d, a, b; shl.type d, a, b
    WRONG(k.emit<"shl.u32">(u, u, 2);)
    RIGHT(k.emit<"shl.b32">(u, u, 2);)
    // error: .f32 is not allowed with shr; did you mean .b32?; forms: shr.type d, a, b
    WRONG(k.emit<"shr.f32">(f, f, u);)
    RIGHT(k.emit<"shr.u32">(r, r, u);)
    // error: .f16 is not allowed with mov; did you mean .b16?; forms: mov.type d, a; mov.b16 d, a; mov.b32
    WRONG(k.emit<"mov.f16">(h, h);)
    RIGHT(k.emit<"mov.b16">(h, h);)
    // error: .u32 is not allowed with neg; did you mean .s32?; forms: neg.s32 d, a; neg.type d, a; neg.s8x4
    WRONG(k.emit<"neg.u32">(u, u);)
    RIGHT(k.emit<"neg.s32">(i, i);)
    // error: .u32 is not allowed with abs; did you mean .s32?; forms: abs.s32 d, a; abs.type d, a
    WRONG(k.emit<"abs.u32">(u, u);)
    RIGHT(k.emit<"abs.s32">(i, i);)
    // error: .lo is not allowed in this form of setp; forms: setp.cmp.s32 p, a, b; setp.cmp.s32 p|q, a, b
    WRONG(k.emit<"setp.lo.s32">(p, i, i);)
    RIGHT(k.emit<"setp.lt.s32">(p, i, i);)
    // error: .equ is not allowed in this form of setp; forms: setp.cmp.s32 p, a, b; setp.cmp.s32 p|q, a, b
    WRONG(k.emit<"setp.equ.s32">(p, i, i);)
    RIGHT(k.emit<"setp.eq.s32">(p, i, i);)
    // error: .hi is not allowed in this form of setp; forms: setp.cmp.s32 p, a, b; setp.cmp.s32 p|q, a, b
    WRONG(k.emit<"setp.hi.s32">(p, i, i);)
    RIGHT(k.emit<"setp.hi.u32">(p, u, u);)
    // error: 3 operands, but the form has 4; form: setp.cmp.bool{.ftz}.f32 p, a, b, c
    WRONG(k.emit<"setp.gt.and.f32">(p, f, g);)
    RIGHT(k.emit<"setp.gt.and.f32">(p, f, g, q);)
    // error: .lt is not allowed in this form of setp; forms: setp.cmp.b32 p, a, b; setp.cmp.b32 p|q, a, b
    WRONG(k.emit<"setp.lt.b32">(p, r, r);)
    RIGHT(k.emit<"setp.eq.b32">(p, r, r);)
    // error: a modifier is missing: .u32 .s32 .f32 .u16 .u64 .s16 .s64 .f64 .f16 .f16x2 .bf16 .bf16x2; form:
    WRONG(k.emit<"set.gt.s32">(i, f, g);)
    RIGHT(k.emit<"set.gt.s32.f32">(i, f, g);)
    // error: operand 2: a register of .pred where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"selp.f32">(f, p, f, g);)
    RIGHT(k.emit<"selp.f32">(f, f, g, p);)
    // error: .ftz is not allowed in this form of min; forms: min.type d, a, b; min.relu.s32 d, a, b
    WRONG(k.emit<"min.ftz.s32">(i, i, i);)
    RIGHT(k.emit<"min.s32">(i, i, i);)
    // error: .sat is not allowed in this form of fma; forms: fma.rnd.f64 d, a, b, c
    WRONG(k.emit<"fma.rn.sat.f64">(d, d, d, d);)
    RIGHT(k.emit<"fma.rn.f64">(d, d, d, d);)
    // error: .relu is not allowed in this form of fma; forms: fma.rnd{.ftz}{.sat}.f32 d, a, b, c
    WRONG(k.emit<"fma.rn.relu.f32">(f, f, g, g);)
    RIGHT(k.emit<"fma.rn.relu.f16">(h, h, h, h);)
    // error: .nan is not allowed with max; did you mean .NaN?; forms: max{.ftz}.f32 d, a, b
    WRONG(k.emit<"max.nan.f32">(f, f, g);)
    RIGHT(k.emit<"max.NaN.f32">(f, f, g);)
    // error: mul.rn.ftz.sat.f32 is the manual's order; form: mul{.rnd}{.ftz}{.sat}.f32 d, a, b
    WRONG(k.emit<"mul.rn.sat.ftz.f32">(f, f, g);)
    RIGHT(k.emit<"mul.rn.ftz.sat.f32">(f, f, g);)
    // error: .cc is not allowed in this form of add; forms: add{.rnd}{.ftz}{.sat}.f32 d, a, b; add.cc.type
    WRONG(k.emit<"add.cc.f32">(f, f, g);)
    RIGHT(k.emit<"add.cc.u32">(u, u, u);)
    // error: .cc is not allowed in this form of addc; forms: addc.type d, a, b; addc{.cc}.type d, a, b
    WRONG(k.emit<"addc.cc.s16">(us, us, us);)
    RIGHT(k.emit<"addc.cc.s32">(i, i, i);)
    // error: .rn is not allowed beside .approx; forms: rcp.mode{.ftz}.f32 d, a; rcp.rnd{.ftz}.f64 d, a
    WRONG(k.emit<"rcp.approx.rn.f32">(f, g);)
    RIGHT(k.emit<"rcp.rn.f32">(f, g);)
    // error: .u64 is not allowed with mul.wide; forms: mul.wide.type d, a, b
    WRONG(k.emit<"mul.wide.u64">(ud, ud, ud);)
    RIGHT(k.emit<"mul.wide.u16">(u, us, us);)
    // error: an operation is missing behind mul24: mul24.hi mul24.lo
    WRONG(k.emit<"mul24.s32">(i, i, i);)
    RIGHT(k.emit<"mul24.lo.s32">(i, i, i);)
    // error: .f32 is not allowed with sad; forms: sad.type d, a, b, c; sad.s32 d, a, b, c
    WRONG(k.emit<"sad.f32">(f, f, g, g);)
    RIGHT(k.emit<"sad.u32">(u, u, u, u);)
    // error: .f32 is not allowed with rem; forms: rem.type d, a, b
    WRONG(k.emit<"rem.f32">(f, f, g);)
    RIGHT(k.emit<"rem.u32">(u, u, u);)
    // error: .f32 is not allowed with mul.hi; forms: mul.hi.type d, a, b
    WRONG(k.emit<"mul.hi.f32">(f, f, g);)
    RIGHT(k.emit<"mul.hi.u32">(u, u, u);)
    // error: .u32 is not allowed with clz; did you mean .b32?; forms: clz.b32 d, a; clz.b64 d, a
    WRONG(k.emit<"clz.u32">(u, u);)
    RIGHT(k.emit<"clz.b32">(u, u);)
    // error: operand 1: a register of .b64 where a register of .u32 is expected; form: popc.b64 d, a
    WRONG(k.emit<"popc.b64">(rd, rd);)
    RIGHT(k.emit<"popc.b64">(u, rd);)
    // error: unknown modifier '.shift' for bfind; did you mean .shiftamt?
    WRONG(k.emit<"bfind.shift.u32">(u, u);)
    RIGHT(k.emit<"bfind.shiftamt.u32">(u, u);)
    // error: operand 1: a register of .b16 where a register of .b32 is expected; form: brev.b32 d, a
    WRONG(k.emit<"brev.b32">(h, r);)
    RIGHT(k.emit<"brev.b32">(r, r);)

    // ---- constants
    // error: operand 3: the constant 256 is out of range: 0 to 255; form: bfe.type d, a, b, c
    WRONG(k.emit<"bfe.u32">(u, u, imm<256>, 8);)
    RIGHT(k.emit<"bfe.u32">(u, u, imm<4>, 8);)
    // error: .b32 is not allowed with bfe; did you mean .u32?; forms: bfe.type d, a, b, c
    WRONG(k.emit<"bfe.b32">(r, r, 4, 8);)
    RIGHT(k.emit<"bfe.s32">(i, i, 4, 8);)
    // error: 4 operands, but the form has 5; form: bfi.b32 d, a, b, c, e
    WRONG(k.emit<"bfi.b32">(r, r, s, 4);)
    RIGHT(k.emit<"bfi.b32">(r, r, s, 4, 8);)
    // error: .u32 is not allowed with bfi; did you mean .b32?; forms: bfi.b32 d, a, b, c, e; bfi.b64 d, a
    WRONG(k.emit<"bfi.u32">(u, u, u, 4, 8);)
    RIGHT(k.emit<"bfi.b64">(rd, rd, rd, 4, 8);)
    // error: operand 5: a register of .u32 where an integer constant is expected; form: lop3.b32 d, a, b, c
    WRONG(k.emit<"lop3.b32">(r, r, s, s, u);)
    RIGHT(k.emit<"lop3.b32">(r, r, s, s, imm<0x96>);)
    // error: operand 1: a register of .b32 where a pair a|b is expected; form: lop3.bool.b32 d|p, a, b, c
    WRONG(k.emit<"lop3.and.b32">(r, r, s, s, imm<0x96>, p);)
    RIGHT(k.emit<"lop3.and.b32">(pair(r, p), r, s, s, imm<0x96>, q);)
    // error: .u32 is not allowed with lop3; did you mean .b32?; forms: lop3.b32 d, a, b, c, immLut
    WRONG(k.emit<"lop3.u32">(u, u, u, u, imm<0x96>);)
    RIGHT(k.emit<"lop3.b32">(u, u, u, u, imm<0x80>);)
    // error: 3 operands, but the form has 4; form: prmt.b32{.mode} d, a, b, c
    WRONG(k.emit<"prmt.b32">(r, r, s);)
    RIGHT(k.emit<"prmt.b32">(r, r, s, 0x3210);)
    // error: prmt.b32.f4e is the manual's order; form: prmt.b32{.mode} d, a, b, c
    WRONG(k.emit<"prmt.f4e.b32">(r, r, s, u);)
    RIGHT(k.emit<"prmt.b32.f4e">(r, r, s, u);)
    // error: .u32 is not allowed with prmt; did you mean .b32?; forms: prmt.b32{.mode} d, a, b, c
    WRONG(k.emit<"prmt.u32">(u, u, u, 0x3210);)
    RIGHT(k.emit<"prmt.b32">(u, u, u, 0x3210);)
    // error: a modifier is missing: .clamp .wrap; form: shf.l.mode.b32 d, a, b, c
    WRONG(k.emit<"shf.l.b32">(r, r, s, 7);)
    RIGHT(k.emit<"shf.l.wrap.b32">(r, r, s, 7);)
    // error: an operation is missing behind shf: shf.l shf.r
    WRONG(k.emit<"shf.wrap.b32">(r, r, s, 7);)
    RIGHT(k.emit<"shf.r.clamp.b32">(r, r, s, 7);)
    // error: a modifier is missing: .u32 .s32; form: dp4a.u32.s32 d, a, b, c
    WRONG(k.emit<"dp4a.s32">(i, i, i, i);)
    RIGHT(k.emit<"dp4a.s32.s32">(i, i, i, i);)
    // error: operand 4: a register of .f32 where a register of .s32 or an integer constant is expected
    WRONG(k.emit<"dp4a.u32.s32">(u, u, i, f);)
    RIGHT(k.emit<"dp4a.u32.s32">(i, u, i, i);)
    // error: an operation is missing behind dp2a: dp2a.hi dp2a.lo
    WRONG(k.emit<"dp2a.u32.u32">(u, u, u, u);)
    RIGHT(k.emit<"dp2a.lo.u32.u32">(u, u, u, u);)
    // error: .b32 is not allowed with szext; did you mean .u32?; forms: szext.mode.type d, a, b
    WRONG(k.emit<"szext.clamp.b32">(r, r, 5);)
    RIGHT(k.emit<"szext.clamp.u32">(u, u, 5);)
    // error: a modifier is missing: .clamp .wrap; form: bmsk.mode.b32 d, a, b
    WRONG(k.emit<"bmsk.b32">(r, 0, 8);)
    RIGHT(k.emit<"bmsk.clamp.b32">(r, 0, 8);)
    // error: operand 2: the constant -2147483649 does not fit into .b32; form: mov.type d, a
    WRONG(k.emit<"mov.b32">(r, imm<-2147483649>);)
    RIGHT(k.emit<"mov.b32">(r, imm<-2147483648>);)
    // error: operand 2: the constant -32769 does not fit into .u16; form: mov.type d, a
    WRONG(k.emit<"mov.u16">(us, imm<-32769>);)
    RIGHT(k.emit<"mov.u16">(us, imm<-32768>);)
    // error: operand 2: an integer constant where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"mov.f32">(f, 1);)
    RIGHT(k.emit<"mov.f32">(f, 1.0f);)
    // error: operand 2: a constant of .f32 where a register of .f64 or a constant of .f64 is expected; form:
    WRONG(k.emit<"mov.f64">(d, 1.0f);)
    RIGHT(k.emit<"mov.f64">(d, 1.0);)
    // error: operand 2: the constant 2 does not fit into .pred; form: mov.type d, a
    WRONG(k.emit<"mov.pred">(p, imm<2>);)
    RIGHT(k.emit<"mov.pred">(p, imm<1>);)
    // error: operand 4: a constant of .f32 where a register of .f16 is expected; form:
    WRONG(k.emit<"fma.rn.f16">(h, h, h, 1.0f);)
    RIGHT(k.emit<"fma.rn.f16">(h, h, h, h);)
    // error: operand 4: an integer constant where a register of .bf16x2 is expected; form:
    WRONG(k.emit<"fma.rn.bf16x2">(r, r, r, 0);)
    RIGHT(k.emit<"fma.rn.bf16x2">(r, r, r, r);)
    // error: operand 3: a register of .b16 where a register of .f16x2 is expected; form:
    WRONG(k.emit<"add.f16x2">(r, r, h);)
    RIGHT(k.emit<"add.f16x2">(r, r, s);)
    // error: operand 3: an integer constant where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"copysign.f32">(f, f, 1);)
    RIGHT(k.emit<"copysign.f32">(f, f, g);)
    // error: .nan is not allowed with testp; forms: testp.type p, a; testp.op.f32 p, a; testp.op.f64 p, a
    WRONG(k.emit<"testp.nan.f32">(p, f);)
    RIGHT(k.emit<"testp.notanumber.f32">(p, f);)
    // error: operand 1: a register of .u32 where a register of .pred is expected; form: testp.op.f32 p, a
    WRONG(k.emit<"testp.finite.f32">(u, f);)
    RIGHT(k.emit<"testp.finite.f32">(p, f);)

    // ---- conversions
    // error: a modifier is missing: .rn .rz .rm .rp; form: cvt.frnd{.sat}.f32.atype d, a
    WRONG(k.emit<"cvt.f32.s32">(f, i);)
    RIGHT(k.emit<"cvt.rn.f32.s32">(f, i);)
    // error: a modifier is missing: .rni .rzi .rmi .rpi; form: cvt.irnd{.ftz}{.sat}.dtype.f32 d, a
    WRONG(k.emit<"cvt.s32.f32">(i, f);)
    RIGHT(k.emit<"cvt.rzi.s32.f32">(i, f);)
    // error: .rn is not allowed in this form of cvt; forms: cvt.irnd{.ftz}{.sat}.dtype.f32 d, a
    WRONG(k.emit<"cvt.rn.s32.f32">(i, f);)
    RIGHT(k.emit<"cvt.rni.s32.f32">(i, f);)
    // error: .rn is not allowed in this form of cvt; forms: cvt{.ftz}{.sat}.f64.f32 d, a
    WRONG(k.emit<"cvt.rn.f64.f32">(d, f);)
    RIGHT(k.emit<"cvt.f64.f32">(d, f);)
    // error: .rn is not allowed in this form of cvt; forms: cvt{.ftz}{.sat}.f32.f16 d, a
    WRONG(k.emit<"cvt.rn.f32.f16">(f, h);)
    RIGHT(k.emit<"cvt.f32.f16">(f, h);)
    // error: a modifier is missing: .rn .rz .rm .rp; form: cvt.frnd{.ftz}{.sat}.f16.f32 d, a
    WRONG(k.emit<"cvt.f16.f32">(h, f);)
    RIGHT(k.emit<"cvt.rn.f16.f32">(h, f);)
    // error: operand 1: a register of .b32 where a register of .bf16 is expected; form:
    WRONG(k.emit<"cvt.rn.bf16.f32">(r, f);)
    RIGHT(k.emit<"cvt.rn.bf16.f32">(h, f);)
    // error: 2 operands, but the form has 3; form: cvt.frnd2{.relu}{.satfinite}.f16x2.f32 d, a, b
    WRONG(k.emit<"cvt.rn.f16x2.f32">(r, f);)
    RIGHT(k.emit<"cvt.rn.f16x2.f32">(r, f, g);)
    // error: operand 1: a register of .b16 where a register of .bf16x2 is expected; form:
    WRONG(k.emit<"cvt.rn.bf16x2.f32">(h, f, g);)
    RIGHT(k.emit<"cvt.rn.bf16x2.f32">(r, f, g);)
    // error: a modifier is missing: .satfinite; form: cvt.rn.satfinite{.relu}.f8x2type.f32 d, a, b
    WRONG(k.emit<"cvt.rn.e4m3x2.f32">(h, f, g);)
    RIGHT(k.emit<"cvt.rn.satfinite.e4m3x2.f32">(h, f, g);)
    // error: operand 1: a register of .u16 where a register of .b16 is expected; form:
    WRONG(k.emit<"cvt.rn.satfinite.e4m3x2.f32">(us, f, g);)
    RIGHT(k.emit<"cvt.rn.satfinite.e5m2x2.f32">(h, f, g);)
    // error: operand 2: a register of .b32 where a register of .b16 is expected; form:
    WRONG(k.emit<"cvt.rn.f16x2.e4m3x2">(r, r);)
    RIGHT(k.emit<"cvt.rn.f16x2.e4m3x2">(r, h);)
    // error: operand 1: a register of .f32 where a register of .b32 is expected; form:
    WRONG(k.emit<"cvt.rn.tf32.f32">(f, g);)
    RIGHT(k.emit<"cvt.rn.tf32.f32">(r, g);)
    // error: a modifier is missing: .b32; form: cvt.pack.sat.convertType.s32.b32 d, a, b, c
    WRONG(k.emit<"cvt.pack.sat.u8.s32">(u, i, i);)
    RIGHT(k.emit<"cvt.pack.sat.u8.s32.b32">(u, i, i, r);)
    // error: operand 1: a register of .u32 where a register of .u64 or wider is expected; form:
    WRONG(k.emit<"cvt.u64.u32">(u, u);)
    RIGHT(k.emit<"cvt.u64.u32">(ud, u);)
    // error: a modifier is missing: .s32 .u32 .u8 .s8 .u16 .s16 .u64 .s64; form: cvt{.sat}.u32.s32 d, a
    WRONG(k.emit<"cvt.u32">(u, us);)
    RIGHT(k.emit<"cvt.u32.u16">(u, us);)
    // error: .b32 is not allowed with cvt; did you mean .u32?; forms: cvt{.ftz}{.sat}.f32.f32 d, a
    WRONG(k.emit<"cvt.b32.f32">(r, f);)
    RIGHT(k.emit<"cvt.rni.u32.f32">(u, f);)
    // error: .rzi is not allowed in this form of cvt; forms: cvt.frnd{.sat}.f32.atype d, a
    WRONG(k.emit<"cvt.rzi.f32.s32">(f, i);)
    RIGHT(k.emit<"cvt.rz.f32.s32">(f, i);)
    // error: a modifier is missing: .satfinite; form: cvt.rn.satfinite{.relu}.f6x2type.f32 d, a, b
    WRONG(k.emit<"cvt.rn.e2m3x2.f32">(h, f, g);)
    RIGHT(k.emit<"cvt.rn.relu.bf16x2.f32">(r, f, g);)

    // ---- video instructions
    // error: operand 4: a register of .f32 where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"vadd.u32.u32.u32">(u, u, u, f);)
    RIGHT(k.emit<"vadd.u32.u32.u32.add">(u, u, u, u);)
    // error: a modifier is missing: .u32 .s32; form: vadd.dtype.atype.btype{.sat} d, a, b
    WRONG(k.emit<"vadd.u32.u32">(u, u, u);)
    RIGHT(k.emit<"vadd.u32.u32.u32">(u, u, u);)
    // error: operand 2: the part .b4 of a register of .u32 where a register of 32 bits, with .b0 to .b3, .h0
    WRONG(k.emit<"vadd.u32.u32.u32">(u, part<".b4">(u), u);)
    RIGHT(k.emit<"vadd.u32.u32.u32">(u, part<".b3">(u), u);)
    // error: 3 operands, but the form has 4; form: vadd4.dtype.atype.btype{.mode} d, a, b, c
    WRONG(k.emit<"vadd4.u32.u32.u32">(u, u, u);)
    RIGHT(k.emit<"vadd4.u32.u32.u32">(u, u, u, u);)
    // error: operand 3: a register of .f32 where a register of 32 bits, with .b0 to .b3, .h0 or .h1 is
    WRONG(k.emit<"vmad.u32.u32.u32">(u, u, minus(f), u);)
    RIGHT(k.emit<"vmad.u32.u32.u32">(u, u, u, minus(u));)
    // error: operand 2: a register of .f32 where a register of 32 bits, with .b0 to .b3, .h0 or .h1 is
    WRONG(k.emit<"vabsdiff.s32.s32.s32">(u, f, i);)
    RIGHT(k.emit<"vabsdiff.s32.s32.s32">(i, i, i);)
    // error: a modifier is missing: .eq .ne .lt .le .gt .ge; form: vset.atype.btype.cmp d, a, b
    WRONG(k.emit<"vset.s32.s32">(u, i, i);)
    RIGHT(k.emit<"vset.s32.s32.lt">(u, i, i);)
    k.emit<"ret">();
    return k.instruction_count();
}
