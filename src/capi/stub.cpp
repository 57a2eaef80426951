// Stubs in C.

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/stack_options.hpp"

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

Expected<Stub> stub_of(const ptxgraft_stub_options& given, std::string_view text, const Signature& signature,
                       Policy policy) {
    const auto expression = TRY(capi::expression_options(given));
    switch (given.language) {
        case PTXGRAFT_LANGUAGE_ptx: return Stub::from_ptx(text, signature, policy);
        case PTXGRAFT_LANGUAGE_expression: return compile_expression(text, signature, expression, policy);
        default: break;
    }
    const auto leftover = given.leftovers_are_errors != 0 ? stack::Leftover::error : stack::Leftover::allow;
    return stack::compile(
        text, signature, {.compile = {.leftover = leftover, .hash = true, .constants = expression.constants}},
        policy);
}

const char* name_of(ptxgraft_language language) {
    constexpr const char* names[] = {"program", "expression", "ptx"};
    return names[language];
}

// Runs work(options, text).
template <class Work> Expected<void> with_text(const ptxgraft_stub_options* options, Work work) {
    const auto given = TRY(capi::options_of(options));
    TRY(capi::check_enumerators({{"language", given.language, PTXGRAFT_LANGUAGE_ptx},
                                 {"constants", given.constants, PTXGRAFT_CONSTANTS_data}}));
    TRY(capi::check_required({{given.text, "text"}}));
    const auto text = TRY(capi::text_at(given.text, given.text_size));
    return work(given, text);
}

}  // namespace

Expected<ExpressionOptions> capi::expression_options(const ptxgraft_stub_options& given) {
    TRY(check_enumerators({{"constants", given.constants, PTXGRAFT_CONSTANTS_data}}));
    return ExpressionOptions{.contract = given.contract != 0,
                             .approx = given.approximate != 0,
                             .ftz = given.flush_subnormals != 0,
                             .constants = static_cast<stack::Constants>(given.constants),
                             .hash = true};
}

extern "C" {

ptxgraft_status ptxgraft_stub_create(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton,
                                     const char* site, const ptxgraft_stub_options* options) {
    return call({{stub, "stub"}, {skeleton, "skeleton"}, {site, "site"}, {options, "options"}}, [&] {
        return with_text(options, [&](const auto& given, std::string_view text) {
            return give_stub(stub, skeleton, site, [&](const Site& s) {
                return capi::with_source(stub_of(given, text, s.signature, s.policy), text,
                                         name_of(given.language));
            });
        });
    });
}

ptxgraft_status ptxgraft_stub_create_for_signature_with_options(ptxgraft_stub** stub, const char* signature,
                                                                uint32_t allowed,
                                                                const ptxgraft_stub_options* options) {
    return call({{stub, "stub"}, {signature, "signature"}, {options, "options"}}, [&]() -> Expected<void> {
        const auto operands = TRY(capi::with_source(Signature::parse(signature), signature, "signature"));
        const Effect effects = TRY(capi::effects_of(allowed));
        const Policy policy{.allowed = effects};
        return with_text(options, [&](const auto& given, std::string_view text) {
            return capi::give(stub, capi::with_source(stub_of(given, text, operands, policy), text,
                                                      name_of(given.language)));
        });
    });
}

ptxgraft_status ptxgraft_stub_get_constants(uint64_t* constants, size_t* count, const ptxgraft_stub* stub) {
    return call({{count, "count"}, {stub, "stub"}},
                [&] { return capi::give_list(constants, count, stub->stub.constants()); });
}

ptxgraft_status ptxgraft_stub_create_with_constants(ptxgraft_stub** stub, const ptxgraft_stub* original,
                                                    const uint64_t* constants, size_t count) {
    return call({{stub, "stub"}, {original, "original"}}, [&]() -> Expected<void> {
        TRY(capi::check_list(constants, count, "constants", "count"));
        return capi::give(stub, original->stub.with_constants({constants, count}));
    });
}

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

ptxgraft_status ptxgraft_stub_get_signature(char* text, size_t* size, const ptxgraft_stub* stub) {
    return call({{size, "size"}, {stub, "stub"}},
                [&] { return capi::give_text(text, size, stub->stub.signature().text()); });
}

ptxgraft_status ptxgraft_stub_get_info(ptxgraft_stub_info* info, const ptxgraft_stub* stub) {
    return call({{info, "info"}, {stub, "stub"}}, [&] {
        const Stub& s = stub->stub;
        const DataflowParts parts = s.dataflow_parts();
        return capi::give_info(info,
                               {sizeof(*info), s.instruction_count(), static_cast<std::uint32_t>(s.effects()),
                                s.constants().size(), s.dataflow_hash(), parts.structure, parts.constants});
    });
}

uint32_t ptxgraft_stub_get_instruction_count(const ptxgraft_stub* stub) {
    return get(stub, "stub", uint32_t{0}, [](const ptxgraft_stub& s) { return s.stub.instruction_count(); });
}

}  // extern "C"
