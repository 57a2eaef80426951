// Stubs of emitted text: the operands of a site by name, and the check that every stub passes.

#include "ptxgraft/dsl/stub.hpp"

#include <fmt/format.h>

#include "base/try.hpp"

namespace ptxgraft::dsl::emitting {

namespace {

// "mod f32", "f32[4]"
std::string shown(std::string_view type, std::size_t count, std::optional<Direction> direction) {
    return fmt::format("{}{}{}", direction ? fmt::format("{} ", name(*direction)) : "", type,
                       count == 0 ? "" : fmt::format("[{}]", count));
}

}  // namespace

std::string_view StubOperands::find(const Wanted& wanted, std::string& problem) const {
    const SiteOperand* const found = signature.find(wanted.name);
    if (found == nullptr) {
        problem = fmt::format("{}; the site has: {}", wanted.name, signature.text());
        return {};
    }
    if (found->count == wanted.count && static_cast<Type>(found->type) == wanted.type &&
        wanted.direction.value_or(found->direction) == found->direction)
        return found->register_name;
    const auto direction = [&](Direction of) { return wanted.direction ? std::optional(of) : std::nullopt; };
    problem = fmt::format("{} is of {} at the site, not {}", wanted.name,
                          shown(ptxgraft::name(found->type), found->count, direction(found->direction)),
                          wanted.type == Type::none
                              ? "a scalar"
                              : shown(syntax::row(wanted.type).name(), wanted.count, wanted.direction));
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
