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
#include "search/columns.hpp"
#include "search/genes.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::size_t group_count = 16;  // of the points behind the screen, whose largest errors are cases
constexpr float never_tried = 3e38f;

// Points of the cases, as columns that an evaluator reads.
struct Points {
    std::vector<std::vector<std::byte>> inputs;
    std::vector<std::vector<double>> right;
    std::size_t count = 0;
};

// What a thread needs to evaluate.
struct Scratch {
    stack::Evaluator evaluator;
    std::vector<std::vector<std::byte>> outputs;
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
            for (const std::size_t k : order) points.right[r].push_back(cases.right[r][k]);
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
        for (const CaseRegister& r : registers_) made->outputs.emplace_back(most * r.bytes());
        made->in.resize(registers_.size());
        made->out.resize(registers_.size());
        return made;
    }

    // The largest error of any output at points [first, first + count), point by point, in each of the ways
    // in which approximate instructions may turn out.
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
            for (std::size_t k = 0; k < count; ++k) visit(k, error_at(points, first + k, k, scratch));
        }
    }
    [[nodiscard]] double error_at(const Points& points, std::size_t point, std::size_t k,
                                  const Scratch& scratch) const {
        double largest = 0;
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            if (points.right[r].empty()) continue;
            const double value = number_at(scratch.outputs[r].data(), k, registers_[r].type);
            largest =
                std::max(largest, error_of(value, points.right[r][point], measure_, registers_[r].type));
        }
        return largest;
    }

    // The score of a program; `give_up`: where its error passes that, the rest is not tried.
    Score score(const stack::Program& program, double give_up, Scratch& scratch) const {
        Score made;
        if (!scratch.evaluator.prepare(program, site_.machine, program_options)) {
            made.status = Status::failed;
            return made;
        }
        made.instructions = scratch.evaluator.instruction_count();
        made.errors.assign(screen_.count, 0);
        made.errors.resize(screen_.count + (rest_.count != 0 ? group_count : 0), never_tried);
        const auto worsen = [&](float& error, double by) {
            error = std::max(error, static_cast<float>(std::min(by, 3e38)));
            made.error = std::max(made.error, by);
        };
        run(screen_, 0, screen_.count, scratch,
            [&](std::size_t k, double error) { worsen(made.errors[k], error); });
        if (measure_ == Measure::bits) add_bit_cases(made.errors, scratch);
        if (made.error > give_up) return made;
        for (std::size_t first = 0; first < rest_.count; first += at_once) {
            const std::size_t count = std::min(at_once, rest_.count - first);
            run(rest_, first, count, scratch, [&](std::size_t k, double error) {
                float& group = made.errors[screen_.count + (first + k) * group_count / rest_.count];
                if (group == never_tried) group = 0;
                worsen(group, error);
            });
            if (made.error > give_up) return made;
        }
        made.status = made.error <= bound_ ? Status::ok : Status::infeasible;
        return made;
    }

    // Of words each bit is a case too: on how many points of the screen it is wrong.
    void add_bit_cases(std::vector<float>& errors, const Scratch& scratch) const {
        for (std::size_t r = 0; r < registers_.size(); ++r) {
            if (screen_.right[r].empty()) continue;
            const unsigned width = std::min(bits(registers_[r].type), 64u);
            const std::size_t first = errors.size();
            errors.resize(first + width, 0);
            for (std::size_t k = 0; k < screen_.count; ++k) {
                const double value = number_at(scratch.outputs[r].data(), k, registers_[r].type);
                const std::uint64_t wrong = word_of(value) ^ word_of(screen_.right[r][k]);
                for (unsigned b = 0; b < width; ++b) errors[first + b] += static_cast<float>(wrong >> b & 1);
            }
        }
    }

    void judge(const Candidate& candidate, Result& result, Scratch& scratch) const {
        const stack::Program& program = candidate.genome.programs[0];
        Score found = score(program, bound_, scratch);
        if (candidate.refine != Refine::none && found.status == Status::ok) {
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
        result.descriptor = {found.instructions, found.error};
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

    // Pattern search: a constant at a time, by steps that are halved where none of them helps.
    bool tune(stack::Program& program, Score& best, std::uint64_t index, Scratch& scratch) const {
        std::vector<std::size_t> places;
        for (std::size_t k = 0; k < program.code.size(); ++k)
            if (Genes::is_tunable(program.code[k])) places.push_back(k);
        if (places.empty()) return false;
        Random random = random_for(1, index, 0);
        bool has_changed = false;
        std::vector<std::uint32_t> steps(places.size(), 1u << 14);
        std::size_t at = 0;
        for (std::uint32_t spent = 0; spent < options_.refinements; at = (at + 1) % places.size()) {
            if (std::ranges::all_of(steps, [](std::uint32_t step) { return step == 0; })) break;
            if (steps[at] == 0) continue;
            bool has_helped = false;
            for (const bool is_up : {true, false}) {
                stack::Program changed = program;
                std::uint32_t& payload = changed.code[places[at]].payload;
                payload = is_up ? payload + steps[at] : payload - steps[at];
                Score found = score(changed, best.error, scratch);
                ++spent;
                if (found.status != Status::ok || found.error >= best.error) continue;
                program = std::move(changed);
                best = std::move(found);
                has_helped = has_changed = true;
                break;
            }
            steps[at] = has_helped ? steps[at] * 2 : steps[at] / 4;
            if (!has_helped && steps[at] == 0 && random.chance(0.25)) steps[at] = 1u << random.below(18);
        }
        return has_changed;
    }

    static constexpr std::size_t at_once = 1024;

    const SiteSpace site_;
    const ColumnsOptions options_;
    const std::vector<CaseRegister> registers_;
    const Measure measure_;
    const double bound_;
    Points screen_, rest_;
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
