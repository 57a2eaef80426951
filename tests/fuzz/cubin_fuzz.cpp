// Any bytes are a whole cubin or not, and what is read of them lies inside.

#include <cstdint>
#include <cstdlib>
#include <span>

#include "link/cubin.hpp"
#include "link/elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ptxgraft;
    const auto image = std::as_bytes(std::span(data, size));
    const bool is_whole = link::is_whole_cubin(image);
    Cubin cubin;
    cubin.image.assign(image.begin(), image.end());
    cubin.functions.emplace_back().name = "k";
    link::complete_usage(cubin);
    const std::vector<FunctionUsage>& functions = cubin.functions;
    if (!is_whole && functions.size() != 1) std::abort();
    if (!is_whole && (!link::tools_of(image).empty() || link::toolkit_of(image) != 0)) std::abort();
    for (const link::Tool& tool : link::tools_of(image))
        if (tool.name.size() + tool.version.size() > size) std::abort();
    for (const FunctionUsage& function : std::span(functions).subspan(1))  // the first one is ours
        if (function.name.size() > size) std::abort();
    (void)link::toolkit_of(image);
    return 0;
}
