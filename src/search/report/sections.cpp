// What was found, what made it, what it cost, and what was asked for.

#include "search/report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/report/html.hpp"

namespace ptxgraft::search {
namespace {

std::string program_html(std::string_view site, std::string_view program, const Facts& facts) {
    const std::string shown = marked(program, program);
    if (facts.space->sites.size() == 1) return fmt::format("<pre>{}</pre>", shown);
    return fmt::format("<pre><b>{}</b>: {}</pre>", escaped(site), shown);
}

std::string tunables_html(const Genome& genome, const Facts& facts) {
    std::string html;
    for (std::size_t t = 0; t < facts.space->tunables.size(); ++t)
        html += fmt::format("{}{} = {}", t == 0 ? "" : ", ", escaped(facts.space->tunables[t].name),
                            facts.space->tunables[t].values[genome.tunables[t]]);
    return html.empty() ? html : "<p class=\"tunables\">" + html + "</p>";
}

std::string ending(const Facts& facts) {
    if (!facts.sources.empty())
        return (facts.sources.size() == 1 ? "A collection of one search"
                                          : fmt::format("A collection of {} searches", facts.sources.size()));
    if (!facts.stop)
        return "no end is noted: a run goes on, was killed, or was of a library that did not note it";
    switch (*facts.stop) {
        case Stop::budget: return "ended when its budget was spent";
        case Stop::target: return "ended when its target was reached";
        case Stop::exhausted: return "ended when its space was exhausted";
        case Stop::stagnation: return "ended because nothing better was found for a while";
        case Stop::asked: break;
    }
    return "ended because it was asked to";
}

std::string tile(std::string_view name, const std::string& value) {
    return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), value);
}

}  // namespace

std::string lead(const Facts& facts) {
    const Ledger& ledger = facts.ledger;
    std::string html = "<p class=\"lead\">";
    if (facts.sources.empty())
        html += fmt::format("Strategy <b>{}</b>, seed <b>{}</b>; ", name(facts.options->strategy),
                            facts.options->seed);
    html += fmt::format("{}.</p>\n<dl class=\"tiles\">\n", ending(facts));
    if (facts.front.empty()) {
        html += tile("right programs", "none");
    } else {
        const Elite& best = best_of(facts.front);
        html += tile("lowest " + facts.cost_name, number(best.cost));
        if (facts.within && *facts.within < best.descriptor.size())
            html += tile(facts.options->axes[*facts.within].name + " within it",
                         number(best.descriptor[*facts.within]));
    }
    html += tile("candidates judged", number(ledger.judged));
    html += tile("of them right",
                 share(static_cast<double>(ledger.by_status[0]), static_cast<double>(ledger.judged)));
    html +=
        tile("drawn twice", share(static_cast<double>(ledger.duplicates), static_cast<double>(ledger.drawn)));
    if (ledger.measured_again != 0)
        html += tile("measurements again of elites", number(ledger.measured_again)) +
                tile("of those not what was measured before", number(ledger.disagreed));
    if (ledger.guessed != 0) html += tile("guessed too large, and not assembled", number(ledger.guessed));
    return html + tile("cells", number(ledger.cells)) + "</dl>\n";
}

std::string front_section(const Facts& facts) {
    if (facts.front.empty()) return section("front", "Pareto front", "<p>Nothing right was found.</p>\n");
    Table table{.caption = "Programs that no other one beats: by cost and by each axis, the lower the better",
                .columns = {{"candidate", true}},
                .rows = {}};
    const std::vector<Axis>& axes = facts.options->axes;
    if (facts.cost_name == "cost") table.columns.push_back({"cost", true});
    for (const Axis& axis : axes) table.columns.push_back({axis.name, true});
    table.columns.push_back({"program", false});
    for (const Elite& elite : facts.front) {
        std::vector<std::string>& row = table.rows.emplace_back();
        row.push_back(number(elite.index));
        if (facts.cost_name == "cost") row.push_back(number(elite.cost));
        for (std::size_t k = 0; k < axes.size(); ++k)
            row.push_back(k < elite.descriptor.size() ? number(elite.descriptor[k]) : "–");
        std::string& programs = row.emplace_back();
        for (std::size_t s = 0; s < facts.space->sites.size(); ++s) {
            const SiteSpace& site = facts.space->sites[s];
            programs += program_html(site.name, program_text(elite.genome.programs[s], site.machine), facts);
        }
        programs += tunables_html(elite.genome, facts);
    }
    return section("front", "Pareto front", html_of(table));
}

namespace {

std::string maker_html(const Ancestor& one) {
    return fmt::format("{}{}", escaped(one.maker),
                       one.other_parent ? " with candidate " + number(*one.other_parent) : "");
}

// A step that is shown with its program; what it changed is marked.
std::string step_html(const Ancestor& one, const Ancestor* parent, const Facts& facts) {
    std::string html = fmt::format(
        "<li><p><b>{}</b> <span class=\"gain\">{}</span> <span class=\"by\">candidate {}"
        "{}</span></p>\n",
        maker_html(one), escaped(one.gain), number(one.index),
        one.status == Status::ok ? "" : fmt::format(", {}", name(one.status)));
    for (std::size_t s = 0; s < one.programs.size(); ++s) {
        const std::string& before = parent == nullptr ? one.programs[s] : parent->programs[s];
        html += fmt::format(
            "<pre>{}{}</pre>\n",
            one.programs.size() == 1 ? "" : "<b>" + escaped(facts.space->sites[s].name) + "</b>: ",
            marked(before, one.programs[s]));
    }
    return html + "</li>\n";
}

std::string idle_html(std::span<const Ancestor> steps) {
    std::string makers;
    for (const Ancestor& one : steps) makers += (makers.empty() ? "" : ", ") + maker_html(one);
    return fmt::format("<li class=\"idle\"><p>{} without gain: {}</p></li>\n", counted(steps.size(), "step"),
                       makers);
}

struct MakerCount {
    std::string name;
    std::uint64_t steps = 0, gains = 0;
};
std::vector<MakerCount> makers_of(std::span<const Ancestor> ancestors) {
    std::vector<MakerCount> made;
    for (const Ancestor& one : ancestors) {
        auto found = std::ranges::find(made, one.maker, &MakerCount::name);
        if (found == made.end()) found = made.insert(made.end(), MakerCount{.name = one.maker});
        ++found->steps;
        found->gains += one.is_better ? 1 : 0;
    }
    std::ranges::stable_sort(made, std::ranges::greater(), &MakerCount::gains);
    return made;
}

}  // namespace

std::string ancestors_section(const Facts& facts) {
    const std::vector<Ancestor>& all = facts.ancestors;
    if (all.empty()) return {};
    const auto gains = static_cast<std::size_t>(std::ranges::count_if(all, &Ancestor::is_better));
    std::string html = fmt::format(
        "<p>The line of first parents of candidate {}, the program of the lowest {}: {}, {} of them with a "
        "gain. "
        "What a step changed in the simplified program is marked.</p>\n<ol class=\"steps\">\n",
        number(all.back().index), escaped(facts.cost_name), counted(all.size() - 1, "step"), gains);
    std::size_t idle = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        const bool is_shown = k == 0 || k + 1 == all.size() || all[k].is_better;
        if (!is_shown) {
            ++idle;
            continue;
        }
        if (idle != 0) html += idle_html(std::span(all).subspan(k - idle, idle));
        idle = 0;
        html += step_html(all[k], k == 0 ? nullptr : &all[k - 1], facts);
    }
    html += "</ol>\n";
    Table table{.caption = "What made the steps",
                .columns = {{"operator", false}, {"steps", true}, {"with a gain", true}},
                .rows = {}};
    for (const MakerCount& one : makers_of(std::span(all).subspan(1)))
        table.rows.push_back({escaped(one.name), number(one.steps), number(one.gains)});
    if (all.size() > 1) html += details("The steps by operator", html_of(table));
    return section("ancestors", "How the best came about", html);
}

std::string gates_section(const Facts& facts) {
    const Ledger& ledger = facts.ledger;
    const auto most = static_cast<double>(std::max(ledger.drawn, ledger.judged));
    Table funnel{.caption = "From what was drawn to what is right",
                 .columns = {{"step", false}, {"in", true}, {"on", true}, {"share", true}},
                 .rows = {}};
    const bool has_prices =
        std::ranges::any_of(facts.gates, [](const GateFact& g) { return g.microseconds.has_value(); });
    if (has_prices) funnel.columns.push_back({"µs of a processor each", true});
    const auto add = [&](const std::string& step, std::uint64_t in, std::uint64_t out,
                         const std::string& price) {
        const auto part = static_cast<double>(out);
        funnel.rows.push_back({step, number(in), bar(number(out), most > 0 ? part / most : 0),
                               share(part, static_cast<double>(in))});
        if (has_prices) funnel.rows.back().push_back(price);
    };
    add("drawn, and not seen before", ledger.drawn, ledger.drawn - ledger.duplicates, "");
    for (const GateFact& gate : facts.gates)
        add(escaped(gate.name), gate.in, gate.out,
            gate.microseconds ? number(*gate.microseconds) : std::string("–"));
    Table statuses{.caption = "How candidates ended",
                   .columns = {{"status", false}, {"candidates", true}, {"share", true}},
                   .rows = {}};
    const auto judged = static_cast<double>(ledger.judged);
    for (std::size_t k = 0; k < ledger.by_status.size(); ++k)
        if (const auto count = static_cast<double>(ledger.by_status[k]); count != 0)
            statuses.rows.push_back({std::string(name(static_cast<Status>(k))),
                                     bar(number(count), count / judged), share(count, judged)});
    std::string html = fmt::format(
        "<p>{} candidates were judged; {} of them were elites before, whose constants were tuned or which "
        "were "
        "shortened.</p>\n",
        number(ledger.judged), number(facts.refinements));
    return section("gates", "Gates",
                   html + "<div class=\"pair\">\n" + html_of(funnel) + html_of(statuses) + "</div>\n");
}

std::string operators_section(const Facts& facts) {
    const std::vector<OperatorCredit>& all = facts.ledger.operators;
    if (all.empty() || facts.options->strategy == Strategy::random) return {};
    double drawn = 0, weights = 0, first = 0;
    for (const OperatorCredit& one : all) drawn += static_cast<double>(one.drawn), weights += one.weight;
    for (const Operator& one : facts.options->operators) first += one.weight;
    Table table{.caption = "What operators brought",
                .columns = {{"operator", false},
                            {"children", true},
                            {"elites among them", true},
                            {"elites per 1,000", true},
                            {"weight at first", true},
                            {"weight now", true}},
                .rows = {}};
    for (std::size_t k = 0; k < all.size(); ++k) {
        const OperatorCredit& one = all[k];
        const auto tries = static_cast<double>(one.drawn);
        const double weight = k < facts.options->operators.size() ? facts.options->operators[k].weight : 0;
        table.rows.push_back(
            {escaped(one.name), bar(number(one.drawn), drawn > 0 ? tries / drawn : 0), number(one.elites),
             tries > 0 ? number(1000 * static_cast<double>(one.elites) / tries) : std::string("–"),
             share(weight, first), share(one.weight, weights)});
    }
    return section("operators", "Operators", html_of(table));
}

namespace {

std::string joined(const std::vector<double>& values) {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : ", ") + exact(value);
    return text;
}

Table space_table(const Space& space) {
    Table table{.caption = "What varied", .columns = {{"", false}, {"values", false}}, .rows = {}};
    for (const SiteSpace& site : space.sites) {
        std::vector<std::string> forms;
        for (const stack::Entry& entry : site.machine.set().entries()) forms.emplace_back(entry.name);
        table.rows.push_back(
            {"site " + escaped(site.name),
             fmt::format("<code>{}</code>; at most {}{}", escaped(site.machine.signature().text()),
                         counted(site.max_genes, "instruction"),
                         site.seeds.empty() ? "" : "; " + counted(site.seeds.size(), "seed"))});
        table.rows.push_back(
            {"its instructions",
             fmt::format("<code>{}</code>", escaped(fmt::format("{}", fmt::join(forms, ", "))))});
    }
    for (const Tunable& tunable : space.tunables)
        table.rows.push_back(
            {"tunable " + escaped(tunable.name), fmt::format("{}", fmt::join(tunable.values, ", "))});
    if (!space.constants.empty()) table.rows.push_back({"constants", joined(space.constants)});
    return table;
}

Table options_table(const Options& options) {
    Table table{.caption = "How was searched", .columns = {{"option", false}, {"value", false}}, .rows = {}};
    const auto add = [&](std::string_view name, std::uint64_t value) {
        table.rows.push_back({std::string(name), number(value)});
    };
    for (const Axis& axis : options.axes)
        table.rows.push_back(
            {"axis " + escaped(axis.name), axis.edges.empty() ? "no edges" : "edges " + joined(axis.edges)});
    add("islands", options.islands);
    add("population of an island", options.population);
    add("block", options.block);
    add("tournament", options.tournament);
    add("elites of a cell", options.cell_depth);
    add("candidates between migrations", options.migration);
    add("candidates until an island begins again", options.stagnation);
    table.rows.push_back({"elites are refined", options.refine ? "yes" : "no"});
    table.rows.push_back({"weights of operators adapt", options.adapt ? "yes" : "no"});
    return table;
}

std::string sources_table(const Facts& facts) {
    if (facts.sources.empty()) return {};
    Table table{.caption = "The searches of the collection",
                .columns = {{"strategy", false}, {"seed", true}, {"first index", true}, {"indices", true}},
                .rows = {}};
    for (const Source& source : facts.sources)
        table.rows.push_back({std::string(name(source.options.strategy)), std::to_string(source.options.seed),
                              number(source.first), number(source.count)});
    return html_of(table);
}

}  // namespace

std::string task_section(const Facts& facts) {
    std::string html = sources_table(facts) + html_of(space_table(*facts.space)) +
                       details("How was searched", html_of(options_table(*facts.options)));
    if (!facts.options->task.empty())
        html += details("The task's text", fmt::format("<pre>{}</pre>\n", escaped(facts.options->task)));
    return section("task", "Task", html);
}

}  // namespace ptxgraft::search
