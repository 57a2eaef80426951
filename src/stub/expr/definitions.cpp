// Operations that PTX has no single exact instruction for, in the language itself. They are made of
// instructions whose results PTX defines to the bit, so that a program gives the same numbers wherever it
// runs.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "stub/expr/definitions.hpp"
#include "stub/expr/tree.hpp"

namespace ptxgraft::expr {
namespace {

constexpr TypeSet brains = bf16_ | only(Type::bf16x2);
constexpr TypeSet words32 = only(Type::u32) | only(Type::s32), words64 = only(Type::u64) | only(Type::s64);

constexpr DefinitionRow rows[] = {
    // bf16 has fma since sm_80, sums and products of its own only since sm_90: a + b is a * 1 + b, a * b is a
    // * b - 0
    {Op::add, brains, "ab", {"result = fma(a, 1, b)"}},
    {Op::sub, brains, "ab", {"result = fma(b, -1, a)"}},
    {Op::mul, brains, "ab", {"result = fma(a, b, -0.0)"}},
    // f32 has more than twice the precision of the halves: what is rounded to it first is still rounded right
    {Op::div, half_types, "ab", {"result = T(f32(a) / f32(b))"}},
    {Op::sqrt, half_types, "a", {"result = T(sqrt(f32(a)))"}},
    {Op::rcp, half_types, "a", {"result = T(1 / f32(a))"}},
    {Op::min, f16_, "ab", {"result = T(min(f32(a), f32(b)))"}},
    {Op::max, f16_, "ab", {"result = T(max(f32(a), f32(b)))"}},
    {Op::floor, bf16_, "a", {"result = T(floor(f32(a)))"}},
    {Op::ceil, bf16_, "a", {"result = T(ceil(f32(a)))"}},
    {Op::trunc, bf16_, "a", {"result = T(trunc(f32(a)))"}},
    {Op::round, bf16_, "a", {"result = T(round(f32(a)))"}},
    {Op::lt, bf16_, "ab", {"result = f32(a) < f32(b)"}},
    {Op::le, bf16_, "ab", {"result = f32(a) <= f32(b)"}},
    {Op::gt, bf16_, "ab", {"result = f32(a) > f32(b)"}},
    {Op::ge, bf16_, "ab", {"result = f32(a) >= f32(b)"}},
    {Op::eq, bf16_, "ab", {"result = f32(a) == f32(b)"}},
    {Op::ne, bf16_, "ab", {"result = f32(a) != f32(b)"}},
    {Op::isnan, half_types, "a", {"result = isnan(f32(a))"}},
    {Op::isfinite, half_types, "a", {"result = isfinite(f32(a))"}},
    {Op::isinf, half_types, "a", {"result = isinf(f32(a))"}},
    {Op::copysign, f32_ | f64_, "ab", {"result = copysign_from(b, a)"}},
    {Op::copysign, half_types, "ab", {"result = T_bits(bits(a) & 0x7FFF | bits(b) & 0x8000)"}},
    {Op::clamp, integer_types | float_types, "abc", {"result = min(max(a, b), c)"}},
    {Op::neg, unsigned_types, "a", {"result = 0 - a"}},
    {Op::eq, pred_type, "ab", {"result = !(a ^ b)"}},
    {Op::select, pred_type, "cab", {"result = c & a | !c & b"}},
    {Op::ffs, words32, "a", {"result = bfind(brev(u32(a))) + 1"}},
    {Op::ffs, words64, "a", {"result = bfind(brev(u64(a))) + 1"}},
    // rounded towards zero, and to an odd last digit where that is not exact, so that the second rounding
    // errs not
    {Op::to_bf16,
     words32 | words64 | f64_,
     "a",
     {"r = f32_rz(a)\nresult = bf16(float_bits(bits(r) | u32(T(r) != a)))"}},
};

// Functions of the halves that are those of f32, rounded once more.
bool is_by_way_of_f32(Op op, Type type) {
    return has(half_types, type) && op >= Op::rsqrt && op <= Op::approx_sigmoid;
}

struct Found {
    std::string_view parameters;
    std::string text;
};

std::string with_type(std::span<const std::string_view> parts, Type type) {
    std::string out;
    for (const std::string_view part : parts)
        for (const char c : part) c == 'T' ? out += name(type) : out += c;
    return out;
}

const DefinitionRow* find_row(Op op, Type type) {
    for (const std::span<const DefinitionRow> table :
         {std::span<const DefinitionRow>(rows), functions_of_f32(), functions_of_f64()})
        for (const DefinitionRow& row : table)
            if (row.op == op && has(row.types, type)) return &row;
    return nullptr;
}

Found find_text(Op op, Type type) {
    if (const DefinitionRow* row = find_row(op, type)) return {row->parameters, with_type(row->text, type)};
    if (!is_by_way_of_f32(op, type)) return {};
    const std::string_view word = spelling(op);
    const bool has_two = find_function(word, hash_of(word), false)->arguments == 2;
    const std::string_view arguments = has_two ? "(f32(a), f32(b)))" : "(f32(a)))";
    return {has_two ? "ab" : "a",
            with_type(std::array<std::string_view, 3>{"result = T(", word, arguments}, type)};
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

bool has_definition(Op op, Type type) { return find_row(op, type) != nullptr || is_by_way_of_f32(op, type); }

}  // namespace ptxgraft::expr
