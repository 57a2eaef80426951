// Frames: what is written is read again; what is cut, too long or means nothing is an error, and no more.
#include "measure/worker/frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include <random>
#include <vector>

namespace ptxgraft::measure {
namespace {

using testing::HasSubstr;

std::string_view payload_of(std::string_view frame) { return frame.substr(sizeof(FrameHeader)); }

Check a_check() {
    Check check;
    check.finding = Finding::wrong;
    check.worst = 2.5, check.got = -1, check.wanted = 3, check.allowed = 1.6;
    check.tensor = "y", check.element = 7;
    check.where = {1, Regime::large, 42};
    check.cases = 3, check.instructions = 12345;
    check.error = fail(Errc::data_race, Span{3, 5}, "two threads").value();
    return check;
}

TEST(Frames, HeadersAreRead) {
    const std::string frame = encode(9, HealthRequest{7});
    const auto header = decode_header(frame);
    ASSERT_TRUE(header) << describe(header.error());
    EXPECT_EQ(header->id, 9u);
    EXPECT_EQ(header->kind, FrameKind::health);
    EXPECT_EQ(header->length, frame.size() - sizeof(FrameHeader));
    EXPECT_EQ(decode_health(payload_of(frame))->workload, 7u);
}

TEST(Frames, BytesAreFixed) {
    const std::string frame = encode(0x0102030405060708u, ProgressFrame{FramePhase::launch, 3, 2});
    EXPECT_EQ(frame, std::string("\x0e\0\0\0\x01\0\x06\0\x08\x07\x06\x05\x04\x03\x02\x01"
                                 "\x02\0\x03\0\0\0\0\0\0\0\x02\0\0\0",
                                 30));
}

TEST(Frames, OthersHeadersAreRefused) {
    const std::string good = encode(9, HealthRequest{7});
    const auto expect = [&](std::size_t at, char byte, std::string_view says) {
        std::string bad = good;
        bad[at] = byte;
        const auto header = decode_header(bad);
        ASSERT_FALSE(header) << at;
        EXPECT_EQ(header.error().code, Errc::frame_malformed);
        EXPECT_THAT(describe(header.error()), HasSubstr(std::string(says)));
    };
    expect(3, '\x7f', "more than a frame may have");
    expect(4, 2, "version 2");
    expect(6, 0, "kind 0");
    expect(6, 9, "kind 9");
    expect(7, 1, "kind");
    EXPECT_FALSE(decode_header(std::string_view(good).substr(0, 15)));
    EXPECT_FALSE(decode_header({}));
}

TEST(Frames, ContentsComeBack) {
    const WorkerInfo info{"1.2", "ptxas 13", "13.0", "a GPU", "GPU-1", "sm_90a", 50 << 20, 132, false};
    EXPECT_EQ(*decode_hello(payload_of(encode(info))), info);
    const auto open = decode_open(payload_of(encode(1, OpenRequest{5, "{}"})));
    EXPECT_EQ(open->text, "{}");
    Cubin cubin;
    cubin.image.resize(3, std::byte{7});
    const auto request = decode_check(
        payload_of(encode(1, 5, VariantCode{"text", "k", std::make_shared<const Cubin>(cubin)})));
    ASSERT_TRUE(request) << describe(request.error());
    EXPECT_EQ(request->variant.ptx, "text");
    EXPECT_EQ(request->variant.entry, "k");
    EXPECT_EQ(request->variant.cubin->image, cubin.image);
    EXPECT_EQ(decode_opened(payload_of(encode(1, Expected<Opened>(Opened{1, 2, 0.5}))))->seconds, 0.5);
    EXPECT_EQ(*decode_bye(payload_of(encode_bye("why"))), "why");
    const Check check = a_check();
    const auto got = decode_checked(payload_of(encode(1, Expected<Check>(check))));
    ASSERT_TRUE(got) << describe(got.error());
    EXPECT_EQ(got->finding, check.finding);
    EXPECT_EQ(got->worst, check.worst);
    EXPECT_EQ(got->where.seed, 42u);
    EXPECT_EQ(got->error.span, check.error.span);
    EXPECT_EQ(*got->error.detail, "two threads");
}

TimeRequest a_request() {
    TimeRequest request{.workload = 5, .requests = 7};
    request.variants = {{"text", "k", {}}, {"other", "k", {}}};
    request.timing = {.tier = Tier::race, .rounds = 12, .groups = 3};
    request.protocol.seed = 9, request.protocol.lock_folder = "/somewhere";
    request.protocol.stability.least_p = 0.25;
    return request;
}
// With a number in each place that is easily taken for another.
Timed a_timing() {
    Timed timed{.session_id = 77};
    Report& report = timed.report;
    report.variants.resize(2);
    report.variants[0].status = TimingStatus::hang, report.variants[0].why = "it hung";
    report.variants[1].comparison = {.verdict = Verdict::faster, .rounds = 8, .ratio = 0.9, .low = 0.8};
    report.variants[1].selection.high = std::numeric_limits<double>::infinity();
    report.rounds = 16, report.noisy_rounds = 2, report.is_shared = true;
    report.ended_by = fail(Errc::baseline_wrong, std::string("so")).value();
    report.in_flight = 1;
    for (int k = 0; k < 3; ++k)
        report.samples.push_back({.milliseconds = 0.5f + static_cast<float>(k),
                                  .megahertz = 1980,
                                  .throttled = 4,
                                  .round = static_cast<std::uint32_t>(k),
                                  .order = 3,
                                  .variant = 2,
                                  .inputs = 5,
                                  .place = 6,
                                  .celsius = 41,
                                  .purpose = Sample::Purpose::cold,
                                  .repeated = Sample::Repeated::slow_clock});
    timed.session.device.uuid = "GPU-1", timed.session.device.l2_bytes = 50 << 20;
    timed.session.calibration = {.rounds = 32, .sigma = 0.002, .milliseconds = 0.5};
    timed.session.clock = ClockSource::nvml, timed.session.batch = 4;
    timed.closing = Closing{.calibration = {.rounds = 31}, .moved = "warmer"};
    return timed;
}

TEST(Frames, TimingsComeBack) {
    const auto request = decode_time(payload_of(encode(1, a_request())));
    ASSERT_TRUE(request) << describe(request.error());
    EXPECT_EQ(request->workload, 5u);
    ASSERT_EQ(request->variants.size(), 2u);
    EXPECT_EQ(request->variants[1].ptx, "other");
    EXPECT_EQ(request->timing.tier, Tier::race);
    EXPECT_EQ(request->timing.groups, 3u);
    EXPECT_EQ(request->requests, 7u);
    EXPECT_EQ(bytes_of(request->protocol), bytes_of(a_request().protocol));
    EXPECT_NE(bytes_of(request->protocol), bytes_of(Protocol{}));

    const std::string frame = encode(1, Expected<Timed>(a_timing()));
    const auto timed = decode_timed(payload_of(frame));
    ASSERT_TRUE(timed) << describe(timed.error());
    EXPECT_EQ(encode(1, timed), frame);
    EXPECT_EQ(timed->report.variants[0].why, "it hung");
    EXPECT_EQ(timed->report.variants[1].comparison.low, 0.8);
    EXPECT_EQ(timed->report.samples[2].milliseconds, 2.5f);
    EXPECT_EQ(timed->report.samples[2].place, 6u);
    EXPECT_EQ(timed->report.ended_by->code, Errc::baseline_wrong);
    EXPECT_EQ(timed->session.device.uuid, "GPU-1");
    EXPECT_EQ(timed->session.batch, 4u);
    EXPECT_EQ(timed->closing->moved, "warmer");
}

// What the bytes of a timing may not say, though they are as many as they should be.
TEST(Frames, TimingsThatMeanNothingAreRefused) {
    const auto is_read = [](const Timed& timed) {
        return decode_timed(payload_of(encode(1, Expected<Timed>(timed)))).has_value();
    };
    ASSERT_TRUE(is_read(a_timing()));
    const std::function<void(Timed&)> edits[] = {
        [](Timed& t) { t.report.variants[0].status = static_cast<TimingStatus>(9); },
        [](Timed& t) { t.report.variants[0].finding = static_cast<Finding>(11); },
        [](Timed& t) { t.report.variants[1].comparison.verdict = static_cast<Verdict>(4); },
        [](Timed& t) { t.report.variants[1].comparison.ratio = std::nan(""); },
        [](Timed& t) { t.report.variants[1].comparison.low = 2; },
        [](Timed& t) { t.report.variants[1].milliseconds = -1; },
        [](Timed& t) { t.report.samples[1].milliseconds = 0; },
        [](Timed& t) { t.report.samples[1].milliseconds = std::numeric_limits<float>::infinity(); },
        [](Timed& t) { t.report.samples[1].variant = 3; },
        [](Timed& t) { t.report.samples[1].purpose = static_cast<Sample::Purpose>(4); },
        [](Timed& t) { t.report.in_flight = 2; },
        [](Timed& t) { t.session.clock = static_cast<ClockSource>(3); }};
    for (std::size_t k = 0; k < std::size(edits); ++k) {
        Timed timed = a_timing();
        edits[k](timed);
        EXPECT_FALSE(is_read(timed)) << k;
    }
    TimeRequest request = a_request();
    request.variants.resize(most_timed + 1);
    EXPECT_FALSE(decode_time(payload_of(encode(1, request))));
    const std::string frame = encode(1, Expected<Timed>(a_timing()));
    const std::string_view whole = payload_of(frame);
    for (std::size_t size = 0; size < whole.size(); ++size) ASSERT_FALSE(decode_timed(whole.substr(0, size)));
}

TEST(Frames, ErrorsComeBackAsErrors) {
    const auto failed = decode_opened(
        payload_of(encode(1, Expected<Opened>(fail(Errc::template_unknown, std::string("x"))))));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::template_unknown);
}

TEST(Frames, CutAndLongPayloadsAreRefused) {
    const std::string frame = encode(1, Expected<Check>(a_check()));
    const std::string_view whole = payload_of(frame);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto cut = decode_checked(whole.substr(0, size));
        ASSERT_FALSE(cut) << size;
        EXPECT_EQ(cut.error().code, Errc::frame_malformed);
    }
    EXPECT_FALSE(decode_checked(std::string(whole) + '\0'));
}

// Names of enumerators go by their numbers.
TEST(Frames, NumbersOfNoEnumeratorAreRefused) {
    std::string frame = encode(1, Expected<Check>(a_check()));
    frame[sizeof(FrameHeader) + 1] = 11;
    EXPECT_FALSE(decode_checked(payload_of(frame)));
    std::string progress = encode(1, ProgressFrame{FramePhase::compare, 1});
    progress[sizeof(FrameHeader)] = 5;
    EXPECT_FALSE(decode_progress(payload_of(progress)));
}

// Every reader on everything, with some bytes changed: no more is read than there is (the sanitizers look),
// and what is read means something.
void read_as_all(std::string_view bytes) {
    if (const auto header = decode_header(bytes)) { EXPECT_LE(header->length, longest_payload); }
    const std::string_view payload = bytes.substr(std::min(bytes.size(), sizeof(FrameHeader)));
    const auto fits = [&](std::size_t size) { EXPECT_LE(size, payload.size()); };
    if (const auto hello = decode_hello(payload)) fits(hello->library.size());
    if (const auto open = decode_open(payload)) fits(open->text.size());
    if (const auto check = decode_check(payload)) fits(check->variant.ptx.size());
    if (const auto time = decode_time(payload)) fits(time->variants.size());
    if (const auto bye = decode_bye(payload)) fits(bye->size());
    if (const auto timed = decode_timed(payload)) fits(timed->report.samples.size());
    if (const auto progress = decode_progress(payload)) { EXPECT_LE(progress->phase, FramePhase::session); }
    if (const auto opened = decode_opened(payload)) { EXPECT_GE(opened->seconds, 0); }
    static_cast<void>(decode_health(payload));
    const auto check = decode_checked(payload);
    if (!check) return;
    EXPECT_LE(check->finding, Finding::crashed);
    EXPECT_LE(check->where.regime, Regime::special);
}

TEST(Frames, JunkIsRefusedWithoutHarm) {
    std::mt19937 random(1);
    const std::vector<std::string> frames = {
        encode(1, Expected<Check>(a_check())),
        encode(WorkerInfo{"1.2", "ptxas 13", "13.0", "a GPU", "GPU-1", "sm_90a", 1, 2, false}),
        encode(1, OpenRequest{5, "{}"}),
        encode(1, 5, VariantCode{"text", "k", std::make_shared<const Cubin>()}),
        encode(1, a_request()),
        encode(1, Expected<Timed>(a_timing())),
        encode(1, ProgressFrame{FramePhase::launch, 1}),
        encode(1, Expected<Opened>(fail(Errc::template_unknown, std::string("x")))),
        encode_bye("why")};
    for (int k = 0; k < 100'000; ++k) {
        std::string bytes = frames[random() % frames.size()];
        for (int edits = static_cast<int>(random() % 5); edits > 0; --edits)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
        read_as_all(bytes);
    }
}

}  // namespace
}  // namespace ptxgraft::measure
