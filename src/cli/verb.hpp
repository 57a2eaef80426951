#pragma once
/// @file verb.hpp
/// The verbs of the program, one file each, and how a verb ends.

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

/// A text as one word of a shell.
[[nodiscard]] std::string shell_word(std::string_view text);

/// "load", "store" …: those that there are.
[[nodiscard]] std::vector<std::string> effect_names(Effect effects);

// Each adds its subcommand.
void add_compile(CLI::App& app);
void add_sites(CLI::App& app);
void add_stub(CLI::App& app);
void add_set(CLI::App& app);
void add_graft(CLI::App& app);
void add_templates(CLI::App& app);
void add_template(CLI::App& app);
void add_try(CLI::App& app);
void add_roundtrip(CLI::App& app);
void add_canonical(CLI::App& app);
void add_dump(CLI::App& app);
void add_verify(CLI::App& app);
void add_isa(CLI::App& app);
void add_run(CLI::App& app);
void add_devices(CLI::App& app);
void add_cache(CLI::App& app);
void add_search(CLI::App& app);
void add_worker(CLI::App& app);
void add_doctor(CLI::App& app);
void add_completion(CLI::App& app);  // behind all others, whose words it knows

}  // namespace ptxgraft::cli
