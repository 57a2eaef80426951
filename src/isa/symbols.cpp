#include "isa/symbols.hpp"

#include <algorithm>
#include <array>

namespace ptxgraft::isa {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

void Symbols::close() {
    const std::size_t mark = marks_.back();
    for (; log_.size() > mark; log_.pop_back()) {
        Names& names = names_.at(log_.back().first);
        (log_.back().second ? names.range : names.single).pop_back();
    }
    marks_.pop_back();
}

bool Symbols::declare(std::string_view name, const Symbol& symbol) {
    if (find_innermost(name) != nullptr) return false;
    names_[name].single.push_back({depth(), 0, symbol});
    if (const auto n = numbered(name)) ++names_[n->stem].numbered_singles;
    log_.emplace_back(name, false);
    return true;
}

bool Symbols::declare_range(std::string_view stem, std::uint32_t count, const Symbol& symbol) {
    has_digit_stems_ |= is_digit(stem.back());
    std::vector<Entry>& ranges = names_[stem].range;
    if (!ranges.empty() && ranges.back().depth == depth()) return false;
    ranges.push_back({depth(), count, symbol});
    log_.emplace_back(stem, true);
    return true;
}

const Symbols::Entry* Symbols::find_in_range(const Names& names, std::uint64_t number) {
    const auto in = std::find_if(names.range.rbegin(), names.range.rend(), [&](const Entry& e) { return number < e.count; });
    return in == names.range.rend() ? nullptr : &*in;
}

// `a1<5>` declares a10 to a14: the stem ends in a digit, and any split of the digits may be the one.
const Symbols::Entry* Symbols::find_split(std::string_view name, std::size_t first_digit) const {
    for (std::size_t split = first_digit + 1; split < name.size(); ++split) {
        const auto at = names_.find(name.substr(0, split));
        std::uint64_t number = 0;
        for (const char c : name.substr(split)) number = 10 * number + static_cast<std::uint64_t>(c - '0');
        if (at == names_.end()) continue;
        if (const Entry* found = find_in_range(at->second, number)) return found;
    }
    return nullptr;
}

const Symbols::Entry* Symbols::find_entry(std::string_view name) const {
    const Entry* found = nullptr;
    if (const auto n = numbered(name)) {
        const auto at = names_.find(n->stem);
        if (at != names_.end()) found = find_in_range(at->second, n->number);
        if (found == nullptr && has_digit_stems_) found = find_split(name, n->stem.size());
        if (at == names_.end() ? n->stem.empty() : at->second.numbered_singles == 0) return found;  // registers of `%r<N>`: one look
    }
    const auto at = names_.find(name);
    const bool has_single = at != names_.end() && !at->second.single.empty();
    return has_single && (found == nullptr || at->second.single.back().depth >= found->depth) ? &at->second.single.back() : found;
}

const Symbol* Symbols::find(std::string_view name) const {
    const Entry* entry = find_entry(name);
    return entry == nullptr ? nullptr : &entry->symbol;
}

const Symbol* Symbols::find_innermost(std::string_view name) const {
    const Entry* entry = find_entry(name);
    return entry == nullptr || entry->depth != depth() ? nullptr : &entry->symbol;
}

std::vector<std::string_view> Symbols::names() const {
    std::vector<std::string_view> all;
    for (const auto& [name, entries] : names_)
        if (!entries.single.empty()) all.push_back(name);
    std::sort(all.begin(), all.end());
    return all;
}

std::optional<Numbered> numbered(std::string_view name) {
    std::size_t begin = name.size();
    while (begin > 0 && is_digit(name[begin - 1])) --begin;
    const std::size_t digits = name.size() - begin;
    if (digits == 0 || begin == 0 || digits > 18) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : name.substr(begin)) value = 10 * value + static_cast<std::uint64_t>(c - '0');
    return Numbered{name.substr(0, begin), value};
}

namespace {
struct SpaceName {
    std::string_view word;
    Space space;
};
constexpr std::array<SpaceName, 13> space_names = {{
    {".reg", Space::reg},
    {".global", Space::global},
    {".shared", Space::shared},
    {".local", Space::local},
    {".const", Space::const_},
    {".param", Space::param},
    {".tex", Space::tex},
    {".shared::cta", Space::shared},
    {".shared::cluster", Space::shared},
    {".param::entry", Space::param},
    {".param::func", Space::param},
    {".sreg", Space::none},
    {"", Space::none},
}};
}  // namespace

std::string_view text(Space space) {
    const auto at = std::find_if(space_names.begin(), space_names.end(), [&](const SpaceName& n) { return n.space == space; });
    return at == space_names.end() || space == Space::none ? "generic" : at->word;
}

Space space_of(std::string_view word) {
    word = word.substr(0, word.find('['));  // .const[3]
    const auto at = std::find_if(space_names.begin(), space_names.end(), [&](const SpaceName& n) { return n.word == word; });
    return at == space_names.end() ? Space::none : at->space;
}

}  // namespace ptxgraft::isa
