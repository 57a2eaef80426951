#pragma once
// A signature with operands of every type, its machine of the standard set, and what texts become there.

#include <gtest/gtest.h>

#include <string>

#include "ptxgraft/stack.hpp"
#include "support/stub_text.hpp"

namespace ptxgraft::stack_text {

inline constexpr Policy everything{.allowed = Effect::all, .pure = false};

inline const Signature& signature() {
    static const Signature s = *Signature::parse(
        "mod f32 x, mod f32 y, mod f32 z, in f32 a, in u32 n, mod s32 m, mod pred p, mod f32 frag[4], in f64 "
        "d, mod b32 w, in u64 q, mod f16 h, mod f64 e, mod u64 u");
    return s;
}

inline const stack::Machine& machine() {
    static const stack::Machine m =
        *stack::Machine::make(stack::find_set("standard"), signature(), {.policy = everything});
    return m;
}

inline std::string ptx_of(const std::string& text) {
    const auto stub = stack::compile(text, signature(), {}, everything);
    EXPECT_TRUE(stub) << describe(stub.error(), text);
    if (!stub) return {};
    const auto cubin = test::assemble(test::kernel(signature(), stub->ptx()));
    EXPECT_TRUE(cubin) << describe(cubin.error(), test::kernel(signature(), stub->ptx()));
    return test::body(stub->ptx());
}

inline std::string describe_failure(const std::string& text, const Signature& s = signature(),
                                    Policy policy = everything) {
    const auto stub = stack::compile(text, s, {}, policy);
    EXPECT_FALSE(stub) << text << " is " << (stub ? stub->ptx() : "");
    return stub ? "" : describe(stub.error(), text, "p.stub");
}

}  // namespace ptxgraft::stack_text
