// Reads from a cubin what its functions use and which tools made it.

#include "link/cubin.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "link/elf.hpp"
#include "link/text.hpp"

namespace ptxgraft::link {
namespace {

// From compute capability 9.0 on the system keeps this much of a block's shared memory, and cubins count it
// in.
constexpr std::uint32_t reserved_shared_bytes = 1024;

FunctionUsage& function(std::vector<FunctionUsage>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.name == name; });
    if (found != all.end()) return *found;
    all.push_back({.name = std::string(name)});
    return all.back();
}

// `.nv.info`: values of all functions, each with the function's symbol.
void read_module_info(const Elf& elf, std::vector<FunctionUsage>& functions) {
    const auto info = elf.find(".nv.info");
    if (!info) return;
    for_each_attribute(elf.content(*info), [&](Attribute attribute, std::uint32_t,
                                               std::span<const std::byte> data) {
        if (attribute != Attribute::register_count && attribute != Attribute::frame_size) return;
        const auto symbol = read<std::uint32_t>(data, 0), value = read<std::uint32_t>(data, 4);
        if (!symbol || !value) return;
        const std::string_view name = elf.symbol_name(*symbol);
        if (name.empty() || name.starts_with('$')) return;  // ptxas's own clones of functions
        FunctionUsage& usage = function(functions, name);
        std::uint32_t& member = attribute == Attribute::register_count ? usage.registers : usage.stack_bytes;
        if (member == 0) member = *value;
    });
}

// `.nv.shared.NAME`: an entry's static shared memory. What the system keeps is counted in once the cubin is
// linked.
std::uint32_t shared_bytes(const Elf& elf, const std::string& name) {
    const auto section = elf.find(".nv.shared." + name);
    if (!section) return 0;
    const auto bytes = static_cast<std::uint32_t>(section->sh_size);
    const bool is_linked = section->sh_type == SHT_NOBITS;
    const std::uint32_t reserved = is_linked && elf.architecture() >= 90 ? reserved_shared_bytes : 0;
    return bytes >= reserved ? bytes - reserved : bytes;
}

// The banks of constants from 1 on, of a function or, without one, of the module.
std::uint32_t constant_bytes(const Elf& elf, const std::string& function) {
    constexpr int banks = 18;
    std::uint64_t bytes = 0;
    for (int bank = 1; bank < banks; ++bank)
        if (const auto section = elf.find(".nv.constant" + std::to_string(bank) + function))
            bytes += section->sh_size;
    return static_cast<std::uint32_t>(bytes);
}

std::uint32_t code_bytes(const Elf& elf, const std::string& name) {
    const auto section = elf.find(".text." + name);
    return section ? static_cast<std::uint32_t>(section->sh_size) : 0;
}

// Entries that are assembled whole have copies of the functions that they call, as symbols `$ENTRY$FUNCTION`.
void add_copies(const Elf& elf, std::vector<FunctionUsage>& functions) {
    std::unordered_map<std::string, FunctionUsage*> copies;
    for (FunctionUsage& f : functions)
        for (const FunctionUsage& entry : functions)
            if (!f.is_entry && f.code_bytes == 0 && entry.is_entry)
                copies.emplace("$" + entry.name + "$" + f.name, &f);
    if (copies.empty()) return;
    elf.for_each_symbol([&](std::string_view name, const Elf64_Sym& symbol) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return;
        const auto found = copies.find(std::string(name));
        if (found != copies.end()) found->second->code_bytes += static_cast<std::uint32_t>(symbol.st_size);
    });
}

// A zero-terminated text at an offset.
std::string_view text_at(std::span<const std::byte> bytes, std::uint32_t at) {
    if (at >= bytes.size()) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + at, bytes.size() - at);
    return text.substr(0, text.find('\0'));
}

// A note of `.note.nv.tkinfo` without its owner's name: which tool made the code. The texts stand behind the
// offsets.
struct ToolNote {
    std::uint32_t format, file, tool, version, build, options;
};

}  // namespace

bool is_whole_cubin(std::span<const std::byte> image) { return Elf(image).is_whole(); }

std::vector<Tool> tools_of(std::span<const std::byte> image) {
    const Elf elf(image);
    const auto section = elf.find(".note.nv.tkinfo");
    if (!section) return {};
    std::vector<Tool> tools;
    const auto notes = elf.content(*section);
    const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
    for (std::uint64_t at = 0;;) {
        const auto head = read<Elf64_Nhdr>(notes, at);
        if (!head) return tools;
        const std::uint64_t begin = at + sizeof(Elf64_Nhdr) + padded(head->n_namesz);
        if (begin > notes.size() || head->n_descsz > notes.size() - begin) return tools;
        const auto description = notes.subspan(begin, head->n_descsz);
        if (const auto note = read<ToolNote>(description, 0); note && description.size() > sizeof(ToolNote)) {
            const auto texts = description.subspan(sizeof(ToolNote));
            tools.push_back({std::string(text_at(texts, note->tool)),
                             std::string(tools_version(text_at(texts, note->version)))});
        }
        at = begin + padded(head->n_descsz);
    }
}

std::uint32_t toolkit_of(std::span<const std::byte> image) {
    const Elf elf(image);
    const auto section = elf.find(".note.nv.cuinfo");
    if (!section) return 0;
    // The owner's name takes 12 bytes; then two numbers of 16 bits stand before the toolkit's version.
    return read<std::uint16_t>(elf.content(*section), sizeof(Elf64_Nhdr) + 12 + 4).value_or(0);
}

void complete_usage(Cubin& cubin) {
    const Elf elf(cubin.image);
    read_module_info(elf, cubin.functions);
    cubin.constant_bytes = constant_bytes(elf, "");
    for (FunctionUsage& usage : cubin.functions) {
        // Only entries have a bank of parameters.
        const auto parameters = elf.find(".nv.constant0." + usage.name);
        usage.is_entry = usage.is_entry || parameters;
        usage.parameter_bytes = parameters ? static_cast<std::uint32_t>(parameters->sh_size) : 0;
        usage.constant_bytes = constant_bytes(elf, "." + usage.name);
        usage.code_bytes = code_bytes(elf, usage.name);
        if (usage.shared_bytes == 0) usage.shared_bytes = shared_bytes(elf, usage.name);
        if (const auto info = elf.find(".nv.info." + usage.name); info && usage.barriers == 0) {
            for_each_attribute(elf.content(*info),
                               [&](Attribute attribute, std::uint32_t value, std::span<const std::byte>) {
                                   if (attribute == Attribute::barrier_count) usage.barriers = value & 0xFF;
                               });
        }
    }
    add_copies(elf, cubin.functions);
}

}  // namespace ptxgraft::link
