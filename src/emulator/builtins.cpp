// Functions that the CUDA runtime gives to every program: printf, assert, the device heap.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "emulator/cta.hpp"
#include "emulator/operations.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t longest_string = std::size_t{1} << 16;
constexpr std::size_t most_output = std::size_t{16}
                                    << 20;  // of one CTA; what is printed beyond is lost, as on a GPU
constexpr int widest = 4096;
constexpr std::uint64_t heap_lock = 0;  // an address that stands for the order of allocations and releases

// The value of an argument of up to 8 bytes.
std::uint64_t argument(Warp& warp, const Slot& slot, unsigned lane) {
    if (slot.reg != no_ref) return warp.value(slot.reg, lane);
    std::uint64_t value = 0;
    std::memcpy(&value, warp.local(warp.frame(), lane, slot.offset), std::min<std::uint32_t>(slot.bytes, 8));
    return value;
}

void give_result(Warp& warp, const Call& call, unsigned lane, std::uint64_t value) {
    if (call.returns.empty()) return;
    const Slot& slot = call.returns[0];
    if (slot.reg != no_ref) {
        warp.set(slot.reg, lane, value);
    } else {
        std::memcpy(warp.local(warp.frame(), lane, slot.offset), &value,
                    std::min<std::uint32_t>(slot.bytes, 8));
    }
}

// Bytes that a function reads: null after an error, of bounds or of what nothing wrote.
const std::byte* read_bytes(Warp& warp, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    const std::byte* at = warp.find(Space::generic, address, lane, bytes, Use::read);
    if (at == nullptr) {
        warp.fail(Errc::address_out_of_bounds, lane,
                  fmt::format("{:#x}, of a string or an argument of printf", address));
        return nullptr;
    }
    return warp.require_written(Space::generic, address, lane, bytes) ? at : nullptr;
}

// What the function computes with, as nothing else is done with its arguments.
bool require_arguments(Warp& warp, const Call& call, unsigned lane) {
    return std::ranges::all_of(call.arguments, [&](const Slot& slot) {
        if (slot.reg != no_ref) return warp.require(slot.reg, 1u << lane);
        return warp.require_written(Space::local, warp.frame().local_base + slot.offset, lane, slot.bytes);
    });
}

// A zero-terminated string of the device; false after an error.
bool read_string(Warp& warp, std::uint64_t address, unsigned lane, std::string& text) {
    for (text.clear(); text.size() < longest_string; ++address) {
        const std::byte* at = read_bytes(warp, address, lane, 1);
        if (at == nullptr) return false;
        if (*at == std::byte{0}) return true;
        text += static_cast<char>(*at);
    }
    return true;
}

/// One printf of one thread: the format, and a cursor in the argument buffer, where each value is aligned by
/// its size.
class Printer {
  public:
    Printer(Warp& warp, unsigned lane, std::uint64_t arguments, std::string& out)
        : warp_(warp), lane_(lane), next_(arguments), out_(out) {}

    bool print(const std::string& format) {
        for (std::size_t at = 0; at < format.size() && out_.size() <= most_output;) {
            if (format[at] != '%') {
                out_ += format[at++];
            } else if (!conversion(format, at)) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }  ///< arguments

  private:
    template <class T>
    bool take(T& value) {
        next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        const std::byte* at = read_bytes(warp_, next_, lane_, sizeof(T));
        next_ += sizeof(T);
        ++taken_;
        if (at != nullptr) std::memcpy(&value, at, sizeof(T));
        return at != nullptr;
    }

    template <class... T>
    void write(const std::string& spec, T... values) {
        std::array<char, widest * 2 + 512> text;
        const int length = std::snprintf(text.data(), text.size(), spec.c_str(), values...);
        if (length > 0) out_.append(text.data(), std::min(static_cast<std::size_t>(length), text.size() - 1));
    }

    // Digits or `*`: a width or a precision, as digits and not wider than any sane output.
    bool number(const std::string& format, std::size_t& at, std::string& spec) {
        int value = 0;
        if (at < format.size() && format[at] == '*') {
            ++at;
            if (!take(value)) return false;
            value = std::clamp(value, -widest, widest);
        } else {
            if (at >= format.size() || format[at] < '0' || format[at] > '9') return true;
            for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) {
                value = std::min(value * 10 + (format[at] - '0'), widest);
            }
        }
        spec += std::to_string(value);
        return true;
    }

    bool conversion(const std::string& format, std::size_t& at) {
        const std::size_t begin = at++;
        std::string spec = "%";
        while (at < format.size() && std::strchr("-+ #0", format[at]) != nullptr) spec += format[at++];
        if (!number(format, at, spec)) return false;
        if (at < format.size() && format[at] == '.') {
            spec += format[at++];
            if (!number(format, at, spec)) return false;
        }
        std::string length;
        while (at < format.size() && std::strchr("hlLjzt", format[at]) != nullptr) length += format[at++];
        if (at >= format.size()) {
            out_.append(format, begin);
            return true;
        }
        const char letter = format[at++];
        if (letter == '%') {
            out_ += '%';
            return true;
        }
        if (std::strchr("diouxXc", letter) != nullptr) return integer(spec, length, letter);
        if (std::strchr("fFeEgGaA", letter) != nullptr) return floating(spec + letter);
        if (letter == 's') return string(spec + letter);
        if (letter == 'p') return pointer(spec + letter);
        out_.append(format, begin, at - begin);
        return true;
    }

    bool integer(std::string spec, const std::string& length, char letter) {
        const bool wide = letter != 'c' && !length.empty() && length[0] != 'h';
        std::int64_t value = 0;
        if (wide) {
            if (!take(value)) return false;
            write(spec + "ll" + letter, static_cast<long long>(value));
            return true;
        }
        std::int32_t narrow = 0;
        if (!take(narrow)) return false;
        const std::string_view size = letter == 'c' || length.empty() ? "" : length == "hh" ? "hh" : "h";
        write(fmt::format("{}{}{}", spec, size, letter), narrow);
        return true;
    }

    bool floating(const std::string& spec) {
        double value = 0;
        if (!take(value)) return false;
        write(spec, value);
        return true;
    }

    bool string(const std::string& spec) {
        std::uint64_t address = 0;
        std::string text;
        if (!take(address)) return false;
        if (address == 0) {
            text = "(null)";
        } else if (!read_string(warp_, address, lane_, text)) {
            return false;
        }
        if (spec == "%s") {
            out_ += text;
        } else {
            write(spec, text.c_str());
        }
        return true;
    }

    bool pointer(const std::string& spec) {
        std::uint64_t address = 0;
        if (!take(address)) return false;
        write(spec, reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
        return true;
    }

    Warp& warp_;
    unsigned lane_;
    std::uint64_t next_;
    std::uint64_t taken_ = 0;
    std::string& out_;
};

// int vprintf(const char* format, void* arguments)
Flow print(Warp& warp, const Call& call, std::uint32_t mask) {
    if (call.arguments.size() != 2) return warp.fail(Errc::invalid_operand, 0, "vprintf takes two arguments");
    const bool done = each_lane(mask, [&](unsigned lane) {
        std::string format, text;
        if (!require_arguments(warp, call, lane)) return false;
        Printer printer(warp, lane, argument(warp, call.arguments[1], lane), text);
        if (!read_string(warp, argument(warp, call.arguments[0], lane), lane, format) || !printer.print(format)) return false;
        std::string& output = warp.cta().output();
        if (output.size() + text.size() <= most_output) output += text;
        give_result(warp, call, lane, printer.taken());
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

// void __assertfail(const char* message, const char* file, unsigned line, const char* function, size_t
// char_size)
Flow assertion(Warp& warp, const Call& call, std::uint32_t mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::array<std::string, 3> texts;
    constexpr std::size_t at[] = {0, 1, 3};
    for (std::size_t i = 0; i < 3; ++i) {
        if (at[i] < call.arguments.size()) {
            read_string(warp, argument(warp, call.arguments[at[i]], lane), lane, texts[i]);
        }
    }
    const std::uint64_t line =
        call.arguments.size() > 2 ? argument(warp, call.arguments[2], lane) & 0xFFFFFFFFu : 0;
    return warp.fail(Errc::assertion_failed, lane,
                     fmt::format("{} ({}:{}, {})", texts[0], texts[1], line, texts[2]));
}

Flow allocate(Warp& warp, const Call& call, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        if (!require_arguments(warp, call, lane)) return false;
        const std::uint64_t bytes = call.arguments.empty() ? 0 : argument(warp, call.arguments[0], lane);
        const std::uint64_t address = warp.launch().memory->heap_allocate(bytes);
        if (address != 0) {
            warp.hold(heap_lock, lane, Semantics::acquire);  // from whoever freed it
            warp.launch().memory->mark(address, bytes, false);
        }
        give_result(warp, call, lane, address);
        return true;
    });
    return done ? Flow::next : Flow::fail;
}

Flow release(Warp& warp, const Call& call, std::uint32_t mask) {
    const bool done = each_lane(mask, [&](unsigned lane) {
        if (!require_arguments(warp, call, lane)) return false;
        const std::uint64_t address = call.arguments.empty() ? 0 : argument(warp, call.arguments[0], lane);
        if (address == 0) return true;
        // To others it is as if all its bytes were written.
        if (!warp.note_range(Space::global, address, lane, warp.launch().memory->heap_size(address), Use::write)) return false;
        warp.hold(heap_lock, lane, Semantics::release);
        if (warp.launch().memory->heap_free(address)) return true;
        warp.fail(Errc::not_an_allocation, lane, fmt::format("free of {:#x}", address));
        return false;
    });
    return done ? Flow::next : Flow::fail;
}

}  // namespace

Builtin find_builtin(std::string_view name) {
    constexpr std::pair<std::string_view, Builtin> rows[] = {
        {"vprintf", print}, {"__assertfail", assertion}, {"malloc", allocate}, {"free", release}};
    for (const auto& [known, builtin] : rows) {
        if (known == name) return builtin;
    }
    return nullptr;
}

}  // namespace ptxgraft::emulator
