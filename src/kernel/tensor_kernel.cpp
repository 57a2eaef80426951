// Tensor kernels: what is emitted, loaded and kept.

#include "ptxgraft/dsl/tensor_kernel.hpp"

#include <fmt/format.h>

#include <list>
#include <mutex>
#include <unordered_map>

#include "base/try.hpp"
#include "kernel/specialisation.hpp"

namespace ptxgraft::dsl {
namespace {

constexpr std::string_view usual_target = "sm_90a";
using Choice = SpecialisationMaker::Choice;

}  // namespace

struct TensorKernel::Data {
    // One choice. `making` is held by who emits or loads it, so that nobody does so twice.
    struct Kept {
        std::mutex making;
        std::shared_ptr<const SpecialisedKernel> kernel;
        std::vector<std::pair<Device, ptxgraft::Kernel>> loaded;
    };

    KernelOptions options;
    Emit emit;
    std::string target;  // empty: any
    std::optional<Error> error;

    std::mutex mutex;  // of what follows
    std::vector<std::pair<Device, std::uint32_t>> multiprocessors;
    std::list<std::pair<std::string, std::shared_ptr<Kept>>> recent;  // the last one asked for first
    std::unordered_map<std::string, decltype(recent)::iterator> by_key;

    [[nodiscard]] std::shared_ptr<Kept> find(const std::string& key);
    [[nodiscard]] Expected<std::string> target_for(std::string_view asked) const;
    [[nodiscard]] Expected<Specialisation> emit_into(Module& module, const Choice& choice);
    [[nodiscard]] Expected<std::shared_ptr<const SpecialisedKernel>> make(const Choice& choice, Kept& kept);
    [[nodiscard]] Expected<ptxgraft::Kernel> load(const Device& device, Kept& kept);
    struct Bound {
        std::shared_ptr<Kept> kept;
        BoundLaunch launch;
    };
    [[nodiscard]] Expected<Bound> bind(const Device& device, std::span<const TensorView> views,
                                       const LaunchValues& values);
    [[nodiscard]] Expected<LaunchConfig> config(const Specialisation& s, const LaunchValues& values) const;
    [[nodiscard]] Expected<std::uint32_t> multiprocessors_of(const Device& device);
};

std::shared_ptr<TensorKernel::Data::Kept> TensorKernel::Data::find(const std::string& key) {
    const std::lock_guard lock(mutex);
    if (const auto found = by_key.find(key); found != by_key.end()) {
        recent.splice(recent.begin(), recent, found->second);
        return found->second->second;
    }
    recent.emplace_front(key, std::make_shared<Kept>());
    by_key.emplace(key, recent.begin());
    const std::shared_ptr<Kept> made = recent.front().second;
    while (recent.size() > std::max<std::size_t>(options.kept, 1)) {
        by_key.erase(recent.back().first);
        recent.pop_back();
    }
    return made;
}

Expected<std::string> TensorKernel::Data::target_for(std::string_view asked) const {
    if (target.empty()) return std::string(asked.empty() ? usual_target : asked);
    if (asked.empty() || asked == target) return target;
    return fail(Errc::target_differs, fmt::format("{} is for {}, not for {}", options.name, target, asked));
}

Expected<Specialisation> TensorKernel::Data::emit_into(Module& module, const Choice& choice) {
    auto s = TRY(SpecialisationMaker(options).make(choice));
    emit(module, s);
    SpecialisationMaker::finish(s);
    if (const auto& problem = SpecialisationMaker::error_of(s)) return tl::unexpected<Error>(*problem);
    return s;
}

Expected<std::shared_ptr<const SpecialisedKernel>> TensorKernel::Data::make(const Choice& choice,
                                                                            Kept& kept) {
    const std::lock_guard lock(kept.making);
    if (kept.kernel) return kept.kernel;
    Module module({.target = choice.target,
                   .version = options.version,
                   .line_info = options.line_info,
                   .file = options.file});
    auto s = TRY(emit_into(module, choice));
    std::string ptx = TRY(module.ptx());
    auto skeleton = TRY(Skeleton::from_ptx(std::move(ptx)));
    kept.kernel =
        std::make_shared<const SpecialisedKernel>(SpecialisedKernel{std::move(s), std::move(skeleton)});
    return kept.kernel;
}

Expected<ptxgraft::Kernel> TensorKernel::Data::load(const Device& device, Kept& kept) {
    const std::lock_guard lock(kept.making);
    for (const auto& [where, kernel] : kept.loaded)
        if (where == device) return kernel;
    const auto kernel = TRY(kept.kernel->skeleton.graft({}, device, {.entry = options.name}));
    kept.loaded.emplace_back(device, kernel);
    return kernel;
}

Expected<LaunchConfig> TensorKernel::Data::config(const Specialisation& s, const LaunchValues& values) const {
    LaunchConfig config = {.grid = options.grid(s),
                           .block = options.block(s),
                           .shared_bytes = options.shared_bytes(s),
                           .cluster = options.cluster(s),
                           .limits = values.limits};
    if (const auto& problem = SpecialisationMaker::error_of(s)) return tl::unexpected<Error>(*problem);
    return config;
}

Expected<std::uint32_t> TensorKernel::Data::multiprocessors_of(const Device& device) {
    const std::lock_guard lock(mutex);
    for (const auto& [where, count] : multiprocessors)
        if (where == device) return count;
    const DeviceProperties properties = TRY(device.properties());
    multiprocessors.emplace_back(device, properties.multiprocessors);
    return properties.multiprocessors;
}

Expected<TensorKernel::Data::Bound> TensorKernel::Data::bind(const Device& device,
                                                             std::span<const TensorView> views,
                                                             const LaunchValues& values) {
    const SpecialisationMaker maker(options);
    const std::vector<Tile> tiles = maker.tiles();
    TRY(maker.check_count(views.size(), tiles.size()));
    const Sizes sizes = TRY(maker.resolve(views, values.sizes));
    Choice choice = {.sizes = sizes, .target = target.empty() ? device.target() : target};
    const auto strides = TRY(add_strides(device, choice, tiles, views));
    for (const std::string& name : options.dynamic) choice.sizes.erase(name);

    Bound bound;
    bound.kept = find(choice.key());
    bound.launch.kernel = TRY(make(choice, *bound.kept));
    const Specialisation& s = bound.launch.kernel->specialisation;
    const std::uint32_t count = TRY(multiprocessors_of(device));
    bound.launch.config = TRY(config(SpecialisationMaker::launched(s, sizes, count), values));
    auto& arguments = bound.launch.arguments;
    for (std::size_t t = 0; t < views.size(); ++t) {
        Argument made = TRY(argument_of(tiles[t], s.tensors()[t], views[t], strides[t]));
        arguments.push_back(std::move(made));
    }
    for (const std::string& name : options.dynamic) {
        Argument made = TRY(extent_of(sizes, name));
        arguments.push_back(std::move(made));
    }
    arguments.insert(arguments.end(), values.arguments.begin(), values.arguments.end());
    return bound;
}

// ---- the interface

TensorKernel::TensorKernel(KernelOptions options, Emit emit, Target on) : data_(std::make_shared<Data>()) {
    data_->options = std::move(options);
    data_->emit = std::move(emit);
    const KernelOptions& of = data_->options;
    if (of.target != "auto") data_->target = of.target;
    if (on.architecture.sm != 0) {
        const std::string name = ptxgraft::name(on.architecture);
        if (!data_->target.empty() && data_->target != name)
            data_->error = fail(Errc::target_differs,
                                fmt::format("its body is for {}, its options say {}", name, of.target))
                               .value();
        data_->target = name;
    }
    if (auto checked = SpecialisationMaker(of).check(); !checked) data_->error = checked.error();
}

Expected<std::shared_ptr<const SpecialisedKernel>> TensorKernel::specialise(const Sizes& sizes,
                                                                            std::string_view target) const {
    if (data_->error) return tl::unexpected<Error>(*data_->error);
    Choice choice;
    choice.sizes = TRY(SpecialisationMaker(data_->options).complete(sizes));
    choice.target = TRY(data_->target_for(target));
    for (const std::string& name : data_->options.dynamic) choice.sizes.erase(name);
    return data_->make(choice, *data_->find(choice.key()));
}

Expected<std::string> TensorKernel::ptx(const Sizes& sizes, std::string_view target) const {
    const auto kernel = TRY(specialise(sizes, target));
    return kernel->skeleton.ptx();
}

Expected<void> TensorKernel::emit_into(Module& module, const Sizes& sizes) const {
    if (data_->error) return tl::unexpected<Error>(*data_->error);
    Choice choice;
    choice.sizes = TRY(SpecialisationMaker(data_->options).complete(sizes));
    choice.target = TRY(data_->target_for(module.target()));
    auto done = data_->emit_into(module, choice);
    if (!done) return tl::unexpected<Error>(done.error());
    return {};
}

Expected<std::string> TensorKernel::sass(const Sizes& sizes, std::string_view target) const {
    const auto kernel = TRY(specialise(sizes, target));
    const auto code = TRY(kernel->skeleton.assemble({}));
    return disassemble(code.cubin->image);
}

Expected<BoundLaunch> TensorKernel::bind(const Device& device, std::span<const TensorView> tensors,
                                         const LaunchValues& values) const {
    if (data_->error) return tl::unexpected<Error>(*data_->error);
    auto bound = TRY(data_->bind(device, tensors, values));
    return std::move(bound.launch);
}

Expected<void> TensorKernel::launch(const Device& device, std::span<const TensorView> tensors,
                                    const LaunchValues& values) const {
    if (data_->error) return tl::unexpected<Error>(*data_->error);
    const auto bound = TRY(data_->bind(device, tensors, values));
    const Dim3 grid = bound.launch.config.grid;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return {};
    const auto kernel = TRY(data_->load(device, *bound.kept));
    return kernel.launch_with(bound.launch.config, bound.launch.arguments, values.stream);
}

Expected<std::vector<Buffer>> TensorKernel::operator()(const Device& device,
                                                       std::initializer_list<TensorView> inputs,
                                                       const LaunchValues& values) const {
    if (data_->error) return tl::unexpected<Error>(*data_->error);
    const SpecialisationMaker maker(data_->options);
    const std::size_t outputs = data_->options.outputs.size();
    const std::vector<Tile> tiles = maker.tiles();
    TRY(maker.check_count(inputs.size(), tiles.size() - outputs));
    const Sizes sizes = TRY(maker.resolve(inputs, values.sizes));
    std::vector<Buffer> made;
    made.reserve(outputs);
    std::vector<TensorView> views(inputs);
    for (const Tile& tile : std::span(tiles).last(outputs)) {
        auto extents = TRY(maker.extents(tile, sizes));
        std::uint64_t elements = 1;
        for (const std::uint64_t extent : extents)
            if (__builtin_mul_overflow(elements, extent, &elements)) elements = ~std::uint64_t{0};
        auto buffer = TRY(device.allocate(bytes_of(tile, elements)));
        made.push_back(std::move(buffer));
        views.emplace_back(made.back(), std::move(extents));
    }
    TRY(launch(device, views, values));
    return made;
}

const KernelOptions& TensorKernel::options() const { return data_->options; }
std::size_t TensorKernel::kept() const {
    const std::lock_guard lock(data_->mutex);
    return data_->recent.size();
}
void TensorKernel::forget() const {
    decltype(data_->recent) recent;  // whose kernels are unloaded without the lock
    const std::lock_guard lock(data_->mutex);
    data_->by_key.clear();
    recent.swap(data_->recent);
}

}  // namespace ptxgraft::dsl
