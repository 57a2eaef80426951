#pragma once
// Runs a few instructions in every thread of a small grid, on random and special values, beside a reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"
#include "twins/twin.hpp"

namespace ptxgraft::forms {

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

struct In {
    u64 a, b, c;
};
struct Out {
    u64 d = 0, e = 0;
    bool operator==(const Out&) const = default;
};
inline std::ostream& operator<<(std::ostream& stream, const Out& out) {
    return stream << std::hex << "d 0x" << out.d << ", e 0x" << out.e << std::dec;
}

constexpr u32 block = 64;

// The registers that a row may use: %la %lb %lc hold the thread's values, %ra %rb %rc and %ha %hb %hc their
// low parts; it writes %ld and %le, or %rd and %re and says `d32`, which widens them. %at is the thread's own
// 32 bytes of global memory, of which the first 16 hold a and c; %own the same in shared memory.
inline std::string kernel(const std::string& body, const std::string& target,
                          const std::string& version = "8.8") {
    return ".version " + version + "\n.target " + target + R"(
.address_size 64
.shared .align 32 .b8 shared_bytes[2048];
.visible .entry row(.param .u64 in, .param .u64 out, .param .u64 memory)
{
.local .align 32 .b8 local_bytes[32];
.reg .b64 %la, %lb, %lc, %ld, %le, %in, %out, %at, %generic, %x<8>;
.reg .b32 %ra, %rb, %rc, %rd, %re, %thread, %lane, %own, %y<12>;
.reg .b16 %ha, %hb, %hc, %hd, %z<8>;
.reg .b128 %q<4>;
.reg .f32 %f<4>;
.reg .f64 %g<4>;
.reg .pred %p<4>;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
ld.param.u64 %at, [memory];
mov.u32 %thread, %ctaid.x;
mov.u32 %y0, %tid.x;
mad.lo.u32 %thread, %thread, 64, %y0;
mov.u32 %lane, %laneid;
mad.wide.u32 %in, %thread, 24, %in;
mad.wide.u32 %out, %thread, 16, %out;
mad.wide.u32 %at, %thread, 32, %at;
mov.u32 %own, shared_bytes;
mad.lo.u32 %own, %y0, 32, %own;
ld.global.u64 %la, [%in];
ld.global.u64 %lb, [%in+8];
ld.global.u64 %lc, [%in+16];
cvt.u32.u64 %ra, %la;
cvt.u32.u64 %rb, %lb;
cvt.u32.u64 %rc, %lc;
cvt.u16.u64 %ha, %la;
cvt.u16.u64 %hb, %lb;
cvt.u16.u64 %hc, %lc;
mov.u64 %ld, 0;
mov.u64 %le, 0;
mov.u32 %rd, 0;
mov.u32 %re, 0;
st.global.v2.u64 [%at], {%la, %lc};
st.shared.v2.u64 [%own], {%la, %lc};
)" + body + R"(
st.global.v2.u64 [%out], {%ld, %le};
ret;
}
)";
}

inline const std::string d32 = "\ncvt.u64.u32 %ld, %rd;\ncvt.u64.u32 %le, %re;\n";

inline std::vector<In> values(unsigned seed, u32 count = 4 * block) {
    std::mt19937_64 random(seed);
    constexpr u64 special[] = {
        0,  1,  2,  ~u64{0}, 0x7fffffff, 0x80000000, 0xffffffff, u64{1} << 63, ~(u64{1} << 63), 31,
        32, 33, 63, 64,      0x80,       0x7f,       0xff,       0x8000,       0x7fff,          0xffff0000};
    const auto any = [&] {
        return random() % 4 == 0 ? special[random() % std::size(special)] : random() >> (random() % 64);
    };
    std::vector<In> in(count);
    for (In& x : in) x = {any(), any(), any()};
    return in;
}

/// CUDA 13.0's assembler knows PTX up to version 9.0.
inline bool knows_version(const Assembler& assembler, const std::string& version) {
    return assembler.assemble(".version " + version + "\n.target sm_90\n.address_size 64\n").has_value();
}

inline std::vector<Out> run(const std::string& body, const std::vector<In>& in,
                            const std::string& target = "sm_90a", const EmulatorOptions& options = {},
                            const std::string& version = "8.8") {
    Machine machine(options);
    const std::string text = kernel(body, target, version);
    if (const Assembler* assembler = nvptxcompiler(); assembler && knows_version(*assembler, version)) {
        const auto cubin = assembler->assemble(text);
        EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
    }
    const auto loaded = machine.load(text);
    EXPECT_TRUE(loaded) << (loaded ? "" : describe(loaded.error(), text));
    if (!loaded) return std::vector<Out>(in.size());
    const auto count = static_cast<u32>(in.size());
    const u64 from = machine.upload(in), to = machine.upload(std::vector<u64>(2 * count)),
              memory = machine.upload(std::vector<u64>(4 * count));
    EXPECT_RUNS(machine, machine.launch("row", {.grid = {count / block, 1, 1}, .block = {block, 1, 1}}, from,
                                        to, memory));
    std::vector<Out> out(count);
    const auto words = machine.download<u64>(to, 2 * count);
    for (u32 i = 0; i < count; ++i) out[i] = {words[2 * i], words[2 * i + 1]};
    return out;
}

using PerThread = std::function<Out(const In&)>;
inline void check(const std::string& body, const PerThread& reference, const std::vector<In>& in = values(1),
                  const std::string& target = "sm_90a", const std::string& version = "8.8") {
    const auto out = run(body, in, target, {}, version);
    u32 shown = 0;
    for (u32 i = 0; i < in.size() && shown < 3; ++i) {
        const Out expected = reference(in[i]);
        if (out[i] == expected) continue;
        ++shown;
        ADD_FAILURE() << body << "\na 0x" << std::hex << in[i].a << ", b 0x" << in[i].b << ", c 0x" << in[i].c
                      << ":\n"
                      << out[i] << "\nexpected " << expected;
    }
}

// The same of warps: the reference sees all 32 lanes.
using PerWarp = std::function<Out(const In* warp, u32 lane)>;
inline void check_warps(const std::string& body, const PerWarp& reference, const std::vector<In>& in) {
    const auto out = run(body, in);
    u32 shown = 0;
    for (u32 i = 0; i < in.size() && shown < 3; ++i) {
        const Out expected = reference(&in[i / 32 * 32], i % 32);
        if (out[i] == expected) continue;
        ++shown;
        ADD_FAILURE() << body << "\nlane " << i % 32 << ": " << out[i] << "\nexpected " << expected;
    }
}

inline u64 low(u64 x, u32 bits) { return bits >= 64 ? x : x & ((u64{1} << bits) - 1); }
inline s64 extended(u64 x, u32 bits) { return static_cast<s64>(x << (64 - bits)) >> (64 - bits); }

}  // namespace ptxgraft::forms
