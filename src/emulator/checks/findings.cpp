// Findings are counted by pairs of instructions, and described once for a launch.
#include "emulator/checks/findings.hpp"

#include <algorithm>
#include <bit>

namespace ptxgraft::emulator {
namespace {

// `src/scan.cu` names /home/x/src/scan.cu, and `can.cu` does not.
bool names_file(std::string_view path, std::string_view end) {
    if (!path.ends_with(end)) return false;
    return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

}  // namespace

bool Excuses::names(const EmulatorExcuse& excuse, std::uint32_t pc) const {
    if (pc == no_pc) return false;
    const std::uint32_t at = program_->spans[pc].begin;
    if (excuse.file.empty()) return position(provenance_->text(), at).line == excuse.line;
    const auto lines = provenance_->lines(at);
    return std::ranges::any_of(lines, [&](const syntax::SourceLine& line) {
        return line.line == excuse.line && names_file(line.file, excuse.file);
    });
}

std::optional<std::size_t> Excuses::find(const Mistake& mistake) const {
    if (excuses_.empty()) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = found_.try_emplace(mistake.key());
    if (is_new) at->second = look_for(mistake);
    return at->second;
}

std::optional<std::size_t> Excuses::look_for(const Mistake& mistake) const {
    for (std::size_t i = 0; i < excuses_.size(); ++i) {
        if (excuses_[i].check != mistake.check) continue;
        for (const std::uint32_t pc : {mistake.pc, mistake.other})
            if (names(excuses_[i], pc)) return i;
    }
    return std::nullopt;
}

void ClusterFindings::clear() {
    findings_.clear();
    places_.clear();
}

bool ClusterFindings::again(const Mistake& mistake, unsigned warp, std::uint32_t lanes) {
    const auto found = places_.find(mistake.key());
    if (found == places_.end()) return false;
    std::vector<std::uint32_t>& of = findings_[found->second].lanes;
    if (of.size() <= warp) of.resize(warp + 1);
    of[warp] |= lanes;
    return true;
}

void ClusterFindings::add(Finding finding, unsigned warp, std::uint32_t lanes) {
    places_.emplace(finding.mistake.key(), findings_.size());
    finding.lanes.resize(warp + 1);
    finding.lanes[warp] = lanes;
    findings_.push_back(std::move(finding));
}

void LaunchFindings::add(std::uint64_t cluster, Ended ended) {
    const std::scoped_lock lock(mutex_);
    ended_.emplace(cluster, std::move(ended));
    for (; !ended_.empty() && ended_.begin()->first == next_; ++next_) {
        fold(ended_.begin()->second);
        ended_.erase(ended_.begin());
    }
}

bool LaunchFindings::is_described(const Mistake& mistake, std::uint64_t cluster) {
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = described_.emplace(mistake.key(), cluster);
    if (!is_new && at->second < cluster) return true;
    at->second = cluster;
    return false;
}

void LaunchFindings::end() {
    for (auto& [cluster, ended] : ended_) fold(ended);
    ended_.clear();
}

void LaunchFindings::fold(Ended& ended) {
    if (is_over_) return;
    is_over_ = ended.is_last;
    for (ClusterFindings::Finding& finding : ended.findings) {
        const Mistake& mistake = finding.mistake;
        const auto [at, is_new] = places_.emplace(mistake.key(), findings_.size());
        Finding total;
        for (std::size_t first = 0; first < finding.lanes.size(); first += ended.warps_of_cta) {
            std::uint64_t threads = 0;
            for (std::size_t warp = first; warp < std::min(first + ended.warps_of_cta, finding.lanes.size());
                 ++warp)
                threads += static_cast<std::uint64_t>(std::popcount(finding.lanes[warp]));
            total.threads += threads;
            total.blocks += threads != 0 ? 1 : 0;
        }
        if (is_new) findings_.push_back({std::move(finding)});
        findings_[at->second].threads += total.threads;
        findings_[at->second].blocks += total.blocks;
    }
}

}  // namespace ptxgraft::emulator
