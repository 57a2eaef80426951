// What launches need of a module, from its syntax tree: entries, parameters, limits.
#include "launch/module_info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ptxgraft/syntax/types.hpp"
#include "syntax/constant.hpp"
#include "syntax/token_view.hpp"

namespace ptxgraft::launch {

// The types that a kernel's parameter may have (PTX ISA 5.2.1 and 5.3).
std::uint64_t element_bytes(std::string_view type) {
    using enum syntax::TypeGroup;
    const syntax::TypeRow* const row = syntax::find_type(type);
    return row != nullptr && row->group != packed && row->group != narrow ? row->bytes() : 0;
}

namespace {

// Reads what stands in an entry's head behind its parameters.
class HeadReader {
  public:
    HeadReader(const syntax::TokenView& tokens, EntryInfo& entry) : tokens_(tokens), entry_(entry) {}

    void read() {
        at_ = tokens_.size();
        while (at_ != 0 && tokens_.kind(at_ - 1) != syntax::Lexeme::close_paren) --at_;
        for (; at_ < tokens_.size(); ++at_)
            if (tokens_.kind(at_) == syntax::Lexeme::directive) directive(tokens_.text(at_));
    }

  private:
    void directive(std::string_view word) {
        if (word == ".reqntid") entry_.required_block = extents();
        if (word == ".maxntid") entry_.max_threads = product();
        if (word == ".maxnreg") entry_.max_registers = numbers()[0];
        if (word == ".minnctapersm") entry_.min_blocks = numbers()[0];
        if (word == ".reqnctapercluster") entry_.required_cluster = extents();
        if (word == ".maxclusterrank") entry_.max_cluster_blocks = numbers()[0];
        if (word == ".explicitcluster") entry_.is_explicit_cluster = true;
        if (word == ".blocksareclusters") entry_.blocks_are_clusters = true;
    }
    // One to three numbers; those that are not there are 1.
    std::array<std::uint64_t, 3> numbers() {
        std::array<std::uint64_t, 3> all = {1, 1, 1};
        for (std::size_t i = 0; i < all.size() && at_ + 1 < tokens_.size(); ++i) {
            const auto value = syntax::integer_value(tokens_.text(at_ + 1));
            if (!value) break;
            all[i] = *value;
            ++at_;
            if (at_ + 1 < tokens_.size() && tokens_.kind(at_ + 1) == syntax::Lexeme::comma) ++at_;
        }
        return all;
    }
    std::uint64_t product() {
        std::uint64_t result = 1;
        for (const std::uint64_t n : numbers())
            result = n != 0 && result > UINT64_MAX / n ? UINT64_MAX : result * n;
        return result;
    }
    Dim3 extents() {
        const auto all = numbers();
        const auto narrow = [](std::uint64_t n) {
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
        };
        return {narrow(all[0]), narrow(all[1]), narrow(all[2])};
    }

    const syntax::TokenView& tokens_;
    EntryInfo& entry_;
    std::size_t at_ = 0;
};

// 0: not known.
std::uint32_t bytes_of(const syntax::Statement::Parameter& parameter) {
    const std::uint64_t element = element_bytes(parameter.type);
    const std::uint64_t count = parameter.count == 0 ? 1 : parameter.count;
    // PTX ISA 5.1.6.1: kernel parameters take up to 32,764 bytes.
    constexpr std::uint64_t most = 32764;
    return count > most || element * count > most ? 0 : static_cast<std::uint32_t>(element * count);
}

}  // namespace

EntryInfo entry_info(const syntax::Statement& entry) {
    EntryInfo info{.name = std::string(entry.name())};
    const auto parameters = entry.parameters();
    info.parameters.reserve(parameters.size());
    for (const auto& declared : parameters) {
        const std::uint32_t bytes = bytes_of(declared);
        if (bytes == 0) {
            info.parameter_error = fail(Errc::type_unknown, entry.span(),
                                        fmt::format("{} {} of {}", declared.type, declared.name, info.name))
                                       .value();
            break;
        }
        info.parameters.push_back({std::string(declared.name), std::string(declared.type.substr(1)), bytes});
    }
    HeadReader(syntax::TokenView(entry), info).read();
    return info;
}

namespace {

void add_variables(const syntax::Statement& statement, std::vector<std::string>& names) {
    const auto variable = statement.variable();
    if (!variable || (variable->space != ".global" && variable->space != ".const")) return;
    for (const auto& declared : variable->declarators) names.emplace_back(declared.name);
}

bool is_of_head(syntax::StatementKind kind) {
    using syntax::StatementKind;
    return kind == StatementKind::version || kind == StatementKind::target ||
           kind == StatementKind::address_size;
}

}  // namespace

ModuleInfo module_info(const syntax::Module& module) {
    ModuleInfo info{.target = std::string(module.target())};
    for (const syntax::Statement& statement : module.statements()) {
        if (is_of_head(statement.kind())) info.head_end = statement.span().end;
        if (statement.kind() == syntax::StatementKind::variable) add_variables(statement, info.variables);
        if (statement.kind() == syntax::StatementKind::function && statement.is_entry() &&
            statement.is_definition())
            info.entries.push_back(entry_info(statement));
    }
    return info;
}

std::size_t count_name(std::string_view text, std::string_view name) {
    const auto is_part = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               c == '$' || c == '%';
    };
    std::size_t count = 0;
    for (std::size_t at = 0, end = 0; (at = text.find(name, end)) != std::string_view::npos;) {
        end = at + name.size();
        count += (at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]));
    }
    return count;
}

Expected<const EntryInfo*> find_entry(const ModuleInfo& module, std::string_view name) {
    const auto& entries = module.entries;
    const auto names = [&] {
        std::vector<std::string_view> all;
        all.reserve(entries.size());
        for (const EntryInfo& entry : entries) all.push_back(entry.name);
        return fmt::format("{}", fmt::join(all, ", "));
    };
    if (name.empty() && entries.size() > 1) return fail(Errc::entry_not_named, names());
    const auto found =
        std::ranges::find_if(entries, [&](const EntryInfo& e) { return name.empty() || e.name == name; });
    if (found == entries.end())
        return fail(Errc::entry_unknown, entries.empty()
                                             ? std::string("the module has none")
                                             : fmt::format("{}; the module has {}", name, names()));
    if (found->parameter_error) return tl::unexpected(*found->parameter_error);
    return &*found;
}

}  // namespace ptxgraft::launch
