// The host's time of a launch with a driver whose calls do nothing: what is left is ours. BM_Launch/bare is
// the driver's call alone; the others are to be at most 200 ns above it.

#include "launch_bodies.hpp"

#include "fake_cuda/fake_cuda.hpp"

namespace ptxgraft::bench {
namespace {

const std::string library = PTXGRAFT_BINARY_DIR "/libfake_cuda.so";

void BM_Launch(benchmark::State& state, Way way) {
    try {
        FakeCuda& fake = *BareDriver(library).call<FakeCuda*()>("fake_cuda")();
        fake = {};
        const Device device = value(Device::open("cuda:0", {.driver = library}));
        fake.is_quiet = true;
        run_launch(state, device, library, way);
        fake.is_quiet = false;
    } catch (const std::exception& error) { state.SkipWithError(error.what()); }
}
BENCHMARK_CAPTURE(BM_Launch, bare, Way::bare);
BENCHMARK_CAPTURE(BM_Launch, guarded, Way::guarded);
BENCHMARK_CAPTURE(BM_Launch, current, Way::current);

}  // namespace
}  // namespace ptxgraft::bench
