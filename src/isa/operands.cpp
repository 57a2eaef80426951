// Checks the operands of an instruction against the rules of its row: kinds, register types, vectors,
// addresses.

#include "isa/operands.hpp"

#include <algorithm>
#include <array>

#include "isa/special.hpp"
#include "isa/spellings.hpp"
#include "isa/vector_type.hpp"

namespace ptxgraft::isa {
namespace {

using syntax::Operand;
using syntax::OperandKind;
using Kind = OperandProblem::Kind;

bool is_integer(RegisterType type) { return info(type).kind == TypeClass::integer; }
bool is_integer_constant_at(const Operand& operand) {
    return operand.constant() && operand.constant()->is_integer() && operand.kind() == OperandKind::immediate;
}

class Checker {
  public:
    Checker(const Match& match, const SymbolSource& symbols) : match_(match), symbols_(symbols) {
        find_spaces();
    }

    std::optional<OperandProblem> run(std::span<const OperandRule> rules, std::span<const Operand> operands,
                                      const Operand* around) {
        const ActiveRules active(match_, rules, operands.size());
        if (active.size() != operands.size()) return problem(Kind::count, around, nullptr);
        for (std::size_t i = 0; i < active.size(); ++i) {
            if (auto p = check(active[i], operands[i])) return p;
            ++progress_;
        }
        return signs(active, operands);
    }

  private:
    OperandProblem problem(Kind kind, const Operand* operand, const OperandRule* rule,
                           const Symbol* symbol = nullptr) const {
        return {kind, operand, rule, symbol, Space::none, progress_};
    }

    static bool has_minus(const Operand& operand) {
        return operand.kind() == OperandKind::negation && operand.text().starts_with('-');
    }

    // PTX ISA 9.7.18.1.3, vmad: "PTX allows negation of either (a*b) or c", and none with .po.
    std::optional<OperandProblem> signs(const ActiveRules& rules, std::span<const Operand> operands) const {
        bool product = false;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (!has_minus(operands[i])) continue;
            const bool is_third = rules[i].name == "c";
            if (!is_third) product = !product;
            if (is_third && (product || has(".po"))) return problem(Kind::minus, &operands[i], &rules[i]);
        }
        if (product && has(".po"))
            return problem(Kind::minus, &operands[has_minus(operands[1]) ? 1 : 2], &rules[1]);
        return std::nullopt;
    }
    [[nodiscard]] bool has(std::string_view modifier) const {
        return std::any_of(match_.chosen.begin(), match_.chosen.end(),
                           [&](WordId word) { return word != no_word && table_words[word] == modifier; });
    }

    std::optional<OperandProblem> check(const OperandRule& rule, const Operand& operand) {
        if (has_minus(operand))
            return rule.takes_minus ? check(rule, operand.children().front())
                                    : problem(Kind::minus, &operand, &rule);
        switch (rule.kind) {
            case RuleKind::value: return value(rule, operand);
            case RuleKind::vector: return vector(rule, operand);
            case RuleKind::pair: return pair(rule, operand);
            case RuleKind::address:
                if (operand.kind() == OperandKind::element && rule.children.front().takes_element)
                    return element(rule.children.front(), operand);
                if (operand.kind() != OperandKind::address && rule.children.front().is_loose)
                    return loose(rule, operand);
                if (operand.kind() != OperandKind::address || !suffix_is_right(operand))
                    return problem(Kind::not_allowed, &operand, &rule);
                if (operand.children().size() > 1 && operand.children().front().kind() == OperandKind::sum)
                    return problem(Kind::not_allowed, &operand.children().front(), &rule.children.front());
                return run(rule.children, operand.children(), &operand);
            case RuleKind::list:
                if (operand.kind() != OperandKind::list) return problem(Kind::not_allowed, &operand, &rule);
                return std::nullopt;
            case RuleKind::base: return base(rule, operand);
            case RuleKind::selector:
            case RuleKind::selector2:
            case RuleKind::selector4:
            case RuleKind::mask2:
            case RuleKind::mask4: return selector(rule, operand);
            default: return named(rule, operand);
        }
    }

    // Without brackets, ptxas takes any register or floating constant for these addresses of tensor copies,
    // and what may be a cache policy for the mbarrier of a bulk copy.
    std::optional<OperandProblem> loose(const OperandRule& rule, const Operand& operand) {
        const bool is_tensor = match_.row->opcode.view().find(".tensor") != std::string_view::npos;
        const Symbol* symbol =
            operand.kind() == OperandKind::identifier ? symbols_.find(operand.text()) : nullptr;
        const bool is_register = symbol != nullptr && symbol->kind == SymbolKind::reg;
        if (operand.kind() == OperandKind::identifier && !is_register)
            return base(rule.children.front(), operand);
        const bool is_integer_constant = is_integer_constant_at(operand);
        const bool is_plain = operand.kind() == OperandKind::identifier ||
                              operand.kind() == OperandKind::immediate || has_minus(operand);
        const bool is_policy =
            is_integer_constant || (is_register && goes(symbol->type, RegisterType::u64, false, false));
        ++address_;
        return (is_tensor ? is_plain && !is_integer_constant : is_policy)
                   ? std::nullopt
                   : std::optional(problem(Kind::not_allowed, &operand, &rule));
    }

    // PTX ISA 9.7.9.8: `[a].unified` of loads from generic and global addresses
    [[nodiscard]] bool suffix_is_right(const Operand& operand) const {
        const std::string_view suffix = operand.text().substr(operand.text().rfind(']') + 1);
        return suffix.empty() || (suffix == ".unified" && match_.row->opcode == "ld" &&
                                  (space_count_ == 0 || spaces_[0] == Space::global));
    }

    std::optional<OperandProblem> pair(const OperandRule& rule, const Operand& operand) {
        if (operand.kind() != OperandKind::pair) {
            if (!rule.children[1].is_optional) return problem(Kind::not_allowed, &operand, &rule);
            return check(rule.children[0], operand);
        }
        if (operand.children().size() != 2) return problem(Kind::not_allowed, &operand, &rule);
        if (std::ranges::all_of(operand.children(),
                                [](const Operand& o) { return o.kind() == OperandKind::sink; }))
            return problem(Kind::sink, &operand.children()[1], &rule.children[1]);
        for (std::size_t i = 0; i < 2; ++i)
            if (auto p = check(rule.children[i], operand.children()[i])) return p;
        return std::nullopt;
    }

    std::optional<OperandProblem> vector(const OperandRule& rule, const Operand& operand) {
        const std::uint32_t count = match_.count(rule.count);
        if (operand.kind() == OperandKind::vector) {
            if (!operand.text().ends_with('}'))
                return problem(Kind::not_allowed, &operand, &rule);  // `{a, b}.x`
            const std::size_t given = operand.children().size();
            const bool has_more = rule.count.or_more && given > count && (given == 2 || given == 4);
            if (given != count && !has_more) return problem(Kind::vector_length, &operand, &rule);
            if (auto p = part_beside_constant(rule, operand)) return p;
            if (rule.is_mixed) return mixed_elements(rule, operand);
            const Operand& only = operand.children().front();
            return given == 1 && only.constant() ? value(rule, only) : elements(rule, operand);
        }
        if (count == 1 && rule.needs_braces) return problem(Kind::vector_length, &operand, &rule);
        if (count == 1 || (rule.count.or_more && operand.kind() != OperandKind::identifier))
            return value(rule, operand);
        if (rule.count.or_more && symbols_.find(operand.text()) != nullptr &&
            symbols_.find(operand.text())->vector == 1)
            return rule.is_mixed ? mixed(rule, operand) : value(rule, operand);
        if (operand.kind() != OperandKind::identifier) return problem(Kind::vector_length, &operand, &rule);
        if (const auto special = find_special(operand.text()))
            return special->is_whole_vector && rule.takes_special && count == 4
                       ? std::nullopt
                       : std::optional(problem(Kind::vector_length, &operand, &rule));
        const Symbol* symbol = symbols_.find(operand.text());
        if (symbol == nullptr) return problem(Kind::undeclared, &operand, &rule);
        if (symbol->kind != SymbolKind::reg || symbol->vector != count)
            return problem(Kind::vector_length, &operand, &rule);
        return registers(rule, operand, *symbol);
    }

    // Of a vector with a constant, ptxas makes registers: what is no name alone, `%tid.x`, it takes for none.
    std::optional<OperandProblem> part_beside_constant(const OperandRule& rule,
                                                       const Operand& operand) const {
        const auto is_part = [](const Operand& element) {
            return element.kind() == OperandKind::identifier &&
                   element.text().find('.') != std::string_view::npos;
        };
        const std::span<const Operand> all = operand.children();
        const auto part = std::ranges::find_if(all, is_part);
        const bool has_both =
            part != all.end() && std::ranges::find(all, OperandKind::immediate, &Operand::kind) != all.end();
        return has_both ? std::optional(problem(Kind::component, &*part, &rule)) : std::nullopt;
    }

    std::optional<OperandProblem> elements(const OperandRule& rule, const Operand& operand) {
        VectorType joined;
        const Operand* first = nullptr;
        for (const Operand& element : operand.children()) {
            if (element.kind() == OperandKind::sink && rule.is_output && !rule.is_inout &&
                !is_texel_pair(rule))
                continue;
            const RegisterType type = element_type(element);
            const bool takes_special = !rule.is_output && match_.row->opcode != "wmma.store.d";
            if (!takes_special && type != RegisterType::none && find_special(element.text()) &&
                symbols_.find(element.text()) == nullptr)
                return problem(Kind::special, &element, &rule);
            const bool is_first = &element == &operand.children().front();
            const OperandRule& own = is_first || rule.children.empty() ? rule : rule.children.front();
            const bool is_constant = element.kind() == OperandKind::immediate && element.constant();
            if (type == RegisterType::none && (!is_constant || rule.is_output || own.range != nullptr)) {
                if (auto p = value(own, element)) return p;
                continue;
            }
            if (is_constant && element.constant()->type == syntax::Constant::Type::f64 &&
                match_.row->opcode.view().starts_with("tcgen05.mma"))  // has lanes of 32 bits
                return problem(Kind::constant_kind, &element, &rule);
            if (!(is_constant ? joined.add(element.constant()->type) : joined.add(type)))
                return problem(Kind::neighbour, &element, &rule, symbols_.find(element.text()));
            if (first == nullptr) first = &element;
        }
        if (first == nullptr) {
            const bool are_sinks = operand.children().front().kind() == OperandKind::sink;
            return are_sinks ? std::optional(problem(Kind::sink, &operand, &rule)) : std::nullopt;
        }
        const std::span<const Operand> all = operand.children();
        const bool has_halves = is_split() && all.size() > 1 && is_fragment(rule);
        if (fits(rule, joined) && (!has_halves || (fits(rule, type_of(all.first(all.size() / 2))) &&
                                                   fits(rule, type_of(all.subspan(all.size() / 2))))))
            return std::nullopt;
        return problem(first->constant() ? Kind::constant : Kind::type, first, &rule,
                       symbols_.find(first->text()));
    }
    VectorType type_of(std::span<const Operand> elements) const {
        VectorType joined;
        for (const Operand& element : elements) {
            if (const auto constant = element.constant())
                joined.add(constant->type);
            else if (const RegisterType type = element_type(element); type != RegisterType::none)
                joined.add(type);
        }
        return joined;
    }
    [[nodiscard]] bool fits(const OperandRule& rule, const VectorType& vector) const {
        const RegisterType given = vector.type();
        if (given == RegisterType::none) return true;  // of no registers and no numbers
        const TypeInfo& wanted = info(match_.type(rule.type));
        if (fails_later(rule, vector)) return false;
        if (const auto verdict = fits_behind_constant(rule, vector)) return *verdict;
        if (given == RegisterType::f16x2 && (rule.is_plain || (is_integer(wanted.type) && !rule.is_wide)))
            return false;
        const bool is_result = rule.is_output && match_.row->opcode == "mma";
        const bool is_float = wanted.kind == TypeClass::floating && !is_fragment(rule) && !is_result;
        return goes(given, wanted.type, rule.is_exact, rule.is_wide) ||
               (is_float && is_integer(given) && info(given).bits == wanted.bits);
    }
    // Integers behind registers for floats, which ptxas takes and crashes of when it makes code.
    [[nodiscard]] bool fails_later(const OperandRule& rule, const VectorType& vector) const {
        return info(match_.type(rule.type)).kind == TypeClass::floating &&
               ((vector.has_integer_behind_register() && !is_fragment(rule)) ||
                (vector.has_integer() && match_.row->opcode == "tex.grad"));
    }
    // A vector that begins with a constant takes its width from the operand, or, of a fragment, has the type
    // of its elements. Nothing: its type is asked as that of others.
    [[nodiscard]] std::optional<bool> fits_behind_constant(const OperandRule& rule,
                                                           const VectorType& vector) const {
        if (!vector.begins_with_integer() && !vector.begins_with_float()) return std::nullopt;
        const TypeInfo &wanted = info(match_.type(rule.type)), &given = info(vector.type());
        const bool is_of_bits = given.kind == TypeClass::bits, has_width = given.bits == wanted.bits;
        if (is_fragment(rule) && !(vector.begins_with_float() && takes_floats(vector))) {
            if (is_of_bits) return has_width;
            return given.kind == TypeClass::integer ? std::optional(false) : std::nullopt;
        }
        const bool is_float = wanted.kind == TypeClass::floating;
        if (vector.begins_with_integer()) {
            if (is_split() && is_of_bits && !has_width) return false;
            return takes_constant(wanted.type, syntax::Constant::Type::s64) ||
                   (is_of_bits && is_float && wanted.type != RegisterType::bf16);
        }
        if (wanted.kind == TypeClass::integer) return std::nullopt;
        if (wanted.kind == TypeClass::bits) return has_width;
        return is_float && wanted.bits >= 32;
    }
    // Into two instructions, each with half of the elements.
    [[nodiscard]] bool is_split() const { return match_.row->opcode.view().starts_with("wmma.mma"); }
    // The elements of a matrix, and of what is converted or interpolated, are registers of 32 bits: a number
    // in front, which has 64, is none of them. In the latter floats are numbers as elsewhere.
    [[nodiscard]] bool is_fragment(const OperandRule& rule) const {
        constexpr std::array<std::string_view, 5> opcodes = {"mma", "wmma", "wgmma", "stmatrix", "tcgen05"};
        const TypeInfo& wanted = info(match_.type(rule.type));
        const std::string_view name = match_.row->opcode.view();
        return wanted.bits == 32 && wanted.kind != TypeClass::integer &&
               (name == "cvt" || name == "tex.grad" ||
                std::ranges::find(opcodes, name.substr(0, name.find('.'))) != opcodes.end());
    }
    [[nodiscard]] bool takes_floats(const VectorType& vector) const {
        return match_.row->opcode == "cvt" || (match_.row->opcode == "tex.grad" && !vector.has_register());
    }
    // `.v2.f16x2` of a texture: ptxas reads four halves, and moves them to both registers
    [[nodiscard]] bool is_texel_pair(const OperandRule& rule) const {
        return match_.type(rule.type) == RegisterType::f16x2 && match_.row->opcode.view().starts_with("tex");
    }
    std::optional<OperandProblem> mixed_elements(const OperandRule& rule, const Operand& operand) {
        const Operand& index = operand.children().front();  // of an array: an integer
        const RegisterType type = element_type(index);
        if (type != RegisterType::none && info(type).kind == TypeClass::floating)
            return problem(Kind::type, &index, &rule, symbols_.find(index.text()));
        if (index.constant() && !index.constant()->is_integer())
            return problem(Kind::constant_kind, &index, &rule);
        for (const Operand& element : operand.children())
            if (auto p = mixed(rule, element)) return p;
        return std::nullopt;
    }
    std::optional<OperandProblem> mixed(const OperandRule& rule, const Operand& element) {
        const RegisterType type = element_type(element);
        if (type == RegisterType::none && element.kind() == OperandKind::immediate)
            return element.constant() ? std::nullopt
                                      : std::optional(problem(Kind::constant_value, &element, &rule));
        if (type == RegisterType::none) return value(rule, element);
        const bool fits = info(type).bits == info(match_.type(rule.type)).bits &&
                          type != RegisterType::pred && type != RegisterType::f16x2;
        return fits ? std::nullopt
                    : std::optional(problem(Kind::type, &element, &rule, symbols_.find(element.text())));
    }
    // A register's or special register's type; none for other operands.
    [[nodiscard]] RegisterType element_type(const Operand& element) const {
        if (element.kind() != OperandKind::identifier) return RegisterType::none;
        const Symbol* symbol = symbols_.find(element.text());
        if (symbol != nullptr && symbol->vector != 1) return RegisterType::none;  // a whole vector
        if (symbol == nullptr) symbol = vector_part(element.text());
        if (symbol != nullptr) return symbol->kind == SymbolKind::reg ? symbol->type : RegisterType::none;
        const auto special = special_of(element.text());
        return special && !special->is_whole_vector ? bits_type(info(special->row->type).bits)
                                                    : RegisterType::none;
    }

    std::optional<OperandProblem> value(const OperandRule& rule, const Operand& operand) {
        switch (operand.kind()) {
            case OperandKind::immediate: return constant(rule, operand);
            case OperandKind::identifier: return identifier(rule, operand);
            case OperandKind::sink:
                return rule.takes_sink ? std::nullopt : std::optional(problem(Kind::sink, &operand, &rule));
            case OperandKind::negation: return negation(rule, operand);
            case OperandKind::sum: return sum(rule, operand);
            case OperandKind::element: return element(rule, operand);
            default: return problem(Kind::not_allowed, &operand, &rule);
        }
    }

    std::optional<OperandProblem> constant(const OperandRule& rule, const Operand& operand) {
        if (rule.is_output || rule.register_only || rule.takes_sink)
            return problem(Kind::constant, &operand, &rule);
        if (!operand.constant()) return problem(Kind::constant_value, &operand, &rule);
        // ptxas moves it to a register of 32 bits
        const bool is_narrowed = match_.row->opcode == "cvt" && has(".rna") && has(".tf32");
        if (is_narrowed && operand.constant()->type == syntax::Constant::Type::f64)
            return problem(Kind::constant_kind, &operand, &rule);
        if (rule.constant_only && rule.type.slot == any_slot && rule.type.type == RegisterType::none) {
            if (!operand.constant()->is_integer()) return problem(Kind::constant_kind, &operand, &rule);
        } else if (!takes_constant(match_.type(rule.type), operand.constant()->type)) {
            const TypeClass wanted = info(match_.type(rule.type)).kind;
            const bool takes_none = wanted == TypeClass::packed || (wanted == TypeClass::floating &&
                                                                    info(match_.type(rule.type)).bits == 16);
            return problem(takes_none ? Kind::constant : Kind::constant_kind, &operand, &rule);
        }
        if (rule.range != nullptr && !is_in(*rule.range, operand.constant()->as_signed()))
            return problem(Kind::range, &operand, &rule);
        return std::nullopt;
    }
    std::optional<OperandProblem> identifier(const OperandRule& rule, const Operand& operand) {
        const std::string_view name = operand.text();
        const Symbol* symbol = symbols_.find(name);
        if (symbol == nullptr) {
            if (const auto special = special_of(name)) return special_register(rule, operand, *special);
            symbol = vector_part(name);
            if (symbol != nullptr && (is_macro() || is_video()))
                return problem(Kind::component, &operand, &rule, symbol);
        }
        if (symbol == nullptr) return problem(Kind::undeclared, &operand, &rule);
        if (symbol->kind == SymbolKind::reg)
            return symbol->vector != 1 && symbols_.find(name) == symbol
                       ? std::optional(problem(Kind::not_allowed, &operand, &rule, symbol))
                       : registers(rule, operand, *symbol);
        return address_of(rule, operand, *symbol);
    }

    // Of these ptxas makes a macro, into whose text it writes the operands: only names and constants can be
    // read there.
    [[nodiscard]] bool is_macro() const {
        const std::string_view opcode = match_.row->opcode.view();
        const bool rounds = has(".rz") || has(".rm") || has(".rp");
        if (opcode == "div" || opcode == "rem") {
            if (has(".u64") || has(".s64")) return true;
            return rounds && (has(".f32") || has(".f64"));
        }
        return (opcode == "rcp" || opcode == "sqrt") && rounds && has(".f64");
    }
    // A part of a register has its own meaning there: `%r1.b0`.
    [[nodiscard]] bool is_video() const {
        const std::string_view opcode = match_.row->opcode.view();
        return opcode.starts_with('v') && !opcode.starts_with("vote");
    }

    // What is declared by the name of a special register hides its parts too: `%tid.x`.
    [[nodiscard]] std::optional<SpecialUse> special_of(std::string_view name) const {
        const auto special = find_special(name);
        const auto [stem, component] = syntax::parts_of(name);
        const bool is_hidden = special && !component.empty() && symbols_.find(stem) != nullptr;
        return is_hidden ? std::nullopt : special;
    }

    // `v.x` of a vector register
    [[nodiscard]] const Symbol* vector_part(std::string_view name) const {
        const auto [stem, component] = syntax::parts_of(name);
        if (component.empty()) return nullptr;
        constexpr std::array<std::string_view, 8> parts = {".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a"};
        if (std::find(parts.begin(), parts.end(), component) == parts.end()) return nullptr;
        const Symbol* symbol = symbols_.find(stem);
        return symbol != nullptr && symbol->kind == SymbolKind::reg && symbol->vector > 1 ? symbol : nullptr;
    }

    std::optional<OperandProblem> registers(const OperandRule& rule, const Operand& operand,
                                            const Symbol& symbol) {
        if (rule.constant_only) return problem(Kind::not_allowed, &operand, &rule, &symbol);
        const bool is_refused = rule.is_plain && symbol.type == RegisterType::f16x2;
        if (!is_refused && goes(symbol.type, match_.type(rule.type), rule.is_exact, rule.is_wide))
            return std::nullopt;
        return problem(Kind::type, &operand, &rule, &symbol);
    }

    std::optional<OperandProblem> special_register(const OperandRule& rule, const Operand& operand,
                                                   const SpecialUse& special) {
        if (!rule.takes_special || special.is_whole_vector) return problem(Kind::special, &operand, &rule);
        const RegisterType wanted = match_.type(rule.type), type = special.row->type;
        const bool narrow = (special.row->is_narrow || rule.is_wide) && is_integer(type) &&
                            info(wanted).bits <= info(type).bits &&
                            (is_integer(wanted) || info(wanted).kind == TypeClass::bits);
        if (goes(type, wanted, false, false) || narrow) return std::nullopt;
        return problem(Kind::special, &operand, &rule);
    }

    // The name of a variable or function, as its address.
    std::optional<OperandProblem> address_of(const OperandRule& rule, const Operand& operand,
                                             const Symbol& symbol) {
        const bool has_address = symbol.kind != SymbolKind::label && symbol.kind != SymbolKind::prototype &&
                                 symbol.kind != SymbolKind::branch_targets &&
                                 symbol.kind != SymbolKind::call_targets;
        if (!rule.takes_symbol || !has_address) return problem(Kind::not_allowed, &operand, &rule, &symbol);
        const TypeInfo& wanted = info(match_.type(rule.type));
        const bool is_handle =
            is_opaque(symbol) && !symbol.is_array && operand.kind() == OperandKind::identifier;
        if (is_opaque(symbol) && (is_handle ? wanted.type != RegisterType::u64 : wanted.bits != 64))
            return problem(Kind::type, &operand, &rule, &symbol);
        if (wanted.bits >= 16 && (wanted.kind == TypeClass::integer || wanted.kind == TypeClass::bits))
            return space(rule, operand, symbol, true);
        return problem(Kind::type, &operand, &rule, &symbol);
    }

    // `!%p1`
    std::optional<OperandProblem> negation(const OperandRule& rule, const Operand& operand) {
        if (rule.is_output || rule.constant_only || match_.type(rule.type) != RegisterType::pred)
            return problem(Kind::negation, &operand, &rule);
        return identifier(rule, operand.children().front());
    }

    // `x+4` of a variable; ptxas adds to a register too, `%r1+4`, where a constant may stand as well.
    std::optional<OperandProblem> sum(const OperandRule& rule, const Operand& operand) {
        if (rule.is_output || rule.register_only) return problem(Kind::not_allowed, &operand, &rule);
        const Symbol* symbol = symbols_.find(operand.base());
        const auto special = symbol == nullptr ? find_special(operand.base()) : std::nullopt;
        if (symbol == nullptr && !special) return problem(Kind::undeclared, &operand, &rule);
        if (!operand.offset()) return problem(Kind::constant_value, &operand, &rule);
        if (special) return special_register(rule, operand, *special);
        if (symbol->kind == SymbolKind::function) return problem(Kind::not_allowed, &operand, &rule, symbol);
        if (symbol->kind != SymbolKind::reg) return address_of(rule, operand, *symbol);
        const TypeClass kind = info(symbol->type).kind;
        const bool is_number = symbol->vector == 1 && (kind == TypeClass::integer || kind == TypeClass::bits);
        if (is_number && !is_macro()) return registers(rule, operand, *symbol);
        return problem(is_macro() ? Kind::component : Kind::addition, &operand, &rule, symbol);
    }

    // PTX ISA 6.4.2: `a[1]`, `a[%r1+2]` is the address of an element, in brackets of its own where an address
    // is asked for.
    std::optional<OperandProblem> element(const OperandRule& rule, const Operand& operand) {
        if (!rule.takes_symbol && !rule.takes_element) return problem(Kind::not_allowed, &operand, &rule);
        const Symbol* symbol = symbols_.find(operand.base());
        if (symbol == nullptr) return problem(Kind::undeclared, &operand, &rule);
        const bool has_elements =
            symbol->kind == SymbolKind::variable || (is_opaque(*symbol) && rule.takes_symbol);
        if (!has_elements || !symbol->is_array) return problem(Kind::no_array, &operand, &rule, symbol);
        if (auto p = element_index(rule, operand.children().front())) return p;
        return rule.takes_symbol ? address_of(rule, operand, *symbol)
                                 : space(rule, operand, *symbol, false, address_++);
    }
    std::optional<OperandProblem> element_index(const OperandRule& rule, const Operand& index) {
        if (index.kind() == OperandKind::immediate)
            return index_constant(rule, index,
                                  index.constant().has_value() && index.constant()->is_integer());
        if (index.kind() == OperandKind::sum && !index.offset()) return index_constant(rule, index, false);
        const Symbol* symbol = symbols_.find(index.kind() == OperandKind::sum ? index.base() : index.text());
        if (symbol == nullptr) return problem(Kind::undeclared, &index, &rule);
        const TypeInfo& type = info(symbol->type);
        const bool is_number = symbol->kind == SymbolKind::reg && symbol->vector == 1 && type.bits <= 64 &&
                               (type.kind == TypeClass::integer || type.kind == TypeClass::bits);
        return is_number ? std::nullopt : std::optional(problem(Kind::type, &index, &rule, symbol));
    }
    std::optional<OperandProblem> index_constant(const OperandRule& rule, const Operand& index,
                                                 bool is_right) {
        return is_right ? std::nullopt : std::optional(problem(Kind::constant_value, &index, &rule));
    }

    // --- addresses
    // The state spaces among the modifiers, in order: each belongs to an address, in order.
    void find_spaces() {
        for (std::size_t i = 0; i < match_.row->slots.size(); ++i)
            if (match_.chosen[i] != no_word)
                if (const Space s = space_of(table_words[match_.chosen[i]]);
                    s != Space::none && space_count_ < spaces_.size())
                    spaces_[space_count_++] = s;
    }

    std::optional<OperandProblem> base(const OperandRule& rule, const Operand& operand) {
        const std::size_t index = address_++;
        const bool is_generic = space_count_ == 0;
        const bool is_mbarrier = index >= space_count_ && !is_generic;  // of a bulk copy
        if (operand.kind() == OperandKind::immediate) {
            const bool is_local = index < space_count_ && spaces_[index] == Space::local;
            if (!operand.constant()) return problem(Kind::constant_value, &operand, &rule);
            if (!operand.constant()->is_integer()) return problem(Kind::constant_kind, &operand, &rule);
            return is_local ? std::nullopt : std::optional(problem(Kind::not_allowed, &operand, &rule));
        }
        if (operand.kind() != OperandKind::identifier && operand.kind() != OperandKind::sum)
            return problem(Kind::not_allowed, &operand, &rule);
        if (operand.kind() == OperandKind::sum && !operand.offset())
            return problem(Kind::constant_value, &operand, &rule);
        const std::string_view name = operand.kind() == OperandKind::sum ? operand.base() : operand.text();
        const Symbol* symbol = symbols_.find(name);
        if (symbol == nullptr) symbol = vector_part(name);
        // ptxas takes a special register, and crashes when it makes code of it
        if (symbol == nullptr)
            return problem(find_special(name) ? Kind::special : Kind::undeclared, &operand, &rule);
        if (symbol->kind == SymbolKind::reg) {
            const TypeInfo& type = info(symbol->type);
            const bool is_integer_or_bits = type.kind == TypeClass::integer || type.kind == TypeClass::bits;
            const bool is_whole_vector = symbol->vector > 1 && symbols_.find(name) == symbol;
            const bool is_address = is_integer_or_bits && type.bits <= 64 && !is_whole_vector &&
                                    (!rule.register_only || type.bits == 32) &&
                                    !is_taken_for_mask(rule, type) &&
                                    (!rule.is_exact || type.type == RegisterType::b32);
            return is_address ? std::nullopt : std::optional(problem(Kind::type, &operand, &rule, symbol));
        }
        if (rule.is_exact || rule.register_only) return problem(Kind::not_allowed, &operand, &rule, symbol);
        if (symbol->kind != SymbolKind::variable)
            return is_opaque(*symbol) ? std::nullopt
                                      : std::optional(problem(Kind::not_allowed, &operand, &rule, symbol));
        if (!is_mbarrier) return space(rule, operand, *symbol, false, index);
        if (symbol->space == Space::shared || symbol->space == Space::none) return std::nullopt;
        OperandProblem p = problem(Kind::space, &operand, &rule, symbol);
        p.space = Space::shared;
        return p;
    }

    // ptxas takes a register of 16 bits in the place of the mbarrier for the mask of a multicast.
    [[nodiscard]] bool is_taken_for_mask(const OperandRule& rule, const TypeInfo& type) const {
        return rule.is_loose && type.bits == 16 && match_.row->opcode == "cp.async.bulk";
    }

    // A function is in no space from which `cvta` could convert its address.
    [[nodiscard]] bool is_converted_function(const Symbol& symbol) const {
        return symbol.kind == SymbolKind::function && match_.row->opcode == "cvta";
    }
    std::optional<OperandProblem> space(const OperandRule& rule, const Operand& operand, const Symbol& symbol,
                                        bool is_value, std::size_t index = 0) {
        if (space_count_ == 0) {
            const bool is_generic = symbol.space == Space::global || symbol.space == Space::shared ||
                                    symbol.space == Space::local;
            if (is_value || is_generic) return std::nullopt;
        } else if (index < space_count_ &&
                   (spaces_[index] == symbol.space ||
                    (symbol.space == Space::none && !is_converted_function(symbol)))) {
            return std::nullopt;
        }
        OperandProblem p = problem(Kind::space, &operand, &rule, &symbol);
        p.space = space_count_ == 0 ? Space::none : spaces_[index];
        return p;
    }

    // --- names that are no values
    std::optional<OperandProblem> named(const OperandRule& rule, const Operand& operand) {
        if (operand.kind() != OperandKind::identifier) return problem(Kind::not_allowed, &operand, &rule);
        const Symbol* symbol = symbols_.find(operand.text());
        if (symbol == nullptr) return problem(Kind::undeclared, &operand, &rule);
        return is_named(rule.kind, *symbol)
                   ? std::nullopt
                   : std::optional(problem(Kind::not_allowed, &operand, &rule, symbol));
    }
    static bool is_single(const Symbol& symbol, SymbolKind kind) {
        return symbol.kind == kind && !symbol.is_array;
    }
    static bool is_named(RuleKind kind, const Symbol& symbol) {
        const bool is_handle = symbol.kind == SymbolKind::reg && info(symbol.type).bits == 64 &&
                               (info(symbol.type).kind == TypeClass::bits || is_integer(symbol.type));
        switch (kind) {
            case RuleKind::label: return symbol.kind == SymbolKind::label;
            case RuleKind::labels: return symbol.kind == SymbolKind::branch_targets;
            case RuleKind::callee:
                return symbol.kind == SymbolKind::function || is_handle ||
                       (symbol.kind == SymbolKind::reg && info(symbol.type).bits == 32);
            case RuleKind::prototype:
                return symbol.kind == SymbolKind::prototype || symbol.kind == SymbolKind::call_targets ||
                       may_be_call_table(symbol);
            case RuleKind::texref:
                return is_single(symbol, SymbolKind::texref) || is_handle || symbol.space == Space::tex;
            case RuleKind::samplerref: return is_single(symbol, SymbolKind::samplerref) || is_handle;
            case RuleKind::surfref: return is_single(symbol, SymbolKind::surfref) || is_handle;
            default: return false;
        }
    }

    // `%r1.b0`, `%r1.h10`: a register, and which of its parts. Scalar video instructions take constants, SIMD
    // ones do not.
    std::optional<OperandProblem> selector(const OperandRule& rule, const Operand& operand) {
        const bool takes_constant = !rule.is_output && rule.kind == RuleKind::selector;
        if (operand.kind() == OperandKind::immediate && takes_constant) {
            if (!operand.constant()) return problem(Kind::constant_value, &operand, &rule);
            return operand.constant()->is_integer()
                       ? std::nullopt
                       : std::optional(problem(Kind::constant_kind, &operand, &rule));
        }
        if (operand.kind() != OperandKind::identifier) return problem(Kind::not_allowed, &operand, &rule);
        const std::string_view name = operand.text();
        const std::size_t dot = std::min(name.find('.'), name.size());
        const Symbol* symbol = symbols_.find(name.substr(0, dot));
        if (symbol == nullptr)
            return problem(find_special(name) ? Kind::special : Kind::undeclared, &operand, &rule);
        const bool fits = symbol->kind == SymbolKind::reg && symbol->vector == 1 &&
                          goes(symbol->type, RegisterType::u32, false, false) &&
                          !(rule.is_plain && symbol->type == RegisterType::f16x2);
        if (!fits) return problem(Kind::type, &operand, &rule, symbol);
        return is_part(rule.kind, name.substr(dot))
                   ? std::nullopt
                   : std::optional(problem(Kind::not_allowed, &operand, &rule));
    }

    const Match& match_;
    const SymbolSource& symbols_;
    std::size_t progress_ = 0;
    std::array<Space, 4> spaces_ = {};
    std::size_t space_count_ = 0, address_ = 0;
};

}  // namespace

std::optional<OperandProblem> check_operands(const Match& match, std::span<const Operand> operands,
                                             const SymbolSource& symbols) {
    return Checker(match, symbols).run(match.row->operands, operands, nullptr);
}

}  // namespace ptxgraft::isa
