#pragma once
/// @file templates.hpp
/// Where the GPU programs find the templates.

#include <filesystem>
#include <string>

#include "support/paths.hpp"

namespace ptxgraft {

/// The folder of templates: beside this program in a bundle, else the source tree's.
inline std::string templates_folder() {
    const auto bundled =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../share/ptxgraft/templates/";
    return std::filesystem::exists(bundled) ? bundled.string() : test::source_path("templates/");
}

}  // namespace ptxgraft
