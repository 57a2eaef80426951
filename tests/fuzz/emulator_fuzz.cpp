// Any text: it loads or it is an error; what loads runs, or fails, within its budget of instructions and
// memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/emulator.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ptxgraft;
    Emulator emulator({.instruction_budget = 20000, .threads = 1, .memory_bytes = std::uint64_t{64} << 20});
    const auto module = emulator.load({reinterpret_cast<const char*>(data), size});
    if (!module) return 0;
    const auto buffer = emulator.allocate(4096);
    const auto argument = std::as_bytes(std::span(&*buffer, 1));
    const std::array<std::span<const std::byte>, 2> arguments = {argument, argument};
    for (std::size_t count = 0; count <= arguments.size(); ++count) {
        static_cast<void>(emulator.launch(**module, "k",
                                          {.grid = {2, 1, 1}, .block = {40, 1, 1}, .shared_bytes = 64},
                                          std::span(arguments).first(count)));
    }
    static_cast<void>(emulator.take_output());
    return 0;
}
