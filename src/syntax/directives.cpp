#include "syntax/directives.hpp"

namespace ptxgraft::syntax {
namespace {

struct Row {
    std::string_view word;
    DirectiveClass value;
};

// The most frequent first: the search is linear.
constexpr Row rows[] = {
    {".loc", DirectiveClass::location},
    {".reg", DirectiveClass::space},
    {".param", DirectiveClass::space},
    {".pragma", DirectiveClass::list},
    {".global", DirectiveClass::space},
    {".shared", DirectiveClass::space},
    {".local", DirectiveClass::space},
    {".const", DirectiveClass::space},
    {".visible", DirectiveClass::linkage},
    {".extern", DirectiveClass::linkage},
    {".weak", DirectiveClass::linkage},
    {".common", DirectiveClass::linkage},
    {".entry", DirectiveClass::function},
    {".func", DirectiveClass::function},
    {".file", DirectiveClass::file},
    {".branchtargets", DirectiveClass::list},
    {".callprototype", DirectiveClass::prototype},
    {".calltargets", DirectiveClass::list},
    {".section", DirectiveClass::section},
    {".alias", DirectiveClass::list},
    {".sreg", DirectiveClass::space},
    {".tex", DirectiveClass::space},
    {".version", DirectiveClass::version},
    {".target", DirectiveClass::target},
    {".address_size", DirectiveClass::address_size},
};

}  // namespace

DirectiveClass directive_class(std::string_view word) {
    for (const Row& row : rows)
        if (row.word == word) return row.value;
    return DirectiveClass::unknown;
}

}  // namespace ptxgraft::syntax
