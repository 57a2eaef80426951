// Names of special registers, with their parts and numbers.

#include "ptx/special_names.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace ptxgraft {
namespace {

struct SpecialName {
    std::string_view name;
    unsigned count;  // %pm0 to %pm7: 8; 0: it has no number
    bool is_vector;
};
constexpr SpecialName special_names[] = {
#include "special_names.inc"
};

// Whether the rest of a name behind the row's is a part or a number of it.
bool is_of(const SpecialName& row, std::string_view rest) {
    if (row.count == 0) {
        constexpr std::string_view parts = "xyzwrgba";
        return rest.empty() || (row.is_vector && rest.size() == 2 && rest[0] == '.' &&
                                parts.find(rest[1]) != std::string_view::npos);
    }
    unsigned number = row.count;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool has_leading_zero = rest.size() > 1 && rest[0] == '0';
    return error == std::errc() && end == rest.data() + rest.size() && number < row.count &&
           !has_leading_zero;
}

}  // namespace

bool is_special_name(std::string_view name) {
    return std::any_of(std::begin(special_names), std::end(special_names), [&](const SpecialName& row) {
        return name.starts_with(row.name) && is_of(row, name.substr(row.name.size()));
    });
}

}  // namespace ptxgraft
