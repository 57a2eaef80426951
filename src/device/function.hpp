#pragma once
/// @file function.hpp
/// What a Function is made of.

#include <memory>
#include <span>

#include "device/backend.hpp"

namespace ptxgraft {

struct Function::Data {
    std::shared_ptr<Device::Data> device;
    std::shared_ptr<const SourceText> source;
    std::shared_ptr<const launch::ModuleInfo> module;
    const launch::EntryInfo* entry;  ///< of `module`
    launch::EntryLimits limits;      ///< of `loaded`
    std::unique_ptr<const device::LoadedEntry> loaded;

    /// The launch keeps the rules. It refers to `config` and `arguments`. Allocates nothing.
    [[nodiscard]] Expected<device::CheckedLaunch> check(const LaunchConfig& config,
                                                        std::span<const Argument> arguments,
                                                        const Stream* stream) const;
    /// The caller may not hold the PTX any more: a place in it comes with its text.
    [[nodiscard]] tl::unexpected<Error> with_source(Error error) const;
};

}  // namespace ptxgraft
