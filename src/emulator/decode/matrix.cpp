// mma, mma.sp, wmma, ldmatrix, stmatrix, movmatrix, wgmma.
#include <fmt/format.h>

#include <array>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"
#include "syntax/types.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;
using syntax::Operand;

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
    explicit MatrixWords(Words& words) {
        for (const std::string_view word : std::vector<std::string_view>(words.left())) {
            if (const auto* const row = syntax::find_type(word))
                types.push_back(row->type);
            else if (const auto found = matrix_shape(word))
                shape = *found;
            else if (word == ".row" || word == ".col")
                layouts.push_back(word == ".row" ? MatrixLayout::row : MatrixLayout::col);
            else
                continue;
            words.take(word);
        }
        words.take(".sync");
        words.take(".aligned");
    }
    std::vector<MatrixType> types;
    std::vector<MatrixLayout> layouts;
    MatrixShape shape;
};

Space take_space(Words& words) {
    if (words.take(".global")) return Space::global;
    return words.take_of({".shared", ".shared::cta"}).empty() ? Space::generic : Space::shared;
}

tl::unexpected<Error> wrong_operand(const Operand& operand, std::string_view wanted) {
    return fail(Errc::operand_invalid, operand.span(), fmt::format("{}, where {}", operand.text(), wanted));
}

/// In front of an instruction of the whole warp.
void gather_lanes(FunctionDecoder& decoder) {
    const CollectiveCall all{sync_collective(), 0, decoder.constant(~std::uint64_t{0}, 4)};
    decoder.emit(Draft(execute_gathering, decoder.add(all)));
    decoder.program().code.back().is_micro_op = true;
}

Draft draft_of(FunctionDecoder& decoder, Execute execute, MatrixInstruction instruction) {
    gather_lanes(decoder);
    return Draft(execute, decoder.add(std::move(instruction)));
}

std::uint32_t register_bytes(MatrixType type) { return type == MatrixType::f64 ? 8 : 4; }

Expected<void> add_outputs(FunctionDecoder& decoder, Draft& draft, const Operand& operand, unsigned count,
                           std::uint32_t bytes) {
    const auto refs = TRY(decoder.outputs(operand, bytes));
    if (refs.size() != count)
        return wrong_operand(operand, fmt::format("a vector of {} registers is wanted", count));
    for (const Ref ref : refs) draft.output(ref);
    return {};
}

Expected<void> add_inputs(FunctionDecoder& decoder, Draft& draft, const Operand& operand, unsigned count,
                          MatrixType type) {
    const ImmediateType immediate = type == MatrixType::f32   ? ImmediateType::f32
                                    : type == MatrixType::f64 ? ImmediateType::f64
                                                              : ImmediateType::integer;
    const auto refs = TRY(decoder.inputs(operand, register_bytes(type), immediate));
    if (refs.size() != count)
        return wrong_operand(operand, fmt::format("a vector of {} registers is wanted", count));
    for (const Ref ref : refs) draft.input(ref);
    return {};
}

Expected<void> add_input(FunctionDecoder& decoder, Draft& draft, const Operand& operand,
                         std::uint32_t bytes) {
    const auto ref = TRY(decoder.input(operand, bytes));
    draft.input(ref);
    return {};
}

/// What it reads behind the first `strict` inputs may be undefined: so are then the results that come of it.
void defines_results(Draft& draft, unsigned strict) {
    draft.operation.strict = static_cast<std::uint8_t>(strict);
    draft.operation.self_marked_outputs = draft.operation.outputs;
}

/// A constant operand of a few values.
Expected<std::int64_t> constant_of(const Operand& operand, std::int64_t least, std::int64_t most) {
    if (const auto value = integer_of(operand); value && *value >= least && *value <= most) return *value;
    return wrong_operand(operand, fmt::format("a constant from {} to {} is wanted", least, most));
}

// --- mma, mma.sp, wmma.mma

Expected<Draft> decode_product(FunctionDecoder& decoder, const Instruction& instruction, Words& words,
                               Mma mma) {
    const MatrixWords common(words);
    mma.satfinite = words.take(".satfinite");
    mma.bits = words.take(".and") ? BitOperation::and_ : BitOperation::xor_;
    words.take(".xor");
    words.take(".popc");
    constexpr std::string_view roundings[] = {".rn", ".rz", ".rm", ".rp"};
    for (std::size_t i = 0; i < 4; ++i)
        if (words.take(roundings[i])) mma.rounding = static_cast<MatrixRounding>(i);
    mma.m = common.shape.sizes[0];
    mma.n = common.shape.sizes[1];
    mma.k = common.shape.sizes[2];
    const auto& types = common.types;
    if (!words.empty() || common.layouts.size() != 2 ||
        (types.size() != 4 && !(mma.wmma && types.size() == 2)))
        return decoder.missing(instruction);
    mma.d = types.front();
    mma.c = types.back();
    if (types.size() == 4) {  // otherwise a and b are .f16
        mma.a = types[1];
        mma.b = types[2];
    }
    mma.a_layout = common.layouts[0];
    mma.b_layout = common.layouts[1];
    const bool sparse = mma.sparsity != Sparsity::dense;
    if (!is_supported(mma) ||
        (mma.satfinite && mma.d != MatrixType::s32 && !(mma.wmma && mma.a == MatrixType::f16)))
        return decoder.missing(instruction);
    const auto& operands = instruction.operands;
    if (sparse) {
        const bool one_lane = mma.k * element_bits(mma.a) == 256,
                   all_lanes = element_bits(mma.a) <= 8 && !one_lane;
        const auto selector = TRY(constant_of(operands[5], 0,
                                              all_lanes                               ? 0
                                              : one_lane && element_bits(mma.a) >= 16 ? 3
                                                                                      : 1));
        mma.selector = static_cast<std::uint8_t>(selector);
    }
    const FragmentSizes sizes = fragment_sizes(mma);
    Draft draft = draft_of(decoder, execute_mma, {.mma = mma});
    auto done = add_outputs(decoder, draft, operands[0], sizes.d, register_bytes(mma.d));
    if (done) done = add_inputs(decoder, draft, operands[1], sizes.a, mma.a);
    if (done) done = add_inputs(decoder, draft, operands[2], sizes.b, mma.b);
    if (done) done = add_inputs(decoder, draft, operands[3], sizes.c, mma.c);
    if (done && sparse) done = add_inputs(decoder, draft, operands[4], 1, MatrixType::s32);
    if (!done) return tl::unexpected<Error>(done.error());
    defines_results(draft, 0);
    return draft;
}

Expected<Draft> decode_mma(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    Mma mma;
    if (words.take(".sp"))
        mma.sparsity = Sparsity::sp;
    else if (words.take(".sp::ordered_metadata"))
        mma.sparsity = Sparsity::ordered;
    return decode_product(decoder, instruction, words, mma);
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

Expected<Draft> decode_wmma_memory(FunctionDecoder& decoder, const Instruction& instruction, Words& words) {
    const bool loads = words.take(".load");
    if (!loads && !words.take(".store")) return decoder.missing(instruction);
    const std::string_view which = words.take_of({".a", ".b", ".c", ".d"});
    MatrixInstruction matrix;
    matrix.matrix = which == ".a"   ? WmmaMatrix::a
                    : which == ".b" ? WmmaMatrix::b
                    : which == ".c" ? WmmaMatrix::c
                                    : WmmaMatrix::d;
    const MatrixWords common(words);
    matrix.access.space = take_space(words);
    if (!words.empty() || which.empty() || loads == (which == ".d") || common.types.size() != 1 ||
        common.layouts.size() != 1)
        return decoder.missing(instruction);
    const MatrixType type = common.types[0];
    const auto mma = wmma_for(matrix.matrix, common.shape, type);
    if (!mma) return decoder.missing(instruction);
    matrix.mma = *mma;
    matrix.layout = common.layouts[0];
    if (element_bits(type) < 8 && matrix.layout != (which == ".a" ? MatrixLayout::row : MatrixLayout::col))
        return decoder.missing(instruction);
    matrix.accesses = wmma_accesses(*mma, matrix.matrix, matrix.layout);
    matrix.least_stride = wmma_default_stride(*mma, matrix.matrix, matrix.layout);
    const MatrixLayout across = matrix.layout == MatrixLayout::row ? MatrixLayout::col : MatrixLayout::row;
    matrix.lines = wmma_default_stride(*mma, matrix.matrix, across);
    const auto& operands = instruction.operands;
    matrix.has_stride = operands.size() == 3;
    const auto base = TRY(decoder.address(operands[loads ? 1 : 0], matrix.access));
    const bool has_base = matrix.access.has_base, has_stride = matrix.has_stride;
    const FragmentSizes sizes = fragment_sizes(*mma);
    const unsigned count = which == ".a"   ? sizes.a
                           : which == ".b" ? sizes.b
                           : which == ".c" ? sizes.c
                                           : sizes.d;
    Draft draft = draft_of(decoder, loads ? execute_wmma_load : execute_wmma_store, std::move(matrix));
    Expected<void> done;
    if (loads) done = add_outputs(decoder, draft, operands[0], count, register_bytes(type));
    if (has_base) draft.input(base);
    if (done && has_stride) done = add_input(decoder, draft, operands[2], 4);
    if (!loads) defines_results(draft, draft.operation.inputs);
    if (done && !loads) done = add_inputs(decoder, draft, operands[1], count, type);
    if (!done) return tl::unexpected<Error>(done.error());
    return draft;
}

Expected<Draft> decode_wmma(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    if (words.take(".mma")) return decode_product(decoder, instruction, words, {.wmma = true});
    return decode_wmma_memory(decoder, instruction, words);
}

// --- ldmatrix, stmatrix, movmatrix

Expected<Draft> decode_matrix_rows(FunctionDecoder& decoder, const Instruction& instruction) {
    const bool loads = instruction.opcode == "ldmatrix";
    Words words(instruction);
    const std::string_view number = words.take_of({".x1", ".x2", ".x4"});
    MatrixInstruction matrix;
    if (words.take(".trans")) matrix.transposition = Transposition::trans;
    const bool understood = words.take(".m8n8") && words.take(".b16") && words.take(".sync");
    words.take(".aligned");
    matrix.access.space = words.take_of({".shared", ".shared::cta"}).empty() ? Space::generic : Space::shared;
    matrix.access.bytes = 16;
    if (!words.empty() || !understood || number.empty()) return decoder.missing(instruction);
    const auto& operands = instruction.operands;
    const auto base = TRY(decoder.address(operands[loads ? 1 : 0], matrix.access));
    const bool has_base = matrix.access.has_base;
    const auto count = static_cast<unsigned>(number[2] - '0');
    Draft draft = draft_of(decoder, loads ? execute_ldmatrix : execute_stmatrix, std::move(matrix));
    Expected<void> done;
    if (loads) done = add_outputs(decoder, draft, operands[0], count, 4);
    if (has_base) draft.input(base);
    if (!loads) defines_results(draft, draft.operation.inputs);
    if (!loads) done = add_inputs(decoder, draft, operands[1], count, MatrixType::s32);
    if (!done) return tl::unexpected<Error>(done.error());
    return draft;
}

Expected<Draft> decode_movmatrix(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool understood =
        words.take(".m8n8") && words.take(".b16") && words.take(".trans") && words.take(".sync");
    words.take(".aligned");
    if (!words.empty() || !understood || instruction.operands.size() != 2)
        return decoder.missing(instruction);
    Draft draft = draft_of(decoder, execute_movmatrix, {});
    auto done = add_outputs(decoder, draft, instruction.operands[0], 1, 4);
    if (done) done = add_inputs(decoder, draft, instruction.operands[1], 1, MatrixType::s32);
    if (!done) return tl::unexpected<Error>(done.error());
    defines_results(draft, 0);
    return draft;
}

// --- wgmma

/// The constants behind scale-d: imm-scale-a, imm-scale-b, then imm-trans-a (A in shared memory),
/// imm-trans-b.
Expected<void> take_immediates(const Instruction& instruction, std::size_t first, bool a_in_registers,
                               Wgmma& wgmma) {
    const bool scales = wgmma.d != MatrixType::s32,
               transposes = wgmma.a == MatrixType::f16 || wgmma.a == MatrixType::bf16;
    const std::size_t count = (scales ? 2u : 0u) + (transposes ? (a_in_registers ? 1u : 2u) : 0u);
    const auto& operands = instruction.operands;
    if (operands.size() != first + count)
        return fail(Errc::operand_invalid, instruction.span,
                    fmt::format("{} has {} operands here", instruction.name, first + count));
    bool* const wanted[] = {&wgmma.negate_a, &wgmma.negate_b,
                            a_in_registers ? &wgmma.transpose_b : &wgmma.transpose_a, &wgmma.transpose_b};
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_scale = i < 2;
        const auto value = TRY(constant_of(operands[first + i], is_scale ? -1 : 0, 1));
        if (is_scale && value == 0) return wrong_operand(operands[first + i], "1 or -1 is wanted");
        *wanted[i] = value == (is_scale ? -1 : 1);
    }
    return {};
}

/// Its outputs, and as many of its first inputs.
void name_fragments(Function& function, const Draft& draft, unsigned inputs) {
    const auto refs = draft.refs();
    for (unsigned i = 0; i < draft.operation.outputs + inputs; ++i)
        if (is_register(refs[i]))
            function.fragments.push_back({offset(refs[i]) / 32, i < draft.operation.outputs});
}

Expected<Draft> decode_wgmma_product(FunctionDecoder& decoder, const Instruction& instruction, Words& words) {
    const MatrixWords common(words);
    Wgmma wgmma{.n = common.shape.sizes[1]};
    wgmma.sparse = words.take(".sp");
    wgmma.satfinite = words.take(".satfinite");
    const bool bits = words.take(".and") && words.take(".popc");
    const auto& types = common.types;
    if (!words.empty() || types.size() != 3 || common.shape.sizes[0] != 64)
        return decoder.missing(instruction);
    wgmma.d = types[0];
    wgmma.a = types[1];
    wgmma.b = types[2];
    const auto& operands = instruction.operands;
    const std::size_t scale = wgmma.sparse ? 5 : 3;
    const bool in_registers = decoder.is_vector(operands[1]);
    if (!is_supported(wgmma) || depth(wgmma) != common.shape.sizes[2] || bits != (wgmma.a == MatrixType::b1))
        return decoder.missing(instruction);
    TRY(take_immediates(instruction, scale + 1, in_registers, wgmma));
    if (wgmma.sparse) {
        const auto selector = TRY(constant_of(operands[4], 0, element_bits(wgmma.a) >= 16 ? 1 : 0));
        wgmma.selector = static_cast<std::uint8_t>(selector);
    }
    decoder.program().uses_async_proxy = true;
    Draft draft = draft_of(decoder, execute_wgmma, {.wgmma = wgmma, .a_in_registers = in_registers});
    auto done = add_outputs(decoder, draft, operands[0], accumulator_size(wgmma), 4);
    if (done && in_registers) done = add_inputs(decoder, draft, operands[1], 4, MatrixType::s32);
    if (done && !in_registers) done = add_input(decoder, draft, operands[1], 8);
    if (done) done = add_input(decoder, draft, operands[2], 8);
    if (done && wgmma.sparse) done = add_inputs(decoder, draft, operands[3], 1, MatrixType::s32);
    if (done) done = add_input(decoder, draft, operands[scale], 1);
    if (!done) return tl::unexpected<Error>(done.error());
    defines_results(draft, 0);
    if (!decoder.module().is_debug()) name_fragments(decoder.function(), draft, in_registers ? 4 : 0);
    return draft;
}

// Products are computed where they stand; what is left to wait for is the other warps.
Expected<Draft> decode_wgmma(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    decoder.program().uses_wgmma = true;
    if (words.take(".mma_async")) return decode_wgmma_product(decoder, instruction, words);
    const std::string_view what = words.take_of({".fence", ".commit_group", ".wait_group"});
    const bool known = !what.empty() && words.take(".sync");
    words.take(".aligned");
    if (!known || !words.empty()) return decoder.missing(instruction);
    const auto pending =
        TRY(what == ".wait_group" ? pending_groups(instruction) : Expected<std::uint32_t>(0));
    gather_lanes(decoder);
    return Draft(what == ".fence"          ? execute_wgmma_fence
                 : what == ".commit_group" ? execute_wgmma_commit
                                           : execute_wgmma_wait,
                 pending);
}

constexpr InstructionRow rows[] = {
    {"mma", decode_mma},
    {"wmma", decode_wmma},
    {"ldmatrix", decode_matrix_rows},
    {"stmatrix", decode_matrix_rows},
    {"movmatrix", decode_movmatrix},
    {"wgmma", decode_wgmma},
};

}  // namespace

std::span<const InstructionRow> matrix_rows() { return rows; }

}  // namespace ptxgraft::emulator
