// The canonical text: what it looks like, and that it assembles to the same machine code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/corpus.hpp"
#include "support/machine_code.hpp"

namespace ptxgraft::syntax {
namespace {

namespace fs = std::filesystem;

Module parsed(const std::string& text) {
    auto module = parse(text);
    if (!module) throw std::runtime_error(describe(module.error(), text, "test.ptx"));
    return std::move(*module);
}

std::string in_function(std::string_view body) {
    return ".visible .entry f()\n{\n" + std::string(body) + "}\n";
}

/// Kinds and tokens of all statements: what a text and its canonical text have in common.
std::string tokens_of(const Module& module) {
    std::string out;
    for (const Statement s : module.walk()) {
        out += std::to_string(static_cast<int>(s.kind()));
        for (const Token& token : s.tokens()) out.append(" ").append(token.text);
        out += '\n';
    }
    return out;
}

void expect_same_tree(const Module& module, const std::string& canonical_text) {
    const auto again = parse(canonical_text);
    ASSERT_TRUE(again) << describe(again.error(), canonical_text, "canonical");
    EXPECT_EQ(tokens_of(*again), tokens_of(module));
    EXPECT_EQ(canonical(*again), canonical_text);
}

struct Row {
    std::string_view text, canonical;
};

TEST(Canonical, StatementsOfABodyLookLikeThis) {
    const Row rows[] = {
        {" /* a */ add /*b*/ .s32   %r1 ,%r2,// c\n\t-  4 ;", "\tadd.s32 %r1, %r2, -4;\n"},
        {"@ ! %p1 bra.uni  $L ; $L :", "\t@!%p1 bra.uni $L;\n$L:\n"},
        {"ld.shared::cta.v2 .f32 { %f1,%f2 } , [ %rd1 + - 4 ] ;",
         "\tld.shared::cta.v2.f32 {%f1, %f2}, [%rd1+-4];\n"},
        {"mov.u32 a,(.s64) 5+-(1<<4) *~2 ?3:4 % 5;", "\tmov.u32 a, (.s64)5+-(1 << 4) * ~2 ? 3 : 4 % 5;\n"},
        {"mov.u32 a, 1 - - 2;", "\tmov.u32 a, 1- -2;\n"},
        {"setp.eq.and.s32 p | _ , a,b , ! q;", "\tsetp.eq.and.s32 p|_, a, b, !q;\n"},
        {"call.uni ( r1 ) ,f,( a,b ) ;call f;", "\tcall.uni (r1), f, (a, b);\n\tcall f;\n"},
        {"mov.f32 f, %v .x;", "\tmov.f32 f, %v.x;\n"},
        {".reg.b32 %r< 4 >,a ; .reg .v4 .f32 v;", "\t.reg .b32 %r<4>, a;\n\t.reg .v4 .f32 v;\n"},
        {".shared .align 16 .b8 s [ 2 ] [8];", "\t.shared .align 16 .b8 s[2][8];\n"},
        {"{ { x: ret; } }", "\t{\n\t\t{\n\t\tx:\n\t\t\tret;\n\t\t}\n\t}\n"},
        {"t: .branchtargets a,b ;", "t:\n\t.branchtargets a, b;\n"},
        {"p: .callprototype ( .param .b32 _ ) _ ( .param .align 8 .b8 _[16] ) ;",
         "p:\n\t.callprototype (.param .b32 _) _(.param .align 8 .b8 _[16]);\n"},
        {".loc 1   4 0 , function_name $L + 3 , inlined_at 1 5 0 ret;",
         "\t.loc 1 4 0, function_name $L+3, inlined_at 1 5 0\n\tret;\n"},
        {".pragma \"a  b\" ;", "\t.pragma \"a  b\";\n"},
        {"tex.2d.v4.f32.s32 {a,b,c,d} , [ t , {x, y} ] ;",
         "\ttex.2d.v4.f32.s32 {a, b, c, d}, [t, {x, y}];\n"},
    };
    for (const Row& row : rows) {
        const std::string text = in_function(row.text);
        const Module module = parsed(text);
        EXPECT_EQ(canonical(module), in_function(row.canonical));
        expect_same_tree(module, canonical(module));
    }
}

TEST(Canonical, StatementsOfAModuleLookLikeThis) {
    const Row rows[] = {
        {"", ""},
        {" // nothing\r\n", ""},
        {".version 9.0\r\n.target sm_90a ,debug\r\n.address_size 64",
         ".version 9.0\n.target sm_90a, debug\n.address_size 64\n"},
        {"# 1 \"a\"\n.func f;// c", ".func f;\n"},
        {".visible .entry k ( .param .u64 .ptr .global .align 16 q ) .maxntid 128 , 1,1 .minnctapersm 2 { "
         "ret; }",
         ".visible .entry k(.param .u64 .ptr .global .align 16 q) .maxntid 128, 1, 1 .minnctapersm "
         "2\n{\n\tret;\n}\n"},
        {".func ( .param .b32 r ) f( .param .align 8 .b8 a [ 12 ] ) .noreturn { }",
         ".func (.param .b32 r) f(.param .align 8 .b8 a[12]) .noreturn\n{\n}\n"},
        {".global .align 4 .u32 x [ 2 ]={ 1,- 2 },y = 3;", ".global .align 4 .u32 x[2] = {1, -2}, y = 3;\n"},
        {".global .attribute( .managed ) .u32 m;", ".global .attribute(.managed) .u32 m;\n"},
        {".global .u64 g; .global .u64 p = generic ( g )+8;",
         ".global .u64 g;\n.global .u64 p = generic(g)+8;\n"},
        {".global .samplerref s = {addr_mode_0=clamp_to_border};",
         ".global .samplerref s = {addr_mode_0 = clamp_to_border};\n"},
        {".file 1 \"C:\\a  b\" , 17,4\n.file 2 \"x\"", ".file 1 \"C:\\a  b\", 17, 4\n.file 2 \"x\"\n"},
        {".section .debug_info{ .b8 1,2\n.b64 a,a + 4 l: .b32 .debug_abbrev .b32 .debug_loc+12 // c\n}",
         ".section .debug_info\n{\n\t.b8 1, 2\n\t.b64 a, a+4\nl:\n\t.b32 .debug_abbrev\n\t.b32 "
         ".debug_loc+12\n}\n"},
        // a name takes one directive that stands directly behind it
        {".section .debug_x { .b64 a.loc.b8 1 .b32 .debug_loc.b8 2 .b64 a-b.b8 3 }",
         ".section .debug_x\n{\n\t.b64 a.loc\n\t.b8 1\n\t.b32 .debug_loc\n\t.b8 2\n\t.b64 a-b\n\t.b8 3\n}\n"},
    };
    for (const Row& row : rows) {
        const std::string text(row.text);
        const Module module = parsed(text);
        EXPECT_EQ(canonical(module), row.canonical);
        expect_same_tree(module, canonical(module));
    }
}

TEST(Canonical, DoesNotGrowWithTheSquareOfTheNesting) {
    constexpr std::size_t depth = 50000;
    std::string open, close;
    for (std::size_t i = 0; i < depth; ++i) {
        open += "{ L: ";
        close += "} ";
    }
    const Module module = parsed(in_function(open + close));
    EXPECT_LT(canonical(module).size(), depth * 120);
    expect_same_tree(module, canonical(module));
}

TEST(Canonical, OfOneStatement) {
    const Module module = parsed(in_function(" { add .s32 a,b , c; }"));
    const Statement f = module.find_function("f");
    EXPECT_EQ(canonical(f), ".visible .entry f()\n{\n\t{\n\t\tadd.s32 a, b, c;\n\t}\n}\n");
    EXPECT_EQ(canonical(f.first_child()), "{\n\tadd.s32 a, b, c;\n}\n");
    EXPECT_EQ(canonical(f.first_child().first_child()), "add.s32 a, b, c;\n");
    EXPECT_EQ(canonical(Statement()), "");
    EXPECT_EQ(canonical(module.statements().back()), "");
}

TEST(Canonical, OfAModuleMadeByHand) {
    auto made = new_module({.target = "sm_80"});
    ASSERT_TRUE(made);
    const auto k = made->append({}, ".visible .entry k(.param .u64 out) {}");
    ASSERT_TRUE(k);
    ASSERT_TRUE(
        made->append(*k, ".reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 7; ret;"));
    EXPECT_EQ(canonical(*made),
              ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\t.reg "
              ".b64 %rd<2>;\n"
              "\tld.param.u64 %rd1, [out];\n\tst.global.u32 [%rd1], 7;\n\tret;\n}\n");
    expect_same_tree(*made, canonical(*made));
    EXPECT_EQ(print(parsed(print(*made))), print(*made));
    EXPECT_TRUE(default_assembler().assemble(canonical(*made)));
    EXPECT_TRUE(default_assembler().assemble(print(*made)));
    EXPECT_FALSE(new_module({.version = "9"}));
    EXPECT_FALSE(new_module({.version = "9.0\n.func f;"}));
    EXPECT_FALSE(new_module({.target = ""}));
}

// --- the same machine code

// True when the text assembles at all.
bool expect_same_code(const std::string& name, const std::string& text) {
    const auto module = parse(text);
    EXPECT_TRUE(module) << describe(module.error(), text, name);
    if (!module) return false;
    const std::string printed = canonical(*module);
    expect_same_tree(*module, printed);
    // ptxas does not optimise modules of debug builds, and takes minutes to optimise large ones; relocatable
    // device code wants its option.
    const bool is_debug = canonical(module->statements()[1]).find("debug") != std::string::npos;
    AssembleOptions options{.optimisation = is_debug || text.size() > 400000 ? 0 : 3,
                            .allow_performance_loss = true};
    auto expected = nvptxcompiler()->assemble(text, options);
    if (!expected) {
        options.relocatable = true;
        expected = nvptxcompiler()->assemble(text, options);
    }
    const auto made = nvptxcompiler()->assemble(printed, options);
    EXPECT_EQ(made.has_value(), expected.has_value()) << name << ": " << (made ? "" : message(made.error()));
    if (!made || !expected) return false;
    const auto code = machine_code(*made);
    EXPECT_FALSE(code.empty()) << name;
    EXPECT_TRUE(code == machine_code(*expected)) << name;
    return true;
}

// ptxas takes minutes for the largest files: of these only the tree is compared, unless PTXGRAFT_WHOLE_CORPUS
// is set.
bool is_for_every_run(const std::string& text) {
    constexpr std::size_t largest = 1000000;
    return text.size() <= largest || std::getenv("PTXGRAFT_WHOLE_CORPUS") != nullptr;
}

bool expect_same(const std::string& name, const std::string& text) {
    if (is_for_every_run(text)) return expect_same_code(name, text);
    const auto module = parse(text);
    EXPECT_TRUE(module) << describe(module.error(), text, name);
    if (module) expect_same_tree(*module, canonical(*module));
    return module.has_value();
}

class CanonicalCorpus : public ::testing::TestWithParam<int> {};

// In four parts, so that tests of them can run side by side.
TEST_P(CanonicalCorpus, AssemblesToTheSameMachineCode) {
    SKIP_WITHOUT_CORPUS;
    if (nvptxcompiler() == nullptr) GTEST_SKIP() << "built without nvPTXCompiler";
    const std::vector<fs::path> files = test::corpus_files();
    for (std::size_t i = static_cast<std::size_t>(GetParam()); i < files.size(); i += 4)
        EXPECT_TRUE(expect_same(files[i].filename().string(), test::read_file(files[i])) ||
                    test::manifest_says(files[i], "no"))
            << files[i];
}
INSTANTIATE_TEST_SUITE_P(Part, CanonicalCorpus, ::testing::Range(0, 4));

struct CompiledRow {
    std::string_view target;
    std::vector<std::string> options;
};

TEST(Canonical, CompiledModulesAssembleToTheSameMachineCode) {
    if (nvptxcompiler() == nullptr) GTEST_SKIP() << "built without nvPTXCompiler";
    constexpr std::string_view source = R"(
        __device__ int table[3] = {1, -2, 3};
        __constant__ float weights[4] = {1.5f, -0.f, 1e-30f, 3.f};
        template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
        extern "C" __global__ void __launch_bounds__(128, 2) kernel(float* out, const float* in, int n, double d) {
            __shared__ float tile[128];
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            tile[threadIdx.x] = i < n ? in[i] : 0.f;
            __syncthreads();
            float sum = 0;
            #pragma unroll 4
            for (int k = 0; k < 128; ++k) sum += tile[k] * weights[k & 3];
            switch (n & 7) { case 0: sum += 1; break; case 1: sum *= 3; break; case 2: sum -= d; break; case 3: sum = twice(sum); break;
                             case 4: asm("{ .reg .f32 t; add.f32 t, %0, %0; mov.f32 %0, t; }" : "+f"(sum)); break; default: break; }
            sum += __shfl_xor_sync(~0u, sum, 1) + table[n % 3];
            if (i < n) atomicAdd(out + i, sum);
        })";
    const CompiledRow rows[] = {
        {"sm_75", {}},
        {"sm_80", {"-G"}},
        {"sm_80", {"-lineinfo"}},
        {"sm_86", {"-rdc=true"}},
        {"sm_89", {}},
        {"sm_90a", {"-G"}},
        {"sm_90", {}},
        {"sm_100a", {}},
        {"sm_103", {}},
        {"sm_110", {}},
        {"sm_120a", {"-lineinfo"}},
        {"sm_121", {"-rdc=true", "-G"}},
    };
    for (const CompiledRow& row : rows) {
        const auto ptx = compile_cuda(source, {.target = std::string(row.target), .options = row.options});
        ASSERT_TRUE(ptx) << message(ptx.error());
        EXPECT_TRUE(expect_same_code(std::string(row.target), ptx->text)) << row.target;
    }
}

}  // namespace
}  // namespace ptxgraft::syntax
