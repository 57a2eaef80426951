// Constant folding, by the arithmetic that evaluate uses.

#include "stub/stack/compile/fold.hpp"

#include <algorithm>
#include <array>

#include "stub/stack/evaluate/arithmetic_of.hpp"

namespace ptxgraft::stack {

std::optional<std::uint64_t> fold_entry(const Entry& entry, std::span<const std::uint64_t> arguments) {
    const bool is_scalar_move = is_move(entry) && entry.form->operands.size() == 2 &&
                                !entry.form->operands[0].is_vector && !entry.form->operands[1].is_vector;
    if (is_scalar_move && arguments.size() == 1) return arguments[0];
    const auto found = arithmetic_of(entry);
    if (!found || found->outputs != 1 || found->open == arithmetic::Open::always ||
        arguments.size() != found->inputs)
        return std::nullopt;
    std::array<std::uint64_t, arithmetic::most_inputs> from{};
    std::ranges::copy(arguments, from.begin());
    std::array<std::uint64_t, arithmetic::most_outputs> to{};
    found->run(to.data(), from.data());
    if (found->leaves_open(to.data(), from.data())) return std::nullopt;
    return to[0];
}

}  // namespace ptxgraft::stack
