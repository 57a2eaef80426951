#pragma once
/// @file site.cuh
/// Marks sites in CUDA code: places that a stub may fill after the code has been compiled to PTX. Works under nvcc,
/// NVRTC and clang, in C++17 or newer; includes nothing.
///
/// @code
/// PTXGRAFT_SITE("epilogue",                      // the name; copies of one site share it
///               "add.f32 _acc, _acc, _bias;",    // the default stub: PTX, or ""
///               mod(f32, acc), in(f32, bias, bias[col]), in(u32, row), in(u32, col));
/// @endcode
///
/// An operand is `KIND(TYPE, NAME)`, which takes the C++ variable NAME, or `KIND(TYPE, NAME, expression)`. Kinds: `in` is
/// read, `mod` read and written, `out` written; `mod` and `out` take variables, elements, members: what can be assigned.
/// A fragment is `KINDs(TYPE, COUNT, NAME)` or `KINDs(TYPE, COUNT, NAME, expression)`: COUNT registers, of which
/// register i holds `expression[i]`; COUNT is a number written in digits.
/// A stub calls operand `acc` `_acc`, and element 2 of fragment `frag` `_frag2`. As in every inline asm, a `%` in a
/// default stub is written `%%`: `mov.u32 _row, %%tid.x;`.
///
/// Types: pred (a bool), u16 s16 u32 s32 u64 s64 f32 f64, and the types of bits, which take any C++ type of their size:
/// b16 f16 bf16 (2 bytes), b32 f16x2 bf16x2 (4), b64 (8). `in` converts an integer to the operand's type and takes no
/// wider integer (16-bit ones take any); `mod` and `out` want exactly that type. A type of your own has a name, a type
/// above and a C++ type of its size (over pred: of one byte):
/// @code
/// #define PTXGRAFT_TYPE_q8 PTXGRAFT_USER_TYPE(q8, u32, q8_t)
/// PTXGRAFT_SITE("scale", "", in(q8, x), out(f32, y));
/// @endcode
///
/// A site is volatile: the compiler keeps each execution of it, in order. PTXGRAFT_PURE_SITE lets it move, merge and
/// drop the site as it may with any arithmetic. A stub may compute its outputs and no more, unless the marking allows
/// it: PTXGRAFT_SITE_ALLOWING("name", "load warp", "default stub", operands…) (the words are those of `Effect` in site.hpp);
/// memory is then in order with the code around the site.
///
/// Limits: 64 operands, 256 registers a site. A wrong marking is a compile error that starts with "ptxgraft:".

#define PTXGRAFT_SITE(...) PTXGRAFT_COUNT(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, few, )(volatile, "", , __VA_ARGS__)
#define PTXGRAFT_PURE_SITE(...) PTXGRAFT_COUNT(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, few, )(, " pure", , __VA_ARGS__)
#define PTXGRAFT_SITE_ALLOWING(NAME, WORDS, ...)                                                                   \
    do {                                                                                                           \
        static_assert(ptxgraft::are_effects(WORDS), "ptxgraft: the words of a policy are load, store, atomic, warp, " \
                                                    "barrier, branch, call, tensor, exit, state and all, with one blank between"); \
        PTXGRAFT_COUNT(NAME, __VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, few, )                                         \
        (volatile, " allow " WORDS, : "memory", NAME, __VA_ARGS__);                                                \
    } while (0)

// NVRTC 13 loses its place when a macro's expansion outgrows the buffer that it expands into while an invocation is being
// read: "too few arguments in invocation of macro", or a crash, at unlucky lengths of names and stubs. One large
// expansion here makes the buffer large before any site needs it.
#if defined(__CUDACC_RTC__)
#define PTXGRAFT_GROW_1 ".............................................................................................................................................................................................................................................................."
#define PTXGRAFT_GROW_2 PTXGRAFT_GROW_1 PTXGRAFT_GROW_1 PTXGRAFT_GROW_1 PTXGRAFT_GROW_1 PTXGRAFT_GROW_1 PTXGRAFT_GROW_1
#define PTXGRAFT_GROW_3 PTXGRAFT_GROW_2 PTXGRAFT_GROW_2 PTXGRAFT_GROW_2 PTXGRAFT_GROW_2 PTXGRAFT_GROW_2 PTXGRAFT_GROW_2
#define PTXGRAFT_GROW_4 PTXGRAFT_GROW_3 PTXGRAFT_GROW_3 PTXGRAFT_GROW_3 PTXGRAFT_GROW_3 PTXGRAFT_GROW_3 PTXGRAFT_GROW_3
static_assert(sizeof(PTXGRAFT_GROW_4) > 1, "");
#endif

/// A type of your own, see above.
#define PTXGRAFT_USER_TYPE(NAME, BASE, CPP) #NAME ":" #BASE, BASE, PTXGRAFT_USER(PTXGRAFT_USER_##BASE, USER, ~), CPP
#define PTXGRAFT_USER(...) PTXGRAFT_USER_(__VA_ARGS__)
#define PTXGRAFT_USER_(A, B, ...) B
#define PTXGRAFT_USER_pred ~, PREDICATE

#if defined(__clang__)
#define PTXGRAFT_DEVICE __attribute__((device)) inline
#define PTXGRAFT_CONSTANT __attribute__((device)) constexpr
#else
#define PTXGRAFT_DEVICE __device__ inline
#define PTXGRAFT_CONSTANT __device__ constexpr
#endif

namespace ptxgraft {

// The C++ types of the registers that operands travel in. Those of bits may alias any type.
typedef unsigned short u16;
typedef short s16;
typedef unsigned u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef float f32;
typedef double f64;
typedef unsigned short __attribute__((may_alias)) b16;
typedef unsigned __attribute__((may_alias)) b32;
typedef unsigned long long __attribute__((may_alias)) b64;

template <class Bits, class T>
PTXGRAFT_DEVICE Bits& bits_of(T& x) {
    static_assert(sizeof(T) == sizeof(Bits), "ptxgraft: the C++ type of an operand must have the size of its PTX type");
    return reinterpret_cast<Bits&>(x);
}
PTXGRAFT_DEVICE u64& u64_of(unsigned long long& x) { return x; }
PTXGRAFT_DEVICE u64& u64_of(unsigned long& x) { return bits_of<u64>(x); }
PTXGRAFT_DEVICE s64& s64_of(long long& x) { return x; }
PTXGRAFT_DEVICE s64& s64_of(long& x) { return bits_of<s64>(x); }
template <class To, class From>
PTXGRAFT_DEVICE To value_of(From x) {
    static_assert(sizeof(From) <= sizeof(To), "ptxgraft: the C++ type of an in operand is wider than its PTX type");
    return static_cast<To>(x);
}

// Which bytes may stand in names: 3 in both kinds, 2 in the name of a site alone.
PTXGRAFT_CONSTANT unsigned char name_bytes[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 0, 0, 0, 0,
    0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 3,
    0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0};

// "site\noperand\noperand": the name of a site, then those of its operands. This runs whenever a site is compiled and is
// interpreted by the compiler, so it takes as few steps a byte as can be.
constexpr PTXGRAFT_DEVICE bool are_names(const char* text) {
    const char* begin = text;
    while (name_bytes[(unsigned char)*text] & 2) ++text;
    if (text == begin) return false;
    while (*text == '\n') {
        begin = ++text;
        if (*text <= '9') return false;
        while (name_bytes[(unsigned char)*text] & 1) ++text;
        if (text == begin) return false;
    }
    return !*text;
}

// Whether the text begins with the word, alone or before a blank.
constexpr PTXGRAFT_DEVICE bool begins_with(const char* text, const char* word) {
    for (; *word; ++word, ++text)
        if (*text != *word) return false;
    return *text == ' ' || *text == 0;
}
constexpr PTXGRAFT_DEVICE bool are_effects(const char* text) {
    constexpr const char* words[] = {"load", "store", "atomic", "warp", "barrier", "branch", "call", "tensor", "exit", "state", "all"};
    for (;;) {
        bool known = false;
        for (const char* word : words) known = known || begins_with(text, word);
        if (!known) return false;
        while (*text && *text != ' ') ++text;
        if (!*text) return true;
        ++text;
    }
}

}  // namespace ptxgraft

#define PTXGRAFT_CHECK(NAMES) \
    static_assert(ptxgraft::are_names(NAMES), "ptxgraft: the name of a site is letters, digits, _.:/- (no blank), of an operand an identifier");
#define PTXGRAFT_BEGIN(NAME) "{ // PTXGRAFT_SITE " NAME "\n\t"
#define PTXGRAFT_MIDDLE(STUB) "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"

// The name of the macro for as many operands as there are arguments; the kind of operand nine where there are more.
#define PTXGRAFT_COUNT(NAME, STUB, a, b, c, d, e, f, g, h, X, ...) PTXGRAFT_SITE_##X
#define PTXGRAFT_SITE_few(...) static_assert(false, "ptxgraft: a site has a name and a default stub, which may be \"\"")
#define PTXGRAFT_PICK(...) PTXGRAFT_CHOOSE__(__VA_ARGS__)
#define PTXGRAFT_CHOOSE(...) PTXGRAFT_CHOOSE_(__VA_ARGS__, ~)
#define PTXGRAFT_CHOOSE_(...) PTXGRAFT_CHOOSE__(__VA_ARGS__)
#define PTXGRAFT_CHOOSE__(A, B, ...) B
#define PTXGRAFT_IF_EMPTY(X) ~, X,
#define PTXGRAFT_NOTHING(...)

// An operand without an expression is the variable of its name. Macros that count commas, because __VA_OPT__ is C++20.
#define PTXGRAFT_ARITY(a, b, c, d, e, f, X, ...) PTXGRAFT_APPLY_##X
#define PTXGRAFT_APPLY_N(M, N) M((N))
#define PTXGRAFT_APPLY_E(M, N, ...) M((__VA_ARGS__))

// What the short way needs of each operand: its letter (o for what is written, i for what is read alone), its text, and
// its place in the list of operands of the asm.
#define PTXGRAFT_LETTER_in(T, ...) PTXGRAFT_I_##T
#define PTXGRAFT_LETTER_mod(T, ...) PTXGRAFT_O_##T
#define PTXGRAFT_LETTER_out(T, ...) PTXGRAFT_O_##T
#define PTXGRAFT_LETTER_ins(...) long
#define PTXGRAFT_LETTER_mods(...) long
#define PTXGRAFT_LETTER_outs(...) long
#define PTXGRAFT_NAME_in(T, N, ...) "\n" #N
#define PTXGRAFT_NAME_mod(T, N, ...) "\n" #N
#define PTXGRAFT_NAME_out(T, N, ...) "\n" #N
#define PTXGRAFT_TEXT_in(T, N, ...) PTXGRAFT_IN_##T(N,
#define PTXGRAFT_TEXT_mod(T, N, ...) PTXGRAFT_MOD_##T(N,
#define PTXGRAFT_TEXT_out(T, N, ...) PTXGRAFT_OUT_##T(N,
#define PTXGRAFT_SAVE_mod(T, N, ...) PTXGRAFT_STORE_##T(N,
#define PTXGRAFT_SAVE_out(T, N, ...) PTXGRAFT_STORE_##T(N,
#define PTXGRAFT_PLACE_in(T, ...) PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_INPUT_##T, __VA_ARGS__)
#define PTXGRAFT_PLACE_mod(T, ...) PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_INOUT_##T, __VA_ARGS__)
#define PTXGRAFT_PLACE_out(T, ...) PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OUTPUT_##T, __VA_ARGS__)

// Types: the register declaration, the moves in and out, the C++ type of the register, its constraints, and how a C++
// value (VALUE) and a C++ variable (LVALUE) become one. Types of bits take any C++ type of their size.
#define PTXGRAFT_TYPE_pred "pred", pred, BUILTIN, ~
#define PTXGRAFT_REG_pred ".reg .pred _"
#define PTXGRAFT_MOVE_pred(N, n) "setp.ne.b32 _" #N ", %" #n ", 0;\n\t"
#define PTXGRAFT_STORE_pred(N, n) "selp.b32 %" #n ", 1, 0, _" #N ";\n\t"
#define PTXGRAFT_CPP_pred unsigned
#define PTXGRAFT_CONSTRAINT_pred "r"
#define PTXGRAFT_VALUE_pred(x) ((x) ? 1u : 0u)
#define PTXGRAFT_LVALUE_pred(x) static_cast<bool&>(x)
#define PTXGRAFT_TYPE_b16 "b16", b16, BUILTIN, ~
#define PTXGRAFT_REG_b16 ".reg .b16 _"
#define PTXGRAFT_I_b16 i
#define PTXGRAFT_O_b16 o
#define PTXGRAFT_IN_b16(N, n) ".reg .b16 _" #N "; // in b16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_b16(N, n) ".reg .b16 _" #N "; // mod b16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_b16(N, n) ".reg .b16 _" #N "; // out b16 " #N "\n\t"
#define PTXGRAFT_MOVE_b16(N, n) "mov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_b16(N, n) "mov.b16 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_b16(x) "h"(__builtin_bit_cast(ptxgraft::b16, x))
#define PTXGRAFT_INOUT_b16(x) "+h"(ptxgraft::bits_of<ptxgraft::b16>(x))
#define PTXGRAFT_OUTPUT_b16(x) "=h"(ptxgraft::bits_of<ptxgraft::b16>(x))
#define PTXGRAFT_CPP_b16 ptxgraft::b16
#define PTXGRAFT_CONSTRAINT_b16 "h"
#define PTXGRAFT_VALUE_b16(x) __builtin_bit_cast(ptxgraft::b16, x)
#define PTXGRAFT_LVALUE_b16(x) ptxgraft::bits_of<ptxgraft::b16>(x)
#define PTXGRAFT_TYPE_b32 "b32", b32, BUILTIN, ~
#define PTXGRAFT_REG_b32 ".reg .b32 _"
#define PTXGRAFT_I_b32 i
#define PTXGRAFT_O_b32 o
#define PTXGRAFT_IN_b32(N, n) ".reg .b32 _" #N "; // in b32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_b32(N, n) ".reg .b32 _" #N "; // mod b32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_b32(N, n) ".reg .b32 _" #N "; // out b32 " #N "\n\t"
#define PTXGRAFT_MOVE_b32(N, n) "mov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_b32(N, n) "mov.b32 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_b32(x) "r"(__builtin_bit_cast(ptxgraft::b32, x))
#define PTXGRAFT_INOUT_b32(x) "+r"(ptxgraft::bits_of<ptxgraft::b32>(x))
#define PTXGRAFT_OUTPUT_b32(x) "=r"(ptxgraft::bits_of<ptxgraft::b32>(x))
#define PTXGRAFT_CPP_b32 ptxgraft::b32
#define PTXGRAFT_CONSTRAINT_b32 "r"
#define PTXGRAFT_VALUE_b32(x) __builtin_bit_cast(ptxgraft::b32, x)
#define PTXGRAFT_LVALUE_b32(x) ptxgraft::bits_of<ptxgraft::b32>(x)
#define PTXGRAFT_TYPE_b64 "b64", b64, BUILTIN, ~
#define PTXGRAFT_REG_b64 ".reg .b64 _"
#define PTXGRAFT_I_b64 i
#define PTXGRAFT_O_b64 o
#define PTXGRAFT_IN_b64(N, n) ".reg .b64 _" #N "; // in b64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_b64(N, n) ".reg .b64 _" #N "; // mod b64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_b64(N, n) ".reg .b64 _" #N "; // out b64 " #N "\n\t"
#define PTXGRAFT_MOVE_b64(N, n) "mov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_b64(N, n) "mov.b64 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_b64(x) "l"(__builtin_bit_cast(ptxgraft::b64, x))
#define PTXGRAFT_INOUT_b64(x) "+l"(ptxgraft::bits_of<ptxgraft::b64>(x))
#define PTXGRAFT_OUTPUT_b64(x) "=l"(ptxgraft::bits_of<ptxgraft::b64>(x))
#define PTXGRAFT_CPP_b64 ptxgraft::b64
#define PTXGRAFT_CONSTRAINT_b64 "l"
#define PTXGRAFT_VALUE_b64(x) __builtin_bit_cast(ptxgraft::b64, x)
#define PTXGRAFT_LVALUE_b64(x) ptxgraft::bits_of<ptxgraft::b64>(x)
#define PTXGRAFT_TYPE_u16 "u16", u16, BUILTIN, ~
#define PTXGRAFT_REG_u16 ".reg .u16 _"
#define PTXGRAFT_I_u16 i
#define PTXGRAFT_O_u16 o
#define PTXGRAFT_IN_u16(N, n) ".reg .u16 _" #N "; // in u16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_u16(N, n) ".reg .u16 _" #N "; // mod u16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_u16(N, n) ".reg .u16 _" #N "; // out u16 " #N "\n\t"
#define PTXGRAFT_MOVE_u16(N, n) "mov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_u16(N, n) "mov.b16 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_u16(x) "h"(static_cast<unsigned short>((x) | 0))
#define PTXGRAFT_INOUT_u16(x) "+h"(static_cast<ptxgraft::u16&>(x))
#define PTXGRAFT_OUTPUT_u16(x) "=h"(static_cast<ptxgraft::u16&>(x))
#define PTXGRAFT_CPP_u16 ptxgraft::u16
#define PTXGRAFT_CONSTRAINT_u16 "h"
#define PTXGRAFT_VALUE_u16(x) static_cast<unsigned short>((x) | 0)
#define PTXGRAFT_LVALUE_u16(x) static_cast<ptxgraft::u16&>(x)
#define PTXGRAFT_TYPE_s16 "s16", s16, BUILTIN, ~
#define PTXGRAFT_REG_s16 ".reg .s16 _"
#define PTXGRAFT_I_s16 i
#define PTXGRAFT_O_s16 o
#define PTXGRAFT_IN_s16(N, n) ".reg .s16 _" #N "; // in s16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_s16(N, n) ".reg .s16 _" #N "; // mod s16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_s16(N, n) ".reg .s16 _" #N "; // out s16 " #N "\n\t"
#define PTXGRAFT_MOVE_s16(N, n) "mov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_s16(N, n) "mov.b16 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_s16(x) "h"(static_cast<short>((x) | 0))
#define PTXGRAFT_INOUT_s16(x) "+h"(static_cast<ptxgraft::s16&>(x))
#define PTXGRAFT_OUTPUT_s16(x) "=h"(static_cast<ptxgraft::s16&>(x))
#define PTXGRAFT_CPP_s16 ptxgraft::s16
#define PTXGRAFT_CONSTRAINT_s16 "h"
#define PTXGRAFT_VALUE_s16(x) static_cast<short>((x) | 0)
#define PTXGRAFT_LVALUE_s16(x) static_cast<ptxgraft::s16&>(x)
#define PTXGRAFT_TYPE_u32 "u32", u32, BUILTIN, ~
#define PTXGRAFT_REG_u32 ".reg .u32 _"
#define PTXGRAFT_I_u32 i
#define PTXGRAFT_O_u32 o
#define PTXGRAFT_IN_u32(N, n) ".reg .u32 _" #N "; // in u32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_u32(N, n) ".reg .u32 _" #N "; // mod u32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_u32(N, n) ".reg .u32 _" #N "; // out u32 " #N "\n\t"
#define PTXGRAFT_MOVE_u32(N, n) "mov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_u32(N, n) "mov.b32 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_u32(x) "r"(x | 0u)
#define PTXGRAFT_INOUT_u32(x) "+r"(static_cast<ptxgraft::u32&>(x))
#define PTXGRAFT_OUTPUT_u32(x) "=r"(static_cast<ptxgraft::u32&>(x))
#define PTXGRAFT_CPP_u32 ptxgraft::u32
#define PTXGRAFT_CONSTRAINT_u32 "r"
#define PTXGRAFT_VALUE_u32(x) ptxgraft::value_of<ptxgraft::u32>((x) | 0u)
#define PTXGRAFT_LVALUE_u32(x) static_cast<ptxgraft::u32&>(x)
#define PTXGRAFT_TYPE_s32 "s32", s32, BUILTIN, ~
#define PTXGRAFT_REG_s32 ".reg .s32 _"
#define PTXGRAFT_I_s32 i
#define PTXGRAFT_O_s32 o
#define PTXGRAFT_IN_s32(N, n) ".reg .s32 _" #N "; // in s32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_s32(N, n) ".reg .s32 _" #N "; // mod s32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_s32(N, n) ".reg .s32 _" #N "; // out s32 " #N "\n\t"
#define PTXGRAFT_MOVE_s32(N, n) "mov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_s32(N, n) "mov.b32 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_s32(x) "r"(x | 0)
#define PTXGRAFT_INOUT_s32(x) "+r"(static_cast<ptxgraft::s32&>(x))
#define PTXGRAFT_OUTPUT_s32(x) "=r"(static_cast<ptxgraft::s32&>(x))
#define PTXGRAFT_CPP_s32 ptxgraft::s32
#define PTXGRAFT_CONSTRAINT_s32 "r"
#define PTXGRAFT_VALUE_s32(x) ptxgraft::value_of<ptxgraft::s32>((x) | 0)
#define PTXGRAFT_LVALUE_s32(x) static_cast<ptxgraft::s32&>(x)
#define PTXGRAFT_TYPE_u64 "u64", u64, BUILTIN, ~
#define PTXGRAFT_REG_u64 ".reg .u64 _"
#define PTXGRAFT_I_u64 i
#define PTXGRAFT_O_u64 o
#define PTXGRAFT_IN_u64(N, n) ".reg .u64 _" #N "; // in u64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_u64(N, n) ".reg .u64 _" #N "; // mod u64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_u64(N, n) ".reg .u64 _" #N "; // out u64 " #N "\n\t"
#define PTXGRAFT_MOVE_u64(N, n) "mov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_u64(N, n) "mov.b64 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_u64(x) "l"(x | 0ull)
#define PTXGRAFT_INOUT_u64(x) "+l"(ptxgraft::u64_of(x))
#define PTXGRAFT_OUTPUT_u64(x) "=l"(ptxgraft::u64_of(x))
#define PTXGRAFT_CPP_u64 ptxgraft::u64
#define PTXGRAFT_CONSTRAINT_u64 "l"
#define PTXGRAFT_VALUE_u64(x) (x) | 0ull
#define PTXGRAFT_LVALUE_u64(x) ptxgraft::u64_of(x)
#define PTXGRAFT_TYPE_s64 "s64", s64, BUILTIN, ~
#define PTXGRAFT_REG_s64 ".reg .s64 _"
#define PTXGRAFT_I_s64 i
#define PTXGRAFT_O_s64 o
#define PTXGRAFT_IN_s64(N, n) ".reg .s64 _" #N "; // in s64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_s64(N, n) ".reg .s64 _" #N "; // mod s64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_s64(N, n) ".reg .s64 _" #N "; // out s64 " #N "\n\t"
#define PTXGRAFT_MOVE_s64(N, n) "mov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_s64(N, n) "mov.b64 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_s64(x) "l"(x | 0ll)
#define PTXGRAFT_INOUT_s64(x) "+l"(ptxgraft::s64_of(x))
#define PTXGRAFT_OUTPUT_s64(x) "=l"(ptxgraft::s64_of(x))
#define PTXGRAFT_CPP_s64 ptxgraft::s64
#define PTXGRAFT_CONSTRAINT_s64 "l"
#define PTXGRAFT_VALUE_s64(x) static_cast<long long>((x) | 0ll)
#define PTXGRAFT_LVALUE_s64(x) ptxgraft::s64_of(x)
#define PTXGRAFT_TYPE_f16 "f16", f16, BUILTIN, ~
#define PTXGRAFT_REG_f16 ".reg .b16 _"
#define PTXGRAFT_I_f16 i
#define PTXGRAFT_O_f16 o
#define PTXGRAFT_IN_f16(N, n) ".reg .b16 _" #N "; // in f16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_f16(N, n) ".reg .b16 _" #N "; // mod f16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_f16(N, n) ".reg .b16 _" #N "; // out f16 " #N "\n\t"
#define PTXGRAFT_MOVE_f16(N, n) "mov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_f16(N, n) "mov.b16 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_f16(x) "h"(__builtin_bit_cast(ptxgraft::b16, x))
#define PTXGRAFT_INOUT_f16(x) "+h"(ptxgraft::bits_of<ptxgraft::b16>(x))
#define PTXGRAFT_OUTPUT_f16(x) "=h"(ptxgraft::bits_of<ptxgraft::b16>(x))
#define PTXGRAFT_CPP_f16 ptxgraft::b16
#define PTXGRAFT_CONSTRAINT_f16 "h"
#define PTXGRAFT_VALUE_f16(x) __builtin_bit_cast(ptxgraft::b16, x)
#define PTXGRAFT_LVALUE_f16(x) ptxgraft::bits_of<ptxgraft::b16>(x)
#define PTXGRAFT_TYPE_f16x2 "f16x2", f16x2, BUILTIN, ~
#define PTXGRAFT_REG_f16x2 ".reg .b32 _"
#define PTXGRAFT_I_f16x2 i
#define PTXGRAFT_O_f16x2 o
#define PTXGRAFT_IN_f16x2(N, n) ".reg .b32 _" #N "; // in f16x2 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_f16x2(N, n) ".reg .b32 _" #N "; // mod f16x2 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_f16x2(N, n) ".reg .b32 _" #N "; // out f16x2 " #N "\n\t"
#define PTXGRAFT_MOVE_f16x2(N, n) "mov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_f16x2(N, n) "mov.b32 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_f16x2(x) "r"(__builtin_bit_cast(ptxgraft::b32, x))
#define PTXGRAFT_INOUT_f16x2(x) "+r"(ptxgraft::bits_of<ptxgraft::b32>(x))
#define PTXGRAFT_OUTPUT_f16x2(x) "=r"(ptxgraft::bits_of<ptxgraft::b32>(x))
#define PTXGRAFT_CPP_f16x2 ptxgraft::b32
#define PTXGRAFT_CONSTRAINT_f16x2 "r"
#define PTXGRAFT_VALUE_f16x2(x) __builtin_bit_cast(ptxgraft::b32, x)
#define PTXGRAFT_LVALUE_f16x2(x) ptxgraft::bits_of<ptxgraft::b32>(x)
#define PTXGRAFT_TYPE_bf16 "bf16", bf16, BUILTIN, ~
#define PTXGRAFT_REG_bf16 ".reg .b16 _"
#define PTXGRAFT_I_bf16 i
#define PTXGRAFT_O_bf16 o
#define PTXGRAFT_IN_bf16(N, n) ".reg .b16 _" #N "; // in bf16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_bf16(N, n) ".reg .b16 _" #N "; // mod bf16 " #N "\n\tmov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_bf16(N, n) ".reg .b16 _" #N "; // out bf16 " #N "\n\t"
#define PTXGRAFT_MOVE_bf16(N, n) "mov.b16 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_bf16(N, n) "mov.b16 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_bf16(x) "h"(__builtin_bit_cast(ptxgraft::b16, x))
#define PTXGRAFT_INOUT_bf16(x) "+h"(ptxgraft::bits_of<ptxgraft::b16>(x))
#define PTXGRAFT_OUTPUT_bf16(x) "=h"(ptxgraft::bits_of<ptxgraft::b16>(x))
#define PTXGRAFT_CPP_bf16 ptxgraft::b16
#define PTXGRAFT_CONSTRAINT_bf16 "h"
#define PTXGRAFT_VALUE_bf16(x) __builtin_bit_cast(ptxgraft::b16, x)
#define PTXGRAFT_LVALUE_bf16(x) ptxgraft::bits_of<ptxgraft::b16>(x)
#define PTXGRAFT_TYPE_bf16x2 "bf16x2", bf16x2, BUILTIN, ~
#define PTXGRAFT_REG_bf16x2 ".reg .b32 _"
#define PTXGRAFT_I_bf16x2 i
#define PTXGRAFT_O_bf16x2 o
#define PTXGRAFT_IN_bf16x2(N, n) ".reg .b32 _" #N "; // in bf16x2 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_bf16x2(N, n) ".reg .b32 _" #N "; // mod bf16x2 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_bf16x2(N, n) ".reg .b32 _" #N "; // out bf16x2 " #N "\n\t"
#define PTXGRAFT_MOVE_bf16x2(N, n) "mov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_bf16x2(N, n) "mov.b32 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_bf16x2(x) "r"(__builtin_bit_cast(ptxgraft::b32, x))
#define PTXGRAFT_INOUT_bf16x2(x) "+r"(ptxgraft::bits_of<ptxgraft::b32>(x))
#define PTXGRAFT_OUTPUT_bf16x2(x) "=r"(ptxgraft::bits_of<ptxgraft::b32>(x))
#define PTXGRAFT_CPP_bf16x2 ptxgraft::b32
#define PTXGRAFT_CONSTRAINT_bf16x2 "r"
#define PTXGRAFT_VALUE_bf16x2(x) __builtin_bit_cast(ptxgraft::b32, x)
#define PTXGRAFT_LVALUE_bf16x2(x) ptxgraft::bits_of<ptxgraft::b32>(x)
#define PTXGRAFT_TYPE_f32 "f32", f32, BUILTIN, ~
#define PTXGRAFT_REG_f32 ".reg .f32 _"
#define PTXGRAFT_I_f32 i
#define PTXGRAFT_O_f32 o
#define PTXGRAFT_IN_f32(N, n) ".reg .f32 _" #N "; // in f32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_f32(N, n) ".reg .f32 _" #N "; // mod f32 " #N "\n\tmov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_f32(N, n) ".reg .f32 _" #N "; // out f32 " #N "\n\t"
#define PTXGRAFT_MOVE_f32(N, n) "mov.b32 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_f32(N, n) "mov.b32 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_f32(x) "f"(x)
#define PTXGRAFT_INOUT_f32(x) "+f"(x)
#define PTXGRAFT_OUTPUT_f32(x) "=f"(x)
#define PTXGRAFT_CPP_f32 ptxgraft::f32
#define PTXGRAFT_CONSTRAINT_f32 "f"
#define PTXGRAFT_VALUE_f32(x) ptxgraft::value_of<ptxgraft::f32>(x)
#define PTXGRAFT_LVALUE_f32(x) static_cast<ptxgraft::f32&>(x)
#define PTXGRAFT_TYPE_f64 "f64", f64, BUILTIN, ~
#define PTXGRAFT_REG_f64 ".reg .f64 _"
#define PTXGRAFT_I_f64 i
#define PTXGRAFT_O_f64 o
#define PTXGRAFT_IN_f64(N, n) ".reg .f64 _" #N "; // in f64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_MOD_f64(N, n) ".reg .f64 _" #N "; // mod f64 " #N "\n\tmov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_OUT_f64(N, n) ".reg .f64 _" #N "; // out f64 " #N "\n\t"
#define PTXGRAFT_MOVE_f64(N, n) "mov.b64 _" #N ", %" #n ";\n\t"
#define PTXGRAFT_STORE_f64(N, n) "mov.b64 %" #n ", _" #N ";\n\t"
#define PTXGRAFT_INPUT_f64(x) "d"(ptxgraft::f64(x))
#define PTXGRAFT_INOUT_f64(x) "+d"(x)
#define PTXGRAFT_OUTPUT_f64(x) "=d"(x)
#define PTXGRAFT_CPP_f64 ptxgraft::f64
#define PTXGRAFT_CONSTRAINT_f64 "d"
#define PTXGRAFT_VALUE_f64(x) (x)
#define PTXGRAFT_LVALUE_f64(x) static_cast<ptxgraft::f64&>(x)

// The short way, for scalars of the types above: any four of them, and up to eight of which those that are written come
// first. The letters of the operands make the name of the macro that writes the asm, where the compiler numbers what is
// written before what is only read. Any other shape goes the long way. One macro a shape, because each step of a macro
// costs more than all that the compiler then does with its text.
#define PTXGRAFT_SITE_0(V, W, C, NAME, STUB) \
    do { PTXGRAFT_CHECK(NAME) asm V(PTXGRAFT_BEGIN(NAME W) PTXGRAFT_MIDDLE(STUB) "}" : : C); } while (0)
#define PTXGRAFT_SITE_1(V, W, C, NAME, STUB, a) \
    PTXGRAFT_SHAPE_1(PTXGRAFT_LETTER_##a)(V, W, C, NAME, STUB, a)
#define PTXGRAFT_SHAPE_1(a) PTXGRAFT_SHAPE_1_(a)
#define PTXGRAFT_SHAPE_1_(a) PTXGRAFT_PICK(PTXGRAFT_AS_##a, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_2(V, W, C, NAME, STUB, a, b) \
    PTXGRAFT_SHAPE_2(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b)(V, W, C, NAME, STUB, a, b)
#define PTXGRAFT_SHAPE_2(a, b) PTXGRAFT_SHAPE_2_(a, b)
#define PTXGRAFT_SHAPE_2_(a, b) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_3(V, W, C, NAME, STUB, a, b, c) \
    PTXGRAFT_SHAPE_3(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b, PTXGRAFT_LETTER_##c)(V, W, C, NAME, STUB, a, b, c)
#define PTXGRAFT_SHAPE_3(a, b, c) PTXGRAFT_SHAPE_3_(a, b, c)
#define PTXGRAFT_SHAPE_3_(a, b, c) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b##c, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_4(V, W, C, NAME, STUB, a, b, c, d) \
    PTXGRAFT_SHAPE_4(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b, PTXGRAFT_LETTER_##c, PTXGRAFT_LETTER_##d)(V, W, C, NAME, STUB, a, b, c, d)
#define PTXGRAFT_SHAPE_4(a, b, c, d) PTXGRAFT_SHAPE_4_(a, b, c, d)
#define PTXGRAFT_SHAPE_4_(a, b, c, d) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b##c##d, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_5(V, W, C, NAME, STUB, a, b, c, d, e) \
    PTXGRAFT_SHAPE_5(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b, PTXGRAFT_LETTER_##c, PTXGRAFT_LETTER_##d, PTXGRAFT_LETTER_##e)(V, W, C, NAME, STUB, a, b, c, d, e)
#define PTXGRAFT_SHAPE_5(a, b, c, d, e) PTXGRAFT_SHAPE_5_(a, b, c, d, e)
#define PTXGRAFT_SHAPE_5_(a, b, c, d, e) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b##c##d##e, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_6(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    PTXGRAFT_SHAPE_6(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b, PTXGRAFT_LETTER_##c, PTXGRAFT_LETTER_##d, PTXGRAFT_LETTER_##e, PTXGRAFT_LETTER_##f)(V, W, C, NAME, STUB, a, b, c, d, e, f)
#define PTXGRAFT_SHAPE_6(a, b, c, d, e, f) PTXGRAFT_SHAPE_6_(a, b, c, d, e, f)
#define PTXGRAFT_SHAPE_6_(a, b, c, d, e, f) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b##c##d##e##f, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_7(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    PTXGRAFT_SHAPE_7(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b, PTXGRAFT_LETTER_##c, PTXGRAFT_LETTER_##d, PTXGRAFT_LETTER_##e, PTXGRAFT_LETTER_##f, PTXGRAFT_LETTER_##g)(V, W, C, NAME, STUB, a, b, c, d, e, f, g)
#define PTXGRAFT_SHAPE_7(a, b, c, d, e, f, g) PTXGRAFT_SHAPE_7_(a, b, c, d, e, f, g)
#define PTXGRAFT_SHAPE_7_(a, b, c, d, e, f, g) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b##c##d##e##f##g, PTXGRAFT_LONG, ~)
#define PTXGRAFT_SITE_8(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    PTXGRAFT_SHAPE_8(PTXGRAFT_LETTER_##a, PTXGRAFT_LETTER_##b, PTXGRAFT_LETTER_##c, PTXGRAFT_LETTER_##d, PTXGRAFT_LETTER_##e, PTXGRAFT_LETTER_##f, PTXGRAFT_LETTER_##g, PTXGRAFT_LETTER_##h)(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h)
#define PTXGRAFT_SHAPE_8(a, b, c, d, e, f, g, h) PTXGRAFT_SHAPE_8_(a, b, c, d, e, f, g, h)
#define PTXGRAFT_SHAPE_8_(a, b, c, d, e, f, g, h) PTXGRAFT_PICK(PTXGRAFT_AS_##a##b##c##d##e##f##g##h, PTXGRAFT_LONG, ~)
#define PTXGRAFT_AS_i ~, PTXGRAFT_SHORT_i
#define PTXGRAFT_SHORT_i(V, W, C, NAME, STUB, a) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a C); } while (0)
#define PTXGRAFT_AS_o ~, PTXGRAFT_SHORT_o
#define PTXGRAFT_SHORT_o(V, W, C, NAME, STUB, a) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a :  C); } while (0)
#define PTXGRAFT_AS_ii ~, PTXGRAFT_SHORT_ii
#define PTXGRAFT_SHORT_ii(V, W, C, NAME, STUB, a, b) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b C); } while (0)
#define PTXGRAFT_AS_io ~, PTXGRAFT_SHORT_io
#define PTXGRAFT_SHORT_io(V, W, C, NAME, STUB, a, b) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 1) PTXGRAFT_TEXT_##b 0) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) "}" : PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##a C); } while (0)
#define PTXGRAFT_AS_oi ~, PTXGRAFT_SHORT_oi
#define PTXGRAFT_SHORT_oi(V, W, C, NAME, STUB, a, b) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b C); } while (0)
#define PTXGRAFT_AS_oo ~, PTXGRAFT_SHORT_oo
#define PTXGRAFT_SHORT_oo(V, W, C, NAME, STUB, a, b) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b :  C); } while (0)
#define PTXGRAFT_AS_iii ~, PTXGRAFT_SHORT_iii
#define PTXGRAFT_SHORT_iii(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_iio ~, PTXGRAFT_SHORT_iio
#define PTXGRAFT_SHORT_iio(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 1) PTXGRAFT_TEXT_##b 2) PTXGRAFT_TEXT_##c 0) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##c 0) "}" : PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b C); } while (0)
#define PTXGRAFT_AS_ioi ~, PTXGRAFT_SHORT_ioi
#define PTXGRAFT_SHORT_ioi(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 1) PTXGRAFT_TEXT_##b 0) PTXGRAFT_TEXT_##c 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) "}" : PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_ioo ~, PTXGRAFT_SHORT_ioo
#define PTXGRAFT_SHORT_ioo(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 2) PTXGRAFT_TEXT_##b 0) PTXGRAFT_TEXT_##c 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) PTXGRAFT_SAVE_##c 1) "}" : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##a C); } while (0)
#define PTXGRAFT_AS_oii ~, PTXGRAFT_SHORT_oii
#define PTXGRAFT_SHORT_oii(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_oio ~, PTXGRAFT_SHORT_oio
#define PTXGRAFT_SHORT_oio(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 2) PTXGRAFT_TEXT_##c 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##c 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##b C); } while (0)
#define PTXGRAFT_AS_ooi ~, PTXGRAFT_SHORT_ooi
#define PTXGRAFT_SHORT_ooi(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_ooo ~, PTXGRAFT_SHORT_ooo
#define PTXGRAFT_SHORT_ooo(V, W, C, NAME, STUB, a, b, c) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c :  C); } while (0)
#define PTXGRAFT_AS_iiii ~, PTXGRAFT_SHORT_iiii
#define PTXGRAFT_SHORT_iiii(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_iiio ~, PTXGRAFT_SHORT_iiio
#define PTXGRAFT_SHORT_iiio(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 1) PTXGRAFT_TEXT_##b 2) PTXGRAFT_TEXT_##c 3) PTXGRAFT_TEXT_##d 0) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##d 0) "}" : PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_iioi ~, PTXGRAFT_SHORT_iioi
#define PTXGRAFT_SHORT_iioi(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 1) PTXGRAFT_TEXT_##b 2) PTXGRAFT_TEXT_##c 0) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##c 0) "}" : PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_iioo ~, PTXGRAFT_SHORT_iioo
#define PTXGRAFT_SHORT_iioo(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 2) PTXGRAFT_TEXT_##b 3) PTXGRAFT_TEXT_##c 0) PTXGRAFT_TEXT_##d 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##c 0) PTXGRAFT_SAVE_##d 1) "}" : PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b C); } while (0)
#define PTXGRAFT_AS_ioii ~, PTXGRAFT_SHORT_ioii
#define PTXGRAFT_SHORT_ioii(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 1) PTXGRAFT_TEXT_##b 0) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) "}" : PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_ioio ~, PTXGRAFT_SHORT_ioio
#define PTXGRAFT_SHORT_ioio(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 2) PTXGRAFT_TEXT_##b 0) PTXGRAFT_TEXT_##c 3) PTXGRAFT_TEXT_##d 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) PTXGRAFT_SAVE_##d 1) "}" : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_iooi ~, PTXGRAFT_SHORT_iooi
#define PTXGRAFT_SHORT_iooi(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 2) PTXGRAFT_TEXT_##b 0) PTXGRAFT_TEXT_##c 1) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) PTXGRAFT_SAVE_##c 1) "}" : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_iooo ~, PTXGRAFT_SHORT_iooo
#define PTXGRAFT_SHORT_iooo(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 3) PTXGRAFT_TEXT_##b 0) PTXGRAFT_TEXT_##c 1) PTXGRAFT_TEXT_##d 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##b 0) PTXGRAFT_SAVE_##c 1) PTXGRAFT_SAVE_##d 2) "}" : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##a C); } while (0)
#define PTXGRAFT_AS_oiii ~, PTXGRAFT_SHORT_oiii
#define PTXGRAFT_SHORT_oiii(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_oiio ~, PTXGRAFT_SHORT_oiio
#define PTXGRAFT_SHORT_oiio(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 2) PTXGRAFT_TEXT_##c 3) PTXGRAFT_TEXT_##d 1) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##d 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_oioi ~, PTXGRAFT_SHORT_oioi
#define PTXGRAFT_SHORT_oioi(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 2) PTXGRAFT_TEXT_##c 1) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##c 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_oioo ~, PTXGRAFT_SHORT_oioo
#define PTXGRAFT_SHORT_oioo(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 3) PTXGRAFT_TEXT_##c 1) PTXGRAFT_TEXT_##d 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##c 1) PTXGRAFT_SAVE_##d 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##b C); } while (0)
#define PTXGRAFT_AS_ooii ~, PTXGRAFT_SHORT_ooii
#define PTXGRAFT_SHORT_ooii(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_ooio ~, PTXGRAFT_SHORT_ooio
#define PTXGRAFT_SHORT_ooio(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 3) PTXGRAFT_TEXT_##d 2) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##d 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##c C); } while (0)
#define PTXGRAFT_AS_oooi ~, PTXGRAFT_SHORT_oooi
#define PTXGRAFT_SHORT_oooi(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##d C); } while (0)
#define PTXGRAFT_AS_oooo ~, PTXGRAFT_SHORT_oooo
#define PTXGRAFT_SHORT_oooo(V, W, C, NAME, STUB, a, b, c, d) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d :  C); } while (0)
#define PTXGRAFT_AS_iiiii ~, PTXGRAFT_SHORT_iiiii
#define PTXGRAFT_SHORT_iiiii(V, W, C, NAME, STUB, a, b, c, d, e) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e C); } while (0)
#define PTXGRAFT_AS_oiiii ~, PTXGRAFT_SHORT_oiiii
#define PTXGRAFT_SHORT_oiiii(V, W, C, NAME, STUB, a, b, c, d, e) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e C); } while (0)
#define PTXGRAFT_AS_ooiii ~, PTXGRAFT_SHORT_ooiii
#define PTXGRAFT_SHORT_ooiii(V, W, C, NAME, STUB, a, b, c, d, e) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e C); } while (0)
#define PTXGRAFT_AS_oooii ~, PTXGRAFT_SHORT_oooii
#define PTXGRAFT_SHORT_oooii(V, W, C, NAME, STUB, a, b, c, d, e) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e C); } while (0)
#define PTXGRAFT_AS_ooooi ~, PTXGRAFT_SHORT_ooooi
#define PTXGRAFT_SHORT_ooooi(V, W, C, NAME, STUB, a, b, c, d, e) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##e C); } while (0)
#define PTXGRAFT_AS_ooooo ~, PTXGRAFT_SHORT_ooooo
#define PTXGRAFT_SHORT_ooooo(V, W, C, NAME, STUB, a, b, c, d, e) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e :  C); } while (0)
#define PTXGRAFT_AS_iiiiii ~, PTXGRAFT_SHORT_iiiiii
#define PTXGRAFT_SHORT_iiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f C); } while (0)
#define PTXGRAFT_AS_oiiiii ~, PTXGRAFT_SHORT_oiiiii
#define PTXGRAFT_SHORT_oiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f C); } while (0)
#define PTXGRAFT_AS_ooiiii ~, PTXGRAFT_SHORT_ooiiii
#define PTXGRAFT_SHORT_ooiiii(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f C); } while (0)
#define PTXGRAFT_AS_oooiii ~, PTXGRAFT_SHORT_oooiii
#define PTXGRAFT_SHORT_oooiii(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f C); } while (0)
#define PTXGRAFT_AS_ooooii ~, PTXGRAFT_SHORT_ooooii
#define PTXGRAFT_SHORT_ooooii(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f C); } while (0)
#define PTXGRAFT_AS_oooooi ~, PTXGRAFT_SHORT_oooooi
#define PTXGRAFT_SHORT_oooooi(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e : PTXGRAFT_PLACE_##f C); } while (0)
#define PTXGRAFT_AS_oooooo ~, PTXGRAFT_SHORT_oooooo
#define PTXGRAFT_SHORT_oooooo(V, W, C, NAME, STUB, a, b, c, d, e, f) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) PTXGRAFT_SAVE_##f 5) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f :  C); } while (0)
#define PTXGRAFT_AS_iiiiiii ~, PTXGRAFT_SHORT_iiiiiii
#define PTXGRAFT_SHORT_iiiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_oiiiiii ~, PTXGRAFT_SHORT_oiiiiii
#define PTXGRAFT_SHORT_oiiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_ooiiiii ~, PTXGRAFT_SHORT_ooiiiii
#define PTXGRAFT_SHORT_ooiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_oooiiii ~, PTXGRAFT_SHORT_oooiiii
#define PTXGRAFT_SHORT_oooiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_ooooiii ~, PTXGRAFT_SHORT_ooooiii
#define PTXGRAFT_SHORT_ooooiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_oooooii ~, PTXGRAFT_SHORT_oooooii
#define PTXGRAFT_SHORT_oooooii(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e : PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_ooooooi ~, PTXGRAFT_SHORT_ooooooi
#define PTXGRAFT_SHORT_ooooooi(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) PTXGRAFT_SAVE_##f 5) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f : PTXGRAFT_PLACE_##g C); } while (0)
#define PTXGRAFT_AS_ooooooo ~, PTXGRAFT_SHORT_ooooooo
#define PTXGRAFT_SHORT_ooooooo(V, W, C, NAME, STUB, a, b, c, d, e, f, g) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) PTXGRAFT_SAVE_##f 5) PTXGRAFT_SAVE_##g 6) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g :  C); } while (0)
#define PTXGRAFT_AS_iiiiiiii ~, PTXGRAFT_SHORT_iiiiiiii
#define PTXGRAFT_SHORT_iiiiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t"  "}" :  : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_oiiiiiii ~, PTXGRAFT_SHORT_oiiiiiii
#define PTXGRAFT_SHORT_oiiiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) "}" : PTXGRAFT_PLACE_##a : PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_ooiiiiii ~, PTXGRAFT_SHORT_ooiiiiii
#define PTXGRAFT_SHORT_ooiiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b : PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_oooiiiii ~, PTXGRAFT_SHORT_oooiiiii
#define PTXGRAFT_SHORT_oooiiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c : PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_ooooiiii ~, PTXGRAFT_SHORT_ooooiiii
#define PTXGRAFT_SHORT_ooooiiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d : PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_oooooiii ~, PTXGRAFT_SHORT_oooooiii
#define PTXGRAFT_SHORT_oooooiii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e : PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_ooooooii ~, PTXGRAFT_SHORT_ooooooii
#define PTXGRAFT_SHORT_ooooooii(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) PTXGRAFT_SAVE_##f 5) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f : PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_oooooooi ~, PTXGRAFT_SHORT_oooooooi
#define PTXGRAFT_SHORT_oooooooi(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) PTXGRAFT_SAVE_##f 5) PTXGRAFT_SAVE_##g 6) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g : PTXGRAFT_PLACE_##h C); } while (0)
#define PTXGRAFT_AS_oooooooo ~, PTXGRAFT_SHORT_oooooooo
#define PTXGRAFT_SHORT_oooooooo(V, W, C, NAME, STUB, a, b, c, d, e, f, g, h) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_NAME_##a PTXGRAFT_NAME_##b PTXGRAFT_NAME_##c PTXGRAFT_NAME_##d PTXGRAFT_NAME_##e PTXGRAFT_NAME_##f PTXGRAFT_NAME_##g PTXGRAFT_NAME_##h) \
        asm V("{ // PTXGRAFT_SITE " NAME W "\n\t" PTXGRAFT_TEXT_##a 0) PTXGRAFT_TEXT_##b 1) PTXGRAFT_TEXT_##c 2) PTXGRAFT_TEXT_##d 3) PTXGRAFT_TEXT_##e 4) PTXGRAFT_TEXT_##f 5) PTXGRAFT_TEXT_##g 6) PTXGRAFT_TEXT_##h 7) \
              "// PTXGRAFT_STUB\n\t" STUB "\n\t// PTXGRAFT_END\n\t" PTXGRAFT_SAVE_##a 0) PTXGRAFT_SAVE_##b 1) PTXGRAFT_SAVE_##c 2) PTXGRAFT_SAVE_##d 3) PTXGRAFT_SAVE_##e 4) PTXGRAFT_SAVE_##f 5) PTXGRAFT_SAVE_##g 6) PTXGRAFT_SAVE_##h 7) "}" : PTXGRAFT_PLACE_##a, PTXGRAFT_PLACE_##b, PTXGRAFT_PLACE_##c, PTXGRAFT_PLACE_##d, PTXGRAFT_PLACE_##e, PTXGRAFT_PLACE_##f, PTXGRAFT_PLACE_##g, PTXGRAFT_PLACE_##h :  C); } while (0)

// The long way, for sites of more than eight operands, with fragments, predicates or types of your own. First each operand
// is checked, so that a fault gives one message; then each gets a row (direction, shape, count, label, type, conversion,
// C++ type, name, expression, number of its first register), and each part of the site is a macro over the rows.
#define PTXGRAFT_SITE_in(...) PTXGRAFT_LONG
#define PTXGRAFT_SITE_ins(...) PTXGRAFT_LONG
#define PTXGRAFT_SITE_mod(...) PTXGRAFT_LONG
#define PTXGRAFT_SITE_mods(...) PTXGRAFT_LONG
#define PTXGRAFT_SITE_out(...) PTXGRAFT_LONG
#define PTXGRAFT_SITE_outs(...) PTXGRAFT_LONG
#define PTXGRAFT_LONG(V, W, C, NAME, STUB, ...) \
    PTXGRAFT_LONG_(PTXGRAFT_COUNT64(__VA_ARGS__, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ~), V, W, C, NAME, STUB, __VA_ARGS__)
#define PTXGRAFT_COUNT64(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, X, ...) X
#define PTXGRAFT_LONG_(...) PTXGRAFT_LONG__(__VA_ARGS__)
#define PTXGRAFT_LONG__(K, ...) PTXGRAFT_CHOOSE(PTXGRAFT_SURPLUS_##K, PTXGRAFT_CHECKED, ~)(K, __VA_ARGS__)
#define PTXGRAFT_SURPLUS_in(...) ~, PTXGRAFT_TOO_MANY
#define PTXGRAFT_SURPLUS_ins(...) ~, PTXGRAFT_TOO_MANY
#define PTXGRAFT_SURPLUS_mod(...) ~, PTXGRAFT_TOO_MANY
#define PTXGRAFT_SURPLUS_mods(...) ~, PTXGRAFT_TOO_MANY
#define PTXGRAFT_SURPLUS_out(...) ~, PTXGRAFT_TOO_MANY
#define PTXGRAFT_SURPLUS_outs(...) ~, PTXGRAFT_TOO_MANY
#define PTXGRAFT_TOO_MANY(...) static_assert(false, "ptxgraft: a site has at most 64 operands")
#define PTXGRAFT_CHECKED(K, V, W, C, NAME, STUB, ...) \
    PTXGRAFT_CHOOSE(PTXGRAFT_IF_EMPTY PTXGRAFT_FAULTS_##K(__VA_ARGS__) (PTXGRAFT_NUMBERED), PTXGRAFT_FAULTY, ~) \
    (K, V, W, C, NAME, STUB, __VA_ARGS__)
#define PTXGRAFT_FAULTY(K, V, W, C, NAME, STUB, ...) do { PTXGRAFT_FAULTS_##K(__VA_ARGS__) } while (0)
#define PTXGRAFT_FAULT(OP, ...) PTXGRAFT_FAULT_(__VA_ARGS__, PTXGRAFT_BAD_KIND(OP), ~)
#define PTXGRAFT_FAULT_(A, B, ...) B
#define PTXGRAFT_BAD_KIND(OP) static_assert(false, "ptxgraft: '" #OP "' is no operand; operands are in(TYPE, NAME), mod, out, and of fragments ins(TYPE, COUNT, NAME), mods, outs");
#define PTXGRAFT_FAULT_in(T, ...) ~, PTXGRAFT_TYPE_FAULT(#T, PTXGRAFT_TYPE_##T, none, 2, 3, type, ~), ~
#define PTXGRAFT_FAULT_ins(T, COUNT, ...) ~, PTXGRAFT_TYPE_FAULT(#T, PTXGRAFT_TYPE_##T, none, 2, 3, type, ~) PTXGRAFT_COUNT_FAULT(#COUNT, PTXGRAFT_DIGITS_##COUNT, none, 2, count, ~), ~
#define PTXGRAFT_FAULT_mod(T, ...) ~, PTXGRAFT_TYPE_FAULT(#T, PTXGRAFT_TYPE_##T, none, 2, 3, type, ~), ~
#define PTXGRAFT_FAULT_mods(T, COUNT, ...) ~, PTXGRAFT_TYPE_FAULT(#T, PTXGRAFT_TYPE_##T, none, 2, 3, type, ~) PTXGRAFT_COUNT_FAULT(#COUNT, PTXGRAFT_DIGITS_##COUNT, none, 2, count, ~), ~
#define PTXGRAFT_FAULT_out(T, ...) ~, PTXGRAFT_TYPE_FAULT(#T, PTXGRAFT_TYPE_##T, none, 2, 3, type, ~), ~
#define PTXGRAFT_FAULT_outs(T, COUNT, ...) ~, PTXGRAFT_TYPE_FAULT(#T, PTXGRAFT_TYPE_##T, none, 2, 3, type, ~) PTXGRAFT_COUNT_FAULT(#COUNT, PTXGRAFT_DIGITS_##COUNT, none, 2, count, ~), ~
#define PTXGRAFT_TYPE_FAULT(...) PTXGRAFT_TYPE_FAULT_(__VA_ARGS__)
#define PTXGRAFT_TYPE_FAULT_(S, a, b, c, d, X, ...) PTXGRAFT_FAULT_OF_##X(S)
#define PTXGRAFT_COUNT_FAULT(...) PTXGRAFT_COUNT_FAULT_(__VA_ARGS__)
#define PTXGRAFT_COUNT_FAULT_(S, a, b, c, X, ...) PTXGRAFT_FAULT_OF_##X(S)
#define PTXGRAFT_FAULT_OF_none(S)
#define PTXGRAFT_FAULT_OF_type(S) static_assert(false, "ptxgraft: unknown operand type '" S "'; the types are pred, b16, b32, b64, u16, s16, u32, s32, u64, s64, f16, f16x2, bf16, bf16x2, f32, f64 and those that PTXGRAFT_USER_TYPE makes");
#define PTXGRAFT_FAULT_OF_count(S) static_assert(false, "ptxgraft: the count of a fragment is a number from 1 to 256 in digits, not '" S "'");

#define PTXGRAFT_ROW_in(T, ...) PTXGRAFT_ROW(in, one, 1, PTXGRAFT_TYPE_##T, PTXGRAFT_FIRST(__VA_ARGS__, ~), PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OPEN, __VA_ARGS__),
#define PTXGRAFT_ROW_ins(T, COUNT, ...) PTXGRAFT_ROW(in, many, COUNT, PTXGRAFT_TYPE_##T, PTXGRAFT_FIRST(__VA_ARGS__, ~), PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OPEN, __VA_ARGS__),
#define PTXGRAFT_SIZE_in(...) 1
#define PTXGRAFT_SIZE_ins(T, COUNT, ...) COUNT
#define PTXGRAFT_ROW_mod(T, ...) PTXGRAFT_ROW(mod, one, 1, PTXGRAFT_TYPE_##T, PTXGRAFT_FIRST(__VA_ARGS__, ~), PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OPEN, __VA_ARGS__),
#define PTXGRAFT_ROW_mods(T, COUNT, ...) PTXGRAFT_ROW(mod, many, COUNT, PTXGRAFT_TYPE_##T, PTXGRAFT_FIRST(__VA_ARGS__, ~), PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OPEN, __VA_ARGS__),
#define PTXGRAFT_SIZE_mod(...) 1
#define PTXGRAFT_SIZE_mods(T, COUNT, ...) COUNT
#define PTXGRAFT_ROW_out(T, ...) PTXGRAFT_ROW(out, one, 1, PTXGRAFT_TYPE_##T, PTXGRAFT_FIRST(__VA_ARGS__, ~), PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OPEN, __VA_ARGS__),
#define PTXGRAFT_ROW_outs(T, COUNT, ...) PTXGRAFT_ROW(out, many, COUNT, PTXGRAFT_TYPE_##T, PTXGRAFT_FIRST(__VA_ARGS__, ~), PTXGRAFT_ARITY(__VA_ARGS__, E, E, E, E, E, N, ~)(PTXGRAFT_OPEN, __VA_ARGS__),
#define PTXGRAFT_SIZE_out(...) 1
#define PTXGRAFT_SIZE_outs(T, COUNT, ...) COUNT
#define PTXGRAFT_FIRST(A, ...) A
#define PTXGRAFT_ROW(...) (__VA_ARGS__)
#define PTXGRAFT_OPEN(...) __VA_ARGS__
#define PTXGRAFT_NUMBERED(K, V, W, C, NAME, STUB, ...) \
    PTXGRAFT_CALL(PTXGRAFT_EMIT, K, V, W, C, NAME, STUB PTXGRAFT_NUMBER_##K((0, 0, 0), __VA_ARGS__))
#define PTXGRAFT_CALL(M, ...) M(__VA_ARGS__)
#define PTXGRAFT_EMIT(K, V, W, C, NAME, STUB, ...) \
    do { PTXGRAFT_CHECK(NAME PTXGRAFT_MAP_##K(PTXGRAFT_ROW_NAME, __VA_ARGS__)) \
        static_assert(0 PTXGRAFT_MAP_##K(PTXGRAFT_ROW_COUNT, __VA_ARGS__) <= 256, "ptxgraft: a site has at most 256 registers"); \
        PTXGRAFT_MAP_##K(PTXGRAFT_ROW_LOCAL, __VA_ARGS__) \
        asm V(PTXGRAFT_BEGIN(NAME W) PTXGRAFT_MAP_##K(PTXGRAFT_ROW_LOAD, __VA_ARGS__) \
              PTXGRAFT_MIDDLE(STUB) PTXGRAFT_MAP_##K(PTXGRAFT_ROW_SAVE, __VA_ARGS__) "}" \
            : PTXGRAFT_REST(~ PTXGRAFT_MAP_##K(PTXGRAFT_ROW_OPERAND, __VA_ARGS__)) : C); \
        PTXGRAFT_MAP_##K(PTXGRAFT_ROW_FINISH, __VA_ARGS__) } while (0)
#define PTXGRAFT_REST(...) PTXGRAFT_REST_(__VA_ARGS__)
#define PTXGRAFT_REST_(A, ...) __VA_ARGS__
#define PTXGRAFT_ROW_NAME(D, S, COUNT, LABEL, T, V, CPP, N, X, AT) "\n" #N
#define PTXGRAFT_ROW_COUNT(D, S, COUNT, ...) + COUNT
#define PTXGRAFT_ROW_LOCAL(D, S, ...) PTXGRAFT_LOCAL_##D##_##S(__VA_ARGS__)
#define PTXGRAFT_ROW_LOAD(D, S, ...) PTXGRAFT_LOAD_##D##_##S(__VA_ARGS__)
#define PTXGRAFT_ROW_SAVE(D, S, ...) PTXGRAFT_SAVE_##D##_##S(__VA_ARGS__)
#define PTXGRAFT_ROW_OPERAND(D, S, ...) PTXGRAFT_OPERAND_##D##_##S(__VA_ARGS__)
#define PTXGRAFT_ROW_FINISH(D, S, ...) PTXGRAFT_FINISH_##D##_##S(__VA_ARGS__)

#define PTXGRAFT_VALUE_BUILTIN(T, CPP, X) PTXGRAFT_CPP_##T{PTXGRAFT_VALUE_##T(X)}
#define PTXGRAFT_VALUE_USER(T, CPP, X) __builtin_bit_cast(PTXGRAFT_CPP_##T, static_cast<const CPP&>(X))
#define PTXGRAFT_VALUE_PREDICATE(T, CPP, X) unsigned{__builtin_bit_cast(bool, static_cast<const CPP&>(X)) ? 1u : 0u}
#define PTXGRAFT_LVALUE_BUILTIN(T, CPP, X) PTXGRAFT_LVALUE_##T(X)
#define PTXGRAFT_LVALUE_USER(T, CPP, X) ptxgraft::bits_of<PTXGRAFT_CPP_##T>(static_cast<CPP&>(X))
#define PTXGRAFT_LVALUE_PREDICATE(T, CPP, X) ptxgraft::bits_of<bool>(static_cast<CPP&>(X))
#define PTXGRAFT_LOCAL_in_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_CPP_##T ptxgraft_##N = PTXGRAFT_VALUE_##V(T, CPP, X);
#define PTXGRAFT_LOCAL_mod_one(COUNT, LABEL, T, V, CPP, N, X, AT) \
    auto& ptxgraft_of_##N = X; PTXGRAFT_CPP_##T ptxgraft_##N = PTXGRAFT_LVALUE_##V(T, CPP, ptxgraft_of_##N);
#define PTXGRAFT_LOCAL_out_one(COUNT, LABEL, T, V, CPP, N, X, AT) auto& ptxgraft_of_##N = X; PTXGRAFT_CPP_##T ptxgraft_##N;
#define PTXGRAFT_LOCAL_in_many(COUNT, LABEL, T, V, CPP, N, X, AT) \
    auto&& ptxgraft_of_##N = X; PTXGRAFT_CPP_##T ptxgraft_##N[COUNT]; PTXGRAFT_EACH(PTXGRAFT_FETCH_in, COUNT, T, V, CPP, N)
#define PTXGRAFT_LOCAL_mod_many(COUNT, LABEL, T, V, CPP, N, X, AT) \
    auto&& ptxgraft_of_##N = X; PTXGRAFT_CPP_##T ptxgraft_##N[COUNT]; PTXGRAFT_EACH(PTXGRAFT_FETCH_mod, COUNT, T, V, CPP, N)
#define PTXGRAFT_LOCAL_out_many(COUNT, LABEL, T, V, CPP, N, X, AT) auto&& ptxgraft_of_##N = X; PTXGRAFT_CPP_##T ptxgraft_##N[COUNT];
#define PTXGRAFT_FETCH_in(b, d, bh, bt, T, V, CPP, N) ptxgraft_##N[b##d] = PTXGRAFT_VALUE_##V(T, CPP, ptxgraft_of_##N[b##d]);
#define PTXGRAFT_FETCH_mod(b, d, bh, bt, T, V, CPP, N) ptxgraft_##N[b##d] = PTXGRAFT_LVALUE_##V(T, CPP, ptxgraft_of_##N[b##d]);
#define PTXGRAFT_FINISH_in_one(...)
#define PTXGRAFT_FINISH_in_many(...)
#define PTXGRAFT_FINISH_mod_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_LVALUE_##V(T, CPP, ptxgraft_of_##N) = ptxgraft_##N;
#define PTXGRAFT_FINISH_mod_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_RETURN, COUNT, T, V, CPP, N)
#define PTXGRAFT_FINISH_out_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_LVALUE_##V(T, CPP, ptxgraft_of_##N) = ptxgraft_##N;
#define PTXGRAFT_FINISH_out_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_RETURN, COUNT, T, V, CPP, N)
#define PTXGRAFT_RETURN(b, d, bh, bt, T, V, CPP, N) PTXGRAFT_LVALUE_##V(T, CPP, ptxgraft_of_##N[b##d]) = ptxgraft_##N[b##d];
#define PTXGRAFT_LOAD_in_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_REG_##T #N "; // in " LABEL " " #N "\n\t" PTXGRAFT_MOVE_ONE(T, N, PTXGRAFT_OPEN AT)
#define PTXGRAFT_LOAD_in_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_REG_##T #N "<" #COUNT ">; // in " LABEL " " #N " " #COUNT "\n\t" PTXGRAFT_EACH(PTXGRAFT_MOVE_EACH, COUNT, T, N, AT)
#define PTXGRAFT_SAVE_in_one(...)
#define PTXGRAFT_SAVE_in_many(...)
#define PTXGRAFT_OPERAND_in_one(COUNT, LABEL, T, V, CPP, N, X, AT) , "+" PTXGRAFT_CONSTRAINT_##T(ptxgraft_##N)
#define PTXGRAFT_OPERAND_in_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_INOUT_EACH, COUNT, T, N)
#define PTXGRAFT_LOAD_mod_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_REG_##T #N "; // mod " LABEL " " #N "\n\t" PTXGRAFT_MOVE_ONE(T, N, PTXGRAFT_OPEN AT)
#define PTXGRAFT_LOAD_mod_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_REG_##T #N "<" #COUNT ">; // mod " LABEL " " #N " " #COUNT "\n\t" PTXGRAFT_EACH(PTXGRAFT_MOVE_EACH, COUNT, T, N, AT)
#define PTXGRAFT_SAVE_mod_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_STORE_ONE(T, N, PTXGRAFT_OPEN AT)
#define PTXGRAFT_SAVE_mod_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_STORE_EACH, COUNT, T, N, AT)
#define PTXGRAFT_OPERAND_mod_one(COUNT, LABEL, T, V, CPP, N, X, AT) , "+" PTXGRAFT_CONSTRAINT_##T(ptxgraft_##N)
#define PTXGRAFT_OPERAND_mod_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_INOUT_EACH, COUNT, T, N)
#define PTXGRAFT_LOAD_out_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_REG_##T #N "; // out " LABEL " " #N "\n\t"
#define PTXGRAFT_LOAD_out_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_REG_##T #N "<" #COUNT ">; // out " LABEL " " #N " " #COUNT "\n\t"
#define PTXGRAFT_SAVE_out_one(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_STORE_ONE(T, N, PTXGRAFT_OPEN AT)
#define PTXGRAFT_SAVE_out_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_STORE_EACH, COUNT, T, N, AT)
#define PTXGRAFT_OPERAND_out_one(COUNT, LABEL, T, V, CPP, N, X, AT) , "=" PTXGRAFT_CONSTRAINT_##T(ptxgraft_##N)
#define PTXGRAFT_OPERAND_out_many(COUNT, LABEL, T, V, CPP, N, X, AT) PTXGRAFT_EACH(PTXGRAFT_OUT_EACH, COUNT, T, N)
#define PTXGRAFT_INOUT_EACH(b, d, bh, bt, T, N) , "+" PTXGRAFT_CONSTRAINT_##T(ptxgraft_##N[b##d])
#define PTXGRAFT_OUT_EACH(b, d, bh, bt, T, N) , "=" PTXGRAFT_CONSTRAINT_##T(ptxgraft_##N[b##d])
#define PTXGRAFT_MOVE_ONE(...) PTXGRAFT_MOVE_ONE_(__VA_ARGS__)
#define PTXGRAFT_MOVE_ONE_(T, N, h, t, u) PTXGRAFT_MOVE_##T(N, h##t##u)
#define PTXGRAFT_STORE_ONE(...) PTXGRAFT_STORE_ONE_(__VA_ARGS__)
#define PTXGRAFT_STORE_ONE_(T, N, h, t, u) PTXGRAFT_STORE_##T(N, h##t##u)
#define PTXGRAFT_MOVE_EACH(b, d, bh, bt, T, N, AT) PTXGRAFT_MOVE_ONE(T, N##b##d, PTXGRAFT_SUM(bh, bt, d, PTXGRAFT_OPEN AT))
#define PTXGRAFT_STORE_EACH(b, d, bh, bt, T, N, AT) PTXGRAFT_STORE_ONE(T, N##b##d, PTXGRAFT_SUM(bh, bt, d, PTXGRAFT_OPEN AT))
#define PTXGRAFT_EACH(M, COUNT, ...) PTXGRAFT_EACH_(M, PTXGRAFT_DIGITS_##COUNT, __VA_ARGS__)
#define PTXGRAFT_EACH_(...) PTXGRAFT_EACH__(__VA_ARGS__)
#define PTXGRAFT_EACH__(M, h, t, u, ...) PTXGRAFT_EACH_##h##t(M, u, __VA_ARGS__)

// The sum of two numbers of three digits, digit by digit with carries: h, t, u.
#define PTXGRAFT_ADVANCE(...) PTXGRAFT_ADVANCE_(__VA_ARGS__)
#define PTXGRAFT_ADVANCE_(COUNT, AT) (PTXGRAFT_SUM(PTXGRAFT_DIGITS_##COUNT, PTXGRAFT_OPEN AT))
#define PTXGRAFT_SUM(...) PTXGRAFT_SUM_1(__VA_ARGS__)
#define PTXGRAFT_SUM_1(H, T, U, h, t, u) PTXGRAFT_SUM_2(H, T, h, t, PTXGRAFT_ADD_##U##u)
#define PTXGRAFT_SUM_2(...) PTXGRAFT_SUM_3(__VA_ARGS__)
#define PTXGRAFT_SUM_3(H, T, h, t, c, u) PTXGRAFT_SUM_4(H, h, u, c, PTXGRAFT_ADD_##T##t)
#define PTXGRAFT_SUM_4(...) PTXGRAFT_SUM_5(__VA_ARGS__)
#define PTXGRAFT_SUM_5(H, h, u, c, C, t) PTXGRAFT_SUM_6(H, h, u, C, PTXGRAFT_ADD_##c##t)
#define PTXGRAFT_SUM_6(...) PTXGRAFT_SUM_7(__VA_ARGS__)
#define PTXGRAFT_SUM_7(H, h, u, C, c, t) PTXGRAFT_SUM_8(u, t, C, c, PTXGRAFT_ADD_##H##h)
#define PTXGRAFT_SUM_8(...) PTXGRAFT_SUM_9(__VA_ARGS__)
#define PTXGRAFT_SUM_9(u, t, C, c, x, h) PTXGRAFT_SUM_10(u, t, c, PTXGRAFT_ADD_##C##h)
#define PTXGRAFT_SUM_10(...) PTXGRAFT_SUM_11(__VA_ARGS__)
#define PTXGRAFT_SUM_11(u, t, c, x, h) PTXGRAFT_SUM_12(u, t, PTXGRAFT_ADD_##c##h)
#define PTXGRAFT_SUM_12(...) PTXGRAFT_SUM_13(__VA_ARGS__)
#define PTXGRAFT_SUM_13(u, t, x, h) h, t, u

// MAP_n applies M to n rows; NUMBER_n gives each operand the number of its first register, in three digits.
#define PTXGRAFT_MAP_0(M)
#define PTXGRAFT_MAP_1(M, r0) M r0
#define PTXGRAFT_MAP_2(M, r0, r1) M r0 M r1
#define PTXGRAFT_MAP_3(M, r0, r1, r2) M r0 M r1 M r2
#define PTXGRAFT_MAP_4(M, r0, r1, r2, r3) M r0 M r1 M r2 M r3
#define PTXGRAFT_MAP_5(M, r0, r1, r2, r3, r4) M r0 M r1 M r2 M r3 M r4
#define PTXGRAFT_MAP_6(M, r0, r1, r2, r3, r4, r5) M r0 M r1 M r2 M r3 M r4 M r5
#define PTXGRAFT_MAP_7(M, r0, r1, r2, r3, r4, r5, r6) M r0 M r1 M r2 M r3 M r4 M r5 M r6
#define PTXGRAFT_MAP_8(M, r0, r1, r2, r3, r4, r5, r6, r7) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7
#define PTXGRAFT_MAP_9(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_1(M, __VA_ARGS__)
#define PTXGRAFT_MAP_10(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_2(M, __VA_ARGS__)
#define PTXGRAFT_MAP_11(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_3(M, __VA_ARGS__)
#define PTXGRAFT_MAP_12(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_4(M, __VA_ARGS__)
#define PTXGRAFT_MAP_13(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_5(M, __VA_ARGS__)
#define PTXGRAFT_MAP_14(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_6(M, __VA_ARGS__)
#define PTXGRAFT_MAP_15(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_7(M, __VA_ARGS__)
#define PTXGRAFT_MAP_16(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_8(M, __VA_ARGS__)
#define PTXGRAFT_MAP_17(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_9(M, __VA_ARGS__)
#define PTXGRAFT_MAP_18(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_10(M, __VA_ARGS__)
#define PTXGRAFT_MAP_19(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_11(M, __VA_ARGS__)
#define PTXGRAFT_MAP_20(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_12(M, __VA_ARGS__)
#define PTXGRAFT_MAP_21(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_13(M, __VA_ARGS__)
#define PTXGRAFT_MAP_22(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_14(M, __VA_ARGS__)
#define PTXGRAFT_MAP_23(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_15(M, __VA_ARGS__)
#define PTXGRAFT_MAP_24(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_16(M, __VA_ARGS__)
#define PTXGRAFT_MAP_25(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_17(M, __VA_ARGS__)
#define PTXGRAFT_MAP_26(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_18(M, __VA_ARGS__)
#define PTXGRAFT_MAP_27(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_19(M, __VA_ARGS__)
#define PTXGRAFT_MAP_28(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_20(M, __VA_ARGS__)
#define PTXGRAFT_MAP_29(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_21(M, __VA_ARGS__)
#define PTXGRAFT_MAP_30(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_22(M, __VA_ARGS__)
#define PTXGRAFT_MAP_31(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_23(M, __VA_ARGS__)
#define PTXGRAFT_MAP_32(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_24(M, __VA_ARGS__)
#define PTXGRAFT_MAP_33(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_25(M, __VA_ARGS__)
#define PTXGRAFT_MAP_34(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_26(M, __VA_ARGS__)
#define PTXGRAFT_MAP_35(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_27(M, __VA_ARGS__)
#define PTXGRAFT_MAP_36(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_28(M, __VA_ARGS__)
#define PTXGRAFT_MAP_37(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_29(M, __VA_ARGS__)
#define PTXGRAFT_MAP_38(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_30(M, __VA_ARGS__)
#define PTXGRAFT_MAP_39(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_31(M, __VA_ARGS__)
#define PTXGRAFT_MAP_40(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_32(M, __VA_ARGS__)
#define PTXGRAFT_MAP_41(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_33(M, __VA_ARGS__)
#define PTXGRAFT_MAP_42(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_34(M, __VA_ARGS__)
#define PTXGRAFT_MAP_43(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_35(M, __VA_ARGS__)
#define PTXGRAFT_MAP_44(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_36(M, __VA_ARGS__)
#define PTXGRAFT_MAP_45(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_37(M, __VA_ARGS__)
#define PTXGRAFT_MAP_46(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_38(M, __VA_ARGS__)
#define PTXGRAFT_MAP_47(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_39(M, __VA_ARGS__)
#define PTXGRAFT_MAP_48(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_40(M, __VA_ARGS__)
#define PTXGRAFT_MAP_49(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_41(M, __VA_ARGS__)
#define PTXGRAFT_MAP_50(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_42(M, __VA_ARGS__)
#define PTXGRAFT_MAP_51(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_43(M, __VA_ARGS__)
#define PTXGRAFT_MAP_52(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_44(M, __VA_ARGS__)
#define PTXGRAFT_MAP_53(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_45(M, __VA_ARGS__)
#define PTXGRAFT_MAP_54(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_46(M, __VA_ARGS__)
#define PTXGRAFT_MAP_55(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_47(M, __VA_ARGS__)
#define PTXGRAFT_MAP_56(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_48(M, __VA_ARGS__)
#define PTXGRAFT_MAP_57(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_49(M, __VA_ARGS__)
#define PTXGRAFT_MAP_58(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_50(M, __VA_ARGS__)
#define PTXGRAFT_MAP_59(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_51(M, __VA_ARGS__)
#define PTXGRAFT_MAP_60(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_52(M, __VA_ARGS__)
#define PTXGRAFT_MAP_61(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_53(M, __VA_ARGS__)
#define PTXGRAFT_MAP_62(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_54(M, __VA_ARGS__)
#define PTXGRAFT_MAP_63(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_55(M, __VA_ARGS__)
#define PTXGRAFT_MAP_64(M, r0, r1, r2, r3, r4, r5, r6, r7, ...) M r0 M r1 M r2 M r3 M r4 M r5 M r6 M r7 PTXGRAFT_MAP_56(M, __VA_ARGS__)
#define PTXGRAFT_NUMBER_1(at, op) , PTXGRAFT_ROW_##op at)
#define PTXGRAFT_NUMBER_2(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_1(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_3(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_2(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_4(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_3(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_5(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_4(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_6(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_5(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_7(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_6(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_8(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_7(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_9(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_8(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_10(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_9(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_11(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_10(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_12(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_11(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_13(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_12(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_14(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_13(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_15(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_14(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_16(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_15(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_17(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_16(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_18(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_17(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_19(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_18(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_20(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_19(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_21(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_20(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_22(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_21(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_23(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_22(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_24(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_23(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_25(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_24(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_26(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_25(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_27(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_26(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_28(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_27(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_29(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_28(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_30(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_29(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_31(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_30(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_32(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_31(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_33(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_32(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_34(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_33(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_35(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_34(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_36(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_35(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_37(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_36(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_38(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_37(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_39(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_38(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_40(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_39(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_41(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_40(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_42(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_41(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_43(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_42(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_44(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_43(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_45(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_44(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_46(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_45(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_47(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_46(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_48(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_47(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_49(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_48(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_50(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_49(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_51(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_50(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_52(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_51(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_53(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_52(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_54(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_53(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_55(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_54(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_56(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_55(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_57(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_56(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_58(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_57(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_59(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_58(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_60(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_59(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_61(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_60(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_62(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_61(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_63(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_62(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_NUMBER_64(at, op, ...) , PTXGRAFT_ROW_##op at) PTXGRAFT_NUMBER_63(PTXGRAFT_ADVANCE(PTXGRAFT_SIZE_##op, at), __VA_ARGS__)
#define PTXGRAFT_FAULTS_1(op) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op)
#define PTXGRAFT_FAULTS_2(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_1(__VA_ARGS__)
#define PTXGRAFT_FAULTS_3(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_2(__VA_ARGS__)
#define PTXGRAFT_FAULTS_4(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_3(__VA_ARGS__)
#define PTXGRAFT_FAULTS_5(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_4(__VA_ARGS__)
#define PTXGRAFT_FAULTS_6(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_5(__VA_ARGS__)
#define PTXGRAFT_FAULTS_7(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_6(__VA_ARGS__)
#define PTXGRAFT_FAULTS_8(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_7(__VA_ARGS__)
#define PTXGRAFT_FAULTS_9(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_8(__VA_ARGS__)
#define PTXGRAFT_FAULTS_10(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_9(__VA_ARGS__)
#define PTXGRAFT_FAULTS_11(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_10(__VA_ARGS__)
#define PTXGRAFT_FAULTS_12(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_11(__VA_ARGS__)
#define PTXGRAFT_FAULTS_13(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_12(__VA_ARGS__)
#define PTXGRAFT_FAULTS_14(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_13(__VA_ARGS__)
#define PTXGRAFT_FAULTS_15(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_14(__VA_ARGS__)
#define PTXGRAFT_FAULTS_16(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_15(__VA_ARGS__)
#define PTXGRAFT_FAULTS_17(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_16(__VA_ARGS__)
#define PTXGRAFT_FAULTS_18(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_17(__VA_ARGS__)
#define PTXGRAFT_FAULTS_19(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_18(__VA_ARGS__)
#define PTXGRAFT_FAULTS_20(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_19(__VA_ARGS__)
#define PTXGRAFT_FAULTS_21(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_20(__VA_ARGS__)
#define PTXGRAFT_FAULTS_22(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_21(__VA_ARGS__)
#define PTXGRAFT_FAULTS_23(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_22(__VA_ARGS__)
#define PTXGRAFT_FAULTS_24(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_23(__VA_ARGS__)
#define PTXGRAFT_FAULTS_25(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_24(__VA_ARGS__)
#define PTXGRAFT_FAULTS_26(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_25(__VA_ARGS__)
#define PTXGRAFT_FAULTS_27(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_26(__VA_ARGS__)
#define PTXGRAFT_FAULTS_28(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_27(__VA_ARGS__)
#define PTXGRAFT_FAULTS_29(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_28(__VA_ARGS__)
#define PTXGRAFT_FAULTS_30(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_29(__VA_ARGS__)
#define PTXGRAFT_FAULTS_31(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_30(__VA_ARGS__)
#define PTXGRAFT_FAULTS_32(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_31(__VA_ARGS__)
#define PTXGRAFT_FAULTS_33(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_32(__VA_ARGS__)
#define PTXGRAFT_FAULTS_34(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_33(__VA_ARGS__)
#define PTXGRAFT_FAULTS_35(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_34(__VA_ARGS__)
#define PTXGRAFT_FAULTS_36(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_35(__VA_ARGS__)
#define PTXGRAFT_FAULTS_37(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_36(__VA_ARGS__)
#define PTXGRAFT_FAULTS_38(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_37(__VA_ARGS__)
#define PTXGRAFT_FAULTS_39(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_38(__VA_ARGS__)
#define PTXGRAFT_FAULTS_40(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_39(__VA_ARGS__)
#define PTXGRAFT_FAULTS_41(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_40(__VA_ARGS__)
#define PTXGRAFT_FAULTS_42(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_41(__VA_ARGS__)
#define PTXGRAFT_FAULTS_43(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_42(__VA_ARGS__)
#define PTXGRAFT_FAULTS_44(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_43(__VA_ARGS__)
#define PTXGRAFT_FAULTS_45(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_44(__VA_ARGS__)
#define PTXGRAFT_FAULTS_46(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_45(__VA_ARGS__)
#define PTXGRAFT_FAULTS_47(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_46(__VA_ARGS__)
#define PTXGRAFT_FAULTS_48(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_47(__VA_ARGS__)
#define PTXGRAFT_FAULTS_49(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_48(__VA_ARGS__)
#define PTXGRAFT_FAULTS_50(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_49(__VA_ARGS__)
#define PTXGRAFT_FAULTS_51(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_50(__VA_ARGS__)
#define PTXGRAFT_FAULTS_52(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_51(__VA_ARGS__)
#define PTXGRAFT_FAULTS_53(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_52(__VA_ARGS__)
#define PTXGRAFT_FAULTS_54(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_53(__VA_ARGS__)
#define PTXGRAFT_FAULTS_55(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_54(__VA_ARGS__)
#define PTXGRAFT_FAULTS_56(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_55(__VA_ARGS__)
#define PTXGRAFT_FAULTS_57(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_56(__VA_ARGS__)
#define PTXGRAFT_FAULTS_58(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_57(__VA_ARGS__)
#define PTXGRAFT_FAULTS_59(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_58(__VA_ARGS__)
#define PTXGRAFT_FAULTS_60(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_59(__VA_ARGS__)
#define PTXGRAFT_FAULTS_61(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_60(__VA_ARGS__)
#define PTXGRAFT_FAULTS_62(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_61(__VA_ARGS__)
#define PTXGRAFT_FAULTS_63(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_62(__VA_ARGS__)
#define PTXGRAFT_FAULTS_64(op, ...) PTXGRAFT_FAULT(op, PTXGRAFT_FAULT_##op) PTXGRAFT_FAULTS_63(__VA_ARGS__)

// EACH_hTu applies M to the elements 0 … hTu-1 of a fragment: M(tens, unit, …), tens empty below ten.
#define PTXGRAFT_EACH_00(M, u, ...) PTXGRAFT_PART_##u(M, , 0, 0, __VA_ARGS__)
#define PTXGRAFT_EACH_01(M, u, ...) PTXGRAFT_TEN(M, , 0, 0, __VA_ARGS__) PTXGRAFT_PART_##u(M, 1, 0, 1, __VA_ARGS__)
#define PTXGRAFT_EACH_02(M, u, ...) PTXGRAFT_EACH_01(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 1, 0, 1, __VA_ARGS__) PTXGRAFT_PART_##u(M, 2, 0, 2, __VA_ARGS__)
#define PTXGRAFT_EACH_03(M, u, ...) PTXGRAFT_EACH_02(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 2, 0, 2, __VA_ARGS__) PTXGRAFT_PART_##u(M, 3, 0, 3, __VA_ARGS__)
#define PTXGRAFT_EACH_04(M, u, ...) PTXGRAFT_EACH_03(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 3, 0, 3, __VA_ARGS__) PTXGRAFT_PART_##u(M, 4, 0, 4, __VA_ARGS__)
#define PTXGRAFT_EACH_05(M, u, ...) PTXGRAFT_EACH_04(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 4, 0, 4, __VA_ARGS__) PTXGRAFT_PART_##u(M, 5, 0, 5, __VA_ARGS__)
#define PTXGRAFT_EACH_06(M, u, ...) PTXGRAFT_EACH_05(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 5, 0, 5, __VA_ARGS__) PTXGRAFT_PART_##u(M, 6, 0, 6, __VA_ARGS__)
#define PTXGRAFT_EACH_07(M, u, ...) PTXGRAFT_EACH_06(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 6, 0, 6, __VA_ARGS__) PTXGRAFT_PART_##u(M, 7, 0, 7, __VA_ARGS__)
#define PTXGRAFT_EACH_08(M, u, ...) PTXGRAFT_EACH_07(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 7, 0, 7, __VA_ARGS__) PTXGRAFT_PART_##u(M, 8, 0, 8, __VA_ARGS__)
#define PTXGRAFT_EACH_09(M, u, ...) PTXGRAFT_EACH_08(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 8, 0, 8, __VA_ARGS__) PTXGRAFT_PART_##u(M, 9, 0, 9, __VA_ARGS__)
#define PTXGRAFT_EACH_10(M, u, ...) PTXGRAFT_EACH_09(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 9, 0, 9, __VA_ARGS__) PTXGRAFT_PART_##u(M, 10, 1, 0, __VA_ARGS__)
#define PTXGRAFT_EACH_11(M, u, ...) PTXGRAFT_EACH_10(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 10, 1, 0, __VA_ARGS__) PTXGRAFT_PART_##u(M, 11, 1, 1, __VA_ARGS__)
#define PTXGRAFT_EACH_12(M, u, ...) PTXGRAFT_EACH_11(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 11, 1, 1, __VA_ARGS__) PTXGRAFT_PART_##u(M, 12, 1, 2, __VA_ARGS__)
#define PTXGRAFT_EACH_13(M, u, ...) PTXGRAFT_EACH_12(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 12, 1, 2, __VA_ARGS__) PTXGRAFT_PART_##u(M, 13, 1, 3, __VA_ARGS__)
#define PTXGRAFT_EACH_14(M, u, ...) PTXGRAFT_EACH_13(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 13, 1, 3, __VA_ARGS__) PTXGRAFT_PART_##u(M, 14, 1, 4, __VA_ARGS__)
#define PTXGRAFT_EACH_15(M, u, ...) PTXGRAFT_EACH_14(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 14, 1, 4, __VA_ARGS__) PTXGRAFT_PART_##u(M, 15, 1, 5, __VA_ARGS__)
#define PTXGRAFT_EACH_16(M, u, ...) PTXGRAFT_EACH_15(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 15, 1, 5, __VA_ARGS__) PTXGRAFT_PART_##u(M, 16, 1, 6, __VA_ARGS__)
#define PTXGRAFT_EACH_17(M, u, ...) PTXGRAFT_EACH_16(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 16, 1, 6, __VA_ARGS__) PTXGRAFT_PART_##u(M, 17, 1, 7, __VA_ARGS__)
#define PTXGRAFT_EACH_18(M, u, ...) PTXGRAFT_EACH_17(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 17, 1, 7, __VA_ARGS__) PTXGRAFT_PART_##u(M, 18, 1, 8, __VA_ARGS__)
#define PTXGRAFT_EACH_19(M, u, ...) PTXGRAFT_EACH_18(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 18, 1, 8, __VA_ARGS__) PTXGRAFT_PART_##u(M, 19, 1, 9, __VA_ARGS__)
#define PTXGRAFT_EACH_20(M, u, ...) PTXGRAFT_EACH_19(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 19, 1, 9, __VA_ARGS__) PTXGRAFT_PART_##u(M, 20, 2, 0, __VA_ARGS__)
#define PTXGRAFT_EACH_21(M, u, ...) PTXGRAFT_EACH_20(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 20, 2, 0, __VA_ARGS__) PTXGRAFT_PART_##u(M, 21, 2, 1, __VA_ARGS__)
#define PTXGRAFT_EACH_22(M, u, ...) PTXGRAFT_EACH_21(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 21, 2, 1, __VA_ARGS__) PTXGRAFT_PART_##u(M, 22, 2, 2, __VA_ARGS__)
#define PTXGRAFT_EACH_23(M, u, ...) PTXGRAFT_EACH_22(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 22, 2, 2, __VA_ARGS__) PTXGRAFT_PART_##u(M, 23, 2, 3, __VA_ARGS__)
#define PTXGRAFT_EACH_24(M, u, ...) PTXGRAFT_EACH_23(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 23, 2, 3, __VA_ARGS__) PTXGRAFT_PART_##u(M, 24, 2, 4, __VA_ARGS__)
#define PTXGRAFT_EACH_25(M, u, ...) PTXGRAFT_EACH_24(M, 0, __VA_ARGS__) PTXGRAFT_TEN(M, 24, 2, 4, __VA_ARGS__) PTXGRAFT_PART_##u(M, 25, 2, 5, __VA_ARGS__)
#define PTXGRAFT_PART_0(M, ...)
#define PTXGRAFT_PART_1(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_2(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_3(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_4(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__) M(b, 3, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_5(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__) M(b, 3, bh, bt, __VA_ARGS__) M(b, 4, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_6(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__) M(b, 3, bh, bt, __VA_ARGS__) M(b, 4, bh, bt, __VA_ARGS__) M(b, 5, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_7(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__) M(b, 3, bh, bt, __VA_ARGS__) M(b, 4, bh, bt, __VA_ARGS__) M(b, 5, bh, bt, __VA_ARGS__) M(b, 6, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_8(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__) M(b, 3, bh, bt, __VA_ARGS__) M(b, 4, bh, bt, __VA_ARGS__) M(b, 5, bh, bt, __VA_ARGS__) M(b, 6, bh, bt, __VA_ARGS__) M(b, 7, bh, bt, __VA_ARGS__)
#define PTXGRAFT_PART_9(M, b, bh, bt, ...) M(b, 0, bh, bt, __VA_ARGS__) M(b, 1, bh, bt, __VA_ARGS__) M(b, 2, bh, bt, __VA_ARGS__) M(b, 3, bh, bt, __VA_ARGS__) M(b, 4, bh, bt, __VA_ARGS__) M(b, 5, bh, bt, __VA_ARGS__) M(b, 6, bh, bt, __VA_ARGS__) M(b, 7, bh, bt, __VA_ARGS__) M(b, 8, bh, bt, __VA_ARGS__)
#define PTXGRAFT_TEN(M, b, bh, bt, ...) PTXGRAFT_PART_9(M, b, bh, bt, __VA_ARGS__) M(b, 9, bh, bt, __VA_ARGS__)

// The digits of a count, and the sum of two digits as carry and digit.
#define PTXGRAFT_DIGITS_1 0, 0, 1
#define PTXGRAFT_DIGITS_2 0, 0, 2
#define PTXGRAFT_DIGITS_3 0, 0, 3
#define PTXGRAFT_DIGITS_4 0, 0, 4
#define PTXGRAFT_DIGITS_5 0, 0, 5
#define PTXGRAFT_DIGITS_6 0, 0, 6
#define PTXGRAFT_DIGITS_7 0, 0, 7
#define PTXGRAFT_DIGITS_8 0, 0, 8
#define PTXGRAFT_DIGITS_9 0, 0, 9
#define PTXGRAFT_DIGITS_10 0, 1, 0
#define PTXGRAFT_DIGITS_11 0, 1, 1
#define PTXGRAFT_DIGITS_12 0, 1, 2
#define PTXGRAFT_DIGITS_13 0, 1, 3
#define PTXGRAFT_DIGITS_14 0, 1, 4
#define PTXGRAFT_DIGITS_15 0, 1, 5
#define PTXGRAFT_DIGITS_16 0, 1, 6
#define PTXGRAFT_DIGITS_17 0, 1, 7
#define PTXGRAFT_DIGITS_18 0, 1, 8
#define PTXGRAFT_DIGITS_19 0, 1, 9
#define PTXGRAFT_DIGITS_20 0, 2, 0
#define PTXGRAFT_DIGITS_21 0, 2, 1
#define PTXGRAFT_DIGITS_22 0, 2, 2
#define PTXGRAFT_DIGITS_23 0, 2, 3
#define PTXGRAFT_DIGITS_24 0, 2, 4
#define PTXGRAFT_DIGITS_25 0, 2, 5
#define PTXGRAFT_DIGITS_26 0, 2, 6
#define PTXGRAFT_DIGITS_27 0, 2, 7
#define PTXGRAFT_DIGITS_28 0, 2, 8
#define PTXGRAFT_DIGITS_29 0, 2, 9
#define PTXGRAFT_DIGITS_30 0, 3, 0
#define PTXGRAFT_DIGITS_31 0, 3, 1
#define PTXGRAFT_DIGITS_32 0, 3, 2
#define PTXGRAFT_DIGITS_33 0, 3, 3
#define PTXGRAFT_DIGITS_34 0, 3, 4
#define PTXGRAFT_DIGITS_35 0, 3, 5
#define PTXGRAFT_DIGITS_36 0, 3, 6
#define PTXGRAFT_DIGITS_37 0, 3, 7
#define PTXGRAFT_DIGITS_38 0, 3, 8
#define PTXGRAFT_DIGITS_39 0, 3, 9
#define PTXGRAFT_DIGITS_40 0, 4, 0
#define PTXGRAFT_DIGITS_41 0, 4, 1
#define PTXGRAFT_DIGITS_42 0, 4, 2
#define PTXGRAFT_DIGITS_43 0, 4, 3
#define PTXGRAFT_DIGITS_44 0, 4, 4
#define PTXGRAFT_DIGITS_45 0, 4, 5
#define PTXGRAFT_DIGITS_46 0, 4, 6
#define PTXGRAFT_DIGITS_47 0, 4, 7
#define PTXGRAFT_DIGITS_48 0, 4, 8
#define PTXGRAFT_DIGITS_49 0, 4, 9
#define PTXGRAFT_DIGITS_50 0, 5, 0
#define PTXGRAFT_DIGITS_51 0, 5, 1
#define PTXGRAFT_DIGITS_52 0, 5, 2
#define PTXGRAFT_DIGITS_53 0, 5, 3
#define PTXGRAFT_DIGITS_54 0, 5, 4
#define PTXGRAFT_DIGITS_55 0, 5, 5
#define PTXGRAFT_DIGITS_56 0, 5, 6
#define PTXGRAFT_DIGITS_57 0, 5, 7
#define PTXGRAFT_DIGITS_58 0, 5, 8
#define PTXGRAFT_DIGITS_59 0, 5, 9
#define PTXGRAFT_DIGITS_60 0, 6, 0
#define PTXGRAFT_DIGITS_61 0, 6, 1
#define PTXGRAFT_DIGITS_62 0, 6, 2
#define PTXGRAFT_DIGITS_63 0, 6, 3
#define PTXGRAFT_DIGITS_64 0, 6, 4
#define PTXGRAFT_DIGITS_65 0, 6, 5
#define PTXGRAFT_DIGITS_66 0, 6, 6
#define PTXGRAFT_DIGITS_67 0, 6, 7
#define PTXGRAFT_DIGITS_68 0, 6, 8
#define PTXGRAFT_DIGITS_69 0, 6, 9
#define PTXGRAFT_DIGITS_70 0, 7, 0
#define PTXGRAFT_DIGITS_71 0, 7, 1
#define PTXGRAFT_DIGITS_72 0, 7, 2
#define PTXGRAFT_DIGITS_73 0, 7, 3
#define PTXGRAFT_DIGITS_74 0, 7, 4
#define PTXGRAFT_DIGITS_75 0, 7, 5
#define PTXGRAFT_DIGITS_76 0, 7, 6
#define PTXGRAFT_DIGITS_77 0, 7, 7
#define PTXGRAFT_DIGITS_78 0, 7, 8
#define PTXGRAFT_DIGITS_79 0, 7, 9
#define PTXGRAFT_DIGITS_80 0, 8, 0
#define PTXGRAFT_DIGITS_81 0, 8, 1
#define PTXGRAFT_DIGITS_82 0, 8, 2
#define PTXGRAFT_DIGITS_83 0, 8, 3
#define PTXGRAFT_DIGITS_84 0, 8, 4
#define PTXGRAFT_DIGITS_85 0, 8, 5
#define PTXGRAFT_DIGITS_86 0, 8, 6
#define PTXGRAFT_DIGITS_87 0, 8, 7
#define PTXGRAFT_DIGITS_88 0, 8, 8
#define PTXGRAFT_DIGITS_89 0, 8, 9
#define PTXGRAFT_DIGITS_90 0, 9, 0
#define PTXGRAFT_DIGITS_91 0, 9, 1
#define PTXGRAFT_DIGITS_92 0, 9, 2
#define PTXGRAFT_DIGITS_93 0, 9, 3
#define PTXGRAFT_DIGITS_94 0, 9, 4
#define PTXGRAFT_DIGITS_95 0, 9, 5
#define PTXGRAFT_DIGITS_96 0, 9, 6
#define PTXGRAFT_DIGITS_97 0, 9, 7
#define PTXGRAFT_DIGITS_98 0, 9, 8
#define PTXGRAFT_DIGITS_99 0, 9, 9
#define PTXGRAFT_DIGITS_100 1, 0, 0
#define PTXGRAFT_DIGITS_101 1, 0, 1
#define PTXGRAFT_DIGITS_102 1, 0, 2
#define PTXGRAFT_DIGITS_103 1, 0, 3
#define PTXGRAFT_DIGITS_104 1, 0, 4
#define PTXGRAFT_DIGITS_105 1, 0, 5
#define PTXGRAFT_DIGITS_106 1, 0, 6
#define PTXGRAFT_DIGITS_107 1, 0, 7
#define PTXGRAFT_DIGITS_108 1, 0, 8
#define PTXGRAFT_DIGITS_109 1, 0, 9
#define PTXGRAFT_DIGITS_110 1, 1, 0
#define PTXGRAFT_DIGITS_111 1, 1, 1
#define PTXGRAFT_DIGITS_112 1, 1, 2
#define PTXGRAFT_DIGITS_113 1, 1, 3
#define PTXGRAFT_DIGITS_114 1, 1, 4
#define PTXGRAFT_DIGITS_115 1, 1, 5
#define PTXGRAFT_DIGITS_116 1, 1, 6
#define PTXGRAFT_DIGITS_117 1, 1, 7
#define PTXGRAFT_DIGITS_118 1, 1, 8
#define PTXGRAFT_DIGITS_119 1, 1, 9
#define PTXGRAFT_DIGITS_120 1, 2, 0
#define PTXGRAFT_DIGITS_121 1, 2, 1
#define PTXGRAFT_DIGITS_122 1, 2, 2
#define PTXGRAFT_DIGITS_123 1, 2, 3
#define PTXGRAFT_DIGITS_124 1, 2, 4
#define PTXGRAFT_DIGITS_125 1, 2, 5
#define PTXGRAFT_DIGITS_126 1, 2, 6
#define PTXGRAFT_DIGITS_127 1, 2, 7
#define PTXGRAFT_DIGITS_128 1, 2, 8
#define PTXGRAFT_DIGITS_129 1, 2, 9
#define PTXGRAFT_DIGITS_130 1, 3, 0
#define PTXGRAFT_DIGITS_131 1, 3, 1
#define PTXGRAFT_DIGITS_132 1, 3, 2
#define PTXGRAFT_DIGITS_133 1, 3, 3
#define PTXGRAFT_DIGITS_134 1, 3, 4
#define PTXGRAFT_DIGITS_135 1, 3, 5
#define PTXGRAFT_DIGITS_136 1, 3, 6
#define PTXGRAFT_DIGITS_137 1, 3, 7
#define PTXGRAFT_DIGITS_138 1, 3, 8
#define PTXGRAFT_DIGITS_139 1, 3, 9
#define PTXGRAFT_DIGITS_140 1, 4, 0
#define PTXGRAFT_DIGITS_141 1, 4, 1
#define PTXGRAFT_DIGITS_142 1, 4, 2
#define PTXGRAFT_DIGITS_143 1, 4, 3
#define PTXGRAFT_DIGITS_144 1, 4, 4
#define PTXGRAFT_DIGITS_145 1, 4, 5
#define PTXGRAFT_DIGITS_146 1, 4, 6
#define PTXGRAFT_DIGITS_147 1, 4, 7
#define PTXGRAFT_DIGITS_148 1, 4, 8
#define PTXGRAFT_DIGITS_149 1, 4, 9
#define PTXGRAFT_DIGITS_150 1, 5, 0
#define PTXGRAFT_DIGITS_151 1, 5, 1
#define PTXGRAFT_DIGITS_152 1, 5, 2
#define PTXGRAFT_DIGITS_153 1, 5, 3
#define PTXGRAFT_DIGITS_154 1, 5, 4
#define PTXGRAFT_DIGITS_155 1, 5, 5
#define PTXGRAFT_DIGITS_156 1, 5, 6
#define PTXGRAFT_DIGITS_157 1, 5, 7
#define PTXGRAFT_DIGITS_158 1, 5, 8
#define PTXGRAFT_DIGITS_159 1, 5, 9
#define PTXGRAFT_DIGITS_160 1, 6, 0
#define PTXGRAFT_DIGITS_161 1, 6, 1
#define PTXGRAFT_DIGITS_162 1, 6, 2
#define PTXGRAFT_DIGITS_163 1, 6, 3
#define PTXGRAFT_DIGITS_164 1, 6, 4
#define PTXGRAFT_DIGITS_165 1, 6, 5
#define PTXGRAFT_DIGITS_166 1, 6, 6
#define PTXGRAFT_DIGITS_167 1, 6, 7
#define PTXGRAFT_DIGITS_168 1, 6, 8
#define PTXGRAFT_DIGITS_169 1, 6, 9
#define PTXGRAFT_DIGITS_170 1, 7, 0
#define PTXGRAFT_DIGITS_171 1, 7, 1
#define PTXGRAFT_DIGITS_172 1, 7, 2
#define PTXGRAFT_DIGITS_173 1, 7, 3
#define PTXGRAFT_DIGITS_174 1, 7, 4
#define PTXGRAFT_DIGITS_175 1, 7, 5
#define PTXGRAFT_DIGITS_176 1, 7, 6
#define PTXGRAFT_DIGITS_177 1, 7, 7
#define PTXGRAFT_DIGITS_178 1, 7, 8
#define PTXGRAFT_DIGITS_179 1, 7, 9
#define PTXGRAFT_DIGITS_180 1, 8, 0
#define PTXGRAFT_DIGITS_181 1, 8, 1
#define PTXGRAFT_DIGITS_182 1, 8, 2
#define PTXGRAFT_DIGITS_183 1, 8, 3
#define PTXGRAFT_DIGITS_184 1, 8, 4
#define PTXGRAFT_DIGITS_185 1, 8, 5
#define PTXGRAFT_DIGITS_186 1, 8, 6
#define PTXGRAFT_DIGITS_187 1, 8, 7
#define PTXGRAFT_DIGITS_188 1, 8, 8
#define PTXGRAFT_DIGITS_189 1, 8, 9
#define PTXGRAFT_DIGITS_190 1, 9, 0
#define PTXGRAFT_DIGITS_191 1, 9, 1
#define PTXGRAFT_DIGITS_192 1, 9, 2
#define PTXGRAFT_DIGITS_193 1, 9, 3
#define PTXGRAFT_DIGITS_194 1, 9, 4
#define PTXGRAFT_DIGITS_195 1, 9, 5
#define PTXGRAFT_DIGITS_196 1, 9, 6
#define PTXGRAFT_DIGITS_197 1, 9, 7
#define PTXGRAFT_DIGITS_198 1, 9, 8
#define PTXGRAFT_DIGITS_199 1, 9, 9
#define PTXGRAFT_DIGITS_200 2, 0, 0
#define PTXGRAFT_DIGITS_201 2, 0, 1
#define PTXGRAFT_DIGITS_202 2, 0, 2
#define PTXGRAFT_DIGITS_203 2, 0, 3
#define PTXGRAFT_DIGITS_204 2, 0, 4
#define PTXGRAFT_DIGITS_205 2, 0, 5
#define PTXGRAFT_DIGITS_206 2, 0, 6
#define PTXGRAFT_DIGITS_207 2, 0, 7
#define PTXGRAFT_DIGITS_208 2, 0, 8
#define PTXGRAFT_DIGITS_209 2, 0, 9
#define PTXGRAFT_DIGITS_210 2, 1, 0
#define PTXGRAFT_DIGITS_211 2, 1, 1
#define PTXGRAFT_DIGITS_212 2, 1, 2
#define PTXGRAFT_DIGITS_213 2, 1, 3
#define PTXGRAFT_DIGITS_214 2, 1, 4
#define PTXGRAFT_DIGITS_215 2, 1, 5
#define PTXGRAFT_DIGITS_216 2, 1, 6
#define PTXGRAFT_DIGITS_217 2, 1, 7
#define PTXGRAFT_DIGITS_218 2, 1, 8
#define PTXGRAFT_DIGITS_219 2, 1, 9
#define PTXGRAFT_DIGITS_220 2, 2, 0
#define PTXGRAFT_DIGITS_221 2, 2, 1
#define PTXGRAFT_DIGITS_222 2, 2, 2
#define PTXGRAFT_DIGITS_223 2, 2, 3
#define PTXGRAFT_DIGITS_224 2, 2, 4
#define PTXGRAFT_DIGITS_225 2, 2, 5
#define PTXGRAFT_DIGITS_226 2, 2, 6
#define PTXGRAFT_DIGITS_227 2, 2, 7
#define PTXGRAFT_DIGITS_228 2, 2, 8
#define PTXGRAFT_DIGITS_229 2, 2, 9
#define PTXGRAFT_DIGITS_230 2, 3, 0
#define PTXGRAFT_DIGITS_231 2, 3, 1
#define PTXGRAFT_DIGITS_232 2, 3, 2
#define PTXGRAFT_DIGITS_233 2, 3, 3
#define PTXGRAFT_DIGITS_234 2, 3, 4
#define PTXGRAFT_DIGITS_235 2, 3, 5
#define PTXGRAFT_DIGITS_236 2, 3, 6
#define PTXGRAFT_DIGITS_237 2, 3, 7
#define PTXGRAFT_DIGITS_238 2, 3, 8
#define PTXGRAFT_DIGITS_239 2, 3, 9
#define PTXGRAFT_DIGITS_240 2, 4, 0
#define PTXGRAFT_DIGITS_241 2, 4, 1
#define PTXGRAFT_DIGITS_242 2, 4, 2
#define PTXGRAFT_DIGITS_243 2, 4, 3
#define PTXGRAFT_DIGITS_244 2, 4, 4
#define PTXGRAFT_DIGITS_245 2, 4, 5
#define PTXGRAFT_DIGITS_246 2, 4, 6
#define PTXGRAFT_DIGITS_247 2, 4, 7
#define PTXGRAFT_DIGITS_248 2, 4, 8
#define PTXGRAFT_DIGITS_249 2, 4, 9
#define PTXGRAFT_DIGITS_250 2, 5, 0
#define PTXGRAFT_DIGITS_251 2, 5, 1
#define PTXGRAFT_DIGITS_252 2, 5, 2
#define PTXGRAFT_DIGITS_253 2, 5, 3
#define PTXGRAFT_DIGITS_254 2, 5, 4
#define PTXGRAFT_DIGITS_255 2, 5, 5
#define PTXGRAFT_DIGITS_256 2, 5, 6
#define PTXGRAFT_ADD_00 0, 0
#define PTXGRAFT_ADD_01 0, 1
#define PTXGRAFT_ADD_02 0, 2
#define PTXGRAFT_ADD_03 0, 3
#define PTXGRAFT_ADD_04 0, 4
#define PTXGRAFT_ADD_05 0, 5
#define PTXGRAFT_ADD_06 0, 6
#define PTXGRAFT_ADD_07 0, 7
#define PTXGRAFT_ADD_08 0, 8
#define PTXGRAFT_ADD_09 0, 9
#define PTXGRAFT_ADD_10 0, 1
#define PTXGRAFT_ADD_11 0, 2
#define PTXGRAFT_ADD_12 0, 3
#define PTXGRAFT_ADD_13 0, 4
#define PTXGRAFT_ADD_14 0, 5
#define PTXGRAFT_ADD_15 0, 6
#define PTXGRAFT_ADD_16 0, 7
#define PTXGRAFT_ADD_17 0, 8
#define PTXGRAFT_ADD_18 0, 9
#define PTXGRAFT_ADD_19 1, 0
#define PTXGRAFT_ADD_20 0, 2
#define PTXGRAFT_ADD_21 0, 3
#define PTXGRAFT_ADD_22 0, 4
#define PTXGRAFT_ADD_23 0, 5
#define PTXGRAFT_ADD_24 0, 6
#define PTXGRAFT_ADD_25 0, 7
#define PTXGRAFT_ADD_26 0, 8
#define PTXGRAFT_ADD_27 0, 9
#define PTXGRAFT_ADD_28 1, 0
#define PTXGRAFT_ADD_29 1, 1
#define PTXGRAFT_ADD_30 0, 3
#define PTXGRAFT_ADD_31 0, 4
#define PTXGRAFT_ADD_32 0, 5
#define PTXGRAFT_ADD_33 0, 6
#define PTXGRAFT_ADD_34 0, 7
#define PTXGRAFT_ADD_35 0, 8
#define PTXGRAFT_ADD_36 0, 9
#define PTXGRAFT_ADD_37 1, 0
#define PTXGRAFT_ADD_38 1, 1
#define PTXGRAFT_ADD_39 1, 2
#define PTXGRAFT_ADD_40 0, 4
#define PTXGRAFT_ADD_41 0, 5
#define PTXGRAFT_ADD_42 0, 6
#define PTXGRAFT_ADD_43 0, 7
#define PTXGRAFT_ADD_44 0, 8
#define PTXGRAFT_ADD_45 0, 9
#define PTXGRAFT_ADD_46 1, 0
#define PTXGRAFT_ADD_47 1, 1
#define PTXGRAFT_ADD_48 1, 2
#define PTXGRAFT_ADD_49 1, 3
#define PTXGRAFT_ADD_50 0, 5
#define PTXGRAFT_ADD_51 0, 6
#define PTXGRAFT_ADD_52 0, 7
#define PTXGRAFT_ADD_53 0, 8
#define PTXGRAFT_ADD_54 0, 9
#define PTXGRAFT_ADD_55 1, 0
#define PTXGRAFT_ADD_56 1, 1
#define PTXGRAFT_ADD_57 1, 2
#define PTXGRAFT_ADD_58 1, 3
#define PTXGRAFT_ADD_59 1, 4
#define PTXGRAFT_ADD_60 0, 6
#define PTXGRAFT_ADD_61 0, 7
#define PTXGRAFT_ADD_62 0, 8
#define PTXGRAFT_ADD_63 0, 9
#define PTXGRAFT_ADD_64 1, 0
#define PTXGRAFT_ADD_65 1, 1
#define PTXGRAFT_ADD_66 1, 2
#define PTXGRAFT_ADD_67 1, 3
#define PTXGRAFT_ADD_68 1, 4
#define PTXGRAFT_ADD_69 1, 5
#define PTXGRAFT_ADD_70 0, 7
#define PTXGRAFT_ADD_71 0, 8
#define PTXGRAFT_ADD_72 0, 9
#define PTXGRAFT_ADD_73 1, 0
#define PTXGRAFT_ADD_74 1, 1
#define PTXGRAFT_ADD_75 1, 2
#define PTXGRAFT_ADD_76 1, 3
#define PTXGRAFT_ADD_77 1, 4
#define PTXGRAFT_ADD_78 1, 5
#define PTXGRAFT_ADD_79 1, 6
#define PTXGRAFT_ADD_80 0, 8
#define PTXGRAFT_ADD_81 0, 9
#define PTXGRAFT_ADD_82 1, 0
#define PTXGRAFT_ADD_83 1, 1
#define PTXGRAFT_ADD_84 1, 2
#define PTXGRAFT_ADD_85 1, 3
#define PTXGRAFT_ADD_86 1, 4
#define PTXGRAFT_ADD_87 1, 5
#define PTXGRAFT_ADD_88 1, 6
#define PTXGRAFT_ADD_89 1, 7
#define PTXGRAFT_ADD_90 0, 9
#define PTXGRAFT_ADD_91 1, 0
#define PTXGRAFT_ADD_92 1, 1
#define PTXGRAFT_ADD_93 1, 2
#define PTXGRAFT_ADD_94 1, 3
#define PTXGRAFT_ADD_95 1, 4
#define PTXGRAFT_ADD_96 1, 5
#define PTXGRAFT_ADD_97 1, 6
#define PTXGRAFT_ADD_98 1, 7
#define PTXGRAFT_ADD_99 1, 8
