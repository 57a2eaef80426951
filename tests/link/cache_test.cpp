// The cache without its folder: what is kept and for how long, keys, and assemblers that look up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "ptxgraft/cache.hpp"
#include "support/cache_examples.hpp"
#include "support/link_examples.hpp"

namespace ptxgraft {
namespace {

using test::ask, test::cubin_of, test::detail, test::key_of;

// --- results

TEST(Cache, TheSecondLookupIsAHitAndSharesTheResult) {
    const auto cache = *Cache::open();
    const auto make = []() -> Expected<Cubin> { return cubin_of(1); };
    CacheLevel from = CacheLevel::disk;
    const auto first = *link::find_or_make(cache, key_of(1), make, &from);
    EXPECT_EQ(from, CacheLevel::none);
    const auto second = *link::find_or_make(cache, key_of(1), make, &from);
    EXPECT_EQ(from, CacheLevel::memory);
    EXPECT_EQ(first, second);  // the very object
    EXPECT_EQ(ask(cache, 2), CacheLevel::none);
    const CacheCounters counters = cache.counters();
    EXPECT_EQ(counters.misses, 2u);
    EXPECT_EQ(counters.memory_hits, 1u);
    EXPECT_EQ(counters.disk_hits + counters.stored + counters.joined, 0u);
    EXPECT_EQ(cache.memory().entries, 2u);
}

TEST(Cache, PtxIsKeptAsMachineCodeIs) {
    const auto cache = *Cache::open();
    int made = 0;
    const auto make = [&]() -> Expected<Ptx> {
        ++made;
        return Ptx{.text = ".version 8.0", .log = "warning"};
    };
    for (int i = 0; i < 2; ++i) {
        const auto ptx = link::find_or_make(cache, key_of(1), make);
        ASSERT_TRUE(ptx);
        EXPECT_EQ((*ptx)->text, ".version 8.0");
        EXPECT_EQ((*ptx)->log, "warning");
    }
    EXPECT_EQ(made, 1);
}

TEST(Cache, WhatIsSharedAlreadyIsNotCopied) {
    const auto cache = *Cache::open();
    const auto made = std::make_shared<const Cubin>(cubin_of(1));
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(*link::find_or_make(cache, key_of(1),
                                      [&]() -> Expected<std::shared_ptr<const Cubin>> { return made; }),
                  made);
}

TEST(Cache, CopiesOfAHandleAreOneCacheAndOthersAreNot) {
    const auto cache = *Cache::open();
    const Cache copy = cache;
    const auto other = *Cache::open();
    ask(cache, 1);
    EXPECT_EQ(ask(copy, 1), CacheLevel::memory);
    EXPECT_EQ(ask(other, 1), CacheLevel::none);
    EXPECT_EQ(copy.counters(), cache.counters());
}

TEST(Cache, ResultsOutliveTheCache) {
    std::shared_ptr<const Cubin> held;
    {
        const auto cache = *Cache::open();
        held = *link::find_or_make(cache, key_of(1), []() -> Expected<Cubin> { return cubin_of(1); });
    }
    EXPECT_TRUE(test::equal(*held, cubin_of(1)));
}

TEST(Cache, MemoryIsBoundedAndTheLeastRecentlyUsedGoes) {
    const auto cache = *Cache::open({.memory_bytes = 10'000});
    for (std::uint64_t i = 0; i < 4; ++i) ask(cache, i, 2000);  // all four have room
    EXPECT_EQ(ask(cache, 0, 2000), CacheLevel::memory);
    ask(cache, 4, 2000);
    EXPECT_EQ(ask(cache, 1, 2000), CacheLevel::none);  // 0 was used after it; now 2 goes
    EXPECT_EQ(ask(cache, 0, 2000), CacheLevel::memory);
    EXPECT_EQ(ask(cache, 2, 2000), CacheLevel::none);
    for (std::uint64_t i = 1000; i < 2000; ++i) {
        ask(cache, i, i * 37 % 3000);
        ASSERT_LE(cache.memory().bytes, 10'000u);
    }
    EXPECT_GE(cache.memory().entries, 3u);
}

TEST(Cache, WhatIsLargerThanMemoryPushesNothingOut) {
    const auto cache = *Cache::open({.memory_bytes = 10'000});
    ask(cache, 1);
    EXPECT_EQ(ask(cache, 2, 20'000), CacheLevel::none);
    EXPECT_EQ(ask(cache, 2, 20'000), CacheLevel::none);
    EXPECT_EQ(ask(cache, 1), CacheLevel::memory);
    const auto none = *Cache::open({.memory_bytes = 0});
    ask(none, 1);
    EXPECT_EQ(ask(none, 1), CacheLevel::none);
    EXPECT_EQ(none.memory(), CacheSize{});
}

TEST(Cache, ClearForgets) {
    const auto cache = *Cache::open();
    ask(cache, 1);
    ASSERT_TRUE(cache.clear());
    EXPECT_EQ(cache.memory(), CacheSize{});
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
}

TEST(Cache, WithoutAFolderThereIsNothingInIt) {
    const auto cache = *Cache::open();
    ask(cache, 1);
    EXPECT_EQ(cache.folder()->size, CacheSize{});
    EXPECT_EQ(cache.verify()->whole, CacheSize{});
    EXPECT_EQ(*cache.clear(), CacheSize{});
}

// --- errors

Error error_with_all(Errc code) {
    return {code,
            {3, 7},
            5,
            std::make_shared<const std::string>("why"),
            std::make_shared<const SourceText>(SourceText{"a.ptx", "text"})};
}

// Asks for a key whose making fails, and returns how often it was made.
int attempts(const Cache& cache, const Error& error, int lookups) {
    int made = 0;
    for (int i = 0; i < lookups; ++i) {
        const auto cubin = link::find_or_make(cache, key_of(1), [&]() -> Expected<Cubin> {
            ++made;
            return tl::unexpected(error);
        });
        EXPECT_FALSE(cubin);
        EXPECT_EQ(cubin.error().code, error.code);
        EXPECT_EQ(cubin.error().span, error.span);
        EXPECT_EQ(cubin.error().index, error.index);
        EXPECT_EQ(detail(cubin.error()), "why");
        EXPECT_TRUE(cubin.error().source && cubin.error().source->name == "a.ptx" &&
                    cubin.error().source->text == "text");
    }
    return made;
}

TEST(CacheErrors, ThoseOfTheInputAreKept) {
    for (const Errc code : {Errc::assemble_failed, Errc::performance_loss, Errc::module_refused,
                            Errc::target_unknown, Errc::cuda_compile_failed, Errc::link_failed,
                            Errc::stack_limit_exceeded, Errc::text_too_large, Errc::syntax_expected})
        EXPECT_EQ(attempts(*Cache::open(), error_with_all(code), 3), 1) << name(code);
}

TEST(CacheErrors, ThoseOfTheMachineAreNot) {
    for (const Errc code : {Errc::out_of_memory, Errc::assembler_ended, Errc::assembler_not_usable,
                            Errc::file_not_found, Errc::file_not_readable, Errc::file_not_writable,
                            Errc::compiler_not_usable, Errc::driver_failed, Errc::internal_error})
        EXPECT_EQ(attempts(*Cache::open(), error_with_all(code), 3), 3) << name(code);
}

TEST(CacheErrors, ExceptionsPassAndTheNextLookupTriesAgain) {
    const auto cache = *Cache::open();
    const auto throws = []() -> Expected<Cubin> { throw std::bad_alloc(); };
    EXPECT_THROW((void)link::find_or_make(cache, key_of(1), throws), std::bad_alloc);
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(ask(cache, 1), CacheLevel::memory);
}

// --- keys

TEST(CacheKeys, FieldsAreDelimited) {
    const auto key = [](std::vector<std::string> fields) {
        link::KeyBuilder builder;
        for (const auto& field : fields) builder.add(field);
        return builder.key();
    };
    EXPECT_EQ(key({"ab", "c"}), key({"ab", "c"}));
    EXPECT_FALSE(key({"ab", "c"}) == key({"a", "bc"}));
    EXPECT_FALSE(key({"a"}) == key({"a", ""}));
}

// An assembler that counts its calls.
class Counting final : public Assembler {
  public:
    explicit Counting(std::string version = "1.2.3") : version_(std::move(version)) {}
    std::string_view name() const override { return "counting"; }
    std::string version() const override { return version_; }
    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        ++calls;
        if (ptx.find("bad") != std::string_view::npos) return fail(Errc::assemble_failed, {1, 2}, "no");
        if (ptx.find("dead") != std::string_view::npos) return fail(Errc::assembler_ended, {}, "killed");
        Cubin cubin = cubin_of(ptx.size());
        cubin.log = options.target;
        return cubin;
    }
    mutable int calls = 0;

  private:
    std::string version_;
};

TEST(CachedAssembler, AssemblesOnceAndNamesTheOneBehindIt) {
    const auto counting = std::make_shared<const Counting>();
    const auto assembler = cached(counting, *Cache::open());
    EXPECT_EQ(assembler->name(), "counting");
    EXPECT_EQ(assembler->version(), "1.2.3");
    const auto first = assembler->assemble("ptx", {.target = "sm_90a"});
    const auto second = assembler->assemble("ptx", {.target = "sm_90a"});
    ASSERT_TRUE(first && second);
    EXPECT_TRUE(test::equal(*first, *second));
    EXPECT_EQ(second->log, "sm_90a");
    EXPECT_EQ(counting->calls, 1);
    for (int i = 0; i < 2; ++i) {
        const auto bad = assembler->assemble("bad");
        ASSERT_FALSE(bad);
        EXPECT_EQ(bad.error().code, Errc::assemble_failed);
        EXPECT_EQ(bad.error().span, (Span{1, 2}));
        EXPECT_EQ(detail(bad.error()), "no");
    }
    EXPECT_EQ(counting->calls, 2);
    EXPECT_FALSE(assembler->assemble("dead"));
    EXPECT_FALSE(assembler->assemble("dead"));
    EXPECT_EQ(counting->calls, 4);
}

TEST(CachedAssembler, EveryOptionTextAndVersionIsPartOfTheKey) {
    const auto cache = *Cache::open();
    const Counting one, other("1.2.4");
    const auto assembler = cached(one, cache);
    const AssembleOptions base{.target = "sm_90"};
    std::vector<AssembleOptions> options(9, base);
    options[0].target = "sm_90a";
    options[1].optimisation = 1;
    options[2].max_registers = 32;
    options[3].relocatable = true;
    options[4].line_info = true;
    options[5].allow_performance_loss = true;
    options[6].options = {"-a"};
    options[7].options = {"-a", "-b"};
    options[8].options = {"-a-b"};
    ASSERT_TRUE(assembler->assemble("ptx", base));
    for (const auto& each : options) ASSERT_TRUE(assembler->assemble("ptx", each));
    ASSERT_TRUE(assembler->assemble("ptx ", base));
    EXPECT_EQ(one.calls, 11);
    for (const auto& each : options) ASSERT_TRUE(assembler->assemble("ptx", each));
    EXPECT_EQ(one.calls, 11);
    ASSERT_TRUE(cached(other, cache)->assemble("ptx", base));
    EXPECT_EQ(other.calls, 1);
    EXPECT_NE(link::assembly_key("ptx", base, default_assembler()), link::assembly_key("ptx", base, one));
}

TEST(CachedAssembler, OptionsThatNameFilesAreNotLookedUp) {
    const Counting counting;
    const auto assembler = cached(counting, *Cache::open());
    for (const char* const option : {"--options-file=a", "-optf=a"})
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(assembler->assemble("ptx", {.options = {option}}));
    EXPECT_EQ(counting.calls, 4);
}

// What a real assembler says is what the cache gives back.
TEST(CachedAssembler, GivesWhatTheAssemblerGave) {
    const std::string ptx =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b64 %d; ld.param.u64 %d, [p]; st.global.u64 [%d], %d; ret; }\n";
    const auto cache = *Cache::open();
    const auto assembler = cached(default_assembler(), cache);
    const auto direct = default_assembler().assemble(ptx), made = assembler->assemble(ptx),
               found = assembler->assemble(ptx);
    ASSERT_TRUE(direct && made && found);
    EXPECT_EQ(direct->image, found->image);  // their logs tell of different times
    EXPECT_TRUE(test::equal(*made, *found));
    EXPECT_EQ(cache.counters().memory_hits, 1u);
    const std::string wrong = ptx + ".visible .entry k2() { frob; }\n";
    const auto first = assembler->assemble(wrong), again = assembler->assemble(wrong);
    ASSERT_FALSE(first || again);
    EXPECT_EQ(describe(first.error(), wrong), describe(again.error(), wrong));
    EXPECT_EQ(cache.counters().memory_hits, 2u);
}

}  // namespace
}  // namespace ptxgraft
