// Grafts and their options, read of what a C caller gives.

#include "capi/graft_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

namespace ptxgraft::capi {
namespace {

constexpr std::array routes = {
    std::pair(PTXGRAFT_ROUTE_inline, Route::inlined), std::pair(PTXGRAFT_ROUTE_call, Route::call),
    std::pair(PTXGRAFT_ROUTE_link, Route::link), std::pair(PTXGRAFT_ROUTE_auto, Route::automatic)};

Expected<RouteOptions> read_routes(const ptxgraft_graft_options& given) {
    TRY(check_enumerators({{"route", given.route, PTXGRAFT_ROUTE_auto}}));
    TRY(check_list(given.routes, given.route_count, "routes", "route_count"));
    RouteOptions result{.route = route_of(given.route)};
    for (std::size_t i = 0; i < given.route_count; ++i) {
        const auto& [site, route] = given.routes[i];
        if (site == nullptr) return fail_at(i, fmt::format("routes[{}].site is null", i));
        const std::string field = fmt::format("routes[{}].route", i);
        TRY(check_enumerators({{field.c_str(), route, PTXGRAFT_ROUTE_auto}}));
        if (!result.sites.emplace(site, route_of(route)).second)
            return fail_at(i, fmt::format("routes[{}] is a second route of the site {}", i, site));
    }
    return result;
}

std::optional<std::uint32_t>& limit_of(AssembleLimits& limits, ptxgraft_limit_kind kind) {
    switch (kind) {
        case PTXGRAFT_LIMIT_spill_size: return limits.spill_bytes;
        case PTXGRAFT_LIMIT_stack_size: return limits.stack_bytes;
        case PTXGRAFT_LIMIT_code_size: return limits.code_bytes;
        default: return limits.registers;
    }
}

Expected<AssembleLimits> read_limits(const ptxgraft_graft_options& given) {
    TRY(check_list(given.limits, given.limit_count, "limits", "limit_count"));
    AssembleLimits result;
    for (std::size_t i = 0; i < given.limit_count; ++i) {
        const auto& [kind, most] = given.limits[i];
        const std::string field = fmt::format("limits[{}].kind", i);
        TRY(check_enumerators({{field.c_str(), kind, PTXGRAFT_LIMIT_code_size}}));
        std::optional<std::uint32_t>& limit = limit_of(result, kind);
        limit = std::min(limit.value_or(most), most);
    }
    return result;
}

Expected<AssembleOptions> read_assemble_options(const ptxgraft_graft_options& given) {
    if (given.optimisation > 3)
        return fail(Errc::argument_invalid,
                    fmt::format("optimisation is {}; it is 0 to 3", given.optimisation));
    AssembleOptions result{.target = given.target != nullptr ? given.target : "",
                           .optimisation = static_cast<int>(given.optimisation),
                           .max_registers = given.max_registers,
                           .relocatable = given.relocatable != 0,
                           .line_info = given.line_info != 0,
                           .allow_performance_loss = given.allow_performance_loss != 0};
    TRY(copy_strings(result.options, given.assembler_options, given.assembler_option_count,
                     "assembler_options", "assembler_option_count"));
    result.limits = TRY(read_limits(given));
    if (given.stop != nullptr) result.stop = given.stop->source.get_token();
    return result;
}

}  // namespace

Expected<void> check_loadable(const GraftOptions& options) {
    if (!options.assemble.relocatable) return {};
    return fail(Errc::argument_invalid, "relocatable is set: machine code for linking is not loaded");
}

Route route_of(ptxgraft_route route) {
    return std::ranges::find(routes, route, &decltype(routes)::value_type::first)->second;
}

ptxgraft_route route_of(Route route) {
    return std::ranges::find(routes, route, &decltype(routes)::value_type::second)->first;
}

Expected<std::vector<Graft>> read_grafts(const ptxgraft_graft* grafts, std::size_t count,
                                         const char* count_field) {
    TRY(check_list(grafts, count, "grafts", count_field));
    std::vector<Graft> result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [site, stub] = grafts[i];
        if (!site || !stub)
            return fail_at(i, fmt::format("grafts[{}].{} is null", i, site ? "stub" : "site"));
        result.push_back({site, stub->stub});
    }
    return result;
}

Expected<GraftRequest> GraftRequest::read(const ptxgraft_graft_options* given) {
    const auto known = TRY(options_of(given));
    GraftRequest request;
    request.grafts = TRY(read_grafts(known.grafts, known.graft_count, "graft_count"));
    request.options_.assemble = TRY(read_assemble_options(known));
    request.options_.routes = TRY(read_routes(known));
    if (known.entry != nullptr) request.options_.entry = known.entry;
    if (known.assembler != nullptr) request.assembler_ = known.assembler->assembler;
    if (known.cache != nullptr) request.cache_ = known.cache->cache;
    return request;
}

GraftOptions GraftRequest::options() const {
    GraftOptions result = options_;
    result.assembler = assembler_.get();
    result.cache = cache_ ? &*cache_ : nullptr;
    return result;
}

}  // namespace ptxgraft::capi
