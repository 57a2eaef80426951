// Names of registers past the ready ones, and the scope that declares them.

#include "stub/stack/compile/registers.hpp"

namespace ptxgraft::stack {

Name Registers::name_of(RegisterClass c, std::uint32_t number) const {
    const Name& stem = machine_.stems[index_of(c)];
    char text[sizeof(Name) + Writer::room];
    std::memcpy(text, stem.text, stem.length);
    Writer out(text + stem.length);
    out.number(number);
    Name name;
    std::memcpy(name.text, text, sizeof name.text);
    name.length = static_cast<std::uint8_t>(out.end() - text);
    return name;
}

// The header is made aside and copied in whole blocks, whose last one ends where the instructions begin.
std::string_view Registers::enclose(char* begin, Writer out) const {
    constexpr std::size_t block = 32;
    static_assert(header_room % block == 0);
    char buffer[block + header_room + Declaration::room];
    char* const text = buffer + block;
    Writer header(text);
    header.text("\t{\n");
    const char* const nothing = header.end();
    for (std::size_t c = 0; c < class_count; ++c) {
        if (counts_[c] == 0) continue;
        header.blocks<Declaration::room>(machine_.declarations[c].text, machine_.declarations[c].length);
        header.number(counts_[c]);
        header.text(">;\n");
    }
    if (header.end() != nothing) {
        char* to = begin;
        for (const char* from = header.end(); from > text; from -= block)
            std::memcpy(to -= block, from - block, block);
        begin -= header.end() - text;
        out.text("\t}\n");
    }
    return {begin, static_cast<std::size_t>(out.end() - begin)};
}

}  // namespace ptxgraft::stack
