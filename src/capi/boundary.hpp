#pragma once
/// @file boundary.hpp
/// The C boundary: arguments are checked, C++ is called, errors become a status and a message. Nothing is
/// thrown.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/structs.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::capi {

/// An error as C gets it: its text, and its place in the text that it brings.
struct Described {
    std::string message;
    Position place{0, 0};
    std::uint32_t index = 0;
    std::shared_ptr<const SourceText> source = {};  ///< null when the error has no place
};
[[nodiscard]] Described describe_error(const Error& error);

/// Keeps the error's text for ptxgraft_error_get_message() and gives its status.
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
template <class Body> ptxgraft_status call(std::initializer_list<Required> required, Body&& body) noexcept {
    try {
        Expected<void> done = check_required(required);
        if (done) done = std::forward<Body>(body)();
        return done ? PTXGRAFT_STATUS_ok : report(done.error());
    } catch (...) { return report_exception(); }
}

/// Runs a getter that cannot fail; of a null object, `name` in ptxgraft.h, it reports that and gives `none`.
template <class Object, class Value, class Get>
Value get(const Object* object, const char* name, Value none, Get&& body) noexcept {
    if (object) return body(*object);
    call({{object, name}}, [] { return Expected<void>(); });
    return none;
}

/// Hands a new object to the caller.
template <class Object, class Inner> [[nodiscard]] Expected<void> give(Object** out, Expected<Inner> inner) {
    if (!inner) return tl::unexpected(std::move(inner.error()));
    *out = new Object{std::move(*inner)};
    return {};
}

/// Errc::buffer_too_small of a list.
[[nodiscard]] tl::unexpected<Error> too_few(std::size_t needed, std::size_t given);

/// The two calls of ptxgraft.h: the size needed, or the whole text with its zero, or nothing and an error.
[[nodiscard]] Expected<void> give_text(char* buffer, std::size_t* size, std::string_view text);
[[nodiscard]] Expected<void> give_bytes(void* buffer, std::size_t* size, const void* bytes,
                                        std::size_t count);

/// The same for a list, of which `*count` counts the elements.
template <class T, class List>
[[nodiscard]] Expected<void> give_list(T* list, std::size_t* count, const List& all) {
    const std::size_t capacity = std::exchange(*count, std::size(all));
    if (!list) return {};
    if (capacity < std::size(all)) return too_few(std::size(all), capacity);
    std::copy(std::begin(all), std::end(all), list);
    return {};
}

/// The machine code of a cubin; Errc::machine_code_missing when it is null.
[[nodiscard]] Expected<void> give_image(void* buffer, std::size_t* size, const Cubin* cubin);

/// A field that holds an enumerator, from 0 to `last`.
struct Enumerator {
    const char* field;
    int value;
    int last;
};
[[nodiscard]] Expected<void> check_enumerators(std::initializer_list<Enumerator> all);

/// Errc::argument_invalid when `index` is not below `count`; `what` is the noun of the message.
[[nodiscard]] Expected<void> check_index(std::size_t index, std::size_t count, const char* what);

/// Errc::argument_invalid when a list that should have `count` elements is null, or no list has as many;
/// `count_field` says so many.
[[nodiscard]] Expected<void> check_list(const void* list, std::size_t count, const char* field,
                                        const char* count_field);
/// An error about an element of a list, which it has as its index.
[[nodiscard]] tl::unexpected<Error> fail_at(std::size_t index, std::string detail);
/// A text that the caller gave. Errc::text_too_large, before it is read.
[[nodiscard]] Expected<std::string_view> text_at(const char* text, std::size_t size);
/// Copies a list of zero-terminated strings, none of them null.
[[nodiscard]] Expected<void> copy_strings(std::vector<std::string>& to, const char* const* list,
                                          std::size_t count, const char* field, const char* count_field);

/// The error of a call whose text the caller gave: names that text, unless the error brings its own.
[[nodiscard]] Error with_source(Error error, std::string_view text, std::string_view name);

template <class T>
[[nodiscard]] Expected<T> with_source(Expected<T> result, std::string_view text, std::string_view name) {
    if (!result) return tl::unexpected(with_source(std::move(result.error()), text, name));
    return result;
}

}  // namespace ptxgraft::capi
