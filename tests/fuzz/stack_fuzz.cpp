// The input twice: as bytes of a program, which must compile with Missing::skip, and as the text of a `.stub`
// file.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "ptxgraft/stack.hpp"

namespace {

using namespace ptxgraft;

const Signature& signature() {
    static const Signature s = *Signature::parse(
        "mod f32 x, in f32 a, mod u32 n, mod s32 m, mod pred p, out f32 frag[4], in f64 d, mod b32 w");
    return s;
}

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static stack::Compiler compiler;
    stack::Program program(size / sizeof(stack::Instruction));
    if (!program.empty()) std::memcpy(static_cast<void*>(program.data()), data, program.size() * sizeof(stack::Instruction));
    require(compiler.compile(program, signature(), {.missing = stack::Missing::skip}).has_value());
    (void)compiler.compile(program, signature());
    if (size < 400) {
        const auto again = stack::parse(stack::print(program, signature()), signature());
        require(again && *again == program);
    }
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto stub = stack::compile(text, signature());
    if (!stub) require(!describe(stub.error(), text).empty());
    return 0;
}
