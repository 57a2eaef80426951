// Operators: how children are made of one parent or two.

#include "search/loop/operators.hpp"

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "search/loop/fuse.hpp"

namespace ptxgraft::search {
namespace {

using stack::Instruction;
using stack::Program;
using Code = std::vector<Instruction>;

std::size_t any_site(const Breeder& breeder, Random& random) {
    return breeder.space->sites.size() == 1 ? 0 : random.below(breeder.space->sites.size());
}

// Uniform mutation by addition and deletion: as long on average as before.
void umad(const Breeder& breeder, Random& random, const Genome& a, const Genome&, Genome& child) {
    constexpr double highest = 0.15;
    const std::size_t site = any_site(breeder, random);
    const Genes& genes = breeder.genes[site];
    const Code& old = a.programs[site].code;
    Program& program = child.programs[site];
    const double lowest = std::min(1.0 / static_cast<double>(old.size() + 1), highest);
    const double rate = between(random, lowest, highest);
    const double deletion = rate / (1 + rate);
    program.code.clear();
    if (old.empty()) genes.add(program, random);
    for (const Instruction& gene : old) {
        const bool adds = random.chance(rate);
        const bool is_before = adds && random.chance(0.5);
        if (is_before) genes.add(program, random);
        if (!random.chance(deletion)) program.code.push_back(gene);
        if (adds && !is_before) genes.add(program, random);
    }
}

void replace(const Breeder& breeder, Random& random, const Genome&, const Genome&, Genome& child) {
    const std::size_t site = any_site(breeder, random);
    Program& program = child.programs[site];
    if (program.code.empty()) return breeder.genes[site].add(program, random);
    breeder.genes[site].replace(program, random.below(program.code.size()), random);
}

void swap(const Breeder& breeder, Random& random, const Genome&, const Genome&, Genome& child) {
    Code& code = child.programs[any_site(breeder, random)].code;
    if (code.size() < 2) return;
    std::swap(code[random.below(code.size())], code[random.below(code.size())]);
}

void erase(const Breeder& breeder, Random& random, const Genome&, const Genome&, Genome& child) {
    Code& code = child.programs[any_site(breeder, random)].code;
    if (code.empty()) return;
    const std::size_t first = random.below(code.size());
    const std::size_t most = std::min<std::size_t>(4, code.size() - first);
    const std::size_t count = random.chance(0.7) ? 1 : 1 + random.below(most);
    const auto begin = code.begin() + static_cast<std::ptrdiff_t>(first);
    code.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
}

// A form by one of its operands, the first form from any place on.
void bypass(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child) {
    const std::size_t site = any_site(breeder, random);
    Program& program = child.programs[site];
    const std::size_t count = program.code.size(), first = random.below(std::max<std::size_t>(count, 1));
    const auto operand = static_cast<std::uint32_t>(random.below(3));
    for (std::size_t k = 0; k < count; ++k)
        if (stack::bypass(program, breeder.space->sites[site].machine, (first + k) % count, operand)) return;
    replace(breeder, random, a, b, child);
}

void constant(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child) {
    const std::size_t site = any_site(breeder, random);
    Code& code = child.programs[site].code;
    const auto count = static_cast<std::size_t>(std::ranges::count_if(code, Genes::is_tunable));
    if (count == 0) return replace(breeder, random, a, b, child);
    const std::size_t changes = random.chance(0.7) ? 1 : 1 + random.below(count);
    for (std::size_t k = 0; k < changes; ++k) {
        std::size_t at = random.below(count);
        for (Instruction& gene : code)
            if (Genes::is_tunable(gene) && at-- == 0) breeder.genes[site].step(gene, random);
    }
}

// Genes of both in turns.
void alternate(Random& random, const Code& a, const Code& b, Code& child) {
    constexpr double alternation = 0.1;
    child.clear();
    const Code* from = &a;
    for (std::size_t k = 0; k < from->size(); ++k) {
        if (random.chance(alternation)) from = from == &a ? &b : &a;
        if (k < from->size()) child.push_back((*from)[k]);
    }
}

// A segment of the other one, in the place of at most as many genes.
void transplant(Random& random, const Code& b, Code& child) {
    if (b.empty()) return;
    const std::size_t from = random.below(b.size()), count = 1 + random.below(b.size() - from);
    const std::size_t to = random.below(child.size() + 1);
    const std::size_t gone = std::min<std::size_t>(random.below(count + 1), child.size() - to);
    const auto at = [](auto& code, std::size_t place) {
        return code.begin() + static_cast<std::ptrdiff_t>(place);
    };
    child.erase(at(child, to), at(child, to + gone));
    child.insert(at(child, to), at(b, from), at(b, from + count));
}

// Routines and pools, which genes refer to by their places, are those of one program.
void adopt(const Program& from, Program& program) {
    if (!program.routines.empty() || !program.pool.empty()) return;
    program.routines = from.routines;
    program.pool = from.pool;
}

void crossover(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child) {
    const std::size_t site = any_site(breeder, random);
    Program& program = child.programs[site];
    const Program& other = b.programs[site];
    if (breeder.space->sites.size() > 1 && random.chance(0.3)) {
        program = other;
        return;
    }
    adopt(other, program);
    if (random.chance(0.5))
        alternate(random, a.programs[site].code, other.code, program.code);
    else
        transplant(random, other.code, program.code);
}

void tunable(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child) {
    const auto& tunables = breeder.space->tunables;
    if (tunables.empty()) return umad(breeder, random, a, b, child);
    const std::size_t at = random.below(tunables.size());
    child.tunables[at] = static_cast<std::uint32_t>(random.below(tunables[at].values.size()));
}

void fresh(const Breeder& breeder, Random& random, const Genome&, const Genome&, Genome& child) {
    child = breeder.fresh(random);
}

// What another has found, as crossover brings it.
void library(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child) {
    const std::size_t site = any_site(breeder, random);
    const SiteSpace& of = breeder.space->sites[site];
    const std::size_t count = of.library.size() + of.seeds.size();
    if (count == 0) return umad(breeder, random, a, b, child);
    const std::size_t place = random.below(count);
    const Program& word = place < of.library.size() ? of.library[place] : of.seeds[place - of.library.size()];
    Program& program = child.programs[site];
    adopt(word, program);
    transplant(random, word.code, program.code);
}

void fuse(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child) {
    const std::size_t site = any_site(breeder, random);
    auto made = fused(a.programs[site], breeder.space->sites[site], breeder.genes[site], random);
    if (!made) return umad(breeder, random, a, b, child);
    child.programs[site] = std::move(*made);
}

constexpr std::array rows = {
    OperatorRow{"umad", 0.50, umad},
    OperatorRow{"replace", 0.10, replace},
    OperatorRow{"swap", 0.03, swap},
    OperatorRow{"delete", 0.05, erase},
    OperatorRow{"constant", 0.15, constant},
    OperatorRow{"crossover", 0.10, crossover, true},
    OperatorRow{"tunable", 0.02, tunable},
    OperatorRow{"fresh", 0.05, fresh},
    OperatorRow{"library", 0, library},
    OperatorRow{"bypass", 0, bypass},
    OperatorRow{"fuse", 0, fuse},
};

}  // namespace

Expected<Breeder> Breeder::make(const Space& space) {
    Breeder made;
    made.space = &space;
    for (const SiteSpace& site : space.sites) made.genes.push_back(TRY(Genes::make(site, space.constants)));
    return made;
}

Genome Breeder::fresh(Random& random) const {
    Genome made;
    for (const Genes& site : genes) made.programs.push_back(site.program(random));
    for (const Tunable& tunable : space->tunables)
        made.tunables.push_back(static_cast<std::uint32_t>(random.below(tunable.values.size())));
    return made;
}

std::span<const OperatorRow> operator_rows() { return rows; }

const OperatorRow* find_operator(std::string_view name) {
    const auto found = std::ranges::find(rows, name, &OperatorRow::name);
    return found == rows.end() ? nullptr : &*found;
}

std::vector<Operator> default_operators() {
    std::vector<Operator> made;
    for (const OperatorRow& row : rows) made.push_back({std::string(row.name), row.weight});
    return made;
}

}  // namespace ptxgraft::search
