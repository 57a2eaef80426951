#pragma once
/// @file dsl/tcgen05.hpp
/// What the tensor cores of sm_100a are told in numbers (PTX ISA 9.7.16): instruction descriptors,
/// descriptors of matrices in shared memory, addresses and columns of tensor memory. All of it is constexpr
/// and prints nothing, but for the function at the end.
///
/// @code
/// constexpr InstructionDescriptor product{.kind = MmaKind::f16, .m = 128, .n = 256,
///                                         .a = MmaType::bf16, .b = MmaType::bf16};
/// constexpr SharedDescriptor rows{descriptor_of(tile_of(128))};      // K-major, swizzled
/// const auto a = shared_descriptor<rows>(k, a_address), b = shared_descriptor<rows>(k, b_address);
/// k.emit<"mov.u32">(instruction, bits_of<product>);
/// k.emit<tcgen05_mma<product>>(at(d), a, b, instruction, accumulate);
/// @endcode
///
/// A descriptor that the manual does not allow does not compile as `bits_of<…>`, and the message says what
/// would be right; bits() says the same of one that is made when the program runs.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ptxgraft/dsl/matrix.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::dsl {

/// `.kind` of tcgen05.mma (PTX ISA 9.7.16.10).
enum class MmaKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
/// An element of A, B or D, or a scale factor.
enum class MmaType : std::uint8_t {
    f16,
    bf16,
    tf32,
    f32,
    s32,
    u8,
    s8,
    e4m3,
    e5m2,
    e2m3,
    e3m2,
    e2m1,
    ue8m0,
    ue4m3
};

namespace tcgen05 {

inline constexpr std::array<std::string_view, 14> type_words = {"f16",  "bf16", "tf32",  "f32",  "s32",
                                                                "u8",   "s8",   "e4m3",  "e5m2", "e2m3",
                                                                "e3m2", "e2m1", "ue8m0", "ue4m3"};
class Types {
  public:
    constexpr Types(std::initializer_list<MmaType> types) {
        for (const MmaType type : types) bits_ |= 1u << static_cast<unsigned>(type);
    }
    [[nodiscard]] constexpr bool has(MmaType type) const {
        return (bits_ >> static_cast<unsigned>(type) & 1) != 0;
    }

  private:
    std::uint32_t bits_ = 0;
};
inline constexpr Types narrow = {MmaType::e4m3, MmaType::e5m2, MmaType::e2m3, MmaType::e3m2, MmaType::e2m1};

// What tables 39, 42 to 44 and 51 say of a kind.
struct KindRow {
    std::string_view word;
    std::uint32_t depth;  // K of a dense product
    Types multiplicands, sums;
    bool is_scaled = false, is_negatable = true, is_transposable = true;
};
inline constexpr std::array<KindRow, 7> kinds = {{
    {"f16", 16, {MmaType::f16, MmaType::bf16}, {MmaType::f16, MmaType::f32}},
    {"tf32", 8, {MmaType::tf32}, {MmaType::f32}},
    {"f8f6f4", 32, narrow, {MmaType::f16, MmaType::f32}},
    {"i8", 32, {MmaType::u8, MmaType::s8}, {MmaType::s32}, false, false},
    {"mxf8f6f4", 32, narrow, {MmaType::f32}, true},
    {"mxf4", 64, {MmaType::e2m1}, {MmaType::f32}, true, true, false},
    {"mxf4nvf4", 64, {MmaType::e2m1}, {MmaType::f32}, true, true, false},
}};

// In a field of one of these types, whatever the kind but that of 4 bits.
constexpr std::uint32_t code(MmaType type) {
    switch (type) {
        case MmaType::bf16:
        case MmaType::s8:
        case MmaType::e5m2:
        case MmaType::f32:
        case MmaType::ue8m0: return 1;
        case MmaType::tf32:
        case MmaType::s32: return 2;
        case MmaType::e2m3: return 3;
        case MmaType::e3m2: return 4;
        case MmaType::e2m1: return 5;
        default: return 0;
    }
}

// The values of a number: the ones that are listed, and on from the last in steps up to `most`.
struct Values {
    std::array<std::uint32_t, 4> listed = {};  // 0 fills up what is left
    std::uint32_t step = 0, most = 0;
    [[nodiscard]] constexpr bool has(std::uint32_t value) const {
        if (value == 0) return false;
        if (std::find(listed.begin(), listed.end(), value) != listed.end()) return true;
        return step != 0 && value > *std::max_element(listed.begin(), listed.end()) && value <= most &&
               value % step == 0;
    }
    constexpr void say(isa::Message& message) const {
        std::string_view before = "";
        for (const std::uint32_t one : listed)
            if (one != 0) message.add(before).add(std::int64_t{one}), before = ", ";
        if (step != 0)
            message.add(", and on to ").add(std::int64_t{most}).add(" in steps of ").add(std::int64_t{step});
    }
};

}  // namespace tcgen05

/// The instruction descriptor of tcgen05.mma (PTX ISA 9.7.16.4.2), and what the instruction's name says: all
/// that it computes but for where its matrices are. The last four fields are of kinds with block scaling.
struct InstructionDescriptor {
    MmaKind kind = MmaKind::f16;
    std::uint32_t cta_group = 1;                    ///< 1, or 2 with a pair of blocks
    std::uint32_t m = 128, n = 128;                 ///< of the pair's product, with cta_group 2
    MmaType a = MmaType::f16, b = MmaType::f16;     ///< of elements
    MmaType d = MmaType::f32;                       ///< of accumulators
    bool negate_a = false, negate_b = false;        ///< floating point alone
    bool transpose_a = false, transpose_b = false;  ///< A M-major, B N-major, in place of K-major
    bool saturate = false;                          ///< .kind::i8 alone
    bool is_sparse = false;                         ///< tcgen05.mma.sp
    std::uint32_t sparsity_selector = 0;            ///< 0 to 3, of sparse .kind::f16 and .kind::tf32
    bool is_weight_stationary = false;              ///< tcgen05.mma.ws
    std::uint32_t max_shift = 0;                    ///< of B with .ws: 0, 8, 16 or 32 columns
    bool is_depth_96 = false;                       ///< K of 96: 4-bit elements on sm_103a
    std::uint32_t block = 32;                       ///< elements that one scale factor is for: 32, or 16
    MmaType scale = MmaType::ue8m0;                 ///< of scale factors: ue8m0, or ue4m3 with blocks of 16
    std::uint32_t scale_a_id = 0, scale_b_id = 0;   ///< which bytes of a cell (9.7.16.10.7.2)

    /// K, in elements (table 39).
    [[nodiscard]] constexpr std::uint32_t depth() const {
        return is_depth_96 ? 96 : row().depth * (is_sparse ? 2 : 1);
    }
    /// Whether A and B are scaled by blocks.
    [[nodiscard]] constexpr bool is_scaled() const { return row().is_scaled; }
    /// Scale factors of a row of A, and of a column of B: `.scale_vec::1X`, `2X` or `4X` (table 56).
    [[nodiscard]] constexpr std::uint32_t scales() const { return (is_depth_96 ? 96 : row().depth) / block; }
    /// Columns of tensor memory that D takes, a cell an element, whatever its size (9.7.16.10.5). Half or a
    /// quarter of N where lanes beyond M take the rest.
    [[nodiscard]] constexpr std::uint32_t columns() const {
        if (is_weight_stationary) return n * m / 128;
        return cta_group == 2 && m == 128 && !is_sparse ? n / 2 : n;
    }
    /// The same with other scale factors of their cells.
    [[nodiscard]] constexpr InstructionDescriptor with_scales(std::uint32_t id) const {
        InstructionDescriptor other = *this;
        other.scale_a_id = other.scale_b_id = id;
        return other;
    }

    /// What the manual does not allow, and what it would; empty where all is right.
    [[nodiscard]] constexpr isa::Message problem() const {
        isa::Message wrong;
        find_wrong_type(wrong);
        if (wrong.empty()) find_wrong_shape(wrong);
        if (wrong.empty()) find_wrong_option(wrong);
        if (is_scaled())
            find_wrong_scale(wrong);
        else
            check(wrong, scale_a_id == 0 && scale_b_id == 0, "scale_a_id and scale_b_id are 0");
        return wrong;
    }
    /// The 32 bits; Errc::argument_invalid with the words of problem().
    [[nodiscard]] Expected<std::uint32_t> bits() const {
        if (const auto wrong = problem(); !wrong.empty())
            return fail(Errc::argument_invalid, std::string(wrong.view()));
        return encode();
    }
    /// The 32 bits, not looked at.
    [[nodiscard]] constexpr std::uint32_t encode() const {
        const std::uint32_t common = field(is_sparse, 2) | type_field(a) << 7 | type_field(b) << 10 |
                                     field(negate_a, 13) | field(negate_b, 14) | field(transpose_a, 15) |
                                     field(transpose_b, 16) | n >> 3 << 17 | m >> 4 << 24;
        if (is_scaled())
            return common | scale_b_id << 4 | tcgen05::code(scale) << 23 | scale_a_id << 29 |
                   field(is_depth_96, 31);
        return common | sparsity_selector | field(saturate, 3) | tcgen05::code(d) << 4 |
               static_cast<std::uint32_t>(std::bit_width(max_shift / 8)) << 30;
    }

  private:
    static constexpr std::uint32_t field(bool is_set, unsigned at) { return is_set ? 1u << at : 0; }
    [[nodiscard]] constexpr const tcgen05::KindRow& row() const {
        return tcgen05::kinds[static_cast<std::size_t>(kind)];
    }
    [[nodiscard]] constexpr bool is_of_4_bits() const {
        return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4;
    }
    [[nodiscard]] constexpr std::uint32_t type_field(MmaType type) const {
        return is_of_4_bits() ? 1 : tcgen05::code(type);
    }

    constexpr isa::Message& begin(isa::Message& wrong) const {
        return wrong.add(".kind::").add(row().word).add(": ");
    }
    constexpr void check_type(isa::Message& wrong, std::string_view name, MmaType type,
                              const tcgen05::Types& right) const {
        if (right.has(type) || !wrong.empty()) return;
        begin(wrong).add(name).add(" is ").add(tcgen05::type_words[static_cast<std::size_t>(type)]);
        std::string_view before = "; right: ";
        for (std::size_t i = 0; i < tcgen05::type_words.size(); ++i)
            if (right.has(static_cast<MmaType>(i)))
                wrong.add(before).add(tcgen05::type_words[i]), before = ", ";
    }
    constexpr void check_number(isa::Message& wrong, std::string_view name, std::uint32_t value,
                                const tcgen05::Values& right) const {
        if (right.has(value) || !wrong.empty()) return;
        begin(wrong).add(name).add(" is ").add(std::int64_t{value}).add("; right: ");
        right.say(wrong);
    }
    constexpr void check(isa::Message& wrong, bool is_right, std::string_view what) const {
        if (!is_right && wrong.empty()) begin(wrong).add(what);
    }

    constexpr void find_wrong_type(isa::Message& wrong) const {
        check_type(wrong, "a", a, row().multiplicands);
        check_type(wrong, "b", b, row().multiplicands);
        const bool is_half = a == MmaType::f16 && b == MmaType::f16;
        check_type(wrong, "d", d,
                   kind == MmaKind::f16 && !is_half ? tcgen05::Types{MmaType::f32} : row().sums);
    }
    constexpr void find_wrong_shape(isa::Message& wrong) const {
        check_number(wrong, "cta_group", cta_group, {{1, 2}});
        check(wrong, !is_weight_stationary || (cta_group == 1 && !is_scaled()),
              ".ws is of cta_group 1, without block scaling");
        check(wrong, !is_depth_96 || (is_of_4_bits() && !is_sparse && cta_group == 2),
              "a depth of 96 is of dense 4-bit elements with cta_group 2");
        check_number(wrong, "m", m, right_m());
        check_number(wrong, "n", n, right_n());
    }
    [[nodiscard]] constexpr tcgen05::Values right_m() const {
        if (is_weight_stationary) return {{32, 64, 128}};
        if (cta_group == 1) return is_scaled() ? tcgen05::Values{{128}} : tcgen05::Values{{64, 128}};
        return is_depth_96 || (is_scaled() && is_sparse) ? tcgen05::Values{{256}}
                                                         : tcgen05::Values{{128, 256}};
    }
    [[nodiscard]] constexpr tcgen05::Values right_n() const {
        if (is_weight_stationary) return {{64, 128, is_sparse ? 0u : 256u}};
        // Table 52, of elements of 8 bits
        const bool is_wide = transpose_b && kind != MmaKind::f16 && kind != MmaKind::tf32;
        if (kind == MmaKind::i8 && cta_group == 1 && !is_wide) return {{8, 16, 24, 32}, 16, 256};
        const std::uint32_t step = (is_wide || kind == MmaKind::i8 ? 16 : 8) * cta_group;
        return {{step, 2 * step, 3 * step}, step, 256};
    }
    constexpr void find_wrong_option(isa::Message& wrong) const {
        const tcgen05::Types bytes = {MmaType::u8, MmaType::s8, MmaType::e4m3, MmaType::e5m2};
        const bool is_wide = kind == MmaKind::f16 || kind == MmaKind::tf32;
        check(wrong, row().is_negatable || (!negate_a && !negate_b), "negate_a and negate_b are false");
        check(wrong, !transpose_a || (row().is_transposable && (is_wide || bytes.has(a))),
              "transpose_a is false of elements of 4 and 6 bits");
        check(wrong, !transpose_b || (row().is_transposable && (is_wide || bytes.has(b))),
              "transpose_b is false of elements of 4 and 6 bits");
        check(wrong, kind == MmaKind::i8 || !saturate, "saturate is false");
        check(wrong, sparsity_selector == 0 || (is_sparse && is_wide && sparsity_selector < 4),
              "sparsity_selector is 0, or up to 3 of sparse .kind::f16 and .kind::tf32");
        check(wrong, max_shift == 0 || (is_weight_stationary && tcgen05::Values{{8, 16, 32}}.has(max_shift)),
              "max_shift is 0, or 8, 16 or 32 with .ws");
    }
    constexpr void find_wrong_scale(isa::Message& wrong) const {
        const bool has_blocks_of_16 = kind == MmaKind::mxf4nvf4;
        check_number(wrong, "block", block,
                     has_blocks_of_16 ? tcgen05::Values{{16, 32}} : tcgen05::Values{{32}});
        if (!wrong.empty()) return;
        check_type(
            wrong, "scale", scale,
            block == 16 ? tcgen05::Types{MmaType::ue8m0, MmaType::ue4m3} : tcgen05::Types{MmaType::ue8m0});
        // A cell has four; those of one product stand together in it. (K of 96: 9.7.16.10.7.2.4 and .5)
        const std::uint32_t step = is_depth_96 ? (block == 16 ? 2 : 1) : scales();
        check(wrong, is_id(scale_a_id, step) && is_id(scale_b_id, step),
              step == 1   ? "scale_a_id and scale_b_id are 0 to 3"
              : step == 2 ? "scale_a_id and scale_b_id are 0 or 2"
                          : "scale_a_id and scale_b_id are 0");
    }
    static constexpr bool is_id(std::uint32_t id, std::uint32_t step) { return id < 4 && id % step == 0; }
};

/// How a matrix lies in shared memory, for tcgen05.mma and tcgen05.cp (PTX ISA 9.7.16.4.1): the layout of
/// wgmma's descriptor in other bits, with one more swizzle (TensorSwizzle::bytes128_atom32). What advances
/// the one advances the other: MatrixDescriptor::advance.
struct SharedDescriptor {
    MatrixDescriptor layout = {};
    bool is_leading_address =
        false;  ///< `leading_bytes` is an address: of depth 96, on sm_103a (9.7.16.3.1.2)

    /// As of an instruction descriptor.
    [[nodiscard]] constexpr isa::Message problem() const {
        isa::Message wrong;
        if (mode() == no_mode)
            wrong.add("swizzle: none, bytes32, bytes64, bytes128 and bytes128_atom32 are right");
        else if (!is_encoded(layout.leading_bytes) || !is_encoded(layout.stride_bytes))
            wrong.add("leading_bytes and stride_bytes are multiples of 16 below 262144");
        else if (layout.base_offset > 7)
            wrong.add("base_offset is 0 to 7");
        else if (is_leading_address && (layout.swizzle != TensorSwizzle::bytes128 || layout.base_offset != 0))
            wrong.add("is_leading_address is of bytes128 with a base_offset of 0");
        return wrong;
    }
    /// The descriptor of a matrix at this address in shared memory, a multiple of 16.
    [[nodiscard]] Expected<std::uint64_t> bits(std::uint32_t address = 0) const {
        if (const auto wrong = problem(); !wrong.empty())
            return fail(Errc::argument_invalid, std::string(wrong.view()));
        if (!is_encoded(address))
            return fail(Errc::argument_invalid,
                        "an address of shared memory is a multiple of 16 below 262144");
        return encode(address);
    }
    /// The same, not looked at.
    [[nodiscard]] constexpr std::uint64_t encode(std::uint32_t address = 0) const {
        MatrixDescriptor without_mode = layout;
        without_mode.swizzle = TensorSwizzle::none;
        return without_mode.bits(address) | std::uint64_t{1} << 46 |
               std::uint64_t{is_leading_address ? 1u : 0u} << 52 | std::uint64_t{mode()} << 61;
    }
    /// Bytes from a K-major matrix to where the product number `i` along K begins in it: all products take
    /// 32 bytes of a row (sparse ones, of B, 64 by `bytes`), before swizzling or without.
    [[nodiscard]] constexpr std::uint32_t along_k(std::uint32_t i, std::uint32_t bytes = 32) const {
        return layout.swizzle == TensorSwizzle::none ? i * bytes / 16 * layout.leading_bytes : i * bytes;
    }

  private:
    static constexpr std::uint32_t no_mode = 7;
    static constexpr bool is_encoded(std::uint32_t bytes) { return bytes % 16 == 0 && bytes < 1u << 18; }
    [[nodiscard]] constexpr std::uint32_t mode() const {
        switch (layout.swizzle) {
            case TensorSwizzle::none: return 0;
            case TensorSwizzle::bytes128_atom32: return 1;
            case TensorSwizzle::bytes128: return 2;
            case TensorSwizzle::bytes64: return 4;
            case TensorSwizzle::bytes32: return 6;
            default: return no_mode;
        }
    }
};

/// Whether a product takes A, or B, from a matrix that lies so (table 54): what is transposed, of elements of
/// 32 bits, with TensorSwizzle::bytes128_atom32 alone, of others without it.
[[nodiscard]] constexpr bool takes_a(const InstructionDescriptor& product, const SharedDescriptor& matrix) {
    const bool has_atoms_of_32 = matrix.layout.swizzle == TensorSwizzle::bytes128_atom32;
    return !product.transpose_a || has_atoms_of_32 == (product.kind == MmaKind::tf32);
}
[[nodiscard]] constexpr bool takes_b(const InstructionDescriptor& product, const SharedDescriptor& matrix) {
    InstructionDescriptor other = product;
    other.transpose_a = product.transpose_b;
    return takes_a(other, matrix);
}

/// Columns of B that tcgen05.mma.ws takes for zeros (PTX ISA 9.7.16.4.3). The numbers are those of the
/// fields, spans one less than the columns that they count. (The manual calls `skip_span` the columns of B
/// that are used and `use_span` those that are not; its examples have them the other way round.)
struct ZeroColumnMask {
    std::array<std::uint32_t, 4> start_count =
        {};  ///< of each part of N: one with M 128, two of 64, four of 32
    std::array<bool, 4> first_span = {};
    bool is_any = true;  ///< "Non-Zero Mask": false makes a mask of zeros alone
    std::uint32_t skip_span = 0, use_span = 0, column_shift = 0;

    [[nodiscard]] constexpr isa::Message problem(std::uint32_t m) const {
        isa::Message wrong;
        if (*std::max_element(start_count.begin(), start_count.end()) > 255 || skip_span > 255 ||
            use_span > 255)
            wrong.add("start_count, skip_span and use_span are 0 to 255");
        else if (column_shift > (m == 32 ? 16 : 32))
            wrong.add(m == 32 ? "column_shift is 0 to 16 with M 32" : "column_shift is 0 to 32");
        return wrong;
    }
    /// The 64 bits, for a product of `m` rows.
    [[nodiscard]] Expected<std::uint64_t> bits(std::uint32_t m) const {
        if (const auto wrong = problem(m); !wrong.empty())
            return fail(Errc::argument_invalid, std::string(wrong.view()));
        return encode();
    }
    [[nodiscard]] constexpr std::uint64_t encode() const {
        std::uint64_t all = std::uint64_t{is_any ? 1u : 0u} << 39 | std::uint64_t{skip_span} << 40 |
                            std::uint64_t{use_span} << 48 | std::uint64_t{column_shift} << 56;
        for (std::size_t i = 0; i < 4; ++i)
            all |= std::uint64_t{start_count[i]} << 8 * i | std::uint64_t{first_span[i] ? 1u : 0u}
                                                                << (32 + i);
        return all;
    }
};

namespace emitting {

template <auto Descriptor> consteval auto checked_bits() {
    constexpr isa::Message wrong = Descriptor.problem();
    if constexpr (!wrong.empty()) {
        constexpr auto message = [] {
            Text<Descriptor.problem().view().size()> out;
            const isa::Message again = Descriptor.problem();
            for (std::size_t i = 0; i < out.size(); ++i) out.text[i] = again.view()[i];
            return out;
        }();
        refuse<message, Descriptor>();
    }
    return Descriptor.encode();
}

template <InstructionDescriptor D> consteval auto tcgen05_mma() {
    constexpr auto words = [] {
        isa::Message name;
        name.add("tcgen05.mma").add(D.is_weight_stationary ? ".ws" : "").add(D.is_sparse ? ".sp" : "");
        name.add(".cta_group::").add(std::int64_t{D.cta_group});
        name.add(".kind::").add(tcgen05::kinds[static_cast<std::size_t>(D.kind)].word);
        if (D.is_scaled()) name.add(".block_scale.block").add(std::int64_t{D.block});
        return name;
    };
    Literal<words().view().size() + 1> name;
    const isa::Message all = words();
    for (std::size_t i = 0; i < all.view().size(); ++i) name.text[i] = all.view()[i];
    return name;
}

}  // namespace emitting

/// The name of an instruction of a CTA group, for emit: `grouped<"tcgen05.alloc", 2, ".sync.aligned.b32">()`.
template <Literal Stem, std::uint32_t CtaGroup, Literal Rest> [[nodiscard]] consteval auto grouped() {
    static_assert(CtaGroup == 1 || CtaGroup == 2);
    constexpr std::string_view group = CtaGroup == 1 ? ".cta_group::1" : ".cta_group::2";
    Literal<Stem.view().size() + group.size() + sizeof Rest.text> name;
    std::size_t size = 0;
    for (const std::string_view part : {Stem.view(), group, Rest.view()})
        for (const char c : part) name.text[size++] = c;
    return name;
}
/// The bits of an instruction descriptor, or of a matrix descriptor for the address 0, checked while C++
/// compiles: `bits_of<InstructionDescriptor{.m = 64}>`.
template <auto Descriptor> inline constexpr auto bits_of = emitting::checked_bits<Descriptor>();
/// The name of the instruction that takes it, for emit: "tcgen05.mma.cta_group::1.kind::f16".
template <InstructionDescriptor D> inline constexpr auto tcgen05_mma = emitting::tcgen05_mma<D>();

// ---- tensor memory (PTX ISA 9.7.16.1): 128 lanes, 512 columns, cells of 32 bits

inline constexpr std::uint32_t tensor_lanes = 128, tensor_columns = 512;

/// What is added to an address for what lies so many lanes and columns on.
[[nodiscard]] constexpr std::uint32_t tensor_offset(std::uint32_t lane, std::uint32_t column) {
    return lane << 16 | column;
}
/// The first of the 32 lanes that a warp of a block reads and writes by tcgen05.ld and .st (9.7.16.8.1).
[[nodiscard]] constexpr std::uint32_t first_lane_of(std::uint32_t warp) { return warp % 4 * 32; }
/// What tcgen05.alloc is asked for when so many columns are needed, up to tensor_columns (9.7.16.7.1).
[[nodiscard]] constexpr std::uint32_t allocated_columns(std::uint32_t needed) {
    return std::max(32u, std::bit_ceil(needed));
}
/// `ctaMask` of a commit with .multicast::cluster to both blocks of the pair of a block with this rank in its
/// cluster (9.7.16.5.1, 9.7.16.12).
[[nodiscard]] constexpr std::uint16_t pair_mask(std::uint32_t rank) {
    return static_cast<std::uint16_t>(3u << (rank & ~1u));
}

// ---- scale factors, a byte for each block of a row of A or column of B (PTX ISA 9.7.16.10.7)

/// Rows and blocks whose scale factors are kept together: 512 bytes in memory, 4 columns of tensor memory.
/// Of row r and block k they have, in memory, byte 16 (r mod 32) + 4 (r / 32) + k; tcgen05.cp .32x128b.warpx4
/// by scale_descriptor makes of that byte k of the cell in lane r mod 32 and column r / 32, in each quarter
/// of the lanes, which is where tcgen05.mma looks for it.
struct ScaleTile {
    static constexpr std::uint32_t rows = 128, blocks = 4, bytes = rows * blocks, columns = 4;

    /// Where a scale factor is in memory, of a matrix whose rows have so many tiles: tiles along a row stand
    /// one behind the other.
    [[nodiscard]] static constexpr std::uint64_t offset(std::uint32_t row, std::uint32_t block,
                                                        std::uint32_t tiles_along) {
        const std::uint64_t tile = std::uint64_t{row / rows} * tiles_along + block / blocks;
        return tile * bytes + row % 32 * 16 + row % rows / 32 * 4 + block % blocks;
    }
    /// Tiles for so many rows, or blocks.
    [[nodiscard]] static constexpr std::uint32_t tiles_of_rows(std::uint32_t count) {
        return (count + rows - 1) / rows;
    }
    [[nodiscard]] static constexpr std::uint32_t tiles_of_blocks(std::uint32_t count) {
        return (count + blocks - 1) / blocks;
    }
};
/// Of a ScaleTile in shared memory, for tcgen05.cp .32x128b: 16 bytes a row, 8 rows after 8 rows.
inline constexpr SharedDescriptor scale_descriptor{{.leading_bytes = 16, .stride_bytes = 128}};

// ---- what prints

/// The descriptor of a matrix whose address in shared memory is in a register, printed as descriptor() does.
template <SharedDescriptor D, Target On> Reg<u64> shared_descriptor(Builder<On>& b, Reg<u32> address) {
    return emitting::descriptor(b, bits_of<D>, address);
}

}  // namespace ptxgraft::dsl
