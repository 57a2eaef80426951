// The launch of a workload that is timed: its first shape with usual inputs, and what the reference says of
// each seed.

#include <algorithm>
#include <map>
#include <mutex>

#include "base/try.hpp"
#include "measure/check/regimes.hpp"
#include "ptxgraft/measure/timing.hpp"
#include "template/comparison.hpp"
#include "template/launches.hpp"

namespace ptxgraft::measure {
namespace {

using templates::Elements;

// Right results by seed: the reference runs once for each.
class Reference {
  public:
    static Expected<std::shared_ptr<Reference>> make(const Checker& checker) {
        const WorkloadOptions& said = checker.workload().options();
        const std::string& target = checker.skeleton().target();
        Skeleton skeleton = checker.workload().reference();
        if (skeleton.target() != target)
            skeleton = TRY(checker.workload().from().reference(said.choices, target, said.cuda));
        templates::Launches launches =
            TRY(templates::launches_of(checker.workload().from(), checker.device(),
                                       {said.shapes[0], said.choices, said.numbers, said.null}));
        Kernel kernel =
            TRY(skeleton.graft(said.wanted, checker.device(), {.entry = launches.reference.entry}));
        TemplateTolerance tolerance = TRY(checker.workload().from().tolerance(said.shapes[0], said.choices));
        tolerance.relative += said.relative, tolerance.absolute += said.absolute;
        return std::make_shared<Reference>(checker, std::move(launches), std::move(kernel), tolerance);
    }
    Reference(const Checker& checker, templates::Launches launches, Kernel kernel,
              const TemplateTolerance& tolerance)
        : workload_(checker.workload()),
          device_(checker.device()),
          launches_(std::move(launches)),
          kernel_(std::move(kernel)),
          tolerance_(tolerance) {}

    [[nodiscard]] const TemplateLaunch& launch() const { return launches_.kernel; }

    Expected<bool> is_right(std::uint64_t seed, std::span<const std::vector<std::byte>> tensors) {
        const std::lock_guard lock(mutex_);
        auto known = wanted_.find(seed);
        if (known == wanted_.end()) {
            Results results = TRY(results_of(seed));
            known = wanted_.emplace(seed, std::move(results)).first;
        }
        templates::Comparison comparison;
        for (const auto& [name, wanted] : known->second) {
            const TemplateTensor* const tensor = templates::find_tensor(launches_.kernel, name);
            const auto i = static_cast<std::size_t>(tensor - launches_.kernel.tensors.data());
            comparison.compare(name, {array::find_type(tensor->type), tensors[i]}, wanted, tolerance_);
        }
        return comparison.wrong == 0;
    }

  private:
    using Results = std::map<std::string, Elements, std::less<>>;
    Expected<Results> results_of(std::uint64_t seed) const {
        const TemplateLaunch& launch = launches_.reference;
        const std::vector<std::string>& null = workload_.options().null;
        std::vector<Buffer> buffers;
        for (const TemplateTensor& tensor : launch.tensors) {
            buffers.push_back(TRY(device_.allocate(tensor.bytes)));
            const std::vector<std::byte> input = templates::has_input(tensor)
                                                     ? input_bytes(tensor, Regime::usual, seed)
                                                     : std::vector<std::byte>();
            TRY(templates::begin_tensor(buffers.back(), tensor, input));
        }
        const std::vector<Argument> arguments = TRY(templates::arguments_over(launch, buffers, null));
        TRY(kernel_.launch_with(launch.config, arguments));
        Results results;
        for (const std::string& name : workload_.from().outputs()) {
            if (std::ranges::find(null, name) != null.end()) continue;
            const TemplateTensor* const tensor = templates::find_tensor(launch, name);
            const auto i = static_cast<std::size_t>(tensor - launch.tensors.data());
            Elements elements = TRY(templates::read_elements(*tensor, buffers[i]));
            results.emplace(name, std::move(elements));
        }
        return results;
    }

    Workload workload_;
    Device device_;
    templates::Launches launches_;
    Kernel kernel_;
    TemplateTolerance tolerance_;
    std::mutex mutex_;
    std::map<std::uint64_t, Results> wanted_;
};

// All that is read or written, once.
double bytes_of(const TemplateLaunch& launch, const std::vector<std::string>& null) {
    double bytes = 0;
    for (const TemplateTensor& tensor : launch.tensors) {
        const bool is_null = tensor.is_places || std::ranges::find(null, tensor.name) != null.end();
        if (is_null || tensor.access == TensorAccess::scratch) continue;
        bytes += static_cast<double>(tensor.bytes) * (tensor.access == TensorAccess::modified ? 2 : 1);
    }
    return bytes;
}

}  // namespace

Expected<TimedLaunch> timed_launch(const Checker& checker) {
    const WorkloadOptions& said = checker.workload().options();
    const auto reference = TRY(Reference::make(checker));
    TimedLaunch timed;
    timed.launch = reference->launch();
    timed.null = said.null;
    timed.necessary_bytes =
        said.necessary_bytes != 0 ? said.necessary_bytes : bytes_of(timed.launch, said.null);
    timed.necessary_operations = said.necessary_operations;
    timed.input = [](const TemplateTensor& tensor, std::uint64_t seed) {
        return input_bytes(tensor, Regime::usual, seed);
    };
    timed.is_right = [reference](std::uint64_t seed, std::span<const std::vector<std::byte>> tensors) {
        return reference->is_right(seed, tensors);
    };
    return timed;
}

Expected<Session> Session::open(const Checker& checker, Protocol protocol) {
    if (checker.device().kind() != DeviceKind::cuda)
        return fail(Errc::timing_not_possible, std::string("the emulator has no time of its own"));
    TimedLaunch launch = TRY(timed_launch(checker));
    return open(std::move(launch), checker.baseline(), checker.device(), std::move(protocol));
}

}  // namespace ptxgraft::measure
