// Texts of grafts, kernels and launches in C.

#include "ptxgraft/kernel.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include "capi/boundary.hpp"
#include "capi/graft_options.hpp"
#include "capi/launch_options.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

static_assert(PTXGRAFT_FUNCTION_HANDLE_function == int(FunctionHandle::function) &&
              PTXGRAFT_FUNCTION_HANDLE_kernel == int(FunctionHandle::kernel));

extern "C" {

ptxgraft_status ptxgraft_skeleton_render(char* text, size_t* size, const ptxgraft_skeleton* skeleton,
                                         const ptxgraft_graft* grafts, size_t count) {
    return call({{size, "size"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto list = TRY(capi::read_grafts(grafts, count, "count"));
        const auto ptx = TRY(skeleton->skeleton.render(list));
        return capi::give_text(text, size, ptx);
    });
}

ptxgraft_status ptxgraft_skeleton_render_with_options(char* text, size_t* size,
                                                      const ptxgraft_skeleton* skeleton,
                                                      const ptxgraft_graft_options* options) {
    return call({{size, "size"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto request = TRY(capi::GraftRequest::read(options));
        const auto rendered = TRY(skeleton->skeleton.render_by(request.grafts, request.options().routes));
        return capi::give_text(text, size, rendered.ptx);
    });
}

ptxgraft_status ptxgraft_kernel_create(ptxgraft_kernel** kernel, const ptxgraft_skeleton* skeleton,
                                       const ptxgraft_device* device, const ptxgraft_graft_options* options) {
    return call({{kernel, "kernel"}, {skeleton, "skeleton"}, {device, "device"}}, [&]() -> Expected<void> {
        const auto request = TRY(capi::GraftRequest::read(options));
        TRY(capi::check_loadable(request.options()));
        return capi::give(kernel,
                          skeleton->skeleton.graft(request.grafts, device->device, request.options()));
    });
}

ptxgraft_status ptxgraft_kernel_create_borrowed(ptxgraft_kernel** kernel, const ptxgraft_device* device,
                                                ptxgraft_function_handle kind, uint64_t handle) {
    return call({{kernel, "kernel"}, {device, "device"}}, [&]() -> Expected<void> {
        TRY(capi::check_enumerators({{"kind", kind, PTXGRAFT_FUNCTION_HANDLE_kernel}}));
        return capi::give(kernel, Kernel::borrow(device->device, static_cast<FunctionHandle>(kind), handle));
    });
}

void ptxgraft_kernel_destroy(ptxgraft_kernel* kernel) { delete kernel; }

ptxgraft_status ptxgraft_kernel_get_ptx(char* text, size_t* size, const ptxgraft_kernel* kernel) {
    return call({{size, "size"}, {kernel, "kernel"}},
                [&] { return capi::give_text(text, size, kernel->kernel.ptx()); });
}

ptxgraft_status ptxgraft_kernel_get_cubin(void* bytes, size_t* size, const ptxgraft_kernel* kernel) {
    return call({{size, "size"}, {kernel, "kernel"}},
                [&] { return capi::give_image(bytes, size, kernel->kernel.cubin()); });
}

const char* ptxgraft_kernel_get_assembler(const ptxgraft_kernel* kernel) {
    return get(kernel, "kernel", "", [](const ptxgraft_kernel& k) {
        return k.kernel.cubin() ? k.kernel.cubin()->assembler.c_str() : "";
    });
}

const char* ptxgraft_kernel_get_entry(const ptxgraft_kernel* kernel) {
    return get(kernel, "kernel", "", [](const ptxgraft_kernel& k) { return k.entry.c_str(); });
}

ptxgraft_status ptxgraft_buffer_create_from_variable(ptxgraft_buffer** buffer, const ptxgraft_kernel* kernel,
                                                     const char* name) {
    return call({{buffer, "buffer"}, {kernel, "kernel"}, {name, "name"}},
                [&] { return capi::give(buffer, kernel->kernel.function().variable(name)); });
}

ptxgraft_status ptxgraft_kernel_set_constants(const ptxgraft_kernel* kernel, const char* site,
                                              const uint64_t* constants, size_t count,
                                              const ptxgraft_stream* stream) {
    return call({{kernel, "kernel"}, {site, "site"}}, [&]() -> Expected<void> {
        TRY(capi::check_list(constants, count, "constants", "count"));
        return kernel->kernel.set_constants(site, std::span(constants, count),
                                            stream != nullptr ? &stream->stream : nullptr);
    });
}

ptxgraft_status ptxgraft_kernel_get_times(ptxgraft_kernel_times* times, const ptxgraft_kernel* kernel) {
    return call({{times, "times"}, {kernel, "kernel"}}, [&] {
        const GraftTimes& t = kernel->kernel.times();
        return capi::give_info(times, {sizeof(*times), t.render, t.assemble, t.load, t.link});
    });
}

ptxgraft_status ptxgraft_kernel_get_attributes(ptxgraft_kernel_attributes* attributes,
                                               const ptxgraft_kernel* kernel) {
    return call({{attributes, "attributes"}, {kernel, "kernel"}}, [&]() -> Expected<void> {
        const FunctionAttributes a = TRY(kernel->kernel.function().attributes());
        return capi::give_info(attributes, {sizeof(*attributes), a.registers, a.local_bytes,
                                            a.static_shared_bytes, a.most_dynamic_shared_bytes, a.const_bytes,
                                            a.threads_per_block, a.binary_version, a.ptx_version});
    });
}

size_t ptxgraft_kernel_get_parameter_count(const ptxgraft_kernel* kernel) {
    return get(kernel, "kernel", size_t{0},
               [](const ptxgraft_kernel& k) { return k.kernel.function().parameters().size(); });
}

ptxgraft_status ptxgraft_kernel_get_parameter(ptxgraft_parameter_info* info, const ptxgraft_kernel* kernel,
                                              size_t parameter) {
    return call({{info, "info"}, {kernel, "kernel"}}, [&]() -> Expected<void> {
        const auto& parameters = kernel->kernel.function().parameters();
        if (auto valid = capi::check_index(parameter, parameters.size(), "parameter"); !valid) return valid;
        const ParameterInfo& p = parameters[parameter];
        return capi::give_info(info, {sizeof(*info), p.name.c_str(), p.type.c_str(), p.bytes});
    });
}

ptxgraft_status ptxgraft_kernel_launch(const ptxgraft_kernel* kernel, const ptxgraft_launch_options* options,
                                       const ptxgraft_argument* arguments, size_t count) {
    return call({{kernel, "kernel"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        const auto list = TRY(capi::arguments_of(arguments, count));
        const Stream* stream = given.stream ? &given.stream->stream : nullptr;
        return kernel->kernel.launch_with(capi::launch_config(given), list, stream);
    });
}

ptxgraft_status ptxgraft_kernel_get_occupancy(uint32_t* blocks, const ptxgraft_kernel* kernel,
                                              uint32_t block_threads, uint32_t shared_size) {
    return call({{blocks, "blocks"}, {kernel, "kernel"}}, [&]() -> Expected<void> {
        const auto found =
            TRY(kernel->kernel.function().blocks_per_multiprocessor(block_threads, shared_size));
        *blocks = found;
        return {};
    });
}

ptxgraft_status ptxgraft_kernel_get_active_clusters(uint32_t* clusters, const ptxgraft_kernel* kernel,
                                                    const ptxgraft_launch_options* options) {
    return call({{clusters, "clusters"}, {kernel, "kernel"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        const auto found = TRY(kernel->kernel.function().active_clusters(capi::launch_config(given)));
        *clusters = found;
        return {};
    });
}

ptxgraft_status ptxgraft_kernel_set_shared_percent(const ptxgraft_kernel* kernel, int32_t percent) {
    return call({{kernel, "kernel"}},
                [&] { return kernel->kernel.function().prefer_shared_memory(percent); });
}

}  // extern "C"
