// ptxgraft run: any kernel, from a shell, with NumPy files as its arrays.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "interrupt.hpp"
#include "launch_file.hpp"
#include "observe.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"
#include "skeleton_input.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

// A loop without an end is an error, not a terminal that waits: half a minute of the emulator's work, or two
// minutes of time.
constexpr std::uint64_t usual_budget = std::uint64_t{1} << 30;
constexpr double usual_seconds = 120;

// What is wrong with it; empty: nothing.
std::string wrong_budget(const std::string& text) {
    constexpr std::size_t most_digits = 19;  // of 64 bits
    if (!text.empty() && text.size() <= most_digits && text.find_first_not_of("0123456789") == std::string::npos) return {};
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
    bool cooperative = false, fast = false;
    std::vector<std::string> arguments;
    CudaFlags cuda;
    StubFlags stubs;
    ObserveFlags observe;
};

// A mistake on the command line that the library found.
template <class T>
T take_usage(Expected<T> result, const char* option) {
    if (!result) throw Failure{fmt::format("error: {}: {}\n", option, message(result.error())), wrong_usage};
    return std::move(*result);
}

// What flags say is read before any file or device is touched; a launch file brings its arrays.
LaunchPlan plan_of(const RunFlags& flags) {
    if (!flags.launch_file.empty()) return take(read_launch_file(flags.launch_file));
    LaunchPlan plan{.entry = flags.entry};
    plan.config.grid = take_usage(parse_dim3(flags.grid), "--grid");
    plan.config.block = take_usage(parse_dim3(flags.block), "--block");
    plan.config.cluster = take_usage(parse_dim3(flags.cluster), "--cluster");
    plan.config.shared_bytes = flags.shared_bytes;
    plan.config.cooperative = flags.cooperative;
    return plan;
}

std::vector<KernelArgument> flag_arguments(const RunFlags& flags) {
    std::vector<KernelArgument> arguments;
    for (const std::string& text : flags.arguments)
        arguments.push_back(take_usage(parse_argument(text), "--arg"));
    return arguments;
}

Device open_device(const RunFlags& flags, const std::string& name, EmulatorObserver* observer) {
    const DeviceOptions options{.emulator = {.fast = flags.fast, .observer = observer}};
    Device device = take(Device::open(name, options), {}, "--device " + name);
    if ((flags.budget || flags.seconds) && device.kind() != DeviceKind::emulator)
        fail_usage(fmt::format("{} is of the emulator; the device is {}",
                               flags.budget ? "--budget" : "--time-limit", device.name()));
    if (flags.observe.any() && device.kind() != DeviceKind::emulator)
        fail_usage(fmt::format("--trace and --profile are of the emulator; the device is {}", device.name()));
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

// An error of an argument has its place in the launch file, if there is one.
[[noreturn]] void fail_argument(Error error, const LaunchPlan& plan, std::size_t index) {
    if (plan.source != nullptr) {
        error.source = plan.source;
        error.span = plan.arguments[index].span;
    }
    fail_work(error);
}

// What the launch would accept, because the sizes agree, and yet cannot be meant.
bool is_meant(const PlannedArgument& argument, const ParameterInfo& parameter) {
    const bool takes_floating = parameter.type.starts_with('f') || parameter.type.starts_with("bf");
    const bool takes_integer = parameter.type.starts_with('u') || parameter.type.starts_with('s');
    if (argument.buffer) return !takes_floating;
    return !(argument.nature == Nature::integer && takes_floating) &&
           !(argument.nature == Nature::floating && takes_integer);
}

void check_arguments(const LaunchPlan& plan, const std::vector<ParameterInfo>& parameters) {
    for (std::size_t i = 0; i < std::min(plan.arguments.size(), parameters.size()); ++i) {
        if (is_meant(plan.arguments[i], parameters[i])) continue;
        auto detail = fmt::format("{} for the parameter .{} {}", numbered(i, plan.arguments[i]),
                                  parameters[i].type, parameters[i].name);
        fail_argument({Errc::argument_differs,
                       {},
                       static_cast<std::uint32_t>(i),
                       std::make_shared<const std::string>(std::move(detail))},
                      plan, i);
    }
}

Buffer make_buffer(const PlannedBuffer& planned, const Device& device) {
    if (!planned.input_file.empty()) return take(device.upload(planned.array.data), {}, planned.text);
    Buffer buffer = take(device.allocate(planned.bytes), {}, planned.text);
    take(buffer.poison(std::byte{0xFF}), {}, planned.text);
    return buffer;
}

struct Prepared {
    std::vector<Buffer> buffers;
    std::vector<std::vector<std::byte>> values;  ///< of the arguments
};

std::vector<std::byte> bytes_of(const auto& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

Prepared prepare(const LaunchPlan& plan, const Device& device) {
    Prepared prepared;
    for (const PlannedBuffer& planned : plan.buffers)
        prepared.buffers.push_back(make_buffer(planned, device));
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
        const PlannedArgument& argument = plan.arguments[i];
        if (argument.buffer && argument.map) {
            TensorMapOptions options = *argument.map;
            options.address = argument.offset;
            const auto map = prepared.buffers[*argument.buffer].encode_tensor_map(std::move(options));
            if (!map) fail_argument(map.error(), plan, i);
            prepared.values.push_back(bytes_of(*map));
        } else if (argument.buffer) {
            prepared.values.push_back(
                bytes_of(prepared.buffers[*argument.buffer].address() + argument.offset));
        } else {
            prepared.values.push_back(argument.value);
        }
    }
    return prepared;
}

void write_outputs(LaunchPlan& plan, const Prepared& prepared) {
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
        PlannedBuffer& planned = plan.buffers[i];
        if (planned.output_file.empty() && !planned.expected) continue;
        planned.array.data.resize(prepared.buffers[i].bytes());
        take(prepared.buffers[i].read(planned.array.data), {}, planned.text);
        if (!planned.output_file.empty()) take(write_file(planned.output_file, write_npy(planned.array)));
    }
}

// All outputs are written by then, whatever they hold.
void check_outputs(const LaunchPlan& plan) {
    std::string text;
    for (const PlannedBuffer& planned : plan.buffers) {
        const std::string what = planned.expected ? difference(planned.array, *planned.expected) : "";
        if (!what.empty()) text += fmt::format("error: {} {}\n", planned.text, what);
    }
    if (!text.empty()) throw Failure{std::move(text), work_failed};
}

// Errors of a kernel have their place in the rendered PTX, which may stand in no file.
// An instruction that the emulator does not run is often one that there is not: what ptxas would say of it.
Error explained(const Error& error, const std::string& ptx) {
    if (error.code != Errc::instruction_not_emulated) return error;
    const auto module = syntax::parse(ptx);
    if (!module) return error;
    const std::vector<Error> wrong = isa::verify(*module);
    const auto found = std::find_if(wrong.begin(), wrong.end(), [&](const Error& one) { return one.span.begin >= error.span.begin && one.span.begin < error.span.end; });
    return found == wrong.end() ? error : *found;
}

[[noreturn]] void fail_in_ptx(Error error, const std::string& ptx, const Input& input,
                              std::size_t stub_count) {
    error = explained(error, ptx);
    error.source.reset();
    std::string text = describe(error, ptx, input.ptx_name(stub_count));
    if (error.span.known() && (input.from_cuda || stub_count))
        text +=
            fmt::format("note: to see this PTX, run 'ptxgraft graft {} … -o OUT.ptx' with the same options\n",
                        input.file);
    throw Failure{std::move(text), error.code == Errc::launch_stopped ? interrupted : work_failed};
}

// Without a budget the launch is to take as long as it takes, unless a time says otherwise.
LaunchLimits limits_of(const RunFlags& flags, const Interrupt& interrupt) {
    const double seconds = flags.seconds.value_or(flags.budget == std::uint64_t{0} ? 0 : usual_seconds);
    return {.instruction_budget = flags.budget.value_or(usual_budget),
            .time_limit_ms = static_cast<std::uint32_t>(std::ceil(seconds * 1000)),
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

void run(const RunFlags& flags) {
    LaunchPlan plan = plan_of(flags);
    std::vector<KernelArgument> arguments = flag_arguments(flags);
    Observation observation(flags.observe);
    Device device = open_device(flags, flags.device, observation.observer());
    const Input input = load_input(flags.file, flags.cuda, device.target());
    const std::vector<NamedStub> stubs = compile_stubs(input, flags.stubs);
    device = device_for(flags, std::move(device), input, observation.observer());

    const std::string ptx =
        take(input.skeleton.render(as_grafts(stubs)), input.skeleton.ptx(), input.ptx_name(0));
    const auto function = device.load(ptx, plan.entry);
    if (!function) fail_in_ptx(function.error(), ptx, input, stubs.size());

    plan_arguments(plan, std::move(arguments));
    check_arguments(plan, function->parameters());
    const Prepared prepared = prepare(plan, device);
    const std::vector<Argument> raw = [&] {
        std::vector<Argument> result;
        for (const auto& value : prepared.values) result.push_back(Argument::raw(value));
        return result;
    }();
    const auto done = launch(flags, device, *function, plan.config, raw);
    fmt::print("{}", device.take_output());
    observation.finish();
    if (!done && done.error().code == Errc::argument_size_differs)
        fail_argument(done.error(), plan, done.error().index);
    if (!done) fail_in_ptx(done.error(), ptx, input, stubs.size());
    write_outputs(plan, prepared);
    observation.require_traced();
    check_outputs(plan);
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
    CLI::Option* launch = verb->add_option(
        "--launch", flags->launch_file,
        "Entry, shape, buffers and arguments from a JSON file; paths in it are relative to it:\n"
        "{\"entry\": \"gemm\", \"grid\": [4,4,1], \"block\": [128], \"cluster\": [2], \"smem\": 65536, "
        "\"cooperative\": false,\n"
        " \"buffers\": {\"a\": {\"in\": \"a.npy\"}, \"c\": {\"out\": \"c.npy\", \"type\": \"f32\", "
        "\"shape\": [64,64],\n"
        "   \"expect\": \"want.npy\", \"tolerance\": {\"abs\": 1e-6, \"rel\": 1e-3}}},\n"
        " \"args\": [{\"buffer\": \"a\"}, {\"buffer\": \"c\", \"offset\": 256}, {\"u32\": 64}, {\"bytes\": "
        "\"00ff\"},\n"
        "   {\"tensormap\": {\"buffer\": \"a\", \"type\": \"bf16\", \"dims\": [64,128], \"strides\": [128], "
        "\"box\": [64,64],\n"
        "     \"element_strides\": [1,1], \"swizzle\": \"128B\", \"interleave\": \"none\", \"l2\": \"none\", "
        "\"fill\": \"zero\"}}]}\n"
        "A buffer that is not as \"expect\"ed ends the run with 1. \"tolerance\": none, for equal bits; \"abs\" and "
        "\"rel\"; or, for sums of tensor cores in any legal order,\n"
        "{\"sum\": {\"type\": \"bf16\", \"accumulator\": \"f32\", \"k\": 64, \"magnitudes\": \"abs.npy\"}}: "
        "A @ B is in want.npy and |A| @ |B| in abs.npy, both <f8");
    for (CLI::Option* option : shape) launch->excludes(option);
    verb->add_option("--device", flags->device, "auto, cuda, cuda:N, emulator, emulator:sm_80")
        ->capture_default_str();
    verb->add_flag("--fast", flags->fast, "The emulator checks bounds and barriers only: not what nothing wrote, nor races");
    verb->add_option("--budget", flags->budget,
                     "Warp instructions after which the emulator ends the launch with an error; what makes "
                     "it do much more counts as many; 0: no limit")
        ->check(CLI::Validator(wrong_budget, "NUMBER"))
        ->default_str(std::to_string(usual_budget));
    verb->add_option("--time-limit", flags->seconds,
                     "Seconds after which it does so; 0: no limit, as with --budget 0")
        ->check(CLI::Validator(wrong_seconds, "SECONDS"))
        ->default_str(fmt::format("{}", usual_seconds));
    add_observe_flags(*verb, flags->observe);
    add_stub_flags(*verb, flags->stubs);
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { run(*flags); });
}

}  // namespace ptxgraft::cli
