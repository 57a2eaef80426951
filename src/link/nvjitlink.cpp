// nvJitLink in process: the linker of cubins, and the assembler where there is no nvPTXCompiler.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "link/assembler_log.hpp"
#include "link/cubin.hpp"
#include "link/cuda_library.hpp"
#include "link/module_text.hpp"
#include "link/text.hpp"
#include "link/toolkit.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

using namespace link;

struct LinkerVersion {
    unsigned major = 0, minor = 0;
};
LinkerVersion version_of(const NvJitLink& library) {
    LinkerVersion version;
    library.nvJitLinkVersion(&version.major, &version.minor);
    return version;
}

// One link. False when nvJitLink refuses the options; it has no log to say which.
class Linker {
  public:
    Linker(const NvJitLink& library, const std::vector<std::string>& arguments) : library_(library) {
        std::vector<const char*> argv;
        for (const auto& argument : arguments) argv.push_back(argument.c_str());
        const auto count = static_cast<std::uint32_t>(argv.size());
        if (library.nvJitLinkCreate(&handle_, count, argv.data()) != NVJITLINK_SUCCESS) handle_ = nullptr;
    }
    Linker(const Linker&) = delete;
    Linker& operator=(const Linker&) = delete;
    ~Linker() {
        if (handle_ != nullptr) library_.nvJitLinkDestroy(&handle_);
    }
    explicit operator bool() const { return handle_ != nullptr; }

    nvJitLinkResult add(nvJitLinkInputType type, const void* data, std::size_t size, const char* name) const {
        return library_.nvJitLinkAddData(handle_, type, data, size, name);
    }
    [[nodiscard]] nvJitLinkResult complete() const { return library_.nvJitLinkComplete(handle_); }

    // The linked image and its log; no image when nvJitLink has none.
    [[nodiscard]] Cubin linked() const {
        Cubin cubin;
        std::size_t size = 0;
        if (library_.nvJitLinkGetLinkedCubinSize(handle_, &size) == NVJITLINK_SUCCESS) {
            cubin.image.resize(size);
            if (library_.nvJitLinkGetLinkedCubin(handle_, cubin.image.data()) != NVJITLINK_SUCCESS)
                cubin.image.clear();
        }
        cubin.log = log(library_.nvJitLinkGetInfoLogSize, library_.nvJitLinkGetInfoLog);
        return cubin;
    }

    [[nodiscard]] std::string error_log(nvJitLinkResult result) const {
        std::string text = log(library_.nvJitLinkGetErrorLogSize, library_.nvJitLinkGetErrorLog);
        return text.empty() ? fmt::format("nvJitLink fails with result {}", static_cast<int>(result)) : text;
    }

  private:
    template <class GetSize, class Get> std::string log(GetSize get_size, Get get) const {
        std::size_t size = 0;
        if (get_size(handle_, &size) != NVJITLINK_SUCCESS || size == 0) return {};
        std::string text(size + 1, '\0');
        if (get(handle_, text.data()) != NVJITLINK_SUCCESS) return {};
        return trimmed_log(std::move(text));
    }

    const NvJitLink& library_;
    nvJitLinkHandle handle_ = nullptr;
};

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

class LinkerAsAssembler final : public Assembler {
  public:
    std::string_view name() const override { return "nvjitlink"; }

    std::string version() const override {
        static const std::string version = [this] {
            const auto library = open_nvjitlink();
            if (!library) return std::string();
            const auto [major, minor] = version_of(**library);
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
        const Linker linker(*TRY(open_nvjitlink()), arguments_of(assembly, options));
        if (!linker) return fail(Errc::assemble_failed, "nvJitLink does not know one of the options");
        // nvJitLink reads to a zero byte when it looks for the end of the text.
        const std::string text(ptx);
        nvJitLinkResult result = linker.add(NVJITLINK_INPUT_PTX, text.data(), text.size() + 1, "ptx");
        if (result == NVJITLINK_SUCCESS) result = linker.complete();
        if (result != NVJITLINK_SUCCESS) return assembly_error(linker.error_log(result), ptx);
        Cubin cubin = linker.linked();
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
std::string input_problem(const NvJitLink& library, std::span<const std::byte> cubin, std::size_t index) {
    if (!is_whole_cubin(cubin)) return fmt::format("input {} is no whole cubin", index);
    const auto [major, minor] = version_of(library);
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
    static const LinkerAsAssembler assembler;
    return &assembler;
}

Expected<Cubin> link_cubins(std::span<const std::span<const std::byte>> cubins, std::string_view target,
                            const AssembleLimits& limits) {
    const auto begin = Clock::now();
    if (cubins.empty()) return fail(Errc::argument_invalid, "no cubins to link");
    TRY(check_target(target));
    const NvJitLink& library = *TRY(open_nvjitlink());
    for (std::size_t i = 0; i < cubins.size(); ++i)
        if (std::string problem = input_problem(library, cubins[i], i); !problem.empty())
            return link_error(std::move(problem), i);

    const auto known = find_architecture(target);
    const Linker linker(library, {fmt::format("-arch={}", known ? name(*known) : std::string(target)),
                                  "-verbose", "-no-cache"});
    if (!linker) return fail(Errc::link_failed, "nvJitLink cannot start");
    for (std::size_t i = 0; i < cubins.size(); ++i) {
        const std::string name = fmt::format("input {}", i);
        const auto result =
            linker.add(NVJITLINK_INPUT_CUBIN, cubins[i].data(), cubins[i].size(), name.c_str());
        if (result != NVJITLINK_SUCCESS) return link_error(linker.error_log(result), i);
    }
    if (const auto result = linker.complete(); result != NVJITLINK_SUCCESS)
        return link_error(linker.error_log(result), 0);
    Cubin cubin = linker.linked();
    if (!is_whole_cubin(cubin.image)) return fail(Errc::link_failed, "nvJitLink gives no cubin");
    cubin.assemble_ms = milliseconds_since(begin);
    complete_usage(cubin);
    TRY(check_limits(cubin.functions, limits));
    cubin.assembler = makers_of(cubin.image);
    cubin.losses = parse_losses(cubin.log);
    return cubin;
}

}  // namespace ptxgraft
