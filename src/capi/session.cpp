// Sessions of timing in C, and what paired times say.

#include <fmt/format.h>

#include <cmath>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/named.hpp"
#include "capi/objects.hpp"
#include "ptxgraft/measure/timing.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

struct ptxgraft_session {
    ptxgraft_session(measure::Checker made, measure::Session opened, double effect)
        : checker(std::move(made)), session(std::move(opened)), least_effect(effect) {}
    measure::Checker checker;
    measure::Session session;
    double least_effect;
    std::string moved = {};  // the last time that it was closed
    /// Its address is that of no other session, which its timings keep so.
    std::shared_ptr<const char> identity = std::make_shared<const char>();
};

struct ptxgraft_timings {
    std::shared_ptr<const char> session;  ///< the identity of theirs
    measure::Report report;
};

namespace {

static_assert(PTXGRAFT_SPEED_unsure == int(measure::Verdict::unsure));
static_assert(PTXGRAFT_TIER_final == int(measure::Tier::final_));
static_assert(PTXGRAFT_TIMED_device_lost == int(measure::TimingStatus::device_lost));
static_assert(PTXGRAFT_CLOCK_nvml == int(measure::ClockSource::nvml));

Expected<std::vector<double>> ratios_of(const double* first, const double* second, std::size_t count,
                                        const char* first_name, const char* second_name) {
    TRY(capi::check_list(first, count, first_name, "count"));
    TRY(capi::check_list(second, count, second_name, "count"));
    return measure::log_ratios(std::span(first, count), std::span(second, count));
}

Expected<void> give_calibration(ptxgraft_calibration_info* info, const measure::Calibration& c,
                                double least_effect, const char* moved) {
    return capi::give_info(
        info, {sizeof(*info), c.sigma, c.bias, c.p, c.milliseconds, least_effect, moved, c.rounds, 0});
}

Expected<measure::Protocol> protocol_of(const ptxgraft_session_options& given) {
    measure::Protocol made;
    made.seed = given.seed;
    made.calibration_rounds = given.calibration_rounds;
    made.alpha = given.alpha;
    made.least_effect = given.least_effect;
    made.separation = given.separation;
    made.most_sets = given.most_sets;
    made.operations_per_second = given.operations_per_second;
    made.lock_seconds = given.lock_seconds;
    made.own_processes = given.own_processes;
    if (given.nvml != nullptr) made.nvml = given.nvml;
    if (given.lock_folder != nullptr) made.lock_folder = given.lock_folder;
    return made;
}

Expected<std::vector<measure::Variant>> variants_of(const ptxgraft_kernel* const* kernels,
                                                    std::size_t count) {
    TRY(capi::check_list(kernels, count, "kernels", "count"));
    std::vector<measure::Variant> variants;
    for (std::size_t i = 0; i < count; ++i) {
        if (kernels[i] == nullptr) return capi::fail_at(i, fmt::format("kernels[{}] is null", i));
        variants.push_back({fmt::format("kernel {}", i), kernels[i]->kernel});
    }
    return variants;
}

Expected<void> check_timings(const ptxgraft_session& session, ptxgraft_timings* const* timings,
                             std::size_t count) {
    TRY(capi::check_list(timings, count, "timings", "count"));
    for (std::size_t i = 0; i < count; ++i) {
        if (timings[i] == nullptr) return capi::fail_at(i, fmt::format("timings[{}] is null", i));
        if (timings[i]->session != session.identity)
            return capi::fail_at(i, fmt::format("timings[{}] are of another session", i));
    }
    return {};
}

ptxgraft_timing_info info_of(const measure::VariantTiming& one) {
    ptxgraft_timing_info made = PTXGRAFT_TIMING_INFO_INIT;
    made.message = one.why.c_str();
    made.ratio = one.comparison.ratio;
    made.low = one.comparison.low;
    made.high = one.comparison.high;
    made.median = one.comparison.median;
    made.p = one.comparison.p;
    made.superiority = one.comparison.superiority;
    made.ratio_in_cycles = one.comparison.ratio_in_cycles;
    made.milliseconds = one.milliseconds;
    made.cold_milliseconds = one.cold_milliseconds;
    made.rounds = one.comparison.rounds;
    made.speed = static_cast<ptxgraft_speed>(one.comparison.verdict);
    made.ending = static_cast<ptxgraft_timed>(one.status);
    made.is_promising = one.is_promising;
    return made;
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_times_compare(ptxgraft_speed_info* info, const double* baseline,
                                       const double* kernel, size_t count,
                                       const ptxgraft_speed_options* options) {
    return call({{info, "info"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        const auto rounds = TRY(ratios_of(baseline, kernel, count, "baseline", "kernel"));
        const auto found = TRY(measure::compare(
            rounds, {},
            {.alpha = given.alpha, .least_effect = given.least_effect, .separation = given.separation}));
        return capi::give_info(info,
                               {sizeof(*info), found.ratio, found.low, found.high, found.median, found.p,
                                found.superiority, found.rounds, static_cast<ptxgraft_speed>(found.verdict)});
    });
}

ptxgraft_status ptxgraft_times_calibrate(ptxgraft_calibration_info* info, const double* first,
                                         const double* second, size_t count) {
    return call({{info, "info"}}, [&]() -> Expected<void> {
        const auto rounds = TRY(ratios_of(first, second, count, "first", "second"));
        std::vector<double> milliseconds;
        for (std::size_t i = 0; i < count; ++i)
            milliseconds.push_back(std::sqrt(first[i]) * std::sqrt(second[i]));
        const auto found = TRY(measure::calibrate(rounds, milliseconds));
        return give_calibration(info, found, found.least_effect(), "");
    });
}

ptxgraft_status ptxgraft_session_open(ptxgraft_session** session, const ptxgraft_device* device,
                                      const char* workload, size_t size,
                                      const ptxgraft_session_options* options) {
    return call({{session, "session"}, {device, "device"}, {workload, "workload"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        const auto protocol = TRY(protocol_of(given));
        const auto text = TRY(capi::text_at(workload, size));
        const auto read = TRY(capi::with_source(measure::Workload::parse(text), text, "workload"));
        auto checker = TRY(measure::Checker::open(read, device->device));
        auto opened = TRY(measure::Session::open(checker, protocol));
        *session = new ptxgraft_session(std::move(checker), std::move(opened), protocol.least_effect);
        return {};
    });
}

void ptxgraft_session_destroy(ptxgraft_session* session) { delete session; }

ptxgraft_status ptxgraft_skeleton_create_from_session(ptxgraft_skeleton** skeleton,
                                                      const ptxgraft_session* session) {
    return call({{skeleton, "skeleton"}, {session, "session"}},
                [&] { return capi::give_skeleton(skeleton, session->checker.skeleton()); });
}

ptxgraft_status ptxgraft_session_get_info(ptxgraft_session_info* info, const ptxgraft_session* session) {
    return call({{info, "info"}, {session, "session"}}, [&] {
        const measure::SessionFacts& f = session->session.facts();
        return capi::give_info(
            info, {sizeof(*info), f.event_milliseconds, f.roofline_milliseconds, f.set_bytes, f.flush_bytes,
                   f.sets, f.batch, f.is_shared, static_cast<ptxgraft_clock>(f.clock)});
    });
}

ptxgraft_status ptxgraft_session_get_calibration(ptxgraft_calibration_info* info,
                                                 const ptxgraft_session* session) {
    return call({{info, "info"}, {session, "session"}}, [&] {
        const measure::Calibration& c = session->session.facts().calibration;
        return give_calibration(info, c, c.least_effect(session->least_effect), "");
    });
}

ptxgraft_status ptxgraft_timings_create(ptxgraft_timings** timings, ptxgraft_session* session,
                                        const ptxgraft_kernel* const* kernels, size_t count,
                                        const ptxgraft_timings_options* options) {
    return call({{timings, "timings"}, {session, "session"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        TRY(capi::check_enumerators({{"tier", given.tier, PTXGRAFT_TIER_final}}));
        const auto variants = TRY(variants_of(kernels, count));
        auto report = TRY(session->session.compare(
            variants, {.tier = static_cast<measure::Tier>(given.tier), .rounds = given.rounds}));
        *timings = new ptxgraft_timings{session->identity, std::move(report)};
        return {};
    });
}

void ptxgraft_timings_destroy(ptxgraft_timings* timings) { delete timings; }

size_t ptxgraft_timings_get_count(const ptxgraft_timings* timings) {
    return get(timings, "timings", size_t{0},
               [](const ptxgraft_timings& t) { return t.report.variants.size(); });
}

ptxgraft_status ptxgraft_timings_get(ptxgraft_timing_info* info, const ptxgraft_timings* timings,
                                     size_t kernel) {
    return call({{info, "info"}, {timings, "timings"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(kernel, timings->report.variants.size(), "kernel"));
        return capi::give_info(info, info_of(timings->report.variants[kernel]));
    });
}

ptxgraft_status ptxgraft_timings_get_rounds(ptxgraft_round_info* info, const ptxgraft_timings* timings) {
    return call({{info, "info"}, {timings, "timings"}}, [&] {
        const measure::Report& r = timings->report;
        return capi::give_info(info, {sizeof(*info), r.baseline_milliseconds, r.baseline_cold_milliseconds,
                                      r.least_effect, r.rounds, r.noisy_rounds, r.is_shared, 0});
    });
}

ptxgraft_status ptxgraft_session_close(ptxgraft_calibration_info* info, ptxgraft_session* session,
                                       ptxgraft_timings* const* timings, size_t count) {
    return call({{info, "info"}, {session, "session"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(info));
        TRY(check_timings(*session, timings, count));
        const auto closing = TRY(session->session.close());
        session->moved = closing.moved;
        for (std::size_t i = 0; i < count; ++i) measure::mark(timings[i]->report, closing);
        const measure::Calibration& c = closing.calibration;
        return give_calibration(info, c, c.least_effect(session->least_effect), session->moved.c_str());
    });
}

}  // extern "C"
