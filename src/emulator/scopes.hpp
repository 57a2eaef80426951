#pragma once
/// @file scopes.hpp
/// What the names of a module stand for while it is decoded, scope by scope (PTX ISA, chapter 5).

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/program.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::emulator {

/// What a name stands for in a scope.
struct Symbol {
    enum class Kind : std::uint8_t { register_, vector, variable, external, label, table };
    Kind kind = Kind::variable;
    Space space = Space::global;
    bool frame_relative = false;
    bool dynamic = false;       ///< `.extern .shared`
    std::uint32_t count = 0;    ///< registers of a vector
    Ref ref = no_ref;           ///< of a register, or the first of a vector
    std::uint64_t address = 0;  ///< of a variable, in its space; a label's or table's number
    std::uint64_t bytes = 0;
};

/// The registers of `%r<100>`: those that occur have a place.
class RegisterRange {
  public:
    void reset(std::uint32_t count, std::uint32_t bytes);
    [[nodiscard]] std::uint32_t count() const { return count_; }
    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
    /// Of a number below count(); no_ref when it is new.
    [[nodiscard]] Ref& operator[](std::uint32_t number) {
        if (number < near_.size() && near_[number] != no_ref) [[likely]]
            return near_[number];
        return place(number);
    }

  private:
    Ref& place(std::uint32_t number);
    std::uint32_t count_ = 0, bytes_ = 0;
    std::vector<Ref> near_;  // by number, as far as numbers are in use closely
    std::unordered_map<std::uint32_t, Ref> far_;
};

/// Names in nested scopes: the module's, a function's, its blocks'. Views must outlive it. Symbols and ranges
/// stay where they are until the next declaration.
class Scopes {
  public:
    void open() { marks_.push_back(entries_.size()); }
    void close();
    /// Closes all scopes but the module's.
    void close_function();
    /// Closes all scopes, and keeps the memory for another module.
    void clear();
    /// In the innermost scope; it takes the place of one of that name there.
    void declare(std::string_view name, const Symbol& symbol);
    /// `%r<5>`: %r0 to %r4, also written %r04.
    void declare_range(std::string_view stem, std::uint32_t count, std::uint32_t bytes);
    /// A name that was declared by itself.
    [[nodiscard]] const Symbol* find(std::string_view name) const;
    [[nodiscard]] bool is_declared_here(std::string_view name) const;

    /// What a name means where a register may stand: one that was declared by itself, or one of a range.
    struct Meaning {
        const Symbol* symbol = nullptr;
        RegisterRange* range = nullptr;
        std::uint32_t number = 0;
    };
    [[nodiscard]] Meaning find_register(std::string_view name) {
        const Numbered n = numbered(name);
        if (n.stem.size() - 1 < longest_known_stem) [[likely]] {
            const std::uint64_t word = syntax::load_short(n.stem.data(), n.stem.size());
            const KnownStem& stem = known_[place_of(word)];
            if (stem.word == word && stem.size == n.stem.size() && stem.time == time_ &&
                n.number < stem.range->count()) [[likely]]
                return {nullptr, stem.range, static_cast<std::uint32_t>(n.number)};
        }
        return look_up(name, n);
    }

  private:
    // The number behind a stem: "%r12", and for ptxas "%r012" too, is 12 of "%r"; no stem without digits.
    struct Numbered {
        std::string_view stem;
        std::uint64_t number = 0;
    };
    static Numbered numbered(std::string_view name) {
        constexpr std::size_t most_digits = 18;
        std::uint64_t number = 0, unit = 1;
        std::size_t begin = name.size();
        for (; begin > 0; --begin, unit *= 10) {
            const std::uint64_t digit = std::uint64_t{static_cast<unsigned char>(name[begin - 1])} - '0';
            if (digit > 9) break;
            number += digit * unit;
        }
        if (begin == name.size() || begin == 0 || name.size() - begin > most_digits) return {};
        return {name.substr(0, begin), number};
    }
    static std::size_t place_of(std::uint64_t word) {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
        return word * odd >> 58;
    }
    [[nodiscard]] Meaning look_up(std::string_view name, const Numbered& n);

    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    static constexpr std::size_t longest_known_stem = 8;
    // Places in entries_ of the innermost declaration; each knows the one that it hides.
    struct Names {
        std::uint32_t single = none, range = none;
    };
    struct Entry {
        Names* names;
        std::uint32_t hidden;
        std::uint32_t depth;
        RegisterRange* range;  // null: a single name
        Symbol symbol;
    };
    // Ranges that were asked for lately, by their stem: most names are of few.
    struct KnownStem {
        std::uint64_t word = 0;
        std::size_t size = 0;
        RegisterRange* range = nullptr;
        std::uint64_t time = 0;
    };
    [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(marks_.size()); }
    // Long names are asked for again and again, and their hashes take long.
    struct LongName {
        std::string_view name;
        const Names* names = nullptr;
        std::uint64_t changes = 0;
    };
    [[nodiscard]] const Names* names_of(std::string_view name) const;
    [[nodiscard]] const Names* look_for(std::string_view name) const;
    [[nodiscard]] Names& names_for(std::string_view name);
    [[nodiscard]] const Entry* find_in_range(const Numbered& n) const;
    [[nodiscard]] RegisterRange& new_range();

    syntax::Stems ranges_;                  // `%r` of `%r<5>`
    syntax::Stems numbered_;                // `a` of a single `a7`
    syntax::NameMap<Names> outer_, inner_;  // of the module; of the function that is open
    std::vector<Entry> entries_;            // of the open scopes, in order
    std::vector<std::size_t> marks_;
    std::deque<RegisterRange> pool_;  // the first range_count_ are in use
    std::size_t range_count_ = 0;
    std::array<KnownStem, 64> known_ = {};
    std::uint64_t time_ = 1;  // when what is known of stems was last forgotten
    mutable std::array<LongName, 8> long_names_ = {};
    std::uint64_t changes_ = 1;  // when what is known of long names was
};

}  // namespace ptxgraft::emulator
