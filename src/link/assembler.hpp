#pragma once
/// @file assembler.hpp
/// What every assembler does alike: the target, the command line, errors and what becomes of a log.

#include <string>
#include <string_view>
#include <vector>

#include "link/module_text.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// The architecture to assemble a checked text for: the caller's, else the module's. Errc::target_unknown
/// when neither says one, or the caller's is none.
[[nodiscard]] Expected<std::string> assembly_target(std::string_view ptx, const AssembleOptions& options);

/// The error of a failed assembly: the place of the first bad line, the log as detail. Errc::out_of_memory
/// where the log says that, which is not the text's fault.
[[nodiscard]] tl::unexpected<Error> assembly_error(std::string log, std::string_view ptx);

/// The command line of ptxas, and of nvPTXCompiler, for these options.
[[nodiscard]] std::vector<std::string> ptxas_arguments(const std::string& target,
                                                       const AssembleOptions& options);

/// Fills in what log and image say and who made it, and turns performance losses into an error unless they
/// are allowed.
[[nodiscard]] Expected<Cubin> finish(Cubin cubin, const AssembleOptions& options, const Assembler& by);

/// The full version of an assembler in process, which only its cubins tell; `otherwise` when they do not.
[[nodiscard]] std::string version_by_assembling(const Assembler& assembler, std::string otherwise);

}  // namespace ptxgraft::link
