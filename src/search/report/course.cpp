// How far a search came after how many candidates, beside others.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/report/html.hpp"
#include "search/report/plot.hpp"
#include "search/report/sections.hpp"

namespace ptxgraft::search {
namespace {

double value_of(const Improvement& step, bool is_within) { return is_within ? step.within : step.cost; }

Line line_of(const Course& course, bool is_within, std::string style) {
    Line line{.points = {}, .style = std::move(style)};
    for (const Improvement& step : course.steps)
        line.points.push_back({static_cast<double>(step.judged), value_of(step, is_within)});
    if (!line.points.empty())
        line.points.push_back({static_cast<double>(course.judged), line.points.back().y});
    return line;
}

void add_quartiles(const Group& group, bool is_within, Plot& plot) {
    const std::string style = fmt::format("s-{}", name(group.strategy));
    Band band{.style = style};
    Line median{.points = {}, .style = style + " median"};
    for (const std::uint64_t count : group.changes()) {
        const Quartiles at = is_within ? group.within_at(count) : group.cost_at(count);
        band.x.push_back(static_cast<double>(count));
        band.low.push_back(at[0]);
        band.high.push_back(at[2]);
        median.points.push_back({static_cast<double>(count), at[1]});
    }
    plot.bands.push_back(std::move(band));
    plot.lines.push_back(std::move(median));
}

bool wants_logarithm(const std::vector<Course>& courses, bool is_within) {
    double low = INFINITY, high = 0;
    for (const Course& course : courses)
        for (const Improvement& step : course.steps) {
            low = std::min(low, value_of(step, is_within));
            if (std::isfinite(value_of(step, is_within))) high = std::max(high, value_of(step, is_within));
        }
    return low > 0 && high > 20 * low;
}

Plot plot_of(const Facts& facts, const std::vector<Group>& groups, bool is_within) {
    const std::string what =
        is_within ? facts.options->axes[*facts.within].name + " within it" : "lowest " + facts.cost_name;
    Plot plot{.id = is_within ? "within" : "cost",
              .title = what + " against candidates",
              .description =
                  "The lowest value of any right program, after so many candidates; the table "
                  "below has the same numbers.",
              .x_name = "candidates judged",
              .y_name = what,
              .is_log_y = wants_logarithm(facts.courses, is_within)};
    for (const Group& group : groups) {
        const bool is_alone = group.courses.size() == 1;
        for (const Course* course : group.courses) {
            const bool is_own = facts.sources.empty() && course == facts.courses.data();
            plot.lines.push_back(line_of(*course, is_within,
                                         fmt::format("s-{}{}{}", name(group.strategy), is_alone ? "" : " one",
                                                     is_own && !is_alone ? " own" : "")));
        }
        if (!is_alone) add_quartiles(group, is_within, plot);
    }
    return plot;
}

std::string key_of(const Facts& facts, const std::vector<Group>& groups) {
    std::string html = "<ul class=\"key\">\n";
    for (const Group& group : groups) {
        const std::size_t count = group.courses.size();
        const bool has_found =
            std::ranges::any_of(group.courses, [](const Course* c) { return !c->steps.empty(); });
        const bool is_own = std::ranges::find(group.courses, facts.courses.data()) != group.courses.end();
        html += fmt::format(
            "<li><svg viewBox=\"0 0 36 12\" aria-hidden=\"true\"><path class=\"line s-{0}{1}\" d=\"M0 "
            "6H36\"/></svg> "
            "{0}{2}{3}</li>\n",
            name(group.strategy), count > 1 ? " median" : "",
            count == 1
                ? fmt::format(", seed {}", group.courses[0]->seed)
                : fmt::format(
                      ", {} seeds: median, quartiles as a band, each seed as a thin line{}", count,
                      is_own ? fmt::format(" (the stronger one: seed {})", facts.courses[0].seed) : ""),
            has_found ? "" : "; nothing right was found");
    }
    return html + "</ul>\n";
}

std::string searches_table(const Facts& facts) {
    Table table{.caption = "The searches",
                .columns = {{"strategy", false},
                            {"seed", true},
                            {"judged", true},
                            {"first right after", true},
                            {"lowest " + facts.cost_name, true},
                            {"found after", true}},
                .rows = {}};
    if (facts.within) table.columns.push_back({facts.options->axes[*facts.within].name + " within it", true});
    for (const Course& course : facts.courses) {
        const bool has_found = !course.steps.empty();
        const auto shown = [&](auto get) { return has_found ? number(get()) : std::string("–"); };
        table.rows.push_back({std::string(name(course.strategy)), std::to_string(course.seed),
                              number(course.judged), shown([&] { return course.steps.front().judged; }),
                              shown([&] { return course.steps.back().cost; }),
                              shown([&] { return course.steps.back().judged; })});
        if (facts.within) table.rows.back().push_back(shown([&] { return course.steps.back().within; }));
    }
    return html_of(table);
}

std::string quartiles_table(const Facts& facts, const Group& group) {
    const auto shown = [](const Quartiles& at) {
        return fmt::format("{} · <b>{}</b> · {}", number(at[0]), number(at[1]), number(at[2]));
    };
    Table table{.caption = fmt::format("{}, {} seeds: lower quartile · median · upper quartile",
                                       name(group.strategy), group.courses.size()),
                .columns = {{"candidates", true}, {"lowest " + facts.cost_name, true}},
                .rows = {}};
    if (facts.within) table.columns.push_back({facts.options->axes[*facts.within].name + " within it", true});
    for (const std::uint64_t count : milestones(group)) {
        table.rows.push_back({number(count), shown(group.cost_at(count))});
        if (facts.within) table.rows.back().push_back(shown(group.within_at(count)));
    }
    return html_of(table);
}

}  // namespace

std::vector<std::uint64_t> milestones(const Group& group) {
    std::vector<std::uint64_t> made;
    for (std::uint64_t count = 10; count < group.judged; count *= 10) made.push_back(count);
    made.push_back(group.judged);
    return made;
}

std::string course_section(const Facts& facts) {
    if (facts.courses.empty()) return {};
    const bool has_steps =
        std::ranges::any_of(facts.courses, [](const Course& course) { return !course.steps.empty(); });
    const std::vector<Group> groups = groups_of(facts.courses);
    std::string html;
    if (has_steps) {
        html += "<figure>\n<div class=\"pair\">\n" + svg_of(plot_of(facts, groups, false));
        if (facts.within) html += svg_of(plot_of(facts, groups, true));
        html += "</div>\n<figcaption>\n" + key_of(facts, groups) + "</figcaption>\n</figure>\n";
    } else {
        html += "<p>Nothing right was found.</p>\n";
    }
    std::string tables = searches_table(facts);
    for (const Group& group : groups)
        if (group.courses.size() > 1 && group.judged != 0) tables += quartiles_table(facts, group);
    html += has_steps ? details("The same as numbers", tables) : tables;
    return section("course", "Course", html);
}

}  // namespace ptxgraft::search
