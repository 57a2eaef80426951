#include <algorithm>
#include <array>

#include "site/operand.hpp"

namespace ptxgraft {
namespace {

struct TypeRow {
    std::string_view name;
    std::uint32_t bits;
    std::string_view register_type;
};

// In the order of the enumerators. PTX ISA 5.2.1: the 16-bit floats have no register type of their own that
// every instruction takes, so their registers are untyped.
constexpr std::array<TypeRow, 16> types{{{"pred", 1, ".pred"},
                                         {"b16", 16, ".b16"},
                                         {"b32", 32, ".b32"},
                                         {"b64", 64, ".b64"},
                                         {"u16", 16, ".u16"},
                                         {"u32", 32, ".u32"},
                                         {"u64", 64, ".u64"},
                                         {"s16", 16, ".s16"},
                                         {"s32", 32, ".s32"},
                                         {"s64", 64, ".s64"},
                                         {"f16", 16, ".b16"},
                                         {"f16x2", 32, ".b32"},
                                         {"bf16", 16, ".b16"},
                                         {"bf16x2", 32, ".b32"},
                                         {"f32", 32, ".f32"},
                                         {"f64", 64, ".f64"}}};

constexpr std::array<std::string_view, 3> directions{"in", "mod", "out"};

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

std::string_view name(Type type) { return types[static_cast<std::size_t>(type)].name; }
std::uint32_t bits(Type type) { return types[static_cast<std::size_t>(type)].bits; }
std::string_view register_type(Type type) { return types[static_cast<std::size_t>(type)].register_type; }

std::string unknown_type(std::string_view word) {
    std::string text = "'" + std::string(word) + "'; the types are ";
    for (const TypeRow& row : types) text.append(row.name).append(", ");
    return text + "and name:TYPE for a user's type";
}

Expected<Type> type_from_name(std::string_view name) {
    const auto found =
        std::find_if(types.begin(), types.end(), [&](const TypeRow& row) { return row.name == name; });
    if (found == types.end()) return fail(Errc::type_unknown, unknown_type(name));
    return static_cast<Type>(found - types.begin());
}

std::string_view name(Direction direction) { return directions[static_cast<std::size_t>(direction)]; }

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
