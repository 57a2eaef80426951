#include "emulator/decode/scopes.hpp"

#include <algorithm>

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

void Scopes::close() {
    for (; entries_.size() > marks_.back(); entries_.pop_back()) {
        const Entry& e = entries_.back();
        (e.range == nullptr ? e.names->single : e.names->range) = e.hidden;
        if (e.range == nullptr) continue;
        --range_count_;
        ++time_;
    }
    marks_.pop_back();
}

void Scopes::close_function() {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(marks_[1]), entries_.end());
    marks_.resize(1);
    if (has_inner_numbered_) numbered_ = outer_numbered_;
    forget_function();
}

void Scopes::forget_function() noexcept {
    inner_.clear();
    has_inner_numbered_ = false;
    range_count_ = 0;
    ++time_;
    ++changes_;
}

void Scopes::clear() noexcept {
    entries_.clear();
    forget_function();
    marks_.clear();
    outer_.clear();
    ranges_ = numbered_ = outer_numbered_ = {};
}

const Scopes::Names* Scopes::names_of(std::string_view name) const {
    constexpr std::size_t long_size = 32;
    if (name.size() < long_size) return look_for(name);
    LongName& known =
        long_names_[(name.size() + static_cast<unsigned char>(name.back())) % long_names_.size()];
    if (known.changes != changes_ || known.name != name) known = {name, look_for(name), changes_};
    return known.names;
}

const Scopes::Names* Scopes::look_for(std::string_view name) const {
    const std::uint32_t hash = syntax::hash_of(name);
    const Names* names = inner_.find(name, hash);
    return names != nullptr ? names : outer_.find(name, hash);
}

// A name of a function that the module has too begins with what the module says of it.
Scopes::Names& Scopes::names_for(std::string_view name) {
    const std::uint32_t hash = syntax::hash_of(name);
    ++changes_;
    if (depth() <= 1) return *outer_.put(name, hash).first;
    const auto [names, is_new] = inner_.put(name, hash);
    if (is_new)
        if (const Names* outer = outer_.find(name, hash)) *names = *outer;
    return *names;
}

void Scopes::declare(std::string_view name, const Symbol& symbol) {
    if (const Numbered n = numbered(name); !n.stem.empty() && !numbered_.may_have(n.stem)) {
        numbered_.add(n.stem);
        if (depth() <= 1)
            outer_numbered_.add(n.stem);
        else
            has_inner_numbered_ = true;
        ++time_;
    }
    Names& names = names_for(name);
    if (names.single != none && entries_[names.single].depth == depth()) {
        entries_[names.single].symbol = symbol;
        return;
    }
    entries_.push_back({&names, names.single, depth(), nullptr, symbol});
    names.single = static_cast<std::uint32_t>(entries_.size() - 1);
}

RegisterRange& Scopes::new_range() {
    if (range_count_ == pool_.size()) pool_.emplace_back();
    return pool_[range_count_++];
}

// One of the same stem in the same scope hides the one before.
void Scopes::declare_range(std::string_view stem, std::uint32_t count, std::uint32_t bytes,
                           std::uint32_t components, const isa::Symbol& declared) {
    ++time_;
    ranges_.add(stem);
    RegisterRange& range = new_range();
    range.reset(count, bytes, components, declared);
    Names& names = names_for(stem);
    entries_.push_back({&names, names.range, depth(), &range, Symbol()});
    names.range = static_cast<std::uint32_t>(entries_.size() - 1);
}

const Symbol* Scopes::find(std::string_view name) const {
    const Names* names = names_of(name);
    return names == nullptr || names->single == none ? nullptr : &entries_[names->single].symbol;
}

bool Scopes::is_declared_here(std::string_view name) const {
    const Names* names = names_of(name);
    return names != nullptr && names->single != none && entries_[names->single].depth == depth();
}

// A range whose stem ends in a digit (`a1<5>`) has no elements: ptxas takes a10 for number 10 of `a`.
const Scopes::Entry* Scopes::find_in_range(const Numbered& n) const {
    if (n.stem.empty() || !ranges_.may_have(n.stem)) return nullptr;
    const Names* names = names_of(n.stem);
    for (std::uint32_t at = names == nullptr ? none : names->range; at != none; at = entries_[at].hidden)
        if (n.number < entries_[at].range->count()) return &entries_[at];
    return nullptr;
}

Scopes::Meaning Scopes::look_up(std::string_view name, const Numbered& n) {
    const Entry* const element = find_in_range(n);
    if (element != nullptr && !numbered_.may_have(n.stem)) {
        const bool is_innermost = entries_[names_of(n.stem)->range].range == element->range;
        if (is_innermost && element->range->components() == 1 && n.stem.size() <= longest_known_stem) {
            std::uint64_t word = 0;
            for (const char c : n.stem) word = word >> 8 | std::uint64_t{static_cast<unsigned char>(c)} << 56;
            known_[place_of(word)] = {word, element->range, time_};
        }
        return {nullptr, element->range, static_cast<std::uint32_t>(n.number)};
    }
    const Names* names = names_of(name);
    const Entry* const single =
        names == nullptr || names->single == none ? nullptr : &entries_[names->single];
    if (element != nullptr && (single == nullptr || single->depth < element->depth))
        return {nullptr, element->range, static_cast<std::uint32_t>(n.number)};
    return {single == nullptr ? nullptr : &single->symbol, nullptr, 0};
}

}  // namespace ptxgraft::emulator
