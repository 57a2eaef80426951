#pragma once
// Which rows of the table a written name fits, remembered.

#include <deque>
#include <string>
#include <vector>

#include "ptxgraft/isa/match.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {

/// The name as the manual orders it: "add.rn.ftz.f32".
[[nodiscard]] std::string canonical_name(const Match& match);
/// What stands behind the first word there: ".rn", ".ftz", ".f32".
[[nodiscard]] std::vector<std::string_view> canonical_modifiers(const Match& match);
/// The same as it is written today: with what an old form implies and, where it `flushes`, with .ftz, as
/// PTX ISA 9.7.3 has it of sm_1x.
[[nodiscard]] std::vector<std::string_view> todays_modifiers(const Match& match, bool flushes);

/// `.const` of `.const[2]`.
[[nodiscard]] constexpr std::string_view without_bank(std::string_view modifier) {
    return modifier.ends_with(']') ? modifier.substr(0, modifier.find('[')) : modifier;
}

struct NameMatch {
    std::vector<Match> matches;  // in the table's order; empty: `code` says why
    Errc code = Errc::ok;
    std::string message;
    int modifier = -1;  // the one at fault; -1: the name as a whole
};

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

/// The names nearest to `word` among `names`, within half of its length.
[[nodiscard]] std::vector<std::string_view> all_nearest(std::string_view word,
                                                        std::span<const std::string_view> names);

}  // namespace ptxgraft::isa
