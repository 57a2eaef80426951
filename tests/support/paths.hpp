#pragma once
// Where the tests find the trees: the only file that is compiled with their paths is paths.cpp, so that equal
// tests of two trees are equal to a compiler's cache.

#include <string>
#include <string_view>

namespace ptxgraft::test {

/// The absolute path of a file of the source tree, by its path in there ("tests/golden/cli/affine.ptx").
std::string source_path(std::string_view path);
/// The same of the build tree ("ptxgraft", "libfake_cuda.so").
std::string build_path(std::string_view path);
/// The folder of real PTX from many compilers (CMake's PTXGRAFT_CORPUS), which need not exist.
std::string corpus_folder();
/// Of the toolkit's "ptxas" and "nvcc", an "nvdisasm" for the default assembler, and "clang++":
/// its path, or "" where there is none.
std::string program_path(std::string_view name);

}  // namespace ptxgraft::test
