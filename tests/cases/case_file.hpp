#pragma once
// The form of a case: a PTX module with the errors that it must give in comments on their lines. README.md,
// beside this file, describes it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/emulator_checks.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::cases {

/// What a comment says of the error on its line: `// error: CODE at COLUMN [CHECK, fatal] "TEXT"`.
struct Mark {
    std::string code;
    std::optional<std::uint32_t> column = {};  ///< none: it does not matter
    std::optional<EmulatorCheck> check = {};   ///< of the emulator, that finds it
    bool is_fatal = false;                     ///< the launch fails without any check, too
    std::optional<std::string> text = {};      ///< a part of the message; none: it does not matter
    friend bool operator==(const Mark&, const Mark&) = default;
};
[[nodiscard]] std::string to_text(const Mark& mark);

/// An error as the product gives it.
struct Given {
    std::uint32_t line = 1, column = 0;  ///< of one without a place: the first line, column 0
    std::string code, message;
    std::optional<EmulatorCheck> check = {};
    bool is_fatal = false;
    std::vector<std::uint32_t> named = {};  ///< the other lines that the message names, as "line 12"
};
[[nodiscard]] Given given(const Error& error, std::string_view text);

/// How a case is launched: entry `k`, with the address of a buffer.
struct Launch {
    std::uint32_t grid = 1, block = 1, cluster = 1;
    std::size_t words = 0;
    std::uint32_t fill = 0;  ///< each word
    bool is_iota = false;    ///< the words are 0, 1, 2 …
    EmulatorChecks checks = EmulatorChecks::all();
};

/// A case as it is read. `text` is the whole file, comments included.
struct Case {
    std::string text;
    std::optional<Launch> launch = {};
    bool does_ptxas_agree = true;  ///< ptxas refuses what has errors, and takes what has none
    bool has_twin = false;
    std::string twin = {};  ///< the same module without its mistake
};
/// Reads a file's settings. Anything that is no setting of a case is an error, with its line.
[[nodiscard]] Expected<Case> read_case(std::string text);

/// The file with what the product gives in place of what is expected; a line whose comments are right stays
/// as it is, byte for byte.
[[nodiscard]] std::string rebased(const Case& wanted, const std::vector<Given>& all);
/// "", or each line whose comments are not right: where it is, what is expected, what the product gave.
[[nodiscard]] std::string difference(const Case& wanted, const std::vector<Given>& all,
                                     std::string_view file);

}  // namespace ptxgraft::cases
