#pragma once
/// @file genes.hpp
/// What programs of a site are varied with: what a Sampler draws, and beside that moves on the stacks and
/// moves of bits between types, which a program of several types cannot do without.

#include <span>
#include <utility>
#include <vector>

#include "ptxgraft/search.hpp"
#include "search/random.hpp"

namespace ptxgraft::search {

class Genes {
  public:
    /// `constants` are numbers that constants often are.
    [[nodiscard]] static Expected<Genes> make(const SiteSpace& site, std::span<const double> constants);

    /// A random program.
    [[nodiscard]] stack::Program program(Random& random) const;
    /// Adds a gene; where it works on a type that is not the operands' own, as often as not with the moves of
    /// bits that bring its inputs there and its result back: no one of them is of use alone.
    void add(stack::Program& program, Random& random) const;
    /// In the place of a gene one of its kind, that pops and pushes the same; now and then any other.
    void replace(stack::Program& program, std::size_t place, Random& random) const;
    /// Changes a constant by a step, or draws another.
    void step(stack::Instruction& constant, Random& random) const;

    [[nodiscard]] static bool is_tunable(const stack::Instruction& gene) {
        return gene.opcode == stack::Opcode::constant && gene.type != stack::type_id(Type::pred);
    }

  private:
    explicit Genes(stack::Sampler sampler) : sampler_(std::move(sampler)) {}
    /// The moves of bits around a form of the set.
    struct Bundle {
        std::vector<stack::Instruction> before, after;
    };

    void add_operands(const Signature& signature);
    void add_entry(const stack::Entry& entry);
    void add_type(stack::TypeId type);
    void add_casts();
    [[nodiscard]] stack::TypeId home_of(stack::TypeId type) const;
    [[nodiscard]] stack::Instruction any(std::vector<std::uint64_t>& pool, Random& random) const;
    [[nodiscard]] stack::Instruction move(Random& random) const;
    [[nodiscard]] Type base_of(stack::TypeId type) const;

    stack::Sampler sampler_;
    std::uint32_t most_live_ = 1;
    std::vector<stack::Instruction> inputs_, casts_;
    std::vector<stack::TypeId> types_;  ///< that occur
    std::vector<stack::TypeId> homes_;  ///< of the operands
    std::vector<Bundle> bundles_;       ///< for each entry of the set
    std::vector<Type> bases_;           ///< of the set's own types
};

}  // namespace ptxgraft::search
