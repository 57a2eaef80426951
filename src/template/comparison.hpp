#pragma once
/// @file comparison.hpp
/// How far the elements of a tensor are from the right ones, in parts of what is allowed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/scalar.hpp"
#include "ptxgraft/template.hpp"

namespace ptxgraft::templates {

/// The elements of a tensor as numbers; integers are exact up to 2^53.
struct Elements {
    const array::ElementType* type = nullptr;
    std::vector<std::byte> bytes;
    [[nodiscard]] std::size_t size() const { return bytes.size() / type->bytes; }
    [[nodiscard]] double operator[](std::size_t i) const;
};

/// What a buffer of that tensor holds.
[[nodiscard]] Expected<Elements> read_elements(const TemplateTensor& tensor, const Buffer& buffer);

/// The element whose error is the largest part of what is allowed there, of all that were compared.
struct Comparison {
    double worst = 0;
    std::string tensor = {};
    std::uint64_t index = 0;
    double got = 0, wanted = 0, allowed = 0;
    double largest_error = 0;
    std::uint64_t wrong = 0, elements = 0;
    std::uint64_t not_numbers = 0;  ///< elements where NaN was wanted

    /// Not a number is right where the reference has one.
    void compare(const std::string& name, const Elements& got, const Elements& wanted,
                 const TemplateTolerance& tolerance);
    /// Where nothing was compared, each of so many elements is wrong.
    void have_nothing(const std::string& name, std::uint64_t size);
    /// What is only read is as it was; true where it is.
    bool compare_unchanged(const std::string& name, const Elements& before, const Elements& after);

  private:
    void look_at(const std::string& name, std::size_t at, double is, double should_be, double may);
};

}  // namespace ptxgraft::templates
