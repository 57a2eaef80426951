// Shapes and arguments of launches, read of what a C caller gives.

#include "capi/launch_options.hpp"

#include <fmt/format.h>

#include <utility>

#include "capi/boundary.hpp"
#include "capi/objects.hpp"

namespace ptxgraft::capi {

namespace {

constexpr std::size_t most_parameter_size = 32764;  // of all parameters of an entry, PTX ISA 5.1.6.1

}  // namespace

Expected<std::vector<Argument>> arguments_of(const ptxgraft_argument* arguments, std::size_t count,
                                             const char* count_field) {
    if (auto valid = capi::check_list(arguments, count, "arguments", count_field); !valid)
        return tl::unexpected(std::move(valid.error()));
    std::vector<Argument> result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [buffer, data, size] = arguments[i];
        if (!buffer == !data)
            return capi::fail_at(i, fmt::format("arguments[{}] has {}; it is one of them", i,
                                                data ? "both buffer and data" : "neither buffer nor data"));
        if (!buffer && size > most_parameter_size)
            return capi::fail_at(i,
                                 fmt::format("arguments[{}].size is {}; no parameter is as large", i, size));
        result.push_back(buffer ? Argument(buffer->buffer)
                                : Argument::raw({static_cast<const std::byte*>(data), size}));
    }
    return result;
}

LaunchConfig launch_config(const ptxgraft_launch_options& given) {
    LaunchConfig config{
        .grid = {given.grid[0], given.grid[1], given.grid[2]},
        .block = {given.block[0], given.block[1], given.block[2]},
        .shared_bytes = given.shared_size,
        .cluster = {given.cluster[0], given.cluster[1], given.cluster[2]},
        .cooperative = given.cooperative != 0,
        .programmatic = given.programmatic != 0,
        .limits = {.instruction_budget = given.instruction_budget, .time_limit_ms = given.time_limit_ms}};
    if (given.has_priority != 0) config.priority = given.priority;
    if (given.should_stop != nullptr)
        config.limits.should_stop = [ask = given.should_stop, payload = given.payload] {
            return ask(payload) != 0;
        };
    return config;
}

}  // namespace ptxgraft::capi
