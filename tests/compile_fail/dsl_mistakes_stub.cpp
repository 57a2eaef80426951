// Mistakes in stubs whose operands are types; see dsl_mistakes.cpp.

#include "dsl_mistakes.hpp"

using namespace ptxgraft::dsl;

std::size_t emit_stub_on_sm_90a(Module& module) {
    auto& k = module.entry<sm_90a>("stub_on_sm_90a");
    const auto sum = k.reg<f32>(), bias_value = k.reg<f32>();
    k.emit<"mov.f32">(sum, 0.0f);
    k.emit<"mov.f32">(bias_value, 1.0f);
    k.site("f", operands(mod<"acc">(sum), in<"bias">(bias_value)), {},
           [&](const Mod<"acc", f32>& acc, const In<"bias", f32>& bias) {
               // error: operand 1: a register of .f32 that is only read, an operand `in` of a site
               WRONG(k.emit<"add.f32">(bias, acc, bias);)
               RIGHT(k.emit<"add.f32">(acc, acc, bias);)
               // error: operand 1: a register of .f32 where a register of .s32 is expected; form: add.type
               WRONG(k.emit<"add.s32">(acc, acc, bias);)
               RIGHT(k.emit<"add.rz.f32">(acc, acc, bias);)
           });
    k.emit<"ret">();

    const auto signature = ptxgraft::Signature::parse(
        "mod f32 acc, in f32 bias, in f32 scale[2], mod f32 sums[4], out f64 wide, in pred odd, in u64 data");
    const auto body = [](StubBuilder<sm_90a>& b, Mod<"acc", f32> acc, In<"bias", f32> bias,
                           const In<"scale", f32, 2>& scale, const Mod<"sums", f32, 4>& sums,
                           Out<"wide", f64> wide, In<"odd", pred> odd, In<"data", u64> data) {
        const auto p = b.reg<pred>();
        const auto count = b.reg<u32>();
        // error: operand 1: a register of .f64 where a register of .f32 is expected; form: add
        WRONG(b.emit<"add.f32">(wide, acc, bias);)
        RIGHT(b.emit<"cvt.f64.f32">(wide, acc);)
        // error: operand 3: a register of .f64 where a register of .f32 or a constant of .f32 is expected
        WRONG(b.emit<"add.f32">(acc, acc, wide);)
        RIGHT(b.emit<"add.f32">(acc, acc, bias);)
        // error: operand 1: a register of .f32 that is only read, an operand `in` of a site, where one that
        WRONG(b.emit<"mul.f32">(bias, acc, bias);)
        RIGHT(b.emit<"mul.f32">(acc, acc, bias);)
        // error: operand 1: a register of .f32 that is only read
        WRONG(b.emit<"mov.f32">(scale[1], acc);)
        RIGHT(b.emit<"mov.f32">(acc, scale[1]);)
        // error: operand 1: a register of .f32 that is only read
        WRONG(b.emit<"ld.global.v2.f32">(scale, at(data));)
        RIGHT(b.emit<"ld.global.v4.f32">(sums, at(data));)
        // error: operand 1: a vector of 4 where a vector of 2 registers of .f32 is expected
        WRONG(b.emit<"ld.global.v2.f32">(sums, at(data));)
        RIGHT(b.emit<"ld.global.v2.f32">(vec(sums[0], sums[1]), at(data));)
        // error: operand 2: a vector of 2 where a register of .f32 or a constant of .f32 is expected
        WRONG(b.emit<"add.f32">(acc, scale, bias);)
        RIGHT(b.emit<"add.f32">(acc, scale[0], bias);)
        // error: operand 1: a register of .pred that is only read
        WRONG(b.emit<"setp.gt.f32">(odd, acc, 0.0f);)
        RIGHT(b.emit<"setp.gt.and.f32">(p, acc, 0.0f, odd);)
        // error: operand 1: a register of .u64 that is only read
        WRONG(b.emit<"add.u64">(data, data, 16);)
        RIGHT(b.emit<"ld.global.f32">(acc, at(data, 16));)
        // error: operand 2: a register of .f32 where a register of 32 or 64 bits, or a variable, is expected
        WRONG(b.emit<"ld.global.f32">(acc, at(bias));)
        RIGHT(b.emit<"ld.global.f32">(acc, at(data));)
        // error: operand 1: a register of .f32 that is only read
        WRONG(b.if_(odd).emit<"neg.f32">(bias, acc);)
        RIGHT(b.if_(odd).emit<"neg.f32">(acc, bias);)
        // error: operand 2: a register of .pred where a register of .u32 or an integer constant is expected
        WRONG(b.emit<"mov.u32">(count, odd);)
        RIGHT(b.emit<"selp.u32">(count, 1, 0, odd);)
    };
    std::size_t in_stub = 0;
    const auto counted = [&](StubBuilder<sm_90a>& b) {
        emitting::run_body(b, body);
        in_stub = b.instruction_count();
    };
    const ptxgraft::Policy reads = {.allowed = ptxgraft::Effect::load};
    if (const auto stub = ptxgraft::dsl::stub<sm_90a>(*signature, counted, reads); !stub) return 0;
    return k.instruction_count() - 2 + in_stub;  // mov of what the site is given
}
