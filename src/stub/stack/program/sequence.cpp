// Programs drawn instruction after instruction, so that most find their operands.

#include <algorithm>
#include <array>

#include "stub/stack/program/genes.hpp"

namespace ptxgraft::stack {
namespace {

class SequenceMaker {
  public:
    SequenceMaker(const Genes& genes, Random& random, const SequenceOptions& options)
        : genes_(genes), random_(random), options_(options), stacks_(genes.code().type_count) {
        for (const Slot& s : genes.machine.slots)
            if (s.direction != Direction::in) ++wanted_[s.type];
    }

    Program make() {
        while (!is_done()) one();
        for (const Slot& s : genes_.machine.slots)
            if (s.direction != Direction::in) assign(s);
        return std::move(program_);
    }

  private:
    // Of each value: how many instructions of the set it takes.
    using Sizes = std::vector<std::uint32_t>;

    [[nodiscard]] bool is_done() const {
        if (options_.live == 0) return program_.code.size() >= options_.length;
        return program_.code.size() >= 8 * std::size_t{options_.live} + 32 || live() >= options_.live;
    }

    // Of the largest values, which the operands will receive.
    [[nodiscard]] std::uint32_t live() const {
        std::uint32_t sum = 0;
        for (std::size_t t = 0; t < stacks_.size(); ++t) {
            if (wanted_[t] == 0) continue;
            if (wanted_[t] == 1) {
                sum += stacks_[t].empty() ? 0 : *std::max_element(stacks_[t].begin(), stacks_[t].end());
                continue;
            }
            Sizes sizes = stacks_[t];
            std::sort(sizes.rbegin(), sizes.rend());
            for (std::size_t k = 0; k < std::min<std::size_t>(wanted_[t], sizes.size()); ++k) sum += sizes[k];
        }
        return sum;
    }

    // As often a value as an instruction.
    void one() {
        const double values = options_.live != 0 && is_full() ? 0.1 : 0.4;
        if (options_.words != 0 && random_.chance(options_.words) && word()) return;
        if (genes_.weights.empty() || random_.chance(values)) return any_value();
        constexpr int draws = 16;
        const EntryCode* e = nullptr;
        for (int k = 0; k < draws; ++k) {
            e = genes_.draw(random_);
            if (e != nullptr && has_operands(*e) && !is_too_large(*e)) return apply(*e);
        }
        if (e == nullptr) return any_value();
        for (const InputCode& input : genes_.code().inputs_of(*e))
            if (!input.is_immediate && stacks_[input.stack].empty() && value_of(input.stack)) return;
        any_value();
    }

    [[nodiscard]] bool has_operands(const EntryCode& e) const {
        return std::ranges::all_of(genes_.code().inputs_of(e), [this](const InputCode& input) {
            return input.is_immediate || stacks_[input.stack].size() >= input.depth;
        });
    }
    [[nodiscard]] std::uint32_t size_after(const EntryCode& e) const {
        std::uint32_t size = 1;
        for (const InputCode& input : genes_.code().inputs_of(e))
            if (!input.is_immediate) size += *(stacks_[input.stack].end() - input.depth);
        return size;
    }
    [[nodiscard]] bool is_too_large(const EntryCode& e) const {
        if (options_.live == 0) return false;
        std::uint32_t others = 0;
        if (e.outputs != 0 && wanted_[e.type] != 0 && !stacks_[e.type].empty())
            others = live() - *std::max_element(stacks_[e.type].begin(), stacks_[e.type].end());
        return others + size_after(e) > options_.live;
    }
    // Of values that wait to be used.
    [[nodiscard]] bool is_full() const {
        constexpr std::size_t many = 4;
        std::size_t count = 0;
        for (const Sizes& stack : stacks_) count += stack.size();
        return count > many + genes_.machine.slots.size();
    }

    void apply(const EntryCode& e) {
        const auto instruction = genes_.form(random_, e, program_.pool);
        if (!instruction) return any_value();
        const std::uint32_t size = size_after(e);
        for (const InputCode& input : genes_.code().inputs_of(e))
            if (!input.is_immediate) stacks_[input.stack].pop_back();
        for (std::size_t k = 0; k < e.outputs; ++k)
            stacks_[e.is_special ? e.type : genes_.code().output_stacks[genes_.code().output_bases[e.at] + k]]
                .push_back(size);
        program_.code.push_back(*instruction);
    }

    // What rearranges a stack, where it finds its values.
    bool word() {
        constexpr std::array<Opcode, 6> words = {Opcode::dup,    Opcode::swap,     Opcode::over,
                                                 Opcode::rotate, Opcode::yank_dup, Opcode::swap_with};
        const auto type = static_cast<TypeId>(random_.below(stacks_.size()));
        Sizes& stack = stacks_[type];
        if (stack.empty()) return false;
        Instruction i{words[random_.below(words.size())], type, 0, 0};
        if (i.opcode == Opcode::yank_dup || i.opcode == Opcode::swap_with)
            i.payload = static_cast<std::uint32_t>(random_.below(stack.size()));
        const std::size_t depth = stack.size();
        stack.push_back(0);  // room
        std::uint32_t* top = stack.data() + depth;
        const bool is_there = rearrange(i, stack.data(), top);
        stack.resize(static_cast<std::size_t>(top - stack.data()));
        if (is_there) program_.code.push_back(i);
        return is_there;
    }

    void push(const Instruction& i, TypeId type) {
        program_.code.push_back(i);
        stacks_[type].push_back(0);
    }
    void push_constant(TypeId type) { push(genes_.constant(random_, type, program_.pool), type); }

    void any_value() {
        const auto& slots = genes_.machine.slots;
        for (int k = 0; k < 8 && !slots.empty(); ++k) {
            if (random_.chance(genes_.constant_share)) {
                const TypeId type = slots[random_.below(slots.size())].type;
                if (has_constants(type)) return push_constant(type);
            } else if (const Slot* const slot = genes_.readable(random_, max_types)) {
                return push(input_of(*slot), slot->type);
            }
        }
        push_constant(type_id(Type::f32));
    }

    bool value_of(TypeId type) {
        if (!has_constants(type) && genes_.readable(random_, type) == nullptr) return false;
        push(genes_.value(random_, type, program_.pool), type);
        return true;
    }

    // The top, or, where it is known how large a program is wanted, the largest value.
    void assign(const Slot& slot) {
        Sizes& stack = stacks_[slot.type];
        if (stack.empty() && !value_of(slot.type)) return;
        if (options_.live != 0) {
            const auto largest = std::max_element(stack.rbegin(), stack.rend());
            if (const auto depth = static_cast<std::uint32_t>(largest - stack.rbegin()); depth != 0) {
                program_.code.push_back(
                    {depth == 1 ? Opcode::swap : Opcode::swap_with, slot.type, 0, depth == 1 ? 0 : depth});
                std::iter_swap(largest, stack.rbegin());
            }
        }
        stack.pop_back();
        program_.code.push_back(assignment_to(slot));
    }

    const Genes& genes_;
    Random& random_;
    const SequenceOptions& options_;
    Program program_;
    std::vector<Sizes> stacks_;
    std::array<std::uint32_t, max_types> wanted_{};  // values that operands of a type receive
};

}  // namespace

Program make_sequence(const Genes& genes, Random& random, const SequenceOptions& options) {
    return SequenceMaker(genes, random, options).make();
}

Program random_program(const Machine& machine, std::uint64_t seed, std::uint32_t length) {
    const Machine::Data& data = MachineData::of(machine);
    constexpr double constants = 0.4;
    Random random(seed);
    return make_sequence({data, data.code->weights, ConstantSources::usual(), constants}, random,
                         {.live = 0, .length = length, .words = 0});
}

}  // namespace ptxgraft::stack
