#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "emulator/operations.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

// PTX ISA 9.7.13.5 (atom): .add.f32 on global memory flushes subnormal inputs and results to zero of the same
// sign.
float flushed(float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

struct Add {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return static_cast<T>(a + b);
    }
    static float apply(float a, float b, float, bool in_global) {
        const float sum = in_global ? flushed(flushed(a) + flushed(b)) : a + b;
        return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : sum;
    }
    static double apply(double a, double b, double, bool) { return a + b; }
};
struct Min {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return std::min(a, b);
    }
};
struct Max {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return std::max(a, b);
    }
};
struct And {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return a & b;
    }
};
struct Or {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return a | b;
    }
};
struct Xor {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return a ^ b;
    }
};
struct Exchange {
    template <class T>
    static T apply(T, T b, T, bool) {
        return b;
    }
};
struct CompareAndSwap {
    template <class T>
    static T apply(T a, T b, T c, bool) {
        return a == b ? c : a;
    }
};
struct Increment {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return a >= b ? 0 : a + 1;
    }
};
struct Decrement {
    template <class T>
    static T apply(T a, T b, T, bool) {
        return a == 0 || a > b ? b : a - 1;
    }
};

// Halves, alone or in pairs, by the arithmetic of the instruction add.
template <class T, const char* const* Modifiers>
struct PureAdd {
    static T apply(T a, T b, T, bool) {
        static const auto add = [] {
            const std::array<std::string_view, 2> modifiers = {".rn", *Modifiers};
            return find_pure("add", modifiers, 3, false);
        }();
        const std::uint64_t from[] = {a, b};
        std::array<std::uint64_t, arithmetic::most_outputs> sum = {};
        if (add) add->run(sum.data(), from);
        return static_cast<T>(sum[0]);
    }
};
constexpr const char* f16 = ".f16";
constexpr const char* f16x2 = ".f16x2";
constexpr const char* bf16 = ".bf16";
constexpr const char* bf16x2 = ".bf16x2";

template <class T, class F>
T update(std::byte* at, T b, T c, bool is_global) {
    auto* const word = reinterpret_cast<Bits<T>*>(at);
    Bits<T> before = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (!is_global) {  // one host thread runs the whole CTA
        *word = std::bit_cast<Bits<T>>(F::apply(std::bit_cast<T>(before), b, c, false));
        return std::bit_cast<T>(before);
    }
    while (!__atomic_compare_exchange_n(
        word, &before, std::bit_cast<Bits<T>>(F::apply(std::bit_cast<T>(before), b, c, true)), false,
        __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
    }
    return std::bit_cast<T>(before);
}

bool is_global(const Access& access, std::uint64_t address) {
    if (access.space == Space::shared || access.space == Space::local) return false;
    return access.space == Space::global || place(address).space == Space::global;
}

// Operands: the destination, if there is one; the address's register, if it has one; one or two inputs.
template <class T, class F>
Flow atomic(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = warp.program().accesses[operation.extra];
    const Ref* const refs = warp.operands(operation);
    const Ref* const sources = refs + operation.outputs + (access.has_base ? 1 : 0);
    const auto* const first = warp.column_of<Bits<T>>(sources[0]);
    const bool has_second = operation.inputs == (access.has_base ? 3 : 2);
    const auto* const second = has_second ? warp.column_of<Bits<T>>(sources[1]) : first;
    std::array<Bits<T>, lane_count> results;
    const bool done = each_lane(mask, [&](unsigned lane) {
        const std::uint64_t address = warp.address(access, operation, lane);
        std::byte* at = warp.resolve(access.space, address, lane, sizeof(T), Use::write);
        if (at == nullptr) return false;
        const T b = std::bit_cast<T>(first[lane]), c = std::bit_cast<T>(second[lane]);
        const T before = update<T, F>(at, b, c, is_global(access, address));
        results[lane] = std::bit_cast<Bits<T>>(before);
        return true;
    });
    if (!done) return Flow::fail;
    // After the last lane: the destination may be the address's register.
    if (operation.outputs != 0) {
        each_lane(mask, [&](unsigned lane) {
            warp.column_of<Bits<T>>(refs[0])[lane] = results[lane];
            return true;
        });
    }
    return warp.strong();
}

struct Row {
    std::string_view op, type;
    Execute execute;
};

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// PTX ISA 9.7.13.5 and .7.
constexpr Row rows[] = {
    {".add", ".u32", atomic<u32, Add>},
    {".add", ".s32", atomic<u32, Add>},
    {".add", ".u64", atomic<u64, Add>},
    {".add", ".s64", atomic<u64, Add>},
    {".add", ".f32", atomic<float, Add>},
    {".add", ".f64", atomic<double, Add>},
    {".add", ".f16", atomic<u16, PureAdd<u16, &f16>>},
    {".add", ".f16x2", atomic<u32, PureAdd<u32, &f16x2>>},
    {".add", ".bf16", atomic<u16, PureAdd<u16, &bf16>>},
    {".add", ".bf16x2", atomic<u32, PureAdd<u32, &bf16x2>>},
    {".min", ".u32", atomic<u32, Min>},
    {".min", ".s32", atomic<s32, Min>},
    {".min", ".u64", atomic<u64, Min>},
    {".min", ".s64", atomic<s64, Min>},
    {".max", ".u32", atomic<u32, Max>},
    {".max", ".s32", atomic<s32, Max>},
    {".max", ".u64", atomic<u64, Max>},
    {".max", ".s64", atomic<s64, Max>},
    {".and", ".b32", atomic<u32, And>},
    {".and", ".b64", atomic<u64, And>},
    {".or", ".b32", atomic<u32, Or>},
    {".or", ".b64", atomic<u64, Or>},
    {".xor", ".b32", atomic<u32, Xor>},
    {".xor", ".b64", atomic<u64, Xor>},
    {".exch", ".b32", atomic<u32, Exchange>},
    {".exch", ".b64", atomic<u64, Exchange>},
    {".cas", ".b16", atomic<u16, CompareAndSwap>},
    {".cas", ".b32", atomic<u32, CompareAndSwap>},
    {".cas", ".b64", atomic<u64, CompareAndSwap>},
    {".inc", ".u32", atomic<u32, Increment>},
    {".dec", ".u32", atomic<u32, Decrement>},
};

// Types that mean the same bits: ptxas takes .exch.u32 and .and.u32 as well.
std::string_view as_bits(std::string_view op, std::string_view type) {
    if (op == ".add" || op == ".min" || op == ".max" || op == ".inc" || op == ".dec") return type;
    if (type == ".u32" || type == ".s32" || type == ".f32") return ".b32";
    if (type == ".u64" || type == ".s64" || type == ".f64") return ".b64";
    return type;
}

}  // namespace

Execute atomic_operation(std::string_view op, std::string_view type) {
    for (const Row& row : rows) {
        if (row.op == op && row.type == as_bits(op, type)) return row.execute;
    }
    return nullptr;
}

}  // namespace ptxgraft::emulator
