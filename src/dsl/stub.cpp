// Stubs of emitted text: the operands of a site by name, and the check that every stub passes.

#include "ptxgraft/dsl/stub.hpp"

#include <fmt/format.h>

#include "base/try.hpp"

namespace ptxgraft::dsl::emitting {

std::string_view StubOperands::find(std::string_view name, Type type, std::size_t count,
                                    std::string& problem) const {
    const SiteOperand* const found = signature.find(name);
    if (found == nullptr) {
        problem = fmt::format("{}; the site has: {}", name, signature.text());
        return {};
    }
    if (found->count == count && static_cast<Type>(found->type) == type) return found->register_name;
    const auto shown = [](std::string_view of, std::size_t elements) {
        return elements == 0 ? std::string(of) : fmt::format("{}[{}]", of, elements);
    };
    problem =
        fmt::format("{} is of {} at the site, not {}", name, shown(ptxgraft::name(found->type), found->count),
                    type == Type::none ? "a scalar" : shown(syntax::row(type).name(), count));
    return {};
}

Expected<Stub> finish_stub(const std::optional<Error>& error, const std::string& declarations,
                           const std::string& body, const Signature& signature, const Policy& policy) {
    if (error) return tl::unexpected<Error>(*error);
    const std::string text = declarations + body;
    auto stub = Stub::from_ptx(text, signature, policy);
    if (stub) return stub;
    Error failure = stub.error();
    failure.source = std::make_shared<const SourceText>(SourceText{"emitted stub", text});
    return tl::unexpected<Error>(std::move(failure));
}

}  // namespace ptxgraft::dsl::emitting
