// Sites of tasks: their programs, the points of their inputs, and what is right there.

#include "search/task/task_site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "arithmetic/rounding.hpp"
#include "base/try.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/expression.hpp"
#include "search/gates/columns.hpp"
#include "search/random.hpp"

namespace ptxgraft::search {
namespace {

using json::check_keys;
using json::check_kind;
using json::JsonKind;
using json::JsonValue;
using json::mistake;
using json::needed;
using json::real_number;
using json::text_of;
using json::within;

constexpr std::uint64_t most_points = std::uint64_t{1} << 24;
constexpr std::array<std::string_view, 4> measures = {"absolute", "relative", "ulp", "bits"};

struct Register {
    std::string name;  ///< of its operand
    Type type;
    Direction direction;
    [[nodiscard]] std::size_t bytes() const { return std::max(bits(type) / 8, 1u); }
};
std::vector<Register> registers_of(const Signature& signature) {
    std::vector<Register> made;
    for (const SiteOperand& operand : signature.operands)
        made.insert(made.end(), std::max(operand.count, 1u), {operand.name, operand.type, operand.direction});
    return made;
}

// A number as the bits of a type.
std::uint64_t bits_of(Type type, double value) {
    switch (type) {
        case Type::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        case Type::f64: return std::bit_cast<std::uint64_t>(value);
        case Type::f16: return arithmetic::round_to(arithmetic::f16_format, value, arithmetic::Rounding::rn);
        case Type::bf16:
            return arithmetic::round_to(arithmetic::bf16_format, value, arithmetic::Rounding::rn);
        default:
            return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                             : static_cast<std::uint64_t>(value);
    }
}
// The value of bits of a type, for the reference.
double value_of(Type type, std::uint64_t bits) {
    switch (type) {
        case Type::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        case Type::f64: return std::bit_cast<double>(bits);
        case Type::f16: return arithmetic::value_of(arithmetic::f16_format, static_cast<std::uint32_t>(bits));
        case Type::bf16:
            return arithmetic::value_of(arithmetic::bf16_format, static_cast<std::uint32_t>(bits));
        case Type::s16: return static_cast<std::int16_t>(bits);
        case Type::s32: return static_cast<std::int32_t>(bits);
        case Type::s64: return static_cast<double>(static_cast<std::int64_t>(bits));
        default: return static_cast<double>(bits);
    }
}

// Whether the type has a number of this size; a fraction of an integer is left out.
bool has_room(Type type, double value) {
    if (is_float(type)) return std::isfinite(value_of(type, bits_of(type, value)));
    const int width = static_cast<int>(std::max(bits(type), 1u));
    const double low = type == Type::pred ? 0 : -std::ldexp(1.0, width - 1);
    return value >= low && value < std::ldexp(1.0, width);
}

class CasesReader {
  public:
    explicit CasesReader(const Signature& signature) : signature_(signature) {}
    Expected<Cases> read(const JsonValue& said) {
        TRY(read_inputs(said));
        TRY(read_reference(said));
        TRY(read_measure(said));
        return std::move(cases_);
    }

  private:
    // ---- points
    Expected<void> read_inputs(const JsonValue& root) {
        registers_ = registers_of(signature_);
        const JsonValue& inputs = *TRY(needed(root, "inputs"));
        TRY(check_kind(inputs, JsonKind::object, "inputs"));
        for (const JsonValue& input : inputs.items) {
            const SiteOperand* const operand = signature_.find(input.key);
            if (operand == nullptr || operand->direction == Direction::out)
                return mistake(input.key_span, fmt::format("\"{}\" is no input of the signature", input.key));
            TRY(find_count(input));
        }
        if (cases_.count == 0)
            return mistake(inputs.span, "one of the inputs needs a \"count\", or is a list");
        std::uint64_t salt = 0;
        for (const Register& r : registers_) {
            cases_.inputs.emplace_back();
            ++salt;
            if (r.direction == Direction::out) continue;
            const JsonValue* const input = inputs.find(r.name);
            if (input == nullptr)
                return mistake(inputs.span, fmt::format("the input \"{}\" is missing", r.name));
            const std::vector<std::uint64_t> words = TRY(points_of(*input, r.type, salt));
            std::vector<std::byte>& column = cases_.inputs.back();
            column.resize(words.size() * r.bytes());
            for (std::size_t k = 0; k < words.size(); ++k)
                std::memcpy(column.data() + k * r.bytes(), &words[k], r.bytes());
        }
        return {};
    }
    Expected<void> find_count(const JsonValue& input) {
        std::uint64_t count = input.items.size();
        if (input.kind == JsonKind::object) {
            TRY(check_keys(input, input.key, {"from", "to", "count", "uniform", "seed", "words"}));
            const JsonValue* const value = input.find("count");
            if (value == nullptr) return {};
            count = TRY(json::whole_number(*value, "count", 1, most_points));
        } else {
            TRY(check_kind(input, JsonKind::array, input.key));
            if (count == 0) return mistake(input.span, fmt::format("\"{}\" has no values", input.key));
        }
        if (cases_.count != 0 && cases_.count != count)
            return mistake(input.span, fmt::format("\"{}\" has {} points, another input has {}", input.key,
                                                   count, cases_.count));
        cases_.count = count;
        return {};
    }
    Expected<std::vector<std::uint64_t>> points_of(const JsonValue& input, Type type, std::uint64_t salt) {
        std::vector<std::uint64_t> made;
        if (input.kind == JsonKind::array) {
            for (const double number : TRY(numbers_of(input, input.key))) {
                if (!is_float(type) && !(number == std::floor(number) && has_room(type, number)))
                    return mistake(input.span, fmt::format("{} is no {}", number, name(type)));
                made.push_back(bits_of(type, number));
            }
            return made;
        }
        if (const JsonValue* seed = input.find("words")) return words(*seed, type, salt);
        if (const JsonValue* range = input.find("uniform")) return uniform(input, *range, type, salt);
        const double from = TRY(end_of(*TRY(needed(input, "from")), type));
        const double to = TRY(end_of(*TRY(needed(input, "to")), type));
        const auto last = static_cast<double>(std::max<std::size_t>(cases_.count - 1, 1));
        for (std::size_t k = 0; k < cases_.count; ++k) {
            const double at = static_cast<double>(k) / last;
            made.push_back(bits_of(type, k + 1 == cases_.count && k != 0 ? to : from + (to - from) * at));
        }
        return made;
    }
    static Expected<double> end_of(const JsonValue& value, Type type) {
        const double number = TRY(real_number(value, value.key.empty() ? "uniform" : value.key));
        if (has_room(type, number)) return number;
        return mistake(value.span, fmt::format("{} is no {}", number, name(type)));
    }
    Expected<std::vector<std::uint64_t>> uniform(const JsonValue& input, const JsonValue& range, Type type,
                                                 std::uint64_t salt) {
        const std::vector<double> ends = TRY(numbers_of(range, "uniform"));
        if (ends.size() != 2 || !(ends[0] <= ends[1]))
            return mistake(range.span, "\"uniform\" is two numbers, the smaller one first");
        for (const JsonValue& end : range.items) TRY(end_of(end, type));
        std::uint64_t seed = 1;
        if (const JsonValue* value = input.find("seed"))
            seed = TRY(json::whole_number(*value, "seed", 0, ~std::uint64_t{0}));
        Random random = random_for(seed, salt, 0);
        std::vector<std::uint64_t> made;
        for (std::size_t k = 0; k < cases_.count; ++k) {
            const double span = ends[1] - ends[0] + (is_float(type) ? 0 : 1);
            const double value = ends[0] + span * random.unit();
            made.push_back(bits_of(type, is_float(type) ? value : std::min(std::floor(value), ends[1])));
        }
        return made;
    }
    Expected<std::vector<std::uint64_t>> words(const JsonValue& seed, Type type, std::uint64_t salt) {
        if (is_float(type))
            return mistake(seed.span, "\"words\" are for integers; floats have \"from\" or \"uniform\"");
        Random random = random_for(TRY(json::whole_number(seed, "words", 0, ~std::uint64_t{0})), salt, 0);
        const unsigned width = std::max(bits(type), 1u);
        const std::uint64_t all = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
        std::vector<std::uint64_t> made = {0, 1, all, all >> 1, (all >> 1) + 1, 2, 3, all - 1};
        for (std::uint64_t& edge : made) edge &= all;
        made.resize(std::min(made.size(), cases_.count));
        while (made.size() < cases_.count)
            made.push_back((random.next() & all) >> (random.below(2) == 0 ? 0 : random.below(width)));
        // the edges of one operand meet others of the next
        if (salt > 1)
            std::rotate(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(salt * 7 % made.size()),
                        made.end());
        return made;
    }

    // ---- what is right
    Expected<void> read_reference(const JsonValue& root) {
        const JsonValue& value = *TRY(needed(root, "reference"));
        if (value.kind == JsonKind::string) return by_expression(value.text);
        TRY(check_keys(value, "reference", {"program", "values"}));
        if (const JsonValue* program = value.find("program"))
            return by_program(TRY(text_of(*program, "program")));
        return by_values(*TRY(needed(value, "values")));
    }
    Expected<void> by_values(const JsonValue& lists) {
        TRY(check_kind(lists, JsonKind::array, "values"));
        std::size_t next = 0;
        for (const Register& r : registers_) {
            cases_.right.emplace_back();
            if (r.direction == Direction::in) continue;
            if (next == lists.items.size())
                return mistake(lists.span, "\"values\" has a list for each mod or out register");
            cases_.right.back() = TRY(numbers_of(lists.items[next], "values"));
            if (cases_.right.back().size() != cases_.count)
                return mistake(lists.items[next].span,
                               fmt::format("{} values, not {}", cases_.right.back().size(), cases_.count));
            ++next;
        }
        if (next != lists.items.size())
            return mistake(lists.span, fmt::format("\"values\" has {} lists", next));
        return {};
    }
    // Over operands that are f64 where those of the task are floats.
    Expected<void> by_expression(const std::string& text) {
        Signature wide = signature_;
        for (SiteOperand& operand : wide.operands)
            if (is_float(operand.type)) operand.type = Type::f64;
        const auto machine = TRY(stack::Machine::make(expression_set(), wide));
        const auto program = TRY(within(parse_expression(text, machine), "the reference", text));
        return evaluate_reference(program, machine, registers_of(wide));
    }
    Expected<void> by_program(const std::string& text) {
        const auto machine = TRY(stack::Machine::make(stack::find_set("full"), signature_));
        const auto program = TRY(within(stack::parse(text, machine), "the reference", text));
        return evaluate_reference(program, machine, registers_);
    }
    Expected<void> evaluate_reference(const stack::Program& program, const stack::Machine& machine,
                                      const std::vector<Register>& wide) {
        const std::size_t count = cases_.count;
        std::vector<std::vector<std::byte>> columns(wide.size());
        std::vector<const void*> in;
        std::vector<void*> out;
        for (std::size_t r = 0; r < wide.size(); ++r) {
            columns[r].resize(count * wide[r].bytes());
            for (std::size_t k = 0; k < count && wide[r].direction != Direction::out; ++k) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, cases_.inputs[r].data() + k * registers_[r].bytes(),
                            registers_[r].bytes());
                if (wide[r].type != registers_[r].type)
                    bits = std::bit_cast<std::uint64_t>(value_of(registers_[r].type, bits));
                std::memcpy(columns[r].data() + k * wide[r].bytes(), &bits, wide[r].bytes());
            }
            in.push_back(columns[r].data());
            out.push_back(columns[r].data());
        }
        TRY(stack::evaluate(program, machine, {in, out, count}));
        for (std::size_t r = 0; r < wide.size(); ++r) {
            cases_.right.emplace_back();
            for (std::size_t k = 0; k < count && wide[r].direction != Direction::in; ++k) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, columns[r].data() + k * wide[r].bytes(), wide[r].bytes());
                cases_.right.back().push_back(value_of(wide[r].type, bits));
            }
        }
        return {};
    }
    Expected<void> read_measure(const JsonValue& root) {
        Cases& cases = cases_;
        cases.measure = Measure::bits;
        for (const Register& r : registers_)
            if (r.direction != Direction::in && is_float(r.type)) cases.measure = Measure::absolute;
        if (const JsonValue* value = root.find("measure"))
            cases.measure = TRY(json::choice<Measure>(*value, "measure", measures));
        if (const JsonValue* value = root.find("bound")) cases.bound = TRY(json::distance_of(*value));
        if (const JsonValue* value = root.find("screen"))
            cases.screen = static_cast<std::uint32_t>(TRY(json::whole_number(*value, "screen", 1, 65536)));
        return {};
    }

    const Signature& signature_;
    Cases cases_;
    std::vector<Register> registers_;
};

Expected<std::shared_ptr<const stack::InstructionSet>> set_of(const JsonValue& value, std::string_view site) {
    if (value.kind == JsonKind::string) {
        auto found = stack::find_set(value.text);
        if (found == nullptr)
            return mistake(value.span, fmt::format("no set is named \"{}\"; there are {}", value.text,
                                                   fmt::join(stack::set_names(), ", ")));
        return found;
    }
    TRY(check_kind(value, JsonKind::array, "set"));
    std::string lines;
    for (const JsonValue& item : value.items) lines += TRY(text_of(item, "set")) + "\n";
    return within(stack::InstructionSet::parse(lines), fmt::format("the set of {}", site), lines);
}

}  // namespace

Expected<std::vector<double>> numbers_of(const JsonValue& value, std::string_view key) {
    TRY(check_kind(value, JsonKind::array, key));
    std::vector<double> made;
    for (const JsonValue& item : value.items) made.push_back(TRY(real_number(item, key)));
    return made;
}

Expected<Cases> cases_of(const JsonValue& said, const Signature& signature) {
    return CasesReader(signature).read(said);
}

Expected<SiteSpace> site_of(const JsonValue& said, std::string name, const Signature& signature,
                            const stack::MachineOptions& options) {
    const JsonValue& lines = *TRY(needed(said, "set"));
    auto set = TRY(set_of(lines, name));
    if (set->entries().empty()) return mistake(lines.span, "the set has no instruction");
    auto machine = TRY(stack::Machine::make(std::move(set), signature, options));
    SiteSpace site{.name = std::move(name), .machine = std::move(machine), .seeds = {}, .max_genes = 32};
    if (const JsonValue* genes = said.find("genes"))
        site.max_genes = static_cast<std::uint32_t>(TRY(json::whole_number(*genes, "genes", 1, 65536)));
    const auto read_programs = [&](std::string_view key, std::vector<stack::Program>& to) -> Expected<void> {
        const JsonValue* const list = said.find(key);
        if (list == nullptr) return {};
        TRY(check_kind(*list, JsonKind::array, key));
        for (const JsonValue& item : list->items) {
            const std::string program = TRY(text_of(item, key));
            const std::string which = fmt::format("{}[{}] of {}", key, to.size(), site.name);
            to.push_back(TRY(within(stack::parse(program, site.machine), which, program)));
        }
        return {};
    };
    TRY(read_programs("seeds", site.seeds));
    for (std::size_t k = 0; k < site.seeds.size(); ++k)
        if (site.seeds[k].code.size() > site.max_genes)
            return mistake(said.find("seeds")->items[k].span,
                           fmt::format("the seed has {} instructions, \"genes\" allows {}",
                                       site.seeds[k].code.size(), site.max_genes));
    TRY(read_programs("library", site.library));
    return site;
}

}  // namespace ptxgraft::search
