// What a launch file expects of a buffer: a file, a number for every element, a list, or a rule; and how far
// it may be off.

#include <fmt/format.h>

#include <limits>

#include "cli/launch/reader.hpp"

namespace ptxgraft::cli {
namespace {

tl::unexpected<Error> other_shape(Span span, std::string_view what, const std::vector<std::uint64_t>& has,
                                  const std::vector<std::uint64_t>& wanted) {
    return mistake(span, fmt::format("{} has the shape [{}]; the buffer has [{}]", what, fmt::join(has, ", "),
                                     fmt::join(wanted, ", ")));
}

Expected<ProductSum> product_sum(const JsonValue& value) {
    constexpr std::string_view types[] = {"f16", "bf16", "tf32", "e4m3", "e5m2"},
                               accumulators[] = {"f32", "f16"};
    if (auto done = check_keys(value, "sum", {"type", "k", "magnitudes", "accumulator"}); !done)
        return passed(done);
    for (const char* key : {"type", "k", "magnitudes"})
        if (value.find(key) == nullptr) return mistake(value.span, fmt::format("\"sum\" needs \"{}\"", key));
    const auto type = choice<ProductType>(*value.find("type"), "type", types);
    if (!type) return passed(type);
    const auto products = whole_number(*value.find("k"), "k", 1, std::numeric_limits<std::uint32_t>::max());
    if (!products) return passed(products);
    ProductSum sum{.type = *type, .products = *products};
    if (const JsonValue* given = value.find("accumulator")) {
        const auto accumulator = choice<AccumulatorType>(*given, "accumulator", accumulators);
        if (!accumulator) return passed(accumulator);
        sum.accumulator = *accumulator;
    }
    return sum;
}

}  // namespace

Expected<Array> LaunchReader::array_of(const JsonValue& file, const std::vector<std::uint64_t>& shape) {
    if (auto done = check_kind(file, JsonKind::string, file.key); !done) return passed(done);
    const auto bytes = files_(resolved(file.text));
    if (!bytes) return mistake(file.span, message(bytes.error()));
    auto array = read_npy(*bytes);
    if (!array) return mistake(file.span, fmt::format("{}: {}", file.text, message(array.error())));
    if (array->shape == shape) return array;
    return other_shape(file.span, file.text, array->shape, shape);
}

Expected<Expectation> LaunchReader::expectation(const JsonValue& value, const PlannedBuffer& buffer) {
    const JsonValue &given = *value.find("expect"), *const how = value.find("tolerance");
    auto result = wanted(given, buffer, how == nullptr);
    if (!result) return result;
    if (!is_comparable(result->wanted.dtype, buffer.type))
        return mistake(given.span, fmt::format("{} has elements of {}, which cannot be compared with {}",
                                               given.text, result->wanted.dtype, buffer.type.name));
    result->type = buffer.type;
    if (how == nullptr) return result;
    auto distance = tolerance(*how, *result);
    if (!distance) return passed(distance);
    result->tolerance = std::move(*distance);
    return result;
}

// A number is one of the buffer's type. Where a tolerance says how far the buffer may be off, the number that
// is written counts, and not the one that the type has for it.
Expected<Expectation> LaunchReader::wanted(const JsonValue& given, const PlannedBuffer& buffer,
                                           bool is_exact) {
    const std::vector<std::uint64_t>& shape = buffer.array.shape;
    const bool is_number = given.text == "nan" || given.text == "inf" || given.text == "-inf";
    if (given.kind == JsonKind::string && !is_number) {
        auto array = array_of(given, shape);
        if (!array) return passed(array);
        return Expectation{.text = given.text, .wanted = std::move(*array)};
    }
    const ElementType type = !is_exact && buffer.type.family == 'f' ? *find_type("f64") : buffer.type;
    Expectation result{
        .wanted = {std::string(type.dtype), shape, {}}, .wanted_type = type, .is_any_nan = true};
    if (given.kind == JsonKind::object) {
        if (auto done = check_keys(given, "expect", {"fill", "random", "seed", "range"}); !done)
            return passed(done);
        if ((given.find("fill") == nullptr) == (given.find("random") == nullptr))
            return mistake(given.span, "\"expect\" has \"fill\" or \"random\" here");
        // The same rule gives a buffer and its expectation the same bits.
        auto source = source_of(given, given.find("random") != nullptr ? buffer.type : type);
        if (!source) return passed(source);
        if (given.find("random") != nullptr) result.wanted_type = buffer.type;
        result.wanted.dtype = result.wanted_type.dtype;
        result.text = fmt::format("\"{}\"", given.items[0].key);
        result.source = std::move(*source);
        return result;
    }
    if (given.kind == JsonKind::array) {
        auto list = number_list(given, type, "expect");
        if (!list) return passed(list);
        if (list->shape != shape) return other_shape(given.span, "the list", list->shape, shape);
        result.text = "the list";
        result.wanted.data = std::move(list->bytes);
        return result;
    }
    if (given.kind == JsonKind::null)
        return mistake(given.span,
                       "\"expect\" is the name of a file, a number, a list of numbers, or an object with "
                       "\"fill\" or \"random\", not null");
    auto bytes = scalar_of(given, type, "expect");
    if (!bytes) return passed(bytes);
    result.text = given.text;
    result.source = Source{.value = std::move(*bytes)};
    return result;
}

Expected<Tolerance> LaunchReader::tolerance(const JsonValue& value, const Expectation& expected) {
    if (auto done = check_keys(value, "tolerance", {"abs", "rel", "sum"}); !done) return passed(done);
    Tolerance result{.is_exact = false};
    for (const auto& [name, target] : {std::pair{"abs", &result.absolute}, {"rel", &result.relative}}) {
        const JsonValue* const given = value.find(name);
        if (given == nullptr) continue;
        const auto number = distance_of(*given);
        if (!number) return passed(number);
        *target = *number;
    }
    const JsonValue* const sum = value.find("sum");
    if (sum == nullptr) return result;
    if (value.items.size() > 1)
        return mistake(value.span, "\"sum\" says all of a tolerance: \"abs\" and \"rel\" stand without it");
    const auto product = product_sum(*sum);
    if (!product) return passed(product);
    result.sum = *product;
    auto magnitudes = array_of(*sum->find("magnitudes"), expected.wanted.shape);
    if (!magnitudes) return passed(magnitudes);
    for (const std::string_view dtype :
         {std::string_view(magnitudes->dtype), std::string_view(expected.wanted.dtype)})
        if (dtype[1] != 'f')
            return mistake(
                sum->span,
                fmt::format(
                    "sums and their magnitudes are arrays of floating-point numbers, best <f8, not {}",
                    dtype));
    result.magnitudes = std::move(*magnitudes);
    return result;
}

}  // namespace ptxgraft::cli
