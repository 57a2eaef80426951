#include "launch_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <tuple>

#include "json.hpp"
#include "scalar.hpp"
#include "text_file.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

tl::unexpected<Error> wrong(Span span, std::string why) {
    return fail(Errc::launch_file_invalid, span, std::move(why));
}

template <class T>
tl::unexpected<Error> passed(const Expected<T>& failed) {
    return tl::unexpected(failed.error());
}

// ------------------------------------------------------------------------------------------------- values

Expected<void> check_kind(const JsonValue& value, JsonKind kind, std::string_view name) {
    if (value.kind == kind) return {};
    return wrong(value.span, fmt::format("\"{}\" is {}, not {}", name, noun(kind), noun(value.kind)));
}

// Every key of an object is one of these.
Expected<void> check_keys(const JsonValue& object, std::string_view name,
                          std::initializer_list<std::string_view> keys) {
    if (auto done = check_kind(object, JsonKind::object, name); !done) return done;
    for (const JsonValue& member : object.items)
        if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
            return wrong(member.key_span, fmt::format("unknown key \"{}\"; \"{}\" has {}", member.key, name,
                                                      fmt::join(keys, ", ")));
    return {};
}

Expected<std::uint64_t> number(const JsonValue& value, std::string_view name, std::uint64_t least,
                               std::uint64_t most) {
    const auto result = value.kind == JsonKind::number ? magnitude(value.text) : std::nullopt;
    if (result && *result >= least && *result <= most) return *result;
    return wrong(value.span,
                 fmt::format("\"{}\" is a whole number from {} to {}, not {}", name, least, most,
                             value.kind == JsonKind::number ? value.text : std::string(noun(value.kind))));
}

Expected<std::vector<std::uint64_t>> numbers(const JsonValue& value, std::string_view name,
                                             std::uint64_t least, std::uint64_t most) {
    if (auto done = check_kind(value, JsonKind::array, name); !done) return passed(done);
    std::vector<std::uint64_t> result;
    for (const JsonValue& item : value.items) {
        const auto one = number(item, name, least, most);
        if (!one) return passed(one);
        result.push_back(*one);
    }
    return result;
}

Expected<Dim3> shape(const JsonValue& value, std::string_view name) {
    const auto extents = numbers(value, name, 1, std::numeric_limits<std::uint32_t>::max());
    if (!extents) return passed(extents);
    if (extents->empty() || extents->size() > 3)
        return wrong(value.span, fmt::format("\"{}\" has {} numbers; it has one to three, such as [4, 4, 1]",
                                             name, extents->size()));
    Dim3 result;
    std::uint32_t* const axes[] = {&result.x, &result.y, &result.z};
    for (std::size_t i = 0; i < extents->size(); ++i) *axes[i] = static_cast<std::uint32_t>((*extents)[i]);
    return result;
}

// One of a list of names, as its number.
template <class Enumeration>
Expected<Enumeration> choice(const JsonValue& value, std::string_view name,
                             std::span<const std::string_view> names) {
    const auto found =
        value.kind == JsonKind::string ? std::find(names.begin(), names.end(), value.text) : names.end();
    if (found != names.end()) return static_cast<Enumeration>(found - names.begin());
    return wrong(value.span, fmt::format("\"{}\" is one of {}, not {}", name, fmt::join(names, ", "),
                                         value.kind == JsonKind::string ? fmt::format("\"{}\"", value.text)
                                                                        : std::string(noun(value.kind))));
}

// In the order of the enumerations of tensor_map.hpp.
constexpr std::string_view tensor_types[] = {"u8",       "u16",   "u32",       "s32",      "u64",     "s64",
                                             "f16",      "f32",   "f64",       "bf16",     "f32_ftz", "tf32",
                                             "tf32_ftz", "b4x16", "b4x16_p64", "b6x16_p32"};
constexpr std::string_view interleaves[] = {"none", "16B", "32B"};
constexpr std::string_view swizzles[] = {
    "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
constexpr std::string_view promotions[] = {"none", "64B", "128B", "256B"};
constexpr std::string_view fills[] = {"zero", "nan"};

// Arrays of these types are carried as others.
TensorType tensor_type_of(std::string_view dtype) {
    constexpr std::pair<std::string_view, TensorType> rows[] = {
        {"u2", TensorType::u16}, {"i2", TensorType::u16}, {"u4", TensorType::u32},
        {"i4", TensorType::s32}, {"u8", TensorType::u64}, {"i8", TensorType::s64},
        {"f2", TensorType::f16}, {"f4", TensorType::f32}, {"f8", TensorType::f64}};
    for (const auto& [name, type] : rows)
        if (dtype.ends_with(name)) return type;
    return TensorType::u8;
}
std::uint32_t bits_of(TensorType type) {
    constexpr std::uint32_t bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
    return bits[static_cast<unsigned>(type)];
}
std::uint64_t element_bytes(const Array& array) {
    return static_cast<std::uint64_t>(array.dtype.back() - '0');
}

// ------------------------------------------------------------------------------------------------- the file

class LaunchFile {
  public:
    explicit LaunchFile(const std::string& path)
        : folder_(std::filesystem::path(path == "-" ? "" : path).parent_path()) {}

    Expected<LaunchPlan> read(const JsonValue& root) {
        const auto steps = {&LaunchFile::read_shape, &LaunchFile::read_buffers, &LaunchFile::read_arguments};
        if (root.kind != JsonKind::object)
            return wrong(root.span, fmt::format("a launch file is an object, not {}", noun(root.kind)));
        if (auto done =
                check_keys(root, "a launch file",
                           {"entry", "grid", "block", "cluster", "smem", "cooperative", "buffers", "args"});
            !done)
            return passed(done);
        for (const auto step : steps)
            if (auto done = (this->*step)(root); !done) return passed(done);
        return std::move(plan_);
    }

  private:
    Expected<void> read_shape(const JsonValue& root);
    Expected<void> read_buffers(const JsonValue& root);
    Expected<void> read_arguments(const JsonValue& root);

    Expected<PlannedBuffer> buffer(const JsonValue& value);
    Expected<void> declare(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer);
    Expected<void> load(const JsonValue& file, const JsonValue& value, const ElementType* type,
                        PlannedBuffer& buffer);
    Expected<void> expect(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer);
    Expected<Tolerance> tolerance(const JsonValue& value, const Array& wanted);
    Expected<ProductSum> product_sum(const JsonValue& value);
    Expected<Array> array_of(const JsonValue& file, const std::vector<std::uint64_t>& shape);
    Expected<PlannedArgument> argument(const JsonValue& value);
    Expected<PlannedArgument> address(const JsonValue& value);
    Expected<PlannedArgument> tensor_map(const JsonValue& value);
    Expected<void> place(const JsonValue& object, PlannedArgument& argument) const;
    Expected<void> lay_out(const JsonValue& map, PlannedArgument& argument) const;
    [[nodiscard]] std::string resolved(const std::string& path) const;

    std::filesystem::path folder_;
    LaunchPlan plan_;
    std::vector<std::string> names_;                // of the buffers
    std::vector<std::optional<TensorType>> types_;  // said of the buffers
};

std::string LaunchFile::resolved(const std::string& path) const {
    const std::filesystem::path given(path);
    if (given.is_absolute()) return path;
    return folder_.empty() ? (path == "-" ? "./-" : path) : (folder_ / given).string();
}

Expected<void> LaunchFile::read_shape(const JsonValue& root) {
    if (const JsonValue* entry = root.find("entry")) {
        if (auto done = check_kind(*entry, JsonKind::string, "entry"); !done) return done;
        plan_.entry = entry->text;
    }
    LaunchConfig& config = plan_.config;
    for (const auto& [name, target] :
         {std::pair{"grid", &config.grid}, {"block", &config.block}, {"cluster", &config.cluster}}) {
        const JsonValue* value = root.find(name);
        if (value == nullptr) continue;
        const auto given = shape(*value, name);
        if (!given) return passed(given);
        *target = *given;
    }
    if (const JsonValue* smem = root.find("smem")) {
        const auto bytes = number(*smem, "smem", 0, std::numeric_limits<std::uint32_t>::max());
        if (!bytes) return passed(bytes);
        config.shared_bytes = static_cast<std::uint32_t>(*bytes);
    }
    if (const JsonValue* cooperative = root.find("cooperative")) {
        if (auto done = check_kind(*cooperative, JsonKind::boolean, "cooperative"); !done) return done;
        config.cooperative = cooperative->text == "true";
    }
    return {};
}

// ------------------------------------------------------------------------------------------------- buffers

Expected<void> LaunchFile::read_buffers(const JsonValue& root) {
    const JsonValue* buffers = root.find("buffers");
    if (buffers == nullptr) return {};
    if (auto done = check_kind(*buffers, JsonKind::object, "buffers"); !done) return done;
    for (const JsonValue& value : buffers->items) {
        auto one = buffer(value);
        if (!one) return passed(one);
        names_.push_back(value.key);
        plan_.buffers.push_back(std::move(*one));
    }
    return {};
}

Expected<PlannedBuffer> LaunchFile::buffer(const JsonValue& value) {
    if (auto done = check_keys(value, value.key, {"in", "out", "type", "shape", "expect", "tolerance"}); !done) return passed(done);
    PlannedBuffer result{.text = fmt::format("buffer \"{}\"", value.key)};
    const JsonValue *in = value.find("in"), *out = value.find("out"), *type = value.find("type");
    for (const auto& [file, target] : {std::pair{in, &result.input_file}, {out, &result.output_file}}) {
        if (file == nullptr) continue;
        if (auto done = check_kind(*file, JsonKind::string, file->key); !done) return passed(done);
        *target = resolved(file->text);
    }
    const ElementType* element = nullptr;
    if (type != nullptr) {
        element = type->kind == JsonKind::string ? find_type(type->text) : nullptr;
        if (element == nullptr)
            return wrong(type->span, fmt::format("\"type\" is one of {}, not {}", type_names(), type->text));
    }
    auto done = in != nullptr ? load(*in, value, element, result) : declare(value, element, result);
    if (done) done = expect(value, element, result);
    if (!done) return passed(done);
    types_.push_back(element != nullptr && element->name == "bf16" ? std::optional(TensorType::bf16)
                                                                   : std::nullopt);
    return result;
}

// A buffer that no file fills.
Expected<void> LaunchFile::declare(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer) {
    const JsonValue* shape = value.find("shape");
    if (type == nullptr || shape == nullptr)
        return wrong(value.span,
                     fmt::format("\"{}\" has no \"in\", so it needs \"type\" and \"shape\"", value.key));
    auto extents = numbers(*shape, "shape", 0, std::numeric_limits<std::int64_t>::max());
    if (!extents) return passed(extents);
    const auto count = element_count(*extents);
    if (!count) return wrong(shape->span, message(count.error()));
    buffer.array = {std::string(type->dtype), std::move(*extents), {}};
    buffer.bytes = *count * type->bytes;
    return {};
}

Expected<void> LaunchFile::load(const JsonValue& file, const JsonValue& value, const ElementType* type,
                                PlannedBuffer& buffer) {
    const auto bytes = read_file(buffer.input_file);
    if (!bytes) return wrong(file.span, message(bytes.error()));
    auto array = read_npy(*bytes);
    if (!array) return wrong(file.span, fmt::format("{}: {}", buffer.input_file, message(array.error())));
    if (type != nullptr && array->dtype.substr(1) != type->dtype.substr(1))
        return wrong(value.find("type")->span,
                     fmt::format("{} has elements of {}; arrays of {} have {}", buffer.input_file,
                                 array->dtype, type->name, type->dtype));
    if (const JsonValue* shape = value.find("shape")) {
        const auto extents = numbers(*shape, "shape", 0, std::numeric_limits<std::int64_t>::max());
        if (!extents) return passed(extents);
        if (*extents != array->shape)
            return wrong(shape->span, fmt::format("{} has the shape [{}]", buffer.input_file,
                                                  fmt::join(array->shape, ", ")));
    }
    buffer.array = std::move(*array);
    buffer.bytes = buffer.array.data.size();
    return {};
}

// ------------------------------------------------------------------------------------------------- expectations

// Arrays of plain numbers stand for the type of the same name.
const ElementType* type_of_array(std::string_view dtype) {
    constexpr std::pair<std::string_view, std::string_view> rows[] = {{"f2", "f16"}, {"f4", "f32"}, {"f8", "f64"}, {"i1", "s8"},  {"i2", "s16"}, {"i4", "s32"},
                                                                      {"i8", "s64"}, {"u1", "u8"},  {"u2", "u16"}, {"u4", "u32"}, {"u8", "u64"}, {"b1", "pred"}};
    for (const auto& [suffix, name] : rows)
        if (dtype.substr(1) == suffix) return find_type(name);
    return nullptr;
}

Expected<Array> LaunchFile::array_of(const JsonValue& file, const std::vector<std::uint64_t>& shape) {
    if (auto done = check_kind(file, JsonKind::string, file.key); !done) return passed(done);
    const auto bytes = read_file(resolved(file.text));
    if (!bytes) return wrong(file.span, message(bytes.error()));
    auto array = read_npy(*bytes);
    if (!array) return wrong(file.span, fmt::format("{}: {}", file.text, message(array.error())));
    if (array->shape == shape) return array;
    return wrong(file.span, fmt::format("{} has the shape [{}]; the buffer has [{}]", file.text, fmt::join(array->shape, ", "), fmt::join(shape, ", ")));
}

Expected<void> LaunchFile::expect(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer) {
    const JsonValue *file = value.find("expect"), *given = value.find("tolerance");
    if (file == nullptr) return given == nullptr ? Expected<void>() : wrong(given->key_span, "a \"tolerance\" needs \"expect\"");
    if (type == nullptr) type = type_of_array(buffer.array.dtype);
    auto wanted = array_of(*file, buffer.array.shape);
    if (!wanted) return passed(wanted);
    if (type == nullptr || !is_comparable(wanted->dtype, *type))
        return wrong(file->span, fmt::format("{} has elements of {}, which cannot be compared with {}", file->text, wanted->dtype,
                                             type == nullptr ? buffer.array.dtype : std::string(type->name)));
    buffer.expected = Expectation{.file = file->text, .wanted = std::move(*wanted), .type = *type};
    if (given == nullptr) return {};
    auto how = tolerance(*given, buffer.expected->wanted);
    if (!how) return passed(how);
    buffer.expected->tolerance = std::move(*how);
    return {};
}

Expected<double> least_zero(const JsonValue& value) {
    double result = -1;
    const char* const end = value.text.data() + value.text.size();
    const bool is_number = value.kind == JsonKind::number && std::from_chars(value.text.data(), end, result).ptr == end;
    if (is_number && result >= 0 && std::isfinite(result)) return result;
    return wrong(value.span, fmt::format("\"{}\" is a number from 0 on", value.key));
}

Expected<Tolerance> LaunchFile::tolerance(const JsonValue& value, const Array& wanted) {
    if (auto done = check_keys(value, "tolerance", {"abs", "rel", "sum"}); !done) return passed(done);
    Tolerance result{.is_exact = false};
    for (const auto& [name, target] : {std::pair{"abs", &result.absolute}, {"rel", &result.relative}}) {
        const JsonValue* const given = value.find(name);
        if (given == nullptr) continue;
        const auto number = least_zero(*given);
        if (!number) return passed(number);
        *target = *number;
    }
    const JsonValue* const sum = value.find("sum");
    if (sum == nullptr) return result;
    if (value.items.size() > 1) return wrong(value.span, "\"sum\" says all of a tolerance: \"abs\" and \"rel\" stand without it");
    const auto product = product_sum(*sum);
    if (!product) return passed(product);
    result.sum = *product;
    auto magnitudes = array_of(*sum->find("magnitudes"), wanted.shape);
    if (!magnitudes) return passed(magnitudes);
    for (const std::string_view dtype : {std::string_view(magnitudes->dtype), std::string_view(wanted.dtype)})
        if (dtype[1] != 'f') return wrong(sum->span, fmt::format("sums and their magnitudes are arrays of floating-point numbers, best <f8, not {}", dtype));
    result.magnitudes = std::move(*magnitudes);
    return result;
}

Expected<ProductSum> LaunchFile::product_sum(const JsonValue& value) {
    constexpr std::string_view types[] = {"f16", "bf16", "tf32", "e4m3", "e5m2"}, accumulators[] = {"f32", "f16"};
    if (auto done = check_keys(value, "sum", {"type", "k", "magnitudes", "accumulator"}); !done) return passed(done);
    for (const char* key : {"type", "k", "magnitudes"})
        if (value.find(key) == nullptr) return wrong(value.span, fmt::format("\"sum\" needs \"{}\"", key));
    const auto type = choice<ProductType>(*value.find("type"), "type", types);
    if (!type) return passed(type);
    const auto products = number(*value.find("k"), "k", 1, std::numeric_limits<std::uint32_t>::max());
    if (!products) return passed(products);
    ProductSum sum{.type = *type, .products = *products};
    if (const JsonValue* given = value.find("accumulator")) {
        const auto accumulator = choice<AccumulatorType>(*given, "accumulator", accumulators);
        if (!accumulator) return passed(accumulator);
        sum.accumulator = *accumulator;
    }
    return sum;
}

// ------------------------------------------------------------------------------------------------- arguments

Expected<void> LaunchFile::read_arguments(const JsonValue& root) {
    const JsonValue* arguments = root.find("args");
    if (arguments == nullptr) return {};
    if (auto done = check_kind(*arguments, JsonKind::array, "args"); !done) return done;
    for (const JsonValue& value : arguments->items) {
        auto one = argument(value);
        if (!one) return passed(one);
        one->span = value.items[0].key_span;
        plan_.arguments.push_back(std::move(*one));
    }
    return {};
}

Expected<PlannedArgument> LaunchFile::argument(const JsonValue& value) {
    const auto kinds = [] { return fmt::format("buffer, tensormap, bytes, {}", type_names()); };
    if (value.kind != JsonKind::object || value.items.empty())
        return wrong(
            value.span,
            "an argument is an object of its kind and value, such as {\"u32\": 64}; kinds are " + kinds());
    if (value.find("buffer") != nullptr) return address(value);
    const JsonValue& given = value.items[0];
    if (value.items.size() > 1)
        return wrong(value.items[1].key_span,
                     fmt::format("an argument of kind \"{}\" has no other key", given.key));
    if (given.key == "tensormap") return tensor_map(given);
    const ElementType* type = find_type(given.key);
    if (type == nullptr && given.key != "bytes")
        return wrong(given.key_span,
                     fmt::format("unknown kind of argument \"{}\"; kinds are {}", given.key, kinds()));
    // Numbers that JSON cannot spell are strings: "nan", "0x80", "0f3F800000".
    const bool fits = given.kind == JsonKind::string || (type != nullptr && given.kind == JsonKind::number) ||
                      (type != nullptr && type->family == 'p' && given.kind == JsonKind::boolean);
    if (!fits)
        return wrong(given.span, fmt::format("\"{}\" is {}, not {}", given.key,
                                             type == nullptr ? "a string of hexadecimal digits"
                                                             : "a number or a string with one",
                                             noun(given.kind)));
    auto bytes = type != nullptr ? scalar_bytes(*type, given.text) : hex_bytes(given.text);
    if (!bytes) return wrong(given.span, message(bytes.error()));
    PlannedArgument result{.text = fmt::format("{}={}", given.key, given.text), .value = std::move(*bytes)};
    if (type != nullptr) result.nature = nature_of(*type);
    return result;
}

// "buffer" and "offset" of an object.
Expected<void> LaunchFile::place(const JsonValue& object, PlannedArgument& argument) const {
    const JsonValue *name = object.find("buffer"), *offset = object.find("offset");
    if (name == nullptr) return wrong(object.span, fmt::format("\"{}\" needs \"buffer\"", object.key));
    if (auto done = check_kind(*name, JsonKind::string, "buffer"); !done) return done;
    const auto found = std::find(names_.begin(), names_.end(), name->text);
    if (found == names_.end())
        return wrong(name->span,
                     names_.empty()
                         ? fmt::format("there is no buffer \"{}\"; \"buffers\" has none", name->text)
                         : fmt::format("there is no buffer \"{}\"; there are {}", name->text,
                                       fmt::join(names_, ", ")));
    argument.buffer = static_cast<std::size_t>(found - names_.begin());
    if (offset == nullptr) return {};
    const auto bytes = number(*offset, "offset", 0, plan_.buffers[*argument.buffer].bytes);
    if (!bytes) return passed(bytes);
    argument.offset = *bytes;
    return {};
}

Expected<PlannedArgument> LaunchFile::address(const JsonValue& value) {
    if (auto done = check_keys(value, "an argument with a buffer", {"buffer", "offset"}); !done)
        return passed(done);
    PlannedArgument result;
    if (auto done = place(value, result); !done) return passed(done);
    result.text = plan_.buffers[*result.buffer].text;
    return result;
}

Expected<PlannedArgument> LaunchFile::tensor_map(const JsonValue& map) {
    if (auto done = check_keys(map, "tensormap",
                               {"buffer", "offset", "type", "dims", "strides", "box", "element_strides",
                                "swizzle", "interleave", "l2", "fill"});
        !done)
        return passed(done);
    PlannedArgument result{.text = "tensormap", .map = TensorMapOptions{}};
    if (auto done = place(map, result); !done) return passed(done);
    TensorMapOptions& options = *result.map;
    const Array& array = plan_.buffers[*result.buffer].array;
    options.type = types_[*result.buffer].value_or(tensor_type_of(array.dtype));
    const auto choose = [&](std::string_view key, auto& target,
                            std::span<const std::string_view> names) -> Expected<void> {
        const JsonValue* value = map.find(key);
        if (value == nullptr) return {};
        const auto chosen = choice<std::remove_reference_t<decltype(target)>>(*value, key, names);
        if (!chosen) return passed(chosen);
        target = *chosen;
        return {};
    };
    for (auto done :
         {choose("type", options.type, tensor_types), choose("swizzle", options.swizzle, swizzles),
          choose("interleave", options.interleave, interleaves), choose("l2", options.l2, promotions),
          choose("fill", options.fill, fills)})
        if (!done) return passed(done);
    if (auto done = lay_out(map, result); !done) return passed(done);
    return result;
}

// Strides of an array in C order, from the second dimension from the innermost on.
std::vector<std::uint64_t> contiguous(const std::vector<std::uint64_t>& dims, std::uint64_t bits) {
    std::vector<std::uint64_t> result;
    std::uint64_t bytes = 1;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
        bytes = i == 0 ? dims[0] * bits / 8 : bytes * dims[i];
        result.push_back(bytes);
    }
    return result;
}

bool fits(const TensorMapOptions& options, std::uint64_t bits, std::uint64_t bytes) {
    if (options.dims.empty() || options.dims[0] * bits / 8 > bytes) return options.dims.empty();
    bytes -= options.dims[0] * bits / 8;
    for (std::size_t i = 1; i < options.dims.size() && i <= options.strides.size(); ++i) {
        const std::uint64_t stride = options.strides[i - 1],
                            steps = std::max<std::uint64_t>(options.dims[i], 1) - 1;
        if (stride != 0 && steps > bytes / stride) return false;
        bytes -= steps * stride;
    }
    return true;
}

// Dims, strides and the box. Dims and strides that are not given are the array's.
Expected<void> LaunchFile::lay_out(const JsonValue& map, PlannedArgument& argument) const {
    TensorMapOptions& options = *argument.map;
    const PlannedBuffer& buffer = plan_.buffers[*argument.buffer];
    const std::uint64_t bits = bits_of(options.type);
    // Wider than any that is right: which are, is for the encoding.
    constexpr std::uint64_t wide = std::uint64_t{1} << 40, narrow = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint64_t> box, steps;
    const std::tuple<const char*, std::vector<std::uint64_t>*, std::uint64_t> lists[] = {
        {"dims", &options.dims, wide},
        {"strides", &options.strides, wide},
        {"box", &box, narrow},
        {"element_strides", &steps, narrow}};
    for (const auto& [key, target, most] : lists) {
        const JsonValue* value = map.find(key);
        if (value == nullptr) continue;
        auto given = numbers(*value, key, 0, most);
        if (!given) return passed(given);
        *target = std::move(*given);
    }
    if (map.find("box") == nullptr) return wrong(map.span, "\"tensormap\" needs \"box\"");
    const std::vector<std::uint64_t> whole(buffer.array.shape.rbegin(), buffer.array.shape.rend());
    if (map.find("dims") == nullptr) {
        if (element_bytes(buffer.array) * 8 != bits)
            return wrong(map.span,
                         fmt::format("elements of {} have {} bits, those of {} {}: \"dims\" must be given",
                                     tensor_types[static_cast<unsigned>(options.type)], bits, buffer.text,
                                     element_bytes(buffer.array) * 8));
        options.dims = whole;
    }
    if (map.find("strides") == nullptr)
        options.strides = options.dims.size() == whole.size()
                              ? contiguous(whole, element_bytes(buffer.array) * 8)
                              : contiguous(options.dims, bits);
    const auto narrowed = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    std::transform(box.begin(), box.end(), std::back_inserter(options.box), narrowed);
    std::transform(steps.begin(), steps.end(), std::back_inserter(options.element_strides), narrowed);
    if (fits(options, bits, buffer.bytes - argument.offset)) return {};
    return wrong(map.span,
                 fmt::format("a tensor of [{}] with strides of [{}] bytes is larger than the {} bytes of {}",
                             fmt::join(options.dims, ", "), fmt::join(options.strides, ", "),
                             buffer.bytes - argument.offset, buffer.text));
}

}  // namespace

Expected<LaunchPlan> read_launch_file(const std::string& path) {
    auto text = read_file(path);
    if (!text) return passed(text);
    const auto source = std::make_shared<const SourceText>(SourceText{display_name(path), std::move(*text)});
    const auto root = parse_json(source->text);
    auto plan = root ? LaunchFile(path).read(*root) : Expected<LaunchPlan>(passed(root));
    if (!plan) {
        Error error = plan.error();
        error.source = source;
        return tl::unexpected(std::move(error));
    }
    plan->source = source;
    return plan;
}

void plan_arguments(LaunchPlan& plan, std::vector<KernelArgument> arguments) {
    for (KernelArgument& argument : arguments) {
        PlannedArgument& planned = plan.arguments.emplace_back();
        planned.text = argument.text;
        planned.nature = argument.nature;
        planned.value = std::move(argument.value);
        if (argument.kind == ArgumentKind::scalar || argument.kind == ArgumentKind::bytes) continue;
        planned.buffer = plan.buffers.size();
        PlannedBuffer buffer{argument.text, argument.input_file, argument.output_file,
                             std::move(argument.array), argument.bytes};
        if (!buffer.input_file.empty()) {
            const std::string bytes = take(read_file(buffer.input_file));
            buffer.array = take(read_npy(bytes), {}, display_name(buffer.input_file));
            buffer.bytes = buffer.array.data.size();
        }
        plan.buffers.push_back(std::move(buffer));
    }
}

}  // namespace ptxgraft::cli
