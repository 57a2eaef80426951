// Binds the names of a module to their declarations: one walk over the tokens.

#include "syntax/names.hpp"

#include <algorithm>
#include <bit>

#include "syntax/constant.hpp"
#include "syntax/scopes.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;

bool is_open(L k) { return k == L::open_paren || k == L::open_bracket || k == L::open_brace; }
bool is_close(L k) { return k == L::close_paren || k == L::close_bracket || k == L::close_brace; }

}  // namespace

std::size_t trailing_digits(std::string_view name) {
    std::size_t count = 0;
    while (count < name.size() && name[name.size() - 1 - count] >= '0' &&
           name[name.size() - 1 - count] <= '9')
        ++count;
    return count;
}

std::optional<std::uint32_t> number_at_end(std::string_view name, std::size_t digits) {
    std::uint64_t value = 0;
    for (char c : name.substr(name.size() - digits)) {
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
        if (value >= whole_range) return std::nullopt;
    }
    return static_cast<std::uint32_t>(value);
}

/// Fills an index.
class Binder {
  public:
    explicit Binder(NameIndex& index) : index_(index), data_(index.data) {}

    void run() {
        index_.place.resize(data_.nodes.size());
        declare_module_level();
        for (NodeIndex i = data_.nodes[root_node].first_child; i != null_node;
             i = data_.in_print_order_after(i)) {
            node_ = i;
            index_.place[i] = ++place_;
            const auto first = static_cast<std::ptrdiff_t>(index_.occurrences.size());
            node(data_.nodes[i]);
            if (data_.nodes[i].kind == StatementKind::instruction) continue;
            // Declarations come before uses, and a function's name before its parameters: into the order of
            // the text.
            std::sort(index_.occurrences.begin() + first, index_.occurrences.end(),
                      [](const Occurrence& a, const Occurrence& b) { return a.token < b.token; });
        }
        bind_section_names();
        group();
        index_.sort_declarations();
    }

  private:
    // --- declarations
    void declare_module_level() {
        for (NodeIndex i = data_.nodes[root_node].first_child; i != null_node; i = data_.nodes[i].next) {
            const Node& n = data_.nodes[i];
            const std::string_view first = text(n, 0);
            if (n.kind == StatementKind::variable)
                declarators(i, [&](auto... d) { declare(i, root_node, d...); });
            if (n.kind == StatementKind::label) declare(i, root_node, 0, 0, NameKind::label);
            if (n.kind == StatementKind::function)
                declare(i, root_node, function_name(n), 0, NameKind::function);
            if (n.kind != StatementKind::directive || first != ".section") continue;
            for (std::uint32_t t = 0; t + 1 < n.token_count; ++t)
                if (is_section_label(n, t)) declare(i, root_node, t, 0, NameKind::label);
        }
    }

    void declare_labels(NodeIndex body) {
        for (NodeIndex i = data_.nodes[body].first_child; i != null_node; i = data_.nodes[i].next)
            if (data_.nodes[i].kind == StatementKind::label) declare(i, body, 0, 0, NameKind::label);
    }

    // The first declaration of a text in a scope counts; of a function, the definition.
    DeclarationIndex declare(NodeIndex node, NodeIndex scope, std::uint32_t token, std::uint32_t range,
                             NameKind kind) {
        const std::string_view name = text(data_.nodes[node], token);
        auto& all = index_.declarations;
        const auto fresh = static_cast<DeclarationIndex>(all.size());
        const DeclarationIndex first = scopes_.declare(name, range, fresh);
        if (first == fresh) {
            all.push_back(
                {name, node, token, scope, scope == root_node ? 0 : place_, range, kind, no_declaration});
            return fresh;
        }
        Declared& known = all[first];
        if (kind == NameKind::function && known.kind == kind && data_.has_body(node) &&
            !data_.has_body(known.node)) {
            known.node = node;
            known.token = token;
        }
        return first;
    }

    // --- occurrences
    void node(const Node& n) {
        switch (n.kind) {
            case StatementKind::instruction: return instruction(n);
            case StatementKind::variable: return variable(n);
            case StatementKind::function: return function(n);
            case StatementKind::block: scopes_.open(); return declare_labels(node_);
            case StatementKind::end:
                if (n.parent != root_node) scopes_.close();
                return;
            case StatementKind::label: return add(0, find(text(n, 0)), UseKind::declaration);
            case StatementKind::directive: return directive(n);
            default: return;
        }
    }

    void instruction(const Node& n) {
        std::uint32_t t = 0;
        if (kind(n, 0) == L::at) {
            const bool negated = kind(n, 1) == L::exclaim;
            t = negated ? 2 : 1;
            add(t, find(text(n, t)), UseKind::guard, 0, negated);
            ++t;
        }
        for (++t; kind(n, t) == L::directive;) ++t;
        std::uint32_t operand = 0, depth = 0, brackets = 0;
        for (; t < n.token_count; ++t) {
            const L k = kind(n, t);
            depth += is_open(k);
            depth -= is_close(k);
            brackets += k == L::open_bracket;
            brackets -= k == L::close_bracket;
            operand += k == L::comma && depth == 0;
            if (is_name(n, t) && text(n, t) != "_")
                add(t, find(text(n, t)), brackets != 0 ? UseKind::address : UseKind::operand, operand,
                    kind(n, t - 1) == L::exclaim);
        }
    }

    void variable(const Node& n) {
        const NodeIndex scope = n.parent;
        declarators(node_, [&](std::uint32_t token, std::uint32_t range, NameKind what) {
            const DeclarationIndex d = declare(node_, scope, token, range, what);
            add(token, {d, whole_range}, UseKind::declaration);
        });
        bool behind_equal = false;
        std::uint32_t depth = 0;
        for (std::uint32_t t = 0; t < n.token_count; ++t) {
            const L k = kind(n, t);
            depth += is_open(k);
            depth -= is_close(k);
            if (depth == 0 && k == L::equal) behind_equal = true;
            if (depth == 0 && k == L::comma) behind_equal = false;
            if (behind_equal && is_name(n, t) && is_value_of_initialiser(n, t, depth))
                add(t, find(text(n, t)), UseKind::other);
        }
    }

    // Not the operator `generic(`, nor the fields of a sampler: `{addr_mode_0 = wrap}`.
    [[nodiscard]] bool is_value_of_initialiser(const Node& n, std::uint32_t t, std::uint32_t depth) const {
        const L next = kind(n, t + 1);
        return next != L::open_paren && next != L::equal && (depth == 0 || kind(n, t - 1) != L::equal);
    }

    void function(const Node& n) {
        const std::uint32_t name = function_name(n);
        add(name, scopes_.find_in_module(text(n, name)), UseKind::declaration);
        scopes_.open();
        parameters(n);
        if (!data_.has_body(node_)) return scopes_.close();
        declare_labels(node_);
    }

    void prototype(const Node& n) {
        scopes_.open();
        parameters(n);
        scopes_.close();
    }

    // The identifiers in brackets are the names of parameters.
    void parameters(const Node& n) {
        std::uint32_t depth = 0;
        for (std::uint32_t t = 0; t < n.token_count; ++t) {
            depth += is_open(kind(n, t));
            depth -= is_close(kind(n, t));
            if (depth == 0 || !is_name(n, t) || text(n, t) == "_") continue;
            add(t, {declare(node_, node_, t, 0, NameKind::parameter), whole_range}, UseKind::declaration);
        }
    }

    void directive(const Node& n) {
        const std::string_view word = text(n, 0);
        if (word == ".section") return section(n);
        if (word == ".callprototype") return prototype(n);
        const bool is_location = word == ".loc";
        for (std::uint32_t t = 1; t < n.token_count; ++t) {
            if (!is_name(n, t) || (is_location && kind(n, t - 1) == L::comma)) continue;
            if (t + 1 < n.token_count && kind(n, t + 1) == L::less) {  // `.branchtargets N<3>`: N is no name
                add(t, {}, UseKind::other);
                continue;
            }
            add(t, is_location ? scopes_.find_in_module(text(n, t)) : find(text(n, t)), UseKind::other);
        }
    }

    void section(const Node& n) {
        std::uint32_t t = 0;
        while (kind(n, t) != L::open_brace) ++t;
        for (; t < n.token_count; ++t) {
            if (kind(n, t) != L::identifier) continue;
            const auto found = scopes_.find_in_module(text(n, t));
            if (found.declaration == no_declaration) in_sections_.push_back(index_.occurrences.size());
            add(t, found, is_section_label(n, t) ? UseKind::declaration : UseKind::other);
        }
    }

    // Debug information speaks of the labels in functions.
    void bind_section_names() {
        if (in_sections_.empty()) return;
        NameMap<DeclarationIndex> labels;
        for (DeclarationIndex d = 0; d < index_.declarations.size(); ++d)
            if (index_.declarations[d].kind == NameKind::label && index_.declarations[d].scope != root_node)
                if (const auto [label, is_first] = labels.put(index_.declarations[d].text); is_first)
                    *label = d;
        for (const std::size_t i : in_sections_)
            if (const DeclarationIndex* label = labels.find(index_.text(index_.occurrences[i])))
                index_.occurrences[i].declaration = *label;
    }

    void add(std::uint32_t token, NameIndex::Found found, UseKind kind, std::uint32_t operand = 0,
             bool negated = false) {
        index_.occurrences.push_back({place_, node_, token, found.declaration, found.element,
                                      operand & 0xFFFFFFFu, static_cast<std::uint32_t>(kind) & 7u, negated});
    }

    [[nodiscard]] NameIndex::Found find(std::string_view name) const { return scopes_.find(name); }

    void group() {
        const std::size_t count = index_.declarations.size();
        const auto slot = [&](const Occurrence& o) {
            return o.declaration == no_declaration ? count : o.declaration;
        };
        index_.first_of.assign(count + 2, 0);
        for (const Occurrence& o : index_.occurrences) ++index_.first_of[slot(o) + 1];
        for (std::size_t i = 1; i < index_.first_of.size(); ++i) index_.first_of[i] += index_.first_of[i - 1];
        index_.by_declaration.resize(index_.occurrences.size());
        std::vector<std::uint32_t> next(index_.first_of.begin(), index_.first_of.end() - 1);
        for (std::uint32_t i = 0; i < index_.occurrences.size(); ++i)
            index_.by_declaration[next[slot(index_.occurrences[i])]++] = i;
    }

    // --- tokens of a node
    [[nodiscard]] L kind(const Node& n, std::uint32_t t) const {
        return data_.tokens[n.first_token + t].kind();
    }
    [[nodiscard]] std::string_view text(const Node& n, std::uint32_t t) const {
        return data_.text_of(data_.tokens[n.first_token + t]);
    }
    // WARP_SZ is a number: `.align WARP_SZ`, `%q<WARP_SZ>`, `p[WARP_SZ]`.
    [[nodiscard]] bool is_name(const Node& n, std::uint32_t t) const {
        return kind(n, t) == L::identifier && text(n, t) != "WARP_SZ";
    }
    [[nodiscard]] bool is_section_label(const Node& n, std::uint32_t t) const {
        return kind(n, t) == L::identifier && t + 1 < n.token_count && kind(n, t + 1) == L::colon;
    }
    // The one identifier outside of brackets.
    [[nodiscard]] std::uint32_t function_name(const Node& n) const {
        std::uint32_t depth = 0, t = 0;
        for (; depth != 0 || kind(n, t) != L::identifier; ++t) {
            depth += is_open(kind(n, t));
            depth -= is_close(kind(n, t));
        }
        return t;
    }
    template <class Visit>  // visit(token, range, kind) for each name that a variable statement declares
    void declarators(NodeIndex node, Visit visit) const {
        const Node& n = data_.nodes[node];
        std::uint32_t depth = 0;
        bool in_initialiser = false;
        for (std::uint32_t t = 0; t < n.token_count; ++t) {
            const L k = kind(n, t);
            depth += is_open(k);
            depth -= is_close(k);
            if (depth == 0 && k == L::equal) in_initialiser = true;
            if (depth == 0 && k == L::comma) in_initialiser = false;
            if (depth != 0 || in_initialiser || !is_name(n, t)) continue;
            const bool ranged = t + 2 < n.token_count && kind(n, t + 1) == L::less;
            const auto size = ranged ? integer_value(text(n, t + 2)) : std::nullopt;
            visit(t, static_cast<std::uint32_t>(std::min<std::uint64_t>(size.value_or(0), whole_range - 1)),
                  NameKind::variable);
        }
    }

    NameIndex& index_;
    const ModuleData& data_;
    Scopes scopes_;
    NodeIndex node_ = root_node;
    std::uint32_t place_ = 0;
    std::vector<std::size_t> in_sections_;  // occurrences that module level does not declare
};

NameIndex::NameIndex(const ModuleData& d) : data(d) { Binder(*this).run(); }

std::size_t NameIndex::slot_of(NodeIndex scope, std::string_view text) const {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    const std::size_t mask = slots.size() - 1;
    std::size_t at = ((hash_of(text) ^ scope) * odd >> 32) & mask;
    while (slots[at] != no_declaration &&
           (declarations[slots[at]].scope != scope || !is_equal(declarations[slots[at]].text, text)))
        at = (at + 1) & mask;
    return at;
}

void NameIndex::sort_declarations() {
    slots.assign(std::bit_ceil(2 * declarations.size() + 1), no_declaration);
    for (DeclarationIndex d = 0; d < declarations.size(); ++d) {
        DeclarationIndex* at = &slots[slot_of(declarations[d].scope, declarations[d].text)];
        while (*at != no_declaration) at = &declarations[*at].next;  // a range of its text, or a single name
        *at = d;
    }
}

NameIndex::Found NameIndex::find(NodeIndex scope, std::uint32_t limit, std::string_view name) const {
    constexpr std::size_t most_digits = 64;  // of an element, with leading zeros
    const std::size_t digits = std::min({trailing_digits(name), name.size() - 1, most_digits});
    const auto first_in = [&](std::string_view text) { return first_of_text(scope, text); };
    const auto known = [&](const Declared& d) { return d.kind == NameKind::label || d.place <= limit; };
    for (;; scope = data.nodes[scope].parent) {
        for (DeclarationIndex d = first_in(name); d != no_declaration; d = declarations[d].next)
            if (declarations[d].range == 0 && known(declarations[d])) return {d, whole_range};
        // Stems from the shortest on, as ptxas takes them.
        for (std::size_t n = digits; n != 0; --n)
            for (DeclarationIndex d = first_in(name.substr(0, name.size() - n)); d != no_declaration;
                 d = declarations[d].next) {
                const auto number = number_at_end(name, n);
                if (number && *number < declarations[d].range && known(declarations[d])) return {d, *number};
            }
        if (scope == root_node) return {};
    }
}

NameIndex::Found NameIndex::find_at(NodeIndex at, std::string_view name) const {
    const Node& n = data.nodes[at];
    const bool is_scope = at == root_node || data.has_body(at) || n.kind == StatementKind::function ||
                          n.kind == StatementKind::directive;
    const std::uint32_t limit =
        at == root_node ? whole_range : place[data.has_body(at) ? data.last_child(at) : at];
    const NodeIndex scope = is_scope ? at : n.parent;
    if (const Found found = find(scope, limit, name); found.declaration != no_declaration) return found;
    for (NodeIndex s = scope;; s = data.nodes[s].parent) {
        for (DeclarationIndex d = first_of_text(s, name); d != no_declaration; d = declarations[d].next)
            if (declarations[d].place <= limit) return {d, whole_range};
        if (s == root_node) return {};
    }
}

bool NameIndex::is_within(NodeIndex inner, NodeIndex outer) const {
    while (inner != outer && inner != root_node) inner = data.nodes[inner].parent;
    return inner == outer;
}

DeclarationIndex NameIndex::index_of(const Name& name) const {
    DeclarationIndex d = first_of_text(node_of(name.scope), name.text);
    while (d != no_declaration &&
           (declarations[d].node != node_of(name.declaration) || declarations[d].token != name.token))
        d = declarations[d].next;
    return d;
}

Name NameIndex::name_of(Found found) const {
    if (found.declaration == no_declaration) return {};
    const Declared& d = declarations[found.declaration];
    Name name{d.kind, d.text, statement(d.node), d.token, d.range, std::nullopt, statement(d.scope)};
    if (found.element != whole_range) name.element = found.element;
    return name;
}

Use NameIndex::use_of(const Occurrence& o) const {
    return {statement(o.node), o.token, text(o), static_cast<UseKind>(o.kind), o.operand, o.negated != 0};
}

Names::Names(const Module& module) : index_(std::make_unique<NameIndex>(*module.data_)) {}
Names::Names(Names&&) noexcept = default;
Names& Names::operator=(Names&&) noexcept = default;
Names::~Names() = default;

Name Names::find(Statement at, std::string_view name) const {
    const bool is_ours = !at || (at.module_ == &index_->data && at.node() != nullptr);
    if (!is_ours || name.empty()) return {};
    return index_->name_of(index_->find_at(NameIndex::node_of(at), name));
}

std::vector<Use> Names::uses(const Name& name) const {
    std::vector<Use> found;
    const DeclarationIndex d = name ? index_->index_of(name) : no_declaration;
    if (d == no_declaration) return found;
    for (const std::uint32_t i : index_->occurrences_of(d)) {
        const Occurrence& o = index_->occurrences[i];
        if (!name.element || *name.element == o.element || o.element == whole_range)
            found.push_back(index_->use_of(o));
    }
    return found;
}

std::vector<Use> Names::writes(const Name& name, const AccessOf& access) const {
    return accesses(name, access, Access::write);
}

std::vector<Use> Names::reads(const Name& name, const AccessOf& access) const {
    return accesses(name, access, Access::read);
}

std::vector<Use> Names::accesses(const Name& name, const AccessOf& access, Access wanted) const {
    std::vector<Use> found;
    for (const Use& use : uses(name)) {
        const bool in_instruction = use.statement.kind() == StatementKind::instruction;
        if (!in_instruction) continue;
        const Access does =
            use.kind == UseKind::operand ? access(*use.statement.instruction(), use.operand) : Access::read;
        if ((static_cast<unsigned>(does) & static_cast<unsigned>(wanted)) != 0) found.push_back(use);
    }
    return found;
}

std::vector<std::pair<Use, Name>> Names::in(Statement statement) const {
    std::vector<std::pair<Use, Name>> found;
    if (!statement || statement.module_ != &index_->data || statement.node() == nullptr) return found;
    const std::uint32_t place = index_->place[statement.node_];
    const auto& all = index_->occurrences;
    auto at = std::lower_bound(all.begin(), all.end(), place,
                               [](const Occurrence& o, std::uint32_t p) { return o.place < p; });
    for (; at != all.end() && at->place == place; ++at)
        found.emplace_back(index_->use_of(*at), index_->name_of({at->declaration, at->element}));
    return found;
}

std::vector<Use> Names::undeclared() const {
    std::vector<Use> found;
    const auto last = static_cast<DeclarationIndex>(index_->declarations.size());
    for (const std::uint32_t i : index_->occurrences_of(last))
        found.push_back(index_->use_of(index_->occurrences[i]));
    return found;
}

std::vector<Name> Names::all() const {
    std::vector<Name> names;
    for (DeclarationIndex d = 0; d < index_->declarations.size(); ++d)
        names.push_back(index_->name_of({d, whole_range}));
    return names;
}

Access usual_access(const Instruction& i, std::size_t operand) {
    if (operand != 0) return Access::read;
    const auto is_one_of = [&](std::initializer_list<std::string_view> opcodes) {
        return std::find(opcodes.begin(), opcodes.end(), i.opcode) != opcodes.end();
    };
    if (i.opcode == "call") return i.operands[0].kind() == OperandKind::list ? Access::write : Access::read;
    if (is_one_of({"bar", "barrier"})) return i.has(".red") ? Access::write : Access::read;
    if (i.opcode == "tcgen05") return i.has(".ld") ? Access::write : Access::read;
    if (i.opcode == "brx") return Access::read;
    return i.opcode == "wgmma" || i.operands.size() == 1 ? Access::read_write : Access::write;
}

}  // namespace ptxgraft::syntax
