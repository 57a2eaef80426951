#pragma once
// What expressions can do, by type: entries of the expression set, found once, or definitions in the language
// itself.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "stub/expr/types.hpp"

namespace ptxgraft::expr {

enum class Op : std::uint8_t {
    // what else a tree has
    literal,
    input,
    value,
    special,
    keep,
    load,
    cast,
    bits,
    from_bits,
    if_,
    else_,
    elided,
    // operators
    add,
    sub,
    mul,
    div,
    rem,
    and_,
    or_,
    xor_,
    not_,
    neg,
    shl,
    shr,
    lt,
    le,
    gt,
    ge,
    eq,
    ne,
    select,
    // functions
    abs,
    min,
    max,
    fma,
    sqrt,
    rcp,
    floor,
    ceil,
    trunc,
    round,
    copysign,
    clamp,
    mulhi,
    popc,
    clz,
    brev,
    ffs,
    isnan,
    isfinite,
    isinf,
    // from here on: of the halves by way of f32
    rsqrt,
    exp,
    exp2,
    exp10,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    sigmoid,
    erf,
    erfc,
    cbrt,
    pow,
    atan2,
    hypot,
    fmod,
    approx_div,
    approx_sqrt,
    approx_rcp,
    approx_rsqrt,
    approx_exp,
    approx_exp2,
    approx_log,
    approx_log2,
    approx_sin,
    approx_cos,
    approx_tanh,
    approx_sigmoid,
    // for definitions alone
    to_bf16,
    f32_rz,
    copysign_from,
    bfind,
    count
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::count);

/// The entries of the expression set by operation and type.
struct Entries {
    static constexpr std::int16_t none = -1;
    using ByType = std::array<std::int16_t, type_count>;
    struct Row {
        ByType plain, ftz;
        /// used on this architecture and later; before it the definition is
        std::array<std::uint16_t, type_count> since;
    };
    std::array<Row, op_count> rows;
    /// that an operation takes, by an entry or a definition
    std::array<TypeSet, op_count> types;
    std::array<ByType, type_count> casts;  ///< [from][to]
    ByType loads;                          ///< ld.global
    std::int16_t index_u32, index_s32;     ///< mad.wide
};
[[nodiscard]] const Entries& entries();

/// An operation on a type as a text in the language itself, compiled once: it takes its arguments from the
/// stacks and leaves its result.
struct Definition {
    std::vector<stack::Instruction> code;
    std::vector<std::uint64_t> pool;
};
/// Null: there is none.
[[nodiscard]] const Definition* definition(Op op, Type type);
[[nodiscard]] bool has_definition(Op op, Type type);

[[nodiscard]] inline TypeSet types_of(Op op) { return entries().types[static_cast<std::size_t>(op)]; }
/// What users write: `+`, `max`.
[[nodiscard]] std::string_view spelling(Op op);
/// What an operation means with the option `approx`; itself for most.
[[nodiscard]] Op approximate(Op op);

/// How the types of a function's arguments and of its result go together.
enum class Rule : std::uint8_t {
    same,       ///< all of one type, which the result has
    predicate,  ///< all of one type; the result is pred
    count,      ///< the result is u32
    select,     ///< a pred, then two of one type, which the result has
    single,     ///< the result is f32
};

struct Function {
    std::string_view name;
    Op op;
    std::uint8_t arguments;
    Rule rule;
    Op approximate = Op::count;  ///< what the name means with the option `approx`
    bool is_internal = false;
};
/// By name and its hash_of; null: there is none. Internal ones only for definitions.
[[nodiscard]] const Function* find_function(std::string_view name, std::uint32_t hash, bool with_internal);
/// The names of functions that users may call, casts included.
[[nodiscard]] const std::vector<std::string_view>& function_names();

}  // namespace ptxgraft::expr
