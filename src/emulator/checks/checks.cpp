// The names of checks, as command lines give them.
#include "ptxgraft/emulator_checks.hpp"

#include <fmt/format.h>

#include <charconv>

namespace ptxgraft {
namespace {

constexpr std::array<std::string_view, emulator_check_count> check_names = {
    "races", "unwritten", "async", "barriers", "calls", "heap", "equal_stores", "unwaited_stores"};

std::optional<EmulatorCheck> find_check(std::string_view name) {
    for (std::size_t i = 0; i < check_names.size(); ++i)
        if (check_names[i] == name) return static_cast<EmulatorCheck>(i);
    return std::nullopt;
}

tl::unexpected<Error> unknown_check(std::string_view name, std::string_view also) {
    return fail(Errc::check_unknown,
                fmt::format("'{}'; there are {}{}", name, fmt::join(check_names, ", "), also));
}

}  // namespace

std::string_view name(EmulatorCheck check) { return check_names[static_cast<std::size_t>(check)]; }

Expected<EmulatorChecks> parse_checks(std::string_view text) {
    const bool changes_all = text.starts_with('-') || text.starts_with('+');
    EmulatorChecks checks = changes_all ? EmulatorChecks::all() : EmulatorChecks::none();
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin),
                               plain = word.substr(word.starts_with('-') || word.starts_with('+') ? 1 : 0);
        begin = end + 1;
        if (word == "all" || word == "none") {
            checks = word == "all" ? EmulatorChecks::all() : EmulatorChecks::none();
            continue;
        }
        const auto check = find_check(plain);
        if (!check) return unknown_check(plain, ", all and none");
        checks = word.starts_with('-') ? checks.without(*check) : checks.with(*check);
    }
    return checks;
}

std::string names(EmulatorChecks checks) {
    std::string text;
    for (std::size_t i = 0; i < check_names.size(); ++i)
        if (checks.has(static_cast<EmulatorCheck>(i)))
            text.append(text.empty() ? "" : " ").append(check_names[i]);
    return text.empty() ? "none" : text;
}

Expected<EmulatorExcuse> parse_excuse(std::string_view text) {
    const auto malformed = [&] { return fail(Errc::excuse_malformed, std::string(text)); };
    const std::size_t at = text.find('@');
    if (at == std::string_view::npos) return malformed();
    const auto check = find_check(text.substr(0, at));
    if (!check) return unknown_check(text.substr(0, at), "");
    const std::string_view place = text.substr(at + 1);
    const std::size_t colon = place.rfind(':');
    const std::string_view file =
        colon == std::string_view::npos ? std::string_view() : place.substr(0, colon);
    const std::string_view number = colon == std::string_view::npos ? place : place.substr(colon + 1);
    EmulatorExcuse excuse{*check, std::string(file), 0};
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), excuse.line);
    const bool is_number = error == std::errc() && end == number.data() + number.size();
    if (!is_number || excuse.line == 0 || (colon != std::string_view::npos && file.empty()))
        return malformed();
    return excuse;
}

std::string to_text(const EmulatorExcuse& excuse) {
    return fmt::format("{}@{}{}{}", name(excuse.check), excuse.file, excuse.file.empty() ? "" : ":",
                       excuse.line);
}

}  // namespace ptxgraft
