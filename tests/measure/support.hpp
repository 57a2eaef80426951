#pragma once
// A workload that is small, and variants of it by hand.

#include <memory>
#include <span>

#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/measure/pool.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {

inline const std::string program = test::build_path("ptxgraft");
/// What stands between a pool and its worker, and breaks what they say in the ways that it is asked for.
inline const std::string faulty = test::build_path("measure_faulty_worker");

/// y = x * x + 1 for lengths with and without a tail.
inline constexpr std::string_view square = R"json(
{
  "template": "elementwise/simple",
  "shapes": [{"n": 600}, {"n": 33}],
  "wanted": {"function": {"expr": "y = x * x + 1"}},
  "baseline": {"function": {"expr": "y = x * x + 1"}},
  "relative": 1e-6, "absolute": 1e-6
})json";

[[nodiscard]] inline VariantCode cheat(const std::string& name) {
    return {.ptx = test::read_file(test::source_path("tests/measure/cheats/") + name + ".ptx"),
            .entry = "elementwise"};
}
/// The same with a comment, so that no two are one text.
[[nodiscard]] inline VariantCode salted(VariantCode variant, std::string_view salt) {
    variant.ptx += "// ";
    variant.ptx += salt;
    variant.ptx += '\n';
    return variant;
}

/// With machine code that is its text, which the fake GPU of fake_worker.cpp runs.
[[nodiscard]] inline VariantCode as_text(VariantCode variant) {
    auto cubin = std::make_shared<Cubin>();
    const auto bytes = std::as_bytes(std::span(variant.ptx.c_str(), variant.ptx.size() + 1));
    cubin->image.assign(bytes.begin(), bytes.end());
    cubin->assembler = "text";
    variant.cubin = std::move(cubin);
    return variant;
}

[[nodiscard]] inline Checker checker_of(std::string_view text, const CheckOptions& options = {}) {
    auto workload = Workload::parse(text);
    EXPECT_TRUE(workload) << describe(workload.error());
    auto checker = Checker::open(*workload, *Device::open("emulator"), options);
    EXPECT_TRUE(checker) << describe(checker.error());
    return std::move(*checker);
}
/// As a pool of one process would: without policy and processes.
[[nodiscard]] inline Expected<Check> check_here(Checker& checker, const VariantCode& variant) {
    const auto skeleton = Skeleton::from_ptx(variant.ptx);
    if (!skeleton) return tl::unexpected(skeleton.error());
    const auto kernel = skeleton->graft({}, checker.device(), {.entry = variant.entry});
    if (!kernel) return tl::unexpected(kernel.error());
    return checker.check(*kernel);
}

[[nodiscard]] inline Pool pool_of(const PoolOptions& options) {
    auto pool = Pool::open(options);
    EXPECT_TRUE(pool) << describe(pool.error());
    return std::move(*pool);
}

inline void expect_equal(const Expected<Check>& got, const Expected<Check>& wanted, std::string_view what) {
    ASSERT_EQ(got.has_value(), wanted.has_value()) << what << (got ? "" : describe(got.error()));
    if (!got) return;
    EXPECT_EQ(got->finding, wanted->finding) << what << ' ' << name(got->finding);
    EXPECT_EQ(got->worst, wanted->worst) << what;
    EXPECT_EQ(got->tensor, wanted->tensor) << what;
    EXPECT_EQ(got->element, wanted->element) << what;
    EXPECT_EQ(got->cases, wanted->cases) << what;
    // Where a launch is ended, other blocks may have come farther, or less far.
    if (got->error.code == Errc::ok) { EXPECT_EQ(got->instructions, wanted->instructions) << what; }
    EXPECT_EQ(got->error.code, wanted->error.code) << what;
}

}  // namespace ptxgraft::measure
