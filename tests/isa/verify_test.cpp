// verify on whole modules. What it finds in modules with one mistake is in tests/cases/verify.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ptxgraft/isa.hpp"
#include "support/corpus.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

std::string place(const Error& error, std::string_view text) {
    if (!error.span.known()) return "0:0";
    const Position p = position(text, error.span.begin);
    return std::to_string(p.line) + ":" + std::to_string(p.column);
}

std::vector<Error> findings(const std::string& text, const isa::VerifyOptions& options = {}) {
    const auto module = syntax::parse(text);
    return module ? isa::verify(*module, options) : std::vector<Error>{module.error()};
}

// A message is one line, though what it shows is of two.
TEST(Verify, MessagesAreOneLine) {
    const std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.global .b32 g[4];\n.entry k() {\n.reg .b32 r<4>;\n"
        "sust.b.1d.b32.trap [g,\r\n\tr0, {r1}], {r2};\n}\n";
    const std::vector<Error> all = findings(text);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_THAT(message(all.front(), text), HasSubstr("'[g,   r0, {r1}]'"));
    EXPECT_EQ(message(all.front(), text).find('\n'), std::string::npos);
}

TEST(Verify, BlocksMayBeNestedAsDeepAsMemoryAllows) {
    constexpr std::size_t depth = 200000;
    std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b32 a;\n";
    text.append(depth, '{').append("mov.b32 a, b;").append(depth, '}').append("\nmov.b32 c, a; }\n");
    const std::vector<Error> all = findings(text);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(place(all[0], text), "6:" + std::to_string(depth + 12));
    EXPECT_EQ(place(all[1], text), "7:9");
}

TEST(Verify, AnotherTargetAndTheManualsOrderOnRequest) {
    const std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .f32 f<4>;\nadd.ftz.rn.f32 f0, "
        "f1, f2;\nsetmaxnreg.inc.sync.aligned.u32 40;\n}\n";
    EXPECT_TRUE(findings(text).empty());
    const auto other = findings(text, {.target = "sm_100"});
    ASSERT_EQ(other.size(), 1u);
    EXPECT_EQ(other.front().code, Errc::target_not_able);
    const auto ordered = findings(text, {.target = {}, .manual_order = true});
    ASSERT_EQ(ordered.size(), 1u);
    EXPECT_EQ(ordered.front().code, Errc::modifier_out_of_order);
    EXPECT_THAT(message(ordered.front(), text), HasSubstr("add.rn.ftz.f32"));
    EXPECT_EQ(findings(text, {.target = "sm_999"}).front().code, Errc::target_unknown);
    EXPECT_TRUE(findings(text).empty());
}

TEST(Verify, FindsNothingInWhatCompilersMake) {
    SKIP_WITHOUT_CORPUS;
    for (const std::filesystem::path& path : test::corpus_files()) {
        const std::string text = test::read_file(path);
        const auto module = syntax::parse(text);
        ASSERT_TRUE(module) << describe(module.error(), text, path.string());
        for (const syntax::Statement& f : module->functions())
            for (const syntax::Statement& s : f.body_recursive())
                if (const auto i = s.instruction(); i && !isa::knows(*i))
                    ADD_FAILURE() << path << " has an unknown " << i->name;
        if (!test::manifest_says(path, "ok")) continue;
        for (const Error& error : isa::verify(*module)) ADD_FAILURE() << describe(error, text, path.string());
    }
}

}  // namespace
}  // namespace ptxgraft
