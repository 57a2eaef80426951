// The host's time of a launch on a GPU: the driver's call alone, and ours with the context current by a
// guard, by somebody else, and not at all; and of a graph with that one launch.

#include "../launch_bodies.hpp"

namespace ptxgraft::bench {
namespace {

void BM_Launch(benchmark::State& state, Way way) {
    static const auto device = Device::open("cuda");
    if (!device) return state.SkipWithError(message(device.error()).c_str());
    try {
        run_launch(state, *device, DeviceOptions().driver, way);
    } catch (const std::exception& error) { state.SkipWithError(error.what()); }
}
BENCHMARK_CAPTURE(BM_Launch, bare, Way::bare);
BENCHMARK_CAPTURE(BM_Launch, guarded, Way::guarded);
BENCHMARK_CAPTURE(BM_Launch, current, Way::current);
BENCHMARK_CAPTURE(BM_Launch, not_current, Way::not_current);
BENCHMARK_CAPTURE(BM_Launch, graph, Way::graph);

}  // namespace
}  // namespace ptxgraft::bench
