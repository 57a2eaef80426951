#pragma once
/// @file measure/agreement.hpp
/// Whether assemblers agree about a variant. An assembler may be wrong (ptxas 13.0.88 makes a rotation of the
/// u64 `(x << 8) - (x >> 56)`): such a variant is right on the emulator, and wrong on a GPU with one version
/// of CUDA. So a search's winner is assembled by two of them, and on a GPU what each has made is run.
///
/// @code
/// const Assembler* const both[] = {&default_assembler(), ptxas("/usr/local/cuda/bin/ptxas")->get()};
/// const auto agreement = compare_assemblers(*checker, winner, both);
/// if (!agreement->agrees || !agreement->was_run) …
/// @endcode

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxgraft/measure/pool.hpp"

namespace ptxgraft::measure {

/// What one assembler makes of a variant.
struct Assembled {
    std::string assembler = {};               ///< "ptxas 13.0.88"
    std::shared_ptr<const Cubin> cubin = {};  ///< null: it refuses the variant, and `error` says why
    std::optional<FunctionUsage> usage = {};  ///< of the entry
    std::optional<Check> check = {};          ///< of the machine code; nothing where it was not run
    Error error = {};
};

struct Agreement {
    std::vector<Assembled> assembled;  ///< in the order of the assemblers
    /// All of them take the variant, and what was run of it is right. Without a run that says little: the
    /// machine code may compute anything.
    bool agrees = false;
    /// On a GPU. The emulator runs PTX, whoever assembles it.
    bool was_run = false;
};

/// Assembles a variant with each assembler, for the checker's device, and on a GPU checks each. Errors: those
/// of Checker::check; Errc::argument_invalid for no assembler.
[[nodiscard]] PTXGRAFT_API Expected<Agreement> compare_assemblers(
    Checker& checker, const VariantCode& variant, std::span<const Assembler* const> assemblers);

}  // namespace ptxgraft::measure
