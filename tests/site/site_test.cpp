// Sites: found in PTX, rendered, refused.
#include "ptxgraft/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A function around a body, as nvcc writes it.
std::string in_entry(std::string_view body) {
    return ".version 8.0\n.target sm_75\n.address_size 64\n\n.visible .entry k(\n\t.param .u64 "
           "k_param_0\n)\n{\n" +
           std::string(body) + "\tret;\n}\n";
}

std::string copy_of(std::string_view name, std::string_view operands, std::string_view stub) {
    return "\t{ // PTXGRAFT_SITE " + std::string(name) + "\n" + std::string(operands) +
           "\t// PTXGRAFT_STUB\n" + std::string(stub) + "\t// PTXGRAFT_END\n\t}\n";
}

const std::string epilogue =
    copy_of("epilogue",
            "\t.reg .f32 _acc; // mod f32 acc\n\tmov.b32 _acc, %f5;\n"
            "\t.reg .f32 _frag<4>; // in f32 frag 4\n\t.reg .u32 _z; // in q8:u32 z\n",
            "\tadd.f32 _acc, _acc, _frag0;\n");

std::string_view at(std::string_view text, Span span) {
    return text.substr(span.begin, span.end - span.begin);
}

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

TEST(Site, ScanReadsHotAndCold) {
    const auto heat = [](const std::string& policy) {
        const auto sites = scan(in_entry(copy_of("s " + policy, "", "")));
        return sites ? std::string(name(sites->sites[0].policy.heat)) : message(sites.error());
    };
    EXPECT_EQ(heat(""), "unsaid");
    EXPECT_EQ(heat("hot"), "hot");
    EXPECT_EQ(heat("pure cold allow load"), "cold");
    EXPECT_EQ(heat("allow load cold warp"), "cold");
    EXPECT_EQ(heat("allow hot"), "hot");
    for (const char* const wrong : {"hot cold", "cold pure", "allow", "warm", "hot allow cold"})
        EXPECT_THAT(heat(wrong), HasSubstr("right is: name [pure] [hot|cold]")) << wrong;
    const std::string both = in_entry(copy_of("s hot", "", "") + copy_of("s", "", ""));
    EXPECT_EQ(scan(both).error().code, Errc::policies_disagree);
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
    EXPECT_EQ(rendered.error().code, Errc::site_unknown);
    EXPECT_EQ(rendered.error().index, 1u);
    const Replacement twice[] = {{"epilogue", ""}, {"epilogue", "x"}};
    EXPECT_EQ(render(ptx, sites, twice).error().code, Errc::site_filled_twice);
    EXPECT_EQ(render("short", sites, {}).error().code, Errc::argument_invalid);
}

struct Refusal {
    std::string_view what;
    std::string_view body;
    Errc code;
    std::string_view place;  ///< what the span covers
};

class SiteRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(SiteRefuses, WithThePlace) {
    const std::string ptx = in_entry(GetParam().body);
    const auto sites = scan(ptx);
    ASSERT_FALSE(sites);
    EXPECT_EQ(name(sites.error().code), name(GetParam().code));
    ASSERT_TRUE(sites.error().span.known());
    EXPECT_EQ(at(ptx, sites.error().span), GetParam().place);
    EXPECT_THAT(describe(sites.error(), ptx, "k.ptx"), HasSubstr("k.ptx:"));
}

#define COPY(HEAD, OPERANDS) "{ // PTXGRAFT_SITE " HEAD "\n" OPERANDS "// PTXGRAFT_STUB\n// PTXGRAFT_END\n}\n"

const Refusal refusals[] = {
    {"NoName", "{ // PTXGRAFT_SITE \n}\n", Errc::site_name_missing, "// PTXGRAFT_SITE"},
    {"WordAfterTheName", COPY("a fast", ""), Errc::site_malformed, "fast"},
    {"UnknownEffect", COPY("a allow load magic", ""), Errc::effect_unknown, "magic"},
    {"AllowNothing", COPY("a allow", ""), Errc::site_malformed, ""},
    {"NoEnd", "{ // PTXGRAFT_SITE a\n// PTXGRAFT_STUB\n}\n", Errc::marker_without_end, "// PTXGRAFT_SITE a"},
    {"NoStub", "// PTXGRAFT_SITE a\n// PTXGRAFT_END\n", Errc::site_without_stub, "// PTXGRAFT_SITE a"},
    {"EndAlone", "// PTXGRAFT_END\n", Errc::marker_without_begin, "// PTXGRAFT_END"},
    {"StubAlone", "// PTXGRAFT_STUB\n", Errc::marker_without_begin, "// PTXGRAFT_STUB"},
    {"StubTwice", "// PTXGRAFT_SITE a\n// PTXGRAFT_STUB\n//PTXGRAFT_STUB\n// PTXGRAFT_END\n",
     Errc::marker_without_begin, "//PTXGRAFT_STUB"},
    {"Nested", "// PTXGRAFT_SITE a\n// PTXGRAFT_SITE b\n", Errc::marker_nested, "// PTXGRAFT_SITE b"},
    {"ForeignEnd", "// PTXGRAFT_SITE a\n// PTXGRAFT_STUB\n// PTX_INJECT_END\n", Errc::marker_without_begin,
     "// PTX_INJECT_END"},
    {"TextBeforeEnd", "// PTXGRAFT_SITE a\n// PTXGRAFT_STUB\nadd; // PTXGRAFT_END\n",
     Errc::end_marker_not_alone, "// PTXGRAFT_END"},
    {"OpenBrace", "// PTXGRAFT_SITE a\n// PTXGRAFT_STUB\n{\n// PTXGRAFT_END\n", Errc::site_unbalanced,
     "// PTXGRAFT_SITE a"},
    {"BlockEndsInStub", "{ // PTXGRAFT_SITE a\n// PTXGRAFT_STUB\n}{\n// PTXGRAFT_END\n}\n",
     Errc::site_unbalanced, "// PTXGRAFT_SITE a"},
    {"CommentForOperand", COPY("a", "// just a remark\n"), Errc::operand_malformed, "// just a remark"},
    {"NoOperandName", COPY("a", "// in f32\n"), Errc::operand_malformed, "// in f32"},
    {"BadOperandName", COPY("a", "// in f32 x[0]\n"), Errc::operand_malformed, "// in f32 x[0]"},
    {"UnknownType", COPY("a", "// in f33 x\n"), Errc::type_unknown, "f33"},
    {"UnknownBase", COPY("a", "// in q8:f33 x\n"), Errc::type_unknown, "q8:f33"},
    {"CountOfNone", COPY("a", "// in f32 x 0\n"), Errc::fragment_count_wrong, "0"},
    {"CountOfWords", COPY("a", "// in f32 x four\n"), Errc::fragment_count_wrong, "four"},
    {"CountOverflows", COPY("a", "// in f32 x 99999999999999999999\n"), Errc::fragment_count_wrong,
     "99999999999999999999"},
    {"CountTooLarge", COPY("a", "// in f32 x 257\n"), Errc::registers_too_many, "257"},
    {"WordAfterCount", COPY("a", "// in f32 x 4 5\n"), Errc::operand_malformed, "// in f32 x 4 5"},
    {"RegistersTogether", COPY("a", "// in f32 x 200\n// in f32 y 57\n"), Errc::registers_too_many,
     "// in f32 y 57"},
    {"NameTwice", COPY("a", "// in f32 x\n// out f32 x\n"), Errc::operands_clash, "// out f32 x"},
    {"ElementAndScalar", COPY("a", "// mod f32 acc 4\n// in f32 acc3\n"), Errc::operands_clash,
     "// in f32 acc3"},
    {"FragmentWithADigit", COPY("a", "// in f32 x\n// mod f32 a1 2\n"), Errc::fragment_name_unusable,
     "// mod f32 a1 2"},
    {"ElementsOfTwoFragments", COPY("a", "// mod f32 a 12\n// in f32 a1 2\n"), Errc::operands_clash,
     "// in f32 a1 2"},
    {"OtherType", COPY("a", "// in f32 x\n") COPY("a", "// in u32 x\n"), Errc::signatures_disagree,
     "// in u32 x"},
    {"OtherName", COPY("a", "// in f32 x\n") COPY("a", "// in f32 y\n"), Errc::signatures_disagree,
     "// in f32 y"},
    {"OtherDirection", COPY("a", "// in f32 x\n") COPY("a", "// mod f32 x\n"), Errc::signatures_disagree,
     "// mod f32 x"},
    {"OtherCount", COPY("a", "// in f32 x\n") COPY("a", "// in f32 x 2\n"), Errc::signatures_disagree,
     "// in f32 x 2"},
    {"OtherUserType", COPY("a", "// in u32 x\n") COPY("a", "// in q:u32 x\n"), Errc::signatures_disagree,
     "// in q:u32 x"},
    {"FewerOperands", COPY("a", "// in f32 x\n") COPY("a", ""), Errc::signatures_disagree,
     "// PTXGRAFT_SITE a"},
    {"OtherPolicy", COPY("a", "") COPY("a pure", ""), Errc::policies_disagree, "// PTXGRAFT_SITE a pure"},
    {"ForeignOperandWithoutName", "// PTX_INJECT_START a\n// _x0 m f32 F32\n// PTX_INJECT_END\n",
     Errc::foreign_operand_malformed, "// _x0 m f32 F32"},
    {"ForeignDirection", "// PTX_INJECT_START a\n// _x0 q f32 F32 v\n// PTX_INJECT_END\n",
     Errc::foreign_operand_malformed, "// _x0 q f32 F32 v"},
    {"ForeignType", "// PTX_INJECT_START a\n// _x0 m f33 F32 v\n// PTX_INJECT_END\n", Errc::type_unknown,
     "f33"},
};

INSTANTIATE_TEST_SUITE_P(Rows, SiteRefuses, testing::ValuesIn(refusals),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(Site, ScanRefusesSitesOutsideOfFunctions) {
    const std::string module[] = {std::string(COPY("a", "")), ".global .b8 x[2] = " COPY("a", "") ";",
                                  in_entry("") + COPY("a", ""),
                                  ".extern .func f (.param .b32 p);\n" COPY("a", "")};
    for (const std::string& ptx : module) {
        const auto sites = scan(ptx);
        ASSERT_FALSE(sites) << ptx;
        EXPECT_EQ(sites.error().code, Errc::site_outside_function);
    }
}

TEST(Site, ScanTakesAMarkerOnlyWhereItIsTheFirstWordOfALineComment) {
    const std::string near_misses =
        "// see PTXGRAFT_SITE docs\n// PTXGRAFT_SITES a\n// ptxgraft_site a\n/* // PTXGRAFT_SITE a */\n"
        "/* text\n// PTXGRAFT_END\n*/ .pragma \"// PTXGRAFT_SITE a\";\nPTXGRAFT_SITE a;\n/ / PTXGRAFT_SITE "
        "a\n"
        "// // PTXGRAFT_SITE a\n//PTXGRAFT_SITE_a\n///PTXGRAFT_SITE a\n// \"PTXGRAFT_SITE\n";
    const std::string ptx = in_entry(near_misses + epilogue + near_misses);
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    EXPECT_EQ(sites->copy_count(), 1u);
}

// The same copy in other clothes: line ends, blanks, no newline at the end, code between.
TEST(Site, ScanDoesNotMindLayout) {
    const std::string ptx = in_entry(epilogue + epilogue);
    std::string crlf, wide, tight;
    for (const char c : ptx) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    for (const char c : ptx) wide += c == '\n' ? std::string(" \t\n\n \t\n") : std::string(1, c);
    for (std::size_t i = 0; i < ptx.size(); ++i)
        if (ptx[i] != '\t' && !(ptx.substr(i, 3) == " PT") && !(ptx.substr(i, 2) == "\n\n")) tight += ptx[i];
    for (const std::string& text : {crlf, wide, tight, ptx.substr(0, ptx.size() - 1)}) {
        const auto sites = scan(text);
        ASSERT_TRUE(sites) << describe(sites.error(), text);
        ASSERT_EQ(sites->copy_count(), 2u);
        EXPECT_EQ(sites->sites[0].signature.text(), "mod f32 acc, in f32 frag[4], in q8:u32 z");
        EXPECT_THAT(std::string(at(text, sites->sites[0].copies[1].stub)),
                    HasSubstr("add.f32 _acc, _acc, _frag0;"));
        const Replacement replacements[] = {{"epilogue", "\tnew;\n"}};
        const std::string rendered = render(text, *sites, replacements).value();
        EXPECT_EQ(rendered.find("add.f32"), std::string::npos);
        EXPECT_TRUE(scan(rendered));
    }
}

TEST(Site, ScanEndsAtTheLastMarkerOfAFileThatIsCutThere) {
    std::string ptx = in_entry(epilogue);
    ptx.resize(ptx.find("// PTXGRAFT_END") + sizeof("// PTXGRAFT_END") - 1);
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    EXPECT_EQ(sites->copy_count(), 1u);
    EXPECT_EQ(sites->functions[0].span.end, ptx.size());
}

TEST(Site, ScanKnowsTheFunctionAroundEachCopy) {
    const std::string ptx =
        ".version 8.0\n// .entry comment(\n.extern .func (.param .b32 r) proto (.param .b32 p);\n"
        ".global .align 4 .b8 data[4] = {1, 2, 3, 4};\n.pragma \".entry string\";\n"
        ".func  (.param .b32 func_retval0) helper(.param .b32 a)\n.noreturn\n{\n" +
        epilogue + "{ {%f1, %f2} }\n" + epilogue +
        "}\n"
        ".entry empty() { ret; }\n"
        ".weak .entry /* .func not_this */ kernel$1 (.param .u64 .ptr .align 1 p)\n.maxntid 128, 1, 1\n{" +
        epilogue +
        "}\n"
        ".section .debug_info { .b8 1 }\n.visible .func .attribute(.unified(1, 2)) last { " +
        epilogue + "}";
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    std::vector<std::string> functions;
    for (const SiteCopy& copy : sites->sites[0].copies)
        functions.push_back(sites->functions[copy.function].name);
    EXPECT_THAT(functions, ElementsAre("helper", "helper", "kernel$1", "last"));
    EXPECT_FALSE(sites->functions[0].is_entry);
    EXPECT_TRUE(sites->functions[1].is_entry);
    EXPECT_TRUE(at(ptx, sites->functions[0].span).starts_with(".func  (.param .b32 func_retval0) helper"));
    EXPECT_TRUE(at(ptx, sites->functions[2].span).ends_with("}"));
}

// Braces in every order, at every place of the blocks in which they are counted.
TEST(Site, ScanCountsBracesWhereverTheyLie) {
    for (const std::string_view braces : {"", "{}", "{}{}{}", "{{}}", "{{}{}}{}", "{ {%f1, %f2} } {%f3}",
                                          "{{{}}}{{}}", "{/*}*/}", "{\"}\" }"})
        for (std::size_t pad = 0; pad < 130; ++pad) {
            const std::string filler = std::string(pad, ' ') + std::string(braces);
            const std::string ptx = ".func first() {" + filler + "\n" + epilogue + filler + "}" + filler +
                                    "\n.entry second() {" + filler + "\n" + epilogue + std::string(pad, ';') +
                                    "}" + std::string(130, ';');
            const auto sites = scan(ptx);
            ASSERT_TRUE(sites) << describe(sites.error(), ptx);
            ASSERT_EQ(sites->functions.size(), 2u) << ptx;
            EXPECT_EQ(at(ptx, sites->functions[0].span),
                      ".func first() {" + filler + "\n" + epilogue + filler + "}");
            EXPECT_EQ(sites->functions[1].name, "second");
            EXPECT_EQ(sites->functions[1].span.end, ptx.size() - 130);
        }
}

TEST(Site, ScanIsLinearInStringsWithoutAnEnd) {
    std::string ptx = in_entry("");
    for (int i = 0; i < 1 << 20; ++i) ptx += "\\\"";
    EXPECT_TRUE(scan(ptx)->sites.empty());
}

TEST(Site, ScanReadsTheMarkersOfMmPtx) {
    const std::string ptx = in_entry(
        "\t{\n\t.reg .f32 %_x0;\n\tmov.f32 %_x0, %f1;\n\t// PTX_INJECT_START func\n\t// _x0 m f32 F32 "
        "v\n\t// _x1 i u32 U32 row\n"
        "\t// PTX_INJECT_END\n\tmov.f32 %f1, %_x0;\n\t}\n"
        "\t// PTX_INJECT_START default\n\t// _x0 o f32 F32 y\n\n\t// a remark\n\tmov.f32 %_x0, "
        "0f00000000;\n\t// PTX_INJECT_END\n");
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    EXPECT_EQ(sites->sites[0].signature.text(), "mod f32 v, in u32 row");
    EXPECT_EQ(sites->sites[0].signature.operands[1].register_name, "%_x1");
    EXPECT_EQ(sites->sites[0].policy.allowed, Effect::all);
    EXPECT_EQ(at(ptx, sites->sites[0].copies[0].stub), "");
    EXPECT_EQ(at(ptx, sites->sites[1].copies[0].stub), "\n\t// a remark\n\tmov.f32 %_x0, 0f00000000;\n");
}

TEST(Site, ScanTakes64OperandsAnd256RegistersAndNoMore) {
    const auto with = [](std::size_t operands, std::size_t registers) {
        std::string lines;
        for (std::size_t i = 1; i < operands; ++i) lines += "// in f32 x" + std::to_string(i) + "_\n";
        lines += "// in f32 rest_ " + std::to_string(registers - operands + 1) + "\n";
        return scan(in_entry(copy_of("a", lines, "")));
    };
    EXPECT_TRUE(with(64, 256));
    EXPECT_EQ(with(65, 256).error().code, Errc::operands_too_many);
    EXPECT_EQ(with(64, 257).error().code, Errc::registers_too_many);
}

TEST(Site, FortyThousandSitesAreNoSpecialCase) {
    std::string body;
    for (int i = 0; i < 40000; ++i) body += copy_of("site_" + std::to_string(i), "// mod f32 acc\n", "");
    const std::string ptx = in_entry(body);
    const auto sites = scan(ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), ptx);
    ASSERT_EQ(sites->sites.size(), 40000u);
    std::vector<Replacement> replacements;
    for (const Site& site : sites->sites) replacements.push_back({site.name, "x;\n"});
    EXPECT_EQ(render(ptx, *sites, replacements)->size(), ptx.size() + 40000 * 3);
    EXPECT_EQ(sites->find("site_39999"), &sites->sites[39999]);
    const Sites copied = *sites;
    EXPECT_EQ(copied.find("site_0"), &copied.sites[0]);
}

TEST(Site, ScanOfEveryPrefixIsSitesOrAnErrorWithAPlace) {
    const std::string ptx =
        in_entry(epilogue + "// PTX_INJECT_START f\n// _x0 m f32 F32 v\n// PTX_INJECT_END\n");
    for (std::size_t size = 0; size <= ptx.size(); ++size) {
        const std::string prefix = ptx.substr(0, size);
        const auto sites = scan(prefix);
        if (sites)
            EXPECT_EQ(render(prefix, *sites, {}).value(), prefix);
        else
            EXPECT_LE(sites.error().span.end, size);
    }
}

TEST(Site, SignatureTextReadsBack) {
    for (const std::string_view text :
         {"", "in f32 x", "in f32 x, mod f32 acc, in f32 frag[8], out q8:u32 z, in pred p"})
        EXPECT_EQ(Signature::parse(text)->text(), text);
    EXPECT_EQ(Signature::parse("  in f32 x ,\n\tmod bf16x2 y[2]\n")->text(), "in f32 x, mod bf16x2 y[2]");
    EXPECT_EQ(Signature::parse("in f32 frag[8]")->operands[0].register_name, "_frag");
    EXPECT_EQ(Signature::parse("in f32 x")->find("y"), nullptr);
}

TEST(Site, SignatureRefusesWhatItCannotRead) {
    const std::pair<std::string_view, Errc> rows[] = {{"f32 x", Errc::signature_malformed},
                                                      {"in f32", Errc::signature_malformed},
                                                      {"in f33 x", Errc::type_unknown},
                                                      {"in f32 x,", Errc::signature_malformed},
                                                      {"in f32 x[0]", Errc::fragment_count_wrong},
                                                      {"in f32 x[4", Errc::signature_malformed},
                                                      {"in f32 x y", Errc::signature_malformed},
                                                      {"in f32 x, in f32 x", Errc::operands_clash},
                                                      {"in f32 x[4], in u32 x2", Errc::operands_clash},
                                                      {"mod f32 acc1[4]", Errc::fragment_name_unusable},
                                                      {"in f32 x[300]", Errc::registers_too_many}};
    for (const auto& [text, code] : rows) {
        const auto signature = Signature::parse(text);
        ASSERT_FALSE(signature) << text;
        EXPECT_EQ(name(signature.error().code), name(code)) << text;
        EXPECT_TRUE(signature.error().span.known()) << text;
    }
}

TEST(Site, TypesAreTheManualsWords) {
    // The enumerators have the numbers of the one table's rows: each must have its own word there.
    const std::pair<Type, std::string_view> words[] = {
        {Type::pred, "pred"}, {Type::b16, "b16"},       {Type::b32, "b32"}, {Type::b64, "b64"},
        {Type::u16, "u16"},   {Type::u32, "u32"},       {Type::u64, "u64"}, {Type::s16, "s16"},
        {Type::s32, "s32"},   {Type::s64, "s64"},       {Type::f16, "f16"}, {Type::f16x2, "f16x2"},
        {Type::bf16, "bf16"}, {Type::bf16x2, "bf16x2"}, {Type::f32, "f32"}, {Type::f64, "f64"}};
    EXPECT_EQ(std::size(words), static_cast<std::size_t>(Type::f64) + 1);
    for (const auto& [type, word] : words) {
        EXPECT_EQ(name(type), word);
        EXPECT_EQ(type_from_name(word).value(), type);
    }
    EXPECT_EQ(type_from_name("f8").error().code, Errc::type_unknown);
    EXPECT_EQ(bits(Type::bf16x2), 32u);
    EXPECT_EQ(register_type(Type::f16), ".b16");
    EXPECT_EQ(name(Effect::tensor), "tensor");
}

}  // namespace
}  // namespace ptxgraft
