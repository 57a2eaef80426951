// ptxgraft run: any kernel, from a shell, with NumPy files as its arrays.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "argument.hpp"
#include "skeleton_input.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

struct RunFlags {
    std::string file, entry, grid = "1", block = "1", device = "auto";
    std::uint32_t shared_bytes = 0;
    std::vector<std::string> arguments;
    CudaFlags cuda;
    StubFlags stubs;
};

// A mistake on the command line that the library found.
template <class T>
T take_usage(Expected<T> result, const char* option) {
    if (!result) throw Failure{fmt::format("error: {}: {}\n", option, message(result.error())), wrong_usage};
    return std::move(*result);
}

struct Plan {
    LaunchConfig config;
    std::vector<KernelArgument> arguments;
};

// Everything that can be wrong without touching a file or a device.
Plan plan(const RunFlags& flags) {
    Plan plan;
    plan.config.grid = take_usage(parse_dim3(flags.grid), "--grid");
    plan.config.block = take_usage(parse_dim3(flags.block), "--block");
    plan.config.shared_bytes = flags.shared_bytes;
    for (const std::string& text : flags.arguments)
        plan.arguments.push_back(take_usage(parse_argument(text), "--arg"));
    return plan;
}

void read_inputs(std::vector<KernelArgument>& arguments) {
    for (KernelArgument& argument : arguments) {
        if (argument.input_file.empty()) continue;
        const std::string bytes = take(read_file(argument.input_file));
        argument.array = take(read_npy(bytes), {}, display_name(argument.input_file));
    }
}

// The emulator is a device of the architecture that the PTX asks for, unless the names say another. PTX of an
// architecture that is too old to be a device runs on the default one, as it does on a newer GPU.
Device device_for(const RunFlags& flags, Device device, const Input& input) {
    if (device.kind() != DeviceKind::emulator || flags.device.find(':') != std::string::npos) return device;
    if (!flags.cuda.target.empty()) return take(Device::open("emulator:" + flags.cuda.target));
    auto exact = Device::open("emulator:" + input.skeleton.target());
    return exact ? std::move(*exact) : std::move(device);
}

std::string numbered(std::size_t index, const KernelArgument& argument) {
    return fmt::format("argument {} ({})", index + 1, argument.text);
}

// What the launch would accept, because the sizes agree, and yet cannot be meant.
void check_nature(std::size_t index, const KernelArgument& argument, const ParameterInfo& parameter) {
    const bool takes_floating = parameter.type.starts_with('f') || parameter.type.starts_with("bf");
    const bool takes_integer = parameter.type.starts_with('u') || parameter.type.starts_with('s');
    const bool is_array = argument.kind != ArgumentKind::scalar && argument.kind != ArgumentKind::bytes;
    const bool wrong = is_array ? takes_floating
                                : (argument.nature == Nature::integer && takes_floating) ||
                                      (argument.nature == Nature::floating && takes_integer);
    if (wrong)
        fail_work(
            {Errc::argument_differs,
             {},
             static_cast<std::uint32_t>(index),
             std::make_shared<const std::string>(fmt::format(
                 "{} for the parameter .{} {}", numbered(index, argument), parameter.type, parameter.name))});
}

void check_arguments(const std::vector<KernelArgument>& arguments,
                     const std::vector<ParameterInfo>& parameters) {
    for (std::size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i)
        check_nature(i, arguments[i], parameters[i]);
}

// The buffer of an array argument; nothing for a scalar. An out array starts as 0xFF bytes (a NaN in every
// floating type), so that what the kernel does not write is seen.
std::optional<Buffer> buffer_of(const KernelArgument& argument, const Device& device) {
    switch (argument.kind) {
        case ArgumentKind::in:
        case ArgumentKind::inout:
            return take(device.upload(argument.array.data), {}, argument.text);
        case ArgumentKind::out: {
            Buffer buffer = take(device.allocate(argument.bytes), {}, argument.text);
            take(buffer.fill(std::byte{0xFF}), {}, argument.text);
            return buffer;
        }
        default:
            return {};
    }
}

struct Prepared {
    std::vector<std::optional<Buffer>> buffers;  ///< one per argument
    std::vector<Argument> arguments;
};

Prepared prepare(const std::vector<KernelArgument>& arguments, const Device& device) {
    Prepared prepared;
    for (const KernelArgument& argument : arguments) prepared.buffers.push_back(buffer_of(argument, device));
    for (std::size_t i = 0; i < arguments.size(); ++i)
        prepared.arguments.push_back(prepared.buffers[i] ? Argument(*prepared.buffers[i])
                                                         : Argument::raw(arguments[i].value));
    return prepared;
}

void write_outputs(std::vector<KernelArgument>& arguments, const Prepared& prepared) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].output_file.empty()) continue;
        Array& array = arguments[i].array;
        array.data.resize(prepared.buffers[i]->bytes());
        take(prepared.buffers[i]->read(array.data), {}, arguments[i].text);
        take(write_file(arguments[i].output_file, write_npy(array)));
    }
}

// Errors of a kernel have their place in the rendered PTX, which may stand in no file.
[[noreturn]] void fail_in_ptx(Error error, const std::string& ptx, const Input& input,
                              std::size_t stub_count) {
    error.source.reset();
    std::string text = describe(error, ptx, input.ptx_name(stub_count));
    if (error.span.known() && (input.from_cuda || stub_count))
        text +=
            fmt::format("note: to see this PTX, run 'ptxgraft graft {} … -o OUT.ptx' with the same options\n",
                        input.file);
    throw Failure{std::move(text), work_failed};
}

void run(const RunFlags& flags) {
    Plan job = plan(flags);
    Device device = take(Device::open(flags.device), {}, "--device " + flags.device);
    const Input input = load_input(flags.file, flags.cuda, device.target());
    const std::vector<NamedStub> stubs = compile_stubs(input, flags.stubs);
    device = device_for(flags, std::move(device), input);

    const std::string ptx =
        take(input.skeleton.render(as_grafts(stubs)), input.skeleton.ptx(), input.ptx_name(0));
    const auto function = device.load(ptx, flags.entry);
    if (!function) fail_in_ptx(function.error(), ptx, input, stubs.size());

    read_inputs(job.arguments);
    check_arguments(job.arguments, function->parameters());
    const Prepared prepared = prepare(job.arguments, device);
    auto done = function->launch(job.config, prepared.arguments);
    if (done) done = device.synchronize();
    fmt::print("{}", device.take_output());
    if (!done) fail_in_ptx(done.error(), ptx, input, stubs.size());
    write_outputs(job.arguments, prepared);
}

}  // namespace

void add_run(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("run", "Run a kernel with arrays from NumPy files");
    const auto flags = std::make_shared<RunFlags>();
    verb->add_option("FILE", flags->file, "PTX or CUDA file")->required();
    verb->add_option("--entry", flags->entry, "Kernel (may be left out when there is one)");
    verb->add_option("--grid", flags->grid, "Blocks: X, X,Y or XxYxZ")->capture_default_str();
    verb->add_option("--block", flags->block, "Threads of a block: X, X,Y or XxYxZ")->capture_default_str();
    verb->add_option("--smem", flags->shared_bytes, "Bytes of dynamic shared memory per block")
        ->capture_default_str();
    verb->add_option("--device", flags->device, "auto, cuda, cuda:N, emulator, emulator:sm_80")
        ->capture_default_str();
    verb->add_option("--arg", flags->arguments,
                     "Arguments in order (repeatable): TYPE=VALUE, in=FILE.npy, out=TYPE:SHAPE:FILE.npy, "
                     "inout=FILE.npy:FILE.npy, bytes=HEX. TYPE is u8 to u64, s8 to s64, f16, bf16, f32, f64, "
                     "b8 to b64, pred")
        ->take_all();
    add_stub_flags(*verb, flags->stubs);
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { run(*flags); });
}

}  // namespace ptxgraft::cli
