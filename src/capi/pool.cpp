// Pools of workers that check variants, in C.

#include <fmt/format.h>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "ptxgraft/measure/pool.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;
using measure::Check;

struct ptxgraft_pool {
    explicit ptxgraft_pool(measure::Pool opened) : pool(std::move(opened)), workers(pool.workers()) {}
    measure::Pool pool;
    std::vector<measure::WorkerInfo> workers;
};

struct ptxgraft_checks {
    struct One {
        Expected<Check> check;
        std::string message;
    };
    std::vector<One> all;
};

namespace {

static_assert(PTXGRAFT_OUTCOME_crashed == int(measure::Finding::crashed));

Expected<measure::PoolOptions> pool_options(const ptxgraft_pool_options* options) {
    const auto given = TRY(capi::options_of(options));
    measure::PoolOptions result;
    if (given.devices != nullptr || given.device_count != 0) result.devices.clear();
    TRY(capi::copy_strings(result.devices, given.devices, given.device_count, "devices", "device_count"));
    TRY(capi::copy_strings(result.command, given.command, given.command_count, "command", "command_count"));
    using Time = measure::Deadlines::Time;
    result.deadlines = {.hello = Time(given.hello_ms),
                        .open = Time(given.open_ms),
                        .load = Time(given.load_ms),
                        .launch = Time(given.launch_ms),
                        .baseline_launches = given.baseline_launches,
                        .compare = Time(given.compare_ms)};
    result.check = {.seed = given.seed,
                    .seeds = given.seeds,
                    .launches = given.launches,
                    .instructions = given.instructions};
    result.memory_bytes = given.memory_size;
    result.spares = given.spares;
    result.baseline_deaths = given.baseline_deaths;
    return result;
}

Expected<std::vector<measure::VariantCode>> variants_of(const ptxgraft_check_request& given) {
    TRY(capi::check_list(given.variants, given.variant_count, "variants", "variant_count"));
    std::vector<measure::VariantCode> result;
    for (std::size_t i = 0; i < given.variant_count; ++i) {
        const auto& [ptx, size, entry, code] = given.variants[i];
        if (ptx == nullptr) return capi::fail_at(i, fmt::format("variants[{}]: ptx is null", i));
        const auto text = TRY(capi::text_at(ptx, size));
        result.push_back(
            {std::string(text), entry != nullptr ? entry : "", code != nullptr ? code->code.cubin : nullptr});
    }
    return result;
}

ptxgraft_checks* results_of(std::vector<Expected<Check>> checks) {
    auto made = std::make_unique<ptxgraft_checks>();
    for (Expected<Check>& check : checks) {
        std::string message = check && check->error.code != Errc::ok ? describe(check->error) : std::string();
        made->all.push_back({std::move(check), std::move(message)});
    }
    return made.release();
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_pool_open(ptxgraft_pool** pool, const ptxgraft_pool_options* options) {
    return call({{pool, "pool"}}, [&]() -> Expected<void> {
        const auto how = TRY(pool_options(options));
        auto opened = TRY(measure::Pool::open(how));
        *pool = new ptxgraft_pool(std::move(opened));
        return {};
    });
}

void ptxgraft_pool_destroy(ptxgraft_pool* pool) { delete pool; }

size_t ptxgraft_pool_get_worker_count(const ptxgraft_pool* pool) {
    return get(pool, "pool", size_t{0}, [](const ptxgraft_pool& p) { return p.workers.size(); });
}

ptxgraft_status ptxgraft_pool_get_worker(ptxgraft_worker_info* info, const ptxgraft_pool* pool,
                                         size_t worker) {
    return call({{info, "info"}, {pool, "pool"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(worker, pool->workers.size(), "worker"));
        const measure::WorkerInfo& w = pool->workers[worker];
        return capi::give_info(
            info, {sizeof(*info), w.library.c_str(), w.assembler.c_str(), w.driver.c_str(), w.device.c_str(),
                   w.uuid.c_str(), w.target.c_str(), w.l2_bytes, w.multiprocessors, w.has_network});
    });
}

ptxgraft_status ptxgraft_pool_get_report(ptxgraft_pool_report* report, const ptxgraft_pool* pool) {
    return call({{report, "report"}, {pool, "pool"}}, [&] {
        const measure::PoolReport r = pool->pool.report();
        return capi::give_info(report, {sizeof(*report), r.checks, r.deaths, r.late, r.recovered,
                                        r.slowest_recovery, r.sick_devices, 0});
    });
}

ptxgraft_status ptxgraft_checks_create(ptxgraft_checks** checks, const ptxgraft_pool* pool,
                                       const ptxgraft_check_request* request) {
    return call({{checks, "checks"}, {pool, "pool"}, {request, "request"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(request));
        TRY(capi::check_required({{given.workload, "workload"}}));
        const auto workload = TRY(capi::text_at(given.workload, given.workload_size));
        const auto variants = TRY(variants_of(given));
        *checks = results_of(pool->pool.check(workload, variants));
        return {};
    });
}

ptxgraft_status ptxgraft_checks_create_of_health(ptxgraft_checks** checks, const ptxgraft_pool* pool,
                                                 const char* workload, size_t size) {
    return call({{checks, "checks"}, {pool, "pool"}, {workload, "workload"}}, [&]() -> Expected<void> {
        const auto text = TRY(capi::text_at(workload, size));
        *checks = results_of(pool->pool.health(text));
        return {};
    });
}

void ptxgraft_checks_destroy(ptxgraft_checks* checks) { delete checks; }

size_t ptxgraft_checks_get_count(const ptxgraft_checks* checks) {
    return get(checks, "checks", size_t{0}, [](const ptxgraft_checks& c) { return c.all.size(); });
}

ptxgraft_status ptxgraft_checks_get(ptxgraft_check_info* info, const ptxgraft_checks* checks, size_t check) {
    return call({{info, "info"}, {checks, "checks"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(check, checks->all.size(), "check"));
        const auto& [result, message] = checks->all[check];
        if (!result) return tl::unexpected(result.error());
        const Check& c = *result;
        return capi::give_info(
            info, {sizeof(*info), c.tensor.c_str(), message.c_str(), c.worst, c.got, c.wanted, c.allowed,
                   c.element, c.where.seed, c.instructions, c.where.shape,
                   static_cast<ptxgraft_outcome>(c.finding), static_cast<ptxgraft_status>(c.error.code),
                   c.cases, static_cast<std::uint32_t>(c.where.regime)});
    });
}

}  // extern "C"
