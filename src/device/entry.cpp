#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "device/backend.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::device {
namespace {

// Bytes of the types that a kernel's parameter may have (PTX ISA 5.2.1 and 5.3).
std::uint64_t bytes_of(std::string_view type) {
    constexpr std::pair<std::string_view, std::uint64_t> rows[] = {
        {".b8", 1},    {".u8", 1},     {".s8", 1},         {".b16", 2},    {".u16", 2}, {".s16", 2},
        {".f16", 2},   {".bf16", 2},   {".b32", 4},        {".u32", 4},    {".s32", 4}, {".f32", 4},
        {".f16x2", 4}, {".bf16x2", 4}, {".b64", 8},        {".u64", 8},    {".s64", 8}, {".f64", 8},
        {".b128", 16}, {".texref", 8}, {".samplerref", 8}, {".surfref", 8}};
    for (const auto& [name, bytes] : rows)
        if (name == type) return bytes;
    return 0;
}

Expected<std::vector<ParameterInfo>> parameters_of(syntax::Statement entry) {
    std::vector<ParameterInfo> result;
    for (const auto& parameter : entry.parameters()) {
        const std::uint64_t element = bytes_of(parameter.type);
        const std::uint64_t count = parameter.count == 0 ? 1 : parameter.count;
        // PTX ISA 5.1.6.1: kernel parameters take up to 32,764 bytes.
        constexpr std::uint64_t most = 32764;
        if (element == 0 || count > most / element)
            return fail(Errc::type_unknown, entry.span(),
                        fmt::format("{} {} of {}", parameter.type, parameter.name, entry.name()));
        const std::string_view type = std::string_view(parameter.type).substr(1);
        result.push_back(
            {std::string(parameter.name), std::string(type), static_cast<std::uint32_t>(element * count)});
    }
    return result;
}

struct Architecture {
    std::uint32_t number = 0;  // 90
    std::string_view suffix;   // "", "a", "f"
};

Architecture architecture(std::string_view target) {
    Architecture result;
    if (!target.starts_with("sm_")) return result;
    target.remove_prefix(3);
    while (!target.empty() && target.front() >= '0' && target.front() <= '9' && result.number < 10000) {
        result.number = result.number * 10 + static_cast<std::uint32_t>(target.front() - '0');
        target.remove_prefix(1);
    }
    result.suffix = target;
    return result;
}

// The numbers of a directive in an entry's head: `.reqnctapercluster 2, 1`. What is left out is 1.
std::optional<Dim3> directive(const std::vector<syntax::Token>& head, std::string_view name) {
    auto at = std::find_if(head.begin(), head.end(), [&](const auto& token) { return token.text == name; });
    if (at == head.end()) return {};
    Dim3 result;
    std::uint32_t* const extents[] = {&result.x, &result.y, &result.z};
    for (std::uint32_t* extent : extents) {
        if (++at == head.end()) break;
        const auto number = syntax::parse_integer(at->text);
        if (!number) break;
        *extent = static_cast<std::uint32_t>(std::min<std::uint64_t>(*number, UINT32_MAX));
        if (++at == head.end() || at->text != ",") break;
    }
    return result;
}

}  // namespace

std::uint32_t sm_of(std::string_view target) { return architecture(target).number; }

bool runs_on(std::string_view ptx_target, std::string_view device_target) {
    const Architecture ptx = architecture(ptx_target), gpu = architecture(device_target);
    if (ptx.suffix == "a") return ptx.number == gpu.number;
    if (ptx.suffix == "f") return ptx.number / 10 == gpu.number / 10 && ptx.number <= gpu.number;
    return ptx.number <= gpu.number;
}

Expected<EntryInfo> find_entry(std::string_view ptx, std::string_view name) {
    auto module = syntax::parse(std::string(ptx));
    if (!module) return tl::unexpected(module.error());
    syntax::Statement found;
    std::string names;
    std::size_t entries = 0;
    for (const syntax::Statement function : module->functions()) {
        if (!function.is_entry() || !function.is_definition()) continue;
        if (name.empty() || function.name() == name) found = function;
        names += fmt::format("{}{}", entries++ == 0 ? "" : ", ", function.name());
    }
    if (name.empty() && entries > 1) return fail(Errc::entry_not_named, names);
    if (!found)
        return fail(Errc::entry_unknown,
                    entries == 0 ? "the module has none" : fmt::format("{}; the module has {}", name, names));
    auto parameters = parameters_of(found);
    if (!parameters) return tl::unexpected(parameters.error());
    EntryInfo info{std::string(found.name()), std::move(*parameters), std::string(module->target())};
    const std::vector<syntax::Token> head = found.tokens();
    info.required_cluster = directive(head, ".reqnctapercluster").value_or(Dim3{});
    if (const auto most = directive(head, ".maxclusterrank")) info.most_cluster_blocks = most->x;
    info.blocks_are_clusters = directive(head, ".blocksareclusters").has_value();
    info.wants_cluster = directive(head, ".explicitcluster").has_value();
    return info;
}

std::string variable_names(std::string_view ptx) {
    const auto module = syntax::parse(std::string(ptx));
    std::string names;
    if (!module) return names;
    for (const syntax::Statement& statement : module->statements()) {
        const auto variable =
            statement.kind() == syntax::StatementKind::variable ? statement.variable() : std::nullopt;
        if (!variable || (variable->space != ".global" && variable->space != ".const")) continue;
        for (const auto& declared : variable->declarators)
            names += fmt::format("{}{}", names.empty() ? "" : ", ", declared.name);
    }
    return names;
}

}  // namespace ptxgraft::device
