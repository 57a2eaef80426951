// JSON with the place of every value, so that a mistake in a launch file has a line and a column.

#include "json/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ptxgraft::json {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_depth = 64;

// The parser says what comes, not where. Its events come in the order of the text, which it has accepted so
// far: a cursor that walks along gives each its place.
class TreeBuilder : public nlohmann::json_sax<Json> {
  public:
    explicit TreeBuilder(std::string_view text) : text_(text) {
        if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;
    }

    bool null() override { return add(JsonKind::null); }
    bool boolean(bool) override { return add(JsonKind::boolean); }
    bool number_integer(number_integer_t) override { return add(JsonKind::number); }
    bool number_unsigned(number_unsigned_t) override { return add(JsonKind::number); }
    bool number_float(number_float_t, const string_t&) override { return add(JsonKind::number); }
    bool binary(binary_t&) override { return false; }  // not in texts
    bool string(string_t& value) override {
        add(JsonKind::string);
        last_->text = std::move(value);
        return true;
    }
    bool key(string_t& value) override {
        key_span_ = take_token();
        key_ = std::move(value);
        const auto& members = open_.back()->items;
        if (std::none_of(members.begin(), members.end(), [&](const JsonValue& m) { return m.key == key_; }))
            return true;
        error = Error{Errc::launch_file_invalid, key_span_, 0,
                      std::make_shared<std::string>(fmt::format("\"{}\" stands twice", key_))};
        return false;
    }
    bool start_object(std::size_t) override { return open(JsonKind::object); }
    bool start_array(std::size_t) override { return open(JsonKind::array); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position, const std::string&, const Json::exception& exception) override {
        const std::string why = reason(exception.what());
        std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
        // Of a word that should not be here, the position is that of its end.
        if (why.find("unexpected") != std::string::npos) at = std::min<std::size_t>(at, take_token().begin);
        error = Error{Errc::launch_file_invalid,
                      {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + 1)},
                      0,
                      std::make_shared<std::string>("not JSON: " + why)};
        return false;
    }

    JsonValue root;
    std::optional<Error> error;

  private:
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …"
    static std::string reason(std::string_view what) {
        if (const std::size_t end = what.find("] ");
            what.starts_with("[json.") && end != std::string_view::npos)
            what.remove_prefix(end + 2);
        const std::size_t colon = what.find(": ");
        return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
    }

    Span take_token() {
        constexpr std::string_view between = " \t\r\n,:";
        while (at_ < text_.size() && between.find(text_[at_]) != std::string_view::npos) ++at_;
        const std::size_t begin = at_;
        if (at_ < text_.size() && text_[at_] == '"') {
            for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\';
            ++at_;
        } else if (at_ < text_.size() &&
                   std::string_view("[]{}").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        } else {
            at_ = std::min(text_.find_first_of(" \t\r\n,:[]{}", at_), text_.size());
        }
        return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(std::min(at_, text_.size()))};
    }

    bool add(JsonKind kind) {
        JsonValue& value = open_.empty() ? root : open_.back()->items.emplace_back();
        value.kind = kind;
        value.key = std::move(key_);
        value.key_span = key_span_;
        value.span = take_token();
        value.text = text_.substr(value.span.begin, value.span.end - value.span.begin);
        last_ = &value;
        return true;
    }
    bool open(JsonKind kind) {
        add(kind);
        open_.push_back(last_);
        if (open_.size() <= most_depth) return true;
        error = Error{Errc::launch_file_invalid, last_->span, 0,
                      std::make_shared<std::string>(fmt::format("more than {} brackets deep", most_depth))};
        return false;
    }
    bool close() {
        take_token();
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<JsonValue*> open_;  // only the innermost grows, so the others stay where they are
    JsonValue* last_ = nullptr;
    std::string key_;
    Span key_span_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
    const auto found =
        std::find_if(items.begin(), items.end(), [&](const JsonValue& m) { return m.key == name; });
    return kind == JsonKind::object && found != items.end() ? &*found : nullptr;
}

std::string_view noun(JsonKind kind) {
    constexpr std::string_view nouns[] = {"null",     "true or false", "a number",
                                          "a string", "an array",      "an object"};
    return nouns[static_cast<unsigned>(kind)];
}

Expected<JsonValue> parse_json(std::string_view text) {
    TreeBuilder builder(text);
    if (Json::sax_parse(text, &builder)) return std::move(builder.root);
    return tl::unexpected(*builder.error);
}

}  // namespace ptxgraft::json
