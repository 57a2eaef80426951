// Branches and calls whose target the kernel computes, and functions that call themselves, on the emulator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One block of as many threads as there are results: out[i] = f(i).
std::vector<std::uint32_t> run(const Module& module, std::uint32_t threads) {
    const auto ptx = module.ptx();
    if (!ptx) return ADD_FAILURE() << describe(ptx.error()), std::vector<std::uint32_t>();
    const auto cubin = default_assembler().assemble(*ptx);
    EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    const Device device = Device::open("emulator").value();
    const auto out = device.upload(std::vector<std::uint32_t>(threads)).value();
    const auto kernel = Skeleton::from_ptx(*ptx).value().graft({}, device).value();
    const auto done = kernel.launch({.block = {threads}}, out);
    EXPECT_TRUE(done) << describe(done.error());
    return out.download<std::uint32_t>().value();
}

// Where out[thread] is.
Reg<u64> place_of(FunctionBuilder<>& k, const Reg<u32>& thread) {
    const auto out = k.argument<u64>("out");
    k.emit<"mad.wide.u32">(out, thread, 4, out);
    return out;
}

TEST(DslCallsByAddress, BranchesByIndex) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto thread = k.reg<u32>(), result = k.reg<u32>();
    k.emit<"mov.u32">(thread, special<"%tid.x">);
    const auto out = place_of(k, thread);
    const Label ten = k.label("ten"), twenty = k.label("twenty"), end = k.label("end");
    const auto index = k.reg<u32>();
    k.emit<"rem.u32">(index, thread, 2);
    k.emit<"brx.idx">(index, k.branch_targets({ten, twenty}));
    k.place(ten);
    k.emit<"mov.u32">(result, 10);
    k.emit<"bra">(end);
    k.place(twenty);
    k.emit<"mov.u32">(result, 20);
    k.place(end);
    k.emit<"st.global.u32">(at(out), result);
    k.emit<"ret">();
    EXPECT_THAT(module.text(), HasSubstr("\tT_4: .branchtargets ten_1, twenty_2;\n\tbrx.idx %u3, T_4;\n"));
    EXPECT_THAT(run(module, 5), ElementsAre(10, 20, 10, 20, 10));
}

// A device function x -> x op 3.
template <Literal Operation> FunctionName add_function(Module& module, std::string_view name) {
    auto& f = module.function(name);
    const auto result = f.result<u32>("result");
    const auto x = f.argument<u32>("x");
    f.emit<Operation>(x, x, 3);
    f.emit<"st.param.u32">(at(result), x);
    f.emit<"ret">();
    return f.name();
}

// Calls one of two functions by an address out of a table.
template <class Callees> std::vector<std::uint32_t> call_by_table(Callees&& callees) {
    Module module({.target = "sm_80"});
    const FunctionName plus = add_function<"add.u32">(module, "plus"),
                       times = add_function<"mul.lo.u32">(module, "times");
    const auto table = module.global("table", {.type = u64, .count = 2, .values = "{plus, times}"});
    auto& k = module.entry("k");
    const auto thread = k.reg<u32>(), result = k.reg<u32>(), index = k.reg<u32>();
    k.emit<"mov.u32">(thread, special<"%tid.x">);
    const auto out = place_of(k, thread);
    const auto entry = k.reg<u64>(), callee = k.reg<u64>();
    k.emit<"mov.u64">(entry, table);
    k.emit<"and.b32">(index, thread, 1);
    k.emit<"mad.wide.u32">(entry, index, 8, entry);
    k.emit<"ld.global.u64">(callee, at(entry));
    k.emit<"call">(list(result), callee, list(thread), callees(k, plus, times));
    k.emit<"st.global.u32">(at(out), result);
    k.emit<"ret">();
    return run(module, 5);
}

TEST(DslCallsByAddress, WithAPrototype) {
    EXPECT_THAT(call_by_table([](FunctionBuilder<>& k, FunctionName, FunctionName) {
                    return k.prototype({{.type = u32}}, {{.type = u32}});
                }),
                ElementsAre(3, 3, 5, 9, 7));
}

TEST(DslCallsByAddress, WithAListOfTargets) {
    EXPECT_THAT(call_by_table([](FunctionBuilder<>& k, FunctionName plus, FunctionName times) {
                    return k.call_targets({plus, times});
                }),
                ElementsAre(3, 3, 5, 9, 7));
}

TEST(DslCallsByAddress, PrototypesOfArraysAndOfNothing) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    (void)k.prototype({}, {{.type = b8, .count = 16, .align = 8}, {.type = u64}});
    EXPECT_THAT(module.text(),
                HasSubstr("P_1: .callprototype _ (.param .align 8 .b8 _[16], .param .u64 _);"));
    k.emit<"ret">();
    EXPECT_TRUE(module.ptx());
}

// fib(n) by recursion: each call has registers of its own.
TEST(DslCallsByAddress, FunctionsCallThemselves) {
    Module module({.target = "sm_80"});
    auto& fib = module.function("fib");
    const auto result = fib.result<u32>("result");
    const auto n = fib.argument<u32>("n");
    const auto one_less = fib.reg<u32>(), two_less = fib.reg<u32>();
    fib.if_(value(fib, n) >= 2u, [&] {
        fib.emit<"sub.u32">(one_less, n, 1);
        fib.emit<"sub.u32">(two_less, n, 2);
        fib.emit<"call">(list(one_less), fib.name(), list(one_less));
        fib.emit<"call">(list(two_less), fib.name(), list(two_less));
        fib.emit<"add.u32">(n, one_less, two_less);
    });
    fib.emit<"st.param.u32">(at(result), n);
    fib.emit<"ret">();
    auto& k = module.entry("k");
    const auto thread = k.reg<u32>(), got = k.reg<u32>();
    k.emit<"mov.u32">(thread, special<"%tid.x">);
    const auto out = place_of(k, thread);
    k.emit<"call">(list(got), fib.name(), list(thread));
    k.emit<"st.global.u32">(at(out), got);
    k.emit<"ret">();
    EXPECT_THAT(run(module, 9), ElementsAre(0, 1, 1, 2, 3, 5, 8, 13, 21));
}

}  // namespace
}  // namespace ptxgraft::dsl
