#include "stub/stack/fold.hpp"

#include <array>

#include "stub/stack/arithmetic_of.hpp"

namespace ptxgraft::stack {

using arithmetic::Lanes;

std::optional<std::uint64_t> fold_entry(const Entry& entry, std::span<const std::uint64_t> arguments) {
    const bool is_scalar_move = is_move(entry) && entry.form->operands.size() == 2 && !entry.form->operands[0].is_vector && !entry.form->operands[1].is_vector;
    if (is_scalar_move && arguments.size() == 1) return arguments[0];
    const auto found = arithmetic_of(entry);
    if (!found || found->outputs != 1 || found->open == arithmetic::Open::always || arguments.size() != found->inputs) return std::nullopt;
    std::array<Lanes, arithmetic::most_inputs> in;
    std::array<const Lanes*, arithmetic::most_inputs> from{};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        in[i][0] = arguments[i];
        from[i] = &in[i];
    }
    Lanes out;
    Lanes* const to[] = {&out};
    found->run(to, from.data(), 1);
    if (found->leaves_open(to, from.data())) return std::nullopt;
    return out[0];
}

}  // namespace ptxgraft::stack
