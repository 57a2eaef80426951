#pragma once
/// @file worker.hpp
/// Assembling in worker processes: what hangs, explodes or takes the assembler down is an error of its own
/// call, and every processor works.
///
/// @code
/// const auto pool = ptxgraft::worker_pool({.workers = 4, .timeout = std::chrono::seconds(10)});
/// const auto cubin = (*pool)->assemble(ptx);  // from any number of threads
/// @endcode

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "ptxgraft/link.hpp"

namespace ptxgraft {

struct WorkerPoolOptions {
    /// Processes at most; 0: one for each hardware thread. They start when they are needed.
    unsigned workers = 0;
    /// For one module, from when a worker gets it; then the worker is killed.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
    /// Bytes that a worker may allocate for a module, beyond the 25 MB that it has when it starts; 0: no
    /// limit. A GEMM of tensor cores takes 20 MB, and 4 MB of PTX some 1.7 GB.
    std::uint64_t memory_bytes = std::uint64_t(4) << 30;
    /// Who assembles in a worker: "default", "nvptxcompiler" or "nvjitlink".
    std::string assembler = "default";
    /// After so many modules a worker makes way for a new one; 0: never.
    unsigned modules_per_worker = 10'000;
    /// The path of `ptxgraft-worker`; empty: where an installation and a build have it, from the library and
    /// from the running program.
    std::string program = {};
};

/// An assembler whose assemble() runs in a process of `ptxgraft-worker`: the same machine code, bit for bit,
/// and the same errors as of the assembler in process, whose name and version it has. A worker stays warm
/// from module to module.
///
/// Threads: any number may assemble at once; each call takes an idle worker, and waits when all are busy.
/// Errors, besides those of the assembler: Errc::assembler_ended when a module takes longer or more memory
/// than the pool's limits, when the worker dies of it, or at the caller's stop; the detail says which. Such a
/// call harms no other: a new worker takes the place of the dead one. Errc::assembler_not_usable when the
/// program is missing, is of another version of ptxgraft, or does not start; the first worker starts right
/// here, to see that.
///
/// Workers have none of the caller's files open, are no part of its process group, and end with it, however
/// it ends; when memory runs out, the system ends them first. The last owner of the pool ends them, without
/// waiting; no call may be under way then. A process that is forked from the caller's cannot use its pool
/// (Errc::assembler_not_usable).
[[nodiscard]] PTXGRAFT_API Expected<std::shared_ptr<const Assembler>> worker_pool(
    const WorkerPoolOptions& options = {});

}  // namespace ptxgraft
