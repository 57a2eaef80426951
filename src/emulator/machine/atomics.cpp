// atom and red: read-modify-writes of memory, lane by lane, each at once for the other host threads.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 2, std::uint16_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 8, std::uint64_t, T>>>;

__extension__ using u128 = unsigned __int128;

// PTX ISA 9.7.13.5 (atom): .add.f32 on global memory flushes subnormal inputs and results to zero of the same
// sign.
float flushed(float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

struct Add {
    template <class T> static T apply(T a, T b, T, bool) { return static_cast<T>(a + b); }
    static float apply(float a, float b, float, bool in_global) {
        const float sum = in_global ? flushed(flushed(a) + flushed(b)) : a + b;
        return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : sum;
    }
    static double apply(double a, double b, double, bool) { return a + b; }
};
struct Min {
    template <class T> static T apply(T a, T b, T, bool) { return std::min(a, b); }
};
struct Max {
    template <class T> static T apply(T a, T b, T, bool) { return std::max(a, b); }
};
struct And {
    template <class T> static T apply(T a, T b, T, bool) { return a & b; }
};
struct Or {
    template <class T> static T apply(T a, T b, T, bool) { return a | b; }
};
struct Xor {
    template <class T> static T apply(T a, T b, T, bool) { return a ^ b; }
};
struct Exchange {
    template <class T> static T apply(T, T b, T, bool) { return b; }
};
struct CompareAndSwap {
    template <class T> static T apply(T a, T b, T c, bool) { return a == b ? c : a; }
};
struct Increment {
    template <class T> static T apply(T a, T b, T, bool) { return a >= b ? 0 : a + 1; }
};
struct Decrement {
    template <class T> static T apply(T a, T b, T, bool) { return a == 0 || a > b ? b : a - 1; }
};

// Halves, alone or in pairs, by the arithmetic of the instruction of that name.
template <class T, const char* const* Opcode, const char* const* Modifiers> struct Pure {
    static T apply(T a, T b, T, bool) {
        static const auto instruction = [] {
            const std::array<std::string_view, 1> modifiers = {*Modifiers};
            return find_pure(*Opcode, modifiers, 3, false);
        }();
        const std::uint64_t from[] = {a, b};
        std::array<std::uint64_t, arithmetic::most_outputs> result = {};
        if (instruction) instruction->run(result.data(), from);
        return static_cast<T>(result[0]);
    }
};
constexpr const char* add = "add";
constexpr const char* min = "min";
constexpr const char* max = "max";
constexpr const char* f16 = ".f16";
constexpr const char* f16x2 = ".f16x2";
constexpr const char* bf16 = ".bf16";
constexpr const char* bf16x2 = ".bf16x2";

template <class T> T load_word(T* word) {
    if constexpr (sizeof(T) <= 8) return __atomic_load_n(word, __ATOMIC_ACQUIRE);
    T value;
    std::memcpy(&value, word, sizeof value);
    return value;
}

// Stores `after` where `before` still is; else `before` becomes what is there.
template <class T> bool exchange(T* word, T& before, T after) {
    return __atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}
bool exchange(u128* word, u128& before, u128 after) {
#if defined(__x86_64__)  // one instruction, which all processors of today have and the baseline has not
    auto low = static_cast<std::uint64_t>(before), high = static_cast<std::uint64_t>(before >> 64);
    bool done = false;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(*word), "+a"(low), "+d"(high)
                 : "b"(static_cast<std::uint64_t>(after)), "c"(static_cast<std::uint64_t>(after >> 64))
                 : "memory");
    before = u128{high} << 64 | low;
    return done;
#else
    const u128 found = __sync_val_compare_and_swap(word, before, after);
    const bool done = found == before;
    before = found;
    return done;
#endif
}

template <class T, class F> T update(std::byte* at, T b, T c, bool is_global) {
    auto* const word = reinterpret_cast<Bits<T>*>(at);
    Bits<T> before = load_word(word);
    if (!is_global) {  // one host thread runs the whole cluster
        const auto after = std::bit_cast<Bits<T>>(F::apply(std::bit_cast<T>(before), b, c, false));
        std::memcpy(word, &after, sizeof after);
        return std::bit_cast<T>(before);
    }
    while (!exchange(word, before, std::bit_cast<Bits<T>>(F::apply(std::bit_cast<T>(before), b, c, true)))) {}
    return std::bit_cast<T>(before);
}

bool is_global(const Access& access, std::uint64_t address) {
    if (access.space == Space::shared || access.space == Space::local ||
        access.space == Space::shared_cluster)
        return false;
    return access.space == Space::global || place(address).space == Space::global;
}

// The values of an atomic instruction: the elements of one input or two, and of the results.
template <class T> struct Elements {
    static constexpr std::size_t most = 8;

    // Operands: the destination's elements, if there is one; the address's register, if it has one; the
    // inputs.
    Elements(Warp& on, const Operation& operation, const Access& access) : warp(on), count(access.count) {
        sources = on.operands(operation) + operation.outputs + (access.has_base ? 1 : 0);
        has_second = count == 1 && operation.inputs == (access.has_base ? 3 : 2);
    }
    template <class F> void update_lane(std::byte* at, unsigned lane, bool in_global) {
        for (std::size_t i = 0; i < count; ++i) {
            const T b = std::bit_cast<T>(warp.column_of<Bits<T>>(sources[i])[lane]);
            const T c = has_second ? std::bit_cast<T>(warp.column_of<Bits<T>>(sources[1])[lane]) : b;
            results[i][lane] = std::bit_cast<Bits<T>>(update<T, F>(at + i * sizeof(T), b, c, in_global));
        }
    }

    Warp& warp;
    std::size_t count;
    const Ref* sources;
    bool has_second;
    std::array<std::array<Bits<T>, lane_count>, most> results;
};

template <class T, class F> Flow atomic(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = warp.program().access_of(operation);
    Elements<T> elements(warp, operation, access);
    const auto bytes = static_cast<std::uint32_t>(sizeof(T) * elements.count);
    const bool is_checked = warp.checks().looks_at_memory();
    if (is_checked) warp.work().charge(static_cast<std::uint64_t>(std::popcount(mask)) / 2);
    Located located;
    if (std::byte* const host = warp.memory().locate(access, operation, mask, Use::write, located)) {
        if (is_checked && !warp.checks().check_atomic(access, mask, located)) return Flow::fail;
        const bool in_global = is_global(access, warp.memory().address(access, operation, first_lane(mask)));
        each_bit(mask, [&](unsigned lane) {
            elements.template update_lane<F>(host + located.offsets[lane], lane, in_global);
        });
    } else {
        const bool done = each_bit(mask, [&](unsigned lane) {
            const std::uint64_t address = warp.memory().address(access, operation, lane);
            std::byte* const at = warp.memory().resolve(access.space, address, lane, bytes, Use::write);
            if (at == nullptr) return false;
            if (is_checked) {
                warp.memory().describe(access.space, address, lane, located);
                if (!warp.checks().check_atomic(access, 1u << lane, located)) return false;
            }
            elements.template update_lane<F>(at, lane, is_global(access, address));
            return true;
        });
        if (!done) return Flow::fail;
    }
    // After the last lane: the destination may be the address's register.
    const Ref* const refs = warp.operands(operation);
    for (unsigned i = 0; i < operation.outputs; ++i)
        warp.blend(refs[i], reinterpret_cast<const std::byte*>(elements.results[i].data()), mask);
    return warp.work().strong();
}

struct AtomicRow {
    std::string_view op, type;
    Execute execute;
};

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// PTX ISA 9.7.13.5 and .7.
constexpr AtomicRow rows[] = {
    {".add", ".u32", atomic<u32, Add>},
    {".add", ".s32", atomic<u32, Add>},
    {".add", ".u64", atomic<u64, Add>},
    {".add", ".s64", atomic<u64, Add>},
    {".add", ".f32", atomic<float, Add>},
    {".add", ".f64", atomic<double, Add>},
    {".add", ".f16", atomic<u16, Pure<u16, &add, &f16>>},
    {".add", ".f16x2", atomic<u32, Pure<u32, &add, &f16x2>>},
    {".add", ".bf16", atomic<u16, Pure<u16, &add, &bf16>>},
    {".add", ".bf16x2", atomic<u32, Pure<u32, &add, &bf16x2>>},
    {".min", ".f16", atomic<u16, Pure<u16, &min, &f16>>},
    {".min", ".f16x2", atomic<u32, Pure<u32, &min, &f16x2>>},
    {".min", ".bf16", atomic<u16, Pure<u16, &min, &bf16>>},
    {".min", ".bf16x2", atomic<u32, Pure<u32, &min, &bf16x2>>},
    {".max", ".f16", atomic<u16, Pure<u16, &max, &f16>>},
    {".max", ".f16x2", atomic<u32, Pure<u32, &max, &f16x2>>},
    {".max", ".bf16", atomic<u16, Pure<u16, &max, &bf16>>},
    {".max", ".bf16x2", atomic<u32, Pure<u32, &max, &bf16x2>>},
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
    {".exch", ".b128", atomic<u128, Exchange>},
    {".cas", ".b128", atomic<u128, CompareAndSwap>},
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

std::vector<Execute> atomic_operations() {
    std::vector<Execute> all;
    for (const AtomicRow& row : rows) all.push_back(row.execute);
    return all;
}

bool is_compare_and_swap(Execute execute) {
    return std::ranges::any_of(
        rows, [&](const AtomicRow& row) { return row.op == ".cas" && row.execute == execute; });
}

Execute atomic_operation(std::string_view op, std::string_view type) {
    for (const AtomicRow& row : rows) {
        if (row.op == op && row.type == as_bits(op, type)) return row.execute;
    }
    return nullptr;
}

}  // namespace ptxgraft::emulator
