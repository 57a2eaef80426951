// The gates that a task names.

#include "base/try.hpp"
#include "ptxgraft/search_task.hpp"

namespace ptxgraft::search {
namespace {

using MadeGate = Expected<std::unique_ptr<Gate>>;

// Makes the gate of one kind of options.
class Maker {
  public:
    Maker(const Task& task, const std::string& archive) : task_(task), archive_(archive) {}
    Expected<void> open() {
        if (task_.workload) kernels_ = TRY(Workloads::make(task_.space, *task_.workload));
        return {};
    }
    MadeGate make(const GateSpec& spec) {
        spec_ = &spec;
        return std::visit([&](const auto& options) { return of(options); }, spec.options);
    }

  private:
    MadeGate of(const LimitOptions& options) const { return limits(task_.space, options); }
    MadeGate of(SiteColumnsOptions options) const {
        if (!task_.workload) return columns(task_.space, task_.cases, task_.columns);
        options.columns = task_.columns;
        return columns(task_.space, task_.screens, options);
    }
    MadeGate of(AssemblyOptions options) const {
        options.assembler = TRY(find_assembler(spec_->assembler));
        return guarded(TRY(assembly(task_.space, *kernels_, options)), archive_);
    }
    MadeGate of(const EmulationOptions& options) const {
        return guarded(TRY(emulation(task_.space, *kernels_, options)), archive_);
    }

    const Task& task_;
    const std::string& archive_;
    std::optional<Workloads> kernels_;
    const GateSpec* spec_ = nullptr;
};

}  // namespace

Expected<std::vector<std::unique_ptr<Gate>>> gates_of(const Task& task, const std::string& archive) {
    Maker maker(task, archive);
    TRY(maker.open());
    std::vector<std::unique_ptr<Gate>> made;
    for (const GateSpec& spec : task.gates) made.push_back(TRY(maker.make(spec)));
    return made;
}

}  // namespace ptxgraft::search
