// A hash of what is computed, not of how the program says it.

#include "stub/builder.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {
namespace {

// What of a constant counts: its bits, or its place among those that may be data.
enum class Counts : std::uint8_t { bits, place };

class Hasher {
  public:
    Hasher(const Dataflow& flow, const Machine::Data& machine, Counts counts, std::uint64_t* hashes)
        : flow_(flow), code_(*machine.code), counts_(counts), hashes_(hashes) {}

    std::uint64_t constants = 0;  // of those that have a place

    // Each node from its arguments; the whole from what the operands receive and from the effects in their
    // order.
    std::uint64_t all() {
        std::uint64_t whole = 0, places = 0;
        if (counts_ == Counts::place) constants = mix(0, count_places());
        for (NodeId id = 0; id < flow_.graph.nodes.size(); ++id) {
            const Node& n = flow_.graph.nodes[id];
            if (n.last_use == not_used && n.kind != NodeKind::constant && n.kind != NodeKind::input) continue;
            hashes_[id] = counts_ == Counts::place && has_place(n) ? place(n, places++) : of(n);
            if (is_ordered(n)) whole = hashes_[id] = mix(whole, hashes_[id]);
        }
        for (const auto& [slot, id] : flow_.graph.assignments) {
            // it keeps its value
            if (flow_.graph.nodes[id].kind == NodeKind::input && flow_.graph.nodes[id].args[0] == slot)
                continue;
            whole = mix(mix(whole, slot), hashes_[id]);
        }
        return whole;
    }

  private:
    bool has_place(const Node& n) const {
        return n.kind == NodeKind::constant && n.last_use != not_used && may_be_data(n, code_);
    }
    std::uint64_t count_places() const {
        std::uint64_t count = 0;
        for (const Node& n : flow_.graph.nodes) count += has_place(n);
        return count;
    }
    std::uint64_t place(const Node& n, std::uint64_t number) {
        constants = mix(constants, n.bits());
        return mix(mix(static_cast<std::uint64_t>(n.kind) + 1, n.type), ~number);
    }

    // What gives another value each time, or has effects: clocks, loads, stores.
    bool is_ordered(const Node& n) const {
        return (n.kind == NodeKind::form || n.kind == NodeKind::special) && code_.entries[n.entry].is_ordered;
    }

    std::uint64_t of(const Node& n) const {
        std::uint64_t hash = mix(static_cast<std::uint64_t>(n.kind) + 1, n.type);
        const auto with = [&](std::size_t count) {
            for (std::size_t k = 0; k < count; ++k) hash = mix(hash, hashes_[n.args[k]]);
            return hash;
        };
        switch (n.kind) {
            case NodeKind::input: return mix(hash, n.args[0]);
            case NodeKind::constant: return mix(hash, n.bits());
            case NodeKind::form: return form(n, hash);
            case NodeKind::result: return mix(mix(hash, hashes_[n.args[0]]), n.args[1]);
            case NodeKind::special: return mix(hash, code_.entries[n.entry].hash);
            case NodeKind::select: return with(3);
            case NodeKind::and_: return with(2);
            case NodeKind::cast:
            case NodeKind::not_: return with(1);
        }
        return hash;
    }

    std::uint64_t form(const Node& n, std::uint64_t hash) const {
        const EntryCode& e = code_.entries[n.entry];
        hash = mix(hash, e.hash);
        const auto arguments = flow_.graph.arguments(n, e);
        const auto inputs = code_.inputs_of(e);
        for (std::size_t k = 0; k < e.inputs; ++k)
            hash = mix(hash, inputs[k].is_immediate ? arguments[k] : hashes_[arguments[k]]);
        const NodeId guard = flow_.graph.guard(n, e);
        return guard == no_node ? hash : mix(hash, hashes_[guard]);
    }

    const Dataflow& flow_;
    const SetCode& code_;
    const Counts counts_;
    std::uint64_t* const hashes_;
};

}  // namespace

namespace {

DataflowParts parts_in(std::uint64_t* room, const Dataflow& flow, const Machine::Data& machine) {
    Hasher places(flow, machine, Counts::place, room);
    const std::uint64_t structure = places.all();
    return {structure, places.constants};
}

}  // namespace

DataflowParts parts_of(const Dataflow& flow, const Machine::Data& machine, Arena& arena) {
    return parts_in(arena.take<std::uint64_t>(flow.graph.nodes.size() + 1), flow, machine);
}

Hashes hashes_of(const Dataflow& flow, const Machine::Data& machine, Arena& arena) {
    auto* const room = arena.take<std::uint64_t>(flow.graph.nodes.size() + 1);
    const DataflowParts parts = parts_in(room, flow, machine);
    // The whole of constants that are data can be told from them.
    const bool is_data = flow.constants != nullptr;
    return {is_data ? hash_of_parts(parts) : Hasher(flow, machine, Counts::bits, room).all(), parts};
}

}  // namespace ptxgraft::stack
