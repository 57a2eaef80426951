// Rounded as asked: sums, products, quotients, roots, fused products and conversions towards every side,
// beside the host's rounding modes.
#ifndef __CUDACC__
#include <cfenv>
#endif
#include "twin.hpp"

namespace rounding {

template <class T> struct Three { T a, b, c; };
constexpr u32 results = 6;

#ifdef __CUDACC__
#define ROUNDED(mode)                                                                                        \
    DEVICE void rounded_##mode(const Three<float>& t, float* r) {                                            \
        r[0] = __fadd_##mode(t.a, t.b), r[1] = __fmul_##mode(t.a, t.b), r[2] = __fmaf_##mode(t.a, t.b, t.c); \
        r[3] = __fdiv_##mode(t.a, t.b), r[4] = __fsqrt_##mode(t.a), r[5] = __frcp_##mode(t.b);               \
    }                                                                                                        \
    DEVICE void rounded_##mode(const Three<double>& t, double* r) {                                          \
        r[0] = __dadd_##mode(t.a, t.b), r[1] = __dmul_##mode(t.a, t.b), r[2] = __fma_##mode(t.a, t.b, t.c);  \
        r[3] = __ddiv_##mode(t.a, t.b), r[4] = __dsqrt_##mode(t.a), r[5] = __drcp_##mode(t.b);               \
    }                                                                                                        \
    DEVICE void converted_##mode(float f, double d, s64 s, u64 u, s64* r) {                                  \
        r[0] = __float2int_##mode(f), r[1] = __float2uint_##mode(f), r[2] = __float2ll_##mode(f),            \
        r[3] = (s64)__float2ull_##mode(f);                                                                   \
        r[4] = __double2int_##mode(d), r[5] = __double2uint_##mode(d), r[6] = __double2ll_##mode(d),         \
        r[7] = (s64)__double2ull_##mode(d);                                                                  \
        r[8] = __float_as_int(__double2float_##mode(d)), r[9] = __float_as_int(__ll2float_##mode(s)),        \
        r[10] = __float_as_int(__ull2float_##mode(u));                                                       \
        r[11] = __double_as_longlong(__ll2double_##mode(s)),                                                 \
        r[12] = __double_as_longlong(__ull2double_##mode(u));                                                \
        r[13] = __float_as_int(__int2float_##mode((int)s)),                                                  \
        r[14] = __float_as_int(__uint2float_##mode((u32)u));                                                 \
    }
ROUNDED(rn)
ROUNDED(rz)
ROUNDED(rd)
ROUNDED(ru)

template <class T> DEVICE void all_modes(const Three<T>& in, T* out) {
    rounded_rn(in, out), rounded_rz(in, out + results), rounded_rd(in, out + 2 * results),
        rounded_ru(in, out + 3 * results);
}
ENTRY singles(const Three<float>* in, float* out) {
    all_modes(in[thread_number()], out + 4 * results * thread_number());
}
ENTRY doubles(const Three<double>* in, double* out) {
    all_modes(in[thread_number()], out + 4 * results * thread_number());
}
ENTRY conversions(const float* f, const double* d, const s64* s, s64* out) {
    const u32 t = thread_number();
    const u64 u = (u64)s[t];
    out += 60 * t;
    converted_rn(f[t], d[t], s[t], u, out), converted_rz(f[t], d[t], s[t], u, out + 15),
        converted_rd(f[t], d[t], s[t], u, out + 30), converted_ru(f[t], d[t], s[t], u, out + 45);
}
#else

// The host rounds at run time: nothing here may be folded or moved.
template <class T>
__attribute__((noinline, optimize("rounding-math"))) static void rounded_on_host(int mode, const Three<T>& in,
                                                                                 T* r) {
    volatile T a = in.a, b = in.b, c = in.c, one = 1;
    volatile T x[results];
    std::fesetround(mode);
    x[0] = a + b;
    x[1] = a * b;
    x[2] = std::fma(a, b, c);
    x[3] = a / b;
    x[4] = std::sqrt(a);
    x[5] = one / b;
    std::fesetround(FE_TONEAREST);
    for (u32 k = 0; k < results; ++k) r[k] = x[k];
}

template <class T>
// x is whole; out of range: the nearest
static s64 integer(T x, double low, double high, s64 lowest, s64 highest) {
    return std::isnan(x)    ? 0
           : x < (T)low     ? lowest
           : x >= (T)high   ? highest
           : x >= (T)0x1p63 ? (s64)(u64)x
                            : (s64)x;
}
__attribute__((noinline, optimize("rounding-math"))) static void converted_on_host(int mode, float f,
                                                                                   double d, s64 s, s64* r) {
    const s64 low = std::numeric_limits<s64>::min(), high = std::numeric_limits<s64>::max();
    volatile float vf = f;
    volatile double vd = d;
    volatile s64 vs = s;
    volatile u64 vu = (u64)s;
    volatile s32 vi = (s32)s;
    volatile u32 vw = (u32)s;
    std::fesetround(mode);
    volatile const float wf = std::nearbyint(vf);
    volatile const double wd = std::nearbyint(vd);
    volatile const float n8 = (float)vd, n9 = (float)vs, n13 = (float)vi, n14 = (float)vw;
    volatile const double n11 = (double)vs;
    // The host's own conversion from u64 does not follow the mode everywhere: by its halves.
    volatile const double upper = (double)(vu >> 32) * 0x1p32, lower = (double)(u32)vu;
    volatile const double n12 = upper + lower;
    volatile const long double exact = (long double)vu;
    volatile const float n10 = (float)exact;
    std::fesetround(FE_TONEAREST);
    // NaN: 0, but 0x8000000000000000 in 64 bits.
    const bool fn = std::isnan(f), dn = std::isnan(d);
    r[0] = integer<float>(wf, -0x1p31, 0x1p31, -(1ll << 31), (1ll << 31) - 1),
    r[1] = integer<float>(wf, 0, 0x1p32, 0, 0xffffffff);
    r[2] = fn ? low : integer<float>(wf, -0x1p63, 0x1p63, low, high),
    r[3] = fn ? low : integer<float>(wf, 0, 0x1p64, 0, -1);
    r[4] = dn ? (s32)0x80000000 : integer<double>(wd, -0x1p31, 0x1p31, -(1ll << 31), (1ll << 31) - 1),
    r[5] = dn ? 0x80000000 : integer<double>(wd, 0, 0x1p32, 0, 0xffffffff);
    r[6] = dn ? low : integer<double>(wd, -0x1p63, 0x1p63, low, high),
    r[7] = dn ? low : integer<double>(wd, 0, 0x1p64, 0, -1);
    const auto bits = [](float x) {
        return (s64)std::bit_cast<s32>(std::isnan(x) ? std::bit_cast<float>(0x7fffffff) : x);
    };
    r[8] = bits(n8), r[9] = bits(n9), r[10] = bits(n10), r[11] = std::bit_cast<s64>(n11 + 0.0),
    r[12] = std::bit_cast<s64>(n12 + 0.0), r[13] = bits(n13), r[14] = bits(n14);
}

static const int modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

template <class T, class Bits> static void compare(twin::Run& run, const char* entry) {
    const u32 count = 256;
    std::vector<Three<T> > in(count);
    for (Three<T>& t : in) {
        const auto any = [&] {
            const T x = std::bit_cast<T>((Bits)run.random());
            return run.random() % 3 == 0 || std::isnan(x)
                       ? (T)std::ldexp((T)(s64)run.random(), (int)(run.random() % 20) - 70)
                       : x;
        };
        t = {any(), any(), any()};
    }
    const T tiny = std::numeric_limits<T>::denorm_min(), large = std::numeric_limits<T>::max(),
            infinity = std::numeric_limits<T>::infinity();
    in[0] = {1, 3, -1}, in[1] = {tiny, tiny, tiny}, in[2] = {large, large, -large},
    in[3] = {infinity, 2, -infinity}, in[4] = {(T)-0.0, 0, 0}, in[5] = {1, -1, 1};
    in[6] = {large, 1, tiny}, in[7] = {std::numeric_limits<T>::min(), (T)0.5, tiny}, in[8] = {2, infinity, 1},
    in[9] = {0, infinity, 1}, in[10] = {tiny * 3, (T)0.5, -tiny};
    std::vector<T> host(4 * results * count);
    for (u32 i = 0; i < count; ++i)
        for (u32 m = 0; m < 4; ++m) rounded_on_host(modes[m], in[i], &host[(4 * i + m) * results]);
    const u64 out = run.zeros<T>(host.size());
    run.launch(entry, {.grid = 4, .block = 64}, run.upload(in), out);
    run.expect_same(entry, run.download<T>(out, host.size()), host);
}

TWIN(Rounding, "sm_75", "sm_80 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a") {
    compare<float, u32>(run, "singles");
    compare<double, u64>(run, "doubles");
    const u32 count = 192;
    std::vector<float> f(count);
    std::vector<double> d(count);
    std::vector<s64> s(count), host(60 * count);
    for (u32 i = 0; i < count; ++i) {
        f[i] = std::ldexp((float)(s32)run.random(), (int)(run.random() % 70) - 40);
        d[i] = std::ldexp((double)(s64)run.random(), (int)(run.random() % 76) - 72);
        s[i] = (s64)(run.random() >> run.random() % 64) * (i % 2 ? 1 : -1);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    const double special[] = {0.5,      -0.5,      1.5,     2.5,    0x1p31,       -0x1p31,
                              0x1p32,   0x1p63,    -0x1p63, 0x1p64, 1e300,        -1e300,
                              infinity, -infinity, NAN,     -0.0,   0x1p31 - 0.5, 4294967295.5};
    for (u32 i = 0; i < std::size(special); ++i) f[i] = (float)special[i], d[i] = special[i];
    s[0] = 0, s[1] = std::numeric_limits<s64>::min(), s[2] = std::numeric_limits<s64>::max(), s[3] = -1,
    s[4] = (1 << 24) + 1;
    for (u32 i = 0; i < count; ++i)
        for (u32 m = 0; m < 4; ++m) converted_on_host(modes[m], f[i], d[i], s[i], &host[60 * i + 15 * m]);
    const u64 out = run.zeros<s64>(host.size());
    run.launch("conversions", {.grid = 3, .block = 64}, run.upload(f), run.upload(d), run.upload(s), out);
    run.expect_same("conversions", run.download<s64>(out, host.size()), host);
}
#endif
}  // namespace rounding
