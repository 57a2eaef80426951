// Any bytes: what parses prints back identically and every view of it can be taken. Read on behind errors,
// every text prints back, and parse agrees on whether there are any. Tokens do not depend on where in the
// text they stand.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptxgraft/syntax.hpp"

namespace {

using namespace ptxgraft::syntax;

void require(bool holds) {
    if (!holds) std::abort();
}

void look(const Statement& s) {
    (void)s.name();
    (void)s.parameters();
    (void)s.return_parameters();
    (void)s.variable();
    if (const auto i = s.instruction()) require(!i->opcode.empty());
    const ptxgraft::Span span = s.span();
    require(span.known() && span.begin <= span.end);
}

void look(const Module& module) {
    for (const Statement& s : module.statements()) {
        look(s);
        for (const Statement& inner : s.body_recursive()) look(inner);
    }
    require(module.version().size() <= module.source().size());
    (void)module.address_size();
}

// The lexer reads long texts many characters at a time: moved, each token falls elsewhere in such a stretch.
void move(const std::string& text, std::size_t by) {
    const auto tokens = tokenize(text);
    const std::string moved_text = std::string(by, ' ') + text + std::string(64, '\n');
    const auto moved = tokenize(moved_text);
    // What the end of the text cuts off may go on into the blanks: a line marker, for one.
    if (!tokens || !moved) return;
    require(tokens->size() == moved->size());
    for (std::size_t i = 0; i < tokens->size(); ++i) {
        require((*tokens)[i].kind == (*moved)[i].kind && (*tokens)[i].text == (*moved)[i].text);
        require((*tokens)[i].offset + by == (*moved)[i].offset);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto module = parse(text);
    if (module) {
        require(print(*module) == text);
        look(*module);
    } else {
        require(module.error().span.known() && module.error().span.end <= size);
    }
    const auto recovered = parse_all(text, {.max_errors = 20});
    require(recovered.has_value());
    require(print(recovered->module) == text);
    require(recovered->errors.empty() == module.has_value());
    for (const ptxgraft::Error& e : recovered->errors)
        require(e.span.begin <= e.span.end && e.span.end <= size);
    look(recovered->module);
    move(text, 1 + (size == 0 ? 0 : data[size - 1] % 63u));
    return 0;
}
