#pragma once
/// @file measure/timing.hpp
/// How long variants of a kernel take on a GPU, beside a baseline, and how sure that is.
///
/// @code
/// auto session = Session::open(checker);                        // measures the baseline against itself
/// auto report = session->compare(std::vector<Variant>{{"a", a}, {"b", b}}, {.tier = Tier::race});
/// auto closing = session->close();                              // and once more
/// mark(*report, *closing);                                      // noisy, if the device moved meanwhile
/// for (const VariantTiming& v : report->variants)
///     if (v.status == TimingStatus::ok && v.comparison.verdict == Verdict::faster) …
/// @endcode
///
/// **A sample.** Inputs of one of several seeds are copied to one of several places, outputs poisoned on the
/// way, the L2 cache is written over twice and its persisting lines made usual ones; event, kernel, event; a
/// digest of all that the kernel could write is compared with that of its own launch on these inputs that was
/// found right. What a kernel remembers of addresses or of calls is of no use to it, and what it leaves out
/// is seen.
///
/// **A round** has all variants, in a random order and then in the reverse of it, so that drift of the device
/// falls on all alike. Ratios to the baseline of the same round count; statistics.hpp says what they mean.
///
/// Modules are loaded and launched before the first event (Device::timing keeps others from loading), all is
/// on one stream, and one session at a time measures on a GPU, by a file that is locked, whichever process it
/// is of. Why each step is there, and which cheat it is against: src/measure/timing.md.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/measure/statistics.hpp"
#include "ptxgraft/measure/workload.hpp"

namespace ptxgraft::measure {

/// What is timed: a launch, its inputs, and what is right. timed_launch() makes one of a workload.
struct TimedLaunch {
    TemplateLaunch launch;
    std::vector<std::string> null = {};  ///< tensors that are null pointers
    /// Bytes and operations that a launch cannot do without: nothing is faster than the device's memory with
    /// these bytes, or than Protocol::operations_per_second with these operations. 0: not known.
    double necessary_bytes = 0, necessary_operations = 0;
    /// What a tensor that is read begins with; empty: random_bytes().
    std::function<Expected<std::vector<std::byte>>(const TemplateTensor& tensor, std::uint64_t seed)> input =
        {};
    /// Whether the launch's tensors (all of them, in its order) are right after a launch on the inputs of a
    /// seed. It is asked once for each variant and seed, and about outputs that differ from those later. That
    /// inputs and the memory around are as they were is looked at already.
    std::function<Expected<bool>(std::uint64_t seed, std::span<const std::vector<std::byte>> tensors)>
        is_right;
};

/// The launch of a checker's first shape on usual inputs. What is necessary is what the workload says, or all
/// bytes that are read or written once. The reference runs once for each seed that is asked for. It keeps the
/// workload and the device alive. Errors: those of Skeleton::graft.
[[nodiscard]] PTXGRAFT_API Expected<TimedLaunch> timed_launch(const Checker& checker);

/// A session's doings, called back: whoever watches over a process knows what hangs, and has what was
/// measured.
struct Progress {
    enum class Phase : std::uint8_t {
        admission,
        calibration,
        selection,
        report,
        compare,  ///< no launch: outputs of the variant are looked at on the host
    } phase = Phase::admission;
    /// Which variant is launched next, as in the call of compare(); the baseline is `baseline`.
    std::size_t variant = 0;
    std::uint32_t round = 0;
    static constexpr std::size_t baseline = ~std::size_t{0};
};

/// How is measured.
struct Protocol {
    std::uint64_t seed = 1;  ///< of orders, inputs and places
    /// Of a kernel against itself, at the begin and at the end: at least 8.
    std::uint32_t calibration_rounds = 32;
    double alpha = 0.05;
    double least_effect = 0.005;  ///< no smaller difference is judged, nor one below 2 sigma
    double separation = 0.9;
    StabilityOptions stability = {};
    /// Different inputs, and places for them: together as large as L2 twice, but 2 at least and so many at
    /// most.
    std::uint32_t most_sets = 16;
    /// A baseline that takes less is launched once for each set between two events, as a graph: the launch
    /// itself would be most of what is measured. A single cold launch is then measured as well.
    double batch_below_milliseconds = 0.010;
    std::uint32_t cold_rounds = 8;  ///< of single launches, before the batches
    /// A sample is repeated where its clock is below this part of the highest of its round …
    double least_clock = 0.97;
    std::uint32_t most_repeats = 3;                 ///< … so often; then the round is noisy
    double most_noisy_rounds = 0.25;                ///< the part of them that leaves a result standing
    double event_resolution_milliseconds = 0.0005;  ///< of CUDA's events: what is not longer is no time
    std::uint32_t empty_pairs = 100;                ///< of events, for what they cost
    double operations_per_second = 0;               ///< the device's peak, for the roofline; 0: not known
    std::string nvml = "libnvidia-ml.so.1";  ///< for clocks and other processes; empty or missing: without it
    std::string lock_folder = "/tmp";        ///< where the lock of a GPU is
    double lock_seconds = 60;                ///< to wait for another session
    std::uint32_t own_processes = 1;  ///< with contexts on the GPU; more than those make results shared
    std::function<void(const Progress&)> progress = {};  ///< quick, and without calls on the device
};

/// How much time a question is worth.
enum class Tier : std::uint8_t {
    screen,  ///< 5 rounds: which variants are worth more (VariantTiming::is_promising)
    race,    ///< groups of 8 rounds, after each of which the slower half goes; the others are measured anew
    elite,   ///< 32 rounds
    final_,  ///< 64 rounds; in three sessions, for what is published
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Tier tier);  ///< "screen"

struct TimingOptions {
    Tier tier = Tier::elite;
    std::uint32_t rounds = 0;  ///< that are reported; 0: the tier's (5, 16, 32, 64)
    std::uint32_t groups = 2;  ///< of a race
};

enum class TimingStatus : std::uint8_t {
    ok,
    noisy,        ///< clocks fell in too many rounds, or the device moved: there are times, and no verdict
    impossible,   ///< faster than the roofline allows, or than events can tell
    wrong,        ///< an output of a launch was not right: VariantTiming::finding
    failed,       ///< a launch was refused
    device_lost,  ///< the GPU works no more, or did so before this one was measured
    // Of Pool::time alone:
    rejected,  ///< it was not launched: it does not load, or does what no variant may
    hang,      ///< two workers that timed it did not go on in time
    crashed,   ///< two workers that timed it died
};
[[nodiscard]] PTXGRAFT_API std::string_view name(TimingStatus status);  ///< "device_lost"

struct Sample {
    enum class Purpose : std::uint8_t { calibration, selection, cold, report };
    enum class Repeated : std::uint8_t {
        no,
        slow_clock,  ///< another sample stands for it
    };
    float milliseconds = 0;       ///< of one launch
    float megahertz = 0;          ///< the clock of the multiprocessors behind it; 0: not known
    std::uint64_t throttled = 0;  ///< why the clock is lower, as NVML has it (nvmlClocksThrottleReasons)
    std::uint32_t round = 0;      ///< from 0, over the whole session
    std::uint16_t order = 0;      ///< in the round, as it was measured
    std::uint16_t variant = 0;    ///< 0: the baseline; 1 and up: the variants of the call
    std::uint16_t inputs = 0, place = 0;
    std::uint8_t celsius = 0;  ///< of the GPU, of NVML; 0: not known
    Purpose purpose = Purpose::report;
    Repeated repeated = Repeated::no;
};

struct Variant {
    std::string name;
    Kernel kernel;  ///< on the session's device, with the parameters of the session's launch
};

struct VariantTiming {
    std::string name;
    TimingStatus status = TimingStatus::ok;
    Finding finding = Finding::right;
    std::string why = {};  ///< of any status but ok
    Error error = {};      ///< of a launch that failed
    /// With the baseline, of samples that chose nothing: of a variant that a race dropped there are none.
    Comparison comparison = {};
    Comparison selection = {};     ///< of those that it was chosen by: better than it is, if it was the best
    bool is_promising = true;      ///< its best sample is within 3 sigma of the best of all, or better
    double milliseconds = 0;       ///< the median; 0: none was reported
    double cold_milliseconds = 0;  ///< of single launches; where there are no batches, as `milliseconds`
};

struct Report {
    std::vector<VariantTiming> variants;  ///< as they were given
    double baseline_milliseconds = 0, baseline_cold_milliseconds = 0;
    double least_effect = 0;  ///< what was judged at least
    std::uint32_t rounds = 0, noisy_rounds = 0;
    std::vector<Sample> samples = {};  ///< all of them, in the order in which they were measured
    bool is_shared = false;            ///< another process was on the GPU
    /// What ended it early: the device was lost, the driver failed, the baseline became wrong. What had been
    /// measured is evaluated.
    std::optional<Error> ended_by = {};
    std::size_t in_flight = 0;  ///< whose launch it was: a variant, or Progress::baseline
};

enum class ClockSource : std::uint8_t { none, marker, nvml };
[[nodiscard]] PTXGRAFT_API std::string_view name(ClockSource source);  ///< "marker"

/// What a session found out.
struct SessionFacts {
    DeviceProperties device = {};
    Calibration calibration = {};
    ClockSource clock = ClockSource::none;
    double event_milliseconds = 0;  ///< between two events with nothing in between: the median
    std::uint32_t sets = 0;         ///< of inputs, and places
    std::uint64_t set_bytes = 0, flush_bytes = 0;
    std::uint32_t batch = 1;           ///< launches between two events
    double roofline_milliseconds = 0;  ///< no launch can take less; 0: not known
    bool is_shared = false;
};

/// The second calibration.
struct Closing {
    Calibration calibration = {};
    std::string moved = {};  ///< why results in between are noise; empty: they are not
};
/// Makes a report's results noisy where the device moved.
PTXGRAFT_API void mark(Report& report, const Closing& closing);

/// Measures on one GPU.
///
/// Threads: one uses a session. Others may use the device; their loads wait while it measures.
class PTXGRAFT_API Session {
  public:
    /// Makes memory and inputs, checks the baseline, and measures it against itself. Errors:
    /// Errc::timing_not_possible for the emulator, whose time is that of the host, for a GPU that another
    /// session keeps longer than Protocol::lock_seconds, and for a baseline that is faster than possible;
    /// Errc::baseline_wrong; Errc::argument_invalid; those of the device.
    [[nodiscard]] static Expected<Session> open(TimedLaunch launch, const Kernel& baseline,
                                                const Device& device, Protocol protocol = {});
    /// Of timed_launch() and a checker's baseline.
    [[nodiscard]] static Expected<Session> open(const Checker& checker, Protocol protocol = {});

    /// Times 1 to 15 variants beside the baseline. What becomes of a variant is its status; an error is only
    /// what keeps all from being measured: Errc::argument_invalid, Errc::timing_not_possible for a GPU that
    /// another session keeps.
    [[nodiscard]] Expected<Report> compare(std::span<const Variant> variants,
                                           const TimingOptions& options = {});
    /// Measures the baseline against itself again; the session can go on. Errors: those of the device.
    [[nodiscard]] Expected<Closing> close();

    [[nodiscard]] const SessionFacts& facts() const;
    [[nodiscard]] const std::vector<Sample>& calibration_samples() const;  ///< of both

    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();
    struct Data;

  private:
    explicit Session(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

}  // namespace ptxgraft::measure
