// Grafts: candidates become kernels on a device.
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/try.hpp"
#include "device/load.hpp"
#include "kernel/banks.hpp"
#include "kernel/batch.hpp"
#include "kernel/candidate.hpp"
#include "kernel/kernel_data.hpp"
#include "kernel/machine_code.hpp"
#include "kernel/variants.hpp"
#include "ptx/target.hpp"

namespace ptxgraft {
namespace {

// Without another wish, machine code is made for the device at hand: PTX of sm_80 runs on every later GPU.
Expected<std::string> target_for(const Device& device, std::string_view ptx_target, std::string_view wanted) {
    if (wanted.empty()) {
        TRY(device::Loader::check_target(device, ptx_target));
        return device.target();
    }
    const auto target = TRY(parse_architecture(wanted));
    if (runs_on(ptx_target, target)) return std::string(wanted);
    return fail(Errc::target_differs,
                fmt::format("its PTX is for {}, the options are for {}", ptx_target, wanted));
}

// The candidate's text, and for a GPU its machine code.
struct Made {
    MachineCode code;
    std::shared_ptr<const SourceText> source;
};

Expected<Made> make_for_emulator(const Skeleton::Data& skeleton, std::span<const Graft> grafts,
                                 const GraftOptions& options) {
    Stopwatch watch;
    auto candidate = TRY(kernel::plan_candidate(skeleton, grafts, options.routes));
    Made made{{nullptr, {}, {}}, kernel::text_of(skeleton, candidate)};
    made.code.routes = std::move(candidate.choices);
    made.code.banks = std::move(candidate.banks);
    made.code.times.render = watch.lap();
    return made;
}

Expected<Made> make_for_gpu(const Skeleton::Data& skeleton, std::span<const Graft> grafts,
                            const Device& device, GraftOptions options) {
    Stopwatch watch;
    options.assemble.target = TRY(target_for(device, skeleton.info->target, options.assemble.target));
    const kernel::MachineCodeMaker maker(skeleton, options);
    auto candidate = TRY(maker.plan(grafts));
    std::shared_ptr<const SourceText> source;
    auto code = TRY(maker.make(std::move(candidate), {.render = watch.lap()}, &source));
    return Made{std::move(code), std::move(source)};
}

Expected<const launch::EntryInfo*> find_entry(const Skeleton::Data& skeleton, const std::string& name) {
    const auto entry = launch::find_entry(*skeleton.info, name);
    if (entry) return entry;
    return kernel::with_source(entry.error(),
                               std::make_shared<const SourceText>(SourceText{"skeleton.ptx", skeleton.ptx}));
}

// The routes that were taken, as wishes.
RouteOptions as_chosen(const std::vector<RouteChoice>& choices) {
    RouteOptions options;
    for (const RouteChoice& choice : choices) options.sites.emplace(choice.site, choice.route);
    return options;
}

// Puts modules of several variants on a device, each once. Threads: any number may use one.
class VariantLoader {
  public:
    VariantLoader(const Device& device, const launch::EntryInfo& entry, const Skeleton::Data& skeleton)
        : device_(device), entry_(entry), skeleton_(skeleton) {}

    [[nodiscard]] Expected<Function> load(const MachineCode& code) {
        const std::string name = skeleton_.variants()->name_in(entry_.name, code.suffix);
        const std::lock_guard lock(mutex_);
        const auto found = loaded_.find(code.variants);
        if (found != loaded_.end()) return found->second.other(name);
        const auto entry = TRY(launch::find_entry(*code.variants->info, name));
        auto function = device::Loader::load(device_, {code.variants->source, code.variants->info}, *entry,
                                             code.cubin.get());
        if (!function) return kernel::with_source(function.error(), code.variants->source);
        loaded_.emplace(code.variants, *function);
        return function;
    }

  private:
    const Device& device_;
    const launch::EntryInfo& entry_;
    const Skeleton::Data& skeleton_;
    std::mutex mutex_;
    std::map<std::shared_ptr<const kernel::VariantModule>, Function> loaded_;
};

// Candidates in one module, for the emulator; nothing of those that stand alone.
std::vector<std::optional<MachineCode>> render_together(const Skeleton::Data& skeleton,
                                                        std::span<const std::vector<Graft>> candidates,
                                                        const RouteOptions& routes) {
    Stopwatch watch;
    const kernel::VariantPlan& plan = *skeleton.variants();
    std::vector<std::optional<kernel::Candidate>> planned(candidates.size());
    std::vector<const kernel::Candidate*> taken;
    std::vector<std::string> suffixes;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        auto candidate = kernel::plan_candidate(skeleton, candidates[i], routes);
        if (!candidate || !candidate->banks.empty() || !plan.takes(*candidate)) continue;
        planned[i] = std::move(*candidate);
        taken.push_back(&*planned[i]);
        suffixes.push_back(plan.suffix(suffixes.size()));
    }
    std::vector<std::optional<MachineCode>> codes(candidates.size());
    if (taken.size() < 2) return codes;
    const auto module = std::make_shared<const kernel::VariantModule>(
        kernel::render_variants(skeleton, plan, taken, suffixes));
    const double render = watch.lap() / static_cast<double>(taken.size());
    for (std::size_t i = 0, k = 0; i < candidates.size(); ++i)
        if (planned[i])
            codes[i] = MachineCode{
                nullptr, planned[i]->choices, {.render = render}, CacheLevel::none, {}, suffixes[k++],
                module};
    return codes;
}

}  // namespace

Expected<Kernel> Skeleton::graft(std::span<const Graft> grafts, const Device& device,
                                 const GraftOptions& options) const {
    const auto entry = TRY(find_entry(*data_, options.entry));
    auto [code, source] =
        TRY(device.kind() == DeviceKind::cuda ? make_for_gpu(*data_, grafts, device, options)
                                              : make_for_emulator(*data_, grafts, options));
    return load(device, *entry, std::move(code), std::move(source));
}

Expected<Kernel> Skeleton::load(const Device& device, const launch::EntryInfo& entry, MachineCode code,
                                std::shared_ptr<const SourceText> source) const {
    Stopwatch watch;
    auto function =
        device::Loader::load(device, {source, data_->info, std::nullopt, kernel::device_banks(code.banks)},
                             entry, code.cubin.get());
    if (!function) return kernel::with_source(function.error(), source);
    code.times.load = watch.lap();
    return Kernel(std::make_shared<const Kernel::Data>(Kernel::Data{std::move(code), std::move(*function)}));
}

std::vector<Expected<Kernel>> Skeleton::graft_many(std::span<const std::vector<Graft>> candidates,
                                                   const Device& device, const GraftOptions& options,
                                                   const ManyOptions& many,
                                                   const OnResult<Kernel>& on_result) const {
    kernel::Results<Kernel> results(candidates.size(), on_result);
    return results.after([&] {
        const auto entry = find_entry(*data_, options.entry);
        const auto target = target_for(device, data_->info->target, options.assemble.target);
        if (!entry || (device.kind() == DeviceKind::cuda && !target)) {
            for (std::size_t i = 0; i < candidates.size(); ++i)
                results.set(i, tl::unexpected(entry ? target.error() : entry.error()));
            return;
        }
        VariantLoader loader(device, **entry, *data_);
        const auto graft_alone = [&](std::size_t i) {
            results.set(
                i, kernel::without_throwing<Kernel>([&] { return graft(candidates[i], device, options); }));
        };
        const auto loaded_variant = [&](MachineCode code) -> Expected<Kernel> {
            Stopwatch watch;
            auto function = TRY(loader.load(code));
            code.times.load = watch.lap();
            return Kernel(
                std::make_shared<const Kernel::Data>(Kernel::Data{std::move(code), std::move(function)}));
        };
        if (device.kind() == DeviceKind::emulator && many.variants_per_module > 1 && data_->variants()) {
            const std::size_t size = many.variants_per_module;
            kernel::for_each((candidates.size() + size - 1) / size, many, [&](std::size_t k) {
                const std::size_t begin = k * size;
                const auto group = candidates.subspan(begin, std::min(size, candidates.size() - begin));
                auto codes = render_together(*data_, group, options.routes);
                for (std::size_t i = 0; i < group.size(); ++i) {
                    auto kernel = codes[i] ? kernel::without_throwing<Kernel>(
                                                 [&] { return loaded_variant(std::move(*codes[i])); })
                                           : Expected<Kernel>(fail(Errc::work_stopped));
                    if (kernel)
                        results.set(begin + i, std::move(kernel));
                    else
                        graft_alone(begin + i);
                }
            });
            return;
        }
        if (device.kind() == DeviceKind::emulator) {
            kernel::for_each(candidates.size(), many, graft_alone);
            return;
        }
        GraftOptions for_device = options;
        for_device.assemble.target = *target;
        const auto loaded = [&](std::size_t i, const MachineCode& code) -> Expected<Kernel> {
            if (code.variants != nullptr) return loaded_variant(code);
            const auto candidate = TRY(kernel::plan_candidate(*data_, candidates[i], as_chosen(code.routes)));
            return load(device, **entry, code, kernel::text_of(*data_, candidate));
        };
        (void)assemble_many(
            candidates, for_device, many, [&](std::size_t i, const Expected<MachineCode>& code) {
                results.set(i, code ? kernel::without_throwing<Kernel>([&] { return loaded(i, *code); })
                                    : Expected<Kernel>(tl::unexpected(code.error())));
            });
    });
}

}  // namespace ptxgraft
