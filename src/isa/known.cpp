// verify: instructions of a shape that was found right before. The shape is all that the check of an instruction looks at: its name, the
// kinds and types of its operands' names, its constants and punctuation. Two instructions of one shape are both right or both wrong.

#include <cstring>

#include "isa/verifier.hpp"

namespace ptxgraft::isa {

using syntax::Token;
using syntax::TokenKind;

namespace {

template <class T>
void append(std::string& out, const T& value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}

}  // namespace

std::uint32_t Verifier::name_index(std::string_view name) { 
    const auto [index, is_new] = name_indices_.put(name);
    if (is_new) *index = name_count_++;
    return *index;
 }

// Also makes `shape_`; it stays empty for instructions that must be looked at one by one.
bool Verifier::is_known_right(const syntax::Statement& statement) {
    shape_.clear();
    statement.tokens(tokens_);
    std::size_t at = 0;
    if (tokens_[0].text == "@") {
        while (tokens_[at].kind != TokenKind::identifier) shape_ += tokens_[at++].text[0];
        if (!add_to_shape(tokens_[at++])) return false;
    }
    const std::size_t opcode = at++;
    while (at < tokens_.size() && tokens_[at].kind == TokenKind::directive) ++at;
    const char* begin = tokens_[opcode].text.data();
    const char* end = tokens_[at - 1].text.data() + tokens_[at - 1].text.size();
    if (tokens_[opcode].text == "call") {
        shape_.clear();
        return false;
    }
    append(shape_, name_index({begin, static_cast<std::size_t>(end - begin)}));
    for (; at < tokens_.size(); ++at) {
        if (add_to_shape(tokens_[at])) continue;
        shape_.clear();
        return false;
    }
    return right_.find(shape_) != right_.end();
}

bool Verifier::add_to_shape(const Token& token) {
    switch (token.kind) {
        case TokenKind::identifier: {
            const Symbol* s = symbols_.find(token.text);
            if (s == nullptr || s->kind == SymbolKind::function) {
                shape_.clear();
                return false;
            }
            shape_ += 'n';
            shape_ += static_cast<char>(s->kind);
            shape_ += static_cast<char>(s->type);
            shape_ += static_cast<char>(s->space);
            shape_ += static_cast<char>(s->vector);
            shape_ += static_cast<char>(s->is_input | s->is_return << 1);
            return true;
        }
        case TokenKind::integer:
        case TokenKind::floating:
        case TokenKind::directive:
            shape_ += ' ';
            shape_ += token.text;
            shape_ += ' ';
            return true;
        case TokenKind::punctuation:
            shape_ += token.text;
            return true;
        default:
            shape_.clear();
            return false;
    }
}

}  // namespace ptxgraft::isa
