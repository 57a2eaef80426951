// Stubs of hand-written PTX, and whether a stub fits a site.

#include "ptxgraft/stub.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stub/builder.hpp"
#include "stub/check.hpp"

namespace ptxgraft {
namespace {

bool same(const SiteOperand& a, const SiteOperand& b) {
    return a.type == b.type && a.direction == b.direction && a.count == b.count &&
           a.register_name == b.register_name;
}

std::string renamed(std::string_view text, const stub_check::CheckedText& checked) {
    std::string result;
    std::size_t at = 0;
    for (const auto& rename : checked.renames) {
        result.append(text, at, rename.begin - at).append(rename.register_name);
        at = rename.end;
    }
    return result.append(text, at);
}

// One leading tab per line, Unix line ends, in a scope where names of its own are declared. Lines keep their
// numbers, which errors tell; those without a word at the end are dropped.
std::string lines_of(std::string_view text, bool needs_scope) {
    constexpr std::string_view blanks = " \t\r\v\f", blanks_and_ends = " \t\r\v\f\n";
    text = text.substr(0, text.find_last_not_of(blanks_and_ends) + 1);
    std::string result = needs_scope ? "\t{" : "";
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t first = line.find_first_not_of(blanks);
        if (first != std::string_view::npos)
            result.append(result == "\t{" ? " " : "\t")
                .append(line.substr(first, line.find_last_not_of(blanks) + 1 - first));
        result.append("\n");
    }
    return needs_scope ? result.append("\t}\n") : result;
}

}  // namespace

Expected<Stub> Stub::from_ptx(std::string_view text, const Signature& signature, Policy policy) {
    const auto checked = TRY(stub_check::check_text(text, signature, policy));
    return StubBuilder::make(lines_of(renamed(text, checked), checked.needs_scope), signature,
                             checked.effects, checked.instruction_count);
}

Expected<Stub> Stub::from_ptx(std::string_view text, const Site& site) {
    return from_ptx(text, site.signature, site.policy);
}

const std::string& Stub::ptx() const { return data_->ptx; }
const Signature& Stub::signature() const { return data_->signature; }
Effect Stub::effects() const { return data_->effects; }
std::uint32_t Stub::instruction_count() const { return data_->instruction_count; }

std::uint64_t Stub::dataflow_hash() const {
    return constants_ != nullptr && data_->dataflow_hash != 0 ? hash_of_parts(dataflow_parts())
                                                              : data_->dataflow_hash;
}

DataflowParts Stub::dataflow_parts() const {
    DataflowParts parts = data_->parts;
    if (constants_ != nullptr && data_->dataflow_hash != 0) parts.constants = hash_of_constants(*constants_);
    return parts;
}

std::span<const std::uint64_t> Stub::constants() const {
    return constants_ == nullptr ? std::span<const std::uint64_t>() : *constants_;
}

Expected<Stub> Stub::with_constants(std::span<const std::uint64_t> constants) const {
    if (constants.size() != this->constants().size())
        return fail(Errc::constants_differ,
                    fmt::format("it has {}, not {}", this->constants().size(), constants.size()));
    if (constants.empty()) return *this;
    return Stub(data_, std::make_shared<const Constants>(constants.begin(), constants.end()));
}

bool Stub::has_structure_of(const Stub& other) const {
    if (data_ == other.data_) return true;
    if (constants().size() != other.constants().size() || signature() != other.signature()) return false;
    if (constants_ != nullptr && data_->parts.structure != 0 && other.data_->parts.structure != 0)
        return data_->parts.structure == other.data_->parts.structure;
    return ptx() == other.ptx();
}

Expected<void> Stub::check(const Site& site) const {
    for (const SiteOperand& operand : signature().operands) {
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
        if (operand.direction == Direction::out && !signature().find(operand.name))
            return fail(
                Errc::stub_signature_mismatch,
                fmt::format("the stub does not write `out` operand {} of site {}", operand.name, site.name));
    if (!contains(site.policy.allowed, effects()))
        return fail(Errc::stub_effect_forbidden,
                    fmt::format("site {} does not allow what the stub does", site.name));
    return {};
}

}  // namespace ptxgraft
