// The flags of traces and profiles, and the table that a profile is printed as.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "argument.hpp"
#include "observe.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

// The first line of an instruction, short enough for a table.
std::string shown(std::string_view text) {
    constexpr std::size_t most = 100;
    std::string line;
    for (const char c : text) {
        const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (!is_space)
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    return line.size() > most ? line.substr(0, most) + "…" : line;
}

std::string cost(std::uint64_t actual, std::uint64_t ideal) {
    return actual == 0 ? std::string("-") : fmt::format("{}/{}", actual, ideal);
}

std::string amount(std::uint64_t bytes) { return bytes == 0 ? std::string("-") : fmt::format("{}", bytes); }

void print(const EmulatorProfile& profile) {
    fmt::print("{:>6} {:>10} {:>6} {:>9} {:>17} {:>17} {:>11}  {}\n", "line", "warps", "lanes", "conflicts",
               "wavefronts/ideal", "sectors/ideal", "bytes", "instruction");
    std::uint64_t warps = 0, lanes = 0, shared = 0, global = 0;
    for (const ProfileLine& line : profile.lines()) {
        const std::string conflicts = line.wavefronts == 0 ? "-" : fmt::format("{}", line.bank_conflicts());
        fmt::print("{:>6} {:>10} {:>6.2f} {:>9} {:>17} {:>17} {:>11}  {}\n", line.line, line.warps,
                   line.average_lanes(), conflicts, cost(line.wavefronts, line.ideal_wavefronts),
                   cost(line.sectors, line.ideal_sectors), amount(line.shared_bytes + line.global_bytes),
                   shown(line.text));
    }
    fmt::print("\n{:>10} {:>12} {:>13} {:>13}  class\n", "warps", "threads", "shared bytes", "global bytes");
    for (const ProfileClass& one : profile.classes()) {
        fmt::print("{:>10} {:>12} {:>13} {:>13}  {}\n", one.warps, one.lanes, amount(one.shared_bytes),
                   amount(one.global_bytes), one.name);
        warps += one.warps;
        lanes += one.lanes;
        shared += one.shared_bytes;
        global += one.global_bytes;
    }
    fmt::print("{:>10} {:>12} {:>13} {:>13}  in all\n", warps, lanes, amount(shared), amount(global));
}

}  // namespace

void add_observe_flags(CLI::App& verb, ObserveFlags& flags) {
    CLI::Option* trace = verb.add_option(
        "--trace", flags.trace_file,
        "Write every instruction that the emulator executes to this file, with the values of its lanes");
    verb.add_option("--trace-cta", flags.trace_block, "Trace only this block: X, X,Y or XxYxZ")->needs(trace);
    verb.add_option("--trace-warp", flags.trace_warp, "Trace only this warp of a block")->needs(trace);
    verb.add_flag("--profile", flags.profile,
                  "Print what each PTX line cost on the emulator: executed warps, active lanes, bank "
                  "conflicts of shared memory, sectors of global memory, bytes; and by class");
}

Observation::Observation(const ObserveFlags& flags) : flags_(flags) {
    if (flags.trace_file.empty()) return;
    EmulatorTrace::Filter filter{.warp = flags.trace_warp};
    if (!flags.trace_block.empty()) {
        const auto block = parse_place(flags.trace_block);
        if (!block)
            fail_usage(
                fmt::format("--trace-cta: {} is no place of a block; X, X,Y or XxYxZ", flags.trace_block));
        filter.block = *block;
    }
    file_.reset(std::fopen(flags.trace_file.c_str(), "wb"));
    if (file_ == nullptr)
        throw Failure{fmt::format("error: cannot write {}: {}\n", flags.trace_file, std::strerror(errno)),
                      work_failed};
    trace_.emplace(filter, [this](std::string_view line) {
        has_traced_ = true;
        std::fwrite(line.data(), 1, line.size(), file_.get());
    });
}

EmulatorObserver* Observation::observer() { return flags_.any() ? this : nullptr; }

void Observation::step(const ObservedStep& step) {
    if (trace_) trace_->step(step);
    if (flags_.profile) profile_.step(step);
}

void Observation::finish() {
    if (file_ != nullptr && (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0))
        throw Failure{fmt::format("error: cannot write {}\n", flags_.trace_file), work_failed};
}

void Observation::print_profile() const { print(profile_); }

Json Observation::profile_json() const {
    Json lines = Json::array(), classes = Json::array();
    for (const ProfileLine& line : profile_.lines())
        lines.push_back({{"line", line.line},
                         {"instruction", line.text},
                         {"warps", line.warps},
                         {"lanes", line.lanes},
                         {"wavefronts", line.wavefronts},
                         {"ideal_wavefronts", line.ideal_wavefronts},
                         {"sectors", line.sectors},
                         {"ideal_sectors", line.ideal_sectors},
                         {"shared_bytes", line.shared_bytes},
                         {"global_bytes", line.global_bytes}});
    for (const ProfileClass& one : profile_.classes())
        classes.push_back({{"name", one.name},
                           {"warps", one.warps},
                           {"lanes", one.lanes},
                           {"shared_bytes", one.shared_bytes},
                           {"global_bytes", one.global_bytes}});
    return {{"lines", std::move(lines)}, {"classes", std::move(classes)}};
}

void Observation::require_traced() const {
    if (trace_ && !has_traced_)
        throw Failure{"error: nothing was traced: the launch has no such block, or no such warp\n",
                      work_failed};
}

}  // namespace ptxgraft::cli
