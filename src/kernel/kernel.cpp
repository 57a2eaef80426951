// Kernel: a graft that can be launched.

#include "ptxgraft/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "device/load.hpp"
#include "kernel/kernel_data.hpp"

namespace ptxgraft {

Expected<Kernel> Kernel::borrow(const Device& device, FunctionHandle kind, std::uint64_t handle) {
    return Kernel(std::make_shared<const Data>(Data{{}, TRY(device.borrow_function(kind, handle))}));
}

Expected<void> Kernel::launch_with(const LaunchConfig& config, std::span<const Argument> arguments,
                                   const Stream* stream) const {
    return data_->function.launch(config, arguments, stream);
}

Expected<std::size_t> Kernel::bank_of(std::string_view site) const {
    const auto& banks = data_->code.banks;
    const auto found = std::ranges::find(banks, site, &ConstantBank::site);
    if (found != banks.end()) return static_cast<std::size_t>(found - banks.begin());
    return fail(Errc::constants_differ, fmt::format("site {} has none that are data", site));
}

Expected<void> Kernel::set_constants(std::string_view site, const Stub& stub, const Stream* stream) const {
    const std::size_t number = TRY(bank_of(site));
    if (!stub.has_structure_of(data_->code.banks[number].stub))
        return fail(Errc::constants_differ, fmt::format("site {} has a stub of another structure", site));
    return device::Loader::set_bank(data_->function, number, std::as_bytes(stub.constants()), stream);
}

Expected<void> Kernel::set_constants(std::string_view site, std::span<const std::uint64_t> constants,
                                     const Stream* stream) const {
    const std::size_t number = TRY(bank_of(site));
    const std::size_t count = data_->code.banks[number].stub.constants().size();
    if (constants.size() != count)
        return fail(Errc::constants_differ,
                    fmt::format("site {} has {}, not {}", site, count, constants.size()));
    return device::Loader::set_bank(data_->function, number, std::as_bytes(constants), stream);
}

std::string_view Kernel::entry() const { return data_->function.entry(); }
const std::string& Kernel::ptx() const { return device::Loader::source(data_->function).text; }
const MachineCode& Kernel::machine_code() const { return data_->code; }
const Cubin* Kernel::cubin() const { return data_->code.cubin.get(); }
const GraftTimes& Kernel::times() const { return data_->code.times; }
const std::vector<RouteChoice>& Kernel::routes() const { return data_->code.routes; }
const Function& Kernel::function() const { return data_->function; }

}  // namespace ptxgraft
