// The gate that evaluates programs over cases: screen first, then all points; and refines what is good.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>

#include "base/try.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/search.hpp"
#include "search/gates/chebyshev.hpp"
#include "search/gates/columns.hpp"
#include "search/gates/figures.hpp"
#include "search/loop/genes.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::size_t most_groups = 16;  // of the points behind the screen, whose largest errors are cases

// Points of the cases, as columns that an evaluator reads.
struct Points {
    std::vector<std::vector<std::byte>> inputs;
    std::vector<RightValues> right;
    std::size_t count = 0;
};

// What a thread needs to evaluate.
struct Scratch {
    stack::Evaluator evaluator;
    std::vector<std::vector<std::byte>> outputs;
    std::vector<std::vector<double>> values, errors;  // of the registers that the cases know
    std::vector<double> largest;                      // of the errors, by point
    std::vector<const void*> in;
    std::vector<void*> out;
};

struct Score {
    Status status = Status::infeasible;
    double instructions = 0, error = 0;
    std::vector<float> errors;
};

class ColumnsGate final : public Gate {
  public:
    ColumnsGate(const Space& space, Cases cases, const ColumnsOptions& options)
        : site_(space.sites[0]),
          options_(options),
          registers_(case_registers(site_.machine.signature())),
          measure_(cases.measure),
          bound_(cases.bound) {
        for (const std::vector<double>& right : cases.right) output_count_ += !right.empty();
        split(cases);
    }
    [[nodiscard]] std::string_view name() const override { return "columns"; }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        std::unique_ptr<Scratch> scratch = take_scratch();
        for (std::size_t k = 0; k < candidates.size(); ++k) judge(*candidates[k], *results[k], *scratch);
        const std::scoped_lock lock(mutex_);
        free_.push_back(std::move(scratch));
    }

  private:
    // Every so many-th point is of the screen, and the others follow it.
    void split(const Cases& cases) {
        std::vector<std::size_t> order = screen_of(cases, cases.screen);
        std::vector<bool> is_first(cases.count, false);
        for (const std::size_t at : order) is_first[at] = true;
        fill(screen_, cases, order);
        order.clear();
        for (std::size_t k = 0; k < cases.count; ++k)
            if (!is_first[k]) order.push_back(k);
        fill(rest_, cases, order);
        group_count_ = std::min(most_groups, rest_.count);
    }
    [[nodiscard]] std::size_t group_of(std::size_t of_rest) const {
        return of_rest * group_count_ / rest_.count;
    }
    void fill(Points& points, const Cases& cases, std::span<const std::size_t> order) const {
        points.count = order.size();
        points.inputs.resize(registers_.size());
        points.right.resize(registers_.size());
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            const std::size_t bytes = registers_[r].bytes();
            if (!cases.inputs[r].empty()) {
                points.inputs[r].resize(order.size() * bytes);
                for (std::size_t k = 0; k < order.size(); ++k)
                    std::memcpy(points.inputs[r].data() + k * bytes,
                                cases.inputs[r].data() + order[k] * bytes, bytes);
            }
            if (cases.right[r].empty()) continue;
            for (const std::size_t k : order)
                points.right[r].add(cases.right[r][k], measure_, registers_[r].type);
        }
    }

    std::unique_ptr<Scratch> take_scratch() {
        {
            const std::scoped_lock lock(mutex_);
            if (!free_.empty()) {
                auto taken = std::move(free_.back());
                free_.pop_back();
                return taken;
            }
        }
        auto made = std::make_unique<Scratch>();
        const std::size_t most = std::max({screen_.count, at_once, std::size_t{1}});
        for (const CaseRegister& r : registers_) {
            made->outputs.emplace_back(most * r.bytes());
            made->values.emplace_back(most);
            made->errors.emplace_back(most);
        }
        made->largest.resize(most);
        made->in.resize(registers_.size());
        made->out.resize(registers_.size());
        return made;
    }

    // Visits the largest errors of any output at points [first, first + count), in each of the ways in which
    // approximate instructions may turn out.
    template <class Visit>
    void run(const Points& points, std::size_t first, std::size_t count, Scratch& scratch,
             Visit visit) const {
        using enum stack::Approximation;
        constexpr std::array ways = {exact, up, down, hashed};
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            scratch.in[r] =
                points.inputs[r].empty() ? nullptr : points.inputs[r].data() + first * registers_[r].bytes();
            scratch.out[r] = registers_[r].direction == Direction::in ? nullptr : scratch.outputs[r].data();
        }
        const bool is_open = options_.perturb && scratch.evaluator.is_approximate();
        for (const stack::Approximation way : std::span(ways).first(is_open ? ways.size() : 1)) {
            scratch.evaluator.run({scratch.in, scratch.out, count}, {.approximation = way});
            find_errors(points, first, count, scratch);
            visit(std::span<const double>(scratch.largest).first(count));
        }
    }
    // Of the outputs that are in the scratch.
    void find_errors(const Points& points, std::size_t first, std::size_t count, Scratch& scratch) const {
        double* const largest = scratch.largest.data();
        std::fill_n(largest, count, 0.0);
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            if (points.right[r].empty()) continue;
            const std::span<double> values = std::span(scratch.values[r]).first(count);
            double* const errors = scratch.errors[r].data();
            numbers_of(scratch.outputs[r].data(), registers_[r].type, values);
            errors_of(values, points.right[r], first, measure_, registers_[r].type, errors);
            for (std::size_t k = 0; k < count; ++k) largest[k] = std::max(largest[k], errors[k]);
        }
    }

    // The score of a program; `give_up`: where its error passes that, the rest is not tried.
    // Its errors lie in the memory of `made`.
    Score score(const stack::Program& program, double give_up, Scratch& scratch, Score made = {}) const {
        if (!scratch.evaluator.prepare(program, site_.machine, program_options)) {
            made.status = Status::failed;
            return made;
        }
        made.instructions = scratch.evaluator.instruction_count();
        made.errors.assign(screen_.count, 0);
        made.errors.resize(screen_.count + group_count_, never_tried);
        run(screen_, 0, screen_.count, scratch, [&](std::span<const double> errors) {
            for (std::size_t k = 0; k < errors.size(); ++k) worsen(made.errors[k], errors[k]);
            made.error = std::max(made.error, largest_of(errors));
        });
        add_output_cases(made.errors, scratch);
        if (made.error > give_up) return made;
        const std::span<float> groups = std::span(made.errors).subspan(screen_.count, group_count_);
        std::size_t begun = 0;  // groups
        for (std::size_t first = 0; first < rest_.count; first += at_once) {
            const std::size_t count = std::min(at_once, rest_.count - first);
            for (; begun <= group_of(first + count - 1); ++begun) groups[begun] = 0;
            run(rest_, first, count, scratch, [&](std::span<const double> errors) {
                for (std::size_t k = 0; k < errors.size(); ++k)
                    worsen(groups[group_of(first + k)], errors[k]);
                made.error = std::max(made.error, largest_of(errors));
            });
            if (made.error > give_up) return made;
        }
        made.status = made.error <= bound_ ? Status::ok : Status::infeasible;
        return made;
    }

    static double largest_of(std::span<const double> errors) {
        std::array<double, 4> largest{};  // lanes: one alone would wait for itself
        std::size_t k = 0;
        for (; k + largest.size() <= errors.size(); k += largest.size())
            for (std::size_t lane = 0; lane < largest.size(); ++lane)
                largest[lane] = std::max(largest[lane], errors[k + lane]);
        for (; k < errors.size(); ++k) largest[0] = std::max(largest[0], errors[k]);
        return *std::ranges::max_element(largest);
    }
    static void worsen(float& error, double by) {
        error = std::max(error, static_cast<float>(std::min(by, 3e38)));
    }

    // Where there are several outputs, each is a case too, by its sum of errors; of words each bit, on how
    // many points of the screen it is wrong. `exact` results are in the scratch.
    void add_output_cases(std::vector<float>& errors, const Scratch& scratch) const {
        if (output_count_ > 1)
            for (std::size_t r = 0; r < registers_.size(); ++r)
                if (!screen_.right[r].empty()) errors.push_back(sum_of_errors(r, scratch));
        if (measure_ != Measure::bits) return;
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            if (screen_.right[r].empty()) continue;
            const unsigned width = std::min(bits(registers_[r].type), 64u);
            const std::size_t first = errors.size();
            errors.resize(first + width, 0);
            for (std::size_t k = 0; k < screen_.count; ++k) {
                const std::uint64_t wrong =
                    word_of(scratch.values[r][k]) ^ word_of(screen_.right[r].values[k]);
                for (unsigned b = 0; b < width; ++b) errors[first + b] += static_cast<float>(wrong >> b & 1);
            }
        }
    }
    [[nodiscard]] float sum_of_errors(std::size_t r, const Scratch& scratch) const {
        double sum = 0;
        for (std::size_t k = 0; k < screen_.count; ++k) sum += scratch.errors[r][k];
        return static_cast<float>(std::min(sum, 3e38));
    }

    void judge(const Candidate& candidate, Result& result, Scratch& scratch) const {
        const stack::Program& program = candidate.genome.programs[0];
        Score found = score(program, bound_, scratch, {.errors = std::move(result.errors)});
        const bool is_refined = candidate.refine == Refine::shorten || candidate.refine == Refine::constants;
        if (is_refined && found.status == Status::ok) {
            stack::Program better = program;
            const bool is_better = candidate.refine == Refine::shorten
                                       ? shorten(better, found, scratch)
                                       : tune(better, found, candidate.index, scratch);
            if (is_better && better.code.size() <= site_.max_genes) {
                result.genome = candidate.genome;
                result.genome->programs[0] = std::move(better);
            } else if (is_better) {
                found = score(program, bound_, scratch);
            }
        }
        result.status = found.status;
        result.descriptor.assign({found.instructions, found.error});
        result.cost = options_.objective == Objective::instructions ? found.instructions : found.error;
        result.low = result.high = result.cost;
        result.errors = std::move(found.errors);
    }

    // What can go without loss goes (delta debugging).
    bool shorten(stack::Program& program, Score& best, Scratch& scratch) const {
        const auto is_as_good = [&](const stack::Program& shorter) {
            Score found = score(shorter, best.error, scratch);
            if (found.status != Status::ok || found.instructions > best.instructions ||
                found.error > best.error)
                return false;
            best = std::move(found);
            return true;
        };
        const stack::ReduceOptions options{.compile = program_options, .most_calls = options_.refinements};
        auto reduced = stack::simplify(program, site_.machine, is_as_good, options);
        if (!reduced || reduced->program == program) return false;
        program = std::move(reduced->program);
        return true;
    }

    // ---- constants
    // The constants of a program that are tuned, and the points on which they are: those that are worst.
    struct Tuning {
        stack::Program program;
        std::vector<std::size_t> places;  // in the code
        Points points;
        double error = 0;  // on these points
        double spent = 0;  // evaluations of all points
        double one = 1;    // what an evaluation of these points costs
        std::vector<double> residuals, changed, jacobian;
    };

    // Of evaluations of all points: one on the worst of them costs a tenth, and tells as much.
    [[nodiscard]] double budget() const { return options_.refinements / 8.0; }
    // First as a problem in the maximum norm, linear around the constants as they are; then by steps of some
    // ulp of several at once. Both on the points that are worst; what is better there is looked at on all.
    bool tune(stack::Program& program, Score& best, std::uint64_t index, Scratch& scratch) const {
        Tuning tuning;
        tuning.program = program;
        for (std::size_t k = 0; k < program.code.size(); ++k)
            if (Genes::is_tunable(program.code[k])) tuning.places.push_back(k);
        if (tuning.places.empty()) return false;
        Random random = random_for(1, index, 0);
        bool has_changed = false;
        unsigned failures = 0;
        while (tuning.spent < budget() && failures < 3) {
            begin(tuning, program, scratch);
            solve(tuning, scratch);
            polish(tuning, random, scratch);
            tuning.spent += 1;
            Score found = score(tuning.program, best.error, scratch);
            if (found.status == Status::ok && found.error < best.error) {
                failures = found.error < best.error * 0.9999 ? 0 : failures + 1;
                program = tuning.program;
                best = std::move(found);
                has_changed = true;
            } else {
                ++failures;
                add_worst(tuning, scratch);
            }
        }
        return has_changed;
    }

    void begin(Tuning& tuning, const stack::Program& program, Scratch& scratch) const {
        tuning.program = program;
        if (tuning.points.count != 0) return measure(tuning, scratch);
        tuning.points.inputs.resize(registers_.size());
        tuning.points.right.resize(registers_.size());
        add_spread(screen_, tuning.points);
        add_spread(rest_, tuning.points);
        add_worst(tuning, scratch);
    }
    // Of each stretch of the points the worst one.
    void add_worst(Tuning& tuning, Scratch& scratch) const {
        tuning.spent += 1;
        if (!scratch.evaluator.prepare(tuning.program, site_.machine, program_options)) return;
        add_worst_of(screen_, tuning, scratch);
        add_worst_of(rest_, tuning, scratch);
        tuning.one =
            static_cast<double>(tuning.points.count) / static_cast<double>(screen_.count + rest_.count);
        measure(tuning, scratch);
    }
    // Of each stretch any one, so that what repeats itself is met at all places.
    void add_spread(const Points& from, Points& to) const {
        const std::size_t count = std::min<std::size_t>(from.count, most_spread);
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t first = k * from.count / count, next = (k + 1) * from.count / count;
            add_point(from, first + mixed(k, count) % (next - first), to);
        }
    }
    void add_worst_of(const Points& points, Tuning& tuning, Scratch& scratch) const {
        std::array<double, stretches> worst{};
        std::array<std::size_t, stretches> at{};
        for (std::size_t first = 0; first < points.count; first += at_once) {
            const std::size_t count = std::min(at_once, points.count - first);
            run(points, first, count, scratch, [&](std::span<const double> errors) {
                for (std::size_t k = 0; k < count; ++k) {
                    const std::size_t stretch = (first + k) * stretches / points.count;
                    if (errors[k] > worst[stretch]) worst[stretch] = errors[k], at[stretch] = first + k;
                }
            });
        }
        for (std::size_t k = 0; k < stretches; ++k)
            if (worst[k] > 0) add_point(points, at[k], tuning.points);
    }
    void add_point(const Points& from, std::size_t at, Points& to) const {
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            const std::size_t bytes = registers_[r].bytes();
            if (!from.inputs[r].empty()) {
                const auto first = from.inputs[r].begin() + static_cast<std::ptrdiff_t>(at * bytes);
                to.inputs[r].insert(to.inputs[r].end(), first, first + static_cast<std::ptrdiff_t>(bytes));
            }
            if (!from.right[r].empty())
                to.right[r].add(from.right[r].values[at], measure_, registers_[r].type);
        }
        ++to.count;
    }

    // The largest error on the points of the tuning.
    void measure(Tuning& tuning, Scratch& scratch) const {
        tuning.error = residuals_of(tuning, tuning.program, tuning.residuals, scratch);
    }
    // With their signs, for each way in which approximate instructions may turn out.
    double residuals_of(Tuning& tuning, const stack::Program& program, std::vector<double>& residuals,
                        Scratch& scratch) const {
        residuals.clear();
        tuning.spent += tuning.one;
        if (!scratch.evaluator.prepare(program, site_.machine, program_options)) return INFINITY;
        double largest = 0;
        for (std::size_t first = 0; first < tuning.points.count; first += at_once) {
            const std::size_t count = std::min(at_once, tuning.points.count - first);
            run(tuning.points, first, count, scratch, [&](std::span<const double> errors) {
                for (std::size_t k = 0; k < count; ++k)
                    for (std::size_t r = 0; r < registers_.size(); ++r) {
                        if (tuning.points.right[r].empty()) continue;
                        const bool is_below = scratch.values[r][k] < tuning.points.right[r].values[first + k];
                        const double error = scratch.errors[r][k];
                        residuals.push_back(is_below ? -error : error);
                    }
                largest = std::max(largest, largest_of(errors));
            });
        }
        return largest;
    }
    bool keep_if_better(Tuning& tuning, stack::Program& changed, Scratch& scratch) const {
        const double error = residuals_of(tuning, changed, tuning.changed, scratch);
        if (error >= tuning.error) return false;
        std::swap(tuning.program, changed);
        std::swap(tuning.residuals, tuning.changed);
        tuning.error = error;
        return true;
    }

    [[nodiscard]] bool is_f32(const Tuning& tuning, std::size_t place) const {
        return tuning.program.code[place].type == stack::type_id(Type::f32);
    }
    [[nodiscard]] static float f32_at(const stack::Program& program, std::size_t place) {
        return std::bit_cast<float>(program.code[place].payload);
    }

    // Constants of f32 by the solution of the problem that is linear in them.
    void solve(Tuning& tuning, Scratch& scratch) const {
        std::vector<std::size_t> places;
        for (const std::size_t place : tuning.places)
            if (is_f32(tuning, place) && std::isfinite(f32_at(tuning.program, place)))
                places.push_back(place);
        if (places.empty() || !std::isfinite(tuning.error)) return;
        for (int round = 0; round < 8; ++round) {
            places = differentiate(tuning, places, scratch);
            if (places.empty()) return;
            const auto step = chebyshev_solution(tuning.jacobian, tuning.residuals, places.size());
            if (step.empty()) return;
            bool has_helped = false;
            for (double part = 1; part > 0.05 && !has_helped; part /= 2) {
                stack::Program changed = tuning.program;
                for (std::size_t k = 0; k < places.size(); ++k) {
                    const double value = f32_at(changed, places[k]) + part * step[k];
                    changed.code[places[k]].payload = std::bit_cast<std::uint32_t>(static_cast<float>(value));
                }
                has_helped = keep_if_better(tuning, changed, scratch);
            }
            if (!has_helped) return;
        }
    }
    // Those of the places at which a small step does little; the others are no coefficients.
    std::vector<std::size_t> differentiate(Tuning& tuning, std::span<const std::size_t> places,
                                           Scratch& scratch) const {
        std::vector<std::size_t> smooth;
        std::vector<std::vector<double>> columns;
        for (const std::size_t place : places) {
            stack::Program changed = tuning.program;
            const float value = f32_at(changed, place);
            const float other = value + std::max(std::abs(value), 0x1p-10f) * 0x1p-12f;
            changed.code[place].payload = std::bit_cast<std::uint32_t>(other);
            const double error = residuals_of(tuning, changed, tuning.changed, scratch);
            if (!(error < 4 * tuning.error + 0.01) || tuning.changed.size() != tuning.residuals.size())
                continue;
            smooth.push_back(place);
            std::vector<double>& column = columns.emplace_back(tuning.changed);
            for (std::size_t row = 0; row < column.size(); ++row)
                column[row] = (column[row] - tuning.residuals[row]) / (static_cast<double>(other) - value);
        }
        tuning.jacobian.clear();
        for (std::size_t row = 0; row < tuning.residuals.size(); ++row)
            for (const std::vector<double>& column : columns) tuning.jacobian.push_back(column[row]);
        return smooth;
    }

    // Steps of at most 2^14 ulp, of up to three constants at once.
    void polish(Tuning& tuning, Random& random, Scratch& scratch) const {
        const double limit = std::min(tuning.spent + budget() / 8, budget());
        std::uint32_t failures = 0;
        for (std::uint32_t k = 0; k < most_polished && tuning.spent < limit && failures < 256; ++k) {
            stack::Program changed = tuning.program;
            const std::size_t changes = 1 + random.below(std::min<std::size_t>(tuning.places.size(), 3));
            for (std::size_t c = 0; c < changes; ++c) {
                std::uint32_t& payload =
                    changed.code[tuning.places[random.below(tuning.places.size())]].payload;
                const std::uint32_t by = 1u << random.below(15);
                payload = random.chance(0.5) ? payload + by : payload - by;
            }
            failures = keep_if_better(tuning, changed, scratch) ? 0 : failures + 1;
        }
    }
    static constexpr std::uint32_t most_polished = 2048;
    static constexpr std::size_t stretches = 64;  // of which the worst points are worked on
    static constexpr std::size_t most_spread = 128;

    static constexpr std::size_t at_once = 1024;

    const SiteSpace site_;
    const ColumnsOptions options_;
    const std::vector<CaseRegister> registers_;
    const Measure measure_;
    const double bound_;
    std::size_t output_count_ = 0;  // that the cases know
    Points screen_, rest_;
    std::size_t group_count_ = 0;  // of the rest, none without a point
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace

Expected<std::unique_ptr<Gate>> columns(const Space& space, Cases cases, const ColumnsOptions& options) {
    if (space.sites.size() != 1)
        return fail(Errc::space_invalid,
                    "columns are of one site, not of " + std::to_string(space.sites.size()));
    TRY(check_cases(cases, case_registers(space.sites[0].machine.signature())));
    return std::unique_ptr<Gate>(std::make_unique<ColumnsGate>(space, std::move(cases), options));
}

}  // namespace ptxgraft::search
