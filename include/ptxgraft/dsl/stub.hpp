#pragma once
/// @file stub.hpp
/// Stubs of emitted instructions.
///
/// @code
/// auto stub = dsl::stub(site, [](dsl::StubBuilder<>& b) {
///     const auto acc = b.operand<f32>("acc"), bias = b.operand<f32>("bias");
///     b.emit<"add.f32">(acc, acc, bias);
///     b.emit<"max.f32">(acc, acc, 0.0f);
/// });
/// @endcode

#include <string_view>
#include <utility>

#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft::dsl {

namespace emitting {

// What of a StubBuilder does not depend on its target.
struct PTXGRAFT_API StubOperands {
    const Signature& signature;
    // Of an element; empty for one that the site has not, or has with another type: `problem` says so.
    [[nodiscard]] std::string_view find(std::string_view name, Type type, std::size_t count,
                                        std::string& problem) const;
};

}  // namespace emitting

/// Emits a stub for a signature. Operands are the site's registers.
template <Target On = any_target> class StubBuilder : public Builder<On> {
  public:
    /// An operand of this type, a scalar. Another type, a fragment, or a name that the site has not is the
    /// builder's error.
    template <Type T> [[nodiscard]] Reg<T> operand(std::string_view name) { return {find(name, T, 0)}; }
    /// A fragment of this type and size.
    template <Type T, std::size_t N> [[nodiscard]] Regs<T, N> fragment(std::string_view name) {
        Regs<T, N> all;
        const std::string_view stem = find(name, T, N);
        for (std::size_t i = 0; i < N; ++i) all[i] = {this->own(std::string(stem) + std::to_string(i))};
        return all;
    }
    /// An operand whose type the site has; emit looks at it when the program runs.
    [[nodiscard]] AnyReg operator[](std::string_view name) {
        const SiteOperand* const found = signature_.find(name);
        if (found == nullptr || found->count != 0) return {find(name, Type::none, 0)};
        return {found->register_name, static_cast<Type>(found->type)};
    }
    [[nodiscard]] const Signature& signature() const { return signature_; }

  private:
    template <Target, class Body>
    friend Expected<Stub> stub(const Signature& signature, Body&& body, const Policy& policy);
    explicit StubBuilder(const Signature& signature) : signature_(signature) {}
    std::string_view find(std::string_view name, Type type, std::size_t count);
    const Signature& signature_;
};

namespace emitting {
PTXGRAFT_API Expected<Stub> finish_stub(const std::optional<Error>& error, const std::string& declarations,
                                        const std::string& body, const Signature& signature,
                                        const Policy& policy);
}  // namespace emitting

/// The stub that the body emits, checked as Stub::from_ptx checks text. Errors are those of the builder, and
/// those of from_ptx with spans in the emitted text, which they bring along.
template <Target On = any_target, class Body>
[[nodiscard]] Expected<Stub> stub(const Signature& signature, Body&& body, const Policy& policy = {}) {
    StubBuilder<On> builder(signature);
    body(builder);
    std::string declarations;
    builder.declare_registers(declarations);
    return emitting::finish_stub(builder.error(), declarations, builder.body_, signature, policy);
}
template <Target On = any_target, class Body>
[[nodiscard]] Expected<Stub> stub(const Site& site, Body&& body) {
    return stub<On>(site.signature, std::forward<Body>(body), site.policy);
}

template <Target On>
std::string_view StubBuilder<On>::find(std::string_view name, Type type, std::size_t count) {
    std::string problem;
    const std::string_view found = emitting::StubOperands{signature_}.find(name, type, count, problem);
    if (!problem.empty())
        (void)this->keep(fail(
            signature_.find(name) == nullptr ? Errc::stub_register_unknown : Errc::stub_signature_mismatch,
            problem));
    return found.empty() ? std::string_view("_") : found;
}

}  // namespace ptxgraft::dsl
