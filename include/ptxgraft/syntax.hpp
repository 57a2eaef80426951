#pragma once
/// @file syntax.hpp
/// A lossless tree of a whole PTX module: parse, look, edit, print.
///
/// The tree knows the grammar of PTX (PTX ISA manual, chapters 4 and 5) and no instruction: an opcode that
/// nobody has seen yet parses. It keeps every byte: blanks, comments and line ends belong to the statement
/// that follows them. `print(parse(text))` is `text`, byte for byte, because printing walks the statements;
/// after an edit the print shows the edit and nothing else moves.
///
/// Threads: any number may read one Module at once, with all handles of it; while one edits it, no other may
/// use it.
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
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxgraft/constant.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::syntax {

class Module;
class Statement;
class StatementRange;
struct ParseOptions;
struct Recovered;
struct Node;
struct ModuleData;
struct NameIndex;

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
    error,        ///< text that is no statement: only in a module of parse_all
    end,  ///< the text after the last statement (blanks, comments): always the module's last statement
};

enum class OperandKind : std::uint8_t {
    identifier,  ///< a register, variable, label, function: `%r1`, `foo`; also `%tid.x`, `%v.x`
    immediate,   ///< `42`, `-1`, `0f3F800000`, `WARP_SZ`, constant expressions
    address,     ///< `[%rd1+4]`, `[foo]`, `[a, {x, y}]`: children are what is inside, see Operand
    vector,      ///< `{%f1, %f2, _}`
    list,        ///< `(%r1, %r2)`: return values and arguments of `call`
    pair,        ///< `p|q`: both in children
    negation,    ///< `!%p1`, and `-%r1` of vmad: the child is what is negated
    sum,         ///< `foo+8`, `%rd1+-4` outside brackets
    sink,        ///< `_`
    element,     ///< `a[1]`, `a[%r1+2]`: an element of an array; the child is the index (PTX ISA 6.4.2)
};

/// An operand of an instruction. For `address`, `children()` are the parts between the brackets, in order;
/// the first is the base (identifier, immediate or sum); `base()` and `offset()` answer the usual
/// `[register+immediate]`.
class PTXGRAFT_API Operand {
  public:
    [[nodiscard]] OperandKind kind() const { return kind_; }
    /// as written, without the trivia before it
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] Span span() const { return span_; }  ///< in the text that was parsed
    [[nodiscard]] const std::vector<Operand>& children() const { return children_; }
    /// For `address` and `sum`: the identifier before the offset, or empty for an absolute address. For
    /// `element`: the array.
    [[nodiscard]] std::string_view base() const { return base_; }
    /// For `address` and `sum`: the bytes behind the base, 0 when none are written. Nothing when they are no
    /// integer constant expression that has a value (`[%rd1+5/0]`), which `isa::verify` reports, and for
    /// operands of other kinds.
    [[nodiscard]] std::optional<std::int64_t> offset() const;
    /// For `immediate`: the value of the expression (`-4`, `(1+2)*3`, `0f3F800000`). Nothing when it has none
    /// (`5/0`); evaluate_constant(text()) says why.
    [[nodiscard]] std::optional<Constant> constant() const;

  private:
    friend class InstructionReader;
    OperandKind kind_ = OperandKind::sink;
    std::string_view text_, base_;
    Span span_;
    std::optional<Constant> constant_;  // of an address or a sum: its offset
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
        std::string_view name;     ///< empty when unnamed
        std::string_view type;     ///< `.u64`
        std::string_view space;    ///< `.param` or `.reg`
        std::uint32_t align = 0;   ///< of `.align N` before the type (not of `.ptr .align`); 0: natural
        std::uint64_t count = 0;   ///< elements of an array `p[64]`; 0: scalar, or open
        bool is_open = false;      ///< an array without a size, `p[]` or `p[0]`
        std::uint32_t vector = 1;  ///< 2 for `.v2`
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
    /// The same statements one after another, without a vector. See StatementRange.
    [[nodiscard]] StatementRange walk() const;
    /// Of them the instructions.
    [[nodiscard]] StatementRange instructions() const;

    friend bool operator==(const Statement&, const Statement&) = default;

  private:
    friend class Module;
    friend class Names;
    friend struct NameIndex;
    friend class StatementRange;
    friend PTXGRAFT_API std::string canonical(Statement statement);
    [[nodiscard]] const Node* node() const;
    Statement(const ModuleData* module, std::uint32_t node) : module_(module), node_(node) {}
    const ModuleData* module_ = nullptr;
    std::uint32_t node_ = 0;

  public:
    Statement() = default;
};

/// Statements in text order, found one at a time; those in nested blocks follow their block. Edits are
/// allowed while an iterator stands on a statement, also removing or replacing that one: the walk goes on
/// with what followed it.
///
/// @code
/// for (syntax::Statement s : module.find_function("k").instructions())
///     if (s.instruction()->opcode == "membar") module.remove(s);
/// @endcode
class PTXGRAFT_API StatementRange {
  public:
    class PTXGRAFT_API iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = Statement;
        using difference_type = std::ptrdiff_t;
        using pointer = const Statement*;
        using reference = Statement;
        iterator() = default;
        [[nodiscard]] Statement operator*() const { return at_; }
        iterator& operator++();
        iterator operator++(int) {
            const iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

      private:
        friend class StatementRange;
        iterator(Statement at, std::uint32_t behind_last, std::uint32_t kinds)
            : at_(at), behind_last_(behind_last), kinds_(kinds) {}
        void settle();
        Statement at_;  // null at the end
        std::uint32_t behind_last_ = 0;
        std::uint32_t kinds_ = 0;  // a bit for each StatementKind that is wanted
    };
    StatementRange() = default;
    [[nodiscard]] iterator begin() const { return first_; }
    [[nodiscard]] iterator end() const { return {}; }

  private:
    friend class Module;
    friend class Statement;
    StatementRange(Statement first, std::uint32_t behind_last, std::uint32_t kinds);
    iterator first_;
};

// --- names

enum class NameKind : std::uint8_t {
    none,       ///< nothing declares it: `%tid`, or an error
    variable,   ///< of any state space; registers too
    parameter,  ///< of a function or `.callprototype`
    function,   ///< all prototypes and the definition of it are one name
    label,      ///< of code, of a section, of `.branchtargets`, `.calltargets` or `.callprototype`
};

/// What a name stands for: its declaration. Tests false when there is none.
struct Name {
    NameKind kind = NameKind::none;
    std::string_view text;  ///< as declared: `%r` for `.reg .b32 %r<4>`
    Statement declaration;  ///< the statement that declares it; of a function the definition if there is one
    std::uint32_t token = 0;  ///< which of declaration.tokens() is the name
    std::uint32_t range = 0;  ///< N of `%r<N>`; 0: a single name
    /// Of a range: 1 stands for `%r1` alone, nothing for the whole of `%r<4>`.
    std::optional<std::uint32_t> element;
    Statement scope;  ///< the function or block in which it is visible; null: the module

    [[nodiscard]] explicit operator bool() const { return kind != NameKind::none; }
    friend bool operator==(const Name&, const Name&) = default;
};

enum class UseKind : std::uint8_t {
    declaration,  ///< where it is declared, or one of several prototypes
    guard,        ///< `@%p1`
    operand,      ///< an operand or an element of a vector, pair or list
    address,      ///< within the brackets of an address: `[%rd1+4]`
    other,        ///< in an initialiser or a directive: `.alias`, `.branchtargets`, `.section` …
};

/// A place where a name stands.
struct Use {
    Statement statement;
    std::uint32_t token = 0;  ///< which of statement.tokens()
    std::string_view text;    ///< `%r1`
    UseKind kind = UseKind::other;
    std::uint32_t operand = 0;  ///< which of instruction()->operands, for UseKind::operand and address
    bool negated = false;       ///< `@!%p1`, `!%p1`
};

/// What an instruction does with the registers of an operand.
enum class Access : std::uint8_t { read = 1, write = 2, read_write = 3 };
/// Says it for an operand (by its index); registers in an address are read and not asked for.
using AccessOf = std::function<Access(const Instruction&, std::size_t operand)>;
/// PTX's custom, for those who have no table of instructions: the first operand is written, the others are
/// read. Of an instruction with one register for its only operand, and of wgmma, the first operand is read
/// and written; those of bar, barrier, brx, tcgen05 and call's target and arguments are read.
[[nodiscard]] PTXGRAFT_API Access usual_access(const Instruction& instruction, std::size_t operand);

/// Every name of a module bound to its declaration, as ptxas binds them (PTX ISA manual, 5 and 7): a block
/// hides the names of what is around it; variables are known behind their declaration, labels in the whole of
/// their block, functions, variables and section labels of module level in the whole module; `.reg .b32
/// %r<4>` declares %r0 to %r3, which may be written `%r03`. In a `.section`, names that are none of the
/// module's stand for the first label of that name in a function. Words that are no names are not looked at:
/// opcodes, modifiers, `.loc`'s words, `_`.
///
/// A snapshot: an edit of the module makes it out of date. Costs several times what the parse does, and so do
/// the edits that bind names: rename of a Name, splice, clone, outline.
///
/// @code
/// const syntax::Names names(module);
/// const syntax::Name sum = names.find(statement, "%r1");  // what %r1 means there
/// for (const syntax::Use& use : names.uses(sum)) …
/// module.rename(sum, "%sum");
/// @endcode
class PTXGRAFT_API Names {
  public:
    explicit Names(const Module& module);
    Names(Names&&) noexcept;
    Names& operator=(Names&&) noexcept;
    ~Names();

    /// What a name means at a statement; false when nothing declares it. At a function or block: at the end
    /// of its body. `%r` finds the whole of `%r<4>`, `%r1` that element. A null statement asks for the names
    /// of the module.
    [[nodiscard]] Name find(Statement at, std::string_view name) const;
    /// Every place of a name, its declarations too, in text order. Of a range as a whole: of all its
    /// elements.
    [[nodiscard]] std::vector<Use> uses(const Name& name) const;
    /// Of them those that instructions write or read; the declaration is in neither, an operand that is read
    /// and written in both. Guards and addresses are read.
    [[nodiscard]] std::vector<Use> writes(const Name& name, const AccessOf& access = usual_access) const;
    [[nodiscard]] std::vector<Use> reads(const Name& name, const AccessOf& access = usual_access) const;
    /// Each use in a statement (of a function: in its head) with what it means there, in text order.
    [[nodiscard]] std::vector<std::pair<Use, Name>> in(Statement statement) const;
    /// The places of names that nothing declares: special registers, and errors.
    [[nodiscard]] std::vector<Use> undeclared() const;
    /// Every declared name; a range is one.
    [[nodiscard]] std::vector<Name> all() const;

  private:
    friend class Module;
    [[nodiscard]] std::vector<Use> accesses(const Name& name, const AccessOf& access, Access wanted) const;
    std::unique_ptr<NameIndex> index_;
};

/// A parsed module. Move-only.
class PTXGRAFT_API Module {
  public:
    Module(Module&&) noexcept;
    Module& operator=(Module&&) noexcept;
    ~Module();

    [[nodiscard]] std::string_view source() const;  ///< the text that was parsed
    /// the same, for whoever needs the tree no longer
    [[nodiscard]] std::string take_source() &&;
    [[nodiscard]] std::vector<Statement> statements() const;  ///< of module level, `end` included
    [[nodiscard]] std::vector<Statement> functions() const;
    [[nodiscard]] Statement find_function(
        std::string_view name) const;                ///< the definition if there is one; null if none
    [[nodiscard]] std::string_view version() const;  ///< "9.0"
    /// "sm_90a": the last architecture that .target names, as ptxas has it; of one number, that with a letter
    [[nodiscard]] std::string_view target() const;
    /// 64 or 32; 64 where the module does not say it, as ptxas takes it
    [[nodiscard]] std::uint32_t address_size() const;

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
    [[nodiscard]] Expected<Statement> insert_before(Statement at, std::string_view text);
    [[nodiscard]] Expected<Statement> insert_after(Statement at, std::string_view text);
    /// Statements at the end of a function's or block's body, or of the module when `parent` is null.
    [[nodiscard]] Expected<Statement> append(Statement parent, std::string_view text);
    /// Takes a statement and the trivia before it away. The module's `end` stays.
    void remove(Statement at);
    /// Puts other text in its place, keeping the trivia before it.
    [[nodiscard]] Expected<Statement> replace(Statement at, std::string_view text);
    /// Puts other text in the place of a statement without a body, keeping the trivia before it and the
    /// handle: one statement of the same kind.
    [[nodiscard]] Expected<void> rewrite(Statement at, std::string_view text);

    // --- parts of an instruction; the rest of its text stays byte for byte, and so does the handle. The new
    // text must be exactly one such part; an index past the last is an error (Errc::argument_invalid).

    /// Another opcode: `sub`.
    [[nodiscard]] Expected<void> set_opcode(Statement instruction, std::string_view opcode);
    /// Another modifier in place of one: `.rz`. Empty text takes it away.
    [[nodiscard]] Expected<void> set_modifier(Statement instruction, std::size_t index,
                                              std::string_view modifier);
    /// A further modifier before that of the index; their number appends.
    [[nodiscard]] Expected<void> insert_modifier(Statement instruction, std::size_t index,
                                                 std::string_view modifier);
    [[nodiscard]] Expected<void> set_operand(Statement instruction, std::size_t index,
                                             std::string_view operand);
    /// `%p1`, `!%p1`, or empty for no guard.
    [[nodiscard]] Expected<void> set_guard(Statement instruction, std::string_view guard);

    // --- names

    /// Renames what a name stands for: its declarations and every place bound to it, in its scope and in
    /// those within, and nothing else of an equal text. The whole of `%r<4>` gets a new stem (`%r1` becomes
    /// `%sum1`). One element of a range gets a declaration of its own behind that of the range, which keeps
    /// its size. Refused when any place would then mean something else (Errc::name_taken). Returns the number
    /// of replaced tokens.
    [[nodiscard]] Expected<std::size_t> rename(const Name& name, std::string_view to);
    /// Replaces one token's text wherever `from` is a whole name within `scope` (a function or block, or null
    /// for the module); opcodes and the words of `.loc` and `.target` are no names. Returns the number of
    /// replaced tokens. Makes no difference between scopes of equal names, and `%r1` is not found in `.reg
    /// .b32 %r<4>`; the other `rename` does.
    [[nodiscard]] Expected<std::size_t> rename(Statement scope, std::string_view from, std::string_view to);

    // --- bodies

    /// Other statements between the braces of a function or block, which stay where they are; empty text for
    /// none.
    [[nodiscard]] Expected<void> replace_body(Statement at, std::string_view text);
    /// A copy of a function's or block's body, of this or another module, as a block `{ … }` before `at`. The
    /// copy's own registers, variables and labels stay its own; every other name in it must be declared where
    /// it comes to stand (Errc::name_undeclared names the first that is not: a parameter, say). Returns the
    /// block.
    [[nodiscard]] Expected<Statement> splice(Statement at, Statement source);
    /// A copy of a function behind it, with another name; where it names itself (a recursive call), the copy
    /// does so too. Debug sections go on describing the original. Returns the copy. Errors: Errc::name_taken.
    [[nodiscard]] Expected<Statement> clone(Statement function, std::string_view name);

    struct Outlined {
        Statement function;  ///< the new `.func`, before the one that the statements were in
        Statement call;      ///< the block that calls it
    };
    /// Moves the statements from `first` to `last`, neighbours in one body, into a `.func` of that name, and
    /// calls it in their place. Registers whose value is needed inside become `.param`s, in the order of
    /// their first use; those written inside and read elsewhere are returned: one as a scalar, several as one
    /// `.param` array of bytes. Registers used nowhere else are declared in the function. A guarded write, or
    /// one behind a label, keeps the old value, so its register goes in and out.
    ///
    /// Refused (Errc::statements_not_outlinable, with the span of what is in the way) for code that does not
    /// mean the same in another function: a jump or a name across the border (a label, `.param`, `.shared` or
    /// `.local` variable of the function; a declaration that is used behind the range), `ret`, `setmaxnreg`,
    /// stack allocation, a carry flag (`.cc`) that crosses the border, registers that cannot be parameters
    /// (vectors), asynchronous wgmma. Barriers may move. `access` says what operands do; a table of
    /// instructions knows more than the usual custom.
    [[nodiscard]] Expected<Outlined> outline(Statement first, Statement last, std::string_view name,
                                             const AccessOf& access = usual_access);

    // --- walks over the whole module

    /// Every statement but the end: those of module level, each function followed by what is in it.
    [[nodiscard]] StatementRange walk() const;
    [[nodiscard]] StatementRange instructions() const;

  private:
    friend class Statement;
    friend class Names;
    friend PTXGRAFT_API Expected<Module> parse(std::string text, Module&& recycled);
    friend PTXGRAFT_API std::string canonical(const Module& module);
    friend PTXGRAFT_API std::string print(const Module& module);
    friend PTXGRAFT_API Expected<Module> parse(std::string text);
    friend PTXGRAFT_API Expected<Recovered> parse_all(std::string text, ParseOptions options);
    explicit Module(std::unique_ptr<ModuleData> data);
    [[nodiscard]] Statement find(StatementKind kind) const;
    [[nodiscard]] std::string_view first_argument(StatementKind kind) const;
    [[nodiscard]] static Expected<Module> parse_into(std::unique_ptr<ModuleData> data);
    [[nodiscard]] static Expected<Recovered> recover(std::unique_ptr<ModuleData> data,
                                                     std::size_t max_errors);
    [[nodiscard]] bool owns(Statement statement) const;
    [[nodiscard]] Expected<Statement> insert(std::uint32_t parent, std::uint32_t before,
                                             std::string_view text);
    [[nodiscard]] Expected<Statement> declare_alone(const Name& element, std::string_view name);
    [[nodiscard]] Expected<std::string_view> instruction_text(Statement at) const;
    [[nodiscard]] Expected<void> reshape(Statement at, const std::string& text, std::size_t modifiers,
                                         std::size_t operands);
    std::unique_ptr<ModuleData> data_;
};

/// Parses a whole module. The module keeps the text. Texts of 4 GiB and more are refused
/// (Errc::text_too_large).
///
/// The grammar is as strict as that of ptxas 13.0 to 13.5: what is a syntax error there is an error here,
/// with its place and what was expected; what only breaks a rule of an instruction or a declaration is for
/// `verify`. Taken beyond ptxas: UTF-8 in names, comments and strings; `.file 1 "folder" "name"` and names
/// with a dot in debug sections, which clang writes; statements before or without `.version` and `.target`.
/// Refused although ptxas takes them: integers past 64 bits, a second word behind an element of a vector,
/// `.target` inside a function.
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
/// statement of kind `error`, a missing `}` is taken as there, so that the print is the text, byte for byte.
/// A statement gives one error; of the statements behind a `}` too many only the first does. Fails only for
/// texts of 4 GiB and more. Edits of a module with errors work, but its print need not parse to the same
/// tree.
///
/// @code
/// for (const Error& e : syntax::parse_all(text)->errors) std::cerr << describe(e, text, "kernel.ptx");
/// @endcode
[[nodiscard]] PTXGRAFT_API Expected<Recovered> parse_all(std::string text, ParseOptions options = {});

/// The text of the tree: walks the statements.
[[nodiscard]] PTXGRAFT_API std::string print(const Module& module);

/// The canonical text of the tree: the same statements without comments, for whoever compares, hashes or
/// makes modules. ptxas makes the same machine code of it. `canonical(parse(canonical(m)))` is
/// `canonical(m)`.
///
/// - Every statement is on a line of its own, as are `{` and `}`; lines end in `\n`; there are no empty
///   lines, comments, line markers, or blanks at line ends. A module without statements is the empty text.
/// - A tab for each brace around a statement, 32 at most; labels one less. `.section` has a line per label
///   and directive.
/// - Tokens are spelled as in the tree: no number, name or string is changed, strings keep their line ends.
/// - Opcode and modifiers are one word (`add .s32` becomes `add.s32`), and so are a name and its suffix
///   (`%v.x`).
/// - One space behind an opcode, a directive's words, each comma, and a guard (`@!%p1 bra L;`); none before a
///   comma or semicolon, nor inside of brackets: `ld.v2.f32 {%f1, %f2}, [%rd1+-4];`, `.func (.param .b32 r)
///   f(.param .b32 a)`.
/// - `+`, `-` and `|` between operands stand tight (`foo+8`, `p|q`), signs before their operand too (`-4`,
///   `!p`, `- -4` where two equal ones meet), other operators have a space on both sides (`1 << 4`, `a = {1,
///   2}`).
[[nodiscard]] PTXGRAFT_API std::string canonical(const Module& module);
/// The same of one statement with its body, not indented; empty for the module's end.
[[nodiscard]] PTXGRAFT_API std::string canonical(Statement statement);

struct ModuleHeader {
    std::string_view version = "9.0";
    std::string_view target = "sm_90a";  ///< with its options: `sm_90a, debug`
    std::uint32_t address_size = 64;
};
/// A module of the three lines that begin every module, to be filled by hand; canonical() lays it out.
///
/// @code
/// auto m = syntax::new_module({.target = "sm_80"}).value();
/// auto k = m.append({}, ".visible .entry k(.param .u64 out) {}").value();
/// m.append(k, ".reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 7; ret;").value();
/// std::cout << syntax::canonical(m);
/// @endcode
[[nodiscard]] PTXGRAFT_API Expected<Module> new_module(const ModuleHeader& header = {});

/// A place in the source that a compiler made PTX of (PTX ISA 11.5.3, 11.5.4).
struct SourceLine {
    std::string file;
    std::uint32_t line = 0, column = 0;
    /// that was inlined, demangled where it is a C++ name; empty for the function that it ended up in
    std::string function;
};
/// Where the statement at an offset of the module's text comes from, by the last `.loc` before it in its
/// function: innermost first, then where that was inlined, and so on outwards. Empty without a `.loc`.
[[nodiscard]] PTXGRAFT_API std::vector<SourceLine> source_lines(const Module& module, std::uint32_t offset);
/// "k.cu:12:5 in f, inlined at k.cu:40:3"; empty for no lines.
[[nodiscard]] PTXGRAFT_API std::string describe(std::span<const SourceLine> lines);

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
