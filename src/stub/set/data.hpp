#pragma once
// What a set holds.

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

struct SetCode;

/// The files of stubs/, ordered by name, as the build writes them into the library (embed.cmake).
extern const std::span<const LibraryFile> embedded_files;

struct InstructionSet::Data {
    std::vector<Entry> entries;
    std::vector<UserType> user_types;
    std::vector<std::uint32_t> names;                // open addressing over entries
    std::vector<std::shared_ptr<const void>> owned;  // forms, and sets that were included

    // The entries as the compiler wants them; made on first use.
    std::once_flag code_made;
    std::shared_ptr<const SetCode> code;

    [[nodiscard]] std::int32_t find(std::string_view name) const;
    [[nodiscard]] std::string_view type_name(TypeId type) const;
    [[nodiscard]] TypeId find_type(std::string_view name) const;
    /// The PTX type of a type: of a user's type what it stands for.
    [[nodiscard]] TypeId base_of(TypeId type) const {
        return type < first_user_type ? type : type_id(user_types[std::size_t{type} - first_user_type].base);
    }
};

struct SetData {
    static InstructionSet::Data& of(const InstructionSet& set) { return *set.data_; }
    static std::shared_ptr<const InstructionSet> make(std::unique_ptr<InstructionSet::Data> data) {
        return std::shared_ptr<const InstructionSet>(new InstructionSet(std::move(data)));
    }
};

}  // namespace ptxgraft::stack
