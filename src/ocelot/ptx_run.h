#ifndef PTXGRAFT_OCELOT_PTX_RUN_H
#define PTXGRAFT_OCELOT_PTX_RUN_H
/**
 * @file ptx_run.h
 * The entry of libgpuocelot.so, over the emulator of ptxgraft: a program that was written for GPU Ocelot's
 * library of that name loads this one in its place, unchanged.
 */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Runs a kernel to its end, over the memory of this process: pointers among the arguments are those of the
 * host, and a kernel may write what the host may write. The grid has grid_x * grid_y * grid_z blocks of
 * blck_x * blck_y * blck_z threads.
 *
 * `source` is PTX that ends in a zero byte, of any `.target` that the emulator runs. Its entry runs; of
 * several, the one whose name comes first in the order of bytes. `args` has a word for each of its
 * `n_args` parameters, in their order: a pointer, or a number in the lowest bytes. `shared_mem_size`:
 * bytes of dynamic shared memory a block.
 *
 * The call has no result, as GPU Ocelot's has none. What fails is said on standard error, with the line of
 * the PTX that it is about, and the call returns; the kernel has not run, or ran up to there. What kernels
 * print (vprintf) goes to standard output. A kernel without an end is ended as on any device of the
 * emulator, by usual_instruction_budget and usual_time_limit_ms of ptxgraft/launch.hpp.
 *
 * Any number of threads may call it at once; their launches take turns.
 */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void ptx_run(const char* source, int n_args, void* args[], int blck_x, int blck_y, int blck_z, int grid_x,
             int grid_y, int grid_z, int shared_mem_size);

#ifdef __cplusplus
}
#endif
#endif
