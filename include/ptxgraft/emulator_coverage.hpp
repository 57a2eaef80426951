#pragma once
/// @file emulator_coverage.hpp
/// What of the instruction table the emulator runs, asked of its decoder row by row; and what of this
/// processor it runs it with.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// One opcode of the instruction table (`add`, `mul.wide`). A spelling is an opcode with one choice of
/// modifiers.
struct EmulatedOpcode {
    std::string_view opcode;
    std::size_t spellings = 0;         ///< that some target from sm_75 to sm_90a has
    std::size_t emulated = 0;          ///< of them
    std::vector<std::string> missing;  ///< the others: `mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16`
    std::string_view out_of_scope;     ///< why the emulator need not have it: "textures"; else empty
};

/// All opcodes that a target from sm_75 to sm_90a has, by name. A spelling counts as emulated when the
/// emulator decodes it with its optional operands and without them. Not counted are st.async and red.async
/// without an mbarrier, of which ptxas makes no code for these targets. Asks of some ten thousand
/// instructions: a second's work.
[[nodiscard]] PTXGRAFT_API std::vector<EmulatedOpcode> emulated_opcodes();

/// Whether the emulator decodes each of some instructions, as sm_90a in the newest PTX version. They stand in
/// an entry with registers named after their type (`f32_0` to `f32_299`), and where they name them the
/// variables gv and sv, tex_, surf_, a function fn1 and the prototype P: the examples of coverage.hpp.
[[nodiscard]] PTXGRAFT_API std::vector<bool> emulated_lines(std::span<const std::string> lines);
/// Why the emulator need not have an opcode: "textures"; empty for one that it should.
[[nodiscard]] PTXGRAFT_API std::string_view emulated_out_of_scope(std::string_view opcode);

/// The vectors of this processor that the emulator computes with: "AVX-512", "AVX2", or "baseline" for those
/// of the processors that the build is for. Results do not depend on it.
struct EmulatorVectors {
    std::string_view name;
    unsigned bits;
};
[[nodiscard]] PTXGRAFT_API EmulatorVectors emulator_vectors();

}  // namespace ptxgraft
