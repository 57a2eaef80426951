#pragma once
/// @file pure.hpp
/// The machinery of arithmetic.hpp: how a C++ function on one lane's values becomes a ColumnFunction, and how
/// modifiers select it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "arithmetic/arithmetic.hpp"

namespace ptxgraft::arithmetic {

// --- values that C++ has no type for
struct Half {
    std::uint16_t bits;
};  ///< .f16
struct Bfloat {
    std::uint16_t bits;
};  ///< .bf16
struct HalfPair {
    std::uint32_t bits;
};  ///< .f16x2
struct BfloatPair {
    std::uint32_t bits;
};  ///< .bf16x2

/// Two results of one lane: `p|q`, or a value and the condition code.
template <class A, class B> struct Two {
    A first;
    B second;
};

template <class T> constexpr T from_bits(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, bool>)
        return (bits & 1) != 0;
    else if constexpr (std::is_integral_v<T>)
        return static_cast<T>(bits);
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<double>(bits);
    else if constexpr (sizeof(T) == 4)
        return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
    else
        return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
}

/// Signed integers are extended by their sign to 64 bits: a wider destination register gets what PTX ISA
/// 9.4.1 asks for.
template <class T> constexpr std::uint64_t to_bits(T value) {
    if constexpr (std::is_same_v<T, bool>)
        return value ? 1 : 0;
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    else if constexpr (std::is_integral_v<T>)
        return value;
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<std::uint64_t>(value);
    else if constexpr (sizeof(T) == 4)
        return std::bit_cast<std::uint32_t>(value);
    else
        return std::bit_cast<std::uint16_t>(value);
}

template <class T> constexpr ImmediateType immediate_type() {
    if constexpr (std::is_same_v<T, float>)
        return ImmediateType::f32;
    else if constexpr (std::is_same_v<T, double>)
        return ImmediateType::f64;
    else if constexpr (std::is_same_v<T, Half>)
        return ImmediateType::f16;
    else if constexpr (std::is_same_v<T, HalfPair>)
        return ImmediateType::f16x2;
    else if constexpr (std::is_same_v<T, Bfloat>)
        return ImmediateType::bf16;
    else if constexpr (std::is_same_v<T, BfloatPair>)
        return ImmediateType::bf16x2;
    else if constexpr (std::is_same_v<T, bool>)
        return ImmediateType::predicate;
    else
        return ImmediateType::integer;
}

template <class T> struct is_two : std::false_type {};
template <class A, class B> struct is_two<Two<A, B>> : std::true_type {};

// The functions that matter are compiled again for processors with AVX2 and FMA, and with AVX-512. An
// attribute does it, not a compiler option: an inline function of the standard library compiled with the
// option could be linked into code for all. lzcnt is not asked of the processor: clang 14 does not take its
// name, and every processor with BMI2 has it.
#if defined(__x86_64__) && defined(__clang__)
#define PTXGRAFT_AVX2 [[gnu::target("avx2,fma,bmi,bmi2,lzcnt,popcnt"), gnu::flatten]]
#define PTXGRAFT_AVX512 \
    [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt"), gnu::flatten]]
#define PTXGRAFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed"  // says of every loop that it is none that gains by vectors
#elif defined(__x86_64__) && defined(__GNUC__)
#define PTXGRAFT_AVX2 [[gnu::target("avx2,fma,bmi,bmi2,lzcnt,popcnt"), gnu::flatten]]
#define PTXGRAFT_AVX512                                                                                 \
    [[gnu::target(                                                                                      \
          "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512"), \
      gnu::flatten]]
#define PTXGRAFT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define PTXGRAFT_AVX2
#define PTXGRAFT_AVX512
#define PTXGRAFT_INDEPENDENT
#endif

// The elements of a column. A predicate is a byte, 0 or 1; others are their bytes.
template <class T> T read(const std::byte* column, std::size_t i) {
    using Bits = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    Bits value;
    std::memcpy(&value, column + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, bool>)
        return value != 0;
    else
        return value;
}
template <class T> void write(std::byte* column, std::size_t i, T value) {
    if constexpr (std::is_same_v<T, bool>)
        column[i] = value ? std::byte{1} : std::byte{0};
    else
        std::memcpy(column + i * sizeof(T), &value, sizeof(T));
}

// The elements are independent of each other, even where an output is an input. In pieces of 32, whose loop
// has no rest.
template <auto F, class R, class... A, std::size_t... I>
inline void run_columns(void* const* outputs, const void* const* inputs, std::size_t count,
                        std::index_sequence<I...>) {
    const std::array<const std::byte*, sizeof...(A)> in{static_cast<const std::byte*>(inputs[I])...};
    auto* const out = static_cast<std::byte*>(outputs[0]);
    std::byte* second = nullptr;
    if constexpr (is_two<R>::value) second = static_cast<std::byte*>(outputs[1]);
    const auto one = [&](std::size_t i) {
        const R result = F(read<A>(in[I], i)...);
        if constexpr (is_two<R>::value) {
            write(out, i, result.first);
            write(second, i, result.second);
        } else {
            write(out, i, result);
        }
    };
    constexpr std::size_t piece = 32;
    std::size_t at = 0;
    for (; at + piece <= count; at += piece) {
        PTXGRAFT_INDEPENDENT
        for (std::size_t i = 0; i < piece; ++i) one(at + i);
    }
    for (; at < count; ++at) one(at);
}

template <auto F, class R, class... A, std::size_t... I>
inline void run_rows(std::byte* columns, const std::uint32_t* places, std::uint32_t mask, std::size_t count,
                     std::index_sequence<I...>) {
    for (; count != 0; --count, places += 1 + sizeof...(A)) {
        const std::array<const std::byte*, sizeof...(A)> in{columns + (places[1 + I] & mask)...};
        std::byte* const out = columns + (places[0] & mask);
        PTXGRAFT_INDEPENDENT
        for (std::size_t i = 0; i < 32; ++i) write(out, i, F(read<A>(in[I], i)...));
    }
}

template <auto F, class Signature> struct Compiled;
template <auto F, class R, class... A> struct Compiled<F, R (*)(A...)> {
    static void columns(void* const* outputs, const void* const* inputs, std::size_t count) {
        run_columns<F, R, A...>(outputs, inputs, count, std::index_sequence_for<A...>{});
    }
    PTXGRAFT_AVX2 static void columns_avx2(void* const* outputs, const void* const* inputs,
                                           std::size_t count) {
        run_columns<F, R, A...>(outputs, inputs, count, std::index_sequence_for<A...>{});
    }
    PTXGRAFT_AVX512 static void columns_avx512(void* const* outputs, const void* const* inputs,
                                               std::size_t count) {
        run_columns<F, R, A...>(outputs, inputs, count, std::index_sequence_for<A...>{});
    }
    static void rows(std::byte* columns, const std::uint32_t* places, std::uint32_t mask, std::size_t count) {
        run_rows<F, R, A...>(columns, places, mask, count, std::index_sequence_for<A...>{});
    }
    PTXGRAFT_AVX2 static void rows_avx2(std::byte* columns, const std::uint32_t* places, std::uint32_t mask,
                                        std::size_t count) {
        run_rows<F, R, A...>(columns, places, mask, count, std::index_sequence_for<A...>{});
    }
    PTXGRAFT_AVX512 static void rows_avx512(std::byte* columns, const std::uint32_t* places,
                                            std::uint32_t mask, std::size_t count) {
        run_rows<F, R, A...>(columns, places, mask, count, std::index_sequence_for<A...>{});
    }
    template <class T> static constexpr bool is_signed = std::is_integral_v<T>&& std::is_signed_v<T>;
    static constexpr PureInstruction instruction() {
        PureInstruction made;
        made.first[0] = columns;
        made.inputs = sizeof...(A);
        made.input_types = {immediate_type<A>()...};
        made.input_bytes = {sizeof(A)...};
        if constexpr (is_two<R>::value) {
            made.outputs = 2;
            made.output_bytes = {sizeof(R::first), sizeof(R::second)};
            made.output_signed = {is_signed<decltype(R::first)>, is_signed<decltype(R::second)>};
        } else {
            made.output_bytes = {sizeof(R)};
            made.output_type = immediate_type<R>();
            made.output_signed = {is_signed<R>};
        }
        return made;
    }
};

/// The instruction that computes the function F, its operands in F's order.
template <auto F> constexpr PureInstruction make() { return Compiled<F, decltype(F)>::instruction(); }
/// The same, compiled for every processor: for what is simple and common.
template <auto F> constexpr PureInstruction make_fast() {
    PureInstruction made = make<F>();
    made.first[1] = Compiled<F, decltype(F)>::columns_avx2;
    made.first[2] = Compiled<F, decltype(F)>::columns_avx512;
    return made;
}
/// The row functions of F, beside its column functions.
struct Rows {
    ColumnFunction column;
    RowFunction row;
};
template <auto F> constexpr std::array<Rows, 3> rows_of() {
    using C = Compiled<F, decltype(F)>;
    return {{{C::columns, C::rows}, {C::columns_avx2, C::rows_avx2}, {C::columns_avx512, C::rows_avx512}}};
}
/// An instruction on pairs, in registers of twice the width: that of their elements, twice as many.
constexpr PureInstruction over_elements(PureInstruction made) {
    made.column_elements = 2;
    made.output_type = ImmediateType::integer;
    for (std::uint8_t i = 0; i < made.inputs; ++i) made.input_types[i] = ImmediateType::integer;
    for (std::uint8_t i = 0; i < made.inputs; ++i) made.input_bytes[i] *= 2;
    for (std::uint8_t i = 0; i < made.outputs; ++i) made.output_bytes[i] *= 2;
    made.output_signed = {};
    return made;
}
constexpr PureInstruction leaving(Open open, PureInstruction made) {
    made.open = open;
    return made;
}

/// One instruction after the other: the results of `first` are the first inputs of `second`.
constexpr PureInstruction then(PureInstruction first, PureInstruction second) {
    PureInstruction made = first;
    made.second = second.first;
    made.outputs = second.outputs;
    made.output_bytes = second.output_bytes;
    made.output_signed = second.output_signed;
    made.output_type = second.output_type;
    made.first_inputs = first.inputs;
    made.first_outputs = first.outputs;
    for (std::uint8_t i = 0; i < first.outputs; ++i) made.between_bytes[i] = first.output_bytes[i];
    for (std::uint8_t i = first.outputs; i < second.inputs; ++i) {
        made.input_bytes[made.inputs] = second.input_bytes[i];
        made.input_types[made.inputs++] = second.input_types[i];
    }
    made.open = std::max(first.open, second.open);
    return made;
}

/// For a function whose last input is the condition code, or whose second result is it.
constexpr PureInstruction with_carry(PureInstruction made, bool reads, bool writes) {
    made.reads_carry = reads;
    made.writes_carry = writes;
    if (reads) --made.inputs;
    if (writes) --made.outputs;
    return made;
}

using Resolved = std::optional<PureInstruction>;

/// The modifiers of an instruction, taken one after the other in the order of the manual's syntax line.
/// Whatever is left at the end makes the instruction unknown: a modifier is never ignored.
class Modifiers {
  public:
    explicit Modifiers(std::span<const std::string_view> all) : left_(all) {}

    /// The next modifier, if it is `word`.
    bool take(std::string_view word) {
        if (left_.empty() || left_.front() != word) return false;
        left_ = left_.subspan(1);
        return true;
    }
    /// The next modifier, whatever it is; empty at the end.
    std::string_view take() {
        if (left_.empty()) return {};
        const std::string_view word = left_.front();
        left_ = left_.subspan(1);
        return word;
    }
    /// The index of the next modifier in a list of words, or -1.
    int take_of(std::initializer_list<std::string_view> words) {
        int index = 0;
        for (const std::string_view word : words) {
            if (take(word)) return index;
            ++index;
        }
        return -1;
    }
    [[nodiscard]] bool done() const { return left_.empty(); }
    [[nodiscard]] std::size_t left() const { return left_.size(); }

  private:
    std::span<const std::string_view> left_;
};

/// One of the first `Count` values of an enumeration, by its number; none where the number is another one.
template <class E, int Count> struct Choice { int number; };

/// Makes template arguments of what is known at run time: `choose(f, ftz, rounding)` calls
/// `f.operator()<Ftz, R>()` with the values that a bool and a Choice have. Nothing where a choice has none.
template <auto... Chosen, class F> Resolved choose(F f) { return f.template operator()<Chosen...>(); }
template <auto... Chosen, class F, class... Rest> Resolved choose(F f, bool first, Rest... rest) {
    return first ? choose<Chosen..., true>(f, rest...) : choose<Chosen..., false>(f, rest...);
}
template <auto... Chosen, class F, class E, int Count, class... Rest>
Resolved choose(F f, Choice<E, Count> first, Rest... rest) {
    Resolved found;
    [&]<int... I>(std::integer_sequence<int, I...>) {
        (void)((first.number == I && (found = choose<Chosen..., static_cast<E>(I)>(f, rest...), true)) ||
               ...);
    }
    (std::make_integer_sequence<int, Count>());
    return found;
}

/// What a resolver gets beside the modifiers.
struct Shape {
    std::size_t operands;
    bool pair;
};

/// A type modifier and its C++ type: TypeWord<".u32", std::uint32_t>.
template <std::size_t N> struct Word {
    char text[N];
    constexpr Word(const char (&from)[N]) { std::copy_n(from, N, text); }
};
template <Word W, class T> struct TypeWord {
    static constexpr std::string_view word{W.text};
    using type = T;
};
using U8 = TypeWord<".u8", std::uint8_t>;
using U16 = TypeWord<".u16", std::uint16_t>;
using U32 = TypeWord<".u32", std::uint32_t>;
using U64 = TypeWord<".u64", std::uint64_t>;
using S8 = TypeWord<".s8", std::int8_t>;
using S16 = TypeWord<".s16", std::int16_t>;
using S32 = TypeWord<".s32", std::int32_t>;
using S64 = TypeWord<".s64", std::int64_t>;
using B16 = TypeWord<".b16", std::uint16_t>;
using B32 = TypeWord<".b32", std::uint32_t>;
using B64 = TypeWord<".b64", std::uint64_t>;
using Pred = TypeWord<".pred", bool>;
using F16 = TypeWord<".f16", Half>;
using F16x2 = TypeWord<".f16x2", HalfPair>;
using Bf16 = TypeWord<".bf16", Bfloat>;
using Bf16x2 = TypeWord<".bf16x2", BfloatPair>;
using F32 = TypeWord<".f32", float>;
using F64 = TypeWord<".f64", double>;

/// Calls `make_for.operator()<T>()` for the type of the last modifier, which must be one of Ts.
template <class... Ts, class MakeFor> Resolved by_type(Modifiers modifiers, MakeFor make_for) {
    const std::string_view word = modifiers.take();
    if (!modifiers.done()) return std::nullopt;
    Resolved found;
    (void)((word == Ts::word && (found = make_for.template operator()<typename Ts::type>(), true)) || ...);
    return found;
}

// Resolvers, by opcode; each in the file of its chapter.
using Resolver = Resolved (*)(Modifiers, Shape);
struct ResolverRow {
    std::string_view opcode;
    Resolver resolve;
};
std::span<const ResolverRow> integer_rows();     ///< PTX ISA 9.7.1, 9.7.2
std::span<const ResolverRow> logic_rows();       ///< 9.7.8 and prmt
std::span<const ResolverRow> comparison_rows();  ///< 9.7.6, 9.7.7
std::span<const ResolverRow> float_rows();       ///< 9.7.3: f32 and f64
std::span<const ResolverRow> half_rows();        ///< 9.7.4, 9.7.5
std::span<const ResolverRow> conversion_rows();  ///< mov, cvt, cvt.pack
std::span<const ResolverRow> narrow_rows();      ///< cvt to and from formats of 8 bits and fewer
std::span<const ResolverRow> video_rows();       ///< 9.7.18

}  // namespace ptxgraft::arithmetic
