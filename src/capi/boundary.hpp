#pragma once
/// @file boundary.hpp
/// The C boundary: arguments are checked, C++ is called, errors become a status and a message. Nothing is
/// thrown.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "ptxgraft/error.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::capi {

/// Keeps the error's text for ptxgraft_error_message() and gives its status.
ptxgraft_status report(const Error& error) noexcept;
/// The same for the exception that is being handled.
ptxgraft_status report_exception() noexcept;

/// A pointer that must not be null, and its name in ptxgraft.h.
struct Required {
    const void* pointer;
    const char* name;
};
[[nodiscard]] Expected<void> check_required(std::initializer_list<Required> all);

/// Runs the body of a C function, which returns Expected<void>.
template <class Body>
ptxgraft_status call(std::initializer_list<Required> required, Body&& body) noexcept {
    try {
        Expected<void> done = check_required(required);
        if (done) done = std::forward<Body>(body)();
        return done ? PTXGRAFT_OK : report(done.error());
    } catch (...) {
        return report_exception();
    }
}

/// Hands a new object to the caller.
template <class Object, class Inner>
[[nodiscard]] Expected<void> give(Object** out, Expected<Inner> inner) {
    if (!inner) return tl::unexpected(std::move(inner.error()));
    *out = new Object{std::move(*inner)};
    return {};
}

/// Hands a value to the caller.
template <class T>
[[nodiscard]] Expected<void> give_value(T* out, T value) {
    *out = value;
    return {};
}

/// The two calls of ptxgraft.h: the size needed, or the whole text with its zero, or nothing and an error.
[[nodiscard]] Expected<void> give_text(char* buffer, std::size_t* size, std::string_view text);
[[nodiscard]] Expected<void> give_bytes(void* buffer, std::size_t* size, const void* bytes,
                                        std::size_t count);

[[nodiscard]] tl::unexpected<Error> wrong_struct_size(std::size_t given, std::size_t known);

/// An option struct of the caller, or the defaults; also those of what an earlier version, of one of the
/// `earlier` sizes, lacks.
template <class Struct>
[[nodiscard]] Expected<Struct> options_of(const Struct* given, const Struct& defaults,
                                          std::initializer_list<std::size_t> earlier = {}) {
    if (!given) return defaults;
    const std::size_t size = given->struct_size;
    const bool is_known =
        size == sizeof(Struct) || std::find(earlier.begin(), earlier.end(), size) != earlier.end();
    if (!is_known) return wrong_struct_size(size, sizeof(Struct));
    Struct result = defaults;
    std::memcpy(&result, given, size);
    return result;
}

/// Fills an info struct of the caller.
template <class Struct>
[[nodiscard]] Expected<void> give_info(Struct* out, const Struct& info) {
    if (out->struct_size != sizeof(Struct)) return wrong_struct_size(out->struct_size, sizeof(Struct));
    *out = info;
    return {};
}

/// Errc::invalid_argument when `index` is not below `count`; `what` is the noun of the message.
[[nodiscard]] Expected<void> check_index(std::size_t index, std::size_t count, const char* what);

/// The error of a call whose text the caller gave: names that text, unless the error brings its own.
[[nodiscard]] Error with_source(Error error, std::string_view text, std::string_view name);

template <class T>
[[nodiscard]] Expected<T> with_source(Expected<T> result, std::string_view text, std::string_view name) {
    if (!result) return tl::unexpected(with_source(std::move(result.error()), text, name));
    return result;
}

}  // namespace ptxgraft::capi
