// One thread's way through the programs of an enumeration.

#include "search/enumerate/walk.hpp"

#include <algorithm>
#include <bit>

namespace ptxgraft::search {
namespace {

// Bytes that are few, and of few counts.
void append(std::vector<std::byte>& to, const std::byte* from, std::size_t count) {
    const std::size_t at = to.size();
    to.resize(at + count);
    if (count == sampled * 4)
        std::memcpy(to.data() + at, from, sampled * 4);
    else
        std::memcpy(to.data() + at, from, count);
}

}  // namespace

void Walk::sample(Value& value) const {
    const std::size_t bytes = bytes_of(value.width);
    value.samples.resize(sampled * side_by_side * bytes);
    std::byte* const to = value.samples.data();
    for (std::size_t k = 0; k < sampled; ++k)
        std::memcpy(to + k * bytes, value.column.data() + shared_.samples()[k] * bytes, bytes);
    for (std::size_t done = sampled * bytes; done < value.samples.size(); done *= 2)
        std::memcpy(to + done, to, std::min(done, value.samples.size() - done));
}

StepSet Walk::needs_of(const Step& step) const {
    StepSet needs = 0;
    for (std::size_t k = 0; k < trials()[step.trial].inputs.size(); ++k)
        if (step.arguments[k] >= leaf_count()) needs |= StepSet{1} << (step.arguments[k] - leaf_count());
    return needs;
}

bool Walk::is_approximate(const Step& step) const {
    if (!shared_.perturbs()) return false;
    const Trial& of = trials()[step.trial];
    if (of.evaluator.is_approximate()) return true;
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
        if (values_[step.arguments[k]].is_approximate) return true;
    return false;
}

// Calls visit(step) for all arguments of an instruction.
template <class Visit> void Walk::each_step(std::size_t trial, std::size_t place, Step& step, Visit visit) {
    const Trial& of = trials()[trial];
    if (place == of.inputs.size()) return visit(step);
    const std::size_t first = place == 1 && of.is_commutative ? step.arguments[0] : 0;
    for (std::size_t v = first; v < values_.size() && !is_over(); ++v) {
        if (values_[v].width != width_of(of.inputs[place])) continue;
        step.arguments[place] = static_cast<std::uint8_t>(v);
        each_step(trial, place + 1, step, visit);
    }
    step.arguments[place] = 0;
}

void Walk::compute(const Step& step, std::vector<std::byte>& column) {
    const Trial& trial = trials()[step.trial];
    std::array<const void*, most_inputs> in{};
    for (std::size_t k = 0; k < trial.inputs.size(); ++k) in[k] = values_[step.arguments[k]].column.data();
    column.resize(shared_.points() * bytes_of(width_of(trial.output)));
    run(trial, std::span(in).first(trial.inputs.size()), column.data(), shared_.points());
    shared_.spend_column(trial);
}

// Each instruction that is left takes at most so many values, and leaves one: those that nobody has used yet
// must all find a place.
bool Walk::can_use_all(const Next& next, std::uint32_t width, std::uint32_t left) const {
    const StepSet open = all_steps() & ~needed_ & ~next.needs;
    if (shared_.has_several()) {
        const std::size_t unused = static_cast<std::size_t>(std::popcount(open)) + (next.results == 0);
        return unused <= left * shared_.widest();
    }
    if (static_cast<std::size_t>(std::popcount(open)) + 1 > 1 + left * (shared_.widest() - 1)) return false;
    std::array<std::size_t, 8> count{};
    ++count[static_cast<std::size_t>(std::bit_width(width)) - 1];
    for (std::size_t s = 0; s < steps_.size(); ++s)
        if ((open >> s & 1) != 0)
            ++count[static_cast<std::size_t>(std::bit_width(values_[leaf_count() + s].width)) - 1];
    for (std::uint32_t w = 0; w < count.size(); ++w)
        if (count[w] != 0 && !shared_.can_use(1u << w, count[w], left)) return false;
    return true;
}

void Walk::add_next(const Step& step, Level& level) {
    compute(step, column_);
    const std::uint32_t width = width_of(trials()[step.trial].output);
    constexpr std::uint64_t approximate = 0x9E3779B97F4A7C15;
    std::uint64_t hash = hash_of(column_, width);
    const StepSet needs = needs_of(step);
    const bool is_perturbed = is_approximate(step);
    if (is_perturbed) {  // an exact one does as well; an approximate one has not its place
        if (level.places.contains(hash)) return;
        hash ^= approximate;
    }
    if (level.next.size() == most_next) return shared_.give_up();
    const auto [place, is_new] = level.places.try_emplace(hash, level.next.size());
    if (is_new)
        level.next.push_back(
            {.step = step,
             .hash = hash,
             .needs = needs,
             .results = shared_.has_several() ? shared_.results_of(column_.data(), width) : 0,
             .is_approximate = is_perturbed});
    else if (place->second < level.next.size())
        level.next[place->second].needs &= needs;
}

// Of a shortest program no value can go: so what a value needs are those that all ways to compute it need,
// and of the orders in which its values can be computed the first by their hashes stands for all.
const std::vector<Walk::Next>& Walk::next_values(std::uint32_t left) {
    Level& level = levels_[steps_.size()];
    level.next.clear();
    level.places.clear();
    for (const Value& value : values_) level.places.emplace(value.hash, ~std::size_t{0});
    for (std::size_t t = 0; t < trials().size() && !is_over(); ++t) {
        Step step{.trial = t};
        each_step(t, 0, step, [&](const Step& one) { add_next(one, level); });
    }
    const ResultSet there = results();
    const bool is_wanted_alone = shared_.missing(there) == left;  // nothing else has room
    std::erase_if(level.next, [&](const Next& next) {
        if (is_wanted_alone && (next.results & ~there) == 0) return true;
        const StepSet before = steps_.empty() ? 0 : StepSet{1} << (steps_.size() - 1);
        const bool is_free = before != 0 && (next.needs & before) == 0;
        return (is_free && next.hash < values_.back().hash) ||
               !can_use_all(next, width_of(trials()[next.step.trial].output), left - 1);
    });
    return level.next;
}

bool Walk::enter(const Next& next, std::uint32_t left) {
    const stack::TypeId output = trials()[next.step.trial].output;
    Value value{.column = {},
                .hash = next.hash,
                .width = width_of(output),
                .type = output,
                .results = next.results,
                .is_approximate = next.is_approximate};
    compute(next.step, value.column);
    sample(value);
    const StepSet before = needed_;
    needed_ |= next.needs;
    values_.push_back(std::move(value));
    steps_.push_back(next.step);
    bool is_found = false;
    if (next.results != 0) needed_ |= StepSet{1} << (steps_.size() - 1);
    if (left - 1 <= 2 || shared_.has_several()) {
        is_found = last(left - 1);
    } else {
        const std::vector<Next>& all = next_values(left - 1);
        for (std::size_t k = 0; k < all.size() && !is_found && !is_over(); ++k)
            is_found = enter(Next(all[k]), left - 1);
    }
    steps_.pop_back();
    values_.pop_back();
    needed_ = before;
    return is_found;
}

bool Walk::keep(std::size_t last_value) {
    return shared_.keep_if_whole(steps_, std::span(&last_value, 1), branch_);
}

// All results are there.
bool Walk::keep_all() {
    std::vector<std::size_t> places;
    for (std::size_t r = 0; r < shared_.result_count(); ++r) {
        const auto is_this = [&](const Value& value) { return (value.results >> r & 1) != 0; };
        const auto is_exact = [&](const Value& value) { return is_this(value) && !value.is_approximate; };
        auto found = std::ranges::find_if(values_, is_exact);
        if (found == values_.end()) found = std::ranges::find_if(values_, is_this);
        places.push_back(static_cast<std::size_t>(found - values_.begin()));
    }
    return shared_.keep_if_whole(steps_, places, branch_);
}

ResultSet Walk::results() const {
    ResultSet made = shared_.results_of_leaves();
    for (std::size_t v = leaf_count(); v < values_.size(); ++v) made |= values_[v].results;
    return made;
}

bool Walk::all(std::uint32_t left) {
    const std::size_t missing = shared_.missing(results());
    if (missing == 0) return keep_all();
    if (missing > left) return false;
    const std::vector<Next>& next = next_values(left);
    for (std::size_t k = 0; k < next.size() && !is_over(); ++k)
        if (enter(Next(next[k]), left)) return true;
    return false;
}

bool Walk::last(std::uint32_t left) {
    if (shared_.has_several()) return all(left);
    return left == 1 ? last_one() : last_two();
}

void Walk::add_tuple(const Step& step) {
    tuples_.push_back(step);
    for (std::size_t k = 0; k < trials()[step.trial].inputs.size(); ++k) {
        const Value& value = values_[step.arguments[k]];
        append(tuple_samples_[k], value.samples.data(), sampled * bytes_of(value.width));
    }
}

// Of one instruction: its results on the sampled points.
void Walk::compute_tuples() {
    const Trial& of = trials()[tuples_[0].trial];
    output_.resize(tuples_.size() * sampled * bytes_of(width_of(of.output)));
    std::array<const void*, most_inputs> in{};
    for (std::size_t k = 0; k < of.inputs.size(); ++k) in[k] = tuple_samples_[k].data();
    run(of, std::span(in).first(of.inputs.size()), output_.data(), tuples_.size() * sampled);
    shared_.spend(tuples_.size() * of.weight);
}

void Walk::clear_tuples() {
    tuples_.clear();
    for (auto& column : tuple_samples_) column.clear();
}

bool Walk::last_one() {
    bool is_found = false;
    for (std::size_t t = 0; t < trials().size() && !is_found && !is_over(); ++t) {
        if (width_of(trials()[t].output) != shared_.right_width()) continue;
        Step step{.trial = t};
        each_step(t, 0, step, [&](const Step& one) {
            add_tuple(one);
            if (tuples_.size() == most_tuples) is_found = is_found || finds_right_tuple();
        });
        is_found = is_found || finds_right_tuple();
    }
    return is_found;
}

bool Walk::finds_right_tuple() {
    if (tuples_.empty()) return false;
    compute_tuples();
    shared_.find_right(output_.data(), tuples_.size(), right_);
    bool is_found = false;
    for (std::size_t k = 0; k < right_.size() && !is_found; ++k) {
        compute(tuples_[right_[k]], column_);
        if (!shared_.is_right(column_.data())) continue;
        steps_.push_back(tuples_[right_[k]]);
        is_found = keep(leaf_count() + steps_.size() - 1);
        steps_.pop_back();
    }
    clear_tuples();
    return is_found;
}

bool Walk::last_two() {
    clear_buckets();
    for (std::size_t t = 0; t < trials().size() && !is_over(); ++t)
        if (fill_buckets(t)) return true;
    return close_buckets();
}

Walk::Bucket& Walk::bucket_of(StepSet open, std::uint32_t width) {
    for (Bucket& bucket : buckets_)
        if (bucket.open == open && bucket.width == width) return bucket;
    return buckets_.emplace_back(Bucket{.open = open, .width = width});
}

void Walk::clear_buckets() {
    bucketed_ = 0;
    for (Bucket& bucket : buckets_) {
        bucket.steps.clear();
        bucket.samples.clear();
    }
    if (buckets_.size() > 256) buckets_.clear();
}

// All values of one instruction. Where they become too many to be kept, what is there is closed: a value does
// not need another one of a bucket.
bool Walk::fill_buckets(std::size_t trial) {
    bool is_found = false;
    Step step{.trial = trial};
    const StepSet unused = all_steps() & ~needed_;
    const auto keep_tuples = [&] {
        if (is_found || tuples_.empty()) return;
        move_to_buckets(unused);
        if (bucketed_ < most_bucketed) return;
        is_found = close_buckets();
        clear_buckets();
    };
    each_step(trial, 0, step, [&](const Step& one) {
        if (static_cast<std::size_t>(std::popcount(unused & ~needs_of(one))) >= shared_.widest()) return;
        add_tuple(one);
        if (tuples_.size() == most_tuples) keep_tuples();
    });
    keep_tuples();
    return is_found;
}

void Walk::move_to_buckets(StepSet unused) {
    compute_tuples();
    const std::uint32_t width = width_of(trials()[tuples_[0].trial].output);
    const std::size_t bytes = sampled * bytes_of(width);
    for (std::size_t k = 0; k < tuples_.size(); ++k) {
        Bucket& bucket = bucket_of(unused & ~needs_of(tuples_[k]), width);
        bucket.steps.push_back(tuples_[k]);
        append(bucket.samples, output_.data() + k * bytes, bytes);
    }
    bucketed_ += tuples_.size();
    clear_tuples();
}

bool Walk::close_buckets() {
    for (const Bucket& bucket : buckets_)
        if (!bucket.steps.empty() && !is_over() && close(bucket)) return true;
    return false;
}

// All last instructions that use the values of a bucket, and what else nobody has used.
bool Walk::close(const Bucket& bucket) {
    for (std::size_t t = 0; t < trials().size() && !is_over(); ++t) {
        const Trial& of = trials()[t];
        if (width_of(of.output) != shared_.right_width()) continue;
        const std::uint32_t all = 1u << of.inputs.size();
        for (std::uint32_t positions = 1; positions < all; ++positions) {
            if (of.is_commutative && (positions & 3) == 2) continue;  // the first two change places
            if (close(bucket, t, positions)) return true;
        }
    }
    return false;
}

// `positions`: which inputs are the bucket's values.
bool Walk::close(const Bucket& bucket, std::size_t trial, std::uint32_t positions) {
    const Trial& of = trials()[trial];
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
        if ((positions >> k & 1) != 0 && width_of(of.inputs[k]) != bucket.width) return false;
    if (static_cast<std::size_t>(std::popcount(bucket.open)) +
            static_cast<std::size_t>(std::popcount(positions)) >
        of.inputs.size())
        return false;
    bool is_found = false;
    const auto others = [&](const auto& self, std::size_t place, Step& step, StepSet open) -> void {
        while (place < of.inputs.size() && (positions >> place & 1) != 0) ++place;
        if (place == of.inputs.size()) {
            if (open == 0 && !is_found) is_found = close_with(bucket, step, positions);
            return;
        }
        const bool is_second = place == 1 && of.is_commutative && (positions & 3) == 0;
        for (std::size_t v = is_second ? step.arguments[0] : 0; v < values_.size(); ++v) {
            if (is_found || is_over()) return;
            if (values_[v].width != width_of(of.inputs[place])) continue;
            step.arguments[place] = static_cast<std::uint8_t>(v);
            const StepSet bit = v < leaf_count() ? 0 : StepSet{1} << (v - leaf_count());
            self(self, place + 1, step, open & ~bit);
        }
    };
    Step step{.trial = trial};
    others(others, 0, step, bucket.open);
    return is_found;
}

bool Walk::close_with(const Bucket& bucket, Step step, std::uint32_t positions) {
    const Trial& of = trials()[step.trial];
    const std::size_t bytes = sampled * bytes_of(bucket.width);
    output_.resize(side_by_side * sampled * bytes_of(width_of(of.output)));
    for (std::size_t first = 0; first < bucket.steps.size() && !is_over(); first += side_by_side) {
        const std::size_t count = std::min(side_by_side, bucket.steps.size() - first);
        std::array<const void*, most_inputs> in{};
        for (std::size_t k = 0; k < of.inputs.size(); ++k)
            in[k] = (positions >> k & 1) != 0 ? bucket.samples.data() + first * bytes
                                              : values_[step.arguments[k]].samples.data();
        run(of, std::span(in).first(of.inputs.size()), output_.data(), count * sampled);
        shared_.find_right(output_.data(), count, right_);
        for (const std::uint32_t k : right_)
            if (is_right_whole(bucket.steps[first + k], step, positions)) return true;
        shared_.spend(count * of.weight);
    }
    return false;
}

bool Walk::is_right_whole(const Step& before, Step last, std::uint32_t positions) {
    compute(before, column_);
    const Trial& of = trials()[last.trial];
    std::array<const void*, most_inputs> in{};
    for (std::size_t k = 0; k < of.inputs.size(); ++k) {
        const bool is_new = (positions >> k & 1) != 0;
        in[k] = is_new ? column_.data() : values_[last.arguments[k]].column.data();
        if (is_new) last.arguments[k] = static_cast<std::uint8_t>(values_.size());
    }
    last_column_.resize(shared_.points() * bytes_of(width_of(of.output)));
    run(of, std::span(in).first(of.inputs.size()), last_column_.data(), shared_.points());
    shared_.spend_column(of);
    if (!shared_.is_right(last_column_.data())) return false;
    steps_.push_back(before);
    steps_.push_back(last);
    const bool is_kept = keep(leaf_count() + steps_.size() - 1);
    steps_.resize(steps_.size() - 2);
    return is_kept;
}

}  // namespace ptxgraft::search
