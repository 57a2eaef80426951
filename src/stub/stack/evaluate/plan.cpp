// From a graph to a plan: live nodes in order, and the column that each is computed into.

#include "stub/stack/evaluate/plan.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "stub/stack/compile/run.hpp"
#include "stub/stack/evaluate/arithmetic_of.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t first_cache = 24 * 1024;  // what a block may take of it
constexpr std::uint32_t most_points = 1024, least_points = 8;
constexpr std::uint32_t never = 0xFFFFFFFFu;
constexpr std::size_t widths = 5;  // of columns: 1 to 16 bytes

using ValueId = std::uint32_t;

// A value of the plan while it is made. Several nodes share one where a cast or a move changes no bits.
struct Value {
    Place place;
    std::uint32_t last;  // the last step that reads or writes it; never: it is kept to the end
    ValueId next_free;   // whose memory, of the same width, is free too
};

// What a graph may become at most.
struct Room {
    std::uint64_t steps, values, constants, operands;

    Room(const Graph& graph, std::uint64_t slots) {
        const std::uint64_t nodes = graph.nodes.size();
        const std::uint64_t arguments = EntryCode::inline_inputs * nodes + graph.extra.size();
        steps = nodes + slots;                  // inputs that are assigned are copied
        constants = nodes + arguments + slots;  // immediates too, and zeros
        values = nodes + constants + slots;
        operands = nodes + arguments + 2 * slots;
    }
    [[nodiscard]] std::uint64_t bytes(std::uint64_t nodes, std::uint64_t slots) const {
        return Arena::bytes<PlanStep>(steps) + Arena::bytes<Place>(operands) + Arena::bytes<Value>(values) +
               Arena::bytes<ConstantColumn>(constants) + Arena::bytes<std::uint64_t>(constants) +
               Arena::bytes<ValueId>(operands + nodes + slots) +
               Arena::bytes<Evaluator::Plan::Output>(slots) + 3 * Arena::bytes<ValueId>(0);
    }
};

class Planner {
  public:
    Planner(const Graph& graph, const Machine::Data& machine, Constants constants, Evaluator::Plan& plan)
        : graph_(graph), machine_(machine), code_(*machine.code), constants_(constants), plan_(plan) {
        free_.fill(never);
    }

    Expected<void> make() {
        TRY(take_memory());
        TRY(take_data());
        for (NodeId id = 0; id < graph_.nodes.size(); ++id) TRY(node(id));
        assign();
        place_values();
        finish();
        return {};
    }

  private:
    Expected<void> take_memory() {
        const std::uint64_t nodes = graph_.nodes.size(), slots = machine_.slots.size();
        const Room room(graph_, slots);
        const std::uint64_t bytes = room.bytes(nodes, slots);
        const std::span<std::byte> memory = plan_.memory.room(bytes);
        if (memory.empty())
            return fail(Errc::stack_limit_exceeded, "its evaluation may need " + std::to_string(bytes) +
                                                        " bytes of memory, which are not there");
        Arena arena(memory);
        steps_ = arena.take<PlanStep>(room.steps);
        values_ = arena.take<Value>(room.values);
        columns_ = arena.take<ConstantColumn>(room.constants);
        bits_ = arena.take<std::uint64_t>(room.constants);
        places_ = arena.take<Place>(room.operands);
        operands_ = arena.take<ValueId>(room.operands);
        values_of_ = arena.take<ValueId>(nodes);
        assigned_ = arena.take<ValueId>(slots);
        outputs_ = arena.take<Evaluator::Plan::Output>(slots);
        return {};
    }

    [[nodiscard]] const EntryCode& code_of(const Node& n) const { return code_.entries[n.entry]; }
    [[nodiscard]] std::uint8_t bytes_of(TypeId type) const { return stack::bytes_of(type, code_); }
    [[nodiscard]] bool is_live(NodeId id) const { return graph_.nodes[id].last_use != not_used; }

    // --- values
    ValueId add_value(Place place) {
        values_[value_count_] = {place, never, never};
        return value_count_++;
    }
    ValueId constant(std::uint64_t bits, std::uint8_t bytes) {
        bits_[constant_count_] = bits;
        columns_[constant_count_++] = {plan_.scratch_per_point, bytes};
        const ValueId value = add_value({Place::Kind::scratch, bytes, plan_.scratch_per_point});
        plan_.scratch_per_point += bytes;
        return value;
    }

    // The constants that are data, in the order in which a text loads them.
    Expected<void> take_data() {
        plan_.scratch_per_point = 0;
        if (constants_ == Constants::literals) return {};
        for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
            const Node& n = graph_.nodes[id];
            if (n.kind == NodeKind::constant && is_live(id) && may_be_data(n, code_))
                values_of_[id] = constant(n.bits(), bytes_of(n.type));
        }
        data_count_ = constant_count_;
        if (data_count_ > most_data_constants) return too_many_constants(data_count_);
        return {};
    }
    [[nodiscard]] bool is_data(const Node& n) const {
        return constants_ == Constants::data && may_be_data(n, code_);
    }

    // --- steps
    PlanStep& begin(PlanStep::Kind kind) {
        PlanStep& step = steps_[step_count_++];
        step = {.kind = kind, .places = operand_count_};
        return step;
    }
    [[nodiscard]] PlanStep& step() { return steps_[step_count_ - 1]; }
    ValueId write(std::uint8_t bytes) {
        const ValueId value = add_value({Place::Kind::scratch, bytes, 0});
        values_[value].last = step_count_ - 1;
        operands_[operand_count_++] = value;
        ++step().outputs;
        return value;
    }
    void read(ValueId value) {
        operands_[operand_count_++] = value;
        ++step().inputs;
        if (values_[value].last != never) values_[value].last = step_count_ - 1;
    }

    Expected<void> node(NodeId id) {
        const Node& n = graph_.nodes[id];
        if (n.kind == NodeKind::form && code_of(n).has_effect)
            return graph_.guard(n, code_of(n)) == never_executed ? Expected<void>() : cannot(n);
        if (!is_live(id) && n.kind != NodeKind::form) return {};
        switch (n.kind) {
            case NodeKind::input:
                values_of_[id] = add_value({Place::Kind::input, bytes_of(n.type), n.args[0]});
                return {};
            case NodeKind::constant:
                if (!is_data(n)) values_of_[id] = constant(n.bits(), bytes_of(n.type));
                return {};
            case NodeKind::cast: values_of_[id] = values_of_[n.args[0]]; return {};
            case NodeKind::special: return cannot(n);
            case NodeKind::result: return {};  // its form has made it
            case NodeKind::select: select(id, n); return {};
            case NodeKind::not_: on_preds<1>(id, n, "not"); return {};
            case NodeKind::and_: on_preds<2>(id, n, "and"); return {};
            case NodeKind::form: return form(id, n);
        }
        return {};
    }
    [[nodiscard]] Expected<void> cannot(const Node& n) const {
        return fail(Errc::instruction_not_evaluable, {}, code_of(n).entry->name);
    }

    void select(NodeId id, const Node& n) {
        begin(PlanStep::Kind::select);
        values_of_[id] = write(bytes_of(n.type));
        for (int i = 0; i < 3; ++i) read(values_of_[n.args[i]]);
    }
    template <std::uint32_t inputs> void on_preds(NodeId id, const Node& n, std::string_view opcode) {
        static const arithmetic::PureInstruction instruction = [&] {
            constexpr std::array<std::string_view, 1> pred = {".pred"};
            return *arithmetic::find_pure(opcode, pred, inputs + 1, false);
        }();
        begin(PlanStep::Kind::pure).instruction = &instruction;
        values_of_[id] = write(1);
        for (std::uint32_t i = 0; i < inputs; ++i) read(values_of_[n.args[i]]);
    }

    // The form's node is its first result; the others follow it.
    Expected<void> form(NodeId id, const Node& n) {
        const EntryCode& code = code_of(n);
        bool any = is_live(id);
        NodeId behind = id + 1;
        for (; behind < graph_.nodes.size() && graph_.nodes[behind].kind == NodeKind::result &&
               graph_.nodes[behind].args[0] == id;
             ++behind)
            any = any || is_live(behind);
        if (!any) return {};
        const EntryArithmetic& arithmetic = code_.arithmetic->of(code, code_);
        if (code.effects != 0 || arithmetic.kind == EntryArithmetic::Kind::none) return cannot(n);
        if (arithmetic.kind == EntryArithmetic::Kind::move) return move(id, behind, n, code);
        pure(id, behind, n, code, arithmetic);
        return {};
    }

    // The value of each result, in their order from `id` to `behind`: a dead form's first node is one too.
    void write_results(NodeId id, NodeId behind, const EntryCode& code) {
        for (std::size_t i = 0; i < code.outputs; ++i) {
            const ValueId value = write(result_bytes(code, i));
            if (const NodeId result = result_node(id, behind, i); result != no_node)
                values_of_[result] = value;
        }
    }
    [[nodiscard]] static NodeId result_node(NodeId id, NodeId behind, std::size_t i) {
        return id + i < behind ? static_cast<NodeId>(id + i) : no_node;
    }
    [[nodiscard]] std::uint8_t result_bytes(const EntryCode& code, std::size_t i) const {
        return bytes_of(code_.output_stacks[code_.output_bases[code.at] + i]);
    }
    ValueId argument(const EntryCode& code, const Node& n, std::size_t k, std::uint8_t bytes) {
        const std::uint32_t argument = graph_.arguments(n, code)[k];
        return code_.inputs_of(code)[k].is_immediate ? constant(argument, bytes) : values_of_[argument];
    }

    void pure(NodeId id, NodeId behind, const Node& n, const EntryCode& code,
              const EntryArithmetic& arithmetic) {
        const arithmetic::PureInstruction& instruction = arithmetic.instruction;
        PlanStep& step = begin(PlanStep::Kind::pure);
        step.instruction = &instruction;
        step.perturb = arithmetic.perturb;
        write_results(id, behind, code);
        for (std::size_t k = 0; k < instruction.inputs; ++k)
            read(argument(code, n, k, instruction.input_bytes[k]));
    }

    // A scalar or vector that keeps its elements has its argument's values; else bytes are gathered or dealt
    // out. A vector from a scalar of its elements' width (mov.v2.b32 {a, b}, c), of which the manual says
    // nothing, receives the scalar's parts, as ptxas has it.
    Expected<void> move(NodeId id, NodeId behind, const Node& n, const EntryCode& code) {
        if (code.inputs > most_pieces || code.outputs > most_pieces) return cannot(n);
        std::array<ValueId, most_pieces> arguments{};
        std::uint32_t read_bytes = 0, written_bytes = 0;
        for (std::size_t k = 0; k < code.inputs; ++k) {
            arguments[k] = argument(code, n, k, 4);
            read_bytes += values_[arguments[k]].place.bytes;
        }
        for (std::size_t i = 0; i < code.outputs; ++i) written_bytes += result_bytes(code, i);
        const bool is_spread = code.inputs == 1 && code.outputs > 1 && result_bytes(code, 0) == read_bytes &&
                               read_bytes % code.outputs == 0;
        if ((read_bytes != written_bytes && !is_spread) ||
            (code.inputs != code.outputs && code.inputs != 1 && code.outputs != 1))
            return cannot(n);
        if (code.inputs == code.outputs) {
            for (std::size_t i = 0; i < code.outputs; ++i)
                if (const NodeId result = result_node(id, behind, i); result != no_node)
                    values_of_[result] = arguments[i];
            return {};
        }
        begin(PlanStep::Kind::move);
        write_results(id, behind, code);
        for (std::size_t k = 0; k < code.inputs; ++k) read(arguments[k]);
        return {};
    }

    // --- after the program: outputs may be the caller's inputs, so inputs that are assigned are kept aside
    void assign() {
        instruction_count_ = step_count_;
        const auto slots = static_cast<std::uint32_t>(machine_.slots.size());
        std::fill_n(assigned_, slots, never);
        for (const Assignment& a : graph_.assignments) assigned_[a.slot] = values_of_[a.node];
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            const Slot& s = machine_.slots[slot];
            if (s.direction == Direction::in) continue;
            ValueId value = assigned_[slot];
            if (value == never)
                value = s.direction == Direction::mod
                            ? add_value({Place::Kind::input, bytes_of(s.type), slot})
                            : constant(0, bytes_of(s.type));
            if (values_[value].place.kind == Place::Kind::input) value = copied(value);
            values_[value].last = never;
            assigned_[slot] = value;
        }
    }
    ValueId copied(ValueId value) {
        begin(PlanStep::Kind::move);
        const ValueId copy = write(values_[value].place.bytes);
        read(value);
        return copy;
    }

    // --- memory: a value's is taken when it is written and given back behind its last reader
    void place_values() {
        for (std::uint32_t s = 0; s < step_count_; ++s) {
            const PlanStep& step = steps_[s];
            const std::uint32_t behind_outputs = step.places + step.outputs;
            for (std::uint32_t i = step.places; i < behind_outputs; ++i) take(values_[operands_[i]].place);
            for (std::uint32_t i = step.places; i < behind_outputs + step.inputs; ++i) {
                Value& value = values_[operands_[i]];
                places_[i] = value.place;
                if (value.last == s) give_back(operands_[i]);
            }
        }
    }
    ValueId& free_of(const Place& place) {
        return free_[static_cast<std::size_t>(std::countr_zero(place.bytes))];
    }
    void take(Place& place) {
        ValueId& free = free_of(place);
        if (free == never) {
            place.at = plan_.scratch_per_point;
            plan_.scratch_per_point += place.bytes;
        } else {
            place.at = values_[free].place.at;
            free = values_[free].next_free;
        }
    }
    void give_back(ValueId id) {
        Value& value = values_[id];
        ValueId& free = free_of(value.place);
        value.last = never;  // a step may read it twice
        value.next_free = free;
        free = id;
    }

    void finish() {
        std::uint32_t outputs = 0, per_point = plan_.scratch_per_point;
        for (std::uint32_t slot = 0; slot < machine_.slots.size(); ++slot) {
            if (machine_.slots[slot].direction != Direction::in)
                outputs_[outputs++] = {slot, values_[assigned_[slot]].place};
            if (is_live(slot)) per_point += bytes_of(machine_.slots[slot].type);
        }
        std::uint32_t points = most_points;
        while (points > least_points && std::uint64_t{points} * per_point > first_cache) points /= 2;
        plan_.steps = {steps_, step_count_};
        plan_.places = {places_, operand_count_};
        plan_.outputs = {outputs_, outputs};
        plan_.columns = {columns_, constant_count_};
        plan_.constants = {bits_, constant_count_};
        plan_.data_constants = data_count_;
        plan_.block = points;
        plan_.instruction_count = instruction_count_;
        if (plan_.set != machine_.set) plan_.set = machine_.set;
    }

    const Graph& graph_;
    const Machine::Data& machine_;
    const SetCode& code_;
    const Constants constants_;
    Evaluator::Plan& plan_;
    PlanStep* steps_ = nullptr;
    Value* values_ = nullptr;
    ConstantColumn* columns_ = nullptr;
    std::uint64_t* bits_ = nullptr;
    Place* places_ = nullptr;
    ValueId* operands_ = nullptr;   // of all steps, as places_
    ValueId* values_of_ = nullptr;  // by node
    ValueId* assigned_ = nullptr;   // by slot
    Evaluator::Plan::Output* outputs_ = nullptr;
    std::uint32_t step_count_ = 0, value_count_ = 0, constant_count_ = 0, data_count_ = 0, operand_count_ = 0,
                  instruction_count_ = 0;
    std::array<ValueId, widths> free_;
};

}  // namespace

Expected<void> make_plan(const Graph& graph, const Machine::Data& machine, Constants constants,
                         Evaluator::Plan& plan) {
    return Planner(graph, machine, constants, plan).make();
}

}  // namespace ptxgraft::stack
