#pragma once
// Frames: what a pool and its workers say to each other over any two byte streams. README.md has the bytes.
//
//     pool                      worker
//                               hello    once it has started; its end where it does not
//     open                      progress*, result: Expected<Opened>
//     check                     progress*, result: Expected<Check>
//     health                    progress*, result: Expected<Check>, of the baseline
//     time                      progress*, result: Expected<Timed>
//     bye                       its end
//
// A worker ends with `bye`, and why, when it gets what is no frame. Neither side believes a size that the
// other sends.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/measure/pool.hpp"

namespace ptxgraft::measure {

/// How many workloads a worker keeps open, each with its inputs and right results in memory; of more, it
/// closes the one that was opened first.
inline constexpr std::size_t most_open = 8;

enum class FrameKind : std::uint16_t {
    hello = 1,
    open = 2,
    check = 3,
    time = 4,
    health = 5,
    progress = 6,
    result = 7,
    bye = 8,
};

struct FrameHeader {
    std::uint32_t length = 0;  ///< bytes of the payload
    std::uint16_t version = 1;
    FrameKind kind = {};
    std::uint64_t id = 0;  ///< of a request; its progress and its result have the same; else 0
};
static_assert(sizeof(FrameHeader) == 16);

/// PTX of a large GEMM is 2 MB.
inline constexpr std::uint32_t longest_payload = 256u << 20;

/// The header of a frame, from its 16 bytes. Errors: Errc::frame_malformed, also for a payload that is longer
/// than `longest_payload`.
[[nodiscard]] Expected<FrameHeader> decode_header(std::string_view bytes);

struct OpenRequest {
    std::uint64_t workload = 0;  ///< its number from now on: workload_key() of the text
    std::string text;
};
struct Opened {
    std::uint64_t hash = 0;      ///< Workload::hash
    std::uint32_t launches = 1;  ///< of a variant that is right
    double seconds = 0;          ///< of one launch of the baseline, the slowest
};
struct CheckRequest {
    std::uint64_t workload = 0;
    VariantCode variant;
};
struct HealthRequest {
    std::uint64_t workload = 0;
};
struct TimeRequest {
    std::uint64_t workload = 0;
    std::vector<VariantCode> variants = {};  ///< none: the session is only to be closed
    TimingOptions timing = {};
    Protocol protocol = {};      ///< without `progress`
    std::uint32_t requests = 0;  ///< behind so many the session measures its baseline again
};
/// What a session says of a request.
struct Timed {
    Report report = {};  ///< Sample::variant and in_flight count the request's variants
    SessionFacts session = {};
    std::uint64_t session_id = 0;
    std::optional<Closing> closing = {};  ///< of all results of this Session since its last calibration
};
/// What a request has come to.
enum class FramePhase : std::uint16_t {
    open,     ///< a workload is compiled, its right results are made
    load,     ///< a variant is being put on the device
    launch,   ///< launch number `beat` is under way
    compare,  ///< results are compared
    session,  ///< a session is opened: the baseline is launched and compared
};
struct ProgressFrame {
    FramePhase phase = FramePhase::load;
    std::uint64_t beat = 0;  ///< one more each time
    /// Of timing: whose launch or load it is, from 1 in the order of the request; 0: the baseline's.
    std::uint32_t variant = 0;
};

inline constexpr std::size_t most_timed = 15;  ///< variants of a request, as Session::compare takes them

/// The fields of a protocol as bytes: equal ones have equal bytes.
[[nodiscard]] std::string bytes_of(const Protocol& protocol);

/// The number of a workload: of its text.
[[nodiscard]] std::uint64_t workload_key(std::string_view text);

/// Whole frames.
[[nodiscard]] std::string encode(const WorkerInfo& hello);
[[nodiscard]] std::string encode(std::uint64_t id, const OpenRequest& request);
[[nodiscard]] std::string encode(std::uint64_t id, std::uint64_t workload, const VariantCode& variant);
[[nodiscard]] std::string encode(std::uint64_t id, const HealthRequest& request);
[[nodiscard]] std::string encode(std::uint64_t id, const TimeRequest& request);
[[nodiscard]] std::string encode(std::uint64_t id, const ProgressFrame& progress);
[[nodiscard]] std::string encode(std::uint64_t id, const Expected<Opened>& result);
[[nodiscard]] std::string encode(std::uint64_t id, const Expected<Check>& result);
[[nodiscard]] std::string encode(std::uint64_t id, const Expected<Timed>& result);
[[nodiscard]] std::string encode_bye(std::string_view why = {});

/// The content of a payload, or the error that the other side has sent. Errc::frame_malformed for bytes that
/// are cut, too many, or mean nothing.
[[nodiscard]] Expected<WorkerInfo> decode_hello(std::string_view payload);
[[nodiscard]] Expected<OpenRequest> decode_open(std::string_view payload);
[[nodiscard]] Expected<CheckRequest> decode_check(std::string_view payload);
[[nodiscard]] Expected<HealthRequest> decode_health(std::string_view payload);
[[nodiscard]] Expected<TimeRequest> decode_time(std::string_view payload);
[[nodiscard]] Expected<ProgressFrame> decode_progress(std::string_view payload);
[[nodiscard]] Expected<Opened> decode_opened(std::string_view payload);
[[nodiscard]] Expected<Check> decode_checked(std::string_view payload);
[[nodiscard]] Expected<Timed> decode_timed(std::string_view payload);
[[nodiscard]] Expected<std::string> decode_bye(std::string_view payload);

}  // namespace ptxgraft::measure
