#ifndef PTXGRAFT_C_KERNEL_H
#define PTXGRAFT_C_KERNEL_H
/**
 * @file kernel.h
 * Kernels: grafted, loaded, launched.
 */

#include "ptxgraft/c/device.h"
#include "ptxgraft/c/machine_code.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An entry of a skeleton with its stubs, loaded on a device. Threads: any number launch and read one at
    once. */
typedef struct ptxgraft_kernel ptxgraft_kernel;

/** Renders, assembles (for a GPU) and loads. `options` may be null: every site keeps its default stub. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_create(ptxgraft_kernel** kernel,
                                                      const ptxgraft_skeleton* skeleton,
                                                      const ptxgraft_device* device,
                                                      const ptxgraft_graft_options* options);
/** Which of the driver's two handles of a kernel it is: a CUfunction, of a module that is loaded in one
    context; a CUkernel, of a library, for every context. */
typedef enum ptxgraft_function_handle PTXGRAFT_C_ENUM {
    PTXGRAFT_FUNCTION_HANDLE_function = 0,
    PTXGRAFT_FUNCTION_HANDLE_kernel = 1
} ptxgraft_function_handle;
/** A kernel that somebody else loaded in the device's context, and unloads later than this is destroyed;
    `handle` is a CUfunction or a CUkernel, as a number. The driver says its name and how many bytes each
    parameter has: parameters are named by their numbers, "0", "1" …, with types of bits alone, "b64" where
    one has 8 bytes, "b8" where no number has so many. Its PTX is empty, and machine code it has none.
    PTXGRAFT_STATUS_device_differs on the emulator, PTXGRAFT_STATUS_driver_too_old before CUDA 12.4. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_create_borrowed(ptxgraft_kernel** kernel,
                                                               const ptxgraft_device* device,
                                                               ptxgraft_function_handle kind,
                                                               uint64_t handle);
PTXGRAFT_C_API void ptxgraft_kernel_destroy(ptxgraft_kernel* kernel);

/** Text: the PTX with the stubs in. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_ptx(char* text, size_t* size,
                                                       const ptxgraft_kernel* kernel);
/** Bytes: the machine code, an ELF. PTXGRAFT_STATUS_machine_code_missing on the emulator, and of a borrowed
    one. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_cubin(void* bytes, size_t* size,
                                                         const ptxgraft_kernel* kernel);
/** The machine code with all that is known of it, and the routes of the stubs. On the emulator it has no
    image and no functions. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_code_create_from_kernel(ptxgraft_machine_code** code,
                                                                        const ptxgraft_kernel* kernel);
/** What made it, "nvptxcompiler 13.5.37"; "" on the emulator, where there is no machine code. */
PTXGRAFT_C_API const char* ptxgraft_kernel_get_assembler(const ptxgraft_kernel* kernel);
/** The entry's name. */
PTXGRAFT_C_API const char* ptxgraft_kernel_get_entry(const ptxgraft_kernel* kernel);

/** Other constants for a site whose stub has them as data, in the order of ptxgraft_stub_get_constants().
    They count for what is launched later on that stream (null: the device's own), as the arguments of a
    launch do; it is for all handles of this kernel, and no other kernel sees it.
    PTXGRAFT_STATUS_constants_differ for a site without such constants, and for another number of them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_set_constants(const ptxgraft_kernel* kernel, const char* site,
                                                             const uint64_t* constants, size_t count,
                                                             const ptxgraft_stream* stream);

/** Milliseconds that the steps of ptxgraft_kernel_create took. */
typedef struct ptxgraft_kernel_times {
    size_t struct_size;
    double render, assemble, load;
    double link;
} ptxgraft_kernel_times;
#define PTXGRAFT_KERNEL_TIMES_INIT \
    { sizeof(ptxgraft_kernel_times), 0, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_times(ptxgraft_kernel_times* times,
                                                         const ptxgraft_kernel* kernel);

/** What a loaded kernel takes; what is not known is 0: the emulator has no registers to count. */
typedef struct ptxgraft_kernel_attributes {
    size_t struct_size;
    uint32_t registers;                /**< of a thread */
    uint32_t local_size;               /**< of a thread: spills, arrays, its stack */
    uint32_t static_shared_size;       /**< of a block */
    uint32_t most_dynamic_shared_size; /**< that a launch may ask for beside them */
    uint32_t const_size;               /**< of `.const` variables */
    uint32_t threads_per_block;        /**< the most that a launch may have */
    uint32_t binary_version;           /**< 90: of the machine code */
    uint32_t ptx_version;              /**< 80: that it was made from */
} ptxgraft_kernel_attributes;
#define PTXGRAFT_KERNEL_ATTRIBUTES_INIT \
    { sizeof(ptxgraft_kernel_attributes), 0, 0, 0, 0, 0, 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_attributes(ptxgraft_kernel_attributes* attributes,
                                                              const ptxgraft_kernel* kernel);

/** A parameter of the kernel, as its PTX declares it. */
typedef struct ptxgraft_parameter_info {
    size_t struct_size;
    const char* name;
    const char* type; /**< "u64", "f32"; "b8" for structs */
    size_t size;      /**< of the whole parameter */
} ptxgraft_parameter_info;
#define PTXGRAFT_PARAMETER_INFO_INIT \
    { sizeof(ptxgraft_parameter_info), NULL, NULL, 0 }
PTXGRAFT_C_API size_t ptxgraft_kernel_get_parameter_count(const ptxgraft_kernel* kernel);
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_parameter(ptxgraft_parameter_info* info,
                                                             const ptxgraft_kernel* kernel, size_t parameter);

/** A `.global` or `.const` variable of the kernel's module, by its name in PTX, as a buffer: to be destroyed
    as others are; it keeps the module loaded. PTXGRAFT_STATUS_symbol_unknown names those that there are. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_create_from_variable(ptxgraft_buffer** buffer,
                                                                    const ptxgraft_kernel* kernel,
                                                                    const char* name);

/**
 * The shape of a launch: grid in blocks, block in threads, each x, y, z; and what ends it before the kernel
 * ends, whichever comes first. A launch that was ended is an error that says where the kernel was, and leaves
 * the device ready for the next one. A GPU cannot end a kernel: there a budget or a time limit is
 * PTXGRAFT_STATUS_limit_not_possible, and `should_stop` is called once, before the kernel is queued.
 */
typedef struct ptxgraft_launch_options {
    size_t struct_size;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_size;          /**< dynamic shared memory of a block */
    const ptxgraft_stream* stream; /**< null: the device's own */
    uint32_t cluster[3];  /**< in blocks; {1, 1, 1}: none, or what the entry's .reqnctapercluster says */
    uint32_t cooperative; /**< 1: all blocks run at the same time, as grid-wide barriers need */
    /** Warp instructions; what makes the host do much more than others counts as many. 0: the device's
        budget; PTXGRAFT_NO_INSTRUCTION_BUDGET: none. PTXGRAFT_STATUS_instruction_budget_spent */
    uint64_t instruction_budget;
    /** Milliseconds from when the kernel begins; 0: the device's limit; PTXGRAFT_NO_TIME_LIMIT: none.
        PTXGRAFT_STATUS_time_limit_spent */
    uint32_t time_limit_ms;
    /** May be null. Called on the launching thread every few milliseconds while the launch runs or waits for
        its turn: what is not 0 ends it, as PTXGRAFT_STATUS_launch_stopped. It may call this library; to
        launch or copy on the same device is PTXGRAFT_STATUS_device_in_use. */
    int (*should_stop)(void* payload);
    void* payload;
    /** 1: it may begin before the kernel in front of it in the stream has ended, and waits where it says
        griddepcontrol.wait. It changes the time alone. */
    uint32_t programmatic;
    uint32_t has_priority; /**< 1: `priority` counts instead of the stream's */
    int32_t priority;      /**< lower numbers come first: a hint, of a GPU alone */
    uint32_t zero;         /**< always 0 */
} ptxgraft_launch_options;
#define PTXGRAFT_LAUNCH_OPTIONS_INIT                                                                       \
    {                                                                                                      \
        sizeof(ptxgraft_launch_options), {1, 1, 1}, {1, 1, 1}, 0, NULL, {1, 1, 1}, 0, 0, 0, NULL, NULL, 0, \
            0, 0, 0                                                                                        \
    }

/** An argument: a buffer, whose address the kernel gets, or else a value of `size` bytes, exactly the
    parameter's; not both. Final. */
typedef struct ptxgraft_argument {
    const ptxgraft_buffer* buffer;
    const void* data;
    size_t size;
} ptxgraft_argument;
#define PTXGRAFT_BUFFER(handle) \
    { (handle), NULL, 0 }
#define PTXGRAFT_VALUE(variable) \
    { NULL, &(variable), sizeof(variable) }

/** Checks shape and arguments and launches; asynchronous on a GPU. `options` may be null: one block of one
    thread. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_launch(const ptxgraft_kernel* kernel,
                                                      const ptxgraft_launch_options* options,
                                                      const ptxgraft_argument* arguments, size_t count);

/** Blocks of so many threads and bytes of dynamic shared memory that a multiprocessor runs at once; 0: a
    launch is not possible. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_occupancy(uint32_t* blocks, const ptxgraft_kernel* kernel,
                                                             uint32_t block_threads, uint32_t shared_size);
/** Clusters of a launch that the whole device runs at once. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_active_clusters(uint32_t* clusters,
                                                                   const ptxgraft_kernel* kernel,
                                                                   const ptxgraft_launch_options* options);
/** How much of a multiprocessor's memory should be shared memory, in percent of the most; -1: as the driver
    likes. A hint, for all handles of the kernel. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_set_shared_percent(const ptxgraft_kernel* kernel,
                                                                  int32_t percent);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_KERNEL_H */
