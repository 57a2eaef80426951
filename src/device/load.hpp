#pragma once
/// @file load.hpp
/// Loading a module of which somebody has read already what Device::load reads from its text.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launch/module_info.hpp"
#include "ptxgraft/device.hpp"

namespace ptxgraft::device {

/// A variable of a module that holds constants of a stub, and its bytes: what each loaded function computes
/// with is its own.
struct Bank {
    std::string variable;
    std::vector<std::byte> bytes;
};

/// A module on its way to a device. `info` is that of the text; a tree, where there is one, too.
struct KnownModule {
    std::shared_ptr<const SourceText> source;
    std::shared_ptr<const launch::ModuleInfo> info;
    std::optional<syntax::Module> tree = {};
    std::vector<Bank> banks = {};  ///< what `info` does not know
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
    /// Other bytes for a bank that the function's module was loaded with, by its number: for what is launched
    /// later, on that stream.
    [[nodiscard]] static Expected<void> set_bank(const Function& function, std::size_t number,
                                                 std::span<const std::byte> bytes, const Stream* stream);
    /// Errc::target_differs unless the device runs PTX of this `.target`.
    [[nodiscard]] static Expected<void> check_target(const Device& device, std::string_view ptx_target);
};

}  // namespace ptxgraft::device
