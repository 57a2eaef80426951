// ptxgraft run: any kernel, from a shell, with NumPy files as its arrays.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "cli/checks.hpp"
#include "cli/interrupt.hpp"
#include "cli/launch/file.hpp"
#include "cli/launch/memory.hpp"
#include "cli/observe.hpp"
#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::cli {
namespace {

// A loop without an end is an error, not a terminal that waits: half a minute of the emulator's work, or two
// minutes of time.
constexpr std::uint64_t usual_budget = std::uint64_t{1} << 30;
constexpr double usual_seconds = 120;

// What is wrong with it; empty: nothing.
std::string wrong_budget(const std::string& text) {
    constexpr std::size_t most_digits = 19;  // of 64 bits
    if (!text.empty() && text.size() <= most_digits &&
        text.find_first_not_of("0123456789") == std::string::npos)
        return {};
    return fmt::format("{} is no number of instructions: digits, at most {}", text, most_digits);
}

std::string wrong_seconds(const std::string& text) {
    double seconds = -1;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
    constexpr double most = 4e6;  // milliseconds have 32 bits
    if (error == std::errc() && end == text.data() + text.size() && seconds >= 0 && seconds <= most)
        return {};
    return fmt::format("{} is no number of seconds: 0 to {}, such as 10 or 0.5", text, most);
}

struct RunFlags {
    std::string file, launch_file, entry, grid = "1", block = "1", cluster = "1", device = "auto";
    std::uint32_t shared_bytes = 0;
    std::optional<std::uint64_t> budget;
    std::optional<double> seconds;
    bool cooperative = false, json = false;
    std::vector<std::string> arguments;
    CudaFlags cuda;
    StubFlags stubs;
    ObserveFlags observe;
    CheckFlags checks;
};

// A mistake on the command line that the library found.
template <class T> T take_usage(Expected<T> result, const char* option) {
    if (!result) throw Failure{fmt::format("error: {}: {}\n", option, message(result.error())), wrong_usage};
    return std::move(*result);
}

// What flags say is read before any file or device is touched; a launch file brings its arrays.
LaunchPlan plan_of(const RunFlags& flags) {
    if (!flags.launch_file.empty()) return take(read_launch_file(flags.launch_file));
    LaunchPlan plan;
    PlannedLaunch& launch = plan.launches.emplace_back(PlannedLaunch{.entry = flags.entry});
    launch.config.grid = take_usage(parse_dim3(flags.grid), "--grid");
    launch.config.block = take_usage(parse_dim3(flags.block), "--block");
    launch.config.cluster = take_usage(parse_dim3(flags.cluster), "--cluster");
    launch.config.shared_bytes = flags.shared_bytes;
    launch.config.cooperative = flags.cooperative;
    return plan;
}

std::vector<KernelArgument> flag_arguments(const RunFlags& flags) {
    std::vector<KernelArgument> arguments;
    for (const std::string& text : flags.arguments)
        arguments.push_back(take_usage(parse_argument(text), "--arg"));
    return arguments;
}

Device open_device(const RunFlags& flags, const std::string& name, EmulatorObserver* observer) {
    DeviceOptions options{.emulator = {.observer = observer}};
    set_checks(flags.checks, options.emulator);
    Device device = take(Device::open(name, options), {}, "--device " + name);
    if ((flags.budget || flags.seconds) && device.kind() != DeviceKind::emulator)
        fail_usage(fmt::format("{} is of the emulator; the device is {}",
                               flags.budget ? "--budget" : "--time-limit", device.name()));
    if (flags.observe.any() && device.kind() != DeviceKind::emulator)
        fail_usage(fmt::format("--trace and --profile are of the emulator; the device is {}", device.name()));
    if (flags.checks.any() && !flags.checks.fast && device.kind() != DeviceKind::emulator)
        fail_usage(fmt::format(
            "--checks, --keep-going, --excuse and --findings are of the emulator; the device is {}",
            device.name()));
    return device;
}

// The emulator is a device of the architecture that the PTX asks for, unless the names say another. PTX of an
// architecture that is too old to be a device runs on the default one, as it does on a newer GPU.
Device device_for(const RunFlags& flags, Device device, const Input& input, EmulatorObserver* observer) {
    if (device.kind() != DeviceKind::emulator || flags.device.find(':') != std::string::npos) return device;
    if (!flags.cuda.target.empty()) return open_device(flags, "emulator:" + flags.cuda.target, observer);
    if (!Device::open("emulator:" + input.skeleton.target())) return device;
    return open_device(flags, "emulator:" + input.skeleton.target(), observer);
}

std::string numbered(std::size_t index, const PlannedArgument& argument) {
    return fmt::format("argument {} ({})", index + 1, argument.text);
}

// What the launch would accept, because the sizes agree, and yet cannot be meant.
bool is_meant(const PlannedArgument& argument, const ParameterInfo& parameter) {
    const bool takes_floating = parameter.type.starts_with('f') || parameter.type.starts_with("bf");
    const bool takes_integer = parameter.type.starts_with('u') || parameter.type.starts_with('s');
    if (argument.nature == Nature::address) return !takes_floating;
    return !(argument.nature == Nature::integer && takes_floating) &&
           !(argument.nature == Nature::floating && takes_integer);
}

void check_arguments(const LaunchPlan& plan, const PlannedLaunch& launch,
                     const std::vector<ParameterInfo>& parameters) {
    for (std::size_t i = 0; i < std::min(launch.arguments.size(), parameters.size()); ++i) {
        if (is_meant(launch.arguments[i], parameters[i])) continue;
        auto detail = fmt::format("{} for the parameter .{} {}", numbered(i, launch.arguments[i]),
                                  parameters[i].type, parameters[i].name);
        const Error error{Errc::argument_type_wrong,
                          {},
                          static_cast<std::uint32_t>(i),
                          std::make_shared<const std::string>(std::move(detail))};
        fail_in_launch_file(error, plan, launch.arguments[i].span);
    }
}

// All outputs are written by then, whatever they hold.
void check_outputs(const LaunchPlan& plan, const std::vector<LaunchResult>& results) {
    std::string text;
    for (const auto& [buffer, what] : differences(plan, results))
        text += fmt::format("error: {} {}\n", buffer, what);
    if (!text.empty()) throw Failure{std::move(text), work_failed};
}

// Errors of a kernel have their place in the rendered PTX, which may stand in no file.
// An instruction that the emulator does not run is often one that there is not: what ptxas would say of it.
Error explained(const Error& error, const std::string& ptx) {
    if (error.code != Errc::instruction_not_emulated) return error;
    const auto module = syntax::parse(ptx);
    if (!module) return error;
    const std::vector<Error> wrong = isa::verify(*module);
    const auto found = std::find_if(wrong.begin(), wrong.end(), [&](const Error& one) {
        return one.span.begin >= error.span.begin && one.span.begin < error.span.end;
    });
    return found == wrong.end() ? error : *found;
}

[[noreturn]] void fail_in_ptx(Error error, const std::string& ptx, const Input& input, std::size_t stub_count,
                              std::string_view note = {}) {
    error = explained(error, ptx);
    error.source.reset();
    std::string text = describe(error, ptx, input.ptx_name(stub_count));
    if (error.span.known() && (input.from_cuda || stub_count))
        text +=
            fmt::format("note: to see this PTX, run 'ptxgraft graft {} … -o OUT.ptx' with the same options\n",
                        input.file);
    throw Failure{text.append(note),
                  error.code == Errc::launch_stopped ? Interrupt::failure().status : work_failed};
}

// The kernel of the first launch.
Kernel graft_kernel(const LaunchPlan& plan, const Device& device, const Input& input,
                    const std::vector<NamedStub>& stubs, const RunFlags& flags) {
    const std::optional<Cache> cache = open_cache(flags.cuda.cache);
    const auto assembler = cache ? cached(default_assembler(), *cache) : nullptr;
    auto kernel = input.skeleton.graft(as_grafts(stubs), device,
                                       {.entry = plan.launches.front().entry,
                                        .routes = route_options(flags.stubs),
                                        .assembler = assembler.get()});
    if (kernel) return std::move(*kernel);
    const auto& source = kernel.error().source;
    fail_in_ptx(kernel.error(), source ? source->text : input.skeleton.ptx(), input, stubs.size());
}

// The entries of the launches, of one module: its variables are theirs together.
std::vector<Function> load_entries(const LaunchPlan& plan, const Kernel& kernel, const Input& input,
                                   std::size_t stub_count) {
    std::vector<Function> functions;
    for (const PlannedLaunch& launch : plan.launches) {
        const auto same = std::find_if(functions.begin(), functions.end(),
                                       [&](const Function& f) { return f.entry() == launch.entry; });
        auto function = functions.empty()         ? kernel.function()
                        : same != functions.end() ? Expected<Function>(*same)
                                                  : functions[0].other(launch.entry);
        if (!function) fail_in_ptx(function.error(), kernel.ptx(), input, stub_count);
        functions.push_back(std::move(*function));
        check_arguments(plan, launch, functions.back().parameters());
    }
    return functions;
}

struct FailedLaunch {
    const PlannedLaunch* launch;
    std::uint64_t times;  ///< that it went well before
    Error error;
};

// Without a budget the launch is to take as long as it takes, unless a time says otherwise.
LaunchLimits limits_of(const RunFlags& flags, const Interrupt& interrupt) {
    const double seconds = flags.seconds.value_or(flags.budget == std::uint64_t{0} ? 0 : usual_seconds);
    const std::uint64_t budget = flags.budget.value_or(usual_budget);
    const auto milliseconds = static_cast<std::uint32_t>(std::ceil(seconds * 1000));
    return {.instruction_budget = budget == 0 ? no_instruction_budget : budget,
            .time_limit_ms = milliseconds == 0 ? no_time_limit : milliseconds,
            .should_stop = [&interrupt] { return interrupt.came(); }};
}

// A GPU's kernel goes on whatever happens here; Ctrl-C ends the program, as ever.
Expected<void> launch(const RunFlags& flags, const Device& device, const Function& function,
                      LaunchConfig config, std::span<const Argument> arguments) {
    if (device.kind() == DeviceKind::emulator) {
        const Interrupt interrupt;
        config.limits = limits_of(flags, interrupt);
        return function.launch(config, arguments);
    }
    if (auto done = function.launch(config, arguments); !done) return done;
    return device.synchronize();
}

// A launch, as often as it is repeated, and what buffers hold then; its time is added.
std::optional<FailedLaunch> execute(const PlannedLaunch& planned, const Function& function,
                                    const Device& device, const LaunchMemory& memory, const RunFlags& flags,
                                    std::vector<LaunchResult>& results, std::chrono::nanoseconds& time) {
    const std::vector<std::vector<std::byte>> values = memory.arguments(planned);
    std::vector<Argument> raw;
    raw.reserve(values.size());
    for (const auto& value : values) raw.push_back(Argument::raw(value));
    for (std::uint64_t i = 0; i < planned.repeat; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const auto done = launch(flags, device, function, planned.config, raw);
        time += std::chrono::steady_clock::now() - begin;
        if (!done) return FailedLaunch{&planned, i, done.error()};
    }
    memory.read_outputs(planned, results);
    return {};
}

[[noreturn]] void fail_launch(const FailedLaunch& failed, const LaunchPlan& plan, const std::string& ptx,
                              const Input& input, std::size_t stub_count) {
    const auto& [launch, times, error] = failed;
    if (error.code == Errc::argument_size_wrong)
        fail_in_launch_file(error, plan, launch->arguments[error.index].span);
    std::string note;
    if (plan.launches.size() > 1)
        note = fmt::format("launch {} of {}", launch - plan.launches.data() + 1, plan.launches.size());
    if (launch->repeat > 1)
        note += fmt::format("{}time {} of {}", note.empty() ? "" : ", ", times + 1, launch->repeat);
    if (!note.empty()) note = fmt::format("note: this is {}\n", note);
    fail_in_ptx(error, ptx, input, stub_count, note);
}

// What the launches did, whether they went well or not.
Json json_of(const Input& input, const Device& device, const Kernel& kernel, const LaunchPlan& plan,
             const std::vector<LaunchResult>& results, const std::optional<FailedLaunch>& failed,
             std::size_t stub_count) {
    Json launches = Json::array(), differing = Json::array();
    for (const PlannedLaunch& launch : plan.launches)
        launches.push_back({{"entry", launch.entry.empty() ? std::string(kernel.entry()) : launch.entry},
                            {"repeat", launch.repeat}});
    for (const auto& [buffer, what] : differences(plan, results))
        differing.push_back({{"buffer", buffer}, {"difference", what}});
    Json json{{"file", input.file},
              {"device", device.name()},
              {"target", device.target()},
              {"launches", std::move(launches)},
              {"routes", routes_json(kernel.routes())},
              {"differences", std::move(differing)}};
    if (!failed) return json;
    Json error = error_json(explained(failed->error, kernel.ptx()), kernel.ptx(), input.ptx_name(stub_count));
    json["failed"] = {{"launch", failed->launch - plan.launches.data()}, {"time", failed->times}};
    json["failed"].update(error);
    return json;
}

void run(const RunFlags& flags) {
    LaunchPlan plan = plan_of(flags);
    std::vector<KernelArgument> arguments = flag_arguments(flags);
    Observation observation(flags.observe);
    Device device = open_device(flags, flags.device, observation.observer());
    const Input input = load_input(flags.file, flags.cuda, device.target());
    const std::vector<NamedStub> stubs = compile_stubs(input, flags.stubs);
    device = device_for(flags, std::move(device), input, observation.observer());

    plan_arguments(plan, std::move(arguments));
    const Kernel kernel = graft_kernel(plan, device, input, stubs, flags);
    print_routes(flags.stubs, kernel.routes());
    const std::string& ptx = kernel.ptx();
    const std::vector<Function> functions = load_entries(plan, kernel, input, stubs.size());
    LaunchMemory memory(plan, device, functions[0]);
    std::vector<LaunchResult> results;
    std::optional<FailedLaunch> failed;
    std::chrono::nanoseconds time{};
    for (std::size_t i = 0; i < functions.size() && !failed; ++i)
        failed = execute(plan.launches[i], functions[i], device, memory, flags, results, time);
    const std::string output = device.take_output();
    if (!flags.json) fmt::print("{}", output);
    observation.finish();
    if (flags.observe.profile && !flags.json) observation.print_profile();
    Findings findings(flags.checks, ptx, input.ptx_name(stubs.size()));
    findings.take(device);
    if (flags.json) {
        Json json = json_of(input, device, kernel, plan, results, failed, stubs.size());
        json["ms"] = std::chrono::duration<double, std::milli>(time).count();
        json["output"] = output;
        if (device.kind() == DeviceKind::emulator) json.update(findings.json());
        if (flags.observe.profile) json["profile"] = observation.profile_json();
        print_json(json);
    }
    if (failed) fail_launch(*failed, plan, ptx, input, stubs.size());
    write_outputs(results);
    observation.require_traced();
    check_outputs(plan, results);
    findings.finish(device, time);
}

}  // namespace

void add_run(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("run", "Run a kernel with arrays from NumPy files");
    const auto flags = std::make_shared<RunFlags>();
    verb->add_option("FILE", flags->file, "PTX or CUDA file")->required();
    const std::vector<CLI::Option*> shape = {
        verb->add_option("--entry", flags->entry, "Kernel (may be left out when there is one)"),
        verb->add_option("--grid", flags->grid, "Blocks: X, X,Y or XxYxZ")->capture_default_str(),
        verb->add_option("--block", flags->block, "Threads of a block: X, X,Y or XxYxZ")
            ->capture_default_str(),
        verb->add_option("--cluster", flags->cluster,
                         "Blocks of a cluster: X, X,Y or XxYxZ; 1: what the kernel's .reqnctapercluster says")
            ->capture_default_str(),
        verb->add_flag("--cooperative", flags->cooperative,
                       "All blocks run at the same time, as grid-wide barriers need"),
        verb->add_option("--smem", flags->shared_bytes, "Bytes of dynamic shared memory per block")
            ->capture_default_str(),
        verb->add_option(
                "--arg", flags->arguments,
                "Arguments in order (repeatable): TYPE=VALUE, in=FILE.npy, out=TYPE:SHAPE:FILE.npy, "
                "inout=FILE.npy:FILE.npy, bytes=HEX. TYPE is u8 to u64, s8 to s64, f16, bf16, f32, f64, "
                "b8 to b64, e4m3, e5m2, pred")
            ->take_all()};
    CLI::Option* launch = verb->add_option("--launch", flags->launch_file, launch_file_schema());
    for (CLI::Option* option : shape) launch->excludes(option);
    verb->add_option("--device", flags->device, "auto, cuda, cuda:N, emulator, emulator:sm_80")
        ->capture_default_str();
    add_check_flags(*verb, flags->checks);
    verb->add_option("--budget", flags->budget,
                     "Warp instructions after which the emulator ends the launch with an error; what makes "
                     "it do much more counts as many; 0: no limit")
        ->check(CLI::Validator(wrong_budget, "NUMBER"))
        ->default_str(std::to_string(usual_budget));
    verb->add_option("--time-limit", flags->seconds,
                     "Seconds after which it does so; 0: no limit, as with --budget 0")
        ->check(CLI::Validator(wrong_seconds, "SECONDS"))
        ->default_str(fmt::format("{}", usual_seconds));
    verb->add_flag(
        "--json", flags->json,
        "Print JSON on standard output instead: {\"file\", \"device\", \"target\", \"launches\", "
        "\"routes\", \"differences\": [{\"buffer\", \"difference\"}], \"ms\", \"output\": what the "
        "kernel printed, [\"failed\"], [\"profile\"]}, and of the emulator \"warp_instructions\", "
        "\"thread_instructions\", \"checks\", \"findings\", \"all_findings\"");
    add_observe_flags(*verb, flags->observe);
    add_stub_flags(*verb, flags->stubs);
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { run(*flags); });
}

}  // namespace ptxgraft::cli
