#pragma once
/// @file stack.hpp
/// The stack language: programs that compile to stubs in microseconds.
///
/// A program is a sequence of 8-byte instructions for a **machine**: an instruction set (set.hpp) over the
/// operands of a site. Any sequence of bytes is a valid program, so programs can be cut, crossed and mutated
/// freely: what makes no sense does nothing.
///
/// Threads: every function may be called from any number at once; one Machine serves any number, a Compiler
/// or an arena one at a time.
///
/// Memory: a thread that parses or compiles texts, or calls make_stub, keeps until it ends what serves its
/// next calls: the machines of the last four sites with their sets; 20 KB of words and the largest program,
/// as read from its text; and the arena of a Compiler, which is at most twice the `arena_bound` of its
/// largest program. parse and a Compiler of one's own, on a Machine of one's own, keep of that the words and
/// the program alone.
///
/// There is one stack per type: pred, u16, s16, u32, s32, u64, s64, f16, f16x2, bf16, bf16x2, f32, f64, b8,
/// b128, and the set's own types. Values of b16, b32 and b64 live on the u16, u32 and u64 stacks: `and.b32`,
/// `popc.b32` work on u32 values.
///
/// Text form, one readable token per instruction:
///
///     # relu(acc + bias)
///     acc bias add.f32 0.0 max.f32 -> acc
///
/// * an operand's name pushes its value; `frag[2]` pushes an element. The value is always the one from before
///   the program: assignments are seen by nobody. An `out` operand has no value to push. A word of a bracket
///   counts before an operand of its name, but outside of brackets `end` is the operand;
/// * a literal pushes a constant: `1.5`, `.5`, `1e-3` f32; `7`, `0x1F` u32; `-7` s32; a suffix names another
///   type: `7s32`, `1f64`, `0xFFb32`, `-3s64`, `1.5f16`, `2bf16`, `1u16`; for pairs the two bit patterns in
///   one: `0x3C003C00f16x2`; PTX's hex floats `0f3F800000` are f32, `0d3FF0000000000000` f64; `inf`, `-inf`,
///   `nan` (PTX's, 0f7FFFFFFF) are f32, `inff64` and so on others; `true`, `false` are pred. Behind 0x a type
///   in lower case is the suffix, so digits before one are written in upper case (`0xFFb32`); of f16 and bf16
///   it gives the bits (`0x3C00f16`). What does not fit its type is an error, and so is an integer with a
///   leading 0;
/// * the name of an instruction of the set is that instruction: `add.f32`, `fma.rn.f32`, `setp.lt.f32`,
///   `cvt.rn.f32.u32`, `a b p selp.f32`. It pops its operands from the stacks of their types, the last
///   operand is on top: operands are written in the order of PTX, so `x y sub.f32` is x - y. Its results are
///   pushed in the order of PTX (`d|p`: d, then p; of a vector the first element first). An operand that must
///   be a constant (the table of `lop3.b32`) is the literal written before the instruction: `a b c 0xE8
///   lop3.b32`. Nothing is converted by itself: a u32 value does not serve where a form wants s32 or f32;
/// * `%tid.x` and other special registers of the set push their value;
/// * `as.D.S` takes the bits of the topmost S as a D of its width, in the order of `cvt`: `x as.u32.f32`.
///   Where both are of one register class it costs nothing, else it is PTX's `mov`;
/// * the stack of type T is rearranged by `dup.T` (a -> a a), `swap.T` (a b -> b a), `drop.T` (a ->),
///   `over.T` (a b -> a b a), `rotate.T` (a b c -> b c a), `reverse.T` (the whole stack), `clear.T` (drops
///   all), and with a depth, 0 the top: `yank_dup.T 2` pushes a copy of that one, `swap_with.T 2` exchanges
///   it with the top, `replace.T 2` pops the top into its place;
/// * `store.T 3` pops into cell 3 (0 to 255) of the type T, `load.T 3` pushes what is there;
/// * `repeat 4 … end`: the instructions between four times (0 to 255). `if … else … end` (or without else)
///   pops a pred: both arms are computed, each from the stacks as they are, and where they differ the pred
///   selects; instructions with effects are executed under the pred. The arms must leave stacks of the same
///   sizes; if not (mutated programs), the shorter decides;
/// * `routine square f32 -> f32 : dup.f32 mul.f32 end` defines a word (it may use only words above it):
///   `square` pops its arguments, runs in stacks and cells of its own, which hold just these, and pushes its
///   results from there. Operands and assignments do not stand in it. `import activation/relu.stub` makes a
///   stub of the library a routine named by its last part, `relu`: its arguments are the `in` and `mod`
///   operands in order, its results the `mod` and `out` operands;
/// * `-> a b` assigns, from the top downwards per type, so that `x y -> a b` is a = x, b = y. All inputs are
///   read before any output is written: `x y -> y x` swaps. A fragment's element is named `frag[2]`. The
///   names after an arrow end with the line or at `;`: more program and other arrows may follow;
/// * `#` and `//` start comments.
///
/// A `.stub` file is a signature line and a program; `allow load store` behind the operands says which
/// effects it needs:
///
///     signature: mod f32 acc, in f32 bias
///     acc bias add.f32 0.0 max.f32 -> acc

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/set.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft::stack {

/// What an instruction does. Values are stable: programs may be stored. A byte that is none does nothing.
enum class Opcode : std::uint8_t {
    input,  ///< push operand `index`, element `payload`
    /// push `payload` as the bits of a `type` of at most 32 bits; of a wider one: sign-extended (s64), as an
    /// f32 (f64), zero-extended
    constant,
    /// entry `index` of the set; `payload` is its immediate (the last one, when it has several; the others
    /// from the pool from `type` on)
    form,
    assign,  ///< pop into operand `index`, element `payload`
    dup,
    swap,
    drop,
    over,
    rotate,  ///< on the stack of `type`
    cast,    ///< `as.D.S`: pop a value of the type `index`, push the same bits as a `type`
    /// push constant `payload` of the program's pool (modulo its size; 0 when it is empty) as a `type`
    pooled,
    reverse,
    clear,  ///< on the stack of `type`
    yank_dup,
    swap_with,
    replace,  ///< on the stack of `type`, at depth `payload`
    store,
    load,    ///< cell `payload` of `type`
    call,    ///< routine `index` of the program (the first 256); in a routine only one before it
    repeat,  ///< the instructions up to its `end`, `payload` times, at most 255
    if_,     ///< pop a pred
    else_,
    end,  ///< of the innermost `repeat` or `if_`
};
inline constexpr std::uint32_t opcode_count = static_cast<std::uint32_t>(Opcode::end) + 1;

/// One instruction: 8 bytes, trivially copyable.
struct Instruction {
    Opcode opcode = Opcode::drop;
    TypeId type = 0;
    std::uint16_t index = 0;
    std::uint32_t payload = 0;
    friend bool operator==(const Instruction&, const Instruction&) = default;
};
static_assert(sizeof(Instruction) == 8);

/// A word of a program. Its code runs on stacks that hold its arguments alone (the last on top) and may call
/// routines before it.
struct Routine {
    std::string name;
    std::vector<TypeId> arguments, results;
    std::vector<Instruction> code;
    friend bool operator==(const Routine&, const Routine&) = default;
};

struct Program {
    std::vector<Instruction> code;
    std::vector<std::uint64_t> pool;  ///< constants of 64 bits
    std::vector<Routine> routines;
    friend bool operator==(const Program&, const Program&) = default;
};

/// A program that somebody else owns. Made from a Program or from bare code.
struct ProgramView {
    std::span<const Instruction> code;
    std::span<const std::uint64_t> pool;
    std::span<const Routine> routines;

    ProgramView() = default;
    ProgramView(const Program& p) : code(p.code), pool(p.pool), routines(p.routines) {}
    ProgramView(std::span<const Instruction> c, std::span<const std::uint64_t> p = {},
                std::span<const Routine> r = {})
        : code(c), pool(p), routines(r) {}
};

// ---- machines ---------------------------------------------------------------------------------------------

struct MachineOptions {
    Policy policy;                  ///< of the site: entries with other effects are not there
    Architecture target = {};       ///< entries that it lacks are not there; sm 0: all are
    std::uint16_t ptx_version = 0;  ///< 90 for PTX ISA 9.0; 0: any
};

/// A set over the operands of a site: what programs run on. Made once per site, used by any number of
/// threads.
class PTXGRAFT_API Machine {
  public:
    /// Operands of a user type that the set does not have live on the stack of its register type. Errors: a
    /// signature with more than 4,096 operands or 65,535 registers; Errc::target_unknown.
    [[nodiscard]] static Expected<Machine> make(std::shared_ptr<const InstructionSet> set,
                                                const Signature& signature,
                                                const MachineOptions& options = {});
    [[nodiscard]] static Expected<Machine> make(std::shared_ptr<const InstructionSet> set, const Site& site,
                                                MachineOptions options = {}) {
        options.policy = site.policy;
        return make(std::move(set), site.signature, options);
    }
    [[nodiscard]] const InstructionSet& set() const;
    [[nodiscard]] const Signature& signature() const;

    struct Data;

  private:
    friend struct MachineData;
    std::shared_ptr<const Data> data_;
};

// ---- text -------------------------------------------------------------------------------------------------

/// The program of a text for a machine. Errors have spans in `text`.
[[nodiscard]] PTXGRAFT_API Expected<Program> parse(std::string_view text, const Machine& machine);
/// The text of a program: `parse(print(p, m), m)` is p; only a routine's name that could not be read is
/// replaced, and of more than 256 routines the first are printed. An instruction that has no text (random
/// bytes, unmatched brackets) is printed as its eight bytes, `!0123456789ABCDEF`, and a pool that the
/// literals alone do not make as its constants in front, `!!0123456789ABCDEF` each; parse reads both.
[[nodiscard]] PTXGRAFT_API std::string print(ProgramView program, const Machine& machine);

// ---- compile ----------------------------------------------------------------------------------------------

/// What an instruction does whose operands are missing.
enum class Missing : std::uint8_t {
    error,  ///< the compile fails: a program is then a postorder tree (`strict`)
    skip,   ///< it does nothing, whatever is wrong with it: any bytes are a program
};

/// Which values the operands of the site receive.
enum class Requests : std::uint8_t {
    assigned,  ///< those that the program assigns
    /// also: after the program, each `mod` and `out` operand that is not assigned pops from its stack, the
    /// last operand first
    top,
};

/// What an operand receives for which there is no value.
enum class Empty : std::uint8_t {
    /// the compile fails, for an `out` that is not assigned, and for an assignment that finds its stack empty
    error,
    keep,  ///< a `mod` keeps its value, an `out` becomes zero
    zero,  ///< with Requests::top also a `mod` becomes zero
};

/// What becomes of values that stand on a stack when the program ends.
enum class Leftover : std::uint8_t {
    allow,  ///< they are dropped, and what only they need is not emitted
    error,  ///< the compile fails: a value that nobody uses is a slip; `drop.f32` says that it is meant
};

/// Where the constants of a program stand.
enum class Constants : std::uint8_t {
    literals,  ///< in the text
    /// In a bank: the text loads each from read-only memory (`ld.const`), so that programs that differ only
    /// in constants have one text, and one machine code. The loads are the library's own, so that a policy
    /// need not allow them. What has no place in a register stays in the text: immediates, and the preds
    /// `true` and `false`. With `reuse` equal constants are not one value here, as they may be others later;
    /// with `fold` what was computed of constants is a constant.
    data,
};

/// What a compile may use at most. Each is an error when it is passed (Errc::stack_limit_exceeded), never a
/// program cut short.
struct Limits {
    std::uint32_t steps = 1u << 24;  ///< instructions executed, routines and repeats counted each time
    std::uint32_t depth = 64;        ///< brackets and routines inside each other, at most 256
};

struct CompileOptions {
    Missing missing = Missing::error;
    Requests requests = Requests::assigned;
    Empty empty = Empty::error;
    Leftover leftover = Leftover::allow;
    bool reuse = false;  ///< one value for equal computations
    /// computes what has constant operands, exactly as PTX would; what PTX leaves open (.approx) stays
    bool fold = false;
    bool hash = false;  ///< fills Compiled::hash and Compiled::parts
    Constants constants = Constants::literals;
    Limits limits = {};
};

/// For programs that a search makes: nothing in them is an error.
inline constexpr CompileOptions mutated = {
    .missing = Missing::skip, .requests = Requests::top, .empty = Empty::zero, .limits = {}};

struct Compiled {
    std::string_view ptx;                 ///< in the arena
    std::uint32_t instruction_count = 0;  ///< of PTX
    /// instructions executed that did nothing because something was missing
    std::uint32_t skipped = 0;
    std::uint32_t first_skipped = 0;  ///< place in the code of the first
    std::uint32_t leftover = 0;       ///< values that stood on the stacks at the end
    Effect effects = Effect::none;
    /// of the dataflow, see dataflow_hash; 0 unless CompileOptions::hash
    std::uint64_t hash = 0;
    DataflowParts parts = {};                       ///< the same, see dataflow_parts
    std::span<const std::uint64_t> constants = {};  ///< in the arena: those that are data (Stub::constants)
};

/// The most constants that are data in one program: what a bank of constant memory holds.
inline constexpr std::uint32_t most_data_constants = 8192;

/// Bytes of arena that are enough to compile a program, found in one pass over it.
[[nodiscard]] PTXGRAFT_API std::size_t arena_bound(ProgramView program, const Machine& machine,
                                                   const CompileOptions& options = {});

/// PTX of a program, in the caller's arena (aligned to 64 bytes, `arena_bound` is enough; less is
/// Errc::arena_too_small). Allocates nothing else unless it fails. Only live code is emitted, a shared value
/// once; the assignments are a parallel copy. Errors: `index` is the instruction's position in the program.
[[nodiscard]] PTXGRAFT_API Expected<Compiled> compile(ProgramView program, const Machine& machine,
                                                      std::span<std::byte> arena,
                                                      const CompileOptions& options = {});

/// The same with an arena of its own, kept between calls: once it has seen a program of a size, no program up
/// to it allocates. One thread at a time.
class PTXGRAFT_API Compiler {
  public:
    [[nodiscard]] Expected<Compiled> compile(ProgramView program, const Machine& machine,
                                             const CompileOptions& options = {});

  private:
    std::span<std::byte> room(std::size_t needed);

    std::unique_ptr<std::byte[]> arena_;
    std::size_t size_ = 0;
};

/// A number that two programs share when they emit the same dataflow, whatever dead code, order of
/// independent instructions, or sharing they have; stable between processes and machines with equal
/// signatures. For deduplication before assembly. With Constants::data it is made of the parts.
[[nodiscard]] PTXGRAFT_API Expected<std::uint64_t> dataflow_hash(ProgramView program, const Machine& machine,
                                                                 const CompileOptions& options = {});

/// The same in two parts: programs that differ only in constants have one structure. Beside what
/// DataflowParts says, the order of constants counts: of instructions that do not depend on each other, those
/// with constants stand in one order in programs of one structure. With CompileOptions::reuse, and constants
/// that are literals, equal constants are one.
[[nodiscard]] PTXGRAFT_API Expected<DataflowParts> dataflow_parts(ProgramView program, const Machine& machine,
                                                                  const CompileOptions& options = {});

/// N programs on some threads, into one text.
struct Batch {
    struct Item {
        std::size_t begin = 0, end = 0;  ///< in `text`; empty after an error
        std::uint32_t instruction_count = 0;
        std::uint64_t hash = 0;
        std::uint32_t error = none;  ///< index into `errors`
        DataflowParts parts = {};
        std::size_t constants_begin = 0, constants_end = 0;  ///< in `constants`
    };
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    std::string text;
    std::vector<std::uint64_t> constants;  ///< those that are data, of all programs
    std::vector<Item> items;               ///< one per program
    std::vector<Error> errors;
};
struct BatchOptions {
    CompileOptions compile = mutated;
    unsigned threads = 0;  ///< 0: one per processor
};
[[nodiscard]] PTXGRAFT_API Batch compile_batch(std::span<const ProgramView> programs, const Machine& machine,
                                               const BatchOptions& options = {});

// ---- random programs --------------------------------------------------------------------------------------

/// A program of about `length` instructions that mostly find their operands, drawn by the set's weights. The
/// same seed gives the same program everywhere.
[[nodiscard]] PTXGRAFT_API Program random_program(const Machine& machine, std::uint64_t seed,
                                                  std::uint32_t length);

// ---- in one call ------------------------------------------------------------------------------------------

struct TextOptions {
    std::shared_ptr<const InstructionSet> set = nullptr;  ///< null: `standard`
    CompileOptions compile = {.leftover = Leftover::error};
    isa::Architecture target = {};
};

/// Text to stub in one call: parse, compile, check. The text may be a whole `.stub` file; then its signature
/// line must agree with the site's operands by name, type, direction and count, in any order (the site may
/// have further `in` and `mod` operands). Errors have spans in `text`.
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile(std::string_view text, const Site& site,
                                                  const TextOptions& options = {});
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile(std::string_view text, const Signature& signature,
                                                  const TextOptions& options = {}, Policy policy = {});
/// What does nothing in a text that is compiled with Missing::skip: an error for each such instruction, with
/// its span, in the order of execution, at most 1,000. Empty where nothing is missing, and for a text that
/// does not compile at all.
[[nodiscard]] PTXGRAFT_API std::vector<Error> find_missing(std::string_view text, const Signature& signature,
                                                           const TextOptions& options = {},
                                                           Policy policy = {});
/// A Stub of a program.
[[nodiscard]] PTXGRAFT_API Expected<Stub> make_stub(ProgramView program, const Machine& machine,
                                                    const CompileOptions& options = {});

/// A `.stub` file: its signature line, if it has one, and where the program starts.
struct StubFile {
    Signature signature;  ///< empty without a signature line
    Policy policy;        ///< the effects behind `allow`
    std::uint32_t program_offset = 0;
};
[[nodiscard]] PTXGRAFT_API Expected<StubFile> parse_file(std::string_view text);

}  // namespace ptxgraft::stack
