// The program ptxgraft: its verbs, and its exit status.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>

#include "ptxgraft/link.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

std::string version_text() {
    const Assembler& assembler = default_assembler();
    const std::string of_linker = nvjitlink()->version();
    const std::string linker = &assembler == nvjitlink() ? ""
                               : of_linker.empty()       ? ", no nvjitlink"
                                                         : ", nvjitlink " + of_linker;
    const std::string nvrtc = nvrtc_version();
    return fmt::format("ptxgraft {} ({}, {} {}{})", PTXGRAFT_VERSION_STRING,
                       nvrtc.empty() ? "no NVRTC" : "NVRTC " + nvrtc, assembler.name(), assembler.version(),
                       linker);
}

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
    const auto chosen = app->get_subcommands();
    const std::string verb = chosen.empty() ? "" : " " + chosen.front()->get_name();
    return fmt::format("error: {}\nRun 'ptxgraft{} --help' for how to use it.\n", error.what(), verb);
}

void set_up(CLI::App& app) {
    app.set_version_flag("--version", version_text);
    app.set_help_flag("-h,--help", "Print this help");
    app.require_subcommand(1);
    app.failure_message(usage_message);
    app.footer(
        "A FILE that ends in .cu is CUDA and is compiled first; any other is PTX. '-' is standard input or "
        "output.\n"
        "Exit status: 0 success, 1 the work failed, 2 the command line is wrong, 130 Ctrl-C ended it.");
#define PTXGRAFT_VERB(name) add_##name(app);
#include "verbs/verbs.def"
#undef PTXGRAFT_VERB
}

int run(int argc, char** argv) {
    CLI::App app{"ptxgraft: fill marked sites of CUDA kernels with generated PTX, without recompiling CUDA",
                 "ptxgraft"};
    set_up(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // --help, --version
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        app.exit(error);
        return wrong_usage;
    }
    return succeeded;
}

int report(std::string_view text, Status status) {
    std::fflush(stdout);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return status;
}

}  // namespace
}  // namespace ptxgraft::cli

int main(int argc, char** argv) {
    using namespace ptxgraft::cli;
    std::signal(SIGXFSZ,
                SIG_IGN);  // a file that may not grow is an error of the write, not the end of the program
    try {
        const int status = run(argc, argv);
        std::cout.flush();
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
            return report("error: cannot write standard output\n", work_failed);
        return status;
    } catch (const Failure& failure) {
        return report(failure.text, failure.status);
    } catch (const std::bad_alloc&) {
        return report("error: out of memory\n", work_failed);
    } catch (const std::exception& error) {
        return report(fmt::format("error: {}\n", error.what()), work_failed);
    }
}
