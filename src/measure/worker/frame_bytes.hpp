#pragma once
/// @file frame_bytes.hpp
/// Frames as bytes: a header, and what link/archive.hpp makes of a struct.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "link/archive.hpp"
#include "measure/worker/frames.hpp"

namespace ptxgraft::measure {

using link::Is;
using link::Reader;
using link::Writer;

template <class Archive, Is<VariantCode> T> void visit(Archive& archive, T& variant) {
    auto& [ptx, entry, cubin] = variant;
    archive(ptx, entry, cubin);
}

// What `write(Writer&)` writes, behind its header.
template <class Write> std::string frame_of(FrameKind kind, std::uint64_t id, const Write& write) {
    std::string bytes(sizeof(FrameHeader), '\0');
    Writer writer(bytes);
    write(writer);
    // A longer one than can be said is one that nobody takes.
    const std::size_t length = std::min<std::size_t>(bytes.size() - sizeof(FrameHeader), UINT32_MAX);
    const FrameHeader header{.length = static_cast<std::uint32_t>(length), .kind = kind, .id = id};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}
template <class T> std::string frame_of_content(FrameKind kind, std::uint64_t id, const T& content) {
    return frame_of(kind, id, [&](Writer& writer) { writer(content); });
}
template <class T> std::string frame_of_result(std::uint64_t id, const Expected<T>& result) {
    return frame_of(FrameKind::result, id, [&](Writer& writer) {
        writer(result.has_value());
        if (result)
            writer(*result);
        else
            writer(result.error());
    });
}

inline tl::unexpected<Error> malformed(std::string_view what) {
    return fail(Errc::frame_malformed, fmt::format("the payload is no {}", what));
}
template <class T> Expected<T> content_of(Reader payload, std::string_view what) {
    Expected<T> content;
    payload(*content);
    if (!payload.is_whole()) return malformed(what);
    return content;
}
template <class T> Expected<T> result_of(Reader payload, std::string_view what) {
    bool is_good = false;
    payload(is_good);
    if (is_good) return content_of<T>(payload, what);
    auto error = content_of<Error>(payload, what);
    return tl::unexpected<Error>(error ? std::move(*error) : std::move(error.error()));
}

}  // namespace ptxgraft::measure
