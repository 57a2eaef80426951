// Reads what ptxas prints: registers and spills of functions, performance losses, the place of an error.

#include "link/assembler_log.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

#include "link/text.hpp"

namespace ptxgraft::link {
namespace {

std::uint32_t number_at(std::string_view text) {
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// The name in `Function properties for NAME` or `…for 'NAME':`, `Compiling entry function 'NAME' for
// 'sm_90'`.
std::string_view name_at(std::string_view text) {
    text = trim(text);
    if (text.starts_with('\'')) {
        text.remove_prefix(1);
        return text.substr(0, text.find('\''));
    }
    return text;
}

FunctionUsage& function(std::vector<FunctionUsage>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.name == name; });
    if (found != all.end()) return *found;
    all.push_back({.name = std::string(name)});
    return all.back();
}

// `Used 40 registers, used 1 barriers, 96 bytes cumulative stack size, 256 bytes smem`
struct Quantity {
    std::string_view unit;
    std::uint32_t FunctionUsage::*member;
};
constexpr Quantity quantities[] = {
    {"registers", &FunctionUsage::registers},
    {"barriers", &FunctionUsage::barriers},
    {"bytes smem", &FunctionUsage::shared_bytes},
    {"bytes stack frame", &FunctionUsage::stack_bytes},
    {"bytes cumulative stack size", &FunctionUsage::stack_bytes},
    {"bytes spill stores", &FunctionUsage::spill_store_bytes},
    {"bytes spill loads", &FunctionUsage::spill_load_bytes},
};

void read_quantities(std::string_view line, FunctionUsage& usage) {
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(','), line.size());
        std::string_view part = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
        const std::size_t digit = part.find_first_of("0123456789");
        if (digit == std::string_view::npos) continue;
        part.remove_prefix(digit);
        const std::size_t unit = part.find(' ');
        if (unit == std::string_view::npos) continue;
        for (const auto& q : quantities)
            if (trim(part.substr(unit)) == q.unit)
                usage.*q.member = std::max(usage.*q.member, number_at(part));
    }
}

// The place of a quoted word of the message within its line, if it is there.
Span narrowed(std::string_view message, Span line, std::string_view ptx) {
    const std::string_view text = ptx.substr(line.begin, line.end - line.begin);
    for (std::size_t open = message.find('\''); open != std::string_view::npos;
         open = message.find('\'', open + 1)) {
        const std::size_t close = message.find('\'', open + 1);
        if (close == std::string_view::npos) break;
        const std::string_view word = message.substr(open + 1, close - open - 1);
        const std::size_t at = word.empty() ? std::string_view::npos : text.find(word);
        if (at != std::string_view::npos) {
            const auto begin = line.begin + static_cast<std::uint32_t>(at);
            return {begin, begin + static_cast<std::uint32_t>(word.size())};
        }
        open = close;
    }
    return line;
}

}  // namespace

std::vector<FunctionUsage> parse_usage(std::string_view log) {
    std::vector<FunctionUsage> all;
    std::string entry, described;
    for (std::string_view rest = log; !rest.empty();) {
        const std::string_view line = take_line(rest);
        // nvJitLink repeats, after ptxas, what the linker thinks; its figures include what the system
        // reserves.
        if (line.starts_with("info ")) continue;
        constexpr std::string_view compiling = "Compiling entry function ",
                                   properties = "Function properties for ";
        if (const auto at = line.find(compiling); at != std::string_view::npos) {
            entry = name_at(line.substr(at + compiling.size()));
            function(all, entry).is_entry = true;
        } else if (const auto p = line.find(properties); p != std::string_view::npos) {
            described = name_at(line.substr(p + properties.size()));
            function(all, described);
        } else if (line.find("bytes stack frame") != std::string_view::npos) {
            if (!described.empty()) read_quantities(line, function(all, described));
        } else if (const auto used = line.find(": Used "); used != std::string_view::npos) {
            if (!entry.empty()) read_quantities(line.substr(used), function(all, entry));
        }
    }
    return all;
}

std::vector<PerformanceLoss> parse_losses(std::string_view log) {
    std::vector<PerformanceLoss> losses;
    for (std::string_view rest = log; !rest.empty();) {
        const std::string_view line = take_line(rest);
        const std::size_t open = line.find("(C75");
        const std::size_t close = line.find(") ", open);
        if (open == std::string_view::npos || close == std::string_view::npos) continue;
        losses.push_back({number_at(line.substr(open + 2)), std::string(trim(line.substr(close + 2)))});
    }
    return losses;
}

Span first_error_span(std::string_view log, std::string_view ptx) {
    for (std::string_view rest = log; !rest.empty();) {
        const std::string_view line = take_line(rest);
        // `ptxas fatal   : Unexpected non-ASCII character encountered on line 4`
        constexpr std::string_view last_words = " encountered on line ";
        if (const std::size_t words = line.find(last_words); words != std::string_view::npos)
            return line_span(ptx, number_at(line.substr(words + last_words.size())));
        constexpr std::string_view mark = ", line ";
        const std::size_t at = line.find(mark);
        const std::size_t kind = line.find("; ", at);
        if (at == std::string_view::npos || kind == std::string_view::npos) continue;
        const std::string_view message = line.substr(kind + 2);
        if (!message.starts_with("error") && !message.starts_with("fatal")) continue;
        const Span span = line_span(ptx, number_at(line.substr(at + mark.size())));
        return span.known() ? narrowed(message, span, ptx) : span;
    }
    return {};
}

}  // namespace ptxgraft::link
