// ptxgraft set: the instruction sets that ship, and what is in one.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/set_input.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

std::string known_sets() {
    std::string names;
    for (const std::string_view name : stack::set_names())
        names.append(names.empty() ? "" : ", ").append(name);
    return names;
}

struct SetFlags {
    std::string set;  // a name or a file; empty: which there are
    bool json = false;
};

Json json_of(const stack::InstructionSet& set, const stack::Entry& entry) {
    const auto types = [&](auto wanted) {
        Json list = Json::array();
        for (const stack::EntryOperand& operand : entry.operands)
            if (wanted(operand)) list.push_back(set.type_name(operand.type));
        return list;
    };
    Json json{{"name", entry.name},
              {"inputs", types([](const auto& o) { return !o.is_output && !o.is_immediate; })},
              {"immediates", types([](const auto& o) { return o.is_immediate; })},
              {"outputs", types([](const auto& o) { return o.is_output; })},
              {"weight", entry.weight},
              {"effects", effect_names(entry.effects)}};
    if (entry.form != nullptr) json["form"] = entry.form->name;
    if (!entry.special.empty()) json["special"] = entry.special;
    return json;
}

Json json_of(const stack::InstructionSet& set) {
    Json types = Json::array(), instructions = Json::array();
    for (const auto& type : set.user_types())
        types.push_back({{"name", type.name}, {"base", name(type.base)}});
    for (const stack::Entry& entry : set.entries()) instructions.push_back(json_of(set, entry));
    return {{"types", std::move(types)}, {"instructions", std::move(instructions)}, {"text", set.text()}};
}

void print_names(bool as_json) {
    if (as_json) return print_json({{"sets", stack::set_names()}});
    for (const std::string_view name : stack::set_names()) fmt::print("{}\n", name);
}

void print_set(const SetFlags& options) {
    if (options.set.empty()) return print_names(options.json);
    const auto set = read_set(options.set);
    take(write_file("-", options.json ? json_text(json_of(*set)) : set->text()));
}

}  // namespace

std::shared_ptr<const stack::InstructionSet> read_set(const std::string& name_or_file) {
    if (auto shipped = stack::find_set(name_or_file)) return shipped;
    const Expected<std::string> text = read_file(name_or_file);
    if (!text && text.error().code == Errc::file_not_found)
        throw Failure{
            fmt::format("error: {} is no set and no file; the sets are {}\n", name_or_file, known_sets()),
            work_failed};
    return take(stack::InstructionSet::parse(take(text)), *text, display_name(name_or_file));
}

void add_set(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("set",
                                        "Print an instruction set of the stack language, all that it "
                                        "includes written out; without a name: the names of the sets");
    const auto options = std::make_shared<SetFlags>();
    verb->add_option("NAME", options->set, "A set that ships, or a .set file");
    verb->add_flag("--json", options->json,
                   "Print JSON: {\"sets\": [NAME]}, or of a set {\"types\", \"instructions\": [{\"name\", "
                   "\"inputs\", \"immediates\", \"outputs\", \"weight\", \"effects\", …}], \"text\"}");
    verb->callback([options] { print_set(*options); });
}

}  // namespace ptxgraft::cli
