/* PTX from C: says what is wrong in a module, a line each; mends it; and looks again. */
#include <ptxgraft/ptxgraft.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
    ".version 8.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry scale(.param .u64 data)\n"
    "{\n"
    "\t.reg .b64 %rd<2>;\n"
    "\t.reg .f32 %f<3>;  // x, and 2 x\n"
    "\tld.param.u64 %rd1, [data];\n"
    "\tld.global.f32 %f1, [%rd1];\n"
    "\tadd.sat.f33 %f2, %f1, %f1;\n"
    "\tst.global.f32 [%rd1], %f4;\n"
    "\tret;\n"
    "}\n";

/* Prints everything that is wrong; `*count` becomes how much that is. */
static ptxgraft_status print_mistakes(size_t* count, const ptxgraft_module* module) {
    ptxgraft_diagnostics* diagnostics = NULL;
    size_t i;
    const ptxgraft_status status = ptxgraft_module_verify(&diagnostics, module, NULL);
    if (status) return status;
    *count = ptxgraft_diagnostics_get_count(diagnostics);
    for (i = 0; i < *count; ++i) {
        ptxgraft_diagnostic_info info = PTXGRAFT_DIAGNOSTIC_INFO_INIT;
        ptxgraft_diagnostics_get(&info, diagnostics, i);
        printf("%u:%u: %s: %s\n", (unsigned)info.line, (unsigned)info.column,
               ptxgraft_status_get_name(info.status), info.message);
    }
    ptxgraft_diagnostics_destroy(diagnostics);
    return PTXGRAFT_STATUS_ok;
}

/* The first instruction whose opcode and modifiers begin so; none where there is none. */
static ptxgraft_statement find_instruction(const ptxgraft_module* module, const char* name) {
    ptxgraft_statement at = {{0, 0}};
    for (;;) {
        ptxgraft_statement_info info = PTXGRAFT_STATEMENT_INFO_INIT;
        if (ptxgraft_statement_get_neighbour(&at, module, at, PTXGRAFT_NEIGHBOUR_walk)) return at;
        if (ptxgraft_statement_get_info(&info, module, at)) return at;
        if (info.kind == PTXGRAFT_STATEMENT_instruction && !strncmp(info.name, name, strlen(name))) return at;
    }
}

static ptxgraft_status mend(ptxgraft_module* module) {
    const ptxgraft_statement add = find_instruction(module, "add"), store = find_instruction(module, "st.");
    const ptxgraft_statement none = {{0, 0}};
    ptxgraft_statement entry = none;
    size_t places = 0;
    ptxgraft_status status = ptxgraft_statement_set_modifier(module, add, 1, ".f32");
    if (!status) status = ptxgraft_statement_set_modifier(module, add, 0, "");
    if (!status) status = ptxgraft_statement_set_operand(module, store, 1, "%f2");
    if (!status) status = ptxgraft_module_find_function(&entry, module, "scale");
    if (!status) status = ptxgraft_module_rename(&places, module, entry, "%f", "%value");
    if (!status) printf("%u places of %%f renamed\n", (unsigned)places);
    if (!status) status = ptxgraft_module_rename(NULL, module, none, "scale", "twice");
    return status;
}

static ptxgraft_status print_text(const ptxgraft_module* module) {
    char text[1024];
    size_t size = sizeof text;
    const ptxgraft_status status = ptxgraft_module_get_text(text, &size, module);
    if (!status) fputs(text, stdout);
    return status;
}

int main(void) {
    ptxgraft_module* module = NULL;
    size_t mistakes = 0;
    ptxgraft_status status = ptxgraft_module_create_from_any_text(&module, ptx, sizeof ptx - 1);
    if (!status) status = print_mistakes(&mistakes, module);
    if (!status) status = mend(module);
    if (!status) status = print_mistakes(&mistakes, module);
    if (!status) printf("%u mistakes are left\n", (unsigned)mistakes);
    if (!status) status = print_text(module);
    if (status) fputs(ptxgraft_error_get_message(), stderr);
    ptxgraft_module_destroy(module);
    return status || mistakes != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
