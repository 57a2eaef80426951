// Machine code as text: an installed nvdisasm, run as a process.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/try.hpp"
#include "link/files.hpp"
#include "link/process.hpp"
#include "link/temporary_folder.hpp"
#include "link/text.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;
using namespace link;

bool is_program(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// Where it may stand, first come, first taken: PATH, then the toolkits.
std::vector<fs::path> folders() {
    std::vector<fs::path> all;
    const char* const path = std::getenv("PATH");
    for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        if (end != 0) all.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* toolkit = std::getenv(variable); toolkit != nullptr && *toolkit != '\0')
            all.push_back(fs::path(toolkit) / "bin");
    all.emplace_back("/usr/local/cuda/bin");
    return all;
}

Expected<std::string> find_nvdisasm(const std::string& given) {
    std::error_code error;
    if (!given.empty()) {
        if (given.find('\0') == std::string::npos && is_program(given))
            return fs::absolute(given, error).string();
        return fail(Errc::disassemble_failed, fmt::format("there is no program {}", given));
    }
    for (const fs::path& folder : folders())
        if (is_program(folder / "nvdisasm")) return fs::absolute(folder / "nvdisasm", error).string();
    return fail(
        Errc::disassemble_failed,
        "there is no nvdisasm in PATH, in CUDA_HOME, nor in /usr/local/cuda; it is a part of the CUDA "
        "toolkit, and the wheel nvidia-cuda-nvdisasm has it alone");
}

}  // namespace

Expected<std::string> disassemble(std::span<const std::byte> cubin, const DisassembleOptions& options) {
    constexpr const char* input_name = "module.cubin";
    const std::string program = TRY(find_nvdisasm(options.program));
    const TemporaryFolder folder(options.temporary_dir);
    const std::string_view bytes(reinterpret_cast<const char*>(cubin.data()), cubin.size());
    if (!folder.is_made() || !write_new_file(folder.path() + "/" + input_name, bytes))
        return fail(Errc::file_not_writable,
                    fmt::format("{}: {}", options.temporary_dir, std::strerror(errno)));
    std::vector<std::string> arguments = {program};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    arguments.emplace_back(input_name);
    auto end = TRY(run_process(arguments, folder.path(), Patience(options.timeout, options.stop)));
    if (end.waited == Wait::stopped)
        return fail(Errc::disassemble_failed, program + " was killed: the caller's stop");
    if (end.waited == Wait::late)
        return fail(Errc::disassemble_failed,
                    fmt::format("{} was killed after {} ms", program, options.timeout.count()));
    if (end.signal != 0)
        return fail(Errc::disassemble_failed, fmt::format("{}: {}", program, ::strsignal(end.signal)));
    if (end.exit_status != 0)
        return fail(Errc::disassemble_failed,
                    fmt::format("{}\n{}", program, trimmed_log(std::move(end.output))));
    return std::move(end.output);
}

}  // namespace ptxgraft
