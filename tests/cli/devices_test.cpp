// The verb devices, with a driver and without.

#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string driver = test::build_path("libfake_cuda");

TEST_F(Cli, DevicesAreListedWithoutADriver) {
    const Result listed = ptxgraft({"devices", "--driver", "libthere_is_no_such_driver.so"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_THAT(listed.out, AllOf(StartsWith("no GPU: no CUDA driver: libthere_is_no_such_driver.so"),
                                  HasSubstr("\nemulator:sm_75 "), HasSubstr("\nemulator:sm_121a ")));
    EXPECT_THAT(ptxgraft({"devices", "--driver", driver + "_no_gpu.so"}).out,
                StartsWith("no GPU: the driver finds none\n"));
    const auto json = nlohmann::json::parse(
        ptxgraft({"devices", "--json", "--driver", "libthere_is_no_such_driver.so"}).out);
    EXPECT_TRUE(json["cuda"].empty());
    EXPECT_THAT(json["cuda_error"].get<std::string>(), StartsWith("no CUDA driver"));
    EXPECT_EQ(json["emulator"][0]["device"], "emulator:sm_75");
    EXPECT_EQ(json["emulator"][0]["threads_per_multiprocessor"], 1024);
}

TEST_F(Cli, DevicesAreListedWithTheirProperties) {
    const Result listed = ptxgraft({"devices", "--driver", driver + ".so"});
    EXPECT_THAT(
        listed.out,
        StartsWith("cuda:0  Fake GPU 0, sm_90a, driver 13.0, GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf\n"
                   "    132 multiprocessors, 1980 MHz; 141.0 GiB, 4917 GB/s; L2 cache 60 MiB\n"
                   "    a block 1024 threads, 227 KiB of shared memory, clusters of 16; a "
                   "multiprocessor 2048 threads, 32 blocks, 228 KiB\n"
                   "cuda:1  Fake GPU 1, "));
    const auto json = nlohmann::json::parse(ptxgraft({"devices", "--json", "--driver", driver + ".so"}).out);
    EXPECT_TRUE(json["cuda_error"].is_null());
    ASSERT_EQ(json["cuda"].size(), 2u);
    EXPECT_EQ(json["cuda"][1]["device"], "cuda:1");
    EXPECT_EQ(json["cuda"][1]["compute_capability"], "9.0");
    EXPECT_EQ(json["cuda"][1]["peak_bytes_per_second"], 4916736000000.0);
    // Each device that is named there can be opened.
    for (const auto& one : json["emulator"])
        EXPECT_THAT(one["device"].get<std::string>(), "emulator:" + one["target"].get<std::string>());
}

}  // namespace
}  // namespace ptxgraft::test
