// ptxgraft verify: everything that is wrong in PTX, a line each.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::cli {
namespace {

struct VerifyFlags {
    std::vector<std::string> files;
    std::string target;
    bool json = false, manual_order = false;
};

// The positions of ascending offsets, in one walk over the text.
class Positions {
  public:
    explicit Positions(std::string_view text) : text_(text) {}
    Position of(std::uint32_t offset) {
        const std::size_t end = std::min<std::size_t>(offset, text_.size());
        for (; at_ < end; ++at_)
            if (text_[at_] == '\n') {
                ++line_;
                line_begin_ = at_ + 1;
            }
        return {line_, static_cast<std::uint32_t>(end - line_begin_ + 1)};
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0, line_begin_ = 0;
    std::uint32_t line_ = 1;
};

// The findings in a text, in its order.
std::vector<Error> findings(const std::string& text, const VerifyFlags& options) {
    auto parsed = syntax::parse_all(text);
    if (!parsed) return {parsed.error()};
    std::vector<Error> all = std::move(parsed->errors);
    for (Error& error : isa::verify(parsed->module, {options.target, options.manual_order}))
        all.push_back(std::move(error));
    std::stable_sort(all.begin(), all.end(),
                     [](const Error& a, const Error& b) { return a.span.begin < b.span.begin; });
    return all;
}

Json as_json(const Error& error, const std::string& file, std::optional<Position> place,
             std::string_view text) {
    Json row{{"file", file}, {"code", name(error.code)}, {"message", message(error, text)}};
    if (place) row.update({{"line", place->line}, {"column", place->column}});
    return row;
}

void verify(const VerifyFlags& options) {
    bool all_right = true;
    auto rows = Json::array();
    for (const std::string& path : options.files) {
        const std::string file = display_name(path);
        const auto read = read_file(path);
        if (!read) {
            fmt::print(stderr, "{}", describe(read.error()));
            all_right = false;
            continue;
        }
        const std::string& text = *read;
        const std::vector<Error> found = findings(text, options);
        all_right &= found.empty();
        if (found.empty() && !options.json) fmt::print("{}: ok\n", file);
        Positions positions(text);
        for (const Error& error : found) {
            const auto place =
                error.span.known() ? std::optional(positions.of(error.span.begin)) : std::nullopt;
            if (options.json)
                rows.push_back(as_json(error, file, place, text));
            else if (place)
                fmt::print("{}:{}:{}: error: {}\n", file, place->line, place->column, message(error, text));
            else
                fmt::print("{}: error: {}\n", file, message(error, text));
        }
    }
    if (options.json) print_json(rows);
    if (!all_right) throw Failure{"", work_failed};
}

}  // namespace

void add_verify(CLI::App& app) {
    CLI::App* verb =
        app.add_subcommand("verify", "Check PTX as ptxas would, and report everything that is wrong");
    const auto options = std::make_shared<VerifyFlags>();
    verb->add_option("FILE", options->files, "PTX files")->required();
    add_target_flag(*verb, options->target,
                    "Check for this architecture (sm_100a), not for the module's own");
    verb->add_flag("--json", options->json, "An array of findings: file, line, column, code, message");
    verb->add_flag("--manual-order", options->manual_order,
                   "Report modifiers out of the manual's order, which ptxas takes");
    verb->callback([options] { verify(*options); });
}

}  // namespace ptxgraft::cli
