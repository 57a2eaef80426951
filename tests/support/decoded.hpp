#pragma once
// Modules as the emulator decodes them, and whether two are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/decode/decode.hpp"
#include "emulator/decode/module.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::emulator {

inline constexpr std::uint32_t never = Shapes::never;

// A module decoded; shapes are learned when they are seen `often`.
struct Decoded {
    explicit Decoded(const std::string& text, std::uint32_t often = 1, DecoderMemory* shared = nullptr)
        : tree(syntax::parse(text).value()),
          variables(std::make_shared<Memory>(std::uint64_t{1} << 30, false)) {
        DecoderMemory& kept = shared != nullptr ? *shared : own;
        kept.shapes.often = often;
        program = ModuleDecoder(tree, variables, kept).decode();
    }
    syntax::Module tree;
    ModuleVariables variables;
    DecoderMemory own;
    Expected<Program> program;
};

// Whether two programs are the same but for where things stand. Columns are matched one to one within a
// function.
class Comparison {
  public:
    Comparison(const Program& a, const Program& b, std::string_view text) : a_(a), b_(b), text_(text) {}

    std::string difference() {
        if (a_.code.size() != b_.code.size()) return "as many operations";
        if (a_.spans != b_.spans) return "the instructions of operations";
        if (a_.special_bytes == 0 && b_.special_bytes != 0) return "special registers";
        for (std::size_t pc = 0; pc < a_.code.size(); ++pc) {
            for (const Function& function : a_.functions)
                if (function.is_defined && function.begin == pc) begin(function);
            if (!same(a_.code[pc], b_.code[pc]))
                return std::string(text_.substr(a_.spans[pc].begin, a_.spans[pc].end - a_.spans[pc].begin));
        }
        return {};
    }

  private:
    void begin(const Function& function) {
        forward_.clear();
        backward_.clear();
        function_a_ = &function;
        function_b_ = &b_.functions[static_cast<std::size_t>(&function - a_.functions.data())];
    }

    bool same(const Operation& x, const Operation& y) {
        const bool fields = x.execute == y.execute && x.function == y.function &&
                            x.run_counted == y.run_counted && x.run == y.run && x.run_slot == y.run_slot &&
                            x.row == y.row && x.outputs == y.outputs && x.inputs == y.inputs &&
                            x.elements == y.elements && x.guard_negated == y.guard_negated &&
                            x.is_large == y.is_large && x.undefined == y.undefined && x.strict == y.strict &&
                            x.controls == y.controls && x.is_micro_op == y.is_micro_op;
        if (!fields || !same(x.guard, y.guard)) return false;
        for (std::uint32_t i = 0; i < std::uint32_t{x.outputs} + x.inputs; ++i)
            if (!same(a_.declared_operand(*function_a_, x.operands + i),
                      b_.declared_operand(*function_b_, y.operands + i)))
                return false;
        if (x.execute == execute_call) return same(a_.calls[x.extra], b_.calls[y.extra]);
        return x.extra == y.extra || same_entries(x.extra, y.extra);
    }

    // What may be another table's entry teaches nothing of columns.
    [[nodiscard]] bool may_be_same(Ref x, Ref y) {
        const bool are_registers = x != no_ref && y != no_ref && is_register(x) && is_register(y);
        if (!are_registers) return same(x, y);
        const auto to = forward_.find(x), from = backward_.find(y);
        return width(x) == width(y) && (to == forward_.end() || to->second == y) &&
               (from == backward_.end() || from->second == x);
    }
    bool same(Ref x, Ref y) {
        if (x == no_ref || y == no_ref || width(x) != width(y) || x >> bank_shift != y >> bank_shift)
            return x == y;
        if (is_register(x))
            return forward_.emplace(x, y).first->second == y && backward_.emplace(y, x).first->second == x;
        if (x >> bank_shift == special_bank >> bank_shift) return special(a_, x) == special(b_, y);
        return std::memcmp(column(a_, x), column(b_, y), width(x) * lane_count) == 0;
    }
    static const std::byte* column(const Program& p, Ref ref) {
        return p.constants[0].bytes.data() + offset(ref);
    }
    static Special special(const Program& p, Ref ref) {
        for (const SpecialColumn& s : p.specials)
            if (s.ref == ref) return s.special;
        return {};
    }

    // Which table they are of, only the operation knows: of those that have both, one must have them alike.
    bool same_entries(std::uint32_t x, std::uint32_t y) {
        const auto both = [&](const auto& table) { return x < (a_.*table).size() && y < (b_.*table).size(); };
        if (both(&Program::accesses) && same(a_.accesses[x], b_.accesses[y])) return true;
        if (both(&Program::collectives) && same(a_.collectives[x], b_.collectives[y])) return true;
        if (both(&Program::barriers) && same(a_.barriers[x], b_.barriers[y])) return true;
        return both(&Program::matrices) && same(a_.matrices[x], b_.matrices[y]);
    }
    static bool same(const Access& x, const Access& y) {
        return x.space == y.space && x.frame_relative == y.frame_relative && x.semantics == y.semantics &&
               x.used == y.used && x.reach == y.reach && x.has_base == y.has_base && x.bytes == y.bytes &&
               x.count == y.count && x.offset == y.offset;
    }
    bool same(const CollectiveCall& x, const CollectiveCall& y) {
        return x.function == y.function && x.extra == y.extra && may_be_same(x.member_mask, y.member_mask) &&
               x.moves == y.moves;
    }
    bool same(const Barrier& x, const Barrier& y) {
        return x.kind == y.kind && may_be_same(x.id, y.id) && may_be_same(x.count, y.count) &&
               may_be_same(x.predicate, y.predicate) && may_be_same(x.destination, y.destination) &&
               x.negated == y.negated && x.is_aligned == y.is_aligned;
    }
    bool same(const Call& x, const Call& y) {
        return x.function == y.function && may_be_same(x.target, y.target) && x.prototype == y.prototype &&
               x.targets == y.targets && same(x.returns, y.returns) && same(x.arguments, y.arguments);
    }
    bool same(const std::vector<Slot>& x, const std::vector<Slot>& y) {
        return std::ranges::equal(x, y, [&](const Slot& a, const Slot& b) {
            return a.offset == b.offset && a.bytes == b.bytes && may_be_same(a.reg, b.reg) &&
                   a.goes_with_any == b.goes_with_any;
        });
    }
    static bool same(const MatrixInstruction& x, const MatrixInstruction& y) {
        return x.mma.m == y.mma.m && x.mma.n == y.mma.n && x.mma.k == y.mma.k && x.mma.a == y.mma.a &&
               x.mma.b == y.mma.b && x.mma.c == y.mma.c && x.mma.d == y.mma.d && x.matrix == y.matrix &&
               x.layout == y.layout && x.transposition == y.transposition && same(x.access, y.access);
    }

    const Program &a_, &b_;
    std::string_view text_;
    const Function *function_a_ = nullptr, *function_b_ = nullptr;
    std::map<Ref, Ref> forward_, backward_;
};

// Decodes by shape and by itself; in the first, all that can be has been learned from the same text before.
inline void expect_the_same(const std::string& text) {
    const Decoded by_itself(text, never);
    DecoderMemory kept;
    for (int round = 0; round < 2; ++round) {
        const Decoded by_shape(text, 1, &kept);
        ASSERT_EQ(by_itself.program.has_value(), by_shape.program.has_value());
        if (!by_itself.program) {
            EXPECT_EQ(by_itself.program.error().code, by_shape.program.error().code);
            EXPECT_EQ(by_itself.program.error().span, by_shape.program.error().span);
            EXPECT_EQ(*by_itself.program.error().detail, *by_shape.program.error().detail);
            return;
        }
        const std::string difference = Comparison(*by_itself.program, *by_shape.program, text).difference();
        EXPECT_EQ(difference, "");
    }
}

inline std::string with_header(const std::string& text) { return test::module_head("9.0", "sm_90a") + text; }

}  // namespace ptxgraft::emulator
