// The operators, and the instructions that compute them for each type.

#include "stub/expr/operations.hpp"

#include <string>

#include "ptxgraft/expression.hpp"

namespace ptxgraft::expr {
namespace {

constexpr TypeSet pairs = pair_types, wide_floats = f32_ | f64_;
/// that have sums and products, and comparisons, of their own
constexpr TypeSet exact = f16_ | only(Type::f16x2) | wide_floats,
                  compared = integer_types | f16_ | wide_floats;
constexpr TypeSet words = unsigned_types, s_words = signed_types;
constexpr TypeSet wide_unsigned = only(Type::u32) | only(Type::u64),
                  wide_signed = only(Type::s32) | only(Type::s64);

struct Primitive {
    Op op;
    TypeSet types;
    /// the entry's name: `$` the type, `#` its width, `@` `.ftz` of f32 where the option says so
    std::string_view pattern;
    std::uint16_t since = 0;  ///< there is a definition for older architectures
};

// Signed integers have the bit operations of the unsigned ones under names of the set's own (and.s32).
constexpr Primitive primitives[] = {
    {Op::add, integer_types, "add.$"},
    {Op::add, exact, "add.rn@.$"},
    {Op::sub, integer_types, "sub.$"},
    {Op::sub, exact, "sub.rn@.$"},
    {Op::mul, integer_types, "mul.lo.$"},
    {Op::mul, exact, "mul.rn@.$"},
    {Op::div, integer_types, "div.$"},
    {Op::div, wide_floats, "div.rn@.$"},
    {Op::rem, integer_types, "rem.$"},
    {Op::and_, pred_type | s_words, "and.$"},
    {Op::and_, words, "and.b#"},
    {Op::or_, pred_type | s_words, "or.$"},
    {Op::or_, words, "or.b#"},
    {Op::xor_, pred_type | s_words, "xor.$"},
    {Op::xor_, words, "xor.b#"},
    {Op::not_, pred_type | s_words, "not.$"},
    {Op::not_, words, "not.b#"},
    {Op::neg, s_words | pairs | float_types, "neg@.$"},
    {Op::shl, words, "shl.b#"},
    {Op::shl, s_words, "shl.$"},
    {Op::shr, integer_types, "shr.$"},
    {Op::lt, compared, "setp.lt@.$"},
    {Op::le, compared, "setp.le@.$"},
    {Op::gt, compared, "setp.gt@.$"},
    {Op::ge, compared, "setp.ge@.$"},
    {Op::eq, compared, "setp.eq@.$"},
    // unordered: NaN differs from everything
    {Op::ne, integer_types, "setp.ne.$"},
    {Op::ne, f16_ | wide_floats, "setp.neu@.$"},
    {Op::ne, pred_type, "xor.pred"},
    {Op::select, value_types & ~pred_type, "selp.$"},
    {Op::abs, s_words | pairs | float_types, "abs@.$"},
    {Op::min, integer_types | bf16_ | pairs | wide_floats, "min@.$"},
    {Op::min, f16_, "min.f16", 80},
    {Op::max, integer_types | bf16_ | pairs | wide_floats, "max@.$"},
    {Op::max, f16_, "max.f16", 80},
    {Op::fma, pairs | float_types, "fma.rn@.$"},
    {Op::sqrt, wide_floats, "sqrt.rn@.$"},
    {Op::rcp, wide_floats, "rcp.rn@.$"},
    {Op::floor, f16_ | wide_floats, "cvt.rmi@.$.$"},
    {Op::ceil, f16_ | wide_floats, "cvt.rpi@.$.$"},
    {Op::trunc, f16_ | wide_floats, "cvt.rzi@.$.$"},
    {Op::round, f16_ | wide_floats, "cvt.rni@.$.$"},
    {Op::copysign_from, wide_floats, "copysign.$"},
    {Op::mulhi, integer_types, "mul.hi.$"},
    {Op::popc, wide_unsigned, "popc.b#"},
    {Op::popc, wide_signed, "popc.$"},
    {Op::clz, wide_unsigned, "clz.b#"},
    {Op::clz, wide_signed, "clz.$"},
    {Op::brev, wide_unsigned, "brev.b#"},
    {Op::brev, wide_signed, "brev.$"},
    {Op::bfind, wide_unsigned, "bfind.shiftamt.$"},
    {Op::isnan, wide_floats, "testp.notanumber.$"},
    {Op::isfinite, wide_floats, "testp.finite.$"},
    {Op::isinf, wide_floats, "testp.infinite.$"},
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
            text += ftz && type == Type::f32 ? ".ftz" : "";
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
