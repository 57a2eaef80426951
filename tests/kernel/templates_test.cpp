// The skeletons of templates/: each compiles for every target, has the sites of its manifest, and assembles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ptxgraft/link.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

using test::read_file;

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path templates = fs::path(PTXGRAFT_SOURCE_DIR) / "templates";
constexpr const char* targets[] = {"sm_75",  "sm_80",   "sm_86",   "sm_89",  "sm_90",
                                   "sm_90a", "sm_100a", "sm_120a", "sm_121a"};

struct Template {
    fs::path source;
    json manifest;
};

std::vector<Template> all_templates() {
    std::vector<Template> all;
    for (const auto& family : fs::directory_iterator(templates)) {
        if (!family.is_directory()) continue;
        const json manifest = json::parse(read_file(family.path() / "manifest.json"));
        for (const auto& skeleton : manifest.at("skeletons"))
            all.push_back({family.path() / skeleton.at("source").get<std::string>(), skeleton});
    }
    return all;
}

// Each define takes each of its values; without defines there is one choice, of nothing.
std::vector<std::vector<std::string>> define_choices(const json& manifest) {
    std::vector<std::vector<std::string>> choices{{}};
    for (const auto& [name, define] : manifest.at("defines").items()) {
        std::vector<std::vector<std::string>> more;
        for (const auto& choice : choices)
            for (const auto& value : define.at("values")) {
                more.push_back(choice);
                more.back().push_back(name + "=" + value.dump());
            }
        choices = std::move(more);
    }
    return choices;
}

std::string compiled(const Template& t, const std::string& target, const std::vector<std::string>& defines) {
    const std::string source = read_file(t.source);
    const auto ptx =
        compile_cuda(source, {.target = target, .defines = defines, .file_name = t.source.string()});
    EXPECT_TRUE(ptx) << describe(ptx.error(), source, t.source.string());
    if (!ptx) return {};
    EXPECT_EQ(ptx->log, "");
    return ptx->text;
}

TEST(Templates, AreFour) { EXPECT_EQ(all_templates().size(), 4u); }

TEST(Templates, CompileParseAndAssembleForEveryTarget) {
    for (const Template& t : all_templates()) {
        const std::string entry = t.manifest.at("entry");
        for (const char* target : targets) {
            const std::string ptx = compiled(t, target, {});
            const auto module = syntax::parse(ptx);
            ASSERT_TRUE(module) << describe(module.error(), ptx);
            EXPECT_EQ(syntax::print(*module), ptx);
            ASSERT_TRUE(module->find_function(entry));
            EXPECT_EQ(module->find_function(entry).parameters().size(), t.manifest.at("arguments").size())
                << t.source;
            const auto cubin = default_assembler().assemble(ptx);
            ASSERT_TRUE(cubin) << target << describe(cubin.error(), ptx, t.source.string());
            for (const auto& function : cubin->functions) {
                EXPECT_EQ(function.spill_store_bytes, 0u) << t.source << target;
                EXPECT_EQ(function.stack_bytes, 0u) << t.source << target;
            }
        }
    }
}

TEST(Templates, SitesAreThoseOfTheManifest) {
    for (const Template& t : all_templates()) {
        for (const auto& defines : define_choices(t.manifest)) {
            const std::string ptx = compiled(t, "sm_90a", defines);
            const auto sites = scan(ptx);
            ASSERT_TRUE(sites) << describe(sites.error(), ptx);
            EXPECT_EQ(sites->sites.size(), t.manifest.at("sites").size());
            for (const auto& [name, row] : t.manifest.at("sites").items()) {
                const auto signature = Signature::parse(row.at("signature").get<std::string>());
                ASSERT_TRUE(signature) << row;
                ASSERT_TRUE(sites->find(name)) << t.source << name;
                EXPECT_EQ(sites->find(name)->signature, *signature) << sites->find(name)->signature.text();
            }
            EXPECT_TRUE(default_assembler().assemble(ptx));
        }
    }
}

TEST(Templates, ArgumentsAreThoseOfTheManifest) {
    for (const Template& t : all_templates()) {
        const auto module = syntax::parse(compiled(t, "sm_80", {}));
        ASSERT_TRUE(module);
        const auto parameters = module->find_function(t.manifest.at("entry").get<std::string>()).parameters();
        const json& arguments = t.manifest.at("arguments");
        ASSERT_EQ(parameters.size(), arguments.size());
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const std::string type = arguments[i].at("type");
            EXPECT_EQ(parameters[i].type, arguments[i].contains("shape") ? ".u64" : "." + type)
                << t.source << arguments[i];
        }
    }
}

}  // namespace
}  // namespace ptxgraft
