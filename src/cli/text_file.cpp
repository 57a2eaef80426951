// Files and standard input, read whole.

#include "text_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace ptxgraft::cli {
namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string because(const std::string& path) { return fmt::format("{}: {}", path, std::strerror(errno)); }

Expected<std::string> read_all(std::FILE* file, const std::string& path) {
    std::string text;
    std::array<char, 1 << 16> block;
    while (const std::size_t count = std::fread(block.data(), 1, block.size(), file))
        text.append(block.data(), count);
    if (std::ferror(file)) return fail(Errc::file_not_readable, because(path));  // a directory ends here
    return text;
}

}  // namespace

Expected<std::string> read_file(const std::string& path) {
    if (path == "-") return read_all(stdin, "standard input");
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) return fail(Errc::file_not_found, because(path));
    return read_all(file.get(), path);
}

Expected<std::string> read_array_file(const std::string& path) {
    std::error_code error;
    const auto kind = std::filesystem::status(path, error).type();
    if (kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::block)
        return fail(Errc::file_not_readable, fmt::format("{}: it is a device, not a file of numbers", path));
    return read_file(path);
}

std::string display_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

}  // namespace ptxgraft::cli
