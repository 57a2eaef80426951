// Graphs of launches, for either backend.

#include "ptxgraft/graph.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/host_memory.hpp"
#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/function.hpp"

namespace ptxgraft {

struct Graph::Data {
    std::shared_ptr<Device::Data> device;
    std::vector<std::shared_ptr<const Function::Data>> functions;  // of the launches
    std::unique_ptr<device::LoadedGraph> loaded;
    bool is_instantiated = false;
    bool is_captured = false;  // its end is the stream's, and perhaps no launch of ours

    [[nodiscard]] Expected<void> check_device(const Function::Data& function) const {
        if (function.device == device) return {};
        return fail(Errc::device_differs, fmt::format("the function {} of a graph", function.entry->name));
    }
    [[nodiscard]] Expected<device::CheckedLaunch> check(const Function::Data& function,
                                                        const LaunchConfig& config,
                                                        std::span<const Argument> arguments) const {
        TRY(check_device(function));
        if (config.programmatic)
            return fail(Errc::argument_invalid,
                        std::string("a programmatic launch in a graph; it is of streams alone"));
        return function.check(config, arguments, nullptr);
    }
    [[nodiscard]] Expected<void> instantiate() {
        if (is_instantiated) return {};
        TRY(loaded->instantiate());
        is_instantiated = true;
        return {};
    }
};

Expected<Graph> Device::create_graph() const {
    return or_out_of_memory([&]() -> Expected<Graph> {
        auto loaded = TRY(data_->backend->create_graph());
        return Graph(std::make_unique<Graph::Data>(Graph::Data{data_, {}, std::move(loaded)}));
    });
}

Expected<void> Stream::begin_capture() {
    TRY(check_not_captured("a second capture"));
    return or_out_of_memory([&]() -> Expected<void> {
        auto loaded = TRY(device_->backend->begin_capture(handle_));
        auto data = std::make_unique<Graph::Data>(Graph::Data{device_, {}, std::move(loaded)});
        capture_.reset(new Graph(std::move(data)));
        return {};
    });
}

Expected<Graph> Stream::end_capture() {
    if (!is_captured()) return fail(Errc::argument_invalid, std::string("the stream is not captured"));
    Graph graph = std::move(*capture_);
    capture_.reset();
    TRY(graph.data_->loaded->end_capture());
    graph.data_->is_captured = true;
    return graph;
}

Graph::Graph(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

std::size_t Graph::size() const { return data_->functions.size(); }

Expected<std::size_t> Graph::add(const Function& function, const LaunchConfig& config,
                                 std::span<const Argument> arguments) {
    return or_out_of_memory([&]() -> Expected<std::size_t> {
        if (data_->is_instantiated || data_->is_captured)
            return fail(Errc::graph_change_not_possible,
                        data_->is_captured ? std::string("it was captured; launches are added by add() alone")
                                           : std::string("launches are added before it is instantiated"));
        const device::CheckedLaunch launch = TRY(data_->check(*function.data_, config, arguments));
        data_->functions.reserve(data_->functions.size() + 1);
        TRY(data_->loaded->add(*function.data_->loaded, launch));
        data_->functions.push_back(function.data_);
        return data_->functions.size() - 1;
    });
}

Expected<void> Graph::change(std::size_t launch, const Function& function, const LaunchConfig& config,
                             std::span<const Argument> arguments) {
    return or_out_of_memory([&]() -> Expected<void> {
        if (launch >= size())
            return fail(Errc::argument_invalid, fmt::format("launch {} of a graph of {}", launch, size()));
        const device::CheckedLaunch checked = TRY(data_->check(*function.data_, config, arguments));
        TRY(data_->loaded->change(launch, *function.data_->loaded, checked));
        data_->functions[launch] = function.data_;
        return {};
    });
}

Expected<void> Graph::instantiate() {
    return or_out_of_memory([&] { return data_->instantiate(); });
}

Expected<void> Graph::launch(const Stream* stream) {
    return or_out_of_memory([&]() -> Expected<void> {
        if (stream != nullptr && stream->device_ != data_->device)
            return fail(Errc::device_differs, std::string("the stream of a graph's launch"));
        if (stream != nullptr) TRY(stream->check_not_captured("the launch of a graph"));
        TRY(data_->instantiate());
        auto done = data_->loaded->launch(stream == nullptr ? 0 : stream->handle());
        if (done || done.error().index >= size()) return done;
        return data_->functions[done.error().index]->with_source(std::move(done.error()));
    });
}

}  // namespace ptxgraft
