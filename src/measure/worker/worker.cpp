// Starts workers and asks them, with deadlines for each phase. What is not as it should be ends a worker.

#include "measure/worker/worker.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/try.hpp"
#include "ptxgraft/version.h"

namespace ptxgraft::measure {
namespace {

using link::Patience;
using link::Wait;

// What is wrong with a process, without the words for one that assembles.
std::string trouble_of(const Error& error) { return error.detail ? *error.detail : message(error); }

tl::unexpected<Error> failed(std::string why) { return fail(Errc::measure_worker_failed, std::move(why)); }

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

// The variables of the caller's environment that have these names.
std::vector<std::string> environment_of(const std::vector<std::string>& names) {
    std::vector<std::string> kept{"CUDA_CACHE_DISABLE=1", "CUDA_MODULE_LOADING=EAGER"};
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
        const std::string_view variable = *at;
        if (std::ranges::find(names, variable.substr(0, variable.find('='))) != names.end())
            kept.emplace_back(variable);
    }
    return kept;
}

// A program that is no path is looked for by env, in the worker's own PATH.
Expected<std::vector<std::string>> command_of(const PoolOptions& options, const std::string& device) {
    std::vector<std::string> all = options.command;
    if (all.empty())
        all = {TRY(link::worker::find_program({}, "ptxgraft"))};
    else if (all.front().find('/') == std::string::npos)
        all.insert(all.begin(), "/usr/bin/env");
    for (std::string argument :
         {std::string("worker"), std::string("--device"), device, std::string("--memory"),
          std::to_string(options.memory_bytes), std::string("--seed"), std::to_string(options.check.seed),
          std::string("--seeds"), std::to_string(options.check.seeds), std::string("--launches"),
          std::to_string(options.check.launches), std::string("--instructions"),
          fmt::format("{}", options.check.instructions)})
        all.push_back(std::move(argument));
    return all;
}

}  // namespace

Expected<std::unique_ptr<Worker>> Worker::start(const PoolOptions& options, const std::string& device,
                                                const std::stop_token& stop) {
    auto command = command_of(options, device);
    if (!command) return failed(trouble_of(command.error()));
    auto partner = link::worker::Partner::start({.arguments = std::move(*command),
                                                 .environment = environment_of(options.environment),
                                                 .answers_by_output = true});
    if (!partner) return failed(trouble_of(partner.error()));
    std::unique_ptr<Worker> worker(new Worker(options, std::move(*partner)));
    TRY(worker->greet(stop));
    return worker;
}

Expected<void> Worker::greet(const std::stop_token& stop) {
    const auto came = next(Clock::now() + options_.deadlines.hello, stop);
    if (const Death* const death = std::get_if<Death>(&came))
        return failed("one that was starting " + death->how);
    const Frame& frame = std::get<Frame>(came);
    if (frame.header.kind != FrameKind::hello) return failed("it does not begin to speak as a worker does");
    info_ = TRY(decode_hello(frame.payload));
    if (info_.library != PTXGRAFT_VERSION_STRING)
        return failed(fmt::format("one is of ptxgraft {}, not {}", info_.library, PTXGRAFT_VERSION_STRING));
    return {};
}

bool Worker::has(std::uint64_t workload) const {
    return std::ranges::find(open_, workload, &Open::workload) != open_.end();
}
// The worker keeps the workloads that were used last, in the same order.
Opened Worker::use(std::uint64_t workload) {
    const auto at = std::ranges::find(open_, workload, &Open::workload);
    if (at == open_.end()) return {};
    std::rotate(at, at + 1, open_.end());
    return open_.back().opened;
}

Answer<Opened> Worker::open(std::uint64_t workload, std::string_view text, const std::stop_token& stop) {
    const auto payload = ask(encode(++last_id_, OpenRequest{workload, std::string(text)}), {},
                             options_.deadlines.open, options_.deadlines.open + time_of_check({}), stop);
    auto answer = read(payload, decode_opened);
    const auto* const opened = std::get_if<Expected<Opened>>(&answer);
    if (opened != nullptr && *opened) {
        if (open_.size() == most_open) open_.erase(open_.begin());
        open_.push_back({workload, **opened});
    }
    return answer;
}

Answer<Check> Worker::check(std::uint64_t workload, const VariantCode& variant) {
    const Opened opened = use(workload);
    const auto first = options_.deadlines.load;
    return read(ask(encode(++last_id_, workload, variant), opened, first, first + time_of_check(opened)),
                decode_checked);
}

Answer<Check> Worker::health(std::uint64_t workload) {
    const Opened opened = use(workload);
    const auto first = options_.deadlines.load;
    return read(
        ask(encode(++last_id_, HealthRequest{workload}), opened, first, first + time_of_check(opened)),
        decode_checked);
}

Answer<Timed> Worker::time(const TimeRequest& request) {
    has_timed_ = true;
    const Deadlines& deadlines = options_.deadlines;
    const auto whole = deadlines.open + deadlines.timing + request.variants.size() * deadlines.load;
    auto answer =
        read(ask(encode(++last_id_, request), use(request.workload), deadlines.load, whole), decode_timed);
    const auto* const timed = std::get_if<Expected<Timed>>(&answer);
    if (timed == nullptr || !*timed || (*timed)->report.variants.size() == request.variants.size()) {
        session_ = timed != nullptr && *timed ? (*timed)->session_id : 0;
        return answer;
    }
    partner_->close();
    partner_->kill();
    return Death{.how = "timed other variants than it was asked for"};
}

// However often it says that it goes on, there are only so many launches.
Worker::Clock::duration Worker::time_of_check(const Opened& opened) const {
    return (opened.launches + 1) * (time_of(FramePhase::launch, opened) + options_.deadlines.compare);
}

template <class T>
Answer<T> Worker::read(const std::variant<std::string, Death>& payload,
                       Expected<T> (*decode)(std::string_view)) {
    if (const Death* const death = std::get_if<Death>(&payload)) return *death;
    auto result = decode(std::get<std::string>(payload));
    if (result || result.error().code != Errc::frame_malformed) return result;
    partner_->close();
    partner_->kill();
    return Death{.how = "sent what means nothing: " + message(result.error())};
}

Worker::Clock::duration Worker::time_of(FramePhase phase, const Opened& opened) const {
    const Deadlines& deadlines = options_.deadlines;
    switch (phase) {
        case FramePhase::open:
        case FramePhase::session: return deadlines.open;
        case FramePhase::load: return deadlines.load;
        case FramePhase::compare: return deadlines.compare;
        case FramePhase::launch: break;
    }
    const std::chrono::duration<double> of_baseline(deadlines.baseline_launches * opened.seconds);
    return std::max<Clock::duration>(deadlines.launch,
                                     std::chrono::duration_cast<Clock::duration>(of_baseline));
}

std::variant<std::string, Death> Worker::ask(const std::string& request, const Opened& opened,
                                             Clock::duration first, Clock::duration whole,
                                             const std::stop_token& stop) {
    const std::uint64_t id = last_id_;
    const auto now = Clock::now(), last = now + whole;
    Clock::time_point end = now + first;
    if (const Wait waited = partner_->send(request, Patience(end, stop)); !partner_->is_open())
        return died(waited);
    for (ProgressFrame said;;) {
        auto came = next(std::min(end, last), stop);
        if (Death* const death = std::get_if<Death>(&came)) {
            death->has_begun = said.beat > 0;
            death->last = said;
            return std::move(*death);
        }
        Frame& frame = std::get<Frame>(came);
        if (frame.header.id != id) continue;  // an answer that came twice, or late
        if (frame.header.kind == FrameKind::result) return std::move(frame.payload);
        const auto progress = frame.header.kind == FrameKind::progress
                                  ? decode_progress(frame.payload)
                                  : fail(Errc::frame_malformed, "it is neither progress nor result");
        if (!progress) {
            partner_->close();
            partner_->kill();
            return Death{.has_begun = said.beat > 0,
                         .last = said,
                         .how = "sent what means nothing: " + message(progress.error())};
        }
        if (progress->beat > std::exchange(said, *progress).beat)
            end = Clock::now() + time_of(progress->phase, opened);
    }
}

std::variant<Worker::Frame, Death> Worker::next(Clock::time_point end, const std::stop_token& stop) {
    const Patience patience(end, stop);
    std::array<char, sizeof(FrameHeader)> bytes;
    Wait waited = partner_->receive(bytes.data(), bytes.size(), patience);
    if (!partner_->is_open()) return died(waited);
    Frame frame;
    const auto header = decode_header({bytes.data(), bytes.size()});
    if (header) waited = partner_->receive(frame.payload, (frame.header = *header).length, patience);
    if (!partner_->is_open()) return died(waited);
    if (header && header->kind != FrameKind::bye) return frame;
    const auto why = header ? decode_bye(frame.payload) : tl::unexpected(header.error());
    partner_->close();
    if (header && why) return Death{.how = "ended: " + one_line(*why)};
    partner_->kill();
    return Death{.how = "sent what means nothing: " + message(why.error())};
}

Death Worker::died(Wait waited) {
    if (waited == Wait::done)
        return {.how = "died: " + one_line(partner_->how_it_died(partner_->take_said()))};
    partner_->kill();
    return {.is_late = waited == Wait::late,
            .how = waited == Wait::late ? "did not answer in time" : "was stopped"};
}

}  // namespace ptxgraft::measure
