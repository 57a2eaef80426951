// The `link` route: machine code of a skeleton and of its stubs, made apart and linked.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/template.hpp"
#include "route_kernels.hpp"
#include "support/cache.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace test;

// Names of symbols that are used and not defined, but for those that whole assembly leaves to the driver.
std::vector<std::string> undefined_symbols(const Cubin& cubin) {
    std::vector<std::string> names;
    const char* const image = reinterpret_cast<const char*>(cubin.image.data());
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), image + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& table : sections) {
        if (table.sh_type != SHT_SYMTAB) continue;
        for (std::size_t at = sizeof(Elf64_Sym); at < table.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, image + table.sh_offset + at, sizeof symbol);
            const std::string name = image + sections[table.sh_link].sh_offset + symbol.st_name;
            if (symbol.st_shndx == SHN_UNDEF && !name.starts_with(".nv.reservedSmem.")) names.push_back(name);
        }
    }
    return names;
}

std::vector<std::string> names_of(const Cubin& cubin) {
    std::vector<std::string> names;
    for (const FunctionUsage& function : cubin.functions) names.push_back(function.name);
    std::ranges::sort(names);
    return names;
}

const GraftOptions linking{.routes = {.route = Route::link}};

TEST(LinkRoute, LinksAStubToTheSkeleton) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const auto code = skeleton.assemble({{"s", stub_of(skeleton)}}, linking);
    ASSERT_TRUE(code) << describe(code.error());
    EXPECT_EQ(code->routes.at(0).route, Route::link);
    EXPECT_THAT(undefined_symbols(*code->cubin), IsEmpty());
    ASSERT_EQ(code->cubin->functions.size(), 2u);
    EXPECT_THAT(names_of(*code->cubin), ElementsAre("k", HasSubstr("ptxgraft_0_s_")));
    for (const FunctionUsage& function : code->cubin->functions)
        EXPECT_GT(function.registers, 0u) << function.name;
    EXPECT_THAT(code->cubin->assembler, HasSubstr("nvjitlink"));
}

TEST(LinkRoute, TheSkeletonIsAssembledOnceAndEachStubOnce) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Counting assembler;
    GraftOptions options = linking;
    options.assembler = &assembler;
    const auto machine_code = [&](const std::string& more) {
        const auto code =
            skeleton.assemble({{"s", stub_of(skeleton, std::string(stub_text) + more)}}, options);
        EXPECT_TRUE(code) << describe(code.error());
        return code->cubin->image;
    };
    const auto first = machine_code("");
    EXPECT_EQ(assembler.count, 2);
    const auto other = machine_code("add.f32 acc, acc, 1.0;\n");
    EXPECT_EQ(assembler.count, 3);
    EXPECT_EQ(machine_code(""), first);
    EXPECT_EQ(assembler.count, 3);
    EXPECT_NE(other, first);
    options.assemble.optimisation = 0;
    machine_code("");
    EXPECT_EQ(assembler.count, 5);
}

// What `link` makes does what the text of `call` does, which the emulator runs.
TEST(LinkRoute, TheEmulatorRunsTheCalledText) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Stub stub = stub_of(skeleton);
    const auto kernel = skeleton.graft({{"s", stub}}, *Device::open("emulator"), linking);
    ASSERT_TRUE(kernel) << describe(kernel.error());
    EXPECT_EQ(kernel->ptx(),
              skeleton.render_by(std::vector<Graft>{{"s", stub}}, {.route = Route::call})->ptx);
}

TEST(LinkRoute, SeveralSitesAndRoutesAtOnce) {
    std::string other = copy(), third = copy();
    other.replace(other.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE t");
    third.replace(third.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE u");
    const Skeleton skeleton = skeleton_of(kernel(copy() + other + third + copy()));
    const Stub stub = stub_of(skeleton);
    const std::vector<Graft> grafts{{"s", stub}, {"t", stub}, {"u", stub}};
    const auto code =
        skeleton.assemble(grafts, {.routes = {.route = Route::link, .sites = {{"u", Route::call}}}});
    ASSERT_TRUE(code) << describe(code.error());
    EXPECT_THAT(undefined_symbols(*code->cubin), IsEmpty());
    EXPECT_THAT(names_of(*code->cubin),
                ElementsAre("k", HasSubstr("ptxgraft_0_s_"), HasSubstr("ptxgraft_1_t_"), "ptxgraft_2_u"));
}

struct Refused {
    const char *kernel, *policy, *stub, *why;
};
const Refused refused[] = {
    {"", "allow load", "ld.global.f32 acc, [table];\n", "it names table of the skeleton's module"},
    {"", "allow load", "ld.shared.f32 acc, [box];\n", "it names box of the function around it"},
    {"setmaxnreg.dec.sync.aligned.u32 40;\n", "", "", "the skeleton has setmaxnreg"},
    {"wgmma.fence.sync.aligned;\n", "", "", "the skeleton has wgmma"},
};

TEST(LinkRoute, WhatCannotBeLinkedSaysWhy) {
    for (const Refused& row : refused) {
        const Skeleton skeleton = skeleton_of(kernel(row.kernel + copy(row.policy) + copy(row.policy)));
        const Stub stub = stub_of(skeleton, std::string(stub_text) + row.stub);
        const auto code = skeleton.assemble({{"s", stub}}, linking);
        ASSERT_FALSE(code) << row.why;
        EXPECT_EQ(code.error().code, Errc::route_not_possible);
        EXPECT_THAT(message(code.error()), AllOf(HasSubstr("cannot be linked"), HasSubstr(row.why)));
    }
    const Skeleton wgmma = skeleton_of(kernel("wgmma.fence.sync.aligned;\n" + copy() + copy()));
    const auto prepared = wgmma.prepare();
    ASSERT_TRUE(prepared) << describe(prepared.error());
    EXPECT_THAT(prepared->not_linkable, HasSubstr("the skeleton has wgmma.fence.sync.aligned (line 19)"));
    const auto chosen = wgmma.assemble({{"s", stub_of(wgmma)}}, {.routes = {.route = Route::automatic}});
    ASSERT_TRUE(chosen) << describe(chosen.error());
    EXPECT_EQ(chosen->routes[0].route, Route::inlined);
}

// A skeleton that takes long to assemble.
std::string slow(const std::string& body, int statements = 4000) {
    std::string work;
    for (int i = 0; i < statements; ++i)
        work += "fma.rn.f32 %f" + std::to_string(1 + i % 5) + ", %f" + std::to_string(1 + (i + 1) % 5) +
                ", %f" + std::to_string(1 + (i + 2) % 5) + ", 0f3F8" + std::to_string(10000 + i) + ";\n";
    return kernel(work + body);
}

TEST(LinkRoute, AutomaticLinksWhatWasPreparedAndPays) {
    const Skeleton skeleton = skeleton_of(slow(copy() + copy()));
    const Stub stub = stub_of(skeleton);
    const auto route = [&](const Skeleton& of, const GraftOptions& options) {
        const auto code = of.assemble({{"s", stub}}, options);
        EXPECT_TRUE(code) << describe(code.error());
        return code->routes.at(0);
    };
    const GraftOptions automatic{.routes = {.route = Route::automatic}};
    EXPECT_EQ(route(skeleton, automatic).route, Route::inlined);
    const auto prepared = skeleton.prepare(automatic);
    ASSERT_TRUE(prepared) << describe(prepared.error());
    EXPECT_EQ(prepared->not_linkable, "");
    EXPECT_GT(prepared->whole, prepared->stub + prepared->link);
    EXPECT_EQ(route(skeleton, automatic).route, Route::link);
    EXPECT_THAT(route(skeleton, automatic).reason, HasSubstr("ms to assemble, a stub and a link "));
    GraftOptions other = automatic;
    other.assemble.optimisation = 1;
    EXPECT_EQ(route(skeleton, other).route, Route::inlined);  // it was prepared for optimisation 3
    const Skeleton looped = skeleton_of(slow("LOOP:\n" + copy() + "@%p1 bra LOOP;\n"));
    EXPECT_THAT(looped.prepare(automatic)->not_linkable, HasSubstr("in a loop"));
    EXPECT_EQ(route(looped, automatic).route, Route::inlined);
}

// What a candidate may be refused for is no reason not to measure.
TEST(LinkRoute, LimitsAreForCandidates) {
    const Skeleton skeleton = skeleton_of(slow(copy() + copy()));
    GraftOptions options{.assemble = {.limits = {.registers = 1}}, .routes = {.route = Route::automatic}};
    const auto prepared = skeleton.prepare(options);
    ASSERT_TRUE(prepared) << describe(prepared.error());
    EXPECT_GT(prepared->link, 0);
    const auto refused_one = skeleton.assemble({{"s", stub_of(skeleton)}}, options);
    EXPECT_EQ(refused_one.error().code, Errc::assemble_limit_exceeded);
    options.assemble.limits = {};
    EXPECT_EQ(skeleton.assemble({{"s", stub_of(skeleton)}}, options)->routes.at(0).route, Route::link);
}

// A function of its own has the calling convention's registers, and spills what its entry need not.
TEST(LinkRoute, AutomaticInlinesWhatIsOverALimitAsAFunction) {
    const Skeleton skeleton = skeleton_of(slow(copy() + copy()));
    const Stub stub = stub_of(skeleton);
    const auto assembled = [&](Route route, AssembleLimits limits) {
        return skeleton.assemble({{"s", stub}}, {.assemble = {.limits = limits}, .routes = {.route = route}});
    };
    const auto most = [](const MachineCode& code) {
        std::uint32_t registers = 0;
        for (const FunctionUsage& f : code.cubin->functions) registers = std::max(registers, f.registers);
        return registers;
    };
    ASSERT_TRUE(skeleton.prepare({.routes = {.route = Route::automatic}}));
    const auto inlined = assembled(Route::inlined, {}), linked = assembled(Route::automatic, {});
    ASSERT_TRUE(inlined && linked);
    EXPECT_EQ(linked->routes.at(0).route, Route::link);
    ASSERT_LT(most(*inlined), most(*linked));
    const AssembleLimits limits{.registers = most(*inlined)};
    EXPECT_EQ(assembled(Route::link, limits).error().code, Errc::assemble_limit_exceeded);
    const auto code = assembled(Route::automatic, limits);
    ASSERT_TRUE(code) << describe(code.error());
    EXPECT_NE(code->routes.at(0).route, Route::link);
    EXPECT_THAT(code->routes.at(0).reason, HasSubstr("linked it is over a limit"));
    EXPECT_LE(most(*code), most(*inlined));
}

// So it is too in a batch whose cache has the error of the call, and beside a site that is linked on request.
TEST(LinkRoute, AutomaticInlinesWhatIsOverALimitWhenItIsCalled) {
    const Skeleton alone = skeleton_of(kernel(copy("cold") + copy("cold"))),
                   beside = skeleton_of(small_kernel(small_copy("s", "cold"), 22, small_copy("t")));
    const auto small = [&](const char* site) {
        return Graft{site, *compile_expression("acc = acc * 1.5", *beside.site(site))};
    };
    struct Case {
        const Skeleton& skeleton;
        std::vector<Graft> grafts;  // the first one is `auto`
        RouteOptions routes;
    };
    const Case cases[] = {
        {alone, {{"s", stub_of(alone)}}, {.route = Route::automatic}},
        {beside, {small("s"), small("t")}, {.route = Route::automatic, .sites = {{"t", Route::link}}}}};
    const auto most = [](const MachineCode& code) {
        std::uint32_t registers = 0;
        for (const FunctionUsage& f : code.cubin->functions) registers = std::max(registers, f.registers);
        return registers;
    };
    for (const Case& of : cases) {
        GraftOptions options{.routes = of.routes};
        options.routes.route = Route::inlined;
        const auto inlined = of.skeleton.assemble(of.grafts, options);
        options.routes.route = Route::automatic;
        const auto called = of.skeleton.assemble(of.grafts, options);
        ASSERT_TRUE(inlined && called);
        EXPECT_EQ(called->routes.at(0).route, Route::call);
        ASSERT_LT(most(*inlined), most(*called));
        const auto cache = Cache::open({});
        options.cache = &*cache;
        options.assemble.limits.registers = most(*inlined);
        for (const std::uint32_t variants : {4u, 1u, 4u}) {
            const std::vector<std::vector<Graft>> two(2, of.grafts);
            for (const auto& code :
                 of.skeleton.assemble_many(two, options, {.threads = 1, .variants_per_module = variants})) {
                ASSERT_TRUE(code) << describe(code.error());
                EXPECT_EQ(code->routes.at(0).route, Route::inlined);
                EXPECT_THAT(code->routes.at(0).reason, HasSubstr("called it is over a limit"));
            }
        }
    }
}

// Candidates have other stubs than the default ones.
TEST(LinkRoute, WhatCannotBeMeasuredIsNotLinked) {
    struct Ending : Assembler {
        std::string_view name() const override { return default_assembler().name(); }
        std::string version() const override { return default_assembler().version(); }
        Expected<Cubin> assemble(std::string_view, const AssembleOptions&) const override {
            return fail(Errc::assembler_ended, "killed after 100 ms");
        }
    };
    const Skeleton skeleton = skeleton_of(slow(copy() + copy()));
    const Ending ending;
    const auto prepared = skeleton.prepare({.routes = {.route = Route::automatic}, .assembler = &ending});
    ASSERT_TRUE(prepared) << describe(prepared.error());
    EXPECT_THAT(prepared->not_linkable, HasSubstr("killed after 100 ms"));
    const auto code = skeleton.assemble({{"s", stub_of(skeleton)}}, {.routes = {.route = Route::automatic}});
    ASSERT_TRUE(code) << describe(code.error());
    EXPECT_EQ(code->routes.at(0).route, Route::inlined);
}

// What only the linker sees: `auto` calls instead, and duplicates say the same.
TEST(LinkRoute, AutomaticCallsWhatDoesNotLink) {
    std::string text = slow(copy() + copy());
    text.insert(head.size(), ".extern .func (.param .b32 r) missing();\n");
    text.insert(text.find("\tmov.u32 %r1, %tid.x;"),
                "\t{ .param .b32 r; call (r), missing; ld.param.b32 %r5, [r]; }\n");
    const Skeleton skeleton = skeleton_of(text);
    const auto prepared = skeleton.prepare({.assemble = {.relocatable = true}});
    ASSERT_TRUE(prepared) << describe(prepared.error());
    EXPECT_THAT(prepared->not_linkable, HasSubstr("missing"));
}

TEST(LinkRoute, AutomaticGoesByWhatASiteSays) {
    const std::string loop = "LOOP:\n", again = "@%p1 bra LOOP;\n";
    const auto chosen = [&](const std::string& body) {
        const Skeleton skeleton = skeleton_of(kernel(body));
        return skeleton.render_by(std::vector<Graft>{{"s", stub_of(skeleton)}}, {.route = Route::automatic})
            ->routes.at(0);
    };
    EXPECT_EQ(chosen(loop + copy("cold") + again).route, Route::call);
    EXPECT_THAT(chosen(loop + copy("cold") + again).reason, HasSubstr("cold"));
    std::string many;
    for (int i = 0; i < 100; ++i) many += copy("hot");
    EXPECT_EQ(chosen(many).route, Route::inlined);
    EXPECT_THAT(chosen(many).reason, HasSubstr("hot"));
}

// An assembler's error is in the candidate's text, and says which line of which stub it is.
TEST(LinkRoute, ErrorsOfTheAssemblerNameTheStub) {
    const Skeleton allowed = skeleton_of(kernel(copy("allow warp") + copy("allow warp")));
    const Stub stub = stub_of(allowed, std::string(stub_text) + "redux.sync.min.f32 acc, acc, -1;\n");
    std::vector<std::string> lines;
    for (const Route route : {Route::inlined, Route::call, Route::link}) {
        const auto code = allowed.assemble({{"s", stub}}, {.routes = {.route = route}});
        ASSERT_FALSE(code) << "sm_90a has no redux of floats";
        EXPECT_EQ(code.error().code, Errc::assemble_failed);
        ASSERT_TRUE(code.error().source);
        const Span span = code.error().span;
        EXPECT_THAT(code.error().source->text.substr(span.begin, span.end - span.begin), HasSubstr("redux"));
        const std::string said = message(code.error());
        ASSERT_THAT(said, HasSubstr("in the stub of site s, line ")) << describe(code.error());
        lines.push_back(said.substr(said.find("in the stub of site s, line "), 31));
    }
    EXPECT_EQ(lines[0], lines[1]);
    EXPECT_EQ(lines[0], lines[2]);
}

// The line is the one in the file that the user wrote: with blank lines, comments and names of its own.
TEST(LinkRoute, ErrorsOfTheAssemblerCountTheStubsOwnLines) {
    const Skeleton allowed = skeleton_of(kernel(copy("allow warp") + copy("allow warp")));
    const Site& site = *allowed.site("s");
    const struct {
        std::string text;
        int line;
    } rows[] = {{"redux.sync.min.f32 acc, acc, -1;\n", 1},
                {"// header\n\n\tadd.f32 acc, acc, acc;\r\n redux.sync.min.f32 acc, acc, -1; // x\n\n", 4},
                {"\n\n.reg .f32 %q;\n\nadd.f32 %q, acc, acc;\nredux.sync.min.f32 acc, %q, -1;\n", 6},
                {"{\n.reg .f32 %q;\nadd.f32 %q, acc, acc;\n\nredux.sync.min.f32 acc, %q, -1;\n}\n", 5}};
    const std::string outputs = "cvt.f64.f32 wide, acc;\nsetp.gt.f32 flag, acc, 0f41200000;\n";
    for (const auto& row : rows) {
        const auto stub = Stub::from_ptx(row.text + outputs, site);
        ASSERT_TRUE(stub) << describe(stub.error(), row.text);
        for (const Route route : {Route::inlined, Route::call, Route::link}) {
            const auto code = allowed.assemble({{"s", *stub}}, {.routes = {.route = route}});
            ASSERT_FALSE(code);
            EXPECT_THAT(message(code.error()),
                        HasSubstr("in the stub of site s, line " + std::to_string(row.line)))
                << row.text << name(route);
            ASSERT_TRUE(code.error().source);
            const auto place = find_stub_place(code.error().source->text, code.error().span.begin);
            ASSERT_TRUE(place);
            EXPECT_EQ(place->line, static_cast<std::uint32_t>(row.line));
        }
    }
}

TEST(LinkRoute, ErrorsInTheSkeletonNameItsSourceLine) {
    std::string text = kernel(copy());
    text.insert(text.find("\tmov.u32 %r1, %tid.x;"), "\t.loc 1 42 7\n\tredux.sync.min.f32 %f1, %f1, -1;\n");
    text.insert(head.size(), ".file 1 \"gemm.cu\"\n");
    const auto code = skeleton_of(text).assemble({});
    ASSERT_FALSE(code);
    EXPECT_THAT(message(code.error()), HasSubstr("from gemm.cu:42:7"));
}

// A stub that alone would take more registers than the entry leaves it.
TEST(LinkRoute, RegistersThatAnEntryLeavesAreEnough) {
    std::string body = stub_text.data(), sum;
    for (int i = 0; i < 150; ++i)
        body += ".reg .f32 v" + std::to_string(i) + "; fma.rn.f32 v" + std::to_string(i) + ", acc, " +
                std::to_string(i) + ".5, frag" + std::to_string(i % 4) + ";\n";
    for (int i = 149; i >= 0; --i) sum += "fma.rn.f32 acc, acc, v" + std::to_string(i) + ", acc;\n";
    for (const char* const bound :
         {".maxntid 1024, 1, 1", ".reqntid 512, 1, 1", ".maxnreg 32", ".maxntid 128, 1, 1 .minnctapersm 8"}) {
        std::string text = two_copies;
        const std::size_t brace = text.find("\n{\n", head.size());
        text.insert(brace, std::string("\n") + bound);
        const Skeleton skeleton = skeleton_of(text);
        const auto code = skeleton.assemble({{"s", stub_of(skeleton, body + sum)}}, linking);
        EXPECT_TRUE(code) << bound << describe(code.error());
    }
}

// Each is linked, or refused with the reason.
TEST(LinkRoute, EverySiteOfEveryTemplate) {
    const auto all = Template::all();
    ASSERT_TRUE(all) << describe(all.error());
    std::size_t linked_templates = 0;
    for (const Template& from : *all) {
        SCOPED_TRACE(from.name());
        const auto skeleton = from.skeleton({}, {}, {.cache = &test::cache()});
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        std::vector<Graft> grafts;
        for (const Site& site : skeleton->sites().sites)
            grafts.emplace_back(site.name, test::mild_stub(site));
        const auto code = skeleton->assemble(grafts, linking);
        if (skeleton->ptx().find("setmaxnreg") != std::string::npos) {
            ASSERT_FALSE(code);
            EXPECT_EQ(code.error().code, Errc::route_not_possible);
            continue;
        }
        ASSERT_TRUE(code) << describe(code.error());
        EXPECT_THAT(undefined_symbols(*code->cubin), IsEmpty());
        const auto linked = std::ranges::count_if(code->cubin->functions, [](const FunctionUsage& function) {
            return function.name.starts_with("ptxgraft_");
        });
        EXPECT_EQ(static_cast<std::size_t>(linked), grafts.size());
        ++linked_templates;
    }
    EXPECT_GE(linked_templates, 15u);
}

}  // namespace
}  // namespace ptxgraft
