// The paths of the trees, which CMake defines for this file alone.

#include "support/paths.hpp"

namespace ptxgraft::test {

std::string source_path(std::string_view path) { return PTXGRAFT_SOURCE_DIR "/" + std::string(path); }
std::string build_path(std::string_view path) { return PTXGRAFT_BINARY_DIR "/" + std::string(path); }
std::string corpus_folder() { return PTXGRAFT_CORPUS_DIR; }

}  // namespace ptxgraft::test
