// Modules of PTX in C: reading and verifying them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/module.hpp"
#include "ptxgraft/isa.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;
using syntax::Statement;

namespace ptxgraft::capi {

// The handle is a pointer, a number and padding, whose bytes are anything.
Statement statement_of(ptxgraft_statement statement) { return std::bit_cast<Statement>(statement); }
ptxgraft_statement statement_of(Statement statement) {
    auto numbers = std::bit_cast<ptxgraft_statement>(statement);
    numbers.numbers[1] &= 0xFFFFFFFFu;
    return numbers;
}

}  // namespace ptxgraft::capi

ptxgraft_module::ptxgraft_module(syntax::Module parsed)
    : module(std::move(parsed)), numbers_of_end(capi::statement_of(module.statements().back())) {}

namespace ptxgraft::capi {

Expected<Statement> statement_in(const ptxgraft_module& module, ptxgraft_statement given, const char* name) {
    const Statement statement = statement_of(given);
    if (!statement) return fail(Errc::argument_invalid, fmt::format("{} is none", name));
    if (module.numbers_of_end.numbers[0] != given.numbers[0])
        return fail(Errc::argument_invalid, fmt::format("{} is of another module", name));
    const bool is_end = module.numbers_of_end.numbers[1] == given.numbers[1];
    if (statement.kind() == syntax::StatementKind::end && !is_end)
        return fail(Errc::argument_invalid, fmt::format("{} was removed or replaced", name));
    return statement;
}

Expected<Statement> statement_or_none(const ptxgraft_module& module, ptxgraft_statement given,
                                      const char* name) {
    if (!statement_of(given)) return Statement();
    return statement_in(module, given, name);
}

}  // namespace ptxgraft::capi

namespace {

static_assert(PTXGRAFT_STATEMENT_end == int(syntax::StatementKind::end) &&
              PTXGRAFT_STATEMENT_instruction == int(syntax::StatementKind::instruction));

Expected<void> give_module(ptxgraft_module** out, Expected<syntax::Module> module) {
    if (!module) return tl::unexpected(std::move(module.error()));
    *out = new ptxgraft_module(std::move(*module));
    return {};
}

// What is wrong, in the order of the text that the module has now.
Expected<std::vector<Error>> problems(const syntax::Module& module, const isa::VerifyOptions& options) {
    auto parsed = TRY(syntax::parse_all(syntax::print(module)));
    std::vector<Error> all = std::move(parsed.errors);
    for (Error& error : isa::verify(parsed.module, options)) all.push_back(std::move(error));
    std::stable_sort(all.begin(), all.end(),
                     [](const Error& a, const Error& b) { return a.span.begin < b.span.begin; });
    return all;
}

ptxgraft_diagnostics::Diagnostic diagnostic_of(const Error& error, std::string_view text) {
    const Position place = error.span.known() ? position(text, error.span.begin) : Position{0, 0};
    return {error, place, message(error, text), describe(error, text)};
}

Statement following(const syntax::Module& module, Statement at) {
    if (!at) return module.statements().front();
    if (const Statement child = at.first_child()) return child;
    for (; at; at = at.parent())
        if (const Statement next = at.next()) return next;
    return {};
}

Statement neighbour_of(const syntax::Module& module, Statement at, ptxgraft_neighbour which) {
    switch (which) {
        case PTXGRAFT_NEIGHBOUR_walk: return following(module, at);
        case PTXGRAFT_NEIGHBOUR_child: return at ? at.first_child() : module.statements().front();
        case PTXGRAFT_NEIGHBOUR_next: return at.next();
        case PTXGRAFT_NEIGHBOUR_previous: return at.previous();
        default: return at.parent();
    }
}

Expected<syntax::Instruction> instruction_of(Statement statement) {
    auto instruction = statement.instruction();
    if (!instruction) return fail(Errc::argument_invalid, std::string("statement is no instruction"));
    return std::move(*instruction);
}

ptxgraft_statement_info info_of(const ptxgraft_module& module, Statement s) {
    ptxgraft_statement_info info = PTXGRAFT_STATEMENT_INFO_INIT;
    info.kind = static_cast<ptxgraft_statement_kind>(s.kind());
    info.name = module.texts.keep(s.name());
    info.guard = "";
    info.is_entry = s.is_entry();
    info.is_definition = s.is_definition();
    if (s.kind() == syntax::StatementKind::function) {
        info.parameter_count = s.parameters().size();
        info.result_count = s.return_parameters().size();
    }
    if (const auto i = s.instruction()) {
        info.name = module.texts.keep(i->name);
        info.operand_count = i->operands.size();
        info.modifier_count = i->modifiers.size();
        if (i->guard)
            info.guard = module.texts.keep((i->guard->negated ? "!" : "") + std::string(i->guard->predicate));
    }
    if (const Span span = s.span(); span.known()) {
        info.begin = span.begin;
        info.end = span.end;
        info.line = position(module.module.source(), span.begin).line;
    }
    return info;
}

Expected<void> give_parameter(ptxgraft_declared_info* info, const ptxgraft_module& module,
                              ptxgraft_statement function, std::size_t index, bool is_result) {
    const auto statement = TRY(capi::statement_in(module, function, "function"));
    const auto all = is_result ? statement.return_parameters() : statement.parameters();
    TRY(capi::check_index(index, all.size(), is_result ? "result" : "parameter"));
    const Statement::Parameter& p = all[index];
    const capi::Texts& texts = module.texts;
    return capi::give_info(info, {sizeof(*info), texts.keep(p.name), texts.keep(p.type), texts.keep(p.space),
                                  p.count, p.align, p.vector});
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_module_create_from_text(ptxgraft_module** module, const char* text, size_t size) {
    return call({{module, "module"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::text_at(text, size));
        return give_module(module, capi::with_source(syntax::parse(std::string(given)), given, "ptx"));
    });
}

ptxgraft_status ptxgraft_module_create_from_any_text(ptxgraft_module** module, const char* text,
                                                     size_t size) {
    return call({{module, "module"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::text_at(text, size));
        auto parsed = TRY(syntax::parse_all(std::string(given)));
        return give_module(module, std::move(parsed.module));
    });
}

void ptxgraft_module_destroy(ptxgraft_module* module) { delete module; }

ptxgraft_status ptxgraft_module_get_text(char* text, size_t* size, const ptxgraft_module* module) {
    return call({{size, "size"}, {module, "module"}},
                [&] { return capi::give_text(text, size, syntax::print(module->module)); });
}

ptxgraft_status ptxgraft_module_get_canonical(char* text, size_t* size, const ptxgraft_module* module) {
    return call({{size, "size"}, {module, "module"}},
                [&] { return capi::give_text(text, size, syntax::canonical(module->module)); });
}

const char* ptxgraft_module_get_version(const ptxgraft_module* module) {
    return get(module, "module", "",
               [](const ptxgraft_module& m) { return m.texts.keep_or_empty(m.module.version()); });
}

const char* ptxgraft_module_get_target(const ptxgraft_module* module) {
    return get(module, "module", "",
               [](const ptxgraft_module& m) { return m.texts.keep_or_empty(m.module.target()); });
}

uint32_t ptxgraft_module_get_address_size(const ptxgraft_module* module) {
    return get(module, "module", uint32_t{0},
               [](const ptxgraft_module& m) { return m.module.address_size(); });
}

ptxgraft_status ptxgraft_module_verify(ptxgraft_diagnostics** diagnostics, const ptxgraft_module* module,
                                       const ptxgraft_verify_options* options) {
    return call({{diagnostics, "diagnostics"}, {module, "module"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        if (given.target != nullptr) TRY(parse_architecture(given.target));
        const std::string text = syntax::print(module->module);
        const auto all = TRY(problems(module->module, {.target = given.target != nullptr ? given.target : "",
                                                       .manual_order = given.manual_order != 0}));
        auto made = std::make_unique<ptxgraft_diagnostics>();
        for (const Error& error : all) made->all.push_back(diagnostic_of(error, text));
        *diagnostics = made.release();
        return {};
    });
}

void ptxgraft_diagnostics_destroy(ptxgraft_diagnostics* diagnostics) { delete diagnostics; }

size_t ptxgraft_diagnostics_get_count(const ptxgraft_diagnostics* diagnostics) {
    return get(diagnostics, "diagnostics", size_t{0},
               [](const ptxgraft_diagnostics& d) { return d.all.size(); });
}

ptxgraft_status ptxgraft_diagnostics_get(ptxgraft_diagnostic_info* info,
                                         const ptxgraft_diagnostics* diagnostics, size_t diagnostic) {
    return call({{info, "info"}, {diagnostics, "diagnostics"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(diagnostic, diagnostics->all.size(), "diagnostic"));
        const auto& [error, place, message, description] = diagnostics->all[diagnostic];
        const Span span = error.span.known() ? error.span : Span{0, 0};
        return capi::give_info(
            info, {sizeof(*info), static_cast<ptxgraft_status>(error.code), place.line, place.column, 0,
                   span.begin, span.end, message.c_str(), description.c_str()});
    });
}

ptxgraft_status ptxgraft_statement_get_neighbour(ptxgraft_statement* neighbour, const ptxgraft_module* module,
                                                 ptxgraft_statement statement, ptxgraft_neighbour which) {
    return call({{neighbour, "neighbour"}, {module, "module"}}, [&]() -> Expected<void> {
        TRY(capi::check_enumerators({{"which", which, PTXGRAFT_NEIGHBOUR_walk}}));
        const bool may_be_none = which == PTXGRAFT_NEIGHBOUR_walk || which == PTXGRAFT_NEIGHBOUR_child;
        const auto at = TRY(may_be_none ? capi::statement_or_none(*module, statement, "statement")
                                        : capi::statement_in(*module, statement, "statement"));
        *neighbour = capi::statement_of(neighbour_of(module->module, at, which));
        return {};
    });
}

ptxgraft_status ptxgraft_module_find_function(ptxgraft_statement* function, const ptxgraft_module* module,
                                              const char* name) {
    return call({{function, "function"}, {module, "module"}, {name, "name"}}, [&]() -> Expected<void> {
        const Statement found = module->module.find_function(name);
        if (found) {
            *function = capi::statement_of(found);
            return {};
        }
        std::vector<std::string_view> names;
        for (const Statement f : module->module.functions()) names.push_back(f.name());
        return fail(Errc::argument_invalid,
                    fmt::format("there is no function {}; there are: {}", name, fmt::join(names, ", ")));
    });
}

ptxgraft_status ptxgraft_statement_get_info(ptxgraft_statement_info* info, const ptxgraft_module* module,
                                            ptxgraft_statement statement) {
    return call({{info, "info"}, {module, "module"}}, [&]() -> Expected<void> {
        const auto found = TRY(capi::statement_in(*module, statement, "statement"));
        return capi::give_info(info, info_of(*module, found));
    });
}

ptxgraft_status ptxgraft_statement_get_text(char* text, size_t* size, const ptxgraft_module* module,
                                            ptxgraft_statement statement) {
    return call({{size, "size"}, {module, "module"}}, [&]() -> Expected<void> {
        const auto found = TRY(capi::statement_in(*module, statement, "statement"));
        return capi::give_text(text, size, found.text());
    });
}

ptxgraft_status ptxgraft_statement_get_operand(char* text, size_t* size, const ptxgraft_module* module,
                                               ptxgraft_statement statement, size_t operand) {
    return call({{size, "size"}, {module, "module"}}, [&]() -> Expected<void> {
        const auto found = TRY(capi::statement_in(*module, statement, "statement"));
        const auto instruction = TRY(instruction_of(found));
        TRY(capi::check_index(operand, instruction.operands.size(), "operand"));
        return capi::give_text(text, size, instruction.operands[operand].text());
    });
}

ptxgraft_status ptxgraft_statement_get_parameter(ptxgraft_declared_info* info, const ptxgraft_module* module,
                                                 ptxgraft_statement function, size_t parameter) {
    return call({{info, "info"}, {module, "module"}},
                [&] { return give_parameter(info, *module, function, parameter, false); });
}

ptxgraft_status ptxgraft_statement_get_result(ptxgraft_declared_info* info, const ptxgraft_module* module,
                                              ptxgraft_statement function, size_t result) {
    return call({{info, "info"}, {module, "module"}},
                [&] { return give_parameter(info, *module, function, result, true); });
}

}  // extern "C"
