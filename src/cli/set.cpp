// ptxgraft set: the instruction sets that ship, and what is in one.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "set_input.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

std::string known_sets() {
    std::string names;
    for (const std::string_view name : stack::set_names())
        names.append(names.empty() ? "" : ", ").append(name);
    return names;
}

void print_set(const std::string& name_or_file) {
    if (name_or_file.empty())
        for (const std::string_view name : stack::set_names()) fmt::print("{}\n", name);
    else
        take(write_file("-", read_set(name_or_file)->text()));
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
    const auto name = std::make_shared<std::string>();
    verb->add_option("NAME", *name, "A set that ships, or a .set file");
    verb->callback([name] { print_set(*name); });
}

}  // namespace ptxgraft::cli
