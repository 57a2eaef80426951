// Runs a case, and says what was found where.
#include "run_case.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/target.hpp"
#include "support/emulator_machine.hpp"
#include "support/files.hpp"
#include "support/ptxas_oracle.hpp"

namespace ptxgraft::cases {
namespace {

using test::read_file;

constexpr std::uint64_t budget = 1u << 20;

std::vector<Given> given_all(const std::vector<Error>& errors, std::string_view text) {
    std::vector<Given> all;
    for (const Error& error : errors) all.push_back(given(error, text));
    return all;
}

std::vector<Given> verified(const std::string& text) {
    const auto module = syntax::parse(text);
    return given_all(module ? isa::verify(*module) : std::vector<Error>{module.error()}, text);
}

std::vector<Given> loaded(const std::string& text) {
    Emulator emulator;
    const auto module = emulator.load(text);
    return module ? std::vector<Given>() : std::vector<Given>{given(module.error(), text)};
}

// Before PTX ISA 1.4, entries have no parameters.
bool takes_nothing(const std::string& text) {
    const auto module = syntax::parse(text);
    if (!module) return false;
    for (const syntax::Statement& f : module->functions())
        if (f.name() == "k") return f.parameters().empty();
    return false;
}

// A launch and what was found in it.
struct Launched {
    Launched(const std::string& text, const Launch& launch, EmulatorOptions options)
        : machine_([&] {
              options.instruction_budget = budget;
              return options;
          }()) {
        if (const auto loaded = machine_.load(text); !loaded) {
            done = tl::unexpected(loaded.error());
            return;
        }
        std::vector<std::uint32_t> words(launch.words, launch.fill);
        if (launch.is_iota) std::iota(words.begin(), words.end(), 0u);
        const LaunchConfig shape{.grid = {launch.grid}, .block = {launch.block}, .cluster = {launch.cluster}};
        done = takes_nothing(text) ? machine_.launch("k", shape)
                                   : machine_.launch("k", shape, machine_.upload(words));
        report = machine_.emulator.take_report();
    }
    Expected<EmulatorStats> done;
    EmulatorReport report;

  private:
    Machine machine_;
};

std::string failure(const Expected<EmulatorStats>& done, const std::string& text) {
    return done ? std::string() : describe(done.error(), text);
}

std::vector<Given> found_by_launch(const Case& wanted) {
    const Launch& launch = *wanted.launch;
    const Launched first(wanted.text, launch, {.checks = launch.checks});
    if (first.done) return {};
    Given error = given(first.done.error(), wanted.text);
    const Launched all(wanted.text, launch, {.checks = launch.checks, .keep_going = 100});
    if (!all.report.findings.empty()) error.check = all.report.findings[0].check;
    if (error.check)
        error.is_fatal = !Launched(wanted.text, launch, {.checks = EmulatorChecks::none()}).done.has_value();
    return {error};
}

// What holds of every finding of a check: nothing else is needed to find it, nothing else finds it, a launch
// that goes on lists it first, and it is none where its line is excused.
void expect_found_by_its_check(const Case& wanted, const Given& error) {
    const std::string& text = wanted.text;
    const auto same = [&](const Expected<EmulatorStats>& done) {
        return !done && name(done.error().code) == error.code;
    };
    const EmulatorChecks only = {*error.check};
    const Launched alone(text, *wanted.launch, {.checks = only});
    EXPECT_TRUE(same(alone.done)) << "with " << name(*error.check) << " alone: " << failure(alone.done, text);
    const Launched others(text, *wanted.launch, {.checks = wanted.launch->checks.without(*error.check)});
    EXPECT_FALSE(same(others.done)) << "without it: " << failure(others.done, text);
    if (!same(alone.done)) return;

    const Launched all(text, *wanted.launch, {.checks = only, .keep_going = 100});
    EXPECT_EQ(all.done.has_value(), !error.is_fatal) << failure(all.done, text);
    ASSERT_FALSE(all.report.findings.empty());
    EXPECT_LE(all.report.findings.size(), 6u);
    EXPECT_EQ(all.report.findings.size(), all.report.all_findings + (error.is_fatal ? 1 : 0));
    const EmulatorFinding& first = all.report.findings[0];
    EXPECT_EQ(first.check, error.check);
    EXPECT_GE(first.threads, 1u);
    EXPECT_EQ(describe(first.error, text), failure(alone.done, text));

    const std::uint32_t line = given(alone.done.error(), text).line;
    const Launched excused(text, *wanted.launch,
                           {.checks = only, .excuses = {{.check = *error.check, .line = line}}});
    EXPECT_FALSE(same(excused.done) && given(excused.done.error(), text).line == line)
        << "excused: " << failure(excused.done, text);
    EXPECT_GE(excused.report.excused.at(0), 1u);
}

void expect_found_without_checks(const Case& wanted, const Given& error) {
    const Launched fast(wanted.text, *wanted.launch, {.fast = true});
    ASSERT_FALSE(fast.done);
    EXPECT_EQ(name(fast.done.error().code), error.code) << failure(fast.done, wanted.text);
}

// What a kernel becomes is of interest only where it is launched. Which rules an older ptxas knows is another
// matter, but it takes what is right.
void expect_ptxas_agrees(const std::string& text, bool is_clean, Stage stage) {
    static const bool is_oracle = oracle::reason_to_skip().empty();
    const Assembler* assembler = nvptxcompiler();
    if (assembler == nullptr || (!is_clean && !is_oracle)) return;
    AssembleOptions options;
    if (stage == Stage::verify) options.optimisation = 0;
    const auto module = syntax::parse(text);
    const auto target = module ? parse_architecture(module->target()) : Expected<Architecture>();
    if (module && target && target->sm < 75) options.target = "sm_75";  // it makes code for none before
    const auto cubin = assembler->assemble(text, options);
    EXPECT_EQ(cubin.has_value(), is_clean) << (cubin ? "ptxas takes it" : describe(cubin.error(), text));
}

std::vector<Given> errors_of(Stage stage, const Case& wanted, const std::string& text) {
    Case other = wanted;
    other.text = text;
    return errors_of(stage, other);
}

Case read_case_file(const std::filesystem::path& path) {
    auto read = read_case(read_file(path));
    EXPECT_TRUE(read) << path << ": " << (read ? "" : message(read.error()));
    return read ? *read : Case();
}

}  // namespace

std::vector<std::filesystem::path> files_below(const std::filesystem::path& root) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
        if (entry.path().extension() == ".ptx") files.push_back(entry.path().lexically_relative(root));
    std::ranges::sort(files);
    return files;
}

Stage stage_of(const std::filesystem::path& relative) {
    const std::string stage = relative.begin()->string();
    if (stage == "verify") return Stage::verify;
    if (stage == "refusals") return Stage::refusals;
    if (stage == "checks") return Stage::checks;
    throw std::invalid_argument("no stage of cases: " + stage);
}

std::vector<Given> errors_of(Stage stage, const Case& wanted) {
    if (stage == Stage::verify) return verified(wanted.text);
    if (stage == Stage::refusals) return loaded(wanted.text);
    EXPECT_TRUE(wanted.launch) << "it does not say how it is launched: //@ launch block=32 words=64";
    return wanted.launch ? found_by_launch(wanted) : std::vector<Given>();
}

std::vector<std::filesystem::path> rebase(const std::filesystem::path& root) {
    std::vector<std::filesystem::path> changed;
    for (const auto& relative : files_below(root)) {
        const Case read = read_case_file(root / relative);
        const std::string text = rebased(read, errors_of(stage_of(relative), read));
        if (text == read.text) continue;
        test::write_file(root / relative, text);
        changed.push_back(relative);
    }
    return changed;
}

void expect_as_written(const std::filesystem::path& root, const std::filesystem::path& relative) {
    const Stage stage = stage_of(relative);
    const Case wanted = read_case_file(root / relative);
    const std::vector<Given> all = errors_of(stage, wanted);
    if (const std::string differs = difference(wanted, all, relative.string()); !differs.empty())
        ADD_FAILURE() << differs << "`./dev rebase` writes down what it gives now.";
    if (wanted.has_twin) {
        EXPECT_FALSE(all.empty()) << "it says what would be right, and nothing is wrong";
        for (const Given& error : errors_of(stage, wanted, wanted.twin))
            ADD_FAILURE() << "put right, line " << error.line << ": " << error.message << '\n' << wanted.twin;
        expect_ptxas_agrees(wanted.twin, true, stage);
    }
    // what the emulator refuses is another matter
    if (wanted.does_ptxas_agree && stage != Stage::refusals)
        expect_ptxas_agrees(wanted.text, all.empty() || stage == Stage::checks, stage);
    if (stage != Stage::checks || all.empty()) return;
    if (all[0].check)
        expect_found_by_its_check(wanted, all[0]);
    else
        expect_found_without_checks(wanted, all[0]);
}

}  // namespace ptxgraft::cases
