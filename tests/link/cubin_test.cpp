// Cubins as files: which are whole, what they say of themselves, and how they link. CUDA's own kinds of
// sections, several versions of ptxas, and damaged ones.

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <random>

#include "link/cubin.hpp"
#include "link/elf.hpp"
#include "ptxgraft/link.hpp"
#include "support/corpus.hpp"
#include "support/machine_code.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::read_file;

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

using Image = std::vector<std::byte>;

std::vector<std::shared_ptr<const Assembler>> assemblers() {
    std::vector<std::shared_ptr<const Assembler>> all{{nvjitlink(), [](auto*) {}}};
    if (nvptxcompiler() != nullptr) all.emplace_back(nvptxcompiler(), [](auto*) {});
    if (auto program = ptxas(test::program_path("ptxas"))) all.push_back(std::move(*program));
    return all;
}

Cubin assembled_part(const Assembler& assembler, const std::string& ptx,
                     AssembleOptions options = {.relocatable = true}) {
    auto cubin = assembler.assemble(ptx, options);
    EXPECT_TRUE(cubin) << assembler.name() << " " << assembler.version() << describe(cubin.error(), ptx);
    return cubin ? std::move(*cubin) : Cubin();
}

// A module with something in every space that a kernel can name, its external function, and a second part
// that defines it.
constexpr std::string_view everything = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) twice (.param .b32 x);
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .b8 zeroed[1048576];
.global .align 4 .u32 given[4] = {1, 2, 3, 4};
.const .align 4 .u32 bank[4] = {1, 2, 3, 4};
.const .align 4 .u32 empty_bank[400];
.shared .align 4 .b8 of_module[256];
.visible .func own(.param .b32 x)
{
    .local .align 4 .b8 stack[64];
    .reg .b32 %r;
    ld.param.u32 %r, [x];
    st.local.u32 [stack], %r;
    st.global.u32 [zeroed+8], %r;
    ret;
}
.visible .entry k(.param .u64 p) .maxntid 128
{
    .reg .b64 %d;
    .reg .b32 %r, %s;
    .shared .align 4 .b8 room[2048];
    .local .align 16 .b8 place[128];
    ld.param.u64 %d, [p];
    ld.global.u32 %r, [%d];
    st.shared.u32 [room], %r;
    st.shared.u32 [of_module], %r;
    bar.sync 0;
    ld.shared.u32 %s, [room+4];
    ld.const.u32 %r, [bank+4];
    add.u32 %r, %r, %s;
    ld.const.u32 %s, [empty_bank+16];
    st.local.u32 [place+8], %s;
    st.global.u32 [given], %r;
    ld.shared.u32 %s, [dynamic];
    {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %s;
    call (b), twice, (a);
    ld.param.b32 %s, [b];
    }
    {
    .param .b32 a;
    st.param.b32 [a], %s;
    call own, (a);
    }
    st.global.u32 [%d], %s;
    ret;
}
)";
constexpr std::string_view twice = R"(.version 8.0
.target sm_90
.address_size 64
.visible .func (.param .b32 r) twice (.param .b32 x)
{
    .reg .b32 %r;
    .shared .align 4 .b8 its_own[16];
    ld.param.b32 %r, [x];
    st.shared.b32 [its_own], %r;
    add.u32 %r, %r, %r;
    st.param.b32 [r], %r;
    ret;
}
)";

Expected<Cubin> link(const Cubin& a, const Cubin& b, std::string_view target = "sm_90") {
    const std::span<const std::byte> both[] = {a.image, b.image};
    return link_cubins(both, target);
}

// --- linking

TEST(Cubin, RelocatableOnesWithSharedMemoryLink) {
    for (const auto& [source, entry] :
         {std::pair{"gemm/simt.cu", "gemm"}, {"attention/simt.cu", "attention"}}) {
        const fs::path path = test::source_path("templates/") + source;
        const std::string text = read_file(path);
        for (const char* target : {"sm_75", "sm_90a", "sm_120a"}) {
            const auto ptx = compile_cuda(text, {.target = target, .file_name = path.string()});
            ASSERT_TRUE(ptx) << describe(ptx.error(), text);
            const Cubin whole = assembled_part(default_assembler(), ptx->text, {});
            for (const auto& assembler : assemblers()) {
                const Cubin part = assembled_part(*assembler, ptx->text);
                EXPECT_TRUE(link::is_whole_cubin(part.image));
                const std::span<const std::byte> one[] = {part.image};
                const auto linked = link_cubins(one, target);
                ASSERT_TRUE(linked) << assembler->name() << " " << source << " " << target
                                    << describe(linked.error());
                ASSERT_TRUE(find(*linked, entry) && find(whole, entry) && find(part, entry));
                const FunctionUsage &is = *find(*linked, entry), &want = *find(whole, entry);
                EXPECT_EQ(find(part, entry)->shared_bytes, want.shared_bytes)
                    << assembler->name() << part.log;
                EXPECT_EQ(is.shared_bytes, want.shared_bytes) << assembler->name() << source << target;
                EXPECT_EQ(is.barriers, want.barriers);
                EXPECT_TRUE(is.is_entry);
                EXPECT_TRUE(machine_code(*linked).contains(".text." + is.name));
                EXPECT_GT(want.shared_bytes, 1024u);
            }
        }
    }
}

TEST(Cubin, PartsOfSeveralVersionsLink) {
    const auto all = assemblers();
    for (const auto& first : all)
        for (const auto& second : all) {
            const Cubin a = assembled_part(*first, std::string(everything)),
                        b = assembled_part(*second, std::string(twice));
            const auto linked = link(a, b);
            ASSERT_TRUE(linked) << a.assembler << " and " << b.assembler << describe(linked.error());
            EXPECT_THAT(linked->assembler, StartsWith("nvjitlink " + nvjitlink()->version() + ", of "));
            EXPECT_THAT(linked->assembler, HasSubstr(first->version()));
            EXPECT_THAT(linked->assembler, HasSubstr(second->version()));
            EXPECT_TRUE(find(*linked, "k")->is_entry);
            EXPECT_EQ(find(*linked, "k")->barriers, 1u);
            // Its own, the module's and that of the function it calls; nvJitLink's parts ask for more
            // alignment.
            EXPECT_GE(find(*linked, "k")->shared_bytes, 2048u + 256u + 16u) << linked->assembler;
            EXPECT_LE(find(*linked, "k")->shared_bytes, 4096u) << linked->assembler;
        }
}

TEST(Cubin, OptionsOfTheAssemblerDoNotMatter) {
    const std::vector<std::string> with_debugging = {"--device-debug"};
    for (const auto& assembler : assemblers()) {
        if (assembler->name() == "nvjitlink") continue;  // takes other options
        for (const AssembleOptions& options :
             {AssembleOptions{.optimisation = 0, .relocatable = true},
              AssembleOptions{.relocatable = true, .line_info = true},
              AssembleOptions{.optimisation = 0, .relocatable = true, .options = with_debugging}}) {
            const Cubin a = assembled_part(*assembler, std::string(everything), options),
                        b = assembled_part(*assembler, std::string(twice), options);
            EXPECT_TRUE(link::is_whole_cubin(a.image));
            const auto linked = link(a, b);
            EXPECT_TRUE(linked) << assembler->version() << describe(linked.error());
        }
    }
}

TEST(Cubin, WhatCompilersMakeIsWhole) {
    SKIP_WITHOUT_CORPUS;
    for (const fs::path& path : test::corpus_files()) {
        if (fs::file_size(path) > 100'000) continue;
        const std::string ptx = read_file(path);
        for (const bool relocatable : {false, true}) {
            const auto cubin = default_assembler().assemble(
                ptx, {.optimisation = 0, .relocatable = relocatable, .allow_performance_loss = true});
            EXPECT_TRUE(!cubin || link::is_whole_cubin(cubin->image)) << path;
        }
    }
}

// --- what a cubin says of itself

TEST(Cubin, SaysItsToolsAndItsToolkit) {
    for (const auto& assembler : assemblers()) {
        const Cubin cubin = assembled_part(*assembler, std::string(twice));
        const auto tools = link::tools_of(cubin.image);
        ASSERT_FALSE(tools.empty());
        EXPECT_EQ(tools.front().version, assembler->version());
        EXPECT_EQ(link::toolkit_of(cubin.image) / 10, 13u);
    }
    EXPECT_TRUE(link::tools_of({}).empty());
    EXPECT_EQ(link::toolkit_of({}), 0u);
}

// The place of a section's bytes in the file.
std::size_t offset_of(const Image& image, std::string_view name) {
    const auto section = link::Elf(image).find(name);
    EXPECT_TRUE(section) << name;
    return section ? section->sh_offset : 0;
}

TEST(Cubin, NewerThanTheLinkerIsAnErrorThatSaysSo) {
    const Cubin good = assembled_part(default_assembler(), std::string(everything));
    Cubin newer = assembled_part(default_assembler(), std::string(twice));
    const std::uint16_t version = 139;
    std::memcpy(newer.image.data() + offset_of(newer.image, ".note.nv.cuinfo") + sizeof(Elf64_Nhdr) + 12 + 4,
                &version, sizeof version);
    ASSERT_EQ(link::toolkit_of(newer.image), version);
    const auto linked = link(good, newer);
    ASSERT_FALSE(linked);
    EXPECT_EQ(linked.error().code, Errc::link_failed);
    EXPECT_EQ(linked.error().index, 1u);
    EXPECT_THAT(*linked.error().detail, HasSubstr("of CUDA 13.9"));
}

// --- damaged ones

// Reads all that the library reads of a cubin; a sanitizer sees what is read outside of it.
bool look_at(const Image& image) {
    Cubin cubin;
    cubin.image = image;
    link::complete_usage(cubin);
    (void)link::tools_of(image);
    (void)link::toolkit_of(image);
    return link::is_whole_cubin(image);
}

std::vector<Image> samples() {
    std::vector<Image> all;
    for (const auto& assembler : assemblers())
        for (const bool relocatable : {true, false})
            all.push_back(assembled_part(*assembler, std::string(twice), {.relocatable = relocatable}).image);
    all.push_back(link(assembled_part(default_assembler(), std::string(everything)),
                       assembled_part(default_assembler(), std::string(twice)))
                      ->image);
    return all;
}

TEST(DamagedCubin, CutOnesAreNotWhole) {
    for (const Image& image : samples()) {
        // The section table stands last, but for the segments of a linked one.
        for (std::size_t size = 0; size < image.size(); size += size < 128 ? 1 : 61)
            EXPECT_FALSE(look_at(Image(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size))))
                << size << " of " << image.size();
        Image longer = image;
        longer.resize(image.size() + 100);
        EXPECT_TRUE(look_at(longer));
    }
}

// One field of the header or of a section, and a value that leads outside.
TEST(DamagedCubin, FieldsThatLeadOutsideAreFound) {
    struct Field {
        const char* name;
        std::size_t at, size;
    };
    const Field of_header[] = {{"e_shoff", offsetof(Elf64_Ehdr, e_shoff), 8},
                               {"e_shentsize", offsetof(Elf64_Ehdr, e_shentsize), 2},
                               {"e_shnum", offsetof(Elf64_Ehdr, e_shnum), 2},
                               {"e_shstrndx", offsetof(Elf64_Ehdr, e_shstrndx), 2},
                               {"e_machine", offsetof(Elf64_Ehdr, e_machine), 2}};
    const Field of_section[] = {{"sh_name", offsetof(Elf64_Shdr, sh_name), 4},
                                {"sh_offset", offsetof(Elf64_Shdr, sh_offset), 8},
                                {"sh_size", offsetof(Elf64_Shdr, sh_size), 8}};
    for (const Image& image : samples()) {
        Elf64_Ehdr header;
        std::memcpy(&header, image.data(), sizeof header);
        const auto damaged = [&](std::size_t at, std::size_t size, std::uint64_t value) {
            Image copy = image;
            std::memcpy(copy.data() + at, &value, size);
            return copy;
        };
        for (const Field& field : of_header)
            for (const std::uint64_t value : {std::uint64_t(0x7FFF), std::uint64_t(image.size()),
                                              ~std::uint64_t(0), ~std::uint64_t(0) - 63})
                EXPECT_FALSE(look_at(damaged(field.at, field.size, value))) << field.name << " " << value;
        for (unsigned i = 1; i < header.e_shnum; ++i) {
            const std::size_t base = header.e_shoff + i * sizeof(Elf64_Shdr);
            Elf64_Shdr section;
            std::memcpy(&section, image.data() + base, sizeof section);
            for (const Field& field : of_section) {
                if (field.at != offsetof(Elf64_Shdr, sh_name) && !link::has_bytes(section.sh_type)) continue;
                for (const std::uint64_t value :
                     {std::uint64_t(image.size() + 1), ~std::uint64_t(0), ~std::uint64_t(0) - 63})
                    EXPECT_FALSE(look_at(damaged(base + field.at, field.size, value)))
                        << field.name << " of section " << i;
            }
        }
    }
}

TEST(DamagedCubin, RandomChangesAreReadWithoutHarm) {
    std::mt19937 random(5);
    std::size_t whole = 0;
    for (const Image& image : samples()) {
        for (int i = 0; i < 2000; ++i) {
            Image copy = image;
            for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
                constexpr std::array<unsigned, 6> bytes{0, 1, 0x7F, 0x80, 0xFF, 0x40};
                copy[random() % copy.size()] = std::byte(bytes[random() % bytes.size()]);
            }
            whole += look_at(copy);
        }
    }
    EXPECT_GT(whole, 0u);  // code and constants may be anything
}

}  // namespace
}  // namespace ptxgraft
