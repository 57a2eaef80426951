// The functions of double precision (libdevice) beside the host's in long double, within the errors that CUDA
// states.
#include "twin.hpp"

namespace math64 {

constexpr u32 functions = 44;

#ifdef __CUDACC__
ENTRY values(const double* in, double* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const double x = in[i], a = fabs(x), u = x / 40, y = in[count - 1 - i];
    double s, c, whole;
    sincos(x, &s, &c);
    int exponent, quotient;
    const double r[functions] = {exp(u),
                                 exp2(u),
                                 exp10(u / 3),
                                 expm1(u),
                                 log(a),
                                 log2(a),
                                 log10(a),
                                 log1p(a),
                                 sqrt(a),
                                 cbrt(x),
                                 rsqrt(a),
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
                                 acosh(1 + a),
                                 atanh(u * 0.999),
                                 pow(a, u),
                                 hypot(x, y),
                                 erf(u),
                                 erfc(u),
                                 tgamma(1 + a / 8),
                                 lgamma(1 + a),
                                 j0(x / 9),
                                 sinpi(u),
                                 fmod(x, y),
                                 remainder(x, y),
                                 s,
                                 c,
                                 modf(x, &whole),
                                 whole,
                                 frexp(x, &exponent),
                                 ldexp(x, -3),
                                 nextafter(x, y),
                                 remquo(x, y, &quotient),
                                 rint(x) + floor(x) * 3 + ceil(x) * 7 + trunc(x) * 11 + round(x) * 13,
                                 (double)exponent + 100.0 * llrint(x)};
    for (u32 k = 0; k < functions; ++k) out[i * functions + k] = r[k];
}
#else
typedef long double Real;

static std::vector<Real> expected(double x, double y) {
    const Real X = x, Y = y, a = std::abs(X), pi = acosl(-1.0L);
    const Real u = x / 40;  // rounded as on the device
    double whole;
    int exponent;
    const double fraction = std::modf(x, &whole), mantissa = std::frexp(x, &exponent);
    return {expl(u),
            exp2l(u),
            powl(10, (double)u / 3),
            expm1l(u),
            logl(a),
            log2l(a),
            log10l(a),
            log1pl(a),
            sqrtl(a),
            cbrtl(X),
            1 / sqrtl(a),
            sinl(X),
            cosl(X),
            tanl(X),
            asinl(u),
            acosl(u),
            atanl(X),
            atan2l(X, Y),
            sinhl(u),
            coshl(u),
            tanhl(u),
            asinhl(X),
            acoshl((double)(1 + a)),
            atanhl((double)u * 0.999),
            powl(a, u),
            hypotl(X, Y),
            erfl(u),
            erfcl(u),
            tgammal((double)(1 + (double)a / 8)),
            lgammal((double)(1 + a)),
            j0l(x / 9),
            sinl(pi * u),
            fmod(x, y),
            remainder(x, y),
            sinl(X),
            cosl(X),
            fraction,
            whole,
            mantissa,
            ldexpl(X, -3),
            nextafter(x, y),
            remainder(x, y),
            (Real)(std::nearbyint(x) + std::floor(x) * 3 + std::ceil(x) * 7 + std::trunc(x) * 11 +
                   std::round(x) * 13),
            (Real)(exponent + 100.0 * std::llrint(x))};
}

// Of the CUDA programming guide's table of errors, in ulps; 0: exact.
static const double bounds[functions] = {1, 1, 1, 1, 1, 1, 1,  1, 0,   1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 3,
                                         3, 2, 2, 2, 2, 5, 10, 8, 200, 2, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0};

TWIN(DoubleFunctions, "sm_75", "sm_90a nvcc -Xcicc -O0", "sm_80 -G", "sm_120a --use_fast_math") {
    const u32 count = 160;
    auto in = run.random_reals<double>(count, -40, 40);
    for (u32 i = 0; i < count; i += 4) in[i] = std::ldexp(in[i], -(int)(run.random() % 40));
    in[1] = 0.5, in[5] = 1, in[9] = -1, in[13] = 30.25;
    const u64 out = run.zeros<double>(count * functions);
    run.launch("values", {.grid = 3, .block = 64}, run.upload(in), out, count);
    const auto device = run.download<double>(out, count * functions);
    std::vector<std::vector<double> > got(functions);
    std::vector<std::vector<Real> > host(functions);
    for (u32 i = 0; i < count; ++i) {
        const auto row = expected(in[i], in[count - 1 - i]);
        for (u32 k = 0; k < functions; ++k)
            got[k].push_back(device[i * functions + k]), host[k].push_back(row[k]);
    }
    for (u32 k = 0; k < functions; ++k)
        run.expect_within(("function " + std::to_string(k)).c_str(), bounds[k], got[k], host[k]);
}
#endif
}  // namespace math64
