// The bytes of the messages between a pool and its workers. Each struct has one list of its fields, which
// writing and reading share; a structured binding names them all, so that a forgotten field does not compile.

#include "link/worker_protocol.hpp"

#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

namespace ptxgraft::link::worker {
namespace {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;
template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

auto fields(Is<Hello> auto& hello) {
    auto& [library, assembler, version] = hello;
    return std::tie(library, assembler, version);
}
auto fields(Is<AssembleLimits> auto& limits) {
    auto& [registers, spill_bytes, stack_bytes, code_bytes] = limits;
    return std::tie(registers, spill_bytes, stack_bytes, code_bytes);
}
auto fields(Is<AssembleOptions> auto& all) {
    auto& [target, optimisation, max_registers, relocatable, line_info, losses, options, limits, stop] = all;
    static_cast<void>(stop);
    return std::tie(target, optimisation, max_registers, relocatable, line_info, losses, options, limits);
}
auto fields(Is<Request> auto& request) {
    auto& [ptx, options] = request;
    return std::tie(ptx, options);
}
auto fields(Is<FunctionUsage> auto& usage) {
    auto& [name, is_entry, registers, stores, loads, stack, shared, barriers, code, constants, parameters] =
        usage;
    return std::tie(name, is_entry, registers, stores, loads, stack, shared, barriers, code, constants,
                    parameters);
}
auto fields(Is<PerformanceLoss> auto& loss) {
    auto& [code, message] = loss;
    return std::tie(code, message);
}
auto fields(Is<Cubin> auto& cubin) {
    auto& [image, assembler, functions, losses, log, constants, milliseconds] = cubin;
    return std::tie(image, assembler, functions, losses, log, constants, milliseconds);
}
auto fields(Is<Span> auto& span) { return std::tie(span.begin, span.end); }
auto fields(Is<Error> auto& error) {
    auto& [code, span, index, detail, source, context_lost] = error;
    static_cast<void>(source), static_cast<void>(context_lost);  // which no assembler gives
    return std::tie(code, span, index, detail);
}

class Writer {
  public:
    explicit Writer(Kind kind) {
        const Header header{.kind = kind};
        append(&header, sizeof header);
    }
    // The message, whose size its header learns now.
    std::string message() && {
        const std::uint64_t size = bytes_.size() - sizeof(Header);
        std::memcpy(bytes_.data() + offsetof(Header, size), &size, sizeof size);
        return std::move(bytes_);
    }

    void put(const Plain auto& value) { append(&value, sizeof value); }
    void put(const std::string& text) { put(std::string_view(text)); }
    void put(std::string_view text) {
        put(std::uint64_t(text.size()));
        append(text.data(), text.size());
    }
    void put(const std::vector<std::byte>& image) {
        put(std::string_view(reinterpret_cast<const char*>(image.data()), image.size()));
    }
    template <class T> void put(const std::vector<T>& all) {
        put(std::uint64_t(all.size()));
        for (const T& one : all) put(one);
    }
    template <class T> void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    void put(const std::shared_ptr<const std::string>& text) {
        put(text != nullptr);
        if (text) put(*text);
    }
    template <class T> void put(const Expected<T>& result) {
        put(result.has_value());
        if (result)
            put(*result);
        else
            put(result.error());
    }
    template <class T>
    requires requires(const T& value) { fields(value); }
    void put(const T& value) {
        std::apply([this](const auto&... field) { (this->put(field), ...); }, fields(value));
    }

  private:
    void append(const void* from, std::size_t size) { bytes_.append(static_cast<const char*>(from), size); }
    std::string bytes_;
};

// Each `get` is false when the bytes end too early or say what cannot be.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}
    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

    bool get(Plain auto& value) {
        if (rest_.size() < sizeof value) return false;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return true;
    }
    bool get(bool& value) {
        std::uint8_t byte = 2;
        if (!get(byte) || byte > 1) return false;
        value = byte != 0;
        return true;
    }
    bool get(std::string_view& text) {
        std::uint64_t size = 0;
        if (!get(size) || size > rest_.size()) return false;
        text = take(size);
        return true;
    }
    bool get(std::string& text) {
        std::string_view view;
        if (!get(view)) return false;
        text = view;
        return true;
    }
    bool get(std::vector<std::byte>& image) {
        std::string_view view;
        if (!get(view)) return false;
        const auto* const begin = reinterpret_cast<const std::byte*>(view.data());
        image.assign(begin, begin + view.size());
        return true;
    }
    template <class T> bool get(std::vector<T>& all) {
        std::uint64_t count = 0;
        if (!get(count)) return false;
        for (; count > 0; --count)
            if (!get(all.emplace_back())) return false;
        return true;
    }
    template <class T> bool get(std::optional<T>& value) {
        bool is_there = false;
        return get(is_there) && (!is_there || get(value.emplace()));
    }
    bool get(std::shared_ptr<const std::string>& text) {
        std::optional<std::string> value;
        if (!get(value)) return false;
        if (value) text = std::make_shared<const std::string>(std::move(*value));
        return true;
    }
    template <class T>
    requires requires(T& value) { fields(value); }
    bool get(T& value) {
        return std::apply([this](auto&... field) { return (this->get(field) && ...); }, fields(value));
    }

  private:
    std::string_view take(std::size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    std::string_view rest_;
};

template <class T> std::string message_of(Kind kind, const T& content) {
    Writer writer(kind);
    writer.put(content);
    return std::move(writer).message();
}

tl::unexpected<Error> malformed() {
    return fail(Errc::internal_error, "a message between a pool and its worker means nothing");
}

template <class T> Expected<T> content_of(std::string_view payload) {
    Reader reader(payload);
    T content;
    return reader.get(content) && reader.is_at_end() ? Expected<T>(std::move(content)) : malformed();
}

template <class T> Expected<T> result_of(std::string_view payload) {
    bool is_good = false;
    if (!Reader(payload).get(is_good)) return malformed();
    payload.remove_prefix(1);
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
    Writer writer(Kind::request);
    writer.put(ptx);
    writer.put(options);
    return std::move(writer).message();
}

std::string encode_begun() { return Writer(Kind::begun).message(); }

std::string encode(const Expected<Cubin>& result) { return message_of(Kind::result, result); }

Expected<Hello> decode_hello(std::string_view payload) { return result_of<Hello>(payload); }
Expected<Request> decode_request(std::string_view payload) { return content_of<Request>(payload); }
Expected<Cubin> decode_result(std::string_view payload) { return result_of<Cubin>(payload); }

}  // namespace ptxgraft::link::worker
