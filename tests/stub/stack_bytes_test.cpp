// Programs of any bytes over the set `full`: each compiles in an arena of exactly `arena_bound` bytes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "ptxgraft/evaluate.hpp"
#include "support/random_programs.hpp"

namespace ptxgraft {
namespace {

using stack::Instruction;
using stack::Opcode;

// How often: PTXGRAFT_PROGRAMS says it for long runs by hand.
std::uint64_t program_count(std::uint64_t otherwise) {
    const char* const text = std::getenv("PTXGRAFT_PROGRAMS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
std::uint64_t first_seed() {
    const char* const text = std::getenv("PTXGRAFT_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

// Memory that ends where it ends: sanitizers see a byte behind it.
struct ExactArena {
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory;
    std::span<std::byte> bytes;
    explicit ExactArena(std::size_t size)
        : memory(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})),
                 [](std::byte* m) { ::operator delete[](m, std::align_val_t{64}); }),
          bytes(memory.get(), size) {}
};

Expected<stack::Compiled> compile_exactly(stack::ProgramView program, const stack::Machine& machine,
                                          const stack::CompileOptions& options) {
    ExactArena arena(stack::arena_bound(program, machine, options));
    return stack::compile(program, machine, arena.bytes, options);
}

// Columns of each register of a signature, no longer than they must be.
class ExactColumns {
  public:
    ExactColumns(const Signature& signature, std::size_t count, test::RandomPrograms& random)
        : count_(count) {
        for (const SiteOperand& o : signature.operands)
            for (std::uint32_t element = 0; element < std::max(o.count, 1u); ++element) add(o, random);
    }
    [[nodiscard]] stack::Columns view() const { return {inputs_, outputs_, count_}; }
    // What was written, as one string of bytes.
    [[nodiscard]] std::string written() const {
        std::string all;
        for (std::size_t r = 0; r < out_.size(); ++r)
            if (outputs_[r] != nullptr)
                all.append(reinterpret_cast<const char*>(out_[r].get()), count_ * bytes_[r]);
        return all;
    }

  private:
    void add(const SiteOperand& operand, test::RandomPrograms& random) {
        const std::size_t bytes = std::max(bits(operand.type) / 8, 1u), all = bytes * count_;
        auto& in = in_.emplace_back(new std::byte[all]);
        auto& out = out_.emplace_back(new std::byte[all]);
        for (std::size_t i = 0; i < all; ++i)
            in[i] = static_cast<std::byte>(random.below(operand.type == Type::pred ? 2 : 256));
        bytes_.push_back(bytes);
        inputs_.push_back(operand.direction == Direction::out ? nullptr : in.get());
        outputs_.push_back(operand.direction == Direction::in ? nullptr : out.get());
    }

    std::size_t count_;
    std::vector<std::unique_ptr<std::byte[]>> in_, out_;
    std::vector<std::size_t> bytes_;
    std::vector<const void*> inputs_;
    std::vector<void*> outputs_;
};

// Everything that a program goes through.
class Journey {
  public:
    Journey(const stack::Program& program, const stack::Machine& machine, test::RandomPrograms& random)
        : program_(program),
          machine_(machine),
          random_(random),
          columns_(machine.signature(), 1 + random.below(9), random) {}

    void run() {
        compile();
        evaluate();
        read_back();
    }
    std::uint64_t compiled = 0, live = 0, evaluated = 0;

  private:
    [[nodiscard]] stack::CompileOptions options() {
        stack::CompileOptions o = random_.lenient();
        o.limits.steps = 1u << 12;
        return o;
    }

    void compile() {
        stack::CompileOptions o = options();
        const auto made = compile_exactly(program_, machine_, o);
        ASSERT_TRUE(made || made.error().code == Errc::stack_limit_exceeded) << describe(made.error());
        if (made) ++compiled, live += made->instruction_count;
        // Equal dataflow, however it is shared; but an `if` whose arms give one shared value selects nothing.
        const auto hash = stack::dataflow_hash(program_, machine_, o);
        o.reuse = !o.reuse;
        const auto other = stack::dataflow_hash(program_, machine_, o);
        EXPECT_TRUE(has_if() || !hash || !other || *hash == *other);
        o = random_.any();
        o.limits.steps = 1u << 12;
        if (random_.below(3) == 0) o.constants = stack::Constants::data;
        const auto any = compile_exactly(program_, machine_, o);
        EXPECT_TRUE(any || !describe(any.error()).empty());
    }

    [[nodiscard]] bool has_if() const {
        const auto in = [](const std::vector<Instruction>& code) {
            return std::any_of(code.begin(), code.end(),
                               [](const Instruction& i) { return i.opcode == Opcode::if_; });
        };
        return in(program_.code) || std::any_of(program_.routines.begin(), program_.routines.end(),
                                                [&](const auto& r) { return in(r.code); });
    }

    // The columns that the program makes; none where hardware alone knows.
    [[nodiscard]] std::optional<std::string> columns(const stack::CompileOptions& o) {
        const auto evaluator = stack::Evaluator::make(program_, machine_, o);
        if (!evaluator) return std::nullopt;
        evaluator->run(columns_.view());
        return columns_.written();
    }

    // Sharing and folding change nothing.
    void evaluate() {
        stack::CompileOptions o = options();
        o.reuse = o.fold = false;
        const auto plain = columns(o);
        o.reuse = random_.below(2) == 0, o.fold = !o.reuse || random_.below(2) == 0;
        const auto other = columns(o);
        if (!plain || !other) return;
        ++evaluated;
        EXPECT_EQ(*plain, *other) << "reuse " << o.reuse << ", fold " << o.fold << "\n"
                                  << stack::print(program_, machine_);
    }

    void read_back() const {
        const std::string text = stack::print(program_, machine_);
        const auto again = stack::parse(text, machine_);
        ASSERT_TRUE(again) << describe(again.error(), text);
        EXPECT_EQ(*again, program_) << text;
    }

    const stack::Program& program_;
    const stack::Machine& machine_;
    test::RandomPrograms& random_;
    ExactColumns columns_;
};

stack::Machine random_machine(test::RandomPrograms& random) {
    stack::MachineOptions options;
    if (random.below(2) == 0) options.policy.allowed = Effect::all;
    const auto set = stack::find_set(random.below(4) == 0 ? "standard" : "full");
    return *stack::Machine::make(set, random.signature(), options);
}

// PTXGRAFT_PROGRAMS=1000000 under the sanitizers' presets is the long run. A batch has one machine and a seed
// of its own: a batch that fails is repeated by its seed alone, PTXGRAFT_SEED=… PTXGRAFT_PROGRAMS=100.
TEST(StackBytes, AnyBytesCompileEvaluateAndReadBack) {
    constexpr std::uint64_t batch = 100, most = 100;
    const std::uint64_t count = program_count(2000);
    std::uint64_t compiled = 0, live = 0, evaluated = 0;
    for (std::uint64_t done = 0, seed = first_seed(); done < count && !HasFailure(); done += batch, ++seed) {
        test::RandomPrograms random(seed);
        const stack::Machine machine = random_machine(random);
        for (std::uint64_t n = 0; n < std::min(batch, count - done) && !HasFailure(); ++n) {
            SCOPED_TRACE(testing::Message() << "PTXGRAFT_SEED=" << seed << ", program " << n);
            const stack::Program program =
                random.below(3) == 0 ? random.any_bytes(machine, most) : random.program(machine, most);
            Journey journey(program, machine, random);
            journey.run();
            compiled += journey.compiled, live += journey.live, evaluated += journey.evaluated;
        }
    }
    EXPECT_GT(live, compiled);
    EXPECT_GT(evaluated, compiled / 4);
    RecordProperty("programs", std::to_string(count) + ", compiled " + std::to_string(compiled) +
                                   ", evaluated " + std::to_string(evaluated) + ", instructions of PTX " +
                                   std::to_string(live));
}

// Brackets that are never closed, or stand deeper than any program may go, count for nothing, and those
// around them for what they are.
TEST(StackBytes, BracketsThatAreSkippedDoNotHideTheOnesAroundThem) {
    const auto machine =
        *stack::Machine::make(stack::find_set("full"), *Signature::parse("mod f32 x, mod pred p"));
    const Instruction one{Opcode::constant, stack::type_id(Type::f32), 0, 0x3F800000},
        begin{Opcode::repeat, 0, 0, 100}, never{Opcode::repeat, 0, 0, 0}, end{Opcode::end, 0, 0, 0};
    const Instruction if_{Opcode::if_, 0, 0, 0}, else_{Opcode::else_, 0, 0, 0}, p{Opcode::input, 0, 1, 0};
    for (const std::size_t deep : {0, 1, 255, 256, 257, 300, 1000}) {
        for (const Instruction skipped : {never, if_}) {
            for (const std::size_t closed : {deep, deep / 2, std::size_t{0}}) {
                std::vector<Instruction> code(7, end);  // without a begin
                code.insert(code.end(), {begin, begin, one, skipped});
                code.insert(code.end(), deep, begin);
                code.insert(code.end(), 50, one);
                code.insert(code.end(), closed, end);
                code.insert(code.end(), {end, end, one, end, p, if_, one, else_});
                stack::CompileOptions options = stack::mutated;
                const auto compiled = compile_exactly(stack::ProgramView(code), machine, options);
                ASSERT_TRUE(compiled || compiled.error().code == Errc::stack_limit_exceeded)
                    << describe(compiled.error());
                if (closed == deep && skipped == never) {
                    ASSERT_TRUE(compiled) << deep << describe(compiled.error());
                    EXPECT_EQ(compiled->leftover, 100u * 100 + 100 + 1 - 1) << deep;
                }
            }
        }
    }
}

TEST(StackBytes, UnclosedBracketsAreCountedInLinearTime) {
    const auto machine = *stack::Machine::make(stack::find_set("full"), *Signature::parse("mod f32 x"));
    const std::vector<Instruction> code(1u << 20, Instruction{Opcode::if_, 0, 0, 0});
    EXPECT_TRUE(compile_exactly(stack::ProgramView(code), machine, stack::mutated));
}

}  // namespace
}  // namespace ptxgraft
