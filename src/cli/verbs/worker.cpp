// ptxgraft worker: checks variants on a device for a pool of another process.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/verb.hpp"
#include "ptxgraft/measure/pool.hpp"

namespace ptxgraft::cli {

void add_worker(CLI::App& app) {
    const auto flags = std::make_shared<measure::ServeOptions>();
    CLI::App* const verb = app.add_subcommand(
        "worker",
        "Check variants of kernels on a device, for a pool that speaks frames over standard input "
        "and output (measure/pool.hpp)");
    verb->add_option("--device", flags->device, "cuda:0, emulator, emulator:sm_90a …")->required();
    verb->add_option("--memory", flags->memory_bytes, "Bytes that the process may allocate; 0: no limit");
    verb->add_option("--seed", flags->check.seed, "Of the inputs");
    verb->add_option("--seeds", flags->check.seeds, "Inputs for each shape and regime");
    verb->add_option("--launches", flags->check.launches,
                     "Launches for each of them; 0: as the device needs");
    verb->add_option("--instructions", flags->check.instructions,
                     "On the emulator, a variant may run so many times the baseline's");
    verb->callback([flags] { take(measure::serve_worker(*flags)); });
}

}  // namespace ptxgraft::cli
