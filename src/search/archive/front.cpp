// The best of an archive, and its programs as texts.

#include <algorithm>
#include <utility>

#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {
namespace {

// In something better, and in nothing worse; costs as Member::is_better_than compares them.
bool beats(const Elite& a, const Elite& b) {
    const auto cost = [](const Elite& elite) { return std::pair(elite.bound(), elite.cost); };
    bool is_better = cost(a) < cost(b);
    if (cost(a) > cost(b)) return false;
    for (std::size_t k = 0; k < a.descriptor.size() && k < b.descriptor.size(); ++k) {
        if (a.descriptor[k] > b.descriptor[k]) return false;
        is_better = is_better || a.descriptor[k] < b.descriptor[k];
    }
    return is_better;
}

}  // namespace

std::vector<Elite> pareto_front(std::span<const Elite> elites) {
    std::vector<Elite> front;
    for (const Elite& elite : elites)
        if (std::ranges::none_of(elites, [&](const Elite& other) { return beats(other, elite); }))
            front.push_back(elite);
    return front;
}

std::string program_text(const stack::Program& program, const stack::Machine& machine) {
    const auto simple = stack::simplify(program, machine, program_options);
    return stack::print(simple ? *simple : program, machine);
}

}  // namespace ptxgraft::search
