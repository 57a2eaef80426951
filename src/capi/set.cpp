// Instruction sets and the library of stubs in C.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

using stack::Entry;

// Zero-terminated: those of the library are parts of longer texts.
const std::vector<std::string>& set_names() {
    static const std::vector<std::string> names = [] {
        const auto all = stack::set_names();
        return std::vector<std::string>(all.begin(), all.end());
    }();
    return names;
}

const std::vector<std::string>& file_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> result;
        for (const stack::LibraryFile& file : stack::library()) result.emplace_back(file.name);
        return result;
    }();
    return names;
}

const char* name_at(const std::vector<std::string>& (*names)(), std::size_t index, const char* what) {
    const char* name = nullptr;
    call({}, [&]() -> Expected<void> {
        TRY(capi::check_index(index, names().size(), what));
        name = names()[index].c_str();
        return {};
    });
    return name;
}

Expected<const Entry*> entry_at(const ptxgraft_set* set, std::size_t index) {
    const auto entries = set->set->entries();
    TRY(capi::check_index(index, entries.size(), "entry"));
    return &entries[index];
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_set_create_from_text(ptxgraft_set** set, const char* text, size_t size) {
    return call({{set, "set"}, {text, "text"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::text_at(text, size));
        return capi::give(set, capi::with_source(stack::InstructionSet::parse(given), given, "set"));
    });
}

ptxgraft_status ptxgraft_set_create_by_name(ptxgraft_set** set, const char* name) {
    return call({{set, "set"}}, [&]() -> Expected<void> {
        auto found = stack::find_set(name != nullptr ? name : "standard");
        if (found == nullptr)
            return fail(Errc::argument_invalid,
                        fmt::format("there is no set {}; there are {}", name, fmt::join(set_names(), ", ")));
        *set = new ptxgraft_set{std::move(found)};
        return {};
    });
}

void ptxgraft_set_destroy(ptxgraft_set* set) { delete set; }

ptxgraft_status ptxgraft_set_get_text(char* text, size_t* size, const ptxgraft_set* set) {
    return call({{size, "size"}, {set, "set"}},
                [&] { return capi::give_text(text, size, set->set->text()); });
}

size_t ptxgraft_set_get_entry_count(const ptxgraft_set* set) {
    return get(set, "set", size_t{0}, [](const ptxgraft_set& s) { return s.set->entries().size(); });
}

ptxgraft_status ptxgraft_set_get_entry(ptxgraft_entry_info* info, const ptxgraft_set* set, size_t entry) {
    return call({{info, "info"}, {set, "set"}}, [&]() -> Expected<void> {
        const auto found = TRY(entry_at(set, entry));
        const Entry& e = *found;
        return capi::give_info(
            info, {sizeof(*info), e.name.c_str(), e.form ? e.form->name.c_str() : "", e.special.c_str(),
                   e.operands.size(), e.weight, static_cast<std::uint32_t>(e.effects), e.special_type});
    });
}

ptxgraft_status ptxgraft_set_get_entry_operand(ptxgraft_entry_operand_info* info, const ptxgraft_set* set,
                                               size_t entry, size_t operand) {
    return call({{info, "info"}, {set, "set"}}, [&]() -> Expected<void> {
        const auto found = TRY(entry_at(set, entry));
        TRY(capi::check_index(operand, found->operands.size(), "operand"));
        const stack::EntryOperand& o = found->operands[operand];
        return capi::give_info(info,
                               {sizeof(*info), o.type, o.is_output, o.is_immediate, stack::stack_of(o.type)});
    });
}

ptxgraft_status ptxgraft_set_find_entry(size_t* entry, const ptxgraft_set* set, const char* name) {
    return call({{entry, "entry"}, {set, "set"}, {name, "name"}}, [&]() -> Expected<void> {
        const std::int32_t found = set->set->find(name);
        if (found < 0)
            return fail(Errc::argument_invalid, fmt::format("the set has no instruction {}", name));
        *entry = static_cast<std::size_t>(found);
        return {};
    });
}

const char* ptxgraft_set_get_type_name(const ptxgraft_set* set, uint32_t type) {
    const char* name = nullptr;
    call({{set, "set"}}, [&]() -> Expected<void> {
        const auto count = std::size_t{stack::first_user_type} + set->set->user_types().size();
        TRY(capi::check_index(type, count, "type"));
        if (type >= stack::first_user_type) {
            name = set->set->user_types()[type - stack::first_user_type].name.c_str();
            return {};
        }
        static const std::vector<std::string> own = [] {
            std::vector<std::string> names;
            for (stack::TypeId t = 0; t < stack::type_b8; ++t)
                names.emplace_back(ptxgraft::name(static_cast<Type>(t)));
            names.insert(names.end(), {"b8", "b128"});
            return names;
        }();
        name = own[type].c_str();
        return {};
    });
    return name;
}

size_t ptxgraft_library_get_set_count(void) { return set_names().size(); }
const char* ptxgraft_library_get_set_name(size_t set) { return name_at(set_names, set, "set"); }
size_t ptxgraft_library_get_file_count(void) { return stack::library().size(); }
const char* ptxgraft_library_get_file_name(size_t file) { return name_at(file_names, file, "file"); }

ptxgraft_status ptxgraft_library_get_file_text(char* text, size_t* size, size_t file) {
    return call({{size, "size"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(file, stack::library().size(), "file"));
        return capi::give_text(text, size, stack::library()[file].text);
    });
}

}  // extern "C"
