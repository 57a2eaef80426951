// Grafts: candidates become kernels on a device.
#include <fmt/format.h>

#include <utility>

#include "base/try.hpp"
#include "device/load.hpp"
#include "kernel/banks.hpp"
#include "kernel/batch.hpp"
#include "kernel/candidate.hpp"
#include "kernel/kernel_data.hpp"
#include "kernel/machine_code.hpp"
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
    const auto entry = find_entry(*data_, options.entry);
    const auto target = target_for(device, data_->info->target, options.assemble.target);
    if (!entry || (device.kind() == DeviceKind::cuda && !target)) {
        for (std::size_t i = 0; i < candidates.size(); ++i)
            results.set(i, tl::unexpected(entry ? target.error() : entry.error()));
        return results.take();
    }
    if (device.kind() == DeviceKind::emulator) {
        kernel::for_each(candidates.size(), many, [&](std::size_t i) {
            results.set(
                i, kernel::without_throwing<Kernel>([&] { return graft(candidates[i], device, options); }));
        });
        return results.take();
    }
    GraftOptions for_device = options;
    for_device.assemble.target = *target;
    const auto loaded = [&](std::size_t i, const MachineCode& code) -> Expected<Kernel> {
        const auto candidate = TRY(kernel::plan_candidate(*data_, candidates[i], as_chosen(code.routes)));
        return load(device, **entry, code, kernel::text_of(*data_, candidate));
    };
    (void)assemble_many(candidates, for_device, many, [&](std::size_t i, const Expected<MachineCode>& code) {
        results.set(i, code ? kernel::without_throwing<Kernel>([&] { return loaded(i, *code); })
                            : Expected<Kernel>(tl::unexpected(code.error())));
    });
    return results.take();
}

}  // namespace ptxgraft
