// Graphs through the C interface, added up or captured, on the emulator, and constants that are data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handles.hpp"

namespace ptxgraft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using CStream = Handle<ptxgraft_stream, ptxgraft_stream_destroy>;
using CEvent = Handle<ptxgraft_event, ptxgraft_event_destroy>;
using CGraph = Handle<ptxgraft_graph, ptxgraft_graph_destroy>;

// value = value op number, by one thread.
const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<2>; .reg .f32 %f<2>;
	ld.param.u64 %rd1, [p];
	ld.global.f32 %f1, [%rd1];
	{ // PTXGRAFT_SITE s
	.reg .f32 _acc; // mod f32 acc
	mov.b32 _acc, %f1;
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	st.global.f32 [%rd1], %f1;
	ret;
}
)";

struct CApiGraph : testing::Test {
    void SetUp() override {
        EXPECT_OK(ptxgraft_device_open(&device, "emulator"));
        skeleton = c_skeleton(text);
        EXPECT_OK(ptxgraft_stream_create(&stream, device));
        EXPECT_OK(ptxgraft_buffer_create(&buffer, device, 4));
        write(1);
        argument = PTXGRAFT_BUFFER(buffer);
    }
    void write(float value) const { EXPECT_OK(ptxgraft_buffer_write(buffer, 0, &value, sizeof value)); }
    [[nodiscard]] float read() const {
        float value = 0;
        EXPECT_OK(ptxgraft_buffer_read(&value, buffer, 0, sizeof value));
        return value;
    }
    static ptxgraft_stub_options stub_options(std::string_view text) {  // which lasts as long
        ptxgraft_stub_options options = PTXGRAFT_STUB_OPTIONS_INIT;
        options.text = text.data();
        options.text_size = text.size();
        options.language = PTXGRAFT_LANGUAGE_expression;
        return options;
    }
    [[nodiscard]] CStub stub(const std::string& text, ptxgraft_constants constants) const {
        auto options = stub_options(text);
        options.constants = constants;
        CStub made;
        EXPECT_OK(ptxgraft_stub_create(&made, skeleton, "s", &options));
        return made;
    }
    [[nodiscard]] CKernel kernel(const ptxgraft_stub* stub) const {
        const ptxgraft_graft graft = {"s", stub};
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.grafts = &graft;
        options.graft_count = 1;
        CKernel made;
        EXPECT_OK(ptxgraft_kernel_create(&made, skeleton, device, &options));
        return made;
    }
    [[nodiscard]] CKernel kernel_of(const std::string& expression) const {
        return kernel(stub(expression, PTXGRAFT_CONSTANTS_literals));
    }
    ptxgraft_status launch(const ptxgraft_kernel* kernel, const ptxgraft_stream* on) const {
        ptxgraft_launch_options options = PTXGRAFT_LAUNCH_OPTIONS_INIT;
        options.stream = on;
        return ptxgraft_kernel_launch(kernel, &options, &argument, 1);
    }
    [[nodiscard]] ptxgraft_planned_launch planned(const ptxgraft_kernel* kernel) const {
        return {kernel, nullptr, &argument, 1};
    }

    CDevice device;
    CSkeleton skeleton;
    CStream stream;
    CBuffer buffer;
    ptxgraft_argument argument{};
};

TEST_F(CApiGraph, LaunchesAreAddedSwappedAndReplayed) {
    const CKernel plus = kernel_of("acc = acc + 10"), times = kernel_of("acc = acc * 2");
    CGraph graph;
    EXPECT_OK(ptxgraft_graph_create(&graph, device));
    std::size_t number = 7;
    auto launch = planned(plus);
    EXPECT_OK(ptxgraft_graph_add(&number, graph, &launch));
    EXPECT_EQ(number, 0u);
    launch = planned(times);
    EXPECT_OK(ptxgraft_graph_add(nullptr, graph, &launch));
    EXPECT_EQ(ptxgraft_graph_get_size(graph), 2u);
    EXPECT_EQ(read(), 1);
    EXPECT_OK(ptxgraft_graph_launch(graph, nullptr));
    EXPECT_EQ(read(), 22);
    EXPECT_OK(ptxgraft_graph_change(graph, 0, &launch));
    EXPECT_OK(ptxgraft_graph_launch(graph, stream));
    EXPECT_EQ(read(), 88);
    EXPECT_OK(ptxgraft_graph_instantiate(graph));
    EXPECT_EQ(ptxgraft_graph_add(nullptr, graph, &launch), PTXGRAFT_STATUS_graph_change_not_possible);
    EXPECT_EQ(ptxgraft_graph_change(graph, 2, &launch), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("launch 2 of a graph of 2"));
}

TEST_F(CApiGraph, AStreamIsCaptured) {
    const CKernel plus = kernel_of("acc = acc + 10"), times = kernel_of("acc = acc * 2");
    CGraph graph;
    EXPECT_EQ(ptxgraft_graph_create_from_capture(&graph, stream), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(graph, nullptr);
    EXPECT_OK(ptxgraft_stream_begin_capture(stream));
    EXPECT_EQ(ptxgraft_stream_begin_capture(stream), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("the stream is captured"));
    EXPECT_OK(launch(plus, stream));
    EXPECT_OK(launch(times, stream));
    EXPECT_EQ(ptxgraft_stream_synchronize(stream), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(read(), 1);
    EXPECT_OK(ptxgraft_graph_create_from_capture(&graph, stream));
    EXPECT_EQ(ptxgraft_graph_get_size(graph), 2u);
    EXPECT_OK(ptxgraft_graph_launch(graph, stream));
    EXPECT_EQ(read(), 22);
    const auto launch = planned(plus);
    EXPECT_OK(ptxgraft_graph_change(graph, 1, &launch));
    EXPECT_OK(ptxgraft_graph_launch(graph, stream));
    EXPECT_EQ(read(), 42);
}

TEST_F(CApiGraph, WrongArguments) {
    const CKernel plus = kernel_of("acc = acc + 10");
    CGraph graph;
    EXPECT_OK(ptxgraft_graph_create(&graph, device));
    const auto refused = [&](ptxgraft_planned_launch launch, const char* why) {
        EXPECT_EQ(ptxgraft_graph_add(nullptr, graph, &launch), PTXGRAFT_STATUS_argument_invalid) << why;
        EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr(why));
        EXPECT_EQ(ptxgraft_graph_get_size(graph), 0u);
    };
    refused({nullptr, nullptr, &argument, 1}, "launch.kernel is null");
    refused({plus, nullptr, nullptr, 1}, "arguments is null, but argument_count is 1");
    ptxgraft_launch_options options = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    options.stream = stream;
    refused({plus, &options, &argument, 1}, "options.stream is not null");
    EXPECT_EQ(ptxgraft_graph_add(nullptr, graph, nullptr), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_graph_change(graph, 0, nullptr), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_graph_create(nullptr, device), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_graph_launch(nullptr, nullptr), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_stream_begin_capture(nullptr), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_graph_get_size(nullptr), 0u);
    ptxgraft_graph_destroy(nullptr);
}

// ---------------------------------------------------------------------------------------------------------
// stubs, and constants

TEST_F(CApiGraph, StubsAreMadeOfEachLanguage) {
    for (const auto& [language, text] : {std::pair{PTXGRAFT_LANGUAGE_program, "acc 2.0 mul.f32 -> acc"},
                                         {PTXGRAFT_LANGUAGE_expression, "acc = acc * 2"},
                                         {PTXGRAFT_LANGUAGE_ptx, "mul.rn.f32 acc, acc, 0f40000000;"}}) {
        auto options = stub_options(text);
        options.language = language;
        CStub made;
        EXPECT_OK(ptxgraft_stub_create(&made, skeleton, "s", &options));
        write(3);
        EXPECT_OK(launch(kernel(made), nullptr));
        EXPECT_EQ(read(), 6) << text;
    }
    auto options = stub_options("acc = nothing");
    CStub made;
    EXPECT_NE(ptxgraft_stub_create(&made, skeleton, "s", &options), PTXGRAFT_STATUS_ok);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("expression:1:7"));
    options = stub_options("acc 1.0 -> acc");
    options.language = PTXGRAFT_LANGUAGE_program;
    EXPECT_OK(ptxgraft_stub_create(&made, skeleton, "s", &options));
    made.reset();
    options.leftovers_are_errors = 1;
    EXPECT_EQ(ptxgraft_stub_create(&made, skeleton, "s", &options), PTXGRAFT_STATUS_stack_leftover);
    options.language = static_cast<ptxgraft_language>(3);
    EXPECT_EQ(ptxgraft_stub_create(&made, skeleton, "s", &options), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_stub_create(&made, skeleton, "s", nullptr), PTXGRAFT_STATUS_argument_invalid);
    const ptxgraft_stub_options empty = PTXGRAFT_STUB_OPTIONS_INIT;
    EXPECT_EQ(ptxgraft_stub_create(&made, skeleton, "s", &empty), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(made, nullptr);
}

std::vector<std::uint64_t> constants_of(const ptxgraft_stub* stub) {
    std::size_t count = 0;
    EXPECT_OK(ptxgraft_stub_get_constants(nullptr, &count, stub));
    std::vector<std::uint64_t> constants(count);
    EXPECT_OK(ptxgraft_stub_get_constants(constants.data(), &count, stub));
    EXPECT_EQ(count, constants.size());
    return constants;
}

TEST_F(CApiGraph, ConstantsAreData) {
    const CStub first = stub("acc = acc * 2 + 0.5", PTXGRAFT_CONSTANTS_data);
    EXPECT_THAT(constants_of(first), ElementsAre(0x40000000u, 0x3F000000u));
    EXPECT_TRUE(constants_of(stub("acc = acc * 2", PTXGRAFT_CONSTANTS_literals)).empty());
    std::uint64_t one[1];
    std::size_t count = 1;
    EXPECT_EQ(ptxgraft_stub_get_constants(one, &count, first), PTXGRAFT_STATUS_buffer_too_small);
    EXPECT_EQ(count, 2u);
    const CKernel made = kernel(first);
    EXPECT_OK(launch(made, nullptr));
    EXPECT_EQ(read(), 2.5f);
    const std::uint64_t other[] = {std::bit_cast<std::uint32_t>(10.0f), std::bit_cast<std::uint32_t>(1.0f)};
    EXPECT_OK(ptxgraft_kernel_set_constants(made, "s", other, 2, nullptr));
    EXPECT_OK(launch(made, nullptr));
    EXPECT_EQ(read(), 26);
    EXPECT_EQ(ptxgraft_kernel_set_constants(made, "s", other, 1, nullptr), PTXGRAFT_STATUS_constants_differ);
    EXPECT_EQ(ptxgraft_kernel_set_constants(made, "t", other, 2, nullptr), PTXGRAFT_STATUS_constants_differ);
    EXPECT_EQ(ptxgraft_kernel_set_constants(made, "s", nullptr, 2, nullptr),
              PTXGRAFT_STATUS_argument_invalid);
    CStub second;
    EXPECT_OK(ptxgraft_stub_create_with_constants(&second, first, other, 2));
    EXPECT_THAT(constants_of(second), ElementsAre(other[0], other[1]));
    write(1);
    EXPECT_OK(launch(kernel(second), nullptr));
    EXPECT_EQ(read(), 11);
    CStub third;
    EXPECT_EQ(ptxgraft_stub_create_with_constants(&third, first, other, 1), PTXGRAFT_STATUS_constants_differ);
    // A stream that is captured has no place for them.
    EXPECT_OK(ptxgraft_stream_begin_capture(stream));
    EXPECT_EQ(ptxgraft_kernel_set_constants(made, "s", other, 2, stream), PTXGRAFT_STATUS_argument_invalid);
}

TEST_F(CApiGraph, MachineCodeSaysWhatIsToBeWritten) {
    const CStub first = stub("acc = acc * 2 + 0.5", PTXGRAFT_CONSTANTS_data),
                second = stub("acc = acc * 3 + 0.25", PTXGRAFT_CONSTANTS_data);
    std::vector<std::vector<std::byte>> images;
    for (const ptxgraft_stub* one :
         {static_cast<const ptxgraft_stub*>(first), static_cast<const ptxgraft_stub*>(second)}) {
        const ptxgraft_graft graft = {"s", one};
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.grafts = &graft;
        options.graft_count = 1;
        CCode code;
        EXPECT_OK(ptxgraft_machine_code_create(&code, skeleton, &options));
        ASSERT_EQ(ptxgraft_machine_code_get_bank_count(code), 1u);
        ptxgraft_bank_info bank = PTXGRAFT_BANK_INFO_INIT;
        EXPECT_OK(ptxgraft_machine_code_get_bank(&bank, code, 0));
        EXPECT_STREQ(bank.site, "s");
        EXPECT_STREQ(bank.variable, "ptxgraft_constants_0_s");
        EXPECT_EQ(std::vector(bank.constants, bank.constants + bank.constant_count), constants_of(one));
        EXPECT_EQ(ptxgraft_machine_code_get_bank(&bank, code, 1), PTXGRAFT_STATUS_argument_invalid);
        images.push_back(image_of(code));
    }
    EXPECT_EQ(images[0], images[1]);
}

}  // namespace
}  // namespace ptxgraft::test
