// An installed ptxas as an assembler: a process for each module.

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "link/cubin.hpp"
#include "link/files.hpp"
#include "link/process.hpp"
#include "link/temporary_folder.hpp"
#include "link/text.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;
using namespace link;

// Their names stand in ptxas's log.
constexpr const char *input_name = "module.ptx", *output_name = "module.cubin";

class Ptxas final : public Assembler {
  public:
    Ptxas(std::string path, std::string version, PtxasOptions options)
        : path_(std::move(path)), version_(std::move(version)), options_(std::move(options)) {}

    std::string_view name() const override { return "ptxas"; }
    std::string version() const override { return version_; }
    bool is_other_process() const override { return true; }

    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        const auto assembly = TRY(begin_assembly(ptx, options));
        const TemporaryFolder folder(options_.temporary_dir);
        if (!folder.is_made() || !write_new_file(folder.path() + "/" + input_name, ptx))
            return fail(Errc::file_not_writable,
                        fmt::format("{}: {}", options_.temporary_dir, std::strerror(errno)));
        std::vector<std::string> arguments = ptxas_arguments(assembly, options);
        arguments.insert(arguments.begin(), path_);
        arguments.insert(arguments.end(), {"--output-file", output_name, input_name});
        const Patience patience(options_.timeout, options.stop);
        auto end = TRY(run_process(arguments, folder.path(), patience));
        return result(std::move(end), folder.path(), ptx, options, assembly);
    }

  private:
    Expected<Cubin> result(ProcessEnd end, const std::string& folder, std::string_view ptx,
                           const AssembleOptions& options, const Assembly& assembly) const {
        if (end.waited != Wait::done) return killed("ptxas " + version_, end.waited, options_.timeout);
        if (end.signal != 0)
            return fail(Errc::assembler_ended,
                        fmt::format("ptxas {}: {}", version_, ::strsignal(end.signal)));
        std::string log = trimmed_log(std::move(end.output));
        if (end.exit_status != 0) return assembly_error(std::move(log), ptx);
        const auto image = read_file(folder + "/" + output_name);
        if (!image)
            return fail(Errc::assembler_ended, fmt::format("ptxas {} gives no cubin\n{}", version_, log));
        const auto bytes = std::as_bytes(std::span(*image));
        // On a full disk ptxas writes a part, and says that all went well.
        if (!is_whole_cubin(bytes))
            return fail(Errc::file_not_writable, fmt::format("{}: ptxas {} wrote {} bytes of a cubin",
                                                             options_.temporary_dir, version_, bytes.size()));
        Cubin cubin;
        cubin.image.assign(bytes.begin(), bytes.end());
        cubin.log = std::move(log);
        return finish(std::move(cubin), options, *this, assembly);
    }

    std::string path_, version_;
    PtxasOptions options_;
};

}  // namespace

Expected<std::shared_ptr<const Assembler>> ptxas(const std::string& path, const PtxasOptions& options) {
    std::error_code error;
    const std::string program = fs::absolute(path, error).string();
    if (path.empty() || path.find('\0') != std::string::npos || !fs::is_regular_file(program, error))
        return fail(Errc::assembler_not_usable, fmt::format("there is no program {}", path));
    auto end = TRY(run_process({program, "--version"}, "/", Patience(options.timeout)));
    const std::string_view version = tools_version(end.output);
    if (end.waited != Wait::done || end.signal != 0 || end.exit_status != 0 || version.empty())
        return fail(Errc::assembler_not_usable,
                    fmt::format("'{} --version' does not say a version as ptxas does\n{}", path,
                                trimmed_log(end.output)));
    return std::make_shared<const Ptxas>(program, std::string(version), options);
}

}  // namespace ptxgraft
