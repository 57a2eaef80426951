#include "emulator/arithmetic.hpp"

#include <unordered_map>

#include "emulator/pure.hpp"

namespace ptxgraft::emulator {
namespace {

// An opcode stands in several chapters (add in four): all its resolvers are asked, the first that knows the types answers.
using Table = std::unordered_multimap<std::string_view, Resolver>;

const Table& table() {
    static const Table built = [] {
        Table all;
        for (const auto rows : {integer_rows(), logic_rows(), comparison_rows(), float_rows(), conversion_rows()})
            for (const ResolverRow& row : rows) all.emplace(row.opcode, row.resolve);
        return all;
    }();
    return built;
}

}  // namespace

void PureInstruction::run_both(Lanes* const* to, const Lanes* const* from, std::uint32_t mask) const {
    std::array<Lanes, 2> between;
    Lanes* const results[] = {&between[0], &between[1]};
    first(results, from, mask);
    std::array<const Lanes*, 8> rest{};
    std::size_t count = 0;
    for (; count < first_outputs; ++count) rest[count] = &between[count];
    for (std::size_t i = first_inputs; i < inputs; ++i) rest[count++] = from[i];
    second(to, rest.data(), mask);
}

std::optional<PureInstruction> find_pure(std::string_view opcode, std::span<const std::string_view> modifiers,
                                         std::size_t operands, bool pair) {
    const Shape shape{operands, pair};
    const auto [begin, end] = table().equal_range(opcode);
    for (auto row = begin; row != end; ++row)
        if (Resolved found = row->second(Modifiers(modifiers), shape)) return found;
    return resolve_half(opcode, Modifiers(modifiers), shape);
}

}  // namespace ptxgraft::emulator
