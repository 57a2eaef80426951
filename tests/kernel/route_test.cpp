// Routes: a stub that is called computes what it computes where it is inlined; `auto` says why it takes
// which.
#include "ptxgraft/route.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/template.hpp"
#include "route_kernels.hpp"
#include "support/cache.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using namespace test;

Expected<Rendered> render(const Skeleton& skeleton, const Stub& stub, Route route) {
    return skeleton.render_by(std::vector<Graft>{{"s", stub}}, {.route = route});
}

std::vector<std::byte> result(const Skeleton& skeleton, const Stub& stub, Route route) {
    const Device device = *Device::open("emulator");
    const auto kernel = skeleton.graft({{"s", stub}}, device, {.routes = {.route = route}});
    if (!kernel) throw std::runtime_error(describe(kernel.error()));
    EXPECT_EQ(kernel->routes().front().route, route);
    const Buffer out = *device.upload(std::vector<std::uint32_t>(64 * 12, 0xEEEEEEEE));
    const auto done = kernel->launch({{1, 1, 1}, {64, 1, 1}}, out);
    if (!done) throw std::runtime_error(describe(done.error(), kernel->ptx()));
    return *out.download<std::byte>();
}

TEST(Route, NamesAreReadAndWritten) {
    for (const Route route : {Route::automatic, Route::inlined, Route::call, Route::link})
        EXPECT_EQ(*route_from_name(name(route)), route);
    EXPECT_EQ(route_from_name("patch").error().code, Errc::route_unknown);
    EXPECT_THAT(message(route_from_name("").error()), HasSubstr("auto, inline, call, link"));
}

TEST(Route, ACalledStubComputesWhatItComputesInline) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Stub stub = stub_of(skeleton);
    EXPECT_EQ(result(skeleton, stub, Route::call), result(skeleton, stub, Route::inlined));
}

TEST(Route, BothAssembleAndOnlyOneHasTheStubOnce) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Stub stub = stub_of(skeleton);
    for (const Route route : {Route::inlined, Route::call}) {
        const auto rendered = render(skeleton, stub, route);
        ASSERT_TRUE(rendered) << describe(rendered.error());
        const auto cubin = default_assembler().assemble(rendered->ptx);
        ASSERT_TRUE(cubin) << describe(cubin.error(), rendered->ptx);
        std::size_t count = 0;
        for (std::size_t at = rendered->ptx.find("mad.lo.u64"); at != std::string::npos;
             at = rendered->ptx.find("mad.lo.u64", at + 1))
            ++count;
        EXPECT_EQ(count, route == Route::call ? 1u : 2u);
    }
    EXPECT_EQ(render(skeleton, stub, Route::inlined)->ptx, *skeleton.render({{"s", stub}}));
}

// The module is as it was but for the copies of the site that is called and the function in front of the
// entry; a site without a stub keeps its own, an inlined one gets it.
TEST(Route, OnlyTheCalledSitesCopiesChange) {
    std::string other = copy();
    other.replace(other.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE t");
    const std::string text = kernel(copy() + other + copy());
    const Skeleton skeleton = skeleton_of(text);
    const Stub stub = stub_of(skeleton);
    std::string left = render(skeleton, stub, Route::call)->ptx;
    const std::size_t begin = left.find(".func"), end = left.find(".visible");
    ASSERT_LT(begin, end);
    left.erase(begin, end - begin);
    for (std::size_t at = 0; (at = left.find("\t{\n\t\t.param", at)) != std::string::npos;) {
        const std::size_t behind = left.find("\t}\n", at) + 3;
        left.replace(at, behind - at, "\tmov.f64 _wide, 0d0000000000000000;\n\tsetp.ne.u32 _flag, 0, 0;\n");
    }
    EXPECT_EQ(left, text);
    EXPECT_EQ(skeleton.render_by({}, {.route = Route::call})->ptx, text);
    const std::vector<Graft> both{{"s", stub}, {"t", stub}};
    const auto mixed = skeleton.render_by(both, {.route = Route::call, .sites = {{"t", Route::inlined}}});
    ASSERT_TRUE(mixed) << describe(mixed.error());
    EXPECT_EQ(mixed->routes[0].route, Route::call);
    EXPECT_EQ(mixed->routes[1].route, Route::inlined);
    std::size_t products = 0;
    for (std::size_t at = 0; (at = mixed->ptx.find("mad.lo.u64", at)) != std::string::npos; ++at) ++products;
    EXPECT_EQ(products, 2u);  // in the function, and in the one copy of t
    EXPECT_TRUE(default_assembler().assemble(mixed->ptx));
}

TEST(Route, ANameOfTheTextIsNotTakenForTheFunction) {
    std::string text = two_copies;
    text.insert(head.size(), ".global .u32 ptxgraft_0_s;\n.global .u32 ptxgraft__0_s;\n");
    const Skeleton skeleton = skeleton_of(text);
    EXPECT_EQ(result(skeleton, stub_of(skeleton), Route::call),
              result(skeleton, stub_of(skeleton), Route::inlined));
}

// Names that differ only in what no name of PTX has, or by what parameters are called; a thousand of them.
TEST(Route, ManySitesOfSimilarNames) {
    std::string body;
    std::vector<std::string> names = {"a.b", "a:b", "a", "a_in0", "a_out"};
    for (int i = 0; i < 1000; ++i) names.push_back("s" + std::to_string(i));
    for (const std::string& name : names) {
        std::string one = copy();
        one.replace(one.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE " + name);
        body += one;
    }
    const Skeleton skeleton = skeleton_of(kernel(body));
    const auto stub = Stub::from_ptx(stub_text, *skeleton.site("a.b"));
    std::vector<Graft> grafts;
    for (const std::string& name : names) grafts.emplace_back(name, *stub);
    const auto rendered = skeleton.render_by(grafts, {.route = Route::call});
    ASSERT_TRUE(rendered) << describe(rendered.error());
    std::set<std::string> functions;
    for (std::size_t at = 0; (at = rendered->ptx.find(") ptxgraft_", at)) != std::string::npos; ++at)
        functions.insert(rendered->ptx.substr(at, rendered->ptx.find('(', at) - at));
    EXPECT_EQ(functions.size(), names.size());
    EXPECT_TRUE(syntax::parse(rendered->ptx));
    EXPECT_THAT(isa::verify(*syntax::parse(rendered->ptx)), testing::IsEmpty());
}

TEST(Route, LinesThatEndAsOnOtherSystems) {
    std::string text;
    for (const char c : two_copies) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    const Skeleton skeleton = skeleton_of(text), plain = skeleton_of(two_copies);
    EXPECT_EQ(result(skeleton, stub_of(skeleton), Route::call),
              result(plain, stub_of(plain), Route::inlined));
}

TEST(Route, SeveralEntriesCallOneFunction) {
    std::string text = two_copies;
    const std::string entry = two_copies.substr(head.size());
    text += entry;
    text.replace(text.rfind(" k("), 3, " other(");
    const Skeleton skeleton = skeleton_of(text);
    const auto rendered = render(skeleton, stub_of(skeleton), Route::call);
    ASSERT_TRUE(rendered);
    EXPECT_EQ(rendered->ptx.find(".func"), rendered->ptx.rfind(".func"));
    EXPECT_TRUE(default_assembler().assemble(rendered->ptx));
}

// What a function of its own would change is refused with its reason, and `auto` inlines it.
struct Obstacle {
    std::string policy, stub, why;
};
const Obstacle obstacles[] = {
    {"allow exit", "exit;\n", "it ends the function"},
    {"allow load", "ld.shared.f32 acc, [box];\n", "it names box of the function around it"},
    {"allow load", "ld.param.u64 count, [out];\n", "it names out of the function around it"},
    {"", "addc.u64 count, count, 0;\n", "carry flag"},
    {"allow state", "stackrestore.u64 count;\n", "the stack is the function's own"},
};

TEST(Route, StubsThatCannotBeCalled) {
    for (const Obstacle& row : obstacles) {
        const Skeleton skeleton = skeleton_of(kernel(copy(row.policy) + copy(row.policy)));
        const Stub stub = stub_of(skeleton, std::string(stub_text) + row.stub);
        const auto called = render(skeleton, stub, Route::call);
        ASSERT_FALSE(called) << row.stub;
        EXPECT_EQ(called.error().code, Errc::route_not_possible);
        EXPECT_EQ(called.error().index, 0u);
        EXPECT_THAT(message(called.error()), AllOf(HasSubstr("site s"), HasSubstr(row.why)));
        const auto chosen = render(skeleton, stub, Route::automatic);
        ASSERT_TRUE(chosen);
        EXPECT_EQ(chosen->routes[0].route, Route::inlined);
        EXPECT_THAT(chosen->routes[0].reason, HasSubstr(row.why));
    }
}

TEST(Route, VariablesOfTheModuleMayBeNamed) {
    const Skeleton skeleton = skeleton_of(kernel(copy("allow load") + copy("allow load")));
    const Stub stub = stub_of(skeleton, std::string(stub_text) + "ld.global.f32 acc, [table+8];\n");
    EXPECT_EQ(result(skeleton, stub, Route::call), result(skeleton, stub, Route::inlined));
}

// Names that the stub declares are its own, whatever the function around the site has; labels need `allow
// branch`.
TEST(Route, NamesOfTheStubItself) {
    const std::string body = copy("allow branch") + "$done:\n" + copy("allow branch");
    const Skeleton skeleton = skeleton_of(kernel(body));
    const std::string own = std::string(stub_text) +
                            ".reg .f32 box; mov.f32 box, 2.0; .reg .b64 out; mov.b64 out, 3;\n"
                            "@odd bra $done;\nadd.f32 acc, acc, box; add.u64 count, count, out;\n$done:\n";
    EXPECT_EQ(result(skeleton, stub_of(skeleton, own), Route::call),
              result(skeleton, stub_of(skeleton, own), Route::inlined));
    const std::string clash = std::string(stub_text) + "@odd bra ptxgraft_0_s;\nptxgraft_0_s:\n";
    EXPECT_THAT(message(render(skeleton, stub_of(skeleton, clash), Route::call).error()),
                HasSubstr("ptxgraft_0_s of its own"));
}

TEST(Route, AnErrorInACalledStubNamesTheSite) {
    const Skeleton skeleton = skeleton_of(kernel(copy("allow load") + copy("allow load")));
    const Stub stub =
        stub_of(skeleton, std::string(stub_text) + "mov.u64 count, 16;\nld.global.f32 acc, [count];\n");
    const Device device = *Device::open("emulator");
    std::set<std::string> lines;
    for (const Route route : {Route::inlined, Route::call}) {
        const auto kernel = skeleton.graft({{"s", stub}}, device, {.routes = {.route = route}});
        const auto done = kernel->launch({{1, 1, 1}, {64, 1, 1}}, *device.allocate(64 * 48));
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::address_out_of_bounds);
        EXPECT_THAT(message(done.error()), HasSubstr("in the stub of site s, line "));
        lines.insert(
            message(done.error()).substr(message(done.error()).find("in the stub of")).substr(0, 34));
    }
    EXPECT_EQ(lines.size(), 1u) << *lines.begin() << " or " << *lines.rbegin();
}

RouteChoice chosen(const std::string& ptx, std::string_view stub) {
    const Skeleton skeleton = skeleton_of(ptx);
    const auto rendered = render(skeleton, stub_of(skeleton, stub), Route::automatic);
    EXPECT_TRUE(rendered) << describe(rendered.error());
    return rendered->routes.at(0);
}

TEST(Route, AutomaticChoosesByCopiesLengthAndLoops) {
    std::string many = std::string(stub_text), copies;
    for (int i = 0; i < 80; ++i) many += "add.f32 acc, acc, h;\n";
    for (int i = 0; i < 8; ++i) copies += copy();
    const auto is = [](Route route, const char* reason) {
        return AllOf(Field(&RouteChoice::site, "s"), Field(&RouteChoice::route, route),
                     Field(&RouteChoice::reason, HasSubstr(reason)));
    };
    EXPECT_THAT(chosen(kernel(copies), many), is(Route::call, "8 copies of 91 instructions, none in a loop"));
    EXPECT_THAT(chosen(kernel(copies), stub_text), is(Route::inlined, "8 copies of 11 instructions"));
    EXPECT_THAT(chosen(kernel(copy()), many), is(Route::inlined, "there is one copy"));
    const std::string looped = kernel(copies + "LOOP:\n" + copy() +
                                      "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 3;\n@%p1 bra LOOP;\n");
    EXPECT_THAT(chosen(looped, many), is(Route::inlined, "a copy is in a loop"));
    // A function that is called in a loop, by one that is, or by itself runs as often as one.
    const std::string function = head +
                                 ".func f()\n{\n.reg .pred %p<3>; .reg .b16 %rs<2>; .reg .b64 %rd<6>; .reg "
                                 ".f32 %f<6>; .reg .f64 %fd<2>;\n" +
                                 copies;
    const std::string once = function + "}\n.entry k()\n{\ncall f;\n}\n";
    EXPECT_THAT(chosen(once, many), is(Route::call, "none in a loop"));
    const std::string repeated[] = {
        function + "}\n.entry k()\n{\nL: call f;\nbra L;\n}\n",
        function + "}\n.func g() { call f; }\n.entry k()\n{\nL: call g;\nbra L;\n}\n",
        function + "call f;\n}\n.entry k()\n{\ncall f;\n}\n",
        function + "}\n.entry k()\n{\n.reg .b64 %a; mov.u64 %a, f;\n}\n",
        function + "}\n.global .u64 table2[1] = {f};\n.entry k()\n{\n}\n",
        // NVRTC writes a prototype of a recursive function.
        head + ".func f();\n" + function.substr(head.size()) + "call f;\n}\n.entry k()\n{\ncall f;\n}\n",
        head + ".func f();\n.func g();\n.func g() { call f; }\n" + function.substr(head.size()) +
            "call g;\n}\n.entry k()\n{\ncall f;\n}\n",
        head + ".func g();\n" + function.substr(head.size()) +
            "}\n.func g() { call f; }\n.entry k()\n{\nL: call g;\nbra L;\n}\n",
        function + "}\n.func other();\n.alias other, f;\n.entry k()\n{\nL: call other;\nbra L;\n}\n",
        function + "}\n.func other();\n.func third();\n.alias third, other;\n.alias other, f;\n" +
            ".entry k()\n{\nL: call third;\nbra L;\n}\n",
    };
    for (const std::string& ptx : repeated)
        EXPECT_THAT(chosen(ptx, many), is(Route::inlined, "in a function that one calls"));
}

TEST(Route, OptionsOfSites) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const std::vector<Graft> grafts{{"s", stub_of(skeleton)}};
    const auto called = skeleton.render_by(grafts, {.route = Route::inlined, .sites = {{"s", Route::call}}});
    EXPECT_THAT(called->ptx, HasSubstr("call "));
    const auto inlined = skeleton.render_by(grafts, {.route = Route::call, .sites = {{"s", Route::inlined}}});
    EXPECT_THAT(inlined->ptx, Not(HasSubstr("call ")));
    EXPECT_EQ(skeleton.render_by(grafts, {.sites = {{"t", Route::call}}}).error().code, Errc::site_unknown);
}

TEST(Route, ThreadsAskAtOnce) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Stub stub = stub_of(skeleton);
    const std::string expected = render(skeleton, stub, Route::call)->ptx;
    const Skeleton fresh = skeleton_of(two_copies);
    std::vector<std::string> texts(8);
    std::vector<std::thread> threads;
    for (std::string& text : texts)
        threads.emplace_back([&] { text = render(fresh, stub_of(fresh), Route::call)->ptx; });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(texts, Each(expected));
}

TEST(Route, EverySiteOfEveryTemplateCanBeCalled) {
    const auto all = Template::all();
    ASSERT_TRUE(all) << describe(all.error());
    EXPECT_GE(all->size(), 20u);
    for (const Template& from : *all) {
        SCOPED_TRACE(from.name());
        const auto skeleton = from.skeleton({}, {}, {.cache = &test::cache()});
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        std::vector<Graft> grafts;
        for (const Site& site : skeleton->sites().sites)
            grafts.emplace_back(site.name, test::mild_stub(site));
        const auto rendered = skeleton->render_by(grafts, {.route = Route::call});
        ASSERT_TRUE(rendered) << describe(rendered.error());
        const auto cubin = cached(default_assembler(), test::cache())->assemble(rendered->ptx);
        EXPECT_TRUE(cubin) << describe(cubin.error(), rendered->ptx);
        const auto kernel = skeleton->graft(grafts, *Device::open("emulator"),
                                            {.entry = from.entry(), .routes = {.route = Route::automatic}});
        if (from.name() == "gemm/tcgen05") {  // which the emulator does not run
            EXPECT_EQ(kernel.error().code, Errc::target_differs);
        } else {
            EXPECT_TRUE(kernel) << describe(kernel.error());
        }
    }
}

}  // namespace
}  // namespace ptxgraft
