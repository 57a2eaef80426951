#pragma once
/// @file program.hpp
/// A module decoded: compact operations, one or few per instruction, ready for a warp.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arithmetic/arithmetic.hpp"
#include "emulator/memory.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::emulator {

using arithmetic::find_pure;
using arithmetic::ImmediateType;
using arithmetic::Lanes;
using arithmetic::PureInstruction;
using arithmetic::WarpFunction;

class Warp;
struct Operation;

/// Where the lanes of an operand are: an index into one of the warp's banks. The frame's registers have bank
/// 0.
using Ref = std::uint32_t;
inline constexpr unsigned bank_shift = 30;
inline constexpr Ref constant_bank = Ref{1} << bank_shift;
inline constexpr Ref special_bank = Ref{2} << bank_shift;
inline constexpr Ref index_mask = constant_bank - 1;
inline constexpr Ref no_ref = ~Ref{0};

/// What the warp does after an operation.
enum class Flow : std::uint8_t {
    next,    ///< goes on with the following operation
    jump,    ///< goes on where the operation set the program counter
    select,  ///< the running lanes wait or are gone: others are chosen
    yield,   ///< goes on with the following operation, after other warps had their turn
    fail,    ///< the warp's error is set
};
using Execute = Flow (*)(Warp& warp, const Operation& operation, std::uint32_t mask);

/// One operation. `function` is set for pure instructions and `execute` for all others.
struct Operation {
    Execute execute = nullptr;
    WarpFunction function = nullptr;
    Ref guard = no_ref;
    bool guard_negated = false;
    std::uint8_t outputs = 0;
    std::uint8_t inputs = 0;
    std::array<Ref, 8> operands = {};  ///< outputs, then inputs
    std::uint32_t extra = 0;           ///< a small constant, or an index into one of the program's tables
};

/// An address operand and what is moved there.
struct Access {
    Space space = Space::generic;
    bool frame_relative = false;  ///< of a `.local` or function `.param` variable: relative to the frame
    bool strong = false;          ///< volatile, relaxed, acquire, release: other threads may be waited for
    std::uint8_t bytes = 4;       ///< of one element
    std::uint8_t count = 1;       ///< elements
    Ref base = no_ref;
    std::uint64_t base_mask = ~std::uint64_t{0};  ///< of the base register's width
    std::uint64_t offset = 0;
    std::array<Ref, 8> elements = {};  ///< destinations or sources
};

/// A parameter or return value of a function, or an argument of a call.
struct Slot {
    std::uint32_t offset = 0;  ///< in the frame's local memory, or in the kernel's parameters
    std::uint32_t bytes = 0;
    Ref reg = no_ref;  ///< of a `.reg` parameter, or an argument that is a register or an immediate
};

struct Call {
    std::uint32_t function = 0;  ///< index; unused when indirect
    Ref target = no_ref;         ///< the register with the function's address when indirect
    std::vector<Slot> returns, arguments;
};

/// What a call of a function without a body does.
using Builtin = Flow (*)(Warp& warp, const Call& call, std::uint32_t mask);

struct Function {
    std::string name;
    bool is_entry = false;
    bool is_defined = false;
    Builtin builtin = nullptr;
    std::uint32_t begin = 0;  ///< in Program::code
    std::uint32_t registers = 0;
    std::uint32_t local_bytes = 0;
    std::uint32_t param_bytes = 0;   ///< of an entry
    std::uint32_t shared_bytes = 0;  ///< static, with the module's own
    std::vector<Slot> parameters, returns;
    std::array<std::uint32_t, 3> required_block = {};  ///< of `.reqntid`; 0: none
    std::uint64_t max_threads = 0;                     ///< of `.maxntid`; 0: none
};

/// The special registers that have a value here (PTX ISA chapter 10).
enum class Special : std::uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    clock,
    clock_hi,
    clock64,
    globaltimer,
    globaltimer_lo,
    globaltimer_hi,
    total_smem_size,
    dynamic_smem_size,
    zero,
    one,             ///< those that never change here: %envreg, the clusters' of a launch without clusters
    dynamic_shared,  ///< the address of `.extern .shared` variables
};

/// One collective of a warp (shfl, vote …): like a WarpFunction, but lanes see each other.
using Collective = void (*)(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask,
                            std::uint32_t extra);
struct CollectiveCall {
    Collective function = nullptr;
    std::uint32_t extra = 0;
    Ref member_mask = no_ref;  ///< none: the lanes that are there
};

/// The barriers of a CTA: those of bar and barrier.cta, and that of barrier.cluster.
inline constexpr std::uint32_t named_barriers = 16;
inline constexpr std::uint32_t cluster_barrier = named_barriers;

/// Barrier instruction of a CTA.
struct Barrier {
    enum class Kind : std::uint8_t { sync, arrive, popc, and_, or_ };
    Kind kind = Kind::sync;
    Ref id = no_ref, count = no_ref, predicate = no_ref, destination = no_ref;
    bool negated = false;
    bool is_cluster = false;
};

struct Variable {
    std::uint64_t address = 0;  ///< in its space
    std::uint64_t bytes = 0;
    Space space = Space::global;
    bool is_external = false;
};

struct Program {
    std::vector<Operation> code;
    std::vector<Span> spans;  ///< of the instruction of each operation
    std::vector<Lanes> constants;
    std::vector<Special> specials;
    std::vector<Access> accesses;
    std::vector<CollectiveCall> collectives;
    std::vector<Barrier> barriers;
    std::vector<Call> calls;
    std::vector<std::vector<std::uint32_t>> branch_tables;
    std::vector<PureInstruction> pairs;  ///< pure instructions made of two functions
    std::vector<Error> failures;         ///< of instructions that are errors when they are executed
    std::vector<Function> functions;
    std::unordered_map<std::string, Variable> variables;
    std::uint32_t shared_bytes = 0;  ///< of module-level `.shared` variables
    std::uint32_t dynamic_alignment = 16;
    bool uses_heap = false;
};

}  // namespace ptxgraft::emulator
