// Expressions to programs and stubs, with the memory that each thread keeps for it.

#include "ptxgraft/expression.hpp"
#include "base/try.hpp"

#include "stub/builder.hpp"
#include "stub/expr/tree.hpp"
#include "stub/stack/machines.hpp"

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
    symbols_by_name.clear();
}

std::uint32_t Workspace::add(const Symbol& symbol) {
    const auto made = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back(symbol);
    if (made >= few_symbols)  // the first that is one too many puts all of them into the map
        for (std::uint32_t i = made == few_symbols ? 0 : made; i <= made; ++i)
            *symbols_by_name.put(symbols[i].name, hash_of(symbols[i].name)).first = i;  // as the lexer has it
    symbols.back().first_slot = static_cast<std::uint32_t>(current.size());
    current.resize(current.size() + std::max(symbol.count, 1u), none);
    return made;
}

}  // namespace expr

namespace {

// One per thread (expression.hpp says what it keeps): compiles after the first allocate no more than the stub
// that they return.
struct ExpressionWorkspace {
    expr::Workspace parse;
    stack::Compiler compiler;
    stack::MachineCache machines;
};

ExpressionWorkspace& workspace() {
    thread_local ExpressionWorkspace work;
    return work;
}

std::optional<Error> make(std::string_view text, const stack::Machine& machine,
                          const ExpressionOptions& options, expr::Workspace& work) {
    if (&machine.set() != expression_set().get())
        return fail(Errc::expression_machine_wrong, "expressions need a machine of expression_set()").value();
    const expr::Scope scope{.machine = &machine, .parameters = {}};
    if (auto error = expr::parse(text, scope, options, work)) return error;
    if (auto error = expr::emit(text, scope, options, work)) return error;
    return expr::check_results(text, scope, work);
}

}  // namespace

Expected<stack::Program> parse_expression(std::string_view text, const stack::Machine& machine,
                                          const ExpressionOptions& options) {
    expr::Workspace& work = workspace().parse;
    if (auto error = make(text, machine, options, work)) return tl::unexpected(*error);
    return stack::Program{work.code, work.pool, {}};
}

Expected<Stub> compile_expression(std::string_view text, const Signature& signature,
                                  const ExpressionOptions& options, Policy policy) {
    auto& [work, compiler, machines] = workspace();
    const auto found =
        TRY(machines.find(expression_set(), signature, {.policy = policy, .target = options.target}));
    const stack::Machine& machine = *found;
    if (auto error = make(text, machine, options, work)) return tl::unexpected(*error);
    const stack::CompileOptions how{.leftover = stack::Leftover::error,
                                    .hash = options.hash || options.constants == stack::Constants::data,
                                    .constants = options.constants,
                                    .limits = {.depth = 256}};
    auto compiled = compiler.compile(stack::ProgramView(work.code, work.pool), machine, how);
    if (!compiled) {
        Error error = compiled.error();
        if (error.index < work.places.size()) error.span = work.places[error.index];
        return tl::unexpected(error);
    }
    return StubBuilder::make(*compiled, signature);
}

Expected<Stub> compile_expression(std::string_view text, const Site& site, const ExpressionOptions& options) {
    return compile_expression(text, site.signature, options, site.policy);
}

}  // namespace ptxgraft
