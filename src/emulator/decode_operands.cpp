// Operands: registers, immediates, addresses, vectors.
#include <fmt/format.h>

#include "emulator/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::OperandKind;

// Special registers that have no value here: counters of the hardware, places that the driver reserves.
bool is_unknown_special(std::string_view name) {
    return name.starts_with("%pm") || name.starts_with("%reserved_smem") ||
           name.starts_with("%current_graph_exec");
}

}  // namespace

Expected<Ref> FunctionDecoder::input(const syntax::Operand& operand, ImmediateType type) {
    switch (operand.kind()) {
        case OperandKind::immediate: {
            const auto bits = immediate_bits(operand.text(), operand.offset(), type);
            if (!bits) return fail(Errc::invalid_operand, operand.span(), std::string(operand.text()));
            return constant(*bits);
        }
        case OperandKind::identifier:
            return value_of(operand.text(), 0, operand.span());
        case OperandKind::sum:
            return value_of(operand.base(), operand.offset(), operand.span());
        case OperandKind::negation: {
            bool negated = false;
            auto inner = predicate(operand, negated);
            if (!inner) return inner;
            const std::array<std::string_view, 1> modifiers = {".pred"};
            const auto negation = find_pure("not", modifiers, 2, false);
            if (!negation) return fail(Errc::instruction_not_emulated, operand.span(), "not.pred");
            const Ref result = temporary();
            emit({.function = negation->first, .outputs = 1, .inputs = 1, .operands = {result, *inner}});
            return result;
        }
        default:
            return fail(Errc::invalid_operand, operand.span(), std::string(operand.text()));
    }
}

Expected<Ref> FunctionDecoder::value_of(std::string_view name, std::int64_t offset, Span span) {
    Ref base = no_ref;
    if (const auto reg = find_register(name)) {
        base = *reg;
    } else if (const auto special = find_special(name)) {
        base = *special;
    } else if (name == "WARP_SZ") {
        base = constant(32);
    } else if (const Symbol* symbol = find(name); symbol != nullptr) {
        if (symbol->kind == Symbol::Kind::external)
            return fail(Errc::unresolved_external, span, std::string(name));
        if (symbol->kind != Symbol::Kind::variable)
            return fail(Errc::invalid_operand, span, std::string(name));
        if (symbol->frame_relative) {
            base = temporary();
            emit({.execute = execute_local_address,
                  .outputs = 1,
                  .operands = {base},
                  .extra = static_cast<std::uint32_t>(symbol->address + static_cast<std::uint64_t>(offset))});
            return base;
        }
        if (!symbol->dynamic) return constant(symbol->address + static_cast<std::uint64_t>(offset));
        base = module_.special(Special::dynamic_shared);
    } else if (const auto function = module_.find_function(name)) {
        base = constant(function_window + *function * function_stride);
    } else {
        return fail(is_unknown_special(name) ? Errc::instruction_not_emulated : Errc::unknown_identifier,
                    span, std::string(name));
    }
    if (offset == 0) return base;
    const Ref sum = temporary();
    emit({.execute = execute_add_constant,
          .outputs = 1,
          .inputs = 2,
          .operands = {sum, base, constant(static_cast<std::uint64_t>(offset))}});
    return sum;
}

Expected<Ref> FunctionDecoder::output(const syntax::Operand& operand) {
    if (operand.kind() == OperandKind::sink) {
        if (temporary_ == no_ref) temporary_ = temporary();
        return temporary_;
    }
    if (operand.kind() == OperandKind::identifier) {
        if (const auto reg = find_register(operand.text())) return *reg;
        if (find(operand.text()) == nullptr)
            return fail(Errc::unknown_identifier, operand.span(), std::string(operand.text()));
    }
    return fail(Errc::invalid_operand, operand.span(), std::string(operand.text()));
}

Expected<Ref> FunctionDecoder::predicate(const syntax::Operand& operand, bool& negated) {
    negated = operand.kind() == OperandKind::negation;
    return input(negated ? operand.children().front() : operand);
}

bool FunctionDecoder::is_vector(const syntax::Operand& operand) const {
    if (operand.kind() == OperandKind::vector) return true;
    const Symbol* symbol = operand.kind() == OperandKind::identifier ? find(operand.text()) : nullptr;
    return symbol != nullptr && symbol->kind == Symbol::Kind::vector;
}

Expected<std::vector<Ref>> FunctionDecoder::inputs(const syntax::Operand& operand, ImmediateType type) {
    std::vector<Ref> refs;
    if (operand.kind() == OperandKind::identifier && is_vector(operand)) {
        const Symbol* vector = find(operand.text());
        for (std::uint32_t i = 0; i < vector->count; ++i) refs.push_back(vector->ref + i);
        return refs;
    }
    const bool many = operand.kind() == OperandKind::vector;
    for (std::size_t i = 0; i < (many ? operand.children().size() : 1); ++i) {
        auto ref = input(many ? operand.children()[i] : operand, type);
        if (!ref) return tl::unexpected<Error>(ref.error());
        refs.push_back(*ref);
    }
    return refs;
}

Expected<std::vector<Ref>> FunctionDecoder::outputs(const syntax::Operand& operand) {
    if (operand.kind() == OperandKind::identifier && is_vector(operand))
        return inputs(operand, ImmediateType::integer);
    std::vector<Ref> refs;
    const bool many = operand.kind() == OperandKind::vector || operand.kind() == OperandKind::pair;
    for (std::size_t i = 0; i < (many ? operand.children().size() : 1); ++i) {
        auto ref = output(many ? operand.children()[i] : operand);
        if (!ref) return tl::unexpected<Error>(ref.error());
        refs.push_back(*ref);
    }
    return refs;
}

Expected<void> FunctionDecoder::address(const syntax::Operand& operand, Access& access) {
    if (operand.kind() != OperandKind::address || operand.children().size() != 1) {
        return fail(Errc::invalid_operand, operand.span(), std::string(operand.text()));
    }
    access.offset = static_cast<std::uint64_t>(operand.offset());
    const std::string_view name = operand.base();
    if (access.space == Space::param && !function().is_entry) access.space = Space::local;
    if (name.empty()) return {};
    std::uint32_t bits = 64;
    if (const auto reg = find_register(name, &bits)) {
        access.base = *reg;
        access.base_mask = bits == 32 ? 0xFFFFFFFFu : ~std::uint64_t{0};
        return {};
    }
    const Symbol* symbol = find(name);
    if (symbol == nullptr) return fail(Errc::unknown_identifier, operand.span(), std::string(name));
    if (symbol->kind == Symbol::Kind::external)
        return fail(Errc::unresolved_external, operand.span(), std::string(name));
    // What an entry passes to its functions lies in the frame as well.
    const bool fits = access.space == Space::generic || access.space == symbol->space ||
                      (access.space == Space::param && symbol->frame_relative);
    if (symbol->kind != Symbol::Kind::variable || !fits) {
        return fail(Errc::invalid_operand, operand.span(),
                    fmt::format("{}, which is not in that state space", name));
    }
    access.space = symbol->space;
    access.frame_relative = symbol->frame_relative;
    access.offset += symbol->address;
    if (symbol->dynamic) access.base = module_.special(Special::dynamic_shared);
    return {};
}

Expected<Ref> FunctionDecoder::address_value(const syntax::Operand& operand) {
    if (operand.kind() != OperandKind::address || operand.children().size() != 1) {
        return fail(Errc::invalid_operand, operand.span(), std::string(operand.text()));
    }
    return input(operand.children().front());
}

Expected<std::uint32_t> FunctionDecoder::label(const syntax::Operand& operand, Symbol::Kind kind) {
    const Symbol* symbol = operand.kind() == OperandKind::identifier ? find(operand.text()) : nullptr;
    if (symbol == nullptr || symbol->kind != kind) {
        return fail(Errc::unknown_identifier, operand.span(), fmt::format("label {}", operand.text()));
    }
    return static_cast<std::uint32_t>(symbol->address);
}

}  // namespace ptxgraft::emulator
