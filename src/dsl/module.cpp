// The text of a module: heads of functions, declarations, variables, and the markers of sites.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/try.hpp"
#include "dsl/identifier.hpp"
#include "isa/target.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/dsl/module.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::dsl {
namespace {

std::string_view word(Type type) { return syntax::row(type).word; }

// ".align 16 .b8 buf[1024]"
std::string declared(std::string_view name, const VariableOptions& of) {
    std::string out;
    if (of.align != 0) fmt::format_to(std::back_inserter(out), ".align {} ", of.align);
    fmt::format_to(std::back_inserter(out), "{} {}", word(declared_type(of.type)), name);
    if (of.count != 0) fmt::format_to(std::back_inserter(out), "[{}]", of.count);
    return out;
}

// Integers of 8 and 16 bits go to functions as bits of their width: ptxas passes no others.
VariableOptions passed(VariableOptions of) {
    const syntax::TypeRow& row = syntax::row(declared_type(of.type));
    if (of.count == 0 && row.is_integer() && row.bits < 32) of.type = row.bits == 8 ? Type::b8 : Type::b16;
    return of;
}

std::string variable_line(std::string_view space, std::string_view name, const VariableOptions& of) {
    return fmt::format("{}{} {}{}{};\n", of.is_visible ? ".visible " : "", space, declared(name, of),
                       of.values.empty() ? "" : " = ", of.values);
}

std::string extent(const Extent& of) { return fmt::format("{}, {}, {}", of.x, of.y, of.z); }

std::string head_line(const emitting::Head& head) {
    const std::string parameters = fmt::format("({})", fmt::join(head.parameters, ", "));
    if (head.is_entry) return fmt::format(".visible .entry {}{}", head.name, parameters);
    const std::string returns =
        head.returns.empty() ? "" : fmt::format("({}) ", fmt::join(head.returns, ", "));
    return fmt::format(".func {}{}{}", returns, head.name, parameters);
}

// The version that a module names: what was asked for, else 9.0, else the first with the target.
Expected<std::uint16_t> version_of(std::string_view asked, Architecture architecture) {
    constexpr std::uint16_t usual = 90;
    if (asked.empty()) return std::max(usual, first_version(architecture));
    const auto version = isa::parse_version(asked);
    if (!version || isa::version_text(*version) != asked)
        return fail(Errc::version_unknown, fmt::format("'{}' is no version of PTX, such as 8.6", asked));
    return *version;
}

// Nothing, or a whole extent of at most so many.
bool is_extent(const Extent& of, std::uint64_t most) {
    if (of.x == 0 && of.y == 0 && of.z == 0) return true;
    const auto is_side = [most](std::uint32_t side) { return side > 0 && side <= most; };
    return is_side(of.x) && is_side(of.y) && is_side(of.z) && std::uint64_t{of.x} * of.y * of.z <= most;
}

std::string lines_of(const EntryDirectives& all) {
    std::string out;
    const auto add = [&](std::string_view directive, const Extent& of) {
        if (of.x != 0) fmt::format_to(std::back_inserter(out), " {} {}", directive, extent(of));
    };
    add(".maxntid", all.max_threads);
    add(".reqntid", all.required_threads);
    if (all.cluster.x != 0) out.append(" .explicitcluster");
    add(".reqnctapercluster", all.cluster);
    if (all.min_blocks != 0) fmt::format_to(std::back_inserter(out), " .minnctapersm {}", all.min_blocks);
    if (all.max_registers != 0) fmt::format_to(std::back_inserter(out), " .maxnreg {}", all.max_registers);
    return out;
}

void copy_lines(std::string& out, const SiteArgument& argument, bool is_back) {
    const std::string_view type = argument.type == Type::pred             ? ".pred"
                                  : syntax::row(argument.type).bits == 16 ? ".b16"
                                  : syntax::row(argument.type).bits == 64 ? ".b64"
                                                                          : ".b32";
    for (std::size_t i = 0; i < argument.registers.size(); ++i) {
        const std::string inside =
            emitting::register_of(argument.name, argument.is_fragment ? std::optional(i) : std::nullopt);
        const std::string_view outside = argument.registers[i];
        fmt::format_to(std::back_inserter(out), "\tmov{} {}, {};\n", type, is_back ? outside : inside,
                       is_back ? inside : outside);
    }
}

// What the scan of sites reads behind the site's name.
std::string policy_words(const Policy& policy) {
    std::string out = policy.pure ? " pure" : "";
    if (policy.heat != Heat::unsaid) out.append(" ").append(name(policy.heat));
    if (policy.allowed == Effect::none) return out;
    out.append(" allow");
    for (std::uint16_t bit = 1; bit < static_cast<std::uint16_t>(Effect::all);
         bit = static_cast<std::uint16_t>(bit << 1))
        if (contains(policy.allowed, Effect(bit))) out.append(" ").append(name(Effect(bit)));
    return out;
}

}  // namespace

namespace emitting {

std::string register_of(std::string_view operand, std::optional<std::size_t> element) {
    return fmt::format("_{}{}", operand, element ? std::to_string(*element) : "");
}

namespace {

Expected<void> declare(Head& head, std::string_view name, std::string_view declaration) {
    if (!is_identifier(name)) return fail(Errc::argument_invalid, fmt::format("'{}' is no name", name));
    const auto [before, is_new] = head.declared.emplace(name, declaration);
    if (is_new) return {};
    return fail(Errc::name_redeclared, fmt::format("{} of {} is declared twice: {}, and {}", name, head.name,
                                                   before->second, declaration));
}

}  // namespace

Expected<void> add_parameter(Head& head, std::string_view name, const VariableOptions& of, bool is_return) {
    std::string declaration = ".param " + declared(name, head.is_entry ? of : passed(of));
    TRY(declare(head, name, declaration));
    (is_return ? head.returns : head.parameters).push_back(std::move(declaration));
    return {};
}

Expected<void> add_variable(Head& head, Space space, std::string_view name, const VariableOptions& of) {
    const std::string_view word = syntax::row(space).word;
    TRY(declare(head, name, fmt::format("{} {}", word, declared(name, of))));
    head.variables.append("\t").append(variable_line(word, name, of));
    return {};
}

Expected<void> add_directives(Head& head, const EntryDirectives& all) {
    constexpr std::uint64_t most_threads = 1024, most_blocks = 16;
    if (!is_extent(all.max_threads, most_threads) || !is_extent(all.required_threads, most_threads))
        return fail(Errc::directive_invalid,
                    "a block has 1 to 1024 threads, and at least 1 in each dimension");
    if (!is_extent(all.cluster, most_blocks))
        return fail(Errc::directive_invalid,
                    "a cluster has 1 to 16 blocks, and at least 1 in each dimension");
    head.directives = lines_of(all);
    return {};
}

std::string targets_line(std::string_view name, std::string_view directive,
                         std::span<const std::string_view> targets) {
    return fmt::format("\t{}: {} {};\n", name, directive, fmt::join(targets, ", "));
}

std::string prototype_line(std::string_view name, std::span<const VariableOptions> results,
                           std::span<const VariableOptions> parameters) {
    const auto listed = [](std::span<const VariableOptions> all) {
        std::vector<std::string> words;
        for (const VariableOptions& of : all) words.push_back(".param " + declared("_", passed(of)));
        return fmt::format("({})", fmt::join(words, ", "));
    };
    return fmt::format("\t{}: .callprototype {}_ {};\n", name,
                       results.size() == 0 ? "" : listed(results) + " ", listed(parameters));
}

std::string site_before(std::string_view name, std::span<const SiteArgument> arguments,
                        const Policy& policy) {
    std::string out = fmt::format("\t{{ // PTXGRAFT_SITE {}{}\n", name, policy_words(policy));
    for (const SiteArgument& a : arguments) {
        const std::string count = a.is_fragment ? fmt::format("<{}>", a.registers.size()) : "";
        fmt::format_to(std::back_inserter(out), "\t.reg {} _{}{}; // {} {} {}{}\n",
                       word(declared_type(a.type)), a.name, count, ptxgraft::name(a.direction),
                       syntax::row(a.type).name(), a.name,
                       a.is_fragment ? fmt::format(" {}", a.registers.size()) : "");
        if (a.direction != Direction::out) copy_lines(out, a, false);
    }
    return out.append("\t// PTXGRAFT_STUB\n");
}

std::string site_after(std::span<const SiteArgument> arguments) {
    std::string out = "\t// PTXGRAFT_END\n";
    for (const SiteArgument& a : arguments)
        if (a.direction != Direction::in) copy_lines(out, a, true);
    return out.append("\t}\n");
}

}  // namespace emitting

Module::Module(const ModuleOptions& options) : options_(options) {
    const auto architecture = parse_architecture(options.target);
    if (!architecture) {
        error_ = architecture.error();
        return;
    }
    const auto version = version_of(options.version, *architecture);
    if (!version) error_ = version.error();
    target_ = {*architecture, version.value_or(std::uint16_t{90})};
    if (options.file.find_first_of("\"\r\n") != std::string::npos)
        error_ =
            fail(Errc::directive_invalid, "the name of a .file has neither quotes nor line ends").value();
}
Module::~Module() = default;

// What was checked for a target while C++ compiled runs on it and on what supports it.
Target Module::target_for(Target on) {
    const bool is_able = (on.architecture.sm == 0 || supports(target_.architecture, on.architecture)) &&
                         target_.version >= on.version;
    if (!is_able && !error_)
        error_ = fail(Errc::target_differs, fmt::format("a function for {} in a module for {}",
                                                        ptxgraft::name(on.architecture), options_.target))
                     .value();
    return target_;
}

std::string_view Module::add_variable(std::string_view line_before, std::string_view name,
                                      const VariableOptions& of) {
    variables_.append(variable_line(line_before, name, of));
    return names_.emplace_back(name);
}
Variable<Space::global> Module::global(std::string_view name, const VariableOptions& of) {
    return {add_variable(".global", name, of)};
}
Variable<Space::const_> Module::constant(std::string_view name, const VariableOptions& of) {
    return {add_variable(".const", name, of)};
}
Variable<Space::shared> Module::shared(std::string_view name, const VariableOptions& of) {
    return {add_variable(".shared", name, of)};
}
Variable<Space::shared> Module::dynamic_shared(std::string_view name, std::uint32_t align) {
    variables_.append(fmt::format(".extern .shared .align {} .b8 {}[];\n", align, name));
    return {names_.emplace_back(name)};
}
void Module::raw(std::string_view line) { variables_.append(line).append("\n"); }

std::string Module::text() const {
    std::string out = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", target_.version / 10,
                                  target_.version % 10, options_.target);
    if (options_.line_info) out.append(fmt::format(".file 1 \"{}\"\n", options_.file));
    // Before the variables, which may hold their addresses.
    for (const Made& one : functions_)
        if (!one.head->is_entry) out.append(head_line(*one.head)).append(";\n");
    out.append(variables_);
    for (const Made& one : functions_) {
        out.append(head_line(*one.head))
            .append(one.head->directives)
            .append("\n{\n")
            .append(one.head->variables);
        one.body->declare_registers(out);
        out.append(one.body->body_).append("}\n");
    }
    return out;
}

Expected<std::string> Module::ptx() const {
    if (error_) return tl::unexpected<Error>(*error_);
    for (const Made& one : functions_)
        if (!is_identifier(one.head->name))
            return fail(Errc::argument_invalid, fmt::format("'{}' is no name", one.head->name));
    for (const std::string& name : names_)
        if (!is_identifier(name)) return fail(Errc::argument_invalid, fmt::format("'{}' is no name", name));
    for (const Made& one : functions_)
        if (one.body->error()) return tl::unexpected<Error>(*one.body->error());
    std::string out = text();
    const auto bring_along = [&](Error error) {
        error.source = std::make_shared<const SourceText>(SourceText{"emitted PTX", out});
        return tl::unexpected<Error>(std::move(error));
    };
    const auto module = syntax::parse(out);
    if (!module) return bring_along(module.error());
    const std::vector<Error> findings = isa::verify(*module);
    if (!findings.empty()) return bring_along(findings.front());
    return out;
}

}  // namespace ptxgraft::dsl
