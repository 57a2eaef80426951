#pragma once
/// @file measure/pool.hpp
/// Checking and timing variants in worker processes, one for each device: a variant that hangs, explodes or
/// takes its process down is a finding about that variant, and no other one is lost.
///
/// @code
/// const auto pool = Pool::open({.devices = {"cuda:0", "cuda:1"}});
/// const std::string workload = R"({"template": "norm/rms", "shapes": [{"rows": 3, "columns": 257}]})";
/// for (const Expected<Check>& check : pool->check(workload, variants))   // in the order of the variants
///     if (check && check->finding == Finding::right) …
/// const PoolTiming timing = pool.time(workload, variants, {.timing = {.tier = Tier::race}});
/// @endcode
///
/// A **worker** is a process of `ptxgraft worker --device NAME`, which speaks frames (src/measure/README.md)
/// over its standard input and output; so what starts it may as well be `ssh`, `srun` or a script. The pool
/// counts the time of each phase by its own clock. A worker that is late is killed; a **spare**, which has
/// started and has the workload open already, takes its place, and has to find the baseline right before what
/// it says counts.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/measure/timing.hpp"

#include "ptxgraft/measure/workload.hpp"

namespace ptxgraft::measure {

/// A kernel that is to be checked: the PTX of a workload's skeleton with stubs in (Skeleton::render).
struct VariantCode {
    std::string ptx = {};
    std::string entry = {};  ///< may be empty when the module has one entry
    /// Machine code of that PTX, for a GPU; null: the worker assembles, which hostile PTX should not be given
    /// the chance to: worker_pool() assembles where nothing is lost. The emulator runs the PTX.
    std::shared_ptr<const Cubin> cubin = {};
};
/// What a skeleton makes of these stubs. With an assembler there is machine code as well, for the module's
/// own target. Errors: those of Skeleton::render and of the assembler.
[[nodiscard]] PTXGRAFT_API Expected<VariantCode> code_of(const Skeleton& skeleton,
                                                         std::span<const Graft> grafts,
                                                         std::string_view entry,
                                                         const Assembler* assembler = nullptr);

/// How long each phase may take, by the pool's clock.
struct Deadlines {
    using Time = std::chrono::milliseconds;
    Time hello = std::chrono::seconds(20);   ///< from a worker's start to its first frame
    Time open = std::chrono::minutes(5);     ///< a workload: it is compiled, its right results are made
    Time load = std::chrono::seconds(2);     ///< a variant, from when it is sent until it is on the device
    Time launch = std::chrono::seconds(1);   ///< of a variant, at least
    double baseline_launches = 50;           ///< of a variant: so many times the baseline's, if that is more
    Time compare = std::chrono::seconds(5);  ///< all results of a variant with what is right
    /// All launches of one request of timing, or of a session's calibration, together.
    Time timing = std::chrono::minutes(2);
};

struct PoolOptions {
    /// A worker for each, by names of Device::open. A GPU should stand here once.
    std::vector<std::string> devices = {"auto"};
    Deadlines deadlines = {};
    CheckOptions check = {};  ///< of all checkers
    /// Bytes that a worker may allocate on the host beyond what it has when it starts; 0: no limit.
    std::uint64_t memory_bytes = std::uint64_t(4) << 30;
    /// Workers beside the one of each device that are ready to take over: with two, a variant that both of
    /// its workers die of makes nobody wait. Each has a context on the device, and the workloads used last.
    std::uint32_t spares = 1;
    /// After so many deaths of a device's workers with nothing but the baseline to run, one after the other,
    /// the device is sick.
    std::uint32_t baseline_deaths = 3;
    /// What is started in the place of `ptxgraft` (`{"ssh", "host", "ptxgraft"}`): the program's path or name
    /// and what stands before `worker --device NAME`. Empty: the program where an installation and a build
    /// have it, from the library and from the running program.
    std::vector<std::string> command = {};
    /// The variables of the environment that workers get, by name; they get no others, but for
    /// `CUDA_CACHE_DISABLE` and `CUDA_MODULE_LOADING`.
    std::vector<std::string> environment = {
        "PATH", "HOME", "USER", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SSH_AUTH_SOCK"};
};

/// What a worker is, as it says when it starts.
struct WorkerInfo {
    std::string library;    ///< PTXGRAFT_VERSION_STRING
    std::string assembler;  ///< "nvptxcompiler 13.5.37"
    std::string driver;     ///< as Device::driver_version
    std::string device;     ///< "NVIDIA H200"
    std::string uuid;       ///< of a GPU
    std::string target;     ///< "sm_90a"
    std::uint64_t l2_bytes = 0;
    std::uint32_t multiprocessors = 0;
    bool has_network = true;  ///< the system did not let it leave the network
    friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

/// How a pool times.
struct PoolTimingOptions {
    TimingOptions timing = {};
    /// Of the sessions that workers keep, one for each workload; `progress` is the pool's own. With another
    /// protocol than before a worker opens another session.
    Protocol protocol = {};
    /// A session measures its baseline against itself again behind so many requests. If the device has moved,
    /// the results of this call in between are noisy, and another session is opened.
    std::uint32_t requests = 32;
    /// It does so at the end of the call too, so that all that is returned has two calibrations around it.
    bool closes = true;
    /// In processes that have not timed before: another one takes over from each that has.
    bool in_new_process = false;
};

/// Variants that were timed together, by one worker: what Session::compare says of them.
struct TimedBatch {
    std::vector<std::size_t> variants = {};  ///< of the call, in the order of the report
    Report report = {};
    SessionFacts session = {};
    std::uint64_t session_id = 0;  ///< drawn at random: batches of one session have the same
    /// The calibration behind it; none where the session's worker died before.
    std::optional<Closing> closing = {};
};

struct PoolTiming {
    /// In the order of the variants. An error is no variant's.
    std::vector<Expected<VariantTiming>> variants = {};
    std::vector<TimedBatch> batches = {};  ///< a variant whose worker died is in a later one, or in none
};

/// What became of a pool's workers.
struct PoolReport {
    std::uint64_t checks = 0;     ///< that were answered
    std::uint64_t timings = 0;    ///< requests that were answered
    std::uint64_t deaths = 0;     ///< of workers that had a variant
    std::uint64_t late = 0;       ///< of those, killed for their time
    std::uint64_t recovered = 0;  ///< workers that took the place of a dead one and found the baseline right
    double slowest_recovery = 0;  ///< seconds from a death to that
    std::uint32_t sick_devices = 0;
};

/// A shared handle. Threads: any number may check at once; a worker has one variant at a time, and calls wait
/// for idle ones. The last handle ends the workers; no call may be under way then. Workers end with their
/// pool's process, however it ends.
class PTXGRAFT_API Pool {
  public:
    /// Starts the workers and waits until they speak. Errors: Errc::measure_worker_failed where one does not
    /// start, is of another version of ptxgraft, or has no such device; Errc::argument_invalid for no device.
    [[nodiscard]] static Expected<Pool> open(const PoolOptions& options = {});

    /// Checks variants of a workload, which is JSON as Workload::parse reads it (a `folder` is absolute). The
    /// results are in the order of the variants, each what Checker::check says on that device, and beside
    /// that: Finding::rejected for a variant that does not load; Finding::hang and Finding::crashed for
    /// one that was late, or of which its worker died, twice, each time another worker.
    /// An error is no variant's: Errc::measure_worker_failed where no device is left that works (a variant
    /// that waits for one that became sick goes to the others); those of Workload::parse and Checker::open.
    [[nodiscard]] std::vector<Expected<Check>> check(std::string_view workload,
                                                     std::span<const VariantCode> variants) const;
    /// Times variants of a workload beside its baseline on the pool's GPUs, up to 15 together, whose results
    /// are Session::compare's. Ratios are of one session: times of two devices never meet. One request at a
    /// time is under way on a device, and checks wait for it, as spares are awaited that open something.
    ///
    /// A variant that is refused before its first launch is TimingStatus::rejected. When a worker dies or
    /// hangs, or loses its device, the variant in flight is timed alone in another worker, and the others
    /// together; its second death is final: TimingStatus::hang, crashed or device_lost. Where the baseline
    /// was in flight, each half of the variants is timed by itself. Errors, for all variants that they keep
    /// from being timed: those of check(); those of Session::open and Session::compare, so
    /// Errc::timing_not_possible on the emulator.
    [[nodiscard]] PoolTiming time(std::string_view workload, std::span<const VariantCode> variants,
                                  const PoolTimingOptions& options = {}) const;
    /// Runs the baseline on every device that is not sick, in the order of the devices' numbers. Errors as
    /// above.
    [[nodiscard]] std::vector<Expected<Check>> health(std::string_view workload) const;

    [[nodiscard]] std::vector<WorkerInfo> workers() const;  ///< in the order of the devices
    [[nodiscard]] PoolReport report() const;

    struct Data;

  private:
    explicit Pool(std::shared_ptr<Data> data) : data_(std::move(data)) {}
    std::shared_ptr<Data> data_;
};

/// What the process of a worker does.
struct ServeOptions {
    std::string device = "auto";
    CheckOptions check = {};
    std::uint64_t memory_bytes = 0;  ///< as PoolOptions::memory_bytes
    int input = 0, output = 1;       ///< file descriptors of the frames
    DeviceOptions how = {};          ///< the device is opened
};
/// Is a worker until the other side says `bye`, closes the frames, or dies: `ptxgraft worker`. It takes the
/// process for itself: standard output becomes standard error, where all that is printed goes; there is no
/// core file; the process leaves the network where the system lets it, and is the first to end when memory
/// runs out. Once a GPU's context is lost, or memory has run out, it answers and ends the process with status
/// 4. Call it before the process has other threads. Errors, which the other side is told as well: those of
/// Device::open; Errc::frame_malformed after bytes that are no frame.
[[nodiscard]] PTXGRAFT_API Expected<void> serve_worker(const ServeOptions& options);

}  // namespace ptxgraft::measure
