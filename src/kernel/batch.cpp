// Many candidates: equal ones once, stubs many to a module, on several threads.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/threads.hpp"
#include "base/try.hpp"
#include "kernel/batch.hpp"
#include "kernel/kernel_data.hpp"
#include "kernel/machine_code.hpp"
#include "kernel/pipeline.hpp"
#include "kernel/variants.hpp"
#include "link/cache.hpp"

namespace ptxgraft {
namespace kernel {
namespace {

using Linked = RoutePlan::Linked;

// The linked stubs of a candidate.
std::vector<Linked> linked_stubs(const Candidate& candidate) {
    std::vector<Linked> stubs;
    for (const RoutePlan::Filled& one : candidate.filled)
        if (one.route == Route::link) stubs.push_back(candidate.plan->linked(*one.site, *one.stub));
    return stubs;
}

// Stubs that are assembled many to a module, each in one module alone; and the errors of those that cannot
// be.
class StubModules {
  public:
    explicit StubModules(const MachineCodeMaker& maker) : maker_(maker) {}

    // What a candidate needs that is not assembled yet.
    void add(std::size_t index, const Candidate& candidate) {
        for (Linked& stub : linked_stubs(candidate)) {
            if (maker_.is_assembled(stub)) continue;
            const auto [place, is_new] = places_.emplace(stub.name, stubs_.size());
            if (is_new) stubs_.push_back(std::move(stub));
            needs_.emplace_back(place->second, index);
        }
    }
    // Modules, enough for all threads: of each the candidates that need it, each once.
    std::vector<std::vector<std::size_t>> divide(const ManyOptions& many) {
        const std::size_t threads = thread_count(many.threads);
        size_ = std::clamp<std::size_t>((stubs_.size() + threads - 1) / threads, 1,
                                        std::max(many.stubs_per_module, 1u));
        std::vector<std::vector<std::size_t>> users((stubs_.size() + size_ - 1) / size_);
        for (const auto& [stub, candidate] : needs_) {
            std::vector<std::size_t>& of = users[stub / size_];
            if (std::ranges::find(of, candidate) == of.end()) of.push_back(candidate);
        }
        return users;
    }
    void assemble(std::size_t module) {
        const auto stubs =
            std::span(stubs_).subspan(module * size_, std::min(size_, stubs_.size() - module * size_));
        const auto done = without_throwing<void>([&]() -> Expected<void> {
            assemble(stubs);
            return {};
        });
        if (!done) set_error(stubs.front().name, done.error());
    }
    [[nodiscard]] std::optional<Error> error_of(const Candidate& candidate) const {
        const std::lock_guard lock(mutex_);
        if (errors_.empty()) return std::nullopt;
        for (const Linked& stub : linked_stubs(candidate))
            if (const auto found = errors_.find(stub.name); found != errors_.end()) return found->second;
        return std::nullopt;
    }

  private:
    // A module with a bad stub is assembled again without it: the error says where it is, or the halves show.
    // What ends the assembler may take long, and is looked for among stubs one by one.
    void assemble(std::span<const Linked> stubs) {
        auto module = maker_.assemble_stubs(stubs);
        if (module) return;
        if (stubs.size() == 1) return set_error(stubs.front().name, std::move(module.error()));
        const std::size_t bad =
            module.error().span.known() ? at(stubs, module.error().span.begin) : stubs.size();
        std::size_t step = (stubs.size() + 1) / 2;
        if (bad < stubs.size()) {
            assemble(stubs.subspan(bad, 1));
            if (bad > 0) assemble(stubs.first(bad));
            if (bad + 1 < stubs.size()) assemble(stubs.subspan(bad + 1));
            return;
        }
        if (module.error().code == Errc::assembler_ended) step = 1;
        for (std::size_t i = 0; i < stubs.size(); i += step)
            assemble(stubs.subspan(i, std::min(step, stubs.size() - i)));
    }
    [[nodiscard]] std::size_t at(std::span<const Linked> stubs, std::uint32_t offset) const {
        std::size_t end = maker_.module_head_size();
        if (offset < end) return stubs.size();
        for (std::size_t i = 0; i < stubs.size(); ++i)
            if (offset < (end += stubs[i].text.size())) return i;
        return stubs.size();
    }
    void set_error(const std::string& name, Error error) {
        const std::lock_guard lock(mutex_);
        errors_.emplace(name, std::move(error));
    }

    const MachineCodeMaker& maker_;
    std::vector<Linked> stubs_;
    std::size_t size_ = 1;                                    // stubs of a module
    std::unordered_map<std::string, std::size_t> places_;     // of stubs, by name
    std::vector<std::pair<std::size_t, std::size_t>> needs_;  // stub, candidate
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Error> errors_;
};

// Machine code of many candidates of one skeleton.
class Many {
  public:
    Many(const MachineCodeMaker& maker, std::span<const std::vector<Graft>> candidates,
         const ManyOptions& many, const OnResult<MachineCode>& on_result)
        : maker_(maker),
          candidates_(candidates),
          many_(many),
          results_(candidates.size(), on_result),
          planned_(candidates.size()),
          keys_(candidates.size()),
          modules_(maker) {}

    std::vector<Expected<MachineCode>> run() {
        return results_.after([&] {
            for_each(candidates_.size(), many_, [&](std::size_t i) { plan(i); });
            find_equal_ones();
            for_each(firsts_.size(), many_, [&](std::size_t k) { give_kept(firsts_[k]); });
            give_kept_variants();
            std::erase_if(firsts_, [&](std::size_t i) { return results_.has(i); });
            assemble_together();
            make_alone();
        });
    }

  private:
    void plan(std::size_t i) {
        auto candidate = without_throwing<Candidate>([&] { return maker_.plan(candidates_[i]); });
        if (!candidate) return results_.set(i, tl::unexpected(std::move(candidate.error())));
        keys_[i] = candidate->key().hex();
        planned_[i] = std::move(*candidate);
    }
    void find_equal_ones() {
        std::unordered_map<std::string_view, std::size_t> first;
        for (std::size_t i = 0; i < planned_.size(); ++i) {
            if (!planned_[i]) continue;
            const auto [found, is_new] = first.emplace(keys_[i], i);
            if (is_new)
                firsts_.push_back(i);
            else
                equal_[found->second].push_back(i);
        }
    }
    void give_kept(std::size_t i) {
        auto kept = without_throwing<MachineCode>([&] { return maker_.find_kept(*planned_[i]); });
        if (kept) return give(i, std::move(kept));
        if (!may_stand_beside_others(i)) return;
        (void)without_throwing<void>([&]() -> Expected<void> {
            if (auto variant = maker_.find_kept_variant(*planned_[i]))
                keep_for_later(i, std::move(*variant));
            else if (auto error = maker_.find_kept_error(*planned_[i]))
                give(i, tl::unexpected(std::move(*error)));
            return {};
        });
    }
    [[nodiscard]] bool may_stand_beside_others(std::size_t i) const {
        return many_.variants_per_module > 1 && maker_.skeleton().variants() && planned_[i]->banks.empty() &&
               maker_.skeleton().variants()->takes(*planned_[i]);
    }
    void keep_for_later(std::size_t i, MachineCodeMaker::KeptVariant variant) {
        const std::lock_guard lock(kept_mutex_);
        kept_variants_[variant.place.module.hex()].emplace_back(i, std::move(variant));
    }
    // Those of one module are told of together: one load serves them.
    void give_kept_variants() {
        for (const auto& [name, members] : kept_variants_) {
            std::vector<const Candidate*> candidates;
            std::vector<std::string> suffixes;
            for (const auto& [i, variant] : members) {
                candidates.push_back(&*planned_[i]);
                suffixes.push_back(variant.place.suffix);
            }
            const auto module = std::make_shared<const VariantModule>(
                render_variants(maker_.skeleton(), *maker_.skeleton().variants(), candidates, suffixes));
            for (const auto& [i, variant] : members)
                give(i, MachineCode{members.front().second.cubin,
                                    planned_[i]->choices,
                                    {},
                                    variant.from,
                                    {},
                                    variant.place.suffix,
                                    module});
        }
    }
    // Several to a module, and enough modules for all threads. Those that remain are made alone.
    void assemble_together() {
        if (many_.variants_per_module < 2 || !maker_.skeleton().variants()) return;
        const VariantPlan& plan = *maker_.skeleton().variants();
        std::vector<std::size_t> taken;
        for (const std::size_t i : firsts_)
            if (may_stand_beside_others(i)) taken.push_back(i);
        const std::size_t threads = thread_count(many_.threads);
        const std::size_t size =
            std::clamp<std::size_t>((taken.size() + threads - 1) / threads, 1, many_.variants_per_module);
        for_each((taken.size() + size - 1) / size, many_, [&](std::size_t k) {
            const auto group = std::span(taken).subspan(k * size, std::min(size, taken.size() - k * size));
            (void)without_throwing<void>([&]() -> Expected<void> {
                assemble_together(plan, group);
                return {};
            });
        });
        std::erase_if(firsts_, [&](std::size_t i) { return results_.has(i); });
    }
    void assemble_together(const VariantPlan& plan, std::span<const std::size_t> group) {
        if (group.size() < 2) return;
        Stopwatch watch;
        std::vector<const Candidate*> candidates;
        std::vector<std::string> suffixes;
        for (std::size_t k = 0; k < group.size(); ++k) {
            candidates.push_back(&*planned_[group[k]]);
            suffixes.push_back(plan.suffix(k));
        }
        const auto module = std::make_shared<const VariantModule>(
            render_variants(maker_.skeleton(), plan, candidates, suffixes));
        const double share = 1.0 / static_cast<double>(group.size());
        GraftTimes times{.render = watch.lap() * share};
        const auto cubin = maker_.assemble_variants(*module, candidates, suffixes);
        times.assemble = watch.lap() * share;
        if (!cubin) return take_apart(plan, group, cubin.error());
        for (std::size_t k = 0; k < group.size(); ++k)
            give(group[k],
                 MachineCode{
                     *cubin, candidates[k]->choices, times, CacheLevel::none, {}, suffixes[k], module});
    }
    // What ends the assembler may take long: each is then made alone.
    void take_apart(const VariantPlan& plan, std::span<const std::size_t> group, const Error& why) {
        if (why.code == Errc::assembler_ended) return;
        const std::size_t half = group.size() / 2;
        assemble_together(plan, group.first(half));
        assemble_together(plan, group.subspan(half));
    }
    void make_alone() {
        std::vector<std::size_t> whole, linked;
        for (const std::size_t i : firsts_) {
            modules_.add(i, *planned_[i]);
            (planned_[i]->has(Route::link) ? linked : whole).push_back(i);
        }
        Pipeline pipeline(modules_.divide(many_), linked, std::move(whole));
        pipeline.run(
            many_, [&](std::size_t module) { modules_.assemble(module); }, [&](std::size_t i) { make(i); });
    }
    void make(std::size_t i) {
        give(i, without_throwing<MachineCode>([&]() -> Expected<MachineCode> {
                 if (auto error = modules_.error_of(*planned_[i])) return tl::unexpected(std::move(*error));
                 return maker_.make(std::move(*planned_[i]), {});
             }));
    }
    void give(std::size_t i, const Expected<MachineCode>& result) {
        results_.set(i, result);
        const auto equal = equal_.find(i);
        if (equal == equal_.end()) return;
        for (const std::size_t other : equal->second) {
            Expected<MachineCode> copy = result;
            if (copy) {
                copy->times = {};
                copy->banks = planned_[other]->banks;
                copy->from = CacheLevel::memory;
                copy->routes = in_order_of(planned_[other]->choices, std::move(copy->routes));
            }
            results_.set(other, std::move(copy));
        }
    }
    // The same sites, in the order of another candidate's grafts.
    static std::vector<RouteChoice> in_order_of(const std::vector<RouteChoice>& order,
                                                std::vector<RouteChoice> choices) {
        for (std::size_t i = 0; i < order.size(); ++i)
            std::iter_swap(choices.begin() + static_cast<std::ptrdiff_t>(i),
                           std::ranges::find(choices, order[i].site, &RouteChoice::site));
        return choices;
    }

    const MachineCodeMaker& maker_;
    std::span<const std::vector<Graft>> candidates_;
    const ManyOptions& many_;
    Results<MachineCode> results_;
    std::vector<std::optional<Candidate>> planned_;
    std::vector<std::string> keys_;
    std::vector<std::size_t> firsts_;                                  // of those that compute the same
    std::unordered_map<std::size_t, std::vector<std::size_t>> equal_;  // the others, by the first
    StubModules modules_;
    std::mutex kept_mutex_;
    // By the module.
    std::map<std::string, std::vector<std::pair<std::size_t, MachineCodeMaker::KeptVariant>>> kept_variants_;
};

}  // namespace
}  // namespace kernel

std::vector<Expected<MachineCode>> Skeleton::assemble_many(std::span<const std::vector<Graft>> candidates,
                                                           const GraftOptions& options,
                                                           const ManyOptions& many,
                                                           const OnResult<MachineCode>& on_result) const {
    const kernel::MachineCodeMaker maker(*data_, options);
    return kernel::Many(maker, candidates, many, on_result).run();
}

}  // namespace ptxgraft
