// Reports of the emulator's checks in C.

#include <numeric>

#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;

ptxgraft_report::ptxgraft_report(EmulatorReport taken) : report(std::move(taken)) {
    for (const EmulatorFinding& finding : report.findings)
        findings.push_back({finding, capi::describe_error(finding.error),
                            finding.check ? std::string(name(*finding.check)) : std::string()});
}

extern "C" {

void ptxgraft_report_destroy(ptxgraft_report* report) { delete report; }

ptxgraft_status ptxgraft_report_get_info(ptxgraft_report_info* info, const ptxgraft_report* report) {
    return call({{info, "info"}, {report, "report"}}, [&] {
        const EmulatorReport& r = report->report;
        const auto excused = std::accumulate(r.excused.begin(), r.excused.end(), std::uint64_t{0});
        return capi::give_info(info, {sizeof(*info), r.warp_instructions, r.thread_instructions,
                                      r.all_findings, excused, report->findings.size()});
    });
}

size_t ptxgraft_report_get_finding_count(const ptxgraft_report* report) {
    return capi::get(report, "report", size_t{0}, [](const ptxgraft_report& r) { return r.findings.size(); });
}

ptxgraft_status ptxgraft_report_get_finding(ptxgraft_finding_info* info, const ptxgraft_report* report,
                                            size_t finding) {
    return call({{info, "info"}, {report, "report"}}, [&]() -> Expected<void> {
        if (auto valid = capi::check_index(finding, report->findings.size(), "finding"); !valid) return valid;
        const auto& [found, error, check] = report->findings[finding];
        return capi::give_info(info, {sizeof(*info), static_cast<ptxgraft_status>(found.error.code),
                                      error.place.line, error.place.column, !found.check, check.c_str(),
                                      error.message.c_str(), found.threads, found.blocks});
    });
}

}  // extern "C"
