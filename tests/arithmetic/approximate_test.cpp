// Approximate instructions moved to the edges of their error: within what the manual states, and at its edge.
#include "arithmetic/approximate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "ptxgraft/isa.hpp"
#include "support/arithmetic_run.hpp"

namespace ptxgraft::arithmetic {
namespace {

using Wide = long double;

struct Type {
    std::string_view name;
    int fraction_bits, least_exponent;
    unsigned bytes;
};
constexpr Type f32{".f32", 23, -126, 4}, f16{".f16", 10, -14, 2}, bf16{".bf16", 7, -126, 2};

Wide value(const Type& type, u64 bits) {
    if (type.bytes == 4) return static_cast<Wide>(std::bit_cast<float>(static_cast<u32>(bits)));
    if (type.name == ".bf16") return static_cast<Wide>(std::bit_cast<float>(static_cast<u32>(bits) << 16));
    const Wide sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 0x3FF);
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    return sign * std::ldexp(static_cast<Wide>(exponent == 0 ? fraction : fraction + 1024),
                             std::max(exponent, 1) - 25);
}
Wide ulp(const Type& type, Wide a) {
    const int exponent = a == 0 ? type.least_exponent : std::max(std::ilogb(a), type.least_exponent);
    return std::ldexp(Wide{1}, exponent - type.fraction_bits);
}
Wide nearest(const Type& type, Wide a) { return std::nearbyint(a / ulp(type, a)) * ulp(type, a); }

struct Row {
    std::string form;
    std::string_view section;  // of the PTX ISA, where the bound stands
    Type type;
    bool ftz;
    std::function<Wide(Wide)> exact;
    std::function<Wide(Wide input, Wide exact)> bound;
    Wide low, high;  // of the magnitude of inputs
    bool negative;   // inputs too
};

Wide tanh_of(Wide a) { return std::tanh(a); }
Wide exp2_of(Wide a) { return std::exp2(a); }

// The manual's sentences, in its order.
std::vector<Row> bounds_of_the_manual() {
    using std::numbers::pi_v;
    const auto ulps = [](Wide n, Type t) { return [=](Wide, Wide y) { return n * ulp(t, y); }; };
    const auto relative = [](Wide e) { return [=](Wide, Wide y) { return e * std::abs(y); }; };
    const auto absolute = [](Wide e) { return [=](Wide, Wide) { return e; }; };
    const auto sine = [](Wide x, Wide) {
        return std::exp2(std::abs(x) <= 2 * pi_v<Wide> ? Wide{-20.5L} : Wide{-14.7L});
    };
    const auto logarithm = [](Wide x, Wide y) {
        return std::exp2(Wide{-22}) * (x > 0.5L && x < 2 ? 1 : std::abs(y));
    };
    const auto rcp = [](Wide a) { return 1 / a; };
    const auto sqrt = [](Wide a) { return std::sqrt(a); };
    const auto rsqrt = [](Wide a) { return 1 / std::sqrt(a); };
    const auto sin = [](Wide a) { return std::sin(a); };
    const auto cos = [](Wide a) { return std::cos(a); };
    const auto lg2 = [](Wide a) { return std::log2(a); };
    std::vector<Row> rows;
    for (const bool ftz : {false, true}) {
        const std::string f = ftz ? ".ftz" : "";
        const Wide least = ftz ? 0x1p-126L : 0x1p-149L;
        rows.push_back(
            {"rcp.approx" + f, "9.7.3.13", f32, ftz, rcp, ulps(1, f32), 0x1p-126L, 0x1p126L, true});
        rows.push_back(
            {"sqrt.approx" + f, "9.7.3.15", f32, ftz, sqrt, relative(0x1p-23L), least, 0x1p127L, false});
        rows.push_back({"rsqrt.approx" + f, "9.7.3.16", f32, ftz, rsqrt, relative(std::exp2(-22.9L)), least,
                        0x1p127L, false});
        rows.push_back({"sin.approx" + f, "9.7.3.18", f32, ftz, sin, sine, 0x1p-30L, 100 * pi_v<Wide>, true});
        rows.push_back({"cos.approx" + f, "9.7.3.19", f32, ftz, cos, sine, 0x1p-30L, 100 * pi_v<Wide>, true});
        rows.push_back({"lg2.approx" + f, "9.7.3.20", f32, ftz, lg2, logarithm, least, 0x1p127L, false});
        rows.push_back({"ex2.approx" + f, "9.7.3.21", f32, ftz, exp2_of, nullptr, 0x1p-30L,
                        ftz ? 125.0L : 127.0L, true});
    }
    rows.push_back(
        {"tanh.approx", "9.7.3.22", f32, false, tanh_of, relative(0x1p-11L), 0x1p-126L, 0x1p127L, true});
    rows.push_back({"tanh.approx", "9.7.4.9", f16, false, tanh_of, absolute(std::exp2(-10.987L)), 0x1p-24L,
                    65504, true});
    rows.push_back(
        {"tanh.approx", "9.7.4.9", bf16, false, tanh_of, absolute(0x1p-8L), 0x1p-130L, 0x1p127L, true});
    rows.push_back(
        {"ex2.approx", "9.7.4.10", f16, false, exp2_of, relative(std::exp2(-9.9L)), 0x1p-24L, 14, true});
    rows.push_back(
        {"ex2.approx.ftz", "9.7.4.10", bf16, true, exp2_of, relative(0x1p-7L), 0x1p-30L, 120, true});
    return rows;
}

std::vector<u64> inputs_of(const Row& row) {
    std::vector<u64> inputs;
    std::mt19937_64 random(7);
    while (inputs.size() < 20000) {
        const u64 bits = low_bytes(random(), row.type.bytes);
        const Wide a = value(row.type, bits);
        if (!(std::abs(a) >= row.low && std::abs(a) <= row.high) || (a < 0 && !row.negative)) continue;
        inputs.push_back(bits);
    }
    return inputs;
}

// The results for bits of inputs, at an edge or exact.
std::vector<u64> results_of(const std::string& form, unsigned bytes,
                            const std::vector<std::vector<u64>>& inputs, const Perturbation* perturbation) {
    const Decoded decoded(form);
    const auto found = find_pure(decoded.opcode, decoded.modifiers, inputs.size() + 1, false);
    const PerturbFunction perturb = find_perturb(decoded.opcode, decoded.modifiers);
    if (!found || perturb == nullptr) return ADD_FAILURE() << form, std::vector<u64>(inputs[0].size());
    const std::size_t count = inputs[0].size();
    std::vector<std::vector<std::byte>> columns;
    std::vector<const void*> from;
    for (const std::vector<u64>& input : inputs) {
        std::vector<std::byte>& column = columns.emplace_back(count * bytes);
        for (std::size_t i = 0; i < count; ++i) std::memcpy(&column[i * bytes], &input[i], bytes);
        from.push_back(column.data());
    }
    std::vector<std::byte> out(count * bytes);
    void* to = out.data();
    found->run_columns(&to, from.data(), count);
    if (perturbation != nullptr) perturb(to, from.data(), count, *perturbation);
    std::vector<u64> results(count);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&results[i], &out[i * bytes], bytes);
    return results;
}

TEST(Approximate, EdgesLieWithinTheBoundOfTheManualAndReachIt) {
    const std::vector<Row> rows = bounds_of_the_manual();
    for (const StatedError& stated : stated_errors()) {
        if (stated.bounds[0].kind == ErrorKind::unstated || stated.section == "9.7.3.8") continue;
        EXPECT_TRUE(std::ranges::any_of(rows, [&](const Row& row) {
            return row.section == stated.section && stated.form.starts_with(row.form.substr(0, 4)) &&
                   stated.form.ends_with(row.type.name);
        })) << stated.form;
    }
    for (const Row& row : rows) {
        const std::string form = row.form + std::string(row.type.name);
        const std::vector<u64> inputs = inputs_of(row);
        const Perturbation up{Edge::up}, down{Edge::down}, hashed{Edge::hashed, 5};
        const auto ups = results_of(form, row.type.bytes, {inputs}, &up);
        const auto downs = results_of(form, row.type.bytes, {inputs}, &down);
        const auto any = results_of(form, row.type.bytes, {inputs}, &hashed);
        int wrong = 0, ups_chosen = 0;
        for (std::size_t i = 0; i < inputs.size() && wrong < 5; ++i) {
            const Wide x = value(row.type, inputs[i]), y = row.exact(x);
            // 9.7.3.21: "2 ulp from correctly rounded result"
            const Wide from = row.bound ? y : nearest(row.type, y);
            const Wide bound = row.bound ? row.bound(x, y) : 2 * ulp(row.type, from);
            const Wide high = value(row.type, ups[i]), low = value(row.type, downs[i]);
            const Wide slack = bound * 1e-9L + std::abs(y) * 1e-15L;
            // short of the edge by less than a unit, and by one more where only the result is known
            const bool by_result =
                row.form.starts_with("sin") || row.form.starts_with("cos") || row.section == "9.7.3.22";
            const Wide reach = bound - (by_result ? 2 : 1) * ulp(row.type, std::abs(from) + bound) - slack;
            const bool is_flushed = row.ftz && std::abs(from) - bound < 0x1p-126L;
            const bool is_right = high <= from + bound + slack && low >= from - bound - slack &&
                                  (is_flushed || (high >= from + reach && low <= from - reach));
            const bool is_one = any[i] == ups[i] || any[i] == downs[i];
            ups_chosen += any[i] == ups[i];
            if (is_right && is_one) continue;
            ++wrong;
            ADD_FAILURE() << form << " (" << row.section << ") of " << x << ": " << static_cast<double>(y)
                          << " within " << bound << " is " << (low - from) / bound << " to "
                          << (high - from) / bound;
        }
        EXPECT_GT(ups_chosen, 9000) << form;
        EXPECT_LT(ups_chosen, 13000) << form;
    }
}

TEST(Approximate, Quotients) {
    for (const std::string form :
         {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"}) {
        std::vector<u64> a, b;
        std::mt19937_64 random(3);
        while (a.size() < 20000) {
            const u64 x = random() & 0xFFFFFFFF, y = random() & 0xFFFFFFFF;
            const Wide q = value(f32, x) / value(f32, y), divisor = std::abs(value(f32, y));
            if (!(std::abs(q) > 0x1p-120L && std::abs(q) < 0x1p127L && divisor > 0x1p-126L &&
                  divisor < 0x1p126L) ||
                std::abs(value(f32, x)) < 0x1p-126L)
                continue;
            a.push_back(x), b.push_back(y);
        }
        const Perturbation up{Edge::up}, down{Edge::down};
        const auto ups = results_of(form, 4, {a, b}, &up), downs = results_of(form, 4, {a, b}, &down);
        for (std::size_t i = 0; i < a.size(); ++i) {
            const Wide q = value(f32, a[i]) / value(f32, b[i]), unit = ulp(f32, q);
            ASSERT_LE(value(f32, ups[i]), q + 2.000001L * unit) << form << ", 9.7.3.8";
            ASSERT_GE(value(f32, ups[i]), q + 0.9L * unit);
            ASSERT_GE(value(f32, downs[i]), q - 2.000001L * unit);
            ASSERT_LE(value(f32, downs[i]), q - 0.9L * unit);
        }
    }
}

// The tables of corner cases of 9.7.3.8 to 9.7.4.10: infinities, zeros, NaNs and what is out of the domain.
TEST(Approximate, WhatTheManualFixesStays) {
    for (const char* form :
         {"rcp.approx.f32", "rcp.approx.ftz.f32", "sqrt.approx.f32", "rsqrt.approx.f32", "sin.approx.f32",
          "cos.approx.f32", "lg2.approx.f32", "ex2.approx.f32", "ex2.approx.ftz.f32", "tanh.approx.f32"}) {
        const std::vector<u64> inputs = {0x7F800000, 0xFF800000, 0, 0x80000000, 0x7FFFFFFF, 0xFFC00001};
        const auto exact = results_of(form, 4, {inputs}, nullptr);
        for (const Edge edge : {Edge::up, Edge::down, Edge::hashed}) {
            const Perturbation perturbation{edge, 1};
            EXPECT_EQ(results_of(form, 4, {inputs}, &perturbation), exact) << form;
        }
    }
    const Perturbation up{Edge::up}, down{Edge::down};
    const std::vector<u64> negative = {0xBF800000, 0xFF7FFFFF};
    for (const char* form : {"sqrt.approx.f32", "rsqrt.approx.f32", "lg2.approx.f32"})
        EXPECT_EQ(results_of(form, 4, {negative}, &up), (std::vector<u64>{0x7FFFFFFF, 0x7FFFFFFF})) << form;
    // 9.7.3.22: subnormal inputs are passed through
    EXPECT_EQ(results_of("tanh.approx.f32", 4, {{1, 0x80000005}}, &up), (std::vector<u64>{1, 0x80000005}));
    // 9.7.3.8: divisors beyond 2^126
    EXPECT_EQ(results_of("div.approx.f32", 4, {{0x3F800000}, {0x7F000000}}, &up), (std::vector<u64>{0}));
    // a logarithm of one is no corner case: its error is absolute, 2^-22
    EXPECT_EQ(results_of("lg2.approx.f32", 4, {{0x3F800000}}, &up), (std::vector<u64>{0x34800000}));
    EXPECT_EQ(results_of("lg2.approx.f32", 4, {{0x3F800000}}, &down), (std::vector<u64>{0xB4800000}));
    // 9.7.3.18: "There are no defined error guarantees"
    EXPECT_EQ(results_of("sin.approx.f32", 4, {{0x43A00000}}, &up), (std::vector<u64>{0x3F800000}));
    EXPECT_EQ(results_of("sin.approx.f32", 4, {{0x43A00000}}, &down), (std::vector<u64>{0xBF800000}));
    // nothing positive becomes negative by a relative error
    EXPECT_EQ(results_of("ex2.approx.f32", 4, {{0xC3200000}}, &down), (std::vector<u64>{0}));
}

TEST(Approximate, HalvesOfPairsAreElements) {
    for (const char* form :
         {"ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"}) {
        std::mt19937_64 random(9);
        std::vector<u64> pairs(1000), elements;
        for (u64& pair : pairs) {
            pair = random() & 0xFFFFFFFF;
            elements.push_back(pair & 0xFFFF), elements.push_back(pair >> 16);
        }
        for (const Edge edge : {Edge::up, Edge::down, Edge::hashed}) {
            const Perturbation perturbation{edge, 4};
            const auto of_pairs = results_of(std::string(form) + "x2", 4, {pairs}, &perturbation);
            const auto of_elements = results_of(form, 2, {elements}, &perturbation);
            for (std::size_t i = 0; i < pairs.size(); ++i)
                ASSERT_EQ(of_pairs[i], of_elements[2 * i] | of_elements[2 * i + 1] << 16) << form;
        }
    }
}

TEST(Approximate, EveryApproximateFormHasAnEdgeAndNoOther) {
    int count = 0;
    for (const std::string_view opcode : isa::pure_opcodes())
        for (const isa::Form& form : isa::forms(opcode)) {
            const bool is_approximate = form.spelling.find(".approx") != std::string::npos ||
                                        form.spelling.find(".full") != std::string::npos;
            const Decoded decoded(form.spelling);
            EXPECT_EQ(find_perturb(decoded.opcode, decoded.modifiers) != nullptr, is_approximate)
                << form.spelling;
            count += is_approximate;
        }
    EXPECT_GT(count, 25);
}

}  // namespace
}  // namespace ptxgraft::arithmetic
