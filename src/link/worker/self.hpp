#pragma once
// What a worker is to the machine: it ends with whom it works for, and its limits harm nobody else.

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace ptxgraft::link::worker {

/// Ends this process, from a thread of its own and also in the midst of its work, when `parent` is its parent
/// no longer, or one of the files has nobody at its other end. (The signal that Linux can send a child
/// instead, PR_SET_PDEATHSIG, comes when the thread ends that has started it.) Of a pipe that is read, which
/// may have bytes left when its writer has gone, only whoever reads it can tell: it does not belong here.
void end_with(pid_t parent, std::vector<int> files);

/// Where memory runs out the system ends this process first. Its death leaves no core behind.
void come_first_when_memory_is_short();

/// Bytes that this process may allocate from now on; 0: no limit.
void limit_memory(std::uint64_t bytes);

}  // namespace ptxgraft::link::worker
