// From the text of an expression to its syntax tree.

#include "stub/expr/parser.hpp"

#include <fmt/format.h>

#include "stub/suggest.hpp"

namespace ptxgraft::expr {
namespace {

constexpr std::uint32_t max_depth = 400;

struct Level {
    std::uint8_t level = 0;  // of precedence, C's; 0: no operator of two operands
    Op op = Op::literal;
};
constexpr Level level_of(Token token) {
    switch (token) {
        case Token::or_or: return {1, Op::or_};
        case Token::and_and: return {2, Op::and_};
        case Token::or_: return {3, Op::or_};
        case Token::xor_: return {4, Op::xor_};
        case Token::and_: return {5, Op::and_};
        case Token::eq: return {6, Op::eq};
        case Token::ne: return {6, Op::ne};
        case Token::lt: return {7, Op::lt};
        case Token::le: return {7, Op::le};
        case Token::gt: return {7, Op::gt};
        case Token::ge: return {7, Op::ge};
        case Token::shl: return {8, Op::shl};
        case Token::shr: return {8, Op::shr};
        case Token::plus: return {9, Op::add};
        case Token::minus: return {9, Op::sub};
        case Token::star: return {10, Op::mul};
        case Token::slash: return {10, Op::div};
        case Token::percent: return {10, Op::rem};
        default: return {};
    }
}
constexpr int lowest_level = 1, highest_level = 10;

constexpr Op compound_ops[] = {Op::add,  Op::sub, Op::mul,  Op::div, Op::rem,
                               Op::and_, Op::or_, Op::xor_, Op::shl, Op::shr};

// Counts how deep the text is nested while it lives.
class Nesting {
  public:
    explicit Nesting(std::uint32_t& depth) : depth_(depth) { ++depth_; }
    ~Nesting() { --depth_; }

  private:
    std::uint32_t& depth_;
};

}  // namespace

std::optional<Error> Parser::run() {
    declare_operands();
    while (!error_) {
        while (lexer_.kind == Token::line) lexer_.next();
        if (lexer_.kind == Token::end) break;
        if (!statement()) return error_;
    }
    if (!error_) settle_all();
    return error_;
}

void Parser::declare_operands() {
    if (scope_.machine == nullptr) {
        for (std::uint32_t i = 0; i < scope_.parameters.size(); ++i) {
            const auto& parameter = scope_.parameters[i];
            const std::uint32_t symbol = work_.add({.name = parameter.name});
            Node node{.op = Op::literal, .type = ref(parameter.type), .span = {}};
            node.op = Op::elided;
            assign({symbol, 0, {}}, add(node));
        }
        return;
    }
    const auto& operands = scope_.machine->signature().operands;
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
        const SiteOperand& o = operands[i];
        Symbol symbol{.name = o.name, .operand = i, .count = o.count, .type = type_of(o.type)};
        constexpr std::string_view prefix = "ptr_";
        if (o.type == Type::u64 && o.user_type.starts_with(prefix))
            symbol.pointee =
                static_cast<std::uint8_t>(find_type(std::string_view(o.user_type).substr(prefix.size())));
        work_.add(symbol);
    }
}

// ---- statements

bool Parser::statement() {
    if (lexer_.kind != Token::name) return expected("the name that is assigned") != none;
    const auto to = target();
    if (!to) return false;
    const Token sign = lexer_.kind;
    const Span place = here();
    if (sign < Token::plus_assign && sign != Token::assign) {
        if (work_.symbols.size() > 0 && sign == Token::eq)
            return fail_at(Errc::expression_syntax_wrong, place, "'==' compares; '=' assigns") != none;
        return expected(fmt::format("'=' (an expression is assigned: {} = …)", assignable(scope_, work_))) !=
               none;
    }
    std::uint32_t left = none;
    if (sign != Token::assign) {
        if (to->symbol == none) return unknown_name(to->span) != none;
        left = read(to->symbol, to->element, to->span);
        if (left == none) return false;
    }
    lexer_.next();
    std::uint32_t node = expression();
    if (node == none) return false;
    if (sign != Token::assign) {
        const Op op = compound_ops[static_cast<int>(sign) - static_cast<int>(Token::plus_assign)];
        node = add_binary(op, left, node, lexer_.text().substr(place.begin, place.end - place.begin));
    }
    return node != none && end_of_statement() && assign(*to, node);
}

// A name, or an element of a fragment.
std::optional<Parser::Target> Parser::target() {
    const Span name = here();
    const std::string_view word = lexer_.word();
    const std::uint32_t found = work_.find(word, lexer_.hash);
    lexer_.next();
    if (found == none) return new_target(word, name);
    const Symbol symbol = work_.symbols[found];
    const bool has_bracket = lexer_.kind == Token::open_bracket;
    if (symbol.operand != none && !check_target(symbol, name)) return std::nullopt;
    if (has_bracket == (symbol.count != 0)) {
        const std::uint32_t element = has_bracket ? element_index(symbol) : 0;
        if (element == none || (symbol.operand != none && !check_target(symbol, name))) return std::nullopt;
        return Target{found, element, {name.begin, lexer_.last_end}};
    }
    fail_at(Errc::expression_assignment_wrong, name,
            has_bracket ? fmt::format("{} is no fragment: expressions read memory and do not write it", word)
                        : fmt::format("{0} has {1} elements: assign {0}[0] to {0}[{2}]", word, symbol.count,
                                      symbol.count - 1));
    return std::nullopt;
}

// A name that is new is declared when its expression has been read.
std::optional<Parser::Target> Parser::new_target(std::string_view word, Span name) {
    if (lexer_.kind == Token::open_bracket) {
        unknown_name(name);
        return std::nullopt;
    }
    const bool is_taken =
        find_type(word) != type_count || word == "true" || word == "false" || word == "inf" || word == "nan";
    if (!is_taken || lexer_.kind != Token::assign) return Target{none, 0, name};
    fail_at(Errc::expression_assignment_wrong, name,
            fmt::format("{} is a word of the language; take another name", word));
    return std::nullopt;
}

bool Parser::check_target(const Symbol& symbol, Span place) {
    const bool is_assignment = lexer_.kind == Token::assign || lexer_.kind >= Token::plus_assign;
    if (!is_assignment || operand(symbol).direction != Direction::in) return true;
    return fail_at(Errc::expression_assignment_wrong, place,
                   fmt::format("operand {} is `in`: it cannot be assigned", symbol.name)) != none;
}

bool Parser::end_of_statement() {
    if (lexer_.kind == Token::line || lexer_.kind == Token::end) return true;
    if (lexer_.kind == Token::assign)
        return fail_at(Errc::expression_syntax_wrong, here(), "an assignment has no value; '==' compares") !=
               none;
    return expected("an operator, or the end of the line") != none;
}

bool Parser::assign(const Target& to, std::uint32_t node) {
    Target target = to;
    if (target.symbol == none)
        target.symbol = work_.add({.name = lexer_.text().substr(to.span.begin, to.span.end - to.span.begin)});
    const Symbol& symbol = work_.symbols[target.symbol];
    if (symbol.operand != none) {
        if (!settle_unless(type_at(node), symbol.type)) return false;
        const TypeRef type = type_at(node);
        if (!is_known(type) && !bind(type, symbol.type, at(node).span)) return false;
        if (is_known(type) && type != ref(symbol.type)) {
            const Span span = at(node).span;
            return fail_at(Errc::expression_type_wrong, span,
                           fmt::format(
                               "{} is {} and this is {}, and nothing is converted by itself: write {}({})",
                               symbol.name, name(symbol.type), name(static_cast<Type>(type)),
                               name(symbol.type), quoted(span))) != none;
        }
    }
    Node keep{.op = Op::keep,
              .type = at(node).type,
              .span = target.span,
              .a = static_cast<std::uint32_t>(work_.values.size())};
    work_.values.push_back(
        {.node = node, .symbol = target.symbol, .element = target.element, .target = target.span});
    work_.current[symbol.first_slot + target.element] = keep.a;
    add(keep);
    return true;
}

// ---- expressions

std::uint32_t Parser::expression() {
    const Nesting nesting(depth_);
    if (depth_ > max_depth) return too_deep(here());
    lexer_.pass_lines();
    const std::uint32_t condition = binary(lowest_level);
    return condition == none || lexer_.kind != Token::question ? condition : choice(condition);
}

// c ? a : b. Where an arm reads memory only the chosen one may run: the marks become if, else and end.
std::uint32_t Parser::choice(std::uint32_t condition) {
    if (!require_pred(condition, "the condition of '?'")) return none;
    lexer_.next();
    const std::uint32_t loads = load_count_;
    const std::uint32_t mark = may_load_ ? add({.op = Op::if_, .span = {}}) : none;
    const std::uint32_t yes = expression();
    if (yes == none) return none;
    lexer_.pass_lines();
    if (lexer_.kind != Token::colon) return expected("':' (a choice is c ? a : b)");
    lexer_.next();
    const std::uint32_t other = may_load_ ? add({.op = Op::else_, .span = {}}) : none;
    const std::uint32_t no = expression();
    if (no == none || !unify(yes, no, "'?'")) return none;
    Node node{.op = Op::select,
              .type = at(yes).type,
              .span = {at(condition).span.begin, at(no).span.end},
              .a = condition,
              .b = yes,
              .c = no};
    node.is_branch = load_count_ != loads;
    if (may_load_) {
        at(mark).is_branch = at(other).is_branch = node.is_branch;
        at(other).type = node.type;
    }
    return add(node);
}

std::uint32_t Parser::binary(int level) {
    if (level > highest_level) return unary();
    // Climbs: only operators of this level and above are taken here.
    std::uint32_t left = unary();
    while (left != none) {
        const Token token = lexer_.kind;
        const Level found = level_of(token);
        if (found.level == 0 || found.level < level) return left;
        const Span place = here();
        lexer_.next();
        lexer_.pass_lines();
        if (token == Token::and_and || token == Token::or_or) {
            left = logic(left, token, place);
            continue;
        }
        const Nesting nesting(depth_);
        if (depth_ > max_depth) return too_deep(place);
        const std::uint32_t right = binary(found.level + 1);
        if (right == none) return none;
        left = add_binary(found.op, left, right, lexer_.text().substr(place.begin, place.end - place.begin));
    }
    return none;
}

// a && b, a || b: as `a ? b : false` and `a ? true : b` where b reads memory.
std::uint32_t Parser::logic(std::uint32_t left, Token token, Span place) {
    const bool is_and = token == Token::and_and;
    const std::string_view sign = is_and ? "'&&'" : "'||'";
    if (!require_pred(left, sign)) return none;
    const std::uint32_t loads = load_count_;
    std::uint32_t first = none;
    const auto boolean = [&] { return word_literal(is_and ? "false" : "true", place); };
    if (may_load_) {
        first = add({.op = Op::if_, .span = {}});
        if (!is_and) {
            boolean();
            add({.op = Op::else_, .type = ref(Type::pred), .span = {}});
        }
    }
    const std::uint32_t right = binary(is_and ? 3 : 2);
    if (right == none || !require_pred(right, sign)) return none;
    Node node{.op = is_and ? Op::and_ : Op::or_,
              .type = ref(Type::pred),
              .span = {at(left).span.begin, at(right).span.end},
              .a = left,
              .b = right};
    if (load_count_ == loads) {
        if (may_load_ && !is_and) at(first + 1).op = Op::elided;
        return add(node);
    }
    at(first).is_branch = true;
    node = {.op = Op::select,
            .is_branch = true,
            .type = node.type,
            .span = node.span,
            .a = left,
            .b = right,
            .c = right};
    if (!is_and) {
        at(first + 2).is_branch = true;
        return add(node);
    }
    add({.op = Op::else_, .is_branch = true, .type = ref(Type::pred), .span = {}});
    boolean();
    return add(node);
}

std::uint32_t Parser::unary() {
    const Nesting nesting(depth_);
    if (depth_ > max_depth) return too_deep(here());
    lexer_.pass_lines();
    const Token token = lexer_.kind;
    if (token != Token::minus && token != Token::plus && token != Token::not_ && token != Token::tilde)
        return primary();
    const Span place = here();
    lexer_.next();
    lexer_.pass_lines();
    const bool is_word = lexer_.kind == Token::number || lexer_.kind == Token::name;
    const std::uint32_t operand = unary();
    if (operand == none || token == Token::plus) return operand;
    if (token == Token::minus) return negate(operand, place, is_word);
    if (token == Token::not_ && !require_pred(operand, "'!'")) return none;
    limit(operand, Op::not_);
    return add({.op = Op::not_,
                .type = at(operand).type,
                .span = {place.begin, at(operand).span.end},
                .a = operand});
}

// A sign right before a number belongs to it, so that -2147483648 is one; of an unsigned type, -1u, it wraps.
std::uint32_t Parser::negate(std::uint32_t operand, Span place, bool is_word) {
    const TypeRef type = type_at(operand);
    if (type == ref(Type::pred)) return untaken(Op::neg, operand);
    Node& node = at(operand);
    const Span span{place.begin, node.span.end};
    if (node.op != Op::literal || !is_word ||
        (is_known(type) && has(unsigned_types, static_cast<Type>(type))))
        return add({.op = Op::neg, .type = node.type, .span = span, .a = operand});
    Literal& literal = work_.literals[node.a];
    literal.is_negative = true;
    literal.span = node.span = span;
    return operand;
}

std::uint32_t Parser::primary() {
    switch (lexer_.kind) {
        case Token::open: return group();
        case Token::number: return number();
        case Token::name: return named();
        case Token::percent: return special();
        default: return expected("a value");
    }
}

std::uint32_t Parser::group() {
    const Span open = here();
    ++lexer_.skip_lines;
    lexer_.next();
    const std::uint32_t inner = expression();
    --lexer_.skip_lines;
    if (inner == none) return none;
    if (lexer_.kind == Token::end)
        return fail_at(Errc::expression_syntax_wrong, open, "this '(' is never closed");
    if (lexer_.kind != Token::close) return expected("an operator or ')'");
    lexer_.next();
    return inner;
}

std::uint32_t Parser::number() {
    const Span place = here();
    NumberWord number = read_number(lexer_.word());
    if (number.problem != nullptr)
        return fail_at(Errc::expression_literal_wrong, place,
                       fmt::format("{} {}", quoted(place), number.problem));
    lexer_.next();
    number.literal.span = place;
    Node node{.op = Op::literal, .span = place, .a = static_cast<std::uint32_t>(work_.literals.size())};
    work_.literals.push_back(number.literal);
    const auto index = static_cast<std::uint32_t>(work_.nodes.size());
    if (number.suffix != type_count)
        node.type = static_cast<TypeRef>(number.suffix);
    else
        node.type = new_variable(
            number.literal.is_fraction ? &TypeVariable::fraction : &TypeVariable::integer, index);
    return add(node);
}

// true, false, inf, nan; none when it is another word.
std::uint32_t Parser::word_literal(std::string_view word, Span place) {
    const bool is_pred = word == "true" || word == "false";
    if (!is_pred && word != "inf" && word != "nan") return none;
    Literal literal{};
    literal.span = place;
    literal.is_fraction = !is_pred;
    literal.magnitude = word == "true" ? 1 : 0;
    literal.digits = is_pred         ? std::string_view()
                     : word == "inf" ? std::string_view("inf")
                                     : std::string_view("nan");
    Node node{.op = Op::literal,
              .type = ref(Type::pred),
              .span = place,
              .a = static_cast<std::uint32_t>(work_.literals.size())};
    work_.literals.push_back(literal);
    if (!is_pred)
        node.type = new_variable(&TypeVariable::fraction, static_cast<std::uint32_t>(work_.nodes.size()));
    return add(node);
}

// %tid.x
std::uint32_t Parser::special() {
    if (!lexer_.take_special()) return expected("a value");
    const Span place = here();
    const auto& set = scope_.machine->set();
    const std::int32_t entry = set.find(lexer_.word());
    if (entry < 0 || set.entries()[static_cast<std::size_t>(entry)].form != nullptr) {
        std::vector<std::string_view> names;
        for (const stack::Entry& e : set.entries())
            if (e.form == nullptr) names.push_back(e.name);
        return fail_at(
            Errc::expression_name_unknown, place,
            fmt::format("unknown special register {}{}", quoted(place), did_you_mean(lexer_.word(), names)));
    }
    lexer_.next();
    const Type type =
        static_cast<Type>(stack::stack_of(set.entries()[static_cast<std::size_t>(entry)].special_type));
    return add({.op = Op::special, .type = ref(type), .span = place, .a = static_cast<std::uint32_t>(entry)});
}

std::uint32_t Parser::named() {
    const Span name = here();
    const std::string_view word = lexer_.word();
    const std::uint32_t hash = lexer_.hash;
    lexer_.next();
    if (lexer_.kind == Token::open) return call(name, hash);
    const std::uint32_t symbol = work_.find(word, hash);
    if (lexer_.kind == Token::open_bracket) {
        if (symbol != none) return indexed(symbol, name);
        const std::size_t type = find_type(word);
        return type != type_count ? typed_load(static_cast<Type>(type), name) : unknown_name(name);
    }
    if (symbol == none) {
        const std::uint32_t literal = word_literal(word, name);
        return literal != none ? literal : unknown_name(name);
    }
    const Symbol& found = work_.symbols[symbol];
    if (found.count != 0)
        return fail_at(Errc::expression_type_wrong, name,
                       fmt::format("{0} has {1} elements: write {0}[0] to {0}[{2}]", word, found.count,
                                   found.count - 1));
    return read(symbol, 0, name);
}

// The value that a name has here: the one assigned last, else what the operand held before the stub.
std::uint32_t Parser::read(std::uint32_t symbol, std::uint32_t element, Span place) {
    const Symbol& found = work_.symbols[symbol];
    const std::uint32_t value = work_.current[found.first_slot + element];
    if (value != none) {
        work_.values[value].is_read = true;
        return add({.op = Op::value, .type = at(work_.values[value].node).type, .span = place, .a = value});
    }
    if (operand(found).direction == Direction::out)
        return fail_at(Errc::expression_assignment_wrong, place,
                       fmt::format("operand {} is `out`: it has no value before it is assigned", found.name));
    return add({.op = Op::input, .type = ref(found.type), .span = place, .a = found.operand, .b = element});
}

// ---- nodes

std::uint32_t Parser::add(const Node& node) {
    work_.nodes.push_back(node);
    return static_cast<std::uint32_t>(work_.nodes.size() - 1);
}

std::uint32_t Parser::add_binary(Op op, std::uint32_t left, std::uint32_t right, std::string_view sign) {
    const Span span{at(left).span.begin, at(right).span.end};
    if (op == Op::shl || op == Op::shr) {
        if (!settle_unless(type_at(right), Type::u32)) return none;
        if (const TypeRef count = type_at(right); !is_known(count) && !bind(count, Type::u32, at(right).span))
            return none;
        limit(left, op);
        return add({.op = op, .type = at(left).type, .span = span, .a = left, .b = right});
    }
    if (!unify(left, right, sign)) return none;
    limit(left, op);
    Node node{.op = op, .type = at(left).type, .span = span, .a = left, .b = right};
    if (op >= Op::lt && op <= Op::ne) node.type = ref(Type::pred);
    return add(node);
}

std::uint32_t Parser::too_deep(Span place) {
    return fail_at(
        Errc::expression_too_large, place,
        fmt::format("the expression is nested deeper than {}; assign a part of it to a name", max_depth));
}

std::uint32_t Parser::fail_at(Errc code, Span place, std::string detail) {
    if (!error_) error_ = fail(code, place, std::move(detail)).value();
    return none;
}

std::optional<Error> parse(std::string_view text, const Scope& scope, const ExpressionOptions& options,
                           Workspace& work) {
    if (text.size() >= Span::none) return fail(Errc::text_too_large).value();
    work.clear();
    return Parser(text, scope, options, work).run();
}

}  // namespace ptxgraft::expr
