// Which assembler made the code: versions, a wrong one, and another ptxas as a process.
// The toolkit's ptxas, of 13.0.88, is the second assembler of these tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "ptxgraft/link.hpp"
#include "support/files.hpp"
#include "support/kernel_text.hpp"
#include "support/link_examples.hpp"
#include "support/machine_code.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::detail, test::read_file, test::TemporaryFolder, test::write_file;

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;
using namespace std::chrono_literals;

// A shell script that says ptxas's version when it is asked, and else does something.
std::string program(const TemporaryFolder& folder, std::string_view body) {
    const fs::path path = folder.path / "ptxas";
    write_file(path,
               "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 13.0, "
               "V13.0.88'; exit; fi\n" +
                   std::string(body) + "\n");
    ::chmod(path.c_str(), 0700);
    return path.string();
}

std::string shifting_module(std::string_view body, std::string_view target = "sm_90") {
    return test::kernel_text({.version = "8.8",
                              .target = std::string(target),
                              .parameters = {"u64 p"},
                              .registers = {"u64 %d, %x, %a, %b"},
                              .body = std::string(body)});
}

// (x << 8) OP (x >> 56): a rotation with `add`, none with `sub`.
std::string shifts_with(std::string_view operation, std::string_view target) {
    return shifting_module(
        "ld.param.u64 %d, [p];\nld.global.u64 %x, [%d];\nshl.b64 %a, %x, 8;\nshr.u64 %b, %x, 56;\n" +
            std::string(operation) + " %a, %a, %b;\nst.global.u64 [%d], %a;",
        target);
}

std::map<std::string, std::string> code_of(const Assembler& assembler, const std::string& ptx) {
    const auto cubin = assembler.assemble(ptx);
    EXPECT_TRUE(cubin) << assembler.name() << assembler.version() << describe(cubin.error(), ptx);
    return cubin ? machine_code(*cubin) : std::map<std::string, std::string>();
}

const std::string ptxas_path = test::program_path("ptxas");

std::shared_ptr<const Assembler> toolkits_ptxas() {
    auto made = ptxas(ptxas_path);
    return made ? std::move(*made) : nullptr;
}

#define SKIP_WITHOUT_PTXAS \
    if (ptxas_path.empty()) GTEST_SKIP() << "no ptxas program"

// --- versions

TEST(AssemblerVersion, IsFullAndInEveryCubin) {
    std::vector<std::shared_ptr<const Assembler>> all{{nvjitlink(), [](auto*) {}}};
    if (nvptxcompiler() != nullptr) all.emplace_back(nvptxcompiler(), [](auto*) {});
    if (auto program = toolkits_ptxas()) all.push_back(program);
    const std::string ptx = shifting_module("");
    for (const auto& assembler : all) {
        EXPECT_THAT(assembler->version(), MatchesRegex("13\\.[0-9]+\\.[0-9]+")) << assembler->name();
        for (const bool relocatable : {false, true})
            for (const int optimisation : {0, 3}) {
                const auto cubin = assembler->assemble(
                    ptx,
                    {.optimisation = optimisation, .relocatable = relocatable, .line_info = relocatable});
                ASSERT_TRUE(cubin) << describe(cubin.error(), ptx);
                EXPECT_EQ(cubin->assembler, std::string(assembler->name()) + " " + assembler->version());
            }
    }
}

TEST(AssemblerVersion, IsTheProgramsOwn) {
    SKIP_WITHOUT_PTXAS;
    const TemporaryFolder folder;
    const std::string file = (folder.path / "said").string();
    ASSERT_EQ(std::system((ptxas_path + " --version > " + file).c_str()), 0);
    EXPECT_THAT(read_file(file), HasSubstr(", V" + toolkits_ptxas()->version() + "\n"));
}

// --- modules for a debugger, which none of them optimises

TEST(AssemblerText, ModulesForADebuggerAssembleAsOthersDo) {
    std::vector<std::shared_ptr<const Assembler>> all{{nvjitlink(), [](auto*) {}}};
    if (nvptxcompiler() != nullptr) all.emplace_back(nvptxcompiler(), [](auto*) {});
    if (auto program = toolkits_ptxas()) all.push_back(program);
    for (const auto& assembler : all)
        for (const char* target : {".target sm_90, debug", ".target sm_90, texmode_independent, debug"}) {
            const std::string ptx = std::string(".version 8.0\n") + target +
                                    "\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b64 %rd;\n"
                                    "ld.param.u64 %rd, [p];\nst.global.u32 [%rd], 7;\nret;\n}\n"
                                    ".section .debug_abbrev { .b8 0 }\n";
            for (const int optimisation : {0, 1, 3}) {
                const auto cubin = assembler->assemble(ptx, {.optimisation = optimisation});
                ASSERT_TRUE(cubin) << assembler->name() << describe(cubin.error(), ptx);
            }
            const auto chosen = assembler->assemble(ptx, {.target = "sm_100"});
            EXPECT_TRUE(chosen) << assembler->name() << describe(chosen.error(), ptx);
        }
}

// --- what it would not survive

// ptxas rounds the product up to warps in 32 bits and divides by it.
TEST(AssemblerText, MoreThreadsThanItCountsAreRefused) {
    const auto with = [](std::string_view directive) {
        std::string text = test::kernel_text({});
        return text.insert(text.find("{\n"), std::string(directive) + "\n");
    };
    for (const char* beyond : {".maxntid 0xffffffe1, 1, 1", ".reqntid 4294967295", ".reqntid 65536, 65536",
                               ".maxntid 0xFFFFFFFFU, 037777777777", ".reqntid/* 1 */4294967265",
                               ".maxntid 1024\n.reqntid 0b11111111111111111111111111111111, 1, 1"}) {
        const std::string text = with(beyond);
        for (const Assembler* assembler : {nvptxcompiler(), nvjitlink()}) {
            if (assembler == nullptr) continue;
            const auto cubin = assembler->assemble(text);
            ASSERT_FALSE(cubin) << beyond;
            EXPECT_EQ(cubin.error().code, Errc::assemble_failed);
            EXPECT_THAT(describe(cubin.error(), text), HasSubstr("at most 1024")) << beyond;
            EXPECT_THAT(text.substr(cubin.error().span.begin), MatchesRegex("\\.(max|req)ntid(.|\n)*"));
        }
    }
    // In a comment or a string, and within the limit, it is the assembler's business.
    for (const char* within :
         {".maxntid 1024, 1, 1", "// .reqntid 4294967295", ".pragma \".reqntid 4294967295\";"})
        EXPECT_TRUE(default_assembler().assemble(with(within))) << within;
}

// ptxas, and nvPTXCompiler with the program that it is in, die of loads and stores by such names.
TEST(AssemblerText, AddressesAreInNothingNamedAsASpecialRegister) {
    const auto module = [](const std::string& parameters, const std::string& body) {
        return ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k(" + parameters +
               ")\n{\n.reg .b64 a;\n" + body + " ret;\n}\n";
    };
    struct Row {
        const char *parameters, *body;
    };
    for (const Row& row :
         {Row{".param .u64 %tid", "ld.param.u64 a, [%tid]; st.global.u64 [a], a;"},
          Row{".param .u32 n, .param .u64 %clock_hi", "ld.param.b64 a, [ %clock_hi + 0];"},
          Row{"", ".param .u64 b, %laneid; st.param.u64 [%laneid], a;"},
          Row{"", ".reg .b64 %tid; mov.b64 %tid, 0; st.global.u64 [%tid], a;"},
          Row{"", ".reg .b64 %envreg<4>; mov.b64 %envreg3, 0; st.global.u64 [%envreg3], a;"}}) {
        const std::string text = module(row.parameters, row.body);
        for (const Assembler* assembler : {nvptxcompiler(), nvjitlink()}) {
            if (assembler == nullptr) continue;
            const auto cubin = assembler->assemble(text);
            ASSERT_FALSE(cubin) << text;
            EXPECT_EQ(cubin.error().code, Errc::assemble_failed);
            EXPECT_THAT(describe(cubin.error(), text), HasSubstr("is a special register too")) << text;
            EXPECT_THAT(text.substr(cubin.error().span.begin - 2, 3), HasSubstr("[")) << text;
        }
    }
    // What no address is in, arrays, and names that only look alike are the assembler's business.
    for (const Row& row :
         {Row{".param .u64 %tid", ".reg .b32 b; mov.u32 b, %laneid;"},
          Row{".param .align 8 .b8 %tid[8]", "ld.param.u64 a, [%tid]; st.global.u64 [a], a;"},
          Row{".param .u64 %tids", "ld.param.u64 a, [%tids]; st.global.u64 [a], a;"},
          Row{"", ".reg .b64 %tid; mov.b64 %tid, 0; mov.b64 a, 0; st.global.u64 [a], %tid;"},
          Row{"", "mov.b64 a, 0; st.global.u64 [a], a; // .param .u64 %tid; [%tid]\n"}}) {
        const std::string text = module(row.parameters, row.body);
        const auto cubin = default_assembler().assemble(text);
        EXPECT_TRUE(cubin) << describe(cubin.error(), text);
    }
}

// --- a wrong version

TEST(AssemblerFault, TheDefaultMakesNoRotationOfADifference) {
    if (nvptxcompiler() == nullptr) GTEST_SKIP() << "built without nvPTXCompiler";
    if (nvptxcompiler()->version().starts_with("13.0."))
        GTEST_SKIP() << "built with nvPTXCompiler " << nvptxcompiler()->version();
    for (const char* target : {"sm_80", "sm_90", "sm_90a", "sm_120a"}) {
        const auto difference = code_of(default_assembler(), shifts_with("sub.u64", target));
        EXPECT_TRUE(difference != code_of(default_assembler(), shifts_with("add.u64", target))) << target;
    }
}

TEST(AssemblerFault, Version13_0MakesARotationOfADifference) {
    SKIP_WITHOUT_PTXAS;
    const auto assembler = toolkits_ptxas();
    ASSERT_TRUE(assembler);
    if (!assembler->version().starts_with("13.0."))
        GTEST_SKIP() << "the toolkit's ptxas is " << assembler->version();
    for (const char* target : {"sm_90", "sm_120a"})
        EXPECT_TRUE(code_of(*assembler, shifts_with("sub.u64", target)) ==
                    code_of(*assembler, shifts_with("add.u64", target)))
            << target;
}

// 13.0 stops at a letter beyond ASCII in a comment; verify says what 13.5 does.
TEST(AssemblerFault, Version13_0ReadsNoOtherLettersInComments) {
    SKIP_WITHOUT_PTXAS;
    const auto assembler = toolkits_ptxas();
    ASSERT_TRUE(assembler);
    if (!assembler->version().starts_with("13.0."))
        GTEST_SKIP() << "the toolkit's ptxas is " << assembler->version();
    const std::string ptx = shifting_module("// na\xC3\xAFve");
    const auto cubin = assembler->assemble(ptx);
    ASSERT_FALSE(cubin);
    EXPECT_EQ(position(ptx, cubin.error().span.begin).line, 7u) << describe(cubin.error(), ptx);
    const bool is_newer = nvptxcompiler() != nullptr && !nvptxcompiler()->version().starts_with("13.0.");
    EXPECT_TRUE(!is_newer || nvptxcompiler()->assemble(ptx));
}

// --- by name

TEST(FindAssembler, KnowsTheNamesThatUsersWrite) {
    const auto found = [](std::string_view name) {
        auto assembler = find_assembler(name);
        EXPECT_TRUE(assembler) << name << describe(assembler.error());
        return assembler ? *assembler : nullptr;
    };
    EXPECT_EQ(found("").get(), &default_assembler());
    EXPECT_EQ(found("default").get(), &default_assembler());
    EXPECT_EQ(found("nvjitlink").get(), nvjitlink());
    if (nvptxcompiler() != nullptr) { EXPECT_EQ(found("nvptxcompiler").get(), nvptxcompiler()); }
    for (const char* name : {"workers", "workers:1", "workers:1024"}) {
        const auto pool = found(name);
        ASSERT_TRUE(pool);
        EXPECT_NE(pool.get(), &default_assembler());
        EXPECT_EQ(pool->name(), default_assembler().name());
        EXPECT_TRUE(pool->assemble(shifting_module("")));
    }
    if (ptxas_path.empty()) return;
    EXPECT_EQ(found(ptxas_path)->name(), "ptxas");
}

TEST(FindAssembler, OtherNamesAreErrors) {
    for (const char* name :
         {"workers:", "workers:0", "workers:-1", "workers:1025", "workers:2x", "worker", "/no/such/ptxas"}) {
        const auto assembler = find_assembler(name);
        ASSERT_FALSE(assembler) << name;
        EXPECT_EQ(assembler.error().code, Errc::assembler_not_usable);
        EXPECT_THAT(detail(assembler.error()), HasSubstr(name));
    }
}

// --- ptxas as a process

// Whoever kills its owner with SIGKILL leaves nobody to end it.
TEST(Ptxas, WorksNoLongerThanItsOwnerMightHaveWaited) {
    const TemporaryFolder folder;
    const std::string said = (folder.path / "said").string();
    const auto assembler = *ptxas(program(folder, "sleep 0.3; ulimit -H -t > " + said), {.timeout = 20s});
    EXPECT_FALSE(assembler->assemble(shifting_module("")));
    const double seconds = std::stod(read_file(said)), most = std::thread::hardware_concurrency();
    EXPECT_GE(seconds, 20 * most);
    EXPECT_LE(seconds, 21 * most);
}

TEST(PtxasProgram, TellsUsageLossesAndPlacesAsInProcess) {
    SKIP_WITHOUT_PTXAS;
    const TemporaryFolder folder;
    const auto assembler = *ptxas(ptxas_path, {.temporary_dir = folder.path.string()});
    EXPECT_EQ(assembler->name(), "ptxas");
    const auto cubin = assembler->assemble(shifts_with("add.u64", "sm_90"));
    ASSERT_TRUE(cubin);
    ASSERT_EQ(cubin->functions.size(), 1u);
    EXPECT_EQ(cubin->functions[0].name, "k");
    EXPECT_TRUE(cubin->functions[0].is_entry);
    EXPECT_GT(cubin->functions[0].registers, 3u);

    const std::string wrong = shifting_module("add.u64 %a, %nowhere, %b;");
    const auto refused = assembler->assemble(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::assemble_failed);
    EXPECT_EQ(position(wrong, refused.error().span.begin).line, 7u);
    EXPECT_THAT(detail(refused.error()), HasSubstr("nowhere"));
    EXPECT_EQ(detail(refused.error()).find(folder.path.string()), std::string::npos);

    const auto loses = assembler->assemble(shifting_module("setmaxnreg.inc.sync.aligned.u32 40;", "sm_90a"));
    ASSERT_FALSE(loses);
    EXPECT_EQ(loses.error().code, Errc::performance_loss);
    EXPECT_FALSE(assembler->assemble(shifting_module(""), {.target = "sm_12"}));
    EXPECT_FALSE(assembler->assemble(shifting_module(""), {.options = {"--bogus"}}));
    EXPECT_FALSE(assembler->assemble("garbage"));
    EXPECT_TRUE(fs::is_empty(folder.path));  // what it wrote is gone
}

TEST(PtxasProgram, ThreadsMayShareIt) {
    SKIP_WITHOUT_PTXAS;
    const auto assembler = toolkits_ptxas();
    const auto expected = code_of(*assembler, shifts_with("add.u64", "sm_90"));
    std::array<bool, 4> is_right{};
    {
        std::vector<std::jthread> threads;
        for (bool& right : is_right)
            threads.emplace_back(
                [&] { right = code_of(*assembler, shifts_with("add.u64", "sm_90")) == expected; });
    }
    EXPECT_EQ(is_right, (std::array<bool, 4>{true, true, true, true}));
}

TEST(PtxasProgram, WhatIsNoPtxasIsAnErrorAtOnce) {
    const TemporaryFolder folder;
    const std::string text_file = (folder.path / "text").string();
    write_file(text_file, "no program");
    for (const std::string& path : {std::string(), std::string("/no/such/ptxas"), folder.path.string(),
                                    text_file, std::string("/bin/true"), std::string("/bin/echo"),
                                    std::string("/bin/false"), std::string("a\0b", 3)}) {
        const auto made = ptxas(path);
        ASSERT_FALSE(made) << path;
        EXPECT_EQ(made.error().code, Errc::assembler_not_usable) << path;
        EXPECT_FALSE(detail(made.error()).empty());
    }
}

TEST(PtxasProgram, ProcessesThatRunOnOrDieAreErrors) {
    struct Row {
        const char *body, *message;
    };
    for (const Row& row :
         {Row{"sleep 60", "killed after 300 ms"}, Row{"exec 1>&- 2>&-; sleep 60", "killed after 300 ms"},
          Row{"sleep 60 & exit 0", "killed after 300 ms"}, Row{"kill -SEGV $$", "Segmentation fault"},
          Row{"kill -KILL $$", "Killed"}, Row{"trap '' TERM; while :; do :; done", "killed after 300 ms"}}) {
        const TemporaryFolder folder, temporary;
        const auto assembler =
            ptxas(program(folder, row.body), {.timeout = 300ms, .temporary_dir = temporary.path.string()});
        ASSERT_TRUE(assembler) << detail(assembler.error());
        const auto start = std::chrono::steady_clock::now();
        const auto cubin = (*assembler)->assemble(shifting_module(""));
        ASSERT_FALSE(cubin) << row.body;
        EXPECT_EQ(cubin.error().code, Errc::assembler_ended) << row.body;
        EXPECT_THAT(detail(cubin.error()), HasSubstr(row.message)) << row.body;
        EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
        EXPECT_TRUE(fs::is_empty(temporary.path));
    }
}

TEST(PtxasProgram, TheCallersStopEndsIt) {
    for (const char* body : {"exec sleep 60", "exec 1>&- 2>&-; sleep 60"}) {
        const TemporaryFolder folder;
        const auto assembler = *ptxas(program(folder, body));
        std::stop_source source;
        std::jthread later([&] {
            std::this_thread::sleep_for(50ms);
            source.request_stop();
        });
        const auto start = std::chrono::steady_clock::now();
        const auto cubin = assembler->assemble(shifting_module(""), {.stop = source.get_token()});
        ASSERT_FALSE(cubin);
        EXPECT_EQ(cubin.error().code, Errc::assembler_ended);
        EXPECT_THAT(detail(cubin.error()), HasSubstr("the caller's stop"));
        EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
    }
}

TEST(PtxasProgram, OutcomesThatAreNoCubinAreErrors) {
    const TemporaryFolder folder;
    const auto silent = *ptxas(program(folder, "echo 'nothing made'"));
    const auto none = silent->assemble(shifting_module(""));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::assembler_ended);
    EXPECT_THAT(detail(none.error()), HasSubstr("nothing made"));
    // What ptxas leaves on a full disk, with success.
    const auto cut =
        (*ptxas(program(folder, "printf '\\177ELF' > module.cubin")))->assemble(shifting_module(""));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, Errc::file_not_writable);
    EXPECT_THAT(detail(cut.error()), HasSubstr("wrote 4 bytes of a cubin"));
    const auto full = (*ptxas(program(folder, "echo 'ptxas fatal   : Memory allocation failure'; exit 255")))
                          ->assemble(shifting_module(""));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, Errc::out_of_memory);
    const auto loud = *ptxas(program(folder, "head -c 40000000 /dev/zero; exit 3"));
    EXPECT_FALSE(loud->assemble(shifting_module("")));
    for (const char* dir : {"/no/such/folder", "/proc"}) {
        const auto assembler = *ptxas(program(folder, ""), {.temporary_dir = dir});
        const auto cubin = assembler->assemble(shifting_module(""));
        ASSERT_FALSE(cubin);
        EXPECT_EQ(cubin.error().code, Errc::file_not_writable);
        EXPECT_THAT(detail(cubin.error()), StartsWith(dir));
    }
}

TEST(PtxasProgram, HasNoFilesOfOursOpenAndReadsItsModuleFromAFolderOfItsOwn) {
    const TemporaryFolder folder;
    const int inherited = ::dup(0);  // without close-on-exec
    const auto assembler =
        *ptxas(program(folder, "ls /proc/self/fd | tr '\\n' ' '; stat -c %a .; cat module.ptx; exit 1"));
    const std::string ptx = shifting_module("// the very text");
    const auto cubin = assembler->assemble(ptx);
    ::close(inherited);
    ASSERT_FALSE(cubin);
    EXPECT_THAT(detail(cubin.error()) + "\n",
                StartsWith("0 1 2 3 700\n" + ptx));  // 3 is the folder that ls reads
}

}  // namespace
}  // namespace ptxgraft
