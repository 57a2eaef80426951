// The operators, and the instructions that compute them for each type.

#include "stub/expr/operations.hpp"

#include <string>

#include "ptxgraft/expression.hpp"

namespace ptxgraft::expr {
namespace {

constexpr TypeSet f16_ = only(Type::f16), bf16_ = only(Type::bf16), f32_ = only(Type::f32),
                  f64_ = only(Type::f64);
constexpr TypeSet f16s = f16_ | only(Type::f16x2), pairs = pair_types;
constexpr TypeSet halves = half_types | pairs;
constexpr TypeSet words = unsigned_types, s_words = signed_types;
constexpr TypeSet wide_unsigned = only(Type::u32) | only(Type::u64),
                  wide_signed = only(Type::s32) | only(Type::s64);

struct Primitive {
    Op op;
    TypeSet types;
    /// the entry's name: `$` the type, `#` its width, `@` `.ftz` where the option says so
    std::string_view pattern;
    std::uint16_t since = 0;  ///< there is a definition for older architectures
};

// Signed integers have the bit operations of the unsigned ones under names of the set's own (and.s32).
constexpr Primitive primitives[] = {
    {Op::add, integer_types, "add.$"},
    {Op::add, f16s, "add.rn.$"},
    {Op::add, f32_, "add.rn@.f32"},
    {Op::add, f64_, "add.rn.f64"},
    {Op::sub, integer_types, "sub.$"},
    {Op::sub, f16s, "sub.rn.$"},
    {Op::sub, f32_, "sub.rn@.f32"},
    {Op::sub, f64_, "sub.rn.f64"},
    {Op::mul, integer_types, "mul.lo.$"},
    {Op::mul, f16s, "mul.rn.$"},
    {Op::mul, f32_, "mul.rn@.f32"},
    {Op::mul, f64_, "mul.rn.f64"},
    {Op::div, integer_types, "div.$"},
    {Op::div, f32_, "div.rn@.f32"},
    {Op::div, f64_, "div.rn.f64"},
    {Op::rem, integer_types, "rem.$"},
    {Op::and_, pred_type, "and.pred"},
    {Op::and_, words, "and.b#"},
    {Op::and_, s_words, "and.$"},
    {Op::or_, pred_type, "or.pred"},
    {Op::or_, words, "or.b#"},
    {Op::or_, s_words, "or.$"},
    {Op::xor_, pred_type, "xor.pred"},
    {Op::xor_, words, "xor.b#"},
    {Op::xor_, s_words, "xor.$"},
    {Op::not_, pred_type, "not.pred"},
    {Op::not_, words, "not.b#"},
    {Op::not_, s_words, "not.$"},
    {Op::neg, s_words, "neg.$"},
    {Op::neg, halves | f64_, "neg.$"},
    {Op::neg, f32_, "neg@.f32"},
    {Op::shl, words, "shl.b#"},
    {Op::shl, s_words, "shl.$"},
    {Op::shr, integer_types, "shr.$"},
    {Op::lt, integer_types | f16_ | f64_, "setp.lt.$"},
    {Op::lt, f32_, "setp.lt@.f32"},
    {Op::le, integer_types | f16_ | f64_, "setp.le.$"},
    {Op::le, f32_, "setp.le@.f32"},
    {Op::gt, integer_types | f16_ | f64_, "setp.gt.$"},
    {Op::gt, f32_, "setp.gt@.f32"},
    {Op::ge, integer_types | f16_ | f64_, "setp.ge.$"},
    {Op::ge, f32_, "setp.ge@.f32"},
    {Op::eq, integer_types | f16_ | f64_, "setp.eq.$"},
    {Op::eq, f32_, "setp.eq@.f32"},
    // unordered: NaN differs from everything
    {Op::ne, integer_types, "setp.ne.$"},
    {Op::ne, f16_ | f64_, "setp.neu.$"},
    {Op::ne, f32_, "setp.neu@.f32"},
    {Op::ne, pred_type, "xor.pred"},
    {Op::select, value_types & ~pred_type, "selp.$"},
    {Op::abs, s_words | halves | f64_, "abs.$"},
    {Op::abs, f32_, "abs@.f32"},
    {Op::min, integer_types | bf16_ | f64_, "min.$"},
    {Op::min, f16_, "min.f16", 80},
    {Op::min, pairs, "min.$"},
    {Op::min, f32_, "min@.f32"},
    {Op::max, integer_types | bf16_ | f64_, "max.$"},
    {Op::max, f16_, "max.f16", 80},
    {Op::max, pairs, "max.$"},
    {Op::max, f32_, "max@.f32"},
    {Op::fma, halves | f64_, "fma.rn.$"},
    {Op::fma, f32_, "fma.rn@.f32"},
    {Op::sqrt, f32_, "sqrt.rn@.f32"},
    {Op::sqrt, f64_, "sqrt.rn.f64"},
    {Op::rcp, f32_, "rcp.rn@.f32"},
    {Op::rcp, f64_, "rcp.rn.f64"},
    {Op::floor, f32_, "cvt.rmi@.f32.f32"},
    {Op::floor, f16_ | f64_, "cvt.rmi.$.$"},
    {Op::ceil, f32_, "cvt.rpi@.f32.f32"},
    {Op::ceil, f16_ | f64_, "cvt.rpi.$.$"},
    {Op::trunc, f32_, "cvt.rzi@.f32.f32"},
    {Op::trunc, f16_ | f64_, "cvt.rzi.$.$"},
    {Op::round, f32_, "cvt.rni@.f32.f32"},
    {Op::round, f16_ | f64_, "cvt.rni.$.$"},
    {Op::copysign_from, f32_ | f64_, "copysign.$"},
    {Op::mulhi, integer_types, "mul.hi.$"},
    {Op::popc, wide_unsigned, "popc.b#"},
    {Op::popc, wide_signed, "popc.$"},
    {Op::clz, wide_unsigned, "clz.b#"},
    {Op::clz, wide_signed, "clz.$"},
    {Op::brev, wide_unsigned, "brev.b#"},
    {Op::brev, wide_signed, "brev.$"},
    {Op::bfind, wide_unsigned, "bfind.shiftamt.$"},
    {Op::isnan, f32_ | f64_, "testp.notanumber.$"},
    {Op::isfinite, f32_ | f64_, "testp.finite.$"},
    {Op::isinf, f32_ | f64_, "testp.infinite.$"},
    {Op::approx_div, f32_, "div.full@.f32"},
    {Op::approx_sqrt, f32_, "sqrt.approx@.f32"},
    {Op::approx_rcp, f32_, "rcp.approx@.f32"},
    {Op::approx_rsqrt, f32_, "rsqrt.approx@.f32"},
    {Op::approx_exp2, f32_, "ex2.approx@.f32"},
    {Op::approx_log2, f32_, "lg2.approx@.f32"},
    {Op::approx_sin, f32_, "sin.approx@.f32"},
    {Op::approx_cos, f32_, "cos.approx@.f32"},
    {Op::approx_tanh, f32_, "tanh.approx.f32"},
    {Op::f32_rz, wide_unsigned | wide_signed | f64_, "cvt.rz.f32.$"},
};

template <class F> void for_each_type(TypeSet set, F f) {
    for (std::size_t i = 0; i < type_count; ++i)
        if (has(set, static_cast<Type>(i))) f(static_cast<Type>(i));
}

std::string spelled(std::string_view pattern, Type type, bool ftz) {
    std::string text;
    for (const char c : pattern) {
        if (c == '$')
            text += name(type);
        else if (c == '#')
            text += std::to_string(bits(type));
        else if (c == '@')
            text += ftz ? ".ftz" : "";
        else
            text += c;
    }
    return text;
}

// A cast is of bits where the width stays; bf16 goes by way of f32 where its own casts came late.
std::string cast_name(Type from, Type to) {
    const std::string types = std::string(name(to)) + "." + std::string(name(from));
    const bool from_float = has(float_types, from), to_float = has(float_types, to);
    const bool is_late = (from == Type::bf16 && to != Type::f32) || (to == Type::bf16 && from != Type::f32);
    if (is_late || from == to || (!from_float && !to_float && bits(from) == bits(to))) return {};
    if (!from_float && !to_float) return "cvt." + types;
    if (!to_float) return "cvt.rzi." + types;
    const bool is_exact = from_float && bits(from) < bits(to);
    return (is_exact ? "cvt." : "cvt.rn.") + types;
}

Entries make_entries() {
    const auto set = expression_set();
    Entries made;
    const auto find = [&](std::string_view entry) { return static_cast<std::int16_t>(set->find(entry)); };
    for (auto& row : made.rows) {
        row.plain.fill(Entries::none);
        row.ftz.fill(Entries::none);
        row.since.fill(0);
    }
    for (const Primitive& p : primitives)
        for_each_type(p.types, [&](Type type) {
            auto& row = made.rows[static_cast<std::size_t>(p.op)];
            row.plain[static_cast<std::size_t>(type)] = find(spelled(p.pattern, type, false));
            row.ftz[static_cast<std::size_t>(type)] = find(spelled(p.pattern, type, true));
            row.since[static_cast<std::size_t>(type)] = p.since;
        });
    for (std::size_t i = 0; i < op_count; ++i) {
        made.types[i] = 0;
        for_each_type(value_types, [&](Type type) {
            const bool is_there = made.rows[i].plain[static_cast<std::size_t>(type)] != Entries::none ||
                                  has_definition(static_cast<Op>(i), type);
            if (is_there) made.types[i] |= only(type);
        });
    }
    made.loads.fill(Entries::none);
    for (auto& row : made.casts) row.fill(Entries::none);
    for_each_type(integer_types | float_types, [&](Type from) {
        made.loads[static_cast<std::size_t>(from)] = find("ld.global." + std::string(name(from)));
        for_each_type(integer_types | float_types, [&](Type to) {
            made.casts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
                find(cast_name(from, to));
        });
    });
    for_each_type(pairs, [&](Type type) {
        made.loads[static_cast<std::size_t>(type)] = find("ld.global." + std::string(name(type)));
    });
    made.index_u32 = find("mad.wide.u32");
    made.index_s32 = find("mad.wide.s32");
    return made;
}

}  // namespace

const Entries& entries() {
    static const Entries made = make_entries();
    return made;
}

std::string names(TypeSet set) {
    std::string text;
    std::size_t left = 0;
    for_each_type(set, [&](Type) { ++left; });
    for_each_type(set, [&](Type type) {
        text += name(type);
        --left;
        if (left != 0) text += left == 1 ? " and " : ", ";
    });
    return text;
}

std::size_t find_type(std::string_view word) {
    if (word.size() < 3 || word.size() > 6) return type_count;
    for (std::size_t i = 0; i < type_count; ++i)
        if (has(value_types, static_cast<Type>(i)) && name(static_cast<Type>(i)) == word) return i;
    return type_count;
}

}  // namespace ptxgraft::expr
