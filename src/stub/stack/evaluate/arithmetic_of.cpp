// The arithmetic of an entry: what its form computes.

#include "stub/stack/evaluate/arithmetic_of.hpp"

#include <algorithm>
#include <array>

#include "stub/set/names.hpp"

namespace ptxgraft::stack {
namespace {

using Kind = EntryArithmetic::Kind;

std::optional<arithmetic::PureInstruction> instruction_of(const isa::Form& form, const Spelling& spelling) {
    std::size_t written = 0, inputs = 0, outputs = 0;
    for (const isa::OperandSpec& operand : form.operands) {
        written += operand.is_second ? 0 : 1;
        (operand.is_output ? outputs : inputs) += operand.count;
    }
    const bool pair = written != form.operands.size();
    auto found = arithmetic::find_pure(spelling.opcode, spelling.all(), written, pair);
    const bool fits = found && found->inputs == inputs && found->outputs == outputs && !found->reads_carry &&
                      !found->writes_carry;
    return fits ? found : std::nullopt;
}

// On columns of its operands' registers. None where they are wider than arithmetic knows.
EntryArithmetic on_registers(const arithmetic::PureInstruction& found, const EntryCode& entry,
                             const SetCode& code) {
    constexpr std::uint8_t widest = 8;
    std::array<std::uint8_t, arithmetic::most_outputs> to{};
    std::array<std::uint8_t, arithmetic::most_inputs> from{};
    const auto inputs = code.inputs_of(entry);
    for (std::size_t k = 0; k < found.inputs; ++k)
        from[k] = inputs[k].is_immediate ? found.input_bytes[k] : bytes_of(inputs[k].stack, code);
    for (std::size_t i = 0; i < found.outputs; ++i)
        to[i] = bytes_of(code.output_stacks[code.output_bases[entry.at] + i], code);
    if (std::max(*std::ranges::max_element(to), *std::ranges::max_element(from)) > widest) return {};
    return {.kind = Kind::pure,
            .instruction = found.with_widths({to.data(), found.outputs}, {from.data(), found.inputs})};
}

EntryArithmetic find_arithmetic(const EntryCode& entry, const SetCode& code) {
    const isa::Form* const form = entry.entry->form;
    if (form == nullptr || !form->pure) return {};
    if (form->spelling.starts_with("mov."))
        return {.kind = Kind::move,
                .is_scalar = form->operands.size() == 2 && !form->operands[0].is_vector &&
                             !form->operands[1].is_vector};
    const Spelling spelling(form->spelling);
    const auto found = instruction_of(*form, spelling);
    if (!found) return {};
    EntryArithmetic made = on_registers(*found, entry, code);
    made.perturb = arithmetic::find_perturb(spelling.opcode, spelling.all());
    return made;
}

}  // namespace

ArithmeticCache::ArithmeticCache(std::size_t entries)
    : entries_(entries), found_(std::make_unique<std::atomic<const EntryArithmetic*>[]>(entries)) {}

ArithmeticCache::~ArithmeticCache() {
    for (std::size_t i = 0; i < entries_; ++i) delete found_[i].load(std::memory_order_relaxed);
}

const EntryArithmetic& ArithmeticCache::find(const EntryCode& entry, const SetCode& code) const {
    auto made = std::make_unique<const EntryArithmetic>(find_arithmetic(entry, code));
    const EntryArithmetic* before = nullptr;
    if (!found_[entry.at].compare_exchange_strong(before, made.get(), std::memory_order_acq_rel))
        return *before;
    return *made.release();
}

std::optional<std::uint64_t> fold_entry(const EntryArithmetic& entry,
                                        std::span<const std::uint64_t> arguments) {
    if (entry.kind == Kind::move && entry.is_scalar && arguments.size() == 1) return arguments[0];
    const arithmetic::PureInstruction& found = entry.instruction;
    if (entry.kind != Kind::pure || found.outputs != 1 || found.open == arithmetic::Open::always ||
        arguments.size() != found.inputs)
        return std::nullopt;
    std::array<std::uint64_t, arithmetic::most_inputs> from{};
    std::ranges::copy(arguments, from.begin());
    std::array<std::uint64_t, arithmetic::most_outputs> to{};
    found.run(to.data(), from.data());
    if (found.leaves_open(to.data(), from.data())) return std::nullopt;
    return to[0];
}

}  // namespace ptxgraft::stack
