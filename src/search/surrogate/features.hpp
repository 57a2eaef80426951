#pragma once
/// @file features.hpp
/// Candidates as numbers for a model: what their programs consist of once all that does nothing is left out.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// Whether an opcode (`mul`, `mov`) has one of the classes that Features counts by, `other` among them.
[[nodiscard]] bool has_cost_class(std::string_view opcode);

/// For each site, beside live instructions by classes of opcodes that cost about the same:
///
/// | feature | what it is |
/// |---|---|
/// | live | instructions, without moves |
/// | depth | of the longest chain of them that depend on each other |
/// | special | of them that run on the special function unit |
/// | wide, narrow | of them with a result of 64 bits; of 16 bits |
/// | constants, inputs | different registers' worth that live instructions read |
/// | peak | the most values that are alive at once, in the order of the program |
/// | live x peak | their product |
/// | any wide, any divide | 1 where there is one: code that many share, and its registers |
///
/// The classes are add, mul, fma, min, logic, shift, select, convert, approximate, divide and other. Then
/// for each tunable its value and the place of its value, then what the caller knows beside (`extras`).
/// Brackets (`repeat`, `if`) count as what stands in them, once; routines are passed over.
class Features {
  public:
    explicit Features(const Space& space, std::size_t extras = 0);

    [[nodiscard]] std::size_t count() const { return names_.size(); }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] bool fits(const Genome& genome) const;

    /// What counts of an instruction of a set.
    struct Form {
        std::uint8_t op_class = 0;
        bool is_special = false, is_counted = true;
        std::vector<stack::TypeId> inputs, outputs;  // stacks
    };

    /// Memory that is used again and again, by one thread.
    struct Scratch;
    /// `row` has count() places. `extras` has as many values as the constructor was told.
    void write(const Genome& genome, std::span<const double> extras, std::span<double> row,
               Scratch& scratch) const;

  private:
    struct Site {
        std::vector<Form> forms;              // of the set
        std::vector<stack::TypeId> operands;  // stacks
        std::vector<std::uint32_t> counts;    // elements of each operand
        std::vector<bool> is_output;
    };
    static Form form_of(const stack::Entry& entry);
    static void read(const Site& site, const stack::Program& program, Scratch& scratch);
    static void count_live(Scratch& scratch, std::span<double> row);

    std::vector<Site> sites_;
    std::vector<std::vector<std::int64_t>> tunables_;
    std::size_t extras_;
    std::vector<std::string> names_;
};

struct Features::Scratch {
    struct Node {
        std::uint32_t first = 0, count = 0;  ///< in `inputs`
        std::uint32_t last_use = 0;          ///< of the node, a place
        std::uint16_t depth = 0;
        std::uint8_t form_class = 0;  ///< 0xFF: an input; 0xFE: a constant
        std::uint8_t width = 0;       ///< bits of its type, in bytes
        bool is_live = false, is_special = false, is_counted = false;
    };
    std::vector<Node> nodes;
    std::vector<std::uint32_t> inputs;
    std::vector<std::vector<std::uint32_t>> stacks;                        ///< by type
    std::vector<std::pair<std::uint64_t, std::uint32_t>> cells, operands;  ///< (place, node)
    std::vector<std::pair<std::uint64_t, std::uint32_t>> assigned;         ///< (place, node)
    std::vector<std::uint32_t> ends;                                       ///< values that die, by place
};

}  // namespace ptxgraft::search
