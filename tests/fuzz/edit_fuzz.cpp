// Random edits of any module: after each, the printed text parses to the edited tree (the same canonical
// text), the canonical text is its own canonical text, and names are bound to declarations that say so.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "ptxgraft/syntax.hpp"

namespace {

using namespace ptxgraft::syntax;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr std::string_view names[] = {"a", "%r1", "%r", "L", "f", "%longer", "k", "x9", "_", "%tid"};
constexpr std::string_view statements[] = {"ret;",
                                           "\n\tadd.s32 a, %r1, 5; // c",
                                           ".loc 1 2 3",
                                           "{ L: bra L; }",
                                           ".reg .b32 a, %r<3>;",
                                           "# 1 \"a\"\nL:",
                                           ".func f { ret; }\n",
                                           "\n@!a ld.v2.b32 {%r0, a}, [L+4];",
                                           ".section .debug_info { .b8 1, L+2\nx9: .b32 .debug_loc }"};
constexpr std::string_view parts[] = {"",         ".rn", "a",   "%r1", "-4",  "[a+4]",
                                      "{a, %r1}", "!a",  "sub", ".2d", "f+8", "0f3F800000"};

// The input's bytes from the end, so that a file of PTX is an input as it is.
class Choices {
  public:
    Choices(const std::uint8_t* data, std::size_t size)
        : data_(data), left_(size < 64 ? size : 64), size_(size) {}
    [[nodiscard]] bool any() const { return left_ > 3; }
    std::size_t below(std::size_t count) {
        return left_ == 0 || count == 0 ? 0 : data_[size_ - left_--] % count;
    }
    template <std::size_t n> std::string_view of(const std::string_view (&texts)[n]) {
        return texts[below(n)];
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_, size_;
};

std::vector<Statement> all_statements(const Module& module) {
    std::vector<Statement> all;
    for (const Statement s : module.walk()) all.push_back(s);
    all.push_back(module.statements().back());
    return all;
}

void edit(Module& module, Choices& choices) {
    const auto all = all_statements(module);
    const Statement at = all[choices.below(all.size())];
    switch (choices.below(16)) {
        case 0: return (void)module.insert_before(at, choices.of(statements));
        case 1: return (void)module.insert_after(at, choices.of(statements));
        case 2: return (void)module.replace(at, choices.of(statements));
        case 3: return module.remove(at);
        case 4: return (void)module.append(at, choices.of(statements));
        case 5: return (void)module.replace_body(at, choices.of(statements));
        case 6: return (void)module.splice(at, all[choices.below(all.size())]);
        case 7: return (void)module.clone(at, choices.of(names));
        case 8: return (void)module.set_opcode(at, choices.of(parts));
        case 9: return (void)module.set_modifier(at, choices.below(3), choices.of(parts));
        case 10: return (void)module.insert_modifier(at, choices.below(3), choices.of(parts));
        case 11: return (void)module.set_operand(at, choices.below(4), choices.of(parts));
        case 12: return (void)module.set_guard(at, choices.of(parts));
        case 13: return (void)module.rename(Names(module).find(at, choices.of(names)), choices.of(names));
        case 14: return (void)module.outline(at, all[choices.below(all.size())], choices.of(names));
        default: return (void)module.rewrite(at, choices.of(statements));
    }
}

std::string tokens_of(const Module& module) {
    std::string out;
    for (const Statement s : module.walk()) {
        out += static_cast<char>('a' + static_cast<int>(s.kind()));
        for (const Token& t : s.tokens()) out.append(" ").append(t.text);
        out += '\n';
    }
    return out;
}

void check(const Module& module) {
    const auto again = parse(print(module));
    require(again.has_value());
    require(tokens_of(*again) == tokens_of(module));
    const std::string text = canonical(module);
    require(canonical(*again) == text);
    const auto clean = parse(text);
    require(clean.has_value());
    require(tokens_of(*clean) == tokens_of(module));
    require(canonical(*clean) == text);
}

void look_at_names(const Module& module) {
    const Names bound(module);
    for (const Name& name : bound.all()) {
        const auto uses = bound.uses(name);
        require(!uses.empty());
        for (const Use& use : uses) require(use.statement.tokens()[use.token].text == use.text);
        require(name.declaration.tokens()[name.token].text == name.text);
    }
    for (const Statement s : module.walk()) (void)bound.in(s);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 20000) return 0;
    auto module = parse(std::string(reinterpret_cast<const char*>(data), size));
    if (!module) return 0;
    check(*module);
    for (Choices choices(data, size); choices.any();) {
        edit(*module, choices);
        check(*module);
        if (canonical(*module).size() > 200000) return 0;  // clones of clones
    }
    look_at_names(*module);
    return 0;
}
