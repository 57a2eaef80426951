// ld, st, atom, red, mov, cvta and what moves data without arithmetic.
#include <algorithm>

#include <fmt/format.h>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {

bool Words::take(std::string_view word) {
    const auto found = std::find(words_.begin(), words_.end(), word);
    if (found == words_.end()) return false;
    words_.erase(found);
    return true;
}

std::string_view Words::take_of(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
        if (take(word)) return word;
    }
    return {};
}

void Words::take_cache_hints() {
    std::erase_if(words_, [](std::string_view word) {
        constexpr std::string_view hints[] = {".ca", ".cg", ".cs", ".cv",   ".cu",      ".lu",
                                              ".wb", ".wt", ".nc", ".weak", ".unified", ".proxy::readonly"};
        return std::find(std::begin(hints), std::end(hints), word) != std::end(hints) ||
               word.starts_with(".L1::") || word.starts_with(".L2::");
    });
}

bool Words::take_scope() { return !take_of({".cta", ".cluster", ".gpu", ".sys"}).empty(); }

Reach Words::take_reach() {
    return take_of({".cta", ".cluster", ".gpu", ".sys"}) == ".cta" ? Reach::cta : Reach::cluster;
}

Semantics Words::take_semantics(Semantics none) {
    const std::string_view word = take_of({".volatile", ".relaxed", ".acquire", ".release", ".acq_rel"});
    if (word.empty()) return none;
    return word == ".acquire"   ? Semantics::acquire
           : word == ".release" ? Semantics::release
           : word == ".acq_rel" ? Semantics::acq_rel
                                : Semantics::relaxed;
}

std::string_view Words::take_type() {
    if (words_.empty() || type_bits(words_.back()) == 0) return {};
    const std::string_view type = words_.back();
    words_.pop_back();
    return type;
}

namespace {

using syntax::Instruction;
using syntax::OperandKind;

Space take_space(Words& words) {
    for (const syntax::SpaceRow& row : syntax::spaces)
        if (syntax::is_memory(row.space) && words.take(row.word)) return row.space;
    return Space::generic;
}

std::uint8_t take_vector(Words& words) {
    const std::string_view word = words.take_of({".v2", ".v4", ".v8"});
    return word.empty() ? std::uint8_t{1} : static_cast<std::uint8_t>(word[2] - '0');
}

// What ld and st have in common: the access but for its elements. `at`: which operand is the address.
struct Move {
    Access access;
    Ref base = no_ref;
    std::string_view type;
};

Expected<Move> decode_move(FunctionDecoder& decoder, const Instruction& instruction, std::size_t at) {
    Words words(instruction);
    Move move;
    words.take_cache_hints();  // .proxy::readonly stands behind the type
    move.type = words.take_type();
    words.take(".mmio");  // stands before .relaxed
    move.access.semantics = words.take_semantics(Semantics::weak);
    move.access.reach = words.take_reach();
    move.access.space = take_space(words);
    move.access.count = take_vector(words);
    const std::uint32_t bits = type_bits(move.type);
    if (!words.empty() || bits < 8) return decoder.missing(instruction);
    move.access.bytes = static_cast<std::uint8_t>(bits / 8);
    auto base = TRY(decoder.address(instruction.operands[at], move.access));
    move.base = base;
    return move;
}

Expected<void> check_elements(const Instruction& instruction, const Expected<std::vector<Ref>>& refs,
                              const Access& access) {
    if (!refs) return tl::unexpected<Error>(refs.error());
    if (refs->size() == access.count) return {};
    return fail(Errc::operand_invalid, instruction.span,
                fmt::format("{} wants {} registers", instruction.name, access.count));
}

Expected<Draft> decode_load(FunctionDecoder& decoder, const Instruction& instruction) {
    auto move = TRY(decode_move(decoder, instruction, 1));
    const Extension extension = move.type[1] == 's' ? Extension::sign : Extension::zeros;
    const auto elements = decoder.outputs(instruction.operands[0], move.access.bytes, extension);
    TRY(check_elements(instruction, elements, move.access));
    Draft draft(load_operation(move.access.bytes), decoder.add(move.access));
    for (const Ref element : *elements) draft.output(element);
    if (move.access.has_base) draft.input(move.base);
    return draft;
}

Expected<Draft> decode_store(FunctionDecoder& decoder, const Instruction& instruction) {
    if (instruction.has(".async")) return decode_async_store(decoder, instruction);
    auto move = TRY(decode_move(decoder, instruction, 0));
    const auto elements =
        decoder.inputs(instruction.operands[1], move.access.bytes, immediate_type(move.type));
    TRY(check_elements(instruction, elements, move.access));
    Draft draft(store_operation(move.access.bytes), decoder.add(move.access));
    if (move.access.has_base) draft.input(move.base);
    draft.operation.strict = draft.operation.inputs;  // what is stored may be undefined
    for (const Ref element : *elements) draft.input(element);
    return draft;
}

// atom d, [a], b {, c} {, cache-policy}; red is the same without d.
Expected<Draft> decode_atomic(FunctionDecoder& decoder, const Instruction& instruction) {
    if (instruction.has(".async")) return decode_async_store(decoder, instruction);
    Words words(instruction);
    const std::string_view type = words.take_type();
    const bool has_policy = words.take(".L2::cache_hint");
    const Semantics semantics = words.take_semantics(Semantics::relaxed);
    const Reach reach = words.take_reach();
    words.take(".noftz");  // of halves, which are never flushed
    Access access{.space = take_space(words),
                  .semantics = semantics,
                  .reach = reach,
                  .is_reduction = instruction.opcode == "red"};
    access.count = take_vector(words);
    const std::string_view op =
        words.take_of({".add", ".min", ".max", ".and", ".or", ".xor", ".exch", ".cas", ".inc", ".dec"});
    const Execute execute = atomic_operation(op, type);
    const bool is_vector_type = type == ".f32" || type.ends_with("f16") || type.ends_with("f16x2");
    if (!words.empty() || execute == nullptr || (access.count > 1 && !is_vector_type))
        return decoder.missing(instruction);
    const std::size_t first = instruction.opcode == "atom" ? 1 : 0, inputs = op == ".cas" ? 2 : 1;
    const auto& operands = instruction.operands;
    if (operands.size() != first + 1 + inputs + (has_policy ? 1 : 0)) {
        return fail(Errc::operand_invalid, instruction.span,
                    fmt::format("{} has another number", instruction.name));
    }
    const std::uint32_t bytes = type_bits(type) / 8;
    access.bytes = static_cast<std::uint8_t>(bytes);
    auto base = TRY(decoder.address(operands[first], access));
    Draft draft(execute);
    if (first == 1) {
        const auto destination =
            decoder.outputs(operands[0], bytes, type[1] == 's' ? Extension::sign : Extension::zeros);
        TRY(check_elements(instruction, destination, access));
        for (const Ref element : *destination) draft.output(element);
    }
    if (access.has_base) draft.input(base);
    for (std::size_t i = 0; i < inputs; ++i) {
        const auto value = decoder.inputs(operands[first + 1 + i], bytes, immediate_type(type));
        TRY(check_elements(instruction, value, access));
        for (const Ref element : *value) draft.input(element);
    }
    draft.set(decoder.add(access));
    return draft;
}

// mov between scalars is arithmetic; with a vector it packs or unpacks.
Expected<Draft> decode_mov(FunctionDecoder& decoder, const Instruction& instruction) {
    const bool unpacks = decoder.is_vector(instruction.operands[0]),
               packs = decoder.is_vector(instruction.operands[1]);
    Words words(instruction);
    const std::string_view type = words.take_type();
    if (!packs && !unpacks && type != ".b128") {
        auto draft = decode_pure(decoder, instruction);
        if (draft) draft->operation.is_copy = true;
        return draft;
    }
    const bool is_vector = !words.take_of({".v2", ".v4"}).empty();
    const std::uint32_t bits = type_bits(type);
    if (!words.empty() || bits == 0) return decoder.missing(instruction);
    // mov.v4.u32 moves elements of its type; mov.b64 packs or unpacks a vector that is as wide as its type.
    const auto count = [&](std::size_t at) { return decoder.elements(instruction.operands[at]); };
    const std::size_t parts = std::max(count(0), count(1));
    // A vector from a scalar of its elements' width is not in the manual: ptxas gives each element its part,
    // of at least a byte.
    if (is_vector && !packs && bits < 8 * parts) return decoder.missing(instruction);
    const bool copies = packs == unpacks;
    if (parts > 4 || parts < 1 ||
        (copies ? count(0) != count(1) || packs != is_vector : bits % (8 * parts) != 0)) {
        return fail(Errc::operand_invalid, instruction.span,
                    fmt::format("{} of {} parts", instruction.name, parts));
    }
    const auto part = static_cast<std::uint32_t>(bits / 8 / (copies ? 1 : parts));
    auto to = decoder.outputs(instruction.operands[0], unpacks ? part : bits / 8);
    auto from = decoder.inputs(instruction.operands[1], packs ? part : bits / 8, immediate_type(type));
    if (!to) return tl::unexpected<Error>(to.error());
    if (!from) return tl::unexpected<Error>(from.error());
    const auto count_of_parts = static_cast<std::uint32_t>(parts);
    Draft draft(copies  ? copy_function(part, count_of_parts)
                : packs ? pack_function(part, count_of_parts)
                        : unpack_function(part, count_of_parts));
    if (draft.operation.function == nullptr) return decoder.missing(instruction);
    draft.operation.undefined = Undefined::moves;
    draft.operation.is_copy = true;
    for (const Ref ref : *to) draft.output(ref);
    for (const Ref ref : *from) draft.input(ref);
    return draft;
}

// cvta{.to}.space.u64 d, a: generic addresses are the space's, moved to its window.
Expected<Draft> decode_cvta(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool to = words.take(".to"), is_wide = words.take(".u64");
    Space space = take_space(words);
    if (!words.empty() || !is_wide || space == Space::generic || instruction.operands.size() != 2) {
        return decoder.missing(instruction);
    }
    const auto& source = instruction.operands[1];
    const std::string_view name = source.base().empty() ? source.text() : source.base();
    if (const Symbol* symbol = decoder.find(name); symbol != nullptr && symbol->frame_relative)
        space = Space::local;
    auto d = decoder.output(instruction.operands[0], 8);
    auto a = decoder.input(source, 8);
    if (!d) return tl::unexpected<Error>(d.error());
    if (!a) return tl::unexpected<Error>(a.error());
    const std::uint64_t base = window(space);
    const std::array<std::string_view, 1> type = {".u64"};
    const auto sum = find_pure("add", type, 3, false);
    return Draft(sum->first_function()).output(*d).input(*a).input(decoder.constant(to ? 0 - base : base, 8));
}

Expected<Draft> decode_isspacep(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const Space space = take_space(words);
    if (!words.empty() || space == Space::generic || instruction.operands.size() != 2)
        return decoder.missing(instruction);
    auto p = decoder.output(instruction.operands[0], 1);
    auto a = decoder.input(instruction.operands[1], 8);
    if (!p) return tl::unexpected<Error>(p.error());
    if (!a) return tl::unexpected<Error>(a.error());
    return Draft(execute_isspacep, static_cast<std::uint32_t>(space)).output(*p).input(*a);
}

// membar.level: a fence.sc.
Expected<Draft> decode_membar(FunctionDecoder&, const Instruction& instruction) {
    if (instruction.has(".proxy")) return Draft(execute_nothing);
    return Draft(execute_fence, Fence{.reach = instruction.has(".cta") ? Reach::cta : Reach::cluster}.bits());
}

// What tells the caches: no state changes here.
Expected<Draft> decode_nothing(FunctionDecoder&, const Instruction&) { return Draft(execute_nothing); }

// The fourth operand of cp.async: the bytes to read, or a predicate that says that none are.
Expected<Ref> decode_source_size(FunctionDecoder& decoder, const syntax::Operand& operand, Ref all) {
    const bool is_negated = operand.kind() == OperandKind::negation;
    const auto reg = decoder.find_register(is_negated ? operand.children().front().text() : operand.text());
    if (!reg || width(*reg) != 1) return decoder.input(operand, 4);
    auto ignored = decoder.input(operand, 1, ImmediateType::predicate);
    if (!ignored) return ignored;
    const Ref size = decoder.temporary(4);
    const std::array<std::string_view, 1> type = {".b32"};
    decoder.emit(Draft(find_pure("selp", type, 4, false)->first_function())
                     .output(size)
                     .input(decoder.constant(0, 4))
                     .input(all)
                     .input(*ignored));
    decoder.program().code.back().is_micro_op = true;
    return size;
}

// discard{.global}.L2 [a], 128
Expected<Draft> decode_discard(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    words.take(".L2");
    Access access{.space = take_space(words)};
    const auto& operands = instruction.operands;
    if (!words.empty() || operands.size() != 2) return decoder.missing(instruction);
    if (integer_of(operands[1]) != discarded_bytes)
        return fail(Errc::operand_invalid, operands[1].span(), "128 bytes are discarded");
    auto base = TRY(decoder.address(operands[0], access));
    Draft draft(execute_discard, decoder.add(access));
    if (access.has_base) draft.input(base);
    return draft;
}

// cp.async.{ca,cg}.shared.global [dst], [src], size {, src-size}; a group is complete at once.
Expected<Draft> decode_copy(FunctionDecoder& decoder, const Instruction& instruction) {
    if (instruction.has(".bulk")) return decode_bulk_copy(decoder, instruction);
    Words words(instruction);
    if (!words.take(".async")) return decoder.missing(instruction);
    decoder.program().uses_copies = true;
    if (const std::string_view group = words.take_of({".commit_group", ".wait_group", ".wait_all"});
        !group.empty() && words.empty()) {
        if (group == ".commit_group") return Draft(execute_copy_commit);
        if (group == ".wait_all") return Draft(execute_copy_wait_all);
        const auto pending = TRY(pending_groups(instruction));
        return Draft(execute_copy_wait, pending);
    }
    if (words.take(".mbarrier") && words.take(".arrive")) {
        words.take(".noinc");
        words.take_of({".shared", ".shared::cta"});
        if (!words.take(".b64") || !words.empty()) return decoder.missing(instruction);
        return decode_copy_arrival(decoder, instruction);
    }
    const bool has_policy = words.take(".L2::cache_hint");
    words.take_cache_hints();
    const bool is_shared = !words.take_of({".shared", ".shared::cta"}).empty();
    const auto& operands = instruction.operands;
    if (!is_shared || !words.take(".global") || !words.empty() || operands.size() < 3)
        return decoder.missing(instruction);
    const std::int64_t bytes = integer_of(operands[2]).value_or(0);
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return fail(Errc::operand_invalid, operands[2].span(), "copies of 4, 8 or 16 bytes");
    const std::size_t sizes = operands.size() - 3 - (has_policy ? 1 : 0);
    if (sizes > 1) return decoder.missing(instruction);
    Access access{.space = Space::shared, .bytes = static_cast<std::uint8_t>(bytes)};
    auto base = decoder.address(operands[0], access);
    auto source = decoder.address_value(operands[1]);
    if (!base) return tl::unexpected<Error>(base.error());
    if (!source) return tl::unexpected<Error>(source.error());
    auto size = Expected<Ref>(decoder.constant(static_cast<std::uint64_t>(bytes), 4));
    if (sizes == 1) {
        size = decode_source_size(decoder, operands[3], *size);
        if (!size) return tl::unexpected<Error>(size.error());
    }
    Draft draft(execute_copy, decoder.add(access));
    if (access.has_base) draft.input(*base);
    return draft.input(*source).input(*size);
}

Expected<Draft> decode_alloca(FunctionDecoder& decoder, const Instruction& instruction) {
    const auto& operands = instruction.operands;
    if (operands.size() < 2) return decoder.missing(instruction);
    const std::int64_t align = operands.size() > 2 ? integer_of(operands[2]).value_or(0) : 8;
    if (align <= 0 || align > 4096 || (align & (align - 1)) != 0) return decoder.missing(instruction);
    const std::uint32_t bytes = instruction.has(".u32") ? 4 : 8;
    auto d = decoder.output(operands[0], bytes);
    auto size = decoder.input(operands[1], bytes);
    if (!d) return tl::unexpected<Error>(d.error());
    if (!size) return tl::unexpected<Error>(size.error());
    return Draft(execute_alloca, static_cast<std::uint32_t>(align)).output(*d).input(*size);
}

Expected<Draft> decode_stack(FunctionDecoder& decoder, const Instruction& instruction) {
    if (instruction.operands.size() != 1) return decoder.missing(instruction);
    const bool saves = instruction.opcode == "stacksave";
    const std::uint32_t bytes = instruction.has(".u32") ? 4 : 8;
    auto ref = TRY(saves ? decoder.output(instruction.operands[0], bytes)
                         : decoder.input(instruction.operands[0], bytes));
    return saves ? Draft(execute_stacksave).output(ref) : Draft(execute_stackrestore).input(ref);
}

// A cache policy is a value that only cache hints read.
Expected<Draft> decode_createpolicy(FunctionDecoder& decoder, const Instruction& instruction) {
    if (instruction.operands.empty()) return decoder.missing(instruction);
    auto d = TRY(decoder.output(instruction.operands[0], 8));
    return Draft(arithmetic::extension(8, 8, false)).output(d).input(decoder.constant(0, 8));
}

// PTX ISA 9.7.9.14, 9.7.9.26, 9.7.9.27. A multimem address stands for one place on each device of a team; the
// emulator is a team of one, where every global address is one: a load reduces one value, the others are what
// they are without it.
Expected<Draft> decode_multimem(FunctionDecoder& decoder, const Instruction& instruction) {
    Instruction alone = instruction;
    const std::string_view what = alone.modifiers.empty() ? std::string_view() : alone.modifiers.front();
    if (!what.empty()) alone.modifiers.erase(alone.modifiers.begin());
    if (what == ".cp") {
        alone.opcode = "cp";
        return decode_copy(decoder, alone);
    }
    const auto drop = [&](auto&& is_one) { std::erase_if(alone.modifiers, is_one); };
    drop([](std::string_view word) { return word.starts_with(".acc::") || word == ".global"; });
    alone.modifiers.insert(alone.modifiers.begin(), ".global");
    if (what == ".st") {
        alone.opcode = "st";
        return decode_store(decoder, alone);
    }
    if (what == ".red") {
        alone.opcode = "red";
        return decode_atomic(decoder, alone);
    }
    if (what != ".ld_reduce") return decoder.missing(instruction);
    constexpr std::array<std::string_view, 6> operations = {".min", ".max", ".add", ".and", ".or", ".xor"};
    drop([&](std::string_view word) { return std::ranges::find(operations, word) != operations.end(); });
    alone.opcode = "ld";
    return decode_load(decoder, alone);
}

constexpr InstructionRow rows[] = {
    {"multimem", decode_multimem},
    {"ld", decode_load},
    {"ldu", decode_load},
    {"st", decode_store},
    {"atom", decode_atomic},
    {"red", decode_atomic},
    {"mov", decode_mov},
    {"cvta", decode_cvta},
    {"isspacep", decode_isspacep},
    {"prefetch", decode_nothing},
    {"prefetchu", decode_nothing},
    {"applypriority", decode_nothing},
    {"discard", decode_discard},
    {"membar", decode_membar},
    {"cp", decode_copy},
    {"alloca", decode_alloca},
    {"stacksave", decode_stack},
    {"stackrestore", decode_stack},
    {"createpolicy", decode_createpolicy},
};

}  // namespace

std::span<const InstructionRow> memory_rows() { return rows; }

}  // namespace ptxgraft::emulator
