// One instruction that no other before it looked like: its decoder, what the emulator lacks of it, its guard.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {

using syntax::Statement;
using syntax::TokenView;

namespace {

// Rows of decoders by their whole opcode, or the first of those whose opcode begins with a word.
using RowMap = std::unordered_map<std::string_view, const InstructionRow*>;
RowMap rows_by(std::string_view (*key)(std::string_view opcode)) {
    RowMap all;
    for (const auto rows : {memory_rows(), control_rows(), warp_rows(), mbarrier_rows(), bulk_rows(),
                            matrix_rows(), video_rows()})
        for (const InstructionRow& row : rows) all.emplace(key(row.opcode), &row);
    return all;
}

}  // namespace

InstructionDecoder find_decoder(std::string_view opcode) {
    static const RowMap rows = rows_by([](std::string_view whole) { return whole; });
    const auto row = rows.find(opcode);
    return row == rows.end() ? nullptr : row->second->decode;
}

std::optional<Shaping> shaping_of_decoder(std::string_view word) {
    static const RowMap rows =
        rows_by([](std::string_view whole) { return whole.substr(0, whole.find('.')); });
    const auto row = rows.find(word);
    return row == rows.end() ? std::nullopt : std::optional(row->second->shaping);
}

namespace {

// What the emulator lacks of opcodes that it runs: instructions with a modifier that begins so.
struct Lack {
    std::string_view opcode, modifier;
};
constexpr Lack lacks[] = {
    {"cp.async.bulk", ".ignore_oob"},
    {"cp.async.bulk", ".mbarrier::report"},
    {"cp.async.bulk", ".multicast::cluster::"},
    {"cp.async.bulk.tensor", ".cta_group::"},
    {"cp.async.bulk.tensor", ".im2col::"},
    {"cp.async.bulk.tensor", ".mbarrier::report"},
    {"cp.async.bulk.tensor", ".multicast::cluster::"},
    {"cp.async.bulk.tensor", ".override::"},
    {"cp.async.bulk.tensor", ".tile::"},
    {"cp.async.bulk.wait_group", ".sync_restrict::"},
    {"cp.reduce.async.bulk.tensor", ".override::"},
    {"cvta", ".u32"},
    {"cvta.to", ".u32"},
    {"ldmatrix", ".m16n16"},
    {"ldmatrix", ".m8n16"},
    {"mbarrier.init", ".layout::"},
    {"mbarrier.test_wait", ".phase_type::"},
    {"mbarrier.test_wait.parity", ".phase_type::"},
    {"mbarrier.try_wait", ".phase_type::"},
    {"mbarrier.try_wait.parity", ".phase_type::"},
    {"mma", ".kind::"},
    {"multimem.ld_reduce", ".e4m3x"},
    {"multimem.ld_reduce", ".e5m2x"},
    {"multimem.st", ".e4m3x"},
    {"multimem.st", ".e5m2x"},
    {"redux", ".f32"},
    {"stmatrix", ".m16n8"},
};

bool is_lacking(const MatchedInstruction& instruction) {
    const auto has = [&](std::string_view begin) {
        return std::ranges::any_of(instruction.modifiers,
                                   [&](std::string_view word) { return word.starts_with(begin); });
    };
    return std::ranges::any_of(lacks, [&](const Lack& lack) {
        return lack.opcode == instruction.match->row->opcode && has(lack.modifier);
    });
}

}  // namespace

Expected<void> FunctionDecoder::instruction(const Statement& statement) {
    const TokenView tokens(statement);
    span_ = {tokens.begin(0), tokens.end(tokens.size() - 1)};
    known_call_ = nullptr;
    if (used_bytes_ == ~0u && instruction_by_shape(statement, tokens)) return {};
    auto result = instruction_by_itself(statement);
    used_bytes_ = ~0u;
    return result;
}

// Of what isa has found right, the emulator lacks what its decoder does not take, or has no function for.
Expected<Draft> FunctionDecoder::draft_of(const MatchedInstruction& instruction) {
    if (is_lacking(instruction)) return missing(instruction);
    const InstructionDecoder decode = find_decoder(instruction.match->row->opcode);
    auto draft = decode != nullptr ? decode(*this, instruction) : decode_pure(*this, instruction);
    if (!draft && draft.error().code == Errc::operand_invalid)
        return fail(Errc::instruction_not_emulated, draft.error().span,
                    fmt::format("{}: {}", instruction.name, *draft.error().detail));
    const bool does_nothing =
        draft && draft->operation.execute == nullptr && draft->operation.function == nullptr;
    return does_nothing ? missing(instruction) : std::move(draft);
}

// What is missing fails when it is executed.
Expected<void> FunctionDecoder::instruction_by_itself(const Statement& statement) {
    MatchedInstruction instruction{*statement.instruction()};
    TRY(module_.verify(instruction));
    after_.clear();
    auto draft = draft_of(instruction);
    if (!draft) {
        Error error = std::move(draft).error();
        if (error.code != Errc::instruction_not_emulated && error.code != Errc::external_unresolved)
            return tl::unexpected(std::move(error));
        program().failures.push_back(std::move(error));
        draft = Draft(execute_failure, static_cast<std::uint32_t>(program().failures.size() - 1));
        after_.clear();
    }
    Ref guard = no_ref;
    if (instruction.guard) {
        auto found = find_register(instruction.guard->predicate);
        if (!found) found = read_special(instruction.guard->predicate);
        if (!found)
            return fail(Errc::name_undeclared, instruction.span, std::string(instruction.guard->predicate));
        guard = read_as(*found, 1);
    }
    const auto written = draft->refs().first(draft->operation.outputs);
    if (!after_.empty() && std::ranges::find(written, guard) != written.end()) guard = copy_of(guard);
    emit_with_guard(*draft, instruction, guard);
    for (Draft& extension : after_) {
        extension.operation.is_micro_op = true;
        extension.operation.is_copy = true;
        extension.operation.undefined = Undefined::moves;
        emit_with_guard(extension, instruction, guard);
    }
    return {};
}

// What follows in parts asks the guard again, which the first part may have written.
Ref FunctionDecoder::copy_of(Ref predicate) {
    const Ref copy = temporary(1);
    emit(Draft(arithmetic::extension(1, 1, false)).output(copy).input(predicate));
    program().code.back().is_micro_op = true;
    return copy;
}

void FunctionDecoder::emit_with_guard(Draft& draft, const syntax::Instruction& instruction, Ref guard) {
    if (guard != no_ref) {
        draft.operation.guard = guard;
        draft.operation.guard_negated = instruction.guard->negated;
    }
    emit(draft);
}

}  // namespace ptxgraft::emulator
