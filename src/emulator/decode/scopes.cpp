// What a name stands for in each block of a function.
#include "emulator/decode/scopes.hpp"

#include <algorithm>
#include <string>

namespace ptxgraft::emulator {
void RegisterRange::reset(std::uint32_t count, std::uint32_t bytes, std::uint32_t components,
                          const isa::Symbol& declared) {
    declared_ = declared;
    count_ = count;
    bytes_ = bytes;
    components_ = components;
    near_count_ = 0;
    far_.clear();
}

// A module may declare four billion registers and name one.
Ref& RegisterRange::place(std::uint32_t number) {
    constexpr std::uint64_t least = 64, most_gap = 1 << 15;
    if (const auto found = far_.empty() ? far_.end() : far_.find(number); found != far_.end())
        return found->second;
    if (number >= 4 * std::uint64_t{near_count_} + most_gap)
        return far_.emplace(number, no_ref).first->second;
    const std::uint64_t wanted = std::max({least, 2 * std::uint64_t{near_count_}, std::uint64_t{number} + 1});
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, count_));
    if (near_.size() < count) near_.resize(count);
    std::fill(near_.begin() + near_count_, near_.begin() + count, no_ref);
    near_count_ = count;
    std::erase_if(far_, [&](const auto& far) {
        if (far.first < count) near_[far.first] = far.second;
        return far.first < count;
    });
    return near_[number];
}

void Scopes::open() {
    table_.open();
    ranges_before_.push_back(range_count_);
}

void Scopes::close() {
    table_.close();
    if (range_count_ != ranges_before_.back()) ++time_;
    range_count_ = ranges_before_.back();
    ranges_before_.pop_back();
}

void Scopes::close_function() {
    while (table_.depth() != 0) close();
}

void Scopes::clear() noexcept {
    table_.clear();
    has_variable_ranges_ = false;
    ranges_before_.clear();
    range_count_ = 0;
    ++time_;
}

namespace {

// The characters of a stem of at most eight, the last of them in the highest byte.
std::uint64_t word_of(std::string_view stem) {
    std::uint64_t word = 0;
    for (const char c : stem) word = word >> 8 | std::uint64_t{static_cast<unsigned char>(c)} << 56;
    return word;
}

}  // namespace

// A declaration may hide elements of the range that is known by the stem.
void Scopes::forget_stem(std::string_view stem) {
    if (stem.empty() || stem.size() > longest_known_stem) return;
    const std::uint64_t word = word_of(stem);
    KnownStem& known = known_[place_of(word)];
    if (known.word == word) known.time = 0;
}

void Scopes::declare(std::string_view name, const Symbol& symbol) {
    if (auto* const before = table_.declared_here(name))
        before->symbol.symbol = symbol;
    else
        declare_new(name, symbol);
}

void Scopes::declare_new(std::string_view name, const Symbol& symbol) {
    forget_stem(syntax::numbered(name).stem);
    has_variable_ranges_ |= symbol.is_of_range;
    table_.declare(name, {symbol});
}

void Scopes::declare_range(std::string_view stem, std::uint32_t count, std::uint32_t bytes,
                           std::uint32_t components, const isa::Symbol& declared) {
    forget_stem(stem);
    if (range_count_ == pool_.size()) pool_.emplace_back();
    RegisterRange& range = pool_[range_count_++];
    range.reset(count, bytes, components, declared);
    table_.declare(stem, {{}, &range}, count);
}

const Symbol* Scopes::find(std::string_view name) const {
    const auto* const entry = table_.single(name);
    if (entry == nullptr) return has_variable_ranges_ ? find_padded(name) : nullptr;
    return &entry->symbol.symbol;
}

// `v01` of `v<5>`, which is v1.
const Symbol* Scopes::find_padded(std::string_view name) const {
    const auto [stem, number] = syntax::numbered(name);
    if (stem.empty()) return nullptr;
    const auto* const entry = table_.single(std::string(stem) + std::to_string(number));
    return entry != nullptr && entry->symbol.symbol.is_of_range ? &entry->symbol.symbol : nullptr;
}

Scopes::Meaning Scopes::find_register(std::string_view name) {
    const auto* const entry = table_.find(name);
    if (entry == nullptr) return {has_variable_ranges_ ? find_padded(name) : nullptr, nullptr, 0};
    RegisterRange* const range = entry->symbol.range;
    if (range == nullptr) return {&entry->symbol.symbol, nullptr, 0};
    const auto [stem, number] = syntax::numbered(name);
    // Only the innermost range of a stem that no single names have is known by it.
    if (range->components() == 1 && stem.size() <= longest_known_stem) {
        const std::uint64_t word = word_of(stem);
        KnownStem& known = known_[place_of(word)];
        const bool is_known = known.range == range && known.word == word && known.time == time_;
        if (!is_known && !table_.may_have_numbered(stem) && table_.range({stem}) == entry)
            known = {word, range, time_};
    }
    return {nullptr, range, static_cast<std::uint32_t>(number)};
}

}  // namespace ptxgraft::emulator
