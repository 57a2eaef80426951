// Machine code as text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ptxgraft/link.hpp"
#include "support/files.hpp"
#include "support/kernel_text.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::TemporaryFolder, test::write_file;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const std::string nvdisasm_path = test::program_path("nvdisasm");

Cubin some_cubin() {
    const std::string ptx = test::kernel_text({.parameters = {"u64 out"},
                                               .registers = {"u64 %d", "f32 %x"},
                                               .body = "ld.param.u64 %d, [out];\nld.global.f32 %x, [%d];\n"
                                                       "sqrt.approx.f32 %x, %x;\nst.global.f32 [%d], %x;"});
    return default_assembler().assemble(ptx).value();
}

// A program in place of nvdisasm.
std::string script(const TemporaryFolder& folder, const std::string& name, std::string_view body) {
    const std::string path = (folder.path / name).string();
    write_file(path, "#!/bin/sh\n" + std::string(body) + "\n");
    ::chmod(path.c_str(), 0700);
    return path;
}

Errc code_of(const DisassembleOptions& options) {
    const auto text = disassemble(some_cubin().image, options);
    return text ? Errc::ok : text.error().code;
}

TEST(Disassemble, PrintsInstructions) {
    if (nvdisasm_path.empty()) GTEST_SKIP() << "no nvdisasm";
    const auto text = disassemble(some_cubin().image, {.program = nvdisasm_path});
    ASSERT_TRUE(text) << describe(text.error(), "");
    EXPECT_THAT(*text, HasSubstr("MUFU.SQRT"));
    EXPECT_THAT(*text, HasSubstr(".text.k"));
    EXPECT_THAT(
        disassemble(some_cubin().image, {.program = nvdisasm_path, .arguments = {"--print-raw"}}).value(),
        Not(HasSubstr(".headerflags")));
}

TEST(Disassemble, SaysWhatTheProgramSays) {
    if (nvdisasm_path.empty()) GTEST_SKIP() << "no nvdisasm";
    const std::string_view garbage = "no cubin";
    const auto text = disassemble(std::as_bytes(std::span(garbage)), {.program = nvdisasm_path});
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, Errc::disassemble_failed);
    EXPECT_THAT(describe(text.error(), ""), HasSubstr("nvdisasm"));
    EXPECT_EQ(code_of({.program = nvdisasm_path, .arguments = {"--no-such-option"}}),
              Errc::disassemble_failed);
}

TEST(Disassemble, FindsTheProgramInThePath) {
    const TemporaryFolder folder;
    script(folder, "nvdisasm", "for last; do :; done; head -c 4 \"$last\" | tail -c 3; echo \" $1\"");
    const std::string before = ::getenv("PATH");
    ::setenv("PATH", (":" + folder.path.string() + ":" + before).c_str(), 1);
    const auto text = disassemble(some_cubin().image);
    ::setenv("PATH", before.c_str(), 1);
    ASSERT_TRUE(text) << describe(text.error(), "");
    EXPECT_EQ(*text, "ELF --print-code\n");
}

TEST(Disassemble, WhatDoesNotWorkIsAnError) {
    const TemporaryFolder folder;
    EXPECT_EQ(code_of({.program = "/nowhere/nvdisasm"}), Errc::disassemble_failed);
    EXPECT_EQ(code_of({.program = folder.path.string()}), Errc::disassemble_failed);
    EXPECT_EQ(code_of({.program = std::string("/bin/true\0x", 11)}), Errc::disassemble_failed);
    EXPECT_EQ(code_of({.program = "/bin/true", .temporary_dir = "/nowhere"}), Errc::file_not_writable);
    EXPECT_EQ(code_of({.program = script(folder, "dies", "kill -SEGV $$")}), Errc::disassemble_failed);
    EXPECT_EQ(code_of({.program = script(folder, "sleeps", "sleep 60"), .timeout = 50ms}),
              Errc::disassemble_failed);
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(code_of({.program = script(folder, "waits", "sleep 60"), .stop = source.get_token()}),
              Errc::disassemble_failed);
}

}  // namespace
}  // namespace ptxgraft
