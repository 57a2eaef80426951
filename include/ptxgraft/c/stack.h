#ifndef PTXGRAFT_C_STACK_H
#define PTXGRAFT_C_STACK_H
/**
 * @file stack.h
 * The stack language: instruction sets, machines, programs, and compiling many of these at once. stack.hpp
 * describes the language, set.hpp the sets, program.hpp what is done with programs in a search.
 *
 * @code
 *   // A million programs of a population to PTX, whatever their bytes are.
 *   ptxgraft_programs population = {genes, offsets, 1000000, PTXGRAFT_ENCODING_code};
 *   ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
 *   ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
 *   options.hash = 1;
 *   if ((status = ptxgraft_machine_create(&machine, NULL, "in f32 x, out f32 y", NULL))) goto done;
 *   status = ptxgraft_compilation_create(&compilation, machine, &population, &options, 0);
 *   if (status) goto done;
 *   arrays.statuses = statuses;
 *   arrays.hashes = hashes;
 *   arrays.text_offsets = text_offsets;   // program i: text + text_offsets[i] up to text_offsets[i + 1]
 *   if ((status = ptxgraft_compilation_read(&arrays, compilation))) goto done;
 *   text = ptxgraft_compilation_get_text(compilation);
 * @endcode
 */

#include "ptxgraft/c/skeleton.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------- sets */

/** An instruction set. It never changes. Threads: any number use one at once. */
typedef struct ptxgraft_set ptxgraft_set;

/** Reads a `.set` text (set.hpp has its form). Of the names of forms alone, a line each, it is a list of
    forms. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_create_from_text(ptxgraft_set** set, const char* text,
                                                             size_t size);
/** A set of the library; null: "standard". PTXGRAFT_STATUS_argument_invalid names those that there are. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_create_by_name(ptxgraft_set** set, const char* name);
PTXGRAFT_C_API void ptxgraft_set_destroy(ptxgraft_set* set);

/** Text: what ptxgraft_set_create_from_text() reads to an equal set. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_get_text(char* text, size_t* size, const ptxgraft_set* set);

/** An instruction of a set; strings live as long as the set. */
typedef struct ptxgraft_entry_info {
    size_t struct_size;
    const char* name;      /**< that programs call it by */
    const char* form;      /**< of PTX, as the table names it: "fma.rn.f32"; "" of a special register */
    const char* special;   /**< "%tid.x"; else "" */
    size_t operand_count;  /**< of vectors every element is one */
    double weight;         /**< how often it is drawn */
    uint32_t effects;      /**< bits of ptxgraft_effect that a site must allow */
    uint32_t special_type; /**< of a special register: its ptxgraft_type */
} ptxgraft_entry_info;
#define PTXGRAFT_ENTRY_INFO_INIT \
    { sizeof(ptxgraft_entry_info), NULL, NULL, NULL, 0, 0, 0, 0 }

/** An operand of an instruction, in PTX's order. */
typedef struct ptxgraft_entry_operand_info {
    size_t struct_size;
    /** Its number in programs: a ptxgraft_type, 16 for b8, 17 for b128, from 18 on the set's own. */
    uint32_t type;
    uint32_t is_output;
    uint32_t is_immediate; /**< 1: a constant that is a part of the instruction */
    uint32_t stack;        /**< the number of the type whose stack it is on: a b32 is with u32 */
} ptxgraft_entry_operand_info;
#define PTXGRAFT_ENTRY_OPERAND_INFO_INIT \
    { sizeof(ptxgraft_entry_operand_info), 0, 0, 0, 0 }

PTXGRAFT_C_API size_t ptxgraft_set_get_entry_count(const ptxgraft_set* set);
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_get_entry(ptxgraft_entry_info* info, const ptxgraft_set* set,
                                                      size_t entry);
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_get_entry_operand(ptxgraft_entry_operand_info* info,
                                                              const ptxgraft_set* set, size_t entry,
                                                              size_t operand);
/** The number of an instruction by its name. PTXGRAFT_STATUS_argument_invalid when there is none. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_find_entry(size_t* entry, const ptxgraft_set* set,
                                                       const char* name);
/** The name of a type by its number: "f32", "philox"; null when there is none. */
PTXGRAFT_C_API const char* ptxgraft_set_get_type_name(const ptxgraft_set* set, uint32_t type);

/** The sets of the library by name: "f32", "math", … Null when there is none of this index. */
PTXGRAFT_C_API size_t ptxgraft_library_get_set_count(void);
PTXGRAFT_C_API const char* ptxgraft_library_get_set_name(size_t set);
/** The files of its stubs and sets: "activation/gelu.stub". Null when there is none of this index. */
PTXGRAFT_C_API size_t ptxgraft_library_get_file_count(void);
PTXGRAFT_C_API const char* ptxgraft_library_get_file_name(size_t file);
PTXGRAFT_C_API ptxgraft_status ptxgraft_library_get_file_text(char* text, size_t* size, size_t file);

/* ---------------------------------------------------------------------------------------------- machines */

/** A set over the operands of a site: what programs run on. It never changes. Threads: any number use one at
    once. */
typedef struct ptxgraft_machine ptxgraft_machine;

/** Which of a set's instructions a machine has. */
typedef struct ptxgraft_machine_options {
    size_t struct_size;
    const char* target;   /**< "sm_90a": entries that it lacks are not there; null: all are */
    uint32_t ptx_version; /**< 90 for PTX ISA 9.0; 0: any */
    uint32_t allowed; /**< bits of ptxgraft_effect; of a skeleton's site what its marking allows besides */
} ptxgraft_machine_options;
#define PTXGRAFT_MACHINE_OPTIONS_INIT \
    { sizeof(ptxgraft_machine_options), NULL, 0, 0 }

/** A machine for operands such as `mod f32 acc, in f32 bias`. `set` may be null: "standard"; and `options`
    may be. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_create(ptxgraft_machine** machine, const ptxgraft_set* set,
                                                       const char* signature,
                                                       const ptxgraft_machine_options* options);
/** The same for a site, with what its marking allows. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_create_for_site(ptxgraft_machine** machine,
                                                                const ptxgraft_set* set,
                                                                const ptxgraft_skeleton* skeleton,
                                                                const char* site,
                                                                const ptxgraft_machine_options* options);
PTXGRAFT_C_API void ptxgraft_machine_destroy(ptxgraft_machine* machine);

/** Two machines share it on which every program means the same; stable between processes, never 0. The first
    call reads the whole set. */
PTXGRAFT_C_API uint64_t ptxgraft_machine_get_hash(const ptxgraft_machine* machine);
/** Text: its operands. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_get_signature(char* text, size_t* size,
                                                              const ptxgraft_machine* machine);
/** Its set, to be destroyed as others are. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_set_create_from_machine(ptxgraft_set** set,
                                                                const ptxgraft_machine* machine);

/** A register of the signature: a scalar operand, or an element of a fragment. */
typedef struct ptxgraft_register_info {
    size_t struct_size;
    const char* operand; /**< its name; lives as long as the machine */
    uint32_t element;    /**< of a fragment; of a scalar 0 */
    ptxgraft_type type;
    ptxgraft_direction direction;
    uint32_t size; /**< of a value in a column (evaluate.h): 1 (pred), 2, 4 or 8 */
} ptxgraft_register_info;
#define PTXGRAFT_REGISTER_INFO_INIT \
    { sizeof(ptxgraft_register_info), NULL, 0, PTXGRAFT_TYPE_pred, PTXGRAFT_DIRECTION_in, 0 }
PTXGRAFT_C_API size_t ptxgraft_machine_get_register_count(const ptxgraft_machine* machine);
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_get_register(ptxgraft_register_info* info,
                                                             const ptxgraft_machine* machine, size_t index);

/* --------------------------------------------------------------------------------------------- compiling */

/** What an instruction does whose operands are missing. */
typedef enum ptxgraft_missing PTXGRAFT_C_ENUM {
    PTXGRAFT_MISSING_error = 0, /**< the compile fails */
    PTXGRAFT_MISSING_skip = 1   /**< it does nothing: any bytes are a program */
} ptxgraft_missing;

/** Which values the operands of the site receive. */
typedef enum ptxgraft_requests PTXGRAFT_C_ENUM {
    PTXGRAFT_REQUESTS_assigned = 0, /**< those that the program assigns */
    PTXGRAFT_REQUESTS_top = 1 /**< then, those that it does not assign what lies on top, the last first */
} ptxgraft_requests;

/** What an operand receives for which there is no value. */
typedef enum ptxgraft_empty PTXGRAFT_C_ENUM {
    PTXGRAFT_EMPTY_error = 0, /**< the compile fails */
    PTXGRAFT_EMPTY_keep = 1,  /**< a `mod` keeps its value, an `out` becomes zero */
    PTXGRAFT_EMPTY_zero = 2   /**< zero */
} ptxgraft_empty;

/** What becomes of values that nobody has used when the program ends. */
typedef enum ptxgraft_leftover PTXGRAFT_C_ENUM {
    PTXGRAFT_LEFTOVER_allow = 0, /**< they are dropped */
    PTXGRAFT_LEFTOVER_error = 1  /**< the compile fails */
} ptxgraft_leftover;

/** How programs are compiled. */
typedef struct ptxgraft_compile_options {
    size_t struct_size;
    ptxgraft_missing missing;
    ptxgraft_requests requests;
    ptxgraft_empty empty;
    ptxgraft_leftover leftover;
    ptxgraft_constants constants; /**< `data`: programs that differ in constants alone have one text */
    uint32_t reuse;               /**< 1: one value for equal computations */
    uint32_t fold;                /**< 1: what has constant operands is computed, exactly as PTX would */
    uint32_t hash;                /**< 1: hashes are made; without, they are 0 */
    uint32_t most_steps;          /**< instructions executed, repeats counted each time; 0: 2^24 */
    uint32_t most_depth;          /**< of brackets and routines in each other, at most 256; 0: 64 */
} ptxgraft_compile_options;
/** Of programs that people write: what is missing is an error. */
#define PTXGRAFT_COMPILE_OPTIONS_INIT                                                                 \
    {                                                                                                 \
        sizeof(ptxgraft_compile_options), PTXGRAFT_MISSING_error, PTXGRAFT_REQUESTS_assigned,         \
            PTXGRAFT_EMPTY_error, PTXGRAFT_LEFTOVER_allow, PTXGRAFT_CONSTANTS_literals, 0, 0, 0, 0, 0 \
    }
/** Of programs that a search makes: nothing in them is an error. Where the options of a call that is about
    such programs are null, these count. */
#define PTXGRAFT_COMPILE_OPTIONS_MUTATED                                                                     \
    {                                                                                                        \
        sizeof(ptxgraft_compile_options), PTXGRAFT_MISSING_skip, PTXGRAFT_REQUESTS_top, PTXGRAFT_EMPTY_zero, \
            PTXGRAFT_LEFTOVER_allow, PTXGRAFT_CONSTANTS_literals, 0, 0, 0, 0, 0                              \
    }

/* ---------------------------------------------------------------------------------------------- programs */

/** What an instruction does (stack.hpp says it of each). A byte that is none does nothing. */
typedef enum ptxgraft_opcode PTXGRAFT_C_ENUM {
    PTXGRAFT_OPCODE_input = 0,
    PTXGRAFT_OPCODE_constant = 1,
    PTXGRAFT_OPCODE_form = 2,
    PTXGRAFT_OPCODE_assign = 3,
    PTXGRAFT_OPCODE_dup = 4,
    PTXGRAFT_OPCODE_swap = 5,
    PTXGRAFT_OPCODE_drop = 6,
    PTXGRAFT_OPCODE_over = 7,
    PTXGRAFT_OPCODE_rotate = 8,
    PTXGRAFT_OPCODE_cast = 9,
    PTXGRAFT_OPCODE_pooled = 10,
    PTXGRAFT_OPCODE_reverse = 11,
    PTXGRAFT_OPCODE_clear = 12,
    PTXGRAFT_OPCODE_yank_dup = 13,
    PTXGRAFT_OPCODE_swap_with = 14,
    PTXGRAFT_OPCODE_replace = 15,
    PTXGRAFT_OPCODE_store = 16,
    PTXGRAFT_OPCODE_load = 17,
    PTXGRAFT_OPCODE_call = 18,
    PTXGRAFT_OPCODE_repeat = 19,
    PTXGRAFT_OPCODE_if = 20,
    PTXGRAFT_OPCODE_else = 21,
    PTXGRAFT_OPCODE_end = 22
} ptxgraft_opcode;

/** One instruction of a program: 8 bytes, of which any are valid. Final. */
typedef struct ptxgraft_instruction {
    uint8_t opcode; /**< a ptxgraft_opcode */
    uint8_t type;
    uint16_t index;
    uint32_t payload;
} ptxgraft_instruction;

/** A program. It never changes but by ptxgraft_program_set_constant(). Threads: any number use one at once;
    while its constants are set, none. */
typedef struct ptxgraft_program ptxgraft_program;

/** Reads a text for a machine. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_from_text(ptxgraft_program** program,
                                                                 const ptxgraft_machine* machine,
                                                                 const char* text, size_t size);
/** Reads an expression (expression.hpp), for a machine of the set "expression". Of `options`, which may be
    null, what is of expressions counts, and not their text. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_from_expression(ptxgraft_program** program,
                                                                       const ptxgraft_machine* machine,
                                                                       const char* text, size_t size,
                                                                       const ptxgraft_stub_options* options);
/** Takes what ptxgraft_program_get_bytes() gave. PTXGRAFT_STATUS_program_bytes_malformed where a byte of it
    changed; PTXGRAFT_STATUS_program_machine_differs where it is of another machine. `machine` may be null: of
    any. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_from_bytes(ptxgraft_program** program,
                                                                  const ptxgraft_machine* machine,
                                                                  const void* bytes, size_t size);
/** Takes bare instructions, and the 64-bit constants that `pooled` pushes. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_from_code(ptxgraft_program** program,
                                                                 const ptxgraft_instruction* code,
                                                                 size_t count, const uint64_t* pool,
                                                                 size_t pool_count);
/** The same dataflow in fewer instructions, without what is dead. Null options: MUTATED. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_simplified(ptxgraft_program** program,
                                                                  const ptxgraft_program* original,
                                                                  const ptxgraft_machine* machine,
                                                                  const ptxgraft_compile_options* options);
PTXGRAFT_C_API void ptxgraft_program_destroy(ptxgraft_program* program);

/** Text: what ptxgraft_program_create_from_text() reads to an equal program. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_text(char* text, size_t* size,
                                                         const ptxgraft_program* program,
                                                         const ptxgraft_machine* machine);
/** Bytes: the whole program, with a version and a checksum. `machine` is kept beside it; null: none is. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_bytes(void* bytes, size_t* size,
                                                          const ptxgraft_program* program,
                                                          const ptxgraft_machine* machine);
/** Its instructions, without those of routines; and its pool. As with texts, but that `*count` counts
    instructions, and numbers. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_code(ptxgraft_instruction* code, size_t* count,
                                                         const ptxgraft_program* program);
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_pool(uint64_t* pool, size_t* count,
                                                         const ptxgraft_program* program);
/** Instructions, dead ones included, without those of routines. */
PTXGRAFT_C_API size_t ptxgraft_program_get_instruction_count(const ptxgraft_program* program);
PTXGRAFT_C_API size_t ptxgraft_program_get_routine_count(const ptxgraft_program* program);
/** The places in the code, ascending, of the instructions that count (program.hpp). With null `places`,
    `*count` becomes how many. Null options: MUTATED. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_live_code(uint32_t* places, size_t* count,
                                                              const ptxgraft_program* program,
                                                              const ptxgraft_machine* machine,
                                                              const ptxgraft_compile_options* options);

/** What a program computes, as numbers that stay the same between processes. */
typedef struct ptxgraft_dataflow_info {
    size_t struct_size;
    uint64_t hash;      /**< equal for two programs that emit the same dataflow */
    uint64_t structure; /**< the same without the values of constants */
    uint64_t constants; /**< these values */
} ptxgraft_dataflow_info;
#define PTXGRAFT_DATAFLOW_INFO_INIT \
    { sizeof(ptxgraft_dataflow_info), 0, 0, 0 }
/** Null options: MUTATED. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_dataflow(ptxgraft_dataflow_info* info,
                                                             const ptxgraft_program* program,
                                                             const ptxgraft_machine* machine,
                                                             const ptxgraft_compile_options* options);

/** A constant that a program pushes. Final. */
typedef struct ptxgraft_placed_constant {
    uint64_t bits;    /**< of the value, in the lowest ones */
    uint32_t type;    /**< its number: ptxgraft_entry_operand_info::type */
    uint32_t at;      /**< place in the code; PTXGRAFT_NO_PLACE: of no instruction */
    uint32_t routine; /**< in the code of that routine; PTXGRAFT_NO_PLACE: in the program's */
    uint32_t zero;    /**< always 0 */
} ptxgraft_placed_constant;
#define PTXGRAFT_NO_PLACE UINT32_MAX
/** The constants of its code and its routines, live or not. As with texts, but that `*count` counts them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_constants(ptxgraft_placed_constant* constants,
                                                              size_t* count, const ptxgraft_program* program,
                                                              const ptxgraft_machine* machine);
/** For each constant that is data with PTXGRAFT_CONSTANTS_data, in their order, the instruction that pushes
    it: to put back what tuning found. Null options: MUTATED. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_data_constants(ptxgraft_placed_constant* constants,
                                                                   size_t* count,
                                                                   const ptxgraft_program* program,
                                                                   const ptxgraft_machine* machine,
                                                                   const ptxgraft_compile_options* options);
/** Other bits for the constant at a place. PTXGRAFT_STATUS_argument_invalid where none stands. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_set_constant(ptxgraft_program* program,
                                                             const ptxgraft_machine* machine,
                                                             const ptxgraft_placed_constant* constant);

/** A stub of a program. Null options: INIT; hashes are always made. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create_from_compiled(ptxgraft_stub** stub,
                                                                  const ptxgraft_program* program,
                                                                  const ptxgraft_machine* machine,
                                                                  const ptxgraft_compile_options* options);

/* --------------------------------------------------------------------------------------- random programs */

/** Where random constants come from. */
typedef enum ptxgraft_source_kind PTXGRAFT_C_ENUM {
    PTXGRAFT_SOURCE_KIND_values = 0,      /**< one of `values` */
    PTXGRAFT_SOURCE_KIND_uniform = 1,     /**< between `low` and `high` */
    PTXGRAFT_SOURCE_KIND_log_uniform = 2, /**< of a magnitude between them, of any sign */
    PTXGRAFT_SOURCE_KIND_normal = 3,      /**< of mean `low` and standard deviation `high` */
    PTXGRAFT_SOURCE_KIND_special = 4,     /**< zeros, ones, infinities, the edges of the type */
    PTXGRAFT_SOURCE_KIND_bits = 5         /**< any bits, of integers alone */
} ptxgraft_source_kind;

/** One source of constants, drawn by its weight. Final. */
typedef struct ptxgraft_constant_source {
    double weight;
    double low, high;
    const double* values;
    size_t value_count;
    ptxgraft_source_kind kind;
    uint32_t zero; /**< always 0 */
} ptxgraft_constant_source;

typedef enum ptxgraft_shape PTXGRAFT_C_ENUM {
    PTXGRAFT_SHAPE_tree = 0,    /**< expressions in postorder: every instruction is live */
    PTXGRAFT_SHAPE_sequence = 1 /**< with shared values, words that rearrange stacks, dead code */
} ptxgraft_shape;

/** How programs are drawn. */
typedef struct ptxgraft_sampler_options {
    size_t struct_size;
    const double* weights; /**< for each entry of the set; null: the set's own */
    size_t weight_count;
    const ptxgraft_constant_source* sources; /**< null: usual ones (program.hpp, usual_constants) */
    size_t source_count;
    double constant_share; /**< of the values that are pushed: how many are constants, 0 to 1 */
    double shared;         /**< of a tree: how many values are results from before */
    double words;          /**< of a sequence: how many instructions rearrange a stack */
    ptxgraft_shape shape;
    uint32_t zero; /**< always 0 */
} ptxgraft_sampler_options;
#define PTXGRAFT_SAMPLER_OPTIONS_INIT \
    { sizeof(ptxgraft_sampler_options), NULL, 0, NULL, 0, 0.25, 0.1, 0.1, PTXGRAFT_SHAPE_tree, 0 }

/** Draws programs. It never changes. Threads: any number use one at once. */
typedef struct ptxgraft_sampler ptxgraft_sampler;
/** `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_sampler_create(ptxgraft_sampler** sampler,
                                                       const ptxgraft_machine* machine,
                                                       const ptxgraft_sampler_options* options);
PTXGRAFT_C_API void ptxgraft_sampler_destroy(ptxgraft_sampler* sampler);
/** A program of `live` instructions, at most 4,096. Equal seed and stream give an equal program everywhere;
    streams of one seed are independent: a search numbers its candidates by them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_at_random(ptxgraft_program** program,
                                                                 const ptxgraft_sampler* sampler,
                                                                 uint64_t seed, uint64_t stream,
                                                                 uint32_t live);

/* ------------------------------------------------------------------------------------------ many at once */

/** What the bytes of programs are. */
typedef enum ptxgraft_encoding PTXGRAFT_C_ENUM {
    PTXGRAFT_ENCODING_code = 0,   /**< bare instructions, 8 bytes each: any bytes; without pool or routines.
                                       The fast one: programs are compiled where they stand */
    PTXGRAFT_ENCODING_checked = 1 /**< what ptxgraft_program_get_bytes() gives, of this machine */
} ptxgraft_encoding;

/** Many programs: number i stands from bytes + offsets[i] up to bytes + offsets[i + 1]. Final. */
typedef struct ptxgraft_programs {
    const void* bytes;
    const size_t* offsets; /**< count + 1 of them, ascending */
    size_t count;
    ptxgraft_encoding encoding;
    uint32_t zero; /**< always 0 */
} ptxgraft_programs;

/** Programs that were compiled: one text of all, and the figures of each. It never changes. Threads: any
    number read one at once. */
typedef struct ptxgraft_compilation ptxgraft_compilation;

/** Compiles programs on some threads (0: one per processor). What is wrong with a program is its own status,
    and the call's is PTXGRAFT_STATUS_ok. Null options: MUTATED. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_compilation_create(ptxgraft_compilation** compilation,
                                                           const ptxgraft_machine* machine,
                                                           const ptxgraft_programs* programs,
                                                           const ptxgraft_compile_options* options,
                                                           uint32_t threads);
PTXGRAFT_C_API void ptxgraft_compilation_destroy(ptxgraft_compilation* compilation);

PTXGRAFT_C_API size_t ptxgraft_compilation_get_count(const ptxgraft_compilation* compilation);
/** The PTX of all programs, one behind another; lives as long as the compilation. */
PTXGRAFT_C_API const char* ptxgraft_compilation_get_text(const ptxgraft_compilation* compilation);
/** The constants that are data, of all programs, in the same order; null when there are none. */
PTXGRAFT_C_API const uint64_t* ptxgraft_compilation_get_constants(const ptxgraft_compilation* compilation);

/** Arrays of the caller, each with an element for every program, and the offsets with one more. What is null
    is not wanted. What a program that failed has no number for is 0. */
typedef struct ptxgraft_compilation_arrays {
    size_t struct_size;
    ptxgraft_status* statuses;
    uint32_t* instruction_counts; /**< of PTX */
    uint64_t* hashes;             /**< of ptxgraft_dataflow_info; 0 unless the options ask for them */
    uint64_t* structures;
    uint64_t* constant_hashes;
    size_t* text_offsets;     /**< in ptxgraft_compilation_get_text() */
    size_t* constant_offsets; /**< in ptxgraft_compilation_get_constants() */
} ptxgraft_compilation_arrays;
#define PTXGRAFT_COMPILATION_ARRAYS_INIT \
    { sizeof(ptxgraft_compilation_arrays), NULL, NULL, NULL, NULL, NULL, NULL, NULL }
PTXGRAFT_C_API ptxgraft_status ptxgraft_compilation_read(const ptxgraft_compilation_arrays* arrays,
                                                         const ptxgraft_compilation* compilation);
/** Text: the PTX of one program; or, as if this call had made it, the program's error: its status, its
    message, and as its index the instruction that is wrong. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_compilation_get_ptx(char* text, size_t* size,
                                                            const ptxgraft_compilation* compilation,
                                                            size_t program);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_STACK_H */
