// The body of a function: what it declares, its labels, its straight runs.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"
#include "isa/declaration.hpp"
#include "isa/special.hpp"
#include "launch/module_info.hpp"
#include "ptxgraft/syntax/types.hpp"
#include "syntax/branch_targets.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Statement;
using syntax::StatementKind;
using syntax::TokenView;

constexpr std::uint64_t most_local_bytes = std::uint64_t{512} << 10;
constexpr std::size_t deepest_block = 256;  // names are looked for in all blocks around

bool is_array(const Statement::Parameter& parameter) { return parameter.count != 0 || parameter.is_open; }

}  // namespace

ImmediateType immediate_type(syntax::Type type) {
    switch (type) {
        case syntax::Type::pred: return ImmediateType::predicate;
        case syntax::Type::f16: return ImmediateType::f16;
        case syntax::Type::f16x2: return ImmediateType::f16x2;
        case syntax::Type::bf16: return ImmediateType::bf16;
        case syntax::Type::bf16x2: return ImmediateType::bf16x2;
        case syntax::Type::f32: return ImmediateType::f32;
        case syntax::Type::f64: return ImmediateType::f64;
        default: return ImmediateType::integer;
    }
}

std::optional<std::uint64_t> immediate_bits(const syntax::Constant& constant, std::uint32_t bytes,
                                            ImmediateType type) {
    const bool is_half = type == ImmediateType::f16 || type == ImmediateType::f16x2 ||
                         type == ImmediateType::bf16 || type == ImmediateType::bf16x2;
    if (is_half && !constant.is_integer()) return std::nullopt;
    const auto use = type == ImmediateType::predicate ? syntax::ConstantUse::predicate
                     : type == ImmediateType::f32 || type == ImmediateType::f64
                         ? syntax::ConstantUse::floating
                         : syntax::ConstantUse::bits;
    return syntax::convert(constant, use, 8 * bytes);
}

std::optional<std::int64_t> integer_of(const syntax::Operand& operand) {
    const auto constant = operand.constant();
    return constant && constant->is_integer() ? std::optional(constant->as_signed()) : std::nullopt;
}

Expected<void> FunctionDecoder::decode(const Statement& statement, std::uint32_t index) {
    function_ = &program().functions[index];
    depth_ = 0;
    frame_top_ = 0;
    used_bytes_ = ~0u;
    label_pcs_.clear();
    hiding_labels_.clear();
    names_.clear();
    carry_ = no_ref;
    table_name_ = {};
    span_ = statement.span();
    const TokenView head(statement);
    function_->head = {head.begin(0), head.begin(head.size() - 1)};
    module_.enter(statement);
    TRY(place_shared(statement, index));
    scopes().open();
    function().has_code = true;
    function().first = program().marks();
    function().begin = function().first.code;
    TRY(declare_parameters(statement));
    TRY(body(statement));
    scopes().close_function();
    emit(Draft(execute_return));  // PTX ISA 9.7.12.6: the end of a body returns
    link_labels();
    mark_runs();
    if (function().register_bytes > most_bank_bytes)
        return fail(Errc::module_not_emulated, span_, "more than a GiB of registers");
    function().end = program().marks();
    function().names.assign(names_.begin(), names_.end());
    function().shared_bytes = shared_top_;
    if (!function().is_entry) program().shared_bytes = shared_top_;
    return {};
}

// In a scope of their own, which a body may hide; those of functions in the module's.
Expected<void> FunctionDecoder::place_shared(const Statement& statement, std::uint32_t index) {
    const std::vector<ModuleDecoder::Named> named = module_.unplaced_shared(statement);
    const bool is_own = function().is_entry;
    shared_top_ = program().shared_bytes;
    if (is_own) scopes().open();
    for (const ModuleDecoder::Named& one : named)
        scopes().declare(one.first,
                         TRY(module_.place_shared(one, shared_top_, is_own ? index : SharedVariable::all)));
    return {};
}

namespace {

isa::Symbol declared_as(const Statement::Parameter& parameter, bool is_input) {
    isa::Symbol symbol = isa::parameter_symbol(parameter);
    symbol.is_input = is_input;
    symbol.is_return = !is_input;
    return symbol;
}

}  // namespace

Expected<void> FunctionDecoder::declare_parameters(const Statement& statement) {
    const auto parameters = statement.parameters();
    if (!function().is_entry) {
        const auto returns = statement.return_parameters();
        TRY(declare_slots(returns, false, function().returns, statement.span()));
        return declare_slots(parameters, true, function().parameters, statement.span());
    }
    std::uint64_t top = 0;
    function().parameters.reserve(parameters.size());
    for (const auto& parameter : parameters) {
        const std::uint64_t element = std::max<std::uint64_t>(launch::element_bytes(parameter.type),
                                                              1);  // an unknown type is no launch's
        const std::uint64_t bytes = element * std::max<std::uint64_t>(parameter.count, 1);
        const std::uint64_t align = std::max<std::uint64_t>(parameter.align, element);
        top = (top + align - 1) / align * align;
        if (parameter.count > (1u << 20) || top + bytes > (1u << 20) || !std::has_single_bit(align)) {
            return fail(Errc::declaration_not_emulated, statement.span(), std::string(parameter.name));
        }
        if (parameter.name != "_" && scopes().is_declared_here(parameter.name))
            return module_.redeclared(parameter.name);
        function().parameters.push_back(
            {static_cast<std::uint32_t>(top), static_cast<std::uint32_t>(bytes), no_ref});
        const Symbol symbol = {.space = Space::param,
                               .address = top,
                               .bytes = bytes,
                               .element_bytes = is_array(parameter) ? static_cast<std::uint32_t>(element) : 0,
                               .declared = declared_as(parameter, true)};
        if (parameter.name != "_")
            scopes().declare_new(parameter.name, symbol);
        else
            scopes().declare(parameter.name, symbol);
        top += bytes;
    }
    function().param_bytes = static_cast<std::uint32_t>(top);
    return {};
}

// A function's `.param` variables lie in its frame, beside the `.local` ones: their addresses may be taken.
Expected<void> FunctionDecoder::declare_slots(const std::vector<Statement::Parameter>& parameters,
                                              bool are_inputs, std::vector<Slot>& slots, Span span) {
    for (const auto& parameter : parameters) {
        const std::uint32_t element = std::max(type_bits(parameter.type) / 8, 1u);
        if (parameter.vector != 1 && parameter.space != ".reg")
            return fail(Errc::declaration_not_emulated, module_.span_of(parameter.name),
                        fmt::format("{}, a vector in .param", parameter.name));
        if (parameter.name != "_" && scopes().is_declared_here(parameter.name))
            return module_.redeclared(parameter.name);
        Slot slot{0, element, no_ref};
        if (parameter.space == ".reg") {
            slot.reg = temporary(element);
            scopes().declare(parameter.name,
                             {.kind = parameter.vector > 1 ? Symbol::Kind::vector : Symbol::Kind::register_,
                              .count = parameter.vector,
                              .ref = slot.reg,
                              .declared = declared_as(parameter, are_inputs)});
            for (std::uint32_t i = 1; i < parameter.vector; ++i)
                slots.push_back(std::exchange(slot, {0, element, temporary(element)}));
        } else {
            if (parameter.count > most_local_bytes || !std::has_single_bit(std::max(parameter.align, 1u)))
                return fail(Errc::declaration_not_emulated, span, std::string(parameter.name));
            const std::uint64_t bytes = element * std::max<std::uint64_t>(parameter.count, 1);
            auto offset = TRY(place_in_frame(bytes, std::max(parameter.align, element), span));
            slot = {offset, static_cast<std::uint32_t>(bytes), no_ref};
            scopes().declare(parameter.name, {.space = Space::local,
                                              .frame_relative = true,
                                              .address = offset,
                                              .bytes = bytes,
                                              .element_bytes = is_array(parameter) ? element : 0,
                                              .declared = declared_as(parameter, are_inputs)});
        }
        slots.push_back(slot);
    }
    return {};
}

Expected<std::uint32_t> FunctionDecoder::place_in_frame(std::uint64_t bytes, std::uint32_t align, Span span) {
    const std::uint64_t begin = (std::uint64_t{frame_top_} + align - 1) / align * align;
    if (bytes > most_local_bytes || begin + bytes > most_local_bytes) {
        return fail(Errc::declaration_not_emulated, span, "more than 512 KiB of local memory");
    }
    frame_top_ = static_cast<std::uint32_t>(begin + bytes);
    function().local_bytes = std::max(function().local_bytes, frame_top_);
    return static_cast<std::uint32_t>(begin);
}

// It has registers, variables and labels of its own.
Expected<void> FunctionDecoder::block(const Statement& parent) {
    if (++depth_ >= deepest_block) {
        return fail(Errc::module_not_emulated, span_,
                    fmt::format("blocks nested deeper than {}", deepest_block));
    }
    const std::uint32_t frame_top = frame_top_;
    scopes().open();
    auto result = body(parent);
    scopes().close();
    --depth_;
    frame_top_ = frame_top;
    return result;
}

Expected<void> FunctionDecoder::body(const Statement& parent) {
    const std::size_t next_label = next_label_;
    TRY(declare_labels(parent));
    Expected<void> result;
    syntax::for_each_child(parent, [&](const Statement& s, StatementKind kind) {
        if (result) result = statement(s, kind);
    });
    next_label_ = next_label;
    return result;
}

// Of two labels of one name, a branch could mean either.
Expected<void> FunctionDecoder::declare_labels(const Statement& parent) {
    next_label_ = label_pcs_.size();
    Expected<void> result;
    std::string_view last;
    isa::Symbol declared;
    bool hides = false;  // the last one: another name, until it comes
    syntax::for_each_child(parent, [&](const Statement& s, StatementKind kind) {
        if (kind == StatementKind::label) {
            last = TokenView(s).text(0);
            if (result && scopes().is_declared_here(last)) result = module_.redeclared(last);
            if (!result) return;
            declared = isa::label_symbol(s);
            const auto [before, range, number] = scopes().find_register(last);
            hides = range != nullptr || (before != nullptr && before->kind != Symbol::Kind::label) ||
                    (before == nullptr && module_.has_function(last, s.span().begin)) ||
                    (last.starts_with('%') && isa::find_special(last));
            if (hides)
                hiding_labels_.insert(s.span().begin);
            else
                scopes().declare_new(
                    last, {.kind = Symbol::Kind::label, .address = label_pcs_.size(), .declared = declared});
            label_pcs_.push_back(no_pc);  // it has not come yet
            return;
        }
        if (!last.empty() && kind == StatementKind::directive && !hides) declare_list(last, declared, s);
        last = {};
    });
    return result;
}

// What a label stands for in front of a directive that lists what a branch or a call may meet.
void FunctionDecoder::declare_list(std::string_view label, const isa::Symbol& declared, const Statement& s) {
    const auto add = [&](Symbol::Kind kind, auto& lists, auto list) {
        scopes().declare(label, {.kind = kind, .address = lists.size(), .declared = declared});
        lists.push_back(std::move(list));
    };
    if (declared.kind == isa::SymbolKind::branch_targets)  // whose labels are not all known yet
        add(Symbol::Kind::table, program().branch_tables, std::vector<std::uint32_t>());
    else if (declared.kind == isa::SymbolKind::call_targets)
        add(Symbol::Kind::call_targets, program().call_targets, call_targets(s));
    else if (declared.kind == isa::SymbolKind::prototype)
        add(Symbol::Kind::prototype, program().prototypes, signature_of(s));
}

std::vector<std::uint32_t> FunctionDecoder::call_targets(const Statement& statement) const {
    std::vector<std::uint32_t> functions;
    for (const syntax::Token& token : statement.tokens())
        if (const auto function = module_.find_function(token.text)) functions.push_back(*function);
    return functions;
}

std::uint32_t FunctionDecoder::call_table(const isa::Symbol& array, std::string_view name) {
    std::vector<std::uint32_t> functions;
    for (const syntax::Token& token : isa::call_table(array, name))
        if (const auto function = module_.find_function(token.text)) functions.push_back(*function);
    program().call_targets.push_back(std::move(functions));
    return static_cast<std::uint32_t>(program().call_targets.size() - 1);
}

Expected<void> FunctionDecoder::statement(const Statement& statement, StatementKind kind) {
    switch (kind) {
        case StatementKind::instruction: return instruction(statement);
        case StatementKind::variable: span_ = statement.span(); return variable(statement);
        case StatementKind::block: span_ = statement.span(); return block(statement);
        case StatementKind::label: return place_label(statement);
        case StatementKind::directive: return directive(statement);
        default: return {};  // a function that is declared here is the module's (ModuleDecoder)
    }
}

// One that hides a name of another kind does so from here on.
Expected<void> FunctionDecoder::place_label(const Statement& statement) {
    table_name_ = TokenView(statement).text(0);
    if (!hiding_labels_.empty() && hiding_labels_.contains(statement.span().begin)) {
        const isa::Symbol declared = isa::label_symbol(statement);
        if (scopes().is_declared_here(table_name_)) return module_.redeclared(table_name_);
        if (declared.kind == isa::SymbolKind::label)
            scopes().declare_new(table_name_,
                                 {.kind = Symbol::Kind::label, .address = next_label_, .declared = declared});
        else
            declare_list(table_name_, declared, declared.declaration);
    }
    label_pcs_[next_label_++] = static_cast<std::uint32_t>(program().code.size());
    return {};
}

Expected<void> FunctionDecoder::directive(const Statement& statement) {
    const TokenView tokens(statement);
    if (tokens.text(0) == ".branchtargets") return branch_targets(statement);
    if (tokens.text(0) == ".pragma") pragma(tokens);
    return {};
}

// PTX ISA 12.2: of a load, the bytes that are used. Others need not be there, and are in no race.
void FunctionDecoder::pragma(const TokenView& tokens) {
    constexpr std::string_view word = "\"used_bytes_mask";
    for (std::size_t i = 1; i < tokens.size(); ++i)
        if (tokens.text(i).starts_with(word))
            used_bytes_ = static_cast<std::uint32_t>(
                std::strtoull(std::string(tokens.text(i).substr(word.size())).c_str(), nullptr, 0));
}

Expected<void> FunctionDecoder::branch_targets(const Statement& statement) {
    span_ = statement.span();
    const auto tokens = statement.tokens();
    const Symbol* table = find(table_name_);
    if (table == nullptr || table->kind != Symbol::Kind::table) return {};
    for (const syntax::BranchTargets& targets : syntax::branch_targets(tokens)) {
        for (std::uint64_t k = 0; k < targets.count; ++k) {
            const std::string name = targets.name(k);
            const Symbol* const target = find(name);
            if (target == nullptr || target->kind != Symbol::Kind::label)
                return fail(Errc::name_undeclared, statement.span(), fmt::format("label {}", name));
            program().branch_tables[table->address].push_back(static_cast<std::uint32_t>(target->address));
        }
    }
    return {};
}

void FunctionDecoder::link_labels() {
    for (std::size_t pc = function().begin; pc < program().code.size(); ++pc) {
        Operation& operation = program().code[pc];
        if (operation.execute == execute_branch) operation.extra = label_pcs_[operation.extra];
    }
    for (std::size_t i = function().first.branch_tables; i < program().branch_tables.size(); ++i)
        for (std::uint32_t& target : program().branch_tables[i]) target = label_pcs_[target];
}

// `.reg .b32 %r<100>;`, `.reg .pred p;`, `.param .b64 retval0;`, as most are. Others are read whole.
bool FunctionDecoder::declare_plain(const Statement& statement) {
    const TokenView tokens(statement);
    using L = syntax::Lexeme;
    if (tokens.size() < 4 || tokens.kind(1) != L::directive || tokens.kind(2) != L::identifier) return false;
    const bool is_register = tokens.text(0) == ".reg";
    const syntax::TypeRow* const type = syntax::find_type(tokens.text(1));
    const std::uint32_t bits = type_bits(type), bytes = std::max(bits / 8, 1u);
    const std::string_view name = tokens.text(2);
    if (bits == 0 || (!is_register && tokens.text(0) != ".param")) return false;
    isa::Symbol declared = isa::register_symbol(isa::type_of(type), statement);
    if (!is_register) {
        declared.kind = isa::SymbolKind::variable;
        declared.space = isa::Space::param;
    }
    declared.is_no_address = isa::is_no_address(declared, name, tokens.kind(3) == L::less);
    if (tokens.kind(3) == L::semicolon) {
        if (scopes().is_declared_here(name)) return false;
        return is_register ? declare_register(name, bytes, declared) : declare_local(name, bytes, declared);
    }
    constexpr std::array range = {L::less, L::integer, L::greater, L::semicolon};
    if (!is_register || tokens.size() != 3 + range.size()) return false;
    for (std::size_t i = 0; i < range.size(); ++i)
        if (tokens.kind(3 + i) != range[i]) return false;
    const auto count = syntax::integer_value(tokens.text(4));
    if (!count || *count == 0 || *count > UINT32_MAX) return false;
    const auto range_count = static_cast<std::uint32_t>(*count);
    if (scopes().is_declared_here(name, range_count)) return false;
    scopes().declare_range(name, range_count, bytes, 1, declared);
    return true;
}

bool FunctionDecoder::declare_register(std::string_view name, std::uint32_t bytes,
                                       const isa::Symbol& declared) {
    const Ref ref = temporary(bytes);
    scopes().declare_new(name, {.kind = Symbol::Kind::register_, .ref = ref, .declared = declared});
    names_.push_back({ref, module_.span_of(name)});
    return true;
}

bool FunctionDecoder::declare_local(std::string_view name, std::uint32_t bytes, const isa::Symbol& declared) {
    const auto offset = place_in_frame(bytes, bytes, span_);
    if (offset)
        scopes().declare_new(name, {.space = Space::local,
                                    .frame_relative = true,
                                    .address = *offset,
                                    .bytes = bytes,
                                    .declared = declared});
    return offset.has_value();
}

Expected<void> FunctionDecoder::variable(const Statement& statement) {
    if (declare_plain(statement)) return {};
    const auto variable = statement.variable();
    const Span span = statement.span();
    for (const auto& declarator : variable->declarators)
        if (scopes().is_declared_here(declarator.name, declarator.range))
            return module_.redeclared(declarator.name);
    if (variable->space == ".reg") return declare_registers(statement, *variable);
    if (variable->space != ".local" && variable->space != ".param") {
        std::vector<SharedVariable>& shared = program().shared_variables;
        const std::size_t before = shared.size();
        auto done = module_.declare(statement, *variable, shared_top_);
        for (std::size_t i = before; function().is_entry && i < shared.size(); ++i)
            shared[i].entry = static_cast<std::uint32_t>(&function() - program().functions.data());
        return done;
    }
    for (const auto& declarator : variable->declarators) {
        const auto size = TRY(extent(*variable, declarator, span));
        const auto declare = [&](std::string_view name) -> Expected<void> {
            auto offset = TRY(place_in_frame(size.bytes, size.align, span));
            scopes().declare(name, {.space = Space::local,
                                    .frame_relative = true,
                                    .address = offset,
                                    .bytes = size.bytes,
                                    .element_bytes = element_bytes(*variable, declarator),
                                    .is_of_range = declarator.range != 0,
                                    .declared = isa::variable_symbol(statement, *variable, declarator)});
            return {};
        };
        TRY(module_.for_each_name(*variable, declarator, declare));
    }
    return {};
}

// `%r<100>` takes a register only for the names that occur.
Expected<void> FunctionDecoder::declare_registers(const Statement& statement,
                                                  const Statement::Variable& variable) {
    const Span span = statement.span();
    const std::uint32_t bits = type_bits(variable.type);
    if (bits == 0)
        return fail(Errc::declaration_not_emulated, span, fmt::format("registers of type {}", variable.type));
    for (const auto& declarator : variable.declarators) {
        const isa::Symbol declared = isa::variable_symbol(statement, variable, declarator);
        if (declarator.range != 0) {
            scopes().declare_range(declarator.name, declarator.range, std::max(bits / 8, 1u), variable.vector,
                                   declared);
            continue;
        }
        const Ref ref = temporary(std::max(bits / 8, 1u));
        scopes().declare(declarator.name,
                         {.kind = variable.vector > 1 ? Symbol::Kind::vector : Symbol::Kind::register_,
                          .count = variable.vector,
                          .ref = ref,
                          .declared = declared});
        names_.push_back({ref, module_.span_of(declarator.name)});
        for (std::uint32_t i = 1; i < variable.vector; ++i)
            static_cast<void>(temporary(std::max(bits / 8, 1u)));
    }
    return {};
}

const Symbol* FunctionDecoder::find(std::string_view name) {
    const Symbol* const symbol = module_.find(name);
    return symbol != nullptr ? symbol : find_vector(name);
}

const Symbol* FunctionDecoder::find_vector(std::string_view name) {
    const auto [symbol, range, number] = scopes().find_register(name);
    if (range == nullptr || range->components() == 1) return nullptr;
    vector_ = {
        .kind = Symbol::Kind::vector, .count = range->components(), .ref = register_of(*range, number, name)};
    return &vector_;
}

Ref FunctionDecoder::register_of(const Scopes::Meaning& meaning, std::string_view name) {
    if (meaning.range == nullptr)
        return meaning.symbol != nullptr && meaning.symbol->kind == Symbol::Kind::register_
                   ? meaning.symbol->ref
                   : no_ref;
    return meaning.range->components() == 1 ? register_of(*meaning.range, meaning.number, name) : no_ref;
}

Ref FunctionDecoder::new_register(RegisterRange& range, std::uint32_t number, std::string_view name) {
    const Ref ref = range[number] = take_column(function().register_bytes, range.bytes());
    for (std::uint32_t i = 1; i < range.components(); ++i)
        static_cast<void>(take_column(function().register_bytes, range.bytes()));
    names_.push_back({ref, module_.span_of(name)});
    return ref;
}

std::optional<Ref> FunctionDecoder::find_register(std::string_view name) {
    if (learning_ != nullptr)
        if (const auto at = reading_.register_at(name, learning_->tokens))
            return place(*at, width(reading_.values[*at]));
    const Scopes::Meaning meaning = scopes().find_register(name);
    if (const Ref ref = register_of(meaning, name); ref != no_ref) return ref;
    if (meaning.symbol != nullptr) return std::nullopt;
    const auto [stem, letter] = syntax::parts_of(name);
    if (letter.size() != 2) return std::nullopt;
    const Symbol* vector = find(stem);
    const std::size_t component = std::string_view("xyzwrgba").find(letter[1]);
    if (vector == nullptr || vector->kind != Symbol::Kind::vector || component == std::string_view::npos)
        return std::nullopt;
    if (component % 4 >= vector->count) return std::nullopt;
    return element(vector->ref, static_cast<std::uint32_t>(component % 4));
}

void FunctionDecoder::emit(const Draft& draft) {
    Operation operation = draft.operation;
    operation.operands = static_cast<std::uint32_t>(program().refs.size());
    operation.strict = std::min(operation.strict, operation.inputs);
    operation.is_large = operation.outputs > 1 || operation.inputs > 3;
    const auto refs = draft.refs();
    program().refs.insert(program().refs.end(), refs.begin(), refs.end());
    if (learning_ != nullptr && draft.table != Table::none)
        learning_->entries.push_back({program().code.size(), {draft.table, operation.extra}});
    if (module_.entries != nullptr) module_.entries->push_back({draft.table, operation.extra});
    program().code.push_back(operation);
    program().spans.push_back(span_);
}

void FunctionDecoder::emit_sum(Ref d, Ref a, Ref c) {
    const std::array<std::string_view, 1> type = {width(d) == 8 ? ".u64" : width(d) == 4 ? ".u32" : ".u16"};
    const auto sum = find_pure("add", type, 3, false);
    emit(Draft(sum->first_function()).output(d).input(a).input(c));
}

tl::unexpected<Error> FunctionDecoder::missing(const syntax::Instruction& instruction) const {
    return fail(Errc::instruction_not_emulated, instruction.span, std::string(instruction.name));
}

// How many pure operations without guards stand in a row, up to where a branch may lead.
void FunctionDecoder::mark_runs() {
    auto& code = program().code;
    is_target_.assign(code.size() - function().begin + 1, false);
    for (const std::uint32_t pc : label_pcs_) is_target_[pc - function().begin] = true;
    Operation behind;
    std::uint16_t runs = 0;
    for (std::size_t pc = code.size(); pc-- > function().begin;) {
        Operation& operation = code[pc];
        if (operation.function == nullptr || operation.guard != no_ref) {
            behind = {};
            continue;
        }
        const bool ends = is_target_[pc + 1 - function().begin] || behind.run == UINT16_MAX;
        operation.run = static_cast<std::uint16_t>(1 + (ends ? 0 : behind.run));
        operation.run_counted =
            static_cast<std::uint16_t>((operation.is_micro_op ? 0 : 1) + (ends ? 0 : behind.run_counted));
        if (!ends && behind.run != 0) join_row(operation, code[pc + 1]);
        if (ends || behind.run == 0) ++runs;
        operation.run_slot = runs;
        behind = operation;
    }
}

// Operations of one function on registers of the frame, whose operands lie one behind the other, are a row.
void FunctionDecoder::join_row(Operation& operation, Operation& behind) {
    if (behind.function != operation.function || operation.elements != lane_count ||
        behind.elements != lane_count)
        return;
    const std::uint32_t count = operation.outputs + operation.inputs;
    const auto refs = std::span(program().refs).subspan(operation.operands, std::size_t{count} * 2);
    if (behind.operands != operation.operands + count || !std::ranges::all_of(refs, is_register)) return;
    if (behind.row == 0) {
        const arithmetic::RowFunction function = arithmetic::row_function(operation.function);
        if (function == nullptr) return;
        auto& rows = program().rows;
        const auto found = std::ranges::find(rows, function);
        behind.extra = static_cast<std::uint32_t>(found - rows.begin());
        if (found == rows.end()) rows.push_back(function);
        behind.row = 1;
    }
    operation.extra = behind.extra;
    operation.row = static_cast<std::uint16_t>(behind.row + 1);
}

}  // namespace ptxgraft::emulator
