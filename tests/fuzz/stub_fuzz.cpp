// PTX written by hand: a stub or a clear error. What is taken is taken again, as it is printed.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptxgraft/stub.hpp"

namespace {

using namespace ptxgraft;

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Signature signature =
        *Signature::parse("mod f32 acc, in f32 x, in u32 row, mod f32 frag[4], in pred q, in u64 p");
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const Effect allowed : {Effect::none, Effect::all}) {
        const auto stub = Stub::from_ptx(text, signature, {allowed, false});
        if (!stub) {
            require(!describe(stub.error(), text).empty());
            continue;
        }
        const auto again = Stub::from_ptx(stub->ptx(), signature, {allowed, false});
        require(again && again->instruction_count() == stub->instruction_count());
    }
    return 0;
}
