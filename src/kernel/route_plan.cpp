// What a skeleton's text says about routes: loops around copies, names that stubs may not use, the functions.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/try.hpp"
#include "kernel/route.hpp"
#include "link/module_text.hpp"
#include "ptxgraft/syntax.hpp"
#include "syntax/loops.hpp"

namespace ptxgraft::kernel {
namespace {

using syntax::Passed;

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

std::uint32_t line_of(std::string_view text, std::size_t at) {
    return static_cast<std::uint32_t>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
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
    Repeated(const syntax::Module& module, const std::vector<syntax::Statement>& functions)
        : successors_(functions.size()), is_repeated_(functions.size()) {
        // Not prototypes, which call nobody.
        for (std::size_t i = 0; i < functions.size(); ++i)
            if (functions[i].is_definition()) numbers_.emplace(functions[i].name(), i);
        const auto is_new_alias = [&](syntax::Statement s) { return read_alias(s); };
        while (std::ranges::any_of(module.statements(), is_new_alias)) {}
        for (std::size_t i = 0; i < functions.size(); ++i) read(functions[i], i);
        for (const syntax::Statement s : module.statements()) read_initialisers(s);
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
        for (const syntax::Statement s : function.walk()) {
            read_initialisers(s);
            const auto instruction = s.instruction();
            if (!instruction) continue;
            s.tokens(tokens_);
            const bool is_call = instruction->opcode == "call";
            for (const syntax::Token& token : tokens_) {
                const auto named = numbers_.find(token.text);
                if (named == numbers_.end()) continue;
                successors_[number].push_back(named->second);
                if (!is_call || is_in(loops, s.span())) is_looped_.insert(named->second);
            }
        }
    }
    // `.alias other, function;`, which may be an alias that stands behind it. Whether it says something new.
    bool read_alias(syntax::Statement s) {
        if (s.kind() != syntax::StatementKind::directive) return false;
        s.tokens(tokens_);
        if (tokens_.size() < 4 || tokens_[0].text != ".alias") return false;
        const auto named = numbers_.find(tokens_[3].text);
        return named != numbers_.end() && numbers_.emplace(tokens_[1].text, named->second).second;
    }
    // An address in a table may be called wherever the table is read.
    void read_initialisers(syntax::Statement statement) {
        const auto variable = statement.variable();
        if (!variable) return;
        for (const auto& declarator : variable->declarators)
            for (const syntax::Token& token : declarator.initialiser)
                if (const auto named = numbers_.find(token.text); named != numbers_.end())
                    is_looped_.insert(named->second);
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

// What a stub may name that stands in the module, and not one that is assembled by itself.
void add_module_names(const syntax::Module& module, std::unordered_set<std::string>& names) {
    for (const syntax::Statement s : module.statements()) {
        if (s.kind() == syntax::StatementKind::function) names.emplace(s.name());
        if (const auto variable = s.variable())
            for (const auto& declarator : variable->declarators) names.emplace(declarator.name);
    }
}

}  // namespace

std::string free_prefix(std::string_view ptx) {
    std::string prefix = "ptxgraft_";
    while (ptx.find(prefix) != std::string_view::npos) prefix += '_';
    return prefix;
}

std::string site_name(const std::string& prefix, std::size_t number, std::string_view site) {
    std::string name = prefix + std::to_string(number) + "_";
    for (const char c : site)
        name += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '_';
    return name;
}

Expected<RoutePlan> RoutePlan::make(const std::string& ptx, const Sites& sites) {
    const syntax::Module module = TRY(syntax::parse(ptx));
    const std::vector<syntax::Statement> functions = module.functions();
    // Nobody calls an entry.
    const bool has_functions = !std::ranges::all_of(sites.functions, &Sites::Function::is_entry);
    const Repeated repeated(module, has_functions ? functions : std::vector<syntax::Statement>());
    std::vector<Span> loops;
    RoutePlan plan;
    plan.sites_ = &sites;
    plan.head_ = fmt::format(".version {}\n.target {}\n.address_size {}\n", module.version(), module.target(),
                             module.address_size());
    add_module_names(module, plan.module_names_);
    if (const Span loss = link::relocatable_loss(ptx); loss.known())
        plan.link_obstacle_ = fmt::format(
            "the skeleton has {} (line {}), which assemblers give up beside "
            "functions that they do not see",
            ptx.substr(loss.begin, loss.end - loss.begin), line_of(ptx, loss.begin));
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
        const std::string name = site_name(prefix, plan.routes_.size(), site.name);
        const std::vector<Passed> in =
            registers_of(site.signature, [](Direction d) { return d != Direction::out; });
        const std::vector<Passed> out =
            registers_of(site.signature, [](Direction d) { return d != Direction::in; });
        SiteRoute route{name,
                        {name, name, in, out},
                        {name + std::string(no_stub), name, in, out},
                        registers_of(site.signature, [](Direction) { return true; })};
        route.call = route.text.call("\n\t").substr(1) + "\n";
        route.linked_call = route.linked.call("\n\t").substr(1) + "\n";
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

}  // namespace ptxgraft::kernel
