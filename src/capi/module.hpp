#pragma once
/// @file module.hpp
/// Modules and statements, as C holds them.

#include <bit>
#include <string>
#include <vector>

#include "capi/boundary.hpp"
#include "capi/texts.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::capi {

/// A statement is the numbers of its handle.
static_assert(sizeof(ptxgraft_statement) == sizeof(syntax::Statement) &&
              std::is_trivially_copyable_v<syntax::Statement>);
[[nodiscard]] ptxgraft_statement statement_of(syntax::Statement statement);

/// A statement of the caller; `name` is its parameter. Errc::argument_invalid for none, for one of another
/// module, and for one that is no longer there.
[[nodiscard]] Expected<syntax::Statement> statement_in(const ptxgraft_module& module,
                                                       ptxgraft_statement given, const char* name);
/// The same, but none may be given.
[[nodiscard]] Expected<syntax::Statement> statement_or_none(const ptxgraft_module& module,
                                                            ptxgraft_statement given, const char* name);

}  // namespace ptxgraft::capi

struct ptxgraft_module {
    explicit ptxgraft_module(ptxgraft::syntax::Module parsed);
    ptxgraft::syntax::Module module;
    ptxgraft_statement numbers_of_end;  ///< the one statement of kind `end` that is there
    ptxgraft::capi::Texts texts = {};
};

struct ptxgraft_diagnostics {
    struct Diagnostic {
        ptxgraft::Error error;
        ptxgraft::Position place;
        std::string message, description;
    };
    std::vector<Diagnostic> all;
};
