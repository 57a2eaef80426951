// bfloat16 and fp8: arithmetic, and conversions with rounding and saturation, by software on old targets and
// by instructions on new ones.
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#else
#include "narrow.hpp"
#endif
#include "twin.hpp"

namespace narrow_floats {

struct Three {
    u16 a, b, c;
};
constexpr u32 results = 14;

#ifdef __CUDACC__
DEVICE __nv_bfloat16 of(u16 bits) { return __ushort_as_bfloat16(bits); }

ENTRY bfloats(const Three* in, u16* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const __nv_bfloat16 a = of(in[i].a), b = of(in[i].b), c = of(in[i].c);
    const __nv_bfloat16 r[results] = {
        a + b,
        a - b,
        a * b,
        __hfma(a, b, c),
        -a,
        __habs(a),
        __hmin(a, b),
        __hmax(a, b),
        __float2bfloat16_rn(__bfloat162float(a) * 1.001f),
        __float2bfloat16_rz(__bfloat162float(b) * 1.001f),
        __low2bfloat16(__hfma2(__halves2bfloat162(a, b), __halves2bfloat162(b, c), __halves2bfloat162(c, a))),
        __high2bfloat16(__hadd2(__halves2bfloat162(a, b), __halves2bfloat162(b, c))),
        __low2bfloat16(__floats2bfloat162_rn(__bfloat162float(a) / 3.0f, 1)),
        __int2bfloat16_rn((s32)((u32)in[i].a * in[i].b))};
    for (u32 k = 0; k < results; ++k) out[i * results + k] = __bfloat16_as_ushort(r[k]);
}

ENTRY to_fp8(const float* in, u8* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const float x = in[i];
    const __nv_fp8x2_storage_t pair = __nv_cvt_float2_to_fp8x2(make_float2(x, -x), __NV_SATFINITE, __NV_E4M3);
    const u8 r[6] = {__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3),
                     __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2),
                     (u8)pair,
                     (u8)(pair >> 8),
                     __nv_cvt_halfraw_to_fp8(__float2half_rn(x), __NV_SATFINITE, __NV_E4M3),
                     __nv_fp8_e5m2(__float2half_rn(x)).__x};
    for (u32 k = 0; k < 6; ++k) out[6 * i + k] = r[k];
}

ENTRY from_fp8(float* out) {  // all 256 of both kinds
    const u8 bits = (u8)threadIdx.x;
    out[threadIdx.x] = __half2float(__nv_cvt_fp8_to_halfraw(bits, __NV_E4M3));
    __nv_fp8_e5m2 x;
    x.__x = bits;
    out[256 + threadIdx.x] = (float)x;
}
#else

using namespace twin;

static double bf_add(double a, double b) {
    return std::isfinite(a + b) && a + b != 0 ? rounded((Exact)a + b, bf16) : a + b;
}
static double bf_fma(double a, double b, double c) {
    const double r = std::fma(a, b, c);
    return std::isfinite(a) && std::isfinite(b) && std::isfinite(c) && r != 0
               ? std::copysign(rounded((Exact)a * b + c, bf16), r)
               : r;
}
static double least(double a, double b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a < b || (a == b && std::signbit(a)) ? a : b;
}

static u16 bits(double x) { return bits_of_bf16(x); }

// The software of the header for old targets gives NaN in these; fp8's own NaN is 0x7f with any sign.
static u8 fp8(double x, bool wide) {
    const Format& format = wide ? e5m2 : e4m3;
    const u8 sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) return 0x7f;
    const double r = std::abs(rounded(x, format, Towards::nearest_even, true));
    if (wide) return (u8)(sign | bits_of_f16(r) >> 8);
    if (r == 0) return sign;
    int exponent;
    const double fraction = std::frexp(r, &exponent);
    return (u8)(sign | (exponent - 1 < -6 ? (u8)std::ldexp(r, 9)
                                          : (exponent + 6) << 3 | ((u8)std::ldexp(fraction, 4) & 7)));
}
static float value_of_e4m3(u32 bits) {
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    if ((bits & 0x7f) == 0x7f) return NAN;
    const float size =
        exponent == 0 ? std::ldexp((float)mantissa, -9) : std::ldexp((float)(mantissa + 8), exponent - 10);
    return bits & 0x80 ? -size : size;
}

TWIN(NarrowFloats, "sm_80", "sm_86 -G", "sm_90a", "sm_89 nvcc -Xcicc -O0", "sm_120a") {
    const u32 count = 400;
    const auto kinds = all_kinds(run, 3 * count);
    std::vector<Three> in(count);
    std::vector<u16> host;
    for (u32 i = 0; i < count; ++i) {
        in[i] = {kinds[3 * i], kinds[3 * i + 1], kinds[3 * i + 2]};
        const double a = value_of_bf16(in[i].a), b = value_of_bf16(in[i].b), c = value_of_bf16(in[i].c);
        const float fa = (float)a * 1.001f, fb = (float)b * 1.001f, third = (float)a / 3.0f;
        const double product = bf_fma(a, b, std::copysign(0.0, a * b));
        for (const double r : {bf_add(a, b), bf_add(a, -b), product, bf_fma(a, b, c), -a, std::abs(a),
                               least(a, b), -least(-a, -b), std::copysign(rounded(fa, bf16), fa),
                               std::copysign(rounded(fb, bf16, Towards::zero), fb), bf_fma(a, b, c),
                               bf_add(b, c), std::copysign(rounded(third, bf16), third),
                               rounded((Exact)(s32)((u32)in[i].a * in[i].b), bf16)})
            host.push_back(bits(r));
    }
    const u64 out = run.zeros<u16>(host.size());
    run.launch("bfloats", {.grid = 7, .block = 64}, run.upload(in), out, count);
    auto device = run.download<u16>(out, host.size());
    for (u16& x : device)
        if ((x & 0x7fff) > 0x7f80) x = 0x7fff;
    run.expect_same("bfloats", device, host);

    auto floats = run.random_reals<float>(count, -500, 500);
    for (u32 i = 0; i < count; i += 2) floats[i] = std::ldexp(floats[i], -(int)(run.random() % 28) + 8);
    // on a value, and between two
    for (u32 i = 1; i < count; i += 4) floats[i] = value_of_e4m3((u32)i) * (i % 8 == 1 ? 1.0f : 1.0625f);
    floats[3] = 1e30f, floats[7] = -1e30f, floats[11] = 0, floats[15] = -0.0f, floats[19] = 464,
    floats[23] = 0.0009765625f, floats[27] = 0.00097656256f;
    std::vector<u8> narrow;
    for (const float x : floats) {
        const double half = std::copysign(rounded(x, f16), x);
        for (const u8 r :
             {fp8(x, false), fp8(x, true), fp8(x, false), fp8(-x, false), fp8(half, false), fp8(half, true)})
            narrow.push_back(r);
    }
    const u64 bytes = run.zeros<u8>(narrow.size());
    run.launch("to_fp8", {.grid = 7, .block = 64}, run.upload(floats), bytes, count);
    auto got = run.download<u8>(bytes, narrow.size());
    for (u32 i = 0; i < got.size(); ++i)
        if ((got[i] & 0x7f) == 0x7f && (narrow[i] & 0x7f) == 0x7f) got[i] = narrow[i];
    run.expect_same("to fp8", got, narrow);

    std::vector<float> wide;
    for (u32 b = 0; b < 256; ++b) wide.push_back(value_of_e4m3(b));
    for (u32 b = 0; b < 256; ++b) wide.push_back((float)value_of_f16((u16)(b << 8)));
    const u64 values = run.zeros<float>(512);
    run.launch("from_fp8", {.block = 256}, values);
    run.expect_same("from fp8", run.download<float>(values, 512), wide);
}
#endif
}  // namespace narrow_floats
