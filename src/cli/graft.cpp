// ptxgraft graft: stubs into a skeleton, out as PTX or machine code.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "skeleton_input.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

struct GraftVerbFlags {
    std::string file, output = "-";
    CudaFlags cuda;
    StubFlags stubs;
    std::string assembler = "default";
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

std::string assembled(const std::string& ptx, const GraftVerbFlags& flags, const std::string& ptx_name) {
    AssembleOptions options;
    options.target = flags.cuda.target;
    options.allow_performance_loss = flags.allow_performance_loss;
    const auto assembler = with_cache(take(find_assembler(flags.assembler)), flags.cuda.cache);
    const Cubin cubin = take(assembler->assemble(ptx, options), ptx, ptx_name);
    const std::string output = display_name(flags.output);
    fmt::print(stderr, "{}: assembled by {}\n{}", output, cubin.assembler, usage_lines(output, cubin));
    return {reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()};
}

void graft(const GraftVerbFlags& flags) {
    const Input input = load_input(flags.file, flags.cuda, CudaOptions{}.target);
    const std::vector<NamedStub> stubs = compile_stubs(input, flags.stubs);
    const auto [ptx, routes] = take(input.skeleton.render_by(as_grafts(stubs), route_options(flags.stubs)),
                                    input.skeleton.ptx(), input.ptx_name(0));
    print_routes(flags.stubs, routes);
    const bool as_cubin = flags.output.ends_with(".cubin");
    take(write_file(flags.output, as_cubin ? assembled(ptx, flags, input.ptx_name(stubs.size())) : ptx));
}

}  // namespace

void add_graft(CLI::App& app) {
    CLI::App* verb =
        app.add_subcommand("graft", "Fill sites of a skeleton and write the PTX, or assemble it");
    const auto flags = std::make_shared<GraftVerbFlags>();
    verb->add_option("FILE", flags->file, "PTX or CUDA file")->required();
    add_stub_flags(*verb, flags->stubs);
    verb->add_option("-o,--output", flags->output, "OUT.ptx or OUT.cubin (default: PTX to standard output)");
    verb->add_option("--assembler", flags->assembler,
                     "default, nvptxcompiler, nvjitlink, workers[:N] (N processes), or the path of a ptxas");
    verb->add_flag("--allow-performance-loss", flags->allow_performance_loss,
                   "Keep a cubin of which the assembler says that it lost performance");
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { graft(*flags); });
}

}  // namespace ptxgraft::cli
