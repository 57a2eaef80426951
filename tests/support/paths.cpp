// The paths of the trees, which CMake defines for this file alone.

#include "support/paths.hpp"

#include <algorithm>
#include <utility>

namespace ptxgraft::test {

std::string source_path(std::string_view path) { return PTXGRAFT_SOURCE_DIR "/" + std::string(path); }
std::string build_path(std::string_view path) { return PTXGRAFT_BINARY_DIR "/" + std::string(path); }
std::string corpus_folder() { return PTXGRAFT_CORPUS_DIR; }

std::string program_path(std::string_view name) {
    constexpr std::pair<std::string_view, const char*> programs[] = {{"ptxas", PTXGRAFT_PTXAS_PROGRAM},
                                                                     {"nvcc", PTXGRAFT_NVCC_PROGRAM},
                                                                     {"nvdisasm", PTXGRAFT_NVDISASM_PROGRAM},
                                                                     {"clang++", PTXGRAFT_CLANG_PROGRAM}};
    return std::ranges::find(programs, name, &std::pair<std::string_view, const char*>::first)->second;
}

}  // namespace ptxgraft::test
