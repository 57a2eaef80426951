// verify: heads of functions (PTX ISA 11.2, 11.4, 11.7, 11.8).

#include <algorithm>
#include <array>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"
#include "ptxgraft/syntax/types.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::isa {

using syntax::Statement;
using syntax::Token;
using syntax::TokenKind;

namespace {

// Where it stands; empty: nowhere.
std::string_view word_of(const std::vector<Token>& tokens, std::string_view word) {
    const auto at = std::ranges::find(tokens, word, &Token::text);
    return at == tokens.end() ? std::string_view() : at->text;
}
bool has_word(const Statement& f, std::string_view word) { return !word_of(f.tokens(), word).empty(); }

// What differs between two lists of parameters; empty: nothing.
std::string_view difference(const std::vector<Statement::Parameter>& a,
                            const std::vector<Statement::Parameter>& b) {
    if (a.size() != b.size()) return "another number of parameters";
    for (std::size_t i = 0; i < a.size(); ++i) {
        const Statement::Parameter &first = a[i], &second = b[i];
        if (first.type != second.type || first.vector != second.vector || first.count != second.count ||
            first.is_open != second.is_open)
            return "parameters of other types";
        if (first.space != second.space) return "parameters in other state spaces";
        if (alignment_of(first) != alignment_of(second)) return "parameters of other alignment";
    }
    return {};
}

// A later declaration may leave .visible and .weak away, and otherwise repeats the linkage.
bool linkage_goes(std::string_view first, std::string_view second) {
    return first == second || (second.empty() && (first == ".visible" || first == ".weak"));
}

}  // namespace

std::string_view linkage_of(const std::vector<Token>& tokens) {
    constexpr std::array<std::string_view, 4> words = {".extern", ".visible", ".weak", ".common"};
    return !tokens.empty() && std::find(words.begin(), words.end(), tokens.front().text) != words.end()
               ? tokens.front().text
               : std::string_view();
}

std::string_view prototype_difference(const Statement& a, const Statement& b) {
    const std::string_view returns = difference(a.return_parameters(), b.return_parameters());
    return returns.empty() ? difference(a.parameters(), b.parameters()) : returns;
}

void Verifier::declare_function(const Statement& f) {
    const std::vector<Token> tokens = f.tokens();
    const std::string_view linkage = linkage_of(tokens);
    directive_since(linkage);
    if (f.is_entry() && !f.is_definition())
        require(30, {10, 0}, span_of(f.name()), "an entry that is declared without its body");
    if (linkage == ".common") report(Errc::directive_invalid, linkage, "only variables are .common");
    if (linkage == ".extern" && f.is_definition())
        report(Errc::declaration_invalid, f.name(), quote(f.name()) + " is .extern, so it has no body here");
    if (f.is_entry() && !f.return_parameters().empty())
        report(Errc::declaration_invalid, f.name(), "an entry has no return parameters");
    may_be_declared(f.name(), false);
    const Symbol symbol = function_symbol(f);
    const Symbol* const before = declared_before(f);
    const auto declare = [&] {
        if (symbols_.find_innermost(f.name()) != nullptr)
            symbols_.replace(f.name(), symbol);
        else
            symbols_.declare(f.name(), symbol);
        if (!f.parent()) return;
        *functions_of_bodies_.put(f.name()).first = symbol;
        declared_in_bodies_.push_back(f);
    };
    if (before == nullptr) return declare();
    if (before->kind != SymbolKind::function) return redeclared(f.name(), before);
    const Statement first = before->declaration;
    if (first.is_entry() != f.is_entry())
        return report(Errc::name_redeclared, f.name(), quote(f.name()) + " is an entry and a function");
    if (before->is_defined)
        return report(Errc::name_redeclared, f.name(),
                      quote(f.name()) +
                          (f.is_definition() ? " is defined twice" : " is declared behind its definition"));
    if (const auto differs = prototype_difference(first, f); !differs.empty())
        return report(Errc::declaration_invalid, f.name(),
                      quote(f.name()) + " has " + std::string(differs) + " in its first declaration");
    if (!linkage_goes(linkage_of(first.tokens()), linkage) ||
        has_word(first, ".noreturn") != has_word(f, ".noreturn"))
        return report(Errc::declaration_invalid, f.name(),
                      quote(f.name()) + " has another linkage or .noreturn in its first declaration");
    for (const std::string_view word : {".abi_preserve", ".abi_preserve_control"})
        if (has_word(first, word) != has_word(f, word))
            return report(
                Errc::declaration_invalid, f.name(),
                quote(f.name()) + " has " + std::string(word) + " in one of its declarations alone");
    declare();
}

// A function that is declared in a body is one of the module, from there on.
const Symbol* Verifier::declared_before(const Statement& f) const {
    if (const Symbol* const here = symbols_.find_innermost(f.name())) return here;
    const Symbol* const in_a_body = functions_of_bodies_.find(f.name());
    if (in_a_body != nullptr || !f.parent()) return in_a_body;
    const auto* const outer = symbols_.single(f.name(), 0);
    return outer == nullptr ? nullptr : &outer->symbol;
}

// Of functions and prototypes (PTX ISA 11.2.2): the last parameter of a function may be an array without a
// size.
void Verifier::parameter_shapes(const Statement& f, std::span<const Statement::Parameter> returns,
                                std::span<const Statement::Parameter> parameters) {
    const auto place = [&](const Statement::Parameter& p) {
        return p.name.empty() || p.name == "_" ? p.type : p.name;
    };
    const auto in_memory = std::ranges::find(returns, ".param", &Statement::Parameter::space);
    if (returns.size() > 1 && in_memory != returns.end())
        report(Errc::declaration_invalid, place(*in_memory),
               "several return parameters are declared in .reg");
    for (const auto& p : returns) {
        parameter_shape(f, p);
        if (p.is_open) report(Errc::declaration_invalid, place(p), "a return parameter has a size");
        if (p.space == ".param")
            require(20, {20, 0}, span_of(place(p)), "a return parameter of a function in .param");
    }
    const bool is_entry = f.is_entry();
    if (is_entry && !parameters.empty())
        require(14, {10, 0}, span_of(place(parameters.front())), "a parameter of an entry");
    for (std::size_t k = 0; k < parameters.size(); ++k) {
        const Statement::Parameter& p = parameters[k];
        parameter_shape(f, p);
        if (p.is_open) require(60, {30, 0}, span_of(place(p)), "a parameter without a size");
        if (!is_entry && p.space == ".param")
            require(20, {20, 0}, span_of(place(p)), "a parameter of a function in .param");
        if (p.is_open && is_entry)
            report(Errc::declaration_invalid, place(p), "a parameter of an entry has a size");
        else if (p.is_open && k + 1 != parameters.size())
            report(Errc::declaration_invalid, place(p), "only the last parameter may be without a size");
        else if (p.is_open && p.space == ".reg")
            report(Errc::declaration_invalid, place(p), "a parameter without a size is declared in .param");
    }
}

namespace {

constexpr std::uint32_t most_number = 0xFFFFFFFFu;

struct Performance {
    std::string_view word;
    std::uint16_t version, sm;
    std::uint8_t most_numbers;  // 0: takes none
    bool is_positive;
    enum class Place : std::uint8_t { entry, func, both } place;
    std::uint32_t most = most_number;  // that ptxas takes
    bool is_said_once = false;
};
using Place = Performance::Place;
constexpr std::array<Performance, 14> performance_rows = {{
    {".maxnreg", 13, 10, 1, true, Place::entry},
    {".maxntid", 13, 10, 3, true, Place::entry},
    {".reqntid", 21, 10, 3, true, Place::entry},
    {".minnctapersm", 20, 10, 1, true, Place::entry},
    {".maxnctapersm", 13, 10, 1, true, Place::entry},
    {".minperctamemory", 94, 80, 1, false, Place::entry},
    {".reqnctapercluster", 78, 90, 3, false, Place::entry},
    {".explicitcluster", 78, 90, 0, false, Place::entry},
    {".maxclusterrank", 78, 90, 1, false, Place::entry},
    {".blocksareclusters", 90, 90, 0, false, Place::entry},
    {".noreturn", 64, 30, 0, false, Place::func},
    {".abi_preserve", 90, 80, 1, false, Place::func, 237, true},
    {".abi_preserve_control", 90, 80, 1, false, Place::func, 11, true},
    {".local_maxnreg", 88, 10, 1, true, Place::both},
}};
const Performance* find_performance(std::string_view word) {
    const auto row = std::ranges::find(performance_rows, word, &Performance::word);
    return row == performance_rows.end() ? nullptr : &*row;
}

}  // namespace

void Verifier::prototype(const Statement& p) {
    const std::vector<Token> tokens = p.tokens();
    for (std::size_t i = 1, depth = 0; i < tokens.size(); ++i) {
        depth += tokens[i].text == "(";
        depth -= tokens[i].text == ")";
        if (depth == 0 && tokens[i].kind == TokenKind::identifier && tokens[i].text != "_")
            report(Errc::directive_invalid, tokens[i].text,
                   "a .callprototype has '_' where a function has its name");
    }
    const std::array lists = {p.return_parameters(), p.parameters()};
    alignments(syntax::TokenView(p));
    parameter_shapes(p, lists[0], lists[1]);
    for (std::size_t i = 1; i < tokens.size(); ++i)
        if (find_performance(tokens[i].text) != nullptr) performance_directive(p, tokens, i);
    no_return(p, tokens);
    for (const auto& list : lists)
        for (const auto& parameter : list)
            if (!parameter.name.empty() && parameter.name != "_") may_be_declared(parameter.name, true);
}

void Verifier::no_return(const Statement& f, const std::vector<Token>& tokens) {
    const std::string_view word = word_of(tokens, ".noreturn");
    if (!word.empty() && !f.return_parameters().empty())
        report(Errc::directive_invalid, word, "a function that does not return has no return values");
}

void Verifier::parameter_shape(const Statement& f, const Statement::Parameter& p) {
    const bool is_array = p.count != 0 || p.is_open;
    vector_shape(p.type, p.vector);
    if (p.count > 0xFFFFFFFFu)
        report(Errc::declaration_invalid, p.name, "an array has at most 4294967295 elements");
    if (f.kind() != syntax::StatementKind::function) {  // a prototype declares nothing
        if (p.space != ".reg" && p.space != ".param")
            report(Errc::declaration_invalid, p.space, "parameters are declared in .reg or .param");
        if (p.type == ".pred" && is_array)
            report(Errc::declaration_invalid, p.type, "there are no arrays of predicates; pass a .b32");
        type_version(p.type, true);
        return;
    }
    if (p.name == "_" && !f.is_entry())
        report(Errc::declaration_invalid, p.name,
               "a parameter of a function has a name; only those of a .callprototype may be '_'");
    type_version(p.type, is_array || (p.type == ".b128" && !f.is_definition()));
    if (!f.is_definition()) return;  // ptxas makes no variables of its parameters
    if (syntax::is_handle(p.type) && !f.is_entry())
        report(Errc::declaration_invalid, p.type,
               "a " + std::string(p.type) + " is passed to entries alone; pass its address in a .b64");
    else if (p.space == ".reg" && syntax::is_handle(p.type))
        report(Errc::declaration_invalid, p.type,
               "a " + std::string(p.type) + " is no type of a register; pass its address in a .b64");
    if (p.align > most_param_alignment && p.space == ".param" && !f.is_entry())
        report(Errc::declaration_invalid, p.name, "parameters are aligned to 1, 2, 4 … 128 bytes");
    const syntax::TypeRow* const row = syntax::find_type(p.type);
    const RegisterType type = type_of(row);
    if (row != nullptr && !syntax::is_handle(p.type) &&
        (type == RegisterType::none || !info(type).is_declared))
        report(Errc::declaration_invalid, p.type,
               std::string(p.type) + " is a type of instructions; pass a .b" +
                   std::to_string(std::max<std::uint32_t>(row->bits, 8)));
    if (p.space == ".reg" && p.count != 0)
        report(Errc::declaration_invalid, p.name, "registers have no arrays; pass an array in .param");
    if (p.space == ".param" && p.type == ".f16x2" && !is_array)
        report(Errc::declaration_invalid, p.type, "a .f16x2 cannot be in .param; pass a .b32");
    if (p.space == ".param" && p.vector != 1 && !is_array)
        report(Errc::declaration_invalid, p.type, "there are no vectors in .param; pass an array");
}

// PTX ISA 11.2.1.
void Verifier::parameter_bytes(std::span<const Statement::Parameter> parameters) {
    const bool has_many = setting_.version >= 81 && setting_.target.sm >= 70;
    const std::uint64_t most = has_many ? 32764 : 4352;
    std::uint64_t top = 0;
    for (const Statement::Parameter& p : parameters) {
        const std::uint64_t element = bytes_of(type_of(p.type)),  // 0 of a handle
            count = std::max<std::uint64_t>(p.count, 1),
                            aligned = std::max<std::uint64_t>({p.align, element, 1});
        top = (top + aligned - 1) / aligned * aligned;
        top = count > most ? most + 1 : top + element * p.vector * count;
        if (top > most)
            return report(Errc::declaration_invalid, p.name,
                          "the parameters of an entry have at most " + std::to_string(most) + " bytes");
    }
}

void Verifier::declare_parameters(const Statement& f, const std::vector<Token>& tokens) {
    const bool is_entry = f.is_entry(), is_definition = f.is_definition();
    const auto declare = [&](const Statement::Parameter& p, bool is_input) {
        if (!is_entry && p.space != ".reg" && p.space != ".param")
            return report(Errc::declaration_invalid, p.space, "parameters are declared in .reg or .param");
        if (is_entry && p.space != ".param")
            return report(Errc::declaration_invalid, p.name,
                          "parameter " + quote(p.name) + " of an entry is declared in .param");
        const bool is_array = p.count != 0 || p.is_open;
        if (p.type == ".pred" && (is_array || (p.space != ".reg" && is_definition)))
            return report(Errc::declaration_invalid, p.type,
                          "a predicate can only be a register; pass a .b32");
        if (p.name.empty() || p.name == "_" || !may_be_declared(p.name, true)) return;
        if (is_entry && is_definition) sampler(p.type);
        Symbol symbol = parameter_symbol(p);
        symbol.is_input = is_input;
        symbol.is_return = !is_input;
        if (symbol.kind == SymbolKind::reg && symbol.type == RegisterType::none) return;  // which was said
        const Symbol* const before = symbols_.declare(p.name, symbol);
        if (before != nullptr && is_definition) redeclared(p.name, before);
    };
    const std::vector<Statement::Parameter> returns = f.return_parameters(), parameters = f.parameters();
    alignments(syntax::TokenView(f));
    parameter_shapes(f, returns, parameters);
    if (is_entry && linkage_of(tokens) != ".extern") parameter_bytes(parameters);
    for (const auto& p : returns) declare(p, false);
    for (const auto& p : parameters) declare(p, true);
    for (std::size_t i = 1; i < tokens.size(); ++i)
        if (tokens[i].text == ".align" && syntax::find_type(tokens[i - 1].text) != nullptr && !is_entry)
            report(Errc::declaration_invalid, tokens[i].text,
                   "behind the type, .align belongs to the parameters of entries; write it before the type");
    for (const Token& token : tokens) {
        if (token.text == ".ptr" || token.text == ".attribute") directive_since(token.text);
        const Token* const next = &token + 1;
        if (token.text == ".ptr" && next != tokens.data() + tokens.size() && syntax::is_handle(next->text))
            require(43, {10, 0}, span_of(next->text), "a pointer to a " + std::string(next->text));
        if (token.text == ".ptr" && !is_entry)
            report(Errc::declaration_invalid, token.text, ".ptr belongs to the parameters of entries");
        if (token.text == ".managed") attribute(token.text, "variables in .global");
        if (token.text == ".unified")
            attribute(token.text, is_entry ? "functions, their parameters and variables in .global" : "");
    }
}

namespace {

// Words of a head that are no performance directives.
bool is_head_word(std::string_view word) {
    constexpr std::array<std::string_view, 19> words = {
        ".pragma", ".entry",  ".func",  ".extern", ".visible",   ".weak",    ".common",
        ".param",  ".reg",    ".align", ".ptr",    ".attribute", ".unified", ".global",
        ".const",  ".shared", ".local", ".texref", ".samplerref"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void Verifier::performance_directives(const Statement& f, const std::vector<Token>& tokens) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        depth += tokens[i].text == "(";
        depth -= tokens[i].text == ")";
        if (depth != 0 || tokens[i].kind != TokenKind::directive) continue;
        if (tokens[i].text == ".pragma") directive_since(tokens[i].text);
        if (tokens[i].text == ".pragma" && !f.is_definition())
            report(Errc::directive_invalid, tokens[i].text, ".pragma stands with the body of an entry");
        if (find_performance(tokens[i].text) != nullptr)
            performance_directive(f, tokens, i);
        else if (!is_head_word(tokens[i].text))
            report(Errc::directive_invalid, tokens[i].text,
                   std::string(tokens[i].text) + " is no directive for the head of a function");
    }
    exclusive_directives(f, tokens);
    pragma(syntax::TokenView(f), PragmaPlace::head);
}

void Verifier::performance_directive(const Statement& f, const std::vector<Token>& tokens, std::size_t at) {
    const Performance& row = *find_performance(tokens[at].text);
    const std::string word(row.word);
    if (row.is_said_once && word_of(tokens, row.word).data() != tokens[at].text.data())
        report(Errc::directive_invalid, tokens[at].text, word + " stands once");
    if (row.place == Place::entry && !f.is_entry())
        report(Errc::directive_invalid, tokens[at].text, word + " belongs to an entry, not to a function");
    if (row.place != Place::func && !f.is_definition())
        report(Errc::directive_invalid, tokens[at].text,
               word + " stands with the body of " + (f.is_entry() ? "an entry" : "a function"));
    if (row.place == Place::func && f.is_entry())
        report(Errc::directive_invalid, tokens[at].text, word + " belongs to a function, not to an entry");
    if (row.word == ".maxnctapersm" && setting_.version > 20)
        report(Errc::form_removed, tokens[at].text,
               ".maxnctapersm is gone after PTX ISA 2.0; use .minnctapersm");
    require(row.version, {row.sm, 0}, span_of(tokens[at].text), word);
    std::size_t numbers = 0;
    std::uint64_t product = 1;
    for (std::size_t k = at + 1;
         k < tokens.size() && (syntax::integer_value(tokens[k].text) || tokens[k].text == ","); ++k) {
        if (tokens[k].text == ",") continue;
        ++numbers;
        const auto value = syntax::integer_value(tokens[k].text);
        if (row.is_positive && value == 0)
            report(Errc::directive_invalid, tokens[k].text, word + " takes numbers above 0");
        if (!value || *value > row.most)
            report(Errc::directive_invalid, tokens[k].text,
                   word + (row.most == most_number ? " takes numbers of 32 bits"
                                                   : " takes numbers up to " + std::to_string(row.most)));
        const std::uint64_t size = std::clamp<std::uint64_t>(value.value_or(1), 1, most_counted_threads);
        product = product > most_counted_threads / size ? most_counted_threads + 1 : product * size;
    }
    if ((row.word == ".maxntid" || row.word == ".reqntid") && product > most_counted_threads)
        report(Errc::directive_invalid, tokens[at].text,
               word + " asks for more threads than ptxas can count; a block has at most 1024");
    if (numbers > row.most_numbers || (numbers == 0 && row.most_numbers != 0))
        report(Errc::directive_invalid, tokens[at].text,
               word + (row.most_numbers == 0   ? " takes no number"
                       : row.most_numbers == 1 ? " takes one number"
                                               : " takes one to three numbers"));
}

void Verifier::exclusive_directives(const Statement& f, const std::vector<Token>& tokens) {
    const auto find = [&](std::string_view word) { return word_of(tokens, word); };
    const std::string_view reqntid = find(".reqntid"), required = find(".reqnctapercluster"),
                           rank = find(".maxclusterrank"), blocks = find(".blocksareclusters");
    if (!find(".maxntid").empty() && !reqntid.empty())
        report(Errc::directive_invalid, reqntid, ".maxntid and .reqntid exclude each other");
    if (!required.empty() && !rank.empty())
        report(Errc::directive_invalid, rank, ".reqnctapercluster and .maxclusterrank exclude each other");
    if (!blocks.empty() && (reqntid.empty() || required.empty()))
        report(Errc::directive_invalid, blocks, ".blocksareclusters needs .reqntid and .reqnctapercluster");
    no_return(f, tokens);
}

}  // namespace ptxgraft::isa
