#pragma once
// An emulator for tests: buffers from vectors, launches with typed arguments.
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/emulator.hpp"

namespace ptxgraft {

class Machine {
  public:
    explicit Machine(const EmulatorOptions& options = {}) : emulator(options) {}

    template <class T> std::uint64_t upload(const std::vector<T>& values) {
        auto address = emulator.allocate(values.size() * sizeof(T));
        if (!address) return 0;
        EXPECT_TRUE(emulator.write(*address, std::as_bytes(std::span(values))));
        return *address;
    }
    template <class T> std::vector<T> download(std::uint64_t address, std::size_t count) {
        std::vector<T> values(count);
        EXPECT_TRUE(emulator.read(address, std::as_writable_bytes(std::span(values))));
        return values;
    }
    Expected<void> load(std::string_view text) {
        auto loaded = emulator.load(text);
        if (!loaded) return tl::unexpected<Error>(loaded.error());
        module = *loaded;
        return {};
    }
    template <class... T>
    Expected<EmulatorStats> launch(std::string_view entry, const LaunchConfig& shape, const T&... arguments) {
        const std::vector<std::span<const std::byte>> bytes = {std::as_bytes(std::span(&arguments, 1))...};
        return emulator.launch(*module, entry, shape, bytes);
    }
    [[nodiscard]] std::string text_of(const Error& error) const {
        return describe(error, module ? ptx(*module) : "");
    }

    Emulator emulator;
    std::shared_ptr<const EmulatedModule> module;
};

/// Expects success, or shows the error with its line.
#define EXPECT_RUNS(machine, expression)                                             \
    do {                                                                             \
        const auto outcome = (expression);                                           \
        EXPECT_TRUE(outcome) << (outcome ? "" : (machine).text_of(outcome.error())); \
    } while (false)

}  // namespace ptxgraft
