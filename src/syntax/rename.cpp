// Renaming what a name stands for: its places, where they would come to mean something else, and the edit.

#include "base/try.hpp"
#include "syntax/body.hpp"
#include "syntax/constant.hpp"
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

Span span_of(const NameIndex& index, const Occurrence& o) {
    const std::uint32_t begin = index.data.tokens[index.data.nodes[o.node].first_token + o.token].begin;
    const auto size = static_cast<std::uint32_t>(index.text(o).size());
    return index.data.text.is_source(begin) ? Span{begin, begin + size} : Span{};
}

tl::unexpected<Error> taken(const NameIndex& index, const Occurrence& o, std::string_view by) {
    return fail(Errc::name_taken, span_of(index, o),
                "the name " + std::string(by) + " is taken: " + std::string(index.text(o)) +
                    " here would mean something else");
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

// `.branchtargets N<3>` names N0, N1 and N2 without their text.
Expected<void> check_ranges(const Renaming& r) {
    const ModuleData& data = r.index.data;
    const std::string_view label = r.declared().text;
    if (r.declared().kind != NameKind::label) return {};
    for (const Occurrence& o : r.index.occurrences) {
        const Node& node = data.nodes[o.node];
        if (o.declaration != no_declaration || node.kind != StatementKind::directive ||
            !r.index.is_within(o.node, r.declared().scope))
            continue;
        const auto text = [&](std::uint32_t t) { return data.text_of(data.tokens[node.first_token + t]); };
        const std::string_view stem = text(o.token);
        if (text(0) != ".branchtargets" || !label.starts_with(stem) || stem == label) continue;
        const auto number = trailing_digits(label) >= label.size() - stem.size()
                                ? number_at_end(label, label.size() - stem.size())
                                : std::nullopt;
        const auto count = integer_value(text(o.token + 2));
        if (!number || !count || *number >= *count) continue;
        return fail(Errc::name_taken, span_of(r.index, o),
                    std::string(label) + " is one of " + std::string(stem) + "<" +
                        std::string(text(o.token + 2)) + ">, which names labels by numbers");
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
    TRY(check_ranges(renaming));
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
