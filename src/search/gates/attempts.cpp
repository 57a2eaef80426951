// Candidates are written down before they are judged, for gates that may take the process down.

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

#include "base/try.hpp"
#include "ptxgraft/search_gates.hpp"
#include "search/archive/statement.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::uint64_t most_attempts = 2;

using Database = std::unique_ptr<sqlite3, CloseDatabase>;

class GuardedGate final : public Gate {
  public:
    GuardedGate(std::unique_ptr<Gate> gate, Database database)
        : gate_(std::move(gate)),
          database_(std::move(database)),
          find_(database_.get(), "SELECT times FROM attempt WHERE candidate = ? AND gate = ?"),
          add_(database_.get(),
               "INSERT INTO attempt VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1"),
          remove_(database_.get(), "DELETE FROM attempt WHERE candidate = ? AND gate = ?") {}
    [[nodiscard]] std::string_view name() const override { return gate_->name(); }
    [[nodiscard]] double gpu_seconds() const override { return gate_->gpu_seconds(); }
    [[nodiscard]] bool uses_gpu() const override { return gate_->uses_gpu(); }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        std::vector<const Candidate*> in;
        std::vector<Result*> out;
        for (std::size_t k = 0; k < candidates.size(); ++k) {
            const std::uint64_t times = times_of(*candidates[k]);
            if (times == 0) {
                in.push_back(candidates[k]);
                out.push_back(results[k]);
            } else if (times < most_attempts) {
                // Nothing else is judged meanwhile: where the process dies, it was this one.
                const std::unique_lock alone(under_way_);
                judge(candidates.subspan(k, 1), results.subspan(k, 1));
            } else {
                results[k]->status = Status::crashed;
                results[k]->detail = "the process died while it was judged, twice";
            }
        }
        if (in.empty()) return;
        const std::shared_lock together(under_way_);
        judge(in, out);
    }

  private:
    void judge(std::span<const Candidate* const> candidates, std::span<Result* const> results) {
        change(add_, candidates);
        gate_->evaluate(candidates, results);
        change(remove_, candidates);
    }
    // A row more or less for each, in the file when it returns.
    void change(Statement& statement, std::span<const Candidate* const> candidates) {
        const std::scoped_lock lock(mutex_);
        take(run_sql(database_.get(), "BEGIN IMMEDIATE"));
        for (const Candidate* candidate : candidates)
            take(statement.with(candidate->index).with(gate_->name()).run());
        take(run_sql(database_.get(), "COMMIT"));
    }
    std::uint64_t times_of(const Candidate& candidate) {
        const std::scoped_lock lock(mutex_);
        const bool is_there = take(find_.with(candidate.index).with(gate_->name()).step());
        if (!is_there) return 0;
        const std::uint64_t times = find_.number();
        take(find_.step());
        return times;
    }
    // What cannot be written down is not judged; the search ends, as it does where its archive fails.
    template <class T> static T take(Expected<T> made) {
        if (!made) throw std::runtime_error(message(made.error()));
        if constexpr (!std::is_void_v<T>) return std::move(*made);
    }

    const std::unique_ptr<Gate> gate_;
    Database database_;
    Statement find_, add_, remove_;
    std::mutex mutex_;  // of the database
    std::shared_mutex under_way_;
};

}  // namespace

Expected<std::unique_ptr<Gate>> guarded(std::unique_ptr<Gate> gate, const std::string& archive) {
    if (archive.empty()) return gate;
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file_name(archive).c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    Database database(opened);
    if (code != SQLITE_OK) return fail(Errc::archive_failed, archive + ": " + sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 60'000);
    TRY(run_sql(opened,
                "CREATE TABLE IF NOT EXISTS attempt (candidate INTEGER, gate TEXT, times INTEGER, "
                "PRIMARY KEY (candidate, gate)) WITHOUT ROWID; PRAGMA synchronous = NORMAL"));
    return std::unique_ptr<Gate>(std::make_unique<GuardedGate>(std::move(gate), std::move(database)));
}

}  // namespace ptxgraft::search
