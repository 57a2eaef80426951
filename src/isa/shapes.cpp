// The memo of verify: the key under which instructions that look alike are known to be right.

#include "isa/shapes.hpp"

namespace ptxgraft::isa {

using syntax::Lexeme;
using syntax::TokenView;

namespace {

// What a piece of a shape begins with; no other piece begins so, and each ends where its first character
// says.
constexpr char declared_name = '\x7F';  // five bytes; all others are lexemes
static_assert(syntax::lexeme_count < 0x7F);

char* add_character(Lexeme lexeme, char* to) {
    *to = static_cast<char>(lexeme);
    return to + 1;
}

// A text has no 0 in it.
char* add_text(Lexeme lexeme, std::string_view text, char* to) {
    to = syntax::copy(text, add_character(lexeme, to));
    *to = 0;
    return to + 1;
}

char* add_symbol(const Symbol& symbol, char* to) {
    *to++ = declared_name;
    *to++ = static_cast<char>(symbol.kind);
    *to++ = static_cast<char>(symbol.type);
    *to++ = static_cast<char>(symbol.space);
    *to++ = static_cast<char>(symbol.vector);
    *to++ =
        static_cast<char>(symbol.is_input | symbol.is_return << 1 | symbol.is_array << 2 | symbol.hides << 3);
    return to;
}

}  // namespace

bool Shapes::is_right(const TokenView& instruction, const Symbols& symbols) {
    if (!make(instruction, symbols)) size_ = 0;
    return size_ != 0 && right_.find(shape()) != nullptr;
}

void Shapes::use_for(const InstructionVerifier::Setting& setting) {
    if (setting != setting_) forget();
    setting_ = setting;
}

void Shapes::forget() {
    right_.clear();
    kept_.clear();
}

void Shapes::remember() {
    if (size_ == 0) return;
    if (kept_.size() == most) forget();
    kept_.emplace_back(shape());
    right_.put(kept_.back());
}

bool Shapes::make(const TokenView& tokens, const Symbols& symbols) {
    constexpr std::size_t most_for_a_token = 8;  // beside its text
    const std::size_t most = tokens.text(0, tokens.size() - 1).size() + most_for_a_token * tokens.size();
    if (buffer_.size() < most) buffer_.resize(2 * most);
    char* to = buffer_.data();
    std::size_t at = 0;
    if (tokens.kind(0) == Lexeme::at) {
        while (tokens.kind(at) != Lexeme::identifier) to = add_character(tokens.kind(at++), to);
        to = add(tokens, at++, symbols, to);
        if (to == nullptr) return false;
    }
    const std::size_t opcode = at++;
    while (at < tokens.size() && tokens.kind(at) == Lexeme::directive) ++at;
    if (tokens.text(opcode) == "call") return false;  // its check looks at the declaration of what it calls
    to = add_text(Lexeme::identifier, tokens.text(opcode, at - 1), to);
    for (; at < tokens.size(); ++at) {
        to = add(tokens, at, symbols, to);
        if (to == nullptr) return false;
    }
    size_ = static_cast<std::size_t>(to - buffer_.data());
    return true;
}

// Null for what must be looked at by itself.
char* Shapes::add(const TokenView& tokens, std::size_t at, const Symbols& symbols, char* to) {
    const Lexeme kind = tokens.kind(at);
    switch (kind) {
        case Lexeme::identifier: {
            const std::string_view name = tokens.text(at);
            const Symbol* symbol = symbols.find(name);
            // a special register
            if (symbol == nullptr)
                return name.find('.') == std::string_view::npos ? add_text(kind, name, to) : nullptr;
            if (symbol->kind == SymbolKind::function || symbol->is_no_address) return nullptr;
            return add_symbol(*symbol, to);
        }
        case Lexeme::integer:
        case Lexeme::floating:
        case Lexeme::directive:
        case Lexeme::two_char_operator: return add_text(kind, tokens.text(at), to);
        case Lexeme::string:
        case Lexeme::invalid:
        case Lexeme::end: return nullptr;
        default: return add_character(kind, to);
    }
}

}  // namespace ptxgraft::isa
