// Tasks: JSON to a space, cases, gates and options. Every mistake is an error at its place.

#include "ptxgraft/search_task.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "json/values.hpp"
#include "ptxgraft/target.hpp"
#include "search/task/task_site.hpp"

namespace ptxgraft::search {
namespace {

using json::check_keys;
using json::check_kind;
using json::JsonKind;
using json::JsonValue;
using json::mistake;
using json::needed;
using json::text_of;
using json::within;

constexpr std::array<std::string_view, objective_count> objectives = {
    "instructions", "error", "registers", "code_bytes", "machine_instructions", "time_ratio"};
constexpr std::array<std::string_view, 3> strategies = {"evolve", "random", "climb"};
constexpr std::array<std::string_view, 7> gate_names = {"limits",    "policy",   "columns", "assembly",
                                                        "emulation", "checking", "timing"};

constexpr std::uint64_t most_counted = std::uint64_t{1} << 53;

std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

Expected<bool> truth_of(const JsonValue& value, std::string_view key) {
    TRY(check_kind(value, JsonKind::boolean, key));
    return value.text == "true";
}

// The text of an object, in its place: what is around it is blank.
std::string in_place(std::string_view text, const JsonValue& object) {
    std::string made(text);
    const std::size_t begin = object.span.begin;
    std::size_t end = begin, depth = 0;
    bool is_string = false;
    for (; end < made.size(); ++end) {
        const char c = made[end];
        if (is_string && c == '\\') {
            ++end;
        } else if (c == '"') {
            is_string = !is_string;
        } else if (!is_string && (c == '{' || c == '[')) {
            ++depth;
        } else if (!is_string && (c == '}' || c == ']') && --depth == 0) {
            break;
        }
    }
    for (std::size_t k = 0; k < made.size(); ++k)
        if ((k < begin || k > end) && made[k] != '\n') made[k] = ' ';
    return made;
}

class TaskReader {
  public:
    Expected<Task> read(const JsonValue& root, std::string_view text) {
        task_.options.task = text;
        if (root.find("workload") != nullptr)
            TRY(read_kernel(root, text));
        else
            TRY(read_bare(root));
        TRY(read_space(root));
        TRY(read_figures(root));
        give_library_weight();
        if (const JsonValue* value = root.find("options")) TRY(read_options(*value));
        if (const JsonValue* value = root.find("enumerate")) TRY(read_enumeration(*value));
        if (const JsonValue* value = root.find("budget")) TRY(read_budget(*value));
        if (const JsonValue* value = root.find("target")) TRY(read_target(*value));
        if (const JsonValue* value = root.find("stagnation"))
            task_.stagnation = TRY(json::whole_number(*value, "stagnation", 1, most_counted));
        TRY(read_gates(root));
        TRY(set_limits_to_guess(root));
        return std::move(task_);
    }

  private:
    // ---- the space
    // A signature by itself.
    Expected<void> read_bare(const JsonValue& root) {
        TRY(check_keys(
            root, "a task",
            {"name",      "signature", "set",        "genes",  "seeds",   "constants", "tunables", "inputs",
             "reference", "measure",   "bound",      "screen", "perturb", "objective", "axes",     "options",
             "budget",    "target",    "stagnation", "gates",  "library", "enumerate"}));
        const std::string text = TRY(text_of(*TRY(needed(root, "signature")), "signature"));
        const auto signature = TRY(within(Signature::parse(text), "the signature", text));
        std::string name = "f";
        if (const JsonValue* value = root.find("name")) name = TRY(text_of(*value, "name"));
        task_.space.sites.push_back(TRY(site_of(root, std::move(name), signature)));
        task_.cases = TRY(cases_of(root, signature));
        const JsonValue* const reference = root.find("reference");
        if (reference->kind == JsonKind::string) task_.reference = reference->text;
        return {};
    }
    // Sites of a template.
    Expected<void> read_kernel(const JsonValue& root, std::string_view text) {
        TRY(check_keys(root, "a task of a workload",
                       {"workload", "sites", "constants", "tunables", "perturb", "objective", "axes",
                        "options", "enumerate", "budget", "target", "stagnation", "gates", "devices"}));
        const JsonValue& workload = *root.find("workload");
        TRY(check_kind(workload, JsonKind::object, "workload"));
        task_.workload = TRY(measure::Workload::parse(in_place(text, workload)));
        const Skeleton& skeleton = task_.workload->skeleton();
        task_.options.skeleton = hash_of(skeleton.ptx());
        const Architecture target = TRY(parse_architecture(skeleton.target()));
        const JsonValue& sites = *TRY(needed(root, "sites"));
        TRY(check_kind(sites, JsonKind::object, "sites"));
        if (sites.items.empty()) return mistake(sites.span, "\"sites\" has none");
        for (const JsonValue& said : sites.items) {
            const auto site = skeleton.find_site(said.key);
            if (!site) return mistake(said.key_span, message(site.error()));
            TRY(check_keys(
                said, said.key,
                {"set", "genes", "seeds", "library", "inputs", "reference", "measure", "bound", "screen"}));
            task_.space.sites.push_back(TRY(
                site_of(said, said.key, (*site)->signature, {.policy = (*site)->policy, .target = target})));
            task_.screens.emplace_back();
            if (said.find("reference") != nullptr || said.find("inputs") != nullptr)
                task_.screens.back() = TRY(cases_of(said, (*site)->signature));
        }
        return {};
    }
    Expected<void> read_space(const JsonValue& root) {
        if (const JsonValue* value = root.find("constants"))
            task_.space.constants = TRY(numbers_of(*value, "constants"));
        const JsonValue* const tunables = root.find("tunables");
        if (tunables == nullptr) return {};
        TRY(check_kind(*tunables, JsonKind::object, "tunables"));
        for (const JsonValue& tunable : tunables->items) {
            Tunable made{.name = tunable.key, .values = {}};
            for (const double number : TRY(numbers_of(tunable, tunable.key))) {
                if (number != std::floor(number) || std::abs(number) > 0x1p53)
                    return mistake(tunable.span,
                                   fmt::format("the values of \"{}\" are whole numbers", tunable.key));
                made.values.push_back(static_cast<std::int64_t>(number));
            }
            if (made.values.empty())
                return mistake(tunable.span, fmt::format("\"{}\" has no value", tunable.key));
            task_.space.tunables.push_back(std::move(made));
        }
        return {};
    }

    // ---- what is minimised, and what candidates are told apart by
    Expected<void> read_figures(const JsonValue& root) {
        if (const JsonValue* value = root.find("perturb"))
            task_.columns.perturb = TRY(truth_of(*value, "perturb"));
        Figures& figures = task_.figures;
        if (const JsonValue* value = root.find("objective")) {
            figures.cost = TRY(json::choice<Objective>(*value, "objective", objectives));
            if (!task_.workload && figures.cost > Objective::error)
                return mistake(value->span,
                               fmt::format("\"{}\" is of a whole kernel: it wants a workload", value->text));
        }
        task_.columns.objective =
            figures.cost == Objective::error ? Objective::error : Objective::instructions;
        std::vector<double> lengths;
        for (int k = 1; k <= 32; ++k) lengths.push_back(k);
        std::vector<Axis>& axes = task_.options.axes;
        axes = {{.name = "instructions", .edges = lengths}, {.name = "error", .edges = {}}};
        if (const JsonValue* value = root.find("axes")) TRY(read_axes(*value, axes));
        figures.axes.clear();
        for (const Axis& axis : axes)
            figures.axes.push_back(
                static_cast<Objective>(std::ranges::find(objectives, axis.name) - objectives.begin()));
        return {};
    }
    Expected<void> read_axes(const JsonValue& value, std::vector<Axis>& axes) const {
        const bool is_kernel = task_.workload.has_value();
        TRY(is_kernel ? check_keys(value, "axes",
                                   {"instructions", "error", "registers", "code_bytes",
                                    "machine_instructions", "time_ratio"})
                      : check_keys(value, "axes", {"instructions", "error"}));
        if (is_kernel) axes.resize(0);  // those that are said, in their order
        for (const JsonValue& item : value.items) {
            auto at = std::ranges::find(axes, item.key, &Axis::name);
            if (at == axes.end()) at = axes.insert(at, {.name = item.key, .edges = {}});
            at->edges = TRY(numbers_of(item, item.key));
            if (!std::ranges::is_sorted(at->edges)) return mistake(item.span, "edges ascend");
        }
        return {};
    }

    // ---- gates
    Expected<void> read_gates(const JsonValue& root) {
        const JsonValue* const gates = root.find("gates");
        if (gates == nullptr) {
            if (task_.is_timed()) task_.gates.push_back({PolicyOptions{}, {}});
            if (has_screen()) task_.gates.push_back({SiteColumnsOptions{}, {}});
            if (task_.workload && !task_.is_timed()) task_.gates.push_back({EmulationOptions{}, {}});
            if (task_.is_timed()) task_.gates.push_back({CheckingOptions{}, {}});
            if (task_.is_timed()) task_.gates.push_back({TimingGateOptions{}, {}});
        } else {
            TRY(check_kind(*gates, JsonKind::array, "gates"));
            if (gates->items.empty()) return mistake(gates->span, "\"gates\" has none");
            for (const JsonValue& item : gates->items) TRY(read_gate(item));
        }
        if (!has_gate<SiteColumnsOptions>()) task_.options.refine = false;  // nobody would
        for (GateSpec& gate : task_.gates)
            std::visit([&](auto& options) { options.figures = task_.figures; }, gate.options);
        TRY(read_devices(root));
        return check_figures(root);
    }
    // The pool, where a gate asks one.
    Expected<void> read_devices(const JsonValue& root) {
        if (has_gate<CheckingOptions>() || has_gate<TimingGateOptions>()) task_.pool.emplace();
        const JsonValue* const devices = root.find("devices");
        if (devices == nullptr) return {};
        TRY(check_kind(*devices, JsonKind::array, "devices"));
        if (!task_.pool) return mistake(devices->key_span, "no gate of this task asks devices");
        if (devices->items.empty()) return mistake(devices->span, "\"devices\" has none");
        task_.pool->devices.clear();
        for (const JsonValue& item : devices->items)
            task_.pool->devices.push_back(TRY(text_of(item, "a device")));
        return {};
    }
    [[nodiscard]] bool has_screen() const {
        return !task_.workload ||
               std::ranges::any_of(task_.screens, [](const auto& screen) { return screen.has_value(); });
    }
    // A name, or an object with a name and limits.
    Expected<void> read_gate(const JsonValue& item) {
        JsonValue none;
        none.kind = JsonKind::object;
        const bool is_object = item.kind == JsonKind::object && item.items.size() == 1;
        if (item.kind != JsonKind::string && !is_object)
            return mistake(item.span, "a gate is a name, or an object of one name with its limits");
        const JsonValue& limits = is_object ? item.items[0] : none;
        TRY(check_kind(limits, JsonKind::object, limits.key));
        const std::string_view name = is_object ? limits.key : item.text;
        const Span place = is_object ? limits.key_span : item.span;
        const auto known = std::ranges::find(gate_names, name);
        if (known == gate_names.end())
            return mistake(place, fmt::format("no gate is named \"{}\"; there are {}", name,
                                              fmt::join(gate_names, ", ")));
        const auto which = known - gate_names.begin();
        if (which >= 3 && !task_.workload)
            return mistake(place, fmt::format("the gate \"{}\" wants a workload", name));
        if (which == 2 && !has_screen())
            return mistake(place, "no site has \"inputs\" and a \"reference\" for the gate \"columns\"");
        switch (which) {
            case 0: return read_limits(limits);
            case 1: return read_policy(limits);
            case 2: return read_columns(limits);
            case 3: return read_assembly(limits);
            case 4: return read_emulation(limits);
            case 5: return read_checking(limits);
            default: return read_timing(limits);
        }
    }
    static Expected<std::uint32_t> count_of(const JsonValue& value) {
        return static_cast<std::uint32_t>(TRY(json::whole_number(value, value.key, 0, 0xFFFFFFFFu)));
    }
    Expected<void> read_limits(const JsonValue& said) {
        TRY(check_keys(said, "limits", {"instructions"}));
        LimitOptions options;
        if (const JsonValue* value = said.find("instructions")) options.instructions = TRY(count_of(*value));
        task_.gates.push_back({options, {}});
        return {};
    }
    Expected<void> read_columns(const JsonValue& said) {
        TRY(check_keys(said, "columns", {"refinements"}));
        if (const JsonValue* value = said.find("refinements"))
            task_.columns.refinements = TRY(count_of(*value));
        task_.gates.push_back({SiteColumnsOptions{}, {}});
        return {};
    }
    Expected<void> read_assembly(const JsonValue& said) {
        TRY(check_keys(said, "assembly",
                       {"registers", "spill_bytes", "stack_bytes", "code_bytes", "target", "route", "batch",
                        "assembler", "performance_loss"}));
        AssemblyOptions options;
        const std::pair<std::string_view, std::optional<std::uint32_t>*> limits[] = {
            {"registers", &options.limits.registers},
            {"spill_bytes", &options.limits.spill_bytes},
            {"stack_bytes", &options.limits.stack_bytes},
            {"code_bytes", &options.limits.code_bytes}};
        for (const auto& [key, to] : limits)
            if (const JsonValue* value = said.find(key)) *to = TRY(count_of(*value));
        if (const JsonValue* value = said.find("target")) {
            options.target = TRY(text_of(*value, "target"));
            if (const auto known = parse_architecture(options.target); !known)
                return mistake(value->span, message(known.error()));
        }
        if (const JsonValue* value = said.find("route")) {
            const auto route = route_from_name(TRY(text_of(*value, "route")));
            if (!route) return mistake(value->span, message(route.error()));
            options.routes.route = *route;
        }
        if (const JsonValue* value = said.find("batch"))
            options.batch = static_cast<std::uint32_t>(TRY(json::whole_number(*value, "batch", 1, 1024)));
        if (const JsonValue* value = said.find("performance_loss"))
            options.allow_performance_loss = TRY(truth_of(*value, "performance_loss"));
        std::string assembler;
        if (const JsonValue* value = said.find("assembler")) assembler = TRY(text_of(*value, "assembler"));
        task_.gates.push_back({std::move(options), std::move(assembler)});
        return {};
    }
    Expected<void> read_emulation(const JsonValue& said) {
        TRY(check_keys(said, "emulation", {"fast", "seed", "seeds", "instructions"}));
        EmulationOptions options;
        if (const JsonValue* value = said.find("fast")) options.fast = TRY(truth_of(*value, "fast"));
        if (const JsonValue* value = said.find("seed"))
            options.check.seed = TRY(json::whole_number(*value, "seed", 0, ~std::uint64_t{0}));
        if (const JsonValue* value = said.find("seeds"))
            options.check.seeds =
                static_cast<std::uint32_t>(TRY(json::whole_number(*value, "seeds", 1, 1000)));
        if (const JsonValue* value = said.find("instructions"))
            options.check.instructions = TRY(json::distance_of(*value));
        task_.gates.push_back({std::move(options), {}});
        return {};
    }
    Expected<void> read_policy(const JsonValue& said) {
        TRY(check_keys(said, "policy", {}));
        task_.gates.push_back({PolicyOptions{}, {}});
        return {};
    }
    static Expected<std::string> assembler_of(const JsonValue& said) {
        const JsonValue* const value = said.find("assembler");
        return value == nullptr ? Expected<std::string>(std::string()) : text_of(*value, "assembler");
    }
    Expected<void> read_checking(const JsonValue& said) {
        TRY(check_keys(said, "checking", {"assembler"}));
        auto assembler = TRY(assembler_of(said));
        task_.gates.push_back({CheckingOptions{}, std::move(assembler)});
        return {};
    }
    Expected<void> read_timing(const JsonValue& said) {
        TRY(check_keys(said, "timing", {"last", "seed", "assembler", "operations_per_second"}));
        TimingGateOptions options;
        constexpr std::array<std::string_view, 2> tiers = {"race", "elite"};
        enum class Last : std::uint8_t { race, elite };
        if (const JsonValue* value = said.find("last"))
            options.last = TRY(json::choice<Last>(*value, "last", tiers)) == Last::race
                               ? measure::Tier::race
                               : measure::Tier::elite;
        if (const JsonValue* value = said.find("seed"))
            options.protocol.seed = TRY(json::whole_number(*value, "seed", 0, ~std::uint64_t{0}));
        if (const JsonValue* value = said.find("operations_per_second"))
            options.protocol.operations_per_second = TRY(json::distance_of(*value));
        auto assembler = TRY(assembler_of(said));
        task_.gates.push_back({std::move(options), std::move(assembler)});
        return {};
    }
    template <class Options> [[nodiscard]] bool has_gate() const {
        return std::ranges::any_of(
            task_.gates, [](const GateSpec& gate) { return std::holds_alternative<Options>(gate.options); });
    }
    // What is wanted has to be found by some gate.
    Expected<void> check_figures(const JsonValue& root) const {
        const bool assembles = has_gate<AssemblyOptions>();
        const bool computes =
            has_gate<SiteColumnsOptions>() || has_gate<EmulationOptions>() || has_gate<CheckingOptions>();
        const auto is_found = [&](Objective figure) {
            if (figure == Objective::time_ratio) return has_gate<TimingGateOptions>();
            return figure == Objective::instructions || (figure == Objective::error ? computes : assembles);
        };
        const auto wanted = [&](Objective figure, const JsonValue* at) -> Expected<void> {
            if (is_found(figure) || at == nullptr) return {};
            return mistake(at->span, fmt::format("no gate finds \"{}\"", name(figure)));
        };
        TRY(wanted(task_.figures.cost, root.find("objective")));
        for (const Objective axis : task_.figures.axes) TRY(wanted(axis, root.find("axes")));
        return {};
    }

    // ---- the search
    Expected<void> read_options(const JsonValue& value) {
        Options& o = task_.options;
        TRY(check_keys(
            value, "options",
            {"seed", "strategy", "islands", "population", "block", "tournament", "cell_depth", "migration",
             "stagnation", "attempts", "refine", "adapt", "operators", "remeasure", "surrogate"}));
        const std::pair<std::string_view, std::uint32_t*> numbers[] = {
            {"islands", &o.islands},       {"population", &o.population}, {"block", &o.block},
            {"tournament", &o.tournament}, {"cell_depth", &o.cell_depth}, {"migration", &o.migration},
            {"stagnation", &o.stagnation}, {"attempts", &o.attempts}};
        // A block stands in memory at once.
        const auto most = [](std::string_view key) -> std::uint64_t {
            return key == "islands" ? 0xFFFF : key == "block" ? 1 << 20 : 1'000'000'000;
        };
        for (const auto& [key, to] : numbers)
            if (const JsonValue* item = value.find(key))
                *to = static_cast<std::uint32_t>(TRY(json::whole_number(*item, key, 1, most(key))));
        if (const JsonValue* item = value.find("remeasure"))
            o.remeasure =
                static_cast<std::uint32_t>(TRY(json::whole_number(*item, "remeasure", 0, 1'000'000'000)));
        if (const JsonValue* item = value.find("seed"))
            o.seed = TRY(json::whole_number(*item, "seed", 0, ~std::uint64_t{0}));
        if (const JsonValue* item = value.find("strategy"))
            o.strategy = TRY(json::choice<Strategy>(*item, "strategy", strategies));
        if (const JsonValue* item = value.find("refine")) o.refine = TRY(truth_of(*item, "refine"));
        if (const JsonValue* item = value.find("adapt")) o.adapt = TRY(truth_of(*item, "adapt"));
        if (const JsonValue* item = value.find("surrogate"))
            if (TRY(truth_of(*item, "surrogate"))) o.surrogate.emplace();
        if (const JsonValue* item = value.find("operators")) return read_operators(*item);
        return {};
    }
    Expected<void> read_enumeration(const JsonValue& value) {
        EnumerateOptions& o = task_.enumeration;
        if (value.kind == JsonKind::boolean) {
            if (!TRY(truth_of(value, "enumerate"))) o.instructions = 0;
            return {};
        }
        TRY(check_keys(value, "enumerate", {"instructions", "trials"}));
        if (const JsonValue* item = value.find("instructions"))
            o.instructions =
                static_cast<std::uint32_t>(TRY(json::whole_number(*item, "instructions", 0, 32)));
        if (const JsonValue* item = value.find("trials")) o.trials = TRY(counted(*item));
        return {};
    }
    Expected<void> read_operators(const JsonValue& value) {
        TRY(check_kind(value, JsonKind::object, "operators"));
        std::vector<Operator>& all = task_.options.operators;
        for (const JsonValue& item : value.items) {
            const auto at = std::ranges::find(all, item.key, &Operator::name);
            if (at == all.end())
                return mistake(item.key_span, fmt::format("no operator is named \"{}\"", item.key));
            at->weight = TRY(json::distance_of(item));
        }
        if (std::ranges::all_of(all, [](const Operator& op) { return op.weight == 0; }))
            return mistake(value.span, "all operators have the weight 0: none would be drawn");
        return {};
    }
    // Programs to take segments of are of no use without the operator that does.
    void give_library_weight() {
        constexpr double weight = 0.05;
        const auto has_words = [](const SiteSpace& site) { return !site.library.empty(); };
        if (std::ranges::none_of(task_.space.sites, has_words)) return;
        for (Operator& op : task_.options.operators)
            if (op.name == "library") op.weight = weight;
    }
    // What is surely beyond the limits of the gate that assembles is not assembled.
    Expected<void> set_limits_to_guess(const JsonValue& root) {
        if (!task_.options.surrogate) return {};
        for (const GateSpec& gate : task_.gates)
            if (const auto* options = std::get_if<AssemblyOptions>(&gate.options)) {
                task_.options.surrogate->registers = options->limits.registers.value_or(0);
                task_.options.surrogate->code_bytes = options->limits.code_bytes.value_or(0);
                return {};
            }
        return mistake(root.find("options")->find("surrogate")->span,
                       "\"surrogate\" wants a gate \"assembly\", of which it learns");
    }
    Expected<void> read_budget(const JsonValue& value) {
        Budget& budget = task_.budget;
        TRY(check_keys(value, "budget",
                       {"candidates", "seconds", "cpu_seconds", "assemblies", "emulations", "gpu_seconds"}));
        const std::pair<std::string_view, std::uint64_t*> counts[] = {{"candidates", &budget.candidates},
                                                                      {"assemblies", &budget.assemblies},
                                                                      {"emulations", &budget.emulations}};
        for (const auto& [key, to] : counts)
            if (const JsonValue* item = value.find(key)) *to = TRY(counted(*item));
        const std::pair<std::string_view, double*> times[] = {{"seconds", &budget.seconds},
                                                              {"cpu_seconds", &budget.cpu_seconds},
                                                              {"gpu_seconds", &budget.gpu_seconds}};
        for (const auto& [key, to] : times)
            if (const JsonValue* item = value.find(key)) *to = TRY(json::distance_of(*item));
        return {};
    }
    // 1e6 is a number of candidates too.
    static Expected<std::uint64_t> counted(const JsonValue& value) {
        const double number = TRY(json::distance_of(value));
        if (number == std::floor(number) && number <= static_cast<double>(most_counted))
            return static_cast<std::uint64_t>(number);
        return mistake(value.span, fmt::format("\"{}\" is a whole number from 0 to {}, not {}", value.key,
                                               most_counted, value.text));
    }
    Expected<void> read_target(const JsonValue& value) {
        const std::vector<Axis>& axes = task_.options.axes;
        Target target{.cost = INFINITY, .descriptor = std::vector<double>(axes.size(), INFINITY)};
        TRY(check_kind(value, JsonKind::object, "target"));
        for (const JsonValue& item : value.items) {
            const double number = TRY(json::distance_of(item));
            const auto axis = std::ranges::find(axes, item.key, &Axis::name);
            if (item.key == "cost")
                target.cost = number;
            else if (axis != axes.end())
                target.descriptor[static_cast<std::size_t>(axis - axes.begin())] = number;
            else
                return mistake(item.key_span,
                               fmt::format("\"{}\" is no axis; \"target\" has cost and axes", item.key));
        }
        task_.target = std::move(target);
        return {};
    }

    Task task_;
};

}  // namespace

Expected<Task> parse_task(std::string_view text) {
    const auto as_task = [](Error error) {
        if (error.code == Errc::launch_file_invalid || error.code == Errc::workload_invalid)
            error.code = Errc::task_invalid;
        return tl::unexpected(std::move(error));
    };
    const auto root = json::parse_json(text);
    if (!root) return as_task(root.error());
    auto task = TaskReader().read(*root, text);
    if (!task) return as_task(task.error());
    return task;
}

}  // namespace ptxgraft::search
