// The folder of a cache: what is found in it again, what is damaged or foreign, its cap, and disks that
// cannot be written.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include "link/cache/folder.hpp"
#include "link/cache/listing.hpp"
#include "support/cache_examples.hpp"
#include "support/files.hpp"
#include "support/link_examples.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;
using test::ask, test::cubin_of, test::detail, test::entry_path, test::key_of;
using test::read_file, test::TemporaryFolder, test::write_file;
using ::testing::HasSubstr;

// A cache of a folder alone: every lookup goes to the disk.
Cache on_disk(const fs::path& folder, std::uint64_t disk_bytes = std::uint64_t{1} << 30) {
    return *Cache::open({.dir = folder.string(), .memory_bytes = 0, .disk_bytes = disk_bytes});
}

std::size_t files_in(const fs::path& folder, const std::string& extension = ".ptxgraft") {
    std::size_t count = 0;
    for (const auto& file : fs::directory_iterator(folder)) count += file.path().extension() == extension;
    return count;
}

void set_age(const fs::path& file, std::chrono::seconds age) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
}
std::chrono::seconds age_of(const fs::path& file) {
    return std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() -
                                                            fs::last_write_time(file));
}

// --- what is found again

TEST(CacheFolder, IsMadeWhenSomethingIsStoredAndFoundByOthers) {
    const TemporaryFolder temporary;
    const fs::path folder = temporary.path / "made" / "on demand";
    EXPECT_FALSE(on_disk(folder).folder()->size.entries);
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_EQ(ask(on_disk(folder), 1), CacheLevel::none);
    EXPECT_EQ(ask(on_disk(folder), 1), CacheLevel::disk);
    const auto with_memory = *Cache::open({.dir = folder.string()});
    EXPECT_EQ(ask(with_memory, 1), CacheLevel::disk);
    EXPECT_EQ(ask(with_memory, 1), CacheLevel::memory);
    EXPECT_EQ(files_in(folder), 1u);
    EXPECT_EQ(files_in(folder, ".ptxgraft-new"), 0u);
}

TEST(CacheFolder, PtxAndErrorsAreFoundAgain) {
    const TemporaryFolder folder;
    const Error error{Errc::assemble_failed,
                      {3, 7},
                      5,
                      std::make_shared<const std::string>("why"),
                      std::make_shared<const SourceText>(SourceText{"a.ptx", "text"})};
    for (const CacheLevel expected : {CacheLevel::none, CacheLevel::disk}) {
        const Cache cache = on_disk(folder.path);
        CacheLevel from = CacheLevel::memory;
        const auto ptx = link::find_or_make(
            cache, key_of(1), []() -> Expected<Ptx> { return Ptx{.text = "text", .log = "log"}; }, &from);
        EXPECT_EQ(from, expected);
        ASSERT_TRUE(ptx);
        EXPECT_EQ((*ptx)->text + (*ptx)->log, "textlog");
        const auto failed = link::find_or_make(
            cache, key_of(2), [&]() -> Expected<Cubin> { return tl::unexpected(error); }, &from);
        EXPECT_EQ(from, expected);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, Errc::assemble_failed);
        EXPECT_EQ(failed.error().span, (Span{3, 7}));
        EXPECT_EQ(failed.error().index, 5u);
        EXPECT_EQ(detail(failed.error()), "why");
        ASSERT_TRUE(failed.error().source);
        EXPECT_EQ(failed.error().source->name + failed.error().source->text, "a.ptxtext");
    }
    for (int i = 0; i < 2; ++i) {  // not a function of the input
        const auto ended = link::find_or_make(
            on_disk(folder.path), key_of(3), []() -> Expected<Cubin> { return fail(Errc::assembler_ended); });
        EXPECT_FALSE(ended);
    }
    EXPECT_EQ(files_in(folder.path), 2u);
}

TEST(CacheFolder, CountersAreThoseOfAllHandles) {
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    ask(on_disk(folder.path), 1);
    ask(on_disk(folder.path), 1);
    const Cache cache = on_disk(folder.path);
    ask(cache, 2);
    ask(cache, 2);
    const CacheFolder contents = *cache.folder();
    EXPECT_EQ(contents.size.entries, 2u);
    EXPECT_EQ(contents.size.bytes, 2u * 4096);
    EXPECT_EQ(contents.counters.misses, 2u);
    EXPECT_EQ(contents.counters.stored, 2u);
    EXPECT_EQ(contents.counters.disk_hits, 3u);
    EXPECT_EQ(contents.counters.bytes_written, 2 * fs::file_size(entry_path(folder.path, 1)));
    EXPECT_EQ(contents.counters.bytes_read, 3 * fs::file_size(entry_path(folder.path, 1)));
    EXPECT_EQ(cache.counters().misses, 1u);
}

TEST(CacheFolder, RelativePathsStayWhereTheyWere) {
    const TemporaryFolder folder, elsewhere;
    const fs::path before = fs::current_path();
    fs::current_path(folder.path);
    const Cache cache = on_disk("cache");
    EXPECT_EQ(fs::path(cache.options().dir), fs::current_path() / "cache");
    fs::current_path(elsewhere.path);
    ask(cache, 1);
    fs::current_path(before);
    EXPECT_EQ(files_in(folder.path / "cache"), 1u);
    EXPECT_TRUE(fs::is_empty(elsewhere.path));
}

TEST(CacheFolder, AFileIsNone) {
    const TemporaryFolder folder;
    write_file(folder.path / "file", "text");
    const auto cache = Cache::open({.dir = (folder.path / "file").string()});
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, Errc::cache_not_usable);
    EXPECT_THAT(detail(cache.error()), HasSubstr("file is no folder"));
    EXPECT_FALSE(Cache::open({.dir = std::string("a\0b", 3)}));
}

// --- damage

// The entry of number 1 is now these bytes: it must not be believed, and be written anew.
void expect_rebuilt(const fs::path& folder, const std::string& bytes, const std::string& what) {
    const fs::path entry = entry_path(folder, 1);
    write_file(entry, bytes);
    const Cache cache = on_disk(folder);
    EXPECT_EQ(ask(cache, 1), CacheLevel::none) << what;
    EXPECT_EQ(cache.counters().dropped, 1u) << what;
    EXPECT_EQ(ask(cache, 1), CacheLevel::disk) << what;
}

TEST(CacheDamage, NoByteMayDiffer) {
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    const std::string good = read_file(entry_path(folder.path, 1));
    for (std::size_t at = 0; at < good.size(); ++at)
        for (const int bit : {1, 128}) {
            std::string damaged = good;
            damaged[at] = static_cast<char>(damaged[at] ^ bit);
            expect_rebuilt(folder.path, damaged, "byte " + std::to_string(at));
        }
    EXPECT_EQ(read_file(entry_path(folder.path, 1)), good);
}

TEST(CacheDamage, NothingMayBeMissingOrBehind) {
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    const std::string good = read_file(entry_path(folder.path, 1));
    for (std::size_t size = 0; size < good.size(); ++size)
        expect_rebuilt(folder.path, good.substr(0, size), std::to_string(size) + " bytes");
    expect_rebuilt(folder.path, good + '\0', "one more");
    expect_rebuilt(folder.path, good + good, "twice");
}

TEST(CacheDamage, WhatIsNoEntryOfThisKeyIsRebuilt) {
    const TemporaryFolder folder;
    const Cache cache = on_disk(folder.path);
    ask(cache, 1);
    ask(cache, 2);
    expect_rebuilt(folder.path, read_file(entry_path(folder.path, 2)), "another entry");
    expect_rebuilt(folder.path, "#!/bin/sh\n", "a foreign file");
    // A head that tells of more than there is memory for.
    std::string head = read_file(entry_path(folder.path, 2)).substr(0, sizeof(link::EntryHead));
    head.replace(sizeof(link::EntryHead) - 8, 8, 8, '\x7f');
    expect_rebuilt(folder.path, head, "a head that lies");
}

TEST(CacheDamage, WhatIsNoFileIsRebuilt) {
    const TemporaryFolder folder, outside;
    const fs::path entry = entry_path(folder.path, 1), precious = outside.path / "precious";
    ask(on_disk(folder.path), 1);
    fs::copy(entry, precious);
    const auto expect_dropped = [&] {
        const Cache cache = on_disk(folder.path);
        EXPECT_EQ(ask(cache, 1), CacheLevel::none);
        EXPECT_EQ(cache.counters().dropped, 1u);
        EXPECT_EQ(ask(cache, 1), CacheLevel::disk);
        fs::remove(entry);
    };
    fs::remove(entry);
    fs::create_symlink(precious, entry);  // even to a whole entry
    expect_dropped();
    EXPECT_TRUE(fs::exists(precious));
    ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
    expect_dropped();
    fs::create_directory(entry);
    expect_dropped();
    fs::create_directories(entry / "full");  // stays: it may be somebody's
    const Cache cache = on_disk(folder.path);
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(cache.counters().not_stored, 2u);
    EXPECT_EQ(files_in(folder.path, ".ptxgraft-new"), 0u);
}

TEST(CacheDamage, TheLedgerIsCountedAnew) {
    const TemporaryFolder folder, outside;
    const fs::path ledger = folder.path / "ptxgraft.ledger", precious = outside.path / "precious";
    ask(on_disk(folder.path), 1);
    const std::string good = read_file(ledger);
    write_file(precious, "precious");
    const auto expect_counted = [&](std::uint64_t number) {
        EXPECT_EQ(ask(on_disk(folder.path), number), CacheLevel::none);
        EXPECT_EQ(ask(on_disk(folder.path), number), CacheLevel::disk);
        const auto record = link::read_ledger(folder.str());
        ASSERT_TRUE(record);
        EXPECT_EQ(record->size, on_disk(folder.path).folder()->size);
        EXPECT_EQ(record->size.entries, files_in(folder.path));
        EXPECT_EQ(read_file(precious), "precious");
    };
    for (std::size_t at = 0; at < good.size(); at += 7) {
        std::string damaged = good;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        write_file(ledger, damaged);
        expect_counted(100 + at);
        write_file(ledger, good.substr(0, at));
        expect_counted(1100 + at);
    }
    fs::remove(ledger);
    expect_counted(2);
    fs::remove(ledger);
    fs::create_symlink(precious, ledger);
    expect_counted(3);
    fs::remove(ledger);
    fs::create_hard_link(precious, ledger);
    expect_counted(4);
    fs::remove(ledger);
    ASSERT_EQ(::mkfifo(ledger.c_str(), 0600), 0);
    expect_counted(5);
}

TEST(CacheDamage, AFolderThatGoesIsMadeAgain) {
    const TemporaryFolder temporary;
    const fs::path folder = temporary.path / "cache";
    const Cache cache = on_disk(folder);
    ask(cache, 1);
    fs::remove_all(folder);
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(ask(cache, 1), CacheLevel::disk);
}

// --- the cap

TEST(CacheCap, TheLeastRecentlyUsedGoesFirst) {
    const TemporaryFolder folder;
    constexpr std::uint64_t cap = 10 * 4096;
    using std::chrono::hours;
    for (std::uint64_t i = 0; i < 10; ++i) {
        ask(on_disk(folder.path, cap), i);
        set_age(entry_path(folder.path, i), hours(20 - i));
    }
    EXPECT_EQ(files_in(folder.path), 10u);
    EXPECT_EQ(ask(on_disk(folder.path, cap), 0), CacheLevel::disk);  // used now
    EXPECT_LT(age_of(entry_path(folder.path, 0)), hours(1));
    EXPECT_GT(age_of(entry_path(folder.path, 1)), hours(10));
    const Cache cache = on_disk(folder.path, cap);
    ask(cache, 10);  // 11 are too many: two go, so that there is room for a while
    EXPECT_EQ(cache.counters().evicted, 2u);
    for (const std::uint64_t gone : {1u, 2u}) EXPECT_FALSE(fs::exists(entry_path(folder.path, gone))) << gone;
    for (const std::uint64_t kept : {0u, 3u, 9u, 10u}) EXPECT_EQ(ask(cache, kept), CacheLevel::disk) << kept;
}

TEST(CacheCap, HoldsForWhatOthersHaveStored) {
    const TemporaryFolder folder;
    constexpr std::uint64_t cap = 20 * 4096;
    const Cache one = on_disk(folder.path, cap), two = on_disk(folder.path, cap);
    for (std::uint64_t i = 0; i < 200; ++i) {
        ask(i % 2 == 0 ? one : two, i, i * 53 % 9000);
        ASSERT_LE(one.folder()->size.bytes, cap);
    }
    EXPECT_GE(one.folder()->size.bytes, cap / 2);
    EXPECT_EQ(one.folder()->counters.evicted, 200 - files_in(folder.path));
}

TEST(CacheCap, WhatIsLargerIsNotStored) {
    const TemporaryFolder folder;
    const Cache cache = on_disk(folder.path, 10 * 4096);
    ask(cache, 1);
    EXPECT_EQ(ask(cache, 2, 60'000), CacheLevel::none);
    EXPECT_EQ(cache.counters().not_stored, 1u);
    EXPECT_EQ(ask(cache, 1), CacheLevel::disk);
    EXPECT_EQ(files_in(folder.path), 1u);
}

TEST(CacheCap, AHitInMemoryRefreshesTheFolder) {
    const TemporaryFolder path;
    link::Counters counters;
    link::Folder folder(path.str(), 1 << 30, counters);
    folder.store(key_of(1), std::make_shared<const Cubin>(cubin_of(1)));
    set_age(entry_path(path.path, 1), std::chrono::hours(5));
    folder.refresh(key_of(1));
    EXPECT_LT(age_of(entry_path(path.path, 1)), std::chrono::hours(1));
}

// --- clear and verify

TEST(CacheVerify, DropsWhatIsDamagedOrAbandonedAndNothingElse) {
    const TemporaryFolder folder;
    for (std::uint64_t i = 0; i < 10; ++i) ask(on_disk(folder.path), i);
    std::string damaged = read_file(entry_path(folder.path, 3));
    damaged[damaged.size() / 2] ^= 1;
    write_file(entry_path(folder.path, 3), damaged);
    write_file(entry_path(folder.path, 4), "");
    fs::remove(entry_path(folder.path, 5));
    fs::create_symlink("/etc/passwd", entry_path(folder.path, 5));
    const fs::path abandoned = folder.path / "0123456789abcdef.ptxgraft-new",
                   written = folder.path / "0123456789abcdee.ptxgraft-new";
    write_file(abandoned, "half an ent");
    write_file(written, "half an ent");
    const link::OpenFile writer(written.string(), O_RDONLY);
    ASSERT_TRUE(writer.lock());
    const std::vector<std::string> strangers = {"notes.txt",
                                                "0123456789abcdef.ptxgraft-news",
                                                "0123456789ABCDEF.ptxgraft-new",
                                                "0123.ptxgraft",
                                                key_of(3).hex(),
                                                "ptxgraft"};
    for (const std::string& name : strangers) write_file(folder.path / name, "mine");
    const Cache cache = on_disk(folder.path);
    const auto check = cache.verify();
    ASSERT_TRUE(check) << describe(check.error());
    EXPECT_EQ(check->whole, (CacheSize{7, 7 * 4096}));
    EXPECT_EQ(check->damaged, 3u);
    EXPECT_EQ(check->abandoned, 1u);
    EXPECT_FALSE(fs::exists(abandoned));
    EXPECT_TRUE(fs::exists(written));          // its writer lives
    EXPECT_EQ(files_in(folder.path), 7u + 1);  // with the stranger 0123.ptxgraft
    EXPECT_EQ(link::read_ledger(folder.str())->size, check->whole);
    const auto again = cache.verify();
    EXPECT_EQ(again->whole, check->whole);
    EXPECT_EQ(again->damaged + again->abandoned, 0u);

    EXPECT_EQ(*cache.clear(), check->whole);
    EXPECT_EQ(cache.folder()->size, CacheSize{});
    EXPECT_EQ(cache.folder()->counters, CacheCounters{});
    for (const std::string& name : strangers) EXPECT_EQ(read_file(folder.path / name), "mine");
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(cache.folder()->counters.stored, 1u);
}

TEST(CacheVerify, DoesNotCountAsUse) {
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    set_age(entry_path(folder.path, 1), std::chrono::hours(5));
    ASSERT_TRUE(on_disk(folder.path).verify());
    EXPECT_GT(age_of(entry_path(folder.path, 1)), std::chrono::hours(4));
    EXPECT_EQ(on_disk(folder.path).folder()->counters.disk_hits, 0u);
}

TEST(CacheVerify, OfNothingIsNothingAndMakesNoFolder) {
    const TemporaryFolder folder;
    const Cache cache = on_disk(folder.path / "absent");
    EXPECT_EQ(cache.verify()->whole, CacheSize{});
    EXPECT_EQ(*cache.clear(), CacheSize{});
    EXPECT_FALSE(fs::exists(folder.path / "absent"));
}

TEST(CacheLedger, IsWaitedForButNotForEver) {
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    const Cache cache = on_disk(folder.path);
    {
        const auto ledger = link::Ledger::open(folder.str(), std::chrono::seconds(1));
        ASSERT_TRUE(ledger);
        EXPECT_FALSE(link::Ledger::open(folder.str(), std::chrono::milliseconds(5)));
        EXPECT_EQ(ask(cache, 1), CacheLevel::disk);  // reading waits for nobody
        EXPECT_EQ(ask(cache, 2), CacheLevel::none);
        EXPECT_EQ(cache.counters().not_stored, 1u);
    }
    EXPECT_EQ(files_in(folder.path, ".ptxgraft-new"), 0u);
    EXPECT_EQ(ask(on_disk(folder.path), 2), CacheLevel::none);
    EXPECT_EQ(ask(on_disk(folder.path), 2), CacheLevel::disk);
}

// --- disks that cannot be written

TEST(CacheDisk, AReadOnlyFolderIsReadAndNothingElse) {
    if (::geteuid() == 0) {
        // Root may write everywhere but where the file system says no.
        const TemporaryFolder folder;
        ask(on_disk(folder.path), 1);
        if (::mount(folder.str().c_str(), folder.str().c_str(), nullptr, MS_BIND, nullptr) != 0)
            GTEST_SKIP() << "this root may not mount";
        ASSERT_EQ(::mount(nullptr, folder.str().c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr),
                  0);
        const Cache cache = on_disk(folder.path);
        EXPECT_EQ(ask(cache, 1), CacheLevel::disk);
        EXPECT_EQ(ask(cache, 2), CacheLevel::none);
        EXPECT_EQ(cache.counters().not_stored, 1u);
        EXPECT_EQ(cache.folder()->size.entries, 1u);
        const auto cleared = cache.clear();
        ::umount(folder.str().c_str());
        ASSERT_FALSE(cleared);
        EXPECT_EQ(cleared.error().code, Errc::cache_not_usable);
        EXPECT_THAT(detail(cleared.error()), HasSubstr("Read-only"));
        return;
    }
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    ASSERT_EQ(::chmod(folder.str().c_str(), 0500), 0);
    const Cache cache = on_disk(folder.path);
    EXPECT_EQ(ask(cache, 1), CacheLevel::disk);
    EXPECT_EQ(ask(cache, 2), CacheLevel::none);
    EXPECT_EQ(cache.counters().not_stored, 1u);
    ::chmod(folder.str().c_str(), 0700);
}

TEST(CacheDisk, FoldersThatCannotBeMadeAreMisses) {
    const Cache cache = on_disk("/proc/no/such/folder");
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(ask(cache, 1), CacheLevel::none);
    EXPECT_EQ(cache.counters().not_stored, 2u);
    EXPECT_EQ(*cache.clear(), CacheSize{});
}

TEST(CacheDisk, AFullDiskIsAMiss) {
    const TemporaryFolder folder;
    if (::mount("none", folder.str().c_str(), "tmpfs", 0, "size=256k") != 0)
        GTEST_SKIP() << "no small file system without root";
    {
        const Cache cache = on_disk(folder.path);
        std::uint64_t stored = 0;
        for (std::uint64_t i = 0; i < 20; ++i) ask(cache, i, 30'000);
        for (std::uint64_t i = 0; i < 20; ++i) stored += ask(cache, i, 30'000) == CacheLevel::disk;
        EXPECT_GE(stored, 4u);
        EXPECT_LT(stored, 9u);
        EXPECT_EQ(cache.counters().stored, stored);
        EXPECT_GE(cache.counters().not_stored, 20 - stored);
        EXPECT_EQ(files_in(folder.path), stored);
        EXPECT_EQ(files_in(folder.path, ".ptxgraft-new"), 0u);
        EXPECT_EQ(cache.verify()->damaged, 0u);
        // When there is room again, all is as ever.
        for (std::uint64_t i = 0; i < 20; ++i) fs::remove(entry_path(folder.path, i));
        ask(cache, 30, 30'000);
        EXPECT_EQ(ask(cache, 30, 30'000), CacheLevel::disk);
    }
    ::umount(folder.str().c_str());
}

// The same without root.
TEST(CacheDisk, AFileThatMayNotGrowIsAMiss) {
    const TemporaryFolder folder;
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{}, small{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 5000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Cache cache = on_disk(folder.path);
    ask(cache, 1, 3000);
    EXPECT_EQ(ask(cache, 2, 9000), CacheLevel::none);
    EXPECT_EQ(ask(cache, 2, 9000), CacheLevel::none);
    EXPECT_EQ(ask(cache, 1, 3000), CacheLevel::disk);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, before);
    EXPECT_EQ(cache.counters().not_stored, 2u);
    EXPECT_EQ(files_in(folder.path, ".ptxgraft-new"), 0u);
}

TEST(CacheDisk, WithoutFilesToOpenLookupsAreMisses) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the sanitizers open files";
#endif
    const TemporaryFolder folder;
    ask(on_disk(folder.path), 1);
    rlimit limit{}, none{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;  // the standard ones
    const Cache cache = on_disk(folder.path);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const CacheLevel from = ask(cache, 1);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(from, CacheLevel::none);
    EXPECT_EQ(cache.counters().dropped, 0u);
    EXPECT_EQ(ask(cache, 1), CacheLevel::disk);
}

TEST(CacheDisk, TheUmaskIsTheUsers) {
    const TemporaryFolder folder;
    const mode_t before = ::umask(027);
    ask(on_disk(folder.path / "made"), 1);
    ::umask(before);
    const auto mode = [](const fs::path& path) { return fs::status(path).permissions(); };
    EXPECT_EQ(mode(folder.path / "made"), static_cast<fs::perms>(0750));
    EXPECT_EQ(mode(entry_path(folder.path / "made", 1)), static_cast<fs::perms>(0640));
    EXPECT_EQ(mode(folder.path / "made" / "ptxgraft.ledger"), static_cast<fs::perms>(0640));
}

}  // namespace
}  // namespace ptxgraft
