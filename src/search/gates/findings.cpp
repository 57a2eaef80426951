// What a finding of measure/ is to a search.
#include "search/gates/findings.hpp"

#include <string_view>

namespace ptxgraft::search {

using measure::Finding;
using measure::TimingStatus;

Status status_of(Finding finding) {
    switch (finding) {
        case Finding::right: return Status::ok;
        case Finding::hang: return Status::timed_out;
        case Finding::fault:
        case Finding::device_lost:
        case Finding::crashed: return Status::crashed;
        case Finding::rejected: return Status::rejected;
        default: return Status::wrong;
    }
}

Status status_of(TimingStatus status) {
    switch (status) {
        case TimingStatus::ok: return Status::ok;
        case TimingStatus::noisy: return Status::noisy;
        case TimingStatus::impossible: return Status::impossible;
        case TimingStatus::wrong: return Status::wrong;
        case TimingStatus::failed: return Status::failed;
        case TimingStatus::rejected: return Status::rejected;
        case TimingStatus::hang: return Status::timed_out;
        case TimingStatus::device_lost:
        case TimingStatus::crashed: break;
    }
    return Status::crashed;
}

std::string detail_of(const measure::Check& check) {
    std::string text(measure::name(check.finding));
    if (check.error.code != Errc::ok) return text + ": " + message(check.error);
    if (check.finding != Finding::wrong) return text + ": " + check.tensor;
    return text + ": " + check.tensor + "[" + std::to_string(check.element) + "] is " +
           std::to_string(check.got) + ", not " + std::to_string(check.wanted);
}

}  // namespace ptxgraft::search
