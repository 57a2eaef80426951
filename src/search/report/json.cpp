// The facts of a report as JSON.

#include <nlohmann/json.hpp>

#include <cmath>

#include "base/try.hpp"
#include "ptxgraft/search_report.hpp"
#include "search/report/sections.hpp"
#include "search/report/times.hpp"

namespace ptxgraft::search {
namespace {

using Json = nlohmann::ordered_json;

// Infinity has no number in JSON.
Json real(double value) { return std::isfinite(value) ? Json(value) : Json(value < 0 ? "-inf" : "inf"); }

Json reals(const std::vector<double>& values) {
    Json made = Json::array();
    for (const double value : values) made.push_back(real(value));
    return made;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const Ledger& ledger) {
    Json status = Json::object();
    for (std::size_t k = 0; k < ledger.by_status.size(); ++k)
        if (ledger.by_status[k] != 0) status[std::string(name(static_cast<Status>(k)))] = ledger.by_status[k];
    Json operators = Json::array();
    for (const OperatorCredit& credit : ledger.operators)
        operators.push_back({{"name", credit.name},
                             {"weight", credit.weight},
                             {"drawn", credit.drawn},
                             {"elites", credit.elites}});
    Json gates = Json::array();
    for (const GateCount& gate : ledger.gates)
        gates.push_back({{"name", gate.name},
                         {"in", gate.in},
                         {"out", gate.out},
                         {"seconds", gate.seconds},
                         {"gpu_seconds", gate.gpu_seconds}});
    return {{"judged", ledger.judged},
            {"drawn", ledger.drawn},
            {"duplicates", ledger.duplicates},
            {"guessed", ledger.guessed},
            {"measured_again", ledger.measured_again},
            {"disagreed", ledger.disagreed},
            {"cells", ledger.cells},
            {"without_gain", ledger.without_gain},
            {"status", status},
            {"gates", gates},
            {"operators", operators}};
}

Json json_of(const Elite& elite, const Space& space) {
    Json programs = Json::object(), tunables = Json::object();
    for (std::size_t s = 0; s < space.sites.size(); ++s)
        programs[space.sites[s].name] = program_text(elite.genome.programs[s], space.sites[s].machine);
    for (std::size_t t = 0; t < space.tunables.size(); ++t)
        tunables[space.tunables[t].name] = space.tunables[t].values[elite.genome.tunables[t]];
    Json made = {{"index", elite.index}, {"cost", real(elite.cost)}, {"descriptor", reals(elite.descriptor)},
                 {"cell", elite.cell},   {"programs", programs},     {"tunables", tunables}};
    if (elite.bound() != elite.cost) made.update({{"low", real(elite.low)}, {"high", real(elite.high)}});
    return made;
}

Json json_of(const Course& course) {
    Json steps = Json::array();
    for (const Improvement& step : course.steps)
        steps.push_back(Json::array({step.judged, real(step.cost), real(step.within)}));
    return {{"strategy", name(course.strategy)},
            {"seed", course.seed},
            {"judged", course.judged},
            {"steps", steps}};
}

Json json_of(const Group& group) {
    Json made = Json::array();
    const auto list = [](const Quartiles& at) { return reals({at.begin(), at.end()}); };
    for (const std::uint64_t count : milestones(group))
        made.push_back({{"candidates", count},
                        {"cost", list(group.cost_at(count))},
                        {"within", list(group.within_at(count))}});
    return {{"strategy", name(group.strategy)}, {"searches", group.courses.size()}, {"at", made}};
}

Json json_of(const Ancestor& one) {
    Json made = {{"index", one.index},
                 {"maker", one.maker},
                 {"status", name(one.status)},
                 {"cost", real(one.cost)},
                 {"descriptor", reals(one.descriptor)},
                 {"better", one.is_better},
                 {"gain", one.gain},
                 {"programs", one.programs}};
    if (one.other_parent) made["other_parent"] = *one.other_parent;
    return made;
}

Json json_of(const GateFact& gate) {
    Json made = {{"name", gate.name}, {"in", gate.in}, {"out", gate.out}};
    if (gate.microseconds) made["microseconds"] = *gate.microseconds;
    return made;
}

Json json_of(const MeasuredSession& one) {
    return {{"id", one.id},
            {"device", one.device},
            {"uuid", one.uuid},
            {"target", one.target},
            {"driver", one.driver},
            {"clock", measure::name(one.clock)},
            {"baseline_milliseconds", one.calibration.milliseconds},
            {"sigma", one.calibration.sigma},
            {"bias", one.calibration.bias},
            {"shared", one.is_shared},
            {"moved", one.moved}};
}

Json json_of(const TimedCandidate& one) {
    return {{"candidate", one.candidate}, {"tier", measure::name(one.tier)},
            {"ratio", one.ratio},         {"low", one.low},
            {"high", real(one.high)},     {"rounds", one.rounds},
            {"sessions", one.sessions},   {"verdict", measure::name(one.verdict())}};
}

template <class T> Json list_of(const std::vector<T>& values) {
    Json made = Json::array();
    for (const T& value : values) made.push_back(json_of(value));
    return made;
}

Json about(const Facts& facts) {
    Json sites = Json::array(), axes = Json::array(), sources = Json::array();
    for (const SiteSpace& site : facts.space->sites)
        sites.push_back({{"name", site.name}, {"signature", site.machine.signature().text()}});
    for (const Axis& axis : facts.options->axes)
        axes.push_back({{"name", axis.name}, {"edges", reals(axis.edges)}});
    for (const Source& source : facts.sources)
        sources.push_back({{"strategy", name(source.options.strategy)},
                           {"seed", source.options.seed},
                           {"first", source.first},
                           {"count", source.count}});
    Json made = {
        {"title", facts.title},
        {"sites", sites},
        {"options",
         {{"seed", facts.options->seed}, {"strategy", name(facts.options->strategy)}, {"axes", axes}}},
        {"stop", facts.stop ? Json(name(*facts.stop)) : Json()}};
    if (!facts.sources.empty()) made["collection"] = sources;
    return made;
}

}  // namespace

std::string json_text(const Ledger& ledger) { return text_of(json_of(ledger)); }
std::string json_text(const Elite& elite, const Space& space) { return text_of(json_of(elite, space)); }

Expected<std::string> report_json(const Archive& archive, std::span<const Archive> beside,
                                  const ReportOptions& options) {
    const Facts facts = TRY(facts_of(archive, beside, options.title));
    Json made = about(facts);
    made["ledger"] = json_of(facts.ledger);
    made["refinements"] = facts.refinements;
    made["gates"] = list_of(facts.gates);
    made["within"] = facts.within ? Json(facts.options->axes[*facts.within].name) : Json();
    made["searches"] = list_of(facts.courses);
    made["quartiles"] = list_of(groups_of(facts.courses));
    for (const auto& [key, elites] : {std::pair("cells", &facts.elites), std::pair("front", &facts.front)}) {
        made[key] = Json::array();
        for (const Elite& elite : *elites) made[key].push_back(json_of(elite, *facts.space));
    }
    made["ancestors"] = list_of(facts.ancestors);
    if (!facts.times.sessions.empty())
        made["times"] = {{"sessions", list_of(facts.times.sessions)},
                         {"candidates", list_of(timed_candidates(facts))}};
    made["task"] = facts.options->task;
    return text_of(made) + "\n";
}

}  // namespace ptxgraft::search
