// nvPTXCompiler in process: the default assembler.

#include <fmt/format.h>
#include <nvPTXCompiler.h>

#include <memory>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "link/text.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

using namespace link;

struct CompilerDeleter {
    using pointer = nvPTXCompilerHandle;
    void operator()(nvPTXCompilerHandle compiler) const { nvPTXCompilerDestroy(&compiler); }
};
using Compiler = std::unique_ptr<nvPTXCompilerHandle, CompilerDeleter>;

std::string log_of(nvPTXCompilerHandle compiler, decltype(&nvPTXCompilerGetErrorLogSize) get_size,
                   decltype(&nvPTXCompilerGetErrorLog) get) {
    std::size_t size = 0;
    if (get_size(compiler, &size) != NVPTXCOMPILE_SUCCESS || size == 0) return {};
    std::string log(size + 1, '\0');
    if (get(compiler, log.data()) != NVPTXCOMPILE_SUCCESS) return {};
    return trimmed_log(std::move(log));
}

class NvPtxCompiler final : public Assembler {
  public:
    std::string_view name() const override { return "nvptxcompiler"; }

    std::string version() const override {
        static const std::string version = [this] {
            unsigned major = 0, minor = 0;
            nvPTXCompilerGetVersion(&major, &minor);
            return version_by_assembling(*this, fmt::format("{}.{}", major, minor));
        }();
        return version;
    }

    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        const auto assembly = TRY(begin_assembly(ptx, options));

        nvPTXCompilerHandle created = nullptr;
        if (nvPTXCompilerCreate(&created, ptx.size(), ptx.data()) != NVPTXCOMPILE_SUCCESS)
            return fail(Errc::assembler_not_usable, "nvPTXCompiler cannot start");
        const Compiler compiler(created);
        const std::vector<std::string> arguments = ptxas_arguments(assembly, options);
        std::vector<const char*> argv;
        for (const auto& argument : arguments) argv.push_back(argument.c_str());
        const auto result = nvPTXCompilerCompile(created, static_cast<int>(argv.size()), argv.data());
        if (result != NVPTXCOMPILE_SUCCESS) return failure(created, result, ptx);
        return program(created, options, assembly);
    }

  private:
    static tl::unexpected<Error> failure(nvPTXCompilerHandle compiler, nvPTXCompileResult result,
                                         std::string_view ptx) {
        std::string log = log_of(compiler, nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog);
        if (result == NVPTXCOMPILE_ERROR_OUT_OF_MEMORY) return fail(Errc::out_of_memory, std::move(log));
        if (log.empty()) log = fmt::format("nvPTXCompiler fails with result {}", static_cast<int>(result));
        return assembly_error(std::move(log), ptx);
    }

    Expected<Cubin> program(nvPTXCompilerHandle compiler, const AssembleOptions& options,
                            const Assembly& assembly) const {
        std::size_t size = 0;
        if (nvPTXCompilerGetCompiledProgramSize(compiler, &size) != NVPTXCOMPILE_SUCCESS)
            return fail(Errc::assembler_not_usable, "nvPTXCompiler gives no program");
        Cubin cubin;
        cubin.image.resize(size);
        if (nvPTXCompilerGetCompiledProgram(compiler, cubin.image.data()) != NVPTXCOMPILE_SUCCESS)
            return fail(Errc::assembler_not_usable, "nvPTXCompiler gives no program");
        cubin.log = log_of(compiler, nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog);
        return finish(std::move(cubin), options, *this, assembly);
    }
};

}  // namespace

const Assembler* nvptxcompiler() {
    static const NvPtxCompiler assembler;
    return &assembler;
}

}  // namespace ptxgraft
