// Routes of stubs: which one a stub takes, and the text of the functions that are called or linked.
#include "kernel/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "link/cache.hpp"
#include "ptxgraft/syntax.hpp"
#include "site/called.hpp"

namespace ptxgraft {
namespace {

constexpr std::array<std::string_view, 4> route_names{"auto", "inline", "call", "link"};

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

constexpr std::size_t most_known = 100'000;  // some 10 MB

// A linked candidate has to cost so many times less than a whole one: its kernel is a little slower, and what
// was measured once is not exact.
constexpr double least_gain = 1.5;

std::string_view what_it_is(Route route) { return route == Route::link ? "linked" : "called"; }

RouteChoice called_or_inlined(const Site& site, const Stub& stub) {
    const std::size_t copies = site.copies.size();
    if (site.policy.heat == Heat::cold) return {site.name, Route::call, "the site is marked as cold"};
    if (copies == 1) return {site.name, Route::inlined, "there is one copy"};
    const std::string count = fmt::format("{} copies of {} instructions", copies, stub.instruction_count());
    if (copies * stub.instruction_count() < least_called_instructions)
        return {site.name, Route::inlined, count + " are assembled soon"};
    return {site.name, Route::call, count + ", none in a loop"};
}

}  // namespace

void add_declared_names(syntax::Statement function, bool with_registers,
                        std::unordered_set<std::string>& names) {
    for (const syntax::Statement s : function.walk()) {
        if (s.kind() == syntax::StatementKind::label) names.emplace(s.name());
        const auto variable = s.variable();
        if (!variable || (variable->space == ".reg" && !with_registers)) continue;
        for (const auto& declarator : variable->declarators) names.emplace(declarator.name);
    }
}

const SiteRoute& RoutePlan::route_of(const Site& site) const {
    return routes_[static_cast<std::size_t>(&site - sites_->sites.data())];
}

Expected<RouteChoice> RoutePlan::choose(const Site& site, const Stub& stub, Route wanted,
                                        const RouteCosts* costs) const {
    if (wanted == Route::inlined) return RouteChoice{site.name, wanted, std::string(asked_for)};
    if (wanted != Route::automatic) {
        const std::string why_not = obstacle(site, stub, wanted);
        if (why_not.empty()) return RouteChoice{site.name, wanted, std::string(asked_for)};
        return fail(Errc::route_not_possible, fmt::format("the stub of site {} cannot be {}: {}", site.name,
                                                          what_it_is(wanted), why_not));
    }
    std::string why_not = unwanted(site);
    if (why_not.empty()) why_not = obstacle(site, stub, Route::call);
    if (!why_not.empty()) return RouteChoice{site.name, Route::inlined, std::move(why_not)};
    if (costs != nullptr && costs->whole >= least_gain * costs->linked &&
        obstacle(site, stub, Route::link).empty())
        return RouteChoice{site.name, Route::link,
                           fmt::format("the skeleton takes {:.1f} ms to assemble, a stub and a link {:.1f}",
                                       costs->whole, costs->linked)};
    return called_or_inlined(site, stub);
}

std::string RoutePlan::unwanted(const Site& site) const {
    if (site.policy.heat == Heat::hot) return "the site is marked as hot";
    const std::uint32_t line = route_of(site).loop_line;
    if (line == 0 || site.policy.heat == Heat::cold) return {};
    return fmt::format("a copy is in a loop, or in a function that one calls (line {})", line);
}

bool RoutePlan::may_leave(const Site& site) const { return unwanted(site).empty(); }

std::string RoutePlan::obstacle(const Site& site, const Stub& stub, Route route) const {
    if (route == Route::link && !link_obstacle_.empty()) return link_obstacle_;
    if (route == Route::link && !stub.constants().empty())
        return "its constants are data: they stand in a variable of the skeleton's module";
    link::KeyBuilder key;
    key.add(name(route));
    key.add(site.name);
    key.add(stub.ptx());
    const link::Key digits = key.key();
    const std::string bytes(reinterpret_cast<const char*>(&digits), sizeof digits);
    {
        const std::lock_guard lock(known_->mutex);
        if (const auto found = known_->obstacles.find(bytes); found != known_->obstacles.end())
            return found->second;
    }
    std::string why = find_obstacle(site, stub, route);
    const std::lock_guard lock(known_->mutex);
    if (known_->obstacles.size() >= most_known) known_->obstacles.clear();
    known_->obstacles.emplace(bytes, why);
    return why;
}

std::string RoutePlan::find_obstacle(const Site& site, const Stub& stub, Route route) const {
    if (contains(stub.effects(), Effect::exit)) return "it ends the function that it stands in";
    const auto tree = syntax::parse(".version 9.0\n.target sm_90a\n.address_size 64\n" +
                                    definition(site, stub.ptx(), Route::call));
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
        for (const syntax::Token& token : tokens) {
            const std::string name(token.text);
            if (token.kind != syntax::TokenKind::identifier || own.contains(name)) continue;
            if (local_names_.contains(name))
                return fmt::format("it names {} of the function around it", name);
            if (route == Route::link && module_names_.contains(name))
                return fmt::format("it names {} of the skeleton's module", name);
        }
    }
    return {};
}

std::string RoutePlan::definition(const Site& site, std::string_view stub, Route way) const {
    const SiteRoute& route = route_of(site);
    const syntax::OutlinedText& text = way == Route::link ? route.linked : route.text;
    return text.definition(route.declared, fmt::format("\n\t{}{}\n{}\t{}", ptxgraft::site::called_begin,
                                                       site.name, stub, ptxgraft::site::called_end));
}

RoutePlan::Linked RoutePlan::linked(const Site& site, const Stub& stub) const {
    Linked result{linked_name(site), ".visible " + definition(site, stub.ptx(), Route::link)};
    const std::size_t at = result.text.find(result.name);
    link::KeyBuilder key;
    key.add(result.text);
    const std::string digits = key.key().hex();
    const std::size_t digits_at = result.name.size() - digits.size();
    result.name.replace(digits_at, digits.size(), digits);
    result.text.replace(at + digits_at, digits.size(), digits);
    return result;
}

std::string RoutePlan::linked_name(const Site& site) const {
    return route_of(site).function + std::string(no_stub);
}

std::vector<Piece> RoutePlan::pieces(std::span<const Filled> filled) const {
    std::vector<Piece> pieces;
    for (const Filled& one : filled) {
        const auto [site, way] = std::pair(one.site, one.route);
        const SiteRoute& route = route_of(*site);
        const auto begin = static_cast<std::uint32_t>(route.function_begin);
        std::string_view text = one.ptx();
        if (way == Route::call || way == Route::link) {
            pieces.push_back({{begin, begin},
                              (way == Route::call ? definition(*site, one.ptx(), way)
                                                  : ".extern " + route.linked.prototype()) +
                                  "\n"});
            text = way == Route::call ? route.call : route.linked_call;
        }
        for (const SiteCopy& copy : site->copies) pieces.push_back({copy.stub, std::string(text)});
    }
    std::ranges::stable_sort(pieces, {}, [](const Piece& piece) { return piece.replaced.begin; });
    return pieces;
}

}  // namespace kernel
}  // namespace ptxgraft
