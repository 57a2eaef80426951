#pragma once
// The machine code of a cubin by section, for tests that compare it.

#include <elf.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ptxgraft/link.hpp"

namespace ptxgraft {

/// `.text.*` of an ELF.
inline std::map<std::string, std::string> machine_code(std::string_view image) {
    std::map<std::string, std::string> code;
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    for (const auto& s : sections) {
        const std::string name = image.data() + sections[header.e_shstrndx].sh_offset + s.sh_name;
        if (name.starts_with(".text.")) code[name] = image.substr(s.sh_offset, s.sh_size);
    }
    return code;
}
inline std::map<std::string, std::string> machine_code(const Cubin& cubin) {
    return machine_code(std::string_view(reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()));
}

}  // namespace ptxgraft
