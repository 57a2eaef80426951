// Programs as bytes, which may come back broken: nothing that they say is believed before it is checked.

#include <algorithm>
#include <cstring>
#include <string>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/program_view.hpp"
#include "stub/builder.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/program/layout.hpp"

namespace ptxgraft::stack {
namespace {

// Before the name, the types and the code of each routine.
struct RoutineHeader {
    std::uint32_t name, arguments, results, code;  // counts
};

constexpr std::size_t code_bytes(std::size_t count) { return count * sizeof(Instruction); }
constexpr std::size_t pool_bytes(std::size_t count) { return count * sizeof(std::uint64_t); }

std::size_t size_of(ProgramView program) {
    std::size_t size =
        sizeof(ProgramHeader) + code_bytes(program.code.size()) + pool_bytes(program.pool.size());
    for (const Routine& r : program.routines)
        size += sizeof(RoutineHeader) + r.name.size() + r.arguments.size() + r.results.size() +
                code_bytes(r.code.size());
    return size;
}

class ByteWriter {
  public:
    explicit ByteWriter(std::byte* to) : to_(to) {}

    template <class T> void value(const T& value) { copy(&value, sizeof value); }
    template <class Range> void all(const Range& range) {
        copy(range.data(), range.size() * sizeof(*range.data()));
    }

  private:
    void copy(const void* from, std::size_t size) {
        if (size != 0) std::memcpy(to_, from, size);
        to_ += size;
    }
    std::byte* to_;
};

constexpr std::uint32_t count_of(std::size_t size) { return static_cast<std::uint32_t>(size); }

tl::unexpected<Error> malformed(std::size_t begin, std::size_t size, std::string detail) {
    return fail(Errc::program_bytes_malformed,
                Span{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + size)},
                std::move(detail));
}

class BytesReader {
  public:
    explicit BytesReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    Expected<Program> read(std::uint64_t machine) {
        const auto header = TRY(read_header(machine));
        Program program;
        TRY(take(program.code, header.code, offsetof(ProgramHeader, code), "instructions"));
        TRY(take(program.pool, header.pool, offsetof(ProgramHeader, pool), "constants in the pool"));
        if (header.routines > left() / sizeof(RoutineHeader))
            return too_many(header.routines, offsetof(ProgramHeader, routines), "routines");
        program.routines.resize(header.routines);
        for (Routine& routine : program.routines) TRY(take(routine));
        if (left() != 0)
            return malformed(at_, left(), std::to_string(left()) + " bytes stand behind its end");
        return program;
    }

    /// Nothing where it has routines or does not stand as its words want it: then it is read.
    Expected<std::optional<ProgramView>> view(std::uint64_t machine) {
        const auto header = TRY(read_header(machine));
        const std::size_t code = code_bytes(header.code), pool = pool_bytes(header.pool);
        const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(std::uint64_t) == 0;
        if (header.routines != 0 || !is_aligned || left() != code + pool) return std::nullopt;
        const std::byte* const begin = bytes_.data() + at_;
        return ProgramView(std::span(reinterpret_cast<const Instruction*>(begin), header.code),
                           std::span(reinterpret_cast<const std::uint64_t*>(begin + code), header.pool));
    }

  private:
    Expected<ProgramHeader> read_header(std::uint64_t machine) {
        const auto header = TRY(read_header());
        if (machine == any_machine || header.machine == machine) return header;
        return fail(Errc::program_machine_differs, span_of(offsetof(ProgramHeader, machine), 8),
                    header.machine == any_machine
                        ? std::string("its bytes name none")
                        : "its machine_hash is " + hex(header.machine) + ", not " + hex(machine));
    }

    Expected<ProgramHeader> read_header() {
        if (bytes_.size() < sizeof(ProgramHeader))
            return malformed(bytes_.size(), 0,
                             std::to_string(bytes_.size()) + " bytes, but its header alone has " +
                                 std::to_string(sizeof(ProgramHeader)));
        const auto header = next<ProgramHeader>();
        if (header.magic != bytes_magic) return malformed(0, 4, "it does not begin with \"PTXG\"");
        if (header.version != bytes_version)
            return malformed(offsetof(ProgramHeader, version), 4,
                             "its version is " + std::to_string(header.version) +
                                 ", but this library reads " + std::to_string(bytes_version));
        if (header.size != bytes_.size())
            return malformed(std::min<std::uint64_t>(header.size, bytes_.size()), 0,
                             "it has " + std::to_string(header.size) + " bytes, but " +
                                 std::to_string(bytes_.size()) + " are there");
        if (header.checksum != checksum_of(bytes_))
            return malformed(offsetof(ProgramHeader, checksum), 8,
                             "the checksum is wrong: some byte has changed");
        if (header.zero != 0) return malformed(offsetof(ProgramHeader, zero), 4, "a number that is 0 is not");
        return header;
    }

    Expected<void> take(Routine& routine) {
        if (left() < sizeof(RoutineHeader)) return malformed(at_, left(), "it ends where a routine begins");
        const std::size_t begin = at_;
        const auto header = next<RoutineHeader>();
        std::vector<char> name;
        TRY(take(name, header.name, begin + offsetof(RoutineHeader, name), "characters of a name"));
        routine.name.assign(name.begin(), name.end());
        TRY(take(routine.arguments, header.arguments, begin + offsetof(RoutineHeader, arguments),
                 "arguments of a routine"));
        TRY(take(routine.results, header.results, begin + offsetof(RoutineHeader, results),
                 "results of a routine"));
        return take(routine.code, header.code, begin + offsetof(RoutineHeader, code),
                    "instructions of a routine");
    }

    // `place`: where their count stands.
    template <class T>
    Expected<void> take(std::vector<T>& to, std::uint32_t count, std::size_t place, const char* what) {
        if (count > left() / sizeof(T)) return too_many(count, place, what);
        to.resize(count);
        if (count != 0) std::memcpy(static_cast<void*>(to.data()), bytes_.data() + at_, count * sizeof(T));
        at_ += count * sizeof(T);
        return {};
    }
    tl::unexpected<Error> too_many(std::uint32_t count, std::size_t place, const char* what) const {
        return malformed(place, 4,
                         "it says " + std::to_string(count) + " " + what + ", but " + std::to_string(left()) +
                             " bytes are left");
    }

    template <class T> T next() {
        T value;
        std::memcpy(static_cast<void*>(&value), bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
    static Span span_of(std::size_t begin, std::size_t size) {
        return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + size)};
    }
    static std::string hex(std::uint64_t number) {
        std::string text = "0x";
        for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789ABCDEF"[number >> shift & 15];
        return text;
    }

    const std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<std::byte> to_bytes(ProgramView program, std::uint64_t machine) {
    std::vector<std::byte> bytes(size_of(program));
    ByteWriter writer(bytes.data());
    writer.value(ProgramHeader{bytes_magic, bytes_version, bytes.size(), 0, machine,
                               count_of(program.code.size()), count_of(program.pool.size()),
                               count_of(program.routines.size()), 0});
    writer.all(program.code);
    writer.all(program.pool);
    for (const Routine& r : program.routines) {
        writer.value(RoutineHeader{count_of(r.name.size()), count_of(r.arguments.size()),
                                   count_of(r.results.size()), count_of(r.code.size())});
        writer.all(r.name), writer.all(r.arguments), writer.all(r.results), writer.all(r.code);
    }
    const std::uint64_t checksum = checksum_of(bytes);
    std::memcpy(bytes.data() + offsetof(ProgramHeader, checksum), &checksum, sizeof checksum);
    return bytes;
}

Expected<Program> program_from_bytes(std::span<const std::byte> bytes, std::uint64_t machine) {
    return BytesReader(bytes).read(machine);
}

Expected<std::optional<ProgramView>> view_of_bytes(std::span<const std::byte> bytes, std::uint64_t machine) {
    return BytesReader(bytes).view(machine);
}

// ---- machines ---------------------------------------------------------------------------------------------

namespace {

std::uint64_t mix_text(std::uint64_t hash, std::string_view text) {
    hash = mix(hash, text.size());
    for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
    return hash;
}

}  // namespace

std::uint64_t machine_hash(const Machine& machine) {
    const Machine::Data& data = MachineData::of(machine);
    const SetCode& code = *data.code;
    std::uint64_t hash = mix(bytes_version, code.entries.size());
    for (const EntryCode& e : code.entries) hash = mix(hash, e.hash + ((*data.present)[e.at] != Present::no));
    for (std::uint32_t t = 0; t < code.type_count; ++t) hash = mix(hash, code.bases[t]);
    for (const SiteOperand& o : data.signature.operands) {
        hash = mix_text(hash, o.name);
        hash = mix(mix(hash, static_cast<std::uint64_t>(o.direction)), o.count);
        hash = mix(hash, static_cast<std::uint64_t>(o.type));
    }
    for (const Slot& s : data.slots) hash = mix(hash, s.type);
    return hash == any_machine ? 1 : hash;
}

}  // namespace ptxgraft::stack
