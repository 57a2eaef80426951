// The launches of a kernel and of its reference, and their memory.

#include "template/launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"

namespace ptxgraft::templates {
namespace {

constexpr std::byte poison{0xFF};  // a NaN in every floating type
// The emulator has none to count: so many are enough for blocks that share tiles.
constexpr std::uint32_t emulated_multiprocessors = 2;

}  // namespace

Expected<Launches> launches_of(const Template& from, const Device& device, const LaunchOptions& options) {
    const DeviceProperties properties = TRY(device.properties());
    const std::uint32_t multiprocessors = std::max(properties.multiprocessors, emulated_multiprocessors);
    Launches made;
    made.kernel = TRY(from.launch(options.dimensions, options.choices, multiprocessors));
    made.reference = TRY(from.reference_launch(options.dimensions, options.choices));
    for (const auto& [name, value] : options.numbers) {
        TRY(made.kernel.set(name, value));
        TRY(made.reference.set(name, value));
    }
    for (const std::string& name : options.null) {
        const TemplateTensor* const tensor = find_tensor(made.kernel, name);
        if (tensor == nullptr || !tensor->nullable)
            return fail(Errc::argument_invalid, fmt::format("no tensor {} may be a null pointer", name));
    }
    return made;
}

const TemplateTensor* find_tensor(const TemplateLaunch& launch, std::string_view name) {
    const auto found = std::ranges::find(launch.tensors, name, &TemplateTensor::name);
    return found == launch.tensors.end() ? nullptr : &*found;
}

bool has_input(const TemplateTensor& tensor) {
    return !tensor.zeroed && (tensor.access == TensorAccess::in || tensor.access == TensorAccess::modified);
}

Expected<void> begin_tensor(const Buffer& buffer, const TemplateTensor& tensor,
                            std::span<const std::byte> input) {
    if (tensor.zeroed) return buffer.fill(std::byte{0});
    return has_input(tensor) ? buffer.write(input) : buffer.poison(poison);
}

Expected<void> clear_zeroed(const TemplateLaunch& launch, const std::vector<Buffer>& buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i)
        if (launch.tensors[i].zeroed) TRY(buffers[i].fill(std::byte{0}));
    return {};
}

Expected<std::vector<Argument>> arguments_over(const TemplateLaunch& launch,
                                               const std::vector<Buffer>& buffers,
                                               const std::vector<std::string>& null) {
    std::vector<const Buffer*> pointers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const TemplateTensor& tensor = launch.tensors[i];
        const bool is_null = tensor.is_places || std::ranges::find(null, tensor.name) != null.end();
        pointers.push_back(is_null ? nullptr : &buffers[i]);
    }
    return launch.arguments(pointers);
}

}  // namespace ptxgraft::templates
