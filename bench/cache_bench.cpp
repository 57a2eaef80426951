// What a cache costs: a key, a hit in memory and on disk, an entry written. Where SQLite is at hand, the same
// entries in a table of it, with all that makes it fast and nothing that the folder has beside: no record of
// the last use, no cap.
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "link/cache.hpp"
#include "link/cache/entry.hpp"
#include "measure.hpp"

#ifdef PTXGRAFT_SQLITE
#include <sqlite3.h>
#endif

namespace ptxgraft::bench {
namespace {

namespace fs = std::filesystem;
using link::Key;

// A folder that goes with its owner.
struct TemporaryFolder {
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "ptxgraft-bench-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~TemporaryFolder() { fs::remove_all(path); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    fs::path path;
};

// Machine code as large as that of a GEMM, which does not compress.
Cubin make_cubin(std::size_t size) {
    Cubin cubin;
    cubin.image.resize(size);
    std::mt19937_64 random(size);
    for (std::byte& byte : cubin.image) byte = static_cast<std::byte>(random());
    cubin.assembler = "nvptxcompiler 13.5.37";
    cubin.functions.push_back({.name = "gemm", .is_entry = true, .registers = 168, .shared_bytes = 49152});
    cubin.log = std::string(400, 'l');
    return cubin;
}
constexpr std::size_t image_bytes = 60 * 1024;

Key key_of(std::uint64_t number) {
    link::KeyBuilder key;
    key.add(std::to_string(number));
    return key.key();
}

// An entry of each number, made where there is none.
std::shared_ptr<const Cubin> look_up(const Cache& cache, std::uint64_t number, const Cubin& otherwise,
                                     CacheLevel& from) {
    const auto found = link::find_or_make(
        cache, key_of(number), [&]() -> Expected<Cubin> { return otherwise; }, &from);
    return found ? *found : nullptr;
}

void measure_hits(benchmark::State& state, const Cache& cache, CacheLevel expected) {
    const auto entries = static_cast<std::uint64_t>(state.range(0));
    const Cubin cubin = make_cubin(image_bytes);
    CacheLevel from = CacheLevel::none;
    for (std::uint64_t i = 0; i < entries; ++i) look_up(cache, i, cubin, from);
    std::minstd_rand random(1);
    std::vector<Key> keys;
    for (int i = 0; i < 4096; ++i) keys.push_back(key_of(random() % entries));
    std::size_t next = 0;
    for (auto _ : state) {
        const auto found = link::find_or_make(
            cache, keys[next++ % keys.size()], [&]() -> Expected<Cubin> { return cubin; }, &from);
        if (!found || from != expected) return state.SkipWithError("no hit");
        benchmark::DoNotOptimize((*found)->image.data());
    }
}

void BM_MemoryHit(benchmark::State& state) {
    const auto cache = Cache::open();
    measure_hits(state, *cache, CacheLevel::memory);
}
BENCHMARK(BM_MemoryHit)->ArgName("entries")->Arg(1000);

void BM_DiskHit(benchmark::State& state) {
    const TemporaryFolder folder;
    const auto cache = Cache::open({.dir = folder.path.string(), .memory_bytes = 0});
    measure_hits(state, *cache, CacheLevel::disk);
}
BENCHMARK(BM_DiskHit)->ArgName("entries")->Arg(1000)->Arg(30000);

// The first lookup of a process: the cache is opened for it, and its counters are handed over.
void BM_DiskHitOfANewHandle(benchmark::State& state) {
    const TemporaryFolder folder;
    const CacheOptions options{.dir = folder.path.string()};
    const Cubin cubin = make_cubin(image_bytes);
    CacheLevel from = CacheLevel::none;
    look_up(*Cache::open(options), 0, cubin, from);
    for (auto _ : state) {
        look_up(*Cache::open(options), 0, cubin, from);
        if (from != CacheLevel::disk) return state.SkipWithError("no hit");
    }
}
BENCHMARK(BM_DiskHitOfANewHandle);

void BM_Store(benchmark::State& state) {
    const TemporaryFolder folder;
    const auto cache = Cache::open({.dir = folder.path.string(), .memory_bytes = 0});
    const Cubin cubin = make_cubin(image_bytes);
    CacheLevel from = CacheLevel::none;
    for (std::uint64_t i = 0; auto _ : state) {
        look_up(*cache, i++, cubin, from);
        if (from != CacheLevel::none) return state.SkipWithError("nothing is stored");
    }
    if (cache->counters().not_stored != 0) state.SkipWithError("nothing is stored");
}
BENCHMARK(BM_Store);

// With the cap at 500 entries: of each ten that are stored, as many go.
void BM_StoreInAFullFolder(benchmark::State& state) {
    const TemporaryFolder folder;
    const Cubin cubin = make_cubin(image_bytes);
    const auto cache =
        Cache::open({.dir = folder.path.string(), .memory_bytes = 0, .disk_bytes = 500 * (64 << 10)});
    CacheLevel from = CacheLevel::none;
    std::uint64_t next = 0;
    while (cache->counters().evicted == 0) look_up(*cache, next++, cubin, from);
    for (auto _ : state) look_up(*cache, next++, cubin, from);
}
BENCHMARK(BM_StoreInAFullFolder);

// Hashing the PTX is nearly all of a key.
void BM_Key(benchmark::State& state) {
    std::string ptx;
    while (ptx.size() < static_cast<std::size_t>(state.range(0)) << 10)
        ptx += "\tfma.rn.f32 \t%f" + std::to_string(ptx.size()) + ", %f12, %f13, %f14;\n";
    const Assembler& assembler = default_assembler();
    for (auto _ : state) benchmark::DoNotOptimize(link::assembly_key(ptx, {}, assembler));
    state.SetBytesProcessed(static_cast<std::int64_t>(ptx.size()) * state.iterations());
}
BENCHMARK(BM_Key)->ArgName("KiB")->Arg(16)->Arg(128)->Arg(1024);

#ifdef PTXGRAFT_SQLITE

class Table {
  public:
    explicit Table(const fs::path& folder) {
        sqlite3_open((folder / "cache.sqlite").c_str(), &base_);
        for (const char* const text :
             {"PRAGMA page_size=16384", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF",
              "PRAGMA mmap_size=8589934592",
              "CREATE TABLE entries(low INTEGER PRIMARY KEY, high INTEGER, value BLOB)"})
            sqlite3_exec(base_, text, nullptr, nullptr, nullptr);
        sqlite3_prepare_v2(base_, "SELECT value FROM entries WHERE low=? AND high=?", -1, &find_, nullptr);
        sqlite3_prepare_v2(base_, "INSERT OR REPLACE INTO entries VALUES(?,?,?)", -1, &store_, nullptr);
    }
    ~Table() {
        sqlite3_finalize(find_);
        sqlite3_finalize(store_);
        sqlite3_close(base_);
    }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    std::optional<link::Outcome> find(const Key& key) {
        bind(find_, key);
        std::optional<link::Outcome> outcome;
        if (sqlite3_step(find_) == SQLITE_ROW)
            outcome = link::decode(key, {static_cast<const char*>(sqlite3_column_blob(find_, 0)),
                                         static_cast<std::size_t>(sqlite3_column_bytes(find_, 0))});
        sqlite3_reset(find_);
        return outcome;
    }
    bool store(const Key& key, const link::Outcome& outcome) {
        const std::string bytes = link::encode(key, outcome);
        bind(store_, key);
        sqlite3_bind_blob(store_, 3, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
        const bool is_done = sqlite3_step(store_) == SQLITE_DONE;
        sqlite3_reset(store_);
        return is_done;
    }

  private:
    static void bind(sqlite3_stmt* statement, const Key& key) {
        sqlite3_bind_int64(statement, 1, static_cast<sqlite3_int64>(key.low));
        sqlite3_bind_int64(statement, 2, static_cast<sqlite3_int64>(key.high));
    }
    sqlite3* base_ = nullptr;
    sqlite3_stmt *find_ = nullptr, *store_ = nullptr;
};

void BM_SqliteHit(benchmark::State& state) {
    const TemporaryFolder folder;
    Table table(folder.path);
    const auto entries = static_cast<std::uint64_t>(state.range(0));
    const auto cubin = std::make_shared<const Cubin>(make_cubin(image_bytes));
    for (std::uint64_t i = 0; i < entries; ++i)
        if (!table.store(key_of(i), cubin)) return state.SkipWithError("nothing is stored");
    std::minstd_rand random(1);
    std::vector<Key> keys;
    for (int i = 0; i < 4096; ++i) keys.push_back(key_of(random() % entries));
    std::size_t next = 0;
    for (auto _ : state)
        if (!table.find(keys[next++ % keys.size()])) return state.SkipWithError("no hit");
}
BENCHMARK(BM_SqliteHit)->ArgName("entries")->Arg(1000)->Arg(30000);

void BM_SqliteStore(benchmark::State& state) {
    const TemporaryFolder folder;
    Table table(folder.path);
    const auto cubin = std::make_shared<const Cubin>(make_cubin(image_bytes));
    for (std::uint64_t i = 0; auto _ : state)
        if (!table.store(key_of(i++), cubin)) return state.SkipWithError("nothing is stored");
}
BENCHMARK(BM_SqliteStore);

#endif

}  // namespace
}  // namespace ptxgraft::bench
