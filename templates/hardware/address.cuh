// The address of a variable in shared memory, as instructions of .shared take it.
#pragma once

namespace hardware {

__device__ inline unsigned shared_address(const void* in_shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(in_shared));
}

}  // namespace hardware
