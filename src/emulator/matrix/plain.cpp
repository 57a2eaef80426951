// The tensor cores for every processor.
#include <bit>
#include <cmath>

#include "emulator/matrix/engine.hpp"

namespace ptxgraft::emulator {
namespace {

/// A number of 1 sign bit, `exponent_bits` and `fraction_bits`, not infinity nor NaN.
float finite_value(std::uint32_t bits, int exponent_bits, int fraction_bits) {
    const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto fraction = static_cast<float>(bits & ((1u << fraction_bits) - 1));
    const auto one = static_cast<float>(1 << fraction_bits);
    const float magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                          : std::ldexp(one + fraction, exponent - bias - fraction_bits);
    return (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

float f16_value(std::uint32_t bits) {
    if ((bits & 0x7C00) != 0x7C00) return finite_value(bits, 5, 10);
    return std::bit_cast<float>((bits & 0x3FF) != 0 ? f32_nan : 0x7F800000 | (bits & 0x8000) << 16);
}

namespace {

/// Element j of a word.
float float_element(MatrixType type, std::uint32_t word, unsigned j) {
    switch (type) {
        case MatrixType::f16: return f16_value(word >> 16 * j & 0xFFFF);
        case MatrixType::bf16: return std::bit_cast<float>(word >> 16 * j << 16);
        case MatrixType::e5m2: return f16_value((word >> 8 * j & 0xFF) << 8);
        case MatrixType::e4m3: {
            const std::uint32_t byte = word >> 8 * j & 0xFF;
            return (byte & 0x7F) == 0x7F ? std::bit_cast<float>(f32_nan) : finite_value(byte, 4, 3);
        }
        default: return std::bit_cast<float>(word & 0xFFFFE000);
    }
}

}  // namespace

std::uint32_t f16_bits(float f) {
    if (std::isnan(f)) return f16_nan;
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(f) >> 16 & 0x8000;
    const float magnitude = std::fabs(f);
    if (magnitude >= 65520) return sign | 0x7C00;
    // The spacing of .f16 at this magnitude; division by a power of two is exact.
    const int exponent = magnitude < 0x1p-14f ? -24 : std::ilogb(magnitude) - 10;
    const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -exponent)));
    return sign | ((static_cast<std::uint32_t>(exponent + 24) << 10) + units);
}

namespace {

std::uint32_t pair(MatrixType type, std::uint32_t word, unsigned j) {
    if (type == MatrixType::b1) return word;
    const unsigned bits = element_bits(type);
    std::uint32_t result = 0;
    for (unsigned half = 0; half < 32; half += 16) {
        std::uint32_t value = word >> (half + bits * j) & ((1u << bits) - 1);
        if (is_signed(type) && (value >> (bits - 1)) != 0) value |= 0xFFFFu << bits;
        result |= (value & 0xFFFF) << half;
    }
    return result;
}

const std::uint32_t* column(const void* of) { return static_cast<const std::uint32_t*>(of); }

/// Every value of a panel of A: `unpack(word, j)` for lane 4g + t is that of the word in lane 4g + t of row
/// k.
template <class T, class Unpack> void unpack_a(const WordColumns& words, T* panel, Unpack unpack) {
    const unsigned per_word = rows_per_word(words.type);
    for (unsigned i = 0; i < words.count; ++i)
        for (unsigned t = 0; t < 4; ++t)
            for (unsigned j = 0; j < per_word; ++j) {
                T* to = panel + ((i / words.halves * 4 + t) * per_word + j) * a_width + i % words.halves * 32;
                for (unsigned lane = 0; lane < 32; ++lane)
                    to[lane] = unpack(column(words.registers[i])[(lane & ~3u) + t], j);
            }
}

template <class T, class Unpack> void unpack_b(const WordColumns& words, T* panel, Unpack unpack) {
    const unsigned per_word = rows_per_word(words.type);
    for (unsigned i = 0; i < words.count; ++i)
        for (unsigned t = 0; t < 4; ++t)
            for (unsigned j = 0; j < per_word; ++j)
                for (unsigned n = 0; n < 8; ++n)
                    panel[((i * 4 + t) * per_word + j) * b_width + n % 2 * 4 + n / 2] =
                        unpack(column(words.registers[i])[4 * n + t], j);
}

void float_a(const WordColumns& words, float* panel) {
    const float sign = words.negate ? -1.0f : 1.0f;
    unpack_a(words, panel,
             [&](std::uint32_t word, unsigned j) { return sign * float_element(words.type, word, j); });
}
void float_b(const WordColumns& words, float* panel) {
    unpack_b(words, panel,
             [&](std::uint32_t word, unsigned j) { return float_element(words.type, word, j); });
}
void integer_a(const WordColumns& words, std::uint32_t* panel) {
    unpack_a(words, panel, [&](std::uint32_t word, unsigned j) { return pair(words.type, word, j); });
}
void integer_b(const WordColumns& words, std::uint32_t* panel) {
    unpack_b(words, panel, [&](std::uint32_t word, unsigned j) { return pair(words.type, word, j); });
}

float accumulator(const FloatTiles& tiles, unsigned pair_index, unsigned b, unsigned lane) {
    if (tiles.c == nullptr) return 0;
    if (tiles.c_type == MatrixType::f32)
        return std::bit_cast<float>(column(tiles.c[2 * pair_index + b])[lane]);
    return f16_value(column(tiles.c[pair_index])[lane] >> 16 * b & 0xFFFF);
}

}  // namespace

std::uint32_t f32_bits(float f) { return std::isnan(f) ? f32_nan : std::bit_cast<std::uint32_t>(f); }

namespace {

void multiply_floats(const FloatTiles& tiles) {
    for (unsigned i = 0; i < tiles.tiles * tiles.halves; ++i) {
        const unsigned half = i % tiles.halves, tile = i / tiles.halves;
        for (unsigned lane = 0; lane < 32; ++lane) {
            float sums[2];
            for (unsigned b = 0; b < 2; ++b) {
                float sum = accumulator(tiles, i, b, lane);
                for (unsigned k = 0; k < tiles.depth; ++k)
                    if (tiles.present == nullptr || (tiles.present[k] >> (half * 32 + lane) & 1) != 0)
                        sum = std::fma(tiles.a[k * a_width + half * 32 + lane],
                                       tiles.b[(tile * panel_rows + k) * b_width + b * 4 + lane % 4], sum);
                sums[b] = sum;
            }
            if (tiles.d_type == MatrixType::f16) {
                static_cast<std::uint32_t*>(tiles.d[i])[lane] = f16_bits(sums[0]) | f16_bits(sums[1]) << 16;
                continue;
            }
            for (unsigned b = 0; b < 2; ++b)
                static_cast<std::uint32_t*>(tiles.d[2 * i + b])[lane] = f32_bits(sums[b]);
        }
    }
}

std::int64_t product_of_pairs(std::uint32_t x, std::uint32_t y) {
    const auto low = [](std::uint32_t v) { return std::int64_t{static_cast<std::int16_t>(v & 0xFFFF)}; };
    return low(x) * low(y) + low(x >> 16) * low(y >> 16);
}

template <class Product> void multiply_words(const IntegerTiles& tiles, Product product) {
    for (unsigned i = 0; i < tiles.tiles * tiles.halves * 2; ++i) {
        const unsigned b = i % 2, half = i / 2 % tiles.halves, tile = i / 2 / tiles.halves;
        for (unsigned lane = 0; lane < 32; ++lane) {
            std::int64_t sum = tiles.c == nullptr ? 0 : static_cast<std::int32_t>(column(tiles.c[i])[lane]);
            for (unsigned k = 0; k < tiles.depth; ++k)
                sum += product(tiles.a[k * a_width + half * 32 + lane],
                               tiles.b[(tile * panel_rows + k) * b_width + b * 4 + lane % 4]);
            if (tiles.satfinite) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            static_cast<std::uint32_t*>(tiles.d[i])[lane] = static_cast<std::uint32_t>(sum);
        }
    }
}

void multiply_integers(const IntegerTiles& tiles) { multiply_words(tiles, product_of_pairs); }

void multiply_bits(const IntegerTiles& tiles) {
    multiply_words(tiles, [&](std::uint32_t x, std::uint32_t y) {
        return std::int64_t{std::popcount(tiles.bits == BitOperation::xor_ ? x ^ y : x & y)};
    });
}

// Whoever wants speed has another engine.
bool multiply_doubles(const DoubleTile&) { return false; }

}  // namespace

const EngineFunctions plain_engine = {{float_a, float_b, multiply_floats},
                                      {integer_a, integer_b, multiply_integers},
                                      {integer_a, integer_b, multiply_bits},
                                      multiply_doubles};

}  // namespace ptxgraft::emulator
