#pragma once
// Makes Stubs: the only code that may.

#include <string>
#include <utility>

#include "ptxgraft/stub.hpp"

namespace ptxgraft {

struct StubBuilder {
    static Stub make(std::string ptx, Signature signature, Effect effects, std::uint32_t instruction_count) {
        Stub stub;
        stub.ptx_ = std::move(ptx);
        stub.signature_ = std::move(signature);
        stub.effects_ = effects;
        stub.instruction_count_ = instruction_count;
        return stub;
    }
};

}  // namespace ptxgraft
