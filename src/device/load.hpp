#pragma once
/// @file load.hpp
/// Loading a module of which somebody has read already what Device::load reads from its text.

#include <memory>
#include <optional>
#include <string>

#include "launch/module_info.hpp"
#include "ptxgraft/device.hpp"

namespace ptxgraft::device {

/// A module on its way to a device. `info` is that of the text; a tree, where there is one, too.
struct KnownModule {
    std::shared_ptr<const SourceText> source;
    std::shared_ptr<const launch::ModuleInfo> info;
    std::optional<syntax::Module> tree = {};
};

class Backend;

class Loader {
  public:
    [[nodiscard]] static Backend& backend(const Device& device);
    /// Device::load, but nothing of the text is parsed that the device does not run itself: a GPU parses
    /// nothing, the emulator what has no tree yet. `entry` is one of the module's.
    [[nodiscard]] static Expected<Function> load(const Device& device, KnownModule module,
                                                 const launch::EntryInfo& entry, const Cubin* cubin);
    [[nodiscard]] static const SourceText& source(const Function& function);
    /// Errc::target_differs unless the device runs PTX of this `.target`.
    [[nodiscard]] static Expected<void> check_target(const Device& device, std::string_view ptx_target);
};

}  // namespace ptxgraft::device
