#pragma once
/// @file load.hpp
/// Emulator::load for those who have parsed the module.

#include <memory>

#include "launch/module_info.hpp"
#include "ptxgraft/emulator.hpp"

namespace ptxgraft::emulator {

class Loader {
  public:
    /// `info` is that of the tree; null: nobody has read it.
    [[nodiscard]] static Expected<std::shared_ptr<const EmulatedModule>> load(
        Emulator& emulator, syntax::Module tree, std::shared_ptr<const launch::ModuleInfo> info);
    /// Static shared memory of an entry, in bytes. Errors: those of launch::find_entry.
    [[nodiscard]] static Expected<std::uint32_t> static_shared_bytes(const EmulatedModule& module,
                                                                     std::string_view entry);
};

}  // namespace ptxgraft::emulator
