// Finds the row of an instruction by opcode and modifiers; where none fits, what is nearest and why.

#include "isa/match.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "isa/spellings.hpp"

namespace ptxgraft::isa {
namespace {

// The number in a modifier: 4 of .v4 and .x4, 3 of .3d, 128 of .m64n128k16.
std::uint32_t number_of(std::string_view word) {
    if (const auto n = word.find('n', 1); word.starts_with(".m") && n != std::string_view::npos)
        word = word.substr(n);
    std::uint32_t value = 0;
    for (const char c : word) {
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && value != 0) break;
        if (is_digit) value = 10 * value + static_cast<std::uint32_t>(c - '0');
    }
    return value == 0 ? 1 : value;
}

constexpr std::size_t longest_word = 48;  // that others are compared with

// The edits from one word to another, which has at most longest_word letters: a letter put in, taken out,
// changed, or two neighbours swapped.
std::size_t distance(std::string_view a, std::string_view b) {
    std::array<std::array<std::size_t, longest_word + 1>, 3> rows;
    std::size_t *before = rows[0].data(), *row = rows[1].data(), *next = rows[2].data();
    std::iota(row, row + b.size() + 1, std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), row[j] + 1, next[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        std::swap(before, row);
        std::swap(row, next);
    }
    return row[b.size()];
}

bool has(std::span<const WordId> words, WordId word) { return std::ranges::find(words, word) != words.end(); }

// How one row takes the written modifiers.
struct Attempt {
    Match match;
    std::size_t taken = 0;           // modifiers that found a slot
    int refused = -1;                // the first that found none
    bool refused_is_filled = false;  // though the row has a slot for it
    int missing = -1;                // the first slot left empty that must not be
    std::size_t missing_count = 0;
    const Constraint* broken = nullptr;

    [[nodiscard]] bool fits() const { return refused < 0 && missing < 0 && broken == nullptr; }
};

// ptxas takes `.pred` among the modifiers of these, as often as it stands, and makes the same code.
bool ignores_predicate(std::string_view opcode) {
    constexpr std::array<std::string_view, 23> opcodes = {
        "abs",     "add", "atom", "cos",   "cvt", "ex2",  "fma", "lg2",  "max", "min",  "mul",
        "neg",     "rcp", "red",  "rsqrt", "set", "setp", "sin", "sqrt", "sub", "tanh", "wgmma.mma_async",
        "wmma.mma"};
    return std::ranges::find(opcodes, opcode) != opcodes.end();
}

// Whether rows are looked for that fit, or the reasons why none does.
enum class Aim : std::uint8_t { fit, explain };

Attempt attempt(const Row& row, std::span<const WordId> words, Aim aim) {
    Attempt a;
    a.match.row = &row;
    a.match.chosen.fill(no_word);
    static const WordId pred = word_id(".pred");
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
            (is_repeated || (words[i] == pred && ignores_predicate(row.opcode)))) {
            a.match.in_order = false;
            ++a.taken;
            continue;
        }
        if (slot < row.slots.size() && row.slots[slot].vocabulary != 0) {
            std::size_t& before = last_of[row.slots[slot].vocabulary];
            slot < before ? slot = row.slots.size() : before = slot;
        }
        if (slot == row.slots.size()) {
            if (aim == Aim::fit) {
                a.refused = static_cast<int>(i);
                return a;
            }
            if (a.refused < 0) {
                a.refused = static_cast<int>(i);
                a.refused_is_filled = is_filled;
            }
            continue;
        }
        a.match.chosen[slot] = words[i];
        a.match.in_order &= slot >= last;
        last = slot;
        ++a.taken;
    }
    for (std::size_t slot = 0; slot < row.slots.size(); ++slot) {
        if (row.slots[slot].is_optional || a.match.chosen[slot] != no_word) continue;
        if (a.missing < 0) a.missing = static_cast<int>(slot);
        ++a.missing_count;
    }
    for (const Constraint& c : row.constraints) {
        if (c.kind == Constraint::Kind::since || !a.match.any_holds(c.left)) continue;
        if (a.match.any_holds(c.right) != (c.kind == Constraint::Kind::needs) && a.broken == nullptr)
            a.broken = &c;
    }
    return a;
}

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string members_of(const Slot& slot) {
    std::string text;
    for (std::size_t i = 0; i < slot.members.size() && i < 12; ++i)
        text.append(i == 0 ? "" : " ").append(table_words[slot.members[i]]);
    return slot.members.size() > 12 ? text + " …" : text;
}

// Explains why no row of an opcode takes the modifiers.
class Explainer {
  public:
    Explainer(std::string_view opcode, std::span<const Opcode* const> opcodes,
              std::span<const std::string_view> modifiers)
        : opcode_(opcode), opcodes_(opcodes), modifiers_(modifiers) {}

    NameMatch run() {
        for (const Opcode* opcode : opcodes_) try_rows(*opcode);
        if (unknown_word() || foreign_word() || duplicate()) return std::move(out_);
        explain_best();
        return std::move(out_);
    }

  private:
    struct Tried {
        Attempt attempt;
        std::size_t skipped;  // modifiers that belong to the opcode
        [[nodiscard]] std::size_t taken() const { return attempt.taken + skipped; }
    };

    void try_rows(const Opcode& opcode) {
        const auto skipped =
            static_cast<std::size_t>(std::count(opcode.name.begin(), opcode.name.end(), '.'));
        std::vector<WordId> words;
        for (const std::string_view modifier : modifiers_.subspan(skipped))
            words.push_back(word_id(modifier));
        for (const Row& row : opcode.rows) tried_.push_back({attempt(row, words, Aim::explain), skipped});
    }

    void set(Errc code, int modifier, std::string message) {
        out_.code = code;
        out_.modifier = modifier;
        out_.message = std::move(message);
    }

    // Each word once: rows have most of theirs in common.
    [[nodiscard]] std::vector<std::string_view> vocabulary() const {
        std::vector<std::string_view> all;
        std::vector<bool> is_in(table_words.size());
        for (const Tried& t : tried_)
            for (const Slot& slot : t.attempt.match.row->slots)
                for (const WordId word : slot.members) {
                    if (!is_in[word]) all.push_back(table_words[word]);
                    is_in[word] = true;
                }
        return all;
    }

    [[nodiscard]] bool is_in_opcode(std::size_t modifier) const {
        return std::any_of(tried_.begin(), tried_.end(),
                           [&](const Tried& t) { return modifier < t.skipped; });
    }

    bool unknown_word() {
        for (std::size_t i = 0; i < modifiers_.size(); ++i) {
            if (is_in_opcode(i) || word_id(modifiers_[i]) != no_word) continue;
            const std::vector<std::string_view> known = vocabulary();
            const std::string_view near = nearest(modifiers_[i], known);
            set(Errc::modifier_unknown, static_cast<int>(i),
                quote(modifiers_[i]) + " for " + opcode_ +
                    (near.empty() ? "; forms: " + forms() : "; did you mean " + std::string(near) + "?"));
            return true;
        }
        return false;
    }

    bool foreign_word() {
        const std::vector<std::string_view> known = vocabulary();
        for (std::size_t i = 0; i < modifiers_.size(); ++i) {
            if (is_in_opcode(i) || std::find(known.begin(), known.end(), modifiers_[i]) != known.end())
                continue;
            set(Errc::modifier_not_allowed, static_cast<int>(i),
                std::string(modifiers_[i]) + " is not allowed with " + opcode_ + "; forms: " + forms());
            return true;
        }
        return false;
    }

    bool duplicate() {
        for (std::size_t i = 1; i < modifiers_.size(); ++i) {
            const auto before = std::find(modifiers_.begin(),
                                          modifiers_.begin() + static_cast<std::ptrdiff_t>(i), modifiers_[i]);
            if (before == modifiers_.begin() + static_cast<std::ptrdiff_t>(i)) continue;
            const bool may_repeat = std::any_of(
                tried_.begin(), tried_.end(), [&](const Tried& t) { return holds_twice(t, modifiers_[i]); });
            if (may_repeat) continue;
            set(Errc::modifier_duplicated, static_cast<int>(i), std::string(modifiers_[i]) + " stands twice");
            return true;
        }
        return false;
    }
    static bool holds_twice(const Tried& t, std::string_view modifier) {
        const WordId word = word_id(modifier);
        const auto& slots = t.attempt.match.row->slots;
        return std::count_if(slots.begin(), slots.end(),
                             [&](const Slot& s) { return has(s.members, word); }) > 1;
    }

    // The row that takes most, then lacks least, is what was meant.
    void explain_best() {
        const auto worse = [](const Tried& a, const Tried& b) {
            if (a.taken() != b.taken()) return a.taken() < b.taken();
            if (a.attempt.missing_count != b.attempt.missing_count)
                return a.attempt.missing_count > b.attempt.missing_count;
            return a.attempt.broken != nullptr && b.attempt.broken == nullptr;
        };
        const Tried& best = *std::max_element(tried_.begin(), tried_.end(), worse);
        const Attempt& a = best.attempt;
        const Row& row = *a.match.row;
        const std::string form = "; form: " + std::string(row.syntax);
        const int refused = a.refused + static_cast<int>(best.skipped);
        if (a.refused >= 0) {
            const std::string word(modifiers_[static_cast<std::size_t>(refused)]);
            return set(a.refused_is_filled ? Errc::modifiers_conflict : Errc::modifier_not_allowed, refused,
                       word + " is not allowed " +
                           (a.refused_is_filled ? "beside another modifier of its kind"
                                                : "in this form of " + opcode_) +
                           "; forms: " + forms());
        }
        if (a.missing >= 0) {
            const Slot& slot = row.slots[static_cast<std::size_t>(a.missing)];
            return set(Errc::modifier_missing, -1, "a modifier is missing: " + members_of(slot) + form);
        }
        set(Errc::modifiers_conflict, -1,
            "these modifiers do not go together: " + std::string(a.broken->text) + form);
    }

    // The forms nearest to what was written, at most three.
    [[nodiscard]] std::string forms() const {
        std::vector<const Tried*> order;
        for (const Tried& t : tried_) order.push_back(&t);
        std::stable_sort(order.begin(), order.end(),
                         [](const Tried* a, const Tried* b) { return a->taken() > b->taken(); });
        std::string text;
        for (std::size_t i = 0; i < order.size() && i < 3; ++i)
            text.append(i == 0 ? "" : "; ").append(order[i]->attempt.match.row->syntax);
        return text;
    }

    std::string opcode_;
    std::span<const Opcode* const> opcodes_;
    std::span<const std::string_view> modifiers_;
    std::vector<Tried> tried_;
    NameMatch out_;
};

NameMatch unknown_opcode_match(std::string_view opcode) {
    std::vector<std::string_view> first_words, longer;
    for (const Opcode& o : table_opcodes) {
        first_words.push_back(o.name.substr(0, o.name.find('.')));
        if (first_words.back() == opcode && longer.size() < 8) longer.push_back(o.name);
    }
    NameMatch out;
    if (!longer.empty()) {
        std::string text = "an operation is missing behind " + std::string(opcode) + ":";
        for (const std::string_view name : longer) text.append(" ").append(name);
        out.code = Errc::modifier_missing;
        out.message = text;
        return out;
    }
    const std::string_view near = nearest(opcode, first_words);
    out.code = Errc::opcode_unknown;
    out.message = quote(opcode) + (near.empty() ? "" : "; did you mean " + std::string(near) + "?");
    return out;
}

}  // namespace

bool Match::holds(Term term) const {
    return std::all_of(term.begin(), term.end(), [&](const Atom& a) {
        const bool present = a.slot == any_slot  ? has(std::span(chosen).first(row->slots.size()), a.word)
                             : a.word == no_word ? chosen[a.slot] != no_word
                                                 : chosen[a.slot] == a.word;
        return present != a.is_absent;
    });
}

bool Match::any_holds(std::span<const Term> terms) const {
    return std::any_of(terms.begin(), terms.end(), [&](Term t) { return holds(t); });
}

RegisterType Match::type(TypeRef ref) const {
    if (ref.slot == any_slot) return ref.type;
    const TypeInfo* found =
        chosen[ref.slot] == no_word ? nullptr : type_info(table_words[chosen[ref.slot]].substr(1));
    return found == nullptr ? RegisterType::none : found->type;
}

std::uint32_t Match::count(const Count& count) const {
    std::uint32_t value = count.value;
    if (count.slot != any_slot)
        value = chosen[count.slot] == no_word ? 1 : number_of(table_words[chosen[count.slot]]);
    return value * count.times / count.divided_by - count.minus;
}

bool keeps_constraints(const Match& match) {
    return std::all_of(match.row->constraints.begin(), match.row->constraints.end(),
                       [&](const Constraint& c) {
                           return c.kind == Constraint::Kind::since || !match.any_holds(c.left) ||
                                  match.any_holds(c.right) == (c.kind == Constraint::Kind::needs);
                       });
}

std::string Match::canonical_name() const {
    std::string name(row->opcode);
    for (std::size_t i = 0; i < row->slots.size(); ++i)
        if (chosen[i] != no_word) name += table_words[chosen[i]];
    return name;
}

std::vector<std::string_view> Match::canonical_modifiers() const {
    std::vector<std::string_view> all;
    std::string_view opcode = row->opcode;
    for (std::size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', 1)) {
        opcode.remove_prefix(at);
        all.push_back(opcode.substr(0, opcode.find('.', 1)));
    }
    for (std::size_t i = 0; i < row->slots.size(); ++i)
        if (chosen[i] != no_word) all.push_back(table_words[chosen[i]]);
    return all;
}

WordId word_id(std::string_view modifier) {
    static const syntax::NameMap<WordId> ids = [] {
        syntax::NameMap<WordId> all;
        for (std::size_t i = 0; i < table_words.size(); ++i)
            *all.put(table_words[i]).first = static_cast<WordId>(i);
        return all;
    }();
    const WordId* const id = ids.find(modifier);
    return id == nullptr ? no_word : *id;
}

const Opcode* find_opcode(std::string_view name) { return find_row(table_opcodes, name, &Opcode::name); }

NameMatch match_name(std::string_view opcode, std::span<const std::string_view> modifiers) {
    constexpr std::size_t longest_opcode = 6;
    std::vector<const Opcode*> opcodes;
    std::string name(opcode);
    for (std::size_t n = 0;; ++n) {
        const auto at = std::ranges::lower_bound(table_opcodes, name, {}, &Opcode::name);
        if (at == table_opcodes.end() || !at->name.starts_with(name)) break;
        if (at->name == name) opcodes.insert(opcodes.begin(), &*at);
        if (n == modifiers.size() || n + 1 == longest_opcode) break;
        name += modifiers[n];
    }
    if (opcodes.empty()) return unknown_opcode_match(opcode);
    NameMatch out;
    for (const Opcode* o : opcodes) {
        const auto skipped = static_cast<std::size_t>(std::count(o->name.begin(), o->name.end(), '.'));
        std::vector<WordId> words;
        words.reserve(modifiers.size());
        for (const std::string_view modifier : modifiers.subspan(skipped)) words.push_back(word_id(modifier));
        for (const Row& row : o->rows)
            if (const Attempt a = attempt(row, words, Aim::fit); a.fits()) out.matches.push_back(a.match);
    }
    if (!out.matches.empty()) return out;
    return Explainer(opcode, std::span(opcodes).first(1), modifiers).run();
}

std::vector<std::string_view> all_nearest(std::string_view word, std::span<const std::string_view> names) {
    if (word.size() > longest_word) return {};
    std::size_t least = std::clamp<std::size_t>(word.size() / 2, 1, 4);
    std::vector<std::string_view> found;
    for (const std::string_view name : names) {
        const auto [shorter, longer] = std::minmax({name.size(), word.size()});
        if (longer - shorter > least) continue;
        const std::size_t d = distance(name, word);
        if (d > least || d == longer) continue;
        if (d < least) found.clear();
        least = d;
        found.push_back(name);
    }
    return found;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
    const auto all = all_nearest(word, names);
    return all.empty() ? std::string_view() : all.front();
}

const NameMatch& NameMatches::of(std::string_view name, std::string_view opcode,
                                 std::span<const std::string_view> modifiers) {
    if (const NameMatch* const known = matches_.find(name)) return *known;
    if (texts_.size() == most) {
        matches_.clear();
        texts_.clear();
    }
    NameMatch& match = *matches_.put(texts_.emplace_back(name)).first;
    match = match_name(opcode, modifiers);
    return match;
}

}  // namespace ptxgraft::isa
