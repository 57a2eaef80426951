#include "ptxgraft/syntax.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace ptxgraft::syntax {
namespace {

using ::testing::ElementsAre;

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

TEST(Syntax, EveryFileOfTheCorpusPrintsBackByteForByte) {
    const std::filesystem::path corpus(PTXGRAFT_CORPUS_DIR);
    if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "no corpus in " << corpus;
    std::size_t files = 0, instructions = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
        if (entry.path().extension() != ".ptx") continue;
        const std::string text = read(entry.path());
        const auto module = parse(text);
        ASSERT_TRUE(module) << describe(module.error(), text, entry.path().string());
        EXPECT_TRUE(print(*module) == text) << entry.path();
        for (const Statement& function : module->functions())
            for (const Statement& s : function.body_recursive()) {
                const auto i = s.instruction();
                instructions += i.has_value();
                EXPECT_EQ(i.has_value(), s.kind() == StatementKind::instruction);
                EXPECT_TRUE(s.kind() != StatementKind::variable || !s.variable()->type.empty()) << s.text();
            }
        ++files;
    }
    EXPECT_GE(files, 1u);
    EXPECT_GE(instructions, files);
}

}  // namespace
}  // namespace ptxgraft::syntax
