// ptxgraft isa: the rows of the instruction table, and the forms in PTX files that it lacks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "ptxgraft/isa.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

struct Options {
    std::vector<std::string> words;
    bool missing = false;
};

void print_rows(const std::vector<std::string>& opcodes) {
    for (const std::string& opcode : opcodes) {
        const std::vector<std::string> rows = isa::rows(opcode);
        if (rows.empty()) throw Failure{fmt::format("error: the table has no opcode {}\n", opcode), work_failed};
        for (const std::string& row : rows) fmt::print("{}\n", row);
    }
}

void count_missing(const std::string& path, std::map<std::string, std::size_t>& missing) {
    const std::string text = take(read_file(path));
    const syntax::Module module = take(syntax::parse(text), text, display_name(path));
    for (const syntax::Statement& function : module.functions())
        for (const syntax::Statement& s : function.body_recursive())
            if (const auto i = s.instruction(); i && !isa::knows(*i)) ++missing[std::string(i->name)];
}

// The backlog: most frequent first.
void print_missing(const std::vector<std::string>& files) {
    std::map<std::string, std::size_t> missing;
    for (const std::string& path : files) count_missing(path, missing);
    std::vector<std::pair<std::size_t, std::string>> order;
    for (const auto& [name, count] : missing) order.emplace_back(count, name);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [count, name] : order) fmt::print("{:8}  {}\n", count, name);
}

}  // namespace

void add_isa(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("isa", "Print the instruction table's rows of opcodes, or the forms in PTX files that it lacks");
    const auto options = std::make_shared<Options>();
    verb->add_option("OPCODE", options->words, "Opcodes: add, mul.wide, cp; with --missing: PTX files")->required();
    verb->add_flag("--missing", options->missing, "List the instructions of PTX files that no row has, most frequent first");
    verb->callback([options] { options->missing ? print_missing(options->words) : print_rows(options->words); });
}

}  // namespace ptxgraft::cli
