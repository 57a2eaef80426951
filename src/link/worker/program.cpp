// Where programs of ptxgraft stand: beside the library in a build, among the programs of an installation.

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "link/worker/partner.hpp"

namespace ptxgraft::link::worker {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

fs::path library_path() {
    Dl_info info{};
    const bool is_known = ::dladdr(reinterpret_cast<const void*>(&find_program), &info) && info.dli_fname;
    return is_known ? fs::path(info.dli_fname) : fs::path();
}

// An installation may be moved, so all of them are relative; its library may be met through a link.
std::vector<fs::path> candidates(const std::string& name) {
    std::vector<fs::path> all;
    std::error_code error;
    const fs::path library = library_path();
    for (const fs::path& path : {library, fs::canonical(library, error)})
        for (const char* folder : {".", PTXGRAFT_PROGRAMS_FROM_LIBRARY})
            if (!path.empty()) all.push_back(path.parent_path() / folder / name);
    if (const fs::path running = fs::read_symlink("/proc/self/exe", error); !running.empty())
        all.push_back(running.parent_path() / name);
    return all;
}

}  // namespace

Expected<std::string> find_program(const std::string& given, const std::string& name) {
    std::error_code error;
    if (!given.empty()) {
        if (const fs::path path = fs::absolute(given, error); is_program(path)) return path.string();
        return fail(Errc::assembler_not_usable, fmt::format("there is no program {}", given));
    }
    std::vector<std::string> searched;
    for (const fs::path& path : candidates(name)) {
        if (is_program(path)) return fs::absolute(path, error).lexically_normal().string();
        searched.push_back(path.lexically_normal().string());
    }
    return fail(Errc::assembler_not_usable,
                fmt::format("there is no {}; searched: {}", name, fmt::join(searched, ", ")));
}

}  // namespace ptxgraft::link::worker
