#pragma once
/// What disturbs times on a GPU, as a script: for simulated samples, and for the clock of the fake driver.

#include <cmath>
#include <cstdint>
#include <string>

#include "ptxgraft/program.hpp"

namespace ptxgraft {

enum class Noise : std::uint8_t {
    none,
    white,     ///< each sample by itself, of sigma
    ramp,      ///< it warms up: from 10 % too slow to none, over the first samples
    spikes,    ///< one sample in twenty takes up to twice the time
    bimodal,   ///< three samples in ten take 3 % more
    drift,     ///< a random walk, of sigma a sample
    throttle,  ///< every now and then 17 % slower for a while, as is the clock
};
inline constexpr Noise all_noise[] = {Noise::none,    Noise::white, Noise::ramp,    Noise::spikes,
                                      Noise::bimodal, Noise::drift, Noise::throttle};
inline std::string noise_name(Noise noise) {
    static constexpr const char* names[] = {"none",    "white", "ramp",    "spikes",
                                            "bimodal", "drift", "throttle"};
    return names[static_cast<int>(noise)];
}

/// The factor of each sample's time, one after the other. All kinds but `none` have white noise too.
class NoiseScript {
  public:
    NoiseScript(Noise noise, std::uint64_t seed, double sigma = 0.0025)
        : noise_(noise), sigma_(sigma), random_(seed, static_cast<std::uint64_t>(noise)) {}

    double next() {
        const double tick = tick_++;
        if (noise_ == Noise::none) return 1;
        double factor = 1 + sigma_ * normal();
        if (noise_ == Noise::ramp) factor *= 1 + 0.1 * std::exp(-tick / 40);
        if (noise_ == Noise::spikes && random_.chance(0.05)) factor *= 1 + random_.unit();
        if (noise_ == Noise::bimodal && random_.chance(0.3)) factor *= 1.03;
        if (noise_ == Noise::drift) factor *= (walk_ *= 1 + sigma_ * normal());
        if (noise_ == Noise::throttle) {
            if (random_.chance(0.02)) throttled_ = 5;
            if (throttled_ > 0) --throttled_, factor /= 0.83;
        }
        return factor;
    }
    /// Of the clock in the sample that next() gave last.
    [[nodiscard]] double clock() const { return noise_ == Noise::throttle && throttled_ > 0 ? 0.83 : 1; }

  private:
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - random_.unit()));
        return radius * std::cos(6.283185307179586 * random_.unit());
    }
    Noise noise_;
    double sigma_;
    stack::Random random_;
    double tick_ = 0, walk_ = 1;
    int throttled_ = 0;
};

}  // namespace ptxgraft
