// Stands in for nvptxcompiler.cpp where the build found no nvPTXCompiler.

#include "ptxgraft/link.hpp"

namespace ptxgraft {

const Assembler* nvptxcompiler() { return nullptr; }

}  // namespace ptxgraft
