// Two assemblers and one variant. Without a GPU nothing is run, and that is said.
#include "ptxgraft/measure/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "measure/support.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::shared_ptr<const Assembler> other_assembler() {
    const std::string path = test::program_path("ptxas");
    if (!std::filesystem::exists(path)) return nullptr;
    auto assembler = ptxas(path);
    EXPECT_TRUE(assembler) << describe(assembler.error());
    return assembler ? *assembler : nullptr;
}

TEST(Agreement, BothTakeARightVariantAndNeitherRanIt) {
    const auto other = other_assembler();
    if (!other) GTEST_SKIP() << "there is no ptxas";
    Checker checker = checker_of(square);
    const Assembler* const both[] = {&default_assembler(), other.get()};
    const auto agreement = compare_assemblers(checker, cheat("honest"), both);
    ASSERT_TRUE(agreement) << describe(agreement.error());
    ASSERT_THAT(agreement->assembled, SizeIs(2));
    EXPECT_TRUE(agreement->agrees);
    EXPECT_FALSE(agreement->was_run) << "the emulator runs PTX";
    for (const Assembled& one : agreement->assembled) {
        ASSERT_TRUE(one.cubin && one.usage) << one.assembler;
        EXPECT_GT(one.usage->registers, 0u);
        EXPECT_EQ(one.usage->spill_store_bytes, 0u);
        EXPECT_FALSE(one.check);
    }
    EXPECT_NE(agreement->assembled[0].assembler, agreement->assembled[1].assembler);
}

// What one of them does not know is no agreement.
TEST(Agreement, OneThatRefusesIsSaid) {
    const auto other = other_assembler();
    if (!other) GTEST_SKIP() << "there is no ptxas";
    Checker checker = checker_of(square);
    VariantCode variant = cheat("honest");
    variant.ptx.replace(variant.ptx.find(".version 8.0"), 12, ".version 9.9");
    const Assembler* const both[] = {&default_assembler(), other.get()};
    const auto agreement = compare_assemblers(checker, variant, both);
    ASSERT_TRUE(agreement) << describe(agreement.error());
    EXPECT_FALSE(agreement->agrees);
    EXPECT_FALSE(agreement->assembled[1].cubin);
    EXPECT_NE(agreement->assembled[1].error.code, Errc::ok);
}

TEST(Agreement, WantsAnAssembler) {
    Checker checker = checker_of(square);
    EXPECT_EQ(compare_assemblers(checker, cheat("honest"), {}).error().code, Errc::argument_invalid);
}

}  // namespace
}  // namespace ptxgraft::measure
