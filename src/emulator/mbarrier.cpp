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

Flow execute_init(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        std::byte* at = warp.resolve(access_of(warp, operation), lane, 8, Use::write);
        if (at == nullptr) return false;
        const std::uint64_t count = warp.lanes(operation.operands[1])[lane] & count_mask;
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
        std::byte* at = warp.resolve(access_of(warp, operation), lane, 8, Use::write);
        if (at == nullptr) return false;
        const std::uint64_t before = read_word(at),
                            count = warp.lanes(operation.operands[1])[lane] & count_mask;
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
        warp.lanes(operation.operands[0])[lane] = before;
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

// True when the phase of a state, or the one of a parity, is complete.
template <bool Parity>
Flow execute_test(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        const std::byte* at = warp.resolve(access_of(warp, operation), lane, 8, Use::read);
        if (at == nullptr) return false;
        const std::uint64_t asked = warp.lanes(operation.operands[1])[lane];
        const std::uint64_t phase = Parity ? asked & 1 : Object::of(asked).phase;
        warp.lanes(operation.operands[0])[lane] = Object::of(read_word(at)).phase != phase ? 1 : 0;
        return true;
    });
    return done ? warp.strong() : Flow::fail;
}

// What all forms have in common: destination or none, address, one input or the constant 1.
Expected<Operation> decode(FunctionDecoder& decoder, const Instruction& instruction, Execute execute,
                           bool has_result, bool wants_input) {
    const auto& operands = instruction.operands;
    const std::size_t at = has_result ? 1 : 0;
    if (operands.size() < at + (wants_input ? 2 : 1)) return decoder.missing(instruction);
    Access access{.space = Space::shared};
    if (!instruction.has(".shared") && !instruction.has(".shared::cta")) access.space = Space::generic;
    if (auto done = decoder.address(operands[at], access); !done) return tl::unexpected<Error>(done.error());
    auto result = has_result ? decoder.output(operands[0]) : Expected<Ref>(decoder.temporary());
    auto value =
        operands.size() > at + 1 ? decoder.input(operands[at + 1]) : Expected<Ref>(decoder.constant(1));
    if (!result) return tl::unexpected<Error>(result.error());
    if (!value) return tl::unexpected<Error>(value.error());
    decoder.program().accesses.push_back(access);
    return Operation{.execute = execute,
                     .outputs = 1,
                     .inputs = 1,
                     .operands = {*result, *value},
                     .extra = static_cast<std::uint32_t>(decoder.program().accesses.size() - 1)};
}

Expected<Operation> decode_mbarrier(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::string_view what =
        words.take_of({".init", ".inval", ".arrive", ".arrive_drop", ".test_wait", ".try_wait"});
    const bool parity = words.take(".parity"), waits = what == ".test_wait" || what == ".try_wait";
    words.take(".noComplete");
    words.take_of({".release", ".acquire", ".relaxed"});
    words.take_scope();
    words.take_of({".shared", ".shared::cta"});
    if (!words.take(".b64") || !words.empty() || what.empty() || parity > waits)
        return decoder.missing(instruction);
    if (what == ".inval") return Operation{.execute = execute_nothing};
    if (what == ".init") return decode(decoder, instruction, execute_init, false, true);
    if (waits)
        return decode(decoder, instruction, parity ? execute_test<true> : execute_test<false>, true, true);
    return decode(decoder, instruction, what == ".arrive" ? execute_arrive<false> : execute_arrive<true>,
                  true, false);
}

constexpr InstructionRow rows[] = {{"mbarrier", decode_mbarrier}};

}  // namespace

// Copies are complete at once, so their arrival is one of this thread: with .noinc it is among those
// expected, without it was expected in addition just now, and changes nothing.
Expected<Operation> decode_copy_arrival(FunctionDecoder& decoder, const Instruction& instruction) {
    if (!instruction.has(".noinc")) return Operation{.execute = execute_nothing};
    return decode(decoder, instruction, execute_arrive<false>, false, false);
}

std::span<const InstructionRow> mbarrier_rows() { return rows; }

}  // namespace ptxgraft::emulator
