#pragma once
/// @file walk.hpp
/// All programs of a number of instructions, as sets of values: each computed from those before it. One order
/// of each set is walked. The last two instructions are not walked but run side by side: all that may be the
/// last but one, on a few points, are the elements of columns that each possible last one runs through. What
/// is right there is looked at whole.

#include <unordered_map>

#include "search/enumerate/enumerator.hpp"

namespace ptxgraft::search {

/// One thread's way through the programs.
class Walk {
  public:
    Walk(Enumerator& shared, std::uint32_t instructions)
        : shared_(shared), values_(shared.leaves()), levels_(instructions) {
        for (Value& leaf : values_) sample(leaf);
    }

    /// A value that one more instruction computes.
    struct Next {
        Step step;
        std::uint64_t hash = 0;
        StepSet needs = 0;  ///< the values of steps without which it cannot be computed
        ResultSet results = 0;
        bool is_approximate = false;
    };
    /// Those that `left` more instructions, this one among them, can start with. Not in here: values that
    /// leave others without use, and, of two that do not need each other, the one order that does not ascend.
    const std::vector<Next>& next_values(std::uint32_t left);
    /// All programs whose next value is this one. Whether one is right.
    bool enter(const Next& next, std::uint32_t left);
    /// All programs of one or two more instructions.
    bool last(std::uint32_t left);
    /// Of several results: all programs of so many more instructions.
    bool all(std::uint32_t left);
    void set_branch(std::size_t branch) { branch_ = branch; }

  private:
    static constexpr std::size_t most_tuples = 4096, most_bucketed = std::size_t{1} << 20;
    /// Of one level, some 400 MB; an enumeration of more ends.
    static constexpr std::size_t most_next = std::size_t{1} << 22;

    /// Values for the last instruction but one, on the sampled points alone.
    struct Bucket {
        StepSet open = 0;  ///< what the last instruction has to use beside them
        std::uint32_t width = 0;
        std::vector<Step> steps = {};
        std::vector<std::byte> samples = {};
    };
    struct Level {
        std::vector<Next> next;
        std::unordered_map<std::uint64_t, std::size_t> places;  ///< in `next`, by hash and width
    };

    [[nodiscard]] const std::vector<Trial>& trials() const { return shared_.trials(); }
    [[nodiscard]] std::size_t leaf_count() const { return shared_.leaves().size(); }
    [[nodiscard]] StepSet all_steps() const { return (StepSet{1} << steps_.size()) - 1; }
    [[nodiscard]] StepSet needs_of(const Step& step) const;
    [[nodiscard]] bool is_approximate(const Step& step) const;
    [[nodiscard]] bool can_use_all(const Next& next, std::uint32_t width, std::uint32_t left) const;
    [[nodiscard]] bool is_over() const { return shared_.has_ended() || shared_.found_at() < branch_; }
    void sample(Value& value) const;
    void compute(const Step& step, std::vector<std::byte>& column);
    template <class Visit> void each_step(std::size_t trial, std::size_t place, Step& step, Visit visit);
    void add_next(const Step& step, Level& level);
    bool keep(std::size_t last_value);
    bool keep_all();
    [[nodiscard]] ResultSet results() const;
    bool last_one();
    bool last_two();
    void add_tuple(const Step& step);
    void compute_tuples();
    void clear_tuples();
    bool finds_right_tuple();
    bool fill_buckets(std::size_t trial);
    void move_to_buckets(StepSet unused);
    bool close_buckets();
    void clear_buckets();
    Bucket& bucket_of(StepSet open, std::uint32_t width);
    bool close(const Bucket& bucket);
    bool close(const Bucket& bucket, std::size_t trial, std::uint32_t positions);
    bool close_with(const Bucket& bucket, Step step, std::uint32_t positions);
    bool is_right_whole(const Step& before, Step last, std::uint32_t positions);

    Enumerator& shared_;
    std::vector<Value> values_;  ///< leaves, then those of the steps
    std::vector<Step> steps_;
    StepSet needed_ = 0;  ///< by a later one
    std::size_t branch_ = 0;
    std::vector<Level> levels_;
    std::vector<Bucket> buckets_;
    std::size_t bucketed_ = 0;  ///< values in all of them
    std::vector<std::byte> column_, last_column_, output_;
    std::vector<Step> tuples_;  ///< of one instruction, with the sampled points of its inputs
    std::array<std::vector<std::byte>, most_inputs> tuple_samples_;
    std::vector<std::uint32_t> right_;
};

}  // namespace ptxgraft::search
