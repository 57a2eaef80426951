// Mistakes in loads, stores, atomics, asynchronous copies, textures and surfaces; see dsl_mistakes.cpp.

#include "dsl_mistakes.hpp"

using namespace ptxgraft::dsl;

#define BULK "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
#define TENSOR2 "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"

std::size_t emit_memory_on_sm_90a(Module& module) {
    auto& k = module.entry<sm_90a>("memory_on_sm_90a");
    const auto parameter = k.parameter<f32>("parameter");
    const auto smem = k.shared("smem", {.type = b8, .count = 1024, .align = 128});
    const auto bar = k.shared("bar", {.type = b64});
    const auto stack = k.local("stack", {.type = f32, .count = 4});
    const auto global = module.global("table", {.type = f32, .count = 4});
    const auto constants = module.constant("constants", {.type = f32, .count = 4});
    module.raw(".global .texref texture;\n.global .surfref surface;");
    const Texture texture{"texture"};
    const Surface surface{"surface"};
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);

    // ---- loads and stores
    // error: operand 2: a register of .f32 where an address in brackets is expected; form:
    WRONG(k.emit<"ld.f32">(f, f);)
    RIGHT(k.emit<"ld.f32">(f, at(rd));)
    // error: .f16 is not allowed with ld; did you mean .b16?; forms:
    WRONG(k.emit<"ld.global.f16">(h, at(rd));)
    RIGHT(k.emit<"ld.global.b16">(h, at(rd));)
    // error: unknown modifier '.float' for ld; forms:
    WRONG(k.emit<"ld.global.float">(f, at(rd));)
    RIGHT(k.emit<"ld.global.f32">(f, at(rd));)
    // error: unknown modifier '.constant' for ld; did you mean .const?
    WRONG(k.emit<"ld.constant.f32">(f, at(rd));)
    RIGHT(k.emit<"ld.const.f32">(f, at(constants));)
    // error: unknown modifier '.smem' for ld; forms:
    WRONG(k.emit<"ld.smem.f32">(f, at(r));)
    RIGHT(k.emit<"ld.shared.f32">(f, at(r));)
    // error: operand 1: an address in brackets where a register of .f32 or wider is expected; form:
    WRONG(k.emit<"ld.global.f32">(at(rd), f);)
    RIGHT(k.emit<"st.global.f32">(at(rd), f);)
    // error: operand 1: a register of .f32 where an address in brackets is expected; form:
    WRONG(k.emit<"st.global.f32">(f, at(rd));)
    RIGHT(k.emit<"st.global.f32">(at(rd, 4), f);)
    // error: a modifier is missing: .b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32
    WRONG(k.emit<"ld.global">(f, at(rd));)
    RIGHT(k.emit<"ld.global.f32">(f, at(rd, 8));)
    // error: ld.global.f32 is the manual's order; form:
    WRONG(k.emit<"ld.f32.global">(f, at(rd));)
    RIGHT(k.emit<"ld.global.ca.f32">(f, at(rd));)
    // error: .volatile is not allowed in this form of ld; forms:
    WRONG(k.emit<"ld.global.nc.volatile.f32">(f, at(rd));)
    RIGHT(k.emit<"ld.global.nc.f32">(f, at(rd));)
    // error: .nc is not allowed in this form of ld; forms:
    WRONG(k.emit<"ld.shared.nc.f32">(f, at(r));)
    RIGHT(k.emit<"ld.volatile.shared.f32">(f, at(r));)
    // error: unknown modifier '.v3' for ld; did you mean .v2?
    WRONG(k.emit<"ld.global.v3.f32">(vec(f, g, f), at(rd));)
    RIGHT(k.emit<"ld.global.v2.f32">(vec(f, g), at(rd));)
    // error: ld.global.v4.f64 needs PTX ISA 8.8 and sm_100; the target is sm_90a
    WRONG(k.emit<"ld.global.v4.f64">(k.regs<f64, 4>(), at(rd));)
    RIGHT(k.emit<"ld.global.v2.f64">(k.regs<f64, 2>(), at(rd));)
    // error: ld.global.v8.f32 needs PTX ISA 8.8 and sm_100; the target is sm_90a
    WRONG(k.emit<"ld.global.v8.f32">(k.regs<f32, 8>(), at(rd));)
    RIGHT(k.emit<"ld.global.v4.f32">(f4, at(rd));)
    // error: operand 1: a register of .f64 where a vector of 2 registers of .f32 is expected; form:
    WRONG(k.emit<"ld.global.v2.f32">(vec(f, d), at(rd));)
    RIGHT(k.emit<"ld.global.v2.b32">(vec(r, s), at(rd));)
    // error: operand 1: a register of .s32 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<"ld.global.v4.f32">(vec(f, g, f, i), at(rd));)
    RIGHT(k.emit<"ld.global.v4.f32">(vec(f, g, sink, sink), at(rd));)
    // error: operand 1: '_' alone, where one register at least is expected; form:
    WRONG(k.emit<"ld.global.v2.u32">(vec(sink, sink), at(rd));)
    RIGHT(k.emit<"ld.global.v2.u32">(vec(u, sink), at(rd));)
    // error: a modifier is missing: .b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32
    WRONG(k.emit<"ld.global.v4">(f4, at(rd));)
    RIGHT(k.emit<"ld.global.v4.u32">(k.regs<u32, 4>(), at(rd));)
    // error: operand 1: a register of .f32 where a register of .u8 or wider is expected; form:
    WRONG(k.emit<"ld.global.u8">(k.reg<f32>(), at(rd));)
    RIGHT(k.emit<"ld.global.u8">(us, at(rd));)
    // error: operand 1: a register of .f64 where a register of .s8 or wider is expected; form:
    WRONG(k.emit<"ld.global.s8">(k.reg<f64>(), at(rd));)
    RIGHT(k.emit<"ld.global.s8">(i, at(rd));)
    // error: .pred is not allowed with ld; forms:
    WRONG(k.emit<"ld.global.pred">(p, at(rd));)
    RIGHT(k.emit<"ld.global.b32">(r, at(rd));)
    // error: operand 2: a register of .u32, but a generic or .global address has 64 bits; form:
    WRONG(k.emit<"ld.global.u64">(ud, at(u));)
    RIGHT(k.emit<"ld.global.u64">(ud, at(ud));)
    // error: operand 2: a variable in .shared, but the instruction addresses .local; form:
    WRONG(k.emit<"ld.local.f32">(f, at(smem));)
    RIGHT(k.emit<"ld.local.f32">(f, at(stack));)
    // error: operand 2: a variable in .global, but the instruction addresses .param; form:
    WRONG(k.emit<"ld.param.f32">(f, at(global));)
    RIGHT(k.emit<"ld.param.f32">(f, at(parameter));)
    // error: a modifier is missing: .cta .cluster .gpu .sys; form:
    WRONG(k.emit<"ld.relaxed.global.f32">(f, at(rd));)
    RIGHT(k.emit<"ld.relaxed.gpu.global.f32">(f, at(rd));)
    // error: operand 1: a register of .f32 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<"ld.acquire.gpu.shared::cta.v4.f32">(f, at(r));)
    RIGHT(k.emit<"ld.acquire.gpu.shared::cta.v4.f32">(f4, at(r));)
    // error: .acquire is not allowed with st; forms: st.sem.scope{.ss}{.evict1}{.evict}{.hint}{.vec}.type
    WRONG(k.emit<"st.acquire.gpu.global.u32">(at(rd), u);)
    RIGHT(k.emit<"st.release.gpu.global.u32">(at(rd), u);)
    // error: .ca is not allowed with st; did you mean .cg?; forms:
    WRONG(k.emit<"st.global.cs.ca.f32">(at(rd), f);)
    RIGHT(k.emit<"st.global.cs.f32">(at(rd), f);)
    // error: .const is not allowed with st; forms: st{.weak}{.ss}{.cache}{.evict}{.hint}{.vec}.type [a], b{
    WRONG(k.emit<"st.const.f32">(at(rd), f);)
    RIGHT(k.emit<"st.local.f32">(at(stack), f);)
    // error: operand 2: a constant of .f64 where a register of .b32 or wider or a constant of 32 bits is
    WRONG(k.emit<"st.global.b32">(at(rd), 1.5);)
    RIGHT(k.emit<"st.global.b32">(at(rd), 1.5f);)
    // error: operand 2: an integer constant where a register of .f32 or wider or a constant of .f32 is
    WRONG(k.emit<"st.global.f32">(at(rd), 1);)
    RIGHT(k.emit<"st.global.f32">(at(rd), 1.0f);)
    // error: operand 2: the constant 256 does not fit into .u8; form:
    WRONG(k.emit<"st.global.u8">(at(rd), imm<256>);)
    RIGHT(k.emit<"st.global.u8">(at(rd), imm<255>);)
    // error: operand 2: a register of .pred where a register of .u32 or wider or an integer constant is
    WRONG(k.emit<"st.global.u32">(at(rd), p);)
    RIGHT(k.emit<"st.global.u32">(at(rd), u);)
    // error: operand 1: a register of .f32 where a register of 32 or 64 bits, or a variable, is expected
    WRONG(k.emit<"st.shared.f32">(at(f), f);)
    RIGHT(k.emit<"st.shared.f32">(at(smem, 16), f);)
    // error: .shared is not allowed with ldu; forms: ldu{.global}{.vec}.type d, [a]
    WRONG(k.emit<"ldu.shared.f32">(f, at(r));)
    RIGHT(k.emit<"ldu.global.f32">(f, at(rd));)
    // error: operand 2: an address in brackets where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"mov.u32">(u, at(smem));)
    RIGHT(k.emit<"mov.u32">(u, smem);)
    // error: 3 operands, but the form has 2; form: mov.type d, a
    WRONG(k.emit<"mov.u32">(u, imm<1>, imm<2>);)
    RIGHT(k.emit<"mov.b64">(rd, vec(r, s));)
    // error: operand 2: a vector of 2 where a register of .b64 or a constant of 64 bits is expected; form:
    WRONG(k.emit<"mov.b64">(vec(r, s), vec(r, s));)
    RIGHT(k.emit<"mov.b64">(vec(r, s), rd);)
    // error: operand 2: a register of .b32 where a vector of 2 registers of .b16 is expected; form: mov.b32
    WRONG(k.emit<"mov.b32">(r, vec(r, s));)
    RIGHT(k.emit<"mov.b32">(r, vec(h, h));)
    // error: operand 2: a variable in .shared where a register of .u16 or an integer constant is expected
    WRONG(k.emit<"mov.u16">(us, smem);)
    RIGHT(k.emit<"mov.u64">(ud, global);)
    // error: operand 2: an address in brackets where a register of .u64 or an integer constant is expected
    WRONG(k.emit<"cvta.global.u64">(ud, at(ud));)
    RIGHT(k.emit<"cvta.global.u64">(ud, ud);)
    // error: operand 1: a register of .u32 where a register of .u64 is expected; form: cvta.to.space.size d
    WRONG(k.emit<"cvta.to.global.u64">(u, ud);)
    RIGHT(k.emit<"cvta.to.global.u64">(ud, ud);)
    // error: a modifier is missing: .u32 .u64; form: cvta.space.size d, a
    WRONG(k.emit<"cvta.shared">(ud, ud);)
    RIGHT(k.emit<"cvta.shared.u64">(ud, ud);)
    // error: operand 1: a register of .u32 where a register of .pred is expected; form: isspacep.space p, a
    WRONG(k.emit<"isspacep.global">(u, ud);)
    RIGHT(k.emit<"isspacep.global">(p, ud);)
    // error: unknown modifier '.sahred' for isspacep; did you mean .shared?
    WRONG(k.emit<"isspacep.sahred">(p, ud);)
    RIGHT(k.emit<"isspacep.shared">(p, ud);)
    // error: unknown modifier '.L3' for prefetch; did you mean .L1?
    WRONG(k.emit<"prefetch.global.L3">(at(rd));)
    RIGHT(k.emit<"prefetch.global.L2">(at(rd));)
    // error: operand 1: a register of .b64 where an address in brackets is expected; form:
    WRONG(k.emit<"prefetch.L1">(rd);)
    RIGHT(k.emit<"prefetch.L1">(at(rd));)
    // error: operand 2: the constant 64 is out of range: it is always 128; form:
    WRONG(k.emit<"applypriority.global.L2::evict_normal">(at(rd), imm<64>);)
    RIGHT(k.emit<"applypriority.global.L2::evict_normal">(at(rd), imm<128>);)
    // error: 1 operand, but the form has 2; form: discard{.global}.L2 [a], size
    WRONG(k.emit<"discard.global.L2">(at(rd));)
    RIGHT(k.emit<"discard.global.L2">(at(rd), imm<128>);)
    // error: operand 1: a register of .u32 where a register of .u64 is expected; form:
    WRONG(k.emit<"createpolicy.fractional.L2::evict_first.b64">(u, 1.0f);)
    RIGHT(k.emit<"createpolicy.fractional.L2::evict_first.b64">(ud, 1.0f);)
    // error: operand 2: an integer constant where a register of .f32 or a constant of .f32 is expected
    WRONG(k.emit<"createpolicy.fractional.L2::evict_first.b64">(ud, 1);)
    RIGHT(k.emit<"createpolicy.fractional.L2::evict_first.b64">(ud);)
    // error: 2 operands, but the form has 3; form:
    WRONG(k.emit<"ld.global.L2::cache_hint.f32">(f, at(rd));)
    RIGHT(k.emit<"ld.global.L2::cache_hint.f32">(f, at(rd), ud);)

    // ---- atomics
    // error: unknown opcode 'atomicAdd'; did you mean atom?
    WRONG(k.emit<"atomicAdd">(at(rd), 1);)
    RIGHT(k.emit<"red.global.add.u32">(at(rd), 1);)
    // error: 2 operands, but the form has 3; form: atom{.sem}{.scope}{.space}.add{.hint}.type d, [a], b{
    WRONG(k.emit<"atom.add.f32">(f, at(rd));)
    RIGHT(k.emit<"atom.add.f32">(f, at(rd), g);)
    // error: a modifier is missing: .u32 .s32 .u64 .f32 .f64; form:
    WRONG(k.emit<"atom.global.add">(u, at(rd), 1);)
    RIGHT(k.emit<"atom.global.add.u32">(u, at(rd), 1);)
    // error: .u32 is not allowed in this form of atom; forms: atom{.sem}{.scope}{.space}.cas.type d, [a], b
    WRONG(k.emit<"atom.global.cas.u32">(u, at(rd), u, u);)
    RIGHT(k.emit<"atom.global.cas.b32">(u, at(rd), u, u);)
    // error: 3 operands, but the form has 4; form: atom{.sem}{.scope}{.space}.cas.type d, [a], b, c
    WRONG(k.emit<"atom.global.cas.b32">(r, at(rd), r);)
    RIGHT(k.emit<"atom.global.cas.b32">(r, at(rd), r, s);)
    // error: .f32 is not allowed in this form of atom; forms: atom{.sem}{.scope}{.space}.exch{.hint}.b128 d
    WRONG(k.emit<"atom.global.exch.f32">(f, at(rd), f);)
    RIGHT(k.emit<"atom.global.exch.b32">(f, at(rd), f);)
    // error: .inc is not allowed in this form of atom; forms: atom{.sem}{.scope}{.space}.add{.hint}.type d
    WRONG(k.emit<"atom.global.inc.s32">(i, at(rd), i);)
    RIGHT(k.emit<"atom.global.inc.u32">(u, at(rd), u);)
    // error: unknown modifier '.sub' for atom; forms: atom{.sem}{.scope}{.space}.add{.hint}.type d, [a], b{
    WRONG(k.emit<"atom.global.sub.u32">(u, at(rd), u);)
    RIGHT(k.emit<"atom.global.add.s32">(i, at(rd), i);)
    // error: .min is not allowed in this form of atom; forms: atom{.sem}{.scope}{.space}.add{.hint}.type d
    WRONG(k.emit<"atom.global.min.f32">(f, at(rd), f);)
    RIGHT(k.emit<"atom.global.min.s32">(i, at(rd), i);)
    // error: .and is not allowed in this form of atom; forms: atom{.sem}{.scope}{.space}.add{.hint}.type d
    WRONG(k.emit<"atom.global.and.u32">(u, at(rd), u);)
    RIGHT(k.emit<"atom.global.and.b32">(u, at(rd), u);)
    // error: a modifier is missing: .noftz; form: atom{.sem}{.scope}{.space}.add.noftz{.hint}.type d, [a]
    WRONG(k.emit<"atom.global.add.f16">(h, at(rd), h);)
    RIGHT(k.emit<"atom.global.add.noftz.f16">(h, at(rd), h);)
    // error: operand 2: a variable in .global, but the instruction addresses .shared; form:
    WRONG(k.emit<"atom.shared.add.u32">(u, at(global), 1);)
    RIGHT(k.emit<"atom.shared.add.u32">(u, at(smem), 1);)
    // error: atom.global.add.u32 is the manual's order; form: atom{.sem}{.scope}{.space}.add{.hint}.type d
    WRONG(k.emit<"atom.add.global.u32">(u, at(rd), 1);)
    RIGHT(k.emit<"atom.relaxed.gpu.global.add.u32">(u, at(rd), 1);)
    // error: atom.relaxed.gpu.global.add.u32 is the manual's order; form:
    WRONG(k.emit<"atom.global.gpu.relaxed.add.u32">(u, at(rd), 1);)
    RIGHT(k.emit<"atom.acq_rel.gpu.global.add.u32">(u, at(rd), 1);)
    // error: atom.global.add.v2.f32 is the manual's order; form:
    WRONG(k.emit<"atom.global.v2.f32.add">(vec(f, g), at(rd), vec(f, g));)
    RIGHT(k.emit<"atom.global.add.v2.f32">(vec(f, g), at(rd), vec(f, g));)
    // error: .s64 is not allowed in this form of atom; forms: atom{.sem}{.scope}{.space}.add{.hint}.type d
    WRONG(k.emit<"atom.global.add.s64">(id, at(rd), id);)
    RIGHT(k.emit<"atom.global.add.u64">(ud, at(rd), ud);)
    // error: .exch is not allowed with red; forms: red{.sem}{.scope}{.space}.op{.hint}.type [a], b{
    WRONG(k.emit<"red.global.exch.b32">(at(rd), r);)
    RIGHT(k.emit<"red.global.or.b32">(at(rd), r);)
    // error: 3 operands, but the form has 2; form: red{.sem}{.scope}{.space}.add{.hint}.type [a], b{, policy}
    WRONG(k.emit<"red.global.add.u32">(u, at(rd), 1);)
    RIGHT(k.emit<"red.global.max.u32">(at(rd), u);)
    // error: operand 2: a constant of .f32 where a register of .f64 or a constant of .f64 is expected; form:
    WRONG(k.emit<"red.global.add.f64">(at(rd), 1.0f);)
    RIGHT(k.emit<"red.global.add.f64">(at(rd), 1.0);)
    // error: .acquire is not allowed with red; forms: red{.sem}{.scope}{.space}.add{.hint}.type [a], b{
    WRONG(k.emit<"red.acquire.gpu.global.add.u32">(at(rd), u);)
    RIGHT(k.emit<"red.relaxed.sys.global.add.u32">(at(rd), u);)

    // ---- asynchronous copies
    // error: .shared is not allowed in this form of cp.async; forms:
    WRONG(k.emit<"cp.async.ca.global.shared">(at(r), at(rd), 16);)
    RIGHT(k.emit<"cp.async.cg.shared.global">(at(r), at(rd), 16);)
    // error: operand 3: the constant 8 is out of range: it is always 16; form:
    WRONG(k.emit<"cp.async.cg.shared.global">(at(r), at(rd), imm<8>);)
    RIGHT(k.emit<"cp.async.cg.shared.global">(at(r), at(rd), imm<16>);)
    // error: operand 2: a register of .b32, but a generic or .global address has 64 bits; form:
    WRONG(k.emit<"cp.async.ca.shared.global">(at(rd), at(r), 16);)
    RIGHT(k.emit<"cp.async.ca.shared.global">(at(smem), at(rd), 16);)
    // error: operand 1: a register of .b32 where an address in brackets is expected; form:
    WRONG(k.emit<"cp.async.ca.shared.global">(r, at(rd), 16);)
    RIGHT(k.emit<"cp.async.ca.shared.global">(at(r, 16), at(rd), 16);)
    // error: 2 operands, but the form has 3; form: cp.async.ca.space.global{.hint}{.prefetch} [d], [a]
    WRONG(k.emit<"cp.async.ca.shared.global">(at(r), at(rd));)
    RIGHT(k.emit<"cp.async.ca.shared.global">(at(r), at(rd, 64), 16);)
    // error: 1 operand, but the form has none; form: cp.async.commit_group
    WRONG(k.emit<"cp.async.commit_group">(0);)
    RIGHT(k.emit<"cp.async.commit_group">();)
    // error: no operands, but the form has 1; form: cp.async.wait_group n
    WRONG(k.emit<"cp.async.wait_group">();)
    RIGHT(k.emit<"cp.async.wait_group">(imm<0>);)
    // error: 1 operand, but the form has none; form: cp.async.wait_all
    WRONG(k.emit<"cp.async.wait_all">(0);)
    RIGHT(k.emit<"cp.async.wait_all">();)
    // error: operand 1: a constant of .f32 where an integer constant is expected; form: cp.async.wait_group n
    WRONG(k.emit<"cp.async.wait_group">(1.0f);)
    RIGHT(k.emit<"cp.async.wait_group">(imm<2>);)
    // error: a modifier is missing: .mbarrier::complete_tx::bytes; form:
    WRONG(k.emit<"cp.async.bulk.shared::cluster.global">(at(r), at(rd), 64, at(bar));)
    RIGHT(k.emit<BULK>(at(r), at(rd), 64, at(bar));)
    // error: 3 operands, but the form has 4; form:
    WRONG(k.emit<BULK>(at(r), at(rd), at(bar));)
    RIGHT(k.emit<BULK>(at(r), at(rd), u, at(bar));)
    // error: operand 3: an address in brackets where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"cp.async.bulk.global.shared::cta.bulk_group">(at(rd), at(r), at(bar));)
    RIGHT(k.emit<"cp.async.bulk.global.shared::cta.bulk_group">(at(rd), at(r), 64);)
    // error: unknown modifier '.write' for cp.async.bulk.wait_group; forms:
    WRONG(k.emit<"cp.async.bulk.wait_group.write">(imm<0>);)
    RIGHT(k.emit<"cp.async.bulk.wait_group.read">(imm<0>);)
    // error: operand 1: a register of .u32 where an integer constant is expected; form:
    WRONG(k.emit<"cp.async.bulk.wait_group">(u);)
    RIGHT(k.emit<"cp.async.bulk.wait_group">(imm<1>);)
    // error: operand 2: a vector of 3 where a vector of 2 registers of .s32 is expected; form:
    WRONG(k.emit<TENSOR2>(at(r), at(rd, vec(i, i, i)), at(bar));)
    RIGHT(k.emit<TENSOR2>(at(r), at(rd, vec(i, i)), at(bar));)
    // error: operand 2: a register of .s32 where a vector of 2 registers of .s32 is expected; form:
    WRONG(k.emit<TENSOR2>(at(r), at(rd, i), at(bar));)
    RIGHT(k.emit<TENSOR2>(at(smem), at(rd, vec(i, i)), at(bar));)
    // error: operand 2: a register of .f32 where a vector of 2 registers of .s32 is expected; form:
    WRONG(k.emit<TENSOR2>(at(r), at(rd, vec(f, g)), at(bar));)
    RIGHT(k.emit<TENSOR2>(at(r), at(rd, vec(i, i)), at(r));)
    // error: 4 operands, but the form has 3; form:
    WRONG(k.emit<TENSOR2>(at(r), at(rd), vec(i, i), at(bar));)
    RIGHT(k.emit<TENSOR2>(at(smem, 128), at(rd, vec(i, i)), at(bar));)
    // error: 2 operands, but the form has 3; form:
    WRONG(k.emit<TENSOR2>(at(r), at(rd, vec(i, i)));)
    RIGHT(k.emit<TENSOR2>(at(r), at(rd, vec(0, i)), at(bar));)
    // error: unknown modifier '.6d' for cp.async.bulk.tensor; did you mean .1d?
    WRONG(k.emit<"cp.async.bulk.tensor.6d.global.shared::cta.bulk_group">(at(rd, vec(i, i)), at(r));)
    RIGHT(k.emit<"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group">(at(rd, vec(i, i)), at(r));)
    // error: 1 operand, but the form has none; form: cp.async.bulk.commit_group
    WRONG(k.emit<"cp.async.bulk.commit_group">(1);)
    RIGHT(k.emit<"cp.async.bulk.commit_group">();)
    // error: operand 1: a register of .b32, but a generic or .global address has 64 bits; form:
    WRONG(k.emit<"st.async.mbarrier::complete_tx::bytes.u32">(at(r), u);)
    RIGHT(k.emit<"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32">(at(r), u, at(bar));)
    // error: operand 1: a register of .b32 where a register of .u64 is expected; form:
    WRONG(k.emit<"mapa.shared::cluster.u64">(r, r, u);)
    RIGHT(k.emit<"mapa.shared::cluster.u32">(r, r, u);)
    // error: operand 2: a register of .f32 where an address in brackets is expected; form:
    WRONG(k.emit<"multimem.ld_reduce.global.add.f32">(f, f);)
    RIGHT(k.emit<"multimem.ld_reduce.global.add.f32">(f, at(rd));)

    // ---- textures and surfaces
    // error: operand 2: a register of .f32 where a vector of 2 registers of .f32 is expected; form:
    WRONG(k.emit<"tex.2d.v4.f32.f32">(f4, at(texture, f));)
    RIGHT(k.emit<"tex.2d.v4.f32.f32">(f4, at(texture, vec(f, g)));)
    // error: operand 1: a vector of 2 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<"tex.2d.v4.f32.f32">(vec(f, g), at(texture, vec(f, g)));)
    RIGHT(k.emit<"tex.1d.v4.f32.f32">(f4, at(texture, vec(f)));)
    // error: operand 2: a .surfref where a .texref, or a register of 64 bits that holds its handle is
    WRONG(k.emit<"tex.2d.v4.f32.f32">(f4, at(surface, vec(f, g)));)
    RIGHT(k.emit<"tex.2d.v4.f32.s32">(f4, at(texture, vec(i, i)));)
    // error: a modifier is missing: .v2 .v4; form: tex.2d.vec.dtype.ctype d{|p}, [a{, b}, c]{, e}
    WRONG(k.emit<"tex.2d.f32.f32">(f4, at(texture, vec(f, g)));)
    RIGHT(k.emit<"tex.2d.v4.s32.f32">(k.regs<s32, 4>(), at(texture, vec(f, g)));)
    // error: .4d is not allowed with tex; did you mean .1d?; forms: tex.1d.vec.dtype.ctype d{|p}, [a{, b}
    WRONG(k.emit<"tex.4d.v4.f32.f32">(f4, at(texture, f4));)
    RIGHT(k.emit<"tex.3d.v4.f32.f32">(f4, at(texture, f4));)
    // error: operand 2: a .texref where an address in brackets is expected; form: tex.2d.vec.dtype.ctype
    WRONG(k.emit<"tex.2d.v4.f32.f32">(f4, texture, vec(f, g));)
    RIGHT(k.emit<"tex.level.2d.v4.f32.f32">(f4, at(texture, vec(f, g)), f);)
    // error: operand 1: a register of .f32 where a vector of 4 registers of .f32 is expected; form:
    WRONG(k.emit<"tld4.r.2d.v4.f32.f32">(f, at(texture, vec(f, g)));)
    RIGHT(k.emit<"tld4.r.2d.v4.f32.f32">(f4, at(texture, vec(f, g)));)
    // error: unknown modifier '.widht' for txq; did you mean .width?
    WRONG(k.emit<"txq.widht.b32">(r, at(texture));)
    RIGHT(k.emit<"txq.width.b32">(r, at(texture));)
    // error: operand 2: a .texref where a .surfref, or a register of 64 bits that holds its handle is
    WRONG(k.emit<"suld.b.2d.b32.trap">(r, at(texture, vec(i, i)));)
    RIGHT(k.emit<"suld.b.2d.b32.trap">(r, at(surface, vec(i, i)));)
    // error: an operation is missing behind suld: suld.b
    WRONG(k.emit<"suld.2d.b32.trap">(r, at(surface, vec(i, i)));)
    RIGHT(k.emit<"suld.b.1d.b32.trap">(r, at(surface, vec(i)));)
    // error: a modifier is missing: .trap .clamp .zero; form: sust.b.geom{.cop}.ctype.bounds [a, b], c
    WRONG(k.emit<"sust.b.2d.b32">(at(surface, vec(i, i)), r);)
    RIGHT(k.emit<"sust.b.2d.b32.trap">(at(surface, vec(i, i)), r);)
    // error: .f32 is not allowed with sust.b; did you mean .b32?; forms: sust.b.geom{.cop}.ctype.bounds [a
    WRONG(k.emit<"sust.b.2d.f32.trap">(at(surface, vec(i, i)), f);)
    RIGHT(k.emit<"sust.b.2d.b32.clamp">(at(surface, vec(i, i)), f);)
    // error: operand 2: a .texref where a .surfref, or a register of 64 bits that holds its handle is
    WRONG(k.emit<"suq.width.b32">(r, at(texture));)
    RIGHT(k.emit<"suq.width.b32">(r, at(surface));)
    k.emit<"ret">();
    return k.instruction_count();
}
