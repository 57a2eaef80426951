#pragma once
/// @file match.hpp
/// Which rows of the table a written name fits, and why none does: constant expressions, for the emitter
/// (dsl.hpp), which asks while C++ compiles, and for `verify`. No stable interface, as the table is none.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "ptxgraft/error.hpp"
#include "ptxgraft/isa/table.hpp"
#include "ptxgraft/syntax/spaces.hpp"

namespace ptxgraft::isa {

constexpr std::size_t max_parts = 24;  // of a syntax line

/// The text of an error, put together where no memory can be allocated; what is too long ends in "…".
class Message {
  public:
    constexpr Message& add(std::string_view text) {
        for (const char c : text)
            if (size_ < room) text_[size_++] = c;
        if (size_ == room)
            for (const char c : std::string_view("…")) text_[size_++] = c;
        return *this;
    }
    constexpr Message& add(std::int64_t number) {
        if (number < 0) add("-");
        std::uint64_t rest = number < 0 ? 0 - std::uint64_t(number) : std::uint64_t(number), unit = 1;
        while (rest / unit >= 10) unit *= 10;
        for (; unit > 0; unit /= 10) {
            const char digit = static_cast<char>('0' + rest / unit % 10);
            add({&digit, 1});
        }
        return *this;
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text_.data(), size_}; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

  private:
    static constexpr std::size_t most = 1024, room = most - 4;
    std::array<char, most> text_ = {};
    std::size_t size_ = 0;
};

/// A row with the modifiers that fill its slots.
struct Match {
    const Row* row = nullptr;
    std::array<WordId, max_parts> chosen = {};  // by slot; no_word: empty
    bool in_order = true;                       // the modifiers stand as in the manual

    [[nodiscard]] constexpr bool holds(Term term) const;
    [[nodiscard]] constexpr bool any_holds(std::span<const Term> terms) const {
        return std::any_of(terms.begin(), terms.end(), [&](Term t) { return holds(t); });
    }
    /// The constraint of the row between its modifiers that does not hold (those on versions are another
    /// matter); null for none.
    [[nodiscard]] constexpr const Constraint* broken_constraint() const;
    [[nodiscard]] constexpr RegisterType type(TypeRef ref) const;
    [[nodiscard]] constexpr std::uint32_t count(const Count& count) const;
    [[nodiscard]] constexpr bool has(WordId word) const {
        return std::find(chosen.begin(), chosen.end(), word) != chosen.end();
    }
};

/// The place of a modifier among table_words; no_word for one that the table lacks. `key`: its key_of.
[[nodiscard]] constexpr WordId find_word(std::string_view modifier, std::uint32_t key) {
    const Word* const word = find_row(table::words, table::word_places, modifier, key, &Word::text);
    return word == nullptr ? no_word : static_cast<WordId>(word - table::words);
}
[[nodiscard]] constexpr WordId find_word(std::string_view modifier) {
    return find_word(modifier, key_of(modifier));
}

[[nodiscard]] constexpr const Opcode* find_opcode(std::string_view name, std::uint32_t key) {
    return find_row(table::opcodes, table::opcode_places, name, key, &Opcode::name);
}
[[nodiscard]] constexpr const Opcode* find_opcode(std::string_view name) {
    return find_opcode(name, key_of(name));
}

/// Whether an operand must be written with these modifiers; whether it may be.
[[nodiscard]] constexpr bool is_conditional(const OperandRule& rule) {
    return !rule.with.empty() || !rule.without.empty();
}
[[nodiscard]] constexpr bool is_needed(const OperandRule& rule, const Match& match) {
    if (!is_conditional(rule)) return !rule.is_optional;
    return (rule.with.empty() || match.any_holds(rule.with)) &&
           (rule.without.empty() || !match.any_holds(rule.without));
}
[[nodiscard]] constexpr bool is_free(const OperandRule& rule) {
    return !is_conditional(rule) && rule.is_optional;
}

/// The rules that apply to that many operands, in order: those that must be there, then optional ones from
/// the left.
class ActiveRules {
  public:
    constexpr ActiveRules(const Match& match, std::span<const OperandRule> rules, std::size_t operand_count) {
        std::size_t needed = 0;
        for (const OperandRule& rule : rules) needed += is_needed(rule, match);
        std::size_t spare = operand_count > needed ? operand_count - needed : 0;
        for (const OperandRule& rule : rules) {
            if (size_ == rules_.size()) break;
            const bool is_spare = spare > 0 && is_free(rule);
            if (is_needed(rule, match) || is_spare) rules_[size_++] = &rule;
            spare -= is_spare;
        }
    }
    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr const OperandRule& operator[](std::size_t i) const { return *rules_[i]; }

  private:
    std::array<const OperandRule*, 32> rules_ = {};
    std::size_t size_ = 0;
};

/// A register of `declared` type can stand where `wanted` is asked for (PTX ISA 9.4 and, wide, 9.4.1).
[[nodiscard]] constexpr bool goes(RegisterType declared, RegisterType wanted, bool exact, bool wide);
[[nodiscard]] constexpr bool is_in(const Range& range, std::int64_t value) {
    if (!range.values.empty())
        return std::find(range.values.begin(), range.values.end(), value) != range.values.end();
    return value >= range.low && value <= range.high && value % range.step == 0;
}

/// `.b0`, `.h10`: a part of a register that a kind of operand names; none is the whole register.
[[nodiscard]] constexpr bool is_part(RuleKind kind, std::string_view part);
/// What a kind of operand is called: "an address in brackets".
[[nodiscard]] constexpr std::string_view rule_text(const OperandRule& rule);

/// The space of the variables that may be named where an instruction takes a generic address, if it takes
/// those of one space only; none: of any.
[[nodiscard]] constexpr syntax::Space space_of_names(std::string_view opcode) {
    if (opcode == "prefetchu") return syntax::Space::global;
    const bool is_mbarrier = opcode.starts_with("mbarrier.") && opcode != "mbarrier.check_layout";
    return is_mbarrier || opcode == "mapa" || opcode == "getctarank" ? syntax::Space::shared
                                                                     : syntax::Space::none;
}

/// How one row takes the written modifiers.
struct Attempt {
    Match match;
    std::size_t taken = 0;            // modifiers that found a slot
    std::size_t taken_literally = 0;  // words of operations that the row names itself and must have
    int refused = -1;                 // the first that found none
    bool refused_is_filled = false;   // though the row has a slot for it
    int missing = -1;                 // the first slot left empty that must not be
    std::size_t missing_count = 0;
    const Constraint* broken = nullptr;

    [[nodiscard]] constexpr bool fits() const { return refused < 0 && missing < 0 && broken == nullptr; }
};

/// Whether rows are looked for that fit, or the reasons why none does.
enum class Aim : std::uint8_t { fit, explain };

[[nodiscard]] constexpr Attempt attempt(const Row& row, std::span<const WordId> words, Aim aim);

/// Why no row takes a name.
struct NameProblem {
    Errc code = Errc::ok;
    int modifier = -1;  ///< the one at fault; -1: the name as a whole
    Message message;
};

/// An opcode's first word with the modifiers written behind it, of which no row of `known` fits: the longest
/// opcode that the words begin with, null for none.
[[nodiscard]] constexpr NameProblem explain_name(const Opcode* known, std::string_view opcode,
                                                 std::span<const std::string_view> modifiers);

/// Of the names that are offered the one nearest to a word: within a third of its length, where case does
/// not count, or one that the word begins with, or that begins with it.
class Nearest {
  public:
    constexpr explicit Nearest(std::string_view word)
        : word_(word), least_(std::clamp<std::size_t>((word.size() + 1) / 3, 1, most_edits)) {}
    /// Whether the name is nearer than all before it, as near, or no candidate.
    enum class Place : std::uint8_t { farther, same, nearer };
    constexpr Place offer(std::string_view name);
    /// Empty when there is none.
    [[nodiscard]] constexpr std::string_view found() const { return found_; }

  private:
    static constexpr std::size_t most_edits = 4;
    std::string_view word_, found_;
    std::size_t least_;
};

// ---- what follows is how

namespace matching {

constexpr std::size_t longest_word = 48;  // that others are compared with

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool begins_with(std::string_view word, std::string_view beginning) {
    return word.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), word.begin(),
                                                         [](char a, char b) { return lower(a) == lower(b); });
}

// The edits from one word to another, which has at most longest_word letters: a letter put in, taken out,
// changed but for its case, or two neighbours swapped.
constexpr std::size_t distance(std::string_view a, std::string_view b) {
    std::array<std::array<std::uint8_t, longest_word + 1>, 3> rows = {};
    auto *before = rows[0].data(), *row = rows[1].data(), *next = rows[2].data();
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::uint8_t>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = static_cast<std::uint8_t>(std::min<std::size_t>(i, 255));
        for (std::size_t j = 1; j <= b.size(); ++j) {
            int least = std::min(
                {row[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1), row[j] + 1, next[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = std::min(least, before[j - 2] + 1);
            next[j] = static_cast<std::uint8_t>(least);
        }
        auto* const oldest = before;
        before = row, row = next, next = oldest;
    }
    return row[b.size()];
}

// A loop of its own: compilers count the steps of what they evaluate, and this is most of them.
constexpr bool has(std::span<const WordId> words, WordId word) {
    for (const WordId one : words)
        if (one == word) return true;
    return false;
}

// ptxas takes `.pred` among the modifiers of these, as often as it stands, and makes the same code.
constexpr bool ignores_predicate(std::string_view opcode) {
    constexpr std::array<std::string_view, 23> opcodes = {
        "abs",     "add", "atom", "cos",   "cvt", "ex2",  "fma", "lg2",  "max", "min",  "mul",
        "neg",     "rcp", "red",  "rsqrt", "set", "setp", "sin", "sqrt", "sub", "tanh", "wgmma.mma_async",
        "wmma.mma"};
    return std::find(opcodes.begin(), opcodes.end(), opcode) != opcodes.end();
}
// Not by find_word: under the undefined-behaviour sanitizer, GCC takes no comparison of its pointer for a
// constant.
inline constexpr WordId pred_word = [] {
    WordId at = 0;
    while (table::words[at].text != ".pred") ++at;
    return at;
}();

// Explains why no row of an opcode takes the modifiers.
class Explainer {
  public:
    constexpr Explainer(const Opcode& rows, std::span<const std::string_view> modifiers)
        : opcode_(rows.name), rows_(rows), modifiers_(modifiers) {
        const std::string_view name = rows.name;
        skipped_ = static_cast<std::size_t>(std::count(name.begin(), name.end(), '.'));
        for (std::size_t i = skipped_; i < modifiers.size() && words_ < word_ids_.size(); ++i)
            word_ids_[words_++] = find_word(modifiers[i]);
    }

    constexpr NameProblem run() {
        read_vocabulary();
        if (unknown_word()) return out_;
        if (!foreign_word() && !duplicate()) explain_best();
        return out_;
    }

  private:
    [[nodiscard]] constexpr std::span<const WordId> words() const {
        return std::span(word_ids_).first(words_);
    }

    constexpr Message& set(Errc code, int modifier) {
        out_.code = code;
        out_.modifier = modifier;
        return out_.message;
    }

    // The modifiers of all rows, each once: rows have most of theirs in common.
    constexpr void read_vocabulary() {
        for (const Row& row : rows_.rows)
            for (const Slot& slot : row.slots)
                for (const WordId word : slot.members) {
                    if (!is_known_[word]) vocabulary_[vocabulary_size_++] = word;
                    is_known_[word] = true;
                }
    }
    template <class Visit> constexpr void for_vocabulary(Visit visit) const {
        for (const WordId word : std::span(vocabulary_).first(vocabulary_size_)) visit(word);
    }

    constexpr bool unknown_word() {
        for (std::size_t i = 0; i < words_; ++i) {
            if (word_ids_[i] != no_word) continue;
            const std::string_view word = modifiers_[i + skipped_];
            Nearest nearest(word);
            for_vocabulary([&](WordId known) { nearest.offer(table_words[known]); });
            Message& message = set(Errc::modifier_unknown, static_cast<int>(i + skipped_));
            message.add("'").add(word).add("' for ").add(opcode_);
            if (nearest.found().empty())
                add_forms(message.add("; forms: "));
            else
                message.add("; did you mean ").add(nearest.found()).add("?");
            return true;
        }
        return false;
    }

    constexpr bool foreign_word() {
        for (std::size_t i = 0; i < words_; ++i) {
            if (is_known_[word_ids_[i]]) continue;
            const std::string_view word = modifiers_[i + skipped_];
            Message& message = set(Errc::modifier_not_allowed, static_cast<int>(i + skipped_));
            message.add(word).add(" is not allowed with ").add(opcode_);
            if (add_longer_opcodes(message)) return true;
            Nearest nearest(word);
            for_vocabulary([&](WordId known) {
                if (may_be_meant(word, table_words[known])) nearest.offer(table_words[known]);
            });
            if (!nearest.found().empty()) message.add("; did you mean ").add(nearest.found()).add("?");
            add_forms(message.add("; forms: "));
            return true;
        }
        return false;
    }

    // A type of floating point is no slip for one of integers.
    static constexpr bool may_be_meant(std::string_view word, std::string_view known) {
        return (word[1] == 'f') == (known[1] == 'f') || word[1] == 'b' || known[1] == 'b';
    }

    // Opcodes that go on behind this one and take all modifiers, as mul.lo does of mul.u32.
    constexpr bool add_longer_opcodes(Message& message) const {
        bool is_first = true;
        for (auto at = first_row_from(table_opcodes, opcode_, &Opcode::name); at != table_opcodes.end();
             ++at) {
            const std::string_view name = at->name;
            if (!name.starts_with(opcode_)) break;
            if (name.size() == opcode_.size() || name[opcode_.size()] != '.') continue;
            if (std::none_of(at->rows.begin(), at->rows.end(), [&](const Row& row) {
                    return attempt(row, words(), Aim::explain).taken == words_;
                }))
                continue;
            message.add(is_first ? "; it is with " : ", ").add(name);
            is_first = false;
        }
        return !is_first;
    }

    constexpr bool duplicate() {
        for (std::size_t i = 1; i < words_; ++i) {
            if (!has(words().first(i), word_ids_[i])) continue;
            const bool may_repeat = std::any_of(rows_.rows.begin(), rows_.rows.end(), [&](const Row& row) {
                return holds_twice(row, word_ids_[i]);
            });
            if (may_repeat) continue;
            set(Errc::modifier_duplicated, static_cast<int>(i + skipped_))
                .add(modifiers_[i + skipped_])
                .add(" stands twice");
            return true;
        }
        return false;
    }
    static constexpr bool holds_twice(const Row& row, WordId word) {
        return std::count_if(row.slots.begin(), row.slots.end(),
                             [&](const Slot& s) { return has(s.members, word); }) > 1;
    }

    // The row that takes most, then lacks least, is what was meant.
    constexpr void explain_best() {
        Attempt best;
        for (const Attempt& one : attempts())
            if (best.match.row == nullptr || is_worse(best, one)) best = one;
        if (best.refused >= 0) return explain_refused(best);
        const Row& row = *best.match.row;
        if (best.missing >= 0) {
            Message& message = set(Errc::modifier_missing, -1).add("a modifier is missing: ");
            add_missing(message, best);
            message.add("; form: ").add(row.syntax);
            return;
        }
        set(Errc::modifiers_conflict, -1)
            .add("these modifiers do not go together: ")
            .add(best.broken->text)
            .add("; form: ")
            .add(row.syntax);
    }
    // How each of today's forms takes the words: asked for once.
    constexpr std::span<const Attempt> attempts() {
        if (attempts_made_ == 0)
            for (const Row& row : rows_.rows)
                if (row.implied.empty()) attempts_[attempts_made_++] = attempt(row, words(), Aim::explain);
        return std::span(attempts_).first(attempts_made_);
    }
    static constexpr bool is_worse(const Attempt& a, const Attempt& b) {
        if (a.taken != b.taken) return a.taken < b.taken;
        if (a.missing_count != b.missing_count) return a.missing_count > b.missing_count;
        if (a.taken_literally != b.taken_literally) return a.taken_literally < b.taken_literally;
        if (a.refused != b.refused) return a.refused > b.refused;
        return a.broken != nullptr && b.broken == nullptr;
    }
    constexpr void explain_refused(const Attempt& best) {
        const auto at = static_cast<std::size_t>(best.refused);
        Message& message = set(best.refused_is_filled ? Errc::modifiers_conflict : Errc::modifier_not_allowed,
                               static_cast<int>(at + skipped_));
        message.add(modifiers_[at + skipped_]).add(" is not allowed ");
        const WordId beside = best.refused_is_filled ? filling(best, word_ids_[at]) : no_word;
        if (beside == no_word)
            message.add("in this form of ").add(opcode_);
        else if (beside == word_ids_[at])
            message.add("once more");
        else
            message.add("beside ").add(table_words[beside]);
        add_forms(message.add("; forms: "));
    }
    // What stands where a word could.
    static constexpr WordId filling(const Attempt& a, WordId word) {
        for (std::size_t i = 0; i < a.match.row->slots.size(); ++i)
            if (has(a.match.row->slots[i].members, word)) return a.match.chosen[i];
        return no_word;
    }
    // The members of the slot that is empty, of all rows that are as near.
    constexpr void add_missing(Message& message, const Attempt& best) {
        constexpr std::size_t most = 16;
        std::array<bool, std::size(table::words)> is_in = {};
        std::size_t count = 0;
        for (const Attempt& one : attempts()) {
            if (is_worse(one, best) || one.missing < 0 || one.refused >= 0) continue;
            for (const WordId word : one.match.row->slots[static_cast<std::size_t>(one.missing)].members) {
                if (is_in[word]) continue;
                is_in[word] = true;
                if (count++ < most) message.add(count == 1 ? "" : " ").add(table_words[word]);
            }
        }
        if (count > most) message.add(" …");
    }

    // The forms nearest to what was written, at most three, the first of equal ones first.
    constexpr void add_forms(Message& message) {
        std::array<Attempt, 3> nearest = {};
        for (const Attempt& one_of_all : attempts()) {
            if (is_among(nearest, one_of_all.match.row->syntax)) continue;
            Attempt next = one_of_all;
            bool is_in = false;  // then those behind it move on by one
            for (Attempt& one : nearest) {
                is_in |= one.match.row == nullptr || is_worse(one, next);
                if (is_in) std::swap(one, next);
            }
        }
        for (std::size_t i = 0; i < nearest.size() && nearest[i].match.row != nullptr; ++i)
            message.add(i == 0 ? "" : "; ").add(nearest[i].match.row->syntax);
    }
    static constexpr bool is_among(const std::array<Attempt, 3>& attempts, std::string_view syntax) {
        return std::any_of(attempts.begin(), attempts.end(), [&](const Attempt& a) {
            return a.match.row != nullptr && a.match.row->syntax == syntax;
        });
    }

    std::string_view opcode_;
    const Opcode& rows_;
    std::span<const std::string_view> modifiers_;
    std::size_t skipped_ = 0;  // modifiers that belong to the opcode
    std::array<bool, std::size(table::words)> is_known_ = {};
    std::array<WordId, std::size(table::words)> vocabulary_ = {};
    std::size_t vocabulary_size_ = 0;
    static constexpr std::size_t most_rows = 192;  // of an opcode
    static_assert(std::all_of(table_opcodes.begin(), table_opcodes.end(),
                              [](const Opcode& one) { return one.rows.size() <= most_rows; }));
    std::array<Attempt, most_rows> attempts_ = {};
    std::size_t attempts_made_ = 0;
    std::array<WordId, max_parts + 8> word_ids_ = {};
    std::size_t words_ = 0;
    NameProblem out_;
};

constexpr NameProblem unknown_opcode(std::string_view opcode) {
    NameProblem out;
    constexpr std::size_t most = 24;
    std::size_t longer = 0;
    Nearest nearest(opcode);
    for (const Opcode& one : table_opcodes) {
        const std::string_view name = one.name, word = name.substr(0, name.find('.'));
        if (word == opcode && ++longer <= most)
            out.message.add(longer == 1 ? "an operation is missing behind " : "")
                .add(longer == 1 ? opcode : "")
                .add(longer == 1 ? ": " : " ")
                .add(name);
        nearest.offer(word);
    }
    out.code = longer > 0 ? Errc::modifier_missing : Errc::opcode_unknown;
    if (longer > 0) return out;
    out.message.add("'").add(opcode).add("'");
    if (!nearest.found().empty()) out.message.add("; did you mean ").add(nearest.found()).add("?");
    return out;
}

}  // namespace matching

constexpr bool Match::holds(Term term) const {
    return std::all_of(term.begin(), term.end(), [&](const Atom& a) {
        const bool present = a.slot == any_slot
                                 ? matching::has(std::span(chosen).first(row->slots.size()), a.word)
                             : a.word == no_word ? chosen[a.slot] != no_word
                                                 : chosen[a.slot] == a.word;
        return present != a.is_absent;
    });
}

constexpr const Constraint* Match::broken_constraint() const {
    for (const Constraint& c : row->constraints)
        if (c.kind != Constraint::Kind::since && any_holds(c.left) &&
            any_holds(c.right) != (c.kind == Constraint::Kind::needs))
            return &c;
    return nullptr;
}

constexpr RegisterType Match::type(TypeRef ref) const {
    if (ref.slot == any_slot) return ref.type;
    return chosen[ref.slot] == no_word ? RegisterType::none : table::words[chosen[ref.slot]].type;
}

constexpr std::uint32_t Match::count(const Count& count) const {
    std::uint32_t value = count.value;
    if (count.slot != any_slot)
        value = chosen[count.slot] == no_word ? 1 : table::words[chosen[count.slot]].number;
    return value * count.times / count.divided_by - count.minus;
}

constexpr bool is_part(RuleKind kind, std::string_view part) {
    if (part.empty()) return true;
    const auto digits = part.substr(std::min<std::size_t>(2, part.size()));
    const auto all_below = [&](char end) {
        return std::all_of(digits.begin(), digits.end(), [&](char c) { return c >= '0' && c < end; });
    };
    const bool falls = std::adjacent_find(digits.begin(), digits.end(),
                                          [](char a, char b) { return a <= b; }) == digits.end();
    const bool is_half = part[1] == 'h', is_byte = part[1] == 'b';
    switch (kind) {
        case RuleKind::selector:
            return (is_half || is_byte) && digits.size() == 1 && all_below(is_half ? '2' : '4');
        case RuleKind::selector2: return is_half && digits.size() == 2 && all_below('4');
        case RuleKind::selector4: return is_byte && digits.size() == 4 && all_below('8');
        case RuleKind::mask2: return is_half && !digits.empty() && falls && all_below('2');
        default: return is_byte && !digits.empty() && falls && all_below('4');
    }
}

constexpr std::string_view rule_text(const OperandRule& rule) {
    switch (rule.kind) {
        case RuleKind::address: return "an address in brackets";
        case RuleKind::base:
            return rule.is_exact        ? "a register of .b32"
                   : rule.register_only ? "a register of 32 bits, with an offset"
                                        : "a register or variable, with an offset";
        case RuleKind::pair: return "a pair a|b";
        case RuleKind::list: return "a list in parentheses";
        case RuleKind::label: return "a label";
        case RuleKind::labels: return "the name of a .branchtargets list";
        case RuleKind::callee: return "a function, or a register that holds its address";
        case RuleKind::prototype: return "the name of a .callprototype or .calltargets";
        case RuleKind::texref: return "a .texref, or a register of 64 bits that holds its handle";
        case RuleKind::samplerref: return "a .samplerref, or a register of 64 bits that holds its handle";
        case RuleKind::surfref: return "a .surfref, or a register of 64 bits that holds its handle";
        case RuleKind::selector: return "a register of 32 bits, with .b0 to .b3, .h0 or .h1";
        case RuleKind::selector2: return "a register of 32 bits, with .h00 to .h33";
        case RuleKind::selector4: return "a register of 32 bits, with .b0000 to .b7777";
        case RuleKind::mask2: return "a register of 32 bits, with .h0, .h1 or .h10";
        case RuleKind::mask4: return "a register of 32 bits, with .b0 to .b3210";
        default: return "a value";
    }
}

constexpr bool goes(RegisterType declared, RegisterType wanted, bool exact, bool wide) {
    if (declared == wanted) return true;
    if (exact || declared == RegisterType::none || wanted == RegisterType::none) return false;
    const TypeInfo &d = info(declared), &w = info(wanted);
    if (d.kind == TypeClass::pred || w.kind == TypeClass::pred) return false;
    if (d.bits < w.bits || (d.bits > w.bits && !wide)) return false;
    if (d.kind == TypeClass::bits || w.kind == TypeClass::bits) return true;
    if (declared == RegisterType::f16x2)  // as ptxas has it
        return w.kind == TypeClass::integer ||
               (w.kind == TypeClass::packed && wanted != RegisterType::bf16x2 &&
                wanted != RegisterType::tf32);
    return d.kind == TypeClass::integer && w.kind == TypeClass::integer;
}

constexpr Attempt attempt(const Row& row, std::span<const WordId> words, Aim aim) {
    using matching::has;
    Attempt a;
    a.match.row = &row;
    a.match.chosen.fill(no_word);
    std::size_t last = 0;
    std::array<std::size_t, 5> last_of = {};  // by vocabulary
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::size_t slot = 0;
        bool is_filled = false;
        while (slot < row.slots.size() &&
               (a.match.chosen[slot] != no_word || !has(row.slots[slot].members, words[i]))) {
            is_filled |= has(row.slots[slot].members, words[i]);
            ++slot;
        }
        const bool is_repeated =
            is_filled && has(table_repeatable, words[i]) && has(a.match.chosen, words[i]);
        if (slot == row.slots.size() &&
            (is_repeated || (words[i] == matching::pred_word && matching::ignores_predicate(row.opcode)))) {
            a.match.in_order = false;
            ++a.taken;
            continue;
        }
        if (slot < row.slots.size() && row.slots[slot].vocabulary != 0) {
            std::size_t& before = last_of[row.slots[slot].vocabulary];
            slot < before ? slot = row.slots.size() : before = slot;
        }
        if (slot == row.slots.size()) {
            if (a.refused < 0) {
                a.refused = static_cast<int>(i);
                a.refused_is_filled = is_filled;
            }
            if (aim == Aim::fit) return a;
            continue;
        }
        a.match.chosen[slot] = words[i];
        a.match.in_order &= slot >= last;
        last = slot;
        ++a.taken;
        a.taken_literally += !row.slots[slot].is_optional && row.slots[slot].members.size() == 1 &&
                             table::words[words[i]].type == RegisterType::none;
    }
    for (std::size_t slot = 0; slot < row.slots.size(); ++slot) {
        if (row.slots[slot].is_optional || a.match.chosen[slot] != no_word) continue;
        if (a.missing < 0) a.missing = static_cast<int>(slot);
        ++a.missing_count;
    }
    a.broken = a.match.broken_constraint();
    return a;
}

constexpr NameProblem explain_name(const Opcode* known, std::string_view opcode,
                                   std::span<const std::string_view> modifiers) {
    return known == nullptr ? matching::unknown_opcode(opcode) : matching::Explainer(*known, modifiers).run();
}

constexpr Nearest::Place Nearest::offer(std::string_view name) {
    constexpr std::size_t shortest_stem = 3, edits_of_a_stem = 2;
    if (word_.size() > matching::longest_word) return Place::farther;
    const auto shorter = std::min(name.size(), word_.size()), longer = std::max(name.size(), word_.size());
    const bool is_stem = shorter >= shortest_stem &&
                         (matching::begins_with(name, word_) || matching::begins_with(word_, name));
    if (!is_stem && longer - shorter > least_) return Place::farther;
    const std::size_t d =
        is_stem ? std::min(edits_of_a_stem, longer - shorter) : matching::distance(name, word_);
    if ((d > least_ && !(is_stem && found_.empty())) || d == longer) return Place::farther;
    const bool is_nearer = d < least_ || found_.empty();
    least_ = d;
    if (is_nearer) found_ = name;
    return is_nearer ? Place::nearer : Place::same;
}

}  // namespace ptxgraft::isa
