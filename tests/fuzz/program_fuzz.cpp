// The input as the bytes of a program, as it is and with length and checksum made right: what is read is
// what the bytes say.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ptxgraft/program.hpp"
#include "stub/stack/program/layout.hpp"

namespace {

using namespace ptxgraft;

void require(bool holds) {
    if (!holds) std::abort();
}

void read(const std::vector<std::byte>& bytes) {
    const auto program = stack::program_from_bytes(bytes);
    if (!program) {
        require(program.error().code == Errc::program_bytes_malformed);
        require(program.error().span.end <= bytes.size());
        return;
    }
    stack::ProgramHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    require(stack::to_bytes(*program, header.machine) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::transform(data, data + size, bytes.begin(), [](std::uint8_t b) { return std::byte{b}; });
    read(bytes);
    if (size < sizeof(stack::ProgramHeader)) return 0;
    stack::ProgramHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.magic = stack::bytes_magic, header.version = stack::bytes_version, header.size = size;
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = stack::checksum_of(bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    read(bytes);
    return 0;
}
