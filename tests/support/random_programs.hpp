#pragma once
// Programs of the stack language as searches make them: any bytes, instructions that mean something more
// often, and programs that were good before they were mutated.

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::test {

class RandomPrograms {
  public:
    explicit RandomPrograms(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    stack::Program program(const stack::Machine& machine, std::uint64_t most = 200) {
        const std::uint64_t kind = below(8);
        if (kind == 0) return any_bytes(machine, most);
        stack::Program p;
        if (kind == 1) {
            p = stack::random_program(machine, random_(), static_cast<std::uint32_t>(below(most * 3 / 4)));
            mutate(p.code, machine);
        } else {
            p.code = code(machine, below(most + 1), true);
        }
        add_pool_and_routines(p, machine, false);
        return p;
    }
    /// Nothing but bytes.
    stack::Program any_bytes(const stack::Machine& machine, std::uint64_t most) {
        stack::Program p{bytes(below(most + 1)), {}, {}};
        add_pool_and_routines(p, machine, true);
        return p;
    }

    /// Instructions of which most are there for the machine; `brackets`: repeats and ifs among them.
    std::vector<stack::Instruction> code(const stack::Machine& machine, std::uint64_t size, bool brackets) {
        std::vector<stack::Instruction> all;
        while (all.size() < size) all.push_back(instruction(machine, brackets));
        return all;
    }

    /// The options that a compile may have when nothing is an error.
    stack::CompileOptions lenient() {
        stack::CompileOptions o = stack::mutated;
        o.requests = below(4) == 0 ? stack::Requests::assigned : stack::Requests::top;
        o.empty = below(2) == 0 ? stack::Empty::zero : stack::Empty::keep;
        o.reuse = below(2) == 0;
        o.fold = below(2) == 0;
        o.hash = below(2) == 0;
        return o;
    }
    /// Any options.
    stack::CompileOptions any() {
        stack::CompileOptions o = lenient();
        if (below(2) == 0) o.missing = stack::Missing::error;
        if (below(3) == 0) o.empty = stack::Empty::error;
        if (below(3) == 0) o.leftover = stack::Leftover::error;
        return o;
    }

    /// A signature of every type in every direction, with names of many lengths and such as our own registers
    /// have.
    Signature signature() {
        Signature s;
        constexpr std::uint64_t types = 16;
        const std::uint64_t count = below(24);
        for (std::uint64_t i = 0; i < count; ++i) {
            SiteOperand o;
            o.name = "o" + std::to_string(i);
            o.type = static_cast<Type>(below(types));
            o.direction = static_cast<Direction>(below(3));
            if (below(4) == 0) o.count = static_cast<std::uint32_t>(1 + below(9));
            switch (below(6)) {
                case 0:
                    o.register_name = std::string("%") + "pbhrdqfe"[below(8)] +
                                      (o.count != 0 ? "" : std::to_string(below(40)));
                    break;
                case 1: o.register_name = "_" + o.name + std::string(1 + below(100), 'x'); break;
                case 2: o.register_name = "%f$1_" + (o.count != 0 ? "" : std::to_string(i)); break;
                default: o.register_name = "_" + o.name + (o.count != 0 ? "_" : ""); break;
            }
            for (const SiteOperand& other : s.operands)
                if (other.register_name.starts_with(o.register_name) ||
                    o.register_name.starts_with(other.register_name))
                    o.register_name = "_z" + std::to_string(i) + "_";
            s.operands.push_back(o);
        }
        return s;
    }

  private:
    std::vector<stack::Instruction> bytes(std::uint64_t size) {
        std::vector<stack::Instruction> all;
        while (all.size() < size) all.push_back(std::bit_cast<stack::Instruction>(random_()));
        return all;
    }
    std::uint64_t number64() {
        return below(2) == 0 ? random_() : below(3) == 0 ? 0 - below(40) : below(100);
    }
    std::uint32_t number32() {
        return static_cast<std::uint32_t>(below(3) == 0   ? random_()
                                          : below(3) == 0 ? 0 - below(40)
                                                          : below(40));
    }
    stack::TypeId type() {
        return static_cast<stack::TypeId>(below(30) == 0 ? below(256) : below(stack::first_user_type));
    }

    void add_pool_and_routines(stack::Program& p, const stack::Machine& machine, bool of_any_bytes) {
        for (std::uint64_t i = below(4); i-- > 0;) p.pool.push_back(number64());
        for (std::uint64_t i = below(4); i-- > 0;) p.routines.push_back(routine(machine, of_any_bytes));
    }
    stack::Routine routine(const stack::Machine& machine, bool any_bytes) {
        stack::Routine r{"r" + std::to_string(random_()),
                         {},
                         {},
                         any_bytes ? bytes(below(20)) : code(machine, below(40), true)};
        for (std::uint64_t i = below(4); i-- > 0;) r.arguments.push_back(type());
        for (std::uint64_t i = below(4); i-- > 0;) r.results.push_back(type());
        return r;
    }

    void mutate(std::vector<stack::Instruction>& code, const stack::Machine& machine) {
        for (std::uint64_t n = below(20); n-- > 0 && !code.empty();) {
            const auto at = code.begin() + static_cast<std::ptrdiff_t>(below(code.size()));
            switch (below(4)) {
                case 0: code.erase(at); break;
                case 1: code.insert(at, instruction(machine, true)); break;
                case 2: std::swap(*at, code[below(code.size())]); break;
                default:
                    *at = std::bit_cast<stack::Instruction>(std::bit_cast<std::uint64_t>(*at) ^
                                                            std::uint64_t{1} << below(64));
                    break;
            }
        }
    }

    stack::Instruction instruction(const stack::Machine& machine, bool brackets) {
        using stack::Opcode;
        const auto operands = static_cast<std::uint64_t>(machine.signature().operands.size());
        const auto short_index = [&](std::uint64_t n) { return static_cast<std::uint16_t>(below(n + 1)); };
        Opcode opcode = static_cast<Opcode>(below(stack::opcode_count));
        if (below(2) == 0)
            opcode = below(5) < 2 ? Opcode::input : below(3) == 0 ? Opcode::constant : Opcode::form;
        if (!brackets && opcode >= Opcode::repeat) opcode = Opcode::form;
        stack::Instruction i{opcode, type(), static_cast<std::uint16_t>(random_()), number32()};
        switch (opcode) {
            case Opcode::input:
            case Opcode::assign:
                i.index = short_index(operands);
                i.payload = static_cast<std::uint32_t>(below(2) == 0 ? 0 : below(6));
                break;
            case Opcode::form: i.index = short_index(machine.set().entries().size()); break;
            case Opcode::cast: i.index = type(); break;
            case Opcode::yank_dup:
            case Opcode::swap_with:
            case Opcode::replace:
            case Opcode::store:
            case Opcode::load: i.payload = static_cast<std::uint32_t>(below(5)); break;
            case Opcode::call: i.index = short_index(3); break;
            case Opcode::repeat:
                i.payload = static_cast<std::uint32_t>(below(40) == 0 ? random_() : below(4));
                break;
            default: break;
        }
        return i;
    }

    std::mt19937_64 random_;
};

}  // namespace ptxgraft::test
