#ifndef PTXGRAFT_H
#define PTXGRAFT_H
/**
 * @file ptxgraft.h
 * ptxgraft from C (C99) and from every language that can call C.
 *
 * A **skeleton** is a CUDA kernel with marked **sites**, compiled once to PTX. A **stub** is a checked
 * instruction sequence for a site. Grafting stubs into a skeleton gives a **kernel**, which is launched on a
 * **device**: a CUDA GPU, or the emulator, which runs the same programs on the CPU.
 *
 * @code
 *   #include <ptxgraft/ptxgraft.h>
 *   #include <stdio.h>
 *
 *   // out[i] = relu(x[i]): the site `apply` has the operands `in f32 x` and `out f32 y`.
 *   static ptxgraft_status relu(const char* file, const float* x, float* out, uint32_t count) {
 *       ptxgraft_device* device = NULL;
 *       ptxgraft_skeleton* skeleton = NULL;
 *       ptxgraft_stub* stub = NULL;
 *       ptxgraft_kernel* kernel = NULL;
 *       ptxgraft_buffer* in_buffer = NULL;
 *       ptxgraft_buffer* out_buffer = NULL;
 *       const char program[] = "x 0.0 max.f32 -> y";
 *       const size_t bytes = count * sizeof(float);
 *       ptxgraft_status status;
 *
 *       if ((status = ptxgraft_device_open(&device, "auto"))) goto done;
 *       if ((status = ptxgraft_skeleton_create_from_file(&skeleton, file, NULL))) goto done;
 *       status = ptxgraft_stub_create_from_program(&stub, skeleton, "apply", program, sizeof program - 1);
 *       if (status) goto done;
 *
 *       ptxgraft_graft graft = {"apply", stub};
 *       ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
 *       options.grafts = &graft;
 *       options.graft_count = 1;
 *       if ((status = ptxgraft_kernel_create(&kernel, skeleton, device, &options))) goto done;
 *
 *       if ((status = ptxgraft_buffer_create(&in_buffer, device, bytes))) goto done;
 *       if ((status = ptxgraft_buffer_create(&out_buffer, device, bytes))) goto done;
 *       if ((status = ptxgraft_buffer_write(in_buffer, 0, x, bytes))) goto done;
 *
 *       ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(in_buffer), PTXGRAFT_BUFFER(out_buffer),
 *                                         PTXGRAFT_VALUE(count)};
 *       ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
 *       launch.grid[0] = (count + 127) / 128;
 *       launch.block[0] = 128;
 *       if ((status = ptxgraft_kernel_launch(kernel, &launch, arguments, 3))) goto done;
 *       status = ptxgraft_buffer_read(out, out_buffer, 0, bytes);
 *   done:
 *       if (status != PTXGRAFT_STATUS_ok) fputs(ptxgraft_error_get_message(), stderr);
 *       ptxgraft_buffer_destroy(out_buffer);
 *       ptxgraft_buffer_destroy(in_buffer);
 *       ptxgraft_kernel_destroy(kernel);
 *       ptxgraft_stub_destroy(stub);
 *       ptxgraft_skeleton_destroy(skeleton);
 *       ptxgraft_device_destroy(device);
 *       return status;
 *   }
 * @endcode
 *
 * ## Rules that hold everywhere
 *
 * - **Names**: functions are `ptxgraft_<noun>_<verb>`; what a function makes comes first, then what it works
 *   on. Enumerators are `PTXGRAFT_<ENUM>_<value>`, the value in lower case but for the B of bytes, as PTX
 *   writes both: PTXGRAFT_TENSOR_u8, PTXGRAFT_SWIZZLE_128B_atom_32B, PTXGRAFT_STATUS_site_unknown. Macros are
 *   capitals.
 * - **Errors**: a function that can fail returns a ptxgraft_status: PTXGRAFT_STATUS_ok is 0 and the only
 *   success. On failure it writes nothing through its out parameters, with one exception:
 *   PTXGRAFT_STATUS_buffer_too_small says in `*size` how many bytes are needed. ptxgraft_error_get_message()
 *   says what was wrong, where, and what would be right. No exception leaves the library.
 * - **Arguments** are checked: PTXGRAFT_STATUS_argument_invalid is the status of a null pointer where none is
 *   allowed, of a null list whose count is above 0, of a null string in a list, of a number that is no
 *   enumerator, of an index past the last, and of a struct_size that is none. The message names the parameter
 *   or the field. A yes or no is a uint32_t: 0 is no, everything else is yes.
 * - **Getters** that cannot fail return the value itself: a count, a size, an address, a name. Of a null
 *   object the value is 0, or "" where it is a string, and the thread's error message says that the object is
 *   null. A getter by index gives NULL where there is nothing of that index, or no object, and the message
 *   says so.
 * - **Ownership**: what `create`, `open` or `take_report` gave is the caller's, until `destroy`;
 *   `destroy(NULL)` does nothing. Objects keep alive what they depend on: they may be destroyed in any order.
 *   Inputs are copied or used within the call; the library keeps no pointer of the caller. Strings that a
 *   getter returns or an info struct holds belong to the object that was asked and live as long as it.
 * - **Texts and bytes in**: a pointer and a size in bytes; they need no zero at the end. Names (of sites,
 *   entries, files, devices) are zero-terminated.
 * - **Texts and bytes out**, where they are long or made by the call: `(buffer, &size, object)`, to be called
 *   twice. With a null buffer, `*size` becomes the bytes needed. With a buffer, `*size` on entry is its
 *   capacity; if that is too small, the call is PTXGRAFT_STATUS_buffer_too_small, `*size` becomes the bytes
 *   needed and the buffer stays untouched; else `*size` becomes the bytes written. A text ends with a zero
 *   byte, which `*size` counts; machine code does not.
 * - **Structs** start with `struct_size`, the size that the caller was compiled with: start from the `_INIT`
 *   macro. That way they may grow at their end in later versions, and programs and libraries of different
 *   versions go together:
 *   - Options, which the caller fills: what a shorter struct of an earlier version lacks has the value that
 *     `_INIT` gives it. A longer struct of a later version is taken if all that this library does not know of
 *     it is zero; else it asks for what this library cannot do, and is refused. Zero means "as before" in
 *     every field to come.
 *   - Infos, which the library fills: it writes as much as both know. What a longer struct has behind that
 *     stays as it was, and so does `struct_size`.
 *   - Less than the first version had is refused.
 *   - ptxgraft_graft, ptxgraft_argument and ptxgraft_tensor_map have no struct_size, since they stand in
 *     arrays and are passed by value. They are final: they will never change.
 * - **Threads**: every function may be called from several threads at once, also on one object; only its
 *   `destroy` comes after all other calls with that object, and an event is used by one thread at a time.
 *   Launches and copies on one emulator device take turns, first come, first served; making and destroying
 *   kernels, buffers and all else does not wait for them. The error message is the thread's own.
 * - **Indices** count from 0. Sizes and offsets are in bytes, times in milliseconds.
 */

#include <stddef.h>
#include <stdint.h>

#include "ptxgraft/version.h"

#define PTXGRAFT_C_API __attribute__((visibility("default")))

/* Enums are as large as int and may hold every int, so that the library can tell those that are no
   enumerators. */
#ifdef __cplusplus
#define PTXGRAFT_C_ENUM : int
#else
#define PTXGRAFT_C_ENUM
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------- errors */

/**
 * What a call came to. The values are fixed; errc.def lists them all and says what each means, each as
 * PTXGRAFT_STATUS_<name>: PTXGRAFT_STATUS_out_of_memory, PTXGRAFT_STATUS_site_unknown, …
 */
typedef enum ptxgraft_status PTXGRAFT_C_ENUM {
#define PTXGRAFT_ERRC(name, value, message) PTXGRAFT_STATUS_##name = value,
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
} ptxgraft_status;
typedef char ptxgraft_enums_are_ints[sizeof(ptxgraft_status) == sizeof(int) ? 1 : -1];

/** The name of a status: "site_unknown". Never null; "unknown" for a value that is none. */
PTXGRAFT_C_API const char* ptxgraft_status_get_name(ptxgraft_status status);

/**
 * What went wrong in this thread's last call that failed: whole lines of text,
 *
 *     program:1:7: error: …
 *     x y add.f64 -> z
 *         ^~~~~~~
 *
 * Never null; empty before the first failure. Valid until the thread's next failing call, or until the thread
 * ends. While the thread ends, in destructors of thread-local objects, a message may be cut short.
 */
PTXGRAFT_C_API const char* ptxgraft_error_get_message(void);

/** Line and column, from 1, of the same error in the text that it is about; 0 when it has no place. */
PTXGRAFT_C_API uint32_t ptxgraft_error_get_line(void);
PTXGRAFT_C_API uint32_t ptxgraft_error_get_column(void);

/** "0.1.0": of the library that runs; PTXGRAFT_VERSION_STRING is that of this header. Never null. */
PTXGRAFT_C_API const char* ptxgraft_library_get_version(void);
/** "nvptxcompiler 13.5.37": what makes machine code for a GPU. Never null. The first call takes some
 * milliseconds. */
PTXGRAFT_C_API const char* ptxgraft_library_get_assembler(void);

/* ------------------------------------------------------------------------------------------------ devices */

/** Where kernels run. */
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
} ptxgraft_device_options;
#define PTXGRAFT_DEVICE_OPTIONS_INIT \
    { sizeof(ptxgraft_device_options), 0, 0, 0, 0, 0, 0, NULL, NULL, 0 }
/** As ptxgraft_device_open. `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_open_with_options(ptxgraft_device** device, const char* name,
                                                                 const ptxgraft_device_options* options);
PTXGRAFT_C_API void ptxgraft_device_destroy(ptxgraft_device* device);

/** Number of GPUs; 0 when there is no driver, or when it does not start. */
PTXGRAFT_C_API uint32_t ptxgraft_device_get_cuda_count(void);
PTXGRAFT_C_API ptxgraft_device_kind ptxgraft_device_get_kind(const ptxgraft_device* device);
/** "NVIDIA H200", "emulator". */
PTXGRAFT_C_API const char* ptxgraft_device_get_name(const ptxgraft_device* device);
/** "sm_90a", the architecture to compile skeletons for. */
PTXGRAFT_C_API const char* ptxgraft_device_get_target(const ptxgraft_device* device);
/** Waits for everything that was launched. A kernel that failed on a GPU may be reported only here. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_synchronize(const ptxgraft_device* device);
/** Text: what kernels on the emulator printed since this call last succeeded with a buffer. A GPU's driver
    writes to standard output itself. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_take_output(char* text, size_t* size, ptxgraft_device* device);

/** What launches on an emulator did, and what its checks found where they keep going. */
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

/** Device memory. */
typedef struct ptxgraft_buffer ptxgraft_buffer;

/** Allocates; what the memory holds is not specified. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_create(ptxgraft_buffer** buffer, const ptxgraft_device* device,
                                                      size_t size);
PTXGRAFT_C_API void ptxgraft_buffer_destroy(ptxgraft_buffer* buffer);

/** Copies host memory into the buffer from `offset` on. Of no bytes `data` may be null, here and below. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_write(ptxgraft_buffer* buffer, size_t offset, const void* data,
                                                     size_t size);
/** Copies from the buffer, from `offset` on, to host memory; waits for launches that came before. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_read(void* data, const ptxgraft_buffer* buffer, size_t offset,
                                                    size_t size);
/** Sets every byte. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_fill(ptxgraft_buffer* buffer, uint8_t value);
PTXGRAFT_C_API size_t ptxgraft_buffer_get_size(const ptxgraft_buffer* buffer);
/** The device address, for pointers within structs that are given to a kernel. */
PTXGRAFT_C_API uint64_t ptxgraft_buffer_get_address(const ptxgraft_buffer* buffer);

/** Types of a tensor's elements: the values are those of CUtensorMapDataType. */
typedef enum ptxgraft_tensor_type PTXGRAFT_C_ENUM {
    PTXGRAFT_TENSOR_u8 = 0,
    PTXGRAFT_TENSOR_u16 = 1,
    PTXGRAFT_TENSOR_u32 = 2,
    PTXGRAFT_TENSOR_s32 = 3,
    PTXGRAFT_TENSOR_u64 = 4,
    PTXGRAFT_TENSOR_s64 = 5,
    PTXGRAFT_TENSOR_f16 = 6,
    PTXGRAFT_TENSOR_f32 = 7,
    PTXGRAFT_TENSOR_f64 = 8,
    PTXGRAFT_TENSOR_bf16 = 9,
    PTXGRAFT_TENSOR_f32_ftz = 10,
    PTXGRAFT_TENSOR_tf32 = 11,
    PTXGRAFT_TENSOR_tf32_ftz = 12,
    PTXGRAFT_TENSOR_b4x16 = 13,
    PTXGRAFT_TENSOR_b4x16_p64 = 14,
    PTXGRAFT_TENSOR_b6x16_p32 = 15
} ptxgraft_tensor_type;
typedef enum ptxgraft_tensor_interleave PTXGRAFT_C_ENUM {
    PTXGRAFT_INTERLEAVE_none = 0,
    PTXGRAFT_INTERLEAVE_16B = 1,
    PTXGRAFT_INTERLEAVE_32B = 2
} ptxgraft_tensor_interleave;
typedef enum ptxgraft_tensor_swizzle PTXGRAFT_C_ENUM {
    PTXGRAFT_SWIZZLE_none = 0,
    PTXGRAFT_SWIZZLE_32B = 1,
    PTXGRAFT_SWIZZLE_64B = 2,
    PTXGRAFT_SWIZZLE_128B = 3,
    PTXGRAFT_SWIZZLE_128B_atom_32B = 4,
    PTXGRAFT_SWIZZLE_128B_atom_32B_flip_8B = 5,
    PTXGRAFT_SWIZZLE_128B_atom_64B = 6
} ptxgraft_tensor_swizzle;
typedef enum ptxgraft_tensor_l2_promotion PTXGRAFT_C_ENUM {
    PTXGRAFT_L2_PROMOTION_none = 0,
    PTXGRAFT_L2_PROMOTION_64B = 1,
    PTXGRAFT_L2_PROMOTION_128B = 2,
    PTXGRAFT_L2_PROMOTION_256B = 3
} ptxgraft_tensor_l2_promotion;
typedef enum ptxgraft_tensor_fill PTXGRAFT_C_ENUM {
    PTXGRAFT_FILL_zero = 0,
    PTXGRAFT_FILL_nan = 1
} ptxgraft_tensor_fill;

/** A tensor in a buffer and the boxes that `cp.async.bulk.tensor` copies; what each value may be is said at
    cuTensorMapEncodeTiled. Arrays begin with the innermost dimension. */
typedef struct ptxgraft_tensor_map_options {
    size_t struct_size;
    size_t offset; /**< of the tensor's first element in the buffer; a multiple of 16 */
    ptxgraft_tensor_type type;
    uint32_t rank;        /**< 1 to 5 */
    const uint64_t* dims; /**< rank numbers, in elements */
    const uint64_t*
        strides; /**< rank - 1 numbers, in bytes, from the second dimension on; may be null for rank 1 */
    const uint32_t* box;             /**< rank numbers, in elements */
    const uint32_t* element_strides; /**< rank numbers; null: all 1 */
    ptxgraft_tensor_interleave interleave;
    ptxgraft_tensor_swizzle swizzle;
    ptxgraft_tensor_l2_promotion l2_promotion;
    ptxgraft_tensor_fill fill;
} ptxgraft_tensor_map_options;
#define PTXGRAFT_TENSOR_MAP_OPTIONS_INIT                                                                    \
    {                                                                                                       \
        sizeof(ptxgraft_tensor_map_options), 0, PTXGRAFT_TENSOR_u8, 0, NULL, NULL, NULL, NULL,              \
            PTXGRAFT_INTERLEAVE_none, PTXGRAFT_SWIZZLE_none, PTXGRAFT_L2_PROMOTION_none, PTXGRAFT_FILL_zero \
    }

/** Opaque: an argument of a kernel, by value (PTXGRAFT_VALUE). Final. */
typedef struct ptxgraft_tensor_map {
    uint64_t words[16];
} ptxgraft_tensor_map;
/** Makes the tensor map of a tensor in a buffer, for kernels on the buffer's device. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_tensor_map_encode(ptxgraft_tensor_map* map,
                                                          const ptxgraft_buffer* buffer,
                                                          const ptxgraft_tensor_map_options* options);

/* ---- Tolerance of tensor-core sums (tolerance.hpp says where the bounds come from) ---- */

/** Types of multiplicands; the accumulator is .f32, or .f16. */
typedef enum ptxgraft_product_type PTXGRAFT_C_ENUM {
    PTXGRAFT_PRODUCT_f16 = 0,
    PTXGRAFT_PRODUCT_bf16 = 1,
    PTXGRAFT_PRODUCT_tf32 = 2,
    PTXGRAFT_PRODUCT_e4m3 = 3,
    PTXGRAFT_PRODUCT_e5m2 = 4
} ptxgraft_product_type;
typedef enum ptxgraft_accumulator_type PTXGRAFT_C_ENUM {
    PTXGRAFT_ACCUMULATOR_f32 = 0,
    PTXGRAFT_ACCUMULATOR_f16 = 1
} ptxgraft_accumulator_type;
/** One element of A * B + C. */
typedef struct ptxgraft_sum_options {
    size_t struct_size;
    ptxgraft_product_type type;
    ptxgraft_accumulator_type accumulator;
    uint64_t products; /**< those of the whole matrix product: K */
    double exact;      /**< c plus the sum of the products, computed in double */
    double magnitudes; /**< the sum of the absolute values of the products, computed in double */
} ptxgraft_sum_options;
#define PTXGRAFT_SUM_OPTIONS_INIT \
    { sizeof(ptxgraft_sum_options), PTXGRAFT_PRODUCT_f16, PTXGRAFT_ACCUMULATOR_f32, 0, 0, 0 }
/** Between which values the element lies, in whatever order and precision the hardware adds. A bound is
    infinite where intermediate sums may overflow that way; where both are, NaN is legal as well. An `exact`
    that is infinite or NaN is both bounds, and nothing else is legal. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_sum_get_bounds(double* lowest, double* highest,
                                                       const ptxgraft_sum_options* options);

/** An order of launches on a device. */
typedef struct ptxgraft_stream ptxgraft_stream;
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_create(ptxgraft_stream** stream,
                                                      const ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_stream_destroy(ptxgraft_stream* stream);
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_synchronize(const ptxgraft_stream* stream);

/** A point in a stream's time. */
typedef struct ptxgraft_event ptxgraft_event;
PTXGRAFT_C_API ptxgraft_status ptxgraft_event_create(ptxgraft_event** event, const ptxgraft_device* device);
PTXGRAFT_C_API void ptxgraft_event_destroy(ptxgraft_event* event);
/** Marks what was launched on the stream so far; a null stream is the device's own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_event_record(ptxgraft_event* event, const ptxgraft_stream* stream);
/** Milliseconds between two recorded events; waits for both. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_event_get_elapsed(float* milliseconds, const ptxgraft_event* start,
                                                          const ptxgraft_event* end);

/* ---------------------------------------------------------------------------------------------- skeletons */

/** Annotated PTX with its sites. */
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
} ptxgraft_cuda_options;
#define PTXGRAFT_CUDA_OPTIONS_INIT \
    { sizeof(ptxgraft_cuda_options), NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 0 }

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
    operands. */
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
PTXGRAFT_C_API void ptxgraft_stub_destroy(ptxgraft_stub* stub);

/** Text: the PTX that is spliced into the skeleton. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stub_get_ptx(char* text, size_t* size, const ptxgraft_stub* stub);
PTXGRAFT_C_API uint32_t ptxgraft_stub_get_instruction_count(const ptxgraft_stub* stub);

/* ------------------------------------------------------------------------------------------------ kernels */

/** An entry of a skeleton with its stubs, loaded on a device. */
typedef struct ptxgraft_kernel ptxgraft_kernel;

/** One filled site. Final. */
typedef struct ptxgraft_graft {
    const char* site;
    const ptxgraft_stub* stub;
} ptxgraft_graft;

/** What becomes of a skeleton. Sites that no graft names keep their default stub. */
typedef struct ptxgraft_graft_options {
    size_t struct_size;
    const ptxgraft_graft* grafts;
    size_t graft_count;
    const char* entry;               /**< null: the only one */
    uint32_t optimisation;           /**< of the assembler, 0 to 3 */
    uint32_t max_registers;          /**< per thread; 0: no limit */
    uint32_t allow_performance_loss; /**< 1: keep machine code that the assembler says lost performance */
    uint32_t line_info;              /**< 1: the machine code says which lines it comes from, for profilers */
} ptxgraft_graft_options;
#define PTXGRAFT_GRAFT_OPTIONS_INIT \
    { sizeof(ptxgraft_graft_options), NULL, 0, NULL, 3, 0, 0, 0 }

/** Text: the PTX with the stubs in. `grafts` may be null when `count` is 0. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_skeleton_render(char* text, size_t* size,
                                                        const ptxgraft_skeleton* skeleton,
                                                        const ptxgraft_graft* grafts, size_t count);

/** Renders, assembles (on a GPU) and loads. `options` may be null: every site keeps its default stub. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_create(ptxgraft_kernel** kernel,
                                                      const ptxgraft_skeleton* skeleton,
                                                      const ptxgraft_device* device,
                                                      const ptxgraft_graft_options* options);
PTXGRAFT_C_API void ptxgraft_kernel_destroy(ptxgraft_kernel* kernel);

/** Text: the PTX with the stubs in. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_ptx(char* text, size_t* size,
                                                       const ptxgraft_kernel* kernel);
/** Bytes: the machine code, an ELF. PTXGRAFT_STATUS_machine_code_missing on the emulator. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_cubin(void* bytes, size_t* size,
                                                         const ptxgraft_kernel* kernel);
/** What made it, "nvptxcompiler 13.5.37"; "" on the emulator, where there is no machine code. */
PTXGRAFT_C_API const char* ptxgraft_kernel_get_assembler(const ptxgraft_kernel* kernel);
/** The entry's name. */
PTXGRAFT_C_API const char* ptxgraft_kernel_get_entry(const ptxgraft_kernel* kernel);

/** Milliseconds that the steps of ptxgraft_kernel_create took. */
typedef struct ptxgraft_kernel_times {
    size_t struct_size;
    double render, assemble, load;
} ptxgraft_kernel_times;
#define PTXGRAFT_KERNEL_TIMES_INIT \
    { sizeof(ptxgraft_kernel_times), 0, 0, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_kernel_get_times(ptxgraft_kernel_times* times,
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
} ptxgraft_launch_options;
#define PTXGRAFT_LAUNCH_OPTIONS_INIT \
    { sizeof(ptxgraft_launch_options), {1, 1, 1}, {1, 1, 1}, 0, NULL, {1, 1, 1}, 0, 0, 0, NULL, NULL }

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

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_H */
