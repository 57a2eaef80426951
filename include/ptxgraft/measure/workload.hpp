#pragma once
/// @file measure/workload.hpp
/// What the variants of a kernel have to compute, and whether one does.
///
/// A **workload** is a template with choices, shapes and inputs, and what is right for them: the template's
/// reference, in double precision, with the stubs of `wanted` in its sites. A **checker** is a workload on a
/// device, with all inputs and right results made once; then each variant costs its own launches alone.
///
/// @code
/// auto workload = Workload::parse(R"({"template": "norm/rms", "shapes": [{"rows": 3, "columns": 257}],
///                                     "wanted": {"epilogue": {"expr": "y = y * sigmoid(y)"}}})");
/// auto checker = Checker::open(*workload, device);
/// auto kernel = checker->skeleton().graft({{"epilogue", stub}}, device);
/// auto check = checker->check(*kernel);          // check->finding == Finding::right
/// @endcode

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/template.hpp"

namespace ptxgraft::measure {

/// What the random inputs of a launch are like.
enum class Regime : std::uint8_t {
    usual,     ///< as the manifest says
    large,     ///< floating-point inputs 16 times as large
    constant,  ///< all elements of a tensor are one number
    special,   ///< among usual ones here and there a zero, either sign, a subnormal, an infinity, NaN
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Regime regime);  ///< "usual"

struct WorkloadOptions {
    Choices choices = {};
    std::string target = {};  ///< of the PTX; empty: the template's
    /// The first is the one that is timed; a variant has to be right for all.
    std::vector<Dimensions> shapes = {};
    std::vector<Regime> regimes = {Regime::usual, Regime::large, Regime::constant, Regime::special};
    /// Stubs of the reference: what right variants compute there. A site without one has the template's
    /// default stub.
    std::vector<Graft> wanted = {};
    /// Stubs of the kernel that variants are compared with, and that has to be right: it shows which regimes
    /// make sense. Sites without one have the template's default stub.
    std::vector<Graft> baseline = {};
    /// What is allowed beside the template's tolerance, as stubs may be approximations.
    double relative = 0, absolute = 0;
    /// What a launch of the first shape cannot do without, for the time that nothing can be faster than; 0:
    /// the bytes of all tensors that are read or written, and no operations.
    double necessary_bytes = 0, necessary_operations = 0;
    std::vector<std::string> null = {};                       ///< tensors that are null pointers
    std::map<std::string, double, std::less<>> numbers = {};  ///< for TemplateLaunch::set
    CudaOptions cuda = {};
};

/// A shared handle. Threads: any number may use one at once.
class PTXGRAFT_API Workload {
  public:
    /// Compiles the template. Errors: those of Template; Errc::site_unknown, stub_signature_mismatch for
    /// grafts; Errc::workload_invalid for no shapes, no regimes, negative numbers.
    [[nodiscard]] static Expected<Workload> make(const Template& from, WorkloadOptions options);
    /// Reads a workload. JSON:
    ///
    /// | key | what it says |
    /// |---|---|
    /// | `template` | its name |
    /// | `folder` | of the templates, where they are not the library's |
    /// | `choices` | tunables by name |
    /// | `target` | `"sm_90a"` |
    /// | `shapes` | a list of objects, dimensions by name |
    /// | `regimes` | a list of names; all where it is missing |
    /// | `wanted`, `baseline` | sites by name: a stack program, or an object with `"program"` or `"expr"` |
    /// | `relative`, `absolute` | WorkloadOptions::relative, absolute |
    /// | `bytes`, `operations` | WorkloadOptions::necessary_bytes, necessary_operations |
    /// | `null` | names of tensors |
    /// | `numbers` | numbers by name |
    ///
    /// Errors: Errc::workload_invalid, with its place; those of make(), of programs and of expressions, with
    /// places in their texts.
    [[nodiscard]] static Expected<Workload> parse(std::string_view text, const CudaOptions& cuda = {});

    [[nodiscard]] const Template& from() const;
    [[nodiscard]] const WorkloadOptions& options() const;
    /// The kernel, compiled for these choices; for any target but the workload's own, compile it again.
    [[nodiscard]] const Skeleton& skeleton() const;
    [[nodiscard]] const Skeleton& reference() const;
    /// What parse() has read, for a Pool; empty for a workload that was made otherwise.
    [[nodiscard]] const std::string& text() const;
    /// The same for equal workloads, between processes: of the PTX of both, shapes, regimes, stubs, numbers.
    [[nodiscard]] std::uint64_t hash() const;

    struct Data;

  private:
    explicit Workload(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

/// What became of a variant that was run. Each way to fail is one of its own: a hang is no crash.
enum class Finding : std::uint8_t {
    right,
    wrong,              ///< an element is farther from the reference than is allowed
    not_deterministic,  ///< two runs on the same inputs differ
    input_changed,      ///< a tensor that is only read is not as it was
    out_of_bounds,      ///< memory beside a tensor is not as it was, or the emulator saw an access there
    race,               ///< the emulator saw a data race
    fault,              ///< the launch failed otherwise; Check::error says how
    hang,               ///< it came to its limit of time or instructions
    device_lost,        ///< the device works no more: not the variant's verdict before it happens again
    rejected,           ///< it was not run: it does not load, or does what no variant may; Check::error
    crashed,            ///< two processes that ran it died (Pool)
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Finding finding);  ///< "not_deterministic"

/// Inputs that were launched.
struct CheckedCase {
    std::size_t shape = 0;  ///< in WorkloadOptions::shapes
    Regime regime = Regime::usual;
    std::uint64_t seed = 0;
};

struct Check {
    Finding finding = Finding::right;
    /// The element whose error is the largest part of what is allowed there (1 and less is right), over the
    /// cases that were run.
    double worst = 0;
    double got = 0, wanted = 0, allowed = 0;  ///< there
    std::string tensor = {};                  ///< the one that it is in, or that was changed
    std::uint64_t element = 0;                ///< in that, in its memory's order
    CheckedCase where = {};
    std::uint32_t cases = 0;         ///< that were run: it ends behind the first that is not right
    std::uint64_t instructions = 0;  ///< on the emulator: of all warps
    Error error = {};                ///< of a launch that failed
};

/// What a checker does with a launch of a variant.
enum class CheckStep : std::uint8_t {
    launch,   ///< it begins
    compare,  ///< it has ended; its results are looked at
};
struct CheckOptions {
    std::uint64_t seed = 1;
    std::uint32_t seeds = 1;  ///< inputs for each shape and regime
    /// Launches for each case. On a GPU two show what a race does; the emulator finds races itself.
    std::uint32_t launches = 0;  ///< 0: 2 on a GPU, 1 on the emulator
    /// On the emulator a variant may run so many times the baseline's instructions of the case.
    double instructions = 10;
    /// Is called before each step of check(), on its thread: for whoever counts the time of launches.
    std::function<void(CheckStep)> on_step = {};
};

/// A workload on a device.
///
/// A variant is launched on buffers whose outputs are poisoned, in a random order of the cases, which no
/// two checks share; on a GPU at another address each time, between canaries that it may not change, and
/// twice.
///
/// Threads: one at a time uses a checker; on the emulator each thread has a device and a checker of its own.
class PTXGRAFT_API Checker {
  public:
    /// Makes inputs, runs the reference and the baseline. A regime in which the baseline is not right is not
    /// checked, if its error is more than 64 times what the template allows there or no number; where it is
    /// less, twice that is allowed. Errors: Errc::baseline_wrong where the baseline is wrong for usual
    /// inputs; those of Skeleton::graft and of launches.
    [[nodiscard]] static Expected<Checker> open(const Workload& workload, const Device& device,
                                                const CheckOptions& options = {});
    /// Runs a variant: `kernel` is of the workload's skeleton, on the checker's device. An error is the
    /// checker's own trouble (Errc::device_differs); what the variant does is a finding.
    [[nodiscard]] Expected<Check> check(const Kernel& kernel);

    [[nodiscard]] const Workload& workload() const;
    [[nodiscard]] const Device& device() const;
    [[nodiscard]] const Skeleton& skeleton() const;               ///< for the device's target
    [[nodiscard]] const Kernel& baseline() const;                 ///< on the device
    [[nodiscard]] const std::vector<CheckedCase>& cases() const;  ///< that are checked
    [[nodiscard]] const std::vector<Regime>& dropped() const;     ///< regimes in which the baseline is wrong

    Checker(Checker&&) noexcept;
    Checker& operator=(Checker&&) noexcept;
    ~Checker();
    struct Data;

  private:
    explicit Checker(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

}  // namespace ptxgraft::measure
