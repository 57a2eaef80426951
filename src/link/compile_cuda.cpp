// CUDA C++ to PTX by NVRTC, through the cache.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "base/try.hpp"
#include "link/cache.hpp"
#include "link/cache_key.hpp"
#include "link/cuda_library.hpp"
#include "link/embedded.hpp"
#include "link/text.hpp"
#include "link/toolkit.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

using namespace link;

struct ProgramDeleter {
    using pointer = nvrtcProgram;
    const Nvrtc* nvrtc;
    void operator()(nvrtcProgram program) const { nvrtc->nvrtcDestroyProgram(&program); }
};
using Program = std::unique_ptr<nvrtcProgram, ProgramDeleter>;

bool sets_standard(const std::string& option) {
    return option.starts_with("-std") || option.starts_with("--std");
}

// NVRTC's command line. A virtual architecture: NVRTC would otherwise assemble as well.
std::vector<std::string> arguments_of(const CudaOptions& options) {
    std::vector<std::string> arguments;
    const std::string_view target = options.target;
    arguments.push_back(fmt::format("--gpu-architecture=compute_{}", target.substr(target.find('_') + 1)));
    if (std::none_of(options.options.begin(), options.options.end(), sets_standard))
        arguments.emplace_back("--std=c++20");
    for (const auto& define : options.defines) arguments.push_back("-D" + define);
    for (const auto& dir : options.include_dirs) arguments.push_back("-I" + dir);
    for (const auto& option : options.options) arguments.push_back(option);
    if (options.toolkit_headers)
        for (const auto& dir : toolkit_include_dirs()) arguments.push_back("-I" + dir);
    return arguments;
}

std::string program_log(const Nvrtc& nvrtc, nvrtcProgram program) {
    std::size_t size = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size == 0) return {};
    std::string log(size, '\0');
    if (nvrtc.nvrtcGetProgramLog(program, log.data()) != NVRTC_SUCCESS) return {};
    return trimmed_log(std::move(log));
}

Expected<std::string> program_ptx(const Nvrtc& nvrtc, nvrtcProgram program) {
    std::size_t size = 0;
    nvrtcResult result = nvrtc.nvrtcGetPTXSize(program, &size);
    std::string text(size, '\0');
    if (result == NVRTC_SUCCESS) result = nvrtc.nvrtcGetPTX(program, text.data());
    if (result != NVRTC_SUCCESS)
        return fail(Errc::cuda_compile_failed,
                    fmt::format("NVRTC gives no PTX ({}); do the options ask for another output?",
                                nvrtc.nvrtcGetErrorString(result)));
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

// The number before `): ` in `FILE(12): error: …`; 0 when the line is no error in that file.
std::uint32_t error_line_number(std::string_view line, std::string_view file) {
    if (!line.starts_with(file)) return 0;
    line.remove_prefix(file.size());
    if (!line.starts_with('(')) return 0;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(line.data() + 1, line.data() + line.size(), number);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return error == std::errc() && (line.starts_with("): error") || line.starts_with("): catastrophic error"))
               ? number
               : 0;
}

// The place of the first error. NVRTC repeats the source line, indented by two, and puts a caret below the
// column.
Span error_span(std::string_view log, std::string_view file, std::string_view source) {
    for (std::string_view rest = log; !rest.empty();) {
        const std::uint32_t number = error_line_number(take_line(rest), file);
        if (number == 0) continue;
        Span span = line_span(source, number);
        if (!span.known()) return span;
        const std::string_view line = source.substr(span.begin, span.end - span.begin);
        for (std::string_view shown = take_line(rest); shown.starts_with("  "); shown = take_line(rest)) {
            if (trim(shown) != line) continue;
            const std::size_t caret = take_line(rest).find('^');
            const std::size_t begin = shown.find_first_not_of(" \t");  // the span begins there too
            if (caret == std::string_view::npos || caret < begin || caret - begin >= line.size()) break;
            return word_span(source, {span.begin + static_cast<std::uint32_t>(caret - begin), span.end});
        }
        return span;
    }
    return {};
}

// Whether it is the source's fault, which another attempt does not change, or NVRTC's.
Errc failure_of(nvrtcResult result) {
    switch (result) {
        case NVRTC_ERROR_COMPILATION:
        case NVRTC_ERROR_INVALID_INPUT:
        case NVRTC_ERROR_INVALID_OPTION: return Errc::cuda_compile_failed;
        case NVRTC_ERROR_OUT_OF_MEMORY: return Errc::out_of_memory;
        default: return Errc::compiler_not_usable;
    }
}

Expected<Ptx> compile(std::string_view source, const CudaOptions& options,
                      const std::vector<std::string>& arguments) {
    const char* const header_texts[] = {site_cuh.data()};
    const char* const header_names[] = {"ptxgraft/site.cuh"};
    const std::string text(source);
    const Nvrtc& nvrtc = *TRY(open_nvrtc());
    load_nvrtc_builtins();
    nvrtcProgram created = nullptr;
    if (const auto r = nvrtc.nvrtcCreateProgram(&created, text.c_str(), options.file_name.c_str(), 1,
                                                header_texts, header_names);
        r != NVRTC_SUCCESS)
        return fail(failure_of(r), std::string(nvrtc.nvrtcGetErrorString(r)));
    const Program program(created, ProgramDeleter{&nvrtc});
    std::vector<const char*> argv;
    for (const auto& argument : arguments) argv.push_back(argument.c_str());
    const nvrtcResult result =
        nvrtc.nvrtcCompileProgram(program.get(), static_cast<int>(argv.size()), argv.data());
    std::string log = program_log(nvrtc, program.get());
    if (result != NVRTC_SUCCESS) {
        if (log.find("open source file") != std::string::npos) {
            log +=
                "\nThis is NVRTC, which compiles device code alone and has no headers of the host's C and "
                "C++: "
                "leave them out, or take those that CUDA brings, as <cuda/std/cstdint>.";
            const std::string missing = options.toolkit_headers ? missing_headers() : std::string();
            if (!missing.empty()) log += "\n" + missing;
        }
        const Span span = error_span(log, options.file_name, source);
        return fail(failure_of(result), span,
                    log.empty() ? nvrtc.nvrtcGetErrorString(result) : std::move(log));
    }
    auto ptx = TRY(program_ptx(nvrtc, program.get()));
    return Ptx{.text = std::move(ptx), .log = std::move(log)};
}

// NVRTC takes C strings: a zero byte would end them early without a word.
Expected<void> check_no_zero(std::string_view source, const std::vector<std::string>& arguments) {
    if (const auto at = source.find('\0'); at != std::string_view::npos) {
        const auto begin = static_cast<std::uint32_t>(at);
        return fail(Errc::argument_invalid, {begin, begin + 1}, "the CUDA source contains a zero byte");
    }
    for (const auto& argument : arguments)
        if (argument.find('\0') != std::string::npos)
            return fail(Errc::argument_invalid, "a compiler option contains a zero byte");
    return {};
}

// A folder that cannot be one is no reason not to compile.
std::optional<Cache> cache_of(const std::string& dir) {
    if (dir.empty()) return std::nullopt;
    auto cache = Cache::open({.dir = dir, .memory_bytes = 0});
    return cache ? std::optional(std::move(*cache)) : std::nullopt;
}

}  // namespace

Expected<Ptx> compile_cuda(std::string_view source, const CudaOptions& given) {
    if (source.size() >= Span::none) return fail(Errc::text_too_large);
    CudaOptions options = given;
    if (options.file_name.empty()) options.file_name = "skeleton.cu";
    TRY(check_target(options.target));
    const std::vector<std::string> arguments = arguments_of(options);
    TRY(check_no_zero(source, arguments));
    const std::optional<Cache> own = options.cache == nullptr ? cache_of(options.cache_dir) : std::nullopt;
    const Cache* const cache = own ? &*own : options.cache;
    const auto key = cache != nullptr ? compilation_key(source, options, arguments) : std::nullopt;
    if (!key) return compile(source, options, arguments);
    CacheLevel from = CacheLevel::none;
    Ptx ptx = *TRY(find_or_make(
        *cache, *key, [&] { return compile(source, options, arguments); }, &from));
    ptx.from_cache = from != CacheLevel::none;
    return ptx;
}

}  // namespace ptxgraft
