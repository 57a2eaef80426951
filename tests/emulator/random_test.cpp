// Random programs of hundreds of registers, with branches that diverge, loops and guards, against the same
// program on the host.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <random>

#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using u32 = std::uint32_t;
constexpr unsigned threads = 64;

// Instructions on 32-bit registers: %r0 is the thread's number, %r1 counts a loop's turns.
struct Instruction {
    enum Kind : std::uint8_t { add, exclusive_or, multiply_add, select, shared_swap } kind;
    unsigned d, a, b, c;
    int guard = -1;  // on bit 0 of a register; -1: none
};
struct Block {
    std::vector<Instruction> instructions;
    int skipped_by = -1;  // a register whose bit 0 lets threads skip the block
};

class Program {
  public:
    explicit Program(std::uint64_t seed) : random_(seed) {
        registers_ = 20 + below(60);
        all_registers_ = registers_;
        for (unsigned i = 2 + below(6); i > 0; --i) blocks_.push_back(block());
        turns_ = 1 + below(4);
    }

    [[nodiscard]] std::string ptx() const {
        std::string text = fmt::format(
            ".shared .align 4 .b8 box[{}];\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\n"
            "mul.wide.u32 %rd2, %r0, 4;\nadd.u64 %rd1, %rd1, %rd2;\nmov.u32 %s, box;\n"
            "shl.b32 %t, %r0, 2;\nadd.u32 %s, %s, %t;\nmov.u32 %r1, 0;\n",
            threads * 4);
        for (unsigned i = 2; i < registers_; ++i)
            text += fmt::format("mad.lo.u32 %r{}, %r0, {}, {};\n", i, i * 2654435761u, i * 40503u);
        text += "L:\n";
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            if (blocks_[i].skipped_by >= 0)
                text += bit_of("%p1", blocks_[i].skipped_by) + fmt::format("@%p1 bra B{};\n", i);
            for (const Instruction& one : blocks_[i].instructions) text += line(one);
            text += fmt::format("B{}:\n", i);
        }
        text += fmt::format("add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, {};\n@%p2 bra L;\nmov.u32 %t, 0;\n",
                            turns_);
        for (unsigned i = 0; i < registers_; ++i) text += fmt::format("mad.lo.u32 %t, %t, 31, %r{};\n", i);
        return test::kernel_text(
            {.parameters = {"u64 out"},
             .registers = {"pred %p<3>", fmt::format("b32 %r<{}>, %s, %t", all_registers_ + 2), "b64 %rd<4>"},
             .body = text + "st.global.u32 [%rd1], %t;"});
    }

    [[nodiscard]] u32 expected(u32 thread) const {
        std::vector<u32> r(all_registers_);
        r[0] = thread;
        for (unsigned i = 2; i < registers_; ++i) r[i] = thread * (i * 2654435761u) + i * 40503u;
        for (r[1] = 0; r[1] < turns_; ++r[1])
            for (const Block& block : blocks_)
                if (block.skipped_by < 0 || (r[static_cast<unsigned>(block.skipped_by)] & 1) == 0)
                    for (const Instruction& one : block.instructions) run(one, r);
        u32 sum = 0;
        for (unsigned i = 0; i < registers_; ++i) sum = sum * 31 + r[i];
        return sum;
    }

  private:
    unsigned below(unsigned end) { return std::uniform_int_distribution<unsigned>(0, end - 1)(random_); }
    // Mostly what was written lately, as compilers do.
    unsigned source() {
        if (recent_.empty() || below(3) == 0) return below(registers_);
        return recent_[recent_.size() - 1 -
                       below(std::min<unsigned>(40, static_cast<unsigned>(recent_.size())))];
    }
    // Values of the block alone have registers of their own, now and then written twice; the others live on.
    Block block() {
        Block made;
        recent_.clear();
        if (below(2) == 0) made.skipped_by = static_cast<int>(source());
        for (unsigned i = 20 + below(300); i > 0; --i) {
            Instruction one{static_cast<Instruction::Kind>(below(5)), 0, source(), source(), source()};
            const unsigned choice = below(10);
            if (choice < 7)
                one.d = all_registers_++;
            else if (choice == 7 && !recent_.empty())
                one.d = recent_[below(static_cast<unsigned>(recent_.size()))];
            else
                one.d = 2 + below(registers_ - 2);
            if (choice >= 7 && below(3) == 0) one.guard = static_cast<int>(source());
            if (choice < 7) recent_.push_back(one.d);
            made.instructions.push_back(one);
        }
        return made;
    }
    static std::string bit_of(const char* predicate, int reg) {
        return fmt::format("and.b32 %t, %r{}, 1;\nsetp.ne.u32 {}, %t, 0;\n", reg, predicate);
    }
    static std::string line(const Instruction& one) {
        std::string text;
        const std::string guard = one.guard >= 0 ? "@%p0 " : "";
        if (one.guard >= 0) text += bit_of("%p0", one.guard);
        switch (one.kind) {
            case Instruction::add:
                return text + fmt::format("{}add.u32 %r{}, %r{}, %r{};\n", guard, one.d, one.a, one.b);
            case Instruction::exclusive_or:
                return text + fmt::format("{}xor.b32 %r{}, %r{}, %r{};\n", guard, one.d, one.a, one.b);
            case Instruction::multiply_add:
                return text + fmt::format("{}mad.lo.u32 %r{}, %r{}, %r{}, %r{};\n", guard, one.d, one.a,
                                          one.b, one.c);
            case Instruction::select:
                return text + fmt::format("setp.lt.u32 %p1, %r{}, %r{};\n{}selp.u32 %r{}, %r{}, %r{}, %p1;\n",
                                          one.a, one.b, guard, one.d, one.b, one.c);
            default:
                return text + fmt::format("{}st.shared.u32 [%s], %r{};\n{}ld.shared.u32 %r{}, [%s];\n", guard,
                                          one.a, guard, one.d);
        }
    }
    static void run(const Instruction& one, std::vector<u32>& r) {
        if (one.guard >= 0 && (r[static_cast<unsigned>(one.guard)] & 1) == 0) return;
        switch (one.kind) {
            case Instruction::add: r[one.d] = r[one.a] + r[one.b]; break;
            case Instruction::exclusive_or: r[one.d] = r[one.a] ^ r[one.b]; break;
            case Instruction::multiply_add: r[one.d] = r[one.a] * r[one.b] + r[one.c]; break;
            case Instruction::select: r[one.d] = r[one.a] < r[one.b] ? r[one.b] : r[one.c]; break;
            default: r[one.d] = r[one.a]; break;
        }
    }

    std::mt19937_64 random_;
    unsigned registers_ = 0, all_registers_ = 0, turns_ = 1;  // the first of all live through the program
    std::vector<unsigned> recent_;
    std::vector<Block> blocks_;
};

class RandomProgram : public testing::TestWithParam<bool> {};

TEST_P(RandomProgram, ComputesWhatTheHostDoes) {
    for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
        const Program program(seed);
        EmulatorOptions options;
        options.fast = GetParam();
        Machine machine(options);
        EXPECT_RUNS(machine, machine.load(program.ptx()));
        const auto out = machine.upload(std::vector<u32>(threads));
        EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
        const auto results = machine.download<u32>(out, threads);
        for (unsigned thread = 0; thread < threads; ++thread)
            ASSERT_EQ(results[thread], program.expected(thread)) << "seed " << seed << ", thread " << thread;
    }
}

INSTANTIATE_TEST_SUITE_P(Emulator, RandomProgram, testing::Bool(),
                         [](const auto& p) { return p.param ? "Fast" : "Checked"; });

// A register of hundreds that is read before anything wrote it is named, whatever stood in its place before.
TEST(RandomProgram, NamesWhatNothingWrote) {
    std::string body;
    for (unsigned i = 1; i < 300; ++i) body += fmt::format("add.u32 %r{}, %r{}, 1;\n", i, i - 1);
    const std::string text =
        test::kernel_text({.parameters = {"u64 out"},
                           .registers = {"b32 %r<400>", "b64 %rd1"},
                           .body = "ld.param.u64 %rd1, [out];\nmov.u32 %r0, 7;\n" + body +
                                   "add.u32 %r350, %r299, %r333;\nst.global.u32 [%rd1], %r350;"});
    Machine machine;
    EXPECT_RUNS(machine, machine.load(text));
    const auto out = machine.upload(std::vector<u32>(1));
    const auto done = machine.launch("k", {}, out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::register_not_written);
    EXPECT_NE(machine.text_of(done.error()).find("%r333"), std::string::npos)
        << machine.text_of(done.error());
}

}  // namespace
}  // namespace ptxgraft
