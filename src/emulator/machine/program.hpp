#pragma once
/// @file program.hpp
/// A module decoded: compact operations, one or few per instruction, ready for a warp.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arithmetic/arithmetic.hpp"
#include "emulator/machine/bulk_copy.hpp"
#include "emulator/machine/special.hpp"
#include "emulator/matrix/matrix.hpp"
#include "emulator/memory/memory.hpp"
#include "emulator/memory/semantics.hpp"
#include "ptxgraft/error.hpp"
#include "syntax/large_pages.hpp"

namespace ptxgraft::emulator {

using arithmetic::ColumnFunction;
using arithmetic::find_pure;
using arithmetic::ImmediateType;
using arithmetic::PureInstruction;

class Warp;
struct Operation;

/// A register of a warp is a *column*: the values of its 32 lanes, one after the other, each at the
/// register's width of 1, 2, 4, 8 or 16 bytes. A predicate is a byte, 0 or 1.
///
/// A Ref says where a column is and how wide its values are: an offset in bytes into one of the warp's banks,
/// a multiple of 32, whose low bits hold the width's logarithm. Bank 0: the registers of the running frame.
using Ref = std::uint32_t;
inline constexpr unsigned lane_count = 32;
inline constexpr unsigned bank_shift = 30;
inline constexpr Ref constant_bank = Ref{1} << bank_shift;
inline constexpr Ref special_bank = Ref{2} << bank_shift;
inline constexpr Ref width_mask = 7, offset_mask = (constant_bank - 1) & ~Ref{31};
inline constexpr Ref no_ref = ~Ref{0};
inline constexpr std::uint32_t no_pc = ~std::uint32_t{0};
inline constexpr std::uint32_t most_bank_bytes = offset_mask - 8192;

[[nodiscard]] constexpr std::uint32_t width(Ref ref) { return std::uint32_t{1} << (ref & width_mask); }
[[nodiscard]] constexpr std::uint32_t offset(Ref ref) { return ref & offset_mask; }
/// The number of a column in its bank, of which a wide one takes several.
[[nodiscard]] constexpr std::uint32_t index_of(Ref ref) { return offset(ref) / 32; }
[[nodiscard]] constexpr bool is_register(Ref ref) { return ref >> bank_shift == 0; }

/// The next free column of a bank, which grows; columns of vectors' width begin at a multiple of it.
[[nodiscard]] constexpr Ref take_column(std::uint32_t& bank_bytes, std::uint32_t bytes) {
    // the program is refused in the end
    if (bank_bytes > most_bank_bytes) return static_cast<Ref>(std::countr_zero(bytes));
    const std::uint32_t size = bytes * lane_count, unit = size < 64 ? size : 64;  // powers of two
    const std::uint32_t begin = (bank_bytes + unit - 1) & ~(unit - 1);
    bank_bytes = begin + size;
    return begin | static_cast<Ref>(std::countr_zero(bytes));
}

/// The column of an element of a vector, whose columns lie one behind the other.
[[nodiscard]] constexpr Ref element(Ref first, std::uint32_t index) {
    return first + index * width(first) * lane_count;
}

/// What columns stand in.
struct alignas(64) ColumnBlock {
    std::array<std::byte, 64> bytes;
};

/// What the warp does after an operation.
enum class Flow : std::uint8_t {
    next,    ///< goes on with the following operation
    jump,    ///< goes on where the operation set the program counter
    select,  ///< the running lanes wait or are gone: others are chosen
    yield,   ///< goes on with the following operation, after other warps had their turn
    fail,    ///< the warp's error is set
};
/// After an operation that has failed, if it has, with the warp's error set.
[[nodiscard]] constexpr Flow next_if(bool done) { return done ? Flow::next : Flow::fail; }
/// What a function returns when the warp's error is set: Flow::fail, false or null.
struct Failed {
    operator Flow() const { return Flow::fail; }
    operator bool() const { return false; }
    template <class T> operator T*() const { return nullptr; }
};
using Execute = Flow (*)(Warp& warp, const Operation& operation, std::uint32_t mask);

/// What a checked launch does when a source has bytes that nothing wrote.
enum class Undefined : std::uint8_t {
    spreads,  ///< the results are undefined as a whole
    /// bits go where the function puts them: it is applied to their states; not those of the last `controls`
    /// sources
    moves,
    bits,     ///< bit by bit: a result's is known when it is the same whatever was not written
    halves,   ///< as spreads, of each half of a pair by itself
    packs,    ///< of two sources the first is the upper half of the result, the second the lower one
    joins,    ///< the other way round
    inserts,  ///< of three sources the first two have bits of their own, and those of the third move
    splits,   ///< of pairs the first result is of the lower halves, the second of the upper ones
    carries,  ///< a result's bits are known below the lowest one of a source that is not
    refused,  ///< an error, of the first `strict` sources
};

/// One operation. `function` is set for pure instructions and `execute` for all others.
struct Operation {
    Execute execute = nullptr;
    ColumnFunction function = nullptr;
    std::uint32_t operands = 0;  ///< the first one in Program::refs: outputs, then inputs
    std::uint32_t extra = 0;     ///< a small constant, or an index into one of the program's tables
    Ref guard = no_ref;
    std::uint16_t run_counted = 0;  ///< of `run`, those that are no micro-ops
    /// The length of the straight run that begins here: operations that are pure, without guards, and between
    /// which no branch leads.
    std::uint16_t run = 0;
    std::uint8_t outputs = 0;
    std::uint8_t inputs = 0;
    std::uint8_t elements = lane_count;  ///< of `function` in a column: 64 for pairs
    bool guard_negated = false;
    bool is_large = false;  ///< a pure one of more than one output or three inputs
    Undefined undefined = Undefined::spreads;
    std::uint8_t strict = UINT8_MAX;  ///< so many leading sources have to be defined for defined results
    std::uint8_t controls = 0;
    /// This many leading outputs are marked as written by the operation, not by the dispatcher.
    std::uint8_t self_marked_outputs = 0;
    /// Index into RegisterStates::defined_runs (mod 128) of the straight run that begins here; distinct for
    /// runs of one loop so that they do not evict each other.
    std::uint16_t run_slot = 0;
    std::uint16_t row = 0;  ///< how many operations from here on a row function may execute
    /// Belongs to the neighbouring operation's PTX instruction; not counted as an instruction.
    bool is_micro_op = false;
    bool is_copy = false;  ///< mov, and what reads or writes a part of a register for another operation

    // What `extra` is, by the function that executes the operation; Program has those that are indices.
    [[nodiscard]] std::uint32_t branch_target() const { return extra; }   ///< of execute_branch: in the code
    [[nodiscard]] std::uint32_t pending_groups() const { return extra; }  ///< that a wait does not wait for
    [[nodiscard]] std::uint32_t frame_offset() const { return extra; }    ///< of execute_local_address
    [[nodiscard]] std::uint32_t alignment() const { return extra; }       ///< of execute_alloca
    [[nodiscard]] Space asked_space() const { return static_cast<Space>(extra); }  ///< of execute_isspacep
    [[nodiscard]] bool is_relaxed() const { return extra != 0; }     ///< of execute_cluster_arrive
    [[nodiscard]] bool takes_generic() const { return extra != 0; }  ///< of mapa, getctarank
};

/// An address operand and what is moved there. The register of the address, if there is one, is the
/// operation's first input.
struct Access {
    Space space = Space::generic;
    bool frame_relative = false;  ///< of a `.local` or function `.param` variable: relative to the frame
    Semantics semantics = Semantics::weak;  ///< others than weak: other threads may be waited for
    Reach reach = Reach::cluster;
    bool is_reduction = false;  ///< red: its read is part of no acquire pattern (PTX ISA 8.11.1)
    bool has_base = false;
    std::uint8_t bytes = 4;  ///< of one element
    std::uint8_t count = 1;  ///< elements
    std::uint64_t offset = 0;
    std::uint32_t used = ~0u;  ///< of a load: its bytes that are used (PTX ISA 12.2), a bit for each

    [[nodiscard]] bool is_strong() const { return semantics != Semantics::weak; }
};

/// A wait for the bulk groups of a thread: the last `pending` ones are not waited for, nor, with
/// `reads_only`, what the others write. In `extra` of execute_bulk_wait.
struct BulkWait {
    std::uint32_t pending = 0;
    bool reads_only = false;

    [[nodiscard]] constexpr std::uint32_t bits() const { return pending << 1 | (reads_only ? 1 : 0); }
    [[nodiscard]] static constexpr BulkWait of(std::uint32_t bits) { return {bits >> 1, (bits & 1) != 0}; }
};

/// What `extra` of a fence says.
struct Fence {
    Semantics semantics = Semantics::acq_rel;
    Reach reach = Reach::cluster;
    bool only_mbarrier_inits = false;  ///< .mbarrier_init

    [[nodiscard]] constexpr std::uint32_t bits() const {
        return static_cast<std::uint32_t>(semantics) | static_cast<std::uint32_t>(reach) << 8 |
               (only_mbarrier_inits ? 1u << 16 : 0);
    }
    [[nodiscard]] static constexpr Fence of(std::uint32_t bits) {
        return {static_cast<Semantics>(bits & 0xFF), static_cast<Reach>(bits >> 8 & 0xFF), bits >> 16 != 0};
    }
};

/// A setmaxnreg: to how many registers a thread. In `extra` of execute_set_registers.
struct SetRegisters {
    std::uint32_t count = 0;
    bool increases = false;

    [[nodiscard]] constexpr std::uint32_t bits() const { return count << 1 | (increases ? 1 : 0); }
    [[nodiscard]] static constexpr SetRegisters of(std::uint32_t bits) {
        return {bits >> 1, (bits & 1) != 0};
    }
    friend bool operator==(const SetRegisters&, const SetRegisters&) = default;
};

/// The state spaces that a fence.proxy.async is for. In `extra` of execute_proxy_fence.
struct ProxyFence {
    bool shared = true, global = true;

    [[nodiscard]] constexpr std::uint32_t bits() const { return (shared ? 1 : 0) | (global ? 2 : 0); }
    [[nodiscard]] static constexpr ProxyFence of(std::uint32_t bits) {
        return {.shared = (bits & 1) != 0, .global = (bits & 2) != 0};
    }
};

/// A parameter or return value of a function, or an argument of a call.
struct Slot {
    std::uint32_t offset = 0;  ///< in the frame's local memory, or in the kernel's parameters
    std::uint32_t bytes = 0;
    Ref reg = no_ref;            ///< of a `.reg` parameter, or an argument that is a register or an immediate
    bool goes_with_any = false;  ///< an immediate, or `_` for a result that nobody reads: of any size
};

struct Call {
    std::uint32_t function = 0;              ///< index; unused when indirect
    Ref target = no_ref;                     ///< the register with the function's address when indirect
    std::uint32_t prototype = no_prototype;  ///< of Program::prototypes
    std::uint32_t targets = no_targets;      ///< of Program::call_targets
    std::vector<Slot> returns, arguments;

    static constexpr std::uint32_t no_prototype = ~std::uint32_t{0}, no_targets = no_prototype;
};

/// What a function, or a `.callprototype`, takes and gives (PTX ISA 11.2.2, 11.3.3). A register and a
/// `.param` variable of one size are passed alike.
struct Signature {
    struct Parameter {
        std::uint64_t bytes = 0;
        std::uint32_t align = 1;
        bool is_array = false;
        bool is_open = false;  ///< an array without a size, which takes what is left
        bool is_floating = false;
        std::uint32_t registers = 1;  ///< of a `.reg .v2`, whose registers are a parameter each; of its first
    };
    std::vector<Parameter> returns, parameters;
};
/// `(.b32) f (.b64, .align 8 .b8[24])`
[[nodiscard]] std::string to_text(const Signature& signature, std::string_view name);
/// Whether what a call gives and takes by one signature is what a function takes and gives.
[[nodiscard]] bool fits(const Signature& call, const Signature& function);
/// The same of what it gives and takes in fact: of those only sizes are known.
[[nodiscard]] bool fits(const Call& call, const Signature& function);
/// What those are.
[[nodiscard]] Signature signature_of(const Call& call);

/// What a call of a function without a body does.
using Builtin = Flow (*)(Warp& warp, const Call& call, std::uint32_t mask);

/// A register as the program calls it.
struct RegisterName {
    Ref ref = no_ref;
    Span span;  ///< of its name, where it first stands in the text
    [[nodiscard]] std::string_view name(std::string_view text) const {
        return text.substr(span.begin, span.end - span.begin);
    }
};

/// A register that is part of a wgmma's accumulator, or of its fragment of A.
struct FragmentColumn {
    std::uint32_t index = 0;  ///< offset / 32
    bool is_accumulator = false;
};

/// Where what a function added to the program's tables begins or ends.
struct TableMarks {
    std::uint32_t code = 0, barriers = 0, collectives = 0, calls = 0, branch_tables = 0;
};

struct Function {
    std::string name;
    std::vector<RegisterName> names;
    bool is_entry = false;
    bool is_defined = false;
    bool has_code = false;  ///< in this program
    Builtin builtin = nullptr;
    Span head;                ///< of one that has code: in the module's text, up to the body
    std::uint32_t begin = 0;  ///< in Program::code
    TableMarks first, end;    ///< what is its own
    /// the operands of its operations before registers shared columns; empty when none do
    std::vector<Ref> declared;
    std::uint32_t register_bytes = 0;
    std::uint32_t local_bytes = 0;
    std::uint32_t param_bytes = 0;   ///< of an entry
    std::uint32_t shared_bytes = 0;  ///< static, with the module's own
    std::vector<Slot> parameters, returns;
    Signature signature;                    ///< of one that is no entry
    std::vector<FragmentColumn> fragments;  ///< that some wgmma names
};

/// Where a special register stands in the bank of its warp.
struct SpecialColumn {
    Special special;
    Ref ref;
};

/// One collective of a warp (shfl, vote …): it computes columns for the lanes of `mask`, which see each
/// other.
using Collective = void (*)(void* const* outputs, const void* const* inputs, std::uint32_t mask,
                            std::uint32_t extra);
struct CollectiveCall {
    Collective function = nullptr;
    std::uint32_t extra = 0;
    Ref member_mask = no_ref;  ///< none: the lanes that are there
    bool moves = false;        ///< the first source's values, unchanged, to the first output
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
    bool is_aligned = false;  ///< all threads of a warp execute the same instruction
};

/// An instruction of the tensor cores, or one that loads or stores their fragments.
struct MatrixInstruction {
    Mma mma = {};  ///< of mma, mma.sp, wmma
    Wgmma wgmma = {};
    bool a_in_registers = false;  ///< of wgmma
    WmmaMatrix matrix = WmmaMatrix::a;
    MatrixLayout layout = MatrixLayout::row;
    std::vector<WmmaAccess> accesses = {};  ///< of wmma.load, wmma.store
    std::uint32_t least_stride = 0;         ///< the one that counts where none is given
    std::uint32_t lines = 0;                ///< rows of a row-major matrix, columns of another
    bool has_stride = false;
    Transposition transposition = Transposition::none;  ///< of ldmatrix, stmatrix
    Access access = {};                                 ///< of all that have an address
};

struct Variable {
    std::uint64_t address = 0;  ///< in its space
    std::uint64_t bytes = 0;
    Space space = Space::global;
    bool is_external = false;
};

/// A variable in shared memory, for those who name addresses.
struct SharedVariable {
    static constexpr std::uint32_t all = ~std::uint32_t{0};
    Span name;  ///< in the text
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t entry = all;  ///< the index of the one that it belongs to, among Program::functions
    static constexpr std::uint64_t no_element = ~std::uint64_t{0};
    std::uint64_t element = no_element;  ///< its number among the variables of the name, of `v<5>`
};

struct Program {
    /// An operand as its function's `names` have it.
    [[nodiscard]] Ref declared_operand(const Function& function, std::uint32_t index) const {
        return function.declared.empty() ? refs[index]
                                         : function.declared[index - code[function.begin].operands];
    }

    // What `extra` of an operation is an index of, by the function that executes it.
    [[nodiscard]] const Access& access_of(const Operation& o) const { return accesses[o.extra]; }
    [[nodiscard]] const CollectiveCall& collective_of(const Operation& o) const {
        return collectives[o.extra];
    }
    [[nodiscard]] const Barrier& barrier_of(const Operation& o) const { return barriers[o.extra]; }
    [[nodiscard]] const MatrixInstruction& matrix_of(const Operation& o) const { return matrices[o.extra]; }
    [[nodiscard]] const Call& call_of(const Operation& o) const { return calls[o.extra]; }
    [[nodiscard]] const std::vector<std::uint32_t>& branch_table_of(const Operation& o) const {
        return branch_tables[o.extra];
    }
    [[nodiscard]] const BulkCopy& bulk_copy_of(const Operation& o) const { return bulk_copies[o.extra]; }
    [[nodiscard]] const AsyncStore& async_store_of(const Operation& o) const { return async_stores[o.extra]; }
    [[nodiscard]] const TensorMapReplace& tensormap_replace_of(const Operation& o) const {
        return tensormap_replaces[o.extra];
    }
    [[nodiscard]] const Error& failure_of(const Operation& o) const { return failures[o.extra]; }

    [[nodiscard]] TableMarks marks() const {
        const auto size = [](const auto& table) { return static_cast<std::uint32_t>(table.size()); };
        return {size(code), size(barriers), size(collectives), size(calls), size(branch_tables)};
    }

    template <class T> using LargeVector = std::vector<T, syntax::LargePageAllocator<T>>;
    LargeVector<Operation> code;
    LargeVector<Span> spans;                    ///< of the instruction of each operation
    LargeVector<Ref> refs;                      ///< the operands of all operations
    std::vector<arithmetic::RowFunction> rows;  ///< of operations whose `row` is not 0: `extra` is an index
    std::vector<ColumnBlock> constants;
    std::vector<SpecialColumn> specials;
    std::uint32_t special_bytes = 0;
    std::vector<Access> accesses;
    std::vector<CollectiveCall> collectives;
    std::vector<Barrier> barriers;
    std::vector<MatrixInstruction> matrices;
    std::vector<Call> calls;
    std::vector<Signature> prototypes;
    std::vector<std::vector<std::uint32_t>> call_targets;  ///< of each `.calltargets`, its functions
    std::vector<BulkCopy> bulk_copies;
    std::vector<TensorMapReplace> tensormap_replaces;
    std::vector<AsyncStore> async_stores;
    std::vector<std::vector<std::uint32_t>> branch_tables;
    std::vector<Error> failures;  ///< of instructions that are errors when they are executed
    std::vector<Function> functions;
    std::unordered_map<std::string, Variable> variables;
    std::vector<SharedVariable> shared_variables;  ///< but for dynamic ones
    std::uint32_t shared_bytes = 0;                ///< of `.shared` variables that functions name
    std::uint32_t dynamic_alignment = 16;
    bool uses_heap = false;
    bool uses_copies = false;  ///< cp.async
    bool uses_mbarriers = false;
    bool uses_wgmma = false;
    bool uses_async_proxy = false;  ///< it copies in bulk, or multiplies matrices of shared memory
};

}  // namespace ptxgraft::emulator
