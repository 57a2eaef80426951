// Smaller programs: of the same dataflow, and of others that somebody finds as good.

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"
#include "stub/number.hpp"
#include "stub/stack/compile/bound.hpp"
#include "stub/stack/compile/constant_name.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/program/bypass.hpp"
#include "stub/stack/program/genes.hpp"
#include "stub/stack/program/rebuild.hpp"
#include "stub/stack/program/trace.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

bool has_opcode(const Program& program, Opcode opcode) {
    return std::ranges::any_of(program.code, [opcode](const Instruction& i) { return i.opcode == opcode; });
}

Program copy_of(ProgramView program) {
    return {{program.code.begin(), program.code.end()},
            {program.pool.begin(), program.pool.end()},
            {program.routines.begin(), program.routines.end()}};
}

std::size_t size_of(const std::vector<Instruction>& code) {
    return static_cast<std::size_t>(
        std::ranges::count_if(code, [](const Instruction& i) { return i.opcode != Opcode::assign; }));
}
// Instructions beside assignments.
std::size_t size_of(const Program& program) {
    std::size_t size = size_of(program.code);
    for (const Routine& r : program.routines) size += size_of(r.code);
    return size;
}

// Only what the code needs of routines and pool.
class Tidier {
  public:
    Tidier(const Program& program, const SetCode& code) : program_(program), code_(code) {}

    Program tidy() {
        const std::size_t count = std::min<std::size_t>(program_.routines.size(), max_routines);
        std::vector<bool> is_called(count, false);
        const auto mark = [&](const std::vector<Instruction>& of, std::size_t below) {
            for (const Instruction& i : of)
                if (i.opcode == Opcode::call && i.index < below) is_called[i.index] = true;
        };
        mark(program_.code, count);
        for (std::size_t r = count; r-- > 0;)
            if (is_called[r]) mark(program_.routines[r].code, r);
        places_.assign(count, none);
        for (std::size_t r = 0; r < count; ++r) {
            if (!is_called[r]) continue;
            Routine routine = program_.routines[r];
            move(routine.code);
            places_[r] = static_cast<std::uint16_t>(tidy_.routines.size());
            tidy_.routines.push_back(std::move(routine));
        }
        tidy_.code = program_.code;
        move(tidy_.code);
        return std::move(tidy_);
    }

  private:
    static constexpr std::uint16_t none = 0xFFFF;

    std::uint64_t pooled(std::size_t at) const { return program_.pool[at % program_.pool.size()]; }
    void move(std::vector<Instruction>& of) {
        for (Instruction& i : of) {
            if (i.opcode == Opcode::call && i.index < places_.size()) i.index = places_[i.index];
            if (program_.pool.empty()) continue;
            if (i.opcode == Opcode::pooled && i.type < code_.type_count)
                i = constant_instruction(i.type, code_.bases[i.type],
                                         narrowed(code_.bases[i.type], pooled(i.payload)), tidy_.pool);
            if (i.opcode != Opcode::form || i.index >= code_.entries.size()) continue;
            const auto inputs = code_.inputs_of(code_.entries[i.index]);
            const auto immediates = std::ranges::count_if(inputs, &InputCode::is_immediate);
            std::vector<std::uint64_t> row;
            for (std::int64_t k = 0; k + 1 < immediates; ++k)
                row.push_back(pooled(i.type + static_cast<std::size_t>(k)));
            if (!row.empty()) i.type = static_cast<TypeId>(PoolPlaces::row(tidy_.pool, row));
        }
    }

    const Program& program_;
    const SetCode& code_;
    Program tidy_;
    std::vector<std::uint16_t> places_;  // of routines
};

// Keeps the dataflow.
class Exact {
  public:
    Exact(const Machine& machine, CompileOptions options) : machine_(machine), options_(options) {
        options_.hash = true;
    }

    struct Result {
        Program program;
        std::uint64_t hash;
    };
    Expected<Result> simplify(ProgramView program) {
        hash_ = TRY(hash_of(program));
        Program best = copy_of(program);
        const bool is_flat = trim_code(best);
        if (auto rebuilt = rebuild(best, machine_, options_);
            rebuilt && size_of(*rebuilt) <= size_of(best) && is_same(*rebuilt)) {
            best = std::move(*rebuilt);
            // Without stored values there is nothing that could go.
            if (!has_opcode(best, Opcode::dup)) return Result{std::move(best), hash_};
        }
        constexpr std::size_t most = 2048;
        if (best.code.size() <= most) delete_code(best, is_flat);
        if (Program tidy = Tidier(best, *MachineData::of(machine_).code).tidy(); is_same(tidy))
            best = std::move(tidy);
        return Result{std::move(best), hash_};
    }

  private:
    Expected<std::uint64_t> hash_of(ProgramView program) {
        const auto compiled = TRY(compiler_.compile(program, machine_, options_));
        skipped_ = compiled.skipped;
        return compiled.hash;
    }
    bool is_same(ProgramView program) {
        const auto hash = hash_of(program);
        return hash && *hash == hash_;
    }

    bool trim_code(Program& best) {
        Trimmed trimmed = trim(best, machine_, options_);
        if (!trimmed.is_known) return false;
        const ProgramView view(trimmed.code, best.pool, best.routines);
        if (is_same(view)) best.code = std::move(trimmed.code);
        return true;
    }

    // Parts, the last first, of fewer and fewer instructions, until no single one nor two neighbours can go.
    void delete_code(Program& best, bool is_flat) {
        // what is flat has been trimmed: there is little to find
        for (std::size_t part = is_flat ? 2 : std::max<std::size_t>(best.code.size() / 2, 2); part > 0;) {
            const bool has_gone = delete_parts(best, part, is_flat);
            if (part > 2)
                part /= 2;
            else
                part = has_gone ? 2 : part - 1;
        }
    }
    bool delete_parts(Program& best, std::size_t part, bool keeps_assignments) {
        bool has_gone = false;
        for (std::size_t end = best.code.size(); end >= part; --end) {
            const auto behind = best.code.begin() + static_cast<std::ptrdiff_t>(end);
            const auto begin = behind - static_cast<std::ptrdiff_t>(part);
            const auto is_assignment = [](const Instruction& i) { return i.opcode == Opcode::assign; };
            if (keeps_assignments && std::any_of(begin, behind, is_assignment)) continue;
            Program less{{best.code.begin(), begin}, best.pool, best.routines};
            less.code.insert(less.code.end(), behind, best.code.end());
            // what pops a value that is gone would do nothing
            if (!is_same(less) || (keeps_assignments && skipped_ != 0)) continue;
            best = std::move(less);
            has_gone = true;
            end = std::min(end - part + 1, best.code.size() + 1);
            if (end < part) break;
        }
        return has_gone;
    }

    const Machine& machine_;
    CompileOptions options_;
    Compiler compiler_;
    std::uint64_t hash_ = 0;
    std::uint32_t skipped_ = 0;  // by the program that was compiled last
};

// Keeps what a predicate wants.
class Reducer {
  public:
    Reducer(const Machine& machine, const std::function<bool(const Program&)>& is_as_good,
            const ReduceOptions& options)
        : code_(*MachineData::of(machine).code),
          is_as_good_(is_as_good),
          options_(options),
          exact_(machine, options.compile) {}

    Expected<Reduced> reduce(ProgramView program) {
        auto first = TRY(exact_.simplify(program));
        best_ = std::move(first.program);
        asked_.insert(first.hash);
        while (!is_over_ && (replace_forms() || delete_parts())) {}
        return Reduced{std::move(best_), calls_, !is_over_};
    }

  private:
    using Size = std::pair<std::size_t, std::size_t>;
    static Size measure(const Program& program) {
        std::size_t forms = 0;
        const auto count = [&forms](const std::vector<Instruction>& code) {
            for (const Instruction& i : code) forms += i.opcode == Opcode::form;
        };
        count(program.code);
        for (const Routine& r : program.routines) count(r.code);
        return {forms, size_of(program)};
    }

    // Whether the candidate is the best one now.
    bool accept(ProgramView candidate) {
        auto exact = exact_.simplify(candidate);
        if (!exact || measure(exact->program) >= measure(best_) || !asked_.insert(exact->hash).second)
            return false;
        if (calls_ == options_.most_calls) return is_over_ = true, false;
        ++calls_;
        if (!is_as_good_(exact->program)) return false;
        best_ = std::move(exact->program);
        return true;
    }
    bool accept(std::vector<Instruction> code) {
        return accept(ProgramView(code, best_.pool, best_.routines));
    }

    bool replace_forms() {
        bool has_changed = false;
        for (std::size_t at = best_.code.size(); at-- > 0 && !is_over_;) {
            at = std::min(at, best_.code.size());
            if (at == best_.code.size()) continue;
            while (!is_over_ && at < best_.code.size() && replace_form(at)) has_changed = true;
        }
        return has_changed;
    }

    // By one of its operands, 0, or 1.
    bool replace_form(std::size_t at) {
        const Instruction i = best_.code[at];
        if (i.opcode != Opcode::form || i.index >= code_.entries.size()) return false;
        const EntryCode& e = code_.entries[i.index];
        if (e.outputs != 1 || e.has_effect) return false;
        for (std::size_t behind = operands_of_its_type(code_, e); behind-- > 0;)
            if (accept(with(at, words_that_keep(code_, e, behind)))) return true;
        if (!has_constants(e.type)) return false;
        for (const std::uint64_t bits : {std::uint64_t{0}, one_of(code_.bases[e.type])}) {
            std::vector<Instruction> words = words_that_drop(code_, e);
            std::vector<std::uint64_t> pool;  // 0 and 1 need none
            words.push_back(constant_instruction(e.type, code_.bases[e.type], bits, pool));
            if (accept(with(at, words))) return true;
        }
        return false;
    }
    static std::uint64_t one_of(TypeId base) {
        switch (static_cast<Type>(base)) {
            case Type::f16: return 0x3C00;
            case Type::f16x2: return 0x3C003C00;
            case Type::bf16: return 0x3F80;
            case Type::bf16x2: return 0x3F803F80;
            case Type::f32: return 0x3F800000;
            case Type::f64: return 0x3FF0000000000000;
            default: return 1;
        }
    }
    [[nodiscard]] std::vector<Instruction> with(std::size_t at, const std::vector<Instruction>& words) const {
        std::vector<Instruction> code(best_.code.begin(),
                                      best_.code.begin() + static_cast<std::ptrdiff_t>(at));
        code.insert(code.end(), words.begin(), words.end());
        code.insert(code.end(), best_.code.begin() + static_cast<std::ptrdiff_t>(at) + 1, best_.code.end());
        return code;
    }

    bool delete_parts() {
        for (std::size_t part = best_.code.size() / 2; part > 0; part /= 2)
            for (std::size_t end = best_.code.size(); end >= part && !is_over_; --end) {
                std::vector<Instruction> code = best_.code;
                code.erase(code.begin() + static_cast<std::ptrdiff_t>(end - part),
                           code.begin() + static_cast<std::ptrdiff_t>(end));
                if (accept(std::move(code))) return true;
            }
        return false;
    }

    const SetCode& code_;
    const std::function<bool(const Program&)>& is_as_good_;
    const ReduceOptions& options_;
    Exact exact_;
    Program best_;
    std::unordered_set<std::uint64_t> asked_;
    std::uint32_t calls_ = 0;
    bool is_over_ = false;
};

}  // namespace

Expected<Program> simplify(ProgramView program, const Machine& machine, const CompileOptions& options) {
    auto result = TRY(Exact(machine, options).simplify(program));
    return std::move(result.program);
}

Expected<Reduced> simplify(ProgramView program, const Machine& machine,
                           const std::function<bool(const Program&)>& is_as_good,
                           const ReduceOptions& options) {
    return Reducer(machine, is_as_good, options).reduce(program);
}

}  // namespace ptxgraft::stack
