// Archives: as tables, damaged, of older versions, judged anew.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>
#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"
#include "search/loop.hpp"
#include "support/files.hpp"

namespace ptxgraft::search {
namespace {

using ptxgraft::test::read_file;
using ptxgraft::test::write_file;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

// What is printed of a program and a detail with all that CSV has to quote.
TEST(Archives, AreTablesToo) {
    Space space = float_space();
    space.tunables.push_back({.name = "tile, of threads", .values = {32, -64}});
    const std::string path = archive_path("table");
    {
        auto search =
            Search::open(path, space, {.axes = {{"error", {1}}}, .islands = 1, .block = 16, .refine = false});
        ByFunction gate("right", [](const Candidate& candidate, Result& result) {
            result.cost = 0.1;
            result.descriptor = {INFINITY};
            if (candidate.index == 2) result.low = 0.05, result.high = 0.2;
            if (candidate.index != 1) return;
            result.status = Status::failed;
            result.detail = "it says \"no\",\nand ends";
        });
        ran(*search, {&gate}, {.budget = {.candidates = 40}});
    }
    std::vector<std::string> records;
    ASSERT_TRUE(Archive::open(path)->export_csv([&](std::string_view r) { records.emplace_back(r); }));
    ASSERT_THAT(records, SizeIs(41));
    EXPECT_EQ(records[0],
              "index,island,operator,refine,parent,parent2,status,cost,low,high,axis error,site f,"
              "\"tunable tile, of threads\",detail\r\n");
    EXPECT_THAT(records[1], StartsWith("0,0,umad,none,\"\",\"\",ok,0.1,\"\",\"\",inf,"));
    EXPECT_THAT(records[2], HasSubstr(",failed,0.1,\"\",\"\",inf,"));
    EXPECT_THAT(records[3], HasSubstr(",ok,0.1,0.05,0.2,inf,"));
    EXPECT_THAT(records[2], testing::EndsWith(",\"it says \"\"no\"\",\nand ends\"\r\n"));
    for (const std::string& record : records) {  // fields by counting quotes
        std::size_t fields = 1;
        bool is_quoted = false;
        for (const char c : record) {
            if (c == '"') is_quoted = !is_quoted;
            if (c == ',' && !is_quoted) ++fields;
        }
        EXPECT_EQ(fields, 14u) << record;
        EXPECT_FALSE(is_quoted);
    }
}

std::string some_archive(std::string_view name) {
    const std::string path = archive_path(name);
    auto search = Search::open(path, float_space(), {.block = 64, .refine = false});
    ByFunction gate("assembly", [](const Candidate& candidate, Result& result) {
        result.code = CodeSize{.registers = 16, .code_bytes = 256};
        result.cost = static_cast<double>(candidate.index % 3);
        result.errors = {1, 0};
    });
    ran(*search, {&gate}, {.budget = {.candidates = 200}});
    return path;
}

TEST(Archives, NameARowThatIsDamaged) {
    const auto failure = [](const std::string& path) {
        const auto archive = Archive::open(path);
        const auto done = archive->for_each([](const Candidate&, const Result&) {});
        return done ? std::string() : message(done.error());
    };
    for (const char* sql :
         {"UPDATE candidate SET cost = cost + 1 WHERE id = 77",
          "UPDATE candidate SET parent2 = 5 WHERE id = 77",
          "UPDATE candidate SET genome = substr(genome, 1, length(genome) - 1) WHERE id = 77",
          "UPDATE candidate SET errors = zeroblob(8) WHERE id = 77",
          "UPDATE candidate SET detail = 'so' WHERE id = 77",
          "UPDATE candidate SET registers = 15 WHERE id = 77",
          "UPDATE candidate SET code_bytes = NULL WHERE id = 77",
          "UPDATE candidate SET checksum = checksum + 1 WHERE id = 77",
          "UPDATE candidate SET status = 99 WHERE id = 77"}) {
        const std::string path = some_archive("damaged");
        EXPECT_EQ(failure(path), "");
        change(path, sql);
        EXPECT_THAT(failure(path), HasSubstr("candidate 77 is damaged")) << sql;
        const auto search = Search::open(path, float_space(), {.block = 64, .refine = false});
        ASSERT_FALSE(search) << sql;
        EXPECT_EQ(search.error().code, Errc::archive_malformed);
    }
}

TEST(Archives, SayThatTheirSpaceOrTheirTaskIsDamaged) {
    Space space = float_space();
    const stack::Program program = *stack::parse("x 2.0 mul.f32 -> y", space.sites[0].machine);
    space.sites[0].seeds = space.sites[0].library = {program};
    space.tunables = {{.name = "tile", .values = {32, 64}}};
    space.constants = {0.5, 3};
    const Options options{.block = 64, .refine = false, .task = "{}"};
    const std::string path = archive_path("damaged_space");
    for (const char* sql :
         {"UPDATE site SET max_genes = max_genes + 1", "UPDATE seed SET program = zeroblob(0)",
          "UPDATE word SET place = 1", "UPDATE tunable SET name = 'tiles'",
          "UPDATE tunable SET \"values\" = zeroblob(16)", "UPDATE constant SET value = 4 WHERE place = 1",
          "DELETE FROM constant WHERE place = 1", "UPDATE first SET genome = zeroblob(8)",
          "UPDATE about SET value = '{ }' WHERE key = 'task'",
          "UPDATE about SET value = json_set(value, '$.seed', 5) WHERE key = 'options'",
          "UPDATE about SET value = '5' WHERE key = 'skeleton'",
          "UPDATE about SET value = '5' WHERE key = 'checksum'"}) {
        static_cast<void>(archive_path("damaged_space"));
        {
            auto search = Search::open(path, space, options, {{.programs = {program}, .tunables = {1}}});
            ASSERT_TRUE(search) << message(search.error());
        }
        ASSERT_TRUE(Archive::open(path));
        change(path, sql);
        const auto archive = Archive::open(path);
        ASSERT_FALSE(archive) << sql;
        EXPECT_EQ(archive.error().code, Errc::archive_malformed) << sql;
        EXPECT_THAT(message(archive.error()), HasSubstr("damaged")) << sql;
        EXPECT_EQ(Search::open(path, space, options).error().code, Errc::archive_malformed) << sql;
    }
}

// A row that is as it was written is wrong in another's place, and one that is missing has no checksum.
TEST(Archives, RowsThatAreMissingAreMissed) {
    const auto read = [](const std::string& path) {
        return message(Archive::open(path)->for_each([](const Candidate&, const Result&) {}).error());
    };
    for (const char* rows : {"id = 5", "id BETWEEN 3 AND 80", "id < 64"}) {
        const std::string path = some_archive("missing");
        change(path, (std::string("DELETE FROM candidate WHERE ") + rows).c_str());
        EXPECT_THAT(read(path), HasSubstr("candidates of block 0 are missing")) << rows;
    }
    const std::string path = some_archive("missing");
    change(path, "DELETE FROM candidate WHERE id > 70");
    EXPECT_THAT(read(path), HasSubstr("candidates of block 1 are missing"));
}

TEST(Archives, NameABlockThatIsDamaged) {
    const std::string path = some_archive("damaged_block");
    ASSERT_TRUE(Archive::open(path)->ledger());
    change(path, "UPDATE block SET duplicates = duplicates + 1 WHERE block = 1");
    const auto ledger = Archive::open(path)->ledger();
    ASSERT_FALSE(ledger);
    EXPECT_THAT(message(ledger.error()), HasSubstr("block 1 is damaged"));
    EXPECT_EQ(Search::open(path, float_space(), {.block = 64, .refine = false}).error().code,
              Errc::archive_malformed);
}

// To SQLite a file without a whole page is an empty database, and it would write one there.
TEST(Archives, NoOtherFileIsTakenForOne) {
    const Space space = float_space();
    const std::string path = archive_path("no_archive"), whole_path = archive_path("whole");
    ASSERT_TRUE(Search::open(whole_path, space, {}));
    const std::string whole = read_file(whole_path);
    change(path, "CREATE TABLE letter (text TEXT)");
    const std::string letter = read_file(path);
    const std::string files[] = {"",     "\n",       "SQLite format 3",   std::string(100, '\0'),
                                 letter, "a letter", whole.substr(0, 99), whole.substr(0, 512)};
    for (const std::string& bytes : files) {
        write_file(path, bytes);
        const auto opened = Search::open(path, space, {});
        ASSERT_FALSE(opened) << bytes.size();
        EXPECT_EQ(opened.error().code, Errc::archive_malformed) << bytes.size();
        EXPECT_THAT(message(opened.error()), HasSubstr("it has " + std::to_string(bytes.size()) +
                                                       " bytes and is no archive of a search"));
        EXPECT_EQ(read_file(path), bytes) << "it is another's file";
        const auto archive = Archive::open(path);
        ASSERT_FALSE(archive) << bytes.size();
        EXPECT_EQ(message(archive.error()), message(opened.error()));
        const std::string in[] = {whole_path, path};
        const auto merged = merge(in, archive_path("merged"));
        ASSERT_FALSE(merged) << bytes.size();
        EXPECT_EQ(message(merged.error()), message(opened.error()));
    }
}

// A process that dies while it makes one leaves a file of another name, which the next one makes anew.
TEST(Archives, AreMadeWholeOrNotAtAll) {
    const Space space = float_space();
    const std::string path = archive_path("made");
    write_file(path + ".part", "cut off");
    ASSERT_TRUE(Search::open(path, space, {}));
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
    EXPECT_TRUE(Search::open(path, space, {}));
    Options options;
    options.seed = 2;
    EXPECT_FALSE(Search::open(path, space, options)) << "it is the one of before";
}

TEST(Archives, AreMadeWhereALinkLeads) {
    const std::string file = archive_path("target"), link = archive_path("link");
    std::filesystem::create_symlink(std::filesystem::path(file).filename(), link);
    ASSERT_TRUE(Search::open(link, float_space(), {}));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(Archive::open(file));
}

TEST(Archives, ALogWhoseFileIsGoneIsForgotten) {  // a process that was killed leaves one
    const std::string path = archive_path("log"), log = path + "-wal", kept = path + ".log";
    {
        auto search = Search::open(path, float_space(), {.block = 64, .refine = false});
        ByFunction gate("right", [](const Candidate&, Result& result) { result.cost = 1; });
        ran(*search, {&gate}, {.budget = {.candidates = 200}});
        std::filesystem::copy_file(log, kept, std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove(path);
    std::filesystem::rename(kept, log);
    ASSERT_TRUE(Search::open(path, float_space(), {.seed = 2}));
    EXPECT_EQ(exported(path), "");
}

// What a process that may not write to `folder` says of its archive.
std::string read_by_nobody(const std::filesystem::path& folder, const std::filesystem::path& archive) {
    std::filesystem::permissions(folder, std::filesystem::perms(0555));
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        if (geteuid() == 0 && setuid(nobody) != 0) _exit(1);
        std::size_t count = 0;
        const auto opened = Archive::open(archive.string());
        const Expected<void> seen = opened ? opened->for_each([&](auto&, auto&) { ++count; })
                                           : Expected<void>(tl::unexpected(opened.error()));
        const std::string text = seen ? std::to_string(count) : message(seen.error());
        _exit(write(ends[1], text.data(), text.size()) < 0);
    }
    close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
    return text;
}

// SQLite makes an index of a log beside a file before it reads it.
TEST(Archives, AreReadInAFolderThatCannotBeWritten) {
    std::string place = (std::filesystem::temp_directory_path() / "archives-XXXXXX").string();
    ASSERT_NE(mkdtemp(place.data()), nullptr);
    std::filesystem::permissions(place, std::filesystem::perms(0755));
    const std::filesystem::path folder = std::filesystem::path(place) / "%41 and?immutable=0#1";
    std::filesystem::create_directory(folder);
    const std::filesystem::path kept = folder / "run.sqlite", log = folder / "run.sqlite-wal";
    std::filesystem::copy_file(some_archive("readable"), kept);
    EXPECT_THAT(exported(kept.string()), HasSubstr("\"index\""));
    for (const char* ending : {"-wal", "-shm"}) std::filesystem::remove(kept.string() + ending);
    std::size_t count = 0;
    ASSERT_TRUE(Archive::open(kept.string())->for_each([&](const Candidate&, const Result&) { ++count; }));
    for (const char* ending : {"-wal", "-shm"}) std::filesystem::remove(kept.string() + ending);
    EXPECT_EQ(read_by_nobody(folder, kept), std::to_string(count));
    write_file(log.string(), "rows");
    EXPECT_THAT(read_by_nobody(folder, kept), HasSubstr("copy both files"));
    const std::filesystem::path link = std::filesystem::path(place) / "link.sqlite";
    std::filesystem::create_symlink(kept, link);
    EXPECT_THAT(read_by_nobody(folder, link), HasSubstr("copy both files")) << "the log is where the file is";
    std::filesystem::remove_all(place);
}

TEST(Archives, OfOlderVersionsAreReadAndContinued) {  // without code, checksums, words and first genomes
    const std::string path = some_archive("older"), same = some_archive("same");
    change(path,
           "ALTER TABLE candidate DROP COLUMN checksum; ALTER TABLE candidate DROP COLUMN code_bytes;"
           "ALTER TABLE candidate DROP COLUMN registers; ALTER TABLE gate DROP COLUMN gpu_seconds;"
           "ALTER TABLE block DROP COLUMN checksum; DROP TABLE word; DROP TABLE first;"
           "DELETE FROM about WHERE key IN ('skeleton', 'checksum')");
    EXPECT_EQ(exported(path), exported(same));
    EXPECT_TRUE(Archive::open(path)->ledger());
    for (const std::string& one : {path, same}) {
        auto search = Search::open(one, float_space(), {.block = 64, .refine = false});
        ASSERT_TRUE(search) << message(search.error());
        ByFunction gate("assembly", all_are_right);
        ran(*search, {&gate}, {.budget = {.candidates = 50}});
    }
    EXPECT_EQ(exported(path), exported(same));
    change(path, "UPDATE candidate SET cost = 9 WHERE id = 220");
    EXPECT_THAT(message(Archive::open(path)->for_each([](const Candidate&, const Result&) {}).error()),
                HasSubstr("candidate 220 is damaged"));
}

TEST(Archives, AreOfOneLibraryAndOneSkeleton) {
    const std::string path = some_archive("library_of");
    Options options{.block = 64, .refine = false};
    EXPECT_TRUE(Search::open(path, float_space(), options));
    options.skeleton = 5;
    const auto other = Search::open(path, float_space(), options);
    EXPECT_EQ(other.error().code, Errc::archive_differs);
    EXPECT_THAT(message(other.error()), HasSubstr("skeleton"));
    options.skeleton = 0;
    change(path, "UPDATE about SET value = '0.0.1' WHERE key = 'library'");
    const auto older = Search::open(path, float_space(), options);
    EXPECT_EQ(older.error().code, Errc::archive_differs);
    EXPECT_THAT(message(older.error()), HasSubstr("version 0.0.1"));
    EXPECT_TRUE(Archive::open(path)) << "it is read all the same";
}

TEST(Archives, GenomesAreJudgedAnewInAnotherSpace) {
    const std::string old = archive_path("old"), made = archive_path("new");
    Space space = float_space();
    space.tunables.push_back({.name = "tile", .values = {32, 64}});
    {
        auto search = Search::open(old, space, {.block = 64, .refine = false});
        ByFunction gate("right", half_pass);
        ran(*search, {&gate}, {.budget = {.candidates = 300}});
    }
    // other places for the instructions and the values, and one of each less
    Space other = float_space("max.f32\nadd.f32\nmul.f32\nfma.rn.f32\nmin.f32\n");
    other.tunables.push_back({.name = "depth", .values = {7, 8}});
    other.tunables.push_back({.name = "tile", .values = {16, 32}});
    const auto archive = Archive::open(old);
    const auto genomes = archive->genomes_for(other);
    ASSERT_TRUE(genomes) << message(genomes.error());
    std::vector<std::string> wanted, found;
    ASSERT_TRUE(archive->for_each([&](const Candidate& candidate, const Result& result) {
        const std::string text = stack::print(candidate.genome.programs[0], space.sites[0].machine);
        const bool is_left = result.status == Status::ok && candidate.genome.tunables[0] == 0 &&
                             text.find("sub.f32") == std::string::npos;
        if (is_left) wanted.push_back(text);
    }));
    for (const Genome& genome : *genomes) {
        found.push_back(stack::print(genome.programs[0], other.sites[0].machine));
        EXPECT_EQ(genome.tunables, (std::vector<std::uint32_t>{0, 1}));
    }
    ASSERT_GT(wanted.size(), 20u);
    EXPECT_EQ(found, wanted);
    // they come first, and a search that goes on knows them
    const Options options{.block = 16, .refine = false};
    ByFunction gate("right", all_are_right);
    for (int k = 0; k < 3; ++k) {
        auto search = Search::open(made, other, options, k == 0 ? *genomes : std::vector<Genome>{});
        ASSERT_TRUE(search) << message(search.error());
        ran(*search, {&gate}, {.budget = {.candidates = 50}});
    }
    EXPECT_EQ(Search::open(made, other, options, *genomes).error().code, Errc::archive_differs);
    std::set<std::string> judged;
    ASSERT_TRUE(Archive::open(made)->for_each([&](const Candidate& candidate, const Result&) {
        if (candidate.index < genomes->size())
            judged.insert(stack::print(candidate.genome.programs[0], other.sites[0].machine));
    }));
    std::size_t there = 0;  // but for those that compute what another one does
    for (const std::string& text : wanted) there += judged.contains(text) ? 1 : 0;
    EXPECT_GT(there * 10, wanted.size() * 9);
    EXPECT_EQ(Archive::open(made)->first(), *genomes);
    EXPECT_EQ(Search::open("", float_space(), {}, *genomes).error().code, Errc::space_invalid);
}

// More than the blocks that are drawn before any result is known: what is to be refined takes no place of
// theirs, on any way through the log.
TEST(Archives, AllGenomesAreJudgedAnewHoweverManyThereAre) {
    const std::string path = archive_path("many");
    const Space space = float_space();
    std::vector<Genome> first;
    for (int k = 1; k <= 150; ++k) {
        const auto program =
            stack::parse("x " + std::to_string(k) + ".0 add.f32 -> y", space.sites[0].machine);
        ASSERT_TRUE(program) << message(program.error());
        first.push_back({.programs = {*program}, .tunables = {}});
    }
    const Options options{.islands = 1, .block = 16};
    std::atomic<int> refined = 0;
    ByFunction gate("right", [&](const Candidate& candidate, Result& result) {
        result.cost = 1000.0 - static_cast<double>(candidate.index);
        refined += candidate.refine != Refine::none ? 1 : 0;
    });
    for (int k = 0; k < 3; ++k) {
        auto search = Search::open(path, space, options, k == 0 ? first : std::vector<Genome>{});
        ASSERT_TRUE(search) << message(search.error());
        ran(*search, {&gate}, {.budget = {.candidates = 75}});
    }
    EXPECT_GT(refined, 0);
    std::uint64_t next = 0;
    ASSERT_TRUE(Archive::open(path)->for_each([&](const Candidate& candidate, const Result&) {
        EXPECT_EQ(candidate.index, next);
        EXPECT_TRUE(next >= first.size() || candidate.genome == first[next]) << next;
        ++next;
    }));
    EXPECT_EQ(next, 225u);
    EXPECT_TRUE(Archive::open(path)->ledger());
}

TEST(Archives, WhoseOptionsAreDamagedAreNotRead) {
    for (const char* name : {"islands", "population", "block", "tournament", "cell_depth", "attempts"}) {
        const std::string path = some_archive("damaged_options");
        const std::string set = "UPDATE about SET value = json_set(value, '$." + std::string(name) + "', 0)";
        change(path, (set + " WHERE key = 'options'; DELETE FROM about WHERE key = 'checksum'").c_str());
        const auto archive = Archive::open(path);
        ASSERT_FALSE(archive) << name;
        EXPECT_EQ(archive.error().code, Errc::archive_malformed) << name;
    }
}

}  // namespace
}  // namespace ptxgraft::search
