// Machine code and preparations in C.

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/graft_options.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

static_assert(PTXGRAFT_CACHE_LEVEL_memory == int(CacheLevel::memory) &&
              PTXGRAFT_CACHE_LEVEL_disk == int(CacheLevel::disk));

template <class Member> std::size_t count_of(const ptxgraft_machine_code* code, Member Cubin::*list) {
    return get(code, "code", std::size_t{0}, [&](const ptxgraft_machine_code& c) {
        return c.code.cubin ? ((*c.code.cubin).*list).size() : 0;
    });
}

// An element of a list of the cubin; without one there is none.
template <class T>
Expected<const T*> element(const ptxgraft_machine_code& code, std::vector<T> Cubin::*list, std::size_t index,
                           const char* what) {
    const Cubin* const cubin = code.code.cubin.get();
    TRY(capi::check_index(index, cubin != nullptr ? (cubin->*list).size() : 0, what));
    return &(cubin->*list)[index];
}

ptxgraft_function_info function_info(const FunctionUsage& f) {
    return {sizeof(ptxgraft_function_info),
            f.name.c_str(),
            f.is_entry,
            f.registers,
            f.spill_store_bytes,
            f.spill_load_bytes,
            f.stack_bytes,
            f.shared_bytes,
            f.barriers,
            f.code_bytes,
            f.constant_bytes,
            f.parameter_bytes};
}

ptxgraft_machine_code_info machine_code_info(const MachineCode& code) {
    ptxgraft_machine_code_info info = PTXGRAFT_MACHINE_CODE_INFO_INIT;
    info.assembler = info.log = "";
    info.suffix = code.suffix.c_str();
    info.from = static_cast<ptxgraft_cache_level>(code.from);
    info.render = code.times.render;
    info.assemble = code.times.assemble;
    info.link = code.times.link;
    info.load = code.times.load;
    if (!code.cubin) return info;
    info.assembler = code.cubin->assembler.c_str();
    info.log = code.cubin->log.c_str();
    info.constant_size = code.cubin->constant_bytes;
    info.assembly = code.cubin->assemble_ms;
    return info;
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_machine_code_create(ptxgraft_machine_code** code, const ptxgraft_skeleton* skeleton,
                                             const ptxgraft_graft_options* options) {
    return call({{code, "code"}, {skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto request = TRY(capi::GraftRequest::read(options));
        return capi::give(code, skeleton->skeleton.assemble(request.grafts, request.options()));
    });
}

ptxgraft_status ptxgraft_machine_code_create_from_kernel(ptxgraft_machine_code** code,
                                                         const ptxgraft_kernel* kernel) {
    return call({{code, "code"}, {kernel, "kernel"}},
                [&] { return capi::give(code, Expected<MachineCode>(kernel->kernel.machine_code())); });
}

void ptxgraft_machine_code_destroy(ptxgraft_machine_code* code) { delete code; }

ptxgraft_status ptxgraft_machine_code_get_image(void* bytes, size_t* size,
                                                const ptxgraft_machine_code* code) {
    return call({{size, "size"}, {code, "code"}},
                [&] { return capi::give_image(bytes, size, code->code.cubin.get()); });
}

ptxgraft_status ptxgraft_machine_code_get_info(ptxgraft_machine_code_info* info,
                                               const ptxgraft_machine_code* code) {
    return call({{info, "info"}, {code, "code"}},
                [&] { return capi::give_info(info, machine_code_info(code->code)); });
}

size_t ptxgraft_machine_code_get_function_count(const ptxgraft_machine_code* code) {
    return count_of(code, &Cubin::functions);
}

ptxgraft_status ptxgraft_machine_code_get_function(ptxgraft_function_info* info,
                                                   const ptxgraft_machine_code* code, size_t function) {
    return call({{info, "info"}, {code, "code"}}, [&]() -> Expected<void> {
        const auto found = TRY(element(*code, &Cubin::functions, function, "function"));
        return capi::give_info(info, function_info(*found));
    });
}

size_t ptxgraft_machine_code_get_route_count(const ptxgraft_machine_code* code) {
    return get(code, "code", size_t{0}, [](const ptxgraft_machine_code& c) { return c.code.routes.size(); });
}

ptxgraft_status ptxgraft_machine_code_get_route(ptxgraft_route_info* info, const ptxgraft_machine_code* code,
                                                size_t route) {
    return call({{info, "info"}, {code, "code"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(route, code->code.routes.size(), "route"));
        const RouteChoice& choice = code->code.routes[route];
        return capi::give_info(
            info, {sizeof(*info), choice.site.c_str(), capi::route_of(choice.route), choice.reason.c_str()});
    });
}

size_t ptxgraft_machine_code_get_bank_count(const ptxgraft_machine_code* code) {
    return get(code, "code", size_t{0}, [](const ptxgraft_machine_code& c) { return c.code.banks.size(); });
}

ptxgraft_status ptxgraft_machine_code_get_bank(ptxgraft_bank_info* info, const ptxgraft_machine_code* code,
                                               size_t bank) {
    return call({{info, "info"}, {code, "code"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(bank, code->code.banks.size(), "bank"));
        const ConstantBank& found = code->code.banks[bank];
        const auto constants = found.stub.constants();
        return capi::give_info(info, {sizeof(*info), found.site.c_str(), found.variable.c_str(),
                                      constants.data(), constants.size()});
    });
}

size_t ptxgraft_machine_code_get_loss_count(const ptxgraft_machine_code* code) {
    return count_of(code, &Cubin::losses);
}

ptxgraft_status ptxgraft_machine_code_get_loss(ptxgraft_loss_info* info, const ptxgraft_machine_code* code,
                                               size_t loss) {
    return call({{info, "info"}, {code, "code"}}, [&]() -> Expected<void> {
        const auto found = TRY(element(*code, &Cubin::losses, loss, "loss"));
        return capi::give_info(info, {sizeof(*info), found->code, found->message.c_str()});
    });
}

ptxgraft_status ptxgraft_skeleton_prepare(ptxgraft_preparation** preparation,
                                          const ptxgraft_skeleton* skeleton,
                                          const ptxgraft_graft_options* options) {
    return call({{skeleton, "skeleton"}}, [&]() -> Expected<void> {
        const auto request = TRY(capi::GraftRequest::read(options));
        auto prepared = TRY(skeleton->skeleton.prepare(request.options()));
        if (preparation != nullptr) *preparation = new ptxgraft_preparation{std::move(prepared)};
        return {};
    });
}

void ptxgraft_preparation_destroy(ptxgraft_preparation* preparation) { delete preparation; }

ptxgraft_status ptxgraft_preparation_get_info(ptxgraft_preparation_info* info,
                                              const ptxgraft_preparation* preparation) {
    return call({{info, "info"}, {preparation, "preparation"}}, [&] {
        const Preparation& p = preparation->preparation;
        return capi::give_info(info,
                               {sizeof(*info), p.whole, p.skeleton, p.stub, p.link, p.not_linkable.c_str()});
    });
}

}  // extern "C"
