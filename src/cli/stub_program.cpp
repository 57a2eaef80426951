// A stub on the command line, in whichever language: compiled, with warnings of what does nothing, or
// evaluated.

#include "stub_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "ptxgraft/evaluate.hpp"
#include "verb.hpp"

namespace ptxgraft::cli {

stack::CompileOptions StubContext::compile_options() const {
    stack::CompileOptions options;
    options.missing = is_strict ? stack::Missing::error : stack::Missing::skip;
    options.leftover = is_strict ? stack::Leftover::error : stack::Leftover::allow;
    return options;
}

namespace {

void warn(const Error& error, const StubProgram& program) {
    std::string text = describe(error, program.text, program.file);
    constexpr std::string_view word = "error: ";
    if (const std::size_t at = text.find(word); at != std::string::npos)
        text.replace(at, word.size(), "warning: ");
    std::fwrite(text.data(), 1, text.size(), stderr);
}

Expected<Stub> compile_text(const StubProgram& program, const StubContext& context,
                            const stack::CompileOptions& options) {
    return stack::compile(program.text, context.signature, {context.set, options, context.target},
                          context.policy);
}

// Warns of all instructions that do nothing because operands are missing, but for the place of an error that
// follows. Nothing else is forgiven.
void warn_of_missing(const StubProgram& program, const StubContext& context,
                     const stack::CompileOptions& options, Span error) {
    constexpr std::size_t most = 20;
    const std::vector<Error> missing = stack::find_missing(
        program.text, context.signature, {context.set, options, context.target}, context.policy);
    for (const Error& one : missing)
        if (one.code != Errc::stack_values_missing) fail_work(one, program.text, program.file);
    for (std::size_t i = 0; i < std::min(missing.size(), most); ++i)
        if (missing[i].span != error) warn(missing[i], program);
    if (missing.size() > most)
        std::fputs(fmt::format("warning: {} more such\n", missing.size() - most).c_str(), stderr);
}

// An instruction whose operands are missing does nothing, with a warning.
Stub compile_leniently(const StubProgram& program, const StubContext& context) {
    stack::CompileOptions options = context.compile_options();
    options.missing = stack::Missing::error;
    auto complete = compile_text(program, context, options);
    if (complete) return std::move(*complete);
    if (complete.error().code != Errc::stack_values_missing)
        fail_work(complete.error(), program.text, program.file);
    auto stub = compile_text(program, context, context.compile_options());
    warn_of_missing(program, context, context.compile_options(), stub ? Span{} : stub.error().span);
    return take(std::move(stub), program.text, program.file);
}

void warn_of_leftovers(const StubProgram& program, const StubContext& context) {
    stack::CompileOptions options = context.compile_options();
    options.leftover = stack::Leftover::error;
    const auto used = compile_text(program, context, options);
    if (!used && used.error().code == Errc::stack_leftover) warn(used.error(), program);
}

Stub compile_stack_text(const StubProgram& program, const StubContext& context) {
    if (context.is_strict)
        return take(compile_text(program, context, context.compile_options()), program.text, program.file);
    auto stub = compile_leniently(program, context);
    warn_of_leftovers(program, context);
    return stub;
}

}  // namespace

Stub compile_stub(const StubProgram& program, const StubContext& context) {
    switch (program.language) {
        case Language::ptx:
            return take(Stub::from_ptx(program.text, context.signature, context.policy), program.text,
                        program.file);
        case Language::expression:
            return take(
                compile_expression(program.text, context.signature, context.expression, context.policy),
                program.text, program.file);
        case Language::stack: break;
    }
    return compile_stack_text(program, context);
}

namespace {

// The values of one register at all points.
using Column = std::vector<std::byte>;

std::size_t bytes_of(Type type) { return type == Type::pred ? 1 : bits(type) / 8; }

// Digits in upper case: behind them a type's name is no digit.
std::string upper_digits(std::string text) {
    if (text.starts_with("0x") || text.starts_with("0X"))
        std::transform(text.begin() + 2, text.end(), text.begin() + 2,
                       [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
    return text;
}

// Reads the values of operands of a type by running the literals as programs.
class ValueReader {
  public:
    ValueReader(Type type, const std::shared_ptr<const stack::InstructionSet>& set)
        : type_(type),
          machine_(
              take(stack::Machine::make(set, take(Signature::parse(fmt::format("out {} v", name(type))))))) {}

    // As it is, or with the type's name behind it; nothing if it is no value of the type.
    [[nodiscard]] Expected<std::uint64_t> read(std::string_view value) const {
        if (type_ == Type::pred && (value == "0" || value == "1")) return std::uint64_t{value == "1"};
        const auto plain = run(std::string(value));  // first: in 0x3C00f16 the end is the type and no digits
        if (plain) return plain;
        return run(upper_digits(std::string(value)) + std::string(type_ == Type::pred ? "" : suffix()));
    }

  private:
    [[nodiscard]] std::string_view suffix() const {
        return type_ == Type::b16   ? "u16"
               : type_ == Type::b32 ? "u32"
               : type_ == Type::b64 ? "u64"
                                    : name(type_);
    }
    [[nodiscard]] Expected<std::uint64_t> run(const std::string& literal) const {
        const std::string text = literal + " -> v";
        const auto program = stack::parse(text, machine_);
        if (!program) return tl::unexpected(program.error());
        const bool is_literal = program->code.size() == 2 && program->code[0].opcode != stack::Opcode::form;
        if (!is_literal) return fail(Errc::stack_literal_malformed, literal);
        std::uint64_t bits = 0;
        void* outputs[] = {&bits};
        const void* inputs[] = {nullptr};
        const auto done =
            stack::evaluate(*program, machine_, {inputs, outputs, 1}, {.leftover = stack::Leftover::error});
        return done ? Expected<std::uint64_t>(bits) : tl::unexpected(done.error());
    }

    Type type_;
    stack::Machine machine_;
};

std::string register_text(const SiteOperand& operand, std::uint32_t element) {
    return operand.count == 0 ? operand.name : fmt::format("{}[{}]", operand.name, element);
}

// What `NAME=VALUES` gives for each register of the signature.
class Values {
  public:
    explicit Values(const StubContext& context) : context_(context) {
        for (const SiteOperand& operand : context.signature.operands)
            for (std::uint32_t i = 0; i < std::max(operand.count, 1u); ++i)
                registers_.push_back({&operand, register_text(operand, i), {}, false});
    }

    void read(const std::string& argument) {
        const NamedValue given = split_named("--evaluate", argument);
        const auto found = std::find_if(registers_.begin(), registers_.end(),
                                        [&](const Register& r) { return r.name == given.name; });
        if (found == registers_.end())
            fail_usage(fmt::format("--evaluate: there is no operand {}; there are {}", given.name, names()));
        if (found->operand->direction == Direction::out)
            fail_usage(fmt::format("--evaluate: {} is `out`: it has no value to give", given.name));
        if (std::exchange(found->is_given, true))
            fail_usage(fmt::format("--evaluate: {} is given twice", given.name));
        const ValueReader reader(found->operand->type, context_.set);
        for (std::size_t begin = 0; begin <= given.value.size();) {
            const std::size_t end = std::min(given.value.find(',', begin), given.value.size());
            const std::string value = given.value.substr(begin, end - begin);
            const auto bits = reader.read(value);
            if (!bits)
                fail_usage(fmt::format("--evaluate: {} is {}: '{}' is no value of it: {}", given.name,
                                       ptxgraft::name(found->operand->type), value,
                                       message(bits.error(), value)));
            const auto* bytes = reinterpret_cast<const std::byte*>(&*bits);
            found->values.insert(found->values.end(), bytes, bytes + bytes_of(found->operand->type));
            begin = end + 1;
        }
    }

    // Points: as many as values are given for each operand; one where no operand has any.
    [[nodiscard]] std::size_t count() const {
        std::optional<std::size_t> count;
        const Register* first = nullptr;
        for (const Register& r : registers_) {
            if (r.operand->direction == Direction::out) continue;
            if (!r.is_given)
                fail_usage(fmt::format("--evaluate: {} has no value; give {}=1,2,3", r.name, r.name));
            const std::size_t own = r.values.size() / bytes_of(r.operand->type);
            if (count && own != *count)
                fail_usage(fmt::format("--evaluate: {} has {} values and {} has {}", first->name, *count,
                                       r.name, own));
            if (!count) first = &r;
            count = own;
        }
        return count.value_or(1);
    }

    // The columns after the program; those of `mod` operands begin with their input.
    [[nodiscard]] stack::Columns columns(std::size_t count) {
        for (Register& r : registers_) {
            r.values.resize(count * bytes_of(r.operand->type));
            inputs_.push_back(r.operand->direction == Direction::out ? nullptr : r.values.data());
            outputs_.push_back(r.operand->direction == Direction::in ? nullptr : r.values.data());
        }
        return {inputs_, outputs_, count};
    }

    [[nodiscard]] std::vector<OutputValues> outputs(std::size_t count) const;

  private:
    struct Register {
        const SiteOperand* operand;
        std::string name;
        Column values;
        bool is_given;
    };

    [[nodiscard]] std::string names() const {
        std::string all;
        for (const Register& r : registers_)
            if (r.operand->direction != Direction::out) all.append(all.empty() ? "" : ", ").append(r.name);
        return all;
    }

    const StubContext& context_;
    std::vector<Register> registers_;
    std::vector<const void*> inputs_;
    std::vector<void*> outputs_;
};

// f16: 5 and 10 bits of exponent and mantissa; bf16: 8 and 7.
float half_value(std::uint64_t bits, int exponent_bits) {
    if (exponent_bits == 8) return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
    const float size = exponent == 31
                           ? (mantissa != 0 ? NAN : INFINITY)
                           : std::ldexp(static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024),
                                        std::max(exponent, 1) - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

template <class T> std::string float_text(T value) {
    return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

std::vector<OutputValues> Values::outputs(std::size_t count) const {
    std::vector<OutputValues> all;
    for (const Register& r : registers_) {
        if (r.operand->direction == Direction::in) continue;
        OutputValues& output = all.emplace_back(OutputValues{r.name, r.operand->type, {}});
        const std::size_t size = bytes_of(r.operand->type);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t value = 0;
            std::memcpy(&value, r.values.data() + i * size, size);
            output.bits.push_back(value);
        }
    }
    return all;
}

// The program alone at its place in the file, so that errors have their line.
std::string without_signature_line(const StubProgram& program) {
    std::string text = program.text;
    const std::uint32_t offset = take(stack::parse_file(text), text, program.file).program_offset;
    std::replace_if(
        text.begin(), text.begin() + offset, [](char c) { return c != '\n'; }, ' ');
    return text;
}

}  // namespace

std::string value_text(Type type, std::uint64_t bits) {
    switch (type) {
        case Type::pred: return bits != 0 ? "true" : "false";
        case Type::s16: return fmt::format("{}", static_cast<std::int16_t>(bits));
        case Type::s32: return fmt::format("{}", static_cast<std::int32_t>(bits));
        case Type::s64: return fmt::format("{}", static_cast<std::int64_t>(bits));
        case Type::f16: return float_text(half_value(bits, 5));
        case Type::bf16: return float_text(half_value(bits, 8));
        case Type::f32: return float_text(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        case Type::f64: return float_text(std::bit_cast<double>(bits));
        case Type::f16x2:
        case Type::bf16x2: return fmt::format("0x{:08X}", bits);
        default: return fmt::format("{}", bits);
    }
}

std::string bits_text(Type type, std::uint64_t bits) {
    return type == Type::pred ? fmt::format("0x{:x}", bits)
                              : fmt::format("0x{:0{}x}", bits, 2 * bytes_of(type));
}

std::vector<OutputValues> evaluate_stub(const StubProgram& program, const StubContext& context,
                                        const std::vector<std::string>& values) {
    if (program.language == Language::ptx)
        fail_usage("--evaluate runs stack programs and expressions, not PTX");
    (void)compile_stub(program, context);  // its errors and warnings
    const auto machine =
        take(stack::Machine::make(context.set, context.signature, {context.policy, context.target, 0}));
    const bool is_stack = program.language == Language::stack;
    const std::string text = is_stack ? without_signature_line(program) : program.text;
    const stack::Program parsed =
        take(is_stack ? stack::parse(text, machine) : parse_expression(text, machine, context.expression),
             text, program.file);
    const auto evaluator =
        take(stack::Evaluator::make(parsed, machine,
                                    is_stack ? context.compile_options() : stack::CompileOptions{}),
             text, program.file);
    Values all(context);
    for (const std::string& value : values)
        if (!value.empty()) all.read(value);  // --evaluate alone is one empty value
    const std::size_t count = all.count();
    evaluator.run(all.columns(count));
    return all.outputs(count);
}

}  // namespace ptxgraft::cli
