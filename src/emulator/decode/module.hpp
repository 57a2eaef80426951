#pragma once
/// @file module.hpp
/// A module that was loaded: its text, its variables in global memory, its functions ready to run.

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/decode/decode.hpp"
#include "emulator/memory/memory.hpp"
#include "launch/module_info.hpp"
#include "ptxgraft/emulator.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft {

/// Any thread may destroy one, also while a launch of another one runs.
class EmulatedModule {
  public:
    explicit EmulatedModule(std::shared_ptr<emulator::Memory> memory) : variables_(std::move(memory)) {}
    EmulatedModule(const EmulatedModule&) = delete;
    EmulatedModule& operator=(const EmulatedModule&) = delete;

    /// In up to `threads` threads. `info` is that of the tree; null: of an entry it is read when the entry is
    /// asked for.
    [[nodiscard]] Expected<void> decode(syntax::Module tree, std::shared_ptr<const launch::ModuleInfo> info,
                                        std::uint32_t threads);

    struct Entry {
        const emulator::Program* program = nullptr;
        const emulator::Function* function = nullptr;
        const launch::EntryInfo* info = nullptr;
    };
    /// An entry for a launch: what is done for the functions that run alone is done. Errors: those of
    /// launch::find_entry.
    [[nodiscard]] Expected<Entry> prepare(std::string_view name) const;

    [[nodiscard]] const std::unordered_map<std::string, emulator::Variable>& variables() const {
        return parts_[0].program.variables;
    }
    [[nodiscard]] const emulator::Memory* memory() const { return variables_.memory().get(); }
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    // A function does not change once it was launched or may be called.
    struct Part {
        explicit Part(emulator::Program program_)
            : program(std::move(program_)), is_prepared(program.functions.size()) {}
        void prepare(std::size_t entry);
        void prepare_one(std::size_t i);
        emulator::Program program;
        std::vector<bool> is_prepared;  // of its functions
        bool callees_are_prepared = false;
    };
    struct PartEntry {
        std::uint32_t part = 0, function = 0;
        const launch::EntryInfo* info = nullptr;
    };
    void add(const Part& part);
    [[nodiscard]] Expected<const launch::EntryInfo*> read_head(const PartEntry& entry) const;
    [[nodiscard]] Expected<PartEntry*> find_entry(std::string_view name) const;

    std::string text_;
    emulator::ModuleVariables variables_;
    std::string_view first_entry_;
    std::size_t entry_count_ = 0;
    // What prepare() adds to, under the mutex.
    mutable std::shared_ptr<const launch::ModuleInfo> info_;
    mutable std::deque<launch::EntryInfo> heads_;  // that were read by themselves
    mutable std::deque<Part> parts_;               // of the module
    mutable syntax::NameMap<PartEntry> entries_;
    mutable std::mutex mutex_;
};

}  // namespace ptxgraft
