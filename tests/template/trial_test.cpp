// Trials: what is right, what was compared, and what each timed launch begins with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/fake_gpu.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/template.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;

// y = 2 x, by a kernel that takes a ticket; z is a second output, w one that neither kernel writes.
constexpr const char* manifest = R"json({"family": "rows", "skeletons": [{
  "name": "rows/twice", "source": "twice.cu", "entry": "twice", "meaning": "y = 2 x",
  "dimensions": {"n": {"meaning": "elements"}},
  "arguments": [
    {"name": "x", "type": "f32", "shape": ["n"], "access": "in"},
    {"name": "y", "type": "f32", "shape": ["n"], "access": "out"},
    {"name": "z", "type": "f32", "shape": [2], "access": "out"},
    {"name": "w", "type": "f32", "shape": [1], "access": "out"},
    {"name": "ticket", "type": "u32", "shape": [1], "access": "scratch", "fill": 0},
    {"name": "n", "type": "u32"}],
  "sites": {"map": {"signature": "mod f32 y", "default": "y", "meaning": "each"}},
  "launch": {"grid": ["(n + 31) / 32"], "block": [32]},
  "reference": {"source": "reference.cu", "entry": "reference", "grid": ["(n + 31) / 32"], "block": [32]},
  "output": ["y", "z", "w"], "tolerance": {"relative": 1e-6, "absolute": 1e-6}}]})json";

std::string source(const char* name, const char* type, const char* ticket) {
    return std::string("#include <ptxgraft/site.cuh>\n") + "extern \"C\" __global__ void " + name +
           "(const float* x, " + type + "* y, " + type + "* z, " + type + "* w" + ticket +
           ", unsigned n) {\n" +
           "    const unsigned i = blockIdx.x * 32 + threadIdx.x;\n    if (i >= n) return;\n" +
           "    float value = 2 * x[i];\n    PTXGRAFT_SITE(\"map\", \"\", mod(f32, y, value));\n" +
           "    y[i] = value;\n    if (i < 2) z[i] = 1;\n}\n";
}

class Twice {
  public:
    Twice() {
        write("manifest.json", manifest);
        write("twice.cu", source("twice", "float", ", unsigned* ticket"));
        write("reference.cu", source("reference", "double", ""));
    }
    [[nodiscard]] Template found() const { return Template::find("rows/twice", folder_.str()).value(); }
    // A trial of 40 elements on the emulator with that expression for `map`.
    [[nodiscard]] Expected<Trial> try_on_emulator(const char* map, TrialOptions options = {}) const {
        const Template from = found();
        const Skeleton skeleton = from.skeleton().value();
        options.dimensions = {{"n", 40}};
        options.assemble = false;
        options.grafts.emplace_back("map", compile_expression(map, *skeleton.site("map")).value());
        return try_template(from, Device::open("emulator").value(), options);
    }

  private:
    void write(const std::string& name, const std::string& text) const {
        test::write_file(folder_.path / "rows" / name, text);
    }
    test::TemporaryFolder folder_;
};

class TrialOnAGpu : public FakeGpu {
  protected:
    void TearDown() override {
        fake().on_launch = nullptr;
        FakeGpu::TearDown();
    }
};

template <class T> T* pointer_of(const FakeLaunch& launch, std::size_t i) {
    std::uint64_t address = 0;
    std::memcpy(&address, launch.arguments[i].data(), sizeof address);
    return reinterpret_cast<T*>(address);
}

TEST_F(TrialOnAGpu, EachTimedLaunchBeginsWithZeroedScratch) {
    fake().argument_sizes_of = {{"twice", {8, 8, 8, 8, 8, 4}}, {"reference", {8, 8, 8, 8, 4}}};
    std::vector<unsigned> tickets;
    fake().on_launch = [&](const FakeLaunch& launch) {
        if (launch.function == "twice") tickets.push_back((*pointer_of<unsigned>(launch, 4))++);
    };
    const Twice twice;
    const auto trial = try_template(twice.found(), device(), {.dimensions = {{"n", 40}}, .repeats = 3});
    ASSERT_OK(trial);
    ASSERT_TRUE(trial->milliseconds);
    EXPECT_EQ(*trial->milliseconds, 1.5);              // filling is not in it
    EXPECT_THAT(tickets, ElementsAre(0, 0, 0, 0, 0));  // one that is compared, one that is not timed, three
}

// NaN beside NaN is right, but nothing is right where there is nothing else.
TEST(Trial, SaysWhereNothingWasCompared) {
    const Twice twice;
    const auto some = twice.try_on_emulator("y = sqrt(y)");
    ASSERT_OK(some);
    EXPECT_TRUE(some->is_right);
    EXPECT_GT(some->not_numbers, 0u);
    EXPECT_LT(some->not_numbers, 40u);
    EXPECT_THAT(some->not_compared, ElementsAre());

    const auto all = twice.try_on_emulator("y = sqrt(0 - 1 - y * y)");
    ASSERT_OK(all);
    EXPECT_FALSE(all->is_right);
    EXPECT_THAT(all->not_compared, ElementsAre("y"));  // z has numbers
    EXPECT_EQ(all->not_numbers, 41u);
    EXPECT_EQ(all->wrong, 40u);
    EXPECT_EQ(all->elements, 43u);
    EXPECT_EQ(all->worst_tensor, "y");
}

TEST(Trial, TakesAnotherTolerance) {
    const Twice twice;
    const auto usual = twice.try_on_emulator("y = y");
    ASSERT_OK(usual);
    EXPECT_EQ(usual->tolerance.relative, 1e-6);
    EXPECT_EQ(usual->tolerance.absolute, 1e-6);
    const auto given = twice.try_on_emulator("y = y", {.absolute = 0.5});
    ASSERT_OK(given);
    EXPECT_EQ(given->tolerance.relative, 1e-6);
    EXPECT_EQ(given->tolerance.absolute, 0.5);
}

}  // namespace
}  // namespace ptxgraft
