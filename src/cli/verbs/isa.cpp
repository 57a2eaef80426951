// ptxgraft isa: the rows of the instruction table, and the forms in PTX files that it lacks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/coverage.hpp"
#include "ptxgraft/emulator_coverage.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::cli {
namespace {

struct IsaFlags {
    std::vector<std::string> words;
    bool missing = false, emulated = false, coverage = false, json = false;
};

void print_rows(const IsaFlags& options) {
    Json opcodes = Json::object();
    for (const std::string& opcode : options.words) {
        const std::vector<std::string> rows = isa::rows(opcode);
        if (rows.empty())
            throw Failure{fmt::format("error: the table has no opcode {}\n", opcode), work_failed};
        opcodes[opcode] = rows;
        if (options.json) continue;
        for (const std::string& row : rows) fmt::print("{}\n", row);
    }
    if (options.json) print_json(opcodes);
}

void count_missing(const std::string& path, std::map<std::string, std::size_t>& missing) {
    const std::string text = take(read_file(path));
    const syntax::Module module = take(syntax::parse(text), text, display_name(path));
    for (const syntax::Statement& function : module.functions())
        for (const syntax::Statement& s : function.body_recursive())
            if (const auto i = s.instruction(); i && !isa::knows(*i)) ++missing[std::string(i->name)];
}

// The backlog: most frequent first.
void print_missing(const IsaFlags& options) {
    std::map<std::string, std::size_t> missing;
    for (const std::string& path : options.words) count_missing(path, missing);
    std::vector<std::pair<std::size_t, std::string>> order;
    for (const auto& [name, count] : missing) order.emplace_back(count, name);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    Json rows = Json::array();
    for (const auto& [count, name] : order) {
        rows.push_back({{"instruction", name}, {"count", count}});
        if (!options.json) fmt::print("{:8}  {}\n", count, name);
    }
    if (options.json) print_json(rows);
}

// Of each opcode, how many spellings the emulator runs; of opcodes that are named, those that it lacks as
// well.
std::vector<EmulatedOpcode> emulated(const std::vector<std::string>& words) {
    const auto is_named = [&](std::string_view opcode) {
        return std::find(words.begin(), words.end(), opcode.substr(0, opcode.find('.'))) != words.end() ||
               std::find(words.begin(), words.end(), opcode) != words.end();
    };
    std::vector<EmulatedOpcode> all = emulated_opcodes();
    if (!words.empty()) std::erase_if(all, [&](const EmulatedOpcode& one) { return !is_named(one.opcode); });
    if (all.empty()) throw Failure{"error: the table has no such opcode for sm_75 to sm_90a\n", work_failed};
    return all;
}

void print_emulated_as_json(const std::vector<EmulatedOpcode>& opcodes) {
    Json rows = Json::array();
    for (const EmulatedOpcode& one : opcodes) {
        Json& row = rows.emplace_back(Json{{"opcode", one.opcode},
                                           {"emulated", one.emulated},
                                           {"spellings", one.spellings},
                                           {"missing", one.missing}});
        if (!one.out_of_scope.empty()) row["out_of_scope"] = one.out_of_scope;
    }
    print_json(rows);
}

void print_emulated(const std::vector<EmulatedOpcode>& opcodes) {
    std::size_t emulated = 0, spellings = 0, apart = 0;
    for (const EmulatedOpcode& one : opcodes) {
        if (!one.out_of_scope.empty()) {
            apart += one.spellings;
            fmt::print("{:7} {:7}  {}: out of scope ({})\n", one.emulated, one.spellings, one.opcode,
                       one.out_of_scope);
        } else {
            emulated += one.emulated;
            spellings += one.spellings;
            fmt::print("{:7} {:7}  {}\n", one.emulated, one.spellings, one.opcode);
        }
        for (const std::string& name : one.missing) fmt::print("                 lacks {}\n", name);
    }
    fmt::print("{:7} {:7}  in all: emulated, spellings of sm_75 to sm_90a; {} more are out of scope\n",
               emulated, spellings, apart);
}

Json json_of(const FormCoverage& form) {
    Json json{{"opcode", form.opcode},       {"form", form.form},       {"since", form.since},
              {"spellings", form.spellings}, {"example", form.example}, {"emulated", form.is_emulated}};
    if (!form.target.empty()) json.update({{"target", form.target}, {"version", form.version}});
    if (!form.problem.empty()) json["problem"] = form.problem;
    if (!form.out_of_scope.empty()) json["out_of_scope"] = form.out_of_scope;
    return json;
}

// A page with a row for each form, of the opcodes that are named or of all.
void print_coverage(const IsaFlags& options) {
    const std::vector<FormCoverage> forms = form_coverage(default_assembler(), options.words);
    if (forms.empty()) throw Failure{"error: the table has no such opcode\n", work_failed};
    if (!options.json) return (void)fmt::print("{}", coverage_page(forms));
    Json rows = Json::array();
    for (const FormCoverage& form : forms) rows.push_back(json_of(form));
    print_json(rows);
}

void run_isa(const IsaFlags& options) {
    if (options.emulated) {
        const auto opcodes = emulated(options.words);
        return options.json ? print_emulated_as_json(opcodes) : print_emulated(opcodes);
    }
    if (options.coverage) return print_coverage(options);
    if (options.words.empty()) fail_usage("name opcodes, or with --missing PTX files");
    options.missing ? print_missing(options) : print_rows(options);
}

}  // namespace

void add_isa(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("isa",
                                        "Print the instruction table's rows of opcodes, the forms in PTX "
                                        "files that it lacks, or what the emulator runs of it");
    const auto options = std::make_shared<IsaFlags>();
    verb->add_option(
        "OPCODE", options->words,
        "Opcodes: add, mul.wide, cp; with --missing: PTX files; with --emulated or --coverage: none "
        "for all");
    verb->add_flag("--missing", options->missing,
                   "List the instructions of PTX files that no row has, most frequent first");
    verb->add_flag("--emulated", options->emulated,
                   "List how many spellings of each opcode the emulator runs, of all that sm_75 to sm_90a "
                   "have, and name those that it lacks");
    verb->add_flag(
        "--coverage", options->coverage,
        "Print a page of Markdown with a row for each form: since when it is there, an example as the "
        "emitter prints it, for which target ptxas takes it, and whether the emulator runs it");
    verb->add_flag(
        "--json", options->json,
        "Print JSON: {OPCODE: [ROW]}; with --missing [{\"instruction\", \"count\"}]; with --emulated "
        "[{\"opcode\", \"emulated\", \"spellings\", \"missing\", [\"out_of_scope\"]}]; with --coverage "
        "[{\"opcode\", \"form\", \"since\", \"spellings\", \"example\", \"emulated\", [\"target\", "
        "\"version\"], [\"problem\"], [\"out_of_scope\"]}]");
    verb->callback([options] { run_isa(*options); });
}

}  // namespace ptxgraft::cli
