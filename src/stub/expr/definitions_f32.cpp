// Functions of f32. Sums and products of f64 are used where they are shorter than what keeps f32 exact.

#include "stub/expr/definitions.hpp"

namespace ptxgraft::expr {
namespace {

// exp(x) of x in [-106, 90]: 2^n * p.
constexpr std::string_view exponential =
    "i = round(x * 1.44269502)\n"
    "n = s32(i)\n"
    "f = fma(i, 1.90465421e-09, fma(i, -0.693147182, x))\n";
constexpr std::string_view exponential_end =
    "p = fma(fma(fma(0.00139262679, f, 0.00836324692), f, 0.0416665524), f, 0.166665763)\n"
    "p = fma(fma(fma(p, f, 0.5), f, 1), f, 1)\n";
// 2^n * p in two steps, so that neither overflows nor underflows before the result does.
constexpr std::string_view scaled =
    "h = n >> 1\nresult = p * float_bits(u32(h + 127) << 23) * float_bits(u32(n - h + 127) << 23)";
// Of sinh and cosh, whose results are infinite beyond.
constexpr std::string_view magnitude = "x = abs(a)\nx = x > 90 ? 90 : x\n";

// log(a) of f in [2/3, 4/3] and an exponent: `e` and `r`, with subnormals scaled up first.
constexpr std::string_view logarithm =
    "small = a < 1.17549435e-38\n"
    "s = small ? a * 8388608 : a\n"
    "k = s32(bits(s) - 0x3F2AAAAB) & 0xFF800000\n"
    "f = float_bits(bits(s) - u32(k)) - 1\n"
    "e = fma(f32(k), 1.1920929e-7, small ? -23 : 0)\n";
constexpr std::string_view logarithm_end =
    "q = f * f\n"
    "p = fma(fma(-0.121256784, f, 0.134258553), q, fma(-0.123461768, f, 0.141182959))\n"
    "p = fma(p, q, fma(-0.166701406, f, 0.200037807))\n"
    "p = fma(fma(p, f, -0.249999881), f, 0.333333194)\n"
    "r = fma(fma(p, f, -0.5), q, f)\n";

// The angle in quarter turns, for any a: the product of its significand with the bits of 2/pi that its
// exponent selects, modulo 4, in fixed point of 62 bits. `r` is what is left of a quarter turn in radians,
// `q` counts the quarter turns.
constexpr std::string_view quarters =
    "b = bits(a) & 0x7FFFFFFF\n"
    "t = (max(b, 0x3F800000) >> 23) - 127\n"
    "m = u64((b & 0x7FFFFF | 0x800000) << (b < 0x3F800000 ? 0 : 1))\n"
    "far = t > 63\n"
    "x = far ? 0x91054A7F09D5F47D : 0x28BE60DB93\n"
    "y = far ? 0x4D377036D8A5664F : 0x91054A7F09D5F47D\n"
    "z = far ? 0x10E4107F9458EAF7 : 0x4D377036D8A5664F\n"
    "t = t & 63\n"
    "turns = m * (x << t | y >> (64 - t)) + mulhi(m, y << t | z >> (64 - t))\n"
    "q = u32((turns + 0x2000000000000000) >> 62)\n"
    "near = b < 0x3F000000\n"
    "r = near ? float_bits(b) : f32(f64(s64(turns - (u64(q) << 62))) * 3.4061215800865545e-19)\n"
    "q = near ? 0 : q\n"
    "s = r * r\n";
// Sine and cosine of r.
constexpr std::string_view sine_and_cosine =
    "v = fma(fma(fma(fma(2.72498505e-06, s, -0.000198400856), s, 0.00833333191), s, -0.166666672) * s, r, "
    "r)\n"
    "w = fma(fma(fma(fma(-2.73008965e-07, s, 2.48005999e-05), s, -0.00138888881), s, 0.0416666679), s * s, "
    "fma(s, -0.5, 1))\n";

// asin of |a|, or of sqrt((1 - |a|) / 2) where |a| is `far` from 0.
constexpr std::string_view arcsine =
    "x = abs(a)\n"
    "far = x > 0.5\n"
    "s = far ? fma(-0.5, x, 0.5) : x * x\n"
    "z = far ? sqrt(s) : x\n"
    "p = fma(fma(fma(0.0421664566, s, 0.0241807643), s, 0.0454697721), s, 0.0749530643)\n"
    "t = fma(fma(p, s, 0.166667521) * s, z, z)\n";
// atan of z in [0, 1].
constexpr std::string_view arctangent =
    "s = z * z\n"
    "p = fma(fma(fma(0.00292180921, s, -0.0163712259), s, 0.043215014), s, -0.0755227208)\n"
    "p = fma(fma(fma(fma(p, s, 0.106659308), s, -0.142110154), s, 0.199937671), s, -0.333331525)\n"
    "t = fma(p * s, z, z)\n";

// One of the steps of a division: 40 digits of the quotient, of which at most 254 are wanted.
constexpr std::string_view remainder =
    "s = min(n, 40)\n"
    "r = (r << s) % d\n"
    "n = n - s\n";

constexpr DefinitionRow functions[] = {
    {Op::exp2,
     f32_,
     "a",
     {"x = a < -152 ? -152 : a > 130 ? 130 : a\n"
      "i = round(x)\nf = x - i\nn = s32(i)\n"
      "p = fma(fma(fma(0.000154531634, f, 0.00133908633), f, 0.00961808302), f, 0.0555035695)\n"
      "p = fma(fma(fma(p, f, 0.240226507), f, 0.693147182), f, 1)\n",
      scaled}},
    {Op::exp, f32_, "a", {"x = a < -106 ? -106 : a > 90 ? 90 : a\n", exponential, exponential_end, scaled}},
    {Op::exp10,
     f32_,
     "a",
     {"x = a < -46 ? -46 : a > 39 ? 39 : a\n"
      "i = round(x * 3.32192802)\n"
      "n = s32(i)\n"
      "f = fma(i, 1.43209887e-08, fma(i, -0.30103001, x))\n"
      "p = fma(fma(fma(0.0884281918, f, 0.208781347), f, 0.538877368), f, 1.17121792)\n"
      "p = fma(fma(fma(fma(p, f, 2.0346787), f, 2.65094924), f, 2.30258512), f, 1)\n",
      scaled}},
    {Op::expm1,
     f32_,
     "a",
     {"x = a < -20 ? -20 : a > 89 ? 89 : a\n", exponential,
      "p = fma(fma(fma(0.000196704466, f, 0.00139349699), f, 0.00833364017), f, 0.0416664667)\n"
      "p = fma(fma(fma(p, f, 0.166666657), f, 0.5), f * f, f)\n"
      "s = float_bits(u32(n + 126) << 23)\n",
      part::expm1_end, part::odd}},
    {Op::cosh, f32_, "a", {magnitude, exponential, exponential_end, part::halved, scaled, part::cosh_end}},
    {Op::sinh,
     f32_,
     "a",
     {magnitude, exponential, exponential_end, part::halved, scaled,
      "\ns = x * x\n"
      "v = fma(fma(fma(2.78221319e-06, s, 0.000198428956), s, 0.00833331048), s, 0.166666672)\n"
      "y = x < 1 ? fma(v * s, x, x) : result - 0.25 / result\n",
      part::odd}},
    {Op::log, f32_, "a", {logarithm, logarithm_end, "y = fma(e, 0.693147182, r)\n", part::of_positive}},
    {Op::log2,
     f32_,
     "a",
     {logarithm, logarithm_end, "y = fma(r, 1.44269502, fma(r, 1.92596303e-08, e))\n", part::of_positive}},
    {Op::log10,
     f32_,
     "a",
     {logarithm, logarithm_end,
      "y = fma(e, 0.301025391, fma(r, 0.434294492, fma(e, 4.60503907e-06, r * -1.01034604e-08)))\n",
      part::of_positive}},
    // 1 + a is off by a rounding, but its exponent k serves: f = (1 + a) / 2^k - 1 is taken from a
    {Op::log1p,
     f32_,
     "a",
     {"u = a + 1\n"
      "k = s32(bits(u) - 0x3F2AAAAB) & 0xFF800000\n"
      "f = fma(float_bits(0x40800000 - u32(k)), 0.25, -1) + float_bits(bits(a) - u32(k))\n"
      "e = f32(k) * 1.1920929e-7\n",
      logarithm_end, "y = fma(e, 0.693147182, r)\n", part::above_minus_1}},
    {Op::sin,
     f32_,
     "a",
     {quarters, sine_and_cosine, "y = bits((q & 1) == 1 ? w : v) ^ (q & 2) << 30 ^ bits(a) & 0x80000000\n",
      part::finite}},
    {Op::cos,
     f32_,
     "a",
     {quarters, sine_and_cosine, "y = bits((q & 1) == 1 ? v : w) ^ (q + 1 & 2) << 30\n", part::finite}},
    {Op::tan,
     f32_,
     "a",
     {quarters,
      "p = fma(fma(fma(0.00438613398, s, 7.5277072e-05), s, 0.01084169), s, 0.0212824326)\n"
      "p = fma(fma(fma(p, s, 0.0540592708), s, 0.133326754), s, 0.333333492)\n"
      "v = fma(p * s, r, r)\n"
      "y = bits((q & 1) == 1 ? -1 / v : v) ^ bits(a) & 0x80000000\n",
      part::finite}},
    {Op::asin, f32_, "a", {arcsine, "y = far ? fma(0.933189452, 1.68325555, -2 * t) : t\n", part::within_1}},
    {Op::acos,
     f32_,
     "a",
     {arcsine,
      "y = fma(0.933189452, 1.68325555, far ? -t : -copysign(t, a))\n"
      "result = x <= 1 ? far ? 2 * (a > 0 ? t : y) : y : nan"}},
    {Op::atan,
     f32_,
     "a",
     {part::atan_begin, arctangent, "y = far ? fma(0.933189452, 1.68325555, -t) : t\n", part::odd}},
    {Op::atan2,
     f32_,
     "ab",
     {part::atan2_begin, arctangent,
      "back = bits(b) >> 31 != 0\n"
      "y = fma(0.933189452, steep ? 1.68325555 : back ? 3.36651111 : 0, steep != back ? -t : t)\n",
      part::atan2_end}},
    {Op::tanh,
     f32_,
     "a",
     {"x = abs(a)\ns = a * a\n"
      "p = fma(fma(0.00234493124, s, -0.00838877354), s, 0.0217822473)\n"
      "p = fma(fma(fma(p, s, -0.0539608561), s, 0.133333102), s, -0.333333343)\n"
      "y = x < 0.6 ? fma(p * s, x, x) : 1 - 2 / (exp(2 * x) + 1)\n",
      part::odd}},
    {Op::sigmoid, f32_ | f64_, "a", {"e = exp(-abs(a))\nr = 1 / (1 + e)\nresult = a < 0 ? e * r : r"}},
    {Op::erf,
     f32_,
     "a",
     {"x = abs(a)\ns = a * a\n"
      "p = fma(fma(7.87587487e-05, s, -0.00080168643), s, 0.00518908724)\n"
      "p = fma(fma(fma(fma(p, s, -0.0268542115), s, 0.112835944), s, -0.37612626), s, 0.128379166)\n"
      "y = x > 4 ? 4 : x\n"
      "e = fma(fma(fma(1.26572741e-05, y, -0.000306511443), y, 0.0033589208), y, -0.0223268904)\n"
      "e = fma(fma(fma(fma(e, y, 0.102672428), y, 0.639911354), y, 1.12537336), y, 0.000910565199)\n"
      "result = isnan(a) ? a + a : copysign(x < 1 ? fma(p, x, x) : 1 - exp(-e), a)"}},
    // exp(-x^2) * q / d, where the roundings of the square, the polynomial and the quotient are made good
    {Op::erfc,
     f32_,
     "a",
     {"x = abs(a)\n"
      "x = x > 10.5 ? 10.5 : x\n"
      "t = (x - 2) / (x + 2)\n"
      "s = x * x\n"
      "e = exp(-s)\n"
      "e = fma(fma(x, x, -s), -e, e)\n"
      "p = fma(fma(fma(fma(-0.000400573743, t, -0.00122992333), t, 0.00131352025), t, 0.00863167644), t, "
      "-0.00805987418)\n"
      "p = fma(fma(fma(fma(p, t, -0.0542042963), t, 0.164055347), t, -0.16603142), t, -0.0927639827)\n"
      "q = fma(p, t, 1.27697837)\n"
      "d = fma(x, 2, 1)\n"
      "w = 1 / d\n"
      "y = q * w\n"
      "y = fma(fma(-y, d, q) + fma(p, t, 1.27697837 - q), w, y) * e\n"
      "result = a < 0 ? 2 - y : y"}},
    // by way of the reciprocal of the root, in two steps of third order from an estimate in integers, and a
    // last one with the exact cube
    {Op::cbrt,
     f32_,
     "a",
     {"x = abs(a)\n"
      "small = x < 1e-30\n"
      "x = small ? x * 16777216 : x\n"
      "r = float_bits(0x54A2FA8C - mulhi(bits(x), 0x55555556))\n"
      "h = fma(x * r * r, -r, 1)\n"
      "r = fma(fma(h, 0.222222224, 0.333333343) * h, r, r)\n"
      "h = fma(x * r * r, -r, 1)\n"
      "r = fma(fma(h, 0.222222224, 0.333333343) * h, r, r)\n"
      "y = x * r * r\n"
      "s = y * y\n"
      "d = fma(-fma(y, y, -s), y, fma(-s, y, x))\n"
      "y = fma(d, r * r * 0.333333343, y) * (small ? 0.00390625 : 1)\n",
      part::cbrt_end}},
    {Op::hypot,
     f32_,
     "ab",
     {"x = f64(a)\n"
      "y = f64(b)\n"
      "result = isinf(a) || isinf(b) ? inf : f32(sqrt(fma(x, x, y * y)))"}},
    // as a = r * 2^i, b = d * 2^j of integers: the remainder of r * 2^(i-j) and d
    {Op::fmod,
     f32_,
     "ab",
     {"x = bits(a) & 0x7FFFFFFF\n"
      "y = bits(b) & 0x7FFFFFFF\n"
      "i = max(x >> 23, 1)\n"
      "j = max(y >> 23, 1)\n"
      "r = u64(x - (i - 1 << 23))\n"
      "d = u64(max(y - (j - 1 << 23), 1))\n"
      "n = x < y ? 0 : i - j\n",
      remainder, remainder, remainder, remainder, remainder, remainder, remainder,
      "v = f32(r) * 1.1920929e-7 * float_bits(j << 23)\n"
      "result = x >= 0x7F800000 || y > 0x7F800000 || y == 0 ? nan : copysign(x < y ? abs(a) : v, a)"}},
    // by way of f64, whose logarithm is right to 40 bits
    {Op::pow,
     f32_,
     "ab",
     {"x = f64(abs(a))\n"
      "k = s64(bits(x) - 0x3FE5555555555555) & 0xFFF0000000000000\n"
      "f = float_bits(bits(x) - u64(k)) - 1\n"
      "s = f * f\n"
      "p = fma(fma(-0.13612387427150521, f, 0.1447636141460126), s, fma(-0.094080237775156728, f, "
      "0.10149818310947326))\n"
      "p = fma(p, s, fma(-0.12110016930363889, f, 0.13207917105427955))\n"
      "p = fma(p, s, fma(-0.14422291271575191, f, 0.1602502296804855))\n"
      "p = fma(p, s, fma(-0.18033821513358317, f, 0.20610070177879916))\n"
      "p = fma(p, s, fma(-0.24044915479392104, f, 0.28853898843839926))\n"
      "p = fma(p, s, fma(-0.36067376032151766, f, 0.48089834706785006))\n"
      "p = fma(p, s, fma(-0.72134752044439543, f, 1.4426950408888723))\n"
      "l = a == 0 ? -inf : isinf(a) ? inf : fma(p, f, f64(k >> 52))\n"
      "t = l == 0 ? 0 : l * f64(b)\n"
      "t = t < -200 ? -200 : t > 200 ? 200 : t\n"
      "i = round(t)\ng = t - i\n"
      "e = fma(fma(1.3255224878667881e-06, g, 1.5310079402249296e-05), g, 0.00015403455852453838)\n"
      "e = fma(fma(fma(e, g, 0.0013333450568000645), g, 0.0096181291594025584), g, 0.055504109412059327)\n"
      "e = fma(fma(fma(e, g, 0.24022650695812989), g, 0.69314718054593349), g, 1)\n"
      "y = f32(e * float_bits(u64(s64(i) + 1023) << 52))\n"
      "whole = trunc(b) == b\n"
      "odd = whole && trunc(b * 0.5) * 2 != b\n"
      "signed = odd && (bits(a) & 0x80000000) != 0\n"
      "y = isnan(a) || isnan(b) || a < 0 && isfinite(a) && !whole ? nan : signed ? -y : y\n"
      "result = b == 0 || a == 1 ? 1 : y"}},
    {Op::rsqrt, f32_ | f64_, "a", {"result = rcp(sqrt(a))"}},
    {Op::approx_exp, f32_, "a", {"result = approx_exp2(a * 1.4426950408889634)"}},
    {Op::approx_log, f32_, "a", {"result = approx_log2(a) * 0.6931471805599453"}},
    {Op::approx_sigmoid, f32_, "a", {"result = approx_rcp(1 + approx_exp2(a * -1.4426950408889634))"}},
};

}  // namespace

std::span<const DefinitionRow> functions_of_f32() { return functions; }

}  // namespace ptxgraft::expr
