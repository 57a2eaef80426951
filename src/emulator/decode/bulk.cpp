// cp.async.bulk and its kin, st.async, tensormap.
#include <algorithm>

#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

std::optional<tensor::ReduceOperation> reduction_of(const MatchedInstruction& instruction) {
    return tensor::reduce_operation(
        one_of(instruction, {".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"}));
}

// What the words say that all copies share. Of the spaces, the destination's comes first.
BulkCopy copy_of(const MatchedInstruction& instruction) {
    std::vector<std::string_view> spaces;
    for (const std::string_view word : instruction.modifiers)
        if (syntax::space_of(word) != Space::generic) spaces.push_back(word);
    return {.from_global = spaces[1] == ".global",
            .to_global = spaces[0] == ".global",
            .to_cta = spaces[0] == ".shared::cta",
            .has_mask = !one_of(instruction, {".multicast::cluster", ".cp_mask"}).empty()};
}

Expected<Draft> bind_copy(FunctionDecoder& decoder, const MatchedInstruction& instruction,
                          const BulkCopy& copy) {
    decoder.program().uses_async_proxy = true;
    auto& copies = decoder.program().bulk_copies;
    copies.push_back(copy);
    Draft draft(execute_bulk_copy, static_cast<std::uint32_t>(copies.size() - 1));
    TRY(decoder.bind(draft, instruction));
    return draft;
}

void put_last_behind_first(std::span<Ref> inputs) {
    std::rotate(inputs.begin() + 1, inputs.end() - 1, inputs.end());
}

Expected<Draft> decode_bulk(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    BulkCopy copy = copy_of(instruction);
    if (const auto operation = reduction_of(instruction))
        copy.reduction = tensor::Reduction::of(*operation, type_of(instruction));
    return bind_copy(decoder, instruction, copy);
}

// The machine takes the map, then the address in shared memory, then what is left.
Expected<Draft> decode_tensor(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    BulkCopy copy = copy_of(instruction);
    const std::string_view dimensions = one_of(instruction, {".1d", ".2d", ".3d", ".4d", ".5d"});
    copy.coordinates = static_cast<std::uint8_t>(dimensions[1] - '0');
    copy.is_im2col = !one_of(instruction, {".im2col", ".im2col_no_offs"}).empty();
    if (instruction.has(".im2col")) copy.offsets = static_cast<std::uint8_t>(copy.coordinates - 2);
    copy.reduce = reduction_of(instruction);
    Draft draft = TRY(bind_copy(decoder, instruction, copy));
    const std::span<Ref> inputs = draft.inputs();
    if (copy.from_global)
        std::swap(inputs[0], inputs[1]);
    else
        put_last_behind_first(inputs);
    return draft;
}

// st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar]
// red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]
// ptxas takes some without an mbarrier, and with more elements than the words say.
Expected<Draft> decode_async_store(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    if (instruction.operands.size() != 3) return decoder.missing(instruction);
    AsyncStore store{.is_generic = space_of(instruction) == Space::generic,
                     .bytes = static_cast<std::uint8_t>(type_bits(type_of(instruction)) / 8),
                     .count = vector_of(instruction)};
    if (const auto operation = reduction_of(instruction))
        store.reduction = tensor::Reduction::of(*operation, type_of(instruction));
    auto& stores = decoder.program().async_stores;
    stores.push_back(store);
    Draft draft(execute_async_store, static_cast<std::uint32_t>(stores.size() - 1));
    TRY(decoder.bind(draft, instruction));
    if (draft.operation.inputs != 2 + store.count) return decoder.missing(instruction);
    put_last_behind_first(draft.inputs());
    return draft;
}

Expected<Draft> decode_wait(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const std::uint32_t pending = TRY(decoder.pending_groups(instruction));
    return Draft(execute_bulk_wait, BulkWait{pending, instruction.has(".read")}.bits());
}

constexpr std::string_view field_words[] = {
    ".global_address", ".rank",     ".box_dim",           ".global_dim",   ".global_stride",
    ".element_stride", ".elemtype", ".interleave_layout", ".swizzle_mode", ".swizzle_atomicity",
    ".fill_mode"};

// tensormap.replace.tile.field{.ss}.b1024.type [addr], {ord,} new_val
Expected<Draft> decode_replace(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const auto* const field = std::ranges::find_first_of(field_words, instruction.modifiers);
    const Space space = space_of(instruction);
    auto& replaces = decoder.program().tensormap_replaces;
    replaces.push_back({.field = static_cast<tensor::MapField>(field - field_words),
                        .ordinal = static_cast<std::uint32_t>(instruction.constant("n").value_or(0)),
                        .is_shared = space == Space::shared,
                        .is_global = space == Space::global});
    Draft draft(execute_tensormap_replace, static_cast<std::uint32_t>(replaces.size() - 1));
    TRY(decoder.bind(draft, instruction));
    if (draft.operation.inputs == 2) return draft;
    const Ref constant = TRY(decoder.input(instruction.operands.back(), 4));
    return draft.input(constant);
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128
Expected<Draft> decode_tensormap_copy(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Draft draft(execute_tensormap_copy, fence_of(instruction).bits());
    TRY(decoder.bind(draft, instruction));
    return draft;
}

constexpr InstructionRow bulk_instructions[] = {
    {"cp.async.bulk", decode_bulk},
    {"cp.reduce.async.bulk", decode_bulk},
    {"multimem.cp.async.bulk", decode_bulk},
    {"multimem.cp.reduce.async.bulk", decode_bulk},
    {"cp.async.bulk.tensor", decode_tensor},
    {"cp.reduce.async.bulk.tensor", decode_tensor},
    {"cp.async.bulk.prefetch", decode_bound<execute_bulk_prefetch>},
    {"cp.async.bulk.prefetch.tensor", decode_alone<execute_nothing>},
    {"cp.async.bulk.commit_group", decode_alone<execute_bulk_commit>},
    {"cp.async.bulk.wait_group", decode_wait},
    {"st.async", decode_async_store},
    {"red.async", decode_async_store},
    {"tensormap.replace", decode_replace},
    {"tensormap.cp_fenceproxy", decode_tensormap_copy},
};

}  // namespace

std::span<const InstructionRow> bulk_rows() { return bulk_instructions; }

}  // namespace ptxgraft::emulator
