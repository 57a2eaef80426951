// The types, directions and effects that a site's operands and policy may name.

#include <algorithm>
#include <array>
#include <span>

#include "site/operand.hpp"
#include "site/type_row.hpp"

namespace ptxgraft {
namespace {

constexpr std::size_t type_count = static_cast<std::size_t>(Type::f64) + 1;

constexpr std::array<std::string_view, 3> directions{"in", "mod", "out"};
constexpr std::array<std::string_view, 3> heats{"unsaid", "hot", "cold"};

struct EffectRow {
    Effect effect;
    std::string_view name;
};
constexpr EffectRow effects[] = {
    {Effect::none, "none"},     {Effect::load, "load"},   {Effect::store, "store"},
    {Effect::atomic, "atomic"}, {Effect::warp, "warp"},   {Effect::barrier, "barrier"},
    {Effect::branch, "branch"}, {Effect::call, "call"},   {Effect::tensor, "tensor"},
    {Effect::exit, "exit"},     {Effect::state, "state"}, {Effect::all, "all"}};

}  // namespace

std::string_view name(Type type) { return row(type).name(); }
std::uint32_t bits(Type type) { return row(type).bits; }
std::string_view register_type(Type type) { return syntax::row(syntax::register_type(row(type).type)).word; }

std::string unknown_type(std::string_view word) {
    std::string text = "'" + std::string(word) + "'; the types are ";
    for (const syntax::TypeRow& row : std::span(syntax::types).first(type_count))
        text.append(row.name()).append(", ");
    return text + "and name:TYPE for a user's type";
}

Expected<Type> type_from_name(std::string_view name) {
    const auto all = std::span(syntax::types).first(type_count);
    // Most rows differ in the first character, and a comparison of texts is a call.
    const auto found = std::ranges::find_if(all, [&](const syntax::TypeRow& row) {
        return name.starts_with(row.name().front()) && row.name() == name;
    });
    if (found == all.end()) return fail(Errc::type_unknown, unknown_type(name));
    return static_cast<Type>(found->type);
}

std::string_view name(Direction direction) { return directions[static_cast<std::size_t>(direction)]; }

std::string_view name(Heat heat) { return heats[static_cast<std::size_t>(heat)]; }

std::string_view name(Effect effect) {
    const auto found = std::find_if(std::begin(effects), std::end(effects),
                                    [&](const EffectRow& row) { return row.effect == effect; });
    return found == std::end(effects) ? std::string_view("several") : found->name;
}

Expected<Effect> effect_from_name(std::string_view name) {
    const auto found = std::find_if(std::begin(effects) + 1, std::end(effects),
                                    [&](const EffectRow& row) { return row.name == name; });
    if (found == std::end(effects)) return fail(Errc::effect_unknown, std::string(name));
    return found->effect;
}

}  // namespace ptxgraft
