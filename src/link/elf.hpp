#pragma once
// An ELF of CUDA as its file has it: sections, symbols, relocations. The bytes come from outside, so every
// number in them is checked before it is used.

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

namespace ptxgraft::link {

/// A value somewhere in bytes; nothing when it does not lie inside.
template <class T> [[nodiscard]] std::optional<T> read(std::span<const std::byte> bytes, std::uint64_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

/// CUDA's own types of sections (sh_type), by the names that nvdisasm prints. `global`, `local`, `shared` and
/// `shared_reserved` describe memory of a GPU that has an address and a size but, as SHT_NOBITS, no bytes in
/// the file. Relocatable cubins have them where linked ones have SHT_NOBITS.
enum class CudaSection : std::uint32_t {
    info = 0x70000000,             // SHT_CUDA_INFO: attributes of functions
    callgraph = 0x70000001,        // SHT_CUDA_CALLGRAPH
    prototype = 0x70000002,        // SHT_CUDA_PROTOTYPE
    global = 0x70000007,           // SHT_CUDA_GLOBAL: variables without an initial value
    local = 0x70000009,            // SHT_CUDA_LOCAL
    shared = 0x7000000a,           // SHT_CUDA_SHARED
    shared_reserved = 0x70000015,  // SHT_CUDA_SHARED_RESERVED
};
/// Whether a section of this type takes up bytes of the file.
[[nodiscard]] bool has_bytes(std::uint32_t section_type);

/// An attribute of `.nv.info`, by the names that NVIDIA's own tools print (EIATTR_…).
enum class Attribute : std::uint8_t {
    frame_size = 0x11,
    min_stack_size = 0x12,
    register_count = 0x2f,
    barrier_count = 0x4c
};

/// Calls `visit(Attribute, value of up to 16 bits, further bytes)` for each attribute of the bytes of a
/// section. False when they end within one.
template <class Visitor> bool for_each_attribute(std::span<const std::byte> info, Visitor visit) {
    // How a value is stored: not at all, as a byte, as 16 bits, or as 16 bits of size and that many bytes.
    enum class Format : std::uint8_t { none = 1, byte = 2, half = 3, sized = 4 };
    for (std::size_t at = 0; at < info.size();) {
        const auto half = read<std::uint16_t>(info, at + 2);
        if (!half) return false;
        const auto attribute = Attribute(info[at + 1]);
        const std::size_t size = Format(info[at]) == Format::sized ? *half : 0;
        if (size > info.size() - at - 4) return false;
        visit(attribute, Format(info[at]) == Format::sized ? 0u : std::uint32_t(*half),
              info.subspan(at + 4, size));
        at += 4 + size;
    }
    return true;
}

class Elf {
  public:
    explicit Elf(std::span<const std::byte> image);

    /// Whether this is an ELF of CUDA all of which is there: the section table, the sections' bytes, the
    /// names of sections and symbols, and what symbols, relocations, attributes and the call graph refer to.
    /// The other functions give nothing when it is not.
    [[nodiscard]] bool is_whole() const { return is_whole_; }

    /// 90 for sm_90a. The ABI that came with CUDA 13's new architectures has it in another byte.
    [[nodiscard]] unsigned architecture() const;
    [[nodiscard]] std::optional<Elf64_Shdr> find(std::string_view section_name) const;
    [[nodiscard]] std::span<const std::byte> content(const Elf64_Shdr& section) const;
    [[nodiscard]] std::string_view symbol_name(std::uint32_t symbol) const;
    /// Calls `visit(name, Elf64_Sym)` for each symbol.
    template <class Visitor> void for_each_symbol(Visitor visit) const {
        const std::uint64_t count = is_whole_ ? symbol_count() : 0;
        for (std::uint32_t i = 0; i < count; ++i)
            if (const auto symbol = read<Elf64_Sym>(content(symbols_), std::uint64_t(i) * sizeof(Elf64_Sym)))
                visit(symbol_name(i), *symbol);
    }

  private:
    [[nodiscard]] std::optional<Elf64_Shdr> section(std::uint64_t index) const;
    [[nodiscard]] std::string_view string(const Elf64_Shdr& table, std::uint32_t at) const;
    [[nodiscard]] bool is_string_table(std::uint64_t index) const;
    [[nodiscard]] bool is_sound(const Elf64_Shdr& section) const;
    [[nodiscard]] bool is_numbering_sound(const Elf64_Shdr& section) const;
    [[nodiscard]] bool are_symbols_sound(const Elf64_Shdr& section) const;
    template <class Relocation> [[nodiscard]] bool are_relocations_sound(const Elf64_Shdr& section) const;
    [[nodiscard]] bool are_pairs_sound(const Elf64_Shdr& section) const;
    [[nodiscard]] bool are_attributes_sound(const Elf64_Shdr& section) const;
    [[nodiscard]] std::uint64_t symbol_count() const { return symbols_.sh_size / sizeof(Elf64_Sym); }
    [[nodiscard]] bool are_segments_inside() const;
    [[nodiscard]] bool check();

    std::span<const std::byte> image_;
    Elf64_Ehdr header_ = {};
    std::uint64_t section_count_ = 0;
    Elf64_Shdr names_ = {};                                      // the string table of the sections' names
    Elf64_Shdr symbols_ = {};                                    // `.symtab`
    std::unordered_map<std::string_view, Elf64_Shdr> sections_;  // the first of each name
    bool is_whole_ = false;
};

}  // namespace ptxgraft::link
