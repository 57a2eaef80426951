#pragma once
// Reads the text form of the stack language.

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/text/literal.hpp"
#include "stub/stack/text/words.hpp"

namespace ptxgraft::stack {

inline constexpr std::size_t most_routines = 256, most_suggestions = 4;

/// The stubs of the library that a text is being imported into, innermost first: a stub cannot import itself.
struct ImportChain {
    std::string_view name;
    const ImportChain* outer = nullptr;
};

/// Where a value stands in a pool.
class PoolPlaces {
  public:
    void clear() { count_ = 0, table_.clear(); }
    /// The first place of a value; it is appended if there is none.
    std::uint32_t place(std::vector<std::uint64_t>& pool, std::uint64_t value);
    /// Where values stand in a row, as above.
    static std::uint32_t row(std::vector<std::uint64_t>& pool, std::span<const std::uint64_t> values);

  private:
    void insert(const std::vector<std::uint64_t>& pool, std::uint32_t at);
    std::vector<std::uint32_t> table_;
    std::size_t count_ = 0;  // of the pool's constants that are in the table
};

/// Words that always are the same instruction on one machine: operands, instructions without immediates,
/// short literals. Without it, texts of 100 tokens take 1.6 to 2.1 times as long to compile, and 1.7 to 2.6
/// times as long to parse (BM_StackText, BM_StackParse).
class WordCache {
  public:
    static constexpr std::size_t longest = 16;

    void forget() { ++epoch_; }
    /// The instruction of a word that was remembered; null: none. `rest`: bytes that may be read from the
    /// word's begin on.
    [[nodiscard]] const Instruction* find(std::string_view word, std::size_t rest) const {
        const Key key = key_of(word, rest);
        const Kept& kept = kept_[key.place()];
        return kept.key == key && kept.epoch == epoch_ ? &kept.instruction : nullptr;
    }
    void remember(std::string_view word, const Instruction& instruction) {
        const Key key = key_of(word, word.size());
        if (word.size() <= longest) kept_[key.place()] = {key, instruction, epoch_};
    }

  private:
    struct Key {
        std::uint64_t low = 0, high = 0;
        std::uint32_t length = 0;
        friend bool operator==(const Key&, const Key&) = default;
        [[nodiscard]] std::size_t place() const {
            return static_cast<std::size_t>(
                (low * 0x9E3779B97F4A7C15u + high * 0xC2B2AE3D27D4EB4Fu + length) >> 55);
        }
    };
    struct Kept {
        Key key;
        Instruction instruction;
        std::uint64_t epoch = 0;
    };
    // Longer words have a key that no kept one has.
    static Key key_of(std::string_view word, std::size_t rest) {
        const auto length = static_cast<std::uint32_t>(word.size());
        std::uint64_t bytes[2] = {0, 0};
        if (length > longest) return {0, 0, length};
        std::memcpy(bytes, word.data(), rest < longest ? length : longest);
        // what stands behind the word counts for nothing
        const std::uint32_t bits = 8 * length;
        const std::uint64_t low = bits >= 64 ? bytes[0] : bytes[0] & ((1ull << bits) - 1);
        const std::uint64_t high = bits <= 64    ? 0
                                   : bits == 128 ? bytes[1]
                                                 : bytes[1] & ((1ull << (bits - 64)) - 1);
        return {low, high, length};
    }

    std::array<Kept, 512> kept_;
    std::uint64_t epoch_ = 1;
};

/// Reads texts into programs. Kept between texts it allocates nothing for those that have no routines.
class Reader {
  public:
    /// `program` and `places` are cleared first; `places` receives the place of each token of the code.
    Expected<void> read(std::string_view text, const Machine& machine, Program& program,
                        std::vector<Span>& places);
    /// The same for a stub that is imported.
    Expected<void> read_import(std::string_view text, const InstructionSet& set, const Signature& signature,
                               Program& program, std::vector<Span>& places, const ImportChain& chain);
    /// Reads a text behind the routines and constants that a program has; the code is cleared first. For
    /// print, which reads back what it writes.
    Expected<void> read_more(std::string_view text, Program& program) {
        return read_behind(text, program, own_places_);
    }
    /// Gets ready for read_more.
    void begin(const InstructionSet& set, const Signature& signature, Program& program);

    /// The place in the text of an instruction of a routine, or of its `end`; none for those of stubs that
    /// were imported.
    [[nodiscard]] Span place_in_routine(std::size_t routine, std::size_t at) const {
        return routine < routine_places_.size() && at < routine_places_[routine].size()
                   ? routine_places_[routine][at]
                   : Span{};
    }

    /// The program's pool has become shorter.
    void forget_pool() { pool_.clear(); }

    /// Why a routine cannot have a name; empty if it can.
    [[nodiscard]] std::string why_taken(std::string_view name) const;
    /// The place of a routine, the latest of that name; -1: there is none.
    [[nodiscard]] std::int32_t find_routine(std::string_view name) const;

  private:
    struct Bracket {
        Opcode opcode;  // call: the body of a routine
        bool has_else = false;
        Span place;
    };

    Expected<void> read_text(std::string_view text, Program& program, std::vector<Span>& places);
    Expected<void> read_behind(std::string_view text, Program& program, std::vector<Span>& places);
    Expected<void> read_words();
    Expected<void> word();
    Expected<void> dotted(std::string_view word);
    Expected<void> plain(std::string_view word);
    Expected<bool> language_word(std::string_view word);
    Expected<void> if_word();
    Expected<void> assignment();
    Expected<void> operand(std::string_view word, std::uint32_t index);
    [[nodiscard]] std::int32_t find_operand(std::string_view name, bool is_target = false) const;
    Expected<bool> element(std::string_view word, Opcode opcode);
    Expected<void> literal(std::string_view word);
    Expected<void> entry(std::uint32_t index);
    Expected<void> immediates(std::uint32_t index, std::size_t count);
    Expected<std::uint64_t> immediate(const EntryOperand& operand, std::size_t at,
                                      const std::string& name) const;
    Expected<bool> stack_word(std::string_view word);
    Expected<void> cast(std::string_view word);
    Expected<TypeId> stack_type(std::string_view word, std::string_view name) const;
    Expected<std::uint32_t> number(std::string_view what, std::uint32_t most);
    Expected<void> raw(std::string_view word);
    Expected<void> repeat();
    Expected<void> else_word();
    Expected<void> end_word();
    Expected<void> routine();
    Expected<void> routine_types(Routine& routine);
    Expected<void> import();
    Expected<void> imported(std::string_view name, std::string_view file, std::string_view text);
    Expected<void> unknown(std::string_view word) const;

    void add(const Instruction& instruction) {
        code_->push_back(instruction);
        (in_routine_ == 0 ? *places_ : routine_place_).push_back(words_.place());
    }
    Expected<void> done(const Instruction& instruction) { return add(instruction), Expected<void>{}; }
    [[nodiscard]] tl::unexpected<Error> fail_here(Errc code, std::string detail) const {
        return fail(code, words_.place(), std::move(detail));
    }
    [[nodiscard]] std::string_view name_of(TypeId type) const { return set_->type_name(type); }
    void push_constant(const Constant& constant);
    // What every other text for the machine would make of the word, too.
    Expected<void> kept(const Instruction& instruction) {
        cache_.remember(words_.word(), instruction);
        return done(instruction);
    }

    Words words_;
    const InstructionSet* set_ = nullptr;
    const Signature* signature_ = nullptr;
    Program* program_ = nullptr;
    std::vector<Span>* places_ = nullptr;
    const ImportChain* chain_ = nullptr;
    std::vector<Instruction>* code_ = nullptr;  // of the program, or of the routine that is being read
    Routine routine_;
    std::vector<Span> routine_place_;  // of the instructions of routine_
    std::vector<std::vector<Span>> routine_places_;
    std::uint32_t in_routine_ = 0;  // brackets that stood open where it began, plus 1
    std::vector<Bracket> brackets_;
    std::vector<std::string_view> imports_;  // by this text
    PoolPlaces pool_;
    std::vector<Span> own_places_;  // of read_more
    WordCache cache_;
    std::uint64_t machine_ = 0;  // that cache_ is of; 0: of none
};

/// `acc` or `frag[2]`
[[nodiscard]] std::string element_name(const SiteOperand& operand, std::uint32_t element);

// ---- `.stub` files

/// The first line that is neither blank nor a comment: the signature line, of a file that has one.
[[nodiscard]] Span signature_line(std::string_view text);

/// Whether a file's signature line agrees with a site; `place` is that line's.
[[nodiscard]] Expected<void> check_fit(const StubFile& file, const Signature& site, const Policy& policy,
                                       Span place);

/// An error in a part of a text, as one in the whole.
[[nodiscard]] Error shifted(Error error, std::uint32_t by);

}  // namespace ptxgraft::stack
