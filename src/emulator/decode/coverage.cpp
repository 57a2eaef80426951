// Which spellings of the instruction table the decoder knows.
#include "ptxgraft/emulator_coverage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/decode/decode.hpp"
#include "isa/sample.hpp"
#include "isa/target.hpp"

namespace ptxgraft {
namespace {

using emulator::Program;

struct Scope {
    std::string_view opcode, reason;
};
constexpr Scope scopes[] = {
    {"tex", "textures"},  {"tld4", "textures"}, {"txq", "textures"},   {"istypep", "textures"},
    {"suld", "surfaces"}, {"sust", "surfaces"}, {"sured", "surfaces"}, {"suq", "surfaces"},
};

std::string_view reason_out_of_scope(std::string_view opcode) {
    const std::string_view word = opcode.substr(0, opcode.find('.'));
    const auto found =
        std::find_if(std::begin(scopes), std::end(scopes), [&](const Scope& s) { return s.opcode == word; });
    return found == std::end(scopes) ? std::string_view() : found->reason;
}

// The oldest PTX version with sm_75 has instructions that later ones lack there.
bool is_in_range(const isa::Match& match) {
    constexpr std::uint16_t first = 63, last = isa::newest_version;
    constexpr isa::Architecture targets[] = {{75, 0}, {80, 0}, {86, 0}, {87, 0}, {89, 0}, {90, 0}, {90, 'a'}};
    return isa::is_available(match, first, targets[0]) ||
           std::any_of(std::begin(targets), std::end(targets),
                       [&](isa::Architecture a) { return isa::is_available(match, last, a); });
}

struct Line {
    std::string text;
    std::size_t spelling;
};

struct Text {
    std::string text;
    std::vector<std::size_t> ends;  // of each line

    explicit Text(const std::vector<Line>& lines, std::size_t first, std::size_t last) {
        text = isa::sample_head(isa::version_text(isa::newest_version), "sm_90a");
        for (std::size_t i = first; i < last; ++i) {
            text += "{ " + lines[i].text + " }\n";
            ends.push_back(text.size());
        }
        text += "ret;\n}\n";
    }
    [[nodiscard]] std::size_t line_at(std::uint32_t offset) const {
        return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
    }
};

// The lines of a module that the decoder lacks; or the one at which it gives up.
struct Answer {
    std::vector<std::size_t> missing;
    bool is_whole = false;
};
Answer ask(const Text& text) {
    const auto tree = syntax::parse(text.text);
    if (!tree) return {{text.line_at(tree.error().span.begin)}, false};
    emulator::ModuleVariables variables(std::make_shared<emulator::Memory>(std::uint64_t{1} << 20, false));
    emulator::DecoderMemory kept;
    emulator::ModuleDecoder decoder(*tree, variables, kept);
    decoder.takes_samples = true;
    const auto program = decoder.decode();
    if (!program) return {{text.line_at(program.error().span.begin)}, false};
    Answer answer{{}, true};
    for (const Error& error : program->failures) answer.missing.push_back(text.line_at(error.span.begin));
    return answer;
}

// Many lines at a time; behind one that the decoder refuses, the others once more.
void mark_missing(std::vector<Line> lines, std::vector<bool>& is_missing) {
    constexpr std::size_t at_a_time = 256;
    for (std::size_t first = 0; first < lines.size();) {
        const std::size_t last = std::min(first + at_a_time, lines.size());
        const Answer answer = ask(Text(lines, first, last));
        for (const std::size_t line : answer.missing)
            if (first + line < last) is_missing[lines[first + line].spelling] = true;
        if (answer.is_whole) {
            first = last;
            continue;
        }
        const std::size_t refused = first + answer.missing[0];
        if (refused >= last) {
            for (std::size_t i = first; i < last; ++i) is_missing[lines[i].spelling] = true;
            first = last;
        } else {
            lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(refused));
        }
    }
}

// Of st.async and red.async, ptxas takes lines without an mbarrier up to sm_90 and makes no code of them, and
// single values of a vector's type; the manual has neither.
bool is_defined(std::string_view opcode, std::string_view name, const std::vector<std::string>& operands) {
    if (opcode != "st.async" && opcode != "red.async") return true;
    const bool is_vector =
        name.find(".v2.") != std::string_view::npos || name.find(".v4.") != std::string_view::npos;
    return operands.size() == 3 && (!is_vector || operands[1].find('{') != std::string::npos);
}

EmulatedOpcode ask_opcode(const isa::Opcode& opcode) {
    std::vector<std::string> names;
    std::vector<Line> lines;
    for (const isa::Row& row : opcode.rows) {
        isa::for_each_spelling(row, [&](const isa::Match& match) {
            if (!is_in_range(match)) return;
            const std::string name = canonical_name(match);
            std::vector<std::string> all;
            for (const bool with_optional : {false, true}) {
                const auto operands = isa::sample_operands(match, with_optional);
                if (is_defined(opcode.name, name, operands)) all.push_back(isa::sample_line(name, operands));
            }
            if (all.empty()) return;
            names.push_back(name);
            if (all.size() == 2 && all[0] == all[1]) all.pop_back();
            for (std::string& line : all) lines.push_back({std::move(line), names.size() - 1});
        });
    }
    EmulatedOpcode result{opcode.name, names.size(), 0, {}, reason_out_of_scope(opcode.name)};
    std::vector<bool> is_missing(names.size());
    mark_missing(std::move(lines), is_missing);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (is_missing[i]) result.missing.push_back(std::move(names[i]));
    result.emulated = result.spellings - result.missing.size();
    return result;
}

}  // namespace

std::string_view emulated_out_of_scope(std::string_view opcode) { return reason_out_of_scope(opcode); }

std::vector<bool> emulated_lines(std::span<const std::string> lines) {
    std::vector<Line> all;
    for (const std::string& line : lines) all.push_back({line, all.size()});
    std::vector<bool> is_missing(lines.size());
    mark_missing(std::move(all), is_missing);
    is_missing.flip();
    return is_missing;
}

std::vector<EmulatedOpcode> emulated_opcodes() {
    std::vector<EmulatedOpcode> all;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        EmulatedOpcode one = ask_opcode(opcode);
        if (one.spellings != 0) all.push_back(std::move(one));
    }
    return all;
}

EmulatorVectors emulator_vectors() {
    switch (arithmetic::this_processor()) {
        case arithmetic::Processor::avx512: return {"AVX-512", 512};
        case arithmetic::Processor::avx2: return {"AVX2", 256};
        default: return {"baseline", 128};
    }
}

}  // namespace ptxgraft
