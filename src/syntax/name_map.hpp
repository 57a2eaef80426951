#pragma once
// How the names of a module are looked up.

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/bytes.hpp"

namespace ptxgraft::syntax {

/// A map from names to values: open addressing. Names are views that must live as long as somebody asks for
/// them; values do not move.
template <class Value> class NameMap {
  public:
    [[nodiscard]] const Value* find(std::string_view name) const { return find(name, hash_of(name)); }
    /// For whoever looks into several maps.
    [[nodiscard]] const Value* find(std::string_view name, std::uint32_t hash) const {
        if (size_ == 0) return nullptr;
        const Item* item = slots_[place(name, hash)].item;
        return item == nullptr ? nullptr : &item->value;
    }
    [[nodiscard]] Value* find(std::string_view name, std::uint32_t hash) {
        return const_cast<Value*>(std::as_const(*this).find(name, hash));
    }

    /// The value of a name, and whether it is new: then it is `Value()`.
    std::pair<Value*, bool> put(std::string_view name) { return put(name, hash_of(name)); }
    std::pair<Value*, bool> put(std::string_view name, std::uint32_t hash) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        Slot& slot = slots_[place(name, hash)];
        if (slot.item != nullptr) return {&slot.item->value, false};
        if (size_ == items_.size()) items_.emplace_back();
        Item& item = items_[size_++];
        item = {name, hash, Value()};
        slot = {&item, hash};
        return {&item.value, true};
    }

    /// In time of what it holds, whatever it held before; keeps its memory, and does not look at the names.
    void clear() {
        if (4 * size_ >= slots_.size()) {
            slots_.assign(slots_.size(), Slot());
            size_ = 0;
        }
        // From the last on: those on whose way it found its place are still there. The names may be gone.
        for (; size_ != 0; --size_) {
            const Item& item = items_[size_ - 1];
            std::size_t at = item.hash & (slots_.size() - 1);
            while (slots_[at].item != &item) at = (at + 1) & (slots_.size() - 1);
            slots_[at].item = nullptr;
        }
    }

  private:
    struct Item {
        std::string_view name;
        std::uint32_t hash;
        Value value;
    };
    struct Slot {
        Item* item = nullptr;
        std::uint32_t hash = 0;
    };

    // Where the name stands, or the first free place on its way.
    [[nodiscard]] std::size_t place(std::string_view name, std::uint32_t h) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = h & mask;
        while (slots_[at].item != nullptr && (slots_[at].hash != h || !is_equal(slots_[at].item->name, name)))
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        constexpr std::size_t first_size = 64;
        slots_.assign(slots_.empty() ? first_size : 2 * slots_.size(), Slot());
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = 0; i < size_; ++i) {
            Item& item = items_[i];
            std::size_t at = item.hash & mask;
            while (slots_[at].item != nullptr) at = (at + 1) & mask;
            slots_[at] = {&item, item.hash};
        }
    }

    std::vector<Slot> slots_;
    std::deque<Item> items_;  // the first size_ are in use
    std::size_t size_ = 0;
};

/// Which names there may be, by size, first and last character: those of `%r<5>` and single ones that end in
/// digits hardly ever are of one kind, so most names need to be looked up in one way only.
class Stems {
  public:
    void add(std::string_view stem) { sizes_[ends(stem)] |= bit(stem); }
    [[nodiscard]] bool may_have(std::string_view stem) const { return (sizes_[ends(stem)] & bit(stem)) != 0; }

  private:
    static std::size_t ends(std::string_view stem) {
        const auto first = static_cast<unsigned char>(stem.front()),
                   last = static_cast<unsigned char>(stem.back());
        return (first ^ 2u * last) % 256;
    }
    static std::uint64_t bit(std::string_view stem) {
        return std::uint64_t{1} << (stem.size() < 63 ? stem.size() : 63);
    }
    std::array<std::uint64_t, 256> sizes_ = {};
};

}  // namespace ptxgraft::syntax
