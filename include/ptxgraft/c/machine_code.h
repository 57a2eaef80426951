#ifndef PTXGRAFT_C_MACHINE_CODE_H
#define PTXGRAFT_C_MACHINE_CODE_H
/**
 * @file machine_code.h
 * Machine code of a skeleton with stubs, for which no device is needed: what it takes, by which routes it
 * came about, and how long that took.
 *
 * @code
 *   // How many registers does this stub cost, inlined or called, whichever the library finds better?
 *   ptxgraft_graft graft = {"epilogue", stub};
 *   ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
 *   options.grafts = &graft;
 *   options.graft_count = 1;
 *   options.route = PTXGRAFT_ROUTE_auto;
 *   options.target = "sm_90a";
 *   options.cache = cache;
 *   if ((status = ptxgraft_machine_code_create(&code, skeleton, &options))) goto done;
 *   for (i = 0; i < ptxgraft_machine_code_get_function_count(code); ++i) {
 *       ptxgraft_function_info function = PTXGRAFT_FUNCTION_INFO_INIT;
 *       ptxgraft_machine_code_get_function(&function, code, i);
 *       printf("%s: %u registers\n", function.name, function.registers);
 *   }
 * @endcode
 */

#include "ptxgraft/c/graft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- machine code */

/** Machine code of a skeleton with stubs, and how it came about. It never changes. Threads: any number read
    one at once. */
typedef struct ptxgraft_machine_code ptxgraft_machine_code;

/** Renders and assembles. `options` may be null: every site keeps its default stub. The place of an
    assembler's error is in what was assembled, which ptxgraft_error_get_source() is; its message names the
    stub and its line. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_create(ptxgraft_machine_code** code,
                                                            const ptxgraft_skeleton* skeleton,
                                                            const ptxgraft_graft_options* options);
PTXGRAFT_C_API void ptxgraft_machine_code_destroy(ptxgraft_machine_code* code);

/** Bytes: the machine code itself, an ELF. PTXGRAFT_STATUS_machine_code_missing of a kernel on the
    emulator. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_get_image(void* bytes, size_t* size,
                                                               const ptxgraft_machine_code* code);

/** Where a result comes from. */
typedef enum ptxgraft_cache_level PTXGRAFT_C_ENUM {
    PTXGRAFT_CACHE_LEVEL_none = 0, /**< it was made during the call */
    PTXGRAFT_CACHE_LEVEL_memory = 1,
    PTXGRAFT_CACHE_LEVEL_disk = 2
} ptxgraft_cache_level;

/** How machine code came about. The times are of the call that gave it, in milliseconds. */
typedef struct ptxgraft_machine_code_info {
    size_t struct_size;
    const char* assembler; /**< "nvptxcompiler 13.5.37"; "" of a kernel on the emulator */
    const char* log;       /**< of the assembler */
    ptxgraft_cache_level from;
    uint64_t constant_size; /**< of the module's `.const` variables, and of constants that functions share */
    double render, assemble, link, load;
    double assembly; /**< of the assembly or the linking that made it, whenever that was */
    /** Behind the names of its entries, where several candidates are in it; "" where it stands alone. */
    const char* suffix;
} ptxgraft_machine_code_info;
#define PTXGRAFT_MACHINE_CODE_INFO_INIT \
    { sizeof(ptxgraft_machine_code_info), NULL, NULL, PTXGRAFT_CACHE_LEVEL_none, 0, 0, 0, 0, 0, 0, NULL }
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_get_info(ptxgraft_machine_code_info* info,
                                                              const ptxgraft_machine_code* code);

/** What the assembler says of a function, an entry or a `.func`, and what its machine code shows. Registers,
    stack and spills are per thread. */
typedef struct ptxgraft_function_info {
    size_t struct_size;
    const char* name;
    uint32_t is_entry; /**< 1: an entry */
    uint32_t registers;
    uint32_t spill_store_size; /**< known after assembly, not after linking */
    uint32_t spill_load_size;
    uint32_t stack_size;
    uint32_t shared_size; /**< static */
    uint32_t barriers;
    uint32_t code_size;      /**< rounded up as the assembler does; link.hpp says what counts where */
    uint32_t constant_size;  /**< of its own constants: large literals, tables of branches */
    uint32_t parameter_size; /**< of an entry: its parameters, and what the driver keeps before them */
} ptxgraft_function_info;
#define PTXGRAFT_FUNCTION_INFO_INIT \
    { sizeof(ptxgraft_function_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
PTXGRAFT_C_API size_t ptxgraft_machine_code_get_function_count(const ptxgraft_machine_code* code);
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_get_function(ptxgraft_function_info* info,
                                                                  const ptxgraft_machine_code* code,
                                                                  size_t function);

/** The route that a stub took, and why; one for each graft, in their order. */
typedef struct ptxgraft_route_info {
    size_t struct_size;
    const char* site;
    ptxgraft_route route; /**< never `auto` */
    const char* reason;   /**< "there is one copy" */
} ptxgraft_route_info;
#define PTXGRAFT_ROUTE_INFO_INIT \
    { sizeof(ptxgraft_route_info), NULL, PTXGRAFT_ROUTE_inline, NULL }
PTXGRAFT_C_API size_t ptxgraft_machine_code_get_route_count(const ptxgraft_machine_code* code);
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_get_route(ptxgraft_route_info* info,
                                                               const ptxgraft_machine_code* code,
                                                               size_t route);

/** Constants of a site that are data: whoever loads the machine code writes them to the variable, eight bytes
    for each. Kernels of this library have them already. */
typedef struct ptxgraft_bank_info {
    size_t struct_size;
    const char* site;
    const char* variable; /**< its name in PTX: what cuModuleGetGlobal finds */
    const uint64_t* constants;
    size_t constant_count;
} ptxgraft_bank_info;
#define PTXGRAFT_BANK_INFO_INIT \
    { sizeof(ptxgraft_bank_info), NULL, NULL, NULL, 0 }
PTXGRAFT_C_API size_t ptxgraft_machine_code_get_bank_count(const ptxgraft_machine_code* code);
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_get_bank(ptxgraft_bank_info* info,
                                                              const ptxgraft_machine_code* code, size_t bank);

/** What the assembler says of lost performance, where the options allow it. */
typedef struct ptxgraft_loss_info {
    size_t struct_size;
    uint32_t code; /**< 7510: "wgmma serialised" */
    const char* message;
} ptxgraft_loss_info;
#define PTXGRAFT_LOSS_INFO_INIT \
    { sizeof(ptxgraft_loss_info), 0, NULL }
PTXGRAFT_C_API size_t ptxgraft_machine_code_get_loss_count(const ptxgraft_machine_code* code);
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_get_loss(ptxgraft_loss_info* info,
                                                              const ptxgraft_machine_code* code, size_t loss);

/* ------------------------------------------------------------------------------------------- preparations */

/** What ptxgraft_skeleton_prepare made and measured. It never changes. Threads: any number read one. */
typedef struct ptxgraft_preparation ptxgraft_preparation;

/** Milliseconds. */
typedef struct ptxgraft_preparation_info {
    size_t struct_size;
    double whole;    /**< the skeleton with its default stubs, assembled: what an inlined one costs */
    double skeleton; /**< the skeleton, assembled for linking: once for all stubs */
    double stub;     /**< a module with one stub, assembled */
    double link;     /**< the two, linked */
    const char* not_linkable; /**< why nothing is linked to this skeleton; "" when `auto` may */
} ptxgraft_preparation_info;
#define PTXGRAFT_PREPARATION_INFO_INIT \
    { sizeof(ptxgraft_preparation_info), 0, 0, 0, 0, NULL }

/** Makes what the `link` route needs and measures whether it pays: from now on `auto` may link, with these
    options and this assembler. `preparation` may be null. Of the options grafts, routes and limits do not
    matter. A skeleton that nothing can be linked to is no error. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_prepare(ptxgraft_preparation** preparation,
                                                         const ptxgraft_skeleton* skeleton,
                                                         const ptxgraft_graft_options* options);
PTXGRAFT_C_API void ptxgraft_preparation_destroy(ptxgraft_preparation* preparation);
PTXGRAFT_C_API ptxgraft_status ptxgraft_preparation_get_info(ptxgraft_preparation_info* info,
                                                             const ptxgraft_preparation* preparation);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_MACHINE_CODE_H */
