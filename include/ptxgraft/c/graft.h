#ifndef PTXGRAFT_C_GRAFT_H
#define PTXGRAFT_C_GRAFT_H
/**
 * @file graft.h
 * What becomes of a skeleton: its grafts, their routes, limits, and who assembles. And its text.
 */

#include "ptxgraft/c/assembler.h"
#include "ptxgraft/c/skeleton.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One filled site. Final. */
typedef struct ptxgraft_graft {
    const char* site;
    const ptxgraft_stub* stub;
} ptxgraft_graft;

/** The ways of a stub into machine code (route.hpp says what each costs, and which stubs it is not possible
    for). */
typedef enum ptxgraft_route PTXGRAFT_C_ENUM {
    PTXGRAFT_ROUTE_inline = 0, /**< the stub's text in every copy of the site */
    PTXGRAFT_ROUTE_call = 1,   /**< the stub once, as a function of the same module, which every copy calls */
    PTXGRAFT_ROUTE_link = 2,   /**< the stub once, assembled by itself and linked to the skeleton */
    PTXGRAFT_ROUTE_auto = 3    /**< one of the others, for the reason that ptxgraft_route_info gives */
} ptxgraft_route;

/** A site and its route. Final. */
typedef struct ptxgraft_site_route {
    const char* site;
    ptxgraft_route route;
} ptxgraft_site_route;

/** What a limit limits: of ptxgraft_function_info. */
typedef enum ptxgraft_limit_kind PTXGRAFT_C_ENUM {
    PTXGRAFT_LIMIT_registers = 0,  /**< of an entry, per thread */
    PTXGRAFT_LIMIT_spill_size = 1, /**< of a function, stores and loads together; at most 0: no spill */
    PTXGRAFT_LIMIT_stack_size = 2, /**< of a function, per thread */
    PTXGRAFT_LIMIT_code_size = 3   /**< of a function */
} ptxgraft_limit_kind;

/** What machine code may take at most. Of several for the same the lowest holds. Final. */
typedef struct ptxgraft_limit {
    ptxgraft_limit_kind kind;
    uint32_t most;
} ptxgraft_limit;

/** What becomes of a skeleton. Sites that no graft names keep their default stub. What assembles matters
    where machine code is made: not on the emulator. */
typedef struct ptxgraft_graft_options {
    size_t struct_size;
    const ptxgraft_graft* grafts;
    size_t graft_count;
    const char* entry;               /**< of a kernel; null: the only one */
    uint32_t optimisation;           /**< of the assembler, 0 to 3 */
    uint32_t max_registers;          /**< per thread: the assembler spills what is more; 0: no limit */
    uint32_t allow_performance_loss; /**< 1: keep machine code that the assembler says lost performance */
    uint32_t line_info;              /**< 1: the machine code says which lines it comes from, for profilers */
    ptxgraft_route route;            /**< of sites that have none of their own */
    uint32_t relocatable;            /**< 1: machine code for linking, which no device loads */
    const ptxgraft_site_route* routes; /**< of single sites, of which each is named once */
    size_t route_count;
    const char* target; /**< "sm_90a"; null: the device's, or without one the skeleton's */
    /** Machine code that is over one is PTXGRAFT_STATUS_assemble_limit_exceeded, whose message names the
        function, the figure and the limit. */
    const ptxgraft_limit* limits;
    size_t limit_count;
    const char* const* assembler_options; /**< further ones, as ptxas has them: "--fmad=false" */
    size_t assembler_option_count;
    const ptxgraft_assembler* assembler; /**< null: the default */
    const ptxgraft_cache* cache;         /**< keeps machine code and the assembler's errors; null: none */
    /** Once it is asked for, nothing more is assembled, and what a process assembles is killed:
        PTXGRAFT_STATUS_assembler_ended. What is assembled in process goes on to its end. May be null. */
    const ptxgraft_stop* stop;
} ptxgraft_graft_options;
#define PTXGRAFT_GRAFT_OPTIONS_INIT                                                                         \
    {                                                                                                       \
        sizeof(ptxgraft_graft_options), NULL, 0, NULL, 3, 0, 0, 0, PTXGRAFT_ROUTE_inline, 0, NULL, 0, NULL, \
            NULL, 0, NULL, 0, NULL, NULL, NULL                                                              \
    }

/** Text: the PTX with the stubs in. `grafts` may be null when `count` is 0. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_render(char* text, size_t* size,
                                                        const ptxgraft_skeleton* skeleton,
                                                        const ptxgraft_graft* grafts, size_t count);
/** Text: the PTX with the stubs in, by their routes; where stubs are linked, the text of the `call` route. Of
    the options the grafts and their routes matter. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_render_with_options(char* text, size_t* size,
                                                                     const ptxgraft_skeleton* skeleton,
                                                                     const ptxgraft_graft_options* options);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_GRAFT_H */
