// hardware/narrow.cuh: every bit pattern of each type as a number, by the conversions of the architecture and
// without them; and random elements of such types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/template.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

// The types as the PTX manual (section 5.2.3) and the Open Compute Project's OFP8 have them.
float small_float(unsigned code, int exponent_bits, int fraction_bits, bool has_infinity) {
    const int fraction = static_cast<int>(code & ((1u << fraction_bits) - 1)),
              exponent = static_cast<int>(code >> fraction_bits & ((1u << exponent_bits) - 1)),
              most = (1 << exponent_bits) - 1, bias = most / 2, ones = (1 << fraction_bits) - 1;
    const float sign = code & 0x80 ? -1.0f : 1.0f;
    if (exponent == most && has_infinity) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == most && fraction == ones) return NAN;
    const int significand = fraction + (exponent == 0 ? 0 : 1 << fraction_bits);
    return sign * std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - bias - fraction_bits);
}
float value_of(const std::string& type, unsigned code) {
    if (type == "s8") return static_cast<float>(static_cast<std::int8_t>(code));
    return type == "e4m3" ? small_float(code, 4, 3, false) : small_float(code, 5, 2, true);
}
float nibble(unsigned bits) { return static_cast<float>(bits < 8 ? bits : bits - 16.0); }

TEST(Narrow, EveryBitPatternIsTheNumberThatItIs) {
    test::TemporaryFolder folder;
    for (const std::string target : {"sm_80", "sm_90a"})
        for (const std::string type : {"s8", "u8", "e4m3", "e5m2"}) {
            const std::string source = folder.str() + "/" + type + ".cu";
            // Thread t reads the bytes from 16 t on; of u8 the 8 that the first 16 elements are.
            test::write_file(source,
                             "#include \"" + test::source_path("templates/hardware/narrow.cuh") +
                                 "\"\nusing namespace hardware;\nusing Piece = NarrowPiece<Narrow::" + type +
                                 R"(>;
extern "C" __global__ void numbers(float* out) {
    __shared__ __align__(16) unsigned char bytes[256];
    for (unsigned i = 0; i < 16; ++i) bytes[16 * threadIdx.x + i] = 16 * threadIdx.x + i;
    __syncthreads();
    for (unsigned at = Piece::bytes * threadIdx.x; at < 256; at += 16 * Piece::bytes) {
        Piece piece;
        piece.load(static_cast<unsigned>(__cvta_generic_to_shared(bytes + at)));
#pragma unroll
        for (unsigned i = 0; i < 8; ++i)
            piece.pair(i, out[at / Piece::bytes * 16 + 2 * i], out[at / Piece::bytes * 16 + 2 * i + 1]);
    }
}
)");
            const auto skeleton = Skeleton::from_file(source, {.target = target});
            ASSERT_TRUE(skeleton) << describe(skeleton.error());
            const Device device = *Device::open("emulator");
            const auto kernel = skeleton->graft({}, device);
            ASSERT_TRUE(kernel) << describe(kernel.error());
            const std::size_t count = type == "u8" ? 512 : 256;
            const auto out = device.allocate(count * sizeof(float));
            const auto done = kernel->launch({{1}, {16}}, *out);
            ASSERT_TRUE(done) << describe(done.error());
            const std::vector<float> got = *out->download<float>();
            for (unsigned i = 0; i < count; ++i) {
                const float wanted = type == "u8" ? nibble(i / 2 >> (i % 2 * 4) & 15) : value_of(type, i);
                EXPECT_TRUE(std::isnan(wanted)
                                ? std::isnan(got[i])
                                : got[i] == wanted && std::signbit(got[i]) == std::signbit(wanted))
                    << target << " " << type << " " << i << ": " << got[i] << ", not " << wanted;
            }
        }
}

// All bit patterns of the range come, and none beyond it; the tensor that they are drawn for is bounded.
TEST(Narrow, RandomElementsAreOfAllBitPatterns) {
    for (const std::string type : {"e4m3", "e5m2"}) {
        const TemplateTensor tensor{
            .name = "b", .type = type, .shape = {1 << 14}, .bytes = 1 << 14, .low = -2, .high = 2};
        std::set<unsigned> codes, wanted;
        std::size_t large = 0;
        for (const std::byte code : random_bytes(tensor, 1)) {
            codes.insert(std::to_integer<unsigned>(code));
            large += std::abs(value_of(type, std::to_integer<unsigned>(code))) > 0.5f;
        }
        for (unsigned code = 0; code < 256; ++code)
            if (std::abs(value_of(type, code)) <= 2) wanted.insert(code);
        EXPECT_EQ(codes, wanted) << type;
        EXPECT_GT(large, tensor.bytes / 3) << "not all are small";
        EXPECT_EQ(random_bytes(tensor, 1), random_bytes(tensor, 1));
        EXPECT_NE(random_bytes(tensor, 1), random_bytes(tensor, 2));
    }
}

}  // namespace
}  // namespace ptxgraft
