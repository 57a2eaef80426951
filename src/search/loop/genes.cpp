// Genes: what instructions programs are varied with, and how constants change.

#include "search/loop/genes.hpp"

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "site/type_row.hpp"

namespace ptxgraft::search {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::TypeId;

// How often a gene is a move on a stack, or one of bits between types.
constexpr double move_share = 0.14, cast_share = 0.06;

// Of the payload of a floating-point constant: of pairs those of the lower half; an f64 is written as an f32.
unsigned fraction_bits(Type type) {
    switch (type) {
        case Type::f16:
        case Type::f16x2: return 10;
        case Type::bf16:
        case Type::bf16x2: return 7;
        default: return 23;
    }
}

}  // namespace

Expected<Genes> Genes::make(const SiteSpace& site, std::span<const double> constants) {
    stack::SamplerOptions options;
    if (!constants.empty())
        options.constants.push_back({.kind = stack::ConstantSource::Kind::values,
                                     .weight = 0.5,
                                     .values = {constants.begin(), constants.end()},
                                     .constants = {}});
    Genes made(TRY(stack::Sampler::make(site.machine, options)));
    made.most_live_ = std::clamp(site.max_genes / 2, 1u, 16u);
    const stack::InstructionSet& set = site.machine.set();
    for (const auto& user : set.user_types()) made.bases_.push_back(user.base);
    made.add_operands(site.machine.signature());
    for (const stack::Entry& entry : set.entries()) made.add_entry(entry);
    made.add_casts();
    return made;
}

void Genes::add_type(TypeId type) {
    if (std::ranges::find(types_, type) == types_.end()) types_.push_back(type);
}

void Genes::add_operands(const Signature& signature) {
    for (std::uint16_t operand = 0; const SiteOperand& o : signature.operands) {
        if (o.direction != Direction::out)
            for (std::uint32_t k = 0; k < std::max(o.count, 1u); ++k)
                inputs_.push_back({Opcode::input, 0, operand, k});
        const TypeId type = stack::stack_of(stack::type_id(o.type));
        add_type(type);
        homes_.push_back(type);
        ++operand;
    }
}

void Genes::add_entry(const stack::Entry& entry) {
    Bundle& bundle = bundles_.emplace_back();
    if (entry.weight <= 0 || entry.effects != Effect::none || entry.form == nullptr) return;
    for (const stack::EntryOperand& operand : entry.operands) {
        if (operand.is_immediate) continue;
        const TypeId type = stack::stack_of(operand.type), home = home_of(type);
        add_type(type);
        if (type == home) continue;
        if (operand.is_output)
            bundle.after.push_back({Opcode::cast, home, type, 0});
        else
            bundle.before.push_back({Opcode::cast, type, home, 0});
    }
}

Type Genes::base_of(TypeId type) const {
    if (type < stack::type_b8) return static_cast<Type>(type);
    const std::size_t user = type - stack::first_user_type;
    return type >= stack::first_user_type && user < bases_.size() ? bases_[user] : Type::b32;
}

// The type of the first operand of the same width, where there is one.
TypeId Genes::home_of(TypeId type) const {
    for (const TypeId home : homes_)
        if (home < stack::type_b8 && type < stack::type_b8 && bits(base_of(home)) == bits(base_of(type)))
            return home;
    return type;
}

// The bits of one type as another of its width: `as.u32.f32`.
void Genes::add_casts() {
    for (const TypeId to : types_)
        for (const TypeId from : types_)
            if (to != from && to < stack::type_b8 && from < stack::type_b8 &&
                to != stack::type_id(Type::pred) && bits(base_of(to)) == bits(base_of(from)))
                casts_.push_back({Opcode::cast, to, from, 0});
}

Program Genes::program(Random& random) const {
    return sampler_.program(random, static_cast<std::uint32_t>(1 + random.below(most_live_)));
}

Instruction Genes::any(std::vector<std::uint64_t>& pool, Random& random) const {
    const double at = random.unit();
    if (at < move_share) return move(random);
    if (at < move_share + cast_share && !casts_.empty()) return casts_[random.below(casts_.size())];
    return sampler_.instruction(random, pool);
}

Instruction Genes::move(Random& random) const {
    constexpr std::array moves = {Opcode::dup,  Opcode::dup,    Opcode::swap,     Opcode::over,
                                  Opcode::over, Opcode::rotate, Opcode::yank_dup, Opcode::swap_with};
    const Opcode opcode = moves[random.below(moves.size())];
    const auto depth = opcode == Opcode::yank_dup || opcode == Opcode::swap_with ? 1 + random.below(4) : 0;
    return {opcode, types_[random.below(types_.size())], 0, static_cast<std::uint32_t>(depth)};
}

void Genes::add(Program& program, Random& random) const {
    const Instruction gene = any(program.pool, random);
    const bool has_bundle = gene.opcode == Opcode::form && gene.index < bundles_.size() && random.chance(0.5);
    if (!has_bundle) return program.code.push_back(gene);
    const Bundle& bundle = bundles_[gene.index];
    program.code.insert(program.code.end(), bundle.before.begin(), bundle.before.end());
    program.code.push_back(gene);
    program.code.insert(program.code.end(), bundle.after.begin(), bundle.after.end());
}

void Genes::replace(Program& program, std::size_t place, Random& random) const {
    Instruction& gene = program.code[place];
    const bool is_other = random.chance(0.25);
    if (!is_other && gene.opcode == Opcode::form)
        gene = sampler_.sibling(random, gene);
    else if (!is_other && gene.opcode == Opcode::input && !inputs_.empty())
        gene = inputs_[random.below(inputs_.size())];
    else if (!is_other && is_tunable(gene))
        step(gene, random);
    else
        gene = any(program.pool, random);
}

void Genes::step(Instruction& constant, Random& random) const {
    const Type base = base_of(constant.type);
    const bool is_up = random.chance(0.5);
    const auto draw = [&] {
        const auto word = static_cast<std::uint32_t>(sampler_.constant(random, constant.type));
        if (bits(base) <= 32) constant.payload = word;
    };
    if (!is_floating(base)) {
        switch (random.below(4)) {
            case 0: constant.payload ^= 1u << random.below(32); break;
            case 1: constant.payload = is_up ? constant.payload << 1 : constant.payload >> 1; break;
            case 2: constant.payload += is_up ? 1u : ~0u; break;
            default: draw();
        }
        return;
    }
    const unsigned fraction = fraction_bits(base);
    switch (random.below(8)) {
        case 0: draw(); break;
        case 1: constant.payload ^= fraction == 23 ? 0x80000000u : 0x8000u; break;    // the sign
        case 2: constant.payload += is_up ? 1u << fraction : ~0u << fraction; break;  // the exponent
        default: {                                                                    // some ulp
            const std::uint32_t by = 1u << random.below(fraction);
            constant.payload += is_up ? by : ~by + 1;
        }
    }
}

}  // namespace ptxgraft::search
