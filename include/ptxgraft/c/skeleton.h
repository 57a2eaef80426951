#ifndef PTXGRAFT_C_SKELETON_H
#define PTXGRAFT_C_SKELETON_H
/**
 * @file skeleton.h
 * Skeletons, their sites, and the stubs for these.
 */

#include "ptxgraft/c/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Annotated PTX with its sites. Threads: any number read, render and graft one at once. */
typedef struct ptxgraft_skeleton ptxgraft_skeleton;

/** How CUDA source becomes PTX. `#include <ptxgraft/site.cuh>` always works. All strings end with a zero. */
typedef struct ptxgraft_cuda_options {
    size_t struct_size;
    const char* target;    /**< "sm_75" … "sm_121a"; null: "sm_90a" */
    const char* file_name; /**< the name in diagnostics; null: "skeleton.cu" */
    const char* cache_dir; /**< a folder that keeps PTX between runs; null: none */
    const char* const* include_dirs;
    size_t include_dir_count;
    const char* const* defines; /**< "NAME" or "NAME=VALUE" */
    size_t define_count;
    const char* const* options; /**< further options of NVRTC: "--use_fast_math" */
    size_t option_count;
    const ptxgraft_cache* cache; /**< keeps the PTX, instead of one of `cache_dir` alone; may be null */
} ptxgraft_cuda_options;
#define PTXGRAFT_CUDA_OPTIONS_INIT \
    { sizeof(ptxgraft_cuda_options), NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL }

/** Compiles CUDA source with marked sites. `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_from_cuda(ptxgraft_skeleton** skeleton,
                                                                  const char* source, size_t size,
                                                                  const ptxgraft_cuda_options* options);
/** Takes PTX with markers. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_from_ptx(ptxgraft_skeleton** skeleton,
                                                                 const char* ptx, size_t size);
/** Reads a `.cu` or `.ptx` file. `options` (for CUDA) may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_from_file(ptxgraft_skeleton** skeleton,
                                                                  const char* path,
                                                                  const ptxgraft_cuda_options* options);
/** Compiles a template of the library, such as "gemm/mma". `tunables` are those that are not as usual,
    "tile_m=64,type=f16"; null: none. `options` may be null: without a target it is the template's own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_from_template(ptxgraft_skeleton** skeleton,
                                                                      const char* name, const char* tunables,
                                                                      const ptxgraft_cuda_options* options);
PTXGRAFT_C_API void ptxgraft_skeleton_destroy(ptxgraft_skeleton* skeleton);

/** Text: the PTX with its markers. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_get_ptx(char* text, size_t* size,
                                                         const ptxgraft_skeleton* skeleton);
/** The architecture, "sm_90a". */
PTXGRAFT_C_API const char* ptxgraft_skeleton_get_target(const ptxgraft_skeleton* skeleton);
PTXGRAFT_C_API size_t ptxgraft_skeleton_get_entry_count(const ptxgraft_skeleton* skeleton);
/** The name of an entry (a kernel); null when there is none of this index. */
PTXGRAFT_C_API const char* ptxgraft_skeleton_get_entry_name(const ptxgraft_skeleton* skeleton, size_t entry);

/* -------------------------------------------------------------------------------------------------- sites */

/** Types of operands: PTX ISA 5.2.1. */
typedef enum ptxgraft_type PTXGRAFT_C_ENUM {
    PTXGRAFT_TYPE_pred = 0,
    PTXGRAFT_TYPE_b16 = 1,
    PTXGRAFT_TYPE_b32 = 2,
    PTXGRAFT_TYPE_b64 = 3,
    PTXGRAFT_TYPE_u16 = 4,
    PTXGRAFT_TYPE_u32 = 5,
    PTXGRAFT_TYPE_u64 = 6,
    PTXGRAFT_TYPE_s16 = 7,
    PTXGRAFT_TYPE_s32 = 8,
    PTXGRAFT_TYPE_s64 = 9,
    PTXGRAFT_TYPE_f16 = 10,
    PTXGRAFT_TYPE_f16x2 = 11,
    PTXGRAFT_TYPE_bf16 = 12,
    PTXGRAFT_TYPE_bf16x2 = 13,
    PTXGRAFT_TYPE_f32 = 14,
    PTXGRAFT_TYPE_f64 = 15
} ptxgraft_type;

/** Whether a stub reads an operand, reads and writes it, or writes it. */
typedef enum ptxgraft_direction PTXGRAFT_C_ENUM {
    PTXGRAFT_DIRECTION_in = 0,
    PTXGRAFT_DIRECTION_mod = 1,
    PTXGRAFT_DIRECTION_out = 2
} ptxgraft_direction;

/** What a stub may do at a site beyond computing in registers: bits of ptxgraft_site_info::allowed. `state`:
    the stack, nanosleep, setmaxnreg, pmevent, griddepcontrol. */
typedef enum ptxgraft_effect PTXGRAFT_C_ENUM {
    PTXGRAFT_EFFECT_load = 1,
    PTXGRAFT_EFFECT_store = 2,
    PTXGRAFT_EFFECT_atomic = 4,
    PTXGRAFT_EFFECT_warp = 8,
    PTXGRAFT_EFFECT_barrier = 16,
    PTXGRAFT_EFFECT_branch = 32,
    PTXGRAFT_EFFECT_call = 64,
    PTXGRAFT_EFFECT_tensor = 128,
    PTXGRAFT_EFFECT_exit = 256,
    PTXGRAFT_EFFECT_state = 512
} ptxgraft_effect;

/** A site; strings live as long as the skeleton. */
typedef struct ptxgraft_site_info {
    size_t struct_size;
    const char* name;
    size_t operand_count;
    size_t copy_count; /**< how often the site stands in the PTX */
    uint32_t allowed;  /**< bits of ptxgraft_effect */
    uint32_t pure;     /**< 1: the compiler was free to move or drop the site */
} ptxgraft_site_info;
#define PTXGRAFT_SITE_INFO_INIT \
    { sizeof(ptxgraft_site_info), NULL, 0, 0, 0, 0 }

/** An operand of a site, in the order of the marking. */
typedef struct ptxgraft_operand_info {
    size_t struct_size;
    const char* name;
    ptxgraft_type type;
    ptxgraft_direction direction;
    uint32_t count;        /**< elements of a fragment; 0: a scalar */
    const char* user_type; /**< the name of a user-defined type over `type`; else "" */
    const char*
        register_name; /**< what hand-written PTX calls it: "_acc"; elements are "_frag0", "_frag1" … */
} ptxgraft_operand_info;
#define PTXGRAFT_OPERAND_INFO_INIT \
    { sizeof(ptxgraft_operand_info), NULL, PTXGRAFT_TYPE_pred, PTXGRAFT_DIRECTION_in, 0, NULL, NULL }

/** One occurrence of a site in the PTX. */
typedef struct ptxgraft_copy_info {
    size_t struct_size;
    const char* function; /**< the `.entry` or `.func` around it */
    uint32_t is_entry;    /**< 1: `function` is an entry */
    uint32_t line;        /**< of its first marker, from 1 */
} ptxgraft_copy_info;
#define PTXGRAFT_COPY_INFO_INIT \
    { sizeof(ptxgraft_copy_info), NULL, 0, 0 }

PTXGRAFT_C_API size_t ptxgraft_site_get_count(const ptxgraft_skeleton* skeleton);
/** The index of a site. PTXGRAFT_STATUS_site_unknown when there is none of this name; the message lists the
    names. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_site_find(size_t* site, const ptxgraft_skeleton* skeleton,
                                                  const char* name);
PTXGRAFT_C_API ptxgraft_status ptxgraft_site_get_info(ptxgraft_site_info* info,
                                                      const ptxgraft_skeleton* skeleton, size_t site);
PTXGRAFT_C_API ptxgraft_status ptxgraft_site_get_operand(ptxgraft_operand_info* info,
                                                         const ptxgraft_skeleton* skeleton, size_t site,
                                                         size_t operand);
PTXGRAFT_C_API ptxgraft_status ptxgraft_site_get_copy(ptxgraft_copy_info* info,
                                                      const ptxgraft_skeleton* skeleton, size_t site,
                                                      size_t copy);

/* -------------------------------------------------------------------------------------------------- stubs */

/** A checked instruction sequence. It fits the site that it was made for, and every site with the same
    operands. It never changes. Threads: any number use one at once. */
typedef struct ptxgraft_stub ptxgraft_stub;

/** Compiles a stack program (stack.hpp describes the language), such as `acc bias add.f32 0.0 max.f32 ->
    acc`, or a whole `.stub` file. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create_from_program(ptxgraft_stub** stub,
                                                                 const ptxgraft_skeleton* skeleton,
                                                                 const char* site, const char* program,
                                                                 size_t size);
/** Checks PTX written by hand, such as `add.f32 acc, acc, bias;`. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create_from_ptx(ptxgraft_stub** stub,
                                                             const ptxgraft_skeleton* skeleton,
                                                             const char* site, const char* ptx, size_t size);
/** Compiles a stack program without a skeleton, for operands such as `mod f32 acc, in f32 bias`. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create_for_signature(ptxgraft_stub** stub, const char* signature,
                                                                  const char* program, size_t size);

/** What the text of a stub is written in. */
typedef enum ptxgraft_language PTXGRAFT_C_ENUM {
    PTXGRAFT_LANGUAGE_program = 0,    /**< a stack program, or a whole `.stub` file (stack.hpp) */
    PTXGRAFT_LANGUAGE_expression = 1, /**< such as `acc = max(acc + bias, 0)` (expression.hpp) */
    PTXGRAFT_LANGUAGE_ptx = 2         /**< PTX by hand */
} ptxgraft_language;

/** Where the constants of a stub stand. */
typedef enum ptxgraft_constants PTXGRAFT_C_ENUM {
    PTXGRAFT_CONSTANTS_literals = 0, /**< in the text */
    PTXGRAFT_CONSTANTS_data = 1      /**< in a `.const` variable of the module: stubs that differ in constants
                                          alone share machine code, and ptxgraft_kernel_set_constants()
                                          changes those of a kernel. Not of PTX by hand. */
} ptxgraft_constants;

/** A stub to make. What is of another language does nothing. */
typedef struct ptxgraft_stub_options {
    size_t struct_size;
    const char* text; /**< of `text_size` bytes */
    size_t text_size;
    ptxgraft_language language;
    ptxgraft_constants constants;
    uint32_t leftovers_are_errors; /**< 1: of programs; values that nobody uses at the end are an error */
    uint32_t contract;             /**< 1: of expressions; a * b + c may become one fma */
    uint32_t approximate;          /**< 1: of expressions; functions and / are the approximate ones */
    uint32_t flush_subnormals;     /**< 1: of expressions; f32 operations flush subnormals to zero */
} ptxgraft_stub_options;
#define PTXGRAFT_STUB_OPTIONS_INIT                                                                         \
    {                                                                                                      \
        sizeof(ptxgraft_stub_options), NULL, 0, PTXGRAFT_LANGUAGE_program, PTXGRAFT_CONSTANTS_literals, 0, \
            0, 0, 0                                                                                        \
    }
/** Makes a stub for a site. Those of programs and expressions have a dataflow hash: of candidates that
    compute the same one is assembled. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create(ptxgraft_stub** stub, const ptxgraft_skeleton* skeleton,
                                                    const char* site, const ptxgraft_stub_options* options);
/** The same for operands such as `mod f32 acc, in f32 bias`, without a skeleton; `allowed` are bits of
    ptxgraft_effect. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create_for_signature_with_options(
    ptxgraft_stub** stub, const char* signature, uint32_t allowed, const ptxgraft_stub_options* options);

/** The constants of a stub that has them as data: their bits, a number in the lowest bits of each, in the
    order in which the text pushes those that count. With null `constants`, `*count` becomes how many there
    are; else it is, on entry, for how many there is room, as with texts. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_get_constants(uint64_t* constants, size_t* count,
                                                           const ptxgraft_stub* stub);
/** The same stub with other constants, without a compile. PTXGRAFT_STATUS_constants_differ for another number
    of them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_create_with_constants(ptxgraft_stub** stub,
                                                                   const ptxgraft_stub* original,
                                                                   const uint64_t* constants, size_t count);
PTXGRAFT_C_API void ptxgraft_stub_destroy(ptxgraft_stub* stub);

/** Text: the PTX that is spliced into the skeleton. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_get_ptx(char* text, size_t* size, const ptxgraft_stub* stub);
PTXGRAFT_C_API uint32_t ptxgraft_stub_get_instruction_count(const ptxgraft_stub* stub);
/** Text: its operands, "mod f32 acc, in f32 bias". */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_get_signature(char* text, size_t* size,
                                                           const ptxgraft_stub* stub);

/** What a stub is. Two with one hash and one signature compute the same; hashes are 0 of PTX by hand. */
typedef struct ptxgraft_stub_info {
    size_t struct_size;
    uint32_t instruction_count;
    uint32_t effects;      /**< bits of ptxgraft_effect */
    size_t constant_count; /**< constants that are data */
    uint64_t hash;         /**< of the dataflow */
    uint64_t structure;    /**< the same without the values of constants */
    uint64_t constants;    /**< these values */
} ptxgraft_stub_info;
#define PTXGRAFT_STUB_INFO_INIT \
    { sizeof(ptxgraft_stub_info), 0, 0, 0, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_get_info(ptxgraft_stub_info* info, const ptxgraft_stub* stub);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_SKELETON_H */
