#ifndef PTXGRAFT_C_POOL_H
#define PTXGRAFT_C_POOL_H
/**
 * @file pool.h
 * Checking variants of a kernel in worker processes, one for each device: a variant that hangs, explodes or
 * takes its process down is a finding about that variant, and no other one is lost. measure/pool.hpp says how
 * workers are watched, measure/workload.hpp what a workload is.
 */

#include "ptxgraft/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Worker processes. Threads: any number check with one at once. They end with it, however this process ends;
    a process that is forked from it cannot use it. */
typedef struct ptxgraft_pool ptxgraft_pool;

/** Which workers there are, and how long they may take by the pool's clock. */
typedef struct ptxgraft_pool_options {
    size_t struct_size;
    const char* const* devices; /**< names of ptxgraft_device_open, a worker for each; null: "auto" alone */
    size_t device_count;
    const char* const* command; /**< what starts `ptxgraft`: {"ssh", "host", "ptxgraft"}; null: the program of
                                     the installation or the build */
    size_t command_count;
    uint64_t memory_size;     /**< that a worker may allocate on the host; 0: no limit */
    uint64_t seed;            /**< of inputs */
    double baseline_launches; /**< a launch may take so many times the baseline's, if that is more */
    double instructions;      /**< on the emulator: so many times the baseline's */
    uint32_t hello_ms;        /**< from a worker's start to its first word */
    uint32_t open_ms;         /**< for a workload: it is compiled, its right results are made */
    uint32_t load_ms;         /**< for a variant to be on the device */
    uint32_t launch_ms;       /**< for a launch, at least */
    uint32_t compare_ms;      /**< for comparing all results */
    uint32_t spares;          /**< workers that are ready to take over from a dead one */
    uint32_t baseline_deaths; /**< of the baseline alone, then a device is sick */
    uint32_t seeds;           /**< inputs for each shape and regime */
    uint32_t launches;        /**< for each case; 0: two on a GPU, one on the emulator */
    uint32_t zero;            /**< always 0 */
} ptxgraft_pool_options;
#define PTXGRAFT_POOL_OPTIONS_INIT                                                                       \
    {                                                                                                    \
        sizeof(ptxgraft_pool_options), NULL, 0, NULL, 0, UINT64_C(4294967296), 1, 50, 10, 20000, 300000, \
            2000, 1000, 5000, 1, 3, 1, 0, 0                                                              \
    }
/** Starts the workers and waits until they speak. `options` may be null.
    PTXGRAFT_STATUS_measure_worker_failed where one does not start, or has no such device. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_pool_open(ptxgraft_pool** pool, const ptxgraft_pool_options* options);
PTXGRAFT_C_API void ptxgraft_pool_destroy(ptxgraft_pool* pool);

/** A worker, as it said when it started; strings live as long as the pool. */
typedef struct ptxgraft_worker_info {
    size_t struct_size;
    const char* library;   /**< the version of its ptxgraft */
    const char* assembler; /**< "nvptxcompiler 13.5.37" */
    const char* driver;    /**< "13.0" */
    const char* device;    /**< "NVIDIA H200", "emulator" */
    const char* uuid;      /**< of a GPU */
    const char* target;    /**< "sm_90a" */
    uint64_t l2_size;
    uint32_t multiprocessors;
    uint32_t has_network; /**< 1: the system did not let it leave the network */
} ptxgraft_worker_info;
#define PTXGRAFT_WORKER_INFO_INIT \
    { sizeof(ptxgraft_worker_info), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }
PTXGRAFT_C_API size_t ptxgraft_pool_get_worker_count(const ptxgraft_pool* pool);
PTXGRAFT_C_API ptxgraft_status ptxgraft_pool_get_worker(ptxgraft_worker_info* info, const ptxgraft_pool* pool,
                                                        size_t worker);

/** What became of a pool's workers. */
typedef struct ptxgraft_pool_report {
    size_t struct_size;
    uint64_t checks;         /**< that were answered */
    uint64_t deaths;         /**< of workers that had a variant */
    uint64_t late;           /**< of those, killed for their time */
    uint64_t recovered;      /**< workers that took over and found the baseline right */
    double slowest_recovery; /**< seconds */
    uint32_t sick_devices;
    uint32_t zero; /**< always 0 */
} ptxgraft_pool_report;
#define PTXGRAFT_POOL_REPORT_INIT \
    { sizeof(ptxgraft_pool_report), 0, 0, 0, 0, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_pool_get_report(ptxgraft_pool_report* report,
                                                        const ptxgraft_pool* pool);

/* ------------------------------------------------------------------------------------------------- checks */

/** A kernel that is to be checked: PTX of the workload's skeleton with stubs in (ptxgraft_skeleton_render).
    Final. */
typedef struct ptxgraft_variant {
    const char* ptx;
    size_t ptx_size;
    const char* entry;                 /**< null where the module has one */
    const ptxgraft_machine_code* code; /**< of that PTX, for a GPU; null: the worker assembles */
} ptxgraft_variant;

/** What became of a variant. */
typedef enum ptxgraft_outcome PTXGRAFT_C_ENUM {
    PTXGRAFT_OUTCOME_right = 0,
    PTXGRAFT_OUTCOME_wrong = 1,             /**< farther from the reference than is allowed */
    PTXGRAFT_OUTCOME_not_deterministic = 2, /**< two runs on the same inputs differ */
    PTXGRAFT_OUTCOME_input_changed = 3,     /**< a tensor that is only read is not as it was */
    PTXGRAFT_OUTCOME_out_of_bounds = 4,
    PTXGRAFT_OUTCOME_race = 5,
    PTXGRAFT_OUTCOME_fault = 6, /**< the launch failed otherwise */
    PTXGRAFT_OUTCOME_hang = 7,
    PTXGRAFT_OUTCOME_device_lost = 8,
    PTXGRAFT_OUTCOME_rejected = 9, /**< it does not load, or does what no variant may */
    PTXGRAFT_OUTCOME_crashed = 10  /**< two processes that ran it died */
} ptxgraft_outcome;

/** What is checked. */
typedef struct ptxgraft_check_request {
    size_t struct_size;
    const char* workload; /**< JSON (measure/workload.hpp), of `workload_size` bytes */
    size_t workload_size;
    const ptxgraft_variant* variants;
    size_t variant_count;
} ptxgraft_check_request;
#define PTXGRAFT_CHECK_REQUEST_INIT \
    { sizeof(ptxgraft_check_request), NULL, 0, NULL, 0 }

/** Results, in the order of the variants. They never change. Threads: any number read them at once. */
typedef struct ptxgraft_checks ptxgraft_checks;

/** Checks variants on all devices. What a variant does is its outcome, and the call's status is
    PTXGRAFT_STATUS_ok; what is no variant's fault is the status of its result. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_checks_create(ptxgraft_checks** checks, const ptxgraft_pool* pool,
                                                      const ptxgraft_check_request* request);
/** Runs the baseline on every device that is not sick, in their order. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_checks_create_of_health(ptxgraft_checks** checks,
                                                                const ptxgraft_pool* pool,
                                                                const char* workload, size_t size);
PTXGRAFT_C_API void ptxgraft_checks_destroy(ptxgraft_checks* checks);
PTXGRAFT_C_API size_t ptxgraft_checks_get_count(const ptxgraft_checks* checks);

/** A result; strings live as long as the checks. */
typedef struct ptxgraft_check_info {
    size_t struct_size;
    const char* tensor;    /**< that the element is in, or that was changed; else "" */
    const char* message;   /**< of a launch that failed, or of a variant that was not run; else "" */
    double worst;          /**< the largest part of what is allowed; 1 and less is right */
    double got, wanted;    /**< there */
    double allowed;        /**< of |got - wanted| */
    uint64_t element;      /**< in the tensor's memory's order */
    uint64_t seed;         /**< of the inputs there */
    uint64_t instructions; /**< on the emulator: of all warps */
    size_t shape;          /**< of the workload's shapes */
    ptxgraft_outcome outcome;
    ptxgraft_status error; /**< of the message */
    uint32_t cases;        /**< that were run */
    uint32_t regime;       /**< 0 usual, 1 large, 2 constant, 3 special inputs */
} ptxgraft_check_info;
#define PTXGRAFT_CHECK_INFO_INIT                                                                 \
    {                                                                                            \
        sizeof(ptxgraft_check_info), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, PTXGRAFT_OUTCOME_right, \
            PTXGRAFT_STATUS_ok, 0, 0                                                             \
    }
/** A variant's result; or, as if this call had made it, the error that is no variant's fault. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_checks_get(ptxgraft_check_info* info, const ptxgraft_checks* checks,
                                                   size_t check);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_POOL_H */
