// Functions of f64.

#include "stub/expr/definitions.hpp"

namespace ptxgraft::expr {
namespace {

constexpr TypeSet f64_ = only(Type::f64);

// exp(x) of x in [-746, 711]: 2^n * (1 + f + f^2 * p).
constexpr std::string_view exponential =
    "i = round(x * 1.4426950408889634)\n"
    "n = s32(i)\n"
    "f = fma(i, -1.9082149292705877e-10, fma(i, -0.69314718036912382, x))\n"
    "p = fma(fma(fma(fma(2.0956198600878781e-09, f, 2.51100642275074e-08), f, 2.7557162446902479e-07), f, 2.7557241664262087e-06), f, 2.4801587426409702e-05)\n"
    "p = fma(fma(fma(fma(p, f, 0.00019841269888161875), f, 0.0013888888888848642), f, 0.0083333333333210757), f, 0.041666666666666706)\n"
    "p = fma(p, f, 0.16666666666666677)\n";
constexpr std::string_view exponential_end = "p = fma(fma(fma(p, f, 0.5), f, 1), f, 1)\n";
// 2^n * p in two steps, so that neither overflows nor underflows before the result does.
constexpr std::string_view scaled =
    "h = n >> 1\n"
    "result = p * float_bits(u64(h + 1023) << 52) * float_bits(u64(n - h + 1023) << 52)";
// 2^(n-1) * p is half of exp(|a|), which does not overflow before sinh and cosh do.
constexpr std::string_view magnitude = "x = abs(a)\nx = x > 711 ? 711 : x\n";
constexpr std::string_view halved = "n = n - 1\n";

// log(a) of f in [2/3, 4/3] and an exponent e, with subnormals scaled up first: e * log(2) + f - h + r, where
// h is f^2 / 2 and r is small.
constexpr std::string_view logarithm =
    "small = a < 2.2250738585072014e-308\n"
    "s = small ? a * 18014398509481984 : a\n"
    "k = s64(bits(s) - 0x3FE5555555555555) & 0xFFF0000000000000\n"
    "f = float_bits(bits(s) - u64(k)) - 1\n"
    "e = f64(k >> 52) - (small ? 54 : 0)\n";
constexpr std::string_view logarithm_end =
    "t = f / (f + 2)\n"
    "z = t * t\n"
    "p = fma(fma(fma(fma(0.13852935123882096, z, 0.13172205044670482), z, 0.15391189021014828), z, 0.18181663770457729), z, 0.22222224325733747)\n"
    "p = fma(fma(fma(p, z, 0.28571428555639511), z, 0.40000000000057079), z, 0.66666666666666596)\n"
    "h = 0.5 * f * f\n"
    "r = t * fma(z, p, h)\n";
// f - h + r as g + l
constexpr std::string_view exactly =
    "g = f - h\n"
    "l = f - g - h - fma(0.5 * f, f, -h) + r\n";
constexpr std::string_view of_positive =
    "result = a > 0 && a < inf ? y : a == 0 ? -inf : a < 0 ? nan : a + a";

constexpr DefinitionRow functions[] = {
    {Op::exp, f64_, "a", {"x = a < -746 ? -746 : a > 710 ? 710 : a\n", exponential, exponential_end, scaled}},
    {Op::exp2, f64_, "a",
     {"x = a < -1076 ? -1076 : a > 1025 ? 1025 : a\n"
      "i = round(x)\n"
      "f = x - i\n"
      "n = s32(i)\n"
      "p = fma(fma(fma(fma(2.5511970271032265e-11, f, 4.4655169055421629e-10), f, 7.0550670782728613e-09), f, 1.0177985754365319e-07), f, 1.3215486306867876e-06)\n"
      "p = fma(fma(fma(fma(p, f, 1.5252734036605989e-05), f, 0.0001540353039406165), f, 0.0013333558146164529), f, 0.0096181291076280467)\n"
      "p = fma(fma(fma(fma(p, f, 0.055504108664822936), f, 0.24022650695910072), f, 0.69314718055994529), f, 1)\n",
      scaled}},
    {Op::expm1, f64_, "a",
     {"x = a < -40 ? -40 : a > 710 ? 710 : a\n", exponential,
      "p = fma(fma(p, f, 0.5), f * f, f)\n"
      "s = float_bits(u64(n + 1022) << 52)\n"
      "y = n == 0 ? p : 2 * fma(p, s, s - 0.5)\n"
      "result = isnan(a) ? a + a : copysign(y, a)"}},
    {Op::cosh, f64_, "a",
     {magnitude, exponential, exponential_end, halved, scaled,
      "\nresult = result + 0.25 / result"}},
    {Op::sinh, f64_, "a",
     {magnitude, exponential, exponential_end, halved, scaled,
      "\ns = x * x\n"
      "p = fma(fma(fma(fma(6.4866165342924544e-15, s, 7.5029796399937753e-13), s, 1.6061341653202319e-10), s, 2.5052089404427614e-08), s, 2.7557319310099391e-06)\n"
      "p = fma(fma(fma(p, s, 0.00019841269841061151), s, 0.0083333333333335726), s, 0.16666666666666666)\n"
      "y = x < 1 ? fma(p * s, x, x) : result - 0.25 / result\n"
      "result = isnan(a) ? a + a : copysign(y, a)"}},
    {Op::log, f64_, "a",
     {logarithm, logarithm_end,
      "y = fma(e, 0.69314718036912382, f - (h - fma(e, 1.9082149292705877e-10, r)))\n", of_positive}},
    {Op::log2, f64_, "a",
     {logarithm, logarithm_end, exactly,
      "t = g * 1.4426950408889634\n"
      "l = fma(g, 1.4426950408889634, -t) + fma(g, 2.0355273740931033e-17, l * 1.4426950408889634)\n"
      "w = e + t\n"
      "y = w + (e - w + t + l)\n",
      of_positive}},
    {Op::log10, f64_, "a",
     {logarithm, logarithm_end, exactly,
      "t = g * 0.43429448190325182\n"
      "l = fma(g, 0.43429448190325182, -t) + fma(g, 1.0983196502167651e-17, l * 0.43429448190325182)\n"
      "v = e * 0.30102999566315702\n"
      "w = v + t\n"
      "y = w + (v - w + t + fma(e, 8.241712586023572e-13, l))\n",
      of_positive}},
    // f as of f32; c is what its sum was rounded by
    {Op::log1p, f64_, "a",
     {"u = a + 1\n"
      "k = s64(bits(u) - 0x3FE5555555555555) & 0xFFF0000000000000\n"
      "d = fma(float_bits(0x4010000000000000 - u64(k)), 0.25, -1)\n"
      "m = float_bits(bits(a) - u64(k))\n"
      "f = d + m\n"
      "v = f - d\n"
      "c = d - (f - v) + (m - v)\n"
      "e = f64(k >> 52)\n",
      logarithm_end,
      "y = fma(e, 0.69314718036912382, f - (h - (fma(e, 1.9082149292705877e-10, r) + c)))\n"
      "result = a > -1 && a < inf ? copysign(y, a) : a == -1 ? -inf : a < -1 ? nan : a + a"}},
    {Op::tanh, f64_, "a",
     {"x = abs(a)\n"
      "t = expm1(2 * (x > 22 ? 22 : x))\n"
      "y = (x < 1 ? t : 2) / (t + 2)\n"
      "result = isnan(a) ? a + a : copysign(x < 1 ? y : 1 - y, a)"}},
};

}  // namespace

std::span<const DefinitionRow> functions_of_f64() { return functions; }

}  // namespace ptxgraft::expr
