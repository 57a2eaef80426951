// First values of variables.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/decode/decode.hpp"
#include "syntax/constant.hpp"
#include "syntax/initialiser.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::InitialValue;
using syntax::Token;

Span span_of(const Token& token) {
    return {token.offset, token.offset + static_cast<std::uint32_t>(token.text.size())};
}

syntax::ConstantUse use_of(std::string_view type) {
    const char letter = type.size() > 1 ? type[1] : 'u';
    return letter == 'f'   ? syntax::ConstantUse::floating
           : letter == 'b' ? syntax::ConstantUse::initial_bits
                           : syntax::ConstantUse::integer;
}

Expected<std::uint64_t> integer(std::span<const Token> tokens) {
    const auto constant = TRY(syntax::evaluate(tokens));
    if (!constant.is_integer())
        return fail(Errc::declaration_not_emulated, span_of(tokens.front()), "an integer is expected");
    return constant.bits;
}

Expected<std::uint64_t> base_address(const ModuleDecoder& module, const InitialValue& value) {
    const std::string_view name = value.symbol->text;
    if (const auto function = module.find_function(name))
        return function_window + *function * function_stride;
    const Symbol* symbol = module.find(name);
    if (symbol == nullptr) return fail(Errc::name_undeclared, span_of(*value.symbol), std::string(name));
    if (symbol->kind == Symbol::Kind::external && isa::is_opaque(symbol->declared))
        return fail(Errc::declaration_not_emulated, span_of(*value.symbol),
                    fmt::format("a first value that is the handle of {}, which is a texture, a sampler or a "
                                "surface",
                                name));
    if (symbol->kind == Symbol::Kind::external)
        return fail(Errc::external_unresolved, span_of(*value.symbol), std::string(name));
    return symbol->address + (value.is_generic ? window(symbol->space) : 0);
}

Expected<std::uint64_t> address(const ModuleDecoder& module, const InitialValue& value) {
    const auto base = base_address(module, value);
    if (!base || value.constant.empty()) return base;
    const auto offset = integer(value.constant);
    return offset ? Expected<std::uint64_t>(*base + *offset) : offset;
}

Expected<std::uint64_t> bits_of(const ModuleDecoder& module, const InitialValue& value,
                                std::string_view type) {
    if (value.symbol == nullptr && value.mask == nullptr) {
        const auto constant = TRY(syntax::evaluate(value.constant));
        if (const auto bits = syntax::convert(constant, use_of(type), type_bits(type))) return *bits;
        return fail(Errc::declaration_not_emulated, span_of(value.tokens.front()),
                    fmt::format("{} is no value of {}", value.tokens.front().text, type));
    }
    const auto whole = value.symbol != nullptr ? address(module, value) : integer(value.constant);
    if (!whole || value.mask == nullptr) return whole;
    const auto shift = syntax::mask_shift(*value.mask);
    if (!shift)
        return fail(Errc::declaration_not_emulated, span_of(*value.mask),
                    "a mask takes one byte of what is in parentheses: 0xFF, 0xFF00, …");
    return *whole >> *shift & 0xFF;
}

}  // namespace

Expected<void> initialise_variable(const ModuleDecoder& module, std::span<std::byte> bytes,
                                   const syntax::Statement::Variable& variable,
                                   const syntax::Statement::Declarator& declarator) {
    const std::uint64_t element = std::max(type_bits(variable.type) / 8, 1u);
    syntax::InitialValues values(variable, declarator);
    for (std::uint64_t offset = 0; const auto value = values.next(); offset += element) {
        const auto bits = TRY(bits_of(module, *value, variable.type));
        if (offset + element > bytes.size())
            return fail(Errc::declaration_not_emulated, span_of(value->tokens.front()),
                        fmt::format("{} has no place for it", declarator.name));
        std::memcpy(bytes.data() + offset, &bits, std::min<std::uint64_t>(element, sizeof bits));
    }
    if (values.problem().empty()) return {};
    return fail(Errc::declaration_not_emulated, span_of(values.place()),
                fmt::format("{}: {}", declarator.name, values.problem()));
}

}  // namespace ptxgraft::emulator
