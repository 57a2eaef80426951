// Renaming what a name stands for: its places, where they would come to mean something else, and the edit.

#include "base/try.hpp"
#include "syntax/body.hpp"
#include "syntax/editor.hpp"
#include "syntax/names.hpp"

namespace ptxgraft::syntax {
namespace {

// What becomes of one name.
struct Renaming {
    const NameIndex& index;
    DeclarationIndex declaration;
    std::optional<std::uint32_t> element;
    std::string_view to;

    [[nodiscard]] const Declared& declared() const { return index.declarations[declaration]; }
    [[nodiscard]] bool concerns(const Occurrence& o) const {
        return o.declaration == declaration && (!element || o.element == *element);
    }
    // The new text of a place: of a range the stem changes and the digits stay.
    [[nodiscard]] std::string at(const Occurrence& o) const {
        const std::string_view digits = element || o.element == whole_range
                                            ? std::string_view()
                                            : index.text(o).substr(declared().text.size());
        return std::string(to).append(digits);
    }
    // True when a text of another name would be of ours afterwards.
    [[nodiscard]] bool takes(std::string_view text) const {
        if (declared().range == 0 || element) return text == to;
        if (!text.starts_with(to) || trailing_digits(text) < text.size() - to.size()) return false;
        const auto number = text == to ? std::nullopt : number_at_end(text, text.size() - to.size());
        return text == to || (number && *number < declared().range);
    }
};

tl::unexpected<Error> taken(const NameIndex& index, const Occurrence& o, std::string_view by) {
    const std::uint32_t begin = index.data.tokens[index.data.nodes[o.node].first_token + o.token].begin;
    const std::string text(index.text(o));
    const Span span = index.data.text.is_source(begin)
                          ? Span{begin, begin + static_cast<std::uint32_t>(text.size())}
                          : Span{};
    return fail(Errc::name_taken, span,
                "the name " + std::string(by) + " is taken: " + text + " here would mean something else");
}

// The new name at our places must be none that is declared in our scope or within it, and no place of another
// name may become ours.
Expected<void> check(const Renaming& r) {
    const NodeIndex scope = r.declared().scope;
    for (const Occurrence& o : r.index.occurrences) {
        if (r.concerns(o)) {
            const NodeIndex around = o.node == scope ? scope : r.index.data.nodes[o.node].parent;
            const auto there = r.index.find(around, o.place, r.at(o));
            const bool hidden = there.declaration != no_declaration &&
                                (r.index.is_within(r.index.declarations[there.declaration].scope, scope) ||
                                 !r.index.is_within(o.node, scope));
            if (hidden && !r.concerns({o.place, o.node, o.token, there.declaration, there.element, 0, 0, 0}))
                return taken(r.index, o, r.to);
            continue;
        }
        const bool is_outer = o.declaration == no_declaration ||
                              r.index.declarations[o.declaration].scope == scope ||
                              !r.index.is_within(r.index.declarations[o.declaration].scope, scope);
        if (is_outer && r.takes(r.index.text(o)) && r.index.is_within(o.node, scope))
            return taken(r.index, o, r.to);
    }
    return {};
}

}  // namespace

Expected<std::size_t> Module::rename(const Name& name, std::string_view to) {
    if (!may_be_name(to)) return no_name(to);
    const Names names(*this);
    const NameIndex& index = *names.index_;
    const DeclarationIndex d = name && owns(name.declaration) ? index.index_of(name) : no_declaration;
    if (d == no_declaration)
        return fail(Errc::name_undeclared, std::string(name.text.empty() ? "the name" : name.text));
    const Renaming renaming{index, d, name.element, to};
    TRY(check(renaming));
    std::vector<TokenChange> changes;
    for (const std::uint32_t i : index.occurrences_of(d)) {
        const Occurrence& o = index.occurrences[i];
        if (renaming.concerns(o)) changes.push_back({o.node, o.token, renaming.at(o)});
    }
    // An element leaves its range: it is declared by itself behind it.
    if (name.element) TRY(declare_alone(name, to));
    TRY(Editor(*data_).change(changes));
    return changes.size();
}

// `.reg .b32 NAME;` behind the statement that declares the range, laid out as that.
Expected<Statement> Module::declare_alone(const Name& element, std::string_view name) {
    std::string text = line_like(element.declaration.trivia());
    const std::vector<Token> tokens = element.declaration.tokens();
    for (std::size_t i = 0; tokens[i].kind != TokenKind::identifier; ++i)
        text.append(tokens[i].text).append(" ");
    return insert_after(element.declaration, text.append(name).append(";"));
}

}  // namespace ptxgraft::syntax
