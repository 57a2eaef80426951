// What a report says: one pass over the candidates, and another along the ancestors of the best.

#include "search/report/facts.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "search/archive/archive_data.hpp"
#include "search/loop/population.hpp"
#include "search/report/html.hpp"

namespace ptxgraft::search {
namespace {

// Collects the steps of a search from its candidates in their order.
class CourseReader {
  public:
    CourseReader(const Options& options, std::optional<std::size_t> within) : within_(within) {
        course_.strategy = options.strategy;
        course_.seed = options.seed;
    }
    void add(const Result& result) {
        ++course_.judged;
        const double cost = Elite::bound_of(result.cost, result.low, result.high);
        if (result.status != Status::ok || !std::isfinite(cost)) return;
        const double value = within_ && *within_ < result.descriptor.size() ? result.descriptor[*within_] : 0;
        if (!course_.steps.empty()) {
            const Improvement& best = course_.steps.back();
            if (cost > best.cost || (cost == best.cost && !(value < best.within))) return;
        }
        course_.steps.push_back({course_.judged, cost, value});
    }
    [[nodiscard]] Course take() { return std::move(course_); }

  private:
    Course course_;
    std::optional<std::size_t> within_;
};

void read_axes(Facts& facts) {
    const auto is_cost = [&](std::size_t axis) {
        return std::ranges::all_of(facts.elites, [&](const Elite& elite) {
            return axis < elite.descriptor.size() && elite.descriptor[axis] == elite.cost;
        });
    };
    const std::vector<Axis>& axes = facts.options->axes;
    for (std::size_t k = axes.size(); k-- > 0;) {
        if (!facts.elites.empty() && is_cost(k))
            facts.cost_name = axes[k].name;
        else
            facts.within = k;
    }
}

Expected<void> read_candidates(const Archive& archive, Facts& facts) {
    std::vector<std::uint64_t> last, passed;
    CourseReader course(archive.options(), facts.within);
    TRY(archive.for_each([&](const Candidate& candidate, const Result& result) {
        course.add(result);
        facts.refinements += candidate.refine != Refine::none ? 1 : 0;
        last.resize(std::max<std::size_t>(last.size(), result.gate + std::size_t{1}));
        passed.resize(last.size());
        ++last[result.gate];
        passed[result.gate] += result.status == Status::ok ? 1 : 0;
    }));
    if (facts.sources.empty()) facts.courses.push_back(course.take());
    std::uint64_t reached = 0;  // this gate or a later one
    facts.gates.resize(last.size());
    for (std::size_t g = last.size(); g-- > 0;) {
        facts.gates[g].out = reached + passed[g];
        facts.gates[g].in = reached += last[g];
    }
    return {};
}

void name_gates(Facts& facts) {
    for (std::size_t g = 0; g < facts.gates.size(); ++g) {
        facts.gates[g].name = "gate " + std::to_string(g + 1);
        if (g >= facts.ledger.gates.size()) continue;
        const GateCount& known = facts.ledger.gates[g];
        facts.gates[g].name = known.name;
        if (known.in != 0) facts.gates[g].microseconds = known.seconds * 1e6 / static_cast<double>(known.in);
    }
}

// Seeds are the first candidates of a search; genomes of another one stand before them.
bool is_seed(const Candidate& candidate, const Archive& archive) {
    const std::vector<stack::Program>& seeds = archive.space().sites[0].seeds;
    const std::uint64_t place = candidate.index - archive.first().size();
    return place < seeds.size() && candidate.genome.programs[0] == seeds[place];
}

std::string maker_of(const Candidate& candidate, const Archive& archive) {
    if (candidate.refine == Refine::constants) return "tuned constants";
    if (candidate.refine == Refine::shorten) return "shortened";
    if (candidate.refine == Refine::measure) return "measured again";
    if (candidate.parents[0] == Candidate::no_parent)
        return candidate.index < archive.first().size() || is_seed(candidate, archive) ? "seed"
                                                                                       : "random program";
    return archive.options().operators[candidate.operation].name;
}

Ancestor ancestor_of(const Candidate& candidate, const Result& result, const Archive& archive) {
    Ancestor made{.index = candidate.index,
                  .maker = maker_of(candidate, archive),
                  .other_parent = std::nullopt,
                  .status = result.status,
                  .cost = result.cost,
                  .bound = Elite::bound_of(result.cost, result.low, result.high),
                  .descriptor = result.descriptor,
                  .errors = sum_of(result.errors),
                  .programs = {},
                  .gain = {}};
    if (candidate.parents[1] != Candidate::no_parent) made.other_parent = candidate.parents[1];
    const Genome& genome = result.genome ? *result.genome : candidate.genome;
    for (std::size_t s = 0; s < genome.programs.size(); ++s)
        made.programs.push_back(program_text(genome.programs[s], archive.space().sites[s].machine));
    return made;
}

std::string changed(std::string_view what, double from, double to) {
    int digits = 4;
    while (digits < 17 && from != to && number(from, digits) == number(to, digits)) ++digits;
    return std::string(what) + " " + number(from, digits) + " → " + number(to, digits);
}

// What a child has over its parent, as parents are compared (Member::is_better_than, Island::best).
void compare(const Ancestor& parent, Ancestor& child, const Facts& facts) {
    if (child.status != Status::ok) {
        child.is_better = parent.status != Status::ok && child.errors < parent.errors;
        if (child.is_better)
            child.gain = parent.errors < 1e30 ? changed("sum of errors", parent.errors, child.errors)
                                              : "nearer to right on more points";
        return;
    }
    if (parent.status != Status::ok) {
        child.is_better = true;
        child.gain = "right, with " + facts.cost_name + " " + number(child.cost);
        return;
    }
    if (parent.bound != child.bound) {
        child.is_better = child.bound < parent.bound;
        child.gain = changed(facts.cost_name, parent.bound, child.bound);
        return;
    }
    if (parent.cost != child.cost) {
        child.is_better = child.cost < parent.cost;
        child.gain = changed(facts.cost_name, parent.cost, child.cost);
        return;
    }
    const std::size_t count =
        std::min({parent.descriptor.size(), child.descriptor.size(), facts.options->axes.size()});
    for (std::size_t k = 0; k < count; ++k) {
        if (parent.descriptor[k] == child.descriptor[k]) continue;
        child.is_better = child.descriptor[k] < parent.descriptor[k];
        child.gain = changed(facts.options->axes[k].name, parent.descriptor[k], child.descriptor[k]);
        return;
    }
}

// The first parent of each, back to one that has none.
Expected<void> read_ancestors(const Archive& archive, Facts& facts) {
    if (facts.front.empty()) return {};
    std::uint64_t next = best_of(facts.front).index;
    while (next != Candidate::no_parent) {
        const std::uint64_t index = std::exchange(next, Candidate::no_parent);
        TRY(archive.for_each(std::span(&index, 1), [&](const Candidate& candidate, const Result& result) {
            facts.ancestors.push_back(ancestor_of(candidate, result, archive));
            // parents stand before their children: whatever a file says, this ends
            if (candidate.parents[0] < index) next = candidate.parents[0];
        }));
    }
    std::ranges::reverse(facts.ancestors);
    for (std::size_t k = 1; k < facts.ancestors.size(); ++k)
        compare(facts.ancestors[k - 1], facts.ancestors[k], facts);
    return {};
}

Expected<Course> read_course(const Archive& archive, std::optional<std::size_t> within) {
    CourseReader course(archive.options(), within);
    TRY(archive.for_each([&](const Candidate&, const Result& result) { course.add(result); }));
    return course.take();
}

Quartiles quartiles_of(std::vector<double> values) {
    std::ranges::sort(values);
    const auto at = [&](double part) {
        return values[static_cast<std::size_t>(
            std::floor(static_cast<double>(values.size() - 1) * part + 0.5))];
    };
    return {at(0.25), at(0.5), at(0.75)};
}

}  // namespace

const Improvement* Course::at(std::uint64_t count) const {
    const auto behind = std::ranges::upper_bound(steps, count, {}, &Improvement::judged);
    return behind == steps.begin() ? nullptr : &*(behind - 1);
}

Quartiles Group::cost_at(std::uint64_t count) const {
    std::vector<double> values;
    for (const Course* course : courses) {
        const Improvement* const step = course->at(count);
        values.push_back(step == nullptr ? INFINITY : step->cost);
    }
    return quartiles_of(std::move(values));
}

Quartiles Group::within_at(std::uint64_t count) const {
    std::vector<double> values;
    for (const Course* course : courses) {
        const Improvement* const step = course->at(count);
        values.push_back(step == nullptr ? INFINITY : step->within);
    }
    return quartiles_of(std::move(values));
}

std::vector<std::uint64_t> Group::changes() const {
    std::vector<std::uint64_t> made;
    for (const Course* course : courses)
        for (const Improvement& step : course->steps)
            if (step.judged <= judged) made.push_back(step.judged);
    if (!made.empty()) made.push_back(judged);
    std::ranges::sort(made);
    made.erase(std::unique(made.begin(), made.end()), made.end());
    return made;
}

std::vector<Group> groups_of(std::span<const Course> courses) {
    std::vector<Group> made;
    for (const Strategy strategy : {Strategy::random, Strategy::climb, Strategy::evolve}) {
        Group group{.strategy = strategy, .courses = {}, .judged = ~std::uint64_t{0}};
        for (const Course& course : courses) {
            if (course.strategy != strategy) continue;
            group.courses.push_back(&course);
            group.judged = std::min(group.judged, course.judged);
        }
        if (!group.courses.empty()) made.push_back(std::move(group));
    }
    return made;
}

const Elite& best_of(std::span<const Elite> front) {
    return *std::ranges::min_element(front, {},
                                     [](const Elite& elite) { return std::pair(elite.bound(), elite.cost); });
}

Expected<Facts> facts_of(const Archive& archive, std::span<const Archive> beside, const std::string& title) {
    Facts facts;
    facts.title = title.empty() ? "Search" : title;
    facts.space = &archive.space();
    facts.options = &archive.options();
    facts.sources = archive.sources();
    facts.stop = archive.stop();
    facts.elites = TRY(archive.elites());
    facts.front = pareto_front(facts.elites);
    facts.ledger = TRY(archive.ledger());
    facts.times = TRY(archive.measurements());
    read_axes(facts);
    TRY(read_candidates(archive, facts));
    name_gates(facts);
    TRY(read_ancestors(archive, facts));
    for (std::size_t k = 0; k < beside.size(); ++k) {
        const std::string name = "archive " + std::to_string(k + 1) + " of those beside";
        TRY(check_comparable(archive, beside[k], name));
        if (!beside[k].sources().empty())
            return fail(Errc::archive_differs,
                        name + " is a collection of searches, which has no course of its own");
        facts.courses.push_back(TRY(read_course(beside[k], facts.within)));
    }
    return facts;
}

}  // namespace ptxgraft::search
