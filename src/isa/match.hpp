#pragma once
// Which rows of the table a written name fits, and why none does.

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "isa/table.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {

constexpr std::size_t max_parts = 24;

/// A row with the modifiers that fill its slots.
struct Match {
    const Row* row = nullptr;
    std::array<WordId, max_parts> chosen = {};  // by slot; no_word: empty
    bool in_order = true;                       // the modifiers stand as in the manual

    [[nodiscard]] bool holds(Term term) const;
    [[nodiscard]] bool any_holds(std::span<const Term> terms) const;
    [[nodiscard]] RegisterType type(TypeRef ref) const;
    [[nodiscard]] std::uint32_t count(const Count& count) const;
    /// The name as the manual orders it: "add.rn.ftz.f32".
    [[nodiscard]] std::string canonical_name() const;
    /// What stands behind the first word there: ".rn", ".ftz", ".f32".
    [[nodiscard]] std::vector<std::string_view> canonical_modifiers() const;
};

struct NameMatch {
    std::vector<Match> matches;  // in the table's order; empty: `code` says why
    Errc code = Errc::ok;
    std::string message;
    int modifier = -1;  // the one at fault; -1: the name as a whole
};

/// Words of the table; no_word for one that it lacks.
[[nodiscard]] WordId word_id(std::string_view modifier);
[[nodiscard]] const Opcode* find_opcode(std::string_view name);

/// Matches an opcode's first word and the modifiers written behind it.
[[nodiscard]] NameMatch match_name(std::string_view opcode, std::span<const std::string_view> modifiers);

/// The matches of names that were asked for, by their text.
class NameMatches {
  public:
    /// Holds until the next call. `name` is the opcode with its modifiers, as written.
    const NameMatch& of(std::string_view name, std::string_view opcode,
                        std::span<const std::string_view> modifiers);

  private:
    static constexpr std::size_t most = 4096;  // then all are forgotten
    std::deque<std::string> texts_;
    syntax::NameMap<NameMatch> matches_;  // views of texts_
};

/// The names nearest to `word` among `names`, within half of its length; and the first of them, empty when
/// there is none.
[[nodiscard]] std::vector<std::string_view> all_nearest(std::string_view word,
                                                        std::span<const std::string_view> names);
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

}  // namespace ptxgraft::isa
