// The special registers of the emulator are those of ptx.isa.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "emulator/decode/decode.hpp"
#include "isa/special.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::string_view missing[] = {"%perctamemoryoffset", "%perctamemorysize", "%locality_domain_id",
                                        "%locality_domain_supplemental_sm"};

const isa::SpecialRegister* row_of_the_table(std::string_view name) {
    const auto row = std::ranges::find(isa::table_special, name, &isa::SpecialRegister::name);
    return row == isa::table_special.end() ? nullptr : &*row;
}

// The names by which a row is read: `%tid.x` to `%tid.w`, `%pm0` to `%pm7`.
std::vector<std::string> names_of(const isa::SpecialRegister& row) {
    const std::string stem(row.name);
    if (row.is_vector) return {stem + ".x", stem + ".y", stem + ".z", stem + ".w"};
    if (row.count == 0) return {stem};
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < row.count; ++i) names.push_back(stem + std::to_string(i));
    return names;
}

Program decoded(const std::string& body) {
    const auto tree = syntax::parse(test::kernel_text({.version = "9.0", .target = "sm_90a", .body = body}));
    ModuleVariables variables(std::make_shared<Memory>(std::uint64_t{1} << 20, false));
    DecoderMemory kept;
    return ModuleDecoder(tree.value(), variables, kept).decode().value();
}

TEST(Special, EveryRegisterOfTheTableHasARowOrIsKnownAsMissing) {
    for (const isa::SpecialRegister& row : isa::table_special)
        EXPECT_EQ(find_special_register(row.name) == nullptr, std::ranges::count(missing, row.name) != 0)
            << row.name.view();
}

TEST(Special, EveryRowIsOneRegisterOfTheTable) {
    std::set<std::string_view> names;
    for (const SpecialRegister& row : special_registers()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
        EXPECT_NE(row_of_the_table(row.name), nullptr) << row.name;
    }
}

TEST(Special, MovReadsEveryRegisterAtTheWidthOfItsType) {
    for (const SpecialRegister& row : special_registers()) {
        const isa::SpecialRegister& of_table = *row_of_the_table(row.name);
        const auto type = std::string(isa::info(of_table.type).name);
        const std::vector<std::string> names = names_of(of_table);
        std::string body = ".reg ." + type + " r;\n";
        for (const std::string& name : names) body += "mov." + type + " r, " + name + ";\n";
        const Program program = decoded(body);
        EXPECT_TRUE(program.failures.empty()) << body;
        ASSERT_EQ(program.specials.size(), names.size()) << body;
        for (std::size_t i = 0; i < names.size(); ++i) {
            EXPECT_EQ(program.specials[i].special, (Special{&row, static_cast<std::uint8_t>(i)})) << names[i];
            EXPECT_EQ(width(program.specials[i].ref), std::max(isa::info(of_table.type).bits / 8u, 1u))
                << names[i];
        }
    }
}

TEST(Special, WhatReadsAClockComputesItAnew) {
    struct Row {
        std::string instruction;
        std::ptrdiff_t clocks;
    };
    for (const Row& row :
         {Row{"mov.u64 d, %clock64;", 1}, Row{"mov.u64 d, %gridid;", 0},
          Row{"mov.b64 d, {%clock, %clock_hi};", 2}, Row{"mov.b64 d, {%laneid, %globaltimer_lo};", 1}}) {
        const Program program = decoded(".reg .b64 d;\n" + row.instruction + "\n");
        EXPECT_TRUE(program.failures.empty()) << row.instruction;
        EXPECT_EQ(std::ranges::count(program.code, &execute_refresh_clock, &Operation::execute), row.clocks)
            << row.instruction;
    }
}

}  // namespace
}  // namespace ptxgraft::emulator
