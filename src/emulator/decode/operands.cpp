// Operands: registers, immediates, addresses, vectors.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/decode/decode.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::emulator {
using syntax::OperandKind;

// A name that stands for nothing; a special register of the table is something that the emulator lacks.
tl::unexpected<Error> FunctionDecoder::unknown(std::string_view name, Span span) {
    const Symbol* const vector = find(syntax::parts_of(name).stem);  // `v.z` of two registers
    const bool is_known = isa::special_register(name).has_value() ||
                          (vector != nullptr && vector->kind == Symbol::Kind::vector);
    return fail(is_known ? Errc::instruction_not_emulated : Errc::name_undeclared, span, std::string(name));
}

Ref FunctionDecoder::read_as(Ref ref, std::uint32_t bytes) {
    if (width(ref) == bytes) return ref;
    const Ref low = temporary(bytes);
    Draft draft(arithmetic::extension(static_cast<std::uint8_t>(width(ref)), static_cast<std::uint8_t>(bytes),
                                      false));
    emit(draft.output(low).input(ref));
    program().code.back().is_micro_op = true;
    program().code.back().is_copy = true;
    program().code.back().undefined = Undefined::moves;
    return low;
}

Expected<Ref> FunctionDecoder::input(const syntax::Operand& operand, std::uint32_t bytes,
                                     ImmediateType type) {
    switch (operand.kind()) {
        case OperandKind::immediate: {
            const auto constant = operand.constant();
            const auto bits = constant ? immediate_bits(*constant, bytes, type) : std::nullopt;
            if (!bits) return wrong_constant(operand);
            return immediate(operand.text(), *bits, bytes, type);
        }
        case OperandKind::identifier: return value_of(operand.text(), 0, bytes, operand.span());
        case OperandKind::sum:
            if (!operand.offset()) return wrong_constant(operand);
            return value_of(operand.base(), *operand.offset(), bytes, operand.span());
        case OperandKind::element: return element_address(operand, bytes);
        case OperandKind::negation: {
            if (bytes != 1 || operand.text().starts_with('-'))
                return fail(Errc::operand_invalid, operand.span(),
                            fmt::format("{}: only predicates are negated", operand.text()));
            const Ref inner = TRY(input(operand.children().front(), 1, ImmediateType::predicate));
            const Ref result = temporary(1);
            Draft draft(+[](void* const* to, const void* const* from, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i)
                    static_cast<std::uint8_t*>(to[0])[i] = static_cast<const std::uint8_t*>(from[0])[i] ^ 1;
            });
            emit(draft.output(result).input(inner));
            program().code.back().is_micro_op = true;
            return result;
        }
        default: return fail(Errc::operand_invalid, operand.span(), std::string(operand.text()));
    }
}

Expected<Ref> FunctionDecoder::value_of(std::string_view name, std::int64_t offset, std::uint32_t bytes,
                                        Span span) {
    Ref base = no_ref;
    if (const auto reg = find_register(name)) {
        base = read_as(*reg, bytes);
    } else if (const auto special = read_special(name)) {
        base = read_as(*special, bytes);
    } else if (const Symbol* symbol = find(name); symbol != nullptr) {
        if (isa::is_opaque(symbol->declared))
            return fail(Errc::instruction_not_emulated, span,
                        fmt::format("the handle of {}, which is a texture, a sampler or a surface", name));
        if (symbol->kind == Symbol::Kind::external)
            return fail(Errc::external_unresolved, span, std::string(name));
        if (symbol->kind != Symbol::Kind::variable)
            return fail(Errc::operand_invalid, span, std::string(name));
        const std::uint64_t address = symbol->address + static_cast<std::uint64_t>(offset);
        if (symbol->frame_relative) {
            base = temporary(bytes);
            emit(Draft(execute_local_address, static_cast<std::uint32_t>(address)).output(base));
            program().code.back().is_micro_op = true;
            return base;
        }
        if (!symbol->dynamic)
            return offset == 0 ? immediate(name, address, bytes, ImmediateType::integer)
                               : constant(address, bytes);
        base = read_as(special_register(Special{&dynamic_shared_address}, 4), bytes);
    } else if (const auto function = module_.find_function(name)) {
        refuse_shape();  // another module has other functions
        base = constant(function_window + *function * function_stride, bytes);
    } else {
        return unknown(name, span);
    }
    if (offset == 0) return base;
    if (bytes > 8)
        return fail(Errc::instruction_not_emulated, span, "a number added to a register of 128 bits");
    const std::uint32_t added = std::max(bytes, 2u);  // there are no sums of bytes
    return read_as(sum_of(read_as(base, added), constant(static_cast<std::uint64_t>(offset), added), added),
                   bytes);
}

// A constant of the wrong type, or an expression that has no value; behind a base it begins with a `+`.
tl::unexpected<Error> FunctionDecoder::wrong_constant(const syntax::Operand& operand) {
    const std::size_t from = operand.kind() == OperandKind::sum ? operand.text().find('+') : 0;
    const auto value = syntax::evaluate_constant(operand.text().substr(from));
    if (value) return fail(Errc::operand_invalid, operand.span(), std::string(operand.text()));
    Error error = value.error();
    const auto begin = operand.span().begin + static_cast<std::uint32_t>(from);
    if (operand.span().known() && error.span.known())
        error.span = {begin + error.span.begin, begin + error.span.end};
    return tl::unexpected(std::move(error));
}

Ref FunctionDecoder::sum_of(Ref a, Ref b, std::uint32_t bytes) {
    const Ref sum = temporary(bytes);
    emit_sum(sum, a, b);
    program().code.back().is_micro_op = true;
    return sum;
}

// `a[%r1+2]` as a value: the element's address (PTX ISA 6.4.2).
Expected<Ref> FunctionDecoder::element_address(const syntax::Operand& operand, std::uint32_t bytes) {
    const Ref base = TRY(value_of(operand.base(), 0, bytes, operand.span()));
    const Ref distance = TRY(element_offset(operand, bytes));
    return sum_of(base, distance, bytes);
}

// The bytes from an array's begin to an element. As ptxas has it, they are the lower 32 bits of the product
// and never negative; elements are of the array's type, also where it has several dimensions or vectors.
Expected<Ref> FunctionDecoder::element_offset(const syntax::Operand& operand, std::uint32_t bytes) {
    const Symbol* const symbol = find(operand.base());
    if (symbol == nullptr) return unknown(operand.base(), operand.span());
    if (symbol->kind != Symbol::Kind::variable || symbol->element_bytes == 0)
        return fail(Errc::operand_invalid, operand.span(),
                    fmt::format("{}: {} is no array", operand.text(), operand.base()));
    const syntax::Operand& index = operand.children().front();
    const std::uint32_t element_bytes = symbol->element_bytes;
    if (index.kind() == OperandKind::immediate) {
        const auto value = integer_of(index);
        if (!value) return wrong_constant(index);
        return constant(static_cast<std::uint32_t>(static_cast<std::uint64_t>(*value) * element_bytes),
                        bytes);
    }
    const auto reg = find_register(index.base().empty() ? index.text() : index.base());
    const auto from = index.kind() == OperandKind::sum ? index.offset() : 0;
    if (!reg || width(*reg) < 2 || !from) return wrong_constant(index);
    const Ref number = sum_of(read_as(*reg, 4), constant(static_cast<std::uint64_t>(*from), 4), 4);
    const Ref product = temporary(4);
    Draft draft(+[](void* const* to, const void* const* factors, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            static_cast<std::uint32_t*>(to[0])[i] = static_cast<const std::uint32_t*>(factors[0])[i] *
                                                    static_cast<const std::uint32_t*>(factors[1])[i];
    });
    emit(draft.output(product).input(number).input(constant(element_bytes, 4)));
    program().code.back().is_micro_op = true;
    return read_as(product, bytes);
}

Expected<Ref> FunctionDecoder::output(const syntax::Operand& operand, std::uint32_t bytes,
                                      Extension extension) {
    if (operand.kind() == OperandKind::sink) return temporary(bytes);
    if (operand.kind() == OperandKind::identifier) {
        if (const auto reg = find_register(operand.text()); reg && is_register(*reg)) {
            if (width(*reg) == bytes) return *reg;
            if (width(*reg) < bytes)
                return fail(Errc::operand_invalid, operand.span(),
                            fmt::format("{}, of {} bits, for a result of {}", operand.text(), width(*reg) * 8,
                                        bytes * 8));
            const Ref result = temporary(bytes);
            after_.push_back(Draft(arithmetic::extension(static_cast<std::uint8_t>(bytes),
                                                         static_cast<std::uint8_t>(width(*reg)),
                                                         extension == Extension::sign))
                                 .output(*reg)
                                 .input(result));
            return result;
        }
        if (find(operand.text()) == nullptr) return unknown(operand.text(), operand.span());
    }
    return fail(Errc::operand_invalid, operand.span(), std::string(operand.text()));
}

bool FunctionDecoder::is_vector(const syntax::Operand& operand) {
    if (operand.kind() == OperandKind::vector || is_special_vector(operand)) return true;
    const Symbol* symbol = operand.kind() == OperandKind::identifier ? find(operand.text()) : nullptr;
    return symbol != nullptr && symbol->kind == Symbol::Kind::vector;
}

std::size_t FunctionDecoder::elements(const syntax::Operand& operand) {
    if (operand.kind() == OperandKind::vector) return operand.children().size();
    if (is_special_vector(operand)) return 4;
    return is_vector(operand) ? find(operand.text())->count : 1;
}

Expected<std::vector<Ref>> FunctionDecoder::inputs(const syntax::Operand& operand, std::uint32_t bytes,
                                                   ImmediateType type) {
    std::vector<Ref> refs;
    if (is_special_vector(operand)) {
        for (const char* component : {".x", ".y", ".z", ".w"})
            refs.push_back(read_as(*read_special(std::string(operand.text()) + component), bytes));
        return refs;
    }
    if (operand.kind() == OperandKind::identifier && is_vector(operand)) {
        const Symbol vector = *find(operand.text());
        for (std::uint32_t i = 0; i < vector.count; ++i)
            refs.push_back(read_as(element(vector.ref, i), bytes));
        return refs;
    }
    const bool many = operand.kind() == OperandKind::vector;
    if (many) TRY(check_widths(operand, bytes, type));
    for (std::size_t i = 0; i < (many ? operand.children().size() : 1); ++i) {
        auto ref = TRY(input(many ? operand.children()[i] : operand, bytes, type));
        refs.push_back(ref);
    }
    return refs;
}

// Of a wider register an integer is the lower part. What ptxas makes of others in a vector, `{1.5, %d1}` or
// `{0, %rs1}`, are conversions by types that the registers do not have.
Expected<void> FunctionDecoder::check_widths(const syntax::Operand& vector, std::uint32_t bytes,
                                             ImmediateType type) {
    for (const syntax::Operand& element : vector.children()) {
        if (element.kind() != OperandKind::identifier) continue;
        const auto reg = find_register(element.text());
        if (!reg || width(*reg) == bytes) continue;
        const Scopes::Meaning meaning = scopes().find_register(element.text());
        const isa::RegisterType declared = meaning.range != nullptr    ? meaning.range->declared().type
                                           : meaning.symbol != nullptr ? meaning.symbol->declared.type
                                                                       : isa::RegisterType::none;
        const bool is_number =
            declared != isa::RegisterType::none && (isa::info(declared).kind == isa::TypeClass::integer ||
                                                    isa::info(declared).kind == isa::TypeClass::bits);
        if (width(*reg) < bytes || type != ImmediateType::integer || !is_number)
            return fail(Errc::operand_invalid, element.span(),
                        fmt::format("{} of another width than the vector's", element.text()));
    }
    return {};
}

Expected<std::vector<Ref>> FunctionDecoder::outputs(const syntax::Operand& operand, std::uint32_t bytes,
                                                    Extension extension) {
    std::vector<Ref> refs;
    if (is_special_vector(operand))
        return fail(Errc::operand_invalid, operand.span(),
                    fmt::format("{}, which is only read", operand.text()));
    if (operand.kind() == OperandKind::identifier && is_vector(operand)) {
        const Symbol& vector = *find(operand.text());
        if (width(vector.ref) != bytes)
            return fail(Errc::operand_invalid, operand.span(), std::string(operand.text()));
        for (std::uint32_t i = 0; i < vector.count; ++i) refs.push_back(element(vector.ref, i));
        return refs;
    }
    const bool many = operand.kind() == OperandKind::vector || operand.kind() == OperandKind::pair;
    for (std::size_t i = 0; i < (many ? operand.children().size() : 1); ++i) {
        auto ref = TRY(output(many ? operand.children()[i] : operand, bytes, extension));
        refs.push_back(ref);
    }
    return refs;
}

Expected<Ref> FunctionDecoder::address(const syntax::Operand& operand, Access& access) {
    const bool is_element = operand.kind() == OperandKind::element;
    if (!is_element && (operand.kind() != OperandKind::address || operand.children().size() != 1)) {
        return fail(Errc::operand_invalid, operand.span(), std::string(operand.text()));
    }
    if (!is_element && !operand.offset()) return wrong_constant(operand.children().front());
    access.offset = is_element ? 0 : static_cast<std::uint64_t>(*operand.offset());
    const std::string_view name = operand.base();
    if (access.space == Space::param && !function().is_entry) access.space = Space::local;
    if (name.empty()) return no_ref;
    if (const auto reg = find_register(name)) {
        access.has_base = true;
        return width(*reg) >= 4 ? *reg : read_as(*reg, 4);
    }
    const Symbol* symbol = find(name);
    if (symbol == nullptr) return fail(Errc::name_undeclared, operand.span(), std::string(name));
    if (symbol->kind == Symbol::Kind::external)
        return fail(Errc::external_unresolved, operand.span(), std::string(name));
    // What an entry passes to its functions lies in the frame as well.
    const bool fits = access.space == Space::generic || access.space == symbol->space ||
                      (access.space == Space::param && symbol->frame_relative) ||
                      (access.space == Space::shared_cluster && symbol->space == Space::shared);
    if (symbol->kind != Symbol::Kind::variable || !fits) {
        return fail(Errc::operand_invalid, operand.span(),
                    fmt::format("{}, which is not in that state space", name));
    }
    access.space = symbol->space;
    access.frame_relative = symbol->frame_relative;
    access.offset += symbol->address;
    const Ref dynamic = symbol->dynamic ? special_register(Special{&dynamic_shared_address}, 4) : no_ref;
    access.has_base = is_element || symbol->dynamic;
    if (!is_element) return dynamic;
    const Ref distance = TRY(element_offset(operand, symbol->dynamic ? 4 : 8));
    return symbol->dynamic ? sum_of(dynamic, distance, 4) : distance;
}

namespace {

// What only hints at caching reads it.
bool is_cache_policy(const isa::OperandRule& rule) {
    return rule.name == "policy" || (rule.name == "e" && rule.type.type == isa::RegisterType::u64);
}

std::uint32_t bytes_of(syntax::Type type) { return std::max(syntax::row(type).bytes(), 1u); }

}  // namespace

Expected<void> FunctionDecoder::bind(Draft& draft, const MatchedInstruction& instruction, Access* access) {
    const isa::ActiveRules rules(*instruction.match, instruction.match->row->operands,
                                 instruction.operands.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const isa::OperandRule& rule = rules[i];
        const syntax::Operand& operand = instruction.operands[i];
        if (rule.constant_only || is_cache_policy(rule)) continue;
        if (rule.kind == isa::RuleKind::pair) {
            TRY(bind_pair(draft, *instruction.match, rule, operand));
        } else if (rule.kind != isa::RuleKind::address) {
            TRY(bind(draft, *instruction.match, rule, operand));
        } else if (access != nullptr) {
            const Ref base = TRY(address(operand, *access));
            if (access->has_base) draft.input(base);
            access = nullptr;
        } else {
            TRY(bind_address(draft, *instruction.match, rule, operand));
        }
    }
    return {};
}

Expected<void> FunctionDecoder::bind(Draft& draft, const isa::Match& match, const isa::OperandRule& rule,
                                     const syntax::Operand& operand) {
    const syntax::Type type = match.type(rule.type);
    const bool is_signed = syntax::row(type).kind == syntax::TypeKind::signed_;
    const auto refs =
        TRY(rule.is_output ? outputs(operand, bytes_of(type), is_signed ? Extension::sign : Extension::zeros)
                           : inputs(operand, bytes_of(type), immediate_type(type)));
    for (const Ref ref : refs) rule.is_output ? draft.output(ref) : draft.input(ref);
    return {};
}

// `d|p`, or `d` alone: then the other one goes nowhere.
Expected<void> FunctionDecoder::bind_pair(Draft& draft, const isa::Match& match, const isa::OperandRule& rule,
                                          const syntax::Operand& operand) {
    const bool is_pair = operand.kind() == OperandKind::pair;
    TRY(bind(draft, match, rule.children[0], is_pair ? operand.children()[0] : operand));
    if (is_pair) return bind(draft, match, rule.children[1], operand.children()[1]);
    draft.output(temporary(bytes_of(match.type(rule.children[1].type))));
    return {};
}

// `[a]`, and `[map, {x, y}]` of tensor copies.
Expected<void> FunctionDecoder::bind_address(Draft& draft, const isa::Match& match,
                                             const isa::OperandRule& rule, const syntax::Operand& operand) {
    if (operand.kind() != OperandKind::address)  // ptxas takes some without brackets
        return fail(Errc::operand_invalid, operand.span(), std::string(operand.text()));
    const Ref base = TRY(input(operand.children().front(), 8));
    draft.input(base);
    for (std::size_t i = 1; i < operand.children().size(); ++i)
        TRY(bind(draft, match, rule.children[i], operand.children()[i]));
    return {};
}

Expected<std::uint32_t> FunctionDecoder::pending_groups(const MatchedInstruction& instruction) const {
    constexpr std::int64_t most = 1 << 30;
    const std::int64_t number = instruction.constant("n").value_or(0);
    if (number < 0) return missing(instruction);
    return static_cast<std::uint32_t>(std::min(number, most));
}

namespace {

template <class Entry> TableEntry append(Table table, std::vector<Entry>& entries, Entry entry) {
    entries.push_back(std::move(entry));
    return {table, static_cast<std::uint32_t>(entries.size() - 1)};
}

}  // namespace

TableEntry FunctionDecoder::add(const Access& access) {
    return append(Table::accesses, program().accesses, access);
}
TableEntry FunctionDecoder::add(const CollectiveCall& call) {
    return append(Table::collectives, program().collectives, call);
}
TableEntry FunctionDecoder::add(const Barrier& barrier) {
    return append(Table::barriers, program().barriers, barrier);
}
TableEntry FunctionDecoder::add(MatrixInstruction instruction) {
    return append(Table::matrices, program().matrices, std::move(instruction));
}

Expected<std::uint32_t> FunctionDecoder::label(const syntax::Operand& operand, Symbol::Kind kind) {
    const Symbol* symbol = operand.kind() == OperandKind::identifier ? find(operand.text()) : nullptr;
    if (symbol == nullptr || symbol->kind != kind) {
        return fail(Errc::name_undeclared, operand.span(), fmt::format("label {}", operand.text()));
    }
    return static_cast<std::uint32_t>(symbol->address);
}

}  // namespace ptxgraft::emulator
