// ptxgraft roundtrip: parses PTX, prints it from the tree, and compares.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::cli {
namespace {

struct Tally {
    std::size_t files = 0, identical = 0, bytes = 0;
    double seconds = 0;
};

std::string first_difference(std::string_view file, std::string_view text, std::string_view printed) {
    const auto at = std::mismatch(text.begin(), text.end(), printed.begin(), printed.end()).first;
    const Position place = position(text, static_cast<std::uint32_t>(at - text.begin()));
    return fmt::format("{}:{}:{}: error: the print of the tree differs from the text from here on\n", file,
                       place.line, place.column);
}

// What is wrong with a file; empty when its print is identical.
std::string check(const std::string& path, Tally& tally) {
    const std::string file = display_name(path);
    const auto text = read_file(path);
    if (!text) return describe(text.error());
    const auto start = std::chrono::steady_clock::now();
    const auto module = syntax::parse(*text);
    const std::string printed = module ? syntax::print(*module) : std::string();
    tally.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    tally.bytes += text->size();
    if (!module) return describe(module.error(), *text, file);
    return printed == *text ? std::string() : first_difference(file, *text, printed);
}

struct RoundtripFlags {
    std::vector<std::string> files;
    bool json = false;
};

void roundtrip(const RoundtripFlags& options) {
    Tally tally;
    auto rows = Json::array();
    for (const std::string& path : options.files) {
        const std::string problem = check(path, tally);
        ++tally.files;
        tally.identical += problem.empty();
        fmt::print(stderr, "{}", problem);
        rows.push_back({{"file", display_name(path)}, {"identical", problem.empty()}});
    }
    const double speed = tally.seconds > 0 ? static_cast<double>(tally.bytes) / 1e6 / tally.seconds : 0;
    if (options.json)
        print_json({{"files", std::move(rows)},
                    {"identical", tally.identical},
                    {"bytes", tally.bytes},
                    {"megabytes_per_second", speed}});
    else
        fmt::print("{} files, {} identical, {:.1f} MB/s\n", tally.files, tally.identical, speed);
    if (tally.identical != tally.files) throw Failure{"", work_failed};
}

}  // namespace

void add_roundtrip(CLI::App& app) {
    CLI::App* verb = app.add_subcommand(
        "roundtrip", "Parse PTX files, print them from the tree, and compare byte for byte");
    const auto options = std::make_shared<RoundtripFlags>();
    verb->add_option("FILE", options->files, "PTX files")->required();
    verb->add_flag("--json", options->json,
                   "Print JSON: {\"files\": [{\"file\", \"identical\"}], \"identical\": COUNT, \"bytes\", "
                   "\"megabytes_per_second\"}");
    verb->callback([options] { roundtrip(*options); });
}

}  // namespace ptxgraft::cli
