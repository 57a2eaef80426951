// ptxgraft compile: CUDA to PTX.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/skeleton_input.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

struct CompileFlags {
    std::string file, output = "-";
    CudaFlags cuda;
};

void compile(const CompileFlags& flags) {
    const std::string source = take(read_file(flags.file));
    take(write_file(flags.output, compile_cuda_text(flags.file, source, flags.cuda, CudaOptions{}.target)));
}

}  // namespace

void add_compile(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("compile", "Compile CUDA with marked sites to PTX");
    const auto flags = std::make_shared<CompileFlags>();
    verb->add_option("FILE", flags->file, "CUDA file")->required();
    verb->add_option("-o,--output", flags->output, "PTX file (default: standard output)");
    add_cuda_flags(*verb, flags->cuda);
    verb->callback([flags] { compile(*flags); });
}

}  // namespace ptxgraft::cli
