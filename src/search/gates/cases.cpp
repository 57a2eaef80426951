// Cases: registers, numbers, errors, and the points that are tried first.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "arithmetic/rounding.hpp"
#include "search/gates/columns.hpp"

namespace ptxgraft::search {

namespace {

template <class T> T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// A unit in the last place of numbers of the size of `right`.
double ulp_of(Type type, double right) {
    if (!is_float(type)) return 1;
    struct Format {
        int fraction, least;
    };
    const Format format = type == Type::f64    ? Format{52, -1074}
                          : type == Type::f16  ? Format{10, -24}
                          : type == Type::bf16 ? Format{7, -133}
                                               : Format{23, -149};
    if (right == 0) return std::ldexp(1.0, format.least);
    return std::ldexp(1.0, std::max(std::ilogb(right) - format.fraction, format.least));
}

// Whether a number is a value of an integer type. From 2^53 on doubles do not tell neighbours apart.
bool is_word(Type type, double number) {
    const bool is_signed = type == Type::s16 || type == Type::s32 || type == Type::s64;
    const int width = static_cast<int>(std::max(bits(type), 1u));
    const double most = 0x1p53 - 1;
    const double high = std::min(std::ldexp(1.0, is_signed ? width - 1 : width) - 1, most);
    const double low = is_signed ? std::max(-std::ldexp(1.0, width - 1), -most) : 0;
    return number == std::floor(number) && number >= low && number <= high;
}

}  // namespace

std::uint64_t word_of(double number) {
    if (number < 0) return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(number, -0x1p63)));
    return number < 0x1p64 ? static_cast<std::uint64_t>(number) : ~std::uint64_t{0};
}

std::vector<CaseRegister> case_registers(const Signature& signature) {
    std::vector<CaseRegister> made;
    for (const SiteOperand& operand : signature.operands)
        made.insert(made.end(), std::max(operand.count, 1u), {operand.type, operand.direction});
    return made;
}

// An element of a column as a number; of pairs and bits the bits.
double number_at(const std::byte* column, std::size_t k, Type type) {
    switch (type) {
        case Type::f32: return load<float>(column + 4 * k);
        case Type::f64: return load<double>(column + 8 * k);
        case Type::f16:
            return arithmetic::value_of(arithmetic::f16_format, load<std::uint16_t>(column + 2 * k));
        case Type::bf16:
            return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(column + 2 * k)} << 16);
        case Type::s16: return load<std::int16_t>(column + 2 * k);
        case Type::s32: return load<std::int32_t>(column + 4 * k);
        case Type::s64: return static_cast<double>(load<std::int64_t>(column + 8 * k));
        case Type::pred: return load<std::uint8_t>(column + k);
        case Type::b16:
        case Type::u16: return load<std::uint16_t>(column + 2 * k);
        case Type::b64:
        case Type::u64: return static_cast<double>(load<std::uint64_t>(column + 8 * k));
        default: return load<std::uint32_t>(column + 4 * k);
    }
}

double error_of(double value, double right, Measure measure, Type type) {
    if (std::isnan(right)) return std::isnan(value) ? 0 : INFINITY;
    if (std::isnan(value)) return INFINITY;
    if (value == right) return 0;
    if (measure == Measure::bits) {
        const std::uint64_t mask =
            bits(type) >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(type)) - 1;
        return std::popcount((word_of(value) ^ word_of(right)) & mask);
    }
    if (std::isinf(value) || std::isinf(right)) return INFINITY;
    const double distance = std::abs(value - right);
    switch (measure) {
        case Measure::relative: return right == 0 ? distance : distance / std::abs(right);
        case Measure::ulp: return distance / ulp_of(type, right);
        default: return distance;
    }
}

void RightValues::add(double value, Measure measure, Type type) {
    double unit = 1;
    if (!std::isfinite(value) || measure == Measure::bits)
        unit = 0;
    else if (measure == Measure::relative)
        unit = value == 0 ? 1 : std::abs(value);
    else if (measure == Measure::ulp)
        unit = ulp_of(type, value);
    values.push_back(value);
    units.push_back(unit);
    has_special = has_special || unit == 0;
}

namespace {

template <class T> void convert(const std::byte* column, std::span<double> numbers) {
    for (std::size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = static_cast<double>(load<T>(column + sizeof(T) * k));
}

}  // namespace

void numbers_of(const std::byte* column, Type type, std::span<double> numbers) {
    switch (type) {
        case Type::f32: return convert<float>(column, numbers);
        case Type::f64: return convert<double>(column, numbers);
        case Type::s32: return convert<std::int32_t>(column, numbers);
        case Type::u32: return convert<std::uint32_t>(column, numbers);
        default:
            for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = number_at(column, k, type);
    }
}

// All as if they had a unit, without a branch; then those that have none once more.
void errors_of(std::span<const double> values, const RightValues& right, std::size_t first, Measure measure,
               Type type, double* errors) {
    const double *const rights = right.values.data() + first, *const units = right.units.data() + first;
    for (std::size_t k = 0; k < values.size(); ++k) {
        const double error = std::abs(values[k] - rights[k]) / units[k];
        errors[k] = error == error ? error : INFINITY;  // of a NaN
    }
    if (!right.has_special) return;
    for (std::size_t k = 0; k < values.size(); ++k)
        if (units[k] == 0) errors[k] = error_of(values[k], rights[k], measure, type);
}

Expected<void> check_cases(const Cases& cases, const std::vector<CaseRegister>& registers) {
    if (cases.count == 0) return fail(Errc::cases_invalid, "there are none");
    if (!(cases.bound >= 0)) return fail(Errc::cases_invalid, "the bound is not a number from 0 on");
    if (cases.inputs.size() != registers.size() || cases.right.size() != registers.size())
        return fail(Errc::cases_invalid, "the signature has " + std::to_string(registers.size()) +
                                             " registers, the cases have " +
                                             std::to_string(cases.inputs.size()) + " columns of inputs and " +
                                             std::to_string(cases.right.size()) + " of results");
    bool has_right = false;
    for (std::size_t r = 0; r < registers.size(); ++r) {
        const std::string which = "register " + std::to_string(r);
        const std::size_t wanted =
            registers[r].direction == Direction::out ? 0 : cases.count * registers[r].bytes();
        if (cases.inputs[r].size() != wanted)
            return fail(Errc::cases_invalid, which + " has " + std::to_string(cases.inputs[r].size()) +
                                                 " bytes of inputs, not " + std::to_string(wanted));
        if (cases.right[r].empty()) continue;
        has_right = true;
        if (registers[r].direction == Direction::in || cases.right[r].size() != cases.count)
            return fail(Errc::cases_invalid,
                        which + " has " + std::to_string(cases.right[r].size()) + " results, not " +
                            (registers[r].direction == Direction::in ? std::string("none: it is an input")
                                                                     : std::to_string(cases.count)));
    }
    for (std::size_t r = 0; r < registers.size(); ++r) {
        const Type type = registers[r].type;
        if (is_float(type) && !cases.right[r].empty() && cases.measure == Measure::bits)
            return fail(Errc::cases_invalid,
                        "the measure bits is for integers, not for " + std::string(name(type)));
        if (bits(type) == 64 && !cases.right[r].empty() && cases.measure == Measure::bits && cases.bound != 0)
            return fail(Errc::cases_invalid, "the measure bits counts wrong bits of at most 32; of " +
                                                 std::string(name(type)) + " its bound is 0");
        for (const double number : cases.right[r])
            if (!is_float(type) && !is_word(type, number))
                return fail(Errc::cases_invalid,
                            std::to_string(number) + " is no " + std::string(name(type)) +
                                ", or is 2^53 or more, where results are not told apart");
    }
    if (!has_right) return fail(Errc::cases_invalid, "no register has results");
    return {};
}

std::vector<std::size_t> screen_of(const Cases& cases, std::uint32_t wanted) {
    const std::size_t count = std::min<std::size_t>(std::max(wanted, 1u), cases.count);
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < count; ++k)
        order.push_back(count == 1 ? 0 : k * (cases.count - 1) / (count - 1));
    return order;
}

}  // namespace ptxgraft::search
