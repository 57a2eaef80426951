// A reader of ELF files that trusts no offset and no size in them.

#include "link/elf.hpp"

#include <algorithm>
#include <bit>

namespace ptxgraft::link {
namespace {

constexpr std::uint16_t machine_cuda = 190;

bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
    return offset <= whole && size <= whole - offset;
}

// The symbol of a relocation.
std::uint64_t symbol_of(const Elf64_Rel& relocation) { return ELF64_R_SYM(relocation.r_info); }
std::uint64_t symbol_of(const Elf64_Rela& relocation) { return ELF64_R_SYM(relocation.r_info); }

}  // namespace

bool has_bytes(std::uint32_t section_type) {
    if (section_type == SHT_NULL || section_type == SHT_NOBITS) return false;
    for (const CudaSection without :
         {CudaSection::global, CudaSection::local, CudaSection::shared, CudaSection::shared_reserved})
        if (CudaSection(section_type) == without) return false;
    return true;
}

Elf::Elf(std::span<const std::byte> image)
    : image_(image), header_(read<Elf64_Ehdr>(image, 0).value_or(Elf64_Ehdr{})), is_whole_(check()) {}

unsigned Elf::architecture() const {
    const bool second_byte = header_.e_ident[EI_ABIVERSION] >= 8;
    return second_byte ? (header_.e_flags >> 8) & 0xFF : header_.e_flags & 0xFF;
}

std::optional<Elf64_Shdr> Elf::find(std::string_view section_name) const {
    const auto found = sections_.find(section_name);
    return is_whole_ && found != sections_.end() ? std::optional(found->second) : std::nullopt;
}

std::span<const std::byte> Elf::content(const Elf64_Shdr& section) const {
    return has_bytes(section.sh_type) && fits(section.sh_offset, section.sh_size, image_.size())
               ? image_.subspan(section.sh_offset, section.sh_size)
               : std::span<const std::byte>();
}

std::string_view Elf::symbol_name(std::uint32_t symbol) const {
    if (!is_whole_ || symbols_.sh_type != SHT_SYMTAB) return {};
    const auto found = read<Elf64_Sym>(content(symbols_), std::uint64_t(symbol) * sizeof(Elf64_Sym));
    const auto names = section(symbols_.sh_link);
    return found && names ? string(*names, found->st_name) : std::string_view();
}

std::optional<Elf64_Shdr> Elf::section(std::uint64_t index) const {
    if (index >= section_count_) return std::nullopt;
    return read<Elf64_Shdr>(image_, header_.e_shoff + index * sizeof(Elf64_Shdr));
}

std::string_view Elf::string(const Elf64_Shdr& table, std::uint32_t at) const {
    const auto bytes = content(table);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return at < text.size() ? text.substr(at, text.find('\0', at) - at) : std::string_view();
}

bool Elf::is_string_table(std::uint64_t index) const {
    const auto table = section(index);
    if (!table || table->sh_type != SHT_STRTAB) return false;
    const auto bytes = content(*table);
    return !bytes.empty() && bytes.back() == std::byte{0};
}

bool Elf::are_symbols_sound(const Elf64_Shdr& table) const {
    if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_size % sizeof(Elf64_Sym) != 0 ||
        !is_string_table(table.sh_link))
        return false;
    const auto bytes = content(table);
    const std::uint64_t names = section(table.sh_link)->sh_size;
    for (std::uint64_t at = 0; at < bytes.size(); at += sizeof(Elf64_Sym)) {
        const auto symbol = *read<Elf64_Sym>(bytes, at);
        if (symbol.st_name >= names || (symbol.st_shndx >= section_count_ && symbol.st_shndx < SHN_LORESERVE))
            return false;
    }
    return true;
}

template <class Relocation> bool Elf::are_relocations_sound(const Elf64_Shdr& table) const {
    const auto symbols = section(table.sh_link), target = section(table.sh_info);
    if (table.sh_entsize != sizeof(Relocation) || table.sh_size % sizeof(Relocation) != 0 || !target ||
        !symbols || symbols->sh_type != SHT_SYMTAB)
        return false;
    const auto bytes = content(table);
    for (std::uint64_t at = 0; at < bytes.size(); at += sizeof(Relocation)) {
        const auto relocation = *read<Relocation>(bytes, at);
        if (symbol_of(relocation) >= symbols->sh_size / sizeof(Elf64_Sym) ||
            relocation.r_offset >= target->sh_size)
            return false;
    }
    return true;
}

// `.nv.callgraph`, `.nv.prototype`: pairs of a symbol and another one, or the place of a text in the symbols'
// string table, or a few numbers at the end that stand for neither.
bool Elf::are_pairs_sound(const Elf64_Shdr& table) const {
    constexpr std::uint32_t first_special = 0xFFFFFFF0;
    const auto names = section(symbols_.sh_link);
    if (table.sh_size % (2 * sizeof(std::uint32_t)) != 0) return false;
    const auto bytes = content(table);
    for (std::uint64_t at = 0; at < bytes.size(); at += 2 * sizeof(std::uint32_t)) {
        const auto first = *read<std::uint32_t>(bytes, at),
                   second = *read<std::uint32_t>(bytes, at + sizeof(std::uint32_t));
        if (first >= symbol_count() && first < first_special) return false;
        if (second >= symbol_count() && second < first_special && !(names && second < names->sh_size))
            return false;
    }
    return true;
}

bool Elf::are_attributes_sound(const Elf64_Shdr& table) const {
    bool is_sound = true;
    const bool is_complete = for_each_attribute(
        content(table), [&](Attribute attribute, std::uint32_t, std::span<const std::byte> data) {
            if (attribute != Attribute::register_count && attribute != Attribute::frame_size &&
                attribute != Attribute::min_stack_size)
                return;
            const auto symbol = read<std::uint32_t>(data, 0);
            is_sound = is_sound && symbol && *symbol < symbol_count();
        });
    return is_complete && is_sound;
}

// What a section's header says of other sections, of symbols and of its place. Of code, the low 24 bits of
// sh_info are its function's symbol.
bool Elf::is_numbering_sound(const Elf64_Shdr& section) const {
    const bool is_code = (section.sh_flags & SHF_EXECINSTR) != 0;
    const std::uint64_t info = is_code ? section.sh_info & 0xFFFFFF : section.sh_info;
    const std::uint64_t most = is_code ? symbol_count() : std::max(symbol_count(), section_count_);
    return section.sh_name < names_.sh_size && section.sh_link < section_count_ && info <= most &&
           section.sh_addralign <= UINT32_MAX &&
           (section.sh_addralign == 0 || std::has_single_bit(section.sh_addralign));
}

bool Elf::is_sound(const Elf64_Shdr& section) const {
    if (!is_numbering_sound(section)) return false;
    switch (section.sh_type) {
        case SHT_SYMTAB: return are_symbols_sound(section);
        case SHT_REL: return are_relocations_sound<Elf64_Rel>(section);
        case SHT_RELA: return are_relocations_sound<Elf64_Rela>(section);
        case std::uint32_t(CudaSection::info): return are_attributes_sound(section);
        case std::uint32_t(CudaSection::callgraph):
        case std::uint32_t(CudaSection::prototype): return are_pairs_sound(section);
        default: return true;
    }
}

bool Elf::are_segments_inside() const {
    if (header_.e_phnum == 0) return true;
    if (header_.e_phentsize != sizeof(Elf64_Phdr) ||
        !fits(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr), image_.size()))
        return false;
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
        const auto segment = *read<Elf64_Phdr>(image_, header_.e_phoff + i * sizeof(Elf64_Phdr));
        if (!fits(segment.p_offset, segment.p_filesz, image_.size())) return false;
    }
    return true;
}

bool Elf::check() {
    const auto& h = header_;
    if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != machine_cuda ||
        h.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    // Counts that do not fit the header stand in the first section (System V ABI: extended numbering).
    const auto first = read<Elf64_Shdr>(image_, h.e_shoff);
    if (!first) return false;
    section_count_ = h.e_shnum != 0 ? h.e_shnum : first->sh_size;
    const std::uint64_t names = h.e_shstrndx != SHN_XINDEX ? h.e_shstrndx : first->sh_link;
    if (section_count_ > image_.size() / sizeof(Elf64_Shdr) ||
        !fits(h.e_shoff, section_count_ * sizeof(Elf64_Shdr), image_.size()) || !is_string_table(names) ||
        !are_segments_inside())
        return false;
    names_ = *section(names);
    for (std::uint64_t i = 0; i < section_count_; ++i) {
        const Elf64_Shdr s = *section(i);
        if (has_bytes(s.sh_type) && !fits(s.sh_offset, s.sh_size, image_.size())) return false;
        if (s.sh_type == SHT_SYMTAB && symbols_.sh_type != SHT_SYMTAB) symbols_ = s;
        sections_.try_emplace(string(names_, s.sh_name), s);
    }
    for (std::uint64_t i = 1; i < section_count_; ++i)
        if (!is_sound(*section(i))) return false;
    return true;
}

}  // namespace ptxgraft::link
