// A module as a program of operations: its variables, then function after function.
#include "emulator/decode/module.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "emulator/decode/share_columns.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft {

using emulator::Function;
using emulator::Program;

Expected<void> EmulatedModule::decode(syntax::Module tree, std::shared_ptr<const launch::ModuleInfo> info,
                                      std::uint32_t threads) {
    if (tree.address_size() == 32) {
        const auto all = tree.statements();
        const auto size =
            std::ranges::find(all, syntax::StatementKind::address_size, &syntax::Statement::kind);
        return fail(Errc::module_not_emulated, size != all.end() ? size->span() : Span{}, "32-bit addresses");
    }
    auto programs = TRY(emulator::decode_in_parts(tree, variables_, threads));
    for (Program& program : programs) add(parts_.emplace_back(std::move(program)));
    text_ = std::move(tree).take_source();
    info_ = std::move(info);
    variables_.add();
    return parts_[0].program.uses_heap ? variables_.memory()->reserve_heap() : Expected<void>{};
}

void EmulatedModule::add(const Part& part) {
    const auto number = static_cast<std::uint32_t>(parts_.size() - 1);
    for (std::uint32_t i = 0; i < part.program.functions.size(); ++i) {
        const Function& function = part.program.functions[i];
        if (!function.is_entry || !function.has_code) continue;
        *entries_.put(function.name).first = {number, i, nullptr};
        if (entry_count_++ == 0) first_entry_ = function.name;
    }
}

Expected<EmulatedModule::Entry> EmulatedModule::prepare(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const PartEntry& found = *TRY(find_entry(name));
    Part& part = parts_[found.part];
    part.prepare(found.function);
    return Entry{&part.program, &part.program.functions[found.function], found.info};
}

Expected<EmulatedModule::PartEntry*> EmulatedModule::find_entry(std::string_view name) const {
    if (name.empty() && entry_count_ == 1) name = first_entry_;
    PartEntry* found = entries_.find(name, syntax::hash_of(name));
    if (found != nullptr && found->info == nullptr && info_ == nullptr) found->info = TRY(read_head(*found));
    if (found != nullptr && found->info != nullptr && !found->info->parameter_error) return found;
    if (info_ == nullptr)
        info_ = std::make_shared<const launch::ModuleInfo>(launch::module_info(TRY(syntax::parse(text_))));
    const auto named = TRY(launch::find_entry(*info_, name));
    found = entries_.find(named->name, syntax::hash_of(named->name));
    found->info = named;
    return found;
}

// An entry's head says by itself what it says in the module.
Expected<const launch::EntryInfo*> EmulatedModule::read_head(const PartEntry& entry) const {
    const Span head = parts_[entry.part].program.functions[entry.function].head;
    const auto tree = TRY(syntax::parse(text_.substr(head.begin, head.end - head.begin) + "{}"));
    return &heads_.emplace_back(launch::entry_info(tree.functions().front()));
}

void EmulatedModule::Part::prepare(std::size_t entry) {
    prepare_one(entry);
    const Function& function = program.functions[entry];
    if (function.first.calls == function.end.calls || callees_are_prepared) return;
    for (std::size_t i = 0; i < program.functions.size(); ++i)
        if (!program.functions[i].is_entry && program.functions[i].has_code) prepare_one(i);
    callees_are_prepared = true;
}

void EmulatedModule::Part::prepare_one(std::size_t i) {
    if (!is_prepared[i]) share_columns(program, program.functions[i]);
    is_prepared[i] = true;
}

}  // namespace ptxgraft
