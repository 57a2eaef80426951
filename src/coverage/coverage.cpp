// Each form of the table with an example, an assembler's word on it, and the emulator's.

#include "ptxgraft/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "dsl/sample.hpp"
#include "isa/sample.hpp"
#include "isa/target.hpp"
#include "ptxgraft/architectures.hpp"
#include "ptxgraft/emulator_coverage.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/isa/table.hpp"

namespace ptxgraft {
namespace {

// From sm_75 on, the oldest that the library runs kernels on; what all have before what variants have. Last
// sm_70, for what was gone when they came.
std::vector<Architecture> targets() {
    std::vector<Architecture> all;
    for (const auto& row : architectures::all) {
        if (row.sm < 75) continue;
        for (const char variant : {'\0', 'f', 'a'})
            if (first_version({row.sm, variant}) != 0) all.push_back({row.sm, variant});
    }
    all.push_back({70, '\0'});
    return all;
}

// The versions in which a form may have come, on a target.
std::set<std::uint16_t> versions_of(const isa::Row& row, Architecture target) {
    const std::uint16_t first = first_version(target);
    std::set<std::uint16_t> versions = {first};
    const auto add = [&](std::span<const isa::Since> all) {
        for (const isa::Since& since : all)
            if (since.ptx_version > first) versions.insert(since.ptx_version);
    };
    add(row.since);
    for (const isa::Constraint& c : row.constraints) add(c.since);
    return versions;
}

struct Place {
    Architecture target;
    std::uint16_t version;
};
std::optional<Place> first_place(const isa::Match& match) {
    static const std::vector<Architecture> all = targets();
    for (const Architecture target : all)
        for (const std::uint16_t version : versions_of(*match.row, target))
            if (isa::is_available(match, version, target)) return Place{target, version};
    return std::nullopt;
}

// The spelling that stands for a row: the first that some target has, else the first of all.
struct Example {
    isa::Match match;
    std::optional<Place> place;
    std::size_t spellings = 0;
};
Example example_of(const isa::Row& row) {
    Example example;
    isa::for_each_spelling(row, [&](const isa::Match& match) {
        if (example.spellings++ == 0) example.match = match;
        if (example.place) return;
        example.place = first_place(match);
        if (example.place) example.match = match;
    });
    return example;
}

// The instruction in an entry of its own.
std::string module_of(const std::string& line, const FormCoverage& form) {
    const std::string labels = isa::with_labels(line).substr(line.size());  // older versions want them first
    return isa::sample_head(form.version, form.target, line) + "{" + labels + " " + line + " }\nret;\n}\n";
}

// The first line of a log that says what is wrong, behind the words "error   :" or "fatal   :".
std::string first_error(const Error& error) {
    const std::string log = error.detail ? *error.detail : message(error);
    const std::string line = log.substr(0, log.find('\n'));
    const std::size_t colon = line.rfind("   : ");
    return colon == std::string::npos ? line : line.substr(colon + 5);
}

void ask_assembler(const Assembler& assembler, FormCoverage& form) {
    if (form.target.empty()) return;
    const auto cubin = assembler.assemble(
        module_of(form.example, form),
        {.target = form.target == "sm_70" ? "sm_75" : "", .optimisation = 0, .allow_performance_loss = true});
    if (!cubin) form.problem = first_error(cubin.error());
}

template <class Do> void on_all_cores(std::size_t count, Do one) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i; (i = next++) < count;) one(i);
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
    work();
}

bool is_named(std::span<const std::string> opcodes, std::string_view opcode) {
    return opcodes.empty() || std::ranges::any_of(opcodes, [&](const std::string& name) {
               return opcode == name || (opcode.starts_with(name) && opcode[name.size()] == '.');
           });
}

FormCoverage coverage_of(const isa::Row& row) {
    const Example example = example_of(row);
    FormCoverage form;
    form.opcode = row.opcode.view();
    form.form = row.syntax.view();
    form.since = isa::since_text(row);
    form.spellings = example.spellings;
    form.out_of_scope = emulated_out_of_scope(form.opcode);
    const auto line = dsl::sample_line(example.match);
    form.example = line ? *line : message(line.error());
    if (!example.place) return form;
    form.target = name(example.place->target);
    form.version = isa::version_text(example.place->version);
    return form;
}

// Bars stand in forms and end cells.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) out.append(c == '|' ? "\\|" : std::string(1, c));
    return out;
}

}  // namespace

std::vector<FormCoverage> form_coverage(const Assembler& assembler, std::span<const std::string> opcodes) {
    std::vector<FormCoverage> forms;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        if (!is_named(opcodes, opcode.name)) continue;
        for (const isa::Row& row : opcode.rows) forms.push_back(coverage_of(row));
    }
    on_all_cores(forms.size(), [&](std::size_t i) { ask_assembler(assembler, forms[i]); });
    std::vector<std::string> lines;
    for (const FormCoverage& form : forms) lines.push_back(isa::with_labels(form.example));
    const std::vector<bool> are_emulated = emulated_lines(lines);
    for (std::size_t i = 0; i < forms.size(); ++i) forms[i].is_emulated = are_emulated[i];
    return forms;
}

std::string coverage_page(std::span<const FormCoverage> forms) {
    std::string page =
        "| opcode | form | since | spellings | example, as the emitter prints it | ptxas takes it for | the "
        "emulator runs it |\n|---|---|---|---|---|---|---|\n";
    for (const FormCoverage& form : forms) {
        const std::string assembled = form.target.empty()    ? "no target from sm_75 on has it"
                                      : form.problem.empty() ? form.target + ", PTX " + form.version
                                                             : "no: " + form.problem;
        const std::string emulated = form.is_emulated            ? "yes"
                                     : form.out_of_scope.empty() ? "no"
                                                                 : fmt::format("no ({})", form.out_of_scope);
        fmt::format_to(std::back_inserter(page), "| {} | `{}` | {} | {} | `{}` | {} | {} |\n", form.opcode,
                       cell(form.form), form.since, form.spellings, cell(form.example), cell(assembled),
                       emulated);
    }
    return page;
}

}  // namespace ptxgraft
