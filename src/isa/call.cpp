// verify: calls (PTX ISA 9.7.12.5): as many arguments as parameters, each of its parameter's size, alignment
// and type.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {

using syntax::Instruction;
using syntax::Operand;
using syntax::OperandKind;
using syntax::Statement;

namespace {

// What ptxas passes to no function and returns from none: scalar predicates, integers of 8 and 16 bits, and
// handles. Bits and floats of their width go, and arrays and vectors.
bool is_never_passed(const Statement::Parameter& formal) {
    const RegisterType type = type_of(formal.type);
    if (formal.count != 0 || formal.is_open || formal.vector != 1) return false;
    if (type == RegisterType::none) return syntax::is_handle(formal.type);
    return info(type).kind == TypeClass::pred ||
           (info(type).kind == TypeClass::integer && info(type).bits < 32);
}

// Nor arrays of vectors, as parameters and as what is given for them.
bool is_array_never_passed(const Statement::Parameter& formal) {
    const bool is_array = formal.count != 0 || formal.is_open;
    return is_array && (formal.vector != 1 || formal.type == ".f16x2");
}
bool is_array_never_passed(const Symbol& given) {
    return given.is_array && (given.vector != 1 || given.type == RegisterType::f16x2);
}

// Types that no register has go as packed ones do.
TypeClass class_of(const Statement::Parameter& formal) {
    const RegisterType type = type_of(formal.type);
    return type == RegisterType::none ? TypeClass::packed : info(type).kind;
}

// Bits go as anything of their width, integers as integers.
bool types_go(TypeClass a, TypeClass b) {
    if (a == TypeClass::pred || b == TypeClass::pred) return a == b;
    return a == b || a == TypeClass::bits || b == TypeClass::bits || a == TypeClass::packed ||
           b == TypeClass::packed;
}

// Why a register or variable cannot be given for a parameter, as "… of argument 1"; empty: it can. Arrays and
// vectors need only be of one size.
std::string argument_difference(const Symbol& given, const Statement::Parameter& formal) {
    if (given.type == RegisterType::none) return {};
    const bool is_array = formal.count != 0 || formal.is_open, is_register = given.kind == SymbolKind::reg;
    const std::uint64_t wanted =
        std::uint64_t{bytes_of(formal)} * formal.vector * std::max<std::uint64_t>(formal.count, 1);
    const std::uint64_t bytes =
        is_register ? std::uint64_t{bytes_of(given.type)} * given.vector : given.bytes;
    if (bytes != 0 && wanted != 0 && bytes != wanted && !formal.is_open)
        return "has " + std::to_string(bytes) + " bytes, not the " + std::to_string(wanted);
    if (given.is_array != is_array)
        return is_array ? "is no array, other than the " + std::string(formal.type) + " array"
                        : "is an array, not the scalar " + std::string(formal.type);
    if (!is_array && given.vector == 1 && formal.vector == 1 &&
        !types_go(info(given.type).kind, class_of(formal)))
        return "is a ." + std::string(info(given.type).name) + ", not the " + std::string(formal.type);
    const std::uint32_t aligned = std::max<std::uint32_t>(given.align, bytes_of(given.type) * given.vector),
                        wanted_alignment = alignment_of(formal);
    if (aligned == wanted_alignment) return {};
    return "is aligned to " + std::to_string(aligned) + " bytes, not to the " +
           std::to_string(wanted_alignment);
}

}  // namespace

void InstructionVerifier::call(const Instruction& i) {
    std::span<const Operand> operands = i.operands, returns, arguments;
    if (!operands.empty() && operands.front().kind() == OperandKind::list) {
        returns = operands.front().children();
        operands = operands.subspan(1);
    }
    if (operands.empty()) return;
    const Operand& callee = operands.front();
    operands = operands.subspan(1);
    const bool has_arguments = !operands.empty() && operands.front().kind() == OperandKind::list;
    if (has_arguments) {
        arguments = operands.front().children();
        operands = operands.subspan(1);
    }
    const Symbol* symbol = names_.find(callee.text());
    if (symbol == nullptr) return;
    if (symbol->kind == SymbolKind::function) {
        if (symbol->declaration.is_entry())
            return report(Errc::call_mismatch, callee.span(),
                          "'" + std::string(callee.text()) + "' is an entry; only a .func can be called");
        if (!operands.empty())
            return report(Errc::call_mismatch, operands.front().span(),
                          "a .callprototype or .calltargets is of a call through a register; '" +
                              std::string(callee.text()) + "' is a function");
        if (!setting_.has_abi && linkage_of(symbol->declaration.tokens()) == ".extern")
            needs_abi(callee.span(), "a call of a function that stands elsewhere");
        call_to(i, symbol->declaration, callee.text(), returns, arguments);
        const auto& formal = callee_.parameters;
        if (!has_arguments && formal.size() == 1 && formal.front().is_open)
            report(Errc::call_mismatch, i.span,
                   "the parameter without a size is left away by an empty list: call " +
                       std::string(callee.text()) + ", ()");
        return;
    }
    if (!setting_.has_abi) return needs_abi(callee.span(), "a call through a register");
    if (operands.empty())
        return report(Errc::call_mismatch, callee.span(),
                      "a call through a register names a .callprototype or .calltargets as its last operand");
    const Symbol* list = names_.find(operands.front().text());
    if (list != nullptr && list->kind == SymbolKind::prototype)
        call_to(i, list->declaration, operands.front().text(), returns, arguments);
    if (list == nullptr || (list->kind != SymbolKind::call_targets && !may_be_call_table(*list))) return;
    const bool is_table = list->kind != SymbolKind::call_targets;
    const std::vector<syntax::Token> targets =
        is_table ? call_table(*list, operands.front().text()) : list->declaration.tokens();
    const auto is_function = [&](const syntax::Token& token) {
        const Symbol* const target = names_.find(token.text);
        return target != nullptr && target->kind == SymbolKind::function && !target->declaration.is_entry();
    };
    if (is_table && (targets.empty() || !std::ranges::all_of(targets, is_function)))
        return report(Errc::call_mismatch, operands.front().span(),
                      "'" + std::string(operands.front().text()) +
                          "' is no call table; one is an array of .u64 whose first values are functions");
    const std::size_t before = findings_.size();
    for (const syntax::Token& token : targets)
        if (const Symbol* target = names_.find(token.text);
            target != nullptr && target->kind == SymbolKind::function && findings_.size() == before)
            call_to(i, target->declaration, token.text, returns, arguments);
}

void InstructionVerifier::call_to(const Instruction& i, const Statement& callee, std::string_view name,
                                  std::span<const Operand> returns, std::span<const Operand> arguments) {
    if (callee_.declaration != callee) callee_ = {callee, callee.return_parameters(), callee.parameters()};
    check_arguments(returns, callee_.returns, "return value", i, name);
    check_arguments(arguments, callee_.parameters, "argument", i, name);
}

void InstructionVerifier::check_arguments(std::span<const Operand> given,
                                          const std::vector<Statement::Parameter>& formal,
                                          std::string_view what, const Instruction& i,
                                          std::string_view name) {
    const bool is_return = what == "return value";
    const bool lacks_open = !formal.empty() && formal.back().is_open && given.size() + 1 == formal.size();
    if (given.size() != formal.size() && !lacks_open) {
        const std::string text = "'" + std::string(name) + "' has " + std::to_string(formal.size()) + " " +
                                 std::string(what) + (formal.size() == 1 ? "" : "s") + ", the call gives " +
                                 std::to_string(given.size());
        return report(is_return && given.empty() ? Errc::return_value_missing : Errc::call_mismatch, i.span,
                      text);
    }
    for (std::size_t k = 0; k < given.size(); ++k) {
        const Operand& operand = given[k];
        const bool is_unread_handle =
            operand.kind() == OperandKind::sink && syntax::is_handle(formal[k].type);
        if (setting_.has_abi && is_never_passed(formal[k]) && !is_unread_handle) {
            never_passed(operand, formal[k], what, k, name);
            continue;
        }
        if (is_array_never_passed(formal[k])) {
            report(Errc::call_mismatch, operand.span(),
                   std::string(what) + " " + std::to_string(k + 1) + " of '" + std::string(name) +
                       "' is an array of vectors, which ptxas does not pass; declare it as .b8");
            continue;
        }
        if (operand.kind() == OperandKind::immediate && !is_return) {
            constant_argument(operand, formal[k], k, name);
            continue;
        }
        if (operand.kind() == OperandKind::sink) {
            if (!is_return)
                report(Errc::operand_kind_wrong, operand.span(),
                       "'_' stands for a return value that nobody reads, not for an argument");
            continue;
        }
        if (operand.kind() != OperandKind::identifier && is_return) {
            report(Errc::operand_kind_wrong, operand.span(),
                   "'" + std::string(operand.text()) +
                       "' is neither a register nor a .param variable, which a return value is given to");
            continue;
        }
        if (operand.kind() != OperandKind::identifier) continue;
        const Symbol* symbol = names_.find(operand.text());
        if (symbol == nullptr) {
            report(Errc::name_undeclared, operand.span(), "'" + std::string(operand.text()) + "'");
            continue;
        }
        const bool is_param = symbol->kind == SymbolKind::variable && symbol->space == Space::param;
        if (is_param && (symbol->is_input || symbol->is_return)) {
            report(Errc::operand_kind_wrong, operand.span(),
                   "'" + std::string(operand.text()) +
                       "' is a parameter of this function; copy it to a .param variable of its body");
        } else if (symbol->kind != SymbolKind::reg && !is_param) {
            report(Errc::operand_kind_wrong, operand.span(),
                   "'" + std::string(operand.text()) + "' is neither a register nor a .param variable");
        } else if (is_param && is_array_never_passed(*symbol)) {
            report(Errc::call_mismatch, operand.span(),
                   "'" + std::string(operand.text()) +
                       "' is an array of vectors, which ptxas does not pass; declare it as .b8");
        } else if (const std::string difference = argument_difference(*symbol, formal[k]);
                   !difference.empty()) {
            report(Errc::call_mismatch, operand.span(),
                   "'" + std::string(operand.text()) + "' " + difference + " of " + std::string(what) + " " +
                       std::to_string(k + 1) + " of '" + std::string(name) + "'");
        }
    }
}

// Bits take every constant, also of another width; integers and floats take their own; vectors take what has
// as many bits.
void InstructionVerifier::constant_argument(const Operand& operand, const Statement::Parameter& formal,
                                            std::size_t number, std::string_view name) {
    const std::string argument =
        "argument " + std::to_string(number + 1) + " of '" + std::string(name) + "' is ";
    if (formal.count != 0 || formal.is_open)
        return report(Errc::call_mismatch, operand.span(),
                      argument + "an array, for which a .param array is given");
    if (!operand.constant()) {
        const auto value = syntax::evaluate_constant(operand.text());
        return report(value ? Errc::constant_malformed : value.error().code, operand.span(),
                      value || !value.error().detail ? std::string(operand.text()) : *value.error().detail);
    }
    const TypeClass kind = class_of(formal);
    const std::uint32_t bits = 8 * bytes_of(formal);
    const bool is_integer = operand.constant()->is_integer(),
               is_single = operand.constant()->type == syntax::Constant::Type::f32,
               is_vector = formal.vector > 1,
               goes_alone = kind == TypeClass::bits || (kind == TypeClass::integer && is_integer) ||
                            (kind == TypeClass::floating && !is_integer) ||
                            (kind == TypeClass::packed && is_single && bits >= 32),
               goes = is_vector ? bits * formal.vector == (is_single ? 32u : 64u) : goes_alone;
    if (!goes)
        report(Errc::call_mismatch, operand.span(),
               argument + "a " + (is_vector ? ".v" + std::to_string(formal.vector) + " " : "") +
                   std::string(formal.type) + ", which '" + std::string(operand.text()) +
                   "' is no constant of");
}

void InstructionVerifier::never_passed(const Operand& operand, const Statement::Parameter& formal,
                                       std::string_view what, std::size_t number, std::string_view name) {
    const bool is_predicate = class_of(formal) == TypeClass::pred;
    report(Errc::call_mismatch, operand.span(),
           std::string(what) + " " + std::to_string(number + 1) + " of '" + std::string(name) + "' is a " +
               std::string(formal.type) + ", which ptxas does not pass; declare it as .b" +
               std::to_string(is_predicate ? 32 : 8 * bytes_of(formal)));
}

// As ptxas has it, a .param variable is read behind a call, in the order of the text, that gives its result
// to it.
void Verifier::results_of_calls(const syntax::TokenView& tokens) {
    using L = syntax::Lexeme;
    std::size_t at = 0;
    if (tokens.kind(0) == L::at) at = tokens.kind(1) == L::exclaim ? 3 : 2;
    const std::string_view opcode = tokens.text(at);
    const bool is_call = opcode == "call";
    if (!is_call && (opcode != "ld" || !tokens.text(at + 1).starts_with(".param"))) return;
    for (++at; at < tokens.size() && tokens.kind(at) == L::directive;) ++at;
    if (is_call) {
        if (tokens.kind(at) != L::open_paren) return;
        for (; at < tokens.size() && tokens.kind(at) != L::close_paren; ++at)
            if (tokens.kind(at) == L::identifier) symbols_.mark_result(tokens.text(at));
        return;
    }
    while (at < tokens.size() && tokens.kind(at) != L::open_bracket) ++at;
    if (at + 1 >= tokens.size() || tokens.kind(at + 1) != L::identifier) return;
    const std::string_view name = tokens.text(at + 1);
    const Symbol* const symbol = symbols_.find(name);
    if (symbol != nullptr && is_of_a_call(*symbol) && !symbol->is_result)
        report(Errc::return_value_missing, name, "no call before gives a result to " + quote(name));
}

namespace {

// Which functions of a module call which, and those that a call comes back to.
class CallGraph {
  public:
    explicit CallGraph(const syntax::Module& module) {
        for (const Statement& f : module.functions()) {
            if (!f.is_definition()) continue;
            *numbers_.put(f.name()).first = functions_.size();
            functions_.push_back(f);
        }
        for (const Statement& f : functions_) callees_.push_back(callees_of(f));
        states_.resize(functions_.size());
        for (std::size_t i = 0; i < functions_.size(); ++i) visit(i);
    }
    [[nodiscard]] const std::vector<Statement>& recursive() const { return recursive_; }

  private:
    enum class State : std::uint8_t { unseen, open, done };

    [[nodiscard]] std::vector<std::size_t> callees_of(const Statement& f) const {
        std::vector<std::size_t> all;
        for (const Statement& s : f.walk()) {
            const auto instruction = s.instruction();
            if (!instruction || instruction->opcode != "call") continue;
            for (const Operand& operand : instruction->operands)
                if (const std::size_t* const at = numbers_.find(operand.text())) all.push_back(*at);
        }
        return all;
    }
    // Depth first; a chain of calls may be as long as the module.
    void visit(std::size_t from) {
        if (states_[from] != State::unseen) return;
        std::vector<std::pair<std::size_t, std::size_t>> open{
            {from, 0}};  // a function, its callees that are seen
        states_[from] = State::open;
        while (!open.empty()) {
            auto& [at, seen] = open.back();
            if (seen == callees_[at].size()) {
                states_[at] = State::done;
                open.pop_back();
                continue;
            }
            const std::size_t next = callees_[at][seen++];
            if (states_[next] == State::open) recursive_.push_back(functions_[next]);
            if (states_[next] != State::unseen) continue;
            states_[next] = State::open;
            open.emplace_back(next, 0);
        }
    }

    std::vector<Statement> functions_, recursive_;
    syntax::NameMap<std::size_t> numbers_;
    std::vector<std::vector<std::size_t>> callees_;
    std::vector<State> states_;
};

}  // namespace

// Without an ABI, all calls are inlined.
void Verifier::recursion() {
    const CallGraph graph(module_);
    std::unordered_set<std::string_view> said;
    for (const Statement& f : graph.recursive())
        if (said.insert(f.name()).second)
            needs_abi(span_of(f.name()), quote(f.name()) + ", which calls itself,");
}

void InstructionVerifier::needs_abi(Span place, std::string_view what) {
    report(Errc::call_mismatch, place,
           std::string(what) +
               " needs an ABI, which a module does not have in which a function returns several "
               "registers; return a .param array");
}

void InstructionVerifier::function_address(const Instruction& i) {
    const Operand& source = i.operands.back();
    const Symbol* const symbol =
        source.kind() == OperandKind::identifier ? names_.find(source.text()) : nullptr;
    if (symbol == nullptr || symbol->kind != SymbolKind::function) return;
    if (symbol->declaration.is_entry()) return require(31, {35, 0}, source.span(), "the address of an entry");
    require(21, {20, 0}, source.span(), "the address of a function");
    if (!setting_.has_abi) return needs_abi(source.span(), "the address of a function");
    const auto look_at = [&](const std::vector<Statement::Parameter>& all, std::string_view what) {
        for (std::size_t k = 0; k < all.size(); ++k)
            if (is_never_passed(all[k])) never_passed(source, all[k], what, k, source.text());
    };
    look_at(symbol->declaration.return_parameters(), "return value");
    look_at(symbol->declaration.parameters(), "argument");
}

}  // namespace ptxgraft::isa
