#pragma once
/// @file loop.hpp
/// Searches and gates that several tests have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>
#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"
#include "support/archive_files.hpp"

namespace ptxgraft::search {

using ptxgraft::test::archive_path;
using ptxgraft::test::exported;

inline Space float_space(std::string_view set = "add.f32\nsub.f32\nmul.f32\nfma.rn.f32\nmax.f32\n",
                         std::uint32_t genes = 24) {
    const auto machine =
        stack::Machine::make(*stack::InstructionSet::parse(set), *Signature::parse("in f32 x, out f32 y"));
    EXPECT_TRUE(machine);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = genes});
    return space;
}

/// What cannot fail here.
template <class T> T made(Expected<T> result) {
    EXPECT_TRUE(result) << describe(result.error());
    return std::move(result).value();
}

inline void change(const std::string& path, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
}

// Judges by a function of the candidate alone.
class ByFunction final : public Gate {
  public:
    using Function = std::function<void(const Candidate&, Result&)>;
    ByFunction(std::string name, Function function, double gpu_seconds = 0)
        : name_(std::move(name)), function_(std::move(function)), price_(gpu_seconds) {}
    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] double gpu_seconds() const override { return price_ * static_cast<double>(came.load()); }
    [[nodiscard]] bool uses_gpu() const override { return price_ > 0; }
    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        came += candidates.size();
        for (std::size_t k = 0; k < candidates.size(); ++k) function_(*candidates[k], *results[k]);
    }
    std::atomic<std::uint64_t> came = 0;

  private:
    std::string name_;
    Function function_;
    double price_;
};

inline std::uint32_t length_of(const Genome& genome, const Space& space) {
    const auto stub = stack::make_stub(genome.programs[0], space.sites[0].machine, program_options);
    return stub ? stub->instruction_count() : 0;
}

inline void all_are_right(const Candidate& candidate, Result& result) {
    result.cost = 1 + static_cast<double>(candidate.index % 7);
    result.descriptor = {};
}

inline void half_pass(const Candidate& candidate, Result& result) {
    if (candidate.key.structure % 2 == 0) result.status = Status::infeasible;
    result.errors = {static_cast<float>(candidate.key.structure % 100)};
}

inline Summary ran(Search& search, std::vector<Gate*> gates, const RunOptions& options) {
    const auto summary = search.run(gates, options);
    EXPECT_TRUE(summary) << message(summary.error());
    return summary.value_or(Summary{});
}

}  // namespace ptxgraft::search
