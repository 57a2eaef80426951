// ptxgraft try: a template with stubs, run and compared with its reference.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

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

Json json_of(const Template& from, const Trial& trial) {
    Json json{{"template", from.name()},
              {"right", trial.is_right},
              {"elements", trial.elements},
              {"wrong", trial.wrong},
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

void print(const Template& from, const Trial& trial) {
    fmt::print("{}: {} of {} elements are as the reference has them\n", trial.is_right ? "right" : "wrong",
               trial.elements - trial.wrong, trial.elements);
    fmt::print("largest error {:.3g}\n", trial.largest_error);
    if (trial.worst > 0)
        fmt::print(
            "nearest to its tolerance: {}[{}] is {:.9g}, wanted {:.9g}, {:.3g} of the {:.3g} that are "
            "allowed\n",
            trial.worst_tensor, trial.worst_index, trial.got, trial.wanted, trial.worst, trial.allowed);
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
    options.cuda.cache = cache ? &*cache : nullptr;
    options.graft.cache = options.cuda.cache;
    options.graft.routes = route_options(flags.stubs);
    options.grafts = as_grafts(compile_stubs(
        {compile_template(from, options.choices, flags.cuda), flags.chosen.name, true}, flags.stubs));
    const Trial trial = take(try_template(from, device, options));
    flags.json ? print_json(json_of(from, trial)) : print(from, trial);
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
    verb->add_option("--seed", flags->seed, "Of the inputs: the same numbers everywhere (default: 1)");
    verb->add_option("--device", flags->device,
                     "auto, cuda, cuda:1, emulator, emulator:sm_80 (default: auto)");
    verb->add_option("--repeats", flags->repeats, "Launches that are timed, on a GPU (default: 20)");
    verb->add_flag("--json", flags->json, "Print JSON");
    add_target_flag(*verb, flags->cuda.target, "Architecture, such as sm_90a (default: the template's own)");
    add_cache_flags(*verb, flags->cuda.cache);
    add_check_flags(*verb, flags->checks);
    verb->callback([flags] { try_one(*flags); });
}

}  // namespace ptxgraft::cli
