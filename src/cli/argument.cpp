#include "argument.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace ptxgraft::cli {
namespace {

tl::unexpected<Error> wrong(std::string text) { return fail(Errc::argument_invalid, std::move(text)); }

// Numbers between `x` or `,`; nullopt when one of them is no number or missing.
std::optional<std::vector<std::uint64_t>> extents(std::string_view text) {
    std::vector<std::uint64_t> values;
    for (bool more = true; more;) {
        const std::size_t end = std::min(text.find_first_of("x,"), text.size());
        const auto digits = text.substr(0, end);
        const auto value = digits.starts_with('0') && digits.size() > 1 ? std::nullopt : magnitude(digits);
        if (!value) return {};
        values.push_back(*value);
        more = end < text.size();
        text.remove_prefix(more ? end + 1 : end);
    }
    return values;
}

Expected<KernelArgument> parse_output(KernelArgument argument, std::string_view value) {
    const std::size_t first = value.find(':');
    const std::size_t second = first == std::string_view::npos ? first : value.find(':', first + 1);
    if (second == std::string_view::npos || second + 1 == value.size())
        return wrong(
            fmt::format("'{}' should be out=TYPE:SHAPE:FILE, such as out=f32:64x64:c.npy", argument.text));
    const ElementType* type = find_type(value.substr(0, first));
    if (!type)
        return wrong(fmt::format("'{}' is not an element type: {}", value.substr(0, first), type_names()));
    const std::string_view shape = value.substr(first + 1, second - first - 1);
    const auto sizes = shape.empty() ? std::vector<std::uint64_t>() : extents(shape);
    if (!sizes)
        return wrong(fmt::format("'{}' is not a shape, such as 64x64, or nothing for a single value", shape));
    const auto count = element_count(*sizes);
    if (!count) return tl::unexpected(count.error());
    argument.kind = ArgumentKind::out;
    argument.array = {std::string(type->dtype), *sizes, {}};
    argument.bytes = *count * type->bytes;
    argument.output_file = value.substr(second + 1);
    return argument;
}

Expected<KernelArgument> parse_inout(KernelArgument argument, std::string_view value) {
    const std::size_t colon = value.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size())
        return wrong(
            fmt::format("'{}' should be inout=FILE:FILE, such as inout=before.npy:after.npy", argument.text));
    argument.kind = ArgumentKind::inout;
    argument.input_file = value.substr(0, colon);
    argument.output_file = value.substr(colon + 1);
    return argument;
}

Expected<KernelArgument> parse_scalar(KernelArgument argument, std::string_view kind,
                                      std::string_view value) {
    const ElementType* type = find_type(kind);
    if (kind != "bytes" && !type)
        return wrong(fmt::format("'{}' is not a kind of argument: in, out, inout, bytes, or one of {}", kind,
                                 type_names()));
    auto bytes = type ? scalar_bytes(*type, value) : hex_bytes(value);
    if (!bytes) return tl::unexpected(bytes.error());
    argument.kind = type ? ArgumentKind::scalar : ArgumentKind::bytes;
    if (type) argument.nature = nature_of(*type);
    argument.value = std::move(*bytes);
    return argument;
}

}  // namespace

Nature nature_of(const ElementType& type) {
    if (type.family == 'f') return Nature::floating;
    return type.family == 'u' || type.family == 's' ? Nature::integer : Nature::bits;
}

Expected<KernelArgument> parse_argument(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos)
        return wrong(
            fmt::format("'{}' should be KIND=VALUE, such as u32=5, in=a.npy or out=f32:64x64:c.npy", text));
    const std::string_view kind = text.substr(0, equals), value = text.substr(equals + 1);
    KernelArgument argument;
    argument.text = text;
    if (kind == "out") return parse_output(std::move(argument), value);
    if (kind == "inout") return parse_inout(std::move(argument), value);
    if (kind != "in") return parse_scalar(std::move(argument), kind, value);
    if (value.empty()) return wrong(fmt::format("'{}' should be in=FILE", text));
    argument.kind = ArgumentKind::in;
    argument.input_file = value;
    return argument;
}

Expected<Dim3> parse_dim3(std::string_view text) {
    const auto values = extents(text);
    const auto fits = [](std::uint64_t v) {
        return v >= 1 && v <= std::numeric_limits<std::uint32_t>::max();
    };
    if (!values || values->size() > 3 || !std::all_of(values->begin(), values->end(), fits))
        return wrong(fmt::format(
            "'{}' is not a shape: one to three numbers from 1 on, such as 8 or 8,4 or 8x4x1", text));
    Dim3 shape;
    std::uint32_t* const axes[] = {&shape.x, &shape.y, &shape.z};
    for (std::size_t i = 0; i < values->size(); ++i) *axes[i] = static_cast<std::uint32_t>((*values)[i]);
    return shape;
}

std::optional<Dim3> parse_place(std::string_view text) {
    const auto values = extents(text);
    const auto fits = [](std::uint64_t v) { return v <= std::numeric_limits<std::uint32_t>::max(); };
    if (!values || values->size() > 3 || !std::all_of(values->begin(), values->end(), fits))
        return std::nullopt;
    const auto axis = [&](std::size_t i) {
        return i < values->size() ? static_cast<std::uint32_t>((*values)[i]) : 0;
    };
    return Dim3{axis(0), axis(1), axis(2)};
}

}  // namespace ptxgraft::cli
