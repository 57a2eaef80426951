// Functions of f64.

#include "stub/expr/definitions.hpp"

namespace ptxgraft::expr {
namespace {

// exp(x) of x in [-746, 711]: 2^n * (1 + f + f^2 * p).
constexpr std::string_view exponential =
    "i = round(x * 1.4426950408889634)\n"
    "n = s32(i)\n"
    "f = fma(i, -1.9082149292705877e-10, fma(i, -0.69314718036912382, x))\n"
    "p = fma(fma(fma(fma(2.0956198600878781e-09, f, 2.51100642275074e-08), f, 2.7557162446902479e-07), f, "
    "2.7557241664262087e-06), f, 2.4801587426409702e-05)\n"
    "p = fma(fma(fma(fma(p, f, 0.00019841269888161875), f, 0.0013888888888848642), f, "
    "0.0083333333333210757), f, 0.041666666666666706)\n"
    "p = fma(p, f, 0.16666666666666677)\n";
constexpr std::string_view exponential_end = "p = fma(fma(fma(p, f, 0.5), f, 1), f, 1)\n";
// 2^n * p in two steps, so that neither overflows nor underflows before the result does.
constexpr std::string_view scaled =
    "h = n >> 1\n"
    "result = p * float_bits(u64(h + 1023) << 52) * float_bits(u64(n - h + 1023) << 52)";
// Of sinh and cosh, whose results are infinite beyond.
constexpr std::string_view magnitude = "x = abs(a)\nx = x > 711 ? 711 : x\n";

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
    "p = fma(fma(fma(fma(0.13852935123882096, z, 0.13172205044670482), z, 0.15391189021014828), z, "
    "0.18181663770457729), z, 0.22222224325733747)\n"
    "p = fma(fma(fma(p, z, 0.28571428555639511), z, 0.40000000000057079), z, 0.66666666666666596)\n"
    "h = 0.5 * f * f\n"
    "r = t * fma(z, p, h)\n";
// f - h + r as g + l
constexpr std::string_view exactly =
    "g = f - h\n"
    "l = f - g - h - fma(0.5 * f, f, -h) + r\n";

// The angle in quarter turns as of f32, in fixed point of 126 bits below 4: `w0` to `w3` are the words of
// 2/pi from which the exponent t selects, and the bits in front of them count whole turns. The rest is r + d
// radians, `q` counts the quarter turns.
constexpr std::string_view two_over_pi =
    "b = bits(a) & 0x7FFFFFFFFFFFFFFF\n"
    "t = max(u32(b >> 52), 1022) - 1013\n"
    "m = b & 0xFFFFFFFFFFFFF | 0x10000000000000\n"
    "c = (t & 1024) != 0\n"
    "w0 = c ? 0x7527BAC7EBE5F17B : 0; w1 = c ? 0x3D0739F78A5292EA : 0xA2F9836E4E441529; w2 = c ? "
    "0x6BFB5FB11F8D5D08 : 0xFC2757D1F534DDC0\n"
    "w3 = c ? 0x56033046FC7B6BAB : 0xDB6295993C439041\n"
    "c = (t & 512) != 0\n"
    "w0 = c ? 0xE88235F52EBB4484 : w0; w1 = c ? 0xE99C7026B45F7E41 : w1; w2 = c ? 0x3991D639835339F4 : w2\n"
    "w3 = c ? 0x9C845F8BBDF9283B : w3; w4 = c ? 0x1FF897FFDE05980F : 0xFE5163ABDEBBC561; w5 = c ? "
    "0xEF2F118B5A0A6D1F : 0xB7246E3A424DD2E0\n"
    "w6 = c ? 0x6D367ECF27CB09B7 : 0x6492EEA09D1921C; w7 = c ? 0x4F463F669E5FEA2D : 0xFE1DEB1CB129A73E; w8 = "
    "c ? 0x7527BAC7EBE5F17B : 0xE88235F52EBB4484\n"
    "w9 = c ? 0x3D0739F78A5292EA : 0xE99C7026B45F7E41; w10 = c ? 0x6BFB5FB11F8D5D08 : 0x3991D639835339F4\n"
    "c = (t & 256) != 0\n"
    "w0 = c ? w4 : w0; w1 = c ? w5 : w1; w2 = c ? w6 : w2\n"
    "w3 = c ? w7 : w3; w4 = c ? w8 : w4; w5 = c ? w9 : w5\n"
    "w6 = c ? w10 : w6\n"
    "c = (t & 128) != 0\n"
    "w0 = c ? w2 : w0; w1 = c ? w3 : w1; w2 = c ? w4 : w2\n"
    "w3 = c ? w5 : w3; w4 = c ? w6 : w4\n"
    "c = (t & 64) != 0\n"
    "w0 = c ? w1 : w0; w1 = c ? w2 : w1; w2 = c ? w3 : w2\n"
    "w3 = c ? w4 : w3\n";
constexpr std::string_view quarters =
    "t = t & 63\n"
    "x = w0 << t | w1 >> (64 - t)\n"
    "y = w1 << t | w2 >> (64 - t)\n"
    "z = mulhi(m, w2 << t | w3 >> (64 - t))\n"
    "l = m * y + z\n"
    "h = m * x + mulhi(m, y) + (l < z ? 1 : 0)\n"
    "q = u32((h + 0x2000000000000000) >> 62)\n"
    "i = s64(h - (u64(q) << 62))\n"
    "g = f64(i)\n"
    "d = fma(f64(i - s64(g)), 1.8446744073709552e19, f64(l))\n"
    "g = g * 1.8446744073709552e19\n"
    "v = g + d\n"
    "d = g - v + d\n"
    "near = b <= 0x3FE921FB54442D18\n"
    "q = near ? 0 : q\n"
    "r = near ? float_bits(b) : v * 1.8464622084398007e-38\n"
    "d = near ? 0 : fma(v, 1.8464622084398007e-38, -r) + fma(v, 7.1978269707515514e-55, d * "
    "1.8464622084398007e-38)\n"
    "s = r * r\n";
// Sine and cosine of r + d.
constexpr std::string_view sine_and_cosine =
    "p = fma(fma(fma(fma(-7.482808092659535e-13, s, 1.6056205401119811e-10), s, -2.5052085617915431e-08), s, "
    "2.7557319127902935e-06), s, -0.00019841269841054581)\n"
    "p = fma(fma(p, s, 0.008333333333333099), s, -0.16666666666666666)\n"
    "v = r + fma(p * s, r, fma(s, -0.5, 1) * d)\n"
    "p = fma(fma(fma(fma(-1.1358759173745723e-11, s, 2.0875705609528373e-09), s, -2.7557314218693508e-07), "
    "s, 2.4801587289007554e-05), s, -0.0013888888888873348)\n"
    "p = fma(p, s, 0.041666666666666595)\n"
    "u = fma(s, -0.5, 1)\n"
    "w = u + fma(p * s, s, fma(s, -0.5, 1 - u) - r * d)\n";

// y is erfc(|a|) as exp(-x^2) * q / d, where the roundings of the square, the polynomial and the quotient are
// made good.
constexpr std::string_view error_complement =
    "x = abs(a)\n"
    "x = x > 27.5 ? 27.5 : x\n"
    "t = (x - 3.5) / (x + 3.5)\n"
    "s = x * x\n"
    "e = exp(-s)\n"
    "e = fma(fma(x, x, -s), -e, e)\n"
    "p = fma(fma(fma(fma(2.7159836018696543e-09, t, 1.1169336794725869e-08), t, -8.377804967836329e-09), t, "
    "-9.5581059363738569e-08), t, 4.8349852904689762e-09)\n"
    "p = fma(fma(fma(fma(p, t, 6.0381314726708483e-07), t, -5.4553273406767095e-08), t, "
    "-3.8173101572053218e-06), t, 2.333504786804287e-06)\n"
    "p = fma(fma(fma(fma(p, t, 2.4262368744257546e-05), t, -4.2783922285935462e-05), t, "
    "-0.00012151286607612284), t, 0.00056438477455827637)\n"
    "p = fma(fma(fma(fma(p, t, -0.00030226779156014132), t, -0.0042150199554033827), t, "
    "0.019099330932528798), t, -0.048823325824127496)\n"
    "p = fma(fma(fma(fma(p, t, 0.087983153825482621), t, -0.11508959816034867), t, 0.097519095153241184), t, "
    "-0.010555596332215695)\n"
    "p = fma(p, t, -0.14000918013761929)\n"
    "q = fma(p, t, 1.2423492448711544)\n"
    "d = fma(x, 2, 1)\n"
    "w = 1 / d\n"
    "y = q * w\n"
    "y = fma(fma(-y, d, q) + fma(p, t, 1.2423492448711544 - q), w, y) * e\n";
// v is erf(|a|) of |a| below 1.
constexpr std::string_view error_near_0 =
    "s = a * a\n"
    "p = fma(fma(fma(fma(-7.7686224412489566e-10, s, 1.3704701073642743e-08), s, -1.6204731956806229e-07), "
    "s, 1.6446904244398289e-06), s, -1.4924691767202437e-05)\n"
    "p = fma(fma(fma(fma(p, s, 0.00012055292365990055), s, -0.00085483258824357281), s, "
    "0.0052239776049506506), s, -0.026866170642933257)\n"
    "p = fma(fma(fma(p, s, 0.11283791670942668), s, -0.3761263890318346), s, 0.12837916709551256)\n"
    "v = fma(p, abs(a), abs(a))\n";

// asin of |a|, or of sqrt((1 - |a|) / 2) where |a| is `far` from 0, as z + v.
constexpr std::string_view arcsine =
    "x = abs(a)\n"
    "far = x > 0.5\n"
    "s = far ? fma(-0.5, x, 0.5) : x * x\n"
    "z = far ? sqrt(s) : x\n"
    "p = fma(fma(fma(fma(0.031934287133964574, s, -0.016255750866322687), s, 0.019547922795300498), s, "
    "0.0065209516205645491), s, 0.01217079659476584)\n"
    "p = fma(fma(fma(fma(p, s, 0.013885000436931819), s, 0.017359727857830742), s, 0.022371756570290165), s, "
    "0.030381959196282973)\n"
    "p = fma(fma(fma(p, s, 0.044642856826957913), s, 0.075000000003385747), s, 0.16666666666665403)\n"
    "v = p * s * z\n";
// t is atan of z in [0, 1].
constexpr std::string_view arctangent =
    "s = z * z\n"
    "p = fma(fma(fma(fma(-2.0259543738459924e-05, s, 0.00022303201972577558), s, -0.0011641148407799018), s, "
    "0.0038560929270022516), s, -0.0091847803984241947)\n"
    "p = fma(fma(fma(fma(p, s, 0.016978336340659764), s, -0.025827102627315007), s, 0.03406804865833539), s, "
    "-0.040926524710782758)\n"
    "p = fma(fma(fma(fma(p, s, 0.046739562096786785), s, -0.052392353583421619), s, 0.058773084141883397), "
    "s, -0.06665860495189789)\n"
    "p = fma(fma(fma(fma(p, s, 0.076922129504909925), s, -0.090909012375349388), s, 0.11111110678903867), s, "
    "-0.14285714271341773)\n"
    "p = fma(fma(p, s, 0.19999999999755189), s, -0.3333333333333186)\n"
    "t = fma(p * s, z, z)\n";

constexpr DefinitionRow functions[] = {
    {Op::exp, f64_, "a", {"x = a < -746 ? -746 : a > 710 ? 710 : a\n", exponential, exponential_end, scaled}},
    {Op::exp2,
     f64_,
     "a",
     {"x = a < -1076 ? -1076 : a > 1025 ? 1025 : a\n"
      "i = round(x)\n"
      "f = x - i\n"
      "n = s32(i)\n"
      "p = fma(fma(fma(fma(2.5511970271032265e-11, f, 4.4655169055421629e-10), f, 7.0550670782728613e-09), "
      "f, 1.0177985754365319e-07), f, 1.3215486306867876e-06)\n"
      "p = fma(fma(fma(fma(p, f, 1.5252734036605989e-05), f, 0.0001540353039406165), f, "
      "0.0013333558146164529), f, 0.0096181291076280467)\n"
      "p = fma(fma(fma(fma(p, f, 0.055504108664822936), f, 0.24022650695910072), f, 0.69314718055994529), f, "
      "1)\n",
      scaled}},
    {Op::exp10,
     f64_,
     "a",
     {"x = a < -325 ? -325 : a > 309 ? 309 : a\n"
      "i = round(x * 3.3219280948873622)\n"
      "n = s32(i)\n"
      "f = fma(i, -8.241712586023572e-13, fma(i, -0.30102999566315702, x))\n"
      "p = fma(fma(fma(fma(4.5753427126121805e-05, f, 0.00024083600815541045), f, 0.0011545487699326357), f, "
      "0.005014008084032108), f, 0.019597693250300224)\n"
      "p = fma(fma(fma(fma(p, f, 0.068089362898482386), f, 0.2069958487145874), f, 0.53938292922140563), f, "
      "1.1712551489121639)\n"
      "p = fma(fma(fma(fma(p, f, 2.0346785922933446), f, 2.6509490552391992), f, 2.3025850929940459), f, "
      "1)\n",
      scaled}},
    {Op::expm1,
     f64_,
     "a",
     {"x = a < -40 ? -40 : a > 710 ? 710 : a\n", exponential,
      "p = fma(fma(p, f, 0.5), f * f, f)\n"
      "s = float_bits(u64(n + 1022) << 52)\n",
      part::expm1_end, part::odd}},
    {Op::cosh, f64_, "a", {magnitude, exponential, exponential_end, part::halved, scaled, part::cosh_end}},
    {Op::sinh,
     f64_,
     "a",
     {magnitude, exponential, exponential_end, part::halved, scaled,
      "\ns = x * x\n"
      "p = fma(fma(fma(fma(6.4866165342924544e-15, s, 7.5029796399937753e-13), s, 1.6061341653202319e-10), "
      "s, 2.5052089404427614e-08), s, 2.7557319310099391e-06)\n"
      "p = fma(fma(fma(p, s, 0.00019841269841061151), s, 0.0083333333333335726), s, 0.16666666666666666)\n"
      "y = x < 1 ? fma(p * s, x, x) : result - 0.25 / result\n",
      part::odd}},
    {Op::log,
     f64_,
     "a",
     {logarithm, logarithm_end,
      "y = fma(e, 0.69314718036912382, f - (h - fma(e, 1.9082149292705877e-10, r)))\n", part::of_positive}},
    {Op::log2,
     f64_,
     "a",
     {logarithm, logarithm_end, exactly,
      "t = g * 1.4426950408889634\n"
      "l = fma(g, 1.4426950408889634, -t) + fma(g, 2.0355273740931033e-17, l * 1.4426950408889634)\n"
      "w = e + t\n"
      "y = w + (e - w + t + l)\n",
      part::of_positive}},
    {Op::log10,
     f64_,
     "a",
     {logarithm, logarithm_end, exactly,
      "t = g * 0.43429448190325182\n"
      "l = fma(g, 0.43429448190325182, -t) + fma(g, 1.0983196502167651e-17, l * 0.43429448190325182)\n"
      "v = e * 0.30102999566315702\n"
      "w = v + t\n"
      "y = w + (v - w + t + fma(e, 8.241712586023572e-13, l))\n",
      part::of_positive}},
    // f as of f32; c is what its sum was rounded by
    {Op::log1p,
     f64_,
     "a",
     {"u = a + 1\n"
      "k = s64(bits(u) - 0x3FE5555555555555) & 0xFFF0000000000000\n"
      "d = fma(float_bits(0x4010000000000000 - u64(k)), 0.25, -1)\n"
      "m = float_bits(bits(a) - u64(k))\n"
      "f = d + m\n"
      "v = f - d\n"
      "c = d - (f - v) + (m - v)\n"
      "e = f64(k >> 52)\n",
      logarithm_end, "y = fma(e, 0.69314718036912382, f - (h - (fma(e, 1.9082149292705877e-10, r) + c)))\n",
      part::above_minus_1}},
    {Op::tanh,
     f64_,
     "a",
     {"x = abs(a)\n"
      "t = expm1(2 * (x > 22 ? 22 : x))\n"
      "y = (x < 1 ? t : 2) / (t + 2)\n"
      "result = isnan(a) ? a + a : copysign(x < 1 ? y : 1 - y, a)"}},
    {Op::sin,
     f64_,
     "a",
     {two_over_pi, quarters, sine_and_cosine,
      "y = bits((q & 1) == 1 ? w : v) ^ u64(q & 2) << 62 ^ bits(a) & 0x8000000000000000\n", part::finite}},
    {Op::cos,
     f64_,
     "a",
     {two_over_pi, quarters, sine_and_cosine, "y = bits((q & 1) == 1 ? v : w) ^ u64(q + 1 & 2) << 62\n",
      part::finite}},
    {Op::tan,
     f64_,
     "a",
     {two_over_pi, quarters, sine_and_cosine,
      "c = (q & 1) == 1\n"
      "y = (c ? -w : v) / (c ? v : w)\n"
      "result = isfinite(a) ? float_bits(bits(y) ^ bits(a) & 0x8000000000000000) : a - a"}},
    {Op::asin,
     f64_,
     "a",
     {arcsine, "y = far ? fma(z, -2, 1.5707963267948966) - fma(v, 2, -6.123233995736766e-17) : z + v\n",
      part::within_1}},
    {Op::acos,
     f64_,
     "a",
     {arcsine,
      "t = z + v\n"
      "y = 1.5707963267948966 - ((far ? t : copysign(t, a)) - 6.123233995736766e-17)\n"
      "result = x <= 1 ? far ? 2 * (a > 0 ? t : y) : y : nan"}},
    {Op::atan,
     f64_,
     "a",
     {part::atan_begin, arctangent, "y = far ? 1.5707963267948966 - (t - 6.123233995736766e-17) : t\n",
      part::odd}},
    {Op::atan2,
     f64_,
     "ab",
     {part::atan2_begin, arctangent,
      "back = bits(b) >> 63 != 0\n"
      "h = steep ? 0.5 : back ? 1 : 0\n"
      "y = h * 3.1415926535897931 + (h * 1.2246467991473532e-16 + (steep != back ? -t : t))\n",
      part::atan2_end}},
    {Op::erf,
     f64_,
     "a",
     {error_complement, error_near_0, "result = isnan(a) ? a + a : copysign(abs(a) < 1 ? v : 1 - y, a)"}},
    {Op::erfc,
     f64_,
     "a",
     {error_complement, error_near_0, "result = abs(a) < 0.25 ? 1 - copysign(v, a) : a < 0 ? 2 - y : y"}},
    // as of f32
    {Op::cbrt,
     f64_,
     "a",
     {"x = abs(a)\n"
      "small = x < 1e-280\n"
      "x = small ? x * 1.532495540865889e54 : x\n"
      "r = float_bits(0x553EF0FF289DD796 - mulhi(bits(x), 0x5555555555555556))\n"
      "h = fma(x * r * r, -r, 1)\n"
      "r = fma(fma(h, 0.22222222222222222, 0.33333333333333333) * h, r, r)\n"
      "h = fma(x * r * r, -r, 1)\n"
      "r = fma(fma(h, 0.22222222222222222, 0.33333333333333333) * h, r, r)\n"
      "y = x * r * r\n"
      "s = y * y\n"
      "d = fma(-fma(y, y, -s), y, fma(-s, y, x))\n"
      "y = fma(d, r * r * 0.33333333333333333, y) * (small ? 8.673617379884035e-19 : 1)\n",
      part::cbrt_end}},
    // scaled so that squares neither overflow nor underflow
    {Op::hypot,
     f64_,
     "ab",
     {"x = abs(a)\n"
      "y = abs(b)\n"
      "m = max(x, y)\n"
      "s = m > 1e150 ? 2.409919865102884e-181 : m < 1e-150 ? 4.149515568880993e180 : 1\n"
      "u = m > 1e150 ? 4.149515568880993e180 : m < 1e-150 ? 2.409919865102884e-181 : 1\n"
      "x = x * s\n"
      "y = y * s\n"
      "result = isinf(a) || isinf(b) ? inf : sqrt(fma(x, x, y * y)) * u"}},
    // the logarithm l + h is right to 64 bits, so that t + d = (l + h) * b, which is up to 1100, is right to
    // 53 behind the point
    {Op::pow,
     f64_,
     "ab",
     {"x = abs(a)\n"
      "small = x < 2.2250738585072014e-308\n"
      "x = small ? x * 18014398509481984 : x\n"
      "k = s64(bits(x) - 0x3FE6A09E667F3BCD) & 0xFFF0000000000000\n"
      "f = float_bits(bits(x) - u64(k)) - 1\n"
      "e = f64(k >> 52) - (small ? 54 : 0)\n"
      "d = f + 2\n"
      "t = f / d\n"
      "u = fma(-t, d, f) - t * (f - (d - 2))\n"
      "u = u / d\n"
      "z = t * t\n"
      "y = fma(t, t, -z) + 2 * t * u\n"
      "p = fma(fma(fma(fma(0.062912352644871619, z, 0.057952799215055917), z, 0.066706323594057343), z, "
      "0.076922012033771484), z, 0.09090910805264725)\n"
      "p = fma(fma(fma(p, z, 0.11111111095155581), z, 0.14285714285791282), z, 0.19999999999999857)\n"
      "g = z * 0.33333333333333331\n"
      "h = fma(z, 0.33333333333333331, -g) + fma(z, 1.8503717077085941e-17, fma(y, 0.33333333333333331, z * "
      "z * p))\n"
      "v = g + h\n"
      "h = g - v + h\n"
      "s = t * v\n"
      "r = t + s\n"
      "u = t - r + s + (fma(t, v, -s) + fma(t, h, fma(u, g, u)))\n"
      "g = r * 2.8853900817779268\n"
      "h = fma(r, 2.8853900817779268, -g) + fma(r, 4.0710547481862066e-17, u * 2.8853900817779268)\n"
      "l = e + g\n"
      "h = e - l + g + h\n"
      "l = a == 0 ? -inf : isinf(a) ? inf : l\n"
      "t = l == 0 ? 0 : l * b\n"
      "d = l == 0 || abs(t) > 1100 ? 0 : fma(l, b, -t) + h * b\n"
      "x = t < -1100 ? -1100 : t > 1100 ? 1100 : t\n"
      "i = round(x)\n"
      "n = s32(i)\n"
      "f = x - i + d\n"
      "p = fma(fma(fma(fma(2.5511970271032265e-11, f, 4.4655169055421629e-10), f, 7.0550670782728613e-09), "
      "f, 1.0177985754365319e-07), f, 1.3215486306867876e-06)\n"
      "p = fma(fma(fma(fma(p, f, 1.5252734036605989e-05), f, 0.0001540353039406165), f, "
      "0.0013333558146164529), f, 0.0096181291076280467)\n"
      "p = fma(fma(fma(fma(p, f, 0.055504108664822936), f, 0.24022650695910072), f, 0.69314718055994529), f, "
      "1)\n",
      scaled,
      "\nwhole = trunc(b) == b\n"
      "odd = whole && trunc(b * 0.5) * 2 != b\n"
      "signed = odd && bits(a) >> 63 != 0\n"
      "y = isnan(a) || isnan(b) || a < 0 && isfinite(a) && !whole ? nan : signed ? -result : result\n"
      "result = b == 0 || a == 1 ? 1 : y"}},
};

}  // namespace

std::span<const DefinitionRow> functions_of_f64() { return functions; }

}  // namespace ptxgraft::expr
