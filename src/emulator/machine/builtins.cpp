// Functions that the CUDA runtime gives to every program: printf, assert, the device heap.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/emulated_access.hpp"
#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t longest_string = std::size_t{1} << 16;
constexpr std::uint64_t most_values = 32;  // of one printf (CUDA C++ Programming Guide, formatted output)
constexpr int widest = 4096;
constexpr std::uint64_t units_of_heap = 8;  // of work: what a malloc or a free takes
constexpr std::uint64_t heap_lock = 0;  // an address that stands for the order of allocations and releases

// The value of an argument of up to 8 bytes.
std::uint64_t argument(Warp& warp, const Slot& slot, unsigned lane) {
    if (slot.reg != no_ref) return warp.value(slot.reg, lane);
    std::uint64_t value = 0;
    std::memcpy(&value, warp.memory().local(warp.frame(), lane, slot.offset),
                std::min<std::uint32_t>(slot.bytes, 8));
    return value;
}

void give_result(Warp& warp, const Call& call, unsigned lane, std::uint64_t value) {
    if (call.returns.empty()) return;
    const Slot& slot = call.returns[0];
    if (slot.reg != no_ref) {
        warp.set(slot.reg, lane, value);
    } else {
        std::memcpy(warp.memory().local(warp.frame(), lane, slot.offset), &value,
                    std::min<std::uint32_t>(slot.bytes, 8));
    }
}

// Bytes that a function reads: null after an error, of bounds or of what nothing wrote.
const std::byte* read_bytes(Warp& warp, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    [[maybe_unused]] const EmulatedAccess access;
    const std::byte* at = warp.memory().find(Space::generic, address, lane, bytes, Use::read);
    if (at == nullptr) {
        return warp.fail(Errc::address_out_of_bounds, lane,
                         fmt::format("{:#x}, of a string or an argument of printf", address));
    }
    return warp.checks().memory().require(Space::generic, address, lane, bytes) ? at : nullptr;
}

// What the function computes with, as nothing else is done with its arguments.
bool require_arguments(Warp& warp, const Call& call, unsigned lane) {
    return std::ranges::all_of(call.arguments, [&](const Slot& slot) {
        if (slot.reg != no_ref) return warp.checks().definedness().require(slot.reg, 1u << lane);
        return warp.checks().memory().require(Space::local, warp.frame().local_base + slot.offset, lane,
                                              slot.bytes);
    });
}

// Fails at the first of some bytes that nothing wrote.
bool require_each(Warp& warp, std::uint64_t address, unsigned lane, std::uint32_t bytes) {
    if (warp.checks().memory().require(Space::generic, address, lane, bytes)) return true;
    while (warp.checks().memory().require(Space::generic, address, lane, 1)) ++address;
    return false;
}

// A zero-terminated string of the device, or what is as long as a string may be; false after an error. It is
// appended to `text`, unless that is null.
bool read_string(Warp& warp, std::uint64_t address, unsigned lane, std::string* text) {
    [[maybe_unused]] const EmulatedAccess access;
    constexpr std::uint32_t stretch = 256;  // bytes that are looked at together, where they lie together
    for (std::size_t size = 0; size < longest_string;) {
        std::uint32_t bytes = stretch - static_cast<std::uint32_t>(address % stretch);
        const std::byte* at = warp.memory().find(Space::generic, address, lane, bytes, Use::read);
        for (; at == nullptr && bytes > 1;
             at = warp.memory().find(Space::generic, address, lane, bytes, Use::read))
            bytes /= 2;
        if (at == nullptr) return read_bytes(warp, address, lane, 1) != nullptr;
        const auto* const end = static_cast<const std::byte*>(std::memchr(at, 0, bytes));
        const auto length = end != nullptr ? static_cast<std::uint32_t>(end - at) : bytes;
        if (!require_each(warp, address, lane, end != nullptr ? length + 1 : length)) return false;
        if (text != nullptr) text->append(reinterpret_cast<const char*>(at), length);
        warp.work().charge_bytes(length);
        if (end != nullptr) return true;
        size += length;
        address += length;
    }
    return true;
}

/// One printf of one thread: the format, and a cursor in the argument buffer, where each value is aligned by
/// its size. Where nobody keeps the text, it is not made; the values are read all the same, for their
/// mistakes.
class Printer {
  public:
    Printer(Warp& warp, unsigned lane, std::uint64_t arguments, bool is_kept)
        : warp_(warp), lane_(lane), next_(arguments), is_kept_(is_kept) {}

    bool print(const std::string& format) {
        for (std::size_t at = 0; at < format.size();) {
            if (format[at] != '%') {
                const std::size_t next = std::min(format.find('%', at), format.size());
                put(std::string_view(format).substr(at, next - at));
                at = next;
            } else if (!conversion(format, at)) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] const std::string& text() const { return out_; }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }  ///< arguments

  private:
    void put(std::string_view text) {
        if (is_kept_) out_ += text;
    }

    template <class T> bool take(T& value) {
        next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        const std::byte* at = read_bytes(warp_, next_, lane_, sizeof(T));
        next_ += sizeof(T);
        ++taken_;
        if (at != nullptr) std::memcpy(&value, at, sizeof(T));
        return at != nullptr;
    }

    template <class... T> void write(const std::string& spec, T... values) {
        constexpr std::uint64_t units = 8;
        warp_.work().charge(units);
        if (!is_kept_) return;
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
            put(std::string_view(format).substr(begin));
            return true;
        }
        const char letter = format[at++];
        if (letter == '%') {
            put("%");
            return true;
        }
        if (taken_ >= most_values) {
            put(std::string_view(format).substr(begin, at - begin));
            return true;
        }
        if (std::strchr("diouxXc", letter) != nullptr) return integer(spec, length, letter);
        if (std::strchr("fFeEgGaA", letter) != nullptr) return floating(spec + letter);
        if (letter == 's') return string(spec + letter);
        if (letter == 'p') return pointer(spec + letter);
        put(std::string_view(format).substr(begin, at - begin));
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
        } else if (!read_string(warp_, address, lane_, is_kept_ ? &text : nullptr)) {
            return false;
        }
        if (spec == "%s") {
            put(text);
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
    const bool is_kept_;
    std::string out_;
};

// int vprintf(const char* format, void* arguments)
Flow print(Warp& warp, const Call& call, std::uint32_t mask) {
    if (call.arguments.size() != 2) return warp.fail(Errc::operand_invalid, 0, "vprintf takes two arguments");
    PrintedText& printed = *warp.launch().printed;
    const std::uint64_t block = warp.cta().index();
    return next_if(each_bit(mask, [&](unsigned lane) {
        std::string format;
        if (!require_arguments(warp, call, lane)) return false;
        const bool is_kept = printed.keeps(block);
        Printer printer(warp, lane, argument(warp, call.arguments[1], lane), is_kept);
        if (!read_string(warp, argument(warp, call.arguments[0], lane), lane, &format) ||
            !printer.print(format))
            return false;
        if (is_kept)
            printed.add(block, printer.text());
        else
            printed.lose();
        give_result(warp, call, lane, printer.taken());
        return warp.goes_on();
    }));
}

// void __assertfail(const char* message, const char* file, unsigned line, const char* function, size_t
// char_size)
Flow assertion(Warp& warp, const Call& call, std::uint32_t mask) {
    const auto lane = first_lane(mask);
    std::array<std::string, 3> texts;
    constexpr std::size_t at[] = {0, 1, 3};
    for (std::size_t i = 0; i < 3; ++i) {
        if (at[i] < call.arguments.size()) {
            read_string(warp, argument(warp, call.arguments[at[i]], lane), lane, &texts[i]);
        }
    }
    const std::uint64_t line =
        call.arguments.size() > 2 ? argument(warp, call.arguments[2], lane) & 0xFFFFFFFFu : 0;
    return warp.fail(Errc::assertion_failed, lane,
                     fmt::format("{} ({}:{}, {})", texts[0], texts[1], line, texts[2]));
}

Flow allocate(Warp& warp, const Call& call, std::uint32_t mask) {
    return next_if(each_bit(mask, [&](unsigned lane) {
        if (!require_arguments(warp, call, lane)) return false;
        const std::uint64_t bytes = call.arguments.empty() ? 0 : argument(warp, call.arguments[0], lane);
        const std::uint64_t address = warp.launch().memory->heap().allocate(bytes);
        warp.work().charge(units_of_heap);
        if (address != 0) {
            warp.work().charge_bytes(bytes);
            warp.checks().races().hold(heap_lock, lane, Semantics::acquire);  // from whoever freed it
            warp.launch().memory->mark(address, bytes, false);
        }
        give_result(warp, call, lane, address);
        return true;
    }));
}

// To others it is as if all bytes of a block that is freed were written.
bool note_released(Warp& warp, std::uint64_t address, unsigned lane) {
    constexpr std::uint64_t stretch = std::uint64_t{1} << 16, looks_at_byte = 8;
    const std::uint64_t bytes =
        warp.checks().looks_at_memory() ? warp.launch().memory->heap().size(address) : 0;
    for (std::uint64_t done = 0; done < bytes; done += stretch) {
        const std::uint64_t some = std::min(stretch, bytes - done);
        warp.work().charge_bytes(some * looks_at_byte);
        if (!warp.checks().check_range(Space::global, address + done, lane, some, Use::write) ||
            !warp.goes_on())
            return false;
    }
    return true;
}

Flow release(Warp& warp, const Call& call, std::uint32_t mask) {
    return next_if(each_bit(mask, [&](unsigned lane) -> bool {
        if (!require_arguments(warp, call, lane)) return false;
        const std::uint64_t address = call.arguments.empty() ? 0 : argument(warp, call.arguments[0], lane);
        if (address == 0) return true;
        warp.work().charge(units_of_heap);
        if (!note_released(warp, address, lane)) return false;
        warp.checks().races().hold(heap_lock, lane, Semantics::release);
        if (warp.launch().memory->heap().free(address)) return true;
        return warp.fail(Errc::address_not_allocated, lane, fmt::format("free of {:#x}", address));
    }));
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
