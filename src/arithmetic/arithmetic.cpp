#include "arithmetic/arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "arithmetic/pure.hpp"

namespace ptxgraft::arithmetic {
namespace {

// An opcode stands in several chapters (add in four): all its resolvers are asked, the first that knows the types answers.
using Table = std::unordered_multimap<std::string_view, Resolver>;

const Table& table() {
    static const Table built = [] {
        Table all;
        for (const auto rows : {integer_rows(), logic_rows(), comparison_rows(), float_rows(), conversion_rows(), narrow_rows(), video_rows()})
            for (const ResolverRow& row : rows) all.emplace(row.opcode, row.resolve);
        return all;
    }();
    return built;
}

}  // namespace

void PureInstruction::run_both(Lanes* const* to, const Lanes* const* from, std::uint32_t mask) const {
    std::array<Lanes, 2> between;
    Lanes* const results[] = {&between[0], &between[1]};
    first(results, from, mask);
    std::array<const Lanes*, 8> rest{};
    std::size_t count = 0;
    for (; count < first_outputs; ++count) rest[count] = &between[count];
    for (std::size_t i = first_inputs; i < inputs; ++i) rest[count++] = from[i];
    second(to, rest.data(), mask);
}

namespace {

// Values on the stack between columns and lanes, or between two column functions.
constexpr std::size_t block = 256;

template <class T> void widen(Lanes& lanes, const void* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        T value;
        std::memcpy(&value, static_cast<const std::byte*>(from) + i * sizeof(T), sizeof(T));
        lanes[i] = value;
    }
}
void read_lanes(Lanes& lanes, const void* column, std::uint8_t bytes, std::size_t at, std::size_t count) {
    const void* const from = static_cast<const std::byte*>(column) + at * bytes;
    switch (bytes) {
        case 1: return widen<std::uint8_t>(lanes, from, count);
        case 2: return widen<std::uint16_t>(lanes, from, count);
        case 4: return widen<std::uint32_t>(lanes, from, count);
        default: return widen<std::uint64_t>(lanes, from, count);
    }
}
template <class T> void narrow(const Lanes& lanes, void* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<T>(lanes[i]);
        std::memcpy(static_cast<std::byte*>(to) + i * sizeof(T), &value, sizeof(T));
    }
}
void write_lanes(const Lanes& lanes, void* column, std::uint8_t bytes, std::size_t at, std::size_t count) {
    void* const to = static_cast<std::byte*>(column) + at * bytes;
    switch (bytes) {
        case 1: return narrow<std::uint8_t>(lanes, to, count);
        case 2: return narrow<std::uint16_t>(lanes, to, count);
        case 4: return narrow<std::uint32_t>(lanes, to, count);
        default: return narrow<std::uint64_t>(lanes, to, count);
    }
}

}  // namespace

void PureInstruction::run_by_lanes(void* const* to, const void* const* from, std::size_t count) const {
    std::array<Lanes, most_inputs> in{};
    std::array<Lanes, most_outputs> out{};
    std::array<const Lanes*, most_inputs> in_pointers{};
    std::array<Lanes*, most_outputs> out_pointers{};
    for (std::size_t i = 0; i < most_inputs; ++i) in_pointers[i] = &in[i];
    for (std::size_t i = 0; i < most_outputs; ++i) out_pointers[i] = &out[i];
    for (std::size_t at = 0; at < count; at += 32) {
        const std::size_t n = std::min<std::size_t>(32, count - at);
        for (std::size_t i = 0; i < inputs; ++i) read_lanes(in[i], from[i], input_bytes[i], at, n);
        run(out_pointers.data(), in_pointers.data(), n == 32 ? ~0u : (1u << n) - 1);
        for (std::size_t i = 0; i < outputs; ++i) write_lanes(out[i], to[i], output_bytes[i], at, n);
    }
}

void PureInstruction::run_both_columns(void* const* to, const void* const* from, std::size_t count) const {
    alignas(64) std::byte between[2][block * sizeof(std::uint64_t)];
    void* const results[] = {between[0], between[1]};
    for (std::size_t at = 0; at < count; at += block) {
        std::array<const void*, most_inputs> in{}, rest{between[0], between[1]};
        std::array<void*, most_outputs> out{};
        for (std::size_t i = 0; i < inputs; ++i) in[i] = static_cast<const std::byte*>(from[i]) + at * input_bytes[i];
        for (std::size_t i = 0; i < outputs; ++i) out[i] = static_cast<std::byte*>(to[i]) + at * output_bytes[i];
        for (std::size_t i = first_inputs, next = first_outputs; i < inputs; ++i) rest[next++] = in[i];
        const std::size_t n = std::min(block, count - at);
        (first_wide != nullptr ? first_wide : first_columns)(results, in.data(), n);
        (second_wide != nullptr ? second_wide : second_columns)(out.data(), rest.data(), n);
    }
}

void PureInstruction::run_columns(void* const* to, const void* const* from, std::size_t count) const {
    if (first_columns == nullptr || (second != nullptr && second_columns == nullptr)) run_by_lanes(to, from, count);
    else if (second != nullptr) run_both_columns(to, from, count);
    else (first_wide != nullptr ? first_wide : first_columns)(to, from, count * column_elements);
}

PureInstruction PureInstruction::with_widths(std::span<const std::uint8_t> to, std::span<const std::uint8_t> from) const {
    PureInstruction made = *this;
    std::ranges::copy(to.first(std::min<std::size_t>(to.size(), outputs)), made.output_bytes.begin());
    std::ranges::copy(from.first(std::min<std::size_t>(from.size(), inputs)), made.input_bytes.begin());
    if (made.output_bytes != output_bytes || made.input_bytes != input_bytes) made.first_columns = nullptr;
    return made;
}

namespace {

bool is_nan(ImmediateType type, std::uint64_t bits) {
    const auto above = [&](std::uint64_t infinity, int shift = 0) { return (bits >> shift & 0x7FFF) > infinity; };
    switch (type) {
        case ImmediateType::f16: return above(0x7C00);
        case ImmediateType::bf16: return above(0x7F80);
        case ImmediateType::f16x2: return above(0x7C00) || above(0x7C00, 16);
        case ImmediateType::bf16x2: return above(0x7F80) || above(0x7F80, 16);
        case ImmediateType::f32: return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        case ImmediateType::f64: return std::isnan(std::bit_cast<double>(bits));
        case ImmediateType::integer: return false;
    }
    return false;
}

}  // namespace

bool PureInstruction::leaves_open(const Lanes* const* to, const Lanes* const* from) const {
    switch (open) {
        case Open::never: return false;
        case Open::nan: return is_nan(output_type, (*to[0])[0]);
        case Open::zero_divisor: {
            const std::uint64_t divisor = (*from[inputs - 1])[0];
            return input_bytes[inputs - 1u] == 8 ? divisor == 0 : (divisor & ((std::uint64_t{1} << (8 * input_bytes[inputs - 1u])) - 1)) == 0;
        }
        case Open::always: return true;
    }
    return true;
}

namespace {

PureInstruction for_this_processor(PureInstruction made) {
    static const bool wide = has_wide();
    if (!wide) made.first_wide = made.second_wide = nullptr;
    return made;
}

Resolved resolve(std::string_view opcode, std::span<const std::string_view> modifiers, Shape shape) {
    const auto [begin, end] = table().equal_range(opcode);
    for (auto row = begin; row != end; ++row)
        if (Resolved found = row->second(Modifiers(modifiers), shape)) return found;
    return resolve_half(opcode, Modifiers(modifiers), shape);
}

}  // namespace

std::optional<PureInstruction> find_pure(std::string_view opcode, std::span<const std::string_view> modifiers,
                                         std::size_t operands, bool pair) {
    Resolved found = resolve(opcode, modifiers, Shape{operands, pair});
    if (!found) return found;
    if (std::ranges::find(modifiers, ".approx") != modifiers.end() || std::ranges::find(modifiers, ".full") != modifiers.end()) found->open = Open::always;
    return for_this_processor(*found);
}

}  // namespace ptxgraft::arithmetic
