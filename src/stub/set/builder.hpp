#pragma once
// Makes a set from a text.

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ptxgraft/set.hpp"
#include "stub/set/data.hpp"

namespace ptxgraft::stack {

/// The place of a name among entries, -1 when none has it. `names` holds places by hash, as rebuild_names
/// makes them.
[[nodiscard]] std::int32_t find_name(std::span<const std::uint32_t> names, std::span<const Entry> entries,
                                     std::string_view name);

/// The types of an entry's operands as its line gives them: `philox, u32 -> philox`.
[[nodiscard]] std::string types_text(const InstructionSet::Data& set, const Entry& entry);

/// A shipped set, null when there is none; `chain` are the sets that are being read.
[[nodiscard]] Expected<std::shared_ptr<const InstructionSet>> shipped_set(
    std::string_view name, std::span<const std::string_view> chain);

struct Word {
    std::string_view text;
    Span span;
};

struct SetBuilder {
    /// `chain`: the shipped sets that are being read, this one the last.
    static Expected<std::shared_ptr<const InstructionSet>> parse(std::string_view text,
                                                                 std::span<const std::string_view> chain);

  private:
    using Forms = std::vector<isa::Form>;
    // What a line says of an entry, beside its form.
    struct Line {
        Word name, form;
        std::span<const Word> types;  // all words, with ',' and '->'
        double weight = 1;
        bool has_weight = false;
    };

    Expected<void> line(std::span<const Word> words);
    Expected<void> include(std::span<const Word> words);
    Expected<void> take(const InstructionSet& other, const Word& place);
    Expected<void> type(std::span<const Word> words);
    Expected<void> entry(std::span<const Word> words);
    Expected<void> weight(Line& line, std::span<const Word> words) const;
    Expected<void> check_name(const Line& line) const;

    Expected<void> wildcard(const Line& line);
    Expected<void> special(const Line& line);
    Expected<void> form(const Line& line);
    Expected<void> give_types(Entry& entry, const Line& line) const;
    Expected<TypeId> operand_type(const Word& word, const isa::OperandSpec& spec) const;

    /// The forms of an opcode, made at most once; the set keeps them.
    const Forms& forms_of(std::string_view opcode);
    [[nodiscard]] Entry make_entry(const isa::Form& form) const;
    /// One that `include` or `*` brought may be met again; then its weight is the line's.
    Expected<void> add(Entry entry, const Line& line);
    void append(Entry entry, bool is_own);
    [[nodiscard]] tl::unexpected<Error> full(const Word& word) const;

    InstructionSet::Data* data_ = nullptr;
    std::vector<bool> is_own_;  // entries that a line of this text names
    std::vector<const InstructionSet*> included_;
    std::vector<std::string_view> wildcards_;  // patterns of this text: `*`, `min.*`
    std::map<std::string_view, std::shared_ptr<const Forms>> forms_;
    std::span<const std::string_view> chain_;
};

}  // namespace ptxgraft::stack
