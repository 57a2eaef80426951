// Stubs in C.

#include "base/try.hpp"
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

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_stub_create_from_program(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton,
                                                  const char* site, const char* program, size_t size) {
    return call({{stub, "stub"}, {skeleton, "skeleton"}, {site, "site"}, {program, "program"}},
                [&]() -> Expected<void> {
                    const auto text = TRY(capi::text_at(program, size));
                    return give_stub(stub, skeleton, site, [&](const Site& s) {
                        return capi::with_source(stack::compile(text, s), text, "program");
                    });
                });
}

ptxgraft_status ptxgraft_stub_create_from_ptx(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton,
                                              const char* site, const char* ptx, size_t size) {
    return call({{stub, "stub"}, {skeleton, "skeleton"}, {site, "site"}, {ptx, "ptx"}},
                [&]() -> Expected<void> {
                    const auto text = TRY(capi::text_at(ptx, size));
                    return give_stub(stub, skeleton, site, [&](const Site& s) {
                        return capi::with_source(Stub::from_ptx(text, s), text, "ptx");
                    });
                });
}

ptxgraft_status ptxgraft_stub_create_for_signature(ptxgraft_stub** stub, const char* signature,
                                                   const char* program, size_t size) {
    return call({{stub, "stub"}, {signature, "signature"}, {program, "program"}}, [&]() -> Expected<void> {
        const auto operands = TRY(capi::with_source(Signature::parse(signature), signature, "signature"));
        const auto text = TRY(capi::text_at(program, size));
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

}  // extern "C"
