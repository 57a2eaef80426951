#ifndef PTXGRAFT_C_BORROW_H
#define PTXGRAFT_C_BORROW_H
/**
 * @file borrow.h
 * What somebody else owns: a context, a stream, memory of PyTorch's or of the host's. It is used, and never
 * destroyed: its owner keeps it longer than the handle, and frees it.
 */

#include "ptxgraft/c/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The GPU of a context that somebody else made, as a device that works in it: `context` is a CUcontext, as a
    number. PTXGRAFT_STATUS_driver_missing, PTXGRAFT_STATUS_driver_failed. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_device_borrow(ptxgraft_device** device, uint64_t context);

/** A stream of a device's context: `handle` is a CUstream, as a number; 0 is the default stream, on the
    emulator the only one. PTXGRAFT_STATUS_device_differs for a stream of another context. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_borrow(ptxgraft_stream** stream, const ptxgraft_device* device,
                                                      uint64_t handle);

/** Memory at a device address, as a buffer of that size. PTXGRAFT_STATUS_argument_invalid for a range that
    begins at 0 or ends beyond the last address. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_borrow(ptxgraft_buffer** buffer, const ptxgraft_device* device,
                                                      uint64_t address, size_t size);

/** Memory of the host as a buffer of the emulator, without a copy: kernels work on it in place. It is aligned
    to 16 bytes and lives until the buffer is destroyed, and until launches that run then have ended.
    `read_only` 1: a kernel that writes it is PTXGRAFT_STATUS_memory_read_only.
    PTXGRAFT_STATUS_argument_invalid on a GPU, which has memory of its own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_buffer_borrow_host(ptxgraft_buffer** buffer,
                                                           const ptxgraft_device* device, void* memory,
                                                           size_t size, uint32_t read_only);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_BORROW_H */
