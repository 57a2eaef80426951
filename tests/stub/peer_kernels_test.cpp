// The kernels of mm-ptx's tests and examples, with sites marked as mm-ptx marks them: our stubs in them give
// its numbers on the emulator.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ptxgraft/kernel.hpp"
#include "support/expression_run.hpp"
#include "support/kernel_text.hpp"
#include "support/peer_words.hpp"

namespace ptxgraft {
namespace {

using std::uint32_t;
using test::f, test::number, test::Words;

std::string marked(const std::string& name, const std::vector<std::array<std::string, 3>>& operands) {
    std::string text = "\t// PTX_INJECT_START " + name + "\n";
    for (const auto& [place, direction, variable] : operands)
        text += "\t// " + place + " " + direction + " f32 F32 " + variable + "\n";
    return text + "\t// PTX_INJECT_END\n";
}
std::string entry(const std::string& declarations, const std::string& body) {
    return test::kernel_text({.version = "9.0",
                              .parameters = {"u64 out"},
                              .registers = {"u64 %a"},
                              .body = "\tld.param.u64 %a, [out];\n" + declarations + body,
                              .name = "kernel"});
}
// The one float that a kernel writes.
float run(const std::string& text, const std::vector<Graft>& grafts) {
    const auto skeleton = Skeleton::from_ptx(text);
    EXPECT_TRUE(skeleton) << describe(skeleton.error(), text);
    const auto rendered = skeleton->render(grafts);
    EXPECT_TRUE(rendered) << describe(rendered.error(), text);
    Emulator emulator;
    const auto module = emulator.load(*rendered);
    EXPECT_TRUE(module) << describe(module.error(), *rendered);
    const std::uint64_t out = *emulator.allocate(4);
    const std::span<const std::byte> argument = std::as_bytes(std::span(&out, 1));
    EXPECT_TRUE(emulator.launch(**module, "kernel", {}, std::span(&argument, 1)));
    float result = 0;
    EXPECT_TRUE(emulator.read(out, std::as_writable_bytes(std::span(&result, 1))));
    return result;
}
const Site& site_of(const std::string& text, const char* name) {
    static Skeleton skeleton = *Skeleton::from_ptx(text);
    skeleton = *Skeleton::from_ptx(text);
    return *skeleton.site(name);
}
Stub filled(const std::string& text, const char* site, const char* program) {
    auto stub = stack::compile(program, site_of(text, site), {.set = stack::find_set("f32"), .compile = {}});
    EXPECT_TRUE(stub) << describe(stub.error(), program);
    return *stub;
}

// A loop of two turns around a site with x in, y mod and z out; the site is there twice, as if unrolled.
std::string loop_of(double x, double y) {
    const std::string copy =
        "\t{\n\t.reg .f32 %_x0, %_x1, %_x2;\n\tmov.f32 %_x0, %x;\n\tmov.f32 %_x1, %y;\n" +
        marked("func", {{"_x0", "i", "x"}, {"_x1", "m", "y"}, {"_x2", "o", "z"}}) +
        "\tmov.f32 %y, %_x1;\n\tmov.f32 %z, %_x2;\n\t}\n";
    char values[80];
    std::snprintf(values, sizeof values, "\tmov.f32 %%x, 0f%08X;\n\tmov.f32 %%y, 0f%08X;\n", f(x), f(y));
    return entry("\t.reg .f32 %x, %y, %z;\n", values + copy + copy + "\tst.global.f32 [%a], %z;\n");
}

TEST(PeerKernels, OneStubForEveryCopy) {
    const std::string first = loop_of(5, 3), second = loop_of(5, 1);
    EXPECT_EQ(run(first, {{"func", filled(first, "func", "x y add.ftz.f32 dup.f32 x add.ftz.f32 -> y z")}}),
              18.0f);
    EXPECT_EQ(run(second, {{"func", filled(second, "func", "x y add.ftz.f32 x y add.ftz.f32 -> z y")}}),
              11.0f);
    const auto by_hand =
        Stub::from_ptx("add.ftz.f32 y, x, y;\nadd.ftz.f32 z, x, y;\n", site_of(first, "func"));
    ASSERT_TRUE(by_hand) << describe(by_hand.error());
    EXPECT_EQ(run(first, {{"func", *by_hand}}), 18.0f);
}

TEST(PeerKernels, StubsWrittenByHand) {
    const std::string text =
        entry("\t.reg .f32 %_x0, %_x1;\n", "\tmov.f32 %_x0, 0f40A00000;\n" +
                                               marked("func", {{"_x0", "i", "x"}, {"_x1", "o", "y"}}) +
                                               "\tst.global.f32 [%a], %_x1;\n");
    // mm-ptx lets a stub write to what it was given to read
    const auto refused =
        Stub::from_ptx("mul.ftz.f32 x, x, 0.1;\nadd.ftz.f32 y, x, 2.2;\n", site_of(text, "func"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::stub_input_written);
    const auto stub = Stub::from_ptx(".reg .f32 t;\nmul.ftz.f32 t, x, 0.1;\nadd.ftz.f32 y, t, 2.2;\n",
                                     site_of(text, "func"));
    ASSERT_TRUE(stub) << describe(stub.error());
    EXPECT_EQ(run(text, {{"func", *stub}}), 2.7f);
}

TEST(PeerKernels, TwoSites) {
    const std::string text = entry(
        "\t.reg .f32 %x, %y, %z, %w, %t;\n\tmov.f32 %x, 0f40A00000;\n\tmov.f32 %y, 0f40400000;\n",
        "\t{\n\t.reg .f32 %_x0, %_x1, %_x2;\n\tmov.f32 %_x0, %x;\n\tmov.f32 %_x1, %y;\n" +
            marked("add", {{"_x0", "i", "x"}, {"_x1", "i", "y"}, {"_x2", "o", "z"}}) +
            "\tmov.f32 %z, %_x2;\n\t}\n" +
            "\t{\n\t.reg .f32 %_x0, %_x1, %_x2;\n\tmov.f32 %_x0, %x;\n\tmov.f32 %_x1, %y;\n" +
            marked("mul", {{"_x0", "i", "x"}, {"_x1", "i", "y"}, {"_x2", "o", "w"}}) +
            "\tmov.f32 %w, %_x2;\n\t}\n\tfma.rn.f32 %t, %z, 0f42C80000, %w;\n\tst.global.f32 [%a], %t;\n");
    const Stub add = filled(text, "add", "x y add.ftz.f32 -> z"),
               mul = filled(text, "mul", "x y mul.ftz.f32 -> w");
    EXPECT_EQ(run(text, {{"add", add}, {"mul", mul}}), 815.0f);  // 8 and 15
    EXPECT_EQ(run(text, {{"mul", mul}, {"add", add}}), 815.0f);  // whatever their order
}

// A type of its own over a register type: the token is a name, the register decides.
TEST(PeerKernels, TypesOfItsOwn) {
    const std::string text = entry(
        "\t.reg .f32 %_x0, %_x1, %_x2;\n\tmov.f32 %_x1, 0f40A00000;\n\tmov.f32 %_x2, 0f40400000;\n",
        "\t// PTX_INJECT_START func\n\t// _x0 o f32 DOG z\n\t// _x1 m f32 DOG x\n\t// _x2 i f32 DOG y\n\t// "
        "PTX_INJECT_END\n\tst.global.f32 [%a], %_x0;\n");
    EXPECT_EQ(run(text, {{"func", filled(text, "func", "x y add.ftz.f32 -> z")}}), 8.0f);
    const auto by_hand = Stub::from_ptx("add.ftz.f32 z, y, x;\n", site_of(text, "func"));
    ASSERT_TRUE(by_hand) << describe(by_hand.error());
    EXPECT_EQ(run(text, {{"func", *by_hand}}), 8.0f);
}

TEST(PeerKernels, CopiesMustAgree) {
    const std::string text = entry("", marked("func", {{"_x0", "i", "v_x"}}) +
                                           marked("func", {{"_x0", "i", "v_x"}, {"_x1", "i", "v_y"}}));
    const auto skeleton = Skeleton::from_ptx(text);
    ASSERT_FALSE(skeleton);
    EXPECT_EQ(skeleton.error().code, Errc::signatures_disagree) << describe(skeleton.error(), text);
}

// ---- products of matrices with another semiring
// -------------------------------------------------------------------------------------------

// C(m, n) over A and B of K columns, each in columns of M and N elements; one thread per element.
std::string product_kernel() {
    return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry gemm_nt(.param .u64 pa, .param "
           ".u64 pb, .param .u64 pc, .param .u32 pm, .param .u32 pn, .param .u32 pk)\n{\n"
           "\t.reg .u64 %d<8>; .reg .u32 %r<12>; .reg .f32 %f<4>; .reg .pred %p;\n"
           "\tld.param.u64 %d0, [pa]; ld.param.u64 %d1, [pb]; ld.param.u64 %d2, [pc];\n\tld.param.u32 %r0, "
           "[pm]; ld.param.u32 %r1, [pn]; ld.param.u32 %r2, [pk];\n"
           "\tmov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x;\n"  // row, column
           "\tmad.lo.u32 %r5, %r4, %r0, %r3; mul.wide.u32 %d3, %r5, 4; add.u64 %d2, %d2, %d3;\n"
           "\tmul.wide.u32 %d3, %r3, 4; add.u64 %d0, %d0, %d3;\n\tmul.wide.u32 %d3, %r4, 4; add.u64 %d1, "
           "%d1, %d3;\n"
           "\tmul.wide.u32 %d4, %r0, 4; mul.wide.u32 %d5, %r1, 4;\n\tmov.f32 %f2, 0f00000000;\n"
           "LOOP:\n\tld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d1];\n"
           "\t{\n\t.reg .f32 %_x0, %_x1, %_x2;\n\tmov.f32 %_x0, %f0; mov.f32 %_x1, %f1; mov.f32 %_x2, "
           "%f2;\n" +
           marked("mma", {{"_x0", "i", "v_a"}, {"_x1", "i", "v_b"}, {"_x2", "m", "v_c"}}) +
           "\tmov.f32 %f2, %_x2;\n\t}\n"
           "\tadd.u64 %d0, %d0, %d4; add.u64 %d1, %d1, %d5; sub.u32 %r2, %r2, 1;\n\tsetp.ne.u32 %p, %r2, "
           "0;\n\t@%p bra LOOP;\n"
           "\t{\n\t.reg .f32 %_x0, %_x1;\n\tmov.f32 %_x0, %f2;\n" +
           marked("epilogue", {{"_x0", "i", "v_c_in"}, {"_x1", "o", "v_c_out"}}) +
           "\tmov.f32 %f3, %_x1;\n\t}\n\tst.global.f32 [%d2], %f3;\n\tret;\n}\n";
}

TEST(PeerKernels, ProductsOfMatrices) {
    constexpr uint32_t m = 128, n = 128, k = 8;
    std::vector<float> a(m * k), b(n * k);
    for (uint32_t i = 0; i < m * k; ++i) a[i] = static_cast<float>(static_cast<int>(i % 7) - 3) * 0.25f;
    for (uint32_t i = 0; i < n * k; ++i) b[i] = static_cast<float>(static_cast<int>((i + 5) % 11) - 5) * 0.2f;
    const struct {
        const char* program;
        std::function<double(double, double)> term;
    } rows[] = {
        {"v_b v_a v_c fma.rn.ftz.f32 -> v_c", [](double x, double y) { return x * y; }},
        {"v_b v_a sub.ftz.f32 abs.ftz.f32 v_c add.ftz.f32 -> v_c",
         [](double x, double y) { return std::abs(x - y); }},
        {"v_b v_a sub.ftz.f32 dup.f32 mul.ftz.f32 v_c add.ftz.f32 -> v_c",
         [](double x, double y) { return (x - y) * (x - y); }},
    };
    const std::string text = product_kernel();
    const auto skeleton = Skeleton::from_ptx(text);
    ASSERT_TRUE(skeleton) << describe(skeleton.error(), text);
    const Stub epilogue = filled(text, "epilogue", "v_c_in -> v_c_out");
    for (const auto& row : rows) {
        const Stub mma = filled(text, "mma", row.program);
        const auto rendered = skeleton->render({{"mma", mma}, {"epilogue", epilogue}});
        ASSERT_TRUE(rendered);
        Emulator emulator;
        const auto module = emulator.load(*rendered);
        ASSERT_TRUE(module) << describe(module.error(), *rendered);
        const std::uint64_t places[] = {*emulator.allocate(4 * a.size()), *emulator.allocate(4 * b.size()),
                                        *emulator.allocate(4 * m * n)};
        ASSERT_TRUE(emulator.write(places[0], std::as_bytes(std::span(a))));
        ASSERT_TRUE(emulator.write(places[1], std::as_bytes(std::span(b))));
        const uint32_t sizes[] = {m, n, k};
        std::vector<std::span<const std::byte>> arguments;
        for (const auto& place : places) arguments.push_back(std::as_bytes(std::span(&place, 1)));
        for (const auto& size : sizes) arguments.push_back(std::as_bytes(std::span(&size, 1)));
        ASSERT_TRUE(emulator.launch(**module, "gemm_nt", {.grid = {n}, .block = {m}}, arguments));
        std::vector<float> c(m * n);
        ASSERT_TRUE(emulator.read(places[2], std::as_writable_bytes(std::span(c))));
        for (uint32_t j = 0; j < n; ++j)
            for (uint32_t i = 0; i < m; ++i) {
                double wanted = 0;
                for (uint32_t l = 0; l < k; ++l)
                    wanted += row.term(static_cast<double>(a[i + l * m]), static_cast<double>(b[j + l * n]));
                ASSERT_NEAR(static_cast<double>(c[i + j * m]), wanted, 1e-5)
                    << row.program << " at " << i << ", " << j;
            }
    }
}

// mma.sync of tf32, of which the emulator knows nothing: the fragments of A are tid and 2 tid, that of B is
// tid.
TEST(PeerKernels, TensorCoresAssemble) {
    const auto signature = Signature::parse("out f32 d0, out f32 d1, out f32 d2, out f32 d3");
    const char* text =
        "%tid.x cvt.rn.f32.u32 dup.f32 cvt.rna.tf32.f32 2.0 mul.ftz.f32 cvt.rna.tf32.f32 "
        "%tid.x cvt.rn.f32.u32 cvt.rna.tf32.f32 0.0 0.0 0.0 0.0 "
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 -> d0 d1 d2 d3";
    const auto stub =
        stack::compile(text, *signature, {.set = stack::find_set("f32")}, {.allowed = Effect::tensor});
    ASSERT_TRUE(stub) << describe(stub.error(), text);
    EXPECT_NE(stub->ptx().find("cvt.rna.tf32.f32 %r1, %f0;"), std::string::npos) << stub->ptx();
    EXPECT_NE(stub->ptx().find("{%r1, %r2}, {%r3}, {"), std::string::npos) << stub->ptx();
    const std::string kernel = test::kernel(*signature, stub->ptx());
    const auto cubin = test::assemble(kernel);
    EXPECT_TRUE(cubin) << describe(cubin.error(), kernel);
    const auto refused = stack::compile(text, *signature, {.set = stack::find_set("f32")});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::stub_effect_forbidden) << describe(refused.error(), text);
}

// ---- Philox
// -----------------------------------------------------------------------------------------------------------

// Philox 4x32-10 as its authors wrote it down.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
        c = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(q),
             static_cast<uint32_t>(p >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p)};
        key[0] += 0x9E3779B9, key[1] += 0xBB67AE85;
    }
    return c;
}

// Its kernel draws four words, four uniform and four normal numbers in turn, from counter {0, 0, 0, thread}
// under key 1234.
TEST(PeerKernels, PhiloxInTurn) {
    const char* state = "in u32 c0, in u32 c1, in u32 c2, in u32 c3, in u32 k0, in u32 k1";
    const struct {
        const char* outputs;
        const char* program;
        std::function<double(const std::array<uint32_t, 4>&, int)> wanted;
        double tolerance;
    } rows[] = {
        {"out u32 r0, out u32 r1, out u32 r2, out u32 r3",
         "import random/philox.stub c0 c1 c2 c3 k0 k1 philox -> r0 r1 r2 r3",
         [](const auto& r, int i) { return static_cast<double>(r[static_cast<std::size_t>(i)]); }, 0},
        {"out f32 r0, out f32 r1, out f32 r2, out f32 r3",
         "import random/philox.stub import random/uniform.stub c0 c1 c2 c3 k0 k1 philox uniform -> r3; "
         "uniform -> r2; uniform -> r1; uniform -> r0",
         [](const auto& r, int i) { return r[static_cast<std::size_t>(i)] * 0x1p-32 + 0x1p-33; }, 1e-6},
        {"out f32 r0, out f32 r1, out f32 r2, out f32 r3",
         "import random/philox.stub import random/normal.stub c0 c1 c2 c3 k0 k1 philox normal -> r2 r3; "
         "normal -> r0 r1",
         [](const auto& r, int i) {
             const std::size_t pair = i < 2 ? 0 : 2;
             const double u = r[pair] * 0x1p-32 + 0x1p-33, v = 2 * M_PI * (r[pair + 1] * 0x1p-32 + 0x1p-33);
             return std::sqrt(-2 * std::log(u)) * (i % 2 == 0 ? std::sin(v) : std::cos(v));
         },
         1e-3},
    };
    for (uint32_t c = 0; c < 6; ++c) {
        const auto& row = rows[c % 3];
        const auto signature = Signature::parse(std::string(state) + ", " + row.outputs);
        const auto stub = stack::compile(row.program, *signature);
        ASSERT_TRUE(stub) << describe(stub.error(), row.program);
        test::Values before = {Words(32, c), Words(32), Words(32), {},        Words(32, 1234),
                               Words(32),    Words(32), Words(32), Words(32), Words(32)};
        for (uint32_t lane = 0; lane < 32; ++lane) before[3].push_back(lane);
        const auto after = test::by_emulator(*signature, {stub->ptx()}, before);
        ASSERT_TRUE(after) << describe(after.error());
        for (uint32_t lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) {
                const std::uint64_t word = (*after)[0][static_cast<std::size_t>(6 + i)][lane];
                const double got =
                    row.tolerance == 0 ? static_cast<double>(word) : static_cast<double>(number(word));
                ASSERT_NEAR(got, row.wanted(philox({c, 0, 0, lane}, {1234, 0}), i), row.tolerance)
                    << "draw " << c << " of thread " << lane;
            }
    }
}

}  // namespace
}  // namespace ptxgraft
