#pragma once
/// @file tensor_copy.hpp
/// Copies between boxes of tensors and shared memory, as computations on addresses and host bytes: who holds
/// the memory resolves the addresses of each row and hands over the bytes.
///
/// @code
/// auto tile = Tile::at(map, coordinates, {}, Direction::load);
/// for (Row row; tile->next(row);) load_row(*tile, row, global_bytes_of(row), shared_bytes,
/// shared_address);
/// @endcode

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "arithmetic/arithmetic.hpp"
#include "tensor/tensor_map.hpp"

namespace ptxgraft::tensor {

enum class Direction : std::uint8_t { load, store };

/// One row of a box: its elements along dimension 0. Elements outside of the tensor stand before and after
/// those inside. Counts are in units (TypeUnit).
struct Row {
    std::uint64_t global = 0;        ///< address of the first unit inside
    std::uint32_t global_bytes = 0;  ///< from the first byte inside to the last; 0 when nothing is inside
    std::uint32_t shared = 0;        ///< offset of the row within the box, before swizzling
    std::uint32_t before = 0, inside = 0, after = 0;
};

/// A box at its place, row by row.
class Tile {
  public:
    /// `coordinates` has one number per dimension, innermost first; `offsets` are those of the im2col mode
    /// (rank - 2 numbers, or none). Errors: Errc::tensor_copy_invalid.
    [[nodiscard]] static Expected<Tile> at(const MapFields& map, std::span<const std::int32_t> coordinates,
                                           std::span<const std::uint16_t> offsets, Direction direction);

    /// The next row; false after the last.
    bool next(Row& row);

    [[nodiscard]] const MapFields& map() const { return map_; }
    /// Bytes of the whole box in shared memory, elements outside of the tensor included: what a copy
    /// completes of the transactions that an mbarrier expects.
    [[nodiscard]] std::uint32_t bytes() const { return rows_ * row_units_ * unit_.shared_bytes; }
    /// Bytes of shared memory that the box may touch: a swizzled box may use the last 128-byte line to its
    /// end.
    [[nodiscard]] std::uint32_t shared_extent() const;

  private:
    explicit Tile(const MapFields& map) : map_(map), unit_(unit_of(map.type)) {}
    void start_tiled(std::span<const std::int32_t> coordinates);
    Expected<void> start_im2col(std::span<const std::int32_t> coordinates,
                                std::span<const std::uint16_t> offsets);
    [[nodiscard]] std::optional<std::uint64_t> outer_address() const;
    void step();

    MapFields map_;
    TypeUnit unit_;
    std::uint32_t rows_ = 0, row_units_ = 0, row_ = 0;
    std::uint32_t before_ = 0, inside_ = 0;  // of every row that is inside along the other dimensions
    std::uint64_t first_ = 0;                // offset of the first unit inside a row
    std::uint64_t unit_stride_ = 0;
    std::array<std::int64_t, most_tensor_dims> begin_{}, end_{}, at_{}, shift_{};
};

/// A row has at most 256 elements of 8 bytes.
using RowBytes = std::array<std::byte, 2048>;
/// The part of a row that is inside, in the order of global memory, taken out of shared memory.
void gather(const Tile& tile, const Row& row, RowBytes& bytes, const std::byte* shared,
            std::uint32_t shared_address);
/// Writes a row of a loaded box into shared memory. `global` are the row's `global_bytes` (null when there
/// are none), `shared` are the `shared_extent()` bytes at `shared_address`, the box's place in shared memory.
void load_row(const Tile& tile, const Row& row, const std::byte* global, std::byte* shared,
              std::uint32_t shared_address);
/// Of a loaded row: the states of its bytes in shared memory, by those in global memory. What is outside is
/// written.
void load_states(const Tile& tile, const Row& row, const std::byte* global, std::byte* shared,
                 std::uint32_t shared_address);
/// Writes the part of a row that is inside the tensor to global memory.
void store_row(const Tile& tile, const Row& row, std::byte* global, const std::byte* shared,
               std::uint32_t shared_address);

/// The element-wise reductions of cp.reduce.async.bulk.
enum class ReduceOperation : std::uint8_t { add, min, max, inc, dec, and_, or_, xor_ };
[[nodiscard]] std::optional<ReduceOperation> reduce_operation(std::string_view modifier);  ///< ".add"

/// A reduction of one type, ready to run.
class Reduction {
  public:
    /// `type` is PTX's: ".u32". Nothing when the manual's table has no such pair (PTX ISA 9.7.9.25.4.2).
    [[nodiscard]] static std::optional<Reduction> of(ReduceOperation operation, std::string_view type);
    /// By a map's type (PTX ISA 9.7.9.27.1.3). Errors: Errc::tensor_copy_invalid.
    [[nodiscard]] static Expected<Reduction> of(ReduceOperation operation, TensorType type);

    /// to[i] = to[i] op from[i] for whole elements in `bytes`, each in one step that other threads do not
    /// come between.
    void run(std::byte* to, const std::byte* from, std::size_t bytes) const;

  private:
    void compute(std::byte* result, const std::byte* left, const std::byte* right, std::size_t bytes) const;
    template <class Bits> void run_as(std::byte* to, const std::byte* from, std::size_t bytes) const;
    std::optional<arithmetic::PureInstruction> instruction_;  // nothing for inc and dec
    bool is_increment_ = false;
    std::size_t element_bytes_ = 4;
};

/// Reduces the part of a row that is inside the tensor into global memory.
void reduce_row(const Tile& tile, const Row& row, const Reduction& reduction, std::byte* global,
                const std::byte* shared, std::uint32_t shared_address);

}  // namespace ptxgraft::tensor
