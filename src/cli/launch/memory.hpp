#pragma once
/// @file memory.hpp
/// The buffers of a launch on a device: what they begin as, the arguments that refer to them, what they hold
/// afterwards.

#include <string>
#include <vector>

#include "cli/launch/file.hpp"

namespace ptxgraft::cli {

/// What a buffer held after a launch.
struct LaunchResult {
    const PlannedOutput* output;
    Array array;
};

/// Errors are described; the verb ends with them.
class LaunchMemory {
  public:
    /// Makes and fills the buffers. `function` is of the module whose variables the plan names.
    LaunchMemory(LaunchPlan& plan, const Device& device, const Function& function);

    /// The bytes of a launch's arguments.
    [[nodiscard]] std::vector<std::vector<std::byte>> arguments(const PlannedLaunch& launch) const;
    /// Reads what is to be written or looked at after a launch.
    void read_outputs(const PlannedLaunch& launch, std::vector<LaunchResult>& results) const;

  private:
    void put_places(std::vector<std::byte>& bytes, const std::vector<PlannedPlace>& places) const;
    [[nodiscard]] Buffer make(PlannedBuffer& planned, const Device& device, const Function& function) const;

    LaunchPlan& plan_;
    std::vector<Buffer> buffers_;
};

/// Writes the arrays to their files: all or none. The verb ends with an error.
void write_outputs(std::vector<LaunchResult>& results);

/// What is not as it is expected: a buffer by its name, and how it differs.
struct BufferDifference {
    std::string buffer, what;
};
[[nodiscard]] std::vector<BufferDifference> differences(const LaunchPlan& plan,
                                                        const std::vector<LaunchResult>& results);

/// Ends the verb with an error that has its place in the launch file, if there is one.
[[noreturn]] void fail_in_launch_file(Error error, const LaunchPlan& plan, Span span);

}  // namespace ptxgraft::cli
