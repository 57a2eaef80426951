#pragma once
// What programs mean, written from the manual alone (stack.hpp), for one point: the oracle of
// stack_meaning_test.cpp. It knows some exact instructions by name and nothing of the compiler.

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::test {

using Word = std::uint64_t;
using Words = std::vector<Word>;

/// An instruction by its name in the set: its inputs' and outputs' types and what it computes. `undefined`: a
/// NaN, of which PTX leaves the bits open.
struct KnownForm {
    std::string name;
    std::vector<Type> in, out;
    std::function<void(const Words& in, Words& out, Word immediate, bool& undefined)> run;
};

inline const std::vector<KnownForm>& known_forms() {
    using std::bit_cast;
    static const std::vector<KnownForm> all = [] {
        std::vector<KnownForm> forms;
        const auto word = [&](std::string name, std::vector<Type> in, std::vector<Type> out, auto compute) {
            forms.push_back(
                {std::move(name), std::move(in), std::move(out),
                 [compute](const Words& i, Words& o, Word immediate, bool&) { compute(i, o, immediate); }});
        };
        // Of floats, all of one type.
        const auto floats = [&]<class Float, class Bits>(Type type, Float, Bits, std::string name,
                                                         std::size_t n, auto compute) {
            forms.push_back({std::move(name),
                             std::vector<Type>(n, type),
                             {type},
                             [compute](const Words& i, Words& o, Word, bool& undefined) {
                                 std::array<Float, 3> x{};
                                 for (std::size_t k = 0; k < i.size(); ++k)
                                     x[k] = bit_cast<Float>(static_cast<Bits>(i[k]));
                                 const Float result = compute(x);
                                 undefined = undefined || std::isnan(result);
                                 o[0] = bit_cast<Bits>(result);
                             }});
        };
        const auto single = [&](std::string name, std::size_t n, auto compute) {
            floats(Type::f32, float{}, std::uint32_t{}, std::move(name), n, compute);
        };
        const auto twice = [&](std::string name, std::size_t n, auto compute) {
            floats(Type::f64, double{}, Word{}, std::move(name), n, compute);
        };
        constexpr Type u32 = Type::u32, s32 = Type::s32, u64 = Type::u64, u16 = Type::u16, pred = Type::pred,
                       f32 = Type::f32;
        const auto low = [](Word w) { return static_cast<std::uint32_t>(w); };
        const auto number = [](Word w) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(w)); };
        word("add.u32", {u32, u32}, {u32}, [=](const Words& i, Words& o, Word) { o[0] = low(i[0] + i[1]); });
        word("sub.s32", {s32, s32}, {s32}, [=](const Words& i, Words& o, Word) { o[0] = low(i[0] - i[1]); });
        word("mul.lo.u32", {u32, u32}, {u32},
             [=](const Words& i, Words& o, Word) { o[0] = low(i[0] * i[1]); });
        word("mad.lo.s32", {s32, s32, s32}, {s32},
             [=](const Words& i, Words& o, Word) { o[0] = low(i[0] * i[1] + i[2]); });
        word("and.b32", {u32, u32}, {u32}, [=](const Words& i, Words& o, Word) { o[0] = i[0] & i[1]; });
        word("not.b32", {u32}, {u32}, [=](const Words& i, Words& o, Word) { o[0] = low(~i[0]); });
        word("shl.b32", {u32, u32}, {u32},
             [=](const Words& i, Words& o, Word) { o[0] = i[1] > 31 ? 0 : low(i[0] << i[1]); });
        word("shr.s32", {s32, u32}, {s32}, [=](const Words& i, Words& o, Word) {
            o[0] = static_cast<std::uint32_t>(number(i[0]) >> std::min<Word>(i[1], 31));
        });
        word("min.s32", {s32, s32}, {s32},
             [=](const Words& i, Words& o, Word) { o[0] = number(i[0]) < number(i[1]) ? i[0] : i[1]; });
        word("sub.u16", {u16, u16}, {u16},
             [](const Words& i, Words& o, Word) { o[0] = (i[0] - i[1]) & 0xFFFF; });
        word("popc.b32", {u32}, {u32},
             [=](const Words& i, Words& o, Word) { o[0] = static_cast<Word>(std::popcount(low(i[0]))); });
        word("mul.wide.u32", {u32, u32}, {u64}, [](const Words& i, Words& o, Word) { o[0] = i[0] * i[1]; });
        word("sub.u64", {u64, u64}, {u64}, [](const Words& i, Words& o, Word) { o[0] = i[0] - i[1]; });
        word("cvt.u32.u64", {u64}, {u32}, [=](const Words& i, Words& o, Word) { o[0] = low(i[0]); });
        word("cvt.u64.u32", {u32}, {u64}, [](const Words& i, Words& o, Word) { o[0] = i[0]; });
        word("mov.b64:b32x2", {u32, u32}, {u64},
             [](const Words& i, Words& o, Word) { o[0] = i[0] | i[1] << 32; });
        word("mov.b64:to.b32x2", {u64}, {u32, u32},
             [=](const Words& i, Words& o, Word) { o[0] = low(i[0]), o[1] = i[0] >> 32; });
        word("mov.b32:b16x2", {u16, u16}, {u32},
             [](const Words& i, Words& o, Word) { o[0] = i[0] | i[1] << 16; });
        word("lop3.b32", {u32, u32, u32}, {u32}, [](const Words& i, Words& o, Word table) {
            o[0] = 0;
            for (int bit = 0; bit < 32; ++bit)
                o[0] |= (table >> ((i[0] >> bit & 1) * 4 + (i[1] >> bit & 1) * 2 + (i[2] >> bit & 1)) & 1)
                        << bit;
        });
        word("selp.f32", {f32, f32, pred}, {f32},
             [](const Words& i, Words& o, Word) { o[0] = i[2] != 0 ? i[0] : i[1]; });
        word("selp.b32", {u32, u32, pred}, {u32},
             [](const Words& i, Words& o, Word) { o[0] = i[2] != 0 ? i[0] : i[1]; });
        word("setp.lt.s32", {s32, s32}, {pred},
             [=](const Words& i, Words& o, Word) { o[0] = number(i[0]) < number(i[1]); });
        word("setp.ge.u32|q", {u32, u32}, {pred, pred},
             [](const Words& i, Words& o, Word) { o[0] = i[0] >= i[1], o[1] = i[0] < i[1]; });
        word("setp.lt.f32", {f32, f32}, {pred}, [=](const Words& i, Words& o, Word) {
            o[0] = bit_cast<float>(low(i[0])) < bit_cast<float>(low(i[1]));
        });
        word("xor.pred", {pred, pred}, {pred}, [](const Words& i, Words& o, Word) { o[0] = i[0] ^ i[1]; });
        word("not.pred", {pred}, {pred}, [](const Words& i, Words& o, Word) { o[0] = i[0] ^ 1; });
        single("add.rn.f32", 2, [](const auto& x) { return x[0] + x[1]; });
        single("sub.rn.f32", 2, [](const auto& x) { return x[0] - x[1]; });
        single("mul.rn.f32", 2, [](const auto& x) { return x[0] * x[1]; });
        single("div.rn.f32", 2, [](const auto& x) { return x[0] / x[1]; });
        single("fma.rn.f32", 3, [](const auto& x) { return std::fma(x[0], x[1], x[2]); });
        single("neg.f32", 1, [](const auto& x) { return -x[0]; });
        twice("sub.rn.f64", 2, [](const auto& x) { return x[0] - x[1]; });
        twice("fma.rn.f64", 3, [](const auto& x) { return std::fma(x[0], x[1], x[2]); });
        return forms;
    }();
    return all;
}

/// Runs a program at one point.
class Meaning {
  public:
    struct Slot {
        Type type;
        Direction direction;
    };
    Meaning(const stack::Program& program, const stack::Machine& machine, Words before)
        : program_(program), machine_(machine), before_(std::move(before)) {
        for (const SiteOperand& o : machine.signature().operands) {
            first_.push_back(slots_.size());
            slots_.insert(slots_.end(), std::max(o.count, 1u), {o.type, o.direction});
        }
        for (const auto& e : machine.set().entries()) {
            const KnownForm* known = nullptr;
            for (const KnownForm& f : known_forms())
                if (f.name == e.name) known = &f;
            forms_.push_back(known);
        }
    }

    /// What the registers hold afterwards.
    Words run(const stack::CompileOptions& options) {
        execute(program_.code, program_.routines.size(), true, now_);
        Words after = before_;
        for (std::size_t s = slots_.size(); s-- > 0;) {
            if (slots_[s].direction == Direction::in) continue;
            const auto found = now_.assigned.find(s);
            Words& stack = now_.stacks[lane(slots_[s].type)];
            if (found != now_.assigned.end())
                after[s] = found->second;
            else if (options.requests == stack::Requests::top && !stack.empty())
                after[s] = stack.back(), stack.pop_back();
            else if (slots_[s].direction == Direction::out)
                after[s] = 0;
            else if (options.requests == stack::Requests::top && options.empty == stack::Empty::zero)
                after[s] = 0;
        }
        return after;
    }
    [[nodiscard]] bool is_undefined() const { return undefined_; }

  private:
    using Lane = unsigned;  // a stack, by its type's number
    struct State {
        std::map<Lane, Words> stacks;
        std::map<std::pair<Lane, std::uint32_t>, Word> cells;
        std::map<std::size_t, Word> assigned;
    };

    static constexpr Lane types = stack::first_user_type;  // `full` has none of its own
    static Lane lane(Type t) { return stack::stack_of(stack::type_id(t)); }
    static Lane lane(stack::TypeId t) { return t < types ? stack::stack_of(t) : types; }
    static unsigned width(Lane t) {
        return t == stack::type_b8 ? 8 : t == stack::type_b128 ? 128 : bits(static_cast<Type>(t));
    }
    static Word masked(Lane t, Word w) { return width(t) >= 64 ? w : w & ((Word{1} << width(t)) - 1); }

    // The place behind the `end` of the bracket at `at`, and of its `else`; 0 where there is none.
    static std::pair<std::size_t, std::size_t> partners(const std::vector<stack::Instruction>& code,
                                                        std::size_t at) {
        std::vector<std::size_t> open;
        std::size_t else_at = 0;
        for (std::size_t k = at; k < code.size(); ++k) {
            if (code[k].opcode == stack::Opcode::repeat || code[k].opcode == stack::Opcode::if_)
                open.push_back(k);
            if (code[k].opcode == stack::Opcode::else_ && open.size() == 1 &&
                code[at].opcode == stack::Opcode::if_ && else_at == 0)
                else_at = k;
            if (code[k].opcode != stack::Opcode::end) continue;
            open.pop_back();
            if (open.empty()) return {k, else_at};
        }
        return {0, 0};
    }

    void execute(const std::vector<stack::Instruction>& code, std::size_t callable, bool is_program,
                 State& s) {
        for (std::size_t at = 0; at < code.size();) at = one(code, at, callable, is_program, s);
    }
    static std::vector<stack::Instruction> part(const std::vector<stack::Instruction>& code,
                                                std::size_t begin, std::size_t end) {
        return {code.begin() + static_cast<std::ptrdiff_t>(begin),
                code.begin() + static_cast<std::ptrdiff_t>(end)};
    }

    std::size_t one(const std::vector<stack::Instruction>& code, std::size_t at, std::size_t callable,
                    bool is_program, State& s) {
        using stack::Opcode;
        const stack::Instruction& i = code[at];
        if (i.opcode == Opcode::repeat) {
            const auto [end, unused] = partners(code, at);
            if (end == 0) return at + 1;
            const auto inside = part(code, at + 1, end);
            for (std::uint32_t n = std::min(i.payload, 255u); n-- > 0;)
                execute(inside, callable, is_program, s);
            return end + 1;
        }
        if (i.opcode == Opcode::if_) {
            const auto [end, else_at] = partners(code, at);
            if (end == 0) return at + 1;
            Words& preds = s.stacks[lane(Type::pred)];
            if (preds.empty()) return end + 1;
            const bool taken = preds.back() != 0;
            preds.pop_back();
            State a = s, b = s;
            execute(part(code, at + 1, else_at != 0 ? else_at : end), callable, is_program, a);
            if (else_at != 0) execute(part(code, else_at + 1, end), callable, is_program, b);
            s = merged(taken ? a : b, taken ? b : a);
            return end + 1;
        }
        if (is_program && i.opcode == Opcode::assign)
            assign(i, s);
        else if (is_program && i.opcode == Opcode::input)
            input(i, s);
        else if (i.opcode == Opcode::form)
            form(i, s);
        else if (i.opcode == Opcode::call)
            call(i, callable, s);
        else
            simple(i, s);
        return at + 1;
    }

    // An operand that one arm assigns is assigned: in the other it keeps its value.
    State merged(State taken, const State& other) const {
        for (const auto& [slot, unused] : other.assigned)
            taken.assigned.try_emplace(slot, slots_[slot].direction == Direction::out ? 0 : before_[slot]);
        for (auto& [type, stack] : taken.stacks) {
            const auto found = other.stacks.find(type);
            stack.resize(std::min(stack.size(), found == other.stacks.end() ? 0 : found->second.size()));
        }
        std::erase_if(taken.cells, [&](const auto& cell) { return !other.cells.contains(cell.first); });
        return taken;
    }

    void input(const stack::Instruction& i, State& s) {
        if (i.index >= first_.size() ||
            i.payload >= std::max(machine_.signature().operands[i.index].count, 1u))
            return;
        const std::size_t slot = first_[i.index] + i.payload;
        if (slots_[slot].direction != Direction::out)
            s.stacks[lane(slots_[slot].type)].push_back(before_[slot]);
    }
    void assign(const stack::Instruction& i, State& s) {
        if (i.index >= first_.size() ||
            i.payload >= std::max(machine_.signature().operands[i.index].count, 1u))
            return;
        const std::size_t slot = first_[i.index] + i.payload;
        Words& stack = s.stacks[lane(slots_[slot].type)];
        if (slots_[slot].direction == Direction::in || stack.empty()) return;
        s.assigned[slot] = stack.back();
        stack.pop_back();
    }

    void form(const stack::Instruction& i, State& s) {
        if (i.index >= forms_.size() || forms_[i.index] == nullptr) return;
        const KnownForm& f = *forms_[i.index];
        std::map<Lane, std::size_t> need;
        for (const Type t : f.in) ++need[lane(t)];
        for (const auto& [t, n] : need)
            if (s.stacks[t].size() < n) return;
        Words in(f.in.size()), out(f.out.size());
        for (std::size_t k = f.in.size(); k-- > 0;) {
            Words& stack = s.stacks[lane(f.in[k])];
            in[k] = stack.back();
            stack.pop_back();
        }
        f.run(in, out, i.payload & 0xFF, undefined_);
        for (std::size_t k = 0; k < out.size(); ++k) s.stacks[lane(f.out[k])].push_back(out[k]);
    }

    void call(const stack::Instruction& i, std::size_t callable, State& s) {
        if (i.index >= std::min(callable, program_.routines.size())) return;
        const stack::Routine& r = program_.routines[i.index];
        std::map<Lane, std::size_t> need;
        for (const auto t : r.arguments) {
            if (lane(t) == types) return;
            ++need[lane(t)];
        }
        for (const auto t : r.results)
            if (lane(t) == types) return;
        State inner;
        for (const auto& [t, n] : need) {
            Words& stack = s.stacks[t];
            if (stack.size() < n) return;
        }
        for (const auto& [t, n] : need) {
            Words& stack = s.stacks[t];
            const auto begin = stack.end() - static_cast<std::ptrdiff_t>(n);
            inner.stacks[t].assign(begin, stack.end());
            stack.erase(begin, stack.end());
        }
        execute(r.code, i.index, false, inner);
        Words results(r.results.size());
        for (std::size_t k = results.size(); k-- > 0;) {
            Words& stack = inner.stacks[lane(r.results[k])];
            if (stack.empty()) continue;
            results[k] = stack.back();
            stack.pop_back();
        }
        for (std::size_t k = 0; k < results.size(); ++k)
            if (width(lane(r.results[k])) != 8 && width(lane(r.results[k])) != 128)
                s.stacks[lane(r.results[k])].push_back(results[k]);
    }

    static Word constant(Lane t, std::uint32_t payload) {
        if (t == lane(Type::f64))
            return std::bit_cast<Word>(static_cast<double>(std::bit_cast<float>(payload)));
        if (t == lane(Type::s64))
            return static_cast<Word>(static_cast<std::int64_t>(static_cast<std::int32_t>(payload)));
        return masked(t, payload);
    }

    void simple(const stack::Instruction& i, State& s) {
        using stack::Opcode;
        const Lane t = lane(i.type);
        if (t == types) return;
        Words& v = s.stacks[t];
        const bool has_constants = width(t) != 8 && width(t) != 128;
        const std::size_t n = v.size();
        switch (i.opcode) {
            case Opcode::constant:
                if (has_constants) v.push_back(constant(t, i.payload));
                return;
            case Opcode::pooled:
                if (has_constants)
                    v.push_back(program_.pool.empty()
                                    ? 0
                                    : masked(t, program_.pool[i.payload % program_.pool.size()]));
                return;
            case Opcode::dup:
                if (n >= 1) v.push_back(Word{v[n - 1]});
                return;
            case Opcode::over:
                if (n >= 2) v.push_back(Word{v[n - 2]});
                return;
            case Opcode::drop:
                if (n >= 1) v.pop_back();
                return;
            case Opcode::swap:
                if (n >= 2) std::swap(v[n - 1], v[n - 2]);
                return;
            case Opcode::rotate:
                if (n >= 3) {
                    const Word a = v[n - 3];
                    v[n - 3] = v[n - 2], v[n - 2] = v[n - 1], v[n - 1] = a;
                }
                return;
            case Opcode::reverse: v = Words(v.rbegin(), v.rend()); return;
            case Opcode::clear: v.clear(); return;
            case Opcode::yank_dup:
                if (i.payload < n) v.push_back(Word{v[n - 1 - i.payload]});
                return;
            case Opcode::swap_with:
                if (i.payload < n) std::swap(v[n - 1], v[n - 1 - i.payload]);
                return;
            case Opcode::replace:
                if (i.payload < n) {
                    const Word top = v.back();
                    v[n - 1 - i.payload] = top;
                    v.pop_back();
                }
                return;
            case Opcode::store:
                if (n == 0 || i.payload > 255) return;
                s.cells[{t, i.payload}] = v.back();
                v.pop_back();
                return;
            case Opcode::load:
                if (i.payload <= 255 && s.cells.contains({t, i.payload}))
                    v.push_back(s.cells[{t, i.payload}]);
                return;
            case Opcode::cast: {
                const Lane from = i.index < types ? lane(static_cast<stack::TypeId>(i.index)) : types;
                if (from == types || width(from) != width(t) || s.stacks[from].empty()) return;
                const Word bits = s.stacks[from].back();
                s.stacks[from].pop_back();
                s.stacks[t].push_back(bits);
                return;
            }
            default: return;
        }
    }

    const stack::Program& program_;
    const stack::Machine& machine_;
    const Words before_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> first_;
    std::vector<const KnownForm*> forms_;
    State now_;
    bool undefined_ = false;
};

}  // namespace ptxgraft::test
