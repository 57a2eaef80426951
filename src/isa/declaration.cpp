// verify: variables and the directives between statements (PTX ISA 5.4, 11.2.3, 11.3).

#include "isa/declaration.hpp"

#include <algorithm>
#include <array>

#include "isa/special.hpp"
#include "isa/verifier.hpp"
#include "syntax/constant.hpp"
#include "syntax/initialiser.hpp"

namespace ptxgraft::isa {

using syntax::Lexeme;
using syntax::Statement;
using syntax::Token;
using syntax::TokenKind;
using syntax::TokenView;

namespace {

bool is_array(const Statement::Declarator& d) { return !d.extents.empty(); }

// The handles `.texref`, `.samplerref`, `.surfref` are declared like types.
SymbolKind variable_kind(std::string_view type) {
    if (type == ".texref") return SymbolKind::texref;
    if (type == ".samplerref") return SymbolKind::samplerref;
    if (type == ".surfref") return SymbolKind::surfref;
    return SymbolKind::variable;
}

// Since when ptxas takes a directive, and for which targets. The manual has .branchtargets since 2.1.
struct DirectiveSince {
    std::string_view word;
    std::uint16_t version, sm;
};
constexpr std::array<DirectiveSince, 10> directives_since = {{
    {".pragma", 20, 10},
    {".section", 20, 10},
    {".callprototype", 21, 20},
    {".calltargets", 21, 20},
    {".branchtargets", 60, 30},
    {".ptr", 22, 10},
    {".weak", 31, 10},
    {".attribute", 40, 10},
    {".common", 50, 10},
    {".managed", 40, 30},
}};
constexpr std::uint16_t version_with_all = 60, sm_with_all = 30;

constexpr std::uint64_t too_large = std::uint64_t{1} << 40;
constexpr std::uint64_t most_alignment = std::uint64_t{1} << 30;  // ptxas crashes of the next one

std::uint64_t total_bytes(const Statement::Variable& v, const Statement::Declarator& d) {
    std::uint64_t bytes = std::uint64_t{bytes_of(type_of(v.type))} * v.vector;
    for (const std::uint64_t extent : d.extents)
        bytes = extent > too_large || bytes > too_large ? 0 : bytes * extent;
    return bytes;
}

}  // namespace

RegisterType type_of(std::string_view word) { return type_of(syntax::find_type(word)); }

RegisterType type_of(const syntax::TypeRow* found) {
    const bool is_operand = found != nullptr && static_cast<std::size_t>(found->type) < type_infos.size();
    return is_operand ? found->type : RegisterType::none;
}

std::uint32_t bytes_of(RegisterType type) {
    return type == RegisterType::none || type == RegisterType::pred ? 0 : info(type).bits / 8u;
}

std::uint32_t bytes_of(const Statement::Parameter& parameter) {
    const syntax::TypeRow* const type = syntax::find_type(parameter.type);
    return type == nullptr ? 0 : type->bytes();
}

std::uint32_t alignment_of(const Statement::Parameter& parameter) {
    return std::max(parameter.align, bytes_of(parameter) * parameter.vector);
}

bool is_no_address(const Symbol& symbol, std::string_view name, bool is_range) {
    const bool may_be = symbol.kind == SymbolKind::reg || (symbol.space == Space::param && !symbol.is_array);
    if (!may_be || !name.starts_with('%')) return false;
    if (!is_range) return find_special(name).has_value();
    return may_be_special_stem(name) && find_special(std::string(name) + "0");
}

Symbol variable_symbol(const Statement& statement, const Statement::Variable& v,
                       const Statement::Declarator& d) {
    Symbol symbol;
    symbol.kind = v.space == ".reg"   ? SymbolKind::reg
                  : v.space == ".tex" ? SymbolKind::texref
                                      : variable_kind(v.type);
    symbol.type = type_of(v.type);
    symbol.space = space_of(v.space);
    symbol.vector = static_cast<std::uint8_t>(std::min<std::uint32_t>(v.vector, 255));
    symbol.is_defined = v.linkage != ".extern";
    symbol.bytes = total_bytes(v, d);
    symbol.is_array = !d.extents.empty();
    symbol.align = v.align;
    symbol.is_no_address = is_no_address(symbol, d.name, d.range != 0);
    symbol.declaration = statement;
    return symbol;
}

Symbol register_symbol(RegisterType type, const Statement& statement) {
    Symbol symbol;
    symbol.kind = SymbolKind::reg;
    symbol.type = type;
    symbol.space = Space::reg;
    symbol.is_defined = true;
    symbol.bytes = bytes_of(type);
    symbol.declaration = statement;
    return symbol;
}

Symbol function_symbol(const Statement& function) {
    Symbol symbol;
    symbol.kind = SymbolKind::function;
    symbol.is_defined = function.is_definition();
    symbol.declaration = function;
    return symbol;
}

namespace {

SymbolKind label_kind(const Statement& next) {
    if (!next || next.kind() != syntax::StatementKind::directive) return SymbolKind::label;
    const std::string_view word = TokenView(next).text(0);
    if (word == ".branchtargets") return SymbolKind::branch_targets;
    if (word == ".calltargets") return SymbolKind::call_targets;
    return word == ".callprototype" ? SymbolKind::prototype : SymbolKind::label;
}

bool is_labelled(const Statement& statement) {
    const Statement before = statement.previous();
    return before && before.kind() == syntax::StatementKind::label;
}

}  // namespace

Symbol label_symbol(const Statement& label) {
    Symbol symbol;
    symbol.declaration = label.next();
    symbol.kind = label_kind(symbol.declaration);
    return symbol;
}

std::vector<Token> call_table(const Symbol& symbol, std::string_view name) {
    std::vector<Token> functions;
    const auto variable = symbol.declaration ? symbol.declaration.variable() : std::nullopt;
    if (!variable || variable->linkage == ".extern" || (variable->type != ".u64" && variable->type != ".u32"))
        return functions;
    const auto d = std::ranges::find(variable->declarators, name, &Statement::Declarator::name);
    if (d == variable->declarators.end() || d->extents.size() != 1 || d->initialiser.size() < 3)
        return functions;
    const std::span<const Token> all = d->initialiser;  // `{ f, g }`
    for (std::size_t i = 1; i + 1 < all.size(); i += 2) {
        if (all[i].kind != TokenKind::identifier || (all[i + 1].text != "," && all[i + 1].text != "}"))
            return {};
        functions.push_back(all[i]);
    }
    return functions;
}

Symbol parameter_symbol(const Statement::Parameter& p) {
    Symbol symbol;
    symbol.kind = p.space == ".reg" ? SymbolKind::reg : variable_kind(p.type);
    symbol.type = type_of(p.type);
    symbol.space = p.space == ".reg" ? Space::reg : Space::param;
    symbol.is_defined = true;
    symbol.vector = static_cast<std::uint8_t>(p.vector);  // one digit
    symbol.bytes = std::uint64_t{bytes_of(symbol.type)} * p.vector * std::max<std::uint64_t>(p.count, 1);
    symbol.is_array = p.count != 0 || p.is_open;
    symbol.align = p.align;
    symbol.is_no_address = is_no_address(symbol, p.name);
    return symbol;
}

void Verifier::directive_since(std::string_view word) {
    if (setting_.version >= version_with_all && setting_.target.sm >= sm_with_all) return;
    const auto row = std::ranges::find(directives_since, word, &DirectiveSince::word);
    if (row != directives_since.end()) require(row->version, {row->sm, 0}, span_of(word), word);
}

void Verifier::redeclared(std::string_view name, const Symbol* before) {
    const bool is_label = before != nullptr && before->kind == SymbolKind::label;
    report(Errc::name_redeclared, name,
           quote(name) + " is declared twice in this scope" + (is_label ? "; it is a label already" : ""));
}

namespace {

// Words that ptxas has for itself wherever they stand (PTX ISA 4.4, 11.5.3).
bool is_reserved_name(std::string_view name) {
    return name == "WARP_SZ" || name == "inlined_at" || name == "function_name";
}

}  // namespace

// PTX ISA 4.4: WARP_SZ and the special registers are declared already, as if before the module: its functions
// may have names like the latter within them.
bool Verifier::may_be_declared(std::string_view name, bool is_inside) {
    const bool is_predefined =
        is_reserved_name(name) || (!is_inside && name.starts_with('%') && find_special(name));
    if (name != "_" && !is_predefined) return true;
    report(Errc::declaration_invalid, name,
           quote(name) + (is_predefined ? " is predefined, and no name of your own" : " is no name"));
    return false;
}

void Verifier::variable(const Statement& statement) {
    const TokenView tokens(statement);
    if (plain_registers(statement, tokens)) return;
    const auto v = statement.variable();
    if (!v) return;
    const std::size_t before = findings_.size();
    variable_space(statement, *v);
    sampler(v->type);
    variable_words(tokens, *v);
    variable_type(*v);
    alignments(tokens);
    if (findings_.size() != before && v->space == ".reg" && type_of(v->type) == RegisterType::none) return;
    for (const Statement::Declarator& d : v->declarators) declarator(statement, *v, d);
}

// `.reg .b32 %r<5>, a;`, as most declarations are: only its names can be wrong. False: it is another one.
bool Verifier::plain_registers(const Statement& statement, const TokenView& tokens) {
    if (tokens.size() < 4 || tokens.text(0) != ".reg" || tokens.kind(1) != Lexeme::directive) return false;
    for (std::size_t i = 2; i < tokens.size(); ++i) {
        const Lexeme k = tokens.kind(i);
        const bool is_name =
            k == Lexeme::identifier && tokens.text(i) != "_" &&
            (!is_reserved_name(tokens.text(i)) || tokens.kind(i - 1) == Lexeme::less);  // `%q<WARP_SZ>`
        if (!is_name && k != Lexeme::less && k != Lexeme::integer && k != Lexeme::greater &&
            k != Lexeme::comma && k != Lexeme::semicolon)
            return false;
    }
    Symbol symbol = register_symbol(type_of(tokens.text(1)), statement);
    if (symbol.type == RegisterType::none || !info(symbol.type).is_declared || !statement.parent())
        return false;
    if (symbol.type == RegisterType::b128 || symbol.type == RegisterType::f16x2)
        type_version(tokens.text(1), false);
    for (std::size_t i = 2; i < tokens.size(); ++i) {
        if (tokens.kind(i) != Lexeme::identifier || tokens.text(i) == "WARP_SZ") continue;
        const auto count =
            tokens.kind(i + 1) == Lexeme::less ? syntax::integer_value(tokens.text(i + 2)) : std::nullopt;
        symbol.is_no_address = is_no_address(symbol, tokens.text(i), count.has_value());
        declare_variable(tokens.text(i),
                         static_cast<std::uint32_t>(std::min<std::uint64_t>(count.value_or(0), 0xFFFFFFFFu)),
                         symbol);
    }
    return true;
}

// `.reg .reg` or `.global .align 8 .global`, which is one state space too many.
void Verifier::doubled_spaces(const TokenView& tokens) {
    const auto is_space = [&](std::size_t i) {
        return tokens.kind(i) == Lexeme::directive && space_of(tokens.text(i)) != Space::none;
    };
    for (std::size_t i = 1; i < tokens.size() && tokens.kind(i) != Lexeme::equal; ++i) {
        if (!is_space(i)) continue;
        const std::size_t before = i >= 3 && tokens.text(i - 2) == ".align" ? i - 3 : i - 1;
        if (is_space(before))
            report(
                Errc::declaration_invalid, tokens.text(i),
                "a declaration has one state space; " + std::string(tokens.text(before)) + " stands already");
    }
}

void Verifier::alignments(const TokenView& tokens) {
    doubled_spaces(tokens);
    for (std::size_t i = 0; i + 1 < tokens.size() && tokens.kind(i) != Lexeme::equal; ++i) {
        if (tokens.kind(i) != Lexeme::directive || tokens.text(i) != ".align") continue;
        const auto value = syntax::integer_value(tokens.text(i + 1));
        if (value && (*value == 0 || (*value & (*value - 1)) != 0 || *value > most_alignment))
            report(Errc::declaration_invalid, tokens.text(i + 1),
                   ".align takes a power of two up to " + std::to_string(most_alignment));
    }
}

void Verifier::variable_space(const Statement& statement, const Statement::Variable& v) {
    const bool is_inside = static_cast<bool>(statement.parent()),
               is_handle = variable_kind(v.type) != SymbolKind::variable;
    if (is_inside && !v.linkage.empty())
        report(Errc::directive_invalid, v.linkage,
               std::string(v.linkage) + " belongs to declarations outside of functions");
    if (is_inside && v.space == ".param")
        require(20, {10, 0}, span_of(v.space), "a .param variable of a body");
    if (!is_inside && v.space == ".param")
        report(Errc::declaration_invalid, v.space, ".param variables are declared in functions");
    if (!is_inside && setting_.has_abi && (v.space == ".reg" || v.space == ".local"))
        report(Errc::declaration_invalid, v.space,
               std::string(v.space) + " variables are declared in functions (PTX ISA 5.1.1, 5.1.5)");
    if (v.linkage == ".common" && v.space != ".global")
        report(Errc::declaration_invalid, v.space, ".common variables are declared in .global");
    if (v.linkage == ".common" && is_handle)
        report(Errc::declaration_invalid, v.type, "a " + std::string(v.type) + " cannot be .common");
    if (v.space == ".sreg")
        report(Errc::declaration_invalid, v.space, "special registers cannot be declared");
    const bool is_number = (v.type == ".u32" || v.type == ".u64") && v.vector == 1;
    if (v.space == ".tex" && (!is_number || std::ranges::any_of(v.declarators, is_array)))
        report(Errc::declaration_invalid, v.type, "a variable in .tex has the type .u32 or .u64");
    if (v.space == ".tex" && setting_.version >= 15)
        report(Errc::form_removed, v.space, ".tex is gone since PTX ISA 1.5; declare a .global .texref");
    if (is_handle && (v.space != ".global" || is_inside))
        report(Errc::declaration_invalid, v.space,
               std::string(v.type) +
                   " variables are declared in .global outside of functions, or as parameters of entries");
}

void Verifier::sampler(std::string_view type) {
    if (type == ".samplerref" && !setting_.has_samplers)
        report(Errc::declaration_invalid, type,
               "a .samplerref is for .target …, texmode_independent; else a texture has its sampler within");
}

namespace {

// Another module has it, of whatever size.
bool is_open_elsewhere(const Statement::Variable& v) {
    const auto is_open = [](const Statement::Declarator& d) {
        return is_array(d) && d.extents.front() == 0 && d.initialiser.empty();
    };
    return v.linkage == ".extern" && std::ranges::all_of(v.declarators, is_open);
}

}  // namespace

// The words before the first value that `variable_space` does not see.
void Verifier::variable_words(const TokenView& tokens, const Statement::Variable& v) {
    constexpr std::array<std::string_view, 4> linkages = {".extern", ".visible", ".weak", ".common"};
    bool is_attribute = false;
    for (std::size_t i = 0; i < tokens.size() && tokens.kind(i) != Lexeme::equal; ++i) {
        const std::string_view word = tokens.text(i);
        is_attribute &= tokens.kind(i) != Lexeme::close_paren;
        if (tokens.kind(i) != Lexeme::directive) continue;
        directive_since(word);
        if (i == 1 && !v.linkage.empty() &&
            std::find(linkages.begin(), linkages.end(), word) != linkages.end())
            report(Errc::directive_invalid, word, "a declaration has one linkage");
        const bool is_const = word == ".const", has_bank = tokens.kind(i + 1) == Lexeme::open_bracket;
        if (is_const && has_bank) variable_bank(tokens, i + 2, v);
        if (is_const && !has_bank && setting_.version < 22 && is_open_elsewhere(v))
            report(
                Errc::declaration_invalid, word,
                "an .extern array without a size is in a bank from 1 to 10, .const[1], before PTX ISA 2.2");
        if (is_attribute && (word == ".managed" || word == ".unified"))
            attribute(word, v.space == ".global" ? std::string_view() : "variables in .global");
        // PTX ISA 5.4.8
        if (is_attribute && word != ".managed" && word != ".unified")
            report(Errc::directive_invalid, word,
                   std::string(word) + " is no attribute; there are .managed and .unified(u, v)");
        is_attribute |= word == ".attribute";
    }
}

// PTX ISA 5.1.3.1: what other modules define is in the banks from 1 on.
void Verifier::variable_bank(const TokenView& tokens, std::size_t at, const Statement::Variable& v) {
    const std::string_view number = tokens.text(at);
    const bool is_glued =
        tokens.text(at - 2, at + 1).size() == number.size() + std::string_view(".const[]").size();
    if (!is_glued)
        return report(Errc::directive_invalid, number, "a bank is written without blanks, .const[2]");
    const std::size_t before = findings_.size();
    bank(number);
    const bool is_open = is_open_elsewhere(v);
    if (findings_.size() == before && is_open != (number != "0"))
        report(Errc::declaration_invalid, number,
               is_open ? "an .extern array without a size is in a bank from 1 to 10"
                       : "in the banks from 1 on are .extern arrays without a size alone");
}

// PTX ISA 5.4.8. `owner`: what it belongs to, where it stands elsewhere.
void Verifier::attribute(std::string_view word, std::string_view owner) {
    if (!owner.empty())
        report(Errc::declaration_invalid, word, std::string(word) + " belongs to " + std::string(owner));
    if (word == ".unified") require(80, {90, 0}, span_of(word), ".unified");
}

// ptxas asks neither for the version nor for the target of an array of these, but of .f16x2.
void Verifier::type_version(std::string_view type, bool is_array) {
    if (type == ".f16x2") require(42, {53, 0}, span_of(type), ".f16x2");
    if (is_array) return;
    if (type == ".b128") require(83, {70, 0}, span_of(type), ".b128");
    if (syntax::is_handle(type)) require(15, {10, 0}, span_of(type), type);
}

void Verifier::variable_type(const Statement::Variable& v) {
    const RegisterType type = type_of(v.type);
    const bool are_arrays = !v.declarators.empty() && std::ranges::all_of(v.declarators, is_array);
    type_version(v.type, are_arrays);
    if (v.space == ".param" && v.align > most_param_alignment)
        report(Errc::declaration_invalid, v.type, ".param variables are aligned to 1, 2, 4 … 128 bytes");
    const bool is_reg = v.space == ".reg";
    if (is_reg && (type == RegisterType::none || !info(type).is_declared))
        report(Errc::declaration_invalid, v.type,
               std::string(v.type) +
                   " is no type of a register; registers have .pred, .b8 to .b128, .u8 to .u64, .s8 to .s64, "
                   ".f16, .f16x2, .f32 or .f64");
    else if (!is_reg && variable_kind(v.type) == SymbolKind::variable && v.space != ".tex" &&
             (type == RegisterType::none || !info(type).is_declared))
        report(Errc::declaration_invalid, v.type,
               std::string(v.type) +
                   " is no type of a variable; memory holds .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, "
                   ".f16x2, .f32 or .f64");
    if (!is_reg && type == RegisterType::pred)
        report(Errc::declaration_invalid, v.type, "a predicate can only be a register (.reg)");
    vector_shape(v.type, v.vector);
    if (v.vector > 1 && v.space == ".param" && !are_arrays)
        report(Errc::declaration_invalid, v.type, "there are no vectors in .param; declare an array");
}

// PTX ISA 5.4.2, of variables and parameters.
void Verifier::vector_shape(std::string_view word, std::uint32_t count) {
    if (count == 1) return;
    const RegisterType type = type_of(word);
    if (count != 2 && count != 4)
        return report(Errc::declaration_invalid, word, "a vector has 2 or 4 elements");
    if (type == RegisterType::pred)
        report(Errc::declaration_invalid, word, "there are no vectors of predicates");
    const syntax::TypeRow* const row = syntax::find_type(word);
    if (row != nullptr && row->group != syntax::TypeGroup::fundamental)
        report(Errc::declaration_invalid, word, "there are no vectors of " + std::string(word));
    if (type != RegisterType::none && info(type).bits * count > 128)
        report(Errc::declaration_invalid, word, "a vector has at most 128 bits");
}

void Verifier::declarator(const Statement& statement, const Statement::Variable& v,
                          const Statement::Declarator& d) {
    Symbol symbol = variable_symbol(statement, v, d);
    if (v.space == ".param")
        if (const Symbol* const outer = symbols_.find(d.name))
            symbol.hides = outer->is_input ? Symbol::input : outer->is_return ? Symbol::result : outer->hides;
    if (symbol.kind == SymbolKind::reg && !d.extents.empty())
        report(Errc::declaration_invalid, d.name,
               "registers have no arrays; " + std::string(d.name) + "<N> declares N registers");
    if (v.space == ".param" && symbol.type == RegisterType::f16x2 && d.extents.empty())
        report(Errc::declaration_invalid, v.type, "a .f16x2 cannot be in .param; declare a .b32");
    if (!may_be_declared(d.name, static_cast<bool>(statement.parent()))) return;
    const bool may_be_open =
        v.linkage == ".extern" || !d.initialiser.empty() || symbol.kind == SymbolKind::reg;
    if (!d.extents.empty() && d.extents.front() == 0 && !may_be_open)
        report(Errc::declaration_invalid, d.name,
               quote(d.name) + " has no size; only .extern variables may be open");
    for (std::size_t i = 1; i < d.extents.size(); ++i)
        if (d.extents[i] == 0)
            report(Errc::declaration_invalid, d.name,
                   "only the first size of " + quote(d.name) + " may be open");
    const Symbol* before =
        d.range == 0 && symbol.kind != SymbolKind::reg ? symbols_.find_innermost(d.name) : nullptr;
    if (before == nullptr && symbol.space == Space::const_ && d.range == 0)  // of a range, what is used
        constant_memory(d.name, symbol);
    if (before == nullptr)
        declare_variable(d.name, d.range, symbol);
    else
        again(v, d, *before, symbol);
    if (!d.initialiser.empty()) initialiser(v, d);  // which may hold the variable's own address
}

// As ptxas lays them out.
void Verifier::constant_memory(std::string_view name, const Symbol& symbol) {
    constexpr std::uint64_t most = 65536;
    const std::uint64_t align = std::max<std::uint64_t>({symbol.align, bytes_of(symbol.type), 1}),
                        begin = (constant_bytes_ + align - 1) / align * align;
    if (constant_bytes_ > most) return;  // which was said
    constant_bytes_ = symbol.bytes > most ? most + 1 : begin + symbol.bytes;
    if (constant_bytes_ > most)
        report(Errc::declaration_invalid, name,
               ".const holds at most " + std::to_string(most) + " bytes, which " + quote(name) + " exceeds");
}

void Verifier::declare_variable(std::string_view name, std::uint32_t count, const Symbol& symbol) {
    if (count == 0xFFFFFFFFu)
        report(Errc::declaration_invalid, name,
               "the number of registers of " + quote(name) + " has more than 32 bits");
    if (const Symbol* const before = symbols_.declare(name, symbol, count)) redeclared(name, before);
}

namespace {

// The first size of an array; 0: it is open.
std::uint64_t first_size(const Statement::Declarator& d) {
    const bool is_counted = d.extents.front() == 0 && !d.initialiser.empty();
    return is_counted ? syntax::count_lists(d.initialiser) : d.extents.front();
}

// Whether two declarations differ in a size; the first may be open in one of them.
bool have_other_sizes(const Statement::Variable& first, const Statement::Declarator& second) {
    const auto at = std::ranges::find(first.declarators, second.name, &Statement::Declarator::name);
    if (at == first.declarators.end() || at->extents.size() != second.extents.size()) return true;
    if (second.extents.empty()) return false;
    const std::uint64_t a = first_size(*at), b = first_size(second);
    return (a != 0 && b != 0 && a != b) ||
           !std::equal(at->extents.begin() + 1, at->extents.end(), second.extents.begin() + 1);
}

}  // namespace

// A variable that its scope has already: .extern declarations may stand around one definition.
void Verifier::again(const Statement::Variable& v, const Statement::Declarator& d, const Symbol& before,
                     const Symbol& symbol) {
    const auto first = before.declaration ? before.declaration.variable() : std::nullopt;
    if (before.kind != symbol.kind || !first) return redeclared(d.name, &before);
    if (before.is_defined && symbol.is_defined) return redeclared(d.name, &before);
    if (before.type != symbol.type || have_other_sizes(*first, d) || first->vector != v.vector)
        return report(Errc::declaration_invalid, d.name,
                      quote(d.name) + " has another type or size here than in its first declaration");
    if (first->linkage == ".extern" && v.linkage.empty())
        return report(Errc::declaration_invalid, d.name,
                      quote(d.name) + " is .extern above; its definition is .visible, .weak or .common");
    if (symbol.is_defined) symbols_.replace(d.name, symbol);
}

void Verifier::directive(const Statement& statement) {
    const TokenView view(statement);
    const std::string_view word = view.text(0);
    directive_since(word);
    if (word == ".section") return section(view);
    if (label_kind(statement) != SymbolKind::label && !is_labelled(statement))
        return report(Errc::directive_invalid, word,
                      std::string(word) + " stands behind the label that it is named by, as in: T: " +
                          std::string(word) + " …");
    if (word == ".callprototype") return prototype(statement);
    if (word == ".file") return file(view);
    if (word == ".loc") return location(view);
    if (word == ".pragma") return pragma(view, statement.parent() ? PragmaPlace::body : PragmaPlace::module);
    const std::vector<Token> tokens = statement.tokens();
    if (word == ".branchtargets")
        for (const syntax::BranchTargets& targets : syntax::branch_targets(tokens)) labels(targets);
    if (word != ".alias" && word != ".calltargets") return;
    std::vector<const Symbol*> functions;
    for (const Token& token : tokens) {
        if (token.kind != TokenKind::identifier) continue;
        const Symbol* symbol = symbols_.find(token.text);
        if (symbol == nullptr)
            report(Errc::name_undeclared, token.text, quote(token.text));
        else if (symbol->kind != SymbolKind::function)
            report(Errc::directive_invalid, token.text, quote(token.text) + " is no function");
        else
            functions.push_back(symbol);
    }
    if (word == ".alias" && functions.size() == 2) alias(tokens, *functions[0], *functions[1]);
}

// PTX ISA 11.3.1.
void Verifier::labels(const syntax::BranchTargets& targets) {
    if (targets.count == 0)
        report(Errc::directive_invalid, targets.stem.text,
               quote(targets.stem.text) + " is a range of no labels");
    for (std::uint64_t k = 0; k < targets.count; ++k) {
        const std::string name = targets.name(k);
        const Symbol* const symbol = symbols_.find(name);
        if (symbol == nullptr)
            return report(Errc::label_undefined, targets.stem.text,
                          "label " + quote(name) + " is not defined in this function");
        if (symbol->kind != SymbolKind::label)
            return report(Errc::directive_invalid, targets.stem.text, quote(name) + " is no label");
    }
}

// PTX ISA 11.5.3. Folder and file apart, as clang's assembler takes them, are one name for ptxas.
void Verifier::file(const TokenView& tokens) {
    if (const auto index = syntax::integer_value(tokens.text(1)); index && *index > 0xFFFFFFFFu)
        report(Errc::directive_invalid, tokens.text(1), "the number of a .file has at most 32 bits");
    else if (index && !files_.insert(*index).second)
        report(Errc::directive_invalid, tokens.text(1),
               "there is a .file " + std::string(tokens.text(1)) + " already");
    if (tokens.kind(3) == Lexeme::comma)
        require(32, {10, 0}, span_of(tokens.text(4)), "the time and the size of a .file");
    if (tokens.size() > 3 && tokens.kind(3) == Lexeme::string)
        report(Errc::directive_invalid, tokens.text(3), "a .file has one name, with its folders");
}

// PTX ISA 11.5.4: the place that a function is inlined at has a .loc before.
void Verifier::location(const TokenView& tokens) {
    const auto place = [&](std::size_t first) {
        SourcePlace p{};
        for (std::size_t k = 0; k < p.size(); ++k)
            p[k] = syntax::integer_value(tokens.text(first + k)).value_or(0);
        return p;
    };
    if (tokens.size() >= 11) {
        require(70, {10, 0}, span_of(tokens.text(0)), "the place that a function is inlined at");
        const std::size_t inlined_at = tokens.size() - 3;
        if (!locations_.contains(place(inlined_at)))
            report(Errc::directive_invalid, tokens.text(inlined_at),
                   "no .loc before this one is of the place " + std::string(tokens.text(inlined_at)) + " " +
                       std::string(tokens.text(inlined_at + 1)) + " " +
                       std::string(tokens.text(inlined_at + 2)));
    }
    for (std::size_t k = 4; k + 1 < tokens.size(); ++k)
        if (tokens.text(k) == "function_name" && tokens.kind(k + 1) == Lexeme::identifier)
            function_names_.push_back(tokens.text(k + 1));
    const SourcePlace here = place(1);
    if (std::ranges::any_of(here, [](std::uint64_t number) { return number > 0xFFFFFFFFu; }))
        report(Errc::directive_invalid, tokens.text(1, 3), "the numbers of a .loc have at most 32 bits");
    locations_.insert(here);
}

// PTX ISA 11.2.3.
void Verifier::alias(const std::vector<Token>& tokens, const Symbol& name, const Symbol& aliasee) {
    const std::string_view place = tokens[1].text, of = tokens[3].text,
                           linkage = linkage_of(aliasee.declaration.tokens());
    require(63, {30, 0}, span_of(tokens[0].text), ".alias");
    if (place == of) return report(Errc::directive_invalid, of, "an .alias is of another function");
    if (!aliases_.insert(place).second)
        return report(Errc::directive_invalid, place, quote(place) + " is an alias already");
    if (linkage == ".weak" || linkage == ".extern")
        return report(Errc::directive_invalid, of,
                      quote(of) + " is " + std::string(linkage) + ", so it has no alias");
    if (aliasee.declaration.is_entry() || name.declaration.is_entry())
        return report(Errc::directive_invalid, place, "an .alias is of a function, not of an entry");
    if (name.is_defined)
        return report(Errc::directive_invalid, place, quote(place) + " has a body, so it cannot be an alias");
    if (const auto differs = prototype_difference(name.declaration, aliasee.declaration); !differs.empty())
        report(Errc::directive_invalid, place,
               quote(place) + " has " + std::string(differs) + " than the function that it is an alias of");
}

}  // namespace ptxgraft::isa
