// The storage of a tree: nodes, tokens and the texts that edits append; and printing it.

#include "syntax/module.hpp"
#include "base/try.hpp"
#include "ptx/target_list.hpp"

#include <algorithm>

#include "syntax/parse_count.hpp"

namespace ptxgraft::syntax {

std::optional<std::uint32_t> TextSpace::place_for(std::size_t size) const {
    if (size_ + size >= Span::none) return std::nullopt;
    return static_cast<std::uint32_t>(size_);
}

std::string_view TextSpace::append(std::string text) {
    appended_.push_back(
        {static_cast<std::uint32_t>(size_), std::make_unique<const std::string>(std::move(text))});
    const std::string& kept = *appended_.back().text;
    size_ += kept.size() + 1;
    return kept;
}

void TextSpace::take_back() {
    size_ = appended_.back().begin;
    appended_.pop_back();
}

std::string_view TextSpace::appended_at(std::uint32_t begin, std::uint32_t end) const {
    const auto after =
        std::upper_bound(appended_.begin(), appended_.end(), begin,
                         [](std::uint32_t offset, const Appended& a) { return offset < a.begin; });
    const Appended& appended = *std::prev(after);
    return std::string_view(appended.text->data() + (begin - appended.begin), end - begin);
}

void ModuleData::link(NodeIndex first, NodeIndex last, NodeIndex parent, NodeIndex before) {
    NodeIndex& first_child = nodes[parent].first_child;
    const NodeIndex old_first = first_child;
    const NodeIndex previous =
        old_first == null_node ? last : nodes[before == null_node ? old_first : before].previous;
    nodes[first].previous = previous;
    nodes[last].next = before;
    if (old_first == null_node || before == old_first) {
        first_child = first;
    } else {
        nodes[previous].next = first;
    }
    if (before != null_node) {
        nodes[before].previous = last;
    } else {
        nodes[first_child].previous = last;
    }
}

void ModuleData::unlink(NodeIndex node) {
    Node& gone = nodes[node];
    NodeIndex& first_child = nodes[gone.parent].first_child;
    const NodeIndex next = gone.next;
    if (next != null_node) {
        nodes[next].previous = gone.previous;
    } else {
        nodes[first_child].previous = gone.previous;
    }
    if (first_child == node) {
        first_child = next;
    } else {
        nodes[gone.previous].next = next;
    }
    gone.removed = true;
}

NodeIndex ModuleData::in_print_order_after(NodeIndex node) const {
    if (nodes[node].first_child != null_node) return nodes[node].first_child;
    while (nodes[node].next == null_node) {
        node = nodes[node].parent;
        if (node == root_node) return null_node;
    }
    return nodes[node].next;
}

void ModuleData::print(NodeIndex first, NodeIndex behind_last, std::string& out) const {
    // Neighbours of the source are copied as one range.
    std::uint32_t begin = nodes[first].begin, end = begin;
    for (NodeIndex i = first; i != behind_last; i = in_print_order_after(i)) {
        if (nodes[i].begin != end) {
            out.append(text.at(begin, end));
            begin = nodes[i].begin;
        }
        end = end_of(nodes[i]);
    }
    out.append(text.at(begin, end));
}

Module::Module(std::unique_ptr<ModuleData> data) : data_(std::move(data)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

namespace {

// Room for the tree of a small text; with what they have seen of a larger one, lexer and parser make room for
// all.
void prepare(ModuleData& data) {
    parse_count.fetch_add(1, std::memory_order_relaxed);
    const std::size_t size = std::min<std::size_t>(data.text.source().size(), 1 << 16);
    data.tokens.reserve(size / 3 + 256);
    data.nodes.reserve(size / 32 + 16);
    data.nodes.push_back({0, 0, 0, null_node, null_node, null_node, null_node, StatementKind::end, false});
}

Expected<void> make_tree(ModuleData& data, ErrorList* errors) {
    const auto last_token = static_cast<std::uint32_t>(data.tokens.size() - 1);
    const auto fragment = TRY(parse_statements(data, 0, Context::module, root_node, 0, errors));
    if (fragment.first != null_node) data.link(fragment.first, fragment.last, root_node, null_node);
    const auto end = static_cast<NodeIndex>(data.nodes.size());
    data.nodes.push_back(
        {fragment.end, last_token, 1, root_node, null_node, null_node, null_node, StatementKind::end, false});
    data.link(end, end, root_node, null_node);
    return {};
}

}  // namespace

Expected<Module> Module::parse_into(std::unique_ptr<ModuleData> data) {
    const std::string_view source = data->text.source();
    if (source.size() >= Span::none) return fail(Errc::text_too_large);
    prepare(*data);
    TRY(lex(source, 0, data->tokens));
    TRY(make_tree(*data, nullptr));
    return Module(std::move(data));
}

Expected<Recovered> Module::recover(std::unique_ptr<ModuleData> data, std::size_t max_errors) {
    if (data->text.source().size() >= Span::none) return fail(Errc::text_too_large);
    prepare(*data);
    ErrorList lexical(max_errors), grammatical(max_errors);
    lex_all(data->text.source(), data->tokens, lexical);
    (void)make_tree(*data, &grammatical);  // does not fail with a list
    std::vector<Error> errors(lexical.errors());
    errors.insert(errors.end(), grammatical.errors().begin(), grammatical.errors().end());
    std::stable_sort(errors.begin(), errors.end(),
                     [](const Error& a, const Error& b) { return a.span.begin < b.span.begin; });
    if (errors.size() > max_errors) errors.resize(max_errors);
    return Recovered{Module(std::move(data)), std::move(errors), lexical.count() + grammatical.count()};
}

Expected<Recovered> parse_all(std::string text, ParseOptions options) {
    return Module::recover(std::make_unique<ModuleData>(std::move(text)), options.max_errors);
}

Expected<Module> parse(std::string text) {
    return Module::parse_into(std::make_unique<ModuleData>(std::move(text)));
}

Expected<Module> parse(std::string text, Module&& recycled) {
    std::unique_ptr<ModuleData> data = std::move(recycled.data_);
    if (data == nullptr) return parse(std::move(text));
    data->text = TextSpace(std::move(text));
    data->tokens.clear();
    data->nodes.clear();
    return Module::parse_into(std::move(data));
}

std::string print(const Module& module) {
    const ModuleData& data = *module.data_;
    std::string out;
    out.reserve(data.text.source().size());
    data.print(data.nodes[root_node].first_child, null_node, out);
    return out;
}

std::size_t Module::memory() const {
    return data_->tokens.capacity() * sizeof(RawToken) + data_->nodes.capacity() * sizeof(Node) +
           sizeof(ModuleData);
}

std::string_view Module::source() const { return data_->text.source(); }
std::string Module::take_source() && { return std::move(data_->text).take_source(); }

std::vector<Statement> Module::statements() const {
    std::vector<Statement> all;
    for (NodeIndex i = data_->nodes[root_node].first_child; i != null_node; i = data_->nodes[i].next)
        all.push_back(Statement(data_.get(), i));
    return all;
}

std::vector<Statement> Module::functions() const {
    std::vector<Statement> found;
    for (NodeIndex i = data_->nodes[root_node].first_child; i != null_node; i = data_->nodes[i].next)
        if (data_->nodes[i].kind == StatementKind::function) found.push_back(Statement(data_.get(), i));
    return found;
}

Statement Module::find_function(std::string_view name) const {
    Statement prototype;
    for (const Statement& function : functions()) {
        if (function.name() != name) continue;
        if (function.is_definition()) return function;
        if (!prototype) prototype = function;
    }
    return prototype;
}

Statement Module::find(StatementKind kind) const {
    for (NodeIndex i = data_->nodes[root_node].first_child; i != null_node; i = data_->nodes[i].next)
        if (data_->nodes[i].kind == kind) return Statement(data_.get(), i);
    return {};
}

std::string_view Module::first_argument(StatementKind kind) const {
    const Statement statement = find(kind);
    return statement ? statement.tokens()[1].text : std::string_view();
}

std::string_view Module::version() const { return first_argument(StatementKind::version); }
std::string_view Module::target() const {
    std::string_view last;
    for (Statement s = find(StatementKind::target); s; s = s.next()) {
        if (s.kind() != StatementKind::target) continue;
        for (const Token& token : s.tokens()) {
            if (is_architecture_name(token.text)) last = target_with(last, token.text);
        }
    }
    return last.empty() ? first_argument(StatementKind::target) : last;  // of `.target debug`: that
}
std::uint32_t Module::address_size() const {
    // PTX ISA 11.1.3 has 32 where the module says nothing; ptxas takes the size of its machine.
    const auto size = parse_integer(first_argument(StatementKind::address_size));
    constexpr std::uint64_t most = 0xFFFFFFFF;
    return size ? static_cast<std::uint32_t>(std::min(*size, most)) : 64;
}

}  // namespace ptxgraft::syntax
