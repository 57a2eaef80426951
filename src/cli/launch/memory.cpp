// Makes the buffers of a launch file on a device, and reads them back.

#include "cli/launch/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "cli/text_file.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

template <class T> void put(std::vector<std::byte>& bytes, std::size_t at, const T& value) {
    std::memcpy(&bytes[at], &value, sizeof value);
}

// The element count of a rule is not in memory at once.
void fill_by_rule(const PlannedBuffer& planned, const Buffer& buffer) {
    constexpr std::uint64_t piece = std::uint64_t{1} << 20;  // elements
    const std::uint64_t count = planned.bytes / planned.type.bytes;
    std::vector<std::byte> bytes;
    for (std::uint64_t first = 0; first < count; first += piece) {
        bytes.resize(std::min(piece, count - first) * planned.type.bytes);
        generate(*planned.source, planned.type, first, bytes);
        take(buffer.write(bytes, first * planned.type.bytes), {}, planned.text);
    }
}

}  // namespace

void fail_in_launch_file(Error error, const LaunchPlan& plan, Span span) {
    if (plan.source != nullptr) {
        error.source = plan.source;
        error.span = span;
    }
    fail_work(error);
}

LaunchMemory::LaunchMemory(LaunchPlan& plan, const Device& device, const Function& function) : plan_(plan) {
    for (PlannedBuffer& planned : plan.buffers) buffers_.push_back(make(planned, device, function));
    // Addresses are known now: buffers may hold each other's.
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        PlannedBuffer& planned = plan.buffers[i];
        if (planned.contents == Contents::source) fill_by_rule(planned, buffers_[i]);
        if (planned.contents != Contents::data) continue;
        put_places(planned.array.data, planned.places);
        take(buffers_[i].write(planned.array.data), {}, planned.text);
    }
}

Buffer LaunchMemory::make(PlannedBuffer& planned, const Device& device, const Function& function) const {
    if (planned.variable.empty()) {
        Buffer buffer = take(device.allocate(planned.bytes), {}, planned.text);
        if (planned.contents == Contents::nothing) take(buffer.poison(std::byte{0xFF}), {}, planned.text);
        return buffer;
    }
    auto variable = function.variable(planned.variable);
    if (!variable) fail_in_launch_file(variable.error(), plan_, planned.span);
    if (planned.has_shape && variable->bytes() != planned.bytes) {
        auto why = fmt::format("the variable {} has {} bytes, what is said of it here has {}",
                               planned.variable, variable->bytes(), planned.bytes);
        fail_in_launch_file(
            {Errc::launch_file_invalid, {}, 0, std::make_shared<const std::string>(std::move(why))}, plan_,
            planned.span);
    }
    return std::move(*variable);
}

void LaunchMemory::put_places(std::vector<std::byte>& bytes, const std::vector<PlannedPlace>& places) const {
    for (const PlannedPlace& place : places) {
        const Buffer& buffer = buffers_[place.buffer];
        if (const auto fits = check_place(place, plan_, buffer.bytes()); !fits)
            fail_in_launch_file(fits.error(), plan_, place.span);
        if (place.map == PlannedPlace::no_map) {
            put(bytes, place.at, buffer.address() + place.offset);
            continue;
        }
        TensorMapOptions options = plan_.maps[place.map];
        options.address = place.offset;
        const auto map = buffer.encode_tensor_map(std::move(options));
        if (!map) fail_in_launch_file(map.error(), plan_, place.span);
        put(bytes, place.at, *map);
    }
}

std::vector<std::vector<std::byte>> LaunchMemory::arguments(const PlannedLaunch& launch) const {
    std::vector<std::vector<std::byte>> result;
    for (const PlannedArgument& argument : launch.arguments) {
        result.push_back(argument.value.bytes);
        put_places(result.back(), argument.value.places);
    }
    return result;
}

void LaunchMemory::read_outputs(const PlannedLaunch& launch, std::vector<LaunchResult>& results) const {
    for (const PlannedOutput& output : launch.outputs) {
        const PlannedBuffer& planned = plan_.buffers[output.buffer];
        Array array{planned.array.dtype, planned.array.shape, {}};
        array.data.resize(buffers_[output.buffer].bytes());
        take(buffers_[output.buffer].read(array.data), {}, planned.text);
        results.push_back({&output, std::move(array)});
    }
}

void write_outputs(std::vector<LaunchResult>& results) {
    std::vector<OutputFile> files;
    for (const LaunchResult& result : results)
        if (!result.output->file.empty()) files.push_back({result.output->file, write_npy(result.array)});
    take(write_files(files));
}

std::vector<BufferDifference> differences(const LaunchPlan& plan, const std::vector<LaunchResult>& results) {
    std::vector<BufferDifference> all;
    for (const auto& [output, array] : results) {
        std::string what = output->expected ? difference(array, *output->expected) : "";
        if (!what.empty()) all.push_back({plan.buffers[output->buffer].text, std::move(what)});
    }
    return all;
}

}  // namespace ptxgraft::cli
