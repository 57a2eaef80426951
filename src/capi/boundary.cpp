// The thread's last error, as the C interface tells it.

#include "capi/boundary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

namespace ptxgraft::capi {
namespace {

/// The thread's last error. Destructors of thread-local objects may call the library when it has destroyed
/// its own: this one has no destructor, and lasts as long as the thread's memory.
struct LastError {
    enum class State : std::uint8_t { none, whole, out_of_memory, cut };
    State state = State::none;
    bool thread_ends = false;     ///< `whole` is destroyed
    Described* whole = nullptr;   ///< of WholeError
    Position place{0, 0};         ///< of one that was cut
    std::uint32_t index = 0;      ///< of one that was cut
    std::array<char, 256> cut{};  ///< what is kept of a message when the thread ends
};
constinit thread_local LastError last_error;

/// Owns the whole text.
struct WholeError {
    Described error;
    WholeError() { last_error.whole = &error; }
    ~WholeError() {
        if (last_error.state == LastError::State::whole) keep_cut(error);
        last_error.whole = nullptr;
        last_error.thread_ends = true;
    }
    WholeError(const WholeError&) = delete;
    WholeError& operator=(const WholeError&) = delete;

    static void keep_cut(const Described& error) {
        std::size_t size = std::min(error.message.size(), last_error.cut.size() - 1);
        const auto is_within_character = [&] { return (error.message[size] & 0xC0) == 0x80; };  // UTF-8
        while (size != 0 && is_within_character()) --size;
        error.message.copy(last_error.cut.data(), size);
        last_error.cut[size] = '\0';
        last_error.place = error.place;
        last_error.index = error.index;
        last_error.state = LastError::State::cut;
    }
};

void keep(Described error) {
    if (last_error.thread_ends) return WholeError::keep_cut(error);
    thread_local WholeError whole;
    whole.error = std::move(error);
    last_error.state = LastError::State::whole;
}

Position last_place() {
    switch (last_error.state) {
        case LastError::State::whole: return last_error.whole->place;
        case LastError::State::cut: return last_error.place;
        default: return {0, 0};
    }
}

// The text that the last error is in; null when there is none.
const SourceText* last_source() {
    return last_error.state == LastError::State::whole ? last_error.whole->source.get() : nullptr;
}

ptxgraft_status report_out_of_memory() noexcept {
    last_error.state = LastError::State::out_of_memory;
    return PTXGRAFT_STATUS_out_of_memory;
}

}  // namespace

Described describe_error(const Error& error) {
    Described described{describe(error), {0, 0}, error.index, nullptr};
    if (!error.span.known() || !error.source) return described;
    described.place = position(error.source->text, error.span.begin);
    described.source = error.source;
    return described;
}

ptxgraft_status report(const Error& error) noexcept {
    try {
        keep(describe_error(error));
        return static_cast<ptxgraft_status>(error.code);
    } catch (...) { return report_out_of_memory(); }
}

ptxgraft_status report_exception() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return report_out_of_memory();
    } catch (const std::exception& exception) {
        try {
            return report(
                {Errc::internal_error, {}, 0, std::make_shared<const std::string>(exception.what()), {}});
        } catch (...) { return report_out_of_memory(); }
    } catch (...) { return report({Errc::internal_error, {}, 0, {}, {}}); }
}

Expected<void> check_required(std::initializer_list<Required> all) {
    for (const Required& required : all)
        if (!required.pointer) return fail(Errc::argument_invalid, fmt::format("{} is null", required.name));
    return {};
}

Expected<void> give_bytes(void* buffer, std::size_t* size, const void* bytes, std::size_t count) {
    const std::size_t capacity = std::exchange(*size, count);
    if (!buffer) return {};
    if (capacity < count)
        return fail(Errc::buffer_too_small, fmt::format("{} bytes needed, {} given", count, capacity));
    if (count != 0 && bytes != nullptr) std::memcpy(buffer, bytes, count);
    return {};
}

tl::unexpected<Error> too_few(std::size_t needed, std::size_t given) {
    return fail(Errc::buffer_too_small, fmt::format("{} elements needed, {} given", needed, given));
}

Expected<void> give_text(char* buffer, std::size_t* size, std::string_view text) {
    if (buffer && *size > text.size()) buffer[text.size()] = '\0';
    if (!buffer || *size <= text.size()) return give_bytes(buffer, size, nullptr, text.size() + 1);
    const auto done = give_bytes(buffer, size, text.data(), text.size());
    ++*size;  // the zero
    return done;
}

Expected<void> give_image(void* buffer, std::size_t* size, const Cubin* cubin) {
    if (cubin == nullptr)
        return fail(Errc::machine_code_missing, std::string("the emulator runs the PTX itself"));
    return give_bytes(buffer, size, cubin->image.data(), cubin->image.size());
}

Expected<void> check_enumerators(std::initializer_list<Enumerator> all) {
    for (const Enumerator& one : all)
        if (one.value < 0 || one.value > one.last)
            return fail(Errc::argument_invalid,
                        fmt::format("{} is {}; it is 0 to {}", one.field, one.value, one.last));
    return {};
}

Expected<void> check_list(const void* list, std::size_t count, const char* field, const char* count_field) {
    if (count > UINT32_MAX)
        return fail(Errc::argument_invalid, fmt::format("{} is {}; no list is as long", count_field, count));
    if (list || count == 0) return {};
    return fail(Errc::argument_invalid, fmt::format("{} is null, but {} is {}", field, count_field, count));
}

tl::unexpected<Error> fail_at(std::size_t index, std::string detail) {
    auto error = fail(Errc::argument_invalid, std::move(detail));
    error.value().index = static_cast<std::uint32_t>(index);
    return error;
}

Expected<std::string_view> text_at(const char* text, std::size_t size) {
    if (size >= Span::none) return fail(Errc::text_too_large);
    return std::string_view(text, size);
}

Expected<void> copy_strings(std::vector<std::string>& to, const char* const* list, std::size_t count,
                            const char* field, const char* count_field) {
    if (auto valid = check_list(list, count, field, count_field); !valid) return valid;
    for (std::size_t i = 0; i < count; ++i) {
        if (!list[i]) return fail_at(i, fmt::format("{}[{}] is null", field, i));
        to.emplace_back(list[i]);
    }
    return {};
}

Expected<void> check_index(std::size_t index, std::size_t count, const char* what) {
    if (index < count) return {};
    return fail(Errc::argument_invalid, fmt::format("{} {} of {}", what, index, count));
}

Error with_source(Error error, std::string_view text, std::string_view name) {
    if (!error.source && error.span.known())
        error.source = std::make_shared<const SourceText>(SourceText{std::string(name), std::string(text)});
    return error;
}

}  // namespace ptxgraft::capi

extern "C" {

const char* ptxgraft_error_get_message(void) {
    using namespace ptxgraft::capi;
    switch (last_error.state) {
        case LastError::State::whole: return last_error.whole->message.c_str();
        case LastError::State::cut: return last_error.cut.data();
        case LastError::State::out_of_memory: return "error: out of memory\n";
        default: return "";
    }
}

uint32_t ptxgraft_error_get_line(void) { return ptxgraft::capi::last_place().line; }
uint32_t ptxgraft_error_get_column(void) { return ptxgraft::capi::last_place().column; }

const char* ptxgraft_error_get_source(void) {
    const auto* const source = ptxgraft::capi::last_source();
    return source != nullptr ? source->text.c_str() : "";
}

const char* ptxgraft_error_get_source_name(void) {
    const auto* const source = ptxgraft::capi::last_source();
    return source != nullptr ? source->name.c_str() : "";
}

uint32_t ptxgraft_error_get_index(void) {
    using namespace ptxgraft::capi;
    switch (last_error.state) {
        case LastError::State::whole: return last_error.whole->index;
        case LastError::State::cut: return last_error.index;
        default: return 0;
    }
}

const char* ptxgraft_status_get_name(ptxgraft_status status) {
    switch (static_cast<int>(status)) {
#define PTXGRAFT_ERRC(name, value, message) \
    case value:                             \
        return #name;
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
        default: return "unknown";
    }
}

const char* ptxgraft_library_get_version(void) { return PTXGRAFT_VERSION_STRING; }

const char* ptxgraft_library_get_assembler(void) {
    try {
        static const std::string text =
            std::string(ptxgraft::default_assembler().name()) + " " + ptxgraft::default_assembler().version();
        return text.c_str();
    } catch (...) { return ""; }
}

}  // extern "C"
