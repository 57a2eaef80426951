#ifndef PTXGRAFT_H
#define PTXGRAFT_H
/**
 * @file ptxgraft.h
 * ptxgraft from C (C99) and from every language that can call C. This header has the rules that hold
 * everywhere; each topic has a header of its own, which this one includes:
 *
 * | header | what |
 * |---|---|
 * | c/status.h | errors, versions |
 * | c/device.h | devices, their properties and memory, streams, events, what the emulator's checks found |
 * | c/tensor.h | tensor maps; bounds of tensor-core sums |
 * | c/cache.h | the cache, in memory and in a folder |
 * | c/assembler.h | assemblers, worker processes, stops |
 * | c/skeleton.h | skeletons, their sites, stubs |
 * | c/graft.h | grafts, routes, limits: what becomes of a skeleton |
 * | c/machine_code.h | machine code without a device |
 * | c/kernel.h | kernels, launches |
 * | c/batch.h | many candidates at once |
 * | c/stack.h | the stack language: sets, machines, programs, many of them compiled at once |
 * | c/evaluate.h | programs on the CPU, their errors |
 * | c/module.h | PTX as a tree: verify, look, edit |
 * | c/isa.h | the table of PTX instructions |
 * | c/template.h | the library's skeletons, launches of them from dimensions, trials |
 * | c/search.h | searches for programs, by ask and tell or run; archives |
 * | c/pool.h | variants checked in worker processes |
 * | c/session.h | how long kernels take beside a baseline on a GPU; what paired times say |
 * | c/emit.h | kernels that a program writes, instruction by instruction |
 * | c/profile.h | what launches on an emulator did, line by line |
 * | c/graph.h | launches that are queued with one call, captured or added up |
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
 *   allowed, of a null list whose count is above 0, of a count of 2^32 or more, of a null string in a list,
 *   of a number that is no enumerator, of an index past the last, of a struct_size that is none, and of an
 *   option that is always 0 and is not. The message names the parameter or the field. A yes or no is a
 *   uint32_t: 0 is no, everything else is yes.
 * - **Getters** that cannot fail return the value itself: a count, a size, an address, a name. Of a null
 *   object the value is 0, or "" where it is a string, and the thread's error message says that the object is
 *   null. A getter by index gives NULL where there is nothing of that index, or no object, and the message
 *   says so.
 * - **Ownership**: what `create`, `open`, `prepare`, `ask` or `take` gave is the caller's, until `destroy`;
 *   `destroy(NULL)` does nothing. Objects keep alive what they depend on: they may be destroyed in any order.
 *   Inputs are copied or used within the call; the library keeps no pointer of the caller. Strings that a
 *   getter returns or an info struct holds belong to the object that was asked and live as long as it.
 * - **Texts and bytes in**: a pointer and a size in bytes, of a text less than 4 GiB; they need no zero at
 *   the end. Names (of sites, entries, files, devices) are zero-terminated.
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
 *   - ptxgraft_graft, ptxgraft_candidate, ptxgraft_site_route, ptxgraft_limit, ptxgraft_argument,
 *     ptxgraft_planned_launch, ptxgraft_tensor_map, ptxgraft_instruction, ptxgraft_placed_constant,
 *     ptxgraft_constant_source, ptxgraft_programs, ptxgraft_input_range, ptxgraft_statement,
 *     ptxgraft_variant and ptxgraft_site_argument have no struct_size: they stand in arrays and are passed
 *     by value. They are final: they will never change.
 * - **Threads**: every function may be called from several threads at once, also on one object; only its
 *   `destroy` comes after all other calls with that object, and what its type says is one thread's (an event,
 *   a graph, a search, a session, a captured stream) or is changed by a call (a module, an evaluator) is no
 *   other's meanwhile; what options name a call is with. Launches and copies on one emulator take turns,
 *   first come, first served; all else does not wait for them. The error message is the thread's own.
 * - **Indices** count from 0. Sizes and offsets are in bytes, times in milliseconds.
 */

#include "ptxgraft/c/assembler.h"
#include "ptxgraft/c/batch.h"
#include "ptxgraft/c/cache.h"
#include "ptxgraft/c/device.h"
#include "ptxgraft/c/emit.h"
#include "ptxgraft/c/evaluate.h"
#include "ptxgraft/c/graft.h"
#include "ptxgraft/c/graph.h"
#include "ptxgraft/c/isa.h"
#include "ptxgraft/c/kernel.h"
#include "ptxgraft/c/machine_code.h"
#include "ptxgraft/c/module.h"
#include "ptxgraft/c/pool.h"
#include "ptxgraft/c/profile.h"
#include "ptxgraft/c/search.h"
#include "ptxgraft/c/session.h"
#include "ptxgraft/c/skeleton.h"
#include "ptxgraft/c/stack.h"
#include "ptxgraft/c/status.h"
#include "ptxgraft/c/template.h"
#include "ptxgraft/c/tensor.h"

#endif /* PTXGRAFT_H */
