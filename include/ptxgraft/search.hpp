#pragma once
/// @file search.hpp
/// Varies the programs of a skeleton's sites, and its tunables, and keeps the best of each kind.
///
/// A **space** says what may vary, **gates** judge candidates, cheapest first, and a **search** draws
/// candidates, passes them through the gates, and keeps what they found in an **archive**:
///
/// @code
/// Space space{.sites = {{"f", machine}}};
/// const auto screen = columns(space, cases).value();        // errors on points, see Cases
/// auto search = Search::open("run.sqlite", space, {.seed = 1, .axes = {{"instructions", {…}}}}).value();
/// Gate* gates[] = {screen.get()};
/// search.run(gates, {.budget = {.candidates = 1'000'000}});
/// for (const Elite& elite : search.elites()) std::cout << print(elite.genome.programs[0], machine);
/// @endcode
///
/// **How it searches.** The genome is a stack program for each site, of which any bytes are valid
/// (stack.hpp), and a value for each tunable. Candidates are drawn in blocks. A parent is an elite of the
/// archive (MAP-Elites: Mouret and Clune, "Illuminating search spaces by mapping elites", 2015), or one of
/// the population, drawn by epsilon-lexicase selection over the errors of its cases (La Cava, Spector, Danai,
/// "Epsilon-lexicase selection for regression", GECCO 2016); a child is made by an operator (see Operator),
/// most often by UMAD (Helmuth, McPhee, Spector, "Program synthesis using uniform mutation by addition and
/// deletion", GECCO 2018). Children whose dataflow was seen before are drawn anew, at no cost of a gate. What
/// becomes an elite is refined: its constants are tuned and what it does not need is deleted.
///
/// **Determinism.** Random numbers are a function of (seed, index, attempt, draw); a block is drawn from the
/// state after the block before the last one, and results are committed in the order of indices. So one
/// thread and sixteen, and a run that was killed and resumed, give the same archive, as long as the gates
/// give the same results for the same candidate, and as no limit of time ends them.
///
/// Threads: a Search is used by one thread at a time; `run` has threads of its own. With several of them a
/// block is judged while the one before is committed and written and the next one is drawn: a run that is
/// killed loses what it has judged of the last two blocks, and judges it anew when it is resumed.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::search {

// ---- what may vary ----------------------------------------------------------------------------------------

/// A site whose stub is searched.
struct SiteSpace {
    std::string name;
    stack::Machine machine;
    std::vector<stack::Program> seeds = {};  ///< where the search begins, beside random programs
    std::uint32_t max_genes = 64;            ///< instructions of a program, dead ones included
    std::vector<stack::Program> library =
        {};  ///< whose segments the operator `library` brings, beside seeds'
};

/// A choice that is compiled into the skeleton, or that the launch takes.
struct Tunable {
    std::string name;
    std::vector<std::int64_t> values;
};

/// How the programs of a space are compiled: nothing in them is an error, equal computations are one, and
/// what was computed of constants is a constant.
inline constexpr stack::CompileOptions program_options = {.missing = stack::Missing::skip,
                                                          .requests = stack::Requests::top,
                                                          .empty = stack::Empty::zero,
                                                          .reuse = true,
                                                          .fold = true,
                                                          .limits = {}};

/// Sites and tunables together have one name each: a candidate is exported as an object of both.
struct Space {
    std::vector<SiteSpace> sites;
    std::vector<Tunable> tunables = {};
    /// Numbers that constants often are, beside small ones; converted to the type of the constant.
    std::vector<double> constants = {};

    /// The same for equal spaces, between processes and machines: kept in the archive.
    [[nodiscard]] PTXGRAFT_API std::uint64_t hash() const;
};

struct Genome {
    std::vector<stack::Program> programs;  ///< for each site
    std::vector<std::uint32_t> tunables;   ///< for each tunable the place of its value
    friend bool operator==(const Genome&, const Genome&) = default;
};

/// What machine code takes, as the limits of assembly() count it.
struct CodeSize {
    std::uint32_t registers = 0;   ///< of a thread, of the entry
    std::uint32_t code_bytes = 0;  ///< of the largest function
    friend bool operator==(const CodeSize&, const CodeSize&) = default;
};

/// What is to be done with a candidate beside judging it.
enum class Refine : std::uint8_t {
    none,
    constants,  ///< vary its constants and report the best found (Result::genome)
    shorten,    ///< delete what can go without loss, and report the shortest (Result::genome)
    measure,    ///< nothing: its cost was measured, and is measured again (Options::remeasure)
};

struct Candidate {
    std::uint64_t index = 0;  ///< in the order of the search
    Genome genome;
    /// of the dataflow of all sites (stack::dataflow_parts), with the tunables in the structure
    DataflowParts key;
    Refine refine = Refine::none;
    std::uint16_t island = 0;
    std::uint16_t operation = 0;  ///< what made it: a place in Options::operators
    static constexpr std::uint64_t no_parent = ~std::uint64_t{0};
    std::array<std::uint64_t, 2> parents = {no_parent, no_parent};
    CodeSize guess = {};  ///< what a surrogate says that is surely beyond a limit (GuessOptions); 0: nothing
};

// ---- judging ----------------------------------------------------------------------------------------------

/// How a candidate ended. Only `ok` can become an elite; `infeasible` with errors takes part in selection.
enum class Status : std::uint8_t {
    ok,
    infeasible,  ///< judged, and too wrong
    wrong,       ///< right where it was screened, wrong elsewhere
    rejected,    ///< a policy or a limit forbids it
    failed,      ///< it does not compile, assemble, load or launch
    timed_out,
    crashed,     ///< it, or twice the process that judged it, died
    impossible,  ///< better than can be: faster than the roofline, or than nothing at all
    noisy,       ///< measured, and nothing can be said
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Status status);

/// What the gates found. All numbers are finite or plus infinity.
struct Result {
    std::uint64_t index = 0;
    Status status = Status::ok;
    double cost = 0;                      ///< what is minimised within a cell
    double low = 0, high = 0;             ///< its interval; equal to cost, or 0, where that is exact
    std::vector<float> errors = {};       ///< one for each case, 0 is right; empty: cost alone selects
    std::vector<double> descriptor = {};  ///< raw values, one for each axis: the archive makes cells of them
    std::optional<Genome> genome = {};    ///< what Refine made of the candidate, where that is better
    std::uint16_t gate = 0;               ///< the last one that it came to
    std::optional<CodeSize> code = {};    ///< where it was assembled, also of what passes a limit
    std::string detail = {};              ///< why it failed, for people
};

/// One step of the cascade. `evaluate` gets candidates whose result is ok so far and completes their
/// results; what it leaves ok goes on to the next gate. Called by several threads at once with different
/// candidates. Equal candidates must get equal results, or the search is not deterministic.
class PTXGRAFT_API Gate {
  public:
    virtual ~Gate() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    virtual void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) = 0;
    /// Seconds of GPUs that it has used since it was made, for Budget::gpu_seconds; asked for between
    /// evaluations.
    [[nodiscard]] virtual double gpu_seconds() const { return 0; }
    /// Whether it may use any: then a run with a Budget::gpu_seconds gives it few candidates at once until
    /// their price is known.
    [[nodiscard]] virtual bool uses_gpu() const { return false; }
};

/// How far a value is from the right one.
enum class Measure : std::uint8_t {
    absolute,  ///< |value - right|
    relative,  ///< |value - right| / |right|; where right is 0: |value|
    ulp,       ///< |value - right| in units of the last place of the output's type at `right`
    bits,      ///< bits that differ from those of `right`, which is an integer
};

/// Points for which the outputs of a program are known. A wrong infinity or NaN is infinitely far.
struct Cases {
    /// For each register of the signature that is `in` or `mod` its values in the register's width, as
    /// stack::Columns has them; for `out` registers empty.
    std::vector<std::vector<std::byte>> inputs = {};
    /// For each register that is `mod` or `out` the right values; empty: it does not matter.
    std::vector<std::vector<double>> right = {};
    std::size_t count = 0;
    Measure measure = Measure::absolute;
    double bound = 0;  ///< the largest error of a right program
    /// Points that are tried first, spread over all: whose errors are Result::errors, and what is too wrong
    /// there is not tried elsewhere.
    std::uint32_t screen = 64;
};

/// A figure of a candidate: what is minimised, or an axis of the archive.
enum class Objective : std::uint8_t {
    instructions,  ///< of PTX, without moves
    error,         ///< the largest one
    registers,     ///< of machine code, for each thread: this and the next ones are found by assembly()
    code_bytes,
    machine_instructions,
    time_ratio,  ///< the time over the baseline's, measured on a GPU: found by timing() alone
};
inline constexpr std::size_t objective_count = 6;
[[nodiscard]] PTXGRAFT_API std::string_view name(Objective objective);  ///< "code_bytes"

struct ColumnsOptions {
    Objective objective = Objective::instructions;  ///< or error
    std::uint32_t refinements = 200;                ///< evaluations for each Refine
    /// Approximate instructions count by the worst that the manual allows them: each program that has some is
    /// evaluated with exact results, and with results at the edges of their bounds (stack::Approximation).
    bool perturb = true;
};

/// The gate that evaluates programs over cases on the CPU. The space has one site, without effects. Its
/// descriptor is {instructions, largest error}, where moves are no instructions; what passes `bound` on any
/// point is infeasible. Errors: Errc::space_invalid; Errc::cases_invalid, also for results that are no values
/// of an integer's type, or are 2^53 or more.
[[nodiscard]] PTXGRAFT_API Expected<std::unique_ptr<Gate>> columns(const Space& space, Cases cases,
                                                                   const ColumnsOptions& options = {});

// ---- small spaces -----------------------------------------------------------------------------------------

struct EnumerateOptions {
    std::uint32_t instructions = 3;  ///< programs of at most so many are tried
    std::uint64_t trials = 0;        ///< as Enumeration has them: it gives up behind so many; 0: never
    bool perturb = true;             ///< as ColumnsOptions has it
    std::uint32_t threads = 0;       ///< 0: one per processor
    const std::atomic<bool>* stop = nullptr;  ///< set by whoever wants it to end
};

struct Enumeration {
    /// One that is right on all points and has as few instructions as any; none: there is none so short.
    std::optional<stack::Program> program;
    std::uint32_t instructions = 0;  ///< of the program
    /// Evaluations of an addition of 32 bits on four points, some 4 ns each: on all points of the screen, and
    /// of other instructions, as many as take their time.
    std::uint64_t trials = 0;
    /// All shorter programs, and without a program all of `instructions`, were tried: on a screen of 256 to
    /// 4,096 points, or all, to which points are added where what is right on it is wrong. Approximate forms
    /// are exact there; what else they may give is looked at of one of the approximate programs that agree.
    bool is_complete = true;
};

/// Tries all straight-line programs of the site's forms, from short ones on, over the operands and the
/// space's constants: that nothing shorter is right is then proved, for these points, forms and constants.
/// Moves of bits between types (`as.f32.u32`) count as nothing. Forms with several results, with none or more
/// than 4 inputs, with effects, with two immediates or one of more than 256 values take no part. The space
/// has one site. Where the cases know several registers, one program has all results. It ends without a
/// proof, too, where more than 4 million different values are one instruction away.
/// Errors: Errc::space_invalid, Errc::cases_invalid.
[[nodiscard]] PTXGRAFT_API Expected<Enumeration> enumerate(const Space& space, const Cases& cases,
                                                           const EnumerateOptions& options = {});

// ---- searching --------------------------------------------------------------------------------------------

/// An axis of the archive: value v belongs to bin k where k edges are at most v.
struct Axis {
    std::string name;
    std::vector<double> edges;  ///< ascending
};

/// A way to make children, by the names that `operators()` lists.
struct Operator {
    std::string name;
    double weight = 1;  ///< of those that are left at 0 none is drawn
};

/// | operator | what it does |
/// |---|---|
/// | umad | new genes before or behind each with rate r, then each deleted with r / (1 + r); r log-uniform |
/// | replace | a gene by one that pops and pushes the same, or another of its kind |
/// | swap, delete | two genes change places; a gene goes, or a run of them |
/// | constant | a constant by some ulp, its exponent, its sign; of integers a bit, a shift; or another |
/// | crossover | genes of both parents in turns, or a segment of one in the other, or a whole site |
/// | tunable | another value of a tunable |
/// | fresh | a random program |
/// | library | a segment of a program of SiteSpace::library or of a seed, as crossover; weight 0 |
/// | bypass | an instruction by one of its operands (stack::bypass), which shortens series; weight 0 |
/// | fuse | two instructions, where one takes the other's result, by one that takes all; weight 0 |
[[nodiscard]] PTXGRAFT_API std::vector<Operator> default_operators();

/// What a run may spend, of each as much as is said; 0: no limit. It ends before it would pass one: of
/// candidates, assemblies and emulations to the number; of seconds by what is under way when they are over;
/// of seconds of GPUs by the price of the dearest batch so far, for each candidate of the next one.
struct Budget {
    std::uint64_t candidates = 0;  ///< judged
    double seconds = 0;            ///< of the clock on the wall
    double cpu_seconds = 0;        ///< of all threads of this process
    std::uint64_t assemblies = 0;  ///< candidates that come to gates named `assembly`
    std::uint64_t emulations = 0;  ///< candidates that come to gates named `emulation`
    double gpu_seconds = 0;        ///< Gate::gpu_seconds of all gates
};

/// It ends behind the first candidate with which an elite, the best of its cell, has at most this bound, and
/// at most this on each axis: that is the same candidate on one thread and many, and after any interruption.
/// One whose cost was measured must have been measured again (Options::remeasure): luck reaches anything.
/// Within a cell only the one of the lowest bound is looked at: where a target names a value on an axis, an
/// edge just above that value makes cells of which all or none reach it.
struct Target {
    double cost = 0;
    std::vector<double> descriptor = {};
};

/// How parents are chosen. The others are there to be compared with: whoever is not better than they are has
/// found nothing.
enum class Strategy : std::uint8_t {
    evolve,
    random,  ///< no parents: every candidate is a random program
    climb,   ///< the best so far is the parent of all: by cost, and before one is right by the sum of errors
};
[[nodiscard]] PTXGRAFT_API std::string_view name(Strategy strategy);

/// A surrogate in the loop: ridge regression of what was assembled, learnt as results are committed. Once it
/// is trusted, of 256 results at the earliest (src/search/README.md has the figures),
///
/// * a candidate is not assembled whose code is surely beyond a limit: by more than twice the deviation of
///   the last guesses. It is `rejected`, with a detail that begins with "guessed", and counts in
///   Ledger::guessed. Some are assembled all the same, so that the model sees where it is wrong. Trusted for
///   that is a model that would have said so of at least 16 of the results before they were learnt, and of
///   the last 64 of them wrongly of at most one in ten;
/// * those of a block that are guessed to cost least come first, with every twentieth place for the one that
///   is guessed to cost most: where a budget ends in a block, the least promising are left. Trusted for that
///   is a model that found half of the best tenth of the last four batches of 64.
///
/// What is to be refined is always assembled. Who judges by ask and tell finds the guess in the candidate.
struct GuessOptions {
    std::uint32_t registers = 0;   ///< the limit of the gate that assembles; 0: none
    std::uint32_t code_bytes = 0;  ///< likewise
    double share = 0.05;           ///< of what is surely beyond one: assembled all the same
};

/// What decides the course of a search; kept in the archive.
struct Options {
    std::uint64_t seed = 1;
    Strategy strategy = Strategy::evolve;
    std::vector<Axis> axes = {};
    std::uint32_t islands = 4;          ///< populations that exchange elites now and then
    std::uint32_t population = 512;     ///< of an island: what lexicase selection draws from
    std::uint32_t block = 1024;         ///< candidates drawn from one state
    std::uint32_t tournament = 32;      ///< of the population, that lexicase selection starts with
    std::uint32_t cell_depth = 2;       ///< elites of one cell, of different structures
    std::uint32_t migration = 10'000;   ///< candidates between exchanges
    std::uint32_t stagnation = 50'000;  ///< candidates without a new elite after which an island starts again
    /// Draws for a candidate that was not seen before. In a space that is exhausted more of them find
    /// nothing: a block is drawn no further where 49,152 draws in a row were in vain.
    std::uint32_t attempts = 16;
    bool refine = true;  ///< elites are tuned and shortened
    std::vector<Operator> operators = default_operators();
    bool adapt = true;  ///< operators' weights follow what they bring
    /// Elites whose cost is an interval are judged again, with Refine::measure: at once as the best of a
    /// cell, when one goes to another island, and behind so many others; at most a quarter of a block. The
    /// mean of what is found again takes the place of what chose them: luck loses the cell. Who has no upper
    /// end and a cost below the best's is judged again too: luck may have left it behind. One that does not
    /// end well is no elite any more; a noisy one stays as it is. 0: never.
    std::uint32_t remeasure = 1000;
    std::optional<GuessOptions> surrogate = {};  ///< none: nothing is guessed
    std::string task = {};                       ///< a text that is kept with the archive
    /// What candidates are judged with beside the task, as a hash: of the PTX of a skeleton. Kept with the
    /// archive; 0: nothing.
    std::uint64_t skeleton = 0;
};

struct OperatorCredit {
    std::string name;
    double weight = 0;  ///< as it is now
    std::uint64_t drawn = 0, elites = 0;
};

struct GateCount {
    std::string name;
    std::uint64_t in = 0, out = 0;
    double seconds = 0;      ///< of processors
    double gpu_seconds = 0;  ///< Gate::gpu_seconds
};

/// What the search has done, in this process and before.
struct Ledger {
    std::uint64_t drawn = 0;  ///< genomes, duplicates included
    std::uint64_t duplicates = 0;
    std::uint64_t judged = 0;  ///< candidates committed
    std::array<std::uint64_t, 9> by_status{};
    std::uint64_t guessed = 0;         ///< of the rejected: by a surrogate (GuessOptions)
    std::uint64_t measured_again = 0;  ///< elites, each as often as it was (Options::remeasure)
    /// Of those: what does not meet the interval that the elite had. It was lucky, or the device drifts.
    std::uint64_t disagreed = 0;
    std::vector<GateCount> gates;  ///< of this process
    std::vector<OperatorCredit> operators;
    std::uint64_t cells = 0;         ///< with an elite
    std::uint64_t without_gain = 0;  ///< the last candidates, none of which was the best of a cell
};

/// The best of a cell.
struct Elite {
    std::uint64_t index = 0;  ///< of the candidate
    Genome genome;
    double cost = 0;
    std::vector<double> descriptor;
    std::vector<std::uint32_t> cell;  ///< the bin on each axis
    double low = 0, high = 0;         ///< of the cost, as Result has it
    /// How often it was measured again: cost and interval are means of that. 0: what made it an elite.
    std::uint32_t times = 0;
    /// What its cost may be at most: of costs that are measured the lucky ones are the lowest, so that is
    /// what elites are compared by.
    [[nodiscard]] double bound() const { return bound_of(cost, low, high); }
    [[nodiscard]] static double bound_of(double cost, double low, double high) {
        const bool is_exact = low == 0 && high == 0;  // also where the cost is below 0
        return cost < high && !is_exact ? high : cost;
    }
};

enum class Stop : std::uint8_t { budget, target, exhausted, asked, stagnation };
[[nodiscard]] PTXGRAFT_API std::string_view name(Stop stop);

struct Summary {
    Stop stop = Stop::budget;
    std::uint64_t judged = 0;
    std::optional<Elite> best = {};  ///< of the lowest bound, then cost; of equals the first
};

struct RunOptions {
    Budget budget = {};
    std::optional<Target> target = {};
    /// Candidates, one after the other, none of which is the best of its cell, behind which it ends: those of
    /// earlier runs count. 0: it goes on. (Options::stagnation is of one island, which then begins again.)
    std::uint64_t stagnation = 0;
    std::uint32_t threads = 0;                ///< 0: one per processor
    const std::atomic<bool>* stop = nullptr;  ///< set by whoever wants it to end
    /// After each batch that is committed, on the thread that called; others judge the next one meanwhile.
    std::function<void(const Ledger&)> progress = {};
};

class PTXGRAFT_API Search {
  public:
    /// A new search where there is no file, else the archive's, continued: then space, options, task,
    /// skeleton and the library's version must be the archive's. An empty path keeps everything in memory.
    /// `first` are genomes that a new search judges first, before its sites' seeds; the archive keeps them,
    /// and a search that goes on is given none. Errors: Errc::space_invalid, also for genomes of another
    /// space; archive_differs, archive_in_use, archive_failed; archive_malformed, also of an empty file.
    [[nodiscard]] static Expected<Search> open(const std::string& archive, Space space, Options options = {},
                                               std::vector<Genome> first = {});

    /// At most n candidates that wait for a result: fewer where others must be told before, and none where
    /// the space is exhausted.
    [[nodiscard]] Expected<std::vector<Candidate>> ask(std::size_t n);
    /// Results of candidates that were asked for, in any order. One that is told twice counts once; what is
    /// never told is asked for again when the archive is opened again. Errors: Errc::result_unknown;
    /// Errc::archive_failed.
    [[nodiscard]] Expected<void> tell(std::span<const Result> results);
    /// ask, gates, tell, until a stop.
    [[nodiscard]] Expected<Summary> run(std::span<Gate* const> gates, const RunOptions& options = {});

    /// The elites of all islands: the best of each cell, in the order of the cells.
    [[nodiscard]] std::vector<Elite> elites() const;
    [[nodiscard]] Ledger ledger() const;
    [[nodiscard]] const Space& space() const;

    Search(Search&&) noexcept;
    Search& operator=(Search&&) noexcept;
    ~Search();
    struct Data;

  private:
    explicit Search(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

// ---- archives ---------------------------------------------------------------------------------------------

struct Measurements;  // search_measurements.hpp

/// A search that is a part of a collection (see merge).
struct Source {
    Options options;
    std::uint64_t first = 0, count = 0;  ///< indices of the collection that are its own
};

/// What an archive holds, for reports. It may be read while a search writes it: all is as it was when the
/// archive was opened.
class PTXGRAFT_API Archive {
  public:
    /// Errors: Errc::archive_malformed, archive_differs (another format), archive_failed. All that an export
    /// or a report is made of has checksums (src/search/archive/store.hpp), but for gates' prices: a damaged
    /// space, option or task is found here, a damaged row when it is read, by its index.
    [[nodiscard]] static Expected<Archive> open(const std::string& path);
    [[nodiscard]] const Space& space() const;
    /// Of a collection those of its first search, with the operators of all.
    [[nodiscard]] const Options& options() const;
    /// The searches of a collection; empty: it is the archive of one search.
    [[nodiscard]] const std::vector<Source>& sources() const;
    /// Genomes that the search judged first (Search::open).
    [[nodiscard]] const std::vector<Genome>& first() const;
    /// What ended the last run; none while one goes on, when it was killed, and of a collection.
    [[nodiscard]] std::optional<Stop> stop() const;
    /// What the search has done, of blocks that were begun, as Search::ledger has it, but that gates count
    /// for all processes. It makes all steps of the search again but for drawing and judging: microseconds a
    /// candidate. Of a collection gates and operators are empty.
    [[nodiscard]] Expected<Ledger> ledger() const;
    /// Calls for each judged candidate in the order of the indices.
    [[nodiscard]] Expected<void> for_each(
        const std::function<void(const Candidate&, const Result&)>& visit) const;
    /// Those of some indices, ascending; what is not there is passed over.
    [[nodiscard]] Expected<void> for_each(
        std::span<const std::uint64_t> indices,
        const std::function<void(const Candidate&, const Result&)>& visit) const;
    /// The elites, as Search::elites gives them.
    [[nodiscard]] Expected<std::vector<Elite>> elites() const;
    /// What was measured on GPUs, with all samples (search_measurements.hpp). Where there is anything, costs
    /// were measured, and the same search run again finds others.
    [[nodiscard]] Expected<Measurements> measurements() const;
    /// A line of JSON for each judged candidate, in the order of the indices, without times or paths: equal
    /// searches export equal bytes. A cost that is an interval has `low` and `high`.
    [[nodiscard]] Expected<void> export_json(const std::function<void(std::string_view)>& line) const;
    /// The same as CSV (RFC 4180), a record at a time with the end of its line: first the names of the
    /// columns, `index, island, operator, refine, parent, parent2, status, cost, low, high`, then a column
    /// for each axis, site and tunable (`axis error`, `site f`, `tunable tile`), then `detail`. A parent that
    /// there is not is empty, and so is the interval of an exact cost; infinity is `inf`.
    [[nodiscard]] Expected<void> export_csv(const std::function<void(std::string_view)>& record) const;
    /// What a search of another space begins with (Search::open) where it judges anew what this one found
    /// right: its genomes that ended `ok`, in the order of their indices, as far as they are genomes of that
    /// space too. Programs are carried over as texts, by the names of sites; tunables by name and value,
    /// and what a program or a value is not in the other space leaves the genome out. An archive is never
    /// judged anew in place: its course follows from results that would be others.
    [[nodiscard]] Expected<std::vector<Genome>> genomes_for(const Space& space) const;

    Archive(Archive&&) noexcept;
    Archive& operator=(Archive&&) noexcept;
    ~Archive();
    struct Data;

  private:
    friend PTXGRAFT_API Expected<void> merge(std::span<const std::string> archives, const std::string& out);
    explicit Archive(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

/// The elites that no other one beats: by bound, then cost, and by each value of the descriptor, the lower
/// the better.
[[nodiscard]] PTXGRAFT_API std::vector<Elite> pareto_front(std::span<const Elite> elites);
/// The text of a program (stack.hpp) without what does nothing in it.
[[nodiscard]] PTXGRAFT_API std::string program_text(const stack::Program& program,
                                                    const stack::Machine& machine);

/// Makes one archive of several: a **collection**, with every candidate that any of them has, a candidate
/// that several have once (but where they measured or guessed differently), and so the best of every cell. A
/// collection is read (best, export, report, merge) and never continued: what a search draws next depends on
/// all that it alone has seen.
///
/// Searches are ordered by the texts of their options, of equal ones the longer first, then by a hash of
/// their candidates; candidate k of a search has the index k + (the last index + 1 of all searches before
/// it), and keeps it whatever is left out. What an earlier search has already is left out, and its children
/// are then those of the equal one. So the order of the arguments does not matter, a search that is given
/// twice counts once, collections can be merged again (with the same result as all at once), and a search
/// merged with itself exports the bytes that it exported before.
///
/// What was measured goes along, with every sample: sessions and batches are numbered anew, those of each
/// search behind those of the ones before it.
///
/// All must have equal spaces (Space::hash), equal axes, and tasks that are equal but for options, budget,
/// target and stagnation. Errors: Errc::archive_differs where they have not; Errc::archive_failed, also where
/// `out` exists; Errc::argument_invalid for no archive at all; those of Archive::open.
[[nodiscard]] PTXGRAFT_API Expected<void> merge(std::span<const std::string> archives,
                                                const std::string& out);

}  // namespace ptxgraft::search
