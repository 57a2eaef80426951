#pragma once
/// @file provenance.hpp
/// Where the instruction of an error comes from: the source that PTX was made of, and the calls that led
/// there.

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::emulator {

/// Of one module's text, which is parsed when somebody asks. Thread-safe.
class Provenance {
  public:
    explicit Provenance(std::string_view text) : text_(text) {}
    [[nodiscard]] std::string_view text() const { return text_; }
    /// The source lines of the statement at an offset, as `.loc` says; the innermost first.
    [[nodiscard]] std::vector<syntax::SourceLine> lines(std::uint32_t offset) const;
    /// Adds to the error's detail the source lines, and those of the calls: instructions of the functions
    /// that run, the innermost first.
    [[nodiscard]] Error add_to(Error error, std::span<const Span> calls) const;
    /// `, from k.cu:12:5 in f`, after `word`: the source of the statement at an offset; empty where no `.loc`
    /// says it.
    [[nodiscard]] std::string source_of(std::uint32_t offset, std::string_view word) const;

  private:
    std::string_view text_;
    mutable std::mutex mutex_;
    mutable bool is_parsed_ = false;
    mutable std::optional<syntax::Module> module_;
};

}  // namespace ptxgraft::emulator
