#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "base/host_memory.hpp"
#include "device/backend.hpp"

namespace ptxgraft {

struct Function::Data {
    std::shared_ptr<Device::Data> device;
    device::EntryInfo entry;
    std::shared_ptr<const SourceText> source;
    std::unique_ptr<const device::LoadedEntry> loaded;

    Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                          const Stream* stream) const;
};

namespace {

std::string parameter_list(const device::EntryInfo& entry) {
    std::string text;
    for (const ParameterInfo& p : entry.parameters)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", p.type, p.name);
    return fmt::format("{}({})", entry.name, text);
}

bool is_one(const Dim3& shape) { return shape.x == 1 && shape.y == 1 && shape.z == 1; }
bool is_empty(const Dim3& shape) { return shape.x == 0 || shape.y == 0 || shape.z == 0; }

Expected<void> check_arguments(const device::EntryInfo& entry, std::span<const Argument> arguments) {
    const auto& parameters = entry.parameters;
    if (arguments.size() != parameters.size())
        return fail(Errc::argument_count_wrong, fmt::format("{} takes {}, got {}", parameter_list(entry),
                                                            parameters.size(), arguments.size()));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::size_t bytes = arguments[i].bytes().size();
        if (bytes == parameters[i].bytes) continue;
        auto error =
            fail(Errc::argument_size_wrong,
                 fmt::format("argument {} of {} has {} bytes, its parameter {} {} has {}", i, entry.name,
                             bytes, parameters[i].type, parameters[i].name, parameters[i].bytes));
        error.value().index = static_cast<std::uint32_t>(i);
        return error;
    }
    return {};
}

Expected<void> check_shape(const LaunchConfig& config, const device::EntryLimits& limits) {
    const auto& [grid, block, cluster] = std::tie(config.grid, config.block, config.cluster);
    const std::uint32_t shared_bytes = config.shared_bytes;
    const auto refuse = [](std::string why) { return fail(Errc::launch_shape_invalid, std::move(why)); };
    for (const auto& [name, dim] :
         {std::pair{"grid", &grid}, std::pair{"block", &block}, std::pair{"cluster", &cluster}})
        if (is_empty(*dim))
            return refuse(fmt::format("{} of {} x {} x {} is empty", name, dim->x, dim->y, dim->z));
    if (grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
        return refuse(
            fmt::format("grid of {} x {} x {}; at most 2147483647 x 65535 x 65535", grid.x, grid.y, grid.z));
    if (block.x > 1024 || block.y > 1024 || block.z > 64)
        return refuse(
            fmt::format("block of {} x {} x {}; at most 1024 x 1024 x 64", block.x, block.y, block.z));
    const std::uint32_t threads = block.x * block.y * block.z;  // at most 2^26
    if (threads > limits.threads_per_block)
        return refuse(fmt::format("block of {} threads; this kernel runs with at most {}", threads,
                                  limits.threads_per_block));
    if (shared_bytes > limits.dynamic_shared_bytes)
        return refuse(fmt::format("{} bytes of dynamic shared memory; this kernel can have at most {}",
                                  shared_bytes, limits.dynamic_shared_bytes));
    return {};
}

std::string text(const Dim3& shape) { return fmt::format("{} x {} x {}", shape.x, shape.y, shape.z); }

// PTX ISA 11.7: what an entry says of clusters. `config` has the entry's own cluster where it gave none.
Expected<void> check_cluster(const LaunchConfig& config, const device::EntryInfo& entry,
                             std::uint32_t most_blocks) {
    const auto refuse = [](std::string why) { return fail(Errc::launch_shape_invalid, std::move(why)); };
    const auto& [grid, cluster] = std::tie(config.grid, config.cluster);
    const Dim3& required = entry.required_cluster;
    // An assembler takes such a directive (PTX ISA 11.7.1 does not say what it means).
    if (is_empty(required))
        return refuse(fmt::format("{} requires a cluster of {}, which is empty: no launch can have it",
                                  entry.name, text(required)));
    if (!is_one(required) && text(required) != text(cluster))
        return refuse(
            fmt::format("cluster of {}; {} requires {}", text(cluster), entry.name, text(required)));
    if (is_one(cluster) && entry.wants_cluster)
        return refuse(fmt::format("{} wants a cluster: it is .explicitcluster", entry.name));
    if (is_one(cluster)) return {};
    if (most_blocks == 1) return refuse(fmt::format("cluster of {}; clusters need sm_90", text(cluster)));
    const bool is_wide = cluster.x > most_blocks || cluster.y > most_blocks || cluster.z > most_blocks;
    const std::uint32_t blocks = is_wide ? 0 : cluster.x * cluster.y * cluster.z;
    if (is_wide || blocks > most_blocks)
        return refuse(fmt::format("cluster of {}; at most {} blocks", text(cluster), most_blocks));
    if (entry.most_cluster_blocks != 0 && blocks > entry.most_cluster_blocks)
        return refuse(
            fmt::format("cluster of {} blocks; {} allows {}", blocks, entry.name, entry.most_cluster_blocks));
    if (entry.blocks_are_clusters) return {};  // the grid is in clusters
    if (grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0) return {};
    return refuse(
        fmt::format("grid of {}; it is a multiple of the cluster of {}", text(grid), text(cluster)));
}

// The caller may not hold the PTX any more: a place in it comes with its text.
tl::unexpected<Error> with_source(Error error, const std::shared_ptr<const SourceText>& source) {
    if (error.span.known() && !error.source) error.source = source;
    return tl::unexpected(std::move(error));
}

}  // namespace

Expected<Function> Device::load(std::string_view ptx, std::string_view entry, const Cubin* cubin) const {
    return or_out_of_memory([&]() -> Expected<Function> {
        auto found = device::find_entry(ptx, entry);
        if (!found) return tl::unexpected(found.error());
        if (cubin == nullptr && !device::runs_on(found->target, target()))
            return fail(Errc::target_differs, fmt::format("its PTX is for {}, the device is {} ({})",
                                                          found->target, name(), target()));
        auto loaded = data_->backend->load(ptx, found->name, cubin);
        if (!loaded) return tl::unexpected(loaded.error());
        auto source = std::make_shared<const SourceText>(SourceText{found->name + ".ptx", std::string(ptx)});
        return Function(std::make_shared<const Function::Data>(
            Function::Data{data_, std::move(*found), std::move(source), std::move(*loaded)}));
    });
}

Expected<void> Function::Data::launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                      const Stream* stream) const {
    if (auto fits = check_arguments(entry, arguments); !fits) return fits;
    for (const Argument& argument : arguments)
        if (argument.device_ != nullptr && argument.device_ != device.get())
            return fail(Errc::device_differs,
                        fmt::format("argument {} of {}", &argument - arguments.data(), entry.name));
    if (stream != nullptr && stream->device_ != device)
        return fail(Errc::device_differs, std::string("the launch's stream"));
    const device::EntryLimits limits = loaded->limits();
    if (auto possible = check_shape(config, limits); !possible) return possible;
    LaunchConfig whole = config;
    if (is_one(whole.cluster)) whole.cluster = entry.required_cluster;
    if (auto possible = check_cluster(whole, entry, limits.blocks_per_cluster); !possible) return possible;
    auto done = loaded->launch(whole, arguments, stream == nullptr ? 0 : stream->handle());
    if (!done) return with_source(done.error(), source);
    return done;
}

Expected<Function> Function::other(std::string_view entry) const {
    auto found = device::find_entry(data_->source->text, entry);
    if (!found) return tl::unexpected(found.error());
    auto loaded = data_->loaded->other(found->name);
    if (!loaded) return tl::unexpected(loaded.error());
    return Function(std::make_shared<const Data>(
        Data{data_->device, std::move(*found), data_->source, std::move(*loaded)}));
}

Expected<Buffer> Function::variable(std::string_view name) const {
    const auto found = data_->loaded->variable(std::string(name));
    if (!found && found.error().code == Errc::symbol_unknown) {
        const std::string names = device::variable_names(data_->source->text);
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

std::string_view Function::entry() const { return data_->entry.name; }
const std::vector<ParameterInfo>& Function::parameters() const { return data_->entry.parameters; }
std::string_view Function::ptx() const { return data_->source->text; }

}  // namespace ptxgraft
