// What programs are drawn of.

#include "stub/stack/program/genes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "arithmetic/rounding.hpp"
#include "site/type_row.hpp"
#include "stub/number.hpp"
#include "stub/stack/compile/constant_name.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

using Kind = ConstantSource::Kind;

std::uint64_t low_bits(std::uint32_t width) {
    return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

std::uint64_t rounded(double number, TypeId base) {
    const auto half = [number](const arithmetic::Format& format) {
        return std::uint64_t{arithmetic::round_to(format, number, arithmetic::Rounding::rn)};
    };
    switch (static_cast<Type>(base)) {
        case Type::f16: return half(arithmetic::f16_format);
        case Type::bf16: return half(arithmetic::bf16_format);
        case Type::f16x2: return half(arithmetic::f16_format) * 0x10001;
        case Type::bf16x2: return half(arithmetic::bf16_format) * 0x10001;
        case Type::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(number));
        case Type::f64: return std::bit_cast<std::uint64_t>(number);
        default: break;
    }
    // modulo 2^64, then modulo the width
    const double magnitude = std::min(std::floor(std::fabs(number)), 0x1.fffffffffffffp63);
    const auto whole = static_cast<std::uint64_t>(magnitude);
    return (std::signbit(number) ? 0 - whole : whole) & low_bits(bits(static_cast<Type>(base)));
}

std::uint64_t special_integer(Random& random, std::uint32_t width) {
    const std::uint64_t power = std::uint64_t{1} << random.below(width);
    const std::array<std::uint64_t, 8> all = {
        0, 1, ~std::uint64_t{0}, power, power - 1, ~(power - 1), width, std::uint64_t{width} - 1};
    return all[random.below(all.size())] & low_bits(width);
}

double special_number(Random& random, TypeId base) {
    struct Edges {
        double largest, normal, smallest;
    };
    const Edges edges = [base]() -> Edges {
        switch (static_cast<Type>(base)) {
            case Type::f16:
            case Type::f16x2: return {65504, 0x1p-14, 0x1p-24};
            case Type::f64:
                return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
                        std::numeric_limits<double>::denorm_min()};
            case Type::bf16:
            case Type::bf16x2: return {0x1.FEp127, 0x1p-126, 0x1p-133};
            default: return {0x1.FFFFFEp127, 0x1p-126, 0x1p-149};
        }
    }();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::array<double, 9> all = {0,
                                       1,
                                       2,
                                       0.5,
                                       edges.largest,
                                       edges.normal,
                                       edges.smallest,
                                       infinity,
                                       std::numeric_limits<double>::quiet_NaN()};
    const double number = all[random.below(all.size())];
    return random.below(2) == 0 ? number : -number;
}

// A power of two times `low`, then a place in that octave with a density of 1/x, by rejection: arithmetic
// alone, which is the same everywhere.
double log_uniform(Random& random, double low, double high) {
    std::uint64_t octaves = 1;
    while (std::ldexp(low, static_cast<int>(octaves)) < high) ++octaves;
    const double top = octaves == 1 ? high / low : 2;
    for (;;) {
        const double place = 1 + random.unit() * (top - 1);
        const int octave = static_cast<int>(random.below(octaves));
        const double number = std::ldexp(low * place, octave);
        if (random.unit() * place <= 1 && number <= high) return number;
    }
}

double number_of(const ConstantSource& source, Random& random, bool is_integer) {
    const double low = source.low, high = source.high;
    switch (source.kind) {
        case Kind::log_uniform: {
            const double magnitude = is_integer ? log_uniform(random, std::max(low, 1.0), std::max(high, 1.0))
                                                : log_uniform(random, low, high);
            return random.below(2) == 0 ? magnitude : -magnitude;
        }
        case Kind::normal: {
            constexpr int count = 12;  // of variance 1/12 each
            double sum = -count / 2;
            for (int k = 0; k < count; ++k) sum += random.unit();
            return low + high * sum;
        }
        default: return low + random.unit() * (high - low + (is_integer ? 1 : 0));
    }
}

}  // namespace

std::vector<ConstantSource> usual_constants() {
    return {{.kind = Kind::values, .weight = 4, .values = {0, 1, -1, 0.5, 2, -0.25, 3, 10}},
            {.kind = Kind::log_uniform, .weight = 2, .low = 0x1p-8, .high = 0x1p8},
            {.kind = Kind::normal, .weight = 2, .low = 0, .high = 1},
            {.kind = Kind::special, .weight = 0.25},
            {.kind = Kind::bits, .weight = 1}};
}

ConstantSources::ConstantSources(std::vector<ConstantSource> sources) : sources_(std::move(sources)) {
    for (const ConstantSource& source : sources_) {
        auto& whole = whole_.emplace_back();
        std::copy_if(source.values.begin(), source.values.end(), std::back_inserter(whole),
                     [](double v) { return v == std::floor(v) && std::isfinite(v); });
    }
}

const ConstantSources& ConstantSources::usual() {
    static const ConstantSources sources(usual_constants());
    return sources;
}

const ConstantSource* ConstantSources::source_for(Random& random, TypeId type, bool is_integer) const {
    const auto weight = [&](std::size_t k) {
        const ConstantSource& source = sources_[k];
        bool has = true;
        if (source.kind == Kind::values) has = !(is_integer ? whole_[k] : source.values).empty();
        if (source.kind == Kind::normal) has = !is_integer || source.high >= 1;
        if (source.kind == Kind::bits) has = is_integer;
        if (source.kind == Kind::constants)
            has = std::any_of(source.constants.begin(), source.constants.end(),
                              [type](const TypedConstant& c) { return c.type == type; });
        return has ? source.weight : 0;
    };
    double sum = 0;
    for (std::size_t k = 0; k < sources_.size(); ++k) sum += weight(k);
    double at = random.unit() * sum;
    for (std::size_t k = 0; k < sources_.size(); ++k)
        if ((at -= weight(k)) < 0) return &sources_[k];
    return nullptr;
}

std::uint64_t ConstantSources::draw(Random& random, TypeId type, TypeId base) const {
    if (!has_constants(type)) return 0;
    if (base == type_id(Type::pred)) return random.below(2);
    const bool is_integer = !is_floating(static_cast<Type>(base));
    const ConstantSource* const source = source_for(random, type, is_integer);
    if (source == nullptr) return 0;
    const std::uint32_t width = bits(static_cast<Type>(base));
    switch (source->kind) {
        case Kind::values: {
            const auto& values =
                is_integer ? whole_[static_cast<std::size_t>(source - sources_.data())] : source->values;
            return rounded(values[random.below(values.size())], base);
        }
        case Kind::special:
            return is_integer ? special_integer(random, width) : rounded(special_number(random, base), base);
        case Kind::bits: return random.next() & low_bits(width);
        case Kind::constants: {
            std::vector<std::uint64_t> own;
            for (const TypedConstant& c : source->constants)
                if (c.type == type) own.push_back(c.bits);
            return own[random.below(own.size())] & low_bits(width);
        }
        default: return rounded(number_of(*source, random, is_integer), base);
    }
}

// ---- instructions -----------------------------------------------------------------------------------------

std::size_t draw_index(Random& random, std::span<const double> sums) {
    if (sums.empty()) return 0;
    const double at = random.unit() * sums.back();
    return static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), at) - sums.begin());
}

const EntryCode* Genes::draw(Random& random) const {
    const std::size_t index = draw_index(random, weights);
    if (index >= weights.size()) return nullptr;  // all weights are 0
    const EntryCode& e = code().entries[index];
    constexpr std::uint64_t specials_are_rarer = 16;  // a set may have more of them than of instructions
    if (e.is_special && random.below(specials_are_rarer) != 0) return nullptr;
    return (*machine.present)[index] != Present::no && e.effects == 0 ? &e : nullptr;
}

namespace {

std::uint32_t immediate(Random& random, const InputCode& input) {
    if (input.low == INT64_MIN || input.high == INT64_MAX)
        return static_cast<std::uint32_t>(random.below(256));
    const auto steps = static_cast<std::uint64_t>((input.high - input.low) / input.step) + 1;
    return static_cast<std::uint32_t>(input.low +
                                      static_cast<std::int64_t>(random.below(steps)) * input.step);
}

}  // namespace

std::optional<Instruction> Genes::form(Random& random, const EntryCode& entry,
                                       std::vector<std::uint64_t>& pool) const {
    Instruction i{Opcode::form, 0, static_cast<std::uint16_t>(entry.at), 0};
    std::array<std::uint64_t, EntryCode::max_inputs> row;  // of immediates
    std::size_t count = 0;
    for (const InputCode& input : code().inputs_of(entry))
        if (input.is_immediate) row[count++] = immediate(random, input);
    if (count != 0) i.payload = static_cast<std::uint32_t>(row[count - 1]);
    if (count > 1) {  // the others stand in the pool, at one of its first 256 places, the last of them first
        if (pool.size() > 255) return std::nullopt;
        std::reverse(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count) - 1);
        i.type = static_cast<TypeId>(PoolPlaces::row(pool, {row.data(), count - 1}));
    }
    return i;
}

Instruction constant_instruction(TypeId type, TypeId base, std::uint64_t bits,
                                 std::vector<std::uint64_t>& pool) {
    if (const auto payload = payload_of(bits, base)) return {Opcode::constant, type, 0, *payload};
    const auto found = std::find(pool.begin(), pool.end(), bits);
    const auto place = static_cast<std::uint32_t>(found - pool.begin());
    if (found == pool.end()) pool.push_back(bits);
    return {Opcode::pooled, type, 0, place};
}

Instruction Genes::constant(Random& random, TypeId type, std::vector<std::uint64_t>& pool) const {
    const TypeId base = code().bases[type];
    return constant_instruction(type, base, constants.draw(random, type, base), pool);
}

const Slot* Genes::readable(Random& random, TypeId type) const {
    const auto is_readable = [type](const Slot& s) {
        return s.direction != Direction::out && (type == max_types || s.type == type);
    };
    const auto count = std::count_if(machine.slots.begin(), machine.slots.end(), is_readable);
    if (count == 0) return nullptr;
    std::uint64_t left = random.below(static_cast<std::uint64_t>(count));
    for (const Slot& s : machine.slots)
        if (is_readable(s) && left-- == 0) return &s;
    return nullptr;
}

Instruction Genes::value(Random& random, TypeId type, std::vector<std::uint64_t>& pool) const {
    const bool is_constant = random.chance(constant_share) && has_constants(type);
    const Slot* const slot = is_constant ? nullptr : readable(random, type);
    return slot != nullptr ? input_of(*slot) : constant(random, type, pool);
}

}  // namespace ptxgraft::stack
