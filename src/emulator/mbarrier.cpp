// mbarrier objects (PTX ISA 9.7.13.15) without transaction counts: nothing asynchronous is pending here. The
// object's 64 bits are opaque to programs; these are ours.
#include <fmt/format.h>

#include <cstring>

#include "emulator/decode.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;

constexpr unsigned expected_shift = 20, phase_shift = 63;
constexpr std::uint64_t count_mask = (std::uint64_t{1} << expected_shift) - 1;

struct Object {
    std::uint64_t pending, expected, phase;

    static Object of(std::uint64_t word) {
        return {word & count_mask, (word >> expected_shift) & count_mask, word >> phase_shift};
    }
    [[nodiscard]] std::uint64_t word() const {
        return pending | expected << expected_shift | phase << phase_shift;
    }
};

std::uint64_t read_word(const std::byte* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

const Access& access_of(const Warp& warp, const Operation& operation) {
    return warp.program().accesses[operation.extra];
}

// Operands: the result, the address's register, if it has one, and a count or a state.
Ref input_of(const Warp& warp, const Operation& operation) {
    return warp.operands(operation)[operation.outputs + operation.inputs - 1];
}

Flow execute_init(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        std::byte* at = warp.resolve(access_of(warp, operation), operation, lane, 8, Use::write);
        if (at == nullptr) return false;
        const std::uint64_t count = warp.value(input_of(warp, operation), lane) & count_mask;
        const std::uint64_t word = Object{count, count, 0}.word();
        std::memcpy(at, &word, sizeof word);
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

// Arrives `count` times; `Drop` expects as many fewer from the next phase on.
template <bool Drop>
Flow execute_arrive(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        std::byte* at = warp.resolve(access_of(warp, operation), operation, lane, 8, Use::write);
        if (at == nullptr) return false;
        const std::uint64_t before = read_word(at), count = warp.value(input_of(warp, operation), lane) & count_mask;
        Object object = Object::of(before);
        if (count == 0 || count > object.pending) {
            warp.fail(Errc::invalid_barrier, lane,
                      fmt::format("{} arrivals at an mbarrier that waits for {}", count, object.pending));
            return false;
        }
        object.pending -= count;
        if (Drop) object.expected -= count;
        if (object.pending == 0) object = {object.expected, object.expected, object.phase ^ 1};
        const std::uint64_t word = object.word();
        std::memcpy(at, &word, sizeof word);
        warp.set(warp.operands(operation)[0], lane, before);
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

// True when the phase of a state, or the one of a parity, is complete.
template <bool Parity>
Flow execute_test(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        const std::byte* at = warp.resolve(access_of(warp, operation), operation, lane, 8, Use::read);
        if (at == nullptr) return false;
        const std::uint64_t asked = warp.value(input_of(warp, operation), lane);
        const std::uint64_t phase = Parity ? asked & 1 : Object::of(asked).phase;
        warp.set(warp.operands(operation)[0], lane, Object::of(read_word(at)).phase != phase ? 1 : 0);
        return true;
    });
    return done ? warp.strong() : Flow::fail;
}

// What all forms have in common: destination or none, address, one input or the constant 1.
Expected<Draft> decode(FunctionDecoder& decoder, const Instruction& instruction, Execute execute, std::uint32_t result_bytes,
                       std::uint32_t input_bytes) {
    const auto& operands = instruction.operands;
    const std::size_t at = result_bytes != 0 ? 1 : 0;
    if (operands.size() < at + 1) return decoder.missing(instruction);
    Access access{.space = Space::shared, .bytes = 8};
    if (!instruction.has(".shared") && !instruction.has(".shared::cta")) access.space = Space::generic;
    auto base = decoder.address(operands[at], access);
    if (!base) return tl::unexpected<Error>(base.error());
    auto result = result_bytes != 0 ? decoder.output(operands[0], result_bytes) : Expected<Ref>(decoder.temporary(8));
    auto value = operands.size() > at + 1 ? decoder.input(operands[at + 1], input_bytes) : Expected<Ref>(decoder.constant(1, input_bytes));
    if (!result) return tl::unexpected<Error>(result.error());
    if (!value) return tl::unexpected<Error>(value.error());
    Draft draft(execute, decoder.add(access));
    draft.output(*result);
    if (access.has_base) draft.input(*base);
    draft.input(*value);
    return draft;
}

Expected<Draft> decode_mbarrier(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::string_view what =
        words.take_of({".init", ".inval", ".arrive", ".arrive_drop", ".test_wait", ".try_wait"});
    const bool parity = words.take(".parity"), waits = what == ".test_wait" || what == ".try_wait";
    words.take(".noComplete");
    words.take_of({".release", ".acquire", ".relaxed"});
    words.take_scope();
    words.take_of({".shared", ".shared::cta"});
    if (!words.take(".b64") || !words.empty() || what.empty() || parity > waits ||
        instruction.operands.empty())
        return decoder.missing(instruction);
    if (what == ".inval") return Draft(execute_nothing);
    if (what == ".init") return decode(decoder, instruction, execute_init, 0, 4);
    if (waits) return decode(decoder, instruction, parity ? execute_test<true> : execute_test<false>, 1, parity ? 4 : 8);
    const bool has_result = instruction.operands[0].kind() != syntax::OperandKind::address;
    return decode(decoder, instruction, what == ".arrive" ? execute_arrive<false> : execute_arrive<true>, has_result ? 8 : 0, 4);
}

constexpr InstructionRow rows[] = {{"mbarrier", decode_mbarrier}};

}  // namespace

// Copies are complete at once, so their arrival is one of this thread: with .noinc it is among those
// expected, without it was expected in addition just now, and changes nothing.
Expected<Draft> decode_copy_arrival(FunctionDecoder& decoder, const Instruction& instruction) {
    if (!instruction.has(".noinc")) return Draft(execute_nothing);
    return decode(decoder, instruction, execute_arrive<false>, 0, 4);
}

std::span<const InstructionRow> mbarrier_rows() { return rows; }

}  // namespace ptxgraft::emulator
