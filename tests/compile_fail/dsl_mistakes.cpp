// Mistakes that the emitter finds while C++ compiles, a line each, with what it says; below each the right
// line. dsl/compile_fail_test.cpp compiles each of these files twice: with the wrong lines, whose errors it
// compares, and with the right ones, which must print one instruction each that assembles. This one has some
// of every kind; dsl_mistakes_*.cpp go through the manual's chapters.

#include "dsl_mistakes.hpp"

using namespace ptxgraft::dsl;

namespace {
constexpr Target old_90a = {{90, 'a'}, 78};
}  // namespace

std::size_t emit_all_on_sm_90a(Module& module) {
    auto& k = module.entry<sm_90a>("on_sm_90a");
    const auto parameter = k.parameter<u64>("parameter");
    const auto smem = k.shared("smem", {.type = b8, .count = 1024, .align = 128});
    const auto bar = k.shared("bar", {.type = b64});
    const auto global = module.global("table", {.type = f32, .count = 4});
    auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);
    const Label there = k.label();
    k.place(there);

    // ---- opcodes
    // error: 'ad'; did you mean add?
    WRONG(k.emit<"ad.f32">(f, f, g);)
    RIGHT(k.emit<"add.f32">(f, f, g);)
    // error: 'fam'; did you mean fma?
    WRONG(k.emit<"fam.rn.f32">(f, f, g, g);)
    RIGHT(k.emit<"fma.rn.f32">(f, f, g, g);)
    // error: 'nonsense'
    WRONG(k.emit<"nonsense.f32">(f, f, g);)
    RIGHT(k.emit<"sub.f32">(f, f, g);)
    // error: an operation is missing behind cp:
    WRONG(k.emit<"cp">(at(r), at(rd), 16);)
    RIGHT(k.emit<"cp.async.ca.shared.global">(at(r), at(rd), 16);)
    // error: an operation is missing behind wgmma:
    WRONG(k.emit<"wgmma">();)
    RIGHT(k.emit<"wgmma.fence.sync.aligned">();)
    // error: 'add,f32'
    WRONG(k.emit<"add,f32">(f, f, g);)
    RIGHT(k.emit<"add.rn.f32">(f, f, g);)

    // ---- modifiers
    // error: '.f23' for add; did you mean .f32?
    WRONG(k.emit<"add.f23">(f, f, g);)
    RIGHT(k.emit<"add.ftz.f32">(f, f, g);)
    // error: .sat is not allowed in this form of add
    WRONG(k.emit<"add.sat.f64">(d, d, d);)
    RIGHT(k.emit<"add.f64">(d, d, d);)
    // error: '.gloabl' for ld; did you mean .global?
    WRONG(k.emit<"ld.gloabl.f32">(f, at(rd));)
    RIGHT(k.emit<"ld.global.f32">(f, at(rd));)
    // error: .approx is not allowed with fma
    WRONG(k.emit<"fma.approx.f32">(f, f, g, g);)
    RIGHT(k.emit<"fma.rz.f32">(f, f, g, g);)
    // error: a modifier is missing
    WRONG(k.emit<"fma.f32">(f, f, g, g);)
    RIGHT(k.emit<"fma.rm.f32">(f, f, g, g);)
    // error: a modifier is missing
    WRONG(k.emit<"setp.f32">(p, f, g);)
    RIGHT(k.emit<"setp.lt.f32">(p, f, g);)
    // error: .rn is not allowed beside .rz; forms: add{.rnd}{.ftz}{.sat}.f32 d, a, b
    WRONG(k.emit<"add.rz.rn.f32">(f, f, g);)
    RIGHT(k.emit<"add.rz.f32">(f, f, g);)
    // error: .ftz stands twice
    WRONG(k.emit<"add.ftz.ftz.f32">(f, f, g);)
    RIGHT(k.emit<"add.rm.ftz.f32">(f, f, g);)
    // error: add.rn.f32 is the manual's order
    WRONG(k.emit<"add.f32.rn">(f, f, g);)
    RIGHT(k.emit<"add.rp.f32">(f, f, g);)
    // error: add.rn.ftz.f32 is the manual's order
    WRONG(k.emit<"add.ftz.rn.f32">(f, f, g);)
    RIGHT(k.emit<"add.rn.ftz.f32">(f, f, g);)
    // error: ld.global.v4.f32 is the manual's order
    WRONG(k.emit<"ld.v4.global.f32">(f4, at(rd));)
    RIGHT(k.emit<"ld.global.v4.f32">(f4, at(rd));)
    // error: .s32 is not allowed with mul; forms: mul
    WRONG(k.emit<"mul.rn.s32">(i, i, i);)
    RIGHT(k.emit<"mul.lo.s32">(i, i, i);)
    // error: .s32 is not allowed with mul
    WRONG(k.emit<"mul.s32">(i, i, i);)
    RIGHT(k.emit<"mul.hi.s32">(i, i, i);)
    // error: is not allowed
    WRONG(k.emit<"shfl.sync.bfly.f32">(f, f, 1, 31, -1);)
    RIGHT(k.emit<"shfl.sync.bfly.b32">(f, f, 1, 31, -1);)
    // error: a modifier is missing
    WRONG(k.emit<"cvt.f32.f64">(f, d);)
    RIGHT(k.emit<"cvt.rn.f32.f64">(f, d);)

    // ---- operands: how many
    // error: 2 operands, but the form has 3; form: add.type d, a, b
    WRONG(k.emit<"add.s32">(i, i);)
    RIGHT(k.emit<"add.s32">(i, i, i);)
    // error: 3 operands, but the form has 4; form: fma.rnd.f64 d, a, b, c
    WRONG(k.emit<"fma.rn.f64">(d, d, d);)
    RIGHT(k.emit<"fma.rn.f64">(d, d, d, d);)
    // error: 1 operand, but the form has none; form: ret{.uni}
    WRONG(k.emit<"ret">(i);)
    RIGHT(k.if_(p).emit<"ret">();)
    // error: 3 operands, but the form has 2; form: mov.type d, a
    WRONG(k.emit<"mov.b32">(r, s, s);)
    RIGHT(k.emit<"mov.b32">(r, s);)
    // error: no operands, but the form has 1; form: bar.sync a{, b}
    WRONG(k.emit<"bar.sync">();)
    RIGHT(k.emit<"bar.sync">(0);)

    // ---- operands: register classes
    // error: operand 1: a register of .u32 where a register of .f32 is expected; form: add
    WRONG(k.emit<"add.f32">(u, f, g);)
    RIGHT(k.emit<"add.f32">(f, g, g);)
    // error: operand 3: a register of .f64 where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"mul.f32">(f, g, d);)
    RIGHT(k.emit<"mul.f32">(f, g, g);)
    // error: operand 2: a register of .f32 where a register of .s32 or an integer constant is expected
    WRONG(k.emit<"sub.s32">(i, f, i);)
    RIGHT(k.emit<"sub.s32">(i, r, i);)
    // error: operand 1: a register of .b32 where a register of .pred is expected
    WRONG(k.emit<"setp.eq.s32">(r, i, i);)
    RIGHT(k.emit<"setp.eq.s32">(p, i, i);)
    // error: operand 1: a register of .u32 where a register of .u64 is expected
    WRONG(k.emit<"mul.wide.u32">(u, u, u);)
    RIGHT(k.emit<"mul.wide.u32">(ud, u, u);)
    // error: operand 4: a register of .b32 where a register of .pred
    WRONG(k.emit<"selp.f32">(f, f, g, r);)
    RIGHT(k.emit<"selp.f32">(f, f, g, p);)
    // error: operand 2: a register of .b16 where a register of .b32 or a constant of 32 bits is expected
    WRONG(k.emit<"popc.b32">(u, h);)
    RIGHT(k.emit<"popc.b32">(u, r);)
    // error: operand 1: a register of .f32 where a register of .s32 or wider is expected
    WRONG(k.emit<"ld.global.s32">(f, at(rd));)
    RIGHT(k.emit<"ld.global.s32">(i, at(rd));)
    // error: operand 1: a register of .u16 where a register of .u32 or wider is expected
    WRONG(k.emit<"ld.global.u32">(us, at(rd));)
    RIGHT(k.emit<"ld.global.u16">(us, at(rd));)
    // error: operand 2: a register of .u32 where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"ex2.approx.f32">(f, u);)
    RIGHT(k.emit<"ex2.approx.f32">(f, g);)
    // error: operand 1: an integer constant where a register of .f32 is expected
    WRONG(k.emit<"neg.f32">(1, f);)
    RIGHT(k.emit<"neg.f32">(f, g);)
    // error: operand 1: '_' where
    WRONG(k.emit<"abs.f32">(sink, f);)
    RIGHT(k.emit<"abs.f32">(f, g);)

    // ---- operands: constants
    // error: operand 3: an integer constant where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"add.f32">(f, f, 1);)
    RIGHT(k.emit<"add.f32">(f, f, 1.0f);)
    // error: operand 3: a constant of .f64 where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"max.f32">(f, f, 0.0);)
    RIGHT(k.emit<"max.f32">(f, f, 0.0f);)
    // error: operand 3: a constant of .f32 where a register of .s32 or an integer constant is expected
    WRONG(k.emit<"max.s32">(i, i, 0.0f);)
    RIGHT(k.emit<"max.s32">(i, i, 0);)
    // error: operand 3: the constant 65536 does not fit into .u16
    WRONG(k.emit<"add.u16">(us, us, imm<65536>);)
    RIGHT(k.emit<"add.u16">(us, us, imm<65535>);)
    // error: operand 3: the constant 4294967296 does not fit into .b32
    WRONG(k.emit<"and.b32">(r, r, imm<4294967296>);)
    RIGHT(k.emit<"and.b32">(r, r, imm<4294967295>);)
    // error: operand 1: the constant 16 is out of range: 0 to 15
    WRONG(k.emit<"bar.sync">(imm<16>);)
    RIGHT(k.emit<"bar.sync">(imm<15>);)
    // error: operand 1: the constant 20 is out of range
    WRONG(k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<20>);)
    RIGHT(k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<232>);)
    // error: operand 3: the constant 12 is out of range: one of 4, 8, 16
    WRONG(k.emit<"cp.async.ca.shared.global">(at(r), at(rd), imm<12>);)
    RIGHT(k.emit<"cp.async.ca.shared.global">(at(r), at(rd), imm<8>);)
    // error: operand 1: a register of .u32 where an integer constant is expected
    WRONG(k.emit<"cp.async.wait_group">(u);)
    RIGHT(k.emit<"cp.async.wait_group">(imm<1>);)
    // error: operand 1: the constant -1 is out of range
    WRONG(k.emit<"wgmma.wait_group.sync.aligned">(imm<-1>);)
    RIGHT(k.emit<"wgmma.wait_group.sync.aligned">(imm<0>);)

    // ---- operands: vectors
    // error: operand 1: a vector of 2 where a vector of 4 registers of .f32 is expected
    WRONG(k.emit<"ld.global.v4.f32">(vec(f, g), at(rd));)
    RIGHT(k.emit<"ld.global.v2.f32">(vec(f, g), at(rd));)
    // error: operand 2: a register of .f32 where a vector of 2 registers of .f32 is expected
    WRONG(k.emit<"st.global.v2.f32">(at(rd), f);)
    RIGHT(k.emit<"st.global.v2.f32">(at(rd), vec(f, f));)
    // error: operand 1: a vector of 2 where a vector of 4 registers of .b32 is expected
    WRONG(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(r2, at(r));)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(r4, at(r));)
    // error: operand 3: a vector of 4 where a vector of 2 registers of .bf16x2 is expected
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32">(f4, r4, r4, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32">(f4, r4, r2, f4);)
    // error: operand 1: a register of .f32 where a vector of 4 registers of .s32 is expected
    WRONG(k.emit<"ld.global.v4.s32">(f4, at(rd));)
    RIGHT(k.emit<"ld.global.v4.s32">(r4, at(rd));)

    // ---- operands: addresses and names
    // error: operand 2: a register of .b64 where an address in brackets is expected
    WRONG(k.emit<"ld.global.f32">(f, rd);)
    RIGHT(k.emit<"ld.global.f32">(f, at(rd, 4));)
    // error: operand 2: a register of .b32, but a generic or .global address has 64 bits
    WRONG(k.emit<"ld.global.f32">(f, at(r));)
    RIGHT(k.emit<"ld.shared.f32">(f, at(r));)
    // error: operand 2: a register of .f32 where a register of 32 or 64 bits, or a variable, is expected
    WRONG(k.emit<"ld.shared.f32">(f, at(f, 8));)
    RIGHT(k.emit<"ld.shared.f32">(f, at(r, 8));)
    // error: operand 2: a variable in .shared, but the instruction addresses .global
    WRONG(k.emit<"ld.global.u32">(u, at(smem));)
    RIGHT(k.emit<"ld.shared.u32">(u, at(smem));)
    // error: operand 2: a variable in .global, but the instruction addresses .shared
    WRONG(k.emit<"ld.shared.f32">(f, at(global));)
    RIGHT(k.emit<"ld.global.f32">(f, at(global));)
    // error: operand 2: a variable in .param, but the instruction addresses .global
    WRONG(k.emit<"ld.global.u64">(ud, at(parameter));)
    RIGHT(k.emit<"ld.param.u64">(ud, at(parameter));)
    // error: operand 1: a variable in .global, but the instruction addresses .shared
    WRONG(k.emit<"mbarrier.init.shared.b64">(at(global), 1);)
    RIGHT(k.emit<"mbarrier.init.shared.b64">(at(bar), 1);)
    // error: operand 1: a register of .b64 where a label is expected
    WRONG(k.emit<"bra">(rd);)
    RIGHT(k.emit<"bra">(there);)
    // error: operand 2: a special register of .u32 cannot stand here; move it to a register first (mov)
    WRONG(k.emit<"add.u32">(u, special<"%tid.x">, 1);)
    RIGHT(k.emit<"mov.u32">(u, special<"%tid.x">);)
    // error: operand 2: a special register without .x, .y or .z
    WRONG(k.emit<"mov.u32">(u, special<"%ctaid">);)
    RIGHT(k.emit<"mov.u32">(u, special<"%ctaid.x">);)
    // error: operand 2: a negated predicate where
    WRONG(k.emit<"add.s32">(i, !p, 1);)
    RIGHT(k.emit<"and.pred">(p, p, !q);)
    // error: operand 2: a register with a minus where
    WRONG(k.emit<"add.s32">(i, minus(i), 1);)
    RIGHT(k.emit<"neg.s32">(i, i);)
    // error: operand 1: a pair a|b where
    WRONG(k.emit<"add.s32">(pair(i, i), i, 1);)
    RIGHT(k.emit<"setp.ne.s32">(pair(p, q), i, 1);)
    // error: operand 2: an address of 2 parts, but the form has 1; form:
    WRONG(k.emit<"ld.global.f32">(f, at(rd, r));)
    RIGHT(k.emit<"ld.global.f32">(f, at(rd, 8));)
    // error: operand 2: a label where
    WRONG(k.emit<"mov.u64">(ud, there);)
    RIGHT(k.emit<"mov.u64">(ud, global);)

    // ---- descriptors of tcgen05
    // error: .kind::f16: m is 96; right: 64, 128
    WRONG(k.emit<"mov.u32">(u, bits_of<InstructionDescriptor{.m = 96}>);)
    RIGHT(k.emit<"mov.u32">(u, bits_of<InstructionDescriptor{.m = 64}>);)
    // error: .kind::tf32: a is f16; right: tf32
    WRONG(k.emit<"mov.u32">(u, bits_of<InstructionDescriptor{.kind = MmaKind::tf32}>);)
    RIGHT(k.emit<"mov.u32">(u, bits_of<InstructionDescriptor{.kind = MmaKind::f16}>);)
    // error: leading_bytes and stride_bytes are multiples of 16
    WRONG(k.emit<"mov.u64">(ud, bits_of<SharedDescriptor{{.leading_bytes = 8}}>);)
    RIGHT(k.emit<"mov.u64">(ud, bits_of<SharedDescriptor{{.leading_bytes = 16}}>);)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_all_on_sm_80(Module& module) {
    auto& k = module.entry<sm_80>("on_sm_80");
    auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);

    // ---- versions and architectures
    // error: wgmma.fence.sync.aligned needs PTX ISA 8.0 and sm_90a; the target is sm_80
    WRONG(k.emit<"wgmma.fence.sync.aligned">();)
    RIGHT(k.emit<"bar.sync">(1);)
    // error: needs PTX ISA
    WRONG(k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<232>);)
    RIGHT(k.emit<"cp.async.commit_group">();)
    // error: needs PTX ISA
    WRONG(k.emit<"mapa.shared::cluster.u32">(r, r, u);)
    RIGHT(k.emit<"cvta.to.shared.u64">(ud, ud);)
    // error: needs PTX ISA
    WRONG(k.emit<"min.s16x2">(r, r, s);)
    RIGHT(k.emit<"min.s32">(i, i, i);)
    // error: needs PTX ISA
    WRONG(k.emit<"add.bf16">(h, h, h);)
    RIGHT(k.emit<"add.f16">(h, h, h);)
    // error: needs PTX ISA
    WRONG(k.emit<"elect.sync">(pair(r, p), -1);)
    RIGHT(k.emit<"activemask.b32">(r);)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_all_on_ptx_7_8(Module& module) {
    auto& k = module.entry<old_90a>("on_ptx_7_8");
    // error: wgmma.fence.sync.aligned needs PTX ISA 8.0 and sm_90a; the target is sm_90a, PTX ISA 7.8
    WRONG(k.emit<"wgmma.fence.sync.aligned">();)
    RIGHT(k.emit<"bar.sync">(2);)
    k.emit<"ret">();
    return k.instruction_count();
}
