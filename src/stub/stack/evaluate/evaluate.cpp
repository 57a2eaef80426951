// Evaluation of programs over columns of inputs: runs a plan block by block.

#include "ptxgraft/evaluate.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "stub/stack/evaluate/plan.hpp"

namespace ptxgraft::stack {
namespace {

// Enough for the blocks of all but programs with thousands of values alive at a time.
constexpr std::size_t scratch_room = 48 * 1024;

template <std::size_t Bytes>
void select(std::byte* __restrict to, const std::byte* pred, const std::byte* a, const std::byte* b,
            std::size_t count) {
    using Element = std::array<std::byte, Bytes>;
    for (std::size_t i = 0; i < count; ++i) {
        Element value;
        std::memcpy(&value, (pred[i] != std::byte{0} ? a : b) + i * Bytes, Bytes);
        std::memcpy(to + i * Bytes, &value, Bytes);
    }
}

// `narrow` elements of the parts stand one after the other in each element of the whole, the first lowest.
template <std::size_t Bytes>
void gather(std::byte* __restrict whole, const void* const* parts, std::size_t n, std::size_t count) {
    for (std::size_t part = 0; part < n; ++part)
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(whole + (i * n + part) * Bytes,
                        static_cast<const std::byte*>(parts[part]) + i * Bytes, Bytes);
}
template <std::size_t Bytes>
void scatter(const std::byte* whole, void* const* parts, std::size_t n, std::size_t count) {
    for (std::size_t part = 0; part < n; ++part)
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(static_cast<std::byte*>(parts[part]) + i * Bytes, whole + (i * n + part) * Bytes,
                        Bytes);
}
// The parts of a whole in elements of its own width, the first lowest.
void spread(const std::byte* whole, std::size_t bytes, void* const* parts, std::size_t n, std::size_t count) {
    for (std::size_t part = 0; part < n; ++part)
        for (std::size_t i = 0; i < count; ++i) {
            std::byte* const to = static_cast<std::byte*>(parts[part]) + i * bytes;
            std::memset(to, 0, bytes);
            std::memcpy(to, whole + i * bytes + part * (bytes / n), bytes / n);
        }
}

// A constant in every element, extended by zeros.
template <std::size_t Bytes> void repeat(std::byte* to, std::uint64_t bits, std::size_t count) {
    std::array<std::byte, Bytes> element{};
    std::memcpy(element.data(), &bits, std::min(Bytes, sizeof bits));
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * Bytes, element.data(), Bytes);
}

template <class F> void at_width(std::size_t bytes, F f) {
    switch (bytes) {
        case 1: return f.template operator()<1>();
        case 2: return f.template operator()<2>();
        case 4: return f.template operator()<4>();
        case 8: return f.template operator()<8>();
        default: return f.template operator()<16>();
    }
}

// One run of a plan: where its places are for the block at hand.
class Run {
  public:
    Run(const Evaluator::Plan& plan, const Columns& columns, const RunOptions& options, std::byte* scratch)
        : plan_(plan), columns_(columns), options_(options), scratch_(scratch) {}

    /// The constants, for blocks of `count` points.
    void fill_constants(std::size_t count) const {
        for (std::size_t i = 0; i < plan_.columns.size(); ++i) {
            const ConstantColumn& column = plan_.columns[i];
            at_width(column.bytes, [&]<std::size_t Bytes>() {
                repeat<Bytes>(scratch_ + std::size_t{column.at} * plan_.block, plan_.constants[i], count);
            });
        }
    }

    void block(std::size_t at, std::size_t count) {
        at_ = at;
        count_ = count;
        for (const PlanStep& step : plan_.steps) run(step);
        for (const auto& output : plan_.outputs)
            if (columns_.outputs[output.slot] != nullptr)
                std::memcpy(static_cast<std::byte*>(columns_.outputs[output.slot]) + at * output.from.bytes,
                            from(output.from), count * output.from.bytes);
    }

  private:
    [[nodiscard]] const std::byte* from(const Place& place) const {
        switch (place.kind) {
            case Place::Kind::scratch: return scratch_ + std::size_t{place.at} * plan_.block;
            case Place::Kind::input: break;
        }
        return static_cast<const std::byte*>(columns_.inputs[place.at]) + at_ * place.bytes;
    }

    void run(const PlanStep& step) {
        std::array<void*, most_pieces> to;
        std::array<const void*, most_pieces> in;
        const Place* const places = plan_.places.data() + step.places;
        for (std::size_t i = 0; i < step.outputs; ++i)
            to[i] = scratch_ + std::size_t{places[i].at} * plan_.block;
        for (std::size_t i = 0; i < step.inputs; ++i) in[i] = from(places[step.outputs + i]);
        switch (step.kind) {
            case PlanStep::Kind::pure:
                step.instruction->run_columns(to.data(), in.data(), count_);
                if (step.perturb != nullptr && options_.approximation != Approximation::exact)
                    step.perturb(to[0], in.data(), count_, perturbation(step));
                break;
            case PlanStep::Kind::select:
                at_width(places[0].bytes, [&]<std::size_t Bytes>() {
                    select<Bytes>(static_cast<std::byte*>(to[0]), bytes(in[0]), bytes(in[1]), bytes(in[2]),
                                  count_);
                });
                break;
            case PlanStep::Kind::move: move(step, places, to.data(), in.data()); break;
        }
    }
    [[nodiscard]] arithmetic::Perturbation perturbation(const PlanStep& step) const {
        const auto place = static_cast<std::uint64_t>(&step - plan_.steps.data());
        const std::uint64_t seed = (options_.seed + place + 1) * 0x9E3779B97F4A7C15u;
        switch (options_.approximation) {
            case Approximation::up: return {arithmetic::Edge::up, seed};
            case Approximation::down: return {arithmetic::Edge::down, seed};
            default: return {arithmetic::Edge::hashed, seed ^ seed >> 31};
        }
    }
    void move(const PlanStep& step, const Place* places, void* const* to, const void* const* in) const {
        if (step.outputs == 1) {
            at_width(places[1].bytes, [&]<std::size_t Bytes>() {
                gather<Bytes>(static_cast<std::byte*>(to[0]), in, step.inputs, count_);
            });
        } else if (places[0].bytes == places[step.outputs].bytes) {
            spread(bytes(in[0]), places[0].bytes, to, step.outputs, count_);
        } else {
            at_width(places[0].bytes,
                     [&]<std::size_t Bytes>() { scatter<Bytes>(bytes(in[0]), to, step.outputs, count_); });
        }
    }
    static const std::byte* bytes(const void* column) { return static_cast<const std::byte*>(column); }

    const Evaluator::Plan& plan_;
    const Columns& columns_;
    const RunOptions& options_;
    std::byte* const scratch_;
    std::size_t at_ = 0, count_ = 0;
};

void run_blocks(const Evaluator::Plan& plan, const Columns& columns, const RunOptions& options,
                std::byte* scratch) {
    Run run(plan, columns, options, scratch);
    run.fill_constants(std::min<std::size_t>(plan.block, columns.count));
    for (std::size_t at = 0; at < columns.count; at += plan.block)
        run.block(at, std::min<std::size_t>(plan.block, columns.count - at));
}

}  // namespace

Evaluator::Evaluator() = default;
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

Expected<void> Evaluator::prepare(ProgramView program, const Machine& machine,
                                  const CompileOptions& options) {
    if (plan_ == nullptr) plan_ = std::make_unique<Plan>();
    plan_->clear();
    const auto graph = TRY(make_graph(program, machine, plan_->graph_memory, options));
    return make_plan(graph, MachineData::of(machine), options.constants, *plan_);
}

Expected<Evaluator> Evaluator::make(ProgramView program, const Machine& machine,
                                    const CompileOptions& options) {
    Evaluator made;
    TRY(made.prepare(program, machine, options));
    return made;
}

std::span<const std::uint64_t> Evaluator::constants() const {
    return plan_ == nullptr ? std::span<const std::uint64_t>()
                            : plan_->constants.first(plan_->data_constants);
}

Expected<void> Evaluator::set_constants(std::span<const std::uint64_t> constants) {
    const std::size_t count = this->constants().size();
    if (constants.size() != count)
        return fail(Errc::constants_differ, {},
                    std::to_string(constants.size()) + " instead of " + std::to_string(count));
    if (count != 0) std::ranges::copy(constants, plan_->constants.begin());
    return {};
}

void Evaluator::run(const Columns& columns, const RunOptions& options) const {
    if (plan_ == nullptr || plan_->block == 0) return;
    const std::size_t size = std::size_t{plan_->scratch_per_point} * plan_->block;
    if (size <= scratch_room) {
        alignas(64) std::byte scratch[scratch_room];
        return run_blocks(*plan_, columns, options, scratch);
    }
    struct Free {
        void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
    };
    const std::unique_ptr<std::byte[], Free> scratch(
        static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})));
    run_blocks(*plan_, columns, options, scratch.get());
}

std::uint32_t Evaluator::instruction_count() const { return plan_ == nullptr ? 0 : plan_->instruction_count; }

bool Evaluator::is_approximate() const {
    return plan_ != nullptr &&
           std::ranges::any_of(plan_->steps, [](const PlanStep& step) { return step.perturb != nullptr; });
}

Expected<void> evaluate(ProgramView program, const Machine& machine, const Columns& columns,
                        const CompileOptions& options) {
    const auto made = TRY(Evaluator::make(program, machine, options));
    made.run(columns);
    return {};
}

}  // namespace ptxgraft::stack
