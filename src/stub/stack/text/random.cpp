// Programs at random: drawn so that most instructions find their operands.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "stub/number.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

// splitmix64: the same numbers everywhere
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

// Small numbers, which most computations like.
constexpr std::array<float, 8> numbers = {0, 1, -1, 0.5f, 2, -0.25f, 3, 10};

class Maker {
  public:
    Maker(const Machine& machine, std::uint64_t seed)
        : machine_(MachineData::of(machine)), code_(*machine_.code), random_(seed), depths_{} {}

    Program make(std::uint32_t length) {
        while (program_.code.size() < length) one();
        for (std::uint32_t slot = 0; slot < machine_.slots.size(); ++slot)
            if (machine_.slots[slot].direction != Direction::in) assign(slot);
        return std::move(program_);
    }

  private:
    // As often a value as an instruction.
    void one() {
        constexpr std::uint64_t values_in_ten = 4;
        if (code_.entries.empty() || random_.below(10) < values_in_ten) return any_value();
        constexpr int draws = 16;
        const EntryCode* e = nullptr;
        for (int k = 0; k < draws; ++k) {
            e = draw();
            if (e != nullptr && has_operands(*e)) return apply(*e);
        }
        if (e == nullptr) return any_value();
        for (const InputCode& input : code_.inputs_of(*e))
            if (!input.is_immediate && depths_[input.stack] == 0 && value_of(input.stack)) return;
        any_value();
    }

    const EntryCode* draw() {
        const double at = random_.unit() * code_.weights.back();
        const auto index = static_cast<std::size_t>(
            std::upper_bound(code_.weights.begin(), code_.weights.end(), at) - code_.weights.begin());
        if (index == code_.entries.size()) return nullptr;  // all weights are 0
        const EntryCode& e = code_.entries[index];
        constexpr std::uint64_t specials_are_rarer = 16;  // a set may have more of them than of instructions
        if (e.is_special && random_.below(specials_are_rarer) != 0) return nullptr;
        return (*machine_.present)[index] != Present::no && e.effects == 0 ? &e : nullptr;
    }

    bool has_operands(const EntryCode& e) const {
        return std::ranges::all_of(code_.inputs_of(e), [this](const InputCode& input) {
            return input.is_immediate || depths_[input.stack] >= input.depth;
        });
    }

    void apply(const EntryCode& e) {
        if (!has_pool_for(e)) return any_value();
        Instruction i{Opcode::form, 0, static_cast<std::uint16_t>(e.at), 0};
        std::vector<std::uint32_t> immediates;
        for (const InputCode& input : code_.inputs_of(e)) {
            if (input.is_immediate)
                immediates.push_back(immediate(input));
            else
                --depths_[input.stack];
        }
        if (!immediates.empty()) i.payload = immediates.back();
        if (immediates.size() > 1) {  // the others stand in the pool, the last of them first
            const std::vector<std::uint64_t> row(immediates.rbegin() + 1, immediates.rend());
            i.type = static_cast<TypeId>(PoolPlaces::row(program_.pool, row));
        }
        for (std::size_t k = 0; k < e.outputs; ++k)
            ++depths_[e.is_special ? e.type : code_.output_stacks[code_.output_bases[e.at] + k]];
        program_.code.push_back(i);
    }

    // A row of the pool for the immediates begins at one of its first 256 places.
    [[nodiscard]] bool has_pool_for(const EntryCode& e) const {
        const auto immediates = std::ranges::count_if(code_.inputs_of(e), &InputCode::is_immediate);
        return immediates < 2 || program_.pool.size() <= 255;
    }

    std::uint32_t immediate(const InputCode& input) {
        if (input.low == INT64_MIN || input.high == INT64_MAX)
            return static_cast<std::uint32_t>(random_.below(256));
        const auto steps = static_cast<std::uint64_t>((input.high - input.low) / input.step) + 1;
        return static_cast<std::uint32_t>(input.low +
                                          static_cast<std::int64_t>(random_.below(steps)) * input.step);
    }

    void any_value() {
        for (int k = 0; k < 8 && !machine_.slots.empty(); ++k) {
            const std::uint64_t slot = random_.below(machine_.slots.size() + machine_.slots.size() / 2 + 1);
            if (slot < machine_.slots.size() && push_input(static_cast<std::uint32_t>(slot))) return;
            if (slot >= machine_.slots.size() &&
                push_constant(machine_.slots[random_.below(machine_.slots.size())].type))
                return;
        }
        push_constant(type_id(Type::f32));
    }

    // A value of a type: an operand's where there is one, as often as not.
    bool value_of(TypeId type) {
        const std::uint64_t first = random_.below(machine_.slots.size() + 1);
        for (std::uint64_t k = first; k < machine_.slots.size(); ++k)
            if (machine_.slots[k].type == type && random_.below(2) == 0 &&
                push_input(static_cast<std::uint32_t>(k)))
                return true;
        return push_constant(type);
    }

    bool push_input(std::uint32_t slot) {
        const Slot& s = machine_.slots[slot];
        if (s.direction == Direction::out) return false;
        program_.code.push_back({Opcode::input, 0, static_cast<std::uint16_t>(s.operand), s.element});
        ++depths_[s.type];
        return true;
    }

    bool push_constant(TypeId type) {
        if (type == type_b8 || type == type_b128) return false;
        ++depths_[type];
        const float number = numbers[random_.below(numbers.size())];
        const auto base = static_cast<Type>(code_.bases[type]);
        if (base == Type::u64 || base == Type::b64) {
            const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
            const auto payload = payload_of(bits, code_.bases[type]);
            program_.code.push_back(payload ? Instruction{Opcode::constant, type, 0, *payload}
                                            : Instruction{Opcode::pooled, type, 0, pooled(bits)});
            return true;
        }
        program_.code.push_back({Opcode::constant, type, 0, bits_of(base, number)});
        return true;
    }

    std::uint32_t pooled(std::uint64_t bits) {
        const auto place =
            std::find(program_.pool.begin(), program_.pool.end(), bits) - program_.pool.begin();
        if (static_cast<std::size_t>(place) == program_.pool.size()) program_.pool.push_back(bits);
        return static_cast<std::uint32_t>(place);
    }

    std::uint32_t bits_of(Type type, float number) {
        const auto integer = static_cast<std::uint32_t>(static_cast<std::int32_t>(number));
        const std::uint32_t single = std::bit_cast<std::uint32_t>(number);
        const std::uint32_t half =
            arithmetic::round_to(arithmetic::f16_format, number, arithmetic::Rounding::rn);
        switch (type) {
            case Type::f32:
            case Type::f64: return single;
            case Type::f16: return half;
            case Type::bf16: return single >> 16;
            case Type::f16x2: return half << 16 | half;
            case Type::bf16x2: return (single & 0xFFFF0000u) | single >> 16;
            case Type::pred: return integer & 1;
            default:
                return bits(type) == 16        ? integer & 0xFFFF
                       : random_.below(4) == 0 ? static_cast<std::uint32_t>(random_.next())
                                               : integer;
        }
    }

    void assign(std::uint32_t slot) {
        const Slot& s = machine_.slots[slot];
        if (depths_[s.type] == 0) value_of(s.type);
        --depths_[s.type];
        program_.code.push_back({Opcode::assign, 0, static_cast<std::uint16_t>(s.operand), s.element});
    }

    const Machine::Data& machine_;
    const SetCode& code_;
    Random random_;
    Program program_;
    std::array<std::uint32_t, max_types> depths_;
};

}  // namespace

Program random_program(const Machine& machine, std::uint64_t seed, std::uint32_t length) {
    return Maker(machine, seed).make(length);
}

}  // namespace ptxgraft::stack
