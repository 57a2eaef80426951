// Emitted modules and functions in C.

#include "capi/emit.hpp"

#include <fmt/format.h>

#include "base/try.hpp"

using namespace ptxgraft;
using capi::call;
using dsl::AnyOperand, dsl::Space;

namespace {

// Whether what is done from now on goes wrong: a builder keeps its errors.
class Watch {
  public:
    explicit Watch(const dsl::Emitter& emitter) : emitter_(emitter), before_(emitter.errors().size()) {}
    [[nodiscard]] Expected<void> result() const {
        const auto errors = emitter_.errors().subspan(before_);
        if (errors.empty()) return {};
        return tl::unexpected(errors.front());
    }

  private:
    const dsl::Emitter& emitter_;
    std::size_t before_;
};

// Runs the body of a builder's call. That it failed is an error of the whole module too: what the caller
// wanted there is missing, also where the caller has not looked.
template <class Body>
ptxgraft_status build(ptxgraft_builder* builder, std::initializer_list<capi::Required> required, Body body) {
    return call({{builder, "builder"}}, [&]() -> Expected<void> {
        Expected<void> done = capi::check_required(required);
        if (done) done = body();
        auto& first = builder->emitter.error;
        if (!done && !first) first = done.error();
        return done;
    });
}

// A new function; its name may stand in operands of all functions.
Expected<void> add_function(ptxgraft_builder** out, ptxgraft_emitter& emitter, const char* name,
                            bool is_entry) {
    auto& function = is_entry ? emitter.module.entry(name) : emitter.module.function(name);
    if (!is_entry) emitter.names.insert_or_assign(name, AnyOperand::named(name, dsl::ShapeKind::function));
    *out = &emitter.builders.emplace_back(emitter, function);
    return {};
}

struct Declared {
    ptxgraft_variable_options given;
    dsl::VariableOptions options;
};

// What a variable is; from `first` to `last` are the spaces that it may be in.
Expected<Declared> variable_of(const ptxgraft_variable_options* options, std::initializer_list<int> spaces) {
    const auto given = TRY(capi::options_of(options));
    TRY(capi::check_enumerators({{"space", given.space, PTXGRAFT_SPACE_dynamic}}));
    TRY(capi::check_required({{given.name, "name"}}));
    if (std::find(spaces.begin(), spaces.end(), static_cast<int>(given.space)) == spaces.end())
        return fail(Errc::argument_invalid,
                    fmt::format("space is {}, in which there is no such variable here",
                                static_cast<int>(given.space)));
    if (given.space == PTXGRAFT_SPACE_dynamic) return Declared{given, {}};
    TRY(capi::check_required({{given.type, "type"}}));
    const auto type = TRY(capi::emitted_type(given.type));
    return Declared{given,
                    {.type = type,
                     .count = given.count,
                     .align = given.align,
                     .values = given.values != nullptr ? given.values : "",
                     .is_visible = given.is_visible != 0}};
}

Space declare(dsl::Module& module, const Declared& variable) {
    const char* const name = variable.given.name;
    switch (variable.given.space) {
        case PTXGRAFT_SPACE_global: return (void)module.global(name, variable.options), Space::global;
        case PTXGRAFT_SPACE_const: return (void)module.constant(name, variable.options), Space::const_;
        case PTXGRAFT_SPACE_dynamic:
            return (void)module.dynamic_shared(name, variable.given.align != 0 ? variable.given.align : 128),
                   Space::shared;
        default: return (void)module.shared(name, variable.options), Space::shared;
    }
}

Expected<void> add_parameter(ptxgraft_builder& builder, dsl::Type type, const char* name, std::uint64_t count,
                             std::uint32_t align) {
    const Watch watch(builder.function);
    if (type == dsl::Type::pred)
        return fail(Errc::argument_invalid, std::string("a predicate is no parameter; a u32 is"));
    if (count != 0) {
        if (type != dsl::Type::b8)
            return fail(Errc::argument_invalid, std::string("an array of bytes is of type b8"));
        (void)builder.function.parameter(name, count, align);
    } else {
        capi::with_type(type, [&]<dsl::Type T>() {
            if constexpr (T != dsl::Type::pred) (void)builder.function.parameter<T>(name);
        });
    }
    TRY(watch.result());
    builder.names.insert_or_assign(name, AnyOperand::variable(name, Space::param));
    return {};
}

Expected<const char*> add_register(ptxgraft_builder& builder, dsl::Type type, const char* name) {
    const Watch watch(builder.function);
    std::string text;
    capi::with_type(type,
                    [&]<dsl::Type T>() { text = builder.function.reg<T>(name != nullptr ? name : "").name; });
    TRY(watch.result());
    builder.names.insert_or_assign(text, AnyOperand::reg(text, dsl::declared_type(type)));
    return builder.emitter.texts.keep(text);
}

// Emits under a guard, which is a register of the builder.
Expected<void> emit(ptxgraft_builder& builder, const char* guard, const char* name,
                    std::span<const AnyOperand> operands) {
    auto& function = builder.function;
    if (guard == nullptr || *guard == '\0') return function.emit_list(name, operands);
    const bool is_negated = *guard == '!';
    const std::string_view of = guard + (is_negated ? 1 : 0);
    const auto found = builder.names.find(of);
    if (found == builder.names.end() || found->second.shape().type != dsl::Type::pred)
        return fail(Errc::argument_invalid,
                    fmt::format("guard is '{}'; it is a predicate, or ! and one", guard));
    Expected<void> done;
    const auto one = [&] { done = function.emit_list(name, operands); };
    is_negated ? function.guarded(dsl::NotPred{of}, one) : function.guarded(dsl::Pred{of}, one);
    return done;
}

// ---- sites

Expected<std::vector<dsl::SiteArgument>> arguments_of(const ptxgraft_emitted_site& given) {
    TRY(capi::check_list(given.arguments, given.argument_count, "arguments", "argument_count"));
    std::vector<dsl::SiteArgument> result;
    for (std::size_t i = 0; i < given.argument_count; ++i) {
        const ptxgraft_site_argument& a = given.arguments[i];
        TRY(capi::check_required({{a.name, "arguments: name"}, {a.type, "arguments: type"}}));
        TRY(capi::check_enumerators({{"direction", a.direction, PTXGRAFT_DIRECTION_out}}));
        TRY(capi::check_list(a.registers, a.register_count, "registers", "register_count"));
        const auto type = TRY(capi::emitted_type(a.type));
        dsl::SiteArgument made{static_cast<Direction>(a.direction),
                               a.name,
                               type,
                               {},
                               a.is_fragment != 0 || a.register_count > 1};
        for (std::size_t r = 0; r < a.register_count; ++r) {
            if (a.registers[r] == nullptr)
                return capi::fail_at(i, fmt::format("arguments[{}]: registers[{}] is null", i, r));
            made.registers.emplace_back(a.registers[r]);
        }
        if (made.registers.empty())
            return capi::fail_at(i, fmt::format("arguments[{}]: register_count is 0", i));
        result.push_back(std::move(made));
    }
    return result;
}

// The registers that stubs name.
void add_stub_registers(ptxgraft_builder& builder, const dsl::SiteArgument& argument) {
    const auto add = [&](const std::string& name) {
        builder.names.insert_or_assign(name, AnyOperand::reg(name, dsl::declared_type(argument.type)));
    };
    if (!argument.is_fragment) return add(dsl::emitting::register_of(argument.name));
    for (std::size_t i = 0; i < argument.registers.size(); ++i)
        add(dsl::emitting::register_of(argument.name, i));
}

// Keeps the status of the body: what fails in it has its message already.
Expected<void> add_site(ptxgraft_builder& builder, const ptxgraft_emitted_site& given,
                        ptxgraft_status& of_body) {
    TRY(capi::check_required({{given.name, "name"}}));
    const auto arguments = TRY(arguments_of(given));
    const Effect allowed = TRY(capi::effects_of(given.allowed));
    const capi::Names before = builder.names;
    const Watch watch(builder.function);
    builder.function.site(given.name, std::span(arguments), {.allowed = allowed, .pure = given.pure != 0},
                          [&] {
                              for (const dsl::SiteArgument& argument : arguments)
                                  add_stub_registers(builder, argument);
                              if (given.body != nullptr) of_body = given.body(&builder, given.payload);
                          });
    builder.names = before;
    if (of_body == PTXGRAFT_STATUS_ok) return watch.result();
    if (!builder.emitter.error)
        builder.emitter.error =
            fail(Errc::argument_invalid,
                 fmt::format("the body of the site {} gave a status that is not ok", given.name))
                .value();
    return {};
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_emitter_create(ptxgraft_emitter** emitter, const char* target, const char* version) {
    return call({{emitter, "emitter"}}, [&]() -> Expected<void> {
        dsl::ModuleOptions options;
        if (target != nullptr) options.target = target;
        if (version != nullptr) options.version = version;
        TRY(parse_architecture(options.target));
        *emitter = new ptxgraft_emitter(options);
        return {};
    });
}

void ptxgraft_emitter_destroy(ptxgraft_emitter* emitter) { delete emitter; }

ptxgraft_status ptxgraft_emitter_add_entry(ptxgraft_builder** builder, ptxgraft_emitter* emitter,
                                           const char* name) {
    return call({{builder, "builder"}, {emitter, "emitter"}, {name, "name"}},
                [&] { return add_function(builder, *emitter, name, true); });
}

ptxgraft_status ptxgraft_emitter_add_function(ptxgraft_builder** builder, ptxgraft_emitter* emitter,
                                              const char* name) {
    return call({{builder, "builder"}, {emitter, "emitter"}, {name, "name"}},
                [&] { return add_function(builder, *emitter, name, false); });
}

ptxgraft_status ptxgraft_emitter_add_variable(ptxgraft_emitter* emitter,
                                              const ptxgraft_variable_options* options) {
    return call({{emitter, "emitter"}, {options, "options"}}, [&]() -> Expected<void> {
        const auto variable = TRY(variable_of(options, {PTXGRAFT_SPACE_global, PTXGRAFT_SPACE_const,
                                                        PTXGRAFT_SPACE_shared, PTXGRAFT_SPACE_dynamic}));
        const Space space = declare(emitter->module, variable);
        emitter->names.insert_or_assign(variable.given.name,
                                        AnyOperand::variable(variable.given.name, space));
        return {};
    });
}

ptxgraft_status ptxgraft_emitter_add_line(ptxgraft_emitter* emitter, const char* line) {
    return call({{emitter, "emitter"}, {line, "line"}}, [&]() -> Expected<void> {
        emitter->module.raw(line);
        return {};
    });
}

ptxgraft_status ptxgraft_emitter_get_ptx(char* text, size_t* size, const ptxgraft_emitter* emitter) {
    return call({{size, "size"}, {emitter, "emitter"}}, [&]() -> Expected<void> {
        if (emitter->error) return tl::unexpected(*emitter->error);
        const auto ptx = TRY(emitter->module.ptx());
        return capi::give_text(text, size, ptx);
    });
}

ptxgraft_status ptxgraft_emitter_get_text(char* text, size_t* size, const ptxgraft_emitter* emitter) {
    return call({{size, "size"}, {emitter, "emitter"}},
                [&] { return capi::give_text(text, size, emitter->module.text()); });
}

ptxgraft_status ptxgraft_builder_add_parameter(ptxgraft_builder* builder, const char* type, const char* name,
                                               uint64_t count, uint32_t align) {
    return build(builder, {{type, "type"}, {name, "name"}}, [&]() -> Expected<void> {
        const auto of = TRY(capi::emitted_type(type));
        return add_parameter(*builder, of, name, count, align);
    });
}

ptxgraft_status ptxgraft_builder_add_argument(const char** name_of_register, ptxgraft_builder* builder,
                                              const char* type, const char* name) {
    return build(
        builder, {{name_of_register, "name_of_register"}, {type, "type"}, {name, "name"}},
        [&]() -> Expected<void> {
            const auto of = TRY(capi::emitted_type(type));
            TRY(add_parameter(*builder, of, name, 0, 0));
            const char* const made = TRY(add_register(*builder, of, nullptr));
            const AnyOperand parts[] = {builder->names.find(name)->second};
            const AnyOperand operands[] = {builder->names.find(made)->second, AnyOperand::address(parts)};
            const auto load = "ld.param" + std::string(syntax::row(dsl::declared_type(of)).word);
            TRY(builder->function.emit_list(load, operands));
            *name_of_register = made;
            return {};
        });
}

ptxgraft_status ptxgraft_builder_add_result(ptxgraft_builder* builder, const char* type, const char* name) {
    return build(builder, {{type, "type"}, {name, "name"}}, [&]() -> Expected<void> {
        const auto of = TRY(capi::emitted_type(type));
        if (of == dsl::Type::pred)
            return fail(Errc::argument_invalid, std::string("a predicate is no result; a u32 is"));
        const Watch watch(builder->function);
        capi::with_type(of, [&]<dsl::Type T>() {
            if constexpr (T != dsl::Type::pred) (void)builder->function.result<T>(name);
        });
        TRY(watch.result());
        builder->names.insert_or_assign(name, AnyOperand::variable(name, Space::param));
        return {};
    });
}

ptxgraft_status ptxgraft_builder_add_register(const char** name_of_register, ptxgraft_builder* builder,
                                              const char* type, const char* name) {
    return build(builder, {{name_of_register, "name_of_register"}, {type, "type"}}, [&]() -> Expected<void> {
        const auto of = TRY(capi::emitted_type(type));
        const char* const made = TRY(add_register(*builder, of, name));
        *name_of_register = made;
        return {};
    });
}

ptxgraft_status ptxgraft_builder_add_variable(ptxgraft_builder* builder,
                                              const ptxgraft_variable_options* options) {
    return build(builder, {{options, "options"}}, [&]() -> Expected<void> {
        const auto variable = TRY(variable_of(options, {PTXGRAFT_SPACE_shared, PTXGRAFT_SPACE_local}));
        const char* const name = variable.given.name;
        const bool is_shared = variable.given.space == PTXGRAFT_SPACE_shared;
        const Watch watch(builder->function);
        if (is_shared)
            (void)builder->function.shared(name, variable.options);
        else
            (void)builder->function.local(name, variable.options);
        TRY(watch.result());
        builder->names.insert_or_assign(name,
                                        AnyOperand::variable(name, is_shared ? Space::shared : Space::local));
        return {};
    });
}

ptxgraft_status ptxgraft_builder_add_label(const char** label, ptxgraft_builder* builder, const char* stem) {
    return build(builder, {{label, "label"}}, [&]() -> Expected<void> {
        const Watch watch(builder->function);
        const std::string name(builder->function.label(stem != nullptr ? stem : "").name);
        TRY(watch.result());
        builder->names.insert_or_assign(name, AnyOperand::named(name, dsl::ShapeKind::label));
        *label = builder->emitter.texts.keep(name);
        return {};
    });
}

ptxgraft_status ptxgraft_builder_place(ptxgraft_builder* builder, const char* label) {
    return build(builder, {{label, "label"}}, [&]() -> Expected<void> {
        const auto found = builder->names.find(std::string_view(label));
        if (found == builder->names.end() || found->second.shape().kind != dsl::ShapeKind::label)
            return fail(Errc::argument_invalid, fmt::format("'{}' is no label of this function", label));
        builder->function.place(dsl::Label{label});
        return {};
    });
}

ptxgraft_status ptxgraft_builder_emit(ptxgraft_builder* builder, const char* guard, const char* name,
                                      const char* const* operands, size_t count) {
    return build(builder, {{name, "name"}}, [&]() -> Expected<void> {
        TRY(capi::check_list(operands, count, "operands", "count"));
        for (std::size_t i = 0; i < count; ++i)
            if (operands[i] == nullptr) return capi::fail_at(i, fmt::format("operands[{}] is null", i));
        const auto read =
            TRY(capi::read_operands(name, {operands, count}, builder->names, builder->emitter.names));
        return emit(*builder, guard, name, read);
    });
}

ptxgraft_status ptxgraft_builder_add_lines(ptxgraft_builder* builder, const char* text, size_t size) {
    return build(builder, {{text, "text"}}, [&]() -> Expected<void> {
        auto lines = TRY(capi::text_at(text, size));
        if (lines.ends_with('\n')) lines.remove_suffix(1);
        builder->function.raw(lines);
        return {};
    });
}

ptxgraft_status ptxgraft_builder_add_comment(ptxgraft_builder* builder, const char* text) {
    return build(builder, {{text, "text"}}, [&]() -> Expected<void> {
        builder->function.comment(text);
        return {};
    });
}

uint64_t ptxgraft_builder_get_instruction_count(const ptxgraft_builder* builder) {
    return capi::get(builder, "builder", uint64_t{0},
                     [](const ptxgraft_builder& b) { return b.function.instruction_count(); });
}

ptxgraft_status ptxgraft_builder_set_directives(ptxgraft_builder* builder,
                                                const ptxgraft_entry_directives* directives) {
    return build(builder, {{directives, "directives"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(directives));
        const Watch watch(builder->function);
        const auto extent = [](const uint32_t(&of)[3]) { return dsl::Extent{of[0], of[1], of[2]}; };
        builder->function.directives({.max_threads = extent(given.max_threads),
                                      .required_threads = extent(given.required_threads),
                                      .cluster = extent(given.cluster),
                                      .min_blocks = given.min_blocks,
                                      .max_registers = given.max_registers});
        return watch.result();
    });
}

ptxgraft_status ptxgraft_builder_add_site(ptxgraft_builder* builder, const ptxgraft_emitted_site* site) {
    auto of_body = PTXGRAFT_STATUS_ok;
    const auto status = build(builder, {{site, "site"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(site));
        return add_site(*builder, given, of_body);
    });
    return of_body == PTXGRAFT_STATUS_ok ? status : of_body;
}

}  // extern "C"
