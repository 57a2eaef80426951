#pragma once
/// @file special.hpp
/// The special registers (PTX ISA, chapter 10), one row each. A row has what only an emulator knows; the
/// type, the components of a vector and the numbers of a family stand in the row of ptx.isa that has the same
/// name.

#include <cstdint>
#include <span>
#include <string_view>

namespace ptxgraft::emulator {

class Cta;
struct Launch;

/// The threads that read the same value. With that it is known how often a warp computes it.
enum class SpecialScope : std::uint8_t {
    lane,     ///< a value for each lane, which depends on nothing but the launch's block
    warp,     ///< that of a warp of the CTA
    cta,      ///< that of a CTA: computed anew when a warp begins the next one
    cluster,  ///< that of a cluster, likewise
    grid,     ///< one value for the whole launch
    clock,    ///< computed anew before every instruction that reads it
};

/// Where a special register is read.
struct SpecialReader {
    const Launch& launch;
    Cta& cta;
    std::uint32_t warp;    ///< in the CTA
    std::uint32_t thread;  ///< in the CTA: that of the lane, or of lane 0 where all lanes read the same value
    std::uint64_t clock;   ///< warp instructions that the warp has issued
};

struct SpecialRegister {
    std::string_view name;  ///< as in ptx.isa: `%tid`, and `%envreg` for %envreg0 to %envreg31
    SpecialScope scope;
    /// `index`: the component of a vector (0 to 3 for .x to .w), or the number of a member of a family.
    std::uint64_t (*value)(const SpecialReader& reader, unsigned index);
    /// It lies in the shared memory that CUDA reserves, so that a launch whose module reads it has that
    /// memory.
    bool is_in_reserved_shared = false;
};

/// Every special register that has a value here.
[[nodiscard]] std::span<const SpecialRegister> special_registers();
/// The row of a name of ptx.isa; null for a special register that the emulator lacks.
[[nodiscard]] const SpecialRegister* find_special_register(std::string_view name);

/// A special register as an operand names it: a component of a vector, a member of a family, or the whole of
/// another one.
struct Special {
    const SpecialRegister* row = nullptr;
    std::uint8_t index = 0;
    friend bool operator==(Special, Special) = default;
};

/// The address of `.extern .shared` variables, which no PTX name stands for.
extern const SpecialRegister dynamic_shared_address;

}  // namespace ptxgraft::emulator
