// ptxgraft doctor: what of an installation is there, what is missing, and what to do about it.

#include "doctor.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ranges>
#include <vector>

#include "cli/cache_flags.hpp"
#include "cli/print_json.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/device.hpp"
#include "ptxgraft/emulator_coverage.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/set.hpp"
#include "ptxgraft/template.hpp"

namespace ptxgraft::cli {
namespace {

namespace fs = std::filesystem;

struct DoctorFlags {
    bool json = false;
    std::string driver = DeviceOptions().driver;
    std::string python = "python3";
    CacheFlags cache;
};

// `absent`: what the main job does without.
enum class State : std::uint8_t { ok, absent, broken };
constexpr std::string_view names[] = {"ok", "absent", "broken"};

struct Finding {
    std::string what;
    State state;
    std::string found;        // what was found, or why nothing was
    std::string remedy = {};  // what to do, where something is missing
};

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

Finding library() {
    Dl_info info{};
    const bool known =
        ::dladdr(reinterpret_cast<const void*>(&nvrtc_version), &info) != 0 && info.dli_fname != nullptr;
    std::string version = PTXGRAFT_VERSION_STRING;
    if (const auto emulator = Device::open("emulator")) version = emulator->driver_version();
    const std::string found = fmt::format("{}, {}", version, known ? info.dli_fname : "in this program");
    if (version == PTXGRAFT_VERSION_STRING) return {"library", State::ok, found};
    return {
        "library", State::broken, fmt::format("{}; this program is {}", found, PTXGRAFT_VERSION_STRING),
        "run the program of the library's own installation, or take the other library off LD_LIBRARY_PATH"};
}

Finding nvrtc() {
    if (std::string version = nvrtc_version(); !version.empty())
        return {"NVRTC", State::ok, std::move(version)};
    const auto compiled = compile_cuda("");  // says why there is none
    return {
        "NVRTC", State::broken, compiled ? "without a version" : message(compiled.error()),
        "CUDA C++ is compiled by it: install with PTXGRAFT_INSTALL_CUDA=ON, or name the folder of CUDA 13's "
        "libraries in LD_LIBRARY_PATH"};
}

Finding headers() {
    const auto folders = toolkit_include_dirs();
    const auto has_them = [](const std::string& folder) {
        return fs::exists(fs::path(folder) / "cuda_fp16.h");
    };
    if (std::ranges::any_of(folders, has_them))
        return {"CUDA's headers", State::ok, fmt::format("{}", fmt::join(folders, ", "))};
    return {
        "CUDA's headers", State::absent, "cuda_fp16.h is in no folder that is searched",
        "kernels that include CUDA's headers want them: install with PTXGRAFT_INSTALL_CUDA=ON, a toolkit in "
        "/usr/local/cuda, or name the folder with -I"};
}

Finding assembler(std::string_view what, const Assembler* one, std::string remedy) {
    if (one != nullptr && one->version().empty())
        return {std::string(what), State::broken, "its library cannot be loaded",
                "name its folder in LD_LIBRARY_PATH"};
    if (one != nullptr) return {std::string(what), State::ok, one->version()};
    return {std::string(what), State::absent, "the library was built without it", std::move(remedy)};
}

// Where an installed program of CUDA may be.
std::vector<std::string> program_folders() {
    std::vector<std::string> all;
    if (const char* const path = std::getenv("PATH"))
        for (const auto folder : std::string_view(path) | std::views::split(':'))
            all.emplace_back(folder.begin(), folder.end());
    for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* const root = std::getenv(variable)) all.push_back(std::string(root) + "/bin");
    all.emplace_back("/usr/local/cuda/bin");
    return all;
}

Finding installed_ptxas() {
    for (const std::string& folder : program_folders()) {
        const std::string path = folder + "/ptxas";
        std::error_code error;
        if (folder.empty() || !fs::is_regular_file(path, error)) continue;
        const auto one = ptxas(path);
        if (one) return {"ptxas", State::ok, fmt::format("{}, {}", (*one)->version(), path)};
        return {"ptxas", State::broken, message(one.error()), "only --assembler with its path wants one"};
    }
    return {"ptxas", State::absent, "none in PATH, CUDA_HOME or /usr/local/cuda",
            "only --assembler with its path wants one"};
}

Finding worker() {
    if (const auto pool = find_assembler("workers:1"))
        return {"worker program", State::ok, "it starts"};
    else
        return {
            "worker program", State::broken, message(pool.error()),
            "ptxgraft-worker belongs beside this program: install both; --assembler default does without"};
}

Finding gpu(const std::string& driver) {
    const auto gpus = Device::list_cuda({.driver = driver});
    const std::string remedy = "kernels run on the emulator";
    if (!gpus) return {"GPU", State::absent, message(gpus.error()), remedy};
    if (gpus->empty()) return {"GPU", State::absent, "the driver finds none", remedy};
    std::vector<std::string> all;
    for (const DeviceProperties& one : *gpus) all.push_back(fmt::format("{} ({})", one.name, one.target));
    return {"GPU", State::ok,
            fmt::format("{}, driver {}", fmt::join(all, ", "), gpus->front().driver_version)};
}

Finding emulator() {
    const EmulatorVectors vectors = emulator_vectors();
    return {"emulator", State::ok, fmt::format("{}, vectors of {} bits", vectors.name, vectors.bits)};
}

// Why nothing can be written in a folder, or be made where it is not there yet; empty: it can.
std::string why_not_written(fs::path folder) {
    std::error_code error;
    folder = fs::absolute(folder, error);
    while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
    std::string path = (folder / ".ptxgraft-doctor-XXXXXX").string();
    const int file = ::mkstemp(path.data());
    if (file < 0)
        return fmt::format("nothing can be written in {}: {}", folder.string(), std::strerror(errno));
    ::close(file);
    ::unlink(path.c_str());
    return {};
}

Finding cache(const CacheFlags& flags) {
    const std::string folder = cache_folder(flags);
    const std::string remedy =
        "name a folder that can be written with --cache DIR or XDG_CACHE_HOME; without one "
        "nothing is kept between runs";
    if (folder.empty())
        return {"cache", State::absent, "neither XDG_CACHE_HOME nor HOME names a folder", remedy};
    const auto opened = Cache::open({.dir = folder});
    if (!opened) return {"cache", State::broken, message(opened.error()), remedy};
    const auto size = opened->folder();
    if (!size) return {"cache", State::broken, message(size.error()), remedy};
    if (std::string why = why_not_written(folder); !why.empty())
        return {"cache", State::broken, std::move(why), remedy};
    return {"cache", State::ok,
            fmt::format("{}, {} entries, {:.1f} of at most {:.0f} MiB", folder, size->size.entries,
                        static_cast<double>(size->size.bytes) / (1 << 20),
                        static_cast<double>(opened->options().disk_bytes) / (1 << 20))};
}

Finding templates() {
    const auto all = Template::all();
    const std::string remedy = "install share/ptxgraft/templates with the library";
    if (!all) return {"templates", State::broken, message(all.error()), remedy};
    if (all->empty()) return {"templates", State::broken, "none", remedy};
    const fs::path folder = fs::path(all->front().source_path()).parent_path().parent_path();
    return {"templates", State::ok, fmt::format("{} in {}", all->size(), folder.string())};
}

Finding stubs() {
    return {"stubs and sets", State::ok, fmt::format("{} in the library", stack::library().size())};
}

// What a command prints; empty where it fails.
std::string output_of(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text;
    char buffer[256];
    while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) text += buffer;
    return text;
}

Finding python(const std::string& program) {
    const std::string said = output_of(shell_word(program) +
                                       " -c 'import ptxgraft; print(ptxgraft.__version__ + \", \" + "
                                       "ptxgraft.__file__)' 2> /dev/null");
    if (!said.empty()) return {"Python package", State::ok, std::string(first_line(said))};
    return {"Python package", State::absent, fmt::format("{} does not import ptxgraft", program),
            "for Python: `pip install .` in ptxgraft's sources, with the Python of --python"};
}

Finding main_job() {
    const auto trial = try_main_job();
    if (trial) return {"main job", State::ok, fmt::format("{} in {:.0f} ms", trial->what, trial->ms)};
    return {"main job", State::broken, message(trial.error()),
            "the first of the above that is not ok is the likely reason"};
}

std::vector<Finding> examine(const DoctorFlags& options) {
    return {
        library(),
        nvrtc(),
        headers(),
        assembler("nvPTXCompiler", nvptxcompiler(),
                  "build with the wheel nvidia-nvptxcompiler; without it nvJitLink assembles, and refuses "
                  "modules with setmaxnreg or wgmma"),
        assembler("nvJitLink", nvjitlink(), "build with the wheel nvidia-nvjitlink"),
        installed_ptxas(),
        worker(),
        gpu(options.driver),
        emulator(),
        cache(options.cache),
        templates(),
        stubs(),
        python(options.python),
        main_job()};
}

void print(const std::vector<Finding>& findings) {
    for (const Finding& one : findings) {
        fmt::print("{:<7} {:<15} {}\n", names[std::size_t(one.state)], one.what, first_line(one.found));
        if (!one.remedy.empty()) fmt::print("{:<23} {}\n", "", one.remedy);
    }
}

Json to_json(const std::vector<Finding>& findings) {
    auto all = Json::array();
    for (const Finding& one : findings)
        all.push_back({{"what", one.what},
                       {"state", names[std::size_t(one.state)]},
                       {"found", one.found},
                       {"remedy", one.remedy.empty() ? Json(nullptr) : Json(one.remedy)}});
    return all;
}

void run_doctor(const DoctorFlags& options) {
    const std::vector<Finding> findings = examine(options);
    const bool works = findings.back().state == State::ok;
    if (options.json)
        print_json({{"version", PTXGRAFT_VERSION_STRING}, {"works", works}, {"findings", to_json(findings)}});
    else
        print(findings);
    if (!works) throw Failure{"", work_failed};
}

}  // namespace

void add_doctor(CLI::App& app) {
    auto options = std::make_shared<DoctorFlags>();
    CLI::App* const verb = app.add_subcommand(
        "doctor", "Say what of the installation is found, what is missing, and what to do about it");
    verb->add_flag(
        "--json", options->json,
        "Print JSON: {\"version\", \"works\": whether the main job does, \"findings\": [{\"what\", "
        "\"state\": \"ok\", \"absent\" (it goes without) or \"broken\", \"found\", \"remedy\"}]}");
    verb->add_option("--driver", options->driver, "The CUDA driver's library")->capture_default_str();
    verb->add_option("--python", options->python, "The Python whose package is looked for")
        ->capture_default_str();
    add_cache_dir_flag(*verb, options->cache);
    verb->footer(
        "Exit status: 0 where the main job works (CUDA to PTX, a stub, machine code, a launch on the "
        "emulator), whatever else is missing; 1 where it does not.");
    verb->callback([options] { run_doctor(*options); });
}

}  // namespace ptxgraft::cli
