// Disassembly to blocks: which instruction needs what another one writes is in the life ranges, a column for
// each register, `^` where it is written, `v` where it is read, `x` where both.

#include "link/sass.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/try.hpp"

namespace ptxgraft::link {
namespace {

struct ClassRow {
    std::string_view begin;  // of an opcode: the longest of the rows that fit counts
    InstructionClass kind;
};
using enum InstructionClass;
// CUDA Binary Utilities, "Instruction Set Reference", Turing to Blackwell.
constexpr ClassRow class_rows[] = {
    {"HMMA", matrix},        {"IMMA", matrix},        {"BMMA", matrix},
    {"DMMA", matrix},        {"QMMA", matrix},        {"OMMA", matrix},
    {"HGMMA", matrix},       {"IGMMA", matrix},       {"QGMMA", matrix},
    {"BGMMA", matrix},       {"UTCHMMA", matrix},     {"UTCIMMA", matrix},
    {"UTCQMMA", matrix},     {"UTCOMMA", matrix},     {"WARPGROUP", barrier},
    {"MUFU", special},       {"FFMA", f32},           {"FADD", f32},
    {"FMUL", f32},           {"FMNMX", f32},          {"FSEL", f32},
    {"FSETP", f32},          {"FSET", f32},           {"FCHK", f32},
    {"FSWZADD", f32},        {"FRND", conversion},    {"DFMA", f64},
    {"DADD", f64},           {"DMUL", f64},           {"DSETP", f64},
    {"DMNMX", f64},          {"DSET", f64},           {"HFMA2", f16},
    {"HADD2", f16},          {"HMUL2", f16},          {"HMNMX2", f16},
    {"HSET2", f16},          {"HSETP2", f16},         {"HADD2.F32", conversion},
    {"F2F", conversion},     {"F2I", conversion},     {"I2F", conversion},
    {"I2I", conversion},     {"F2FP", conversion},    {"I2FP", conversion},
    {"F2IP", conversion},    {"I2IP", conversion},    {"IMAD", integer},
    {"IADD", integer},       {"VIADD", integer},      {"IMNMX", integer},
    {"VIMNMX", integer},     {"VIADDMNMX", integer},  {"IABS", integer},
    {"IDP", integer},        {"IMUL", integer},       {"ISETP", integer},
    {"ISET", integer},       {"ISCADD", integer},     {"LEA", integer},
    {"LOP", integer},        {"PLOP3", integer},      {"SHF", integer},
    {"SHL", integer},        {"SHR", integer},        {"POPC", integer},
    {"FLO", integer},        {"BREV", integer},       {"BMSK", integer},
    {"SGXT", integer},       {"VABSDIFF", integer},   {"LOP3", integer},
    {"MOV", move},           {"SEL", move},           {"PRMT", move},
    {"S2R", move},           {"CS2R", move},          {"SHFL", move},
    {"P2R", move},           {"R2P", move},           {"R2UR", move},
    {"MOVM", move},          {"VOTE", move},          {"MATCH", move},
    {"REDUX", move},         {"LDG", load_global},    {"LD", load_global},
    {"STG", store_global},   {"ST", store_global},    {"ATOM", store_global},
    {"ATOMG", store_global}, {"RED", store_global},   {"REDG", store_global},
    {"LDS", load_shared},    {"LDSM", load_shared},   {"STS", store_shared},
    {"STSM", store_shared},  {"ATOMS", store_shared}, {"STAS", store_shared},
    {"LDL", local},          {"STL", local},          {"LDC", load_constant},
    {"LDCU", load_constant}, {"LDGSTS", copy},        {"UTMALDG", copy},
    {"UTMASTG", copy},       {"UTMAREDG", copy},      {"UTMAPF", copy},
    {"UBLKCP", copy},        {"UBLKRED", copy},       {"UBLKPF", copy},
    {"LDT", copy},           {"STT", copy},           {"LDTM", copy},
    {"STTM", copy},          {"UTCCP", copy},         {"BAR", barrier},
    {"B2R", barrier},        {"MEMBAR", barrier},     {"SYNCS", barrier},
    {"DEPBAR", barrier},     {"LDGDEPBAR", barrier},  {"ARRIVES", barrier},
    {"FENCE", barrier},      {"ERRBAR", barrier},     {"CCTL", barrier},
    {"UCGABAR", barrier},    {"ACQBULK", barrier},    {"UTMACMDFLUSH", barrier},
    {"UTCBAR", barrier},     {"BRA", branch},         {"EXIT", branch},
    {"CALL", branch},        {"RET", branch},         {"BRX", branch},
    {"BRXU", branch},        {"JMP", branch},         {"JMX", branch},
    {"BSSY", branch},        {"BSYNC", branch},       {"BREAK", branch},
    {"BMOV", branch},        {"WARPSYNC", branch},    {"YIELD", branch},
    {"KILL", branch},        {"BPT", branch},         {"S2UR", uniform},
    {"VOTEU", uniform},      {"NANOSLEEP", other},    {"NOP", other},
};

// What ends a block.
constexpr std::string_view block_ends[] = {"BRA", "EXIT", "RET",   "BRX",   "BRXU", "JMP",
                                           "JMX", "CALL", "BSYNC", "BREAK", "KILL", "BPT"};

std::string_view stem_of(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// A line with an instruction, `/*0080*/ @!P0 LDG.E R6, desc[UR4][R2.64] ; // | 5 : v |`.
struct Line {
    std::uint32_t offset = 0;
    std::string_view opcode, ranges;
    std::string_view operands;
};
std::optional<Line> line_of(std::string_view text) {
    const std::string_view code = trimmed(text);
    if (!code.starts_with("/*")) return std::nullopt;
    const std::size_t end = code.find("*/");
    if (end == std::string_view::npos) return std::nullopt;
    Line line;
    for (const char digit : code.substr(2, end - 2)) {
        const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                          : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                         : -1;
        if (value < 0) return std::nullopt;
        line.offset = line.offset * 16 + static_cast<std::uint32_t>(value);
    }
    const std::size_t ranges = text.find("//");
    if (ranges != std::string_view::npos) line.ranges = text.substr(ranges);
    std::string_view rest = trimmed(code.substr(end + 2, code.find(';') - (end + 2)));
    if (rest.starts_with("{")) rest = trimmed(rest.substr(1));
    if (rest.starts_with("@")) rest = trimmed(rest.substr(std::min(rest.find(' '), rest.size())));
    const std::size_t space = std::min(rest.find(' '), rest.size());
    line.opcode = rest.substr(0, space);
    line.operands = trimmed(rest.substr(space));
    if (line.opcode.empty()) return std::nullopt;
    return line;
}

// The lines of a function's section.
std::string_view section_of(std::string_view text, std::string_view function) {
    const std::string head = "//--------------------- .text." + std::string(function) + " ";
    const std::size_t begin = text.find(head);
    if (begin == std::string_view::npos) return {};
    const std::size_t end = text.find("//---------------------", begin + head.size());
    return text.substr(begin, end == std::string_view::npos ? end : end - begin);
}

class Reader {
  public:
    void read(std::string_view section) {
        find_targets(section);
        while (!section.empty()) {
            const std::size_t end = std::min(section.find('\n'), section.size());
            const std::string_view text = section.substr(0, end);
            section.remove_prefix(std::min(end + 1, section.size()));
            if (const auto line = line_of(text))
                add(*line);
            else if (text.starts_with("."))
                label(text.substr(0, text.find(':')));
        }
        drop_trap();
    }
    [[nodiscard]] Disassembly take() { return std::move(made_); }

  private:
    // Labels that are no branch's target are those of the compiler; where branches are indirect, all may be.
    void find_targets(std::string_view section) {
        any_label_ =
            section.find(" BRX") != std::string_view::npos || section.find(" JMX") != std::string_view::npos;
        for (std::size_t at = 0; (at = section.find("`(", at)) != std::string_view::npos; at += 2)
            targets_.insert(section.substr(at + 2, section.find(')', at) - at - 2));
    }
    void label(std::string_view name) {
        if (!any_label_ && !targets_.contains(name)) return;
        begins_ = true;
        last_label_ = name;
    }
    void add(const Line& line) {
        const InstructionClass kind = class_of(line.opcode);
        const std::string_view stem = stem_of(line.opcode);
        if (stem == "NOP" && is_trap_) return;  // what fills up the code
        if (begins_ || made_.blocks.empty()) {
            made_.blocks.push_back({.offset = line.offset});
            depth_.clear();
        }
        const bool is_loop = stem == "BRA" && begins_ && !last_label_.empty() &&
                             line.operands.find(last_label_) != std::string_view::npos;
        begins_ = std::ranges::find(block_ends, stem) != std::end(block_ends);
        is_trap_ = is_loop;
        ++made_.mix.at(static_cast<std::size_t>(kind));
        BasicBlock& block = made_.blocks.back();
        ++block.instructions;
        block.chain = std::max(block.chain, depth_behind(line.ranges));
    }
    // How many instructions the path has that ends here.
    std::uint32_t depth_behind(std::string_view ranges) {
        std::uint32_t depth = 0;
        for (std::size_t at = 0; at < ranges.size(); ++at)
            if (ranges[at] == 'v' || ranges[at] == 'x')
                if (const auto found = depth_.find(at); found != depth_.end())
                    depth = std::max(depth, found->second);
        ++depth;
        for (std::size_t at = 0; at < ranges.size(); ++at)
            if (ranges[at] == '^' || ranges[at] == 'x') depth_[at] = depth;
        return depth;
    }
    // The branch to itself behind the end, which is never reached.
    void drop_trap() {
        if (!is_trap_ || made_.blocks.empty() || made_.blocks.back().instructions != 1) return;
        made_.blocks.pop_back();
        --made_.mix.at(static_cast<std::size_t>(branch));
    }

    Disassembly made_;
    std::map<std::size_t, std::uint32_t> depth_;  // by the column of a register
    std::set<std::string_view> targets_;
    bool any_label_ = false, begins_ = true, is_trap_ = false;
    std::string_view last_label_;
};

}  // namespace

InstructionClass class_of(std::string_view opcode) {
    const ClassRow* found = nullptr;
    for (const ClassRow& row : class_rows) {
        const bool fits = row.begin.find('.') == std::string_view::npos ? stem_of(opcode) == row.begin
                                                                        : opcode.starts_with(row.begin);
        if (fits && (found == nullptr || row.begin.size() > found->begin.size())) found = &row;
    }
    if (found != nullptr) return found->kind;
    // Opcodes have numbers at their ends (IADD3, LOP3, FMNMX3) that differ between architectures.
    for (const ClassRow& row : class_rows)
        if (opcode.starts_with(row.begin) && opcode.size() > row.begin.size() &&
            opcode[row.begin.size()] >= '0' && opcode[row.begin.size()] <= '9')
            return row.kind;
    return opcode.starts_with("U") ? uniform : other;
}

Expected<Disassembly> read_sass(std::string_view text, std::string_view function) {
    const std::string_view section = section_of(text, function);
    Reader reader;
    reader.read(section);
    Disassembly made = reader.take();
    if (made.blocks.empty())
        return fail(Errc::disassemble_failed, "it has no code of " + std::string(function));
    return made;
}

}  // namespace ptxgraft::link
