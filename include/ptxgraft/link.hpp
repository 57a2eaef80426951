#pragma once
/// @file link.hpp
/// From CUDA source to PTX (NVRTC), from PTX to machine code (assemblers), and linking of machine code.
/// Threads: every function may be called from any number at once, also with one cache folder.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

class Cache;

/// How CUDA source becomes PTX. `#include <ptxgraft/site.cuh>` always works; it is part of the library.
struct CudaOptions {
    std::string target = "sm_90a";               ///< architecture of the PTX: sm_75 … sm_121a
    std::vector<std::string> include_dirs = {};  ///< searched before the toolkit's
    std::vector<std::string> defines = {};       ///< `NAME` or `NAME=VALUE`
    std::vector<std::string> options =
        {};  ///< further NVRTC options, as on nvcc's command line: `--use_fast_math`
    std::string file_name =
        "skeleton.cu";            ///< the name in diagnostics; `#include "…"` searches its folder first
    std::string cache_dir = {};   ///< a folder that keeps PTX between runs; empty: none
    bool toolkit_headers = true;  ///< add the toolkit's include folder when one is found
    /// Looks up PTX and errors, instead of a cache of `cache_dir` alone (cache.hpp). It is only used during
    /// the call.
    const Cache* cache = nullptr;
};

struct Ptx {
    std::string text;
    std::string log;  ///< warnings
    bool from_cache = false;
};

/// Compiles CUDA C++ (C++20 unless an option says otherwise) to PTX in process. A cache is keyed by source,
/// the text of every header that it may include, options and the versions of NVRTC and of ptxgraft; cache.hpp
/// says how it keeps entries, and why its folder is shared only among those who trust each other. What
/// includes a macro's value, uses `__TIME__` or precompiled headers is compiled anew every time. Errors:
/// Errc::cuda_compile_failed with NVRTC's log as detail and, when the first error is in `source`, its place;
/// Errc::target_unknown; Errc::argument_invalid for a zero byte in the source; Errc::compiler_not_usable when
/// NVRTC itself fails, or its library, which is loaded by the first call, is not found.
[[nodiscard]] PTXGRAFT_API Expected<Ptx> compile_cuda(std::string_view source,
                                                      const CudaOptions& options = {});

/// The folders with CUDA's headers that compile_cuda adds, C++ ones (CCCL) included: found beside the loaded
/// NVRTC, as an installation has them, else where the library was built. When there are none, an error about
/// an include says so.
[[nodiscard]] PTXGRAFT_API std::vector<std::string> toolkit_include_dirs();
[[nodiscard]] PTXGRAFT_API std::string nvrtc_version();  ///< "13.0"; empty where there is none

/// What the assembler says of one function, an entry or a `.func`, and what its machine code shows. Spills
/// are known after assembly, not after linking.
struct FunctionUsage {
    std::string name;
    bool is_entry = false;
    std::uint32_t registers = 0;
    std::uint32_t spill_store_bytes = 0;
    std::uint32_t spill_load_bytes = 0;
    std::uint32_t stack_bytes = 0;
    std::uint32_t shared_bytes = 0;  ///< static
    std::uint32_t barriers = 0;
    /// Machine code, rounded up as the assembler does. An entry that is assembled whole has its own copies of
    /// the functions that it calls, which count with it; such a function has the sum of all its copies, 0
    /// when every call was inlined. In relocatable and linked cubins each function counts for itself.
    std::uint32_t code_bytes = 0;
    /// Of its own constants other than parameters: large literals, tables of branches (banks from 1 on).
    std::uint32_t constant_bytes = 0;
    /// Of an entry's bank 0: its parameters, and before them what the driver keeps there.
    std::uint32_t parameter_bytes = 0;
};

/// A diagnostic about lost performance, such as C7510 "wgmma serialised": an error unless the caller allows
/// it.
struct PerformanceLoss {
    std::uint32_t code;  ///< 7510
    std::string message;
};

struct Cubin {
    std::vector<std::byte> image;  ///< an ELF
    /// Who made it, with the full version: "nvptxcompiler 13.5.37"; of a linked one also who assembled its
    /// parts: "nvjitlink 13.5.37, of ptxas 13.0.88, of ptxas 13.5.37". Versions differ in the code they make,
    /// and now and then one is wrong, so whoever keeps machine code or measures it keeps this beside it.
    std::string assembler;
    std::vector<FunctionUsage> functions;
    std::vector<PerformanceLoss> losses;
    std::string log;
    /// Of the module's `.const` variables, and of the constants that all of its functions share.
    std::uint64_t constant_bytes = 0;
    /// Wall-clock time of the assembly or of the linking, without any waiting for a worker of worker.hpp.
    double assemble_ms = 0;
};

/// What machine code may use at most; nothing is limited unless it is said. A module that needs more is
/// Errc::assemble_limit_exceeded, whose detail names the function, the figure and the limit. The assembler is
/// not told: `AssembleOptions::max_registers` makes it spill, these say which result is of no use.
struct AssembleLimits {
    std::optional<std::uint32_t> registers = {};    ///< of an entry, per thread
    std::optional<std::uint32_t> spill_bytes = {};  ///< of a function, stores and loads together; 0: no spill
    std::optional<std::uint32_t> stack_bytes = {};  ///< of a function, per thread
    std::optional<std::uint32_t> code_bytes = {};   ///< of a function, FunctionUsage::code_bytes
};

struct AssembleOptions {
    /// "sm_90a": checked by parse_architecture(); empty: the module's `.target`
    std::string target = {};
    int optimisation = 3;             ///< 0 to 3; a module of `.target …, debug` is assembled with 0
    std::uint32_t max_registers = 0;  ///< per thread; 0: no limit
    bool relocatable = false;         ///< for linking
    bool line_info = false;
    bool allow_performance_loss = false;
    std::vector<std::string> options = {};  ///< further options of ptxas
    AssembleLimits limits = {};             ///< checked when the machine code is there
    /// When the caller asks for the stop, calls that wait for a process (ptxas(), worker_pool()) kill it and
    /// end with Errc::assembler_ended, and so do calls that have yet to begin. What assembles in the caller's
    /// own process goes on to its end.
    std::stop_token stop = {};
};

/// PTX to cubin. Threads: any number may use one at once.
class PTXGRAFT_API Assembler {
  public:
    virtual ~Assembler();
    [[nodiscard]] virtual std::string_view name() const = 0;  ///< "nvptxcompiler"
    [[nodiscard]] virtual std::string version() const = 0;    ///< "13.5.37"
    /// Whether others work for it than this process: a timeout and a stop can end them.
    [[nodiscard]] virtual bool is_other_process() const { return false; }
    /// Errors: Errc::assemble_failed with the place of the first error in `ptx` and the whole log as detail;
    /// Errc::performance_loss; Errc::module_refused when this assembler would silently change the module,
    /// with the span of the instruction; Errc::target_unknown; Errc::assemble_limit_exceeded;
    /// Errc::out_of_memory and Errc::assembler_not_usable, which are not the module's fault;
    /// Errc::assembler_ended after the caller's stop, and of ptxas() and worker_pool() when the process ran
    /// too long or died; of ptxas() also Errc::file_not_writable of its temporary folder. `ptx` need not be
    /// zero-terminated.
    [[nodiscard]] virtual Expected<Cubin> assemble(std::string_view ptx,
                                                   const AssembleOptions& options = {}) const = 0;
};

/// ptxas in process (nvPTXCompiler): the default for whole programs; its SASS equals that of ptxas of the
/// same version. Null when the library was built without it.
[[nodiscard]] PTXGRAFT_API const Assembler* nvptxcompiler();
/// nvJitLink: always assembles as relocatable, so it refuses modules with setmaxnreg or wgmma.
[[nodiscard]] PTXGRAFT_API const Assembler* nvjitlink();
/// nvptxcompiler() if there is one, else nvjitlink().
[[nodiscard]] PTXGRAFT_API const Assembler& default_assembler();

struct PtxasOptions {
    /// For one module; then the process is killed.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
    /// Each assembly makes a folder in it, for its user alone, and removes it.
    std::string temporary_dir = "/tmp";
};
/// An installed ptxas of any version, run as a process for each module: as a second opinion about machine
/// code, for a version that is not the library's own, and for modules that may take an assembler down. Unlike
/// those in process it costs some 15 ms a module to start. `path` is the program's. Errors:
/// Errc::assembler_not_usable when it is not there or does not say a version as ptxas does. A process that
/// runs too long or dies is Errc::assembler_ended.
[[nodiscard]] PTXGRAFT_API Expected<std::shared_ptr<const Assembler>> ptxas(const std::string& path,
                                                                            const PtxasOptions& options = {});

/// An assembler by its name, as users write it: "" or "default" is default_assembler(), "nvptxcompiler" and
/// "nvjitlink" those in process, "workers" and "workers:4" a worker_pool() of so many processes (of
/// worker.hpp, with its defaults for all else), anything else the path of a ptxas. Each call makes a pool or
/// a ptxas() of its own, with the timeout that is said or theirs. Errors: Errc::assembler_not_usable;
/// Errc::argument_invalid for a timeout of one in process, which nothing ends.
[[nodiscard]] PTXGRAFT_API Expected<std::shared_ptr<const Assembler>> find_assembler(
    std::string_view name, std::optional<std::chrono::milliseconds> timeout = {});

struct DisassembleOptions {
    /// The path of nvdisasm. Empty: the first one in the folders of PATH, in `bin` of CUDA_HOME or
    /// CUDA_PATH, or in /usr/local/cuda/bin.
    std::string program = {};
    /// Its options, as `nvdisasm --help` lists them.
    std::vector<std::string> arguments = {"--print-code"};
    std::chrono::milliseconds timeout = std::chrono::minutes(5);  ///< then the process is killed
    std::string temporary_dir = "/tmp";                           ///< as PtxasOptions::temporary_dir
    std::stop_token stop = {};                                    ///< then too
};
/// Machine code as text (SASS), by an installed nvdisasm that is at least as new as the assembler: a part of
/// the CUDA toolkit, and of the wheel nvidia-cuda-nvdisasm. Errors: Errc::disassemble_failed when there is
/// none, and with what it says; Errc::file_not_writable of the temporary folder.
[[nodiscard]] PTXGRAFT_API Expected<std::string> disassemble(std::span<const std::byte> cubin,
                                                             const DisassembleOptions& options = {});

/// Links relocatable cubins into a loadable one (nvJitLink). They may be of several assemblers and versions,
/// none newer than nvJitLink. Losses of performance are in the result, not errors. Errors: Errc::link_failed
/// with the log, and the index of an input that is no whole cubin or too new; Errc::target_unknown;
/// Errc::assemble_limit_exceeded, though not for spills, which no cubin tells. nvJitLink runs in process, and
/// believes what it reads: a cubin that is cut or whose tables lead outside of it is refused before it gets
/// there, but not every lie can be seen, so link cubins of assemblers, not of strangers.
[[nodiscard]] PTXGRAFT_API Expected<Cubin> link_cubins(std::span<const std::span<const std::byte>> cubins,
                                                       std::string_view target,
                                                       const AssembleLimits& limits = {});

}  // namespace ptxgraft
