#ifndef PTXGRAFT_C_ASSEMBLER_H
#define PTXGRAFT_C_ASSEMBLER_H
/**
 * @file assembler.h
 * Assemblers, which make machine code of PTX: in process, in worker processes, or a ptxas; and stops, which
 * end what takes too long.
 */

#include "ptxgraft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** PTX to machine code. Threads: any number use one at once. */
typedef struct ptxgraft_assembler ptxgraft_assembler;

/**
 * Opens an assembler by its name. Null, "" and "default": what assembles where no other is named.
 * "nvptxcompiler" and "nvjitlink": those in process. "workers" and "workers:4": a pool of so many processes,
 * as ptxgraft_assembler_create_worker_pool makes. Anything else is the path of a ptxas.
 * PTXGRAFT_STATUS_assembler_not_usable.
 */
PTXGRAFT_C_API ptxgraft_status ptxgraft_assembler_open(ptxgraft_assembler** assembler, const char* name);

/** How a pool of worker processes works. */
typedef struct ptxgraft_worker_pool_options {
    size_t struct_size;
    uint32_t workers;     /**< processes at most; 0: one for each hardware thread. They start when needed */
    uint32_t timeout_ms;  /**< for one module, above 0; then its worker is killed */
    uint64_t memory_size; /**< that a worker may allocate for a module; 0: no limit */
    uint32_t modules_per_worker; /**< then it makes way for a new one; 0: never */
    const char* assembler;       /**< of a worker: "nvptxcompiler", "nvjitlink"; null: "default" */
    const char* program;         /**< the path of `ptxgraft-worker`; null: where an installation has it */
} ptxgraft_worker_pool_options;
#define PTXGRAFT_WORKER_POOL_OPTIONS_INIT \
    { sizeof(ptxgraft_worker_pool_options), 0, 300000, UINT64_C(4294967296), 10000, NULL, NULL }

/**
 * An assembler whose modules are assembled in processes of their own: the same machine code, bit for bit, and
 * every processor works. What hangs, explodes or takes the assembler down is an error of its own call,
 * PTXGRAFT_STATUS_assembler_ended, whose message says which, and harms no other. `options` may be null.
 * PTXGRAFT_STATUS_assembler_not_usable when the worker's program is missing or does not start: the first one
 * starts right here. A process that is forked from the caller's cannot use its pool.
 */
PTXGRAFT_C_API ptxgraft_status ptxgraft_assembler_create_worker_pool(
    ptxgraft_assembler** assembler, const ptxgraft_worker_pool_options* options);
/** Ends the workers of a pool, without waiting. */
PTXGRAFT_C_API void ptxgraft_assembler_destroy(ptxgraft_assembler* assembler);

/** "nvptxcompiler", "nvjitlink", "ptxas"; of a pool, who assembles in its workers. */
PTXGRAFT_C_API const char* ptxgraft_assembler_get_name(const ptxgraft_assembler* assembler);
/** "13.5.37" */
PTXGRAFT_C_API const char* ptxgraft_assembler_get_version(const ptxgraft_assembler* assembler);

/** A wish that work ends, for as many calls as are given it. Threads: any number use one at once, callbacks
    too. */
typedef struct ptxgraft_stop ptxgraft_stop;
PTXGRAFT_C_API ptxgraft_status ptxgraft_stop_create(ptxgraft_stop** stop);
PTXGRAFT_C_API void ptxgraft_stop_destroy(ptxgraft_stop* stop);
/** Asks for the stop. It lasts: calls that begin later end at once. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stop_request(ptxgraft_stop* stop);
/** 1: somebody has asked for it. */
PTXGRAFT_C_API uint32_t ptxgraft_stop_get_requested(const ptxgraft_stop* stop);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_ASSEMBLER_H */
