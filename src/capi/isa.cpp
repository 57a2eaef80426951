// The table of PTX instructions in C.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "ptxgraft/isa.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

struct ptxgraft_forms {
    std::vector<isa::Form> forms;
    std::vector<std::vector<std::string>> types = {};  // of the operands, zero-terminated
};

namespace {

Expected<std::uint16_t> version_of(std::uint32_t version) {
    if (version <= 999) return static_cast<std::uint16_t>(version);
    return fail(Errc::argument_invalid, fmt::format("ptx_version is {}; PTX ISA 9.0 is 90", version));
}

Expected<Architecture> target_of(const char* target) {
    if (target == nullptr) return Architecture();
    return parse_architecture(target);
}

// What is wrong with operands, which are not there.
bool is_about_operands(Errc code) {
    switch (code) {
        case Errc::operand_count_wrong:
        case Errc::operand_type_wrong:
        case Errc::operand_kind_wrong: return true;
        default: return false;
    }
}

// The text is one instruction of this name, and nothing more.
Expected<void> check_one_name(const syntax::Module& module, std::string_view name) {
    std::size_t statements = 0;
    bool is_name = false;
    for (const syntax::Statement s : module.find_function("k").walk()) {
        ++statements;
        const auto instruction = s.instruction();
        is_name = instruction && instruction->name == name && instruction->operands.empty();
    }
    if (statements == 1 && is_name) return {};
    return fail(Errc::argument_invalid,
                fmt::format("name is '{}'; it is an opcode and its modifiers in one word", name));
}

// Of no target and of no version where these are not said: nothing is looked at that depends on them.
std::string head_of(std::string_view target, std::uint16_t version) {
    std::string head;
    if (version != 0) head += fmt::format(".version {}.{}\n", version / 10, version % 10);
    if (!target.empty()) head += fmt::format(".target {}\n", target);
    return head + ".entry k()\n{\n";
}

// An error with its place in the name, which begins there; without one where it is in the head.
Error in_name(Error error, std::uint32_t begin) {
    if (!error.span.known()) return error;
    const bool is_in_head = error.span.begin < begin;
    error.span = is_in_head ? Span{} : Span{error.span.begin - begin, error.span.end - begin};
    return error;
}

// What verify says of an instruction alone: the first of what is in its name, whose place it has; else what
// is wrong with version and target, which has none.
Expected<void> verify_name_for(std::string_view name, std::string_view target, std::uint16_t version) {
    const std::string head = head_of(target, version);
    const auto begin = static_cast<std::uint32_t>(head.size());
    const auto module = syntax::parse(fmt::format("{}{};\n}}\n", head, name));
    if (!module) return tl::unexpected(in_name(module.error(), begin));
    TRY(check_one_name(*module, name));
    std::optional<Error> of_head;
    for (const Error& error : isa::verify(*module)) {
        if (is_about_operands(error.code)) continue;
        if (error.span.known() && error.span.begin >= begin) return tl::unexpected(in_name(error, begin));
        if (error.code == Errc::directive_invalid) continue;  // a line of the head that is not said
        if (!of_head) of_head = in_name(error, begin);
    }
    if (of_head) return tl::unexpected(std::move(*of_head));
    return {};
}

// Of any target: of one version each generation is asked.
Expected<void> verify_name(std::string_view name, std::string_view target, std::uint16_t version) {
    if (!target.empty() || version == 0) return verify_name_for(name, target, version);
    Expected<void> first;
    for (const char* const one : {"sm_100a", "sm_110a", "sm_120a", "sm_90a", "sm_90", "sm_89", "sm_80",
                                  "sm_75", "sm_70", "sm_60", "sm_30", "sm_20", "sm_10"}) {
        auto done = verify_name_for(name, one, version);
        if (done) return done;
        if (first) first = std::move(done);
    }
    return first;
}

void give_types(ptxgraft_forms& made) {
    for (const isa::Form& form : made.forms) {
        auto& types = made.types.emplace_back();
        for (const isa::OperandSpec& o : form.operands)
            types.emplace_back(syntax::row(o.type).word.substr(1));
    }
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_isa_verify(const char* name, const char* target, uint32_t ptx_version) {
    return call({{name, "name"}}, [&]() -> Expected<void> {
        const auto version = TRY(version_of(ptx_version));
        TRY(target_of(target));
        return capi::with_source(verify_name(name, target != nullptr ? target : "", version), name, "name");
    });
}

ptxgraft_status ptxgraft_isa_get_rows(char* text, size_t* size, const char* opcode) {
    return call({{size, "size"}, {opcode, "opcode"}}, [&]() -> Expected<void> {
        const auto rows = isa::rows(opcode);
        if (rows.empty()) return fail(Errc::opcode_unknown, std::string(opcode));
        return capi::give_text(text, size, fmt::format("{}\n", fmt::join(rows, "\n")));
    });
}

ptxgraft_status ptxgraft_isa_get_pure_opcodes(char* text, size_t* size) {
    return call({{size, "size"}}, [&] {
        return capi::give_text(text, size, fmt::format("{}\n", fmt::join(isa::pure_opcodes(), "\n")));
    });
}

ptxgraft_status ptxgraft_isa_get_effects(uint32_t* effects, const char* opcode) {
    return call({{effects, "effects"}, {opcode, "opcode"}}, [&]() -> Expected<void> {
        const std::uint16_t found = isa::effects(opcode);
        if (found == isa::unknown_opcode) return fail(Errc::opcode_unknown, std::string(opcode));
        *effects = found;
        return {};
    });
}

const char* ptxgraft_isa_get_special_type(const char* name) {
    const char* type = nullptr;
    call({{name, "name"}}, [&]() -> Expected<void> {
        const auto found = isa::special_register(name);
        if (!found) return fail(Errc::argument_invalid, fmt::format("there is no special register {}", name));
        type = syntax::row(found->type).word.data() + 1;  // of a literal
        return {};
    });
    return type;
}

ptxgraft_status ptxgraft_forms_create(ptxgraft_forms** forms, const char* opcode, const char* target,
                                      uint32_t ptx_version) {
    return call({{forms, "forms"}, {opcode, "opcode"}}, [&]() -> Expected<void> {
        const auto version = TRY(version_of(ptx_version));
        const auto architecture = TRY(target_of(target));
        auto made = std::make_unique<ptxgraft_forms>(ptxgraft_forms{isa::forms(opcode)});
        std::erase_if(made->forms,
                      [&](const isa::Form& f) { return !isa::is_available(f, version, architecture); });
        give_types(*made);
        *forms = made.release();
        return {};
    });
}

ptxgraft_status ptxgraft_forms_create_by_name(ptxgraft_forms** forms, const char* name) {
    return call({{forms, "forms"}, {name, "name"}}, [&]() -> Expected<void> {
        auto made = std::make_unique<ptxgraft_forms>();
        if (auto form = isa::find_form(name)) made->forms.push_back(std::move(*form));
        give_types(*made);
        *forms = made.release();
        return {};
    });
}

void ptxgraft_forms_destroy(ptxgraft_forms* forms) { delete forms; }

size_t ptxgraft_forms_get_count(const ptxgraft_forms* forms) {
    return get(forms, "forms", size_t{0}, [](const ptxgraft_forms& f) { return f.forms.size(); });
}

ptxgraft_status ptxgraft_forms_get(ptxgraft_form_info* info, const ptxgraft_forms* forms, size_t form) {
    return call({{info, "info"}, {forms, "forms"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(form, forms->forms.size(), "form"));
        const isa::Form& f = forms->forms[form];
        return capi::give_info(
            info, {sizeof(*info), f.name.c_str(), f.spelling.c_str(), f.operands.size(), f.pure, f.effects});
    });
}

ptxgraft_status ptxgraft_forms_get_operand(ptxgraft_form_operand_info* info, const ptxgraft_forms* forms,
                                           size_t form, size_t operand) {
    return call({{info, "info"}, {forms, "forms"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(form, forms->forms.size(), "form"));
        const isa::Form& f = forms->forms[form];
        TRY(capi::check_index(operand, f.operands.size(), "operand"));
        const isa::OperandSpec& o = f.operands[operand];
        return capi::give_info(info, {sizeof(*info), forms->types[form][operand].c_str(), o.low, o.high,
                                      o.step, o.count, o.is_output, o.is_vector, o.is_address, o.is_second,
                                      o.is_immediate, o.is_register, o.is_wide});
    });
}

}  // extern "C"
