// verify: the strings of .pragma (PTX ISA 11.4.7 and chapter 12).

#include <algorithm>
#include <array>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::isa {

using syntax::Lexeme;
using syntax::TokenView;

namespace {

struct Pragma {
    std::string_view word;
    std::uint16_t version = 0, sm = 0;
    bool is_of_module = false;  // stands outside of functions, and in heads, too
    bool takes_number = false;
    bool is_positive = false;
    bool is_of_entries = true, is_of_functions = true;  // in whose bodies it stands
};
// As ptxas has them, from the version on that it asks for.
constexpr std::array<Pragma, 5> pragmas = {{
    {.word = "nounroll", .is_of_module = true},
    {.word = "used_bytes_mask", .version = 83, .sm = 50, .takes_number = true},
    {.word = "enable_smem_spilling", .version = 87, .sm = 75, .is_of_functions = false},
    {.word = "frequency", .version = 90, .sm = 10, .takes_number = true, .is_positive = true},
    {.word = "abi_param_reg", .is_of_module = true, .is_of_entries = false},
}};

// `frequency 3`: digits of any number, with or without 0x, and with a minus where 0 is taken.
bool is_number(std::string_view text, bool is_positive) {
    if (!is_positive && text.starts_with('-')) text.remove_prefix(1);
    const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (is_hexadecimal) text.remove_prefix(2);
    const std::string_view digits = is_hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
    if (text.empty() || text.find_first_not_of(digits) != std::string_view::npos) return false;
    return !is_positive || text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

// ptxas passes over what it does not know in functions, and refuses it outside of them.
void Verifier::pragma(const TokenView& tokens, PragmaPlace place) {
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (tokens.kind(i) != Lexeme::string || tokens.text(i).size() < 2) continue;
        const std::string_view text = tokens.text(i).substr(1, tokens.text(i).size() - 2);
        const auto row = std::ranges::find_if(pragmas, [&](const Pragma& p) {
            return p.word == "nounroll" ? text == p.word : text.starts_with(p.word);
        });
        const auto wrong = [&](const std::string& what) {
            report(Errc::directive_invalid, tokens.text(i), what);
        };
        if (row == pragmas.end()) {
            if (place == PragmaPlace::module)
                wrong("ptxas knows no pragma " + quote(text) + " outside of functions");
            continue;
        }
        const std::string word(row->word);
        if (row->version != 0) require(row->version, {row->sm, 0}, span_of(tokens.text(i)), word);
        if (place != PragmaPlace::body && !row->is_of_module)
            wrong(word + " stands in the body of a function");
        if (place == PragmaPlace::body && !(function_.is_entry() ? row->is_of_entries : row->is_of_functions))
            wrong(word + " belongs to " + (row->is_of_entries ? "entries" : "functions, not to entries"));
        if (word == "enable_smem_spilling" && place == PragmaPlace::body)
            spilling_.emplace_back(function_, tokens.text(i));
        if (word == "abi_param_reg" && text != "abi_param_reg all") wrong(word + " has all behind it");
        if (!row->takes_number) continue;
        const std::size_t first = text.find_first_not_of(" \t", row->word.size());
        if (first == std::string_view::npos || first == row->word.size() ||
            !is_number(text.substr(first), row->is_positive))
            wrong(word + (row->is_positive ? " has a number above 0 behind it" : " has a number behind it"));
    }
}

// PTX ISA 12: an entry that spills to shared memory has no dynamic one, nor have the functions that it calls.
void Verifier::shared_spilling() {
    if (spilling_.empty()) return;
    syntax::NameMap<syntax::Statement> functions, dynamic;
    for (const syntax::Statement& f : module_.functions())
        if (f.is_definition()) *functions.put(f.name()).first = f;
    for (const syntax::Statement& s : module_.statements())
        if (const auto v = s.variable(); v && v->linkage == ".extern" && space_of(v->space) == Space::shared)
            for (const auto& d : v->declarators)
                if (!d.extents.empty() && d.extents.front() == 0) *dynamic.put(d.name).first = s;
    for (const auto& [entry, pragma] : spilling_) {
        std::vector<syntax::Statement> open{entry};
        syntax::NameMap<bool> seen;
        std::string_view used;
        while (!open.empty() && used.empty()) {
            const syntax::Statement f = open.back();
            open.pop_back();
            syntax::NameMap<bool> own;
            for (const syntax::Statement& s : f.body_recursive()) {
                if (const auto v = s.variable())
                    for (const auto& d : v->declarators) own.put(d.name);
                if (s.kind() != syntax::StatementKind::instruction) continue;
                for (const syntax::Token& token : s.tokens()) {
                    if (token.kind != syntax::TokenKind::identifier || own.find(token.text) != nullptr)
                        continue;
                    if (dynamic.find(token.text) != nullptr) used = token.text;
                    const syntax::Statement* const callee = functions.find(token.text);
                    if (callee != nullptr && seen.put(token.text).second) open.push_back(*callee);
                }
            }
        }
        if (!used.empty())
            report(Errc::directive_invalid, pragma,
                   "enable_smem_spilling is for entries without dynamic shared memory, which " + quote(used) +
                       " is");
    }
}

}  // namespace ptxgraft::isa
