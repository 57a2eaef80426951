#pragma once
/// @file expression.hpp
/// Expressions of a manifest: PTX's constant expressions (ptxgraft/constant.hpp) with names in them.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::templates {

/// An expression, and where it stands in the manifest.
struct Formula {
    std::string text;
    Span span = {};
};

/// What names stand for: numbers, and words, which are equal or not.
class Names {
  public:
    void set(std::string_view name, std::int64_t number) { numbers_[std::string(name)] = number; }
    /// `name` stands for a word, which `==` compares, and of which `sizeof(name)` is the bytes if it is a
    /// type.
    void set_word(std::string_view name, std::string_view word);
    /// A word that stands for itself.
    void add_word(std::string_view word);

    /// The value; nothing where a name in it is unknown, which `unknown` then is. Errors:
    /// Errc::manifest_invalid at the expression, in `manifest`.
    [[nodiscard]] Expected<std::optional<std::int64_t>> value_if_known(
        const Formula& formula, const std::shared_ptr<const SourceText>& manifest,
        std::string* unknown = nullptr) const;
    /// The value; a name that is unknown is an error too.
    [[nodiscard]] Expected<std::int64_t> value(const Formula& formula,
                                               const std::shared_ptr<const SourceText>& manifest) const;
    /// The word that a name stands for; empty for a number or another name.
    [[nodiscard]] std::string_view word_of(std::string_view name) const;

    /// The number that a name stands for, or the one of its word.
    [[nodiscard]] std::optional<std::int64_t> find(std::string_view name) const;

  private:
    std::map<std::string, std::int64_t, std::less<>> numbers_;
    std::map<std::string, std::string, std::less<>> words_;
    std::map<std::string, std::int64_t, std::less<>> ids_;  // of words
};

/// Bytes of an element of a type, tf32 among them; 0 for a word that is no type.
[[nodiscard]] std::uint32_t bytes_of_type(std::string_view type);
/// The type whose elements a tensor has in memory: tf32 is stored as f32.
[[nodiscard]] std::string_view stored_type(std::string_view type);

/// An error of a manifest, at its place.
[[nodiscard]] tl::unexpected<Error> manifest_error(const std::shared_ptr<const SourceText>& manifest,
                                                   Span span, std::string why);

}  // namespace ptxgraft::templates
