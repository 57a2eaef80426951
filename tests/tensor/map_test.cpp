// Tensor maps and their copies against references that follow the manual's text and tables, element by
// element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "support/tensor_map_examples.hpp"
#include "tensor/tensor_copy.hpp"

namespace ptxgraft::tensor {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// ------------------------------------------------------------------------------------------------- reference

unsigned bits_of(TensorType type) {
    constexpr unsigned bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
    return bits[static_cast<unsigned>(type)];
}

// PTX ISA 5.5.7: the tables, in numbers of 16-byte elements; a row is a 128-byte line of shared memory. What
// a row has at position p is the element that would be at table[row][p] without swizzling.
using Table = std::vector<std::array<unsigned, 8>>;
const Table& table_of(TensorSwizzle swizzle) {
    static const Table tables[] = {{{0, 1, 2, 3, 4, 5, 6, 7}},
                                   {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}},
                                   {{0, 1, 2, 3, 4, 5, 6, 7},
                                    {1, 0, 3, 2, 5, 4, 7, 6},
                                    {2, 3, 0, 1, 6, 7, 4, 5},
                                    {3, 2, 1, 0, 7, 6, 5, 4}},
                                   {{0, 1, 2, 3, 4, 5, 6, 7},
                                    {1, 0, 3, 2, 5, 4, 7, 6},
                                    {2, 3, 0, 1, 6, 7, 4, 5},
                                    {3, 2, 1, 0, 7, 6, 5, 4},
                                    {4, 5, 6, 7, 0, 1, 2, 3},
                                    {5, 4, 7, 6, 1, 0, 3, 2},
                                    {6, 7, 4, 5, 2, 3, 0, 1},
                                    {7, 6, 5, 4, 3, 2, 1, 0}},
                                   {{0, 1, 2, 3, 4, 5, 6, 7},
                                    {2, 3, 0, 1, 6, 7, 4, 5},
                                    {4, 5, 6, 7, 0, 1, 2, 3},
                                    {6, 7, 4, 5, 2, 3, 0, 1}},
                                   {{0, 1, 2, 3, 4, 5, 6, 7},
                                    {2, 3, 0, 1, 6, 7, 4, 5},
                                    {4, 5, 6, 7, 0, 1, 2, 3},
                                    {6, 7, 4, 5, 2, 3, 0, 1}},
                                   {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}}};
    return tables[static_cast<unsigned>(swizzle)];
}

// The address where the byte goes that would be at `address` without swizzling.
std::uint32_t place_of(TensorSwizzle swizzle, std::uint32_t address) {
    const Table& table = table_of(swizzle);
    const std::uint32_t line = address / 128, element = address % 128 / 16;
    const auto& row = table[line % table.size()];
    const auto position =
        static_cast<std::uint32_t>(std::find(row.begin(), row.end(), element) - row.begin());
    std::uint32_t byte = address % 16;
    if (swizzle == TensorSwizzle::bytes128_atom32_flip8 && line % 2 == 1) byte = (byte + 8) % 16;
    return line * 128 + position * 16 + byte;
}

// Where element `index` of a row of packed elements begins in shared memory, in bits; sixteen make 64, 128 or
// 128.
std::uint64_t shared_bit(TensorType type, std::uint64_t index) {
    if (type == TensorType::b4x16_p64) return index / 16 * 128 + index % 16 * 4;
    if (type == TensorType::b6x16_p32) return index / 16 * 128 + index % 16 * 6;
    return index * bits_of(type);
}
std::uint64_t row_bits(TensorType type, std::uint64_t elements) {
    const bool padded = type == TensorType::b4x16_p64 || type == TensorType::b6x16_p32;
    return padded ? elements / 16 * 128 : elements * bits_of(type);
}

std::uint64_t read_bits(const Bytes& bytes, std::uint64_t at, unsigned count) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i)
        value |= std::uint64_t{(std::to_integer<unsigned>(bytes[(at + i) / 8]) >> (at + i) % 8) & 1} << i;
    return value;
}
void write_bits(Bytes& bytes, std::uint64_t at, unsigned count, std::uint64_t value) {
    for (unsigned i = 0; i < count; ++i) {
        const auto bit = static_cast<std::byte>(1 << (at + i) % 8);
        bytes[(at + i) / 8] = (value >> i & 1) != 0 ? bytes[(at + i) / 8] | bit : bytes[(at + i) / 8] & ~bit;
    }
}

// One element of a box: its coordinates in the tensor, and where it is in shared memory before swizzling.
struct Element {
    std::vector<std::int64_t> coordinates;
    std::uint64_t shared_bit;
};

// All elements of a box in tiled mode (PTX ISA 5.5.3), dimension 0 fastest. cuTensorMapEncodeTiled: ceil(box
// / stride) elements along each dimension; the stride of dimension 0 is ignored without interleave.
std::vector<Element> elements_of(const TensorMapOptions& o, const std::vector<std::int32_t>& start) {
    const std::size_t rank = o.dims.size();
    std::vector<std::uint32_t> strides(o.element_strides), counts(rank);
    if (strides.empty()) strides.assign(rank, 1);
    if (o.interleave == TensorInterleave::none) strides[0] = 1;
    std::uint64_t all = 1;
    for (std::size_t i = 0; i < rank; ++i) all *= counts[i] = (o.box[i] + strides[i] - 1) / strides[i];
    std::vector<Element> result;
    for (std::uint64_t n = 0; n < all; ++n) {
        Element element{std::vector<std::int64_t>(rank), 0};
        std::uint64_t rest = n;
        for (std::size_t i = 0; i < rank; ++i, rest /= counts[i - 1])
            element.coordinates[i] = start[i] + static_cast<std::int64_t>(rest % counts[i] * strides[i]);
        element.shared_bit = n / counts[0] * row_bits(o.type, counts[0]) + shared_bit(o.type, n % counts[0]);
        result.push_back(std::move(element));
    }
    return result;
}

bool is_inside(const TensorMapOptions& o, const Element& element) {
    for (std::size_t i = 0; i < o.dims.size(); ++i)
        if (element.coordinates[i] < 0 || element.coordinates[i] >= static_cast<std::int64_t>(o.dims[i]))
            return false;
    return true;
}

// In bits from the first byte of global memory.
std::uint64_t global_bit(const TensorMapOptions& o, const Element& element) {
    std::uint64_t bit = static_cast<std::uint64_t>(element.coordinates[0]) * bits_of(o.type);
    for (std::size_t i = 1; i < o.dims.size(); ++i)
        bit += static_cast<std::uint64_t>(element.coordinates[i]) * o.strides[i - 1] * 8;
    return bit;
}

constexpr std::uint64_t base_address = 0x1000;
constexpr std::byte poison{0xA5};

std::uint64_t placed(const TensorMapOptions& o, std::uint64_t bit, std::uint32_t shared_address) {
    const auto address = static_cast<std::uint32_t>(shared_address + bit / 8);
    return std::uint64_t{place_of(o.swizzle, address) - shared_address} * 8 + bit % 8;
}

using Elements = std::vector<Element>;
Bytes loaded(const TensorMapOptions& o, const Elements& elements, const Bytes& global,
             std::uint32_t shared_address, std::size_t extent, std::uint64_t outside) {
    Bytes shared(extent, poison);
    const unsigned bits = bits_of(o.type);
    for (const Element& e : elements)
        for (unsigned part = 0; part < bits;
             part += std::min(8u, bits))  // an element may be cut by a flip of 8 bytes at most
            write_bits(shared, placed(o, e.shared_bit + part, shared_address), std::min(8u, bits),
                       (is_inside(o, e) ? read_bits(global, global_bit(o, e), bits) : outside) >> part);
    return shared;
}
Bytes stored(const TensorMapOptions& o, const Elements& elements, Bytes global, std::uint32_t shared_address,
             const Bytes& shared) {
    const unsigned bits = bits_of(o.type), piece = std::min(8u, bits);
    for (const Element& e : elements)
        for (unsigned part = 0; part < bits && is_inside(o, e); part += piece)
            write_bits(global, global_bit(o, e) + part, piece,
                       read_bits(shared, placed(o, e.shared_bit + part, shared_address), piece));
    return global;
}

// ------------------------------------------------------------------------------------------------- the
// copies

std::size_t tensor_bytes(const TensorMapOptions& o) {
    std::uint64_t bytes = (o.dims[0] * bits_of(o.type) + 7) / 8;
    for (std::size_t i = 1; i < o.dims.size(); ++i) bytes += (o.dims[i] - 1) * o.strides[i - 1];
    return bytes;
}

Bytes random_bytes(std::size_t count, std::mt19937& random) {
    Bytes bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

MapFields fields_of(const TensorMapOptions& options) {
    const auto map = encode(options);
    if (!map) throw std::runtime_error(message(map.error()));
    return decode(map->bytes.data()).value();
}

// What rows refer to, checked to be inside the tensor's bytes.
template <class Visit> void each_row(Tile tile, std::size_t global_bytes, Visit&& visit) {
    for (Row row; tile.next(row);) {
        ASSERT_TRUE(row.global_bytes == 0 || row.global - base_address + row.global_bytes <= global_bytes);
        visit(row, row.global_bytes == 0 ? 0 : row.global - base_address);
    }
}

Bytes load(const Tile& tile, const Bytes& global, std::uint32_t shared_address) {
    Bytes shared(tile.shared_extent(), poison);
    each_row(tile, global.size(), [&](const Row& row, std::size_t at) {
        load_row(tile, row, row.global_bytes == 0 ? nullptr : &global[at], shared.data(), shared_address);
    });
    return shared;
}
Bytes store(const Tile& tile, Bytes global, const Bytes& shared, std::uint32_t shared_address) {
    each_row(tile, global.size(), [&](const Row& row, std::size_t at) {
        store_row(tile, row, row.global_bytes == 0 ? nullptr : &global[at], shared.data(), shared_address);
    });
    return global;
}

std::uint64_t outside_value(const TensorMapOptions& o) {
    if (o.fill == TensorFill::zero) return 0;
    switch (o.type) {
        case TensorType::f16: return 0x7EFF;
        case TensorType::bf16: return 0x7FDF;
        case TensorType::f64: return 0x7FFBFFFFFFFFFFFF;
        default: return 0x7FDFFFFF;
    }
}

// What padding holds is not specified: it is made equal.
void forget_padding(const TensorMapOptions& o, Bytes& bytes, std::uint32_t shared_address,
                    std::uint32_t count) {
    const std::uint32_t data = o.type == TensorType::b4x16_p64   ? 8
                               : o.type == TensorType::b6x16_p32 ? 12
                                                                 : 16;
    for (std::uint32_t i = 0; i < count; ++i)
        if (i % 16 >= data) bytes[placed(o, std::uint64_t{i} * 8, shared_address) / 8] = poison;
}

void expect_same_copies(const TensorMapOptions& o, const std::vector<std::int32_t>& start,
                        std::uint32_t shared_address, std::mt19937& random) {
    const MapFields map = fields_of(o);
    const Elements elements = elements_of(o, start);
    const Bytes global = random_bytes(tensor_bytes(o), random);
    const auto tile = Tile::at(map, start, {}, Direction::load);
    ASSERT_TRUE(tile) << message(tile.error());
    const std::uint64_t row_elements = o.interleave == TensorInterleave::none || o.element_strides.empty()
                                           ? o.box[0]
                                           : (o.box[0] + o.element_strides[0] - 1) / o.element_strides[0];
    ASSERT_EQ(tile->bytes(), elements.size() / row_elements * (row_bits(o.type, row_elements) / 8));
    Bytes got = load(*tile, global, shared_address),
          wanted = loaded(o, elements, global, shared_address, tile->shared_extent(), outside_value(o));
    forget_padding(o, got, shared_address, tile->bytes());
    forget_padding(o, wanted, shared_address, tile->bytes());
    ASSERT_EQ(got, wanted);
    if (std::any_of(start.begin(), start.end(), [](auto c) { return c < 0; }) || got != wanted) return;
    if (o.type == TensorType::b4x16_p64 || o.type == TensorType::b6x16_p32) return;
    const auto back = Tile::at(map, start, {}, Direction::store);
    ASSERT_TRUE(back) << message(back.error());
    const Bytes shared = random_bytes(back->shared_extent(), random),
                before = random_bytes(global.size(), random);
    ASSERT_EQ(store(*back, before, shared, shared_address),
              stored(o, elements, before, shared_address, shared));
}

// ------------------------------------------------------------------------------------------------- random
// boxes

constexpr TensorType copied_types[] = {
    TensorType::u8,    TensorType::u16,       TensorType::u32,      TensorType::s32, TensorType::u64,
    TensorType::s64,   TensorType::f16,       TensorType::f32,      TensorType::f64, TensorType::bf16,
    TensorType::b4x16, TensorType::b4x16_p64, TensorType::b6x16_p32};
bool is_floating(TensorType type) {
    return type == TensorType::f16 || type == TensorType::f32 || type == TensorType::f64 ||
           type == TensorType::bf16;
}
std::uint64_t rounded_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

struct Maker {
    std::mt19937& random;
    std::uint32_t up_to(std::uint32_t most) {
        return std::uniform_int_distribution<std::uint32_t>(0, most)(random);
    }
    std::int32_t between(std::int32_t least, std::int32_t most) {
        return std::uniform_int_distribution<std::int32_t>(least, most)(random);
    }

    // A row of a box, in elements, that goes with the swizzle and the interleave.
    std::uint32_t row(const TensorMapOptions& o) {
        constexpr std::uint32_t spans[] = {256, 32, 64, 128, 128, 128, 128};
        std::uint32_t bytes = 16 * (1 + up_to(spans[static_cast<unsigned>(o.swizzle)] / 16 - 1));
        if (o.interleave != TensorInterleave::none)
            bytes = o.interleave == TensorInterleave::bytes16 ? 16 : 32;
        return std::min(bytes * 8 / bits_of(o.type), 256u) / (o.type == TensorType::b4x16 ? 32 : 1) *
               (o.type == TensorType::b4x16 ? 32 : 1);
    }

    TensorMapOptions options(TensorType type, unsigned rank, TensorSwizzle swizzle,
                             TensorInterleave interleave) {
        TensorMapOptions o{
            .type = type, .address = base_address, .interleave = interleave, .swizzle = swizzle};
        const bool padded = bits_of(type) < 8 && type != TensorType::b4x16;
        for (unsigned i = 0; i < rank; ++i) {
            const std::uint32_t extent = i == 0 ? (padded ? 128 : row(o)) : 1 + up_to(i == 1 ? 17 : 3);
            o.box.push_back(extent);
            o.element_strides.push_back(i == 0 || up_to(1) == 0 ? 1 : 1 + up_to(3));
            o.dims.push_back(i == 0 ? (padded ? 128 * (1 + up_to(2)) : 2 * (1 + up_to(extent)))
                                    : 1 + up_to(2 * extent));
        }
        std::uint64_t stride = (o.dims[0] * bits_of(type) + 7) / 8;
        for (unsigned i = 1; i < rank; ++i, stride *= o.dims[i - 1]) {
            stride = rounded_up(stride, 32) + 32 * up_to(2);
            o.strides.push_back(stride);
        }
        if (is_floating(type) && up_to(1) == 0) o.fill = TensorFill::nan;
        return o;
    }

    std::vector<std::int32_t> start(const TensorMapOptions& o) {
        std::vector<std::int32_t> result;
        const bool from_zero = up_to(2) == 0;
        for (std::size_t i = 0; i < o.dims.size(); ++i) {
            const auto box = static_cast<std::int32_t>(o.box[i]), dim = static_cast<std::int32_t>(o.dims[i]);
            result.push_back(between(from_zero ? 0 : -box - 2, dim + 2));
        }
        const std::int32_t multiple = bits_of(o.type) >= 8 ? 1 : o.type == TensorType::b4x16 ? 2 : 128;
        result[0] = result[0] / multiple * multiple;
        return result;
    }
};

bool exists(TensorType type, unsigned rank, TensorSwizzle swizzle, TensorInterleave interleave) {
    const bool interleaved = interleave != TensorInterleave::none;
    if (interleaved && (rank < 3 || bits_of(type) < 8)) return false;
    if (interleave == TensorInterleave::bytes32 && swizzle != TensorSwizzle::bytes32) return false;
    if (type != TensorType::b4x16_p64 && type != TensorType::b6x16_p32) return true;
    return swizzle == TensorSwizzle::none || swizzle == TensorSwizzle::bytes128 ||
           swizzle == TensorSwizzle::bytes128_atom32 ||
           (swizzle == TensorSwizzle::bytes128_atom64 && type == TensorType::b6x16_p32);
}

TEST(TensorMap, CopiesAreThoseOfTheManual) {
    std::mt19937 random(6);
    Maker maker{random};
    unsigned copies = 0;
    for (const TensorType type : copied_types)
        for (unsigned rank = 1; rank <= 5; ++rank)
            for (unsigned swizzle = 0; swizzle < 7; ++swizzle)
                for (unsigned interleave = 0; interleave < 3; ++interleave)
                    for (unsigned round = 0; round < 4; ++round) {
                        const auto s = static_cast<TensorSwizzle>(swizzle);
                        const auto i = static_cast<TensorInterleave>(interleave);
                        if (!exists(type, rank, s, i)) continue;
                        const TensorMapOptions o = maker.options(type, rank, s, i);
                        expect_same_copies(o, maker.start(o), 128 * maker.up_to(16), random);
                        ++copies;
                        if (testing::Test::HasFailure())
                            FAIL() << unit_of(type).name << " rank " << rank << " swizzle " << swizzle
                                   << " interleave " << interleave;
                    }
    EXPECT_GT(copies, 1500u);
}

TEST(TensorMap, TraversalStrideOfDimensionZeroCountsOnlyWhenInterleaved) {
    std::mt19937 random(7);
    TensorMapOptions o{.type = TensorType::u8,
                       .address = base_address,
                       .dims = {64, 5, 4},
                       .strides = {64, 320},
                       .box = {32, 4, 2},
                       .element_strides = {2, 1, 2}};
    expect_same_copies(o, {3, 1, 1}, 0, random);
    o.interleave = TensorInterleave::bytes16;
    expect_same_copies(o, {3, 1, 1}, 0, random);
    expect_same_copies(o, {-5, 0, 0}, 128, random);
}

TEST(TensorMap, ElementsAtTheEndsOfTheCoordinatesAreOutside) {
    const TensorMapOptions o{
        .type = TensorType::f32, .address = base_address, .dims = {8, 8}, .strides = {32}, .box = {8, 8}};
    const MapFields map = fields_of(o);
    const Bytes global(256, poison);
    constexpr auto least = std::numeric_limits<std::int32_t>::min(),
                   most = std::numeric_limits<std::int32_t>::max();
    for (const auto& start : std::vector<std::array<std::int32_t, 2>>{
             {least, 0}, {0, least}, {most, most}, {most, 0}, {0, 8}, {8, 0}, {-8, 0}}) {
        const auto tile = Tile::at(map, start, {}, Direction::load);
        ASSERT_TRUE(tile);
        EXPECT_EQ(load(*tile, global, 0), Bytes(256, std::byte{0})) << start[0] << " " << start[1];
    }
}

TEST(TensorMap, SomeTypesConvertWhatIsCopied) {
    struct Row {
        TensorType type;
        std::uint32_t from, to;
    };
    const Row rows[] = {
        {TensorType::f32, 0x00000001, 0x00000001},     {TensorType::f32_ftz, 0x007FFFFF, 0},
        {TensorType::f32_ftz, 0x80000001, 0x80000000}, {TensorType::f32_ftz, 0x3F800001, 0x3F800001},
        {TensorType::tf32, 0x3F801000, 0x3F800000},    {TensorType::tf32, 0x3F801001, 0x3F802000},
        {TensorType::tf32, 0x3F803000, 0x3F804000},    {TensorType::tf32, 0x7F800000, 0x7F800000},
        {TensorType::tf32, 0x7F7FFFFF, 0x7F800000},    {TensorType::tf32, 0x7F800001, 0x7FFFFFFF},
        {TensorType::tf32, 0x00003000, 0x00004000},    {TensorType::tf32_ftz, 0x00003000, 0},
        {TensorType::tf32_ftz, 0xBF801001, 0xBF802000}};
    for (const Row& row : rows) {
        const MapFields map = fields_of({.type = row.type, .address = base_address, .dims = {4}, .box = {4}});
        Bytes global(16);
        std::memcpy(&global[4], &row.from, 4);
        const Bytes shared = load(Tile::at(map, std::array{0}, {}, Direction::load).value(), global, 0);
        std::uint32_t got = 0;
        std::memcpy(&got, &shared[4], 4);
        EXPECT_EQ(got, row.to) << unit_of(row.type).name << " " << std::hex << row.from;
    }
}

TEST(TensorMap, CopiesThatAreNotPossibleSayWhy) {
    const TensorMapOptions tiled{
        .type = TensorType::f16, .address = base_address, .dims = {64, 64}, .strides = {128}, .box = {64, 8}};
    const TensorMapOptions packed{
        .type = TensorType::b4x16_p64, .address = base_address, .dims = {256}, .box = {128}};
    TensorMapOptions interleaved{.type = TensorType::u8,
                                 .address = base_address,
                                 .dims = {16, 4, 4},
                                 .strides = {16, 64},
                                 .box = {8, 4, 4},
                                 .interleave = TensorInterleave::bytes16};
    struct Row {
        TensorMapOptions options;
        std::vector<std::int32_t> start;
        Direction direction;
        const char* message;
    };
    const Row rows[] = {
        {tiled, {0}, Direction::load, "the instruction says .1d, the tensor map has 2 dimensions"},
        {tiled, {0, 0, 0}, Direction::load, ".3d"},
        {tiled,
         {0, -1},
         Direction::store,
         "coordinate 1 is -1; those of a copy to global memory are not negative"},
        {packed, {64}, Direction::load, "the first coordinate is 64; for b4x16_p64 it is a multiple of 128"},
        {packed, {0}, Direction::store, "b4x16_p64 is a type of copies from global memory"},
        {{.type = TensorType::f32,
          .address = base_address,
          .dims = {64, 64, 64},
          .strides = {256, 16384},
          .box = {64, 64, 64}},
         {0, 0, 0},
         Direction::load,
         "the box has 1048576 bytes; no shared memory has more than 233472"},
        {interleaved, {0, 0, 0}, Direction::load, "rows of whole 16 bytes"}};
    for (const Row& row : rows) {
        const auto tile = Tile::at(fields_of(row.options), row.start, {}, row.direction);
        ASSERT_FALSE(tile) << row.message;
        EXPECT_EQ(tile.error().code, Errc::tensor_copy_invalid);
        EXPECT_THAT(message(tile.error()), HasSubstr(row.message));
    }
}

// -------------------------------------------------------------------------------------------------
// reductions

template <class T>
std::vector<T> reduced(const char* operation, TensorType type, std::vector<T> to,
                       const std::vector<T>& from) {
    const std::size_t bytes = to.size() * sizeof(T);
    const MapFields map = fields_of({.type = type,
                                     .address = base_address,
                                     .dims = {to.size()},
                                     .box = {static_cast<std::uint32_t>(to.size())}});
    const auto reduction = Reduction::of(reduce_operation(operation).value(), type);
    EXPECT_TRUE(reduction) << message(reduction.error());
    auto tile = Tile::at(map, std::array{0}, {}, Direction::store).value();
    Row row;
    EXPECT_TRUE(tile.next(row));
    EXPECT_EQ(row.global_bytes, bytes);
    reduce_row(tile, row, *reduction, reinterpret_cast<std::byte*>(to.data()),
               reinterpret_cast<const std::byte*>(from.data()), 0);
    return to;
}

TEST(TensorMap, Reductions) {
    using U32 = std::vector<std::uint32_t>;
    using S32 = std::vector<std::int32_t>;
    using U64 = std::vector<std::uint64_t>;
    using S64 = std::vector<std::int64_t>;
    using U16 = std::vector<std::uint16_t>;
    const U32 a{1, 0xFFFFFFFF, 7, 0}, b{2, 3, 5, 9};
    EXPECT_EQ(reduced(".add", TensorType::u32, a, b), (U32{3, 2, 12, 9}));
    EXPECT_EQ(reduced(".min", TensorType::u32, a, b), (U32{1, 3, 5, 0}));
    EXPECT_EQ(reduced(".max", TensorType::u32, a, b), (U32{2, 0xFFFFFFFF, 7, 9}));
    EXPECT_EQ(reduced(".inc", TensorType::u32, a, b), (U32{2, 0, 0, 1}));
    EXPECT_EQ(reduced(".dec", TensorType::u32, a, b), (U32{0, 3, 5, 9}));
    EXPECT_EQ(reduced(".and", TensorType::u32, a, b), (U32{0, 3, 5, 0}));
    EXPECT_EQ(reduced(".or", TensorType::u32, a, b), (U32{3, 0xFFFFFFFF, 7, 9}));
    EXPECT_EQ(reduced(".xor", TensorType::s32, a, b), (U32{3, 0xFFFFFFFC, 2, 9}));
    EXPECT_EQ(reduced(".min", TensorType::s32, S32{1, -1, 7, 0}, S32{2, 3, -5, 9}), (S32{1, -1, -5, 0}));
    EXPECT_EQ(reduced(".add", TensorType::u64, U64{~0ull, 5}, U64{2, 1ull << 40}),
              (U64{1, (1ull << 40) + 5}));
    EXPECT_EQ(reduced(".max", TensorType::s64, S64{-4, 5}, S64{2, -6}), (S64{2, 5}));
    EXPECT_EQ(reduced(".and", TensorType::u64, U64{~0ull, 12}, U64{9, 10}), (U64{9, 8}));
    // 1 + 1, largest + largest, -0 + 0, a subnormal that stays
    EXPECT_EQ(reduced(".add", TensorType::f16, U16{0x3C00, 0x7BFF, 0x8000, 1, 0, 0, 0, 0},
                      U16{0x3C00, 0x7BFF, 0, 1, 0, 0, 0, 0}),
              (U16{0x4000, 0x7C00, 0, 2, 0, 0, 0, 0}));
    EXPECT_EQ(reduced(".add", TensorType::bf16, U16{0x3F80, 0x3F80, 1, 0, 0, 0, 0, 0},
                      U16{0x3F80, 0x3B80, 1, 0, 0, 0, 0, 0}),
              (U16{0x4000, 0x3F80, 2, 0, 0, 0, 0, 0}));
    EXPECT_EQ(reduced(".min", TensorType::f16, U16{0x3C00, 0xBC00, 0x7E00, 0, 0, 0, 0, 0},
                      U16{0x4000, 0x3C00, 0x3C00, 0x8000, 0, 0, 0, 0}),
              (U16{0x3C00, 0xBC00, 0x3C00, 0x8000, 0, 0, 0, 0}));
    EXPECT_EQ(reduced(".add", TensorType::f32, U32{0x3F800000, 1, 0x80000001, 0x00800000},
                      U32{0x3F800000, 0, 0x80000000, 0x80000001}),
              (U32{0x40000000, 0, 0x80000000, 0x00800000}));
    EXPECT_EQ(reduced(".add", TensorType::u32, U32(200, 1), U32(200, 2)), U32(200, 3));
}

TEST(TensorMap, ReductionsThatPtxDoesNotHave) {
    const std::pair<ReduceOperation, TensorType> rows[] = {
        {ReduceOperation::add, TensorType::s64},      {ReduceOperation::add, TensorType::u8},
        {ReduceOperation::add, TensorType::f64},      {ReduceOperation::min, TensorType::f32},
        {ReduceOperation::inc, TensorType::s32},      {ReduceOperation::and_, TensorType::u16},
        {ReduceOperation::xor_, TensorType::f32},     {ReduceOperation::add, TensorType::b4x16},
        {ReduceOperation::or_, TensorType::b6x16_p32}};
    for (const auto& [operation, type] : rows) {
        const auto reduction = Reduction::of(operation, type);
        ASSERT_FALSE(reduction);
        EXPECT_THAT(message(reduction.error()), HasSubstr("its types are ."));
    }
    EXPECT_FALSE(Reduction::of(ReduceOperation::add, ".s64"));
    EXPECT_TRUE(Reduction::of(ReduceOperation::add, ".f64"));
    EXPECT_FALSE(reduce_operation("add"));
    EXPECT_FALSE(reduce_operation(".mul"));
}

// ------------------------------------------------------------------------------------------------- im2col

// PTX ISA 5.5.4: pixels one after the other, W fastest, within the corners' box; then the next image.
Elements column_of(const TensorMapOptions& o, const std::vector<std::int32_t>& start,
                   const std::vector<std::uint16_t>& offsets) {
    const std::size_t rank = o.dims.size(), spatial = rank - 2;
    std::vector<std::int64_t> pixel(start.begin(), start.end());
    Elements result;
    for (std::uint32_t p = 0; p < o.im2col->pixels_per_column; ++p) {
        for (std::uint32_t c = 0; c < o.im2col->channels_per_pixel; ++c) {
            Element element{pixel, (std::uint64_t{p} * o.im2col->channels_per_pixel + c) * bits_of(o.type)};
            element.coordinates[0] = start[0] + std::int64_t{c};
            for (std::size_t i = 0; i < offsets.size(); ++i) element.coordinates[1 + i] += offsets[i];
            result.push_back(std::move(element));
        }
        std::size_t i = 0;
        for (; i < spatial; ++i) {
            pixel[1 + i] += o.element_strides.empty() ? 1 : o.element_strides[1 + i];
            if (pixel[1 + i] <= static_cast<std::int64_t>(o.dims[1 + i]) - 1 + o.im2col->upper_corner[i])
                break;
            pixel[1 + i] = o.im2col->lower_corner[i];
        }
        if (i == spatial) ++pixel[rank - 1];
    }
    return result;
}

void expect_same_columns(const TensorMapOptions& o, const std::vector<std::int32_t>& start,
                         const std::vector<std::uint16_t>& offsets, std::uint32_t shared_address,
                         std::mt19937& random) {
    const auto tile = Tile::at(fields_of(o), start, offsets, Direction::load);
    ASSERT_TRUE(tile) << message(tile.error());
    const Bytes global = random_bytes(tensor_bytes(o), random);
    const Elements elements = column_of(o, start, offsets);
    ASSERT_EQ(tile->bytes(), elements.size() * bits_of(o.type) / 8);
    ASSERT_EQ(load(*tile, global, shared_address),
              loaded(o, elements, global, shared_address, tile->shared_extent(), outside_value(o)));
}

TEST(TensorMap, Im2colExamplesOfTheManual) {
    std::mt19937 random(9);
    TensorMapOptions o = good_convolution();
    o.address = base_address;
    expect_same_columns(o, {0, 4, 7, 7}, {0, 0}, 0, random);
    expect_same_columns(o, {0, -1, -1, 63}, {2, 1}, 128, random);  // runs past the last image
    o.im2col->lower_corner = {0, 0};
    o.im2col->upper_corner = {-2, -2};
    expect_same_columns(o, {0, 4, 7, 7}, {2, 2}, 0, random);
    o.im2col = good_im2col();
    o.dims[1] = 8, o.strides = {128, 1024, 14336}, o.element_strides = {1, 2, 2, 1};
    o.im2col->pixels_per_column = 32, o.im2col->channels_per_pixel = 16;
    expect_same_columns(o, {0, 5, 7, 7}, {1, 1}, 256, random);
}

TEST(TensorMap, ColumnsOfEveryRank) {
    std::mt19937 random(10);
    Maker maker{random};
    for (int round = 0; round < 300; ++round) {
        const std::size_t rank = 3 + maker.up_to(2);
        TensorMapOptions o{.type = TensorType::f32,
                           .address = base_address,
                           .dims = {4 + 4 * maker.up_to(7)},
                           .im2col = TensorIm2col{}};
        o.swizzle = static_cast<TensorSwizzle>(maker.up_to(6));
        std::vector<std::int32_t> start{maker.between(-3, static_cast<std::int32_t>(o.dims[0]))};
        std::vector<std::uint16_t> offsets;
        o.element_strides.push_back(1);
        for (std::size_t i = 1; i < rank; ++i) {
            o.strides.push_back((i == 1 ? o.dims[0] * 4 : o.strides.back() * o.dims.back()) +
                                16 * maker.up_to(1));
            o.dims.push_back(3 + maker.up_to(5));
            o.element_strides.push_back(1 + maker.up_to(1));
            const bool is_batch = i + 1 == rank;
            if (!is_batch) o.im2col->lower_corner.push_back(maker.between(-2, 1));
            if (!is_batch) o.im2col->upper_corner.push_back(maker.between(-1, 2));
            if (!is_batch) offsets.push_back(static_cast<std::uint16_t>(maker.up_to(2)));
            const auto last = static_cast<std::int32_t>(o.dims[i]) - 1;
            start.push_back(is_batch ? maker.between(-1, last + 1)
                                     : maker.between(o.im2col->lower_corner.back(),
                                                     last + o.im2col->upper_corner.back()));
        }
        o.im2col->channels_per_pixel = 4 + 4 * maker.up_to(1);
        o.im2col->pixels_per_column = 1 + maker.up_to(120);
        expect_same_columns(o, start, offsets, 128 * maker.up_to(8), random);
        if (testing::Test::HasFailure()) FAIL() << "round " << round;
    }
}

TEST(TensorMap, AFilterOutsideOfTheCornersIsAnError) {
    const auto tile = Tile::at(fields_of(good_convolution()), std::array{0, -2, 0, 0}, {}, Direction::load);
    ASSERT_FALSE(tile);
    EXPECT_THAT(message(tile.error()), HasSubstr("coordinate 1 is -2; the map's corners leave -1 to 7"));
}

}  // namespace
}  // namespace ptxgraft::tensor
