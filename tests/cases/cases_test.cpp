// Each .ptx file below this folder is a test; with --rebase, they are rewritten as the product is now.

#include <gtest/gtest.h>

#include <iostream>
#include <string_view>

#include "run_case.hpp"

namespace ptxgraft::cases {
namespace {

class WrittenCase : public testing::Test {
  public:
    explicit WrittenCase(std::filesystem::path relative) : relative_(std::move(relative)) {}
    void TestBody() override { expect_as_written(folder, relative_); }

  private:
    std::filesystem::path relative_;
};

void register_files() {
    for (const std::filesystem::path& relative : files_below(folder)) {
        const std::string suite = "Cases/" + relative.parent_path().string(), test = relative.stem().string();
        testing::RegisterTest(suite.c_str(), test.c_str(), nullptr, nullptr, (folder / relative).c_str(), 1,
                              [relative] { return new WrittenCase(relative); });
    }
}

}  // namespace
}  // namespace ptxgraft::cases

int main(int count, char** arguments) {
    testing::InitGoogleTest(&count, arguments);
    if (count == 2 && arguments[1] == std::string_view("--rebase")) {
        const auto changed = ptxgraft::cases::rebase(ptxgraft::cases::folder);
        for (const auto& relative : changed) std::cout << "tests/cases/" << relative.string() << '\n';
        std::cout << changed.size() << " cases rewritten\n";
        return 0;
    }
    ptxgraft::cases::register_files();
    return RUN_ALL_TESTS();
}
