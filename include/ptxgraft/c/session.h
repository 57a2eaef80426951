#ifndef PTXGRAFT_C_SESSION_H
#define PTXGRAFT_C_SESSION_H
/**
 * @file session.h
 * How long kernels take on a GPU beside a baseline, and how sure that is: sessions, and what paired times
 * say. measure/timing.hpp says how is measured, measure/statistics.hpp what the numbers mean.
 *
 * @code
 *   ptxgraft_session* session = NULL;
 *   ptxgraft_timings* timings = NULL;
 *   ptxgraft_calibration_info closing = PTXGRAFT_CALIBRATION_INFO_INIT;
 *   if ((status = ptxgraft_session_open(&session, device, workload, workload_size, NULL))) goto done;
 *   if ((status = ptxgraft_timings_create(&timings, session, kernels, count, NULL))) goto done;
 *   if ((status = ptxgraft_session_close(&closing, session, &timings, 1))) goto done;
 *   for (size_t k = 0; k < count; ++k) {
 *       ptxgraft_timing_info timing = PTXGRAFT_TIMING_INFO_INIT;
 *       if ((status = ptxgraft_timings_get(&timing, timings, k))) goto done;
 *       if (timing.ending == PTXGRAFT_TIMED_ok && timing.speed == PTXGRAFT_SPEED_faster)
 *           printf("kernel %zu takes %.3f of the time\n", k, timing.ratio);
 *   }
 * @endcode
 */

#include "ptxgraft/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- paired times */

/** What paired times say of one kernel beside another. */
typedef enum ptxgraft_speed PTXGRAFT_C_ENUM {
    PTXGRAFT_SPEED_faster = 0, /**< than the baseline */
    PTXGRAFT_SPEED_slower = 1,
    PTXGRAFT_SPEED_same = 2,  /**< the whole interval is within the least effect */
    PTXGRAFT_SPEED_unsure = 3 /**< the rounds do not say: a result, and no error */
} ptxgraft_speed;

/** When a difference is one. */
typedef struct ptxgraft_speed_options {
    size_t struct_size;
    double alpha;        /**< how often two equal ones may be told apart; 1 - alpha is the confidence */
    double least_effect; /**< smaller differences are none: |ratio - 1| */
    double separation;   /**< the part of the rounds in which the faster one has to win */
} ptxgraft_speed_options;
#define PTXGRAFT_SPEED_OPTIONS_INIT \
    { sizeof(ptxgraft_speed_options), 0.05, 0.005, 0.9 }

/** Two kernels. */
typedef struct ptxgraft_speed_info {
    size_t struct_size;
    double ratio;       /**< the kernel's time over the baseline's: below 1 it is faster */
    double low, high;   /**< its interval; 0 and infinity where the rounds are too few for any */
    double median;      /**< of the rounds' ratios */
    double p;           /**< of equal kernels showing so much or more, on either side */
    double superiority; /**< the part of the rounds in which the kernel was faster, ties half */
    uint32_t rounds;
    ptxgraft_speed speed;
} ptxgraft_speed_info;
#define PTXGRAFT_SPEED_INFO_INIT \
    { sizeof(ptxgraft_speed_info), 1, 1, 1, 1, 1, 0.5, 0, PTXGRAFT_SPEED_unsure }

/** What `count` rounds say, in each of which both were measured: two lists of times, in any unit.
    PTXGRAFT_STATUS_argument_invalid of what is no time, whose place is the error's index. `options` may be
    null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_times_compare(ptxgraft_speed_info* info, const double* baseline,
                                                      const double* kernel, size_t count,
                                                      const ptxgraft_speed_options* options);

/** What a kernel compared with itself shows of a device: its noise. */
typedef struct ptxgraft_calibration_info {
    size_t struct_size;
    double sigma;        /**< of one round's logarithm */
    double bias;         /**< the estimate of the logarithm, which should be 0 */
    double p;            /**< of a bias so large by chance */
    double milliseconds; /**< the median time */
    double least_effect; /**< the smallest difference that may be judged */
    /** Of ptxgraft_session_close() alone: why the device is not as it was, and what was timed in between
        noisy; "" where it is. Lives until the session is closed again or destroyed. */
    const char* moved;
    uint32_t rounds;
    uint32_t zero; /**< always 0 */
} ptxgraft_calibration_info;
#define PTXGRAFT_CALIBRATION_INFO_INIT \
    { sizeof(ptxgraft_calibration_info), 0, 0, 0, 0, 0, NULL, 0, 0 }
/** Of `count` rounds, 8 at least, in each of which a kernel was measured twice. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_times_calibrate(ptxgraft_calibration_info* info, const double* first,
                                                        const double* second, size_t count);

/* ----------------------------------------------------------------------------------------------- sessions */

/** Measures on one GPU; no other session does meanwhile, in whichever process. Threads: one at a time uses
    it. */
typedef struct ptxgraft_session ptxgraft_session;

/** How is measured. */
typedef struct ptxgraft_session_options {
    size_t struct_size;
    uint64_t seed;       /**< of orders, inputs and places */
    double alpha;        /**< as ptxgraft_speed_options has them … */
    double least_effect; /**< … but that nothing below 2 sigma is judged either */
    double separation;
    double operations_per_second; /**< the device's peak, for what no kernel can be faster than; 0: unknown */
    double lock_seconds;          /**< to wait for another session on the GPU */
    const char* lock_folder;      /**< where the lock of a GPU is; null: "/tmp" */
    const char* nvml;             /**< for clocks; null: "libnvidia-ml.so.1", "": without it */
    uint32_t calibration_rounds;  /**< at least 8 */
    uint32_t most_sets;           /**< of different inputs, and places for them */
    uint32_t own_processes;       /**< with contexts on the GPU; more than those make results shared */
    uint32_t zero;                /**< always 0 */
} ptxgraft_session_options;
#define PTXGRAFT_SESSION_OPTIONS_INIT \
    { sizeof(ptxgraft_session_options), 1, 0.05, 0.005, 0.9, 0, 60, NULL, NULL, 32, 16, 1, 0 }

/** Makes the inputs of a workload (JSON, measure/workload.hpp) on a GPU, finds its baseline right, and
    measures it against itself. PTXGRAFT_STATUS_timing_not_possible on the emulator, whose time is that of the
    host, and where another session keeps the GPU; PTXGRAFT_STATUS_baseline_wrong. `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_session_open(ptxgraft_session** session,
                                                     const ptxgraft_device* device, const char* workload,
                                                     size_t size, const ptxgraft_session_options* options);
PTXGRAFT_C_API void ptxgraft_session_destroy(ptxgraft_session* session);

/** The skeleton whose sites the workload's kernels have stubs in, for the device's target. To be destroyed as
    others are. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_create_from_session(ptxgraft_skeleton** skeleton,
                                                                     const ptxgraft_session* session);

/** What tells the clock of a GPU. */
typedef enum ptxgraft_clock PTXGRAFT_C_ENUM {
    PTXGRAFT_CLOCK_none = 0,
    PTXGRAFT_CLOCK_marker = 1, /**< a kernel that reads it */
    PTXGRAFT_CLOCK_nvml = 2
} ptxgraft_clock;

/** What a session found out. */
typedef struct ptxgraft_session_info {
    size_t struct_size;
    double event_milliseconds;    /**< between two events with nothing in between */
    double roofline_milliseconds; /**< no launch can take less; 0: not known */
    uint64_t set_size;            /**< bytes of a set of inputs and outputs */
    uint64_t flush_size;          /**< bytes that are written to empty the L2 cache */
    uint32_t sets;
    uint32_t launches;  /**< between two events */
    uint32_t is_shared; /**< 1: another process was on the GPU */
    ptxgraft_clock clock;
} ptxgraft_session_info;
#define PTXGRAFT_SESSION_INFO_INIT \
    { sizeof(ptxgraft_session_info), 0, 0, 0, 0, 0, 0, 0, PTXGRAFT_CLOCK_none }
PTXGRAFT_C_API ptxgraft_status ptxgraft_session_get_info(ptxgraft_session_info* info,
                                                         const ptxgraft_session* session);
/** The baseline against itself, when the session was opened. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_session_get_calibration(ptxgraft_calibration_info* info,
                                                                const ptxgraft_session* session);

/* ------------------------------------------------------------------------------------------------ timings */

/** How much time a question is worth. */
typedef enum ptxgraft_tier PTXGRAFT_C_ENUM {
    PTXGRAFT_TIER_screen = 0, /**< 5 rounds: which kernels are worth more */
    PTXGRAFT_TIER_race = 1,   /**< 16, the slower half of the kernels for 8; who is left is measured anew */
    PTXGRAFT_TIER_elite = 2,  /**< 32 */
    PTXGRAFT_TIER_final = 3   /**< 64 */
} ptxgraft_tier;

typedef struct ptxgraft_timings_options {
    size_t struct_size;
    ptxgraft_tier tier;
    uint32_t rounds; /**< that are reported; 0: the tier's */
} ptxgraft_timings_options;
#define PTXGRAFT_TIMINGS_OPTIONS_INIT \
    { sizeof(ptxgraft_timings_options), PTXGRAFT_TIER_elite, 0 }

/** Kernels that were timed together. Only closing their session changes them. Threads: any number read them
    at once. */
typedef struct ptxgraft_timings ptxgraft_timings;

/** Times 1 to 15 kernels beside the baseline, on the session's device and with the parameters of its launch.
    What becomes of a kernel is its `ending`, and the call's status is PTXGRAFT_STATUS_ok. `options` may be
    null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_timings_create(ptxgraft_timings** timings, ptxgraft_session* session,
                                                       const ptxgraft_kernel* const* kernels, size_t count,
                                                       const ptxgraft_timings_options* options);
PTXGRAFT_C_API void ptxgraft_timings_destroy(ptxgraft_timings* timings);
PTXGRAFT_C_API size_t ptxgraft_timings_get_count(const ptxgraft_timings* timings);

/** How the timing of a kernel ended. */
typedef enum ptxgraft_timed PTXGRAFT_C_ENUM {
    PTXGRAFT_TIMED_ok = 0,
    PTXGRAFT_TIMED_noisy = 1,      /**< clocks fell, or the device moved: there are times, and no verdict */
    PTXGRAFT_TIMED_impossible = 2, /**< faster than can be, or than events can tell */
    PTXGRAFT_TIMED_wrong = 3,      /**< an output of a launch was not right */
    PTXGRAFT_TIMED_failed = 4,     /**< a launch was refused */
    PTXGRAFT_TIMED_device_lost = 5
} ptxgraft_timed;

/** A kernel's times; strings live as long as the timings. */
typedef struct ptxgraft_timing_info {
    size_t struct_size;
    const char* message; /**< why, of any ending but ok; else "" */
    double ratio;        /**< as ptxgraft_speed_info has them, up to `superiority` … */
    double low, high;
    double median;
    double p;
    double superiority;
    double ratio_in_cycles;   /**< 1 where the clock is not known */
    double milliseconds;      /**< the median; 0: none was reported */
    double cold_milliseconds; /**< of single launches */
    uint32_t rounds;          /**< … of samples that chose nothing; 0: a race left it behind */
    ptxgraft_speed speed;
    ptxgraft_timed ending;
    uint32_t is_promising; /**< its best sample is within 3 sigma of the best of all */
} ptxgraft_timing_info;
#define PTXGRAFT_TIMING_INFO_INIT                                                                  \
    {                                                                                              \
        sizeof(ptxgraft_timing_info), NULL, 1, 1, 1, 1, 1, 0.5, 1, 0, 0, 0, PTXGRAFT_SPEED_unsure, \
            PTXGRAFT_TIMED_ok, 1                                                                   \
    }
PTXGRAFT_C_API ptxgraft_status ptxgraft_timings_get(ptxgraft_timing_info* info,
                                                    const ptxgraft_timings* timings, size_t kernel);

/** What holds for all kernels of the timings. */
typedef struct ptxgraft_round_info {
    size_t struct_size;
    double baseline_milliseconds;
    double baseline_cold_milliseconds;
    double least_effect; /**< what was judged at least */
    uint32_t rounds;
    uint32_t noisy_rounds;
    uint32_t is_shared; /**< 1: another process was on the GPU */
    uint32_t zero;      /**< always 0 */
} ptxgraft_round_info;
#define PTXGRAFT_ROUND_INFO_INIT \
    { sizeof(ptxgraft_round_info), 0, 0, 0, 0, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_timings_get_rounds(ptxgraft_round_info* info,
                                                           const ptxgraft_timings* timings);
/** Measures the baseline against itself again. Where the device has moved since the session was opened, the
    kernels of these timings, all of this session, are noisy from now on. The session can go on. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_session_close(ptxgraft_calibration_info* info,
                                                      ptxgraft_session* session,
                                                      ptxgraft_timings* const* timings, size_t count);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_SESSION_H */
