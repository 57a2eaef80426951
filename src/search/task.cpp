// Tasks: JSON to a space, cases and options. Every mistake is an error at its place.

#include "ptxgraft/search_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arithmetic/rounding.hpp"
#include "base/try.hpp"
#include "json/values.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/expression.hpp"
#include "search/columns.hpp"
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
constexpr std::array<std::string_view, 2> objectives = {"instructions", "error"};
constexpr std::array<std::string_view, 3> strategies = {"evolve", "random", "climb"};
constexpr std::array<std::string_view, 2> axis_names = {"instructions", "error"};

Expected<std::vector<double>> numbers_of(const JsonValue& value, std::string_view key) {
    TRY(check_kind(value, JsonKind::array, key));
    std::vector<double> made;
    for (const JsonValue& item : value.items) made.push_back(TRY(real_number(item, key)));
    return made;
}
Expected<bool> truth_of(const JsonValue& value, std::string_view key) {
    TRY(check_kind(value, JsonKind::boolean, key));
    return value.text == "true";
}

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

class TaskReader {
  public:
    Expected<Task> read(const JsonValue& root, std::string_view text) {
        TRY(check_keys(
            root, "a task",
            {"name", "signature", "set", "genes", "seeds", "constants", "tunables", "inputs", "reference",
             "measure", "bound", "screen", "perturb", "objective", "axes", "options", "budget", "target"}));
        task_.options.task = text;
        TRY(read_site(root));
        TRY(read_space(root));
        TRY(read_inputs(root));
        TRY(read_reference(root));
        TRY(read_measure(root));
        TRY(read_axes(root));
        if (const JsonValue* value = root.find("options")) TRY(read_options(*value));
        if (const JsonValue* value = root.find("budget")) TRY(read_budget(*value));
        if (const JsonValue* value = root.find("target")) TRY(read_target(*value));
        return std::move(task_);
    }

  private:
    [[nodiscard]] SiteSpace& site() { return task_.space.sites[0]; }
    [[nodiscard]] const Signature& signature() const { return task_.space.sites[0].machine.signature(); }

    // ---- the space
    Expected<std::shared_ptr<const stack::InstructionSet>> set_of(const JsonValue& value) {
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
        return within(stack::InstructionSet::parse(lines), "the set", lines);
    }
    Expected<void> read_site(const JsonValue& root) {
        const std::string text = TRY(text_of(*TRY(needed(root, "signature")), "signature"));
        const auto signature = TRY(within(Signature::parse(text), "the signature", text));
        const JsonValue& lines = *TRY(needed(root, "set"));
        auto set = TRY(set_of(lines));
        if (set->entries().empty()) return mistake(lines.span, "the set has no instruction");
        auto machine = TRY(stack::Machine::make(std::move(set), signature));
        task_.space.sites.push_back(
            {.name = "f", .machine = std::move(machine), .seeds = {}, .max_genes = 32});
        if (const JsonValue* name = root.find("name")) site().name = TRY(text_of(*name, "name"));
        if (const JsonValue* genes = root.find("genes"))
            site().max_genes = static_cast<std::uint32_t>(TRY(json::whole_number(*genes, "genes", 1, 65536)));
        if (const JsonValue* seeds = root.find("seeds")) {
            TRY(check_kind(*seeds, JsonKind::array, "seeds"));
            for (const JsonValue& seed : seeds->items) {
                const std::string program = TRY(text_of(seed, "seeds"));
                site().seeds.push_back(TRY(within(stack::parse(program, site().machine), "a seed", program)));
            }
        }
        return {};
    }
    Expected<void> read_space(const JsonValue& root) {
        if (const JsonValue* value = root.find("constants"))
            task_.space.constants = TRY(numbers_of(*value, "constants"));
        const JsonValue* const tunables = root.find("tunables");
        if (tunables == nullptr) return {};
        TRY(check_kind(*tunables, JsonKind::object, "tunables"));
        for (const JsonValue& tunable : tunables->items) {
            Tunable made{.name = tunable.key, .values = {}};
            for (const double number : TRY(numbers_of(tunable, tunable.key))) {
                if (number != std::floor(number) || std::abs(number) > 0x1p53)
                    return mistake(tunable.span,
                                   fmt::format("the values of \"{}\" are whole numbers", tunable.key));
                made.values.push_back(static_cast<std::int64_t>(number));
            }
            if (made.values.empty())
                return mistake(tunable.span, fmt::format("\"{}\" has no value", tunable.key));
            task_.space.tunables.push_back(std::move(made));
        }
        return {};
    }

    // ---- points
    Expected<void> read_inputs(const JsonValue& root) {
        registers_ = registers_of(signature());
        const JsonValue& inputs = *TRY(needed(root, "inputs"));
        TRY(check_kind(inputs, JsonKind::object, "inputs"));
        for (const JsonValue& input : inputs.items) {
            const SiteOperand* const operand = signature().find(input.key);
            if (operand == nullptr || operand->direction == Direction::out)
                return mistake(input.key_span, fmt::format("\"{}\" is no input of the signature", input.key));
            TRY(find_count(input));
        }
        if (task_.cases.count == 0)
            return mistake(inputs.span, "one of the inputs needs a \"count\", or is a list");
        std::uint64_t salt = 0;
        for (const Register& r : registers_) {
            task_.cases.inputs.emplace_back();
            ++salt;
            if (r.direction == Direction::out) continue;
            const JsonValue* const input = inputs.find(r.name);
            if (input == nullptr)
                return mistake(inputs.span, fmt::format("the input \"{}\" is missing", r.name));
            const std::vector<std::uint64_t> words = TRY(points_of(*input, r.type, salt));
            std::vector<std::byte>& column = task_.cases.inputs.back();
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
        if (task_.cases.count != 0 && task_.cases.count != count)
            return mistake(input.span, fmt::format("\"{}\" has {} points, another input has {}", input.key,
                                                   count, task_.cases.count));
        task_.cases.count = count;
        return {};
    }
    Expected<std::vector<std::uint64_t>> points_of(const JsonValue& input, Type type, std::uint64_t salt) {
        std::vector<std::uint64_t> made;
        if (input.kind == JsonKind::array) {
            for (const double number : TRY(numbers_of(input, input.key))) {
                const int width = static_cast<int>(std::max(bits(type), 1u));
                const double low = type == Type::pred ? 0 : -std::ldexp(1.0, width - 1);
                const bool fits =
                    number == std::floor(number) && number >= low && number < std::ldexp(1.0, width);
                if (!is_float(type) && !fits)
                    return mistake(input.span, fmt::format("{} is no {}", number, name(type)));
                made.push_back(bits_of(type, number));
            }
            return made;
        }
        if (const JsonValue* seed = input.find("words")) return words(*seed, type, salt);
        if (const JsonValue* range = input.find("uniform")) return uniform(input, *range, type, salt);
        const double from = TRY(real_number(*TRY(needed(input, "from")), "from"));
        const double to = TRY(real_number(*TRY(needed(input, "to")), "to"));
        const auto last = static_cast<double>(std::max<std::size_t>(task_.cases.count - 1, 1));
        for (std::size_t k = 0; k < task_.cases.count; ++k) {
            const double at = static_cast<double>(k) / last;
            made.push_back(
                bits_of(type, k + 1 == task_.cases.count && k != 0 ? to : from + (to - from) * at));
        }
        return made;
    }
    Expected<std::vector<std::uint64_t>> uniform(const JsonValue& input, const JsonValue& range, Type type,
                                                 std::uint64_t salt) {
        const std::vector<double> ends = TRY(numbers_of(range, "uniform"));
        if (ends.size() != 2 || !(ends[0] <= ends[1]))
            return mistake(range.span, "\"uniform\" is two numbers, the smaller one first");
        std::uint64_t seed = 1;
        if (const JsonValue* value = input.find("seed"))
            seed = TRY(json::whole_number(*value, "seed", 0, ~std::uint64_t{0}));
        Random random = random_for(seed, salt, 0);
        std::vector<std::uint64_t> made;
        for (std::size_t k = 0; k < task_.cases.count; ++k) {
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
        made.resize(std::min(made.size(), task_.cases.count));
        while (made.size() < task_.cases.count)
            made.push_back((random.next() & all) >> (random.below(2) == 0 ? 0 : random.below(width)));
        // the edges of one operand meet others of the next
        if (salt > 1)
            std::ranges::rotate(made, made.begin() + static_cast<std::ptrdiff_t>(salt * 7 % made.size()));
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
            task_.cases.right.emplace_back();
            if (r.direction == Direction::in) continue;
            if (next == lists.items.size())
                return mistake(lists.span, "\"values\" has a list for each mod or out register");
            task_.cases.right.back() = TRY(numbers_of(lists.items[next], "values"));
            if (task_.cases.right.back().size() != task_.cases.count)
                return mistake(
                    lists.items[next].span,
                    fmt::format("{} values, not {}", task_.cases.right.back().size(), task_.cases.count));
            ++next;
        }
        if (next != lists.items.size())
            return mistake(lists.span, fmt::format("\"values\" has {} lists", next));
        return {};
    }
    // Over operands that are f64 where those of the task are floats.
    Expected<void> by_expression(const std::string& text) {
        Signature wide = signature();
        for (SiteOperand& operand : wide.operands)
            if (is_float(operand.type)) operand.type = Type::f64;
        const auto machine = TRY(stack::Machine::make(expression_set(), wide));
        const auto program = TRY(within(parse_expression(text, machine), "the reference", text));
        task_.reference = text;
        return evaluate_reference(program, machine, registers_of(wide));
    }
    Expected<void> by_program(const std::string& text) {
        const auto machine = TRY(stack::Machine::make(stack::find_set("full"), signature()));
        const auto program = TRY(within(stack::parse(text, machine), "the reference", text));
        return evaluate_reference(program, machine, registers_);
    }
    Expected<void> evaluate_reference(const stack::Program& program, const stack::Machine& machine,
                                      const std::vector<Register>& wide) {
        const std::size_t count = task_.cases.count;
        std::vector<std::vector<std::byte>> columns(wide.size());
        std::vector<const void*> in;
        std::vector<void*> out;
        for (std::size_t r = 0; r < wide.size(); ++r) {
            columns[r].resize(count * wide[r].bytes());
            for (std::size_t k = 0; k < count && wide[r].direction != Direction::out; ++k) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, task_.cases.inputs[r].data() + k * registers_[r].bytes(),
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
            task_.cases.right.emplace_back();
            for (std::size_t k = 0; k < count && wide[r].direction != Direction::in; ++k) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, columns[r].data() + k * wide[r].bytes(), wide[r].bytes());
                task_.cases.right.back().push_back(value_of(wide[r].type, bits));
            }
        }
        return {};
    }
    Expected<void> read_measure(const JsonValue& root) {
        Cases& cases = task_.cases;
        cases.measure = Measure::bits;
        for (const Register& r : registers_)
            if (r.direction != Direction::in && is_float(r.type)) cases.measure = Measure::absolute;
        if (const JsonValue* value = root.find("measure"))
            cases.measure = TRY(json::choice<Measure>(*value, "measure", measures));
        if (const JsonValue* value = root.find("bound")) cases.bound = TRY(json::distance_of(*value));
        if (const JsonValue* value = root.find("screen"))
            cases.screen = static_cast<std::uint32_t>(TRY(json::whole_number(*value, "screen", 1, 65536)));
        if (const JsonValue* value = root.find("perturb"))
            task_.columns.perturb = TRY(truth_of(*value, "perturb"));
        if (const JsonValue* value = root.find("objective"))
            task_.columns.objective = TRY(json::choice<Objective>(*value, "objective", objectives));
        return {};
    }

    // ---- the search
    Expected<void> read_axes(const JsonValue& root) {
        Axis instructions{.name = "instructions", .edges = {}}, error{.name = "error", .edges = {}};
        for (int k = 1; k <= 32; ++k) instructions.edges.push_back(k);
        if (const JsonValue* axes = root.find("axes")) {
            TRY(check_keys(*axes, "axes", {"instructions", "error"}));
            if (const JsonValue* value = axes->find("instructions"))
                instructions.edges = TRY(numbers_of(*value, "instructions"));
            if (const JsonValue* value = axes->find("error")) error.edges = TRY(numbers_of(*value, "error"));
            for (const Axis* axis : {&instructions, &error})
                if (!std::ranges::is_sorted(axis->edges))
                    return mistake(axes->find(axis->name)->span, "edges ascend");
        }
        task_.options.axes = {std::move(instructions), std::move(error)};
        return {};
    }
    Expected<void> read_options(const JsonValue& value) {
        Options& o = task_.options;
        TRY(check_keys(value, "options",
                       {"seed", "strategy", "islands", "population", "block", "tournament", "cell_depth",
                        "migration", "stagnation", "attempts", "refine", "adapt", "operators"}));
        const std::pair<std::string_view, std::uint32_t*> numbers[] = {
            {"islands", &o.islands},       {"population", &o.population}, {"block", &o.block},
            {"tournament", &o.tournament}, {"cell_depth", &o.cell_depth}, {"migration", &o.migration},
            {"stagnation", &o.stagnation}, {"attempts", &o.attempts}};
        for (const auto& [key, to] : numbers)
            if (const JsonValue* item = value.find(key))
                *to = static_cast<std::uint32_t>(TRY(json::whole_number(*item, key, 1, 1'000'000'000)));
        if (const JsonValue* item = value.find("seed"))
            o.seed = TRY(json::whole_number(*item, "seed", 0, ~std::uint64_t{0}));
        if (const JsonValue* item = value.find("strategy"))
            o.strategy = TRY(json::choice<Strategy>(*item, "strategy", strategies));
        if (const JsonValue* item = value.find("refine")) o.refine = TRY(truth_of(*item, "refine"));
        if (const JsonValue* item = value.find("adapt")) o.adapt = TRY(truth_of(*item, "adapt"));
        if (const JsonValue* item = value.find("operators")) return read_operators(*item);
        return {};
    }
    Expected<void> read_operators(const JsonValue& value) {
        TRY(check_kind(value, JsonKind::object, "operators"));
        std::vector<Operator> all = default_operators();
        for (const JsonValue& item : value.items) {
            const auto at = std::ranges::find(all, item.key, &Operator::name);
            if (at == all.end())
                return mistake(item.key_span, fmt::format("no operator is named \"{}\"", item.key));
            at->weight = TRY(json::distance_of(item));
        }
        task_.options.operators = std::move(all);
        return {};
    }
    Expected<void> read_budget(const JsonValue& value) {
        TRY(check_keys(value, "budget", {"candidates", "seconds", "cpu_seconds"}));
        if (const JsonValue* item = value.find("candidates"))
            task_.budget.candidates = static_cast<std::uint64_t>(TRY(json::distance_of(*item)));
        if (const JsonValue* item = value.find("seconds"))
            task_.budget.seconds = TRY(json::distance_of(*item));
        if (const JsonValue* item = value.find("cpu_seconds"))
            task_.budget.cpu_seconds = TRY(json::distance_of(*item));
        return {};
    }
    Expected<void> read_target(const JsonValue& value) {
        TRY(check_keys(value, "target", {"cost", "instructions", "error"}));
        Target target{.cost = INFINITY, .descriptor = {INFINITY, INFINITY}};
        if (const JsonValue* item = value.find("cost")) target.cost = TRY(json::distance_of(*item));
        for (std::size_t k = 0; k < axis_names.size(); ++k)
            if (const JsonValue* item = value.find(axis_names[k]))
                target.descriptor[k] = TRY(json::distance_of(*item));
        task_.target = std::move(target);
        return {};
    }

    Task task_;
    std::vector<Register> registers_;
};

}  // namespace

Expected<Task> parse_task(std::string_view text) {
    const auto as_task = [](Error error) {
        if (error.code == Errc::launch_file_invalid) error.code = Errc::task_invalid;
        return tl::unexpected(std::move(error));
    };
    const auto root = json::parse_json(text);
    if (!root) return as_task(root.error());
    auto task = TaskReader().read(*root, text);
    if (!task) return as_task(task.error());
    return task;
}

}  // namespace ptxgraft::search
