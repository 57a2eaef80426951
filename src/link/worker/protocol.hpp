#pragma once
// What a pool and its workers say to each other, through a socket: messages of a header and a payload. Both
// are of one version of ptxgraft, which the first message shows; yet neither believes a size that the other
// sends.
//
//     worker: Hello, or an Error, once it has started
//     pool:   Request                 worker: `begun` once it has it, then a Cubin or an Error

#include <cstdint>
#include <string>
#include <string_view>

#include "ptxgraft/link.hpp"

namespace ptxgraft::link::worker {

/// The worker's arguments are this, the assembler's name, and the bytes of memory that it may allocate.
inline constexpr std::string_view protocol = "serve-1";

enum class Kind : std::uint16_t { hello = 1, request = 2, begun = 3, result = 4 };

struct Header {
    std::uint32_t magic = 0x4b575450;  ///< "PTWK"
    std::uint16_t version = 1;
    Kind kind = {};
    std::uint64_t size = 0;  ///< of the payload in bytes
};
static_assert(sizeof(Header) == 16);

/// Whether a header is one of this version and of that kind.
[[nodiscard]] bool is_header_of(const Header& header, Kind kind);

struct Hello {
    std::string library;             ///< PTXGRAFT_VERSION_STRING
    std::string assembler, version;  ///< "nvptxcompiler", "13.5.37"
    friend bool operator==(const Hello&, const Hello&) = default;
};

/// `options.stop` stays behind.
struct Request {
    std::string ptx;
    AssembleOptions options;
};

/// Whole messages, with their headers.
[[nodiscard]] std::string encode(const Expected<Hello>& hello);
[[nodiscard]] std::string encode(std::string_view ptx, const AssembleOptions& options);
[[nodiscard]] std::string encode_begun();
[[nodiscard]] std::string encode(const Expected<Cubin>& result);

/// The content of a payload, or the error that the other side has sent. Errc::internal_error for bytes that
/// are cut, too many, or mean nothing.
[[nodiscard]] Expected<Hello> decode_hello(std::string_view payload);
[[nodiscard]] Expected<Request> decode_request(std::string_view payload);
[[nodiscard]] Expected<Cubin> decode_result(std::string_view payload);

}  // namespace ptxgraft::link::worker
