#include "stub/stack/registers.hpp"

namespace ptxgraft::stack {

Name Registers::name_of(RegisterClass c, std::uint32_t number) const {
    if (number / 1000 < usual_ && number >= 1000) {  // behind the name of its thousands stand three digits
        // in one block: it is read as one at once
        using Block [[gnu::vector_size(16)]] = std::uint64_t;
        const Name& thousands = first_[index_of(c) * register_names + number / 1000];
        const Block block = std::bit_cast<Block>(thousands);
        const std::uint32_t low = number % 1000, shift = 8u * thousands.length;  // of 5 to 8 bytes
        const std::uint64_t digits = 0x303030u + (low / 100 | low / 10 % 10 << 8 | low % 10 << 16), more = std::uint64_t{3} << 56;
        return std::bit_cast<Name>(shift == 64 ? Block{block[0], block[1] + digits + more} : Block{block[0] | digits << shift, block[1] + (digits >> (64 - shift)) + more});
    }
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

// The scope and its registers, written in front of the instructions.
char* Registers::header(char* begin) const {
    char buffer[header_room + Writer::room];
    Writer out(buffer);
    out.text("\t{\n");
    for (std::size_t c = 0; c < class_count; ++c) {
        if (counts_[c] == 0) continue;
        out.text("\t.reg ");
        out.text(class_infos[c].declared);
        out.text(" ");
        out = write_name(out, machine_.stems[c]);
        out.text("<");
        out.number(counts_[c]);
        out.text(">;\n");
    }
    const auto length = out.end() - buffer;
    return static_cast<char*>(std::memcpy(begin - length, buffer, static_cast<std::size_t>(length)));
}

std::string_view Registers::enclose(char* begin, Writer out) const {
    const bool declares = std::any_of(std::begin(counts_), std::end(counts_), [](std::uint32_t c) { return c != 0; });
    if (declares) {
        begin = header(begin);
        out.text("\t}\n");
    }
    return {begin, static_cast<std::size_t>(out.end() - begin)};
}

}  // namespace ptxgraft::stack
