// Frames as bytes: a header, and what link/archive.hpp makes of a struct. Numbers are little-endian, as the
// machines are on which this is built.

#include "measure/worker/frame_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ptxgraft::measure {

static_assert(std::endian::native == std::endian::little);

template <class Archive, Is<WorkerInfo> T> void visit(Archive& archive, T& hello) {
    auto& [library, assembler, driver, device, uuid, target, l2_bytes, multiprocessors, has_network] = hello;
    archive(library, assembler, driver, device, uuid, target, l2_bytes, multiprocessors, has_network);
}
template <class Archive, Is<OpenRequest> T> void visit(Archive& archive, T& request) {
    auto& [workload, text] = request;
    archive(workload, text);
}
template <class Archive, Is<Opened> T> void visit(Archive& archive, T& opened) {
    auto& [hash, launches, seconds] = opened;
    archive(hash, launches, seconds);
}
template <class Archive, Is<CheckRequest> T> void visit(Archive& archive, T& request) {
    auto& [workload, variant] = request;
    archive(workload, variant);
}
template <class Archive, Is<HealthRequest> T> void visit(Archive& archive, T& request) {
    auto& [workload] = request;
    archive(workload);
}
template <class Archive, Is<ProgressFrame> T> void visit(Archive& archive, T& progress) {
    auto& [phase, beat, variant] = progress;
    archive(phase, beat, variant);
}
template <class Archive, Is<CheckedCase> T> void visit(Archive& archive, T& where) {
    auto& [shape, regime, seed] = where;
    archive(shape, regime, seed);
}
template <class Archive, Is<Check> T> void visit(Archive& archive, T& check) {
    auto& [finding, worst, got, wanted, allowed, tensor, element, where, cases, instructions, error] = check;
    archive(finding, worst, got, wanted, allowed, tensor, element, where, cases, instructions, error);
}

namespace {

constexpr Finding last_finding = Finding::crashed;
constexpr Regime last_regime = Regime::special;

}  // namespace

Expected<FrameHeader> decode_header(std::string_view bytes) {
    FrameHeader header;
    if (bytes.size() < sizeof header)
        return fail(Errc::frame_malformed,
                    fmt::format("a header has {} bytes, not {}", sizeof header, bytes.size()));
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.version != FrameHeader{}.version)
        return fail(Errc::frame_malformed,
                    fmt::format("it is of version {}, not {}", header.version, FrameHeader{}.version));
    if (header.kind < FrameKind::hello || header.kind > FrameKind::bye)
        return fail(Errc::frame_malformed,
                    fmt::format("there is no kind {}", static_cast<unsigned>(header.kind)));
    if (header.length > longest_payload)
        return fail(Errc::frame_malformed, fmt::format("{} bytes are more than a frame may have, {}",
                                                       header.length, longest_payload));
    return header;
}

std::uint64_t workload_key(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string encode(const WorkerInfo& hello) { return frame_of_content(FrameKind::hello, 0, hello); }
std::string encode(std::uint64_t id, const OpenRequest& request) {
    return frame_of_content(FrameKind::open, id, request);
}
std::string encode(std::uint64_t id, std::uint64_t workload, const VariantCode& variant) {
    return frame_of(FrameKind::check, id, [&](Writer& writer) { writer(workload, variant); });
}
std::string encode(std::uint64_t id, const HealthRequest& request) {
    return frame_of_content(FrameKind::health, id, request);
}
std::string encode(std::uint64_t id, const ProgressFrame& progress) {
    return frame_of_content(FrameKind::progress, id, progress);
}
std::string encode(std::uint64_t id, const Expected<Opened>& result) { return frame_of_result(id, result); }
std::string encode(std::uint64_t id, const Expected<Check>& result) { return frame_of_result(id, result); }
std::string encode_bye(std::string_view why) { return frame_of_content(FrameKind::bye, 0, why); }

Expected<WorkerInfo> decode_hello(std::string_view payload) {
    return content_of<WorkerInfo>(Reader(payload), "hello");
}
Expected<OpenRequest> decode_open(std::string_view payload) {
    return content_of<OpenRequest>(Reader(payload), "request to open");
}
Expected<CheckRequest> decode_check(std::string_view payload) {
    return content_of<CheckRequest>(Reader(payload), "request to check");
}
Expected<HealthRequest> decode_health(std::string_view payload) {
    return content_of<HealthRequest>(Reader(payload), "request for the baseline");
}
Expected<ProgressFrame> decode_progress(std::string_view payload) {
    auto progress = content_of<ProgressFrame>(Reader(payload), "progress");
    if (progress && progress->phase > FramePhase::session) return malformed("progress");
    return progress;
}
Expected<Opened> decode_opened(std::string_view payload) {
    auto opened = result_of<Opened>(Reader(payload), "opened workload");
    if (opened && !(opened->seconds >= 0 && opened->seconds < 1e9)) return malformed("opened workload");
    return opened;
}
Expected<Check> decode_checked(std::string_view payload) {
    auto check = result_of<Check>(Reader(payload), "check");
    if (check && (check->finding > last_finding || check->where.regime > last_regime))
        return malformed("check");
    return check;
}
Expected<std::string> decode_bye(std::string_view payload) {
    return content_of<std::string>(Reader(payload), "bye");
}

}  // namespace ptxgraft::measure
