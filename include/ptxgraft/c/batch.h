#ifndef PTXGRAFT_C_BATCH_H
#define PTXGRAFT_C_BATCH_H
/**
 * @file batch.h
 * Many candidates of one skeleton at once: on several threads, with a call for each result as it comes, a
 * stop, and an error for each candidate by itself.
 *
 * @code
 *   // The candidate with the fewest registers, as far as time allows; `best` is the payload.
 *   static void keep_best(size_t candidate, ptxgraft_status status, const ptxgraft_machine_code* code,
 *                         const ptxgraft_kernel* kernel, void* payload) {
 *       ptxgraft_function_info function = PTXGRAFT_FUNCTION_INFO_INIT;
 *       struct best* best = payload;
 *       if (status) { fputs(ptxgraft_error_get_message(), stderr); return; }
 *       ptxgraft_machine_code_get_function(&function, code, 0);
 *       if (function.registers < best->registers) {
 *           best->registers = function.registers;
 *           best->candidate = candidate;
 *       }
 *       if (time(NULL) > best->deadline) ptxgraft_stop_request(best->stop);
 *   }
 *   …
 *   ptxgraft_batch_options many = PTXGRAFT_BATCH_OPTIONS_INIT;
 *   many.candidates = candidates;
 *   many.candidate_count = 1000;
 *   many.on_result = keep_best;
 *   many.payload = &best;
 *   many.stop = best.stop;
 *   if ((status = ptxgraft_batch_create(&batch, skeleton, &options, &many))) goto done;
 *   status = ptxgraft_machine_code_create_from_batch(&code, batch, best.candidate);
 * @endcode
 */

#include "ptxgraft/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The grafts of one candidate; none: every site keeps its default stub. Final. */
typedef struct ptxgraft_candidate {
    const ptxgraft_graft* grafts;
    size_t graft_count;
} ptxgraft_candidate;

/** The candidates, and how they are worked on. */
typedef struct ptxgraft_batch_options {
    size_t struct_size;
    const ptxgraft_candidate* candidates;
    size_t candidate_count;
    uint32_t threads;          /**< that work, the calling one among them; 0: as many as the machine has */
    uint32_t stubs_per_module; /**< of the `link` route: so many are assembled at once; 0: one */
    /** Once it is asked for, candidates that nobody has begun are PTXGRAFT_STATUS_work_stopped. May be
        null. ptxgraft_graft_options::stop ends those that are under way too. */
    const ptxgraft_stop* stop;
    /** May be null. Called once with every result as it comes, in any order, on any of the threads, on one at
        a time; a candidate that fails has a `status`, and ptxgraft_error_get_message() says why. `code` and
        `kernel` last as long as the call; they are null where `status` is not ok, and `kernel` where nothing
        is loaded. It may call this library, ptxgraft_stop_request too, and throws nothing. */
    void (*on_result)(size_t candidate, ptxgraft_status status, const ptxgraft_machine_code* code,
                      const ptxgraft_kernel* kernel, void* payload);
    void* payload;
    /** So many candidates are assembled, and loaded, as one module; 0: one. Each has entries of its own
        in it, told apart by ptxgraft_machine_code_info::suffix; they share the module's variables. A cache
        finds each of them again. */
    size_t variants_per_module;
} ptxgraft_batch_options;
#define PTXGRAFT_BATCH_OPTIONS_INIT \
    { sizeof(ptxgraft_batch_options), NULL, 0, 0, 32, NULL, NULL, NULL, 1 }

/** The results of many candidates, in their order. It never changes. Threads: any number read one at once. */
typedef struct ptxgraft_batch ptxgraft_batch;

/**
 * Assembles many candidates. Those that compute the same are assembled once and share their machine code.
 * `options` may be null, and name no grafts: the candidates do. What is wrong with one candidate alone is its
 * own error, and the call's status is PTXGRAFT_STATUS_ok.
 */
PTXGRAFT_C_API ptxgraft_status ptxgraft_batch_create(ptxgraft_batch** batch,
                                                     const ptxgraft_skeleton* skeleton,
                                                     const ptxgraft_graft_options* options,
                                                     const ptxgraft_batch_options* many);
/** The same, loaded on a device. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_batch_create_on_device(ptxgraft_batch** batch,
                                                               const ptxgraft_skeleton* skeleton,
                                                               const ptxgraft_device* device,
                                                               const ptxgraft_graft_options* options,
                                                               const ptxgraft_batch_options* many);
PTXGRAFT_C_API void ptxgraft_batch_destroy(ptxgraft_batch* batch);

PTXGRAFT_C_API size_t ptxgraft_batch_get_count(const ptxgraft_batch* batch);
/** The machine code of a candidate; or, as if this call had made it, the candidate's error: its status, its
    message, its place. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_create_from_batch(ptxgraft_machine_code** code,
                                                                       const ptxgraft_batch* batch,
                                                                       size_t candidate);
/** The same, for the kernel. PTXGRAFT_STATUS_argument_invalid of a batch that loaded none. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_create_from_batch(ptxgraft_kernel** kernel,
                                                                 const ptxgraft_batch* batch,
                                                                 size_t candidate);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_BATCH_H */
