// From a graph to a plan: live nodes in order, and the column that each is computed into.

#include "stub/stack/evaluate/plan.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "stub/stack/evaluate/arithmetic_of.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t first_cache = 24 * 1024;  // what a block may take of it
constexpr std::uint32_t most_points = 1024, least_points = 8;
constexpr std::uint32_t never = 0xFFFFFFFFu;

using arithmetic::PureInstruction;

// A value of the plan while it is made. Several nodes share one where a cast or a move changes no bits.
struct Value {
    Place::Kind kind;
    std::uint8_t bytes;
    std::uint32_t at;            // of constants and inputs
    std::uint32_t last = never;  // the last step that reads it, for those in scratch memory
};

class Planner {
  public:
    Planner(const Graph& graph, const Machine::Data& machine)
        : graph_(graph),
          machine_(machine),
          values_of_(graph.nodes.size(), never),
          plan_(std::make_shared<Evaluator::Plan>()) {}

    Expected<std::shared_ptr<const Evaluator::Plan>> make() {
        for (NodeId id = 0; id < graph_.nodes.size(); ++id) TRY(node(id));
        assign();
        place_values();
        choose_block();
        fill_constants();
        return std::shared_ptr<const Evaluator::Plan>(plan_);
    }

  private:
    [[nodiscard]] const EntryCode& code_of(const Node& n) const { return machine_.code->entries[n.entry]; }
    [[nodiscard]] std::uint8_t bytes_of(TypeId type) const {
        const std::uint8_t bytes = class_infos[static_cast<std::size_t>(machine_.code->classes[type])].bytes;
        return bytes == 0 ? 1 : bytes;  // a pred
    }

    [[nodiscard]] bool is_live(NodeId id) const { return graph_.nodes[id].last_use != not_used; }
    [[nodiscard]] const InputCode& input_of(const EntryCode& code, std::size_t k) const {
        return machine_.code->inputs_of(code)[k];
    }

    // --- values
    std::uint32_t add_value(Place::Kind kind, std::uint8_t bytes, std::uint32_t at = 0) {
        values_.push_back({kind, bytes, at});
        return static_cast<std::uint32_t>(values_.size() - 1);
    }
    std::uint32_t constant(std::uint64_t bits, std::uint8_t bytes) {
        const auto [found, is_new] = constants_.try_emplace({bits, bytes}, never);
        if (is_new) {
            found->second = add_value(Place::Kind::constant, bytes, constant_bytes_);
            constant_bytes_ += bytes;
        }
        return found->second;
    }
    std::uint32_t input(std::uint32_t slot) {
        const auto [found, is_new] = inputs_.try_emplace(slot, never);
        if (is_new) found->second = add_value(Place::Kind::input, bytes_of(machine_.slots[slot].type), slot);
        return found->second;
    }

    // --- steps
    PlanStep& begin(PlanStep::Kind kind) {
        plan_->steps.push_back({.kind = kind,
                                .outputs = 0,
                                .inputs = 0,
                                .places = static_cast<std::uint32_t>(operands_.size())});
        return plan_->steps.back();
    }
    std::uint32_t write(std::uint8_t bytes) {
        const std::uint32_t value = add_value(Place::Kind::scratch, bytes);
        operands_.push_back(value);
        ++plan_->steps.back().outputs;
        return value;
    }
    void read(std::uint32_t value) {
        operands_.push_back(value);
        ++plan_->steps.back().inputs;
    }

    Expected<void> node(NodeId id) {
        const Node& n = graph_.nodes[id];
        if (n.kind == NodeKind::form && code_of(n).has_effect)
            return graph_.guard(n, code_of(n)) == never_executed ? Expected<void>() : cannot(n);
        if (!is_live(id) && n.kind != NodeKind::form) return {};
        switch (n.kind) {
            case NodeKind::input: values_of_[id] = input(n.args[0]); return {};
            case NodeKind::constant: values_of_[id] = constant(n.bits(), bytes_of(n.type)); return {};
            case NodeKind::cast: values_of_[id] = values_of_[n.args[0]]; return {};
            case NodeKind::special: return cannot(n);
            case NodeKind::result: return {};  // its form has made it
            case NodeKind::select: return select(id, n);
            case NodeKind::not_: return on_preds(id, n, "not", 1);
            case NodeKind::and_: return on_preds(id, n, "and", 2);
            case NodeKind::form: return form(id, n);
        }
        return {};
    }
    [[nodiscard]] Expected<void> cannot(const Node& n) const {
        return fail(Errc::instruction_not_evaluable, {}, code_of(n).entry->name);
    }

    Expected<void> select(NodeId id, const Node& n) {
        begin(PlanStep::Kind::select);
        values_of_[id] = write(bytes_of(n.type));
        for (int i = 0; i < 3; ++i) read(values_of_[n.args[i]]);
        return {};
    }
    Expected<void> on_preds(NodeId id, const Node& n, std::string_view opcode, std::uint32_t inputs) {
        constexpr std::array<std::string_view, 1> pred = {".pred"};
        const auto found = arithmetic::find_pure(opcode, pred, inputs + 1, false);
        begin(PlanStep::Kind::pure).instruction = static_cast<std::uint32_t>(plan_->instructions.size());
        plan_->instructions.push_back(*found);
        values_of_[id] = write(1);
        for (std::uint32_t i = 0; i < inputs; ++i) read(values_of_[n.args[i]]);
        return {};
    }

    // The form's node is its first result; the others follow it.
    Expected<void> form(NodeId id, const Node& n) {
        const EntryCode& code = code_of(n);
        std::array<NodeId, EntryCode::max_outputs> results;
        results.fill(no_node);
        results[0] = id;
        bool any = is_live(id);
        for (NodeId r = id + 1; r < graph_.nodes.size() && graph_.nodes[r].kind == NodeKind::result &&
                                graph_.nodes[r].args[0] == id;
             ++r) {
            results[graph_.nodes[r].args[1]] = r;
            any = any || is_live(r);
        }
        if (!any) return {};
        if (code.effects != 0) return cannot(n);
        if (is_move(*code.entry)) return move(n, code, results);
        return pure(n, code, results);
    }

    std::uint32_t argument(const EntryCode& code, const Node& n, std::size_t k, std::uint8_t bytes) {
        const std::uint32_t argument = graph_.arguments(n, code)[k];
        return input_of(code, k).is_immediate ? constant(argument, bytes) : values_of_[argument];
    }
    [[nodiscard]] std::uint8_t result_bytes(const EntryCode& code, std::size_t i) const {
        return bytes_of(machine_.code->output_stacks[machine_.code->output_bases[code.at] + i]);
    }

    Expected<void> pure(const Node& n, const EntryCode& code, std::span<const NodeId> results) {
        const auto found = arithmetic_of(*code.entry);
        if (!found) return cannot(n);
        std::array<std::uint8_t, most_pieces> to{}, from{};
        std::array<std::uint32_t, most_pieces> arguments{};
        for (std::size_t k = 0; k < found->inputs; ++k) {
            arguments[k] = argument(code, n, k, found->input_bytes[k]);
            from[k] = values_[arguments[k]].bytes;
        }
        for (std::size_t i = 0; i < found->outputs; ++i) to[i] = result_bytes(code, i);
        if (std::max(*std::max_element(to.begin(), to.end()), *std::max_element(from.begin(), from.end())) >
            8)
            return cannot(n);
        begin(PlanStep::Kind::pure).instruction =
            instruction(code, found->with_widths({to.data(), found->outputs}, {from.data(), found->inputs}));
        for (std::size_t i = 0; i < found->outputs; ++i) {
            const std::uint32_t value = write(to[i]);
            if (results[i] != no_node) values_of_[results[i]] = value;
        }
        for (std::size_t k = 0; k < found->inputs; ++k) read(arguments[k]);
        return {};
    }
    std::uint32_t instruction(const EntryCode& code, const PureInstruction& found) {
        const auto [at, is_new] =
            instructions_.try_emplace(code.at, static_cast<std::uint32_t>(plan_->instructions.size()));
        if (is_new) plan_->instructions.push_back(found);
        return at->second;
    }

    // A scalar or vector that keeps its elements has its argument's values; else bytes are gathered or dealt
    // out. A vector from a scalar of its elements' width (mov.v2.b32 {a, b}, c), of which the manual says
    // nothing, receives the scalar's parts, as ptxas has it.
    Expected<void> move(const Node& n, const EntryCode& code, std::span<const NodeId> results) {
        if (code.inputs > most_pieces || code.outputs > most_pieces) return cannot(n);
        std::uint32_t read_bytes = 0, written_bytes = 0;
        for (std::size_t k = 0; k < code.inputs; ++k) read_bytes += values_[argument(code, n, k, 4)].bytes;
        for (std::size_t i = 0; i < code.outputs; ++i) written_bytes += result_bytes(code, i);
        const bool is_spread = code.inputs == 1 && code.outputs > 1 && result_bytes(code, 0) == read_bytes &&
                               read_bytes % code.outputs == 0;
        if ((read_bytes != written_bytes && !is_spread) ||
            (code.inputs != code.outputs && code.inputs != 1 && code.outputs != 1))
            return cannot(n);
        if (code.inputs == code.outputs) {
            for (std::size_t i = 0; i < code.outputs; ++i)
                if (results[i] != no_node) values_of_[results[i]] = argument(code, n, i, 4);
            return {};
        }
        begin(PlanStep::Kind::move);
        for (std::size_t i = 0; i < code.outputs; ++i) {
            const std::uint32_t value = write(result_bytes(code, i));
            if (results[i] != no_node) values_of_[results[i]] = value;
        }
        for (std::size_t k = 0; k < code.inputs; ++k) read(argument(code, n, k, 4));
        return {};
    }

    // --- after the program: outputs may be the caller's inputs, so inputs that are assigned are kept aside
    void assign() {
        std::vector<std::uint32_t> assigned(machine_.slots.size(), never);
        for (const Assignment& a : graph_.assignments) assigned[a.slot] = values_of_[a.node];
        for (std::uint32_t slot = 0; slot < assigned.size(); ++slot) {
            if (machine_.slots[slot].direction == Direction::in) continue;
            std::uint32_t value = assigned[slot];
            if (value == never)
                value = machine_.slots[slot].direction == Direction::mod
                            ? input(slot)
                            : constant(0, bytes_of(machine_.slots[slot].type));
            if (values_[value].kind == Place::Kind::input) value = copied(value);
            outputs_.push_back({slot, value});
        }
    }
    std::uint32_t copied(std::uint32_t value) {
        begin(PlanStep::Kind::move).is_counted = false;
        const std::uint32_t copy = write(values_[value].bytes);
        read(value);
        return copy;
    }

    // --- memory: a value's is taken when it is written and given back behind its last reader
    void place_values() {
        for (std::uint32_t s = 0; s < plan_->steps.size(); ++s)
            for (const std::uint32_t value : operands_of(plan_->steps[s])) values_[value].last = s;
        for (const auto& [slot, value] : outputs_) values_[value].last = never;
        std::vector<Place> places(values_.size());
        for (std::size_t v = 0; v < values_.size(); ++v)
            places[v] = {values_[v].kind, values_[v].bytes, values_[v].at};
        for (std::uint32_t s = 0; s < plan_->steps.size(); ++s) {
            const PlanStep& step = plan_->steps[s];
            const auto operands = operands_of(step);
            for (const std::uint32_t value : operands.first(step.outputs))
                places[value].at = take(values_[value].bytes);
            for (std::size_t i = 0; i < operands.size(); ++i) {
                const Value& v = values_[operands[i]];
                const auto before = operands.first(i);
                if (v.kind == Place::Kind::scratch && v.last == s &&
                    std::find(before.begin(), before.end(), operands[i]) == before.end())
                    free_[v.bytes].push_back(places[operands[i]].at);
            }
        }
        for (const std::uint32_t value : operands_) plan_->places.push_back(places[value]);
        for (const auto& [slot, value] : outputs_) plan_->outputs.push_back({slot, places[value]});
        for (const PlanStep& step : plan_->steps) plan_->instruction_count += step.is_counted ? 1 : 0;
    }
    [[nodiscard]] std::span<const std::uint32_t> operands_of(const PlanStep& step) const {
        return std::span(operands_).subspan(step.places, std::size_t{step.outputs} + step.inputs);
    }
    std::uint32_t take(std::uint8_t bytes) {
        auto& free = free_[bytes];
        if (free.empty()) {
            plan_->scratch_per_point += bytes;
            return plan_->scratch_per_point - bytes;
        }
        const std::uint32_t at = free.back();
        free.pop_back();
        return at;
    }

    void choose_block() {
        std::uint32_t per_point = plan_->scratch_per_point + constant_bytes_;
        for (const auto& [slot, value] : inputs_) per_point += values_[value].bytes;
        std::uint32_t points = most_points;
        while (points > least_points && std::uint64_t{points} * per_point > first_cache) points /= 2;
        plan_->block = points;
    }
    void fill_constants() {
        plan_->constants = aligned_bytes(std::size_t{constant_bytes_} * plan_->block);
        for (const auto& [key, value] : constants_) {
            std::byte* const to = plan_->constants.get() + std::size_t{values_[value].at} * plan_->block;
            for (std::size_t i = 0; i < plan_->block; ++i) {
                std::memset(to + i * key.second, 0, key.second);
                std::memcpy(to + i * key.second, &key.first,
                            std::min<std::size_t>(key.second, sizeof key.first));
            }
        }
    }

    struct Assigned {
        std::uint32_t slot, value;
    };
    const Graph& graph_;
    const Machine::Data& machine_;
    std::vector<std::uint32_t> values_of_;  // by node
    std::vector<Value> values_;
    std::vector<std::uint32_t> operands_;  // of all steps: values
    std::vector<Assigned> outputs_;
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint32_t> constants_;
    std::map<std::uint32_t, std::uint32_t> inputs_;        // by slot
    std::map<std::uint32_t, std::uint32_t> instructions_;  // by entry
    std::array<std::vector<std::uint32_t>, 17> free_;      // by width
    std::uint32_t constant_bytes_ = 0;
    std::shared_ptr<Evaluator::Plan> plan_;
};

}  // namespace

Expected<std::shared_ptr<const Evaluator::Plan>> make_plan(const Graph& graph, const Machine::Data& machine) {
    return Planner(graph, machine).make();
}

}  // namespace ptxgraft::stack
