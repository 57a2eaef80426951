#pragma once
/// @file try.hpp
/// TRY(call): the value of an Expected, or the end of the function with its error.
///
///     const Module module = TRY(parse(text));
///     TRY(check(module));
///
/// It stands as the whole right side of a declaration or an assignment, or as a statement: the temporaries of
/// a larger expression would be lost on the way out. (A statement expression of GCC and clang.)

#include <utility>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

template <class T> T value_of(Expected<T>&& expected) { return *std::move(expected); }
inline void value_of(Expected<void>&&) {}

}  // namespace ptxgraft

#define TRY(...)                                                    \
    __extension__({                                                 \
        auto tried = __VA_ARGS__;                                   \
        if (!tried) [[unlikely]]                                    \
            return tl::unexpected<Error>(std::move(tried).error()); \
        ::ptxgraft::value_of(std::move(tried));                     \
    })
