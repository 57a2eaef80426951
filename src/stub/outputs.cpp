// Whether a stub writes all of its outputs, on each way through it.
#include "stub/outputs.hpp"

#include <algorithm>
#include <span>

namespace ptxgraft::stub_check {

using syntax::BasicBlock;

void Outputs::begin(std::uint32_t place, const std::optional<Guard>& guard) {
    place_ = place;
    guard_ = guard;
}

void Outputs::read(Register reg, Span where) {
    if (numbers_.contains(reg)) events_.push_back({Event::Kind::read, place_, guard_, reg, where});
}

void Outputs::write(Register reg) {
    if (numbers_.empty()) return;
    const bool is_output = numbers_.contains(reg);
    events_.push_back({is_output ? Event::Kind::write : Event::Kind::write_of_other, place_, guard_, reg});
}

void Outputs::jump() {
    if (numbers_.empty()) return;
    events_.push_back({Event::Kind::jump, place_, guard_});
    has_jumps_ = true;
}

// A number for each predicate that guards something.
using Predicates = std::map<Outputs::Register, std::size_t>;

// What is known of the outputs at a place: bit 0 of an output's row says that it is written, two more for
// each predicate that it is where this is false, where it is true. Of two paths that meet, what both know.
class OutputFacts {
  public:
    OutputFacts(std::size_t outputs, std::size_t predicates)
        : words_per_output_((1 + 2 * predicates + 63) / 64), words_(outputs * words_per_output_) {}

    [[nodiscard]] bool is_written(std::size_t output) const { return has(output, 0); }
    [[nodiscard]] bool is_written_where(std::size_t output, std::size_t predicate, bool value) const {
        return has(output, bit(predicate, value));
    }
    void write(std::size_t output) {
        std::ranges::fill_n(words_.begin() + at(output), static_cast<std::ptrdiff_t>(words_per_output_), all);
    }
    void write_where(std::size_t output, std::size_t predicate, bool value) {
        const std::size_t set = bit(predicate, value);
        word(output, set) |= mask(set);
        if (has(output, bit(predicate, !value))) write(output);
    }
    // From here on the predicate may have another value.
    void forget(std::size_t predicate) {
        for (std::size_t output = 0; output < size(); ++output)
            if (!is_written(output))
                for (const bool value : {false, true})
                    word(output, bit(predicate, value)) &= ~mask(bit(predicate, value));
    }
    // On this path the predicate has this value: of the other one, anything holds.
    void assume(std::size_t predicate, bool value) {
        for (std::size_t output = 0; output < size(); ++output) write_where(output, predicate, !value);
    }
    // Whether that took something away.
    bool meet(const OutputFacts& other) {
        bool is_less = false;
        for (std::size_t i = 0; i < words_.size(); ++i) {
            is_less |= (words_[i] & ~other.words_[i]) != 0;
            words_[i] &= other.words_[i];
        }
        return is_less;
    }

  private:
    static constexpr std::uint64_t all = ~std::uint64_t{0};
    [[nodiscard]] static std::size_t bit(std::size_t predicate, bool value) {
        return 1 + 2 * predicate + (value ? 1 : 0);
    }
    [[nodiscard]] static std::uint64_t mask(std::size_t bit) { return std::uint64_t{1} << bit % 64; }
    [[nodiscard]] std::size_t size() const { return words_.size() / words_per_output_; }
    [[nodiscard]] std::ptrdiff_t at(std::size_t output) const {
        return static_cast<std::ptrdiff_t>(output * words_per_output_);
    }
    std::uint64_t& word(std::size_t output, std::size_t bit) {
        return words_[output * words_per_output_ + bit / 64];
    }
    [[nodiscard]] bool has(std::size_t output, std::size_t bit) const {
        return (words_[output * words_per_output_ + bit / 64] & mask(bit)) != 0;
    }

    std::size_t words_per_output_;
    std::vector<std::uint64_t> words_;
};

// The facts where blocks begin, until they change no more.
class OutputFlow {
  public:
    using Event = Outputs::Event;
    OutputFlow(const Outputs& outputs, const std::vector<BasicBlock>& blocks)
        : outputs_(outputs), blocks_(blocks), entered_(blocks.size() + 1) {
        for (const Event& event : outputs.events_)
            if (event.guard) predicates_.emplace(event.guard->predicate, predicates_.size());
        entered_.front() = OutputFacts(outputs.numbers_.size(), predicates_.size());
        for (bool changes = true; changes;) {
            changes = false;
            for (std::size_t b = 0; b < blocks.size(); ++b)
                if (entered_[b]) changes |= leave(b);
        }
    }

    // The first read of what is not written then.
    [[nodiscard]] const Event* unwritten_read() const {
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            if (!entered_[b]) continue;
            OutputFacts facts = *entered_[b];
            for (const Event& event : events_of(b)) {
                if (event.kind == Event::Kind::read && !may_read(facts, event)) return &event;
                pass(facts, event);
            }
        }
        return nullptr;
    }
    // At the end; null where no path comes there.
    [[nodiscard]] const OutputFacts* at_end() const { return entered_.back() ? &*entered_.back() : nullptr; }

  private:
    [[nodiscard]] std::span<const Event> events_of(std::size_t block) const {
        const std::vector<Event>& all = outputs_.events_;
        const Span span = blocks_[block].span;
        const auto first = std::ranges::lower_bound(all, span.begin, {}, &Event::place),
                   last = std::ranges::lower_bound(first, all.end(), span.end, {}, &Event::place);
        return span.known() ? std::span(first, last) : std::span<const Event>();
    }
    [[nodiscard]] std::size_t number(const Event& event) const { return outputs_.numbers_.at(event.reg); }
    [[nodiscard]] std::size_t predicate(const Event& event) const {
        return predicates_.at(event.guard->predicate);
    }

    [[nodiscard]] bool may_read(const OutputFacts& facts, const Event& event) const {
        return facts.is_written(number(event)) ||
               (event.guard &&
                facts.is_written_where(number(event), predicate(event), !event.guard->is_negated));
    }
    void pass(OutputFacts& facts, const Event& event) const {
        if (event.kind == Event::Kind::read || event.kind == Event::Kind::jump) return;
        if (event.kind == Event::Kind::write && event.guard)
            facts.write_where(number(event), predicate(event), !event.guard->is_negated);
        else if (event.kind == Event::Kind::write)
            facts.write(number(event));
        if (const auto known = predicates_.find(event.reg); known != predicates_.end())
            facts.forget(known->second);
    }

    // Hands what is known at a block's end to those behind it; whether that changed one of them.
    bool leave(std::size_t block) {
        OutputFacts facts = *entered_[block];
        const std::span<const Event> events = events_of(block);
        for (const Event& event : events) pass(facts, event);
        OutputFacts behind = facts;
        if (!events.empty() && events.back().kind == Event::Kind::jump && events.back().guard) {
            facts.assume(predicate(events.back()), !events.back().guard->is_negated);
            behind.assume(predicate(events.back()), events.back().guard->is_negated);
        }
        bool changes = false;
        for (const std::size_t successor : blocks_[block].successors) changes |= enter(successor, facts);
        return (blocks_[block].falls_through && enter(block + 1, behind)) || changes;
    }
    bool enter(std::size_t block, const OutputFacts& facts) {
        if (entered_[block]) return entered_[block]->meet(facts);
        entered_[block] = facts;
        return true;
    }

    const Outputs& outputs_;
    const std::vector<BasicBlock>& blocks_;
    Predicates predicates_;
    std::vector<std::optional<OutputFacts>>
        entered_;  // of each block, and of the end; none: nothing comes there
};

Outputs::Problem Outputs::unwritten(Register output) const {
    bool is_written = false, is_guarded = true;
    for (const Event& event : events_)
        if (event.kind == Event::Kind::write && event.reg == output) {
            is_written = true;
            is_guarded = is_guarded && event.guard.has_value();
        }
    using Kind = Problem::Kind;
    return {!is_written ? Kind::never_written : is_guarded ? Kind::guarded : Kind::on_some_paths, output};
}

std::optional<Outputs::Problem> Outputs::find_problem(const std::vector<BasicBlock>& blocks) const {
    const OutputFlow flow(*this, blocks);
    if (const auto* const read = flow.unwritten_read())
        return Problem{Problem::Kind::read, read->reg, read->where};
    if (const OutputFacts* const end = flow.at_end())
        for (const auto& [output, number] : numbers_)
            if (!end->is_written(number)) return unwritten(output);
    return std::nullopt;
}

}  // namespace ptxgraft::stub_check
