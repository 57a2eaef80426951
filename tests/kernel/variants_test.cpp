// Several candidates in one module: each computes what it computes alone, under an entry of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "device/fake_gpu.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/kernel.hpp"
#include "route_kernels.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using namespace test;

using Candidates = std::vector<std::vector<Graft>>;

// An entry that calls a function with a site, one that holds a site itself, one without; a variable and a
// function that all share.
const std::string text = R"(.version 8.0
.target sm_90a
.address_size 64
.const .f32 table[2] = {10.0, 20.0};
.func (.reg .f32 r) inner(.reg .f32 x);
.func (.reg .f32 r) twice(.reg .f32 x)
{
	add.f32 r, x, x;
	ret;
}
.visible .entry outer(.param .u64 outer_param_0)
{
	.reg .b64 %rd<2>; .reg .f32 %f<3>;
	ld.param.u64 %rd1, [outer_param_0];
	ld.const.f32 %f1, [table+4];
	call (%f2), inner, (%f1);
	call (%f2), twice, (%f2);
	st.global.f32 [%rd1], %f2;
	ret;
}
.func (.reg .f32 r) inner(.reg .f32 x)
{
	.reg .f32 %f<2>;
	mov.f32 %f1, x;
	{ // PTXGRAFT_SITE s
	.reg .f32 _acc; // mod f32 acc
	mov.b32 _acc, %f1;
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	mov.f32 r, %f1;
	ret;
}
.visible .entry direct(.param .u64 direct_param_0)
{
	.reg .b64 %rd<2>; .reg .f32 %f<2>; .reg .pred %p<2>;
	ld.param.u64 %rd1, [direct_param_0];
	ld.const.f32 %f1, [table];
	setp.gt.f32 %p1, %f1, 0f00000000;
	@%p1 bra $L_1;
	ret;
$L_1:
	{ // PTXGRAFT_SITE s
	.reg .f32 _acc; // mod f32 acc
	mov.b32 _acc, %f1;
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	st.global.f32 [%rd1], %f1;
	ret;
}
.visible .entry nothing() { ret; }
)";

const Device& emulator() {
    static const Device device = *Device::open("emulator");
    return device;
}
float value_of(const Function& function) {
    const auto out = emulator().allocate(4);
    const Argument argument(*out);
    const auto done = function.launch({}, {&argument, 1});
    EXPECT_TRUE(done) << describe(done.error());
    return out->download<float>()->at(0);
}
Stub adding(const Skeleton& skeleton, int i, stack::Constants constants = stack::Constants::literals) {
    return *compile_expression("acc = acc + " + std::to_string(i) + ".0", *skeleton.site("s"),
                               {.constants = constants});
}
Candidates adding_many(const Skeleton& skeleton, int count) {
    Candidates all;
    for (int i = 0; i < count; ++i) all.push_back({{"s", adding(skeleton, i)}});
    return all;
}

std::size_t count(std::string_view in, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = in.find(what, at)) != std::string_view::npos; at += what.size()) ++n;
    return n;
}

TEST(Variants, EachHasItsFunctionsAndAllShareTheRest) {
    const Skeleton skeleton = skeleton_of(text);
    for (const Route route : {Route::inlined, Route::call}) {
        const auto module = skeleton.render_variants(adding_many(skeleton, 3), {.routes = {.route = route}});
        ASSERT_TRUE(module) << describe(module.error());
        EXPECT_EQ(module->suffixes, (std::vector<std::string>{"_0", "_1", "_2"}));
        EXPECT_EQ(module->routes.at(2).at(0).route, route);
        EXPECT_EQ(count(module->ptx, "table[2]"), 1u);
        EXPECT_EQ(count(module->ptx, ") twice("), 1u);
        EXPECT_EQ(count(module->ptx, ".entry nothing"), 1u);
        EXPECT_EQ(count(module->ptx, ".entry outer_"), 3u);
        EXPECT_EQ(count(module->ptx, ") inner_1("), 2u);  // its prototype, and itself
        const auto assembled = default_assembler().assemble(module->ptx, {.target = "sm_90a"});
        ASSERT_TRUE(assembled) << describe(assembled.error(), module->ptx);
        for (int i = 0; i < 3; ++i) {
            const auto direct = emulator().load(module->ptx, "direct_" + std::to_string(i)),
                       outer = emulator().load(module->ptx, "outer_" + std::to_string(i));
            ASSERT_TRUE(direct && outer) << describe(direct.error(), module->ptx);
            EXPECT_EQ(value_of(*direct), 10.0f + static_cast<float>(i));
            EXPECT_EQ(value_of(*outer), 2 * (20.0f + static_cast<float>(i)));
        }
    }
}

TEST(Variants, NamesAreTheCallersOrFree) {
    const Skeleton skeleton = skeleton_of(text);
    const auto named = skeleton.render_variants(adding_many(skeleton, 2), {.suffixes = {"_small", "_large"}});
    ASSERT_TRUE(named);
    EXPECT_THAT(named->ptx, HasSubstr(".entry direct_large("));
    std::string taken = text;
    taken.replace(taken.find("entry nothing"), 13, "entry outer_7");
    const Skeleton other = skeleton_of(taken);
    const auto free = other.render_variants(adding_many(other, 2));
    ASSERT_TRUE(free);
    EXPECT_EQ(free->suffixes, (std::vector<std::string>{"__0", "__1"}));
    taken.replace(taken.find("entry outer_7"), 13, "entry other_7");  // whose own name looks like a variant's
    EXPECT_EQ(skeleton_of(taken).render_variants(adding_many(skeleton_of(taken), 2))->suffixes,
              (std::vector<std::string>{"__0", "__1"}));
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"_a"}, {"_a", "_a"}}) {
        const auto refused = skeleton.render_variants(adding_many(skeleton, 2), {.suffixes = wrong});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::argument_invalid);
    }
}

TEST(Variants, ConstantsAreValuesInTheirText) {
    const Skeleton skeleton = skeleton_of(text);
    Candidates candidates;
    for (int i = 0; i < 2; ++i)
        candidates.push_back({{"s", adding(skeleton, i + 5, stack::Constants::data)}});
    const auto module = skeleton.render_variants(candidates);
    ASSERT_TRUE(module);
    EXPECT_TRUE(default_assembler().assemble(module->ptx, {.target = "sm_90a"}));
    for (int i = 0; i < 2; ++i) {
        const auto function = emulator().load(module->ptx, "direct_" + std::to_string(i));
        ASSERT_TRUE(function) << describe(function.error(), module->ptx);
        EXPECT_EQ(value_of(*function), 15.0f + static_cast<float>(i));
    }
}

TEST(Variants, WhatIsNotPossible) {
    const Skeleton skeleton = skeleton_of(text);
    const auto linked =
        skeleton.render_variants(adding_many(skeleton, 2), {.routes = {.route = Route::link}});
    ASSERT_FALSE(linked);
    EXPECT_EQ(linked.error().code, Errc::route_not_possible);
    std::string with_table = text;
    with_table.insert(with_table.find(".visible"), ".global .u64 functions[1] = {inner};\n");
    const Skeleton other = skeleton_of(with_table);
    const auto refused = other.render_variants(adding_many(other, 2));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::argument_invalid);
    EXPECT_THAT(describe(refused.error()), HasSubstr("inner, which the module names outside of functions"));
    // Batches do without.
    const auto results = other.assemble_many(adding_many(other, 2), {}, {.variants_per_module = 2});
    for (const auto& result : results) {
        ASSERT_TRUE(result) << describe(result.error());
        EXPECT_EQ(result->suffix, "");
    }
}

TEST(Variants, BatchesAreAssembledTogether) {
    const Skeleton skeleton = skeleton_of(text);
    const Candidates candidates = adding_many(skeleton, 20);
    for (const Route route : {Route::inlined, Route::call}) {
        const Counting assembler;
        const GraftOptions options{.routes = {.route = route}, .assembler = &assembler};
        const auto results =
            skeleton.assemble_many(candidates, options, {.threads = 1, .variants_per_module = 8});
        EXPECT_EQ(assembler.count, 3);
        std::set<std::pair<const Cubin*, std::string>> places;
        for (const auto& result : results) {
            ASSERT_TRUE(result) << describe(result.error());
            places.emplace(result->cubin.get(), result->suffix);
            EXPECT_TRUE(std::ranges::any_of(result->cubin->functions, [&](const FunctionUsage& f) {
                return f.name == "direct" + result->suffix;
            }));
        }
        EXPECT_EQ(places.size(), candidates.size());
    }
}

TEST(Variants, GraftedOnesComputeWhatTheyComputeAlone) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 10; ++i)
        candidates.push_back({{"s", stub_of(skeleton, std::string(stub_text) + "add.f32 acc, acc, " +
                                                          std::to_string(i) + ".0;\n")}});
    candidates[4] = {};  // the default stub
    const auto run = [&](const Kernel& kernel) {
        const auto out = emulator().allocate(64 * 48);
        EXPECT_TRUE(out->fill(std::byte{0}));
        const auto done = kernel.launch({.block = {64}}, *out);
        EXPECT_TRUE(done) << describe(done.error());
        return *out->download<std::uint64_t>();
    };
    for (const Route route : {Route::inlined, Route::call}) {
        const GraftOptions options{.routes = {.route = route}};
        const auto together =
            skeleton.graft_many(candidates, emulator(), options, {.threads = 2, .variants_per_module = 4});
        std::set<std::string> entries;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            ASSERT_TRUE(together[i]) << describe(together[i].error());
            entries.emplace(together[i]->entry());
            const auto alone = skeleton.graft(candidates[i], emulator(), options);
            ASSERT_TRUE(alone);
            EXPECT_EQ(run(*together[i]), run(*alone));
        }
        EXPECT_EQ(entries, (std::set<std::string>{"k_0", "k_1", "k_2", "k_3"}));
    }
}

// A GPU loads a module once for all of its variants, and keeps it as long as one of them.
TEST(Variants, AGpuLoadsAModuleOnce) {
    fake() = {};
    const auto device = Device::open("cuda", driver());
    ASSERT_OK(device);
    const Skeleton skeleton = skeleton_of(text);
    Candidates candidates = adding_many(skeleton, 10);
    candidates.push_back(candidates[0]);  // an equal one
    auto kernels = skeleton.graft_many(candidates, *device, {.entry = "direct"},
                                       {.threads = 1, .variants_per_module = 5});
    for (const auto& kernel : kernels) ASSERT_OK(kernel);
    EXPECT_EQ(device->loaded_modules(), 2u);
    EXPECT_EQ(kernels[7]->entry(), "direct_2");
    EXPECT_EQ(kernels[10]->entry(), kernels[0]->entry());
    EXPECT_OK(kernels[7]->launch({}, *device->allocate(4)));
    EXPECT_EQ(fake().launches.back().function, "direct_2");
    EXPECT_EQ(kernels[0]->cubin(), kernels[4]->cubin());
    EXPECT_EQ(kernels[9]->function().parameters().size(), 1u);
    const Kernel last = *kernels[9];
    kernels.clear();
    EXPECT_EQ(device->loaded_modules(), 1u);
    // Constants that are data are one structure already: each kernel has a module of its own.
    Candidates data;
    for (int i = 0; i < 3; ++i) data.push_back({{"s", adding(skeleton, i, stack::Constants::data)}});
    const auto own = skeleton.graft_many(data, *device, {.entry = "direct"}, {.variants_per_module = 3});
    for (const auto& kernel : own) ASSERT_OK(kernel);
    EXPECT_EQ(device->loaded_modules(), 4u);
    EXPECT_EQ(own[0]->cubin(), own[2]->cubin());
}

TEST(Variants, ABadOneHarmsNobody) {
    const Skeleton skeleton = skeleton_of(kernel(copy("allow warp") + copy("allow warp")));
    Candidates candidates;
    const auto with = [&](const std::string& more) {
        return std::vector<Graft>{{"s", stub_of(skeleton, std::string(stub_text) + more)}};
    };
    for (int i = 0; i < 16; ++i)
        candidates.push_back(with("add.f32 acc, acc, " + std::to_string(i) + ".0;\n"));
    candidates[3] = with("redux.sync.min.f32 acc, acc, -1;\n");  // of no sm_90a
    candidates[11] = with("redux.sync.max.f32 acc, acc, -1;\n");
    const auto results = skeleton.assemble_many(candidates, {}, {.threads = 2, .variants_per_module = 8});
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (i != 3 && i != 11) {
            EXPECT_TRUE(results[i]) << describe(results[i].error());
            continue;
        }
        ASSERT_FALSE(results[i]);
        const auto alone = skeleton.assemble(candidates[i]);
        ASSERT_FALSE(alone);
        EXPECT_EQ(describe(results[i].error()), describe(alone.error()));
    }
}

// What a batch gives, as one can compare it: the code of each entry's own, or the error.
std::string fact_of(const Expected<MachineCode>& result) {
    if (!result) return describe(result.error());
    for (const FunctionUsage& f : result->cubin->functions)
        if (f.name == "k" + result->suffix) return "k of " + std::to_string(f.code_bytes);
    return "no entry k" + result->suffix;
}

// A second batch of the same candidates assembles nothing, in whichever order and company they come: those
// that were assembled together, alone, or not at all.
TEST(Variants, BatchesAreKept) {
    const TemporaryFolder folder;
    const Skeleton skeleton = skeleton_of(kernel(copy("allow warp") + copy("allow warp")));
    const auto with = [&](const std::string& more) {
        return std::vector<Graft>{{"s", stub_of(skeleton, std::string(stub_text) + more)}};
    };
    Candidates candidates;
    for (int i = 0; i < 18; ++i)
        candidates.push_back(with("add.f32 acc, acc, " + std::to_string(i) + ".0;\n"));
    candidates[3] = with("redux.sync.min.f32 acc, acc, -1;\n");  // of no sm_90a
    candidates[11] = with("redux.sync.max.f32 acc, acc, -1;\n");
    candidates[15] = candidates[2];
    const auto run = [&](const Cache& cache, const Candidates& some, int& count) {
        const Counting assembler;
        auto results = skeleton.assemble_many(some, {.assembler = &assembler, .cache = &cache},
                                              {.threads = 2, .variants_per_module = 4});
        count = assembler.count;
        return results;
    };
    int count = 0;
    const Cache first = *Cache::open({.dir = folder.str()});
    std::vector<std::string> facts;
    for (const auto& result : run(first, candidates, count)) facts.push_back(fact_of(result));
    EXPECT_GT(count, 5);
    const Cache second = *Cache::open({.dir = folder.str()});
    std::reverse(candidates.begin(), candidates.end());
    std::reverse(facts.begin(), facts.end());
    for (const auto& [cache, level] : {std::pair(&first, CacheLevel::memory),
                                       {&second, CacheLevel::disk},
                                       {&second, CacheLevel::memory}}) {
        const auto results = run(*cache, candidates, count);
        EXPECT_EQ(count, 0);
        for (std::size_t i = 0; i < results.size(); ++i) {
            EXPECT_EQ(fact_of(results[i]), facts[i]);
            if (results[i]) { EXPECT_NE(results[i]->from, CacheLevel::none) << i; }
        }
        if (level == CacheLevel::disk) { EXPECT_EQ(results[0]->from, CacheLevel::disk); }
        candidates.pop_back();  // another company
        facts.pop_back();
    }
    // One that is asked for alone is not one that stands beside others.
    const auto results = run(second, candidates, count);
    const auto beside = std::ranges::find_if(results, [](const auto& r) { return r && r->suffix != ""; });
    ASSERT_NE(beside, results.end());
    const auto& candidate = candidates[static_cast<std::size_t>(beside - results.begin())];
    const Counting assembler;
    const auto alone = skeleton.assemble(candidate, {.assembler = &assembler, .cache = &second});
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->suffix, "");
    EXPECT_EQ(assembler.count, 1);
}

// Where a module went, its candidates are assembled anew, and are found from then on.
TEST(Variants, AModuleThatWentIsMadeAgain) {
    const TemporaryFolder folder;
    const Skeleton skeleton = skeleton_of(text);
    const Candidates candidates = adding_many(skeleton, 8);
    const auto count_of = [&] {
        const Cache cache = *Cache::open({.dir = folder.str()});
        const Counting assembler;
        for (const auto& result :
             skeleton.assemble_many(candidates, {.assembler = &assembler, .cache = &cache},
                                    {.threads = 1, .variants_per_module = 4}))
            EXPECT_TRUE(result) << describe(result.error());
        return assembler.count.load();
    };
    EXPECT_EQ(count_of(), 2);
    std::filesystem::path largest;
    for (const auto& file : std::filesystem::directory_iterator(folder.path))
        if (largest.empty() || file.file_size() > std::filesystem::file_size(largest)) largest = file.path();
    std::filesystem::remove(largest);
    EXPECT_EQ(count_of(), 1);
    EXPECT_EQ(count_of(), 0);
}

// Kept ones are loaded as new ones are: each module once.
TEST(Variants, AGpuLoadsAKeptModuleOnce) {
    fake() = {};
    const auto device = Device::open("cuda", driver());
    ASSERT_OK(device);
    const Skeleton skeleton = skeleton_of(text);
    const Candidates candidates = adding_many(skeleton, 10);
    const Cache cache = *Cache::open();
    const auto graft = [&] {
        return skeleton.graft_many(candidates, *device, {.entry = "direct", .cache = &cache},
                                   {.threads = 1, .variants_per_module = 5});
    };
    std::vector<std::string> entries;
    {
        const auto kernels = graft();
        for (const auto& kernel : kernels) entries.emplace_back(kernel->entry());
    }
    EXPECT_EQ(device->loaded_modules(), 0u);
    const auto kernels = graft();
    EXPECT_EQ(device->loaded_modules(), 2u);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        ASSERT_OK(kernels[i]);
        EXPECT_EQ(kernels[i]->entry(), entries[i]);
        EXPECT_EQ(kernels[i]->machine_code().from, CacheLevel::memory);
        EXPECT_THAT(kernels[i]->ptx(), HasSubstr(".entry " + entries[i] + "("));
    }
    EXPECT_OK(kernels[7]->launch({}, *device->allocate(4)));
    EXPECT_EQ(fake().launches.back().function, entries[7]);
}

}  // namespace
}  // namespace ptxgraft
