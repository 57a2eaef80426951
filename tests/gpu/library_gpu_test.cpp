// Every template of the library on the GPU, beside its reference there: combinations of tunables by pairs,
// with and without stubs, at sizes that fit nothing. Times are printed, and judged by nobody.
#include <cstdio>

#include "gpu/gpu.hpp"
#include "gpu/templates.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using test::mild_stubs;
using test::odd_dimensions;
using test::pairs_of;
using test::text_of;

bool runs_on(const Template& from, const Device& device) {
    const auto launch_target = parse_architecture(from.target()), gpu = parse_architecture(device.target());
    return launch_target->variant == 0 ? gpu->sm >= launch_target->sm : gpu->sm == launch_target->sm;
}

class LibraryGpu : public Gpu {
  protected:
    void try_all(const Template& from) {
        constexpr std::size_t tried = 24;
        const std::vector<std::vector<std::uint64_t>> bases = {
            {257, 129, 264}, {1025, 2047, 520}, {1, 1, 1}, {640, 384, 1000}};
        std::size_t number = 0;
        for (const Choices& choices : pairs_of(from, tried)) {
            const auto skeleton = from.skeleton(choices);
            ASSERT_TRUE(skeleton) << describe(skeleton.error());
            TrialOptions options{.choices = choices, .seed = ++number, .repeats = 10};
            options.dimensions = odd_dimensions(from, choices, bases[number % bases.size()]);
            for (const bool filled : {false, true}) {
                if (filled) options.grafts = mild_stubs(from, *skeleton);
                try_one(from, options, text_of(choices) + (filled ? "with stubs" : ""));
            }
        }
    }

  private:
    void try_one(const Template& from, const TrialOptions& options, const std::string& text) {
        SCOPED_TRACE(text);
        const auto trial = try_template(from, device(), options);
        ASSERT_TRUE(trial) << describe(trial.error());
        EXPECT_TRUE(trial->is_right) << trial->wrong << " of " << trial->elements << " are wrong; "
                                     << trial->worst_tensor << "[" << trial->worst_index << "] is "
                                     << trial->got << ", not " << trial->wanted;
        std::printf("%s %s: %.4f ms\n", from.name().c_str(), text.c_str(), trial->milliseconds.value_or(0));
    }
};

TEST_F(LibraryGpu, ComputesWhatItsReferenceDoes) {
    const auto all = Template::all(templates_folder());
    ASSERT_TRUE(all) << describe(all.error());
    for (const Template& from : *all)
        if (runs_on(from, device())) try_all(from);
}

}  // namespace
}  // namespace ptxgraft
