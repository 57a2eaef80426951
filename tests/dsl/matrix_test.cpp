// The layouts of matrix.hpp against what the emulator's tensor cores, ldmatrix and tensor copies do with
// them; and what its functions and those of pipeline.hpp print.

#include "ptxgraft/dsl/matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/emulator_observer.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/emitted_kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using test::lines_from;

static_assert(swizzled(TensorSwizzle::bytes128, 128 + 16) == 128);
static_assert(swizzled(TensorSwizzle::bytes64, 128 + 16) == 128);
static_assert(swizzled(TensorSwizzle::bytes32, 128 + 16) == 128);
static_assert(swizzled(TensorSwizzle::none, 128 + 16) == 128 + 16);
static_assert(descriptor_of(tile_of(128)).bits(0x400) == 0x4000'0040'0001'0040);
static_assert(MatrixDescriptor{128, 256, TensorSwizzle::bytes32, 3}.bits() == 0xC006'0010'0008'0000);
static_assert(wgmma_bf16<8>.view() == "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16");
static_assert(wgmma_bf16<256>.view() == "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16");
static_assert(wgmma_of<64, f16>.view() == "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16");
static_assert(wgmma_of<64, bf16>.view() == wgmma_bf16<64>.view());

Kernel kernel_of(const Module& module, const Device& device) {
    const auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    const auto cubin = default_assembler().assemble(*ptx, {});
    EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    const auto kernel = Skeleton::from_ptx(*ptx)->graft({}, device);
    if (!kernel) throw std::runtime_error(describe(kernel.error()));
    return *kernel;
}
Device observed_emulator(EmulatorObserver* observer = nullptr) {
    return *Device::open("emulator", {.emulator = {.observer = observer}});
}
template <class T, class... Arguments>
std::vector<T> run(const Device& device, const Kernel& kernel, std::uint32_t threads, std::size_t count,
                   const Arguments&... arguments) {
    const auto out = device.allocate(count * sizeof(T));
    const auto done = kernel.launch({.block = {threads}}, *out, arguments...);
    if (!done) throw std::runtime_error(describe(done.error()));
    return *out->template download<T>();
}

// Small integers, which are exact in bf16 as in all their sums of products.
std::uint16_t bf16_of(int value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
int element(Place place, int seed) {
    return static_cast<int>((place.row * 37 + place.col * 101 + static_cast<unsigned>(seed)) % 23) - 11;
}
int product(std::uint32_t row, std::uint32_t col, std::uint32_t depth) {
    int sum = 0;
    for (std::uint32_t i = 0; i < depth; ++i) sum += element({row, i}, 1) * element({col, i}, 2);
    return sum;
}

// The address of a thread's `bytes` of an argument.
template <Target On>
Reg<u64> of_thread(dsl::FunctionBuilder<On>& k, std::string_view name, std::uint32_t bytes) {
    const auto thread = k.template reg<u32>();
    const auto address = k.template argument<u64>(name);
    k.template emit<"mov.u32">(thread, special<"%tid.x">);
    k.template emit<"mad.wide.u32">(address, thread, bytes, address);
    return address;
}

// A shape of mma.sync, and how its elements are stored.
struct MmaCase {
    const char* name;
    std::uint32_t rows, depth, bits;
    std::uint64_t (*encode)(int value);  // of A and B
    const char* type_of_d;               // "f32", "s32", "f64", "f16"
};
template <class Float> std::uint64_t float_bits(int value) {
    if constexpr (sizeof(Float) == 8)
        return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    else
        return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
std::uint64_t as_bf16(int value) { return bf16_of(value); }
std::uint64_t as_integer(int value) { return static_cast<std::uint64_t>(value); }
std::uint64_t as_bit(int value) { return static_cast<std::uint64_t>(value & 1); }
// Of a format with so many bits of exponent and mantissa: integers up to 4, which it has.
template <unsigned Exponent, unsigned Mantissa> std::uint64_t as_small(int value) {
    const auto of_float = std::bit_cast<std::uint32_t>(std::fabs(static_cast<float>(value)));
    const std::uint32_t bias = (1u << (Exponent - 1)) - 1;
    const std::uint32_t magnitude = value == 0 ? 0
                                               : (((of_float >> 23) - 127 + bias) << Mantissa) |
                                                     (of_float >> (23 - Mantissa) & ((1u << Mantissa) - 1));
    return magnitude | (value < 0 ? 1u << (Exponent + Mantissa) : 0);
}
constexpr MmaCase mma_cases[] = {
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, as_bf16, "f32"},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 16, as_bf16, "f32"},
    {"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 16, as_small<5, 10>, "f32"},
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 16, as_small<5, 10>, "f16"},
    {"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16, as_small<5, 10>, "f32"},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 32, float_bits<float>, "f32"},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, float_bits<float>, "f32"},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, 8, as_small<4, 3>, "f32"},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 32, 8, as_small<5, 2>, "f32"},
    {"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 8, as_integer, "s32"},
    {"m16n8k16.row.col.s32.s8.s8.s32", 16, 16, 8, as_integer, "s32"},
    {"m16n8k32.row.col.s32.s8.s8.s32", 16, 32, 8, as_integer, "s32"},
    {"m8n8k32.row.col.s32.s4.s4.s32", 8, 32, 4, as_integer, "s32"},
    {"m16n8k32.row.col.s32.s4.s4.s32", 16, 32, 4, as_integer, "s32"},
    {"m16n8k64.row.col.s32.s4.s4.s32", 16, 64, 4, as_integer, "s32"},
    {"m8n8k128.row.col.s32.b1.b1.s32.and.popc", 8, 128, 1, as_bit, "s32"},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 128, 1, as_bit, "s32"},
    {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", 16, 256, 1, as_bit, "s32"},
    {"m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 64, float_bits<double>, "f64"},
    {"m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 64, float_bits<double>, "f64"},
    {"m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 64, float_bits<double>, "f64"},
    {"m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 64, float_bits<double>, "f64"},
};
// Integers from -2 to 2, which all of these types have.
int small_element(Place place, int seed) { return element(place, seed) % 3; }

// Packed from the lowest bits on, lane after lane.
class BitWriter {
  public:
    void add(std::uint64_t value, std::uint32_t bits) {
        for (std::uint32_t i = 0; i < bits; ++i, ++size_) {
            if (size_ % 32 == 0) words.push_back(0);
            words.back() |= static_cast<std::uint32_t>(value >> i & 1) << (size_ % 32);
        }
    }
    std::vector<std::uint32_t> words;

  private:
    std::size_t size_ = 0;
};

// So many words of a lane in registers of 32 or 64 bits.
std::vector<dsl::AnyOperand> load_words(dsl::FunctionBuilder<>& k, std::string_view name, std::uint32_t words,
                                        bool is_wide) {
    const auto from = of_thread(k, name, 4 * words);
    std::vector<dsl::AnyOperand> all;
    for (std::uint32_t i = 0; i < words; i += is_wide ? 2 : 1) {
        const auto offset = static_cast<std::int64_t>(4 * i);
        if (is_wide) {
            const auto reg = k.reg<f64>();
            k.emit<"ld.global.f64">(reg, at(from, offset));
            all.emplace_back(reg);
        } else {
            const auto reg = k.reg<b32>();
            k.emit<"ld.global.b32">(reg, at(from, offset));
            all.emplace_back(reg);
        }
    }
    return all;
}

// The product as a kernel, and what a lane has of A, B and D, in words.
std::string mma_ptx(const MmaCase& of, std::uint32_t a_words, std::uint32_t b_words) {
    const std::string_view type = of.type_of_d;
    const std::uint32_t elements = of.rows / 4;
    Module module({.target = "sm_90"});
    auto& k = module.entry("product");
    const auto out = of_thread(k, "out", elements * (type == "f64" ? 8 : type == "f16" ? 2 : 4));
    const auto a = load_words(k, "a", a_words, of.bits == 64), b = load_words(k, "b", b_words, of.bits == 64);
    std::vector<dsl::AnyOperand> d;
    const auto begin = [&](const auto& reg, const char* mov, const auto& zero) {
        (void)k.emit(mov, reg, zero);
        d.emplace_back(reg);
    };
    for (std::uint32_t i = 0; i < (type == "f16" ? elements / 2 : elements); ++i) {
        if (type == "f64")
            begin(k.reg<f64>(), "mov.f64", 0.0);
        else if (type == "f32")
            begin(k.reg<f32>(), "mov.f32", 0.0f);
        else if (type == "s32")
            begin(k.reg<s32>(), "mov.s32", 0);
        else
            begin(k.reg<b32>(), "mov.b32", 0);
    }
    using dsl::AnyOperand;
    const auto whole = AnyOperand::vector(d);
    (void)k.emit_list("mma.sync.aligned." + std::string(of.name),
                      std::vector{whole, AnyOperand::vector(a), AnyOperand::vector(b), whole});
    for (std::uint32_t i = 0; i < d.size(); ++i)
        (void)k.emit_list(type == "f64" ? "st.global.b64" : "st.global.b32",
                          std::vector{dsl::any(at(out, (type == "f64" ? 8 : 4) * i)), d[i]});
    k.emit<"ret">();
    const auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    return *ptx;
}

TEST(DslMatrix, MmaHasItsElementsWhereTheLayoutsSay) {
    const Device device = observed_emulator();
    for (const MmaCase& of : mma_cases) {
        SCOPED_TRACE(of.name);
        const std::uint32_t a_count = of.rows * of.depth / 32, b_count = 8 * of.depth / 32,
                            d_count = of.rows / 4;
        BitWriter a, b;
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
            for (std::uint32_t i = 0; i < a_count; ++i)
                a.add(of.encode(small_element(mma_a(lane, i, of.bits), 1)), of.bits);
            for (std::uint32_t i = 0; i < b_count; ++i) {
                const Place place = mma_b(lane, i, of.bits);
                b.add(of.encode(small_element({place.col, place.row}, 2)), of.bits);
            }
        }
        const auto words = [&](std::uint32_t count) { return std::max(count * of.bits / 32, 1u); };
        const std::string ptx = mma_ptx(of, words(a_count), words(b_count));
        ASSERT_TRUE(default_assembler().assemble(ptx)) << ptx;
        const auto kernel = Skeleton::from_ptx(ptx)->graft({}, device);
        ASSERT_TRUE(kernel) << describe(kernel.error(), ptx);
        const std::string_view type = of.type_of_d;
        const auto bytes = run<std::byte>(device, *kernel, 32,
                                          32 * d_count *
                                              (type == "f64"   ? 8
                                               : type == "f16" ? 2
                                                               : 4),
                                          *device.upload(a.words), *device.upload(b.words));
        const auto value_at = [&](std::size_t i) -> double {
            const auto read = [&]<class T>(T number) {
                std::memcpy(&number, bytes.data() + i * sizeof(T), sizeof(T));
                return number;
            };
            if (type == "f64") return read(double{});
            if (type == "f32") return read(float{});
            if (type == "s32") return read(std::int32_t{});
            const std::uint16_t half = read(std::uint16_t{});  // an integer
            const int exponent = (half >> 10 & 31) - 15;
            const double magnitude =
                half == 0 || half == 0x8000 ? 0 : std::ldexp(1 + (half & 1023) / 1024.0, exponent);
            return (half & 0x8000) != 0 ? -magnitude : magnitude;
        };
        for (std::uint32_t i = 0; i < 32 * d_count; ++i) {
            const Place place = mma_d(i / d_count, i % d_count);
            int want = 0;
            for (std::uint32_t j = 0; j < of.depth; ++j) {
                const int x = small_element({place.row, j}, 1), y = small_element({place.col, j}, 2);
                want += of.bits == 1 ? (x & y & 1) : x * y;
            }
            ASSERT_EQ(value_at(i), want) << place.row << " " << place.col;
        }
    }
}

// Two products side by side, 16 rows and columns, as packed halves into a tile of shared memory.
TEST(DslMatrix, StmatrixStoresProductsAsTheLayoutsSay) {
    Module module({.target = "sm_90"});
    auto& k = module.entry("store");
    const auto out = of_thread(k, "out", 16), packed = of_thread(k, "packed", 16);
    const auto tile = k.shared("tile", {.count = 512, .align = 128});
    const auto row = of_thread(k, "rows", 4);
    const auto regs = k.regs<b32, 4>();
    const auto here = k.reg<u32>(), begin = k.reg<u32>(), thread = k.reg<u32>();
    k.emit<"ld.global.v4.b32">(regs, at(packed));
    k.emit<"ld.global.u32">(here, at(row));
    k.emit<"mov.u32">(begin, tile);
    k.emit<"add.u32">(here, here, begin);
    k.emit<"stmatrix.sync.aligned.m8n8.x4.shared.b16">(at(here), regs);
    k.emit<"bar.warp.sync">(-1);
    k.emit<"mov.u32">(thread, special<"%tid.x">);
    k.emit<"mad.lo.u32">(here, thread, 16, begin);
    k.emit<"ld.shared.v4.b32">(regs, at(here));
    k.emit<"st.global.v4.b32">(at(out), regs);
    k.emit<"ret">();
    std::vector<std::uint16_t> values;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const Place of_lane = stmatrix_d(lane);
        rows.push_back(of_lane.row * 32 + of_lane.col * 2);
        for (std::uint32_t side = 0; side < 2; ++side)
            for (std::uint32_t i = 0; i < 4; ++i) {
                const Place place = mma_d(lane, i);
                values.push_back(static_cast<std::uint16_t>(place.row * 16 + place.col + 8 * side));
            }
    }
    const auto device = observed_emulator();
    const auto got = run<std::uint16_t>(device, kernel_of(module, device), 32, 256, *device.upload(values),
                                        *device.upload(rows));
    for (std::uint32_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i);
}

// A tile in shared memory, as the host lays it out.
struct Image {
    TileRows tile;
    std::uint32_t rows;
    [[nodiscard]] std::uint32_t bytes() const { return rows * tile.row_bytes; }
    [[nodiscard]] std::vector<std::uint16_t> of(int seed) const {
        std::vector<std::uint16_t> all(bytes() / 2);
        for (std::uint32_t row = 0; row < rows; ++row)
            for (std::uint32_t col = 0; col < tile.row_bytes / 2; ++col)
                all[tile.offset(row, 2 * col) / 2] = bf16_of(element({row, col}, seed));
        return all;
    }
};

// Copies an argument into shared memory, 16 bytes a thread at a time: where it begins there.
template <Target On>
Reg<u32> fill(dsl::FunctionBuilder<On>& k, std::string_view name, Variable<Space::shared> to,
              std::uint32_t shift, std::uint32_t bytes, std::uint32_t threads) {
    const auto from = of_thread(k, name, 16);
    const auto begin = k.template reg<u32>(), here = k.template reg<u32>(), thread = k.template reg<u32>();
    const auto piece = k.template regs<b32, 4>();
    k.template emit<"mov.u32">(thread, special<"%tid.x">);
    k.template emit<"mov.u32">(begin, to);
    k.template emit<"add.u32">(begin, begin, shift);
    k.template emit<"mad.lo.u32">(here, thread, 16, begin);
    for (std::uint32_t i = 0; i < bytes; i += 16 * threads) {
        k.template emit<"ld.global.v4.b32">(piece, at(from, i));
        k.template emit<"st.shared.v4.b32">(at(here, i), piece);
    }
    k.template emit<"bar.sync">(0);
    return begin;
}

// Element `i` of 8 in a lane of what ldmatrix .x4 gives: A of one mma, or B of two.
Place of_a(std::uint32_t lane, std::uint32_t i) { return mma_a(lane, i); }
Place of_b(std::uint32_t lane, std::uint32_t i) {
    const Place place = mma_b(lane, i % 4);
    return {8 * (i / 4) + place.col, place.row};
}
using FindOffset = Reg<u32> (*)(Builder<sm_80>& b, const TileRows& tile, Reg<u32> lane);

// All blocks of 16 rows and 16 columns of a tile of 32 rows, by one warp.
void check_ldmatrix(std::uint32_t row_bytes, FindOffset find_offset,
                    Place (*find_place)(std::uint32_t, std::uint32_t)) {
    const Image image{tile_of(row_bytes), 32};
    const std::uint32_t blocks = 2 * row_bytes / 32;
    Module module({.target = "sm_80"});
    auto& k = module.entry<sm_80>("load");
    const auto out = of_thread(k, "out", 16 * blocks);
    const auto smem =
        k.shared("smem", {.count = image.bytes(), .align = swizzle_alignment(image.tile.swizzle)});
    const auto begin = fill(k, "tile", smem, 0, image.bytes(), 32);
    const auto lane = k.reg<u32>(), here = k.reg<u32>();
    k.emit<"mov.u32">(lane, special<"%laneid">);
    const auto rows = find_offset(k, image.tile, lane);
    k.emit<"add.u32">(rows, rows, begin);
    const auto four = k.regs<b32, 4>();
    for (std::uint32_t i = 0; i < blocks; ++i) {
        k.emit<"xor.b32">(here, rows, 32 * (i / 2));
        k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(four, at(here, i % 2 * 16 * row_bytes));
        k.emit<"st.global.v4.b32">(at(out, 16 * i), four);
    }
    k.emit<"ret">();
    EmulatorProfile profile;
    const auto device = observed_emulator(&profile);
    const auto result = run<std::uint16_t>(device, kernel_of(module, device), 32, 32 * 8 * blocks,
                                           *device.upload(image.of(1)));
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        const std::uint32_t lane_of = i / 8 / blocks, block = i / 8 % blocks;
        const Place inside = find_place(lane_of, i % 8);
        const Place place = {block % 2 * 16 + inside.row, block / 2 * 16 + inside.col};
        ASSERT_EQ(result[i], bf16_of(element(place, 1))) << row_bytes << " " << lane_of << " " << block;
    }
    std::uint64_t loads = 0;
    for (const ProfileLine& line : profile.lines())
        if (line.text.find("ldmatrix") != line.text.npos) {
            loads += line.warps;
            EXPECT_EQ(line.bank_conflicts(), 0u) << row_bytes;
        }
    EXPECT_EQ(loads, blocks);
}

TEST(DslMatrix, LdmatrixReadsSwizzledTilesWithoutConflicts) {
    for (const std::uint32_t row_bytes : {32u, 64u, 128u}) {
        check_ldmatrix(row_bytes, ldmatrix_offset_a<sm_80>, of_a);
        check_ldmatrix(row_bytes, ldmatrix_offset_b<sm_80>, of_b);
    }
    // A lane gives the row whose first elements are at the register that it is for.
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(ldmatrix_a(lane), of_a(lane % 8 * 4, lane / 8 * 2));
        EXPECT_EQ(ldmatrix_b(lane), of_b(lane % 8 * 4, lane / 8 * 2));
    }
}

TEST(DslMatrix, TensorCopiesSwizzleAsTileRowsSay) {
    for (const std::uint32_t row_bytes : {32u, 64u, 128u}) {
        const Image image{tile_of(row_bytes), 16};
        Module module({.target = "sm_90a"});
        auto& k = module.entry<sm_90a>("copy");
        const auto out = of_thread(k, "out", 4);
        const auto map = k.tensor_map("map");
        const auto smem = k.shared("smem", {.count = image.bytes(), .align = 1024});
        const Barriers full(k, "full", 1);
        const auto thread = k.reg<u32>(), here = k.reg<u32>();
        const auto map_at = k.reg<u64>();
        const auto is_first = k.reg<pred>();
        k.emit<"mov.u32">(thread, special<"%tid.x">);
        k.emit<"mov.u32">(here, smem);
        k.emit<"mov.b64">(map_at, map);
        k.emit<"cvta.param.u64">(map_at, map_at);
        k.emit<"setp.eq.u32">(is_first, thread, 0);
        const Cursor at_first = cursor(k);
        k.if_(is_first, [&] {
            full.init(1);
            k.emit<"fence.mbarrier_init.release.cluster">();
            const auto barrier = full.expect_tx(at_first, image.bytes());
            k.emit<"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes">(
                at(here), at(map_at, vec(0, 0)), at(barrier));
        });
        k.emit<"bar.sync">(0);
        full.wait(at_first);
        k.emit<"mad.lo.u32">(here, thread, 4, here);
        const auto word = k.reg<b32>();
        for (std::uint32_t i = 0; i < image.bytes(); i += 128) {
            k.emit<"ld.shared.b32">(word, at(here, i));
            k.emit<"st.global.b32">(at(out, i), word);
        }
        k.emit<"ret">();
        const auto device = observed_emulator();
        std::vector<std::uint16_t> rows;
        for (std::uint32_t i = 0; i < image.bytes() / 2; ++i)
            rows.push_back(bf16_of(element({i / (row_bytes / 2), i % (row_bytes / 2)}, 1)));
        const auto tensor = device.upload(rows);
        const auto encoded = tensor->encode_tensor_map({.type = TensorType::bf16,
                                                        .dims = {row_bytes / 2, image.rows},
                                                        .strides = {row_bytes},
                                                        .box = {row_bytes / 2, image.rows},
                                                        .swizzle = image.tile.swizzle});
        ASSERT_TRUE(encoded) << describe(encoded.error());
        EXPECT_EQ(run<std::uint16_t>(device, kernel_of(module, device), 32, rows.size(), *encoded),
                  image.of(1));
    }
}

// A and B of 64 rows each, A first, in shared memory `shift` bytes behind a multiple of 1024.
struct Multiplicands {
    std::vector<std::uint16_t> a, b;
    MatrixDescriptor layout;
    std::uint32_t depth = 16, shift = 0;
    std::uint32_t step = 32, trans = 0;  // bytes to the next 16 of K; imm-trans-a and -b
};

void check_wgmma(const Multiplicands& of) {
    const auto a_bytes = static_cast<std::uint32_t>(2 * of.a.size()), bytes = 2 * a_bytes;
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("product");
    const auto out = of_thread(k, "out", 128);
    const auto smem = k.shared("smem", {.count = of.shift + bytes, .align = 1024});
    const auto begin = fill(k, "tiles", smem, of.shift, bytes, 128);
    k.emit<"fence.proxy.async.shared::cta">();
    k.emit<"bar.sync">(0);
    const auto a = descriptor(k, of.layout, begin);
    k.emit<"add.u32">(begin, begin, a_bytes);
    const auto b = descriptor(k, of.layout, begin);
    const auto d = k.regs<f32, 32>();
    k.emit<"wgmma.fence.sync.aligned">();
    for (std::uint32_t i = 0; i < of.depth; i += 16) {
        const auto accumulate = k.reg<pred>();
        k.emit<"setp.ne.u32">(accumulate, i, 0);
        k.emit<wgmma_bf16<64>>(d, a, b, accumulate, 1, 1, of.trans, of.trans);
        k.emit<"add.u64">(a, a, MatrixDescriptor::advance(of.step));
        k.emit<"add.u64">(b, b, MatrixDescriptor::advance(of.step));
    }
    k.emit<"wgmma.commit_group.sync.aligned">();
    k.emit<"wgmma.wait_group.sync.aligned">(0);
    for (std::uint32_t i = 0; i < 32; ++i) k.emit<"st.global.f32">(at(out, 4 * i), d[i]);
    k.emit<"ret">();
    auto tiles = of.a;
    tiles.insert(tiles.end(), of.b.begin(), of.b.end());
    const auto device = observed_emulator();
    const auto result = run<float>(device, kernel_of(module, device), 128, 128 * 32, *device.upload(tiles));
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        const Place place = wgmma_d(i / 32, i % 32);
        ASSERT_EQ(result[i], product(place.row, place.col, of.depth)) << i;
    }
}

TEST(DslMatrix, WgmmaReadsWhatDescriptorsSay) {
    for (const std::uint32_t row_bytes : {32u, 64u, 128u}) {
        const Image image{tile_of(row_bytes), 64};
        check_wgmma({image.of(1), image.of(2), descriptor_of(image.tile), row_bytes / 2});
        // The pattern begins 256 bytes behind a multiple of its own size.
        MatrixDescriptor shifted = descriptor_of(image.tile);
        shifted.base_offset = 256 / 128;
        check_wgmma({image.of(1), image.of(2), shifted, row_bytes / 2, 256});
    }
}
// Rows run along M and N: tiles of as many as a swizzle is wide, one behind the other.
TEST(DslMatrix, WgmmaReadsMnMajorTilesAsDescriptorsSay) {
    constexpr std::uint32_t depth = 48;
    for (const std::uint32_t row_bytes : {32u, 64u, 128u}) {
        const TileRows tile = tile_of(row_bytes);
        const auto laid_out = [&](int seed) {
            std::vector<std::uint16_t> all(64 * depth);
            for (std::uint32_t i = 0; i < all.size(); ++i) {
                const std::uint32_t mn = i / depth, k = i % depth, byte = 2 * mn;
                const std::uint32_t begin = byte / row_bytes * depth * row_bytes;
                all[(begin + tile.offset(k, byte % row_bytes)) / 2] = bf16_of(element({mn, k}, seed));
            }
            return all;
        };
        check_wgmma({laid_out(1), laid_out(2), mn_descriptor_of(tile, depth), depth, 0, 16 * row_bytes, 1});
    }
}
// Without a swizzle 8 rows of 16 bytes lie together: here those of the first 8 columns before the others.
TEST(DslMatrix, WgmmaReadsWhatDescriptorsWithoutSwizzleSay) {
    constexpr MatrixDescriptor layout{.leading_bytes = 8 * 128, .stride_bytes = 128};
    const auto laid_out = [&](int seed) {
        std::vector<std::uint16_t> all(64 * 16);
        for (std::uint32_t i = 0; i < all.size(); ++i) {
            const Place place{i / 16, i % 16};
            const std::uint32_t byte = place.row / 8 * layout.stride_bytes + place.row % 8 * 16 +
                                       place.col / 8 * layout.leading_bytes + place.col % 8 * 2;
            all[byte / 2] = bf16_of(element(place, seed));
        }
        return all;
    };
    check_wgmma({laid_out(1), laid_out(2), layout});
}

TEST(DslMatrix, FunctionsPrintWhatTheySay) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry("prints");
    const auto lane = k.reg<u32>();
    k.emit<"mov.u32">(lane, special<"%laneid">);
    const auto offset = ldmatrix_offset_a(k, tile_of(128), lane);
    (void)ldmatrix_offset_b(k, tile_of(64), lane);
    (void)descriptor(k, descriptor_of(tile_of(128)), offset);
    k.emit<"ret">();
    EXPECT_EQ(lines_from(*module.ptx(), "\tmov.u32"), R"(mov.u32 %u1, %laneid;
and.b32 %u2, %u1, 15;
bfe.u32 %u3, %u1, 4, 1;
shl.b32 %u3, %u3, 4;
mad.lo.u32 %u4, %u2, 128, %u3;
shr.b32 %u5, %u4, 3;
and.b32 %u5, %u5, 112;
xor.b32 %u4, %u4, %u5;
and.b32 %u6, %u1, 7;
bfe.u32 %u7, %u1, 4, 1;
mad.lo.u32 %u6, %u7, 8, %u6;
bfe.u32 %u8, %u1, 3, 1;
shl.b32 %u8, %u8, 4;
mad.lo.u32 %u9, %u6, 64, %u8;
shr.b32 %u10, %u9, 3;
and.b32 %u10, %u10, 48;
xor.b32 %u9, %u9, %u10;
bfe.u32 %u11, %u4, 4, 14;
cvt.u64.u32 %ud1, %u11;
or.b64 %ud1, %ud1, 4611686293305360384;
ret;
)");
}

TEST(DslPipeline, PrintsWhatItSays) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry("ring");
    const Barriers full(k, "full", 2);
    const Cursor at_stage = cursor(k, 1);
    const auto p = k.reg<pred>();
    full.init(3);
    full.wait(at_stage);
    full.expect_tx(at_stage, 512);
    full.arrive(at_stage);
    k.emit<"setp.eq.u32">(p, at_stage.stage, 0);
    full.arrive_if(p, at_stage);
    advance(k, at_stage, 2);
    k.emit<"ret">();
    const auto ptx = module.ptx();
    ASSERT_TRUE(ptx) << describe(ptx.error());
    EXPECT_TRUE(default_assembler().assemble(*ptx));
    EXPECT_THAT(*ptx, testing::HasSubstr("\t.shared .align 8 .b64 full[2];\n"));
    EXPECT_EQ(lines_from(*ptx, "\tmov.u32"), R"(mov.u32 %u1, full;
mov.u32 %u2, 0;
mov.u32 %u3, 1;
mbarrier.init.shared::cta.b64 [%u1], 3;
mbarrier.init.shared::cta.b64 [%u1+8], 3;
mad.lo.u32 %u4, %u2, 8, %u1;
L1:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%u4], %u3;
@!%p2 bra L1;
mad.lo.u32 %u5, %u2, 8, %u1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%u5], 512;
mad.lo.u32 %u6, %u2, 8, %u1;
mbarrier.arrive.shared::cta.b64 _, [%u6];
setp.eq.u32 %p1, %u2, 0;
mad.lo.u32 %u7, %u2, 8, %u1;
@%p1 mbarrier.arrive.shared::cta.b64 _, [%u7];
add.u32 %u2, %u2, 1;
setp.eq.u32 %p3, %u2, 2;
selp.b32 %u2, 0, %u2, %p3;
@%p3 xor.b32 %u3, %u3, 1;
ret;
)");
}

}  // namespace
}  // namespace ptxgraft::dsl
