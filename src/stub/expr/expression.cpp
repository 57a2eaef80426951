#include "ptxgraft/expression.hpp"

#include "stub/builder.hpp"
#include "stub/expr/tree.hpp"

namespace ptxgraft {

std::shared_ptr<const stack::InstructionSet> expression_set() {
    static const std::shared_ptr<const stack::InstructionSet> set = stack::find_set("expression");
    return set;
}

namespace expr {

void Workspace::clear() {
    nodes.clear();
    variables.clear();
    literals.clear();
    symbols.clear();
    values.clear();
    current.clear();
    if (++round == 0) {  // after 2^32 parses
        table.assign(table.size(), {});
        round = 1;
    }
}

namespace {

// The bucket of a name, or the free one where it belongs.
Workspace::Bucket& bucket_of(Workspace& work, std::string_view name) {
    std::size_t at = hash_of(name) & (work.table.size() - 1);
    while (work.table[at].round == work.round && work.symbols[work.table[at].symbol].name != name)
        at = (at + 1) & (work.table.size() - 1);
    return work.table[at];
}

}  // namespace

std::uint32_t Workspace::add(const Symbol& symbol) {
    if (2 * (symbols.size() + 1) > table.size()) {
        table.assign(4 * table.size(), {});
        for (std::uint32_t i = 0; i < symbols.size(); ++i) bucket_of(*this, symbols[i].name) = {round, i};
    }
    const auto made = static_cast<std::uint32_t>(symbols.size());
    Bucket& bucket = bucket_of(*this, symbol.name);
    bucket = {round, made};
    symbols.push_back(symbol);
    symbols.back().first_slot = static_cast<std::uint32_t>(current.size());
    current.resize(current.size() + std::max(symbol.count, 1u), none);
    return made;
}

}  // namespace expr

namespace {

expr::Workspace& workspace() {
    thread_local expr::Workspace work;
    return work;
}

std::optional<Error> make(std::string_view text, const stack::Machine& machine,
                          const ExpressionOptions& options, expr::Workspace& work) {
    if (&machine.set() != expression_set().get())
        return fail(Errc::expression_machine_wrong, "expressions need a machine of expression_set()").value();
    const expr::Scope scope{.machine = &machine, .parameters = {}};
    const expr::ParseOptions how{options.contract, options.approx, options.ftz, options.target.sm};
    if (auto error = expr::parse(text, scope, how, work)) return error;
    if (auto error = expr::emit(text, scope, how, work)) return error;
    return expr::check_results(text, scope, work);
}

// The machine of the last site: a search compiles for one site many times.
Expected<stack::Machine> machine_for(const Signature& signature, const stack::MachineOptions& options) {
    struct Last {
        std::optional<stack::Machine> machine;
        stack::MachineOptions options;
    };
    thread_local Last last;
    const bool is_same = last.machine && last.options.policy == options.policy &&
                         last.options.target == options.target && last.machine->signature() == signature;
    if (is_same) return *last.machine;
    auto made = stack::Machine::make(expression_set(), signature, options);
    if (made) last = {*made, options};
    return made;
}

}  // namespace

Expected<stack::Program> parse_expression(std::string_view text, const stack::Machine& machine,
                                          const ExpressionOptions& options) {
    expr::Workspace& work = workspace();
    if (auto error = make(text, machine, options, work)) return tl::unexpected(*error);
    return stack::Program{work.code, work.pool, {}};
}

Expected<Stub> compile_expression(std::string_view text, const Signature& signature,
                                  const ExpressionOptions& options, Policy policy) {
    const auto machine = machine_for(signature, {.policy = policy, .target = options.target});
    if (!machine) return tl::unexpected(machine.error());
    expr::Workspace& work = workspace();
    if (auto error = make(text, *machine, options, work)) return tl::unexpected(*error);
    thread_local stack::Compiler compiler;
    constexpr stack::CompileOptions how{.leftover = stack::Leftover::error, .limits = {.depth = 256}};
    auto compiled = compiler.compile(stack::ProgramView(work.code, work.pool), *machine, how);
    if (!compiled) {
        Error error = compiled.error();
        if (error.index < work.places.size()) error.span = work.places[error.index];
        return tl::unexpected(error);
    }
    return StubBuilder::make(std::string(compiled->ptx), signature, compiled->effects,
                             compiled->instruction_count);
}

Expected<Stub> compile_expression(std::string_view text, const Site& site, const ExpressionOptions& options) {
    return compile_expression(text, site.signature, options, site.policy);
}

}  // namespace ptxgraft
