// All programs of a few instructions, from the shortest on: values are columns of the screen's points, and of
// values that agree on all of them one is kept (observational equivalence).

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "arithmetic/rounding.hpp"
#include "base/threads.hpp"
#include "base/try.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/program.hpp"
#include "search/columns.hpp"

namespace ptxgraft::search {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::TypeId;

constexpr std::size_t most_inputs = 4, most_immediates = 256, most_leaves = 200;
constexpr std::uint32_t least_screen = 256;  // values that agree on so many points are one
constexpr std::size_t at_once = 4096;        // trials between looks at what others have found

// An instruction that can be tried: a form, with an immediate where it has one.
struct Trial {
    Instruction instruction;
    std::vector<TypeId> inputs;
    TypeId output = 0;
    std::uint32_t output_bytes = 0;
    bool is_commutative = false;  // of its first two inputs
    stack::Evaluator evaluator;
};

struct Value {
    std::vector<std::byte> column;
    std::uint64_t hash = 0;
    std::uint32_t width = 0;  // in bits; 1 for a pred
    TypeId type = 0;
    bool is_used = false;
};

// Where a value comes from: an input or a constant, or instruction number `step` of the program.
struct Step {
    std::size_t trial = 0;
    std::array<std::uint8_t, most_inputs> arguments{};
};

std::uint32_t width_of(TypeId type) {
    return type < stack::type_b8 ? bits(static_cast<Type>(type)) : 0;  // others do not take part
}

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

class Enumerator {
  public:
    Enumerator(const Space& space, const Cases& cases, const EnumerateOptions& options)
        : space_(space),
          cases_(cases),
          options_(options),
          registers_(case_registers(machine().signature())),
          order_(screen_of(cases, std::max(cases.screen, least_screen))) {}

    Expected<Enumeration> run();

  private:
    // One thread's path through the programs.
    struct Path {
        std::vector<Value> values;
        std::vector<Step> steps;
        std::uint64_t trials = 0;
    };

    [[nodiscard]] const stack::Machine& machine() const { return space_.sites[0].machine; }
    Expected<void> find_output();
    Expected<void> make_trials();
    Expected<void> add_trial(std::uint16_t entry, const stack::Entry& of);
    Expected<void> make_leaves();
    void add_constants(TypeId type);
    void add_leaf(Value value, Instruction instruction);

    [[nodiscard]] bool has_ended() const {
        return is_stopped_.load(std::memory_order_relaxed) ||
               (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed));
    }
    void go(Path& path, std::uint32_t left, std::size_t first_trial, std::size_t first_end);
    void try_arguments(Path& path, std::uint32_t left, std::size_t trial, std::size_t place, Step& step);
    void try_step(Path& path, std::uint32_t left, const Step& step);
    [[nodiscard]] bool is_in_order(const Path& path, const Step& step) const;
    [[nodiscard]] bool can_use_all(const Path& path, std::uint32_t left, const Step& step) const;
    [[nodiscard]] bool is_right(const Value& value) const;
    [[nodiscard]] bool is_whole(const Program& program) const;
    void check_whole(const Path& path);
    [[nodiscard]] Program program_of(const std::vector<Step>& steps) const;

    const Space& space_;
    const Cases& cases_;
    const EnumerateOptions& options_;
    const std::vector<CaseRegister> registers_;
    const std::vector<std::size_t> order_;
    std::size_t output_ = 0;  // the register that the cases know
    std::vector<Trial> trials_;
    std::vector<Value> leaves_;
    std::vector<Instruction> leaf_instructions_;
    std::vector<std::uint64_t> pool_;  // of constants that have no room in an instruction
    std::size_t widest_ = 1;           // inputs of any trial
    std::unique_ptr<Gate> whole_;
    std::mutex mutex_;
    std::optional<Program> found_;
    std::size_t found_at_ = ~std::size_t{0};  // its first step: of several the first in order counts
    std::atomic<std::uint64_t> spent_ = 0;
    std::atomic<bool> is_stopped_ = false;
};

Expected<void> Enumerator::find_output() {
    std::size_t count = 0;
    for (std::size_t r = 0; r < registers_.size(); ++r) {
        if (cases_.right[r].empty()) continue;
        output_ = r;
        ++count;
    }
    if (count != 1)
        return fail(Errc::cases_invalid, "enumeration is of one result, not of " + std::to_string(count));
    return {};
}

Expected<void> Enumerator::make_trials() {
    const auto entries = machine().set().entries();
    for (std::size_t k = 0; k < entries.size() && k <= 0xFFFF; ++k)
        TRY(add_trial(static_cast<std::uint16_t>(k), entries[k]));
    return {};
}

Expected<void> Enumerator::add_trial(std::uint16_t entry, const stack::Entry& of) {
    if (of.form == nullptr || of.effects != Effect::none) return {};
    Trial trial{.instruction = {Opcode::form, 0, entry, 0}, .inputs = {}, .evaluator = {}};
    std::size_t outputs = 0, immediates = 0;
    std::int64_t low = 0, high = 0, step = 1;
    Signature signature;
    const auto add_operand = [&](TypeId type, Direction direction) {
        const std::string name =
            (direction == Direction::in ? "i" : "o") + std::to_string(signature.operands.size());
        signature.operands.push_back({.name = name,
                                      .type = static_cast<Type>(type),
                                      .direction = direction,
                                      .user_type = {},
                                      .register_name = "_" + name});
    };
    for (const stack::EntryOperand& operand : of.operands) {
        const TypeId type = stack::stack_of(operand.type);
        if (operand.is_immediate) {
            ++immediates;
            low = operand.spec->low, high = operand.spec->high, step = operand.spec->step;
            continue;
        }
        if (width_of(type) == 0) return {};
        if (operand.is_output) {
            ++outputs;
            trial.output = type;
        } else {
            trial.inputs.push_back(type);
        }
    }
    const bool is_small = low != INT64_MIN && high != INT64_MAX &&
                          (high - low) / step < static_cast<std::int64_t>(most_immediates);
    if (outputs != 1 || trial.inputs.empty() || trial.inputs.size() > most_inputs || immediates > 1 ||
        (immediates == 1 && !is_small))
        return {};
    for (const TypeId type : trial.inputs) add_operand(type, Direction::in);
    add_operand(trial.output, Direction::out);
    trial.output_bytes = std::max(width_of(trial.output) / 8, 1u);
    constexpr std::array<std::string_view, 10> commutative = {"add", "mul", "and", "or",  "xor",
                                                              "min", "max", "fma", "mad", "sad"};
    const std::string_view opcode =
        std::string_view(of.form->spelling).substr(0, of.form->spelling.find('.'));
    trial.is_commutative = trial.inputs.size() >= 2 && trial.inputs[0] == trial.inputs[1] &&
                           std::ranges::find(commutative, opcode) != commutative.end();
    // the space's machine keeps the set
    const std::shared_ptr<const stack::InstructionSet> set(std::shared_ptr<void>(), &machine().set());
    const auto small = TRY(stack::Machine::make(set, signature));
    widest_ = std::max(widest_, trial.inputs.size());
    for (std::int64_t value = low; immediates == 0 || value <= high; value += step) {
        Trial one{.instruction = trial.instruction,
                  .inputs = trial.inputs,
                  .output = trial.output,
                  .output_bytes = trial.output_bytes,
                  .is_commutative = trial.is_commutative,
                  .evaluator = {}};
        one.instruction.payload = static_cast<std::uint32_t>(value);
        Program program;
        for (std::uint16_t k = 0; k < one.inputs.size(); ++k)
            program.code.push_back({Opcode::input, 0, k, 0});
        program.code.push_back(one.instruction);
        auto evaluator = stack::Evaluator::make(program, small, program_options);
        if (!evaluator || evaluator->instruction_count() == 0) break;  // it cannot be evaluated
        one.evaluator = std::move(*evaluator);
        trials_.push_back(std::move(one));
        if (immediates == 0) break;
    }
    return {};
}

void Enumerator::add_leaf(Value value, Instruction instruction) {
    value.hash = XXH3_64bits(value.column.data(), value.column.size());
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
        const std::uint32_t bytes = std::max(bits(of) / 8, 1u);
        Value value{.column = std::vector<std::byte>(order_.size() * bytes),
                    .width = bits(of),
                    .type = type,
                    .is_used = true};
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
                        .type = type,
                        .is_used = true};
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

// Two instructions that do not depend on each other stand in the order of their numbers.
bool Enumerator::is_in_order(const Path& path, const Step& step) const {
    if (path.steps.empty()) return true;
    const std::size_t last = path.values.size() - 1, count = trials_[step.trial].inputs.size();
    for (std::size_t k = 0; k < count; ++k)
        if (step.arguments[k] == last) return true;
    const Step& before = path.steps.back();
    if (step.trial != before.trial) return step.trial > before.trial;
    return step.arguments > before.arguments;
}

// Each instruction that is left takes at most so many values, and leaves one: those that nobody has used
// yet must all find a place.
bool Enumerator::can_use_all(const Path& path, std::uint32_t left, const Step& step) const {
    std::size_t unused = 1;
    for (std::size_t v = leaves_.size(); v < path.values.size(); ++v) {
        if (path.values[v].is_used) continue;
        const auto begin = step.arguments.begin();
        const auto end = begin + static_cast<std::ptrdiff_t>(trials_[step.trial].inputs.size());
        unused += std::find(begin, end, v) == end;
    }
    return unused <= 1 + std::size_t{left} * (widest_ - 1);
}

bool Enumerator::is_right(const Value& value) const {
    const Type type = registers_[output_].type;
    if (value.width != bits(type)) return false;
    for (std::size_t k = 0; k < order_.size(); ++k)
        if (error_of(number_at(value.column.data(), k, type), cases_.right[output_][order_[k]],
                     cases_.measure, type) > cases_.bound)
            return false;
    return true;
}

void Enumerator::try_step(Path& path, std::uint32_t left, const Step& step) {
    const Trial& trial = trials_[step.trial];
    if (!is_in_order(path, step) || !can_use_all(path, left, step)) return;
    std::array<const void*, most_inputs + 1> in{};
    std::array<void*, most_inputs + 1> out{};
    for (std::size_t k = 0; k < trial.inputs.size(); ++k)
        in[k] = path.values[step.arguments[k]].column.data();
    Value value{.column = std::vector<std::byte>(order_.size() * trial.output_bytes),
                .width = width_of(trial.output),
                .type = trial.output};
    out[trial.inputs.size()] = value.column.data();
    const std::size_t registers = trial.inputs.size() + 1;
    trial.evaluator.run({std::span(in).first(registers), std::span(out).first(registers), order_.size()});
    if (++path.trials % at_once == 0) {
        const std::uint64_t spent = spent_.fetch_add(at_once) + at_once;
        if (options_.trials != 0 && spent >= options_.trials) is_stopped_ = true;
    }
    if (left == 0) {
        if (!is_right(value)) return;
        path.steps.push_back(step);
        check_whole(path);
        path.steps.pop_back();
        return;
    }
    value.hash = XXH3_64bits(value.column.data(), value.column.size());
    for (const Value& other : path.values)
        if (other.hash == value.hash && other.width == value.width) return;
    std::array<bool, most_inputs> before{};
    for (std::size_t k = 0; k < trial.inputs.size(); ++k) {
        before[k] = path.values[step.arguments[k]].is_used;
        path.values[step.arguments[k]].is_used = true;
    }
    path.steps.push_back(step);
    path.values.push_back(std::move(value));
    go(path, left - 1, 0, trials_.size());
    path.values.pop_back();
    path.steps.pop_back();
    for (std::size_t k = trial.inputs.size(); k-- > 0;) path.values[step.arguments[k]].is_used = before[k];
}

void Enumerator::try_arguments(Path& path, std::uint32_t left, std::size_t trial, std::size_t place,
                               Step& step) {
    const Trial& of = trials_[trial];
    if (place == of.inputs.size()) return try_step(path, left, step);
    const std::size_t first = place == 1 && of.is_commutative ? step.arguments[0] : 0;
    for (std::size_t v = first; v < path.values.size() && !has_ended(); ++v) {
        if (path.values[v].width != width_of(of.inputs[place])) continue;
        step.arguments[place] = static_cast<std::uint8_t>(v);
        try_arguments(path, left, trial, place + 1, step);
    }
    step.arguments[place] = 0;
}

// All programs that go on from here with `left` + 1 more instructions.
void Enumerator::go(Path& path, std::uint32_t left, std::size_t first_trial, std::size_t first_end) {
    for (std::size_t t = first_trial; t < first_end && !has_ended(); ++t) {
        Step step{.trial = t};
        try_arguments(path, left, t, 0, step);
    }
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

void Enumerator::check_whole(const Path& path) {
    Program program = program_of(path.steps);
    if (!is_whole(program)) return;
    const std::scoped_lock lock(mutex_);
    if (path.steps.front().trial >= found_at_) return;
    found_at_ = path.steps.front().trial;
    found_ = std::move(program);
}

// Values wait in cells, a cell for each instruction.
Program Enumerator::program_of(const std::vector<Step>& steps) const {
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
    push(leaves_.size() + steps.size() - 1, stack::stack_of(stack::type_id(registers_[output_].type)));
    return program;
}

Expected<Enumeration> Enumerator::run() {
    TRY(find_output());
    TRY(make_trials());
    TRY(make_leaves());
    whole_ = TRY(columns(space_, cases_, {.perturb = options_.perturb}));
    Enumeration made;
    const auto ended = [&](std::uint32_t instructions) {
        made.program = std::move(found_);
        made.instructions = instructions;
        made.trials = spent_;
        return made;
    };
    for (std::size_t v = 0; v < leaves_.size(); ++v) {  // no instruction at all
        if (!is_right(leaves_[v])) continue;
        Program program;
        program.pool = pool_;
        program.code.push_back(leaf_instructions_[v]);
        const TypeId as = stack::stack_of(stack::type_id(registers_[output_].type));
        if (leaves_[v].type != as) program.code.push_back({Opcode::cast, as, leaves_[v].type, 0});
        if (!is_whole(program)) continue;
        found_ = std::move(program);
        return ended(0);
    }
    for (std::uint32_t n = 1; n <= options_.instructions; ++n) {
        std::atomic<std::size_t> next = 0;
        on_threads(std::min<std::size_t>(thread_count(options_.threads), trials_.size()), [&](std::size_t) {
            Path path;
            path.values = leaves_;
            for (std::size_t t = next++; t < trials_.size(); t = next++) {
                {
                    const std::scoped_lock lock(mutex_);
                    if (found_ && found_at_ < t) break;  // what is found from here on counts no more
                }
                go(path, n - 1, t, t + 1);
            }
            spent_ += path.trials % at_once;
        });
        if (found_) return ended(n);
        made.is_complete = !has_ended();
        if (!made.is_complete) break;
    }
    return ended(0);
}

}  // namespace

Expected<Enumeration> enumerate(const Space& space, const Cases& cases, const EnumerateOptions& options) {
    if (space.sites.size() != 1)
        return fail(Errc::space_invalid,
                    "enumeration is of one site, not of " + std::to_string(space.sites.size()));
    TRY(check_cases(cases, case_registers(space.sites[0].machine.signature())));
    return Enumerator(space, cases, options).run();
}

}  // namespace ptxgraft::search
