// Programs over all of their inputs, block by block on several threads.

#include "ptxgraft/accuracy.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "arithmetic/rounding.hpp"
#include "base/threads.hpp"
#include "base/try.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::size_t block_points = 8192;  // columns of all registers stay in the second cache
constexpr unsigned most_input_bits = 32;

// --- registers

std::size_t bytes_of(Type type) { return type == Type::pred ? 1 : bits(type) / 8; }
unsigned input_bits_of(Type type) { return type == Type::pred ? 1 : bits(type); }

// A register that the program reads, and which bits of an input are its own.
struct InputRegister {
    std::uint32_t slot;
    Type type;
    unsigned shift;
};
struct Registers {
    std::vector<InputRegister> inputs;
    std::vector<std::pair<std::uint32_t, Type>> outputs;  // by slot
    std::size_t slots = 0;
    unsigned input_bits = 0;

    explicit Registers(const Machine& machine) {
        const auto& all = MachineData::of(machine).slots;
        slots = all.size();
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            const Type type = all[slot].declared;
            if (all[slot].direction != Direction::in) outputs.emplace_back(slot, type);
            if (all[slot].direction == Direction::out) continue;
            inputs.push_back({slot, type, input_bits});
            input_bits += input_bits_of(type);
        }
    }
    [[nodiscard]] std::uint64_t last_input() const { return (std::uint64_t{1} << input_bits) - 1; }
};

tl::unexpected<Error> cannot(const std::string& why) {
    return fail(Errc::instruction_not_evaluable, "over all inputs: " + why);
}

Expected<std::vector<InputRange>> ranges_of(const std::vector<InputRange>& wanted,
                                            const Registers& registers) {
    if (registers.inputs.empty() || registers.input_bits > most_input_bits)
        return cannot("the program reads registers of " + std::to_string(registers.input_bits) +
                      " bits; 1 to 32 can be run through");
    if (wanted.empty()) return std::vector<InputRange>{{0, registers.last_input()}};
    for (const InputRange& range : wanted)
        if (range.first > range.last || range.last > registers.last_input())
            return cannot("a range is not of inputs, of which the last is " +
                          std::to_string(registers.last_input()));
    return wanted;
}

// --- blocks

// The inputs of all ranges in blocks. Blocks are taken in an order that is spread over all of them, so that
// what is wrong somewhere is found early.
class Blocks {
  public:
    explicit Blocks(std::vector<InputRange> ranges) : ranges_(std::move(ranges)) {
        for (const InputRange& range : ranges_) {
            firsts_.push_back(count_);
            count_ += (range.last - range.first) / block_points + 1;
        }
        const std::uint64_t size = std::bit_ceil(count_);
        mask_ = size - 1;
    }
    struct Block {
        std::uint64_t place;  // in the order of the ranges
        std::uint64_t first;
        std::size_t count;
    };
    /// The numbers of blocks are below this; some have no block.
    [[nodiscard]] std::uint64_t numbers() const { return mask_ + 1; }
    [[nodiscard]] std::optional<Block> find(std::uint64_t number) const {
        const std::uint64_t place = number * 0x9E3779B97F4A7C15u & mask_;  // odd: each place once
        if (place >= count_) return std::nullopt;
        const auto above = std::ranges::upper_bound(firsts_, place);
        const auto range = static_cast<std::size_t>(above - firsts_.begin()) - 1;
        const std::uint64_t first = ranges_[range].first + (place - firsts_[range]) * block_points;
        return Block{place, first, std::min<std::uint64_t>(block_points, ranges_[range].last - first + 1)};
    }

  private:
    std::vector<InputRange> ranges_;
    std::vector<std::uint64_t> firsts_;  // blocks before each range
    std::uint64_t count_ = 0, mask_ = 0;
};

void lower(std::atomic<std::uint64_t>& to, std::uint64_t value) {
    std::uint64_t now = to.load();
    while (value < now && !to.compare_exchange_weak(now, value)) {}
}

// The columns of one thread.
class Table {
  public:
    explicit Table(const Registers& registers)
        : registers_(registers),
          in_(registers.slots),
          out_(registers.slots),
          places_in_(registers.slots),
          places_out_(registers.slots) {
        for (const InputRegister& r : registers.inputs) {
            in_[r.slot].resize(block_points * bytes_of(r.type));
            places_in_[r.slot] = in_[r.slot].data();
        }
        for (const auto& [slot, type] : registers.outputs) {
            out_[slot].resize(block_points * bytes_of(type));
            places_out_[slot] = out_[slot].data();
        }
    }
    void fill(std::uint64_t first, std::size_t count) {
        for (const InputRegister& r : registers_.inputs) {
            const std::uint64_t mask = (std::uint64_t{1} << input_bits_of(r.type)) - 1;
            std::byte* const to = in_[r.slot].data();
            switch (bytes_of(r.type)) {
                case 1: deal<std::uint8_t>(to, first, r.shift, mask, count); break;
                case 2: deal<std::uint16_t>(to, first, r.shift, mask, count); break;
                default: deal<std::uint32_t>(to, first, r.shift, mask, count); break;
            }
        }
    }
    void run(const Evaluator& evaluator, std::size_t count, const RunOptions& options = {}) {
        evaluator.run({places_in_, places_out_, count}, options);
    }
    [[nodiscard]] const std::byte* input(std::uint32_t slot) const { return in_[slot].data(); }
    [[nodiscard]] const std::byte* output(std::uint32_t slot) const { return out_[slot].data(); }

  private:
    template <class T>
    static void deal(std::byte* to, std::uint64_t first, unsigned shift, std::uint64_t mask,
                     std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto value = static_cast<T>((first + i) >> shift & mask);
            std::memcpy(to + i * sizeof value, &value, sizeof value);
        }
    }

    const Registers& registers_;
    std::vector<std::vector<std::byte>> in_, out_;  // by slot
    std::vector<const void*> places_in_;
    std::vector<void*> places_out_;
};

// --- numbers

template <class T, class F> void read_as(const std::byte* column, std::size_t count, double* to, F value) {
    for (std::size_t i = 0; i < count; ++i) {
        T element;
        std::memcpy(&element, column + i * sizeof element, sizeof element);
        to[i] = value(element);
    }
}
template <class T> void read_as(const std::byte* column, std::size_t count, double* to) {
    read_as<T>(column, count, to, [](T element) { return static_cast<double>(element); });
}
// False: the type has no numbers, or more than a double can tell apart.
bool read_numbers(Type type, const std::byte* column, std::size_t count, double* to) {
    switch (type) {
        case Type::u16: return read_as<std::uint16_t>(column, count, to), true;
        case Type::s16: return read_as<std::int16_t>(column, count, to), true;
        case Type::u32: return read_as<std::uint32_t>(column, count, to), true;
        case Type::s32: return read_as<std::int32_t>(column, count, to), true;
        case Type::f32: return read_as<float>(column, count, to), true;
        case Type::f64: return read_as<double>(column, count, to), true;
        case Type::f16:
            return read_as<arithmetic::Half>(column, count, to, [](auto a) { return arithmetic::value(a); }),
                   true;
        case Type::bf16:
            return read_as<arithmetic::Bfloat>(column, count, to,
                                               [](auto a) { return arithmetic::value(a); }),
                   true;
        default: return false;
    }
}
bool has_numbers(Type type) { return read_numbers(type, nullptr, 0, nullptr); }

// The floating-point format of a type: of integers the last place is 1.
struct NumberFormat {
    int least_exponent = 0, fraction_bits = 0;
    double overflow = std::numeric_limits<double>::infinity();  // what rounds to infinity

    [[nodiscard]] double unit(double a) const {
        if (fraction_bits == 0) return 1;
        const int exponent = std::isfinite(a) && a != 0 ? std::ilogb(a) : least_exponent;
        return std::ldexp(1.0, std::max(exponent, least_exponent) - fraction_bits);
    }
};
NumberFormat format_of(Type type) {
    switch (type) {
        case Type::f32: return {-126, 23, 0x1.ffffffp127};
        case Type::f16: return {-14, 10, 65520};
        case Type::bf16: return {-126, 7, 0x1.ffp127};
        case Type::f64: return {-1022, 52};
        default: return {};
    }
}

struct Measure {
    ErrorMeasure measure;
    double floor;
    NumberFormat format;

    [[nodiscard]] double operator()(double expected, double result) const {
        constexpr double infinite = std::numeric_limits<double>::infinity();
        if (result == expected || (std::isnan(result) && std::isnan(expected))) return 0;
        if (std::isnan(result) || std::isnan(expected)) return infinite;
        if (std::isinf(result))
            return std::abs(expected) >= format.overflow && std::signbit(expected) == std::signbit(result)
                       ? 0
                       : infinite;
        const double error = std::abs(result - expected);
        if (measure == ErrorMeasure::absolute) return error;
        return error /
               (measure == ErrorMeasure::ulp ? format.unit(expected) : std::max(std::abs(expected), floor));
    }
};

// --- the largest error

struct Found {
    LargestError worst;
    std::uint64_t place = ~std::uint64_t{0};  // of its block
};
// Of equal errors the first input counts, whoever has found it.
bool is_worse(const Found& a, const Found& b) {
    if (a.worst.error != b.worst.error) return a.worst.error > b.worst.error;
    return a.place < b.place;
}

class ErrorSearch {
  public:
    ErrorSearch(const Evaluator& evaluator, const Registers& registers, const Blocks& blocks,
                const Reference& reference, const ErrorOptions& options)
        : evaluator_(evaluator),
          registers_(registers),
          blocks_(blocks),
          reference_(reference),
          options_(options),
          measure_{options.measure, options.floor, format_of(registers.outputs[0].second)},
          runs_(options.runs.size()) {
        if (!evaluator.is_approximate()) runs_ = std::min<std::size_t>(runs_, 1);
    }

    LargestError find() {
        const unsigned threads = thread_count(options_.threads);
        std::vector<Found> all(threads), stopped(threads);
        on_threads(threads, [&](std::size_t t) {
            Worker worker(registers_);
            for (std::uint64_t number;
                 (number = next_.fetch_add(1)) < std::min(blocks_.numbers(), end_.load());) {
                const auto block = blocks_.find(number);
                if (!block) continue;
                const Found found = run(worker, *block);
                if (is_worse(found, all[t])) all[t] = found;
                if (found.worst.error <= options_.stop_above) continue;
                lower(end_, number + 1);  // blocks before this one are done by whoever has taken them
                if (number < worker.stopped) worker.stopped = number, stopped[t] = found;
            }
            worker_stops_[t] = worker.stopped;
        });
        return merged(all, stopped);
    }

  private:
    struct Worker {
        explicit Worker(const Registers& registers)
            : table(registers), inputs(block_points), expected(block_points), results(block_points) {}
        Table table;
        std::vector<double> inputs, expected, results;
        std::uint64_t stopped = ~std::uint64_t{0};  // the number of the first block past the limit
    };

    Found run(Worker& worker, const Blocks::Block& block) const {
        const InputRegister& input = registers_.inputs[0];
        const auto& [slot, type] = registers_.outputs[0];
        const std::size_t count = block.count;
        Found found{{.input = block.first}, block.place};
        worker.table.fill(block.first, count);
        read_numbers(input.type, worker.table.input(input.slot), count, worker.inputs.data());
        reference_({worker.inputs.data(), count}, {worker.expected.data(), count});
        for (std::size_t r = 0; r < runs_; ++r) {
            worker.table.run(evaluator_, count, options_.runs[r]);
            read_numbers(type, worker.table.output(slot), count, worker.results.data());
            for (std::size_t i = 0; i < count; ++i) {
                const double error = measure_(worker.expected[i], worker.results[i]);
                if (error > found.worst.error)
                    found.worst = {error, block.first + i, worker.expected[i], worker.results[i],
                                   options_.runs[r]};
            }
        }
        return found;
    }

    LargestError merged(const std::vector<Found>& all, const std::vector<Found>& stopped) const {
        const auto first = std::ranges::min_element(worker_stops_);
        const bool is_complete = *first == ~std::uint64_t{0};
        const Found* best = &all[0];
        for (const Found& found : all)
            if (is_worse(found, *best)) best = &found;
        LargestError worst = is_complete
                                 ? best->worst
                                 : stopped[static_cast<std::size_t>(first - worker_stops_.begin())].worst;
        worst.is_complete = is_complete;
        // Up to the one that stopped it, whatever other threads had begun.
        for (std::uint64_t number = 0; number < std::min(blocks_.numbers(), end_.load()); ++number)
            if (const auto block = blocks_.find(number)) worst.inputs += block->count;
        return worst;
    }

    const Evaluator& evaluator_;
    const Registers& registers_;
    const Blocks& blocks_;
    const Reference& reference_;
    const ErrorOptions& options_;
    const Measure measure_;
    std::size_t runs_;
    std::atomic<std::uint64_t> next_ = 0, end_ = ~std::uint64_t{0};
    std::vector<std::uint64_t> worker_stops_ =
        std::vector<std::uint64_t>(thread_count(options_.threads), ~std::uint64_t{0});
};

}  // namespace

std::vector<InputRange> inputs_between(Type type, double low, double high) {
    const arithmetic::Format* const format = type == Type::f32    ? &arithmetic::f32_format
                                             : type == Type::f16  ? &arithmetic::f16_format
                                             : type == Type::bf16 ? &arithmetic::bf16_format
                                                                  : nullptr;
    if (format == nullptr || !(low <= high)) return {};
    const std::uint64_t sign = std::uint64_t{1} << format->sign_bit;
    // rounded inwards
    const std::uint64_t from = arithmetic::round_to(*format, low, arithmetic::Rounding::rp);
    const std::uint64_t to = arithmetic::round_to(*format, high, arithmetic::Rounding::rm);
    std::vector<InputRange> ranges;
    if (high >= 0) ranges.push_back({low > 0 ? from : 0, to & ~sign});
    if (low <= 0) ranges.push_back({high < 0 ? to : sign, from | sign});
    std::erase_if(ranges, [](const InputRange& range) { return range.first > range.last; });
    return ranges;
}

Expected<LargestError> largest_error(ProgramView program, const Machine& machine, const Reference& reference,
                                     const ErrorOptions& options) {
    const Registers registers(machine);
    const bool has_one = registers.inputs.size() == 1 && registers.outputs.size() == 1;
    if (!has_one || !has_numbers(registers.inputs[0].type) || !has_numbers(registers.outputs[0].second))
        return cannot("a program has an error if it reads one register and writes one, both numbers");
    const auto ranges = TRY(ranges_of(options.ranges, registers));
    const auto evaluator = TRY(Evaluator::make(program, machine, options.compile));
    return ErrorSearch(evaluator, registers, Blocks(ranges), reference, options).find();
}

namespace {

// The first difference of a block.
std::optional<Difference> difference_of(const Registers& registers, const Table& a, const Table& b,
                                        const Blocks::Block& block) {
    std::optional<Difference> first;
    for (const auto& [slot, type] : registers.outputs) {
        const std::size_t bytes = bytes_of(type), size = block.count * bytes;
        const std::byte *const result = a.output(slot), *const expected = b.output(slot);
        if (std::memcmp(result, expected, size) == 0) continue;
        const auto at =
            static_cast<std::size_t>(std::mismatch(result, result + size, expected).first - result) / bytes;
        if (first && block.first + at >= first->input) continue;
        first = {block.first + at, slot, 0, 0};
        std::memcpy(&first->expected, expected + at * bytes, std::min<std::size_t>(bytes, 8));
        std::memcpy(&first->result, result + at * bytes, std::min<std::size_t>(bytes, 8));
    }
    return first;
}

}  // namespace

Expected<std::optional<Difference>> find_difference(ProgramView program, ProgramView reference,
                                                    const Machine& machine,
                                                    const DifferenceOptions& options) {
    const Registers registers(machine);
    const Blocks blocks(TRY(ranges_of(options.ranges, registers)));
    const auto own = TRY(Evaluator::make(program, machine, options.compile));
    const auto other = TRY(Evaluator::make(reference, machine, options.compile));
    const unsigned threads = thread_count(options.threads);
    std::atomic<std::uint64_t> next = 0, first_place = ~std::uint64_t{0};
    std::vector<std::pair<std::uint64_t, Difference>> found(threads, {~std::uint64_t{0}, {}});
    on_threads(threads, [&](std::size_t t) {
        Table results(registers), expected(registers);
        for (std::uint64_t number; (number = next.fetch_add(1)) < blocks.numbers();) {
            const auto block = blocks.find(number);
            if (!block || block->place > first_place.load()) continue;  // what is found may be before it
            results.fill(block->first, block->count), expected.fill(block->first, block->count);
            results.run(own, block->count), expected.run(other, block->count);
            const auto difference = difference_of(registers, results, expected, *block);
            if (!difference || block->place >= found[t].first) continue;
            found[t] = {block->place, *difference};
            lower(first_place, block->place);
        }
    });
    const auto best = std::ranges::min_element(found, {}, &std::pair<std::uint64_t, Difference>::first);
    if (best->first == ~std::uint64_t{0}) return std::optional<Difference>{};
    return std::optional<Difference>(best->second);
}

}  // namespace ptxgraft::stack
