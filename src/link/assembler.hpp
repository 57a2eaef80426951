#pragma once
/// @file assembler.hpp
/// What every assembler does alike: the target, the command line, errors and what becomes of a log.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "link/process.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// An assembly that begins: when, and for which architecture, the caller's or else the module's.
struct Assembly {
    std::string target;
    bool is_debug = false;  ///< the module is for a debugger: ptxas optimises nothing
    Clock::time_point begin = Clock::now();
};
/// Checks the text as well. Errors: those of check_text; Errc::target_unknown when neither says an
/// architecture, or the caller's is none; Errc::assembler_ended when the caller has asked for the stop.
[[nodiscard]] Expected<Assembly> begin_assembly(std::string_view ptx, const AssembleOptions& options);

/// The error of a failed assembly: the place of the first bad line, the log as detail. Errc::out_of_memory
/// where the log says that, which is not the text's fault.
[[nodiscard]] tl::unexpected<Error> assembly_error(std::string log, std::string_view ptx);

/// The command line of ptxas, and of nvPTXCompiler, for these options.
[[nodiscard]] std::vector<std::string> ptxas_arguments(const Assembly& assembly,
                                                       const AssembleOptions& options);

/// Fills in what log and image say, who made it and how long that took, and turns performance losses into an
/// error unless they are allowed. Errc::assemble_limit_exceeded.
[[nodiscard]] Expected<Cubin> finish(Cubin cubin, const AssembleOptions& options, const Assembler& by,
                                     const Assembly& assembly);

/// The cubin, unless it lost performance or is over a limit: Errc::performance_loss unless that is allowed,
/// Errc::assemble_limit_exceeded.
[[nodiscard]] Expected<Cubin> checked(Cubin cubin, const AssembleOptions& options);

/// Errc::assemble_limit_exceeded for the first function that uses more than it may.
[[nodiscard]] Expected<void> check_limits(std::span<const FunctionUsage> functions,
                                          const AssembleLimits& limits);

[[nodiscard]] double milliseconds_since(Clock::time_point begin);

/// Errc::assembler_ended of a process that assembled, "ptxas 13.5.37", when waiting for it ended otherwise.
[[nodiscard]] tl::unexpected<Error> killed(const std::string& what, Wait waited,
                                           std::chrono::milliseconds timeout);

/// The full version of an assembler in process, which only its cubins tell; `otherwise` when they do not.
[[nodiscard]] std::string version_by_assembling(const Assembler& assembler, const std::string& otherwise);

}  // namespace ptxgraft::link
