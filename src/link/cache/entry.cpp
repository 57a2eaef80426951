// Entries as bytes and back: they are believed only if their checksum is right.

#include "link/cache/entry.hpp"

#include <cstring>
#include <utility>

#include "link/archive.hpp"
#include "link/cache/hash.hpp"

namespace ptxgraft::link {
namespace {

// The last number goes up when the bytes of an entry mean something else.
constexpr char entry_magic[16] = "ptxgraft cache1";
// Versions in development differ in their fields, and not yet in their number.
constexpr std::uint32_t layout =
    sizeof(Cubin) << 20 ^ sizeof(FunctionUsage) << 10 ^ sizeof(Error) << 5 ^ sizeof(Ptx);
constexpr std::size_t overhead = sizeof(EntryHead) + sizeof(Key);

template <class T> void write_payload(Writer& writer, const std::shared_ptr<const T>& result) {
    writer(*result);
}
void write_payload(Writer& writer, const Error& error) { writer(error); }

std::optional<Outcome> read_error(Reader reader) {
    Error error;
    reader(error);
    return reader.is_whole() ? std::optional<Outcome>(std::move(error)) : std::nullopt;
}

template <class T> std::optional<Outcome> read_result(Reader reader) {
    const auto result = std::make_shared<T>();
    reader(*result);
    if (!reader.is_whole()) return std::nullopt;
    return std::shared_ptr<const T>(result);
}

std::uint64_t size_of(const Error& error) {
    return (error.detail ? error.detail->size() : 0) +
           (error.source ? error.source->name.size() + error.source->text.size() : 0);
}
std::uint64_t size_of(const std::shared_ptr<const Ptx>& ptx) { return ptx->text.size() + ptx->log.size(); }
std::uint64_t size_of(const std::shared_ptr<const Cubin>& cubin) {
    std::uint64_t size = cubin->image.size() + cubin->assembler.size() + cubin->log.size();
    for (const FunctionUsage& usage : cubin->functions) size += sizeof usage + usage.name.size();
    for (const PerformanceLoss& loss : cubin->losses) size += sizeof loss + loss.message.size();
    return size;
}

std::uint64_t size_of(const std::shared_ptr<const VariantPlace>& place) {
    return sizeof *place + place->suffix.size();
}

}  // namespace

std::optional<std::uint64_t> entry_size(const EntryHead& head, const Key& key) {
    if (std::memcmp(head.magic, entry_magic, sizeof entry_magic) != 0 || !(head.key == key))
        return std::nullopt;
    if (head.layout != layout || head.payload > SIZE_MAX / 2) return std::nullopt;
    return head.payload + overhead;
}

std::string encode(const Key& key, const Outcome& outcome) {
    std::string bytes;
    bytes.reserve(overhead + static_cast<std::size_t>(footprint(outcome)));
    bytes.resize(sizeof(EntryHead));
    Writer writer(bytes);
    std::visit([&](const auto& result) { write_payload(writer, result); }, outcome);
    EntryHead head{
        {}, key, static_cast<std::uint32_t>(outcome.index()), layout, bytes.size() - sizeof(EntryHead)};
    std::memcpy(head.magic, entry_magic, sizeof entry_magic);
    std::memcpy(bytes.data(), &head, sizeof head);
    const Key sum = hash(bytes);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    return bytes;
}

std::optional<Outcome> decode(const Key& key, std::string_view bytes) {
    EntryHead head;
    if (bytes.size() < overhead) return std::nullopt;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (entry_size(head, key) != bytes.size()) return std::nullopt;
    Key sum;
    const std::string_view content = bytes.substr(0, bytes.size() - sizeof sum);
    std::memcpy(&sum, bytes.data() + content.size(), sizeof sum);
    if (!(sum == hash(content))) return std::nullopt;
    const Reader payload(content.substr(sizeof head));
    switch (head.kind) {
        case 0: return read_error(payload);
        case 1: return read_result<Cubin>(payload);
        case 2: return read_result<Ptx>(payload);
        case 3: return read_result<VariantPlace>(payload);
        default: return std::nullopt;
    }
}

std::uint64_t footprint(const Outcome& outcome) {
    constexpr std::uint64_t of_each = 256;  // handles, nodes, and what allocators add
    return of_each + std::visit([](const auto& result) { return size_of(result); }, outcome);
}

}  // namespace ptxgraft::link
