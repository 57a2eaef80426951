#include "link/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace ptxgraft::link {
namespace {

constexpr std::uint16_t machine_cuda = 190;

// From compute capability 9.0 on the system keeps this much of a block's shared memory, and cubins count it
// in.
constexpr std::uint32_t reserved_shared_bytes = 1024;

// An attribute of `.nv.info`, by the names that NVIDIA's own tools print (EIATTR_…).
enum class Attribute : std::uint8_t {
    frame_size = 0x11,
    min_stack_size = 0x12,
    register_count = 0x2f,
    barrier_count = 0x4c
};
// How its value is stored: not at all, as a byte, as 16 bits, or as 16 bits of size and that many bytes.
enum class Format : std::uint8_t { none = 1, byte = 2, half = 3, sized = 4 };

template <class T>
std::optional<T> read(std::span<const std::byte> bytes, std::uint64_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

class Elf {
  public:
    explicit Elf(std::span<const std::byte> image)
        : image_(image), header_(read<Elf64_Ehdr>(image, 0).value_or(Elf64_Ehdr{})) {}

    bool whole() const {
        const bool ours = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                          header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_machine == machine_cuda &&
                          header_.e_shentsize == sizeof(Elf64_Shdr) && header_.e_shnum > 0;
        if (!ours) return false;
        for (unsigned i = 0; i < header_.e_shnum; ++i) {
            const auto s = section(i);
            if (!s || (s->sh_type != SHT_NOBITS && !inside(*s))) return false;
        }
        return header_.e_shstrndx < header_.e_shnum;
    }

    /// 90 for sm_90a. The ABI that came with CUDA 13's new architectures has it in another byte.
    unsigned architecture() const {
        const bool second_byte = header_.e_ident[EI_ABIVERSION] >= 8;
        return second_byte ? (header_.e_flags >> 8) & 0xFF : header_.e_flags & 0xFF;
    }
    unsigned section_count() const { return header_.e_shnum; }
    std::optional<Elf64_Shdr> section(unsigned index) const {
        if (header_.e_shoff > image_.size() || index >= header_.e_shnum) return std::nullopt;
        return read<Elf64_Shdr>(image_, header_.e_shoff + std::uint64_t(index) * sizeof(Elf64_Shdr));
    }
    std::span<const std::byte> content(const Elf64_Shdr& s) const {
        return s.sh_type == SHT_NOBITS || !inside(s) ? std::span<const std::byte>()
                                                     : image_.subspan(s.sh_offset, s.sh_size);
    }
    std::string_view section_name(const Elf64_Shdr& s) const { return string(header_.e_shstrndx, s.sh_name); }
    std::string_view string(unsigned table, std::uint32_t at) const {
        const auto s = section(table);
        if (!s) return {};
        const auto bytes = content(*s);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return at < text.size() ? text.substr(at, std::min(text.find('\0', at), text.size()) - at)
                                : std::string_view();
    }
    std::optional<Elf64_Shdr> find(std::string_view name) const {
        for (unsigned i = 0; i < section_count(); ++i)
            if (const auto s = section(i); s && section_name(*s) == name) return s;
        return std::nullopt;
    }
    std::string_view symbol_name(std::uint32_t index) const {
        const auto table = find(".symtab");
        if (!table) return {};
        const auto symbol = read<Elf64_Sym>(content(*table), std::uint64_t(index) * sizeof(Elf64_Sym));
        return symbol ? string(table->sh_link, symbol->st_name) : std::string_view();
    }

  private:
    bool inside(const Elf64_Shdr& s) const {
        return s.sh_offset <= image_.size() && s.sh_size <= image_.size() - s.sh_offset;
    }

    std::span<const std::byte> image_;
    Elf64_Ehdr header_;
};

template <class Visitor>
void for_each_attribute(std::span<const std::byte> info, Visitor visit) {
    for (std::size_t at = 0; at + 4 <= info.size();) {
        const auto format = Format(info[at]);
        const auto attribute = Attribute(info[at + 1]);
        const std::uint16_t half = read<std::uint16_t>(info, at + 2).value_or(0);
        at += 4;
        if (format != Format::sized) {
            visit(attribute, std::uint32_t(half), info.subspan(at, 0));
            continue;
        }
        if (half > info.size() - at) return;
        visit(attribute, 0u, info.subspan(at, half));
        at += half;
    }
}

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

// `.nv.shared.NAME`: an entry's static shared memory.
std::uint32_t shared_bytes(const Elf& elf, const std::string& name) {
    const auto section = elf.find(".nv.shared." + name);
    if (!section) return 0;
    const auto bytes = static_cast<std::uint32_t>(section->sh_size);
    const std::uint32_t reserved = elf.architecture() >= 90 ? reserved_shared_bytes : 0;
    return bytes >= reserved ? bytes - reserved : bytes;
}

}  // namespace

bool is_whole_cubin(std::span<const std::byte> image) { return Elf(image).whole(); }

void complete_usage(std::span<const std::byte> image, std::vector<FunctionUsage>& functions) {
    const Elf elf(image);
    read_module_info(elf, functions);
    for (FunctionUsage& usage : functions) {
        // Only entries have a bank of parameters.
        usage.is_entry = usage.is_entry || elf.find(".nv.constant0." + usage.name).has_value();
        if (usage.shared_bytes == 0) usage.shared_bytes = shared_bytes(elf, usage.name);
        if (const auto info = elf.find(".nv.info." + usage.name); info && usage.barriers == 0) {
            for_each_attribute(elf.content(*info),
                               [&](Attribute attribute, std::uint32_t value, std::span<const std::byte>) {
                                   if (attribute == Attribute::barrier_count) usage.barriers = value & 0xFF;
                               });
        }
    }
}

}  // namespace ptxgraft::link
