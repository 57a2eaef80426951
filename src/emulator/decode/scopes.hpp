#pragma once
/// @file scopes.hpp
/// What the names of a module stand for while it is decoded, scope by scope (PTX ISA, chapter 5).

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/machine/program.hpp"
#include "isa/symbols.hpp"
#include "syntax/scopes.hpp"

namespace ptxgraft::emulator {

/// What a name stands for in a scope.
struct Symbol {
    enum class Kind : std::uint8_t {
        register_,
        vector,
        variable,
        external,
        label,
        table,
        prototype,
        call_targets
    };
    Kind kind = Kind::variable;
    Space space = Space::global;
    bool frame_relative = false;
    bool dynamic = false;     ///< `.extern .shared`
    std::uint32_t count = 0;  ///< registers of a vector
    Ref ref = no_ref;         ///< of a register, or the first of a vector
    std::uint64_t address =
        0;  ///< of a variable, in its space; the number of a label, a table, a prototype, a list
    std::uint64_t bytes = 0;
    std::uint32_t element_bytes = 0;  ///< of an array's elements; 0: no array
    bool is_of_range = false;         ///< a variable in memory, of several that were declared as `v<5>`
    std::uint32_t since = 0;          ///< where the text declares it; 0: it stands before all its uses
    std::uint32_t unplaced = 0;       ///< alignment of a `.shared` variable that has no address yet; else 0
    isa::Symbol declared = {};        ///< as the check of an instruction sees it
};

/// The registers of `%r<100>`: those that occur have a place.
class RegisterRange {
  public:
    void reset(std::uint32_t count, std::uint32_t bytes, std::uint32_t components,
               const isa::Symbol& declared);
    [[nodiscard]] std::uint32_t count() const { return count_; }
    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }  ///< of a component
    /// Of `.reg .v4 .f32 %v<3>`: 4; each number's place is that of its first component. Else 1.
    [[nodiscard]] std::uint32_t components() const { return components_; }
    [[nodiscard]] const isa::Symbol& declared() const { return declared_; }
    /// Of a number below count(); no_ref when it is new.
    [[nodiscard]] Ref& operator[](std::uint32_t number) {
        if (number < near_count_) [[likely]]
            return near_[number];
        return place(number);
    }

  private:
    Ref& place(std::uint32_t number);
    std::uint32_t count_ = 0, bytes_ = 0, components_ = 1, near_count_ = 0;
    isa::Symbol declared_;
    // by number, as far as numbers are in use closely: the first near_count_ of this range
    std::vector<Ref> near_;
    std::unordered_map<std::uint32_t, Ref> far_;
};

/// What names stand for: the module's, a function's, its blocks'. Views must outlive it. Symbols and ranges
/// stay where they are until the next declaration.
class Scopes {
  public:
    void open();
    void close();
    /// Closes all scopes but the module's.
    void close_function();
    /// Closes all scopes, and keeps the memory for another module.
    void clear() noexcept;
    /// In the innermost scope; it takes the place of one of that name there.
    void declare(std::string_view name, const Symbol& symbol);
    /// One that is_declared_here() has not.
    void declare_new(std::string_view name, const Symbol& symbol);
    /// `%r<5>`: %r0 to %r4, also written %r04. One of the same stem in the same scope hides the one before.
    void declare_range(std::string_view stem, std::uint32_t count, std::uint32_t bytes,
                       std::uint32_t components, const isa::Symbol& declared);
    /// A name that was declared by itself, and of a range of variables in memory one of its elements.
    [[nodiscard]] const Symbol* find(std::string_view name) const;
    /// The innermost scope has it, or of a range `name<count>` one of its elements.
    [[nodiscard]] bool is_declared_here(std::string_view name, std::uint32_t count = 0) {
        return table_.clash(name, count) != nullptr;
    }

    /// What a name means where a register may stand: one that was declared by itself, or one of a range.
    struct Meaning {
        const Symbol* symbol = nullptr;
        RegisterRange* range = nullptr;
        std::uint32_t number = 0;
    };
    [[nodiscard]] Meaning find_register(std::string_view name);

    /// A register of a range that was asked for lately, from a name of at most eight characters, as
    /// syntax::load_back() has it. Null otherwise, which says nothing of the name.
    struct Element {
        RegisterRange* range = nullptr;
        std::uint32_t number = 0;
    };
    [[nodiscard]] Element find_element(std::uint64_t name) {
        constexpr std::uint64_t zeros = 0x3030303030303030u, tens = 0x7676767676767676u,
                                low = 0x7F7F7F7F7F7F7F7Fu;
        const std::uint64_t values = name ^ zeros;
        // high bits of what is no digit
        const std::uint64_t others = (((values & low) + tens) | values) & ~low;
        // of the digits at the end
        const auto bits = static_cast<unsigned>(std::countl_zero(others | 1)) & 0x78u;
        const std::uint64_t stem = name << bits;
        const KnownStem& known = known_[place_of(stem)];
        const std::uint64_t number = decimal(values & ~(~std::uint64_t{0} >> bits));
        if (known.word != stem || known.time != time_ || number >= known.range->count() || bits == 0)
            return {};
        return {known.range, static_cast<std::uint32_t>(number)};
    }

  private:
    // The number of eight digits' values, the first of them in the lowest byte.
    static std::uint64_t decimal(std::uint64_t digits) {
        digits = digits * 10 + (digits >> 8);
        constexpr std::uint64_t pairs = 0x000000FF000000FFu;
        constexpr std::uint64_t first = 100 + (std::uint64_t{1000000} << 32),
                                second = 1 + (std::uint64_t{10000} << 32);
        return ((digits & pairs) * first + ((digits >> 16) & pairs) * second) >> 32;
    }
    static std::size_t place_of(std::uint64_t word) {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
        return word * odd >> 58;
    }
    void forget_stem(std::string_view stem);
    [[nodiscard]] const Symbol* find_padded(std::string_view name) const;
    static constexpr std::size_t longest_known_stem = 7;
    // A name that was declared by itself has no range.
    struct Declared {
        Symbol symbol;
        RegisterRange* range = nullptr;
    };
    // Ranges that were asked for lately, by their stem: most names are of few. One is forgotten when a name
    // with its stem is declared, all when ranges go out of scope.
    struct KnownStem {
        std::uint64_t word = 0;  // its characters are the high ones
        RegisterRange* range = nullptr;
        std::uint64_t time = 0;
    };
    syntax::ScopeTable<Declared> table_;
    bool has_variable_ranges_ = false;  // in memory
    std::deque<RegisterRange> pool_;    // the first range_count_ are in use
    std::size_t range_count_ = 0;
    std::vector<std::size_t> ranges_before_;  // the open scopes but the module's
    std::array<KnownStem, 64> known_ = {};
    std::uint64_t time_ = 1;  // how often all that is known of stems was forgotten
};

}  // namespace ptxgraft::emulator
