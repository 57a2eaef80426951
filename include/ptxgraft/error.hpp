#pragma once
/// @file error.hpp
/// Errors are values: every function that can fail returns `Expected<T>`, which holds the result or an
/// `Error`. The library never prints, never aborts and never reads the environment. `std::bad_alloc` is its
/// only exception; calls that devices and the emulator offer give Errc::out_of_memory instead.
///
/// @code
/// auto module = ptxgraft::syntax::parse(text);
/// if (!module) std::cerr << ptxgraft::describe(module.error(), text, "kernel.ptx");
/// // kernel.ptx:12:17: error: expected ';' after the instruction
/// //     add.f32 %f1, %f2, %f3
/// //                          ^
/// @endcode

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "ptxgraft/api.hpp"

namespace ptxgraft {

/// What went wrong. The values are fixed and equal the C API's status codes; messages stand in errc.def.
enum class Errc : std::uint16_t {
#define PTXGRAFT_ERRC(name, value, message) name = value,
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
};

/// A range of bytes [begin, end) of a source text; `none` when an error has no place.
struct Span {
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    std::uint32_t begin = none;
    std::uint32_t end = none;

    [[nodiscard]] constexpr bool known() const { return begin != none; }
    friend constexpr bool operator==(Span, Span) = default;
};

/// A text that an error's span is in, for errors in texts that the caller does not hold: a file that the
/// library read, PTX that it rendered.
struct SourceText {
    std::string name;  ///< for the place in `describe`: a path, or what the text is
    std::string text;
};

/// One error: its code, its place in the source that the failing call was given, and, where the place is not
/// enough, a detail (a log, a name). Cheap to copy; making one without a detail does not allocate.
struct Error {
    Errc code = Errc::ok;
    Span span = {};
    std::uint32_t index = 0;  ///< which of several inputs (program of a batch, argument of a launch), from 0
    std::shared_ptr<const std::string> detail = {};
    std::shared_ptr<const SourceText> source = {};  ///< when set, what `span` is in; `describe` prefers it
    /// A GPU's context is lost with it ("sticky"): every later call on the device fails in this process, and
    /// another process has to go on. Of any other error only the call failed. See Device::health().
    bool context_lost = false;
};

template <class T> using Expected = tl::expected<T, Error>;

/// Makes the error branch of an `Expected`. The only place where errors are made: break here to stop at any
/// of them.
[[nodiscard]] PTXGRAFT_API tl::unexpected<Error> fail(Errc code, Span span = {});
[[nodiscard]] PTXGRAFT_API tl::unexpected<Error> fail(Errc code, Span span, std::string detail);
[[nodiscard]] PTXGRAFT_API tl::unexpected<Error> fail(Errc code, std::string detail);

/// The enumerator's name: "file_not_found".
[[nodiscard]] PTXGRAFT_API std::string_view name(Errc code);

/// A line and column of a text, both from 1; columns count bytes.
struct Position {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
};
[[nodiscard]] PTXGRAFT_API Position position(std::string_view source, std::uint32_t offset);

/// The message alone, on one line where the detail is one line: "cannot open a.ptx".
[[nodiscard]] PTXGRAFT_API std::string message(const Error& error, std::string_view source = {});

/// The message with its place: `FILE:LINE:COL: error: …`, then the line and a caret. Without a known span:
/// `FILE: error: …`; without a file name: `error: …`. Ends with a newline. `source` is the text given to the
/// failing call; it may be empty. An error that brings its own source shows that one.
[[nodiscard]] PTXGRAFT_API std::string describe(const Error& error, std::string_view source = {},
                                                std::string_view file = {});

}  // namespace ptxgraft
