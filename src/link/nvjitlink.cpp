// nvJitLink in process: the linker of cubins, and the assembler where there is no nvPTXCompiler.

#include <fmt/format.h>
#include <nvJitLink.h>

#include <algorithm>
#include <memory>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "link/assembler_log.hpp"
#include "link/cubin.hpp"
#include "link/module_text.hpp"
#include "link/text.hpp"
#include "link/toolkit.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

using namespace link;

struct LinkerDeleter {
    using pointer = nvJitLinkHandle;
    void operator()(nvJitLinkHandle linker) const { nvJitLinkDestroy(&linker); }
};
using Linker = std::unique_ptr<nvJitLinkHandle, LinkerDeleter>;

// Null when nvJitLink refuses the options; it has no log to say which.
Linker create(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv;
    for (const auto& argument : arguments) argv.push_back(argument.c_str());
    nvJitLinkHandle handle = nullptr;
    const auto result = nvJitLinkCreate(&handle, static_cast<std::uint32_t>(argv.size()), argv.data());
    return Linker(result == NVJITLINK_SUCCESS ? handle : nullptr);
}

template <class GetSize, class Get> std::string log_of(nvJitLinkHandle linker, GetSize get_size, Get get) {
    std::size_t size = 0;
    if (get_size(linker, &size) != NVJITLINK_SUCCESS || size == 0) return {};
    std::string log(size + 1, '\0');
    if (get(linker, log.data()) != NVJITLINK_SUCCESS) return {};
    return trimmed_log(std::move(log));
}
std::string error_log(nvJitLinkHandle linker, nvJitLinkResult result) {
    std::string log = log_of(linker, nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog);
    return log.empty() ? fmt::format("nvJitLink fails with result {}", static_cast<int>(result)) : log;
}
std::string info_log(nvJitLinkHandle linker) {
    return log_of(linker, nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog);
}

struct LinkerVersion {
    unsigned major = 0, minor = 0;
};
LinkerVersion linker_version() {
    LinkerVersion version;
    nvJitLinkVersion(&version.major, &version.minor);
    return version;
}

// The linked image and its log; no image when nvJitLink has none.
Cubin linked(nvJitLinkHandle linker) {
    Cubin cubin;
    std::size_t size = 0;
    if (nvJitLinkGetLinkedCubinSize(linker, &size) == NVJITLINK_SUCCESS) {
        cubin.image.resize(size);
        if (nvJitLinkGetLinkedCubin(linker, cubin.image.data()) != NVJITLINK_SUCCESS) cubin.image.clear();
    }
    cubin.log = info_log(linker);
    return cubin;
}

std::vector<std::string> arguments_of(const Assembly& assembly, const AssembleOptions& options) {
    // nvJitLink itself knows -O0 and -O3 only.
    const bool is_plain = options.optimisation == 0 || assembly.is_debug;
    std::vector<std::string> arguments{"-arch=" + assembly.target, is_plain ? "-O0" : "-O3", "-verbose",
                                       "-no-cache"};
    if (options.max_registers) arguments.push_back(fmt::format("-maxrregcount={}", options.max_registers));
    if (options.relocatable) arguments.emplace_back("-r");
    if (options.line_info) arguments.emplace_back("-lineinfo");
    for (const auto& option : options.options) arguments.push_back("-Xptxas=" + option);
    return arguments;
}

class NvJitLink final : public Assembler {
  public:
    std::string_view name() const override { return "nvjitlink"; }

    std::string version() const override {
        static const std::string version = [this] {
            const auto [major, minor] = linker_version();
            return version_by_assembling(*this, fmt::format("{}.{}", major, minor));
        }();
        return version;
    }

    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        const auto assembly = TRY(begin_assembly(ptx, options));
        if (const Span loss = relocatable_loss(ptx); loss.known())
            return fail(Errc::module_refused, loss,
                        "nvJitLink assembles as relocatable, which drops setmaxnreg and serialises wgmma; "
                        "nvptxcompiler does not");
        TRY(check_target(assembly.target));
        return assemble_for(assembly, ptx, options);
    }

  private:
    Expected<Cubin> assemble_for(const Assembly& assembly, std::string_view ptx,
                                 const AssembleOptions& options) const {
        const Linker linker = create(arguments_of(assembly, options));
        if (!linker) return fail(Errc::assemble_failed, "nvJitLink does not know one of the options");
        // nvJitLink reads to a zero byte when it looks for the end of the text.
        const std::string text(ptx);
        nvJitLinkResult result =
            nvJitLinkAddData(linker.get(), NVJITLINK_INPUT_PTX, text.data(), text.size() + 1, "ptx");
        if (result == NVJITLINK_SUCCESS) result = nvJitLinkComplete(linker.get());
        if (result != NVJITLINK_SUCCESS) return assembly_error(error_log(linker.get(), result), ptx);
        Cubin cubin = linked(linker.get());
        if (cubin.image.empty()) return fail(Errc::assemble_failed, "nvJitLink gives no cubin");
        return finish(std::move(cubin), options, *this, assembly);
    }
};

tl::unexpected<Error> link_error(std::string log, std::size_t index) {
    auto error = fail(Errc::link_failed, std::move(log));
    error.value().index = static_cast<std::uint32_t>(index);
    return error;
}

// What of an input nvJitLink cannot read, or does not survive; empty when it takes it.
std::string input_problem(std::span<const std::byte> cubin, std::size_t index) {
    if (!is_whole_cubin(cubin)) return fmt::format("input {} is no whole cubin", index);
    const auto [major, minor] = linker_version();
    const std::uint32_t toolkit = toolkit_of(cubin);
    if (toolkit <= 10 * major + minor) return {};
    return fmt::format("input {} is of CUDA {}.{}; nvJitLink {}.{} links cubins up to its own version", index,
                       toolkit / 10, toolkit % 10, major, minor);
}

// "nvjitlink 13.5.37, of ptxas 13.0.88": the linker, and the assembler of each part once.
std::string makers_of(std::span<const std::byte> image) {
    std::string text = fmt::format("{} {}", nvjitlink()->name(), nvjitlink()->version());
    std::vector<Tool> named;
    for (const Tool& tool : tools_of(image)) {
        if (tool.name.empty() || std::find(named.begin(), named.end(), tool) != named.end()) continue;
        text += fmt::format(", of {} {}", tool.name, tool.version);
        named.push_back(tool);
    }
    return text;
}

}  // namespace

const Assembler* nvjitlink() {
    static const NvJitLink assembler;
    return &assembler;
}

Expected<Cubin> link_cubins(std::span<const std::span<const std::byte>> cubins, std::string_view target,
                            const AssembleLimits& limits) {
    const auto begin = Clock::now();
    if (cubins.empty()) return fail(Errc::argument_invalid, "no cubins to link");
    TRY(check_target(target));
    for (std::size_t i = 0; i < cubins.size(); ++i)
        if (std::string problem = input_problem(cubins[i], i); !problem.empty())
            return link_error(std::move(problem), i);

    const auto known = find_architecture(target);
    const Linker linker = create(
        {fmt::format("-arch={}", known ? name(*known) : std::string(target)), "-verbose", "-no-cache"});
    if (!linker) return fail(Errc::link_failed, "nvJitLink cannot start");
    for (std::size_t i = 0; i < cubins.size(); ++i) {
        const std::string name = fmt::format("input {}", i);
        const auto result = nvJitLinkAddData(linker.get(), NVJITLINK_INPUT_CUBIN, cubins[i].data(),
                                             cubins[i].size(), name.c_str());
        if (result != NVJITLINK_SUCCESS) return link_error(error_log(linker.get(), result), i);
    }
    if (const auto result = nvJitLinkComplete(linker.get()); result != NVJITLINK_SUCCESS)
        return link_error(error_log(linker.get(), result), 0);
    Cubin cubin = linked(linker.get());
    if (!is_whole_cubin(cubin.image)) return fail(Errc::link_failed, "nvJitLink gives no cubin");
    cubin.assemble_ms = milliseconds_since(begin);
    complete_usage(cubin);
    TRY(check_limits(cubin.functions, limits));
    cubin.assembler = makers_of(cubin.image);
    cubin.losses = parse_losses(cubin.log);
    return cubin;
}

}  // namespace ptxgraft
