// Edits of modules in C.

#include <fmt/format.h>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/module.hpp"
#include "ptxgraft/isa.hpp"

using namespace ptxgraft;
using capi::call;
using syntax::Module, syntax::Statement;

namespace {

Expected<void> give_statement(ptxgraft_statement* out, Expected<Statement> made) {
    if (!made) return tl::unexpected(std::move(made.error()));
    if (out != nullptr) *out = capi::statement_of(*made);
    return {};
}

// A call that puts text where a statement stands, which may be none where the edit takes none.
template <class Edit>
ptxgraft_status edit_text(ptxgraft_statement* first, ptxgraft_module* module,
                          Expected<Statement> (*find)(const ptxgraft_module&, ptxgraft_statement,
                                                      const char*),
                          ptxgraft_statement at, const char* text, std::size_t size, Edit edit) {
    return call({{module, "module"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::text_at(text, size));
        const auto statement = TRY(find(*module, at, "at"));
        return give_statement(first,
                              capi::with_source((module->module.*edit)(statement, given), given, "edit"));
    });
}

// A call that changes a part of an instruction: edit(module, statement, text).
template <class Edit>
ptxgraft_status edit_part(ptxgraft_module* module, ptxgraft_statement at, const char* text,
                          const char* text_name, Edit edit) {
    return call({{module, "module"}, {text, text_name}}, [&]() -> Expected<void> {
        const auto statement = TRY(capi::statement_in(*module, at, "at"));
        return capi::with_source(edit(module->module, statement, std::string_view(text)), text, "edit");
    });
}

Expected<std::size_t> rename(Module& module, Statement at, const char* from, const char* to) {
    const syntax::Name name = syntax::Names(module).find(at, from);
    if (!name) return fail(Errc::name_undeclared, std::string(from));
    return module.rename(name, to);
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_statement_add_before(ptxgraft_statement* first, ptxgraft_module* module,
                                              ptxgraft_statement at, const char* text, size_t size) {
    return edit_text(first, module, capi::statement_in, at, text, size, &Module::insert_before);
}

ptxgraft_status ptxgraft_statement_add_after(ptxgraft_statement* first, ptxgraft_module* module,
                                             ptxgraft_statement at, const char* text, size_t size) {
    return edit_text(first, module, capi::statement_in, at, text, size, &Module::insert_after);
}

ptxgraft_status ptxgraft_statement_add(ptxgraft_statement* first, ptxgraft_module* module,
                                       ptxgraft_statement parent, const char* text, size_t size) {
    return edit_text(first, module, capi::statement_or_none, parent, text, size, &Module::append);
}

ptxgraft_status ptxgraft_statement_replace(ptxgraft_statement* first, ptxgraft_module* module,
                                           ptxgraft_statement at, const char* text, size_t size) {
    return edit_text(first, module, capi::statement_in, at, text, size, &Module::replace);
}

ptxgraft_status ptxgraft_statement_remove(ptxgraft_module* module, ptxgraft_statement at) {
    return call({{module, "module"}}, [&]() -> Expected<void> {
        const auto statement = TRY(capi::statement_in(*module, at, "at"));
        if (statement.kind() == syntax::StatementKind::end)
            return fail(Errc::argument_invalid, std::string("at is the module's end, which stays"));
        module->module.remove(statement);
        return {};
    });
}

ptxgraft_status ptxgraft_statement_replace_body(ptxgraft_module* module, ptxgraft_statement at,
                                                const char* text, size_t size) {
    return call({{module, "module"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::text_at(text, size));
        const auto statement = TRY(capi::statement_in(*module, at, "at"));
        return capi::with_source(module->module.replace_body(statement, given), given, "edit");
    });
}

ptxgraft_status ptxgraft_statement_set_opcode(ptxgraft_module* module, ptxgraft_statement at,
                                              const char* opcode) {
    return edit_part(module, at, opcode, "opcode",
                     [](Module& m, Statement s, auto text) { return m.set_opcode(s, text); });
}

ptxgraft_status ptxgraft_statement_set_operand(ptxgraft_module* module, ptxgraft_statement at, size_t operand,
                                               const char* text) {
    return edit_part(module, at, text, "text",
                     [&](Module& m, Statement s, auto part) { return m.set_operand(s, operand, part); });
}

ptxgraft_status ptxgraft_statement_set_guard(ptxgraft_module* module, ptxgraft_statement at,
                                             const char* guard) {
    return edit_part(module, at, guard, "guard",
                     [](Module& m, Statement s, auto text) { return m.set_guard(s, text); });
}

ptxgraft_status ptxgraft_statement_set_modifier(ptxgraft_module* module, ptxgraft_statement at,
                                                size_t modifier, const char* text) {
    return edit_part(module, at, text, "text",
                     [&](Module& m, Statement s, auto part) { return m.set_modifier(s, modifier, part); });
}

ptxgraft_status ptxgraft_statement_add_modifier(ptxgraft_module* module, ptxgraft_statement at,
                                                size_t modifier, const char* text) {
    return edit_part(module, at, text, "text",
                     [&](Module& m, Statement s, auto part) { return m.insert_modifier(s, modifier, part); });
}

ptxgraft_status ptxgraft_module_rename(size_t* count, ptxgraft_module* module, ptxgraft_statement at,
                                       const char* from, const char* to) {
    return call({{module, "module"}, {from, "from"}, {to, "to"}}, [&]() -> Expected<void> {
        const auto statement = TRY(capi::statement_or_none(*module, at, "at"));
        const auto done = TRY(capi::with_source(rename(module->module, statement, from, to), to, "edit"));
        if (count != nullptr) *count = done;
        return {};
    });
}

ptxgraft_status ptxgraft_statement_clone(ptxgraft_statement* copy, ptxgraft_module* module,
                                         ptxgraft_statement function, const char* name) {
    return call({{module, "module"}, {name, "name"}}, [&]() -> Expected<void> {
        const auto statement = TRY(capi::statement_in(*module, function, "function"));
        return give_statement(copy, module->module.clone(statement, name));
    });
}

ptxgraft_status ptxgraft_statement_splice(ptxgraft_statement* block, ptxgraft_module* module,
                                          ptxgraft_statement at, ptxgraft_statement source) {
    return call({{module, "module"}}, [&]() -> Expected<void> {
        const auto statement = TRY(capi::statement_in(*module, at, "at"));
        const auto from = TRY(capi::statement_in(*module, source, "source"));
        return give_statement(block, module->module.splice(statement, from));
    });
}

ptxgraft_status ptxgraft_statement_outline(ptxgraft_statement* function, ptxgraft_module* module,
                                           ptxgraft_statement first, ptxgraft_statement last,
                                           const char* name) {
    return call({{module, "module"}, {name, "name"}}, [&]() -> Expected<void> {
        const auto begin = TRY(capi::statement_in(*module, first, "first"));
        const auto end = TRY(capi::statement_in(*module, last, "last"));
        const std::string text(module->module.source());
        auto made = capi::with_source(module->module.outline(begin, end, name, isa::access), text, "ptx");
        if (!made) return tl::unexpected(std::move(made.error()));
        return give_statement(function, made->function);
    });
}

}  // extern "C"
