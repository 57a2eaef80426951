#pragma once
// The machine code of a cubin by section, for tests that compare it.

#include <elf.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ptxgraft/link.hpp"

namespace ptxgraft {

/// The sections of an ELF that have bytes in it, by name.
inline std::map<std::string, std::string> sections_of(std::string_view image) {
    std::map<std::string, std::string> found;
    Elf64_Ehdr header;
    if (image.size() < sizeof header) return found;
    std::memcpy(&header, image.data(), sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    for (const auto& s : sections) {
        const std::string name = image.data() + sections[header.e_shstrndx].sh_offset + s.sh_name;
        if (s.sh_offset + s.sh_size <= image.size()) found[name] = image.substr(s.sh_offset, s.sh_size);
    }
    return found;
}
inline std::string section(const Cubin& cubin, const std::string& name) {
    return sections_of({reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()})[name];
}

/// `.text.*` of an ELF.
inline std::map<std::string, std::string> machine_code(std::string_view image) {
    auto code = sections_of(image);
    std::erase_if(code, [](const auto& section) { return !section.first.starts_with(".text."); });
    return code;
}
inline std::map<std::string, std::string> machine_code(const Cubin& cubin) {
    return machine_code(
        std::string_view(reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()));
}

/// A function of a cubin; null where there is none of the name.
inline const FunctionUsage* find(const Cubin& cubin, std::string_view name) {
    for (const auto& f : cubin.functions)
        if (f.name == name) return &f;
    return nullptr;
}

}  // namespace ptxgraft
