// PTX as a tree in C: verify, look, edit; and the table of instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using CModule = Handle<ptxgraft_module, ptxgraft_module_destroy>;
using CDiagnostics = Handle<ptxgraft_diagnostics, ptxgraft_diagnostics_destroy>;
using CForms = Handle<ptxgraft_forms, ptxgraft_forms_destroy>;

// A literal and its size.
#define TEXT(literal) literal, sizeof(literal) - 1

constexpr std::string_view module_ptx = R"(.version 8.0
.target sm_90
.address_size 64
// adds one
.visible .entry k(.param .u64 p, .param .align 16 .b8 q[32])
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	.reg .pred %p<2>;
	ld.param.u64 %rd1, [p];
	ld.global.u32 %r1, [%rd1];
	@!%p1 add.u32 %r2, %r1, 1;
	st.global.u32 [%rd1], %r2;
	ret;
}
)";

CModule module_of(std::string_view text = module_ptx) {
    CModule made;
    EXPECT_OK(ptxgraft_module_create_from_text(&made, text.data(), text.size()));
    return made;
}
std::string text_of_module(const ptxgraft_module* module) {
    return text_of([&](char* t, size_t* n) { return ptxgraft_module_get_text(t, n, module); });
}
ptxgraft_statement_info info_of(const ptxgraft_module* module, ptxgraft_statement statement) {
    ptxgraft_statement_info info = PTXGRAFT_STATEMENT_INFO_INIT;
    EXPECT_OK(ptxgraft_statement_get_info(&info, module, statement));
    return info;
}
ptxgraft_statement function_of(const ptxgraft_module* module, const char* name = "k") {
    ptxgraft_statement function{};
    EXPECT_OK(ptxgraft_module_find_function(&function, module, name));
    return function;
}
ptxgraft_statement neighbour(const ptxgraft_module* module, ptxgraft_statement of, ptxgraft_neighbour which) {
    ptxgraft_statement found{};
    EXPECT_OK(ptxgraft_statement_get_neighbour(&found, module, of, which));
    return found;
}
bool is_none(ptxgraft_statement s) { return s.numbers[0] == 0 && s.numbers[1] == 0; }

// All statements of the text in order.
std::vector<ptxgraft_statement> walk(const ptxgraft_module* module) {
    std::vector<ptxgraft_statement> all;
    for (auto at = neighbour(module, {}, PTXGRAFT_NEIGHBOUR_walk); !is_none(at);
         at = neighbour(module, at, PTXGRAFT_NEIGHBOUR_walk))
        all.push_back(at);
    return all;
}
ptxgraft_statement instruction(const ptxgraft_module* module, const std::string& name) {
    for (const ptxgraft_statement s : walk(module)) {
        const auto info = info_of(module, s);
        if (info.kind == PTXGRAFT_STATEMENT_instruction && info.name == name) return s;
    }
    ADD_FAILURE() << name;
    return {};
}
CDiagnostics verify(const ptxgraft_module* module, const ptxgraft_verify_options* options = nullptr) {
    CDiagnostics made;
    EXPECT_OK(ptxgraft_module_verify(&made, module, options));
    return made;
}

// -------------------------------------------------------------------------------------------------- looking

TEST(CApiModule, KeepsEveryByte) {
    const CModule module = module_of();
    EXPECT_EQ(text_of_module(module), module_ptx);
    EXPECT_STREQ(ptxgraft_module_get_version(module), "8.0");
    EXPECT_STREQ(ptxgraft_module_get_target(module), "sm_90");
    EXPECT_EQ(ptxgraft_module_get_address_size(module), 64u);
    const auto canonical =
        text_of([&](char* t, size_t* n) { return ptxgraft_module_get_canonical(t, n, module); });
    EXPECT_THAT(canonical, Not(HasSubstr("//")));
    EXPECT_EQ(ptxgraft_module_get_address_size(nullptr), 0u);
}

TEST(CApiModule, ErrorsHaveTheirPlace) {
    CModule none;
    const std::string text = ".version 8.0\n.target sm_90\nadd.u32 ;\n";
    EXPECT_NE(ptxgraft_module_create_from_text(&none, text.data(), text.size()), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_error_get_line(), 3u);
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "ptx");
    EXPECT_EQ(none, nullptr);
    EXPECT_INVALID(ptxgraft_module_create_from_text(nullptr, text.data(), text.size()), "module is null");
}

TEST(CApiModule, TellsItsStatements) {
    const CModule module = module_of();
    std::vector<ptxgraft_statement_kind> kinds;
    for (const ptxgraft_statement s : walk(module)) kinds.push_back(info_of(module, s).kind);
    EXPECT_THAT(
        kinds,
        ElementsAre(PTXGRAFT_STATEMENT_version, PTXGRAFT_STATEMENT_target, PTXGRAFT_STATEMENT_address_size,
                    PTXGRAFT_STATEMENT_function, PTXGRAFT_STATEMENT_variable, PTXGRAFT_STATEMENT_variable,
                    PTXGRAFT_STATEMENT_variable, PTXGRAFT_STATEMENT_instruction,
                    PTXGRAFT_STATEMENT_instruction, PTXGRAFT_STATEMENT_instruction,
                    PTXGRAFT_STATEMENT_instruction, PTXGRAFT_STATEMENT_instruction, PTXGRAFT_STATEMENT_end));
    const auto k = function_of(module);
    const auto function = info_of(module, k);
    EXPECT_STREQ(function.name, "k");
    EXPECT_EQ(function.is_entry, 1u);
    EXPECT_EQ(function.is_definition, 1u);
    EXPECT_EQ(function.parameter_count, 2u);
    EXPECT_EQ(function.result_count, 0u);
    EXPECT_EQ(function.line, 5u);
    ptxgraft_declared_info parameter = PTXGRAFT_DECLARED_INFO_INIT;
    ASSERT_OK(ptxgraft_statement_get_parameter(&parameter, module, k, 1));
    EXPECT_STREQ(parameter.name, "q");
    EXPECT_STREQ(parameter.type, ".b8");
    EXPECT_EQ(parameter.count, 32u);
    EXPECT_EQ(parameter.align, 16u);
    EXPECT_INVALID(ptxgraft_statement_get_parameter(&parameter, module, k, 2), "parameter 2 of 2");
    EXPECT_INVALID(ptxgraft_statement_get_result(&parameter, module, k, 0), "result 0 of 0");
    const auto add = instruction(module, "add.u32");
    EXPECT_STREQ(info_of(module, add).guard, "!%p1");
    EXPECT_EQ(info_of(module, add).operand_count, 3u);
    EXPECT_EQ(info_of(module, add).modifier_count, 1u);
    EXPECT_EQ(text_of([&](char* t, size_t* n) { return ptxgraft_statement_get_text(t, n, module, add); }),
              "@!%p1 add.u32 %r2, %r1, 1;");
    EXPECT_EQ(
        text_of([&](char* t, size_t* n) { return ptxgraft_statement_get_operand(t, n, module, add, 1); }),
        "%r1");
    size_t size = 0;
    EXPECT_INVALID(ptxgraft_statement_get_operand(nullptr, &size, module, add, 3), "operand 3 of 3");
    EXPECT_INVALID(ptxgraft_statement_get_operand(nullptr, &size, module, k, 0),
                   "statement is no instruction");
    EXPECT_EQ(info_of(module, neighbour(module, add, PTXGRAFT_NEIGHBOUR_parent)).kind,
              PTXGRAFT_STATEMENT_function);
    EXPECT_STREQ(info_of(module, neighbour(module, add, PTXGRAFT_NEIGHBOUR_next)).name, "st.global.u32");
    EXPECT_STREQ(info_of(module, neighbour(module, add, PTXGRAFT_NEIGHBOUR_previous)).name, "ld.global.u32");
    EXPECT_TRUE(is_none(neighbour(module, k, PTXGRAFT_NEIGHBOUR_parent)));
}

TEST(CApiModule, StatementsOfOthersAreRefused) {
    const CModule module = module_of(), other = module_of();
    const auto of_other = function_of(other);
    ptxgraft_statement_info info = PTXGRAFT_STATEMENT_INFO_INIT;
    EXPECT_INVALID(ptxgraft_statement_get_info(&info, module, of_other), "statement is of another module");
    EXPECT_INVALID(ptxgraft_statement_get_info(&info, module, {}), "statement is none");
    ptxgraft_statement found{};
    EXPECT_INVALID(ptxgraft_statement_get_neighbour(&found, module, {}, PTXGRAFT_NEIGHBOUR_next),
                   "statement is none");
    EXPECT_INVALID(ptxgraft_statement_get_neighbour(&found, module, {}, static_cast<ptxgraft_neighbour>(5)),
                   "which is 5; it is 0 to 4");
    EXPECT_INVALID(ptxgraft_module_find_function(&found, module, "l"),
                   "there is no function l; there are: k");
}

// --------------------------------------------------------------------------------------------------- verify

TEST(CApiModule, VerifyTellsOfEveryMistake) {
    EXPECT_EQ(ptxgraft_diagnostics_get_count(verify(module_of())), 0u);
    std::string text(module_ptx);
    text.replace(text.find("add.u32"), 7, "add.u33");
    text.replace(text.find("\tret;"), 5, "\tfoo %r1;\n\t)\n\tret;");
    CModule module;
    ASSERT_OK(ptxgraft_module_create_from_any_text(&module, text.data(), text.size()));
    EXPECT_EQ(text_of_module(module), text);
    const CDiagnostics found = verify(module);
    ASSERT_EQ(ptxgraft_diagnostics_get_count(found), 3u);
    std::vector<uint32_t> lines;
    std::vector<ptxgraft_status> statuses;
    for (size_t i = 0; i < 3; ++i) {
        ptxgraft_diagnostic_info info = PTXGRAFT_DIAGNOSTIC_INFO_INIT;
        ASSERT_OK(ptxgraft_diagnostics_get(&info, found, i));
        lines.push_back(info.line);
        statuses.push_back(info.status);
        EXPECT_THAT(info.description, HasSubstr(info.message));
        EXPECT_GT(info.end, info.begin);
    }
    EXPECT_THAT(lines, ElementsAre(12, 14, 15));
    EXPECT_EQ(statuses[1], PTXGRAFT_STATUS_opcode_unknown);
    ptxgraft_diagnostic_info info = PTXGRAFT_DIAGNOSTIC_INFO_INIT;
    EXPECT_INVALID(ptxgraft_diagnostics_get(&info, found, 3), "diagnostic 3 of 3");
    expect_infos_of_all_versions(info, "ptxgraft_diagnostic_info", 56,
                                 [&](auto* i) { return ptxgraft_diagnostics_get(i, found, 1); });
}

TEST(CApiModule, VerifyGoesByItsOptions) {
    std::string text(module_ptx);
    text.replace(text.find("st.global.u32 [%rd1], %r2;"), 26, "griddepcontrol.wait;");
    const CModule module = module_of(text);
    EXPECT_EQ(ptxgraft_diagnostics_get_count(verify(module)), 0u);
    ptxgraft_verify_options options = PTXGRAFT_VERIFY_OPTIONS_INIT;
    options.target = "sm_80";
    const CDiagnostics found = verify(module, &options);
    ASSERT_EQ(ptxgraft_diagnostics_get_count(found), 1u);
    const auto call = [&](const ptxgraft_verify_options* o) {
        CDiagnostics made;
        return ptxgraft_module_verify(&made, module, o);
    };
    expect_options_of_all_versions(options, "ptxgraft_verify_options", 24, call);
    options.target = "sm_99";
    EXPECT_EQ(call(&options), PTXGRAFT_STATUS_target_unknown);
}

// ---------------------------------------------------------------------------------------------------- edits

TEST(CApiModule, EditsChangeNothingElse) {
    const CModule module = module_of();
    const auto add = instruction(module, "add.u32");
    ASSERT_OK(ptxgraft_statement_set_opcode(module, add, "sub"));
    ASSERT_OK(ptxgraft_statement_set_operand(module, add, 2, "2"));
    ASSERT_OK(ptxgraft_statement_set_guard(module, add, ""));
    ASSERT_OK(ptxgraft_statement_set_modifier(module, add, 0, ".s32"));
    ASSERT_OK(ptxgraft_statement_add_modifier(module, add, 0, ".sat"));
    std::string wanted(module_ptx);
    const std::string before = "@!%p1 add.u32 %r2, %r1, 1;";
    wanted.replace(wanted.find(before), before.size(), "sub.sat.s32 %r2, %r1, 2;");
    EXPECT_EQ(text_of_module(module), wanted);
    ptxgraft_statement first{};
    ASSERT_OK(ptxgraft_statement_add_after(&first, module, add, TEXT("\n\tneg.s32 %r2, %r2;")));
    EXPECT_STREQ(info_of(module, first).name, "neg.s32");
    EXPECT_EQ(info_of(module, first).line, 0u) << "it is not in the text that was parsed";
    ASSERT_OK(ptxgraft_statement_add_before(nullptr, module, add, TEXT("abs.s32 %r1, %r1;")));
    ASSERT_OK(ptxgraft_statement_replace(&first, module, add, TEXT("mov.u32 %r2, %r1; not.b32 %r2, %r2;")));
    EXPECT_STREQ(info_of(module, first).name, "mov.u32");
    ptxgraft_statement_info info = PTXGRAFT_STATEMENT_INFO_INIT;
    EXPECT_INVALID(ptxgraft_statement_get_info(&info, module, add), "statement was removed or replaced");
    ASSERT_OK(ptxgraft_statement_remove(module, first));
    EXPECT_THAT(text_of_module(module), Not(HasSubstr("mov.u32")));
    EXPECT_THAT(text_of_module(module), HasSubstr("not.b32"));
    EXPECT_EQ(ptxgraft_diagnostics_get_count(verify(module)), 0u);
}

TEST(CApiModule, RefusedEditsChangeNothing) {
    const CModule module = module_of();
    const auto add = instruction(module, "add.u32");
    ptxgraft_statement first = {{7, 7}};
    EXPECT_NE(ptxgraft_statement_add_after(&first, module, add, TEXT("ret;\n??")), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_error_get_line(), 2u);
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "edit");
    EXPECT_EQ(first.numbers[0], 7u);
    EXPECT_NE(ptxgraft_statement_set_operand(module, add, 9, "1"), PTXGRAFT_STATUS_ok);
    EXPECT_INVALID(ptxgraft_statement_set_guard(module, add, nullptr), "guard is null");
    const auto end = walk(module).back();
    EXPECT_INVALID(ptxgraft_statement_remove(module, end), "at is the module's end");
    EXPECT_EQ(text_of_module(module), module_ptx);
}

TEST(CApiModule, RenamesWhatANameStandsFor) {
    const CModule module = module_of();
    const auto k = function_of(module);
    size_t count = 0;
    ASSERT_OK(ptxgraft_module_rename(&count, module, k, "%r", "%word"));
    EXPECT_EQ(count, 5u);
    EXPECT_THAT(text_of_module(module), HasSubstr("ld.global.u32 %word1, [%rd1];"));
    ASSERT_OK(ptxgraft_module_rename(nullptr, module, {}, "k", "kernel"));
    EXPECT_THAT(text_of_module(module), HasSubstr(".entry kernel("));
    EXPECT_EQ(ptxgraft_module_rename(&count, module, k, "%x", "%y"), PTXGRAFT_STATUS_name_undeclared);
    EXPECT_EQ(ptxgraft_module_rename(&count, module, k, "p", "q"), PTXGRAFT_STATUS_name_taken);
}

TEST(CApiModule, CopiesAndOutlinesCode) {
    const CModule module = module_of();
    ptxgraft_statement copy{}, block{}, function{};
    ASSERT_OK(ptxgraft_statement_clone(&copy, module, function_of(module), "k2"));
    EXPECT_STREQ(info_of(module, copy).name, "k2");
    const auto add = instruction(module, "add.u32");
    ASSERT_OK(ptxgraft_statement_outline(&function, module, add, add, "increment"));
    EXPECT_STREQ(info_of(module, function).name, "increment");
    EXPECT_GT(info_of(module, function).result_count, 0u);
    EXPECT_EQ(ptxgraft_statement_outline(&function, module, instruction(module, "ret"),
                                         instruction(module, "ret"), "f"),
              PTXGRAFT_STATUS_statements_not_outlinable);
    ASSERT_OK(ptxgraft_statement_replace_body(module, copy, TEXT("\n\t.reg .b32 %a;\n\tmov.u32 %a, 1;\n")));
    const auto at = neighbour(module, function_of(module), PTXGRAFT_NEIGHBOUR_child);
    const auto third =
        neighbour(module, neighbour(module, at, PTXGRAFT_NEIGHBOUR_next), PTXGRAFT_NEIGHBOUR_next);
    ASSERT_OK(ptxgraft_statement_splice(&block, module, third, copy));
    EXPECT_EQ(info_of(module, block).kind, PTXGRAFT_STATEMENT_block);
    ASSERT_OK(ptxgraft_statement_add(nullptr, module, {}, TEXT(".global .u32 counter;\n")));
    EXPECT_THAT(text_of_module(module), HasSubstr(".global .u32 counter;"));
    EXPECT_EQ(ptxgraft_diagnostics_get_count(verify(module)), 0u) << text_of_module(module);
}

TEST(CApiModule, InfosOfAllVersionsAreFilled) {
    const CModule module = module_of();
    const auto k = function_of(module);
    expect_infos_of_all_versions(ptxgraft_statement_info PTXGRAFT_STATEMENT_INFO_INIT,
                                 "ptxgraft_statement_info", 88,
                                 [&](auto* i) { return ptxgraft_statement_get_info(i, module, k); });
    expect_infos_of_all_versions(ptxgraft_declared_info PTXGRAFT_DECLARED_INFO_INIT, "ptxgraft_declared_info",
                                 48,
                                 [&](auto* i) { return ptxgraft_statement_get_parameter(i, module, k, 0); });
    ptxgraft_module_destroy(nullptr);
    ptxgraft_diagnostics_destroy(nullptr);
    ptxgraft_forms_destroy(nullptr);
}

// ------------------------------------------------------------------------------------------------------ isa

TEST(CApiIsa, SaysWhetherAnInstructionExists) {
    for (const char* name : {"add.f32", "fma.rn.ftz.f32", "bra.uni", "ret", "setp.lt.and.f32"})
        EXPECT_OK(ptxgraft_isa_verify(name, nullptr, 0)) << name;
    EXPECT_EQ(ptxgraft_isa_verify("foo.f32", nullptr, 0), PTXGRAFT_STATUS_opcode_unknown);
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "name");
    EXPECT_EQ(ptxgraft_error_get_column(), 1u);
    EXPECT_NE(ptxgraft_isa_verify("add.sat.f64", nullptr, 0), PTXGRAFT_STATUS_ok);
    EXPECT_OK(ptxgraft_isa_verify("griddepcontrol.wait", "sm_90", 0));
    EXPECT_NE(ptxgraft_isa_verify("griddepcontrol.wait", "sm_80", 0), PTXGRAFT_STATUS_ok);
    EXPECT_NE(ptxgraft_isa_verify("griddepcontrol.wait", "sm_90", 70), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_isa_verify("ret", "sm_99", 0), PTXGRAFT_STATUS_target_unknown);
    for (const char* name : {"ret; ret", "add.f32 %f1", "L: ret", "", "}"})
        EXPECT_NE(ptxgraft_isa_verify(name, nullptr, 0), PTXGRAFT_STATUS_ok) << name;
    EXPECT_INVALID(ptxgraft_isa_verify("ret; ret", nullptr, 0), "name is 'ret; ret'");
    EXPECT_INVALID(ptxgraft_isa_verify("ret", nullptr, 1000), "ptx_version is 1000");
}

TEST(CApiIsa, WithoutATargetAnyWillDo) {
    for (const char* name : {"tcgen05.wait::ld.sync.aligned", "wgmma.fence.sync.aligned", "add.f32"})
        EXPECT_OK(ptxgraft_isa_verify(name, nullptr, 0)) << name << ptxgraft_error_get_message();
    EXPECT_OK(ptxgraft_isa_verify("tcgen05.wait::ld.sync.aligned", nullptr, 86));
    EXPECT_EQ(ptxgraft_isa_verify("tcgen05.wait::ld.sync.aligned", "sm_90a", 86),
              PTXGRAFT_STATUS_target_not_able);
    EXPECT_OK(ptxgraft_isa_verify("add.f32", nullptr, 10)) << "which has no sm_90a";
    EXPECT_EQ(ptxgraft_isa_verify("griddepcontrol.wait", nullptr, 77), PTXGRAFT_STATUS_version_too_old);
    EXPECT_EQ(ptxgraft_error_get_line(), 1u);
    EXPECT_OK(ptxgraft_isa_verify("griddepcontrol.wait", nullptr, 78));
    EXPECT_EQ(ptxgraft_isa_verify("add.f32", "sm_90a", 70), PTXGRAFT_STATUS_version_too_old);
    EXPECT_EQ(ptxgraft_error_get_line(), 0u) << "nothing of the name is wrong";
    EXPECT_EQ(ptxgraft_isa_verify("add.f32", nullptr, 999), PTXGRAFT_STATUS_version_unknown);
    EXPECT_EQ(ptxgraft_isa_verify("add{.f32", nullptr, 0), PTXGRAFT_STATUS_syntax_expected);
    EXPECT_EQ(ptxgraft_error_get_column(), 5u);
}

TEST(CApiIsa, TellsFormsAndRows) {
    CForms of_opcode, forms;
    ASSERT_OK(ptxgraft_forms_create(&of_opcode, "fma", nullptr, 0));
    const size_t all = ptxgraft_forms_get_count(of_opcode);
    EXPECT_GT(all, 10u);
    ASSERT_OK(ptxgraft_forms_create_by_name(&forms, "fma.rn.f32"));
    ASSERT_EQ(ptxgraft_forms_get_count(forms), 1u);
    ptxgraft_form_info info = PTXGRAFT_FORM_INFO_INIT;
    ASSERT_OK(ptxgraft_forms_get(&info, forms, 0));
    EXPECT_STREQ(info.spelling, "fma.rn.f32");
    EXPECT_EQ(info.pure, 1u);
    ASSERT_EQ(info.operand_count, 4u);
    ptxgraft_form_operand_info operand = PTXGRAFT_FORM_OPERAND_INFO_INIT;
    ASSERT_OK(ptxgraft_forms_get_operand(&operand, forms, 0, 0));
    EXPECT_STREQ(operand.type, "f32");
    EXPECT_EQ(operand.is_output, 1u);
    EXPECT_INVALID(ptxgraft_forms_get_operand(&operand, forms, 0, 4), "operand 4 of 4");
    EXPECT_INVALID(ptxgraft_forms_get(&info, forms, 1), "form 1 of 1");
    expect_infos_of_all_versions(ptxgraft_form_info PTXGRAFT_FORM_INFO_INIT, "ptxgraft_form_info", 40,
                                 [&](auto* i) { return ptxgraft_forms_get(i, forms, 0); });
    expect_infos_of_all_versions(ptxgraft_form_operand_info PTXGRAFT_FORM_OPERAND_INFO_INIT,
                                 "ptxgraft_form_operand_info", 72,
                                 [&](auto* i) { return ptxgraft_forms_get_operand(i, forms, 0, 0); });
    CForms old;
    ASSERT_OK(ptxgraft_forms_create(&old, "fma", "sm_75", 63));
    EXPECT_LT(ptxgraft_forms_get_count(old), all);
    CForms none;
    ASSERT_OK(ptxgraft_forms_create(&none, "foo", nullptr, 0));
    EXPECT_EQ(ptxgraft_forms_get_count(none), 0u);
    const auto rows = text_of([](char* t, size_t* n) { return ptxgraft_isa_get_rows(t, n, "mul.wide"); });
    EXPECT_THAT(rows, HasSubstr("mul.wide"));
    size_t size = 0;
    EXPECT_EQ(ptxgraft_isa_get_rows(nullptr, &size, "foo"), PTXGRAFT_STATUS_opcode_unknown);
    EXPECT_THAT(text_of([](char* t, size_t* n) { return ptxgraft_isa_get_pure_opcodes(t, n); }),
                HasSubstr("\nfma\n"));
}

TEST(CApiIsa, TellsEffectsAndSpecialRegisters) {
    uint32_t effects = 9;
    ASSERT_OK(ptxgraft_isa_get_effects(&effects, "st"));
    EXPECT_EQ(effects, uint32_t{PTXGRAFT_EFFECT_store});
    EXPECT_EQ(ptxgraft_isa_get_effects(&effects, "foo"), PTXGRAFT_STATUS_opcode_unknown);
    EXPECT_STREQ(ptxgraft_isa_get_special_type("%tid.x"), "u32");
    EXPECT_EQ(ptxgraft_isa_get_special_type("%foo"), nullptr);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("there is no special register %foo"));
}

#undef TEXT

}  // namespace
