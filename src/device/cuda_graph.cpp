// Graphs of a GPU: a chain of kernel nodes, made executable once.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "device/cuda_entry.hpp"

namespace ptxgraft::device {
namespace {

using driver::Driver;
using driver::LaunchAttributeId;
using driver::Result;

/// Of a node that was instantiated these stay as they are.
struct FixedAttributes {
    Dim3 cluster;
    bool cooperative;
    std::optional<std::int32_t> priority;
};

std::string what_differs(const FixedAttributes& node, const CheckedLaunch& launch) {
    const Dim3 &has = node.cluster, &wants = launch.cluster;
    if (has.x != wants.x || has.y != wants.y || has.z != wants.z)
        return fmt::format("its cluster stays {} x {} x {}", has.x, has.y, has.z);
    if (node.cooperative != launch.config.cooperative)
        return node.cooperative ? "it stays cooperative" : "it stays a launch that is not cooperative";
    if (node.priority != launch.config.priority) return "its priority stays";
    return {};
}

class CudaGraph final : public LoadedGraph {
  public:
    CudaGraph(std::shared_ptr<const CudaContext> context, driver::Graph graph)
        : context_(std::move(context)), graph_(graph) {}
    /// Of what is launched on a stream, whose capture has begun.
    CudaGraph(std::shared_ptr<const CudaContext> context, std::uint64_t stream)
        : context_(std::move(context)), captured_(stream) {}
    ~CudaGraph() override {
        context_->run([&](const Driver& driver) {
            if (captured_) driver.cuStreamEndCapture(stream_of(*captured_), &graph_);
            if (exec_ != nullptr) driver.cuGraphExecDestroy(exec_);
            return graph_ != nullptr ? driver.cuGraphDestroy(graph_) : Result::success;
        });
    }
    CudaGraph(const CudaGraph&) = delete;
    CudaGraph& operator=(const CudaGraph&) = delete;

    [[nodiscard]] Expected<void> add(const LoadedEntry& entry, const CheckedLaunch& launch) override {
        const auto& loaded = static_cast<const CudaEntry&>(entry);
        if (captured_) return capture(loaded, launch);
        TRY(loaded.prepare(launch));
        ArgumentAddresses arguments(launch.arguments);
        const auto parameters = parameters_of(loaded, launch, arguments);
        driver::GraphNode node = nullptr;
        const driver::GraphNode* before = nodes_.empty() ? nullptr : &nodes_.back();
        TRY(context_->checked("cuGraphAddKernelNode", [&](const Driver& driver) {
            return driver.cuGraphAddKernelNode_v2(&node, graph_, before, nodes_.empty() ? 0 : 1, &parameters);
        }));
        if (auto done = set_attributes(node, launch); !done) {
            context_->run([&](const Driver& driver) { return driver.cuGraphDestroyNode(node); });
            return done;
        }
        keep(node, launch);
        return {};
    }

    [[nodiscard]] Expected<void> end_capture() override {
        const std::uint64_t stream = *std::exchange(captured_, std::nullopt);
        return context_->checked("cuStreamEndCapture", [&](const Driver& driver) {
            return driver.cuStreamEndCapture(stream_of(stream), &graph_);
        });
    }

    [[nodiscard]] Expected<void> change(std::size_t number, const LoadedEntry& entry,
                                        const CheckedLaunch& launch) override {
        if (const std::string why = what_differs(fixed_[number], launch); !why.empty())
            return fail(Errc::graph_change_not_possible, fmt::format("launch {}: {}", number, why));
        const auto& loaded = static_cast<const CudaEntry&>(entry);
        TRY(loaded.prepare(launch));
        ArgumentAddresses arguments(launch.arguments);
        const auto parameters = parameters_of(loaded, launch, arguments);
        return context_->checked("cuGraphKernelNodeSetParams", [&](const Driver& driver) {
            return exec_ == nullptr
                       ? driver.cuGraphKernelNodeSetParams_v2(nodes_[number], &parameters)
                       : driver.cuGraphExecKernelNodeSetParams_v2(exec_, nodes_[number], &parameters);
        });
    }

    [[nodiscard]] Expected<void> instantiate() override {
        const TimingLock::Load load(context_->state().lock);
        const bool has_priorities =
            std::ranges::any_of(fixed_, [](const FixedAttributes& f) { return f.priority.has_value(); });
        TRY(context_->checked("cuGraphInstantiate", [&](const Driver& driver) {
            if (exec_ != nullptr) return Result::success;  // only the upload failed
            return driver.cuGraphInstantiateWithFlags(&exec_, graph_,
                                                      has_priorities ? driver::use_node_priority : 0);
        }));
        return context_->checked("cuGraphUpload",
                                 [&](const Driver& driver) { return driver.cuGraphUpload(exec_, nullptr); });
    }

    [[nodiscard]] Expected<void> launch(std::uint64_t stream) override {
        return context_->checked(
            "cuGraphLaunch",
            [&](const Driver& driver) { return driver.cuGraphLaunch(exec_, stream_of(stream)); },
            Errc::launch_failed);
    }

  private:
    // What the stream's next node would wait for is the one that this launch became.
    [[nodiscard]] Expected<void> capture(const CudaEntry& entry, const CheckedLaunch& launch) {
        TRY(entry.launch(launch, *captured_));
        driver::CaptureStatus status{};
        std::uint64_t id = 0;
        driver::Graph graph = nullptr;
        const driver::GraphNode* last = nullptr;
        const driver::GraphEdgeData* edges = nullptr;
        std::size_t count = 0;
        TRY(context_->checked("cuStreamGetCaptureInfo", [&](const Driver& driver) {
            return driver.cuStreamGetCaptureInfo_v3(stream_of(*captured_), &status, &id, &graph, &last,
                                                    &edges, &count);
        }));
        if (status != driver::CaptureStatus::active || count != 1)
            return fail(Errc::driver_failed, std::string("the capture of the stream was invalidated"));
        keep(*last, launch);
        return {};
    }
    void keep(driver::GraphNode node, const CheckedLaunch& launch) {
        nodes_.push_back(node);
        fixed_.push_back({launch.cluster, launch.config.cooperative, launch.config.priority});
    }
    static driver::KernelNodeParameters parameters_of(const CudaEntry& entry, const CheckedLaunch& launch,
                                                      ArgumentAddresses& arguments) {
        const Dim3 grid = launch.config.grid, block = launch.config.block;
        return {.function = entry.handle(),
                .grid_x = grid.x,
                .grid_y = grid.y,
                .grid_z = grid.z,
                .block_x = block.x,
                .block_y = block.y,
                .block_z = block.z,
                .shared_bytes = launch.config.shared_bytes,
                .parameters = arguments.data()};
    }

    [[nodiscard]] Expected<void> set_attributes(driver::GraphNode node, const CheckedLaunch& launch) const {
        LaunchAttributes attributes(launch);
        for (const driver::LaunchAttribute& one : attributes.all())
            TRY(context_->checked("cuGraphKernelNodeSetAttribute", [&](const Driver& driver) {
                return driver.cuGraphKernelNodeSetAttribute(node, one.id, &one.value);
            }));
        return {};
    }

    std::shared_ptr<const CudaContext> context_;
    std::optional<std::uint64_t> captured_;  // the stream, while it is
    driver::Graph graph_ = nullptr;
    driver::GraphExec exec_ = nullptr;
    std::vector<driver::GraphNode> nodes_;
    std::vector<FixedAttributes> fixed_;  // of nodes_
};

}  // namespace

Expected<std::unique_ptr<LoadedGraph>> create_cuda_graph(std::shared_ptr<const CudaContext> context) {
    const Driver& driver = context->driver();
    TRY(Driver::present(driver.cuGraphAddKernelNode_v2, "cuGraphAddKernelNode"));
    driver::Graph graph = nullptr;
    TRY(context->checked("cuGraphCreate", [&](const Driver& d) { return d.cuGraphCreate(&graph, 0); }));
    return std::make_unique<CudaGraph>(std::move(context), graph);
}

Expected<std::unique_ptr<LoadedGraph>> capture_cuda_graph(std::shared_ptr<const CudaContext> context,
                                                          std::uint64_t stream) {
    const Driver& driver = context->driver();
    TRY(Driver::present(driver.cuStreamGetCaptureInfo_v3, "cuStreamGetCaptureInfo"));
    TRY(Driver::present(driver.cuStreamBeginCapture_v2, "cuStreamBeginCapture"));
    TRY(context->checked("cuStreamBeginCapture", [&](const Driver& d) {
        return d.cuStreamBeginCapture_v2(stream_of(stream), driver::CaptureMode::relaxed);
    }));
    return std::make_unique<CudaGraph>(std::move(context), stream);
}

}  // namespace ptxgraft::device
