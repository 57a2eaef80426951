// A hash of what is computed, not of how the program says it.

#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    return hash * 0xD6E8FEB86659FD93u;
}

class Hasher {
  public:
    Hasher(const Dataflow& flow, const Machine::Data& machine, Arena& arena)
        : flow_(flow),
          code_(*machine.code),
          hashes_(arena.take<std::uint64_t>(flow.graph.nodes.size() + 1)) {}

    // Each node from its arguments; the whole from what the operands receive and from the effects in their
    // order.
    std::uint64_t all() {
        std::uint64_t whole = 0;
        for (NodeId id = 0; id < flow_.graph.nodes.size(); ++id) {
            const Node& n = flow_.graph.nodes[id];
            if (n.last_use == not_used && n.kind != NodeKind::constant && n.kind != NodeKind::input) continue;
            hashes_[id] = of(n);
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
    std::uint64_t* const hashes_;
};

}  // namespace

std::uint64_t hash_of(const Dataflow& flow, const Machine::Data& machine, Arena& arena) {
    return Hasher(flow, machine, arena).all();
}

}  // namespace ptxgraft::stack
