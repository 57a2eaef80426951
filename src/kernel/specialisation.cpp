// Specialisations: extents and parameters by name, strides, tensor maps.

#include "kernel/specialisation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/try.hpp"
#include "tensor/tensor_map.hpp"

namespace ptxgraft::dsl {

std::uint64_t bytes_of_element(Type type) { return type < Type::none ? syntax::row(type).bytes() : 0; }

std::uint64_t bytes_of(const Tile& tile, std::uint64_t elements) {
    std::uint64_t per = bytes_of_element(tile.type), unit = 1;
    if (tile.map && tile.map->type) {
        per = tensor::unit_of(*tile.map->type).global_bytes;
        unit = tensor::unit_of(*tile.map->type).elements;
    }
    const std::uint64_t units = elements / unit + (elements % unit == 0 ? 0 : 1);
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(units, per, &bytes) ? ~std::uint64_t{0} : bytes;
}

namespace {

// The dimensions of a tile from the innermost on.
std::vector<std::size_t> from_innermost(Layout layout, std::size_t rank) {
    std::vector<std::size_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i) order[i] = layout == Layout::row ? rank - 1 - i : i;
    return order;
}

// In elements; 0 for what depends on an extent that is 0: not known. More than 64 bits have room for is the
// most they have.
std::vector<std::uint64_t> dense_strides(Layout layout, std::span<const std::uint64_t> extents) {
    std::vector<std::uint64_t> strides(extents.size());
    std::uint64_t stride = 1;
    for (const std::size_t i : from_innermost(layout, extents.size())) {
        strides[i] = stride;
        if (__builtin_mul_overflow(stride, extents[i], &stride)) stride = ~std::uint64_t{0};
    }
    return strides;
}

std::optional<TensorType> tensor_type_of(Type type) {
    switch (type) {
        case Type::b8:
        case Type::u8:
        case Type::s8: return TensorType::u8;
        case Type::b16:
        case Type::u16:
        case Type::s16: return TensorType::u16;
        case Type::b32:
        case Type::u32: return TensorType::u32;
        case Type::s32: return TensorType::s32;
        case Type::b64:
        case Type::u64: return TensorType::u64;
        case Type::s64: return TensorType::s64;
        case Type::f16: return TensorType::f16;
        case Type::bf16: return TensorType::bf16;
        case Type::f32: return TensorType::f32;
        case Type::tf32: return TensorType::tf32;
        case Type::f64: return TensorType::f64;
        default: return bytes_of_element(type) == 1 ? std::optional(TensorType::u8) : std::nullopt;
    }
}

auto wrong(std::string problem) { return fail(Errc::argument_invalid, std::move(problem)); }

// Of packed elements, whole bytes.
Expected<std::uint64_t> stride_bytes(const Tile& tile, const tensor::TypeUnit& unit, std::uint64_t stride) {
    const std::uint64_t bits = std::uint64_t{unit.global_bytes} * 8 / unit.elements;
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(stride, bits, &all) || all % 8 != 0)
        return fail(Errc::tensor_map_invalid,
                    fmt::format("{}: a stride of {} elements of {} bits is no number of bytes", tile.name,
                                stride, bits));
    return all / 8;
}

}  // namespace

Tile Tile::named(std::string_view text) const {
    Tile copy = *this;
    copy.name = text;
    return copy;
}
Tile Tile::by_map(const MapOptions& options) const {
    Tile copy = *this;
    copy.map = options;
    return copy;
}

// ---- a specialisation

bool Specialisation::has(std::string_view name) const { return sizes_.contains(name); }

std::uint64_t Specialisation::operator[](std::string_view name) const {
    if (const auto found = sizes_.find(name); found != sizes_.end()) return found->second;
    const bool is_dynamic = std::ranges::find(dynamic_, name) != dynamic_.end();
    std::vector<std::string_view> names;  // no std::views::keys: clang 14 does not compile libstdc++ 12's
    for (const auto& [known, size] : sizes_) names.push_back(known);
    keep(is_dynamic
             ? fmt::format("{}: it is known when the kernel runs, see dynamic_extent()", name)
             : fmt::format("{} has nothing named {}; there are: {}", name_, name, fmt::join(names, ", ")));
    return 1;  // harmless in divisions
}

std::uint32_t Specialisation::extent(std::string_view name) const {
    const std::uint64_t value = (*this)[name];
    if (value > 0xFFFFFFFF) keep(fmt::format("{} is {}, which 32 bits have no room for", name, value));
    return static_cast<std::uint32_t>(value);
}

void Specialisation::keep(std::string problem) const {
    if (is_asked_ && !error_) error_ = wrong(std::move(problem)).value();
}

std::string SpecialisationMaker::Choice::key() const {
    std::string text = target;
    for (const auto& [name, value] : sizes)
        fmt::format_to(std::back_inserter(text), ";{}:{}={}", name.size(), name, value);
    for (const auto& of : strides) fmt::format_to(std::back_inserter(text), ";{}", fmt::join(of, ","));
    return text;
}

std::vector<Tile> SpecialisationMaker::tiles() const {
    std::vector<Tile> all;
    for (const auto* list : {&options_.inputs, &options_.outputs})
        for (std::size_t i = 0; i < list->size(); ++i) {
            const Tile& tile = (*list)[i];
            const char* const stem = list == &options_.inputs ? "x" : "y";
            all.push_back(tile.name.empty() ? tile.named(stem + std::to_string(i)) : tile);
        }
    return all;
}

Expected<void> SpecialisationMaker::check() const {
    for (const Tile& tile : tiles()) {
        if (bytes_of_element(tile.type) == 0)
            return wrong(fmt::format("{}: a tile has elements of a type with whole bytes", tile.name));
        if (tile.dims.empty()) return wrong(fmt::format("{}: a tile has at least one extent", tile.name));
        for (const Dim& dim : tile.dims)
            if (dim.name.empty() && dim.value == 0)
                return wrong(fmt::format("{}: an extent is a name, or a number above 0", tile.name));
        if (!tile.map) continue;
        if (tile.dims.size() > 5)
            return wrong(fmt::format("{}: a tensor map has at most 5 extents", tile.name));
        if (!tile.map->type && !tensor_type_of(tile.type))
            return wrong(fmt::format("{}: tensor maps have no elements of {}; MapOptions::type names others",
                                     tile.name, syntax::row(tile.type).word));
        if (const std::size_t steps = tile.map->element_strides.size();
            steps != 0 && steps != tile.dims.size())
            return wrong(fmt::format("{}: there are as many element_strides as extents, or none", tile.name));
        if (tile.map->box.size() != (tile.map->im2col ? 0 : tile.dims.size()))
            return wrong(
                fmt::format("{}: a box has as many extents as its tensor, with im2col none", tile.name));
    }
    for (const std::string& name : options_.dynamic)
        if (options_.parameters.contains(name))
            return wrong(fmt::format("{} is dynamic and a parameter; it is one of them", name));
    return check_names();
}

// Tensors and dynamic extents are parameters of the entry, by their names.
Expected<void> SpecialisationMaker::check_names() const {
    std::map<std::string, std::string> owners;
    const auto add = [&](const std::string& name, std::string owner) -> Expected<void> {
        const auto [found, is_new] = owners.emplace(name, owner);
        if (is_new) return {};
        return fail(Errc::name_redeclared, fmt::format("{} and {} of {} are both named {}", found->second,
                                                       owner, options_.name, name));
    };
    const std::vector<Tile> all = tiles();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_input = i < options_.inputs.size();
        TRY(add(all[i].name, is_input ? fmt::format("input {}", i)
                                      : fmt::format("output {}", i - options_.inputs.size())));
    }
    for (std::size_t i = 0; i < options_.dynamic.size(); ++i)
        TRY(add(options_.dynamic[i], fmt::format("dynamic extent {}", i)));
    return {};
}

Expected<Sizes> SpecialisationMaker::complete(Sizes sizes) const {
    std::set<std::string_view> names(options_.dynamic.begin(), options_.dynamic.end());
    for (const auto& [name, value] : options_.parameters) names.insert(name);
    for (const auto* list : {&options_.inputs, &options_.outputs})
        for (const Tile& tile : *list)
            for (const Dim& dim : tile.dims)
                if (!dim.name.empty()) names.insert(dim.name);
    for (const auto& [name, value] : sizes)
        if (!names.contains(name))
            return wrong(fmt::format("{} names nothing of {}; there are: {}", name, options_.name,
                                     fmt::join(names, ", ")));
    sizes.insert(options_.parameters.begin(), options_.parameters.end());
    return sizes;
}

Expected<Sizes> SpecialisationMaker::resolve(std::span<const TensorView> views, const Sizes& said) const {
    const std::vector<Tile> all = tiles();
    Sizes sizes = TRY(complete(said));
    std::map<std::string_view, std::string_view> from;  // by name, who said it
    for (std::size_t t = 0; t < views.size(); ++t) {
        const auto refuse = [&](std::string problem) {
            auto error = wrong(fmt::format("{}: {}", all[t].name, problem));
            error.value().index = static_cast<std::uint32_t>(t);
            return error;
        };
        const std::vector<Dim>& dims = all[t].dims;
        if (views[t].extents.size() != dims.size())
            return refuse(fmt::format("it has {} extents, not {}", dims.size(), views[t].extents.size()));
        for (std::size_t i = 0; i < dims.size(); ++i) {
            const std::uint64_t extent = views[t].extents[i];
            if (dims[i].name.empty()) {
                if (extent != dims[i].value)
                    return refuse(fmt::format("extent {} is {}, not {}", i, dims[i].value, extent));
                continue;
            }
            const auto [found, is_new] = sizes.emplace(dims[i].name, extent);
            if (is_new) from.emplace(found->first, all[t].name);
            if (found->second == extent) continue;
            const auto who = from.find(dims[i].name);
            return refuse(
                fmt::format("{} is {}, but {} {}", dims[i].name, extent, found->second,
                            who == from.end() ? "was chosen for it" : fmt::format("in {}", who->second)));
        }
    }
    return sizes;
}

Expected<void> SpecialisationMaker::check_count(std::size_t views, std::size_t right) const {
    if (views == right) return {};
    return fail(Errc::argument_count_wrong,
                fmt::format("{} has {} inputs and {} outputs; it takes {} tensors here, not {}",
                            options_.name, options_.inputs.size(), options_.outputs.size(), right, views));
}

Expected<std::vector<std::uint64_t>> SpecialisationMaker::extents(const Tile& tile,
                                                                  const Sizes& sizes) const {
    std::vector<std::uint64_t> all;
    for (const Dim& dim : tile.dims) {
        if (!dim.name.empty() && !sizes.contains(dim.name))
            return wrong(fmt::format("{}: no input says what {} is", tile.name, dim.name));
        const std::uint64_t extent = TRY(number(sizes, dim));
        all.push_back(extent);
    }
    return all;
}

Expected<std::uint64_t> SpecialisationMaker::number(const Sizes& sizes, const Dim& dim) const {
    if (dim.name.empty()) return dim.value;
    if (const auto found = sizes.find(dim.name); found != sizes.end()) return found->second;
    if (is_dynamic(dim.name)) return std::uint64_t{0};
    return wrong(fmt::format("{} of {} has no number", dim.name, options_.name));
}

Expected<Tensor> SpecialisationMaker::tensor(const Specialisation& s, const Tile& tile,
                                             const Strides& strides) const {
    Tensor made = {.name = tile.name, .type = tile.type};
    for (const Dim& dim : tile.dims) {
        const std::uint64_t extent = TRY(number(s.sizes_, dim));
        if (extent == 0 && !is_dynamic(dim.name))
            return wrong(fmt::format("{}: the extent {} is 0", tile.name, dim.name));
        made.extents.push_back(extent);
    }
    made.strides = strides.empty() ? dense_strides(tile.layout, made.extents) : strides;
    if (!tile.map) return made;
    made.map = TRY(map_of(s, tile, made));
    const tensor::TypeUnit& unit = tensor::unit_of(made.map->type);
    std::uint64_t elements = 1;
    for (const std::uint32_t extent : made.map->box) elements *= extent;
    if (made.map->im2col)
        elements = std::uint64_t{made.map->im2col->channels_per_pixel} * made.map->im2col->pixels_per_column;
    made.box_bytes = static_cast<std::uint32_t>(elements * unit.shared_bytes / unit.elements);
    return made;
}

Expected<TensorMapOptions> SpecialisationMaker::map_of(const Specialisation& s, const Tile& tile,
                                                       const Tensor& tensor) const {
    const MapOptions& from = *tile.map;
    TensorMapOptions map = {.type = from.type ? *from.type : *tensor_type_of(tile.type),
                            .interleave = from.interleave,
                            .swizzle = from.swizzle,
                            .l2 = from.l2,
                            .fill = from.fill,
                            .im2col = from.im2col};
    const tensor::TypeUnit& unit = tensor::unit_of(map.type);
    const auto order = from_innermost(tile.layout, tile.dims.size());
    for (const std::size_t i : order) {
        map.dims.push_back(tensor.extents[i]);
        if (i != order.front()) {
            const std::uint64_t bytes = TRY(stride_bytes(tile, unit, tensor.strides[i]));
            map.strides.push_back(bytes);
        }
        if (!from.element_strides.empty()) map.element_strides.push_back(from.element_strides.at(i));
        if (from.im2col) continue;
        const std::uint64_t extent = TRY(number(s.sizes_, from.box[i]));
        if (extent == 0 || extent > 256)
            return fail(
                Errc::tensor_map_invalid,
                fmt::format("{}: extent {} of its box is {}; right is 1 to 256", tile.name, i, extent));
        map.box.push_back(static_cast<std::uint32_t>(extent));
    }
    return map;
}

Expected<void> SpecialisationMaker::add_directives(Specialisation& s) const {
    const Dim3 block = options_.block(s), cluster = options_.cluster(s);
    if (s.error_) return tl::unexpected<Error>(*s.error_);
    s.directives_.required_threads = {block.x, block.y, block.z};
    if (std::uint64_t{cluster.x} * cluster.y * cluster.z != 1)
        s.directives_.cluster = {cluster.x, cluster.y, cluster.z};
    return {};
}

Expected<Specialisation> SpecialisationMaker::make(const Choice& choice) const {
    Specialisation s;
    s.is_asked_ = true;
    s.name_ = options_.name;
    s.target_ = choice.target;
    s.dynamic_ = options_.dynamic;
    for (const auto& [name, value] : choice.sizes)
        if (!is_dynamic(name)) s.sizes_.emplace(name, value);
    const std::vector<Tile> all = tiles();
    for (std::size_t t = 0; t < all.size(); ++t) {
        const Strides strides = choice.strides.empty() ? Strides() : choice.strides[t];
        Tensor made = TRY(tensor(s, all[t], strides));
        s.tensors_.push_back(std::move(made));
    }
    TRY(add_directives(s));
    return s;
}

Specialisation SpecialisationMaker::launched(const Specialisation& s, const Sizes& sizes,
                                             std::uint32_t multiprocessors) {
    Specialisation copy = s;
    copy.is_asked_ = true;
    copy.sizes_.insert(sizes.begin(), sizes.end());
    copy.multiprocessors_ = multiprocessors;
    return copy;
}

namespace {

// The tensor lies within its buffer, and its innermost elements are neighbours.
Expected<void> check_memory(const Tile& tile, const TensorView& view,
                            std::span<const std::uint64_t> strides) {
    const std::size_t innermost = from_innermost(tile.layout, tile.dims.size()).front();
    if (strides[innermost] != 1 && view.extents[innermost] != 1)
        return wrong(fmt::format("{}: its innermost stride is {}, not 1", tile.name, strides[innermost]));
    const std::uint64_t element = bytes_of_element(tile.type);
    __extension__ using Wide = unsigned __int128;
    const Wide room = view.buffer->bytes(), most = 2 * room;  // elements of 4 bits
    const bool is_empty = std::ranges::find(view.extents, 0u) != view.extents.end();
    Wide end = is_empty ? 0 : 1;
    for (std::size_t i = 0; i < strides.size() && end <= most && !is_empty; ++i)
        end += Wide{view.extents[i] - 1} * strides[i];
    if (end > most || Wide{bytes_of(tile, static_cast<std::uint64_t>(end))} + view.offset > room)
        return fail(Errc::buffer_exceeded, fmt::format("{} needs more than the {} bytes of its buffer",
                                                       tile.name, view.buffer->bytes()));
    if (view.offset % element != 0)
        return wrong(
            fmt::format("{}: its offset is no multiple of an element's {} bytes", tile.name, element));
    return {};
}

}  // namespace

Expected<std::vector<Strides>> add_strides(const Device& device, SpecialisationMaker::Choice& choice,
                                           std::span<const Tile> tiles, std::span<const TensorView> views) {
    std::vector<Strides> all;
    for (std::size_t t = 0; t < views.size(); ++t) {
        const TensorView& view = views[t];
        if (!view.buffer->is_on(device)) {
            auto error = fail(Errc::device_differs, fmt::format("the buffer of {}", tiles[t].name));
            error.value().index = static_cast<std::uint32_t>(t);
            return error;
        }
        const Strides dense = dense_strides(tiles[t].layout, view.extents);
        if (!view.strides.empty() && view.strides.size() != dense.size())
            return wrong(fmt::format("{}: it has {} strides, not {}", tiles[t].name, dense.size(),
                                     view.strides.size()));
        const bool is_dense = view.strides.empty() || view.strides == dense;
        all.push_back(is_dense ? dense : view.strides);
        TRY(check_memory(tiles[t], view, all.back()));
        if (is_dense) continue;
        choice.strides.resize(views.size());
        choice.strides[t] = view.strides;
    }
    return all;
}

Expected<Argument> argument_of(const Tile& tile, const Tensor& tensor, const TensorView& view,
                               const Strides& strides) {
    if (!tensor.map)
        return view.offset == 0 ? Argument(*view.buffer) : Argument(view.buffer->address() + view.offset);
    TensorMapOptions map = *tensor.map;
    const tensor::TypeUnit& unit = tensor::unit_of(map.type);
    map.address = view.offset;
    const auto order = from_innermost(tile.layout, tile.dims.size());
    for (std::size_t d = 0; d < order.size(); ++d) {
        map.dims[d] = view.extents[order[d]];
        if (d == 0) continue;
        const std::uint64_t bytes = TRY(stride_bytes(tile, unit, strides[order[d]]));
        map.strides[d - 1] = bytes;
    }
    auto made = view.buffer->encode_tensor_map(std::move(map));
    if (!made) return fail(made.error().code, fmt::format("{}: {}", tensor.name, *made.error().detail));
    return Argument(*made);
}

Expected<Argument> extent_of(const Sizes& sizes, const std::string& name) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) return wrong(fmt::format("{} has no number", name));
    if (found->second > 0xFFFFFFFF)
        return wrong(fmt::format("{} is {}, and a dynamic extent has 32 bits", name, found->second));
    return Argument(static_cast<std::uint32_t>(found->second));
}

}  // namespace ptxgraft::dsl
