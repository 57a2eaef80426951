#pragma once
/// @file file.hpp
/// What `ptxgraft run` launches: buffers, and launches with their shapes and arguments, from the flags or
/// from a launch file. launch_file_schema() says what a launch file looks like.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/source.hpp"
#include "cli/argument.hpp"
#include "cli/expect.hpp"
#include "ptxgraft/device.hpp"

namespace ptxgraft::cli {

/// What only the device knows, and a place for it in bytes: the address of a buffer, or a tensor map of one.
struct PlannedPlace {
    static constexpr std::uint32_t no_map = ~std::uint32_t{0};
    std::size_t at = 0;          ///< in the bytes, of which an address takes 8 and a map 128
    std::size_t buffer = 0;      ///< in LaunchPlan::buffers
    std::uint64_t offset = 0;    ///< from the buffer's first byte
    std::uint32_t map = no_map;  ///< in LaunchPlan::maps
    Span span = {};              ///< in the launch file
};

/// Bytes with such places in them, which hold zeros until then.
struct PlannedBytes {
    std::vector<std::byte> bytes = {};
    std::vector<PlannedPlace> places = {};
};

/// How a buffer begins.
enum class Contents : std::uint8_t {
    nothing,   ///< as 0xFF bytes (a NaN in every floating type): what the kernel does not write is seen
    data,      ///< as the data of `array`, with `places`
    source,    ///< as `source` says
    variable,  ///< as the module says
};

/// An array in device memory.
struct PlannedBuffer {
    std::string text;  ///< what messages call it
    Contents contents = Contents::nothing;
    Array array = {};           ///< type and shape; data where that is how it begins
    std::uint64_t bytes = 0;    ///< of the whole array
    std::string variable = {};  ///< the module's variable that it is; empty: it has memory of its own
    bool has_shape = true;      ///< else it is a variable whose size the module alone knows
    std::optional<Source> source = {};
    ElementType type = {};                  ///< of its elements
    std::vector<PlannedPlace> places = {};  ///< in its data
    Span span = {};                         ///< in the launch file
};

/// Where a buffer goes after a launch, and what it is to hold then.
struct PlannedOutput {
    std::size_t buffer = 0;
    std::string file = {};  ///< empty: to none
    std::optional<Expectation> expected = {};
};

/// An argument: its bytes.
struct PlannedArgument {
    std::string text;
    Nature nature = Nature::bits;
    PlannedBytes value = {};
    Span span = {};  ///< in the launch file
};

struct PlannedLaunch {
    std::string entry = {};  ///< empty: the only one
    LaunchConfig config = {};
    std::uint64_t repeat = 1;
    std::vector<PlannedArgument> arguments = {};
    std::vector<PlannedOutput> outputs = {};  ///< after it
};

struct LaunchPlan {
    std::vector<PlannedBuffer> buffers = {};
    /// At least one. What buffers themselves say of their ends are outputs of the last one.
    std::vector<PlannedLaunch> launches = {};
    std::vector<TensorMapOptions> maps = {};        ///< without their addresses
    std::shared_ptr<const SourceText> source = {};  ///< the launch file; null for flags
};

/// The arguments of flags, for the plan's only launch. Reads the arrays of input files. Errors are described;
/// the verb ends with them.
void plan_arguments(LaunchPlan& plan, std::vector<KernelArgument> arguments);

/// Whether a buffer of so many bytes has room for what stands at a place: its address, or its tensor map.
/// Errors: Errc::launch_file_invalid at the place.
[[nodiscard]] Expected<void> check_place(const PlannedPlace& place, const LaunchPlan& plan,
                                         std::uint64_t bytes);

/// Reads the bytes of a file that a launch file names.
using FileReader = std::function<Expected<std::string>(const std::string& path)>;

/// Reads a launch file and the arrays that it names, by paths relative to it. Errors have their place in the
/// file: Errc::launch_file_invalid, Errc::file_not_found.
[[nodiscard]] Expected<LaunchPlan> read_launch_file(const std::string& path);
/// The same of a text, with other files.
[[nodiscard]] Expected<LaunchPlan> parse_launch_file(std::string text, const std::string& path,
                                                     const FileReader& files);

/// What a launch file looks like, for `run --help`.
[[nodiscard]] std::string launch_file_schema();

}  // namespace ptxgraft::cli
