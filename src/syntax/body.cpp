// Edits of whole bodies: exchange, splice, clone; and a module from nothing.

#include "syntax/body.hpp"
#include "base/try.hpp"

#include "syntax/editor.hpp"
#include "syntax/names.hpp"

namespace ptxgraft::syntax {

std::string line_like(std::string_view trivia) {
    const std::size_t line_end = trivia.find_last_of('\n');
    if (line_end == std::string_view::npos) return " ";
    const std::string_view indent = trivia.substr(line_end + 1);
    return "\n" + std::string(indent.substr(0, indent.find_first_not_of(" \t")));
}

namespace {

tl::unexpected<Error> no_body() { return fail(Errc::argument_invalid, "the statement has no body"); }

// `{ … }` as it stands in the text.
std::string body_text(const ModuleData& data, NodeIndex node) {
    std::string text = "{";
    const NodeIndex close = data.last_child(node);
    data.print(data.nodes[node].first_child, close, text);
    return text.append(data.text.at(data.nodes[close].begin, data.end_of(data.nodes[close])));
}

// The first name in a body that is declared outside of it, but not where the body comes to stand.
std::string_view lost_name(const NameIndex& from, NodeIndex source, const NameIndex& to, NodeIndex at) {
    const std::uint32_t begin = from.place[source], end = from.place[from.data.last_child(source)];
    for (const Occurrence& o : from.occurrences) {
        if (o.place <= begin || o.place >= end || o.declaration == no_declaration) continue;
        const NodeIndex declared = from.declarations[o.declaration].node;
        const bool is_own = declared != source && from.is_within(declared, source);
        if (!is_own &&
            to.find(to.data.nodes[at].parent, to.place[at], from.text(o)).declaration == no_declaration)
            return from.text(o);
    }
    return {};
}

}  // namespace

Expected<void> Module::replace_body(Statement at, std::string_view text) {
    if (!owns(at)) return not_here();
    if (!data_->has_body(at.node_)) return no_body();
    const std::vector<Statement> old = at.body();
    const auto tokens = tokenize(text);
    const bool is_empty = tokens && tokens->empty();
    if (!is_empty) TRY(append(at, text));
    for (const Statement& s : old) remove(s);
    return {};
}

Expected<Statement> Module::splice(Statement at, Statement source) {
    if (!owns(at)) return not_here();
    if (source.node() == nullptr || !source.module_->has_body(source.node_)) return no_body();
    {
        const NameIndex to(*data_);
        const NameIndex from(*source.module_);
        if (const std::string_view lost = lost_name(from, source.node_, to, at.node_); !lost.empty())
            return fail(Errc::name_undeclared, std::string(lost));
    }
    return insert_before(at, line_like(at.trivia()) + body_text(*source.module_, source.node_));
}

Expected<Statement> Module::clone(Statement function, std::string_view name) {
    if (!owns(function) || function.kind() != StatementKind::function)
        return fail(Errc::argument_invalid, "only a function of this module can be cloned");
    if (!may_be_name(name)) return no_name(name);
    const Names names(*this);
    const NameIndex& index = *names.index_;
    if (const Name known = names.find({}, name))
        return fail(Errc::name_taken, std::string(name) + " is declared already");
    const auto copy = insert_after(function, "\n\n" + function.text());
    if (!copy) return copy;
    // The copy's statements stand in the order of the original's.
    Editor editor(*data_);
    std::vector<NodeIndex> nodes;
    for (NodeIndex i = copy->node_, last = editor.last_within(i);; i = data_->in_print_order_after(i)) {
        nodes.push_back(i);
        if (i == last) break;
    }
    const DeclarationIndex own = index.find_at(root_node, function.name()).declaration;
    const std::uint32_t first = index.place[function.node_];
    std::vector<TokenChange> changes;
    for (const std::uint32_t i : index.occurrences_of(own)) {
        const Occurrence& o = index.occurrences[i];
        if (o.place >= first && o.place - first < nodes.size())
            changes.push_back({nodes[o.place - first], o.token, std::string(name)});
    }
    TRY(editor.change(changes));
    return copy;
}

Expected<Module> new_module(const ModuleHeader& header) {
    auto module = parse(std::string(".version ")
                            .append(header.version)
                            .append("\n.target ")
                            .append(header.target)
                            .append("\n.address_size ")
                            .append(std::to_string(header.address_size))
                            .append("\n"));
    if (module && module->statements().size() != 4)  // these three and the end
        return fail(Errc::argument_invalid, "a version is a number, as 9.0; a target a word, as sm_90a");
    return module;
}

}  // namespace ptxgraft::syntax
