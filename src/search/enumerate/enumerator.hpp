#pragma once
/// @file enumerator.hpp
/// What all walks of one enumeration share: what can be computed from what, and what is right.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ptxgraft/search.hpp"
#include "search/enumerate/trials.hpp"
#include "search/gates/columns.hpp"

namespace ptxgraft::search {

inline constexpr std::uint32_t least_screen = 256, most_screen = 4096;  ///< points; who agrees there is one
inline constexpr std::size_t sampled = 4;  ///< points on which the last two instructions are tried
inline constexpr std::size_t least_column = least_screen / sampled;
inline constexpr std::size_t side_by_side = 256;  ///< values, each on those points

using ResultSet = std::uint64_t;  ///< registers that the cases know, a bit each

struct Value {
    std::vector<std::byte> column;
    std::uint64_t hash = 0;
    std::uint32_t width = 0;  ///< in bits; 1 for a pred
    stack::TypeId type = 0;
    ResultSet results = 0;                ///< of several, those that it is
    bool is_approximate = false;          ///< where such are perturbed: one of its steps is
    std::vector<std::byte> samples = {};  ///< the sampled points, side_by_side times
};

/// What computes a value: an instruction and its arguments, numbers of values.
struct Step {
    std::size_t trial = 0;
    std::array<std::uint8_t, most_inputs> arguments{};
};

using StepSet = std::uint32_t;  ///< values of steps, a bit each

[[nodiscard]] std::uint64_t hash_of(const std::vector<std::byte>& column, std::uint32_t width);

class Enumerator {
  public:
    Enumerator(const Space& space, const Cases& cases, const EnumerateOptions& options)
        : space_(space),
          cases_(cases),
          options_(options),
          registers_(case_registers(machine().signature())),
          order_(screen_of(cases, std::clamp(cases.screen, least_screen, most_screen))) {}

    Expected<Enumeration> run();

    [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
    [[nodiscard]] const std::vector<Value>& leaves() const { return leaves_; }
    [[nodiscard]] std::size_t points() const { return order_.size(); }
    [[nodiscard]] std::span<const std::size_t> samples() const { return samples_; }
    [[nodiscard]] std::uint32_t right_width() const { return bits(registers_[output_].type); }
    /// Whether the sampled points, where `right_width` fits, are right, for each of `count` values.
    void find_right(const std::byte* samples, std::size_t count, std::vector<std::uint32_t>& found) const;
    [[nodiscard]] bool is_right(const std::byte* column) const;
    /// Whether so many values of a width can all be used by as many instructions as are left.
    [[nodiscard]] bool can_use(std::uint32_t width, std::size_t count, std::uint32_t left) const;
    [[nodiscard]] std::size_t widest() const { return widest_; }
    [[nodiscard]] bool perturbs() const { return options_.perturb; }
    /// Whether the cases know several registers. One value may be several of them.
    [[nodiscard]] bool has_several() const { return outputs_.size() > 1; }
    [[nodiscard]] std::size_t result_count() const { return outputs_.size(); }
    /// Which of several registers a value is, as numbers are compared.
    [[nodiscard]] ResultSet results_of(const std::byte* column, std::uint32_t width) const;
    [[nodiscard]] ResultSet results_of_leaves() const { return leaf_results_; }
    /// How many values more there have to be, at least, where there are some.
    [[nodiscard]] std::size_t missing(ResultSet there) const;

    [[nodiscard]] bool has_ended() const {
        return is_stopped_.load(std::memory_order_relaxed) ||
               (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed));
    }
    /// A trial on all points of the screen; beside few points the way to a value counts.
    void spend_column(const Trial& trial) {
        spend(std::max(order_.size() / sampled, least_column) * trial.weight);
    }
    void give_up() { is_stopped_ = true; }
    void spend(std::uint64_t trials) {
        const std::uint64_t spent = spent_.fetch_add(trials, std::memory_order_relaxed) + trials;
        if (options_.trials != 0 && spent >= options_.trials) is_stopped_ = true;
    }
    /// One that is right on the screen, found in a branch: of several the first branch counts.
    /// `values`: those that the outputs receive.
    bool keep_if_whole(const std::vector<Step>& steps, std::span<const std::size_t> values,
                       std::size_t branch);
    [[nodiscard]] std::size_t found_at() const { return found_at_.load(std::memory_order_relaxed); }

  private:
    [[nodiscard]] const stack::Machine& machine() const { return space_.sites[0].machine; }
    Expected<void> find_outputs();
    Expected<void> prepare();
    Expected<bool> widen();
    [[nodiscard]] std::optional<std::size_t> first_wrong(const stack::Program& program) const;
    [[nodiscard]] bool is_result(std::size_t output, const std::byte* column) const;
    [[nodiscard]] bool may_be_one(std::size_t a, std::size_t b) const;
    void find_classes();
    Expected<void> make_leaves();
    void add_constants(stack::TypeId type);
    void add_leaf(Value value, stack::Instruction instruction);
    void choose_samples();
    void note_widest();
    bool finds_leaves();
    void walk(std::uint32_t instructions);
    [[nodiscard]] bool is_whole(const stack::Program& program) const;
    [[nodiscard]] stack::Program program_of(const std::vector<Step>& steps,
                                            std::span<const std::size_t> values) const;
    [[nodiscard]] stack::Instruction assignment_of(std::size_t of) const;

    const Space& space_;
    const Cases& cases_;
    const EnumerateOptions& options_;
    const std::vector<CaseRegister> registers_;
    std::vector<std::size_t> order_;    ///< of the screen, its points
    std::set<std::size_t> missed_;      ///< points at which what is right on the screen is wrong
    std::vector<std::size_t> samples_;  ///< places in the order
    std::vector<std::size_t> outputs_;  ///< the registers that the cases know
    std::size_t output_ = 0;            ///< the first of them
    ResultSet leaf_results_ = 0;
    std::vector<ResultSet> classes_;  ///< of several registers; no value is of two of them
    std::vector<std::byte> right_;    ///< its bits at the sampled points
    bool is_exact_ = false;           ///< right is what has those very bits
    std::vector<Trial> trials_;
    std::vector<Value> leaves_;
    std::vector<stack::Instruction> leaf_instructions_;
    std::vector<std::uint64_t> pool_;               ///< of constants that have no room in an instruction
    std::size_t widest_ = 1;                        ///< inputs of any trial
    std::array<std::size_t, 8> widest_by_width_{};  ///< of one width, by its logarithm
    std::unique_ptr<Gate> whole_;
    std::mutex mutex_;
    std::optional<stack::Program> found_;
    std::atomic<std::size_t> found_at_ = ~std::size_t{0};
    std::atomic<std::uint64_t> spent_ = 0;
    std::atomic<bool> is_stopped_ = false;
};

}  // namespace ptxgraft::search
