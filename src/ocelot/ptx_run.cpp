// GPU Ocelot's entry over the emulator.

#include "ptx_run.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/kernel.hpp"

namespace {

using namespace ptxgraft;

constexpr std::string_view file = "ptx_run";  // of the PTX, in errors

// The devices of the process, one for each name: "emulator", and architectures that its sm_90a does not run.
// Nobody looks at races here, and what others wrote is not known.
Expected<Device> device(const std::string& name) {
    static std::mutex mutex;
    static std::map<std::string, Device> devices;
    const std::lock_guard lock(mutex);
    if (const auto found = devices.find(name); found != devices.end()) return found->second;
    auto opened = Device::open(name, {.emulator = {.fast = true, .process_memory = true}});
    if (opened) devices.emplace(name, *opened);
    return opened;
}

struct Loaded {
    Device device;
    Function function;
};

Expected<Loaded> load(const std::string& name, const std::string& source, const std::string& entry) {
    auto on = device(name);
    if (!on) return tl::unexpected(on.error());
    auto function = on->load(source, entry);
    if (!function) return tl::unexpected(function.error());
    return Loaded{*std::move(on), *std::move(function)};
}

Expected<Loaded> load(const std::string& source) {
    auto loaded = load("emulator", source, "");
    if (loaded) return loaded;
    const Errc why = loaded.error().code;
    if (why != Errc::entry_not_named && why != Errc::target_differs) return loaded;
    const auto module = Skeleton::from_ptx(source);
    if (!module) return tl::unexpected(module.error());
    const std::string name = why == Errc::target_differs ? "emulator:" + module->target() : "emulator";
    return load(name, source, *std::ranges::min_element(module->entries()));
}

// The lowest bytes of a word. A parameter that is larger than a word gets none: the launch says its size.
Argument argument(void* const& word, const ParameterInfo* parameter) {
    const std::size_t bytes = parameter == nullptr ? sizeof word : parameter->bytes;
    return Argument::raw(std::as_bytes(std::span(&word, 1)).first(std::min(bytes, sizeof word)));
}

std::vector<Argument> arguments_of(const Function& function, std::span<void* const> words) {
    std::vector<Argument> arguments;
    const auto& parameters = function.parameters();
    for (std::size_t i = 0; i < words.size(); ++i)
        arguments.push_back(argument(words[i], i < parameters.size() ? &parameters[i] : nullptr));
    return arguments;
}

// Negative extents are no shape of a launch; as 0 they are refused by name.
std::uint32_t extent(int value) { return static_cast<std::uint32_t>(std::max(value, 0)); }

Expected<void> run(const std::string& source, std::span<void* const> words, const LaunchConfig& config) {
    const auto loaded = load(source);
    if (!loaded) return tl::unexpected(loaded.error());
    auto done = loaded->function.launch(config, arguments_of(loaded->function, words));
    const std::string printed = loaded->device.take_output();
    std::fwrite(printed.data(), 1, printed.size(), stdout);
    std::fflush(stdout);  // the caller may end without it
    return done;
}

void say(std::string_view text) {
    std::fprintf(stderr, "%.*s%s", static_cast<int>(text.size()), text.data(),
                 text.ends_with('\n') ? "" : "\n");
}

void run_and_say(const char* source, int n_args, void* args[], const LaunchConfig& config) {
    if (source == nullptr || n_args < 0 || (n_args > 0 && args == nullptr))
        return say("error: ptx_run: a source and n_args arguments are wanted");
    const std::string text = source;
    const auto done = run(text, std::span(args, static_cast<std::size_t>(n_args)), config);
    if (!done) say(describe(done.error(), text, file));
}

}  // namespace

void ptx_run(const char* source, int n_args, void* args[], int blck_x, int blck_y, int blck_z, int grid_x,
             int grid_y, int grid_z, int shared_mem_size) {
    try {
        run_and_say(source, n_args, args,
                    {.grid = {extent(grid_x), extent(grid_y), extent(grid_z)},
                     .block = {extent(blck_x), extent(blck_y), extent(blck_z)},
                     .shared_bytes = extent(shared_mem_size)});
    } catch (const std::exception& error) {  // nothing is thrown into a program in C
        say(error.what());
    }
}
