#pragma once
/// @file observe.hpp
/// What a device of a C caller tells of its launches.

#include <memory>
#include <mutex>
#include <optional>

#include "capi/boundary.hpp"
#include "ptxgraft/emulator_observer.hpp"

namespace ptxgraft::capi {

/// A trace and a profile. The emulator that it observes may live on in kernels when the device is
/// destroyed: an Observation is never freed, but what it holds is, once it is ended. The trace's callback
/// may read, clear and end what calls it.
class Observation : public EmulatorObserver {
  public:
    /// Null where nothing of this is asked for. Its last owner ends it.
    [[nodiscard]] static std::shared_ptr<Observation> make(const ptxgraft_device_options& given);

    void step(const ObservedStep& step) override;
    /// False where no profile is kept.
    [[nodiscard]] bool clear();
    /// Calls read(profile) while no step comes; false where no profile is kept.
    template <class Read> [[nodiscard]] bool read(Read read) {
        const std::scoped_lock lock(mutex_);
        if (profile_ == nullptr) return false;
        read(*profile_);
        return true;
    }

  private:
    void end();

    std::recursive_mutex mutex_;            // held while the callback runs, which comes back
    std::shared_ptr<EmulatorTrace> trace_;  // also a step's that calls it
    std::unique_ptr<EmulatorProfile> profile_;
};

}  // namespace ptxgraft::capi
