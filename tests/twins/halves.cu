// __half and __half2: arithmetic, fma, comparisons, conversions to and from integers and floats with every
// rounding, beside exact arithmetic.
#ifdef __CUDACC__
#include <cuda_fp16.h>
#else
#include "narrow.hpp"
#endif
#include "twin.hpp"

namespace halves {

struct Pair {
    u16 a, b, c;
};
constexpr u32 results = 24;

#ifdef __CUDACC__
DEVICE __half half_of(u16 bits) { return __ushort_as_half(bits); }
DEVICE u16 bits_of(__half h) { return __half_as_ushort(h); }

ENTRY arithmetic(const Pair* in, u16* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const __half a = half_of(in[i].a), b = half_of(in[i].b), c = half_of(in[i].c);
    const __half r[results] = {
        a + b,
        a - b,
        a * b,
        __hfma(a, b, c),
        -a,
        __habs(a),
        __hmin(a, b),
        __hmax(a, b),
        a / b,
        hsqrt(a),
        hfloor(a),
        hceil(a),
        hrint(a),
        htrunc(a),
        __hadd_sat(a, b),
        __hmul_sat(a, b),
        __hfma_sat(a, b, c),
        __hmin_nan(a, b),
        __hmax_nan(a, b),
        __hfma_relu(a, b, c),
        __low2half(__hadd2(__halves2half2(a, b), __halves2half2(b, c))),
        __high2half(__hfma2(__halves2half2(c, a), __halves2half2(c, b), __halves2half2(a, c))),
        __low2half(__hmul2(__half2half2(a), __lows2half2(__halves2half2(b, c), __half2half2(c)))),
        __high2half(__lowhigh2highlow(__halves2half2(a, c)))};
    for (u32 k = 0; k < results; ++k) out[i * results + k] = bits_of(r[k]);
}

ENTRY comparisons(const Pair* in, u32* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const __half a = half_of(in[i].a), b = half_of(in[i].b);
    out[i] = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5 |
             __hltu(a, b) << 6 | __hequ(a, b) << 7 | (u32)__hisnan(a) << 8 | (u32)(__hisinf(a) != 0) << 9 |
             (u32)__hbne2(__halves2half2(a, a), __halves2half2(b, b)) << 10 |
             (u32)(__heq2_mask(__halves2half2(a, b), __halves2half2(b, b)) == 0xffffffff) << 11 |
             (u32)(__hgeu(a, b)) << 12;
}

ENTRY to_integers(const Pair* in, s64* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const __half a = half_of(in[i].a);
    const s64 r[8] = {__half2int_rn(a),  __half2int_rz(a),   __half2int_rd(a), __half2int_ru(a),
                      __half2uint_rn(a), __half2short_rz(a), __half2ll_rd(a),  (s64)__half2ushort_rn(a)};
    for (u32 k = 0; k < 8; ++k) out[8 * i + k] = r[k];
}

ENTRY from_floats(const float* in, u16* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const float x = in[i];
    const __half2 both = __floats2half2_rn(x, x * 0.5f);
    const __half r[8] = {__float2half_rn(x),    __float2half_rz(x),
                         __float2half_rd(x),    __float2half_ru(x),
                         __low2half(both),      __high2half(both),
                         __int2half_rn((int)x), __double2half((double)x * 1.0000000001)};
    for (u32 k = 0; k < 8; ++k) out[8 * i + k] = bits_of(r[k]);
}
#else

using namespace twin;

static double fused(double a, double b, double c) {  // before the rounding: NaN and infinities as they come
    return std::isfinite(a) && std::isfinite(b) && std::isfinite(c) ? rounded((Exact)a * b + c, f16)
                                                                    : std::fma(a, b, c);
}
// The zero of a fused sum has a sign that an exact sum loses.
static double fma_f16(double a, double b, double c) {
    const double r = fused(a, b, c);
    return r == 0 && (Exact)a * b + c == 0 ? std::fma(a, b, c)
           : r == 0                        ? std::copysign(0.0, (double)((Exact)a * b + c))
                                           : r;
}
static double clamped(double x) { return std::isnan(x) ? 0 : x > 1 ? 1 : x > 0 ? x : 0; }
// The manual's min: of +0 and -0 the latter, and a number rather than NaN.
static double least(double a, double b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a < b || (a == b && std::signbit(a)) ? a : b;
}
static double most(double a, double b) { return -least(-a, -b); }
static double quotient(double a, double b) {
    const double q = a / b;
    return std::isfinite(a) && std::isfinite(b) && b != 0 && a != 0 ? rounded((Exact)a / (Exact)b, f16) : q;
}

static void expected_row(const Pair& p, std::vector<u16>& out) {
    const double a = value_of_f16(p.a), b = value_of_f16(p.b), c = value_of_f16(p.c), nan = NAN;
    const auto add = [](double x, double y) {
        return std::isfinite(x + y) && x + y != 0 ? rounded((Exact)x + y, f16) : x + y;
    };
    const auto mul = [](double x, double y) { return fma_f16(x, y, std::copysign(0.0, x * y)); };
    const bool unordered = std::isnan(a) || std::isnan(b);
    const double f = fma_f16(a, b, c);
    const double r[results] = {
        add(a, b),
        add(a, -b),
        mul(a, b),
        f,
        -a,
        std::abs(a),
        least(a, b),
        most(a, b),
        quotient(a, b),
        a > 0 && std::isfinite(a) ? rounded(std::sqrt((long double)a), f16) : std::sqrt(a),
        std::floor(a),
        std::ceil(a),
        std::nearbyint(a),
        std::trunc(a),
        clamped(add(a, b)),
        clamped(mul(a, b)),
        clamped(f),
        unordered ? nan : least(a, b),
        unordered ? nan : most(a, b),
        std::isnan(f) ? nan
        : f > 0       ? f
                      : 0.0,
        add(a, b),
        fma_f16(a, b, c),
        mul(a, b),
        a};
    for (u32 k = 0; k < results; ++k) out.push_back(bits_of_f16(r[k]));
}

static void expect_same_halves(Run& run, const char* what, std::vector<u16> device,
                               const std::vector<u16>& host) {
    for (u16& x : device)
        if ((x & 0x7c00) == 0x7c00 && (x & 0x3ff)) x = 0x7fff;  // which NaN is not said for all of these
    run.expect_same(what, device, host);
}

static s64 to_integer(double x, double whole, double low, double high) {
    return std::isnan(x) ? 0 : whole < low ? (s64)low : whole > high ? (s64)high : (s64)whole;
}

TWIN(Halves, "sm_75", "sm_80 -G", "sm_90a nvcc -Xcicc -O0", "sm_90a", "sm_120a --use_fast_math") {
    const u32 count = 600;
    const auto bits = all_kinds(run, 3 * count);
    std::vector<Pair> pairs(count);
    for (u32 i = 0; i < count; ++i) pairs[i] = {bits[3 * i], bits[3 * i + 1], bits[3 * i + 2]};
    const u64 in = run.upload(pairs), out = run.zeros<u16>(count * results), answers = run.zeros<u32>(count),
              integers = run.zeros<s64>(8 * count);
    std::vector<u16> host;
    for (const Pair& p : pairs) expected_row(p, host);
    run.launch("arithmetic", {.grid = 10, .block = 64}, in, out, count);
    auto device = run.download<u16>(out, host.size());
    // the header's division is within 1 ulp; for subnormal quotients the sign of zero may vary too
    for (u32 i = 0; i < count; ++i) {
        u16& q = device[i * results + 8];
        const u16 h = host[i * results + 8];
        if (std::abs((q & 0x7fff) - (h & 0x7fff)) <= 1 && (q ^ h) < 0x8000) q = h;
    }
    expect_same_halves(run, "arithmetic", device, host);

    run.launch("comparisons", {.grid = 10, .block = 64}, in, answers, count);
    std::vector<u32> compared;
    for (const Pair& p : pairs) {
        const double a = value_of_f16(p.a), b = value_of_f16(p.b);
        const bool unordered = std::isnan(a) || std::isnan(b);
        // __hbne2 is ordered: false of NaN; != is not.
        compared.push_back((u32)(a < b) | (u32)(a <= b) << 1 | (u32)(a > b) << 2 | (u32)(a >= b) << 3 |
                           (u32)(a == b) << 4 | (u32)(a != b) << 5 | (u32) !(a >= b) << 6 |
                           (u32)(unordered || a == b) << 7 | (u32)std::isnan(a) << 8 |
                           (u32)std::isinf(a) << 9 | (u32)(!unordered && a != b) << 10 |
                           (u32)(a == b && !std::isnan(b)) << 11 | (u32) !(a < b) << 12);
    }
    run.expect_same("comparisons", run.download<u32>(answers, count), compared);

    run.launch("to_integers", {.grid = 10, .block = 64}, in, integers, count);
    std::vector<s64> whole;
    for (const Pair& p : pairs) {
        const double a = value_of_f16(p.a), int_low = -0x1p31, int_high = 0x1p31 - 1;
        // the manual converts NaN to 0; the header's 16-bit forms and 64-bit forms do as the machine does
        if (std::isnan(a))
            whole.insert(whole.end(), {0, 0, 0, 0, 0, 0, 0, 0});
        else
            for (s64 x :
                 {to_integer(a, std::nearbyint(a), int_low, int_high),
                  to_integer(a, std::trunc(a), int_low, int_high),
                  to_integer(a, std::floor(a), int_low, int_high),
                  to_integer(a, std::ceil(a), int_low, int_high),
                  to_integer(a, std::nearbyint(a), 0, 0x1p32 - 1),
                  to_integer(a, std::trunc(a), -32768, 32767),
                  std::isinf(a) ? (a > 0 ? std::numeric_limits<s64>::max() : std::numeric_limits<s64>::min())
                                : (s64)std::floor(a),
                  to_integer(a, std::nearbyint(a), 0, 65535)})
                whole.push_back(x);
    }
    auto got = run.download<s64>(integers, whole.size());
    for (u32 i = 0; i < count; ++i)
        if (std::isnan(value_of_f16(pairs[i].a))) got[8 * i + 6] = 0;  // not defined
    run.expect_same("to integers", got, whole);

    auto floats = run.random_reals<float>(count, -70000, 70000);
    for (u32 i = 0; i < count; i += 2) floats[i] = std::ldexp(floats[i], -(int)(run.random() % 45));
    for (u32 i = 1; i < count; i += 4) floats[i] = (float)value_of_f16(bits[i]);
    floats[1] = 65519.99f, floats[5] = 65520, floats[9] = -65535, floats[13] = 2.9802322e-8f,
    floats[17] = 2049, floats[21] = 2051;
    const u64 narrow = run.zeros<u16>(8 * count);
    run.launch("from_floats", {.grid = 10, .block = 64}, run.upload(floats), narrow, count);
    host.clear();
    for (const float x : floats) {
        const double scaled = (double)x * 1.0000000001;
        const Exact whole_number = std::isnan(x)   ? 0
                                   : x >= 0x1p31f  ? 0x1p31 - 1
                                   : x <= -0x1p31f ? -0x1p31
                                                   : std::trunc(x);
        for (const double r : {rounded(x, f16), rounded(x, f16, Towards::zero),
                               rounded(x, f16, Towards::down), rounded(x, f16, Towards::up), rounded(x, f16),
                               rounded(x * 0.5f, f16), rounded(whole_number, f16), rounded(scaled, f16)})
            host.push_back(bits_of_f16(r == 0 ? std::copysign(0.0, x) : r));
        if (whole_number == 0) host[host.size() - 2] = 0;
    }
    expect_same_halves(run, "from floats", run.download<u16>(narrow, host.size()), host);
}
#endif
}  // namespace halves
