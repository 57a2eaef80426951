// ptxgraft try: a template with stubs, run and compared with its reference.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/checks.hpp"
#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/template_flags.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

struct TryFlags {
    ChosenTemplate chosen;
    CudaFlags cuda;
    StubFlags stubs;
    CheckFlags checks;
    std::string device = "auto";
    std::vector<std::string> null;
    std::uint64_t seed = 1;
    std::uint32_t repeats = 20;
    std::optional<std::string> tolerance;
    bool json = false;
};

Device open_device(const TryFlags& flags) {
    DeviceOptions options;
    set_checks(flags.checks, options.emulator);
    return take(Device::open(flags.device, options), {}, "--device " + flags.device);
}

Json real(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

const FunctionUsage* usage_of(const Trial& trial, const std::string& entry) {
    if (!trial.machine_code.cubin) return nullptr;
    for (const FunctionUsage& function : trial.machine_code.cubin->functions)
        if (function.name == entry) return &function;
    return nullptr;
}

// RELATIVE[,ABSOLUTE]
void read_tolerance(std::string_view text, TrialOptions& options) {
    const std::size_t comma = text.find(',');
    const auto number = [&](std::string_view part) {
        double value = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc() || end != part.data() + part.size() || !(value >= 0) || std::isinf(value))
            fail_usage(fmt::format("--tolerance: RELATIVE[,ABSOLUTE], numbers from 0 on, not '{}'", text));
        return value;
    };
    options.relative = number(text.substr(0, comma));
    if (comma != std::string_view::npos) options.absolute = number(text.substr(comma + 1));
}

Json json_of(const Template& from, const Trial& trial) {
    Json json{{"template", from.name()},
              {"right", trial.is_right},
              {"elements", trial.elements},
              {"wrong", trial.wrong},
              {"not_numbers", trial.not_numbers},
              {"not_compared", trial.not_compared},
              {"tolerance", {{"relative", trial.tolerance.relative}, {"absolute", trial.tolerance.absolute}}},
              {"largest_error", real(trial.largest_error)},
              {"worst",
               {{"tensor", trial.worst_tensor},
                {"index", trial.worst_index},
                {"got", real(trial.got)},
                {"wanted", real(trial.wanted)},
                {"allowed", real(trial.allowed)},
                {"part_of_allowed", real(trial.worst)}}}};
    if (const FunctionUsage* usage = usage_of(trial, from.entry()))
        json.update({{"registers", usage->registers},
                     {"spills", usage->spill_store_bytes + usage->spill_load_bytes},
                     {"stack_bytes", usage->stack_bytes}});
    if (trial.milliseconds) json["milliseconds"] = *trial.milliseconds;
    json["routes"] = routes_json(trial.machine_code.routes);
    return json;
}

void print_comparison(const Trial& trial) {
    fmt::print("{}: {} of {} elements are as the reference has them\n", trial.is_right ? "right" : "wrong",
               trial.elements - trial.wrong, trial.elements);
    for (const std::string& output : trial.not_compared)
        fmt::print("nothing was compared of {}: all of it is NaN in the reference\n", output);
    if (trial.not_compared.empty() && trial.not_numbers != 0)
        fmt::print("{} of them are NaN in the reference\n", trial.not_numbers);
    fmt::print("largest error {:.3g}\n", trial.largest_error);
    if (trial.worst > 0 && !std::isnan(trial.wanted))
        fmt::print(
            "nearest to its tolerance: {}[{}] is {:.9g}, wanted {:.9g}, {:.3g} of the {:.3g} that are "
            "allowed\n",
            trial.worst_tensor, trial.worst_index, trial.got, trial.wanted, trial.worst, trial.allowed);
}

void print(const Template& from, const Trial& trial, const TrialOptions& options) {
    print_comparison(trial);
    const bool has_own_tolerance = options.relative || options.absolute;
    if (!trial.is_right && trial.not_compared.empty() && !options.grafts.empty() && !has_own_tolerance)
        fmt::print(
            "note: the tolerance, {:.3g} relative and {:.3g} absolute, is that of the default stubs; "
            "--tolerance RELATIVE,ABSOLUTE sets another\n",
            trial.tolerance.relative, trial.tolerance.absolute);
    if (const FunctionUsage* usage = usage_of(trial, from.entry()))
        fmt::print("{} registers, {} bytes of spills, {} bytes of stack\n", usage->registers,
                   usage->spill_store_bytes + usage->spill_load_bytes, usage->stack_bytes);
    if (trial.milliseconds) fmt::print("{:.4f} ms, the median\n", *trial.milliseconds);
}

void try_one(const TryFlags& flags) {
    const Template from = find_template(flags.chosen);
    const Device device = open_device(flags);
    const std::optional<Cache> cache = open_cache(flags.cuda.cache);
    TrialOptions options{.dimensions = dimensions_of(flags.chosen),
                         .choices = choices_of(flags.chosen),
                         .target = flags.cuda.target,
                         .seed = flags.seed,
                         .null = flags.null,
                         .numbers = numbers_of(flags.chosen),
                         .repeats = flags.repeats};
    if (flags.tolerance) read_tolerance(*flags.tolerance, options);
    options.cuda.cache = cache ? &*cache : nullptr;
    options.graft.cache = options.cuda.cache;
    options.graft.routes = route_options(flags.stubs);
    options.grafts = as_grafts(compile_stubs(
        {compile_template(from, options.choices, flags.cuda), flags.chosen.name, true}, flags.stubs));
    const Trial trial = take(try_template(from, device, options));
    flags.json ? print_json(json_of(from, trial)) : print(from, trial, options);
    if (!trial.is_right) throw Failure{};
}

}  // namespace

void add_try(CLI::App& app) {
    CLI::App* verb = app.add_subcommand(
        "try", "Run a skeleton of the library with stubs, and compare it with its reference");
    const auto flags = std::make_shared<TryFlags>();
    add_chosen_template(*verb, flags->chosen);
    add_stub_flags(*verb, flags->stubs);
    verb->add_option("--null", flags->null, "Tensors that are null pointers: bias,scale")->delimiter(',');
    verb->add_option("--seed", flags->seed, "Of the inputs: the same numbers everywhere (default: 1)")
        ->check(wrong_from_zero);
    verb->add_option("--tolerance", flags->tolerance,
                     "RELATIVE[,ABSOLUTE], in place of the template's, which is of its default stubs");
    verb->add_option("--device", flags->device,
                     "auto, cuda, cuda:1, emulator, emulator:sm_80 (default: auto)");
    verb->add_option("--repeats", flags->repeats, "Launches that are timed, on a GPU (default: 20)")
        ->check(wrong_from_zero);
    verb->add_flag("--json", flags->json, "Print JSON");
    add_target_flag(*verb, flags->cuda.target, "Architecture, such as sm_90a (default: the template's own)");
    add_cache_flags(*verb, flags->cuda.cache);
    add_check_flags(*verb, flags->checks);
    verb->callback([flags] { try_one(*flags); });
}

}  // namespace ptxgraft::cli
