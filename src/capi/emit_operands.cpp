// Operands of emitted instructions, read of their text.

#include <fmt/format.h>

#include <bit>

#include "base/try.hpp"
#include "capi/emit.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::capi {
namespace {

using dsl::AnyOperand, syntax::Operand, syntax::OperandKind;
using Operands = std::vector<AnyOperand>;

class Reader {
  public:
    Reader(std::string_view name, const Names& own, const Names& module)
        : is_f64_(name.find(".f64") != std::string_view::npos), own_(own), module_(module) {}

    Expected<AnyOperand> read(const Operand& operand) const {
        switch (operand.kind()) {
            case OperandKind::identifier: return named(operand.text());
            case OperandKind::immediate: return constant(operand);
            case OperandKind::address: return composed(operand, AnyOperand::address);
            case OperandKind::vector: return composed(operand, AnyOperand::vector);
            case OperandKind::list: return composed(operand, AnyOperand::list);
            case OperandKind::pair: return pair(operand);
            case OperandKind::negation: return negation(operand);
            case OperandKind::sum: return sum(operand);
            case OperandKind::sink: return AnyOperand(dsl::sink);
            default: break;
        }
        return fail(Errc::operand_invalid, fmt::format("{}", operand.text()));
    }

  private:
    Expected<AnyOperand> named(std::string_view text) const {
        for (const Names* names : {&own_, &module_})
            if (const auto found = names->find(text); found != names->end()) return found->second;
        if (isa::special_register(text)) return AnyOperand::special(text);
        const std::size_t dot = text.rfind('.');
        if (dot != std::string_view::npos && dot != 0) {
            const AnyOperand of = TRY(named(text.substr(0, dot)));
            return AnyOperand::part(of, text.substr(dot));
        }
        if (text.starts_with('%') && AnyOperand::special(text).shape().kind != dsl::ShapeKind::invalid)
            return AnyOperand::special(text);
        return fail(Errc::name_undeclared, std::string(text));
    }

    Expected<AnyOperand> constant(const Operand& operand) const {
        const auto value = operand.constant();
        if (!value) return fail(Errc::operand_invalid, std::string(operand.text()));
        using Kind = syntax::Constant::Type;
        switch (value->type) {
            case Kind::s64: return AnyOperand(value->as_signed());
            case Kind::u64: return AnyOperand(value->bits);
            case Kind::f32: return AnyOperand(std::bit_cast<float>(static_cast<std::uint32_t>(value->bits)));
            default: break;
        }
        const double number = std::bit_cast<double>(value->bits);
        if (is_f64_ || operand.text().starts_with("0d") || operand.text().starts_with("0D"))
            return AnyOperand(number);
        return AnyOperand(static_cast<float>(number));
    }

    Expected<Operands> children(const Operand& operand) const {
        Operands all;
        for (const Operand& child : operand.children()) {
            auto one = TRY(read(child));
            all.push_back(std::move(one));
        }
        return all;
    }
    Expected<AnyOperand> composed(const Operand& operand,
                                  AnyOperand (*make)(std::span<const AnyOperand>)) const {
        const auto all = TRY(children(operand));
        return make(all);
    }
    Expected<AnyOperand> pair(const Operand& operand) const {
        const auto both = TRY(children(operand));
        return AnyOperand::pair(both.at(0), both.at(1));
    }
    Expected<AnyOperand> negation(const Operand& operand) const {
        const auto of = TRY(children(operand));
        return operand.text().starts_with('-') ? AnyOperand::minus(of.at(0)) : AnyOperand::negated(of.at(0));
    }
    Expected<AnyOperand> sum(const Operand& operand) const {
        const AnyOperand base = TRY(named(operand.base()));
        const auto offset = operand.offset();
        if (!offset) return fail(Errc::operand_invalid, std::string(operand.text()));
        return AnyOperand::sum(base, *offset);
    }

    bool is_f64_;
    const Names& own_;
    const Names& module_;
};

// The instruction whose text is `NAME OPERAND, …`: the one statement of the one function.
Expected<syntax::Instruction> parse_instruction(const syntax::Module& module) {
    const syntax::Statement body = module.find_function("k");
    const syntax::Statement first = body ? body.first_child() : syntax::Statement();
    auto instruction = first ? first.instruction() : std::nullopt;
    if (!instruction) return fail(Errc::syntax_expected, std::string("an instruction"));
    if (first.next() || module.functions().size() != 1)
        return fail(Errc::argument_invalid, std::string("operands have more in them than one instruction"));
    return *std::move(instruction);
}

}  // namespace

Expected<Operands> read_operands(std::string_view name, std::span<const char* const> texts, const Names& own,
                                 const Names& module) {
    std::string text = fmt::format(".entry k(){{{}", name);
    for (std::size_t i = 0; i < texts.size(); ++i) text.append(i == 0 ? " " : ", ").append(texts[i]);
    const auto parsed = TRY(with_source(syntax::parse(text + ";}"), text, "instruction"));
    const auto instruction = TRY(parse_instruction(parsed));
    if (instruction.operands.size() != texts.size())
        return fail(Errc::argument_invalid, fmt::format("operands has {} texts, which are {} operands",
                                                        texts.size(), instruction.operands.size()));
    const Reader reader(name, own, module);
    Operands all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        auto one = reader.read(instruction.operands[i]);
        if (!one) {
            one.error().index = static_cast<std::uint32_t>(i);
            return tl::unexpected(std::move(one.error()));
        }
        all.push_back(std::move(*one));
    }
    return all;
}

Expected<dsl::Type> emitted_type(const char* name) {
    for (std::size_t i = 0; i < emitted_types; ++i) {
        const auto type = static_cast<dsl::Type>(i);
        if (syntax::row(type).word.substr(1) == name) return type;
    }
    return fail(Errc::type_unknown, std::string(name));
}

}  // namespace ptxgraft::capi
