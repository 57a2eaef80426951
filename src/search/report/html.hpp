#pragma once
/// @file html.hpp
/// The parts that pages are made of: HTML that is XML too. What is called a text is escaped here; what is
/// called HTML was made here.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptxgraft::search {

/// A text, in an element or in an attribute's quotes. Bytes that are not UTF-8, and characters that XML does
/// not have, become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

/// Whole numbers with a comma between thousands, others with four digits or as many as are wanted, and ∞.
[[nodiscard]] std::string number(double value, int digits = 4);
[[nodiscard]] std::string number(std::uint64_t value);
/// With all its digits, for what was given and not computed.
[[nodiscard]] std::string exact(double value);
/// "1 step", "2 steps".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);
/// Of a whole, as 12.5 %; a dash for a part of nothing.
[[nodiscard]] std::string share(double part, double whole);

struct Column {
    std::string name;  ///< a text
    bool is_number = false;
};
struct Table {
    std::string caption;  ///< a text
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;  ///< HTML; the first of each is the row's header
};
[[nodiscard]] std::string html_of(const Table& table);
/// A number with a bar, of a length between 0 and 1.
[[nodiscard]] std::string bar(const std::string& shown, double length);

/// HTML that can be opened and closed.
[[nodiscard]] std::string details(std::string_view summary, const std::string& html);
/// A section with a heading; `id` is of letters.
[[nodiscard]] std::string section(std::string_view id, std::string_view heading, const std::string& html);

/// The tokens of a program, those marked that are not of the one before (a longest common subsequence).
[[nodiscard]] std::string marked(std::string_view before, std::string_view program);

}  // namespace ptxgraft::search
