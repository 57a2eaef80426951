// Reads the text of a set against the table of PTX instructions.

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/try.hpp"
#include "stub/set/builder.hpp"
#include "stub/set/names.hpp"
#include "stub/suggest.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t empty = 0xFFFFFFFFu;
constexpr std::size_t max_entries = 1u << 16, max_values = 64;

std::size_t place_of(std::span<const std::uint32_t> names, std::span<const Entry> entries,
                     std::string_view name) {
    const std::size_t mask = names.size() - 1;
    std::size_t at = syntax::hash_of(name) & mask;
    while (names[at] != empty && entries[names[at]].name != name) at = (at + 1) & mask;
    return at;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
bool is_mark(char c) { return c == ',' || c == '='; }

// The words of a line; ',', '=' and '->' are words of their own.
void split(std::string_view text, std::uint32_t offset, std::vector<Word>& words) {
    words.clear();
    for (std::size_t at = 0; at < text.size() && text[at] != '#';) {
        if (is_blank(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at + 1;
        if (text.substr(at, 2) == "->")
            ++end;
        else
            while (!is_mark(text[at]) && end < text.size() && !is_blank(text[end]) && !is_mark(text[end]) &&
                   text[end] != '#' && text.substr(end, 2) != "->")
                ++end;
        words.push_back(
            {text.substr(at, end - at),
             {offset + static_cast<std::uint32_t>(at), offset + static_cast<std::uint32_t>(end)}});
        at = end;
    }
}

bool is_same(const Entry& a, const Entry& b) {
    const bool same_form = (a.form == nullptr) == (b.form == nullptr) &&
                           (a.form == nullptr ? a.special == b.special : a.form->name == b.form->name);
    return same_form &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                      [](const EntryOperand& x, const EntryOperand& y) { return x.type == y.type; });
}

// Whether a machine can have a form.
std::string unusable(const isa::Form& form) {
    std::size_t inputs = 0, outputs = 0;
    for (const isa::OperandSpec& spec : form.operands) (spec.is_output ? outputs : inputs) += spec.count;
    if (!form.pure && form.effects == 0)
        return form.spelling + " does more than compute its results, and no site can allow that";
    if (inputs > max_values || outputs > max_values) return form.spelling + " has more than 64 operands";
    return {};
}

}  // namespace

std::int32_t find_name(std::span<const std::uint32_t> names, std::span<const Entry> entries,
                       std::string_view name) {
    if (names.empty()) return -1;
    const std::uint32_t found = names[place_of(names, entries, name)];
    return found == empty ? -1 : static_cast<std::int32_t>(found);
}

Expected<std::shared_ptr<const InstructionSet>> SetBuilder::parse(std::string_view text,
                                                                  std::span<const std::string_view> chain) {
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    auto data = std::make_unique<InstructionSet::Data>();
    SetBuilder builder;
    builder.data_ = data.get();
    builder.chain_ = chain;
    std::vector<Word> words;
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    for (std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        split(text.substr(at, end - at), static_cast<std::uint32_t>(at), words);
        if (!words.empty()) TRY(builder.line(words));
        at = end + 1;
    }
    return SetData::make(std::move(data));
}

Expected<void> SetBuilder::line(std::span<const Word> words) {
    if (words[0].text == "include") return include(words);
    if (words[0].text == "type") return type(words);
    return entry(words);
}

// --- include NAME
Expected<void> SetBuilder::include(std::span<const Word> words) {
    if (words.size() != 2) return fail(Errc::set_malformed, words.back().span, "right is: include NAME");
    const Word& name = words[1];
    if (std::find(chain_.begin(), chain_.end(), name.text) != chain_.end())
        return fail(Errc::set_include_wrong, name.span, "the set " + quoted(name.text) + " includes itself");
    const auto other = shipped_set(name.text, chain_);
    if (!other)
        return fail(Errc::set_include_wrong, name.span,
                    "the set " + quoted(name.text) + " is wrong: " + message(other.error()));
    if (*other != nullptr) {
        if (std::find(included_.begin(), included_.end(), other->get()) != included_.end()) return {};
        included_.push_back(other->get());
        data_->owned.push_back(*other);
        return take(**other, name);
    }
    const std::vector<std::string_view> names = set_names();
    std::string known;
    for (const std::string_view n : names) known.append(known.empty() ? "" : ", ").append(n);
    const std::string near = did_you_mean(name.text, names);
    return fail(Errc::set_include_wrong, name.span,
                "no set is named " + quoted(name.text) + (near.empty() ? "; the" : near + " The") +
                    " sets are " + known);
}

Expected<void> SetBuilder::take(const InstructionSet& other, const Word& place) {
    std::vector<TypeId> renumbered;
    for (const InstructionSet::UserType& type : other.user_types()) {
        TypeId id = data_->find_type(type.name);
        if (id == max_types) {
            if (first_user_type + data_->user_types.size() == max_types) return full(place);
            id = static_cast<TypeId>(first_user_type + data_->user_types.size());
            data_->user_types.push_back(type);
        } else if (data_->base_of(id) != type_id(type.base)) {
            return fail(Errc::set_name_taken, place.span,
                        "the set " + quoted(place.text) + " has a type " + quoted(type.name) + " over " +
                            std::string(ptxgraft::name(type.base)) + ", which here is another");
        }
        renumbered.push_back(id);
    }
    for (const Entry& theirs : other.entries()) {
        Entry entry = theirs;
        for (EntryOperand& o : entry.operands)
            if (o.type >= first_user_type)
                o.type = renumbered[static_cast<std::size_t>(o.type - first_user_type)];
        const std::int32_t there = data_->find(entry.name);
        if (there >= 0 && !is_same(data_->entries[static_cast<std::size_t>(there)], entry))
            return fail(Errc::set_name_taken, place.span,
                        "the set " + quoted(place.text) + " has an instruction " + quoted(entry.name) +
                            ", which here is another");
        if (there >= 0) continue;
        if (data_->entries.size() == max_entries) return full(place);
        append(std::move(entry), false);
    }
    return {};
}

tl::unexpected<Error> SetBuilder::full(const Word& word) const {
    return fail(Errc::set_malformed, word.span,
                "a set has at most 65,536 instructions and 46 types of its own");
}

// --- type NAME BASE
Expected<void> SetBuilder::type(std::span<const Word> words) {
    if (words.size() != 3)
        return fail(Errc::set_malformed, words.back().span,
                    "right is: type NAME BASE, where BASE is a type of PTX");
    const Word &name = words[1], &base = words[2];
    if (const std::string problem = type_name_problem(name.text); !problem.empty())
        return fail(Errc::set_malformed, name.span, problem);
    if (data_->find_type(name.text) != max_types)
        return fail(Errc::set_name_taken, name.span, "the type " + quoted(name.text) + " stands twice");
    const auto found = type_from_name(base.text);
    if (!found) return fail(Errc::type_unknown, base.span, *found.error().detail);
    if (first_user_type + data_->user_types.size() == max_types) return full(name);
    data_->user_types.push_back({std::string(name.text), *found});
    return {};
}

// --- [NAME =] FORM [TYPES] [weight N]
Expected<void> SetBuilder::entry(std::span<const Word> words) {
    Line line;
    const bool has_name = words.size() > 1 && words[1].text == "=";
    if (has_name && words.size() == 2)
        return fail(Errc::set_malformed, words[1].span, "a form is missing behind '='");
    line.form = words[has_name ? 2 : 0];
    line.name = words[0];
    words = words.subspan(has_name ? 3 : 1);
    const auto weight_at =
        std::find_if(words.begin(), words.end(), [](const Word& w) { return w.text == "weight"; });
    line.types = words.first(static_cast<std::size_t>(weight_at - words.begin()));
    TRY(weight(line, words.subspan(line.types.size())));
    const bool is_wildcard = line.form.text == "*" || line.form.text.ends_with(".*");
    if (has_name && is_wildcard)
        return fail(Errc::set_malformed, line.name.span,
                    "the forms that " + quoted(line.form.text) + " brings have their own names");
    if (!line.types.empty() && (is_wildcard || line.form.text.starts_with('%')))
        return fail(Errc::set_malformed, line.types.front().span,
                    "types stand behind a form only; expected: weight NUMBER");
    if (has_name) TRY(check_name(line));
    return is_wildcard ? wildcard(line) : line.form.text.starts_with('%') ? special(line) : form(line);
}

Expected<void> SetBuilder::weight(Line& line, std::span<const Word> words) const {
    if (words.empty()) return {};
    if (words.size() != 2)
        return fail(
            Errc::set_malformed, words.size() == 1 ? words[0].span : words[2].span,
            words.size() == 1 ? "a number is missing behind 'weight'" : "nothing stands behind the weight");
    constexpr double most = 1e9;
    const std::string_view text = words[1].text;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), line.weight);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() ||
        !(line.weight >= 0 && line.weight <= most))
        return fail(Errc::set_malformed, words[1].span,
                    quoted(text) + " is no weight; a weight is a number from 0 to 1e9");
    line.has_weight = true;
    return {};
}

Expected<void> SetBuilder::check_name(const Line& line) const {
    const std::string_view name = line.name.text;
    if (name == line.form.text) return {};
    if (const std::string problem = instruction_name_problem(name); !problem.empty())
        return fail(Errc::set_malformed, line.name.span, problem);
    if (isa::find_form(name))
        return fail(Errc::set_name_taken, line.name.span,
                    quoted(name) + " is the name of another form of PTX");
    return {};
}

// `min.*`: the opcode, and those that begin so, `mul.*` with mul.lo and mul.wide.
Expected<void> SetBuilder::wildcard(const Line& line) {
    const std::string_view pattern = line.form.text;
    if (std::find(wildcards_.begin(), wildcards_.end(), pattern) != wildcards_.end())
        return fail(Errc::set_name_taken, line.form.span, quoted(pattern) + " stands twice");
    wildcards_.push_back(pattern);
    const std::string_view opcode = pattern.substr(0, pattern.size() == 1 ? 0 : pattern.size() - 2);
    const std::vector<std::string_view> opcodes = isa::pure_opcodes();
    bool is_known = false;
    for (const std::string_view candidate : opcodes) {
        if (pattern != "*" && candidate != opcode &&
            !(candidate.starts_with(opcode) && candidate[opcode.size()] == '.'))
            continue;
        for (const isa::Form& form : forms_of(candidate)) {
            if (!form.pure || !unusable(form).empty()) continue;
            is_known = true;
            const std::int32_t there = data_->find(form.name);
            if (there < 0 && data_->entries.size() == max_entries) return full(line.form);
            if (there < 0) {
                append(make_entry(form), false);
                data_->entries.back().weight = line.weight;
            } else if (line.has_weight) {
                data_->entries[static_cast<std::size_t>(there)].weight = line.weight;
            }
        }
    }
    if (is_known) return {};
    return fail(Errc::set_form_unknown, line.form.span,
                "no opcode " + quoted(opcode) + " has a pure form" + did_you_mean(opcode, opcodes));
}

const SetBuilder::Forms& SetBuilder::forms_of(std::string_view opcode) {
    auto& forms = forms_[opcode];
    if (!forms) {
        forms = std::make_shared<const Forms>(isa::forms(opcode));
        data_->owned.push_back(forms);
    }
    return *forms;
}

Expected<void> SetBuilder::special(const Line& line) {
    const auto info = isa::special_register(line.form.text);
    if (!info)
        return fail(Errc::set_form_unknown, line.form.span,
                    quoted(line.form.text) + " is no special register of one value");
    Entry entry;
    entry.name = line.name.text;
    entry.special = line.form.text;
    entry.special_type = default_type({.type = info->type});
    return add(std::move(entry), line);
}

Expected<void> SetBuilder::form(const Line& line) {
    auto found = isa::find_form(line.form.text);
    if (!found) return fail(Errc::set_form_unknown, line.form.span, unknown_form(line.form.text));
    if (const std::string problem = unusable(*found); !problem.empty())
        return fail(Errc::set_form_unknown, line.form.span, problem);
    const auto kept = std::make_shared<const isa::Form>(std::move(*found));
    data_->owned.push_back(kept);
    Entry entry = make_entry(*kept);
    entry.name = line.name.text;
    if (!line.types.empty()) TRY(give_types(entry, line));
    return add(std::move(entry), line);
}

// `philox, u32 -> philox`: the inputs, then the outputs, without constants.
Expected<void> SetBuilder::give_types(Entry& entry, const Line& line) const {
    const auto arrow =
        std::find_if(line.types.begin(), line.types.end(), [](const Word& w) { return w.text == "->"; });
    const auto wrong = [&, expected = types_text(*data_, entry)](const Word& word) {
        return fail(Errc::set_malformed, word.span,
                    "expected the types " + expected +
                        ", or others in their places, with ',' between and '->' before those of results");
    };
    const bool has_results = std::any_of(entry.operands.begin(), entry.operands.end(),
                                         [](const EntryOperand& o) { return o.is_output; });
    const bool has_arrow = arrow != line.types.end();
    if (!has_arrow && has_results) return wrong(line.types.back());
    auto input = line.types.begin(), output = has_arrow ? arrow + 1 : arrow;
    const isa::OperandSpec* before = nullptr;
    TypeId type = 0;
    bool first_input = true, first_output = true;
    for (EntryOperand& operand : entry.operands) {
        if (operand.is_immediate) continue;
        if (operand.spec != before) {
            auto& at = operand.is_output ? output : input;
            const auto end = operand.is_output ? line.types.end() : arrow;
            bool& is_first = operand.is_output ? first_output : first_input;
            if (!is_first && at != end && at->text != ",") return wrong(*at);
            if (!is_first && at != end) ++at;
            if (at == end) return wrong(operand.is_output || !has_arrow ? line.types.back() : *arrow);
            is_first = false;
            const auto found = TRY(operand_type(*at++, *operand.spec));
            type = found;
            before = operand.spec;
        }
        operand.type = type;
    }
    if (input != arrow) return wrong(*input);
    if (output != line.types.end()) return wrong(*output);
    return {};
}

Expected<TypeId> SetBuilder::operand_type(const Word& word, const isa::OperandSpec& spec) const {
    const TypeId type = data_->find_type(word.text);
    if (type == max_types) {
        std::vector<std::string_view> names;
        for (TypeId t = 0; t < first_user_type + data_->user_types.size(); ++t)
            names.push_back(data_->type_name(t));
        return fail(Errc::type_unknown, word.span, quoted(word.text) + did_you_mean(word.text, names));
    }
    const TypeId base = data_->base_of(type);
    if (fits(base, spec)) return type;
    return fail(Errc::set_type_mismatch, word.span,
                "values of " + quoted(word.text) +
                    (base == type ? "" : ", which are " + std::string(builtin_name(base)) + ",") +
                    " cannot stand for " + std::string(builtin_name(default_type(spec))) +
                    (spec.is_wide ? " or wider" : ""));
}

Entry SetBuilder::make_entry(const isa::Form& form) const {
    Entry entry;
    entry.name = form.name;
    entry.form = &form;
    entry.effects = static_cast<Effect>(form.effects);
    std::size_t count = 0;
    for (const isa::OperandSpec& spec : form.operands) count += spec.count;
    entry.operands.reserve(count);
    for (const isa::OperandSpec& spec : form.operands)
        entry.operands.insert(entry.operands.end(), spec.count,
                              {default_type(spec), spec.is_output, spec.is_immediate, &spec});
    return entry;
}

Expected<void> SetBuilder::add(Entry entry, const Line& line) {
    const std::int32_t there = data_->find(entry.name);
    if (there >= 0) {
        const auto at = static_cast<std::size_t>(there);
        if (is_own_[at])
            return fail(Errc::set_name_taken, line.name.span, quoted(entry.name) + " stands twice");
        if (!is_same(data_->entries[at], entry))
            return fail(Errc::set_name_taken, line.name.span,
                        quoted(entry.name) + " is in an included set, as something else");
        is_own_[at] = true;
        data_->entries[at].weight = line.weight;
        return {};
    }
    if (data_->entries.size() == max_entries) return full(line.name);
    append(std::move(entry), true);
    data_->entries.back().weight = line.weight;
    return {};
}

void SetBuilder::append(Entry entry, bool is_own) {
    constexpr std::size_t first_size = 64;
    auto& names = data_->names;
    if (2 * (data_->entries.size() + 1) > names.size()) {
        names.assign(names.empty() ? first_size : 4 * names.size(), empty);
        for (std::uint32_t i = 0; i < data_->entries.size(); ++i)
            names[place_of(names, data_->entries, data_->entries[i].name)] = i;
    }
    names[place_of(names, data_->entries, entry.name)] = static_cast<std::uint32_t>(data_->entries.size());
    data_->entries.push_back(std::move(entry));
    is_own_.push_back(is_own);
}

}  // namespace ptxgraft::stack
