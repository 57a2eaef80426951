// Collects what the PTX of a source depends on: every header that its text may include, as a preprocessor
// would search for it.

#include "link/cache_key.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>
#include <unordered_set>

#include "link/embedded.hpp"
#include "link/files.hpp"
#include "link/toolkit.hpp"

namespace ptxgraft::link {
namespace {

namespace fs = std::filesystem;

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Takes out the line ends that a backslash escapes, so that a directive is one line.
std::string join_lines(std::string_view text) {
    std::string joined;
    joined.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\') {
            std::size_t end = i + 1;
            while (end < text.size() && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r')) ++end;
            if (end < text.size() && text[end] == '\n') {
                i = end;
                continue;
            }
        }
        joined += text[i];
    }
    return joined;
}

// Past blanks and `/* */` comments.
std::size_t skip_blanks(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        if (text[at] == ' ' || text[at] == '\t' || text[at] == '\v' || text[at] == '\f') {
            ++at;
        } else if (text.substr(at, 2) == "/*") {
            const std::size_t end = text.find("*/", at + 2);
            if (end == std::string_view::npos) return text.size();
            at = end + 2;
        } else {
            break;
        }
    }
    return at;
}

// Whether `#` or `%:` stands before the word at `at`, with blanks and comments between.
bool is_directive(std::string_view text, std::size_t at) {
    while (at > 0) {
        const char c = text[at - 1];
        if (c == ' ' || c == '\t' || c == '\v' || c == '\f') {
            --at;
        } else if (at >= 2 && text.substr(at - 2, 2) == "*/") {
            const std::size_t begin = text.rfind("/*", at - 2);
            if (begin == std::string_view::npos) return false;
            at = begin;
        } else {
            return c == '#' || (c == ':' && at >= 2 && text[at - 2] == '%');
        }
    }
    return false;
}

// One word after which a file name may stand.
struct Word {
    std::string_view text;
    bool directive;  // after `#`; else followed by `(`
};
constexpr Word words[] = {{"include", true},
                          {"include_next", true},
                          {"import", true},
                          {"__has_include", false},
                          {"__has_include_next", false}};

const Word* word_at(std::string_view text, std::size_t begin, std::size_t end) {
    const auto* found = std::find_if(std::begin(words), std::end(words), [&](const Word& w) {
        return w.text == text.substr(begin, end - begin);
    });
    return found == std::end(words) ? nullptr : found;
}

void add_name(std::string_view text, std::size_t at, Includes& includes) {
    if (at >= text.size()) return;
    if (text[at] != '"' && text[at] != '<') {
        includes.computed |= is_name_character(text[at]);
        return;
    }
    const std::size_t end = text.find_first_of(text[at] == '"' ? "\"\n" : ">\n", at + 1);
    if (end != std::string_view::npos && text[end] != '\n')
        includes.names.push_back(text.substr(at + 1, end - at - 1));
}

// Everything that the preprocessor may read, found by following names through every folder that it may
// search.
class Closure {
  public:
    Closure(std::vector<std::string> own, std::vector<std::string> toolkit)
        : own_(std::move(own)), toolkit_(std::move(toolkit)) {}

    // False when what is read cannot be told.
    bool add(std::string_view source, const std::string& folder, KeyBuilder& key) {
        if (!follow(source, folder, false)) return false;
        while (!pending_.empty()) {
            const File file = std::move(pending_.front());
            pending_.pop_front();
            key.add(file.path);
            key.add(file.text);
            if (!follow(file.text, fs::path(file.path).parent_path().string(), file.of_toolkit)) return false;
        }
        return true;
    }

  private:
    struct File {
        std::string path, text;
        bool of_toolkit;
    };

    bool follow(std::string_view text, const std::string& folder, bool of_toolkit) {
        const std::string joined = join_lines(text);
        const Includes includes = find_includes(joined);
        // The toolkit's own macros (Thrust includes by macro) depend on its version, which is in the key.
        const bool changes = includes.computed || joined.find("__TIME__") != std::string::npos ||
                             joined.find("__DATE__") != std::string::npos ||
                             joined.find("__TIMESTAMP__") != std::string::npos;
        if (changes && !of_toolkit) return false;
        for (const auto name : includes.names) {
            try_file(fs::path(folder) / name, of_toolkit);
            for (const auto& dir : own_) try_file(fs::path(dir) / name, false);
            for (const auto& dir : toolkit_) try_file(fs::path(dir) / name, true);
        }
        return true;
    }

    void try_file(const fs::path& path, bool of_toolkit) {
        std::string name = path.string();
        if (!tried_.insert(name).second) return;
        if (auto text = read_file(name)) pending_.push_back({std::move(name), std::move(*text), of_toolkit});
    }

    std::vector<std::string> own_, toolkit_;
    std::unordered_set<std::string> tried_;
    std::deque<File> pending_;
};

// Options that read or write files of their own.
bool names_files(std::string_view option) {
    constexpr std::string_view marks[] = {"-include", "pch", "-time", "options-file"};
    if (option.find("-include-path") != std::string_view::npos) return false;
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](auto mark) { return option.find(mark) != std::string_view::npos; });
}

// The folders of `-I DIR`, `-IDIR`, `--include-path=DIR`.
std::vector<std::string> option_include_dirs(const std::vector<std::string>& options) {
    std::vector<std::string> dirs;
    for (std::size_t i = 0; i < options.size(); ++i) {
        for (const std::string_view name : {"-I", "--include-path", "-include-path"}) {
            std::string_view option = options[i];
            if (!option.starts_with(name)) continue;
            option.remove_prefix(name.size());
            if (option.starts_with('=')) option.remove_prefix(1);
            if (!option.empty())
                dirs.emplace_back(option);
            else if (i + 1 < options.size())
                dirs.push_back(options[i + 1]);
        }
    }
    return dirs;
}

}  // namespace

Includes find_includes(std::string_view text) {
    Includes includes;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_name_character(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && is_name_character(text[end])) ++end;
        if (const Word* word = word_at(text, at, end)) {
            const std::size_t next = skip_blanks(text, end);
            if (word->directive && is_directive(text, at)) add_name(text, next, includes);
            if (!word->directive && next < text.size() && text[next] == '(')
                add_name(text, skip_blanks(text, next + 1), includes);
        }
        at = end;
    }
    return includes;
}

std::optional<Key> compilation_key(std::string_view source, const CudaOptions& options,
                                   const std::vector<std::string>& arguments) {
    if (std::any_of(options.options.begin(), options.options.end(), names_files)) return std::nullopt;
    KeyBuilder key;
    key.add("compile_cuda " PTXGRAFT_VERSION_STRING);
    key.add(nvrtc_identity());
    key.add(site_cuh);
    key.add(options.file_name);
    key.add(source);
    for (const auto& argument : arguments) key.add(argument);
    // Line information holds the current folder.
    std::error_code error;
    if (!options.options.empty()) key.add(fs::current_path(error).string());

    std::vector<std::string> own = options.include_dirs;
    const auto more = option_include_dirs(options.options);
    own.insert(own.end(), more.begin(), more.end());
    const std::string folder = fs::path(options.file_name).parent_path().string();
    own.push_back(folder);
    own.emplace_back();
    Closure closure(std::move(own),
                    options.toolkit_headers ? toolkit_include_dirs() : std::vector<std::string>());
    // The embedded header is not looked up on disk, but what it includes is.
    if (!closure.add(site_cuh, folder, key) || !closure.add(source, folder, key)) return std::nullopt;
    return key.key();
}

}  // namespace ptxgraft::link
