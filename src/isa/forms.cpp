// Forms: the rows of the table fully spelled, made when they are asked for.

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "isa/forms.hpp"
#include "isa/special.hpp"
#include "isa/spellings.hpp"
#include "isa/symbols.hpp"
#include "isa/target.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {
namespace {

// --- operands
RegisterType operand_type(RegisterType type, RegisterType otherwise) {
    return type == RegisterType::none ? otherwise : type;
}

// Constants stand for integers, predicates and floats of 32 and 64 bits.
bool takes_constants(RegisterType type) {
    const TypeInfo& t = info(type);
    return t.kind == TypeClass::pred || t.kind == TypeClass::integer || t.kind == TypeClass::bits ||
           (t.kind == TypeClass::floating && t.bits >= 32);
}

// The operands that may be written behind a row's name.
class Shapes {
  public:
    explicit Shapes(const Row& row) : row_(row) {
        for (const OperandRule& rule : row.operands) {
            free_ += is_free(rule);
            has_optional_second_ |=
                rule.kind == RuleKind::pair && rule.children[1].is_optional && !only_sink(rule.children[1]);
            has_addresses_ |= rule.kind == RuleKind::address || rule.kind == RuleKind::base;
        }
    }

    /// Calls add(operands, suffix) for each shape of a match: optional operands are written from the left on,
    /// and where a constant is one of a list there is a shape for each, `:size8`.
    template <class Add> void run(const Match& match, const Add& add) {
        match_ = &match;
        if (is_narrow_cvta()) return;
        if (has_addresses_) find_spaces();
        for (std::ptrdiff_t spare = 0; spare <= free_; ++spare) {
            for (int with_second = 0; with_second <= (has_optional_second_ ? 1 : 0); ++with_second) {
                operands_.clear();
                listed_ = nullptr;
                address_ = 0;
                with_second_ = with_second != 0;
                if (list(spare)) variants(add);
            }
        }
    }

  private:
    // A generic address of 32 bits belongs to .address_size 32, which code generation refuses from sm_90 on.
    [[nodiscard]] bool is_narrow_cvta() const {
        return row_.opcode.view().starts_with("cvta") &&
               match_->type(row_.operands.front().type) == RegisterType::u32;
    }
    // ptxas looks at how the constants of createpolicy go together; registers are always right.
    [[nodiscard]] bool takes_registers_only() const { return row_.opcode.view().starts_with("createpolicy"); }

    static bool only_sink(const OperandRule& rule) { return rule.takes_sink && rule.constant_only; }

    // The state spaces among the modifiers, in order: each belongs to an address, in order.
    void find_spaces() {
        space_count_ = 0;
        for (std::size_t i = 0; i < row_.slots.size(); ++i)
            if (match_->chosen[i] != no_word)
                if (const Space s = space_of(table_words[match_->chosen[i]]);
                    s != Space::none && space_count_ < spaces_.size())
                    spaces_[space_count_++] = s;
    }

    bool list(std::ptrdiff_t spare) {
        return std::all_of(row_.operands.begin(), row_.operands.end(), [&](const OperandRule& rule) {
            if (!is_needed(rule, *match_) && !(is_free(rule) && spare-- > 0)) return true;
            return one(rule);
        });
    }

    // False: no operand of a form.
    bool one(const OperandRule& rule) {
        switch (rule.kind) {
            case RuleKind::value:
            case RuleKind::vector: return value(rule);
            case RuleKind::pair: return pair(rule);
            case RuleKind::address:
                return rule.children.size() == 1 && rule.children[0].kind == RuleKind::base &&
                       base(rule.children[0], true);
            case RuleKind::base: return base(rule, false);
            case RuleKind::selector:
            case RuleKind::selector2:
            case RuleKind::selector4:
            case RuleKind::mask2:
            case RuleKind::mask4:
                operands_.push_back(
                    {.type = OperandType::b32, .is_output = rule.is_output, .is_register = true});
                return true;
            default: return false;
        }
    }

    bool pair(const OperandRule& rule) {
        if (!one(rule.children[0])) return false;
        const OperandRule& second = rule.children[1];
        if (second.is_optional && (!with_second_ || only_sink(second))) return true;
        if (!one(second)) return false;
        operands_.back().is_second = true;
        return true;
    }

    bool base(const OperandRule& rule, bool in_brackets) {
        const Space space = address_ < space_count_ ? spaces_[address_]
                            : space_count_ == 0     ? Space::none
                                                    : Space::shared;  // the barrier of a bulk copy
        ++address_;
        const bool is_narrow = rule.is_exact || rule.register_only || space == Space::shared;
        operands_.push_back({.type = is_narrow ? OperandType::b32 : OperandType::b64,
                             .is_address = in_brackets,
                             .is_register = true});
        return true;
    }

    bool value(const OperandRule& rule) {
        const RegisterType type = match_->type(rule.type);
        if ((rule.takes_sink && rule.constant_only) || rule.is_inout) return false;
        OperandSpec spec;
        spec.type = operand_type(type, OperandType::u32);
        spec.is_output = rule.is_output;
        const std::uint32_t count = rule.kind == RuleKind::vector ? match_->count(rule.count) : 1;
        if (count == 0 || count > 255 || (rule.kind == RuleKind::vector && rule.count.or_more)) return false;
        spec.count = static_cast<std::uint8_t>(count);
        spec.is_vector = count > 1 || rule.needs_braces;
        spec.is_immediate = rule.constant_only;
        spec.is_register = !rule.constant_only && (rule.is_output || rule.register_only || rule.takes_sink ||
                                                   takes_registers_only() || !takes_constants(type));
        spec.is_exact = rule.is_exact;
        spec.is_wide = rule.is_wide;
        if (rule.range != nullptr) range(rule, spec);
        operands_.push_back(spec);
        return true;
    }

    void range(const OperandRule& rule, OperandSpec& spec) {
        const Range& r = *rule.range;
        if (r.values.empty()) {
            spec.low = r.low, spec.high = r.high, spec.step = r.step;
        } else if (r.values.size() <= 2) {
            spec.low = r.values.front(), spec.high = r.values.back(),
            spec.step = std::max<std::int64_t>(1, spec.high - spec.low);
        } else if (rule.constant_only) {
            listed_ = &rule;
            listed_at_ = operands_.size();
        } else {
            spec.is_register = true;  // which constants it takes has no range
        }
    }

    template <class Add> void variants(const Add& add) {
        if (listed_ == nullptr) return add(operands_, std::string_view());
        for (const std::int64_t v : listed_->range->values) {
            operands_[listed_at_].low = operands_[listed_at_].high = v;
            add(operands_, ":" + std::string(listed_->name) + std::to_string(v));
        }
    }

    const Row& row_;
    std::ptrdiff_t free_ = 0;  // operands that may be left out
    bool has_optional_second_ = false, has_addresses_ = false;
    const Match* match_ = nullptr;
    std::array<Space, 4> spaces_ = {};
    std::size_t space_count_ = 0, address_ = 0;
    bool with_second_ = false;
    const OperandRule* listed_ = nullptr;  // a constant that must be one of a list
    std::size_t listed_at_ = 0;
    std::vector<OperandSpec> operands_;
};

// --- names
bool is_same(const OperandSpec& a, const OperandSpec& b) {
    return a.type == b.type && a.count == b.count && a.is_output == b.is_output &&
           a.is_vector == b.is_vector && a.is_address == b.is_address && a.is_second == b.is_second &&
           a.is_immediate == b.is_immediate;
}

// What a form is plain by: one result, all operands scalars or all vectors, few inputs.
struct Plainness {
    std::uint32_t seconds = 0;
    bool is_mixed = false;
    std::uint32_t vectors = 0, inputs = 0;
    friend auto operator<=>(const Plainness&, const Plainness&) = default;
};
Plainness plainness(const Form& form) {
    Plainness p;
    for (const OperandSpec& o : form.operands) {
        p.seconds += o.is_second;
        p.vectors += o.is_vector;
        if (!o.is_output) p.inputs += o.count;
    }
    p.is_mixed = p.vectors != 0 && p.vectors != form.operands.size();
    return p;
}

std::string_view type_name(OperandType type) { return info(type).name; }

// How a form differs from the plain one of its spelling.
std::string suffix(const Form& form, const Form& plain) {
    std::string text;
    for (const OperandSpec& o : form.operands)
        if (o.is_vector)
            text.append(o.is_output ? ":to." : ":")
                .append(type_name(o.type))
                .append("x")
                .append(std::to_string(o.count));
    const Plainness f = plainness(form), p = plainness(plain);
    if (text.empty() && f.inputs != p.inputs) text.append(":").append(std::to_string(f.inputs));
    if (f.seconds > p.seconds) text += "|q";
    return text;
}

// A distinction of last resort: the types of the inputs.
std::string input_types(const Form& form) {
    std::string text;
    for (const OperandSpec& o : form.operands)
        if (!o.is_output)
            text.append(text.empty() ? ":" : ".").append(o.is_immediate ? "imm" : type_name(o.type));
    return text;
}

// --- collecting forms, some of one spelling
class Collector {
  public:
    void add_row(const Row& row) {
        Shapes shapes(row);
        for_each_spelling(row, [&](const Match& match) { add(match, shapes); });
    }
    void add(const Match& match, Shapes& shapes) {
        spelling_ = match.row->opcode;
        for (std::size_t i = 0; i < match.row->slots.size(); ++i)
            if (match.chosen[i] != no_word) spelling_ += table_words[match.chosen[i]];
        shapes.run(match, [&](std::span<const OperandSpec> operands, std::string_view list_suffix) {
            add(match, operands, list_suffix);
        });
    }

    std::vector<Form> finish() {
        for (std::uint32_t i = 0; i < forms_.size(); ++i)
            if (links_[i].is_first && links_[i].next != none) name_group(i);
        return std::move(forms_);
    }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    struct Link {
        std::uint32_t next = none, last = none;  // of the same spelling; `last` of the first of them
        bool is_first = true;
    };

    void add(const Match& match, std::span<const OperandSpec> operands, std::string_view list_suffix) {
        if (2 * (forms_.size() + 1) > slots_.size()) grow();
        const std::size_t at = place(spelling_);
        const auto index = static_cast<std::uint32_t>(forms_.size());
        if (slots_[at] != none) {
            if (is_there(slots_[at], operands)) return;
            Link& first = links_[slots_[at]];
            links_[first.last].next = index;
            first.last = index;
        }
        Form& form = forms_.emplace_back();
        form.name = spelling_;
        form.name += list_suffix;
        form.spelling = spelling_;
        form.operands.assign(operands.begin(), operands.end());
        form.pure = match.row->pure;
        form.effects = form.pure ? std::uint16_t{0}
                                 : effects(std::string_view(spelling_).substr(0, spelling_.find('.')));
        FormRow::of(form) = match.row;
        links_.push_back({none, index, slots_[at] == none});
        if (slots_[at] == none) slots_[at] = index;
    }

    // Rows that differ only in what verify lets pass give one form.
    [[nodiscard]] bool is_there(std::uint32_t i, std::span<const OperandSpec> operands) const {
        for (; i != none; i = links_[i].next) {
            const auto& there = forms_[i].operands;
            const bool same =
                std::equal(there.begin(), there.end(), operands.begin(), operands.end(), is_same);
            const bool listed = std::equal(there.begin(), there.end(), operands.begin(), operands.end(),
                                           [](const OperandSpec& a, const OperandSpec& b) {
                                               return !a.is_immediate || a.low == b.low || a.low != a.high;
                                           });
            if (same && listed) return true;
        }
        return false;
    }

    void name_group(std::uint32_t first) {
        std::uint32_t plain = first;
        for (std::uint32_t i = first; i != none; i = links_[i].next)
            if (plainness(forms_[i]) < plainness(forms_[plain])) plain = i;
        std::vector<std::string> taken = {forms_[plain].name};
        for (std::uint32_t i = first; i != none; i = links_[i].next) {
            if (i == plain) continue;
            Form& form = forms_[i];
            form.name += suffix(form, forms_[plain]);
            if (std::find(taken.begin(), taken.end(), form.name) != taken.end())
                form.name += input_types(form);
            taken.push_back(form.name);
        }
    }

    [[nodiscard]] std::size_t place(std::string_view spelling) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = syntax::hash_of(spelling) & mask;
        while (slots_[at] != none && forms_[slots_[at]].spelling != spelling) at = (at + 1) & mask;
        return at;
    }
    void grow() {
        constexpr std::size_t first_size = 64;
        slots_.assign(slots_.empty() ? first_size : 2 * slots_.size(), none);
        for (std::uint32_t i = 0; i < forms_.size(); ++i)
            if (links_[i].is_first) slots_[place(forms_[i].spelling)] = i;
    }

    std::string spelling_;  // of the match at hand
    std::vector<Form> forms_;
    std::vector<Link> links_;
    std::vector<std::uint32_t> slots_;  // the first form of a spelling, by hash
};

// `.rn.f32` as the table's modifiers; nothing when one is none.
struct Modifiers {
    std::array<WordId, max_parts> words;
    std::size_t count = 0;
};
std::optional<Modifiers> modifiers_of(std::string_view text) {
    Modifiers all;
    while (!text.empty()) {
        const std::string_view modifier = text.substr(0, text.find('.', 1));
        const WordId word = find_word(modifier);
        if (word == no_word || all.count == all.words.size()) return std::nullopt;
        all.words[all.count++] = word;
        text.remove_prefix(modifier.size());
    }
    return all;
}

// The match of a row with modifiers in its own order; no row: it does not take them.
Match match_in_order(const Row& row, const Modifiers& modifiers) {
    Match match;
    match.chosen.fill(no_word);
    std::size_t taken = 0;
    for (std::size_t slot = 0; slot < row.slots.size(); ++slot) {
        const auto members = row.slots[slot].members;
        const bool takes = taken < modifiers.count &&
                           std::find(members.begin(), members.end(), modifiers.words[taken]) != members.end();
        if (takes)
            match.chosen[slot] = modifiers.words[taken++];
        else if (!row.slots[slot].is_optional)
            return match;
    }
    if (taken == modifiers.count) match.row = &row;
    return match;
}

bool has(std::span<const Since> since, std::uint16_t version, Architecture target) {
    constexpr std::uint16_t any = 0xFFFF;
    if (target.sm != 0) return is_available(since, version == 0 ? any : version, target);
    return version == 0 ||
           std::any_of(since.begin(), since.end(), [&](const Since& s) { return version >= s.ptx_version; });
}

constexpr std::size_t longest_opcode = 48;

}  // namespace

std::string_view spelling_of(std::string_view name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '|') return name.substr(0, i);
        if (name[i] != ':') continue;
        if (i + 1 == name.size() || name[i + 1] != ':') return name.substr(0, i);
        ++i;
    }
    return name;
}

std::vector<Form> forms(std::string_view opcode) {
    Collector all;
    if (const Opcode* found = find_opcode(opcode))
        for (const Row& row : found->rows) all.add_row(row);
    return all.finish();
}

std::vector<Form> forms_spelled(std::string_view spelling) {
    Collector all;
    for (std::size_t dot = spelling.find('.'); dot != std::string_view::npos || !spelling.empty();
         dot = spelling.find('.', dot + 1)) {
        const std::string_view opcode = spelling.substr(0, dot);
        const Opcode* found = find_opcode(opcode);
        const auto modifiers = found == nullptr ? std::nullopt : modifiers_of(spelling.substr(opcode.size()));
        for (std::size_t i = 0; modifiers && i < found->rows.size(); ++i) {
            const Match match = match_in_order(found->rows[i], *modifiers);
            if (match.row == nullptr || match.broken_constraint() != nullptr) continue;
            Shapes shapes(*match.row);
            all.add(match, shapes);
        }
        if (dot == std::string_view::npos || opcode.size() > longest_opcode) break;
    }
    return all.finish();
}

std::optional<Form> find_form(std::string_view name) {
    for (Form& form : forms_spelled(spelling_of(name)))
        if (form.name == name) return std::move(form);
    return std::nullopt;
}

std::vector<std::string_view> pure_opcodes() {
    std::vector<std::string_view> names;
    for (const Opcode& opcode : table_opcodes)
        if (std::any_of(opcode.rows.begin(), opcode.rows.end(), [](const Row& row) { return row.pure; }))
            names.push_back(opcode.name);
    return names;
}

bool is_available(const Match& match, std::uint16_t ptx_version, Architecture target) {
    const Row& row = *match.row;
    if (row.until_version != 0 && ptx_version > row.until_version && target.sm >= row.until_sm) return false;
    return has(row.since, ptx_version, target) &&
           std::all_of(row.constraints.begin(), row.constraints.end(), [&](const Constraint& c) {
               return c.kind != Constraint::Kind::since || !match.any_holds(c.left) ||
                      has(c.since, ptx_version, target);
           });
}

bool is_available(const Form& form, std::uint16_t ptx_version, Architecture target) {
    const Row& row = *static_cast<const Row*>(FormRow::of(form));
    const auto modifiers = modifiers_of(std::string_view(form.spelling).substr(row.opcode.size()));
    const Match match = modifiers ? match_in_order(row, *modifiers) : Match();
    return match.row != nullptr && is_available(match, ptx_version, target);
}

std::optional<SpecialInfo> special_register(std::string_view name) {
    const auto use = find_special(name);
    if (!use || use->is_whole_vector) return std::nullopt;
    return SpecialInfo{operand_type(use->row->type, OperandType::u32), use->row->is_volatile};
}

bool is_special_available(std::string_view name, std::uint16_t ptx_version, Architecture target) {
    const auto use = find_special(name);
    return use && has(use->row->since, ptx_version, target);
}

}  // namespace ptxgraft::isa
