// Loads entries, checks arguments and shapes of launches before either backend gets them, and launches.

#include "device/function.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/host_memory.hpp"
#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/load.hpp"
#include "ptxgraft/graph.hpp"

namespace ptxgraft {

Expected<Function> Device::load(std::string_view ptx, std::string_view entry, const Cubin* cubin) const {
    return or_out_of_memory([&]() -> Expected<Function> {
        auto tree = TRY(syntax::parse(std::string(ptx)));
        const auto info = std::make_shared<const launch::ModuleInfo>(launch::module_info(tree));
        const auto found = TRY(launch::find_entry(*info, entry));
        auto source = std::make_shared<const SourceText>(SourceText{found->name + ".ptx", std::string(ptx)});
        return device::Loader::load(*this, {std::move(source), info, std::move(tree)}, *found, cubin);
    });
}

Expected<Function> device::Loader::load(const Device& device, KnownModule module,
                                        const launch::EntryInfo& entry, const Cubin* cubin) {
    return or_out_of_memory([&]() -> Expected<Function> {
        if (cubin == nullptr) TRY(check_target(device, module.info->target));
        const auto source = module.source;
        const auto info = module.info;
        auto loaded = TRY(device.data_->backend->load(std::move(module), entry.name, cubin));
        const launch::EntryLimits limits = loaded->limits();
        return Function(std::make_shared<const Function::Data>(
            Function::Data{device.data_, source, info, &entry, limits, std::move(loaded)}));
    });
}

Expected<Function> Device::borrow_function(FunctionHandle kind, std::uint64_t handle) const {
    if (handle == 0) return fail(Errc::argument_invalid, std::string("a kernel's handle is 0"));
    return or_out_of_memory([&]() -> Expected<Function> {
        auto borrowed = TRY(data_->backend->borrow(kind, handle));
        const auto source = std::make_shared<const SourceText>(SourceText{borrowed.info.name, {}});
        launch::ModuleInfo whole;
        whole.entries.push_back(std::move(borrowed.info));
        const auto info = std::make_shared<const launch::ModuleInfo>(std::move(whole));
        const launch::EntryLimits limits = borrowed.loaded->limits();
        return Function(std::make_shared<const Function::Data>(
            Function::Data{data_, source, info, &info->entries.front(), limits, std::move(borrowed.loaded)}));
    });
}

Expected<void> device::Loader::check_target(const Device& device, std::string_view ptx_target) {
    if (runs_on(ptx_target, device.data_->backend->architecture())) return {};
    return fail(Errc::target_differs, fmt::format("its PTX is for {}, the device is {} ({})", ptx_target,
                                                  device.name(), device.target()));
}

device::Backend& device::Loader::backend(const Device& device) { return *device.data_->backend; }

Expected<void> device::Loader::set_bank(const Function& function, std::size_t number,
                                        std::span<const std::byte> bytes, const Stream* stream) {
    if (stream != nullptr && stream->device_ != function.data_->device)
        return fail(Errc::device_differs, std::string("the stream of the constants"));
    if (stream != nullptr) TRY(stream->check_not_captured("to change constants in its order"));
    return or_out_of_memory([&] {
        return function.data_->loaded->set_bank(number, bytes, stream == nullptr ? 0 : stream->handle());
    });
}

const SourceText& device::Loader::source(const Function& function) { return *function.data_->source; }

Expected<device::CheckedLaunch> Function::Data::check(const LaunchConfig& config,
                                                      std::span<const Argument> arguments,
                                                      const Stream* stream) const {
    const auto size = [](const Argument& argument) { return argument.bytes().size(); };
    TRY(launch::check_arguments(*entry, arguments, size));
    for (const Argument& argument : arguments)
        if (argument.device_ != nullptr && argument.device_ != device.get())
            return fail(Errc::device_differs,
                        fmt::format("argument {} of {}", &argument - arguments.data(), entry->name));
    if (stream != nullptr && stream->device_ != device)
        return fail(Errc::device_differs, std::string("the launch's stream"));
    const Dim3 cluster = TRY(launch::check_shape(*entry, config, limits));
    return device::CheckedLaunch{config, cluster, arguments};
}

tl::unexpected<Error> Function::Data::with_source(Error error) const {
    if (error.span.known() && !error.source) error.source = source;
    return tl::unexpected(std::move(error));
}

Expected<FunctionAttributes> Function::attributes() const {
    return or_out_of_memory([&] { return data_->loaded->attributes(); });
}

Expected<std::uint32_t> Function::blocks_per_multiprocessor(std::uint32_t block_threads,
                                                            std::uint32_t dynamic_shared_bytes) const {
    return or_out_of_memory(
        [&] { return data_->loaded->blocks_per_multiprocessor(block_threads, dynamic_shared_bytes); });
}

Expected<std::uint32_t> Function::active_clusters(const LaunchConfig& config) const {
    return or_out_of_memory([&]() -> Expected<std::uint32_t> {
        const Dim3 cluster = TRY(launch::check_shape(*data_->entry, config, data_->limits));
        if (cluster.x * cluster.y * cluster.z == 1)
            return fail(Errc::launch_shape_invalid,
                        fmt::format("{} is asked for its clusters, and the launch has none", entry()));
        return data_->loaded->active_clusters({config, cluster, {}});
    });
}

Expected<void> Function::prefer_shared_memory(std::int32_t percent) const {
    if (percent < -1 || percent > 100)
        return fail(Errc::argument_invalid,
                    fmt::format("{} percent of shared memory; it is 0 to 100, or -1", percent));
    return data_->loaded->prefer_shared_memory(percent);
}

Expected<Function> Function::other(std::string_view entry) const {
    const auto found = TRY(launch::find_entry(*data_->module, entry));
    auto loaded = TRY(data_->loaded->other(found->name));
    const launch::EntryLimits limits = loaded->limits();
    return Function(std::make_shared<const Data>(
        Data{data_->device, data_->source, data_->module, found, limits, std::move(loaded)}));
}

Expected<Buffer> Function::variable(std::string_view name) const {
    const auto found = data_->loaded->variable(std::string(name));
    if (!found && found.error().code == Errc::symbol_unknown && !ptx().empty()) {
        const std::string names = fmt::format("{}", fmt::join(data_->module->variables, ", "));
        return fail(Errc::symbol_unknown,
                    fmt::format("{}; the module has {}", name, names.empty() ? "none" : names));
    }
    if (!found) return tl::unexpected(found.error());
    Buffer buffer(data_->device, found->address, found->bytes);
    buffer.module_ = data_;
    return buffer;
}

Expected<void> Function::launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                const Stream* stream) const {
    return or_out_of_memory([&]() -> Expected<void> {
        if (stream != nullptr && stream->is_captured()) [[unlikely]]
            return stream->capture_->add(*this, config, arguments).map([](std::size_t) {});
        const device::CheckedLaunch launch = TRY(data_->check(config, arguments, stream));
        auto done = data_->loaded->launch(launch, stream == nullptr ? 0 : stream->handle());
        if (!done) [[unlikely]]
            return data_->with_source(std::move(done.error()));
        return done;
    });
}

Expected<EmulatorStats> Function::launch_counted(const LaunchConfig& config,
                                                 std::span<const Argument> arguments) const {
    return or_out_of_memory([&]() -> Expected<EmulatorStats> {
        const device::CheckedLaunch launch = TRY(data_->check(config, arguments, nullptr));
        auto done = data_->loaded->launch_counted(launch);
        if (!done) return data_->with_source(std::move(done.error()));
        return done;
    });
}

std::string_view Function::entry() const { return data_->entry->name; }
const std::vector<ParameterInfo>& Function::parameters() const { return data_->entry->parameters; }
std::string_view Function::ptx() const { return data_->source->text; }

}  // namespace ptxgraft
