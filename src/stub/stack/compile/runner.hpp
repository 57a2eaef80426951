#pragma once
// Symbolic execution of a program on stacks of node numbers, which is its value numbering too: what run.cpp,
// brackets.cpp and mark.cpp share.

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "stub/stack/compile/constant_name.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {

constexpr std::uint32_t no_place = 0xFFFFFFFFu;
constexpr std::size_t max_parameters = 256;  // of a routine
constexpr std::uint32_t cells_per_type = 256;
constexpr std::size_t most_faults = 1000;  // that are listed

inline std::uint32_t low_half(std::uint64_t bits) { return static_cast<std::uint32_t>(bits); }
inline std::uint32_t high_half(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); }

// One open bracket.
struct Frame {
    std::uint32_t begin;       // of a repeat: its place
    std::uint32_t left;        // rounds to go
    std::uint32_t* at_begin;   // of an `if`: the state at its begin
    std::uint32_t* first_arm;  // and that at the end of its first arm; null before
    NodeId pred;
    // what instructions with effects in this arm are executed under, made when one comes
    NodeId guard;
    bool is_if;
};

// Of one run of code: the program's, or a routine's.
struct Scope {
    std::span<const Instruction> code;
    // by place of a bracket: of its `else` or `end`; null when there are none
    const std::uint32_t* matches;
    std::uint32_t routines;  // routines that it may call: those before it
    bool is_program;
};

class Runner {
  public:
    Runner(ProgramView program, const Machine::Data& machine, const Bound& bound,
           const CompileOptions& options, Arena& arena)
        : program_(program),
          machine_(machine),
          code_(*machine.code),
          entries_(code_.entries.data()),
          present_(machine.present->data()),
          operands_(machine.operands.data()),
          operand_count_(static_cast<std::uint32_t>(machine.operands.size())),
          options_(options),
          types_(code_.type_count),
          must_(options.missing == Missing::error) {
        take_memory(bound, arena);
    }

    Expected<Dataflow> run();

    [[nodiscard]] std::uint32_t leftover_type() const;
    [[nodiscard]] std::uint32_t depth_of(std::uint32_t type) const { return room(type); }
    /// For messages: executes the program and says what was missing, see find_faults.
    [[nodiscard]] std::vector<Fault> faults() {
        collects_ = true;
        (void)execute_program();
        return std::move(faults_);
    }
    /// For messages: executes the program and says which instruction pushed the value that ends as the
    /// `depth`th of a stack.
    [[nodiscard]] std::uint32_t origin_of_top(std::uint32_t type, std::uint32_t depth) {
        watched_ = type;
        watched_depth_ = depth;
        (void)execute_program();
        return origin_;
    }

  private:
    void take_memory(const Bound& bound, Arena& arena);

    bool execute_program();
    template <bool watches> bool execute(const Scope& scope);
    template <bool has_brackets, bool watches, bool looks_back> bool execute(const Scope& scope);
    bool miss(const Instruction& i, std::uint32_t at, const Scope& scope);
    [[nodiscard]] Error why(const Instruction& i, std::uint32_t at, const Scope& scope) const;
    void note(const Error& error, std::uint32_t routine, std::uint32_t at);
    void watch(std::uint32_t at) {
        const NodeId value =
            room(watched_) >= watched_depth_ ? floor_[watched_][watched_depth_ - 1] : no_node;
        if (value != no_node && value != stood_) origin_ = at;
        stood_ = value;
    }

    bool apply_shape(const RowTable<Shape>& table, std::uint64_t word);
    bool push_input(const Instruction& i, const Scope& scope);
    bool push_constant(TypeId type, std::uint64_t bits);
    bool apply(const Instruction& i);
    bool apply_general(const EntryCode& e, const Instruction& i);
    void push_special(const EntryCode& e);
    bool has_arguments(const EntryCode& e) const;
    void pop_arguments(const EntryCode& e, const Instruction& i, std::uint32_t* to);
    std::uint32_t immediate(const InputCode& input, std::uint32_t bits) const;
    [[nodiscard]] bool has_own_register(const Node& n) const;
    NodeId copied(NodeId argument, TypeId type);
    void push_results(const EntryCode& e, NodeId form);
    bool fold(const EntryCode& e, NodeId form);
    void look_back();
    [[nodiscard]] bool has_constants(const Node& form, const EntryCode& e) const;
    bool assign(const Instruction& i, const Scope& scope);
    bool cast(const Instruction& i);
    [[nodiscard]] bool may_be_integer(NodeId value, RegisterClass c) const;
    bool rearrange(const Instruction& i);
    bool store(const Instruction& i);
    bool load(const Instruction& i);
    bool push_pooled(const Instruction& i);
    bool call(const Instruction& i, const Scope& scope);
    [[nodiscard]] bool fits(std::span<const TypeId> types) const;
    bool take_results(const Routine& routine, std::uint32_t index);

    // --- brackets
    bool may_nest();
    bool open_repeat(const Scope& scope, std::uint32_t& at);
    bool open_if(const Scope& scope, std::uint32_t& at);
    bool turn(const Scope& scope, std::uint32_t& at);
    bool close(const Scope& scope, std::uint32_t& at);
    std::uint32_t* save(std::uint32_t* to) const;
    void restore(const std::uint32_t* from);
    NodeId chosen(std::uint32_t type, NodeId pred, NodeId a, NodeId b);
    bool merge(const Frame& frame);
    template <class Select> const std::uint32_t* merge_cells(const std::uint32_t* other, Select select);
    template <class Select> bool merge_slot(std::uint32_t slot, NodeId there, Select select);
    NodeId guard();

    // --- nodes
    // The stack of a type byte; types_ when there is none.
    std::uint32_t lane(std::uint32_t type) const {
        return type < types_ ? stack_of(static_cast<TypeId>(type)) : types_;
    }
    std::uint32_t room(std::uint32_t type) const {
        return static_cast<std::uint32_t>(top_[type] - floor_[type]);
    }
    NodeId add(NodeKind kind, TypeId type, std::uint32_t entry = 0) {
        Node& n = nodes_[count_];
        n.entry = static_cast<std::uint16_t>(entry);
        n.kind = kind;
        n.type = type;
        n.last_use = not_used;
        n.target = no_node;
        return count_++;
    }
    // Value numbering, if asked for, of a node whose arguments stand: gives an equal node made before.
    NodeId shared(NodeId node) { return shared_ == nullptr ? node : find_shared(node); }
    NodeId find_shared(NodeId node);
    void push(std::uint32_t type, NodeId node) { *top_[type]++ = node; }
    NodeId pop(std::uint32_t type) { return *--top_[type]; }
    NodeId constant(TypeId type, std::uint64_t bits) {
        const NodeId node = add(NodeKind::constant, type);
        nodes_[node].args[0] = low_half(bits);
        nodes_[node].args[1] = high_half(bits);
        // Those that are data may become different ones.
        return options_.constants == Constants::data ? node : shared(node);
    }

    // --- after the program
    Expected<void> take_requests();
    Expected<void> finish();

    // --- mark
    void mark();
    void use(NodeId node, std::uint32_t user) {
        if (nodes_[node].last_use == not_used) nodes_[node].last_use = user;
    }
    void use_any(NodeId node, std::uint32_t user, bool takes_literal);
    void mark_form(const Node& n, NodeId id);
    [[nodiscard]] bool takes_literal(const EntryCode& e, std::uint32_t k, const Node& argument) const {
        if ((e.ranged >> k & 1) == 0) return (e.literals >> k & 1) != 0;
        return stack::takes_literal(code_.inputs_of(e)[k], argument);
    }
    [[nodiscard]] static bool takes_literal(const InputCode& input, const Node& argument) {
        return stack::takes_literal(input, argument);
    }
    void choose_targets();

    const ProgramView program_;
    const Machine::Data& machine_;
    const SetCode& code_;
    const EntryCode* const entries_;
    const Present* const present_;
    const OperandCode* const operands_;
    const std::uint32_t operand_count_;
    const CompileOptions& options_;
    const std::uint32_t types_;
    const bool must_;

    Dataflow flow_;
    Node* nodes_ = nullptr;
    NodeId count_ = 0;
    std::uint32_t* extra_ = nullptr;
    std::uint32_t extra_count_ = 0;
    // of the stacks: behind the last value, and the first that a routine may reach
    std::array<NodeId*, stack_count> top_, floor_;
    NodeId nothing_ = 0;  // on no_stack
    Cell* cells_ = nullptr;
    std::uint32_t cell_count_ = 0, cell_floor_ = 0;
    Assignment* assignments_ = nullptr;
    std::uint32_t assignment_count_ = 0;
    std::uint32_t* save_at_ = nullptr;
    std::uint32_t* matches_ = nullptr;
    std::array<const std::uint32_t*, max_routines> routine_matches_;
    NodeId* shared_ = nullptr;
    std::uint64_t shared_mask_ = 0;
    std::array<std::pair<std::uint32_t, NodeId>, 16> specials_;
    std::uint32_t special_count_ = 0;
    std::array<Frame, max_depth> frames_;
    std::uint32_t frame_count_ = 0, calls_ = 0;
    std::uint32_t watched_ = no_place, watched_depth_ = 0, origin_ = 0;
    NodeId stood_ = no_node;  // in the watched place
    bool collects_ = false;
    std::vector<Fault> faults_;
    Expected<void> error_;
};

}  // namespace ptxgraft::stack
