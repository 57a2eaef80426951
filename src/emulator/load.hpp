#pragma once
/// @file load.hpp
/// Emulator::load for those who have parsed the module.

#include <memory>

#include "launch/module_info.hpp"
#include "ptxgraft/emulator.hpp"

namespace ptxgraft::emulator {

class Loader {
  public:
    /// `info` is that of the tree.
    [[nodiscard]] static Expected<std::shared_ptr<const EmulatedModule>> load(
        Emulator& emulator, syntax::Module tree, std::shared_ptr<const launch::ModuleInfo> info);
};

}  // namespace ptxgraft::emulator
