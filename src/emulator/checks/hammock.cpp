// The immediate post-dominator of a branch, found by a search forward over the operations behind it.
#include "emulator/checks/hammock.hpp"

#include <algorithm>
#include <set>

#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

// It reads and writes registers, and nothing else; a parameter is as good as a constant, wherever its address
// stands.
bool is_pure(const Program& program, const Operation& operation) {
    if (operation.function != nullptr || operation.execute == execute_local_address) return true;
    const bool loads =
        std::ranges::any_of(std::initializer_list<std::uint32_t>{1, 2, 4, 8, 16},
                            [&](std::uint32_t bytes) { return operation.execute == load_operation(bytes); });
    return loads && program.access_of(operation).space == Space::param;
}

}  // namespace

// All edges lead forward, so that the smallest place that is left is reached by no other; when none is left
// besides, all ways lead through it.
Hammock find_hammock(const Program& program, std::uint32_t branch) {
    Hammock found;
    std::set<std::uint32_t> left = {branch + 1, program.code[branch].branch_target()};
    if (program.code[branch].branch_target() <= branch) return found;
    while (true) {
        const std::uint32_t at = *left.begin();
        left.erase(left.begin());
        if (left.empty()) {
            found.is_pure = true;
            found.join = at;
            break;
        }
        const Operation& operation = program.code[at];
        if (operation.execute == execute_branch) {
            if (operation.branch_target() <= at) return found;
            left.insert(operation.branch_target());
            if (operation.guard != no_ref) left.insert(at + 1);
            continue;
        }
        if (!is_pure(program, operation)) return found;
        for (unsigned i = 0; i < operation.outputs; ++i)
            if (const Ref ref = program.refs[operation.operands + i]; is_register(ref))
                found.results.push_back(ref);
        left.insert(at + 1);
    }
    std::ranges::sort(found.results);
    found.results.erase(std::unique(found.results.begin(), found.results.end()), found.results.end());
    return found;
}

}  // namespace ptxgraft::emulator
