#pragma once
/// @file builder.hpp
/// Emits instructions: one call, one instruction, in the text of canonical PTX.
///
/// @code
/// b.emit<"fma.rn.ftz.f32">(d, a, x, c);   // fma.rn.ftz.f32 %f4, %f1, %f2, %f3;
/// b.if_(p).emit<"bra">(done);             // @%p1 bra L1;
/// @endcode
///
/// A wrong opcode, modifier, order, operand, register class, vector length, constant or architecture does not
/// compile, and the message says what would be right:
/// @code
/// error: static assertion failed
/// note: 'wrong<Text{"operand 2: a register of .f64 where a register of .f32 or a constant of .f32 is
///        expected; form: add{.rnd}{.ftz}{.sat}.f32 d, a, b"}>::is_right' evaluates to false
/// @endcode
/// (That is g++; clang from 20 on says it in the first line, an older one letter by letter.) What C++ does
/// not know when it compiles is looked at when the program runs: values of constants, and registers of sites.
/// The first such error is kept, and comes out of Module::ptx() and dsl::stub().
///
/// Threads: a builder belongs to one; many may build at once.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ptxgraft/dsl/any_operand.hpp"
#include "ptxgraft/dsl/check.hpp"
#include "ptxgraft/dsl/explain.hpp"
#include "ptxgraft/dsl/operand.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::dsl {

// The targets that a builder may be made for: `FunctionBuilder<sm_90a>`.
inline constexpr Target any_target = {}, sm_75 = {{75, 0}, 0}, sm_80 = {{80, 0}, 0}, sm_86 = {{86, 0}, 0},
                        sm_89 = {{89, 0}, 0}, sm_90 = {{90, 0}, 0}, sm_90a = {{90, 'a'}, 0},
                        sm_100a = {{100, 'a'}, 0}, sm_100f = {{100, 'f'}, 0}, sm_103a = {{103, 'a'}, 0},
                        sm_120a = {{120, 'a'}, 0};

namespace emitting {

template <std::size_t Size> struct Text {
    char text[Size + 1] = {};
    [[nodiscard]] constexpr std::size_t size() const { return Size; }
    [[nodiscard]] constexpr const char* data() const { return text; }
};
// Whether what is known of an operand when the program runs, values and types, is within a shape.
template <class T> inline constexpr bool has_parts = !shape_of<T>.children.empty();

// A type, or a constant, is known when the program runs, and may be wrong.
constexpr bool is_open(const Shape& shape) {
    if (shape.kind == ShapeKind::integer) return !shape.has_value;
    if (shape.kind == ShapeKind::reg) return shape.type == Type::none;
    return std::any_of(shape.children.begin(), shape.children.end(), is_open);
}
// Of such an operand a look at its limits is enough: a constant, or a vector with constants.
constexpr bool is_quickly_seen(const Shape& shape) {
    if (shape.kind == ShapeKind::vector)
        return std::all_of(shape.children.begin(), shape.children.end(),
                           [](const Shape& e) { return e.kind == ShapeKind::integer || !is_open(e); });
    return shape.kind == ShapeKind::integer || !is_open(shape);
}
template <class... Operands> inline constexpr bool has_open = (is_open(shape_of<Operands>) || ...);

// An instruction, once for all places where it is emitted.
template <Literal Name, Target On, class... Operands> struct Form {
    static constexpr std::array<Shape, sizeof...(Operands)> shapes = {shape_of<Operands>...};
    static constexpr isa::Match match = find_form(Name.view(), shapes, On);
    static constexpr bool is_right = match.row != nullptr;
    // What every target has on which the library runs kernels needs no look at the module's.
    static constexpr bool is_everywhere = is_right && is_available(match, {{75, 0}, 63});
    static constexpr bool wants_check = !std::all_of(shapes.begin(), shapes.end(), is_quickly_seen);
    // What constants must lie within whose values are known then.
    static constexpr auto limits = [] {
        std::array<checking::Limit, sizeof...(Operands)> all = {};
        for (std::size_t i = 0; is_right && i < shapes.size(); ++i)
            if ((shapes[i].kind == ShapeKind::integer && !shapes[i].has_value) ||
                shapes[i].kind == ShapeKind::vector)
                all[i] = checking::limit_of(match, i, shapes.size());
        return all;
    }();
    template <class T> [[nodiscard]] static bool holds(const checking::Limit& limit, const T& operand) {
        if constexpr (std::integral<T>) return limit.holds(operand);
        return true;
    }
    template <class... E>
    [[nodiscard]] static bool holds(const checking::Limit& limit, const Vector<E...>& vector) {
        return std::apply([&](const auto&... e) { return (holds(limit, e) && ...); }, vector.elements);
    }
    [[nodiscard]] static bool takes(const Operands&... operands) {
        [[maybe_unused]] std::size_t i = 0;
        [[maybe_unused]] const auto one = [&i](const auto& operand) {
            const checking::Limit& limit = limits[i++];
            return holds(limit, operand);
        };
        return (one(operands) && ...);
    }
};

template <class F, Literal Name, Target On>
inline constexpr InstructionProblem operand_problem = explain_operands(Name.view(), F::shapes, On);
template <Literal Name> inline constexpr InstructionProblem name_problem = explain_name(Name.view());

template <class F, Literal Name, Target On> consteval auto message_of() {
    constexpr const InstructionProblem& problem = []() -> const InstructionProblem& {
        if constexpr (operand_problem<F, Name, On>.code != Errc::ok)
            return operand_problem<F, Name, On>;
        else
            return name_problem<Name>;
    }();
    constexpr std::string_view before = problem.code == Errc::opcode_unknown     ? "unknown opcode "
                                        : problem.code == Errc::modifier_unknown ? "unknown modifier "
                                                                                 : "";
    Text<before.size() + problem.message.view().size()> out;
    const std::string_view message = problem.message.view();
    std::copy(before.begin(), before.end(), out.text);
    std::copy(message.begin(), message.end(), out.text + before.size());
    return out;
}

// Does not compile, and shows the message: once for each `Place`, so that a mistake that is made twice is
// shown twice.
#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wc++26-extensions"
template <auto Message, auto Place> consteval void refuse() { static_assert(Message.size() == 0, Message); }
#pragma GCC diagnostic pop
#elif defined(__clang__)
// This clang shows no texts in template arguments, but letters.
template <char... Letters> struct wrong { static constexpr bool is_right = false; };
template <auto Message, auto Place> consteval void refuse() {
    []<std::size_t... I>(std::index_sequence<I...>) { static_assert(wrong<Message.text[I]...>::is_right); }
    (std::make_index_sequence<Message.size()>());
}
#else
template <auto Message> struct wrong { static constexpr bool is_right = false; };
template <auto Message, auto Place> consteval void refuse() { static_assert(wrong<Message>::is_right); }
#endif

}  // namespace emitting

/// What all builders have: the text of statements, registers, labels. Neither copied nor moved: operands
/// refer to it.
class PTXGRAFT_API Emitter {
  public:
    Emitter(const Emitter&) = delete;
    Emitter& operator=(const Emitter&) = delete;

    /// A new register: `%f3`, or `%<name>`, which the caller keeps apart from others.
    template <Type T> [[nodiscard]] Reg<T> reg(std::string_view name = {}) {
        return {new_register(declared_type(T), name)};
    }
    /// New registers of one type: `b.regs<f32, 4>()`.
    template <Type T, std::size_t N> [[nodiscard]] Regs<T, N> regs() {
        Regs<T, N> all;
        for (Reg<T>& one : all) one = reg<T>();
        return all;
    }
    /// A new label, `L1` or `<stem>_1`; place() says where it stands.
    [[nodiscard]] Label label(std::string_view stem = {});
    void place(Label label);

    /// Emits an instruction that is known when the program runs, by the same check with the same words.
    /// Nothing is emitted where it fails; the error counts as the builder's too.
    template <Operand... Operands> Expected<void> emit(std::string_view name, const Operands&... operands) {
        if constexpr ((emitting::has_parts<Operands> || ...)) {
            return emit_list(name, std::vector<AnyOperand>{any(operands)...});
        } else {
            const std::array<Shape, sizeof...(Operands)> shapes = {shape_now(operands)...};
            if (auto right = check(name, shapes); !right) return right;
            write(name, operands...);
            return {};
        }
    }

    /// The same of operands that are a list.
    Expected<void> emit_list(std::string_view name, std::span<const AnyOperand> operands);

    /// A line of text as it is: directives, what no row of the table has. It is not looked at before
    /// Module::ptx() verifies the whole.
    void raw(std::string_view line);
    void comment(std::string_view text);  ///< `// text`
    void pragma(std::string_view text);   ///< `.pragma "text";` (PTX ISA 11.4)

    /// `{`, what the body emits, `}`: names that raw() declares within are its own.
    template <class Body> void scope(Body&& body) {
        raw("{");
        body();
        raw("}");
    }
    /// The body N times, with 0, 1 …; no instruction is added.
    template <class Body> void unroll(std::uint32_t n, Body&& body) {
        for (std::uint32_t i = 0; i < n; ++i) body(i);
    }

    /// The error that came first, which is that of the whole.
    [[nodiscard]] std::optional<Error> error() const {
        return errors_.empty() ? std::nullopt : std::optional(errors_.front());
    }
    /// All of them, in the order of the calls that made them.
    [[nodiscard]] std::span<const Error> errors() const { return errors_; }
    /// Instructions emitted so far.
    [[nodiscard]] std::uint64_t instruction_count() const { return instructions_; }

  protected:
    explicit Emitter(Target target);
    ~Emitter();
    friend class Module;
    /// `.loc` of this file from now on: what is emitted elsewhere belongs to the line that was last.
    void show_lines(std::uint32_t file, std::string_view name);

    // ---- emission
    template <class... Operands> void write(std::string_view name, const Operands&... operands) {
        begin(name);
        [[maybe_unused]] bool is_first = true;
        (write_operand(operands, is_first), ...);
        body_.append(";\n");
    }
    template <class T> void write_operand(const T& operand, bool& is_first) {
        if (!is_first) body_.push_back(',');
        body_.push_back(' ');
        is_first = false;
        print(body_, operand);
    }
    template <Literal Name, Target On, class... Operands> void emit_checked(const Operands&... operands) {
        using F = emitting::Form<without_line(Name), On, Operands...>;
        if constexpr (!F::is_right) {
            constexpr auto message = emitting::message_of<F, without_line(Name), On>();
            emitting::refuse<message, Name>();
        } else {
            if constexpr (On.architecture.sm == 0 && !F::is_everywhere) require(Name.view(), F::match);
            if constexpr (emitting::has_open<Operands...>) {
                if (F::wants_check || !F::takes(operands...)) {
                    const std::vector<AnyOperand> now = {any(operands)...};
                    if (!check(Name.view(), shapes_of(now))) return;
                }
            }
            if (has_lines_ && Name.file == file_hash_) line(Name.line);
            write(Name.view(), operands...);
        }
    }
    void begin(std::string_view name);
    [[nodiscard]] Expected<void> check(std::string_view name, std::span<const Shape> operands);
    [[nodiscard]] static std::vector<Shape> shapes_of(std::span<const AnyOperand> operands);
    void require(std::string_view name, const isa::Match& match);
    void keep_second_guard(std::string_view first, std::string_view second);
    void line(std::uint32_t number);
    Expected<void> keep(tl::unexpected<Error> error);

    [[nodiscard]] std::string_view new_register(Type type, std::string_view name);
    [[nodiscard]] std::string_view own(std::string_view text);  ///< a copy that lives as long as the builder
    /// The same of a name that a caller gives; one that is no identifier is the builder's error.
    [[nodiscard]] std::string_view own_name(std::string_view name);
    /// `.reg .f32 %f<3>;`, a line for each type.
    void declare_registers(std::string& out) const;

    template <Target> friend class GuardedOn;

    Target target_;
    std::string body_;
    std::string_view guard_;  ///< the predicate of the next instruction's guard; empty for none
    bool is_guard_negated_ = false;
    bool has_lines_ = false;
    std::uint32_t file_ = 0, file_hash_ = 0, last_line_ = 0;

  private:
    struct Names;
    std::unique_ptr<Names> names_;
    std::vector<Error> errors_;
    std::uint64_t instructions_ = 0;
};

template <Target On> class Builder;

/// A builder whose next instruction is under a guard.
template <Target On> class GuardedOn {
  public:
    GuardedOn(Builder<On>& builder, Pred guard) : builder_(builder), guard_(guard.name) {}
    GuardedOn(Builder<On>& builder, NotPred guard)
        : builder_(builder), guard_(guard.name), is_negated_(true) {}
    GuardedOn(Builder<On>& builder, ReadReg<pred> guard) : builder_(builder), guard_(guard.name) {}
    template <Literal Name, Operand... Operands> void emit(const Operands&... operands) const;
    template <Operand... Operands>
    Expected<void> emit(std::string_view name, const Operands&... operands) const;

  private:
    friend class Builder<On>;
    // While it emits, the builder has the guard.
    template <class Emit> auto under_guard(const Emit& emit) const {
        struct End {
            Builder<On>& builder;
            std::string_view guard = builder.guard_;
            bool is_negated = builder.is_guard_negated_;
            ~End() { builder.guard_ = guard, builder.is_guard_negated_ = is_negated; }
        } end{builder_};
        if (!end.guard.empty()) builder_.keep_second_guard(end.guard, guard_);
        builder_.guard_ = guard_;
        builder_.is_guard_negated_ = is_negated_;
        return emit();
    }
    Builder<On>& builder_;
    std::string_view guard_;
    bool is_negated_ = false;
};

/// Emits the instructions of one target, or, for `any_target`, of the module's own.
template <Target On = any_target> class Builder : public Emitter {
  public:
    /// Emits exactly this instruction.
    template <Literal Name, Operand... Operands> void emit(const Operands&... operands) {
        emit_checked<Name, On>(operands...);
    }
    using Emitter::emit;

    /// `@%p1` before the next instruction: `b.if_(p).emit<"add.s32">(d, a, 1)`.
    [[nodiscard]] GuardedOn<On> if_(Pred p) { return {*this, p}; }
    [[nodiscard]] GuardedOn<On> if_(NotPred p) { return {*this, p}; }
    [[nodiscard]] GuardedOn<On> if_(ReadReg<pred> p) { return {*this, p}; }

    /// `@%p1` before each instruction of the body, which branches around nothing: what the body emits with a
    /// guard of its own is the builder's error.
    template <class P, class Body>
    requires std::invocable<Body>
    void guarded(P p, Body&& body) { if_(p).under_guard(body); }

    /// `@!%p1 bra L1;`, the body, `L1:`.
    template <class P, class Then>
    requires std::invocable<Then>
    void if_(P p, Then&& then) {
        const Label end = label();
        if_(!p).template emit<"bra">(end);
        then();
        place(end);
    }
    /// `@!%p1 bra L1;`, the one body, `bra.uni L2;`, `L1:`, the other, `L2:`.
    template <class P, class Then, class Else>
    requires std::invocable<Then> && std::invocable<Else>
    void if_(P p, Then&& then, Else&& otherwise) {
        const Label other = label(), end = label();
        if_(!p).template emit<"bra">(other);
        then();
        emit<"bra.uni">(end);
        place(other);
        otherwise();
        place(end);
    }
    /// `L1:`, the body, `@%p1 bra L1;` with the predicate that the body gives.
    template <class Body> void loop_while(Body&& body) {
        const Label top = label();
        place(top);
        const auto again = body();
        if_(again).template emit<"bra">(top);
    }
    /// `L1:`, the body, `bra.uni L1;`, `L2:`. The body gets the label behind the loop, for branches out of
    /// it.
    template <class Body> void loop(Body&& body) {
        const Label top = label(), end = label();
        place(top);
        body(end);
        emit<"bra.uni">(top);
        place(end);
    }

  protected:
    explicit Builder(Target target = On) : Emitter(target) {}
};

template <Target On>
template <Literal Name, Operand... Operands>
void GuardedOn<On>::emit(const Operands&... operands) const {
    under_guard([&] { builder_.template emit<Name>(operands...); });
}
template <Target On>
template <Operand... Operands>
Expected<void> GuardedOn<On>::emit(std::string_view name, const Operands&... operands) const {
    return under_guard([&] { return builder_.emit(name, operands...); });
}

/// The same for what is a template over builders, where `b.emit<…>` would have to be `b.template emit<…>`.
template <Literal Name, Target On, Operand... Operands>
void emit(Builder<On>& b, const Operands&... operands) {
    b.template emit<Name>(operands...);
}
template <Literal Name, Target On, Operand... Operands>
void emit(const GuardedOn<On>& b, const Operands&... operands) {
    b.template emit<Name>(operands...);
}

}  // namespace ptxgraft::dsl
