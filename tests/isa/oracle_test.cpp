// The instruction table against ptxas, both ways: every row with every choice of its modifiers on every
// architecture, and mutants of them. What verify takes ptxas takes, and what ptxas refuses verify refuses.
// The oracle is the library's nvPTXCompiler, from 13.5 on, which checks more than older ones and knows PTX
// ISA 9.5; it is asked in the version of CUDA 13.0's compilers and in the table's newest.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "isa/sample.hpp"
#include "isa/spellings.hpp"
#include "isa/target.hpp"
#include "support/ptxas_oracle.hpp"

namespace ptxgraft {
namespace {

using namespace isa;

const std::vector<std::string> architectures = {
    "sm_75",   "sm_80",   "sm_86",   "sm_87",   "sm_88",  "sm_89",   "sm_90",   "sm_90a", "sm_100",
    "sm_100a", "sm_100f", "sm_103a", "sm_110a", "sm_120", "sm_120a", "sm_120f", "sm_121a"};

// Each the first of what came with it.
constexpr const char* targets_of_ladders[] = {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};

const std::vector<std::string> versions = {"9.0", version_text(newest_version)};

std::string first_word(std::string_view opcode) { return std::string(opcode.substr(0, opcode.find('.'))); }

std::vector<std::string> opcode_words() {
    std::set<std::string> words;
    for (const Opcode& o : table_opcodes) words.insert(first_word(o.name));
    return {words.begin(), words.end()};
}

// --- spellings of a row
std::vector<Match> spellings(const Row& row) {
    std::vector<Match> all;
    for_each_spelling(row, [&](const Match& match) { all.push_back(match); });
    return all;
}

// Enough of them for every modifier of every slot.
std::vector<Match> spellings_of_each_choice(const Row& row) {
    std::vector<Match> kept;
    std::set<std::pair<std::size_t, WordId>> seen;
    for_each_spelling(row, [&](const Match& match) {
        bool is_new = kept.empty();
        for (std::size_t i = 0; i < row.slots.size(); ++i) is_new |= seen.insert({i, match.chosen[i]}).second;
        if (is_new) kept.push_back(match);
    });
    return kept;
}

// --- mutants of a spelling: one thing changed
std::vector<std::string> mutants(const Match& match, const char* sampler,
                                 const std::vector<std::string>& words) {
    std::vector<std::string> out, modifiers;
    const std::string opcode(match.row->opcode);
    for (std::size_t i = 0; i < match.row->slots.size(); ++i)
        if (match.chosen[i] != no_word) modifiers.emplace_back(table_words[match.chosen[i]]);
    const std::vector<std::string> operands = sample_operands(match, true, sampler);
    const auto name = [&](const std::vector<std::string>& list) {
        std::string text = opcode;
        for (const std::string& m : list) text += m;
        return text;
    };
    const auto add = [&](const std::vector<std::string>& m, const std::vector<std::string>& o) {
        out.push_back(sample_line(name(m), o));
    };
    for (std::size_t i = 0; i < modifiers.size(); ++i) {
        auto m = modifiers;
        m.erase(m.begin() + static_cast<std::ptrdiff_t>(i));
        add(m, operands);
        m = modifiers;
        m.insert(m.begin() + static_cast<std::ptrdiff_t>(i), modifiers[i]);
        add(m, operands);
        if (i + 1 < modifiers.size()) {
            m = modifiers;
            std::swap(m[i], m[i + 1]);
            add(m, operands);
        }
        for (const std::string& word : words) {
            m = modifiers;
            m[i] = word;
            add(m, operands);
        }
    }
    for (const std::string& word : words) {
        auto m = modifiers;
        m.push_back(word);
        add(m, operands);
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        auto o = operands;
        o.erase(o.begin() + static_cast<std::ptrdiff_t>(i));
        add(modifiers, o);
        for (const char* other : {"b8_9",
                                  "b16_9",
                                  "b32_9",
                                  "b64_9",
                                  "b128_9",
                                  "u16_9",
                                  "s32_9",
                                  "u64_9",
                                  "f16_9",
                                  "f16x2_9",
                                  "f32_9",
                                  "f64_9",
                                  "pred_9",
                                  "!pred_9",
                                  "1",
                                  "-1",
                                  "1.5",
                                  "0f3F800000",
                                  "_",
                                  "%tid.x",
                                  "[b64_9]",
                                  "gv",
                                  "sv",
                                  "undeclared",
                                  "{b32_9}",
                                  "{b32_8, b32_9}",
                                  "{f32_6, f32_7, f32_8, f32_9}",
                                  "100000"}) {
            o = operands;
            o[i] = other;
            add(modifiers, o);
        }
    }
    auto o = operands;
    o.emplace_back("b32_9");
    add(modifiers, o);
    return out;
}

// Of more lines than a test should take, evenly chosen ones, others for each `turn`. PTXGRAFT_ORACLE_LINES
// sets how many; 0: all.
std::vector<std::string> sample(const std::vector<std::string>& lines, std::size_t most, std::size_t turn) {
    if (const char* wish = std::getenv("PTXGRAFT_ORACLE_LINES"))
        most = static_cast<std::size_t>(std::strtoull(wish, nullptr, 10));
    if (most == 0 || lines.size() <= most) return lines;
    std::vector<std::string> chosen;
    const std::size_t step = (lines.size() + most - 1) / most;
    for (std::size_t i = turn % step; i < lines.size(); i += step) chosen.push_back(lines[i]);
    return chosen;
}

// What only ptxas's code generation finds: addresses of 32 bits.
bool is_found_later(const std::string& message) { return message.find("from sm_90 on") != std::string::npos; }

// Per cent of the mutants, rounded up, about which the two may differ; of opcodes without an entry, none.
// Spellings of rows may not.
struct Oddities {
    std::string_view opcode;
    std::size_t taken, refused;
};
constexpr Oddities accidents[] = {
    // a constant as the destination
    {"createpolicy", 1, 4},
    {"sust", 0, 4},
    {"vabsdiff", 0, 3},
    {"vadd", 0, 3},
    {"vmad", 0, 3},
    {"vmax", 0, 3},
    {"vmin", 0, 3},
    {"vset", 1, 3},
    {"vshl", 0, 3},
    {"vshr", 0, 3},
    {"vsub", 0, 3},
    {"movmatrix", 0, 4},  // any operand
    {"tex", 2, 2},        // samplers that the texture mode forbids
    {"tld4", 0, 1},       // likewise
    {"bra", 0, 2},        // a register of .f16x2 for a predicate
    {"and", 0, 1},
    {"bar", 0, 1},
    {"barrier", 0, 1},
    {"not", 0, 1},
    {"or", 0, 1},
    {"vote", 0, 1},
    {"xor", 0, 1},
    {"clusterlaunchcontrol", 0, 1},  // a vector for a register, or a register for a vector
    {"mbarrier", 0, 1},
    {"mov", 0, 1},
    {"mma", 0, 1},
    {"txq", 0, 1},
    {"wgmma", 0, 1},
    {"atom", 0, 1},   // `_` for a vector, an operand too many
    {"red", 0, 1},    // `_` for an address
    {"cp", 1, 1},     // a predicate for an address; refused: a variable for the barrier of one cp.reduce
    {"fence", 0, 1},  // a modifier that it ignores
    {"ldmatrix", 0, 1},
    {"multimem", 0, 1},
    {"st", 0, 1},
    {"tcgen05", 0, 1},
    {"tensormap", 0, 1},
    {"wmma", 0, 1}};
Oddities oddities_of(std::string_view opcode) {
    const auto at = std::find_if(std::begin(accidents), std::end(accidents),
                                 [&](const Oddities& o) { return o.opcode == opcode; });
    return at == std::end(accidents) ? Oddities{opcode, 0, 0} : *at;
}

// Lines where the two disagree; at most a few are shown.
void compare(const std::vector<std::string>& lines, const oracle::Setting& setting, Oddities oddities = {}) {
    const auto theirs = oracle::ptxas(lines, setting), found = oracle::ours(lines, setting);
    std::size_t wrongly_taken = 0, wrongly_refused = 0;
    std::string shown;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (theirs[i].empty() == found[i].empty() || theirs[i] == oracle::crashed || is_found_later(found[i]))
            continue;
        std::size_t& count = found[i].empty() ? wrongly_taken : wrongly_refused;
        if (++count <= 12)
            shown += "\n  " + setting.target + " " + lines[i] +
                     "\n      ptxas: " + (theirs[i].empty() ? "ok" : theirs[i]) +
                     "\n      verify: " + (found[i].empty() ? "ok" : found[i]);
    }
    const auto most = [&](std::size_t percent) { return (lines.size() * percent + 99) / 100; };
    EXPECT_TRUE(wrongly_taken <= most(oddities.taken) && wrongly_refused <= most(oddities.refused))
        << setting.target << ": of " << lines.size() << " lines " << wrongly_taken << " wrongly taken, "
        << wrongly_refused << " wrongly refused" << shown;
}

template <class Visit> void for_rows(const std::string& word, Visit visit) {
    for (const Opcode& o : table_opcodes)
        if (first_word(o.name) == word)
            for (const Row& row : o.rows) visit(row);
}

bool has_sampler(std::span<const OperandRule> rules) {
    return std::any_of(rules.begin(), rules.end(), [](const OperandRule& r) {
        return r.kind == RuleKind::samplerref || has_sampler(r.children);
    });
}
// A sampler has a name only with .target texmode_independent.
std::vector<const char*> samplers_of(const Row& row) {
    return has_sampler(row.operands) ? std::vector<const char*>{"", "b64_7", "samp_"}
                                     : std::vector<const char*>{""};
}
bool uses_textures(std::string_view opcode) { return opcode == "tex" || opcode == "tld4" || opcode == "txq"; }

class IsaOracle : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (const std::string reason = oracle::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    }
};

std::vector<std::string> lines_of(const std::string& word) {
    std::vector<std::string> lines;
    for_rows(word, [&](const Row& row) {
        for (const Match& m : spellings(row))
            for (const bool with_optional : {true, false})
                for (const char* sampler : samplers_of(row))
                    lines.push_back(
                        sample_line(canonical_name(m), sample_operands(m, with_optional, sampler)));
    });
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

TEST_P(IsaOracle, EverySpellingOnEveryArchitecture) {
    const std::vector<std::string> lines = lines_of(GetParam());
    // those are asked in two modes, and a wrong one often costs a run of its own
    const std::size_t most = uses_textures(GetParam()) ? 100 : 300;
    for (std::size_t i = 0; i < architectures.size(); ++i) {
        const std::string& version = versions[i % versions.size()];
        compare(sample(lines, most, i), {architectures[i], version});
        if (uses_textures(GetParam()))
            compare(sample(lines, most, i), {architectures[i] + ", texmode_independent", version});
    }
    for (const char* target : {"sm_90a", "sm_100a", "sm_107a"})
        compare(sample(lines, most, 3), {target, versions.back()});
}

// Of a row's spellings that a target has, enough for every two choices of modifiers that go together, so that
// no row and none of its modifiers escapes the samples of an opcode with very many.
std::vector<Match> pairs_of_choices(const Row& row, Architecture target) {
    std::vector<Match> kept;
    std::set<std::array<std::size_t, 4>> seen;
    for (const Match& m : spellings(row)) {
        if (!isa::is_available(m, newest_version, target)) continue;
        bool is_new = kept.empty();
        for (std::size_t i = 0; i < row.slots.size(); ++i)
            for (std::size_t j = 0; j <= i; ++j)
                is_new |= seen.insert({i, m.chosen[i], j, m.chosen[j]}).second;
        if (is_new) kept.push_back(m);
    }
    return kept;
}

TEST_P(IsaOracle, PairsOfChoicesOfEveryRow) {
    for (const char* target : {"sm_90a", "sm_100a", "sm_107a", "sm_120a"}) {
        std::vector<std::string> lines;
        for_rows(GetParam(), [&](const Row& row) {
            for (const Match& m : pairs_of_choices(row, *parse_architecture(target)))
                for (const bool with_optional : {true, false})
                    lines.push_back(sample_line(canonical_name(m), sample_operands(m, with_optional, "")));
        });
        compare(lines, {target, versions.back()});
    }
}

// The versions of PTX with a target, the oldest first.
std::vector<std::string> ladder(const char* target) {
    std::vector<std::string> rungs;
    for (std::uint16_t v = first_version(*parse_architecture(target)); v <= newest_version; ++v)
        if (is_version(v)) rungs.push_back(version_text(v));
    return rungs;
}

// Asks ptxas where verify's verdict changes from one version to the next, in both, and at the oldest.
void compare_versions(const std::vector<std::string>& lines, const char* target, std::size_t most) {
    std::vector<std::string> before;
    std::string older;
    for (const std::string& version : ladder(target)) {
        const std::vector<std::string> now = oracle::ours(lines, {target, version});
        std::vector<std::string> changed;
        for (std::size_t i = 0; i < before.size(); ++i)
            if (before[i].empty() != now[i].empty()) changed.push_back(lines[i]);
        SCOPED_TRACE("PTX ISA " + version);
        if (before.empty())  // with and without optional operands, which alternate
            for (const std::size_t turn : {0u, 1u}) compare(sample(lines, most, turn), {target, version});
        if (!changed.empty()) {
            compare(sample(changed, most, 0), {target, older});
            compare(sample(changed, most, 1), {target, version});
        }
        before = now;
        older = version;
    }
}

TEST_P(IsaOracle, VersionsOfEverySpelling) {
    const std::vector<std::string> lines = sample(lines_of(GetParam()), 1200, 0);
    for (const char* target : targets_of_ladders) compare_versions(lines, target, 25);
}

// Before the architectures that machine code can still be made for.
TEST_P(IsaOracle, EarlyArchitecturesAndVersions) {
    std::vector<std::string> lines;
    for_rows(GetParam(), [&](const Row& row) {
        for (const Match& m : spellings_of_each_choice(row))
            for (const bool with_optional : {true, false})
                lines.push_back(sample_line(canonical_name(m), sample_operands(m, with_optional, "")));
    });
    std::size_t turn = 0;
    for (const char* target :
         {"sm_10", "sm_11", "sm_12", "sm_13", "sm_20", "sm_30", "sm_32", "sm_50", "sm_53", "sm_60", "sm_70"})
        compare(sample(lines, 300, turn++), {target, versions.back()});
    for (const auto& [target, version] : {std::pair("sm_13", "1.2"),
                                          {"sm_13", "1.3"},
                                          {"sm_13", "1.4"},
                                          {"sm_13", "1.5"},
                                          {"sm_20", "2.0"},
                                          {"sm_20", "2.1"},
                                          {"sm_20", "2.3"},
                                          {"sm_20", "3.0"},
                                          {"sm_35", "3.1"},
                                          {"sm_35", "3.2"},
                                          {"sm_50", "4.0"},
                                          {"sm_52", "4.1"},
                                          {"sm_53", "4.2"},
                                          {"sm_61", "5.0"},
                                          {"sm_70", "6.0"}})
        compare(sample(lines, 300, turn++), {target, version});
}

TEST_P(IsaOracle, Mutants) {
    std::set<std::string> vocabulary;
    for_rows(GetParam(), [&](const Row& row) {
        for (const Slot& s : row.slots)
            for (const WordId word : s.members) vocabulary.insert(std::string(table_words[word]));
    });
    for (const char* word : {".ftz", ".sat", ".rn", ".f32", ".f64", ".u32", ".b32", ".b64", ".s16", ".v2",
                             ".global", ".bogus", ".sync", ".pred"})
        vocabulary.insert(word);
    std::vector<std::string> words(vocabulary.begin(), vocabulary.end());
    std::set<std::string> lines;
    constexpr std::size_t spellings_of_a_row = 4, most_words = 60;
    for (std::size_t i = 0; words.size() > most_words; i = (i + 7) % words.size())
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    for_rows(GetParam(), [&](const Row& row) {
        const std::vector<Match> all = spellings(row);
        const std::size_t step = std::max<std::size_t>(1, all.size() / spellings_of_a_row);
        for (std::size_t i = 0; i < all.size(); i += step)
            for (const char* sampler : samplers_of(row))
                for (std::string& line : mutants(all[i], sampler, words)) lines.insert(std::move(line));
    });
    const std::vector<std::string> list(lines.begin(), lines.end());
    constexpr std::size_t most = 1000;
    compare(sample(list, most, 0), {"sm_90a", "9.0"}, oddities_of(GetParam()));
    compare(sample(list, most, 1), {"sm_100a", "9.0"}, oddities_of(GetParam()));
    if (uses_textures(GetParam()))
        compare(sample(list, most, 2), {"sm_90a, texmode_independent", "9.0"}, oddities_of(GetParam()));
}

// ptxas adds a number to a register as to an address; of registers of floats the two differ.
TEST_P(IsaOracle, NumbersAddedToRegisters) {
    constexpr Oddities refused[] = {// where it takes no constant, ptxas adds one all the same
                                    {"atom", 0, 4},
                                    {"cvt", 0, 9},
                                    {"mma", 0, 100},
                                    {"movmatrix", 0, 50},
                                    {"red", 0, 8},
                                    // and to the destination
                                    {"vmad", 0, 25}};
    std::set<std::string> lines;
    for_rows(GetParam(), [&](const Row& row) {
        for (const Match& match : spellings(row)) {
            const std::vector<std::string> operands = sample_operands(match, true, samplers_of(row).front());
            for (std::size_t i = 0; i < operands.size(); ++i) {
                if (std::string_view("bus").find(operands[i].front()) == std::string_view::npos) continue;
                std::vector<std::string> changed = operands;
                changed[i] += "+4";
                lines.insert(sample_line(canonical_name(match), changed));
            }
        }
    });
    const auto* const odd = std::ranges::find(refused, GetParam(), &Oddities::opcode);
    const Oddities allowed = odd == std::end(refused) ? Oddities{GetParam(), 0, 0} : *odd;
    const std::vector<std::string> list = sample({lines.begin(), lines.end()}, 100, 0);
    compare(list, {"sm_90a", "9.0"}, allowed);
    compare(list, {"sm_100a", "9.0"}, allowed);
}

// ptxas gives a vector in braces one type, made of its elements from the first to the last, and asks only
// that type to be the row's: what stands beside a register of bits may be many things (but predicates, which
// it makes no code of, and are not asked here).
std::vector<std::vector<std::string>> changed_elements(const std::vector<std::string>& elements) {
    std::vector<std::vector<std::string>> all;
    const std::size_t last = elements.size() - 1;
    const auto add = [&](const std::vector<std::size_t>& places, const std::string& other) {
        auto changed = elements;
        for (const std::size_t place : places) changed[place] = other;
        all.push_back(std::move(changed));
    };
    std::vector<std::size_t> every, others;
    for (std::size_t i = 0; i <= last; ++i) every.push_back(i);
    if (last > 0) others.assign(every.begin() + 1, every.end());
    const std::array constants = {"1", "1U", "1.5", "0f3F800000"};
    for (const char* type : {"b8", "b16", "u16", "f16", "b32", "u32", "s32", "f32", "f16x2", "b64", "u64",
                             "s64", "f64", "b128"}) {
        const std::string reg = std::string(type) + "_9";
        add(every, reg);
        if (last == 0) continue;
        add({0}, reg);
        add({last}, reg);
        for (const char* constant : constants) {
            add(every, reg);
            all.back().back() = constant;
            add(every, reg);
            all.back().front() = constant;
        }
    }
    for (const char* constant : constants) {
        add(every, constant);
        if (last == 0) continue;
        add({0}, constant);
        add({last}, constant);
        add(others, constant);
    }
    return all;
}

std::vector<std::string> split_vector(std::string_view text) {
    std::vector<std::string> elements;
    text = text.substr(1, text.size() - 2);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(", ", begin), text.size());
        elements.emplace_back(text.substr(begin, end - begin));
        begin = end + 2;
    }
    return elements;
}

TEST_P(IsaOracle, ElementsOfVectors) {
    std::set<std::string> lines;
    for_rows(GetParam(), [&](const Row& row) {
        for (const Match& match : spellings_of_each_choice(row)) {
            const std::vector<std::string> operands = sample_operands(match, true, samplers_of(row).front());
            for (std::size_t i = 0; i < operands.size(); ++i) {
                if (!operands[i].starts_with('{') || !operands[i].ends_with('}')) continue;
                for (const auto& elements : changed_elements(split_vector(operands[i]))) {
                    auto changed = operands;
                    changed[i] = fmt::format("{{{}}}", fmt::join(elements, ", "));
                    lines.insert(sample_line(canonical_name(match), changed));
                }
            }
        }
    });
    // Wrongly taken are constants that ptxas moves to registers of another width; wrongly refused are
    // integers behind registers of floats, which it crashes of when it makes code.
    constexpr Oddities differing[] = {
        {"atom", 0, 2}, {"cp", 1, 0},    {"mma", 2, 3},      {"mov", 0, 1},  {"multimem", 3, 1},
        {"red", 0, 3},  {"st", 0, 1},    {"stmatrix", 0, 2}, {"sust", 0, 1}, {"tcgen05", 1, 0},
        {"tex", 2, 2},  {"wgmma", 1, 1}, {"wmma", 3, 2}};
    const auto* const odd = std::ranges::find(differing, GetParam(), &Oddities::opcode);
    const Oddities allowed = odd == std::end(differing) ? Oddities{GetParam(), 0, 0} : *odd;
    const std::vector<std::string> list(lines.begin(), lines.end());
    constexpr std::size_t most = 600;
    compare(sample(list, most, 0), {"sm_90a", "9.0"}, allowed);
    compare(sample(list, most, 1), {"sm_100a", "9.0"}, allowed);
    compare(sample(list, most, 2), {"sm_120a", "9.0"}, allowed);
}

TEST(IsaOracleOperands, VersionsOfSpecialRegisters) {
    if (const std::string reason = oracle::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    std::vector<std::string> lines;
    for (const SpecialRegister& row : table_special) {
        const std::string type = row.type == RegisterType::pred  ? "pred"
                                 : row.type == RegisterType::u64 ? "u64"
                                                                 : "u32";
        const std::string name = std::string(row.name) + (row.is_vector ? ".x" : row.count != 0 ? "0" : "");
        lines.push_back("mov." + type + " " + type + "_0, " + name + ";");
    }
    for (const char* target : targets_of_ladders) compare_versions(lines, target, lines.size());
}

// Selectors stand in pairs of a byte and a thread, each with a range of its own (PTX ISA 9.7.14.3).
TEST(IsaOracleOperands, SelectorsOfScaledMatrices) {
    if (const std::string reason = oracle::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    const std::string a = " {f32_1, f32_2, f32_3, f32_4}, {b32_1, b32_2, b32_3, b32_4}, ",
                      two = "{b32_1, b32_2}, ", four = "{b32_1, b32_2, b32_3, b32_4}, ",
                      c = "{f32_1, f32_2, f32_3, f32_4}, ";
    const std::vector<std::string> fronts = {
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0" +
            a + two + c,
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0" + a + two + c,
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0" +
            a + two + c,
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3" +
            a + two + c,
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e5m2.f32."
        "ue8m0" +
            a + four + c + "b32_1, 0, ",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32."
        "e2m1.e2m1.f32.ue8m0" +
            a + four + c + "b32_1, 0, ",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X."
        "f32.e2m1.e2m1.f32.ue4m3" +
            a + four + c + "b32_1, 0, "};
    std::vector<std::string> lines;
    for (const std::string& front : fronts)
        for (int at = 0; at < 4; ++at)
            for (const char* value : {"-1", "0", "1", "2", "3", "4", "b16_1"}) {
                std::array<std::string, 4> s = {"0", "0", "0", "0"};
                s[static_cast<std::size_t>(at)] = value;
                lines.push_back(front + "b32_1, {" + s[0] + ", " + s[1] + "}, b32_2, {" + s[2] + ", " + s[3] +
                                "};");
            }
    compare(lines, {"sm_120a", "9.0"}, {"mma", 0, 0});
}

INSTANTIATE_TEST_SUITE_P(Opcodes, IsaOracle, testing::ValuesIn(opcode_words()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace ptxgraft
