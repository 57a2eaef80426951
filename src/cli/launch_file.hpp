#pragma once
/// @file launch_file.hpp
/// What `ptxgraft run` launches: entry, shape, buffers and arguments, from the flags or from a launch file:
///
///     { "entry": "gemm", "grid": [4,4,1], "block": [128,1,1], "cluster": [2,1,1], "smem": 65536,
///     "cooperative": false,
///       "buffers": { "a": {"in": "a.npy"}, "c": {"out": "c.npy", "type": "f32", "shape": [64,64],
///                    "expect": "want.npy", "tolerance": {"rel": 1e-3}} },
///       "args": [ {"buffer": "a"}, {"buffer": "c", "offset": 256}, {"u32": 64}, {"bytes": "00ff12"},
///                 {"tensormap": {"buffer": "a", "type": "bf16", "box": [64,64], "swizzle": "128B"}} ] }

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argument.hpp"
#include "expect.hpp"
#include "ptxgraft/device.hpp"

namespace ptxgraft::cli {

/// An array in device memory. Without an input file it starts as 0xFF bytes (a NaN in every floating type),
/// so that what the kernel does not write is seen.
struct PlannedBuffer {
    std::string text;  ///< what messages call it
    std::string input_file = {}, output_file = {};
    Array array = {};         ///< data, type and shape; of one without an input file no data
    std::uint64_t bytes = 0;  ///< of the whole array
    std::optional<Expectation> expected = {};
};

/// An argument: a value, the address of a buffer, or a tensor map.
struct PlannedArgument {
    std::string text;
    Nature nature = Nature::bits;
    std::vector<std::byte> value = {};
    std::optional<std::size_t> buffer = {};    ///< of an address or a tensor map
    std::uint64_t offset = 0;                  ///< from the buffer's first byte
    std::optional<TensorMapOptions> map = {};  ///< its address: the buffer's and the offset
    Span span = {};                            ///< in the launch file
};

struct LaunchPlan {
    std::string entry = {};  ///< empty: the only one
    LaunchConfig config = {};
    std::vector<PlannedBuffer> buffers = {};
    std::vector<PlannedArgument> arguments = {};
    std::shared_ptr<const SourceText> source = {};  ///< the launch file; null for flags
};

/// The arguments of flags. Reads the arrays of input files. Errors are described; the verb ends with them.
void plan_arguments(LaunchPlan& plan, std::vector<KernelArgument> arguments);

/// Reads a launch file and the arrays that it names, by paths relative to it. Errors have their place in the
/// file: Errc::launch_file_invalid, Errc::file_not_found.
[[nodiscard]] Expected<LaunchPlan> read_launch_file(const std::string& path);

}  // namespace ptxgraft::cli
