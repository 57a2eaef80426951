// Decoding calls: what one becomes behind others of its function, and which are refused.
#include <gmock/gmock.h>

#include "ptxgraft/isa.hpp"
#include "support/decoded.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::string_view callees =
    ".extern .func (.param .b32 r) one(.param .b64 a);\n"
    ".extern .func one_alias(.param .b32 a, .param .b32 b);\n"
    ".func (.param .b32 r) array(.param .align 8 .b8 a[8]) { ret; }\n"
    ".func two(.param .b32 a, .param .b32 b) { ret; }\n"
    ".func none() { ret; }\n"
    ".alias one_alias, two;\n"
    ".entry other() { ret; }\n";

std::string calls(std::string_view body) {
    return with_header(std::string(callees) +
                       ".entry k(.param .b64 own) { .reg .b32 reg; .reg .b64 wide;\n"
                       "{ .param .b32 r; .param .b64 x; call.uni (r), one, (x); }\n"
                       "{ .param .b64 y; .param .b32 q; call.uni (q), one, (y); }\n"
                       "{ .param .b32 r; .param .align 8 .b8 x[8]; call.uni (r), array, (x); }\n"
                       "{ .param .b32 x; call two, (x, x); call.uni none; }\n" +
                       std::string(body) + "\nret;\n}\n.func behind() { ret; }\n");
}

TEST(EmulatorDecode, ACallBecomesTheSameBehindOneThatIsLikeItAsByItself) {
    const std::string_view bodies[] = {
        "",
        "{ .param .b32 r, s; .param .b64 x; call.uni (s), one, (x); call (r), one, (x); call.uni (r), one, "
        "(x); }",
        "{ .param .b32 r; .param .b64 x; .param .align 8 .b8 y[8]; call.uni (r), array, (y); call.uni (r), "
        "one, "
        "(x); }",
        "{ .param .b32 r; .reg .b64 x; call.uni (r), one, (x); call.uni (reg), one, (wide); call.uni (_), "
        "one, "
        "(4); }",
        "{ .param .b32 x, y; call two, (x, y); call two, (y, x); call one_alias, (x, y); call one_alias, (y, "
        "y); "
        "call two, (reg, y); call.uni none; call.uni none, (); call none; call none, (); }",
        "{ .param .s32 x, y; call two, (x, y); call two, (y, x); .param .f32 z; call two, (z, z); "
        "call two, (z, z); }",
        "{ .reg .pred p; .param .b32 x; @p call two, (x, x); @!p call two, (x, x); call two, (x, x); }",
        "{ .param .b32 x; { .param .b32 pad, x; call two, (x, x); } call two, (x, x); }",
    };
    for (const std::string_view body : bodies) {
        const std::string text = calls(body);
        EXPECT_THAT(isa::verify(*syntax::parse(text)), testing::IsEmpty()) << body;
        expect_the_same(text);
    }
}

// Each fact that the check of a call looks at, wrong behind calls that are right.
TEST(EmulatorDecode, ACallIsRefusedBehindOneThatIsAlmostLikeIt) {
    const std::string_view bodies[] = {
        "{ .param .b32 r; .param .b32 x; call.uni (r), one, (x); }",             // the size of an argument
        "{ .param .b64 r; .param .b64 x; call.uni (r), one, (x); }",             // of a result
        "{ .param .b64 x; call.uni one, (x); }",                                 // no result
        "{ .param .b32 r; call.uni (r), one; }",                                 // no argument
        "{ .param .b32 r; call.uni (r), one, (); }",                             // an empty list
        "{ .param .b32 r; .param .b64 x; call.uni (r), one, (x, x); }",          // too many
        "{ .param .b32 r; .param .b64 x; call.uni (r, r), one, (x); }",          //
        "{ .param .b32 r; .param .b64 x; call.uni (x), one, (r); }",             // the other way round
        "{ .param .b32 r; .param .align 8 .b8 x[8]; call.uni (r), one, (x); }",  // an array
        "{ .param .b32 r; .param .b64 x; call.uni (r), array, (x); }",           // no array
        "{ .param .b32 r; .param .b8 x[8]; call.uni (r), array, (x); }",         // its alignment
        "{ .param .b32 r; .param .align 8 .b8 x[9]; call.uni (r), array, (x); }",
        "{ .param .b32 r; call.uni (r), one, (own); }",               // a parameter of the entry
        "{ .param .b32 r; .local .b64 x; call.uni (r), one, (x); }",  // no .param
        "{ .param .b32 r; .shared .b64 x; call.uni (r), one, (x); }",
        "{ .param .b32 r; .param .b64 x; call.unique (r), one, (x); }",  // the modifier
        "{ .param .b32 x; call one_alias, (x); }",                       // the declaration of the alias
        "{ .param .b32 x; call other; }",                                // an entry
        "call.uni behind; call.uni behind;",                             // declared later
        "{ .reg .b32 none; call.uni none; }",                            // what hides the function
        "{ .reg .b32 none<5>; .reg .b64 two; .param .b32 x; call two, (x, x); }",
        "{ .param .b32 none; call.uni none; }",
        "{ .param .b32 x; call two, (x, y); }",
        "{ .param .b32 x, r; call (r), two, (x, x); }",
    };
    for (const std::string_view body : bodies) {
        const std::string text = calls(body);
        const auto tree = syntax::parse(text);
        ASSERT_TRUE(tree) << body;
        const auto findings = isa::verify(*tree);
        ASSERT_FALSE(findings.empty()) << body;
        for (const std::uint32_t often : {1u, 2u, never}) {
            const Decoded decoded(text, often);
            ASSERT_FALSE(decoded.program) << body;
            EXPECT_EQ(decoded.program.error().code, findings[0].code) << body;
            EXPECT_EQ(decoded.program.error().span, findings[0].span) << body;
        }
    }
}

}  // namespace
}  // namespace ptxgraft::emulator
