// The messages between a pool and its workers: a header, and what link/archive.hpp makes of a struct.

#include "link/worker/protocol.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

#include "link/archive.hpp"

namespace ptxgraft::link::worker {

template <class Archive, Is<Hello> T> void visit(Archive& archive, T& hello) {
    auto& [library, assembler, version] = hello;
    archive(library, assembler, version);
}
template <class Archive, Is<Request> T> void visit(Archive& archive, T& request) {
    auto& [ptx, options] = request;
    archive(ptx, options);
}

namespace {

// What `write(Writer&)` writes, behind its header.
template <class Write> std::string message_of(Kind kind, const Write& write) {
    std::string bytes(sizeof(Header), '\0');
    Writer writer(bytes);
    write(writer);
    const Header header{.kind = kind, .size = bytes.size() - sizeof(Header)};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

template <class T> std::string message_of(Kind kind, const Expected<T>& result) {
    return message_of(kind, [&](Writer& writer) {
        writer(result.has_value());
        if (result)
            writer(*result);
        else
            writer(result.error());
    });
}

tl::unexpected<Error> malformed() {
    return fail(Errc::internal_error, "a message between a pool and its worker means nothing");
}

template <class T> Expected<T> content_of(Reader payload) {
    T content;
    payload(content);
    return payload.is_whole() ? Expected<T>(std::move(content)) : malformed();
}

template <class T> Expected<T> result_of(Reader payload) {
    bool is_good = false;
    payload(is_good);
    if (is_good) return content_of<T>(payload);
    auto error = content_of<Error>(payload);
    return tl::unexpected<Error>(error ? std::move(*error) : std::move(error.error()));
}

}  // namespace

bool is_header_of(const Header& header, Kind kind) {
    const Header expected{.kind = kind};
    return header.magic == expected.magic && header.version == expected.version && header.kind == kind;
}

std::string encode(const Expected<Hello>& hello) { return message_of(Kind::hello, hello); }

std::string encode(std::string_view ptx, const AssembleOptions& options) {
    return message_of(Kind::request, [&](Writer& writer) { writer(ptx, options); });
}

std::string encode_begun() {
    return message_of(Kind::begun, [](Writer&) {});
}

std::string encode(const Expected<Cubin>& result) { return message_of(Kind::result, result); }

Expected<Hello> decode_hello(std::string_view payload) { return result_of<Hello>(Reader(payload)); }
Expected<Request> decode_request(std::string_view payload) { return content_of<Request>(Reader(payload)); }
Expected<Cubin> decode_result(std::string_view payload) { return result_of<Cubin>(Reader(payload)); }

}  // namespace ptxgraft::link::worker
