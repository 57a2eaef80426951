// mma.sp, wmma, ldmatrix and its kin against the figures of the PTX manual.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "support/matrix_layouts.hpp"

namespace ptxgraft::emulator {
namespace {

// --- sparse

/// The figures of metadata (119, 122, 125, 127, 129, 136, 137, 139, 146, 147): the four bits for the columns
/// from `col` on in `row` lie with lane 4 * (row % 8) + `thread`, from `bit` on.
struct Indices {
    unsigned thread, bit;
};
Indices indices_of(const Mma& mma, unsigned row, unsigned col) {
    const unsigned upper = row >= 8 ? 1 : 0, bits = element_bits(mma.a), s = mma.selector;
    if (bits == 16 && mma.k == 16) return {s, upper * 16 + col};  // T<s>: [15..0] row g, [31..16] row g + 8
    if (bits == 16)
        return {2 * s + col / 16, upper * 16 + col % 16};  // T<2s> columns 0 to 15, T<2s+1> 16 to 31
    if (bits == 32 && mma.k == 8) return {s, upper * 16 + col * 2};  // four bits for two columns
    if (bits == 32) return {2 * s + col / 8, upper * 16 + col % 8 * 2};
    if (bits == 8 && mma.k == 32) return {2 * s + upper, col};  // T<2s> row g, T<2s+1> row g + 8
    if (bits == 8) return {col / 32 * 2 + upper, col % 32};     // T0, T1: columns 0 to 31; T2, T3: others
    if (mma.k == 64) return {2 * s + upper, col / 2};           // four bits for eight columns
    return {col / 64 * 2 + upper, col % 64 / 2};
}

struct SparseRow {
    unsigned k;
    std::vector<MatrixType> multiplicands;
    std::vector<MatrixType> accumulators;
    unsigned selectors;
    unsigned (*first_column)(unsigned lane, unsigned i);
    bool (*is_upper)(unsigned i);  ///< a_i is of row g + 8
    Formula b;
};

const std::vector<SparseRow>& sparse_rows() {
    static const std::vector<SparseRow> all = {
        // 9.7.14.6.2.1
        {16,
         {f16, bf16},
         {f16, f32},
         4,
         [](unsigned lane, unsigned) { return lane % 4 * 4; },
         [](unsigned i) { return i >= 2; },
         b_m16n8k16_f16},
        // .2; figure 121
        {32,
         {f16, bf16},
         {f16, f32},
         2,
         [](unsigned lane, unsigned i) { return i < 4 ? lane % 4 * 4 : lane % 4 * 4 + 16; },
         [](unsigned i) { return !(i < 2 || (4 <= i && i < 6)); },
         [](unsigned lane, unsigned i) {
             return MatrixPlace{i / 2 * 8 + lane % 4 * 2 + i % 2, lane / 4};
         }},
        // .3; figure 124
        {16,
         {tf32},
         {f32},
         2,
         [](unsigned lane, unsigned i) { return i < 2 ? lane % 4 * 2 : lane % 4 * 2 + 8; },
         [](unsigned i) { return i % 2 == 1; },
         [](unsigned lane, unsigned i) {
             return MatrixPlace{i * 4 + lane % 4, lane / 4};
         }},
        // .4
        {8,
         {tf32},
         {f32},
         4,
         [](unsigned lane, unsigned) { return lane % 4 * 2; },
         [](unsigned i) { return i == 1; },
         b_m16n8k8_tf32},
        // .5
        {32,
         {s8, u8},
         {s32},
         2,
         [](unsigned lane, unsigned) { return lane % 4 * 8; },
         [](unsigned i) { return i >= 4; },
         b_m16n8k32_s8},
        // .6; figures 132 to 135
        {64,
         {s8, u8},
         {s32},
         1,
         [](unsigned lane, unsigned i) { return i < 8 ? lane % 4 * 8 : lane % 4 * 8 + 32; },
         [](unsigned i) { return !(i < 4 || (8 <= i && i < 12)); },
         [](unsigned lane, unsigned i) {
             return MatrixPlace{i / 4 * 16 + lane % 4 * 4 + i % 4, lane / 4};
         }},
        {64,
         {e4m3, e5m2},
         {f32},
         1,
         [](unsigned lane, unsigned i) { return i < 8 ? lane % 4 * 8 : lane % 4 * 8 + 32; },
         [](unsigned i) { return !(i < 4 || (8 <= i && i < 12)); },
         [](unsigned lane, unsigned i) {
             return MatrixPlace{i / 4 * 16 + lane % 4 * 4 + i % 4, lane / 4};
         }},
        // .7
        {64,
         {s4, u4},
         {s32},
         2,
         [](unsigned lane, unsigned) { return lane % 4 * 16; },
         [](unsigned i) { return i >= 8; },
         b_m16n8k64_s4},
        // .8; figures 142 to 145
        {128,
         {s4, u4},
         {s32},
         1,
         [](unsigned lane, unsigned i) { return i < 16 ? lane % 4 * 16 : lane % 4 * 16 + 64; },
         [](unsigned i) { return !(i < 8 || (16 <= i && i < 24)); },
         [](unsigned lane, unsigned i) {
             return MatrixPlace{i / 8 * 32 + lane % 4 * 8 + i % 8, lane / 4};
         }},
    };
    return all;
}

TestRegister random_metadata(MatrixType type, Sparsity sparsity, RandomElements& random) {
    TestRegister metadata{};
    constexpr std::uint32_t ordered[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
    constexpr std::uint32_t any[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110,
                                     0b0001, 0b0010, 0b0110, 0b0011, 0b0111, 0b1011};
    for (auto& word : metadata.lane)
        for (unsigned bit = 0; bit < 32; bit += 4)
            word |= (type == tf32                    ? (random.below(2) != 0 ? 0b1110 : 0b0100)
                     : sparsity == Sparsity::ordered ? ordered[random.below(6)]
                                                     : any[random.below(12)])
                    << bit;
    return metadata;
}

/// A by brute force: every stored element at the column that its index names.
Matrix expanded(const Mma& mma, const SparseRow& row, const Fragments& fragments,
                const TestRegister& metadata) {
    Matrix a;
    const unsigned per_word = 32 / element_bits(mma.a);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < fragments.a.size() * per_word; ++i) {
            const unsigned line = lane / 4 + (row.is_upper(i) ? 8 : 0), first = row.first_column(lane, i),
                           in_word = i % per_word;
            const auto bits_for = [&](unsigned col) {
                const Indices place = indices_of(mma, line, col);
                return metadata.lane[line % 8 * 4 + place.thread] >> place.bit & 0xF;
            };
            unsigned col = 0;
            if (mma.a == tf32) {
                col = first + (bits_for(first) == 0b1110 ? 1 : 0);
            } else if (element_bits(mma.a) == 4) {  // eight stored of sixteen columns: two chunks of eight
                const unsigned chunk = first + in_word / 4 * 8;
                col = chunk + 2 * (bits_for(chunk) >> in_word / 2 % 2 * 2 & 3) + in_word % 2;
            } else {
                const unsigned chunk = first + in_word / 2 * 4;
                col = chunk + (bits_for(chunk) >> in_word % 2 * 2 & 3);
            }
            a[{line, col}] = element_in(fragments.a.data(), mma.a, lane, i);
        }
    return a;
}

TEST(Matrix, SparseAIsWhatItsMetadataSay) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        for (const SparseRow& row : sparse_rows())
            for (const MatrixType a : row.multiplicands)
                for (const MatrixType b : row.multiplicands)
                    for (const MatrixType c : row.accumulators)
                        for (unsigned trial = 0; trial < 8; ++trial) {
                            if (a != b && (a == f16 || a == bf16)) continue;
                            if (c == f16 && a != f16) continue;
                            Mma mma{.m = 16,
                                    .n = 8,
                                    .k = static_cast<std::uint16_t>(row.k),
                                    .a = a,
                                    .b = b,
                                    .c = c,
                                    .d = c};
                            mma.sparsity = trial % 2 != 0 ? Sparsity::ordered : Sparsity::sp;
                            mma.satfinite = c == s32 && trial % 4 >= 2;
                            mma.selector = static_cast<std::uint8_t>(trial / 2 % row.selectors);
                            ASSERT_TRUE(is_supported(mma)) << name_of(mma);
                            RandomElements random(trial + 50 * row.k, trial >= 4 ? 2 : 0);
                            Fragments fragments(mma, random);
                            const TestRegister metadata = random_metadata(a, mma.sparsity, random);
                            EXPECT_FALSE(find_metadata_fault(mma, {.metadata = metadata.lane}));
                            fragments.run(mma, metadata.lane);
                            const Matrix dense = expanded(mma, row, fragments, metadata);
                            ASSERT_EQ(dense.size(), 16 * row.k / 2) << name_of(mma);
                            check(mma, fragments, dense, row.b);
                            if (HasFailure()) return;
                        }
    }
}

TEST(Matrix, MetadataThatMeanNothingAreFound) {
    for (const SparseRow& row : sparse_rows()) {
        Mma mma{.m = 16,
                .n = 8,
                .k = static_cast<std::uint16_t>(row.k),
                .a = row.multiplicands[0],
                .b = row.multiplicands[0],
                .c = row.accumulators[0],
                .d = row.accumulators[0]};
        for (const Sparsity sparsity : {Sparsity::sp, Sparsity::ordered})
            for (unsigned selector = 0; selector < row.selectors; ++selector) {
                mma.sparsity = sparsity;
                mma.selector = static_cast<std::uint8_t>(selector);
                RandomElements random(row.k + selector, 0);
                unsigned found = 0;
                const TestRegister zero{};
                const std::vector<const void*> zeros(fragment_sizes(mma).a, zero.lane);
                for (unsigned lane = 0; lane < 32; ++lane)
                    for (unsigned bit = 0; bit < 32; bit += 4) {
                        TestRegister metadata = random_metadata(mma.a, sparsity, random);
                        metadata.lane[lane] &= ~(0xFu << bit);
                        const std::uint32_t wrong =
                            sparsity == Sparsity::ordered && mma.a != tf32 ? 0b0001 : 0b1010;
                        metadata.lane[lane] |= wrong << bit;
                        EXPECT_FALSE(
                            find_metadata_fault(mma, {.a = zeros.data(), .metadata = metadata.lane}));
                        const auto fault = find_metadata_fault(mma, {.metadata = metadata.lane});
                        if (!fault) continue;
                        ++found;
                        EXPECT_EQ(fault->lane, lane);
                        EXPECT_EQ(fault->bit, bit);
                        EXPECT_EQ(fault->indices, wrong);
                    }
                // As many places as the rows have chunks; what other lanes hold does not count.
                const unsigned columns = mma.a == tf32 ? 2 : element_bits(mma.a) == 4 ? 8 : 4;
                EXPECT_EQ(found, 16 * row.k / columns) << name_of(mma);
            }
    }
}

// --- wmma

std::vector<Mma> wmma_instructions() {
    std::vector<Mma> all;
    const auto add = [&](unsigned m, unsigned n, unsigned k, MatrixType ab, MatrixType c, MatrixType d) {
        all.push_back({.m = static_cast<std::uint16_t>(m),
                       .n = static_cast<std::uint16_t>(n),
                       .k = static_cast<std::uint16_t>(k),
                       .a = ab,
                       .b = ab,
                       .c = c,
                       .d = d,
                       .wmma = true});
    };
    for (const auto& [m, n] : {std::pair{16, 16}, std::pair{8, 32}, std::pair{32, 8}}) {
        for (const MatrixType c : {f16, f32})
            for (const MatrixType d : {f16, f32}) add(m, n, 16, f16, c, d);
        add(m, n, 16, bf16, f32, f32);
        for (const MatrixType type : {s8, u8}) add(m, n, 16, type, s32, s32);
    }
    add(16, 16, 8, tf32, f32, f32);
    for (const MatrixType type : {s4, u4}) add(8, 8, 32, type, s32, s32);
    add(8, 8, 128, b1, s32, s32);
    return all;
}

/// A matrix in memory, as elements in `bits` of a bit array.
struct Memory {
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(1 << 16);
    [[nodiscard]] std::uint32_t get(std::size_t bit, unsigned count) const {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < count; ++i)
            value |= static_cast<std::uint32_t>(bytes[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
        return value;
    }
    void set(std::size_t bit, unsigned count, std::uint32_t value) {
        for (unsigned i = 0; i < count; ++i) {
            auto& byte = bytes[(bit + i) / 8];
            byte = static_cast<std::uint8_t>((byte & ~(1u << (bit + i) % 8)) | (value >> i & 1)
                                                                                   << (bit + i) % 8);
        }
    }
};

std::size_t offset_of(MatrixLayout layout, unsigned row, unsigned col, unsigned stride, MatrixType type) {
    return (layout == MatrixLayout::row ? std::size_t{row} * stride + col : std::size_t{col} * stride + row) *
           element_bits(type);
}

/// What the emulator does with the list: by lanes, register by register.
void access(const std::vector<WmmaAccess>& accesses, MatrixLayout layout, unsigned stride, MatrixType type,
            Memory& memory, std::vector<TestRegister>& registers, bool store) {
    for (const WmmaAccess& one : accesses)
        for (unsigned lane = 0; lane < 32; ++lane) {
            const std::size_t bit = offset_of(layout, one.row[lane], one.column[lane], stride, type);
            ASSERT_EQ(bit % 8, 0u);
            auto& word = registers[one.reg].lane[lane];
            const std::uint32_t mask = one.bits == 32 ? ~0u : ((1u << one.bits) - 1) << one.shift;
            if (store)
                memory.set(bit, one.bits, (word & mask) >> one.shift);
            else
                word = (word & ~mask) | memory.get(bit, one.bits) << one.shift;
        }
}

TEST(Matrix, WmmaLoadsMultipliesAndStores) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        for (Mma mma : wmma_instructions())
            for (unsigned trial = 0; trial < 8; ++trial) {
                ASSERT_TRUE(is_supported(mma)) << name_of(mma);
                const bool fixed = element_bits(mma.a) < 8;  // sub-byte matrices have one layout
                const auto layout = [&](unsigned bit) {
                    return (trial >> bit & 1) != 0 ? MatrixLayout::col : MatrixLayout::row;
                };
                const MatrixLayout a_layout = fixed ? MatrixLayout::row : layout(0),
                                   b_layout = fixed ? MatrixLayout::col : layout(1), c_layout = layout(2);
                mma.a_layout = a_layout;
                mma.b_layout = b_layout;
                mma.satfinite = mma.d == s32 && mma.a != b1 && trial % 2 == 1;
                RandomElements random(trial + 77, 1);
                const FragmentSizes sizes = fragment_sizes(mma);
                const unsigned extra = trial % 2 == 0 ? 0 : 32;
                Matrix a, b, c;
                const auto load = [&](WmmaMatrix which, unsigned rows, unsigned columns, MatrixLayout of,
                                      MatrixType type, unsigned count, Matrix& matrix) {
                    Memory memory;
                    const unsigned stride = wmma_default_stride(mma, which, of) + extra;
                    EXPECT_EQ(stride - extra, of == MatrixLayout::row ? columns : rows);
                    for (unsigned row = 0; row < rows; ++row)
                        for (unsigned col = 0; col < columns; ++col) {
                            const std::uint32_t value =
                                random.element(type) &
                                (element_bits(type) == 32 ? ~0u : (1u << element_bits(type)) - 1);
                            matrix[{row, col}] = value;
                            memory.set(offset_of(of, row, col, stride, type), element_bits(type), value);
                        }
                    std::vector<TestRegister> registers(count);
                    access(wmma_accesses(mma, which, of), of, stride, type, memory, registers, false);
                    return registers;
                };
                auto a_registers = load(WmmaMatrix::a, mma.m, mma.k, a_layout, mma.a, sizes.a, a);
                auto b_registers = load(WmmaMatrix::b, mma.k, mma.n, b_layout, mma.b, sizes.b, b);
                auto c_registers = load(WmmaMatrix::c, mma.m, mma.n, c_layout, mma.c, sizes.c, c);
                std::vector<TestRegister> d_registers(sizes.d);
                auto d_pointers = pointers(d_registers);
                const auto a_pointers = constant(pointers(a_registers)),
                           b_pointers = constant(pointers(b_registers)),
                           c_pointers = constant(pointers(c_registers));
                const bool in_place = trial >= 4 && sizes.c == sizes.d && mma.c == mma.d;
                if (in_place) {  // the accumulators' registers in another order
                    d_pointers = pointers(c_registers);
                    std::rotate(d_pointers.begin(), d_pointers.begin() + 1, d_pointers.end());
                }
                multiply(mma, {d_pointers.data(), a_pointers.data(), b_pointers.data(), c_pointers.data()});
                if (in_place)
                    for (unsigned i = 0; i < sizes.d; ++i)
                        std::memcpy(d_registers[i].lane, d_pointers[i], sizeof d_registers[i].lane);
                Memory memory;
                const unsigned stride = wmma_default_stride(mma, WmmaMatrix::d, c_layout) + extra;
                access(wmma_accesses(mma, WmmaMatrix::d, c_layout), c_layout, stride, mma.d, memory,
                       d_registers, true);
                for (unsigned row = 0; row < mma.m; ++row)
                    for (unsigned col = 0; col < mma.n; ++col)
                        ASSERT_EQ(
                            memory.get(offset_of(c_layout, row, col, stride, mma.d), element_bits(mma.d)),
                            expected_element(mma, a, b, c.at(row, col), row, col))
                            << name_of(mma) << " trial " << trial << " at " << row << ", " << col;
            }
    }
}

TEST(Matrix, SaturatedFloatsAreFinite) {
    for (const MatrixType type : {f16, f32}) {
        const Mma mma{.m = 16, .n = 16, .k = 16, .c = type, .d = type, .wmma = true, .satfinite = true};
        RandomElements random(17, 3);
        Fragments fragments(mma, random);
        Mma plain = mma;
        plain.satfinite = false;
        auto unsaturated = fragments;
        fragments.run(mma);
        unsaturated.run(plain);
        unsigned infinities = 0, nans = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < 8; ++i) {
                const std::uint32_t bits = element_in(unsaturated.d.data(), type, lane, i);
                const double value = value_of(type, bits);
                const std::uint32_t largest = type == f16 ? 0x7BFF : 0x7F7FFFFF,
                                    sign = type == f16 ? 0x8000 : 0x80000000;
                infinities += std::isinf(value) ? 1 : 0;
                nans += std::isnan(value) ? 1 : 0;
                const std::uint32_t want = std::isnan(value)   ? 0
                                           : std::isinf(value) ? largest | (value < 0 ? sign : 0)
                                                               : bits;
                ASSERT_EQ(element_in(fragments.d.data(), type, lane, i), want);
            }
        EXPECT_GT(infinities, 5u);
        EXPECT_GT(nans, 5u);
    }
}

TEST(Matrix, WmmaOfDoublesHasTheLayoutOfMma) {
    const Mma mma{.m = 8, .n = 8, .k = 4, .a = f64, .b = f64, .c = f64, .d = f64, .wmma = true};
    ASSERT_TRUE(is_supported(mma));
    const std::pair<WmmaMatrix, Formula> matrices[] = {{WmmaMatrix::a, a_m8n8k4_f64},
                                                       {WmmaMatrix::b, b_m8n8k4_f64},
                                                       {WmmaMatrix::c, c_m8n8},
                                                       {WmmaMatrix::d, c_m8n8}};
    for (const auto& [matrix, formula] : matrices)
        for (const auto layout : {MatrixLayout::row, MatrixLayout::col}) {
            const auto accesses = wmma_accesses(mma, matrix, layout);
            ASSERT_EQ(accesses.size(), matrix == WmmaMatrix::a || matrix == WmmaMatrix::b ? 1u : 2u);
            for (const auto& one : accesses)
                for (unsigned lane = 0; lane < 32; ++lane) {
                    EXPECT_EQ(one.bits, 64);
                    EXPECT_EQ(one.row[lane], formula(lane, one.reg).row);
                    EXPECT_EQ(one.column[lane], formula(lane, one.reg).col);
                }
        }
}

// --- ldmatrix, stmatrix, movmatrix: figures 104, 107, 109 and 110

TEST(Matrix, LdmatrixStmatrixAndMovmatrix) {
    RandomElements random(31, 0);
    for (const unsigned count : {1u, 2u, 4u})
        for (const auto transposition : {Transposition::none, Transposition::trans}) {
            std::vector<std::array<std::byte, 16>> rows(8 * count), stored(8 * count);
            std::vector<const std::byte*> from;
            std::vector<std::byte*> to;
            for (unsigned i = 0; i < 8 * count; ++i) {
                from.push_back(rows[i].data());
                to.push_back(stored[i].data());
            }
            for (auto& row : rows)
                for (auto& byte : row) byte = static_cast<std::byte>(random.below(256));
            std::vector<TestRegister> registers(count);
            load_matrices(from.data(), count, transposition, pointers(registers).data());
            for (unsigned i = 0; i < count; ++i)
                for (unsigned lane = 0; lane < 32; ++lane)
                    for (unsigned j = 0; j < 2; ++j) {
                        const unsigned major = lane / 4, minor = lane % 4 * 2 + j;
                        const unsigned row = transposition == Transposition::none ? major : minor,
                                       col = transposition == Transposition::none ? minor : major;
                        std::uint16_t want = 0;
                        std::memcpy(&want, rows[8 * i + row].data() + 2 * col, 2);
                        ASSERT_EQ(element_in(&registers[i], f16, lane, j), want);
                    }
            store_matrices(constant(pointers(registers)).data(), count, transposition, to.data());
            EXPECT_EQ(stored, rows);
        }
    TestRegister a{}, d{};
    for (auto& word : a.lane) word = random.word();
    transpose_matrix(d.lane, a.lane);
    for (unsigned row = 0; row < 8; ++row)
        for (unsigned col = 0; col < 8; ++col)
            ASSERT_EQ(element_in(&d, f16, col * 4 + row / 2, row % 2),
                      element_in(&a, f16, row * 4 + col / 2, col % 2));
    transpose_matrix(a.lane, a.lane);
    EXPECT_EQ(std::memcmp(a.lane, d.lane, sizeof a.lane), 0);
}

}  // namespace
}  // namespace ptxgraft::emulator
