// wgmma.mma_async against the canonical layouts of PTX ISA 9.7.15.5.1.2.1.3, element by element.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "support/matrix_reference.hpp"

namespace ptxgraft::emulator {
namespace {

using enum MatrixType;

/// How a matrix lies in shared memory.
struct Lay {
    unsigned swizzle;  ///< bytes: 0, 32, 64, 128
    bool mn_major;
    std::uint32_t pattern;  ///< where the pattern begins: any multiple of 128; swizzling counts from there
    std::uint32_t start;    ///< the address in the descriptor, from `pattern` on
    std::uint32_t leading, stride;
};

/// The layouts of the table as it is printed, in elements: ((..),(..)):((..),(..)); then swizzled, and as an
/// address.
std::uint32_t address_of(const Lay& lay, unsigned element, unsigned mn, unsigned k) {
    const unsigned t = 128 / element;  // "T"
    const unsigned lbo = lay.leading * 8 / element, sbo = lay.stride * 8 / element;
    unsigned offset = 0;
    if (lay.mn_major) {
        const unsigned width = lay.swizzle / 16;  // 2, 4, 8
        if (lay.swizzle == 0)
            offset = mn % t + mn / t * sbo + k % 8 * t + k / 8 * lbo;  // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        else
            offset = mn % t + mn / t % width * t + mn / t / width * lbo + k % 8 * width * t +
                     k / 8 * sbo;  // ((T,W,m),(8,k)):((1,T,LBO),(WT,SBO))
    } else {
        const unsigned width = lay.swizzle == 0 ? 1 : lay.swizzle / 16;
        offset = mn % 8 * width * t + mn / 8 * sbo + k % t +
                 k / t * (lay.swizzle == 0 ? lbo : t);  // ((8,m),(T,2k)):((WT,SBO),(1,T or LBO))
    }
    std::uint32_t byte = lay.start + offset * element / 8;
    const unsigned bits = lay.swizzle == 128 ? 3 : lay.swizzle == 64 ? 2 : lay.swizzle == 32 ? 1 : 0;
    byte ^= (byte >> 7 & ((1u << bits) - 1)) << 4;  // Swizzle<bits,4,3>
    return lay.pattern + byte;
}

std::uint64_t descriptor_of(const Lay& lay) {
    const auto encode = [](std::uint64_t x) { return (x & 0x3FFFF) >> 4; };
    const std::uint64_t mode = lay.swizzle == 128 ? 1 : lay.swizzle == 64 ? 2 : lay.swizzle == 32 ? 3 : 0;
    const std::uint64_t base = lay.swizzle == 0 ? 0 : lay.pattern >> 7 & 7;
    return encode(lay.pattern + lay.start) | encode(lay.leading) << 16 | encode(lay.stride) << 32 |
           base << 49 | mode << 62;
}

/// A layout without overlaps for `mn` times `k` elements of `bits`, at a place that depends on the trial.
Lay lay_out(unsigned swizzle, bool mn_major, unsigned bits, unsigned mn, unsigned k, std::uint32_t from,
            unsigned trial) {
    const unsigned chunks_k = k * bits / 128;
    Lay lay{swizzle, mn_major, (from + 1023) / 1024 * 1024, 0, 0, 0};
    if (swizzle != 0 && trial % 3 == 1) lay.pattern += 128 * (trial % 8);  // then with a base offset
    if (!mn_major && swizzle == 0) {
        lay.leading = trial % 2 == 0 ? 128 : mn / 8 * 128 + 16;
        lay.stride = trial % 2 == 0 ? 128 * chunks_k : 128;
    } else if (!mn_major) {
        lay.stride = 8 * swizzle + (trial % 4 == 3 ? 1024 : 0);
        if (trial % 2 == 1 && chunks_k * 16 * 2 <= swizzle) lay.start = 32;  // the second step of K
    } else if (swizzle == 0) {
        lay.stride = 128;
        lay.leading = mn / 8 * 128;
    } else {
        lay.stride = 8 * swizzle;           // next eight of K
        lay.leading = k / 8 * 8 * swizzle;  // next atom of MN
    }
    return lay;
}

struct Case {
    Wgmma wgmma;
    unsigned a_swizzle, b_swizzle;
    bool a_in_registers, scale_d;
    unsigned special, trial;
};

std::string name_of(const Case& c) {
    const auto& w = c.wgmma;
    return "n" + std::to_string(w.n) + " a" + std::to_string(static_cast<int>(w.a)) + " b" +
           std::to_string(static_cast<int>(w.b)) + " d" + std::to_string(static_cast<int>(w.d)) +
           (w.sparse ? " sparse" : "") + (w.transpose_a ? " ta" : "") + (w.transpose_b ? " tb" : "") +
           " swizzles " + std::to_string(c.a_swizzle) + " " + std::to_string(c.b_swizzle) +
           (c.a_in_registers ? " registers" : "") + " trial " + std::to_string(c.trial);
}

/// A product of a warpgroup, and its shared memory.
class Product {
  public:
    explicit Product(const Case& c)
        : case_(c), random_(c.trial * 31 + c.wgmma.n, c.special), shared_(200 * 1024) {
        for (auto& byte : shared_) byte = static_cast<std::byte>(random_.below(256));
        const unsigned bits = element_bits(w().a), stored = 256 / bits;
        a_lay_ = lay_out(c.a_swizzle, w().transpose_a, bits, 64, stored, 0, c.trial);
        b_lay_ = lay_out(c.b_swizzle, w().transpose_b, bits, w().n, depth(w()), 64 * 1024, c.trial + 1);
        fill(a_, a_lay_, 64, stored, w().a, !c.a_in_registers);
        fill(b_, b_lay_, w().n, depth(w()), w().b, true);  // as (n, k)
        make_metadata();
        dense_ = dense_a();
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned k = 0; k < depth(w()); ++k)
                if (const std::uint32_t* bits = dense_.find(row, k))
                    a_numbers_[row].push_back({k, value_of(w().a, *bits)});
        b_numbers_ = numbers(b_, w().b);
    }

    void check() {
        for (unsigned warp = 0; warp < 4; ++warp) check_warp(warp);
    }

  private:
    [[nodiscard]] const Wgmma& w() const { return case_.wgmma; }
    [[nodiscard]] SharedMemory shared() const {
        return {shared_.data(), static_cast<std::uint32_t>(shared_.size())};
    }

    void fill(Matrix& matrix, const Lay& lay, unsigned mn, unsigned k, MatrixType type, bool in_memory) {
        const unsigned bits = element_bits(type);
        std::vector<bool> used(shared_.size());
        for (unsigned i = 0; i < mn; ++i)
            for (unsigned j = 0; j < k; ++j) {
                const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1,
                                    value = random_.element(type) & mask;
                matrix[{i, j}] = value;
                if (!in_memory) continue;
                const std::uint32_t at = address_of(lay, bits, i, j - (bits == 1 ? j % 8 : 0));
                ASSERT_LE(at + 4, shared_.size());
                if (bits == 1) {
                    shared_[at] = (shared_[at] & ~(std::byte{1} << j % 8)) | static_cast<std::byte>(value)
                                                                                 << j % 8;
                    continue;
                }
                ASSERT_FALSE(used[at]) << "the test's layout overlaps";
                used[at] = true;
                std::memcpy(shared_.data() + at, &value, bits / 8);
            }
    }

    // CUTLASS's ELayout_64x64, _64x32, _64x16: for thread (of 128) and index, row + 64 * column.
    void make_metadata() {
        if (!w().sparse) return;
        constexpr std::uint32_t any[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110,
                                         0b0001, 0b0010, 0b0110, 0b0011, 0b0111, 0b1011};
        const unsigned columns = w().a == tf32 ? 2 : 4;
        for (unsigned thread = 0; thread < 128; ++thread) {
            std::uint32_t word = 0;
            for (unsigned bit = 0; bit < 32; bit += 4)
                word |= (w().a == tf32 ? (random_.below(2) != 0 ? 0b1110u : 0b0100u) : any[random_.below(12)])
                        << bit;
            metadata_[thread / 32].lane[thread % 32] = word;
            const unsigned t0 = thread % 2, t1 = thread / 2 % 2, g = thread / 4 % 8, warp = thread / 32;
            for (unsigned nibble = 0; nibble < 8; ++nibble) {
                unsigned row = g + 16 * warp, column = 0;
                if (element_bits(w().a) == 8) {
                    row += 8 * t0;
                    column = 32 * t1 + nibble * columns;
                } else {
                    if (t1 != w().selector) continue;  // the other pair's
                    const unsigned half = depth(w()) / 2;
                    column = half * t0 + nibble % 4 * columns;
                    row += 8 * (nibble / 4);
                }
                indices_[{row, column}] = word >> 4 * nibble & 0xF;
            }
        }
        ASSERT_EQ(indices_.size(), 64 * depth(w()) / columns);
    }

    [[nodiscard]] Matrix dense_a() const {
        if (!w().sparse) return a_;
        Matrix dense;
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned s = 0; s < depth(w()) / 2; ++s) {
                const unsigned chunk = w().a == tf32 ? 2 * s : s / 2 * 4, indices = indices_.at(row, chunk);
                const unsigned col = w().a == tf32 ? (indices == 0b1110 ? 1 : 0) : indices >> s % 2 * 2 & 3;
                dense[{row, chunk + col}] = a_.at(row, s);
            }
        return dense;
    }

    /// Figures 148, 150, 152, 154 (175, 177, 179).
    [[nodiscard]] std::vector<TestRegister> a_registers(unsigned warp) const {
        std::vector<TestRegister> registers(4);
        const unsigned per_word = 32 / element_bits(w().a);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < 4 * per_word; ++i) {
                const unsigned reg = i / per_word;
                const unsigned row = 16 * warp + lane / 4 + (reg % 2 == 1 ? 8 : 0);
                const unsigned col = lane % 4 * per_word + i % per_word + (reg >= 2 ? 4 * per_word : 0);
                set_element(registers.data(), w().a, lane, i, a_.at(row, col));
            }
        return registers;
    }

    /// The values of elements that there are.
    static std::vector<double> numbers(const Matrix& matrix, MatrixType type) {
        std::vector<double> values(Matrix::height * Matrix::width);
        for (unsigned i = 0; i < values.size(); ++i)
            if (const std::uint32_t* bits = matrix.find(i / Matrix::width, i % Matrix::width))
                values[i] = value_of(type, *bits);
        return values;
    }

    [[nodiscard]] std::uint32_t expected(std::uint32_t d, unsigned row, unsigned col) const {
        const double sign = (w().negate_a ? -1 : 1) * (w().negate_b ? -1 : 1);
        FloatSum sum(w().d, case_.scale_d ? d : 0);
        __int128 integer = case_.scale_d && w().d == s32 ? static_cast<std::int32_t>(d) : 0;
        for (const auto& [k, x] : a_numbers_[row]) {
            const double y = b_numbers_[col * Matrix::width + k];
            if (w().d == s32)
                integer += static_cast<__int128>(x) * static_cast<__int128>(y);
            else
                sum.add(sign * x, y);
        }
        return w().d == s32 ? finish_integer(integer, w().satfinite) : sum.bits(w().d);
    }

    void check_warp(unsigned warp) {
        std::vector<TestRegister> d(accumulator_size(w()));
        const unsigned elements = static_cast<unsigned>(d.size()) * 32 / element_bits(w().d);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < elements; ++i)
                set_element(d.data(), w().d, lane, i, random_.element(w().d));
        const auto before = d;
        auto a = a_registers(warp);
        const auto d_pointers = pointers(d);
        const auto a_pointers = constant(pointers(a));
        const WgmmaOperands operands{d_pointers.data(),
                                     case_.a_in_registers ? a_pointers.data() : nullptr,
                                     descriptor_of(a_lay_),
                                     descriptor_of(b_lay_),
                                     metadata_[warp].lane,
                                     case_.scale_d,
                                     static_cast<std::uint8_t>(warp)};
        ASSERT_FALSE(
            w().sparse &&
            find_metadata_fault(w(), operands, {shared_.data(), static_cast<std::uint32_t>(shared_.size())}));
        const auto fault = multiply(w(), operands, shared());
        ASSERT_FALSE(fault) << describe(*fault) << " " << name_of(case_);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < elements; ++i) {
                const unsigned row = 16 * warp + lane / 4 + (i % 4 >= 2 ? 8 : 0),
                               col = i / 4 * 8 + lane % 4 * 2 + i % 2;  // figures 149 to 155
                ASSERT_EQ(element_in(d.data(), w().d, lane, i),
                          expected(element_in(before.data(), w().d, lane, i), row, col))
                    << name_of(case_) << " warp " << warp << " lane " << lane << " element " << i;
            }
        check_ranges(operands, warp);
    }

    /// Exactly the bytes of the elements.
    void check_ranges(const WgmmaOperands& operands, unsigned warp) {
        std::vector<SharedRange> ranges;
        wgmma_ranges(w(), operands, ranges);
        std::vector<bool> got(shared_.size()), want(shared_.size());
        for (const SharedRange& range : ranges)
            std::fill(got.begin() + range.begin, got.begin() + range.end, true);
        const unsigned bits = element_bits(w().a);
        const auto add = [&](const Lay& lay, unsigned first, unsigned end, unsigned k) {
            for (unsigned i = first; i < end; ++i)
                for (unsigned j = 0; j < k; j += bits == 1 ? 8 : 1)
                    for (unsigned byte = 0; byte < std::max(1u, bits / 8); ++byte)
                        want.at(address_of(lay, bits, i, j) + byte) = true;
        };
        if (!case_.a_in_registers) add(a_lay_, 16 * warp, 16 * warp + 16, 256 / bits);
        add(b_lay_, 0, w().n, depth(w()));
        ASSERT_TRUE(got == want) << name_of(case_);
    }

    Case case_;
    RandomElements random_;
    std::vector<std::byte> shared_;
    Lay a_lay_{}, b_lay_{};
    Matrix a_, b_, indices_, dense_;
    struct Element {
        unsigned k;
        double value;
    };
    std::array<std::vector<Element>, 64> a_numbers_;  // of a row those that there are
    std::vector<double> b_numbers_;
    TestRegister metadata_[4] = {};
};

struct Types {
    MatrixType a, b, d;
};
constexpr Types types[] = {{f16, f16, f16},   {f16, f16, f32},   {bf16, bf16, f32}, {tf32, tf32, f32},
                           {e4m3, e4m3, f32}, {e4m3, e5m2, f16}, {e5m2, e4m3, f32}, {e5m2, e5m2, f16},
                           {s8, s8, s32},     {s8, u8, s32},     {u8, s8, s32},     {u8, u8, s32},
                           {b1, b1, s32}};

void check_all(bool sparse) {
    constexpr unsigned swizzles[] = {0, 32, 64, 128};
    constexpr unsigned sizes[] = {8, 16, 24, 32, 64, 96, 128, 176, 256};
    unsigned trial = 0;
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        for (const Types& type : types)
            for (const unsigned a_swizzle : swizzles)
                for (const unsigned b_swizzle : swizzles)
                    for (unsigned major = 0; major < 4; ++major) {
                        ++trial;
                        if (engine == MatrixEngine::plain && trial % 4 != 0)
                            continue;  // the slow one computes some
                        const bool halves = type.a == f16 || type.a == bf16;
                        if (major != 0 && !halves) continue;
                        if (sparse && type.a == b1) continue;
                        Case c{};
                        c.wgmma = {
                            .n = static_cast<std::uint16_t>(sizes[trial % 9 < 6 ? trial % 6 : trial % 9]),
                            .a = type.a,
                            .b = type.b,
                            .d = type.d};
                        c.wgmma.sparse = sparse;
                        c.wgmma.selector = sparse && element_bits(type.a) >= 16 ? trial % 2 : 0;
                        c.wgmma.transpose_a = (major & 1) != 0;
                        c.wgmma.transpose_b = (major & 2) != 0;
                        c.wgmma.satfinite = type.d == s32 && type.a != b1 && trial % 3 == 0;
                        c.wgmma.negate_a = type.d != s32 && trial % 5 < 2;
                        c.wgmma.negate_b = type.d != s32 && trial % 7 < 3;
                        c.a_swizzle = a_swizzle;
                        c.b_swizzle = b_swizzle;
                        if (sparse && b_swizzle == 32 && !c.wgmma.transpose_b) continue;  // too narrow: below
                        c.a_in_registers = !c.wgmma.transpose_a && trial % 3 == 0;
                        c.scale_d = trial % 4 != 1;
                        c.special = trial % 5 == 0 ? 1 : 0;
                        c.trial = trial;
                        ASSERT_TRUE(is_supported(c.wgmma)) << name_of(c);
                        Product(c).check();
                        if (testing::Test::HasFatalFailure()) return;
                    }
    }
}

TEST(Wgmma, EveryTypeSwizzleAndMajorness) { check_all(false); }
TEST(Wgmma, SparseOfEveryTypeSwizzleAndMajorness) { check_all(true); }

TEST(Wgmma, EveryN) {
    for (unsigned n = 8; n <= 256; n += 8) {
        Case c{{.n = static_cast<std::uint16_t>(n), .a = bf16, .b = bf16}, 128, 128, false, true, 0, n};
        ASSERT_TRUE(is_supported(c.wgmma));
        Product(c).check();
        c.wgmma = {.n = static_cast<std::uint16_t>(n), .a = s8, .b = u8, .d = s32};
        ASSERT_EQ(is_supported(c.wgmma), n <= 32 || n % 16 == 0);
        if (is_supported(c.wgmma)) Product(c).check();
        if (HasFatalFailure()) return;
    }
    EXPECT_FALSE(is_supported(Wgmma{.n = 264}));
    EXPECT_FALSE(is_supported(Wgmma{.n = 12}));
    EXPECT_FALSE(is_supported(Wgmma{.n = 8, .a = e4m3, .b = e4m3, .transpose_b = true}));
    EXPECT_FALSE(is_supported(Wgmma{.n = 8, .a = bf16, .b = bf16, .d = f16}));
    EXPECT_FALSE(is_supported(Wgmma{.n = 8, .a = b1, .b = b1, .d = s32, .sparse = true}));
}

TEST(Wgmma, AddressesOutsideOfSharedMemoryAreNamed) {
    const Wgmma wgmma{.n = 64, .a = bf16, .b = bf16};
    std::vector<TestRegister> d(32), a(4);
    for (auto& one : d) std::fill(std::begin(one.lane), std::end(one.lane), 0x3F800000u);
    const auto before = d;
    const auto d_pointers = pointers(d);
    const auto a_pointers = constant(pointers(a));
    const std::vector<std::byte> shared(16 * 1024);
    const Lay inside{128, false, 1024, 0, 0, 1024}, outside{128, false, 9 * 1024, 0, 0, 1024};
    const SharedMemory memory{shared.data(), static_cast<std::uint32_t>(shared.size())};
    WgmmaOperands operands{.d = d_pointers.data(),
                           .a_descriptor = descriptor_of(inside),
                           .b_descriptor = descriptor_of(outside)};
    const auto b_fault = multiply(wgmma, operands, memory);
    ASSERT_TRUE(b_fault);
    EXPECT_EQ(describe(*b_fault),
              "the descriptor of b reaches address 0x4000 of shared memory, which has 16384 bytes");
    operands.b_descriptor = descriptor_of(inside);
    operands.a_descriptor = descriptor_of(outside);
    operands.warp = 3;
    const auto a_fault = multiply(wgmma, operands, memory);
    ASSERT_TRUE(a_fault);
    EXPECT_EQ(a_fault->operand, 'a');
    EXPECT_EQ(a_fault->address, 16u * 1024);
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(std::memcmp(d[i].lane, before[i].lane, sizeof d[i].lane), 0);
    operands.a = a_pointers.data();  // in registers its descriptor does not count
    EXPECT_FALSE(multiply(wgmma, operands, memory));
    EXPECT_TRUE(multiply(wgmma, operands, {shared.data(), 0}));
}

TEST(Wgmma, ANarrowAtomCannotHoldASparseProductsB) {
    const Wgmma wgmma{.n = 8, .a = f16, .b = f16, .sparse = true};
    std::vector<TestRegister> d(4), a(4);
    TestRegister metadata{};
    std::fill(std::begin(metadata.lane), std::end(metadata.lane), 0x44444444u);
    const auto d_pointers = pointers(d);
    const auto a_pointers = constant(pointers(a));
    const std::vector<std::byte> shared(4096);
    const WgmmaOperands operands{.d = d_pointers.data(),
                                 .a = a_pointers.data(),
                                 .b_descriptor = descriptor_of({32, false, 1024, 0, 0, 256}),
                                 .metadata = metadata.lane};
    const auto fault = multiply(wgmma, operands, {shared.data(), 4096});
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->reason, WgmmaFault::Reason::too_wide);
    EXPECT_NE(describe(*fault).find("64 or 128 bytes"), std::string::npos);
}

TEST(Wgmma, NoDescriptorReadsOutside) {
    std::mt19937_64 random(6);
    std::vector<TestRegister> d(128);
    const auto d_pointers = pointers(d);
    unsigned computed = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        const std::vector<std::byte> shared(random() % 65536);  // at its end, for sanitizers
        Wgmma wgmma{.n = static_cast<std::uint16_t>(8 * (1 + random() % 32)), .a = bf16, .b = bf16};
        wgmma.transpose_a = random() % 2 != 0;
        wgmma.transpose_b = random() % 2 != 0;
        const std::uint64_t small = 0xC00E'01FF'00FF'0FFF;  // often within
        const std::uint64_t mask = trial % 2 == 0 ? ~std::uint64_t{0} : small;
        const WgmmaOperands operands{.d = d_pointers.data(),
                                     .a_descriptor = random() & mask,
                                     .b_descriptor = random() & mask,
                                     .warp = static_cast<std::uint8_t>(trial % 4)};
        const SharedMemory memory{shared.data(), static_cast<std::uint32_t>(shared.size())};
        std::vector<SharedRange> ranges;
        wgmma_ranges(wgmma, operands, ranges);
        const bool within =
            std::ranges::all_of(ranges, [&](SharedRange range) { return range.end <= shared.size(); });
        const auto fault = multiply(wgmma, operands, memory);
        EXPECT_EQ(!fault, within);
        computed += fault ? 0 : 1;
    }
    EXPECT_GT(computed, 100u);
}

}  // namespace
}  // namespace ptxgraft::emulator
