// What an entry takes, from its usage, its machine code, and the disassembly where there is one.

#include "ptxgraft/static_cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "link/elf.hpp"
#include "link/sass.hpp"

namespace ptxgraft {
namespace {

constexpr std::array<std::string_view, instruction_class_count> class_names = {
    "matrix",        "special", "f32",         "f64",          "f16",         "integer",      "uniform",
    "conversion",    "move",    "load_global", "store_global", "load_shared", "store_shared", "local",
    "load_constant", "copy",    "barrier",     "branch",       "other"};

Expected<const FunctionUsage*> entry_of(const Cubin& cubin, std::string_view name) {
    std::vector<const FunctionUsage*> entries;
    std::string names;
    for (const FunctionUsage& function : cubin.functions) {
        if (!function.is_entry) continue;
        if (function.name == name) return &function;
        names += (entries.empty() ? "" : ", ") + function.name;
        entries.push_back(&function);
    }
    if (name.empty() && entries.size() == 1) return entries[0];
    if (name.empty() && !entries.empty()) return fail(Errc::entry_not_named, names);
    return fail(Errc::entry_unknown, fmt::format("{}; there are: {}", name, names));
}

// Instructions of sm_75 and later have 16 bytes, with the opcode in the lowest 12 bits. Behind the end stand
// a branch to itself, and what fills the code up.
std::uint32_t instructions_of(std::span<const std::byte> code) {
    constexpr std::size_t bytes = 16;
    constexpr std::uint64_t opcode_bits = 0xFFF, nop = 0x918, bra = 0x947;
    std::size_t count = code.size() / bytes;
    const auto opcode = [&](std::size_t k) {
        return link::read<std::uint64_t>(code, k * bytes).value_or(0) & opcode_bits;
    };
    while (count != 0 && opcode(count - 1) == nop) --count;
    if (count != 0 && opcode(count - 1) == bra) --count;
    return static_cast<std::uint32_t>(count);
}

}  // namespace

std::string_view name(InstructionClass kind) { return class_names.at(static_cast<std::size_t>(kind)); }

std::uint32_t Disassembly::longest_chain() const {
    std::uint32_t longest = 0;
    for (const BasicBlock& block : blocks) longest = std::max(longest, block.chain);
    return longest;
}

Expected<StaticCost> static_cost(const Cubin& cubin, const StaticCostOptions& options) {
    const FunctionUsage& usage = *TRY(entry_of(cubin, options.entry));
    const link::Elf elf(cubin.image);
    const auto section = elf.find(".text." + usage.name);
    if (!elf.is_whole() || !section) return fail(Errc::link_failed, "no cubin has code of " + usage.name);
    StaticCost cost{.registers = usage.registers,
                    .spill_store_bytes = usage.spill_store_bytes,
                    .spill_load_bytes = usage.spill_load_bytes,
                    .stack_bytes = usage.stack_bytes,
                    .shared_bytes = usage.shared_bytes,
                    .code_bytes = usage.code_bytes,
                    .machine_instructions = instructions_of(elf.content(*section))};
    for (const FunctionUsage& function : cubin.functions) {  // what an entry has inside has no section
        const auto linked = elf.find(".text." + function.name);
        if (function.is_entry || !linked) continue;
        cost.code_bytes += function.code_bytes;
        cost.machine_instructions += instructions_of(elf.content(*linked));
    }
    if (options.threads_per_block != 0)
        cost.occupancy = TRY(occupancy({.sm = static_cast<std::uint16_t>(elf.architecture())},
                                       {.threads = options.threads_per_block,
                                        .registers = cost.registers,
                                        .shared_bytes = cost.shared_bytes + options.dynamic_shared_bytes}));
    if (!options.disassemble) {
        cost.not_disassembled = "it was not asked for";
        return cost;
    }
    DisassembleOptions nvdisasm = options.nvdisasm;
    nvdisasm.arguments.assign(std::begin(link::sass_arguments), std::end(link::sass_arguments));
    auto text = disassemble(cubin.image, nvdisasm);
    auto found = text ? link::read_sass(*text, usage.name) : tl::unexpected(text.error());
    if (found)
        cost.disassembly = std::move(*found);
    else
        cost.not_disassembled = message(found.error());
    return cost;
}

}  // namespace ptxgraft
