#include "ptxgraft/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A function around a body, as nvcc writes it.
std::string in_entry(std::string_view body) {
    return ".version 8.0\n.target sm_75\n.address_size 64\n\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n" + std::string(body) + "\tret;\n}\n";
}

std::string copy_of(std::string_view name, std::string_view operands, std::string_view stub) {
    return "\t{ // PTXGRAFT_SITE " + std::string(name) + "\n" + std::string(operands) + "\t// PTXGRAFT_STUB\n" + std::string(stub) +
           "\t// PTXGRAFT_END\n\t}\n";
}

const std::string epilogue = copy_of("epilogue",
                                     "\t.reg .f32 _acc; // mod f32 acc\n\tmov.b32 _acc, %f5;\n"
                                     "\t.reg .f32 _frag<4>; // in f32 frag 4\n\t.reg .u32 _z; // in q8:u32 z\n",
                                     "\tadd.f32 _acc, _acc, _frag0;\n");

std::string_view at(std::string_view text, Span span) { return text.substr(span.begin, span.end - span.begin); }

TEST(Site, ScanReadsOperandsPolicyAndPlaces) {
    const std::string ptx = in_entry(epilogue + copy_of("loader pure allow load warp", "", ""));
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    ASSERT_EQ(sites->sites.size(), 2u);
    const Site& site = sites->sites[0];
    EXPECT_EQ(site.name, "epilogue");
    EXPECT_EQ(site.signature.text(), "mod f32 acc, in f32 frag[4], in q8:u32 z");
    EXPECT_EQ(site.signature.operands[1].register_name, "_frag");
    EXPECT_EQ(at(ptx, site.copies[0].stub), "\tadd.f32 _acc, _acc, _frag0;\n");
    EXPECT_TRUE(at(ptx, site.copies[0].marker).starts_with("// PTXGRAFT_SITE epilogue\n"));
    EXPECT_TRUE(at(ptx, site.copies[0].marker).ends_with("// PTXGRAFT_END"));
    const Site& loader = sites->sites[1];
    EXPECT_TRUE(loader.policy.pure);
    EXPECT_EQ(loader.policy.allowed, Effect::load | Effect::warp);
    EXPECT_EQ(at(ptx, loader.copies[0].stub), "");
    ASSERT_EQ(sites->functions.size(), 1u);
    EXPECT_EQ(sites->functions[0].name, "k");
    EXPECT_TRUE(sites->functions[0].is_entry);
    EXPECT_TRUE(at(ptx, sites->functions[0].span).starts_with(".entry k("));
    EXPECT_TRUE(at(ptx, sites->functions[0].span).ends_with("ret;\n}"));
    EXPECT_EQ(sites->find("epilogue"), &site);
    EXPECT_EQ(sites->find("epilog"), nullptr);
}

TEST(Site, RenderReplacesEveryCopyAndNoOtherByte) {
    const std::string other = copy_of("other", "", "\tx;\n");
    const std::string ptx = in_entry(epilogue + other + epilogue);
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    ASSERT_EQ(sites->copy_count(), 3u);
    std::string expected = ptx;
    for (std::size_t i; (i = expected.find("\tadd.f32 _acc, _acc, _frag0;\n")) != std::string::npos;)
        expected.replace(i, sizeof("\tadd.f32 _acc, _acc, _frag0;\n") - 1, "\tnew;\n");
    const Replacement replacements[] = {{"epilogue", "\tnew;\n"}};
    EXPECT_EQ(render(ptx, *sites, replacements).value(), expected);
    EXPECT_EQ(render(ptx, *sites, {}).value(), ptx);
}

TEST(Site, RenderedTextScansAgain) {
    const std::string ptx = in_entry(epilogue + epilogue);
    const Replacement replacements[] = {{"epilogue", ""}};
    const std::string once = render(ptx, scan(ptx).value(), replacements).value();
    const auto again = scan(once);
    ASSERT_TRUE(again) << describe(again.error(), once);
    EXPECT_EQ(at(once, again->sites[0].copies[1].stub), "");
    const Replacement back[] = {{"epilogue", "\tadd.f32 _acc, _acc, _frag0;\n"}};
    EXPECT_EQ(render(once, *again, back).value(), ptx);
}

TEST(Site, RenderNamesTheReplacementThatFails) {
    const std::string ptx = in_entry(epilogue);
    const auto sites = scan(ptx).value();
    const Replacement unknown[] = {{"epilogue", ""}, {"epilog", ""}};
    const auto rendered = render(ptx, sites, unknown);
    ASSERT_FALSE(rendered);
    EXPECT_EQ(rendered.error().code, Errc::unknown_site);
    EXPECT_EQ(rendered.error().index, 1u);
    const Replacement twice[] = {{"epilogue", ""}, {"epilogue", "x"}};
    EXPECT_EQ(render(ptx, sites, twice).error().code, Errc::site_replaced_twice);
    EXPECT_EQ(render("short", sites, {}).error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace ptxgraft
