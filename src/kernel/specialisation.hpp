#pragma once
// What the names of a tensor kernel stand for.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxgraft/dsl/tensor_kernel.hpp"

namespace ptxgraft::dsl {

using Strides = std::vector<std::uint64_t>;  // in elements

// Bytes of an element; 0 of a type that no tensor has.
[[nodiscard]] std::uint64_t bytes_of_element(Type type);
// Of so many neighbours in global memory, some of which may be packed; the most there are for more.
[[nodiscard]] std::uint64_t bytes_of(const Tile& tile, std::uint64_t elements);

// Makes specialisations of options.
class SpecialisationMaker {
  public:
    // What the caller chose: extents and parameters, and the strides of tensors that are not dense.
    struct Choice {
        Sizes sizes = {};
        std::string target = {};
        std::vector<Strides> strides = {};  // empty, or one for each tensor; of a dense one empty

        [[nodiscard]] std::string key() const;
    };

    explicit SpecialisationMaker(const KernelOptions& options) : options_(options) {}

    // What is wrong with the options, whatever the extents.
    [[nodiscard]] Expected<void> check() const;
    [[nodiscard]] Expected<Specialisation> make(const Choice& choice) const;
    // Extents by name, of the first tensors and of what the caller said beside them.
    [[nodiscard]] Expected<Sizes> resolve(std::span<const TensorView> views, const Sizes& said) const;
    [[nodiscard]] Expected<void> check_count(std::size_t views, std::size_t right) const;
    [[nodiscard]] Expected<std::vector<std::uint64_t>> extents(const Tile& tile, const Sizes& sizes) const;
    // Parameters that the caller did not choose, and no names that the kernel has not.
    [[nodiscard]] Expected<Sizes> complete(Sizes sizes) const;
    [[nodiscard]] bool is_dynamic(std::string_view name) const {
        return std::ranges::find(options_.dynamic, name) != options_.dynamic.end();
    }
    // Tiles under the names of their parameters.
    [[nodiscard]] std::vector<Tile> tiles() const;
    // With the dynamic extents too, and on a device: what functions of a launch are given.
    [[nodiscard]] static Specialisation launched(const Specialisation& s, const Sizes& sizes,
                                                 std::uint32_t multiprocessors);
    [[nodiscard]] static const std::optional<Error>& error_of(const Specialisation& s) { return s.error_; }
    static void set_target(Specialisation& s, const std::string& target) { s.target_ = target; }
    // From now on many threads may ask it.
    static void finish(Specialisation& s) {
        for (Tensor& tensor : s.tensors_) tensor.parameter = {};
        s.is_asked_ = false;
    }

  private:
    [[nodiscard]] Expected<void> check_names() const;
    // Of a dynamic one 0.
    [[nodiscard]] Expected<std::uint64_t> number(const Sizes& sizes, const Dim& dim) const;
    [[nodiscard]] Expected<Tensor> tensor(const Specialisation& s, const Tile& tile,
                                          const Strides& strides) const;
    [[nodiscard]] Expected<TensorMapOptions> map_of(const Specialisation& s, const Tile& tile,
                                                    const Tensor& tensor) const;
    [[nodiscard]] Expected<void> add_directives(Specialisation& s) const;

    const KernelOptions& options_;
};

// The strides of all tensors; those that are not dense become a part of the choice. Errors: strides that are
// not possible, memory that is too small, or of another device.
[[nodiscard]] Expected<std::vector<Strides>> add_strides(const Device& device,
                                                         SpecialisationMaker::Choice& choice,
                                                         std::span<const Tile> tiles,
                                                         std::span<const TensorView> views);

// The address of a tensor, or its map, with the extents and strides that the launch has.
[[nodiscard]] Expected<Argument> argument_of(const Tile& tile, const Tensor& tensor, const TensorView& view,
                                             const Strides& strides);

// Of a dynamic extent.
[[nodiscard]] Expected<Argument> extent_of(const Sizes& sizes, const std::string& name);

}  // namespace ptxgraft::dsl
