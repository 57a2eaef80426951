#pragma once
/// @file graph.hpp
/// Launches that are put together once and queued with one call, again and again; a search swaps the kernel
/// of one of them for its next variant, and the rest of the graph stays as it is.
///
/// @code
/// Graph graph = device.create_graph().value();
/// graph.add(prepare, {.grid = {64}}, std::array<Argument, 1>{x});
/// const std::size_t tried = *graph.add(first, shape, arguments);
/// for (const Function& variant : variants) {
///     graph.change(tried, variant, shape, arguments);
///     graph.launch(&stream);
/// }
/// @endcode

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ptxgraft/device.hpp"

namespace ptxgraft {

/// A sequence of launches, each behind the one before it, as on one stream. Made by Device::create_graph and
/// add(), or by Stream::begin_capture, launches and Stream::end_capture; move-only. On the emulator a graph
/// launches them one after the other. It keeps its functions loaded, but not the buffers of their arguments.
///
/// Threads: one at a time uses a graph, also to launch it (CUDA Driver API: graphs are not thread-safe).
class PTXGRAFT_API Graph {
  public:
    Graph(Graph&&) noexcept;
    Graph& operator=(Graph&&) noexcept;
    ~Graph();

    /// Adds a launch at the end, with the checks of Function::launch, and gives its number, from 0. The
    /// arguments are copied. Errors: those of Function::launch before the kernel begins;
    /// Errc::device_differs; Errc::graph_change_not_possible for a graph that was instantiated or
    /// captured; Errc::argument_invalid for a programmatic launch, which is of streams; Errc::driver_too_old.
    [[nodiscard]] Expected<std::size_t> add(const Function& function, const LaunchConfig& config,
                                            std::span<const Argument> arguments);

    /// Makes it ready to be launched, and on a GPU puts it there; the first launch does it otherwise. Waits
    /// for timings of other threads, as a load does (Device::timing). (cuGraphInstantiate, cuGraphUpload)
    [[nodiscard]] Expected<void> instantiate();

    /// Another function, shape or arguments for one launch; later launches of the graph have it, those that
    /// are under way do not. Of a graph that was instantiated the cluster, the priority and whether the
    /// launch is cooperative stay as they are: Errc::graph_change_not_possible. Errors: those of add.
    /// (cuGraphExecKernelNodeSetParams)
    [[nodiscard]] Expected<void> change(std::size_t launch, const Function& function,
                                        const LaunchConfig& config, std::span<const Argument> arguments);

    /// Queues all of its launches, behind what is on the stream. On a GPU the call does not wait. Errors:
    /// Errc::launch_failed, Errc::device_differs; on the emulator those of Function::launch, with the number
    /// of the launch as their index; the launches behind it have not run.
    [[nodiscard]] Expected<void> launch(const Stream* stream = nullptr);

    [[nodiscard]] std::size_t size() const;  ///< launches

    struct Data;

  private:
    friend class Device;
    friend class Stream;
    explicit Graph(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

}  // namespace ptxgraft
