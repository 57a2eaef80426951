#pragma once
// Makes Stubs: the only code that may.

#include <string>
#include <utility>

#include "ptxgraft/stub.hpp"

namespace ptxgraft {

struct Stub::Data {
    std::string ptx;
    Signature signature;
    Effect effects = Effect::none;
    std::uint32_t instruction_count = 0;
    std::uint64_t dataflow_hash = 0;
};

struct StubBuilder {
    static Stub make(std::string ptx, Signature signature, Effect effects, std::uint32_t instruction_count,
                     std::uint64_t dataflow_hash = 0) {
        return Stub(std::make_shared<const Stub::Data>(
            Stub::Data{std::move(ptx), std::move(signature), effects, instruction_count, dataflow_hash}));
    }
};

}  // namespace ptxgraft
