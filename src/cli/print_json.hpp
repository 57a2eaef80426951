#pragma once
/// @file print_json.hpp
/// How verbs write JSON: members in the order in which they were added, and UTF-8 whatever the texts hold.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/route.hpp"

namespace ptxgraft::cli {

using Json = nlohmann::ordered_json;

/// One line, without its end. Bytes that are not UTF-8 become U+FFFD: names and texts may hold them, JSON may
/// not.
[[nodiscard]] inline std::string json_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
/// The same with a member a line, for people too.
[[nodiscard]] inline std::string json_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
/// A whole document on standard output.
inline void print_json(const Json& json) {
    const std::string text = json_text(json);
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// An error and its place, in its own text, else in `text`, which is that of `file`: {"error", "code", ["in",
/// "line", "column"]}.
[[nodiscard]] inline Json error_json(const Error& error, std::string_view text, std::string_view file) {
    if (error.source) {
        text = error.source->text;
        file = error.source->name;
    }
    Json json{{"error", message(error, text)}, {"code", name(error.code)}};
    if (!error.span.known() || text.empty()) return json;
    const Position at = position(text, error.span.begin);
    json.update({{"in", file}, {"line", at.line}, {"column", at.column}});
    return json;
}

/// [{"site", "route", "reason"}]
[[nodiscard]] inline Json routes_json(const std::vector<RouteChoice>& choices) {
    Json routes = Json::array();
    for (const RouteChoice& choice : choices)
        routes.push_back({{"site", choice.site}, {"route", name(choice.route)}, {"reason", choice.reason}});
    return routes;
}

}  // namespace ptxgraft::cli
