#pragma once
// What tests of emitted kernels share: the emulator with all of its checks, what good machine code is, and
// lines of a body.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptxgraft/device.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft::test {

/// Stores of equal values by two threads are an error too.
[[nodiscard]] inline Device checked_device(EmulatorObserver* observer = nullptr) {
    return *Device::open("emulator",
                         {.emulator = {.observer = observer,
                                       .checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}});
}

/// Assembled without spills and without a diagnostic about lost performance.
inline void expect_good_code(const std::string& ptx) {
    const auto cubin = default_assembler().assemble(ptx, {.limits = {.spill_bytes = 0, .stack_bytes = 0}});
    ASSERT_TRUE(cubin) << describe(cubin.error(), ptx);
    EXPECT_TRUE(cubin->losses.empty());
    // "(C7510) …", "setmaxnreg ignored …"
    EXPECT_THAT(cubin->log,
                testing::Not(testing::AnyOf(testing::HasSubstr("(C"), testing::HasSubstr("ignored"))));
}

/// Lines of a body from the first that begins so.
[[nodiscard]] inline std::string lines_from(const std::string& ptx, std::string_view first) {
    std::string out;
    for (std::size_t at = ptx.find(first); at < ptx.rfind('}');) {
        const std::size_t end = ptx.find('\n', at);
        out += ptx.substr(at + (ptx[at] == '\t'), end - at - (ptx[at] == '\t') + 1);
        at = end + 1;
    }
    return out;
}

}  // namespace ptxgraft::test
