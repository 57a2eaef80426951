#pragma once
/// @file checker_data.hpp
/// What a checker has made once: the launches of each shape, the inputs and right results of each case.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ptxgraft/measure/workload.hpp"
#include "template/comparison.hpp"
#include "template/launches.hpp"

namespace ptxgraft::measure {

/// Buffers for the tensors of a launch. On a GPU each stands between canaries, so that what is written beside
/// it is seen; the emulator sees that itself.
class Memory {
  public:
    [[nodiscard]] static Expected<Memory> make(const TemplateLaunch& launch, const Device& device);

    [[nodiscard]] const std::vector<Buffer>& tensors() const { return tensors_; }
    [[nodiscard]] Expected<bool> has_canaries() const;  ///< all of them, as they were

  private:
    std::vector<Buffer> whole_, tensors_;
};

/// Inputs, and what is right for them.
struct Case {
    CheckedCase where;
    std::vector<std::vector<std::byte>> inputs;  ///< of the kernel's tensors; empty where one has none
    std::vector<templates::Elements> wanted;     ///< of the workload's outputs; without a type: not compared
    TemplateTolerance tolerance;
    std::uint64_t instructions = 0;  ///< of the baseline, on the emulator
};

struct Checker::Data {
    Workload workload;
    Device device;
    CheckOptions options;
    Skeleton skeleton;
    Kernel baseline;
    std::vector<templates::Launches> launches;  ///< of the shapes
    std::vector<std::vector<Memory>> memory;    ///< for each shape, in turns
    std::vector<Case> cases;
    std::vector<CheckedCase> places;  ///< of the cases
    std::vector<Regime> dropped;
    std::uint64_t checks = 0;  ///< that were made
};

/// What one launch of a kernel did.
struct Launched {
    Finding finding = Finding::right;
    Error error = {};
    std::uint64_t instructions = 0;
    templates::Comparison comparison = {};
    std::vector<templates::Elements> outputs = {};  ///< of the workload's outputs, where they are compared
};
/// Restores inputs, poisons outputs, launches, and compares. `turn` chooses the memory.
[[nodiscard]] Expected<Launched> launch_case(const Checker::Data& data, const Kernel& kernel, const Case& of,
                                             std::uint64_t turn);

}  // namespace ptxgraft::measure
