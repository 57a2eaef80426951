// The flags of the emulator's checks, and how a run tells what they found.

#include "checks.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number) {
    std::string text = fmt::format("{}", number);
    for (std::size_t at = text.size(); at > 3; text.insert(at, ",")) at -= 3;
    return text;
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string milliseconds(std::chrono::nanoseconds time) {
    const double value = static_cast<double>(time.count()) * 1e-6;
    return fmt::format("{:.{}f} ms", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

template <class T> T read(Expected<T> result, std::string_view option) {
    if (!result) fail_usage(fmt::format("{}: {}", option, message(result.error())));
    return std::move(*result);
}

Json as_json(const EmulatorFinding& finding, const std::string& ptx, const std::string& file) {
    Json row{{"file", file},
             {"check", finding.check ? Json(name(*finding.check)) : Json()},
             {"code", name(finding.error.code)},
             {"message", message(finding.error, ptx)},
             {"threads", finding.threads},
             {"blocks", finding.blocks}};
    if (!finding.error.span.known()) return row;
    const Position place = position(ptx, finding.error.span.begin);
    row.update({{"line", place.line}, {"column", place.column}});
    return row;
}

}  // namespace

void add_check_flags(CLI::App& verb, CheckFlags& flags) {
    CLI::Option* checks = verb.add_option("--checks", flags.checks,
                                          "What the emulator checks, a list of: races, unwritten, async, "
                                          "barriers, calls, heap; all (the default), none; "
                                          "-races: all but that; +equal_stores, +unwaited_stores: all, and "
                                          "what public kernels do");
    verb.add_flag(
            "--fast", flags.fast,
            "The same as --checks none: what is left is bounds, deadlocks and what else no GPU goes on from")
        ->excludes(checks);
    CLI::Option* keep_going =
        verb.add_option("--keep-going", flags.keep_going,
                        "List up to so many findings of the checks instead of ending at the first")
            ->check(CLI::Range(1u, 1'000'000u).description("COUNT"));
    verb.add_option("--excuse", flags.excuses,
                    "Do not report what a check finds on a line (repeatable): CHECK@LINE of the PTX, "
                    "CHECK@FILE:LINE of the source that its .loc name")
        ->take_all();
    verb.add_option("--findings", flags.findings_file,
                    "Write the findings to this file as JSON: file, line, column, check, code, message, "
                    "threads, blocks")
        ->needs(keep_going);
}

void set_checks(const CheckFlags& flags, EmulatorOptions& options) {
    if (!flags.checks.empty()) options.checks = read(parse_checks(flags.checks), "--checks");
    if (flags.fast) options.checks = EmulatorChecks::none();
    options.keep_going = flags.keep_going.value_or(0);
    for (const std::string& text : flags.excuses) {
        options.excuses.push_back(read(parse_excuse(text), "--excuse"));
        if (!options.checks.has(options.excuses.back().check))
            fail_usage(fmt::format("--excuse {}: that check is not on", text));
    }
}

void Findings::take(const Device& device) {
    report_ = device.take_report();
    if (!flags_.findings_file.empty()) write();
    std::string text;
    std::uint64_t listed = 0;
    for (const EmulatorFinding& finding : report_.findings) {
        if (!finding.check) continue;  // what ended a launch is told of by itself
        ++listed;
        Error error = finding.error;
        error.source.reset();
        text += describe(error, ptx_, ptx_name_);
        text += fmt::format("note: found by the check of {}, in {} of {}\n", name(*finding.check),
                            counted(finding.threads, "thread"), counted(finding.blocks, "block"));
    }
    if (report_.all_findings > listed)
        text += fmt::format("note: and {} more; --keep-going lists more\n",
                            counted(report_.all_findings - listed, "finding"));
    fmt::print(stderr, "{}", text);
}

Json Findings::rows() const {
    Json rows = Json::array();
    for (const EmulatorFinding& finding : report_.findings) rows.push_back(as_json(finding, ptx_, ptx_name_));
    return rows;
}

Json Findings::json() const {
    return {{"warp_instructions", report_.warp_instructions},
            {"thread_instructions", report_.thread_instructions},
            {"checks", names(report_.checks)},
            {"findings", rows()},
            {"all_findings", report_.all_findings}};
}

void Findings::write() const { cli::take(write_file(flags_.findings_file, json_text(rows()))); }

void Findings::finish(const Device& device, std::chrono::nanoseconds time) const {
    if (device.kind() != DeviceKind::emulator) return fmt::print(stderr, "ok: {}\n", milliseconds(time));
    for (std::size_t i = 0; i < report_.excused.size(); ++i)
        if (report_.excused[i] == 0)
            fmt::print(stderr, "note: --excuse {} excused nothing\n", flags_.excuses[i]);
    const std::string what =
        fmt::format("{} ({}) in {}, checked: {}", counted(report_.warp_instructions, "warp instruction"),
                    counted(report_.thread_instructions, "thread instruction"), milliseconds(time),
                    names(report_.checks));
    if (report_.all_findings != 0)
        throw Failure{fmt::format("error: {} in {}\n", counted(report_.all_findings, "finding"), what),
                      work_failed};
    fmt::print(stderr, "ok: {}\n", what);
}

}  // namespace ptxgraft::cli
