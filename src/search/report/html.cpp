// Texts, numbers and tables as HTML.

#include "search/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptxgraft::search {
namespace {

struct CodePoint {
    std::uint32_t value = 0xFFFD;
    std::size_t size = 1;  // bytes
};

// Of a byte that begins no character U+FFFD.
CodePoint code_point(std::string_view text) {
    const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || size > text.size()) return {};
    std::uint32_t value = first & (0xFFu >> (size + 1));
    for (std::size_t k = 1; k < size; ++k) {
        if ((byte(k) & 0xC0) != 0x80) return {};
        value = value << 6 | (byte(k) & 0x3Fu);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return value < least[size] ? CodePoint{} : CodePoint{value, size};
}

// XML 1.0, production 2.
bool is_character(std::uint32_t value) {
    return value == 9 || value == 10 || value == 13 || (value >= 0x20 && value <= 0xD7FF) ||
           (value >= 0xE000 && value <= 0xFFFD) || (value >= 0x10000 && value <= 0x10FFFF);
}

std::vector<std::string_view> tokens_of(std::string_view text) {
    std::vector<std::string_view> tokens;
    constexpr std::string_view space = " \t\r\n";
    for (std::size_t at = text.find_first_not_of(space); at != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(space, at), text.size());
        tokens.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(space, end);
    }
    return tokens;
}

// For each token of b whether it is part of a longest common subsequence.
std::vector<bool> common(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
    std::vector<bool> found(b.size(), false);
    constexpr std::size_t most = 1'000'000;  // where it would take too long, nothing is in common
    if (a.size() * b.size() > most) return found;
    const std::size_t width = b.size() + 1;
    std::vector<std::uint32_t> longest((a.size() + 1) * width, 0);
    for (std::size_t i = a.size(); i-- > 0;)
        for (std::size_t j = b.size(); j-- > 0;)
            longest[i * width + j] = a[i] == b[j]
                                         ? longest[(i + 1) * width + j + 1] + 1
                                         : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i] == b[j]) {
            found[j] = true;
            ++i, ++j;
        } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
            ++i;
        } else {
            ++j;
        }
    }
    return found;
}

std::string row_of(const Table& table, const std::vector<std::string>& row) {
    std::string html = "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string_view kind = table.columns[c].is_number ? " class=\"number\"" : "";
        html += c == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", kind, row[c])
                       : fmt::format("<td{}>{}</td>", kind, row[c]);
    }
    return html + "</tr>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string made;
    while (!text.empty()) {
        const CodePoint found = code_point(text);
        switch (found.value) {
            case '&': made += "&amp;"; break;
            case '<': made += "&lt;"; break;
            case '>': made += "&gt;"; break;
            case '"': made += "&quot;"; break;
            case '\'': made += "&#39;"; break;
            case '\r': made += "&#13;"; break;  // else XML makes an end of a line of it
            case 0xFFFD: made += "\xEF\xBF\xBD"; break;
            default: made += is_character(found.value) ? text.substr(0, found.size) : "\xEF\xBF\xBD";
        }
        text.remove_prefix(found.size);
    }
    return made;
}

std::string number(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

std::string number(double value, int digits) {
    if (std::isnan(value)) return "–";
    if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
    const std::string sign = value < 0 ? "−" : "";
    const double size = std::abs(value);
    if (size < 1e9 && size == std::floor(size)) return sign + number(static_cast<std::uint64_t>(size));
    std::string text = fmt::format("{:.{}g}", size, digits);
    const std::size_t exponent = text.find('e');
    if (exponent == std::string::npos) return sign + text;
    std::string power = text.substr(exponent + 1);  // "-05", "+12"
    const std::string minus = power[0] == '-' ? "−" : "";
    power.erase(0, std::min(power.find_first_not_of("+-0"), power.size() - 1));
    return sign + text.substr(0, exponent) + "e" + minus + power;
}

std::string exact(double value) { return fmt::format("{}", value); }

std::string counted(std::uint64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", number(count), noun, count == 1 ? "" : "s");
}

std::string share(double part, double whole) {
    if (!(whole > 0)) return "–";
    const double percent = 100 * part / whole;
    return fmt::format("{:.{}f} %", percent, percent == 0 || percent >= 10 ? 0 : percent >= 0.1 ? 1 : 3);
}

std::string html_of(const Table& table) {
    std::string html = fmt::format(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\"><table>\n<caption>{0}"
        "</caption>\n<thead><tr>",
        escaped(table.caption));
    for (const Column& column : table.columns)
        html += fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"number\"" : "",
                            escaped(column.name));
    html += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) html += row_of(table, row);
    return html + "</tbody>\n</table></div>\n";
}

std::string bar(const std::string& shown, double length) {
    return fmt::format("{}<span class=\"bar\"><span style=\"width:{:.2f}%\"></span></span>", shown,
                       100 * std::clamp(length, 0.0, 1.0));
}

std::string details(std::string_view summary, const std::string& html) {
    return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(summary), html);
}

std::string section(std::string_view id, std::string_view heading, const std::string& html) {
    return fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n", id,
                       escaped(heading), html);
}

std::string marked(std::string_view before, std::string_view program) {
    const auto a = tokens_of(before), b = tokens_of(program);
    const std::vector<bool> is_old = common(a, b);
    std::string html;
    for (std::size_t k = 0; k < b.size(); ++k) {
        const bool begins = !is_old[k] && (k == 0 || is_old[k - 1]);
        const bool ends = !is_old[k] && (k + 1 == b.size() || is_old[k + 1]);
        if (k != 0) html += ' ';
        if (begins) html += "<mark>";
        html += escaped(b[k]);
        if (ends) html += "</mark>";
    }
    return html;
}

}  // namespace ptxgraft::search
