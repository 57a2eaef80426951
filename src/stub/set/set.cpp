// Instruction sets: the embedded ones, and look-up of entries.

#include "ptxgraft/set.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "stub/set/builder.hpp"
#include "stub/set/data.hpp"
#include "stub/set/names.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::string_view folder = "sets/", suffix = ".set";

const LibraryFile* set_file(std::string_view name) {
    const auto at = std::find_if(embedded_files.begin(), embedded_files.end(), [&](const LibraryFile& f) {
        return f.name.size() == folder.size() + name.size() + suffix.size() && f.name.starts_with(folder) &&
               f.name.ends_with(suffix) && f.name.substr(folder.size(), name.size()) == name;
    });
    return at == embedded_files.end() ? nullptr : &*at;
}

// Sets once read.
struct Cache {
    std::mutex mutex;
    std::map<std::string_view, std::shared_ptr<const InstructionSet>> sets;
};
Cache& cache() {
    static Cache all;
    return all;
}

void add_line(std::string& text, const InstructionSet& set, const Entry& entry) {
    const std::string& of = entry.form == nullptr ? entry.special : entry.form->name;
    if (entry.name != of) text.append(entry.name).append(" = ");
    text += of;
    const bool is_plain =
        std::all_of(entry.operands.begin(), entry.operands.end(),
                    [](const EntryOperand& o) { return o.is_immediate || o.type == default_type(*o.spec); });
    if (!is_plain) text.append(" ").append(types_text(SetData::of(set), entry));
    if (entry.weight != 1) {
        char number[32];
        text.append(" weight ")
            .append(number, std::to_chars(number, number + sizeof number, entry.weight).ptr);
    }
    text += '\n';
}

}  // namespace

InstructionSet::InstructionSet(std::unique_ptr<Data> data) : data_(std::move(data)) {}
InstructionSet::~InstructionSet() = default;

std::span<const Entry> InstructionSet::entries() const { return data_->entries; }
std::span<const InstructionSet::UserType> InstructionSet::user_types() const { return data_->user_types; }

std::int32_t InstructionSet::find(std::string_view name) const { return data_->find(name); }
std::string_view InstructionSet::type_name(TypeId type) const { return data_->type_name(type); }
TypeId InstructionSet::find_type(std::string_view name) const { return data_->find_type(name); }

std::int32_t InstructionSet::Data::find(std::string_view name) const {
    return find_name(names, entries, name);
}

std::string_view InstructionSet::Data::type_name(TypeId type) const {
    if (type < first_user_type) return builtin_name(type);
    const std::size_t index = static_cast<std::size_t>(type - first_user_type);
    return index < user_types.size() ? std::string_view(user_types[index].name) : std::string_view();
}

TypeId InstructionSet::Data::find_type(std::string_view name) const {
    for (std::size_t i = 0; i < user_types.size(); ++i)
        if (user_types[i].name == name) return static_cast<TypeId>(first_user_type + i);
    return builtin_type(name);
}

std::string types_text(const InstructionSet::Data& set, const Entry& entry) {
    std::string inputs, outputs;
    const isa::OperandSpec* before = nullptr;
    for (const EntryOperand& o : entry.operands) {
        const bool is_same_vector = o.spec == before;
        before = o.spec;
        if (o.is_immediate || is_same_vector) continue;
        std::string& list = o.is_output ? outputs : inputs;
        list.append(list.empty() ? "" : ", ").append(set.type_name(o.type));
    }
    return (inputs.empty() ? "" : inputs + " ") + "->" + (outputs.empty() ? "" : " " + outputs);
}

std::string InstructionSet::text() const {
    std::string out;
    for (const UserType& type : data_->user_types)
        out.append("type ").append(type.name).append(" ").append(name(type.base)).append("\n");
    for (const Entry& entry : data_->entries) add_line(out, *this, entry);
    return out;
}

Expected<std::shared_ptr<const InstructionSet>> InstructionSet::parse(std::string_view text) {
    return SetBuilder::parse(text, {});
}

Expected<std::shared_ptr<const InstructionSet>> shipped_set(std::string_view name,
                                                            std::span<const std::string_view> chain) {
    const LibraryFile* file = set_file(name);
    if (file == nullptr) return std::shared_ptr<const InstructionSet>();
    {
        const std::lock_guard lock(cache().mutex);
        if (const auto at = cache().sets.find(file->name); at != cache().sets.end()) return at->second;
    }
    std::vector<std::string_view> longer(chain.begin(), chain.end());
    longer.push_back(name);
    auto set = SetBuilder::parse(file->text, longer);
    if (!set) return set;
    const std::lock_guard lock(cache().mutex);
    return cache().sets.emplace(file->name, *set).first->second;
}

std::shared_ptr<const InstructionSet> find_set(std::string_view name) {
    return shipped_set(name, {}).value_or(nullptr);
}

std::vector<std::string_view> set_names() {
    std::vector<std::string_view> names;
    for (const LibraryFile& file : embedded_files)
        if (file.name.starts_with(folder) && file.name.ends_with(suffix))
            names.push_back(
                file.name.substr(folder.size(), file.name.size() - folder.size() - suffix.size()));
    return names;
}

std::span<const LibraryFile> library() { return embedded_files; }

}  // namespace ptxgraft::stack
