// Random programs of exact instructions: what the manual says (stack_meaning.hpp), evaluate, and the emulator
// on the PTX agree, with and without `reuse` and `fold`; texts are read back; hashes are those of the
// dataflow.

#include "support/stack_meaning.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "support/expression_run.hpp"
#include "support/random_programs.hpp"

namespace ptxgraft {
namespace {

using stack::Instruction;
using stack::Opcode;

std::uint64_t wanted(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

const stack::Machine& machine_of_known_forms() {
    static const stack::Machine made = [] {
        std::string text;
        for (const test::KnownForm& f : test::known_forms()) text += f.name + "\n";
        const auto set = stack::InstructionSet::parse(text);
        EXPECT_TRUE(set) << describe(set.error(), text);
        return *stack::Machine::make(
            *set, *Signature::parse("mod f32 x, in f32 y, out f32 z, mod u32 n, in s32 m, mod pred p, out "
                                    "pred q, mod u64 w, mod f64 d, mod u16 h, mod f32 frag[3], "
                                    "mod s32 k, out b32 o, out s64 l"));
    }();
    return made;
}

test::Values random_values(test::RandomPrograms& random, std::size_t count) {
    test::Values values;
    for (const Type t : test::registers_of(machine_of_known_forms().signature())) {
        auto& column = values.emplace_back();
        for (std::size_t i = 0; i < count; ++i) {
            const float number = static_cast<float>(static_cast<int>(random.below(4001)) - 2000) / 16.0f;
            if (t == Type::f32)
                column.push_back(std::bit_cast<std::uint32_t>(number));
            else if (t == Type::f64)
                column.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(number) / 3));
            else
                column.push_back((random.below(2) == 0 ? random.below(5) - 2 : random.below(~0ull)) &
                                 (bits(t) == 64 ? ~0ull : (1ull << bits(t)) - 1));
        }
    }
    return values;
}

test::Values by_meaning(const stack::Program& program, const test::Values& values,
                        const stack::CompileOptions& options, std::vector<bool>& undefined) {
    test::Values results = values;
    undefined.assign(values[0].size(), false);
    for (std::size_t i = 0; i < values[0].size(); ++i) {
        test::Words point;
        for (const auto& column : values) point.push_back(column[i]);
        test::Meaning meaning(program, machine_of_known_forms(), point);
        const test::Words after = meaning.run(options);
        undefined[i] = meaning.is_undefined();
        for (std::size_t r = 0; r < after.size(); ++r) results[r][i] = after[r];
    }
    return results;
}

void expect_equal(const test::Values& is, const test::Values& should, const std::vector<bool>& undefined,
                  const std::string& what) {
    const auto names = test::names_of(machine_of_known_forms().signature());
    for (std::size_t r = 0; r < should.size(); ++r)
        for (std::size_t i = 0; i < undefined.size(); ++i)
            if (!undefined[i]) {
                ASSERT_EQ(is[r][i], should[r][i]) << names[r] << " at point " << i << "\n" << what;
            }
}

TEST(StackMeaning, EvaluateAndTheEmulatorAgreeWithTheManual) {
    test::RandomPrograms random(wanted("PTXGRAFT_SEED", 11));
    constexpr std::size_t points = 8;
    std::size_t compared = 0, defined = 0;
    for (std::uint64_t n = wanted("PTXGRAFT_PROGRAMS", 300); n-- > 0;) {
        const stack::Program program = random.program(machine_of_known_forms());
        const test::Values values = random_values(random, points);
        stack::CompileOptions options = random.lenient();
        options.limits.steps = 1u << 12;
        std::vector<std::string> stubs;
        std::vector<test::Values> evaluated;
        for (int way = 0; way < 4; ++way) {
            options.reuse = (way & 1) != 0, options.fold = (way & 2) != 0;
            stack::Compiler compiler;
            const auto compiled = compiler.compile(program, machine_of_known_forms(), options);
            if (!compiled) break;
            stubs.emplace_back(compiled->ptx);
            const auto run = test::by_evaluate(program, machine_of_known_forms(), values, options);
            ASSERT_TRUE(run) << describe(run.error()) << stack::print(program, machine_of_known_forms());
            evaluated.push_back(*run);
        }
        if (stubs.size() != 4) continue;
        std::vector<bool> undefined;
        const test::Values should = by_meaning(program, values, options, undefined);
        const auto emulated = test::by_emulator(machine_of_known_forms().signature(), stubs, values);
        ASSERT_TRUE(emulated) << describe(emulated.error());
        for (std::size_t way = 0; way < 4; ++way) {
            const std::string what = (way & 1 ? "reuse " : "") + std::string(way & 2 ? "fold " : "") + "\n" +
                                     stack::print(program, machine_of_known_forms()) + stubs[way];
            expect_equal(evaluated[way], should, undefined, "evaluate " + what);
            if (HasFatalFailure()) return;
            expect_equal((*emulated)[way], should, undefined, "emulator " + what);
            if (HasFatalFailure()) return;
        }
        const std::string text = stack::print(program, machine_of_known_forms());
        const auto again = stack::parse(text, machine_of_known_forms());
        ASSERT_TRUE(again) << describe(again.error(), text);
        EXPECT_EQ(again->code, program.code) << text;
        EXPECT_EQ(again->pool, program.pool) << text;
        ASSERT_EQ(again->routines.size(), program.routines.size()) << text;
        for (std::size_t r = 0; r < program.routines.size(); ++r) {
            EXPECT_EQ(again->routines[r].name, program.routines[r].name) << text;
            EXPECT_EQ(again->routines[r].arguments, program.routines[r].arguments) << text;
            EXPECT_EQ(again->routines[r].results, program.routines[r].results) << text;
            EXPECT_EQ(again->routines[r].code, program.routines[r].code) << text;
        }
        if (HasFailure()) return;
        compared += points;
        for (const bool u : undefined) defined += u ? 0 : 1;
    }
    EXPECT_GT(2 * defined, compared);
}

// ---- hashes
// -----------------------------------------------------------------------------------------------------------

// The dataflow of a text of pure instructions, read from its lines: what the operands hold at the end, as one
// string of numbers of values.
class TextFlow {
  public:
    std::string of(std::string_view ptx) {
        names_.clear();
        std::istringstream lines{std::string(ptx)};
        for (std::string line; std::getline(lines, line);)
            if (line != "\t{" && line != "\t}" && !line.starts_with("\t.reg"))
                one(line.substr(1, line.size() - 2));
        std::string all;
        for (const auto& [name, value] : names_)
            if (name[0] == '_' && value != number(name)) all += name + "=" + std::to_string(value) + " ";
        return all;
    }

  private:
    void one(const std::string& line) {
        const std::size_t space = line.find(' ');
        const std::string op = line.substr(0, space);
        std::size_t comma = line[space + 1] == '{' ? line.find('}') + 1 : line.find(',', space);
        const auto outputs = split(line.substr(space + 1, comma - space - 1)),
                   inputs = split(line.substr(comma + 1));
        std::string key = op;
        for (const auto& i : inputs) key += " " + std::to_string(value(i));
        const bool is_copy = op.starts_with("mov.") && outputs.size() == 1 && inputs.size() == 1;
        for (std::size_t k = 0; k < outputs.size(); ++k)
            names_[outputs[k]] = is_copy ? value(inputs[0]) : number(key + "#" + std::to_string(k));
    }
    static std::vector<std::string> split(std::string_view text) {
        std::vector<std::string> all(1);
        for (const char c : text) {
            if (c == ' ' || c == '{' || c == '}') continue;
            if (c == ',' || c == '|')
                all.emplace_back();
            else
                all.back() += c;
        }
        return all;
    }
    std::size_t value(const std::string& name) {
        const auto found = names_.find(name);
        return found != names_.end() ? found->second : number(name);
    }
    std::size_t number(const std::string& key) {
        return numbers_.try_emplace(key, numbers_.size()).first->second;
    }

    std::map<std::string, std::size_t> names_, numbers_;
};

TEST(StackMeaning, EqualHashesAreEqualDataflow) {
    test::RandomPrograms random(wanted("PTXGRAFT_SEED", 12));
    TextFlow flows;
    std::map<std::uint64_t, std::string> seen;
    std::map<std::string, std::uint64_t> hashes;
    std::size_t repeated = 0, split = 0;
    stack::Compiler compiler;
    for (std::uint64_t n = wanted("PTXGRAFT_PROGRAMS", 3000); n-- > 0;) {
        stack::Program program;
        program.code = random.code(machine_of_known_forms(), random.below(12), true);
        stack::CompileOptions options = stack::mutated;
        options.empty = stack::Empty::keep;
        options.requests = stack::Requests::assigned;
        options.hash = true;
        options.limits.steps = 1u << 12;
        program.code.push_back({Opcode::assign, 0, static_cast<std::uint16_t>(random.below(11)), 0});
        const auto compiled = compiler.compile(program, machine_of_known_forms(), options);
        if (!compiled) continue;
        const std::string flow = flows.of(compiled->ptx);
        const auto [found, is_new] = seen.try_emplace(compiled->hash, flow);
        if (!is_new) ++repeated;
        ASSERT_EQ(found->second, flow) << stack::print(program, machine_of_known_forms()) << compiled->ptx;
        const auto [hash, is_new_flow] = hashes.try_emplace(flow, compiled->hash);
        split += hash->second != compiled->hash ? 1 : 0;
    }
    EXPECT_GT(repeated, 0u);
    RecordProperty("repeated", std::to_string(repeated));
    EXPECT_LT(split, repeated) << "programs of one text have many hashes";
}

TEST(StackMeaning, HashesForgetDeadCodeSharingAndOrder) {
    const auto hash = [](const char* text) {
        const auto program = stack::parse(text, machine_of_known_forms());
        EXPECT_TRUE(program) << describe(program.error(), text);
        const auto hash =
            stack::dataflow_hash(*program, machine_of_known_forms(), {.empty = stack::Empty::keep});
        EXPECT_TRUE(hash) << describe(hash.error(), text);
        return *hash;
    };
    const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"x y add.rn.f32 -> x", "1.0 neg.f32 drop.f32 x y add.rn.f32 n drop.u32 -> x", true},
        {"x y add.rn.f32 dup.f32 mul.rn.f32 -> x", "x y add.rn.f32 x y add.rn.f32 mul.rn.f32 -> x", true},
        {"n x y add.rn.f32 -> x; -> o", "x y add.rn.f32 n -> o; -> x", true},
        {"x neg.f32 y neg.f32 sub.rn.f32 -> x", "y neg.f32 x neg.f32 swap.f32 sub.rn.f32 -> x", true},
        {"x -> x", "", true},
        {"x y sub.rn.f32 -> x", "y x sub.rn.f32 -> x", false},
        {"x y add.rn.f32 -> x", "x y add.rn.f32 -> z", false},
        {"n n n 0x96 lop3.b32 -> n", "n n n 0x97 lop3.b32 -> n", false},
        {"w mov.b64:to.b32x2 -> o n", "w mov.b64:to.b32x2 -> n o", false},
        {"1.0 -> x", "2.0 -> x", false},
        {"p if x neg.f32 else y end -> x", "p if y else x neg.f32 end -> x", false},
    };
    for (const auto& row : rows) EXPECT_EQ(hash(row.a) == hash(row.b), row.same) << row.a << " | " << row.b;
}

// Each read of a clock gives another value: which one is subtracted from which is a difference.
TEST(StackMeaning, HashesTellReadsOfAClockApart) {
    const auto with_clock =
        *stack::Machine::make(stack::find_set("standard"), *Signature::parse("mod u32 n"));
    const auto hash = [&](const char* text) {
        return *stack::dataflow_hash(*stack::parse(text, with_clock), with_clock);
    };
    EXPECT_NE(hash("%clock %clock sub.u32 -> n"), hash("%clock %clock swap.u32 sub.u32 -> n"));
    EXPECT_EQ(hash("%tid.x %tid.x sub.u32 -> n"), hash("%tid.x %tid.x swap.u32 sub.u32 -> n"));
}

// ---- folding decides nothing but what is computed when
// -------------------------------------------------------------------------------------

TEST(StackMeaning, AKnownPredMergesAsAnyOther) {
    const auto compile = [](const char* text, bool fold) {
        const auto program = stack::parse(text, machine_of_known_forms());
        EXPECT_TRUE(program) << describe(program.error(), text);
        stack::CompileOptions options = stack::mutated;
        options.fold = fold;
        stack::Compiler compiler;
        return std::string(compiler.compile(*program, machine_of_known_forms(), options)->ptx);
    };
    for (const char* text :
         {"2.0 1.0 2.0 setp.lt.f32 if 5.0 end -> x", "2.0 1.0 2.0 setp.lt.f32 if drop.f32 else 7.0 end -> x",
          "2.0 3.0 2.0 1.0 setp.lt.f32 if drop.f32 end -> x"}) {
        stack::CompileOptions options = stack::mutated;
        const auto program = *stack::parse(text, machine_of_known_forms());
        test::RandomPrograms random(1);
        const test::Values values = random_values(random, 1);
        std::vector<bool> undefined;
        const test::Values should = by_meaning(program, values, options, undefined);
        for (const bool fold : {false, true}) {
            options.fold = fold;
            const auto is = test::by_evaluate(program, machine_of_known_forms(), values, options);
            ASSERT_TRUE(is);
            EXPECT_EQ((*is)[0], should[0]) << text << (fold ? " folded\n" : "\n") << compile(text, fold);
        }
    }
}

}  // namespace
}  // namespace ptxgraft
