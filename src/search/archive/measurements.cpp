// Sessions, batches and measurements as rows.

#include "search/archive/measurements.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/try.hpp"
#include "search/archive/statement.hpp"

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
    moved TEXT, checksum INTEGER);
CREATE TABLE IF NOT EXISTS batch (id INTEGER PRIMARY KEY, session INTEGER, tier INTEGER, seed INTEGER,
    rounds INTEGER, noisy_rounds INTEGER, least_effect REAL, baseline_milliseconds REAL, shared INTEGER,
    samples BLOB, checksum INTEGER);
CREATE TABLE IF NOT EXISTS measurement (candidate INTEGER, batch INTEGER, number INTEGER, status INTEGER,
    verdict INTEGER, n INTEGER, ratio REAL, low REAL, high REAL, p REAL, superiority REAL,
    chosen_verdict INTEGER, chosen_n INTEGER, chosen_ratio REAL, chosen_low REAL, chosen_high REAL,
    chosen_p REAL,
    chosen_superiority REAL, milliseconds REAL, checksum INTEGER, PRIMARY KEY (batch, number)) WITHOUT ROWID;
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
        TRY(rows.check_row("session"));
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
        TRY(rows.check_row("batch"));
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
        TRY(rows.check_row("a measurement of candidate"));
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

namespace {

Expected<void> prepare(sqlite3* database) {
    TRY(run_sql(database, schema));
    for (const char* table : {"session", "batch", "measurement"})
        TRY(add_column(database, table, "checksum", "INTEGER"));
    return {};
}

// Of tables that are prepared.
class Writer {
  public:
    explicit Writer(sqlite3* database)
        : database_(database),
          add_session_(
              database,
              "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?)"),
          find_shared_(database, "SELECT shared FROM session WHERE id = ?"),
          add_batch_(database, "INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
          last_batch_(database, "SELECT coalesce(max(id), 0) FROM batch"),
          add_measurement_(
              database,
              "INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?)") {}

    // In the place of what was known of it; that another process was there stays.
    Expected<void> add(const MeasuredSession& session) {
        const bool was_shared = TRY(find_shared_.with(session.id).step()) && find_shared_.number() != 0;
        find_shared_ = Statement(database_, "SELECT shared FROM session WHERE id = ?");
        const measure::Calibration& c = session.calibration;
        return add_session_.with(session.id)
            .with(std::string_view(session.device))
            .with(std::string_view(session.uuid))
            .with(std::string_view(session.target))
            .with(std::string_view(session.driver))
            .with(std::uint64_t{session.clock_khz})
            .with(std::uint64_t{session.memory_clock_khz})
            .with(static_cast<std::uint64_t>(session.clock))
            .with(std::uint64_t{c.rounds})
            .with(c.sigma)
            .with(c.bias)
            .with(c.p)
            .with(c.milliseconds)
            .with(session.event_milliseconds)
            .with(session.roofline_milliseconds)
            .with(std::uint64_t{session.batch})
            .with(std::uint64_t{session.is_shared || was_shared})
            .with(std::string_view(session.moved))
            .with_checksum()
            .run();
    }
    Expected<std::uint64_t> next_batch() {
        TRY(last_batch_.step());
        const std::uint64_t next = last_batch_.number() + 1;
        TRY(last_batch_.step());
        return next;
    }
    Expected<void> add(const MeasuredBatch& batch) {
        return add_batch_.with(batch.id)
            .with(batch.session)
            .with(static_cast<std::uint64_t>(batch.tier))
            .with(batch.seed)
            .with(std::uint64_t{batch.rounds})
            .with(std::uint64_t{batch.noisy_rounds})
            .with(batch.least_effect)
            .with(batch.baseline_milliseconds)
            .with(std::uint64_t{batch.is_shared})
            .with(std::span<const std::byte>(bytes_of(batch.samples)))
            .with_checksum()
            .run();
    }
    Expected<void> add(const Measurement& one) {
        Statement& add = add_measurement_;
        add.with(one.candidate).with(one.batch).with(std::uint64_t{one.number});
        add.with(static_cast<std::uint64_t>(one.status));
        bind(add, one.comparison);
        bind(add, one.selection);
        return add.with(one.milliseconds).with_checksum().run();
    }

  private:
    sqlite3* database_;
    Statement add_session_, find_shared_, add_batch_, last_batch_, add_measurement_;
};

MeasuredSession session_of(const TimedBatch& batch) {
    const measure::SessionFacts& facts = batch.session;
    return {.id = batch.session_id,
            .device = facts.device.name,
            .uuid = facts.device.uuid,
            .target = facts.device.target,
            .driver = facts.device.driver_version,
            .clock_khz = facts.device.clock_khz,
            .memory_clock_khz = facts.device.memory_clock_khz,
            .clock = facts.clock,
            .calibration = facts.calibration,
            .event_milliseconds = facts.event_milliseconds,
            .roofline_milliseconds = facts.roofline_milliseconds,
            .batch = facts.batch,
            .is_shared = facts.is_shared || batch.report.is_shared,
            .moved = batch.closing ? batch.closing->moved : std::string()};
}
MeasuredBatch batch_of(const TimedBatch& batch, const PoolTimingOptions& options, std::uint64_t id) {
    const measure::Report& report = batch.report;
    return {.id = id,
            .session = batch.session_id,
            .tier = options.timing.tier,
            .seed = options.protocol.seed,
            .rounds = report.rounds,
            .noisy_rounds = report.noisy_rounds,
            .least_effect = report.least_effect,
            .baseline_milliseconds = report.baseline_milliseconds,
            .is_shared = report.is_shared,
            .samples = report.samples};
}

}  // namespace

Expected<void> write_measurements(sqlite3* database, const Measurements& measurements) {
    TRY(prepare(database));
    Writer writer(database);
    for (const MeasuredSession& session : measurements.sessions) TRY(writer.add(session));
    for (const MeasuredBatch& batch : measurements.batches) TRY(writer.add(batch));
    for (const Measurement& one : measurements.measurements) TRY(writer.add(one));
    return {};
}

struct MeasurementLog::Data {
    explicit Data(std::unique_ptr<sqlite3, CloseDatabase> opened)
        : database(std::move(opened)), writer(database.get()) {}

    std::unique_ptr<sqlite3, CloseDatabase> database;
    Writer writer;
    std::mutex mutex;

    Expected<void> add_all(std::span<const std::uint64_t> candidates, const measure::PoolTiming& timing,
                           const PoolTimingOptions& options) {
        for (const TimedBatch& batch : timing.batches) {
            TRY(writer.add(session_of(batch)));
            const std::uint64_t id = TRY(writer.next_batch());
            TRY(writer.add(batch_of(batch, options, id)));
            for (std::size_t k = 0; k < batch.variants.size(); ++k) {
                const VariantTiming& told = batch.report.variants[k];
                TRY(writer.add(Measurement{.candidate = candidates[batch.variants[k]],
                                           .batch = id,
                                           .number = static_cast<std::uint16_t>(k + 1),
                                           .status = told.status,
                                           .comparison = told.comparison,
                                           .selection = told.selection,
                                           .milliseconds = told.milliseconds}));
            }
        }
        return {};
    }
};

MeasurementLog::MeasurementLog(std::unique_ptr<Data> data) : data_(std::move(data)) {}
MeasurementLog::~MeasurementLog() = default;

Expected<std::unique_ptr<MeasurementLog>> MeasurementLog::open(const std::string& archive) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file_name(archive).c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    std::unique_ptr<sqlite3, CloseDatabase> database(opened);
    if (code != SQLITE_OK) return fail(Errc::archive_failed, archive + ": " + sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 60'000);
    TRY(prepare(opened));
    TRY(run_sql(opened, "PRAGMA synchronous = NORMAL"));
    return std::unique_ptr<MeasurementLog>(new MeasurementLog(std::make_unique<Data>(std::move(database))));
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
