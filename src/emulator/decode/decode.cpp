// What decoders of all families share: they look names up, and bind operands to columns.
#include "emulator/decode/decode.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "emulator/memory/lanes.hpp"
#include "isa/declaration.hpp"
#include "ptxgraft/syntax/types.hpp"
#include "syntax/constant.hpp"
#include "syntax/initialiser.hpp"
#include "syntax/token_view.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr std::size_t most_extents = 64;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > most_bytes / b ? most_bytes + 1 : a * b;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::uint32_t type_bits(std::string_view word) { return type_bits(syntax::find_type(word)); }

std::uint32_t type_bits(const syntax::TypeRow* type) {
    using enum syntax::TypeGroup;
    return type != nullptr && (type->group == fundamental || type->group == alternate) ? type->bits : 0;
}

std::uint32_t element_bytes(const syntax::Statement::Variable& variable,
                            const syntax::Statement::Declarator& declarator) {
    return declarator.extents.empty() ? 0 : std::max(type_bits(variable.type) / 8, 1u);
}

Signature signature_of(const syntax::Statement& statement) {
    const auto shapes = [](const std::vector<syntax::Statement::Parameter>& parameters) {
        std::vector<Signature::Parameter> all;
        for (const auto& parameter : parameters) {
            const std::uint32_t element = std::max(type_bits(parameter.type) / 8, 1u);
            Signature::Parameter one = {.bytes = element * std::max<std::uint64_t>(parameter.count, 1),
                                        .align = std::max(parameter.align, element),
                                        .is_array = parameter.count != 0 || parameter.is_open,
                                        .is_open = parameter.is_open,
                                        .is_floating = parameter.type == ".f32" || parameter.type == ".f64",
                                        .registers = parameter.vector};
            all.push_back(one);
            one.registers = 1;
            all.insert(all.end(), parameter.vector - 1, one);  // each register of a `.reg .v2` by itself
        }
        return all;
    };
    return {shapes(statement.return_parameters()), shapes(statement.parameters())};
}

Expected<Extent> extent(const syntax::Statement::Variable& variable,
                        const syntax::Statement::Declarator& declarator, Span span) {
    if (declarator.extents.size() > most_extents) {
        return fail(Errc::declaration_not_emulated, span,
                    fmt::format("{}, more than {} dimensions", declarator.name, most_extents));
    }
    const std::uint64_t element = std::max<std::uint64_t>(type_bits(variable.type) / 8, 1) * variable.vector;
    Extent result{element,
                  variable.align != 0 ? variable.align : static_cast<std::uint32_t>(std::bit_ceil(element))};
    for (const std::uint64_t count : declarator.extents) result.bytes = times(result.bytes, count);
    if (!declarator.extents.empty() && declarator.extents[0] == 0 && !declarator.initialiser.empty()) {
        result.bytes = times(element, syntax::count_lists(declarator.initialiser));
        for (std::size_t i = 1; i < declarator.extents.size(); ++i)
            result.bytes = times(result.bytes, declarator.extents[i]);
    }
    if (result.bytes > most_bytes || !std::has_single_bit(result.align)) {
        return fail(Errc::declaration_not_emulated, span,
                    fmt::format("{}, size or alignment", declarator.name));
    }
    return result;
}

namespace {

constexpr std::uint64_t most_shared_bytes = std::uint64_t{1} << 30;

tl::unexpected<Error> too_large(Span span, std::string_view name, std::uint64_t bytes) {
    return fail(Errc::shared_memory_too_large, span, fmt::format("{} of {} bytes", name, bytes));
}

}  // namespace

ModuleDecoder::ModuleDecoder(const syntax::Module& module, ModuleVariables& variables, DecoderMemory& kept)
    : scopes(kept.scopes),
      shapes(kept.shapes),
      number(shapes.new_module()),
      module_(module),
      variables_(variables),
      verifier_(module, {}, names_) {
    verifier_.header();
    static_cast<void>(verifier_.take_findings());  // they are of directives
    shapes.use_for(verifier_.setting());
}

// PTX ISA, chapter 5: what is no label is declared before its use.
const isa::Symbol* ModuleDecoder::Names::find(std::string_view name) const {
    const Scopes::Meaning meaning = decoder_.scopes.find_register(name);
    if (meaning.range != nullptr) return &meaning.range->declared();
    const isa::Symbol* const found =
        meaning.symbol != nullptr ? &meaning.symbol->declared : decoder_.function_symbols_->find(name);
    if (found == nullptr || found->kind == isa::SymbolKind::label || !found->declaration) return found;
    return decoder_.takes_samples || found->declaration.span().begin <= position ? found : nullptr;
}

namespace {

// PTX ISA 9.7.3: on sm_1x instructions of .f32 flush subnormal numbers, but for conversions from or to 64
// bits up to PTX ISA 1.4 (9.7.9.21).
bool flushes_by_itself(const isa::Match& match, const isa::InstructionVerifier::Setting& setting) {
    if (!setting.knows_target || setting.target.sm >= 20) return false;
    if (match.row->opcode != "cvt" || setting.version > 14) return true;
    const std::vector<std::string_view> words = isa::canonical_modifiers(match);
    return std::ranges::none_of(words, [](std::string_view word) { return word.ends_with("64"); });
}

}  // namespace

Expected<void> ModuleDecoder::verify(MatchedInstruction& instruction) {
    names_.position = instruction.span.begin;
    instruction.match = verifier_.look_at(instruction);
    if (verifier_.has_findings()) {
        std::vector<Error> findings = verifier_.take_findings();
        if (instruction.match == nullptr || !takes_samples)
            return tl::unexpected(std::move(findings.front()));
    }
    const bool flushes = flushes_by_itself(*instruction.match, verifier_.setting());
    if (flushes || !instruction.match->in_order || !instruction.match->row->implied.empty())
        instruction.modifiers = todays_modifiers(*instruction.match, flushes);
    return {};
}

Expected<Program> ModuleDecoder::decode() {
    TRY(declare());
    TRY(decode_bodies(ModulePart()));
    TRY(initialise());
    return finish();
}

Expected<void> ModuleDecoder::declare() {
    for (const syntax::Statement& statement : module_.statements()) {
        if (statement.kind() == syntax::StatementKind::target)
            is_debug_ = statement.text().find("debug") != std::string::npos;
        if (statement.kind() != syntax::StatementKind::variable) continue;
        TRY(declare(statement, *statement.variable(), program.shared_bytes));
    }
    return declare_functions();
}

// The other one may have decoded bodies since: of its functions, what their declarations say.
void ModuleDecoder::declare_as(const ModuleDecoder& other) {
    for (const auto& [name, symbol] : other.declared_) scopes.declare(name, symbol);
    for (const Function& declared : other.program.functions) {
        Function& function = program.functions.emplace_back();
        function.name = declared.name;
        function.is_entry = declared.is_entry;
        function.is_defined = declared.is_defined;
        function.builtin = declared.builtin;
        function.signature = declared.signature;
    }
    has_unplaced_ = other.has_unplaced_;
    program.dynamic_alignment = other.program.dynamic_alignment;
    program.uses_heap = other.program.uses_heap;
    functions_ = other.functions_;
    function_symbols_ = other.function_symbols_;
    bodies_ = other.bodies_;
    is_debug_ = other.is_debug_;
}

Expected<void> ModuleDecoder::decode_bodies(ModulePart part) {
    // and what is not used costs nothing
    constexpr std::size_t least_operation_text = 24, least_ref_text = 12;
    const std::size_t size = module_.source().size() / part.count;
    program.code.reserve(size / least_operation_text);
    program.spans.reserve(size / least_operation_text);
    program.refs.reserve(size / least_ref_text);
    is_in_bodies_ = true;
    is_one_of_several_ = part.count > 1;
    // Functions first: their shared variables belong to every entry, behind which an entry's own ones lie.
    for (const bool entries : {false, true}) TRY(decode_bodies(entries, part));
    return {};
}

Expected<Program> ModuleDecoder::finish() {
    if (constant_bytes_ > most_bank_bytes)
        return fail(Errc::module_not_emulated, "more than a GiB of constants");
    program.refs.resize(program.refs.size() + 8);  // execution looks at some behind the last operation's
    if (program.constants.empty()) program.constants.resize(1);
    return std::move(program);
}

namespace {

// In the order of the text.
std::vector<syntax::Statement> functions_of(const syntax::Module& module) {
    std::vector<syntax::Statement> all = module.functions();
    const std::vector<syntax::Statement> others = syntax::functions_in_bodies(all);
    all.insert(all.end(), others.begin(), others.end());
    const auto begin = [](const syntax::Statement& statement) { return statement.span().begin; };
    if (!others.empty()) std::ranges::stable_sort(all, {}, begin);
    return all;
}

}  // namespace

Expected<void> ModuleDecoder::declare_functions() {
    for (const syntax::Statement& statement : functions_of(module_)) {
        const std::string_view name = statement.name();
        const bool is_entry = statement.is_entry(), is_definition = statement.is_definition();
        const auto [at, is_new] = all_functions_.put(name);
        if (is_new) *all_function_symbols_.put(name).first = isa::function_symbol(statement);
        if (is_new) {
            *at = static_cast<std::uint32_t>(program.functions.size());
            program.functions.emplace_back().is_entry = is_entry;
        }
        Function& function = program.functions[*at];
        if (function.is_entry != is_entry)
            return fail(Errc::declaration_not_emulated, statement.span(),
                        fmt::format("{} is both .entry and .func", name));
        if (function.is_defined && is_definition)
            return fail(Errc::declaration_not_emulated, statement.span(),
                        fmt::format("{} is defined twice", name));
        function.name = name;
        function.is_defined |= is_definition;
        if (!is_entry) function.signature = signature_of(statement);
        if (!function.is_defined) function.builtin = find_builtin(function.name);
        if (function.name == "malloc" && function.builtin != nullptr) program.uses_heap = true;
        if (is_definition) all_bodies_.push_back({statement, *at, statement.span().begin, is_entry});
    }
    return declare_aliases();
}

// PTX ISA 11.2.3: two names of one function. The function may be another alias, which stands behind it.
Expected<void> ModuleDecoder::declare_aliases() {
    syntax::NameMap<std::string_view> aliases;
    std::vector<std::string_view> names;
    for (const syntax::Statement& statement : module_.statements()) {
        if (statement.kind() != syntax::StatementKind::directive) continue;
        const syntax::TokenView tokens(statement);
        if (tokens.text(0) != ".alias") continue;
        const std::string_view name = tokens.text(1), of = tokens.text(3);
        const auto refuse = [&](std::string_view which, std::string_view why) {
            return fail(Errc::alias_invalid, statement.span(), fmt::format("{} {}", which, why));
        };
        for (const std::string_view one : {name, of}) {
            const std::uint32_t* const found = all_functions_.find(one);
            if (found == nullptr) return refuse(one, "is not declared as a function");
            if (program.functions[*found].is_entry) return refuse(one, "is an entry");
        }
        if (program.functions[*all_functions_.find(name)].is_defined) return refuse(name, "has a body");
        const auto [at, is_new] = aliases.put(name);
        if (!is_new) return refuse(name, "is an alias already");
        *at = of;
        names.push_back(name);
    }
    std::vector<std::string_view> way;
    for (const std::string_view name : names) {
        way = {name};
        for (const std::string_view* of;
             (of = aliases.find(way.back())) != nullptr && way.size() <= names.size();)
            way.push_back(*of);
        if (aliases.find(way.back()) != nullptr)
            return fail(Errc::alias_invalid, span_of(name), fmt::format("{} is an alias of itself", name));
        for (const std::string_view one : way) {
            if (one == way.back()) break;
            *aliases.put(one).first = way.back();
            *all_functions_.put(one).first = *all_functions_.find(way.back());
        }
    }
    return {};
}

Expected<void> ModuleDecoder::decode_bodies(bool entries, ModulePart part) {
    FunctionDecoder decoder(*this);
    const std::uint64_t size = module_.source().size() + 1;
    for (const Body& body : *bodies_) {
        if (body.is_entry != entries ||
            (entries && std::uint64_t{body.begin} * part.count / size != part.index))
            continue;
        TRY(decoder.decode(body.statement, body.function));
    }
    return {};
}

const Symbol* ModuleDecoder::find(std::string_view name) const { return scopes.find(name); }

std::optional<std::uint32_t> ModuleDecoder::find_function(std::string_view name) const {
    const std::uint32_t* const found = functions_->find(name);
    if (found == nullptr) return std::nullopt;
    return *found;
}

bool ModuleDecoder::has_function(std::string_view name, std::uint32_t position) const {
    const isa::Symbol* const symbol = function_symbols_->find(name);
    return symbol != nullptr && symbol->declaration.span().begin <= position;
}

PlainCall* ModuleDecoder::known_call(std::string_view name, std::uint32_t position) {
    const isa::Symbol* const symbol = function_symbols_->find(name);
    return symbol != nullptr && symbol->declaration.span().begin <= position ? &known_calls_[symbol]
                                                                             : nullptr;
}

namespace {

template <class T> void fill(std::byte* column, std::uint64_t bits) {
    const T value = static_cast<T>(bits);
    for (unsigned lane = 0; lane < lane_count; ++lane)
        std::memcpy(column + lane * sizeof(T), &value, sizeof(T));
}

}  // namespace

Ref ModuleDecoder::constant(std::uint64_t bits, std::uint32_t bytes) {
    if (bytes < 8) bits &= (std::uint64_t{1} << (8 * bytes)) - 1;
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    KnownConstant& known = known_constants_[((bits + bytes) * odd >> 32) % known_constants_.size()];
    const bool is_known = known.bits == bits && known.ref != no_ref && width(known.ref) == bytes;
    if (!is_known) known = {bits, find_constant(bits, bytes)};
    return known.ref;
}

Ref ModuleDecoder::find_constant(std::uint64_t bits, std::uint32_t bytes) {
    const auto [at, is_new] =
        constants_[static_cast<std::size_t>(std::countr_zero(bytes))].emplace(bits, no_ref);
    if (!is_new) return at->second;
    const Ref ref = constant_bank | take_column(constant_bytes_, bytes);
    program.constants.resize((constant_bytes_ + sizeof(ColumnBlock) - 1) / sizeof(ColumnBlock));
    std::byte* const column = program.constants[0].bytes.data() + offset(ref);
    switch (bytes) {
        case 1: fill<std::uint8_t>(column, bits); break;
        case 2: fill<std::uint16_t>(column, bits); break;
        case 4: fill<std::uint32_t>(column, bits); break;
        case 8: fill<std::uint64_t>(column, bits); break;
        default:
            for (unsigned lane = 0; lane < lane_count; ++lane) set_lane_value(column, bytes, lane, bits);
    }
    return at->second = ref;
}

Ref ModuleDecoder::special(Special special, std::uint32_t bytes) {
    auto& specials = program.specials;
    const auto found = std::find_if(specials.begin(), specials.end(),
                                    [&](const SpecialColumn& s) { return s.special == special; });
    if (found != specials.end()) return found->ref;
    specials.push_back({special, special_bank | take_column(program.special_bytes, bytes)});
    return specials.back().ref;
}

const std::optional<PureInstruction>& ModuleDecoder::pure(const syntax::Instruction& instruction, bool pair) {
    std::string key(instruction.opcode);
    for (const std::string_view modifier : instruction.modifiers) key += modifier;
    key += static_cast<char>('0' + instruction.operands.size());
    if (pair) key += '|';
    const auto found = pure_.find(key);
    if (found != pure_.end()) return found->second;
    return pure_
        .emplace(std::move(key),
                 find_pure(instruction.opcode, instruction.modifiers, instruction.operands.size(), pair))
        .first->second;
}

Expected<void> ModuleDecoder::check_range(const syntax::Statement::Variable& variable,
                                          const syntax::Statement::Declarator& declarator) const {
    constexpr std::uint32_t most = 1u << 16;
    if (declarator.range <= most) return {};
    return fail(Errc::declaration_not_emulated, span_of(declarator.name),
                fmt::format("{}<{}>, more than {} variables in {}", declarator.name, declarator.range, most,
                            variable.space));
}

std::string_view ModuleDecoder::element_name(std::string_view stem, std::uint32_t number) {
    const std::string_view name = element_names_.emplace_back(fmt::format("{}{}", stem, number));
    element_spans_[name.data()] = span_of(stem);
    return name;
}

Expected<void> ModuleDecoder::declare(const syntax::Statement& statement,
                                      const syntax::Statement::Variable& variable,
                                      std::uint32_t& shared_top) {
    for (std::size_t i = 0; i < variable.declarators.size(); ++i) {
        const auto& declarator = variable.declarators[i];
        if (!is_in_bodies_ && (variable.space == ".reg" || variable.space == ".local"))
            return fail(
                Errc::declaration_not_emulated, statement.span(),
                fmt::format("{}, a {} variable outside of functions", declarator.name, variable.space));
        TRY(for_each_name(variable, declarator, [&](std::string_view name) {
            return syntax::space_of(variable.space) == Space::shared
                       ? place_shared(statement, variable, i, name, shared_top)
                       : place_global(statement, variable, i, name);
        }));
    }
    return {};
}

Expected<void> ModuleDecoder::place_shared(const syntax::Statement& statement,
                                           const syntax::Statement::Variable& variable, std::size_t index,
                                           std::string_view name, std::uint32_t& shared_top) {
    const auto& declarator = variable.declarators[index];
    const auto size = TRY(extent(variable, declarator, statement.span()));
    Symbol symbol{.kind = Symbol::Kind::variable,
                  .space = Space::shared,
                  .bytes = size.bytes,
                  .element_bytes = element_bytes(variable, declarator),
                  .is_of_range = declarator.range != 0,
                  .declared = isa::variable_symbol(statement, variable, declarator)};
    if (variable.linkage == ".extern" && size.bytes == 0) {
        symbol.dynamic = true;
        program.dynamic_alignment = std::max(program.dynamic_alignment, size.align);
    } else {
        symbol.unplaced = size.align;
        if (size.bytes > most_shared_bytes) return too_large(statement.span(), name, size.bytes);
        if (is_in_bodies_)
            symbol = TRY(place_shared({name, symbol}, shared_top));
        else
            has_unplaced_ = true;
    }
    return declare(name, symbol);
}

std::vector<ModuleDecoder::Named> ModuleDecoder::unplaced_shared(const syntax::Statement& function) const {
    std::vector<Named> found;
    if (!has_unplaced_) return found;
    const auto is_in_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '$' || c == '%';
    };
    const Span span = function.span();
    const std::string_view text = module_.source().substr(span.begin, span.end - span.begin);
    for (auto at = text.begin(); (at = std::find_if(at, text.end(), is_in_word)) != text.end();) {
        const auto end = std::find_if_not(at, text.end(), is_in_word);
        const std::string_view word(at, end);
        if (const Symbol* const symbol = scopes.find(word); symbol != nullptr && symbol->unplaced != 0)
            found.emplace_back(word, *symbol);
        at = end;
    }
    const auto place = [](const Named& named) { return std::pair(named.second.since, named.first); };
    std::ranges::sort(found, {}, place);
    const auto again = std::ranges::unique(found, {}, place);
    found.erase(again.begin(), again.end());
    return found;
}

Expected<Symbol> ModuleDecoder::place_shared(const Named& named, std::uint32_t& shared_top,
                                             std::uint32_t entry) {
    auto [name, symbol] = named;
    symbol.address = round_up(shared_top, symbol.unplaced);
    if (symbol.address + symbol.bytes > most_shared_bytes)
        return too_large(span_of(name), name, symbol.bytes);
    shared_top = static_cast<std::uint32_t>(symbol.address + symbol.bytes);
    symbol.unplaced = 0;
    program.shared_variables.push_back(
        {.name = span_of(name),
         .address = symbol.address,
         .bytes = symbol.bytes,
         .entry = entry,
         .element = symbol.is_of_range ? syntax::numbered(name).number : SharedVariable::no_element});
    return symbol;
}

tl::unexpected<Error> ModuleDecoder::redeclared(std::string_view name) const {
    return fail(Errc::name_redeclared, span_of(name),
                fmt::format("'{}' is declared twice in this scope", name));
}

// A variable of the module may be declared as .extern before: its uses may stand behind that.
Expected<void> ModuleDecoder::declare(std::string_view name, Symbol symbol) {
    const bool is_again = scopes.is_declared_here(name);
    const Symbol* const before = is_again ? scopes.find(name) : nullptr;
    const bool may_be_again =
        before != nullptr && !is_in_bodies_ && !(before->declared.is_defined && symbol.declared.is_defined);
    if (is_again && !may_be_again) return redeclared(name);
    if (!is_in_bodies_) {
        if (before != nullptr) symbol.declared.declaration = before->declared.declaration;
        symbol.since = symbol.declared.declaration.span().begin;
        declared_.emplace_back(name, symbol);
    }
    scopes.declare(name, symbol);
    return {};
}

Expected<void> ModuleDecoder::place_global(const syntax::Statement& statement,
                                           const syntax::Statement::Variable& variable, std::size_t index,
                                           std::string_view name) {
    const Span span = statement.span();
    const auto& declarator = variable.declarators[index];
    const bool is_external = variable.linkage == ".extern";
    if (is_external || type_bits(variable.type) == 0) {  // textures, samplers, surfaces have no bytes
        if (!scopes.is_declared_here(name))
            return declare(name, {.kind = Symbol::Kind::external,
                                  .is_of_range = declarator.range != 0,
                                  .declared = isa::variable_symbol(statement, variable, declarator)});
        return {};
    }
    const auto size = TRY(extent(variable, declarator, span));
    if (needs_order_ = is_one_of_several_; needs_order_)
        return fail(Errc::module_not_emulated, span, "several parts");
    const auto region = variables_.reserve(size.bytes);
    if (!region) return fail(region.error().code, span, *region.error().detail);
    const Space space = syntax::space_of(variable.space);
    const std::uint64_t address = (*region)->begin;
    TRY(declare(name, {.kind = Symbol::Kind::variable,
                       .space = space,
                       .address = address,
                       .bytes = size.bytes,
                       .element_bytes = element_bytes(variable, declarator),
                       .is_of_range = declarator.range != 0,
                       .declared = isa::variable_symbol(statement, variable, declarator)}));
    program.variables[std::string(name)] = {address, size.bytes, space, false};
    const Initialiser initialiser = {*region, variable, index};
    if (is_in_bodies_) return initialise(initialiser);  // its names are those of the block that it stands in
    initialisers_.push_back(initialiser);
    return {};
}

Expected<void> ModuleDecoder::initialise() {
    for (const Initialiser& initialiser : initialisers_) TRY(initialise(initialiser));
    return {};
}

Expected<void> ModuleDecoder::initialise(const Initialiser& initialiser) {
    Region& region = *initialiser.region;
    const auto& declarator = initialiser.variable.declarators[initialiser.declarator];
    TRY(initialise_variable(*this, {region.host, region.bytes}, initialiser.variable, declarator));
    if (region.written != nullptr)
        std::fill_n(region.written, region.bytes, all_bits);  // what no initialiser names is zero
    region.is_const = region.read_only = syntax::space_of(initialiser.variable.space) == Space::const_;
    return {};
}

}  // namespace ptxgraft::emulator
