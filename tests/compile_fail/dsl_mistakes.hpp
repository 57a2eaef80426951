#pragma once
// What the files of mistakes share: WRONG and RIGHT lines, and registers for them.

#include "ptxgraft/dsl.hpp"

#ifdef PTXGRAFT_WRONG
#define WRONG(...) __VA_ARGS__
#define RIGHT(...)
#else
#define WRONG(...)
#define RIGHT(...) __VA_ARGS__
#endif

namespace {
using namespace ptxgraft::dsl;

struct Registers {
    explicit Registers(Emitter& b) {
        p = b.reg<pred>(), q = b.reg<pred>();
        h = b.reg<b16>(), us = b.reg<u16>();
        r = b.reg<b32>(), s = b.reg<b32>(), u = b.reg<u32>(), i = b.reg<s32>();
        rd = b.reg<b64>(), ud = b.reg<u64>(), id = b.reg<s64>();
        f = b.reg<f32>(), g = b.reg<f32>(), d = b.reg<f64>();
        f4 = b.regs<f32, 4>(), r4 = b.regs<b32, 4>(), r2 = b.regs<b32, 2>();
    }
    Reg<pred> p, q;
    Reg<b16> h;
    Reg<u16> us;
    Reg<b32> r, s;
    Reg<u32> u;
    Reg<s32> i;
    Reg<b64> rd;
    Reg<u64> ud;
    Reg<s64> id;
    Reg<f32> f, g;
    Reg<f64> d;
    Regs<f32, 4> f4;
    Regs<b32, 4> r4;
    Regs<b32, 2> r2;
};
}  // namespace

// Each emits the right lines of one file into an entry for one target, and `ret`; gives the instructions.
std::size_t emit_all_on_sm_90a(ptxgraft::dsl::Module& module);
std::size_t emit_all_on_sm_80(ptxgraft::dsl::Module& module);
std::size_t emit_all_on_ptx_7_8(ptxgraft::dsl::Module& module);
std::size_t emit_arithmetic_on_sm_90a(ptxgraft::dsl::Module& module);
std::size_t emit_memory_on_sm_90a(ptxgraft::dsl::Module& module);
std::size_t emit_warp_on_sm_90a(ptxgraft::dsl::Module& module);
std::size_t emit_matrix_on_sm_90a(ptxgraft::dsl::Module& module);
std::size_t emit_matrix_on_sm_100a(ptxgraft::dsl::Module& module);
std::size_t emit_matrix_on_sm_100f(ptxgraft::dsl::Module& module);
std::size_t emit_matrix_on_sm_120a(ptxgraft::dsl::Module& module);
std::size_t emit_matrix_on_sm_90(ptxgraft::dsl::Module& module);
std::size_t emit_matrix_on_sm_75(ptxgraft::dsl::Module& module);
std::size_t emit_stub_on_sm_90a(ptxgraft::dsl::Module& module);
