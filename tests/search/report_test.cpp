// Reports and collections: what a page says of an archive, that it is whole and safe whatever names hold, and
// that archives become one in any order.
#include "ptxgraft/search_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "support/files.hpp"

namespace ptxgraft::search {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr std::string_view bit_forms = "add.u32\nsub.u32\nand.b32\nor.b32\nxor.b32\nnot.b32\nneg.s32\n";

Space small_space(std::string_view signature = "in u32 x, out u32 y", std::string_view set = bit_forms) {
    const auto machine =
        stack::Machine::make(*stack::InstructionSet::parse(set), *Signature::parse(signature));
    EXPECT_TRUE(machine);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 16});
    return space;
}

Cases lowest_bit_off() {
    Cases cases{.count = 64, .measure = Measure::bits};
    cases.inputs.resize(2);
    cases.right.resize(2);
    for (std::uint32_t x = 0; x < cases.count; ++x) {
        const std::uint32_t value = x * x * 2654435761u;
        const auto bytes = std::as_bytes(std::span(&value, 1));
        cases.inputs[0].insert(cases.inputs[0].end(), bytes.begin(), bytes.end());
        cases.right[1].push_back(value & (value - 1));
    }
    return cases;
}

Options options_of(std::uint64_t seed, Strategy strategy = Strategy::evolve) {
    return {.seed = seed,
            .strategy = strategy,
            .axes = {{"instructions", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12}}, {"error", {}}},
            .block = 128,
            .task = R"json({"reference": "y = x & (x - 1u)", "budget": {"candidates": 1}})json"};
}

class Report : public testing::Test {
  protected:
    std::string path(std::string_view name) { return folder_.str() + "/" + std::string(name); }
    // A search of so many candidates; what the ledger then says.
    Ledger search(std::string_view name, const Space& space, const Options& options,
                  std::uint64_t candidates) {
        auto made = Search::open(path(name), space, options);
        EXPECT_TRUE(made) << message(made.error());
        const auto gate = columns(small_space(), lowest_bit_off());
        Gate* const gates[] = {gate->get()};
        EXPECT_TRUE(made->run(gates, {.budget = {.candidates = candidates}, .threads = 2}));
        return made->ledger();
    }
    Archive opened(std::string_view name) {
        auto archive = Archive::open(path(name));
        EXPECT_TRUE(archive) << message(archive.error());
        return std::move(*archive);
    }
    std::string html(std::string_view name, std::span<const Archive> beside = {},
                     const std::string& title = {}) {
        const auto made = report_html(opened(name), beside, {.title = title});
        EXPECT_TRUE(made) << message(made.error());
        return made.value_or("");
    }
    Json json(std::string_view name, std::span<const Archive> beside = {}) {
        const auto made = report_json(opened(name), beside);
        EXPECT_TRUE(made) << message(made.error());
        return Json::parse(made.value_or("null"));
    }
    std::string exported(std::string_view name) {
        std::string all;
        EXPECT_TRUE(opened(name).export_json([&](std::string_view line) { all.append(line).append("\n"); }));
        return all;
    }
    Expected<void> merged(std::vector<std::string> names, std::string_view out) {
        for (std::string& name : names) name = path(name);
        return merge(names, path(out));
    }
    test::TemporaryFolder folder_;
};

// The page as XML: that it is well-formed, and how often elements stand in it.
class Xml {
  public:
    explicit Xml(const std::string& text) {
        std::vector<std::string> open;
        for (std::size_t at = 0; at < text.size();) {
            if (text[at] != '<') {
                if (text[at] == '&') check_entity(text, at);
                EXPECT_NE(text[at], '>') << "at " << at;
                ++at;
                continue;
            }
            if (text.starts_with("<!DOCTYPE html>") && at == 0) {
                at = std::string_view("<!DOCTYPE html>").size();
                continue;
            }
            const std::size_t end = text.find('>', at);
            if (end == std::string::npos) {
                ADD_FAILURE() << "an element is not closed";
                return;
            }
            read_tag(text.substr(at + 1, end - at - 1), open);
            if (!open.empty() && open.back() == "style") {
                at = text.find("</style>", end);
                if (at == std::string::npos) {
                    ADD_FAILURE() << "the style is not closed";
                    return;
                }
                EXPECT_EQ(text.substr(end + 1, at - end - 1).find_first_of("<&"), std::string::npos);
                continue;
            }
            at = end + 1;
        }
        EXPECT_TRUE(open.empty()) << "open at the end: " << (open.empty() ? "" : open.back());
    }
    [[nodiscard]] int count(const std::string& name) const {
        const auto found = counts_.find(name);
        return found == counts_.end() ? 0 : found->second;
    }

  private:
    static void check_entity(const std::string& text, std::size_t at) {
        const std::string one = text.substr(at, text.find(';', at) - at + 1);
        EXPECT_THAT((std::set<std::string>{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#13;"}),
                    testing::Contains(one));
    }
    void read_tag(std::string tag, std::vector<std::string>& open) {
        if (tag.starts_with('/')) {
            EXPECT_TRUE(!open.empty() && open.back() == tag.substr(1)) << "closed out of turn: " << tag;
            if (!open.empty()) open.pop_back();
            return;
        }
        const bool is_empty = tag.ends_with('/');
        if (is_empty) tag.pop_back();
        EXPECT_EQ(std::ranges::count(tag, '"') % 2, 0) << tag;
        const std::string name = tag.substr(0, tag.find_first_of(" \n"));
        EXPECT_FALSE(name.empty());
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz123456"), std::string::npos) << name;
        ++counts_[name];
        if (!is_empty) open.push_back(name);
    }
    std::map<std::string, int> counts_;
};

// What another reader of XML says, where there is one.
void check_with_xmllint(const std::string& file) {
    if (std::system("command -v xmllint > /dev/null 2>&1") != 0) return;
    EXPECT_EQ(std::system(("xmllint --noout " + file).c_str()), 0);
}

void expect_same(const Ledger& kept, const Ledger& live) {
    EXPECT_EQ(kept.judged, live.judged);
    EXPECT_EQ(kept.by_status, live.by_status);
    EXPECT_EQ(kept.cells, live.cells);
    ASSERT_EQ(kept.operators.size(), live.operators.size());
    for (std::size_t k = 0; k < kept.operators.size(); ++k) {
        EXPECT_EQ(kept.operators[k].drawn, live.operators[k].drawn) << k;
        EXPECT_EQ(kept.operators[k].elites, live.operators[k].elites) << k;
        EXPECT_EQ(kept.operators[k].weight, live.operators[k].weight) << k;
    }
}

TEST_F(Report, KnowsTheLedgerOfTheArchive) {
    const Ledger live = search("a", small_space(), options_of(3), 3000);
    const auto archive = opened("a");
    const auto kept = archive.ledger();
    ASSERT_TRUE(kept) << message(kept.error());
    expect_same(*kept, live);
    EXPECT_GT(kept->duplicates, 0u);
    ASSERT_EQ(kept->gates.size(), 1u);
    EXPECT_EQ(kept->gates[0].name, "columns");
    EXPECT_EQ(kept->gates[0].in, 3000u);
    EXPECT_EQ(kept->gates[0].out, live.by_status[0]);
    EXPECT_GT(kept->gates[0].seconds, 0);
    EXPECT_EQ(archive.stop(), Stop::budget);
}

TEST_F(Report, AddsUpGatesOfAllProcesses) {
    search("a", small_space(), options_of(3), 700);
    search("a", small_space(), options_of(3), 900);
    const auto archive = opened("a");
    EXPECT_EQ(archive.ledger()->gates.at(0).in, 1600u);
    EXPECT_EQ(archive.ledger()->judged, 1600u);
}

TEST_F(Report, SaysWhatWasFound) {
    search("a", small_space(), options_of(3), 4000);
    const std::string page = html("a", {}, "Lowest bit off");
    const Xml xml(page);
    EXPECT_THAT(
        page, AllOf(HasSubstr("<h1>Lowest bit off</h1>"), HasSubstr("Strategy <b>evolve</b>, seed <b>3</b>"),
                    HasSubstr("ended when its budget was spent"), HasSubstr("in u32 x, out u32 y"),
                    HasSubstr("How the best came about"), HasSubstr("What operators brought"),
                    HasSubstr("Lowest instructions of each cell"), HasSubstr("reference")));
    EXPECT_EQ(xml.count("h1"), 1);
    EXPECT_EQ(xml.count("script"), 0);
    EXPECT_EQ(xml.count("link"), 0);
    EXPECT_EQ(xml.count("img"), 0);
    EXPECT_GE(xml.count("title"), 4);  // the page's, and one for each figure
    EXPECT_EQ(xml.count("caption"), xml.count("table"));
    EXPECT_EQ(page.find("http"), page.find("http://www.w3.org/"));
    const Json facts = json("a");
    EXPECT_EQ(facts["ledger"]["judged"], 4000);
    EXPECT_EQ(facts["front"][0]["cost"], 2.0);
    EXPECT_EQ(facts["searches"][0]["steps"].back()[1], 2.0);
    EXPECT_EQ(facts["ancestors"].back()["index"], facts["front"][0]["index"]);
    EXPECT_EQ(facts["gates"][0]["in"], 4000);
    EXPECT_THAT(page, HasSubstr(facts["front"][0]["programs"]["f"].get<std::string>().substr(0, 8)));
}

// Where costs are measured, the lucky ones are the lowest: they are no steps.
TEST_F(Report, GoesByWhatCostsMayBeAtMost) {
    {
        auto made =
            Search::open(path("a"), small_space(), {.axes = {{"error", {}}}, .block = 8, .refine = false});
        ASSERT_TRUE(made) << message(made.error());
        const auto candidates = made->ask(3);
        ASSERT_TRUE(candidates && candidates->size() == 3);
        constexpr std::array<std::array<double, 3>, 3> costs = {
            {{0.5, 0.1, INFINITY}, {0.8, 0.7, 0.9}, {0.85, 0.8, 0.88}}};
        std::vector<Result> results;
        for (std::size_t k = 0; k < 3; ++k)
            results.push_back({.index = candidates->at(k).index,
                               .cost = costs[k][0],
                               .low = costs[k][1],
                               .high = costs[k][2],
                               .descriptor = {0}});
        ASSERT_TRUE(made->tell(results));
    }
    const Json facts = json("a");
    EXPECT_EQ(facts["searches"][0]["steps"], Json::parse("[[2, 0.9, 0.0], [3, 0.88, 0.0]]"));
    ASSERT_EQ(facts["front"].size(), 1u);
    EXPECT_EQ(facts["front"][0]["cost"], 0.85);
    ASSERT_TRUE(facts["front"][0].contains("low") && facts["front"][0].contains("high"));
    EXPECT_EQ(facts["front"][0]["low"], 0.8);
    EXPECT_EQ(facts["front"][0]["high"], 0.88);
    EXPECT_EQ(facts["ancestors"].back()["index"], 2);
}

TEST_F(Report, FollowsTheBestToItsFirstParent) {
    search("a", small_space(), options_of(3), 4000);
    const Json facts = json("a");
    std::map<std::uint64_t, std::vector<std::uint64_t>> parents;
    std::map<std::uint64_t, std::pair<std::string, double>> ends;
    EXPECT_TRUE(opened("a").for_each([&](const Candidate& candidate, const Result& result) {
        parents[candidate.index] = {candidate.parents.begin(), candidate.parents.end()};
        ends[candidate.index] = {std::string(name(result.status)), result.cost};
    }));
    const Json& line = facts["ancestors"];
    ASSERT_GE(line.size(), 2u);
    EXPECT_EQ(parents[line[0]["index"]][0], Candidate::no_parent);
    for (std::size_t k = 0; k < line.size(); ++k) {
        EXPECT_EQ(line[k]["status"], ends[line[k]["index"]].first);
        EXPECT_EQ(line[k]["cost"], ends[line[k]["index"]].second);
        if (k != 0) { EXPECT_EQ(parents[line[k]["index"]][0], line[k - 1]["index"]); }
        const bool is_cheaper = k != 0 && line[k]["status"] == "ok" &&
                                (line[k - 1]["status"] != "ok" || line[k]["cost"] < line[k - 1]["cost"]);
        EXPECT_TRUE(!is_cheaper || line[k]["better"]) << k;
    }
}

TEST_F(Report, HasTheSameBytesForEqualSearches) {
    search("a", small_space(), options_of(5), 1000);
    {
        auto made = Search::open(path("b"), small_space(), options_of(5));
        const auto gate = columns(small_space(), lowest_bit_off());
        Gate* const gates[] = {gate->get()};
        for (const std::uint64_t part : {300u, 700u})
            EXPECT_TRUE(made->run(gates, {.budget = {.candidates = part}, .threads = 1}));
    }
    Json a = json("a"), b = json("b");
    for (Json* const one : {&a, &b}) {  // prices are of the clock
        for (Json& gate : (*one)["gates"]) gate.erase("microseconds");
        for (Json& gate : (*one)["ledger"]["gates"]) gate.erase("seconds");
    }
    EXPECT_EQ(a, b);
}

TEST_F(Report, ComparesSearches) {
    std::vector<Archive> beside;
    search("a", small_space(), options_of(1), 3000);
    for (const std::uint64_t seed : {2u, 3u}) {
        const std::string name = "evolve" + std::to_string(seed);
        search(name, small_space(), options_of(seed), 2000);
        beside.push_back(opened(name));
    }
    search("random", small_space(), options_of(1, Strategy::random), 2000);
    beside.push_back(opened("random"));
    const std::string page = html("a", beside);
    const Xml xml(page);
    EXPECT_THAT(page, AllOf(HasSubstr("evolve, 3 seeds: median"), HasSubstr("random, seed 1"),
                            HasSubstr("class=\"band s-evolve\""), HasSubstr("class=\"line s-random\"")));
    const Json facts = json("a", beside);
    ASSERT_EQ(facts["searches"].size(), 4u);
    ASSERT_EQ(facts["quartiles"].size(), 2u);
    const Json& evolve = facts["quartiles"][1];
    EXPECT_EQ(evolve["searches"], 3);
    EXPECT_EQ(evolve["at"].back()["candidates"], 2000);  // as many as each of them judged
    std::vector<double> costs;
    for (std::size_t k = 0; k < 3; ++k) {
        double cost = INFINITY;
        for (const Json& step : facts["searches"][k]["steps"])
            if (step[0] <= 2000) cost = step[1];
        costs.push_back(cost);
    }
    std::ranges::sort(costs);
    EXPECT_EQ(evolve["at"].back()["cost"][1], costs[1]);
}

TEST_F(Report, RefusesOtherTasksBeside) {
    search("a", small_space(), options_of(1), 300);
    Options other = options_of(2);
    other.task = R"json({"reference": "y = x"})json";
    search("b", small_space(), other, 300);
    search("c", small_space("in u32 x, out u32 y", "add.u32\n"), options_of(1), 300);
    other = options_of(2);
    other.task = R"json({"budget": {"candidates": 77}, "reference": "y = x & (x - 1u)", "target": {}})json";
    search("d", small_space(), other, 300);
    for (const char* name : {"b", "c"}) {
        std::vector<Archive> beside;
        beside.push_back(opened(name));
        const auto made = report_html(opened("a"), beside);
        ASSERT_FALSE(made) << name;
        EXPECT_EQ(made.error().code, Errc::archive_differs);
        EXPECT_EQ(merged({"a", name}, "out").error().code, Errc::archive_differs);
    }
    std::vector<Archive> beside;
    beside.push_back(opened("d"));
    EXPECT_TRUE(report_html(opened("a"), beside));
}

TEST_F(Report, EscapesWhateverNamesHold) {
    const std::string bad = "<script>alert('x')</script> & \"quoted\" ]]> \x01\xFF\xC3 µ→𝛼 \xED\xA0\x80";
    Space space = small_space();
    space.sites[0].name = bad;
    space.tunables.push_back({.name = bad + "2", .values = {1, 2}});
    Options options = options_of(2);
    options.axes[0].name = bad;
    options.task = bad;
    search("a", space, options, 3000);
    const std::string page = html("a", {}, bad);
    const Xml xml(page);
    EXPECT_EQ(xml.count("script"), 0);
    EXPECT_THAT(
        page,
        AllOf(HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot; ]]&gt;"),
              HasSubstr("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD µ→𝛼"), Not(HasSubstr("\x01"))));
    test::write_file(path("page.html"), page);
    check_with_xmllint(path("page.html"));
    EXPECT_EQ(json("a")["ledger"]["judged"], 3000);
}

TEST_F(Report, ShowsTunables) {
    Space space = small_space();
    space.tunables.push_back({.name = "tile", .values = {32, 64}});
    search("a", space, options_of(2), 3000);
    EXPECT_THAT(html("a"), testing::ContainsRegex("tile = (32|64)"));
}

TEST_F(Report, IsOfAnEmptyArchiveToo) {
    ASSERT_TRUE(Search::open(path("a"), small_space(), options_of(1)));
    const std::string page = html("a");
    const Xml xml(page);
    EXPECT_THAT(page, AllOf(HasSubstr("Nothing right was found"), HasSubstr("no end is noted"),
                            Not(HasSubstr("How the best came about"))));
    EXPECT_EQ(json("a")["front"].size(), 0u);
}

TEST_F(Report, HasAMapOfAsManyAxesAsThereAre) {
    Options options = options_of(2);
    options.axes.clear();
    search("none", small_space(), options, 3000);
    const std::string none = html("none");
    EXPECT_THAT(none, AllOf(Not(HasSubstr("id=\"cells\"")), HasSubstr("lowest cost")));
    search("one", small_space(), options_of(2), 3000);
    EXPECT_THAT(html("one"), AllOf(HasSubstr("cells-map-title"), Not(HasSubstr("error ↑"))));
    options.axes = {{"instructions", {2, 4, 8}}, {"error", {1, 2}}};
    search("two", small_space(), options, 3000);
    const std::string two = html("two");
    EXPECT_THAT(two, AllOf(HasSubstr("error ↑"), HasSubstr("of 12 cells")));
    for (const std::string& page : {none, two}) const Xml xml(page);
}

TEST_F(Report, IsOfOneMomentWhileASearchWrites) {
    auto made = Search::open(path("a"), small_space(), options_of(1));
    ASSERT_TRUE(made);
    const auto gate = columns(small_space(), lowest_bit_off());
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        Gate* const gates[] = {gate->get()};
        EXPECT_TRUE(made->run(gates, {.threads = 1, .stop = &stop}));
    });
    for (int k = 0; k < 10; ++k) {
        const Json facts = json("a");
        EXPECT_EQ(facts["searches"][0]["judged"], facts["ledger"]["judged"]);
        const Xml xml(html("a"));
    }
    stop = true;
    writer.join();
    EXPECT_EQ(opened("a").stop(), Stop::asked);
}

// ---- collections

std::map<std::vector<std::uint32_t>, double> costs_of(const Archive& archive) {
    std::map<std::vector<std::uint32_t>, double> made;
    const auto elites = archive.elites();
    for (const Elite& elite : *elites) made[elite.cell] = elite.cost;
    return made;
}

TEST_F(Report, MergesToTheBestOfEachCell) {
    std::map<std::vector<std::uint32_t>, double> best;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        const std::string name = std::to_string(seed);
        search(name, small_space(), options_of(seed), 1500);
        for (const auto& [cell, cost] : costs_of(opened(name))) {
            const auto found = best.try_emplace(cell, cost).first;
            found->second = std::min(found->second, cost);
        }
    }
    ASSERT_TRUE(merged({"1", "2", "3"}, "all"));
    const Archive all = opened("all");
    EXPECT_EQ(costs_of(all), best);
    ASSERT_EQ(all.sources().size(), 3u);
    EXPECT_EQ(all.sources()[1].options.seed, 2u);
    EXPECT_EQ(all.sources()[1].first, all.sources()[0].count);
    const Xml xml(html("all"));
    EXPECT_THAT(html("all"),
                AllOf(HasSubstr("A collection of 3 searches"), Not(HasSubstr("What operators brought"))));
    std::uint64_t last = 0, alive = 0;
    EXPECT_TRUE(all.for_each([&](const Candidate& candidate, const Result&) {
        for (const std::uint64_t parent : candidate.parents)
            EXPECT_TRUE(parent == Candidate::no_parent || parent < candidate.index);
        EXPECT_TRUE(last < candidate.index || alive == 0);
        last = candidate.index;
        ++alive;
    }));
    EXPECT_LT(alive, 4500u);  // some of the searches' candidates are the same
    EXPECT_EQ(all.ledger()->judged, alive);
}

// The same candidates, of which one search knows more than the other: by measuring, or for it did not guess.
TEST_F(Report, MergesWhatWasFoundOtherwise) {
    const auto told = [&](const char* name, const std::vector<Result>& said) {
        auto made =
            Search::open(path(name), small_space(), {.axes = {{"error", {}}}, .block = 8, .refine = false});
        ASSERT_TRUE(made) << message(made.error());
        const auto candidates = made->ask(said.size());
        ASSERT_TRUE(candidates && candidates->size() == said.size());
        std::vector<Result> results = said;
        for (std::size_t k = 0; k < said.size(); ++k) results[k].index = candidates->at(k).index;
        ASSERT_TRUE(made->tell(results));
    };
    const Result lucky{.cost = 0.8, .low = 0.1, .high = INFINITY, .descriptor = {0}},
        known{.cost = 0.8, .low = 0.79, .high = 0.82, .descriptor = {0}},
        guessed{.status = Status::rejected,
                .cost = INFINITY,
                .descriptor = {0},
                .detail = "guessed 99 registers"},
        slow{.cost = 2, .low = 2, .high = 2, .descriptor = {0}},
        exact{.cost = 0.5, .low = 0.5, .high = 0.5, .descriptor = {0}};
    told("a", {lucky, slow});
    told("b", {known, slow});
    told("c", {lucky, guessed, slow});
    told("d", {slow, exact, slow});
    for (const auto& [names, best] : {std::pair(std::vector<std::string>{"a", "b"}, known),
                                      {{"b", "a"}, known},
                                      {{"c", "d"}, exact},
                                      {{"d", "c"}, exact},
                                      {{"a", "b", "a", "c"}, known},
                                      {{"a", "b", "c", "d"}, exact}}) {
        std::filesystem::remove(path("all"));
        const auto done = merged(names, "all");
        ASSERT_TRUE(done) << message(done.error());
        const auto elites = opened("all").elites();
        ASSERT_TRUE(elites && elites->size() == 1);
        EXPECT_EQ(elites->front().cost, best.cost);
        EXPECT_EQ(elites->front().high, best.high);
    }
    const auto lines = exported("all");
    EXPECT_EQ(std::ranges::count(lines, '\n'), 7) << lines;
}

TEST_F(Report, MergesInAnyOrderAndInParts) {
    for (const std::uint64_t seed : {1u, 2u, 3u})
        search(std::to_string(seed), small_space(), options_of(seed), 800 + 100 * seed);
    ASSERT_TRUE(merged({"1", "2", "3"}, "all"));
    const std::string all = exported("all");
    const std::vector<std::vector<std::string>> orders = {
        {"3", "1", "2"}, {"2", "3", "1"}, {"1", "2", "3", "2", "1"}};
    for (std::size_t k = 0; k < orders.size(); ++k) {
        ASSERT_TRUE(merged(orders[k], "order" + std::to_string(k)));
        EXPECT_EQ(exported("order" + std::to_string(k)), all) << k;
    }
    ASSERT_TRUE(merged({"2", "3"}, "part"));
    ASSERT_TRUE(merged({"part", "1"}, "whole"));
    EXPECT_EQ(exported("whole"), all);
    ASSERT_TRUE(merged({"3", "1"}, "other"));
    ASSERT_TRUE(merged({"part", "other", "2"}, "overlapping"));
    EXPECT_EQ(exported("overlapping"), all);
}

TEST_F(Report, MergedWithItselfIsItself) {
    search("a", small_space(), options_of(4), 1500);
    ASSERT_TRUE(merged({"a", "a"}, "twice"));
    EXPECT_EQ(exported("twice"), exported("a"));
    ASSERT_TRUE(merged({"twice"}, "again"));
    EXPECT_EQ(exported("again"), exported("a"));
}

TEST_F(Report, OfACollectionIsNoSearch) {
    search("a", small_space(), options_of(4), 300);
    search("b", small_space(), options_of(5), 300);
    ASSERT_TRUE(merged({"a", "b"}, "all"));
    EXPECT_EQ(merged({"a", "b"}, "all").error().code, Errc::archive_failed);  // it exists
    EXPECT_EQ(merged({}, "none").error().code, Errc::argument_invalid);
    EXPECT_FALSE(merged({"a", "nothing"}, "none"));
    EXPECT_FALSE(std::filesystem::exists(path("none")));
    const auto search = Search::open(path("all"), small_space(), options_of(4));
    ASSERT_FALSE(search);
    EXPECT_THAT(message(search.error()), HasSubstr("a collection of searches"));
    std::vector<Archive> beside;
    beside.push_back(opened("all"));
    EXPECT_EQ(report_html(opened("a"), beside).error().code, Errc::archive_differs);
    EXPECT_THAT(message(report_html(opened("a"), beside).error()), HasSubstr("collection"));
}

TEST_F(Report, MergesSearchesWithOtherOperators) {
    Options options = options_of(4);
    options.operators = {{"fresh", 1}, {"umad", 1}};
    search("a", small_space(), options, 400);
    search("b", small_space(), options_of(5), 400);
    ASSERT_TRUE(merged({"a", "b"}, "all"));
    const auto operators_in = [&](std::string_view name) {
        std::multiset<std::string> made;
        const std::string text = exported(name);
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
            made.insert(Json::parse(text.substr(at, text.find('\n', at) - at))["operator"]);
        return made;
    };
    const auto all = operators_in("all"), b = operators_in("b");
    EXPECT_EQ(all.count("swap"), b.count("swap"));
    EXPECT_GT(all.count("swap"), 0u);
}

}  // namespace
}  // namespace ptxgraft::search
