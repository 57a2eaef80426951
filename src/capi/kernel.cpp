// Stubs, grafts and launches in C.

#include "ptxgraft/kernel.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

template <class Make>
Expected<void> give_stub(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton, const char* site,
                         Make&& make) {
    const auto found = TRY(skeleton->skeleton.find_site(site));
    return capi::give(stub, make(*found));
}

Expected<std::vector<Graft>> grafts_of(const ptxgraft_graft* grafts, std::size_t count,
                                       const char* count_name) {
    if (auto valid = capi::check_list(grafts, count, "grafts", count_name); !valid)
        return tl::unexpected(std::move(valid.error()));
    std::vector<Graft> result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [site, stub] = grafts[i];
        if (!site || !stub)
            return fail(Errc::argument_invalid,
                        fmt::format("grafts[{}].{} is null", i, site ? "stub" : "site"));
        result.push_back({site, stub->stub});
    }
    return result;
}

GraftOptions graft_options(const ptxgraft_graft_options& given) {
    GraftOptions options;
    if (given.entry) options.entry = given.entry;
    options.assemble.optimisation = static_cast<int>(given.optimisation);
    options.assemble.max_registers = given.max_registers;
    options.assemble.allow_performance_loss = given.allow_performance_loss != 0;
    options.assemble.line_info = given.line_info != 0;
    return options;
}

Expected<std::vector<Argument>> arguments_of(const ptxgraft_argument* arguments, std::size_t count) {
    if (auto valid = capi::check_list(arguments, count, "arguments", "count"); !valid)
        return tl::unexpected(std::move(valid.error()));
    std::vector<Argument> result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& [buffer, data, size] = arguments[i];
        if (!buffer == !data)
            return fail(Errc::argument_invalid,
                        fmt::format("arguments[{}] has {}; it is one of them", i,
                                    data ? "both buffer and data" : "neither buffer nor data"));
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
        .limits = {.instruction_budget = given.instruction_budget, .time_limit_ms = given.time_limit_ms}};
    if (given.should_stop != nullptr)
        config.limits.should_stop = [ask = given.should_stop, payload = given.payload] {
            return ask(payload) != 0;
        };
    return config;
}

Expected<const Cubin*> cubin_of(const ptxgraft_kernel& kernel) {
    if (const Cubin* cubin = kernel.kernel.cubin()) return cubin;
    return fail(Errc::machine_code_missing, std::string("the emulator runs the PTX itself"));
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_stub_create_from_program(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton,
                                                  const char* site, const char* program, size_t size) {
    return call({{stub, "stub"}, {skeleton, "skeleton"}, {site, "site"}, {program, "program"}}, [&] {
        const std::string_view text(program, size);
        return give_stub(stub, skeleton, site, [&](const Site& s) {
            return capi::with_source(stack::compile(text, s), text, "program");
        });
    });
}

ptxgraft_status ptxgraft_stub_create_from_ptx(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton,
                                              const char* site, const char* ptx, size_t size) {
    return call({{stub, "stub"}, {skeleton, "skeleton"}, {site, "site"}, {ptx, "ptx"}}, [&] {
        const std::string_view text(ptx, size);
        return give_stub(stub, skeleton, site, [&](const Site& s) {
            return capi::with_source(Stub::from_ptx(text, s), text, "ptx");
        });
    });
}

ptxgraft_status ptxgraft_stub_create_for_signature(ptxgraft_stub** stub, const char* signature,
                                                   const char* program, size_t size) {
    return call({{stub, "stub"}, {signature, "signature"}, {program, "program"}}, [&]() -> Expected<void> {
        const auto operands = TRY(capi::with_source(Signature::parse(signature), signature, "signature"));
        const std::string_view text(program, size);
        return capi::give(stub, capi::with_source(stack::compile(text, operands), text, "program"));
    });
}

void ptxgraft_stub_destroy(ptxgraft_stub* stub) { delete stub; }

ptxgraft_status ptxgraft_stub_get_ptx(char* text, size_t* size, const ptxgraft_stub* stub) {
    return call({{size, "size"}, {stub, "stub"}},
                [&] { return capi::give_text(text, size, stub->stub.ptx()); });
}

uint32_t ptxgraft_stub_get_instruction_count(const ptxgraft_stub* stub) {
    return get(stub, "stub", uint32_t{0}, [](const ptxgraft_stub& s) { return s.stub.instruction_count(); });
}

ptxgraft_status ptxgraft_skeleton_render(char* text, size_t* size, const ptxgraft_skeleton* skeleton,
                                         const ptxgraft_graft* grafts, size_t count) {
    return call({{size, "size"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto list = TRY(grafts_of(grafts, count, "count"));
        const auto ptx = TRY(skeleton->skeleton.render(list));
        return capi::give_text(text, size, ptx);
    });
}

ptxgraft_status ptxgraft_kernel_create(ptxgraft_kernel** kernel, const ptxgraft_skeleton* skeleton,
                                       const ptxgraft_device* device, const ptxgraft_graft_options* options) {
    return call({{kernel, "kernel"}, {skeleton, "skeleton"}, {device, "device"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        if (given.optimisation > 3)
            return fail(Errc::argument_invalid,
                        fmt::format("optimisation is {}; it is 0 to 3", given.optimisation));
        const auto grafts = TRY(grafts_of(given.grafts, given.graft_count, "graft_count"));
        return capi::give(kernel, skeleton->skeleton.graft(grafts, device->device, graft_options(given)));
    });
}

void ptxgraft_kernel_destroy(ptxgraft_kernel* kernel) { delete kernel; }

ptxgraft_status ptxgraft_kernel_get_ptx(char* text, size_t* size, const ptxgraft_kernel* kernel) {
    return call({{size, "size"}, {kernel, "kernel"}},
                [&] { return capi::give_text(text, size, kernel->kernel.ptx()); });
}

ptxgraft_status ptxgraft_kernel_get_cubin(void* bytes, size_t* size, const ptxgraft_kernel* kernel) {
    return call({{size, "size"}, {kernel, "kernel"}}, [&]() -> Expected<void> {
        const auto cubin = TRY(cubin_of(*kernel));
        return capi::give_bytes(bytes, size, cubin->image.data(), cubin->image.size());
    });
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

ptxgraft_status ptxgraft_kernel_get_times(ptxgraft_kernel_times* times, const ptxgraft_kernel* kernel) {
    return call({{times, "times"}, {kernel, "kernel"}}, [&] {
        const GraftTimes& t = kernel->kernel.times();
        return capi::give_info(times, {sizeof(*times), t.render, t.assemble, t.load});
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
        const auto list = TRY(arguments_of(arguments, count));
        const Stream* stream = given.stream ? &given.stream->stream : nullptr;
        return kernel->kernel.launch_with(launch_config(given), list, stream);
    });
}

}  // extern "C"
