// Any bytes: what parses prints back identically, every view of it can be taken, and after any edits the
// printed text parses to the edited tree. Read on behind errors, every text prints back, and parse agrees on
// whether there are any.

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

// Levels, kinds and tokens; deep trees are compared by their flat order.
std::string outline(const Module& module) {
    std::string out;
    const auto add = [&](const Statement& s) {
        out += static_cast<char>('a' + static_cast<int>(s.kind()));
        for (Statement p = s.parent(); p; p = p.parent()) {
            out += '.';
            if (out.size() > (1u << 20)) return;
        }
        for (const Token& t : s.tokens()) out.append(" ").append(t.text);
        out += '\n';
    };
    for (const Statement& s : module.statements()) {
        add(s);
        for (const Statement& inner : s.body_recursive()) add(inner);
    }
    return out;
}

void look(const Module& module) {
    for (const Statement& s : module.statements()) {
        require(s.name().size() <= s.text().size());
        (void)s.parameters();
        (void)s.return_parameters();
        (void)s.variable();
        for (const Statement& inner : s.body_recursive()) {
            if (const auto i = inner.instruction()) require(!i->opcode.empty());
            (void)inner.variable();
            require(inner.span().known() == s.span().known() || !s.span().known());
        }
    }
    require(module.version().size() <= module.source().size());
    (void)module.address_size();
}

std::vector<Statement> all_statements(const Module& module) {
    std::vector<Statement> all;
    for (const Statement& s : module.statements()) {
        all.push_back(s);
        for (const Statement& inner : s.body_recursive()) all.push_back(inner);
    }
    return all;
}

void edit(Module& module, std::uint8_t choice, std::uint8_t where) {
    static constexpr std::string_view texts[] = {
        "ret;",          "\n\tadd.s32 a, b, 5; // c", ".loc 1 2 3",   "{ x: }", ".reg .b32 a",
        "# 1 \"a\"\nL:", ".func g { ret; }\n",        ".version 9.0",
    };
    const std::string_view text = texts[choice % std::size(texts)];
    const auto all = all_statements(module);
    const Statement at = all[where % all.size()];
    switch (choice / std::size(texts) % 6) {
        case 0:
            (void)module.insert_before(at, text);
            break;
        case 1:
            (void)module.insert_after(at, text);
            break;
        case 2:
            (void)module.replace(at, text);
            break;
        case 3:
            module.remove(at);
            break;
        case 4:
            (void)module.append(at, text);
            break;
        default:
            (void)module.rename(choice % 2 ? at : Statement(), "a", choice % 4 ? "%longer" : "b");
            break;
    }
}

void read_on(const std::string& text, bool parses) {
    const auto recovered = parse_all(text, {.max_errors = 20});
    require(recovered.has_value());
    require(print(recovered->module) == text);
    require(recovered->errors.empty() == parses);
    for (const ptxgraft::Error& e : recovered->errors)
        require(e.span.begin <= e.span.end && e.span.end <= text.size());
    look(recovered->module);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The last bytes choose the edits, so that a file of PTX is an input as it is.
    const std::string text(reinterpret_cast<const char*>(data), size);
    auto module = parse(text);
    read_on(text, module.has_value());
    if (!module) {
        require(!module.error().span.known() || module.error().span.begin <= size);
        return 0;
    }
    require(print(*module) == text);
    look(*module);
    if (size > 20000) return 0;
    for (std::size_t i = 0; i + 1 < size && i < 16; i += 2) {
        edit(*module, data[size - 1 - i], data[size - 2 - i]);
        const std::string printed = print(*module);
        const auto again = parse(printed);
        require(again.has_value());
        require(outline(*again) == outline(*module));
    }
    return 0;
}
