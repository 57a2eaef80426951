// Routes of stubs: which one a stub takes, and the text of the functions that are called.
#include "kernel/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/try.hpp"
#include "ptxgraft/syntax.hpp"
#include "site/called.hpp"
#include "syntax/loops.hpp"

namespace ptxgraft {
namespace {

constexpr std::array<std::string_view, 3> route_names{"auto", "inline", "call"};

}  // namespace

std::string_view name(Route route) { return route_names[static_cast<std::size_t>(route)]; }

Expected<Route> route_from_name(std::string_view name) {
    const auto found = std::ranges::find(route_names, name);
    if (found == route_names.end()) return fail(Errc::route_unknown, std::string(name));
    return static_cast<Route>(found - route_names.begin());
}

namespace kernel {
namespace {

using syntax::Passed;

// From so many instructions in all copies on a call is faster to assemble. The assembler takes 5 ms for the
// calls of 16 copies, and 20 us for each instruction that is inlined (variant_bench, BM_Route): they are even
// at some 400.
constexpr std::size_t least_called_instructions = 512;

// The registers of operands, fragments element by element.
std::vector<Passed> registers_of(const Signature& signature, bool (*wanted)(Direction)) {
    std::vector<Passed> all;
    for (const SiteOperand& operand : signature.operands) {
        if (!wanted(operand.direction)) continue;
        const syntax::Passage passage = *syntax::passage_of(register_type(operand.type));
        if (operand.count == 0) all.push_back({operand.register_name, passage});
        for (std::uint32_t i = 0; i < operand.count; ++i)
            all.push_back({operand.register_name + std::to_string(i), passage});
    }
    return all;
}

// What no name of the text begins with.
std::string free_prefix(std::string_view ptx) {
    std::string prefix = "ptxgraft_";
    while (ptx.find(prefix) != std::string_view::npos) prefix += '_';
    return prefix;
}

// The number keeps the parameters' names of one function apart from the others' names.
std::string function_name(const std::string& prefix, std::size_t number, std::string_view site) {
    std::string name = prefix + std::to_string(number) + "_";
    for (const char c : site)
        name += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '_';
    return name;
}

std::uint32_t line_of(std::string_view text, std::size_t at) {
    return static_cast<std::uint32_t>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
}

// Labels and variables that are declared in a function, its registers too if they are wanted.
void add_declared_names(syntax::Statement function, bool with_registers,
                        std::unordered_set<std::string>& names) {
    for (const syntax::Statement s : function.walk()) {
        if (s.kind() == syntax::StatementKind::label) names.emplace(s.name());
        const auto variable = s.variable();
        if (!variable || (variable->space == ".reg" && !with_registers)) continue;
        for (const auto& declarator : variable->declarators) names.emplace(declarator.name);
    }
}

// What a stub may name where it stands in a function, and not in one of its own in front of that.
void add_local_names(syntax::Statement function, std::unordered_set<std::string>& names) {
    names.emplace(function.name());
    for (const auto& parameter : function.parameters()) names.emplace(parameter.name);
    for (const auto& parameter : function.return_parameters()) names.emplace(parameter.name);
    add_declared_names(function, false, names);
}

// Whether one of some spans, which stand in order, has a part of another.
bool is_in(const std::vector<Span>& spans, Span span) {
    const auto behind = std::ranges::lower_bound(spans, span.end, {}, &Span::begin);
    return behind != spans.begin() && std::prev(behind)->end > span.begin;
}

// Functions that one call of an entry may run more than once: those that are called in a loop or by one that
// is, and recursive ones. Where an address of a function is taken, each that is named so may be.
class Repeated {
  public:
    explicit Repeated(const std::vector<syntax::Statement>& functions)
        : successors_(functions.size()), is_repeated_(functions.size()) {
        for (std::size_t i = 0; i < functions.size(); ++i) numbers_.emplace(functions[i].name(), i);
        for (std::size_t i = 0; i < functions.size(); ++i) read(functions[i], i);
        const std::vector<bool> recursive = syntax::nodes_on_cycles(successors_);
        for (std::size_t i = 0; i < functions.size(); ++i)
            if (recursive[i] || is_looped_.contains(i)) spread(i);
    }
    [[nodiscard]] bool has(std::string_view function) const {
        const auto found = numbers_.find(function);
        return found != numbers_.end() && is_repeated_[found->second];
    }

  private:
    void read(syntax::Statement function, std::size_t number) {
        const std::vector<Span> loops = syntax::blocks_in_loops(function);
        for (const syntax::Statement s : function.instructions()) {
            s.tokens(tokens_);
            const bool is_call = s.instruction()->opcode == "call";
            for (const syntax::Token& token : tokens_) {
                const auto named = numbers_.find(token.text);
                if (named == numbers_.end()) continue;
                successors_[number].push_back(named->second);
                if (!is_call || is_in(loops, s.span())) is_looped_.insert(named->second);
            }
        }
    }
    void spread(std::size_t number) {
        std::vector<std::size_t> open{number};
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            if (is_repeated_[at]) continue;
            is_repeated_[at] = true;
            open.insert(open.end(), successors_[at].begin(), successors_[at].end());
        }
    }

    std::unordered_map<std::string_view, std::size_t> numbers_;
    std::vector<std::vector<std::size_t>> successors_;  // whom each function names
    std::unordered_set<std::size_t> is_looped_;
    std::vector<bool> is_repeated_;
    std::vector<syntax::Token> tokens_;
};

// The function around a place of the text that is in one.
syntax::Statement function_at(const std::vector<syntax::Statement>& functions, std::uint32_t at) {
    const auto behind =
        std::ranges::upper_bound(functions, at, {}, [](syntax::Statement f) { return f.span().begin; });
    return *std::prev(behind);
}

}  // namespace

Expected<RoutePlan> RoutePlan::make(const std::string& ptx, const Sites& sites) {
    const syntax::Module module = TRY(syntax::parse(ptx));
    const std::vector<syntax::Statement> functions = module.functions();
    // Nobody calls an entry.
    const bool has_functions = !std::ranges::all_of(sites.functions, &Sites::Function::is_entry);
    const Repeated repeated(has_functions ? functions : std::vector<syntax::Statement>());
    std::vector<Span> loops;
    RoutePlan plan;
    plan.sites_ = &sites;
    for (const Sites::Function& holder : sites.functions) {
        const syntax::Statement function = function_at(functions, holder.span.begin);
        add_local_names(function, plan.local_names_);
        if (repeated.has(function.name())) {
            loops.push_back(function.span());
            continue;
        }
        const std::vector<Span> more = syntax::blocks_in_loops(function);
        loops.insert(loops.end(), more.begin(), more.end());
    }
    std::ranges::sort(loops, {}, &Span::begin);
    const std::string prefix = free_prefix(ptx);
    for (const Site& site : sites.sites) {
        const std::string name = function_name(prefix, plan.routes_.size(), site.name);
        SiteRoute route{
            {name, name, registers_of(site.signature, [](Direction d) { return d != Direction::out; }),
             registers_of(site.signature, [](Direction d) { return d != Direction::in; })},
            registers_of(site.signature, [](Direction) { return true; })};
        route.call = route.text.call("\n\t").substr(1) + "\n";
        route.copies = site.copies.size();
        route.function_begin = function_at(functions, site.copies.front().stub.begin).span().begin;
        for (const SiteCopy& copy : site.copies) {
            if (route.loop_line == 0 && is_in(loops, copy.marker))
                route.loop_line = line_of(ptx, copy.marker.begin);
        }
        plan.routes_.push_back(std::move(route));
    }
    return plan;
}

const SiteRoute& RoutePlan::route_of(const Site& site) const {
    return routes_[static_cast<std::size_t>(&site - sites_->sites.data())];
}

Expected<RouteChoice> RoutePlan::choose(const Site& site, const Stub& stub, Route wanted) const {
    if (wanted == Route::inlined) return RouteChoice{site.name, wanted, std::string(asked_for)};
    const SiteRoute& route = route_of(site);
    std::string why_not = obstacle(site, stub);
    if (wanted == Route::call) {
        if (why_not.empty()) return RouteChoice{site.name, wanted, std::string(asked_for)};
        return fail(Errc::route_not_possible,
                    fmt::format("the stub of site {} cannot be called: {}", site.name, why_not));
    }
    const std::size_t instructions = route.copies * stub.instruction_count();
    if (why_not.empty() && route.loop_line != 0)
        why_not =
            fmt::format("a copy is in a loop, or in a function that one calls (line {})", route.loop_line);
    if (why_not.empty() && route.copies == 1) why_not = "there is one copy";
    const std::string count =
        fmt::format("{} copies of {} instructions", route.copies, stub.instruction_count());
    if (why_not.empty() && instructions < least_called_instructions) why_not = count + " are assembled soon";
    if (why_not.empty()) return RouteChoice{site.name, Route::call, count + ", none in a loop"};
    return RouteChoice{site.name, Route::inlined, std::move(why_not)};
}

std::string RoutePlan::obstacle(const Site& site, const Stub& stub) const {
    if (contains(stub.effects(), Effect::exit)) return "it ends the function that it stands in";
    const auto tree =
        syntax::parse(".version 9.0\n.target sm_90a\n.address_size 64\n" + definition(site, stub));
    if (!tree) return message(tree.error());
    bool sets_carry = false;
    std::vector<syntax::Token> tokens;
    const syntax::Statement function = tree->functions().front();
    if (stub.ptx().find(function.name()) != std::string::npos)
        return fmt::format("it has the name {} of its own function", function.name());
    std::unordered_set<std::string> own;
    add_declared_names(function, true, own);
    for (const syntax::Statement s : function.walk()) {
        s.tokens(tokens);
        const auto instruction = s.instruction();
        if (!instruction || instruction->opcode == "ret") continue;  // the function's own
        if (const std::string_view why = syntax::bound_to_function(instruction->opcode); !why.empty())
            return std::string(why);
        if (syntax::reads_carry(instruction->opcode) && !sets_carry)
            return "it reads a carry flag that is set before it";
        sets_carry |= instruction->has(".cc");
        for (const syntax::Token& token : tokens)
            if (token.kind == syntax::TokenKind::identifier &&
                local_names_.contains(std::string(token.text)) && !own.contains(std::string(token.text)))
                return fmt::format("it names {} of the function around it", token.text);
    }
    return {};
}

std::string RoutePlan::definition(const Site& site, const Stub& stub) const {
    const SiteRoute& route = route_of(site);
    return route.text.definition(
        route.declared, fmt::format("\n\t{}{}\n{}\t{}", ptxgraft::site::called_begin, site.name, stub.ptx(),
                                    ptxgraft::site::called_end));
}

std::string RoutePlan::render(const std::string& ptx, const std::vector<Filled>& filled) const {
    struct Piece {
        Span replaced;
        std::string text;
    };
    std::vector<Piece> pieces;
    for (const Filled& one : filled) {
        const SiteRoute& route = route_of(*one.site);
        const bool is_called = one.route == Route::call;
        const auto begin = static_cast<std::uint32_t>(route.function_begin);
        if (is_called) pieces.push_back({{begin, begin}, definition(*one.site, *one.stub) + "\n"});
        for (const SiteCopy& copy : one.site->copies)
            pieces.push_back({copy.stub, is_called ? route.call : one.stub->ptx()});
    }
    std::ranges::stable_sort(pieces, {}, [](const Piece& piece) { return piece.replaced.begin; });
    std::string text;
    std::size_t at = 0;
    for (const Piece& piece : pieces) {
        text.append(ptx, at, piece.replaced.begin - at).append(piece.text);
        at = piece.replaced.end;
    }
    return text.append(ptx, at);
}

}  // namespace kernel
}  // namespace ptxgraft
