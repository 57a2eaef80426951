// The loop: blocks are drawn, asked for, judged, and committed in the order of their indices.

#include "ptxgraft/search.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <ctime>
#include <deque>
#include <set>
#include <tuple>

#include "base/threads.hpp"
#include "base/try.hpp"
#include "search/loop/spending.hpp"
#include "search/loop/state.hpp"
#include "search/loop/writer.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::uint64_t blocks_ahead = 2;  // that are drawn before the first of them is committed
constexpr std::size_t judged_at_once = 16;

constexpr std::array<std::string_view, 9> status_names = {
    "ok", "infeasible", "wrong", "rejected", "failed", "timed out", "crashed", "impossible", "noisy"};
constexpr std::array<std::string_view, 3> strategy_names = {"evolve", "random", "climb"};
constexpr std::array<std::string_view, 5> stop_names = {"budget", "target", "exhausted", "asked",
                                                        "stagnation"};
const std::function<bool()> never = [] { return false; };

Expected<void> check_space(const Space& space) {
    if (space.sites.empty()) return fail(Errc::space_invalid, "it has no site");
    for (const SiteSpace& site : space.sites) {
        if (site.max_genes == 0) return fail(Errc::space_invalid, "max_genes of " + site.name + " is 0");
        for (const stack::Program& seed : site.seeds)
            if (seed.code.size() > site.max_genes)
                return fail(Errc::space_invalid, "a seed of " + site.name + " has " +
                                                     std::to_string(seed.code.size()) +
                                                     " instructions, more than max_genes");
        const auto has_output = [](const SiteOperand& o) { return o.direction != Direction::in; };
        if (std::ranges::none_of(site.machine.signature().operands, has_output))
            return fail(Errc::space_invalid, "the site " + site.name + " has no output");
    }
    for (const Tunable& tunable : space.tunables)
        if (tunable.values.empty())
            return fail(Errc::space_invalid, "the tunable " + tunable.name + " has no value");
    std::set<std::string_view> names;
    const auto check_name = [&](std::string_view name) -> Expected<void> {
        if (names.insert(name).second) return {};
        return fail(Errc::space_invalid, "two sites or tunables are named " + std::string(name));
    };
    for (const SiteSpace& site : space.sites) TRY(check_name(site.name));
    for (const Tunable& tunable : space.tunables) TRY(check_name(tunable.name));
    return {};
}

Expected<void> check_options(const Options& options) {
    const auto positive = [](std::uint32_t value, std::string_view name) -> Expected<void> {
        if (value != 0) return {};
        return fail(Errc::space_invalid, std::string(name) + " is 0");
    };
    TRY(positive(options.islands, "the number of islands"));
    TRY(positive(options.population, "the population"));
    TRY(positive(options.block, "the block"));
    TRY(positive(options.tournament, "the tournament"));
    TRY(positive(options.cell_depth, "cell_depth"));
    TRY(positive(options.attempts, "the number of attempts"));
    if (options.islands > 0xFFFF) return fail(Errc::space_invalid, "more than 65,535 islands");
    double weights = 0;
    for (const Operator& op : options.operators) {
        if (find_operator(op.name) == nullptr)
            return fail(Errc::space_invalid, "no operator is named " + op.name);
        if (!(op.weight >= 0) || std::isinf(op.weight))
            return fail(Errc::space_invalid, "the weight of " + op.name + " is not a number from 0 on");
        weights += op.weight;
    }
    if (!(weights > 0)) return fail(Errc::space_invalid, "no operator has a weight above 0");
    for (const Axis& axis : options.axes) {
        if (!std::ranges::all_of(axis.edges, [](double edge) { return std::isfinite(edge); }))
            return fail(Errc::space_invalid, "an edge of " + axis.name + " is not finite");
        if (!std::ranges::is_sorted(axis.edges))
            return fail(Errc::space_invalid, "the edges of " + axis.name + " do not ascend");
    }
    if (options.surrogate && !(options.surrogate->share >= 0 && options.surrogate->share <= 1))
        return fail(Errc::space_invalid, std::string("the surrogate's share is not from 0 to 1"));
    return {};
}

// Whether a genome has a program for each site and a value for each tunable.
bool is_of(const Genome& genome, const Space& space) {
    if (genome.programs.size() != space.sites.size() || genome.tunables.size() != space.tunables.size())
        return false;
    for (std::size_t k = 0; k < genome.programs.size(); ++k)
        if (genome.programs[k].code.size() > space.sites[k].max_genes) return false;
    for (std::size_t k = 0; k < genome.tunables.size(); ++k)
        if (genome.tunables[k] >= space.tunables[k].values.size()) return false;
    return true;
}

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// And none is a NaN. All are looked at, as vectors are.
bool are_from_zero_on(const std::vector<float>& errors) {
    std::uint32_t others = 0;
    for (const float error : errors) others += static_cast<std::uint32_t>(!(error >= 0));
    return others == 0;
}

// Whether a result can be kept.
bool is_usable(const Result& result, const Space& space) {
    if (static_cast<std::size_t>(result.status) >= status_names.size()) return false;
    if (result.genome && !is_of(*result.genome, space)) return false;
    const auto is_right = [](double value) { return !std::isnan(value) && value != -HUGE_VAL; };
    return is_right(result.cost) && is_right(result.low) && is_right(result.high) &&
           std::ranges::all_of(result.descriptor, is_right) && are_from_zero_on(result.errors);
}

// What each gate has cost, added up by all threads.
struct Counts {
    std::atomic<std::uint64_t> in = 0, out = 0, nanoseconds = 0;
};

}  // namespace

std::string_view name(Status status) { return status_names.at(static_cast<std::size_t>(status)); }
std::string_view name(Strategy strategy) { return strategy_names.at(static_cast<std::size_t>(strategy)); }
std::string_view name(Stop stop) { return stop_names.at(static_cast<std::size_t>(stop)); }

struct Search::Data {
    Data(Space of, Options with) : space(std::move(of)), options(std::move(with)) {}

    Space space;
    Options options;
    std::optional<State> state;
    std::optional<Writer> writer;  // of the archive
    std::deque<Block> blocks;      // drawn and not wholly committed
    std::uint64_t next_block = 0;
    Crew alone{1};
    Crew* crew = &alone;  // of the run
    std::vector<GateCount> gates;
    std::uint64_t empty_blocks = 0, empty_draws = 0;  // the last ones that were drawn
    bool is_exhausted = false;
    std::vector<double> gpu_seconds;  // of each gate, as it said last

    std::optional<Error> broken;  // why the archive could not be written

    // ---- the log
    // Whether it was drawn, or left off because the run is over.
    bool draw_next(const std::function<bool()>& is_over = never) {
        auto drawn = state->draw(next_block, *crew, is_over);
        if (!drawn) return false;
        ++next_block;
        blocks.push_back(std::move(*drawn));
        note_size();
        return true;
    }
    // All blocks that have to be drawn before any more is committed.
    bool draw_ahead(const std::function<bool()>& is_over) {
        while (blocks.size() < blocks_ahead && !is_exhausted)
            if (!draw_next(is_over)) return false;
        return true;
    }
    // A block without candidates may be drawn from a state that has not yet seen the ones before; where as
    // many as are drawn ahead, and one more, have none, and those of small blocks are many draws, there are
    // none.
    void note_size() {
        const bool is_empty = blocks.back().candidates.empty();
        empty_blocks = is_empty ? empty_blocks + 1 : 0;
        empty_draws = is_empty ? empty_draws + blocks.back().counts.drawn : 0;
        is_exhausted = empty_blocks > blocks_ahead && empty_draws >= draws_in_vain;
    }
    // What could not be written was perhaps not kept: nothing goes on behind that.
    Expected<void> kept(Expected<void> done) {
        if (!done) broken = done.error();
        return done;
    }
    // Commits what is ready, from the front on, up to the candidate behind which the run ends: that is a
    // function of the log alone, whatever else was judged with it. Others may be judged meanwhile.
    Expected<void> commit(const std::function<bool()>& ends = never,
                          const std::function<bool()>& is_over = never) {
        if (broken) return tl::unexpected(*broken);
        return kept(commit_all(ends, is_over));
    }
    Expected<void> commit_all(const std::function<bool()>& ends, const std::function<bool()>& is_over) {
        while (draw_ahead(is_over) && !blocks.empty()) {
            Block& block = blocks.front();
            const std::size_t first = block.committed;
            for (; block.committed < block.ready && !ends(); ++block.committed)
                state->commit(block.candidates[block.committed], *block.results[block.committed]);
            if (!block.is_done()) {
                if (writer && block.committed > first) TRY(writer->write(block, first));
                break;
            }
            state->end_block(block.counts.block);
            Block done = std::move(block);
            blocks.pop_front();
            TRY(write_done(std::move(done), first));
        }
        return {};
    }
    // What of a block is not yet written; then its memory is used again.
    Expected<void> write_done(Block done, std::size_t first) {
        if (writer && first == 0) {
            TRY(writer->write_later(std::move(done), *crew));
            for (Block& written : writer->take_written()) state->take_back(std::move(written));
            return {};
        }
        if (writer) TRY(writer->write(done, first));
        state->take_back(std::move(done));
        return {};
    }
    void note_ready() {
        for (Block& block : blocks) block.note_ready();
    }
    // That have their results and are not committed.
    [[nodiscard]] std::uint64_t ready() const {
        std::uint64_t count = 0;
        for (const Block& block : blocks) count += block.ready - block.committed;
        return count;
    }
    // All that it has to write is written before it goes.
    void dismiss_crew() {
        if (writer) (void)kept(writer->wait());
        crew = &alone;
    }
    Expected<void> resume();
    Expected<void> replay(const std::vector<BlockCounts>& counts,
                          std::vector<std::pair<Candidate, Result>>& log);

    // ---- ask and tell
    struct Waiting {
        const Candidate* candidate;
        ResultSlot* result;
    };
    // At most n that nobody has asked for.
    std::vector<Waiting> take(std::size_t n) {
        std::vector<Waiting> taken;
        for (Block& block : blocks) take(block, n, taken);
        return taken;
    }
    // At most n of one block: while they are judged those of the block before are committed.
    std::vector<Waiting> take_of_one(std::size_t n) {
        std::vector<Waiting> taken;
        for (Block& block : blocks)
            if (taken.empty()) take(block, n, taken);
        return taken;
    }
    static void take(Block& block, std::size_t n, std::vector<Waiting>& taken) {
        for (; block.asked < block.candidates.size() && taken.size() < n; ++block.asked)
            if (!block.results[block.asked])
                taken.push_back({&block.candidates[block.asked], &block.results[block.asked]});
    }
    // They were not judged: they are asked for again.
    void give_back(std::span<const Waiting> waiting) {
        for (const Waiting& one : waiting) one.result->reset();
        for (Block& block : blocks) block.asked = block.committed;
    }
    // Where the result of a candidate belongs; null where it is not known.
    ResultSlot* place_of(std::uint64_t index) {
        for (Block& block : blocks) {
            const auto at = std::ranges::lower_bound(block.candidates, index, {}, &Candidate::index);
            if (at != block.candidates.end() && at->index == index)
                return &block.results[static_cast<std::size_t>(at - block.candidates.begin())];
        }
        return nullptr;
    }

    // ---- gates
    void judge(std::span<Gate* const> with, std::span<const Waiting> waiting,
               std::vector<Counts>& counts) const;
    // What a run asks for, and says, while it goes on.
    struct Course {
        std::function<bool()> ends, is_over;  // behind a candidate; by a clock or a wish
        std::function<void()> told;           // what was committed
    };
    Expected<void> judge_and_commit(std::span<Gate* const> with, std::span<const Waiting> waiting,
                                    std::vector<Counts>& counts, const Course& course);
    Expected<void> check_judged(std::span<const Waiting> waiting);
    void count(std::span<Gate* const> with, std::vector<Counts>& counts, Spending& spending);
    Expected<void> note_stop(std::string_view stop);

    [[nodiscard]] std::optional<Elite> best() const {
        std::optional<Elite> found;
        for (Elite& elite : state->elites())
            if (!found || std::tuple(elite.bound(), elite.cost, elite.index) <
                              std::tuple(found->bound(), found->cost, found->index))
                found = std::move(elite);
        return found;
    }
};

// A search whose log is in the archive: blocks that are whole are taken from there, the others are drawn
// again, and what is known of them is told.
Expected<void> Search::Data::resume() {
    const Store& store = writer->store();
    const auto counts = TRY(store.blocks());
    std::vector<std::pair<Candidate, Result>> log;
    TRY(store.for_each([&](Candidate&& candidate, Result&& result) -> Expected<void> {
        const bool is_sound = candidate.island < options.islands &&
                              candidate.operation < options.operators.size() &&
                              is_of(candidate.genome, space) && is_usable(result, space);
        if (!is_sound)
            return fail(Errc::archive_malformed,
                        "candidate " + std::to_string(candidate.index) + " is none of this search");
        log.emplace_back(std::move(candidate), std::move(result));
        return {};
    }));
    return replay(counts, log);
}

Expected<void> Search::Data::replay(const std::vector<BlockCounts>& counts,
                                    std::vector<std::pair<Candidate, Result>>& log) {
    std::size_t at = 0;  // in the log, of the next block to be drawn
    const auto draw = [&]() -> Expected<void> {
        const std::uint64_t number = next_block;
        const auto end =
            std::find_if(log.begin() + static_cast<std::ptrdiff_t>(at), log.end(),
                         [&](const auto& row) { return row.first.index >= (number + 1) * options.block; });
        const auto stored = static_cast<std::size_t>(end - log.begin()) - at;
        if (number < counts.size() && counts[number].candidates == stored) {
            ++next_block;
            Block block{.counts = counts[number]};
            for (std::size_t k = 0; k < stored; ++k) block.candidates.push_back(log[at + k].first);
            block.results.resize(stored);
            state->note_drawn(block);
            blocks.push_back(std::move(block));
            note_size();
        } else {
            draw_next();
        }
        std::vector<Candidate>& candidates = blocks.back().candidates;
        if (stored > candidates.size())
            return fail(Errc::archive_malformed,
                        "block " + std::to_string(number) + " has too many candidates");
        for (std::size_t k = 0; k < stored; ++k) {
            if (candidates[k].index != log[at + k].first.index ||
                candidates[k].genome != log[at + k].first.genome)
                return fail(Errc::archive_differs, "candidate " + std::to_string(log[at + k].first.index) +
                                                       " is drawn otherwise by this version of the library");
            blocks.back().results[k] = std::move(log[at + k].second);
        }
        at += stored;
        return {};
    };
    for (std::uint64_t k = 0; k < blocks_ahead; ++k) TRY(draw());
    while (!blocks.empty()) {
        Block& block = blocks.front();
        for (; !block.is_done() && block.results[block.committed]; ++block.committed)
            state->commit(block.candidates[block.committed], *block.results[block.committed]);
        if (!block.is_done() || block.counts.block >= counts.size()) break;
        state->end_block(block.counts.block);
        blocks.pop_front();
        if (!is_exhausted) TRY(draw());
    }
    note_ready();
    return commit();  // blocks without candidates, and a new search's first
}

Search::Search(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;
Search::~Search() = default;

Expected<Search> Search::open(const std::string& archive, Space space, Options options,
                              std::vector<Genome> first) {
    TRY(check_space(space));
    TRY(check_options(options));
    for (const Genome& genome : first)
        if (!is_of(genome, space))
            return fail(Errc::space_invalid, "a genome to be judged first is none of the space");
    auto data = std::make_unique<Data>(std::move(space), std::move(options));
    if (!archive.empty()) {
        data->writer.emplace(TRY(Store::open(archive, data->space, data->options, first)));
        first = TRY(data->writer->store().first());
        for (const Genome& genome : first)
            if (!is_of(genome, data->space))
                return fail(Errc::archive_malformed, "a genome to be judged first is none of its space");
    }
    data->state.emplace(TRY(Breeder::make(data->space)), data->options, std::move(first));
    TRY(archive.empty() ? data->commit() : data->resume());
    return Search(std::move(data));
}

Expected<std::vector<Candidate>> Search::ask(std::size_t n) {
    std::vector<Candidate> made;
    for (const Data::Waiting& waiting : data_->take(n)) made.push_back(*waiting.candidate);
    return made;
}

Expected<void> Search::tell(std::span<const Result> results) {
    for (const Result& result : results) {
        ResultSlot* const place = data_->place_of(result.index);
        if (place == nullptr) {
            if (result.index < (data_->next_block - data_->blocks.size()) * data_->options.block) continue;
            return fail(Errc::result_unknown, std::to_string(result.index));
        }
        if (!is_usable(result, data_->space))
            return fail(Errc::result_unknown,
                        std::to_string(result.index) + ", whose numbers, status or genome are none");
        if (!*place) *place = result;
    }
    data_->note_ready();
    return data_->commit();
}

void Search::Data::judge(std::span<Gate* const> with, std::span<const Waiting> waiting,
                         std::vector<Counts>& counts) const {
    std::vector<const Candidate*> in;
    std::vector<Result*> out;
    for (const auto& [candidate, result] : waiting) {
        in.push_back(candidate);
        out.push_back(&result->emplace());
        out.back()->index = candidate->index;
    }
    const auto keep_ok = [&] {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < in.size(); ++k)
            if (out[k]->status == Status::ok) {
                in[kept] = in[k];
                out[kept++] = out[k];
            }
        in.resize(kept);
        out.resize(kept);
    };
    for (std::size_t g = 0; g < with.size() && !in.empty(); ++g) {
        for (Result* result : out) result->gate = static_cast<std::uint16_t>(g);
        if (with[g]->name() == assembling) {  // but for those that are surely too large
            for (std::size_t k = 0; k < in.size(); ++k)
                if (in[k]->guess != CodeSize{}) {
                    out[k]->status = Status::rejected;
                    out[k]->detail = guess_text(in[k]->guess);
                }
            keep_ok();
            if (in.empty()) break;
        }
        const double begin = thread_seconds();
        with[g]->evaluate(in, out);
        counts[g].nanoseconds += static_cast<std::uint64_t>((thread_seconds() - begin) * 1e9);
        counts[g].in += in.size();
        keep_ok();
        counts[g].out += in.size();
    }
}

// Some are judged by all threads; the calling one first commits what was judged before them, and draws what
// has to be drawn then. Where the run ends with one of those, no more is judged.
Expected<void> Search::Data::judge_and_commit(std::span<Gate* const> with, std::span<const Waiting> waiting,
                                              std::vector<Counts>& counts, const Course& course) {
    std::atomic<bool> has_ended = false;
    Expected<void> committed;
    try {
        const std::size_t parts = (waiting.size() + judged_at_once - 1) / judged_at_once;
        Crew::Task judging(*crew, parts, [&](std::size_t part) {
            if (has_ended || course.is_over()) return;
            const std::size_t first = part * judged_at_once;
            judge(with, waiting.subspan(first, std::min(judged_at_once, waiting.size() - first)), counts);
        });
        committed = commit(course.ends, course.is_over);
        has_ended = !committed || course.ends();
        course.told();
        judging.finish();
    } catch (...) {  // of a gate
        give_back(waiting);
        throw;
    }
    for (Block& block : blocks) block.asked = block.committed;  // those that are not judged any more
    TRY(check_judged(waiting));
    note_ready();
    return committed;
}

// No result of a gate is kept unless all are usable.
Expected<void> Search::Data::check_judged(std::span<const Waiting> waiting) {
    const auto wrong = std::ranges::find_if(
        waiting, [&](const Waiting& w) { return *w.result && !is_usable(**w.result, space); });
    if (wrong == waiting.end()) return {};
    const std::uint64_t index = wrong->candidate->index;
    give_back(waiting);
    return fail(Errc::result_unknown, std::to_string(index) + ", whose numbers, status or genome are none");
}

// What the gates have done since the last time goes to the ledger, and to the archive with the next commit.
void Search::Data::count(std::span<Gate* const> with, std::vector<Counts>& counts, Spending& spending) {
    std::vector<GateCount> added;
    for (std::size_t g = 0; g < with.size(); ++g) {
        const double gpu = with[g]->gpu_seconds();
        const GateCount& one = added.emplace_back(
            GateCount{.name = std::string(with[g]->name()),
                      .in = counts[g].in.exchange(0),
                      .out = counts[g].out.exchange(0),
                      .seconds = static_cast<double>(counts[g].nanoseconds.exchange(0)) * 1e-9,
                      .gpu_seconds = gpu - std::exchange(gpu_seconds[g], gpu)});
        gates[g].name = one.name;
        gates[g].in += one.in;
        gates[g].out += one.out;
        gates[g].seconds += one.seconds;
        gates[g].gpu_seconds += one.gpu_seconds;
    }
    spending.add(added);
    if (writer) writer->add(added);
}

Expected<void> Search::Data::note_stop(std::string_view stop) {
    if (broken) return tl::unexpected(*broken);
    return writer ? kept(writer->set_stop(stop)) : Expected<void>();
}

Expected<Summary> Search::run(std::span<Gate* const> gates, const RunOptions& options) {
    Data& d = *data_;
    TRY(d.note_stop({}));
    Crew crew(thread_count(options.threads));
    d.crew = &crew;
    const std::unique_ptr<Data, void (*)(Data*)> at_end(&d, [](Data* of) { of->dismiss_crew(); });
    Spending spending(options.budget, gates);
    const std::uint64_t judged_before = d.state->judged();
    std::vector<Counts> counts(gates.size());
    if (d.gates.size() != gates.size()) d.gates.assign(gates.size(), {});
    d.gpu_seconds.clear();
    for (const Gate* gate : gates) d.gpu_seconds.push_back(gate->gpu_seconds());
    for (Block& block : d.blocks) block.asked = block.committed;  // what nobody has told is judged here
    d.note_ready();

    const auto judged = [&] { return d.state->judged() - judged_before; };
    const auto is_asked = [&] { return options.stop != nullptr && options.stop->load(); };
    const auto is_over = [&] { return is_asked() || spending.is_late(); };
    const auto stagnates = [&] {
        return options.stagnation != 0 && d.state->without_gain() >= options.stagnation;
    };
    // Behind the last candidate that was committed; only one that changed the elites reaches a target.
    const auto ends = [&] {
        const bool has_changed = d.state->has_changed() && judged() != 0;
        return stagnates() || (options.budget.candidates != 0 && judged() >= options.budget.candidates) ||
               (has_changed && options.target && d.state->reaches(*options.target));
    };
    const auto stop = [&]() -> std::optional<Stop> {
        if (options.target && d.state->reaches(*options.target)) return Stop::target;
        if (is_asked()) return Stop::asked;
        if (stagnates()) return Stop::stagnation;
        if (spending.left(judged()) == 0) return Stop::budget;
        return std::nullopt;
    };
    const auto ended = [&](Stop why) -> Expected<Summary> {
        TRY(d.note_stop(name(why)));
        return Summary{why, d.state->judged(), d.best()};
    };
    for (;;) {
        const auto why = stop();
        // What is ready counts as judged; what is judged behind the end is judged in vain.
        const std::uint64_t ready = d.ready(), still = d.state->without_gain() + ready;
        std::uint64_t most =
            why ? 0 : std::min<std::uint64_t>(spending.left(judged() + ready), d.options.block);
        if (options.stagnation != 0)
            most = std::min(most, options.stagnation - std::min(options.stagnation, still));
        const std::vector<Data::Waiting> waiting = d.take_of_one(most);
        if (waiting.empty() && ready == 0 && why) return ended(*why);
        if (waiting.empty() && d.blocks.empty()) return ended(why.value_or(Stop::exhausted));
        const auto told = [&] {
            if (options.progress && ready != 0) options.progress(ledger());
        };
        TRY(d.judge_and_commit(gates, waiting, counts, {ends, is_over, told}));
        d.count(gates, counts, spending);
        if (why) return ended(stop().value_or(*why));
    }
}

std::vector<Elite> Search::elites() const { return data_->state->elites(); }
const Space& Search::space() const { return data_->space; }
Ledger Search::ledger() const {
    Ledger made = data_->state->ledger();
    made.gates = data_->gates;
    return made;
}

}  // namespace ptxgraft::search
