#pragma once
/// @file columns.hpp
/// Cases as columns: how far values are from the right ones.

#include <cstddef>
#include <span>
#include <vector>

#include "ptxgraft/search.hpp"
#include "site/type_row.hpp"

namespace ptxgraft::search {

/// A register of a signature, in its order, as stack::Columns has them.
struct CaseRegister {
    Type type;
    Direction direction;
    [[nodiscard]] std::size_t bytes() const { return type == Type::pred ? 1 : bits(type) / 8; }
};
[[nodiscard]] std::vector<CaseRegister> case_registers(const Signature& signature);

/// An element of a column as a number; of pairs and bits the bits.
[[nodiscard]] double number_at(const std::byte* column, std::size_t k, Type type);
[[nodiscard]] double error_of(double value, double right, Measure measure, Type type);

/// The right values of a register at some points, and what error_of counts distances from them in: 0 where it
/// does not count in any.
struct RightValues {
    std::vector<double> values, units;
    bool has_special = false;  ///< whether any unit is 0
    void add(double value, Measure measure, Type type);
    [[nodiscard]] bool empty() const { return values.empty(); }
};
/// number_at of elements from the first on.
void numbers_of(const std::byte* column, Type type, std::span<double> numbers);
/// error_of of values, beside the right ones from `first` on.
void errors_of(std::span<const double> values, const RightValues& right, std::size_t first, Measure measure,
               Type type, double* errors);

/// Of one number: errors of pairs are those of their bits.
[[nodiscard]] constexpr bool is_float(Type type) { return is_floating(type) && row(type).elements == 1; }
/// The bits of an integer that is a number.
[[nodiscard]] std::uint64_t word_of(double number);

/// Errors: Errc::cases_invalid.
[[nodiscard]] Expected<void> check_cases(const Cases& cases, const std::vector<CaseRegister>& registers);
/// The points that are tried first: spread over all.
[[nodiscard]] std::vector<std::size_t> screen_of(const Cases& cases, std::uint32_t wanted);

}  // namespace ptxgraft::search
