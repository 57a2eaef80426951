// Registers that never live at the same time share a column: an interference graph, coloured greedily.
#include "emulator/decode/share_columns.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

// How far a register's life is known.
enum class Life : std::uint8_t {
    none,
    brief,  ///< written first, and accessed in one row of operations alone
    long_,  ///< anything else
    fixed,  ///< named elsewhere than in operands of simple operations, or by parts: it stays where it is
};

struct Column {
    Life life = Life::none;
    std::uint8_t width = 0;  // its logarithm
    std::uint32_t row = 0;   // of operations
    std::uint32_t last = 0;  // operation that accesses it
    Ref now = no_ref;
};

constexpr std::uint32_t unit = 32;  // bytes: columns begin at its multiples

class ColumnSharing {
  public:
    ColumnSharing(Program& program, Function& function)
        : program_(program), function_(function), columns_(function.register_bytes / unit + 1) {
        used_.reserve(columns_.size() / 4);
    }

    void run() {
        find_targets();
        find_lives();
        fix_entries();
        if (!std::ranges::is_sorted(used_)) std::ranges::sort(used_);
        fix_parts();
        collect_places();
        settle_long_lives();
        rename();
        function_.register_bytes = top_;
    }

  private:
    [[nodiscard]] Column& column(Ref ref) { return columns_[offset(ref) / unit]; }
    [[nodiscard]] std::span<Ref> sources(const Operation& operation) {
        return std::span(program_.refs).subspan(operation.operands + operation.outputs, operation.inputs);
    }
    [[nodiscard]] std::span<Ref> results(const Operation& operation) {
        return std::span(program_.refs).subspan(operation.operands, operation.outputs);
    }
    void fix(Ref ref) {
        if (ref == no_ref || !is_register(ref)) return;
        Column& at = column(ref);
        if (at.life == Life::none) used_.push_back(offset(ref) / unit);
        at.life = Life::fixed;
        at.width = std::max(at.width, static_cast<std::uint8_t>(ref & width_mask));
    }

    // Arithmetic, loads and stores name registers as operands alone, and write whole columns of the lanes
    // that execute them.
    static bool is_simple(const Operation& operation) {
        static const auto memory = [] {
            std::array<Execute, 10> all;
            std::size_t i = 0;
            for (const std::uint32_t bytes : {4u, 2u, 8u, 1u, 16u}) {
                all[i++] = load_operation(bytes);
                all[i++] = store_operation(bytes);
            }
            return all;
        }();
        return operation.function != nullptr || std::ranges::find(memory, operation.execute) != memory.end();
    }

    // Where branches lead.
    void find_targets() {
        is_target_.assign(function_.end.code - function_.begin, false);
        const auto add = [&](std::uint32_t pc) { is_target_[pc - function_.begin] = true; };
        for (std::uint32_t pc = function_.begin; pc < function_.end.code; ++pc)
            if (program_.code[pc].execute == execute_branch) add(program_.code[pc].branch_target());
        for (std::uint32_t i = function_.first.branch_tables; i < function_.end.branch_tables; ++i)
            std::ranges::for_each(program_.branch_tables[i], add);
    }

    void find_lives() {
        std::uint32_t row = 0;
        for (std::uint32_t pc = function_.begin; pc < function_.end.code; ++pc) {
            const Operation& operation = program_.code[pc];
            if (is_target_[pc - function_.begin]) ++row;
            fix(operation.guard);
            if (!is_simple(operation)) {
                for (const Ref ref : sources(operation)) fix(ref);
                for (const Ref ref : results(operation)) fix(ref);
                continue;
            }
            for (const Ref ref : sources(operation)) access(ref, row, pc, false);
            for (const Ref ref : results(operation)) access(ref, row, pc, operation.guard == no_ref);
        }
    }
    void access(Ref ref, std::uint32_t row, std::uint32_t pc, bool writes_all) {
        if (!is_register(ref)) return;
        Column& at = column(ref);
        const auto width = static_cast<std::uint8_t>(ref & width_mask);
        at.last = pc;
        if (at.life == Life::none) {
            used_.push_back(offset(ref) / unit);
            at = {.life = writes_all ? Life::brief : Life::long_, .width = width, .row = row, .last = pc};
        } else if (at.life != Life::fixed && at.width != width) {
            at.life = Life::fixed;
        } else if (at.life == Life::brief && at.row != row) {
            at.life = Life::long_;
        }
    }

    void fix_entries() {
        const TableMarks &first = function_.first, &end = function_.end;
        for (std::size_t i = first.barriers; i < end.barriers; ++i) {
            const Barrier& barrier = program_.barriers[i];
            for (const Ref ref : {barrier.id, barrier.count, barrier.predicate, barrier.destination})
                fix(ref);
        }
        for (std::size_t i = first.collectives; i < end.collectives; ++i)
            fix(program_.collectives[i].member_mask);
        for (std::size_t i = first.calls; i < end.calls; ++i) {
            fix(program_.calls[i].target);
            fix_slots(program_.calls[i].arguments);
            fix_slots(program_.calls[i].returns);
        }
        fix_slots(function_.parameters);
        fix_slots(function_.returns);
    }
    void fix_slots(const std::vector<Slot>& slots) {
        for (const Slot& slot : slots) fix(slot.reg);
    }

    // Columns that lie in one another, and the small ones of predicates, which guards name.
    void fix_parts() {
        std::size_t end = 0;  // of the widest one so far
        Column* widest = nullptr;
        for (const std::uint32_t i : used_) {
            Column& at = columns_[i];
            if (at.width == 0 || i < end) at.life = Life::fixed;
            if (i < end) widest->life = Life::fixed;
            if (i + (std::size_t{1} << at.width) <= end) continue;
            end = i + (std::size_t{1} << at.width);
            widest = &at;
        }
    }

    // The places of all that moves, those that come first last: they are taken from the back.
    void collect_places() {
        for (std::size_t i = used_.size(); i-- > 0;) {
            const Column& at = columns_[used_[i]];
            if (at.life == Life::fixed)
                use(used_[i] * unit, widest_unit);
            else
                places_[at.width].push_back((used_[i] * unit) | at.width);
        }
    }
    Ref take(std::uint8_t width) {
        std::vector<Ref>& places = places_[width];
        const Ref taken = places.back();
        places.pop_back();
        use(offset(taken), std::uint32_t{unit} << width);
        return taken;
    }
    void use(std::uint32_t begin, std::uint32_t bytes) {
        top_ = std::max(top_, std::min(begin + bytes, function_.register_bytes));
    }

    void settle_long_lives() {
        for (const std::uint32_t i : used_)
            if (columns_[i].life == Life::long_) columns_[i].now = take(columns_[i].width);
    }

    // The results of an operation never stand where its sources do, unless they are the same register.
    void rename() {
        const std::uint32_t begin = program_.code[function_.begin].operands;
        const Operation& last = program_.code[function_.end.code - 1];
        const std::uint32_t end = last.operands + last.outputs + last.inputs;
        function_.declared.assign(program_.refs.begin() + begin, program_.refs.begin() + end);
        for (std::uint32_t pc = function_.begin; pc < function_.end.code; ++pc) {
            const Operation& operation = program_.code[pc];
            const std::span<Ref> declared =
                std::span(function_.declared)
                    .subspan(operation.operands - begin, operation.outputs + operation.inputs);
            for (Ref& ref : sources(operation)) ref = renamed(ref);
            for (Ref& ref : results(operation)) ref = renamed(ref);
            for (const Ref ref : declared) release(ref, pc);
        }
    }
    Ref renamed(Ref ref) {
        if (!is_register(ref)) return ref;
        Column& at = column(ref);
        if (at.life == Life::fixed) return ref;
        if (at.now == no_ref) at.now = take(at.width);
        return at.now;
    }
    void release(Ref ref, std::uint32_t pc) {
        if (!is_register(ref)) return;
        Column& at = column(ref);
        if (at.life != Life::brief || at.last != pc) return;
        places_[at.width].push_back(at.now);
        at.life = Life::none;  // its last access: once
    }

    static constexpr std::uint32_t widest_unit = unit * 16;

    Program& program_;
    Function& function_;
    std::vector<bool> is_target_;  // of branches: the function's operations
    std::vector<Column> columns_;
    std::vector<std::uint32_t> used_;         // of them, by place
    std::array<std::vector<Ref>, 5> places_;  // by the width's logarithm
    std::uint32_t top_ = 0;
};

}  // namespace

void share_columns(Program& program, Function& function) {
    if (function.register_bytes >= least_shared_bytes) ColumnSharing(program, function).run();
}

}  // namespace ptxgraft::emulator
