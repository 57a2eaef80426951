// The memory of timed launches: images of inputs and outputs, and the places where launches run.
#include "measure/timing/sets.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "template/launches.hpp"

namespace ptxgraft::measure {
namespace {

constexpr std::uint64_t alignment = 1024;  // of tensor maps and swizzled tiles too
constexpr std::byte canary{0xA5}, poison{0xFF};

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool is_scratch(const TemplateTensor& tensor) { return tensor.access == TensorAccess::scratch; }

Expected<std::vector<std::byte>> begin_of(const TimedLaunch& launch, const TemplateTensor& tensor,
                                          std::uint64_t seed) {
    if (!templates::has_input(tensor))
        return std::vector<std::byte>(tensor.bytes, tensor.zeroed ? std::byte{0} : poison);
    std::vector<std::byte> bytes =
        launch.input ? TRY(launch.input(tensor, seed)) : random_bytes(tensor, seed);
    if (bytes.size() == tensor.bytes) return bytes;
    return fail(Errc::argument_invalid, "the input of " + tensor.name + " has another size than its tensor");
}

Expected<std::vector<std::byte>> content_of(const TimedLaunch& launch, const Layout& layout,
                                            std::uint64_t seed) {
    std::vector<std::byte> content(layout.bytes, canary);
    for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
        const std::vector<std::byte> bytes = TRY(begin_of(launch, launch.launch.tensors[i], seed));
        std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(layout.offsets[i]));
    }
    return content;
}

Expected<std::vector<Argument>> arguments_at(const TimedLaunch& launch, const Layout& layout,
                                             const Device& device, const Buffer& place) {
    std::vector<Buffer> tensors;
    for (std::size_t i = 0; i < layout.offsets.size(); ++i)
        tensors.push_back(
            TRY(device.borrow_buffer(place.address() + layout.offsets[i], launch.launch.tensors[i].bytes)));
    return templates::arguments_over(launch.launch, tensors, launch.null);
}

}  // namespace

Layout layout_of(const TemplateLaunch& launch) {
    Layout layout;
    layout.offsets.resize(launch.tensors.size());
    for (const bool scratch : {false, true}) {
        for (std::size_t i = 0; i < launch.tensors.size(); ++i) {
            if (is_scratch(launch.tensors[i]) != scratch) continue;
            layout.offsets[i] = layout.bytes + alignment;
            layout.bytes = layout.offsets[i] + aligned(launch.tensors[i].bytes);
        }
        layout.bytes += alignment;
        if (!scratch) layout.digested = layout.bytes;
    }
    return layout;
}

Expected<Sets> Sets::make(const TimedLaunch& launch, const Device& device, std::uint64_t seed,
                          std::size_t count) {
    Sets sets;
    sets.layout_ = layout_of(launch.launch);
    for (std::size_t k = 0; k < count; ++k) TRY(sets.add(launch, device, seed + k));
    return sets;
}

Expected<void> Sets::add(const TimedLaunch& launch, const Device& device, std::uint64_t seed) {
    seeds_.push_back(seed);
    contents_.push_back(TRY(content_of(launch, layout_, seed)));
    images_.push_back(TRY(device.upload(contents_.back())));
    places_.push_back(TRY(device.allocate(layout_.bytes)));
    arguments_.push_back(TRY(arguments_at(launch, layout_, device, places_.back())));
    return {};
}

Expected<Finding> Sets::examine(const TimedLaunch& launch, std::size_t image,
                                std::span<const std::byte> bytes) const {
    const std::vector<std::byte>& before = contents_[image];
    const std::vector<TemplateTensor>& tensors = launch.launch.tensors;
    const auto same = [&](std::uint64_t begin, std::uint64_t end) {
        return std::ranges::equal(std::span(before).subspan(begin, end - begin),
                                  bytes.subspan(begin, end - begin));
    };
    std::vector<std::size_t> order(tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return layout_.offsets[i]; });
    std::uint64_t end = 0;
    std::vector<std::vector<std::byte>> now(tensors.size());
    for (const std::size_t i : order) {
        const std::uint64_t begin = layout_.offsets[i];
        if (!same(end, begin)) return Finding::out_of_bounds;
        end = begin + tensors[i].bytes;
        if (tensors[i].access == TensorAccess::in && !same(begin, end)) return Finding::input_changed;
        now[i].assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                      bytes.begin() + static_cast<std::ptrdiff_t>(end));
    }
    if (!same(end, layout_.bytes)) return Finding::out_of_bounds;
    const bool is_right = TRY(launch.is_right(seeds_[image], now));
    return is_right ? Finding::right : Finding::wrong;
}

}  // namespace ptxgraft::measure
