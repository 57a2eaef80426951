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
#include "measure/pool_data.hpp"

namespace ptxgraft::measure {
namespace {

// A device for as long as this lives; none where all are sick.
class Taken {
  public:
    Taken(Pool::Data& pool, std::uint64_t workload) : pool_(pool) {
        std::unique_lock lock(pool.mutex);
        pool.returned.wait(lock, [&] { return choose(workload) || is_hopeless(); });
        if (seat_) pool.taken[*seat_] = true;
    }
    ~Taken() {
        if (!seat_) return;
        const std::scoped_lock lock(pool_.mutex);
        pool_.taken[*seat_] = false;
        pool_.returned.notify_all();
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    [[nodiscard]] Seat* seat() const { return seat_ ? pool_.seats[*seat_].get() : nullptr; }

  private:
    // An idle one, at best one that has the workload open.
    bool choose(std::uint64_t workload) {
        for (std::size_t k = 0; k < pool_.seats.size(); ++k) {
            const Seat& seat = *pool_.seats[k];
            if (pool_.taken[k] || seat.is_sick()) continue;
            if (!seat_ || seat.has(workload)) seat_ = k;
            if (seat.has(workload)) break;
        }
        return seat_.has_value();
    }
    // Those that are taken may come back.
    [[nodiscard]] bool is_hopeless() const {
        for (std::size_t k = 0; k < pool_.seats.size(); ++k)
            if (pool_.taken[k] || !pool_.seats[k]->is_sick()) return false;
        return true;
    }

    Pool::Data& pool_;
    std::optional<std::size_t> seat_;
};

tl::unexpected<Error> all_are_sick(const Pool::Data& pool) {
    std::string why;
    for (std::size_t k = 0; k < pool.seats.size(); ++k)
        why += fmt::format("{}{}: {}", k == 0 ? "" : "; ", pool.options.devices[k], pool.seats[k]->trouble());
    return fail(Errc::measure_worker_failed, "all devices are sick: " + why);
}

Expected<Check> check_one(Pool::Data& pool, const WorkloadText& workload, const VariantCode& variant) {
    for (;;) {
        const Taken taken(pool, workload.key);
        if (taken.seat() == nullptr) return all_are_sick(pool);
        if (auto check = TRY(taken.seat()->check(workload, variant))) return std::move(*check);
    }
}

void add(PoolReport& to, const PoolReport& report) {
    const auto& [checks, deaths, late, recovered, slowest, sick] = report;
    to.checks += checks;
    to.deaths += deaths;
    to.late += late;
    to.recovered += recovered;
    to.slowest_recovery = std::max(to.slowest_recovery, slowest);
    to.sick_devices += sick;
}

}  // namespace

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
        std::unique_lock lock(data_->mutex);
        data_->returned.wait(lock, [&] { return !data_->taken[k]; });
        if (data_->seats[k]->is_sick()) continue;
        data_->taken[k] = true;
        lock.unlock();
        auto check = data_->seats[k]->health(text);
        lock.lock();
        data_->taken[k] = false;
        data_->returned.notify_all();
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
