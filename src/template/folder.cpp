// Where the library's templates stand: in the data of an installation, which may be moved, else in the
// sources that it was built from.

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "template/manifest.hpp"

namespace ptxgraft::templates {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> candidates() {
    std::vector<fs::path> all;
    std::error_code error;
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&template_folder), &info) != 0 && info.dli_fname != nullptr)
        for (const fs::path& library : {fs::path(info.dli_fname), fs::canonical(info.dli_fname, error)})
            all.push_back((library.parent_path() / PTXGRAFT_TEMPLATES_FROM_LIBRARY).lexically_normal());
    all.emplace_back(PTXGRAFT_TEMPLATES_OF_SOURCE);
    return all;
}

}  // namespace

Expected<std::string> template_folder(const std::string& given) {
    std::error_code error;
    if (!given.empty()) {
        if (fs::is_directory(given, error)) return given;
        return fail(Errc::file_not_found, given);
    }
    std::vector<std::string> searched;
    for (const fs::path& path : candidates()) {
        if (fs::is_directory(path, error)) return path.string();
        searched.push_back(path.string());
    }
    return fail(Errc::file_not_found, fmt::format("{}", fmt::join(searched, ", ")));
}

}  // namespace ptxgraft::templates
