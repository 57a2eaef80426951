#pragma once
/// @file linking.hpp
/// The `link` route's machine code: a skeleton that was assembled once, with calls of functions that it does
/// not have; stubs, assembled as modules of such functions; and the link of both. All stubs of a site would
/// have one name, so that each has a name of its own, and the skeleton's machine code gets the name of the
/// one that is wanted.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/route.hpp"
#include "launch/module_info.hpp"
#include "link/cache.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft::kernel {

/// A function that the skeleton calls, and the one that takes its place.
struct LinkedName {
    std::string called, name;  ///< of equal length
};

/// The skeleton's machine code with other names for the functions that it calls.
[[nodiscard]] std::vector<std::byte> renamed(std::span<const std::byte> image,
                                             std::span<const LinkedName> names);

/// Links a skeleton with modules of stubs. Registers, stack and spills are in the result as after whole
/// assembly. Errors are those of link_cubins and of assemblers.
[[nodiscard]] Expected<Cubin> link_stubs(const Cubin& skeleton, std::span<const LinkedName> names,
                                         std::span<const std::shared_ptr<const Cubin>> modules,
                                         const std::string& target, const AssembleOptions& options);

/// The most registers that every entry leaves a function which is assembled by itself and called there: by
/// `.maxnreg`, or by its threads, of which all registers of a multiprocessor have to do (PTX ISA 11.4). 0
/// when none of the entries says anything.
[[nodiscard]] std::uint32_t register_ceiling(const launch::ModuleInfo& module);

/// What the candidates of one skeleton share: parts by their name and by `how` they were assembled. Threads:
/// any number may use one at once.
class Linking {
  public:
    using Part = std::shared_ptr<const Cubin>;
    [[nodiscard]] Part find(const std::string& name, const std::string& how) const;
    /// Keeps a part under a name; the oldest go when all are larger than 64 MB.
    void keep(const std::string& name, const std::string& how, Part part);

    [[nodiscard]] std::optional<RouteCosts> costs(const std::string& how) const;
    void set_costs(const std::string& how, RouteCosts costs);

    std::mutex making;  ///< held by who assembles a skeleton, so that nobody does so twice

  private:
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Part> parts_;
    std::deque<std::string> order_;                        // of parts_, the oldest first
    std::unordered_map<const Cubin*, std::size_t> users_;  // names of each part
    std::size_t bytes_ = 0;
    std::map<std::string, RouteCosts> costs_;
};

}  // namespace ptxgraft::kernel
