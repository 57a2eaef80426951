// The kernels that a timing needs beside the one it times: they copy, overwrite, digest, tell the clock.
#include "measure/timing/timing_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/try.hpp"

namespace ptxgraft::measure {
namespace {

constexpr std::uint32_t block_threads = 256;
constexpr std::uint32_t blocks_per_multiprocessor = 8;
constexpr std::uint64_t line_bytes = 128;  // of L2, as discard takes them

// Threads go over what there is in strides of the whole grid: %rd8 is a thread's first element, %rd9 the
// stride. The sum of a block goes through shared memory, so that few blocks meet at the slot. The marker
// begins where the timer has just moved, as the timer's steps may be as long as a microsecond; it gives up
// where the timer stands still.
constexpr std::string_view text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry ptxgraft_copy(.param .u64 to, .param .u64 from, .param .u64 vectors)
{
	.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<13>;
	ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [vectors];
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd8, %r1, %r2; cvt.u64.u32 %rd10, %r3; add.u64 %rd8, %rd8, %rd10;
	mul.wide.u32 %rd9, %r4, %r2;
$next:
	setp.ge.u64 %p1, %rd8, %rd3;
	@%p1 bra $done;
	shl.b64 %rd10, %rd8, 4; add.u64 %rd11, %rd2, %rd10; add.u64 %rd12, %rd1, %rd10;
	ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd11];
	st.global.v4.b32 [%rd12], {%r5, %r6, %r7, %r8};
	add.u64 %rd8, %rd8, %rd9;
	bra $next;
$done:
	ret;
}
.visible .entry ptxgraft_fill(.param .u64 to, .param .u64 vectors, .param .u32 word)
{
	.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<13>;
	ld.param.u64 %rd1, [to]; ld.param.u64 %rd3, [vectors]; ld.param.u32 %r5, [word];
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd8, %r1, %r2; cvt.u64.u32 %rd10, %r3; add.u64 %rd8, %rd8, %rd10;
	mul.wide.u32 %rd9, %r4, %r2;
$next:
	setp.ge.u64 %p1, %rd8, %rd3;
	@%p1 bra $done;
	shl.b64 %rd10, %rd8, 4; add.u64 %rd12, %rd1, %rd10;
	st.global.v4.b32 [%rd12], {%r5, %r5, %r5, %r5};
	add.u64 %rd8, %rd8, %rd9;
	bra $next;
$done:
	ret;
}
.visible .entry ptxgraft_discard(.param .u64 of, .param .u64 lines)
{
	.reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<13>;
	ld.param.u64 %rd1, [of]; ld.param.u64 %rd3, [lines];
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd8, %r1, %r2; cvt.u64.u32 %rd10, %r3; add.u64 %rd8, %rd8, %rd10;
	mul.wide.u32 %rd9, %r4, %r2;
$next:
	setp.ge.u64 %p1, %rd8, %rd3;
	@%p1 bra $done;
	shl.b64 %rd10, %rd8, 7; add.u64 %rd12, %rd1, %rd10;
	discard.global.L2 [%rd12], 128;
	add.u64 %rd8, %rd8, %rd9;
	bra $next;
$done:
	ret;
}
.visible .entry ptxgraft_digest(.param .u64 of, .param .u64 words, .param .u64 seed, .param .u64 slot)
{
	.reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<16>;
	.shared .align 8 .b64 sum;
	ld.param.u64 %rd1, [of]; ld.param.u64 %rd3, [words]; ld.param.u64 %rd4, [seed];
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd8, %r1, %r2; cvt.u64.u32 %rd10, %r3; add.u64 %rd8, %rd8, %rd10;
	mul.wide.u32 %rd9, %r4, %r2;
	setp.ne.u32 %p2, %r3, 0;
	mov.b64 %rd13, 0;
	@!%p2 st.shared.b64 [sum], %rd13;
	bar.sync 0;
$next:
	setp.ge.u64 %p1, %rd8, %rd3;
	@%p1 bra $done;
	shl.b64 %rd10, %rd8, 3; add.u64 %rd11, %rd1, %rd10;
	ld.global.b64 %rd12, [%rd11];
	mul.lo.u64 %rd14, %rd8, 0x9E3779B97F4A7C15; add.u64 %rd14, %rd14, %rd4;
	xor.b64 %rd12, %rd12, %rd14;
	shr.u64 %rd14, %rd12, 30; xor.b64 %rd12, %rd12, %rd14; mul.lo.u64 %rd12, %rd12, 0xBF58476D1CE4E5B9;
	shr.u64 %rd14, %rd12, 27; xor.b64 %rd12, %rd12, %rd14; mul.lo.u64 %rd12, %rd12, 0x94D049BB133111EB;
	shr.u64 %rd14, %rd12, 31; xor.b64 %rd12, %rd12, %rd14;
	add.u64 %rd13, %rd13, %rd12;
	add.u64 %rd8, %rd8, %rd9;
	bra $next;
$done:
	red.shared.add.u64 [sum], %rd13;
	bar.sync 0;
	@%p2 ret;
	ld.param.u64 %rd5, [slot];
	ld.shared.b64 %rd15, [sum];
	red.global.add.u64 [%rd5], %rd15;
	ret;
}
.visible .entry ptxgraft_marker(.param .u64 slot)
{
	.reg .pred %p<3>; .reg .b32 %r<2>; .reg .b64 %rd<9>;
	ld.param.u64 %rd1, [slot];
	mov.b32 %r1, 0;
	mov.u64 %rd2, %globaltimer;
$first:
	mov.u64 %rd3, %globaltimer;
	add.u32 %r1, %r1, 1;
	setp.eq.u64 %p1, %rd3, %rd2;
	setp.lt.and.u32 %p1, %r1, 100000, %p1;
	@%p1 bra $first;
	mov.u64 %rd4, %clock64;
	add.u64 %rd5, %rd3, 20000;
$wait:
	mov.u64 %rd6, %globaltimer;
	add.u32 %r1, %r1, 1;
	setp.lt.u64 %p1, %rd6, %rd5;
	setp.lt.and.u32 %p1, %r1, 100000, %p1;
	@%p1 bra $wait;
	mov.u64 %rd7, %clock64;
	sub.u64 %rd6, %rd6, %rd3; sub.u64 %rd7, %rd7, %rd4;
	st.global.b64 [%rd1+8], %rd6; st.global.b64 [%rd1+16], %rd7;
	ret;
}
)";

}  // namespace

std::string_view timing_ptx() { return text; }

Expected<TimingKernels> TimingKernels::load(const Device& device) {
    const DeviceProperties properties = TRY(device.properties());
    Function copy = TRY(device.load(text, "ptxgraft_copy"));
    Function fill = TRY(copy.other("ptxgraft_fill")), digest = TRY(copy.other("ptxgraft_digest"));
    Function discard = TRY(copy.other("ptxgraft_discard"));
    Function marker = TRY(copy.other("ptxgraft_marker"));
    return TimingKernels(std::move(copy), std::move(fill), std::move(discard), std::move(digest),
                         std::move(marker),
                         std::max(1u, properties.multiprocessors) * blocks_per_multiprocessor);
}

LaunchConfig TimingKernels::shape(std::uint64_t threads) const {
    const std::uint64_t blocks = (threads + block_threads - 1) / block_threads;
    const auto grid = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, most_blocks_));
    return {.grid = {grid}, .block = {block_threads}};
}

Expected<void> TimingKernels::copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes,
                                   const Stream& stream) const {
    const std::uint64_t vectors = bytes / 16;
    return copy_.launch(shape(vectors), std::array<Argument, 3>{target, source, vectors}, &stream);
}

Expected<void> TimingKernels::fill(std::uint64_t target, std::uint64_t bytes, std::uint32_t word,
                                   const Stream& stream) const {
    const std::uint64_t vectors = bytes / 16;
    return fill_.launch(shape(vectors), std::array<Argument, 3>{target, vectors, word}, &stream);
}

Expected<void> TimingKernels::discard(std::uint64_t address, std::uint64_t bytes,
                                      const Stream& stream) const {
    const std::uint64_t lines = bytes / line_bytes;
    return discard_.launch(shape(lines), std::array<Argument, 2>{address, lines}, &stream);
}

Expected<void> TimingKernels::digest(std::uint64_t address, std::uint64_t bytes, std::uint64_t seed,
                                     std::uint64_t slot, const Stream& stream) const {
    const std::uint64_t words = bytes / 8;
    return digest_.launch(shape(words), std::array<Argument, 4>{address, words, seed, slot}, &stream);
}

Expected<void> TimingKernels::mark(std::uint64_t slot, const Stream& stream) const {
    return marker_.launch({}, std::array<Argument, 1>{slot}, &stream);
}

std::uint64_t host_digest(std::span<const std::byte> bytes, std::uint64_t seed) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < bytes.size() / 8; ++i) {
        std::uint64_t x = 0;
        std::memcpy(&x, bytes.data() + i * 8, 8);
        x ^= i * 0x9E3779B97F4A7C15u + seed;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        sum += x ^ (x >> 31);
    }
    return sum;
}

}  // namespace ptxgraft::measure
