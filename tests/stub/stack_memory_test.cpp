// Programs with effects: that loads, stores and atomics happen in program order, under the predicates of the
// brackets around them, and nowhere else. Memory and registers after a run on the emulator are compared with
// those of an interpreter that works over arrays and is written from the manual (stack.hpp) alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/expression_run.hpp"

namespace ptxgraft {
namespace {

using std::uint32_t, std::uint64_t, std::size_t;
using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<uint64_t>;

// ---- what is known of the instructions
// -------------------------------------------------------------------------------

// An address is a type of its own, so that only operands are addresses.
constexpr const char* set_text =
    "type ptr u64\n"
    "ld8 = ld.global.u8 ptr -> u32\nlds8 = ld.global.s8 ptr -> s32\nld16 = ld.global.u16 ptr -> u16\nld32 = "
    "ld.global.u32 ptr -> u32\n"
    "ld64 = ld.global.u64 ptr -> u64\nldv = ld.global.v2.u32 ptr -> u32\n"
    "st8 = st.global.u8 ptr, u32\nst16 = st.global.u16 ptr, u16\nst32 = st.global.u32 ptr, u32\nst64 = "
    "st.global.u64 ptr, u64\nstv = st.global.v2.u32 ptr, u32\n"
    "aadd = atom.global.add.u32 ptr, u32 -> u32\naexch = atom.global.exch.b32 ptr, u32 -> u32\nacas = "
    "atom.global.cas.b32 ptr, u32, u32 -> u32\n"
    "ainc = atom.global.inc.u32 ptr, u32 -> u32\nadec = atom.global.dec.u32 ptr, u32 -> u32\namin = "
    "atom.global.min.s32 ptr, s32 -> s32\n"
    "amax = atom.global.max.u32 ptr, u32 -> u32\naxor = atom.global.xor.b64 ptr, u64 -> u64\nradd = "
    "red.global.add.u32 ptr, u32\nrand = red.global.and.b32 ptr, u32\n"
    "add.u32\nsub.u32\nmul.lo.u32\nxor.b32\nshr.u32\nadd.u64\ncvt.u64.u32\ncvt.u32.u64\ncvt.u16.u32\nsetp.lt."
    "u32\nsetp.eq.u32\nsetp.lt.s32\nand.pred\nnot.pred\nselp.b32\nsub.s32\n";

enum class Kind { pure, load, store, atomic };

// Stacks by the letter of their type: p pred, h u16, u u32, s s32, l u64, a ptr.
struct Known {
    const char* name;
    const char* in;
    const char* out;
    Kind kind;
    uint32_t bytes;  // of memory
    void (*run)(const uint64_t* in, uint64_t* out,
                uint64_t* memory);  // memory: the value there, before and after
};

#define PURE [](const uint64_t* i, uint64_t* o, uint64_t*)
#define MEMORY [](const uint64_t* i, uint64_t* o, uint64_t* m)
const Known known[] = {{"ld8", "a", "u", Kind::load, 1, MEMORY{(void)i, o[0] = m[0];
}  // namespace
}  // namespace ptxgraft
, {"lds8", "a", "s", Kind::load, 1,
   MEMORY{(void)i, o[0] = static_cast<uint32_t>(static_cast<std::int8_t>(m[0]));
}
}
, {"ld16", "a", "h", Kind::load, 2, MEMORY{(void)i, o[0] = m[0];
}
}
, {"ld32", "a", "u", Kind::load, 4, MEMORY{(void)i, o[0] = m[0];
}
}
, {"ld64", "a", "l", Kind::load, 8, MEMORY{(void)i, o[0] = m[0];
}
}
, {"ldv", "a", "uu", Kind::load, 8, MEMORY{(void)i, o[0] = static_cast<uint32_t>(m[0]), o[1] = m[0] >> 32;
}
}
, {"st8", "au", "", Kind::store, 1, MEMORY{(void)o, m[0] = i[1];
}
}
, {"st16", "ah", "", Kind::store, 2, MEMORY{(void)o, m[0] = i[1];
}
}
, {"st32", "au", "", Kind::store, 4, MEMORY{(void)o, m[0] = i[1];
}
}
, {"st64", "al", "", Kind::store, 8, MEMORY{(void)o, m[0] = i[1];
}
}
, {"stv", "auu", "", Kind::store, 8, MEMORY{(void)o, m[0] = i[1] | i[2] << 32;
}
}
, {"aadd", "au", "u", Kind::atomic, 4, MEMORY{o[0] = m[0], m[0] += i[1];
}
}
, {"aexch", "au", "u", Kind::atomic, 4, MEMORY{o[0] = m[0], m[0] = i[1];
}
}
, {"acas", "auu", "u", Kind::atomic, 4, MEMORY{o[0] = m[0], m[0] = m[0] == i[1] ? i[2] : m[0];
}
}
, {"ainc", "au", "u", Kind::atomic, 4, MEMORY{o[0] = m[0], m[0] = m[0] >= i[1] ? 0 : m[0] + 1;
}
}
, {"adec", "au", "u", Kind::atomic, 4, MEMORY{o[0] = m[0], m[0] = m[0] == 0 || m[0] > i[1] ? i[1] : m[0] - 1;
}
}
, {"amin", "as", "s", Kind::atomic, 4,
   MEMORY{o[0] = m[0], m[0] = static_cast<std::int32_t>(i[1]) < static_cast<std::int32_t>(m[0]) ? i[1] : m[0];
}
}
, {"amax", "au", "u", Kind::atomic, 4, MEMORY{o[0] = m[0], m[0] = std::max(m[0], i[1]);
}
}
, {"axor", "al", "l", Kind::atomic, 8, MEMORY{o[0] = m[0], m[0] ^= i[1];
}
}
, {"radd", "au", "", Kind::atomic, 4, MEMORY{(void)o, m[0] += i[1];
}
}
, {"rand", "au", "", Kind::atomic, 4, MEMORY{(void)o, m[0] &= i[1];
}
}
, {"add.u32", "uu", "u", Kind::pure, 0, PURE{o[0] = i[0] + i[1];
}
}
, {"sub.u32", "uu", "u", Kind::pure, 0, PURE{o[0] = i[0] - i[1];
}
}
, {"mul.lo.u32", "uu", "u", Kind::pure, 0, PURE{o[0] = i[0] * i[1];
}
}
, {"xor.b32", "uu", "u", Kind::pure, 0, PURE{o[0] = i[0] ^ i[1];
}
}
, {"shr.u32", "uu", "u", Kind::pure, 0, PURE{o[0] = i[1] > 31 ? 0 : i[0] >> i[1];
}
}
, {"add.u64", "ll", "l", Kind::pure, 0, PURE{o[0] = i[0] + i[1];
}
}
, {"cvt.u64.u32", "u", "l", Kind::pure, 0, PURE{o[0] = i[0];
}
}
, {"cvt.u32.u64", "l", "u", Kind::pure, 0, PURE{o[0] = i[0];
}
}
, {"cvt.u16.u32", "u", "h", Kind::pure, 0, PURE{o[0] = i[0];
}
}
, {"setp.lt.u32", "uu", "p", Kind::pure, 0, PURE{o[0] = i[0] < i[1];
}
}
, {"setp.eq.u32", "uu", "p", Kind::pure, 0, PURE{o[0] = i[0] == i[1];
}
}
, {"setp.lt.s32", "ss", "p", Kind::pure, 0,
   PURE{o[0] = static_cast<std::int32_t>(i[0]) < static_cast<std::int32_t>(i[1]);
}
}
, {"and.pred", "pp", "p", Kind::pure, 0, PURE{o[0] = i[0] & i[1];
}
}
, {"not.pred", "p", "p", Kind::pure, 0, PURE{o[0] = i[0] ^ 1;
}
}
, {"selp.b32", "uup", "u", Kind::pure, 0, PURE{o[0] = i[2] != 0 ? i[0] : i[1];
}
}
, {"sub.s32", "ss", "s", Kind::pure, 0, PURE{o[0] = i[0] - i[1];
}
}
,
}
;
#undef PURE
#undef MEMORY

uint64_t masked(char stack, uint64_t value) {
    return stack == 'p'                   ? value & 1
           : stack == 'h'                 ? value & 0xFFFF
           : stack == 'u' || stack == 's' ? value & 0xFFFFFFFF
                                          : value;
}

// ---- the interpreter
// -------------------------------------------------------------------------------------------------

struct Operand {
    char stack;
    Direction direction;
};

class Interpreter {
  public:
    Interpreter(const stack::Program& program, const std::vector<Operand>& operands, Words registers,
                Bytes& memory, uint64_t base)
        : program_(program),
          operands_(operands),
          before_(std::move(registers)),
          memory_(memory),
          base_(base) {}

    // The registers afterwards, under `mutated`.
    Words run() {
        State state;
        execute(program_.code, 0, program_.code.size(), state, true,
                static_cast<int>(program_.routines.size()), true);
        Words after = before_;
        for (size_t k = operands_.size(); k-- > 0;) {
            if (operands_[k].direction == Direction::in) continue;
            Words& stack = state.stacks[operands_[k].stack];
            const auto found = state.assigned.find(k);
            if (found != state.assigned.end())
                after[k] = found->second;
            else if (!stack.empty())
                after[k] = stack.back(), stack.pop_back();
            else
                after[k] = 0;
        }
        return after;
    }

  private:
    struct State {
        std::map<char, Words> stacks;
        std::map<std::pair<char, uint32_t>, uint64_t> cells;
        std::map<size_t, uint64_t> assigned;
    };
    using Code = std::vector<stack::Instruction>;

    static char letter(stack::TypeId type) {
        switch (type) {
            case stack::type_id(Type::pred): return 'p';
            case stack::type_id(Type::u16): return 'h';
            case stack::type_id(Type::u32): return 'u';
            case stack::type_id(Type::s32): return 's';
            case stack::type_id(Type::u64): return 'l';
            case stack::first_user_type: return 'a';
            default: return '?';
        }
    }

    // The places of the `end` of the bracket at `at` and of the `else` that is its own, of which the first
    // counts.
    static std::pair<size_t, size_t> partners(const Code& code, size_t at, size_t end) {
        std::vector<size_t> open;
        size_t middle = 0;
        for (size_t k = at; k < end; ++k) {
            const stack::Opcode opcode = code[k].opcode;
            if (opcode == stack::Opcode::repeat || opcode == stack::Opcode::if_) open.push_back(k);
            if (opcode == stack::Opcode::else_ && open.size() == 1 && code[at].opcode == stack::Opcode::if_ &&
                middle == 0)
                middle = k;
            if (opcode == stack::Opcode::end) open.pop_back();
            if (open.empty()) return {k, middle};
        }
        return {0, 0};
    }

    void execute(const Code& code, size_t begin, size_t end, State& s, bool active, int callable,
                 bool is_program) {
        for (size_t at = begin; at < end; ++at) {
            const stack::Instruction& i = code[at];
            if (i.opcode != stack::Opcode::repeat && i.opcode != stack::Opcode::if_) {
                step(i, s, active, callable, is_program);
                continue;
            }
            const auto [close, middle] = partners(code, at, code.size());
            if (close == 0) continue;
            if (i.opcode == stack::Opcode::repeat)
                for (uint32_t n = 0; n < i.payload; ++n)
                    execute(code, at + 1, close, s, active, callable, is_program);
            else if (Words& preds = s.stacks['p']; !preds.empty()) {
                const bool taken = preds.back() != 0;
                preds.pop_back();
                State yes = s, no = s;
                execute(code, at + 1, middle == 0 ? close : middle, yes, active && taken, callable,
                        is_program);
                if (middle != 0) execute(code, middle + 1, close, no, active && !taken, callable, is_program);
                s = merged(taken ? yes : no, taken ? no : yes);
            }
            at = close;
        }
    }

    // What one arm leaves out is not there; an operand that one arm assigns has its value from before in the
    // other.
    State merged(State s, const State& other) const {
        for (const auto& [k, value] : other.assigned)
            s.assigned.try_emplace(k, operands_[k].direction == Direction::out ? 0 : before_[k]);
        for (auto& [type, stack] : s.stacks)
            stack.resize(
                std::min(stack.size(), other.stacks.contains(type) ? other.stacks.at(type).size() : 0));
        std::erase_if(s.cells, [&](const auto& cell) { return !other.cells.contains(cell.first); });
        return s;
    }

    void step(const stack::Instruction& i, State& s, bool active, int callable, bool is_program) {
        using stack::Opcode;
        if (i.opcode == Opcode::form) return form(known[i.index], s, active);
        if (i.opcode == Opcode::call) return call(i, s, active, callable);
        if (i.opcode == Opcode::input || i.opcode == Opcode::assign) {
            if (!is_program) return;
            Words& stack = s.stacks[operands_[i.index].stack];
            if (i.opcode == Opcode::input && operands_[i.index].direction != Direction::out)
                stack.push_back(before_[i.index]);
            if (i.opcode == Opcode::assign && operands_[i.index].direction != Direction::in && !stack.empty())
                s.assigned[i.index] = stack.back(), stack.pop_back();
            return;
        }
        const char type = letter(i.type);
        Words& stack = s.stacks[type];
        const size_t n = stack.size();
        if (i.opcode == Opcode::constant) stack.push_back(masked(type, i.payload));
        if (i.opcode == Opcode::dup && n > 0) stack.push_back(uint64_t{stack[n - 1]});
        if (i.opcode == Opcode::over && n > 1) stack.push_back(uint64_t{stack[n - 2]});
        if (i.opcode == Opcode::swap && n > 1) std::swap(stack[n - 1], stack[n - 2]);
        if (i.opcode == Opcode::drop && n > 0) stack.pop_back();
        if (i.opcode == Opcode::store && n > 0) s.cells[{type, i.payload}] = stack.back(), stack.pop_back();
        if (i.opcode == Opcode::load && s.cells.contains({type, i.payload}))
            stack.push_back(s.cells[{type, i.payload}]);
    }

    static bool take(State& s, const std::string& types, Words& values) {
        std::map<char, size_t> need;
        for (const char t : types) ++need[t];
        for (const auto& [t, count] : need)
            if (s.stacks[t].size() < count) return false;
        values.resize(types.size());
        for (size_t k = types.size(); k-- > 0;)
            values[k] = s.stacks[types[k]].back(), s.stacks[types[k]].pop_back();
        return true;
    }

    void form(const Known& f, State& s, bool active) {
        Words in;
        if (!take(s, f.in, in)) return;
        uint64_t out[2] = {}, memory = 0;
        const bool reaches = f.kind != Kind::pure && active;
        if (reaches) std::memcpy(&memory, place(in[0], f.bytes), f.bytes);
        f.run(in.data(), out, &memory);
        if (reaches && f.kind != Kind::load) std::memcpy(place(in[0], f.bytes), &memory, f.bytes);
        for (size_t k = 0; f.out[k] != 0; ++k) s.stacks[f.out[k]].push_back(masked(f.out[k], out[k]));
    }
    std::uint8_t* place(uint64_t address, size_t bytes) {
        EXPECT_TRUE(address >= base_ && address - base_ + bytes <= memory_.size());
        return memory_.data() + (address - base_);
    }

    void call(const stack::Instruction& i, State& s, bool active, int callable) {
        if (static_cast<int>(i.index) >= callable) return;
        const stack::Routine& routine = program_.routines[i.index];
        std::string types, results;
        for (const auto t : routine.arguments) types += letter(t);
        for (const auto t : routine.results) results += letter(t);
        Words in;
        if (!take(s, types, in)) return;
        State inner;
        for (size_t k = 0; k < types.size(); ++k) inner.stacks[types[k]].push_back(in[k]);
        execute(routine.code, 0, routine.code.size(), inner, active, static_cast<int>(i.index), false);
        Words out(results.size());
        for (size_t k = results.size(); k-- > 0;) {
            Words& stack = inner.stacks[results[k]];
            if (!stack.empty()) out[k] = stack.back(), stack.pop_back();
        }
        for (size_t k = 0; k < results.size(); ++k) s.stacks[results[k]].push_back(out[k]);
    }

    const stack::Program& program_;
    const std::vector<Operand>& operands_;
    const Words before_;
    Bytes& memory_;
    const uint64_t base_;
};

// ---- both
// -----------------------------------------------------------------------------------------------------------

constexpr size_t lanes = 32, lane_bytes = 32;

const Signature& memory_signature() {
    static const Signature s = *Signature::parse(
        "in ptr:u64 a, in ptr:u64 b, in ptr:u64 c, in pred p, in pred q, in u32 x, in u32 y, in s32 s, in "
        "u64 l, mod u32 m, mod pred r, mod u64 ml, out u32 o, out s32 os, out u16 oh");
    return s;
}
const std::vector<Operand> operands = {{'a', Direction::in},  {'a', Direction::in},  {'a', Direction::in},
                                       {'p', Direction::in},  {'p', Direction::in},  {'u', Direction::in},
                                       {'u', Direction::in},  {'s', Direction::in},  {'l', Direction::in},
                                       {'u', Direction::mod}, {'p', Direction::mod}, {'l', Direction::mod},
                                       {'u', Direction::out}, {'s', Direction::out}, {'h', Direction::out}};

const stack::Machine& memory_machine() {
    static const stack::Machine m = [] {
        auto set = stack::InstructionSet::parse(set_text);
        EXPECT_TRUE(set) << describe(set.error(), set_text);
        for (size_t k = 0; k < std::size(known); ++k)
            EXPECT_EQ((*set)->find(known[k].name), static_cast<int>(k)) << known[k].name;
        return *stack::Machine::make(*set, memory_signature(),
                                     {.policy = {.allowed = Effect::load | Effect::store | Effect::atomic}});
    }();
    return m;
}

// 32 lanes with memory of their own, whose three addresses are often the same.
struct World {
    test::Values registers;
    Bytes memory;
    uint64_t base = 0x10000;

    explicit World(uint64_t seed) : memory(lanes * lane_bytes) {
        std::mt19937_64 random(seed);
        for (std::uint8_t& byte : memory)
            byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 4 : random());
        for (const Operand& operand : operands) {
            Words& column = registers.emplace_back();
            for (size_t lane = 0; lane < lanes; ++lane) {
                const uint64_t value = random() % 2 == 0 ? random() % 4 : random();
                column.push_back(operand.stack == 'a' ? lane * lane_bytes + random() % 3 * 8
                                                      : masked(operand.stack, value));
            }
        }
    }
    void move_to(uint64_t address) {
        for (size_t k = 0; k < operands.size(); ++k)
            for (uint64_t& value : registers[k])
                if (operands[k].stack == 'a') value += address;
        base = address;
    }
};

std::string describe_difference(const World& before, const World& a, const World& b) {
    for (size_t k = 0; k < operands.size(); ++k)
        for (size_t lane = 0; lane < lanes; ++lane)
            if (operands[k].direction != Direction::in && a.registers[k][lane] != b.registers[k][lane])
                return memory_signature().operands[k].name + " of lane " + std::to_string(lane) + " is " +
                       std::to_string(a.registers[k][lane]) + ", not " + std::to_string(b.registers[k][lane]);
    for (size_t i = 0; i < a.memory.size(); ++i)
        if (a.memory[i] != b.memory[i])
            return "byte " + std::to_string(i % lane_bytes) + " of lane " + std::to_string(i / lane_bytes) +
                   " is " + std::to_string(a.memory[i]) + ", not " + std::to_string(b.memory[i]) +
                   "; before " + std::to_string(before.memory[i]);
    return "";
}

// The stub run on the emulator.
Expected<World> emulate(const std::string& stub, World world) {
    Emulator emulator({.threads = 1});
    const std::string text = test::table_kernel(memory_signature(), {stub}, lanes);
    const auto module = emulator.load(text);
    if (!module) return tl::unexpected(module.error());
    const size_t words = operands.size() * lanes;
    world.move_to(*emulator.allocate(world.memory.size()));
    std::vector<uint64_t> table;
    for (const auto& column : world.registers) table.insert(table.end(), column.begin(), column.end());
    const uint64_t places[] = {*emulator.allocate(8 * words), *emulator.allocate(8 * words)};
    EXPECT_TRUE(emulator.write(world.base, std::as_bytes(std::span(world.memory))));
    for (const uint64_t place : places) EXPECT_TRUE(emulator.write(place, std::as_bytes(std::span(table))));
    const std::vector<std::span<const std::byte>> arguments = {std::as_bytes(std::span(&places[0], 1)),
                                                               std::as_bytes(std::span(&places[1], 1))};
    if (auto run = emulator.launch(**module, "k", {.block = {lanes}}, arguments); !run)
        return tl::unexpected(run.error());
    EXPECT_TRUE(emulator.read(world.base, std::as_writable_bytes(std::span(world.memory))));
    EXPECT_TRUE(emulator.read(places[1], std::as_writable_bytes(std::span(table))));
    for (size_t k = 0; k < operands.size(); ++k)
        for (size_t lane = 0; lane < lanes; ++lane)
            world.registers[k][lane] = masked(operands[k].stack, table[k * lanes + lane]);
    return world;
}

World interpret(const stack::Program& program, World world) {
    for (size_t lane = 0; lane < lanes; ++lane) {
        Words before;
        for (const auto& column : world.registers) before.push_back(column[lane]);
        const Words after = Interpreter(program, operands, before, world.memory, world.base).run();
        for (size_t k = 0; k < operands.size(); ++k) world.registers[k][lane] = after[k];
    }
    return world;
}

// Empty where a program does on the emulator what the interpreter says.
std::string check(const stack::Program& program, uint64_t seed, const stack::CompileOptions& options,
                  int* changed = nullptr) {
    const auto stub = stack::make_stub(program, memory_machine(), options);
    if (!stub) return describe(stub.error());
    const World before(seed);
    const auto emulated = emulate(stub->ptx(), before);
    if (!emulated) return describe(emulated.error()) + "\n" + stub->ptx();
    World there = before;
    there.move_to(emulated->base);
    if (changed != nullptr) *changed += emulated->memory != before.memory;
    const std::string difference = describe_difference(before, *emulated, interpret(program, there));
    return difference.empty()
               ? ""
               : difference + "\n" + stack::print(program, memory_machine()) + "\n" + stub->ptx();
}

// ---- by hand
// ---------------------------------------------------------------------------------------------------------

constexpr const char* programs[] = {
    "a x st32 a ld32 -> o",                               // what was stored is loaded
    "a ld32 a x st32 a ld32 add.u32 -> o",                // a load before a store reads what was there
    "a x st32 b y st32 a ld32 -> o",                      // b may be a
    "a ld32 b x st32 -> o",                               // a value loaded early and used late
    "a ld32 dup.u32 a swap.u32 x add.u32 st32 -> o",      // used on both sides of a store
    "a b x aexch dup.u32 y add.u32 st32 -> o",            // the result of an atomic is stored elsewhere
    "a x aadd a x aadd a x aadd drop.u32 drop.u32 -> o",  // atomics whose results nobody reads still happen
    "a x radd a y rand a ld32 -> o",                      //
    "a x y acas b y x acas add.u32 -> o",                 //
    "p if a x st32 end a ld32 -> o",                      // under a predicate
    "p if a x st32 else a y st32 end a ld32 -> o",        //
    "p if q if a x st32 else b y st32 end else c x radd end",  // under two
    "p if a ld32 b swap.u32 st32 end",                         // load and store under one
    "p if a ld32 else b ld32 end a x st32 b x st32 -> o",      // the loads are before the stores
    "p if a x aadd else y end a ld32 add.u32 -> o",            // selected with what is no load
    "p if a x st32 end q if a y st32 end a ld32 -> o",         // one after the other
    "p if a x st32 end p if a ld32 else b ld32 end -> o",      //
    "a ld32 y setp.lt.u32 if a y st32 end a ld32 -> o",        // a predicate of memory
    "a ld32 x setp.lt.u32 dup.pred if a x st32 end a ld32 x setp.lt.u32 and.pred -> r",
    "repeat 5 a ld32 x add.u32 a swap.u32 st32 end",  // five times in turn
    "repeat 3 p if a x aadd drop.u32 end p not.pred if b y radd end end",
    "repeat 4 a ld32 a over.u32 st8 b swap.u32 st32 end",               // bytes of words
    "a ld64 b x st8 a ld64 add.u64 -> ml",                              //
    "a ldv swap.u32 a swap.u32 x st32 xor.b32 -> o",                    // vectors, with a store between
    "a x y stv a ldv sub.u32 -> o",                                     //
    "a s amin a ld32 drop.u32 -> os",                                   //
    "a l axor b l axor add.u64 -> ml",                                  //
    "a lds8 -> os; a x st8; a ld16 -> oh",                              //
    "p if a x st32 b else c end drop.ptr q if a else b end ld32 -> o",  // addresses chosen by predicates
    "p if x -> m; a x st32 else y -> o; end q if a ld32 -> m; end",     // assignments under predicates, with
                                                                        // effects
    "routine bump ptr u32 -> u32 : aadd end a x bump b y bump add.u32 -> o",
    "routine bump ptr u32 -> u32 : aadd end p if a x bump else b y bump end -> o",
    "routine swap_in ptr u32 -> u32 : store.u32 0 dup.ptr ld32 swap.ptr load.u32 0 st32 end p if a x swap_in "
    "else y end q if a y swap_in drop.u32 end -> o",
    "x store.u32 0 p if a ld32 store.u32 0 end a y st32 load.u32 0 -> o",  // a cell that one arm loads into
    "p q and.pred if a x st32 end p q and.pred if a ld32 -> o; end",
};

TEST(StackMemory, EffectsHappenInProgramOrderUnderTheirPredicates) {
    for (const char* text : programs) {
        const auto program = stack::parse(text, memory_machine());
        ASSERT_TRUE(program) << describe(program.error(), text);
        for (const bool folds : {false, true}) {
            stack::CompileOptions options = stack::mutated;
            options.fold = options.reuse = folds;
            for (uint64_t seed = 0; seed < 4; ++seed) EXPECT_EQ(check(*program, seed, options), "") << text;
        }
    }
}

// ---- at random
// -------------------------------------------------------------------------------------------------------

stack::Instruction random_instruction(std::mt19937_64& random, bool is_program, size_t routines) {
    using stack::Opcode;
    constexpr Opcode moves[] = {Opcode::dup, Opcode::swap, Opcode::over, Opcode::drop, Opcode::dup};
    const stack::TypeId types[] = {stack::type_id(Type::u32),  stack::type_id(Type::u32),
                                   stack::type_id(Type::pred), stack::type_id(Type::u64),
                                   stack::type_id(Type::s32),  stack::first_user_type};
    const stack::TypeId type = types[random() % std::size(types)];
    const auto index = [&](size_t n) { return static_cast<std::uint16_t>(random() % n); };
    switch (random() % 20) {
        case 0: return {moves[random() % std::size(moves)], type, 0, 0};
        case 1:
            return {Opcode::constant, type == stack::first_user_type ? types[0] : type, 0,
                    static_cast<uint32_t>(random() % 5)};
        case 2: return {Opcode::store, type, 0, static_cast<uint32_t>(random() % 2)};
        case 3: return {Opcode::load, type, 0, static_cast<uint32_t>(random() % 2)};
        case 4:
            return {is_program ? Opcode::assign : Opcode::swap, is_program ? stack::TypeId{0} : type,
                    static_cast<std::uint16_t>(9 + random() % 6), 0};
        case 5:
            return {routines == 0 ? Opcode::dup : Opcode::call, routines == 0 ? type : stack::TypeId{0},
                    routines == 0 ? std::uint16_t{0} : index(routines), 0};
        case 6: return {Opcode::if_};
        case 7: return {Opcode::else_};
        case 8: return {Opcode::end};
        case 9:
            return random() % 3 == 0
                       ? stack::Instruction{Opcode::repeat, 0, 0, static_cast<uint32_t>(random() % 4)}
                       : stack::Instruction{Opcode::end};
        case 10:
        case 11:
        case 12:
        case 13:
            // mostly addresses and predicates, which everything here wants
            return {is_program ? Opcode::input : Opcode::dup, is_program ? stack::TypeId{0} : type,
                    index(random() % 2 == 0 ? 5 : 12), 0};
        case 14:
        case 15:
        case 16: return {Opcode::form, 0, index(21), 0};
        default: return {Opcode::form, 0, index(std::size(known)), 0};
    }
}

stack::Program random_memory_program(uint64_t seed) {
    std::mt19937_64 random(seed);
    stack::Program program;
    const stack::TypeId u32 = stack::type_id(Type::u32), ptr = stack::first_user_type,
                        pred = stack::type_id(Type::pred);
    const std::vector<stack::TypeId> arguments[] = {{ptr, u32}, {ptr, ptr, u32, u32}, {pred, ptr, u32}},
                                     results[] = {{u32}, {}, {u32, u32}};
    for (size_t r = random() % 3; r-- > 0;) {
        stack::Routine& routine = program.routines.emplace_back();
        routine = {"r" + std::to_string(program.routines.size()),
                   arguments[random() % 3],
                   results[random() % 3],
                   {}};
        for (size_t n = 4 + random() % 16; n-- > 0;)
            routine.code.push_back(random_instruction(random, false, program.routines.size() - 1));
    }
    for (size_t n = 10 + random() % 90; n-- > 0;)
        program.code.push_back(random_instruction(random, true, program.routines.size()));
    return program;
}

TEST(StackMemory, RandomProgramsDoWhatTheirInterpreterSays) {
    const char* const first = std::getenv("PTXGRAFT_SEED");
    const char* const count = std::getenv("PTXGRAFT_PROGRAMS");
    const uint64_t begin = first == nullptr ? 1 : std::strtoull(first, nullptr, 0),
                   n = count == nullptr ? 1500 : std::strtoull(count, nullptr, 0);
    int changed = 0;
    for (uint64_t seed = begin; seed < begin + n && !HasFailure(); ++seed) {
        const stack::Program program = random_memory_program(seed);
        stack::CompileOptions options = stack::mutated;
        options.reuse = seed % 2 == 0;
        options.fold = seed % 3 == 0;
        EXPECT_EQ(check(program, seed, options, &changed), "") << "seed " << seed;
    }
    EXPECT_GT(changed, static_cast<int>(n / 4));  // programs that write to memory
}

}  // namespace
}  // namespace ptxgraft
