// What a stub may keep alive in a template's sites: for which tunables a manifest says it, and measuring it
// for others.

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "ptxgraft/template.hpp"
#include "template/manifest.hpp"

namespace ptxgraft {
namespace {

using templates::Formula;
using templates::Names;

// One value of one tunable, and of two.
std::vector<Choices> neighbours_of_usual(const std::vector<TemplateTunable>& tunables) {
    std::vector<Choices> all{{}};
    const auto add_to = [&](const Choices& one, const TemplateTunable& tunable) {
        for (const Choice& value : tunable.values) {
            if (value == tunable.usual) continue;
            all.push_back(one);
            all.back().emplace(tunable.name, value);
        }
    };
    for (const TemplateTunable& tunable : tunables) add_to({}, tunable);
    const std::vector<Choices> singles(all.begin() + 1, all.end());
    for (const Choices& single : singles)
        for (const TemplateTunable& tunable : tunables)
            if (tunable.name > single.begin()->first) add_to(single, tunable);
    return all;
}

Expected<std::int64_t> without_dimensions(const Template::Data& data, const Names& names,
                                          const Formula& formula) {
    std::string unknown;
    const auto value = TRY(names.value_if_known(formula, data.manifest, &unknown));
    if (value) return *value;
    return fail(
        Errc::dimension_invalid,
        fmt::format("the block of {} depends on {}: say how many threads it has", data.name, unknown));
}

// Threads and dynamic shared memory.
Expected<void> set_block(const Template::Data& data, const Choices& choices, SpareRegistersOptions& options) {
    Names names = templates::names_of(data, choices, options.graft.assemble.target);
    TRY(templates::add_derived(data, names));
    std::int64_t threads = 1;
    for (const Formula& extent : data.launch.block) threads *= TRY(without_dimensions(data, names, extent));
    options.threads_per_block = static_cast<std::uint32_t>(threads);
    if (data.launch.shared_bytes)
        options.dynamic_shared_bytes =
            static_cast<std::uint32_t>(TRY(without_dimensions(data, names, *data.launch.shared_bytes)));
    return {};
}

}  // namespace

Expected<Choices> Template::choices_with(std::string_view site) const {
    const auto said = std::ranges::find(data_->sites, site, &TemplateSite::name);
    if (said == data_->sites.end())
        return fail(Errc::site_unknown, fmt::format("{}, of {}", site, data_->name));
    if (said->copies.empty()) return Choices{};
    for (const Choices& choices : neighbours_of_usual(data_->tunables))
        if (copies(site, choices).value_or(0) != 0) return choices;
    return Choices{};
}

Expected<std::vector<SpareRegisters>> Template::measure_spare_registers(const Choices& choices,
                                                                        std::string_view target,
                                                                        SpareRegistersOptions options) const {
    CudaOptions cuda;
    cuda.cache = options.graft.cache;
    const Skeleton skeleton = TRY(this->skeleton(choices, target, cuda));
    options.graft.entry = entry();
    options.graft.assemble.target = skeleton.target();
    if (options.threads_per_block == 0) TRY(set_block(*data_, TRY(complete(choices, target)), options));
    return ptxgraft::measure_spare_registers(skeleton, options);
}

}  // namespace ptxgraft
