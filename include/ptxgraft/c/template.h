#ifndef PTXGRAFT_C_TEMPLATE_H
#define PTXGRAFT_C_TEMPLATE_H
/**
 * @file template.h
 * The skeletons that come with the library: what there are, what they are compiled with, launches of them
 * from dimensions, and a trial beside a reference. template.hpp has the words.
 *
 * @code
 *   if ((status = ptxgraft_template_open(&gemm, "gemm/mma", NULL))) goto done;
 *   if ((status = ptxgraft_skeleton_create_of_template(&skeleton, gemm, "tile_m=64", NULL))) goto done;
 *   if ((status = ptxgraft_kernel_create(&kernel, skeleton, device, NULL))) goto done;
 *   ptxgraft_plan_options options = PTXGRAFT_PLAN_OPTIONS_INIT;
 *   options.dimensions = "m=129,n=65,k=48";
 *   options.tunables = "tile_m=64";
 *   if ((status = ptxgraft_plan_create(&plan, gemm, &options))) goto done;
 *   // one buffer for each tensor of the plan
 *   status = ptxgraft_plan_launch(plan, kernel, buffers, count, NULL);
 * @endcode
 */

#include "ptxgraft/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A member of a family of kernels. It never changes. Threads: any number use one at once. */
typedef struct ptxgraft_template ptxgraft_template;

/** Text: the names of all templates, a line each. `folder` holds the families; null: the library's own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_library_get_template_names(char* text, size_t* size,
                                                                   const char* folder);
/** "gemm/mma". PTXGRAFT_STATUS_template_unknown names those that there are. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_template_open(ptxgraft_template** opened, const char* name,
                                                      const char* folder);
PTXGRAFT_C_API void ptxgraft_template_destroy(ptxgraft_template* opened);

/** Text: what its manifest says, as JSON: name, meaning, target, entry, dimensions, tunables, names,
    requires, arguments, sites, launch, outputs, numpy. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_template_get_description(char* text, size_t* size,
                                                                 const ptxgraft_template* from);
/** Text: all tunables, "tile_m=64,type=f16": those of `tunables`, which may be null, and the others as usual.
    PTXGRAFT_STATUS_choice_invalid says why a combination is ruled out for the template's own target. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_template_get_tunables(char* text, size_t* size,
                                                              const ptxgraft_template* from,
                                                              const char* tunables);
/** Text: all combinations that the manifest allows for the template's own target, a line each: of a large
    family some hundred thousands. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_template_get_combinations(char* text, size_t* size,
                                                                  const ptxgraft_template* from);
/** How near a result has to be: |result - wanted| <= relative |wanted| + absolute. `dimensions` are
    "m=129,n=65". */
PTXGRAFT_C_API ptxgraft_status ptxgraft_template_get_tolerance(double* relative, double* absolute,
                                                               const ptxgraft_template* from,
                                                               const char* dimensions, const char* tunables);

/** Compiles it, as ptxgraft_skeleton_create_from_template(). */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_of_template(ptxgraft_skeleton** skeleton,
                                                                    const ptxgraft_template* from,
                                                                    const char* tunables,
                                                                    const ptxgraft_cuda_options* options);
/** Its reference: naive, in double precision, with the same sites. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_of_reference(ptxgraft_skeleton** skeleton,
                                                                     const ptxgraft_template* from,
                                                                     const char* tunables,
                                                                     const ptxgraft_cuda_options* options);

/* ----------------------------------------------------------------------------------------------- launches */

/** All that a launch needs but memory. It never changes. Threads: any number use one at once. */
typedef struct ptxgraft_plan ptxgraft_plan;

typedef struct ptxgraft_plan_options {
    size_t struct_size;
    const char* dimensions;   /**< "m=129,n=65"; null: as usual, where all have a usual value */
    const char* tunables;     /**< of the kernel that will be launched; may be null */
    const char* numbers;      /**< "eps=1e-5": floating-point parameters that are not as usual; may be null */
    uint32_t multiprocessors; /**< of the device, for kernels whose blocks stay */
    uint32_t is_reference;    /**< 1: of the reference, whose outputs are .f64 */
} ptxgraft_plan_options;
#define PTXGRAFT_PLAN_OPTIONS_INIT \
    { sizeof(ptxgraft_plan_options), NULL, NULL, NULL, 1, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_plan_create(ptxgraft_plan** plan, const ptxgraft_template* from,
                                                    const ptxgraft_plan_options* options);
PTXGRAFT_C_API void ptxgraft_plan_destroy(ptxgraft_plan* plan);

/** A launch; strings and lists live as long as the plan. */
typedef struct ptxgraft_plan_info {
    size_t struct_size;
    const char* entry;
    size_t tensor_count;
    size_t parameter_count;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster[3];
    uint32_t shared_size;
} ptxgraft_plan_info;
#define PTXGRAFT_PLAN_INFO_INIT \
    { sizeof(ptxgraft_plan_info), NULL, 0, 0, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_plan_get_info(ptxgraft_plan_info* info, const ptxgraft_plan* plan);

/** What a kernel does with a tensor. */
typedef enum ptxgraft_access PTXGRAFT_C_ENUM {
    PTXGRAFT_ACCESS_in = 0,
    PTXGRAFT_ACCESS_out = 1,
    PTXGRAFT_ACCESS_modified = 2, /**< read and written */
    PTXGRAFT_ACCESS_scratch = 3   /**< memory that the kernel alone uses */
} ptxgraft_access;

/** A tensor of a launch; strings and lists live as long as the plan. */
typedef struct ptxgraft_tensor_info {
    size_t struct_size;
    const char* name;
    const char* type; /**< "bf16" */
    const uint64_t* shape;
    size_t rank;
    uint64_t size;    /**< in bytes */
    double low, high; /**< of random inputs */
    ptxgraft_access access;
    uint32_t nullable;  /**< 1: the kernel takes a null pointer */
    uint32_t is_places; /**< 1: places or lengths, of which random ones mean nothing */
    uint32_t zeroed;    /**< 1: it has to be zeros whenever a launch begins, each time anew */
} ptxgraft_tensor_info;
#define PTXGRAFT_TENSOR_INFO_INIT \
    { sizeof(ptxgraft_tensor_info), NULL, NULL, NULL, 0, 0, 0, 0, PTXGRAFT_ACCESS_in, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_plan_get_tensor(ptxgraft_tensor_info* info, const ptxgraft_plan* plan,
                                                        size_t tensor);
/** Bytes: random values of a tensor, the same for a seed everywhere. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_plan_get_random(void* bytes, size_t* size, const ptxgraft_plan* plan,
                                                        size_t tensor, uint64_t seed);
/** Launches a kernel with a buffer for each tensor, in their order, null where a tensor may be. A null stream
    is the device's own. What is `zeroed` the caller fills with zeros before every launch.
    PTXGRAFT_STATUS_buffer_exceeded for a buffer that is smaller than its tensor. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_plan_launch(const ptxgraft_plan* plan, const ptxgraft_kernel* kernel,
                                                    const ptxgraft_buffer* const* buffers, size_t count,
                                                    const ptxgraft_stream* stream);

/* ------------------------------------------------------------------------------------------------- trials */

/** What is tried. */
typedef struct ptxgraft_trial_options {
    size_t struct_size;
    const char* dimensions; /**< as ptxgraft_plan_options has them, and the next two */
    const char* tunables;
    const char* numbers;
    const char* target;           /**< null: a GPU's own where the template runs there; else the template's */
    const ptxgraft_graft* grafts; /**< in the kernel and in the reference */
    size_t graft_count;
    const char* const* null_tensors; /**< names of tensors that are null pointers */
    size_t null_tensor_count;
    uint64_t seed;               /**< of the inputs */
    uint32_t repeats;            /**< on a GPU: launches that are timed */
    uint32_t zero;               /**< always 0 */
    const ptxgraft_cache* cache; /**< may be null */
} ptxgraft_trial_options;
#define PTXGRAFT_TRIAL_OPTIONS_INIT \
    { sizeof(ptxgraft_trial_options), NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 1, 0, 0, NULL }

/** What came of it. */
typedef struct ptxgraft_trial_info {
    size_t struct_size;
    const char* worst_tensor; /**< lives as long as the template */
    uint64_t worst_index;     /**< in its memory's order */
    double worst;             /**< the largest part of what is allowed; 1 and less is right */
    double got, wanted;       /**< there */
    double allowed;           /**< of |got - wanted| */
    double largest_error;     /**< over all elements */
    uint64_t wrong, elements;
    double milliseconds; /**< the median of a GPU's timed launches; else 0 */
    uint32_t is_right;   /**< 1: every element is, and no output is NaN alone */
    uint32_t registers;  /**< of the entry's machine code; 0 without */
    uint32_t spill_size; /**< stores and loads together */
    uint32_t stack_size;
} ptxgraft_trial_info;
#define PTXGRAFT_TRIAL_INFO_INIT \
    { sizeof(ptxgraft_trial_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** Makes inputs, runs the template and its reference with the same stubs, and compares. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_template_try(ptxgraft_trial_info* info, const ptxgraft_template* from,
                                                     const ptxgraft_device* device,
                                                     const ptxgraft_trial_options* options);

/* ----------------------------------------------------------------------------- registers that stubs have */

/** How many values a stub may keep alive in each site of a kernel, as it was measured: spare_registers.hpp
    says how. It never changes. Threads: any number use one at once. */
typedef struct ptxgraft_spare_registers ptxgraft_spare_registers;

typedef struct ptxgraft_spare_registers_options {
    size_t struct_size;
    const char* const* sites; /**< their names; none: all */
    size_t site_count;
    const char* target; /**< "sm_90a"; null: the template's or the skeleton's */
    const char* entry;  /**< of a skeleton's kernels; null: the only one */
    /** Without one, blocks of a multiprocessor do not count, spills alone; a template has its own. */
    uint32_t threads_per_block;
    uint32_t dynamic_shared_size; /**< of a block, in bytes */
    uint32_t most;                /**< values that are tried: 1 to 256 */
    uint32_t first;               /**< of them the first: then twice as many, until it is too many */
    const ptxgraft_cache* cache;  /**< may be null */
} ptxgraft_spare_registers_options;
#define PTXGRAFT_SPARE_REGISTERS_OPTIONS_INIT \
    { sizeof(ptxgraft_spare_registers_options), NULL, 0, NULL, NULL, 0, 0, 64, 4, NULL }
/** Assembles the kernel some ten times with stubs of more and more values. PTXGRAFT_STATUS_site_unknown;
    PTXGRAFT_STATUS_argument_invalid for a number of values that is none from 1 to 256; what compiling and
    assembling give. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_spare_registers_create_of_template(
    ptxgraft_spare_registers** measured, const ptxgraft_template* from, const char* tunables,
    const ptxgraft_spare_registers_options* options);
PTXGRAFT_C_API ptxgraft_status ptxgraft_spare_registers_create_of_skeleton(
    ptxgraft_spare_registers** measured, const ptxgraft_skeleton* skeleton,
    const ptxgraft_spare_registers_options* options);
PTXGRAFT_C_API void ptxgraft_spare_registers_destroy(ptxgraft_spare_registers* measured);
/** Sites that were measured. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_spare_registers_get_count(size_t* count,
                                                                  const ptxgraft_spare_registers* measured);

/** Of a site; strings live as long as what was measured. */
typedef struct ptxgraft_spare_registers_info {
    size_t struct_size;
    const char* site;
    /** Of one value more: "8 bytes of spills"; empty where the most that were tried have none. */
    const char* loss;
    uint32_t registers; /**< 32-bit values that cost nothing; 0: one is too many */
    uint32_t zero;      /**< always 0 */
} ptxgraft_spare_registers_info;
#define PTXGRAFT_SPARE_REGISTERS_INFO_INIT \
    { sizeof(ptxgraft_spare_registers_info), NULL, NULL, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_spare_registers_get_site(ptxgraft_spare_registers_info* info,
                                                                 const ptxgraft_spare_registers* measured,
                                                                 size_t site);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_TEMPLATE_H */
