// Measurements again.

#include "search/loop/again.hpp"

#include <algorithm>
#include <tuple>

namespace ptxgraft::search {

bool Again::is_due(std::uint64_t index, std::uint64_t judged, std::uint32_t every) const {
    const auto at = known_.find(index);
    return at == known_.end() || !at->second.is_asked || judged - at->second.asked >= every;
}

std::vector<Member> Again::due(std::span<const Grid* const> grids, std::uint64_t judged,
                               std::uint32_t every) const {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, Member>> found;  // asked for, index
    std::map<std::uint64_t, bool> seen;
    for (const Grid* const grid : grids)
        for (const auto& [cell, members] : grid->cells()) {
            const Member& best = members.front();
            if (!best.is_measured() || !is_due(best.index, judged, every)) continue;
            if (std::exchange(seen[best.index], true)) continue;
            const auto at = known_.find(best.index);
            const bool was_asked = at != known_.end() && at->second.is_asked;
            found.emplace_back(was_asked ? at->second.asked + 1 : 0, best.index, best);
        }
    std::ranges::sort(found, [](const auto& a, const auto& b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    std::vector<Member> made;
    for (auto& [asked, index, member] : found) made.push_back(std::move(member));
    return made;
}

void Again::note_asked(std::uint64_t index, std::uint64_t judged) {
    Known& known = known_[index];
    known.is_asked = true;
    known.asked = judged;
}

std::optional<Figures> Again::add(const Candidate& candidate, const Result& result) {
    if (result.status != Status::ok) return std::nullopt;
    Known& known = known_[candidate.parents[0]];
    ++known.times;
    known.cost += result.cost;
    known.low += result.low;
    known.high += result.high;
    const double times = known.times;
    return Figures{.cost = known.cost / times,
                   .low = known.low / times,
                   .high = known.high / times,
                   .descriptor = result.descriptor,
                   .times = known.times};
}

bool disagree(const Member& elite, const Result& result) {
    if (result.status == Status::noisy) return false;
    return result.status != Status::ok || result.low > elite.high || result.high < elite.low;
}

}  // namespace ptxgraft::search
