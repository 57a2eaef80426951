// Heads of entries, which are read when they are asked for.
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "emulator/decode/module.hpp"
#include "support/corpus.hpp"
#include "support/decoded.hpp"

namespace ptxgraft::emulator {
namespace {

// All that an entry's head says.
std::string said_by(const launch::EntryInfo& entry) {
    std::string text = entry.name;
    for (const ParameterInfo& p : entry.parameters) text += fmt::format(" {} {} {}", p.name, p.type, p.bytes);
    const auto number = [&](const char* what, const std::optional<std::uint64_t>& value) {
        if (value) text += fmt::format(" {} {}", what, *value);
    };
    const auto shape = [&](const char* what, const std::optional<Dim3>& value) {
        if (value) text += fmt::format(" {} {} {} {}", what, value->x, value->y, value->z);
    };
    shape("block", entry.required_block);
    number("threads", entry.max_threads);
    number("registers", entry.max_registers);
    number("blocks", entry.min_blocks);
    shape("cluster", entry.required_cluster);
    number("rank", entry.max_cluster_blocks);
    return text + (entry.is_explicit_cluster ? " explicit" : "") +
           (entry.blocks_are_clusters ? " of clusters" : "");
}

// A loaded module says of each entry, the last one first, what its tree says of all of them.
void expect_the_same_heads(const std::string& text, bool is_emulated) {
    const auto tree = syntax::parse(text);
    ASSERT_TRUE(tree) << describe(tree.error(), text);
    const launch::ModuleInfo info = launch::module_info(*tree);
    EmulatedModule module(std::make_shared<Memory>(std::uint64_t{1} << 30, false));
    const auto decoded = module.decode(syntax::parse(text).value(), nullptr, 1);
    ASSERT_TRUE(decoded || !is_emulated) << describe(decoded.error(), text);
    if (!decoded) return;
    for (std::size_t i = info.entries.size(); i-- > 0;) {
        const launch::EntryInfo& entry = info.entries[i];
        for (int round = 0; round < 2; ++round) {
            const auto prepared = module.prepare(entry.name);
            ASSERT_EQ(prepared.has_value(), !entry.parameter_error) << entry.name;
            if (prepared) {
                EXPECT_EQ(said_by(*prepared->info), said_by(entry));
                EXPECT_EQ(prepared->function->name, entry.name);
            } else {
                EXPECT_EQ(describe(prepared.error(), text), describe(*entry.parameter_error, text));
            }
        }
    }
    for (const std::string_view name : {"", "no_such_entry"}) {
        const auto prepared = module.prepare(name);
        const auto found = launch::find_entry(info, name);
        ASSERT_EQ(prepared.has_value(), found.has_value());
        if (prepared) {
            EXPECT_EQ(said_by(*prepared->info), said_by(**found));
        } else {
            EXPECT_EQ(describe(prepared.error(), text), describe(found.error(), text));
        }
    }
}

TEST(EmulatorDecode, AnEntrySaysByItselfWhatItSaysInItsModule) {
    for (const std::string_view entries :
         {"", ".entry k { ret; }", "// only\n.visible .entry k() { ret; }", ".entry k(); .entry k() { ret; }",
          ".entry k(.param .f16x2 p) { ret; } .entry l() { ret; }", ".entry k(.param .f16x2 p) { ret; }",
          "/* { */ .weak .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[12], .param "
          ".f32 _)\n"
          ".maxntid 8, 4 // (\n.minnctapersm 2 .maxnreg 40 { ret; }\n"
          ".func f(.param .b32 a) { ret; }\n"
          ".entry l .reqntid 32, 2, 1 .reqnctapercluster 2 .explicitcluster { { ret; } }\n"
          ".entry m(.param .b8 x[4]) .maxclusterrank 4 .maxntid WARP_SZ { ret; }\n"
          ".entry n() .reqntid 64 .reqnctapercluster 4, 1, 1 .blocksareclusters .pragma \"nounroll\"; { ret; "
          "}"})
        expect_the_same_heads(with_header(std::string(entries)), true);
    for (const std::filesystem::path& path : test::corpus_files())
        if (const std::string text = test::read_file(path); syntax::parse(text))
            expect_the_same_heads(text, false);
}

}  // namespace
}  // namespace ptxgraft::emulator
