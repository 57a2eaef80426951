// Loads entries, checks arguments and shapes of launches before either backend gets them, and launches.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/host_memory.hpp"
#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/load.hpp"

namespace ptxgraft {

struct Function::Data {
    std::shared_ptr<Device::Data> device;
    std::shared_ptr<const SourceText> source;
    std::shared_ptr<const launch::ModuleInfo> module;
    const launch::EntryInfo* entry;  // of `module`
    std::unique_ptr<const device::LoadedEntry> loaded;

    Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                          const Stream* stream) const;
};

namespace {

// The caller may not hold the PTX any more: a place in it comes with its text.
tl::unexpected<Error> with_source(Error error, const std::shared_ptr<const SourceText>& source) {
    if (error.span.known() && !error.source) error.source = source;
    return tl::unexpected(std::move(error));
}

}  // namespace

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
        return Function(std::make_shared<const Function::Data>(
            Function::Data{device.data_, source, info, &entry, std::move(loaded)}));
    });
}

Expected<void> device::Loader::check_target(const Device& device, std::string_view ptx_target) {
    if (runs_on(ptx_target, device.data_->backend->architecture())) return {};
    return fail(Errc::target_differs, fmt::format("its PTX is for {}, the device is {} ({})", ptx_target,
                                                  device.name(), device.target()));
}

const SourceText& device::Loader::source(const Function& function) { return *function.data_->source; }

Expected<void> Function::Data::launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                      const Stream* stream) const {
    const auto size = [](const Argument& argument) { return argument.bytes().size(); };
    if (auto fit = launch::check_arguments(*entry, arguments, size); !fit) return fit;
    for (const Argument& argument : arguments)
        if (argument.device_ != nullptr && argument.device_ != device.get())
            return fail(Errc::device_differs,
                        fmt::format("argument {} of {}", &argument - arguments.data(), entry->name));
    if (stream != nullptr && stream->device_ != device)
        return fail(Errc::device_differs, std::string("the launch's stream"));
    const auto whole = TRY(launch::check_shape(*entry, config, loaded->limits()));
    auto done = loaded->launch(whole, arguments, stream == nullptr ? 0 : stream->handle());
    if (!done) return with_source(done.error(), source);
    return done;
}

Expected<Function> Function::other(std::string_view entry) const {
    const auto found = TRY(launch::find_entry(*data_->module, entry));
    auto loaded = TRY(data_->loaded->other(found->name));
    return Function(std::make_shared<const Data>(
        Data{data_->device, data_->source, data_->module, found, std::move(loaded)}));
}

Expected<Buffer> Function::variable(std::string_view name) const {
    const auto found = data_->loaded->variable(std::string(name));
    if (!found && found.error().code == Errc::symbol_unknown) {
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
    return or_out_of_memory([&] { return data_->launch(config, arguments, stream); });
}

std::string_view Function::entry() const { return data_->entry->name; }
const std::vector<ParameterInfo>& Function::parameters() const { return data_->entry->parameters; }
std::string_view Function::ptx() const { return data_->source->text; }

}  // namespace ptxgraft
