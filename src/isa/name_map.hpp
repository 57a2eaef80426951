#pragma once
// A map from names to values: open addressing over hashes of 8 bytes at a time. Names are views that must outlive it; values do not move.

#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

namespace ptxgraft::isa {

struct NameHash {
    std::size_t operator()(std::string_view name) const noexcept {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
        std::uint64_t hash = name.size() * odd;
        const auto mix = [&](std::uint64_t word) {
            hash = (hash ^ word) * odd;
            hash ^= hash >> 29;
        };
        std::size_t at = 0;
        for (std::uint64_t word = 0; at + 8 <= name.size(); at += 8) {
            std::memcpy(&word, name.data() + at, 8);
            mix(word);
        }
        std::uint64_t rest = 0;
        std::memcpy(&rest, name.data() + at, name.size() - at);
        mix(rest);
        return static_cast<std::size_t>(hash ^ (hash >> 32));
    }
};

template <class Value>
class NameMap {
  public:
    [[nodiscard]] const Value* find(std::string_view name) const {
        if (items_.empty()) return nullptr;
        const Slot& slot = slots_[place(name, hash(name))];
        return slot.item == empty ? nullptr : &items_[slot.item].value;
    }
    [[nodiscard]] Value* find(std::string_view name) { return const_cast<Value*>(std::as_const(*this).find(name)); }

    /// The value of a name, and whether it is new: then it is `Value()`.
    std::pair<Value*, bool> put(std::string_view name) {
        if (2 * (items_.size() + 1) > slots_.size()) grow();
        const std::uint32_t h = hash(name);
        const std::size_t at = place(name, h);
        if (slots_[at].item != empty) return {&items_[slots_[at].item].value, false};
        slots_[at] = {h, static_cast<std::uint32_t>(items_.size())};
        items_.push_back({name, static_cast<std::uint32_t>(at), Value()});
        return {&items_.back().value, true};
    }

    /// In time of what it holds, whatever it held before.
    void clear() {
        for (const Item& item : items_) slots_[item.slot].item = empty;
        items_.clear();
    }

  private:
    static constexpr std::uint32_t empty = 0xFFFFFFFFu;
    struct Slot {
        std::uint32_t hash = 0, item = empty;
    };
    struct Item {
        std::string_view name;
        std::uint32_t slot;
        Value value;
    };
    static std::uint32_t hash(std::string_view name) { return static_cast<std::uint32_t>(NameHash()(name)); }

    // Where the name stands, or the first free place on its way.
    [[nodiscard]] std::size_t place(std::string_view name, std::uint32_t h) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = h & mask;
        while (slots_[at].item != empty && (slots_[at].hash != h || items_[slots_[at].item].name != name)) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        constexpr std::size_t first_size = 64;
        slots_.assign(slots_.empty() ? first_size : 2 * slots_.size(), Slot());
        const std::size_t mask = slots_.size() - 1;
        for (std::uint32_t i = 0; i < items_.size(); ++i) {
            const std::uint32_t h = hash(items_[i].name);
            std::size_t at = h & mask;
            while (slots_[at].item != empty) at = (at + 1) & mask;
            slots_[at] = {h, i};
            items_[i].slot = static_cast<std::uint32_t>(at);
        }
    }

    std::vector<Slot> slots_;
    std::deque<Item> items_;
};

}  // namespace ptxgraft::isa
