// Traces and profiles of launches on an emulator, in C.

#include <deque>

#include "base/try.hpp"
#include "capi/objects.hpp"
#include "capi/observe.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

struct ptxgraft_profile {
    std::vector<ProfileLine> lines;
    std::vector<ProfileClass> classes;
    std::vector<std::string> texts = {};  // of the lines
    std::vector<std::string> names = {};  // of the classes
};

namespace ptxgraft::capi {
namespace {

// All that were made: they are reachable for as long as a kernel may tell them of a launch.
std::deque<Observation>& observations() {
    static auto* const all = new std::deque<Observation>;
    return *all;
}
std::mutex observations_mutex;

EmulatorTrace::Filter filter_of(const ptxgraft_device_options& given) {
    EmulatorTrace::Filter filter;
    const auto& [x, y, z] = given.trace_block;
    if ((given.trace_some & 1) != 0) filter.block = Dim3{x, y, z};
    if ((given.trace_some & 2) != 0) filter.warp = given.trace_warp;
    return filter;
}

}  // namespace

std::shared_ptr<Observation> Observation::make(const ptxgraft_device_options& given) {
    if (given.trace == nullptr && given.profile == 0) return nullptr;
    const std::scoped_lock lock(observations_mutex);
    Observation& made = observations().emplace_back();
    if (given.profile != 0) made.profile_ = std::make_unique<EmulatorProfile>();
    if (given.trace != nullptr)
        made.trace_ = std::make_shared<EmulatorTrace>(
            filter_of(given), [tell = given.trace, payload = given.payload](std::string_view line) {
                tell(line.data(), line.size(), payload);
            });
    return {&made, [](Observation* of) { of->end(); }};
}

void Observation::step(const ObservedStep& step) {
    const std::scoped_lock lock(mutex_);
    if (const auto trace = trace_) trace->step(step);
    if (profile_ != nullptr) profile_->step(step);
}

void Observation::end() {
    const std::scoped_lock lock(mutex_);
    trace_.reset();
    profile_.reset();
}

bool Observation::clear() {
    const std::scoped_lock lock(mutex_);
    if (profile_ == nullptr) return false;
    profile_ = std::make_unique<EmulatorProfile>();
    return true;
}

}  // namespace ptxgraft::capi

namespace {

tl::unexpected<Error> no_profile() {
    return fail(Errc::argument_invalid,
                std::string("device keeps no profile: it was not opened with profile = 1"));
}

ptxgraft_profile snapshot_of(const EmulatorProfile& profile) {
    ptxgraft_profile made{profile.lines(), profile.classes()};
    for (const ProfileLine& line : made.lines) made.texts.emplace_back(line.text);
    for (const ProfileClass& one : made.classes) made.names.emplace_back(one.name);
    return made;
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_profile_create(ptxgraft_profile** profile, const ptxgraft_device* device) {
    return call({{profile, "profile"}, {device, "device"}}, [&]() -> Expected<void> {
        auto made = std::make_unique<ptxgraft_profile>();
        if (device->observation == nullptr ||
            !device->observation->read([&](const EmulatorProfile& p) { *made = snapshot_of(p); }))
            return no_profile();
        *profile = made.release();
        return {};
    });
}

void ptxgraft_profile_destroy(ptxgraft_profile* profile) { delete profile; }

ptxgraft_status ptxgraft_device_clear_profile(ptxgraft_device* device) {
    return call({{device, "device"}}, [&]() -> Expected<void> {
        if (device->observation == nullptr || !device->observation->clear()) return no_profile();
        return {};
    });
}

size_t ptxgraft_profile_get_line_count(const ptxgraft_profile* profile) {
    return get(profile, "profile", size_t{0}, [](const ptxgraft_profile& p) { return p.lines.size(); });
}

ptxgraft_status ptxgraft_profile_get_line(ptxgraft_profile_line* info, const ptxgraft_profile* profile,
                                          size_t index) {
    return call({{info, "info"}, {profile, "profile"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(index, profile->lines.size(), "line"));
        const ProfileLine& l = profile->lines[index];
        return capi::give_info(info, {sizeof(*info), profile->texts[index].c_str(), l.warps, l.lanes,
                                      l.wavefronts, l.ideal_wavefronts, l.sectors, l.ideal_sectors,
                                      l.shared_bytes, l.global_bytes, l.line, 0});
    });
}

size_t ptxgraft_profile_get_class_count(const ptxgraft_profile* profile) {
    return get(profile, "profile", size_t{0}, [](const ptxgraft_profile& p) { return p.classes.size(); });
}

ptxgraft_status ptxgraft_profile_get_class(ptxgraft_profile_class* info, const ptxgraft_profile* profile,
                                           size_t index) {
    return call({{info, "info"}, {profile, "profile"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(index, profile->classes.size(), "class"));
        const ProfileClass& c = profile->classes[index];
        return capi::give_info(info, {sizeof(*info), profile->names[index].c_str(), c.warps, c.lanes,
                                      c.shared_bytes, c.global_bytes});
    });
}

}  // extern "C"
