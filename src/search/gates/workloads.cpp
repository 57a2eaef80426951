// A workload for each combination of tunables.

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/try.hpp"
#include "search/gates/figures.hpp"

namespace ptxgraft::search {

struct Workloads::Data {
    using Made = std::shared_future<Expected<measure::Workload>>;

    Data(measure::Workload workload, std::vector<Tunable> of)
        : base(std::move(workload)), tunables(std::move(of)) {}

    const measure::Workload base;
    const std::vector<Tunable> tunables;
    std::mutex mutex;
    std::map<std::vector<std::uint32_t>, Made> made;

    [[nodiscard]] Expected<measure::Workload> make(std::span<const std::uint32_t> values) const {
        if (tunables.empty()) return base;
        measure::WorkloadOptions options = base.options();
        for (std::size_t k = 0; k < tunables.size(); ++k)
            options.choices.insert_or_assign(tunables[k].name, tunables[k].values.at(values[k]));
        return measure::Workload::make(base.from(), std::move(options));
    }
};

Expected<std::string> Workloads::text(std::span<const std::uint32_t> tunables) const {
    const std::string& text = data_->base.text();
    auto json = nlohmann::ordered_json::parse(text, nullptr, false);
    if (!json.is_object())
        return fail(Errc::workload_invalid, "a pool wants one as JSON, and this one was not parsed");
    for (std::size_t k = 0; k < data_->tunables.size(); ++k)
        json["choices"][data_->tunables[k].name] = data_->tunables[k].values.at(tunables[k]);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Expected<Workloads> Workloads::make(const Space& space, measure::Workload workload) {
    for (const Tunable& tunable : space.tunables)
        if (std::ranges::find(workload.from().tunables(), tunable.name, &TemplateTunable::name) ==
            workload.from().tunables().end())
            return fail(Errc::space_invalid, fmt::format("the template {} has no tunable {}",
                                                         workload.from().name(), tunable.name));
    TRY(check_sites(space, workload.skeleton()));
    return Workloads(std::make_shared<Data>(std::move(workload), space.tunables));
}

// Whoever asks first compiles; others of the same combination wait for it.
Expected<measure::Workload> Workloads::find(std::span<const std::uint32_t> tunables) const {
    std::packaged_task<Expected<measure::Workload>()> task([&] { return data_->make(tunables); });
    Data::Made found;
    bool is_new = false;
    {
        const std::scoped_lock lock(data_->mutex);
        Data::Made& place = data_->made[{tunables.begin(), tunables.end()}];
        is_new = !place.valid();
        if (is_new) place = task.get_future().share();
        found = place;
    }
    if (is_new) task();
    return found.get();
}

}  // namespace ptxgraft::search
