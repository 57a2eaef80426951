#pragma once
/// @file stub.hpp
/// A stub: a checked instruction sequence for one signature, whoever made it: a stack program (stack.hpp) or
/// PTX written by hand (`Stub::from_ptx`). A Stub that exists fits the site that it was made for. Threads:
/// any number may read one at once.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft {

/// A dataflow hash in two parts. Two programs with equal parts compute the same; two with one `structure`
/// differ in their constants at most. What an instruction takes only as an immediate (the table of lop3, a
/// shift that the form wants to know) and the preds `true` and `false` belong to the structure, and so do the
/// places of the constants: a constant that two instructions share is another structure than two constants.
struct DataflowParts {
    std::uint64_t structure = 0;  ///< all but the values of the constants
    std::uint64_t constants = 0;  ///< those, in the order of their places
    friend bool operator==(const DataflowParts&, const DataflowParts&) = default;
};

/// Immutable; copies share their text and cost a reference count.
class PTXGRAFT_API Stub {
  public:
    /// Checks PTX written by hand against a site. The text names operands either as registers (`_acc`,
    /// `_frag2`) or plainly (`acc`, `frag2`); plain names are replaced by the registers. It may declare
    /// registers of its own and, where the policy allows branches, labels; both live in a scope of the stub.
    /// Checked: syntax; every register is an operand, declared, or special (`%tid.x`); all that isa::verify
    /// says of instructions but for the target, which is not known here; an `in` operand is not written;
    /// every element of an `out` operand is written on every path through the stub, and before it is read
    /// (under a predicate and under its negation is always); branches go to labels of the stub; names do not
    /// clash with operands or in one scope; braces balance; no effect that the policy forbids, nor an unknown
    /// opcode unless it allows everything; no directive but `.reg` and those of instructions (`.pragma`,
    /// `.branchtargets`); no site markers, not even in comments. Errors have spans in `text`.
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
    /// The same in two parts, where it was asked for.
    [[nodiscard]] DataflowParts dataflow_parts() const;

    /// Constants that are data (stack::Constants::data): the text loads constant number k from
    /// `[ptxgraft_constants+8*k]`, for which a graft puts the name of a variable in the module. Here are
    /// their bits, in the order in which the program pushes those that count, a number in the lowest bits of
    /// each. Empty for all other stubs.
    [[nodiscard]] std::span<const std::uint64_t> constants() const;
    /// The same stub with other constants, without a compile: Errc::constants_differ for another number of
    /// them. What a bit means is the text's matter (of an f32 its IEEE bits).
    [[nodiscard]] Expected<Stub> with_constants(std::span<const std::uint64_t> constants) const;
    /// Whether the two are one stub but for constants that are data: then they share machine code.
    [[nodiscard]] bool has_structure_of(const Stub& other) const;

    /// Whether the stub may fill a site: same operands (types, directions, counts), effects allowed. A stub
    /// made for a site fits it; use this to move a stub to another site.
    [[nodiscard]] Expected<void> check(const Site& site) const;

  private:
    friend struct StubBuilder;
    struct Data;
    using Constants = std::vector<std::uint64_t>;
    explicit Stub(std::shared_ptr<const Data> data, std::shared_ptr<const Constants> constants = {})
        : data_(std::move(data)), constants_(std::move(constants)) {}
    std::shared_ptr<const Data> data_;
    std::shared_ptr<const Constants> constants_;  // null where there are none
};

}  // namespace ptxgraft
