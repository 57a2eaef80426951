#pragma once
/// @file module.hpp
/// Modules of emitted functions.
///
/// @code
/// dsl::Module module({.target = "sm_80"});
/// auto& k = module.entry("scale");
/// const auto data = k.argument<u64>("data");
/// const auto n = k.argument<u32>("n");
/// const auto i = k.reg<u32>();
/// k.emit<"mov.u32">(i, special<"%tid.x">);
/// …
/// const auto ptx = module.ptx();
/// @endcode

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/dsl/signature.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::dsl {

/// Threads of a block, blocks of a cluster.
struct Extent {
    std::uint32_t x = 1, y = 1, z = 1;
};

/// What is said of an entry before its body (PTX ISA 11.2); 0: nothing.
struct EntryDirectives {
    Extent max_threads = {0, 0, 0};       ///< .maxntid
    Extent required_threads = {0, 0, 0};  ///< .reqntid
    Extent cluster = {0, 0, 0};           ///< .explicitcluster, .reqnctapercluster
    std::uint32_t min_blocks = 0;         ///< .minnctapersm
    std::uint32_t max_registers = 0;      ///< .maxnreg
};

/// A variable: `count` elements of `type`, or one without brackets where it is 0.
struct VariableOptions {
    Type type = Type::b8;
    std::uint64_t count = 0;
    std::uint32_t align = 0;  ///< in bytes; 0: of the type
    std::string values = {};  ///< the initialiser as PTX has it: "{1, 2, 3}" (PTX ISA 5.4.4)
    bool is_visible = false;  ///< to other modules and to the host
};

/// An operand of a site that a function declares, see FunctionBuilder::site.
struct SiteArgument {
    Direction direction;
    std::string_view name;
    Type type;
    std::vector<std::string_view> registers;  ///< more than one, or `is_fragment`: a fragment
    bool is_fragment = false;
};
template <Type T> [[nodiscard]] SiteArgument in(std::string_view name, const Reg<T>& reg) {
    return {Direction::in, name, T, {reg.name}};
}
template <Type T> [[nodiscard]] SiteArgument mod(std::string_view name, const Reg<T>& reg) {
    return {Direction::mod, name, T, {reg.name}};
}
template <Type T> [[nodiscard]] SiteArgument out(std::string_view name, const Reg<T>& reg) {
    return {Direction::out, name, T, {reg.name}};
}
namespace emitting {
template <Type T, std::size_t N>
SiteArgument fragment(Direction direction, std::string_view name, const Regs<T, N>& regs) {
    SiteArgument made{direction, name, T, {}, true};
    for (const Reg<T>& reg : regs) made.registers.push_back(reg.name);
    return made;
}
}  // namespace emitting
template <Type T, std::size_t N>
[[nodiscard]] SiteArgument in(std::string_view name, const Regs<T, N>& regs) {
    return emitting::fragment(Direction::in, name, regs);
}
template <Type T, std::size_t N>
[[nodiscard]] SiteArgument mod(std::string_view name, const Regs<T, N>& regs) {
    return emitting::fragment(Direction::mod, name, regs);
}
template <Type T, std::size_t N>
[[nodiscard]] SiteArgument out(std::string_view name, const Regs<T, N>& regs) {
    return emitting::fragment(Direction::out, name, regs);
}

/// The same of a value (value.hpp): its register.
template <Type T, Target On> [[nodiscard]] SiteArgument in(std::string_view name, const Value<T, On>& value) {
    return in(name, value.reg);
}
template <Type T, Target On>
[[nodiscard]] SiteArgument mod(std::string_view name, const Value<T, On>& value) {
    return mod(name, value.reg);
}
template <Type T, Target On>
[[nodiscard]] SiteArgument out(std::string_view name, const Value<T, On>& value) {
    return out(name, value.reg);
}

namespace emitting {

// The type of a field of a struct.
template <class Field> consteval Type type_of_field() {
    static_assert(
        std::is_arithmetic_v<Field> || std::is_pointer_v<Field> || std::is_enum_v<Field>,
        "a field is a number or a pointer; others are read by their bytes: parameter(name, bytes, align)");
    constexpr std::array unsigned_types = {u8, u16, u32, u64}, signed_types = {s8, s16, s32, s64};
    constexpr auto size = static_cast<std::size_t>(std::countr_zero(sizeof(Field)));
    if constexpr (std::is_floating_point_v<Field>)
        return sizeof(Field) == 4 ? f32 : f64;
    else
        return std::is_signed_v<Field> ? signed_types[size] : unsigned_types[size];
}

// A function's head, beside its body.
struct Head {
    std::string name;
    bool is_entry = true;
    std::vector<std::string> returns = {}, parameters = {};  // ".param .u64 data"
    std::string directives = {};                             // behind them
    std::string variables = {};                              // lines within its body
    // Parameters and variables by name, as they are declared.
    std::map<std::string, std::string, std::less<>> declared = {};
};

// Errc::name_redeclared of a name that the function has.
PTXGRAFT_API Expected<void> add_parameter(Head& head, std::string_view name, const VariableOptions& of,
                                          bool is_return);
PTXGRAFT_API Expected<void> add_variable(Head& head, Space space, std::string_view name,
                                         const VariableOptions& of);
PTXGRAFT_API Expected<void> add_directives(Head& head, const EntryDirectives& all);
PTXGRAFT_API std::string targets_line(std::string_view name, std::string_view directive,
                                      std::span<const std::string_view> targets);
PTXGRAFT_API std::string prototype_line(std::string_view name, std::span<const VariableOptions> results,
                                        std::span<const VariableOptions> parameters);
PTXGRAFT_API std::string site_before(std::string_view name, std::span<const SiteArgument> arguments,
                                     const Policy& policy);
PTXGRAFT_API std::string site_after(std::span<const SiteArgument> arguments);
// The register that a stub names: `_acc`, of a fragment's element `_acc2`.
[[nodiscard]] PTXGRAFT_API std::string register_of(std::string_view operand,
                                                   std::optional<std::size_t> element = {});

}  // namespace emitting

/// A parameter that is a struct of C++, by value: FunctionBuilder::structure.
template <class S>
requires(std::is_standard_layout_v<S>&& std::is_trivially_copyable_v<S>) struct Structure
    : Variable<Space::param> {
    /// The bytes before a field.
    template <class Field> [[nodiscard]] static std::int64_t offset_of(Field S::*field) {
        static const S any{};
        return reinterpret_cast<const char*>(&(any.*field)) - reinterpret_cast<const char*>(&any);
    }
};
template <class S> struct shaping::Of<Structure<S>> : shaping::Of<Variable<Space::param>> {};

/// An entry or a device function: its body is what it emits. Belongs to its module.
template <Target On = any_target> class FunctionBuilder : public Builder<On> {
  public:
    /// Its name, for calls: `b.emit<"call.uni">(list(result), f.name(), list(a, b))`.
    [[nodiscard]] FunctionName name() const { return {head_.name}; }

    /// A parameter, in .param space: `.param .u64 data`. That of a device function is `.b16` of a u16 or s16,
    /// and `.b8` of a u8 or s8: ptxas passes no others. A predicate goes as a u32.
    template <Type T> Variable<Space::param> parameter(std::string_view name) {
        static_assert(T != pred, "a predicate is no parameter: hand over a u32, and compare it");
        keep_error(emitting::add_parameter(head_, name, {.type = declared_type(T)}, false));
        return {this->own_name(name)};
    }
    /// One of bytes: a struct, or with 128 bytes at 64 a tensor map.
    Variable<Space::param> parameter(std::string_view name, std::uint64_t bytes, std::uint32_t align) {
        keep_error(emitting::add_parameter(head_, name, {.type = b8, .count = bytes, .align = align}, false));
        return {this->own_name(name)};
    }
    Variable<Space::param> tensor_map(std::string_view name) { return parameter(name, 128, 64); }
    /// One of a struct that a launch hands over as it is: `.param .align 8 .b8 q[24]`.
    template <class S> Structure<S> structure(std::string_view name) {
        return {parameter(name, sizeof(S), alignof(S))};
    }
    /// A field of it, by its type: emits `ld.param.u32 %u1, [q+16];` of `k.load(q, &Tensor::head)`.
    template <class S, class Field> auto load(const Structure<S>& of, Field S::*field) {
        constexpr Type type = emitting::type_of_field<Field>();
        const auto value = this->template reg<type>();
        this->template emit<typed<"ld.param", type>()>(value, at(of, of.offset_of(field)));
        return value;
    }
    /// What a device function gives back.
    template <Type T> Variable<Space::param> result(std::string_view name) {
        static_assert(T != pred, "a predicate is no result: give back a u32, which selp makes of it");
        if (head_.is_entry) (void)this->keep(fail(Errc::directive_invalid, "an entry gives nothing back"));
        keep_error(emitting::add_parameter(head_, name, {.type = declared_type(T)}, true));
        return {this->own_name(name)};
    }
    /// A parameter and its value, as parameter() declares it: emits `ld.param.u64 %rd1, [data];`.
    template <Type T> Reg<T> argument(std::string_view name) {
        const auto of = parameter<T>(name);
        const auto value = this->template reg<T>();
        this->template emit<typed<"ld.param", declared_type(T)>()>(value, at(of));
        return value;
    }
    /// Variables of the function, before its first statement.
    Variable<Space::shared> shared(std::string_view name, const VariableOptions& of) {
        keep_error(emitting::add_variable(head_, Space::shared, name, of));
        return {this->own_name(name)};
    }
    Variable<Space::local> local(std::string_view name, const VariableOptions& of) {
        keep_error(emitting::add_variable(head_, Space::local, name, of));
        return {this->own_name(name)};
    }
    /// Where a `brx.idx` may go, by its index from 0: emits `T_1: .branchtargets L1, L2;` (PTX ISA 11.3.1,
    /// 9.7.12.4).
    [[nodiscard]] Targets branch_targets(std::initializer_list<Label> labels) {
        std::vector<std::string_view> names;
        for (const Label& label : labels) names.push_back(label.name);
        const Label list = this->label("T");
        this->body_.append(emitting::targets_line(list.name, ".branchtargets", names));
        return {list.name};
    }
    /// The functions that a call by address may meet, all of one kind: emits `T_1: .calltargets f, g;`
    /// (PTX ISA 11.3.2). It stands where a prototype does:
    /// `k.emit<"call">(list(result), address, list(x), k.call_targets({f.name(), g.name()}))`.
    [[nodiscard]] Prototype call_targets(std::initializer_list<FunctionName> functions) {
        std::vector<std::string_view> names;
        for (const FunctionName& function : functions) names.push_back(function.name);
        const Label list = this->label("T");
        this->body_.append(emitting::targets_line(list.name, ".calltargets", names));
        return {list.name};
    }
    /// What a call by address takes for granted: emits
    /// `P_1: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b8 _[16]);` (PTX ISA 11.3.3).
    [[nodiscard]] Prototype prototype(std::initializer_list<VariableOptions> results,
                                      std::initializer_list<VariableOptions> parameters) {
        const Label name = this->label("P");
        this->body_.append(emitting::prototype_line(name.name, results, parameters));
        return {name.name};
    }
    /// A number for a barrier of some of the block's threads (cluster.hpp: NamedBarrier), which the function
    /// has not given out yet: 1 to 15. 0 is that of all threads.
    std::uint32_t new_barrier() {
        if (barriers_ == 15)
            (void)this->keep(
                fail(Errc::argument_invalid,
                     "a CTA has barriers 0 to 15, and all but 0 are given out (PTX ISA 9.7.13.1)"));
        return barriers_ < 15 ? ++barriers_ : barriers_;
    }
    /// In place of those that were said before.
    void directives(const EntryDirectives& all) { keep_error(emitting::add_directives(head_, all)); }

    /// Declares a site (site.hpp), whose default stub is what the body emits: copies of the operands into the
    /// registers that stubs name `_acc`, the body, and copies back. The body must name them: it gets nothing.
    /// @code
    /// k.site("epilogue", {mod("acc", sum), in("bias", b)}, {}, [] {});
    /// @endcode
    template <class Body>
    void site(std::string_view name, std::initializer_list<SiteArgument> arguments, const Policy& policy,
              Body&& body) {
        site(name, std::span(arguments.begin(), arguments.size()), policy, std::forward<Body>(body));
    }
    /// The same of operands whose number is known when the program runs.
    template <class Body>
    void site(std::string_view name, std::span<const SiteArgument> arguments, const Policy& policy,
              Body&& body) {
        (void)this->own_name(name);
        for (const SiteArgument& argument : arguments) (void)this->own_name(argument.name);
        this->body_.append(emitting::site_before(name, arguments, policy));
        body();
        this->body_.append(emitting::site_after(arguments));
    }

    /// The same of operands whose types C++ knows (signature.hpp). The body may take the registers that stubs
    /// name, in this order. Gives the site's signature, which dsl::stub takes.
    /// @code
    /// const auto epilogue = k.site("epilogue", operands(mod<"acc">(sum), in<"bias">(b)), {},
    ///                              [&](auto acc, auto bias) { k.emit<"add.f32">(acc, acc, bias); });
    /// …
    /// auto stub = dsl::stub(*skeleton.site("epilogue"), epilogue, [](auto& b, auto acc, auto bias) { … });
    /// @endcode
    template <class... Operands, class Body>
    SignatureOf<Operands...> site(std::string_view name, const TypedArguments<Operands...>& typed,
                                  const Policy& policy, Body&& body) {
        const std::vector<SiteArgument> arguments = std::apply(
            [](const TypedArgument<Operands>&... one) {
                return std::vector<SiteArgument>{{Operands::direction, Operands::operand(), Operands::type,
                                                  one.registers, Operands::count != 0}...};
            },
            typed.all);
        site(name, std::span(arguments), policy, [&] {
            if constexpr (std::invocable<Body&>) {
                body();
            } else {
                std::tuple<Operands...> inside{Operands::of(registers_of<Operands>())...};
                std::apply(body, inside);
            }
        });
        return {};
    }

  private:
    friend class Module;
    void keep_error(const Expected<void>& done) {
        if (!done) (void)this->keep(tl::unexpected<Error>(done.error()));
    }
    template <class Operand> std::vector<std::string_view> registers_of() {
        if constexpr (Operand::count == 0) return {this->own(emitting::register_of(Operand::operand()))};
        std::vector<std::string_view> all;
        for (std::size_t i = 0; i < Operand::count; ++i)
            all.push_back(this->own(emitting::register_of(Operand::operand(), i)));
        return all;
    }
    FunctionBuilder(emitting::Head& head, Target target) : Builder<On>(target), head_(head) {}
    emitting::Head& head_;
    std::uint32_t barriers_ = 0;  // given out
};

struct ModuleOptions {
    std::string target = "sm_90a";
    std::string version = {};             ///< "8.6"; empty: 9.0, or the first that has the target
    bool line_info = false;               ///< `.loc` of the C++ lines that emit instructions
    std::string file = __builtin_FILE();  ///< by default where the options are made
};

/// A module that is put together from functions and variables. Neither copied nor moved.
class PTXGRAFT_API Module {
  public:
    explicit Module(const ModuleOptions& options = {});
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] const std::string& target() const { return options_.target; }  ///< "sm_90a"

    /// A new `.visible .entry`. It lives as long as the module.
    template <Target On = any_target> FunctionBuilder<On>& entry(std::string_view name) {
        return add<On>(name, true);
    }
    /// A new `.func`. Its declaration stands before all variables and bodies, so that any may name any.
    template <Target On = any_target> FunctionBuilder<On>& function(std::string_view name) {
        return add<On>(name, false);
    }

    /// Variables of the module. Errors in them are found by ptx().
    Variable<Space::global> global(std::string_view name, const VariableOptions& of);
    Variable<Space::const_> constant(std::string_view name, const VariableOptions& of);
    Variable<Space::shared> shared(std::string_view name, const VariableOptions& of);
    /// `.extern .shared .align 128 .b8 name[];`: the memory that a launch asks for.
    Variable<Space::shared> dynamic_shared(std::string_view name, std::uint32_t align = 128);

    /// A line among the variables, as it is.
    void raw(std::string_view line);

    /// The text, not looked at.
    [[nodiscard]] std::string text() const;
    /// The text, verified: what isa::verify finds is an error, with spans in the text, which it brings along.
    /// The first error of a builder comes before that.
    [[nodiscard]] Expected<std::string> ptx() const;

  private:
    struct Made {
        std::unique_ptr<emitting::Head> head;
        std::shared_ptr<Emitter> body;
    };
    template <Target On> FunctionBuilder<On>& add(std::string_view name, bool is_entry) {
        auto head =
            std::make_unique<emitting::Head>(emitting::Head{.name = std::string(name), .is_entry = is_entry});
        auto function = std::shared_ptr<FunctionBuilder<On>>(new FunctionBuilder<On>(*head, target_for(On)));
        if (options_.line_info) function->show_lines(1, options_.file);
        FunctionBuilder<On>& made = *function;
        functions_.push_back({std::move(head), std::move(function)});
        return made;
    }
    [[nodiscard]] Target target_for(Target on);

    ModuleOptions options_;
    Target target_;
    std::optional<Error> error_;
    std::vector<Made> functions_;
    std::string variables_;
    std::deque<std::string> names_;  // of the variables
    std::string_view add_variable(std::string_view line_before, std::string_view name,
                                  const VariableOptions& of);
};

}  // namespace ptxgraft::dsl
