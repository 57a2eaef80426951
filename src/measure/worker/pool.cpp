// Who gets which device, and in what order results come back.

#include "ptxgraft/measure/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "base/threads.hpp"
#include "base/try.hpp"
#include "measure/worker/pool_data.hpp"

namespace ptxgraft::measure {
namespace {

Expected<Check> check_one(Pool::Data& pool, const WorkloadText& workload, const VariantCode& variant) {
    for (;;) {
        const Taken taken(pool, workload.key);
        if (taken.seat() == nullptr) return pool.all_are_sick();
        if (auto check = TRY(taken.seat()->check(workload, variant))) return std::move(*check);
    }
}

void add(PoolReport& to, const PoolReport& report) {
    const auto& [checks, timings, deaths, late, recovered, slowest, sick] = report;
    to.checks += checks;
    to.timings += timings;
    to.deaths += deaths;
    to.late += late;
    to.recovered += recovered;
    to.slowest_recovery = std::max(to.slowest_recovery, slowest);
    to.sick_devices += sick;
}

}  // namespace

tl::unexpected<Error> Pool::Data::all_are_sick() const {
    std::string why;
    for (std::size_t k = 0; k < seats.size(); ++k)
        why += fmt::format("{}{}: {}", k == 0 ? "" : "; ", options.devices[k], seats[k]->trouble());
    return fail(Errc::measure_worker_failed, "all devices are sick: " + why);
}

Expected<VariantCode> code_of(const Skeleton& skeleton, std::span<const Graft> grafts, std::string_view entry,
                              const Assembler* assembler) {
    VariantCode variant{.ptx = TRY(skeleton.render(grafts)), .entry = std::string(entry)};
    if (assembler == nullptr) return variant;
    variant.cubin = std::make_shared<const Cubin>(TRY(assembler->assemble(variant.ptx)));
    return variant;
}

Expected<Pool> Pool::open(const PoolOptions& options) {
    if (options.devices.empty()) return fail(Errc::argument_invalid, "a pool has a device at least");
    auto data = std::make_shared<Data>(options);
    for (const std::string& device : data->options.devices)
        data->seats.push_back(std::make_unique<Seat>(data->options, device));
    data->taken.resize(data->seats.size());
    std::vector<Expected<void>> opened(data->seats.size());
    on_threads(data->seats.size(), [&](std::size_t k) { opened[k] = data->seats[k]->open(); });
    for (const Expected<void>& one : opened)
        if (!one) return tl::unexpected(one.error());
    return Pool(std::move(data));
}

std::vector<Expected<Check>> Pool::check(std::string_view workload,
                                         std::span<const VariantCode> variants) const {
    const WorkloadText text{workload_key(workload), workload};
    std::vector<Expected<Check>> results(variants.size());
    std::atomic<std::size_t> next = 0;
    on_threads(std::min(data_->seats.size(), variants.size()), [&](std::size_t) {
        for (std::size_t k; (k = next++) < variants.size();)
            results[k] = check_one(*data_, text, variants[k]);
    });
    return results;
}

std::vector<Expected<Check>> Pool::health(std::string_view workload) const {
    const WorkloadText text{workload_key(workload), workload};
    std::vector<Expected<Check>> results;
    for (std::size_t k = 0; k < data_->seats.size(); ++k) {
        const Taken taken(*data_, k, Taken::This{});
        if (taken.seat()->is_sick()) continue;
        const auto check = taken.seat()->health(text);
        if (!check)
            results.emplace_back(tl::unexpected(check.error()));
        else if (*check)
            results.emplace_back(**check);
        else
            results.emplace_back(fail(Errc::measure_worker_failed, data_->seats[k]->trouble()));
    }
    return results;
}

std::vector<WorkerInfo> Pool::workers() const {
    std::vector<WorkerInfo> all;
    for (const auto& seat : data_->seats) all.push_back(seat->info());
    return all;
}

PoolReport Pool::report() const {
    std::unique_lock lock(data_->mutex);
    PoolReport report;
    for (std::size_t k = 0; k < data_->seats.size(); ++k) {
        data_->returned.wait(lock, [&] { return !data_->taken[k]; });
        add(report, data_->seats[k]->report());
    }
    return report;
}

}  // namespace ptxgraft::measure
