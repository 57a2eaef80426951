// Opens workloads on a worker's device, checks variants of them and times them.

#include "measure/worker/handler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/host_memory.hpp"
#include "base/try.hpp"
#include "ptxgraft/measure/policy.hpp"
#include "ptxgraft/version.h"

namespace ptxgraft::measure {
namespace {

// Machine code that somebody else has made.
class Given final : public Assembler {
  public:
    explicit Given(const Cubin& cubin) : cubin_(cubin) {}
    [[nodiscard]] std::string_view name() const override { return "given"; }
    [[nodiscard]] std::string version() const override { return cubin_.assembler; }
    [[nodiscard]] Expected<Cubin> assemble(std::string_view, const AssembleOptions&) const override {
        return cubin_;
    }

  private:
    const Cubin& cubin_;
};

// Errors of a check that only a text of another kernel brings about.
bool is_of_variant(Errc code) {
    constexpr std::array codes = {Errc::argument_count_wrong, Errc::argument_size_wrong,
                                  Errc::launch_shape_invalid, Errc::limit_not_possible};
    return std::ranges::find(codes, code) != codes.end();
}

Check rejected_check(Error error) {
    Check check;
    check.finding = error.code == Errc::out_of_memory ? Finding::fault : Finding::rejected;
    check.error = std::move(error);
    return check;
}

}  // namespace

Expected<WorkerInfo> describe_worker(const Device& device) {
    const DeviceProperties properties = TRY(device.properties());
    const Assembler& assembler = default_assembler();
    return WorkerInfo{.library = PTXGRAFT_VERSION_STRING,
                      .assembler = fmt::format("{} {}", assembler.name(), assembler.version()),
                      .driver = device.driver_version(),
                      .device = properties.name,
                      .uuid = properties.uuid,
                      .target = device.target(),
                      .l2_bytes = properties.l2_bytes,
                      .multiprocessors = properties.multiprocessors};
}

Expected<Handler::Workspace*> Handler::find(std::uint64_t key) {
    const auto at = std::ranges::find(open_, key, &Workspace::key);
    if (at == open_.end()) return fail(Errc::argument_invalid, "that workload is not open");
    open_.splice(open_.begin(), open_, at);
    return &open_.front();
}

Handler::Handler(Device device, const CheckOptions& options) : device_(std::move(device)), options_(options) {
    options_.on_step = [this](CheckStep is) { step(is); };
}

// The slowest launch of the baseline is what the launches of variants are compared with.
void Handler::step(CheckStep step) {
    if (tell_ != nullptr) (*tell_)(step == CheckStep::launch ? FramePhase::launch : FramePhase::compare, 0);
    if (counted_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (step == CheckStep::launch) {
        launched_ = now;
        ++counted_->launches;
    } else {
        counted_->seconds =
            std::max(counted_->seconds, std::chrono::duration<double>(now - launched_).count());
    }
}

Expected<Opened> Handler::open(const OpenRequest& request, const Tell& tell) {
    if (const auto known = find(request.workload)) return (*known)->opened;
    tell(FramePhase::open, 0);
    const Workload workload = TRY(Workload::parse(request.text));
    Checker checker = TRY(Checker::open(workload, device_, options_));
    Opened opened{.hash = workload.hash(), .launches = 0};
    counted_ = &opened;
    const auto check = or_out_of_memory([&] { return checker.check(checker.baseline()); });
    counted_ = nullptr;
    if (!check) return tl::unexpected(check.error());
    if (check->finding != Finding::right)
        return fail(Errc::baseline_wrong, fmt::format("it was right, and then {}", name(check->finding)));
    auto skeleton = TRY(syntax::parse(checker.baseline().ptx()));
    open_.push_front({request.workload, opened, std::move(checker), std::move(skeleton), {}});
    if (open_.size() > most_open) open_.pop_back();
    return open_.front().opened;
}

Expected<Kernel> Handler::load(const Workspace& workspace, const VariantCode& variant) const {
    const auto module = syntax::parse(variant.ptx);
    if (!module) return tl::unexpected(module.error());
    TRY(check_policy(*module, workspace.skeleton));
    const Skeleton skeleton = TRY(Skeleton::from_ptx(variant.ptx));
    GraftOptions options{.entry = variant.entry};
    if (!variant.cubin) return skeleton.graft({}, device_, options);
    const Given given(*variant.cubin);
    options.assembler = &given;
    return skeleton.graft({}, device_, options);
}

Expected<Check> Handler::check(const CheckRequest& request, const Tell& tell) {
    Workspace& workspace = *TRY(find(request.workload));
    tell(FramePhase::load, 0);
    const auto kernel = or_out_of_memory([&] { return load(workspace, request.variant); });
    if (!kernel) return rejected_check(kernel.error());
    tell_ = &tell;
    auto check = or_out_of_memory([&] { return workspace.checker.check(*kernel); });
    tell_ = nullptr;
    if (!check && (is_of_variant(check.error().code) || check.error().code == Errc::out_of_memory))
        return rejected_check(check.error());
    return check;
}

Expected<Check> Handler::health(const HealthRequest& request, const Tell& tell) {
    Workspace& workspace = *TRY(find(request.workload));
    tell_ = &tell;
    auto check = or_out_of_memory([&] { return workspace.checker.check(workspace.checker.baseline()); });
    tell_ = nullptr;
    return check;
}
Expected<Timed> Handler::time(const TimeRequest& request, const Tell& tell) {
    Workspace& workspace = *TRY(find(request.workload));
    return workspace.timekeeper.time(
        workspace.checker, request, [&](const VariantCode& variant) { return load(workspace, variant); },
        tell);
}

}  // namespace ptxgraft::measure
