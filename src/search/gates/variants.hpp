#pragma once
/// @file variants.hpp
/// Candidates as code for a pool's workers.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ptxgraft/search_gates.hpp"

namespace ptxgraft::search {

/// Candidates of one combination of tunables, as they go to a pool.
struct VariantGroup {
    std::string workload;
    std::vector<std::size_t> candidates;  ///< their numbers, of those that were given
    std::vector<measure::VariantCode> variants;
};

/// Makes code of genomes. Threads: any number.
class Variants {
  public:
    /// Errors: Errc::argument_invalid for devices of several targets; of the first combination.
    [[nodiscard]] static Expected<std::unique_ptr<Variants>> make(const Space& space,
                                                                  const Workloads& kernels,
                                                                  const measure::Pool& pool,
                                                                  std::shared_ptr<const Assembler> assembler);

    /// An error is the genome's.
    [[nodiscard]] Expected<measure::VariantCode> code(const Genome& genome);
    [[nodiscard]] Expected<measure::VariantCode> code(const Genome& genome, const Assembler& assembler);
    /// Of those whose results are not known; what has no code ends here.
    [[nodiscard]] std::vector<VariantGroup> groups(std::span<const Candidate* const> candidates,
                                                   std::span<Result* const> results);
    [[nodiscard]] const Workloads& kernels() const { return kernels_; }
    [[nodiscard]] bool has_gpu() const { return has_gpu_; }
    [[nodiscard]] std::size_t gpu_count() const { return gpu_count_; }

  private:
    Variants(const Space& space, const Workloads& kernels, std::shared_ptr<const Assembler> assembler)
        : space_(space), kernels_(kernels), assembler_(std::move(assembler)) {}
    struct Kernels {
        Skeleton skeleton;
        std::string entry;
    };
    [[nodiscard]] Expected<Kernels> compiled(const std::vector<std::uint32_t>& tunables) const;
    [[nodiscard]] Expected<Kernels> find(const std::vector<std::uint32_t>& tunables);
    [[nodiscard]] Expected<measure::VariantCode> code(const Genome& genome, const Assembler* assembler);

    const Space space_;
    const Workloads kernels_;
    const std::shared_ptr<const Assembler> assembler_;
    std::string target_;  // of the devices
    bool has_gpu_ = false;
    std::size_t gpu_count_ = 0;
    std::mutex mutex_;
    std::map<std::vector<std::uint32_t>, Kernels> made_;
};

/// An error that is no candidate's ends the search. Others are the workload's.
void end_where_no_device_works(const Error& error);

}  // namespace ptxgraft::search
