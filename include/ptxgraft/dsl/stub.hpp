#pragma once
/// @file stub.hpp
/// Stubs of emitted instructions. The operands of the site are parameters of the body, whose types C++ checks
/// against what is done with them; the site is checked against the parameters when the stub is made.
///
/// @code
/// auto stub = dsl::stub(site, [](dsl::StubBuilder<>& b, Mod<"acc", f32> acc, In<"bias", f32> bias) {
///     b.emit<"add.f32">(acc, acc, bias);
///     b.emit<"max.f32">(acc, acc, 0.0f);
/// });
/// @endcode
///
/// One signature for many bodies (signature.hpp), and operands asked for by name:
/// @code
/// using Epilogue = SignatureOf<Mod<"acc", f32>, In<"bias", f32>>;
/// auto sum = dsl::stub<Epilogue>(site, [](auto& b, auto acc, auto bias) {
///     emit<"add.f32">(b, acc, acc, bias);
/// });
/// auto same = dsl::stub(site, [](dsl::StubBuilder<>& b) {
///     const auto acc = b.operand<f32>("acc"), bias = b.operand<f32>("bias");
///     b.emit<"add.f32">(acc, acc, bias);
/// });
/// @endcode
///
/// | mistake | found |
/// |---|---|
/// | an instruction that takes no register of this type | by C++; of `b["acc"]` when the stub is made |
/// | an `In` operand is written | by C++; of `b.operand<T>(name)` when the stub is made |
/// | a name, type, direction or number of elements that the site has otherwise | when the stub is made |
/// | an `out` operand that is read before it is written, or not written on a path | when the stub is made |

#include <concepts>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/dsl/signature.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft::dsl {

namespace emitting {

// What of a StubBuilder does not depend on its target.
struct PTXGRAFT_API StubOperands {
    const Signature& signature;
    // What of an operand must be so; no direction: any.
    struct Wanted {
        std::string_view name;
        Type type = Type::none;  // none: any, of a scalar
        std::size_t count = 0;
        std::optional<Direction> direction = {};
    };
    // The register, of a fragment the stem of its registers; empty for an operand that the site has not, or
    // has otherwise: `problem` says so.
    [[nodiscard]] std::string_view find(const Wanted& wanted, std::string& problem) const;
};

}  // namespace emitting

/// Emits a stub for a signature. Operands are the site's registers.
template <Target On = any_target> class StubBuilder : public Builder<On> {
  public:
    /// An operand of this type, a scalar. Another type, a fragment, or a name that the site has not is the
    /// builder's error.
    template <Type T> [[nodiscard]] Reg<T> operand(std::string_view name) { return {find({name, T})}; }
    /// An operand of a signature: `b.operand<Mod<"acc", f32>>()`.
    template <class Operand> [[nodiscard]] Operand operand() {
        const std::string_view stem =
            find({Operand::operand(), Operand::type, Operand::count, Operand::direction});
        std::vector<std::string_view> registers = {stem};
        for (std::size_t i = 0; i < Operand::count; ++i)
            registers.insert(registers.end() - 1, this->own(std::string(stem) + std::to_string(i)));
        return Operand::of(registers);
    }
    /// A fragment of this type and size.
    template <Type T, std::size_t N> [[nodiscard]] Regs<T, N> fragment(std::string_view name) {
        Regs<T, N> all;
        const std::string_view stem = find({name, T, N});
        for (std::size_t i = 0; i < N; ++i) all[i] = {this->own(std::string(stem) + std::to_string(i))};
        return all;
    }
    /// An operand whose type the site has; emit looks at it when the program runs.
    [[nodiscard]] AnyReg operator[](std::string_view name) {
        const SiteOperand* const found = signature_.find(name);
        if (found == nullptr || found->count != 0) return {find({name})};
        return {found->register_name, static_cast<Type>(found->type)};
    }
    [[nodiscard]] const Signature& signature() const { return signature_; }

  private:
    template <Target, class Body>
    friend Expected<Stub> stub(const Signature& signature, Body&& body, const Policy& policy);
    explicit StubBuilder(const Signature& signature) : signature_(signature) {}
    std::string_view find(const emitting::StubOperands::Wanted& wanted);
    const Signature& signature_;
};

namespace emitting {
PTXGRAFT_API Expected<Stub> finish_stub(const std::optional<Error>& error, const std::string& declarations,
                                        const std::string& body, const Signature& signature,
                                        const Policy& policy);
// A body that takes nothing but its builder, of one that takes operands too.
template <Target On, class... Operands, class Body> auto with_operands(SignatureOf<Operands...>, Body& body) {
    return [&body](StubBuilder<On>& b) {
        std::tuple<Operands...> all{b.template operand<Operands>()...};
        std::apply([&](const Operands&... operands) { body(b, operands...); }, all);
    };
}
template <Target On, class Body> void run_body(StubBuilder<On>& builder, Body& body) {
    if constexpr (std::invocable<Body&, StubBuilder<On>&>) {
        body(builder);
    } else {
        using Call = typename CallOf<std::decay_t<Body>>::type;
        with_operands<On>(typename Parameters<Call>::Signature(), body)(builder);
    }
}
}  // namespace emitting

/// The stub that the body emits, checked as Stub::from_ptx checks text. The body takes a StubBuilder, and
/// operands behind it or none. Errors are those of the builder, and those of from_ptx with spans in the
/// emitted text, which they bring along.
template <Target On = any_target, class Body>
[[nodiscard]] Expected<Stub> stub(const Signature& signature, Body&& body, const Policy& policy = {}) {
    StubBuilder<On> builder(signature);
    emitting::run_body(builder, body);
    std::string declarations;
    builder.declare_registers(declarations);
    return emitting::finish_stub(builder.error(), declarations, builder.body_, signature, policy);
}
template <Target On = any_target, class Body>
[[nodiscard]] Expected<Stub> stub(const Site& site, Body&& body) {
    return stub<On>(site.signature, std::forward<Body>(body), site.policy);
}
/// The same of a body whose operands a signature says, such as FunctionBuilder::site gives: they follow the
/// builder in its order, and their parameters may be `auto`.
template <Target On = any_target, class... Operands, class Body>
[[nodiscard]] Expected<Stub> stub(const Site& site, SignatureOf<Operands...> operands, Body&& body) {
    return stub<On>(site.signature, emitting::with_operands<On>(operands, body), site.policy);
}
template <class Operands, Target On = any_target, class Body>
[[nodiscard]] Expected<Stub> stub(const Site& site, Body&& body) {
    return stub<On>(site, Operands(), std::forward<Body>(body));
}
template <class Operands, Target On = any_target, class Body>
[[nodiscard]] Expected<Stub> stub(const Signature& signature, Body&& body, const Policy& policy = {}) {
    return stub<On>(signature, emitting::with_operands<On>(Operands(), body), policy);
}

template <Target On> std::string_view StubBuilder<On>::find(const emitting::StubOperands::Wanted& wanted) {
    std::string problem;
    const std::string_view found = emitting::StubOperands{signature_}.find(wanted, problem);
    if (!problem.empty())
        (void)this->keep(fail(signature_.find(wanted.name) == nullptr ? Errc::stub_register_unknown
                                                                      : Errc::stub_signature_mismatch,
                              problem));
    return found.empty() ? std::string_view("_") : found;
}

}  // namespace ptxgraft::dsl
