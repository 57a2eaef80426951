#pragma once
/// @file program.hpp
/// Stack programs (stack.hpp) as the genomes of a search: kept as bytes, drawn at random, looked into for
/// what is live and which constants they have, and made smaller.
///
/// Equal arguments give equal results in every process and on every machine. Threads: every function may be
/// called from any number at once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

// ---- bytes ------------------------------------------------------------------------------------------------

/// A number that two machines share on which every program means the same: same instructions at the same
/// numbers, as forms of PTX and not by the set's names for them, the same ones present under the policy and
/// for the target, the same types, and operands of the same names, types, directions and counts in one order.
/// Stable between processes; never 0. It reads the whole set: keep it.
[[nodiscard]] PTXGRAFT_API std::uint64_t machine_hash(const Machine& machine);

/// In the place of a machine_hash: of no machine in particular.
inline constexpr std::uint64_t any_machine = 0;

/// The bytes of a program, any program: code, pool and routines, bit for bit. Little-endian, with a version,
/// the length, and a checksum over all of it. `machine` is kept beside it, as instructions are numbers into
/// the set of a machine and mean nothing without it.
[[nodiscard]] PTXGRAFT_API std::vector<std::byte> to_bytes(ProgramView program,
                                                           std::uint64_t machine = any_machine);

/// The program of such bytes, which must be whole and nothing more. Errors: Errc::program_bytes_malformed for
/// whatever else, with its place in the bytes as span; Errc::program_machine_differs where `machine` is given
/// and is not what the bytes were made with. It takes no more memory than the bytes have.
[[nodiscard]] PTXGRAFT_API Expected<Program> program_from_bytes(std::span<const std::byte> bytes,
                                                                std::uint64_t machine = any_machine);

// ---- random programs --------------------------------------------------------------------------------------

/// Numbers at random, the same ones everywhere (splitmix64). A search gives each candidate a stream of its
/// own: then what is drawn for one does not depend on who draws the others.
class Random {
  public:
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
        : state_(seed + scrambled(stream * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du)) {}

    std::uint64_t next() { return scrambled(state_ += 0x9E3779B97F4A7C15u); }
    /// 0 to n - 1; no number is more likely than another by more than n in 2^64.
    std::uint64_t below(std::uint64_t n) {
        return static_cast<std::uint64_t>((static_cast<Wide>(next()) * n) >> 64);
    }
    /// 0 to 1, which it never is.
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    bool chance(double probability) { return unit() < probability; }

  private:
    __extension__ using Wide = unsigned __int128;
    static std::uint64_t scrambled(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

/// A value of a type: its bits in the lowest ones.
struct TypedConstant {
    TypeId type = 0;
    std::uint64_t bits = 0;
    friend bool operator==(const TypedConstant&, const TypedConstant&) = default;
};

/// Where random constants come from: one of several sources is drawn by its weight, among those that have
/// something for the type. Numbers are rounded to the type; a pair (f16x2) has its number twice; an integer
/// takes whole numbers alone, modulo its width; a pred is a coin.
struct ConstantSource {
    enum class Kind : std::uint8_t {
        values,       ///< one of `values`
        uniform,      ///< between `low` and `high`
        log_uniform,  ///< of a magnitude between `low` and `high` whose logarithm is uniform, and any sign
        normal,       ///< of mean `low` and standard deviation `high`, as the sum of 12 uniform numbers
        /// zeros, ones, infinities, a NaN and the edges of the type; of integers the powers of two, what lies
        /// below them, and the type's own width too
        special,
        bits,      ///< any bits, of integers alone
        constants  ///< one of `constants` of that very type
    };
    Kind kind = Kind::values;
    double weight = 1;
    double low = 0, high = 1;
    std::vector<double> values = {};
    std::vector<TypedConstant> constants = {};
};

/// Half from 0, 1, -1, 0.5, 2, -0.25, 3, 10, a quarter log-uniform from 2^-8 to 2^8, a quarter normal; of
/// integers small numbers, special ones, and any bits.
[[nodiscard]] PTXGRAFT_API std::vector<ConstantSource> usual_constants();

enum class ProgramShape : std::uint8_t {
    /// An expression for each operand that is assigned, in postorder: every instruction is live, and nothing
    /// is computed of constants alone.
    tree,
    /// Instruction after instruction, each on what lies on the stacks, with words that rearrange these: with
    /// values that are used twice, and with dead code, about as much as live one.
    sequence,
};

struct SamplerOptions {
    ProgramShape shape = ProgramShape::tree;
    /// By entry of the set, how often it is drawn; empty: Entry::weight. Entries that the machine does not
    /// have, and those with effects, are never drawn.
    std::vector<double> weights = {};
    std::vector<ConstantSource> constants = usual_constants();
    double constant_share = 0.25;  ///< of the values that are pushed: how many are constants
    /// of these values in a tree: how many are results that the program has computed before
    double shared = 0.1;
    double words = 0.1;  ///< of a sequence: how many instructions rearrange a stack
};

/// Draws programs, and the parts of which mutations make others. Made once for a machine; copies share what
/// it holds.
class PTXGRAFT_API Sampler {
  public:
    /// Errors: Errc::argument_invalid for weights that are negative or not one per entry, a source without
    /// values, or with `low` and `high` of which nothing can be drawn, and shares that are not 0 to 1.
    [[nodiscard]] static Expected<Sampler> make(const Machine& machine, const SamplerOptions& options = {});

    /// A program of `live` (at most 4,096) live instructions of the set, for all operands that it assigns
    /// together; fewer where the set has none that make their types, and where a sequence ends that is
    /// 8 * live + 32 long. Compiles under all options.
    [[nodiscard]] Program program(Random& random, std::uint32_t live) const;

    /// One instruction for a mutation to put in: of the set as often as a value, by weight; of these as often
    /// a constant as constant_share says. What a wide constant or several immediates need is added to `pool`.
    [[nodiscard]] Instruction instruction(Random& random, std::vector<std::uint64_t>& pool) const;
    /// Another entry that pops and pushes what this one does, by weight; the same one where there is none, or
    /// the instruction is of another kind. Immediates stay what they are.
    [[nodiscard]] Instruction sibling(Random& random, const Instruction& instruction) const;
    /// The bits of a constant; 0 for types that have none.
    [[nodiscard]] std::uint64_t constant(Random& random, TypeId type) const;

    struct Data;

  private:
    explicit Sampler(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

/// The instruction that pushes a constant; what has no room in it is added to `pool`, unless it is there.
[[nodiscard]] PTXGRAFT_API Instruction constant_instruction(const Machine& machine, TypedConstant constant,
                                                            std::vector<std::uint64_t>& pool);

// ---- what is in a program ---------------------------------------------------------------------------------

/// The places in the code, ascending, of the instructions that contribute to what the operands receive and to
/// effects. A word that moves values counts where it moves live ones past each other, `dup` where both are
/// needed. In a program that executes `repeat` or `if`, or calls a routine with results of b8 or b128: those
/// without which its dataflow is another one (a compile for each). Errors: those of compile; but where the
/// answer does not need one, a program that does not compile may have one.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<std::uint32_t>> live_code(
    ProgramView program, const Machine& machine, const CompileOptions& options = mutated);

/// Where an instruction stands: in the code of the program, or of a routine.
struct CodePlace {
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    std::uint32_t at = none;       ///< none: there is no such instruction
    std::uint32_t routine = none;  ///< none: in the program itself
    friend bool operator==(const CodePlace&, const CodePlace&) = default;
};
struct PlacedConstant {
    CodePlace place;
    TypedConstant constant;
};

/// The constants that a program pushes, live or not: those of its code, then of its routines. Immediates are
/// none.
[[nodiscard]] PTXGRAFT_API std::vector<PlacedConstant> constants_of(ProgramView program,
                                                                    const Machine& machine);

/// For each constant that is data with Constants::data, in their order (Stub::constants), the instruction
/// that pushes it, so that what tuning found can be put back into the program. One in a routine or a `repeat`
/// may stand there several times. `place.at` is none for a zero that an operand receives by Empty::zero.
/// `fold` does not count. Errors: those of compile; Errc::stack_too_large above 65,535 constants.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<PlacedConstant>> data_constants(
    ProgramView program, const Machine& machine, CompileOptions options = mutated);

/// Makes the constant at a place another one of its type. Nothing happens where no constant stands.
PTXGRAFT_API void set_constant(Program& program, const Machine& machine, CodePlace place, std::uint64_t bits);

/// In the place of an instruction of the set, which gives one value and has no effect: one of its operands of
/// the value's type, by their order from the last one on (modulo their number), and words that drop the
/// others. False, and nothing happens, where no such instruction stands or it has no such operand. What a
/// series of fma evaluates so becomes a polynomial of a degree less.
PTXGRAFT_API bool bypass(Program& program, const Machine& machine, std::size_t at, std::uint32_t operand);

// ---- smaller programs -------------------------------------------------------------------------------------

/// The same dataflow (dataflow_hash under these options) in fewer instructions: without what is dead or does
/// nothing, routines that nobody calls, and constants of the pool that nobody pushes. Where the dataflow is
/// expressions whose results are each used once, these are written out in postorder, each operand assigned:
/// no program has fewer instructions beside its assignments, and the default options compile it too. Of
/// others nothing is left that could go alone or with its neighbour, up to 2,048 instructions. Errors: those
/// of compile.
[[nodiscard]] PTXGRAFT_API Expected<Program> simplify(ProgramView program, const Machine& machine,
                                                      const CompileOptions& options = mutated);

struct ReduceOptions {
    CompileOptions compile = mutated;
    std::uint32_t most_calls = 10000;  ///< of the predicate
};
struct Reduced {
    Program program;
    std::uint32_t calls = 0;  ///< of the predicate
    bool is_complete = true;  ///< false: most_calls ended it
};
/// Delta debugging: the program, simplified, then each of its instructions by one of its operands or by 0 or
/// 1, the last ones first, and parts of its code by nothing, as long as the result is smaller and
/// `is_as_good` accepts it; until nothing more is. Asks for no dataflow twice. The program itself is taken to
/// be good. Errors: those of compile.
[[nodiscard]] PTXGRAFT_API Expected<Reduced> simplify(ProgramView program, const Machine& machine,
                                                      const std::function<bool(const Program&)>& is_as_good,
                                                      const ReduceOptions& options = {});

}  // namespace ptxgraft::stack
