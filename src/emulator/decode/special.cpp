// Special registers as operands (PTX ISA, chapter 10).
#include <algorithm>

#include "emulator/decode/decode.hpp"
#include "isa/special.hpp"

namespace ptxgraft::emulator {
namespace {

std::uint32_t bytes_of(const isa::SpecialRegister& row) {
    return std::max<std::uint32_t>(isa::info(row.type).bits / 8, 1);
}

}  // namespace

// The lane registers of `%laneid`, `%tid.x`, `%envreg1`; nothing for other names, and for `%tid` as a whole.
std::optional<Ref> FunctionDecoder::read_special(std::string_view name) {
    const auto use = name.starts_with('%') ? isa::find_special(name) : std::nullopt;
    const auto* const row = use && !use->is_whole_vector ? find_special_register(use->row->name) : nullptr;
    if (row == nullptr) return std::nullopt;
    if (row->scope == SpecialScope::clock) {
        emit(Draft(execute_refresh_clock));
        program().code.back().is_micro_op = true;
    }
    return special_register({row, use->index}, bytes_of(*use->row));
}

// `%tid` stands for its four components.
bool FunctionDecoder::is_special_vector(const syntax::Operand& operand) {
    const bool may_be_special = operand.kind() == syntax::OperandKind::identifier &&
                                operand.text().starts_with('%') && operand.text().back() > '9';
    const auto use = may_be_special ? isa::find_special(operand.text()) : std::nullopt;
    return use && use->is_whole_vector && find_special_register(use->row->name) != nullptr &&
           !find_register(operand.text());
}

}  // namespace ptxgraft::emulator
