// Any bytes are a frame or an error, on both sides of the worker protocol, and what is read is within bounds.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "measure/worker/frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ptxgraft;
    using namespace ptxgraft::measure;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto header = decode_header(bytes);
    if (!header) {
        if (header.error().code != Errc::frame_malformed) std::abort();
        return 0;
    }
    if (header->length > longest_payload) std::abort();
    const std::string_view payload = bytes.substr(sizeof(FrameHeader));
    const auto fits = [&](std::size_t part) {
        if (part > payload.size()) std::abort();
    };
    if (const auto hello = decode_hello(payload)) fits(hello->library.size() + hello->device.size());
    if (const auto open = decode_open(payload)) fits(open->text.size());
    if (const auto check = decode_check(payload)) fits(check->variant.ptx.size());
    if (const auto request = decode_time(payload)) fits(request->variants.size());
    if (const auto progress = decode_progress(payload); progress && progress->phase > FramePhase::session)
        std::abort();
    if (const auto check = decode_checked(payload)) {
        fits(check->tensor.size());
        if (name(check->finding).empty() || name(check->where.regime).empty()) std::abort();
    }
    (void)decode_health(payload);
    (void)decode_opened(payload);
    if (const auto timed = decode_timed(payload)) {
        fits(timed->report.samples.size());
        for (const Sample& sample : timed->report.samples)
            if (sample.variant > timed->report.variants.size()) std::abort();
    }
    (void)decode_bye(payload);
    return 0;
}
