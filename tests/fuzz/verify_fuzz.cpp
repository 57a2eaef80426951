// verify: any module that parses is verified without a crash, the findings lie in the text, and each has a
// message.

#include <cstdlib>

#include "ptxgraft/isa.hpp"

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(const ptxgraft::syntax::Module& module, std::string_view target) {
    using namespace ptxgraft;
    for (const Error& error : isa::verify(module, {.target = target, .manual_order = true})) {
        expect(error.code != Errc::ok);
        if (error.span.known())
            expect(error.span.begin <= error.span.end && error.span.end <= module.source().size());
        const std::string text = message(error, module.source());
        expect(!text.empty() && text.find('\n') == std::string::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string head = ".version 9.0\n.target sm_90a\n.address_size 64\n";
    // a module; or the body of an entry with registers to name
    if (const auto module = ptxgraft::syntax::parse(std::string(text))) {
        check(*module, {});
        check(*module, "sm_75");
    }
    const std::string body = head +
                             ".global .b32 g[8];\n.entry k(.param .u64 p) {\n.reg .pred %p<4>;\n.reg .b16 "
                             "%h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n" +
                             std::string(text) + "\n}\n";
    if (const auto module = ptxgraft::syntax::parse(body)) check(*module, {});
    return 0;
}
