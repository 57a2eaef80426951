// The input as an expression, with the options that its first byte says. What is taken must compile to a
// stub, and as a program leave nothing on the stacks; what is refused must say where.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptxgraft/expression.hpp"

namespace {

using namespace ptxgraft;

const Signature& signature() {
    static const Signature s = *Signature::parse(
        "mod f32 x, in f32 a, mod u32 n, mod s32 m, mod pred p, mod f32 frag[4], mod f64 d, mod b32 w, in "
        "u64 q, in ptr_f16:u64 r, mod f16 h, mod bf16 b, mod s64 l, mod u16 k");
    return s;
}

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::uint8_t choice = data[0];
    const ExpressionOptions options{.contract = (choice & 1) != 0,
                                    .approx = (choice & 2) != 0,
                                    .ftz = (choice & 4) != 0,
                                    .target = {static_cast<std::uint16_t>((choice & 8) != 0 ? 90 : 0), 0}};
    const auto stub = compile_expression(text, signature(), options,
                                         {.allowed = (choice & 16) != 0 ? Effect::none : Effect::load});
    if (!stub) {
        // what the compiler of programs refuses would be a fault here, but for its limits
        const Errc code = stub.error().code;
        require((code >= Errc::expression_syntax_wrong && code <= Errc::expression_machine_wrong) ||
                code == Errc::stub_effect_forbidden || code == Errc::stack_limit_exceeded ||
                code == Errc::stack_too_large);
        require(!stub.error().span.known() || stub.error().span.begin <= text.size());
        require(!describe(stub.error(), text).empty());
    }
    return 0;
}
