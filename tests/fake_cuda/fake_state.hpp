#pragma once
// What the files of the fake driver share: its state, and how calls begin and end.

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "device/driver.hpp"
#include "fake_cuda.hpp"

// The names are the driver's; driver.hpp declares their types.
#define FAKE extern "C" __attribute__((visibility("default")))

namespace fake {

using namespace ptxgraft::driver;

inline FakeCuda state;
inline std::recursive_mutex state_mutex;

inline std::mutex hang_mutex;
inline std::condition_variable hang_changed;
inline bool is_hanging = false, may_go = false;

template <class Handle> std::uint64_t number(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}

inline void hang() {
    std::unique_lock lock(hang_mutex);
    is_hanging = true;
    hang_changed.notify_all();
    hang_changed.wait(lock, [] { return may_go; });
    is_hanging = may_go = false;
}

inline std::vector<std::uint64_t>* contexts_of_this_thread() {
    const auto found = state.current.find(std::this_thread::get_id());
    return found == state.current.end() ? nullptr : &found->second;
}

/// A call from its begin to its end: it is recorded, and has the state for itself.
class Call {
  public:
    enum class In : std::uint8_t { driver, context };
    explicit Call(const char* name, In in = In::context) {
        if (state.hanging_call == name && state.hanging_after-- == 0) hang();
        lock_ = std::unique_lock(state_mutex);
        ++state.calls[name];
        if (in == In::context) state.called_without_context |= contexts_of_this_thread() == nullptr;
        if (in == In::context && state.lost_with != 0) result = static_cast<Result>(state.lost_with);
        if (state.on_call) state.on_call(state, name);
        if (state.failing_call != name || state.failing_after-- > 0) return;
        if (state.failing_once) state.failing_call.clear();
        result = static_cast<Result>(state.failing_result);
        if (state.failing_for_ever) state.lost_with = state.failing_result;
    }
    Result result = Result::success;
    [[nodiscard]] bool failed() const { return result != Result::success; }

  private:
    std::unique_lock<std::recursive_mutex> lock_;
};

// For those that only fail as they are told.
inline Result in_context(const char* name) { return Call(name).result; }

inline constexpr auto invalid_value = Result::invalid_value;

inline bool inside(DevicePointer address, std::size_t bytes) {
    auto after = state.allocations.upper_bound(address);
    if (after == state.allocations.begin()) return false;
    const auto& [base, size] = *--after;
    return address + bytes <= base + size;
}

inline void* host(DevicePointer address) { return reinterpret_cast<void*>(address); }

inline std::uint64_t new_number() {
    static std::uint64_t last = 0;
    return ++last * 16;
}
// Of all kinds each has a number of its own.
template <class Handle> Handle new_handle() { return reinterpret_cast<Handle>(new_number()); }

inline const std::vector<std::size_t>& argument_sizes_of(const std::string& function) {
    const auto own = state.argument_sizes_of.find(function);
    return own == state.argument_sizes_of.end() ? state.argument_sizes : own->second;
}

// Which launch the driver would make of this; what it does to memory comes when it runs.
inline FakeLaunch launch_of(Function function, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
                            unsigned shared_bytes, Stream stream, void** parameters) {
    FakeLaunch launch{state.functions[number(function)], grid, block, shared_bytes, number(stream), {}};
    if (const auto text = state.texts.find(number(function)); text != state.texts.end())
        launch.text = text->second;
    const auto& sizes = argument_sizes_of(launch.function);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto* bytes = static_cast<const std::byte*>(parameters[i]);
        launch.arguments.emplace_back(bytes, bytes + sizes[i]);
    }
    return launch;
}

inline void set(FakeLaunch& launch, LaunchAttributeId id, const LaunchAttributeValue& value) {
    switch (id) {
        case LaunchAttributeId::cooperative: launch.cooperative = value.cooperative == 1; break;
        case LaunchAttributeId::cluster_dimension:
            launch.cluster = {value.cluster[0], value.cluster[1], value.cluster[2]};
            break;
        case LaunchAttributeId::programmatic_stream_serialization:
            launch.programmatic = value.programmatic == 1;
            break;
        case LaunchAttributeId::priority: launch.priority = value.priority; break;
    }
}

inline constexpr auto capture_unsupported = static_cast<Result>(900),
                      capture_invalidated = static_cast<Result>(901);

inline bool is_captured(Stream stream) { return state.captures.contains(number(stream)); }

inline Result run(FakeLaunch launch) {
    if (const auto captured = state.captures.find(launch.stream);
        captured != state.captures.end() && !launch.of_graph) {
        if (state.capture_is_invalidated) return capture_invalidated;
        state.graph_launches[captured->second].push_back(std::move(launch));
        return Result::success;
    }
    if (launch.function == "fill") {
        DevicePointer target = 0;
        unsigned count = 0;
        std::memcpy(&target, launch.arguments[0].data(), sizeof(target));
        std::memcpy(&count, launch.arguments[1].data(), sizeof(count));
        if (!inside(target, count)) return Result::illegal_address;
        std::memset(host(target), static_cast<int>(launch.arguments[2][0]), count);
    }
    if (state.on_launch) state.on_launch(launch);
    state.milliseconds += state.milliseconds_of ? state.milliseconds_of(launch) : state.launch_milliseconds;
    if (state.keeps_launches) state.launches.push_back(std::move(launch));
    return Result::success;
}

}  // namespace fake
