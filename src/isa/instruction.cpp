// verify: one instruction.

#include <algorithm>
#include <array>
#include <bit>

#include "isa/instruction_verifier.hpp"
#include "isa/operands.hpp"
#include "isa/special.hpp"

namespace ptxgraft::isa {

using syntax::Instruction;
using syntax::Operand;
using syntax::OperandKind;

bool knows(const Instruction& instruction) {
    return !match_name(instruction.opcode, instruction.modifiers).matches.empty();
}

const Match* InstructionVerifier::look_at(const Instruction& i) {
    guard(i);
    const NameMatch& name = matches_->of(i.name, i.opcode, i.modifiers);
    if (name.matches.empty()) {
        unmatched(i, name);
        return nullptr;
    }
    const Match* fitting = nullptr;
    std::optional<OperandProblem> nearest_problem;
    const Match* nearest_match = nullptr;
    for (const Match& match : name.matches) {
        auto problem = check_operands(match, i.operands, names_);
        if (!problem) {
            const bool fits_target =
                !setting_.knows_target || is_available(match.row->since, setting_.version, setting_.target);
            if (fitting == nullptr || fits_target) fitting = &match;
            if (fits_target) break;
        } else if (!nearest_problem || problem->progress > nearest_problem->progress ||
                   (nearest_problem->kind == OperandProblem::Kind::count &&
                    problem->kind != OperandProblem::Kind::count)) {
            nearest_problem = problem;
            nearest_match = &match;
        }
    }
    if (fitting == nullptr) {
        report(i, *nearest_problem, *nearest_match);
        return nullptr;
    }
    requirements(i, *fitting);
    special_registers(i);
    if (setting_.manual_order && !fitting->in_order)
        report(Errc::modifier_out_of_order, i.name, canonical_name(*fitting));
    if (!fitting->in_order) constant_bank(i);
    address_width(i, *fitting);
    named_space(i, *fitting);
    moved_address(i, *fitting);
    special_address(i, *fitting);
    if (fitting->row->opcode == "createpolicy.fractional") policy_fraction(i);
    if (fitting->row->opcode == "cp.async") source_bytes(i);
    if (i.opcode == "call") call(i);
    if (i.opcode == "mov") function_address(i);
    if (i.opcode == "mov" || i.opcode == "cvta") parameter_address(i);
    if (i.opcode == "mov") moved_handle(i);
    if (i.opcode == "setp" && i.guard) guarded_sink(i);
    if (i.opcode == "mbarrier" && i.has(".arrive") && i.operands.front().kind() == OperandKind::sink)
        require(71, {80, 0}, i.operands.front().span(), "'_' for the state of an mbarrier");
    if (i.opcode == "ld" || i.opcode == "st") parameter_access(i);
    if (i.opcode == "mma" || i.opcode == "wmma" || i.opcode == "wgmma") fragments(i, *fitting);
    if (i.opcode == "tex" || i.opcode == "tld4" || i.opcode == "txq")
        setting_.has_samplers ? texture_mode(i) : unified_sampler(i, *fitting);
    if (i.opcode == "tex") gradient_registers(i, *fitting);
    return fitting;
}

void InstructionVerifier::report(const Instruction& i, const OperandProblem& p, const Match& match) {
    if (p.kind == OperandProblem::Kind::undeclared && p.rule != nullptr && p.rule->kind == RuleKind::label)
        return undefined_label(*p.operand);
    report(p.code(), p.operand == nullptr ? i.span : p.operand->span(), p.message(match));
}

// From sm_90 on, ptxas refuses these with a base of 32 bits where the address is generic or in .global: it
// takes them for 32-bit addressing. Other instructions, and registers narrower still, pass.
void InstructionVerifier::address_width(const Instruction& i, const Match& match) {
    constexpr std::array<std::string_view, 12> opcodes = {
        "applypriority", "atom",        "discard",  "ld",        "ldu", "multimem.ld_reduce",
        "multimem.red",  "multimem.st", "prefetch", "prefetchu", "red", "st"};
    const std::string_view opcode = match.row->opcode;
    if (setting_.knows_target && setting_.target.sm >= 90 && opcode.starts_with("cvta") && i.has(".u32"))
        return report(Errc::operand_type_wrong, i.name, "a generic address has 64 bits from sm_90 on: .u64");
    if (setting_.knows_target && setting_.target.sm >= 90 && opcode == "mov") return moved_global(i);
    const bool is_one =
        std::ranges::find(opcodes, opcode) != opcodes.end() || opcode.starts_with("mbarrier.");
    if (!setting_.knows_target || setting_.target.sm < 90 || !is_one ||
        (opcode == "prefetch" && match.row->syntax.view().find(".tensormap") != std::string_view::npos))
        return;
    for (const std::string_view modifier : i.modifiers)
        if (const Space space = space_of(modifier); space != Space::none && space != Space::global) return;
    for (const Operand& operand : i.operands) {
        if (operand.kind() != OperandKind::address) continue;
        const Symbol* symbol = names_.find(operand.base());
        if (symbol == nullptr || symbol->kind != SymbolKind::reg || info(symbol->type).bits != 32) continue;
        report(Errc::operand_type_wrong, operand.span(),
               "'" + std::string(operand.base()) +
                   "' has 32 bits; from sm_90 on, a generic or .global address has 64");
    }
}

// `mov.u32 %r1, a`; with an offset behind it, ptxas takes it.
void InstructionVerifier::moved_global(const Instruction& i) {
    const Operand& source = i.operands.back();
    if (source.kind() != OperandKind::identifier && source.kind() != OperandKind::element) return;
    const Symbol* symbol = names_.find(source.kind() == OperandKind::element ? source.base() : source.text());
    const bool is_global =
        symbol != nullptr && symbol->kind == SymbolKind::variable && symbol->space == Space::global;
    if (is_global && (i.has(".b32") || i.has(".u32") || i.has(".s32")))
        report(
            Errc::operand_type_wrong, source.span(),
            "'" + std::string(source.text()) + "' is in .global, whose addresses have 64 bits from sm_90 on");
}

// ptxas crashes of it.
void InstructionVerifier::guarded_sink(const Instruction& i) {
    const Operand& destination = i.operands.front();
    const Operand& first =
        destination.kind() == OperandKind::pair ? destination.children().front() : destination;
    if (first.kind() == OperandKind::sink)
        report(Errc::operand_kind_wrong, first.span(),
               "'_' cannot stand for the first result of a setp with a guard; name a predicate");
}

namespace {

// Instructions of which ptxas makes others, with the address in a register: it must be one of 32 or 64 bits.
bool moves_address(std::string_view opcode, const Instruction& i, std::size_t address, bool is_generic) {
    constexpr std::array<std::string_view, 10> always = {
        "createpolicy.range", "fabric.",           "multimem.red", "red.async",  "st.async", "st.bulk",
        "tcgen05.",           "tensormap.replace", "wmma.load.",   "wmma.store."};
    constexpr std::array<std::string_view, 3> generic = {"cp.async.mbarrier.arrive", "ldmatrix", "stmatrix"};
    const auto is_one_of = [&](const auto& opcodes) {
        return std::ranges::any_of(opcodes, [&](std::string_view one) { return opcode.starts_with(one); });
    };
    if (is_one_of(generic)) return is_generic;
    if (opcode == "prefetch") return i.has(".tensormap");
    return is_one_of(always) && (address == 0 || is_generic);
}

// Of others ptxas takes even these as addresses.
bool dies_of_handle(std::string_view opcode, const Symbol& symbol) {
    constexpr std::array<std::string_view, 4> of_textures = {"applypriority", "discard", "prefetch", "red"};
    return opcode == "atom" ||
           (symbol.kind == SymbolKind::texref && std::ranges::find(of_textures, opcode) != of_textures.end());
}

}  // namespace

void InstructionVerifier::moved_address(const Instruction& i, const Match& match) {
    const std::string_view opcode = match.row->opcode;
    const bool is_generic = std::ranges::none_of(
        i.modifiers, [](std::string_view modifier) { return space_of(modifier) != Space::none; });
    const bool is_plain = opcode == "ld" || opcode == "ldu" || opcode == "st" || opcode == "multimem.st";
    std::size_t address = 0;
    for (const Operand& operand : i.operands) {
        if (operand.kind() != OperandKind::address) continue;
        const Symbol* symbol = names_.find(operand.base());
        const bool is_moved = moves_address(opcode, i, address++, is_generic);
        const bool is_refused = symbol != nullptr && is_opaque(*symbol) &&
                                (dies_of_handle(opcode, *symbol) || (opcode == "cp.async" && address == 2));
        if (symbol == nullptr || !(is_moved || is_plain || is_refused)) continue;
        const std::string name = "'" + std::string(operand.base()) + "'";
        if (is_moved && symbol->kind == SymbolKind::reg && info(symbol->type).bits < 32)
            report(Errc::operand_type_wrong, operand.span(),
                   name + " has " + std::to_string(info(symbol->type).bits) + " bits; an address of " +
                       std::string(opcode) + " has 32 or 64");
        if (is_opaque(*symbol) && opcode != "multimem.red")
            report(Errc::operand_kind_wrong, operand.span(),
                   name + " is a texture, sampler or surface, which " + std::string(opcode) +
                       " does not access");
    }
}

// Instructions whose address ptxas takes apart by itself; others it makes of these with the address in a
// register of its own.
void InstructionVerifier::special_address(const Instruction& i, const Match& match) {
    constexpr std::array<std::string_view, 10> opcodes = {
        "applypriority", "atom", "discard", "ld", "ldu", "multimem.st", "red", "st", "prefetch", "prefetchu"};
    if (std::ranges::find(opcodes, match.row->opcode.view()) == opcodes.end()) return;
    for (const Operand& operand : i.operands) {
        if (operand.kind() != OperandKind::address) continue;
        const Symbol* const symbol = names_.find(operand.base());
        if (symbol != nullptr && symbol->is_no_address)
            report(Errc::name_taken, operand.span(),
                   "'" + std::string(operand.base()) +
                       "' is a special register too, and ptxas dies of it in an address; take another name");
    }
}

// These take a generic address, but a variable only of one space.
void InstructionVerifier::named_space(const Instruction& i, const Match& match) {
    const std::string_view opcode = match.row->opcode;
    const Space space = space_of_names(opcode);
    if (space == Space::none) return;
    for (const Operand& operand : i.operands) {
        const bool is_named = operand.kind() == OperandKind::address || operand.kind() == OperandKind::sum ||
                              operand.kind() == OperandKind::element;
        const std::string_view name = is_named ? operand.base() : operand.text();
        const Symbol* symbol = names_.find(name);
        const bool is_variable =
            symbol != nullptr && (symbol->kind == SymbolKind::variable ||
                                  (is_opaque(*symbol) && (opcode.starts_with("mbarrier.") ||
                                                          opcode == "getctarank" || opcode == "mapa")));
        if (is_variable && (symbol->space != space || is_opaque(*symbol)))
            report(Errc::state_space_mismatch, operand.span(),
                   "'" + std::string(name) + "' is a variable in " + std::string(text(symbol->space)) + "; " +
                       std::string(opcode) + " takes those of " + std::string(text(space)));
    }
}

// ptxas gives a fragment the type of its elements: 0.0 is a .f64, alone and behind a .f32, and integers
// alone are no bits.
void InstructionVerifier::fragments(const Instruction& i, const Match& match) {
    using Type = syntax::Constant::Type;
    const auto is_double = [](const Operand& o) { return o.constant() && o.constant()->type == Type::f64; };
    const auto is_integer = [](const Operand& o) { return o.constant() && o.constant()->is_integer(); };
    const ActiveRules rules(match, match.row->operands, i.operands.size());
    for (std::size_t k = 0; k < rules.size(); ++k) {
        if (i.operands[k].kind() != OperandKind::vector) continue;
        const std::span<const Operand> elements = i.operands[k].children();
        const RegisterType wanted = match.type(rules[k].type);
        const bool begins_single =
            elements.front().constant() && elements.front().constant()->type == Type::f32;
        const bool are_doubles =
            wanted == RegisterType::f32 && (std::ranges::all_of(elements, is_double) ||
                                            (begins_single && std::ranges::any_of(elements, is_double)));
        const bool are_integers =
            wanted == RegisterType::b32 && i.opcode != "wmma" && std::ranges::all_of(elements, is_integer);
        if (are_doubles || are_integers)
            report(Errc::operand_type_wrong, i.operands[k].span(),
                   "'" + std::string(i.operands[k].text()) + "' is no fragment of ." +
                       std::string(info(wanted).name) +
                       (are_doubles ? "; write 0.0 as 0f00000000" : "; at least one element is a register"));
    }
}

// PTX ISA 9.7.9.19: the fraction of an access policy is above 0 and at most 1.
void InstructionVerifier::policy_fraction(const Instruction& i) {
    const Operand& last = i.operands.back();
    if (last.kind() != OperandKind::immediate || !last.constant() || last.constant()->is_integer()) return;
    const syntax::Constant value = *last.constant();
    const auto fraction = value.type == syntax::Constant::Type::f64
                              ? static_cast<float>(std::bit_cast<double>(value.bits))
                              : std::bit_cast<float>(static_cast<std::uint32_t>(value.bits));
    if (!(fraction > 0 && fraction <= 1))
        report(Errc::immediate_out_of_range, last.span(),
               "'" + std::string(last.text()) + "' is out of range: above 0, to 1");
}

// PTX ISA 9.7.9.25.3: of `[d], [a], cp-size, src-size` the latter is not above the former.
void InstructionVerifier::source_bytes(const Instruction& i) {
    if (i.operands.size() < (i.has(".L2::cache_hint") ? 5u : 4u)) return;
    const auto size = i.operands[2].constant(), source = i.operands[3].constant();
    if (i.operands[3].kind() == OperandKind::immediate && size && source &&
        source->as_signed() > size->as_signed())
        report(Errc::immediate_out_of_range, i.operands[3].span(),
               "'" + std::string(i.operands[3].text()) + "' bytes are read of at most " +
                   std::string(i.operands[2].text()));
}

void InstructionVerifier::moved_handle(const Instruction& i) {
    const Operand& source = i.operands.back();
    const Symbol* const symbol =
        source.kind() == OperandKind::identifier ? names_.find(source.text()) : nullptr;
    if (symbol != nullptr && is_opaque(*symbol))
        require(31, {10, 0}, source.span(), "the address of a texture, sampler or surface");
}

// A .param variable of a body, which no address but that of its accesses leads to.
void InstructionVerifier::parameter_address(const Instruction& i) {
    const Operand& source = i.operands.back();
    const std::string_view name = source.kind() == OperandKind::identifier ? source.text()
                                  : source.kind() == OperandKind::sum      ? source.base()
                                                                           : std::string_view();
    const Symbol* const symbol = name.empty() ? nullptr : names_.find(name);
    if (symbol != nullptr && is_of_a_call(*symbol))
        report(Errc::operand_kind_wrong, source.span(),
               "'" + std::string(name) + "' is for calls, and has no address that can be taken");
}

// PTX ISA 5.1.6: inputs are read, results are written; `.param::func` is the space of a device function's
// parameters, which an entry has only for its calls.
void InstructionVerifier::parameter_access(const Instruction& i) {
    const bool is_store = i.opcode == "st";
    const std::size_t at = is_store ? 0 : 1;
    if (at >= i.operands.size() || i.operands[at].kind() != OperandKind::address) return;
    const Symbol* symbol = names_.find(i.operands[at].base());
    const bool is_of_function = i.has(".param::func");
    depends_on_function_ |= is_of_function;
    if (is_of_function && function_.is_entry() &&
        (symbol == nullptr || symbol->space != Space::param || symbol->is_input))
        return report(Errc::state_space_mismatch, i.operands[at].span(),
                      "in an entry, .param::func is the space of its calls' .param variables alone");
    const bool is_register = symbol != nullptr && symbol->kind == SymbolKind::reg;
    depends_on_function_ |= is_store && is_register && i.has(".param");
    if (is_store && is_register && i.has(".param") && function_.is_entry() && setting_.knows_target &&
        setting_.target.sm >= 90)
        report(
            Errc::operand_kind_wrong, i.operands[at].span(),
            "from sm_90 on, an entry writes .param variables by their names alone; ptxas dies of a register");
    if (symbol == nullptr || symbol->space != Space::param) return;
    const std::string name = "'" + std::string(i.operands[at].base()) + "'";
    if (i.has(".param::entry") && is_of_a_call(*symbol))
        return report(Errc::state_space_mismatch, i.operands[at].span(),
                      name + " is for calls; .param::entry is the space of the function's own parameters");
    if (i.guard && is_of_a_call(*symbol))
        report(Errc::guard_invalid, i.guard->predicate,
               name + " is for calls, and accessed without a guard; select the value (selp), or branch");
    constexpr std::string_view hides = " has the name of the function's parameter, and ptxas takes it for ";
    if (is_store && (symbol->is_input || (symbol->hides & Symbol::input) != 0))
        report(Errc::operand_kind_wrong, i.operands[at].span(),
               symbol->is_input ? name + " is an input parameter, which cannot be written"
                                : name + std::string(hides) + "that input; take another name");
    if (!is_store && (symbol->is_return || (symbol->hides & Symbol::result) != 0))
        report(Errc::operand_kind_wrong, i.operands[at].span(),
               symbol->is_return ? name + " is a return parameter, which cannot be read"
                                 : name + std::string(hides) + "that result; take another name");
}

// PTX ISA 5.3: with texmode_independent, samplers are apart from textures, and what is theirs is asked of
// them.
void InstructionVerifier::texture_mode(const Instruction& i) {
    constexpr std::array<std::string_view, 4> of_sampler = {".filter_mode", ".addr_mode_0", ".addr_mode_1",
                                                            ".addr_mode_2"};
    for (const Operand& operand : i.operands) {
        if (operand.kind() != OperandKind::address) continue;
        const Symbol* symbol = names_.find(operand.base());
        const bool asks_sampler =
            std::find_first_of(i.modifiers.begin(), i.modifiers.end(), of_sampler.begin(),
                               of_sampler.end()) != i.modifiers.end();
        if (i.opcode != "txq" && operand.children().size() < 3)
            report(Errc::operand_count_wrong, operand.span(),
                   "with .target texmode_independent, a texture is read as [texture, sampler, coordinates]");
        if (i.opcode == "txq" && asks_sampler && symbol != nullptr && symbol->kind == SymbolKind::texref)
            report(Errc::operand_kind_wrong, operand.span(),
                   "with .target texmode_independent, this is asked of a .samplerref; '" +
                       std::string(operand.base()) + "' is a .texref");
    }
}

namespace {

// From sm_90 on, ptxas makes other instructions of these, but with all operands and .f16x2.
bool is_gradient_of_others(const Instruction& i, const Match& match) {
    if (match.row->opcode != "tex.grad") return false;
    const bool has_depth = match.row->operands.back().name == "f" && i.operands.size() > 4;
    return i.has(".3d") || i.has(".cube") || i.has(".acube") ||
           (has_depth && !(i.has(".f16x2") && i.operands.size() == 6));
}

}  // namespace

// Of those it moves the elements of vectors, special registers as they are, which mov does not take there.
void InstructionVerifier::gradient_registers(const Instruction& i, const Match& match) {
    if (!setting_.knows_target || setting_.target.sm < 90 || !is_gradient_of_others(i, match)) return;
    const auto look = [&](const Operand& operand) {
        for (const Operand& element : operand.children())
            if (element.kind() == OperandKind::identifier && names_.find(element.text()) == nullptr &&
                find_special(element.text()))
                report(Errc::special_register_invalid, element.span(),
                       "the special register '" + std::string(element.text()) +
                           "' cannot stand here; move it to a register first (mov)");
    };
    for (const Operand& operand : i.operands) {
        if (operand.kind() == OperandKind::vector) look(operand);
        for (const Operand& part : operand.children())
            if (part.kind() == OperandKind::vector) look(part);
    }
}

// PTX ISA 9.7.10.1: in unified mode, a texture has its sampler within. ptxas takes another behind it, but
// misreads these forms then.
void InstructionVerifier::unified_sampler(const Instruction& i, const Match& match) {
    const auto has = [&](std::string_view modifier) { return i.has(modifier); };
    const auto address = std::ranges::find(i.operands, OperandKind::address, &Operand::kind);
    if (address == i.operands.end() || address->children().size() < 3) return;
    const bool is_cube = has(".cube") || has(".acube"), has_depth = match.row->operands.back().name == "f",
               has_offset = i.operands.size() > (has_depth ? 4u : 3u);
    bool is_wrong = is_cube;
    if (match.row->opcode == "tex.level")
        is_wrong = has(".3d") || (has_offset && !has_depth) || i.modifiers.back() == ".s32";
    if (match.row->opcode == "tex.grad")
        is_wrong |= has(".a1d") || has(".a2d") ||
                    // there it becomes other instructions, but with all operands and .f16x2
                    (setting_.knows_target && setting_.target.sm >= 90 &&
                     (has(".3d") || (has_depth && !(has(".f16x2") && i.operands.size() == 6))));
    if (is_wrong)
        report(Errc::operand_count_wrong, address->span(),
               "a texture has its sampler within: [texture, coordinates]; with .target texmode_independent: "
               "[texture, sampler, coordinates]");
}

void InstructionVerifier::guard(const Instruction& i) {
    if (!i.guard) return;
    const std::string_view name = i.guard->predicate;
    const Symbol* symbol = names_.find(name);
    if (symbol == nullptr) {
        const auto special = find_special(name);
        if (!special || special->row->type != RegisterType::pred)
            return report(Errc::name_undeclared, name, "'" + std::string(name) + "'");
        return require(special->row->since, span_of(name), std::string(name));
    }
    if (symbol->kind != SymbolKind::reg || symbol->type != RegisterType::pred)
        report(Errc::guard_invalid, name,
               "'" + std::string(name) + "' is no predicate; a guard is a register of .pred: @p or @!p");
}

void InstructionVerifier::constant_bank(const Instruction& i) {
    for (const std::string_view modifier : i.modifiers)
        if (modifier.ends_with(']')) {
            const std::string_view inside = modifier.substr(modifier.find('[') + 1);
            bank(inside.substr(0, inside.size() - 1));
        }
}

// PTX ISA 5.1.3.1.
void InstructionVerifier::bank(std::string_view number) {
    if (setting_.version >= 22)
        report(Errc::form_removed, number, "banks of .const are gone since PTX ISA 2.2");
    else if (number.size() > 2 || (number.size() == 2 && number != "10"))
        report(Errc::directive_invalid, number, "a bank of .const has a number from 0 to 10");
    else if (number != "0")
        require(15, {10, 0}, span_of(number), "a bank of .const from 1 on");
}

void InstructionVerifier::unmatched(const Instruction& i, const NameMatch& name) {
    const std::string_view place = name.modifier >= 0 ? i.modifiers[static_cast<std::size_t>(name.modifier)]
                                   : name.code == Errc::opcode_unknown ? i.opcode
                                                                       : i.name;
    report(name.code, place, name.message);
}

void InstructionVerifier::form_removed(const Instruction& i, const Match& match) {
    constexpr std::uint16_t oldest_sm = 10;
    const Row& row = *match.row;
    std::string text = canonical_name(match) + " is gone after PTX ISA " + version_text(row.until_version);
    if (row.until_sm > oldest_sm) text += " on sm_" + std::to_string(row.until_sm) + " and later";
    if (!row.implied.empty()) {
        text += "; it was " + std::string(i.opcode);
        for (const std::string_view modifier : todays_modifiers(match, false)) text += modifier;
    }
    report(Errc::form_removed, i.name, text);
}

void InstructionVerifier::requirements(const Instruction& i, const Match& match) {
    const Row& row = *match.row;
    if (row.until_version != 0 && setting_.version > row.until_version && setting_.knows_target &&
        setting_.target.sm >= row.until_sm)
        return form_removed(i, match);
    require(row.since, span_of(i.name), match);
    for (const Constraint& c : row.constraints)
        if (c.kind == Constraint::Kind::since && match.any_holds(c.left))
            require(c.since, span_of(i.name), match);
    const ActiveRules rules(match, row.operands, i.operands.size());
    for (std::size_t k = 0; k < rules.size(); ++k) {
        const bool is_pair = i.operands[k].kind() == OperandKind::pair;
        const OperandRule& rule = is_pair ? rules[k].children[1] : rules[k];
        const Operand& operand = is_pair ? i.operands[k].children()[1] : i.operands[k];
        if (!rule.since.empty())
            require(rule.since, operand.span(), "operand '" + std::string(operand.text()) + "'");
    }
}

void InstructionVerifier::require(std::span<const Since> since, Span span, const Match& match) {
    if (setting_.knows_target && !is_available(since, setting_.version, setting_.target))
        require(since, span, canonical_name(match));
}

void InstructionVerifier::require(std::span<const Since> since, Span span, const std::string& what) {
    if (setting_.knows_target && !is_available(since, setting_.version, setting_.target))
        report_missing(availability(since, setting_.version, setting_.target), span, what);
}

void InstructionVerifier::require(std::uint16_t version, Architecture sm, Span span, std::string_view what) {
    if (!setting_.knows_target) return;
    if (!supports(setting_.target, sm)) return report_missing({false, false, name(sm)}, span, what);
    if (setting_.version < version) report_missing({false, true, or_later(version)}, span, what);
}

void InstructionVerifier::report_missing(const Availability& a, Span span, std::string_view what) {
    if (a.version_is_missing)
        report(
            Errc::version_too_old, span,
            std::string(what) + " needs " + a.needed + "; the module has " + version_text(setting_.version));
    else
        report(Errc::target_not_able, span,
               std::string(what) + " needs " + a.needed + "; the target is " + name(setting_.target));
}

void InstructionVerifier::special_registers(const Instruction& i) {
    const auto look = [&](const Operand& operand) {
        if (operand.kind() != OperandKind::identifier || !operand.text().starts_with('%') ||
            names_.find(operand.text()) != nullptr)
            return;
        if (const auto special = find_special(operand.text()))
            require(special->row->since, operand.span(), std::string(operand.text()));
        if (operand.text().starts_with("%perctamemory")) per_cta_memory(operand);
    };
    for (const Operand& operand : i.operands) {
        look(operand);
        for (const Operand& child : operand.children()) look(child);
    }
}

// Memory of each block (PTX ISA 9.4): an entry has it that asks for some.
void InstructionVerifier::per_cta_memory(const Operand& operand) {
    depends_on_function_ = true;
    if (!function_.is_entry()) return;
    const std::vector<syntax::Token> tokens = function_.tokens();
    const auto asks = [&](const syntax::Token& token) {
        const syntax::Token* const next = &token + 1;
        return token.text == ".minperctamemory" && next != tokens.data() + tokens.size() &&
               syntax::parse_integer(next->text).value_or(0) != 0;
    };
    if (std::none_of(tokens.begin(), tokens.end(), asks))
        report(Errc::special_register_invalid, operand.span(),
               std::string(operand.text()) + " is for entries with .minperctamemory above 0");
}

void InstructionVerifier::undefined_label(const Operand& operand) {
    if (!has_labels_) {
        has_labels_ = true;
        for (const syntax::Statement& f : module_.functions())
            for (const syntax::Statement& s : f.body_recursive())
                if (s.kind() == syntax::StatementKind::label)
                    if (const auto [name, is_new] = labels_.put(s.name()); is_new) *name = f.name();
    }
    const std::string name = "'" + std::string(operand.text()) + "'";
    if (names_.find(operand.text()) != nullptr)
        return report(Errc::label_undefined, operand.span(),
                      name + " means something else before the label; give the label another name");
    const std::string_view* owner = labels_.find(operand.text());
    if (owner == nullptr)
        return report(Errc::label_undefined, operand.span(),
                      "label " + name + " is not defined in this function");
    if (*owner == function_.name())
        return report(Errc::label_undefined, operand.span(),
                      "label " + name + " stands in a block that this branch is not in");
    report(Errc::label_of_other_function, operand.span(),
           "label " + name + " belongs to another function, " + std::string(*owner));
}

}  // namespace ptxgraft::isa
