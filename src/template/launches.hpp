#pragma once
/// @file launches.hpp
/// The launches of a kernel and of its reference, and their memory.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/template.hpp"

namespace ptxgraft::templates {

struct Launches {
    TemplateLaunch kernel, reference;
};
/// What is said of both.
struct LaunchOptions {
    const Dimensions& dimensions;
    const Choices& choices;
    const std::map<std::string, double, std::less<>>& numbers;
    const std::vector<std::string>& null;
};
/// For a device with so many multiprocessors. Errors: those of Template::launch and TemplateLaunch::set;
/// Errc::argument_invalid for a tensor that may not be a null pointer.
[[nodiscard]] Expected<Launches> launches_of(const Template& from, const Device& device,
                                             const LaunchOptions& options);

/// The tensor of that name; null where a launch has none.
[[nodiscard]] const TemplateTensor* find_tensor(const TemplateLaunch& launch, std::string_view name);
/// Makes a buffer what its tensor is when a launch begins: zeros, `input`, or what no program is to read.
[[nodiscard]] Expected<void> begin_tensor(const Buffer& buffer, const TemplateTensor& tensor,
                                          std::span<const std::byte> input);
/// Makes zeros again what has to be zeros when a launch begins, behind everything that was launched before:
/// what launches a template more than once calls it before each launch but the first.
[[nodiscard]] Expected<void> clear_zeroed(const TemplateLaunch& launch, const std::vector<Buffer>& buffers);
/// Whether its bytes are an input.
[[nodiscard]] bool has_input(const TemplateTensor& tensor);
/// The arguments of a launch over one buffer for each tensor; null pointers for those of `null`, and for
/// those whose random elements would mean nothing.
[[nodiscard]] Expected<std::vector<Argument>> arguments_over(const TemplateLaunch& launch,
                                                             const std::vector<Buffer>& buffers,
                                                             const std::vector<std::string>& null);

}  // namespace ptxgraft::templates
