// Stubs and sites whose signature is a type, as a user writes them.

#include "ptxgraft/dsl/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using testing::HasSubstr;

constexpr unsigned threads = 256;

// data[i] = f(data[i], bias[i]) with two factors, where f is the site "epilogue": by default the sum.
auto emit_epilogue(Module& module) {
    auto& k = module.entry("apply");
    const auto data = k.argument<u64>("data"), biases = k.argument<u64>("biases");
    const auto lane = k.reg<u32>();
    const auto address = k.reg<u64>();
    const auto acc = k.reg<f32>(), bias = k.reg<f32>();
    const auto scale = k.regs<f32, 2>();
    k.emit<"mov.u32">(lane, special<"%tid.x">);
    k.emit<"mad.wide.u32">(address, lane, 4, biases);
    k.emit<"ld.global.f32">(bias, at(address));
    k.emit<"mad.wide.u32">(address, lane, 4, data);
    k.emit<"ld.global.f32">(acc, at(address));
    k.emit<"mov.f32">(scale[0], 1.5f);
    k.emit<"mov.f32">(scale[1], -0.1f);
    const auto epilogue = k.site("epilogue", operands(mod<"acc">(acc), in<"bias">(bias), in<"scale">(scale)),
                                 {}, [&](auto sum, auto by, auto) { k.emit<"add.f32">(sum, sum, by); });
    k.emit<"st.global.f32">(at(address), acc);
    k.emit<"ret">();
    return epilogue;
}

class DslSignature : public testing::Test {
  protected:
    Module module_{{.target = "sm_80"}};
    // The site's signature as the kernel declares it.
    const SignatureOf<Mod<"acc", f32>, In<"bias", f32>, In<"scale", f32, 2>> epilogue_ =
        emit_epilogue(module_);
    const Skeleton skeleton_ = Skeleton::from_ptx(module_.ptx().value()).value();
    const Site& site_ = *skeleton_.site("epilogue");

    static std::vector<float> inputs(float from) {
        std::vector<float> all(threads);
        for (unsigned i = 0; i < threads; ++i) all[i] = from + 0.37f * static_cast<float>(i);
        return all;
    }
    std::vector<float> run(const std::vector<Graft>& grafts) {
        const auto device = Device::open("emulator:sm_80").value();
        const auto kernel = skeleton_.graft(grafts, device);
        if (!kernel) throw std::runtime_error(describe(kernel.error()));
        const auto data = device.upload(inputs(-40)).value(), biases = device.upload(inputs(3)).value();
        const auto launched = kernel->launch({.grid = {1}, .block = {threads}}, data, biases);
        if (!launched) throw std::runtime_error(describe(launched.error()));
        return data.download<float>().value();
    }
    // Of acc, bias in double precision.
    template <class F> static void expect_near(const std::vector<float>& got, F f) {
        const std::vector<float> x = inputs(-40), bias = inputs(3);
        for (unsigned i = 0; i < threads; ++i) {
            const double want = f(double{x[i]}, double{bias[i]});
            ASSERT_NEAR(got[i], want, 1e-5 * std::max(1.0, std::abs(want))) << i;
        }
    }
};

TEST_F(DslSignature, TheBodyOfASiteTakesItsRegisters) {
    EXPECT_EQ(site_.signature.text(), "mod f32 acc, in f32 bias, in f32 scale[2]");
    EXPECT_THAT(module_.text(), HasSubstr("// PTXGRAFT_STUB\n\tadd.f32 _acc, _acc, _bias;\n"));
    expect_near(run({}), [](double acc, double bias) { return acc + bias; });
}

// max(acc * scale[0] + bias, 0) * scale[1], in the way of each language: the same bits.
TEST_F(DslSignature, AStubIsTheSameInEveryLanguage) {
    const auto typed = stub(site_, [](StubBuilder<>& b, Mod<"acc", f32> acc, In<"bias", f32> bias,
                                      const In<"scale", f32, 2>& scale) {
        b.emit<"fma.rn.f32">(acc, acc, scale[0], bias);
        b.emit<"max.f32">(acc, acc, 0.0f);
        b.emit<"mul.rn.f32">(acc, acc, scale[1]);
    });
    ASSERT_TRUE(typed) << describe(typed.error());
    const auto of_the_site = stub(site_, epilogue_, [](auto& b, auto acc, auto bias, auto scale) {
        emit<"fma.rn.f32">(b, acc, acc, scale[0], bias);
        emit<"max.f32">(b, acc, acc, 0.0f);
        emit<"mul.rn.f32">(b, acc, acc, scale[1]);
    });
    ASSERT_TRUE(of_the_site) << describe(of_the_site.error());
    const auto untyped = stub(site_, [](StubBuilder<>& b) {
        const auto acc = b.operand<f32>("acc");
        const auto scale = b.fragment<f32, 2>("scale");
        b.emit<"fma.rn.f32">(acc, acc, scale[0], b["bias"]);
        b.emit<"max.f32">(acc, acc, 0.0f);
        b.emit<"mul.rn.f32">(acc, acc, scale[1]);
    });
    ASSERT_TRUE(untyped) << describe(untyped.error());
    EXPECT_EQ(typed->ptx(), of_the_site->ptx());
    EXPECT_EQ(typed->ptx(), untyped->ptx());
    const auto program =
        stack::compile("acc scale[0] bias fma.rn.f32 0f00000000 max.f32 scale[1] mul.rn.f32 -> acc", site_);
    ASSERT_TRUE(program) << describe(program.error());
    const auto expression = compile_expression("acc = max(fma(acc, scale[0], bias), 0) * scale[1]", site_);
    ASSERT_TRUE(expression) << describe(expression.error());

    const std::vector<float> want = run({{"epilogue", *typed}});
    expect_near(want, [](double acc, double bias) {
        return std::max(acc * 1.5 + bias, 0.0) * static_cast<double>(-0.1f);
    });
    for (const auto& other : {untyped, program, expression}) EXPECT_EQ(run({{"epilogue", *other}}), want);
}

using Epilogue = SignatureOf<Mod<"acc", f32>, In<"bias", f32>>;

TEST_F(DslSignature, OneSignatureServesManyBodies) {
    const auto sum = stub<Epilogue>(
        site_, [](auto& b, auto acc, auto bias) { emit<"add.f32">(b, acc, value(b, acc), bias); });
    const auto product = stub<Epilogue, dsl::sm_80>(
        site_, [](auto& b, auto acc, auto bias) { emit<"mov.f32">(b, acc, value(b, bias) * acc); });
    ASSERT_TRUE(sum) << describe(sum.error());
    ASSERT_TRUE(product) << describe(product.error());
    expect_near(run({{"epilogue", *sum}}), [](double acc, double bias) { return acc + bias; });
    expect_near(run({{"epilogue", *product}}), [](double acc, double bias) { return acc * bias; });
}

// What only the site can say: names, types, directions and counts.
void add_bias(StubBuilder<>& b, Mod<"acc", f32> acc, In<"bias", f32> bias, const In<"scale", f32, 2>&) {
    b.emit<"add.f32">(acc, acc, bias);
}
TEST_F(DslSignature, ABodyMayBeAFunctionOrPromiseNotToThrow) {
    const auto by_function = stub(site_, add_bias), by_pointer = stub(site_, &add_bias);
    const auto by_lambda =
        stub(site_, [](StubBuilder<>& b, Mod<"acc", f32> acc, In<"bias", f32> bias,
                       const In<"scale", f32, 2>&) noexcept { b.emit<"add.f32">(acc, acc, bias); });
    for (const auto* made : {&by_function, &by_pointer, &by_lambda}) {
        ASSERT_TRUE(*made) << describe(made->error());
        EXPECT_EQ((*made)->ptx(), by_function->ptx());
    }
}

TEST_F(DslSignature, TheSiteIsHeldAgainstTheTypes) {
    const auto error_of = [&](auto body) {
        const auto made = stub(site_, body);
        return made ? std::string("none") : message(made.error());
    };
    EXPECT_THAT(error_of([](StubBuilder<>&, Mod<"acc", f64>) {}),
                HasSubstr("acc is of mod f32 at the site, not mod f64"));
    EXPECT_THAT(error_of([](StubBuilder<>&, Mod<"bias", f32>) {}),
                HasSubstr("bias is of in f32 at the site, not mod f32"));
    EXPECT_THAT(error_of([](StubBuilder<>&, In<"scale", f32>) {}),
                HasSubstr("scale is of in f32[2] at the site, not in f32"));
    EXPECT_THAT(error_of([](StubBuilder<>&, const In<"scale", f32, 4>&) {}),
                HasSubstr("scale is of in f32[2] at the site, not in f32[4]"));
    EXPECT_THAT(error_of([](StubBuilder<>&, Mod<"sum", f32>) {}),
                HasSubstr("sum; the site has: mod f32 acc, in f32 bias, in f32 scale[2]"));
    EXPECT_EQ(error_of([](StubBuilder<>& b, In<"bias", f32> bias, Mod<"acc", f32> acc) {  // in any order
                  b.emit<"mov.f32">(acc, bias);
              }),
              "none");
}

// What the types do not see is found when the stub is made.
TEST_F(DslSignature, AnInputThatIsWrittenByItsNameIsRefused) {
    const auto by_name = stub(site_, [](StubBuilder<>& b) {
        const auto bias = b.operand<f32>("bias");
        b.emit<"neg.f32">(bias, bias);
    });
    ASSERT_FALSE(by_name);
    EXPECT_EQ(by_name.error().code, Errc::stub_input_written);
    const auto signature = Signature::parse("out f32 y, in f32 x, in pred odd");
    const auto on_one_path = stub(*signature, [](StubBuilder<>& b, Out<"y", f32> y, In<"x", f32> x,
                                                 In<"odd", pred> odd) { b.if_(odd).emit<"mov.f32">(y, x); });
    ASSERT_FALSE(on_one_path);
    EXPECT_EQ(on_one_path.error().code, Errc::stub_output_not_written);
}

// So it is of what branches, and of what C++ writes after it is read.
TEST_F(DslSignature, AnOutputIsWrittenOnEachPathBeforeItIsRead) {
    const auto signature = Signature::parse("out f32 y, in f32 x, in pred odd");
    const Policy policy{.allowed = Effect::branch};
    using Operands = SignatureOf<Out<"y", f32>, In<"x", f32>, In<"odd", pred>>;
    const auto in_a_branch = stub<Operands>(
        *signature, [](auto& b, auto y, auto x, auto odd) { b.if_(odd, [&] { emit<"neg.f32">(b, y, x); }); },
        policy);
    ASSERT_FALSE(in_a_branch);
    EXPECT_EQ(in_a_branch.error().code, Errc::stub_output_not_written);
    EXPECT_THAT(message(in_a_branch.error()), HasSubstr("_y is not written on every path"));
    const auto read_first = stub<Operands>(
        *signature, [](auto& b, auto y, auto x, auto) { emit<"add.f32">(b, y, x, y); }, policy);
    ASSERT_FALSE(read_first);
    EXPECT_EQ(read_first.error().code, Errc::stub_output_read);
    EXPECT_THAT(describe(read_first.error()), HasSubstr("add.f32 _y, _x, _y;\n\t                ^~"));
    const auto on_both = stub<Operands>(
        *signature,
        [](auto& b, auto y, auto x, auto odd) {
            b.if_(
                odd, [&] { emit<"neg.f32">(b, y, x); }, [&] { emit<"abs.f32">(b, y, x); });
            emit<"add.f32">(b, y, x, y);
        },
        policy);
    EXPECT_TRUE(on_both) << describe(on_both.error());
}

}  // namespace
}  // namespace ptxgraft::dsl
