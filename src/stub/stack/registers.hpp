#pragma once
// The registers that a text declares, their names, and instructions written with names.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "stub/stack/machine.hpp"
#include "stub/stack/run.hpp"
#include "stub/stack/writer.hpp"

namespace ptxgraft::stack {

constexpr std::size_t index_of(RegisterClass c) { return static_cast<std::size_t>(c); }

inline Writer write_name(Writer out, const Name& n) {
    out.blocks<Name::most>(n.text + Name::prefix, n.length - Name::prefix);
    return out;
}

/// `mov.u32 own, %tid.x;`
inline Writer write_special(Writer out, RegisterClass c, const Name& own, std::string_view special) {
    out.text(c == RegisterClass::r ? std::string_view("\tmov.u32 ") : c == RegisterClass::d ? "\tmov.u64 " : c == RegisterClass::p ? "\tmov.pred " : "\tmov.u16 ");
    out = write_name(out, own);
    out.text(", ");
    out.text(special);
    out.text(";\n");
    return out;
}

class Registers {
  public:
    explicit Registers(const Machine::Data& machine) : machine_(machine), usual_(machine.has_usual_names ? register_names : 0), first_(names_of(RegisterClass{})) {}

    [[nodiscard]] std::uint32_t count(RegisterClass c) const { return counts_[index_of(c)]; }
    /// The next one of a class. `made` receives its name where it does not stand ready.
    const Name* next(RegisterClass c, Name& made) {
        const std::uint32_t number = counts_[index_of(c)]++;
        if (number < usual_) return first_ + index_of(c) * register_names + number;
        made = name_of(c, number);
        return &made;
    }
    Name next(RegisterClass c) {
        Name made;
        return *next(c, made);
    }
    /// The text that stands between `begin`, before which there is room, and `out`, in a scope that declares them.
    [[nodiscard]] std::string_view enclose(char* begin, Writer out) const;

  private:
    [[nodiscard]] Name name_of(RegisterClass c, std::uint32_t number) const;
    char* header(char* begin) const;

    const Machine::Data& machine_;
    const std::uint32_t usual_;  // numbers below it have their names ready
    const Name* const first_;     // the names of all classes, behind each other
    std::uint32_t counts_[class_count] = {};
};

}  // namespace ptxgraft::stack
