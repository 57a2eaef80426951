// Programs drawn as expressions, from the operand that is assigned to the leaves.

#include <algorithm>
#include <array>
#include <span>

#include "stub/stack/program/genes.hpp"

namespace ptxgraft::stack {
namespace {

class TreeMaker {
  public:
    TreeMaker(const Sampler::Data& sampler, Random& random)
        : sampler_(sampler), genes_(sampler.genes()), random_(random) {}

    Program make(std::uint32_t live) {
        std::uint32_t growing = 0;
        for (const Slot& s : genes_.machine.slots) growing += grows(s);
        for (const Slot& s : genes_.machine.slots) {
            if (s.direction == Direction::in) continue;
            std::uint32_t own = 0;
            if (grows(s)) own = share(live, growing), live -= own, --growing;
            if (!has_constants(s.type) && own == 0 && genes_.readable(random_, s.type) == nullptr) continue;
            if (own == 0 && s.direction == Direction::mod)
                program_.code.push_back(input_of(s));  // it keeps its value
            else
                (void)grow(s.type, own, true);
            program_.code.push_back(assignment_to(s));
        }
        insert_stores();
        return std::move(program_);
    }

  private:
    [[nodiscard]] bool grows(const Slot& s) const {
        return s.direction != Direction::in && !sampler_.makers[s.type].entries.empty();
    }
    // Of what is left, for the next of so many.
    std::uint32_t share(std::uint32_t left, std::uint32_t count) {
        return count == 1 ? left : (left + static_cast<std::uint32_t>(random_.below(count))) / count;
    }

    // An expression of so many instructions on the stack of a type; `must_vary`: where there is no
    // instruction, of an operand if there is one. True: it is one constant.
    bool grow(TypeId type, std::uint32_t live, bool must_vary) {
        const EntryCode* const e = live == 0 ? nullptr : maker(type, live);
        if (e == nullptr) return leaf(type, must_vary);
        if (e->is_special) {
            program_.code.push_back({Opcode::form, 0, static_cast<std::uint16_t>(e->at), 0});
            return false;
        }
        const auto inputs = genes_.code().inputs_of(*e);
        std::uint32_t left = live - 1;
        const std::size_t main = main_input(inputs, left);
        bool is_constant = true;
        std::array<std::uint32_t, EntryCode::max_inputs> shares{};
        for (std::size_t k = 0; k < inputs.size(); ++k)
            if (k != main && grows(inputs[k]))
                left -= shares[k] = part(inputs[k], left, inputs[main < inputs.size() ? main : k]);
        if (main < inputs.size()) shares[main] = left;
        for (std::size_t k = 0; k < inputs.size(); ++k)
            if (!inputs[k].is_immediate)
                is_constant &= grow(inputs[k].stack, shares[k], k == main && is_constant);
        const auto instruction = genes_.form(random_, *e, program_.pool);
        program_.code.push_back(
            instruction ? *instruction : Instruction{Opcode::form, 0, static_cast<std::uint16_t>(e->at), 0});
        results_.push_back({static_cast<std::uint32_t>(program_.code.size()), type, not_stored});
        return false;
    }

    // One that makes a type, with so many instructions of its own and below it, and can do so of operands.
    const EntryCode* maker(TypeId type, std::uint32_t live) {
        const auto& specials = sampler_.specials[type];
        constexpr std::uint64_t specials_are_rarer = 16;
        if (live == 1 && !specials.empty() && random_.below(specials_are_rarer) == 0)
            return &genes_.code().entries[specials[random_.below(specials.size())]];
        const WeightedEntries& inner = sampler_.inner_makers[type];
        const WeightedEntries& makers = live > 1 && !inner.entries.empty() ? inner : sampler_.makers[type];
        constexpr int draws = 8;
        for (int k = 0; k < draws && !makers.entries.empty(); ++k) {
            const std::uint16_t at = makers.draw(random_);
            if (sampler_.entry_distance[at] < live) return &genes_.code().entries[at];
        }
        const WeightedEntries& near = sampler_.near_makers[type];
        return near.entries.empty() ? nullptr : &genes_.code().entries[near.draw(random_)];
    }
    // The input that receives what the others leave: one that can be made of operands with so many.
    std::size_t main_input(std::span<const InputCode> inputs, std::uint32_t left) {
        std::size_t main = inputs.size();
        std::uint64_t seen = 0;
        for (const bool must_grow : {true, false})
            for (std::size_t k = 0; k < inputs.size() && (must_grow || seen == 0); ++k)
                if (!inputs[k].is_immediate && (!must_grow || grows(inputs[k])) &&
                    sampler_.distance[inputs[k].stack] <= left && random_.below(++seen) == 0)
                    main = k;
        return main;
    }
    // What another input may take of it.
    std::uint32_t part(const InputCode& input, std::uint32_t left, const InputCode& main) {
        const std::uint32_t least = std::max(sampler_.distance[input.stack], 1u);
        const std::uint32_t kept = std::min(sampler_.distance[main.stack], left);
        const auto part = static_cast<std::uint32_t>(random_.below(left - kept + 1));
        return part < least ? 0 : part;
    }
    [[nodiscard]] bool grows(const InputCode& input) const {
        return !input.is_immediate && !sampler_.makers[input.stack].entries.empty();
    }

    bool leaf(TypeId type, bool must_vary) {
        if (sampler_.options.shared != 0 && random_.chance(sampler_.options.shared) && load(type))
            return false;
        const Slot* const slot = must_vary ? genes_.readable(random_, type) : nullptr;
        program_.code.push_back(slot != nullptr ? input_of(*slot)
                                                : genes_.value(random_, type, program_.pool));
        return program_.code.back().opcode != Opcode::input;
    }

    // A result that stands already, stored where it was computed.
    bool load(TypeId type) {
        constexpr int draws = 3;
        for (int k = 0; k < draws && !results_.empty(); ++k) {
            Result& result = results_[random_.below(results_.size())];
            if (result.type != type) continue;
            constexpr std::uint32_t cells = 256;
            if (result.cell == not_stored) {
                if (stored_ == cells) return false;
                result.cell = stored_++;
            }
            program_.code.push_back({Opcode::load, type, 0, result.cell});
            return true;
        }
        return false;
    }

    void insert_stores() {
        if (stored_ == 0) return;
        std::vector<Instruction> code;
        code.reserve(program_.code.size() + 2 * std::size_t{stored_});
        std::uint32_t done = 0;
        for (const Result& r : results_) {  // in the order of the code
            if (r.cell == not_stored) continue;
            code.insert(code.end(), program_.code.begin() + done, program_.code.begin() + r.behind);
            code.push_back({Opcode::dup, r.type, 0, 0});
            code.push_back({Opcode::store, r.type, 0, r.cell});
            done = r.behind;
        }
        code.insert(code.end(), program_.code.begin() + done, program_.code.end());
        program_.code = std::move(code);
    }

    static constexpr std::uint32_t not_stored = 0xFFFFFFFFu;
    struct Result {
        std::uint32_t behind;  // place in the code
        TypeId type;
        std::uint32_t cell;
    };

    const Sampler::Data& sampler_;
    const Genes genes_;
    Random& random_;
    Program program_;
    std::vector<Result> results_;
    std::uint32_t stored_ = 0;
};

}  // namespace

Program make_tree(const Sampler::Data& sampler, Random& random, std::uint32_t live) {
    return TreeMaker(sampler, random).make(live);
}

}  // namespace ptxgraft::stack
