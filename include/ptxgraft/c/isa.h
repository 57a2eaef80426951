#ifndef PTXGRAFT_C_ISA_H
#define PTXGRAFT_C_ISA_H
/**
 * @file isa.h
 * The table of PTX instructions: whether one exists, and its forms (isa.hpp says what one is). Threads:
 * every function may be called from any number at once.
 */

#include "ptxgraft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether PTX has an instruction of this opcode and these modifiers, "fma.rn.f32": PTXGRAFT_STATUS_ok, or
    what `verify` would say of it (PTXGRAFT_STATUS_opcode_unknown, modifier_not_allowed, …), with what would
    be right. `target` may be null: of any; `ptx_version` 90 is PTX ISA 9.0, 0 the newest. Of operands nothing
    is looked at. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_isa_verify(const char* name, const char* target,
                                                   uint32_t ptx_version);
/** Text: the rows of the table for an opcode (`add`, `mul.wide`, or `cp` for all that begin so), a line each,
    in the manual's notation, with the versions since when they are there. PTXGRAFT_STATUS_opcode_unknown. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_isa_get_rows(char* text, size_t* size, const char* opcode);
/** Text: the opcodes that have a form without effects, a line each. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_isa_get_pure_opcodes(char* text, size_t* size);
/** What an opcode may do beside writing its registers: bits of ptxgraft_effect (skeleton.h).
    PTXGRAFT_STATUS_opcode_unknown. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_isa_get_effects(uint32_t* effects, const char* opcode);
/** The type of a special register: "u32" of "%tid.x"; null when there is none of this name. */
PTXGRAFT_C_API const char* ptxgraft_isa_get_special_type(const char* name);

/** Forms of an opcode, in the table's order: fully spelled instructions whose operands are registers,
    constants and addresses. It never changes. Threads: any number read one at once. */
typedef struct ptxgraft_forms ptxgraft_forms;

/** A form; strings live as long as the forms. */
typedef struct ptxgraft_form_info {
    size_t struct_size;
    const char* name;     /**< unique: "setp.lt.f32|q" (set.hpp) */
    const char* spelling; /**< in PTX: "setp.lt.f32" */
    size_t operand_count;
    uint32_t pure;    /**< 1: it computes its outputs from its inputs and does nothing else */
    uint32_t effects; /**< else: bits of ptxgraft_effect */
} ptxgraft_form_info;
#define PTXGRAFT_FORM_INFO_INIT \
    { sizeof(ptxgraft_form_info), NULL, NULL, 0, 0, 0 }

/** An operand of a form, in writing order. */
typedef struct ptxgraft_form_operand_info {
    size_t struct_size;
    const char* type; /**< "f32" */
    int64_t low;      /**< what a constant must lie within */
    int64_t high;
    int64_t step;       /**< and be `low` plus a multiple of */
    uint32_t count;     /**< elements, of a vector */
    uint32_t is_output; /**< yes or no, and so are the next ones */
    uint32_t is_vector;
    uint32_t is_address;
    uint32_t is_second;    /**< written behind the one before, with `|` */
    uint32_t is_immediate; /**< only a constant */
    uint32_t is_register;  /**< no constant */
    uint32_t is_wide;      /**< also a wider register */
} ptxgraft_form_operand_info;
#define PTXGRAFT_FORM_OPERAND_INFO_INIT \
    { sizeof(ptxgraft_form_operand_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** All forms of an opcode; of a target and a PTX version alone, as ptxgraft_isa_verify() has them (0: any).
    None is no failure. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_forms_create(ptxgraft_forms** forms, const char* opcode,
                                                     const char* target, uint32_t ptx_version);
/** The form of a name in the sense of ptxgraft_form_info::name, alone; or none. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_forms_create_by_name(ptxgraft_forms** forms, const char* name);
PTXGRAFT_C_API void ptxgraft_forms_destroy(ptxgraft_forms* forms);
PTXGRAFT_C_API size_t ptxgraft_forms_get_count(const ptxgraft_forms* forms);
PTXGRAFT_C_API ptxgraft_status ptxgraft_forms_get(ptxgraft_form_info* info, const ptxgraft_forms* forms,
                                                  size_t form);
PTXGRAFT_C_API ptxgraft_status ptxgraft_forms_get_operand(ptxgraft_form_operand_info* info,
                                                          const ptxgraft_forms* forms, size_t form,
                                                          size_t operand);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_ISA_H */
