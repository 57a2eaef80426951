// The messages between a pool and its workers: what goes in comes out, and damaged ones are errors.

#include "link/worker/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "support/link_examples.hpp"

namespace ptxgraft::link::worker {
namespace {

using test::detail;

Header header_of(const std::string& message) {
    Header header;
    std::memcpy(&header, message.data(), sizeof header);
    return header;
}
std::string payload_of(const std::string& message) {
    EXPECT_EQ(header_of(message).size, message.size() - sizeof(Header));
    return message.substr(sizeof(Header));
}

AssembleOptions options() {
    return {.target = "sm_90a",
            .optimisation = -2,
            .max_registers = 40,
            .relocatable = true,
            .line_info = false,
            .allow_performance_loss = true,
            .options = {"--one", "", "three"},
            .limits = {.registers = 1, .spill_bytes = {}, .stack_bytes = 0, .code_bytes = 4'000'000'000}};
}

Cubin cubin() {
    Cubin made;
    made.image = {std::byte{0}, std::byte{255}, std::byte{7}};
    made.assembler = "nvptxcompiler 13.5.37";
    made.functions = {{.name = "k",
                       .is_entry = true,
                       .registers = 1,
                       .spill_store_bytes = 2,
                       .spill_load_bytes = 3,
                       .stack_bytes = 4,
                       .shared_bytes = 5,
                       .barriers = 6,
                       .code_bytes = 7,
                       .constant_bytes = 8,
                       .parameter_bytes = 9},
                      {.name = std::string("\0x", 2)}};
    made.losses = {{7510, "serialised"}};
    made.log = "a log";
    made.constant_bytes = 1ull << 40;
    made.assemble_ms = 0.125;
    return made;
}

TEST(WorkerProtocol, RequestsComeOutAsTheyWentIn) {
    const std::string text = std::string("text\0more", 9), message = encode(text, options());
    EXPECT_TRUE(is_header_of(header_of(message), Kind::request));
    EXPECT_FALSE(is_header_of(header_of(message), Kind::result));
    const auto got = decode_request(payload_of(message));
    ASSERT_TRUE(got);
    const AssembleOptions want = options();
    EXPECT_EQ(got->ptx, text);
    EXPECT_EQ(got->options.target, want.target);
    EXPECT_EQ(got->options.optimisation, want.optimisation);
    EXPECT_EQ(got->options.max_registers, want.max_registers);
    EXPECT_EQ(got->options.relocatable, want.relocatable);
    EXPECT_EQ(got->options.line_info, want.line_info);
    EXPECT_EQ(got->options.allow_performance_loss, want.allow_performance_loss);
    EXPECT_EQ(got->options.options, want.options);
    EXPECT_EQ(got->options.limits.registers, want.limits.registers);
    EXPECT_EQ(got->options.limits.spill_bytes, want.limits.spill_bytes);
    EXPECT_EQ(got->options.limits.stack_bytes, want.limits.stack_bytes);
    EXPECT_EQ(got->options.limits.code_bytes, want.limits.code_bytes);
}

TEST(WorkerProtocol, ResultsComeOutAsTheyWentIn) {
    const Cubin want = cubin();
    const auto got = decode_result(payload_of(encode(Expected<Cubin>(want))));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->image, want.image);
    EXPECT_EQ(got->assembler, want.assembler);
    EXPECT_EQ(got->log, want.log);
    EXPECT_EQ(got->constant_bytes, want.constant_bytes);
    EXPECT_EQ(got->assemble_ms, want.assemble_ms);
    ASSERT_EQ(got->losses.size(), 1u);
    EXPECT_EQ(got->losses[0].code, 7510u);
    EXPECT_EQ(got->losses[0].message, "serialised");
    ASSERT_EQ(got->functions.size(), 2u);
    const FunctionUsage& f = got->functions[0];
    EXPECT_TRUE(f.name == "k" && f.is_entry);
    const std::vector<std::uint32_t> figures = {f.registers,   f.spill_store_bytes, f.spill_load_bytes,
                                                f.stack_bytes, f.shared_bytes,      f.barriers,
                                                f.code_bytes,  f.constant_bytes,    f.parameter_bytes};
    EXPECT_EQ(figures, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(got->functions[1].name, want.functions[1].name);
}

TEST(WorkerProtocol, ErrorsComeOutAsTheyWentIn) {
    Expected<Cubin> want = fail(Errc::assemble_failed, {3, 9}, "why\nand where");
    want.error().index = 5;
    const auto got = decode_result(payload_of(encode(want)));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::assemble_failed);
    EXPECT_EQ(got.error().span, want.error().span);
    EXPECT_EQ(got.error().index, 5u);
    EXPECT_EQ(detail(got.error()), "why\nand where");
    const auto bare = decode_result(payload_of(encode(Expected<Cubin>(fail(Errc::target_unknown)))));
    ASSERT_FALSE(bare);
    EXPECT_EQ(bare.error().detail, nullptr);
    EXPECT_FALSE(bare.error().span.known());
    const Hello hello{"0.1.0", "nvjitlink", "13.5.37"};
    EXPECT_EQ(decode_hello(payload_of(encode(Expected<Hello>(hello)))), hello);
}

TEST(WorkerProtocol, CutOnesAndLongOnesAreErrors) {
    const std::string request = payload_of(encode("text", options())),
                      result = payload_of(encode(Expected<Cubin>(cubin()))),
                      error = payload_of(encode(Expected<Cubin>(fail(Errc::assemble_failed, {1, 2}, "a"))));
    const auto is_malformed = [](const auto& decoded) {
        return !decoded && decoded.error().code == Errc::internal_error;
    };
    for (std::size_t size = 0; size < request.size(); ++size)
        EXPECT_TRUE(is_malformed(decode_request(request.substr(0, size)))) << size;
    for (const std::string& whole : {result, error})
        for (std::size_t size = 0; size < whole.size(); ++size)
            EXPECT_TRUE(is_malformed(decode_result(whole.substr(0, size)))) << size;
    EXPECT_TRUE(is_malformed(decode_request(request + '\0')));
    EXPECT_TRUE(is_malformed(decode_result(result + '\0')));
    EXPECT_TRUE(is_malformed(decode_result(error + '\0')));
    EXPECT_TRUE(is_malformed(decode_hello("\1nonsense")));
    EXPECT_TRUE(is_malformed(decode_result("\2" + result.substr(1))));
}

TEST(WorkerProtocol, DamagedOnesAreReadWithoutHarm) {
    const std::string result = payload_of(encode(Expected<Cubin>(cubin())));
    std::mt19937 random(3);
    std::size_t read = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string copy = result;
        for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
            copy[random() % copy.size()] = static_cast<char>("\0\1\x7f\x80\xff"[random() % 5]);
        read += decode_result(copy).has_value();
    }
    EXPECT_GT(read, 0u);  // names and figures may be anything
    EXPECT_LT(read, 20'000u);
}

}  // namespace
}  // namespace ptxgraft::link::worker
