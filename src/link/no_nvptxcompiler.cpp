#include "ptxgraft/link.hpp"

namespace ptxgraft {

const Assembler* nvptxcompiler() { return nullptr; }

}  // namespace ptxgraft
