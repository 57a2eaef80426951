#pragma once
// Whether the `out` operands of a stub are written before they are read, and on every path to its end: a
// forward dataflow over its control-flow graph, whose facts are the guards under which a register is written.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ptxgraft/error.hpp"
#include "syntax/loops.hpp"

namespace ptxgraft::stub_check {

class Outputs {
  public:
    using Register = std::uint64_t;  ///< a number that no other register of the stub has
    struct Guard {
        Register predicate;
        bool is_negated;
    };
    /// A register of an `out` operand, which nothing has written where the stub begins.
    void add(Register output) { numbers_.emplace(output, numbers_.size()); }

    /// What follows is of an instruction that begins here. Instructions come in the order of the text.
    void begin(std::uint32_t place, const std::optional<Guard>& guard);
    void read(Register reg, Span where);
    void write(Register reg);  ///< after what the instruction reads
    void jump();               ///< it may not go on to the next one
    [[nodiscard]] bool has_jumps() const { return has_jumps_; }

    struct Problem {
        enum class Kind : std::uint8_t { read, never_written, guarded, on_some_paths } kind;
        Register output;
        Span where = {};  ///< of the one that is read
    };
    /// The first one, over the blocks of the function that the stub is. Where it has no jumps, one block of
    /// all of it is enough.
    [[nodiscard]] std::optional<Problem> find_problem(const std::vector<syntax::BasicBlock>& blocks) const;

  private:
    friend class OutputFlow;
    struct Event {
        enum class Kind : std::uint8_t { read, write, write_of_other, jump } kind;
        std::uint32_t place = 0;
        std::optional<Guard> guard;
        Register reg = 0;
        Span where = {};
    };
    [[nodiscard]] Problem unwritten(Register output) const;

    std::map<Register, std::size_t> numbers_;  // of the outputs
    std::vector<Event> events_;
    std::uint32_t place_ = 0;
    std::optional<Guard> guard_;
    bool has_jumps_ = false;
};

}  // namespace ptxgraft::stub_check
