#pragma once
// How a worker allocates.

#include <malloc.h>

namespace ptxgraft::link::worker {

/// Keeps freed memory for the next module instead of giving it back to the system, which clears every page
/// that it hands out again: an assembly frees nearly all that it took, and it takes some blocks of more than
/// the 128 KiB from which on malloc maps each by itself.
inline void keep_memory() {
    constexpr int mebibyte = 1 << 20;
    ::mallopt(M_TRIM_THRESHOLD, 256 * mebibyte);
    ::mallopt(M_MMAP_THRESHOLD, 32 * mebibyte);  // the most that there may be
    ::mallopt(M_TOP_PAD, 64 * mebibyte);
}

}  // namespace ptxgraft::link::worker
