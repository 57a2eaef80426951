#pragma once
// The registers that a text declares, their names, and instructions written with names.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/run.hpp"
#include "stub/stack/compile/writer.hpp"

namespace ptxgraft::stack {

inline Writer write_opcode(Writer out, std::string_view opcode) {
    out.text("\t");
    out.text(opcode);
    out.text(" ");
    return out;
}

inline Writer write_name(Writer out, const Name& n) {
    out.blocks<Name::most>(n.text + Name::prefix, n.length - Name::prefix);
    return out;
}

/// `mov.f32 to, from;`
inline Writer write_move(Writer out, RegisterClass c, const Name& to, const Name& from) {
    out = write_name(write_opcode(out, info_of(c).move), to);
    out.block(from.text, from.length);
    out.text(";\n");
    return out;
}

/// `mov.u32 own, %tid.x;`
inline Writer write_special(Writer out, RegisterClass c, const Name& own, std::string_view special) {
    out = write_name(write_opcode(out, info_of(c).move_special), own);
    out.text(", ");
    out.text(special);
    out.text(";\n");
    return out;
}

class Registers {
  public:
    explicit Registers(const Machine::Data& machine) : machine_(machine) {}

    [[nodiscard]] std::uint32_t count(RegisterClass c) const { return counts_[index_of(c)]; }
    /// The next one of a class. `made` receives its name where it does not stand ready.
    const Name* next(RegisterClass c, Name& made) {
        const std::uint32_t number = counts_[index_of(c)]++;
        if (number >= machine_.usual_names.count) [[unlikely]]
            return make_next(c, number, made);
        return machine_.usual_names.first[index_of(c)] + number;
    }
    Name next(RegisterClass c) {
        Name made;
        return *next(c, made);
    }
    /// The text that stands between `begin`, before which there is room, and `out`, in a scope that declares
    /// them.
    [[nodiscard]] std::string_view enclose(char* begin, Writer out) const;

  private:
    [[gnu::noinline]] const Name* make_next(RegisterClass c, std::uint32_t number, Name& made) {
        Name& last = last_[index_of(c)];
        last =
            number == machine_.usual_names.count || number % 10 == 0 ? name_of(c, number) : successor(last);
        made = last;
        return &made;
    }
    [[nodiscard]] Name name_of(RegisterClass c, std::uint32_t number) const;
    // The name with the next number, where the last digit is no 9: in one block, as it is read as one at
    // once.
    static Name successor(const Name& name) {
        using Block [[gnu::vector_size(16)]] = std::uint64_t;
        const auto block = std::bit_cast<Block>(name);
        const std::uint32_t digit = name.length - 1u;
        const std::uint64_t one = std::uint64_t{1} << 8 * (digit % 8);
        return std::bit_cast<Name>(digit < 8 ? Block{block[0] + one, block[1]}
                                             : Block{block[0], block[1] + one});
    }

    const Machine::Data& machine_;
    std::array<std::uint32_t, class_count> counts_{};
    std::array<Name, class_count> last_;  // of those that are not usual
};

}  // namespace ptxgraft::stack
