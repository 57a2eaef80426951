// Mistakes in the instructions of the tensor cores, and what targets lack; see dsl_mistakes.cpp.

#include "dsl_mistakes.hpp"

using namespace ptxgraft::dsl;

#define WGMMA "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
#define MXF4 \
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"

std::size_t emit_matrix_on_sm_90a(Module& module) {
    auto& k = module.entry<sm_90a>("matrix_on_sm_90a");
    const auto smem = k.shared("smem", {.type = b8, .count = 1024, .align = 128});
    const auto r8 = k.regs<b32, 8>();
    const auto f8 = k.regs<f32, 8>();
    const auto i4 = k.regs<s32, 4>();
    const auto d2 = k.regs<f64, 2>();
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);

    // ---- mma.sync
    // error: a modifier is missing: .aligned; form: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a
    WRONG(k.emit<"mma.sync.m16n8k16.row.col.f32.f16.f16.f32">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32">(f4, r4, r2, f4);)
    // error: .m16n16k16 is not allowed with mma; did you mean .m16n8k16?; forms:
    WRONG(k.emit<"mma.sync.aligned.m16n16k16.row.col.f32.f16.f16.f32">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32">(f4, r2, vec(r), f4);)
    // error: .row is not allowed in this form of mma; forms:
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16">(r2, r4, r2, r2);)
    // error: .f16 is not allowed in this form of mma; forms:
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32">(f4, r4, r2, f4);)
    // error: operand 2: a register of .f32 where a vector of 4 registers of .f16x2 is expected; form:
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32">(f4, f4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32">(f4, r2, vec(r), f4);)
    // error: operand 1: a register of .s32 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32">(i4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32">(f4, r2, vec(r), f4);)
    // error: 3 operands, but the form has 4; form: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32">(f4, r4, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32">(f4, r4, r2, f4);)
    // error: operand 2: a vector of 2 where a vector of 4 registers of .f16x2 is expected; form:
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32">(f4, r2, r4, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32">(i4, r4, r2, i4);)
    // error: .f32 is not allowed once more; forms: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f32.f32.f32">(f4, f4, k.regs<f32, 2>(), f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32">(i4, r2, vec(r), i4);)
    // error: operand 1: a vector of 4 where a vector of 2 registers of .f16x2 is expected; form:
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64">(d2, vec(d), vec(d), d2);)
    // error: a modifier is missing: .f32; form: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32">(i4, r2, vec(r), i4);)
    // error: operand 4: a register of .u32 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32">(f4, r4, r2, k.regs<u32, 4>());)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32">(f4, r4, r2, f4);)
    // error: 5 operands, but the form has 6; form: mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 d
    WRONG(k.emit<"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32">(f4, r4, r4, f4, r);)
    RIGHT(k.emit<"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32">(f4, r4, r4, f4, r, imm<0>);)

    // ---- ldmatrix, stmatrix, movmatrix, wmma
    // error: ldmatrix.sync.aligned.m8n8.x4.shared.b16 is the manual's order; form:
    WRONG(k.emit<"ldmatrix.sync.aligned.x4.m8n8.shared.b16">(r4, at(r));)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(r4, at(r));)
    // error: operand 1: a register of .b16 where a vector of 4 registers of .b32 is expected; form:
    WRONG(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(k.regs<b16, 4>(), at(r));)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x2.shared.b16">(r2, at(r));)
    // error: .global is not allowed with ldmatrix; forms: ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 d
    WRONG(k.emit<"ldmatrix.sync.aligned.m8n8.x4.global.b16">(r4, at(rd));)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16">(r4, at(r));)
    // error: unknown modifier '.x3' for ldmatrix; did you mean .x1?
    WRONG(k.emit<"ldmatrix.sync.aligned.m8n8.x3.shared.b16">(r4, at(r));)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x1.shared.b16">(vec(r), at(r));)
    // error: .f16 is not allowed with ldmatrix; did you mean .b16?; forms:
    WRONG(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.f16">(r4, at(r));)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x4.b16">(r4, at(smem));)
    // error: operand 2: a register of .b32 where an address in brackets is expected; form:
    WRONG(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(r4, r);)
    RIGHT(k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(r4, at(r, 32));)
    // error: operand 1: a vector of 4 where an address in brackets is expected; form:
    WRONG(k.emit<"stmatrix.sync.aligned.m8n8.x4.shared.b16">(r4, at(r));)
    RIGHT(k.emit<"stmatrix.sync.aligned.m8n8.x4.shared.b16">(at(r), r4);)
    // error: operand 2: a vector of 2 where a vector of 4 registers of .b32 is expected; form:
    WRONG(k.emit<"stmatrix.sync.aligned.m8n8.x4.shared.b16">(at(r), r2);)
    RIGHT(k.emit<"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16">(at(r), r2);)
    // error: a modifier is missing: .trans; form: movmatrix.sync.aligned.m8n8.trans.b16 d, a
    WRONG(k.emit<"movmatrix.sync.aligned.m8n8.b16">(r, s);)
    RIGHT(k.emit<"movmatrix.sync.aligned.m8n8.trans.b16">(r, s);)
    // error: operand 1: a vector of 4 where a vector of 8 registers of .f16x2 is expected; form:
    WRONG(k.emit<"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16">(r4, at(r));)
    RIGHT(k.emit<"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16">(r8, at(r));)
    // error: operand 4: a vector of 4 where a vector of 8 registers of .f32 is expected; form:
    WRONG(k.emit<"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32">(f8, r8, r8, f4);)
    RIGHT(k.emit<"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32">(f8, r8, r8, f8);)

    // ---- wgmma
    // error: 3 operands, but the form has 8; form: wgmma.mma_async.sync{.aligned}.shape.f32.f16.f16 d, a, b
    WRONG(k.emit<WGMMA>(f4, ud, ud);)
    RIGHT(k.emit<WGMMA>(f4, ud, ud, p, 1, 1, 0, 0);)
    // error: operand 1: a vector of 8 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<WGMMA>(f8, ud, ud, p, 1, 1, 0, 0);)
    RIGHT(k.emit<"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16">(f8, ud, ud, p, 1, 1, 0, 0);)
    // error: operand 5: the constant 2 is out of range: one of -1, 1; form:
    WRONG(k.emit<WGMMA>(f4, ud, ud, p, imm<2>, imm<1>, imm<0>, imm<0>);)
    RIGHT(k.emit<WGMMA>(f4, ud, ud, p, imm<-1>, imm<1>, imm<0>, imm<0>);)
    // error: operand 2: a register of .u64 where a vector of 4 registers of .f16x2 is expected; form:
    WRONG(k.emit<WGMMA>(f4, ud, ud, 1, 1, 1, 0);)
    RIGHT(k.emit<WGMMA>(f4, r4, ud, p, 1, 1, 0);)
    // error: operand 3: a vector of 4 where a register of .u64 or an integer constant is expected; form:
    WRONG(k.emit<WGMMA>(f4, ud, r4, p, 1, 1, 0, 0);)
    RIGHT(k.emit<"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16">(f4, ud, ud, p, 1, 1, 0, 0);)
    // error: unknown modifier '.m64n10k16' for wgmma.mma_async; did you mean .m64n16k16?
    WRONG(k.emit<"wgmma.mma_async.sync.aligned.m64n10k16.f32.f16.f16">(f4, ud, ud, p, 1, 1, 0, 0);)
    RIGHT(k.emit<"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32">(f4, ud, ud, p, 1, 1);)
    // error: operand 2: a register of .u32 where a register of .u64 or an integer constant is expected
    WRONG(k.emit<WGMMA>(f4, u, u, p, 1, 1, 0, 0);)
    RIGHT(k.emit<"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8">(i4, ud, ud, p);)
    // error: a modifier is missing: .sync; form: wgmma.mma_async.sync{.aligned}.shape.f32.f16.f16 d, a, b
    WRONG(k.emit<"wgmma.mma_async.aligned.m64n8k16.f32.f16.f16">(f4, ud, ud, p, 1, 1, 0, 0);)
    RIGHT(k.emit<"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2">(f4, ud, ud, p, 1, 1);)
    // error: operand 1: a register of .b32 where an integer constant is expected; form:
    WRONG(k.emit<"wgmma.wait_group.sync.aligned">(r);)
    RIGHT(k.emit<"wgmma.wait_group.sync.aligned">(imm<7>);)
    // error: a modifier is missing: .sync; form: wgmma.commit_group.sync{.aligned}
    WRONG(k.emit<"wgmma.commit_group">();)
    RIGHT(k.emit<"wgmma.commit_group.sync.aligned">();)
    // error: a modifier is missing: .sync; form: wgmma.fence.sync{.aligned}
    WRONG(k.emit<"wgmma.fence.aligned">();)
    RIGHT(k.emit<"wgmma.fence.sync.aligned">();)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_matrix_on_sm_100a(Module& module) {
    auto& k = module.entry<sm_100a>("matrix_on_sm_100a");
    const auto smem = k.shared("smem", {.type = b8, .count = 1024, .align = 128});
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);

    // ---- tcgen05
    // error: operand 1: a register of .b32, but a generic or .global address has 64 bits; form:
    WRONG(k.emit<"tcgen05.alloc.cta_group::1.sync.aligned.b32">(at(r), imm<32>);)
    RIGHT(k.emit<"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32">(at(r), imm<32>);)
    // error: operand 2: the constant 48 is out of range: one of 32, 64, 128, 256, 512; form:
    WRONG(k.emit<"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32">(at(r), imm<48>);)
    RIGHT(k.emit<"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32">(at(smem), imm<64>);)
    // error: unknown modifier '.cta_group::3' for tcgen05.alloc; did you mean .cta_group::1?
    WRONG(k.emit<"tcgen05.alloc.cta_group::3.sync.aligned.shared::cta.b32">(at(r), 32);)
    RIGHT(k.emit<"tcgen05.dealloc.cta_group::1.sync.aligned.b32">(r, imm<32>);)
    // error: operand 1: an address in brackets where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"tcgen05.dealloc.cta_group::1.sync.aligned.b32">(at(r), imm<32>);)
    RIGHT(k.emit<"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned">();)
    // error: operand 1: a vector of 2 where a vector of 4 registers of .b32 is expected; form:
    WRONG(k.emit<"tcgen05.ld.sync.aligned.32x32b.x4.b32">(r2, at(r));)
    RIGHT(k.emit<"tcgen05.ld.sync.aligned.32x32b.x4.b32">(r4, at(r));)
    // error: .f32 is not allowed with tcgen05.ld; it is with tcgen05.ld.red, tcgen05.ld.red.spcompress
    WRONG(k.emit<"tcgen05.ld.sync.aligned.32x32b.x4.f32">(f4, at(r));)
    RIGHT(k.emit<"tcgen05.ld.sync.aligned.32x32b.x2.b32">(r2, at(r));)
    // error: operand 1: a vector of 2 where a vector of 4 registers of .b32 is expected; form:
    WRONG(k.emit<"tcgen05.ld.sync.aligned.16x256b.x1.b32">(r2, at(r));)
    RIGHT(k.emit<"tcgen05.ld.sync.aligned.16x256b.x1.b32">(r4, at(r));)
    // error: operand 2: a register of .f32 where a register of 32 bits is expected; form:
    WRONG(k.emit<"tcgen05.ld.sync.aligned.32x32b.x4.b32">(r4, at(f));)
    RIGHT(k.emit<"tcgen05.ld.sync.aligned.32x32b.x1.b32">(vec(r), at(r));)
    // error: operand 2: a register of .b64 where a register of 32 bits is expected; form:
    WRONG(k.emit<"tcgen05.ld.sync.aligned.32x32b.x4.b32">(r4, at(rd));)
    RIGHT(k.emit<"tcgen05.st.sync.aligned.32x32b.x4.b32">(at(r), r4);)
    // error: operand 1: a vector of 4 where an address in brackets is expected; form:
    WRONG(k.emit<"tcgen05.st.sync.aligned.32x32b.x4.b32">(r4, at(r));)
    RIGHT(k.emit<"tcgen05.st.sync.aligned.32x32b.x2.b32">(at(r), r2);)
    // error: an operation is missing behind tcgen05: tcgen05.alloc tcgen05.commit tcgen05.cp tcgen05.dealloc
    WRONG(k.emit<"tcgen05.wait.ld.sync.aligned">();)
    RIGHT(k.emit<"tcgen05.wait::ld.sync.aligned">();)
    // error: unknown modifier '.kind::bf16' for tcgen05.mma; did you mean .kind::f16?
    WRONG(k.emit<"tcgen05.mma.cta_group::1.kind::bf16">(at(r), ud, ud, u, p);)
    RIGHT(k.emit<"tcgen05.mma.cta_group::1.kind::f16">(at(r), ud, ud, u, p);)
    // error: operand 1: a register of .b32 where an address in brackets is expected; form:
    WRONG(k.emit<"tcgen05.mma.cta_group::1.kind::f16">(r, ud, ud, u, p);)
    RIGHT(k.emit<"tcgen05.mma.cta_group::1.kind::tf32">(at(r), ud, ud, u, p);)
    // error: 4 operands, but the form has 5; form: tcgen05.mma.cta_group::1.kind{.collector} [x], a, b
    WRONG(k.emit<"tcgen05.mma.cta_group::1.kind::f16">(at(r), ud, ud, u);)
    RIGHT(k.emit<"tcgen05.mma.cta_group::1.kind::f16">(at(r), at(r), ud, u, p);)
    // error: a modifier is missing: .cta_group::1 .cta_group::2; form:
    WRONG(k.emit<"tcgen05.mma.kind::f16">(at(r), ud, ud, u, p);)
    RIGHT(k.emit<"tcgen05.mma.cta_group::1.kind::f8f6f4">(at(r), ud, ud, u, p);)
    // error: a modifier is missing: .mbarrier::arrive::one; form:
    WRONG(k.emit<"tcgen05.commit.cta_group::1.b64">(at(rd));)
    RIGHT(k.emit<"tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64">(at(rd));)
    // error: an operation is missing behind tcgen05: tcgen05.alloc tcgen05.commit tcgen05.cp tcgen05.dealloc
    WRONG(k.emit<"tcgen05.fence">();)
    RIGHT(k.emit<"tcgen05.fence::after_thread_sync">();)
    // error: operand 2: an address in brackets where a register of .u64 or an integer constant is expected
    WRONG(k.emit<"tcgen05.cp.cta_group::1.128x256b">(at(r), at(ud));)
    RIGHT(k.emit<"tcgen05.cp.cta_group::1.128x256b">(at(r), ud);)

    // ---- what sm_100a lacks
    // error: wgmma.fence.sync.aligned needs PTX ISA 8.0 and sm_90a; the target is sm_100a
    WRONG(k.emit<"wgmma.fence.sync.aligned">();)
    RIGHT(k.emit<"tcgen05.fence::before_thread_sync">();)
    // error: mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
    WRONG(k.emit<MXF4>(f4, r4, r2, f4, r, vec(0, 0), r, vec(0, 0));)
    RIGHT(k.emit<"add.f32x2">(rd, rd, rd);)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_matrix_on_sm_100f(Module& module) {
    auto& k = module.entry<sm_100f>("matrix_on_sm_100f");
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);
    // error: tcgen05.mma.cta_group::1.kind::i8 needs PTX ISA 8.6 and sm_100a, sm_110a; the target is sm_100f
    WRONG(k.emit<"tcgen05.mma.cta_group::1.kind::i8">(at(r), ud, ud, u, p);)
    RIGHT(k.emit<"tcgen05.wait::st.sync.aligned">();)
    // error: operand 1: the constant 20 is out of range: 24 to 256, a multiple of 8; form:
    WRONG(k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<20>);)
    RIGHT(k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<40>);)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_matrix_on_sm_120a(Module& module) {
    auto& k = module.entry<sm_120a>("matrix_on_sm_120a");
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);
    // error: tcgen05.wait::ld.sync.aligned needs PTX ISA 8.6 and sm_100a, sm_100f, sm_110a, sm_110f; the
    WRONG(k.emit<"tcgen05.wait::ld.sync.aligned">();)
    RIGHT(k.emit<"cvt.rn.satfinite.e2m1x2.f32">(k.reg<b8>(), f, g);)
    // error: operand 6: the constant 4 is out of range: one of 0, 2; form:
    WRONG(k.emit<MXF4>(f4, r4, r2, f4, r, vec(imm<4>, 0), r, vec(0, 0));)
    RIGHT(k.emit<MXF4>(f4, r4, r2, f4, r, vec(0, 0), r, vec(0, 0));)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_matrix_on_sm_90(Module& module) {
    auto& k = module.entry<sm_90>("matrix_on_sm_90");
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);
    // error: wgmma.fence.sync.aligned needs PTX ISA 8.0 and sm_90a; the target is sm_90
    WRONG(k.emit<"wgmma.fence.sync.aligned">();)
    RIGHT(k.emit<"barrier.cluster.arrive">();)
    // error: setmaxnreg.dec.sync.aligned.u32 needs PTX ISA 8.0 and sm_90a, sm_100a, sm_110a, sm_120a, or PTX
    WRONG(k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<64>);)
    RIGHT(k.emit<"barrier.cluster.wait">();)
    k.emit<"ret">();
    return k.instruction_count();
}

std::size_t emit_matrix_on_sm_75(Module& module) {
    auto& k = module.entry<sm_75>("matrix_on_sm_75");
    [[maybe_unused]] const auto f8 = k.regs<f32, 8>();
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);
    // error: cp.async.wait_all needs PTX ISA 7.0 and sm_80; the target is sm_75
    WRONG(k.emit<"cp.async.wait_all">();)
    RIGHT(k.emit<"bar.sync">(0);)
    // error: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 needs PTX ISA 7.0 and sm_80; the target is
    WRONG(k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32">(f4, r4, r2, f4);)
    RIGHT(k.emit<"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32">(f4, r2, vec(r), f4);)
    // error: cvt.rn.bf16.f32 needs PTX ISA 7.0 and sm_80; the target is sm_75
    WRONG(k.emit<"cvt.rn.bf16.f32">(h, f);)
    RIGHT(k.emit<"cvt.rn.f16.f32">(h, f);)
    // error: ld.global.v8.f32 needs PTX ISA 8.8 and sm_100; the target is sm_75
    WRONG(k.emit<"ld.global.v8.f32">(f8, at(rd));)
    RIGHT(k.emit<"ld.global.v4.f32">(f4, at(rd));)
    // error: redux.sync.add.u32 needs PTX ISA 7.0 and sm_80; the target is sm_75
    WRONG(k.emit<"redux.sync.add.u32">(u, u, -1);)
    RIGHT(k.emit<"vote.sync.any.pred">(p, q, -1);)
    // error: mbarrier.init.shared.b64 needs PTX ISA 7.0 and sm_80; the target is sm_75
    WRONG(k.emit<"mbarrier.init.shared.b64">(at(r), 1);)
    RIGHT(k.emit<"membar.gl">();)
    k.emit<"ret">();
    return k.instruction_count();
}
