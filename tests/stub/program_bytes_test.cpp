// Programs as bytes: every program comes back, and nothing else does.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "ptxgraft/program.hpp"
#include "stub/stack/program/layout.hpp"
#include "support/random_programs.hpp"

extern std::size_t largest_allocation;  // since it was set to 0: allocations.cpp

namespace ptxgraft {
namespace {

using stack::Program;
using Bytes = std::vector<std::byte>;

stack::Machine machine_of(const char* set, std::string_view signature, stack::MachineOptions options = {}) {
    return *stack::Machine::make(stack::find_set(set), *Signature::parse(signature), options);
}

const stack::Machine& machine() {
    static const stack::Machine m = machine_of("full", "mod f32 x, in u64 n, out pred p[3]");
    return m;
}

// Bytes that somebody has changed on purpose: length and checksum are right.
void seal(Bytes& bytes) {
    if (bytes.size() < sizeof(stack::ProgramHeader)) return;
    const std::uint64_t size = bytes.size();
    std::memcpy(bytes.data() + offsetof(stack::ProgramHeader, size), &size, sizeof size);
    const std::uint64_t checksum = stack::checksum_of(bytes);
    std::memcpy(bytes.data() + offsetof(stack::ProgramHeader, checksum), &checksum, sizeof checksum);
}

// What is refused has a place within the bytes, or right behind them.
void expect_refused(const Bytes& bytes) {
    const auto program = stack::program_from_bytes(bytes);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, Errc::program_bytes_malformed);
    ASSERT_TRUE(program.error().span.known());
    EXPECT_LE(program.error().span.begin, program.error().span.end);
    EXPECT_LE(program.error().span.end, bytes.size());
    EXPECT_FALSE(describe(program.error()).empty());
}

TEST(ProgramBytes, AnyProgramComesBack) {
    test::RandomPrograms random(1);
    std::size_t with_routines = 0, with_pool = 0;
    for (int n = 0; n < 2000; ++n) {
        const Program program =
            n % 3 == 0 ? random.any_bytes(machine(), 100) : random.program(machine(), 100);
        const Bytes bytes = stack::to_bytes(program);
        const auto again = stack::program_from_bytes(bytes);
        ASSERT_TRUE(again) << describe(again.error());
        EXPECT_EQ(*again, program);
        EXPECT_EQ(stack::to_bytes(*again), bytes);
        with_routines += !program.routines.empty(), with_pool += !program.pool.empty();
    }
    EXPECT_GT(with_routines, 1000u);
    EXPECT_GT(with_pool, 1000u);
    EXPECT_EQ(*stack::program_from_bytes(stack::to_bytes(Program{})), Program{});
}

// The layout is what files hold: it changes with the version alone.
TEST(ProgramBytes, StandAsTheyAlwaysStood) {
    const Program program{{{stack::Opcode::form, 2, 0x1234, 0x89ABCDEF}}, {0x1122334455667788}, {}};
    const Bytes bytes = stack::to_bytes(program, 0xFEDCBA9876543210);
    std::string hex;
    for (const std::byte b : bytes) {
        hex += "0123456789abcdef"[std::to_integer<int>(b) >> 4];
        hex += "0123456789abcdef"[std::to_integer<int>(b) & 15];
    }
    EXPECT_EQ(hex,
              "5054584701000000"
              "4000000000000000"
              "d06ea8ea2c1b90aa"
              "1032547698badcfe"
              "01000000010000000000000000000000"
              "02023412efcdab89"
              "8877665544332211");
}

TEST(ProgramBytes, PartsAndMoreThanAllAreRefused) {
    test::RandomPrograms random(2);
    for (int n = 0; n < 40; ++n) {
        const Bytes bytes = stack::to_bytes(random.program(machine(), 20));
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
            expect_refused(part);
            seal(part);
            expect_refused(part);
        }
        Bytes more = bytes;
        for (int k = 0; k < 20; ++k) {
            more.push_back(static_cast<std::byte>(random.below(256)));
            expect_refused(more);
            Bytes sealed = more;
            seal(sealed);
            expect_refused(sealed);
        }
    }
}

TEST(ProgramBytes, EveryFlippedBitIsSeen) {
    test::RandomPrograms random(3);
    for (int n = 0; n < 20; ++n) {
        Bytes bytes = stack::to_bytes(random.program(machine(), 20), n);
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            bytes[bit / 8] ^= std::byte{1} << bit % 8;
            expect_refused(bytes);
            bytes[bit / 8] ^= std::byte{1} << bit % 8;
        }
        EXPECT_TRUE(stack::program_from_bytes(bytes));
    }
}

// Lengths that lie cost no memory, and what is read in spite of them is what the bytes say.
TEST(ProgramBytes, LengthsThatLieAreRefusedBeforeAnythingIsMade) {
    test::RandomPrograms random(4);
    std::size_t refused = 0, read = 0;
    for (int n = 0; n < 20000; ++n) {
        Bytes bytes = stack::to_bytes(random.program(machine(), 12));
        for (std::uint64_t k = 1 + random.below(3); k-- > 0;) {
            const std::size_t at = random.below(bytes.size() / 4) * 4;
            const std::uint32_t numbers[] = {0xFFFFFFFF, 0x80000000,
                                             static_cast<std::uint32_t>(random.below(64)), 0x7FFFFFFF,
                                             1u << random.below(32)};
            std::memcpy(bytes.data() + at, &numbers[random.below(std::size(numbers))], 4);
        }
        seal(bytes);
        largest_allocation = 0;
        const auto program = stack::program_from_bytes(bytes);
        EXPECT_LE(largest_allocation, 16 * bytes.size() + 4096);
        ++(program ? read : refused);
        if (program)
            EXPECT_EQ(*stack::program_from_bytes(stack::to_bytes(*program)), *program);
        else
            expect_refused(bytes);
    }
    EXPECT_GT(refused, 1000u);
    EXPECT_GT(read, 1000u);
}

TEST(ProgramBytes, ErrorsSayWhatIsWrong) {
    const Program program{std::vector<stack::Instruction>(2), {}, {}};
    const Bytes bytes = stack::to_bytes(program);
    const auto said = [](const Bytes& b) { return describe(stack::program_from_bytes(b).error()); };
    EXPECT_EQ(said({}), "error: not the bytes of a stack program: 0 bytes, but its header alone has 48\n");
    EXPECT_EQ(said(Bytes(64)), "error: not the bytes of a stack program: it does not begin with \"PTXG\"\n");
    EXPECT_EQ(said(Bytes(bytes.begin(), bytes.end() - 1)),
              "error: not the bytes of a stack program: it has 64 bytes, but 63 are there\n");
    Bytes newer = bytes;
    newer[4] = std::byte{9};
    EXPECT_EQ(said(newer),
              "error: not the bytes of a stack program: its version is 9, but this library reads 1\n");
    Bytes changed = bytes;
    changed[50] ^= std::byte{1};
    EXPECT_EQ(said(changed),
              "error: not the bytes of a stack program: the checksum is wrong: some byte has changed\n");
    Bytes lying = bytes;
    lying[32] = std::byte{3};
    seal(lying);
    EXPECT_EQ(said(lying),
              "error: not the bytes of a stack program: it says 3 instructions, but 16 bytes are left\n");
}

// ---- machines ---------------------------------------------------------------------------------------------

TEST(ProgramBytes, NameTheirMachine) {
    const std::uint64_t here = stack::machine_hash(machine());
    EXPECT_NE(here, stack::any_machine);
    const Program program = stack::random_program(machine(), 1, 20);
    const Bytes bytes = stack::to_bytes(program, here);
    EXPECT_EQ(*stack::program_from_bytes(bytes, here), program);
    EXPECT_EQ(*stack::program_from_bytes(bytes), program);
    const auto other = stack::program_from_bytes(bytes, here + 1);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::program_machine_differs);
    const auto none = stack::program_from_bytes(stack::to_bytes(program), here);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::program_machine_differs);
}

// Whatever can change what a program means changes the hash.
TEST(ProgramBytes, MachinesThatDifferHaveOtherHashes) {
    const auto own = [](std::string_view set, std::string_view signature = "mod f32 x, in f32 y") {
        return stack::machine_hash(
            *stack::Machine::make(*stack::InstructionSet::parse(set), *Signature::parse(signature)));
    };
    std::set<std::uint64_t> all = {
        own("add.f32\nmul.f32\n"),
        own("mul.f32\nadd.f32\n"),
        own("add.f32\n"),
        own("add.f32\nmul.f32\nsub.f32\n"),
        own("add.rn.f32\nmul.f32\n"),
        own("type philox u32\nadd.f32\nmul.f32\n"),
        own("type philox u64\nadd.f32\nmul.f32\n"),
        own("add.f32\nmul.f32\n", "in f32 x, mod f32 y"),
        own("add.f32\nmul.f32\n", "mod f32 y, in f32 x"),
        own("add.f32\nmul.f32\n", "mod f32 x, in f32 y[1]"),
        own("add.f32\nmul.f32\n", "mod f32 x, in f32 y[2]"),
        own("add.f32\nmul.f32\n", "mod f32 x, in u32 y"),
        own("add.f32\nmul.f32\n", "mod f32 x"),
        stack::machine_hash(machine_of("standard", "mod f32 x, in f32 y")),
        stack::machine_hash(
            machine_of("standard", "mod f32 x, in f32 y",
                       {.policy = {.allowed = Effect::load, .pure = false}, .target = {}, .ptx_version = 0})),
        stack::machine_hash(machine_of("standard", "mod f32 x, in f32 y", {.policy = {}, .ptx_version = 60})),
        stack::machine_hash(machine_of("full", "mod f32 x, in f32 y")),
    };
    EXPECT_EQ(all.size(), 17u);
    // Names of instructions and weights are how a set is written and drawn from.
    EXPECT_EQ(own("plus = add.f32\nmul.f32 weight 3\n"), own("add.f32\nmul.f32\n"));
}

// It stands in files: the same everywhere, as long as the set is the same.
TEST(ProgramBytes, TheHashOfAMachineStays) {
    EXPECT_EQ(stack::machine_hash(*stack::Machine::make(*stack::InstructionSet::parse("add.f32\nmul.f32\n"),
                                                        *Signature::parse("mod f32 x, in f32 y"))),
              9782035239842939354u);
}

}  // namespace
}  // namespace ptxgraft
