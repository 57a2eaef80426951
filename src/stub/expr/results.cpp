// What an expression assigns.

#include <fmt/format.h>

#include "stub/expr/tree.hpp"
#include "stub/suggest.hpp"

namespace ptxgraft::expr {
namespace {

bool is_assignable(const Scope& scope, const Symbol& symbol) {
    return symbol.operand != none &&
           scope.machine->signature().operands[symbol.operand].direction != Direction::in;
}

std::uint32_t assigned_elements(const Workspace& work, const Symbol& symbol) {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < std::max(symbol.count, 1u); ++i)
        count += work.current[symbol.first_slot + i] != none ? 1 : 0;
    return count;
}

}  // namespace

std::string assignable(const Scope& scope, const Workspace& work) {
    std::string all;
    for (const Symbol& symbol : work.symbols)
        if (is_assignable(scope, symbol)) all += (all.empty() ? "" : " or ") + std::string(symbol.name);
    return all.empty() ? "a name" : all;
}

// A program that assigns no operand does nothing, and a local value that nobody reads and that is named
// nearly like an operand that nobody assigns is a slip.
std::optional<Error> check_results(std::string_view text, const Scope& scope, const Workspace& work) {
    const auto size = static_cast<std::uint32_t>(text.size());
    const Span end{size, size};
    std::uint32_t assigned = 0;
    std::vector<std::string_view> open;
    const Symbol* missing = nullptr;
    for (const Symbol& symbol : work.symbols) {
        if (!is_assignable(scope, symbol)) continue;
        const std::uint32_t of_this = assigned_elements(work, symbol);
        const bool is_out = scope.machine->signature().operands[symbol.operand].direction == Direction::out;
        if (is_out && of_this < std::max(symbol.count, 1u) && missing == nullptr) missing = &symbol;
        if (of_this == 0) open.push_back(symbol.name);
        assigned += of_this;
    }
    for (const Value& value : work.values) {
        const Symbol& symbol = work.symbols[value.symbol];
        if (value.is_read || symbol.operand != none || open.empty()) continue;
        const std::string near = did_you_mean(symbol.name, open);
        if (!near.empty() || assigned == 0)
            return fail(Errc::expression_assignment_wrong, value.target,
                        fmt::format("{} is no operand, and nothing uses it{}", symbol.name,
                                    near.empty() ? "; assign " + assignable(scope, work) : near))
                .value();
    }
    if (missing != nullptr)
        return fail(Errc::expression_assignment_wrong, end,
                    fmt::format("the `out` operand {0} is not assigned: write {0}{1} = …", missing->name,
                                missing->count == 0 ? "" : "[…]"))
            .value();
    if (assigned != 0) return std::nullopt;
    return fail(Errc::expression_assignment_wrong, end,
                fmt::format("nothing is assigned: write {} = …", assignable(scope, work)))
        .value();
}

}  // namespace ptxgraft::expr
