#pragma once
/// @file machine_code.hpp
/// Machine code of candidates, whole or linked.

#include <memory>
#include <string>

#include "kernel/candidate.hpp"
#include "kernel/linking.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::kernel {

/// Makes machine code of one skeleton's candidates with the same options. Threads: any number may use one.
class MachineCodeMaker {
  public:
    /// `options.assemble.target` is filled in. What is given is used as long as this is.
    MachineCodeMaker(const Skeleton::Data& skeleton, const GraftOptions& options);

    [[nodiscard]] Expected<Candidate> plan(std::span<const Graft> grafts) const;
    /// `times.render` is what the caller spent so far. `text`, when it is not null, becomes the candidate's
    /// text.
    [[nodiscard]] Expected<MachineCode> make(Candidate candidate, GraftTimes times,
                                             std::shared_ptr<const SourceText>* text = nullptr) const;
    /// What the cache has; else an error that nobody needs.
    [[nodiscard]] Expected<MachineCode> find_kept(const Candidate& candidate) const;
    [[nodiscard]] Expected<Preparation> prepare() const;

    /// Assembles several stubs as one module, and keeps it. Spans of errors are in the text of the module: a
    /// head, then the stubs.
    [[nodiscard]] Expected<Linking::Part> assemble_stubs(std::span<const RoutePlan::Linked> stubs) const;
    /// Candidates in one module, which is kept, and where they are in it. Spans of errors are in its text.
    [[nodiscard]] Expected<Linking::Part> assemble_variants(const VariantModule& module,
                                                            std::span<const Candidate* const> candidates,
                                                            std::span<const std::string> suffixes) const;
    /// A candidate that was assembled together with others, by another batch.
    struct KeptVariant {
        Linking::Part cubin;
        link::VariantPlace place;
        CacheLevel from;
    };
    [[nodiscard]] std::optional<KeptVariant> find_kept_variant(const Candidate& candidate) const;
    /// What the assembler once said of a candidate that stood alone.
    [[nodiscard]] std::optional<Error> find_kept_error(const Candidate& candidate) const;
    [[nodiscard]] const Skeleton::Data& skeleton() const { return skeleton_; }
    [[nodiscard]] std::size_t module_head_size() const { return skeleton_.plan()->module_head().size(); }
    [[nodiscard]] bool is_assembled(const RoutePlan::Linked& stub) const;

  private:
    using Part = Linking::Part;
    [[nodiscard]] Expected<MachineCode> make_as_planned(const Candidate& candidate, GraftTimes times,
                                                        std::shared_ptr<const SourceText>* text) const;
    [[nodiscard]] Expected<Part> assembled(std::shared_ptr<const SourceText> source,
                                           const AssembleOptions& options) const;
    [[nodiscard]] const Cache* cache_for(const Candidate& candidate) const;
    [[nodiscard]] link::Key key_of(const Candidate& candidate,
                                   std::string_view kind = "machine code 1") const;
    [[nodiscard]] Expected<Part> skeleton_for(const Candidate& candidate) const;
    [[nodiscard]] Expected<Part> module_of(const RoutePlan::Linked& stub) const;
    [[nodiscard]] Expected<Part> stub_module(std::span<const RoutePlan::Linked> stubs) const;
    [[nodiscard]] Expected<std::vector<Part>> modules_of(std::span<const RoutePlan::Linked> stubs) const;
    [[nodiscard]] bool choose_again(Candidate& candidate, const Error& why) const;
    [[nodiscard]] Expected<Part> made(const Candidate& candidate, std::shared_ptr<const SourceText> source,
                                      GraftTimes& times) const;
    [[nodiscard]] Expected<Part> whole(const std::shared_ptr<const SourceText>& source) const;
    [[nodiscard]] Expected<Part> linked(const Candidate& candidate, GraftTimes& times) const;
    [[nodiscard]] Expected<Preparation> prepared() const;
    [[nodiscard]] Expected<Preparation> measured(const Candidate& candidate, Preparation preparation) const;
    [[nodiscard]] std::vector<Graft> linkable_defaults() const;

    const Skeleton::Data& skeleton_;
    const RouteOptions& routes_;
    const Assembler& assembler_;
    const Cache* cache_;
    AssembleOptions options_, part_options_, stub_options_;
    std::string how_;        // parts are assembled
    link::Key options_key_;  // of all options, and the assembler
    std::optional<RouteCosts> costs_;
};

}  // namespace ptxgraft::kernel
