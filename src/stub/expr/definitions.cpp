// Operations that PTX has no single exact instruction for, in the language itself. They are made of instructions whose results PTX defines
// to the bit, so that a program gives the same numbers wherever it runs.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "stub/expr/tree.hpp"

namespace ptxgraft::expr {
namespace {

constexpr TypeSet f16_ = only(Type::f16), bf16_ = only(Type::bf16), f32_ = only(Type::f32), f64_ = only(Type::f64);
constexpr TypeSet brains = bf16_ | only(Type::bf16x2);
constexpr TypeSet words32 = only(Type::u32) | only(Type::s32), words64 = only(Type::u64) | only(Type::s64);

struct Row {
    Op op;
    TypeSet types;
    std::string_view parameters;   ///< one letter each
    std::string_view text;         ///< `T` stands for the type
    std::string_view before = {};  ///< what stands before and behind the text
    std::string_view behind = {};
};

constexpr Row rows[] = {
    // bf16 has fma since sm_80, sums and products of its own only since sm_90: a + b is a * 1 + b, a * b is a * b - 0
    {Op::add, brains, "ab", "result = fma(a, 1, b)"},
    {Op::sub, brains, "ab", "result = fma(b, -1, a)"},
    {Op::mul, brains, "ab", "result = fma(a, b, -0.0)"},
    // f32 has more than twice the precision of the halves: what is rounded to it first is still rounded right
    {Op::div, half_types, "ab", "result = T(f32(a) / f32(b))"},
    {Op::sqrt, half_types, "a", "result = T(sqrt(f32(a)))"},
    {Op::rcp, half_types, "a", "result = T(1 / f32(a))"},
    {Op::min, f16_, "ab", "result = T(min(f32(a), f32(b)))"},
    {Op::max, f16_, "ab", "result = T(max(f32(a), f32(b)))"},
    {Op::floor, bf16_, "a", "result = T(floor(f32(a)))"},
    {Op::ceil, bf16_, "a", "result = T(ceil(f32(a)))"},
    {Op::trunc, bf16_, "a", "result = T(trunc(f32(a)))"},
    {Op::round, bf16_, "a", "result = T(round(f32(a)))"},
    {Op::lt, bf16_, "ab", "result = f32(a) < f32(b)"},
    {Op::le, bf16_, "ab", "result = f32(a) <= f32(b)"},
    {Op::gt, bf16_, "ab", "result = f32(a) > f32(b)"},
    {Op::ge, bf16_, "ab", "result = f32(a) >= f32(b)"},
    {Op::eq, bf16_, "ab", "result = f32(a) == f32(b)"},
    {Op::ne, bf16_, "ab", "result = f32(a) != f32(b)"},
    {Op::isnan, half_types, "a", "result = isnan(f32(a))"},
    {Op::isfinite, half_types, "a", "result = isfinite(f32(a))"},
    {Op::isinf, half_types, "a", "result = isinf(f32(a))"},
    {Op::copysign, f32_ | f64_, "ab", "result = copysign_from(b, a)"},
    {Op::copysign, half_types, "ab", "result = T_bits(bits(a) & 0x7FFF | bits(b) & 0x8000)"},
    {Op::clamp, integer_types | float_types, "abc", "result = min(max(a, b), c)"},
    {Op::neg, unsigned_types, "a", "result = 0 - a"},
    {Op::eq, pred_type, "ab", "result = !(a ^ b)"},
    {Op::select, pred_type, "cab", "result = c & a | !c & b"},
    {Op::ffs, words32, "a", "result = bfind(brev(u32(a))) + 1"},
    {Op::ffs, words64, "a", "result = bfind(brev(u64(a))) + 1"},
    // rounded towards zero, and to an odd last digit where that is not exact, so that the second rounding errs not
    {Op::to_bf16, words32 | words64 | f64_, "a", "r = f32_rz(a)\nresult = bf16(float_bits(bits(r) | u32(T(r) != a)))"},
};

// Functions of the halves are those of f32, rounded once more.
constexpr Op by_way_of_f32[] = {Op::exp, Op::exp2, Op::log, Op::log2, Op::sin, Op::cos, Op::tanh, Op::sigmoid, Op::erf, Op::rsqrt,
                                Op::approx_sqrt, Op::approx_rcp, Op::approx_rsqrt, Op::approx_exp, Op::approx_exp2, Op::approx_log, Op::approx_log2,
                                Op::approx_sin, Op::approx_cos, Op::approx_tanh, Op::approx_sigmoid};
constexpr Op by_way_of_f32_of_two[] = {Op::pow, Op::approx_div};

// 2^n * p in two steps, so that neither overflows nor underflows before the result does.
constexpr std::string_view scaled =
    "h = n >> 1\nresult = p * float_bits(u32(h + 127) << 23) * float_bits(u32(n - h + 127) << 23)";

// log(a) of f in [2/3, 4/3] and an exponent: `e` and `r`, with subnormals scaled up first.
constexpr std::string_view logarithm =
    "small = a < 1.17549435e-38\n"
    "s = small ? a * 8388608 : a\n"
    "k = s32(bits(s) - 0x3F2AAAAB) & 0xFF800000\n"
    "f = float_bits(bits(s) - u32(k)) - 1\n"
    "e = fma(f32(k), 1.1920929e-7, small ? -23 : 0)\n"
    "q = f * f\n"
    "p = fma(fma(-0.121256784, f, 0.134258553), q, fma(-0.123461768, f, 0.141182959))\n"
    "p = fma(p, q, fma(-0.166701406, f, 0.200037807))\n"
    "p = fma(fma(p, f, -0.249999881), f, 0.333333194)\n"
    "r = fma(fma(p, f, -0.5), q, f)\n";
constexpr std::string_view of_positive =
    "result = a > 0 && a < inf ? y : a == 0 ? -inf : a < 0 ? nan : a + a";

// The angle in quarter turns, for any a: the product of its significand with the bits of 2/pi that its exponent selects, modulo 4, in fixed
// point of 62 bits. `r` is what is left of a quarter turn in radians, `v` and `w` are its sine and cosine, `q` counts the quarter turns.
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
    "s = r * r\n"
    "v = fma(fma(fma(fma(2.72498505e-06, s, -0.000198400856), s, 0.00833333191), s, -0.166666672) * s, r, r)\n"
    "w = fma(fma(fma(fma(-2.73008965e-07, s, 2.48005999e-05), s, -0.00138888881), s, 0.0416666679), s * s, fma(s, -0.5, 1))\n";

constexpr Row functions[] = {
    {Op::exp2, f32_, "a",
     "x = a < -152 ? -152 : a > 130 ? 130 : a\n"
     "i = round(x)\nf = x - i\nn = s32(i)\n"
     "p = fma(fma(fma(0.000154531634, f, 0.00133908633), f, 0.00961808302), f, 0.0555035695)\n"
     "p = fma(fma(fma(p, f, 0.240226507), f, 0.693147182), f, 1)\n", {}, scaled},
    {Op::exp, f32_, "a",
     "x = a < -106 ? -106 : a > 90 ? 90 : a\n"
     "i = round(x * 1.44269502)\nn = s32(i)\n"
     "f = fma(i, 1.90465421e-09, fma(i, -0.693147182, x))\n"
     "p = fma(fma(fma(0.00139262679, f, 0.00836324692), f, 0.0416665524), f, 0.166665763)\n"
     "p = fma(fma(fma(p, f, 0.5), f, 1), f, 1)\n", {}, scaled},
    {Op::log, f32_, "a", "y = fma(e, 0.693147182, r)\n", logarithm, of_positive},
    {Op::log2, f32_, "a", "y = fma(r, 1.44269502, fma(r, 1.92596303e-08, e))\n", logarithm, of_positive},
    {Op::sin, f32_, "a",
     "y = bits((q & 1) == 1 ? w : v) ^ (q & 2) << 30 ^ bits(a) & 0x80000000\nresult = isfinite(a) ? float_bits(y) : a - a", quarters},
    {Op::cos, f32_, "a", "y = bits((q & 1) == 1 ? v : w) ^ (q + 1 & 2) << 30\nresult = isfinite(a) ? float_bits(y) : a - a", quarters},
    {Op::tanh, f32_, "a",
     "x = abs(a)\ns = a * a\n"
     "p = fma(fma(0.00234493124, s, -0.00838877354), s, 0.0217822473)\n"
     "p = fma(fma(fma(p, s, -0.0539608561), s, 0.133333102), s, -0.333333343)\n"
     "y = x < 0.6 ? fma(p * s, x, x) : 1 - 2 / (exp(2 * x) + 1)\n"
     "result = isnan(a) ? a + a : copysign(y, a)"},
    {Op::sigmoid, f32_, "a", "e = exp(-abs(a))\nr = 1 / (1 + e)\nresult = a < 0 ? e * r : r"},
    {Op::erf, f32_, "a",
     "x = abs(a)\ns = a * a\n"
     "p = fma(fma(7.87587487e-05, s, -0.00080168643), s, 0.00518908724)\n"
     "p = fma(fma(fma(fma(p, s, -0.0268542115), s, 0.112835944), s, -0.37612626), s, 0.128379166)\n"
     "y = x > 4 ? 4 : x\n"
     "e = fma(fma(fma(1.26572741e-05, y, -0.000306511443), y, 0.0033589208), y, -0.0223268904)\n"
     "e = fma(fma(fma(fma(e, y, 0.102672428), y, 0.639911354), y, 1.12537336), y, 0.000910565199)\n"
     "result = isnan(a) ? a + a : copysign(x < 1 ? fma(p, x, x) : 1 - exp(-e), a)"},
    // by way of f64, whose logarithm is right to 40 bits
    {Op::pow, f32_, "ab",
     "x = f64(abs(a))\n"
     "k = s64(bits(x) - 0x3FE5555555555555) & 0xFFF0000000000000\n"
     "f = float_bits(bits(x) - u64(k)) - 1\n"
     "s = f * f\n"
     "p = fma(fma(-0.13612387427150521, f, 0.1447636141460126), s, fma(-0.094080237775156728, f, 0.10149818310947326))\n"
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
     "result = b == 0 || a == 1 ? 1 : y"},
    {Op::rsqrt, f32_ | f64_, "a", "result = rcp(sqrt(a))"},
    {Op::approx_exp, f32_, "a", "result = approx_exp2(a * 1.4426950408889634)"},
    {Op::approx_log, f32_, "a", "result = approx_log2(a) * 0.6931471805599453"},
    {Op::approx_sigmoid, f32_, "a", "result = approx_rcp(1 + approx_exp2(a * -1.4426950408889634))"},
};

struct Found {
    std::string_view parameters;
    std::string text;
};

std::string with_type(std::string_view text, Type type) {
    std::string out;
    for (const char c : text) c == 'T' ? out += name(type) : out += c;
    return out;
}

bool is_one_of(std::span<const Op> ops, Op op) { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

Found find_text(Op op, Type type) {
    for (const std::span<const Row> table : {std::span<const Row>(rows), std::span<const Row>(functions)})
        for (const Row& row : table)
            if (row.op == op && has(row.types, type)) return {row.parameters, with_type(std::string(row.before).append(row.text).append(row.behind), type)};
    if (!has(half_types, type)) return {};
    const std::string function(spelling(op));
    if (is_one_of(by_way_of_f32, op)) return {"a", with_type("result = T(" + function + "(f32(a)))", type)};
    if (is_one_of(by_way_of_f32_of_two, op)) return {"ab", with_type("result = T(" + function + "(f32(a), f32(b)))", type)};
    return {};
}

std::unique_ptr<const Definition> compile(Op op, Type type) {
    const Found found = find_text(op, type);
    if (found.parameters.empty()) return nullptr;
    std::vector<Scope::Parameter> parameters;
    for (std::size_t i = 0; i < found.parameters.size(); ++i) {
        const std::string_view letter = found.parameters.substr(i, 1);
        parameters.push_back({letter, letter == "c" && op == Op::select ? Type::pred : type});
    }
    const Scope scope{.machine = nullptr, .parameters = parameters};
    Workspace work;
    if (parse(found.text, scope, {}, work) || emit(found.text, scope, {}, work)) return nullptr;
    return std::make_unique<const Definition>(Definition{work.code, work.pool});
}

}  // namespace

const Definition* definition(Op op, Type type) {
    struct Cell {
        std::atomic<const Definition*> made{nullptr};
        std::once_flag once;
        std::unique_ptr<const Definition> owner;
    };
    static std::array<Cell, op_count * type_count> cells;
    Cell& cell = cells[static_cast<std::size_t>(op) * type_count + static_cast<std::size_t>(type)];
    if (const Definition* made = cell.made.load(std::memory_order_acquire)) return made;
    std::call_once(cell.once, [&] {
        cell.owner = compile(op, type);
        cell.made.store(cell.owner.get(), std::memory_order_release);
    });
    return cell.made.load(std::memory_order_acquire);
}

bool has_definition(Op op, Type type) { return !find_text(op, type).parameters.empty(); }

}  // namespace ptxgraft::expr
