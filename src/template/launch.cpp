// From dimensions to a launch: its shape, its tensors, its parameters.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "array/scalar.hpp"
#include "base/try.hpp"
#include "ptxgraft/template.hpp"
#include "template/manifest.hpp"
#include "tensor/words.hpp"

namespace ptxgraft {
namespace {

using templates::ArgumentRule;
using templates::Formula;
using templates::Im2colRule;
using templates::LaunchRule;
using templates::MapRule;
using templates::Names;

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 46;  // of a tensor

// All names of a launch.
Expected<Names> launch_names(const Template::Data& data, const Choices& complete,
                             const Dimensions& dimensions, std::uint32_t multiprocessors) {
    Names names = templates::names_of(data, complete, {});
    names.set("multiprocessors", multiprocessors);
    std::vector<std::string> known;
    for (const TemplateDimension& dimension : data.dimensions) known.push_back(dimension.name);
    for (const auto& [name, value] : dimensions)
        if (std::find(known.begin(), known.end(), name) == known.end())
            return fail(Errc::dimension_invalid, fmt::format("{} has no dimension {}; it has {}", data.name,
                                                             name, fmt::join(known, ", ")));
    for (const TemplateDimension& dimension : data.dimensions) {
        const auto given = dimensions.find(dimension.name);
        if (given == dimensions.end() && !dimension.usual)
            return fail(Errc::dimension_invalid,
                        fmt::format("{} is missing: {}", dimension.name, dimension.meaning));
        const std::uint64_t value = given == dimensions.end() ? *dimension.usual : given->second;
        if (value < dimension.least || value > dimension.most)
            return fail(Errc::dimension_invalid,
                        fmt::format("{} is {} to {}, not {}{}{}", dimension.name, dimension.least,
                                    dimension.most, value, dimension.why.empty() ? "" : ": ", dimension.why));
        names.set(dimension.name, static_cast<std::int64_t>(value));
    }
    TRY(templates::add_derived(data, names));
    return names;
}

Expected<void> check_dimensions(const Template::Data& data, const Names& names) {
    for (std::size_t i = 0; i < data.dimensions.size(); ++i) {
        if (data.multiples[i].text.empty()) continue;
        const std::int64_t multiple = TRY(names.value(data.multiples[i], data.manifest));
        const TemplateDimension& dimension = data.dimensions[i];
        const std::int64_t value = TRY(names.value(Formula{dimension.name}, data.manifest));
        if (multiple > 0 && value % multiple == 0) continue;
        return fail(Errc::dimension_invalid,
                    fmt::format("{} is a multiple of {}, not {}{}{}", dimension.name, multiple, value,
                                dimension.why.empty() ? "" : ": ", dimension.why));
    }
    for (std::size_t i = 0; i < data.requirements.size(); ++i)
        if (TRY(names.value(data.conditions[i], data.manifest)) == 0)
            return fail(Errc::dimension_invalid,
                        fmt::format("{} ({})", data.requirements[i].why, data.requirements[i].that));
    return {};
}

class LaunchMaker {
  public:
    LaunchMaker(const Template::Data& data, const Names& names) : data_(data), names_(names) {}

    Expected<TemplateLaunch> make() {
        result_.entry = data_.entry;
        result_.config = TRY(config(data_.launch));
        for (std::size_t i = 0; i < data_.arguments.size(); ++i) TRY(add(i, false));
        return std::move(result_);
    }
    Expected<TemplateLaunch> make_reference() {
        result_.entry = data_.reference->entry;
        result_.config = TRY(config(data_.reference->launch));
        for (std::size_t i = 0; i < data_.arguments.size(); ++i)
            if (!data_.rules[i].is_view && data_.arguments[i].access != TensorAccess::scratch)
                TRY(add(i, true));
        return std::move(result_);
    }

  private:
    Expected<std::uint64_t> extent(const Formula& formula) const {
        const std::int64_t value = TRY(names_.value(formula, data_.manifest));
        if (value >= 0) return static_cast<std::uint64_t>(value);
        return templates::manifest_error(data_.manifest, formula.span,
                                         fmt::format("'{}' is {}: below 0", formula.text, value));
    }
    Expected<std::uint32_t> narrow_extent(const Formula& formula) const {
        const std::uint64_t value = TRY(extent(formula));
        if (value <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(value);
        return fail(Errc::dimension_invalid,
                    fmt::format("'{}' is {}, which 32 bits have no room for", formula.text, value));
    }
    Expected<Dim3> extents(const std::vector<Formula>& formulas) const {
        Dim3 result;
        std::uint32_t* const axes[] = {&result.x, &result.y, &result.z};
        for (std::size_t i = 0; i < formulas.size(); ++i) *axes[i] = TRY(narrow_extent(formulas[i]));
        return result;
    }
    Expected<LaunchConfig> config(const LaunchRule& rule) const {
        LaunchConfig config;
        config.grid = TRY(extents(rule.grid));
        config.block = TRY(extents(rule.block));
        config.cluster = TRY(extents(rule.cluster));
        // CUDA C++ Programming Guide, technical specifications per compute capability.
        constexpr std::uint32_t most_x = 0x7FFFFFFF, most_y = 65535;
        const Dim3& grid = config.grid;
        if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > most_x || grid.y > most_y ||
            grid.z > most_y)
            return fail(Errc::dimension_invalid,
                        fmt::format("they make a grid of {} x {} x {}; one has 1 to {} x {} x {} blocks",
                                    grid.x, grid.y, grid.z, most_x, most_y, most_y));
        if (rule.shared_bytes) config.shared_bytes = TRY(narrow_extent(*rule.shared_bytes));
        return config;
    }
    template <class T> Expected<std::vector<T>> list(const std::vector<Formula>& formulas) const {
        std::vector<T> values;
        for (const Formula& formula : formulas) {
            if constexpr (sizeof(T) == 4)
                values.push_back(TRY(narrow_extent(formula)));
            else
                values.push_back(TRY(extent(formula)));
        }
        return values;
    }

    // Of a tunable that says it, else as it stands.
    std::string type_of(const TemplateArgument& argument) const {
        const std::string_view word = names_.word_of(argument.type);
        return std::string(word.empty() ? std::string_view(argument.type) : word);
    }

    Expected<void> add(std::size_t i, bool for_reference) {
        const TemplateArgument& argument = data_.arguments[i];
        const ArgumentRule& rule = data_.rules[i];
        TemplateParameter parameter{argument.name, "u64"};
        if (argument.is_tensor) {
            parameter.tensor = result_.tensors.size();
            places_.emplace(i, parameter.tensor);
            result_.tensors.push_back(TRY(tensor(argument, rule, for_reference)));
        }
        if (rule.map && !for_reference) {
            parameter.tensor = places_.at(rule.map->tensor);
            parameter.type = "b8";
            parameter.map = TRY(map(*rule.map));
        } else if (!argument.is_tensor) {
            parameter.type = type_of(argument);
            parameter.value = TRY(number(argument, rule, parameter.type));
            parameter.above = rule.above;
            parameter.least = rule.least;
        }
        result_.parameters.push_back(std::move(parameter));
        return {};
    }

    Expected<TemplateTensor> tensor(const TemplateArgument& argument, const ArgumentRule& rule,
                                    bool for_reference) const {
        TemplateTensor tensor;
        tensor.name = argument.name;
        tensor.type = templates::stored_type(type_of(argument));
        if (for_reference && argument.access == TensorAccess::out) tensor.type = "f64";
        tensor.shape = TRY(list<std::uint64_t>(rule.shape));
        tensor.access = argument.access;
        tensor.nullable = argument.nullable;
        tensor.is_places =
            argument.nullable && !rule.range && (tensor.type[0] == 'u' || tensor.type[0] == 's');
        tensor.zeroed = rule.zeroed;
        std::tie(tensor.low, tensor.high) = rule.range.value_or(usual_range(tensor.type));
        unsigned __int128 bytes = templates::bytes_of_type(tensor.type);
        for (const std::uint64_t extent : tensor.shape) {
            bytes *= extent;
            if (bytes > most_bytes)
                return fail(Errc::dimension_invalid, fmt::format("{} of [{}] has more than 2^46 bytes",
                                                                 tensor.name, fmt::join(tensor.shape, ", ")));
        }
        tensor.bytes = static_cast<std::uint64_t>(bytes);
        return tensor;
    }
    static std::pair<double, double> usual_range(std::string_view type) {
        if (type == "s8") return {-128, 127};
        if (type[0] == 'u' || type[0] == 's') return {0, 255};
        if (type == "e4m3" || type == "e5m2") return {-2, 2};  // all bits of the exponent
        return {-1, 1};
    }

    Expected<TensorMapOptions> map(const MapRule& rule) const {
        TensorMapOptions options = rule.options;
        const TemplateArgument& argument = data_.arguments[rule.tensor];
        const std::string type = type_of(argument);
        options.type = tensor_type(type);
        const std::vector<std::uint64_t>& shape = result_.tensors[places_.at(rule.tensor)].shape;
        options.dims = rule.dims ? TRY(list<std::uint64_t>(*rule.dims))
                                 : std::vector<std::uint64_t>(shape.rbegin(), shape.rend());
        options.strides = rule.strides ? TRY(list<std::uint64_t>(*rule.strides))
                                       : tensor::dense_strides(options.dims, tensor::bits_of(options.type));
        options.box = TRY(list<std::uint32_t>(rule.box));
        options.element_strides = TRY(list<std::uint32_t>(rule.element_strides));
        if (rule.im2col) options.im2col = TRY(im2col(*rule.im2col));
        return options;
    }
    Expected<TensorIm2col> im2col(const Im2colRule& rule) const {
        TensorIm2col mode;
        mode.lower_corner = TRY(corner(rule.lower_corner));
        mode.upper_corner = TRY(corner(rule.upper_corner));
        mode.channels_per_pixel = TRY(narrow_extent(rule.channels_per_pixel));
        mode.pixels_per_column = TRY(narrow_extent(rule.pixels_per_column));
        return mode;
    }
    // Which corners there may be, the encoding knows; here they need to be of its type.
    Expected<std::vector<std::int32_t>> corner(const std::vector<Formula>& formulas) const {
        std::vector<std::int32_t> values;
        for (const Formula& formula : formulas) {
            const std::int64_t value = TRY(names_.value(formula, data_.manifest));
            if (value < std::numeric_limits<std::int32_t>::min() ||
                value > std::numeric_limits<std::int32_t>::max())
                return fail(Errc::dimension_invalid,
                            fmt::format("{} is {}; a corner has 32 bits", formula.text, value));
            values.push_back(static_cast<std::int32_t>(value));
        }
        return values;
    }
    // Maps know no eight-bit floats: their bytes are moved as they are.
    static TensorType tensor_type(std::string_view type) {
        const auto found = std::find(std::begin(tensor::type_words), std::end(tensor::type_words), type);
        if (found != std::end(tensor::type_words))
            return static_cast<TensorType>(found - std::begin(tensor::type_words));
        switch (templates::bytes_of_type(type)) {
            case 2: return TensorType::u16;
            case 4: return TensorType::u32;
            case 8: return TensorType::u64;
            default: return TensorType::u8;
        }
    }

    Expected<std::vector<std::byte>> number(const TemplateArgument& argument, const ArgumentRule& rule,
                                            const std::string& type) const {
        const std::string text =
            rule.number ? *rule.number : fmt::format("{}", TRY(names_.value(*rule.value, data_.manifest)));
        auto bytes = array::scalar_bytes(*array::find_type(type), text);
        if (bytes) return bytes;
        return fail(Errc::dimension_invalid, fmt::format("{}: {}", argument.name, message(bytes.error())));
    }

    const Template::Data& data_;
    const Names& names_;
    TemplateLaunch result_;
    std::map<std::size_t, std::size_t> places_;  // of an argument: its tensor
};

}  // namespace

Expected<TemplateLaunch> Template::launch(const Dimensions& dimensions, const Choices& choices,
                                          std::uint32_t multiprocessors) const {
    if (multiprocessors == 0)
        return fail(Errc::argument_invalid, std::string("multiprocessors are 1 or more, not 0"));
    const Choices complete = TRY(templates::complete(*data_, choices, {}));
    const Names names = TRY(launch_names(*data_, complete, dimensions, multiprocessors));
    TRY(check_dimensions(*data_, names));
    return LaunchMaker(*data_, names).make();
}

Expected<TemplateLaunch> Template::reference_launch(const Dimensions& dimensions,
                                                    const Choices& choices) const {
    if (!data_->reference)
        return fail(Errc::manifest_invalid, fmt::format("{} has no \"reference\"", data_->name));
    const Choices complete = TRY(templates::complete(*data_, choices, {}));
    const Names names = TRY(launch_names(*data_, complete, dimensions, 1));
    TRY(check_dimensions(*data_, names));
    return LaunchMaker(*data_, names).make_reference();
}

Expected<TemplateTolerance> Template::tolerance(const Dimensions& dimensions, const Choices& choices) const {
    TemplateTolerance tolerance = data_->tolerance;
    if (!data_->per) return tolerance;
    const Choices complete = TRY(templates::complete(*data_, choices, {}));
    const Names names = TRY(launch_names(*data_, complete, dimensions, 1));
    tolerance.absolute *= static_cast<double>(TRY(names.value(*data_->per, data_->manifest)));
    return tolerance;
}

Expected<void> TemplateLaunch::set(std::string_view parameter, double value) {
    for (TemplateParameter& one : parameters) {
        if (one.name != parameter) continue;
        const array::ElementType* const type = array::find_type(one.type);
        if (one.tensor != TemplateParameter::no_tensor || type == nullptr || type->family != 'f')
            return fail(Errc::argument_invalid, fmt::format("{} is no floating-point number", parameter));
        if (one.above && !(value > *one.above))
            return fail(Errc::argument_invalid,
                        fmt::format("{} is above {}, not {}", parameter, *one.above, value));
        if (one.least && !(value >= *one.least))
            return fail(Errc::argument_invalid,
                        fmt::format("{} is {} or more, not {}", parameter, *one.least, value));
        if (!std::isfinite(value))
            return fail(Errc::argument_invalid,
                        fmt::format("{} is a finite number, not {}", parameter, value));
        one.value = TRY(array::scalar_bytes(*type, fmt::format("{}", value)));
        return {};
    }
    return fail(Errc::argument_invalid, fmt::format("the kernel has no parameter {}", parameter));
}

Expected<std::vector<Argument>> TemplateLaunch::arguments(std::span<const Buffer* const> buffers) const {
    if (buffers.size() != tensors.size())
        return fail(Errc::argument_count_wrong,
                    fmt::format("{} buffers for {} tensors", buffers.size(), tensors.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (buffers[i] == nullptr && !tensors[i].nullable)
            return fail(Errc::argument_invalid, fmt::format("{} is no null pointer", tensors[i].name));
        if (buffers[i] != nullptr && buffers[i]->bytes() < tensors[i].bytes)
            return fail(Errc::buffer_exceeded,
                        fmt::format("{} needs {} bytes, its buffer has {}", tensors[i].name, tensors[i].bytes,
                                    buffers[i]->bytes()));
    }
    std::vector<Argument> all;
    for (const TemplateParameter& parameter : parameters) {
        if (parameter.tensor == TemplateParameter::no_tensor) {
            all.push_back(Argument::raw(parameter.value));
            continue;
        }
        const Buffer* const buffer = buffers[parameter.tensor];
        if (buffer == nullptr)
            all.emplace_back(std::uint64_t{0});
        else if (parameter.map)
            all.emplace_back(TRY(buffer->encode_tensor_map(*parameter.map)));
        else
            all.emplace_back(*buffer);
    }
    return all;
}

}  // namespace ptxgraft
