#pragma once
/// @file candidates.hpp
/// `ptxgraft graft FILE --candidates LIST`: many candidates of one skeleton, a line each, and a line for each
/// result.

#include <cstdint>
#include <string>

#include "cli/skeleton_input.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::cli {

struct CandidateFlags {
    std::string list;    ///< JSON lines: {"epilogue": "acc bias add.f32 -> acc", "score": {"expr": "…"}}
    std::string report;  ///< JSON lines; `-` or empty: standard output
    std::string folder;  ///< for INDEX.cubin; empty: no machine code is written
    std::uint32_t jobs = 0;                 ///< 0: as many as the machine has processors
    std::uint32_t variants_per_module = 1;  ///< ManyOptions::variants_per_module
    stack::Constants constants = stack::Constants::literals;
};

/// Makes all of them. `options.cache` may be null: then equal candidates are found within one run alone. Ends
/// the verb where a signal asks for it (interrupt.hpp), and where the report or machine code cannot be
/// written; errors of candidates are lines of the report.
void make_candidates(const Input& input, const CandidateFlags& flags, const GraftOptions& options);

/// A result as a JSON object: routes, what the assembler says of it, times, and where it was kept.
[[nodiscard]] std::string report_of(const MachineCode& code);

}  // namespace ptxgraft::cli
