// ptxgraft graft: stubs into a skeleton, out as PTX or machine code.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/keep_memory.hpp"
#include "candidates.hpp"
#include "cli/interrupt.hpp"
#include "cli/print_json.hpp"
#include "cli/skeleton_input.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/worker.hpp"

namespace ptxgraft::cli {
namespace {

struct GraftVerbFlags {
    std::string file, output = "-", report;
    CudaFlags cuda;
    StubFlags stubs;
    CandidateFlags candidates;
    std::string assembler;
    std::optional<std::uint32_t> timeout_ms;  // of the assembler
    std::vector<std::string> limits;
    bool allow_performance_loss = false;
};

// A line for each function, as far as the assembler tells it.
std::string usage_lines(const std::string& output, const Cubin& cubin) {
    std::string lines;
    for (const FunctionUsage& f : cubin.functions)
        lines += fmt::format(
            "{}: {}: {} registers, {} bytes of code, {} of shared memory, {} of stack, {} of spills\n",
            output, f.name, f.registers, f.code_bytes, f.shared_bytes, f.stack_bytes,
            f.spill_store_bytes + f.spill_load_bytes);
    return lines;
}

bool uses(const RouteOptions& options, Route route) {
    return options.route == route ||
           std::ranges::any_of(options.sites, [&](const auto& row) { return row.second == route; });
}

AssembleLimits limits_of(const std::vector<std::string>& texts) {
    AssembleLimits limits;
    const std::pair<std::string_view, std::optional<std::uint32_t>*> rows[] = {
        {"registers", &limits.registers},
        {"spills", &limits.spill_bytes},
        {"stack", &limits.stack_bytes},
        {"code", &limits.code_bytes}};
    for (const std::string& text : texts) {
        const NamedValue given = split_named("--limit", text);
        const auto* const row = std::ranges::find(rows, given.name, [](const auto& r) { return r.first; });
        if (row == std::end(rows)) fail_usage("--limit takes registers=N, spills=N, stack=N or code=N");
        std::uint32_t number = 0;
        const char* const end = given.value.data() + given.value.size();
        const auto [at, error] = std::from_chars(given.value.data(), end, number);
        if (error != std::errc() || at != end) fail_usage(fmt::format("'{}' is no number", given.value));
        if (*row->second) fail_usage(fmt::format("--limit {} stands twice", given.name));
        *row->second = number;
    }
    return limits;
}

GraftOptions options_of(const GraftVerbFlags& flags) {
    GraftOptions options;
    options.assemble.target = flags.cuda.target;
    options.assemble.allow_performance_loss = flags.allow_performance_loss;
    options.assemble.limits = limits_of(flags.limits);
    options.routes = route_options(flags.stubs);
    return options;
}

// The one that is named, with the timeout that is said.
std::shared_ptr<const Assembler> named_assembler(const GraftVerbFlags& flags) {
    std::optional<std::chrono::milliseconds> timeout;
    if (flags.timeout_ms) timeout = std::chrono::milliseconds(*flags.timeout_ms);
    auto assembler = find_assembler(flags.assembler, timeout);
    if (!assembler && assembler.error().code == Errc::argument_invalid)
        fail_usage("--timeout: " + message(assembler.error(), {}));
    return take(std::move(assembler));
}

// In a process of its own unless one is named: a module that takes the assembler down is an error, not the
// end of the program. Without the worker's program, in process.
std::shared_ptr<const Assembler> assembler_of_one(const GraftVerbFlags& flags) {
    if (!flags.assembler.empty()) return named_assembler(flags);
    constexpr std::chrono::milliseconds no_limit = std::chrono::hours(24 * 365);
    const std::chrono::milliseconds said(flags.timeout_ms.value_or(0));
    auto pool = worker_pool({.workers = 1, .timeout = flags.timeout_ms ? said : no_limit, .memory_bytes = 0});
    if (!pool && pool.error().code == Errc::assembler_not_usable && !flags.timeout_ms)
        return take(find_assembler(flags.assembler));
    return take(std::move(pool));
}

// What takes an assembler down is most often PTX that is wrong where ptxas does not look.
void print_findings(const Input& input, std::span<const Graft> grafts) {
    const auto ptx = input.skeleton.render(grafts);
    if (!ptx) return;
    const auto module = syntax::parse(*ptx);
    if (!module) return;
    for (const Error& finding : isa::verify(*module))
        fmt::print(stderr, "{}", describe(finding, *ptx, input.ptx_name(grafts.size())));
}

void write_cubin(const Input& input, std::span<const Graft> grafts, const GraftVerbFlags& flags,
                 const std::optional<Cache>& cache) {
    const auto assembler = assembler_of_one(flags);
    std::optional<Stopper> stopper;  // of what can be stopped
    if (assembler->is_other_process()) stopper.emplace();
    GraftOptions options = options_of(flags);
    options.assembler = assembler.get();
    options.cache = cache ? &*cache : nullptr;
    if (stopper) options.assemble.stop = stopper->token();
    auto code = input.skeleton.assemble(grafts, options);
    if (!code && stopper && stopper->came()) throw Interrupt::failure();
    if (!code) {
        Error error = code.error();
        if (error.code == Errc::assembler_ended) print_findings(input, grafts);
        if (error.source &&
            error.source->name != "stubs.ptx")  // the candidate's text, by the name of its file
            error.source = std::make_shared<const SourceText>(
                SourceText{input.ptx_name(grafts.size()), error.source->text});
        fail_work(error, error.source ? error.source->text : input.skeleton.ptx(),
                  input.ptx_name(grafts.size()));
    }
    const Cubin& cubin = *code->cubin;
    const std::string output = display_name(flags.output);
    if (flags.report != "-") {
        print_routes(flags.stubs, code->routes);
        fmt::print(stderr, "{}: assembled by {}\n{}", output, cubin.assembler, usage_lines(output, cubin));
        for (const ConstantBank& bank : code->banks)
            fmt::print(stderr, "{}: constants of {}, {} times 8 bytes, are to be written to {}\n", output,
                       bank.site, bank.stub.constants().size(), bank.variable);
    }
    take(write_file(flags.output, {reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()}));
    if (!flags.report.empty()) take(write_file(flags.report, report_of(*code) + "\n"));
}

void write_ptx(const Input& input, std::span<const Graft> grafts, const GraftVerbFlags& flags) {
    const RouteOptions wanted = route_options(flags.stubs);
    if (uses(wanted, Route::link))
        fail_usage(
            "the link route makes machine code only: -o OUT.cubin; as PTX its stubs are those of call");
    if (!flags.assembler.empty() || flags.timeout_ms || !flags.limits.empty() || flags.allow_performance_loss)
        fail_usage(
            "--assembler, --timeout, --limit and --allow-performance-loss are of machine code: -o OUT.cubin");
    const auto [ptx, routes] =
        take(input.skeleton.render_by(grafts, wanted), input.skeleton.ptx(), input.ptx_name(0));
    if (flags.report != "-") print_routes(flags.stubs, routes);
    take(write_file(flags.output, ptx));
    if (!flags.report.empty())
        take(write_file(
            flags.report,
            json_line({{"target", input.skeleton.target()}, {"routes", routes_json(routes)}}) + "\n"));
}

// In processes of their own unless somebody is named: what hangs or explodes is one candidate's error.
std::shared_ptr<const Assembler> assembler_of_many(const GraftVerbFlags& flags) {
    constexpr std::uint32_t usual_ms = 60'000;
    const std::chrono::milliseconds timeout(flags.timeout_ms.value_or(usual_ms));
    if (flags.assembler.empty())
        return take(worker_pool({.workers = flags.candidates.jobs, .timeout = timeout}));
    if (flags.timeout_ms) return named_assembler(flags);
    auto assembler = find_assembler(flags.assembler, timeout);
    if (!assembler && assembler.error().code == Errc::argument_invalid)  // in process: it takes none
        assembler = find_assembler(flags.assembler);
    return take(std::move(assembler));
}

// What would be an error of each candidate is said once: sites that are not there, and a target that the
// assembler does not have, where it has the skeleton's own.
void check_of_all(const Input& input, const GraftOptions& options) {
    for (const auto& [site, route] : options.routes.sites) (void)take(input.skeleton.find_site(site));
    if (options.assemble.target.empty()) return;
    std::string head;
    for (const std::string& line : lines_of(input.skeleton.ptx()))
        if (line.starts_with(".version") || line.starts_with(".target") || line.starts_with(".address_size"))
            head += line + "\n";
    const auto empty = options.assembler->assemble(head, options.assemble);
    AssembleOptions with_own = options.assemble;
    with_own.target.clear();
    if (!empty && options.assembler->assemble(head, with_own))
        fail_work(empty.error(), head, "the skeleton's head");
}

void graft_many(const Input& input, const GraftVerbFlags& flags, const std::optional<Cache>& cache) {
    if (!flags.stubs.files.empty() || !flags.stubs.programs.empty() || !flags.stubs.expressions.empty())
        fail_usage("--candidates says what fills the sites: no --stub, --program or --expr beside it");
    CandidateFlags candidates = flags.candidates;
    candidates.report = flags.report;
    candidates.constants = flags.stubs.constants;
    if (flags.output.ends_with(".cubin") || flags.output.ends_with(".ptx"))
        fail_usage("-o names a folder where there are --candidates");
    if (flags.output != "-") candidates.folder = flags.output;
    const auto assembler = assembler_of_many(flags);
    const Cache memory = take(Cache::open());
    GraftOptions options = options_of(flags);
    options.assembler = assembler.get();
    options.cache = cache ? &*cache : &memory;
    check_of_all(input, options);
    if (uses(options.routes, Route::automatic)) {
        const auto prepared = input.skeleton.prepare(options);
        if (!prepared) fail_work(prepared.error(), input.skeleton.ptx(), input.ptx_name(0));
    }
    make_candidates(input, candidates, options);
}

void graft(const GraftVerbFlags& flags) {
    (void)options_of(flags);  // what is wrong with the command line is said first
    if (flags.report == "-" && flags.output == "-" && flags.candidates.list.empty())
        fail_usage("the report goes to standard output: -o names the file of the PTX or machine code");
    const Input input = load_input(flags.file, flags.cuda, CudaOptions{}.target);
    if (!flags.candidates.list.empty()) {
        keep_memory();
        return graft_many(input, flags, open_cache(flags.cuda.cache));
    }
    const std::vector<NamedStub> stubs = compile_stubs(input, flags.stubs);
    const std::vector<Graft> grafts = as_grafts(stubs);
    if (flags.output.ends_with(".cubin"))
        return write_cubin(input, grafts, flags, open_cache(flags.cuda.cache));
    write_ptx(input, grafts, flags);
}

}  // namespace

void add_graft(CLI::App& app) {
    CLI::App* verb =
        app.add_subcommand("graft", "Fill sites of a skeleton and write the PTX, or assemble it");
    const auto flags = std::make_shared<GraftVerbFlags>();
    verb->add_option("FILE", flags->file, "PTX or CUDA file")->required();
    add_stub_flags(*verb, flags->stubs);
    verb->add_option(
        "-o,--output", flags->output,
        "OUT.ptx or OUT.cubin (default: PTX to standard output); with --candidates a folder, for "
        "INDEX.cubin");
    auto* const candidates = verb->add_option(
        "--candidates", flags->candidates.list,
        "JSON lines, each a candidate: {\"SITE\": \"PROGRAM\", \"SITE\": {\"expr\": \"TEXT\"}, \"SITE\": "
        "{\"stub\": \"FILE\"}}; a FILE is relative to the current folder");
    auto* const report = verb->add_option(
        "--report", flags->report,
        "JSON of the machine code, or of PTX its routes; with --candidates a line for each, in their order "
        "(default: standard output)");
    verb->add_flag_callback(
            "--json", [flags] { flags->report = "-"; }, "The same as --report -")
        ->excludes(report);
    verb->add_option("--jobs", flags->candidates.jobs, "Candidates at once (default: as many as processors)")
        ->needs(candidates);
    verb->add_option("--variants-per-module", flags->candidates.variants_per_module,
                     "Of --candidates so many are assembled as one module, in which the names of each have a "
                     "\"suffix\" of its own (default: 1)")
        ->check(CLI::Range(1, 65536))
        ->needs(candidates);
    verb->add_option("--timeout", flags->timeout_ms,
                     "Milliseconds for a module, where the assembler is a process; then it is ended "
                     "(default: none, of "
                     "--candidates 60000, of one that --assembler names 300000)")
        ->check(CLI::Range(1, 2'000'000'000));
    verb->add_option(
        "--assembler", flags->assembler,
        "default, nvptxcompiler, nvjitlink, workers[:N] (N processes), or the path of a ptxas (default: "
        "workers)");
    verb->add_option("--limit", flags->limits,
                     "registers=N, spills=BYTES, stack=BYTES or code=BYTES: more than that is an error "
                     "(repeatable)")
        ->allow_extra_args(false)
        ->take_all();
    verb->add_flag("--allow-performance-loss", flags->allow_performance_loss,
                   "Keep a cubin of which the assembler says that it lost performance");
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { graft(*flags); });
}

}  // namespace ptxgraft::cli
