// Types: what is not known takes the type of what it meets.

#include <fmt/format.h>

#include <algorithm>

#include "stub/expr/parser.hpp"
#include "stub/suggest.hpp"

namespace ptxgraft::expr {

TypeRef Parser::new_variable(std::uint32_t TypeVariable::*what, std::uint32_t node) {
    const auto made = static_cast<TypeRef>(type_count + work_.variables.size());
    work_.variables.push_back({.is = made});
    work_.variables.back().*what = node;
    return made;
}

// Finds a variable to be a type; an error when it holds a number that cannot have it.
bool Parser::bind(TypeRef variable, Type type, Span place) {
    TypeVariable& open = work_.variables[variable - type_count];
    if (type == Type::pred)
        return fail_at(Errc::expression_type_wrong, place,
                       fmt::format("a pred is wanted and {} is a number: compare it, {} != 0", quoted(place),
                                   quoted(place))) != none;
    if (open.fraction != none && has(integer_types, type)) {
        const Span literal = at(open.fraction).span;
        return fail_at(Errc::expression_type_wrong, literal,
                       fmt::format("{0} has a fraction, and {1} is wanted here: write {1}({0}), or convert "
                                   "what it meets, as in f32(n)",
                                   quoted(literal), name(type))) != none;
    }
    open.is = ref(type);
    return true;
}

// Whether the operations that a variable went through take a type. What a load from an open pointer gives,
// its type says alone.
bool Parser::may_be(TypeRef variable, Type type) const {
    const TypeVariable& open = work_.variables[variable - type_count];
    return open.load != none || has(open.taken, type);
}

// Notes that an operation takes a value, where its type is not known yet.
void Parser::limit(std::uint32_t node, Op op) {
    if (const TypeRef open = type_at(node); !is_known(open))
        work_.variables[open - type_count].taken &= types_of(op);
}

// Where a type is wanted that the variable cannot have, it has its own: the two are shown beside each other
// then.
bool Parser::settle_unless(TypeRef variable, Type type) {
    return is_known(variable) || may_be(variable, type) || settle_variable(variable);
}

bool Parser::unify(std::uint32_t a, std::uint32_t b, std::string_view what) {
    TypeRef left = type_at(a), right = type_at(b);
    if (left == right) return true;
    if (is_known(left) && !settle_unless(right, static_cast<Type>(left))) return false;
    if (is_known(right) && !settle_unless(left, static_cast<Type>(right))) return false;
    if (!is_known(left) && !is_known(right)) return merge(left, right) || mismatch(a, b, what) != none;
    left = type_at(a);
    right = type_at(b);
    if (is_known(left) && is_known(right)) return left == right || mismatch(a, b, what) != none;
    if (is_known(left)) return bind(right, static_cast<Type>(left), at(b).span);
    return bind(left, static_cast<Type>(right), at(a).span);
}

// Makes two variables one. False: there is no type that both may have, and each has its own now.
bool Parser::merge(TypeRef left, TypeRef right) {
    TypeVariable &to = work_.variables[left - type_count], &from = work_.variables[right - type_count];
    if (to.load == none && from.load == none && (to.taken & from.taken) == 0) {
        settle_variable(left);
        settle_variable(right);
        return false;
    }
    to.integer = std::min(to.integer, from.integer);
    to.fraction = std::min(to.fraction, from.fraction);
    to.load = std::min(to.load, from.load);
    to.taken &= from.taken;
    from.is = left;
    return true;
}

bool Parser::require_pred(std::uint32_t node, std::string_view what) {
    const TypeRef type = type_at(node);
    if (type == ref(Type::pred)) return true;
    const Span span = at(node).span;
    if (!is_known(type)) {
        const std::uint32_t load = work_.variables[type - type_count].load;
        return load != none ? pointee_unknown(load) != none : bind(type, Type::pred, span);
    }
    return fail_at(Errc::expression_type_wrong, span,
                   fmt::format("{} takes pred, {} is {}: write {} != 0", what, quoted(span),
                               name(static_cast<Type>(type)), quoted(span))) != none;
}

// What nothing determines: 1 is s32; 1.5 is f32, and so is what only functions of floats take.
bool Parser::settle_variable(TypeRef variable) {
    TypeVariable& open = work_.variables[variable - type_count];
    if (open.load != none) return pointee_unknown(open.load) != none;
    open.is = ref(open.fraction != none || !has(open.taken, Type::s32) ? Type::f32 : Type::s32);
    return true;
}

bool Parser::settle(std::uint32_t node) {
    const TypeRef type = type_at(node);
    return is_known(type) || settle_variable(type);
}

bool Parser::settle_all() {
    for (std::size_t i = 0; i < work_.variables.size(); ++i)
        if (work_.variables[i].is == type_count + i && !settle_variable(work_.variables[i].is)) return false;
    for (Node& node : work_.nodes) node.type = work_.root(node.type);
    if (options_.contract) contract();
    return true;
}

// a * b + c as one fma: the product is left out, and the sum has three operands. Where the product stands on
// the right, c comes first.
void Parser::contract() {
    for (Node& node : work_.nodes) {
        if ((node.op != Op::add && node.op != Op::sub) ||
            !has(float_types | pair_types, static_cast<Type>(node.type)))
            continue;
        const bool is_left = at(node.a).op == Op::mul;
        if (!is_left && at(node.b).op != Op::mul) continue;
        Node& product = at(is_left ? node.a : node.b);
        node.is_branch = node.op == Op::sub;
        node.is_fixed = !is_left;
        node.c = is_left ? node.b : node.a;
        node.a = product.a;
        node.b = product.b;
        node.op = Op::fma;
        product.op = Op::elided;
    }
}

// ---- messages

std::string quoted(std::string_view text, Span span) {
    constexpr std::size_t most = 40;
    text = text.substr(span.begin, span.end - span.begin);
    if (text.size() <= most && text.find('\n') == std::string_view::npos) return std::string(text);
    return std::string(text.substr(0, std::min(most - 3, text.find('\n')))) + "…";
}

Error untaken(std::string_view text, Op op, const Node& operand, Type type) {
    const TypeSet taken = types_of(op);
    const std::string what = quoted(text, operand.span);
    std::string fix;
    if (has(integer_types, type) && (taken & integer_types) == 0 && (taken & float_types) != 0)
        fix = fmt::format(": write f32({})", what);
    if (has(float_types, type) && (taken & float_types) == 0 && has(taken, Type::u32))
        fix = fmt::format(": bits({}) are its bits", what);
    if (type == Type::pred && (taken & integer_types) != 0) fix = fmt::format(": write u32({})", what);
    return fail(Errc::expression_type_wrong, operand.span,
                fmt::format("{} takes {}, {} is {}{}", spelling(op), names(taken), what, name(type), fix))
        .value();
}

std::uint32_t Parser::untaken(Op op, std::uint32_t operand) {
    if (!error_) error_ = expr::untaken(lexer_.text(), op, at(operand), static_cast<Type>(type_at(operand)));
    return none;
}

// Names the cast that makes the two one type: to the float, or to the wider, or of the second to the first.
// Points at what is to be cast.
std::uint32_t Parser::mismatch(std::uint32_t a, std::uint32_t b, std::string_view what) {
    const Type left = static_cast<Type>(type_at(a)), right = static_cast<Type>(type_at(b));
    const auto is_float = [](Type type) { return has(float_types, type); };
    const bool right_wins =
        left != Type::pred &&
        (right == Type::pred ||
         (is_float(left) != is_float(right) ? is_float(right) : bits(right) > bits(left)));
    const std::uint32_t cast = right_wins ? a : b;
    const Type wanted = right_wins ? right : left;
    const std::string fix = wanted == Type::pred ? fmt::format("{} != 0", quoted(at(cast).span))
                                                 : fmt::format("{}({})", name(wanted), quoted(at(cast).span));
    return fail_at(Errc::expression_type_wrong, at(cast).span,
                   fmt::format("{} is {} and {} is {}, and {} converts nothing by itself: write {}",
                               quoted(at(a).span), name(left), quoted(at(b).span), name(right), what, fix));
}

std::uint32_t Parser::pointee_unknown(std::uint32_t load) {
    const Node& node = at(load);
    const std::string_view text = lexer_.text();
    const Span pointer = at(node.a).span, index = at(node.b).span;
    return fail_at(Errc::expression_type_wrong, node.span,
                   fmt::format("nothing says what {0} points to: write f32[{0}, {1}], or another type",
                               text.substr(pointer.begin, pointer.end - pointer.begin),
                               text.substr(index.begin, index.end - index.begin)));
}

std::uint32_t Parser::expected(std::string_view what) {
    const Span place = here();
    if (lexer_.kind == Token::unclosed)
        return fail_at(Errc::expression_syntax_wrong, place, "this comment is never closed; expected '*/'");
    if (lexer_.kind == Token::end)
        return fail_at(Errc::expression_syntax_wrong, place, fmt::format("expected {}, found the end", what));
    if (lexer_.kind == Token::line && lexer_.word() == "\n")
        return fail_at(Errc::expression_syntax_wrong, place,
                       fmt::format("expected {}, found the end of the line", what));
    return fail_at(Errc::expression_syntax_wrong, place,
                   fmt::format("expected {}, found '{}'", what, quoted(place)));
}

std::vector<std::string_view> Parser::symbol_names() const {
    std::vector<std::string_view> names;
    for (const Symbol& symbol : work_.symbols) names.push_back(symbol.name);
    return names;
}

// What words of C and of other languages are here.
static std::string_view meaning_of(std::string_view word) {
    constexpr std::pair<std::string_view, std::string_view> rows[] = {{"float", "f32"},
                                                                      {"double", "f64"},
                                                                      {"half", "f16"},
                                                                      {"int", "s32"},
                                                                      {"unsigned", "u32"},
                                                                      {"uint", "u32"},
                                                                      {"short", "s16"},
                                                                      {"long", "s64"},
                                                                      {"bool", "pred"},
                                                                      {"fabs", "abs"},
                                                                      {"fabsf", "abs"},
                                                                      {"fmax", "max"},
                                                                      {"fmaxf", "max"},
                                                                      {"fmin", "min"},
                                                                      {"fminf", "min"},
                                                                      {"ln", "log"},
                                                                      {"rint", "round"},
                                                                      {"nearbyint", "round"},
                                                                      {"relu", "max(x, 0)"},
                                                                      {"square", "x * x"},
                                                                      {"saturate", "clamp(x, 0, 1)"},
                                                                      {"if", "c ? a : b"},
                                                                      {"where", "select"},
                                                                      {"reinterpret", "bits"},
                                                                      {"__float_as_uint", "bits"},
                                                                      {"__uint_as_float", "float_bits"},
                                                                      {"__fdividef", "approx_div"},
                                                                      {"__expf", "approx_exp"},
                                                                      {"__logf", "approx_log"},
                                                                      {"__sinf", "approx_sin"},
                                                                      {"__cosf", "approx_cos"}};
    for (const auto& [other, ours] : rows)
        if (other == word) return ours;
    return {};
}

std::uint32_t Parser::unknown_name(Span place) {
    const std::string_view word = lexer_.text().substr(place.begin, place.end - place.begin);
    if (const std::string_view ours = meaning_of(word); !ours.empty())
        return fail_at(Errc::expression_name_unknown, place,
                       fmt::format("unknown name {}: here it is {}", word, ours));
    const std::string near = did_you_mean(word, symbol_names());
    if (!near.empty())
        return fail_at(Errc::expression_name_unknown, place,
                       fmt::format("unknown name {}{}", quoted(place), near));
    if (find_function(word, hash_of(word), false) != nullptr || find_type(word) != type_count)
        return fail_at(Errc::expression_name_unknown, place,
                       fmt::format("{0} is a function: write {0}(…)", word));
    std::string all;
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < std::min(most, work_.symbols.size()); ++i)
        all += (i == 0 ? "" : ", ") + std::string(work_.symbols[i].name);
    return fail_at(
        Errc::expression_name_unknown, place,
        fmt::format("unknown name {}; there {} {}", quoted(place), work_.symbols.size() == 1 ? "is" : "are",
                    all.empty() ? "no names" : all + (work_.symbols.size() > most ? " …" : "")));
}

std::uint32_t Parser::unknown_function(Span place) {
    const std::string_view word = lexer_.text().substr(place.begin, place.end - place.begin);
    if (work_.find(word, hash_of(word)) != none)
        return fail_at(Errc::expression_name_unknown, place, fmt::format("{} is no function", word));
    if (const std::string_view ours = meaning_of(word); !ours.empty())
        return fail_at(Errc::expression_name_unknown, place,
                       fmt::format("unknown function {}: here it is {}", word, ours));
    const std::string near = did_you_mean(word, function_names());
    std::string all;
    if (near.empty())
        for (const std::string_view name : function_names())
            all += (all.empty() ? "; the functions are " : ", ") + std::string(name);
    return fail_at(Errc::expression_name_unknown, place,
                   fmt::format("unknown function {}{}{}", quoted(place), near, all));
}

}  // namespace ptxgraft::expr
