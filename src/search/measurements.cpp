// Sessions, batches and measurements as rows.

#include "search/measurements.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/try.hpp"
#include "search/statement.hpp"

namespace ptxgraft::search {
namespace {

using measure::Comparison;
using measure::PoolTimingOptions;
using measure::Sample;
using measure::TimedBatch;
using measure::VariantTiming;

static_assert(std::endian::native == std::endian::little);

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY, device TEXT, uuid TEXT, target TEXT, driver TEXT,
    clock_khz INTEGER, memory_clock_khz INTEGER, clock INTEGER, rounds INTEGER, sigma REAL, bias REAL, p REAL,
    milliseconds REAL, event_milliseconds REAL, roofline_milliseconds REAL, batch INTEGER, shared INTEGER,
    moved TEXT);
CREATE TABLE IF NOT EXISTS batch (id INTEGER PRIMARY KEY, session INTEGER, tier INTEGER, seed INTEGER,
    rounds INTEGER, noisy_rounds INTEGER, least_effect REAL, baseline_milliseconds REAL, shared INTEGER,
    samples BLOB);
CREATE TABLE IF NOT EXISTS measurement (candidate INTEGER, batch INTEGER, number INTEGER, status INTEGER,
    verdict INTEGER, n INTEGER, ratio REAL, low REAL, high REAL, p REAL, superiority REAL,
    chosen_verdict INTEGER, chosen_n INTEGER, chosen_ratio REAL, chosen_low REAL, chosen_high REAL,
    chosen_p REAL,
    chosen_superiority REAL, milliseconds REAL, PRIMARY KEY (batch, number)) WITHOUT ROWID;
INSERT OR REPLACE INTO about VALUES ('timed', 1);
)";

// ---- samples

// The fields of Sample in their order, in 32 bytes.
constexpr std::size_t sample_bytes = 32;

// Calls visit(field) for each.
template <class S, class Visit> void visit_fields(S& sample, const Visit& visit) {
    visit(sample.milliseconds), visit(sample.megahertz), visit(sample.throttled), visit(sample.round);
    visit(sample.order), visit(sample.variant), visit(sample.inputs), visit(sample.place);
    visit(sample.celsius), visit(sample.purpose), visit(sample.repeated);
}
std::vector<std::byte> bytes_of(std::span<const Sample> samples) {
    std::vector<std::byte> bytes(samples.size() * sample_bytes);
    for (std::size_t k = 0; k < samples.size(); ++k) {
        std::byte* to = bytes.data() + k * sample_bytes;
        visit_fields(samples[k], [&](const auto& field) {
            std::memcpy(to, &field, sizeof field);
            to += sizeof field;
        });
    }
    return bytes;
}
Expected<std::vector<Sample>> samples_of(std::span<const std::byte> bytes) {
    if (bytes.size() % sample_bytes != 0)
        return fail(Errc::archive_malformed, std::string("samples are cut off"));
    std::vector<Sample> samples(bytes.size() / sample_bytes);
    for (std::size_t k = 0; k < samples.size(); ++k) {
        const std::byte* from = bytes.data() + k * sample_bytes;
        visit_fields(samples[k], [&](auto& field) {
            std::memcpy(&field, from, sizeof field);
            from += sizeof field;
        });
        if (!(samples[k].milliseconds > 0) || samples[k].purpose > Sample::Purpose::report ||
            samples[k].repeated > Sample::Repeated::slow_clock)
            return fail(Errc::archive_malformed, std::string("a sample is none"));
    }
    return samples;
}

// ---- reading

template <class Enum> Expected<Enum> enumerator(std::uint64_t number, Enum last, const char* of) {
    if (number <= static_cast<std::uint64_t>(last)) return static_cast<Enum>(number);
    return fail(Errc::archive_malformed, std::string(of) + " is none");
}

void bind(Statement& add, const Comparison& c) {
    add.with(static_cast<std::uint64_t>(c.verdict)).with(std::uint64_t{c.rounds}).with(c.ratio);
    add.with(c.low).with(c.high).with(c.p).with(c.superiority);
}
Expected<Comparison> comparison_of(Statement& rows) {
    Comparison made;
    made.verdict = TRY(enumerator(rows.number(), measure::Verdict::unsure, "a verdict"));
    made.rounds = static_cast<std::uint32_t>(rows.number());
    made.ratio = rows.real();
    made.low = rows.real();
    made.high = rows.real();
    made.p = rows.real();
    made.superiority = rows.real();
    return made;
}

Expected<std::vector<MeasuredSession>> read_sessions(sqlite3* database) {
    std::vector<MeasuredSession> all;
    Statement rows(database, "SELECT * FROM session ORDER BY id");
    while (TRY(rows.step())) {
        MeasuredSession& made = all.emplace_back();
        made.id = rows.number();
        made.device = rows.text();
        made.uuid = rows.text();
        made.target = rows.text();
        made.driver = rows.text();
        made.clock_khz = static_cast<std::uint32_t>(rows.number());
        made.memory_clock_khz = static_cast<std::uint32_t>(rows.number());
        made.clock = TRY(enumerator(rows.number(), measure::ClockSource::nvml, "a clock"));
        made.calibration.rounds = static_cast<std::uint32_t>(rows.number());
        made.calibration.sigma = rows.real();
        made.calibration.bias = rows.real();
        made.calibration.p = rows.real();
        made.calibration.milliseconds = rows.real();
        made.event_milliseconds = rows.real();
        made.roofline_milliseconds = rows.real();
        made.batch = static_cast<std::uint32_t>(rows.number());
        made.is_shared = rows.number() != 0;
        made.moved = rows.text();
    }
    return all;
}
Expected<std::vector<MeasuredBatch>> read_batches(sqlite3* database) {
    std::vector<MeasuredBatch> all;
    Statement rows(database, "SELECT * FROM batch ORDER BY id");
    while (TRY(rows.step())) {
        MeasuredBatch& made = all.emplace_back();
        made.id = rows.number();
        made.session = rows.number();
        made.tier = TRY(enumerator(rows.number(), measure::Tier::final_, "a tier"));
        made.seed = rows.number();
        made.rounds = static_cast<std::uint32_t>(rows.number());
        made.noisy_rounds = static_cast<std::uint32_t>(rows.number());
        made.least_effect = rows.real();
        made.baseline_milliseconds = rows.real();
        made.is_shared = rows.number() != 0;
        made.samples = TRY(samples_of(rows.blob()));
    }
    return all;
}
Expected<std::vector<Measurement>> read_rows(sqlite3* database) {
    std::vector<Measurement> all;
    Statement rows(database, "SELECT * FROM measurement ORDER BY batch, number");
    while (TRY(rows.step())) {
        Measurement& made = all.emplace_back();
        made.candidate = rows.number();
        made.batch = rows.number();
        made.number = static_cast<std::uint16_t>(rows.number());
        made.status = TRY(enumerator(rows.number(), measure::TimingStatus::crashed, "a status"));
        made.comparison = TRY(comparison_of(rows));
        made.selection = TRY(comparison_of(rows));
        made.milliseconds = rows.real();
    }
    return all;
}

}  // namespace

Expected<Measurements> read_measurements(sqlite3* database) {
    Statement find(database,
                   "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'batch', "
                   "'measurement')");
    TRY(find.step());
    if (find.number() != 3) return Measurements{};
    Measurements made;
    made.sessions = TRY(read_sessions(database));
    made.batches = TRY(read_batches(database));
    made.measurements = TRY(read_rows(database));
    return made;
}

// ---- writing

struct MeasurementLog::Data {
    explicit Data(sqlite3* opened)
        : database(opened),
          add_session(opened,
                      "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON "
                      "CONFLICT DO UPDATE SET moved = excluded.moved, shared = max(shared, excluded.shared)"),
          add_batch(opened, "INSERT INTO batch VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
          add_measurement(
              opened,
              "INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {}

    std::unique_ptr<sqlite3, CloseDatabase> database;
    Statement add_session, add_batch, add_measurement;
    std::mutex mutex;

    Expected<void> add(const TimedBatch& batch) {
        const measure::SessionFacts& facts = batch.session;
        const measure::Calibration& c = facts.calibration;
        return add_session.with(batch.session_id)
            .with(std::string_view(facts.device.name))
            .with(std::string_view(facts.device.uuid))
            .with(std::string_view(facts.device.target))
            .with(std::string_view(facts.device.driver_version))
            .with(std::uint64_t{facts.device.clock_khz})
            .with(std::uint64_t{facts.device.memory_clock_khz})
            .with(static_cast<std::uint64_t>(facts.clock))
            .with(std::uint64_t{c.rounds})
            .with(c.sigma)
            .with(c.bias)
            .with(c.p)
            .with(c.milliseconds)
            .with(facts.event_milliseconds)
            .with(facts.roofline_milliseconds)
            .with(std::uint64_t{facts.batch})
            .with(std::uint64_t{facts.is_shared || batch.report.is_shared})
            .with(std::string_view(batch.closing ? batch.closing->moved : std::string()))
            .run();
    }
    Expected<void> add(const TimedBatch& batch, const PoolTimingOptions& options) {
        const measure::Report& report = batch.report;
        return add_batch.with(batch.session_id)
            .with(static_cast<std::uint64_t>(options.timing.tier))
            .with(options.protocol.seed)
            .with(std::uint64_t{report.rounds})
            .with(std::uint64_t{report.noisy_rounds})
            .with(report.least_effect)
            .with(report.baseline_milliseconds)
            .with(std::uint64_t{report.is_shared})
            .with(std::span<const std::byte>(bytes_of(report.samples)))
            .run();
    }
    Expected<void> add(std::uint64_t candidate, std::uint64_t batch, std::uint64_t number,
                       const VariantTiming& timing) {
        Statement& add = add_measurement;
        add.with(candidate).with(batch).with(number).with(static_cast<std::uint64_t>(timing.status));
        bind(add, timing.comparison);
        bind(add, timing.selection);
        return add.with(timing.milliseconds).run();
    }
    Expected<void> add_all(std::span<const std::uint64_t> candidates, const measure::PoolTiming& timing,
                           const PoolTimingOptions& options) {
        for (const TimedBatch& batch : timing.batches) {
            TRY(add(batch));
            TRY(add(batch, options));
            const auto id = static_cast<std::uint64_t>(sqlite3_last_insert_rowid(database.get()));
            for (std::size_t k = 0; k < batch.variants.size(); ++k)
                TRY(add(candidates[batch.variants[k]], id, k + 1, batch.report.variants[k]));
        }
        return {};
    }
};

MeasurementLog::MeasurementLog(std::unique_ptr<Data> data) : data_(std::move(data)) {}
MeasurementLog::~MeasurementLog() = default;

Expected<std::unique_ptr<MeasurementLog>> MeasurementLog::open(const std::string& archive) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(archive.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    std::unique_ptr<sqlite3, CloseDatabase> database(opened);
    if (code != SQLITE_OK) return fail(Errc::archive_failed, archive + ": " + sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 60'000);
    TRY(run_sql(opened, schema));
    TRY(run_sql(opened, "PRAGMA synchronous = NORMAL"));
    return std::unique_ptr<MeasurementLog>(new MeasurementLog(std::make_unique<Data>(database.release())));
}

Expected<void> MeasurementLog::add(std::span<const std::uint64_t> candidates,
                                   const measure::PoolTiming& timing, const PoolTimingOptions& options) {
    if (timing.batches.empty()) return {};
    const std::scoped_lock lock(data_->mutex);
    sqlite3* const database = data_->database.get();
    TRY(run_sql(database, "BEGIN IMMEDIATE"));
    const auto added = data_->add_all(candidates, timing, options);
    if (!added) {
        static_cast<void>(run_sql(database, "ROLLBACK"));
        return added;
    }
    return run_sql(database, "COMMIT");
}

}  // namespace ptxgraft::search
