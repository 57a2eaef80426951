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
    std::string assembler;
    bool allow_performance_loss = false;
};

// The default one, one of the library's own by its name, or the ptxas that stands at a path.
std::shared_ptr<const Assembler> find_assembler(const std::string& text) {
    const auto forever = [](const Assembler* own) {
        return std::shared_ptr<const Assembler>(std::shared_ptr<void>(), own);
    };
    if (text.empty()) return forever(&default_assembler());
    for (const Assembler* const own : {nvptxcompiler(), nvjitlink()})
        if (own != nullptr && own->name() == text) return forever(own);
    return take(ptxas(text));
}

std::string assembled(const std::string& ptx, const GraftVerbFlags& flags, const std::string& ptx_name) {
    AssembleOptions options;
    options.target = flags.cuda.target;
    options.allow_performance_loss = flags.allow_performance_loss;
    const auto assembler = with_cache(find_assembler(flags.assembler), flags.cuda.cache);
    const Cubin cubin = take(assembler->assemble(ptx, options), ptx, ptx_name);
    fmt::print(stderr, "{}: assembled by {}\n", display_name(flags.output), cubin.assembler);
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
                     "nvptxcompiler, nvjitlink, or the path of a ptxas (default: the first that there is)");
    verb->add_flag("--allow-performance-loss", flags->allow_performance_loss,
                   "Keep a cubin of which the assembler says that it lost performance");
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { graft(*flags); });
}

}  // namespace ptxgraft::cli
