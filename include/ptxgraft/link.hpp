#pragma once
/// @file link.hpp
/// From CUDA source to PTX (NVRTC), from PTX to machine code (assemblers), and linking of machine code.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// How CUDA source becomes PTX. `#include <ptxgraft/site.cuh>` always works; it is part of the library.
struct CudaOptions {
    std::string target = "sm_90a";               ///< architecture of the PTX: sm_75 … sm_121a
    std::vector<std::string> include_dirs = {};  ///< searched before the toolkit's
    std::vector<std::string> defines = {};       ///< `NAME` or `NAME=VALUE`
    std::vector<std::string> options =
        {};  ///< further NVRTC options, as on nvcc's command line: `--use_fast_math`
    std::string file_name =
        "skeleton.cu";            ///< the name in diagnostics; `#include "…"` searches its folder first
    std::string cache_dir = {};   ///< empty: no disk cache
    bool toolkit_headers = true;  ///< add the toolkit's include folder when one is found
};

struct Ptx {
    std::string text;
    std::string log;  ///< warnings
    bool from_cache = false;
};

/// Compiles CUDA C++ (C++20 unless an option says otherwise) to PTX in process. The disk cache is keyed by
/// source, the text of every header that it may include, options and the versions of NVRTC and of ptxgraft;
/// entries are written atomically and may be shared by threads and processes. A damaged entry is a miss, a
/// folder that cannot be written no error. What includes a macro's value, uses `__TIME__` or precompiled
/// headers is compiled anew every time. Errors: Errc::cuda_compile_failed with NVRTC's log as detail and,
/// when the first error is in `source`, its place; Errc::target_unknown; Errc::invalid_argument for a zero
/// byte in the source.
[[nodiscard]] PTXGRAFT_API Expected<Ptx> compile_cuda(std::string_view source,
                                                      const CudaOptions& options = {});

/// The folders with CUDA's headers that compile_cuda adds, C++ ones (CCCL) included: found beside the loaded
/// NVRTC, else where the library was built.
[[nodiscard]] PTXGRAFT_API std::vector<std::string> toolkit_include_dirs();
[[nodiscard]] PTXGRAFT_API std::string nvrtc_version();  ///< "13.0"

/// What the assembler says of one function, an entry or a `.func`. Spills are known after assembly, not after
/// linking.
struct FunctionUsage {
    std::string name;
    bool is_entry = false;
    std::uint32_t registers = 0;
    std::uint32_t spill_store_bytes = 0;
    std::uint32_t spill_load_bytes = 0;
    std::uint32_t stack_bytes = 0;
    std::uint32_t shared_bytes = 0;  ///< static
    std::uint32_t barriers = 0;
};

/// A diagnostic about lost performance, such as C7510 "wgmma serialised": an error unless the caller allows
/// it.
struct PerformanceLoss {
    std::uint32_t code;  ///< 7510
    std::string message;
};

struct Cubin {
    std::vector<std::byte> image;  ///< an ELF
    std::vector<FunctionUsage> functions;
    std::vector<PerformanceLoss> losses;
    std::string log;
};

struct AssembleOptions {
    std::string target = {};          ///< empty: the module's `.target`
    int optimisation = 3;             ///< 0 to 3
    std::uint32_t max_registers = 0;  ///< per thread; 0: no limit
    bool relocatable = false;         ///< for linking
    bool line_info = false;
    bool allow_performance_loss = false;
    std::vector<std::string> options = {};  ///< further options of ptxas
};

/// PTX to cubin. Implementations are safe to use from several threads.
class PTXGRAFT_API Assembler {
  public:
    virtual ~Assembler();
    [[nodiscard]] virtual std::string_view name() const = 0;  ///< "nvptxcompiler"
    [[nodiscard]] virtual std::string version() const = 0;    ///< "13.0"
    /// Errors: Errc::assemble_failed with the place of the first error in `ptx` and the whole log as detail;
    /// Errc::performance_loss; Errc::module_refused when this assembler would silently change the module,
    /// with the span of the instruction; Errc::target_unknown. `ptx` need not be zero-terminated.
    [[nodiscard]] virtual Expected<Cubin> assemble(std::string_view ptx,
                                                   const AssembleOptions& options = {}) const = 0;
};

/// ptxas in process (nvPTXCompiler): the default for whole programs; its SASS equals ptxas's. Null when the
/// library was built without it.
[[nodiscard]] PTXGRAFT_API const Assembler* nvptxcompiler();
/// nvJitLink: always assembles as relocatable, so it refuses modules with setmaxnreg or wgmma.
[[nodiscard]] PTXGRAFT_API const Assembler* nvjitlink();
/// nvptxcompiler() if there is one, else nvjitlink().
[[nodiscard]] PTXGRAFT_API const Assembler& default_assembler();

/// Links relocatable cubins into a loadable one (nvJitLink). Losses of performance are in the result, not
/// errors. Errors: Errc::link_failed with the log, and the index of an input that is no cubin;
/// Errc::target_unknown.
[[nodiscard]] PTXGRAFT_API Expected<Cubin> link_cubins(std::span<const std::span<const std::byte>> cubins,
                                                       std::string_view target);

}  // namespace ptxgraft
