// Programs are compiled in one pass, without their dead code in one pass, or by a graph, whatever serves: the
// text may not tell. With a hash they go by the graph.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace {

using namespace ptxgraft;
using stack::Opcode, stack::Program;

void expect_one_text(const Program& p, const stack::Machine& m, const stack::CompileOptions& options,
                     const std::string& trace) {
    stack::CompileOptions hashed = options;
    hashed.hash = true;
    stack::Compiler compiler, with_graph;
    const auto a = compiler.compile(p, m, options), b = with_graph.compile(p, m, hashed);
    ASSERT_EQ(a.has_value(), b.has_value()) << trace;
    if (!a) {
        EXPECT_EQ(a.error().code, b.error().code) << trace;
        EXPECT_EQ(a.error().index, b.error().index) << trace;
        return;
    }
    ASSERT_EQ(a->ptx, b->ptx) << trace;
    EXPECT_EQ(a->instruction_count, b->instruction_count) << trace;
    EXPECT_EQ(a->skipped, b->skipped) << trace;
    EXPECT_EQ(a->first_skipped, b->first_skipped) << trace;
    EXPECT_EQ(a->leftover, b->leftover) << trace;
    EXPECT_EQ(a->effects, b->effects) << trace;
}

Program random_plain(const stack::Machine& m, std::mt19937& random, const std::vector<std::uint16_t>& forms) {
    const auto operands = static_cast<std::uint32_t>(m.signature().operands.size());
    Program p;
    for (std::size_t length = 1 + random() % 120; p.code.size() < length;) {
        const auto kind = random() % 20;
        const auto operand = static_cast<std::uint16_t>(random() % operands);
        if (kind < 5)
            p.code.push_back({Opcode::input, 0, operand, random() % 8 == 0 ? 1u : 0u});
        else if (kind < 8)
            p.code.push_back({Opcode::constant, stack::type_id(random() % 4 == 0 ? Type::u32 : Type::f32), 0,
                              static_cast<std::uint32_t>(random())});
        else if (kind < 10)
            p.code.push_back({Opcode::assign, 0, operand, 0});
        else
            p.code.push_back({Opcode::form, 0, forms[random() % forms.size()], 0});
    }
    return p;
}

TEST(StackWays, PlainProgramsHaveOneText) {
    std::mt19937 random(1);
    for (const char* text :
         {"mod f32 acc, in f32 a, in f32 b", "mod f32 x, mod f32 y, out f32 z, in u32 n, mod u32 m",
          "out f32 y[2], in f32 x[3], in s32 k"}) {
        const stack::Machine m = *stack::Machine::make(stack::find_set("f32"), *Signature::parse(text));
        std::vector<std::uint16_t> forms;
        for (const char* name :
             {"add.f32", "fma.rn.f32", "neg.f32", "max.f32", "sub.f32", "add.u32", "mad.lo.u32"})
            for (std::size_t k = 0; k < m.set().entries().size(); ++k)
                if (const stack::Entry& e = m.set().entries()[k];
                    e.form != nullptr && e.form->spelling == name)
                    forms.push_back(static_cast<std::uint16_t>(k));
        ASSERT_EQ(forms.size(), 7u);
        stack::Compiler compiler;
        std::uint32_t compiled = 0;
        for (std::uint32_t k = 0; k < 3000; ++k) {
            const Program p = random_plain(m, random, forms);
            stack::CompileOptions options = k % 3 == 0 ? stack::CompileOptions{} : stack::mutated;
            if (k % 5 == 0) options.empty = stack::Empty::keep;
            expect_one_text(p, m, options, std::to_string(k));
            compiled += compiler.compile(p, m, options).has_value();
        }
        EXPECT_GT(compiled, 1900u);
    }
}

// Trees whose every value is used, assigned at once, later, or to an operand that is still read.
TEST(StackWays, LiveProgramsHaveOneText) {
    const stack::Machine m =
        *stack::Machine::make(stack::find_set("f32"), *Signature::parse("mod f32 x, mod f32 y, in f32 a"));
    for (const char* text :
         {"x a add.f32 -> x", "x y add.f32 -> x; x y sub.f32 -> y", "x a a a fma.rn.f32 -> y; a add.f32 -> x",
          "x y add.f32 x y sub.f32 -> x y", "x y -> y x", "1.0 -> x; y neg.f32 -> y", "x neg.f32 -> x",
          "a neg.f32 -> y; x y add.f32 -> x", "x a neg.f32 -> x; -> y", "a 2.0 mul.f32 abs.f32 -> x; a -> y",
          "x -> x", "a -> x", "a -> x; 2.0 -> y", "a -> y; y -> x", "2.0 -> x; 3.0 -> y", "a -> y; x -> x",
          "a -> x; a neg.f32 -> y", "x -> y; x neg.f32 -> x", ""}) {
        const auto p = stack::parse(text, m);
        ASSERT_TRUE(p) << text;
        expect_one_text(*p, m, {}, text);
    }
}

// Assignments of operands and constants alone: few and many of them, in order and against each other.
TEST(StackWays, MovesHaveOneText) {
    const stack::Machine m = *stack::Machine::make(
        stack::find_set("f32"), *Signature::parse("mod f32 v[12], in f32 a, mod u32 n, in u32 k"));
    std::mt19937 random(2);
    for (std::uint32_t round = 0; round < 2000; ++round) {
        std::string text;
        for (std::uint32_t slot = 0; slot < 12; ++slot) {
            if (random() % 3 == 0) continue;
            const auto source = random() % 16;
            text += source < 12   ? "v[" + std::to_string(source) + "]"
                    : source < 14 ? "a"
                                  : std::to_string(source) + ".5";
            text += " -> v[" + std::to_string(slot) + "]\n";
        }
        if (random() % 2 == 0) text += "k -> n";
        const auto p = stack::parse(text, m);
        ASSERT_TRUE(p) << text << describe(p.error(), text);
        expect_one_text(*p, m, {}, text);
        expect_one_text(*p, m, stack::mutated, text);
    }
}

// Texts over many types whose every value is used, with values shared, exchanged and cast; now and then one
// that nobody reads.
class Mixer {
  public:
    explicit Mixer(std::uint32_t seed) : random_(seed) {}

    std::string text() {
        for (auto k = 2 + random_() % 40; k > 0; --k) step();
        while (have_.pred > 0) word("1.5 a", {}), pop(have_.pred), word("selp.f32", {}), ++have_.f32;
        finish(have_.f16, "add.rn.f16", "g", "h");
        finish(have_.s32, "max.s32", "c", "k");
        finish(have_.u32, "xor.b32", "b", "n");
        finish(have_.f32, "add.rn.f32", "a", "x");
        if (random_() % 8 == 0) text_ += " a y[1] neg.f32 -> y[1] ; drop.f32";
        return std::move(text_);
    }

  private:
    struct Depths {
        int pred = 0, f32 = 0, u32 = 0, s32 = 0, f16 = 0;
    };
    static void pop(int& depth) { --depth; }
    void word(const std::string& w, const Depths& change) {
        text_ += " " + w;
        have_.pred += change.pred, have_.f32 += change.f32, have_.u32 += change.u32, have_.s32 += change.s32,
            have_.f16 += change.f16;
    }
    void finish(int& depth, const std::string& combine, const std::string& operand,
                const std::string& target) {
        if (depth == 0) text_ += " " + operand, ++depth;
        for (; depth > 1; --depth) text_ += " " + combine;
        if (random_() % 16 != 0) text_ += " " + operand + " " + combine;
        text_ += " -> " + target + ";";
        depth = 0;
    }
    void step() {
        switch (random_() % 24) {
            case 0: return word("x", {.f32 = 1});
            case 1: return word("a", {.f32 = 1});
            case 2: return word(std::to_string(random_() % 100) + ".25", {.f32 = 1});
            case 3: return word("n", {.u32 = 1});
            case 4: return word(std::to_string(random_() % 5000), {.u32 = 1});
            case 5: return word("k", {.s32 = 1});
            case 6: return word("-" + std::to_string(random_() % 5000), {.s32 = 1});
            case 7: return word("g", {.f16 = 1});
            case 8: return word(random_() % 2 == 0 ? "%tid.x" : "%ctaid.y", {.u32 = 1});
            case 9: return have_.f32 > 1 ? word("sub.f32", {.f32 = -1}) : step();
            case 10: return have_.f32 > 2 ? word("fma.rn.f32", {.f32 = -2}) : step();
            case 11: return have_.f32 > 0 ? word("dup.f32", {.f32 = 1}) : step();
            case 12:
                return have_.f32 > 1 ? word(random_() % 2 == 0 ? "swap.f32" : "over.f32 mul.f32", {})
                                     : step();
            case 13:
                return have_.f32 > 2 ? word(random_() % 2 == 0 ? "rotate.f32" : "swap_with.f32 2", {})
                                     : step();
            case 14: return have_.f32 > 1 ? word("setp.lt.f32", {.pred = 1, .f32 = -2}) : step();
            case 15:
                return have_.pred > 0 && have_.f32 > 1 ? word("selp.f32", {.pred = -1, .f32 = -1}) : step();
            case 16: return have_.u32 > 0 ? word("cvt.rn.f32.u32", {.f32 = 1, .u32 = -1}) : step();
            case 17: return have_.s32 > 0 ? word("as.u32.s32", {.u32 = 1, .s32 = -1}) : step();
            case 18:
                return random_() % 16 == 0 && have_.f32 > 0 ? word("as.u32.f32", {.f32 = -1, .u32 = 1})
                                                            : step();
            case 19: return have_.s32 > 0 && have_.u32 > 0 ? word("shr.s32", {.u32 = -1}) : step();
            case 20:
                return random_() % 16 == 0 && have_.u32 > 2 ? word("0xE8 lop3.b32", {.u32 = -2}) : step();
            case 21:
                return have_.u32 > 1 ? word(random_() % 2 == 0 ? "setp.ge.u32" : "and.b32 0 setp.ne.u32",
                                            {.pred = 1, .u32 = -2})
                                     : step();
            case 22: return have_.f16 > 0 ? word("cvt.f32.f16", {.f32 = 1, .f16 = -1}) : step();
            default: return random_() % 32 == 0 && have_.f32 > 0 ? word("drop.f32", {.f32 = -1}) : step();
        }
    }

    std::mt19937 random_;
    std::string text_;
    Depths have_;
};

TEST(StackWays, MixedProgramsHaveOneText) {
    const stack::Machine m = *stack::Machine::make(
        stack::find_set("standard"), *Signature::parse("mod f32 x, mod u32 n, mod s32 k, mod f16 h, in f32 "
                                                       "a, in u32 b, in s32 c, in f16 g, mod f32 y[2]"));
    for (std::uint32_t seed = 0; seed < 4000; ++seed) {
        const std::string text = Mixer(seed).text();
        const auto p = stack::parse(text, m);
        ASSERT_TRUE(p) << text << describe(p.error(), text);
        expect_one_text(*p, m, {}, text);
        expect_one_text(*p, m, {.leftover = stack::Leftover::error}, text);
    }
}

}  // namespace
