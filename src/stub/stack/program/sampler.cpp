// The tables of a sampler, and what is drawn by them.

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "stub/builder.hpp"
#include "stub/stack/program/genes.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t most_live = 4096;

using Kind = ConstantSource::Kind;

const char* wrong_with(const ConstantSource& source) {
    if (!(source.weight >= 0) || std::isinf(source.weight))
        return "the weight of a source of constants is negative";
    if (source.kind == Kind::values && source.values.empty()) return "a source of constants has no values";
    if (source.kind == Kind::constants && source.constants.empty())
        return "a source of constants has no constants";
    const bool is_finite = std::isfinite(source.low) && std::isfinite(source.high);
    if (source.kind == Kind::uniform && !(is_finite && source.low <= source.high))
        return "a uniform source of constants has no numbers between `low` and `high`";
    if (source.kind == Kind::log_uniform &&
        !(is_finite && source.low >= 0x1p-1022 && source.low <= source.high))
        return "a log-uniform source of constants wants 0 < `low` <= `high`";
    if (source.kind == Kind::normal && !(is_finite && source.high >= 0))
        return "a normal source of constants has a negative deviation";
    return nullptr;
}

bool is_share(double x) { return x >= 0 && x <= 1; }

std::string wrong_with(const SamplerOptions& options, std::size_t entries) {
    if (!options.weights.empty() && options.weights.size() != entries)
        return std::to_string(options.weights.size()) + " weights for a set of " + std::to_string(entries) +
               " instructions";
    for (const double w : options.weights)
        if (!(w >= 0) || std::isinf(w)) return "a weight is negative";
    if (!is_share(options.constant_share) || !is_share(options.shared) || !is_share(options.words))
        return "constant_share, shared and words are 0 to 1";
    for (const ConstantSource& source : options.constants)
        if (const char* const wrong = wrong_with(source)) return wrong;
    return {};
}

}  // namespace

Sampler::Data::Data(const Machine& m, SamplerOptions o)
    : machine(m), options(std::move(o)), constants(options.constants) {
    weigh();
    find_makers();
    find_distances();
    weigh_for_sequences();
    find_siblings();
}

void Sampler::Data::weigh() {
    const Machine::Data& data = MachineData::of(machine);
    double sum = 0;
    for (const EntryCode& e : data.code->entries) {
        const bool is_there = (*data.present)[e.at] != Present::no && e.effects == 0;
        const double weight = options.weights.empty() ? e.entry->weight : options.weights[e.at];
        weights.push_back(sum += is_there ? weight : 0);
    }
}

void Sampler::Data::find_makers() {
    const SetCode& code = *MachineData::of(machine).code;
    makers.resize(code.type_count), inner_makers.resize(code.type_count), specials.resize(code.type_count);
    const auto for_each_maker = [&](auto use) {
        for (const EntryCode& e : code.entries) {
            if (weight(e.at) <= 0 || e.outputs != 1) continue;
            if (e.is_special) {
                specials[e.type].push_back(static_cast<std::uint16_t>(e.at));
                continue;
            }
            const auto inputs = code.inputs_of(e);
            if (std::ranges::all_of(
                    inputs, [](const InputCode& i) { return i.is_immediate || has_constants(i.stack); }))
                use(e, inputs);
        }
    };
    for_each_maker([&](const EntryCode& e, auto) { makers[e.type].add(e.at, weight(e.at)); });
    for (auto& of_type : specials) of_type.clear();
    for_each_maker([&](const EntryCode& e, auto inputs) {
        if (std::ranges::any_of(inputs, [&](const InputCode& i) {
                return !i.is_immediate && !makers[i.stack].entries.empty();
            }))
            inner_makers[e.type].add(e.at, weight(e.at));
    });
}

// From the operands on, entry by entry.
void Sampler::Data::find_distances() {
    const Machine::Data& data = MachineData::of(machine);
    const SetCode& code = *data.code;
    distance.assign(code.type_count, far);
    entry_distance.assign(code.entries.size(), far);
    near_makers.resize(code.type_count);
    for (const Slot& s : data.slots)
        if (s.direction != Direction::out) distance[s.type] = 0;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (std::size_t type = 0; type < makers.size(); ++type)
            for (const std::uint16_t at : makers[type].entries) {
                for (const InputCode& input : code.inputs_of(code.entries[at]))
                    if (!input.is_immediate)
                        entry_distance[at] = std::min(entry_distance[at], distance[input.stack]);
                if (entry_distance[at] == far || entry_distance[at] + 1 >= distance[type]) continue;
                distance[type] = entry_distance[at] + 1;
                has_changed = true;
            }
    }
    for (std::size_t type = 0; type < makers.size(); ++type) {
        const auto& entries = makers[type].entries;
        std::uint32_t least = far;
        for (const std::uint16_t at : entries) least = std::min(least, entry_distance[at]);
        for (const std::uint16_t at : entries)
            if (entry_distance[at] == least) near_makers[type].add(at, weight(at));
    }
}

// A sequence that scatters its values over many stacks is dead for the most part.
void Sampler::Data::weigh_for_sequences() {
    const Machine::Data& data = MachineData::of(machine);
    const SetCode& code = *data.code;
    std::array<bool, max_types> is_used{};
    is_used[type_id(Type::pred)] = true;
    for (const Slot& s : data.slots) is_used[s.type] = true;
    const auto is_within = [&](const EntryCode& e) {
        const auto outputs =
            std::span(code.output_stacks)
                .subspan(e.is_special ? 0 : code.output_bases[e.at], e.is_special ? 0 : e.outputs);
        return (!e.is_special || is_used[e.type]) &&
               std::ranges::all_of(outputs, [&](TypeId t) { return is_used[t]; }) &&
               std::ranges::all_of(code.inputs_of(e),
                                   [&](const InputCode& i) { return i.is_immediate || is_used[i.stack]; });
    };
    std::array<bool, max_types> is_made{};
    double sum = 0;
    for (const EntryCode& e : code.entries) {
        const bool is_drawn = weight(e.at) > 0 && is_within(e);
        if (is_drawn && !e.is_special && e.outputs != 0) is_made[e.type] = true;
        sequence_weights.push_back(sum += is_drawn ? weight(e.at) : 0);
    }
    for (const Slot& s : data.slots)
        if (s.direction != Direction::in && !is_made[s.type] && !makers[s.type].entries.empty())
            sequence_weights = weights;  // the way to it leads over other types
}

void Sampler::Data::find_siblings() {
    const SetCode& code = *MachineData::of(machine).code;
    std::unordered_map<std::uint64_t, std::uint32_t> groups;
    sibling_group.assign(code.entries.size(), none);
    for (const EntryCode& e : code.entries) {
        std::uint64_t key = mix(e.inputs, e.outputs);
        for (const InputCode& i : code.inputs_of(e)) key = mix(key, i.is_immediate ? max_types : i.stack);
        for (std::size_t k = 0; k < e.outputs; ++k)
            key = mix(key, e.is_special ? e.type : code.output_stacks[code.output_bases[e.at] + k]);
        const auto [at, is_new] = groups.try_emplace(key, static_cast<std::uint32_t>(siblings.size()));
        if (is_new) siblings.emplace_back();
        sibling_group[e.at] = at->second;
        if (weight(e.at) > 0) siblings[at->second].add(e.at, weight(e.at));
    }
}

Expected<Sampler> Sampler::make(const Machine& machine, const SamplerOptions& options) {
    if (std::string wrong = wrong_with(options, machine.set().entries().size()); !wrong.empty())
        return fail(Errc::argument_invalid, std::move(wrong));
    return Sampler(std::make_shared<const Data>(machine, options));
}

Program Sampler::program(Random& random, std::uint32_t live) const {
    live = std::min(live, most_live);
    if (data_->options.shape == ProgramShape::tree || live == 0) return make_tree(*data_, random, live);
    return make_sequence(data_->sequence_genes(), random,
                         {.live = live, .length = 0, .words = data_->options.words});
}

Instruction Sampler::instruction(Random& random, std::vector<std::uint64_t>& pool) const {
    const Genes genes = data_->genes();
    if (random.below(2) == 0) {
        constexpr int draws = 8;
        for (int k = 0; k < draws; ++k) {
            const EntryCode* const e = genes.draw(random);
            if (e == nullptr) continue;
            if (const auto instruction = genes.form(random, *e, pool)) return *instruction;
        }
    }
    const auto& slots = genes.machine.slots;
    if (!random.chance(genes.constant_share))
        if (const Slot* const slot = genes.readable(random, max_types)) return input_of(*slot);
    const TypeId type = slots.empty() ? type_id(Type::f32) : slots[random.below(slots.size())].type;
    return genes.constant(random, has_constants(type) ? type : type_id(Type::f32), pool);
}

Instruction Sampler::sibling(Random& random, const Instruction& instruction) const {
    if (instruction.opcode != Opcode::form || instruction.index >= data_->sibling_group.size())
        return instruction;
    const WeightedEntries& group = data_->siblings[data_->sibling_group[instruction.index]];
    if (group.entries.empty()) return instruction;
    Instruction other = instruction;
    constexpr int draws = 16;
    for (int k = 0; k < draws && other.index == instruction.index; ++k) other.index = group.draw(random);
    return other;
}

std::uint64_t Sampler::constant(Random& random, TypeId type) const {
    const SetCode& code = *MachineData::of(data_->machine).code;
    return type < code.type_count ? data_->constants.draw(random, stack_of(type), code.bases[type]) : 0;
}

Instruction constant_instruction(const Machine& machine, TypedConstant constant,
                                 std::vector<std::uint64_t>& pool) {
    const SetCode& code = *MachineData::of(machine).code;
    const TypeId base = constant.type < code.type_count ? code.bases[constant.type] : type_id(Type::u64);
    return constant_instruction(constant.type, base, constant.bits, pool);
}

}  // namespace ptxgraft::stack
