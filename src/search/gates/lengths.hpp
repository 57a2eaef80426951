#pragma once
/// @file lengths.hpp
/// How many instructions programs have.

#include <memory>
#include <mutex>
#include <vector>

#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// Counts as the gate columns() does: without moves. Threads: any number may use one at once.
class Lengths {
  public:
    /// Of a program that does not compile, as it passes a limit, 0.
    [[nodiscard]] std::uint32_t of(const stack::Program& program, const stack::Machine& machine) {
        std::unique_ptr<stack::Evaluator> evaluator = take();
        std::uint32_t length = 0;
        if (evaluator->prepare(program, machine, program_options))
            length = evaluator->instruction_count();
        else if (const auto stub = stack::make_stub(program, machine, program_options))
            length = stub->instruction_count();  // with effects, which columns do not have
        const std::scoped_lock lock(mutex_);
        free_.push_back(std::move(evaluator));
        return length;
    }
    /// Of all sites together.
    [[nodiscard]] std::uint32_t of(const Genome& genome, const Space& space) {
        std::uint32_t sum = 0;
        for (std::size_t s = 0; s < space.sites.size(); ++s)
            sum += of(genome.programs[s], space.sites[s].machine);
        return sum;
    }

  private:
    std::unique_ptr<stack::Evaluator> take() {
        const std::scoped_lock lock(mutex_);
        if (free_.empty()) return std::make_unique<stack::Evaluator>();
        auto taken = std::move(free_.back());
        free_.pop_back();
        return taken;
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<stack::Evaluator>> free_;
};

}  // namespace ptxgraft::search
