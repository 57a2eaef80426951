// Enumerations: what they begin with, what is right, and from the shortest on.

#include <algorithm>
#include <bit>
#include <cmath>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "arithmetic/rounding.hpp"
#include "base/threads.hpp"
#include "base/try.hpp"
#include "ptxgraft/program.hpp"
#include "search/enumerate/enumerator.hpp"
#include "search/enumerate/walk.hpp"

namespace ptxgraft::search {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::TypeId;

constexpr std::size_t most_leaves = 200, most_results = 64;
constexpr std::uint32_t most_instructions = 32;

// The bits of a number as a type; none where it has no such value.
std::optional<std::uint64_t> word_for(Type type, double number) {
    switch (type) {
        case Type::f64: return std::bit_cast<std::uint64_t>(number);
        case Type::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(number));
        case Type::f16: return arithmetic::round_to(arithmetic::f16_format, number, arithmetic::Rounding::rn);
        case Type::bf16:
            return arithmetic::round_to(arithmetic::bf16_format, number, arithmetic::Rounding::rn);
        case Type::f16x2:
        case Type::bf16x2: return std::nullopt;
        default: break;
    }
    if (number != std::floor(number) || std::abs(number) > 0x1p53) return std::nullopt;
    const std::uint64_t mask = bits(type) >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(type)) - 1;
    return word_of(number) & mask;
}

// Of numbers side by side those whose sampled points have the bits of the right ones.
template <class Word>
void find_equal(const std::byte* values, std::size_t count, const std::byte* right,
                std::vector<std::uint32_t>& found) {
    std::array<Word, 2> wanted{};
    std::memcpy(wanted.data(), right, sizeof wanted);
    std::uint32_t any = 0;
    for (std::size_t k = 0; k < count; ++k) {
        std::array<Word, 2> is;
        std::memcpy(is.data(), values + k * sizeof is, sizeof is);
        any |= ((is[0] ^ wanted[0]) | (is[1] ^ wanted[1])) == 0;
    }
    if (any == 0) return;
    for (std::size_t k = 0; k < count; ++k)
        if (std::memcmp(values + k * sizeof wanted, wanted.data(), sizeof wanted) == 0)
            found.push_back(static_cast<std::uint32_t>(k));
}

}  // namespace

std::uint64_t hash_of(const std::vector<std::byte>& column, std::uint32_t width) {
    return XXH3_64bits_withSeed(column.data(), column.size(), width);
}

Expected<void> Enumerator::find_outputs() {
    for (std::size_t r = 0; r < registers_.size(); ++r)
        if (!cases_.right[r].empty()) outputs_.push_back(r);
    output_ = outputs_.front();
    if (outputs_.size() > most_results)
        return fail(Errc::cases_invalid, std::to_string(outputs_.size()) +
                                             " results are too many to enumerate, at most " +
                                             std::to_string(most_results));
    return {};
}

void Enumerator::add_leaf(Value value, Instruction instruction) {
    value.hash = hash_of(value.column, value.width);
    if (has_several()) value.results = results_of(value.column.data(), value.width);
    leaf_results_ |= value.results;
    const auto is_same = [&](const Value& other) {
        return other.hash == value.hash && other.width == value.width;
    };
    if (std::ranges::any_of(leaves_, is_same)) return;
    leaves_.push_back(std::move(value));
    leaf_instructions_.push_back(instruction);
}

void Enumerator::add_constants(TypeId type) {
    const auto of = static_cast<Type>(type);
    for (const double number : space_.constants) {
        const auto word = word_for(of, number);
        if (!word) continue;
        const std::size_t bytes = bytes_of(bits(of));
        Value value{.column = std::vector<std::byte>(order_.size() * bytes), .width = bits(of), .type = type};
        for (std::size_t k = 0; k < order_.size(); ++k)
            std::memcpy(value.column.data() + k * bytes, &*word, bytes);
        add_leaf(std::move(value), stack::constant_instruction(machine(), {type, *word}, pool_));
    }
}

// Operands and constants: they need not be used.
Expected<void> Enumerator::make_leaves() {
    std::size_t r = 0;
    for (std::uint16_t operand = 0; const SiteOperand& of : machine().signature().operands) {
        for (std::uint32_t k = 0; k < std::max(of.count, 1u); ++k, ++r) {
            if (of.direction == Direction::out) continue;
            const std::size_t bytes = registers_[r].bytes();
            const TypeId type = stack::stack_of(stack::type_id(of.type));
            Value value{.column = std::vector<std::byte>(order_.size() * bytes),
                        .width = bits(of.type),
                        .type = type};
            for (std::size_t p = 0; p < order_.size(); ++p)
                std::memcpy(value.column.data() + p * bytes, cases_.inputs[r].data() + order_[p] * bytes,
                            bytes);
            add_leaf(std::move(value), {Opcode::input, 0, operand, k});
        }
        ++operand;
    }
    std::vector<TypeId> types;
    for (const Trial& trial : trials_)
        for (const TypeId type : trial.inputs)
            if (std::ranges::find(types, type) == types.end()) types.push_back(type);
    for (const TypeId type : types) add_constants(type);
    if (leaves_.size() > most_leaves)
        return fail(Errc::space_invalid, std::to_string(leaves_.size()) +
                                             " operands and constants are too many to enumerate, at most " +
                                             std::to_string(most_leaves));
    return {};
}

// Points with different results where there are such: they tell most programs apart.
void Enumerator::choose_samples() {
    const Type type = registers_[output_].type;
    const std::vector<double>& right = cases_.right[output_];
    while (samples_.size() < sampled) {
        std::size_t best = 0, best_count = ~std::size_t{0};
        for (std::size_t k = 0; k < order_.size(); ++k) {
            const std::size_t place = (k * 149 + 97) % order_.size();  // not the edges of the type first
            const auto is_same = [&](std::size_t other) {
                return other == place || right[order_[other]] == right[order_[place]];
            };
            auto count = static_cast<std::size_t>(std::ranges::count_if(samples_, is_same));
            if (std::ranges::find(samples_, place) != samples_.end()) count += sampled;
            if (count < best_count) best = place, best_count = count;
        }
        samples_.push_back(best);
    }
    is_exact_ = cases_.bound == 0 && !is_floating(type);
    const std::size_t bytes = bytes_of(bits(type));
    for (const std::size_t place : samples_) {
        const std::uint64_t word = is_exact_ ? word_of(right[order_[place]]) : 0;
        const auto* const first = reinterpret_cast<const std::byte*>(&word);
        right_.insert(right_.end(), first, first + bytes);
    }
}

void Enumerator::note_widest() {
    for (const Trial& trial : trials_) {
        widest_ = std::max(widest_, trial.inputs.size());
        std::array<std::size_t, 8> count{};
        for (const TypeId type : trial.inputs)
            ++count[static_cast<std::size_t>(std::bit_width(width_of(type))) - 1];
        for (std::size_t k = 0; k < count.size(); ++k)
            widest_by_width_[k] = std::max(widest_by_width_[k], count[k]);
    }
}

bool Enumerator::can_use(std::uint32_t width, std::size_t count, std::uint32_t left) const {
    return count <= left * widest_by_width_[static_cast<std::size_t>(std::bit_width(width)) - 1];
}

void Enumerator::find_right(const std::byte* samples, std::size_t count,
                            std::vector<std::uint32_t>& found) const {
    found.clear();
    static_assert(sampled == 4);
    const Type type = registers_[output_].type;
    const std::size_t bytes = bytes_of(bits(type));
    if (is_exact_ && bytes <= 4) {
        if (bytes == 1) return find_equal<std::uint16_t>(samples, count, right_.data(), found);
        if (bytes == 2) return find_equal<std::uint32_t>(samples, count, right_.data(), found);
        return find_equal<std::uint64_t>(samples, count, right_.data(), found);
    }
    const std::vector<double>& right = cases_.right[output_];
    for (std::size_t k = 0; k < count; ++k) {
        std::size_t s = 0;
        while (s < sampled && error_of(number_at(samples, k * sampled + s, type), right[order_[samples_[s]]],
                                       cases_.measure, type) <= cases_.bound)
            ++s;
        if (s == sampled) found.push_back(static_cast<std::uint32_t>(k));
    }
}

bool Enumerator::is_right(const std::byte* column) const { return is_result(output_, column); }

// As `columns` compares: -0 is 0, and a NaN another one.
bool Enumerator::is_result(std::size_t output, const std::byte* column) const {
    const Type type = registers_[output].type;
    const std::vector<double>& right = cases_.right[output];
    for (std::size_t k = 0; k < order_.size(); ++k)
        if (error_of(number_at(column, k, type), right[order_[k]], cases_.measure, type) > cases_.bound)
            return false;
    return true;
}

ResultSet Enumerator::results_of(const std::byte* column, std::uint32_t width) const {
    ResultSet made = 0;
    for (std::size_t o = 0; o < outputs_.size(); ++o)
        if (bits(registers_[outputs_[o]].type) == width && is_result(outputs_[o], column))
            made |= ResultSet{1} << o;
    return made;
}

// Whether there may be a value that is right for two registers.
bool Enumerator::may_be_one(std::size_t a, std::size_t b) const {
    const Type type = registers_[a].type, other = registers_[b].type;
    if (bits(type) != bits(other)) return false;
    if (type != other || cases_.bound != 0) return true;
    return std::ranges::all_of(order_, [&](std::size_t k) {
        return error_of(cases_.right[a][k], cases_.right[b][k], cases_.measure, type) == 0;
    });
}

void Enumerator::find_classes() {
    classes_.clear();
    for (std::size_t o = 0; has_several() && o < outputs_.size(); ++o) {
        ResultSet made = ResultSet{1} << o;
        const auto is_of_it = [&](ResultSet of) {
            for (std::size_t p = 0; p < o; ++p)
                if ((of >> p & 1) != 0 && may_be_one(outputs_[p], outputs_[o])) return true;
            return false;
        };
        for (const ResultSet of : classes_)
            if (is_of_it(of)) made |= of;
        std::erase_if(classes_, [&](ResultSet of) { return (of & made) != 0; });
        classes_.push_back(made);
    }
}

std::size_t Enumerator::missing(ResultSet there) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(classes_, [&](ResultSet of) { return (of & ~there) != 0; }));
}

// On all points, by the gate that a search has.
bool Enumerator::is_whole(const Program& program) const {
    Candidate candidate;
    candidate.genome.programs.push_back(program);
    Result result;
    const Candidate* const in[] = {&candidate};
    Result* const out[] = {&result};
    whole_->evaluate(in, out);
    return result.status == Status::ok;
}

// With exact results, which are the screen's.
std::optional<std::size_t> Enumerator::first_wrong(const Program& program) const {
    const auto evaluator = stack::Evaluator::make(program, machine(), program_options);
    if (!evaluator) return std::nullopt;
    std::vector<std::vector<std::byte>> columns(registers_.size());
    std::vector<const void*> in(registers_.size());
    std::vector<void*> out(registers_.size());
    for (std::size_t r = 0; r < registers_.size(); ++r) {
        columns[r].resize(cases_.count * registers_[r].bytes());
        in[r] = cases_.inputs[r].empty() ? nullptr : cases_.inputs[r].data();
        out[r] = registers_[r].direction == Direction::in ? nullptr : columns[r].data();
    }
    evaluator->run({in, out, cases_.count});
    for (std::size_t k = 0; k < cases_.count; ++k)
        for (const std::size_t r : outputs_)
            if (error_of(number_at(columns[r].data(), k, registers_[r].type), cases_.right[r][k],
                         cases_.measure, registers_[r].type) > cases_.bound)
                return k;
    return std::nullopt;
}

bool Enumerator::keep_if_whole(const std::vector<Step>& steps, std::span<const std::size_t> values,
                               std::size_t branch) {
    Program program = program_of(steps, values);
    for (const Step& step : steps)
        spend(std::max(cases_.count / sampled, least_column) * trials_[step.trial].weight);
    const bool is_right = is_whole(program);
    const auto wrong = is_right ? std::nullopt : first_wrong(program);
    const std::scoped_lock lock(mutex_);
    if (wrong) missed_.insert(*wrong);
    if (!is_right) return false;
    if (branch >= found_at_) return true;
    found_at_ = branch;
    found_ = std::move(program);
    return true;
}

// Of a register of the signature.
Instruction Enumerator::assignment_of(std::size_t of) const {
    std::uint16_t operand = 0;
    for (const SiteOperand& one : machine().signature().operands) {
        const std::size_t count = std::max(one.count, 1u);
        if (of < count) break;
        of -= count;
        ++operand;
    }
    return {Opcode::assign, 0, operand, static_cast<std::uint32_t>(of)};
}

// Values wait in cells, a cell for each instruction.
Program Enumerator::program_of(const std::vector<Step>& steps, std::span<const std::size_t> values) const {
    Program program;
    program.pool = pool_;
    const auto push = [&](std::size_t value, TypeId as) {
        const bool is_leaf = value < leaves_.size();
        const TypeId is = is_leaf ? leaves_[value].type : trials_[steps[value - leaves_.size()].trial].output;
        program.code.push_back(
            is_leaf ? leaf_instructions_[value]
                    : Instruction{Opcode::load, is, 0, static_cast<std::uint32_t>(value - leaves_.size())});
        if (is != as) program.code.push_back({Opcode::cast, as, is, 0});
    };
    for (std::size_t k = 0; k < steps.size(); ++k) {
        const Trial& trial = trials_[steps[k].trial];
        for (std::size_t a = 0; a < trial.inputs.size(); ++a) push(steps[k].arguments[a], trial.inputs[a]);
        program.code.push_back(trial.instruction);
        program.code.push_back({Opcode::store, trial.output, 0, static_cast<std::uint32_t>(k)});
    }
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
        push(values[o], stack::stack_of(stack::type_id(registers_[outputs_[o]].type)));
        if (has_several()) program.code.push_back(assignment_of(outputs_[o]));
    }
    return program;
}

// ---- from the shortest on ---------------------------------------------------------------------------------

// No instruction at all.
bool Enumerator::finds_leaves() {
    std::vector<std::size_t> values;
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
        const auto is_this = [&](const Value& leaf) {
            if (has_several()) return (leaf.results >> o & 1) != 0;
            return leaf.width == right_width() && is_right(leaf.column.data());
        };
        const auto found = std::ranges::find_if(leaves_, is_this);
        if (found == leaves_.end()) return false;
        values.push_back(static_cast<std::size_t>(found - leaves_.begin()));
    }
    return keep_if_whole({}, values, 0);
}

// All programs of so many instructions: each thread takes one first value after the other.
void Enumerator::walk(std::uint32_t instructions) {
    if (instructions == 0) {
        finds_leaves();
        return;
    }
    if (instructions <= 2 || missing(leaf_results_) > instructions) {
        Walk(*this, instructions).last(instructions);
        return;
    }
    Walk root(*this, instructions);
    const std::vector<Walk::Next>& first = root.next_values(instructions);
    std::atomic<std::size_t> next = 0;
    on_threads(std::min<std::size_t>(thread_count(options_.threads), first.size()), [&](std::size_t) {
        Walk walk(*this, instructions);
        for (std::size_t k = next++; k < first.size() && k < found_at() && !has_ended(); k = next++) {
            walk.set_branch(k);
            walk.enter(first[k], instructions);
        }
    });
}

// What goes by the points of the screen.
Expected<void> Enumerator::prepare() {
    leaves_.clear(), leaf_instructions_.clear(), pool_.clear();
    leaf_results_ = 0;
    samples_.clear(), right_.clear();
    TRY(make_leaves());
    find_classes();
    choose_samples();
    return {};
}

// Values that agree on the screen are one, and so a program that is right on it may stand for one that is
// right everywhere. Where it is wrong itself, there is a point that tells them apart. Where no program is
// right on the screen, none is right.
Expected<bool> Enumerator::widen() {
    constexpr std::size_t most_added = 16;  // of the first ones, which any threads find
    const std::size_t before = order_.size();
    for (const std::size_t point : missed_)
        if (order_.size() - before < most_added && std::ranges::find(order_, point) == order_.end())
            order_.push_back(point);
    missed_.clear();
    if (order_.size() == before) return false;
    TRY(prepare());
    return true;
}

Expected<Enumeration> Enumerator::run() {
    TRY(find_outputs());
    trials_ = TRY(trials_of(machine().set()));
    TRY(prepare());
    note_widest();
    whole_ = TRY(columns(space_, cases_, {.perturb = options_.perturb}));
    Enumeration made;
    const std::uint32_t most = std::min(options_.instructions, most_instructions);
    for (;; ++made.instructions) {
        do walk(made.instructions);
        while (!found_ && !has_ended() && TRY(widen()));
        if (found_ || has_ended() || made.instructions == most) break;
    }
    made.is_complete = found_ || !has_ended();
    if (!found_) made.instructions = 0;
    made.program = std::move(found_);
    made.trials = spent_;
    return made;
}

Expected<Enumeration> enumerate(const Space& space, const Cases& cases, const EnumerateOptions& options) {
    if (space.sites.size() != 1)
        return fail(Errc::space_invalid,
                    "enumeration is of one site, not of " + std::to_string(space.sites.size()));
    TRY(check_cases(cases, case_registers(space.sites[0].machine.signature())));
    return Enumerator(space, cases, options).run();
}

}  // namespace ptxgraft::search
