// The memory of this process, as Linux lists it in /proc/self/maps (proc(5)).

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

#include "emulator/memory/memory.hpp"

namespace ptxgraft::emulator {
namespace {

// Behind it is what the kernel has: [vsyscall], which data of a program never is.
constexpr std::uint64_t end_of_process = std::uint64_t{1} << 47;

std::uint64_t hexadecimal(std::string_view digits) {
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
}

// A line is "7f0a1c000000-7f0a1c021000 rw-p …". A region of no bytes for what cannot be read.
Region region_of(std::string_view line) {
    const std::size_t dash = line.find('-'), blank = line.find(' ');
    if (dash > blank || blank + 2 >= line.size() || line[blank + 1] != 'r') return {};
    const std::uint64_t begin = hexadecimal(line.substr(0, dash));
    const std::uint64_t end = hexadecimal(line.substr(dash + 1, blank - dash - 1));
    if (begin == 0 || end <= begin || end > end_of_process) return {};
    return {.begin = begin,
            .bytes = end - begin,
            .host = reinterpret_cast<std::byte*>(begin),
            .read_only = line[blank + 2] != 'w'};
}

void add(std::vector<Region>& all, const Region& region) {
    if (!all.empty() && all.back().begin + all.back().bytes == region.begin &&
        all.back().read_only == region.read_only)
        all.back().bytes += region.bytes;
    else
        all.push_back(region);
}

}  // namespace

std::vector<Region> process_memory() {
    std::vector<Region> all;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (const Region region = region_of(line); region.bytes != 0) add(all, region);
    return all;
}

}  // namespace ptxgraft::emulator
