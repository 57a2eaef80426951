// Kernel: a graft that can be launched.

#include "ptxgraft/kernel.hpp"

#include "device/load.hpp"
#include "kernel/kernel_data.hpp"

namespace ptxgraft {

Expected<void> Kernel::launch_with(const LaunchConfig& config, std::span<const Argument> arguments,
                                   const Stream* stream) const {
    return data_->function.launch(config, arguments, stream);
}

std::string_view Kernel::entry() const { return data_->function.entry(); }
const std::string& Kernel::ptx() const { return device::Loader::source(data_->function).text; }
const MachineCode& Kernel::machine_code() const { return data_->code; }
const Cubin* Kernel::cubin() const { return data_->code.cubin.get(); }
const GraftTimes& Kernel::times() const { return data_->code.times; }
const std::vector<RouteChoice>& Kernel::routes() const { return data_->code.routes; }
const Function& Kernel::function() const { return data_->function; }

}  // namespace ptxgraft
