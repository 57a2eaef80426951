#pragma once
/// @file search_gates.hpp
/// Gates that judge whole kernels, cheapest first (search.hpp has what a gate is): limits of stubs, the
/// policy, screens of several sites, the assembler, the emulator, the devices of a pool, time on a GPU. Their
/// spaces have sites of a skeleton, by their names.
///
/// @code
/// auto workload = measure::Workload::parse(text);
/// Space space{.sites = {{"epilogue", machine}}, .tunables = {{"rows", {1, 2, 4}}}};
/// auto kernels = Workloads::make(space, *workload);
/// const Figures figures{.cost = Objective::registers, .axes = {Objective::instructions, Objective::error}};
/// auto screen = columns(space, {cases}, {.figures = figures});
/// auto code = assembly(space, *kernels, {.limits = {.registers = 64}, .figures = figures});
/// auto run = emulation(space, *kernels, {.figures = figures});
/// Gate* gates[] = {screen->get(), code->get(), run->get()};
/// @endcode
///
/// None of these gates but timing() says what is fast, and that one wants a GPU: a search without it ends
/// with what is smallest, by the figure that is minimised, among what is right.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/measure/policy.hpp"
#include "ptxgraft/measure/pool.hpp"
#include "ptxgraft/measure/workload.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// What a search minimises, and what its archive tells candidates apart by. Each gate notes the figures that
/// it finds, and leaves the others as they are; a figure that no gate finds is plus infinity.
struct Figures {
    Objective cost = Objective::instructions;
    std::vector<Objective> axes = {Objective::instructions, Objective::error};
};

// ---- the kernels of a space -------------------------------------------------------------------------------

/// The workload of each combination of a space's tunables, which are choices of its template: compiled when
/// it is first asked for, and kept. A shared handle. Threads: any number may use one at once.
class PTXGRAFT_API Workloads {
  public:
    /// Errors: Errc::space_invalid for a site or a tunable that the template has not, and for a machine of
    /// another signature; those of Workload::make for the first combination.
    [[nodiscard]] static Expected<Workloads> make(const Space& space, measure::Workload workload);
    /// That of the values at these places. Errors: those of Workload::make; Errc::choice_invalid for a
    /// combination that the template rules out.
    [[nodiscard]] Expected<measure::Workload> find(std::span<const std::uint32_t> tunables) const;
    /// The same as JSON, for a Pool. Errors: Errc::workload_invalid where the workload was not parsed
    /// (measure::Workload::text).
    [[nodiscard]] Expected<std::string> text(std::span<const std::uint32_t> tunables) const;

    struct Data;

  private:
    explicit Workloads(std::shared_ptr<Data> data) : data_(std::move(data)) {}
    std::shared_ptr<Data> data_;
};

// ---- gates ------------------------------------------------------------------------------------------------

/// Limits of what stubs are, before anything is computed.
struct LimitOptions {
    std::uint32_t instructions = 0;  ///< of PTX, of all sites together, without moves; 0: no limit
    Figures figures = {};
};
/// The gate that rejects what is too long; its figure is `instructions`.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> limits(const Space& space,
                                                                  const LimitOptions& options);

struct PolicyOptions {
    measure::Policy allowed = {};
    Figures figures = {};
};
/// The gate that rejects stubs that do what no variant may (measure/policy.hpp), before anything is
/// assembled. A pool's workers look at the whole module once more. Its figure is `instructions`.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> policy(const Space& space,
                                                                  const PolicyOptions& options = {});

struct SiteColumnsOptions {
    ColumnsOptions columns = {};  ///< but for its objective
    Figures figures = {};
};
/// The gate columns() for spaces of several sites, each with cases of its own, or none: then anything is
/// right there. Errors are those of all sites, one behind another; `instructions` is the sum, `error` the
/// largest one. Of a candidate that is to be refined one site is, which goes by its index. Errors: as
/// columns(); Errc::cases_invalid where no site has cases, or the number of sites is another.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> columns(const Space& space,
                                                                   std::vector<std::optional<Cases>> cases,
                                                                   const SiteColumnsOptions& options);

struct AssemblyOptions {
    AssembleLimits limits = {};  ///< what is beyond is rejected, as is any C75xx that is not allowed
    std::string target = {};     ///< empty: the skeleton's
    std::string entry = {};      ///< may be empty where there is one
    bool allow_performance_loss = false;
    RouteOptions routes = {};
    /// So many candidates are assembled as one module, at most those that come to the gate at once: of stubs
    /// that are linked as functions (32 make it three times as fast), of others as
    /// ManyOptions::variants_per_module has it, whose code may depend on who stands beside it: then a search
    /// is not the same on any number of threads.
    std::uint32_t batch = 1;
    std::shared_ptr<const Assembler> assembler = {};  ///< null: default_assembler(), in this process
    Figures figures = {};
};
/// The gate that assembles. Its figures are `registers`, `code_bytes` and `machine_instructions` of the entry
/// (static_cost.hpp), and `instructions`. What does not assemble is `failed`, what is beyond a limit
/// `rejected`, what an assembler of processes gave up `timed_out`; Result::detail says why, and Result::code
/// what the machine code takes, in batches only of what is within the limits. It assembles the skeleton with
/// its default stubs first. Errors: of that; Errc::space_invalid as Workloads has it.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> assembly(const Space& space,
                                                                    const Skeleton& skeleton,
                                                                    const AssemblyOptions& options = {});
/// The same with a skeleton for each combination of tunables; one that is ruled out is `rejected`.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> assembly(const Space& space,
                                                                    const Workloads& kernels,
                                                                    const AssemblyOptions& options = {});

struct EmulationOptions {
    measure::CheckOptions check = {};
    bool fast = false;  ///< without the checks that EmulatorOptions::fast leaves out
    Figures figures = {};
};
/// The gate that runs candidates on the emulator (measure::Checker): `wrong` is what computes something else,
/// writes where it should not or races, `crashed` what ends a launch, `timed_out` what hangs or takes more
/// than CheckOptions::instructions allows. Where no gate before it gave errors, these are 0 for each case
/// that is right, the part of the tolerance for the first that is not, and the largest number for those
/// behind it, which are not tried; `error` is the largest part, and what is wrong is `infeasible`, so that it
/// takes part in selection. Errors: those of Checker::open for the first combination.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> emulation(const Space& space,
                                                                     const Workloads& kernels,
                                                                     const EmulationOptions& options = {});

// ---- gates that ask a pool --------------------------------------------------------------------------------
//
// Pools are of worker processes, so nothing that a candidate does takes the search down. The devices of one
// are of one kind: what is assembled is assembled for the first one's target. The workload has to be parsed
// (Workloads::text). Where the pool has no device left that works, `evaluate` throws std::runtime_error, and
// the search ends without a verdict on whoever was there.

struct CheckingOptions {
    /// Of a GPU's machine code; null: default_assembler(), in this process. On the emulator none assembles.
    std::shared_ptr<const Assembler> assembler = {};
    Figures figures = {};
};
/// The gate that checks candidates on the devices of a pool (Pool::check), emulators or GPUs: `wrong` is what
/// computes something else, writes where it should not, races, or differs between two runs; `rejected` what
/// is against the policy or does not load; `timed_out` what hangs; `crashed` what ends a launch or two
/// workers. `error` is the largest part of the tolerance, where no gate before gave errors. Errors: those of
/// Workloads; Errc::argument_invalid for devices of several targets.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> checking(const Space& space,
                                                                    const Workloads& kernels,
                                                                    const measure::Pool& pool,
                                                                    const CheckingOptions& options = {});

struct TimingGateOptions {
    /// How far the best go: Tier::race or Tier::elite.
    measure::Tier last = measure::Tier::elite;
    measure::Protocol protocol = {};
    std::shared_ptr<const Assembler> assembler = {};  ///< as CheckingOptions has it
    std::string archive = {};  ///< the search's, which is open: where samples are kept; empty: nowhere
    Figures figures = {};
};
/// The gate that times candidates beside the baseline of their workload, on the GPUs of a pool. All are in a
/// **screen**; who may be as fast as the fastest there, in a **race**; whom that leaves, in the **elite**.
/// Each is measured anew, so that what chose a candidate is not what is told of it.
///
/// `time_ratio` is its time over the baseline's, below 1 where it is faster, with the interval in Result::low
/// and high. Of who is left behind in a screen or a race it is what that found, and `high` is infinite:
/// nothing is claimed. Statuses are those of measure::TimingStatus. Ratios differ from run to run, and a
/// search with this gate does too; continued, it takes what its archive holds. Errors: those of checking();
/// Errc::timing_not_possible where a device is no GPU; Errc::archive_failed.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> timing(const Space& space,
                                                                  const Workloads& kernels,
                                                                  const measure::Pool& pool,
                                                                  const TimingGateOptions& options = {});

// ---- the best, once more ----------------------------------------------------------------------------------

struct ConfirmOptions {
    std::uint32_t finalists = 8;  ///< elites of the lowest bounds
    measure::Tier tier = measure::Tier::final_;
    std::uint32_t sessions = 3;  ///< each in another process, with other inputs and orders
    measure::Protocol protocol = {};
    /// What each of them makes of a finalist has to be right; the first one's machine code is timed. Empty:
    /// default_assembler(), which then nobody contradicts.
    std::vector<std::shared_ptr<const Assembler>> assemblers = {};
    std::string archive = {};  ///< as TimingGateOptions has it
};
/// What is said of an elite in the end.
struct Finalist {
    Elite elite;  ///< as the search has it
    /// Of all sessions: the worst that one of them found.
    Status status = Status::ok;
    std::string detail = {};
    /// The median of the sessions' ratios, and the hull of their intervals.
    double ratio = 1, low = 0, high = 0;
    /// What all sessions say; where they do not agree, unsure.
    measure::Verdict verdict = measure::Verdict::unsure;
    std::uint32_t rounds = 0, sessions = 0;
    std::vector<std::string> assemblers = {};  ///< "ptxas 13.0.88": whose machine code was found right
};
/// Times elites once more, with samples that had no say in making them elites, and checks what several
/// assemblers make of them. The best one comes first: of those that are ok the one of the lowest `high`.
/// Errors: those of timing() and of Pool::time.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<Finalist>> confirm(std::span<const Elite> elites,
                                                                   const Space& space,
                                                                   const Workloads& kernels,
                                                                   const measure::Pool& pool,
                                                                   const ConfirmOptions& options = {});

// ---- gates that may take the process down -----------------------------------------------------------------

/// A gate whose candidates are written to the archive before they are judged, in a table `attempt`. One that
/// was being judged when the process died is judged alone the next time, and is `crashed` when the process
/// dies again: it is never judged a third time. `archive` is that of the search, which is open already; an
/// empty path gives the gate back as it is. Errors: Errc::archive_failed.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> guarded(std::unique_ptr<Gate> gate,
                                                                   const std::string& archive);

}  // namespace ptxgraft::search
