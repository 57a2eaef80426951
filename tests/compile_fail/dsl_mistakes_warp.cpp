// Mistakes in barriers, mbarriers, exchanges within warps, control flow and special registers; see
// dsl_mistakes.cpp.

#include "dsl_mistakes.hpp"

using namespace ptxgraft::dsl;

std::size_t emit_warp_on_sm_90a(Module& module) {
    auto& k = module.entry<sm_90a>("warp_on_sm_90a");
    const auto bar = k.shared("bar", {.type = b64});
    auto& function = module.function("twice");
    const auto argument = k.reg<b32>(), result = k.reg<b32>();
    const auto given = function.result<b32>("given"), taken = function.parameter<b32>("taken");
    const auto inside = function.reg<b32>();
    function.emit<"ld.param.b32">(inside, at(taken));
    function.emit<"st.param.b32">(at(given), inside);
    function.emit<"ret">();
    const Label there = k.label("there");
    const Targets targets{"targets"};
    k.place(there);
    k.raw("targets: .branchtargets there_1;");
    [[maybe_unused]] auto [p, q, h, us, r, s, u, i, rd, ud, id, f, g, d, f4, r4, r2] = Registers(k);

    // ---- barriers
    // error: unknown opcode '__syncthreads'
    WRONG(k.emit<"__syncthreads">();)
    RIGHT(k.emit<"bar.sync">(0);)
    // error: operand 1: a register of .pred where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"bar.sync">(p);)
    RIGHT(k.emit<"bar.sync">(imm<3>);)
    // error: operand 2: the constant 100 is out of range: 0 to 4294967264, a multiple of 32; form: bar.sync
    WRONG(k.emit<"bar.sync">(imm<0>, imm<100>);)
    RIGHT(k.emit<"bar.sync">(imm<0>, imm<96>);)
    // error: .aligned is not allowed with bar; forms: bar.sync a{, b}
    WRONG(k.emit<"bar.sync.aligned">(0);)
    RIGHT(k.emit<"barrier.sync.aligned">(0);)
    // error: operand 1: the constant 16 is out of range: 0 to 15; form: barrier.sync{.aligned} a{, b}
    WRONG(k.emit<"barrier.sync">(imm<16>);)
    RIGHT(k.emit<"barrier.sync">(imm<15>);)
    // error: 1 operand, but the form has 2; form: bar.arrive a, b
    WRONG(k.emit<"bar.arrive">(1);)
    RIGHT(k.emit<"bar.arrive">(1, 64);)
    // error: operand 3: a register of .u32 where a register of .pred or a constant is expected; form:
    WRONG(k.emit<"bar.red.and.pred">(p, 0, u);)
    RIGHT(k.emit<"bar.red.and.pred">(p, 0, q);)
    // error: operand 1: a register of .pred where a register of .u32 is expected; form: bar.red.popc.u32 d
    WRONG(k.emit<"bar.red.popc.u32">(p, 0, q);)
    RIGHT(k.emit<"bar.red.popc.u32">(u, 0, q);)
    // error: no operands, but the form has 1; form: bar.warp.sync mask
    WRONG(k.emit<"bar.warp.sync">();)
    RIGHT(k.emit<"bar.warp.sync">(-1);)
    // error: operand 1: a register of .pred where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"bar.warp.sync">(p);)
    RIGHT(k.emit<"bar.warp.sync">(r);)
    // error: .acquire is not allowed with barrier.cluster.arrive; forms:
    WRONG(k.emit<"barrier.cluster.arrive.acquire">();)
    RIGHT(k.emit<"barrier.cluster.arrive.release">();)
    // error: .release is not allowed with barrier.cluster.wait; forms:
    WRONG(k.emit<"barrier.cluster.wait.release">();)
    RIGHT(k.emit<"barrier.cluster.wait.acquire">();)
    // error: .gpu is not allowed with membar; forms: membar.level
    WRONG(k.emit<"membar.gpu">();)
    RIGHT(k.emit<"membar.gl">();)
    // error: .gl is not allowed beside .cta; forms: membar.level
    WRONG(k.emit<"membar.cta.gl">();)
    RIGHT(k.emit<"membar.cta">();)
    // error: a modifier is missing: .cta .cluster .gpu .sys; form: fence{.sem}.scope
    WRONG(k.emit<"fence.acq_rel">();)
    RIGHT(k.emit<"fence.acq_rel.gpu">();)
    // error: unknown modifier '.block' for fence; forms: fence{.sem}.scope
    WRONG(k.emit<"fence.acq_rel.block">();)
    RIGHT(k.emit<"fence.sc.gpu">();)
    // error: a modifier is missing: .alias .async; form: fence.proxy.alias{.restrict}
    WRONG(k.emit<"fence.proxy">();)
    RIGHT(k.emit<"fence.proxy.async">();)
    // error: unknown modifier '.asnyc' for fence.proxy; did you mean .async?
    WRONG(k.emit<"fence.proxy.asnyc">();)
    RIGHT(k.emit<"fence.proxy.async.shared::cta">();)
    // error: a modifier is missing: .release; form: fence.mbarrier_init.release.cluster{.restrict}
    WRONG(k.emit<"fence.mbarrier_init.cluster">();)
    RIGHT(k.emit<"fence.mbarrier_init.release.cluster">();)

    // ---- mbarriers
    // error: operand 1: a variable in .shared where an address in brackets is expected; form:
    WRONG(k.emit<"mbarrier.init.b64">(bar, 1);)
    RIGHT(k.emit<"mbarrier.init.shared.b64">(at(bar), 1);)
    // error: .b32 is not allowed with mbarrier.init; forms: mbarrier.init{.space}.b64 [a], count
    WRONG(k.emit<"mbarrier.init.shared.b32">(at(bar), 1);)
    RIGHT(k.emit<"mbarrier.init.shared::cta.b64">(at(bar), u);)
    // error: .global is not allowed with mbarrier.init; forms: mbarrier.init{.space}.b64 [a], count
    WRONG(k.emit<"mbarrier.init.global.b64">(at(rd), 1);)
    RIGHT(k.emit<"mbarrier.init.shared.b64">(at(r), 1);)
    // error: 1 operand, but the form has 2; form: mbarrier.arrive{.sem}{.scope}{.space}.b64 d, [a]
    WRONG(k.emit<"mbarrier.arrive.shared.b64">(at(bar));)
    RIGHT(k.emit<"mbarrier.arrive.shared.b64">(rd, at(bar));)
    // error: operand 1: a register of .u32 where a register of .u64 is expected; form:
    WRONG(k.emit<"mbarrier.arrive.shared.b64">(u, at(bar));)
    RIGHT(k.emit<"mbarrier.arrive.shared.b64">(sink, at(bar));)
    // error: 2 operands, but the form has 3; form: mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 d
    WRONG(k.emit<"mbarrier.arrive.expect_tx.shared.b64">(sink, at(bar));)
    RIGHT(k.emit<"mbarrier.arrive.expect_tx.shared.b64">(sink, at(bar), 128);)
    // error: operand 1: a register of .b64 where '_' is expected; form:
    WRONG(k.emit<"mbarrier.arrive.expect_tx.shared::cluster.b64">(rd, at(bar), 128);)
    RIGHT(k.emit<"mbarrier.arrive.release.cluster.shared::cluster.b64">(sink, at(r));)
    // error: operand 3: a register of .u32 where a register of .u64 or an integer constant is expected
    WRONG(k.emit<"mbarrier.try_wait.shared.b64">(p, at(bar), u);)
    RIGHT(k.emit<"mbarrier.try_wait.parity.shared.b64">(p, at(bar), u);)
    // error: operand 1: a register of .u32 where a register of .pred is expected; form:
    WRONG(k.emit<"mbarrier.try_wait.parity.shared.b64">(u, at(bar), u);)
    RIGHT(k.emit<"mbarrier.try_wait.shared.b64">(p, at(bar), rd);)
    // error: operand 3: a register of .b64 where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"mbarrier.try_wait.parity.shared.b64">(p, at(bar), rd);)
    RIGHT(k.emit<"mbarrier.test_wait.parity.shared.b64">(p, at(bar), u);)
    // error: an operation is missing behind mbarrier: mbarrier.arrive mbarrier.arrive.expect_tx
    WRONG(k.emit<"mbarrier.wait.shared.b64">(p, at(bar), rd);)
    RIGHT(k.emit<"mbarrier.test_wait.shared.b64">(p, at(bar), rd);)
    // error: operand 1: a variable in .shared where an address in brackets is expected; form:
    WRONG(k.emit<"mbarrier.inval.shared.b64">(bar);)
    RIGHT(k.emit<"mbarrier.inval.shared.b64">(at(bar));)
    // error: operand 2: a register of .b64 where a register of .u32 or an integer constant is expected
    WRONG(k.emit<"mbarrier.complete_tx.shared.b64">(at(bar), rd);)
    RIGHT(k.emit<"mbarrier.expect_tx.relaxed.cta.shared.b64">(at(bar), 16);)
    // error: an operation is missing behind mbarrier: mbarrier.arrive mbarrier.arrive.expect_tx
    WRONG(k.emit<"mbarrier">(at(bar));)
    RIGHT(k.emit<"mbarrier.arrive.shared.b64">(rd, at(bar), 2);)

    // ---- warps
    // error: shfl.sync.down.b32 is the manual's order; form: shfl.sync.mode.b32 d{|p}, a, b, c, membermask
    WRONG(k.emit<"shfl.down.sync.b32">(r, r, 1, 31, -1);)
    RIGHT(k.emit<"shfl.sync.down.b32">(r, r, 1, 31, -1);)
    // error: .xor is not allowed with shfl; forms: shfl.sync.mode.b32 d{|p}, a, b, c, membermask
    WRONG(k.emit<"shfl.sync.xor.b32">(r, r, 1, 31, -1);)
    RIGHT(k.emit<"shfl.sync.bfly.b32">(r, r, 1, 31, -1);)
    // error: 4 operands, but the form has 5; form: shfl.sync.mode.b32 d{|p}, a, b, c, membermask
    WRONG(k.emit<"shfl.sync.idx.b32">(r, r, 0, 31);)
    RIGHT(k.emit<"shfl.sync.idx.b32">(r, r, 0, 31, -1);)
    // error: .b64 is not allowed with shfl; forms: shfl.sync.mode.b32 d{|p}, a, b, c, membermask
    WRONG(k.emit<"shfl.sync.idx.b64">(rd, rd, 0, 31, -1);)
    RIGHT(k.emit<"shfl.sync.up.b32">(r, r, 1, 0, -1);)
    // error: operand 1: a register of .u32 where a register of .pred is expected; form: shfl.sync.mode.b32
    WRONG(k.emit<"shfl.sync.idx.b32">(pair(r, u), r, 0, 31, -1);)
    RIGHT(k.emit<"shfl.sync.idx.b32">(pair(r, p), r, 0, 31, -1);)
    // error: operand 1: a register of .pred where a register of .b32 is expected; form: shfl.sync.mode.b32
    WRONG(k.emit<"shfl.sync.idx.b32">(pair(p, r), r, 0, 31, -1);)
    RIGHT(k.emit<"shfl.sync.idx.b32">(pair(r, sink), r, 0, 31, -1);)
    // error: shfl.idx.b32 is gone after PTX ISA 6.3 from sm_70 on; forms: shfl.sync.mode.b32 d{|p}, a, b, c
    WRONG(k.emit<"shfl.idx.b32">(r, r, 0, 31);)
    RIGHT(k.emit<"shfl.sync.idx.b32">(f, f, u, 31, -1);)
    // error: vote.ballot.b32 is gone after PTX ISA 6.3 from sm_70 on; forms: vote.sync.mode.pred p, a, mask
    WRONG(k.emit<"vote.ballot.b32">(r, p);)
    RIGHT(k.emit<"vote.sync.ballot.b32">(r, p, -1);)
    // error: operand 1: a register of .pred where a register of .b32 is expected; form: vote.sync.ballot.b32
    WRONG(k.emit<"vote.sync.ballot.b32">(p, p, -1);)
    RIGHT(k.emit<"vote.sync.all.pred">(p, p, -1);)
    // error: .any is not allowed in this form of vote; forms: vote.sync.ballot.b32 d, a, mask
    WRONG(k.emit<"vote.sync.any.b32">(r, p, -1);)
    RIGHT(k.emit<"vote.sync.any.pred">(p, q, -1);)
    // error: operand 2: a register of .u32 where a register of .pred or a constant is expected; form:
    WRONG(k.emit<"vote.sync.ballot.b32">(r, u, -1);)
    RIGHT(k.emit<"vote.sync.ballot.b32">(r, !p, -1);)
    // error: unknown modifier '.none' for vote; forms: vote.sync.mode.pred p, a, mask; vote.mode.pred p, a
    WRONG(k.emit<"vote.sync.none.pred">(p, q, -1);)
    RIGHT(k.emit<"vote.sync.uni.pred">(p, q, -1);)
    // error: .u32 is not allowed with match; did you mean .b32?; forms: match.any.sync.type d, a, mask
    WRONG(k.emit<"match.any.sync.u32">(r, u, -1);)
    RIGHT(k.emit<"match.any.sync.b32">(r, u, -1);)
    // error: operand 1: a pair a|b where a register of .u32 is expected; form: match.any.sync.type d, a, mask
    WRONG(k.emit<"match.any.sync.b32">(pair(r, p), u, -1);)
    RIGHT(k.emit<"match.all.sync.b32">(pair(r, p), u, -1);)
    // error: match.any.sync.b32 is the manual's order; form: match.any.sync.type d, a, mask
    WRONG(k.emit<"match.sync.any.b32">(r, u, -1);)
    RIGHT(k.emit<"match.any.sync.b64">(r, rd, -1);)
    // error: .add is not allowed in this form of redux; forms: redux.sync.op{.abs}{.NaN}.f32 d, a, mask
    WRONG(k.emit<"redux.sync.add.f32">(f, f, -1);)
    RIGHT(k.emit<"redux.sync.add.u32">(u, u, -1);)
    // error: unknown modifier '.mul' for redux; forms: redux.sync.op.type d, a, mask; redux.sync.op.b32 d
    WRONG(k.emit<"redux.sync.mul.s32">(i, i, -1);)
    RIGHT(k.emit<"redux.sync.max.s32">(i, i, -1);)
    // error: .and is not allowed in this form of redux; forms: redux.sync.op.type d, a, mask
    WRONG(k.emit<"redux.sync.and.u32">(u, u, -1);)
    RIGHT(k.emit<"redux.sync.and.b32">(u, u, -1);)
    // error: a modifier is missing: .sync; form: redux.sync.op.type d, a, mask
    WRONG(k.emit<"redux.add.s32">(i, i);)
    RIGHT(k.emit<"redux.sync.min.s32">(i, i, -1);)
    // error: operand 1: a register of .pred where a pair a|b is expected; form: elect.sync d|p, mask
    WRONG(k.emit<"elect.sync">(p, -1);)
    RIGHT(k.emit<"elect.sync">(pair(r, p), -1);)
    // error: 1 operand, but the form has 2; form: elect.sync d|p, mask
    WRONG(k.emit<"elect.sync">(pair(r, p));)
    RIGHT(k.emit<"elect.sync">(pair(sink, p), -1);)
    // error: .u32 is not allowed with activemask; did you mean .b32?; forms: activemask.b32 d
    WRONG(k.emit<"activemask.u32">(u);)
    RIGHT(k.emit<"activemask.b32">(u);)
    // error: a modifier is missing: .launch_dependents .wait; form: griddepcontrol.action
    WRONG(k.emit<"griddepcontrol">();)
    RIGHT(k.emit<"griddepcontrol.wait">();)
    // error: unknown modifier '.launch' for griddepcontrol; did you mean .launch_dependents?
    WRONG(k.emit<"griddepcontrol.launch">();)
    RIGHT(k.emit<"griddepcontrol.launch_dependents">();)
    // error: an operation is missing behind setmaxnreg: setmaxnreg.dec setmaxnreg.inc
    WRONG(k.emit<"setmaxnreg.sync.aligned.u32">(imm<64>);)
    RIGHT(k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<64>);)
    // error: operand 1: the constant 100 is out of range: 24 to 256, a multiple of 8; form:
    WRONG(k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<100>);)
    RIGHT(k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<104>);)
    // error: operand 1: a register of .u32 where an integer constant is expected; form:
    WRONG(k.emit<"setmaxnreg.inc.sync.aligned.u32">(u);)
    RIGHT(k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<256>);)
    // error: operand 1: the constant -2147483649 does not fit into .u32; form: nanosleep.u32 t
    WRONG(k.emit<"nanosleep.u32">(imm<-2147483649>);)
    RIGHT(k.emit<"nanosleep.u32">(20);)
    // error: operand 1: the constant 16 is out of range: 0 to 15; form: pmevent a
    WRONG(k.emit<"pmevent">(imm<16>);)
    RIGHT(k.emit<"pmevent">(imm<15>);)

    // ---- control flow, guards and special registers
    // error: unknown opcode 'jmp'
    WRONG(k.emit<"jmp">(there);)
    RIGHT(k.emit<"bra">(there);)
    // error: .lt is not allowed with bra; forms: bra{.uni} target
    WRONG(k.emit<"bra.lt">(there);)
    RIGHT(k.emit<"bra.uni">(there);)
    // error: 2 operands, but the form has 1; form: bra{.uni} target
    WRONG(k.emit<"bra">(p, there);)
    RIGHT(k.if_(p).emit<"bra">(there);)
    // error: operand 3: an integer constant where a register of .f32 or a constant of .f32 is expected
    WRONG(k.if_(p).emit<"add.f32">(f, f, 1);)
    RIGHT(k.if_(p).emit<"add.f32">(f, f, 1.0f);)
    // error: operand 2: a register of .f64 where a register of .b32 or a constant of 32 bits is expected
    WRONG(k.if_(!p).emit<"mov.b32">(f, d);)
    RIGHT(k.if_(!p).emit<"mov.b32">(f, g);)
    // error: operand 1: a function where a label is expected; form: bra{.uni} target
    WRONG(k.emit<"bra">(function.name());)
    RIGHT(k.emit<"call.uni">(list(result), function.name(), list(argument));)
    // error: unknown opcode 'return'; did you mean ret?
    WRONG(k.emit<"return">();)
    RIGHT(k.if_(q).emit<"ret">();)
    // error: unknown modifier '.uniform' for ret; did you mean .uni?
    WRONG(k.emit<"ret.uniform">();)
    RIGHT(k.if_(q).emit<"ret.uni">();)
    // error: 1 operand, but the form has none; form: exit
    WRONG(k.emit<"exit">(0);)
    RIGHT(k.if_(q).emit<"exit">();)
    // error: 1 operand, but the form has none; form: trap
    WRONG(k.emit<"trap">(1);)
    RIGHT(k.if_(q).emit<"trap">();)
    // error: operand 1: a label where a function, or a register that holds its address is expected; form:
    WRONG(k.emit<"call">(there);)
    RIGHT(k.emit<"call.uni">(list(result), function.name(), list(argument));)
    // error: operand 1: a register of .b32 where a list in parentheses is expected; form: call{.uni} (d), f
    WRONG(k.emit<"call.uni">(result, function.name(), argument);)
    RIGHT(k.emit<"call">(list(result), function.name(), list(argument));)
    // error: operand 1: a constant of .f32 where a register of .u32 or an integer constant is expected; form:
    WRONG(k.emit<"brx.idx">(1.5f, targets);)
    RIGHT(k.emit<"brx.idx">(u, targets);)
    // error: an operation is missing behind brx: brx.idx
    WRONG(k.emit<"brx">(u, targets);)
    RIGHT(k.emit<"brx.idx.uni">(u, targets);)
    // error: operand 2: '%tidx' is no special register; did you mean %tid?; form: mov.type d, a
    WRONG(k.emit<"mov.u32">(u, special<"%tidx">);)
    RIGHT(k.emit<"mov.u32">(u, special<"%tid.x">);)
    // error: operand 2: 'tid.x' is no special register; did you mean %tid?; form: mov.type d, a
    WRONG(k.emit<"mov.u32">(u, special<"tid.x">);)
    RIGHT(k.emit<"mov.u32">(u, special<"%tid.y">);)
    // error: operand 2: '%threadIdx.x' is no special register; form: mov.type d, a
    WRONG(k.emit<"mov.u32">(u, special<"%threadIdx.x">);)
    RIGHT(k.emit<"mov.u32">(u, special<"%ntid.x">);)
    // error: operand 2: '%laneid.x' is no special register; did you mean %laneid?; form: mov.type d, a
    WRONG(k.emit<"mov.u32">(u, special<"%laneid.x">);)
    RIGHT(k.emit<"mov.u32">(u, special<"%laneid">);)
    // error: operand 2: a special register of .u32 where a register of .u64 or an integer constant is
    WRONG(k.emit<"mov.u64">(ud, special<"%clock">);)
    RIGHT(k.emit<"mov.u64">(ud, special<"%clock64">);)
    // error: operand 2: a special register of .u64 where a register of .u32 or an integer constant is
    WRONG(k.emit<"mov.u32">(u, special<"%globaltimer">);)
    RIGHT(k.emit<"mov.u64">(ud, special<"%globaltimer">);)
    // error: operand 2: a special register of .u32 where a register of .f32 or a constant of .f32 is
    WRONG(k.emit<"mov.f32">(f, special<"%tid.x">);)
    RIGHT(k.emit<"mov.b32">(f, special<"%tid.x">);)
    // error: operand 1: a special register of .u32 cannot be written; form: mov.type d, a
    WRONG(k.emit<"mov.u32">(special<"%tid.x">, u);)
    RIGHT(k.emit<"mov.u32">(u, special<"%ctaid.x">);)
    // error: operand 2: a special register of .u32 cannot stand here; move it to a register first (mov)
    WRONG(k.emit<"shl.b32">(u, special<"%laneid">, 2);)
    RIGHT(k.emit<"mov.u32">(u, special<"%lanemask_lt">);)
    // error: operand 2: a special register of .u32 cannot stand here; move it to a register first (mov)
    WRONG(k.emit<"setp.eq.u32">(p, special<"%tid.x">, 0);)
    RIGHT(k.emit<"mov.u32">(u, special<"%nctaid.x">);)
    k.emit<"ret">();
    return k.instruction_count();
}
