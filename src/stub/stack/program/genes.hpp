#pragma once
// What programs are drawn of: entries by weight, constants from their sources, operands.

#include <optional>
#include <span>
#include <vector>

#include "ptxgraft/program.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

/// Sources of constants, ready to draw from.
class ConstantSources {
  public:
    explicit ConstantSources(std::vector<ConstantSource> sources);

    /// Bits of a type whose PTX type is `base`; 0 for types without constants.
    [[nodiscard]] std::uint64_t draw(Random& random, TypeId type, TypeId base) const;
    /// Those of usual_constants().
    [[nodiscard]] static const ConstantSources& usual();

  private:
    [[nodiscard]] const ConstantSource* source_for(Random& random, TypeId type, bool is_integer) const;

    std::vector<ConstantSource> sources_;
    std::vector<std::vector<double>> whole_;  // by source: those of its values that are integers
};

/// Whether a type has constants.
constexpr bool has_constants(TypeId type) { return type != type_b8 && type != type_b128; }

/// What of a machine random instructions are made of.
struct Genes {
    const Machine::Data& machine;
    std::span<const double> weights;  ///< by entry, running sums
    const ConstantSources& constants;
    double constant_share;

    [[nodiscard]] const SetCode& code() const { return *machine.code; }
    /// An entry by weight that the machine has, without effects; null when none comes up.
    [[nodiscard]] const EntryCode* draw(Random& random) const;
    /// An entry as an instruction, with immediates at random; nothing where the pool has no room for them.
    [[nodiscard]] std::optional<Instruction> form(Random& random, const EntryCode& entry,
                                                  std::vector<std::uint64_t>& pool) const;
    [[nodiscard]] Instruction constant(Random& random, TypeId type, std::vector<std::uint64_t>& pool) const;
    /// A slot that can be read, of a type or of any (max_types); nothing when there is none.
    [[nodiscard]] const Slot* readable(Random& random, TypeId type) const;
    /// A value of a type to push, an operand's or a constant.
    [[nodiscard]] Instruction value(Random& random, TypeId type, std::vector<std::uint64_t>& pool) const;
};

/// Draws by running sums; their size when all weights are 0.
[[nodiscard]] std::size_t draw_index(Random& random, std::span<const double> sums);

[[nodiscard]] constexpr Instruction input_of(const Slot& slot) {
    return {Opcode::input, 0, static_cast<std::uint16_t>(slot.operand), slot.element};
}
[[nodiscard]] constexpr Instruction assignment_to(const Slot& slot) {
    return {Opcode::assign, 0, static_cast<std::uint16_t>(slot.operand), slot.element};
}

/// The instruction that pushes bits as a type whose PTX type is `base`.
[[nodiscard]] Instruction constant_instruction(TypeId type, TypeId base, std::uint64_t bits,
                                               std::vector<std::uint64_t>& pool);

/// Entries with their running sums.
struct WeightedEntries {
    std::vector<std::uint16_t> entries;
    std::vector<double> sums;

    void add(std::uint32_t entry, double weight) {
        entries.push_back(static_cast<std::uint16_t>(entry));
        sums.push_back((sums.empty() ? 0 : sums.back()) + weight);
    }
    [[nodiscard]] std::uint16_t draw(Random& random) const { return entries[draw_index(random, sums)]; }
};

struct Sampler::Data {
    Data(const Machine& m, SamplerOptions o);

    Machine machine;
    SamplerOptions options;
    ConstantSources constants;
    std::vector<double> weights;  // running sums of what may be drawn
    /// by stack: the entries of one result there, and those of them with an input that an entry makes too
    std::vector<WeightedEntries> makers, inner_makers;
    /// by stack: how many entries make a value there of an operand, at least; `far`: none do
    std::vector<std::uint32_t> distance;
    std::vector<std::uint32_t> entry_distance;  ///< by entry: the least of its inputs'
    std::vector<WeightedEntries> near_makers;   ///< by stack: makers of the least distance
    std::vector<double> sequence_weights;       ///< running sums: of entries on types that the operands have
    static constexpr std::uint32_t far = 0xFFFFFFu;
    std::vector<std::vector<std::uint16_t>> specials;  ///< by stack
    std::vector<WeightedEntries> siblings;             ///< entries that pop and push the same
    std::vector<std::uint32_t> sibling_group;          ///< by entry; none
    static constexpr std::uint32_t none = 0xFFFFFFFFu;

    [[nodiscard]] Genes genes() const {
        return {MachineData::of(machine), weights, constants, options.constant_share};
    }
    [[nodiscard]] Genes sequence_genes() const {
        return {MachineData::of(machine), sequence_weights, constants, options.constant_share};
    }

  private:
    [[nodiscard]] double weight(std::uint32_t entry) const {
        return weights[entry] - (entry == 0 ? 0 : weights[entry - 1]);
    }
    void weigh();
    void find_makers();
    void find_distances();
    void weigh_for_sequences();
    void find_siblings();
};

[[nodiscard]] Program make_tree(const Sampler::Data& sampler, Random& random, std::uint32_t live);

/// What a sequence is to be: `live` instructions that are live, or, where that is 0, `length` all together.
struct SequenceOptions {
    std::uint32_t live = 0, length = 0;
    double words = 0;
};
[[nodiscard]] Program make_sequence(const Genes& genes, Random& random, const SequenceOptions& options);

}  // namespace ptxgraft::stack
