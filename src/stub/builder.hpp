#pragma once
// Makes Stubs: the only code that may.

#include <memory>
#include <string>
#include <utility>

#include "ptxgraft/stack.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft {

/// Of hashes, not of cryptography.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    return hash * 0xD6E8FEB86659FD93u;
}
/// DataflowParts::constants.
constexpr std::uint64_t hash_of_constants(std::span<const std::uint64_t> constants) {
    std::uint64_t hash = mix(0, constants.size());
    for (const std::uint64_t bits : constants) hash = mix(hash, bits);
    return hash;
}
/// dataflow_hash of a program whose constants are data.
constexpr std::uint64_t hash_of_parts(const DataflowParts& parts) {
    return mix(mix(0, parts.structure), parts.constants);
}

/// All of a stub but for its constants.
struct Stub::Data {
    std::string ptx;
    Signature signature;
    Effect effects = Effect::none;
    std::uint32_t instruction_count = 0;
    std::uint64_t dataflow_hash = 0;  // where there are no constants that are data
    DataflowParts parts = {};         // `constants` where there are none that are data
};

struct StubBuilder {
    static Stub make(std::string ptx, Signature signature, Effect effects, std::uint32_t instruction_count) {
        return Stub(std::make_shared<const Stub::Data>(
            Stub::Data{std::move(ptx), std::move(signature), effects, instruction_count}));
    }
    static Stub make(const stack::Compiled& compiled, Signature signature) {
        auto data = std::make_shared<const Stub::Data>(
            Stub::Data{std::string(compiled.ptx), std::move(signature), compiled.effects,
                       compiled.instruction_count, compiled.hash, compiled.parts});
        if (compiled.constants.empty()) return Stub(std::move(data));
        return Stub(std::move(data), std::make_shared<const Stub::Constants>(compiled.constants.begin(),
                                                                             compiled.constants.end()));
    }
};

}  // namespace ptxgraft
