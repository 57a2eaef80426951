// The public view of the table: effects of an opcode, and its rows in the notation of ptx.isa.

#include "ptxgraft/isa.hpp"

#include "isa/spellings.hpp"
#include "isa/target.hpp"
#include "ptxgraft/isa/table.hpp"

namespace ptxgraft::isa {

std::uint16_t effects(std::string_view opcode) {
    const OpcodeEffects* const row = find_row(table_effects, opcode, &OpcodeEffects::opcode);
    return row == nullptr ? unknown_opcode : row->bits;
}

std::string since_text(const Row& row) {
    std::string out;
    for (const Since& s : row.since) {
        out.append(out.empty() ? "" : " or ").append(version_text(s.ptx_version));
        for (std::size_t i = 0; i < s.architectures.size(); ++i)
            out.append(i == 0 ? " " : ",").append(name(s.architectures[i]));
    }
    if (row.until_version != 0)
        out.append(" until ")
            .append(version_text(row.until_version))
            .append(" sm_")
            .append(std::to_string(row.until_sm));
    return out;
}

namespace {

std::string row_text(const Row& row) {
    std::string out(row.syntax);
    out.append(" | ").append(since_text(row));
    if (row.pure) out.append(" | pure");
    for (const Slot& slot : row.slots) {
        if (slot.members.size() == 1) continue;
        out.append("\n  ").append(slot.name).append(" = {");
        for (const WordId word : slot.members) out.append(" ").append(table_words[word]);
        out.append(" }");
    }
    for (const Constraint& c : row.constraints) out.append("\n  ").append(c.text);
    if (!row.implied.empty()) out.append("\n  implies");
    for (const WordId word : row.implied) out.append(" ").append(table_words[word]);
    return out;
}

}  // namespace

std::vector<std::string> rows(std::string_view opcode) {
    std::vector<std::string> out;
    for (const Opcode& one : table_opcodes) {
        const std::string_view name = one.name;
        if (name == opcode || (name.starts_with(opcode) && name.substr(opcode.size()).starts_with('.')))
            for (const Row& row : one.rows) out.push_back(row_text(row));
    }
    return out;
}

}  // namespace ptxgraft::isa
