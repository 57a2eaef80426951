#pragma once
// What each stub of stubs/ promises: its formula in double precision and its error bound, as rows.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "ptxgraft/site.hpp"

namespace ptxgraft::test {

/// The operands' values at one point.
struct Point {
    const Signature& signature;
    const std::vector<std::uint64_t>& columns;
    std::size_t points, i;
    std::span<const float> table;

    [[nodiscard]] std::uint64_t bits(std::size_t operand) const { return columns[operand * points + i]; }
    [[nodiscard]] std::uint32_t u(std::size_t operand) const {
        return static_cast<std::uint32_t>(bits(operand));
    }
    [[nodiscard]] float f(std::size_t operand) const { return std::bit_cast<float>(u(operand)); }
    [[nodiscard]] double d(std::size_t operand) const { return static_cast<double>(f(operand)); }
    [[nodiscard]] std::string text() const {
        std::ostringstream out;
        out.precision(9);
        for (std::size_t k = 0; k < signature.operands.size(); ++k) {
            const SiteOperand& operand = signature.operands[k];
            if (operand.direction == Direction::out) continue;
            out << operand.name << " = ";
            if (operand.type == Type::f32)
                out << f(k) << ' ';
            else
                out << bits(k) << ' ';
        }
        return out.str();
    }
};

struct Wanted {
    double value;
    double error;
    bool anything = false;  ///< where nothing is promised
};
using Wants = std::vector<Wanted>;

/// One stub: what its `mod` and `out` operands become, in their order.
struct Case {
    const char* file;
    std::function<Wants(const Point&)> wanted;
    /// What must hold between the outputs, where no output is determined alone.
    std::function<bool(const Point&, std::span<const double>)> relation = {};
    const char* target = "sm_75";  ///< the first one
};

constexpr double infinity = std::numeric_limits<double>::infinity();
inline const Wanted anything{0, 0, true};

inline Wanted exact(double value) { return {value, 0}; }
/// Half an ulp of f32, and a little for the double rounding of the reference.
inline double half_ulp(double value) {
    if (value == 0 || !std::isfinite(value)) return 0x1p-150;
    return std::ldexp(1.000001, std::max(std::ilogb(value), -126) - 24);
}
inline Wanted once(double value) { return {value, half_ulp(value)}; }
inline Wanted within(double value, double relative, double absolute = 0) {
    return {value, (std::isfinite(value) ? relative * std::abs(value) : 0) + absolute};
}
inline double max_of(double a, double b) { return std::fmax(a, b); }

// --- activations

inline double relu(double x) { return x > 0 ? x : 0.0; }  // NaN gives 0
inline double expm1_negative(double x) { return x < 0 ? std::expm1(x) : 0.0; }
inline double sigmoid(double x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
inline double silu(double x) { return x == -infinity ? -0.0 : x * sigmoid(x); }
inline double gelu_erf(double x) { return x == -infinity ? -0.0 : x / 2 * std::erfc(-x * M_SQRT1_2); }
inline double gelu_tanh(double x) {
    return x == -infinity ? -0.0
           : x < -30      ? -0.0
                          : x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
inline double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
inline double mish(double x) {
    if (x == -infinity) return -0.0;
    const double e = std::exp(x), n = e * (e + 2);
    return x > 40 ? x : x * n / (n + 2);
}
inline double hard_swish(double x) { return x <= -3 ? -0.0 : x >= 3 ? x : x * (x + 3) / 6; }
constexpr double selu_scale = 1.0507009873554805, selu_alpha = 1.6732632423543772;

struct Activation {
    const char* name;
    std::function<double(double)> formula;
    double relative, absolute;
};

inline const std::vector<Activation>& activations() {
    static const std::vector<Activation> rows = {
        {"relu", relu, 0, 0},
        {"leaky_relu", [](double x) { return x < 0 ? 0.01 * x : x; }, 1e-7, 0x1p-149},
        {"elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 1e-7, 0},
        {"selu", [](double x) { return selu_scale * (x < 0 ? selu_alpha * std::expm1(x) : x); }, 1.7e-7,
         0x1p-148},
        {"gelu_erf", gelu_erf, 1e-6, 0x1p-149},
        {"silu", silu, 7e-7, 0x1p-142},
        {"mish", mish, 7e-7, 0x1p-142},
        {"softplus", softplus, 5e-7, 0x1p-149},
        {"hard_swish", hard_swish, 2e-7, 0x1p-149},
        {"tanh", [](double x) { return std::tanh(x); }, 4e-7, 0},
        {"sigmoid", sigmoid, 6e-7, 0x1p-149},
        {"squared_relu", [](double x) { return relu(x) * relu(x); }, 0x1.000002p-24, 0x1p-150},
    };
    return rows;
}

// --- fp8 (OCP): the value of a code, the code of a value

struct Fp8 {
    int mantissa_bits, bias;
    std::uint32_t largest;  ///< code of the largest number
    [[nodiscard]] double value(std::uint32_t code) const {
        const std::uint32_t magnitude = code & 0x7F, exponent = magnitude >> mantissa_bits;
        const double sign = code & 0x80 ? -1 : 1,
                     fraction = std::ldexp(magnitude & ((1u << mantissa_bits) - 1), -mantissa_bits);
        if (magnitude > largest)
            return mantissa_bits == 2 && magnitude == 0x7C ? sign * infinity
                                                           : std::numeric_limits<double>::quiet_NaN();
        return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                     : std::ldexp(1 + fraction, static_cast<int>(exponent) - bias));
    }
    // To nearest, ties to the even code, clamped.
    [[nodiscard]] std::uint32_t code(double x) const {
        if (std::isnan(x)) return 0x7F;
        std::uint32_t best = 0;
        for (std::uint32_t c = 1; c <= largest; ++c) {
            const double a = std::abs(value(c) - std::abs(x)), b = std::abs(value(best) - std::abs(x));
            if (a < b || (a == b && c % 2 == 0)) best = c;
        }
        if (std::abs(x) > value(largest)) best = largest;
        return best | (std::signbit(x) ? 0x80u : 0u);
    }
};
constexpr Fp8 e4m3{3, 7, 0x7E}, e5m2{2, 15, 0x7B};

inline double quotient(const Point& p, std::size_t x, std::size_t step) {
    return static_cast<double>(p.f(x) / p.f(step));
}
inline double int8_of(double quotient) {
    return std::isnan(quotient) ? 0.0 : std::clamp(std::nearbyint(quotient), -128.0, 127.0);
}
inline double fp8_pair(const Fp8& format, const Point& p) {
    return format.code(quotient(p, 0, 2)) | format.code(quotient(p, 1, 2)) << 8;
}

// --- masks: bit j says whether `keeps(column + j)`, in integers

template <class Keeps> Wants mask_of(const Point& p, std::size_t column, std::uint32_t old, Keeps keeps) {
    std::uint32_t mask = 0;
    for (std::uint32_t j = 0; j < 32; ++j)
        if (keeps(std::int64_t{p.u(column)} + j)) mask |= 1u << j;
    return {exact(mask & old)};
}
inline double difference(std::uint32_t a, std::uint32_t b) {  // a - b, rounded to f32
    return static_cast<double>(static_cast<float>(static_cast<double>(a) - static_cast<double>(b)));
}

// --- random numbers

struct PhiloxWords {
    std::uint32_t w[4];
};
inline PhiloxWords philox(PhiloxWords c, std::uint32_t k0, std::uint32_t k1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * c.w[0], b = std::uint64_t{0xCD9E8D57} * c.w[2];
        c = {{static_cast<std::uint32_t>(b >> 32) ^ c.w[1] ^ k0, static_cast<std::uint32_t>(b),
              static_cast<std::uint32_t>(a >> 32) ^ c.w[3] ^ k1, static_cast<std::uint32_t>(a)}};
        k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    return c;
}
inline PhiloxWords philox_block(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t block) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    return philox({{low(block), low(block >> 32), low(subsequence), low(subsequence >> 32)}}, low(seed),
                  low(seed >> 32));
}
inline PhiloxWords curand4(const Point& p) {
    const std::uint64_t offset = p.bits(2);
    const PhiloxWords first = philox_block(p.bits(0), p.bits(1), offset / 4),
                      second = philox_block(p.bits(0), p.bits(1), offset / 4 + 1);
    PhiloxWords result{};
    for (std::size_t k = 0; k < 4; ++k)
        result.w[k] = offset % 4 + k < 4 ? first.w[offset % 4 + k] : second.w[offset % 4 + k - 4];
    return result;
}
inline Wants words(const PhiloxWords& r) {
    return {exact(r.w[0]), exact(r.w[1]), exact(r.w[2]), exact(r.w[3])};
}
inline float uniform(std::uint32_t bits) { return std::fma(static_cast<float>(bits), 0x1p-32f, 0x1p-33f); }
inline Wants normal(std::uint32_t a, std::uint32_t b) {
    constexpr float two_pi = 6.2831855f;
    const auto u = static_cast<double>(uniform(a)),
               v = static_cast<double>(std::fma(static_cast<float>(b), two_pi * 0x1p-32f, two_pi * 0x1p-33f));
    const double radius = std::sqrt(-2 * std::log(u));
    return {{radius * std::sin(v), 8e-7}, {radius * std::cos(v), 8e-7}};
}

// --- the rows

inline void add_activations(std::vector<Case>& rows) {
    static std::vector<std::string> names;  // Case points into them
    names.reserve(4 * activations().size());
    for (const Activation& row : activations())
        for (const char* sub_folder : {"activation/", "elementwise/"}) {
            names.push_back(sub_folder + std::string(row.name) + ".stub");
            rows.push_back({names.back().c_str(), [&row](const Point& p) -> Wants {
                                return {within(row.formula(p.d(0)), row.relative, row.absolute)};
                            }});
        }
    for (const char* file : {"activation/gelu_tanh.stub", "elementwise/gelu_tanh.stub"})
        rows.push_back({file, [](const Point& p) -> Wants {
                            const double x = p.d(0);
                            return {x < -3 ? within(gelu_tanh(x), 0, 4e-9)
                                           : within(gelu_tanh(x), 1.2e-6, 0x1p-149)};
                        }});
}

inline void add_epilogues(std::vector<Case>& rows) {
    const auto clamp = [](double x, double low, double high) {
        return exact(std::fmin(std::fmax(x, low), high));
    };
    rows.insert(
        rows.end(),
        {
            {"elementwise/square.stub", [](const Point& p) -> Wants { return {once(p.d(0) * p.d(0))}; }},
            {"elementwise/scale.stub", [](const Point& p) -> Wants { return {once(p.d(0) / 8)}; }},
            {"elementwise/clamp.stub", [=](const Point& p) -> Wants { return {clamp(p.d(0), -1, 1)}; }},
            {"epilogue/bias.stub", [](const Point& p) -> Wants { return {once(p.d(0) + p.d(1))}; }},
            {"epilogue/bias_relu.stub",
             [](const Point& p) -> Wants { return {once(relu(p.d(0) + p.d(1)))}; }},
            {"epilogue/residual.stub", [](const Point& p) -> Wants { return {once(p.d(0) + p.d(1))}; }},
            {"epilogue/scale.stub", [](const Point& p) -> Wants { return {once(p.d(0) * p.d(1))}; }},
            {"epilogue/scale_bias.stub",
             [](const Point& p) -> Wants { return {once(std::fma(p.d(0), p.d(1), p.d(2)))}; }},
            {"epilogue/square.stub", [](const Point& p) -> Wants { return {once(p.d(0) * p.d(0))}; }},
            {"epilogue/clamp.stub",
             [=](const Point& p) -> Wants {
                 const Wanted wanted = clamp(p.d(0), p.d(1), p.d(2));
                 return {wanted.value == 0 ? once(0) : wanted};  // of 0 and -0 the sign is not said
             }},
            {"epilogue/quantise_int8.stub",
             [](const Point& p) -> Wants { return {exact(int8_of(quotient(p, 0, 1)))}; }},
            {"epilogue/dequantise_int8.stub",
             [](const Point& p) -> Wants {
                 const auto q = static_cast<std::int32_t>(p.u(0));
                 return {std::abs(std::int64_t{q}) > 1 << 24 ? anything : once(q * p.d(1))};
             }},
            {"epilogue/quantise_int8x4.stub",
             [](const Point& p) -> Wants {
                 std::uint32_t q = 0;
                 for (std::size_t k = 0; k < 4; ++k)
                     q |= (static_cast<std::uint32_t>(static_cast<int>(int8_of(quotient(p, k, 4)))) & 0xFFu)
                          << (8 * k);
                 return {exact(q)};
             }},
            {"epilogue/dequantise_int8x4.stub",
             [](const Point& p) -> Wants {
                 Wants result;
                 for (unsigned k = 0; k < 4; ++k)
                     result.push_back(once(static_cast<std::int8_t>(p.u(0) >> (8 * k)) * p.d(1)));
                 return result;
             }},
            {"epilogue/quantise_e4m3x2.stub",
             [](const Point& p) -> Wants { return {exact(fp8_pair(e4m3, p))}; },
             {},
             "sm_89"},
            {"epilogue/quantise_e5m2x2.stub",
             [](const Point& p) -> Wants { return {exact(fp8_pair(e5m2, p))}; },
             {},
             "sm_89"},
            {"epilogue/dequantise_e4m3x2.stub",
             [](const Point& p) -> Wants {
                 return {once(e4m3.value(p.u(0) & 0xFF) * p.d(1)), once(e4m3.value(p.u(0) >> 8) * p.d(1))};
             },
             {},
             "sm_89"},
            {"epilogue/dequantise_e5m2x2.stub",
             [](const Point& p) -> Wants {
                 return {once(e5m2.value(p.u(0) & 0xFF) * p.d(1)), once(e5m2.value(p.u(0) >> 8) * p.d(1))};
             },
             {},
             "sm_89"},
            {"norm/weight.stub", [](const Point& p) -> Wants { return {once(p.d(0) * p.d(1))}; }},
            {"norm/one_plus_weight.stub",
             [](const Point& p) -> Wants { return {once(std::fma(p.d(0), p.d(1), p.d(0)))}; }},
            {"norm/weight_bias.stub",
             [](const Point& p) -> Wants { return {once(std::fma(p.d(0), p.d(1), p.d(2)))}; }},
            {"norm/residual.stub", [](const Point& p) -> Wants { return {once(p.d(0) + p.d(1))}; }},
            {"norm/residual_after.stub",
             [](const Point& p) -> Wants { return {once(std::fma(p.d(0), p.d(1), p.d(2)))}; }},
        });
}

// A bound that counts two roundings holds where the first result is no overflow.
inline Wanted unless_overflow(double term, Wanted wanted) {
    return std::abs(term) >= 0x1.fffffep127 && std::isfinite(term) ? anything : wanted;
}

inline void add_semirings(std::vector<Case>& rows) {
    rows.insert(
        rows.end(),
        {
            {"semiring/plus_times.stub",
             [](const Point& p) -> Wants { return {once(std::fma(p.d(1), p.d(2), p.d(0)))}; }},
            {"semiring/max_plus.stub",
             [](const Point& p) -> Wants { return {once(std::fmax(p.d(0), p.d(1) + p.d(2)))}; }},
            {"semiring/min_plus.stub",
             [](const Point& p) -> Wants { return {once(std::fmin(p.d(0), p.d(1) + p.d(2)))}; }},
            {"semiring/max_times.stub",
             [](const Point& p) -> Wants { return {once(std::fmax(p.d(0), p.d(1) * p.d(2)))}; }},
            {"semiring/l1.stub",
             [](const Point& p) -> Wants {
                 const double term = std::abs(p.d(1) - p.d(2)), sum = p.d(0) + term;
                 return {unless_overflow(term, {sum, half_ulp(term) + 2 * half_ulp(sum)})};
             }},
            {"semiring/l2.stub",
             [](const Point& p) -> Wants {
                 const double term = std::pow(p.d(1) - p.d(2), 2), sum = p.d(0) + term;
                 return {unless_overflow(
                     term, {sum, (std::isfinite(term) ? 2.01 * 0x1p-24 * term : 0) + 2 * half_ulp(sum)})};
             }},
            {"semiring/lp.stub",
             [](const Point& p) -> Wants {
                 const double distance = std::abs(p.d(1) - p.d(2)), term = std::pow(distance, 3),
                              sum = p.d(0) + term;
                 const double error =
                     term > 0 && std::isfinite(term)
                         ? term * 0x1p-22 * (1 + 1.2 * 3 * std::max(1.0, std::abs(std::log2(distance))))
                         : 0;
                 return {unless_overflow(term, {sum, error + 0x1p-149 + 2 * half_ulp(sum)})};
             }},
            {"semiring/hamming.stub",
             [](const Point& p) -> Wants {
                 return {exact(p.u(0) + static_cast<std::uint32_t>(std::popcount(p.u(1) ^ p.u(2))))};
             }},
        });
}

inline Wanted softcap(double score, double cap) {
    if (!(cap > 0) || std::isinf(cap)) return anything;
    return within(cap * std::tanh(score / cap), 8e-7, 0x1p-147 * std::max(1.0, cap));
}

inline void add_scores(std::vector<Case>& rows) {
    rows.insert(
        rows.end(),
        {
            {"score/alibi.stub",
             [](const Point& p) -> Wants {
                 return {once(std::fma(p.d(3), difference(p.u(2), p.u(1)), p.d(0)))};
             }},
            {"score/alibi_heads.stub",
             [](const Point& p) -> Wants {
                 const double slope = std::exp2(-static_cast<double>(static_cast<float>(p.u(3)) + 1.0f)),
                              far = difference(p.u(2), p.u(1));
                 Wanted wanted = once(std::fma(slope, far, p.d(0)));
                 wanted.error = 2 * wanted.error + std::abs(far) * std::max(slope * 2.4e-7, 0x1p-148);
                 return {wanted};
             }},
            {"score/relative_position.stub",
             [](const Point& p) -> Wants { return {once(p.d(0) + difference(p.u(1), p.u(2)))}; }},
            {"score/relative_bias.stub",
             [](const Point& p) -> Wants {
                 const std::int64_t reach = p.u(4),
                                    d = std::clamp(std::int64_t{p.u(1)} - p.u(2), -reach, reach);
                 return {once(p.d(0) + static_cast<double>(p.table[static_cast<std::size_t>(d + reach)]))};
             }},
            {"score/temperature.stub",
             [](const Point& p) -> Wants {
                 const double wanted = p.d(0) / p.d(1);
                 return {{wanted, 4 * half_ulp(wanted)}};
             }},
            {"score/softcap.stub", [](const Point& p) -> Wants { return {softcap(p.d(0), p.d(1))}; }},
            {"score/softcap_50.stub", [](const Point& p) -> Wants { return {softcap(p.d(0), 50)}; }},
            {"score/causal.stub",
             [](const Point& p) -> Wants { return {exact(p.u(2) <= p.u(1) ? p.d(0) : -infinity)}; }},
            {"score/masked.stub",
             [](const Point& p) -> Wants {
                 return {exact(p.u(2) < 32 && p.u(1) >> p.u(2) & 1 ? p.d(0) : -infinity)};
             }},
        });
}

inline void add_masks(std::vector<Case>& rows) {
    using i64 = std::int64_t;
    rows.insert(
        rows.end(),
        {
            {"mask/columns_up_to.stub",
             [](const Point& p) { return mask_of(p, 1, ~0u, [&](i64 column) { return column <= p.u(0); }); }},
            {"mask/columns_below.stub",
             [](const Point& p) { return mask_of(p, 1, ~0u, [&](i64 column) { return column < p.u(0); }); }},
            {"mask/causal.stub",
             [](const Point& p) {
                 return mask_of(p, 2, p.u(0), [&](i64 column) { return column <= p.u(1); });
             }},
            {"mask/sliding_window.stub",
             [](const Point& p) {
                 return mask_of(p, 2, p.u(0), [&](i64 column) {
                     return column <= p.u(1) && column > i64{p.u(1)} - p.u(3);
                 });
             }},
            {"mask/prefix.stub",
             [](const Point& p) {
                 return mask_of(p, 2, p.u(0),
                                [&](i64 column) { return column <= p.u(1) || column < p.u(3); });
             }},
            {"mask/document.stub",
             [](const Point& p) {
                 return mask_of(p, 1, p.u(0),
                                [&](i64 column) { return p.u(2) <= column && column < p.u(3); });
             }},
        });
}

inline void add_random(std::vector<Case>& rows) {
    rows.insert(rows.end(),
                {
                    {"random/philox.stub",
                     [](const Point& p) {
                         return words(philox({{p.u(0), p.u(1), p.u(2), p.u(3)}}, p.u(4), p.u(5)));
                     }},
                    {"random/philox_block.stub",
                     [](const Point& p) { return words(philox_block(p.bits(0), p.bits(1), p.bits(2))); }},
                    {"random/curand4.stub", [](const Point& p) { return words(curand4(p)); }},
                    {"random/uniform.stub",
                     [](const Point& p) -> Wants { return {exact(static_cast<double>(uniform(p.u(0))))}; }},
                    {"random/uniform4.stub",
                     [](const Point& p) {
                         Wants result;
                         for (const std::uint32_t word : curand4(p).w)
                             result.push_back(exact(static_cast<double>(uniform(word))));
                         return result;
                     }},
                    {"random/normal.stub", [](const Point& p) { return normal(p.u(0), p.u(1)); }},
                    {"random/normal4.stub",
                     [](const Point& p) {
                         const PhiloxWords r = curand4(p);
                         Wants result = normal(r.w[0], r.w[1]), rest = normal(r.w[2], r.w[3]);
                         result.insert(result.end(), rest.begin(), rest.end());
                         return result;
                     }},
                    {"random/dropout.stub",
                     [](const Point& p) -> Wants {
                         return {uniform(p.u(1)) <= p.f(2) ? once(p.d(0) * p.d(3)) : exact(0)};
                     }},
                });
}

inline bool exp_is_product(const Point& p, std::span<const double> outputs) {
    const double x = p.d(0), product = outputs[0] * outputs[1];
    if (std::isnan(x)) return std::isnan(outputs[0]);
    int n = 0;
    if (std::frexp(outputs[1], &n) != 0.5 || n < -125 || n > 127) return false;
    if (x > 88.7) return product > 3.2e38;
    return x < -104 ? product < 0x1p-150
                    : std::abs(product - std::exp(x)) <= (x < -87.3 ? 1.7e-6 : 4e-7) * std::exp(x);
}

inline void add_math(std::vector<Case>& rows) {
    rows.insert(
        rows.end(),
        {
            {"math/exp_scaled.stub",
             [](const Point&) -> Wants {
                 return {anything, anything};
             },
             exp_is_product},
            {"math/exp.stub",
             [](const Point& p) -> Wants { return {within(std::exp(p.d(0)), 4e-7, 0x1p-149)}; }},
            {"math/expm1_negative.stub",
             [](const Point& p) -> Wants { return {within(expm1_negative(p.d(0)), 1e-7, 0x1p-150)}; }},
            {"math/log.stub", [](const Point& p) -> Wants { return {within(std::log(p.d(0)), 1e-7)}; }},
        });
}

inline const std::vector<Case>& cases() {
    static const std::vector<Case> rows = [] {
        std::vector<Case> all;
        for (const auto add :
             {add_activations, add_epilogues, add_semirings, add_scores, add_masks, add_random, add_math})
            add(all);
        return all;
    }();
    return rows;
}

/// The table that `table` points to, big enough for every reach: those are made small.
inline std::vector<float> table_of(const Signature& signature, std::vector<std::uint64_t>& columns,
                                   std::size_t points) {
    constexpr std::uint64_t farthest = 60;
    std::vector<float> table;
    for (std::size_t k = 0; k < signature.operands.size(); ++k) {
        if (signature.operands[k].name != "reach") continue;
        for (std::size_t i = 0; i < points; ++i) columns[k * points + i] %= farthest + 1;
        for (std::size_t i = 0; i <= 2 * farthest; ++i)
            table.push_back(static_cast<float>(i) * 0.37f - 11.0f);
    }
    return table;
}

// --- special values

struct Special {
    std::string file;
    struct Pair {
        float in, out;
    };
    std::vector<Pair> pairs;
};

inline std::vector<Special> specials() {
    constexpr float inf = std::numeric_limits<float>::infinity(),
                    nan = std::numeric_limits<float>::quiet_NaN();
    struct Row {
        const char* name;
        float zero, negative_zero, positive_infinity, negative_infinity, of_nan;
    };
    static const Row rows[] = {
        {"relu", 0.0f, 0.0f, inf, 0.0f, 0.0f},
        {"leaky_relu", 0.0f, -0.0f, inf, -inf, nan},
        {"elu", 0.0f, -0.0f, inf, -1.0f, nan},
        {"selu", 0.0f, -0.0f, inf, -1.7580993f, nan},
        {"gelu_tanh", 0.0f, -0.0f, inf, -0.0f, nan},
        {"gelu_erf", 0.0f, -0.0f, inf, -0.0f, nan},
        {"silu", 0.0f, -0.0f, inf, -0.0f, nan},
        {"mish", 0.0f, -0.0f, inf, -0.0f, nan},
        {"softplus", 0x1.62e43p-1f, 0x1.62e43p-1f, inf, 0.0f, nan},
        {"hard_swish", 0.0f, -0.0f, inf, -0.0f, nan},
        {"tanh", 0.0f, -0.0f, 1.0f, -1.0f, nan},
        {"sigmoid", 0.5f, 0.5f, 1.0f, 0.0f, nan},
        {"squared_relu", 0.0f, 0.0f, inf, 0.0f, 0.0f},
    };
    std::vector<Special> result;
    for (const Row& row : rows)
        result.push_back({std::string("activation/") + row.name + ".stub",
                          {{0.0f, row.zero},
                           {-0.0f, row.negative_zero},
                           {inf, row.positive_infinity},
                           {-inf, row.negative_infinity},
                           {nan, row.of_nan}}});
    return result;
}

// --- known answers

struct Known {
    const char* file;
    std::vector<std::uint64_t> in, out;
};
inline std::vector<Known> known_answers() {
    return {
#include "stub/stub_library_curand.inc"
    };
}

}  // namespace ptxgraft::test
