// What the driver asks of a tensor map, and the fields that tensormap.replace writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "support/tensor_map_examples.hpp"
#include "tensor/tensor_copy.hpp"

namespace ptxgraft::tensor {
namespace {

using testing::HasSubstr;

struct Rule {
    const char* message;
    std::function<void(TensorMapOptions&)> change;
};

void expect_rules(const TensorMapOptions& start, std::span<const Rule> rules) {
    ASSERT_TRUE(encode(start)) << message(encode(start).error());
    for (const Rule& rule : rules) {
        TensorMapOptions options = start;
        rule.change(options);
        const auto map = encode(options);
        ASSERT_FALSE(map) << rule.message;
        EXPECT_EQ(map.error().code, Errc::tensor_map_invalid);
        EXPECT_THAT(message(map.error()), HasSubstr(rule.message));
    }
}

TEST(TensorMap, EveryRuleOfTheDriverIsChecked) {
    const Rule rules[] = {
        {"the data type is 16; it is 0 to 15", [](auto& o) { o.type = static_cast<TensorType>(16); }},
        {"interleave is 3; it is 0 to 2", [](auto& o) { o.interleave = static_cast<TensorInterleave>(3); }},
        {"swizzle is 7; it is 0 to 6", [](auto& o) { o.swizzle = static_cast<TensorSwizzle>(7); }},
        {"the L2 promotion is 4; it is 0 to 3", [](auto& o) { o.l2 = static_cast<TensorL2Promotion>(4); }},
        {"fill is 2; it is 0 to 1", [](auto& o) { o.fill = static_cast<TensorFill>(2); }},
        {"the number of dims is 0; it is 1 to 5", [](auto& o) { o = {.box = {16}}; }},
        {"the number of dims is 6; it is 1 to 5", [](auto& o) { o.dims.assign(6, 1); }},
        {"strides has 1 numbers; it has 2", [](auto& o) { o.strides.pop_back(); }},
        {"box has 4 numbers; it has 3", [](auto& o) { o.box.push_back(1); }},
        {"element_strides has 2 numbers; it has 3",
         [](auto& o) {
             o.element_strides = {1, 1};
         }},
        {"interleaved layouts have a rank of 3 to 5, this one 2",
         [](auto& o) {
             o.dims.pop_back(), o.strides.pop_back(), o.box.pop_back(),
                 o.interleave = TensorInterleave::bytes16;
         }},
        {"the address 0x10008 is not a multiple of 16", [](auto& o) { o.address = 0x10008; }},
        {"the address 0x10010 is not a multiple of 32 with the interleave 32B",
         [](auto& o) {
             o.address = 0x10010, o.interleave = TensorInterleave::bytes32,
             o.swizzle = TensorSwizzle::bytes32;
         }},
        {"dims[1] is 0; it is 1 to 4294967296", [](auto& o) { o.dims[1] = 0; }},
        {"dims[2] is 4294967297", [](auto& o) { o.dims[2] = (1ull << 32) + 1; }},
        {"strides[0] is 136 bytes; it is a multiple of 16", [](auto& o) { o.strides[0] = 136; }},
        {"strides[1] is 4112 bytes; it is a multiple of 32 with the interleave 32B",
         [](auto& o) {
             o.strides[1] = 4112, o.interleave = TensorInterleave::bytes32,
             o.swizzle = TensorSwizzle::bytes32;
         }},
        {"strides[1] is 1099511627776; it is less than 2^40", [](auto& o) { o.strides[1] = 1ull << 40; }},
        {"box[2] is 0; it is 1 to 256", [](auto& o) { o.box[2] = 0; }},
        {"box[1] is 257; it is 1 to 256", [](auto& o) { o.box[1] = 257; }},
        {"box[1] is 65537; it is 1 to 256", [](auto& o) { o.box[1] = 65537; }},
        {"box[0] is 12 elements of f16, 24 bytes; they are a multiple of 16", [](auto& o) { o.box[0] = 12; }},
        {"box[0] is 72 elements of f16, 144 bytes; with the swizzle 128B at most 128",
         [](auto& o) { o.box[0] = 72; }},
        {"with the swizzle 64B at most 64", [](auto& o) { o.swizzle = TensorSwizzle::bytes64; }},
        {"with the swizzle 32B at most 32", [](auto& o) { o.swizzle = TensorSwizzle::bytes32; }},
        {"element_strides[1] is 0; it is 1 to 8",
         [](auto& o) {
             o.element_strides = {1, 0, 1};
         }},
        {"element_strides[2] is 9; it is 1 to 8",
         [](auto& o) {
             o.element_strides = {1, 1, 9};
         }},
        {"the swizzle is 128B; with the interleave 32B it is 32B",
         [](auto& o) { o.interleave = TensorInterleave::bytes32; }},
        {"the fill nan is for floating-point types, not for s32",
         [](auto& o) { o.type = TensorType::s32, o.box[0] = 32, o.fill = TensorFill::nan; }}};
    expect_rules(good(), rules);
}

TEST(TensorMap, RulesOfPackedTypes) {
    const TensorMapOptions start{.type = TensorType::b6x16_p32,
                                 .address = 0x10000,
                                 .dims = {256, 4},
                                 .strides = {192},
                                 .box = {128, 4}};
    const Rule rules[] = {
        {"dims[0] is 192; for b6x16_p32 it is a multiple of 128", [](auto& o) { o.dims[0] = 192; }},
        {"box[0] is 256; for b6x16_p32 it is 128", [](auto& o) { o.box[0] = 256; }},
        {"is not a multiple of 32 for b6x16_p32", [](auto& o) { o.address = 0x10010; }},
        {"strides[0] is 208 bytes; it is a multiple of 32 for b6x16_p32",
         [](auto& o) { o.strides[0] = 208; }},
        {"the fill nan is for floating-point types", [](auto& o) { o.fill = TensorFill::nan; }},
        {"has the swizzles none, 128B and 128B with atoms of 32B or 64B",
         [](auto& o) { o.swizzle = TensorSwizzle::bytes64; }},
        {"has the swizzles", [](auto& o) { o.swizzle = TensorSwizzle::bytes128_atom32_flip8; }},
        {"b4x16_p64 has the swizzles none, 128B and 128B with atoms of 32B",
         [](auto& o) { o.type = TensorType::b4x16_p64, o.swizzle = TensorSwizzle::bytes128_atom64; }},
        {"b6x16_p32 has no interleaved layout",
         [](auto& o) {
             o.dims.push_back(2), o.strides.push_back(768), o.box.push_back(1),
                 o.interleave = TensorInterleave::bytes16;
         }},
        {"dims[0] is 255; for b4x16 it is a multiple of 2",
         [](auto& o) { o.type = TensorType::b4x16, o.dims[0] = 255; }},
        {"box[0] is 24 elements of b4x16, 12 bytes; they are a multiple of 16",
         [](auto& o) { o.type = TensorType::b4x16, o.box[0] = 24; }}};
    expect_rules(start, rules);
}

TEST(TensorMap, RulesOfIm2col) {
    const Rule rules[] = {
        {"the im2col mode has 3 to 5 dims, not 2",
         [](auto& o) {
             o.dims = {64, 9}, o.strides = {128};
         }},
        {"box has 4 numbers; it has 0",
         [](auto& o) {
             o.box = {1, 1, 1, 1};
         }},
        {"lower_corner has 3 numbers; it has 2", [](auto& o) { o.im2col->lower_corner.push_back(0); }},
        {"upper_corner has 1 numbers; it has 2", [](auto& o) { o.im2col->upper_corner.pop_back(); }},
        {"lower_corner[1] is -129; it is -128 to 127", [](auto& o) { o.im2col->lower_corner[1] = -129; }},
        {"upper_corner[0] is 128; it is -128 to 127", [](auto& o) { o.im2col->upper_corner[0] = 128; }},
        {"upper_corner[0] is 70000; it is -32768 to 32767",
         [](auto& o) { o.im2col->upper_corner[0] = 70000; }},
        {"the corners leave nothing of dims[1] = 9: from 5 to 9 + -5",
         [](auto& o) { o.im2col->lower_corner[0] = 5, o.im2col->upper_corner[0] = -5; }},
        {"channels_per_pixel is 257; it is 1 to 256", [](auto& o) { o.im2col->channels_per_pixel = 257; }},
        {"channels_per_pixel is 4 elements of f16, 8 bytes; they are a multiple of 16",
         [](auto& o) { o.im2col->channels_per_pixel = 4; }},
        {"with the swizzle 32B at most 32",
         [](auto& o) { o.im2col->channels_per_pixel = 32, o.swizzle = TensorSwizzle::bytes32; }},
        {"pixels_per_column is 1025; it is 1 to 1024", [](auto& o) { o.im2col->pixels_per_column = 1025; }},
        {"pixels_per_column is 0; it is 1 to 1024", [](auto& o) { o.im2col->pixels_per_column = 0; }}};
    expect_rules(good_convolution(), rules);
}

// ------------------------------------------------------------------------------------------------- replacing

TEST(TensorMap, EveryFieldIsReplaced) {
    struct Row {
        MapField field;
        std::uint32_t ordinal;
        std::uint64_t value;
        std::function<void(TensorMapOptions&)> change;
    };
    const Row rows[] = {
        {MapField::global_address, 0, 0x123450, [](auto& o) { o.address = 0x123450; }},
        {MapField::box_dim, 1, 8, [](auto& o) { o.box[1] = 8; }},
        {MapField::global_dim, 2, 77, [](auto& o) { o.dims[2] = 77; }},
        {MapField::global_stride, 0, 256, [](auto& o) { o.strides[0] = 256; }},
        {MapField::global_stride, 1, 1 << 20, [](auto& o) { o.strides[1] = 1 << 20; }},
        {MapField::element_stride, 1, 2,
         [](auto& o) {
             o.element_strides = {1, 2, 1};
         }},
        {MapField::elemtype, 0, 10, [](auto& o) { o.type = TensorType::bf16; }},
        {MapField::elemtype, 0, 1, [](auto& o) { o.type = TensorType::u16; }},
        {MapField::interleave_layout, 0, 1, [](auto& o) { o.interleave = TensorInterleave::bytes16; }},
        {MapField::swizzle_mode, 0, 0, [](auto& o) { o.swizzle = TensorSwizzle::none; }},
        {MapField::swizzle_atomicity, 0, 2,
         [](auto& o) { o.swizzle = TensorSwizzle::bytes128_atom32_flip8; }},
        {MapField::fill_mode, 0, 1, [](auto& o) { o.fill = TensorFill::nan; }}};
    for (const Row& row : rows) {
        TensorMap map = encode(good()).value();
        const auto done = replace(map.bytes.data(), row.field, row.ordinal, row.value);
        ASSERT_TRUE(done) << message(done.error());
        TensorMapOptions wanted = good();
        row.change(wanted);
        EXPECT_EQ(map.bytes, encode(wanted).value().bytes) << static_cast<int>(row.field);
    }
}

TEST(TensorMap, AMapIsMadeOfReplacedFields) {
    TensorMap map = encode({.type = TensorType::u8, .address = 0x10000, .dims = {16}, .box = {16}}).value();
    const std::tuple<MapField, std::uint32_t, std::uint64_t> steps[] = {{MapField::rank, 0, 2},
                                                                        {MapField::elemtype, 0, 6},
                                                                        {MapField::global_dim, 0, 64},
                                                                        {MapField::global_dim, 1, 32},
                                                                        {MapField::global_dim, 2, 8},
                                                                        {MapField::global_stride, 0, 128},
                                                                        {MapField::global_stride, 1, 4096},
                                                                        {MapField::box_dim, 0, 64},
                                                                        {MapField::box_dim, 1, 16},
                                                                        {MapField::box_dim, 2, 2},
                                                                        {MapField::element_stride, 1, 1},
                                                                        {MapField::element_stride, 2, 1},
                                                                        {MapField::swizzle_mode, 0, 3}};
    EXPECT_FALSE(replace(map.bytes.data(), MapField::rank, 0, 5));
    for (const auto& [field, ordinal, value] : steps)
        ASSERT_TRUE(replace(map.bytes.data(), field, ordinal, value));
    EXPECT_EQ(map.bytes, encode(good()).value().bytes);
}

TEST(TensorMap, FieldsThatNoMapCanHaveAreNotWritten) {
    struct Row {
        MapField field;
        std::uint32_t ordinal;
        std::uint64_t value;
        const char* message;
    };
    const Row rows[] = {{MapField::rank, 0, 5, ".rank is 5; it is 0 to 4"},
                        {MapField::box_dim, 0, 257, ".box_dim is 257; it is 1 to 256"},
                        {MapField::box_dim, 5, 16, "the ordinal of .box_dim is 5; it is 0 to 4"},
                        {MapField::global_dim, 1, 0, ".global_dim is 0; it is 1 to 4294967295"},
                        {MapField::global_stride, 4, 16, "the ordinal of .global_stride is 4; it is 0 to 3"},
                        {MapField::global_stride, 0, 1ull << 40, ".global_stride is 1099511627776"},
                        {MapField::element_stride, 0, 9, ".element_stride is 9; it is 1 to 8"},
                        {MapField::elemtype, 0, 16, ".elemtype is 16; it is 0 to 15"},
                        {MapField::interleave_layout, 0, 3, ".interleave_layout is 3"},
                        {MapField::swizzle_mode, 0, 5, ".swizzle_mode is 5; it is 0 to 4"},
                        {MapField::swizzle_atomicity, 0, 4, ".swizzle_atomicity is 4"},
                        {MapField::fill_mode, 0, 2, ".fill_mode is 2; it is 0 to 1"}};
    for (const Row& row : rows) {
        TensorMap map = encode(good()).value();
        const auto done = replace(map.bytes.data(), row.field, row.ordinal, row.value);
        ASSERT_FALSE(done) << row.message;
        EXPECT_THAT(message(done.error()), HasSubstr(row.message));
        EXPECT_EQ(map.bytes, encode(good()).value().bytes);
    }
}

TEST(TensorMap, MapsThatDisagreeWithThemselvesAreFoundWhenUsed) {
    TensorMap map = encode(good()).value();
    ASSERT_TRUE(replace(map.bytes.data(), MapField::global_address, 0, 0x10001));
    EXPECT_THAT(message(decode(map.bytes.data()).error()),
                HasSubstr("the address 0x10001 is not a multiple of 16"));
    map = encode(good()).value();
    ASSERT_TRUE(replace(map.bytes.data(), MapField::swizzle_mode, 0, 4));
    EXPECT_THAT(message(decode(map.bytes.data()).error()), HasSubstr("the swizzle 96B is one of sm_103a"));
    map = encode(good()).value();
    ASSERT_TRUE(replace(map.bytes.data(), MapField::rank, 0, 4));
    EXPECT_THAT(message(decode(map.bytes.data()).error()), HasSubstr("dims[3] is 0"));
    map = encode({.type = TensorType::u8,
                  .address = 0,
                  .dims = {32},
                  .box = {32},
                  .swizzle = TensorSwizzle::bytes32})
              .value();
    ASSERT_TRUE(replace(map.bytes.data(), MapField::swizzle_atomicity, 0, 1));
    EXPECT_THAT(message(decode(map.bytes.data()).error()),
                HasSubstr("the swizzle 32B has an atomicity of 16 bytes"));
}

// CuTe's make_tma_copy does this to what it is given, where the tensor is small and the driver not newer than
// 13.1.
TEST(TensorMap, TheBitThatCuteClearsSaysNothing) {
    for (const std::uint64_t address : {std::uint64_t{0x1000200000}, ~std::uint64_t{0xFF}}) {
        TensorMapOptions options = good();
        options.address = address;
        TensorMap map = encode(options).value();
        std::uint64_t second = 0;
        std::memcpy(&second, &map.bytes[8], sizeof second);
        second &= ~(std::uint64_t{1} << 21);
        std::memcpy(&map.bytes[8], &second, sizeof second);
        const auto fields = decode(map.bytes.data());
        ASSERT_TRUE(fields) << message(fields.error());
        EXPECT_EQ(fields->address, address);
    }
}

// As Triton makes them in a kernel.
TEST(TensorMap, ZerosBecomeTheMapThatIsEncoded) {
    const TensorMap encoded = encode({.type = TensorType::f16,
                                      .address = 0x1000,
                                      .dims = {192, 200},
                                      .strides = {384},
                                      .box = {64, 128},
                                      .swizzle = TensorSwizzle::bytes128})
                                  .value();
    struct Row {
        MapField field;
        std::uint32_t ordinal;
        std::uint64_t value;
    };
    using enum MapField;
    TensorMap map{};
    for (const Row& row : {Row{global_address, 0, 0x1000},
                           {rank, 0, 1},
                           {box_dim, 0, 64},
                           {box_dim, 1, 128},
                           {global_dim, 0, 192},
                           {global_dim, 1, 200},
                           {global_stride, 0, 384},
                           {element_stride, 0, 1},
                           {element_stride, 1, 1},
                           {elemtype, 0, 6},
                           {swizzle_mode, 0, 3}})
        ASSERT_TRUE(replace(map.bytes.data(), row.field, row.ordinal, row.value));
    EXPECT_EQ(map.bytes, encoded.bytes);
}

TEST(TensorMap, GarbageIsNoMap) {
    std::mt19937 random(8);
    const TensorMap empty{};
    EXPECT_EQ(decode(empty.bytes.data()).error().code, Errc::tensor_map_unknown);
    TensorMap map = empty;
    map.bytes[127] = std::byte{1};
    EXPECT_EQ(replace(map.bytes.data(), MapField::rank, 0, 1).error().code, Errc::tensor_map_unknown);
    // Maps with changed bytes are found out, or copy within the bytes that they say.
    for (int i = 0; i < 20000; ++i) {
        map = encode(i % 2 == 0 ? good() : good_convolution()).value();
        for (int changes = 0; changes < 3; ++changes)
            map.bytes[16 + random() % 112] = static_cast<std::byte>(random());
        const auto fields = decode(map.bytes.data());
        if (!fields) continue;
        const std::vector<std::int32_t> start(fields->rank, 0);
        auto tile = Tile::at(*fields, start, {}, Direction::load);
        if (!tile) continue;
        ASSERT_LE(tile->bytes(), 228u * 1024);
        Row row;
        for (int rows = 0; rows < 100 && tile->next(row); ++rows)
            ASSERT_LE((row.before + row.inside + row.after) * 8, 2048u * 8);
    }
}

}  // namespace
}  // namespace ptxgraft::tensor
