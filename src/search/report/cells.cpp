// The cells of the archive, as a heat map and as a table.

#include <fmt/format.h>

#include <algorithm>

#include "search/report/html.hpp"
#include "search/report/plot.hpp"
#include "search/report/sections.hpp"

namespace ptxgraft::search {
namespace {

bool is_whole(double value) { return value == static_cast<double>(static_cast<std::int64_t>(value)); }

std::string bin_name(const Axis& axis, std::uint32_t bin) {
    if (axis.edges.empty()) return "all";
    if (bin == 0) return "< " + number(axis.edges[0]);
    if (bin >= axis.edges.size()) return "≥ " + number(axis.edges.back());
    const double from = axis.edges[bin - 1], to = axis.edges[bin];
    if (to == from + 1 && is_whole(from)) return number(from);
    return number(from) + " – " + number(to);
}

// The bins between the lowest and the highest that has an elite.
std::pair<std::uint32_t, std::uint32_t> used(const Facts& facts, std::size_t axis) {
    std::uint32_t low = ~0u, high = 0;
    for (const Elite& elite : facts.elites) {
        low = std::min(low, elite.cell[axis]);
        high = std::max(high, elite.cell[axis]);
    }
    return {low, high};
}

// Axes with more than one bin.
std::vector<std::size_t> real_axes(const Facts& facts) {
    std::vector<std::size_t> made;
    for (std::size_t k = 0; k < facts.options->axes.size(); ++k)
        if (!facts.options->axes[k].edges.empty()) made.push_back(k);
    return made;
}

HeatMap map_of(const Facts& facts, const std::vector<std::size_t>& drawn) {
    const bool has_two = drawn.size() > 1;
    const std::size_t across = drawn[0], up = has_two ? drawn[1] : 0;
    const std::vector<Axis>& axes = facts.options->axes;
    HeatMap map{.id = "cells-map",
                .title = "Lowest " + facts.cost_name + " of each cell",
                .description =
                    "The cells between the first and the last with a right program; the table below "
                    "has the same numbers.",
                .x_name = axes[across].name + " →",
                .y_name = has_two ? axes[up].name + " ↑" : "",
                .columns = {},
                .rows = {},
                .values = {}};
    const auto [first, last] = used(facts, across);
    const auto [low, high] = has_two ? used(facts, up) : std::pair(0u, 0u);
    for (std::uint32_t bin = first; bin <= last; ++bin) map.columns.push_back(bin_name(axes[across], bin));
    for (std::uint32_t bin = low; bin <= high; ++bin)
        map.rows.push_back(has_two ? bin_name(axes[up], bin) : "");
    map.values.assign(map.rows.size(), std::vector<std::optional<double>>(map.columns.size()));
    for (const Elite& elite : facts.elites) {
        auto& value = map.values[has_two ? elite.cell[up] - low : 0][elite.cell[across] - first];
        value = value ? std::min(*value, elite.cost) : elite.cost;
    }
    return map;
}

std::string cells_table(const Facts& facts) {
    const std::vector<Axis>& axes = facts.options->axes;
    Table table{.caption = "The best of each cell", .columns = {}, .rows = {}};
    for (const Axis& axis : axes) table.columns.push_back({axis.name, false});
    for (const Axis& axis : axes) table.columns.push_back({axis.name + " of the best", true});
    table.columns.push_back({facts.cost_name == "cost" ? "cost" : "cost: " + facts.cost_name, true});
    table.columns.push_back({"candidate", true});
    for (const Elite& elite : facts.elites) {
        std::vector<std::string>& row = table.rows.emplace_back();
        for (std::size_t k = 0; k < axes.size(); ++k)
            row.push_back(escaped(bin_name(axes[k], elite.cell[k])));
        for (std::size_t k = 0; k < axes.size(); ++k)
            row.push_back(k < elite.descriptor.size() ? number(elite.descriptor[k]) : "–");
        row.push_back(number(elite.cost));
        row.push_back(number(elite.index));
    }
    return html_of(table);
}

}  // namespace

std::string cells_section(const Facts& facts) {
    const std::vector<Axis>& axes = facts.options->axes;
    const std::vector<std::size_t> drawn = real_axes(facts);
    if (drawn.empty() || facts.elites.empty()) return {};
    double cells = 1;
    for (const Axis& axis : axes) cells *= static_cast<double>(axis.edges.size() + 1);
    const auto found = static_cast<double>(facts.elites.size());
    std::string html = fmt::format(
        "<p>{} of {} cells ({}) have a right program.{}</p>\n", number(found), number(cells),
        share(found, cells),
        drawn.size() > 2 ? " The map has the first two axes, and the lowest cost over the others." : "");
    const HeatMap map = map_of(facts, drawn);
    html +=
        "<figure>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Map of the cells\">\n" +
        svg_of(map) + "</div>\n<figcaption>Lowest " + escaped(facts.cost_name) + " of each cell." +
        legend_of(map) + "</figcaption>\n</figure>\n";
    return section("cells", "Cells", html + details("The same as a table", cells_table(facts)));
}

}  // namespace ptxgraft::search
