#ifndef PTXGRAFT_C_EMIT_H
#define PTXGRAFT_C_EMIT_H
/**
 * @file emit.h
 * Kernels that a program writes: one call, one instruction, looked up in the table of PTX instructions when
 * it is made (dsl.hpp).
 *
 * @code
 *   if ((status = ptxgraft_emitter_create(&emitter, "sm_80", NULL))) goto done;
 *   if ((status = ptxgraft_emitter_add_entry(&k, emitter, "add_one"))) goto done;
 *   ptxgraft_builder_add_argument(&data, k, "u64", "data");       // ld.param.u64 %ud1, [data];
 *   ptxgraft_builder_add_register(&i, k, "u32", NULL);
 *   const char* const operands[] = {i, "%tid.x"};
 *   ptxgraft_builder_emit(k, NULL, "mov.u32", operands, 2);       // mov.u32 %u1, %tid.x;
 *   …
 *   status = ptxgraft_emitter_get_ptx(text, &size, emitter);      // the first error, or the whole, verified
 * @endcode
 *
 * Types are "u32", "f16x2", "pred": those that registers are declared of. Strings that a call gives live as
 * long as the emitter.
 */

#include "ptxgraft/c/skeleton.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A module that is put together. Threads: one at a time uses it, and the builders of it. */
typedef struct ptxgraft_emitter ptxgraft_emitter;
/** A function of it, which lives as long as the emitter. A call of it that fails adds nothing, but for a site
    whose body fails, and is an error of the module: ptxgraft_emitter_get_ptx() gives the first of them
    again. */
typedef struct ptxgraft_builder ptxgraft_builder;

/** `target` may be null: "sm_90a". `version` is "8.6"; null: 9.0, or the first that has the target. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_create(ptxgraft_emitter** emitter, const char* target,
                                                       const char* version);
PTXGRAFT_C_API void ptxgraft_emitter_destroy(ptxgraft_emitter* emitter);

/** A new `.visible .entry`, or a `.func`. That the name is none, or another's, ptxgraft_emitter_get_ptx()
    says. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_add_entry(ptxgraft_builder** builder,
                                                          ptxgraft_emitter* emitter, const char* name);
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_add_function(ptxgraft_builder** builder,
                                                             ptxgraft_emitter* emitter, const char* name);

typedef enum ptxgraft_space PTXGRAFT_C_ENUM {
    PTXGRAFT_SPACE_global = 0, /**< of a module */
    PTXGRAFT_SPACE_const = 1,  /**< of a module */
    PTXGRAFT_SPACE_shared = 2, /**< of a module or a function */
    PTXGRAFT_SPACE_local = 3,  /**< of a function */
    PTXGRAFT_SPACE_dynamic = 4 /**< of a module: the shared memory that a launch asks for */
} ptxgraft_space;

/** A variable. */
typedef struct ptxgraft_variable_options {
    size_t struct_size;
    const char* name;
    const char* type;   /**< "f32"; of a dynamic one null */
    const char* values; /**< the initialiser as PTX has it, "{1, 2, 3}"; may be null */
    uint64_t count;     /**< elements; 0: one, without brackets */
    ptxgraft_space space;
    uint32_t align;      /**< in bytes; 0: of the type; of a dynamic one 128 */
    uint32_t is_visible; /**< 1: to other modules and to the host */
    uint32_t zero;       /**< always 0 */
} ptxgraft_variable_options;
#define PTXGRAFT_VARIABLE_OPTIONS_INIT \
    { sizeof(ptxgraft_variable_options), NULL, NULL, NULL, 0, PTXGRAFT_SPACE_global, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_add_variable(ptxgraft_emitter* emitter,
                                                             const ptxgraft_variable_options* options);
/** A line among the variables, as it is. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_add_line(ptxgraft_emitter* emitter, const char* line);

/** Text: the module, verified; or the first error, of a builder or of the whole, with its place. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_get_ptx(char* text, size_t* size,
                                                        const ptxgraft_emitter* emitter);
/** Text: the module, not looked at. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_emitter_get_text(char* text, size_t* size,
                                                         const ptxgraft_emitter* emitter);

/* --------------------------------------------------------------------------------------------- functions */

/** A parameter: one of `type`, or of `count` bytes where `type` is "b8" and `count` above 0 (a struct; with
    128 bytes at 64 a tensor map). */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_parameter(ptxgraft_builder* builder, const char* type,
                                                              const char* name, uint64_t count,
                                                              uint32_t align);
/** A parameter and a register with its value. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_argument(const char** name_of_register,
                                                             ptxgraft_builder* builder, const char* type,
                                                             const char* name);
/** What a `.func` gives back. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_result(ptxgraft_builder* builder, const char* type,
                                                           const char* name);
/** A new register, `%f3`; with a name `%<name>`, which the caller keeps apart from others. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_register(const char** name_of_register,
                                                             ptxgraft_builder* builder, const char* type,
                                                             const char* name);
/** A variable in .shared or .local. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_variable(ptxgraft_builder* builder,
                                                             const ptxgraft_variable_options* options);
/** A new label, `L1` or `<stem>_1`; ptxgraft_builder_place() says where it stands. `stem` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_label(const char** label, ptxgraft_builder* builder,
                                                          const char* stem);
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_place(ptxgraft_builder* builder, const char* label);

/**
 * Emits an instruction of the table: name and operands as PTX has them, registers, constants, `[%rd1+4]`,
 * `{%f1, %f2}`, `(%r1)`, `%p1|%p2`, `!%p1`, `%tid.x`, `_`, names. A decimal is an .f64 where the name
 * has `.f64`, else an .f32. `guard` is "%p1" or "!%p1"; null: none. What does not exist is an error that says
 * what would be right, and nothing is emitted.
 */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_emit(ptxgraft_builder* builder, const char* guard,
                                                     const char* name, const char* const* operands,
                                                     size_t count);
/** Lines of PTX as they are: directives, what the table has not. ptxgraft_emitter_get_ptx() looks at them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_lines(ptxgraft_builder* builder, const char* text,
                                                          size_t size);
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_comment(ptxgraft_builder* builder, const char* text);
/** Instructions that were emitted so far. */
PTXGRAFT_C_API uint64_t ptxgraft_builder_get_instruction_count(const ptxgraft_builder* builder);

/** What is said of an entry before its body (PTX ISA 11.2); what is 0 is not said. */
typedef struct ptxgraft_entry_directives {
    size_t struct_size;
    uint32_t max_threads[3];      /**< .maxntid */
    uint32_t required_threads[3]; /**< .reqntid */
    uint32_t cluster[3];          /**< .explicitcluster, .reqnctapercluster */
    uint32_t min_blocks;          /**< .minnctapersm */
    uint32_t max_registers;       /**< .maxnreg */
    uint32_t zero;                /**< always 0 */
} ptxgraft_entry_directives;
#define PTXGRAFT_ENTRY_DIRECTIVES_INIT \
    { sizeof(ptxgraft_entry_directives), {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_set_directives(ptxgraft_builder* builder,
                                                               const ptxgraft_entry_directives* directives);

/** An operand of a site: a register, or a fragment of several. Final. */
typedef struct ptxgraft_site_argument {
    const char* name;
    const char* type;
    const char* const* registers;
    size_t register_count;
    ptxgraft_direction direction;
    uint32_t is_fragment; /**< 1: a fragment also where it has one register */
} ptxgraft_site_argument;

/** A site. */
typedef struct ptxgraft_emitted_site {
    size_t struct_size;
    const char* name;
    const ptxgraft_site_argument* arguments;
    size_t argument_count;
    /** Emits the default stub, with the registers that stubs name: `_acc`, `_frag2`. Null: an empty one. */
    ptxgraft_status (*body)(ptxgraft_builder* builder, void* payload);
    void* payload;
    uint32_t allowed; /**< bits of ptxgraft_effect */
    uint32_t pure;    /**< 1: nothing reads the site's results but its outputs */
} ptxgraft_emitted_site;
#define PTXGRAFT_EMITTED_SITE_INIT \
    { sizeof(ptxgraft_emitted_site), NULL, NULL, 0, NULL, NULL, 0, 0 }
/** Declares a site. Where the body fails, the call has its status and its message. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_builder_add_site(ptxgraft_builder* builder,
                                                         const ptxgraft_emitted_site* site);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_EMIT_H */
