#pragma once
// The machines of the sites that one thread compiled for last.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "base/try.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// Keeps a few machines: a search compiles for one site many times.
class MachineCache {
  public:
    /// The machine stays valid for as many calls as there are machines kept.
    Expected<const Machine*> find(const std::shared_ptr<const InstructionSet>& set,
                                  const Signature& signature, const MachineOptions& options) {
        for (const Kept& kept : kept_)
            if (kept.machine && is_same(kept, set, signature, options)) return &*kept.machine;
        auto machine = TRY(Machine::make(set, signature, options));
        Kept& kept = kept_[next_++ % kept_.size()];
        kept = {std::move(machine), options};
        return &*kept.machine;
    }

  private:
    struct Kept {
        std::optional<Machine> machine;
        MachineOptions options;
    };
    static bool is_same(const Kept& kept, const std::shared_ptr<const InstructionSet>& set,
                        const Signature& signature, const MachineOptions& options) {
        return &kept.machine->set() == set.get() && kept.options.policy.allowed == options.policy.allowed &&
               kept.options.target == options.target && kept.options.ptx_version == options.ptx_version &&
               kept.machine->signature() == signature;
    }

    std::array<Kept, 4> kept_;
    std::size_t next_ = 0;
};

}  // namespace ptxgraft::stack
