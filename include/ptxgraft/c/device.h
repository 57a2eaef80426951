#ifndef PTXGRAFT_C_DEVICE_H
#define PTXGRAFT_C_DEVICE_H
/**
 * @file device.h
 * Devices: CUDA GPUs and the emulator; what they are, their memory, streams and events, and what the
 * emulator's checks found.
 */

#include "ptxgraft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where kernels run. Threads: any number use one at once; on an emulator launches and copies take turns. */
typedef struct ptxgraft_device ptxgraft_device;

/** `none` is the kind of a null device. */
typedef enum ptxgraft_device_kind PTXGRAFT_C_ENUM {
    PTXGRAFT_DEVICE_none = 0,
    PTXGRAFT_DEVICE_cuda = 1,
    PTXGRAFT_DEVICE_emulator = 2
} ptxgraft_device_kind;

/**
 * Opens a device by name; null means "auto". "auto": the first GPU, or the emulator where there is none.
 * "cuda", "cuda:1": a GPU. "emulator", "emulator:sm_80", "emulator:sm_80:fast"; "emulator:fast" and
 * "emulator:checks=-races" switch its checks, as ptxgraft_device_options::checks does.
 */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_open(ptxgraft_device** device, const char* name);

/** What ends a launch on the emulator where nobody says when: some minutes of work. */
#define PTXGRAFT_USUAL_INSTRUCTION_BUDGET (UINT64_C(1) << 32)
#define PTXGRAFT_USUAL_TIME_LIMIT_MS (UINT32_C(600000))
/** No limit, where 0 means that of the device or of the library. */
#define PTXGRAFT_NO_INSTRUCTION_BUDGET UINT64_MAX
#define PTXGRAFT_NO_TIME_LIMIT UINT32_MAX

/** What an emulator is opened with; nothing of it matters to a GPU. A number that is 0 means the default. */
typedef struct ptxgraft_device_options {
    size_t struct_size;
    uint32_t sm;          /**< its architecture, 75 to 121, where the name says none; 0: 90 */
    uint32_t threads;     /**< of the host, for one launch; 0: one per core */
    uint64_t memory_size; /**< of all buffers and variables; 0: 16 GiB */
    /** Of each launch that has none of its own, and time_limit_ms the same in milliseconds. Where both are 0
        they are PTXGRAFT_USUAL_INSTRUCTION_BUDGET and PTXGRAFT_USUAL_TIME_LIMIT_MS: a kernel that never ends
        is an error. Where one is set, 0 is no limit; PTXGRAFT_NO_INSTRUCTION_BUDGET is none ever. */
    uint64_t instruction_budget;
    uint32_t time_limit_ms;
    /** How many findings of the checks a report lists; 0: a launch ends at its first, with it as its error. A
        launch that keeps going goes on from a finding as a GPU would, and succeeds:
        ptxgraft_device_take_report tells what it found. What no GPU could go on from ends it all the same. */
    uint32_t keep_going;
    /** What launches are checked for (emulator_checks.hpp says what each check finds): names of checks with
        commas between them, of races, unwritten, async, barriers, calls, heap, all, none; a name behind a
        minus is taken away, and a list that begins with a minus or a plus begins with all: "none",
        "races,unwritten", "-races", "+equal_stores". Null: all.
        What the device's name says of checks counts more. PTXGRAFT_STATUS_check_unknown names those there
        are. */
    const char* checks;
    /** Lines on which findings are not reported: "races@120" of the PTX, "unwritten@src/scan.cu:41" of a
        source that `.loc` names. A launch goes on from them. */
    const char* const* excuses;
    size_t excuse_count;
    uint64_t shadow_size; /**< of the host, for the memory that races are looked for in; 0: 1 GiB */
    /** May be null. Called with each executed instruction as a line (emulator_observer.hpp has its form), on
        the thread that launches, which then runs the launch alone. A launch or a copy on this device that it
        tries is PTXGRAFT_STATUS_device_in_use; it may read and clear the profile, and destroy the device. It
        is not called any more once the device is destroyed, whatever kernels are left. */
    void (*trace)(const char* line, size_t size, void* payload);
    void* payload;
    uint32_t trace_block[3]; /**< only this one is traced, where `trace_some` has bit 0 */
    uint32_t trace_warp;     /**< only this one of each block, where it has bit 1 */
    uint32_t trace_some;
    uint32_t profile; /**< 1: launches are counted line by line (profile.h); they run on one thread */
    /** 1: kernels work on the memory of this process, at its own addresses: a pointer of the host is one of
        the device, and ptxgraft_buffer_create_borrowed lends what the host has. A launch sees what was mapped
        when it began, and may write what the host may, by mistake too; nothing unmaps it meanwhile. Where
        one object ends and what of it was written is not known then: there only accesses to what is not
        mapped, races, and stores of what nothing wrote are found. Registers, shared and local memory are
        checked as ever. */
    uint32_t process_memory;
    uint32_t zero; /**< always 0 */
} ptxgraft_device_options;
#define PTXGRAFT_DEVICE_OPTIONS_INIT                                                                         \
    {                                                                                                        \
        sizeof(ptxgraft_device_options), 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, {0, 0, 0}, 0, 0, 0, \
            0, 0                                                                                             \
    }
/** As ptxgraft_device_open. `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_open_with_options(ptxgraft_device** device, const char* name,
                                                                 const ptxgraft_device_options* options);
/** The GPU of a context that somebody else made and destroys, later than the device: `context` is a
    CUcontext, as a number. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_open_borrowed(ptxgraft_device** device, uint64_t context);
PTXGRAFT_C_API void ptxgraft_device_destroy(ptxgraft_device* device);
/** Its CUcontext, as a number, for others who work in it; of the emulator 0. */
PTXGRAFT_C_API uint64_t ptxgraft_device_get_context(const ptxgraft_device* device);

/** Number of GPUs; 0 when there is no driver, or when it does not start. */
PTXGRAFT_C_API uint32_t ptxgraft_device_get_cuda_count(void);
PTXGRAFT_C_API ptxgraft_device_kind ptxgraft_device_get_kind(const ptxgraft_device* device);
/** "NVIDIA H200", "emulator". */
PTXGRAFT_C_API const char* ptxgraft_device_get_name(const ptxgraft_device* device);
/** "sm_90a", the architecture to compile skeletons for. */
PTXGRAFT_C_API const char* ptxgraft_device_get_target(const ptxgraft_device* device);
/** What a device is; strings live as long as the device. A number that a device does not know is 0: the
    emulator has neither clocks nor caches, and its limits are those of its architecture. */
typedef struct ptxgraft_device_properties {
    size_t struct_size;
    ptxgraft_device_kind kind;
    const char* name;           /**< "NVIDIA H200", "emulator" */
    const char* uuid;           /**< "GPU-2b1c…", as nvidia-smi -L has it; of the emulator "" */
    const char* target;         /**< "sm_90a", with all that the architecture has */
    const char* driver_version; /**< "13.0"; of the emulator ptxgraft's version */
    uint64_t memory_size;
    uint64_t l2_size;
    uint64_t persisting_l2_size; /**< the most that may persist */
    double bandwidth;            /**< of memory at its peak, in bytes per second, computed of bus and clock */
    uint32_t compute_major;      /**< compute capability */
    uint32_t compute_minor;
    uint32_t multiprocessors;
    uint32_t clock_khz;        /**< of the multiprocessors, the highest */
    uint32_t memory_clock_khz; /**< the highest */
    uint32_t memory_bus_bits;
    uint32_t warp_size;
    uint32_t threads_per_block;
    uint32_t threads_per_multiprocessor;
    uint32_t blocks_per_multiprocessor;
    uint32_t registers_per_block; /**< of 32 bits */
    uint32_t registers_per_multiprocessor;
    uint32_t shared_size_per_block;       /**< static and dynamic, without opting in */
    uint32_t shared_size_per_block_optin; /**< that a launch may have: ptxgraft_kernel_launch opts in */
    uint32_t shared_size_per_multiprocessor;
    uint32_t reserved_shared_size_per_block; /**< that CUDA takes for itself */
    uint32_t blocks_per_cluster;             /**< 1: no clusters; above 8 they are not portable */
    uint32_t cooperative;                    /**< 1: launches whose blocks all run at the same time */
} ptxgraft_device_properties;
#define PTXGRAFT_DEVICE_PROPERTIES_INIT                                                                     \
    {                                                                                                       \
        sizeof(ptxgraft_device_properties), PTXGRAFT_DEVICE_none, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                  \
    }
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_get_properties(ptxgraft_device_properties* properties,
                                                              const ptxgraft_device* device);
/** Whether the device can go on: PTXGRAFT_STATUS_ok, or the error that its context was lost with. A kernel
    that made a GPU fail (an illegal address, a trap) takes the context with it: every call fails from then
    on, and only a new process helps. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_get_health(const ptxgraft_device* device);
/** Waits for everything that was launched. A kernel that failed on a GPU may be reported only here. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_synchronize(const ptxgraft_device* device);
/** Text: what kernels on the emulator printed since this call last succeeded with a buffer. A GPU's driver
    writes to standard output itself. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_take_output(char* text, size_t* size, ptxgraft_device* device);

/** How much of the L2 cache is kept for accesses that ask to persist, at most
    ptxgraft_device_properties::persisting_l2_size. It is of the context, for all who work in it. The emulator
    has no cache: nothing happens. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_set_persisting_l2(const ptxgraft_device* device, size_t size);
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_get_persisting_l2(size_t* size, const ptxgraft_device* device);
/** Makes all lines that persist usual ones again. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_clear_persisting_l2(const ptxgraft_device* device);
/** Modules that are loaded on this GPU by this process and not unloaded yet; of the emulator 0. */
PTXGRAFT_C_API size_t ptxgraft_device_get_module_count(const ptxgraft_device* device);

/** As long as it lives, no other thread loads or unloads a module on this GPU: what would be in measured
    times. It is made and destroyed on one thread, which does not wait for one that loads. */
typedef struct ptxgraft_timing ptxgraft_timing;
PTXGRAFT_C_API ptxgraft_status ptxgraft_timing_create(ptxgraft_timing** timing,
                                                      const ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_timing_destroy(ptxgraft_timing* timing);
/** As long as it lives, the device's context is current in the thread that made it, and a launch there is one
    call of the driver. It is destroyed on the same thread, in the reverse order of others. */
typedef struct ptxgraft_current ptxgraft_current;
PTXGRAFT_C_API ptxgraft_status ptxgraft_current_create(ptxgraft_current** current,
                                                       const ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_current_destroy(ptxgraft_current* current);

/** What launches on an emulator did, and what its checks found where they keep going. It never changes.
    Threads: any number read one at once. */
typedef struct ptxgraft_report ptxgraft_report;

/** Sums of all launches of a report. */
typedef struct ptxgraft_report_info {
    size_t struct_size;
    uint64_t warp_instructions;
    uint64_t thread_instructions;
    uint64_t
        found_count; /**< findings of checks, those that are not listed too; 0: the launches were clean */
    uint64_t excused_count; /**< findings that were excused */
    size_t finding_count;   /**< that are listed, as ptxgraft_report_get_finding_count says */
} ptxgraft_report_info;
#define PTXGRAFT_REPORT_INFO_INIT \
    { sizeof(ptxgraft_report_info), 0, 0, 0, 0, 0 }

/** A mistake of a kernel. One that happens again at the same instruction, or the same two, is one finding. */
typedef struct ptxgraft_finding_info {
    size_t struct_size;
    ptxgraft_status
        status;    /**< what it is: PTXGRAFT_STATUS_data_race, PTXGRAFT_STATUS_memory_not_written, … */
    uint32_t line; /**< in the kernel's PTX, of its first occurrence, from 1; 0: it has no place */
    uint32_t column;
    uint32_t ended; /**< 1: no check's finding, but what ended a launch, which was that launch's error too */
    const char* check; /**< the check that found it: "races"; "" where `ended` is 1 */
    const char*
        message; /**< whole lines, as ptxgraft_error_get_message() gives them: place, block, thread, caret */
    uint64_t threads; /**< in how many threads of how many blocks it happened */
    uint64_t blocks;
} ptxgraft_finding_info;
#define PTXGRAFT_FINDING_INFO_INIT \
    { sizeof(ptxgraft_finding_info), PTXGRAFT_STATUS_ok, 0, 0, 0, NULL, NULL, 0, 0 }

/**
 * What launches on the device did and found since it was last asked. Of a GPU: nothing.
 *
 * @code
 *   ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
 *   options.keep_going = 20;
 *   ptxgraft_device_open_with_options(&device, "emulator", &options);
 *   …
 *   ptxgraft_device_take_report(&report, device);
 *   for (i = 0; i < ptxgraft_report_get_finding_count(report); ++i) {
 *       ptxgraft_finding_info finding = PTXGRAFT_FINDING_INFO_INIT;
 *       ptxgraft_report_get_finding(&finding, report, i);
 *       printf("%sin %llu threads\n", finding.message, (unsigned long long)finding.threads);
 *   }
 *   ptxgraft_report_destroy(report);
 * @endcode
 */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_take_report(ptxgraft_report** report, ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_report_destroy(ptxgraft_report* report);
PTXGRAFT_C_API ptxgraft_status ptxgraft_report_get_info(ptxgraft_report_info* info,
                                                        const ptxgraft_report* report);
/** The findings that are listed: the first ones, at most ptxgraft_device_options::keep_going of the checks,
    and behind them what ended a launch. */
PTXGRAFT_C_API size_t ptxgraft_report_get_finding_count(const ptxgraft_report* report);
PTXGRAFT_C_API ptxgraft_status ptxgraft_report_get_finding(ptxgraft_finding_info* info,
                                                           const ptxgraft_report* report, size_t finding);

/** Device memory. Threads: any number use one at once; what they write at the same time to the same place is
    not specified. */
typedef struct ptxgraft_buffer ptxgraft_buffer;

/** Allocates; what the memory holds is not specified. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_create(ptxgraft_buffer** buffer, const ptxgraft_device* device,
                                                      size_t size);
/** Memory that somebody else owns and frees, later than the buffer, at a device address. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_create_borrowed(ptxgraft_buffer** buffer,
                                                               const ptxgraft_device* device,
                                                               uint64_t address, size_t size);
PTXGRAFT_C_API void ptxgraft_buffer_destroy(ptxgraft_buffer* buffer);

/** Copies host memory into the buffer from `offset` on. Of no bytes `data` may be null, here and below. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_write(ptxgraft_buffer* buffer, size_t offset, const void* data,
                                                     size_t size);
/** Copies from the buffer, from `offset` on, to host memory; waits for launches that came before. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_read(void* data, const ptxgraft_buffer* buffer, size_t offset,
                                                    size_t size);
/** Sets every byte. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_fill(ptxgraft_buffer* buffer, uint8_t value);
/** The same with bytes that no kernel is to read: the emulator finds those that do. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_fill_unwritten(ptxgraft_buffer* buffer, uint8_t value);
/** Copies another buffer of the same device and size, without the host. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_copy(ptxgraft_buffer* buffer, const ptxgraft_buffer* source);
PTXGRAFT_C_API size_t ptxgraft_buffer_get_size(const ptxgraft_buffer* buffer);
/** The device address, for pointers within structs that are given to a kernel. */
PTXGRAFT_C_API uint64_t ptxgraft_buffer_get_address(const ptxgraft_buffer* buffer);

/** An order of launches on a device. Threads: any number launch on one at once. */
typedef struct ptxgraft_stream ptxgraft_stream;
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_create(ptxgraft_stream** stream,
                                                      const ptxgraft_device* device);
/** How a stream is made. */
typedef struct ptxgraft_stream_options {
    size_t struct_size;
    int32_t priority;      /**< lower numbers come first; 0 is usual */
    uint32_t non_blocking; /**< 1: it does not wait for launches without a stream, nor they for it */
} ptxgraft_stream_options;
#define PTXGRAFT_STREAM_OPTIONS_INIT \
    { sizeof(ptxgraft_stream_options), 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_create_with_options(ptxgraft_stream** stream,
                                                                   const ptxgraft_device* device,
                                                                   const ptxgraft_stream_options* options);
/** A stream that somebody else made in the device's context and destroys later: `handle` is a CUstream, as a
    number (PyTorch: torch.cuda.current_stream().cuda_stream); 0 is the default stream. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_create_borrowed(ptxgraft_stream** stream,
                                                               const ptxgraft_device* device,
                                                               uint64_t handle);
/** The priorities that make a difference: the most urgent is the lowest number. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_get_priorities(int32_t* least, int32_t* greatest,
                                                              const ptxgraft_device* device);
/** Its CUstream, as a number; of the emulator 0. */
PTXGRAFT_C_API uint64_t ptxgraft_stream_get_handle(const ptxgraft_stream* stream);
PTXGRAFT_C_API void ptxgraft_stream_destroy(ptxgraft_stream* stream);
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_synchronize(const ptxgraft_stream* stream);

/** A point in a stream's time. Threads: one at a time uses an event. */
typedef struct ptxgraft_event ptxgraft_event;
PTXGRAFT_C_API ptxgraft_status ptxgraft_event_create(ptxgraft_event** event, const ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_event_destroy(ptxgraft_event* event);
/** Marks what was launched on the stream so far; a null stream is the device's own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_event_record(ptxgraft_event* event, const ptxgraft_stream* stream);
/** Milliseconds between two recorded events; waits for both. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_event_get_elapsed(float* milliseconds, const ptxgraft_event* start,
                                                          const ptxgraft_event* end);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_DEVICE_H */
