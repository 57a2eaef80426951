// Any text is a launch file or an error with a place in the text. What a launch file plans stays within its
// bytes, and its rules and expectations can be computed.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/launch/file.hpp"

namespace {

using namespace ptxgraft;
using namespace ptxgraft::cli;

// Files of 2 x 2 numbers, of a type that the name says; a file that ends early; none.
Expected<std::string> file(const std::string& path) {
    constexpr std::size_t elements = 4;
    for (const auto& [word, dtype, bytes] : {std::tuple{"f8", "<f8", 8u},
                                             {"f4", "<f4", 4u},
                                             {"f2", "<f2", 2u},
                                             {"u4", "<u4", 4u},
                                             {"i1", "|i1", 1u},
                                             {"b1", "|b1", 1u}})
        if (path.find(word) != std::string::npos)
            return write_npy({dtype, {2, 2}, std::vector<std::byte>(elements * bytes, std::byte{1})});
    if (path.find("short") != std::string::npos) return std::string("\x93NUMPY\x01\x00\x10\x00", 10);
    return fail(Errc::file_not_found, path);
}

void require(bool holds) {
    if (!holds) std::abort();
}

void check_places(const LaunchPlan& plan, const std::vector<PlannedPlace>& places, std::size_t bytes) {
    for (const PlannedPlace& place : places) {
        const bool is_map = place.map != PlannedPlace::no_map;
        require(place.at + (is_map ? 128 : 8) <= bytes && place.buffer < plan.buffers.size());
        require(!is_map || place.map < plan.maps.size());
        const PlannedBuffer& buffer = plan.buffers[place.buffer];
        require(!buffer.has_shape || place.offset <= buffer.bytes);
        if (!buffer.has_shape) static_cast<void>(check_place(place, plan, 100));
    }
}

void check_buffer(const PlannedBuffer& buffer) {
    constexpr std::uint64_t most = 1 << 12;
    require(buffer.contents != Contents::data || buffer.array.data.size() == buffer.bytes);
    require(buffer.contents != Contents::source || buffer.source);
    if (buffer.has_shape) require(buffer.bytes % buffer.type.bytes == 0);
    if (!buffer.source) return;
    std::vector<std::byte> some(std::min(buffer.bytes, most)), rest(some.size());
    generate(*buffer.source, buffer.type, 0, some);
    if (some.size() < 2 * buffer.type.bytes) return;
    const std::size_t half = some.size() / buffer.type.bytes / 2;
    rest.resize(some.size() - half * buffer.type.bytes);
    generate(*buffer.source, buffer.type, half, rest);
    require(std::memcmp(&some[half * buffer.type.bytes], rest.data(), rest.size()) == 0);
}

void check_output(const LaunchPlan& plan, const PlannedOutput& output) {
    constexpr std::uint64_t most = 1 << 12;
    const PlannedBuffer& buffer = plan.buffers.at(output.buffer);
    require(buffer.has_shape && (!output.file.empty() || output.expected));
    if (!output.expected || buffer.bytes > most) return;
    Array array{buffer.array.dtype, buffer.array.shape, std::vector<std::byte>(buffer.bytes)};
    static_cast<void>(difference(array, *output.expected));
    if (!output.expected->source) return;
    // What a rule expects is what it gives.
    const Expectation& expected = *output.expected;
    if (expected.wanted_type.name != buffer.type.name) return;
    generate(*expected.source, expected.wanted_type, 0, array.data);
    require(expected.tolerance.sum || difference(array, expected).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string text(reinterpret_cast<const char*>(data), size);
    const auto plan = parse_launch_file(text, "folder/launch.json", file);
    if (!plan) {
        const Error& error = plan.error();
        require(error.code == Errc::launch_file_invalid && error.source != nullptr);
        require(size == 0 || (error.span.begin <= error.span.end && error.span.end <= size + 1));
        require(!describe(error).empty());
        return 0;
    }
    require(!plan->launches.empty());
    for (const PlannedBuffer& buffer : plan->buffers) {
        check_buffer(buffer);
        check_places(*plan, buffer.places, buffer.array.data.size());
    }
    for (const PlannedLaunch& launch : plan->launches) {
        require(launch.repeat != 0);
        for (const PlannedArgument& argument : launch.arguments)
            check_places(*plan, argument.value.places, argument.value.bytes.size());
        for (const PlannedOutput& output : launch.outputs) check_output(*plan, output);
    }
    return 0;
}
