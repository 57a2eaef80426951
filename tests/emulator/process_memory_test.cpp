// EmulatorOptions::process_memory: kernels work on what the host has, at the host's addresses.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "ptxgraft/emulator.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::Each;
using testing::HasSubstr;

using u32 = std::uint32_t;

// Pages of this process, with what they may be used for.
class Pages {
  public:
    Pages(std::size_t count, int protection, void* at = nullptr)
        : bytes_(count * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          begin_(mmap(at, bytes_, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED_NOREPLACE : 0), -1, 0)) {}
    ~Pages() {
        if (is_mapped()) munmap(begin_, bytes_);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] bool is_mapped() const { return begin_ != MAP_FAILED; }
    [[nodiscard]] u32* words() const { return static_cast<u32*>(begin_); }
    [[nodiscard]] std::size_t count() const { return bytes_ / sizeof(u32); }

  private:
    std::size_t bytes_;
    void* begin_;
};

Expected<EmulatorStats> launch(Emulator& emulator, const std::string& ptx, const void* pointer, u32 threads) {
    const auto module = emulator.load(ptx);
    if (!module) return tl::unexpected(module.error());
    const std::array<std::span<const std::byte>, 1> arguments{std::as_bytes(std::span(&pointer, 1))};
    return emulator.launch(**module, "k", {.block = {threads}}, arguments);
}

// Each thread does `body` with %rd2, the address of its word.
std::string each_word(const std::string& body, const std::string& declarations = {}) {
    return test::kernel_text({.declarations = declarations,
                              .parameters = {"u64 p"},
                              .registers = {"b32 %r<8>", "b64 %rd<8>"},
                              .body = "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
                                      "mad.wide.u32 %rd2, %r1, 4, %rd1;\n" +
                                      body});
}

const std::string twice =
    each_word("ld.global.u32 %r2, [%rd2];\nshl.b32 %r2, %r2, 1;\nst.global.u32 [%rd2], %r2;");

// With all checks as without any: what others wrote counts as written.
class ProcessMemory : public testing::TestWithParam<bool> {
  protected:
    Emulator emulator{{.fast = GetParam(), .process_memory = true}};
};
INSTANTIATE_TEST_SUITE_P(Checks, ProcessMemory, testing::Bool(),
                         [](const auto& fast) { return fast.param ? "Fast" : "Checked"; });

TEST_P(ProcessMemory, KernelsWorkOnTheHostsBytesInPlace) {
    std::vector<u32> heap(64);
    std::iota(heap.begin(), heap.end(), 1u);
    const auto done = launch(emulator, twice, heap.data(), 64);
    ASSERT_TRUE(done) << describe(done.error(), twice);
    for (u32 i = 0; i < 64; ++i) EXPECT_EQ(heap[i], 2 * (i + 1));
    std::array<u32, 4> stack{5, 6, 7, 8};
    ASSERT_TRUE(launch(emulator, twice, stack.data(), 4));
    EXPECT_THAT(stack, testing::ElementsAre(10, 12, 14, 16));
}

TEST_P(ProcessMemory, MemoryMappedAfterTheEmulatorWasMadeIsSeenAndWhatIsGoneIsNot) {
    void* at = nullptr;
    {
        const Pages pages(1, PROT_READ | PROT_WRITE);
        ASSERT_TRUE(pages.is_mapped());
        pages.words()[3] = 21;
        ASSERT_TRUE(launch(emulator, twice, pages.words(), 4));
        EXPECT_EQ(pages.words()[3], 42u);
        at = pages.words();
    }
    const auto done = launch(emulator, twice, at, 4);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::address_out_of_bounds);
    EXPECT_THAT(describe(done.error(), twice), HasSubstr("ld.global.u32"));
}

TEST_P(ProcessMemory, TheFirstByteBehindAMappingIsOutOfBounds) {
    const Pages pages(3, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(pages.is_mapped());
    u32* const end = pages.words() + pages.count() / 3;
    ASSERT_EQ(mprotect(end, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE), 0);
    ASSERT_TRUE(launch(emulator, twice, end - 32, 32));
    const auto done = launch(emulator, twice, end - 31, 32);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::address_out_of_bounds);
}

TEST_P(ProcessMemory, WhatTheHostMayNotWriteNoKernelWrites) {
    const Pages pages(1, PROT_READ);
    ASSERT_TRUE(pages.is_mapped());
    const auto done = launch(emulator, twice, pages.words(), 1);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::memory_read_only);
    EXPECT_EQ(pages.words()[0], 0u);
}

TEST_P(ProcessMemory, NorDoesACopy) {
    const Pages pages(1, PROT_READ);
    ASSERT_TRUE(pages.is_mapped());
    const auto address = reinterpret_cast<std::uint64_t>(pages.words());
    const u32 five = 5;
    const auto source = emulator.allocate(4);
    ASSERT_TRUE(source);
    ASSERT_TRUE(emulator.write(*source, std::as_bytes(std::span(&five, 1))));
    for (const auto& done : {emulator.write(address, std::as_bytes(std::span(&five, 1))),
                             emulator.fill(address, std::byte{5}, 4), emulator.copy(address, *source, 4)}) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::memory_read_only);
    }
    EXPECT_TRUE(emulator.copy(*source, address, 4));
    u32 read = 7;
    EXPECT_TRUE(emulator.read(*source, std::as_writable_bytes(std::span(&read, 1))));
    EXPECT_EQ(read, 0u);
}

TEST_P(ProcessMemory, CopiesMayOverlap) {
    std::vector<u32> words{1, 2, 3, 4};
    const auto address = reinterpret_cast<std::uint64_t>(words.data());
    ASSERT_TRUE(emulator.write(address + 4, std::as_bytes(std::span(words).first(3))));
    EXPECT_THAT(words, testing::ElementsAre(1, 1, 2, 3));
    ASSERT_TRUE(emulator.read(address + 4, std::as_writable_bytes(std::span(words).first(3))));
    EXPECT_THAT(words, testing::ElementsAre(1, 2, 3, 3));
}

TEST_P(ProcessMemory, VariablesAndTheHeapAreThereTooAndAligned) {
    const std::string ptx = each_word(
        "mov.u64 %rd3, table;\nand.b64 %rd4, %rd3, 127;\n"  // 0
        "mad.wide.u32 %rd3, %r1, 4, %rd3;\nld.global.u32 %r2, [%rd3];\ncvt.u32.u64 %r3, %rd4;\nadd.u32 %r2, "
        "%r2, %r3;\n"
        "{ .param .b64 n, r; st.param.b64 [n], 16; call (r), malloc, (n); ld.param.b64 %rd5, [r]; }\n"
        "st.u32 [%rd5], %r2;\nld.u32 %r4, [%rd5];\nst.global.u32 [%rd2], %r4;",
        ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.global .align 128 .u32 table[4] = {11, 12, "
        "13, 14};\n");
    std::array<u32, 4> out{};
    const auto done = launch(emulator, ptx, out.data(), 4);
    ASSERT_TRUE(done) << describe(done.error(), ptx);
    EXPECT_THAT(out, testing::ElementsAre(11, 12, 13, 14));
}

// What is the launch's own is checked as ever.
TEST(CheckedProcessMemory, SharedMemoryAndRegistersThatNothingWroteAreFound) {
    Emulator emulator({.process_memory = true});
    u32 out = 0;
    const auto code_of = [&](const std::string& body) {
        const auto done = launch(emulator, each_word(body, ".shared .u32 tile[64];\n"), &out, 1);
        return done ? Errc{} : done.error().code;
    };
    EXPECT_EQ(code_of("ld.shared.u32 %r2, [tile];\nst.global.u32 [%rd2], %r2;"), Errc::memory_not_written);
    EXPECT_EQ(code_of("mov.u64 %rd3, tile;\ncvta.shared.u64 %rd3, %rd3;\nld.u32 %r2, [%rd3];\n"
                      "st.global.u32 [%rd2], %r2;"),
              Errc::memory_not_written);
    EXPECT_EQ(code_of(".local .u32 own;\nld.local.u32 %r2, [own];\nst.global.u32 [%rd2], %r2;"),
              Errc::memory_not_written);
    EXPECT_EQ(code_of("st.global.u32 [%rd2], %r3;"), Errc::register_not_written);
    EXPECT_EQ(code_of("st.shared.u32 [tile], 5;\nld.shared.u32 %r2, [tile];\nst.global.u32 [%rd2], %r2;"),
              Errc{});
    EXPECT_EQ(out, 5u);
    const std::string race = each_word("st.global.u32 [%rd1], %r1;");
    const auto done = launch(emulator, race, &out, 2);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::data_race);
}

// What the host may only read is global memory; what is in .const is not.
TEST_P(ProcessMemory, ConstantMemoryIsTheModulesOwn) {
    const auto spaces = [](const std::string& address) {
        return each_word(
            address +
                "isspacep.const %p1, %rd3;\nisspacep.global %p2, %rd3;\nselp.u32 %r2, 1, 0, %p1;\n"
                "selp.u32 %r3, 2, 0, %p2;\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd2], %r2;",
            ".const .u32 before = 1;\n.const .u32 table[2] = {11, 12};\n.global .u32 word;\n");
    };
    const Pages pages(1, PROT_READ);
    ASSERT_TRUE(pages.is_mapped());
    u32 out = 0;
    const auto space_of = [&](const std::string& address) {
        const auto done = launch(emulator, spaces(".reg .pred %p<3>;\n" + address), &out, 1);
        EXPECT_TRUE(done) << describe(done.error(), spaces(address));
        return out;
    };
    EXPECT_EQ(space_of("mov.u64 %rd3, table;\ncvta.const.u64 %rd3, %rd3;\n"), 1u);
    EXPECT_EQ(space_of("mov.u64 %rd3, word;\ncvta.global.u64 %rd3, %rd3;\n"), 2u);
    const auto address = std::to_string(reinterpret_cast<std::uintptr_t>(pages.words()));
    EXPECT_EQ(space_of("mov.u64 %rd3, " + address + ";\n"), 2u);
    const std::string write = each_word(
        "mov.u64 %rd3, table;\ncvta.const.u64 %rd3, %rd3;\nld.u32 %r2, [%rd3+4];\n"
        "st.global.u32 [%rd2], %r2;\nst.u32 [%rd3], %r2;",
        ".const .u32 table[2] = {11, 12};\n");
    const auto done = launch(emulator, write, &out, 1);
    EXPECT_EQ(out, 12u);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::memory_read_only);
}

// The windows of the generic address space lie where no process has memory.
TEST_P(ProcessMemory, NoMappingHidesSharedMemory) {
    const std::string ptx = each_word(
        ".shared .align 4 .b8 s[128];\nmov.u64 %rd3, s;\ncvta.shared.u64 %rd3, %rd3;\n"
        "mad.wide.u32 %rd3, %r1, 4, %rd3;\nld.u32 %r2, [%rd2];\nst.u32 [%rd3], %r2;\nld.u32 %r3, [%rd3];\n"
        "add.u32 %r3, %r3, 1;\nst.u32 [%rd2], %r3;");
    for (const std::uint64_t at : {std::uint64_t{0x7F01} << 32, (std::uint64_t{0x7F02} << 32) + (1u << 24)}) {
        const Pages pages(1, PROT_READ | PROT_WRITE, reinterpret_cast<void*>(at));
        if (!pages.is_mapped()) continue;  // something else is there already
        std::fill_n(pages.words(), 32, 7u);
        const auto done = launch(emulator, ptx, pages.words(), 32);
        ASSERT_TRUE(done) << describe(done.error(), ptx);
        EXPECT_THAT(std::vector<u32>(pages.words(), pages.words() + 32), Each(8u));
    }
}

TEST_P(ProcessMemory, AllocationsHaveTheAddressesOfTheirBytes) {
    const auto address = emulator.allocate(64);
    ASSERT_TRUE(address);
    EXPECT_EQ(*address % 256, 0u);
    u32* const bytes = reinterpret_cast<u32*>(*address);
    bytes[1] = 4;
    ASSERT_TRUE(launch(emulator, twice, bytes, 2));
    u32 read = 0;
    ASSERT_TRUE(emulator.read(*address + 4, std::as_writable_bytes(std::span(&read, 1))));
    EXPECT_EQ(read, 8u);
    EXPECT_TRUE(emulator.free(*address));
    EXPECT_FALSE(emulator.free(*address));
}

}  // namespace
}  // namespace ptxgraft
