#pragma once
/// @file syntax.hpp
/// A lossless tree of a whole PTX module: parse, look, edit, print.
///
/// The tree knows the grammar of PTX (PTX ISA manual, chapters 4 and 5) and no instruction: an opcode that
/// nobody has seen yet parses. It keeps every byte: blanks, comments and line ends belong to the statement
/// that follows them. `print(parse(text))` is `text`, byte for byte, because printing walks the statements;
/// after an edit the print shows the edit and nothing else moves.
///
/// @code
/// auto module = syntax::parse(text);
/// for (syntax::Statement function : module->functions())
///     for (syntax::Statement s : function.body_recursive())
///         if (auto i = s.instruction()) std::cout << i->name() << '\n';   // "fma.rn.f32"
/// @endcode
///
/// A Module owns its text and its nodes. Statement, Instruction, Operand are handles: cheap to copy, valid
/// while the module lives; string views point into the module. A module is not synchronised: one writer or
/// many readers.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::syntax {

class Module;
class Statement;
struct ParseOptions;
struct Recovered;
struct Node;
struct ModuleData;

enum class TokenKind : std::uint8_t {
    identifier,   ///< `%r1`, `foo`, `$L__BB0_1`, `_Z3foov`, `WARP_SZ`
    directive,    ///< a word that starts with a dot: `.reg`, `.b32`, `.rn`
    integer,      ///< `42`, `0x2A`, `052`, `0b101`, with an optional `U`
    floating,     ///< `1.5`, `.5e-1`, `0f3F800000`, `0d3FF0000000000000`
    string,       ///< `"…"`
    punctuation,  ///< one of `, ; : { } ( ) [ ] < > = + - ! | @ * / % & ^ ~ ?` or `<<` `>>` `&&` `||` `==`
                  ///< `!=` `<=` `>=`
};

struct Token {
    TokenKind kind;
    std::string_view text;
    std::uint32_t offset;  ///< in the module's text space; equals the offset in the source unless edited
};

enum class StatementKind : std::uint8_t {
    version,       ///< `.version 9.0`
    target,        ///< `.target sm_90a`
    address_size,  ///< `.address_size 64`
    function,      ///< `.entry` and `.func`, with linkage, definition or prototype
    variable,  ///< `.reg`, `.global`, `.const`, `.shared`, `.local`, `.param`, `.tex…` declarations, with
               ///< linkage and initialiser
    instruction,  ///< `@%p1 bra $L;`
    label,        ///< `$L__BB0_1:`
    block,        ///< `{ … }` inside a body
    directive,    ///< every other directive: `.file`, `.loc`, `.pragma`, `.section …{}`, `.alias`,
                  ///< `.branchtargets` …
    error,  ///< text that is no statement: only in a module of parse_all
    end,    ///< the text after the last statement (blanks, comments): always the module's last statement
};

enum class OperandKind : std::uint8_t {
    identifier,  ///< a register, variable, label, function: `%r1`, `foo`; also `%tid.x`, `%v.x`
    immediate,   ///< `42`, `-1`, `0f3F800000`, constant expressions
    address,     ///< `[%rd1+4]`, `[foo]`, `[a, {x, y}]`: children are what is inside, see Operand
    vector,      ///< `{%f1, %f2, _}`
    list,        ///< `(%r1, %r2)`: return values and arguments of `call`
    pair,        ///< `p|q`: both in children
    negation,    ///< `!%p1`: the child is what is negated
    sum,         ///< `foo+8`, `%rd1+-4` outside brackets
    sink,        ///< `_`
};

/// An operand of an instruction. For `address`, `children()` are the parts between the brackets, in order;
/// the first is the base (identifier, immediate or sum); `base()` and `offset()` answer the usual
/// `[register+immediate]`.
class PTXGRAFT_API Operand {
  public:
    [[nodiscard]] OperandKind kind() const;
    [[nodiscard]] std::string_view text() const;  ///< as written, without the trivia before it
    [[nodiscard]] Span span() const;              ///< in the text that was parsed
    [[nodiscard]] const std::vector<Operand>& children() const;
    /// For `address` and `sum`: the identifier before the offset, or empty for an absolute address.
    [[nodiscard]] std::string_view base() const;
    /// For `address` and `sum`: the immediate offset; 0 when there is none. For `immediate`: the value of its
    /// integer constant expression (`-4`, `(1+2)*3`), or 0 when it is none (floats: see parse_float).
    [[nodiscard]] std::int64_t offset() const;

    OperandKind kind_ = OperandKind::sink;
    std::string_view text_, base_;
    Span span_;
    std::int64_t offset_ = 0;
    std::vector<Operand> children_;
};

/// The parts of an instruction, read from its tokens when asked for; a value (copy it out of a hot loop).
class PTXGRAFT_API Instruction {
  public:
    struct Guard {
        bool negated;
        std::string_view predicate;  ///< `%p1`
    };
    std::optional<Guard> guard;  ///< `@!%p1`
    std::string_view name;       ///< opcode and modifiers as written: `fma.rn.f32`
    std::string_view opcode;     ///< `fma`
    std::vector<std::string_view>
        modifiers;  ///< each with its dot: `.rn`, `.f32`; `::` parts stay in their word: `.shared::cta`
    std::vector<Operand> operands;
    Span span;  ///< from the guard to the semicolon

    [[nodiscard]] bool has(std::string_view modifier) const;  ///< has(".rn")
};

/// A statement of a module. Statements of one level are in order; functions and blocks have a body.
class PTXGRAFT_API Statement {
  public:
    [[nodiscard]] StatementKind kind() const;
    /// The statement as written, without the trivia before it. A function's includes its body.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string_view trivia() const;  ///< blanks and comments before it
    [[nodiscard]] Span span()
        const;  ///< in the text that was parsed; for an edited or new statement: unknown
    [[nodiscard]] std::vector<Token> tokens()
        const;  ///< of the statement itself; for functions and blocks up to the `{`
    /// The same into a vector that is used again: walking a module allocates nothing.
    void tokens(std::vector<Token>& out) const;
    [[nodiscard]] std::optional<Instruction> instruction() const;

    /// A label's, function's or first variable's name; empty for others.
    [[nodiscard]] std::string_view name() const;

    // --- functions; parameters also of a `.callprototype` directive
    [[nodiscard]] bool is_entry() const;       ///< `.entry`
    [[nodiscard]] bool is_definition() const;  ///< has a body
    struct Parameter {
        std::string_view name;    ///< empty when unnamed
        std::string_view type;    ///< `.u64`
        std::string_view space;   ///< `.param` or `.reg`
        std::uint32_t align = 0;  ///< of `.align N` before the type (not of `.ptr .align`); 0: natural
        std::uint64_t count = 0;  ///< elements of an array `p[64]`; 0: scalar, or open
        bool is_open = false;     ///< an array without a size, `p[]`
    };
    [[nodiscard]] std::vector<Parameter> parameters() const;
    [[nodiscard]] std::vector<Parameter> return_parameters() const;

    // --- variables: `.reg .b32 %r<5>, a;` has two declarators
    struct Declarator {
        std::string_view name;
        std::uint32_t range = 0;             ///< N of `%r<N>`; 0: none
        std::vector<std::uint64_t> extents;  ///< of `a[2][3]`; an open `[]` is 0
        std::vector<Token> initialiser;      ///< tokens after `=`
    };
    struct Variable {
        std::string_view linkage;  ///< `.extern`, `.visible`, `.weak`, `.common` or empty
        std::string_view space;    ///< `.reg`, `.global`, …
        std::string_view type;     ///< `.b32`
        std::uint32_t vector = 1;  ///< 2 for `.v2`
        std::uint32_t align = 0;   ///< 0: natural
        std::vector<Declarator> declarators;
    };
    [[nodiscard]] std::optional<Variable> variable() const;

    // --- navigation; a null Statement tests false
    [[nodiscard]] explicit operator bool() const { return module_ != nullptr; }
    [[nodiscard]] Statement next() const;
    [[nodiscard]] Statement previous() const;
    [[nodiscard]] Statement parent() const;             ///< function or block; null at module level
    [[nodiscard]] Statement first_child() const;        ///< of a function's or block's body
    [[nodiscard]] std::vector<Statement> body() const;  ///< children
    [[nodiscard]] std::vector<Statement> body_recursive()
        const;  ///< children, blocks expanded, in text order

    friend bool operator==(const Statement&, const Statement&) = default;

  private:
    friend class Module;
    [[nodiscard]] const Node* node() const;
    Statement(const ModuleData* module, std::uint32_t node) : module_(module), node_(node) {}
    const ModuleData* module_ = nullptr;
    std::uint32_t node_ = 0;

  public:
    Statement() = default;
};

/// A parsed module. Move-only.
class PTXGRAFT_API Module {
  public:
    Module(Module&&) noexcept;
    Module& operator=(Module&&) noexcept;
    ~Module();

    [[nodiscard]] std::string_view source() const;            ///< the text that was parsed
    [[nodiscard]] std::vector<Statement> statements() const;  ///< of module level, `end` included
    [[nodiscard]] std::vector<Statement> functions() const;
    [[nodiscard]] Statement find_function(
        std::string_view name) const;                  ///< the definition if there is one; null if none
    [[nodiscard]] std::string_view version() const;    ///< "9.0"
    [[nodiscard]] std::string_view target() const;     ///< "sm_90a": the first target
    [[nodiscard]] std::uint32_t address_size() const;  ///< 64 or 32

    /// Bytes that the tree takes beside its text.
    [[nodiscard]] std::size_t memory() const;

    // --- edits. New text is PTX source for whole statements; it is parsed at once and refused if it does not
    // parse, and then nothing has changed. Errors carry spans within the new text. Handles of removed or
    // replaced statements become invalid (they have no kind, text or neighbours), all others stay. Nothing
    // but the edit moves; only where two texts would run into each other (a `//` comment without a line end,
    // `.loc 1 2 3` before `ret`), a line end is put between them. After every edit the printed text parses to
    // the same tree. An edit costs time in the size of its text; the old text stays in the module's text
    // space, which ends at 4 GiB (Errc::text_too_large).

    /// Statements before or after `at`; their own trivia is kept as given, and trivia behind the last of them
    /// goes before the statement that follows. Returns the first new one. The module's `end` takes text
    /// before it, not after.
    Expected<Statement> insert_before(Statement at, std::string_view text);
    Expected<Statement> insert_after(Statement at, std::string_view text);
    /// Statements at the end of a function's or block's body, or of the module when `parent` is null.
    Expected<Statement> append(Statement parent, std::string_view text);
    /// Takes a statement and the trivia before it away. The module's `end` stays.
    void remove(Statement at);
    /// Puts other text in its place, keeping the trivia before it.
    Expected<Statement> replace(Statement at, std::string_view text);
    /// Replaces one token's text wherever `from` is a whole name within `scope` (a function or block, or null
    /// for the module); opcodes and the words of `.loc` and `.target` are no names. Returns the number of
    /// replaced tokens. Makes no difference between scopes of equal names, and `%r1` is not found in `.reg
    /// .b32 %r<4>`.
    Expected<std::size_t> rename(Statement scope, std::string_view from, std::string_view to);

  private:
    friend class Statement;
    friend PTXGRAFT_API Expected<Module> parse(std::string text, Module&& recycled);
    friend PTXGRAFT_API std::string print(const Module& module);
    friend PTXGRAFT_API Expected<Module> parse(std::string text);
    friend PTXGRAFT_API Expected<Recovered> parse_all(std::string text, ParseOptions options);
    explicit Module(std::unique_ptr<ModuleData> data);
    [[nodiscard]] Statement find(StatementKind kind) const;
    [[nodiscard]] std::string_view first_argument(StatementKind kind) const;
    static Expected<Module> parse_into(std::unique_ptr<ModuleData> data);
    static Expected<Recovered> recover(std::unique_ptr<ModuleData> data, std::size_t max_errors);
    [[nodiscard]] bool owns(Statement statement) const;
    Expected<Statement> insert(std::uint32_t parent, std::uint32_t before, std::string_view text);
    std::unique_ptr<ModuleData> data_;
};

/// Parses a whole module. The module keeps the text. Texts of 4 GiB and more are refused
/// (Errc::text_too_large).
[[nodiscard]] PTXGRAFT_API Expected<Module> parse(std::string text);

/// The same into the memory of a module that is no longer needed: parsing in a loop allocates nothing but
/// texts.
[[nodiscard]] PTXGRAFT_API Expected<Module> parse(std::string text, Module&& recycled);

struct ParseOptions {
    std::size_t max_errors = 1000;  ///< errors kept; the others are counted
};

/// A module and what is wrong in it.
struct Recovered {
    Module module;
    std::vector<Error> errors;    ///< in the order of the text; none: what parse would have given
    std::size_t error_count = 0;  ///< errors found, kept or not
};

/// Parses any text: goes on behind each error where the next statement may begin. What does not parse is a
/// statement of kind `error`, a missing `}` is taken as there, so that the print is the text, byte for byte. A
/// statement gives one error; of the statements behind a `}` too many only the first does. Fails only for texts of
/// 4 GiB and more. Edits of a module with errors work, but its print need not parse to the same tree.
///
/// @code
/// for (const Error& e : syntax::parse_all(text)->errors) std::cerr << describe(e, text, "kernel.ptx");
/// @endcode
[[nodiscard]] PTXGRAFT_API Expected<Recovered> parse_all(std::string text, ParseOptions options = {});

/// The text of the tree: walks the statements.
[[nodiscard]] PTXGRAFT_API std::string print(const Module& module);

/// Splits text into tokens without building a tree. First error only.
[[nodiscard]] PTXGRAFT_API Expected<std::vector<Token>> tokenize(std::string_view text);

/// The value of an integer token or constant text (`42`, `0x2A`, `-7`, `052`, `0b11`, `3U`), as 64 bits;
/// nullopt when not an integer.
[[nodiscard]] PTXGRAFT_API std::optional<std::uint64_t> parse_integer(std::string_view text);
/// The bits of a floating constant: `0f…` as 32 bits (is_double false), `0d…` and decimals as 64 bits.
struct FloatBits {
    std::uint64_t bits;
    bool is_double;
};
[[nodiscard]] PTXGRAFT_API std::optional<FloatBits> parse_float(std::string_view text);

}  // namespace ptxgraft::syntax
