#pragma once
/// @file static_cost.hpp
/// What machine code takes, counted without running it. None of these numbers is a time, and none of them
/// says which of two kernels is the faster: they are limits, and what a search without a GPU can minimise.
///
/// @code
/// const auto cubin = default_assembler().assemble(ptx);
/// const auto cost = static_cost(*cubin, {.threads_per_block = 256});
/// std::cout << cost->registers << ' ' << cost->occupancy->warps << ' ' << cost->machine_instructions;
/// @endcode

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft {

// ---- occupancy --------------------------------------------------------------------------------------------

/// What a block of a launch takes.
struct BlockUsage {
    std::uint32_t threads = 0;
    std::uint32_t registers = 0;     ///< of a thread
    std::uint32_t shared_bytes = 0;  ///< static and dynamic
};

/// What keeps a multiprocessor from holding one more block.
enum class OccupancyLimit : std::uint8_t { blocks, warps, registers, shared_memory };
[[nodiscard]] PTXGRAFT_API std::string_view name(OccupancyLimit limit);  ///< "shared memory"

struct Occupancy {
    std::uint32_t blocks = 0;  ///< that a multiprocessor holds at once; 0: it cannot be launched
    std::uint32_t warps = 0;   ///< of these blocks
    std::uint32_t most_warps = 0;
    OccupancyLimit limit =
        OccupancyLimit::blocks;  ///< of several that are equal the first of the enumerators
};

/// By the rules of the architecture: 65,536 registers in four parts, given to a warp 256 at a time; shared
/// memory 128 bytes at a time (sm_75: 256), and from sm_80 on another kilobyte for each block; the limits of
/// architectures.hpp. Without clusters, and with as much of the cache made shared memory as there is. Errors:
/// Errc::target_unknown for architectures before sm_75; Errc::argument_invalid for a block without threads or
/// of more than 1,024.
[[nodiscard]] PTXGRAFT_API Expected<Occupancy> occupancy(Architecture target, const BlockUsage& block);

// ---- machine code -----------------------------------------------------------------------------------------

/// Kinds of instructions, by what executes them.
enum class InstructionClass : std::uint8_t {
    matrix,         ///< HMMA, IMMA, HGMMA, UTCHMMA …
    special,        ///< MUFU: reciprocals, roots, exponentials, sines
    f32,            ///< FFMA, FADD, FMUL, comparisons and selections of f32
    f64,            ///< DFMA, DADD …
    f16,            ///< HFMA2, HADD2 …, bf16 too; moves of constants by HFMA2 included
    integer,        ///< IMAD, IADD3, LOP3, SHF … on data, addresses and predicates, moves by IMAD included
    uniform,        ///< the same in the uniform path: UIADD3, ULDC …
    conversion,     ///< F2F, I2F, F2I …
    move,           ///< MOV, SEL, PRMT, S2R, SHFL …
    load_global,    ///< LDG, and generic loads (LD)
    store_global,   ///< STG, ST; atomics and reductions in global memory
    load_shared,    ///< LDS, LDSM
    store_shared,   ///< STS, STSM; atomics in shared memory
    local,          ///< LDL, STL: spills and arrays
    load_constant,  ///< LDC
    copy,           ///< LDGSTS, UTMALDG, UBLKCP …: copies that no register sees
    barrier,        ///< BAR, MEMBAR, SYNCS, DEPBAR …
    branch,         ///< BRA, EXIT, CALL, RET, BSSY, BSYNC …
    other,
};
inline constexpr std::size_t instruction_class_count = 19;
[[nodiscard]] PTXGRAFT_API std::string_view name(InstructionClass kind);  ///< "load_global"

/// Instructions without a branch into them or out of them, but at the end.
struct BasicBlock {
    std::uint32_t offset = 0;        ///< of the first one, in the function's code
    std::uint32_t instructions = 0;  ///< in it
    /// Instructions of the longest path of which each needs a register, a predicate or a uniform register
    /// that the one before it writes. What stands in memory is not followed, and no latency counts: how long
    /// an instruction stalls is not calibrated.
    std::uint32_t chain = 0;
};

/// What the disassembly of a function shows.
struct Disassembly {
    std::array<std::uint32_t, instruction_class_count> mix{};  ///< by InstructionClass
    std::vector<BasicBlock> blocks;                            ///< in the order of the code
    [[nodiscard]] std::uint32_t count(InstructionClass kind) const {
        return mix.at(static_cast<std::size_t>(kind));
    }
    [[nodiscard]] PTXGRAFT_API std::uint32_t longest_chain() const;  ///< of all blocks
};

/// Of an entry.
struct StaticCost {
    std::uint32_t registers = 0;  ///< of a thread
    std::uint32_t spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0;
    std::uint32_t shared_bytes = 0;  ///< static
    /// Of it, and of functions that are linked to it: FunctionUsage::code_bytes.
    std::uint32_t code_bytes = 0;
    std::uint32_t machine_instructions = 0;   ///< of the same, without what fills the code up behind its end
    std::optional<Occupancy> occupancy = {};  ///< where the block is known
    std::optional<Disassembly> disassembly = {};
    std::string not_disassembled = {};  ///< why there is none: "there is no nvdisasm in PATH …"
};

struct StaticCostOptions {
    std::string entry = {};               ///< may be empty where there is one
    std::uint32_t threads_per_block = 0;  ///< 0: no occupancy
    std::uint32_t dynamic_shared_bytes = 0;
    bool disassemble = true;  ///< a process of nvdisasm, some 20 ms and more; where there is none it is said
    DisassembleOptions nvdisasm = {};  ///< but for its arguments
};

/// The cost of an entry. Errors: Errc::entry_unknown, entry_not_named; those of occupancy();
/// Errc::link_failed for an image that is no cubin.
[[nodiscard]] PTXGRAFT_API Expected<StaticCost> static_cost(const Cubin& cubin,
                                                            const StaticCostOptions& options = {});

}  // namespace ptxgraft
