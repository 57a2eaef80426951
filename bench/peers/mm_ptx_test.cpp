// Random programs, in ours and in mm-ptx's instructions: what both compile to gives the same numbers on the
// emulator. What mm-ptx gets wrong (tests/peer_programs_test.cpp) is left out: stacks that are empty or full,
// `x y -> y x`.

#include <gtest/gtest.h>
#include <stack_ptx.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "support/expression_run.hpp"

namespace {

using namespace ptxgraft;
using stack::Opcode;

// Stacks by their numbers there.
enum Lane : unsigned { f32, u32, pred, lanes };
constexpr stack::TypeId types[] = {stack::type_id(Type::f32), stack::type_id(Type::u32),
                                   stack::type_id(Type::pred)};

struct Form {
    const char* name;
    std::vector<Lane> inputs;
    Lane output;
};
const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        {"add.ftz.f32", {f32, f32}, f32},
        {"sub.ftz.f32", {f32, f32}, f32},
        {"mul.ftz.f32", {f32, f32}, f32},
        {"fma.rn.ftz.f32", {f32, f32, f32}, f32},
        {"abs.ftz.f32", {f32}, f32},
        {"neg.ftz.f32", {f32}, f32},
        {"min.ftz.f32", {f32, f32}, f32},
        {"max.ftz.f32", {f32, f32}, f32},
        {"div.approx.ftz.f32", {f32, f32}, f32},
        {"rcp.approx.ftz.f32", {f32}, f32},
        {"sqrt.approx.ftz.f32", {f32}, f32},
        {"sin.approx.ftz.f32", {f32}, f32},
        {"ex2.approx.ftz.f32", {f32}, f32},
        {"copysign.f32", {f32, f32}, f32},
        {"setp.lt.ftz.f32", {f32, f32}, pred},
        {"selp.f32", {f32, f32, pred}, f32},
        {"add.u32", {u32, u32}, u32},
        {"sub.u32", {u32, u32}, u32},
        {"mul.lo.u32", {u32, u32}, u32},
        {"mad.lo.u32", {u32, u32, u32}, u32},
        {"cvt.rn.f32.u32", {u32}, f32},
    };
    return all;
}

const Signature& signature() {
    static const Signature s = *Signature::parse(
        "in f32 in_a, in f32 in_b, in f32 in_c, in u32 in_x, in u32 in_y, "
        "out f32 out_a, out f32 out_b, out u32 out_x, out u32 out_y");
    return s;
}
const stack::Machine& machine() {
    static const stack::Machine m = *stack::Machine::make(stack::find_set("standard"), signature());
    return m;
}
constexpr unsigned first_output = 5, operand_count = 9;
constexpr Lane operands[operand_count] = {f32, f32, f32, u32, u32, f32, f32, u32, u32};

// ---- the same program twice ---

class Twins {
  public:
    stack::Program ours;
    std::vector<StackPtxInstruction> theirs;

    explicit Twins(std::uint64_t seed) : random_(seed) {
        for (std::size_t n = 40 + random_() % 80; n-- > 0 && depth_[f32] < 100 && depth_[u32] < 100;) step();
        while (depth_[f32] < 2) constant(f32);
        while (depth_[u32] < 2) constant(u32);
        // their requests pop in their order, the first from the top
        for (unsigned k = first_output; k < operand_count; ++k)
            add(Opcode::assign, 0, static_cast<std::uint16_t>(k));
        theirs.push_back(instruction(STACK_PTX_INSTRUCTION_TYPE_RETURN));
    }

  private:
    static StackPtxInstruction instruction(StackPtxInstructionType type, unsigned stack = 0,
                                           unsigned index = 0) {
        StackPtxInstruction i{};
        i.instruction_type = type;
        i.stack_idx = stack & 31u;  // its fields have five bits
        i.idx = static_cast<StackPtxIdx>(index);
        return i;
    }
    void add(Opcode opcode, stack::TypeId type, std::uint16_t index = 0, std::uint32_t payload = 0) {
        ours.code.push_back({opcode, type, index, payload});
    }

    void step() {
        switch (random_() % 10) {
            case 0:
            case 1: return input();
            case 2:
            case 3: return constant(random_() % 2 == 0 ? f32 : u32);
            case 4: return rearrange(static_cast<Lane>(random_() % lanes));
            case 5: return random_() % 2 == 0 ? store(static_cast<Lane>(random_() % lanes)) : load();
            default: return form(random_() % forms().size());
        }
    }

    void input() {
        const auto k = static_cast<unsigned>(random_() % first_output);
        theirs.push_back(instruction(STACK_PTX_INSTRUCTION_TYPE_INPUT, operands[k], k));
        add(Opcode::input, 0, static_cast<std::uint16_t>(k));
        ++depth_[operands[k]];
    }
    void constant(Lane lane) {
        const auto number = static_cast<float>(static_cast<int>(random_() % 4001) - 2000) / 256;
        StackPtxInstruction i = instruction(STACK_PTX_INSTRUCTION_TYPE_CONSTANT, lane);
        i.payload.u =
            lane == f32 ? std::bit_cast<std::uint32_t>(number) : static_cast<std::uint32_t>(random_() % 5);
        add(Opcode::constant, types[lane], 0, i.payload.u);
        theirs.push_back(i);
        ++depth_[lane];
    }

    // Their first operand is the top: of each stack ours has them the other way round.
    void form(std::size_t k) {
        const Form& form = forms()[k];
        std::array<unsigned, lanes> need{};
        std::array<unsigned, 4> arguments = {lanes, lanes, lanes, lanes};
        for (std::size_t i = 0; i < form.inputs.size(); ++i) ++need[arguments[i] = form.inputs[i]];
        StackPtxInstruction i = instruction(STACK_PTX_INSTRUCTION_TYPE_PTX, 0, static_cast<unsigned>(k));
        i.payload.ptx_args = {arguments[0] & 31u,
                              arguments[1] & 31u,
                              arguments[2] & 31u,
                              arguments[3] & 31u,
                              form.output & 31u,
                              lanes,
                              false,
                              0u};
        theirs.push_back(i);
        bool runs = true;
        for (unsigned s = 0; s < lanes; ++s) runs = runs && depth_[s] >= need[s];
        for (unsigned s = 0; s < lanes && runs; ++s) {
            if (need[s] > 1) add(Opcode::swap_with, types[s], 0, need[s] - 1);
            depth_[s] -= need[s];
        }
        add(Opcode::form, 0, static_cast<std::uint16_t>(machine().set().find(form.name)));
        depth_[form.output] += runs ? 1 : 0;
    }

    void meta(StackPtxMetaInstruction which, Lane lane) {
        theirs.push_back(instruction(STACK_PTX_INSTRUCTION_TYPE_META, lane, which));
    }
    void meta_at(StackPtxMetaInstruction which, Lane lane, std::uint32_t depth) {
        StackPtxInstruction i =
            instruction(STACK_PTX_INSTRUCTION_TYPE_META, 0, STACK_PTX_META_INSTRUCTION_CONSTANT);
        i.payload.meta_constant = depth;
        theirs.push_back(i);
        meta(which, lane);
    }
    void rearrange(Lane lane) {
        if (depth_[lane] == 0) return;
        const auto depth = static_cast<std::uint32_t>(random_() % 4);
        const bool reaches = depth < depth_[lane];
        const stack::TypeId type = types[lane];
        switch (random_() % 7) {
            case 0:
                meta(STACK_PTX_META_INSTRUCTION_DUP, lane);
                ++depth_[lane];
                return add(Opcode::dup, type);
            case 1: meta(STACK_PTX_META_INSTRUCTION_SWAP, lane); return add(Opcode::swap, type);
            case 2: meta(STACK_PTX_META_INSTRUCTION_REVERSE, lane); return add(Opcode::reverse, type);
            case 3:  // the other way round
                meta(STACK_PTX_META_INSTRUCTION_ROTATE, lane);
                add(Opcode::rotate, type);
                return add(Opcode::rotate, type);
            case 4:
                meta_at(STACK_PTX_META_INSTRUCTION_YANK_DUP, lane, depth);
                depth_[lane] += reaches ? 1 : 0;
                return add(Opcode::yank_dup, type, 0, depth);
            case 5:
                meta_at(STACK_PTX_META_INSTRUCTION_SWAP_WITH, lane, depth);
                return add(Opcode::swap_with, type, 0, depth);
            default:
                meta_at(STACK_PTX_META_INSTRUCTION_REPLACE, lane, depth);
                depth_[lane] -= reaches ? 1 : 0;
                return add(Opcode::replace, type, 0, depth);
        }
    }

    // Their cells are shared by all types: a load gives what was stored last.
    void store(Lane lane) {
        const std::size_t cell = random_() % cells_.size();
        if (depth_[lane] == 0) return;
        theirs.push_back(instruction(STACK_PTX_INSTRUCTION_TYPE_STORE, lane, static_cast<unsigned>(cell)));
        add(Opcode::store, types[lane], 0, static_cast<std::uint32_t>(cell));
        --depth_[lane];
        cells_[cell] = lane;
    }
    void load() {
        const std::size_t cell = random_() % cells_.size();
        if (cells_[cell] == lanes) return;
        theirs.push_back(instruction(STACK_PTX_INSTRUCTION_TYPE_LOAD, 0, static_cast<unsigned>(cell)));
        add(Opcode::load, types[cells_[cell]], 0, static_cast<std::uint32_t>(cell));
        ++depth_[cells_[cell]];
    }

    std::mt19937_64 random_;
    std::array<unsigned, lanes> depth_{};
    std::array<Lane, 4> cells_ = {lanes, lanes, lanes, lanes};
};

// ---- their compiler ---

class Peer {
  public:
    Peer() {
        for (const Form& form : forms()) names_.push_back(form.name);
        info_ = {names_.data(), names_.size(), nullptr, 0, prefixes, lanes, arguments, lanes};
        std::size_t size = 0;
        if (stack_ptx_compile_workspace_size(&limits, &info_, &size) != STACK_PTX_SUCCESS) std::abort();
        workspace_.resize(size);
        buffer_.resize(1 << 20);
        for (unsigned k = 0; k < operand_count; ++k)
            registers_[k] = {signature().operands[k].register_name.c_str(), operands[k]};
    }

    std::string compile(const std::vector<StackPtxInstruction>& code) {
        static constexpr std::size_t requests[] = {5, 6, 7, 8};
        std::size_t size = 0;
        const StackPtxResult result =
            stack_ptx_compile(&limits, &info_, code.data(), registers_.data(), operand_count, nullptr, 0,
                              requests, std::size(requests), 100000, workspace_.data(), workspace_.size(),
                              buffer_.data(), buffer_.size(), &size);
        EXPECT_EQ(result, STACK_PTX_SUCCESS) << stack_ptx_result_to_string(result);
        std::string text(buffer_.data(), size);
        // it writes %_in_a for the register _in_a
        for (const char* stem : {"%_in_", "%_out_"})
            for (std::size_t at = 0; (at = text.find(stem, at)) != std::string::npos;) text.erase(at, 1);
        return text + "\n";
    }

  private:
    static constexpr StackPtxCompilerInfo limits = {4096, 4096, 128, 4, 16};
    static constexpr const char* prefixes[] = {"f32", "u32", "pred"};
    static constexpr StackPtxArgTypeInfo arguments[] = {{f32, 0}, {u32, 0}, {pred, 0}};
    std::vector<const char*> names_;
    StackPtxStackInfo info_{};
    std::vector<char> workspace_, buffer_;
    std::array<StackPtxRegister, operand_count> registers_{};
};

TEST(MmPtx, RandomProgramsGiveItsNumbers) {
    const char* const count = std::getenv("PTXGRAFT_PROGRAMS");
    const std::uint64_t programs = count == nullptr ? 3000 : std::strtoull(count, nullptr, 0);
    test::Values values(operand_count, std::vector<std::uint64_t>(32));
    std::mt19937_64 random(1);
    for (unsigned k = 0; k < first_output; ++k)
        for (std::uint64_t& word : values[k])
            word = operands[k] == u32
                       ? random() % 100
                       : std::bit_cast<std::uint32_t>(
                             static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 300);
    Peer peer;
    std::uint64_t live = 0;
    for (std::uint64_t seed = 0; seed < programs && !HasFailure(); ++seed) {
        const Twins twins(seed);
        const auto stub = stack::make_stub(twins.ours, machine(), {.missing = stack::Missing::skip});
        ASSERT_TRUE(stub) << describe(stub.error());
        const std::string theirs = peer.compile(twins.theirs);
        const auto results = test::by_emulator(signature(), {stub->ptx(), theirs}, values);
        ASSERT_TRUE(results) << describe(results.error());
        EXPECT_EQ((*results)[0], (*results)[1]) << "program " << seed << "\n" << stub->ptx() << theirs;
        const auto evaluated =
            test::by_evaluate(twins.ours, machine(), values, {.missing = stack::Missing::skip});
        ASSERT_TRUE(evaluated);
        for (unsigned k = first_output; k < operand_count; ++k)
            EXPECT_EQ((*evaluated)[k], (*results)[1][k]) << "program " << seed << " by evaluate";
        live += stub->instruction_count();
    }
    EXPECT_GT(live, 3 * programs);
}

}  // namespace
