// The pure instructions of all chapters by opcode, and the forms of them for the processor at hand.

#include "arithmetic/arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "arithmetic/pure.hpp"

namespace ptxgraft::arithmetic {
namespace {

// An opcode stands in several chapters (add in four): all its resolvers are asked, the first that knows the
// types answers.
using Table = std::unordered_multimap<std::string_view, Resolver>;

const Table& table() {
    static const Table built = [] {
        Table all;
        for (const auto rows : {integer_rows(), logic_rows(), comparison_rows(), float_rows(), half_rows(),
                                conversion_rows(), narrow_rows(), video_rows()})
            for (const ResolverRow& row : rows) all.emplace(row.opcode, row.resolve);
        return all;
    }();
    return built;
}

// A processor that lacks one of the extensions is taken for the one below.
Processor find_processor() {
#if defined(__x86_64__) && defined(__GNUC__)
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                          __builtin_cpu_supports("popcnt");
    if (!has_avx2) return Processor::baseline;
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return has_avx512 ? Processor::avx512 : Processor::avx2;
#else
    return Processor::baseline;
#endif
}

// Values on the stack between columns of other widths, or between two functions.
constexpr std::size_t block = 256;
struct alignas(64) Block {
    std::byte bytes[block * sizeof(std::uint64_t)];
};

// GCC and clang have integers of 128 bits.
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

template <class From, class To>
void extend(void* const* outputs, const void* const* inputs, std::size_t count) {
    auto* const to = static_cast<std::byte*>(outputs[0]);
    const auto* const from = static_cast<const std::byte*>(inputs[0]);
    for (std::size_t i = 0; i < count; ++i) {
        From value;
        std::memcpy(&value, from + i * sizeof(From), sizeof(From));
        const To wider = static_cast<To>(value);
        std::memcpy(to + i * sizeof(To), &wider, sizeof(To));
    }
}
template <class From> ColumnFunction extension_of(std::uint8_t bytes) {
    switch (bytes) {
        case 1: return extend<From, std::uint8_t>;
        case 2: return extend<From, std::uint16_t>;
        case 4: return extend<From, std::uint32_t>;
        case 8: return extend<From, std::uint64_t>;
        default: return extend<From, u128>;
    }
}
void convert(void* to, std::uint8_t to_bytes, const void* from, std::uint8_t from_bytes, bool is_signed,
             std::size_t count) {
    extension(from_bytes, to_bytes, is_signed)(&to, &from, count);
}

}  // namespace

ColumnFunction extension(std::uint8_t from, std::uint8_t to, bool is_signed) {
    switch (from) {
        case 1: return is_signed ? extension_of<std::int8_t>(to) : extension_of<std::uint8_t>(to);
        case 2: return is_signed ? extension_of<std::int16_t>(to) : extension_of<std::uint16_t>(to);
        case 4: return is_signed ? extension_of<std::int32_t>(to) : extension_of<std::uint32_t>(to);
        case 8: return is_signed ? extension_of<std::int64_t>(to) : extension_of<std::uint64_t>(to);
        default: return is_signed ? extension_of<s128>(to) : extension_of<u128>(to);
    }
}

Processor this_processor() {
    static const Processor found = find_processor();
    return found;
}

ColumnFunction PureInstruction::pick(const ColumnFunctions& of) const {
    for (auto level = static_cast<std::size_t>(processor); level > 0; --level)
        if (of[level] != nullptr) return of[level];
    return of[0];
}

PureInstruction PureInstruction::on(Processor other) const {
    PureInstruction made = *this;
    made.processor = other;
    return made;
}

void PureInstruction::run_both(void* const* to, const void* const* from, std::size_t count) const {
    std::array<Block, 2> between;
    void* const results[] = {between[0].bytes, between[1].bytes};
    for (std::size_t at = 0; at < count; at += block) {
        std::array<const void*, most_inputs + 1> in{};
        std::array<const void*, most_inputs + 2> rest{results[0], results[1]};
        std::array<void*, most_outputs + 1> out{};
        for (std::size_t i = 0; i < all_inputs(); ++i)
            in[i] = static_cast<const std::byte*>(from[i]) + at * input_bytes[i];
        for (std::size_t i = 0; i < all_outputs(); ++i)
            out[i] = static_cast<std::byte*>(to[i]) + at * output_bytes[i];
        for (std::size_t i = first_inputs, next = first_outputs; i < all_inputs(); ++i) rest[next++] = in[i];
        const std::size_t n = std::min(block, count - at);
        first_function()(results, in.data(), n);
        second_function()(out.data(), rest.data(), n);
    }
}

void PureInstruction::run_converted(void* const* to, const void* const* from, std::size_t count) const {
    std::array<Block, most_inputs> in_blocks;
    std::array<Block, most_outputs> out_blocks;
    PureInstruction native = *this;
    native.in_column_bytes = {}, native.out_column_bytes = {};
    for (std::size_t at = 0; at < count; at += block) {
        std::array<const void*, most_inputs> in{};
        std::array<void*, most_outputs> out{};
        const std::size_t n = std::min(block, count - at);
        for (std::size_t i = 0; i < inputs; ++i) {
            convert(in_blocks[i].bytes, input_bytes[i],
                    static_cast<const std::byte*>(from[i]) + at * in_column_bytes[i], in_column_bytes[i],
                    false, n);
            in[i] = in_blocks[i].bytes;
        }
        for (std::size_t i = 0; i < outputs; ++i) out[i] = out_blocks[i].bytes;
        native.run_columns(out.data(), in.data(), n);
        for (std::size_t i = 0; i < outputs; ++i)
            convert(static_cast<std::byte*>(to[i]) + at * out_column_bytes[i], out_column_bytes[i],
                    out_blocks[i].bytes, output_bytes[i], output_signed[i], n);
    }
}

void PureInstruction::run_columns(void* const* to, const void* const* from, std::size_t count) const {
    if (in_column_bytes[0] != 0 || out_column_bytes[0] != 0)
        run_converted(to, from, count);
    else if (has_second())
        run_both(to, from, count);
    else
        first_function()(to, from, count * column_elements);
}

void PureInstruction::run(std::uint64_t* to, const std::uint64_t* from) const {
    std::array<std::uint64_t, most_inputs + 1> in_values{};
    std::array<std::uint64_t, most_outputs + 1> out_values{};
    std::array<const void*, most_inputs + 1> in{};
    std::array<void*, most_outputs + 1> out{};
    for (std::size_t i = 0; i < all_inputs(); ++i) {
        const bool is_carry = i == inputs;
        in_values[i] = is_carry ? from[i] & 1 : from[i];
        in[i] = &in_values[i];
    }
    for (std::size_t i = 0; i < all_outputs(); ++i) out[i] = &out_values[i];
    PureInstruction native = *this;
    native.in_column_bytes = {}, native.out_column_bytes = {};
    native.run_columns(out.data(), in.data(), 1);
    for (std::size_t i = 0; i < all_outputs(); ++i)
        convert(&to[i], 8, &out_values[i], output_bytes[i], output_signed[i], 1);
}

PureInstruction PureInstruction::with_widths(std::span<const std::uint8_t> to,
                                             std::span<const std::uint8_t> from) const {
    PureInstruction made = *this;
    made.out_column_bytes = output_bytes, made.in_column_bytes = input_bytes;
    std::ranges::copy(to.first(std::min<std::size_t>(to.size(), outputs)), made.out_column_bytes.begin());
    std::ranges::copy(from.first(std::min<std::size_t>(from.size(), inputs)), made.in_column_bytes.begin());
    if (made.out_column_bytes == output_bytes && made.in_column_bytes == input_bytes) return *this;
    return made;
}

namespace {

bool is_nan(ImmediateType type, std::uint64_t bits) {
    const auto above = [&](std::uint64_t infinity, int shift = 0) {
        return (bits >> shift & 0x7FFF) > infinity;
    };
    switch (type) {
        case ImmediateType::f16: return above(0x7C00);
        case ImmediateType::bf16: return above(0x7F80);
        case ImmediateType::f16x2: return above(0x7C00) || above(0x7C00, 16);
        case ImmediateType::bf16x2: return above(0x7F80) || above(0x7F80, 16);
        case ImmediateType::f32: return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        case ImmediateType::f64: return std::isnan(std::bit_cast<double>(bits));
        case ImmediateType::integer:
        case ImmediateType::predicate: return false;
    }
    return false;
}

}  // namespace

bool PureInstruction::leaves_open(const std::uint64_t* to, const std::uint64_t* from) const {
    switch (open) {
        case Open::never: return false;
        case Open::nan: return is_nan(output_type, to[0]);
        case Open::zero_divisor: {
            const std::uint64_t divisor = from[inputs - 1];
            return input_bytes[inputs - 1u] == 8
                       ? divisor == 0
                       : (divisor & ((std::uint64_t{1} << (8 * input_bytes[inputs - 1u])) - 1)) == 0;
        }
        case Open::always: return true;
    }
    return true;
}

namespace {

Resolved resolve(std::string_view opcode, std::span<const std::string_view> modifiers, Shape shape) {
    const auto [begin, end] = table().equal_range(opcode);
    for (auto row = begin; row != end; ++row)
        if (Resolved found = row->second(Modifiers(modifiers), shape)) return found;
    return std::nullopt;
}

}  // namespace

std::optional<PureInstruction> find_pure(std::string_view opcode, std::span<const std::string_view> modifiers,
                                         std::size_t operands, bool pair) {
    Resolved found = resolve(opcode, modifiers, Shape{operands, pair});
    if (!found) return found;
    if (std::ranges::find(modifiers, ".approx") != modifiers.end() ||
        std::ranges::find(modifiers, ".full") != modifiers.end())
        found->open = Open::always;
    found->processor = this_processor();
    return found;
}

}  // namespace ptxgraft::arithmetic
