// cp.async.bulk and its kin, tensormap.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;
using syntax::Operand;
using syntax::OperandKind;

/// The operands of an instruction, one after the other.
class Operands {
  public:
    Operands(FunctionDecoder& decoder, const Instruction& instruction)
        : decoder_(decoder), instruction_(instruction) {}

    // Each adds an input, or several, to the draft; after an error the others do nothing.
    void address(Draft& draft) {
        if (const Operand* operand = next()) keep(draft, decoder_.address_value(*operand));
    }
    void value(Draft& draft, std::uint32_t bytes) {
        if (const Operand* operand = next()) keep(draft, decoder_.input(*operand, bytes));
    }
    void skip() { static_cast<void>(next()); }
    // `{a, b}`, of `count` values.
    void vector(Draft& draft, const Operand& operand, std::size_t count, std::uint32_t bytes) {
        auto refs = decoder_.inputs(operand, bytes, ImmediateType::integer);
        if (!refs) return fail(refs.error());
        if (refs->size() != count) return wrong(fmt::format("{}; it has {} numbers", operand.text(), count));
        for (const Ref ref : *refs) draft.input(ref);
    }
    void vector(Draft& draft, std::size_t count, std::uint32_t bytes) {
        if (const Operand* operand = next()) vector(draft, *operand, count, bytes);
    }
    // `[map, {x, y}]`: its parts.
    const Operand* tensor() {
        const Operand* operand = next();
        if (operand == nullptr) return nullptr;
        if (operand->kind() == OperandKind::address && operand->children().size() == 2) return operand;
        wrong(fmt::format("{}; it is [tensorMap, {{coordinates}}]", operand->text()));
        return nullptr;
    }
    void input(Draft& draft, const Operand& operand, std::uint32_t bytes) {
        keep(draft, decoder_.input(operand, bytes));
    }

    Expected<Draft> finish(Draft draft) {
        if (!error_ && at_ != instruction_.operands.size())
            wrong(fmt::format("{} with {} operands; it has {}", instruction_.name,
                              instruction_.operands.size(), at_));
        if (error_) return tl::unexpected(*error_);
        return draft;
    }

  private:
    const Operand* next() {
        if (at_ < instruction_.operands.size()) return &instruction_.operands[at_++];
        wrong(fmt::format("{} lacks an operand", instruction_.name));
        return nullptr;
    }
    void keep(Draft& draft, const Expected<Ref>& ref) {
        if (!ref) return fail(ref.error());
        draft.input(*ref);
    }
    void fail(const Error& error) {
        if (!error_) error_ = error;
    }
    void wrong(std::string why) {
        fail(ptxgraft::fail(Errc::operand_invalid, instruction_.span, std::move(why)).value());
    }

    FunctionDecoder& decoder_;
    const Instruction& instruction_;
    std::size_t at_ = 0;
    std::optional<Error> error_;
};

// What stands for the spaces: the destination's comes first.
struct Direction {
    std::string_view to, from;
};
Direction take_direction(Words& words, const Instruction& instruction) {
    constexpr std::string_view spaces[] = {".global", ".shared::cta", ".shared::cluster"};
    std::vector<std::string_view> found;
    for (const std::string_view word : instruction.modifiers)
        if (std::find(std::begin(spaces), std::end(spaces), word) != std::end(spaces)) found.push_back(word);
    if (found.size() != 2) return {};
    words.take(found[0]);
    words.take(found[1]);
    return {found[0], found[1]};
}

// The words that all of these instructions share.
struct Form {
    BulkCopy copy;
    bool has_policy = false;
    bool is_known = false;
};
Form take_form(Words& words, const Instruction& instruction) {
    Form form;
    const Direction direction = take_direction(words, instruction);
    form.copy.from_global = direction.from == ".global";
    form.copy.to_global = direction.to == ".global";
    form.copy.to_cta = direction.to == ".shared::cta";
    const std::string_view completion = words.take_of({".mbarrier::complete_tx::bytes", ".bulk_group"});
    form.has_policy = words.take(".L2::cache_hint");
    form.copy.has_mask = !words.take_of({".multicast::cluster", ".cp_mask"}).empty();
    const bool to_shared = direction.to.starts_with(".shared"),
               from_shared = direction.from == ".shared::cta";
    form.is_known = form.copy.to_global
                        ? from_shared && completion == ".bulk_group"
                        : to_shared && !direction.from.empty() && completion.starts_with(".mbarrier");
    return form;
}

Draft draft_of(FunctionDecoder& decoder, const BulkCopy& copy) {
    decoder.program().uses_async_proxy = true;
    auto& copies = decoder.program().bulk_copies;
    copies.push_back(copy);
    return Draft(execute_bulk_copy, static_cast<std::uint32_t>(copies.size() - 1));
}

Expected<Draft> decode_bulk(FunctionDecoder& decoder, const Instruction& instruction, Words words,
                            bool is_reduction) {
    std::string_view operation, type;
    if (is_reduction) {
        operation = words.take_of({".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"});
        words.take(".noftz");
        type = words.take_type();
    }
    Form form = take_form(words, instruction);
    if (!words.empty() || !form.is_known) return decoder.missing(instruction);
    if (is_reduction) {
        const auto op = tensor::reduce_operation(operation);
        form.copy.reduction = op ? tensor::Reduction::of(*op, type) : std::nullopt;
        if (!form.copy.reduction || form.copy.from_global) return decoder.missing(instruction);
    }
    Operands operands(decoder, instruction);
    Draft draft = draft_of(decoder, form.copy);
    operands.address(draft);
    operands.address(draft);
    operands.value(draft, 4);
    if (form.copy.to_global) {
        if (form.has_policy) operands.skip();
        if (form.copy.has_mask) operands.value(draft, 2);
    } else {
        operands.address(draft);
        if (form.copy.has_mask) operands.value(draft, 2);
        if (form.has_policy) operands.skip();
    }
    return operands.finish(std::move(draft));
}

Expected<Draft> decode_tensor(FunctionDecoder& decoder, const Instruction& instruction, Words words,
                              bool is_reduction) {
    const std::string_view dimensions = words.take_of({".1d", ".2d", ".3d", ".4d", ".5d"});
    const std::string_view mode = words.take_of({".tile", ".im2col", ".im2col_no_offs"});
    Form form = take_form(words, instruction);
    BulkCopy& copy = form.copy;
    if (is_reduction)
        copy.reduce = tensor::reduce_operation(
            words.take_of({".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"}));
    if (!words.empty() || !form.is_known || dimensions.empty() || copy.from_global == copy.to_global ||
        is_reduction != copy.reduce.has_value() || (is_reduction && copy.from_global))
        return decoder.missing(instruction);
    copy.coordinates = static_cast<std::uint8_t>(dimensions[1] - '0');
    copy.is_im2col = mode.starts_with(".im2col");
    if (copy.is_im2col && copy.coordinates < 3) return decoder.missing(instruction);
    if (mode == ".im2col") copy.offsets = static_cast<std::uint8_t>(copy.coordinates - 2);
    if (copy.is_im2col && (mode == ".im2col") != copy.from_global) return decoder.missing(instruction);
    Operands operands(decoder, instruction);
    Draft draft = draft_of(decoder, copy), shared(execute_nothing);
    if (copy.from_global) operands.address(shared);
    const Operand* tensor = operands.tensor();
    if (copy.to_global) operands.address(shared);
    if (tensor == nullptr || shared.refs().empty()) return operands.finish(std::move(draft));
    operands.input(draft, tensor->children()[0], 8);
    draft.input(shared.refs()[0]);
    operands.vector(draft, tensor->children()[1], copy.coordinates, 4);
    if (copy.from_global) operands.address(draft);
    if (copy.offsets != 0) operands.vector(draft, copy.offsets, 2);
    if (copy.has_mask) operands.value(draft, 2);
    if (form.has_policy) operands.skip();
    return operands.finish(std::move(draft));
}

constexpr std::string_view field_words[] = {
    ".global_address", ".rank",     ".box_dim",           ".global_dim",   ".global_stride",
    ".element_stride", ".elemtype", ".interleave_layout", ".swizzle_mode", ".swizzle_atomicity",
    ".fill_mode"};

// tensormap.replace.tile.field{.ss}.b1024.type [addr], {ord,} new_val
Expected<Draft> decode_replace(FunctionDecoder& decoder, const Instruction& instruction, Words words) {
    TensorMapReplace replace;
    bool is_known = false;
    for (unsigned i = 0; i < std::size(field_words) && !is_known; ++i) {
        is_known = words.take(field_words[i]);
        replace.field = static_cast<tensor::MapField>(i);
    }
    replace.is_shared = words.take(".shared::cta") || words.take(".shared");
    replace.is_global = words.take(".global");
    const std::string_view type = words.take_of({".b32", ".b64"});
    if (!is_known || !words.take(".tile") || !words.take(".b1024") || type.empty() || !words.empty())
        return decoder.missing(instruction);
    const bool has_ordinal =
        replace.field >= tensor::MapField::box_dim && replace.field <= tensor::MapField::element_stride;
    if (has_ordinal && instruction.operands.size() == 3) {
        const auto ordinal = integer_of(instruction.operands[1]);
        if (!ordinal)
            return fail(Errc::operand_invalid, instruction.operands[1].span(),
                        "the number of a dimension is a constant");
        replace.ordinal = static_cast<std::uint32_t>(*ordinal);
    }
    auto& replaces = decoder.program().tensormap_replaces;
    replaces.push_back(replace);
    Draft draft(execute_tensormap_replace, static_cast<std::uint32_t>(replaces.size() - 1));
    Operands operands(decoder, instruction);
    operands.address(draft);
    if (has_ordinal) operands.skip();
    operands.value(draft, type == ".b64" ? 8 : 4);
    return operands.finish(std::move(draft));
}

Expected<Draft> decode_tensormap(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    if (words.take(".replace")) return decode_replace(decoder, instruction, std::move(words));
    // .cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128
    const bool is_copy = words.take(".cp_fenceproxy") && words.take(".global") &&
                         words.take(".shared::cta") && words.take(".tensormap::generic") &&
                         words.take(".release") && words.take_scope() && words.take(".sync") &&
                         words.take(".aligned") && words.empty();
    if (!is_copy) return decoder.missing(instruction);
    Draft draft(execute_tensormap_copy);
    Operands operands(decoder, instruction);
    operands.address(draft);
    operands.address(draft);
    operands.skip();
    return operands.finish(std::move(draft));
}

// Memory is in order here: fences say what others may rely on. Of the proxies only the async proxy has an
// order of its own.
Expected<Draft> decode_fence(FunctionDecoder&, const Instruction& instruction) {
    const auto& words = instruction.modifiers;
    const bool is_async = std::any_of(words.begin(), words.end(),
                                      [](std::string_view word) { return word.starts_with(".async"); });
    if (is_async) return Draft(execute_proxy_fence);
    if (std::any_of(words.begin(), words.end(),
                    [](std::string_view word) { return word.starts_with(".proxy"); }))
        return Draft(execute_nothing);
    Words left(instruction);
    Fence fence{.only_mbarrier_inits = left.take(".mbarrier_init")};
    fence.semantics = left.take_semantics(Semantics::acq_rel);
    fence.reach = left.take_reach();
    return Draft(execute_fence, fence.bits());
}

constexpr InstructionRow rows[] = {{"tensormap", decode_tensormap}, {"fence", decode_fence}};

}  // namespace

// st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar]
// red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]
Expected<Draft> decode_async_store(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    words.take(".async");
    words.take_of({".weak", ".relaxed"});
    words.take(".cluster");
    AsyncStore store;
    store.is_generic = words.take_of({".shared", ".shared::cta", ".shared::cluster"}).empty();
    const std::string_view vector = words.take_of({".v2", ".v4"}), type = words.take_type();
    if (!vector.empty()) store.count = static_cast<std::uint8_t>(vector[2] - '0');
    store.bytes = static_cast<std::uint8_t>(type_bits(type) / 8);
    const std::string_view operation =
        instruction.opcode != "red"
            ? ""
            : words.take_of({".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"});
    const auto op = tensor::reduce_operation(operation);
    if (op) store.reduction = tensor::Reduction::of(*op, type);
    const bool is_reduction = instruction.opcode == "red",
               has_mbarrier = words.take(".mbarrier::complete_tx::bytes");
    if (!has_mbarrier || !words.empty() || store.bytes < 4 || is_reduction != store.reduction.has_value() ||
        instruction.operands.size() != 3)
        return decoder.missing(instruction);
    auto& stores = decoder.program().async_stores;
    stores.push_back(store);
    Draft draft(execute_async_store, static_cast<std::uint32_t>(stores.size() - 1));
    auto address = decoder.address_value(instruction.operands[0]),
         mbarrier = decoder.address_value(instruction.operands[2]);
    const auto elements = decoder.inputs(instruction.operands[1], store.bytes, immediate_type(type));
    if (!address) return tl::unexpected<Error>(address.error());
    if (!mbarrier) return tl::unexpected<Error>(mbarrier.error());
    if (!elements) return tl::unexpected<Error>(elements.error());
    if (elements->size() != store.count)
        return fail(Errc::operand_invalid, instruction.operands[1].span(),
                    fmt::format("{} has {} elements", instruction.name, store.count));
    draft.input(*address).input(*mbarrier);
    for (const Ref element : *elements) draft.input(element);
    return draft;
}

Expected<std::uint32_t> pending_groups(const Instruction& instruction) {
    constexpr std::int64_t most = 1 << 30;
    const auto& operands = instruction.operands;
    const auto number = operands.size() == 1 ? integer_of(operands[0]) : std::nullopt;
    if (number && *number >= 0) return static_cast<std::uint32_t>(std::min(*number, most));
    return fail(Errc::operand_invalid, instruction.span,
                fmt::format("{} has one operand, a constant from 0 on", instruction.name));
}

// cp.async.bulk.prefetch.L2.global [a], size; of tensors nothing is looked at.
Expected<Draft> decode_prefetch(FunctionDecoder& decoder, const Instruction& instruction) {
    if (instruction.has(".tensor") || instruction.operands.size() < 2) return Draft(execute_nothing);
    auto address = decoder.address_value(instruction.operands[0]);
    auto size = decoder.input(instruction.operands[1], 4);
    if (!address) return tl::unexpected<Error>(address.error());
    if (!size) return tl::unexpected<Error>(size.error());
    return Draft(execute_bulk_prefetch).input(*address).input(*size);
}

Expected<Draft> decode_bulk_copy(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool is_reduction = words.take(".reduce");
    if (!words.take(".async") || !words.take(".bulk")) return decoder.missing(instruction);
    if (words.take(".prefetch")) return decode_prefetch(decoder, instruction);
    if (words.take(".commit_group")) return Draft(execute_bulk_commit);
    if (words.take(".wait_group")) {
        const std::uint32_t reads_only = words.take(".read") ? 1 : 0;
        if (!words.empty()) return decoder.missing(instruction);
        const auto pending = TRY(pending_groups(instruction));
        return Draft(execute_bulk_wait, pending * 2 + reads_only);
    }
    return words.take(".tensor") ? decode_tensor(decoder, instruction, std::move(words), is_reduction)
                                 : decode_bulk(decoder, instruction, std::move(words), is_reduction);
}

std::span<const InstructionRow> bulk_rows() { return rows; }

}  // namespace ptxgraft::emulator
