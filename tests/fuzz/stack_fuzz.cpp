// The input twice: as bytes of a program, which must compile when nothing is an error and read back from its
// text, and as the text of a `.stub` file.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "ptxgraft/stack.hpp"

namespace {

using namespace ptxgraft;

constexpr Policy everything{.allowed = Effect::all, .pure = false};

const Signature& signature() {
    static const Signature s = *Signature::parse(
        "mod f32 x, in f32 a, mod u32 n, mod s32 m, mod pred p, out f32 frag[4], in f64 d, mod b32 w, in u64 "
        "q, mod f16 h");
    return s;
}

const stack::Machine& machine() {
    static const stack::Machine m =
        *stack::Machine::make(stack::find_set("standard"), signature(), {.policy = everything});
    return m;
}

void require(bool holds) {
    if (!holds) std::abort();
}

// The first byte says how much of the rest is pool and routine.
stack::Program program_of(const std::uint8_t* data, std::size_t size) {
    stack::Program program;
    if (size == 0) return program;
    const std::size_t pool = data[0] & 3, routine = data[0] >> 2 & 7;
    ++data, --size;
    std::vector<stack::Instruction> code(size / sizeof(stack::Instruction));
    if (!code.empty())
        std::memcpy(static_cast<void*>(code.data()), data, code.size() * sizeof(stack::Instruction));
    if (code.size() < pool + routine) return {std::move(code), {}, {}};
    program.pool.resize(pool);
    if (pool != 0) std::memcpy(program.pool.data(), code.data(), pool * sizeof(std::uint64_t));
    if (routine != 0) {
        const auto begin = code.begin() + static_cast<std::ptrdiff_t>(pool);
        program.routines.push_back({"word",
                                    {stack::type_id(Type::f32)},
                                    {stack::type_id(Type::f32)},
                                    {begin, begin + static_cast<std::ptrdiff_t>(routine)}});
    }
    program.code.assign(code.begin() + static_cast<std::ptrdiff_t>(pool + routine), code.end());
    return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static stack::Compiler compiler;
    const stack::Program program = program_of(data, size);
    stack::CompileOptions options = stack::mutated;
    options.limits.steps = 1u << 16;
    const auto compiled = compiler.compile(program, machine(), options);
    require(compiled || compiled.error().code == Errc::stack_limit_exceeded);
    options = {};
    options.limits.steps = 1u << 16;
    (void)compiler.compile(program, machine(), options);
    if (size < 400) {
        const auto again = stack::parse(stack::print(program, machine()), machine());
        require(again && *again == program);
    }
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    stack::TextOptions text_options;
    text_options.compile.limits.steps = 1u << 16;
    const auto stub = stack::compile(text, signature(), text_options, everything);
    if (!stub) require(!describe(stub.error(), text).empty());
    if (const auto parsed = stack::parse(text, machine())) {
        const auto again = stack::parse(stack::print(*parsed, machine()), machine());
        require(again && *again == *parsed);
    }
    return 0;
}
