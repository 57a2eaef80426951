// Special registers by name, with their parts and numbers (PTX ISA 10).

#include "isa/special.hpp"

#include <algorithm>

#include "isa/symbols.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {
namespace {

// Of most names, such as those of a compiler's registers, their ends tell that they are none of these.
bool may_be_special(std::string_view name) {
    static const syntax::Stems all = [] {
        syntax::Stems stems;
        for (const SpecialRegister& row : table_special) stems.add(row.name);
        return stems;
    }();
    return all.may_have(name);
}

const SpecialRegister* row_named(std::string_view name) {
    return may_be_special(name) ? find_row(table_special, name, &SpecialRegister::name) : nullptr;
}

}  // namespace

bool may_be_special_stem(std::string_view stem) {
    static const syntax::Stems all = [] {
        syntax::Stems stems;
        for (const SpecialRegister& row : table_special) {
            const std::string_view name = row.name;
            if (row.count != 0) stems.add(name);
            if (name.ends_with('0')) stems.add(name.substr(0, name.size() - 1));
        }
        return stems;
    }();
    return all.may_have(stem);
}

std::optional<SpecialUse> find_special(std::string_view name) {
    if (name.empty() || name[0] != '%') return std::nullopt;
    const auto [stem, part] = syntax::parts_of(name);
    const SpecialRegister* row = row_named(stem);
    if (row != nullptr && row->count == 0) {
        if (part.empty()) return SpecialUse{row, row->is_vector};
        const std::size_t at = part.size() == 2 ? std::string_view("xyzwrgba").find(part[1]) : part.npos;
        if (!row->is_vector || at == part.npos) return std::nullopt;
        return SpecialUse{row, false, static_cast<std::uint8_t>(at % 4)};
    }
    const syntax::Numbered n = syntax::numbered(name);
    row = n.stem.empty() ? nullptr : row_named(n.stem);
    // %pm07
    const bool has_leading_zero = row != nullptr && n.number < 10 && name.size() > row->name.size() + 1;
    if (row == nullptr || n.number >= row->count || has_leading_zero) return std::nullopt;
    return SpecialUse{row, false, static_cast<std::uint8_t>(n.number)};
}

}  // namespace ptxgraft::isa
