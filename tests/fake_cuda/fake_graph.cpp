// Graphs of the fake driver, and captures of streams, which give graphs.

#include "fake_state.hpp"

using namespace fake;

// A driver of CUDA 11 has none.
#ifndef FAKE_CUDA_OF_CUDA_11

namespace {

// A node is the number of its launch, from 1.
FakeLaunch launch_of(const KernelNodeParameters& p) {
    return fake::launch_of(p.function, {p.grid_x, p.grid_y, p.grid_z}, {p.block_x, p.block_y, p.block_z},
                           p.shared_bytes, nullptr, p.parameters);
}

// Another launch for a node, whose attributes stay.
void change(FakeLaunch& node, const KernelNodeParameters& parameters) {
    FakeLaunch next = launch_of(parameters);
    next.cluster = node.cluster;
    next.cooperative = node.cooperative;
    next.priority = node.priority;
    node = std::move(next);
}

std::uint64_t last_graph = 0;  // a test has one that it still changes

}  // namespace

FAKE Result cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
    const Call call("cuStreamBeginCapture_v2");
    if (call.failed()) return call.result;
    if (number(stream) == 0) return capture_unsupported;  // the legacy stream
    if (mode != CaptureMode::relaxed || is_captured(stream)) return invalid_value;
    last_graph = number(new_handle<Graph>());
    state.graph_launches[last_graph];
    state.captures[number(stream)] = last_graph;
    return call.result;
}
FAKE Result cuStreamGetCaptureInfo_v3(Stream stream, CaptureStatus* status, std::uint64_t* id, Graph* graph,
                                      const GraphNode** dependencies, const GraphEdgeData** edges,
                                      std::size_t* count) {
    static GraphNode last = nullptr;
    const Call call("cuStreamGetCaptureInfo_v3");
    if (call.failed()) return call.result;
    *status = CaptureStatus::none;
    if (!is_captured(stream)) return call.result;
    *status = state.capture_is_invalidated ? CaptureStatus::invalidated : CaptureStatus::active;
    const std::uint64_t captured = state.captures[number(stream)];
    *id = captured;
    *graph = reinterpret_cast<Graph>(captured);
    last = reinterpret_cast<GraphNode>(state.graph_launches[captured].size());
    *dependencies = &last;
    *edges = nullptr;
    *count = last == nullptr ? 0 : 1;
    return call.result;
}
FAKE Result cuStreamEndCapture(Stream stream, Graph* graph) {
    const Call call("cuStreamEndCapture");
    if (!is_captured(stream)) return invalid_value;
    const std::uint64_t captured = state.captures[number(stream)];
    state.captures.erase(number(stream));
    if (call.failed() || state.capture_is_invalidated) {
        state.graph_launches.erase(captured);
        *graph = nullptr;
        return call.failed() ? call.result : capture_invalidated;
    }
    *graph = reinterpret_cast<Graph>(captured);
    ++state.graphs;
    return call.result;
}
FAKE void fake_cuda_capture_foreign(std::uint64_t stream) {
    FakeLaunch launch{};
    launch.function = "foreign";
    launch.is_foreign = true;
    state.graph_launches[state.captures.at(stream)].push_back(std::move(launch));
}
FAKE Result cuGraphCreate(Graph* graph, unsigned) {
    const Call call("cuGraphCreate");
    if (call.failed()) return call.result;
    *graph = new_handle<Graph>();
    last_graph = number(*graph);
    state.graph_launches[last_graph];
    ++state.graphs;
    return call.result;
}
FAKE Result cuGraphDestroy(Graph graph) {
    const Call call("cuGraphDestroy");
    state.graph_launches.erase(number(graph));
    --state.graphs;
    return call.result;
}
FAKE Result cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* dependencies,
                                    std::size_t count, const KernelNodeParameters* parameters) {
    const Call call("cuGraphAddKernelNode_v2");
    if (call.failed()) return call.result;
    auto& launches = state.graph_launches[number(graph)];
    // A chain: each behind the one before it.
    if (count != (launches.empty() ? 0u : 1u) || (count == 1 && number(*dependencies) != launches.size()))
        return invalid_value;
    launches.push_back(launch_of(*parameters));
    *node = reinterpret_cast<GraphNode>(launches.size());
    return call.result;
}
FAKE Result cuGraphDestroyNode(GraphNode node) {
    const Call call("cuGraphDestroyNode");
    auto& launches = state.graph_launches[last_graph];
    if (number(node) != launches.size()) return invalid_value;  // the last of the chain
    launches.pop_back();
    return call.result;
}
FAKE Result cuGraphKernelNodeSetParams_v2(GraphNode node, const KernelNodeParameters* parameters) {
    const Call call("cuGraphKernelNodeSetParams_v2");
    if (!call.failed()) change(state.graph_launches[last_graph].at(number(node) - 1), *parameters);
    return call.result;
}
FAKE Result cuGraphKernelNodeSetAttribute(GraphNode node, LaunchAttributeId id,
                                          const LaunchAttributeValue* value) {
    const Call call("cuGraphKernelNodeSetAttribute");
    if (!call.failed()) set(state.graph_launches[last_graph].at(number(node) - 1), id, *value);
    return call.result;
}
FAKE Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long flags) {
    const Call call("cuGraphInstantiateWithFlags");
    if (call.failed()) return call.result;
    *exec = new_handle<GraphExec>();
    const std::vector<FakeLaunch> copy = state.graph_launches[number(graph)];
    state.graph_launches[number(*exec)] = copy;
    state.instantiate_flags = flags;
    ++state.executable_graphs;
    return call.result;
}
FAKE Result cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                              const KernelNodeParameters* parameters) {
    const Call call("cuGraphExecKernelNodeSetParams_v2");
    if (!call.failed()) change(state.graph_launches[number(exec)].at(number(node) - 1), *parameters);
    return call.result;
}
FAKE Result cuGraphUpload(GraphExec, Stream) { return in_context("cuGraphUpload"); }
FAKE Result cuGraphLaunch(GraphExec exec, Stream stream) {
    const Call call("cuGraphLaunch");
    if (call.failed()) return call.result;
    for (FakeLaunch launch : state.graph_launches[number(exec)]) {
        launch.stream = number(stream);
        launch.of_graph = true;
        if (const Result result = run(std::move(launch)); result != Result::success) return result;
    }
    return call.result;
}
FAKE Result cuGraphExecDestroy(GraphExec exec) {
    const Call call("cuGraphExecDestroy");
    state.graph_launches.erase(number(exec));
    --state.executable_graphs;
    return call.result;
}

#endif
