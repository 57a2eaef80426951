// What all assemblers share: options as ptxas's arguments, errors, performance losses; and the default one.

#include "link/assembler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/try.hpp"
#include "link/assembler_log.hpp"
#include "link/cubin.hpp"
#include "link/module_text.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft {

namespace link {
namespace {

Expected<void> check_losses(std::span<const PerformanceLoss> losses) {
    if (losses.empty()) return {};
    std::string all;
    for (const auto& loss : losses)
        all += (all.empty() ? "C" : "\nC") + std::to_string(loss.code) + " " + loss.message;
    return fail(Errc::performance_loss, std::move(all));
}

}  // namespace

Expected<void> check_limits(std::span<const FunctionUsage> functions, const AssembleLimits& limits) {
    for (const FunctionUsage& f : functions) {
        const struct {
            std::optional<std::uint32_t> most;
            std::uint32_t used;
            std::string_view unit;
        } rows[] = {
            {f.is_entry ? limits.registers : std::nullopt, f.registers, "registers"},
            {limits.spill_bytes, f.spill_store_bytes + f.spill_load_bytes, "bytes of spill stores and loads"},
            {limits.stack_bytes, f.stack_bytes, "bytes of stack"},
            {limits.code_bytes, f.code_bytes, "bytes of code"},
        };
        for (const auto& row : rows)
            if (row.most && row.used > *row.most)
                return fail(
                    Errc::assemble_limit_exceeded,
                    fmt::format("'{}' has {} {}; the limit is {}", f.name, row.used, row.unit, *row.most));
    }
    return {};
}

Expected<Cubin> checked(Cubin cubin, const AssembleOptions& options) {
    if (!options.allow_performance_loss) TRY(check_losses(cubin.losses));
    TRY(check_limits(cubin.functions, options.limits));
    return cubin;
}

Expected<Assembly> begin_assembly(std::string_view ptx, const AssembleOptions& options) {
    TRY(check_text(ptx));
    if (options.stop.stop_requested()) return fail(Errc::assembler_ended, "the caller's stop came before");
    const TextTarget target = target_of(ptx);
    if (!options.target.empty()) {
        const Architecture wanted = TRY(parse_architecture(options.target));
        return Assembly{name(wanted), target.is_debug};
    }
    const auto known = find_architecture(target.architecture);  // else the assembler says what there is
    const std::string named = known ? name(*known) : std::string(target.architecture);
    if (!named.empty()) return Assembly{named, target.is_debug};
    return fail(Errc::target_unknown, "(the module has no .target sm_NN, and the options name none)");
}

namespace {

// What assemblers print, and nvPTXCompiler's allocator, when there is no memory: another time there may be.
bool is_out_of_memory(std::string_view log) {
    constexpr std::string_view signs[] = {"Memory allocation failure", "heap memory may be exhausted",
                                          "malloc failure", ": out of memory"};
    return std::any_of(std::begin(signs), std::end(signs),
                       [&](auto sign) { return log.find(sign) != std::string_view::npos; });
}

}  // namespace

tl::unexpected<Error> assembly_error(std::string log, std::string_view ptx) {
    if (is_out_of_memory(log)) return fail(Errc::out_of_memory, std::move(log));
    const Span span = first_error_span(log, ptx);
    return fail(Errc::assemble_failed, span, std::move(log));
}

std::vector<std::string> ptxas_arguments(const Assembly& assembly, const AssembleOptions& options) {
    std::vector<std::string> arguments{
        "--gpu-name=" + assembly.target,
        fmt::format("--opt-level={}", assembly.is_debug ? 0 : options.optimisation), "--verbose"};
    if (options.max_registers) arguments.push_back(fmt::format("--maxrregcount={}", options.max_registers));
    if (options.relocatable) arguments.emplace_back("--compile-only");
    if (options.line_info) arguments.emplace_back("--generate-line-info");
    arguments.insert(arguments.end(), options.options.begin(), options.options.end());
    return arguments;
}

double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Expected<Cubin> finish(Cubin cubin, const AssembleOptions& options, const Assembler& by,
                       const Assembly& assembly) {
    cubin.assemble_ms = milliseconds_since(assembly.begin);
    cubin.functions = parse_usage(cubin.log);
    if (is_whole_cubin(cubin.image)) complete_usage(cubin);
    const std::vector<Tool> tools = tools_of(cubin.image);
    cubin.assembler =
        tools.empty() ? std::string(by.name()) : fmt::format("{} {}", by.name(), tools.front().version);
    cubin.losses = parse_losses(cubin.log);
    return checked(std::move(cubin), options);
}

tl::unexpected<Error> killed(const std::string& what, Wait waited, std::chrono::milliseconds timeout) {
    if (waited == Wait::stopped) return fail(Errc::assembler_ended, what + " was killed: the caller's stop");
    return fail(Errc::assembler_ended,
                fmt::format("{} was killed after {} ms, the limit for a module", what, timeout.count()));
}

std::string version_by_assembling(const Assembler& assembler, const std::string& otherwise) {
    const auto cubin =
        assembler.assemble(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n");
    const std::vector<Tool> tools = cubin ? tools_of(cubin->image) : std::vector<Tool>();
    return tools.empty() || tools.front().version.empty() ? otherwise : tools.front().version;
}

}  // namespace link

// Here, and not in the header: where it is, the type information is too.
Assembler::~Assembler() = default;

const Assembler& default_assembler() {
    const Assembler* first = nvptxcompiler();
    return first ? *first : *nvjitlink();
}

}  // namespace ptxgraft
