#pragma once
/// @file verb.hpp
/// The verbs of the program, one file of verbs/ each, and how a verb ends.

#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/site.hpp"

namespace CLI {
class App;
}

namespace ptxgraft::cli {

/// Exit statuses of the program. Where a signal ended the work it is 128 and the signal's number.
enum Status : int { succeeded = 0, work_failed = 1, wrong_usage = 2 };

/// Thrown to end a verb: what to write to standard error (whole lines, or nothing) and the exit status.
struct Failure {
    std::string text;
    Status status = work_failed;
};

/// Ends the verb because the command line makes no sense.
[[noreturn]] void fail_usage(std::string_view message);

/// Ends the verb with a described error; `source` is the text that the error's span refers to.
[[noreturn]] void fail_work(const Error& error, std::string_view source = {}, std::string_view file = {});

/// The value, or the end of the verb.
template <class T> T take(Expected<T> result, std::string_view source = {}, std::string_view file = {}) {
    if (!result) fail_work(result.error(), source, file);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// `NAME=VALUE`, split at the first '='. Ends the verb when there is none; `option` is named in the message.
struct NamedValue {
    std::string name, value;
};
[[nodiscard]] NamedValue split_named(std::string_view option, std::string_view text);

/// For an option that takes a number from 0 on: what is wrong with its text. CLI11 takes -1 for 2^64 - 1.
[[nodiscard]] std::string wrong_from_zero(const std::string& text);

/// A text as one word of a shell.
[[nodiscard]] std::string shell_word(std::string_view text);

/// "load", "store" …: those that there are.
[[nodiscard]] std::vector<std::string> effect_names(Effect effects);

// Each adds its subcommand.
#define PTXGRAFT_VERB(name) void add_##name(CLI::App& app);
#include "verbs/verbs.def"
#undef PTXGRAFT_VERB

}  // namespace ptxgraft::cli
