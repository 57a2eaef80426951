// What every bench's JSON says of itself besides the machine: the versions whose work it measures.

#include <benchmark/benchmark.h>

#include "ptxgraft/link.hpp"
#include "ptxgraft/ptxgraft.h"

namespace {

const bool is_said = [] {
    benchmark::AddCustomContext("ptxgraft", ptxgraft_library_get_version());
    benchmark::AddCustomContext("assembler", ptxgraft_library_get_assembler());
    benchmark::AddCustomContext("nvjitlink", ptxgraft::nvjitlink()->version());
    benchmark::AddCustomContext("nvrtc", ptxgraft::nvrtc_version());
    return true;
}();

}  // namespace
