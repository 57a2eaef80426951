#pragma once
// A module like those that compilers make, and work on it measured against memcpy of its bytes.

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstring>
#include <string>
#include <string_view>

namespace ptxgraft::bench {

// One function as nvcc writes them, with the statement mix of CUB and Thrust kernels; `%d` numbers its names.
inline constexpr std::string_view function =
    R"(	// .globl	_ZN3cub6detail6reduce18DeviceReduceKernelI%d_param
.visible .entry _ZN3cub6detail6reduce18DeviceReduceKernelI%d(
	.param .u64 .ptr .align 1 _ZN3cub6detail6reduce18DeviceReduceKernelI%d_param_0,
	.param .align 8 .b8 _ZN3cub6detail6reduce18DeviceReduceKernelI%d_param_1[72],
	.param .u32 _ZN3cub6detail6reduce18DeviceReduceKernelI%d_param_2
)
.maxntid 256, 1, 1
.minnctapersm 2
{
	.reg .pred 	%p<14>;
	.reg .b16 	%rs<7>;
	.reg .b32 	%r<121>;
	.reg .f32 	%f<80>;
	.reg .b64 	%rd<42>;
	// demoted variable
	.shared .align 16 .b8 _ZZN3cub6detail6reduce18DeviceReduceKernelI%dE12temp_storage[44];

	ld.param.u64 	%rd1, [_ZN3cub6detail6reduce18DeviceReduceKernelI%d_param_0];
	ld.param.u32 	%r2, [_ZN3cub6detail6reduce18DeviceReduceKernelI%d_param_1+32];
	.loc	1 77 3
	.loc	1 262 0, function_name $L__info_string3, inlined_at 1 77 3
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r3, %tid.x;
	shl.b32 	%r4, %r1, 12;
	cvta.to.global.u64 	%rd3, %rd1;
	mul.wide.u32 	%rd4, %r4, 4;
	add.s64 	%rd5, %rd3, %rd4;
	setp.gt.u32 	%p1, %r4, %r2;
	@%p1 bra 	$L__BB%d_9;

$L__tmp%d:
	.loc	2 89 5
	ld.global.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd5];
	ld.global.v4.f32 	{%f5, %f6, %f7, %f8}, [%rd5+4096];
	add.f32 	%f9, %f1, %f5;
	fma.rn.f32 	%f10, %f2, %f6, 0f3F800000;
	fma.rn.ftz.f32 	%f11, %f3, %f7, %f10;
	mad.lo.s32 	%r5, %r3, -24, %r4;
	st.shared.f32 	[%r5+-4], %f11;
	bar.sync 	0;
	// begin inline asm
	{  .reg .u32 r0;  .reg .pred p;  shfl.sync.up.b32 r0|p, %r10, %r11, %r12, %r13;  @p add.u32 r0, r0, %r10;  mov.u32 %r14, r0;}
	// end inline asm
	setp.ge.s32 	%p2, %r14, 255;
	@%p2 bra 	$L__BB%d_9;
	bra.uni 	$L__BB%d_4;

$L__BB%d_4:
	{ // callseq 3, 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd5;
	.param .b32 retval0;
	call.uni (retval0), 
	__nv_device_function, 
	(
	param0
	);
	ld.param.b32 	%r20, [retval0+0];
	} // callseq 3
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 	{%f20, %f21, %f22, %f23}, {%r30, %r31, %r32, %r33}, {%r34, %r35}, {%f20, %f21, %f22, %f23};
	cvt.rn.f32.s32 	%f30, %r20;
	selp.f32 	%f31, %f30, %f9, %p2;
	st.global.f32 	[%rd5+64], %f31;

$L__BB%d_9:
	ret;

}
)";

inline std::string numbered(std::string_view text, std::size_t number) {
    std::string out;
    for (std::size_t at = 0, hole; at < text.size(); at = hole + 2) {
        hole = text.find("%d", at);
        out.append(text.substr(at, hole - at));
        if (hole == std::string_view::npos) break;
        out += std::to_string(number);
    }
    return out;
}

inline std::string module_of(std::size_t bytes) {
    std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n\n.extern .func (.param .b32 r) "
        "__nv_device_function(.param .b64 a);\n";
    for (std::size_t i = 0; text.size() < bytes; ++i) text += numbered(function, i);
    text += ".section .debug_str {\n$L__info_string3:\n.b8 0\n}\n";
    return text;
}

// Processor time of this thread: what other programs take from the machine is not counted.
inline double seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Times `work` and, in the same run, memcpy of the text: the counter says how many times longer the work
// takes.
template <class Prepare, class Work>
void against_memcpy(benchmark::State& state, const std::string& text, Prepare prepare, Work work) {
    std::string copy(text);
    double work_time = 0, copy_time = 0;
    for (auto _ : state) {
        prepare();
        const double begin = seconds();
        work();
        const double taken = seconds() - begin;
        state.SetIterationTime(taken);
        work_time += taken;
        const double copy_begin = seconds();
        std::memcpy(copy.data(), text.data(), text.size());
        benchmark::ClobberMemory();
        copy_time += seconds() - copy_begin;
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) *
                            static_cast<std::int64_t>(state.iterations()));
    state.counters["x_memcpy"] = work_time / copy_time;
}

}  // namespace ptxgraft::bench
