#pragma once
/// @file search_task.hpp
/// Tasks: searches as files, for `ptxgraft search` and for whoever wants to keep one. JSON:
///
/// @code
/// {
///   "signature": "in f32 x, out f32 y",
///   "set": ["add.f32", "fma.rn.f32 weight 2", "cvt.rni.f32.f32"],
///   "inputs": {"x": {"from": -127, "to": 0, "count": 4096}},
///   "reference": "y = exp2(x)",
///   "measure": "relative", "bound": 1e-4,
///   "objective": "instructions"
/// }
/// @endcode
///
/// | key | what it says |
/// |---|---|
/// | `name` | of the site: `f` where it is missing |
/// | `signature` | the operands (site.hpp) |
/// | `set` | the name of a shipped set, or the lines of one (set.hpp) |
/// | `genes` | the most instructions of a program: 32 |
/// | `seeds` | programs where the search begins (stack.hpp) |
/// | `library` | programs whose segments the operator `library` brings, then of weight 0.05 |
/// | `constants` | numbers that constants often are |
/// | `tunables` | names with lists of whole numbers |
/// | `inputs` | for each `in` and `mod` operand how its points are made: below |
/// | `reference` | what is right: below |
/// | `measure` | `absolute`, `relative`, `ulp` or `bits` (Measure) |
/// | `bound` | the largest error of a right program; 0 where it is missing |
/// | `screen` | points that are tried first: 64 |
/// | `perturb` | false: approximate instructions are exact; true where it is missing (ColumnsOptions) |
/// | `objective` | `instructions` or `error` |
/// | `axes` | `instructions` and `error`, each with its edges; instructions 1 to 32 by default |
/// | `gates` | below |
/// | `enumerate` | `instructions`: 8, `trials`: 4e7: how a new search begins (open()); or false: without |
/// | `options` | members of Options by their names; `operators` are weights by name; `surrogate` is true |
/// | | or false, its limits are those of the gate `assembly` |
/// | `budget` | `candidates`, `seconds`, `cpu_seconds`, `assemblies`, `emulations`, `gpu_seconds` (Budget) |
/// | `target` | `cost`, and axes |
/// | `stagnation` | candidates without the best of any cell, behind which it ends (RunOptions) |
///
/// The reference is an expression (expression.hpp) over the operands, computed in f64 where they are floats;
/// or `{"program": TEXT}`, a stack program of the set `full`; or `{"values": [[…], …]}`, a list for each
/// `mod` or `out` register.
///
/// All points are those of the first count that is said, or all lists are of one length:
///
/// | input | its values |
/// |---|---|
/// | `{"from": A, "to": B, "count": N}` | N numbers from A to B with equal distances |
/// | `{"uniform": [A, B], "seed": S, "count": N}` | random between A and B; of integers both included |
/// | `{"words": S, "count": N}` | of integers: edges of the type, then random ones of all magnitudes |
/// | `[1, 2, …]` | these |
///
/// **Kernels.** A task of a workload searches sites of a template together:
///
/// @code
/// {
///   "workload": {"template": "norm/rms", "shapes": [{"rows": 3, "columns": 257}],
///                "wanted": {"epilogue": {"expr": "y = max(y, 0)"}}},
///   "sites": {
///     "epilogue": {"set": ["max.f32", "mul.f32"], "inputs": {…}, "reference": "y = max(y * weight, 0)"}
///   },
///   "tunables": {"vectors": [1, 2, 4]},
///   "gates": ["columns", {"assembly": {"registers": 64, "target": "sm_90a"}}, "emulation"],
///   "objective": "registers",
///   "axes": {"instructions": [1, 2, 3, 4], "registers": [16, 24, 32]}
/// }
/// @endcode
///
/// | key | what it says |
/// |---|---|
/// | `workload` | measure/workload.hpp has its keys |
/// | `sites` | sites by name: `set`, `genes`, `seeds`, `library`; where it is screened by itself |
/// | | `inputs`, `reference`, `measure`, `bound`, `screen` |
/// | `tunables` | of the template, whole numbers |
/// | `gates` | names, or objects of a name with its limits, cheapest first: below |
/// | `objective` | also `registers`, `code_bytes`, `machine_instructions`, `time_ratio` |
/// | `axes` | the same; those that are said |
/// | `devices` | of the pool (PoolOptions::devices), of which the gates `checking` and `timing` ask |
/// | | workers: `["cuda:0"]`; `["auto"]` where it is missing |
///
/// | gate | its limits |
/// |---|---|
/// | `limits` | `instructions` |
/// | `columns` | `refinements`: 200 |
/// | `assembly` | `registers`, `spill_bytes`, `stack_bytes`, `code_bytes`; and how: `target`, `route`, |
/// | | `batch`, `assembler` (find_assembler()), `performance_loss`: true allows it |
/// | `emulation` | `instructions`: times the baseline's, `seed`, `seeds`, `fast` |
/// | `policy` | |
/// | `checking` | `assembler` |
/// | `timing` | `last`: `race` or `elite`; `seed`, `assembler`; `operations_per_second` of the device |
///
/// Without `gates` there are `columns`, where any site is screened, and `emulation`; for `time_ratio`
/// `policy`, `columns`, `checking` and `timing`: a shape that is worth timing is a large one for the
/// emulator. `constants`, `perturb`, `options`, `budget`, `target` and `stagnation` are as above; where
/// there are no `columns`, nothing is refined.

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ptxgraft/search.hpp"
#include "ptxgraft/search_gates.hpp"

namespace ptxgraft::search {

/// A gate of a task.
struct GateSpec {
    std::variant<LimitOptions, PolicyOptions, SiteColumnsOptions, AssemblyOptions, EmulationOptions,
                 CheckingOptions, TimingGateOptions>
        options;
    std::string assembler = {};  ///< of those that have one, by its name: find_assembler()
};

struct Task {
    Space space;
    Cases cases = {};  ///< of a signature by itself
    ColumnsOptions columns = {};
    Options options = {};  ///< its `task` is the text
    Budget budget = {};
    std::optional<Target> target = {};
    std::uint64_t stagnation = 0;  ///< 0: it does not end there
    std::optional<measure::Workload> workload = {};
    std::vector<std::optional<Cases>> screens = {};  ///< of a workload's sites, in their order
    Figures figures = {};
    std::vector<GateSpec> gates = {};
    std::string reference = {};  ///< of a signature by itself, where it is an expression: its text
    /// What a new search begins with (open()); without instructions: nothing.
    EnumerateOptions enumeration = {.instructions = 8, .trials = 40'000'000, .threads = 1};
    /// Of the gates `checking` and `timing`; none of a task without them.
    std::optional<measure::PoolOptions> pool = {};
    /// Whether its costs are measured times.
    [[nodiscard]] bool is_timed() const { return figures.cost == Objective::time_ratio; }
};

/// Reads a task. Of a workload it compiles the template. Errors: Errc::task_invalid with its place, and those
/// of sets, signatures, programs and expressions, with places in their texts; those of Workload::parse.
[[nodiscard]] PTXGRAFT_API Expected<Task> parse_task(std::string_view text);

/// The gates of a task, for a search whose archive is open already; empty where it has none. Those that
/// assemble in this process, and those that emulate, are guarded(). Those of a pool open it, and the last of
/// them closes it. Errors: those of the gates, of find_assembler() and of Pool::open;
/// Errc::timing_not_possible for `timing` where there is no GPU.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<std::unique_ptr<Gate>>> gates_of(
    const Task& task, const std::string& archive = {});

/// All programs of a few instructions, from the shortest on, for a task of one site that says what is right
/// there: enumerate(), whose `perturb` is the task's. Errors: those of enumerate(); Errc::space_invalid for
/// any other task.
[[nodiscard]] PTXGRAFT_API Expected<Enumeration> enumerate(const Task& task,
                                                           const EnumerateOptions& options = {});

/// Whether a search was begun for this archive, and ended before there was one.
[[nodiscard]] PTXGRAFT_API bool is_begun(const std::string& archive);

/// A task's search, as Search::open opens it. A new one that evolves begins with a short enumeration for each
/// site of which the task says what is right (Task::enumeration, half a second on one thread, so that it ends
/// behind the same trial everywhere): what that finds is judged before `first`, with the first seeds of sites
/// where it finds nothing. What is short is then not looked for by chance. A task without constants has 0, 1,
/// -1, 2 and 0.5 there. Where `stop` is set meanwhile, by another thread, there is no search and no archive:
/// Errc::work_stopped. What is stopped or killed meanwhile leaves an empty file `ARCHIVE.part`, which says
/// that a search was begun (is_begun()): opened again, it begins anew. Other errors: those of Search::open.
[[nodiscard]] PTXGRAFT_API Expected<Search> open(const Task& task, const std::string& archive = {},
                                                 std::vector<Genome> first = {},
                                                 const std::atomic<bool>* stop = nullptr);

/// Times the elites of a task's search once more, in a pool of its own: confirm() with the protocol of the
/// gate `timing`, its assembler, and beside it ptxas where it is found. Errors: those of confirm() and
/// Pool::open; Errc::argument_invalid for a task without that gate.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<Finalist>> confirm(const Task& task,
                                                                   std::span<const Elite> elites,
                                                                   const std::string& archive = {});

}  // namespace ptxgraft::search
