// Graphs and captures in C.

#include <string>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/launch_options.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;

namespace {

// Runs work(function, config, arguments).
template <class Work>
auto with_launch(const ptxgraft_planned_launch& launch, Work work)
    -> decltype(work(std::declval<const Function&>(), LaunchConfig(), std::vector<Argument>())) {
    TRY(capi::check_required({{launch.kernel, "launch.kernel"}}));
    const auto given = TRY(capi::options_of(launch.options));
    if (given.stream != nullptr)
        return fail(Errc::argument_invalid,
                    std::string("options.stream is not null: a graph is launched on a stream as a whole"));
    const auto arguments = TRY(capi::arguments_of(launch.arguments, launch.argument_count, "argument_count"));
    return work(launch.kernel->kernel.function(), capi::launch_config(given), arguments);
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_graph_create(ptxgraft_graph** graph, const ptxgraft_device* device) {
    return call({{graph, "graph"}, {device, "device"}},
                [&] { return capi::give(graph, device->device.create_graph()); });
}

ptxgraft_status ptxgraft_stream_begin_capture(ptxgraft_stream* stream) {
    return call({{stream, "stream"}}, [&] { return stream->stream.begin_capture(); });
}

ptxgraft_status ptxgraft_graph_create_from_capture(ptxgraft_graph** graph, ptxgraft_stream* stream) {
    return call({{graph, "graph"}, {stream, "stream"}},
                [&] { return capi::give(graph, stream->stream.end_capture()); });
}

void ptxgraft_graph_destroy(ptxgraft_graph* graph) { delete graph; }

ptxgraft_status ptxgraft_graph_add(size_t* number, ptxgraft_graph* graph,
                                   const ptxgraft_planned_launch* launch) {
    return call({{graph, "graph"}, {launch, "launch"}}, [&]() -> Expected<void> {
        const std::size_t added =
            TRY(with_launch(*launch, [&](const Function& function, const LaunchConfig& config,
                                         const std::vector<Argument>& arguments) {
                return graph->graph.add(function, config, arguments);
            }));
        if (number != nullptr) *number = added;
        return {};
    });
}

ptxgraft_status ptxgraft_graph_change(ptxgraft_graph* graph, size_t number,
                                      const ptxgraft_planned_launch* launch) {
    return call({{graph, "graph"}, {launch, "launch"}}, [&] {
        return with_launch(*launch, [&](const Function& function, const LaunchConfig& config,
                                        const std::vector<Argument>& arguments) {
            return graph->graph.change(number, function, config, arguments);
        });
    });
}

ptxgraft_status ptxgraft_graph_instantiate(ptxgraft_graph* graph) {
    return call({{graph, "graph"}}, [&] { return graph->graph.instantiate(); });
}

ptxgraft_status ptxgraft_graph_launch(ptxgraft_graph* graph, const ptxgraft_stream* stream) {
    return call({{graph, "graph"}},
                [&] { return graph->graph.launch(stream != nullptr ? &stream->stream : nullptr); });
}

size_t ptxgraft_graph_get_size(const ptxgraft_graph* graph) {
    return capi::get(graph, "graph", size_t{0}, [](const ptxgraft_graph& g) { return g.graph.size(); });
}

}  // extern "C"
