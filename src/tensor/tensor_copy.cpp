// Copies between a tensor and a box in shared memory: traversal, swizzles, elements outside, reductions.

#include "tensor/tensor_copy.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace ptxgraft::tensor {
namespace {

tl::unexpected<Error> wrong_copy(std::string why) { return fail(Errc::tensor_copy_invalid, std::move(why)); }

// ------------------------------------------------------------------------------------------------- elements

template <class Bits> void fill_with(std::byte* at, std::size_t bytes, Bits value) {
    for (std::size_t i = 0; i < bytes; i += sizeof value) std::memcpy(at + i, &value, sizeof value);
}

// Elements outside of the tensor. PTX does not say which NaN "OOB-NaN" is: here a quiet one with all other
// fraction bits set but the one below, which no instruction makes of numbers.
void fill_outside(const MapFields& map, std::byte* at, std::size_t bytes) {
    if (map.fill == TensorFill::zero) return static_cast<void>(std::memset(at, 0, bytes));
    switch (map.type) {
        case TensorType::f16: return fill_with(at, bytes, std::uint16_t{0x7EFF});
        case TensorType::bf16: return fill_with(at, bytes, std::uint16_t{0x7FDF});
        case TensorType::f64: return fill_with(at, bytes, std::uint64_t{0x7FFBFFFFFFFFFFFF});
        default: return fill_with(at, bytes, std::uint32_t{0x7FDFFFFF});
    }
}

std::uint32_t without_subnormals(std::uint32_t bits) {
    return (bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits;
}

// Rounds to the 10 fraction bits of tf32, to nearest even, as cvt.rn.tf32.f32.
std::uint32_t to_tf32(std::uint32_t bits) {
    const bool finite = (bits & 0x7F800000) != 0x7F800000;
    if (!finite) return (bits & 0x7FFFFF) == 0 ? bits : 0x7FFFFFFF;
    return (bits + 0xFFF + (bits >> 13 & 1)) & ~std::uint32_t{0x1FFF};
}

// What types change of elements that are copied.
void convert(TensorType type, std::byte* at, std::size_t bytes) {
    const bool flushes = type == TensorType::f32_ftz || type == TensorType::tf32_ftz;
    const bool rounds = type == TensorType::tf32 || type == TensorType::tf32_ftz;
    if (!flushes && !rounds) return;
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint32_t)) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, at + i, sizeof bits);
        if (flushes) bits = without_subnormals(bits);
        if (rounds) bits = to_tf32(bits);
        std::memcpy(at + i, &bits, sizeof bits);
    }
}

// ------------------------------------------------------------------------------------------------- swizzling

// The pieces that a swizzle moves as a whole: two lines of shared memory are permuted in 16 bytes or in more,
// or in 8.
std::uint32_t piece_bytes(const MapFields& map) {
    return map.atomicity == SwizzleAtomicity::bytes32_flip8 ? 8 : 16;
}

// Calls move(byte of the row, bytes, offset in shared memory from the box's first byte) for every piece of a
// row. Pieces change places within 128-byte lines, and a box begins with a line; within one, the same bits of
// the address are turned over everywhere.
template <std::uint32_t Piece, class Move>
void each_piece_of(const MapFields& map, std::uint32_t row, std::uint32_t bytes, std::uint32_t shared_address,
                   Move&& move) {
    constexpr std::uint32_t line_bytes = 128;
    for (std::uint32_t i = 0; i < bytes;) {
        const std::uint32_t line = (row + i) / line_bytes * line_bytes, end = line + line_bytes - row;
        const std::uint32_t turned = swizzled(map, shared_address + line) ^ (shared_address + line);
        for (; i < bytes && i < end; i += Piece)
            move(i, std::integral_constant<std::uint32_t, Piece>(), (row + i) ^ turned);
    }
}

template <class Move>
void each_piece(const MapFields& map, std::uint32_t row, std::uint32_t bytes, std::uint32_t shared_address,
                Move&& move) {
    if (map.swizzle == SwizzleMode::none) return move(0u, bytes, row);
    if (piece_bytes(map) == 8) return each_piece_of<8>(map, row, bytes, shared_address, move);
    each_piece_of<16>(map, row, bytes, shared_address, move);
}

}  // namespace

void gather(const Tile& tile, const Row& row, RowBytes& bytes, const std::byte* shared,
            std::uint32_t shared_address) {
    const TypeUnit& unit = unit_of(tile.map().type);
    const std::uint32_t whole = (row.before + row.inside + row.after) * unit.shared_bytes;
    each_piece(tile.map(), row.shared, whole, shared_address,
               [&](std::uint32_t at, auto count, std::uint32_t from) {
                   std::memcpy(&bytes[at], shared + from, count);
               });
    std::memmove(bytes.data(), &bytes[row.before * unit.shared_bytes], row.inside * unit.shared_bytes);
}

namespace {

// Bytes between the units of a row in global memory; more than a unit's where a traversal stride skips some.
std::uint32_t unit_distance(const Row& row, const TypeUnit& unit) {
    return row.inside < 2 ? unit.global_bytes : (row.global_bytes - unit.global_bytes) / (row.inside - 1);
}

// ------------------------------------------------------------------------------------------------- the box

constexpr std::uint64_t most_box_bytes = 228 * 1024;

std::uint64_t box_bytes(const MapFields& map) {
    const TypeUnit& unit = unit_of(map.type);
    if (map.is_im2col)
        return std::uint64_t{map.pixels_per_column} * map.channels_per_pixel / unit.elements *
               unit.shared_bytes;
    std::uint64_t elements = 1;
    for (unsigned i = 0; i < map.rank; ++i) elements *= box_elements(map, i);
    return elements / unit.elements * unit.shared_bytes;
}

Expected<void> check_place(const MapFields& map, std::span<const std::int32_t> coordinates,
                           Direction direction) {
    if (coordinates.size() != map.rank)
        return wrong_copy(fmt::format("the instruction says .{}d, the tensor map has {} dimensions",
                                      coordinates.size(), map.rank));
    const TypeUnit& unit = unit_of(map.type);
    const int multiple = unit.elements == 16 ? 128 : unit.elements;
    if (coordinates[0] % multiple != 0)
        return wrong_copy(fmt::format("the first coordinate is {}; for {} it is a multiple of {}",
                                      coordinates[0], unit.name, multiple));
    if (map.interleave != TensorInterleave::none &&
        box_elements(map, 0) / unit.elements * unit.shared_bytes % 16 != 0)
        return wrong_copy(fmt::format(
            "the rows of the box have {} elements of {}; an interleaved box has rows of whole 16 bytes",
            box_elements(map, 0), unit.name));
    if (box_bytes(map) > most_box_bytes)
        return wrong_copy(fmt::format("the box has {} bytes; no shared memory has more than {}",
                                      box_bytes(map), most_box_bytes));
    if (direction == Direction::load) return {};
    if (map.type == TensorType::b4x16_p64 || map.type == TensorType::b6x16_p32)
        return wrong_copy(fmt::format("{} is a type of copies from global memory", unit.name));
    const auto negative = std::find_if(coordinates.begin(), coordinates.end(), [](auto c) { return c < 0; });
    if (negative == coordinates.end()) return {};
    return wrong_copy(fmt::format("coordinate {} is {}; those of a copy to global memory are not negative",
                                  negative - coordinates.begin(), *negative));
}

}  // namespace

Expected<Tile> Tile::at(const MapFields& map, std::span<const std::int32_t> coordinates,
                        std::span<const std::uint16_t> offsets, Direction direction) {
    TRY(check_place(map, coordinates, direction));
    Tile tile(map);
    const std::int64_t stride = map.interleave == TensorInterleave::none ? 1 : map.element_strides[0];
    const std::uint32_t elements = map.is_im2col ? map.channels_per_pixel : box_elements(map, 0);
    tile.row_units_ = elements / tile.unit_.elements;
    tile.unit_stride_ = static_cast<std::uint64_t>(stride) * tile.unit_.global_bytes;
    const std::int64_t first = coordinates[0] / tile.unit_.elements;
    const auto extent = static_cast<std::int64_t>(map.dims[0] / tile.unit_.elements);
    // How many steps lead from `first` to the place `limit`.
    const auto steps_to = [&](std::int64_t limit) {
        return static_cast<std::uint32_t>(
            std::clamp<std::int64_t>((limit - first + stride - 1) / stride, 0, tile.row_units_));
    };
    tile.before_ = steps_to(0);
    tile.inside_ = steps_to(extent) - tile.before_;
    tile.first_ = static_cast<std::uint64_t>(first + tile.before_ * stride) * tile.unit_.global_bytes;
    if (map.is_im2col) {
        TRY(tile.start_im2col(coordinates, offsets));
    } else {
        tile.start_tiled(coordinates);
    }
    return tile;
}

void Tile::start_tiled(std::span<const std::int32_t> coordinates) {
    rows_ = 1;
    for (unsigned i = 1; i < map_.rank; ++i) {
        const std::uint32_t count = box_elements(map_, i);
        rows_ *= count;
        begin_[i] = at_[i] = coordinates[i];
        end_[i] = coordinates[i] + std::int64_t{count} * map_.element_strides[i];
    }
}

// PTX ISA 5.5.4: W, H and D run within the box that the corners leave, from the place of the filter's corner
// on; images follow one another.
Expected<void> Tile::start_im2col(std::span<const std::int32_t> coordinates,
                                  std::span<const std::uint16_t> offsets) {
    rows_ = map_.pixels_per_column;
    const unsigned batch = map_.rank - 1u;
    for (unsigned i = 1; i < batch; ++i) {
        begin_[i] = map_.lower_corner[i - 1];
        end_[i] = static_cast<std::int64_t>(map_.dims[i]) + map_.upper_corner[i - 1];
        at_[i] = coordinates[i];
        if (at_[i] < begin_[i] || at_[i] >= end_[i])
            return wrong_copy(fmt::format("coordinate {} is {}; the map's corners leave {} to {}", i, at_[i],
                                          begin_[i], end_[i] - 1));
        if (!offsets.empty()) shift_[i] = offsets[i - 1];
    }
    at_[batch] = coordinates[batch];
    end_[batch] = std::numeric_limits<std::int64_t>::max();
    return {};
}

std::uint32_t Tile::shared_extent() const {
    return map_.swizzle == SwizzleMode::none ? bytes() : (bytes() + 127) / 128 * 128;
}

// The offset of the row that is at hand; nothing when it is outside of the tensor.
std::optional<std::uint64_t> Tile::outer_address() const {
    std::uint64_t address = map_.address;
    for (unsigned i = 1; i < map_.rank; ++i) {
        const std::int64_t place = at_[i] + shift_[i];
        if (place < 0 || static_cast<std::uint64_t>(place) >= map_.dims[i]) return {};
        address += static_cast<std::uint64_t>(place) * map_.strides[i - 1];
    }
    return address;
}

void Tile::step() {
    for (unsigned i = 1; i < map_.rank; ++i) {
        const bool is_batch = map_.is_im2col && i + 1u == map_.rank;
        at_[i] += is_batch ? 1 : map_.element_strides[i];
        if (at_[i] < end_[i]) return;
        at_[i] = begin_[i];
    }
}

bool Tile::next(Row& row) {
    if (row_ == rows_) return false;
    row = {.shared = row_ * row_units_ * unit_.shared_bytes, .before = before_};
    if (const auto outer = inside_ == 0 ? std::nullopt : outer_address()) {
        row.global = *outer + first_;
        row.inside = inside_;
        row.global_bytes = static_cast<std::uint32_t>((inside_ - 1) * unit_stride_ + unit_.global_bytes);
    }
    if (row.inside == 0) row.before = 0;
    row.after = row_units_ - row.before - row.inside;
    ++row_;
    step();
    return true;
}

// ------------------------------------------------------------------------------------------------- rows

void load_row(const Tile& tile, const Row& row, const std::byte* global, std::byte* shared,
              std::uint32_t shared_address) {
    const MapFields& map = tile.map();
    const TypeUnit& unit = unit_of(map.type);
    const bool converts = map.type >= TensorType::f32_ftz && map.type <= TensorType::tf32_ftz;
    if (row.before + row.after == 0 && unit.global_bytes == unit.shared_bytes && !converts &&
        row.global_bytes == row.inside * unit.shared_bytes)
        return each_piece(map, row.shared, row.global_bytes, shared_address,
                          [&](std::uint32_t at, auto piece, std::uint32_t to) {
                              std::memcpy(shared + to, global + at, piece);
                          });
    RowBytes bytes;
    std::byte* const inside = &bytes[row.before * unit.shared_bytes];
    const std::uint32_t distance = unit_distance(row, unit), count = row.inside * unit.shared_bytes;
    fill_outside(map, bytes.data(), row.before * unit.shared_bytes);
    fill_outside(map, inside + count, row.after * unit.shared_bytes);
    if (distance == unit.shared_bytes) {
        if (count != 0) std::memcpy(inside, global, count);
    } else {  // what packed types are padded with is not specified
        std::memset(inside, 0, count);
        for (std::uint32_t i = 0; i < row.inside; ++i)
            std::memcpy(inside + i * unit.shared_bytes, global + std::size_t{i} * distance,
                        unit.global_bytes);
    }
    convert(map.type, inside, count);
    const std::uint32_t whole = (row.before + row.inside + row.after) * unit.shared_bytes;
    each_piece(map, row.shared, whole, shared_address, [&](std::uint32_t at, auto piece, std::uint32_t to) {
        std::memcpy(shared + to, &bytes[at], piece);
    });
}

void load_states(const Tile& tile, const Row& row, const std::byte* global, std::byte* shared,
                 std::uint32_t shared_address) {
    const TypeUnit& unit = unit_of(tile.map().type);
    const std::uint32_t distance = unit_distance(row, unit),
                        whole = (row.before + row.inside + row.after) * unit.shared_bytes;
    RowBytes states;
    std::fill_n(states.begin(), whole, std::byte{0xFF});
    for (std::uint32_t i = 0; i < row.inside; ++i) {
        const std::byte* const from = global + std::size_t{i} * distance;
        std::copy_n(from, std::min(unit.global_bytes, unit.shared_bytes),
                    &states[(row.before + i) * unit.shared_bytes]);
    }
    each_piece(tile.map(), row.shared, whole, shared_address,
               [&](std::uint32_t at, auto piece, std::uint32_t to) {
                   std::memcpy(shared + to, &states[at], piece);
               });
}

void store_row(const Tile& tile, const Row& row, std::byte* global, const std::byte* shared,
               std::uint32_t shared_address) {
    if (row.inside == 0) return;
    const TypeUnit& unit = unit_of(tile.map().type);
    RowBytes bytes;
    gather(tile, row, bytes, shared, shared_address);
    convert(tile.map().type, bytes.data(), row.inside * unit.shared_bytes);
    const std::uint32_t distance = unit_distance(row, unit);
    if (distance == unit.shared_bytes)
        return static_cast<void>(std::memcpy(global, bytes.data(), row.global_bytes));
    for (std::uint32_t i = 0; i < row.inside; ++i)
        std::memcpy(global + std::size_t{i} * distance, &bytes[i * unit.shared_bytes], unit.global_bytes);
}

void reduce_row(const Tile& tile, const Row& row, const Reduction& reduction, std::byte* global,
                const std::byte* shared, std::uint32_t shared_address) {
    if (row.inside == 0) return;
    const TypeUnit& unit = unit_of(tile.map().type);
    RowBytes bytes;
    gather(tile, row, bytes, shared, shared_address);
    const std::uint32_t distance = unit_distance(row, unit);
    if (distance == unit.shared_bytes) return reduction.run(global, bytes.data(), row.global_bytes);
    for (std::uint32_t i = 0; i < row.inside; ++i)
        reduction.run(global + std::size_t{i} * distance, &bytes[i * unit.shared_bytes], unit.global_bytes);
}

// -------------------------------------------------------------------------------------------------
// reductions

namespace {

constexpr std::string_view operation_names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

bool has(std::string_view types, std::string_view type) {
    return types.find(fmt::format(" {} ", type)) != std::string_view::npos;
}

std::string_view types_of(ReduceOperation operation) {
    switch (operation) {
        case ReduceOperation::add: return " .u32 .s32 .u64 .f32 .f64 .f16 .bf16 ";
        case ReduceOperation::min:
        case ReduceOperation::max: return " .u32 .s32 .u64 .s64 .f16 .bf16 ";
        case ReduceOperation::inc:
        case ReduceOperation::dec: return " .u32 ";
        default: return " .b32 .b64 ";
    }
}

std::size_t bytes_of(std::string_view type) {
    return type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : 2;
}

// PTX's type of a map's type for an operation.
std::string type_of(ReduceOperation operation, TensorType type) {
    const bool is_bitwise = operation >= ReduceOperation::and_;
    const TypeUnit& unit = unit_of(type);
    const bool is_integer = !unit.is_floating && unit.elements == 1;
    if (is_bitwise && is_integer) return fmt::format(".b{}", unit.global_bytes * 8);
    return type == TensorType::f32_ftz ? ".f32" : fmt::format(".{}", unit.name);
}

void step_counters(std::byte* result, const std::byte* values, const std::byte* bounds, std::size_t bytes,
                   bool is_increment) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint32_t)) {
        std::uint32_t value = 0, bound = 0;
        std::memcpy(&value, values + i, sizeof value);
        std::memcpy(&bound, bounds + i, sizeof bound);
        if (is_increment)
            value = value >= bound ? 0 : value + 1;
        else
            value = value == 0 || value > bound ? bound : value - 1;
        std::memcpy(result + i, &value, sizeof value);
    }
}

}  // namespace

std::optional<ReduceOperation> reduce_operation(std::string_view modifier) {
    for (unsigned i = 0; i < std::size(operation_names); ++i)
        if (modifier.starts_with('.') && modifier.substr(1) == operation_names[i])
            return static_cast<ReduceOperation>(i);
    return {};
}

std::optional<Reduction> Reduction::of(ReduceOperation operation, std::string_view type) {
    if (!has(types_of(operation), type)) return {};
    Reduction result;
    result.element_bytes_ = bytes_of(type);
    result.is_increment_ = operation == ReduceOperation::inc;
    if (result.is_increment_ || operation == ReduceOperation::dec) return result;
    // Halves of .noftz are the plain forms; sums of .f32 in global memory flush subnormals (PTX
    // ISA 9.7.9.25.4.2).
    const bool flushes = type == ".f32",
               adds_halves = operation == ReduceOperation::add && bytes_of(type) == 2;
    std::vector<std::string_view> modifiers{type};
    if (flushes) modifiers = {".rn", ".ftz", type};
    if (adds_halves) modifiers = {".rn", type};
    result.instruction_ =
        arithmetic::find_pure(operation_names[static_cast<unsigned>(operation)], modifiers, 3, false);
    return result.instruction_ ? std::optional(result) : std::nullopt;
}

Expected<Reduction> Reduction::of(ReduceOperation operation, TensorType type) {
    auto found = type == TensorType::f64 ? std::nullopt : of(operation, type_of(operation, type));
    if (found) return *found;
    const std::string_view types = types_of(operation);
    return wrong_copy(fmt::format(".{} of a tensor of {}; its types are{}",
                                  operation_names[static_cast<unsigned>(operation)], unit_of(type).name,
                                  types.substr(0, types.size() - 1)));
}

void Reduction::compute(std::byte* result, const std::byte* left, const std::byte* right,
                        std::size_t bytes) const {
    if (!instruction_) return step_counters(result, left, right, bytes, is_increment_);
    void* const outputs[] = {result};
    const void* const inputs[] = {left, right};
    instruction_->run_columns(outputs, inputs, bytes / element_bytes_);
}

template <class Bits> void Reduction::run_as(std::byte* to, const std::byte* from, std::size_t bytes) const {
    // Column functions want results apart from inputs, and columns aligned as their elements. Nearly always
    // nobody else has written an element meanwhile; else it is done anew.
    std::array<Bits, 64> left, right, result;
    for (std::size_t done = 0; done < bytes; done += sizeof left) {
        const std::size_t count = std::min(sizeof left, bytes - done);
        auto* const words = reinterpret_cast<Bits*>(to + done);
        for (std::size_t i = 0; i < count / sizeof(Bits); ++i)
            left[i] = __atomic_load_n(words + i, __ATOMIC_ACQUIRE);
        const auto bytes_of = [](auto& column) { return reinterpret_cast<std::byte*>(column.data()); };
        std::memcpy(bytes_of(right), from + done, count);
        compute(bytes_of(result), bytes_of(left), bytes_of(right), count);
        for (std::size_t i = 0; i < count / sizeof(Bits); ++i)
            while (!__atomic_compare_exchange_n(words + i, &left[i], result[i], false, __ATOMIC_SEQ_CST,
                                                __ATOMIC_ACQUIRE))
                compute(reinterpret_cast<std::byte*>(&result[i]), reinterpret_cast<std::byte*>(&left[i]),
                        reinterpret_cast<std::byte*>(&right[i]), sizeof(Bits));
    }
}

void Reduction::run(std::byte* to, const std::byte* from, std::size_t bytes) const {
    switch (element_bytes_) {
        case 2: return run_as<std::uint16_t>(to, from, bytes);
        case 4: return run_as<std::uint32_t>(to, from, bytes);
        default: return run_as<std::uint64_t>(to, from, bytes);
    }
}

}  // namespace ptxgraft::tensor
