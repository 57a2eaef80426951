// mma, mma.sp, wmma, ldmatrix, stmatrix, movmatrix, wgmma.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/decode/decode.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::emulator {
namespace {

struct MatrixShape {
    std::array<std::uint16_t, 3> sizes = {};  ///< m, n, k
};

/// `.m16n8k16`, `.m8n8`
std::optional<MatrixShape> matrix_shape(std::string_view word) {
    MatrixShape shape;
    if (!word.starts_with(".m")) return std::nullopt;
    std::size_t at = 1;
    for (std::size_t i = 0; i < 3 && at < word.size(); ++i) {
        if (word[at++] != "mnk"[i]) return std::nullopt;
        const std::size_t begin = at;
        for (; at < word.size() && word[at] >= '0' && word[at] <= '9' && at - begin < 4; ++at)
            shape.sizes[i] = static_cast<std::uint16_t>(shape.sizes[i] * 10 + (word[at] - '0'));
        if (at == begin) return std::nullopt;
    }
    if (at != word.size()) return std::nullopt;
    return shape;
}

/// The modifiers that matrix instructions have in common, each group in its order.
struct MatrixWords {
    explicit MatrixWords(const syntax::Instruction& instruction) {
        for (const std::string_view word : instruction.modifiers) {
            if (const auto* const row = syntax::find_type(word))
                types.push_back(row->type);
            else if (const auto found = matrix_shape(word))
                shape = *found;
            else if (word == ".row" || word == ".col")
                layouts.push_back(word == ".row" ? MatrixLayout::row : MatrixLayout::col);
        }
    }
    std::vector<MatrixType> types;
    std::vector<MatrixLayout> layouts;
    MatrixShape shape;
};

/// In front of an instruction of the whole warp.
void gather_lanes(FunctionDecoder& decoder) {
    const CollectiveCall all{sync_collective(), 0, decoder.constant(~std::uint64_t{0}, 4)};
    decoder.emit(Draft(execute_gathering, decoder.add(all)));
    decoder.program().code.back().is_micro_op = true;
}

/// An instruction of the whole warp on `matrix`, whose address, if it has one, is that of its access.
Expected<Draft> bind_matrix(FunctionDecoder& decoder, const MatchedInstruction& instruction, Execute execute,
                            MatrixInstruction matrix, bool has_address) {
    gather_lanes(decoder);
    Draft draft(execute);
    TRY(decoder.bind(draft, instruction, has_address ? &matrix.access : nullptr));
    draft.set(decoder.add(std::move(matrix)));
    return draft;
}

/// What it reads behind the first `strict` inputs may be undefined: so are then the results that come of it.
void defines_results(Draft& draft, std::size_t strict) {
    draft.operation.strict = static_cast<std::uint8_t>(strict);
    draft.operation.self_marked_outputs = draft.operation.outputs;
}

/// Which threads' metadata count; ptxas takes numbers that have no meaning for some.
Expected<std::uint8_t> selector_of(const MatchedInstruction& instruction, std::string_view name,
                                   std::int64_t most) {
    const std::int64_t selector = instruction.constant(name).value_or(0);
    if (selector <= most) return static_cast<std::uint8_t>(selector);
    return fail(Errc::operand_invalid, instruction.operand(name)->span(),
                fmt::format("{}, where a constant from 0 to {} is wanted", selector, most));
}

// --- mma, mma.sp, wmma.mma

Expected<Draft> decode_product(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const MatrixWords words(instruction);
    const auto& types = words.types;
    Mma mma{.m = words.shape.sizes[0],
            .n = words.shape.sizes[1],
            .k = words.shape.sizes[2],
            .c = types.back(),
            .d = types.front(),
            .a_layout = words.layouts[0],
            .b_layout = words.layouts[1],
            .wmma = instruction.opcode == "wmma",
            .satfinite = instruction.has(".satfinite"),
            .bits = instruction.has(".and") ? BitOperation::and_ : BitOperation::xor_};
    if (types.size() == 4) {  // otherwise a and b are .f16
        mma.a = types[1];
        mma.b = types[2];
    }
    if (instruction.has(".sp")) mma.sparsity = Sparsity::sp;
    if (instruction.has(".sp::ordered_metadata")) mma.sparsity = Sparsity::ordered;
    constexpr std::string_view roundings[] = {".rn", ".rz", ".rm", ".rp"};
    for (std::size_t i = 0; i < 4; ++i)
        if (instruction.has(roundings[i])) mma.rounding = static_cast<MatrixRounding>(i);
    if (!is_supported(mma)) return decoder.missing(instruction);
    constexpr unsigned bits_of_one_thread = 256;  // of a row of A whose metadata one thread has
    mma.selector =
        TRY(selector_of(instruction, "f", mma.k * element_bits(mma.a) == bits_of_one_thread ? 3 : 1));
    Draft draft = TRY(bind_matrix(decoder, instruction, execute_mma, {.mma = mma}, false));
    defines_results(draft, 0);
    return draft;
}

// --- wmma.load, wmma.store: the shape and one type say which instruction they are for.

std::optional<Mma> wmma_for(WmmaMatrix matrix, const MatrixShape& shape, MatrixType type) {
    const auto types_of = [&](MatrixType multiplicand, MatrixType accumulator) {
        return Mma{.m = shape.sizes[0],
                   .n = shape.sizes[1],
                   .k = shape.sizes[2],
                   .a = multiplicand,
                   .b = multiplicand,
                   .c = accumulator,
                   .d = accumulator,
                   .wmma = true};
    };
    using enum syntax::Type;
    constexpr std::pair<MatrixType, MatrixType> pairs[] = {{f16, f16}, {f16, f32}, {bf16, f32}, {tf32, f32},
                                                           {f64, f64}, {s8, s32},  {u8, s32},   {s4, s32},
                                                           {u4, s32},  {b1, s32}};
    const bool multiplicand = matrix == WmmaMatrix::a || matrix == WmmaMatrix::b;
    for (const auto& [ab, cd] : pairs) {
        const Mma mma = types_of(ab, cd);
        if ((multiplicand ? ab : cd) == type && is_supported(mma)) return mma;
    }
    return std::nullopt;
}

Expected<MatrixInstruction> wmma_matrix(FunctionDecoder& decoder, const MatchedInstruction& instruction,
                                        WmmaMatrix which) {
    const MatrixWords words(instruction);
    const auto mma = wmma_for(which, words.shape, words.types[0]);
    if (!mma) return decoder.missing(instruction);
    const MatrixLayout layout = words.layouts[0],
                       across = layout == MatrixLayout::row ? MatrixLayout::col : MatrixLayout::row;
    return MatrixInstruction{.mma = *mma,
                             .matrix = which,
                             .layout = layout,
                             .accesses = wmma_accesses(*mma, which, layout),
                             .least_stride = wmma_default_stride(*mma, which, layout),
                             .lines = wmma_default_stride(*mma, which, across),
                             .has_stride = instruction.operands.size() == 3,
                             .access = {.space = space_of(instruction)}};
}

template <WmmaMatrix Which>
Expected<Draft> decode_wmma_load(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    auto matrix = TRY(wmma_matrix(decoder, instruction, Which));
    return bind_matrix(decoder, instruction, execute_wmma_load, std::move(matrix), true);
}

// [a], b {, stride}: the stride comes before the fragment.
Expected<Draft> decode_wmma_store(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    auto matrix = TRY(wmma_matrix(decoder, instruction, WmmaMatrix::d));
    const std::size_t fragment = fragment_sizes(matrix.mma).d;
    const bool has_stride = matrix.has_stride;
    Draft draft = TRY(bind_matrix(decoder, instruction, execute_wmma_store, std::move(matrix), true));
    const auto inputs = draft.inputs();
    const std::size_t first = inputs.size() - fragment - (has_stride ? 1 : 0);
    if (has_stride)
        std::rotate(inputs.begin() + static_cast<std::ptrdiff_t>(first), inputs.end() - 1, inputs.end());
    defines_results(draft, inputs.size() - fragment);
    return draft;
}

// --- ldmatrix, stmatrix, movmatrix

MatrixInstruction matrix_rows_of(const MatchedInstruction& instruction) {
    return {.transposition = instruction.has(".trans") ? Transposition::trans : Transposition::none,
            .access = {.space = space_of(instruction), .bytes = 16}};
}

Expected<Draft> decode_ldmatrix(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    return bind_matrix(decoder, instruction, execute_ldmatrix, matrix_rows_of(instruction), true);
}

Expected<Draft> decode_stmatrix(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Draft draft = TRY(bind_matrix(decoder, instruction, execute_stmatrix, matrix_rows_of(instruction), true));
    const std::string_view number = one_of(instruction, {".x1", ".x2", ".x4"});
    defines_results(draft, draft.inputs().size() - static_cast<std::size_t>(number[2] - '0'));
    return draft;
}

Expected<Draft> decode_movmatrix(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Draft draft = TRY(bind_matrix(decoder, instruction, execute_movmatrix, {}, false));
    defines_results(draft, 0);
    return draft;
}

// --- wgmma

/// Its outputs, and as many of its first inputs.
void name_fragments(Function& function, const Draft& draft, unsigned inputs) {
    const auto refs = draft.refs();
    for (unsigned i = 0; i < draft.operation.outputs + inputs; ++i)
        if (is_register(refs[i]))
            function.fragments.push_back({offset(refs[i]) / 32, i < draft.operation.outputs});
}

Expected<Draft> decode_wgmma_product(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    decoder.program().uses_wgmma = true;
    const MatrixWords words(instruction);
    const bool in_registers = decoder.is_vector(instruction.operands[1]);
    const std::uint8_t selector = TRY(selector_of(instruction, "sel", 1));
    const Wgmma wgmma{.n = words.shape.sizes[1],
                      .a = words.types[1],
                      .b = words.types[2],
                      .d = words.types[0],
                      .satfinite = instruction.has(".satfinite"),
                      .sparse = instruction.has(".sp"),
                      .selector = selector,
                      .negate_a = instruction.constant("imm-scale-a") == -1,
                      .negate_b = instruction.constant("imm-scale-b") == -1,
                      .transpose_a = instruction.constant("imm-trans-a") == 1,
                      .transpose_b = instruction.constant("imm-trans-b") == 1};
    if (!is_supported(wgmma)) return decoder.missing(instruction);
    decoder.program().uses_async_proxy = true;
    Draft draft = TRY(bind_matrix(decoder, instruction, execute_wgmma,
                                  {.wgmma = wgmma, .a_in_registers = in_registers}, false));
    defines_results(draft, 0);
    if (!decoder.module().is_debug()) name_fragments(decoder.function(), draft, in_registers ? 4 : 0);
    return draft;
}

// Products are computed where they stand; what is left to wait for is the other warps.
template <Execute E>
Expected<Draft> decode_wgmma_order(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    decoder.program().uses_wgmma = true;
    const std::uint32_t pending = TRY(decoder.pending_groups(instruction));
    gather_lanes(decoder);
    return Draft(E, pending);
}

constexpr InstructionRow matrix_instructions[] = {
    {"mma", decode_product, Shaping::plain},
    {"wmma.mma", decode_product},
    {"wmma.load.a", decode_wmma_load<WmmaMatrix::a>},
    {"wmma.load.b", decode_wmma_load<WmmaMatrix::b>},
    {"wmma.load.c", decode_wmma_load<WmmaMatrix::c>},
    {"wmma.store.d", decode_wmma_store},
    {"ldmatrix", decode_ldmatrix, Shaping::plain},
    {"stmatrix", decode_stmatrix, Shaping::plain},
    {"movmatrix", decode_movmatrix, Shaping::plain},
    {"wgmma.mma_async", decode_wgmma_product},
    {"wgmma.fence", decode_wgmma_order<execute_wgmma_fence>},
    {"wgmma.commit_group", decode_wgmma_order<execute_wgmma_commit>},
    {"wgmma.wait_group", decode_wgmma_order<execute_wgmma_wait>},
};

}  // namespace

std::span<const InstructionRow> matrix_rows() { return matrix_instructions; }

}  // namespace ptxgraft::emulator
