#include "capi/boundary.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "ptxgraft/link.hpp"

namespace ptxgraft::capi {
namespace {

struct LastError {
    std::string message;
    Position place{0, 0};
    bool out_of_memory = false;  ///< the message itself could not be stored
};

LastError& last_error() {
    thread_local LastError error;
    return error;
}

ptxgraft_status report_out_of_memory() noexcept {
    last_error().out_of_memory = true;
    return PTXGRAFT_STATUS_out_of_memory;
}

}  // namespace

ptxgraft_status report(const Error& error) noexcept {
    try {
        LastError last{describe(error), {0, 0}, false};
        if (error.span.known() && error.source) last.place = position(error.source->text, error.span.begin);
        last_error() = std::move(last);
        return static_cast<ptxgraft_status>(error.code);
    } catch (...) {
        return report_out_of_memory();
    }
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
        } catch (...) {
            return report_out_of_memory();
        }
    } catch (...) {
        return report({Errc::internal_error, {}, 0, {}, {}});
    }
}

Expected<void> check_required(std::initializer_list<Required> all) {
    for (const Required& required : all)
        if (!required.pointer) return fail(Errc::invalid_argument, fmt::format("{} is null", required.name));
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

Expected<void> give_text(char* buffer, std::size_t* size, std::string_view text) {
    if (buffer && *size > text.size()) buffer[text.size()] = '\0';
    if (!buffer || *size <= text.size()) return give_bytes(buffer, size, nullptr, text.size() + 1);
    const auto done = give_bytes(buffer, size, text.data(), text.size());
    ++*size;  // the zero
    return done;
}

tl::unexpected<Error> wrong_struct_size(std::size_t given, std::size_t known) {
    return fail(Errc::struct_size_invalid,
                fmt::format("{}, not {}; start from the _INIT macro", given, known));
}

Expected<void> check_index(std::size_t index, std::size_t count, const char* what) {
    if (index < count) return {};
    return fail(Errc::invalid_argument, fmt::format("{} {} of {}", what, index, count));
}

Error with_source(Error error, std::string_view text, std::string_view name) {
    if (!error.source && error.span.known())
        error.source = std::make_shared<const SourceText>(SourceText{std::string(name), std::string(text)});
    return error;
}

}  // namespace ptxgraft::capi

extern "C" {

const char* ptxgraft_error_message(void) {
    const auto& last = ptxgraft::capi::last_error();
    return last.out_of_memory ? "error: out of memory\n" : last.message.c_str();
}

uint32_t ptxgraft_error_line(void) { return ptxgraft::capi::last_error().place.line; }
uint32_t ptxgraft_error_column(void) { return ptxgraft::capi::last_error().place.column; }

const char* ptxgraft_status_name(ptxgraft_status status) {
    switch (static_cast<int>(status)) {
#define PTXGRAFT_ERRC(name, value, message) \
    case value:                             \
        return #name;
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
        default:
            return "unknown";
    }
}

const char* ptxgraft_version(void) { return PTXGRAFT_VERSION_STRING; }

const char* ptxgraft_assembler(void) {
    try {
        static const std::string text =
            std::string(ptxgraft::default_assembler().name()) + " " + ptxgraft::default_assembler().version();
        return text.c_str();
    } catch (...) {
        return "";
    }
}

}  // extern "C"
