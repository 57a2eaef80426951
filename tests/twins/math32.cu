// The functions of single precision beside the host's doubles, within the errors that CUDA states; the fast
// ones within theirs.
#include "twin.hpp"

namespace math32 {

constexpr u32 functions = 34, fast_functions = 11;

#ifdef __CUDACC__
ENTRY values(const float* in, float* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const float x = in[i], a = fabsf(x), u = x / 32, y = in[count - 1 - i];
    float s, c;
    sincosf(x, &s, &c);
    int exponent;
    const float r[functions] = {expf(u),
                                exp2f(u),
                                exp10f(u),
                                expm1f(u),
                                logf(a),
                                log2f(a),
                                log10f(a),
                                log1pf(a),
                                sqrtf(a),
                                cbrtf(x),
                                rsqrtf(a),
                                sinf(x),
                                cosf(x),
                                tanf(x),
                                asinf(u),
                                acosf(u),
                                atanf(x),
                                atan2f(x, y),
                                sinhf(u),
                                coshf(u),
                                tanhf(u),
                                asinhf(x),
                                acoshf(1 + a),
                                powf(a, u),
                                hypotf(x, y),
                                erff(u),
                                erfcf(u),
                                sinpif(u),
                                fmodf(x, y),
                                s,
                                c,
                                frexpf(x, &exponent),
                                x / y,
                                1.0f / x};
    for (u32 k = 0; k < functions; ++k) out[i * functions + k] = r[k];
}
ENTRY fast(const float* in, float* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const float x = in[i], a = fabsf(x), u = x / 32;
    const float r[fast_functions] = {__expf(u),      __exp10f(u), __logf(2 + a),    __log2f(2 + a),
                                     __sinf(u),      __cosf(u),   __powf(1 + a, u), __fdividef(x, 3 + a),
                                     __frsqrt_rn(a), __tanf(u),   __saturatef(u)};
    for (u32 k = 0; k < fast_functions; ++k) out[i * fast_functions + k] = r[k];
}
#else

static std::vector<double> expected(float f, float g) {
    const double x = f, y = g, a = std::abs(x), u = f / 32;
    int exponent;
    return {exp(u),
            exp2(u),
            pow(10, u),
            expm1(u),
            log(a),
            log2(a),
            log10(a),
            log1p(a),
            sqrt(a),
            cbrt(x),
            1 / sqrt(a),
            sin(x),
            cos(x),
            tan(x),
            asin(u),
            acos(u),
            atan(x),
            atan2(x, y),
            sinh(u),
            cosh(u),
            tanh(u),
            asinh(x),
            acosh((float)(1 + (float)a)),
            pow(a, u),
            hypot(x, y),
            erf(u),
            erfc(u),
            sin(M_PI * u),
            fmodf(f, g),
            sin(x),
            cos(x),
            frexpf(f, &exponent),
            x / y,
            1 / x};
}
// Of the CUDA programming guide's table of errors, in ulps; 0: exact.
static const double bounds[functions] = {2, 2, 2, 1, 1, 1, 2, 1, 0, 1, 2, 2, 2, 4, 4, 4, 2,
                                         3, 3, 2, 2, 3, 4, 8, 3, 2, 4, 1, 0, 2, 2, 0, 0, 0};

static void compare(twin::Run& run, const std::vector<float>& in, const std::vector<float>& device) {
    const u32 count = (u32)in.size();
    for (u32 k = 0; k < functions; ++k) {
        std::vector<float> got;
        std::vector<double> host;
        for (u32 i = 0; i < count; ++i)
            got.push_back(device[i * functions + k]), host.push_back(expected(in[i], in[count - 1 - i])[k]);
        run.expect_within(("function " + std::to_string(k)).c_str(), bounds[k], got, host);
    }
}

static void compare_fast(twin::Run& run, const std::vector<float>& in) {
    const u32 count = (u32)in.size();
    const u64 out = run.zeros<float>(count * fast_functions);
    run.launch("fast", {.grid = 4, .block = 64}, run.upload(in), out, count);
    const auto device = run.download<float>(out, count * fast_functions);
    bool near = true;
    for (u32 i = 0; i < count; ++i) {
        const double x = in[i], a = std::abs(x), u = in[i] / 32;
        const double host[fast_functions] = {exp(u),
                                             pow(10, u),
                                             log(2 + a),
                                             log2(2 + a),
                                             sin(u),
                                             cos(u),
                                             pow(1 + a, u),
                                             x / (3 + a),
                                             1 / sqrt(a),
                                             tan(u),
                                             std::clamp(u, 0.0, 1.0)};
        for (u32 k = 0; k < fast_functions; ++k)
            near = near && std::abs(device[i * fast_functions + k] - host[k]) <=
                               2e-6 * std::max(1.0, std::abs(host[k]));
    }
    run.expect(near, "fast functions are within 2e-6");
}

TWIN(SingleFunctions, "sm_75", "sm_90a nvcc -Xcicc -O0", "sm_80 -G", "sm_120a") {
    const u32 count = 200;
    auto in = run.random_reals<float>(count, -32, 32);
    for (u32 i = 0; i < count; i += 4) in[i] = std::ldexp(in[i], -(int)(run.random() % 12));
    in[1] = 0.5f, in[5] = 1, in[9] = -1, in[13] = 30.25f, in[17] = 1e-3f;
    const u64 out = run.zeros<float>(count * functions);
    run.launch("values", {.grid = 4, .block = 64}, run.upload(in), out, count);
    compare(run, in, run.download<float>(out, count * functions));
    compare_fast(run, in);
}
#endif
}  // namespace math32
