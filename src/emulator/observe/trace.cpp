// A trace of a launch: a line of text for each step of a warp.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "ptxgraft/emulator_observer.hpp"
#include "ptxgraft/syntax/spaces.hpp"

namespace ptxgraft {
namespace {

bool same(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// One value, or those of the active lanes in brackets; `-` stands for one that is not active.
template <class Value> std::string values_of(std::uint32_t lanes, Value&& value) {
    if (lanes == 0) return "-";
    const std::string first = value(static_cast<unsigned>(std::countr_zero(lanes)));
    std::string list;
    bool all_same = true;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const bool is_active = (lanes >> lane & 1) != 0;
        const std::string text = is_active ? value(lane) : "-";
        all_same &= !is_active || text == first;
        list.append(lane == 0 ? "" : " ").append(text);
    }
    return all_same ? first : "[" + list + "]";
}

std::string hexadecimal(const ObservedRegister& reg, unsigned lane) {
    std::uint64_t parts[2] = {0, 0};
    std::memcpy(parts, reg.values + std::size_t{lane} * reg.bytes, reg.bytes);
    return reg.bytes == 16 && parts[1] != 0 ? fmt::format("{:#x}{:016x}", parts[1], parts[0])
                                            : fmt::format("{:#x}", parts[0]);
}

std::string_view name(ObservedAccess::Space space) {
    using enum syntax::Space;
    constexpr syntax::Space spaces[] = {global, const_, shared, local, param};  // by the enumerators
    return syntax::row(spaces[static_cast<std::size_t>(space)]).name;
}
std::string_view name(ObservedAccess::Kind kind) {
    constexpr std::string_view names[] = {"load", "store", "atomic"};
    return names[static_cast<std::size_t>(kind)];
}

// The instruction on one line.
std::string text_of(std::string_view ptx, Span span) {
    std::string text;
    for (const char c : ptx.substr(span.begin, span.end - span.begin)) {
        const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!is_space)
            text += c;
        else if (!text.empty() && text.back() != ' ')
            text += ' ';
    }
    return text;
}

}  // namespace

struct EmulatorTrace::Data {
    Filter filter;
    std::function<void(std::string_view)> write;
    std::unordered_map<std::uint32_t, std::string> places = {};  // of instructions, and their text
    const char* ptx = nullptr;

    [[nodiscard]] bool wants(const ObservedStep& step) const {
        return (!filter.block || same(*filter.block, step.block)) &&
               (!filter.warp || *filter.warp == step.warp);
    }
    const std::string& instruction_of(const ObservedStep& step) {
        if (ptx != step.ptx.data()) places.clear();
        ptx = step.ptx.data();
        std::string& instruction = places[step.span.begin];
        if (instruction.empty()) {
            const Position at = position(step.ptx, step.span.begin);
            instruction = fmt::format("{}:{}: {}", at.line, at.column, text_of(step.ptx, step.span));
        }
        return instruction;
    }
};

EmulatorTrace::EmulatorTrace(Filter filter, std::function<void(std::string_view line)> write)
    : data_(std::make_unique<Data>(Data{filter, std::move(write)})) {}
EmulatorTrace::~EmulatorTrace() = default;

void EmulatorTrace::step(const ObservedStep& step) {
    if (!data_->wants(step)) return;
    const std::string& instruction = data_->instruction_of(step);
    std::string line = fmt::format("block ({}, {}, {}) warp {} lanes {:#010x} {}{}", step.block.x,
                                   step.block.y, step.block.z, step.warp, step.lanes, instruction,
                                   step.is_rest ? " (further results)" : "");
    const auto add = [&](const ObservedRegister& reg, std::string_view sign, std::uint32_t lanes) {
        line += fmt::format(" | {}{} {}", reg.name, sign,
                            values_of(lanes, [&](unsigned lane) { return hexadecimal(reg, lane); }));
    };
    if (step.guard) add(*step.guard, ":", step.active);
    for (const ObservedRegister& reg : step.read) add(reg, ":", step.lanes);
    for (const ObservedRegister& reg : step.written) add(reg, " =", step.lanes);
    for (const ObservedAccess& access : step.accesses)
        line += fmt::format(" | {} {} of {} bytes at {}", name(access.space), name(access.kind), access.bytes,
                            values_of(access.lanes, [&](unsigned lane) {
                                return fmt::format("{:#x}", access.addresses[lane]);
                            }));
    line += '\n';
    data_->write(line);
}

}  // namespace ptxgraft
