// Decoding: what an instruction becomes by its shape is what it becomes by itself; names and scopes; errors.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "emulator/decode/decode.hpp"
#include "emulator/decode/module.hpp"
#include "isa/sample.hpp"
#include "isa/target.hpp"
#include "ptxgraft/isa.hpp"
#include "support/corpus.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::emulator {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t never = Shapes::never;

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
               x.reach == y.reach && x.has_base == y.has_base && x.bytes == y.bytes && x.count == y.count &&
               x.offset == y.offset;
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
void expect_the_same(const std::string& text) {
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

std::string with_header(const std::string& text) { return test::module_head("9.0", "sm_90a") + text; }

std::string kernel(const std::string& body) {
    return with_header(
        ".global .align 16 .b8 gv[1024]; .shared .align 16 .b8 sv[1024]; .extern .shared .b8 dynamic[]; "
        ".const .b32 cv = 3;\n"
        ".func (.reg .b32 r) fn(.reg .b32 a) { mov.b32 r, a; ret; }\n"
        ".visible .entry k(.param .u64 pp, .param .u32 pn) {\n.reg .pred %p<9>; .reg .b16 %h<99>; .reg .b32 "
        "%r<99>, x, y; .reg .b64 %d<99>, xd; .reg .f32 %f<99>;"
        " .reg .f64 %g<9>; .reg .v4 .b32 v; .local .align 8 .b8 lv[64];\n" +
        body + "\nret;\n}\n");
}

TEST(EmulatorDecode, AnInstructionBecomesTheSameByItsShapeAsByItself) {
    const char* const bodies[] = {
        "add.s32 %r1, %r2, %r3; add.s32 %r4, %r4, %r4; add.s32 %r5, %r4, 7; add.s32 %r5, 7, %r4; add.s32 "
        "%r6, %r6, -8; add.s32 x, y, 0x10; add.s32 x, y, 010; add.s32 x, y, 0b11;",
        "add.u64 %d1, %d2, 1; add.u64 %d3, %d3, 18446744073709551615; add.u64 %d3, %d3, 4294967296U; add.s64 "
        "%d1, %d1, gv; add.s64 %d1, %d1, sv;",
        "@%p1 add.s32 %r1, %r2, %r3; @!%p2 add.s32 %r4, %r5, %r6; @%p1 selp.b32 %r1, 1, 0, %p2; @%p3 "
        "selp.b32 %r1, 1, 0, %p3; @%p4 setp.eq.s32 %p4, %r1, 0; @%p5 setp.eq.s32 %p4, %r1, 0;",
        "setp.lt.s32 %p1|%p2, %r1, %r2; setp.lt.and.s32 %p3|%p4, %r3, 5, %p1; setp.lt.and.s32 %p3|%p4, %r3, "
        "5, !%p1; setp.ge.or.f32 %p1, %f1, 0f3F800000, %p2; setp.ge.f32 %p1, %f1, 0;",
        "@%is_explicit_cluster mov.u32 %r1, 1; "
        "@!%is_explicit_cluster mov.u32 %r1, 2; @%is_explicit_cluster mov.u32 %r3, %r4; mov.u32 %r1, %tid.g;",
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mov.u32 %r4, %laneid; mov.b32 {%h1, "
        "%h2}, %r1; mov.b64 %d1, {%r1, %r2}; mov.b64 {%r3, %r4}, %d1; mov.b64 {%r3, _}, %d1;",
        "mov.u64 %d1, gv; mov.u64 %d2, gv+8; mov.u64 %d3, sv; mov.u64 %d4, dynamic; mov.u64 %d5, lv; mov.u64 "
        "%d6, fn; mov.u32 %r1, sv; mov.u64 %d7, cv; mov.f32 %f1, 1.5; mov.f64 %g1, 0d3FF0000000000000;",
        "mov.u32 %r1, %clock; mov.u32 %r2, %clock; mov.u64 %d1, %clock64; mov.u32 %r3, %clock; mov.v4.b32 v, "
        "{%r1, %r2, %r3, %r4}; mov.b32 %r1, v.x; mov.b32 %r2, v.y; mov.b32 %r3, WARP_SZ; mov.b32 %r4, "
        "WARP_SZ;",
        "ld.param.u64 %d1, [pp]; ld.param.u32 %r1, [pn]; ld.param.u32 %r2, [pp+4]; ld.global.f32 %f1, [%d1]; "
        "ld.global.f32 %f2, [%d1+4]; ld.global.f32 %f3, [%d2+-4]; ld.global.f32 %f4, [%d1+0x10];",
        "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1+16]; ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%d2]; "
        "st.global.v2.b32 [%d1], {%r1, 5}; st.global.v2.b32 [%d1+8], {%r3, 6}; st.global.v2.b32 [%d1], {1, "
        "6};",
        "ld.shared.b32 %r1, [sv]; ld.shared.b32 %r2, [sv+12]; ld.shared.b32 %r3, [%r1]; ld.shared.b32 %r4, "
        "[dynamic]; ld.shared.b32 %r5, [dynamic+8]; ld.local.b32 %r1, [lv+4]; st.local.b32 [lv], 9; ld.b32 "
        "%r1, [gv+4]; ld.const.b32 %r1, [cv];",
        "ld.global.b32 %r1, [16]; ld.global.u8 %r1, [%d1]; ld.global.s8 %r2, [%d1]; ld.global.s8 %d3, "
        "[%d1+1]; ld.volatile.global.b32 %r1, [%d1]; ld.global.nc.L1::no_allocate.b32 %r3, [%d2]; "
        "st.global.u8 [%d1], %r1;",
        "atom.global.add.u32 %r1, [%d1], 1; atom.global.add.u32 %r2, [%d1+4], %r3; atom.shared.cas.b32 %r1, "
        "[sv], 0, 1; red.global.add.f32 [%d1], 0f3F800000; red.global.add.f32 [%d1], %f1; "
        "atom.global.exch.b64 %d2, [gv], %d3;",
        "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r4, %r5, %r6; addc.u32 %r1, %r2, 0; mad.lo.cc.u32 %r1, %r2, "
        "%r3, %r4; madc.hi.u32 %r1, %r2, 3, %r4; add.cc.u32 %r5, %r2, 9;",
        "cvt.u64.u32 %d1, %r1; cvt.rn.f32.s32 %f1, %r2; cvt.s16.s32 %h1, %r1; cvt.s16.s32 %r1, %r2; @%p1 "
        "cvt.s16.s32 %r3, %r4; cvta.to.global.u64 %d1, %d2; cvta.shared.u64 %d3, %d4; cvta.local.u64 %d1, "
        "lv; cvta.global.u64 %d5, gv;",
        "shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1; shfl.sync.bfly.b32 %r3|%p1, %r4, 8, 31, -1; "
        "shfl.sync.idx.b32 %r3, %r4, %r5, 31, %r6; shfl.sync.idx.b32 %r7, %r4, 3, 31, %r5; @%p2 "
        "shfl.sync.idx.b32 %r3, "
        "%r4, %r5, 31, %r8; vote.sync.ballot.b32 %r1, %p1, %r2; vote.sync.ballot.b32 %r3, %p2, %r4; "
        "vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred "
        "%p2, !%p3, -1; activemask.b32 %r1; activemask.b32 %r2;",
        "bar.sync 0; bar.sync 0; bar.sync 1, 64; bar.sync %r1; bar.red.popc.u32 %r1, 0, %p1; bar.warp.sync "
        "-1; bar.warp.sync %r1; barrier.sync 0; bra L; @%p1 bra L; @!%p2 bra.uni L; L: bra L;",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, "
        "{%f5,%f6,%f7,%f8}; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f9,%f2,%f3,%f4}, {%r7,%r2}, "
        "{%r3}, {%f9,%f2,%f3,%f4};"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5]; "
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r6+64]; "
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1,%r2}, [sv];",
        "lop3.b32 %r1, %r2, %r3, %r4, 0x96; lop3.b32 %r1, %r2, %r3, %r4, 0xE8; prmt.b32 %r1, %r2, %r3, "
        "0x5410; bfe.u32 %r1, %r2, 8, 8; shf.l.wrap.b32 %r1, %r2, %r3, 7; fma.rn.f32 %f1, %f2, %f3, "
        "0fBF800000; fma.rn.f32 %f1, %f2, 2.0, %f3;",
        "{ .reg .b32 %r<5>, %p1; mov.b32 %r1, 1; mov.b32 %p1, %r1; { .reg .b64 %r1; mov.b64 %r1, 2; mov.b32 "
        "%r2, 3; } mov.b32 %r1, 4; } mov.b32 %r1, 5; selp.b32 %r1, %r2, %r3, %p1;",
        "{ .reg .b32 t; .param .b32 p0; mov.b32 t, 1; st.param.b32 [p0+0], t; ld.param.b32 %r1, [p0]; call "
        "(%r2), fn, (%r1); call (%r3), fn, (5); } mov.b32 %r04, %r4; mov.b32 %r4, %r004;",
    };
    for (const char* const body : bodies) expect_the_same(kernel(body));
}

// A module around lines of isa::sample_line(). PTX 8.3 and later have .b128.
std::string around(const std::string& lines, const std::string& header) {
    static const std::string declarations = [] {
        std::string all;
        for (const char* type : {"b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
                                 "s64", "f16", "f16x2", "f32", "f64", "pred"})
            all += std::string(".reg .") + type + " " + type + "_<300>;\n";
        return all;
    }();
    const bool is_old = header.starts_with(".version 6.");
    return header +
           ".address_size 64\n"
           ".global .align 128 .b8 gv[1024];\n.shared .align 128 .b8 sv[1024];\n.global .texref "
           "tex_; .global .surfref surf_;\n"
           ".func (.reg .b32 r0) fn1 (.reg .b32 a0) { mov.b32 r0, a0; ret; }\n.entry k() {\nP: "
           ".callprototype (.reg .b32 _) _ (.reg .b32 _);\n" +
           declarations + (is_old ? "" : ".reg .b128 b128_<300>;\n") + lines + "ret;\n}\n";
}

// A version and a target that have a spelling of the table.
std::string header_of(const isa::Match& match) {
    struct Target {
        std::uint16_t version;
        Architecture architecture;
    };
    constexpr Target targets[] = {{isa::newest_version, {90, 'a'}},
                                  {isa::newest_version, {100, 'a'}},
                                  {isa::newest_version, {120, 'a'}},
                                  {isa::newest_version, {103, 'a'}},
                                  {63, {75, 0}},
                                  {60, {60, 0}},
                                  {isa::newest_version, {75, 0}}};
    for (const auto& [version, architecture] : targets) {
        if (!isa::is_available(match, version, architecture)) continue;
        return ".version " + isa::version_text(version) + "\n.target " + name(architecture) + "\n";
    }
    return {};
}

// Calls visit(spelling, header, operands) for every `step`-th spelling that some target has.
template <class Visit> std::size_t for_each_sample(std::size_t step, Visit visit) {
    std::size_t count = 0;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        for (const isa::Row& row : opcode.rows) {
            std::size_t spelling = 0;
            isa::for_each_spelling(row, [&](const isa::Match& match) {
                const std::size_t number = spelling++;  // each row's first is among them
                const std::string header = number % step == 0 ? header_of(match) : std::string();
                if (header.empty()) return;
                ++count;
                visit(match, header, isa::sample_operands(match, number % 2 == 0));
            });
        }
    }
    return count;
}

TEST(EmulatorDecode, EveryFormBecomesTheSameByItsShapeAsByItself) {
    const std::size_t forms = for_each_sample(
        7, [](const isa::Match& match, const std::string& header, const std::vector<std::string>& operands) {
            const std::string line = "{ " + isa::sample_line(canonical_name(match), operands) + " }\n";
            const std::string text = around(line + line, header);
            if (syntax::parse(text)) expect_the_same(text);
        });
    EXPECT_GT(forms, 1000u);
}

std::string name_of(const isa::Match& match, const std::vector<std::string_view>& modifiers) {
    const std::string_view opcode = match.row->opcode;
    std::string name(opcode.substr(0, opcode.find('.')));
    for (const std::string_view modifier : modifiers) name += modifier;
    return name;
}

// ptxas takes most modifiers in any order: what is left over of all orders is what verify takes.
TEST(EmulatorDecode, TheOrderOfModifiersDoesNotMatter) {
    std::mt19937 random(7);
    std::size_t shuffled = 0;
    for_each_sample(
        3, [&](const isa::Match& match, const std::string& header, const std::vector<std::string>& operands) {
            const auto written = canonical_modifiers(match);
            const std::string_view opcode = match.row->opcode;
            const auto first = static_cast<std::ptrdiff_t>(std::count(opcode.begin(), opcode.end(), '.'));
            auto modifiers = written;
            std::shuffle(modifiers.begin() + first, modifiers.end(), random);
            if (modifiers == written) return;
            const auto text_of = [&](const std::vector<std::string_view>& m) {
                return around("{ " + isa::sample_line(name_of(match, m), operands) + " }\n", header);
            };
            const std::string text = text_of(modifiers), canonical = text_of(written);
            const auto name = name_of(match, modifiers);
            const auto behind = std::span(modifiers);
            const auto found = isa::match_name(name.substr(0, name.find('.')), behind);
            if (found.matches.empty() || !syntax::parse(text) ||
                canonical_name(found.matches[0]) != canonical_name(match) ||
                !isa::verify(*syntax::parse(text)).empty())
                return;
            ++shuffled;
            const Decoded a(canonical), b(text);
            ASSERT_TRUE(a.program && b.program) << text.substr(text.find("\n{ "));
            ASSERT_EQ(a.program->failures.size(), b.program->failures.size())
                << text.substr(text.find("\n{ ")) << canonical_name(match);
            EXPECT_EQ(Comparison(*a.program, *b.program, text).difference(), "");
        });
    EXPECT_GT(shuffled, 1000u);
}

// A decoder asks for the modifiers that it knows, and isa has found that they go together: of an instruction
// with another one, it would make what it makes without. Whoever adds one to the table looks at the decoder,
// or names it among what the emulator lacks (function.cpp), and then counts it here.
TEST(EmulatorDecode, NoModifierOfADecodedInstructionIsNew) {
    std::set<std::pair<std::string_view, std::string_view>> modifiers;
    for (const isa::Opcode& opcode : isa::table_opcodes)
        for (const isa::Row& row : opcode.rows)
            for (const isa::Slot& slot : row.slots)
                for (const isa::WordId word : slot.members)
                    if (find_decoder(opcode.name) != nullptr)
                        modifiers.emplace(opcode.name, isa::table_words[word]);
    EXPECT_EQ(modifiers.size(), 1323u);
}

// An instruction with one thing wrong, or right in another way.
std::string mutant(const isa::Match& match, std::vector<std::string> operands, std::mt19937& random) {
    const auto pick = [&](std::size_t count) { return random() % count; };
    auto modifiers = canonical_modifiers(match);
    constexpr std::string_view others[] = {
        "u16_7",  "f32_7",    "b64_7", "pred_7",  "b128_7", "f16_7", "s32_7",  "5",
        "1.5",    "[b64_7]",  "_",     "gv",      "sv",     "-1",    "nobody", "{b32_1, b32_2}",
        "%tid.x", "%nothing", "300",   "!pred_1", "0x1p3"};
    switch (pick(8)) {
        case 0:
            if (!modifiers.empty())
                modifiers.erase(modifiers.begin() + static_cast<std::ptrdiff_t>(pick(modifiers.size())));
            break;
        case 1:
            if (!modifiers.empty())
                modifiers[pick(modifiers.size())] = isa::table_words[pick(isa::table_words.size())];
            break;
        case 2: modifiers.push_back(isa::table_words[pick(isa::table_words.size())]); break;
        case 3: modifiers.push_back(".of_mine"); break;
        case 4:
            if (!operands.empty())
                operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(pick(operands.size())));
            break;
        case 5:
            if (!operands.empty()) operands[pick(operands.size())] = others[pick(std::size(others))];
            break;
        case 6:
            if (operands.size() > 1) std::swap(operands[0], operands[1 + pick(operands.size() - 1)]);
            break;
        default: operands.push_back(std::string(others[pick(std::size(others))]));
    }
    return isa::sample_line(name_of(match, modifiers), operands);
}

// What verify refuses in an instruction is refused, and with the same words; all else is decoded, or kept as
// missing.
TEST(EmulatorDecode, MutantsThatVerifyRefusesAreRefused) {
    std::mt19937 random(11);
    std::size_t refused = 0, taken = 0;
    for_each_sample(5, [&](const isa::Match& match, const std::string& header,
                           const std::vector<std::string>& operands) {
        for (int round = 0; round < 3; ++round) {
            const std::string line = "{ " + mutant(match, operands, random) + " }\n";
            const std::string text = around(line, header);
            const auto tree = syntax::parse(text);
            if (!tree) continue;
            const auto findings = isa::verify(*tree);
            const Decoded decoded(text);
            ++(findings.empty() ? taken : refused);
            ASSERT_EQ(decoded.program.has_value(), findings.empty())
                << header << line
                << (findings.empty() ? describe(decoded.program.error(), text) : describe(findings[0], text));
            if (!findings.empty()) {
                EXPECT_EQ(decoded.program.error().code, findings[0].code) << line;
                EXPECT_EQ(decoded.program.error().span, findings[0].span) << line;
            }
        }
    });
    EXPECT_GT(refused, 5000u);
    EXPECT_GT(taken, 500u);
}

TEST(EmulatorDecode, ModulesOfTheCorpusBecomeTheSameByShapeAsByThemselves) {
    SKIP_WITHOUT_CORPUS;
    std::size_t loaded = 0;
    for (const std::filesystem::path& path : test::corpus_files()) {
        std::string text = test::read_file(path);
        SCOPED_TRACE(path);
        const auto tree = syntax::parse(text);
        if (!tree || tree->address_size() == 32) continue;
        expect_the_same(text);
        std::string crlf;
        for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
        expect_the_same(crlf);
        ++loaded;
    }
    EXPECT_GT(loaded, 50u);
}

// All that an entry's head says.
std::string said_by(const launch::EntryInfo& entry) {
    std::string text = entry.name;
    for (const ParameterInfo& p : entry.parameters) text += fmt::format(" {} {} {}", p.name, p.type, p.bytes);
    const auto number = [&](const char* what, const std::optional<std::uint64_t>& value) {
        if (value) text += fmt::format(" {} {}", what, *value);
    };
    const auto shape = [&](const char* what, const std::optional<Dim3>& value) {
        if (value) text += fmt::format(" {} {} {} {}", what, value->x, value->y, value->z);
    };
    shape("block", entry.required_block);
    number("threads", entry.max_threads);
    number("registers", entry.max_registers);
    number("blocks", entry.min_blocks);
    shape("cluster", entry.required_cluster);
    number("rank", entry.max_cluster_blocks);
    return text + (entry.is_explicit_cluster ? " explicit" : "") +
           (entry.blocks_are_clusters ? " of clusters" : "");
}

// A loaded module says of each entry, the last one first, what its tree says of all of them.
void expect_the_same_heads(const std::string& text, bool is_emulated) {
    const auto tree = syntax::parse(text);
    ASSERT_TRUE(tree) << describe(tree.error(), text);
    const launch::ModuleInfo info = launch::module_info(*tree);
    EmulatedModule module(std::make_shared<Memory>(std::uint64_t{1} << 30, false));
    const auto decoded = module.decode(syntax::parse(text).value(), nullptr, 1);
    ASSERT_TRUE(decoded || !is_emulated) << describe(decoded.error(), text);
    if (!decoded) return;
    for (std::size_t i = info.entries.size(); i-- > 0;) {
        const launch::EntryInfo& entry = info.entries[i];
        for (int round = 0; round < 2; ++round) {
            const auto prepared = module.prepare(entry.name);
            ASSERT_EQ(prepared.has_value(), !entry.parameter_error) << entry.name;
            if (prepared) {
                EXPECT_EQ(said_by(*prepared->info), said_by(entry));
                EXPECT_EQ(prepared->function->name, entry.name);
            } else {
                EXPECT_EQ(describe(prepared.error(), text), describe(*entry.parameter_error, text));
            }
        }
    }
    for (const std::string_view name : {"", "no_such_entry"}) {
        const auto prepared = module.prepare(name);
        const auto found = launch::find_entry(info, name);
        ASSERT_EQ(prepared.has_value(), found.has_value());
        if (prepared) {
            EXPECT_EQ(said_by(*prepared->info), said_by(**found));
        } else {
            EXPECT_EQ(describe(prepared.error(), text), describe(found.error(), text));
        }
    }
}

TEST(EmulatorDecode, AnEntrySaysByItselfWhatItSaysInItsModule) {
    for (const std::string_view entries :
         {"", ".entry k { ret; }", "// only\n.visible .entry k() { ret; }", ".entry k(); .entry k() { ret; }",
          ".entry k(.param .f16x2 p) { ret; } .entry l() { ret; }", ".entry k(.param .f16x2 p) { ret; }",
          "/* { */ .weak .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[12], .param "
          ".f32 _)\n"
          ".maxntid 8, 4 // (\n.minnctapersm 2 .maxnreg 40 { ret; }\n"
          ".func f(.param .b32 a) { ret; }\n"
          ".entry l .reqntid 32, 2, 1 .reqnctapercluster 2 .explicitcluster { { ret; } }\n"
          ".entry m(.param .b8 x[4]) .maxclusterrank 4 .maxntid WARP_SZ { ret; }\n"
          ".entry n() .reqntid 64 .reqnctapercluster 4, 1, 1 .blocksareclusters .pragma \"nounroll\"; { ret; "
          "}"})
        expect_the_same_heads(with_header(std::string(entries)), true);
    for (const std::filesystem::path& path : test::corpus_files())
        if (const std::string text = test::read_file(path); syntax::parse(text))
            expect_the_same_heads(text, false);
}

// A shape that one module taught means the same in another, with other functions, variables and scopes.
TEST(EmulatorDecode, ShapesGoFromModuleToModule) {
    const std::string modules[] = {
        kernel("mov.u64 %d1, %d2; mov.u64 %d1, gv; mov.u64 %d3, fn; ld.global.b32 %r1, [gv+4]; mov.u32 %r1, "
               "%tid.x; mov.u32 %r2, 5; bar.sync 1, 64; bar.sync 0;"),
        with_header(".func %tidy() { ret; }\n.entry k() { .reg .b64 %d<9>; mov.u64 %d1, %tidy; mov.u64 %d2, "
                    "%tidy; ret; }"),
        with_header(".global .b32 %tidy;\n.entry k() { .reg .b64 %d<9>; mov.u64 %d1, %tidy; mov.u64 %d2, "
                    "%tidy; ret; }"),
        with_header(
            ".global .b64 gap[100]; .global .b32 gv;\n.func f2(.param .b64 pp) { .reg .b64 %d<9>; .reg .b32 "
            "%r<9>; ld.param.u64 %d1, [pp]; ld.param.u64 %d2, [pp]; mov.u64 %d1, gv; ld.global.b32 %r1, "
            "[gv+4]; ret; }\n"
            ".entry k(.param .b32 a, .param .b64 pp) { .reg .b64 %d<9>; .reg .b32 %r<9>; ld.param.u64 %d1, "
            "[pp]; mov.u64 %d1, gv; mov.u32 %r1, %tid.x; bar.sync 0; bar.sync 1, 64; mov.u32 %r2, 5; ret; }"),
    };
    DecoderMemory kept;
    for (int round = 0; round < 3; ++round) {
        for (const std::string& text : modules) {
            const Decoded by_itself(text, never), by_shape(text, 1, &kept);
            ASSERT_TRUE(by_itself.program && by_shape.program);
            EXPECT_EQ(Comparison(*by_itself.program, *by_shape.program, text).difference(), "");
        }
    }
}

TEST(EmulatorDecode, ErrorsAreThoseOfTheFirstInstructionThatIsWrongWhateverWasSeenBefore) {
    const std::string_view bodies[] = {
        "add.f32 %f1, %f2, 0.0; add.f32 %f1, %f2, 0.0; add.f32 %f1, %f2, 1;",
        "add.s32 %r1, %r2, 1; add.s32 %r1, %r2, 1; add.s32 %r1, %q2, 1;",
        "add.s32 %r1, %r2, 1; add.s32 %r1, %r2, 1; add.s32 %f1, %r2, 1;",
        "bfe.u32 %r1, %r2, 1, 2; bfe.u32 %r1, %r2, 1, 2; bfe.u32 %r1, %r2, 1, 256;",
        "bra L; bra L; L: bra M;",
        "bra L; bra L; L: bra gv;",
        "mov.u32 %r1, 5; mov.u32 %r2, 5; mov.u32 %h1, 5;",
        "mov.u32 %r98, 5; mov.u32 %r98, 5; mov.u32 %r99, 5;",
        "ld.shared.b32 %r1, [sv]; ld.shared.b32 %r1, [sv]; ld.shared.b32 %r1, [gv];",
        "{ .reg .b32 t; mov.b32 t, 1; mov.b32 t, 1; } mov.b32 t, 1;",
        "mov.v4.b32 v, %tid; mov.v4.b32 %tid, v;",
        "@%p1 mov.b32 %r1, 1; @%p1 mov.b32 %r1, 1; @%p9 mov.b32 %r1, 1;",
        "@%p1 mov.b32 %r1, 1; @%p1 mov.b32 %r1, 1; @%r1 mov.b32 %r1, 1;",
        "@%p1 bra L; @%p1 bra L; { .reg .b8 t; @t bra L; } L:",
        "bra L; bra %clock; L: %clock: bra %clock;",
        "bra L; L: { bra xd; xd: bra xd; }",
        "mov.b32 %r1, %tid.x; mov.b32 %r1, %tid.x; { .reg .b32 %tid; mov.b32 %r1, %tid.x; }",
    };
    for (const std::string_view body : bodies) {
        const std::string text = kernel(std::string(body));
        const auto findings = isa::verify(*syntax::parse(text));
        ASSERT_EQ(findings.size(), 1u) << body;
        for (const std::uint32_t often : {1u, 2u, never}) {
            const Decoded decoded(text, often);
            ASSERT_FALSE(decoded.program) << body;
            EXPECT_EQ(decoded.program.error().code, findings[0].code) << body;
            EXPECT_EQ(decoded.program.error().span, findings[0].span) << body;
            EXPECT_EQ(*decoded.program.error().detail, *findings[0].detail) << body;
        }
    }
}

constexpr std::string_view callees =
    ".extern .func (.param .b32 r) one(.param .b64 a);\n"
    ".extern .func one_alias(.param .b32 a, .param .b32 b);\n"
    ".func (.param .b32 r) array(.param .align 8 .b8 a[8]) { ret; }\n"
    ".func two(.param .b32 a, .param .b32 b) { ret; }\n"
    ".func none() { ret; }\n"
    ".alias one_alias, two;\n"
    ".entry other() { ret; }\n";

std::string calls(std::string_view body) {
    return with_header(std::string(callees) +
                       ".entry k(.param .b64 own) { .reg .b32 reg; .reg .b64 wide;\n"
                       "{ .param .b32 r; .param .b64 x; call.uni (r), one, (x); }\n"
                       "{ .param .b64 y; .param .b32 q; call.uni (q), one, (y); }\n"
                       "{ .param .b32 r; .param .align 8 .b8 x[8]; call.uni (r), array, (x); }\n"
                       "{ .param .b32 x; call two, (x, x); call.uni none; }\n" +
                       std::string(body) + "\nret;\n}\n.func behind() { ret; }\n");
}

TEST(EmulatorDecode, ACallBecomesTheSameBehindOneThatIsLikeItAsByItself) {
    const std::string_view bodies[] = {
        "",
        "{ .param .b32 r, s; .param .b64 x; call.uni (s), one, (x); call (r), one, (x); call.uni (r), one, "
        "(x); }",
        "{ .param .b32 r; .param .b64 x; .param .align 8 .b8 y[8]; call.uni (r), array, (y); call.uni (r), "
        "one, "
        "(x); }",
        "{ .param .b32 r; .reg .b64 x; call.uni (r), one, (x); call.uni (reg), one, (wide); call.uni (_), "
        "one, "
        "(4); }",
        "{ .param .b32 x, y; call two, (x, y); call two, (y, x); call one_alias, (x, y); call one_alias, (y, "
        "y); "
        "call two, (reg, y); call.uni none; call.uni none, (); call none; call none, (); }",
        "{ .param .s32 x, y; call two, (x, y); call two, (y, x); .param .f32 z; call two, (z, z); "
        "call two, (z, z); }",
        "{ .reg .pred p; .param .b32 x; @p call two, (x, x); @!p call two, (x, x); call two, (x, x); }",
        "{ .param .b32 x; { .param .b32 pad, x; call two, (x, x); } call two, (x, x); }",
    };
    for (const std::string_view body : bodies) {
        const std::string text = calls(body);
        EXPECT_THAT(isa::verify(*syntax::parse(text)), testing::IsEmpty()) << body;
        expect_the_same(text);
    }
}

// Each fact that the check of a call looks at, wrong behind calls that are right.
TEST(EmulatorDecode, ACallIsRefusedBehindOneThatIsAlmostLikeIt) {
    const std::string_view bodies[] = {
        "{ .param .b32 r; .param .b32 x; call.uni (r), one, (x); }",             // the size of an argument
        "{ .param .b64 r; .param .b64 x; call.uni (r), one, (x); }",             // of a result
        "{ .param .b64 x; call.uni one, (x); }",                                 // no result
        "{ .param .b32 r; call.uni (r), one; }",                                 // no argument
        "{ .param .b32 r; call.uni (r), one, (); }",                             // an empty list
        "{ .param .b32 r; .param .b64 x; call.uni (r), one, (x, x); }",          // too many
        "{ .param .b32 r; .param .b64 x; call.uni (r, r), one, (x); }",          //
        "{ .param .b32 r; .param .b64 x; call.uni (x), one, (r); }",             // the other way round
        "{ .param .b32 r; .param .align 8 .b8 x[8]; call.uni (r), one, (x); }",  // an array
        "{ .param .b32 r; .param .b64 x; call.uni (r), array, (x); }",           // no array
        "{ .param .b32 r; .param .b8 x[8]; call.uni (r), array, (x); }",         // its alignment
        "{ .param .b32 r; .param .align 8 .b8 x[9]; call.uni (r), array, (x); }",
        "{ .param .b32 r; call.uni (r), one, (own); }",               // a parameter of the entry
        "{ .param .b32 r; .local .b64 x; call.uni (r), one, (x); }",  // no .param
        "{ .param .b32 r; .shared .b64 x; call.uni (r), one, (x); }",
        "{ .param .b32 r; .param .b64 x; call.unique (r), one, (x); }",  // the modifier
        "{ .param .b32 x; call one_alias, (x); }",                       // the declaration of the alias
        "{ .param .b32 x; call other; }",                                // an entry
        "call.uni behind; call.uni behind;",                             // declared later
        "{ .reg .b32 none; call.uni none; }",                            // what hides the function
        "{ .reg .b32 none<5>; .reg .b64 two; .param .b32 x; call two, (x, x); }",
        "{ .param .b32 none; call.uni none; }",
        "{ .param .b32 x; call two, (x, y); }",
        "{ .param .b32 x, r; call (r), two, (x, x); }",
    };
    for (const std::string_view body : bodies) {
        const std::string text = calls(body);
        const auto tree = syntax::parse(text);
        ASSERT_TRUE(tree) << body;
        const auto findings = isa::verify(*tree);
        ASSERT_FALSE(findings.empty()) << body;
        for (const std::uint32_t often : {1u, 2u, never}) {
            const Decoded decoded(text, often);
            ASSERT_FALSE(decoded.program) << body;
            EXPECT_EQ(decoded.program.error().code, findings[0].code) << body;
            EXPECT_EQ(decoded.program.error().span, findings[0].span) << body;
        }
    }
}

// A module sees no variable, function or list of targets before it is declared, whatever stands there.
TEST(EmulatorDecode, NamesAreUsedBehindTheirDeclarations) {
    const std::string_view texts[] = {
        ".global .u32 a; .entry k() { .reg .u32 %r; ld.global.u32 %r, [a]; ld.global.u32 %r, [a]; "
        "ld.global.u32 %r, [b]; ret; } .global .u32 b;",
        ".global .u32 a; .entry k() { .reg .u64 %r; mov.u64 %r, a; mov.u64 %r, a; mov.u64 %r, b; ret; } "
        ".global .u32 b;",
        ".entry k() { call f; ret; } .func f() { ret; }",
        ".entry k() { .reg .u32 %r; mov.u32 %r, 0; brx.idx %r, T; L: T: .branchtargets L; ret; }",
    };
    for (const std::string_view text : texts) {
        const std::string module = with_header(std::string(text));
        const auto findings = isa::verify(*syntax::parse(module));
        ASSERT_FALSE(findings.empty()) << text;
        for (const std::uint32_t often : {1u, never}) {
            const Decoded decoded(module, often);
            ASSERT_FALSE(decoded.program) << text;
            EXPECT_EQ(decoded.program.error().span, findings[0].span) << text;
        }
    }
}

TEST(EmulatorDecode, ManyShapesAreForgottenAndLearnedAgain) {
    DecoderMemory kept;
    for (int module = 0; module < 5; ++module) {
        std::string body;
        for (int i = 0; i < 9000; ++i)
            body += "lop3.b32 %r1, %r2, %r3, %r4, " + std::to_string(i % 256) + "; add.u32 %r1, %r2, (" +
                    std::to_string(module * 9000 + i) + ");";
        const std::string text = kernel(body);
        const Decoded by_itself(text, never), by_shape(text, 1, &kept);
        ASSERT_TRUE(by_itself.program && by_shape.program);
        EXPECT_EQ(Comparison(*by_itself.program, *by_shape.program, text).difference(), "");
    }
}

// What was learned in a module of one version and target is not taken for one of another.
TEST(EmulatorDecode, ShapesAreThoseOfAVersionAndATarget) {
    DecoderMemory kept;
    int refused = 0;
    for (int round = 0; round < 2; ++round)
        for (int version = 50; version < 90; ++version)
            for (const int sm : {75, 80, 90}) {
                std::string text = kernel("redux.sync.add.s32 %r1, %r2, 0xffffffff; add.u32 %r3, %r1, %r2;");
                text.replace(text.find("9.0"), 3, fmt::format("{}.{}", version / 10, version % 10));
                text.replace(text.find("sm_90a"), 6, fmt::format("sm_{}", sm));
                const Decoded by_itself(text, never), by_shape(text, 1, &kept);
                EXPECT_EQ(by_itself.program.has_value(), by_shape.program.has_value()) << text;
                refused += by_itself.program ? 0 : 1;
            }
    EXPECT_GE(refused, 2 * 20);
    EXPECT_LE(refused, 2 * 100);
}

// Results and first sources of a function's operations that have one result.
std::vector<std::pair<Ref, Ref>> moves_of(const Program& program, const Function& function) {
    std::vector<std::pair<Ref, Ref>> moves;
    for (std::uint32_t pc = function.begin; pc < function.end.code; ++pc)
        if (const Operation& operation = program.code[pc]; operation.outputs == 1)
            moves.emplace_back(program.refs[operation.operands], program.refs[operation.operands + 1]);
    return moves;
}

// Registers of a declared range take room as they are named, and numbers far apart are kept apart.
TEST(EmulatorDecode, RegistersOfHugeRangesAreKeptApart) {
    const Decoded decoded(
        with_header(".entry k() { .reg .b32 %q<4000000000>; mov.b32 %q0, 1; mov.b32 %q3999999999, 2; mov.b32 "
                    "%q2000000, 3; mov.b32 %q40000, %q3999999999; mov.b32 %q000, %q2000000; ret; }"));
    ASSERT_TRUE(decoded.program);
    const auto moves = moves_of(*decoded.program, decoded.program->functions[0]);
    ASSERT_EQ(moves.size(), 5u);
    EXPECT_EQ(moves[3].second, moves[1].first);
    EXPECT_EQ(moves[4].second, moves[2].first);
    EXPECT_EQ(moves[4].first, moves[0].first);
    EXPECT_NE(moves[0].first, moves[1].first);
    EXPECT_EQ(decoded.program->functions[0].register_bytes, 4 * 4 * lane_count);
}

// One that was far from the others keeps its place when those between them come into use.
TEST(EmulatorDecode, RegistersKeepTheirPlacesWhenARangeFills) {
    const Decoded decoded(
        with_header(".entry k() { .reg .b32 %q<4000000000>; mov.b32 %q100000, 1; mov.b32 %q30000, 2; mov.b32 "
                    "%q60000, 3; mov.b32 %q119000, 4; mov.b32 %q5, %q100000; mov.b32 %q7, %q060000; ret; }"));
    ASSERT_TRUE(decoded.program);
    const auto moves = moves_of(*decoded.program, decoded.program->functions[0]);
    ASSERT_EQ(moves.size(), 6u);
    EXPECT_EQ(moves[4].second, moves[0].first);
    EXPECT_EQ(moves[5].second, moves[2].first);
    EXPECT_EQ(decoded.program->functions[0].register_bytes, 6 * 4 * lane_count);
}

// A single register hides one of a range in its block alone, at whatever place names were asked for before.
TEST(EmulatorDecode, SingleNamesHideThoseOfRangesInTheirBlock) {
    const std::string body =
        ".entry NAME() { .reg .b32 %r<9>; mov.b32 %r1, 1; mov.b32 %r2, %r1; { .reg .b32 %r1; mov.b32 %r1, 2; "
        "mov.b32 %r3, %r1; { .reg .b32 %r<2>; mov.b32 %r1, 3; mov.b32 %r0, %r2; } mov.b32 %r4, %r1; } "
        "mov.b32 %r5, %r1; ret; }\n";
    std::string text = with_header("");
    for (const char* name : {"a", "b"}) text += std::string(body).replace(body.find("NAME"), 4, name);
    const Decoded decoded(text);
    ASSERT_TRUE(decoded.program);
    for (const Function& function : decoded.program->functions) {
        const auto moves = moves_of(*decoded.program, function);
        ASSERT_EQ(moves.size(), 8u);
        const Ref outer = moves[0].first, single = moves[2].first, inner = moves[4].first;
        EXPECT_EQ(moves[1].second, outer);
        EXPECT_EQ(moves[3].second, single);
        EXPECT_EQ(moves[5].second, moves[1].first);
        EXPECT_EQ(moves[6].second, single);
        EXPECT_EQ(moves[7].second, outer);
        EXPECT_TRUE(outer != single && single != inner && inner != outer);
    }
}

// What was known of a range holds behind declarations of other names, and no longer than its block.
TEST(EmulatorDecode, RangesDeclaredAfterAUseAndInBlocksThatEnd) {
    const Decoded decoded(with_header(
        ".entry k() { .reg .b32 %r<9>, %t<9>; mov.b32 %r1, 1; mov.b32 %t1, 2; "
        "{ .reg .b32 r1; mov.b32 r1, %r1; .reg .b32 %r<4>; mov.b32 %r1, r1; mov.b32 %t2, %r1; } "
        "{ .reg .b32 %t<4>; mov.b32 %t1, %r1; { .reg .b32 %u<4>; mov.b32 %u1, %t1; mov.b32 %r2, %u1; } "
        "mov.b32 %r3, %t1; } { .reg .b32 %v<4>; mov.b32 %v1, %t1; .reg .b32 %t1; mov.b32 %t1, %v1; } "
        "mov.b32 %r4, %r1; mov.b32 %r5, %t1; ret; }"));
    ASSERT_TRUE(decoded.program);
    const auto moves = moves_of(*decoded.program, decoded.program->functions[0]);
    ASSERT_EQ(moves.size(), 13u);
    const Ref r1 = moves[0].first, t1 = moves[1].first;
    EXPECT_EQ(moves[2].second, r1);              // beside `r1`
    EXPECT_EQ(moves[3].second, moves[2].first);  // `r1`
    EXPECT_NE(moves[3].first, r1);               // that of the range in the block
    EXPECT_EQ(moves[4].second, moves[3].first);
    EXPECT_EQ(moves[5].second, r1);
    EXPECT_NE(moves[5].first, t1);
    EXPECT_EQ(moves[6].second, moves[5].first);
    EXPECT_EQ(moves[8].second, moves[5].first);  // behind the block of `%u`
    EXPECT_EQ(moves[9].second, t1);              // behind that of the inner `%t`
    EXPECT_EQ(moves[10].second, moves[9].first);
    EXPECT_NE(moves[10].first, t1);
    EXPECT_EQ(moves[11].second, r1);
    EXPECT_EQ(moves[12].second, t1);
}

}  // namespace
}  // namespace ptxgraft::emulator
