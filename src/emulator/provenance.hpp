#pragma once
/// @file provenance.hpp
/// Where the instruction of an error comes from: the source that PTX was made of, and the calls that led there.

#include <span>
#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::emulator {

/// Adds it to the error's detail: source lines where `.loc` says so; `calls` are the call instructions of the functions
/// that run, the innermost first.
[[nodiscard]] Error with_provenance(Error error, std::string_view text, std::span<const Span> calls);

/// `, from k.cu:12:5 in f`: the source of an instruction, where `.loc` says what it is.
[[nodiscard]] std::string source_of(std::string_view text, Span instruction);

}  // namespace ptxgraft::emulator
