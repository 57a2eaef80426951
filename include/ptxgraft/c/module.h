#ifndef PTXGRAFT_C_MODULE_H
#define PTXGRAFT_C_MODULE_H
/**
 * @file module.h
 * Modules of PTX as trees that keep every byte: look, verify, edit, print. syntax.hpp says what a tree is,
 * isa.hpp what `verify` finds.
 *
 * @code
 *   // What ptxas would say of a text, a line each.
 *   if ((status = ptxgraft_module_create_from_any_text(&module, text, size))) goto done;
 *   if ((status = ptxgraft_module_verify(&diagnostics, module, NULL))) goto done;
 *   for (i = 0; i < ptxgraft_diagnostics_get_count(diagnostics); ++i) {
 *       ptxgraft_diagnostic_info d = PTXGRAFT_DIAGNOSTIC_INFO_INIT;
 *       ptxgraft_diagnostics_get(&d, diagnostics, i);
 *       printf("%u:%u: %s\n", d.line, d.column, d.message);
 *   }
 * @endcode
 */

#include "ptxgraft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A module. Threads: any number read one at once; while one edits it, no other may use it. */
typedef struct ptxgraft_module ptxgraft_module;

/** Parses a text; an error has its place in it. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_create_from_text(ptxgraft_module** module, const char* text,
                                                                size_t size);
/** Parses any text: goes on behind each error, and ptxgraft_module_verify() tells of all of them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_create_from_any_text(ptxgraft_module** module,
                                                                    const char* text, size_t size);
PTXGRAFT_C_API void ptxgraft_module_destroy(ptxgraft_module* module);

/** Text: the whole module, byte for byte but for what was edited. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_get_text(char* text, size_t* size,
                                                        const ptxgraft_module* module);
/** Text: the same statements in one layout, without comments (syntax.hpp, canonical). */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_get_canonical(char* text, size_t* size,
                                                             const ptxgraft_module* module);
/** "9.0"; "" without a .version. Strings live as long as the module. */
PTXGRAFT_C_API const char* ptxgraft_module_get_version(const ptxgraft_module* module);
/** "sm_90a": the last architecture of .target, as ptxas has it; "" without one. */
PTXGRAFT_C_API const char* ptxgraft_module_get_target(const ptxgraft_module* module);
/** 64 or 32; 64 where the module does not say it, as ptxas takes it. */
PTXGRAFT_C_API uint32_t ptxgraft_module_get_address_size(const ptxgraft_module* module);

/* ------------------------------------------------------------------------------------------------ verify */

/** What is wrong in a text, in its order. It never changes. Threads: any number read one at once. */
typedef struct ptxgraft_diagnostics ptxgraft_diagnostics;

typedef struct ptxgraft_verify_options {
    size_t struct_size;
    const char* target;    /**< verify for this one, not for the module's own; may be null */
    uint32_t manual_order; /**< 1: modifiers that are not in the manual's order are wrong too */
    uint32_t zero;         /**< always 0 */
} ptxgraft_verify_options;
#define PTXGRAFT_VERIFY_OPTIONS_INIT \
    { sizeof(ptxgraft_verify_options), NULL, 0, 0 }

/** Something that is wrong; strings live as long as the diagnostics. */
typedef struct ptxgraft_diagnostic_info {
    size_t struct_size;
    ptxgraft_status status;  /**< PTXGRAFT_STATUS_modifier_not_allowed, … */
    uint32_t line;           /**< from 1; 0: it has no place */
    uint32_t column;         /**< from 1, in bytes */
    uint32_t zero;           /**< always 0 */
    size_t begin, end;       /**< the bytes of the text that it is about */
    const char* message;     /**< what is wrong, and what would be right */
    const char* description; /**< whole lines: the place, the message, the line of the text, a caret */
} ptxgraft_diagnostic_info;
#define PTXGRAFT_DIAGNOSTIC_INFO_INIT \
    { sizeof(ptxgraft_diagnostic_info), PTXGRAFT_STATUS_ok, 0, 0, 0, 0, 0, NULL, NULL }

/** Everything that the front end of ptxas 13.5 would refuse, and all that did not parse. That something is
    wrong is no failure of the call. Of a module that was edited it is about the text as it is now. `options`
    may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_verify(ptxgraft_diagnostics** diagnostics,
                                                      const ptxgraft_module* module,
                                                      const ptxgraft_verify_options* options);
PTXGRAFT_C_API void ptxgraft_diagnostics_destroy(ptxgraft_diagnostics* diagnostics);
PTXGRAFT_C_API size_t ptxgraft_diagnostics_get_count(const ptxgraft_diagnostics* diagnostics);
PTXGRAFT_C_API ptxgraft_status ptxgraft_diagnostics_get(ptxgraft_diagnostic_info* info,
                                                        const ptxgraft_diagnostics* diagnostics,
                                                        size_t diagnostic);

/* -------------------------------------------------------------------------------------------- statements */

typedef enum ptxgraft_statement_kind PTXGRAFT_C_ENUM {
    PTXGRAFT_STATEMENT_version = 0,      /**< `.version 9.0` */
    PTXGRAFT_STATEMENT_target = 1,       /**< `.target sm_90a` */
    PTXGRAFT_STATEMENT_address_size = 2, /**< `.address_size 64` */
    PTXGRAFT_STATEMENT_function = 3,     /**< `.entry` and `.func` */
    PTXGRAFT_STATEMENT_variable = 4,     /**< `.reg`, `.global`, … */
    PTXGRAFT_STATEMENT_instruction = 5,  /**< `@%p1 bra $L;` */
    PTXGRAFT_STATEMENT_label = 6,        /**< `$L:` */
    PTXGRAFT_STATEMENT_block = 7,        /**< `{ … }` */
    PTXGRAFT_STATEMENT_directive = 8,    /**< every other directive */
    PTXGRAFT_STATEMENT_error = 9,        /**< what did not parse */
    PTXGRAFT_STATEMENT_end = 10          /**< the blanks and comments behind the last one */
} ptxgraft_statement_kind;

/** A statement of a module: a number pair that the library gives. All zeros: none. It is valid while the
    module lives and until the statement is removed or replaced; of one that is not, every call is
    PTXGRAFT_STATUS_argument_invalid. Numbers of another module, or made up, are a mistake that is not always
    found. Final. */
typedef struct ptxgraft_statement {
    uint64_t numbers[2];
} ptxgraft_statement;

/** Where another statement stands. */
typedef enum ptxgraft_neighbour PTXGRAFT_C_ENUM {
    PTXGRAFT_NEIGHBOUR_next = 0,     /**< of the same level */
    PTXGRAFT_NEIGHBOUR_previous = 1, /**< of the same level */
    PTXGRAFT_NEIGHBOUR_parent = 2,   /**< the function or block around it */
    PTXGRAFT_NEIGHBOUR_child = 3,    /**< the first one of its body; of none: of the module */
    PTXGRAFT_NEIGHBOUR_walk = 4      /**< the next one in the text, bodies included; of none: the first */
} ptxgraft_neighbour;
/** Gives none where there is none. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_get_neighbour(ptxgraft_statement* neighbour,
                                                                const ptxgraft_module* module,
                                                                ptxgraft_statement statement,
                                                                ptxgraft_neighbour which);
/** An entry or a function by name; the definition, where there is one. PTXGRAFT_STATUS_argument_invalid
    names those that there are. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_find_function(ptxgraft_statement* function,
                                                             const ptxgraft_module* module, const char* name);

/** A statement; strings live as long as the module. */
typedef struct ptxgraft_statement_info {
    size_t struct_size;
    const char* name;     /**< of a label, a function, the first variable; of an instruction opcode and
                               modifiers, "fma.rn.f32"; else "" */
    const char* guard;    /**< of an instruction: "%p1", "!%p1"; else "" */
    size_t operand_count; /**< of an instruction */
    size_t modifier_count;
    size_t parameter_count; /**< of a function */
    size_t result_count;    /**< its parameters that it returns */
    size_t begin, end;      /**< bytes of the text that was parsed; both 0 of what is new or was edited */
    ptxgraft_statement_kind kind;
    uint32_t line;          /**< from 1, of that text; 0: as above */
    uint32_t is_entry;      /**< 1: an `.entry` */
    uint32_t is_definition; /**< 1: a function with a body */
} ptxgraft_statement_info;
#define PTXGRAFT_STATEMENT_INFO_INIT \
    { sizeof(ptxgraft_statement_info), NULL, NULL, 0, 0, 0, 0, 0, 0, PTXGRAFT_STATEMENT_version, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_get_info(ptxgraft_statement_info* info,
                                                           const ptxgraft_module* module,
                                                           ptxgraft_statement statement);
/** Text: as written, without blanks and comments before it; of a function with its body. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_get_text(char* text, size_t* size,
                                                           const ptxgraft_module* module,
                                                           ptxgraft_statement statement);
/** Text: an operand of an instruction, as written. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_get_operand(char* text, size_t* size,
                                                              const ptxgraft_module* module,
                                                              ptxgraft_statement statement, size_t operand);

/** A parameter of a function; strings live as long as the module. */
typedef struct ptxgraft_declared_info {
    size_t struct_size;
    const char* name;  /**< "" where it has none */
    const char* type;  /**< ".u64" */
    const char* space; /**< ".param" or ".reg" */
    uint64_t count;    /**< elements of an array; 0: a scalar, or open */
    uint32_t align;    /**< in bytes; 0: of the type */
    uint32_t vector;   /**< 2 for `.v2` */
} ptxgraft_declared_info;
#define PTXGRAFT_DECLARED_INFO_INIT \
    { sizeof(ptxgraft_declared_info), NULL, NULL, NULL, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_get_parameter(ptxgraft_declared_info* info,
                                                                const ptxgraft_module* module,
                                                                ptxgraft_statement function,
                                                                size_t parameter);
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_get_result(ptxgraft_declared_info* info,
                                                             const ptxgraft_module* module,
                                                             ptxgraft_statement function, size_t result);

/* ------------------------------------------------------------------------------------------------- edits */

/* New text is PTX of whole statements. What does not parse is an error with its place in that text (the
   source is called "edit"), and then nothing has changed. `first` and its like may be null. */

/** Statements before, or behind, another one. The module's end takes text before it. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_add_before(ptxgraft_statement* first,
                                                             ptxgraft_module* module, ptxgraft_statement at,
                                                             const char* text, size_t size);
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_add_after(ptxgraft_statement* first,
                                                            ptxgraft_module* module, ptxgraft_statement at,
                                                            const char* text, size_t size);
/** At the end of a function's or block's body; of none: of the module. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_add(ptxgraft_statement* first, ptxgraft_module* module,
                                                      ptxgraft_statement parent, const char* text,
                                                      size_t size);
/** Statements in its place; the blanks and comments before it stay. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_replace(ptxgraft_statement* first, ptxgraft_module* module,
                                                          ptxgraft_statement at, const char* text,
                                                          size_t size);
/** Takes it away, with the blanks and comments before it. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_remove(ptxgraft_module* module, ptxgraft_statement at);
/** Other statements between the braces of a function or block. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_replace_body(ptxgraft_module* module, ptxgraft_statement at,
                                                               const char* text, size_t size);
/** Other parts of an instruction; the rest stays byte for byte. "sub"; "%f2"; "!%p1", or "" for no guard. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_set_opcode(ptxgraft_module* module, ptxgraft_statement at,
                                                             const char* opcode);
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_set_operand(ptxgraft_module* module, ptxgraft_statement at,
                                                              size_t operand, const char* text);
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_set_guard(ptxgraft_module* module, ptxgraft_statement at,
                                                            const char* guard);
/** ".rz" in the place of a modifier; "" takes it away. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_set_modifier(ptxgraft_module* module, ptxgraft_statement at,
                                                               size_t modifier, const char* text);
/** A further one before that of the index; their number appends. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_add_modifier(ptxgraft_module* module, ptxgraft_statement at,
                                                               size_t modifier, const char* text);

/** Renames what a name means at a statement (of none: in the module): its declaration and every place bound
    to it, and nothing else of an equal text. PTXGRAFT_STATUS_name_undeclared where nothing declares it;
    PTXGRAFT_STATUS_name_taken where a place would then mean something else. `*count` becomes the number of
    places; may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_module_rename(size_t* count, ptxgraft_module* module,
                                                      ptxgraft_statement at, const char* from,
                                                      const char* to);
/** A copy of a function behind it, with another name. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_clone(ptxgraft_statement* copy, ptxgraft_module* module,
                                                        ptxgraft_statement function, const char* name);
/** A copy of a function's or block's body as a block before `at`. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_splice(ptxgraft_statement* block, ptxgraft_module* module,
                                                         ptxgraft_statement at, ptxgraft_statement source);
/** Moves the statements from `first` to `last`, neighbours in one body, into a `.func`, and calls it there.
    PTXGRAFT_STATUS_statements_not_outlinable says what is in the way. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_statement_outline(ptxgraft_statement* function,
                                                          ptxgraft_module* module, ptxgraft_statement first,
                                                          ptxgraft_statement last, const char* name);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_MODULE_H */
