#ifndef PTXGRAFT_C_HOST_MEMORY_H
#define PTXGRAFT_C_HOST_MEMORY_H
/**
 * @file host_memory.h
 * Memory of the host that kernels on the emulator work on in place, without a copy.
 */

#include "ptxgraft/c/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memory that its owner lends to an emulator. It ends with `destroy`: the owner keeps the memory until then,
    and until launches that run then have ended. Threads: any number use one at once. */
typedef struct ptxgraft_host_memory ptxgraft_host_memory;

/** All of it counts as written. `read_only` 1: a kernel that writes it is PTXGRAFT_STATUS_memory_read_only.
    PTXGRAFT_STATUS_argument_invalid for memory that is not aligned to 16 bytes, and on a GPU, which has memory
    of its own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_host_memory_create(ptxgraft_host_memory** lent,
                                                           const ptxgraft_device* device, void* memory,
                                                           size_t size, uint32_t read_only);
PTXGRAFT_C_API void ptxgraft_host_memory_destroy(ptxgraft_host_memory* lent);
/** The memory as a buffer of the device, which is the loan's: it is never destroyed by itself. Null of a null
    loan. */
PTXGRAFT_C_API ptxgraft_buffer* ptxgraft_host_memory_get_buffer(ptxgraft_host_memory* lent);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_HOST_MEMORY_H */
