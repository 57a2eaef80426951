// A launch that somebody observes runs one operation at a time, and tells of each.
#include "emulator/observe/observation.hpp"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"
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
            all.emplace(partial_load_operation(bytes), Kind::load);
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
        case Space::const_: return ObservedAccess::Space::constant;
        case Space::shared:
        case Space::shared_cluster: return ObservedAccess::Space::shared;
        case Space::local: return ObservedAccess::Space::local;
        case Space::param: return ObservedAccess::Space::parameter;
        default: return ObservedAccess::Space::global;
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
        const Access& access = warp.program().access_of(operation);
        add(warp, operation, access, kind->second, std::uint32_t{access.bytes} * access.count, mask);
        if (operation.execute == execute_copy) add_source(warp, operation, access, mask);
    }
    // What the operation told of while it ran: pieces of one kind stand for lanes.
    void add(const std::vector<AccessedPiece>& pieces) {
        if (pieces.empty()) return;
        many_.assign(accesses_.begin(), accesses_.begin() + static_cast<std::ptrdiff_t>(count_));
        const AccessedPiece* last = nullptr;
        for (const AccessedPiece& piece : pieces) {
            const bool is_like_last = last != nullptr && last->space == piece.space &&
                                      last->kind == piece.kind && last->bytes == piece.bytes &&
                                      many_.back().lanes != ~0u;
            if (!is_like_last) many_.push_back(access_of(piece));
            ObservedAccess& access = many_.back();
            const auto lane = static_cast<unsigned>(std::popcount(access.lanes));
            access.addresses[lane] = piece.address;
            access.lanes |= 1u << lane;
            last = &piece;
        }
    }
    [[nodiscard]] std::span<const ObservedAccess> all() const {
        return many_.empty() ? std::span<const ObservedAccess>(accesses_.data(), count_)
                             : std::span<const ObservedAccess>(many_);
    }

  private:
    void add(Warp& warp, const Operation& operation, const Access& access, Kind kind, std::uint32_t bytes,
             std::uint32_t mask) {
        ObservedAccess& one = accesses_[count_++];
        one = {.kind = kind, .bytes = bytes, .lanes = mask};
        each_bit(mask, [&](unsigned lane) {
            one.addresses[lane] = warp.memory().address(access, operation, lane);
        });
        const std::uint64_t first = one.addresses[first_lane(mask)];
        one.space = observed(access.space == Space::generic ? place(first).space : access.space);
    }
    // Of cp.async: what it reads.
    void add_source(Warp& warp, const Operation& operation, const Access& access, std::uint32_t mask) {
        ObservedAccess& one = accesses_[count_++];
        one = {.kind = Kind::load, .space = ObservedAccess::Space::global, .bytes = access.bytes};
        const Ref* const refs = warp.operands(operation) + (access.has_base ? 1 : 0);
        each_bit(mask, [&](unsigned lane) {
            one.addresses[lane] = warp.value(refs[0], lane);
            if (warp.value(refs[1], lane) != 0) one.lanes |= 1u << lane;
        });
        if (one.lanes == 0) --count_;
    }
    // Eight rows of 16 bytes for each matrix, at the addresses of the first lanes.
    void add_matrices(Warp& warp, const Operation& operation) {
        const bool loads = operation.execute == execute_ldmatrix;
        const Access& access = warp.program().matrix_of(operation).access;
        const unsigned count = loads ? operation.outputs : operation.inputs - (access.has_base ? 1u : 0u);
        add(warp, operation, access, loads ? Kind::load : Kind::store, 16,
            count >= 4 ? ~0u : (1u << 8 * count) - 1);
    }

    static ObservedAccess access_of(const AccessedPiece& piece) {
        const Kind kind = piece.kind == AccessKind::read    ? Kind::load
                          : piece.kind == AccessKind::write ? Kind::store
                                                            : Kind::atomic;
        const Space space = piece.space == Space::generic ? place(piece.address).space : piece.space;
        return {.kind = kind, .space = observed(space), .bytes = piece.bytes};
    }

    std::array<ObservedAccess, 2> accesses_;
    std::size_t count_ = 0;
    std::vector<ObservedAccess> many_;
};

constexpr std::size_t most_written = 128;  // registers of a wgmma

// What an operation has written: the registers that have names.
class Written {
  public:
    Written(const Launch& launch, const Frame& frame) : launch_(launch), function_(*frame.function) {}
    // `columns`: of the frame.
    void add(const Program& program, const Operation& operation, std::byte* columns) {
        for (unsigned i = 0; i < operation.outputs; ++i)
            add(program.declared_operand(function_, operation.operands + i),
                program.refs[operation.operands + i], columns);
        if (operation.execute != execute_barrier) return;
        const Ref destination = program.barrier_of(operation).destination;
        if (destination != no_ref && is_register(destination)) add(destination, destination, columns);
    }
    [[nodiscard]] std::span<const ObservedRegister> all() const { return {registers_.data(), count_}; }

  private:
    void add(Ref declared, Ref ref, std::byte* columns) {
        const auto names = launch_.names.find(&function_);
        if (names == launch_.names.end() || count_ == most_written || !is_register(ref)) return;
        if (const auto name = names->second.find(declared); name != names->second.end())
            registers_[count_++] = {name->second, width(ref), columns + offset(ref)};
    }
    const Launch& launch_;
    const Function& function_;
    std::array<ObservedRegister, most_written> registers_;
    std::size_t count_ = 0;
};

// What an operation is about to read that its text does not show: predicates, and what goes to memory.
class Read {
  public:
    Read(Warp& warp, std::uint32_t pc) : warp_(warp), pc_(pc) {}
    void add(const Operation& operation) {
        const Program& program = warp_.program();
        const unsigned stored = first_stored(operation), all = unsigned{operation.outputs} + operation.inputs;
        for (unsigned i = operation.outputs; i < all; ++i) {
            const Ref ref = warp_.operands(operation)[i];
            if (i >= stored || width(ref) == 1)
                add(ref, program.declared_operand(*warp_.frame().function, operation.operands + i));
        }
        if (operation.execute != execute_barrier) return;
        if (const Ref predicate = program.barrier_of(operation).predicate; predicate != no_ref)
            add(predicate, predicate);
    }
    /// Before all others.
    [[nodiscard]] std::optional<ObservedRegister> guard(const Operation& operation) {
        if (operation.guard != no_ref) add(operation.guard, operation.guard);
        first_ = count_;
        return count_ != 0 ? std::optional(registers_[0]) : std::nullopt;
    }
    [[nodiscard]] std::span<const ObservedRegister> all() const {
        return std::span(registers_).subspan(first_, count_ - first_);
    }

  private:
    static constexpr std::size_t most = 16;
    struct alignas(16) Values {
        std::byte bytes[std::size_t{lane_count} * 16];
    };

    // The first operand that goes to memory; behind all of them where none does.
    [[nodiscard]] unsigned first_stored(const Operation& operation) const {
        const unsigned all = unsigned{operation.outputs} + operation.inputs;
        const Program& program = warp_.program();
        const bool moves_matrix =
            operation.execute == execute_stmatrix || operation.execute == execute_wmma_store;
        if (moves_matrix) {
            const MatrixInstruction& matrix = program.matrix_of(operation);
            return operation.outputs + (matrix.access.has_base ? 1u : 0u) +
                   (matrix.has_stride && operation.execute == execute_wmma_store ? 1u : 0u);
        }
        if (operation.execute == execute_async_store) return operation.outputs + 2u;
        const auto kind = access_kinds().find(operation.execute);
        if (kind == access_kinds().end() || kind->second == Kind::load || operation.execute == execute_copy)
            return all;
        return operation.outputs + (program.access_of(operation).has_base ? 1u : 0u);
    }

    void add(Ref ref, Ref declared) {
        const std::string_view name = name_of(ref, declared);
        if (name.empty() || count_ == most) return;
        std::memcpy(values_[count_].bytes, warp_.column(ref), std::size_t{lane_count} * width(ref));
        registers_[count_] = {name, width(ref), values_[count_].bytes};
        ++count_;
    }

    // Of a part of a register, that of the register: an operation before has taken it.
    [[nodiscard]] std::string_view name_of(Ref ref, Ref declared) const {
        const Function& function = *warp_.frame().function;
        const Program& program = warp_.program();
        const auto names = warp_.launch().names.find(&function);
        if (names == warp_.launch().names.end() || !is_register(ref)) return {};
        if (const auto name = names->second.find(declared); name != names->second.end()) return name->second;
        for (std::uint32_t pc = pc_; pc-- > function.begin && program.code[pc].is_micro_op;) {
            const Operation& part = program.code[pc];
            if (part.outputs != 1 || part.inputs != 1 || program.refs[part.operands] != ref) continue;
            const auto name = names->second.find(program.declared_operand(function, part.operands + 1));
            return name != names->second.end() ? name->second : std::string_view();
        }
        return {};
    }

    Warp& warp_;
    std::uint32_t pc_;
    std::array<ObservedRegister, most> registers_;
    std::array<Values, most> values_;
    std::size_t first_ = 0, count_ = 0;
};

}  // namespace

RegisterNames register_names(const Program& program, std::string_view text) {
    RegisterNames names;
    for (const Function& function : program.functions)
        for (const RegisterName& one : function.names) names[&function].emplace(one.ref, one.name(text));
    return names;
}

void Observation::begin() {
    is_on_ = warp_.launch().observer != nullptr;
    pieces_.clear();
    late_results_.clear();
}

// What other warps, or other lanes, have let go on: told of before the warp does anything else.
void Observation::tell_late_results() {
    for (const LateResult& late : late_results_) {
        Written written(warp_.launch(), *late.frame);
        written.add(warp_.program(), warp_.program().code[late.pc], late.frame->columns());
        if (written.all().empty()) continue;
        warp_.launch().observer->step({.ptx = warp_.launch().text,
                                       .span = warp_.program().spans[late.pc],
                                       .block = warp_.cta().position(),
                                       .warp = warp_.index(),
                                       .lanes = late.mask,
                                       .active = late.mask,
                                       .is_rest = true,
                                       .written = written.all(),
                                       .accesses = {}});
    }
    late_results_.clear();
}

Flow Observation::run(const Operation& operation) {
    tell_late_results();
    std::uint32_t mask = warp_.running();
    if (operation.guard != no_ref) {
        const std::uint32_t holds = predicate_mask(warp_.column(operation.guard));
        mask &= operation.guard_negated ? ~holds : holds;
    }
    Accesses accesses(warp_, operation, mask);
    Frame& frame = warp_.frame();
    Read read(warp_, warp_.pc());
    const bool is_micro_op = operation.is_micro_op;  // the whole instruction tells what it reads
    ObservedStep step{.ptx = warp_.launch().text,
                      .span = warp_.program().spans[warp_.pc()],
                      .block = warp_.cta().position(),
                      .warp = warp_.index(),
                      .lanes = mask,
                      .active = warp_.running(),
                      .guard = is_micro_op ? std::nullopt : read.guard(operation),
                      .is_rest = is_micro_op,
                      .written = {},
                      .accesses = {}};
    if (!is_micro_op) read.add(operation);
    step.read = read.all();
    pieces_.clear();
    const Flow flow = warp_.execute(operation);
    accesses.add(pieces_);
    step.accesses = accesses.all();
    Written written(warp_.launch(), frame);
    // a wait that may have to be tried again yields
    const bool is_done = flow == Flow::next || flow == Flow::yield;
    if (is_done && mask != 0 && &warp_.frame() == &frame)
        written.add(warp_.program(), operation, frame.columns());
    step.written = written.all();
    if (!is_micro_op || !step.written.empty()) warp_.launch().observer->step(step);
    if (flow != Flow::fail) tell_late_results();
    return flow;
}

}  // namespace emulator
}  // namespace ptxgraft
