// Measurements again.

#include "search/loop/again.hpp"

#include <cmath>
#include <utility>

namespace ptxgraft::search {

bool Again::is_due(std::uint64_t index, std::uint64_t judged, std::uint32_t every) const {
    const auto at = known_.find(index);
    return at == known_.end() || !at->second.is_asked || judged - at->second.asked >= every;
}

std::vector<Member> Again::all_due(const Grid& grid, std::uint64_t judged, std::uint32_t every) const {
    std::vector<Member> made;
    for (const auto& [cell, members] : grid.cells()) {
        const Member& best = members.front();
        if (!best.is_measured()) continue;
        if (is_due(best.index, judged, every)) made.push_back(best);
        for (const Member& one : members)
            if (std::isinf(one.high) && one.cost < best.bound() && !known_.contains(one.index))
                made.push_back(one);
    }
    return made;
}

std::vector<Member> Again::due(std::span<const Grid* const> grids, std::uint64_t judged,
                               std::uint32_t every) const {
    std::map<std::pair<std::uint64_t, std::uint64_t>, Member>
        found;  // by when it was asked for, and its index
    for (const Grid* const grid : grids)
        for (Member& member : all_due(*grid, judged, every)) {
            const auto at = known_.find(member.index);
            const bool was_asked = at != known_.end() && at->second.is_asked;
            const std::pair key(was_asked ? at->second.asked + 1 : 0, member.index);
            found.emplace(key, std::move(member));
        }
    std::vector<Member> made;
    for (auto& [key, member] : found) made.push_back(std::move(member));
    return made;
}

void Again::note_asked(std::uint64_t index, std::uint64_t judged) {
    Known& known = known_[index];
    known.is_asked = true;
    known.asked = judged;
}

std::optional<MeasuredFigures> Again::add(const Candidate& candidate, const Result& result) {
    if (result.status != Status::ok) return std::nullopt;
    Known& known = known_[candidate.parents[0]];
    ++known.times;
    known.cost += result.cost;
    known.low += result.low;
    known.high += result.high;
    const double times = known.times;
    return MeasuredFigures{.cost = known.cost / times,
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
