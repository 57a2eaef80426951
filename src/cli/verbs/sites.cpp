// ptxgraft sites: what can be filled in a skeleton.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

struct SitesFlags {
    std::string file;
    bool json = false;
    CudaFlags cuda;
};

// Line numbers of many offsets: position() walks from the start each time, which is quadratic in copies.
class Lines {
  public:
    explicit Lines(std::string_view text) {
        for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
            ends_.push_back(at);
    }
    [[nodiscard]] std::size_t of(std::uint32_t offset) const {
        return static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), offset) -
                                        ends_.begin()) +
               1;
    }

  private:
    std::vector<std::size_t> ends_;
};

Json json_of(const SiteOperand& operand) {
    Json json{{"name", operand.name},
              {"type", name(operand.type)},
              {"direction", name(operand.direction)},
              {"count", operand.count},
              {"register", operand.register_name}};
    if (!operand.user_type.empty()) json["user_type"] = operand.user_type;
    return json;
}

Json json_of(const Site& site, const Sites& sites, const Lines& lines) {
    Json operands = Json::array(), copies = Json::array();
    for (const SiteOperand& operand : site.signature.operands) operands.push_back(json_of(operand));
    for (const SiteCopy& copy : site.copies) {
        const Sites::Function& function = sites.functions.at(copy.function);
        copies.push_back({{"line", lines.of(copy.marker.begin)},
                          {"function", function.name},
                          {"entry", function.is_entry}});
    }
    return {{"name", site.name},
            {"signature", site.signature.text()},
            {"operands", std::move(operands)},
            {"policy",
             {{"pure", site.policy.pure},
              {"heat", name(site.policy.heat)},
              {"allow", effect_names(site.policy.allowed)}}},
            {"copies", std::move(copies)}};
}

Json json_of(const Input& input, const Lines& lines) {
    const Sites& sites = input.skeleton.sites();
    Json list = Json::array();
    for (const Site& site : sites.sites) list.push_back(json_of(site, sites, lines));
    return {{"file", input.file}, {"target", input.skeleton.target()}, {"sites", std::move(list)}};
}

std::string operand_row(const SiteOperand& operand) {
    const std::string type = operand.user_type.empty()
                                 ? std::string(name(operand.type))
                                 : fmt::format("{}:{}", operand.user_type, name(operand.type));
    const std::string count = operand.count ? fmt::format("[{}]", operand.count) : "";
    return fmt::format("    {:<4}{:<7} {}{}\n", name(operand.direction), type, operand.name, count);
}

std::string policy_row(const Policy& policy) {
    const auto words = effect_names(policy.allowed);
    return fmt::format(
        "    {}{}; a stub may {}\n", policy.pure ? "pure" : "volatile",
        policy.heat == Heat::unsaid ? "" : fmt::format(", {}", name(policy.heat)),
        words.empty() ? "compute in registers" : fmt::format("also use {}", fmt::join(words, ", ")));
}

// One row per function; a site unrolled a hundred times shows its first lines.
std::string copy_rows(const Site& site, const Sites& sites, const Lines& lines) {
    constexpr std::size_t shown = 8;
    std::vector<std::vector<std::size_t>> by_function(sites.functions.size());
    for (const SiteCopy& copy : site.copies)
        by_function.at(copy.function).push_back(lines.of(copy.marker.begin));
    std::string rows;
    for (std::size_t i = 0; i < by_function.size(); ++i) {
        auto& at = by_function[i];
        if (at.empty()) continue;
        const std::size_t more = at.size() - std::min(at.size(), shown);
        at.resize(std::min(at.size(), shown));
        rows += fmt::format("    in {}{}, line{} {}{}\n", sites.functions[i].name,
                            sites.functions[i].is_entry ? "" : " (.func)", at.size() == 1 ? "" : "s",
                            fmt::join(at, ", "), more ? fmt::format(" and {} more", more) : "");
    }
    return rows;
}

void print_table(const Input& input, const Lines& lines) {
    const Sites& sites = input.skeleton.sites();
    fmt::print("{}: {} site{}, {} cop{}\n", input.ptx_name(0), sites.sites.size(),
               sites.sites.size() == 1 ? "" : "s", sites.copy_count(), sites.copy_count() == 1 ? "y" : "ies");
    for (const Site& site : sites.sites) {
        fmt::print("\n{}  {} cop{}\n", site.name, site.copies.size(), site.copies.size() == 1 ? "y" : "ies");
        for (const SiteOperand& operand : site.signature.operands) fmt::print("{}", operand_row(operand));
        fmt::print("{}{}", policy_row(site.policy), copy_rows(site, sites, lines));
    }
}

void print_sites(const SitesFlags& flags) {
    const Input input = load_input(flags.file, flags.cuda, CudaOptions{}.target);
    const Lines lines(input.skeleton.ptx());
    flags.json ? print_json(json_of(input, lines)) : print_table(input, lines);
}

}  // namespace

void add_sites(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("sites", "List the sites of a skeleton: operands, policy, copies");
    const auto flags = std::make_shared<SitesFlags>();
    verb->add_option("FILE", flags->file, "PTX or CUDA file")->required();
    verb->add_flag("--json", flags->json, "Print JSON");
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { print_sites(*flags); });
}

}  // namespace ptxgraft::cli
