// Stack machines in C, and how programs are compiled for them.

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "capi/stack_options.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

ptxgraft_machine::ptxgraft_machine(stack::Machine made) : machine(std::move(made)) {
    for (const SiteOperand& operand : machine.signature().operands)
        for (std::uint32_t element = 0; element < std::max(operand.count, 1u); ++element)
            registers.push_back({&operand, element});
}

namespace ptxgraft::capi {
namespace {

Expected<stack::CompileOptions> compile_options(const ptxgraft_compile_options& given) {
    TRY(check_enumerators({{"missing", given.missing, PTXGRAFT_MISSING_skip},
                           {"requests", given.requests, PTXGRAFT_REQUESTS_top},
                           {"empty", given.empty, PTXGRAFT_EMPTY_zero},
                           {"leftover", given.leftover, PTXGRAFT_LEFTOVER_error},
                           {"constants", given.constants, PTXGRAFT_CONSTANTS_data}}));
    if (given.most_depth > 256)
        return fail(Errc::argument_invalid,
                    fmt::format("most_depth is {}; it is at most 256", given.most_depth));
    stack::CompileOptions result{.missing = static_cast<stack::Missing>(given.missing),
                                 .requests = static_cast<stack::Requests>(given.requests),
                                 .empty = static_cast<stack::Empty>(given.empty),
                                 .leftover = static_cast<stack::Leftover>(given.leftover),
                                 .reuse = given.reuse != 0,
                                 .fold = given.fold != 0,
                                 .hash = given.hash != 0,
                                 .constants = static_cast<stack::Constants>(given.constants)};
    if (given.most_steps != 0) result.limits.steps = given.most_steps;
    if (given.most_depth != 0) result.limits.depth = given.most_depth;
    return result;
}

}  // namespace

Expected<stack::CompileOptions> strict_options(const ptxgraft_compile_options* given) {
    const auto options = TRY(options_of(given));
    return compile_options(options);
}

Expected<stack::CompileOptions> mutated_options(const ptxgraft_compile_options* given) {
    if (given == nullptr) return stack::mutated;
    return strict_options(given);
}

Expected<Effect> effects_of(std::uint32_t bits) {
    if ((bits & ~static_cast<std::uint32_t>(Effect::all)) != 0)
        return fail(Errc::argument_invalid, fmt::format("allowed is {:#x}; the effects are the bits of {:#x}",
                                                        bits, static_cast<std::uint32_t>(Effect::all)));
    return static_cast<Effect>(bits);
}

}  // namespace ptxgraft::capi

namespace {

static_assert(PTXGRAFT_OPCODE_end == int(stack::Opcode::end) &&
              PTXGRAFT_OPCODE_pooled == int(stack::Opcode::pooled) &&
              PTXGRAFT_OPCODE_replace == int(stack::Opcode::replace) &&
              PTXGRAFT_OPCODE_if == int(stack::Opcode::if_));

Expected<void> give_machine(ptxgraft_machine** out, const ptxgraft_set* set, const Signature& signature,
                            Policy policy, const ptxgraft_machine_options* options) {
    const auto given = TRY(capi::options_of(options));
    stack::MachineOptions how;
    const Effect allowed = TRY(capi::effects_of(given.allowed));
    policy.allowed = policy.allowed | allowed;
    how.policy = policy;
    if (given.target != nullptr) how.target = TRY(parse_architecture(given.target));
    if (given.ptx_version > UINT16_MAX)
        return fail(Errc::argument_invalid, fmt::format("ptx_version is {}", given.ptx_version));
    how.ptx_version = static_cast<std::uint16_t>(given.ptx_version);
    auto machine =
        TRY(stack::Machine::make(set != nullptr ? set->set : stack::find_set("standard"), signature, how));
    *out = new ptxgraft_machine(std::move(machine));
    return {};
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_machine_create(ptxgraft_machine** machine, const ptxgraft_set* set,
                                        const char* signature, const ptxgraft_machine_options* options) {
    return call({{machine, "machine"}, {signature, "signature"}}, [&]() -> Expected<void> {
        const auto operands = TRY(capi::with_source(Signature::parse(signature), signature, "signature"));
        return give_machine(machine, set, operands, {}, options);
    });
}

ptxgraft_status ptxgraft_machine_create_for_site(ptxgraft_machine** machine, const ptxgraft_set* set,
                                                 const ptxgraft_skeleton* skeleton, const char* site,
                                                 const ptxgraft_machine_options* options) {
    return call({{machine, "machine"}, {skeleton, "skeleton"}, {site, "site"}}, [&]() -> Expected<void> {
        const auto found = TRY(skeleton->skeleton.find_site(site));
        return give_machine(machine, set, found->signature, found->policy, options);
    });
}

void ptxgraft_machine_destroy(ptxgraft_machine* machine) { delete machine; }

uint64_t ptxgraft_machine_get_hash(const ptxgraft_machine* machine) {
    return get(machine, "machine", uint64_t{0}, [](const ptxgraft_machine& m) {
        std::call_once(m.hashed, [&] { m.hash = stack::machine_hash(m.machine); });
        return m.hash;
    });
}

ptxgraft_status ptxgraft_machine_get_signature(char* text, size_t* size, const ptxgraft_machine* machine) {
    return call({{size, "size"}, {machine, "machine"}},
                [&] { return capi::give_text(text, size, machine->machine.signature().text()); });
}

ptxgraft_status ptxgraft_set_create_from_machine(ptxgraft_set** set, const ptxgraft_machine* machine) {
    return call({{set, "set"}, {machine, "machine"}}, [&]() -> Expected<void> {
        const auto held = std::make_shared<const stack::Machine>(machine->machine);  // which holds its set
        *set = new ptxgraft_set{std::shared_ptr<const stack::InstructionSet>(held, &held->set())};
        return {};
    });
}

size_t ptxgraft_machine_get_register_count(const ptxgraft_machine* machine) {
    return get(machine, "machine", size_t{0}, [](const ptxgraft_machine& m) { return m.registers.size(); });
}

ptxgraft_status ptxgraft_machine_get_register(ptxgraft_register_info* info, const ptxgraft_machine* machine,
                                              size_t index) {
    return call({{info, "info"}, {machine, "machine"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(index, machine->registers.size(), "register"));
        const auto& [operand, element] = machine->registers[index];
        return capi::give_info(
            info,
            {sizeof(*info), operand->name.c_str(), element, static_cast<ptxgraft_type>(operand->type),
             static_cast<ptxgraft_direction>(operand->direction), std::max(bits(operand->type) / 8, 1u)});
    });
}

}  // extern "C"
