// Stubs of the library in a program: each becomes a routine.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "stub/stack/text/text.hpp"
#include "stub/suggest.hpp"

namespace ptxgraft::stack {
namespace {

const LibraryFile* find_stub(std::string_view name) {
    for (const LibraryFile& file : library())
        if (file.name.ends_with(".stub") &&
            (file.name == name || file.name.substr(0, file.name.size() - 5) == name))
            return &file;
    return nullptr;
}

// `relu` of `activation/relu.stub`
std::string_view last_part(std::string_view file) {
    const std::size_t slash = file.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? file : file.substr(slash + 1);
    return name.substr(0, name.size() - 5);
}

// `gelu` could be `activation/gelu_erf.stub` and others.
std::string longer_names(std::string_view name, std::span<const std::string_view> files) {
    std::string_view stem = name.substr(name.rfind('/') + 1);
    if (stem.ends_with(".stub")) stem.remove_suffix(5);
    std::string found;
    for (const std::string_view file : files)
        if (stem.size() > 1 && last_part(file).find(stem) != std::string_view::npos)
            found.append(found.empty() ? "; did you mean " : ", ").append(file);
    return found.empty() ? "" : found + "?";
}

std::string nearest_stubs(std::string_view name) {
    std::vector<std::string_view> names;
    for (const LibraryFile& file : library()) {
        if (!file.name.ends_with(".stub")) continue;
        names.push_back(file.name);
        // without its folder
        if (last_part(file.name) == name || std::string(last_part(file.name)) + ".stub" == name)
            return fmt::format("; did you mean {}?", file.name);
    }
    const std::string near = did_you_mean(name, names, most_suggestions);
    return near.empty() ? longer_names(name, names) : near;
}

}  // namespace

Expected<void> Reader::import() {
    const Span place = words_.place();
    if (in_routine_ != 0 || !brackets_.empty())
        return fail_here(Errc::stack_import_wrong, "import stands outside of all brackets and routines");
    if (!words_.next() || words_.is_break())
        return fail(Errc::stack_import_wrong, place,
                    "import takes the name of a stub of the library: import activation/relu.stub");
    const LibraryFile* file = find_stub(words_.word());
    if (file == nullptr)
        return fail_here(Errc::stack_import_wrong,
                         fmt::format("the library has no stub {}{}", words_.word().substr(0, 60),
                                     nearest_stubs(words_.word())));
    if (std::find(imports_.begin(), imports_.end(), file->name) != imports_.end()) return {};
    for (const ImportChain* link = chain_; link != nullptr; link = link->outer)
        if (link->name == file->name)
            return fail_here(Errc::stack_import_wrong, fmt::format("{} would import itself", file->name));
    imports_.push_back(file->name);
    const std::string_view name = last_part(file->name);
    if (std::string why = why_taken(name); !why.empty())
        return fail_here(Errc::stack_import_wrong, fmt::format("import {}: {}", file->name, why));
    return imported(name, file->name, file->text);
}

namespace {

// An error in a file of the library shows that file.
Error in_file(Error error, std::string_view file, std::string_view text, std::uint32_t offset) {
    if (error.source) return error;
    if (error.span.known()) error.span = {error.span.begin + offset, error.span.end + offset};
    error.source = std::make_shared<const SourceText>(SourceText{std::string(file), std::string(text)});
    return error;
}

// Code of a program that is put behind others: its routines begin at `first_routine`, its constants are those
// of another pool.
Expected<void> move_code(std::vector<Instruction>& code, std::span<const std::uint64_t> from,
                         std::size_t first_routine, const InstructionSet& set,
                         std::vector<std::uint64_t>& pool, PoolPlaces& places) {
    for (Instruction& instruction : code) {
        if (instruction.opcode == Opcode::call)
            instruction.index = static_cast<std::uint16_t>(instruction.index + first_routine);
        if (instruction.opcode == Opcode::pooled)
            instruction.payload = places.place(pool, from[instruction.payload]);
        if (instruction.opcode != Opcode::form) continue;
        const auto& operands = set.entries()[instruction.index].operands;
        const auto count = static_cast<std::size_t>(std::count_if(
            operands.begin(), operands.end(), [](const EntryOperand& o) { return o.is_immediate; }));
        if (count < 2) continue;
        const std::uint32_t row = PoolPlaces::row(pool, from.subspan(instruction.type, count - 1));
        if (row > 0xFF)
            return fail(Errc::stack_too_large,
                        "a program has at most 256 constants that are part of instructions");
        instruction.type = static_cast<TypeId>(row);
    }
    return {};
}

// One register of the stub's signature.
struct Register {
    TypeId type;
    std::uint32_t argument = 0, result = 0;  // cells
    bool is_assigned = false;
};

// Makes the routine that a stub is: its operands are cells, from 255 downwards for each type, so that the
// stub's own stay free.
class StubRoutine {
  public:
    StubRoutine(std::string name, std::span<const Instruction> code, const Signature& signature,
                const InstructionSet& set)
        : code_(code),
          signature_(signature),
          set_(set),
          registers_(signature.operands.size()),
          routine_{std::move(name), {}, {}, {}} {
        next_.fill(256);
        for (const Instruction& i : code)
            if ((i.opcode == Opcode::store || i.opcode == Opcode::load) && i.type < max_types)
                used_[stack_of(i.type)] = std::max(used_[stack_of(i.type)], i.payload % 256 + 1);
    }

    Expected<Routine> make() {
        for (std::size_t k = 0; k < registers_.size(); ++k) TRY(place(k));
        for (std::size_t k = registers_.size(); k-- > 0;) take_arguments(k);
        for (const Instruction& instruction : code_) TRY(move(instruction));
        for (std::size_t k = 0; k < registers_.size(); ++k) TRY(give_results(k));
        return std::move(routine_);
    }

  private:
    void add(Opcode opcode, TypeId type, std::uint32_t cell = 0) {
        routine_.code.push_back({opcode, type, 0, cell});
    }
    [[nodiscard]] Direction direction(std::size_t operand) const {
        return signature_.operands[operand].direction;
    }

    [[nodiscard]] bool take_cell(TypeId type, std::uint32_t& cell) {
        const TypeId stack = stack_of(type);
        if (next_[stack] == used_[stack]) return false;
        cell = --next_[stack];
        return true;
    }

    Expected<void> place(std::size_t k) {
        const SiteOperand& operand = signature_.operands[k];
        TypeId type = operand.user_type.empty() ? max_types : set_.find_type(operand.user_type);
        if (type == max_types) type = type_id(operand.type);
        for (std::uint32_t i = 0; i < std::max(operand.count, 1u); ++i) {
            Register r{type};
            const bool is_read = operand.direction != Direction::out,
                       is_written = operand.direction != Direction::in;
            if ((is_read && !take_cell(type, r.argument)) || (is_written && !take_cell(type, r.result)))
                return fail(Errc::stack_import_wrong, "it has too many operands to be imported");
            if (is_read) routine_.arguments.push_back(type);
            if (is_written) routine_.results.push_back(type);
            registers_[k].push_back(r);
        }
        return {};
    }

    // The last argument is on top; a `mod` operand that is not assigned keeps its value.
    void take_arguments(std::size_t k) {
        if (direction(k) == Direction::out) return;
        for (std::size_t i = registers_[k].size(); i-- > 0;) {
            const Register& r = registers_[k][i];
            if (direction(k) == Direction::mod) {
                add(Opcode::dup, r.type);
                add(Opcode::store, r.type, r.result);
            }
            add(Opcode::store, r.type, r.argument);
        }
    }

    Expected<void> move(const Instruction& instruction) {
        const bool is_input = instruction.opcode == Opcode::input;
        if (!is_input && instruction.opcode != Opcode::assign)
            return routine_.code.push_back(instruction), Expected<void>{};
        Register& r = registers_[instruction.index][instruction.payload];
        if (direction(instruction.index) == (is_input ? Direction::out : Direction::in))
            return fail(Errc::stack_import_wrong,
                        fmt::format("its operand {} is `{}`", signature_.operands[instruction.index].name,
                                    is_input ? "out" : "in"));
        if (is_input) return add(Opcode::load, r.type, r.argument), Expected<void>{};
        r.is_assigned = true;
        add(Opcode::store, r.type, r.result);
        return {};
    }

    Expected<void> give_results(std::size_t k) {
        if (direction(k) == Direction::in) return {};
        for (const Register& r : registers_[k]) {
            if (direction(k) == Direction::out && !r.is_assigned)
                return fail(
                    Errc::stack_import_wrong,
                    fmt::format("its operand {} is `out` and is not assigned", signature_.operands[k].name));
            add(Opcode::load, r.type, r.result);
        }
        return {};
    }

    std::span<const Instruction> code_;
    const Signature& signature_;
    const InstructionSet& set_;
    std::vector<std::vector<Register>> registers_;
    Routine routine_;
    // cells: one more than the next free one; one more than the last that the stub uses
    std::array<std::uint32_t, max_types> next_{}, used_{};
};

}  // namespace

Expected<void> Reader::imported(std::string_view name, std::string_view file, std::string_view text) {
    const auto parsed = parse_file(text);
    if (!parsed) return tl::unexpected(in_file(parsed.error(), file, text, 0));
    if (parsed->program_offset == 0)
        return fail_here(Errc::stack_import_wrong, fmt::format("{} has no signature line", file));
    const ImportChain chain{file, chain_};
    Program own;
    std::vector<Span> places;
    Reader reader;
    const auto read =
        reader.read_import(text.substr(parsed->program_offset), *set_, parsed->signature, own, places, chain);
    if (!read) return tl::unexpected(in_file(read.error(), file, text, parsed->program_offset));
    auto routine = StubRoutine(std::string(name), own.code, parsed->signature, *set_).make();
    if (!routine) return tl::unexpected(in_file(routine.error(), file, text, 0));
    for (Routine& inner : own.routines) inner.name = fmt::format("{}/{}", name, inner.name);
    own.routines.push_back(std::move(*routine));
    const std::size_t first = program_->routines.size();
    if (first + own.routines.size() > most_routines)
        return fail_here(Errc::stack_routine_wrong, "a program has at most 256 routines");
    for (Routine& moving : own.routines) {
        if (auto done = move_code(moving.code, own.pool, first, *set_, program_->pool, pool_); !done)
            return fail_here(done.error().code, *done.error().detail);
        program_->routines.push_back(std::move(moving));
    }
    return {};
}

}  // namespace ptxgraft::stack
