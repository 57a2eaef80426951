// The archive's file, by SQLite.

#include "search/archive/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/version.h"
#include "search/archive/bytes.hpp"
#include "search/archive/new_file.hpp"
#include "search/archive/options_text.hpp"
#include "search/archive/statement.hpp"

namespace ptxgraft::search {
namespace {

constexpr int format_version = 1;
constexpr const char* schema = R"(
CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE site (place INTEGER PRIMARY KEY, name TEXT, signature TEXT, "set" TEXT, max_genes INTEGER);
CREATE TABLE seed (site INTEGER, place INTEGER, program BLOB, PRIMARY KEY (site, place)) WITHOUT ROWID;
CREATE TABLE tunable (place INTEGER PRIMARY KEY, name TEXT, "values" BLOB);
CREATE TABLE constant (place INTEGER PRIMARY KEY, value REAL);
CREATE TABLE block (block INTEGER PRIMARY KEY, drawn INTEGER, duplicates INTEGER, candidates INTEGER,
    checksum INTEGER);
CREATE TABLE candidate (
    id INTEGER PRIMARY KEY, island INTEGER, operator INTEGER, parent INTEGER, parent2 INTEGER, refine INTEGER,
    structure INTEGER, constants INTEGER, genome BLOB, made BLOB, status INTEGER, gate INTEGER, cost REAL,
    low REAL, high REAL, errors BLOB, descriptor BLOB, detail TEXT, registers INTEGER, code_bytes INTEGER,
    checksum INTEGER);
)";
// Tables that older archives of this format lack.
constexpr const char* later_schema = R"(
CREATE TABLE IF NOT EXISTS gate (place INTEGER, name TEXT, "in" INTEGER, "out" INTEGER, seconds REAL,
    PRIMARY KEY (place, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS word (site INTEGER, place INTEGER, program BLOB, PRIMARY KEY (site, place))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS first (place INTEGER PRIMARY KEY, genome BLOB);
)";
// Columns likewise, behind the others: table, name, type.
constexpr std::array<std::array<const char*, 3>, 5> later_columns = {{{"candidate", "registers", "INTEGER"},
                                                                      {"candidate", "code_bytes", "INTEGER"},
                                                                      {"candidate", "checksum", "INTEGER"},
                                                                      {"block", "checksum", "INTEGER"},
                                                                      {"gate", "gpu_seconds", "REAL"}}};
// What is written once, when the archive is made.
constexpr std::array<const char*, 7> written_once = {
    "SELECT key, value FROM about WHERE key IN ('options', 'skeleton', 'space', 'task') ORDER BY key",
    "SELECT * FROM site ORDER BY place",
    "SELECT * FROM seed ORDER BY site, place",
    "SELECT * FROM word ORDER BY site, place",
    "SELECT * FROM tunable ORDER BY place",
    "SELECT * FROM constant ORDER BY place",
    "SELECT * FROM first ORDER BY place"};
constexpr const char* collection_schema = R"(
CREATE TABLE source (place INTEGER PRIMARY KEY, first INTEGER, count INTEGER, options TEXT, task TEXT,
    digest INTEGER, checksum INTEGER);
)";

template <class T> std::vector<std::byte> blob_of(std::span<const T> values) {
    static_assert(std::endian::native == std::endian::little);
    std::vector<std::byte> bytes(values.size_bytes());
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}
template <class T> Expected<std::vector<T>> values_of(std::span<const std::byte> bytes) {
    if (bytes.size() % sizeof(T) != 0) return fail(Errc::archive_malformed, "a column of numbers is cut off");
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

// File systems that other machines write to do not keep SQLite's promises.
bool is_shared(const std::string& path) {
    constexpr std::array<long, 6> magics = {0x6969, 0x517B, 0xFF534D42, 0x65735546, 0x0BD00BD0, 0x47504653};
    struct statfs found {};
    if (statfs(path.c_str(), &found) != 0) return false;
    for (const long magic : magics)
        if (static_cast<std::uint32_t>(found.f_type) == static_cast<std::uint32_t>(magic)) return true;
    return false;
}

// A file that only one process holds; the system lets go of it when the process ends, however that be.
class Lock {
  public:
    Lock() = default;
    explicit Lock(int file) : file_(file) {}
    Lock(Lock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    Lock& operator=(Lock&& other) noexcept {
        std::swap(file_, other.file_);
        return *this;
    }
    ~Lock() {
        if (file_ >= 0) ::close(file_);
    }

  private:
    int file_ = -1;
};

Expected<Lock> lock(const std::string& path) {
    std::error_code none;  // two names of one file are one archive
    const std::string real = std::filesystem::weakly_canonical(target_of(path), none).string();
    const int file = ::open((real + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return fail(Errc::archive_failed, path + ": " + std::strerror(errno));
    Lock held(file);
    if (flock(file, LOCK_EX | LOCK_NB) != 0) return fail(Errc::archive_in_use, path);
    return held;
}

using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// `name` is as SQLite takes it, `path` as the caller said it.
Expected<Database> opened(const std::string& name, const std::string& path, int how) {
    sqlite3* made = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &made, how, nullptr);
    Database database(made);
    if (code != SQLITE_OK) return fail(Errc::archive_failed, path + ": " + sqlite3_errmsg(made));
    sqlite3_busy_timeout(made, 60'000);
    return database;
}

Expected<Database> database_of(const std::string& path, int how) {
    return opened(file_name(path), path, how);
}

// A file of a log is read by an index beside it, which SQLite has to make. Where it cannot, and the log holds
// nothing, the file is read as one that nobody changes.
Expected<Database> unchanging_database_of(const std::string& path) {
    std::error_code none;
    const std::string file = std::filesystem::weakly_canonical(path, none).string();
    const auto log = std::filesystem::file_size(file + "-wal", none);
    if (!none && log != 0)
        return fail(Errc::archive_failed,
                    path + ": its last rows are in " + file +
                        "-wal, which is read in a folder that can be written only: copy "
                        "both files to one");
    std::string uri = "file:";
    for (const char c : file)
        uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", c) : std::string(1, c);
    return opened(uri + "?immutable=1", path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

// All that is read is of one moment.
Expected<Database> readable_database_of(const std::string& path) {
    Database database = TRY(database_of(path, SQLITE_OPEN_READONLY));
    const auto first_read = run_sql(database.get(), "BEGIN; SELECT count(*) FROM sqlite_master");
    if (first_read) return database;
    const int code = sqlite3_errcode(database.get());
    if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) return unchanging_database_of(path);
    return database;
}

}  // namespace

struct Store::Data {
    Lock lock;
    Database database;
    Statement add_block, add_candidate;
    bool is_open = false;  // a transaction

    Expected<void> run(const char* text) { return run_sql(database.get(), text); }
    Statement statement(const char* text) { return {database.get(), text}; }
    Expected<void> begin() {
        if (is_open) return {};
        TRY(run("BEGIN IMMEDIATE"));
        is_open = true;
        return {};
    }
    Expected<std::string> about(std::string_view key) {
        Statement find = statement("SELECT value FROM about WHERE key = ?");
        if (!TRY(find.with(key).step()))
            return fail(Errc::archive_malformed, "it does not say its " + std::string(key));
        return find.text();
    }
    Expected<bool> has_table(std::string_view name) {
        Statement find = statement("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
        return find.with(name).step();
    }
    Expected<void> add_later() {
        TRY(run(later_schema));
        for (const auto& [table, name, type] : later_columns)
            TRY(add_column(database.get(), table, name, type));
        return {};
    }
    void prepare_rows() {
        add_block = statement("INSERT OR REPLACE INTO block VALUES (?, ?, ?, ?, ?)");
        add_candidate = statement(
            "INSERT INTO candidate VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?)");
    }
    static Expected<void> make(const std::string& path, const Space& space, const Options& options,
                               std::span<const Genome> first);
    Expected<void> create(const Space& space, const Options& options, std::span<const Genome> first = {});
    Expected<void> check(const std::string& path, const Space& space, const Options& options);
    Expected<void> check_format(const std::string& path);
    Expected<std::uint64_t> sum_of_once();
    Expected<void> check_once();
};

Store::Store(std::unique_ptr<Data> data) : data_(std::move(data)) {}
sqlite3* Store::database() const { return data_->database.get(); }
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

// The file as it is before anything is judged.
Expected<void> Store::Data::make(const std::string& path, const Space& space, const Options& options,
                                 std::span<const Genome> first) {
    NewFile file(path);
    {
        Data data;
        data.database = TRY(database_of(file.name(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
        TRY(data.create(space, options, first));
    }
    return file.keep();
}

Expected<void> Store::Data::create(const Space& space, const Options& options,
                                   std::span<const Genome> first) {
    TRY(begin());
    TRY(run(schema));
    TRY(add_later());
    Statement about = statement("INSERT INTO about VALUES (?, ?)");
    TRY(about.with("format").with(std::to_string(format_version)).run());
    TRY(about.with("library").with(PTXGRAFT_VERSION_STRING).run());
    TRY(about.with("space").with(std::to_string(space.hash())).run());
    TRY(about.with("options").with(text_of(options)).run());
    TRY(about.with("task").with(options.task).run());
    TRY(about.with("skeleton").with(std::to_string(options.skeleton)).run());
    Statement site = statement("INSERT INTO site VALUES (?, ?, ?, ?, ?)");
    Statement seed = statement("INSERT INTO seed VALUES (?, ?, ?)");
    Statement word = statement("INSERT INTO word VALUES (?, ?, ?)");
    for (std::uint64_t s = 0; s < space.sites.size(); ++s) {
        const SiteSpace& of = space.sites[s];
        TRY(site.with(s)
                .with(of.name)
                .with(of.machine.signature().text())
                .with(of.machine.set().text())
                .with(std::uint64_t{of.max_genes})
                .run());
        for (std::uint64_t k = 0; k < of.seeds.size(); ++k)
            TRY(seed.with(s).with(k).with(std::span<const std::byte>(stack::to_bytes(of.seeds[k]))).run());
        for (std::uint64_t k = 0; k < of.library.size(); ++k)
            TRY(word.with(s).with(k).with(std::span<const std::byte>(stack::to_bytes(of.library[k]))).run());
    }
    Statement tunable = statement("INSERT INTO tunable VALUES (?, ?, ?)");
    for (std::uint64_t k = 0; k < space.tunables.size(); ++k)
        TRY(tunable.with(k)
                .with(space.tunables[k].name)
                .with(std::span<const std::byte>(
                    blob_of(std::span<const std::int64_t>(space.tunables[k].values))))
                .run());
    Statement constant = statement("INSERT INTO constant VALUES (?, ?)");
    for (std::uint64_t k = 0; k < space.constants.size(); ++k)
        TRY(constant.with(k).with(space.constants[k]).run());
    Statement genome = statement("INSERT INTO first VALUES (?, ?)");
    for (std::uint64_t k = 0; k < first.size(); ++k)
        TRY(genome.with(k).with(std::span<const std::byte>(bytes_of(first[k]))).run());
    TRY(about.with("checksum").with(std::to_string(TRY(sum_of_once()))).run());
    TRY(run("COMMIT"));
    is_open = false;
    return {};
}

Expected<std::uint64_t> Store::Data::sum_of_once() {
    Checksum sum;
    for (const char* query : written_once) {
        Statement rows = statement(query);
        while (TRY(rows.step())) rows.add_to(sum);
        sum.add_nothing();  // so that no row goes over to another table
    }
    return sum.value();
}

// An older archive has no checksum.
Expected<void> Store::Data::check_once() {
    Statement find = statement("SELECT value FROM about WHERE key = 'checksum'");
    if (!TRY(find.step())) return {};
    const std::string written = find.text();
    const auto found = sum_of_once();
    if (found && written == std::to_string(*found)) return {};
    return fail(Errc::archive_malformed,
                "its space, its options, its task or its first genomes are damaged: they are not what their "
                "checksum says");
}

// Any file may be given for an archive. To SQLite one without a whole page is an empty database.
Expected<void> Store::Data::check_format(const std::string& path) {
    Statement tables = statement("SELECT count(*) FROM sqlite_master WHERE name IN ('about', 'candidate')");
    const auto found = tables.step();
    if (!found || tables.number() != 2) {
        std::error_code none;
        const auto size = std::filesystem::file_size(path, none);
        return fail(found ? Errc::archive_malformed : found.error().code,
                    fmt::format("it has {} bytes and is no archive of a search: {}", size,
                                found ? "it has no tables of one" : *found.error().detail));
    }
    TRY(tables.step());
    const std::string format = TRY(about("format"));
    if (format == std::to_string(format_version)) return {};
    return fail(Errc::archive_differs,
                "its format is " + format + ", this library reads " + std::to_string(format_version));
}

Expected<void> Store::Data::check(const std::string& path, const Space& space, const Options& options) {
    TRY(check_format(path));
    TRY(check_once());
    if (TRY(has_table("source")))
        return fail(Errc::archive_differs, "it is a collection of searches, which is read alone");
    if (const std::string library = TRY(about("library")); library != PTXGRAFT_VERSION_STRING)
        return fail(Errc::archive_differs, "it was written by version " + library +
                                               " of the library, this is " PTXGRAFT_VERSION_STRING);
    if (TRY(about("space")) != std::to_string(space.hash()))
        return fail(Errc::archive_differs, "its space is not this one");
    Statement skeleton = statement("SELECT value FROM about WHERE key = 'skeleton'");
    if (TRY(skeleton.step()) && skeleton.text() != std::to_string(options.skeleton))
        return fail(Errc::archive_differs, "its skeleton is not this one");
    const std::string kept = TRY(about("options"));
    if (kept != text_of(options))
        return fail(Errc::archive_differs, "its options are " + kept + ", not " + text_of(options));
    if (TRY(about("task")) != options.task)
        return fail(Errc::archive_differs,
                    "its task is another text; what may change between runs is the budget");
    return {};
}

Expected<std::vector<Genome>> Store::first() const {
    std::vector<Genome> made;
    if (!TRY(data_->has_table("first"))) return made;
    Statement rows = data_->statement("SELECT genome FROM first ORDER BY place");
    while (TRY(rows.step())) made.push_back(TRY(genome_of(rows.blob())));
    return made;
}

Expected<Store> Store::open(const std::string& path, const Space& space, const Options& options,
                            std::span<const Genome> first) {
    auto data = std::make_unique<Data>();
    data->lock = TRY(lock(path));
    if (is_shared(std::filesystem::path(path).parent_path().empty()
                      ? "."
                      : std::filesystem::path(path).parent_path().string()))
        return fail(Errc::archive_failed,
                    path +
                        " is on a file system that several machines share, where locks do "
                        "not hold; keep it on a local disk");
    const bool is_new = !std::filesystem::exists(path);
    if (is_new) TRY(Data::make(path, space, options, first));
    data->database = TRY(database_of(path, SQLITE_OPEN_READWRITE));
    if (!is_new) TRY(data->check(path, space, options));
    if (!is_new && !first.empty())
        return fail(Errc::archive_differs, "there are genomes to be judged first, and it was begun already");
    TRY(data->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"));
    TRY(data->add_later());
    data->prepare_rows();
    return Store(std::move(data));
}

Expected<Store> Store::create(const std::string& path, const Space& space, const Options& options) {
    if (std::filesystem::exists(path)) return fail(Errc::archive_failed, path + " exists");
    auto data = std::make_unique<Data>();
    data->database = TRY(database_of(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    TRY(data->create(space, options));
    TRY(data->run(collection_schema));
    data->prepare_rows();
    return Store(std::move(data));
}

Expected<Store> Store::read(const std::string& path) {
    auto data = std::make_unique<Data>();
    data->database = TRY(readable_database_of(path));
    TRY(data->check_format(path));
    TRY(data->check_once());
    return Store(std::move(data));
}

Expected<Options> Store::options() const {
    Options made = TRY(options_of(TRY(data_->about("options"))));
    made.task = TRY(data_->about("task"));
    Statement skeleton = data_->statement("SELECT value FROM about WHERE key = 'skeleton'");
    if (TRY(skeleton.step())) made.skeleton = std::strtoull(skeleton.text().c_str(), nullptr, 10);
    return made;
}

Expected<Space> Store::space() const {
    Space made;
    Statement sites = data_->statement("SELECT name, signature, \"set\", max_genes FROM site ORDER BY place");
    while (TRY(sites.step())) {
        const std::string name = sites.text();
        const auto signature = TRY(Signature::parse(sites.text()));
        auto set = TRY(stack::InstructionSet::parse(sites.text()));
        auto machine = TRY(stack::Machine::make(std::move(set), signature));
        made.sites.push_back({.name = name,
                              .machine = std::move(machine),
                              .max_genes = static_cast<std::uint32_t>(sites.number())});
    }
    Statement seeds = data_->statement("SELECT site, program FROM seed ORDER BY site, place");
    while (TRY(seeds.step())) {
        const std::uint64_t site = seeds.number();
        if (site >= made.sites.size()) return fail(Errc::archive_malformed, "a seed is of no site");
        made.sites[site].seeds.push_back(TRY(stack::program_from_bytes(seeds.blob())));
    }
    if (TRY(data_->has_table("word"))) {
        Statement words = data_->statement("SELECT site, program FROM word ORDER BY site, place");
        while (TRY(words.step())) {
            const std::uint64_t site = words.number();
            if (site >= made.sites.size()) return fail(Errc::archive_malformed, "a word is of no site");
            made.sites[site].library.push_back(TRY(stack::program_from_bytes(words.blob())));
        }
    }
    Statement tunables = data_->statement("SELECT name, \"values\" FROM tunable ORDER BY place");
    while (TRY(tunables.step())) {
        Tunable tunable{.name = tunables.text(), .values = {}};
        tunable.values = TRY(values_of<std::int64_t>(tunables.blob()));
        made.tunables.push_back(std::move(tunable));
    }
    Statement constants = data_->statement("SELECT value FROM constant ORDER BY place");
    while (TRY(constants.step())) made.constants.push_back(constants.real());
    return made;
}

Expected<std::vector<BlockCounts>> Store::blocks() const {
    std::vector<BlockCounts> made;
    Statement rows = data_->statement("SELECT * FROM block ORDER BY block");
    while (TRY(rows.step())) {
        TRY(rows.check_row("block"));
        BlockCounts counts{};
        counts.block = rows.number();
        counts.drawn = rows.number();
        counts.duplicates = rows.number();
        counts.candidates = rows.number();
        if (counts.block != made.size()) return fail(Errc::archive_malformed, "a block is missing");
        made.push_back(counts);
    }
    return made;
}

// Candidates are committed in their order: where a later block has begun, an earlier one has all of its own.
Expected<void> Store::for_each(const std::function<Expected<void>(Candidate&&, Result&&)>& visit) const {
    const std::vector<BlockCounts> counts = TRY(blocks());
    const bool is_collection = TRY(data_->has_table("source"));
    const std::uint64_t size = is_collection ? 0 : TRY(options()).block;
    std::uint64_t next = 0, block = 0, committed = 0;
    const auto end_blocks = [&](std::uint64_t until) -> Expected<void> {
        for (; block < until; ++block)
            if (block >= counts.size() || std::exchange(committed, 0) != counts[block].candidates)
                return fail(Errc::archive_malformed,
                            fmt::format("candidates of block {} are missing", block));
        return {};
    };
    TRY(for_each(0, std::numeric_limits<std::int64_t>::max(),
                 [&](Candidate&& candidate, Result&& result) -> Expected<void> {
                     if (candidate.index < next)
                         return fail(Errc::archive_malformed,
                                     fmt::format("candidate {} comes behind candidate {}", candidate.index,
                                                 next - 1));
                     next = candidate.index + 1;
                     if (size != 0) TRY(end_blocks(candidate.index / size));
                     ++committed;
                     return visit(std::move(candidate), std::move(result));
                 }));
    return size != 0 && !counts.empty() ? end_blocks(counts.size() - 1) : Expected<void>();
}

Expected<void> Store::for_each(std::uint64_t first, std::uint64_t count,
                               const std::function<Expected<void>(Candidate&&, Result&&)>& visit) const {
    const bool has_code = TRY(has_column(data_->database.get(), "candidate", "code_bytes"));
    Statement rows = data_->statement("SELECT * FROM candidate WHERE id >= ? AND id - ? < ? ORDER BY id");
    rows.with(first).with(first).with(count);
    while (TRY(rows.step())) {
        TRY(rows.check_row("candidate"));
        Candidate candidate;
        Result result;
        candidate.index = result.index = rows.number();
        candidate.island = static_cast<std::uint16_t>(rows.number());
        candidate.operation = static_cast<std::uint16_t>(rows.number());
        candidate.parents[0] = rows.number();
        candidate.parents[1] = rows.number();
        const std::uint64_t refine = rows.number();
        if (refine > static_cast<std::uint64_t>(Refine::measure))
            return fail(Errc::archive_malformed, "refine is none");
        candidate.refine = static_cast<Refine>(refine);
        candidate.key.structure = rows.number();
        candidate.key.constants = rows.number();
        candidate.genome = TRY(genome_of(rows.blob()));
        const auto made = rows.blob();
        if (!made.empty()) result.genome = TRY(genome_of(made));
        const std::uint64_t status = rows.number();
        if (status > static_cast<std::uint64_t>(Status::noisy))
            return fail(Errc::archive_malformed, "status is none");
        result.status = static_cast<Status>(status);
        result.gate = static_cast<std::uint16_t>(rows.number());
        result.cost = rows.real();
        result.low = rows.real();
        result.high = rows.real();
        result.errors = TRY(values_of<float>(rows.blob()));
        result.descriptor = TRY(values_of<double>(rows.blob()));
        result.detail = rows.text();
        if (has_code && !rows.is_null())
            result.code = CodeSize{.registers = static_cast<std::uint32_t>(rows.number()),
                                   .code_bytes = static_cast<std::uint32_t>(rows.number())};
        TRY(visit(std::move(candidate), std::move(result)));
    }
    return {};
}

Expected<void> Store::add(const BlockCounts& counts) {
    TRY(data_->begin());
    return data_->add_block.with(counts.block)
        .with(counts.drawn)
        .with(counts.duplicates)
        .with(counts.candidates)
        .with_checksum()
        .run();
}

Expected<void> Store::add(const Candidate& candidate, const Result& result) {
    TRY(data_->begin());
    Statement& add = data_->add_candidate;
    const auto put_bytes = [&](const std::vector<std::byte>& bytes) {
        add.with(std::span<const std::byte>(bytes));
    };
    for (const std::uint64_t number :
         {candidate.index, std::uint64_t{candidate.island}, std::uint64_t{candidate.operation},
          candidate.parents[0], candidate.parents[1], static_cast<std::uint64_t>(candidate.refine),
          candidate.key.structure, candidate.key.constants})
        add.with(number);
    put_bytes(bytes_of(candidate.genome));
    if (result.genome)
        put_bytes(bytes_of(*result.genome));
    else
        add.with_nothing();
    add.with(static_cast<std::uint64_t>(result.status)).with(std::uint64_t{result.gate});
    for (const double number : {result.cost, result.low, result.high}) add.with(number);
    put_bytes(blob_of(std::span<const float>(result.errors)));
    put_bytes(blob_of(std::span<const double>(result.descriptor)));
    add.with(std::string_view(result.detail));
    for (const std::uint32_t CodeSize::*figure : {&CodeSize::registers, &CodeSize::code_bytes})
        result.code ? add.with(std::uint64_t{(*result.code).*figure}) : add.with_nothing();
    return add.with_checksum().run();
}

Expected<std::vector<GateCount>> Store::gates() const {
    std::vector<GateCount> made;
    if (!TRY(data_->has_table("gate"))) return made;
    const bool has_gpu = TRY(has_column(data_->database.get(), "gate", "gpu_seconds"));
    Statement rows = data_->statement(
        has_gpu ? "SELECT group_concat(name, ' / '), sum(\"in\"), sum(\"out\"), sum(seconds), "
                  "sum(gpu_seconds) FROM gate GROUP BY place ORDER BY place"
                : "SELECT group_concat(name, ' / '), sum(\"in\"), sum(\"out\"), sum(seconds), 0.0 FROM gate "
                  "GROUP BY place ORDER BY place");
    while (TRY(rows.step())) {
        GateCount gate;
        gate.name = rows.text();
        gate.in = rows.number();
        gate.out = rows.number();
        gate.seconds = rows.real();
        gate.gpu_seconds = rows.real();
        made.push_back(std::move(gate));
    }
    return made;
}

Expected<std::string> Store::stop() const {
    Statement find = data_->statement("SELECT value FROM about WHERE key = 'stop'");
    if (!TRY(find.step())) return std::string();
    return find.text();
}

Expected<std::vector<StoredSource>> Store::sources() const {
    std::vector<StoredSource> made;
    if (!TRY(data_->has_table("source"))) return made;
    Statement rows = data_->statement("SELECT * FROM source ORDER BY place");
    while (TRY(rows.step())) {
        TRY(rows.check_row("source"));
        StoredSource source;
        rows.number();  // its place
        source.first = rows.number();
        source.count = rows.number();
        source.options = rows.text();
        source.task = rows.text();
        source.digest = rows.number();
        made.push_back(std::move(source));
    }
    return made;
}

Expected<void> Store::add(std::span<const GateCount> gates) {
    TRY(data_->begin());
    Statement add = data_->statement(
        "INSERT INTO gate VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (place, name) DO UPDATE SET "
        "\"in\" = \"in\" + excluded.\"in\", \"out\" = \"out\" + excluded.\"out\", "
        "seconds = seconds + excluded.seconds, "
        "gpu_seconds = coalesce(gpu_seconds, 0) + excluded.gpu_seconds");
    for (std::uint64_t place = 0; place < gates.size(); ++place)
        TRY(add.with(place)
                .with(std::string_view(gates[place].name))
                .with(gates[place].in)
                .with(gates[place].out)
                .with(gates[place].seconds)
                .with(gates[place].gpu_seconds)
                .run());
    return {};
}

Expected<void> Store::add(const StoredSource& source) {
    TRY(data_->begin());
    Statement count = data_->statement("SELECT count(*) FROM source");
    TRY(count.step());
    Statement add = data_->statement("INSERT INTO source VALUES (?, ?, ?, ?, ?, ?, ?)");
    return add.with(count.number())
        .with(source.first)
        .with(source.count)
        .with(std::string_view(source.options))
        .with(std::string_view(source.task))
        .with(source.digest)
        .with_checksum()
        .run();
}

Expected<void> Store::set_stop(std::string_view stop) {
    TRY(data_->begin());
    if (stop.empty()) return data_->run("DELETE FROM about WHERE key = 'stop'");
    return data_->statement("INSERT OR REPLACE INTO about VALUES ('stop', ?)").with(stop).run();
}

Expected<void> Store::flush() {
    if (!data_->is_open) return {};
    TRY(data_->run("COMMIT"));
    data_->is_open = false;
    return {};
}

}  // namespace ptxgraft::search
