#include "ptxgraft/stub.hpp"

#include <fmt/format.h>

namespace ptxgraft {
namespace {

bool same(const SiteOperand& a, const SiteOperand& b) {
    return a.type == b.type && a.direction == b.direction && a.count == b.count &&
           a.register_name == b.register_name;
}

}  // namespace

Expected<void> Stub::check(const Site& site) const {
    for (const SiteOperand& operand : signature_.operands) {
        const SiteOperand* other = site.signature.find(operand.name);
        if (!other)
            return fail(Errc::stub_signature_mismatch,
                        fmt::format("site {} has no operand {}", site.name, operand.name));
        if (!same(operand, *other))
            return fail(
                Errc::stub_signature_mismatch,
                fmt::format("operand {} of site {} is: {}", operand.name, site.name, site.signature.text()));
    }
    for (const SiteOperand& operand : site.signature.operands)
        if (operand.direction == Direction::out && !signature_.find(operand.name))
            return fail(
                Errc::stub_signature_mismatch,
                fmt::format("the stub does not write `out` operand {} of site {}", operand.name, site.name));
    if (!contains(site.policy.allowed, effects_))
        return fail(Errc::stub_effect_forbidden,
                    fmt::format("site {} does not allow what the stub does", site.name));
    return {};
}

}  // namespace ptxgraft
