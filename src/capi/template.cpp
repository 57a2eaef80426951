// Templates in C: what there are, launches of them, trials.

#include <fmt/format.h>

#include <span>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/graft_options.hpp"
#include "capi/named.hpp"
#include "capi/objects.hpp"
#include "capi/texts.hpp"
#include "ptxgraft/template_json.hpp"

using namespace ptxgraft;
using capi::call;

struct ptxgraft_template {
    explicit ptxgraft_template(Template found) : from(std::move(found)) {}
    Template from;
    capi::Texts texts = {};
};

struct ptxgraft_plan {
    TemplateLaunch launch;
};

struct ptxgraft_spare_registers {
    std::vector<SpareRegisters> sites;
};

namespace {

static_assert(PTXGRAFT_ACCESS_scratch == int(TensorAccess::scratch) &&
              PTXGRAFT_ACCESS_modified == int(TensorAccess::modified));

std::string folder_of(const char* folder) { return folder != nullptr ? folder : ""; }

Expected<TemplateLaunch> launch_of(const Template& from, const ptxgraft_plan_options& given) {
    const auto dimensions = TRY(capi::dimensions_of(given.dimensions));
    const auto choices = TRY(capi::choices_of(given.tunables));
    const auto numbers = TRY(capi::numbers_of(given.numbers));
    auto launch = TRY(given.is_reference != 0 ? from.reference_launch(dimensions, choices)
                                              : from.launch(dimensions, choices, given.multiprocessors));
    for (const auto& [name, value] : numbers) TRY(launch.set(name, value));
    return launch;
}

Expected<TrialOptions> trial_options(const ptxgraft_trial_options& given) {
    TrialOptions result;
    result.dimensions = TRY(capi::dimensions_of(given.dimensions));
    result.choices = TRY(capi::choices_of(given.tunables));
    result.numbers = TRY(capi::numbers_of(given.numbers));
    if (given.target != nullptr) result.target = given.target;
    result.grafts = TRY(capi::read_grafts(given.grafts, given.graft_count, "graft_count"));
    TRY(capi::copy_strings(result.null, given.null_tensors, given.null_tensor_count, "null_tensors",
                           "null_tensor_count"));
    result.seed = given.seed;
    result.repeats = given.repeats;
    if (given.cache != nullptr) result.cuda.cache = result.graft.cache = &given.cache->cache;
    return result;
}

Expected<SpareRegistersOptions> spare_options(const ptxgraft_spare_registers_options& given) {
    SpareRegistersOptions result;
    TRY(capi::copy_strings(result.sites, given.sites, given.site_count, "sites", "site_count"));
    if (given.target != nullptr) result.graft.assemble.target = given.target;
    if (given.entry != nullptr) result.graft.entry = given.entry;
    result.threads_per_block = given.threads_per_block;
    result.dynamic_shared_bytes = given.dynamic_shared_size;
    result.most = given.most;
    result.first = given.first;
    if (given.cache != nullptr) result.graft.cache = &given.cache->cache;
    return result;
}

Expected<ptxgraft_spare_registers> as_measured(Expected<std::vector<SpareRegisters>> sites) {
    if (!sites) return tl::unexpected(std::move(sites).error());
    return ptxgraft_spare_registers{std::move(*sites)};
}

ptxgraft_trial_info info_of(const ptxgraft_template& from, const Trial& trial) {
    ptxgraft_trial_info info{sizeof(info),
                             from.texts.keep(trial.worst_tensor),
                             trial.worst_index,
                             trial.worst,
                             trial.got,
                             trial.wanted,
                             trial.allowed,
                             trial.largest_error,
                             trial.wrong,
                             trial.elements,
                             trial.milliseconds.value_or(0),
                             trial.is_right,
                             0,
                             0,
                             0};
    if (!trial.machine_code.cubin) return info;
    for (const FunctionUsage& f : trial.machine_code.cubin->functions)
        if (f.name == from.from.entry()) {
            info.registers = f.registers;
            info.spill_size = f.spill_store_bytes + f.spill_load_bytes;
            info.stack_size = f.stack_bytes;
        }
    return info;
}

void copy(std::uint32_t (&to)[3], const Dim3& dim) { to[0] = dim.x, to[1] = dim.y, to[2] = dim.z; }

Expected<const TemplateTensor*> tensor_at(const ptxgraft_plan& plan, std::size_t index) {
    TRY(capi::check_index(index, plan.launch.tensors.size(), "tensor"));
    return &plan.launch.tensors[index];
}

// A template's own kernel or its reference, whichever `make` makes.
Expected<void> give_kernel(ptxgraft_skeleton** skeleton, const Template& from,
                           decltype(&Template::skeleton) make, const char* tunables,
                           const ptxgraft_cuda_options* options) {
    const auto choices = TRY(capi::choices_of(tunables));
    const auto cuda = TRY(capi::cuda_options(options));
    const auto target = TRY(capi::target_of(options));
    return capi::give_skeleton(skeleton, (from.*make)(choices, target, cuda));
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_library_get_template_names(char* text, size_t* size, const char* folder) {
    return call({{size, "size"}}, [&]() -> Expected<void> {
        const auto all = TRY(Template::all(folder_of(folder)));
        std::string names;
        for (const Template& one : all) names += one.name() + "\n";
        return capi::give_text(text, size, names);
    });
}

ptxgraft_status ptxgraft_template_open(ptxgraft_template** opened, const char* name, const char* folder) {
    return call({{opened, "opened"}, {name, "name"}}, [&]() -> Expected<void> {
        auto found = TRY(Template::find(name, folder_of(folder)));
        *opened = new ptxgraft_template(std::move(found));
        return {};
    });
}

void ptxgraft_template_destroy(ptxgraft_template* opened) { delete opened; }

ptxgraft_status ptxgraft_template_get_description(char* text, size_t* size, const ptxgraft_template* from) {
    return call({{size, "size"}, {from, "from"}},
                [&] { return capi::give_text(text, size, json_text(from->from)); });
}

ptxgraft_status ptxgraft_template_get_tunables(char* text, size_t* size, const ptxgraft_template* from,
                                               const char* tunables) {
    return call({{size, "size"}, {from, "from"}}, [&]() -> Expected<void> {
        const auto choices = TRY(capi::choices_of(tunables));
        const auto complete = TRY(from->from.complete(choices));
        return capi::give_text(text, size, capi::to_text(complete));
    });
}

ptxgraft_status ptxgraft_template_get_combinations(char* text, size_t* size, const ptxgraft_template* from) {
    return call({{size, "size"}, {from, "from"}}, [&] {
        std::string lines;
        for (const Choices& choices : from->from.combinations()) lines += capi::to_text(choices) + "\n";
        return capi::give_text(text, size, lines);
    });
}

ptxgraft_status ptxgraft_template_get_tolerance(double* relative, double* absolute,
                                                const ptxgraft_template* from, const char* dimensions,
                                                const char* tunables) {
    return call({{relative, "relative"}, {absolute, "absolute"}, {from, "from"}}, [&]() -> Expected<void> {
        const auto of = TRY(capi::dimensions_of(dimensions));
        const auto choices = TRY(capi::choices_of(tunables));
        const auto tolerance = TRY(from->from.tolerance(of, choices));
        *relative = tolerance.relative;
        *absolute = tolerance.absolute;
        return {};
    });
}

ptxgraft_status ptxgraft_skeleton_create_of_template(ptxgraft_skeleton** skeleton,
                                                     const ptxgraft_template* from, const char* tunables,
                                                     const ptxgraft_cuda_options* options) {
    return call({{skeleton, "skeleton"}, {from, "from"}},
                [&] { return give_kernel(skeleton, from->from, &Template::skeleton, tunables, options); });
}

ptxgraft_status ptxgraft_skeleton_create_of_reference(ptxgraft_skeleton** skeleton,
                                                      const ptxgraft_template* from, const char* tunables,
                                                      const ptxgraft_cuda_options* options) {
    return call({{skeleton, "skeleton"}, {from, "from"}},
                [&] { return give_kernel(skeleton, from->from, &Template::reference, tunables, options); });
}

ptxgraft_status ptxgraft_plan_create(ptxgraft_plan** plan, const ptxgraft_template* from,
                                     const ptxgraft_plan_options* options) {
    return call({{plan, "plan"}, {from, "from"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        return capi::give(plan, launch_of(from->from, given));
    });
}

void ptxgraft_plan_destroy(ptxgraft_plan* plan) { delete plan; }

ptxgraft_status ptxgraft_plan_get_info(ptxgraft_plan_info* info, const ptxgraft_plan* plan) {
    return call({{info, "info"}, {plan, "plan"}}, [&] {
        const TemplateLaunch& launch = plan->launch;
        ptxgraft_plan_info made = PTXGRAFT_PLAN_INFO_INIT;
        made.entry = launch.entry.c_str();
        made.tensor_count = launch.tensors.size();
        made.parameter_count = launch.parameters.size();
        copy(made.grid, launch.config.grid);
        copy(made.block, launch.config.block);
        copy(made.cluster, launch.config.cluster);
        made.shared_size = launch.config.shared_bytes;
        return capi::give_info(info, made);
    });
}

ptxgraft_status ptxgraft_plan_get_tensor(ptxgraft_tensor_info* info, const ptxgraft_plan* plan,
                                         size_t tensor) {
    return call({{info, "info"}, {plan, "plan"}}, [&]() -> Expected<void> {
        const auto found = TRY(tensor_at(*plan, tensor));
        const TemplateTensor& t = *found;
        return capi::give_info(
            info, {sizeof(*info), t.name.c_str(), t.type.c_str(), t.shape.data(), t.shape.size(), t.bytes,
                   t.low, t.high, static_cast<ptxgraft_access>(t.access), t.nullable, t.is_places, t.zeroed});
    });
}

ptxgraft_status ptxgraft_plan_get_random(void* bytes, size_t* size, const ptxgraft_plan* plan, size_t tensor,
                                         uint64_t seed) {
    return call({{size, "size"}, {plan, "plan"}}, [&]() -> Expected<void> {
        const auto found = TRY(tensor_at(*plan, tensor));
        if (bytes == nullptr) {
            *size = found->bytes;
            return {};
        }
        const auto values = random_bytes(*found, seed);
        return capi::give_bytes(bytes, size, values.data(), values.size());
    });
}

ptxgraft_status ptxgraft_plan_launch(const ptxgraft_plan* plan, const ptxgraft_kernel* kernel,
                                     const ptxgraft_buffer* const* buffers, size_t count,
                                     const ptxgraft_stream* stream) {
    return call({{plan, "plan"}, {kernel, "kernel"}}, [&]() -> Expected<void> {
        TRY(capi::check_list(buffers, count, "buffers", "count"));
        std::vector<const Buffer*> all;
        for (std::size_t i = 0; i < count; ++i)
            all.push_back(buffers[i] != nullptr ? &buffers[i]->buffer : nullptr);
        const auto arguments = TRY(plan->launch.arguments(std::span<const Buffer* const>(all)));
        return kernel->kernel.launch_with(plan->launch.config, arguments,
                                          stream != nullptr ? &stream->stream : nullptr);
    });
}

ptxgraft_status ptxgraft_template_try(ptxgraft_trial_info* info, const ptxgraft_template* from,
                                      const ptxgraft_device* device, const ptxgraft_trial_options* options) {
    return call({{info, "info"}, {from, "from"}, {device, "device"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(info));
        const auto given = TRY(capi::options_of(options));
        const auto how = TRY(trial_options(given));
        const auto trial = TRY(try_template(from->from, device->device, how));
        return capi::give_info(info, info_of(*from, trial));
    });
}

ptxgraft_status ptxgraft_spare_registers_create_of_template(ptxgraft_spare_registers** measured,
                                                            const ptxgraft_template* from,
                                                            const char* tunables,
                                                            const ptxgraft_spare_registers_options* options) {
    return call({{measured, "measured"}, {from, "from"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        const auto choices = TRY(capi::choices_of(tunables));
        const auto how = TRY(spare_options(given));
        return capi::give(measured, as_measured(from->from.measure_spare_registers(
                                        choices, how.graft.assemble.target, how)));
    });
}

ptxgraft_status ptxgraft_spare_registers_create_of_skeleton(ptxgraft_spare_registers** measured,
                                                            const ptxgraft_skeleton* skeleton,
                                                            const ptxgraft_spare_registers_options* options) {
    return call({{measured, "measured"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        const auto how = TRY(spare_options(given));
        return capi::give(measured, as_measured(measure_spare_registers(skeleton->skeleton, how)));
    });
}

void ptxgraft_spare_registers_destroy(ptxgraft_spare_registers* measured) { delete measured; }

ptxgraft_status ptxgraft_spare_registers_get_count(size_t* count, const ptxgraft_spare_registers* measured) {
    return call({{count, "count"}, {measured, "measured"}}, [&] {
        *count = measured->sites.size();
        return Expected<void>();
    });
}

ptxgraft_status ptxgraft_spare_registers_get_site(ptxgraft_spare_registers_info* info,
                                                  const ptxgraft_spare_registers* measured, size_t site) {
    return call({{info, "info"}, {measured, "measured"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(site, measured->sites.size(), "site"));
        const SpareRegisters& found = measured->sites[site];
        return capi::give_info(info,
                               {sizeof(*info), found.site.c_str(), found.loss.c_str(), found.registers, 0});
    });
}

}  // extern "C"
