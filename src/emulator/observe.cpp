// A launch that somebody observes runs one operation at a time, and tells of each.
#include <bit>
#include <unordered_map>

#include "emulator/cta.hpp"
#include "emulator/operations.hpp"
#include "emulator/warp.hpp"
#include "ptxgraft/emulator_observer.hpp"

namespace ptxgraft {

EmulatorObserver::~EmulatorObserver() = default;

namespace emulator {
namespace {

using Kind = ObservedAccess::Kind;

// Operations that access memory lane by lane, by what they do: `extra` is an index into Program::accesses.
const std::unordered_map<Execute, Kind>& access_kinds() {
    static const std::unordered_map<Execute, Kind> kinds = [] {
        std::unordered_map<Execute, Kind> all;
        for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
            all.emplace(load_operation(bytes), Kind::load);
            all.emplace(store_operation(bytes), Kind::store);
        }
        for (const Execute atomic : atomic_operations()) all.emplace(atomic, Kind::atomic);
        all.emplace(execute_copy, Kind::store);
        return all;
    }();
    return kinds;
}

ObservedAccess::Space observed(Space space) {
    switch (space) {
        case Space::constant:
            return ObservedAccess::Space::constant;
        case Space::shared:
        case Space::shared_cluster:
            return ObservedAccess::Space::shared;
        case Space::local:
            return ObservedAccess::Space::local;
        case Space::param:
            return ObservedAccess::Space::parameter;
        default:
            return ObservedAccess::Space::global;
    }
}

// The accesses of an operation that is about to run.
class Accesses {
  public:
    Accesses(Warp& warp, const Operation& operation, std::uint32_t mask) {
        if (mask == 0) return;
        if (operation.execute == execute_ldmatrix || operation.execute == execute_stmatrix) {
            add_matrices(warp, operation);
            return;
        }
        const auto kind = access_kinds().find(operation.execute);
        if (kind == access_kinds().end()) return;
        const Access& access = warp.program().accesses[operation.extra];
        add(warp, operation, access, kind->second, std::uint32_t{access.bytes} * access.count, mask);
        if (operation.execute == execute_copy) add_source(warp, operation, access, mask);
    }
    [[nodiscard]] std::span<const ObservedAccess> all() const { return {accesses_.data(), count_}; }

  private:
    void add(Warp& warp, const Operation& operation, const Access& access, Kind kind, std::uint32_t bytes, std::uint32_t mask) {
        ObservedAccess& one = accesses_[count_++];
        one = {.kind = kind, .bytes = bytes, .lanes = mask};
        each_lane(mask, [&](unsigned lane) {
            one.addresses[lane] = warp.address(access, operation, lane);
            return true;
        });
        const std::uint64_t first = one.addresses[static_cast<unsigned>(std::countr_zero(mask))];
        one.space = observed(access.space == Space::generic ? place(first).space : access.space);
    }
    // Of cp.async: what it reads.
    void add_source(Warp& warp, const Operation& operation, const Access& access, std::uint32_t mask) {
        ObservedAccess& one = accesses_[count_++];
        one = {.kind = Kind::load, .space = ObservedAccess::Space::global, .bytes = access.bytes};
        const Ref* const refs = warp.operands(operation) + (access.has_base ? 1 : 0);
        each_lane(mask, [&](unsigned lane) {
            one.addresses[lane] = warp.value(refs[0], lane);
            if (warp.value(refs[1], lane) != 0) one.lanes |= 1u << lane;
            return true;
        });
        if (one.lanes == 0) --count_;
    }
    // Eight rows of 16 bytes for each matrix, at the addresses of the first lanes.
    void add_matrices(Warp& warp, const Operation& operation) {
        const bool loads = operation.execute == execute_ldmatrix;
        const Access& access = warp.program().matrices[operation.extra].access;
        const unsigned count = loads ? operation.outputs : operation.inputs - (access.has_base ? 1u : 0u);
        add(warp, operation, access, loads ? Kind::load : Kind::store, 16, count >= 4 ? ~0u : (1u << 8 * count) - 1);
    }

    std::array<ObservedAccess, 2> accesses_;
    std::size_t count_ = 0;
};

}  // namespace

RegisterNames register_names(const Program& program, std::string_view text) {
    RegisterNames names;
    for (const Function& function : program.functions)
        for (const RegisterName& one : function.names) names[&function].emplace(one.ref, one.name(text));
    return names;
}

Flow Warp::run_observed(const Operation& operation) {
    constexpr std::size_t most_written = 128;  // registers of a wgmma
    std::uint32_t mask = mask_;
    if (operation.guard != no_ref) {
        const std::uint32_t holds = predicate_mask(column(operation.guard));
        mask &= operation.guard_negated ? ~holds : holds;
    }
    const Accesses accesses(*this, operation, mask);
    const auto names = launch_->names.find(frame_->function);
    const Frame* const frame = frame_;
    ObservedStep step{.ptx = launch_->text, .span = program_->spans[pc_], .block = cta_->position(), .warp = index_, .lanes = mask,
                      .is_rest = operation.is_part, .written = {}, .accesses = accesses.all()};
    const Flow flow = run_one(operation);
    std::array<ObservedRegister, most_written> written;
    std::size_t count = 0;
    if (flow == Flow::next && mask != 0 && frame_ == frame && names != launch_->names.end()) {
        for (unsigned i = 0; i < operation.outputs && count < most_written; ++i) {
            const Ref ref = operands(operation)[i], declared = program_->declared_operand(*frame->function, operation.operands + i);
            if (const auto name = names->second.find(declared); name != names->second.end()) written[count++] = {name->second, width(ref), column(ref)};
        }
    }
    step.written = {written.data(), count};
    if (!operation.is_part || count != 0) launch_->observer->step(step);
    return flow;
}

}  // namespace emulator
}  // namespace ptxgraft
