// ld, st, atom, red, mov, cvta and what moves data without arithmetic; the addresses of clusters.
#include <algorithm>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

// PTX ISA 9.7.9.14, 9.7.9.26, 9.7.9.27. A multimem address stands for one place on each device of a team; the
// emulator is a team of one, where every global address is one: a load reduces one value, the others are what
// they are without it.
Access access_of(const MatchedInstruction& instruction, Semantics none) {
    return {.space = instruction.opcode == "multimem" ? Space::global : space_of(instruction),
            .semantics = semantics_of(instruction, none),
            .reach = reach_of(instruction),
            .bytes = static_cast<std::uint8_t>(type_bits(type_of(instruction)) / 8),
            .count = vector_of(instruction)};
}

// An operation on memory at its address, whose register comes before the values.
Expected<Draft> bind_access(FunctionDecoder& decoder, const MatchedInstruction& instruction, Execute execute,
                            Access access) {
    Draft draft(execute);
    TRY(decoder.bind(draft, instruction, &access));
    draft.set(decoder.add(access));
    return draft;
}

Expected<Draft> decode_load(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Access access = access_of(instruction, Semantics::weak);
    const unsigned bytes = unsigned{access.bytes} * access.count;
    const std::uint32_t all = bytes < 32 ? (1u << bytes) - 1 : ~0u, used = decoder.used_bytes() & all;
    if (access.is_strong() || used == all)
        return bind_access(decoder, instruction, load_operation(access.bytes), access);
    access.used = used;
    return bind_access(decoder, instruction, partial_load_operation(access.bytes), access);
}

Expected<Draft> decode_store(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const Access access = access_of(instruction, Semantics::weak);
    Draft draft = TRY(bind_access(decoder, instruction, store_operation(access.bytes), access));
    // what is stored may be undefined
    draft.operation.strict = static_cast<std::uint8_t>(draft.operation.inputs - access.count);
    return draft;
}

// atom d, [a], b {, c} {, cache-policy}; red is the same without d.
Expected<Draft> decode_atomic(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Access access = access_of(instruction, Semantics::relaxed);
    access.is_reduction = instruction.opcode != "atom";
    const std::string_view operation =
        one_of(instruction, {".add", ".min", ".max", ".and", ".or", ".xor", ".exch", ".cas", ".inc", ".dec"});
    return bind_access(decoder, instruction, atomic_operation(operation, type_of(instruction)), access);
}

// discard{.global}.L2 [a], 128
Expected<Draft> decode_discard(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    return bind_access(decoder, instruction, execute_discard, {.space = space_of(instruction)});
}

// mov between scalars is arithmetic; with a vector it packs or unpacks. mov.v4.u32 moves elements of its
// type; mov.b64 packs or unpacks a vector that is as wide as its type. A vector from a scalar as wide as its
// elements is not in the manual: ptxas gives each element its part, of at least a byte, and has the bits of a
// floating-point constant as it is written: 64 of 1.5, 32 of 0f3FC00000.
Expected<Draft> decode_mov(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const auto &d = instruction.operands[0], &a = instruction.operands[1];
    const std::size_t to_parts = decoder.elements(d), from_parts = decoder.elements(a);
    const syntax::TypeRow& type = *syntax::find_type(type_of(instruction));
    if (to_parts == 1 && from_parts == 1 && type.type != syntax::Type::b128) {
        Draft draft = TRY(decode_pure(decoder, instruction));
        draft.operation.is_copy = true;
        return draft;
    }
    const auto parts = static_cast<std::uint32_t>(std::max(to_parts, from_parts));
    const bool copies = to_parts == from_parts;
    std::uint32_t bytes = type.bytes();
    ImmediateType immediate = immediate_type(type.type);
    if (const auto constant = a.constant(); !copies && constant && !constant->is_integer()) {
        const bool is_single = constant->type == syntax::Constant::Type::f32;
        bytes = is_single ? 4 : 8;
        immediate = is_single ? ImmediateType::f32 : ImmediateType::f64;
        decoder.refuse_shape();
    }
    const std::uint32_t part = copies ? bytes : bytes / parts;
    Draft draft(copies                  ? copy_function(part, parts)
                : from_parts > to_parts ? pack_function(part, parts)
                                        : unpack_function(part, parts));
    if (draft.operation.function == nullptr) return draft;
    const auto to = TRY(decoder.outputs(d, to_parts > 1 ? part : bytes));
    const auto from = TRY(decoder.inputs(a, from_parts > 1 ? part : bytes, immediate));
    for (const Ref ref : to) draft.output(ref);
    for (const Ref ref : from) draft.input(ref);
    draft.operation.undefined = Undefined::moves;
    draft.operation.is_copy = true;
    return draft;
}

// The operation of a pure instruction of one type.
ColumnFunction function_of(std::string_view opcode, std::string_view type, std::size_t operands) {
    return find_pure(opcode, {&type, 1}, operands, false)->first_function();
}

// cvta{.to}.space.u64 d, a: generic addresses are the space's, moved to its window.
Expected<Draft> decode_cvta(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const auto& source = instruction.operands[1];
    const Symbol* const symbol = decoder.find(source.base().empty() ? source.text() : source.base());
    const bool is_in_frame = symbol != nullptr && symbol->frame_relative;
    const std::uint64_t base = window(is_in_frame ? Space::local : space_of(instruction));
    Draft draft(function_of("add", ".u64", 3));
    TRY(decoder.bind(draft, instruction));
    return draft.input(decoder.constant(instruction.has(".to") ? 0 - base : base, 8));
}

Expected<Draft> decode_isspacep(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Draft draft(execute_isspacep, static_cast<std::uint32_t>(space_of(instruction)));
    TRY(decoder.bind(draft, instruction));
    return draft;
}

// mapa{.shared::cluster}.type d, a, b; getctarank{.shared::cluster}.type d, a: with the space, addresses of
// shared memory, without it generic ones.
template <Execute E>
Expected<Draft> decode_rank(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Draft draft(E, instruction.has(".shared::cluster") ? 0 : 1);
    TRY(decoder.bind(draft, instruction));
    return draft;
}

// Memory is in order here: fences say what others may rely on. membar.level is a fence.sc.
Expected<Draft> decode_fence(FunctionDecoder&, const MatchedInstruction& instruction) {
    Fence fence = fence_of(instruction);
    fence.only_mbarrier_inits = instruction.has(".mbarrier_init");
    return Draft(execute_fence, fence.bits());
}

// Of the proxies the async proxy alone has an order of its own; of the one that reads tensor maps it is known
// whether a fence comes behind a change. Its fences order as others of their semantics (PTX ISA 9.7.13.4).
Expected<Draft> decode_proxy_fence(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    if (instruction.has(".tensormap::generic")) {
        Draft draft(instruction.has(".acquire") ? execute_tensormap_fence : execute_fence,
                    fence_of(instruction).bits());
        if (instruction.has(".acquire")) TRY(decoder.bind(draft, instruction));
        return draft;
    }
    const auto says = [&](std::string_view begin) {
        return std::ranges::any_of(instruction.modifiers,
                                   [&](std::string_view word) { return word.starts_with(begin); });
    };
    if (!says(".async")) return Draft(execute_nothing);
    const bool only_shared = says(".shared") || says(".sync_restrict::shared"),
               only_global = instruction.has(".global");
    return Draft(execute_proxy_fence, ProxyFence{.shared = !only_global, .global = !only_shared}.bits());
}

// An operation of cp.async's groups; of `n` pending ones, where that is an operand.
template <Execute E>
Expected<Draft> decode_group(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    decoder.program().uses_copies = true;
    const std::uint32_t pending = TRY(decoder.pending_groups(instruction));
    return Draft(E, pending);
}

// cp.async.{ca,cg}.shared.global [dst], [src], size {, src-size}; a group is complete at once. The fourth
// operand: the bytes to read, or a predicate that says that none are.
Expected<Draft> decode_copy(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    decoder.program().uses_copies = true;
    const auto bytes = static_cast<std::uint8_t>(*instruction.constant("size"));
    Draft draft = TRY(
        bind_access(decoder, instruction, execute_copy, {.space = space_of(instruction), .bytes = bytes}));
    const bool has_size = instruction.operands.size() > 3 + (instruction.has(".L2::cache_hint") ? 1 : 0);
    Ref size = has_size ? draft.take_input() : decoder.constant(bytes, 4);
    if (width(size) == 1) {
        const Ref is_ignored = size;
        size = decoder.temporary(4);
        decoder.emit(Draft(function_of("selp", ".b32", 4))
                         .output(size)
                         .input(decoder.constant(0, 4))
                         .input(decoder.constant(bytes, 4))
                         .input(is_ignored));
        decoder.program().code.back().is_micro_op = true;
    }
    return draft.input(size);
}

// alloca.type d, size {, align}
Expected<Draft> decode_alloca(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    constexpr std::int64_t most_align = 4096;
    const std::int64_t align = instruction.constant("align").value_or(8);
    if (align > most_align) return decoder.missing(instruction);
    Draft draft(execute_alloca, static_cast<std::uint32_t>(align));
    TRY(decoder.bind(draft, instruction));
    return draft;
}

// A cache policy is a value that only cache hints read.
Expected<Draft> decode_createpolicy(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const Ref d = TRY(decoder.output(instruction.operands[0], 8));
    return Draft(arithmetic::extension(8, 8, false)).output(d).input(decoder.constant(0, 8));
}

constexpr InstructionRow memory_instructions[] = {
    {"ld", decode_load, Shaping::address},
    {"ldu", decode_load, Shaping::address},
    {"multimem.ld_reduce", decode_load},
    {"st", decode_store, Shaping::address},
    {"multimem.st", decode_store},
    {"atom", decode_atomic, Shaping::address},
    {"red", decode_atomic, Shaping::address},
    {"multimem.red", decode_atomic},
    {"discard", decode_discard},
    {"mov", decode_mov, Shaping::immediates},
    {"cvta", decode_cvta, Shaping::plain},
    {"cvta.to", decode_cvta, Shaping::plain},
    {"isspacep", decode_isspacep, Shaping::plain},
    {"mapa", decode_rank<execute_mapa>, Shaping::plain},
    {"getctarank", decode_rank<execute_getctarank>, Shaping::plain},
    // what tells the caches: no state changes here
    {"prefetch", decode_alone<execute_nothing>, Shaping::plain},
    {"prefetchu", decode_alone<execute_nothing>, Shaping::plain},
    {"applypriority", decode_alone<execute_nothing>},
    {"applypriority.async.bulk", decode_alone<execute_nothing>},
    {"membar", decode_fence},
    {"membar.proxy", decode_alone<execute_nothing>},
    {"fence", decode_fence},
    {"fence.proxy", decode_proxy_fence},
    {"cp.async", decode_copy},
    {"cp.async.commit_group", decode_group<execute_copy_commit>},
    {"cp.async.wait_group", decode_group<execute_copy_wait>},
    {"cp.async.wait_all", decode_group<execute_copy_wait_all>},
    {"alloca", decode_alloca},
    {"stacksave", decode_bound<execute_stacksave>},
    {"stackrestore", decode_bound<execute_stackrestore>},
    {"createpolicy.range", decode_createpolicy},
    {"createpolicy.fractional", decode_createpolicy},
    {"createpolicy.cvt", decode_createpolicy},
};

}  // namespace

std::span<const InstructionRow> memory_rows() { return memory_instructions; }

}  // namespace ptxgraft::emulator
