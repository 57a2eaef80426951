#pragma once
/// @file stub.hpp
/// A stub: a checked instruction sequence for one signature, whoever made it: a stack program (stack.hpp) or
/// PTX written by hand (`Stub::from_ptx`). A Stub that exists fits the site that it was made for. Threads:
/// any number may read one at once.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ptxgraft/error.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft {

/// Immutable; copies share their text and cost a reference count.
class PTXGRAFT_API Stub {
  public:
    /// Checks PTX written by hand against a site. The text names operands either as registers (`_acc`,
    /// `_frag2`) or plainly (`acc`, `frag2`); plain names are replaced by the registers. It may declare
    /// registers of its own and, where the policy allows branches, labels; both live in a scope of the stub.
    /// Checked: syntax; every register is an operand, declared, or special (`%tid.x`); all that isa::verify
    /// says of instructions but for the target, which is not known here; an `in` operand is not written;
    /// every element of an `out` operand is written by an instruction without a guard, or by one under a
    /// predicate and one under its negation (branches are not followed); branches go to labels of the stub;
    /// names do not clash with operands or in one scope; braces balance; no effect that the policy forbids,
    /// nor an unknown opcode unless it allows everything; no directive but `.reg` and those of instructions
    /// (`.pragma`, `.branchtargets`); no site markers, not even in comments. Errors have spans in `text`.
    [[nodiscard]] static Expected<Stub> from_ptx(std::string_view text, const Site& site);
    [[nodiscard]] static Expected<Stub> from_ptx(std::string_view text, const Signature& signature,
                                                 Policy policy = {});

    /// The PTX that render splices: lines with a leading tab, in a scope `{ … }` where registers are
    /// declared.
    [[nodiscard]] const std::string& ptx() const;
    [[nodiscard]] const Signature& signature() const;
    [[nodiscard]] Effect effects() const;
    [[nodiscard]] std::uint32_t instruction_count() const;
    /// stack::dataflow_hash of the program that it was compiled from; 0 unless CompileOptions::hash asked for
    /// it. Two stubs with one hash and one signature compute the same.
    [[nodiscard]] std::uint64_t dataflow_hash() const;

    /// Whether the stub may fill a site: same operands (types, directions, counts), effects allowed. A stub
    /// made for a site fits it; use this to move a stub to another site.
    [[nodiscard]] Expected<void> check(const Site& site) const;

  private:
    friend struct StubBuilder;
    struct Data;
    explicit Stub(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

}  // namespace ptxgraft
