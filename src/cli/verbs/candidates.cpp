// Candidates as JSON lines: read, made in parts of a thousand, and reported in their order.

#include "candidates.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "cli/interrupt.hpp"
#include "cli/print_json.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/expression.hpp"

namespace ptxgraft::cli {
namespace {

namespace fs = std::filesystem;

// Why a candidate has no machine code, and where that stands: in the text of the error, or in `text`, which
// is what `what` says, and whose first line has that number.
struct Problem {
    Error error;
    std::string site = {}, what = {}, text = {};
    std::size_t first_line = 1;
};

Json json_of(std::size_t index, const Problem& problem) {
    Json json{{"index", index}};
    json.update(error_json(problem.error, problem.text, problem.what));
    if (!problem.site.empty()) json["site"] = problem.site;
    // Of machine code: a text that nobody has seen, but for the stub.
    if (const Error& error = problem.error; error.source && error.span.known())
        if (const auto place = find_stub_place(error.source->text, error.span.begin))
            json.update({{"site", place->site}, {"stub_line", place->line}});
    if (!problem.error.source && json.contains("line"))
        json["line"] = json["line"].get<std::size_t>() + problem.first_line - 1;
    return json;
}

// What whoever loads the machine code writes there, eight bytes for each.
Json json_of(const std::vector<ConstantBank>& banks) {
    Json all = Json::array();
    for (const ConstantBank& bank : banks) {
        Json values = Json::array();
        for (const std::uint64_t bits : bank.stub.constants()) values.push_back(fmt::format("{:#x}", bits));
        all.push_back({{"site", bank.site}, {"variable", bank.variable}, {"values", std::move(values)}});
    }
    return all;
}

// Whether a function is another variant's, in one module with that of `suffix`: it ends so but for the
// number.
bool is_of_another(std::string_view function, std::string_view suffix) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t number = suffix.find_last_not_of(digits) + 1;  // behind what separates it
    if (function.ends_with(suffix) || suffix.empty()) return false;
    const std::size_t end = function.find_last_not_of(digits) + 1;
    return end < function.size() && function.substr(0, end).ends_with(suffix.substr(0, number));
}

Json json_of(const MachineCode& code) {
    const Cubin& cubin = *code.cubin;
    Json json = Json::object();
    if (code.routes.size() == 1) {  // of several sites `routes` has them
        json["route"] = name(code.routes[0].route);
        json["reason"] = code.routes[0].reason;
    }
    const bool is_linked = std::ranges::any_of(
        code.routes, [](const RouteChoice& choice) { return choice.route == Route::link; });
    std::uint32_t registers = 0, spills = 0, stack = 0;
    std::uint64_t bytes = 0;
    Json functions = Json::array();
    for (const FunctionUsage& f : cubin.functions) {
        if (is_of_another(f.name, code.suffix)) continue;
        if (f.is_entry) registers = std::max(registers, f.registers);
        stack = std::max(stack, f.stack_bytes);
        spills += f.spill_store_bytes + f.spill_load_bytes;
        if (f.is_entry || is_linked) bytes += f.code_bytes;  // an entry has its copies of what it calls
        functions.push_back({{"name", f.name},
                             {"entry", f.is_entry},
                             {"registers", f.registers},
                             {"spill_store_bytes", f.spill_store_bytes},
                             {"spill_load_bytes", f.spill_load_bytes},
                             {"stack_bytes", f.stack_bytes},
                             {"shared_bytes", f.shared_bytes},
                             {"constant_bytes", f.constant_bytes},
                             {"parameter_bytes", f.parameter_bytes},
                             {"barriers", f.barriers},
                             {"code_bytes", f.code_bytes}});
    }
    json["registers"] = registers;
    json["spills"] = spills;
    json["stack_bytes"] = stack;
    json["code_bytes"] = bytes;
    json["constant_bytes"] = cubin.constant_bytes;
    json["cubin_bytes"] = cubin.image.size();
    json["assembler"] = cubin.assembler;
    Json losses = Json::array();
    for (const PerformanceLoss& loss : cubin.losses)
        losses.push_back({{"code", loss.code}, {"message", loss.message}});
    if (!losses.empty()) json["losses"] = std::move(losses);
    json["ms"] = {
        {"render", code.times.render}, {"assemble", code.times.assemble}, {"link", code.times.link}};
    json["cached"] = code.from != CacheLevel::none;
    if (!code.suffix.empty()) json["suffix"] = code.suffix;
    if (!code.banks.empty()) json["constants"] = json_of(code.banks);
    json["routes"] = routes_json(code.routes);
    json["functions"] = std::move(functions);
    return json;
}

// A line of the list, for what is wrong with it.
struct Line {
    const std::string& text;
    std::size_t number;
    const std::string& list;

    // The problem, at a site's name where it stands there.
    [[nodiscard]] tl::unexpected<Problem> wrong(Error error, const std::string& site = {}) const {
        const std::size_t found = site.empty() ? text.npos : text.find(Json(site).dump());
        const auto begin = static_cast<std::uint32_t>(found == text.npos ? 0 : found);
        if (!error.span.known()) error.span = {begin, begin + 1};
        return tl::unexpected(Problem{std::move(error), site, list, text + "\n", number});
    }
};

// A stub for a site: a stack program as a string, or {"program": …}, {"expr": …}, {"stub": FILE}.
tl::expected<Stub, Problem> filling_of(const Site& site, const Json& value, stack::Constants constants,
                                       const Line& line) {
    const auto problem = [&](Error error, std::string what, std::string text) {
        return tl::unexpected(Problem{std::move(error), site.name, std::move(what), std::move(text)});
    };
    const bool is_object = value.is_object() && value.size() == 1 && value.begin()->is_string();
    const std::string kind = value.is_string() ? "program" : is_object ? value.begin().key() : std::string();
    if (kind != "program" && kind != "expr" && kind != "stub")
        return line.wrong(
            fail(Errc::argument_invalid,
                 fmt::format("the stub of site {} is a string, a stack program, or an object with one "
                             "of \"program\", \"expr\" and \"stub\"",
                             site.name))
                .value(),
            site.name);
    const std::string text = value.is_string() ? value.get<std::string>() : value.begin()->get<std::string>();
    if (kind == "stub") {
        if (text == "-")
            return line.wrong(fail(Errc::argument_invalid, "\"stub\" is the path of a file").value(),
                              site.name);
        auto file = read_file(text);
        if (!file) return line.wrong(file.error(), site.name);
        auto stub = is_ptx_file(text)
                        ? Stub::from_ptx(*file, site)
                        : stub_of(StubKind::file, *file, site, constants, stack::Leftover::allow);
        if (!stub) return problem(stub.error(), text, std::move(*file));
        return std::move(*stub);
    }
    auto stub = stub_of(kind == "expr" ? StubKind::expression : StubKind::program, text, site, constants,
                        stack::Leftover::error);
    if (!stub) return problem(stub.error(), kind, text);
    return std::move(*stub);
}

// The sites of a line and their stubs; a site that stands twice is in `twice`.
Json parse_line(const std::string& line, std::string& twice) {
    std::set<std::string> names;
    return Json::parse(line, [&](int depth, Json::parse_event_t event, Json& key) {
        if (event == Json::parse_event_t::key && depth == 1 && !names.insert(key.get<std::string>()).second)
            twice = key.get<std::string>();
        return true;
    });
}

tl::expected<std::vector<Graft>, Problem> candidate_of(const Skeleton& skeleton, const Line& line,
                                                       stack::Constants constants) {
    const auto at_byte = [&](std::size_t at, std::string_view what) {
        const auto begin = static_cast<std::uint32_t>(std::min(at, line.text.size()));
        return line.wrong(
            fail(Errc::argument_invalid, Span{begin, begin + 1}, fmt::format("this is no {}", what)).value());
    };
    Json json;
    std::string twice;
    try {
        json = parse_line(line.text, twice);
    } catch (const Json::parse_error& error) {
        return at_byte(std::max<std::size_t>(error.byte, 1) - 1, "JSON");
    }
    if (!json.is_object()) return at_byte(0, "object of sites and their stubs");
    if (!twice.empty()) return line.wrong(fail(Errc::site_filled_twice, twice).value(), twice);
    std::vector<Graft> grafts;
    for (const auto& [name, value] : json.items()) {
        const auto site = skeleton.find_site(name);
        if (!site) return line.wrong(site.error(), name);
        auto stub = filling_of(**site, value, constants, line);
        if (!stub) return tl::unexpected(std::move(stub.error()));
        grafts.emplace_back(name, std::move(*stub));
    }
    return grafts;
}

// Lines in the order of their candidates, as soon as all before them are there; and the machine code.
class Report {
  public:
    Report(const CandidateFlags& flags) : folder_(flags.folder), path_(flags.report) {
        if (!folder_.empty()) {
            std::error_code error;
            fs::create_directories(folder_, error);
            if (!fs::is_directory(folder_)) fail_work(fail(Errc::file_not_writable, folder_).value());
        }
        if (path_.empty() || path_ == "-") return;
        file_.open(path_, std::ios::binary | std::ios::trunc);
        if (!file_) fail_work(fail(Errc::file_not_writable, path_).value());
    }
    void add(std::size_t index, const Problem& problem) {
        ++errors_;
        put(index, json_line(json_of(index, problem)));
    }
    // It was not done because of a signal.
    void stop(std::size_t index, const Problem& problem) {
        add(index, problem);
        --done_, --errors_;
    }
    void add(std::size_t index, const MachineCode& code) {
        Json json{{"index", index}};
        json.update(json_of(code));
        if (!folder_.empty()) {
            const auto path = write(index, code);
            if (!path) {
                if (!unwritten_) unwritten_ = path.error();
                return add(index, Problem{path.error()});
            }
            json["file"] = *path;
        }
        cached_ += code.from != CacheLevel::none;
        put(index, json_line(json));
    }
    // A full disk, or a reader that went away.
    void check() {
        if (unwritten_) fail_work(*unwritten_);
        if (!stream()) fail_work(fail(Errc::file_not_writable, path_.empty() ? "-" : path_).value());
    }
    [[nodiscard]] std::size_t done() const { return done_; }
    [[nodiscard]] std::size_t errors() const { return errors_; }
    [[nodiscard]] std::size_t cached() const { return cached_; }

  private:
    // Of a module of several variants there is one file, by the number of the first that came.
    Expected<std::string> write(std::size_t index, const MachineCode& code) {
        const bool is_shared = !code.suffix.empty();
        if (const auto found = shared_.find(code.cubin); is_shared && found != shared_.end())
            return found->second;
        const std::string path = (fs::path(folder_) / fmt::format("{}.cubin", index)).string();
        const auto& image = code.cubin->image;
        TRY(write_file(path, std::string(reinterpret_cast<const char*>(image.data()), image.size())));
        if (is_shared) shared_.emplace(code.cubin, path);
        return path;
    }
    std::ostream& stream() { return file_.is_open() ? static_cast<std::ostream&>(file_) : std::cout; }
    void put(std::size_t index, std::string line) {
        ++done_;
        waiting_.emplace(index, std::move(line));
        for (auto next = waiting_.begin(); next != waiting_.end() && next->first == next_;
             next = waiting_.erase(next), ++next_)
            stream() << next->second << '\n' << std::flush;  // somebody may wait for it
    }

    std::string folder_, path_;
    std::ofstream file_;
    std::map<std::size_t, std::string> waiting_;
    std::map<std::weak_ptr<const Cubin>, std::string, std::owner_less<>> shared_;
    std::optional<Error> unwritten_;  // the first machine code that has no file
    std::size_t next_ = 0, done_ = 0, errors_ = 0, cached_ = 0;
};

// A line on a terminal, for work of more than a second.
class Progress {
  public:
    Progress(const Report& report, std::size_t count)
        : report_(report), count_(count), is_shown_(isatty(2) != 0) {}
    ~Progress() {
        if (is_begun_) fmt::print(stderr, "\r\x1b[K");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void show() {
        const auto now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - begin_).count();
        if (!is_shown_ || seconds < 1 || now - last_ < std::chrono::milliseconds(100)) return;
        last_ = now;
        is_begun_ = true;
        constexpr std::size_t width = 30;
        const std::size_t full = count_ == 0 ? width : report_.done() * width / count_;
        fmt::print(stderr, "\r[{:#<{}}{: <{}}] {}/{}, {} failed, {} kept, {:.0f}/s\x1b[K", "", full, "",
                   width - full, report_.done(), count_, report_.errors(), report_.cached(),
                   static_cast<double>(report_.done()) / seconds);
        std::fflush(stderr);
    }

  private:
    using Clock = std::chrono::steady_clock;
    const Report& report_;
    std::size_t count_;
    bool is_shown_, is_begun_ = false;
    Clock::time_point begin_ = Clock::now(), last_ = {};
};

bool is_stopped(const Error& error, const Stopper& stopper) {
    return stopper.came() && (error.code == Errc::work_stopped || error.code == Errc::assembler_ended);
}

constexpr std::size_t candidates_per_part = 1024;

}  // namespace

std::string report_of(const MachineCode& code) { return json_line(json_of(code)); }

void make_candidates(const Input& input, const CandidateFlags& flags, const GraftOptions& options) {
    const std::vector<std::string> lines = lines_of(take(read_file(flags.list)));
    if (std::error_code none; fs::equivalent(flags.list, flags.report, none))
        fail_usage("--report would replace the list of --candidates");
    Report report(flags);
    const Stopper stopper;
    GraftOptions with_stop = options;
    with_stop.assemble.stop = stopper.token();
    const std::string list = display_name(flags.list);
    Progress progress(report, lines.size());
    for (std::size_t first = 0; first < lines.size() && !stopper.came(); first += candidates_per_part) {
        std::vector<std::vector<Graft>> candidates;
        std::vector<std::size_t> indices;
        const std::size_t last = std::min(first + candidates_per_part, lines.size());
        for (std::size_t i = first; i < last; ++i) {
            auto candidate = candidate_of(input.skeleton, {lines[i], i + 1, list}, flags.constants);
            if (!candidate) {
                report.add(i, candidate.error());
                continue;
            }
            candidates.push_back(std::move(*candidate));
            indices.push_back(i);
        }
        const ManyOptions many{
            .threads = flags.jobs, .stop = stopper.token(), .variants_per_module = flags.variants_per_module};
        (void)input.skeleton.assemble_many(candidates, with_stop, many,
                                           [&](std::size_t k, const Expected<MachineCode>& result) {
                                               if (result)
                                                   report.add(indices[k], *result);
                                               else if (is_stopped(result.error(), stopper))
                                                   report.stop(indices[k], Problem{result.error()});
                                               else
                                                   report.add(indices[k], Problem{result.error()});
                                               progress.show();
                                           });
        report.check();
    }
    if (stopper.came())
        throw Interrupt::failure(
            fmt::format(": {} of {} candidates are done\n", report.done(), lines.size()));
}

}  // namespace ptxgraft::cli
