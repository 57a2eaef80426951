// The functions of expressions by name.

#include <algorithm>
#include <array>

#include "stub/expr/lexer.hpp"
#include "stub/expr/operations.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::expr {
namespace {

constexpr Function functions[] = {
    {"abs", Op::abs, 1, Rule::same},
    {"min", Op::min, 2, Rule::same},
    {"max", Op::max, 2, Rule::same},
    {"fma", Op::fma, 3, Rule::same},
    {"sqrt", Op::sqrt, 1, Rule::same, Op::approx_sqrt},
    {"rcp", Op::rcp, 1, Rule::same, Op::approx_rcp},
    {"rsqrt", Op::rsqrt, 1, Rule::same, Op::approx_rsqrt},
    {"floor", Op::floor, 1, Rule::same},
    {"ceil", Op::ceil, 1, Rule::same},
    {"trunc", Op::trunc, 1, Rule::same},
    {"round", Op::round, 1, Rule::same},
    {"copysign", Op::copysign, 2, Rule::same},
    {"clamp", Op::clamp, 3, Rule::same},
    {"mulhi", Op::mulhi, 2, Rule::same},
    {"popc", Op::popc, 1, Rule::count},
    {"clz", Op::clz, 1, Rule::count},
    {"brev", Op::brev, 1, Rule::same},
    {"ffs", Op::ffs, 1, Rule::count},
    {"isnan", Op::isnan, 1, Rule::predicate},
    {"isfinite", Op::isfinite, 1, Rule::predicate},
    {"isinf", Op::isinf, 1, Rule::predicate},
    {"select", Op::select, 3, Rule::select},
    {"exp", Op::exp, 1, Rule::same, Op::approx_exp},
    {"exp2", Op::exp2, 1, Rule::same, Op::approx_exp2},
    {"log", Op::log, 1, Rule::same, Op::approx_log},
    {"log2", Op::log2, 1, Rule::same, Op::approx_log2},
    {"sin", Op::sin, 1, Rule::same, Op::approx_sin},
    {"cos", Op::cos, 1, Rule::same, Op::approx_cos},
    {"tanh", Op::tanh, 1, Rule::same, Op::approx_tanh},
    {"sigmoid", Op::sigmoid, 1, Rule::same, Op::approx_sigmoid},
    {"erf", Op::erf, 1, Rule::same},
    {"pow", Op::pow, 2, Rule::same},
    {"exp10", Op::exp10, 1, Rule::same},
    {"expm1", Op::expm1, 1, Rule::same},
    {"log10", Op::log10, 1, Rule::same},
    {"log1p", Op::log1p, 1, Rule::same},
    {"tan", Op::tan, 1, Rule::same},
    {"asin", Op::asin, 1, Rule::same},
    {"acos", Op::acos, 1, Rule::same},
    {"atan", Op::atan, 1, Rule::same},
    {"sinh", Op::sinh, 1, Rule::same},
    {"cosh", Op::cosh, 1, Rule::same},
    {"erfc", Op::erfc, 1, Rule::same},
    {"cbrt", Op::cbrt, 1, Rule::same},
    {"atan2", Op::atan2, 2, Rule::same},
    {"hypot", Op::hypot, 2, Rule::same},
    {"fmod", Op::fmod, 2, Rule::same},
    {"approx_div", Op::approx_div, 2, Rule::same},
    {"approx_sqrt", Op::approx_sqrt, 1, Rule::same},
    {"approx_rcp", Op::approx_rcp, 1, Rule::same},
    {"approx_rsqrt", Op::approx_rsqrt, 1, Rule::same},
    {"approx_exp", Op::approx_exp, 1, Rule::same},
    {"approx_exp2", Op::approx_exp2, 1, Rule::same},
    {"approx_log", Op::approx_log, 1, Rule::same},
    {"approx_log2", Op::approx_log2, 1, Rule::same},
    {"approx_sin", Op::approx_sin, 1, Rule::same},
    {"approx_cos", Op::approx_cos, 1, Rule::same},
    {"approx_tanh", Op::approx_tanh, 1, Rule::same},
    {"approx_sigmoid", Op::approx_sigmoid, 1, Rule::same},
    {"f32_rz", Op::f32_rz, 1, Rule::single, Op::count, true},
    {"copysign_from", Op::copysign_from, 2, Rule::same, Op::count, true},
    {"bfind", Op::bfind, 1, Rule::count, Op::count, true},
};

struct Sign {
    Op op;
    std::string_view text;
};
constexpr Sign signs[] = {{Op::add, "+"},  {Op::sub, "-"},  {Op::mul, "*"},  {Op::div, "/"},  {Op::rem, "%"},
                          {Op::and_, "&"}, {Op::or_, "|"},  {Op::xor_, "^"}, {Op::not_, "~"}, {Op::neg, "-"},
                          {Op::shl, "<<"}, {Op::shr, ">>"}, {Op::lt, "<"},   {Op::le, "<="},  {Op::gt, ">"},
                          {Op::ge, ">="},  {Op::eq, "=="},  {Op::ne, "!="}};

constexpr std::string_view other_names[] = {"bits", "float_bits", "f16_bits", "bf16_bits"};

}  // namespace

const Function* find_function(std::string_view name, std::uint32_t hash, bool with_internal) {
    static const auto table = [] {
        syntax::NameMap<const Function*> made;
        for (const Function& f : functions) *made.put(f.name, hash_of(f.name)).first = &f;
        return made;
    }();
    const Function* const* const found = table.find(name, hash);
    return found == nullptr || ((*found)->is_internal && !with_internal) ? nullptr : *found;
}

const std::vector<std::string_view>& function_names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const Function& f : functions)
            if (!f.is_internal) all.push_back(f.name);
        all.insert(all.end(), std::begin(other_names), std::end(other_names));
        for (std::size_t i = 0; i < type_count; ++i)
            if (has(value_types & ~pair_types, static_cast<Type>(i)))
                all.push_back(name(static_cast<Type>(i)));
        return all;
    }();
    return names;
}

std::string_view spelling(Op op) {
    for (const Sign& s : signs)
        if (s.op == op) return s.text;
    for (const Function& f : functions)
        if (f.op == op) return f.name;
    return "this";
}

Op approximate(Op op) {
    static const auto table = [] {
        std::array<Op, op_count> all{};
        for (std::size_t i = 0; i < op_count; ++i) all[i] = static_cast<Op>(i);
        for (const Function& f : functions)
            if (f.approximate != Op::count) all[static_cast<std::size_t>(f.op)] = f.approximate;
        all[static_cast<std::size_t>(Op::div)] = Op::approx_div;
        return all;
    }();
    return table[static_cast<std::size_t>(op)];
}

}  // namespace ptxgraft::expr
