#pragma once
/// @file decode.hpp
/// From the syntax tree to operations. What is declared wrongly is an error of the module; an instruction
/// that the emulator lacks becomes an operation that fails when it is executed.

#include <array>
#include <deque>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/try.hpp"
#include "emulator/decode/scopes.hpp"
#include "emulator/decode/shapes.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/program.hpp"
#include "isa/instruction_verifier.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::emulator {

/// Bits of a fundamental type or an alternate format (`.u32`, `.bf16x2`, `.pred` as 1); 0 for other words.
[[nodiscard]] std::uint32_t type_bits(std::string_view word);
[[nodiscard]] std::uint32_t type_bits(const syntax::TypeRow* type);  ///< null: of a word that is no type
[[nodiscard]] ImmediateType immediate_type(syntax::Type type);
/// The bits of a constant as an operand of a type and width has it, extended to 64; nullopt when it is none
/// of that type.
[[nodiscard]] std::optional<std::uint64_t> immediate_bits(const syntax::Constant& constant,
                                                          std::uint32_t bytes, ImmediateType type);
/// The value of an operand that is an integer constant.
[[nodiscard]] std::optional<std::int64_t> integer_of(const syntax::Operand& operand);

// --- what the modifiers of an instruction say

/// The first modifier that is one of `words`; empty when none is.
[[nodiscard]] std::string_view one_of(const syntax::Instruction& instruction,
                                      std::initializer_list<std::string_view> words);
/// The last of its types; empty when it has none.
[[nodiscard]] std::string_view type_of(const syntax::Instruction& instruction);
/// The first state space; generic when it names none.
[[nodiscard]] Space space_of(const syntax::Instruction& instruction);
/// .sem or .volatile; `none` without one.
[[nodiscard]] Semantics semantics_of(const syntax::Instruction& instruction, Semantics none);
[[nodiscard]] Reach reach_of(const syntax::Instruction& instruction);
[[nodiscard]] Fence fence_of(const syntax::Instruction& instruction);  ///< .acq_rel, where it does not say
/// .v2, .v4, .v8; 1 without one.
[[nodiscard]] std::uint8_t vector_of(const syntax::Instruction& instruction);

/// Whether a predicate is `!p`; then it is `p` from here on.
bool take_negation(syntax::Operand& operand);

/// An instruction that isa has checked; its modifiers stand in the manual's order.
struct MatchedInstruction : syntax::Instruction {
    const isa::Match* match = nullptr;  ///< the row of the table that it follows

    /// The operand that the row has by that name; null when it is not there.
    [[nodiscard]] const syntax::Operand* operand(std::string_view name) const;
    /// The value of one that is a constant.
    [[nodiscard]] std::optional<std::int64_t> constant(std::string_view name) const {
        const syntax::Operand* const found = operand(name);
        return found == nullptr ? std::nullopt : integer_of(*found);
    }
};

/// How a value is written to a wider register (PTX ISA 9.4.1).
enum class Extension : std::uint8_t { zeros, sign };

/// An operation that is being decoded, with its operands: outputs first.
class Draft {
  public:
    explicit Draft(Execute execute, std::uint32_t extra = 0)
        : operation{.execute = execute, .extra = extra, .undefined = Undefined::refused} {}
    /// Its `extra` is an index of one of the program's tables.
    Draft(Execute execute, TableEntry entry) : Draft(execute, entry.index) { table = entry.table; }
    explicit Draft(ColumnFunction function) : operation{.function = function} {}
    void set(TableEntry entry) {
        operation.extra = entry.index;
        table = entry.table;
    }
    /// Behind the outputs that it has.
    Draft& output(Ref ref) { return add(operation.outputs++, ref); }
    Draft& input(Ref ref) {
        ++operation.inputs;
        return add(refs_.size(), ref);
    }
    /// The last input, which is one no longer.
    Ref take_input() {
        const Ref ref = refs_.back();
        refs_.pop_back();
        --operation.inputs;
        return ref;
    }
    [[nodiscard]] std::span<const Ref> refs() const { return refs_; }
    [[nodiscard]] std::span<Ref> inputs() { return std::span(refs_).subspan(operation.outputs); }

    Operation operation;
    Table table = Table::none;

  private:
    Draft& add(std::size_t at, Ref ref) {
        constexpr std::size_t usual = 8;
        if (refs_.empty()) refs_.reserve(usual);
        refs_.insert(refs_.begin() + static_cast<std::ptrdiff_t>(at), ref);
        return *this;
    }
    std::vector<Ref> refs_;
};

/// Of a module's entries, those that begin in the `index`-th of `count` stretches of its text.
struct ModulePart {
    std::uint32_t index = 0, count = 1;
};

/// A call of a function by its name, whose results and arguments are .param variables of the body: all that
/// makes it right or wrong, beside the function.
struct PlainCall {
    struct Variable {
        isa::RegisterType type;
        std::uint8_t vector;
        bool is_array;
        std::uint32_t align;
        std::uint64_t bytes;
        [[nodiscard]] friend bool operator==(const Variable&, const Variable&) = default;
    };
    std::string_view opcode;                          ///< with its modifiers
    bool has_results = false, has_arguments = false;  ///< in parentheses, which may be empty
    std::vector<Variable> variables;                  ///< the results first
    [[nodiscard]] friend bool operator==(const PlainCall&, const PlainCall&) = default;
};

/// Decodes a module: its variables into regions that are nobody's else yet, its functions into a program.
class ModuleDecoder {
  public:
    ModuleDecoder(const syntax::Module& module, ModuleVariables& variables, DecoderMemory& kept);
    ~ModuleDecoder() { scopes.clear(); }
    ModuleDecoder(const ModuleDecoder&) = delete;
    ModuleDecoder& operator=(const ModuleDecoder&) = delete;
    Expected<Program> decode();

    // --- its steps, for decode_in_parts()
    Expected<void> declare();
    /// What another decoder has declared of the same module.
    void declare_as(const ModuleDecoder& other);
    /// All functions, and the entries of a part.
    Expected<void> decode_bodies(ModulePart part);
    /// A body of one of several parts declares a variable in memory: those stand in the order of the text.
    [[nodiscard]] bool needs_order() const { return needs_order_; }
    Expected<void> initialise();
    Expected<Program> finish();

    /// Of samples of the table, which are not for one version and target: instructions of others are taken
    /// too, and lists of branch targets that stand behind their uses.
    bool takes_samples = false;
    /// Where the table of each operation goes that is emitted; null: nowhere.
    std::vector<TableEntry>* entries = nullptr;

    // --- for FunctionDecoder
    /// Checks an instruction, finds its row, and puts its modifiers in the manual's order.
    Expected<void> verify(MatchedInstruction& instruction);
    void enter(const syntax::Statement& function) { verifier_.enter(function); }
    Program program;
    Scopes& scopes;
    Shapes& shapes;
    const std::uint64_t number;  ///< that no other module has
    [[nodiscard]] const Symbol* find(std::string_view name) const;
    /// Where a name stands in the text.
    [[nodiscard]] Span span_of(std::string_view name) const {
        if (!element_spans_.empty())
            if (const auto found = element_spans_.find(name.data()); found != element_spans_.end())
                return found->second;
        const auto begin = static_cast<std::uint32_t>(name.data() - source_);
        return {begin, begin + static_cast<std::uint32_t>(name.size())};
    }
    [[nodiscard]] tl::unexpected<Error> redeclared(std::string_view name) const;
    [[nodiscard]] std::optional<std::uint32_t> find_function(std::string_view name) const;
    /// A function is declared by this name before `position`.
    [[nodiscard]] bool has_function(std::string_view name, std::uint32_t position) const;
    /// The last call that was found right of the function that a name is declared as; null where `position`
    /// stands before the declaration, and where the name is no function's.
    [[nodiscard]] PlainCall* known_call(std::string_view name, std::uint32_t position);
    /// The column of a value of 1 to 16 bytes in all lanes.
    Ref constant(std::uint64_t bits, std::uint32_t bytes);
    Ref special(Special special, std::uint32_t bytes);
    /// The functions of a pure instruction, which are looked for once.
    [[nodiscard]] const std::optional<PureInstruction>& pure(const syntax::Instruction& instruction,
                                                             bool pair);
    /// Declares `.global`, `.const` or `.shared` variables in the innermost scope: those of the statement,
    /// which reads as `variable`. `shared_top` is where the next shared variable goes.
    Expected<void> declare(const syntax::Statement& statement, const syntax::Statement::Variable& variable,
                           std::uint32_t& shared_top);
    /// The module's `.shared` variables that a function names and that have no address, in the order of their
    /// declarations. A block has those that its entry names, as ptxas has it, and those that functions name.
    using Named = std::pair<std::string_view, Symbol>;
    [[nodiscard]] std::vector<Named> unplaced_shared(const syntax::Statement& function) const;
    /// With an address; `entry`: whose it is alone.
    Expected<Symbol> place_shared(const Named& named, std::uint32_t& shared_top,
                                  std::uint32_t entry = SharedVariable::all);
    /// Calls `declare(name)` for each of the variables in memory that a declarator is of: of `v<5>` (PTX ISA
    /// 5.4.6) v0 to v4, whose names live as long as the decoder. As ptxas has it, `v1<5>` has no elements.
    template <class Declare>
    Expected<void> for_each_name(const syntax::Statement::Variable& variable,
                                 const syntax::Statement::Declarator& declarator, Declare&& declare) {
        if (declarator.range == 0) return declare(declarator.name);
        if (!syntax::numbered(declarator.name).stem.empty()) return {};
        TRY(check_range(variable, declarator));
        for (std::uint32_t i = 0; i < declarator.range; ++i) TRY(declare(element_name(declarator.name, i)));
        return {};
    }
    /// `.target …, debug`: values live in memory, and registers hold them for one instruction at a time.
    [[nodiscard]] bool is_debug() const { return is_debug_; }

  private:
    // What names mean where the instruction stands that is verified.
    class Names final : public isa::SymbolSource {
      public:
        explicit Names(const ModuleDecoder& decoder) : decoder_(decoder) {}
        [[nodiscard]] const isa::Symbol* find(std::string_view name) const override;
        std::uint32_t position = 0;  // of the instruction, in the text

      private:
        const ModuleDecoder& decoder_;
    };
    struct Initialiser {
        Region* region;
        syntax::Statement::Variable variable;
        std::size_t declarator;
    };
    Expected<void> initialise(const Initialiser& initialiser);
    Expected<void> declare_functions();
    Expected<void> declare_aliases();
    Expected<void> decode_bodies(bool entries, ModulePart part);
    Expected<void> declare(std::string_view name, Symbol symbol);
    Expected<void> place_shared(const syntax::Statement& statement,
                                const syntax::Statement::Variable& variable, std::size_t index,
                                std::string_view name, std::uint32_t& shared_top);
    Expected<void> place_global(const syntax::Statement& statement,
                                const syntax::Statement::Variable& variable, std::size_t index,
                                std::string_view name);
    [[nodiscard]] Expected<void> check_range(const syntax::Statement::Variable& variable,
                                             const syntax::Statement::Declarator& declarator) const;
    [[nodiscard]] std::string_view element_name(std::string_view stem, std::uint32_t number);

    const syntax::Module& module_;
    const char* const source_ = module_.source().data();
    ModuleVariables& variables_;
    Names names_{*this};
    isa::InstructionVerifier verifier_;
    syntax::NameMap<std::uint32_t> all_functions_;
    syntax::NameMap<isa::Symbol> all_function_symbols_;  // of their first declarations
    struct Body {
        syntax::Statement statement;
        std::uint32_t function, begin;  // its index; in the text
        bool is_entry;
    };
    std::vector<Body> all_bodies_;
    // Those of the decoder that declared them.
    const syntax::NameMap<std::uint32_t>* functions_ = &all_functions_;
    const syntax::NameMap<isa::Symbol>* function_symbols_ = &all_function_symbols_;
    const std::vector<Body>* bodies_ = &all_bodies_;
    std::unordered_map<const isa::Symbol*, PlainCall> known_calls_;    // of function_symbols_
    std::array<std::unordered_map<std::uint64_t, Ref>, 5> constants_;  // by the width's logarithm
    struct KnownConstant {
        std::uint64_t bits = 0;
        Ref ref = no_ref;
    };
    std::array<KnownConstant, 128> known_constants_ = {};  // that were asked for lately
    Ref find_constant(std::uint64_t bits, std::uint32_t bytes);
    std::uint32_t constant_bytes_ = 0;
    bool is_debug_ = false;
    std::unordered_map<std::string, std::optional<PureInstruction>> pure_;
    std::vector<Initialiser> initialisers_;
    std::deque<std::string> element_names_;                // of ranges of variables in memory
    std::unordered_map<const char*, Span> element_spans_;  // by their characters: where the stems stand
    std::vector<Named> declared_;                          // of the module's scope
    bool has_unplaced_ = false;                            // `.shared` variables there
    bool is_in_bodies_ = false, is_one_of_several_ = false, needs_order_ = false;
};

/// Decodes a long module in up to `threads` threads, into a program for each part: all have all functions,
/// and the entries are in one of them, as Function::has_code says. Addresses, function numbers and errors are
/// those of one part.
[[nodiscard]] Expected<std::vector<Program>> decode_in_parts(const syntax::Module& module,
                                                             ModuleVariables& variables,
                                                             std::uint32_t threads);

/// Bytes and alignment of a declared variable; an error when they are absurd.
struct Extent {
    std::uint64_t bytes = 0;
    std::uint32_t align = 1;
};
/// Of a declarator that is an array; else 0.
[[nodiscard]] std::uint32_t element_bytes(const syntax::Statement::Variable& variable,
                                          const syntax::Statement::Declarator& declarator);
/// Of a function or a `.callprototype`.
[[nodiscard]] Signature signature_of(const syntax::Statement& statement);

[[nodiscard]] Expected<Extent> extent(const syntax::Statement::Variable& variable,
                                      const syntax::Statement::Declarator& declarator, Span span);

/// Writes a variable's initial bytes (PTX ISA 5.4.4: constant expressions, nested lists, addresses, bytes of
/// addresses); those that no value names stay as they are. As ptxas has it, values follow each other in
/// memory, whatever the inner lists leave out: `x[2][2] = {{1}, {3}}` is 1, 3, 0, 0.
[[nodiscard]] Expected<void> initialise_variable(const ModuleDecoder& module, std::span<std::byte> bytes,
                                                 const syntax::Statement::Variable& variable,
                                                 const syntax::Statement::Declarator& declarator);

/// Decodes functions' bodies, one after the other.
class FunctionDecoder {
  public:
    explicit FunctionDecoder(ModuleDecoder& module) : module_(module) {}
    Expected<void> decode(const syntax::Statement& statement, std::uint32_t function);

    // --- for the decoders of instructions

    [[nodiscard]] Program& program() { return module_.program; }
    [[nodiscard]] ModuleDecoder& module() { return module_; }
    [[nodiscard]] Function& function() { return *function_; }
    /// The column of `bytes` wide values that an operand reads: a register, whose lower bytes count where it
    /// is wider, an immediate, a special register, the address of something.
    Expected<Ref> input(const syntax::Operand& operand, std::uint32_t bytes,
                        ImmediateType type = ImmediateType::integer);
    /// The column that is written for an operand. A wider register gets the value afterwards, extended.
    Expected<Ref> output(const syntax::Operand& operand, std::uint32_t bytes,
                         Extension extension = Extension::zeros);
    /// The elements of a vector operand, or the operand itself.
    Expected<std::vector<Ref>> inputs(const syntax::Operand& operand, std::uint32_t bytes,
                                      ImmediateType type);
    Expected<void> check_widths(const syntax::Operand& vector, std::uint32_t bytes, ImmediateType type);
    Expected<std::vector<Ref>> outputs(const syntax::Operand& operand, std::uint32_t bytes,
                                       Extension extension = Extension::zeros);
    [[nodiscard]] bool is_vector(const syntax::Operand& operand);
    [[nodiscard]] std::size_t elements(const syntax::Operand& operand);  ///< of a vector; 1 of others
    /// Fills the place of an access from an address operand and the space that the instruction names; the
    /// register of the address, if access.has_base says that there is one.
    Expected<Ref> address(const syntax::Operand& operand, Access& access);
    /// Adds the operands of an instruction to a draft, as wide as its row says: results, and values in the
    /// order of the text. The first address is that of `access`, where there is one, and others are values of
    /// 8 bytes. Constants that say what is done, and cache policies, are left out.
    Expected<void> bind(Draft& draft, const MatchedInstruction& instruction, Access* access = nullptr);
    /// The operand `n` of a wait_group: how many of the last groups may still be pending; 0 without one.
    [[nodiscard]] Expected<std::uint32_t> pending_groups(const MatchedInstruction& instruction) const;
    [[nodiscard]] TableEntry add(const Access& access);
    [[nodiscard]] TableEntry add(const CollectiveCall& call);
    [[nodiscard]] TableEntry add(const Barrier& barrier);
    [[nodiscard]] TableEntry add(MatrixInstruction instruction);
    /// A name that is no scalar register. Of an element of `.reg .v4 .b32 %v<3>` it holds until the next
    /// call.
    [[nodiscard]] const Symbol* find(std::string_view name);
    /// Registers and components of vectors, by name.
    std::optional<Ref> find_register(std::string_view name);
    /// The register that a name means, which gets a column; no_ref when it means something else.
    Ref register_of(const Scopes::Meaning& meaning, std::string_view name);
    Ref register_of(RegisterRange& range, std::uint32_t number, std::string_view name) {
        const Ref ref = range[number];
        return ref != no_ref ? ref : new_register(range, number, name);
    }
    [[nodiscard]] Scopes& scopes() { return module_.scopes; }
    Expected<std::uint32_t> label(const syntax::Operand& operand, Symbol::Kind kind);
    Ref temporary(std::uint32_t bytes);
    Ref carry();  ///< the condition code register
    /// Of the load at hand, as a pragma before it says.
    [[nodiscard]] std::uint32_t used_bytes() const { return used_bytes_; }
    /// The number among Program::call_targets of the functions of a call table.
    [[nodiscard]] std::uint32_t call_table(const isa::Symbol& array, std::string_view name);
    /// The call at hand is right: others like it need not be looked at.
    void know_call() {
        if (known_call_ != nullptr) *known_call_ = plain_call_;
    }
    /// The instruction at hand depends on more than its shape: others like it are decoded by themselves.
    void refuse_shape();
    void emit(const Draft& draft);
    /// d = a + c, in the width of all three.
    void emit_sum(Ref d, Ref a, Ref c);
    Ref constant(std::uint64_t bits, std::uint32_t bytes);
    [[nodiscard]] tl::unexpected<Error> missing(const syntax::Instruction& instruction) const;

  private:
    Expected<void> bind(Draft& draft, const isa::Match& match, const isa::OperandRule& rule,
                        const syntax::Operand& operand);
    Expected<void> bind_pair(Draft& draft, const isa::Match& match, const isa::OperandRule& rule,
                             const syntax::Operand& operand);
    Expected<void> bind_address(Draft& draft, const isa::Match& match, const isa::OperandRule& rule,
                                const syntax::Operand& operand);
    Expected<void> place_shared(const syntax::Statement& statement, std::uint32_t index);
    Expected<void> declare_parameters(const syntax::Statement& statement);
    Expected<void> declare_slots(const std::vector<syntax::Statement::Parameter>& parameters, bool are_inputs,
                                 std::vector<Slot>& slots, Span span);
    Expected<void> block(const syntax::Statement& parent);
    Expected<void> body(const syntax::Statement& parent);
    Expected<void> statement(const syntax::Statement& statement, syntax::StatementKind kind);
    Expected<void> place_label(const syntax::Statement& statement);
    Expected<void> variable(const syntax::Statement& statement);
    bool declare_plain(const syntax::Statement& statement);
    bool declare_register(std::string_view name, std::uint32_t bytes, const isa::Symbol& declared);
    bool declare_local(std::string_view name, std::uint32_t bytes, const isa::Symbol& declared);
    Expected<void> declare_registers(const syntax::Statement& statement,
                                     const syntax::Statement::Variable& variable);
    Expected<void> declare_labels(const syntax::Statement& parent);
    void declare_list(std::string_view label, const isa::Symbol& declared, const syntax::Statement& list);
    [[nodiscard]] std::vector<std::uint32_t> call_targets(const syntax::Statement& list) const;
    Expected<void> directive(const syntax::Statement& statement);
    Expected<void> branch_targets(const syntax::Statement& statement);
    void pragma(const syntax::TokenView& tokens);
    Expected<void> instruction(const syntax::Statement& statement);
    Expected<Draft> draft_of(const MatchedInstruction& instruction);
    Expected<void> instruction_by_itself(const syntax::Statement& statement);
    bool instruction_by_shape(const syntax::Statement& statement, const syntax::TokenView& tokens);
    bool branch(const syntax::TokenView& tokens, std::size_t at);
    bool call(const syntax::TokenView& tokens, std::size_t at);
    bool read_plain_call(const syntax::TokenView& tokens, std::size_t at, Call& call);
    bool read_variables(const syntax::TokenView& tokens, std::size_t& at, std::vector<Slot>& slots);
    std::unique_ptr<InstructionShape> learn(const syntax::Statement& statement);
    void bind(InstructionShape& shape);
    bool make(InstructionShape& shape);
    bool make_values(const InstructionShape& shape);
    [[nodiscard]] const Symbol* find_vector(std::string_view name);
    Ref new_register(RegisterRange& range, std::uint32_t number, std::string_view name);
    std::uint32_t access_of(InstructionShape& shape);
    Ref bound(const InstructionShape& shape, Ref ref);
    Ref immediate(std::string_view text, std::uint64_t bits, std::uint32_t bytes, ImmediateType type);
    Ref special_register(Special special, std::uint32_t bytes);
    std::optional<Ref> read_special(std::string_view name);
    [[nodiscard]] bool is_special_vector(const syntax::Operand& operand);
    Expected<Ref> value_of(std::string_view name, std::int64_t offset, std::uint32_t bytes, Span span);
    [[nodiscard]] tl::unexpected<Error> unknown(std::string_view name, Span span);
    [[nodiscard]] static tl::unexpected<Error> wrong_constant(const syntax::Operand& operand);
    Ref sum_of(Ref a, Ref b, std::uint32_t bytes);
    Expected<Ref> element_address(const syntax::Operand& operand, std::uint32_t bytes);
    Expected<Ref> element_offset(const syntax::Operand& operand, std::uint32_t bytes);
    Ref read_as(Ref ref, std::uint32_t bytes);
    Ref copy_of(Ref predicate);
    void emit_with_guard(Draft& draft, const syntax::Instruction& instruction, Ref guard);
    void mark_runs();
    void join_row(Operation& operation, Operation& behind);
    Expected<std::uint32_t> place_in_frame(std::uint64_t bytes, std::uint32_t align, Span span);
    void link_labels();

    ModuleDecoder& module_;
    Function* function_ = nullptr;  // in the program
    std::size_t depth_ = 0;         // of blocks
    std::uint32_t frame_top_ = 0;
    std::uint32_t shared_top_ = 0;
    std::vector<RegisterName> names_;
    std::vector<std::uint32_t> label_pcs_;
    // the number of the one that comes next in this body: they are numbered as they stand
    std::size_t next_label_ = 0;
    std::uint32_t used_bytes_ = ~0u;                   // of the next instruction, if it is a load
    std::unordered_set<std::uint32_t> hiding_labels_;  // where labels stand that hide another name
    std::vector<Draft> after_;                         // what extends results, behind the operation at hand
    Ref carry_ = no_ref;
    std::vector<bool> is_target_;  // of branches: operations of this function
    Reading reading_;
    PlainCall plain_call_;
    PlainCall* known_call_ = nullptr;  // of its function; null: the instruction at hand is no plain call
    Symbol vector_;                    // the last element of a range of vectors that was asked for
    Learning* learning_ = nullptr;     // while the shape of an instruction is learned
    std::string_view table_name_;      // the last label: a `.branchtargets` may follow
    Span span_;                        // of the statement at hand
};

/// Decodes one instruction without its guard. Errc::instruction_not_emulated is kept until it is executed; a
/// draft that has no function stands for it.
using InstructionDecoder = Expected<Draft> (*)(FunctionDecoder&, const MatchedInstruction&);
struct InstructionRow {
    std::string_view opcode;  ///< of the table: `mbarrier.arrive.expect_tx`
    InstructionDecoder decode;
    /// Others than none: the decoder adds operations and entries of its tables to the program, and changes
    /// nothing else of it.
    Shaping shaping = Shaping::none;
};
/// Null for pure instructions.
[[nodiscard]] InstructionDecoder find_decoder(std::string_view opcode);
/// That of the first row whose opcode begins with a word; nothing for pure instructions.
[[nodiscard]] std::optional<Shaping> shaping_of_decoder(std::string_view word);
[[nodiscard]] Expected<Draft> decode_call(FunctionDecoder& decoder, const MatchedInstruction& instruction);
[[nodiscard]] std::span<const InstructionRow> memory_rows();
[[nodiscard]] std::span<const InstructionRow> control_rows();
[[nodiscard]] std::span<const InstructionRow> warp_rows();
[[nodiscard]] std::span<const InstructionRow> mbarrier_rows();
[[nodiscard]] std::span<const InstructionRow> matrix_rows();
[[nodiscard]] std::span<const InstructionRow> bulk_rows();
/// Video instructions whose operands have parts; others are pure.
[[nodiscard]] std::span<const InstructionRow> video_rows();
[[nodiscard]] Expected<Draft> decode_pure(FunctionDecoder& decoder, const MatchedInstruction& instruction);
/// An operation that does the same whatever the operands are.
template <Execute E> Expected<Draft> decode_alone(FunctionDecoder&, const MatchedInstruction&) {
    return Draft(E);
}
/// One of all the operands.
template <Execute E>
Expected<Draft> decode_bound(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    Draft draft(E);
    TRY(decoder.bind(draft, instruction));
    return draft;
}
/// The columns of a pure instruction's operands; those of the condition code are put in behind them.
struct PureOperands {
    std::array<Ref, arithmetic::most_outputs + 1> outputs = {};
    std::array<Ref, arithmetic::most_inputs + 1> inputs = {};
};
[[nodiscard]] Draft draft_of(FunctionDecoder& decoder, const PureInstruction& pure,
                             const syntax::Instruction& instruction, PureOperands operands);

}  // namespace ptxgraft::emulator
