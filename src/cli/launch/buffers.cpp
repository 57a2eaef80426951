// Buffers of a launch file: what they are, how they begin, and where they go.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "array/float_format.hpp"
#include "cli/launch/reader.hpp"

namespace ptxgraft::cli {
namespace {

constexpr std::string_view beginnings[] = {"in", "fill", "random", "values", "struct", "array"};

// Keys that stand beside one other alone.
constexpr std::pair<std::string_view, std::string_view> companions[] = {
    {"seed", "random"}, {"range", "random"}, {"size", "struct"}, {"repeat", "array"}};

Expected<void> check_companions(const JsonValue& value) {
    for (const auto& [key, other] : companions)
        if (const JsonValue* const given = value.find(key); given != nullptr && value.find(other) == nullptr)
            return mistake(given->key_span, fmt::format("\"{}\" stands beside \"{}\"", key, other));
    return {};
}

// The member that says how a buffer begins; null: none does.
Expected<const JsonValue*> beginning_of(const JsonValue& value) {
    const JsonValue* found = nullptr;
    for (const JsonValue& member : value.items) {
        if (std::find(std::begin(beginnings), std::end(beginnings), member.key) == std::end(beginnings))
            continue;
        if (found != nullptr)
            return mistake(member.key_span, fmt::format("\"{}\" begins as \"{}\" says: it has one of {}",
                                                        value.key, found->key, fmt::join(beginnings, ", ")));
        found = &member;
    }
    return found;
}

Expected<double> finite_number(const JsonValue& value, std::string_view name) {
    double result = 0;
    const char* const end = value.text.data() + value.text.size();
    const bool is_number =
        value.kind == JsonKind::number && std::from_chars(value.text.data(), end, result).ptr == end;
    if (is_number && std::isfinite(result)) return result;
    return mistake(value.span, fmt::format("\"{}\" has two numbers: the least and the largest", name));
}

// Of an integer's bytes, extended by its sign.
std::uint64_t extended(const std::vector<std::byte>& bytes, const ElementType& type) {
    std::uint64_t result = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
        result = result << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    const unsigned unused = static_cast<unsigned>(64 - 8 * bytes.size());
    return type.family == 's'
               ? static_cast<std::uint64_t>(static_cast<std::int64_t>(result << unused) >> unused)
               : result;
}

bool is_floating(const ElementType& type) { return find_format(type.name) != nullptr; }

Expected<void> read_range(const JsonValue& range, const ElementType& type, Source& source) {
    if (auto done = check_kind(range, JsonKind::array, "range"); !done) return done;
    if (range.items.size() != 2)
        return mistake(range.span, "\"range\" has two numbers: the least and the largest");
    const auto empty = [&] {
        return mistake(range.span, "\"range\" goes from a number to one that is not less");
    };
    if (is_floating(type)) {
        const auto low = finite_number(range.items[0], "range"),
                   high = finite_number(range.items[1], "range");
        if (!low) return passed(low);
        if (!high) return passed(high);
        source.low = *low;
        source.high = *high;
        return *low <= *high ? Expected<void>() : empty();
    }
    const auto low = scalar_of(range.items[0], type, "range"),
               high = scalar_of(range.items[1], type, "range");
    if (!low) return passed(low);
    if (!high) return passed(high);
    source.least = extended(*low, type);
    source.most = extended(*high, type);
    const bool is_less =
        type.family == 's' ? static_cast<std::int64_t>(source.most) < static_cast<std::int64_t>(source.least)
                           : source.most < source.least;
    return is_less ? empty() : Expected<void>();
}

Expected<Source> random_source(const JsonValue& value, const JsonValue& given, const ElementType& type) {
    constexpr std::string_view names[] = {"uniform", "normal"};
    const auto which = name_of(given, "random", names);
    if (!which) return passed(which);
    Source source{.rule = *which == 0 ? Rule::uniform : Rule::normal};
    if (source.rule == Rule::normal && !is_floating(type))
        return mistake(
            given.span,
            fmt::format("\"normal\" is of floating-point types; of {} there is \"uniform\"", type.name));
    if (type.family == 'p') source.most = 1;
    if (const JsonValue* const seed = value.find("seed")) {
        const auto number = whole_number(*seed, "seed", 0, std::numeric_limits<std::uint64_t>::max());
        if (!number) return passed(number);
        source.seed = *number;
    }
    const JsonValue* const range = value.find("range");
    if (range == nullptr) return source;
    if (source.rule == Rule::normal)
        return mistake(range->key_span, "\"normal\" numbers have no \"range\"; \"uniform\" ones have");
    if (auto done = read_range(*range, type, source); !done) return passed(done);
    return source;
}

// What a shape says, in bytes.
Expected<std::uint64_t> bytes_of_shape(const JsonValue& shape, const ElementType& type,
                                       std::vector<std::uint64_t>& extents) {
    auto given = whole_numbers(shape, "shape", 0, std::numeric_limits<std::int64_t>::max());
    if (!given) return passed(given);
    const auto count = element_count(*given);
    if (!count) return mistake(shape.span, message(count.error()));
    extents = std::move(*given);
    return *count * type.bytes;
}

// Shapes that differ in extents of 1 alone are the same memory.
std::vector<std::uint64_t> without_ones(std::vector<std::uint64_t> shape) {
    std::erase(shape, 1);
    return shape;
}

Expected<void> check_shape(const JsonValue& value, const std::vector<std::uint64_t>& has,
                           std::string_view what) {
    const JsonValue* const shape = value.find("shape");
    if (shape == nullptr) return {};
    const auto extents = whole_numbers(*shape, "shape", 0, std::numeric_limits<std::int64_t>::max());
    if (!extents) return passed(extents);
    if (without_ones(*extents) == without_ones(has)) return {};
    return mistake(shape->span, fmt::format("{} has the shape [{}], not [{}]", what, fmt::join(has, ", "),
                                            fmt::join(*extents, ", ")));
}

}  // namespace

ElementType type_of(const Array& array) {
    constexpr std::string_view names[] = {"u8",  "u16", "u32", "u64", "s8",  "s16",
                                          "s32", "s64", "f16", "f32", "f64", "pred"};
    for (const std::string_view name : names)
        if (const ElementType* const type = find_type(name); type->dtype.substr(1) == array.dtype.substr(1))
            return *type;
    return *find_type("b8");
}

Expected<Source> source_of(const JsonValue& value, const ElementType& type) {
    if (auto done = check_companions(value); !done) return passed(done);
    const JsonValue* const fill = value.find("fill");
    if (fill == nullptr) return random_source(value, *value.find("random"), type);
    if (fill->kind == JsonKind::string && fill->text == "iota") return Source{.rule = Rule::iota};
    auto bytes = scalar_of(*fill, type, "fill");
    if (!bytes) return passed(bytes);
    return Source{.value = std::move(*bytes)};
}

Expected<void> LaunchReader::read_buffers(const JsonValue& root) {
    const JsonValue* buffers = root.find("buffers");
    if (buffers == nullptr) return {};
    if (auto done = check_kind(*buffers, JsonKind::object, "buffers"); !done) return done;
    for (const JsonValue& value : buffers->items) names_.push_back(value.key);
    for (const JsonValue& value : buffers->items) {
        auto one = buffer(value);
        if (!one) return passed(one);
        plan_.buffers.push_back(std::move(*one));
    }
    // What these hold of others, they hold by name, of those behind them too.
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i)
        if (compositions_[i] != nullptr)
            if (auto done = compose(*compositions_[i], plan_.buffers[i]); !done) return done;
    return {};
}

Expected<PlannedBuffer> LaunchReader::buffer(const JsonValue& value) {
    if (auto done = check_keys(value, value.key,
                               {"in", "out", "type", "shape", "expect", "tolerance", "fill", "random", "seed",
                                "range", "values", "struct", "size", "array", "repeat", "symbol"});
        !done)
        return passed(done);
    if (auto done = check_companions(value); !done) return passed(done);
    PlannedBuffer result{.text = fmt::format("buffer \"{}\"", value.key), .span = value.key_span};
    const ElementType* type = nullptr;
    if (const JsonValue* const given = value.find("type")) {
        const auto found = element_type(*given);
        if (!found) return passed(found);
        type = *found;
    }
    if (const JsonValue* const symbol = value.find("symbol")) {
        if (auto done = check_kind(*symbol, JsonKind::string, "symbol"); !done) return passed(done);
        result.variable = symbol->text;
    }
    if (auto done = fill(value, type, result); !done) return passed(done);
    return result;
}

Expected<void> LaunchReader::fill(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer) {
    const auto beginning = beginning_of(value);
    if (!beginning) return passed(beginning);
    const JsonValue* const given = *beginning;
    const bool is_composed = given != nullptr && (given->key == "struct" || given->key == "array");
    compositions_.push_back(is_composed ? &value : nullptr);
    if (is_composed) {
        buffer.type = type == nullptr ? *find_type("b8") : *type;
        return {};
    }
    if (given == nullptr && !buffer.variable.empty()) return declare_variable(value, type, buffer);
    if (given == nullptr) return declare(value, type, buffer);
    if (given->key == "in") return load(*given, value, type, buffer);
    if (given->key == "values") return list(*given, value, type, buffer);
    if (auto done = declare(value, type, buffer); !done) return done;
    auto source = source_of(value, *type);
    if (!source) return passed(source);
    buffer.contents = Contents::source;
    buffer.source = std::move(*source);
    return {};
}

// A buffer whose type and shape the file says.
Expected<void> LaunchReader::declare(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer) {
    const JsonValue* shape = value.find("shape");
    if (type == nullptr || shape == nullptr)
        return mistake(value.span,
                       fmt::format("\"{}\" has no \"in\", so it needs \"type\" and \"shape\"", value.key));
    const auto bytes = bytes_of_shape(*shape, *type, buffer.array.shape);
    if (!bytes) return passed(bytes);
    buffer.type = *type;
    buffer.array.dtype = type->dtype;
    buffer.bytes = *bytes;
    return {};
}

// A variable that begins as its module says: how large it is, the module knows.
Expected<void> LaunchReader::declare_variable(const JsonValue& value, const ElementType* type,
                                              PlannedBuffer& buffer) {
    buffer.contents = Contents::variable;
    if (type != nullptr && value.find("shape") != nullptr) return declare(value, type, buffer);
    for (const char* const key : {"shape", "out", "expect"})
        if (const JsonValue* const given = value.find(key))
            return mistake(given->key_span,
                           fmt::format("\"{}\" of a variable needs \"type\" and \"shape\"", key));
    buffer.has_shape = false;
    buffer.type = type == nullptr ? *find_type("b8") : *type;
    return {};
}

Expected<void> LaunchReader::load(const JsonValue& file, const JsonValue& value, const ElementType* type,
                                  PlannedBuffer& buffer) {
    if (auto done = check_kind(file, JsonKind::string, file.key); !done) return done;
    const std::string path = resolved(file.text);
    const auto bytes = files_(path);
    if (!bytes) return mistake(file.span, message(bytes.error()));
    auto array = read_npy(*bytes);
    if (!array) return mistake(file.span, fmt::format("{}: {}", path, message(array.error())));
    if (type != nullptr && array->dtype.substr(1) != type->dtype.substr(1))
        return mistake(value.find("type")->span, fmt::format("{} has elements of {}; arrays of {} have {}",
                                                             path, array->dtype, type->name, type->dtype));
    if (auto done = check_shape(value, array->shape, path); !done) return done;
    buffer.type = type == nullptr ? type_of(*array) : *type;
    buffer.contents = Contents::data;
    buffer.array = std::move(*array);
    buffer.bytes = buffer.array.data.size();
    return {};
}

Expected<void> LaunchReader::list(const JsonValue& given, const JsonValue& value, const ElementType* type,
                                  PlannedBuffer& buffer) {
    if (type == nullptr)
        return mistake(value.span, fmt::format("\"{}\" has \"values\", so it needs \"type\"", value.key));
    auto numbers = number_list(given, *type, "values");
    if (!numbers) return passed(numbers);
    if (auto done = check_shape(value, numbers->shape, "the list"); !done) return done;
    buffer.type = *type;
    buffer.contents = Contents::data;
    buffer.array = {std::string(type->dtype), std::move(numbers->shape), std::move(numbers->bytes)};
    buffer.bytes = buffer.array.data.size();
    return {};
}

// A buffer that is a struct or an array: of bytes, unless it says another type.
Expected<void> LaunchReader::compose(const JsonValue& value, PlannedBuffer& buffer) {
    const JsonValue *const fields = value.find("struct"), *const shape = value.find("shape");
    auto made = fields != nullptr ? structure(value, *fields) : array(value, *value.find("array"));
    if (!made) return passed(made);
    const std::uint64_t bytes = made->size(), element = buffer.type.bytes;
    if (bytes % element != 0)
        return mistake(value.find("type")->span,
                       fmt::format("{} bytes are no whole number of {}", bytes, buffer.type.name));
    buffer.array = {std::string(buffer.type.dtype), {bytes / element}, std::move(made->value.bytes)};
    buffer.places = std::move(made->value.places);
    buffer.contents = Contents::data;
    buffer.bytes = bytes;
    if (shape == nullptr) return {};
    const auto wanted = bytes_of_shape(*shape, buffer.type, buffer.array.shape);
    if (!wanted) return passed(wanted);
    if (*wanted == bytes) return {};
    return mistake(shape->span, fmt::format("this shape of {} has {} bytes, the buffer {}", buffer.type.name,
                                            *wanted, bytes));
}

// ------------------------------------------------------------------------------------------------- outputs

Expected<void> LaunchReader::check_output_file(const JsonValue& name) {
    if (name.text.empty()) return mistake(name.span, "the name of a file is empty");
    const std::string path = std::filesystem::path(resolved(name.text)).lexically_normal().string();
    const auto same = std::find_if(output_files_.begin(), output_files_.end(),
                                   [&](const auto& other) { return other.first == path; });
    if (same != output_files_.end())
        return mistake(name.span, fmt::format("another output goes to {} already", name.text));
    output_files_.emplace_back(path, name.span);
    return {};
}

Expected<PlannedOutput> LaunchReader::output(const JsonValue& value, std::size_t buffer) {
    PlannedOutput result{.buffer = buffer};
    if (const JsonValue* const file = value.find("out")) {
        if (auto done = check_kind(*file, JsonKind::string, "out"); !done) return passed(done);
        if (auto done = check_output_file(*file); !done) return passed(done);
        result.file = resolved(file->text);
    }
    const JsonValue *const wanted = value.find("expect"), *const tolerance = value.find("tolerance");
    if (wanted == nullptr && tolerance != nullptr)
        return mistake(tolerance->key_span, "a \"tolerance\" needs \"expect\"");
    const PlannedBuffer& planned = plan_.buffers[buffer];
    if (!planned.has_shape && (wanted != nullptr || !result.file.empty()))
        return mistake(value.span, fmt::format("{} needs \"type\" and \"shape\" to be written or expected",
                                               planned.text));
    if (wanted == nullptr) return result;
    auto expected = expectation(value, planned);
    if (!expected) return passed(expected);
    result.expected = std::move(*expected);
    return result;
}

}  // namespace ptxgraft::cli
