// Brackets and calls: elements of fragments, loads, functions, casts.

#include <fmt/format.h>

#include "stub/expr/parser.hpp"

namespace ptxgraft::expr {

constexpr std::size_t max_arguments = 8;

// ---- brackets

// [2] of a fragment; none after an error.
std::uint32_t Parser::element_index(const Symbol& symbol) {
    ++lexer_.skip_lines;
    lexer_.next();
    --lexer_.skip_lines;
    const Span place = here();
    const auto right = [&] {
        return fmt::format("an element of a fragment has a constant number, {0}[0] to {0}[{1}]", symbol.name,
                           symbol.count - 1);
    };
    const NumberWord number = lexer_.kind == Token::number ? read_number(lexer_.word()) : NumberWord{};
    if (lexer_.kind != Token::number || number.problem != nullptr || number.literal.is_fraction)
        return fail_at(Errc::expression_type_wrong, place, right());
    if (number.literal.magnitude >= symbol.count)
        return fail_at(Errc::expression_type_wrong, place,
                       fmt::format("{} has {} elements, there is no {}", symbol.name, symbol.count,
                                   number.literal.magnitude));
    lexer_.next();
    if (lexer_.kind != Token::close_bracket)
        return fail_at(Errc::expression_type_wrong, here(), "expected ']': " + right());
    lexer_.next();
    return static_cast<std::uint32_t>(number.literal.magnitude);
}

std::uint32_t Parser::indexed(std::uint32_t symbol, Span name) {
    const Symbol found = work_.symbols[symbol];
    if (found.count != 0) {
        const std::uint32_t element = element_index(found);
        return element == none ? none : read(symbol, element, {name.begin, lexer_.last_end});
    }
    const std::uint32_t address = read(symbol, 0, name);
    if (address == none) return none;
    if (type_at(address) != ref(Type::u64)) {
        const TypeRef type = type_at(address);
        return fail_at(Errc::expression_type_wrong, name,
                       fmt::format("{} is {}: only a pointer (u64) and a fragment have elements", found.name,
                                   is_known(type) ? ptxgraft::name(static_cast<Type>(type)) : "a number"));
    }
    ++lexer_.skip_lines;
    lexer_.next();
    const std::uint32_t index = expression();
    --lexer_.skip_lines;
    if (index == none) return none;
    if (lexer_.kind != Token::close_bracket)
        return lexer_.kind == Token::end
                   ? fail_at(Errc::expression_syntax_wrong, name,
                             fmt::format("the '[' behind {} is never closed", found.name))
                   : expected("an operator or ']'");
    lexer_.next();
    const TypeRef type = found.pointee < type_count ? found.pointee : new_variable(&TypeVariable::load, none);
    return load(address, index, type, {name.begin, lexer_.last_end});
}

// f32[bias, col]
std::uint32_t Parser::typed_load(Type type, Span name) {
    const auto shape = [&] { return fmt::format("(a load is {}[pointer, index])", ptxgraft::name(type)); };
    if (type == Type::pred)
        return fail_at(Errc::expression_type_wrong, name,
                       "memory holds no pred; load a number and compare it");
    ++lexer_.skip_lines;
    lexer_.next();
    const std::uint32_t address = expression();
    if (address == none) return none;
    if (type_at(address) != ref(Type::u64)) {
        const TypeRef found = type_at(address);
        return fail_at(Errc::expression_type_wrong, at(address).span,
                       fmt::format("a pointer is u64, this is {}",
                                   is_known(found) ? ptxgraft::name(static_cast<Type>(found)) : "a number"));
    }
    if (lexer_.kind != Token::comma) return expected("',' " + shape());
    lexer_.next();
    const std::uint32_t index = expression();
    --lexer_.skip_lines;
    if (index == none) return none;
    if (lexer_.kind != Token::close_bracket) return expected("']' " + shape());
    lexer_.next();
    return load(address, index, ref(type), {name.begin, lexer_.last_end});
}

std::uint32_t Parser::load(std::uint32_t address, std::uint32_t index, TypeRef type, Span place) {
    Node node{.op = Op::load, .type = type, .span = place, .a = address, .b = index};
    Node& position = at(index);
    if (position.op == Op::literal && !is_known(type_at(index))) {
        constexpr std::uint64_t limit = std::uint64_t{1} << 59;
        const Literal& literal = work_.literals[position.a];
        if (literal.is_fraction || literal.magnitude > limit)
            return fail_at(
                Errc::expression_type_wrong, position.span,
                fmt::format("an index is an integer below 2^59, this is {}", quoted(position.span)));
        position.op = Op::elided;
        position.type = ref(Type::s64);
        node.is_fixed = true;
    } else {
        if (!settle(index)) return none;
        const TypeRef found = type_at(index);
        if (!has(only(Type::u32) | only(Type::s32) | only(Type::u64) | only(Type::s64),
                 static_cast<Type>(found)))
            return fail_at(
                Errc::expression_type_wrong, at(index).span,
                fmt::format("an index is u32, s32, u64 or s64, this is {}: write {}({})",
                            name(static_cast<Type>(found)),
                            static_cast<Type>(found) == Type::u16 ? "u32" : "s32", quoted(at(index).span)));
    }
    ++load_count_;
    const std::uint32_t made = add(node);
    if (type >= type_count) work_.variables[type - type_count].load = made;
    return made;
}

// ---- calls

std::uint32_t Parser::call(Span name, std::uint32_t hash) {
    std::array<std::uint32_t, max_arguments> arguments{};
    std::size_t count = 0;
    ++lexer_.skip_lines;
    lexer_.next();
    while (lexer_.kind != Token::close) {
        if (lexer_.kind == Token::end)
            return fail_at(Errc::expression_syntax_wrong, name,
                           fmt::format("the '(' behind {} is never closed", quoted(name)));
        const std::uint32_t argument = expression();
        if (argument == none) return none;
        if (count < max_arguments) arguments[count] = argument;
        ++count;
        if (lexer_.kind == Token::comma) {
            lexer_.next();
            if (lexer_.kind == Token::close) return expected("a value");
        } else if (lexer_.kind != Token::close && lexer_.kind != Token::end) {
            return expected("an operator, ',' or ')'");
        }
    }
    --lexer_.skip_lines;
    lexer_.next();
    const std::string_view word = lexer_.text().substr(name.begin, name.end - name.begin);
    const Span whole{name.begin, lexer_.last_end};
    const std::span<const std::uint32_t> given(arguments.data(), std::min<std::size_t>(count, max_arguments));
    if (const Function* function = find_function(word, hash, scope_.machine == nullptr))
        return argument_count(name, function->arguments, count) ? function_call(*function, whole, given)
                                                                : none;
    const std::size_t type = find_type(word);
    const bool is_bits = word == "bits" || word == "float_bits" || word == "f16_bits" || word == "bf16_bits";
    if (type == type_count && !is_bits) return unknown_function(name);
    if (!argument_count(name, 1, count)) return none;
    return is_bits ? bits_call(word, whole, given) : cast_call(static_cast<Type>(type), whole, given);
}

bool Parser::argument_count(Span name, std::size_t wanted, std::size_t given) {
    if (wanted == given) return true;
    return fail_at(Errc::expression_argument_count_wrong, name,
                   fmt::format("{} takes {} argument{}, {} {} given", quoted(name), wanted,
                               wanted == 1 ? "" : "s", given, given == 1 ? "is" : "are")) != none;
}

std::uint32_t Parser::function_call(const Function& function, Span whole,
                                    std::span<const std::uint32_t> arguments) {
    const std::string_view word = function.name;
    const std::size_t first = function.rule == Rule::select ? 1 : 0;
    if (first == 1 && !require_pred(arguments[0], "the first argument of select")) return none;
    for (std::size_t i = first + 1; i < arguments.size(); ++i)
        if (!unify(arguments[first], arguments[i], word)) return none;
    const Op op = function.op;
    const TypeRef type = at(arguments[first]).type;
    // Literals alone stay open: the function's result meets something.
    if (function.rule != Rule::select) limit(arguments[first], op);
    if (const TypeRef known = work_.root(type);
        is_known(known) && !has(types_of(op), static_cast<Type>(known)))
        return untaken(op, arguments[first]);
    Node node{.op = op, .type = type, .span = whole, .a = arguments[0]};
    if (arguments.size() > 1) node.b = arguments[1];
    if (arguments.size() > 2) node.c = arguments[2];
    if (function.rule == Rule::predicate) node.type = ref(Type::pred);
    if (function.rule == Rule::count) node.type = ref(Type::u32);
    if (function.rule == Rule::single) node.type = ref(Type::f32);
    return add(node);
}

std::uint32_t Parser::cast_call(Type type, Span whole, std::span<const std::uint32_t> arguments) {
    const std::uint32_t argument = arguments[0];
    const TypeRef from = type_at(argument);
    if (!is_known(from)) {
        const TypeVariable& open = work_.variables[from - type_count];
        if (open.load != none) return pointee_unknown(open.load);
        const bool takes_it = type != Type::pred && may_be(from, type) &&
                              !(open.fraction != none && has(integer_types, type)) && !has(pair_types, type);
        if (takes_it ? !bind(from, type, at(argument).span) : !settle(argument)) return none;
    }
    return add({.op = Op::cast, .type = ref(type), .span = whole, .a = argument});
}

// bits(x): the bits of a float; float_bits(n) and the like: the reverse.
std::uint32_t Parser::bits_call(std::string_view function, Span whole,
                                std::span<const std::uint32_t> arguments) {
    struct Row {
        std::string_view name;
        Type from, to;
    };
    constexpr Row rows[] = {{"bits", Type::f16, Type::u16},       {"bits", Type::bf16, Type::u16},
                            {"bits", Type::f32, Type::u32},       {"bits", Type::f64, Type::u64},
                            {"bits", Type::f16x2, Type::u32},     {"bits", Type::bf16x2, Type::u32},
                            {"float_bits", Type::u32, Type::f32}, {"float_bits", Type::u64, Type::f64},
                            {"f16_bits", Type::u16, Type::f16},   {"bf16_bits", Type::u16, Type::bf16}};
    const std::uint32_t argument = arguments[0];
    TypeRef from = type_at(argument);
    if (!is_known(from) && work_.variables[from - type_count].load == none) {
        const Type wanted = function == "bits" ? Type::f32 : function == "float_bits" ? Type::u32 : Type::u16;
        if (may_be(from, wanted) && !bind(from, wanted, at(argument).span)) return none;
    }
    if (!settle(argument)) return none;
    from = type_at(argument);
    TypeSet taken = 0;
    for (const Row& row : rows) {
        if (row.name != function) continue;
        if (ref(row.from) == from)
            return add({.op = Op::bits, .type = ref(row.to), .span = whole, .a = argument});
        taken |= only(row.from);
    }
    return fail_at(
        Errc::expression_type_wrong, at(argument).span,
        fmt::format("{} takes {}, this is {}", function, names(taken), name(static_cast<Type>(from))));
}

}  // namespace ptxgraft::expr
