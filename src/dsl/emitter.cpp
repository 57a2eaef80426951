// What all builders do: registers by name, labels, the text of a statement, and the checks of what is known
// only now.

#include <fmt/format.h>

#include <memory_resource>

#include "base/try.hpp"
#include "dsl/identifier.hpp"
#include "isa/special.hpp"
#include "ptxgraft/dsl/builder.hpp"

namespace ptxgraft::dsl {
namespace {

// The stem of a register's name, by its type: %p1, %rs1, %r1, %rd1, %f1, %fd1 as NVIDIA's compilers have
// them, and the like for the rest.
constexpr std::string_view stem_of(Type type) {
    switch (type) {
        case Type::pred: return "%p";
        case Type::b8: return "%rc";
        case Type::b16: return "%rs";
        case Type::b32: return "%r";
        case Type::b64: return "%rd";
        case Type::b128: return "%rq";
        case Type::u8: return "%uc";
        case Type::u16: return "%us";
        case Type::u32: return "%u";
        case Type::u64: return "%ud";
        case Type::s8: return "%sc";
        case Type::s16: return "%ss";
        case Type::s32: return "%s";
        case Type::s64: return "%sd";
        case Type::f32: return "%f";
        case Type::f64: return "%fd";
        default: return {};
    }
}

}  // namespace

// The names that operands refer to, and the numbers of the next ones.
struct Emitter::Names {
    std::pmr::monotonic_buffer_resource memory;
    std::array<std::uint32_t, std::size(syntax::types)> registers = {};  // by type
    std::string named;                                                   // ".reg .f32 %acc;" and so on
    std::uint32_t labels = 0;
};

Emitter::Emitter(Target target) : target_(target), names_(std::make_unique<Names>()) {}
Emitter::~Emitter() = default;

std::string_view Emitter::own(std::string_view text) {
    auto* const copy = static_cast<char*>(names_->memory.allocate(text.size(), 1));
    text.copy(copy, text.size());
    return {copy, text.size()};
}

std::string_view Emitter::own_name(std::string_view name) {
    if (!is_identifier(name))
        (void)keep(fail(Errc::argument_invalid, fmt::format("'{}' is no name", name)));
    else if (isa::find_special(name))
        (void)keep(fail(Errc::name_taken, fmt::format("{} is a special register", name)));
    else if (name == "WARP_SZ")
        (void)keep(fail(Errc::name_taken, "WARP_SZ is a constant of PTX"));
    return own(name);
}

std::string_view Emitter::new_register(Type type, std::string_view name) {
    if (!name.empty()) {
        const std::size_t errors = errors_.size();
        const std::string_view made = own_name(std::string("%").append(name));
        if (errors_.size() == errors)
            names_->named.append("\t.reg ")
                .append(syntax::row(type).word)
                .append(" ")
                .append(made)
                .append(";\n");
        return made;
    }
    const std::string_view stem = stem_of(type);
    char text[16];
    stem.copy(text, stem.size());
    const std::uint32_t number = ++names_->registers[static_cast<std::size_t>(type)];
    const auto end = std::to_chars(text + stem.size(), text + sizeof text, number).ptr;
    return own({text, static_cast<std::size_t>(end - text)});
}

void Emitter::declare_registers(std::string& out) const {
    for (std::size_t i = 0; i < names_->registers.size(); ++i)
        if (const std::uint32_t count = names_->registers[i]; count > 0)
            fmt::format_to(std::back_inserter(out), "\t.reg {} {}<{}>;\n", syntax::types[i].word,
                           stem_of(static_cast<Type>(i)), count + 1);
    out.append(names_->named);
}

Label Emitter::label(std::string_view stem) {
    const std::string number = std::to_string(++names_->labels);
    // An underscore keeps those of stem "L1" apart from L12.
    return {own_name(std::string(stem.empty() ? "L" : stem).append(stem.empty() ? "" : "_").append(number))};
}

void Emitter::place(Label label) { body_.append(label.name).append(":\n"); }

void Emitter::raw(std::string_view line) { body_.append("\t").append(line).append("\n"); }

void Emitter::comment(std::string_view text) {
    std::string line(text);
    for (char& c : line)
        if (c == '\n' || c == '\r') c = ' ';
    raw("// " + line);
}

void Emitter::pragma(std::string_view text) {
    if (text.find_first_of("\"\\\r\n") != std::string_view::npos)
        return (void)keep(fail(Errc::directive_invalid, "a .pragma is one line without quotes"));
    raw(fmt::format(".pragma \"{}\";", text));
}

void Emitter::begin(std::string_view name) {
    ++instructions_;
    body_.push_back('\t');
    if (!guard_.empty()) body_.append(is_guard_negated_ ? "@!" : "@").append(guard_).append(" ");
    body_.append(name);
}

void Emitter::line(std::uint32_t number) {
    if (number == last_line_) return;
    last_line_ = number;
    raw(fmt::format(".loc {} {} 1", file_, number));
}

void Emitter::show_lines(std::uint32_t file, std::string_view name) {
    has_lines_ = true;
    file_ = file;
    file_hash_ = hash_of_file(name);
}

void Emitter::keep_second_guard(std::string_view first, std::string_view second) {
    (void)keep(fail(
        Errc::guard_invalid,
        fmt::format("an instruction has one guard: {} within the instructions under {}", second, first)));
}

Expected<void> Emitter::keep(tl::unexpected<Error> error) {
    errors_.push_back(error.value());
    return error;
}

std::vector<Shape> Emitter::shapes_of(std::span<const AnyOperand> operands) {
    std::vector<Shape> shapes;
    shapes.reserve(operands.size());
    for (const AnyOperand& operand : operands) shapes.push_back(operand.shape());
    return shapes;
}

Expected<void> Emitter::check(std::string_view name, std::span<const Shape> operands) {
    if (find_form(name, operands, target_).row != nullptr) return {};
    const InstructionProblem problem = explain(name, operands, target_);
    return keep(fail(problem.code, fmt::format("{}: {}", name, problem.message.view())));
}

Expected<void> Emitter::emit_list(std::string_view name, std::span<const AnyOperand> operands) {
    TRY(check(name, shapes_of(operands)));
    begin(name);
    for (std::size_t i = 0; i < operands.size(); ++i)
        body_.append(i == 0 ? " " : ", ").append(operands[i].text());
    body_.append(";\n");
    return {};
}

void Emitter::require(std::string_view name, const isa::Match& match) {
    if (is_available(match, target_)) return;
    const InstructionProblem problem = checking::unavailable(name, match, target_);
    (void)keep(fail(problem.code, std::string(problem.message.view())));
}

}  // namespace ptxgraft::dsl
