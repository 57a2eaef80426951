// What a ptxas says of PTX: each wrong line, or that there is none.
#include "support/ptxas_oracle.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <sstream>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "support/kept.hpp"

namespace ptxgraft::oracle {
namespace {

constexpr const char* register_types[] = {"b8", "b16", "b32", "b64", "b128", "u8",    "u16", "u32", "u64",
                                          "s8", "s16", "s32", "s64", "f16",  "f16x2", "f32", "f64", "pred"};
// A wrong line on purpose: ptxas then ends behind its front end, which reports every wrong line.
constexpr std::string_view deliberate = "add.f32 deliberate_error, deliberate_error, deliberate_error;";

// 90 of "9.0", and 90 of "sm_90a".
unsigned version_of(const Setting& setting) {
    unsigned major = 0, minor = 0;
    std::sscanf(setting.version.c_str(), "%u.%u", &major, &minor);
    return 10 * major + minor;
}
unsigned architecture_of(const Setting& setting) {
    unsigned sm = 0;
    std::sscanf(setting.target.c_str(), "sm_%u", &sm);
    return sm;
}
// What there is machine code for.
std::string assembled_for(const Setting& setting) {
    return architecture_of(setting) < 75 ? "sm_75" : std::string();
}

std::string text_of(const Frame& f, const std::vector<std::string>& lines,
                    const std::vector<std::size_t>& alive) {
    std::string text = f.before;
    for (const std::size_t i : alive) text += "{ " + lines[i] + " }\n";
    return text + f.behind;
}

// The lines that a log of ptxas speaks of: "… line 12; error   : message".
void read_log(std::string_view log, std::uint32_t first_line, const std::vector<std::size_t>& alive,
              std::vector<std::string>& found) {
    for (std::size_t at = 0; at < log.size();) {
        const std::size_t end = std::min(log.find('\n', at), log.size());
        const std::string_view row = log.substr(at, end - at);
        at = end + 1;
        const std::size_t line = row.find("line "), semicolon = row.find(';', line);
        if (line == std::string_view::npos || semicolon == std::string_view::npos ||
            row.find("warning", semicolon) != std::string_view::npos ||
            row.find("info", semicolon) == semicolon + 2)
            continue;
        std::uint32_t number = 0;
        std::from_chars(row.data() + line + 5, row.data() + semicolon, number);
        if (number < first_line || number - first_line >= alive.size()) continue;
        std::string& message = found[alive[number - first_line]];
        if (message.empty()) message = row.substr(semicolon + 1);
    }
}

// Checks lines one after another; `tell` hears of each wrong one. Behind an error, the front end does not
// make other instructions of one, and does not find what is wrong in those; behind a syntax error, it reads
// nothing. So what stands behind the first error is checked again without the wrong lines, until there is
// none. False: a log that names no line.
template <class Tell>
bool run(const std::vector<std::string>& lines, std::vector<std::size_t> alive, const Setting& setting,
         Tell tell) {
    Frame f = frame(setting);
    f.behind = std::string(deliberate) + "\n" + f.behind;
    std::vector<std::string> found(lines.size());
    const auto is_wrong = [&](std::size_t i) { return !found[i].empty(); };
    while (!alive.empty()) {
        const auto result = default_assembler().assemble(
            text_of(f, lines, alive), {.target = assembled_for(setting), .optimisation = 0});
        const std::string log = result || !result.error().detail ? std::string() : *result.error().detail;
        read_log(log, f.first_line, alive, found);
        const auto first = std::find_if(alive.begin(), alive.end(), is_wrong);
        if (first == alive.end()) return log.find("deliberate_error") != std::string::npos;
        for (const std::size_t i : alive)
            if (is_wrong(i)) tell(i, found[i]);
        alive.erase(alive.begin(), first);
        std::erase_if(alive, is_wrong);
    }
    return true;
}

void write_all(int file, const void* data, std::size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
        const ssize_t written = write(file, at, size);
        if (written <= 0) _exit(1);
        at += written;
        size -= static_cast<std::size_t>(written);
    }
}

std::string read_all(int file) {
    std::string all;
    std::array<char, 65536> block;
    for (ssize_t got = 0; (got = read(file, block.data(), block.size())) > 0;)
        all.append(block.data(), static_cast<std::size_t>(got));
    return all;
}

// In a process of its own, because some wrong instructions crash ptxas: what it told before it ended, and
// whether it ended well.
struct Outcome {
    bool is_complete = false;
    std::vector<std::pair<std::size_t, std::string>> told;
};
Outcome run_apart(const std::vector<std::string>& lines, const std::vector<std::size_t>& alive,
                  const Setting& setting) {
    Outcome out;
    int ends[2];
    if (pipe(ends) != 0) return out;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        const bool is_complete = run(lines, alive, setting, [&](std::size_t i, const std::string& message) {
            const std::size_t head[2] = {i, message.size()};
            write_all(ends[1], head, sizeof(head));
            write_all(ends[1], message.data(), message.size());
        });
        _exit(is_complete ? 0 : 1);
    }
    close(ends[1]);
    const std::string all = read_all(ends[0]);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    out.is_complete = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (std::size_t at = 0; at + 2 * sizeof(std::size_t) <= all.size();) {
        std::size_t head[2];
        std::memcpy(head, all.data() + at, sizeof(head));
        at += sizeof(head);
        if (at + head[1] > all.size()) break;
        out.told.emplace_back(head[0], all.substr(at, head[1]));
        at += head[1];
    }
    return out;
}

void check(const std::vector<std::string>& lines, const std::vector<std::size_t>& alive,
           const Setting& setting, std::vector<std::string>& found) {
    if (alive.empty()) return;
    const Outcome out = run_apart(lines, alive, setting);
    if (out.is_complete) {
        for (const auto& [i, message] : out.told) found[i] = message;
        return;
    }
    if (alive.size() == 1) {
        found[alive.front()] = crashed;
        return;
    }
    const auto middle = alive.begin() + static_cast<std::ptrdiff_t>(alive.size() / 2);
    check(lines, {alive.begin(), middle}, setting, found);
    check(lines, {middle, alive.end()}, setting, found);
}

// A line for each message: "NUMBER MESSAGE".
std::string text_of(const std::vector<std::string>& messages) {
    std::string text;
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (!messages[i].empty()) text += std::to_string(i) + " " + messages[i] + "\n";
    return text;
}
std::vector<std::string> messages_of(const std::string& text, std::size_t count) {
    std::vector<std::string> messages(count);
    std::istringstream rows(text);
    std::size_t number = 0;
    for (std::string message; rows >> number && std::getline(rows >> std::ws, message);)
        messages.at(number) = message;
    return messages;
}

}  // namespace

std::string reason_to_skip() {
    const Assembler* assembler = nvptxcompiler();
    if (assembler == nullptr) return "built without nvPTXCompiler";
    unsigned major = 0, minor = 0;
    const std::string version = assembler->version();
    std::sscanf(version.c_str(), "%u.%u", &major, &minor);
    return 100 * major + minor >= 1305 ? std::string() : "nvPTXCompiler " + version + " is older than 13.5";
}

Frame frame(const Setting& setting) {
    const unsigned version = version_of(setting), sm = architecture_of(setting);
    Frame f;
    f.before = ".version " + setting.version + "\n.target " + setting.target + "\n";
    if (version >= 23) f.before += ".address_size 64\n";
    f.before +=
        ".global .align 128 .b8 gv[1024];\n.shared .align 128 .b8 sv[1024];\n.const .align 128 .b8 "
        "cv[1024];\n";
    if (version >= 15) f.before += ".global .texref tex_; .global .surfref surf_;";
    f.before += setting.has_samplers() ? " .global .samplerref samp_;\n" : "\n";
    f.before += ".func (.reg .b32 r0) fn1 (.reg .b32 a0) { mov.b32 r0, a0; ret; }\n";
    f.before += version >= 14 ? ".entry k(.param .align 128 .b8 kp[1024]) {\n" : ".entry k {\n";
    for (const std::string_view type : register_types) {
        const bool is_there = type == "b128" ? version >= 83 && sm >= 70 : type == "f16x2" ? sm >= 53 : true;
        if (is_there) f.before.append(".reg .").append(type).append(" ").append(type).append("_<300>;\n");
    }
    f.before += ".local .align 128 .b8 lv[1024];\n";
    f.behind = "ret;\n}\n";
    f.first_line = static_cast<std::uint32_t>(std::count(f.before.begin(), f.before.end(), '\n')) + 1;
    return f;
}

std::vector<std::string> ptxas(const std::vector<std::string>& lines, const Setting& setting) {
    const Frame f = frame(setting);
    std::string asked =
        "nvPTXCompiler " + nvptxcompiler()->version() + " about lines\n" + f.before + f.behind;
    for (const std::string& line : lines) asked += line + "\n";
    if (const auto answer = test::kept(asked)) return messages_of(*answer, lines.size());
    std::vector<std::string> found(lines.size());
    constexpr std::size_t chunk = 20000;
    for (std::size_t begin = 0; begin < lines.size(); begin += chunk) {
        std::vector<std::size_t> alive(std::min(chunk, lines.size() - begin));
        std::iota(alive.begin(), alive.end(), begin);
        check(lines, alive, setting, found);
    }
    // What looks like a crash may have been this machine's memory.
    if (std::ranges::find(found, crashed) == found.end()) test::keep(asked, text_of(found));
    return found;
}

std::vector<std::string> ours(const std::vector<std::string>& lines, const Setting& setting) {
    std::vector<std::string> found(lines.size());
    std::vector<std::size_t> alive(lines.size());
    std::iota(alive.begin(), alive.end(), std::size_t{0});
    const Frame f = frame(setting);
    for (;;) {
        const std::string text = text_of(f, lines, alive);
        const auto index_of = [&](std::uint32_t offset) {
            return position(text, offset).line - f.first_line;
        };
        const auto module = syntax::parse(text);
        if (!module) {
            const std::uint32_t index = index_of(module.error().span.begin);
            if (index >= alive.size()) {
                for (const std::size_t i : alive) found[i] = message(module.error(), text);
                return found;
            }
            found[alive[index]] = message(module.error(), text);
            alive.erase(alive.begin() + index);
            continue;
        }
        std::vector<std::uint32_t> starts{0};
        for (std::size_t i = 0; i < text.size(); ++i)
            if (text[i] == '\n') starts.push_back(static_cast<std::uint32_t>(i + 1));
        for (const Error& error : isa::verify(*module)) {
            const auto line = static_cast<std::uint32_t>(
                std::upper_bound(starts.begin(), starts.end(), error.span.begin) - starts.begin());
            if (line < f.first_line || line - f.first_line >= alive.size()) {
                for (const std::size_t i : alive) found[i] = "outside of the lines: " + message(error, text);
                return found;
            }
            std::string& m = found[alive[line - f.first_line]];
            if (m.empty()) m = std::string(name(error.code)) + ": " + message(error, text);
        }
        return found;
    }
}

}  // namespace ptxgraft::oracle
