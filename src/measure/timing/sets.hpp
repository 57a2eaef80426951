#pragma once
/// @file sets.hpp
/// The memory of timed launches: images, with inputs of a seed each, poisoned outputs and canaries,
/// which stay as they are; and places, where launches run on a copy of some image.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/measure/timing.hpp"

namespace ptxgraft::measure {

/// Where the tensors of a launch are in an image: canaries in front of each and behind the last, what a
/// kernel uses alone behind all others.
struct Layout {
    std::vector<std::uint64_t> offsets;  ///< of the launch's tensors
    std::uint64_t digested = 0;          ///< all but scratch, with the canaries
    std::uint64_t bytes = 0;
};
[[nodiscard]] Layout layout_of(const TemplateLaunch& launch);

class Sets {
  public:
    /// `count`: of images, and of places.
    [[nodiscard]] static Expected<Sets> make(const TimedLaunch& launch, const Device& device,
                                             std::uint64_t seed, std::size_t count);

    [[nodiscard]] std::size_t count() const { return images_.size(); }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] const Buffer& image(std::size_t k) const { return images_[k]; }
    [[nodiscard]] const Buffer& place(std::size_t k) const { return places_[k]; }
    [[nodiscard]] const std::vector<Argument>& arguments(std::size_t place) const {
        return arguments_[place];
    }
    /// What a launch on an image's copy has made of it: `bytes` are those of the place now.
    [[nodiscard]] Expected<Finding> examine(const TimedLaunch& launch, std::size_t image,
                                            std::span<const std::byte> bytes) const;

  private:
    [[nodiscard]] Expected<void> add(const TimedLaunch& launch, const Device& device, std::uint64_t seed);
    Layout layout_;
    std::vector<std::uint64_t> seeds_;
    std::vector<std::vector<std::byte>> contents_;  // of the images
    std::vector<Buffer> images_, places_;
    std::vector<std::vector<Argument>> arguments_;
};

}  // namespace ptxgraft::measure
