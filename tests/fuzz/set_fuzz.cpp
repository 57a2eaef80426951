// Any text is a set or an error with a place in the text. The text of a set is read back to the same.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ptxgraft/set.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ptxgraft;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto set = stack::InstructionSet::parse(text);
    if (!set) {
        const Span span = set.error().span;
        if (!span.known() || span.begin > span.end || span.end > size) std::abort();
        if (describe(set.error(), text, "a.set").empty()) std::abort();
        return 0;
    }
    for (std::size_t i = 0; i < (*set)->entries().size(); ++i)
        if ((*set)->find((*set)->entries()[i].name) != static_cast<std::int32_t>(i)) std::abort();
    const std::string printed = (*set)->text();
    const auto again = stack::InstructionSet::parse(printed);
    if (!again || (*again)->text() != printed) std::abort();
    return 0;
}
