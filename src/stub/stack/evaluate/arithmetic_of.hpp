#pragma once
// The arithmetic of an entry: what of a set the CPU can compute.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "arithmetic/approximate.hpp"
#include "arithmetic/arithmetic.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

/// What an entry computes.
struct EntryArithmetic {
    enum class Kind : std::uint8_t {
        none,  ///< effects, special registers, and what only hardware knows
        move,  ///< its outputs are its inputs' bytes in order: `mov` of scalars, and of vectors
        pure,
    };
    Kind kind = Kind::none;
    bool is_scalar = false;  ///< a move from one register to another
    /// of a pure one: its operands in the entry's order, on columns as wide as their registers
    arithmetic::PureInstruction instruction = {};
    arithmetic::PerturbFunction perturb = nullptr;  ///< of an approximate one
};

/// The arithmetic of a set's entries, each found when somebody first asks for it. Threads: any number.
class ArithmeticCache {
  public:
    explicit ArithmeticCache(std::size_t entries);
    ~ArithmeticCache();
    ArithmeticCache(const ArithmeticCache&) = delete;
    ArithmeticCache& operator=(const ArithmeticCache&) = delete;

    [[nodiscard]] const EntryArithmetic& of(const EntryCode& entry, const SetCode& code) const {
        const EntryArithmetic* const found = found_[entry.at].load(std::memory_order_acquire);
        return found != nullptr ? *found : find(entry, code);
    }

  private:
    const EntryArithmetic& find(const EntryCode& entry, const SetCode& code) const;

    std::size_t entries_;
    std::unique_ptr<std::atomic<const EntryArithmetic*>[]> found_;
};

/// The bytes of a register of a type; of a pred one.
[[nodiscard]] inline std::uint8_t bytes_of(TypeId type, const SetCode& code) {
    const std::uint8_t bytes = info_of(code.classes[type]).bytes;
    return bytes == 0 ? 1 : bytes;
}

/// For the option `fold`: the bits of a pure entry's only result for arguments that are known (immediates
/// included, in the order of the inputs), each in the low bits of its word; nothing for entries of which PTX
/// does not define the result exactly (.approx and the like).
[[nodiscard]] std::optional<std::uint64_t> fold_entry(const EntryArithmetic& entry,
                                                      std::span<const std::uint64_t> arguments);

}  // namespace ptxgraft::stack
