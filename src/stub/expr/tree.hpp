#pragma once
// A text as a tree: nodes in postorder, so that one pass over them in their order emits the program.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/stack.hpp"
#include "stub/expr/lexer.hpp"
#include "stub/expr/operations.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::expr {

inline constexpr std::uint32_t none = 0xFFFFFFFFu;

/// The type of a node: a Type, or above them the number of a variable that stands for one that is not known
/// yet.
using TypeRef = std::uint32_t;
constexpr TypeRef ref(Type type) { return static_cast<TypeRef>(type); }

/// A type that is not known yet: it becomes that of what it meets.
struct TypeVariable {
    TypeRef is;                     ///< itself; else what it was found to be
    std::uint32_t integer = none;   ///< a node that is a literal like 1: any number will do
    std::uint32_t fraction = none;  ///< a node that is a literal like 1.5: a float
    std::uint32_t load = none;      ///< a node that loads from a pointer which does not say to what
    TypeSet taken = ~TypeSet{0};    ///< by the operations that it is an operand or a result of
};

struct Node {
    Op op = Op::literal;
    /// if_, else_, select: of a choice whose arms read memory, so that only one of them may run
    bool is_branch = false;
    bool is_fixed = false;     ///< load: the index is a literal
    std::uint8_t element = 0;  ///< load: log2 of the size of an element, once known
    TypeRef type = 0;
    Span span;               ///< the whole of its text
    std::uint32_t a = none;  ///< operands: nodes before this one. Of a literal, value, input: which
    std::uint32_t b = none, c = none;
};

struct Literal {
    Span span;
    std::uint64_t magnitude = 0;  ///< of an integer
    bool is_negative = false;
    bool is_fraction = false;
    bool is_bits = false;       ///< 0x, 0b: a signed type takes the bits
    std::string_view digits;    ///< of a decimal number, without its suffix; of PTX's hex floats: empty
    Type bits_of = Type::pred;  ///< of PTX's hex floats: what `magnitude` is the bits of
};

/// Something with a name: an operand or a local value.
struct Symbol {
    std::string_view name;
    std::uint32_t operand = none;       ///< of the signature; none: a local value
    std::uint32_t count = 0;            ///< elements of a fragment
    std::uint32_t first_slot = 0;       ///< of its elements in Workspace::current
    Type type = Type::f32;              ///< of an operand
    std::uint8_t pointee = type_count;  ///< of a pointer that says so
};

/// What an assignment made. It stays on its stack until the end.
struct Value {
    std::uint32_t node;
    std::uint32_t symbol, element;
    Span target;                 ///< where it was assigned
    std::uint32_t position = 0;  ///< on the stack of its type, from below
    bool is_read = false;
};

/// All that a parse works with, kept between parses so that they do not allocate.
struct Workspace {
    std::vector<Node> nodes;
    std::vector<TypeVariable> variables;
    std::vector<Literal> literals;
    std::vector<Symbol> symbols;
    std::vector<Value> values;
    std::vector<std::uint32_t> current;              ///< by slot: the value that was assigned last, or none
    static constexpr std::size_t few_symbols = 8;    ///< are looked through
    syntax::NameMap<std::uint32_t> symbols_by_name;  ///< where there are more

    std::vector<stack::Instruction> code;
    std::vector<std::uint64_t> pool;
    std::vector<Span> places;  ///< of each instruction

    void clear();
    /// none: there is none
    [[nodiscard]] std::uint32_t find(std::string_view name, std::uint32_t hash) const {
        if (symbols.size() <= few_symbols) {
            for (std::size_t i = symbols.size(); i != 0; --i)
                if (syntax::is_equal(symbols[i - 1].name, name)) return static_cast<std::uint32_t>(i - 1);
            return none;
        }
        const std::uint32_t* const found = symbols_by_name.find(name, hash);
        return found == nullptr ? none : *found;
    }
    /// Of a name that find() does not have.
    std::uint32_t add(const Symbol& symbol);

    /// What is known of a type.
    [[nodiscard]] TypeRef root(TypeRef type) {
        while (type >= type_count && variables[type - type_count].is != type)
            type = variables[type - type_count].is;
        return type;
    }
};

/// Where a text stands: the operands of a machine, or the parameters of a definition.
struct Scope {
    const stack::Machine* machine = nullptr;
    struct Parameter {
        std::string_view name;
        Type type;
    };
    std::span<const Parameter> parameters;
};

/// Text to nodes, with all types found.
[[nodiscard]] std::optional<Error> parse(std::string_view text, const Scope& scope,
                                         const ExpressionOptions& options, Workspace& work);
/// Nodes to instructions.
[[nodiscard]] std::optional<Error> emit(std::string_view text, const Scope& scope,
                                        const ExpressionOptions& options, Workspace& work);

/// Whether every operand that must be is assigned, and nothing in vain.
[[nodiscard]] std::optional<Error> check_results(std::string_view text, const Scope& scope,
                                                 const Workspace& work);
/// What may be assigned: "acc or sum".
[[nodiscard]] std::string assignable(const Scope& scope, const Workspace& work);

/// The bits of a literal as a value of a type; nothing when it does not fit (the message says why).
struct LiteralBits {
    std::uint64_t bits = 0;
    const char* problem = nullptr;
};
[[nodiscard]] LiteralBits bits_of(const Literal& literal, Type type);
/// Reads a number's word.
struct NumberWord {
    Literal literal;
    std::size_t suffix = type_count;  ///< a Type
    const char* problem = nullptr;
};
[[nodiscard]] NumberWord read_number(std::string_view word);

/// A part of the text for a message, cut where it is long.
[[nodiscard]] std::string quoted(std::string_view text, Span span);
/// "sqrt takes f16, bf16, f32 and f64, n is s32: write f32(n)".
[[nodiscard]] Error untaken(std::string_view text, Op op, const Node& operand, Type type);

}  // namespace ptxgraft::expr
