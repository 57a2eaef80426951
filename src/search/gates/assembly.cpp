// The gate that assembles, and counts what machine code takes.

#include <algorithm>
#include <map>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "ptxgraft/static_cost.hpp"
#include "search/gates/figures.hpp"
#include "search/gates/lengths.hpp"

namespace ptxgraft::search {
namespace {

// How a candidate ends whose machine code there is not.
Status status_of_error(Errc code) {
    switch (code) {
        case Errc::performance_loss:
        case Errc::assemble_limit_exceeded: return Status::rejected;
        case Errc::assembler_ended: return Status::timed_out;
        default: return Status::failed;
    }
}

class AssemblyGate final : public Gate {
  public:
    // One of the two is there.
    AssemblyGate(const Space& space, std::optional<Skeleton> skeleton, std::optional<Workloads> kernels,
                 const AssemblyOptions& options)
        : space_(space),
          skeleton_(std::move(skeleton)),
          kernels_(std::move(kernels)),
          options_(options),
          graft_{
              .entry = options.entry,
              .assemble = {.target = options.target,
                           .allow_performance_loss = options.allow_performance_loss,
                           // one by one they are looked at here, so that it is known what passes them takes
                           .limits = options.batch > 1 ? options.limits : AssembleLimits{}},
              .routes = options.routes,
              .assembler = options_.assembler.get()},
          many_{.threads = 1,
                .stop = {},
                .stubs_per_module = std::max(options.batch, 1u),
                .variants_per_module = std::max(options.batch, 1u)} {}
    [[nodiscard]] std::string_view name() const override { return "assembly"; }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        std::map<std::vector<std::uint32_t>, std::vector<Item>> groups;
        for (std::size_t k = 0; k < candidates.size(); ++k) {
            if (is_known(*candidates[k], *results[k])) continue;
            const Genome& genome = genome_of(*candidates[k], *results[k]);
            auto made = grafts_of(genome, space_);
            if (!made) {
                end(*results[k], Status::failed, message(made.error()));
                continue;
            }
            note(*results[k], options_.figures, Objective::instructions, lengths_.of(genome, space_));
            groups[genome.tunables].push_back({results[k], std::move(*made)});
        }
        for (auto& [tunables, items] : groups) judge(tunables, items);
    }

    // The skeleton with its default stubs, so that what is wrong with all candidates is no verdict on each.
    [[nodiscard]] Expected<void> try_default() const {
        const std::vector<std::uint32_t> first(space_.tunables.size(), 0);
        const Skeleton skeleton = TRY(skeleton_of(first));
        TRY(check_sites(space_, skeleton));
        GraftOptions without_limits = graft_;
        without_limits.assemble.limits = {};
        const MachineCode code = TRY(skeleton.assemble({}, without_limits));
        TRY(cost_of(code, skeleton));
        return {};
    }

  private:
    struct Item {
        Result* result;
        std::vector<Graft> grafts;
    };
    [[nodiscard]] Expected<Skeleton> skeleton_of(std::span<const std::uint32_t> tunables) const {
        if (skeleton_) return *skeleton_;
        return TRY(kernels_->find(tunables)).skeleton();
    }
    [[nodiscard]] Expected<StaticCost> cost_of(const MachineCode& code, const Skeleton& skeleton) const {
        std::string entry = options_.entry;
        if (entry.empty() && skeleton.entries().size() == 1) entry = skeleton.entries()[0];
        if (!code.suffix.empty()) entry += code.suffix;
        return static_cost(*code.cubin, {.entry = entry, .disassemble = false});
    }

    // Of the figures that have limits the largest of any function.
    static CodeSize size_of(const Cubin& cubin) {
        CodeSize made;
        for (const FunctionUsage& function : cubin.functions) {
            if (function.is_entry) made.registers = std::max(made.registers, function.registers);
            made.code_bytes = std::max(made.code_bytes, function.code_bytes);
        }
        return made;
    }

    void judge(std::span<const std::uint32_t> tunables, std::span<Item> items) const {
        const auto skeleton = skeleton_of(tunables);
        if (!skeleton) {
            for (const Item& item : items) end(*item.result, Status::rejected, message(skeleton.error()));
            return;
        }
        std::vector<std::vector<Graft>> grafts;
        for (Item& item : items) grafts.push_back(std::move(item.grafts));
        const auto made = skeleton->assemble_many(grafts, graft_, many_);
        for (std::size_t k = 0; k < items.size(); ++k) judge(made[k], *skeleton, *items[k].result);
    }
    void judge(const Expected<MachineCode>& code, const Skeleton& skeleton, Result& result) const {
        if (!code) return end(result, status_of_error(code.error().code), message(code.error()));
        result.code = size_of(*code->cubin);
        if (const auto within = link::check_limits(code->cubin->functions, options_.limits);
            many_.variants_per_module == 1 && !within)
            return end(result, Status::rejected, message(within.error()));
        const auto cost = cost_of(*code, skeleton);
        if (!cost) return end(result, Status::failed, message(cost.error()));
        note(result, options_.figures, Objective::registers, cost->registers);
        note(result, options_.figures, Objective::code_bytes, cost->code_bytes);
        note(result, options_.figures, Objective::machine_instructions, cost->machine_instructions);
    }

    const Space space_;
    const std::optional<Skeleton> skeleton_;
    const std::optional<Workloads> kernels_;
    const AssemblyOptions options_;
    const GraftOptions graft_;
    const ManyOptions many_;
    Lengths lengths_;
};

Expected<std::unique_ptr<Gate>> made(const Space& space, std::optional<Skeleton> skeleton,
                                     std::optional<Workloads> kernels, const AssemblyOptions& options) {
    auto gate = std::make_unique<AssemblyGate>(space, std::move(skeleton), std::move(kernels), options);
    TRY(gate->try_default());
    return std::unique_ptr<Gate>(std::move(gate));
}

}  // namespace

Expected<std::unique_ptr<Gate>> assembly(const Space& space, const Skeleton& skeleton,
                                         const AssemblyOptions& options) {
    return made(space, skeleton, std::nullopt, options);
}

Expected<std::unique_ptr<Gate>> assembly(const Space& space, const Workloads& kernels,
                                         const AssemblyOptions& options) {
    return made(space, std::nullopt, kernels, options);
}

}  // namespace ptxgraft::search
