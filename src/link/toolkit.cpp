// CUDA's parts at run time: where headers stand, which NVRTC is loaded and what it knows.

#include "link/toolkit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/try.hpp"
#include "link/cuda_library.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;

// Empty where it cannot be loaded.
fs::path nvrtc_path() {
    const auto nvrtc = link::open_nvrtc();
    Dl_info info{};
    return nvrtc && ::dladdr(reinterpret_cast<const void*>((*nvrtc)->nvrtcVersion), &info) && info.dli_fname
               ? fs::path(info.dli_fname)
               : fs::path();
}

// Where headers stand from the folder of libnvrtc: a toolkit, a wheel of CUDA 13 or what `cmake --install`
// puts beside the library, one wheel a part (CUDA 12).
constexpr std::string_view header_folders[] = {"../include", "../targets/x86_64-linux/include",
                                               "../../cuda_runtime/include", "../../cuda_cccl/include"};

std::vector<fs::path> candidates() {
    std::vector<fs::path> all;
    const fs::path library = nvrtc_path();
    std::error_code error;
    for (const fs::path& path : {library, fs::canonical(library, error)}) {
        if (path.empty()) continue;
        for (const auto folder : header_folders)
            all.push_back((path.parent_path() / folder).lexically_normal());
    }
    for (const char* built_with : {PTXGRAFT_CUDA_INCLUDE_DIR, PTXGRAFT_CCCL_INCLUDE_DIR})
        if (*built_with != '\0') all.emplace_back(built_with);
    return all;
}

std::vector<std::string> find_include_dirs() {
    std::vector<std::string> found;
    // CUDA's own headers, and the C++ ones (CCCL), which have a folder of their own since CUDA 13: the first
    // of each.
    for (const auto& [header, folder] :
         {std::pair{"cuda_fp16.h", ""}, std::pair{"cccl/cuda/std/version", "cccl"}}) {
        for (const fs::path& dir : candidates()) {
            std::error_code error;
            if (!fs::exists(dir / header, error)) continue;
            found.push_back(std::string(folder).empty() ? dir.string() : (dir / folder).string());
            break;
        }
    }
    return found;
}

std::vector<int> supported_architectures(const link::Nvrtc& nvrtc) {
    int count = 0;
    if (nvrtc.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0) return {};
    std::vector<int> numbers(static_cast<std::size_t>(count));
    if (nvrtc.nvrtcGetSupportedArchs(numbers.data()) != NVRTC_SUCCESS) return {};
    return numbers;
}

}  // namespace

std::vector<std::string> toolkit_include_dirs() {
    static const std::vector<std::string> dirs = find_include_dirs();
    return dirs;
}

std::string nvrtc_version() {
    const auto nvrtc = link::open_nvrtc();
    int major = 0, minor = 0;
    return nvrtc && (*nvrtc)->nvrtcVersion(&major, &minor) == NVRTC_SUCCESS
               ? fmt::format("{}.{}", major, minor)
               : std::string();
}

namespace link {

void load_nvrtc_builtins() {
    static const bool is_tried = [] {
        std::error_code error;
        for (const fs::path& library : {nvrtc_path(), fs::canonical(nvrtc_path(), error)}) {
            const fs::path builtins = library.parent_path() / ("libnvrtc-builtins.so." + nvrtc_version());
            if (library.has_parent_path() && ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr)
                break;  // it stays
        }
        return true;
    }();
    static_cast<void>(is_tried);
}

std::string missing_headers() {
    const std::vector<std::string> dirs = toolkit_include_dirs();
    const bool has_cccl =
        std::any_of(dirs.begin(), dirs.end(), [](const std::string& dir) { return dir.ends_with("cccl"); });
    if (has_cccl && dirs.size() == 2) return {};
    std::vector<std::string> searched;
    for (const fs::path& path : candidates()) searched.push_back(path.string());
    return fmt::format("No folder with {} was found; searched: {}. CudaOptions::include_dirs may name one.",
                       dirs.empty() ? "CUDA's headers (cuda_fp16.h)"
                       : has_cccl   ? "CUDA's own headers (cuda_fp16.h)"
                                    : "CUDA's C++ headers (cccl)",
                       fmt::join(searched, ", "));
}

std::string nvrtc_identity() {
    std::error_code error;
    const fs::path path = fs::canonical(nvrtc_path(), error);
    const auto size = fs::file_size(path, error);
    const auto time = fs::last_write_time(path, error).time_since_epoch().count();
    return fmt::format("{} {} {} {}", nvrtc_version(), path.string(), size, time);
}

Expected<void> check_target(std::string_view target) {
    const Nvrtc* nvrtc = TRY(open_nvrtc());
    static const std::vector<int> known = supported_architectures(*nvrtc);
    const auto architecture = find_architecture(target);
    if (architecture && std::ranges::find(known, architecture->sm) != known.end()) return {};
    return fail(Errc::target_unknown,
                fmt::format("'{}'; CUDA {} knows sm_{} (with a from sm_90 on, with f from sm_100 on)", target,
                            nvrtc_version(), fmt::join(known, " sm_")));
}

}  // namespace link
}  // namespace ptxgraft
