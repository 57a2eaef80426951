// Fuses instructions in the dataflow of a program, as simplify() writes it: expressions and cells.

#include "search/loop/fuse.hpp"

#include <algorithm>
#include <map>

#include "ptxgraft/program.hpp"

namespace ptxgraft::search {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::TypeId;
using Code = std::vector<Instruction>;

// An entry of the set.
struct Shape {
    std::vector<TypeId> inputs, outputs;
    bool is_plain = true;  // without immediates and effects, with one result
};
Shape shape_of(const stack::Entry& entry) {
    Shape made;
    for (const stack::EntryOperand& operand : entry.operands) {
        made.is_plain = made.is_plain && !operand.is_immediate;
        (operand.is_output ? made.outputs : made.inputs).push_back(stack::stack_of(operand.type));
    }
    made.is_plain = made.is_plain && entry.form != nullptr && entry.effects == Effect::none &&
                    made.outputs.size() == 1 && !made.inputs.empty();
    return made;
}

unsigned bits_of(TypeId type) {
    return type < stack::type_b8 ? static_cast<unsigned>(bits(static_cast<Type>(type))) : 0;
}

// What pushes a value, and the values that it takes.
struct Node {
    Instruction gene;
    TypeId type = 0;
    std::vector<std::size_t> inputs = {};
};

class Dataflow {
  public:
    Dataflow(const SiteSpace& site, const Genes& genes)
        : signature_(site.machine.signature()), genes_(genes), most_(4 * std::size_t{site.max_genes} + 64) {
        for (const stack::Entry& entry : site.machine.set().entries()) shapes_.push_back(shape_of(entry));
    }

    // False: there is more in it than expressions.
    bool read(const Code& code) {
        return std::ranges::all_of(code, [&](const Instruction& gene) { return step(gene); });
    }
    bool fuse(Random& random) {
        const std::vector<Pair> pairs = all_pairs();
        return !pairs.empty() && fuse(pairs[random.below(pairs.size())], random);
    }
    // Each operand that is assigned as an expression, in which what was read twice is computed twice.
    [[nodiscard]] std::optional<Code> code() const {
        Code made;
        for (const auto& [gene, node] : assigned_) {
            if (!write(node, made)) return std::nullopt;
            made.push_back(gene);
        }
        return made;
    }

  private:
    // `outer` takes what `inner` computes as operand `input`, beside moves of its bits.
    struct Pair {
        std::size_t outer, inner, input;
    };

    bool step(const Instruction& gene) {
        if (!is_known(gene)) return false;
        const auto operand_type = [&] {
            return stack::stack_of(stack::type_id(signature_.operands[gene.index].type));
        };
        switch (gene.opcode) {
            case Opcode::input: return push({gene, operand_type()});
            case Opcode::constant: return push({gene, gene.type});
            case Opcode::assign: {
                const auto value = pop(operand_type());
                if (value) assigned_.emplace_back(gene, *value);
                return value.has_value();
            }
            case Opcode::dup: {
                const auto value = pop(gene.type);
                if (value) stacks_[gene.type].insert(stacks_[gene.type].end(), 2, *value);
                return value.has_value();
            }
            case Opcode::store: {
                const auto value = pop(gene.type);
                if (value) cells_[{gene.type, gene.payload}] = *value;
                return value.has_value();
            }
            case Opcode::load: {
                const auto cell = cells_.find({gene.type, gene.payload});
                if (cell == cells_.end()) return false;
                stacks_[gene.type].push_back(cell->second);
                return true;
            }
            case Opcode::cast: {
                const auto value = pop(static_cast<TypeId>(gene.index));
                return value && push({gene, gene.type, {*value}});
            }
            case Opcode::form: return form(gene);
            default: return false;
        }
    }
    // Whether what its index names is there as it stands: of programs that are any bytes it may not be.
    [[nodiscard]] bool is_known(const Instruction& gene) const {
        const bool is_operand = gene.opcode == Opcode::input || gene.opcode == Opcode::assign;
        if (is_operand) return gene.index < signature_.operands.size();
        return gene.opcode != Opcode::form || gene.index < shapes_.size();
    }
    bool form(const Instruction& gene) {
        const Shape& shape = shapes_[gene.index];
        if (!shape.is_plain) return false;
        std::vector<std::size_t> inputs(shape.inputs.size());
        for (std::size_t k = inputs.size(); k-- > 0;) {
            const auto value = pop(shape.inputs[k]);
            if (!value) return false;
            inputs[k] = *value;
        }
        return push({gene, shape.outputs[0], std::move(inputs)});
    }
    std::size_t add(Node node) {
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }
    bool push(Node node) {
        const TypeId type = node.type;
        stacks_[type].push_back(add(std::move(node)));
        return true;
    }
    std::optional<std::size_t> pop(TypeId type) {
        auto& values = stacks_[type];
        if (values.empty()) return std::nullopt;
        const std::size_t value = values.back();
        values.pop_back();
        return value;
    }

    [[nodiscard]] bool is_form(std::size_t node) const { return nodes_[node].gene.opcode == Opcode::form; }
    [[nodiscard]] std::vector<Pair> all_pairs() const {
        std::vector<Pair> made;
        for (std::size_t outer = 0; outer < nodes_.size(); ++outer) {
            if (!is_form(outer)) continue;
            for (std::size_t k = 0; k < nodes_[outer].inputs.size(); ++k) {
                std::size_t inner = nodes_[outer].inputs[k];
                while (nodes_[inner].gene.opcode == Opcode::cast) inner = nodes_[inner].inputs[0];
                if (is_form(inner)) made.push_back({outer, inner, k});
            }
        }
        return made;
    }
    bool fuse(const Pair& pair, Random& random) {
        std::vector<std::size_t> operands = nodes_[pair.inner].inputs;
        for (std::size_t k = 0; k < nodes_[pair.outer].inputs.size(); ++k)
            if (k != pair.input) operands.push_back(nodes_[pair.outer].inputs[k]);
        for (std::size_t k = operands.size(); k > 1; --k)
            std::swap(operands[k - 1], operands[random.below(k)]);
        const auto entry = any_entry(operands.size(), random);
        if (!entry) return false;
        Node made{{Opcode::form, 0, *entry, 0}, shapes_[*entry].outputs[0]};
        for (std::size_t k = 0; k < operands.size(); ++k) {
            const auto value = operand(operands[k], shapes_[*entry].inputs[k], random);
            if (!value) return false;
            made.inputs.push_back(*value);
        }
        const auto result = moved(add(std::move(made)), nodes_[pair.outer].type);
        if (!result) return false;
        const Node replacement = nodes_[*result];
        nodes_[pair.outer] = replacement;
        return true;
    }
    // One that takes so many values.
    std::optional<std::uint16_t> any_entry(std::size_t inputs, Random& random) const {
        std::vector<std::uint16_t> found;
        for (std::uint16_t k = 0; k < shapes_.size(); ++k)
            if (shapes_[k].is_plain && shapes_[k].inputs.size() == inputs) found.push_back(k);
        if (found.empty()) return std::nullopt;
        return found[random.below(found.size())];
    }
    std::optional<std::size_t> operand(std::size_t value, TypeId type, Random& random) {
        const Node& of = nodes_[value];
        const bool is_changeable = Genes::is_tunable(of.gene) && bits_of(type) <= 32;
        if (!is_changeable || bits_of(of.type) != bits_of(type)) return moved(value, type);
        Instruction constant = of.gene;
        constant.type = type;
        if (random.chance(0.5)) change(constant, random);
        return add({constant, type});
    }
    void change(Instruction& constant, Random& random) const {
        if (constant.payload < 32 && random.chance(0.5))
            constant.payload = 1u << constant.payload;
        else
            genes_.step(constant, random);
    }
    // The bits of a value as another type of its width.
    std::optional<std::size_t> moved(std::size_t value, TypeId type) {
        while (nodes_[value].type != type && nodes_[value].gene.opcode == Opcode::cast)
            value = nodes_[value].inputs[0];
        const TypeId from = nodes_[value].type, pred = stack::type_id(Type::pred);
        if (from == type) return value;
        if (bits_of(from) == 0 || bits_of(from) != bits_of(type) || from == pred || type == pred)
            return std::nullopt;
        return add({{Opcode::cast, type, from, 0}, type, {value}});
    }

    bool write(std::size_t node, Code& to) const {
        for (const std::size_t input : nodes_[node].inputs)
            if (!write(input, to)) return false;
        to.push_back(nodes_[node].gene);
        return to.size() <= most_;
    }

    const Signature& signature_;
    const Genes& genes_;
    std::size_t most_;  // instructions that are written
    std::vector<Shape> shapes_;
    std::vector<Node> nodes_;
    std::map<TypeId, std::vector<std::size_t>> stacks_;
    std::map<std::pair<TypeId, std::uint32_t>, std::size_t> cells_;
    std::vector<std::pair<Instruction, std::size_t>> assigned_;
};

}  // namespace

std::optional<stack::Program> fused(const stack::Program& program, const SiteSpace& site, const Genes& genes,
                                    Random& random) {
    const auto simple = stack::simplify(program, site.machine, program_options);
    if (!simple) return std::nullopt;
    Dataflow dataflow(site, genes);
    if (!dataflow.read(simple->code) || !dataflow.fuse(random)) return std::nullopt;
    auto code = dataflow.code();
    if (!code) return std::nullopt;
    auto made = stack::simplify(stack::Program{std::move(*code), {}, {}}, site.machine, program_options);
    if (!made) return std::nullopt;
    return std::move(*made);
}

}  // namespace ptxgraft::search
